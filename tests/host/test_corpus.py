#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_corpus.py NVWAVE NVWAVE-CC SOURCE HEADERS: crash tests of a program with many inputs (corpus.c)."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import common  # noqa: E402
from common import ok, plan, run  # noqa: E402

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
wrapper, source, headers = (os.path.abspath(p) for p in sys.argv[2:5])
scratch = tempfile.TemporaryDirectory(prefix="nvwave-corpus-")
os.chdir(scratch.name)
flags = ["-O1", "-g", "-I" + headers, source, "-lpmem"]
subprocess.run([wrapper, "cc", "-o", "prog"] + flags, check=True)
subprocess.run(["cc", "-o", "plain"] + flags, check=True)


def corpus(name, **inputs):
    os.mkdir(name)
    for file, text in inputs.items():
        with open(os.path.join(name, file), "w") as f:
            f.write(text)
    return "--corpus=" + name


def crash(*words, program="prog", command="%s pool @@", statuses=(0, 1)):
    status, out, err = run("crash", "--exec=./" + command % program, "--image=pool", "--check=./prog check", "--cures=off",
                           "--output-format=json", *words)
    assert status in statuses, (status, out, err)
    return json.loads(out) if out else err


def fates(report):
    return {i["name"]: i["fate"] for i in report["corpus"]["inputs"]}


many = corpus("many", a1="a", a2="aa", a3="a", b="aab", empty="", fails="agx", falls="g!", grows="ag", hangs="w", same="aa")
os.mkdir("many/folder")
os.symlink("nowhere", "many/broken")
report = crash(many, "--input-timeout=2s")
got = fates(report)
ok(got == {"a1": "tested", "a2": "tested", "a3": "nothing-new", "b": "tested", "broken": "refused", "empty": "refused", "fails": "tested",
           "falls": "tested", "grows": "nothing-new", "hangs": "timed-out", "same": "nothing-new"}, "each_input_has_a_fate", got)
# a2 and falls execute no other statement: a second operation finds its name, and an abort takes a branch of its own.
ends = {i["name"]: i.get("status", -i.get("signal", 0)) for i in report["corpus"]["inputs"]}
ok(ends["fails"] == 3 and ends["falls"] == -6 and ends["empty"] == 2 and ends["a1"] == 0, "how_the_program_ended_is_said", ends)
finding = report["findings"][0]
ok(len(report["findings"]) == 1 and finding["input"] == "b" and "0 of 1 are left" == finding["text"] and finding["cause"]["text"],
   "a_finding_says_which_input_it_is_of_and_why", report["findings"])
missed = {s["function"] for s in report["source"]["not_executed"]}
ok(missed == {"check_counters"}, "the_coverage_is_that_of_all_inputs", report["source"])
alone = crash(corpus("alone", a="a"))
ok({"forget", "grow"} <= {s["function"] for s in alone["source"]["not_executed"]}, "one_input_reaches_less", alone["source"])
only = corpus("only", a="aaabaaba")
sums = [{k: v for k, v in json.loads(run("crash", "--exec=./prog pool " + words[0], "--image=pool", "--check=true", "--output-format=json", *words[1:])[1]).items()
           if k.startswith(("states", "instants"))} for words in (("@@", only), ("only/a",))]
ok(sums[0] == sums[1] and sums[1]["states_alike"] > 0, "one_input_has_the_counts_of_its_run_alone", *sums)

# The first states of "ag" are those of "a", but for that after it: then the next operation is in flight.
both = crash(corpus("both", a="a", b="ag"))
parts = [crash(corpus("part%d" % i, **{"a": text})) for i, text in enumerate(("a", "ag"))]
ok(both["corpus"]["states_of_other_inputs"] == parts[0]["states_distinct"] - 1 == 2 and
   both["states_distinct"] == parts[1]["states_distinct"] + 1, "states_that_another_input_left_are_not_tested_again", both, parts)
# At the beginning both have the same bytes, with another operation in flight.
other = crash(corpus("other", a="n", b="a"))
ok(other["corpus"]["states_of_other_inputs"] == 0 and fates(other) == {"a": "tested", "b": "tested"},
   "states_are_the_same_only_where_the_same_was_promised", other["corpus"])

by_stdin = crash("--corpus=both", command="%s pool")
ok(fates(by_stdin) == fates(both) and by_stdin["states_distinct"] == both["states_distinct"], "without_a_placeholder_an_input_is_standard_input", by_stdin["corpus"])
plain = crash("--corpus=many", "--input-timeout=2s", program="plain")
ok({n: f for n, f in fates(plain).items() if f != "tested"} == {"a3": "same-log", "same": "same-log", "broken": "refused", "empty": "refused", "hangs": "timed-out"} and
   plain["findings"][0]["input"] == "b" and not plain.get("source"), "of_a_program_that_nvwave_cc_has_not_built_each_other_log_is_tested", fates(plain))

status, out, err = run("crash", "--exec=./prog pool @@", "--image=pool", "--check=./prog check", "--cures=off", "--corpus=many", "--input-timeout=2s")
ok(status == 1 and "corpus: 11 inputs: 5 tested, 3 reached nothing new, 2 could not be tested, 1 did not end in time; " in out and
   "the program failed with empty (status 2), fails (status 3), falls (signal 6)\n" in out and "did not end in time: hangs\n" in out and
   "could not be tested: broken (many/broken: No such file or directory), empty (" in out and "with the input b\n" in out, "the_text_says_so", out)
