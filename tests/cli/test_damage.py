#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_damage.py NVWAVE UNSAID.so [COPIES]: folders of pools, and pools damaged on purpose.

Of every structure that persists COPIES copies in all are damaged (default 200; ./test.sh --all has 10,000): no damage is accepted silently but
of words that a structure says it does not guard, none of them metadata; nothing crashes, and what is refused is left as it was."""
import json
import os
import shutil
import sys
import tempfile

import common
from common import ok, plan, run

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
unsaid = os.path.abspath(sys.argv[2])
copies = int(sys.argv[3]) if len(sys.argv) > 3 else 200
folder = tempfile.TemporaryDirectory(prefix="nvwave-damage-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
os.chdir(folder.name)

structures = ["kv", "btree", "queue", "stack", "steal-log", "tiered"]
small = {"kv": ["--count=60"], "btree": ["--count=60", "--preload=60"], "queue": ["--count=40"], "stack": [], "steal-log": [], "tiered": []}


def make(name, path):
    status, _, err = run("run", name, *small[name], "--pool=" + path)
    assert status == 0, err


def damage(*words):
    status, out, err = run("damage", *words, "--output-format=json")
    return status, json.loads(out) if out else None, err


def table(title, reports):
    """What became of the copies of every structure, by what was damaged."""
    verdicts = list(reports[0]["all"])
    print("# %-22s" % title + "".join("%10s" % v for v in verdicts))
    for what in ("header", "log", "epoch", "heap", "data"):
        rows = [row["copies"] for r in reports for row in r["rows"] if row["what"] == what]
        if rows:
            print("# %-22s" % what + "".join("%10d" % sum(r[v] for r in rows) for v in verdicts))
    print("# %-22s" % "all" + "".join("%10d" % sum(r["all"][v] for r in reports) for v in verdicts), flush=True)


def metadata():
    wrong, reports = [], []
    for name in structures:
        status, report, err = damage(name, "--what=header,log,epoch,heap", "--how=flip,swap,truncate,old-version",
                                     "--copies=%d" % (copies // len(structures)))
        if status != 0 or report["all"]["silent"] + report["all"]["crashed"] + report["all"]["touched"] + report["all"]["unread"] + report["all"]["unguarded"]:
            wrong.append((name, status, err, report))
        if report["all"]["refused"] == 0 or report["all"]["repaired"] == 0:
            wrong.append((name, "nothing was refused, or nothing repaired", report["all"]))
        reports.append(report)
    table("metadata", reports)
    ok(not wrong, "no_damaged_metadata_is_accepted_silently", *wrong)


def everything():
    """Data too, and words that become 0: a structure may miss what it does not guard; recovery and check come to an end, and write nothing that they refuse."""
    wrong, reports = [], []
    for name in structures:
        status, report, err = damage(name, "--copies=%d" % (copies // len(structures)), "--seed=7")
        if status or report["all"]["silent"] + report["all"]["crashed"] + report["all"]["touched"]:
            wrong.append((name, err, report))
        reports.append(report)
    table("everything, zero too", reports)
    ok(not wrong and any(r["all"]["reported"] for r in reports), "no_damage_is_silent_or_crashes_recovery_or_makes_it_write_before_it_refuses", *wrong)


def unguarded():
    """What a structure keeps nothing to compare with is counted apart, by what it is; damage of all else is noticed."""
    wrong, reasons = [], {}
    for name in structures:
        status, report, err = damage(name, "--what=data", "--copies=120", "--seed=2")
        total, why = report["all"], report["not_noticeable"]
        if status or total["silent"] or sum(why.values()) != total["unguarded"] or total["reported"] + total["refused"] == 0:
            wrong.append((name, status, err, report))
        reasons[name] = set(why)
    ok(not wrong and {"a key", "a value", "a slot without a key"} <= reasons["btree"] and "a slot" in reasons["kv"] and "a link" in reasons["stack"],
       "what_no_check_can_know_is_counted_apart_and_all_else_is_noticed", *wrong, reasons)
    status, out, err = run("damage", "btree", "--what=data", "--copies=120", "--seed=2")
    ok(status == 0 and out.startswith("ALL NOTICED THAT THE STRUCTURE GUARDS") and "\n  not noticeable: a value (" in out, "a_report_says_what_is_not_noticeable", out, err)


def silent():
    """The judge itself: of a structure that says nothing of what it does not guard, the same damage is silent."""
    os.environ["NVWAVE_WORKLOADS"] = os.path.dirname(unsaid)
    status, _, err = run("run", "unsaid", *small["btree"], "--pool=unsaid")
    damaged, report, why = damage("unsaid", "--what=data", "--how=flip", "--copies=60")
    del os.environ["NVWAVE_WORKLOADS"]
    bad = report["bad"] if report else []
    ok(status == 0 and damaged == 1 and report["all"]["silent"] > 0 and report["all"]["unguarded"] == 0 and not report["not_noticeable"] and bad and
       all(b["verdict"] == "silent" and b["before"] != b["after"] for b in bad), "what_is_not_said_to_be_unguarded_is_silent", status, err, report, why)


def lost_root():
    """The root word is durable before the first entry: kv without it, but with entries, is no empty table."""
    shutil.copy("kv", "rootless")
    with open("rootless", "r+b") as f:
        f.seek(0x2000)
        root = f.read(8)
        f.seek(0x2000)
        f.write(b"\0" * 8)
    status, out, err = run("recover", "rootless")
    ok(any(root) and status == 2 and "expected a table, since the block at offset" in err, "a_root_word_that_became_0_is_noticed_by_the_entries", status, out, err)


def repeats():
    first, again, other = (damage("kv", "--copies=20", "--seed=%d" % seed)[1] for seed in (3, 3, 4))
    ok(first["rows"] == again["rows"] and first["all"] == again["all"] and first["all"] != other["all"], "the_same_seed_damages_the_same_places",
       first["all"], other["all"])


def kept():
    """Copies in a folder, one damage each as the manifest says; the folder's table; the worst exit status."""
    status, out, err = run("damage", "kv", "--output=bad", "--copies=12")
    manifest = json.load(open("bad/manifest.json"))
    wrong = []
    for copy in manifest["copies"]:
        size = os.path.getsize("bad/" + copy["file"])
        with open("bad/" + copy["file"], "rb") as f:
            f.seek(int(copy["offset"], 16))
            word = int.from_bytes(f.read(8), "little")
        right = size == int(copy["after"], 16) if copy["how"] == "truncate" else copy["how"] == "old-version" or word == int(copy["after"], 16)
        if not right:
            wrong.append((copy, hex(word), size))
    shutil.copy("kv", "bad/whole")
    table = run("recover", "bad", "--dry-run", "--verify", "--output-format=json")
    pools = json.loads(table[1])["pools"]
    worst = max(p["status"] for p in pools)
    ok(status == 0 and not wrong and len(pools) == 13 and table[0] == worst == 2 and pools[-1]["state"] == "clean" and
       pools[-1]["words_written_again"] == 0, "kept_copies_are_damaged_as_their_manifest_says_and_the_worst_status_counts", *wrong, table)
    status, _, err = run("damage", "kv", "--output=bad")
    ok(status == 2 and "bad exists" in err, "an_existing_folder_is_refused", err)


