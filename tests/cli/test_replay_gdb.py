#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_replay_gdb.py NVWAVE QUEUE INCLUDE APPEND-LOG CC...: nvwave replay --gdb stops where a finding fails, or at its stores. QUEUE is
docs/tutorial/queue.c, APPEND-LOG host/examples/append_log.c; both are built here without optimisation."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import common
from common import ok, plan, run

common.nvwave, queue, include, append_log = (os.path.abspath(p) for p in sys.argv[1:5])
cc = sys.argv[5:]
folder = tempfile.TemporaryDirectory(prefix="nvwave-gdb-")
os.chdir(folder.name)


def debugged(*words, commands="backtrace\nquit\n"):
    """What gdb prints, which gets these commands; its status."""
    done = subprocess.run([common.nvwave, "replay"] + list(words), input=commands, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=250, env=dict(os.environ, DEBUGINFOD_URLS="", HOME=folder.name))
    return done.stdout


def line_of(text):
    with open("queue.c") as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


def workload():
    shutil.copy(queue, "queue.c")
    subprocess.run(cc + ["-g", "-O0", "-shared", "-fPIC", "-std=gnu11", "-I" + include, "queue.c", "-o", "queue.so"], check=True)
    with open("found.json", "w") as f:
        f.write(run("crash", "./queue.so", "--mutate=forget-barrier", "--count=200", "--states=300", "--cures=off", "--save=found", "--output-format=json")[1])
    said = debugged("found/finding-1", "--gdb")
    failure = line_of('"record %llu is committed, but not all of its payload"')
    frame = re.search(r"#1 .*?check_record \(.*?queue\.c:(\d+)", said, re.DOTALL)
    ok("nvw_violation (" in said and frame and abs(int(frame.group(1)) - failure) < 3,
       "gdb_stops_where_the_check_finds_the_state_wrong", said[-3000:])
    # Not in the first work-group: numbers in the kernel and in the group differ.
    with open("found.json") as f:
        items = {p["fate"].split()[0]: p["work_item"] for p in json.load(f)["findings"][0]["places"]}
    ok(min(items.values()) >= 64, "the_finding_is_not_of_the_first_work_group", items)
    for at, fate, text in (("lost", "lost", "nvw_store(&r->payload[i]"), ("early", "durable", "nvw_store(&r->sequence, ticket + 1)")):
        said = debugged("found/finding-1", "--gdb", "--at=" + at, commands="print nvw_global_id()\nquit\n")
        ok(re.search(r"#0 +append \(args=.*queue\.c:%d\n" % line_of(text), said) and "work_item ()" in said and "$1 = %d\n" % items[fate] in said,
           "gdb_stops_in_the_run_at_the_store_that_was_%s" % at, said[-3000:])


    events()


def events():
    """The finding names its events; the loop's variable says which of the line's stores it is."""
    run("run", "./queue.so", "--mutate=forget-barrier", "--count=200", "--log=log")
    dump = [json.loads(line) for line in run("log", "dump", "log", "--output-format=json")[1].splitlines()[1:]]
    numbered = run("log", "dump", "log", "--numbers")[1].splitlines()[2:]
    with open("found.json") as f:
        cause = json.load(f)["findings"][0]["cause"]
    lost = dump[cause["lost_event"] - 1]
    ok([r["event"] for r in dump] == list(range(1, len(dump) + 1)) == [int(line.split()[0]) for line in numbered]
       and "%s:%d" % (lost["file"], lost["line"]) == cause["lost"], "events_have_numbers_which_the_finding_names", cause, lost)
    wanted = "$1 = %d" % lost["work_item"], "$2 = %d" % (lost["offset"] % 128 // 8 - 1)
    for at in ("lost", str(cause["lost_event"])):
        said = debugged("found/finding-1", "--gdb", "--at=" + at, commands="print nvw_global_id()\nprint i\nquit\n")
        ok(all(w in said for w in wanted) and "work_item ()" in said, "gdb_stops_before_the_very_store_at_" + ("lost" if at == "lost" else "its_event"),
           wanted, said[-3000:])
    host = next(r["event"] for r in dump if r["record"] == "launch")
    said = debugged("found/finding-1", "--gdb", "--at=%d" % host)
    ok("#0  nvw__log_stop ()" in said and "nvw_launch" in said, "an_event_of_the_host_has_the_host_s_frames", said[-3000:])
    run("crash", "./queue.so", "--mutate=forget-barrier", "--count=200", "--states=300", "--cures=off", "--save=buffered", "--set=store_buffer.entries=8")
    late = run("replay", "buffered/finding-1", "--gdb", "--at=9")
    ok(late[0] == 2 and "the machine has store buffers" in late[2], "an_event_behind_a_store_buffer_is_refused", late)
    beyond, soon = (run("replay", "found/finding-1", "--gdb", "--at=" + at) for at in ("%d" % (len(dump) + 1), "soon"))
    ok(beyond[0] == 2 and "the run has %d events" % len(dump) in beyond[2] and soon[0] == 2 and "number of an event, found \"soon\"" in soon[2],
       "what_is_no_event_is_refused", beyond, soon)


def program():
    shutil.copy(append_log, "append_log.c")
    subprocess.run(cc + ["-g", "-O0", "append_log.c", "-o", "append_log", "-lpmem"], check=True)
    run("crash", "--exec=./append_log pool 3 one-drain", "--image=pool", "--check=./append_log", "--states=200", "--cures=off", "--save=programs")
    said = debugged("programs/finding-1", "--gdb")
    ok(re.search(r"Breakpoint 1[.\d]*, .*exit", said) and "exit (status=1)" in said and not [n for n in os.listdir(".") if n.startswith("nvwave-")],
       "gdb_runs_a_program_s_check_on_the_state", said[-3000:])
    refused = run("replay", "programs/finding-1", "--gdb", "--at=lost")
    ok(refused[0] == 2 and "names no such store" in refused[2], "a_program_s_store_is_not_met_again", refused)
    event = run("replay", "programs/finding-1", "--gdb", "--at=7")
    ok(event[0] == 2 and "a program's run is not made again" in event[2], "a_program_does_not_stop_at_an_event", event)


def refused():
    alone = run("replay", "found/finding-1", "--at=lost")
    ok(alone[0] == 2 and "without --gdb" in alone[2], "a_place_without_gdb_is_refused", alone)
    lacks = run("replay", "found/finding-1", "--gdb", env=dict(os.environ, PATH="/nowhere"))
    ok(lacks[0] == 2 and "there is no gdb" in lacks[2], "a_computer_without_gdb_is_told", lacks)


if not shutil.which("gdb"):
    print("# skipped: gdb is missing: replay --gdb is not tried\n1..1\nok 1 - replay_with_gdb # SKIP no gdb")
    sys.exit(0)
workload()
if os.path.exists("/usr/include/libpmem.h"):
    program()
refused()
plan()
