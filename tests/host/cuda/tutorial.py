#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tutorial.py PAGE NVWAVE NVCC: what docs/cuda-tutorial.md teaches works.

Its code, put together, builds by its commands; the crash tests end as it says, with the lines that it prints.
"""
import os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "common"))
from page import blocks
from tap import ok

page, nvwave, nvcc = map(os.path.abspath, sys.argv[1:4])
hipcc = os.path.join(os.path.dirname(nvcc), "nvwave-hipcc")
with open(page) as f:
    section = {s[0]: s for s in re.split(r"^## ", f.read(), flags=re.M)}


def is_command(line):
    return re.match(r"nvwave|rm |sed |\./", line) is not None


def code(name):
    return [b for b in blocks(section[name]) if "{" in b and not is_command(b)]


def write(folder, name, parts):
    with open(os.path.join(folder, name), "w") as f:
        f.write("\n".join(parts))


def commands(folder, name):
    """Runs the section's commands; the last one's exit status, and all that they print."""
    said, status = "", 0
    for line in [line for b in blocks(section[name]) for line in b.splitlines() if is_command(line)]:
        if status:
            said += f"status {status} before: {line}\n"
        done = subprocess.run(re.sub(r"^nvwave-hipcc ", hipcc + " ", re.sub(r"^nvwave-nvcc ", nvcc + " ", re.sub(r"^nvwave ", nvwave + " ", line))), shell=True, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        status, said = done.returncode, said + done.stdout
    return status, said


def missing(name, first, said):
    """Which of the lines that the page shows, from one that begins so, a command did not print."""
    said = [re.sub(r"\S*/(\w+\.cu:)", r"\1", line).strip() for line in said.splitlines()]
    shown = next(b for b in blocks(section[name]) if b.startswith(first))
    return [line for line in shown.splitlines() if not any(line.strip() in s for s in said)]


if subprocess.run([nvcc, "-x", "cu", "-M", "/dev/null"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
    print("1..0 # SKIP there is no clang++ with its LLVM")
    sys.exit(0)
print("1..6")
with tempfile.TemporaryDirectory() as folder:
    write(folder, "plain.cu", code("1"))
    status, said = commands(folder, "1")
    ok(status == 0 and not missing("1", "27 takes", said), "the_kernel_of_the_page_computes_what_it_says", said)

    program = code("2")
    program.insert(1, re.search(r"^__host__.*?^}\n", code("1")[0], flags=re.M | re.S)[0])
    write(folder, "steps.cu", program)
    status, said = commands(folder, "2")
    ok(len(program) == 5 and status == 0, "with_its_results_in_a_file_its_check_finds_them_whole", said)

    status, said = commands(folder, "3")
    lost = missing("3", "INCONSISTENT", said)
    ok(status == 1 and not lost, "its_finding_has_the_lines_of_the_page", said + f"missing: {lost}")

    cure = next(b for b in blocks(section["4"]) if "nvw_persist_barrier" in b)
    program[2] = program[2].replace("".join(cure.splitlines(True)[::2]), cure)
    write(folder, "steps.cu", program)
    status, said = commands(folder, "4")
    lost = missing("4", "CONSISTENT", said)
    ok(status == 0 and "INCONSISTENT" not in said and not lost, "its_cure_is_consistent", said + f"missing: {lost}")

    status, said = commands(folder, "5")
    ok(status == 0 and "no races" in said, "the_cured_kernel_has_no_race_on_the_machine", said)

    status, said = commands(folder, "6")
    ok(status == 0 and "CONSISTENT   2,868" in said and "INCONSISTENT" not in said, "in_hip_it_is_the_same", said)
