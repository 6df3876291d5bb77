#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_reproduce.py NVWAVE PAPERS [short]: published results, judged. short: also the short rows of PAPERS."""
import json
import os
import re
import shutil
import sys
import tempfile

import common
from common import ok, read, run, statistics

nvwave, papers = (os.path.abspath(p) for p in sys.argv[1:3])
folder = tempfile.TemporaryDirectory(prefix="nvwave-reproduce-")
os.chdir(folder.name)
common.nvwave = nvwave
kv = ["kv", "--batch=8", "--slots=64", "--group-size=8"]
sweep = """[axes]
row = small, large
batch = 8
slots = 64
group-size = 8
scope = workitem, kernel
write = fast, slow
seed = 1
[row small]
workload = kv
count = 16
keys = data:keys|uniform
[row large]
workload = kv
count = 48
[write fast]
nvram.write = 100ns
[write slow]
nvram.write = 2us
"""


def reproduce(*words, **more):
    return run("reproduce", "--papers=papers", *words, **more)


def write(name, text):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w") as f:
        f.write(text)


def row(name, paper, keys="", points="row=large scope=kernel write=slow", over="write=fast", form="percent",
        value="sim_time", figure=None):
    return ("[%s]\nwhat = a row\nin = figure 1\nunit = percent\npaper = %s\nsweep = s\npoints = %s\n%svalue = %s\nas = %s\n%s%s\n"
            % (name, paper, points, "over = %s\n" % over if over else "", value, form,
               "figure = %s\n" % figure if figure else "", keys))


def mean(values):
    return sum(values) / len(values)


def times(count, scope, latency):
    return [float(statistics("run", *kv, "--count=%d" % count, "--scope=" + scope, "--set=nvram.write=" + latency,
                             "--seed=%d" % seed)["sim_time"]) for seed in (1, 2, 3)]


slow, fast = times(48, "kernel", "2us"), times(48, "kernel", "100ns")
change = mean([100 * (a / b - 1) for a, b in zip(slow, fast)])
slower_small = mean([100 * (a / b - 1) for a, b in zip(times(16, "kernel", "2us"), times(16, "kernel", "100ns"))])


def judged(*words):
    status, out, err = reproduce(*words, "--output-format=json", "--output=out")
    return {o["row"]: o for o in json.loads(out)["rows"]} if status in (0, 1) else err


def verdicts():
    assert change > 0
    between = times(48, "kernel", "100ns")
    share = mean(slow) / 1000
    two = "row=large scope=kernel write=fast|slow"
    constant = "base = %g\n" % (mean(between) * 1.05)
    both = 100 * (mean([(a * b) ** 0.5 for a, b in zip(slow, fast)]) / (mean(between) * 1.05) - 1)
    write("papers/sweeps/s.ini", sweep)
    write("papers/p.ini", "[paper]\ntitle = A paper & <its> title\n"
          + row("X1", change * 1.4) + row("X2", change * 1.6) + row("X3", -change) + row("X4", "%g.." % (change / 10))
          + row("X5 small", change, keys="luck = two faults cancel\n", figure="A") + row("X5 large", change, figure="A")
          + row("X6", change, keys="incomparable = another thing is measured\n")
          + row("X7", "7", value="no.such")
          + row("X8", 100 / (1 + change / 100) - 100, form="speedup", over="write=slow",
                points="row=large scope=kernel write=fast").replace("speedup", "percent")
          + row("X9", share + 9, form="value", value="( sim_time + sim_time ) / 2000", over=None)
          + row("X10", 1, form="ratio", over="write=fast|slow", keys="mean = most", points="row=large scope=kernel write=fast")
          + "[X11]\nwhat = a row\nin = 1\ncannot = there is no such thing\n"
          + row("X12", share + 11, form="value", value="sim_time / 1000", over=None)
          + row("X13", both, points=two, keys=constant) + row("X14", both, points=two, keys=constant + "opposite = fast\n"))
    got = judged()
    expected = {"X1": "agrees", "X2": "disagrees", "X3": "disagrees", "X4": "agrees", "X5 small": "agrees by luck",
                "X5 large": "agrees", "X6": "not comparable", "X7": "cannot be judged", "X8": "agrees", "X9": "agrees",
                "X10": "agrees", "X11": "cannot be judged", "X12": "disagrees", "X13": "agrees by luck", "X14": "agrees"}
    wrong = [(name, verdict, got.get(name) if isinstance(got, dict) else got) for name, verdict in expected.items()
             if not isinstance(got, dict) or got[name]["judgement"] != verdict]
    if not wrong:
        wrong = [o for o in (got["X1"], got["X9"], got["X10"])
                 if abs(o["mean"] / {"X1": change, "X9": share, "X10": 1}[o["row"]] - 1) > 1e-9 or o["seeds"] != 3]
    ok(not wrong, "each_row_is_judged_by_the_first_rule_that_applies_to_what_its_points_report", *wrong)
    remarks = {"X2": "not within a third", "X3": "other sign", "X5 small": "two faults cancel", "X6": "another thing",
               "X7": "no.such", "X12": "not within 10 points", "X13": "rows of the mean have the other sign: fast"}
    wrong = [got[name] for name, part in remarks.items() if part not in got[name]["remark"]]
    ok(not wrong, "a_judgement_says_why", *wrong)
    page, text = read("out/index.html"), read("out/results.md")
    drawn = page.count("data:image/svg+xml") == 1 and os.path.exists("out/p-A.svg")
    ok(all(name in page and name in text for name in expected) and "A paper &amp; &lt;its&gt; title" in page
       and "there is no such thing" in text and (drawn or not shutil.which("gnuplot")),
       "pages_have_every_row_and_figure", page[:500], text)


