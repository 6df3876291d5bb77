#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_sweep.py NVWAVE DOCS/SWEEPS LITMUS-TESTS: sweeps and their figures."""
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import common
from common import ok, read, rows, run

nvwave, sweeps, litmus_tests = (os.path.abspath(p) for p in sys.argv[1:4])
folder = tempfile.TemporaryDirectory(prefix="nvwave-sweep-")
os.chdir(folder.name)
common.nvwave = nvwave
long = 300000  # operations: more than a test waits for
kv = ["workload=kv", "batch=8", "slots=64", "group-size=8"]


def sweep(*words, **more):
    return run("sweep", *words, **more)


# ---- Points ----------------------------------------------------------------------------------------------------------

def points():
    with open("p.ini", "w") as f:
        f.write("[sweep]\nexclude = scope=workitem writers=group\nexclude = batch>count\n[axes]\nworkload = kv\n"
                "scope = workitem, workgroup\nwriters = own, group\ncount = 4, 16\nbatch = 4..8*2\nnvram.write = 300ns\n"
                "model = strict\n")
    status, out, err = sweep("p.ini", "count=4,8", "seed=-", "--points")
    expected = ["nvwave run kv --scope=%s --writers=%s --count=%d --batch=%d --set=nvram.write=300ns "
                "--set=persist.model=strict" % (scope, writers, n, batch)
                for scope, writers in (("workitem", "own"), ("workgroup", "own"), ("workgroup", "group"))
                for n in (4, 8) for batch in (4, 8) if batch <= n]
    ok(status == 0 and out.splitlines() == expected, "points_are_all_combinations_that_no_rule_excludes", out, err)


def refusals():
    wrong = []
    with open("bad.ini", "w") as f:
        f.write("[sweep]\nbasline = x\n")
    with open("long.ini", "w") as f:
        f.write("[axes]\nseed = " + ", ".join(map(str, range(100))) + "\n")
    before = set(os.listdir("."))
    for words, message in (
            (kv + ["scop=kernel"], "did you mean --scope?"),
            (kv + ["scope=kernell"], 'is not one of'),
            (kv + ["scope=workitem,workgroup", "writers=group"], "scope=workitem: --writers=group needs"),
            (kv + ["machine=gope"], "did you mean gope18?"),
            (kv + ["nvram.writ=1ns"], "did you mean nvram.write?"),
            (kv + ["protocol=vy"], "no coherence protocol"),
            (kv + ["seed=1,1"], "the value 1 twice"),
            (kv + ["seed=5..1"], "has no end or is empty"),
            (kv + ["log=out"], "--log cannot be an axis"),
            (kv + ["seed=1,2", "--exclude=seed>0"], "every combination is excluded"),
            (kv + ["seed=1,2", "--exclude=sed=1"], "no axis sed"),
            (kv + ["scope=kernel", "--baseline=scope=workitem"], "no value of an axis"),
            (["scope=kernel"], "expected an axis workload"), ([], "expected axes"),
            (kv + ["seed=1,2", "--timeout=1us"], "expected a time from 1ms to 604800s, such as 10s or 500ms"),
            (["nothing.ini"], "No such file"), (["bad.ini"], "did you mean baseline?"), (["long.ini"], "more than 198"),
            (kv + ["--metrics=sim_tim"], "did you mean sim_time?"), (kv + ["--metrics=sim_time,nvram.writs"], "did you mean nvram.writes?"),
            (kv + ["--metrics=states_distinct"], "reports of run have no number named states_distinct"),
            (kv + ["--metrics=host_op_rate"], "differs from run to run"),
            (kv + ["--command=crash", "--metrics=sim_time"], "reports of crash have no number named sim_time"),
            (["."], "found a folder"), (["--command=litmus", "seed=1"], "expected an axis tests"),
            (["--command=torture", "protocol=vi", "programs=x"], "expected a number")):
        status, out, err = sweep(*words)
        if status != 2 or out or message not in err or err.count("\n") != 1:
            wrong.append("%s: %d %s%s" % (words, status, out, err))
    ok(not wrong and set(os.listdir(".")) == before, "what_cannot_run_is_refused_in_one_sentence_before_anything_runs",
       *wrong)


# ---- Results ---------------------------------------------------------------------------------------------------------

def as_one_by_one():
    status, out, err = sweep(*kv, "count=16,32", "scope=workitem,kernel", "seed=1..2", "--output=each")
    wrong = [err] if status else []
    for row in rows("each.csv"):
        words = ["--%s=%s" % (k, row[k]) for k in ("batch", "slots", "group-size", "count", "scope", "seed")]
        report = json.loads(run("run", "kv", *words, "--output-format=json")[1])
        got = {k: v for k, v in row.items() if k in report["stats"]}
        if row["status"] != "ok" or len(got) < 50 or any(str(report["stats"][k]) != v for k, v in got.items()
                                                       if "." not in str(report["stats"][k])):
            wrong.append(row)
    ok(len(rows("each.csv")) == 8 and not wrong, "a_row_has_the_statistics_of_the_run_by_itself", *wrong)
    lines = [json.loads(line) for line in open("each.jsonl")]
    ok([(str(o["count"]), o["scope"], str(o["seed"]), str(o["sim_time"])) for o in lines]
       == [(r["count"], r["scope"], r["seed"], r["sim_time"]) for r in rows("each.csv")],
       "json_lines_have_the_rows_of_the_csv_with_numbers_as_numbers")


