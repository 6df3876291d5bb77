#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_bench.py NVWAVE TUTORIAL-QUEUE: nvwave bench, its numbers against runs by themselves, and its order."""
import json
import math
import os
import shutil
import sys
import tempfile

import common
from common import ok, plan, rows, run, statistics

nvwave, tutorial = (os.path.abspath(p) for p in sys.argv[1:3])
folder = tempfile.TemporaryDirectory(prefix="nvwave-bench-")
os.chdir(folder.name)
common.nvwave = nvwave
small = ["--records=100", "--operations=128"]


def bench(*words):
    return run("bench", *words, *small)


def report(*words):
    status, out, err = bench(*words, "--output-format=json")
    assert out, err
    return status, json.loads(out)["rows"]


def near(a, b):
    return math.isclose(float(a), b, rel_tol=1e-9)


def expected(words, seed):
    """The numbers of a row, from two runs."""
    words = ["run"] + words + ["--seed=%d" % seed, "--latencies"]
    one, dram = statistics(*words), statistics(*words, "--set=nvram.read=25ns", "--set=nvram.write=25ns")
    n = one["latency.operation.count"]
    return {
        "throughput": n / (one["sim_time"] * 1e-12),
        "p50": one["latency.operation.p50"], "p99": one["latency.operation.p99"], "p999": one["latency.operation.p999"],
        "longest": one["latency.operation.max"], "lines_per_op": one["nvram.writes"] / n,
        "bytes_per_op": 8 * one["nvram.words"] / n, "amplification": 8 * one["nvram.writes"] / one["nvram.words"],
        "barriers_per_op": sum(one["persist.barriers_" + s] for s in ("wi", "wg", "kr")) / n,
        "stall_per_op": (one["persist.stall"] + one["persist.buffer_stall"] + one["persist.store_stall"]) / n,
        "energy_per_op": sum(v for k, v in one.items() if k.startswith("energy.")) / n,
        "over_dram": one["sim_time"] / dram["sim_time"]}


def numbers():
    status, out, err = bench("kv", "stack", "--mix=a,own", "--against=scope=workitem,workgroup", "--seeds=2", "-o", "t.csv")
    table, wrong = rows("t.csv"), [err] if status else []
    runs = {"kv": ["kv", "--ycsb=a", "--preload=100", "--count=128", "--batch=512", "--value-size=64B"],
            "stack": ["stack", "--count=128"]}
    for row in table:
        for name, value in expected(runs[row["workload"]] + ["--scope=" + row["scope"]], int(row["seed"])).items():
            if not near(row[name], value):
                wrong.append((row["workload"], row["scope"], row["seed"], name, row[name], value))
    places = [(r["workload"], r["mix"], r["scope"], r["seed"], r["status"]) for r in table]
    ok(not wrong and sorted(places) == sorted((w, m, s, seed, "ok") for w, m in (("kv", "a"), ("stack", "own"))
                                              for s in ("workitem", "workgroup") for seed in "12"),
       "a_row_has_the_numbers_of_its_run_per_operation", *wrong, places)
    begun = os.stat("t.journal").st_size
    first = open("t.csv").read()
    status, again, err = bench("kv", "stack", "--mix=a,own", "--against=scope=workitem,workgroup", "--seeds=2", "--output=t.csv")
    ok(status == 0 and open("t.csv").read() == first and os.stat("t.journal").st_size == begun
       and out.splitlines()[:5] == again.splitlines()[:5], "what_is_known_is_not_run_again", status, err)
    if shutil.which("gnuplot"):
        status, _, err = run("plot", "t.csv", "--x=scope", "--y=throughput", "--series=workload", "--kind=bars", "--where=workload=kv", "-o", "t.svg")
        ok(status == 0 and os.path.getsize("t.svg") > 1000, "plot_draws_the_table", status, err)
    else:
        ok(True, "plot_draws_the_table # SKIP there is no gnuplot")


def spread():
    _, all_rows = report("queue", "--seeds=3", "--unchecked", "-o", "s.csv")
    values = [float(r["throughput"]) for r in rows("s.csv")]
    mean = sum(values) / 3
    half = 4.3027 * math.sqrt(sum((v - mean) ** 2 for v in values) / 2 / 3)
    n = all_rows[0]["throughput"]
    ok(len(values) == 3 and near(n["mean"], mean) and near(n["least"], min(values)) and near(n["most"], max(values))
       and abs(n["confidence_95"] / half - 1) < 1e-3, "a_mean_has_the_confidence_interval_of_its_seeds", n, values)


