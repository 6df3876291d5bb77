#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_observe.py NVWAVE: statistics in parts, latencies, limits and progress of a run."""
import collections
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time

import common
from common import ok, plan, rows, run, statistics

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-observe-")
os.chdir(folder.name)
kv = ["run", "kv", "--count=128", "--preload=64", "--slots=512", "--batch=64", "--scope=workgroup", "--group-size=32"]
long = ["run", "mutex", "--machine=alsop16"]


def adds_up(per, *words):
    """Rows that follow each other, and whose statistics add up to the report's, but for energies, which are rounded."""
    stats = statistics(*kv, "--series=s.csv", "--per=" + per, *words)
    table = rows("s.csv")
    wrong = [(a["to"], b["from"]) for a, b in zip(table, table[1:]) if a["to"] != b["from"]]
    for name in table[0]:
        total = sum(int(r[name]) for r in table) if name in stats else None
        if total is not None and abs(total - stats[name]) > (len(table) if name.startswith("energy") else 0):
            wrong.append((name, total, stats[name]))
    ok(not wrong and len(table) > 2 and len([n for n in table[0] if n in stats]) > 80,
       "rows_per_%s_add_up_to_the_report" % per, *wrong[:5])
    return table, stats


def intervals():
    table, stats = adds_up("interval", "--interval=2us")
    ok(all(int(r["to"]) - int(r["from"]) == 2000000 for r in table[:-1]) and int(table[-1]["to"]) == stats["sim_time"],
       "intervals_have_the_given_length", [(r["from"], r["to"]) for r in table])


def kernels():
    table, stats = adds_up("kernel")
    ok([int(r["launch"]) for r in table] == list(range(1, stats["gpu.kernels"] + 1)) + [0] and all(r["kernel"] for r in table[:-1]),
       "every_launch_has_a_row_with_its_name", [(r["launch"], r["kernel"]) for r in table])


def parts():
    stats = statistics(*kv, "--series=cu.csv", "--per=cu")
    cus = rows("cu.csv")
    run(*kv, "--series=group.csv", "--per=group")
    groups = rows("group.csv")

    def total(table, name):
        return sum(int(r[name]) for r in table)

    flushes = sum(v for k, v in stats.items() if k.startswith("flushes."))
    invalidations = sum(v for k, v in stats.items() if k.startswith("invalidations."))
    ok(total(cus, "flushes") == flushes > 0 and total(cus, "invalidations") == invalidations > 0
       and total(cus, "work_groups") == stats["gpu.work_groups"] + stats["gpu.preemptions"] == len(groups),
       "cus_and_work_groups_add_up_to_the_report", flushes, invalidations, len(groups), stats["gpu.work_groups"])
    ok(all(total(cus, n) == total(groups, n) for n in cus[0] if n.startswith(("stall.", "wait.")))
       and total(cus, "resident_time") == total(groups, "to") - total(groups, "from")
       and total(cus, "stall.persist_barrier_time") > 0 < total(cus, "stall.load_time"),
       "stalls_of_work_groups_are_those_of_their_cus")
    busy = collections.Counter()
    for g in groups:
        busy[g["cu"]] += int(g["stall.load_time"])
    ok(all(busy[c["cu"]] == int(c["stall.load_time"]) for c in cus) and len(busy) > 1, "every_work_group_names_its_cu", busy)