def order():
    words = kv + ["count=64,8,32,16", "seed=1..3"]
    for jobs in ("1", "5"):
        sweep(*words, "--jobs=" + jobs, "--output=jobs" + jobs)
    ok(all(read("jobs1" + end) == read("jobs5" + end) for end in (".csv", ".summary.csv")) and len(rows("jobs1.csv")) == 12,
       "the_number_of_jobs_changes_nothing_in_the_files")


def killed():
    words = kv + ["count=64", "preload=500", "seed=1..24", "--jobs=2"]
    sweep(*words, "--output=whole")
    kept = []
    for moment in range(2):
        process = subprocess.Popen([nvwave, "sweep"] + words + ["--output=killed"], stdout=subprocess.DEVNULL)
        begun, known = time.time(), read("killed.journal").count("\n") if moment else 0
        while time.time() - begun < 60 and process.poll() is None and (
                not os.path.exists("killed.journal") or read("killed.journal").count("\n") < known + 5):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept.append(read("killed.journal").count("\n") - 1)
    with open("killed.journal", "a") as f:  # as if a write had been cut
        f.write(read("killed.journal").splitlines()[1][:100])
    unfinished = not os.path.exists("killed.csv")
    status, out, err = sweep(*words, "--output=killed")
    again = int(re.search(r"(\d+) of them unchanged", out).group(1))
    all_known = "24 of them unchanged" in sweep(*words, "--output=killed")[1]
    ok(all_known and unfinished and status == 0 and read("killed.csv") == read("whole.csv") and 0 < kept[0] < kept[1] == again < 24,
       "a_sweep_that_was_killed_goes_on_and_ends_with_the_same_table", kept, out, err)


def locked():
    words = kv + ["count=8", "--output=locked"]
    with open("locked.journal", "a") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        status, _, err = sweep(*words)
        ok(status == 2 and "another sweep is using it" in err and not read("locked.journal"),
           "a_journal_in_use_is_refused", status, err)
        process = subprocess.Popen([nvwave, "sweep"] + words, stdout=subprocess.DEVNULL)
        time.sleep(0.3)
    ok(process.wait() == 0 and len(rows("locked.csv")) == 1, "a_lock_that_ends_within_two_seconds_is_waited_for")


def child_of(process):
    begun, child = time.time(), ""
    while time.time() - begun < 60 and not child:
        child = read("/proc/%d/task/%d/children" % (process.pid, process.pid)).strip()
    return child


def shards():
    """Three machines without Slurm, each with its journal: the tables of all together are those of one machine, rows that failed included."""
    words = kv + ["count=16,32", "limit=-,10ns", "scope=workitem,kernel", "seed=1..3", "--baseline=scope=workitem", "--jobs=2"]
    sweep(*words, "--output=unsharded", "--reports=one-reports")
    done = [sweep(*words, "--output=part", "--shard=%d/3" % i, "--reports=part-reports") for i in (1, 2, 3)]
    journals = ["part.%dof3.journal" % i for i in (3, 1, 2)]
    status, out, err = sweep(*words[:-1], "--output=merged", "--merge", *journals)
    ok([d[0] for d in done] == [1] * 3 and status == 1 and len(rows("merged.csv")) == 24 and "12 ok, 0 wrong, 12 without" in out
       and all(read("merged" + end) == read("unsharded" + end) for end in (".csv", ".summary.csv")) and len(rows("part.2of3.csv")) == 8
       and {n: len(read("part-reports/" + n)) > 0 for n in os.listdir("part-reports")} == {n: len(read("one-reports/" + n)) > 0 for n in os.listdir("one-reports")},
       "shards_together_have_the_tables_of_the_whole_sweep", done, out, err)
    wrong = []
    for more, message in ((["--merge", journals[0], journals[1]], "8 of 24 points are missing, the first is count=16 limit=- scope=workitem seed=2"),
                          (["--merge"], "expected the sweep, and behind it the journals"), (["--merge", "unsharded.csv"], "expected"),
                          (["--merge", *journals, journals[0]], "no result that is missing here"), (["--merge", "nothing.journal"], "No such file"),
                          (["nvram.write=1us", "--merge", *journals], "by the same program, machine and files"),
                          (["--shard=4/3"], "expected I/N"), (["--shard=25/30"], "there are 24 points, and none for this shard"),
                          (["--shard=1/3", "--merge", *journals], "--shard has no effect"), (["--merge", "--fresh", *journals], "--fresh has no effect")):
        status, out, err = sweep(*words[:-1], "--output=wrong", *more)
        if status != 2 or out or message not in err or err.count("\n") != 1:
            wrong.append((more, status, out, err))
    ok(not wrong and not [n for n in os.listdir(".") if n.startswith("wrong")], "shards_that_do_not_belong_together_are_refused", *wrong)
    listed = [line for i in (1, 2, 3) for line in sweep(*words[:-1], "--points", "--shard=%d/3" % i)[1].splitlines()]
    ok(sorted(listed) == sorted(sweep(*words[:-1], "--points")[1].splitlines()), "points_of_a_shard_can_be_listed", listed)


def children_die():
    process = subprocess.Popen([nvwave, "sweep"] + kv + ["count=%d" % long, "--jobs=1", "--output=orphan"])
    child, begun = child_of(process), time.time()
    process.kill()
    process.wait()
    while time.time() - begun < 2 and os.path.exists("/proc/" + child) and "Z" not in read("/proc/%s/stat" % child):
        time.sleep(0.01)
    ok(child and (not os.path.exists("/proc/" + child) or "Z" in read("/proc/%s/stat" % child)),
       "points_end_with_the_sweep", child)


