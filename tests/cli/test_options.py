#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_options.py NVWAVE PROGRAM LIBRARY LITMUS-TESTS: every option of every command either changes the
result or is refused with a message that names it; and what results say about themselves.

The options come from the records of the command (nvwave list command-options), so a new option without a sample value
below fails here. PROGRAM is host/examples/indexed_log, LIBRARY its checker."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import common
from common import ok

nvwave, program, library, litmus_tests = (os.path.abspath(p) for p in sys.argv[1:5])
folder = tempfile.TemporaryDirectory(prefix="nvwave-options-")
os.chdir(folder.name)
common.nvwave = nvwave


def run(words, **more):
    return common.run(*words, **more)


# ---- Every option in every mode ----------------------------------------------------------------------------------------

kv = ["kv", "--count=6", "--batch=2", "--slots=16"]
judged = kv + ["--and-then=0"]  # a machine for each state would take most of the time
broken = ["btree", "--count=100", "--preload=100", "--mutate=update-before-log"]
log = ["--image=log.image", "--check-lib=" + library]
test = os.path.join(litmus_tests, "loads.litmus")

plot = ["plot", "table.csv", "--x=a", "--y=c", "--output=out.svg"]

# Modes of a command: name, words, and whether it takes too long to be run again for each option that it accepts.
modes = {
    "run": [("run", ["run"] + kv), ("readers", ["run"] + kv + ["--host-readers=1"]),
            ("timeline", ["run"] + kv + ["--timeline=out.json"]),
            ("series", ["run"] + kv + ["--series=out.csv"]),
            ("memory trace", ["run"] + kv + ["--memory-trace=out-memory.csv"]), ("pool", ["run"] + kv + ["--pool=out.pool"])],
    "crash": [
        ("observed", ["crash"] + kv),
        ("permitted", ["crash"] + judged + ["--mode=permitted", "--states=300"]),
        ("kill", ["crash"] + kv + ["--mode=kill", "--states=3"]),
        ("matrix", ["crash"] + kv + ["--matrix", "--states=20"]),
        ("self-test", ["crash", "kv", "--self-test"]),
        ("each", ["crash", "kv", "--count=2", "--batch=2", "--slots=16", "--group-size=8", "--protocol=each", "--states=3", "--and-then=0"]),
        ("store-log", ["crash", "--store-log=log", "--states=500"] + log),
        ("exec", ["crash", "--exec=%s empty 2" % program, "--image=empty", "--check-lib=" + library]),
        ("exec kill", ["crash", "--exec=%s empty 2" % program, "--image=empty", "--check-lib=" + library, "--mode=kill",
                       "--states=2"]),
        ("merge", ["crash", "--merge", "shard1", "shard2"]),
    ],
    "exec": [("exec", ["exec", "--", program, "scratch", "1"]),
             ("off", ["exec", "--delays=off", "--", program, "scratch", "1"]),
             ("record", ["exec", "--record=record", "--", program, "scratch", "1"])],
    "fio": [(job, ["fio", job]) for job in ("latency", "bandwidth", "mixed", "verify")],
    "replay": [("replay", ["replay", "found/finding-1"])],
    "recover": [("recover", ["recover", "kept"])],
    "inspect": [("inspect", ["inspect", "kept"])],
    "damage": [("damage", ["damage", "kept", "--copies=40"])],
    "log": [("dump", ["log", "dump", "log"]), ("export", ["log", "export", "log"])],
    "torture": [("torture", ["torture", "--programs=2"]), ("faults", ["torture", "--faults", "--programs=1"])],
    "litmus": [("litmus", ["litmus", test]), ("json", ["litmus", test, "--output-format=json"])],
    "sweep": [("sweep", ["sweep", "workload=kv", "count=6", "batch=2", "slots=16", "scope=workitem,workgroup", "--output=out"]),
              ("points", ["sweep", "workload=kv", "count=6", "scope=workitem,workgroup", "--points"])],
    "bench": [("bench", ["bench", "stack", "--operations=16"])],
    "reproduce": [("reproduce", ["reproduce", "--papers=papers", "--output=out"]), ("list", ["reproduce", "--papers=papers", "--list"])],
    "compare": [("compare", ["compare", "one.json", "two.json"])],
    "report": [("report", ["report", "reports"])],
    "plot": [("plot", plot), ("heat", plot + ["--kind=heat", "--series=b"])],
    "list": [("list", ["list", "protocols"])],
}
too_long = {"self-test", "faults"} | {job for job, _ in modes["fio"]}  # modes and options; what they do is tested elsewhere