fallen = crash(corpus("fallen", one="a", other="g!"), statuses=(2,))
ok(fallen["verdict"] == "undecided" and not fallen["findings"], "a_program_that_a_signal_has_ended_is_undecided_as_without_a_corpus", fallen)
short = crash("--corpus=both")
waits = crash(corpus("waits", one="a", other="w"), "--input-timeout=2s")
ok(short["verdict"] == "consistent" and waits["verdict"] == "not-refuted" and not waits["findings"], "of_an_input_that_is_not_tested_nothing_is_known", waits)
wrong = crash(corpus("wrong", one="v"))
ok([f["text"][:19] for f in wrong["findings"]] == ["without any crash: "], "what_is_wrong_without_a_crash_says_so", wrong)
err = crash(corpus("none"), statuses=(2,))
ok("none has no files" in err, "a_folder_without_files_is_refused", err)
err = crash(corpus("bad", one="", two=""), statuses=(2,))
ok("none of the 2 inputs could be tested; one could not be tested: --exec:" in err, "inputs_of_which_none_can_be_tested_are_refused", err)
status, out, err = run("crash", "--exec=./prog pool @@", "--image=pool", "--oracle=replay", "--recover=./prog print pool", "--cures=off",
                       corpus("replayed", a="ag", c="b"), "--output-format=json")
report = json.loads(out or "{}")
ok(fates(report) == {"a": "refused", "c": "tested"} and report["corpus"]["inputs"][0]["why"].startswith("--recover: the command fails") and
   report["findings"][0]["input"] == "c" and {"add", "grow"} <= {s["function"] for s in report["source"]["not_executed"]}, "an_input_that_cannot_be_judged_is_refused_and_the_others_are_tested", report.get("corpus"), err)
corpus("longer", **{"a" * i: "a" * i for i in range(1, 6)})
status, out, err = run("crash", "--exec=./plain pool @@", "--image=pool", "--oracle=replay", "--recover=./plain print pool", "--cures=off", "--corpus=longer",
                       "--output-format=json")
report = json.loads(out or "{}")
ok(status == 0 and set(fates(report).values()) == {"tested"} and report["corpus"]["states_of_other_inputs"] == 20 and report["why_executed"] == "",
   "each_input_is_judged_by_a_command_that_begins_anew", report.get("corpus"), err)

# ---- AFL++ --------------------------------------------------------------------------------------------------------------
fuzz = ["crash", "--image=pool", "--check=./prog check", "--cures=off", "--corpus=seeds", "--fuzz=1", "--input-timeout=2s"]
corpus("seeds", one="a")
status, out, err = run(*fuzz, "--exec=./prog pool @@", env=dict(os.environ, PATH="/nonexistent"))
ok(status == 2 and "--fuzz: expected afl-fuzz of AFL++" in err, "without_afl_fuzz_nothing_is_tested", status, err)
if not shutil.which("afl-fuzz"):
    print("# skipped: there is no afl-fuzz (apt install afl++)")
    plan()
    sys.exit()
status, out, err = run(*fuzz, "--exec=./prog pool @@ | cat")
ok(status == 2 and "--fuzz: expected a program and its arguments" in err, "a_command_for_a_shell_is_refused", status, err)
status, out, err = run(*fuzz, "--exec=./plain pool @@")
ok(status == 2 and "--fuzz: ./plain: expected a program that nvwave-cc has built (afl-fuzz: Fork server handshake failed)\n" in err and os.listdir("seeds") == ["one"],
   "so_is_a_program_that_nvwave_cc_has_not_built", status, err)
os.mkdir("void")
status, out, err = run(*fuzz, "--exec=./prog pool @@", "--corpus=void")
ok(status == 2 and "--corpus: void has no files: expected one for each run" in err, "so_is_an_empty_folder", status, err)
corpus("zero", nothing="")
status, out, err = run(*fuzz, "--exec=./prog pool @@", "--corpus=zero")
ok(status == 2 and "--fuzz: afl-fuzz ended early: No usable test cases in 'zero'\n" in err, "what_afl_says_is_said", status, err)


corpus("three", aaa="aaa", a="a", ag="ag")
library = os.path.join(os.path.dirname(nvwave), "..", "host", "libnvwave-fuzz.so")
subprocess.run(["afl-showmap", "-q", "-r", "-m", "none", "-t", "60000", "-i", "three", "-o", "maps", "--", "./prog", "scratch", "@@"],
               timeout=100, capture_output=True,
               env=dict(os.environ, AFL_PRELOAD=os.path.abspath(library), AFL_SKIP_BIN_CHECK="1", AFL_MAP_SIZE="1048576", PMEM_IS_PMEM_FORCE="1",
                        NVWAVE_FUZZ_IMAGE="none", NVWAVE_FUZZ_FILE="scratch"))


def counts(text):
    """How often each place was executed, as AFL++ counts."""
    with open("maps/" + text) as f:
        return dict(tuple(map(int, line.split(":"))) for line in f)


three, one, grown = counts("aaa"), counts("a"), counts("ag")
ok(one and one.keys() == three.keys() and sum(three[k] == 3 and n == 1 for k, n in one.items()) >= 2 and len(grown.keys() - one.keys()) == 2 and one.keys() < grown.keys(),
   "the_map_counts_each_place_that_stores_or_flushes", one, three, grown)
with open("scratch", "rb") as f:
    ok(f.read(1) in (b"\1", b"\3"), "each_run_begins_with_the_image")
status, out, err = run(*fuzz, "--exec=./prog pool @@", "--output-format=json")
report = json.loads(out)["corpus"]
made = [name for name in os.listdir("seeds") if name.startswith("fuzz-")]
ok(status in (0, 1) and report["made"] == len(made) and {i["name"] for i in report["inputs"]} == set(made) | {"one"} and
   not os.path.exists("pool"), "what_afl_fuzz_makes_is_kept_and_tested", status, report, err)
plan()
