#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_recovery_reads.py NVWAVE: the bound of docs/recovery.md. Of a sparse pool recovery reads in proportion to what is used, neither to the size of the
pool nor to the length of its undo log. Counts, not times."""
import json
import os
import subprocess
import sys
import tempfile

import common
from common import ok, plan, run

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-reads-")
os.chdir(folder.name)

# Cut off while insertions of 127 work-groups are under way.
TREE = ["--count=8064", "--preload=4000", "--batch=8064", "--group-size=64", "--limit=150us"]


def make(size, *options):
    """The counts of a recovery, and the bytes that the pool's file had on the disk."""
    for name in ("pool", "copy", "dry"):
        if os.path.exists(name):
            os.remove(name)
    status, _, err = run("run", "btree", *options, "--pool=pool", "--pool-size=" + size)
    assert status == 0 or "--limit" in err, err
    # On tmpfs what was only looked at counts as written.
    subprocess.run("cp --sparse=always pool copy && cp --sparse=always pool dry", shell=True, check=True)
    used = os.stat("copy").st_blocks * 512
    status, out, err = run("recover", "copy", "--verify", "--output-format=json")
    assert status == 0, err
    report, dry = json.loads(out), json.loads(run("recover", "dry", "--dry-run", "--output-format=json")[1])
    assert dry["words_written"] == report["words_written"] and dry["words_restored"] == report["words_restored"], (report, dry)
    return report, used


def same_but_pages(a, b, pages):
    return abs(a["words_read"] - b["words_read"]) <= 512 * pages


small, small_used = make("32MiB", *TREE)
large, large_used = make("64GiB", *TREE)
ok(large["epochs_rolled_back"] > 100 and os.path.getsize("copy") == 64 << 30, "a_pool_of_64_GiB_with_over_100_open_epochs_is_recovered", large)
ok(same_but_pages(small, large, 4), "recovery_reads_as_much_of_a_pool_of_64_GiB_as_of_one_of_32_MiB", small, large)
ok(all(8 * r["words_read"] <= 3 * used for r, used in ((small, small_used), (large, large_used))),
   "recovery_reads_at_most_three_times_what_the_file_occupies", small, small_used, large, large_used)
status, _, err = run("damage", "copy", "--output=bad", "--copies=1", "--what=header", "--how=flip")
blocks = [os.stat(name).st_blocks for name in ("copy", "bad/000001-header-flip")]
ok(status == 0 and blocks[1] <= blocks[0] + 16, "copies_of_a_pool_have_its_holes", err, blocks)
unused = ["--limit=1ns", "--group-size=64"]
short, _ = make("8GiB", "--count=640", "--batch=640", *unused)
long, used = make("8GiB", "--count=64000", "--batch=64000", *unused)
ok(same_but_pages(short, long, 4) and 8 * long["words_read"] <= 3 * used, "recovery_does_not_read_entries_of_a_sparse_pool_that_were_never_written", short, long, used)
# A pool that has reserved its blocks is read whole: what its holes are depends on what is cached.
status, out, err = run("run", "btree", "--count=640", "--batch=640", *unused, "--pool=reserved")
report = json.loads(run("recover", "reserved", "--output-format=json")[1])
about = json.loads(run("inspect", "reserved", "--output-format=json")[1])
ok(report["entries_read"] == about["streams"] * about["log_entries"], "all_entries_of_a_pool_without_holes_are_read", report, about)
status, _, err = run("run", "kv", "--pool=tiny", "--pool-size=1MiB", "--count=10000")
ok(status == 2 and "needs at least" in err and not os.path.exists("tiny"), "a_size_that_does_not_hold_the_structure_is_refused", status, err)
plan()
