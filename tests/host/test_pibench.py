#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_pibench.py NVWAVE NVWAVE-PIBENCH MAP.CPP: indexes built for PiBench, under nvwave exec."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave, pibench, source = (os.path.abspath(p) for p in sys.argv[1:4])
if not shutil.which("g++"):
    print("1..0 # SKIP there is no g++")
    sys.exit(0)
folder = tempfile.TemporaryDirectory(prefix="nvwave-pibench-")
os.chdir(folder.name)
for name, words in (("map.so", []), ("fork.so", ["-DBULK_LOAD"]), ("hidden.so", ["-DHIDDEN"]), ("hidden-fork.so", ["-DBULK_LOAD", "-DHIDDEN"])):
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", *words, "-o", name, source, "-lpmem"], check=True)


def drive(*words, bug="", library="./map.so"):
    """Under nvwave exec: the exit status, what the driver printed, the report."""
    if os.path.exists("pool"):
        os.unlink("pool")
    done = subprocess.run([nvwave, "exec", "--set", "nvram.write=20us", "--output-format=json", "--report=report.json", "--", pibench,
                           library, "--pool=pool", "--pool-size=4MiB", "--records=200", "--operations=600", *words],
                          capture_output=True, text=True, timeout=120, env=dict(os.environ, PMEM_IS_PMEM_FORCE="1", PIBENCH_MAP=bug))
    with open("report.json") as f:
        return done.returncode, done.stdout + done.stderr, json.load(f)


wrong = []
for mix in ("load", "a", "c", "d", "e", "f"):
    status, out, report = drive("--mix=" + mix)
    counts = {k: int(v) for k, v in re.findall(r"([a-z-]+)=(\d+)", out)}
    changes = sum(counts.get(k, 0) for k in ("update", "insert", "read-modify-write"))
    of = report.get("operations") or {}
    if (status != 0 or sum(counts.values()) != 600 or of.get("count") != 600 or round(of["fences_per_op"] * 600) != changes
            or round(of["bytes_per_op"] * 600) != 16 * changes or (changes > 6 and of["longest"] < 19000)):
        wrong.append((mix, status, out, of))
ok(not wrong, "each_operation_of_a_mix_has_its_fences_and_bytes_and_waits_for_the_device", *wrong)
wrong = []
for library, words in (("fork.so", []), ("hidden.so", []), ("hidden-fork.so", ["--bulk-load"])):
    status, out, report = drive(*words, library="./" + library)
    if status != 0 or report["operations"]["count"] != 600:
        wrong.append((library, status, out))
ok(not wrong, "an_index_is_driven_with_and_without_bulk_load", *wrong)
status, out, report = drive(bug="forgets")
ok(status == 1 and re.search(r": [1-9]\d* results were wrong, the first: a look-up found another value of record", out) and
   report["operations"]["count"] == 600, "updates_that_are_lost_are_counted_and_the_run_goes_on", status, out)
status, out, _ = drive("--mix=e", bug="unordered")
ok(status == 1 and "a scan did not begin with record" in out, "a_scan_out_of_order_is_seen", status, out)
status, out, _ = drive("--mix=e", bug="aside")
scans = re.search(r"scan=(\d+)", out)
ok(status == 0 and "; records of %s scans were not handed over" % scans.group(1) in out, "a_scan_that_hands_nothing_over_is_said_to_be_compared_by_number",
   status, out)
done = subprocess.run([pibench, "libpmem.so.1"], capture_output=True, text=True)
ok(done.returncode == 2 and "exports no create_tree()" in done.stderr, "what_was_not_built_for_pibench_is_refused", done)
plan()
