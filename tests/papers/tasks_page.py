#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tasks_page.py PAGE LIB NVWAVE CC...: what docs/tasks.md teaches works.

Its code, put together, is a workload that computes what it says; its commands succeed, and the mistake that it shows ends with its message.
"""
import os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from page import blocks
from tap import ok

page, lib, nvwave = map(os.path.abspath, sys.argv[1:4])
compiler = sys.argv[4:]
with open(page) as f:
    sections = re.split(r"^## ", f.read(), flags=re.M)
section = {s.partition("\n")[0]: s.partition("\n")[2] for s in sections}


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, **more)


def is_command(block):
    return re.match(r"\s*(gcc|nvwave) ", block) is not None


print("1..4")
with tempfile.TemporaryDirectory() as folder:
    program = blocks(section["A program"])
    code = "".join(b for b in program if not is_command(b))
    with open(os.path.join(folder, "fib.c"), "w") as f:
        f.write(code)
    warnings = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    built = run(compiler + warnings + ["-g", "-shared", "-fPIC", "-std=gnu11", "-I" + lib, "-I" + os.path.join(lib, "..", "workloads"), "fib.c", "-o", "fib.so"], cwd=folder)
    ok(built.returncode == 0 and "nvw_join" in code, "the_code_of_the_page_builds", built.stderr)
    ran = run([nvwave, "run", "./fib.so", "--n=18"], cwd=folder)
    ok(ran.returncode == 0 and re.search(r"^result +2584 ", ran.stdout, re.M), "its_program_computes_fibonacci_of_18",
       ran.stdout + ran.stderr)

    failed = ""
    mistake = blocks(section["Mistakes"])
    commands = [line.split()[1:] for name, text in section.items() if name != "Mistakes" for b in blocks(text) for line in b.splitlines()
                if line.startswith("nvwave ")]
    for words in commands:
        done = run([nvwave] + words, cwd=folder)
        mutated = any(w.startswith("--mutate") for w in words)
        if done.returncode != (1 if mutated else 0):
            failed += f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr}"
    ok(len(commands) > 5 and not failed, "the_commands_of_the_page_end_as_it_says", failed)

    command, message = mistake[0].splitlines()[:2]
    done = run([nvwave] + command.split()[1:], cwd=folder)
    place = re.compile(r"^nvwave: .*?(workloads/)")
    ok(done.returncode != 0 and place.sub(r"\1", done.stderr.splitlines()[0]) == place.sub(r"\1", message),
       "a_mistake_ends_with_the_message_of_the_page", done.stderr)
