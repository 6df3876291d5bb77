#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_coverage.py NVWAVE QUEUE SOURCE: what crash tests say of the statements that the run executed. QUEUE is the tutorial's workload, SOURCE the
top of the tree."""
import json
import os
import re
import sys
import tempfile

import common
from common import ok, plan, read, run

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
queue, source = (os.path.abspath(p) for p in sys.argv[2:4])
scratch = tempfile.TemporaryDirectory(prefix="nvwave-coverage-")
os.chdir(scratch.name)


def crash(*words):
    status, out, err = run("crash", *words, "--states=50", "--cures=off", "--output-format=json", "--coverage=trace")
    assert status in (0, 1), err
    return json.loads(out)["source"]


def trace():
    """Of the tracefile: lines by file, each with whether it was executed; functions likewise."""
    lines, functions, name = {}, {}, None
    for line in read("trace").splitlines():
        if line.startswith("SF:"):
            whole = line[3:]  # genhtml is run in any folder
            assert os.path.isabs(whole) and os.path.isfile(whole), whole
            name = re.search(r".*/((workloads|docs)/.*)", whole).group(1)
        elif line.startswith("DA:"):
            number, hits = line[3:].split(",")
            lines[name, int(number)] = hits == "1"
        elif line.startswith("FNDA:"):
            hits, function = line[5:].split(",")
            functions[name, function] = hits == "1"
    return lines, functions


def missed(report):
    return {(s["file"], s["line"]) for s in report["not_executed"]}


puts = ["kv", "--count=60", "--batch=16"]
again = report = crash(*puts)
lines, functions = trace()
ok(missed(report) == {place for place, hit in lines.items() if not hit} and len(lines) == report["statements"] and
   sum(lines.values()) == report["executed"] and sum(functions.values()) == report["functions_executed"] < len(functions),
   "the_tracefile_has_what_the_report_has", report, lines)

stores = re.compile(r"nvw_(store|atomic_(store|exchange|add|sub|and|or|min|max|compare_exchange)|p_barrier\w*|ack|wavefront_add)\(")
texts = {place: "".join(read(os.path.join(source, place[0])).splitlines()[place[1] - 1:place[1] + 2]) for place in lines}
wrong = [place for place, text in texts.items() if not stores.search(text)]
ok(not wrong, "each_statement_is_one_that_stores_persists_or_acknowledges", wrong)
for call in ("nvw_p_barrier", "nvw_ack(", "nvw_store(", "nvw_atomic"):
    ok(any(call in text for text in texts.values()), "there_are_statements_with_" + call.strip("("), texts)

# The persist log is written by other code: the source lines of its records were executed.
for workload in (puts, ["btree", "--count=200"], ["queue", "--count=128"], ["stack", "--count=128"], ["steal-log", "--tasks=32"], ["tiered", "--count=64"],
                 ["saved-tasks"]):
    known = missed(crash(*workload))
    status, out, err = run("run", *workload, "--log=log")
    assert status == 0, err
    logged = {(name, int(line)) for name, line in re.findall(r"([\w/]+\.[ch]):(\d+)", run("log", "dump", "log")[1])}
    ok(not known & logged and logged, "no_line_of_the_persist_log_of_%s_is_missed" % workload[0].replace("-", "_"), known & logged)

ok(not functions["workloads/kv/kernel.c", "mark_deleted"], "a_function_that_the_run_never_called_is_named")
crash(*puts, "--mix=put=50,delete=50")
ok(trace()[1]["workloads/kv/kernel.c", "mark_deleted"], "the_same_function_is_executed_by_a_run_that_deletes")

ok({os.path.dirname(name) for name, _ in lines} == {"workloads/kv"}, "statements_of_other_workloads_and_of_seeded_bugs_are_left_out",
   set(name for name, _ in lines))
report = crash(queue)
ok(report["statements"] == report["executed"] > 3 and {name for name, _ in trace()[0]} == {"docs/tutorial/queue.c"},
   "a_workload_from_a_shared_object_has_its_own_statements", report)

first = crash(*puts)
ok(first == again, "the_same_run_executes_the_same_statements")
killed = json.loads(run("crash", *puts, "--mode=kill", "--states=2", "--output-format=json")[1])["source"]
ok(killed == first, "kills_have_the_statements_of_the_uncut_run", killed)

text = run("crash", *puts, "--states=50", "--cures=off")[1]
ok("this run executed %d of the %d statements" % (first["executed"], first["statements"]) in text and "all of mark_deleted (kernel.c:" in text,
   "the_text_says_how_much_and_where", text)
status, out, err = run("crash", *puts, "--states=50", "--cures=off", "--coverage=nowhere/trace")
ok(status == 2 and "nowhere/trace" in err, "a_tracefile_that_cannot_be_written_is_named", status, err)
plan()