def failures():
    status, out, err = sweep(*kv, "count=8,%d" % long, "--timeout=5s", "--output=late")
    late = [(r["status"], r["reason"]) for r in rows("late.csv")]
    ok(status == 1 and late == [("ok", ""), ("timeout", "it took longer than --timeout")],
       "a_point_that_takes_too_long_is_a_row", out, err, late)
    status, out, err = sweep(*kv, "mutate=-,publish-before-value", "count=64", "scope=workitem", "states=200",
                             "--command=crash", "--output=crash")
    crash = [(r["mutate"], r["status"], r["reason"]) for r in rows("crash.csv")]
    ok(status == 1 and [c[:2] for c in crash] == [("-", "ok"), ("publish-before-value", "wrong")] and not crash[0][2]
       and "not durable" in crash[1][2] and "1 ok, 1 wrong" in out, "an_inconsistency_is_a_row_with_its_first_finding", out, err, crash)
    process = subprocess.Popen([nvwave, "sweep"] + kv + ["count=%d,8" % long, "--jobs=1", "--output=died"],
                               stdout=subprocess.DEVNULL)
    os.kill(int(child_of(process)), signal.SIGKILL)
    status = process.wait()
    died = [(r["status"], r["reason"]) for r in rows("died.csv")]
    ok(status == 1 and died == [("died", "SIGKILL"), ("ok", "")], "a_point_that_dies_is_a_row_and_takes_nothing_along", died)


def unchanged():
    def known(*words):
        out = sweep(*words, "--output=cache", "--overwrite")[1]
        found = re.search(r"(\d+) of them unchanged, taken from cache.journal", out)
        return int(found.group(1)) if found else 0

    def keys(n):
        with open("keys", "w") as f:
            f.write("".join("%d\n" % (i * n + 1) for i in range(40)))

    def machine(write):
        with open("mine.ini", "w") as f:
            f.write("[nvram]\nwrite = %dns\n" % write)

    keys(3)
    machine(300)
    words = kv + ["keys=text:keys", "machine=./mine.ini", "seed=1,2"]
    seen = [known(*words), known(*words), known(*words[:-1], "seed=1..3")]
    before = read("cache.csv")
    keys(5)
    seen.append(known(*words))
    changed = read("cache.csv") != before
    machine(400)
    seen.append(known(*words))
    seen.append(known(*words, "--fresh"))
    ok(seen == [0, 2, 2, 0, 0, 0] and changed,
       "points_that_did_not_change_are_not_run_again_and_the_report_says_so", seen)
    status, out, err = sweep(*words, "--output=cache", "--overwrite")
    with open("cache.journal") as f:
        text = f.read()
    with open("cache.journal", "w") as f:
        f.write(re.sub(r'"sim_time":\d', '"sim_time":9', text))
    table = read("cache.csv")
    ok(known(*words) == 0 and read("cache.csv") == table, "a_damaged_result_is_not_used")


def mean(v):
    return sum(v) / len(v)


def interval(v):
    """Half of the 95 % confidence interval of the mean, by Student's t."""
    return {3: 4.303, 4: 3.182}[len(v)] * (sum((x - mean(v)) ** 2 for x in v) / (len(v) - 1) / len(v)) ** 0.5


def summary():
    sweep(*kv, "scope=workitem,kernel", "count=8,64", "seed=1..4", "--baseline=scope=workitem",
          "--metrics=sim_time,nvram.writes", "--output=sum")
    table, wrong = rows("sum.csv"), []

    def values(scope, n, metric):
        return sorted(float(r[metric]) for r in table if (r["scope"], r["count"]) == (scope, n))

    def median(v):
        return (v[1] + v[2]) / 2

    summaries = rows("sum.summary.csv")
    for r in summaries:
        mine, base = values(r["scope"], r["count"], r["metric"]), values("workitem", r["count"], r["metric"])
        ratio = mean(mine) / mean(base)
        expected = {"mean": mean(mine), "mean_confidence_95": interval(mine), "median": median(mine), "least": mine[0],
                    "most": mine[3], "ratio": ratio}
        if r["scope"] != "workitem":
            expected["ratio_confidence_95"] = ratio * ((interval(mine) / mean(mine)) ** 2 + (interval(base) / mean(base)) ** 2) ** 0.5
        elif r["ratio_confidence_95"]:
            wrong.append(r)
        if any(abs(float(r[k]) - e) > 1e-9 * e for k, e in expected.items()):
            wrong.append((r, expected))
    again = json.loads(sweep(*kv, "scope=workitem,kernel", "count=8,64", "seed=1..4", "--baseline=scope=workitem",
                             "--output=sum", "--output-format=json")[1])
    found = [m for m in again["geometric_means"] if m["points"] == "scope=kernel"][0]
    of = {(r["scope"], r["count"]): r for r in summaries if r["metric"] == "sim_time"}
    kernel = [of["kernel", n] for n in ("8", "64")]
    product = float(kernel[0]["ratio"]) * float(kernel[1]["ratio"])
    half = product ** 0.5 * sum((float(r["ratio_confidence_95"]) / float(r["ratio"])) ** 2 for r in kernel) ** 0.5 / 2
    out = sweep(*kv, "scope=workitem,kernel", "count=8,64", "seed=1..4", "--baseline=scope=workitem", "--output=sum", "--metrics=sim_time,nvram.writes")[1]
    ok(not wrong and len(summaries) == 8 and abs(found["geometric_mean"] - product ** 0.5) < 1e-9 and abs(found["confidence_95"] - half) < 1e-9
       and re.search(r"sim_time relative to scope=workitem: scope=kernel %.2f ± \d\.\d+ times, geometric mean of 2 " % product ** 0.5, out),
       "means_intervals_ratios_and_geometric_means_are_those_of_the_rows", wrong, found, product ** 0.5, half, out)


