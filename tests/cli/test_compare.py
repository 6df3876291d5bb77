#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_compare.py NVWAVE: what differs between two runs or sweeps, the most important first."""
import json
import math
import os
import re
import statistics
import sys
import tempfile

import common
from common import ok, plan, read, rows, run

common.nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-compare-")
os.chdir(folder.name)
kv = ["kv", "--count=64", "--batch=16"]


def compare(*words):
    return run("compare", *words)


def report(name, *words):
    status, out, err = run(*words, "--output-format=json")
    with open(name, "w") as f:
        f.write(out)
    return json.loads(out)


def runs():
    a = report("a.json", "run", *kv)
    b = report("b.json", "run", *kv, "--set=nvram.write=500ns")
    same = [compare("a.json", "a.json"), compare("a.json", "a.json", "--output-format=json")]
    status, out, err = compare("a.json", "b.json", "--output-format=json")
    found = json.loads(out)
    expected = {k: (v, b["stats"][k]) for k, v in a["stats"].items() if not k.startswith("host_") and v != b["stats"][k]}
    got = {d["name"]: (d["a"], d["b"]) for d in found["differences"]}
    importance = [abs(y - x) / max(x, y) for x, y in got.values()]
    ok(status == 1 and got == expected and len(got) > 1 and importance == sorted(importance, reverse=True)
       and all(abs(d["importance"] - i) < 1e-12 for d, i in zip(found["differences"], importance)) and not found["same"],
       "every_statistic_that_differs_is_there_sorted_by_its_relative_change", got, expected, err)
    ok(same[0][0] == same[1][0] == 0 and same[0][1].startswith("SAME") and json.loads(same[1][1])["same"]
       and json.loads(same[1][1])["differences"] == [], "a_run_is_the_same_as_itself", same)
    status, out, err = compare("a.json", "b.json", "--rows=1")
    lines = out.splitlines()
    change = 100 * (b["stats"]["persist.stall"] / a["stats"]["persist.stall"] - 1)
    ok(status == 1 and lines[1].startswith("persist.stall ") and lines[1].endswith(" %+.3g %%" % change)
       and lines[2] == "and %d less important ones; --rows=%d lists all" % (len(got) - 1, len(got)) and "DIFFERENT" in out,
       "the_text_has_the_most_important_ones", out)
    report("c.json", "run", *kv, "--machine=alsop16", "--seed=3")
    texts = [(d["name"], d["a"], d["b"]) for d in json.loads(compare("a.json", "c.json", "--output-format=json")[1])["differences"]
             if isinstance(d["a"], str)]
    first = json.loads(compare("a.json", "c.json", "--output-format=json")[1])["differences"][:len(texts)]
    ok(("machine", "gope18", "alsop16") in texts and ("seed", "1", "3") in texts and all(isinstance(d["a"], str) for d in first),
       "texts_come_before_numbers", texts)


def crash_tests():
    """A verdict comes first."""
    words = ["crash", "kv", "--count=64", "--batch=8", "--slots=64", "--group-size=8", "--scope=workitem", "--states=200", "--cures=off"]
    report("good.json", *words)
    report("bad.json", *words, "--mutate=publish-before-value")
    status, out, err = compare("good.json", "bad.json", "--output-format=json")
    first = json.loads(out)["differences"][0]
    ok(status == 1 and first["name"] == "verdict" and first["b"] == "inconsistent", "a_verdict_comes_first", first, err)


def interval(v):
    t = {2: 4.303, 3: 3.182}[len(v) - 1]
    return t * statistics.stdev(v) / math.sqrt(len(v))