def kept():
    seen = [reproduce("--keep", "--output=out")[0], reproduce("--output=out")[0]]
    before = read("papers/judgements.tsv")
    with open("papers/judgements.tsv", "w") as f:
        f.write(re.sub(r"(?m)^X3\t\tdisagrees", "X3\t\tagrees", before))
    status, out, err = reproduce("--output=out")
    seen.append(status)
    lost = "NO LONGER AGREES" in out and "1 rows that agreed no longer do" in out
    seen += [reproduce("X1", "--output=out")[0], reproduce("X3", "--keep", "--output=out")[0], reproduce("--output=out")[0]]
    ok(seen == [0, 0, 1, 0, 1, 0] and lost and read("papers/judgements.tsv") == before,
       "the_status_is_1_when_a_row_that_agreed_no_longer_does", seen, out, err, before, read("papers/judgements.tsv"))
    damaged = re.sub(r"(?m)^(X4\t.*)\t3\t", r"\1\t0\t", before)
    write("papers/judgements.tsv", damaged)
    done = reproduce("X1", "--keep", "--output=out")
    ok(damaged != before and done[0] == 0 and read("papers/judgements.tsv") == damaged, "a_kept_row_without_seeds_stays_as_it_is", done, damaged)
    write("papers/judgements.tsv", before)


def shown():
    """The pages of what is kept are those of the runs that it is kept of, tables too, and nothing is run for them."""
    table = "[table by size]\nwhat = t\nsweep = s\npoints = scope=kernel write=slow\nover = write=fast\nvalue = sim_time\nas = ratio\nrows = row\nmean = geometric\n"
    write("papers5/sweeps/s.ini", sweep)
    write("papers5/p.ini", row("K1", change, "ran = kv.operations\n") + row("K2", -change, "why = a sign\n") + row("K3", -change, "why = a sign\n")
          + "[K4]\nwhat = a row\nin = 1\ncannot = there is no such thing\n" + table)
    measured = run("reproduce", "--papers=papers5", "--output=out6", "--keep")
    kept_pages = [run("reproduce", "--papers=papers5", "--output=out7", "--kept"), read("out7/results.md"), read("out7/index.html")]
    pages = [read("out6/results.md"), re.sub(r"<p><img.*?</p>\n", "", read("out6/index.html"))]
    first = "%s (" % ("%+.1f" % change)
    ok(measured[0] == kept_pages[0][0] == 0 and kept_pages[1:] == pages and first in pages[0] and "| K2, K3 | a sign |" in pages[0]
       and "by size" in pages[1] and os.listdir("out7") != [] and not [f for f in os.listdir("out7") if f.endswith(".journal")],
       "what_is_kept_makes_the_pages_without_a_run", measured, *kept_pages, *pages)