def reports():
    words = kv + ["count=16", "seed=1..3", "--reports=reports", "--output=rep"]
    sweep(*words)
    os.unlink("reports/000002.json")
    status, out, err = sweep(*words)
    ok(status == 0 and "2 of them unchanged" in out and [str(json.loads(read("reports/%06d.json" % i))["stats"]["sim_time"])
       for i in (1, 2, 3)] == [r["sim_time"] for r in rows("rep.csv")], "the_report_of_each_point_is_kept", out, err)


def other_commands():
    test = os.path.join(litmus_tests, "hrf.litmus")
    a = sweep("--command=litmus", "tests=" + test, "test=MP|SB", "protocol=vi", "--output=lit")
    b = sweep("--command=torture", "protocol=vi,gh", "programs=2", "seed=1..2", "--output=tor")
    torture = rows("tor.csv") if not b[0] else []
    ok(len(torture) == 4 and all(int(r["operations"]) > 0 and r["status"] == "ok" for r in torture) and a[0] in (0, 1)
       and len(rows("lit.csv")) == 2, "litmus_tests_and_torture_are_swept_too", a, b)


def kept_sweeps():
    wrong = []
    for name in sorted(os.listdir(sweeps)):
        if name.endswith(".ini"):
            text = read(os.path.join(sweeps, name))
            done = sweep(os.path.join(sweeps, name), *re.search(r"(?m)^; small: (.*)$", text).group(1).split())
            if done[0] not in (0, 1) or not rows(name[:-4] + ".csv"):
                wrong.append((name, done))
            for words in re.findall(r"(?m)^;   nvwave (plot .*)$", text) if shutil.which("gnuplot") else []:
                drawn = run(*shlex.split(words))
                if drawn[0] or not os.path.getsize(words.split()[-1]):
                    wrong.append((words, drawn))
    ok(not wrong, "the_sweeps_of_the_documentation_run_and_their_figures_are_drawn", *wrong)


def recovery():
    """All streams' logs are read once, and those of open epochs twice; a merged report has the most of its shards."""
    tree = ["btree", "preload=200", "count=32", "group-size=8"]
    words = ["crash"] + [w if w == "btree" else "--" + w for w in tree] + ["--states=200", "--cures=off", "--output-format=json"]
    run("run", *words[1:5], "--pool=tree.pool")
    pool = json.loads(run("inspect", "tree.pool", "--output-format=json")[1])
    reports = [json.loads(run(*words, *w)[1]) for w in ([], ["--shard=1/2"], ["--shard=2/2"], ["--states=200"])]
    for i in (1, 2):
        with open("shard%d" % i, "w") as f:
            json.dump(reports[i], f)
    whole, one, two = (r["recovery"] for r in reports[:3])
    merged = json.loads(run("crash", "--merge", "shard1", "shard2", "--output-format=json")[1])["recovery"]
    killed = json.loads(run("crash", *words[1:5], "--mode=kill", "--states=1", "--output-format=json")[1])
    swept = sweep("--command=crash", "workload=btree", *tree[1:], "states=200", "cures=off", "--metrics=recovery.epochs_open",
                  "--output=open")
    ok(whole["epochs_open"] > 1 and whole["words_written"] > whole["epochs_open"] and reports[3]["recovery"] == whole
       and whole["entries_read"] == (pool["streams"] + whole["epochs_open"]) * pool["log_entries"] and one != two
       and merged == {k: max(one[k], two[k]) for k in one} and killed["recovery"] is None
       and swept[0] == 0 and rows("open.csv")[0]["recovery.epochs_open"] == str(whole["epochs_open"]),
       "a_crash_test_tells_the_most_that_recovery_did", pool, whole, one, two, merged, killed["recovery"], swept)


def every_number():
    """Every number of a report, and of a workload, can be summarised."""
    wrong = []
    for name, words in (("metrics", kv + ["count=16"]), ("crash", kv + ["mutate=-,publish-before-value", "count=64",
                        "scope=workitem", "states=200", "--command=crash"]),
                        ("tor", ["--command=torture", "protocol=vi,gh", "programs=2", "seed=1..2"])):
        sweep(*words, "--output=" + name)
        numbers = [k for k, v in rows(name + ".csv")[0].items() if re.fullmatch(r"-?\d+(\.\d+)?", v or "")
                   and "=" + k not in " ".join(words) and k not in ("seed", "atomicity", "shard", "shards") + tuple(
                       w.split("=")[0] for w in words)]
        done = sweep(*words, "--output=" + name, "--metrics=" + ",".join(numbers))
        if done[0] == 2 or len(numbers) < 5 or {r["metric"] for r in rows(name + ".summary.csv")} != set(numbers):
            wrong.append((numbers, done))
    ok(not wrong and any(m.startswith("kv.") for m in (r["metric"] for r in rows("metrics.summary.csv"))),
       "every_number_of_a_report_can_be_a_metric", *wrong)