def sweeps():
    axes = ["workload=kv", "batch=16", "count=64,128", "seed=1..4"]
    for name, more in (("a", []), ("b", ["nvram.write=500ns"]), ("c", [])):
        run("sweep", *(axes if name != "c" else axes[:3] + ["seed=5..8"]), *more, "--output=" + name)

    def values(name, n, metric):
        return [float(r[metric]) for r in rows(name + ".csv") if r["count"] == n]

    for other in ("b", "c"):
        status, out, err = compare("a.csv", other + ".csv", "--output-format=json")
        found, wrong, noise, expected = json.loads(out), [], 0, set()
        for d in found["differences"]:
            x, y = (values(f, d["point"].split("=")[1], d["name"]) for f in ("a", other))
            change = abs(statistics.mean(y) - statistics.mean(x)) - math.hypot(interval(x), interval(y))
            want = change / max(statistics.mean(x), statistics.mean(y))
            if abs(d["importance"] - want) > 1e-9 or abs(d["a_confidence_95"] - interval(x)) > 1e-6 * (1 + interval(x)):
                wrong.append((d, want))
        for n in ("64", "128"):
            for metric in (k for k, v in rows("a.csv")[0].items() if re.fullmatch(r"[\d.e+]+", v or "") and k not in
                           ("seed", "count", "batch", "sim_time_ns", "nvwave")):
                x, y = values("a", n, metric), values(other, n, metric)
                if x != y:
                    beyond = abs(statistics.mean(y) - statistics.mean(x)) > math.hypot(interval(x), interval(y))
                    noise += not beyond
                    expected |= {(n, metric)} if beyond else set()
        got = {(d["point"].split("=")[1], d["name"]) for d in found["differences"]}
        ok(status == (1 if expected else 0) and not wrong and got == expected and found["within_noise"] == noise
           and (other == "b" or noise > 20), "what_the_seeds_explain_is_no_difference_%s" % other, got ^ expected, noise, found["within_noise"], *wrong)
    ok(json.loads(compare("a.csv", "b.csv", "--output-format=json")[1])["names_in_one"] == {"nvram.write=500ns": "b"}
       and " times" in compare("a.csv", "b.csv")[1] and " ± " in compare("a.csv", "b.csv")[1],
       "an_axis_with_one_value_does_not_part_the_points")
    ok(compare("a.csv", "a.jsonl")[0] == 0, "json_lines_are_the_same_table", compare("a.csv", "a.jsonl"))
    with open("part.csv", "w") as f:
        f.write("".join(line for line in open("a.csv") if not line.startswith("kv,16,128")))
    status, out, err = compare("a.csv", "part.csv")
    ok(status == 1 and "only in a.csv: the point count=128" in out, "a_point_that_only_one_has_is_a_difference", out, err)
    with open("late.csv", "w") as f:
        f.write(read("a.csv").replace(",ok,", ",timeout,", 1))
    status, out, err = compare("a.csv", "late.csv")
    ok(status == 1 and re.search(r"status +ok +timeout, ok +count=64", out), "a_status_that_differs_is_a_difference", out, err)


def refused():
    wrong = []
    with open("report.json", "w") as f:
        f.write(run("sweep", "workload=kv", "count=8", "--output=r", "--output-format=json")[1])
    for name, text in (("cut.json", '{"a": 1'), ("list.json", "[]"), ("plain.csv", "a,b\n1,2\n"), ("empty", ""), ("word.json", '{"a":1} x')):
        with open(name, "w") as f:
            f.write(text)
    for words, message in ((["a.json"], "expected two files"), (["a.json", "b.json", "c.json"], "extra argument"), (["a.json", "none"], "No such file"),
                           (["a.json", "cut.json"], "this is not JSON"), (["a.json", "word.json"], "this is not JSON"), (["a.json", "list.json"], "expected a report"),
                           (["a.json", "plain.csv"], "no column status"), (["a.json", "empty"], "no rows"), (["a.json", "."], "found a folder"),
                           (["a.csv", "report.json"], "name its table r.csv"), (["a.json", "b.json", "--rows=0"], "--rows")):
        status, out, err = compare(*words)
        if status != 2 or message not in err or out or err.count("\n") != 1:
            wrong.append((words, status, out, err))
    ok(not wrong, "what_cannot_be_compared_is_refused_with_status_2", *wrong)


for test in (runs, crash_tests, sweeps, refused):
    test()
plan()
