#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_tutorial.py PAGE INCLUDE APPEND-LOG NVWAVE CC...: what docs/tutorial.md teaches works, typed from the page: its pieces, put together,
are a file that builds, and its commands print the lines that it shows. And what is said of code without line numbers."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from page import blocks
from tap import ok, plan

page, include, append_log, nvwave = map(os.path.abspath, sys.argv[1:5])
cc = sys.argv[5:]
with open(page) as f:
    section = {s[0]: blocks(s) for s in re.split(r"^## ", f.read(), flags=re.M)}
folder = tempfile.TemporaryDirectory(prefix="nvwave-tutorial-")
os.chdir(folder.name)


def is_command(line):
    return re.match(r"gcc |nvwave ", line) is not None


def code(name):
    return [b for b in section[name] if ";" in b and not is_command(b) and "store of" not in b and "queue.c:" not in b]


def run(line):
    line = re.sub(r"^gcc ", shlex.join(cc) + " ", re.sub(r"^nvwave ", shlex.quote(nvwave) + " ", line))
    done = subprocess.run(line, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ, CPATH=include))
    return done.returncode, done.stdout


def follow(name, pieces):
    """Types the file and runs the commands of a section: their exit statuses, and what they print."""
    with open("queue.c", "w") as f:
        f.write("\n".join(pieces))
    done = [run(line) for b in section[name] for line in b.splitlines() if is_command(line)]
    return [status for status, _ in done], "".join(out for _, out in done)


def missing(name, first, said):
    """Which of the lines that the page shows were not printed."""
    shown = next(b for b in section[name] if b.startswith(first))
    return [line for line in shown.splitlines() if line.strip() and line.strip() not in re.sub(r"\S*/(queue\.c:)", r"\1", said)]


pieces = code("1") + code("2") + code("3") + code("4")
statuses, said = follow("5", pieces)
lost = missing("5", "INCONSISTENT", said)
ok(len(pieces) == 5 and statuses == [0, 0, 1] and not lost, "the_typed_queue_loses_a_record_as_the_page_says", len(pieces), statuses, said, lost)

plain = [p.replace("nvw_store(&r->sequence, ticket + 1)", "r->sequence = ticket + 1") for p in pieces]
statuses, said = follow("5", plain)
lost = missing("5", "queue.c:40 (append): kernel", said)
ok(statuses[0] == 0 and 2 in statuses and not lost, "a_forgotten_macro_is_named_with_its_line", statuses, said, lost)
run("gcc -shared -fPIC -std=gnu11 queue.c -o queue.so")
status, said = run("nvwave run ./queue.so")
ok(status == 2 and "no source line is known: compile with -g" in said and "emu/" not in said, "without_g_it_says_to_compile_with_g", status, said)

pieces[1] = re.sub(r".*nvw_store\(&r->sequence, .*\n", lambda m: code("6")[0], pieces[1])
statuses, said = follow("6", pieces)
lost = missing("6", "NO FAILURE", said)
ok(statuses[:2] == [0, 0] and not lost, "its_cure_holds", statuses, said, lost)

more = next(b for b in section["7"] if b.lstrip().startswith(".parts"))
pieces[4:] = [code("7")[0], re.sub(r".*\.check = check,\n", lambda m: m[0] + more, pieces[4])]
statuses, said = follow("7", pieces)
lost = missing("7", "CONSISTENT", said)
ok(statuses == [0, 0] and not lost, "in_parts_all_states_are_consistent", statuses, said, lost)

if os.path.exists("/usr/include/libpmem.h"):
    shutil.copy(append_log, "append_log.c")
    run("gcc -O1 append_log.c -o append_log -lpmem")
    status, said = run("nvwave crash --exec='./append_log pool 3 one-drain' --image=pool --check=./append_log --states=200")
    ok(status == 1 and "append_log+0x" in said and "note: a place has no source line: compile with -g" in said, "a_program_s_report_says_to_compile_with_g", status, said)
plan()
