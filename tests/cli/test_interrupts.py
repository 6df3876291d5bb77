#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_interrupts.py NVWAVE: what an interrupted run leaves, and the progress that a terminal shows. The commands would take minutes; a
signal is sent when they have shown that they work, whatever that takes."""
import csv
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile

from common import ok, plan, read

nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-interrupts-")
os.chdir(folder.name)
run = ["run", "kv", "--count=1000000", "--mix=get=99,put=1", "--log=l.nvl", "--timeline=t.json", "--timeline-window=0us..20us", "--series=s.csv", "--interval=1us"]


def on_terminal(words, until=None, *signals):
    """Runs on a terminal; when it has shown the text, it gets the signals. What it showed, and its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(nvwave, [nvwave] + words)
    shown = ""
    try:
        while True:
            shown += os.read(terminal, 65536).decode(errors="replace")
            if signals and until in shown:
                for number in signals:
                    os.kill(pid, number)
                signals = ()
    except OSError:  # its end
        pass
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    return shown, os.waitstatus_to_exitcode(status)


def clean():
    for name in os.listdir("."):
        os.unlink(name)


def interrupted():
    shown, status = on_terminal(run, "work-groups ended", signal.SIGINT)
    ok(status == 2 and "UNDECIDED" in shown and "what is known is being written" in shown, "an_interrupted_run_says_that_it_writes", status, shown[-800:])
    ok(sorted(os.listdir(".")) == ["l.nvl", "s.csv", "t.json"], "its_files_have_their_names_and_no_others_stay", os.listdir("."))
    dump = subprocess.run([nvwave, "log", "dump", "l.nvl", "--output-format=json"], capture_output=True, text=True)
    last = json.loads(dump.stdout.splitlines()[-1])
    ok(dump.returncode == 0 and last["record"] == "end" and last["interrupted"] is True, "its_log_ends_with_interrupted", dump.stderr, last)
    with open("s.csv") as f:
        rows = list(csv.reader(f))
    ok(len(rows) >= 2 and {len(r) for r in rows} == {len(rows[0])} and len(json.loads(read("t.json"))["traceEvents"]) > 0, "its_series_and_timeline_can_be_read",
       rows[:2])
    clean()
    whole = subprocess.run([nvwave, "run", "kv", "--count=20", "--log=l.nvl"], capture_output=True)
    dump = subprocess.run([nvwave, "log", "dump", "l.nvl"], capture_output=True, text=True)
    ok(whole.returncode == 0 and dump.stdout.rstrip().endswith("end") and "interrupted" not in dump.stdout, "a_whole_log_does_not_say_so", dump.stdout[-200:])
    clean()


def at_once():
    shown, status = on_terminal(run, "work-groups ended", signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ok(status == 2 and not [n for n in os.listdir(".") if n.startswith(("t.json.", "s.csv."))], "three_signals_leave_no_unfinished_file", status, os.listdir("."),
       shown[-400:])
    clean()


def limited():
    done = subprocess.run([nvwave] + run + ["--limit=3us"], capture_output=True, text=True)
    dump = subprocess.run([nvwave, "log", "dump", "l.nvl"], capture_output=True, text=True)
    ok(done.returncode == 2 and "--limit" in done.stderr and dump.stdout.rstrip().endswith("interrupted") and os.path.exists("s.csv"), "a_limit_leaves_the_same",
       done.stderr, dump.stdout[-200:], dump.stderr)
    clean()


def pipes():
    os.mkfifo("fifo")
    done = subprocess.run([nvwave, "run", "./fifo"], capture_output=True, text=True, timeout=100)
    ok(done.returncode == 2 and "found no regular file" in done.stderr, "a_pipe_is_no_workload", done)
    clean()


def progress():
    shown, _ = on_terminal(["run", "kv", "--count=1000000"], " s left", signal.SIGINT)
    ok(" %, " in shown, "a_run_shows_its_share_and_the_time_left", shown[-300:])
    shown, _ = on_terminal(["torture", "--protocol=vi", "--programs=100000000"], " s left", signal.SIGINT)
    ok(" of 100000000 programs, " in shown, "torture_shows_its_programs_and_the_time_left", shown[-300:])
    shown, _ = on_terminal(["torture", "--protocol=vi", "--programs=0"], "/s", signal.SIGINT)
    ok(" programs, " in shown and " of 0 " not in shown, "without_a_number_it_shows_no_time_left", shown[-300:])
    if shutil.which("fio"):
        shown, status = on_terminal(["fio", "latency", "--bs=64", "--sweep=none", "--number-ios=2k"])
        ok(status == 0 and "0 of 2 runs of fio" in shown, "fio_shows_its_runs", status, shown[-600:])
    piped = subprocess.run([nvwave, "torture", "--protocol=vi", "--programs=20"], capture_output=True, text=True)
    ok(piped.returncode == 0 and not piped.stderr, "a_pipe_gets_no_progress", piped)


interrupted()
at_once()
limited()
pipes()
progress()
plan()