def both_ends():
    """A free value that makes the difference vanish takes the sign away, and with it the agreement."""
    free = "what = the latency\nlow = 50ns\nsource = nobody\n"
    write("papers3/sweeps/s.ini", sweep)
    write("papers3/p.ini", row("E1", change) + row("E2", change)
          + "[sensitive nvram.write]\n%shigh = 100ns\nrows = E1\n[sensitive batch]\n%s" % (
              free, free.replace("50ns", "4") + "high = 8\nrows = E2\n"))
    where = ["--papers=papers3", "--output=out4", "--output-format=json"]
    ends = run("reproduce", "--papers=papers3", "--output=out4", "--sensitivity", "--keep")
    status, out, err = run("reproduce", *where)
    got = {o["row"]: o["judgement"] for o in json.loads(out)["rows"]} if status == 0 else err
    at = [line.split("\t") for line in read("papers3/ends.tsv").splitlines()[1:]] if ends[0] == 0 else [[""] * 8]
    ok(ends[0] == 0 and "+0.0 to +0.0 by the latency (50ns, 100ns)" in ends[1] and at[0][:5] == ["E1", "", "nvram.write", "50ns", "100ns"]
       and float(at[1][6]) > 0 and got == {"E1": "agrees by luck", "E2": "agrees"}
       and "<td>E1<td>+0.0 to +0.0<" in read("out4/index.html"),
       "a_row_whose_sign_a_free_value_decides_agrees_by_luck", ends, got, at)


def to_the_end():
    """--long adds to the sweeps of the papers that say what, and leaves the others' rows out."""
    write("papers4/sweeps/s.ini", sweep)
    write("papers4/p.ini", "[paper]\ntitle = t\nlong = count=30\n" + row("L1", change, keys="ran = kv.operations\n"))
    write("papers4/q.ini", row("L2", change))
    done = run("reproduce", "--papers=papers4", "--output=out5", "--long")
    refused = run("reproduce", "--papers=papers4", "--output=out5", "--long", "--keep")
    both = run("reproduce", "--papers=papers4", "--output=out5", "--long", "--sensitivity")
    seeds = [run("reproduce", "--papers=papers4", "--output=out5", "--seeds=2", alone) for alone in ("--long", "--sensitivity")]
    ok("--sensitivity has no effect with --long" in both[2] and all("--seeds has no effect" in s[2] and s[0] == 2 for s in seeds),
       "what_runs_with_one_seed_refuses_others", both, seeds)
    ok(done[0] == 0 and "L1" in done[1] and "L2" not in done[1] and "; seed 1\n" in done[1] and "--keep has no effect with --long" in refused[2]
       and "count=30" in " ".join(os.listdir("out5")), "long_runs_have_what_their_paper_adds_and_are_not_kept", done, refused, os.listdir("out5"))


def subsets():
    """A short row that moved is a fault, whatever it was called."""
    got = judged("X5", "X2")
    write("papers2/sweeps/s.ini", sweep)
    write("papers2/p.ini", row("Y1", 10, "short = yes", form="value", value="sim_time", over=None) + row("Y2", 20))
    write("papers2/judgements.tsv", "id\tpart\tjudgement\tmean\tleast\tmost\tseeds\tinputs\tversion\tremark\tran\nY1\t\tdisagrees\t1\t1\t1\t1\tgenerated\tv\t\t\n")
    moved = run("reproduce", "--papers=papers2", "--short", "--output=out2")
    kept_now = run("reproduce", "--papers=papers2", "--short", "--output=out2", "--keep")
    again = run("reproduce", "--papers=papers2", "--short", "--output=out2")
    ok(sorted(got) == ["X2", "X5 large", "X5 small"] and [moved[0], kept_now[0], again[0]] == [1, 1, 0] and "MOVED: 1 is kept" in moved[1]
       and "Y2" not in moved[1] and "MOVED" not in again[1], "a_short_row_that_moved_is_told", got, moved, again)


def inputs():
    """Judgements of other input files are not compared, and points of other content are run again."""
    write("papers/p.ini", row("Z", -change, points="row=small scope=kernel write=slow"))
    write("papers/judgements.tsv", "id\tpart\tjudgement\tmean\tleast\tmost\tseeds\tinputs\tversion\tremark\tran\nZ\t\tagrees\t1\t1\t1\t1\tfiles\tv\t\t\n")
    without = reproduce("--output=out3")
    write("data/keys", "x")
    refused = reproduce("--output=out3", "--data=data")
    ok(without[0] == 0 and "no longer" not in without[1] and refused[0] == 2 and "data/keys" in refused[2],
       "a_judgement_of_other_inputs_is_not_compared", without, refused)


