#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_report_index.py NVWAVE: the page of a folder of crash reports says what each found, and what has changed."""
import html
import json
import os
import re
import sys
import tempfile

import common
from common import ok, read, run

common.nvwave = os.path.abspath(sys.argv[1])
kv = ["crash", "kv", "--batch=4", "--slots=16", "--model=epoch"]


def write(name, text, time=None):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w") as f:
        f.write(text)
    if time:
        os.utime(name, (time, time))


def reports():
    """Of one structure before and after its bug, whose name is taken away: a mutation is another subject."""
    status, bad, _ = run(*kv, "--count=12", "--mutate=publish-before-value", "--output-format=json", "--html=bad.html")
    assert status == 1
    status, good, _ = run(*kv, "--count=8", "--output-format=json", "--html=good.html")
    assert status == 0
    return json.loads(bad), json.loads(good)


def cards():
    """The sections of the page, as text."""
    page = read("r/index.html")
    return [html.unescape(re.sub("<[^>]*>", " ", part)) for part in page.split("<section")[1:]]


def refused(folder, *words):
    """Of this folder nothing is written, and the message has these words."""
    before = sorted(os.listdir(folder)) if os.path.isdir(folder) else None
    status, out, err = run("report", folder)
    after = sorted(os.listdir(folder)) if os.path.isdir(folder) else None
    return status == 2 and not out and before == after and all(w in err for w in words) or (status, out, err)


def changes():
    bad, good = reports()
    name = bad["findings"][0]["text"]
    other = dict(good, workload="<b>other & more</b>")
    write("r/1.json", json.dumps(good), 1000000)
    write("r/2.json", json.dumps(dict(bad, mutation="")), 2000000)
    write("r/3.json", json.dumps([other]), 3000000)
    status, out, err = run("report", "r")
    ok(status == 1 and not err and len(cards()) == 3, "the_newest_report_that_fails_makes_the_exit_status_1", status, out, err)
    newest, middle, oldest = cards()
    ok("other & more" in newest and "3.json" in newest and "2.json" in middle and "1970-01-24" in middle and "1.json" in oldest,
       "reports_are_there_newest_first", newest, middle, oldest)
    ok("first report of this subject" in newest and "first report of this subject" in oldest
       and "new : " + name in middle and "the verdict was: CONSISTENT" in middle and "the coverage was: " in middle,
       "what_has_changed_since_the_last_of_the_subject_is_told", middle)
    write("r/4.json", json.dumps(good), 4000000)
    status, out, err = run("report", "r")
    ok(status == 0 and "gone : " + name in cards()[0] and "    gone: " + name in out, "what_is_gone_is_told", status, out, err)
    write("r/5.json", json.dumps(good), 5000000)
    status, out, err = run("report", "r", "--output-format=json")
    rows = json.loads(out)["reports"]
    ok("nothing has changed" in cards()[0] and rows[0]["changes"] == {"since": "4.json", "new": [], "gone": [], "verdict": "", "coverage": ""}
       and rows[1]["changes"]["gone"] == [f["text"] for f in bad["findings"]], "no_change_is_told_too", cards()[0], rows[0].get("changes"), rows[1].get("changes"), name)
    page = read("r/index.html")
    ok("<script" not in page and "<b>other" not in page, "the_page_has_no_scripts_and_no_text_as_tags")


def pages():
    os.mkdir("pages")
    os.rename("bad.html", "pages/bad.html")
    os.utime("pages/bad.html", (9, 9))
    os.rename("good.html", "pages/good.html")
    alone = run("report", "pages", "--output-format=json")[1]
    bad, good = reports()
    write("both/bad.json", json.dumps(bad), 9)
    write("both/good.json", json.dumps(good), 10)
    for name in ("bad", "good"):
        os.rename(name + ".html", "both/%s.html" % name)
    rows, both = (json.loads(text)["reports"] for text in (alone, run("report", "both", "--output-format=json")[1]))
    members = ("verdict", "workload", "states_failing", "instants", "mutation")
    same = [[r["report"][m] for m in members] + [f["text"] for f in r["report"]["findings"]] for r in rows]
    ok(same == [[r["report"][m] for m in members] + [f["text"] for f in r["report"]["findings"]] for r in both]
       and [r["page"] for r in both] == ["good.html", "bad.html"] == [r["page"] for r in rows],
       "a_page_alone_says_what_its_json_report_says", rows, both)


def refusals():
    wrong = [refused("nowhere", "nowhere"), refused("pages/bad.html", "pages/bad.html")]
    os.mkdir("empty")
    wrong.append(refused("empty", "empty: there is no report"))
    for text, words in (("{", "line 1"), ("{}", "it has no verdict"), ('{"verdict": "consistent"}', "it has no workload"),
                        ('{"verdict": "consistent", "workload": 1}', "it has no workload"), ("[1]", "it has no verdict")):
        write("bad/a.json", text)
        wrong.append(refused("bad", "bad/a.json: ", words))
    write("other/a.html", "<html></html>")
    wrong.append(refused("other", "other/a.html: not a page of nvwave crash"))
    write("torn/a.html", '<meta name="nvwave-report" content="{&quot;verdict&quot;">')
    wrong.append(refused("torn", "torn/a.html: its report is damaged"))
    ok(all(w is True for w in wrong), "what_is_no_report_is_named", *[w for w in wrong if w is not True])
    os.rename("both/good.json", "mine/good.json") if os.path.isdir("mine") else write("mine/good.json", read("both/good.json"))
    write("mine/index.html", "my own page")
    told = run("report", "mine")
    ok(told[0] == 2 and "mine/index.html" in told[2] and read("mine/index.html") == "my own page", "a_page_of_others_is_not_replaced", told)
    again = run("report", "r"), run("report", "r")
    ok(again[0] == again[1] and again[0][0] == 0, "its_own_page_is", again)


with tempfile.TemporaryDirectory(prefix="nvwave-index-") as folder:
    os.chdir(folder)
    changes()
    pages()
    refusals()
    os.chdir("/")
common.plan()