# A value that makes a difference where the option makes one.
samples = {
    "machine": "alsop16", "set": "nvram.write=700ns", "protocol": "gh", "seed": "7", "mutate": "publish-before-value",
    "pool": "out", "pool-size": "64MiB", "log": "out", "timeline": "out", "timeline-window": "0us..1us", "per": "kernel", "memory-trace": "out-memory.csv", "memory-format": "ramulator", "memory-device": "dram", "memory-cycle": "2ns", "interval": "1us", "limit": "10ns", "host-limit": "100s", "dump-machine": "-", "host-readers": "2", "reader-scans": "50", "mode": "permitted",
    "model": "strict", "atomicity": "line", "fs": "posix", "trust": "transactions", "except": "*.txt", "states": "2", "jobs": "2", "cures": "off", "cure-states": "1", "stop-after": "1", "patch": "out", "try-cures": "true", "assume-durable": "nowhere.c:1", "assume-ordered": "nowhere.c:1:2",
    "timeout": "5s", "bugs": "none", "exec": "true", "store-log": "log",
    "image": "empty", "check-lib": library, "oracle": "replay", "recover": "true", "shard": "1/2", "resume": "out", "html": "out", "coverage": "out", "save": "out", "delays": "off", "callers": "off", "compare": "fences",
    "record": "out", "report": "out", "sweep": "none", "bs": "4k", "size": "1m", "io-size": "1m", "number-ios": "100",
    "threads": "1", "repeat": "2", "json": "out", "kills": "2", "fault": "no-drain", "extract": "out", "at": "lost", "file": "elsewhere",
    "corpus": "inputs", "input-timeout": "5s", "fuzz": "1", "export-states": "out-states", "tool": "true", "what": "header", "how": "flip", "copies": "3",
    "command": "crash", "baseline": "scope=workitem", "exclude": "scope=workgroup", "metrics": "nvram.writes",
    "engine": "slurm", "sbatch": "--hold", "array": "2", "queue-limit": "9s", "reports": "out-reports", "data": "keys", "papers": "papers2", "seeds": "4",
    "against": "scope=workitem,workgroup", "mix": "load", "records": "30", "operations": "32",
    "rows": "1", "shows": "median", "of": "b", "font": "Times,9", "palette": "tol", "x": "b", "y": "a", "series": "b", "where": "a=1", "kind": "bars", "scale": "log-y", "title": "a title", "x-label": "words", "y-label": "words", "series-label": "words",
    "programs": "1", "seconds": "0.0000001", "schedules": "1", "and-then": "2", "schedule": "2", "schedule-seed": "2", "schedule-depth": "2", "switch-at": "turns.c:1", "volatile": "atomic", "shrink": "off", "test": "zzz", "output-format": "json",
}
other_samples = {("run", "check"): "races", ("exec", "check"): "races", ("run", "series"): "out.csv", ("crash", "check"): "false",
                 ("torture", "fault"): "nothing",
                 ("crash", "seed"): "9", ("torture", "set"): "l2.ways=2", ("litmus", "set"): "l1.ways=1",
                 ("plot", "baseline"): "a=1", ("plot", "size"): "85mm", ("plot", "output"): "out.png", ("sweep", "output"): "out", ("damage", "output"): "out-damaged", ("sweep", "data"): "keys",
                 ("reproduce", "output"): "out2", ("bench", "output"): "out.csv", ("bench", "mutate"): "publish-unordered"}

