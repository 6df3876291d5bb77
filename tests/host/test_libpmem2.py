#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_libpmem2.py NVWAVE LIBPMEM2.C: a program of libpmem2 is watched as its twin of libpmem is."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave, source = (os.path.abspath(p) for p in sys.argv[1:3])
compiler = shutil.which("gcc")
if not compiler:
    print("1..0 # SKIP there is no gcc")
    sys.exit(0)
folder = tempfile.TemporaryDirectory(prefix="nvwave-libpmem2-")
os.chdir(folder.name)


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


for name, words in (("one", ["-DLIBPMEM", "-lpmem"]), ("two", ["-lpmem2"])):
    status, _, err = run(compiler, "-g", "-O1", "-o", name, source, *words)
    if status != 0:
        sys.exit(err)


def record(name):
    """The exit status, the counts, and the log without what depends on the program's path and code."""
    if os.path.exists("pool"):
        os.unlink("pool")
    status, _, err = run(nvwave, "exec", "--record=log", "--output-format=json", "--report=report.json", "--", "./" + name, "pool")
    log = [re.sub("0x[0-9a-f]+|one|two", "", line) for line in run(nvwave, "log", "dump", "log")[1].splitlines()]
    with open("report.json") as f:
        counts = json.load(f)["pmem"]
    del counts["injected_ps"]  # how long a call waits depends on when it comes
    return status, counts, log, err


one, two = record("one"), record("two")
ok(one[0] == two[0] == 0 and one[1] == two[1] and one[1]["flushes"] == 8 and one[1]["copies"] == 12 and one[1]["maps"] == 1,
   "calls_are_counted_as_those_of_libpmem_are", one[1], two[1], two[3])
ok(len(one[2]) > 100 and one[2] == two[2], "the_record_is_that_of_libpmem", *[pair for pair in zip(one[2], two[2]) if pair[0] != pair[1]][:5])
crash = [nvwave, "crash", "--image=pool", "--check=./two {} check", "--states=300"]
os.unlink("pool")
status, out, err = run(*crash, "--exec=./two pool")
ok(status == 0, "a_right_program_of_libpmem2_passes", status, out, err)
status, out, err = run(*crash, "--exec=./two pool count-first", "--cures=off")
ok(status == 1 and "counts and is not whole" in out and re.search(r"libpmem2.c:\d+ \(count", out), "its_planted_bug_is_found_with_its_line", status,
   out, err)
plan()