def refusals():
    wrong = []
    good = row("X1", 5)
    for text, message in (
            (good + "colour = red\n", "has no key colour"), ("[X1]\nwhat = a\nin = b\n", "expected the key sweep"),
            (row("X1", "9..8"), "found \"9..8\""), (row("X1", "much"), "found \"much\""),
            (row("X1", 5, points="row=tiny"), "has no value tiny"), (row("X1", 5, points="rows=small"), "there is no axis rows"),
            (row("X1", 5, value="sim_time +"), "expected a formula"), (row("X1", 5, value="( sim_time"), "expected a formula"),
            (row("X1", 5, form="colour"), "none of its values"), (row("X1", 5, over=None), "needs over"),
            (good + "[sensitive batch]\nlow = 1\n", "[sensitive batch]: expected the key what"),
            (good.replace("sweep = s", "sweep = t"), "sweeps/t.ini"), ("x\n", "neither [section]"),
            (good + "[table t]\nwhat = x\nsweep = s\npoints = row=small\nvalue = sim_time\nas = value\nrows = r\n", "are axes of"),
            (good + "[table t]\nwhat = x\nsweep = wide\npoints = row=small\nvalue = sim_time\nas = value\nrows = row\ncolumns = batch\n",
             "at most 127 values, found 128")):
        write("bad/p.ini", text)
        write("bad/sweeps/s.ini", sweep)
        write("bad/sweeps/wide.ini", sweep.replace("batch = 8", "batch = 1..128"))
        status, out, err = run("reproduce", "--papers=bad", "--output=never")
        if status != 2 or out or message not in err or err.count("\n") != 1:
            wrong.append("%s: %d %s%s" % (text, status, out, err))
    for words, message in ((["X99"], "no row or paper X99"), (["Z", "--papers=nowhere"], "nowhere"),
                           (["Z", "--short"], "none of these rows"), (["--list", "--keep"], "--keep")):
        status, out, err = reproduce(*words, "--output=never") if "--list" not in words else reproduce(*words)
        if status != 2 or message not in err or err.count("\n") != 1:
            wrong.append("%s: %d %s" % (words, status, err))
    write("bad/p.ini", good)
    write("bad/judgements.tsv", "id\nX1\n")
    status, out, err = run("reproduce", "--papers=bad", "--list")
    if status != 2 or "judgements.tsv: line 1 has fewer" not in err:
        wrong.append((status, out, err))
    ok(not wrong and not os.path.exists("never"), "what_is_wrong_in_the_files_is_said_before_anything_runs", *wrong)


def shipped():
    """Every published result has a row, and every row's points are there."""
    status, out, err = run("reproduce", "--papers=" + papers, "--list", "--output-format=json")
    rows = json.loads(out)["rows"] if status == 0 else []
    ids = {o["row"].split()[0] for o in rows}
    expected = {"%s%d" % (c, i + 1) for c, n in (("G", 14), ("A", 17), ("S", 6), ("H", 11), ("T", 13)) for i in range(n)}
    unsaid = [o["row"] for o in rows if "cannot" not in o and o.get("why", "open") == "open" and o.get("kept") == "disagrees"]
    ok(status == 0 and ids == expected and not unsaid, "every_published_result_has_a_row_and_its_points", err,
       sorted(ids ^ expected), unsaid)


def document():
    """docs/results.md is the page of what is kept in papers/."""
    status, out, err = run("reproduce", "--papers=" + papers, "--kept", "--output=of-kept")
    ours = os.path.join(os.path.dirname(papers), "docs", "results.md")
    ok(status == 0 and read("of-kept/results.md") == read(ours),
       "the_page_among_the_documents_is_that_of_what_is_kept (nvwave reproduce --kept --output=FOLDER)", status, err)


def short():
    status, out, err = run("reproduce", "--papers=" + papers, "--short", "--output=short")
    judged_rows = re.findall(r"(?m)^([A-Z]\d+\S*( \S+)?) .* (agrees|disagrees)", out)
    ok(status == 0 and len(judged_rows) >= 9 and "cannot" not in out,
       "the_short_rows_are_where_they_were", out, err)


tests = [verdicts, kept, shown, both_ends, to_the_end, subsets, inputs, refusals, shipped, document] + ([short] if "short" in sys.argv[3:] else [])
for test in tests:
    test()
common.plan()