# What an option changes that is no part of a result, or only of some: the reason.
no_effect_here = {
    "callers": "is in records and in findings, of which there are none here",
    "compare": "is about programs that nvwave-cc has built",
    "volatile": "is about kernels, of which there are none here",
    "nested": "tests more, and finds nothing here", 
    "symmetric": "has nothing to skip here",
    "patch": "writes a file if a cure is found",
    "try-cures": "runs cures of findings, and there are none here",
    "stop-after": "ends a test that finds something",
    "cure-states": "bounds the search for cures of findings, and there are none here",
    "cures": "looks for cures of findings, and there are none here",
    "shrink": "is about failing programs, of which there are none here", "jobs": "is only quicker", "host-limit": "is a limit", "timeout": "is a limit", "resume": "leaves nothing behind at the end",
    "save": "writes a file if something is found", "merge": "is another command line", "fresh": "has nothing to forget here", "overwrite": "replaces a table, and there is none here", "keep": "writes into the folder of papers", "help": "is tested by itself",
    "exec": "is another subject", "store-log": "is another subject",
    "image": "is the subject", "check-lib": "is the subject",
}

def prepare():
    subprocess.run([program, "empty", "0"], check=True, env=dict(os.environ, PMEM_IS_PMEM_FORCE="1"))
    subprocess.run([program, "pool", "0"], check=True, env=dict(os.environ, PMEM_IS_PMEM_FORCE="1"))
    run(["exec", "--delays=off", "--record=log", "--", program, "pool", "2"])
    run(["run", "btree", "--count=100", "--pool=kept"])
    for name, n in (("one", 6), ("two", 7)):
        with open(name + ".json", "w") as f:
            f.write(run(["run", "kv", "--count=%d" % n, "--output-format=json"])[1])
    with open("table.csv", "w") as f:
        f.write("a,b,c\n1,1,5\n2,2,6\n4,1,7\n4,1,7\n4,1,1\n")
    run(["crash"] + broken + ["--model=epoch", "--states=100", "--cures=off", "--save=found"])
    os.mkdir("reports")
    run(["crash"] + judged + ["--html=reports/a.html"])
    for i in (1, 2):
        with open("shard%d" % i, "w") as f:
            f.write(run(["crash"] + judged + ["--shard=%d/2" % i, "--output-format=json"])[1])


def prepare_papers():
    """Two folders of published results: one with a row more, which is no short one; and keys for them."""
    for papers, more in (("papers", True), ("papers2", False)):
        os.makedirs(papers + "/sweeps")
        with open(papers + "/sweeps/s.ini", "w") as f:
            f.write("[axes]\nrow = one\ncount = 6\nbatch = 2\nslots = 16\n[row one]\nworkload = kv\nkeys = data:list|uniform\n")
        row = "what = a row\nin = 1\npaper = 5\nsweep = s\npoints = row=one\nvalue = sim_time\nas = value\n"
        with open(papers + "/p.ini", "w") as f:
            f.write("[X1]\n" + row + "short = yes\n" + ("[X2]\n" + row if more else ""))
    os.makedirs("keys")
    with open("keys/list", "w") as f:
        f.write("5\n9\n2\n7\n4\n1\n3\n")


def clean():
    for name in os.listdir("."):
        if name.startswith(("out", "record", "scratch")):
            if os.path.isdir(name):
                shutil.rmtree(name)
            else:
                os.unlink(name)


def essence(text):
    """A result without times of this computer, and without what it says about its making."""
    text = re.sub(r"(?m)^ *(made by|machine|again|found by|repeat): .*\n", "", text)
    text = re.sub(r'(?s)"made_by": \{.*?\n  \}', "", text)
    text = re.sub(r'(?m)^ *"(host_\w+|explore_seconds|seconds|repeat|machine|protocol|seed)": .*\n', "", text)
    text = re.sub(r"(?m)^(host_\w+|time of the host|host\.seconds|delay\.\S+) .*\n", "", text)
    text = re.sub(r"\S+ on \S+, protocol \S+,|seed \d+", "", text)
    return re.sub(r" +\d+\.\d s(, [\d,]+/s)?", "", text)


def result(words):
    status, out, err = run(words)
    files = sorted((n, open(n).read() if n.endswith((".svg", ".csv", ".json")) else os.path.getsize(n) if n.endswith(".pool") else "")
                   for n in os.listdir(".") if n.startswith(("out", "record")))
    clean()
    return status, essence(out), essence(err), files


