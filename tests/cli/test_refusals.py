#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_refusals.py NVWAVE: what a user meets at the edges of files, pipes, windows and ranges."""
import json
import os
import resource
import subprocess
import sys
import tempfile

import common
from common import ok, plan, read, rows, run

common.nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-refusals-")
os.chdir(folder.name)
kv = ["kv", "--count=60", "--batch=10"]


def sweeps():
    status, _, err = run("sweep", "workload=kv", "count=1..1000000", "--points")
    ok(status == 2 and "has 1000000 values, of at most 100000" in err, "a_long_range_is_refused_with_the_limit", err)
    words = ["sweep", "--command=torture", "protocol=vi,gh", "programs=2", "--fresh", "--output="]
    first, second = run(*words[:-1], "--output=a"), run(*words[:-1], "--output=b")
    ok(first[0] == second[0] == 0 and read("a.csv") == read("b.csv") and "cpu_seconds" not in read("a.csv"),
       "a_table_of_torture_has_no_times_of_this_computer", first, second, read("a.csv")[:300])


def replays():
    run("crash", *kv, "--mutate=publish-before-value", "--states=200", "--cures=off", "--save=found")
    with open("mine", "w") as f:
        f.write("precious\n")
    status, _, err = run("replay", "found/finding-1", "--extract=mine")
    ok(status == 2 and "mine already exists" in err and read("mine") == "precious\n", "an_extracted_pool_replaces_no_file", status, err)


def full_files():
    """With the limit of a file's size that a shell sets by ulimit -f."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))

    wrong = []
    for words in (["run"] + kv + ["--pool=pool"], ["list", "keys"], ["crash"] + kv + ["--html=page.html"], ["sweep", "seed=1..300", "count=5", "workload=kv", "--points"]):
        with open("out", "w") as out:
            done = subprocess.run([common.nvwave] + words, stdout=out, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
        if done.returncode != 2 or not done.stderr.startswith("nvwave: "):
            wrong.append((words, done.returncode, done.stderr))
    ok(not wrong, "a_file_beyond_its_limit_is_an_error_and_not_the_end", *wrong)


def pipes():
    """Standard output is a pipe that nobody reads."""
    wrong = []
    for words in (["run"] + kv, ["run"] + kv + ["--output-format=json"], ["crash"] + kv, ["crash"] + kv + ["--output-format=json"], ["run"] + kv + ["--dump-machine=-"],
                  ["torture", "--programs=2", "--protocol=vi"], ["list", "keys"], ["list", "protocols", "vi"], ["help"], ["replay", "found/finding-1"],
                  ["sweep", "workload=kv", "count=5", "seed=1,2", "--output=quiet"], ["bench", "stack", "--operations=50", "--records=50", "--seeds=1"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([common.nvwave] + words, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        if done.stderr or done.returncode not in (2, -13):
            wrong.append((words, done.returncode, done.stderr))
    ok(not wrong, "a_closed_pipe_is_quiet", *wrong)
    broken = run("run", "kv", "--count=nothing")
    ok(broken[0] == 2 and broken[2], "other_errors_are_not")


def windows():
    status, _, err = run("run", *kv, "--timeline=late.json", "--timeline-window=10s..20s")
    ok(status == 2 and "--timeline-window" in err and "begins at 10000000.000 us" in err and not os.path.exists("late.json"), "a_window_beyond_the_run_is_refused", status, err)
    status, _, err = run("run", *kv, "--timeline=good.json", "--timeline-window=1us..20s")
    ok(status == 0 and json.loads(read("good.json")), "a_window_that_the_run_reaches_is_not", status, err)


def temporary_folder():
    """TMPDIR names no folder."""
    nowhere = dict(os.environ, TMPDIR="/nowhere/at/all")
    wrong = []
    for words in (["run"] + kv, ["crash"] + kv, ["sweep", "workload=kv", "count=5", "seed=1..3", "--fresh", "--output=none"],
                  ["bench", "stack", "--operations=50", "--records=50", "--seeds=2"]):
        status, _, err = run(*words, env=nowhere)
        if status != 2 or err.count("/nowhere/at/all") != 1 or "TMPDIR" not in err:
            wrong.append((words, status, err))
    ok(not wrong and not os.path.exists("none.csv"), "without_a_temporary_folder_there_is_one_refusal", *wrong)


def seeds():
    os.makedirs("papers/sweeps")
    with open("papers/sweeps/s.ini", "w") as f:
        f.write("[axes]\nrow = one\ncount = 6\nbatch = 2\nslots = 16\n[row one]\nworkload = kv\n")
    with open("papers/p.ini", "w") as f:
        f.write("[X1]\nwhat = a row\nin = 1\npaper = 5\nsweep = s\npoints = row=one\nvalue = sim_time\nas = value\nshort = yes\n")
    status, out, err = run("reproduce", "--papers=papers", "--seeds=1", "--output=pages")
    ok(status == 0 and "; seed 1\n" in out and "of one seed." in read("pages/results.md"), "one_seed_is_called_one", status, out, err)


sweeps()
replays()
full_files()
pipes()
windows()
temporary_folder()
seeds()
plan()
