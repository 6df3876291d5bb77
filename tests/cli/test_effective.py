#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_effective.py NVWAVE: no option moves another's default silently.

Of many command lines: an option that is not given may be given at the default that its help states, and nothing changes, unless the result names it as effective
with another value. And what is named, given as options, has the same result, which then names nothing. Every fourth seeded bug is tried; with EVERY_CASE
in the environment each."""
import concurrent.futures
import json
import os
import re
import sys
import tempfile

import common
from common import ok, plan, rows, run

common.nvwave = nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-effective-")
os.chdir(folder.name)


REFUSED = "refused"


def words_of(options):
    return ["--%s=%s" % o for o in options.items()]


def accepted(words, options):
    """The result of the words with as many of the options as are accepted: those that a refusal names are left out."""
    options = dict(options)
    while True:
        status, out, err = run(*words, *words_of(options), "--output-format=json")
        named = [n for n in re.findall(r"--([a-z-]+)", err) if n in options] if status == 2 and not out else []
        if not named:
            return options, status, out, err
        del options[named[0]]


def essence(status, out):
    report = json.loads(out)
    for part in report if isinstance(report, list) else [report]:
        part.pop("made_by", None)
    text = json.dumps(report, sort_keys=True)
    return status, re.sub(r'"(host_\w+|options|repeat|explore_seconds|cpu_seconds|command)": ("[^"\\]*(\\.[^"\\]*)*"|[\d.e-]+)', "", text)


def effective(out):
    report = json.loads(out)
    return (report[0] if isinstance(report, list) else report)["made_by"].get("effective", {})


def problem(words, stated, blind=False):
    """None, or what a command line keeps silent about. Blind to what it names, everything that moves is silent."""
    status, out, err = run(*words, "--output-format=json")
    if not out:
        return REFUSED if status == 2 else (words, status, err)
    said, given = {} if blind else effective(out), {w[2:].split("=")[0] for w in words if w.startswith("--")}
    if set(said) & given:
        return words, "names what was given", said
    rest = {n: v for n, v in stated.items() if n not in given and n not in said}
    more, *second = accepted(words, rest)
    if not second[1] or essence(status, out) != essence(*second[:2]):
        one = [n for n in more if essence(status, out) != essence(*accepted(words, {n: more[n]})[1:3])]
        return words, "a default was moved silently", one, said, second[2]
    more, *third = accepted(words, said)
    if said and (not third[1] or essence(status, out) != essence(*third[:2]) or set(effective(third[1])) & set(more)):
        return words, "what is named is not what stands", said, more, third
    return None


def walk(name, lines, stated):
    """Lines that are refused say nothing; most are not."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda words: problem(words, stated), lines))
    wrong, refused = [p for p in found if p and p != REFUSED], found.count(REFUSED)
    ok(not wrong and 2 * refused < len(lines), name, refused, len(lines), *wrong)


# ---- Workloads -------------------------------------------------------------------------------------------------------

small = {"kv": {"count": "40", "slots": "16", "batch": "32", "group-size": "16"},
         "btree": {"count": "40", "preload": "30", "batch": "32", "group-size": "16"},
         "queue": {"count": "128", "group-size": "32", "capacity": "64"}, "stack": {"count": "128", "group-size": "16"},
         "steal-log": {"tasks": "32", "group-size": "16"}, "saved-tasks": {"n": "5", "group-size": "16"}, "tiered": {"count": "64", "group-size": "16"}}


def choices(workload, option):
    """Its other values, which a refusal lists."""
    if option["default"] in ("on", "off"):
        return [{"on": "off", "off": "on"}[option["default"]]]
    listed = re.search(r"is not one of (.*)", run("run", workload, "--%s=?" % option["name"])[2]) if not option["default"][:1].isdigit() else None
    return [c for c in listed.group(1).split(", ") if c != option["default"]] if listed else []


def workloads():
    options = json.loads(run("list", "options", "--output-format=json")[1])
    mutations = json.loads(run("list", "mutations", "--output-format=json")[1])
    with open("keys", "w") as f:
        f.write("".join("%d\n" % (7 * i + 1) for i in range(50)))
    for workload, base in small.items():
        mine = [o for o in options if o["workload"] == workload]
        stated = {o["name"]: o["default"] for o in mine if o["default"]}
        variants = [{}] + [{o["name"]: choice} for o in mine for choice in choices(workload, o)]
        variants += [{"mutate": m["name"]} for m in mutations if m["workload"] == workload][::1 if "EVERY_CASE" in os.environ else 4]
        names = {o["name"] for o in mine}
        if "ycsb" in names:
            variants += [{"ycsb": mix, "batch": "512"} for mix in ("a", "d", "load")] + [{"keys": "text:keys"}, {"keys": "sequential"}]
        lines = []
        for v in variants:
            without = ("count", "preload") if "ycsb" in v or ":" in v.get("keys", "") else ("scope",)
            lines.append(["run", workload] + words_of({**{n: b for n, b in base.items() if n not in without}, **v}))
        walk("%s_names_every_option_that_does_not_stand_at_its_default" % workload.replace("-", "_"), lines, stated)


