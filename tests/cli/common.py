# SPDX-License-Identifier: BSD-3-Clause
"""What the Python tests of the command share: running it, reading what it writes; TAP lines (../common/tap.py)."""
import csv
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import ok, plan

nvwave = None  # the command; a test sets it


def run(*words, **more):
    """The command with these words: exit status, standard output, standard error."""
    done = subprocess.run([nvwave] + list(words), capture_output=True, text=True, timeout=300, **more)
    return done.returncode, done.stdout, done.stderr


def statistics(*words):
    """Of a run that must succeed."""
    status, out, err = run(*words, "--output-format=json")
    assert status == 0, err
    return json.loads(out)["stats"]


def read(name):
    with open(name) as f:
        return f.read()


def rows(name):
    """Of a CSV file, each a dictionary."""
    with open(name) as f:
        return list(csv.DictReader(f))
