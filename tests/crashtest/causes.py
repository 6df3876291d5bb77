#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is the cause that a report names what the seeded bug took away?

Runs every mutation that has a row in its workload's table of lacks (workloads/*/mutations.c) in the mode that finds it, in
observed mode and over the permitted states of epoch persistency, and compares the cause of every finding with the row. One that is not
found in a mode says nothing there. Prints a line per finding, and the shares that are right: of findings, and of runs, where every
finding must be right. Exit status 1 if fewer than --least percent of the findings are right.
"""
import argparse, concurrent.futures, json, os, re, shutil, subprocess, sys

BARRIERS = ("no barrier", "barrier of too narrow a scope", "barrier that the other did not meet")
HEADING = re.compile(r"^[A-Za-z_][^;]*?\**([A-Za-z_]\w*)\(")


def function_at(tree, place):
    """The function that a "file:line" lies in."""
    file, _, line = place.rpartition(":")
    path = os.path.join(tree, file)
    if not line.isdigit() or not os.path.exists(path):
        return place
    name = place
    with open(path) as f:
        for number, text in enumerate(f, 1):
            if number > int(line):
                break
            found = HEADING.match(text)
            name = found.group(1) if found else name
    return name


def matches(lack, finding, tree):
    words = lack.split()
    cause = finding["cause"]
    scopes = [cause["needed"]] + [e["scope"] for e in finding.get("cure", {}).get("edits", [])]
    kind = cause["kind"]
    if words[0] == "none":
        return kind in ("unknown", "wrong without a crash", "wrong whatever was lost")
    lost, early = (function_at(tree, cause[side]) for side in ("lost", "early"))
    early = "ack" if early == "acknowledgement" else early
    if words[0] == "barrier":
        return (kind in BARRIERS and words[1] in scopes and lost in words[2].split("|") and
                (words[3] == "*" or early in words[3].split("|")))
    if words[0] == "exchange":
        is_early_ack = "was acknowledged before its stores were made" in cause["text"]
        return (kind == "stored in the wrong order" and lost in words[1].split("|") and
                ("ack" if is_early_ack else early) in words[2].split("|"))
    group = [function_at(tree, "%s:%d" % (s["file"], s["line"])) for s in cause.get("group", [])]
    return (kind == "stores that must be atomic" and len(group) > 0 and
            all(f in words[1].split("|") for f in group))


def sets(options, divisor):
    """What to run a mutation with: first a smaller run like its first one."""
    smaller = [re.sub(r"\b(count|preload)=(\d+)", lambda n: "%s=%d" % (n[1], int(n[2]) // divisor), options.split(";")[0])]
    return (smaller if divisor > 1 else []) + options.split(";")


def run(nvwave, tree, row, way, states, seed, divisor):
    """The findings of the first of the mutation's runs that has any: (right, text, cause, whether its cure is verified)."""
    if way in ("kill", "observed"):
        mode = ["--mode=" + way]
    else:
        mode = ["--mode=permitted", "--model=" + way]
    budget = [] if way == "kill" else ["--states=%d" % states]
    for options in sets(row["options"], divisor):
        command = [nvwave, "crash", row["workload"], "--mutate=" + row["name"], "--output-format=json"]
        command += mode + budget + ["--" + o for o in options.split()] + ["--seed=%d" % seed]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tree, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            return [(False, "no report", {"kind": "unknown", "text": done.stderr.strip()}, False)]
        report = json.loads(done.stdout)
        if report["findings"]:
            return [(any(matches(l, f, tree) for l in row["lacks"].split("; ")), f["text"],
                     f["cause"], bool(f.get("cure", {}).get("verified"))) for f in report["findings"]]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvwave", default=os.environ.get("NVWAVE", "nvwave"))
    parser.add_argument("--list", help="the command that lists the mutations, if it is another")
    parser.add_argument("--tree", default=os.getcwd(), help="the sources")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--states", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="take every Nth mutation only")
    parser.add_argument("--divisor", type=int, default=1, help="try an Nth of the operations first")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--only", default="", help="WORKLOAD or WORKLOAD/MUTATION")
    parser.add_argument("--own", action="store_true", help="only in the mode that finds a mutation")
    parser.add_argument("--tap", action="store_true", help="as a test of the suite")
    o = parser.parse_args()
    listed = subprocess.run([o.list or o.nvwave, "list", "mutations", "--output-format=json"],
                            stdout=subprocess.PIPE, check=True, text=True).stdout
    rows = [r for r in json.loads(listed) if r.get("lacks") and (r["workload"] + "/" + r["name"]).startswith(o.only)][::o.every]
    trials = [(r, way) for r in rows for way in dict.fromkeys((r["found_by"],) if o.own else (r["found_by"], "observed", "epoch"))]
    right = found = runs_right = runs = verified = misled = 0
    if o.tap:
        print("1..1")
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        results = pool.map(lambda t: run(shutil.which(o.nvwave) or o.nvwave, o.tree, t[0], t[1], o.states, o.seed, o.divisor), trials)
        for (row, way), findings in zip(trials, results):
            runs += bool(findings)
            runs_right += bool(findings) and all(f[0] for f in findings)
            for is_right, text, cause, is_verified in findings:
                found += 1
                right += is_right
                verified += is_verified
                misled += is_verified and not is_right
                print("%s%-6s %s/%s %s\n#\t%s\n#\t%s: %s" % ("# " if o.tap else "", "right" if is_right else "WRONG, VERIFIED" if is_verified else "WRONG",
                      row["workload"], row["name"], way, text, cause["kind"], cause["text"]))
                if not is_right:
                    print("#\tlacks: " + row["lacks"])
            sys.stdout.flush()
    share = 100.0 * right / found if found else 0.0
    print("# right: %d of %d findings (%.1f %%), %d of %d runs (%.1f %%)" % (right, found, share, runs_right, runs,
          100.0 * runs_right / runs if runs else 0.0))
    print("# verified: %d findings, %d of them wrong" % (verified, misled))
    fine = share >= o.least and misled == 0
    if o.tap:
        print("%s 1 - the cause of a seeded bug is what it took away" % ("ok" if fine else "not ok"))
    return 0 if fine or o.tap else 1


sys.exit(main())