def other_tables():
    """A table is replaced only where no point of it is lost."""
    words, wrong = kv + ["--output=former"], []
    done = [sweep(*words, "count=8,16"), sweep(*words, "count=16,8,32")]
    before = read("former.csv")
    with open("users.csv", "w") as f:
        f.write("a,b\n1,2\n")
    for more, message in ((words + ["count=8,16"], "a point that this sweep lacks: kv 8 64 8 32"),
                          (words + ["count=8,16,32", "scope=kernel"], "fewer axes"), (["workload=kv", "count=8", "--output=former"], "an axis batch"),
                          (words + ["count=8,16,32", "--command=crash"], "another command than crash"),
                          (kv + ["count=8", "--output=users"], "users.csv: this is no table of a sweep")):
        status, out, err = sweep(*more)
        if status != 2 or message not in err or "--overwrite" not in err or err.count("\n") != 1:
            wrong.append((more, status, err))
    kept = read("former.csv") == before and read("users.csv") == "a,b\n1,2\n" and not os.path.exists("users.journal")
    done.append(sweep(*words, "count=8", "--overwrite"))
    ok(not wrong and kept and [d[0] for d in done] == [0, 0, 0] and len(rows("former.csv")) == 1,
       "a_sweep_does_not_replace_the_table_of_another_one", done, kept, *wrong)


def host_table():
    """What differs from one run to the next is in a table of its own: the others are equal, byte for byte."""
    for name in ("once", "twice"):
        sweep(*kv, "count=16", "seed=1..2", "--output=" + name)
    own = rows("once.host.csv")
    ok(all(read("once" + end) == read("twice" + end) for end in (".csv", ".jsonl", ".summary.csv"))
       and [list(r) for r in own] == [[w.split("=")[0] for w in kv] + ["count", "seed", "status", "host_seconds", "processor_seconds"]] * 2
       and all(float(r["host_seconds"]) > 0 and r["status"] == "ok" for r in own),
       "only_the_table_of_the_computer_differs_from_sweep_to_sweep", own)


def same_file():
    """Two outputs have two files, however they are written."""
    os.mkdir("sub")
    wrong = []
    for words in (["--log=one", "--series=./one"], ["--log=sub/../one", "--timeline=one.json", "--series=sub/../one.json"],
                  ["--pool=one", "--log=one"]):
        status, out, err = run("run", "kv", "--count=8", *words)
        if status != 2 or "name one file" not in err or err.count("\n") != 1 or out:
            wrong.append((words, status, out, err))
    os.rmdir("sub")
    fine = run("run", "kv", "--count=8", "--log=/dev/null", "--series=/dev/null")
    ok(not wrong and fine[0] == 0 and not os.path.exists("one") and not os.path.exists("one.json"),
       "two_outputs_to_one_file_are_refused", fine, *wrong)


def many_intervals():
    status, out, err = run("run", "kv", "--count=16", "--batch=8", "--slots=64", "--series=many.csv", "--interval=1ps")
    ok(status == 2 and "at most 100000 intervals, and the run is longer than 100ns" in err and not os.path.exists("many.csv")
       and not [f for f in os.listdir(".") if "many" in f], "a_table_of_intervals_has_an_end", status, out, err)


# ---- Figures -----------------------------------------------------------------------------------------------------------

def plot(*words, **more):
    return run("plot", *words, **more)


def refused_figures():
    wrong = []
    for name, text in (("short.csv", "a,b\n1,2\n3\n"), ("quote.csv", 'a,b\n"1"x,2\n'), ("empty.csv", ""),
                       ("head.csv", "a,b\n"), ("zero.csv", "a,b\n1,0\n"), ("dead.csv", "a,status,b\n1,died,\n"),
                       ("two.csv", "a,m,status,b\n1,x,ok,3\n1,y,ok,4\n"), ("good.csv", "a,b\n1,2\n"),
                       ("word.csv", "a,b\nx,2\n"),
                       ("wide.csv", "a,b" + "".join(",column-%d" % i for i in range(200)) + "\n1,2" + ",3" * 200 + "\n")):
        with open(name, "w") as f:
            f.write(text)
    before = set(os.listdir("."))
    for words, message in (
            (["short.csv"], "line 3 has 1 fields"), (["quote.csv"], "line 2 is not CSV"), (["empty.csv"], "no rows"),
            (["head.csv"], "no rows"), (["zero.csv", "--scale=log-y"], "not above 0"), (["dead.csv"], "none of the chosen"),
            (["two.csv"], "differ in m (x and y)"), (["nothing.csv"], "No such file"), (["."], "found a folder"),
            (["good.csv", "--series=c"], "no column c"), (["good.csv", "--series=nothing"], "no column nothing; it has a, b\n"), (["wide.csv", "--series=nothing"], ", column-34 and 165 more\n"), (["good.csv", "--baseline=b=2"], "--baseline"),
            (["good.csv", "--kind=heat"], "needs --series"),
            (["good.csv", "--kind=bars", "--scale=log-x"], "needs lines or points"), (["good.csv", "--series-label=c"], "needs --series"),
            (["good.csv", "--kind=points", "--series=a", "--baseline=a=1"], "no --baseline"), (["word.csv", "--kind=points"], "expected numbers"), (["good.csv", "--where=a=7"], "no row is left")):
        status, out, err = plot(*words, "--x=a", "--y=b", "-o", "f.svg")
        if status != 2 or message not in err or err.count("\n") != 1:
            wrong.append("%s: %d %s" % (words, status, err))
    for words, message in ((["-o", "f.gif"], "ends in .svg"), ([], "-o FILE is missing")):
        status, out, err = plot("good.csv", "--x=a", "--y=b", *words)
        if status != 2 or message not in err:
            wrong.append("%s: %d %s" % (words, status, err))
    for end in ("svg", "png", "pdf"):
        os.symlink("/dev/full", "full." + end)
        status, out, err = plot("good.csv", "--x=a", "--y=b", "-o", "full." + end)
        os.unlink("full." + end)
        if status != 2 or "full.%s: " % end not in err or err.count("\n") != 1:
            wrong.append(("a full disk", status, err))
    status, out, err = plot("good.csv", "--x=a", "--y=b", "-o", "f.svg", env=dict(os.environ, PATH="/nonexistent"))
    if status != 2 or "there is no gnuplot" not in err:
        wrong.append(err)
    ok(not wrong and set(os.listdir(".")) == before, "what_cannot_be_drawn_is_refused_in_one_sentence", *wrong)


