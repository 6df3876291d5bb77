#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recovery.py NVWAVE [OUT.csv]: how long recovery takes, and what it reads, against the size of a sparse pool (1 MiB to 64 GiB), the open epochs and
the length of the undo log. Five copies of each pool, a row each. The figure of docs/recovery.md:

    bench/recovery.py build/cli/nvwave recovery.csv
    nvwave plot recovery.csv --where=axis=size --x=pool_mib --y=ms --series=open_epochs --shows=median -o docs/recovery.svg

PART=N: only every Nth point."""
import csv
import json
import os
import subprocess
import sys
import tempfile

nvwave = os.path.abspath(sys.argv[1])
out = open(sys.argv[2], "w", newline="") if len(sys.argv) > 2 else sys.stdout
COPIES = 5
MIB = 1 << 20

# B+trees, cut off by --limit while insertions of every work-group are under way: options, MiB that they need.
trees = [(["--count=128", "--preload=200", "--batch=128", "--group-size=16"], 1),
         (["--count=2048", "--preload=4000", "--batch=2048", "--group-size=64", "--limit=30us"], 16),
         (["--count=8064", "--preload=4000", "--batch=8064", "--group-size=64", "--limit=150us"], 16)]


def run(*words, statuses=(0,)):
    done = subprocess.run([nvwave, *words], capture_output=True, text=True)
    assert done.returncode in statuses, done.stderr
    return done.stdout


def measure(axis, options, mib, rows):
    """cp --sparse=always digs holes where the emulator has only looked: on tmpfs what was looked at counts as written."""
    with tempfile.TemporaryDirectory(prefix="nvwave-recovery-") as folder:
        pool = os.path.join(folder, "pool")
        run("run", "btree", *options, "--pool=" + pool, "--pool-size=%dMiB" % mib, statuses=(0, 2))
        about = json.loads(run("inspect", pool, "--output-format=json"))
        os.mkdir(folder + "/copies")
        for i in range(COPIES):
            subprocess.run(["cp", "--sparse=always", pool, folder + "/copies/%d" % i], check=True)
        used = os.stat(folder + "/copies/0").st_blocks * 512
        for i, p in enumerate(json.loads(run("recover", folder + "/copies", "--output-format=json"))["pools"]):
            rows.writerow([axis, i, mib, p["epochs_rolled_back"], about["epochs"]["streams"] * about["log_entries"], used // 1024,
                           p["words_restored"], p["words_read"], "%.2f" % (1e3 * p["host_seconds"])])
    out.flush()


rows = csv.writer(out, lineterminator="\n")
rows.writerow(["axis", "seed", "pool_mib", "open_epochs", "log_entries", "used_kib", "words_restored", "words_read", "ms"])
points = [("size", options, 4 ** i) for options, least in trees for i in range(9) if 4 ** i >= least]
# The log of streams that never began an epoch.
points += [("log", ["--count=%d" % (64 * n), "--batch=%d" % (64 * n), "--group-size=64", "--limit=1ns"], 65536) for n in (10, 100, 1000, 10000)]
for point in points[::int(os.environ.get("PART", "1"))]:
    measure(*point, rows)