def exact_percentile(values, percent):
    return sorted(values)[(len(values) * percent + 99) // 100 - 1]


def latencies():
    stats = statistics("run", "btree", "--count=256", "--preload=256", "--latencies", "--timeline=t.json")
    with open("t.json") as f:
        trace = json.load(f)["traceEvents"]
    open_at, barriers, waits = collections.defaultdict(list), [], []
    for e in trace:
        if e["ph"] == "B":
            open_at[e["tid"]].append(e)
        elif e["ph"] == "E":
            begun = open_at[e["tid"]].pop()
            taken = round((e["ts"] - begun["ts"]) * 1e6)
            if begun["name"] == "persist barrier":
                barriers.append(taken)
            elif begun["name"] == "barrier (work-group)":
                waits.append(taken)
    wrong = []
    for name, values in (("persist_barrier_wg", barriers), ("barrier_wg", waits)):
        for percent in (50, 99):
            exact, ours = exact_percentile(values, percent), stats["latency.%s.p%d" % (name, percent)]
            if not exact - 1 <= ours <= exact * 65 / 64 + 1:
                wrong.append((name, percent, exact, ours))
        if abs(stats["latency.%s.max" % name] - max(values)) > 1:
            wrong.append((name, max(values), stats["latency.%s.max" % name]))
    ok(not wrong and len(barriers) > 3, "percentiles_of_barriers_are_those_of_the_timeline", *wrong)
    for name in ("load", "store", "atomic"):
        p50, p99, most = (stats["latency.%s.%s" % (name, end)] for end in ("p50", "p99", "max"))
        mean = stats["latency." + name] / stats["latency.%ss" % name]
        if not (0 < p50 <= p99 <= most and mean <= most and mean >= p50 / 2):
            wrong.append((name, p50, p99, most, mean))
    ok(not wrong, "percentiles_of_instructions_fit_their_mean", *wrong)


def unchanged():
    plain = statistics(*kv)
    watched = statistics(*kv, "--latencies", "--series=u.csv", "--interval=1us", "--timeline=u.json", "--limit=1s", "--host-limit=200s")
    different = [k for k, v in plain.items() if not k.startswith("host_") and watched.get(k) != v]
    ok(not different, "observers_change_nothing_in_the_run", different)


def limits():
    status, out, err = run(*long, "--limit=20us", "--host-limit=60s", "--series=l.csv", "--interval=4us", "--output-format=json")
    report = json.loads(out)
    ok(status == 2 and report["verdict"] == "UNDECIDED" and report["stats"]["sim_time"] <= 20000000 and "--limit=20us" in err
       and int(rows("l.csv")[-1]["to"]) == report["stats"]["sim_time"] > 19000000,
       "a_limit_of_simulated_time_ends_the_run_there_without_a_verdict", status, err, report["stats"]["sim_time"])
    intervals = [(int(r["from"]), int(r["to"]), int(r["sim_time"])) for r in rows("l.csv")]
    ok(all(a < b and t == b - a for a, b, t in intervals), "no_interval_ends_before_it_begins_where_a_limit_ends_the_run", intervals)
    begun = time.time()
    status, out, err = run(*long, "--host-limit=300ms")
    ok(status == 2 and "UNDECIDED" in out and "--host-limit=300ms" in err and 0.3 <= time.time() - begun < 60,
       "a_limit_of_host_time_ends_the_run_without_a_verdict", status, err)


def progress():
    master, slave = pty.openpty()
    process = subprocess.Popen([nvwave] + long + ["--host-limit=2500ms", "--limit=1s"], stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    text = b""
    try:
        while True:
            text += os.read(master, 4096)
    except OSError:
        pass
    process.wait()
    shown = [line for line in text.decode().split("\r") if "simulated time" in line]
    times = [int(re.match(r"(\d+) us of", line).group(1)) for line in shown]
    ok(shown and re.search(r"[\d.e+]+ us/s, launch 1, 0 work-groups ended, \d+ %, \d+ s left", shown[-1]) and len(set(times)) == len(times),
       "a_terminal_shows_progress_rate_and_time_left", text)
    ok("simulated time," not in run(*long, "--host-limit=1500ms")[2], "what_is_no_terminal_gets_no_progress")


def memory_traces():
    """Against statistics, and against the timeline: requests in the order in which they arrive."""
    stats = statistics(*kv, "--memory-trace=m.trace", "--memory-cycle=2ns", "--timeline=m.json")
    lines = [line.split() for line in open("m.trace")]
    with open("m.json") as f:
        trace = json.load(f)["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in trace if e["ph"] == "M"}
    seen = collections.Counter(("0x%x" % e["args"]["number"], e["name"].upper(), str(int(e["ts"] * 1000 + 1e-6) // 2))
                               for e in trace if e["ph"] in "Bi" and e["name"] in ("read", "write")
                               and tracks[e["tid"]].startswith("nvram "))
    cycles = [int(c) for _, _, c in lines]
    ok(len(lines) == stats["nvram.reads"] + stats["nvram.writes"] and cycles == sorted(cycles)
       and sum(1 for _, op, _ in lines if op == "WRITE") == stats["nvram.writes"] > 0 and collections.Counter(map(tuple, lines)) == seen,
       "a_memory_trace_has_every_request_of_the_device_in_order", len(lines), lines[:5], list(seen)[:5])
    run(*kv, "--memory-trace=r.trace", "--memory-format=ramulator")
    ok([line.split() for line in open("r.trace")] == [[a, op[0]] for a, op, _ in lines],
       "ramulator_s_format_has_the_same_requests_without_their_times")
    run(*kv, "--memory-trace=d.trace", "--memory-device=dram")
    ok(sum(1 for _ in open("d.trace")) == stats["dram.reads"] + stats["dram.writes"] > 0, "other_devices_have_traces_too")


def refusals():
    wrong = []
    for words, message in ((["--interval=1us"], "has no effect without --series"),
                           (["--per=cu"], "has no effect without --series"),
                           (["--series=x", "--per=cu", "--interval=1us"], "unless --per=interval"),
                           (["--series=x", "--interval=0us"], "--interval="), (["--limit=5"], "--limit="),
                           (["--memory-device=dram"], "has no effect without --memory-trace"),
                           (["--memory-trace=x", "--memory-device=disk"], "no memory device of this name: it has dram, nvram"),
                           (["--memory-trace=x", "--memory-cycle=0ns"], "--memory-cycle="),
                           (["--limit=4cycles"], "--limit="), (["--series=nowhere/x"], "nowhere/x")):
        status, out, err = run(*kv, *words)
        if status != 2 or out or message not in err or err.count("\n") != 1:
            wrong.append("%s: %d %s%s" % (words, status, out, err))
    ok(not wrong and not os.path.exists("x"), "what_observers_cannot_do_is_refused_in_one_sentence", *wrong)


intervals()
kernels()
parts()
latencies()
unchanged()
limits()
progress()
memory_traces()
refusals()
plan()