def drawn():
    """The data in the script are the means of the table, and every kind and format is a picture of its kind."""
    wrong = []
    for kind in ("lines", "bars", "heat"):
        for end, magic in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
            status, out, err = plot("sum.csv", "--x=count", "--y=sim_time", "--series=scope", "--kind=" + kind, "-o",
                                    kind + end, "--keep-script")
            if status or not open(kind + end, "rb").read().startswith(magic):
                wrong.append((kind, end, status, err))
    script = read("lines.svg.gp")
    for scope, block in zip(("workitem", "kernel"), re.findall(r"<< EOD\n(.*?)EOD", script, re.S)):
        for line, n in zip(block.splitlines(), (8, 64)):
            v = sorted(float(r["sim_time"]) for r in rows("sum.csv") if (r["scope"], r["count"]) == (scope, str(n)))
            got = [float(w) for w in line.split()]
            if got[0] != n or any(abs(a * 1e6 - b) > 1e-6 * b for a, b in zip(got[1:], (mean(v), mean(v) - interval(v), mean(v) + interval(v)))):
                wrong.append((scope, n, got, v))
    plot("sum.csv", "--x=count", "--y=sim_time", "--series=scope", "--shows=median", "-o", "median.svg", "--keep-script")
    v = sorted(float(r["sim_time"]) / 1e6 for r in rows("sum.csv") if (r["scope"], r["count"]) == ("workitem", "8"))
    if "\n8 %.9g %.9g %.9g\n" % ((v[1] + v[2]) / 2, v[0], v[3]) not in read("median.svg.gp"):
        wrong.append(read("median.svg.gp"))
    ratio = [r for r in rows("sum.summary.csv") if (r["scope"], r["count"], r["metric"]) == ("kernel", "64", "sim_time")][0]
    r, half = float(ratio["ratio"]), float(ratio["ratio_confidence_95"])
    plot("sum.csv", "--x=count", "--y=sim_time", "--series=scope", "--baseline=scope=workitem", "-o", "ratio.svg", "--keep-script")
    if "\n64 %.9g %.9g %.9g\n" % (r, r - half, r + half) not in read("ratio.svg.gp") or "\n64 1 1 1\n" not in read("ratio.svg.gp"):
        wrong.append((ratio, read("ratio.svg.gp")))
    if "simulated time of the measured part (µs)" not in script:
        wrong.append(script)
    before = read("lines.svg")
    subprocess.run(["gnuplot", "-d", "lines.svg.gp"], check=True)
    with open("near.csv", "w") as f:
        f.write("a,b\n1,1\n60,2\n61,3\n62,4\n100,5\n")
    plot("near.csv", "--x=a", "--y=b", "--scale=log-x", "-o", "near.svg", "--keep-script")
    if "('1' 1, '60' 60, '' 61, '' 62, '100' 100)" not in read("near.svg.gp").replace('"', "'"):
        wrong.append(re.findall("set xtics.*", read("near.svg.gp")))
    ok(not wrong and read("lines.svg") == before, "figures_have_the_means_of_the_table_and_of_its_summary", *wrong)


def script_of(text, *words):
    """gnuplot's script for a table."""
    with open("t.csv", "w") as f:
        f.write(text)
    done = plot("t.csv", *words, "-o", "t.svg", "--keep-script")
    return read("t.svg.gp") if not done[0] else str(done)


def readable():
    """What a reader has to see: words and units, a gap where points failed, no series that covers another, names with room."""
    wrong = []
    crash = "count,status,recovery.epochs_open,recovery.words_written,states\n8,ok,1,20,3\n8,ok,1,30,4\n"
    for words, expected in (
            (["--x=recovery.epochs_open", "--y=recovery.words_written", "--series=count", "--kind=points"],
             ["xlabel 'epochs that the crash left open'", "ylabel '8-byte words written by recovery'", "\n1 20 ", "\n1 30\n"]),
            (["--x=count", "--y=states", "--y-label=numbers", "--x-label=keys"], ["xlabel 'keys'", "ylabel 'numbers'"])):
        text = script_of(crash, *words)
        wrong += [(part, text) for part in expected if part not in text]
    table = "".join("%d,%s,%s,%s\n" % (x, s, "died" if (x, s) == (2, "b") else "ok", "" if (x, s) == (2, "b") else 1000 * x + n)
                    for x in (1, 2, 3) for n, s in enumerate("abc"))
    text = script_of("x,s,status,sim_time\n" + table, "--x=x", "--y=sim_time", "--series=s")
    blocks = [b.splitlines() for b in re.findall(r"<< EOD\n(.*?)EOD", text, re.S)]
    at = [b[0].split()[0] for b in blocks]
    widths = [float(w) for w in re.findall(r" lw ([\d.]+) dt .* pt ", text)]
    if (blocks[1][1] != "" or len(blocks[0]) != 3 or "'×' at first 2," not in text or at != ["1"] * 3
            or len(widths) != 3 or not widths[0] > widths[1] > widths[2]):
        wrong.append(("gaps and places", at, widths, text))
    text = script_of("x,s,y\n" + "".join("%s,%s,%d\n" % (x, s, 100 + n) for x in ("one", "two") for n, s in enumerate("abc")), "--x=x", "--y=y",
                     "--series=s")
    at = [b.split()[0] for b in re.findall(r"<< EOD\n(.*?)EOD", text, re.S)]
    if len(set(at)) != 3 or at[1] != "0":
        wrong.append(("series over names stand beside each other", at, text))
    if script_of("\ufeffx,y\n1,2\n", "--x=x", "--y=y").count("\n1 2 2 2\n") != 1:
        wrong.append("a table with a byte-order mark")
    apart = script_of("x,s,y\n1,a,1\n1,b,9\n2,a,1\n2,b,9\n", "--x=x", "--y=y", "--series=s")
    if apart.count("\n1 ") != 2:
        wrong.append(("series that do not cover each other", apart))
    names = "".join("workload-of-many-letters-%d,%d\n" % (n, n) for n in range(12))
    for text, expected in ((names, "rotate by 35 right"), ("a-long-name,1\nanother-name,2\n" * 1, "'a-long-name' 0"),
                           ("\n".join("a-very-long-name-of-bars-%d,1" % n for n in range(4)) + "\n", "'a-very-long-'.\"\\n\".'name-of-bars-0' 0")):
        script = script_of("x,y\n" + text, "--x=x", "--y=y", "--kind=bars")
        if expected not in script:
            wrong.append((expected, script))
    ok(not wrong, "figures_can_be_read", *wrong)