# ---- Commands --------------------------------------------------------------------------------------------------------

def commands():
    records = json.loads(run("list", "command-options", "--output-format=json")[1])

    def stated(command):
        return {r["name"]: r["default"] for r in records if r["command"] == command and r["default"] and r["name"] not in ("output-format", "machine", "engine")}
    kv = ["crash", "kv", "--count=6", "--batch=2", "--slots=16", "--group-size=16"]
    lines = [kv + list(more) for more in ([], ["--mode=permitted"], ["--model=strict"], ["--mode=kill"], ["--oracle=robust"], ["--shard=1/2"], ["--matrix"],
                                          ["--nested"], ["--symmetric"], ["--set=nvram.domain=eadr"], ["--mutate=narrow-scope"])]
    walk("crash_names_every_option_that_does_not_stand_at_its_default", lines, dict(stated("crash"), states="20000"))
    walk("run_names_the_protocol_that_its_options_imply", [["run", "steal-log", "--scenario=" + s, "--tasks=32"] for s in ("scoped", "agent", "remote")],
         stated("run"))
    walk("torture_names_its_number_of_programs", [["torture", "--protocol=vi"]],
         dict(stated("torture"), programs="200"))


# ---- Where it stands -------------------------------------------------------------------------------------------------

def places():
    """In the text, in JSON, in the table of a sweep."""
    ycsb = ["kv", "--ycsb=a", "--slots=64", "--batch=512", "--group-size=64", "--records=0"]
    wrong = []
    for words, expected in ((["run"] + ycsb, {"keys": "zipfian", "preload": "1000", "count": "1000", "value-size": "1000B"}),
                            (["run"] + ycsb + ["--count=20", "--preload=10"], {"keys": "zipfian", "value-size": "1000B"}),
                            (["run", "kv", "--count=20", "--mutate=narrow-scope"], {"scope": "workgroup", "writers": "group"}),
                            (["run", "kv", "--count=20"], {}),
                            (["run", "steal-log", "--tasks=32", "--scenario=remote"], {"protocol": "rsp"}),
                            (["run", "steal-log", "--tasks=32", "--scenario=remote", "--set=gpu.protocol=rsp"], {}),
                            (["crash", "kv", "--count=6", "--shard=1/2", "--model=epoch"], {"mode": "permitted", "cures": "off"}),
                            (["torture", "--protocol=vi", "--seconds=0.01"], {"programs": "0"})):
        text = run(*words)[1]
        out = run(*words, "--output-format=json")[1]
        report = json.loads(out)
        said = (report[0] if isinstance(report, list) else report)["made_by"].get("effective", {})
        line = "effective: other options move these defaults:" + "".join(" " + w for w in words_of(said))
        if said != expected or ("\n" + line + "\n" in text) != bool(said) or "effective:" in text and not said:
            wrong.append((words, said, text[-800:]))
    ok(not wrong, "what_is_effective_stands_in_text_and_in_json", *wrong)
    status, out, err = run("sweep", "workload=kv", "ycsb=-,a", "slots=64", "group-size=64", "batch=512", "--output=table", "count=-,50")
    got = [(r["ycsb"], r["count"], r["effective.count"], r["effective.keys"], r["effective.preload"]) for r in rows("table.csv")]
    ok(status == 0 and got == [("-", "-", "", "", ""), ("-", "50", "", "", ""), ("a", "-", "1000", "zipfian", "1000"), ("a", "50", "", "zipfian", "1000")],
       "what_is_effective_is_a_column_of_a_table", got, out, err)


def sight():
    """The walk sees a default that moves: here, as it is not told what the result names, the number of operations."""
    found = problem(["run", "kv", "--ycsb=a", "--slots=64", "--batch=512"], {"count": "900", "keys": "zipfian"}, blind=True)
    ok(found and found[1:3] == ("a default was moved silently", ["count"]), "a_default_that_moved_silently_would_be_seen", found)


workloads()
commands()
places()
sight()
plan()