def one(command, option, mode, words, base):
    """None if the option behaves in this mode, else what is wrong."""
    name = option["name"]
    value = other_samples.get((command, name), samples.get(name))
    if option["type"] != "flag" and value is None:
        return "--%s has no sample value in this test" % name
    word = "--" + name + ("" if option["type"] == "flag" else "=" + value)
    if any(w.split("=")[0] == "--" + name for w in words):
        return None
    at = words.index("--") if "--" in words else len(words)
    status, out, err, files = result(words[:at] + [word] + words[at:]) if not {mode, name} & too_long else quick(words, word)
    if name == "merge":
        return None
    if status == 2 and not out:
        return None if "--" + name in err or not err or "nothing" in err or "zzz" in err else "%s: %s" % (word, err)
    if {mode, name} & too_long or name in no_effect_here or (name, mode) in idle_by_chance:
        return None
    return None if (status, out, err, files) != base else word + " is accepted and changes nothing"


def quick(words, word):
    """Of a mode that takes long: only whether the option is refused before anything begins. Without PATH there is no fio."""
    process = subprocess.Popen([nvwave] + words + [word], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, PATH="/nonexistent"))
    try:
        out, err = process.communicate(timeout=0.15)
        return process.returncode, out, err if "fio" not in words or "has no effect" in err else "", []
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate()
        return 0, "", "", []


# An option that can change this mode's result, but does not change this one.
idle_by_chance = {
    ("machine", "exec"), ("machine", "record"), ("machine", "exec kill"), ("machine", "off"),  # has the same NVRAM
    ("set", "exec"), ("set", "exec kill"), ("set", "off"),  # nvram.domain=eadr changes what programs flush
    ("protocol", "matrix"),  # all verdicts are the same
    ("data", "sweep"), ("data", "points"),  # no value of theirs is data:FILE|OTHER
    ("seed", "store-log"), ("seed", "exec"),  # every state is tested
    ("states", "observed"), ("states", "permitted"),  # the check in parts covers every state
    ("verbose", "exec kill"),  # nothing was pruned, and nothing recovered
    ("mode", "store-log"), ("mode", "exec"),  # permitted is what is meant
}


