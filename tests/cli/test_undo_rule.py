#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_undo_rule.py NVWAVE: stores in the epochs of workloads that no undo log takes back are named, and no others."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave = os.path.abspath(sys.argv[1])
BTREE = ["btree", "--count=300", "--batch=64"]
TASKS = ["saved-tasks", "--recovery=undo"]
# What each seeded bug of an undo log leaves out, by the functions that then store it; any other bug of the workload: nothing.
UNLOGGED = {"no-undo": {"publish_order", "publish"}, "missing-log-entry": {"publish"}, "unlogged-allocation": {"write_node", "make_level"},
            "no-log": {"fill"}, "codes-unlogged": {"fill"}, "words-unlogged": {"fill"}}


def run(*words):
    done = subprocess.run([nvwave, *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def checked(*words):
    """The exit status, and the report of the check."""
    status, out, err = run("run", *words, "--check=undo", "--output-format=json")
    return status, json.loads(out)["undo"] if out else err


wrong = []
for words in (BTREE, BTREE + ["--barriers=paper", "--undo=off"], BTREE + ["--scope=kernel"], ["btree", "--preload=100", "--count=100", "--op=delete"], BTREE + ["--order=14"], TASKS, TASKS + ["--program=nqueens", "--n=5", "--entries=128"],
              TASKS + ["--program=marks", "--n=9"], ["saved-tasks"], ["kv", "--count=50"], ["queue"], ["stack"], ["steal-log"], ["tiered"]):
    status, undo = checked(*words)
    uses_log = not {"--undo=off", "--op=delete"} & set(words) and (words[0] == "btree" or "--recovery=undo" in words)
    if status != 0 or undo["unlogged"] or undo["places"] or (undo["stores"] > 0) != uses_log:
        wrong.append((words, status, undo))
ok(not wrong, "workloads_log_what_they_store_in_epochs", *wrong)
wrong = []
named = 0
for line in run("list", "mutations")[1].splitlines():
    workload, mutation = line.split()[:2]
    words = {"btree": BTREE, "saved-tasks": TASKS}.get(workload)
    if words is None:
        continue
    status, undo = checked(*words, "--mutate=" + mutation)
    functions = {p["store"]["function"] for p in undo["places"]}
    named += bool(functions)
    expected = UNLOGGED.get(mutation, set())
    if bool(functions) != bool(expected) or not functions <= expected or status != (1 if expected else status) or \
            any(p["log"] != "epoch" or p["transaction"]["line"] == 0 for p in undo["places"]):
        wrong.append((workload, mutation, status, undo))
ok(not wrong and named == len(UNLOGGED), "each_seeded_bug_that_leaves_out_an_entry_is_named_by_its_stores_and_no_other", *wrong)

status, out, err = run("run", *BTREE, "--mutate=missing-log-entry", "--check=undo")
ok(status == 1 and " of 3,458 stores in epochs were not logged, at 1 place\n" in out and
   "rule  never logged by nvw_undo(): the store at workloads/btree/insert.c:" in out and "in the epoch begun at workloads/btree/insert.c:" in out,
   "a_run_prints_the_store_and_its_epoch", status, out, err)
few = ["crash", *TASKS, "--mutate=codes-unlogged", "--states=1"]
status, out, err = run(*few)
ok(status == 1 and out.startswith("UNLOGGED STORE   1 place; no failure in ") and "never logged by nvw_undo(): the store at workloads/tasks/launches.c:" in out,
   "a_crash_test_says_so_though_no_state_fails", status, out, err)
status, out, err = run(*few, "--output-format=sarif")
results = json.loads(out)["runs"][0]["results"] if out else []
ok(status == 1 and [r["ruleId"] for r in results] == ["unlogged-store"], "other_tools_get_its_line", status, out, err)
status, out, err = run("crash", *TASKS, "--mutate=codes-unlogged", "--states=300")
ok(status == 1 and out.startswith("INCONSISTENT") and "breaks a rule of epochs, below: mend that first" in out,
   "a_finding_that_comes_of_it_says_so", status, out, err)
status, out, err = run("crash", *TASKS, "--states=300")
ok(status == 0 and "nvw_undo" not in out, "its_clean_twin_breaks_none", status, out, err)
plan()
