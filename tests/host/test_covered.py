#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_covered.py NVWAVE NVWAVE-CC SOURCE: what crash tests say of the statements that a program's run executed. The lines of SOURCE say what
is expected."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import common  # noqa: E402
from common import ok, plan, read, run  # noqa: E402

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
wrapper, source = (os.path.abspath(p) for p in sys.argv[2:4])
scratch = tempfile.TemporaryDirectory(prefix="nvwave-covered-")
os.chdir(scratch.name)

MODES = ("put", "grow", "fall")
expected, ways = {}, {}
for number, line in enumerate(read(source).splitlines(), 1):
    found = re.search(r"/\* statement:([a-z ]*?)( \*)? \*/$", line)
    if found:
        expected[number] = (set(found.group(1).split()), bool(found.group(2)))
    found = re.search(r"/\* branch:(.*) \*/$", line)
    if found:
        ways[number] = {mode: int(count) for mode, count in re.findall(r"(\w+)=(\d)", found.group(1))}
    if line.startswith("int main"):
        main = number


def build(name, *words):
    subprocess.run([wrapper, *words, "-o", name, source, "-lpmem"], check=True)


def crash(program, mode, *words):
    status, out, err = run("crash", "--exec=./%s pool %s" % (program, mode), "--image=pool", "--check=true", "--states=20", *words)
    assert status in (0, 1, 2), err  # a mode ends by a signal, which leaves it undecided
    return out


def covered(program, mode):
    """Of the report in JSON, and of the tracefile, its lines with whether each was executed."""
    report = json.loads(crash(program, mode, "--output-format=json", "--coverage=trace"))["source"]
    lines = dict(tuple(map(int, l[3:].split(","))) for l in read("trace").splitlines() if l.startswith("DA:"))
    return report, lines


def branches():
    """Of the tracefile: how many ways of each line's branches were taken, None if they were never met. Those of main are left out."""
    taken = {}
    for line, way in re.findall(r"^BRDA:(\d+),\d+,[01],(.+)$", read("trace"), re.M):
        if int(line) < main:
            taken.setdefault(int(line), []).append(way)
    return {line: None if set(list_) == {"-"} else (len(list_), list_.count("1")) for line, list_ in taken.items()}


def found_ways(report):
    """The same of the report, but of branches that did not go both ways."""
    return {b["line"]: b["jumped"] + b["went_on"] for b in report["branches"]["not_both_ways"] if b["line"] < main}


compilers = [("gcc1", ["cc", "-O1"]), ("gcc2", ["cc", "-O2", "-fstack-protector-all"]), ("intel", ["cc", "-O2", "-masm=intel", "-fno-plt"])]
if shutil.which("clang"):
    compilers.append(("clang", ["clang", "-O2"]))
for name, words in compilers:
    build(name, *words)
    wrong, wrong_ways = [], []
    for mode in MODES:
        report, lines = covered(name, mode)
        want = {line: int(mode in modes) for line, (modes, _) in expected.items()}
        reached = sum(mode in modes and star for modes, star in expected.values())
        if lines != want or report["reached"] != reached or report["statements"] != len(want) or report["executed"] != sum(want.values()):
            wrong.append((mode, {line for line in lines.keys() | want.keys() if lines.get(line) != want.get(line)}, reached, report))
        counts = {line: modes.get(mode, 0) for line, modes in ways.items()}
        taken = branches()
        if taken != {line: (2, n) if n else None for line, n in counts.items()} or \
                found_ways(report) != {line: n for line, n in counts.items() if n < 2}:
            wrong_ways.append((mode, taken, counts, report["branches"]))
    ok(not wrong, "each_line_that_stores_or_flushes_is_listed_as_executed_or_not_by_" + name, wrong)
    ok(not wrong_ways, "each_branch_between_them_is_listed_with_the_ways_that_it_went_by_" + name, wrong_ways)

report = covered("gcc2", "put")[0]
missed = {(s["function"], s["flushes"]) for s in report["not_executed"]}
ok(("never", True) in missed and ("persist", True) in missed and ("main", False) in missed and not any(f == "put" for f, _ in missed) and
   report["functions_executed"] == 3 and report["functions"] == 9, "functions_that_were_never_entered_are_named", report)
text = crash("gcc2", "put", "--html=page")
ok("executed: %d of the %d instrumented statements that store, flush or fence, in 3 of 9 functions; 3 of them, in 2 functions, reached a mapped file"
   % (report["executed"], report["statements"]) in text and "all of never (covered.c:" in text and
   "all of never (covered.c:" in read("page"), "text_and_page_say_so", text)
count = report["branches"]
one_way = [line for line, modes in ways.items() if modes.get("put") == 1]
marked = [int(n) for n in re.findall(r'<span class="one-way"> *(\d+) .*one way</span>', read("page").replace("</span>", "</span>\n"))]
ok("branches there, as compiled: %d of %d went both ways, %d one way," % (count["both_ways"], count["count"], count["one_way"]) in text and
   "wrap (covered.c:%s)" % ", ".join(map(str, sorted(one_way))) in text and [n for n in marked if n < main] == sorted(one_way),
   "text_and_page_name_the_lines_of_branches_that_went_one_way", text, marked)

subprocess.run(["cc", "-O1", "-o", "plain", source, "-lpmem"], check=True)
status, out, err = run("crash", "--exec=./plain pool put", "--image=pool", "--check=true", "--output-format=json", "--coverage=none")
ok(status == 2 and "build it with nvwave-cc" in err and not os.path.exists("none"),
   "of_a_program_that_nvwave_cc_has_not_built_nothing_is_known", status, err)
kills = json.loads(crash("gcc2", "put", "--mode=kill", "--output-format=json"))["source"]
ok(kills == report, "kills_have_the_statements_of_the_uncut_run", kills)
plan()