def walk(command, options):
    """Each option in a third of the command's modes, in one at least, in two of many; with EVERY_CASE in the environment in all of them."""
    wrong = []
    step = 1 if "EVERY_CASE" in os.environ else max(min(3, len(modes[command])), len(modes[command]) // 2)
    for number, (mode, words) in enumerate(modes[command]):
        base = result(words) if mode not in too_long else None
        for option in options[number % step::step]:
            problem = one(command, option, mode, words, base)
            if problem:
                wrong.append("nvwave %s: %s" % (shlex.join(words), problem))
    ok(not wrong, "every_option_of_%s_changes_the_result_or_is_refused" % command, *wrong)


def defaults(records):
    """The default that help displays is a value that is accepted: what is refused is the option behind them all."""
    wrong = []
    for command in dict.fromkeys(r["command"] for r in records):
        words = ["--%s=%s" % (r["name"], r["default"]) for r in records if r["command"] == command and r["default"]]
        err = run([command] + words + ["--nosuch", "--"])[2]
        if words and "there is no option --nosuch" not in err:
            wrong.append("nvwave %s %s: %s" % (command, shlex.join(words), err))
    ok(not wrong, "every_default_that_help_displays_is_accepted", *wrong)


def workload_defaults():
    """The same of every workload, up to where the pool would be made: there the path is wrong, or no pool is needed."""
    wrong, defaults = [], {}
    for r in json.loads(run(["list", "options", "--output-format=json"])[1]):
        if r["default"]:
            defaults.setdefault(r["workload"], []).append("--%s=%s" % (r["name"], r["default"]))
    for workload, words in defaults.items():
        err = run(["run", workload] + words + ["--pool=/nowhere/pool"])[2]
        if "/nowhere/pool" not in err and "needs no --pool" not in err:
            wrong.append("nvwave run %s %s: %s" % (workload, shlex.join(words), err))
    ok(defaults and not wrong, "every_default_of_a_workload_that_help_displays_is_accepted", *wrong)


def names(records):
    """A command that takes a workload's options has none of the same name: it would hide the workload's."""
    of_workloads = {r["name"]: r["workload"] for r in json.loads(run(["list", "options", "--output-format=json"])[1])}
    wrong = ["nvwave %s --%s is also an option of %s" % (r["command"], r["name"], of_workloads[r["name"]])
             for r in records if r["command"] in ("run", "crash") and r["name"] in of_workloads]
    ok(of_workloads and not wrong, "no_option_of_a_command_hides_one_of_a_workload", *wrong)


# ---- What results say of their making -----------------------------------------------------------------------------------

def making():
    """Command line, version, machine, seed: in text and in JSON of every command that has a result."""
    wrong = []
    for words in (["run"] + kv, ["crash"] + judged, ["crash"] + kv + ["--matrix", "--states=20"],
                  ["crash"] + kv + ["--mode=kill", "--states=2"], ["exec", "--report=/dev/stdout", "--", "true"]):
        at = words.index("--") if "--" in words else len(words)
        machine = ["--set=nvram.write=700ns"]
        text = run(words[:at] + machine + words[at:])[1]
        made = json.loads(run(words[:at] + machine + ["--output-format=json"] + words[at:])[1]).get("made_by", {})
        same = made.get("machine", {})
        if (not re.search("(?m)^made by: nvwave " + re.escape(made.get("version", "")) + ", .*" + re.escape(shlex.join(words[:at])), text)
                or "machine: gope18 (%s) with nvram.write=700ns; protocol vi, seed 1" % same.get("hash") not in text):
            wrong.append("nvwave %s: %s" % (shlex.join(words), text[:600]))
        if (same.get("name") != "gope18" or same.get("changed") != {"nvram.write": "700ns"} or made.get("seed") != 1
                or not made.get("version") or "--set=nvram.write=700ns" not in made.get("command", "")):
            wrong.append("nvwave %s: %s" % (shlex.join(words), made))
    for words in (["litmus", os.path.join(litmus_tests, "loads.litmus")], ["torture", "--programs=1", "--protocol=vi"], ["replay", "found/finding-1"]):
        text, parsed = run(words)[1], json.loads(run(words + ["--output-format=json"])[1])
        made = (parsed[0] if isinstance(parsed, list) else parsed).get("made_by", {})
        if "made by: nvwave " not in text or shlex.join(words) not in made.get("command", ""):
            wrong.append("nvwave %s: %s %s" % (shlex.join(words), made, text[-600:]))
    ok(not wrong, "every_result_says_its_command_version_machine_and_seed", *wrong)


def hashes():
    def of(*words):
        return json.loads(run(["run"] + kv + ["--output-format=json"] + list(words))[1])["made_by"]["machine"]

    with open("mine.ini", "w") as f:
        f.write("[nvram]\nwrite = 700ns\n")
    same = of("--seed=2")["hash"] == of("--protocol=gh")["hash"] and of("--machine=./mine.ini")["over"] == "gope18"
    equal = of("--machine=./mine.ini")["hash"] == of("--set=nvram.write=700ns")["hash"]
    other = of()["hash"] != of("--set=nvram.write=700ns")["hash"] and of("--machine=alsop16")["changed"] == {}
    ok(same and equal and other, "machines_have_the_same_hash_if_and_only_if_all_their_keys_are_the_same")


def pasted():
    """The line "repeat:" runs the same command in a shell: quotes, blanks and the environment that mattered."""
    words = ["crash"] + broken + ["--model=epoch", "--states=50", "--cures=off", "--save=a b'c"]
    out = run(words, env=dict(os.environ, NVWAVE_NOTE="x y"))[1]
    line = re.search("(?m)^repeat: (.*)$", out).group(1)
    again = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    finding = re.search("replay with: nvwave (replay .*)", again.stdout)
    reproduced = finding and run(shlex.split(finding.group(1)))[1].startswith("REPRODUCED")
    good = (line.startswith("NVWAVE_NOTE='x y' ") and again.returncode == 1 and os.path.isdir("a b'c") and reproduced)
    ok(good, "a_repeat_line_can_be_pasted_into_a_shell", line)


prepare()
prepare_papers()
records = json.loads(run(["list", "command-options", "--output-format=json"])[1])
commands = list(dict.fromkeys(r["command"] for r in records))
only = sys.argv[5:] or commands
if not shutil.which("gnuplot"):
    print("# skipped: options of plot: there is no gnuplot")
    only = [c for c in only if c != "plot"]
print("1..%d" % (len(only) + 6))
defaults(records)
names(records)
workload_defaults()
making()
hashes()
pasted()
for command in only:
    walk(command, [r for r in records if r["command"] == command])
