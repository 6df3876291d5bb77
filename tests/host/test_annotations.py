#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_annotations.py NVWAVE NVWAVE-CC ANNOTATED.C: pmemcheck's annotations have their meaning in programs built by nvwave-cc."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave, cc, source = (os.path.abspath(p) for p in sys.argv[1:4])
compiler = shutil.which("gcc")
if not compiler:
    print("1..0 # SKIP there is no gcc")
    sys.exit(0)
folder = tempfile.TemporaryDirectory(prefix="nvwave-annotations-")
os.chdir(folder.name)
shutil.copy(source, "annotated.c")
lines = {m.group(1): n for n, text in enumerate(open("annotated.c"), 1) if (m := re.search(r"/\* LINE ([a-z-]+) \*/", text))}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


status, _, err = run(cc, compiler, "-g", "-O1", "-Wall", "-Werror", "-o", "annotated", "annotated.c")
ok(status == 0, "our_header_takes_the_place_of_valgrinds", err)
include = os.path.join(os.path.dirname(os.path.realpath(cc)), "include")
with open("header.c", "w") as f:
    f.write("#include <valgrind/pmemcheck.h>\nint main(void) { int x = 0; VALGRIND_PMC_DO_FLUSH(&x, sizeof x); VALGRIND_PMC_START_TX_N(3);"
            " VALGRIND_PMC_EMIT_LOG(\"text\"); return (int)VALGRIND_PMC_ADD_TO_TX_N(3, &x, 4); }\n")
wrong = []
for program, language in (("gcc", "c"), ("g++", "c++"), ("clang", "c"), ("clang++", "c++")):
    if shutil.which(program):
        status, _, err = run(program, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I" + include, "-x", language, "header.c")
        wrong += [(program, err)] if status else []
ok(not wrong, "the_header_compiles_as_c_and_as_cpp", *wrong)
with open("image", "wb") as f:
    f.write(bytes(4096))


def crash(case):
    status, out, err = run(nvwave, "crash", "--exec=./annotated image " + case, "--image=image", "--check=./annotated image check", "--states=500",
                           "--output-format=json", "--cures=off")
    report = json.loads(out) if out else {}
    return status, report.get("verdict"), [(u["log"], u["store"]["line"], u["transaction"]["line"]) for u in report.get("unlogged", [])], err


wrong = [(case, result) for case in ("all", "ignored", "clean") if (result := crash(case))[:3] != (0, "consistent", [])]
ok(not wrong, "a_program_whose_annotations_are_true_is_clean", *wrong)
wrong = []
for case, verdict, line in (("no-add", "unlogged", "count"), ("no-ignore", "unlogged", "scratch"), ("no-log", "inconsistent", "count")):
    result = crash(case)
    if result[:3] != (1, verdict, [("annotated", lines[line], lines["begin"])]):
        wrong.append((case, result))
ok(not wrong, "a_store_to_what_was_not_added_is_named_with_its_transaction", *wrong)
result = crash("no-flush")
ok(result[:3] == (1, "inconsistent", []), "what_no_annotation_flushes_is_not_durable", result)
run("cp", "image", "plain")
status, out, err = run("./annotated", "plain", "all")
ok(status == 0 and not err, "without_nvwave_it_runs_as_it_is", out, err)
plan()
