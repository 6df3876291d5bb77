#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_transactions.py NVWAVE NVWAVE-CC TRANSACTIONS.C LIST.C TRUSTED.C: stores that a transaction of libpmemobj cannot take back are named."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave, cc, source, list_source, trusted_source = (os.path.abspath(p) for p in sys.argv[1:6])
compiler = shutil.which("gcc")
if not compiler:
    print("1..0 # SKIP there is no gcc")
    sys.exit(0)
folder = tempfile.TemporaryDirectory(prefix="nvwave-transactions-")
os.chdir(folder.name)
shutil.copy(source, "transactions.c")
shutil.copy(list_source, "list.c")
shutil.copy(trusted_source, "trusted.c")


os.environ["NVWAVE_READ_SETS"] = "off"  # few states
os.environ["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"  # libpmemobj opens a pool with 8 MB of memory, page by page otherwise


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def build(name, *more):
    status, _, err = run(*more, compiler, "-g", "-O1", "-o", name, name.split("-")[0] + ".c", "-rdynamic", "-lpmemobj", "-lpmem", "-ldl")
    if status != 0:
        sys.exit(err)


build("transactions", cc)
build("list", cc)
lines = {m.group(1): n for n, text in enumerate(open("transactions.c"), 1) if (m := re.search(r"/\* LINE ([a-z-]+) \*/", text))}
run("./transactions", "start", "fill")


def watched(case, *options):
    """Under nvwave exec: the exit status, and what its report says of unlogged stores."""
    shutil.copy("start", "pool")
    status, _, err = run(nvwave, "exec", "--output-format=json", "--report=report.json", *options, "--", "./transactions", "pool", case)
    with open("report.json") as f:
        return status, json.load(f).get("unlogged", []), err


wrong = []
for case in ("added", "added-in-parts", "allocated", "reserved", "nested", "aborted", "another-thread", "another-file", "outside", "copied",
             "inserted", "reserved-before"):
    status, unlogged, err = watched(case, "--advice")
    if status != 0 or unlogged:
        wrong.append((case, status, unlogged, err))
ok(not wrong, "what_a_transaction_has_added_allocated_or_reserved_may_be_stored_to", *wrong)
FIELDS = {"no-longer-reserved": None, "no-range-of-list": None, "no-range-of-reference": None, "no-range-of-two": None,  # two at one place
          "no-range-of-copy": ("root->c[0..1]", 16, 16), "no-range-of-fill": ("root->c[0..1]", 16, 16), "no-end-of-range": ("root->c", 16, 64),
          "no-range": ("root->b", 8, 8), "no-range-of-this-one": ("root->a", 0, 8), "no-range-in-nested": ("root->b", 8, 8)}


def field_of(u):
    f = u.get("stored")
    return f and (f["field"], f["offset"], f["size"])


wrong = []
for case in (n for n in lines if n.startswith("no-")):
    status, unlogged, err = watched(case, "--record=log")
    if (status != 1 or [u["store"]["line"] for u in unlogged] != [lines[case]] or
            (unlogged[0]["transaction"]["line"] != lines["begin"]) != (case == "no-longer-reserved")
            or (unlogged[0]["times"] > 1) != (case == "no-range-of-two") or field_of(unlogged[0]) != FIELDS[case]):
        wrong.append((case, status, unlogged, err))
ok(not wrong and len(lines) == 11, "each_store_to_anything_else_is_named_with_its_transaction", *wrong)
status, unlogged, _ = watched("no-range")
ok(status == 0 and not unlogged, "nothing_is_looked_at_without_a_record")

crash = [nvwave, "crash", "--image=start", "--check=./transactions {} check", "--states=10"]
status, out, err = run(*crash, "--exec=./transactions start no-range")
ok(status == 1 and out.startswith("UNLOGGED STORE   1 place; no failure in ") and
   re.search(r"never added to the undo log: the store at %s/transactions.c:%d \(.*\)\n"
             r"    stores root->b \(uint64_t, 8 bytes\); the field is at offset 8 of struct root\n    in the transaction" % (folder.name, lines["no-range"]), out) and
   "not verified (--try-cures=COMMAND runs it): pmemobj_tx_add_range_direct(&root->b, sizeof root->b); before " in out,
   "a_rule_is_broken_though_no_tested_state_fails", status, out, err)
status, out, err = run(*crash, "--exec=./transactions start no-range", "--output-format=sarif")
results = json.loads(out)["runs"][0]["results"] if status == 1 else []
ok([r["ruleId"] for r in results] == ["unlogged-store"] and
   results[0]["locations"][0]["physicalLocation"]["region"]["startLine"] == lines["no-range"]
   and "this store to root->b goes to what was not added to its transaction" in out,
   "other_tools_get_its_line", status, out, err)
for i in (1, 2):
    with open("shard%d.json" % i, "w") as f:
        f.write(run(*crash, "--exec=./transactions start no-range", "--shard=%d/2" % i, "--output-format=json")[1])
status, out, err = run(nvwave, "crash", "--merge", "shard1.json", "shard2.json")
ok(status == 1 and out.startswith("UNLOGGED STORE") and "    stores root->b (uint64_t, 8 bytes); " in out, "merged_shards_have_it_too", status, out, err)
os.mkdir("reports")
shutil.copy("shard1.json", "reports/one.json")
status, out, err = run(nvwave, "report", "reports")
page = open("reports/index.html").read() if status == 1 else ""
ok(status == 1 and "UNLOGGED STORE" in out and '<span class="verdict bad">UNLOGGED STORE</span>' in page,
   "an_index_of_reports_knows_the_verdict", status, out, err)
status, out, err = run(*crash, "--exec=./transactions start added")
ok(status == 0 and "undo log" not in out, "its_clean_twin_breaks_none", status, out, err)

# With and without trust: the same verdicts, and fewer states where an entry is durable.
build("trusted", cc)
run("./trusted", "fresh", "fill")
trusted, wrong = {}, []
for case in ("nested", "aborted", "no-add", "no-whole-add", "no-snapshot", "no-early-add", "no-entry"):
    shutil.copy("fresh", "pool")
    run(nvwave, "exec", "--record=log", "--", "./trusted", "pool", case)
    said = {}
    for trust in ("none", "transactions"):
        status, out, err = run(nvwave, "crash", "--store-log=log", "--image=log.image", "--check=./trusted {} check", "--states=12", "--cures=off", "--stop-after=1",
                               "--trust=" + trust, "--output-format=json")
        said[trust] = json.loads(out) if status in (0, 1) else {"verdict": err}
    verdicts = [said[trust]["verdict"] for trust in said]
    expected = "inconsistent" if case.startswith("no-") else "not-refuted"
    trusted[case] = said["transactions"].get("trusted", {})
    fewer = said["transactions"].get("states_possible_log2", 0) < said["none"].get("states_possible_log2", 0)
    if verdicts != [expected] * 2 or fewer != (case != "no-entry") or "trusted" in said["none"]:
        wrong.append((case, verdicts, fewer, trusted[case]))
ok(not wrong, "transactions_that_are_trusted_have_the_same_verdicts_in_fewer_states", *wrong)
counted = {case: (t.get("ranges"), t.get("stores")) for case, t in trusted.items()}
ok(counted == {"nested": (3, 4), "aborted": (3, 6), "no-add": (1, 2), "no-whole-add": (2, 3), "no-snapshot": (2, 3), "no-early-add": (2, 2),
               "no-entry": (2, 0)},
   "what_was_trusted_is_counted", counted)
trusting = [nvwave, "crash", "--store-log=log", "--image=log.image", "--check=./trusted {} check", "--states=12", "--cures=off", "--stop-after=1", "--trust=transactions"]
status, out, err = run(*trusting)
ok(status == 1 and re.match(r"INCONSISTENT   1 finding in \d+ of \d+ distinct states.*, transactions trusted; ", out) and
   "\ntransactions trusted: 0 stores of 0 bytes to 2 added ranges, which recovery by libpmemobj takes back, were not uncertain; --trust=none tests them\n" in out,
   "the_verdict_says_that_it_rests_on_the_library", status, out, err)
status, out, err = run(*trusting, "--model=eadr")
ok(status == 2 and "explored under x86, not eadr" in err, "trust_is_refused_under_other_models", status, out, err)

run("./list", "create", "list.pool")
with open("build.sh", "w") as f:
    f.write("%s %s -g -O1 -o list list.c -lpmemobj\n" % (cc, compiler))
status, out, err = run(nvwave, "crash", "--exec=./list append list.pool 1 no-add", "--image=list.pool", "--check=./list check", "--states=20",
                       "--try-cures=sh build.sh", "--patch=cure.patch", "--html=page.html")
page = open("page.html").read() if os.path.exists("page.html") else ""
ok(status == 1 and out.startswith("INCONSISTENT") and re.search(r"the store at \S*/list.c:\d+ breaks a rule of transactions, below: mend that first", out)
   and re.search(r"verified by running: pmemobj_tx_add_range_direct\(.*&root->length, sizeof root->length\); before \S+: "
                  r"no store breaks the rule then, and none of [1-9]\d* tested states fails\n", out)
   and "verified on this log: with a flush" not in out and "Never added to the undo log" in page and "verified by running: pmemobj" in page,
   "a_range_that_is_added_is_verified_by_running_the_program_with_it", status, out, err)
status, _, err = run("patch", "-p1", "-i", "cure.patch")
build("list", cc)
again, out, _ = run(nvwave, "crash", "--exec=./list append list.pool 1 no-add", "--image=list.pool", "--check=./list check", "--states=20")
ok(status == 0 and again == 0 and "undo log" not in out, "its_patch_applies_and_mends_the_program", status, err, out)
shutil.copy(source, "transactions.c")
with open("build.sh", "w") as f:  # as if the range did not reach the build
    f.write("%s %s -g -O1 -o transactions %s -lpmemobj\n" % (cc, compiler, source))
status, out, err = run(*crash[:3], "--check=true", "--states=10", "--exec=./transactions start no-range", "--try-cures=sh build.sh", "--patch=no.patch")
ok(status == 1 and "refuted by running: pmemobj_tx_add_range_direct(" in out and "is still in no added range" in out and not os.path.exists("no.patch"),
   "a_range_that_does_not_help_is_refuted", status, out, err)
build("transactions")  # by the plain compiler
seen = {case: watched(case, "--record=log") for case in ("no-range-of-list", "no-range-of-copy", "no-range")}
named = {case for case, (_, unlogged, _) in seen.items() if [u["store"]["line"] for u in unlogged] == [lines[case]]}
with open("report.json") as f:
    notes = json.load(f)["notes"]
ok(named == {"no-range-of-list", "no-range-of-copy"} and
   all(not unlogged for case, (_, unlogged, _) in seen.items() if case not in named) and
   any("only calls of libpmemobj were looked at" in str(n) for n in notes),
   "of_a_program_that_nvwave_cc_has_not_built_calls_are_looked_at_and_a_note_says_so", named, notes, seen)
build("list")
status, out, err = run(nvwave, "crash", "--exec=./list append list.pool 1", "--image=list.pool", "--check=./list check", "--states=10")
ok(status == 0 and "undo log" not in out, "of_a_program_that_nvwave_cc_has_not_built_nothing_is_said", status, out, err)
plan()