def units():
    """Values with a unit stand at their numbers in a common unit; what doubles stands on a logarithmic axis."""
    wrong = []
    for values, unit, numbers, is_log in (
            ("1us 100ns 10us", "µs", "0.1 1 10", True), ("250ns 500ns", "ns", "250 500", False), ("4KiB 1KiB 2KiB", "KiB", "1 2 4", True),
            ("1GHz 800MHz 1.2GHz", "GHz", "0.8 1 1.2", False), ("12.8GB/s 25.6GB/s 51.2GB/s", "GB/s", "12.8 25.6 51.2", True),
            ("4cycles 5cycles 6cycles", "cycles", "4 5 6", False), ("16nJ 1265pJ", "nJ", "1.265 16", False), ("1 2 4 8", "", "1 2 4 8", True),
            ("0 1 2 4", "", "0 1 2 4", False), ("8 16", "", "8 16", False)):
        rows_of = "".join("%s,%d\n" % (v, n) for n, v in enumerate(values.split()))
        text = script_of("key,y\n" + rows_of, "--x=key", "--y=y")
        at = " ".join(line.split()[0] for line in re.search(r"<< EOD\n(.*?)EOD", text, re.S).group(1).splitlines())
        if at != numbers or "xlabel 'key%s'" % (" (%s)" % unit if unit else "") not in text or ("logscale x" in text) != is_log:
            wrong.append((values, at, text))
        if "logscale" in script_of("key,y\n" + rows_of, "--x=key", "--y=y", "--scale=linear"):
            wrong.append((values, "--scale=linear"))
    for values in ("100ns 4cycles", "64K 128K", "1us fast"):
        text = script_of("key,y\n" + "".join("%s,1\n" % v for v in values.split()), "--x=key", "--y=y")
        if "'%s' 0" % values.split()[0] not in text:
            wrong.append((values, text))
    text = script_of("x,s,y\n1,10us,1\n1,100ns,2\n1,1us,3\n", "--x=x", "--y=y", "--series=s")
    if re.findall(r"title '(\w+)'", text.split("plot ")[1]) != ["100ns", "1us", "10us"]:
        wrong.append(text)
    ok(not wrong, "values_with_units_are_numbers_on_an_axis", *wrong)


def words():
    """An axis is called as its option or key is described, where its values are numbers or the words go on from its name."""
    wrong = []
    for axis, values, workload, words_of, command in (
            ("preload", "10 20", "kv", "keys put before the measured operations", "run"), ("preload", "10 20", "btree", "keys bulk loaded before the measured operations", "run"),
            ("scope", "workitem kernel", "kv", "scope of the persist barriers", "run"), ("nvram.write", "100ns 1us", "kv", "nvram.write: latency (µs)", "run"),
            ("nvram.domain", "adr eadr", "kv", "nvram.domain", "run"), ("states", "10 20", "kv", "number of crash states to test", "crash"),
            ("group-size", "10 20", "stack", "work-items per work-group", "run"), ("preload", "10 20", "./other.so", "preload", "run")):
        script = script_of("workload,%s,status,reason,%s\n" % (axis, "states_tested" if command == "crash" else "sim_time") + "".join(
            "%s,%s,ok,,%d\n" % (workload, v, n) for n, v in enumerate(values.split())), "--x=" + axis, "--y=" + ("states_tested" if command == "crash" else "sim_time"))
        if "xlabel '%s'" % words_of not in script:
            wrong.append((axis, re.findall("set xlabel.*", script)))
    both = script_of("workload,preload,status,reason,sim_time\nkv,1,ok,,1\nbtree,2,ok,,1\n", "--x=preload", "--y=sim_time")
    if "xlabel 'preload'" not in both:
        wrong.append(both)
    ok(not wrong, "axes_have_the_words_of_their_options", *wrong)


