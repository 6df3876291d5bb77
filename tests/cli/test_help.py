#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_help.py NVWAVE: what a user who asks for help is shown."""
import re
import sys

import common
from common import ok, plan, run

common.nvwave = sys.argv[1]
commands = re.findall(r"(?m)^  nvwave (\w+)", run("--help")[1])
helps = {c: run(c, "--help")[1] for c in commands}


def described(command, option):
    """The help of an option, on one line."""
    found = re.search(r"(?m)^  --%s\b(.*(?:\n {20,}.*)*)" % option, helps[command])
    return re.sub(r"\s+", " ", found.group(1)) if found else ""


def asked():
    wrong = [c for c in commands if run("help", c) != (0, helps[c], "") or not helps[c]]
    ok(commands and not wrong, "help_of_a_command_is_that_command_s_help", *wrong)
    ok(run("help", "run", "kv") == run("run", "kv", "--help") and "\nOptions of kv" in run("help", "run", "kv")[1],
       "help_of_a_workload_has_its_options", run("help", "run", "kv"))
    unknown = run("help", "rum")
    ok(unknown[0] == 2 and "did you mean run?" in unknown[2], "help_of_no_command_names_the_nearest", unknown)
    ok(run("help") == run("--help") == run("-h") and "nvwave help COMMAND" in run("help")[1], "help_alone_lists_the_commands")


def short():
    wrong = [c for c in commands if run(c, "-h") != (0, helps[c], "")]
    ok(not wrong and run("run", "kv", "-h") == run("run", "kv", "--help"), "h_is_help", *wrong)
    ok(run("-V") == run("--version") and run("-V")[1].startswith("nvwave 0."), "capital_v_is_version", run("-V"))


def own_contexts():
    """A command's help does not say what its options do in other commands."""
    wrong = ["%s: %s" % (c, o) for c in commands for o in re.findall(r"(?m)^  --([a-z-]+)", helps[c])
             for other in commands if other != c and re.search(r"(?:^|[.;] )%s: " % other, described(c, o)) and "|" not in described(c, o)]
    ok(not wrong, "options_have_no_sentences_for_other_commands", *wrong)
    ok("program" not in described("run", "machine") and "CUDA" in described("exec", "machine")
       and "litmus" not in described("crash", "protocol") and "points" not in described("torture", "array").replace("per point", "points")
       and "workload" not in described("fio", "help") and "workload" in described("run", "help"),
       "shared_options_are_explained_for_each_command", described("run", "machine"), described("crash", "protocol"),
       described("torture", "array"), described("fio", "help"))
    of_kv = run("crash", "kv", "--help")[1]
    ok("\n  --bugs=" in helps["crash"] and "\n  --recover=" in helps["crash"] and "\n  --bugs=" not in of_kv
       and "\n  --recover=" not in of_kv and "\n  --mode=" in of_kv, "a_workload_s_help_leaves_out_options_of_programs", of_kv)


def internal():
    """Options of command lines that nvwave writes for a cluster."""
    refused = run("crash", "kv", "--slice=1/2:"), run("sweep", "--task=")
    known = all(s == 2 and "no option" not in e for s, _, e in refused)
    near = run("crash", "kv", "--slic=1")[2]
    ok(known and "--slice" not in helps["crash"] and "--task" not in helps["sweep"] and "did you mean --slice" not in near
       and "slice" not in run("list", "command-options")[1], "internal_options_work_and_are_not_listed", *refused, near)


asked()
short()
own_contexts()
internal()
plan()
