#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_read_sets.py NVWAVE READS.C: states that differ only in bytes that the checker has not read have one answer, and no others do."""
import json
import os
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
folder = tempfile.TemporaryDirectory(prefix="nvwave-reads-")
os.chdir(folder.name)


def run(*words, **environment):
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


status, _, err = run(compiler, "-g", "-O1", "-o", "reads", source, "-lpmem")
if status != 0:
    sys.exit(err)
with open("pool", "wb") as f:
    f.truncate(3 * 4096)
status, _, err = run(nvwave, "exec", "--record=log", "--", "./reads", "pool")
if status != 0:
    sys.exit(err)


def report(check, **environment):
    """What a crash test says but for times and commands, and how many states had the answers of others."""
    status, out, err = run(nvwave, "crash", "--store-log=log", "--image=log.image", "--check=" + check, "--cures=off", "--states=150",
                           "--output-format=json", **environment)
    if not out:
        return status, err, 0
    said = json.loads(out)
    findings = [(f["text"], f["states"], f.get("first_time_ps")) for f in said["findings"]]
    counts = {k: said.get(k) for k in ("verdict", "states_tested", "states_distinct", "states_equal", "states_failing", "checker_executed")}
    return status, [findings, counts], said["states_alike"]


def compare(check, name, alike):
    each, found = report(check, NVWAVE_READ_SETS="off"), report(check)
    ok(each[:2] == found[:2] and each[2] == 0 and alike(found[2]) and each[0] <= 1, name, each, found)


compare("./reads {} check", "a_state_has_the_answer_of_one_that_is_read_alike", lambda n: n > 40)
with open("/proc/cpuinfo") as f:
    masked = ("masked vector",) if " avx512vl" in f.read() else ()
if not masked:
    print("# skipped: this CPU has no AVX-512: masked vectors are not read")
for way in ("byte", "word", "sum", "test", "extension", "vector", "compared vector", "string", "exchange", "push", "store", "comparison",
            "file", "mapping", "scan", "copies", "base", "long comparison") + masked:
    compare("./reads {} check '%s'" % way, "what_is_read_by_%s_is_seen" % way.replace(" ", "_"), lambda n: n > 20 or way == "scan")
compare("./reads {} check nothing", "what_is_overwritten_is_not_read", lambda n: n > 110)
compare("./reads {} check fill", "what_is_filled_is_not_read", lambda n: n > 110)
compare("./reads {} check system", "states_are_asked_where_the_kernel_reads", lambda n: n == 0)
plan()
