#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_traffic.py NVWAVE: no run finishes its traffic faster than its channels can carry it.

Memory is made so slow that it decides how long every run takes, and each device's lines over the bandwidth of its channels are
compared with simulated time. What the write queues still hold at the end need not have been carried. Each workload runs under
one of the protocols, on one machine; with EVERY_CASE in the environment under every protocol on every machine."""
import concurrent.futures
import json
import os
import subprocess
import sys

import common
from common import ok, plan, run

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
LINE, MBPS, QUEUE = 64, 200, 4
SLOW_PS = LINE * 10**6 // MBPS  # a line on a channel

# Machine, its devices with their channels, and whether reads and writes share them.
MACHINES = [
    ("gope18", {"dram": 1, "nvram": 1}, "on"),
    ("gope18", {"dram": 1, "nvram": 1}, "off"),
    ("two-nvram", {"dram": 1, "nvram": 1, "nvram2": 2}, "on"),
    ("hechtman14-apu", {"dram": 2, "nvram": 2}, "on"),
    ("hechtman14-apu", {"dram": 2, "nvram": 2}, "off"),
]
# Smaller inputs where the default takes more than a second.
SMALLER = {w: ["--graph=grid:16x16"] for w in ("sssp", "color", "pagerank")}
SMALLER.update(sgemm=["--rows=128", "--columns=132", "--inner=62"], dgemm=["--rows=64"], lud=["--size=128"], nw=["--size=256"],
               pathfinder=["--columns=20k"], hotspot=["--rows=128"], mutex=["--groups-per-cu=1"], queue=["--count=1024"])
SMALLER["lulesh-proxy"] = ["--steps=6"]


def names(what):
    status, out, err = run("list", what)
    assert status == 0, err
    return [line.split()[0] for line in out.splitlines() if line.strip()]


def one(workload, protocol, machine):
    """None if the pair is refused; else the problem, or ''."""
    name, devices, shared = machine
    words = ["run", workload, "--machine=" + name, "--protocol=" + protocol, "--output-format=json"] + SMALLER.get(workload, [])
    for device, channels in devices.items():
        words += ["--set=%s.%s" % (device, key) for key in (
            "channels=%d" % channels, "bandwidth=%dMB/s" % MBPS, "queue=%d" % QUEUE, "shared=" + shared)]
    status, out, err = run(*words)
    if status == 2 and "cannot run correctly under" in err:
        return None
    if status:
        return "nvwave %s: status %d: %s" % (" ".join(words), status, err)
    stats = json.loads(out)["stats"]
    for device, channels in devices.items():
        of = "device." + device if "device.%s.reads" % device in stats else device
        reads, writes = stats[of + ".reads"], stats[of + ".writes"]
        lines = reads + writes if shared == "on" else max(reads, writes)
        needed = (lines / channels - QUEUE - 1) * SLOW_PS
        if stats["sim_time"] < needed:
            return "nvwave %s: %s: %d reads and %d writes need %d ps, and took %d" % (
                " ".join(words), device, reads, writes, needed, stats["sim_time"])
    return ""


everything = "EVERY_CASE" in os.environ
workloads, protocols = names("workloads"), names("protocols")
# Each protocol meets several machines.
pairs = [(w, protocols[(i + k) % len(protocols)], i + i // len(protocols) + k) for i, w in enumerate(workloads)
         for k in range(len(protocols) if everything else 1)]
jobs = [(w, p, m) for w, p, k in pairs for m in (MACHINES if everything else [MACHINES[k % len(MACHINES)]])]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    results = list(pool.map(lambda job: one(*job), jobs))
for w in workloads:
    wrong = [r for job, r in zip(jobs, results) if job[0] == w and r]
    ok(not wrong, "the channels carry all traffic of %s within its simulated time" % w, "\n".join(wrong))
ran = [job for job, r in zip(jobs, results) if r == ""]
ok({job[1] for job in ran} == set(protocols) and len(ran) > 0.8 * len(jobs), "under every protocol", "%d of %d ran" % (len(ran), len(jobs)))
plan()
