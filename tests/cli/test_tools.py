#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_tools.py NVWAVE PAGE QUEUE INCLUDE CC...: reports for other tools. SARIF by the rules of the standard for what is used of it, which are
written down in rules_of() with its sections, and by the published schema where SARIF_SCHEMA names a copy and python3-jsonschema is there; JUnit's
XML; the workflow of docs/ci.md. QUEUE is docs/tutorial/queue.c."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as xml

import common
from common import ok, plan, read, run

common.nvwave, page, queue, include = (os.path.abspath(p) for p in sys.argv[1:5])
cc = sys.argv[5:]
folder = tempfile.TemporaryDirectory(prefix="nvwave-tools-")
os.chdir(folder.name)


def rules_of(log):
    """What of the log breaks the standard."""
    wrong = []

    def check(good, what):
        if not good:
            wrong.append(what)

    def message(m, where):
        check(isinstance(m, dict) and isinstance(m.get("text"), str) and m["text"], "3.11 %s has no message" % where)

    def place(p, bases, where):
        uri = p["artifactLocation"]["uri"]
        check(not re.search(r"[\s\\<>\"{}|^`]", uri), "3.10 %s: no URI: %s" % (where, uri))
        relative = not re.match(r"[a-z]+:", uri)
        check(relative == ("uriBaseId" in p["artifactLocation"]), "3.4.4 %s: a relative name has a base: %s" % (where, uri))
        check(not relative or p["artifactLocation"]["uriBaseId"] in bases, "3.14.14 %s: the base is not known" % where)
        check("region" not in p or p["region"]["startLine"] >= 1, "3.30.5 %s: lines count from 1" % where)

    def location(at, bases, where):
        if "message" in at:
            message(at["message"], where)
        if "physicalLocation" in at:
            place(at["physicalLocation"], bases, where)
        for logical in at.get("logicalLocations", []):
            check(logical.get("name"), "3.33 %s: a function without a name" % where)

    check(log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json"), "3.13 version and schema")
    for r in log["runs"]:
        driver = r["tool"]["driver"]
        check(driver["name"] == "nvwave", "3.19.8 the tool's name")
        ids = [rule["id"] for rule in driver["rules"]]
        check(len(set(ids)) == len(ids), "3.19.23 rules are different")
        for rule in driver["rules"]:
            message(rule["shortDescription"], rule["id"])
        bases = r["originalUriBaseIds"]
        for b in bases.values():
            check(re.match(r"file:///", b["uri"]) and b["uri"].endswith("/"), "3.14.14 a base is absolute and ends with a slash: %s" % b)
        for i in r["invocations"]:
            check(isinstance(i["executionSuccessful"], bool), "3.20.14 whether the tool did its work")
        for n, result in enumerate(r["results"]):
            where = "result %d" % n
            message(result["message"], where)
            check(result["level"] in ("error", "warning", "note", "none"), "3.27.10 %s: level" % where)
            check(ids[result["ruleIndex"]] == result["ruleId"], "3.27.6 %s: index and identifier are of one rule" % where)
            check(all(isinstance(v, str) for v in result["partialFingerprints"].values()), "3.27.17 %s: fingerprints are texts" % where)
            for at in result["locations"]:
                location(at, bases, where)
            for flow in result.get("codeFlows", []):
                for thread in flow["threadFlows"]:
                    orders = [at["executionOrder"] for at in thread["locations"]]
                    check(orders and orders == sorted(orders), "3.38.11 %s: locations in their order" % where)
                    for at in thread["locations"]:
                        location(at["location"], bases, where)
            for fix in result.get("fixes", []):
                check(fix["artifactChanges"], "3.55.3 %s: a fix changes something" % where)
                message(fix["description"], where)
                for change in fix["artifactChanges"]:
                    place({"artifactLocation": change["artifactLocation"]}, bases, where)
                    for replacement in change["replacements"]:
                        deleted = replacement["deletedRegion"]
                        check((deleted["startLine"], deleted["startColumn"]) == (deleted["endLine"], deleted["endColumn"]), "3.57.3 %s: it inserts" % where)
                        check(replacement["insertedContent"]["text"].endswith("\n"), "3.57.4 %s: a whole line" % where)
    return wrong + of_schema(log)


def of_schema(log):
    schema = os.environ.get("SARIF_SCHEMA")
    if not schema:
        return []
    try:
        import jsonschema
    except ImportError:
        return ["SARIF_SCHEMA is given, but python3-jsonschema is missing"]
    return [e.message for e in jsonschema.Draft7Validator(json.loads(read(schema))).iter_errors(log)]


def crash(*words):
    status, out, err = run("crash", *words, "--output-format=sarif")
    return status, json.loads(out) if out else None, err


def results(log):
    return log["runs"][0]["results"]


def fingerprints(log):
    return sorted(r["partialFingerprints"]["nvwaveCause/v1"] for r in results(log))


def build(source="queue.c"):
    subprocess.run(cc + ["-g", "-shared", "-fPIC", "-std=gnu11", "-I" + include, source, "-o", "queue.so"], check=True)


def line_of(text, name="queue.c"):
    return next(i for i, line in enumerate(read(name).splitlines(), 1) if text in line)


bug = ["./queue.so", "--mutate=forget-barrier", "--states=500"]


def of_crash():
    shutil.copy(queue, "queue.c")
    build()
    status, log, err = crash(*bug)
    wrong = rules_of(log)
    ok(status == 1 and len(results(log)) == 1 and not wrong, "a_finding_is_a_result_by_the_standard", status, err, *wrong)
    one = results(log)[0]
    steps = [s["location"] for s in one["codeFlows"][0]["threadFlows"][0]["locations"]]
    lines = [s["physicalLocation"]["region"]["startLine"] for s in steps]
    store, number = line_of("nvw_store(&r->payload[i]"), line_of("nvw_store(&r->sequence, ticket + 1)")
    ok(one["ruleId"] == "missing-barrier" and one["locations"][0]["physicalLocation"]["region"]["startLine"] == store and lines == [store, number, number]
       and "missing" in steps[1]["message"]["text"], "its_flow_leads_from_the_lost_store_over_the_barrier_to_what_relies_on_it", lines, steps)
    return log


def fixed(log):
    """The fix, applied as an editor would."""
    text = read("queue.c").splitlines(keepends=True)
    for change in results(log)[0]["fixes"][0]["artifactChanges"]:
        assert change["artifactLocation"]["uri"] == "queue.c", change
        for r in change["replacements"]:
            text.insert(r["deletedRegion"]["startLine"] - 1, r["insertedContent"]["text"])
    with open("mended.c", "w") as f:
        f.write("".join(text))
    build("mended.c")
    status, log, err = crash(*bug)
    ok(status == 0 and not results(log) and not rules_of(log) and log["runs"][0]["properties"]["verdict"] in ("consistent", "not-refuted"),
       "its_fix_mends_the_source", status, err, log and results(log))


def stay(log):
    with open("queue.c") as f:
        text = f.read()
    with open("queue.c", "w") as f:
        f.write("/* more */\n" * 7 + text)
    build()
    moved = crash(*bug, "--seed=2")[1]
    before, after = results(log)[0]["locations"][0], results(moved)[0]["locations"][0]
    ok(fingerprints(moved) == fingerprints(log) and after["physicalLocation"]["region"]["startLine"] == before["physicalLocation"]["region"]["startLine"] + 7,
       "fingerprints_stay_when_lines_move_and_seeds_change", fingerprints(log), fingerprints(moved))
    others = [fingerprints(crash("kv", "--count=100", "--batch=20", "--slots=16", "--states=300", "--mutate=" + m)[1]) for m in ("publish-before-value", "ack-before-barrier")]
    ok(fingerprints(log) not in others and others[0] != others[1], "other_bugs_have_other_fingerprints", fingerprints(log), *others)


def of_names():
    os.mkdir("a folder")
    os.chdir("a folder")
    shutil.copy("../queue.c", "my queue.c")
    build("my queue.c")
    status, log, err = crash(*bug)
    uri = results(log)[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    ok(status == 1 and uri == "my%20queue.c" and not rules_of(log)
       and urllib.parse.unquote(log["runs"][0]["originalUriBaseIds"]["SRCROOT"]["uri"]) == "file://" + os.getcwd() + "/", "names_are_encoded", uri, *rules_of(log))
    os.chdir("..")


def of_junit():
    build()
    status, out, err = run("crash", *bug, "--output-format=junit")
    suite = xml.fromstring(out).find("testsuite")
    cases = suite.findall("testcase")
    failed = [c for c in cases if c.find("failure") is not None]
    ok(status == 1 and len(cases) == int(suite.get("tests")) == 2 and len(failed) == int(suite.get("failures")) == 2 and cases[0].get("name") == "verdict"
       and cases[1].get("name") == "missing-barrier at queue.c, append" and "queue.c:%d: this store is lost" % line_of("nvw_store(&r->payload[i]") in cases[1].find("failure").text,
       "junit_has_a_failing_case_for_each_finding", out, err)
    status, out, err = run("crash", "./queue.so", "--states=300", "--output-format=junit")
    suite = xml.fromstring(out).find("testsuite")
    ok(status == 0 and suite.get("tests") == "1" and suite.get("failures") == suite.get("errors") == "0", "junit_passes_where_nothing_fails", out, err)


def of_programs():
    status, _, err = run("exec", "--report=e.sarif", "--output-format=sarif", "--", "false")
    log = json.loads(read("e.sarif"))
    ok(status == 1 and [r["ruleId"] for r in results(log)] == ["program-failed"] and not rules_of(log), "a_program_that_fails_is_a_result", status, err, *rules_of(log))
    status, _, err = run("exec", "--report=e.xml", "--output-format=junit", "--", "true")
    ok(status == 0 and xml.fromstring(read("e.xml")).find("testsuite").get("failures") == "0", "one_that_does_not_fail_passes", status, err)


def refused():
    wrong = [w for w in ("--matrix", "--self-test", "--protocol=each", "--export-states=states") if run("crash", "kv", w, "--output-format=sarif")[0] != 2]
    merged = run("crash", "--merge", "a", "b", "--output-format=junit")
    ok(not wrong and merged[0] == 2 and "sarif or junit" in merged[2] and run("run", "kv", "--output-format=sarif")[0] == 2, "reports_that_have_no_findings_are_refused", *wrong, merged)


def workflow():
    """The steps of docs/ci.md that can be run here, with the page's own commands."""
    text = read(page)
    steps = re.findall(r"- name: (build|cut the power)\n +run: (.*)\n", text)
    jobs = re.findall(r"    - ((?:gcc|nvwave) .*)\n", text)
    shutil.copy(queue, "queue.c")

    def follow(commands):
        for command in commands:
            command = command.replace("$(pkg-config --cflags nvwave)", "-I" + shlex.quote(include))
            command = re.sub(r"^nvwave ", shlex.quote(common.nvwave) + " ", re.sub(r"^gcc ", shlex.join(cc) + " ", command))
            status = subprocess.run(command, shell=True).returncode
        return status

    good = follow([c for _, c in steps]), results(json.loads(read("crash.sarif")))
    with open("queue.c") as f:
        source = f.read()
    with open("queue.c", "w") as f:
        f.write(source.replace("if (!a->forget_barrier) {", "if (false) {"))
    bad = follow([c for _, c in steps]), results(json.loads(read("crash.sarif")))
    shown = follow(jobs), xml.fromstring(read("crash.xml")).find("testsuite").get("failures")
    ok(len(steps) == 2 and len(jobs) == 2 and good == (0, []) and bad[0] == 1 and bad[1][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "queue.c"
       and shown == (1, "2"), "the_workflow_of_the_page_passes_and_fails_as_it_says", good, bad, shown)


log = of_crash()
fixed(log)
stay(log)
of_names()
of_junit()
of_programs()
refused()
workflow()
plan()
