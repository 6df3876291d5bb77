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
for name, words in (("map.so", ["-DBULK_LOAD"]), ("old.so", [])):
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
status, out, report = drive("--no-bulk-load", library="./old.so")
ok(status == 0 and report["operations"]["count"] == 600, "an_index_without_bulk_load_is_driven_too", status, out)
status, out, _ = drive(bug="forgets")
ok(status == 1 and "gave a wrong result" in out, "an_update_that_is_lost_is_seen", status, out)
status, out, _ = drive("--mix=e", bug="unordered")
ok(status == 1 and "a scan from the key of record" in out, "a_scan_out_of_order_is_seen", status, out)
done = subprocess.run([pibench, "libpmem.so.1"], capture_output=True, text=True)
ok(done.returncode == 2 and "exports no create_tree()" in done.stderr, "what_was_not_built_for_pibench_is_refused", done)
plan()