def losing():
    status, table = report("btree", "--mix=load", "--against=undo=off,on", "--seeds=1")
    off, on = table[1], table[0]
    ok(status == 1 and (off["undo"], off["status"], off["crash_states"]) == ("off", "wrong", "LOSES DATA") and on["status"] == "ok"
       and off["throughput"]["mean"] > on["throughput"]["mean"] and off["reason"],
       "what_is_faster_and_loses_data_comes_last", status, off, on)
    status, out, err = run("bench", "kv", "--mix=load", "--mutate=publish-before-value", "--seeds=1", "--operations=600")
    ok(status == 1 and "LOSES DATA: key " in out and "is published, but its value is torn or not durable" in out,
       "a_seeded_bug_is_seen_in_the_crash_states_of_its_row", status, out, err)
    status, out, err = bench("kv", "--mix=load", "--mutate=publish-before-value", "--seeds=1", "--unchecked")
    ok(status == 0 and "unchecked: no row was crash-tested" in out and "LOSES" not in out,
       "an_unchecked_table_says_so", status, out, err)


def refused():
    status, table = report("kv", "btree", "--mix=load", "--against=scope=workitem,workgroup", "--against=undo=on,off", "--seeds=1", "--unchecked")
    places = [(r["workload"], r["scope"], r["undo"], r["status"], r["throughput"] is not None) for r in table]
    ok(status == 0 and sorted(places) == [
        ("btree", "workgroup", "off", "ok", True), ("btree", "workgroup", "on", "ok", True),
        ("btree", "workitem", "off", "refused", False), ("btree", "workitem", "on", "refused", False),
        ("kv", "workgroup", "-", "ok", True), ("kv", "workitem", "-", "ok", True)]
       and all('"workitem" is not one of' in r["reason"] for r in table if r["status"] == "refused"),
       "what_a_structure_cannot_do_has_no_number_and_a_reason", status, places)
    wrong = []
    for words, message in ((["kvv"], "did you mean kv?"), (["kv", "--against=scop=kernel"], "has an option scop"),
                           (["kv", "--against=machine=gope"], "did you mean gope18?"), (["kv", "--against=scope"], "expected NAME=VALUE"),
                           (["kv", "--mix=g"], 'found "g"'), (["queue", "--mix=a"], "no such mix"), (["kv", "kv"], "named twice"),
                           (["kv", "--machine=gope18", "--against=machine=gpm22"], "fixed already"),
                           (["kv", "--unchecked", "--states=5"], "--states"), (["kv", "--fresh"], "--fresh")):
        status, out, err = bench(*words)
        if status != 2 or out or message not in err or err.count("\n") != 1:
            wrong.append((words, status, out, err))
    ok(not wrong, "what_cannot_run_is_refused_in_one_sentence", *wrong)


def own():
    status, table = report(tutorial, "--seeds=1")
    row = table[0]
    ok(status == 0 and (row["workload"], row["mix"], row["status"]) == ("tutorial-queue", "own", "ok") and row["p50"]["mean"] > 0
       and row["crash_states"].startswith("all 2^") and len(table) == 1, "a_structure_of_the_user_has_its_row", status, table)
    status, table = report(tutorial, "--seeds=1", "--mutate=forget-barrier")
    ok(status == 1 and table[0]["crash_states"] == "LOSES DATA", "its_seeded_bug_is_seen", status, table)


def same_requests():
    """A mix is the same requests for every structure; a run checks what its lookups find."""
    names = {"get": "lookup", "put": "update", "read_modify_write": "read_modify_write", "scan": "scan"}
    wrong = []
    for mix in "abcdef":
        words = ["--ycsb=" + mix, "--preload=100", "--count=600", "--batch=128", "--latencies"]
        kv, btree = statistics("run", "kv", *words, "--value-size=8B"), statistics("run", "btree", *words)
        for name, other in names.items():
            other = "insert" if name == "put" and mix in "de" else other
            counts = [s.get("latency.operation.%s.count" % n, 0) for s, n in ((kv, name), (btree, other))]
            if counts[0] != counts[1]:
                wrong.append((mix, name, counts))
        if btree["latency.operation.count"] != 600 or btree["btree.absent"]:
            wrong.append((mix, btree["latency.operation.count"], btree["btree.absent"]))
    ok(not wrong, "a_mix_is_the_same_requests_for_every_structure_that_has_it", *wrong)


def one_operation():
    """Of a single operation: from the first instruction of its wavefront to the last one's end."""
    stats = statistics("run", tutorial, "--count=1", "--latencies", "--timeline=one.json")
    with open("one.json") as f:
        events = json.load(f)["traceEvents"]
    tracks = [e["tid"] for e in events if e["ph"] == "M" and e["args"].get("name") == "wavefront 0"]
    whole = []
    for track in tracks:
        times = [e["ts"] for e in events if e["ph"] in "BE" and e["tid"] == track and e.get("name") != "append"]
        whole.append((max(times) - min(times)) * 1e6)
    ok(len(whole) == 1 and abs(whole[0] - stats["latency.operation.append.max"]) <= 1 and stats["latency.operation.count"] == 1,
       "an_operation_lasts_from_its_first_instruction_to_its_end", whole, stats["latency.operation.append.max"])


numbers()
spread()
losing()
refused()
own()
same_requests()
one_operation()
plan()