def on_paper():
    """Size, font and palette; and what cannot be."""
    table, wrong = "x,s,y\n" + "".join("%d,%s,%d\n" % (x, s, x * 10 + n) for x in (1, 2, 3) for n, s in enumerate("abc")), []
    for words_of, expected in (
            (["--size=85mm"], ["size 321,241 font 'DejaVu Sans,10.67'", "key bottom"]), (["--size=178mm"], ["size 673,420 ", "key outside right"]),
            (["--size=3in"], ["size 288,216 "]), (["--size=85mmx50mm", "--font=Times,9"], ["size 321,189 font 'Times,12'"]), (["--font=Times"], ["font 'Times,15'"]),
            (["--palette=tol"], ["'#4477AA'", "'#EE6677'"]), (["--palette=grey"], ["'#666666'"]), ([], ["size 800,500 font 'DejaVu Sans,15'", "'#0072B2'"])):
        script = script_of(table, "--x=x", "--y=y", "--series=s", *words_of)
        wrong += [(words_of, part, script) for part in expected if part not in script]
    svg = read("t.svg")
    for words_of, message in ((["--size=85"], "--size"), (["--size=85mmx"], "--size"), (["--size=5mm"], "--size"), (["--size=85mmx60mmx"], "--size"),
                              (["--font=Times,99"], "--font"), (["--font=Ti'mes"], "--font"), (["--font=,8"], "--font"), (["--size=30mm", "--font=Times,40"], "room for"),
                              (["--palette=rainbow"], "--palette")):
        status, out, err = plot("t.csv", "--x=x", "--y=y", "--series=s", "-o", "t.svg", *words_of)
        if status != 2 or message not in err or err.count("\n") != 1 or read("t.svg") != svg:
            wrong.append((words_of, status, err))
    for end, magic in (("svg", 'width="321" height="241"'), ("png", "IHDR\x00\x00\x03\xec\x00\x00\x02\xf1"), ("pdf", "%PDF")):
        plot("t.csv", "--x=x", "--y=y", "--series=s", "--size=85mm", "-o", "paper." + end)
        if magic.encode("latin-1") not in open("paper." + end, "rb").read():
            wrong.append((end, open("paper." + end, "rb").read()[:300]))
    ok(not wrong, "figures_have_the_size_the_font_and_the_colours_of_a_paper", *wrong)


def reviewed():
    """Shares in per cent, tics of results on logarithmic axes, and a series that looks alike whatever is selected."""
    wrong = []
    table = "b,status,reason,part,whole\n" + "".join("%d,ok,,%d,%d\n" % (2 ** n, part, 50) for n, part in ((1, 10), (2, 30), (3, 49)) for _ in range(1))
    script = script_of(table, "--x=b", "--y=part", "--of=whole")
    data = re.search(r"<< EOD\n(.*?)EOD", script, re.S).group(1)
    if data != "2 20 20 20\n4 60 60 60\n8 98 98 98\n" or "set yrange [0:100]" not in script or "ylabel 'part (% of whole)'" not in script:
        wrong.append(script)
    script = script_of("b,status,reason,part,whole\n" + "".join("1,ok,,%d,50\n" % n for n in (40, 50, 50)), "--x=b", "--y=part", "--of=whole")
    if not re.search(r"\n1 93.33\d* 64\.\d+ 100\n", script):
        wrong.append(script)
    status, out, err = plot("zero.csv", "--x=a", "--y=a", "--of=b", "-o", "t.svg")
    if status != 2 or "a share needs more than 0" not in err:
        wrong.append((status, err))
    script = script_of("x,y\n" + "".join("%d,%d\n" % (x, 14 + x * 10) for x in (1, 2, 3, 7, 8, 9, 63, 64)), "--x=x", "--y=y", "--kind=points", "--scale=log")
    if "set xtics ('1' 1, '2' 2, '5' 5, '10' 10, '20' 20, '50' 50)" not in script or "set ytics ('20' 20, '50' 50, '100' 100, '200' 200, '500' 500, '1000' 1000)" not in script:
        wrong.append(re.findall("set [xy]tics.*", script))
    table = "x,s,k,status,y\n" + "".join("%d,%s,%s,ok,%d\n" % (x, s, k, n) for x in (1, 2) for n, s in enumerate("abc") for k in "pq" if s != "a" or k == "p")
    looks = [dict(re.findall(r"\$data\d using 1:2 with linespoints lc rgb '(#\w+)'.* title '(\w)'", script_of(table, "--x=x", "--y=y", "--series=s", "--where=k=" + k)))
             for k in "pq"]
    if len(looks[0]) != 3 or len(looks[1]) != 2 or any(looks[0][c] != name for c, name in looks[1].items()):
        wrong.append(looks)
    ok(not wrong, "figures_pass_a_reviewer", *wrong)


def named():
    """Every number of a report is in the list from which a figure has its words."""
    known = {s["name"] for s in json.loads(run("list", "stats", "--output-format=json")[1])}
    run("run", "kv", "--count=16", "--series=cu.csv", "--per=cu")
    run("run", "kv", "--count=16", "--series=group.csv", "--per=group")
    wrong = []
    for name in ("crash.csv", "lit.csv", "tor.csv", "open.csv", "cu.csv", "group.csv", "each.csv"):
        columns = open(name).readline().strip().split(",")
        for column in columns[columns.index("status") + 2 if "status" in columns else 0:]:
            values = [r[column] for r in rows(name) if r[column]]
            if (values and all(re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?", v) for v in values) and column not in known
                    and not column.startswith("kv.") and column not in ("seed", "atomicity", "shard", "shards")):
                wrong.append((name, column))
    ok(not wrong, "every_number_of_a_report_has_a_meaning_in_the_list", *wrong)


figures = [refused_figures, drawn, readable, units, words, on_paper, reviewed] if shutil.which("gnuplot") else []
tests = [points, refusals, as_one_by_one, order, killed, locked, shards, children_die, failures, unchanged, summary, reports, other_commands,
         kept_sweeps, recovery, named, every_number, other_tables, host_table, same_file, many_intervals] + figures
print("1..%d" % (len(tests) + 7))
for test in tests:
    test()
if not figures:
    print("# skipped: figures: there is no gnuplot")
