# SPDX-License-Identifier: BSD-3-Clause
"""What the Python tests say: TAP lines."""
import subprocess

count = 0  # of lines


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


def has_header(header):
    """Whether the C compiler finds it: a program that is not compiled without it has its library, or an error."""
    return subprocess.run(["cc", "-E", "-x", "c", "-o", "/dev/null", "-"], input="#include <%s>\n" % header, text=True,
                          capture_output=True).returncode == 0
