# SPDX-License-Identifier: BSD-3-Clause
"""What the Python tests of the command share: running it, reading what it writes, TAP lines."""
import csv
import json
import subprocess

nvwave = None  # the command; a test sets it
count = 0  # of TAP lines


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


def ok(good, name, *notes):
    """A TAP line. Notes, cut to 2000 characters each, are printed of failures only."""
    global count
    count += 1
    for note in notes if not good else []:
        print("# " + str(note)[:2000].replace("\n", "\n# "))
    print("%s %d - %s" % ("ok" if good else "not ok", count, name), flush=True)


def plan():
    """The last line of a test whose number of TAP lines was not known before."""
    print("1..%d" % count)