def folders():
    os.makedirs("pools/inner")
    for name in ("kv", "tiered"):
        make(name, "pools/" + name)
    with open("pools/notes.txt", "w") as f:
        f.write("no pool")
    status, out, err = run("recover", "pools")
    names = [line.split()[0] for line in out.splitlines()[1:-1]]
    ok(status == 0 and names == ["kv", "tiered"] and out.splitlines()[-1] == "2 pools, and 1 other files",
       "a_folder_has_a_row_for_each_pool_of_which_further_pools_are_a_part", out, err)
    status, out, err = run("inspect", "pools")
    ok(status == 0 and "structure" in out and len(out.splitlines()) == 4, "inspect_has_a_table_too", out, err)
    with open("pools/kv", "r+b") as f:
        f.write(b"\0" * 8)
    status, out, err = run("recover", "pools", "--dry-run")
    ok(status == 0 and "header mended" in out, "what_recovery_would_do_is_said_of_each", out, err)
    os.rename("pools/inner", "inner")
    status, out, err = run("recover", "inner")
    ok(status == 2 and "expected a folder with pools" in err, "a_folder_without_pools_is_refused", err)


def refused():
    wrong = []
    for words, said in ((["--what=headers"], "headers"), (["--how=melt"], "melt"), (["--what=data", "--how=old-version"], "nothing in it can be damaged")):
        status, out, err = run("damage", "kv", *words)
        if status != 2 or said not in err:
            wrong.append((words, status, out, err))
    ok(not wrong, "a_word_that_is_no_damage_is_refused_by_name", *wrong)


def exported():
    """Crash states as files: the manifest names each, recovery and check pass on all of them, a tool of others runs over copies, and metadata of open epochs is guarded, too."""
    states = ["crash", "btree", "--count=80", "--preload=60", "--states=60", "--model=epoch", "--seed=1"]
    status, out, err = run(*states, "--export-states=states", "--tool=rm {} && test ! -e {}")
    manifest = json.load(open("states/manifest.json"))
    named = sorted(s["file"] for s in manifest["states"])
    left = sorted(n for n in os.listdir("states") if n != "manifest.json")
    ok(status == 0 and named == left and len(left) > 40 and all(s["tool_status"] == 0 for s in manifest["states"]),
       "each_tested_state_is_a_file_that_a_tool_cannot_change", status, err, out[-500:])
    status, out, err = run("recover", "states", "--verify", "--output-format=json")
    pools = json.loads(out)["pools"]
    ok(status == 0 and any(p["epochs_rolled_back"] for p in pools) and all(p["words_written_again"] == 0 for p in pools),
       "every_crash_state_is_recovered_as_a_file_too", status, err, [p for p in pools if p["status"]])
    open_epochs = [os.path.basename(p["pool"]) for p in pools if p["epochs_rolled_back"]]
    status, report, err = damage("states/" + named[left.index(open_epochs[0])], "--copies=100", "--what=header,log,epoch,heap")
    ok(not report or report["all"]["crashed"] + report["all"]["touched"] == 0, "a_pool_with_open_epochs_is_damaged_and_judged_too", status, err, report)
    status, _, err = run(*states[:-1], "--seed=2", "--export-states=failing", "--mutate=update-before-log", "--tool=false")
    failing = json.load(open("failing/manifest.json"))["states"]
    ok(status == 1 and failing and all(s["tool_status"] == 1 for s in failing), "a_tool_that_fails_is_exit_status_1", status, err)
    status, _, err = run(*states, "--export-states=states")
    ok(status == 2 and "states exists" in err, "an_existing_folder_is_not_filled", err)


def mutant():
    """A pool whose structure is wrong already has nothing to be compared with."""
    with open("kv", "rb") as f:
        image = bytearray(f.read())
    with open("torn", "wb") as f:
        f.write(image[:len(image) // 2])
    status, _, err = run("damage", "torn")
    ok(status == 2 and "bytes, expected" in err, "a_pool_that_is_damaged_already_is_refused", err)


for name in structures:
    make(name, name)
metadata()
everything()
unguarded()
silent()
lost_root()
repeats()
kept()
folders()
refused()
exported()
mutant()
plan()
