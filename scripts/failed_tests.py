#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""failed_tests.py TESTLOG: names what failed in meson's testlog.json: each test, its failed subtests, and its last words."""
import json
import sys

with open(sys.argv[1]) as log:
    for line in log:
        test = json.loads(line)
        if test["result"] in ("OK", "SKIP", "EXPECTEDFAIL"):
            continue
        print("failed: %s: %s after %.0f s" % (test["name"], test["result"], test["duration"]))
        words = (test.get("stdout") or "").splitlines()
        for word in [w for w in words if w.startswith("not ok")] or words[-1:]:
            print("    " + word)
        for word in (test.get("stderr") or "").splitlines()[-8:]:
            print("    " + word)
