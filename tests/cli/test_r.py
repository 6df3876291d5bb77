#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_r.py NVWAVE: R reads every table that the command writes, with its names, its rows and its numbers as numbers. If
EVERY_CASE is set, as ./test.sh --all does, and where R is installed."""
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

nvwave = os.path.abspath(sys.argv[1])
if "EVERY_CASE" not in os.environ or not shutil.which("Rscript"):
    print("1..0 # SKIP %s" % ("there is no R" if "EVERY_CASE" in os.environ else "EVERY_CASE is not set"))
    sys.exit(0)
import common
from common import ok, plan, run

common.nvwave = nvwave
folder = tempfile.TemporaryDirectory(prefix="nvwave-r-")
os.chdir(folder.name)

# Prints of each table its rows, and each column's name and kind.
script = r"""
for (file in commandArgs(trailingOnly = TRUE)) {
    table <- read.csv(file, check.names = FALSE, fileEncoding = "UTF-8-BOM")
    cat(file, nrow(table), "\n", sep = "\t")
    for (i in seq_along(table)) cat("", names(table)[i], class(table[[i]]), "\n", sep = "\t")
}
"""


def make():
    kv = ["workload=kv", "count=16", "batch=8", "slots=64", "group-size=8"]
    run("sweep", *kv, "scope=workitem,kernel", "seed=1..2", "--baseline=scope=workitem", "--output=run")
    run("sweep", *kv, "mutate=-,publish-before-value", "states=50", "--command=crash", "--output=crash")
    run("sweep", "--command=torture", "protocol=vi,gh", "programs=2", "--output=torture")
    for per in ("interval", "kernel", "cu", "group"):
        run("run", "kv", "--count=16", "--series=%s.csv" % per, "--per=" + per)
    run("bench", "stack", "--operations=64", "--output=bench.csv")
    with open("run.csv") as f, open("mark.csv", "w") as to:
        to.write("\ufeff" + f.read())
    return sorted(f for f in os.listdir(".") if f.endswith(".csv"))


def kinds_of(name):
    """As the table itself has them: a column is of numbers if all of its fields are."""
    with open(name, encoding="utf-8-sig") as f:
        table = list(csv.reader(f))
    number = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
    return len(table) - 1, [(column, any(r[i] for r in table[1:]) and all(number.fullmatch(r[i]) for r in table[1:] if r[i]))
                            for i, column in enumerate(table[0])]


files = make()
with open("read.R", "w") as f:
    f.write(script)
done = subprocess.run(["Rscript", "read.R"] + files, capture_output=True, text=True)
seen, wrong = {}, []
for line in done.stdout.splitlines():
    if not line.startswith("\t"):
        name, count = line.split("\t")[:2]
        seen[name] = (int(count), [])
    else:
        column, kind = line.split("\t")[1:3]
        seen[name][1].append((column, kind in ("integer", "numeric")))
for name in files:
    count, columns = kinds_of(name)
    got = seen.get(name, (0, []))
    if got[0] != count or [c for c, _ in got[1]] != [c for c, _ in columns] or any(
            of_numbers and not read for (_, of_numbers), (_, read) in zip(columns, got[1])):
        wrong.append((name, count, columns, got))
ok(done.returncode == 0 and len(files) == 15 and not wrong, "r_reads_every_table", files, done.stderr, *wrong)
plan()
