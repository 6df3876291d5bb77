#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_bench.py NVWAVE TUTORIAL-QUEUE [SKELETON PIBENCH-MAP.CPP]: nvwave bench, its numbers against runs by themselves, and its order."""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import common
from common import ok, plan, rows, run, statistics

nvwave, tutorial, *programs = (os.path.abspath(p) for p in sys.argv[1:])
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


def other_tables():
    """A table is replaced only where no row of it is lost; nothing runs before."""
    words, wrong = ["queue", "--seeds=1", "--unchecked", "-o", "former.csv"], []
    done = [bench(*words, "--against=scope=workitem"), bench(*words, "--against=scope=workgroup,workitem")]
    before = open("former.csv").read()
    with open("users.csv", "w") as f:
        f.write("a,b\n1,2\n")
    for more, message in ((words + ["--against=scope=workitem"], "a point that this benchmark lacks: queue own workgroup 1"),
                          (words, "an axis scope"), (words + ["--against=scope=workitem", "--against=release=durable"], "fewer axes"),
                          (["queue", "--seeds=1", "--unchecked", "-o", "users.csv"], "users.csv: this is no table of a benchmark")):
        status, out, err = bench(*more)
        if status != 2 or out or message not in err or "--overwrite" not in err or err.count("\n") != 1:
            wrong.append((more, status, err))
    kept = open("former.csv").read() == before and open("users.csv").read() == "a,b\n1,2\n" and not os.path.exists("users.journal")
    done.append(bench(*words, "--overwrite"))
    ok(not wrong and kept and [d[0] for d in done] == [0, 0, 0] and len(rows("former.csv")) == 1,
       "a_benchmark_does_not_replace_the_table_of_another_one", done, kept, *wrong)


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


def host(skeleton):
    """Host programs: what nvwave exec reports of them, in the same columns, apart from simulated rows."""
    status, out, err = bench("queue", "exec:%s run {} 50" % skeleton, "--against=nvram.write=1us,40us", "--seeds=2", "--unchecked", "-o", "h.csv")
    table = rows("h.csv")
    real = [r for r in table if r["time"] == "real"]
    wrong = [err] if status else []
    for r in real:
        known = {k for k, v in r.items() if v}
        wait = 1e6 if r["nvram.write"] == "1us" else 40e6
        if not (known.isdisjoint(["bytes_per_op", "amplification", "stall_per_op", "energy_per_op", "over_dram"]) and r["crash_states"] == "-"
                and float(r["p99"]) >= 0.9 * wait and 0 < float(r["throughput"]) <= 1e12 / (0.9 * wait * 0.5)
                and 1 <= float(r["barriers_per_op"]) <= float(r["lines_per_op"]) < 9):
            wrong.append(r)
    ok(not wrong and [r["time"] for r in table] == ["simulated"] * 4 + ["real"] * 4 and {r["workload"] for r in real} == {"skeleton"}
       and "simulated and real time; " in out and "which no simulated time compares with" in out,
       "a_host_program_has_a_row_of_what_exec_knows_below_simulated_rows", *wrong, table, out)
    status, out, err = bench("exec:true", "exec:%s run {} 5; exit 3" % skeleton, "exec:/nowhere/at-all {}", "--seeds=1")
    lines = {line.split(":")[0]: line for line in out.splitlines() if ": " in line}
    ok(status == 1 and lines["true own"] == "true own: no result: it acknowledged no operation (nvw/ack.h)" and "WRONG RESULTS" in lines["skeleton own"]
       and "at-all" in lines["at-all own"] and "no result" in lines["at-all own"] and "real time; " in out and "crash states:" not in out,
       "a_host_program_that_fails_has_no_good_row", status, out, err)
    status, out, err = bench("exec:true", "--against=scope=kernel")
    ok(status == 2 and "has an option scope" in err, "an_axis_that_no_row_has_is_refused", err)


def indexes(index):
    """Of PiBench: the mixes of btree, and a wrong result is no good row."""
    if not shutil.which("g++"):
        ok(True, "an_index_for_pibench_has_rows # SKIP there is no g++")
        return
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", "map.so", index, "-lpmem"], check=True)
    words = ["btree", "pibench:./map.so --pool-size=1MiB", "--mix=a,load", "--seeds=1", "--unchecked"]
    status, out, err = run("bench", *words, *small, "--against=scope=workgroup", "-o", "i.csv")
    places = [(r["workload"], r["mix"], r["scope"], r["time"], r["status"]) for r in rows("i.csv")]
    ok(status == 0 and places == [("btree", "load", "workgroup", "simulated", "ok"), ("btree", "a", "workgroup", "simulated", "ok"),
                                  ("map.so", "load", "-", "real", "ok"), ("map.so", "a", "-", "real", "ok")],
       "an_index_for_pibench_has_rows", status, places, err)
    os.environ["PIBENCH_MAP"] = "forgets"
    status, out, err = run("bench", *words, *small)
    del os.environ["PIBENCH_MAP"]
    lines = out.splitlines()
    ok(status == 1 and lines[4].startswith("map.so") and lines[4].endswith("WRONG RESULTS") and "results were wrong, the first: a look-up found another" in out,
       "an_index_with_wrong_results_comes_last", status, out, err)


numbers()
other_tables()
spread()
losing()
refused()
own()
same_requests()
one_operation()
if programs:  # sanitized builds watch no host programs
    host(programs[0])
    indexes(programs[1])
plan()
