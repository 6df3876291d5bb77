#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_kept.py NVWAVE APPEND_LOG FOLDER: the files of tests/kept, written by the revisions that its folders name, are recovered and read as they were then;
and other versions of each format are refused by their number. --make writes FOLDER/kept.json."""
import hashlib
import json
import lzma
import os
import shutil
import sys
import tempfile

import common
from common import ok, plan, run

nvwave = common.nvwave = os.path.abspath(shutil.which(sys.argv[1]) or sys.argv[1])
append_log, kept = (os.path.abspath(name) for name in sys.argv[2:4])
scratch = tempfile.TemporaryDirectory(prefix="nvwave-kept-")
os.chdir(scratch.name)


def unpack(source):
    """Plain files of a folder of kept ones."""
    for name in os.listdir(source):
        with open(os.path.join(source, name), "rb") as f:
            data = f.read()
        with open(name[:-3] if name.endswith(".xz") else name, "wb") as f:
            f.write(lzma.decompress(data) if name.endswith(".xz") else data)


def bytes_of(name):
    with open(name, "rb") as f:
        return f.read()


def recovered(name):
    """Counts of the recovery, what the structure holds, and every byte of the run's pools afterwards."""
    status, out, err = run("recover", name, "--verify", "--output-format=json")
    if not out:
        return {"error": err}
    report = json.loads(out)
    about = json.loads(run("inspect", name, "--output-format=json")[1])
    files = [n for n in (name, name + ".1") if os.path.exists(n)]
    return {"status": status, **{k: report[k] for k in ("layout", "epochs_completed", "epochs_rolled_back", "words_restored", "blocks_freed",
                                                         "words_written", "words_written_again", "structure")},
            "contents": about.get("contents"), "sha256": hashlib.sha256(b"".join(bytes_of(n) for n in files)).hexdigest()}


def log(name):
    status, out, err = run("log", "dump", name, "--output-format=json")
    return [json.loads(line) for line in out.splitlines()] if status == 0 else [{"record": err}]


def durable(records, image):
    """What the log says that the medium held at its end: the host's writes and the completed ones."""
    writes = {}

    def put(off, data, mask=None):
        for i, byte in enumerate(bytes.fromhex(data)):
            if mask is None or mask >> i & 1:
                image[off + i] = byte

    for r in records:
        if r["record"] == "host":
            put(r["offset"], r["data"])
        elif r["record"] == "issue":
            writes[r["write"]] = r
        elif r["record"] == "done":
            w = writes.pop(r["write"])
            put(w["offset"], w["data"], int.from_bytes(bytes.fromhex(w["mask"]), "little"))
    return image


def counts(records):
    kinds = sorted({r["record"] for r in records})
    return {kind: sum(r["record"] == kind for r in records) for kind in kinds}


def look():
    """All that a revision has to say of the files."""
    crashed = bytes_of("btree")
    records = log("btree.log")
    same = durable(records, bytearray(len(crashed)))[8192:] == crashed[8192:]
    status, out, _ = run("replay", "btree.finding")
    explored = run("crash", "--store-log=append.log", "--image=append.log.image", "--check=" + append_log, "--output-format=json")
    report = json.loads(explored[1] or "{}")
    return {"btree.log": {"records": counts(records), "the pool's bytes": same}, "append.log": counts(log("append.log")),
            "append.log explored": [explored[0], report.get("verdict"), report.get("states_distinct")],
            "btree.finding": [status, out.split(" ")[0]], **{name: recovered(name) for name in ("btree", "kv", "tiered")}}


def newer_and_older(name, places, command):
    """The file with another number in its header is refused by it; another byte than that of the number is something else."""
    wrong = []
    whole = bytes_of(name)
    for version in (0, 2, 99):
        data = bytearray(whole)
        for at in places:
            data[at:at + 4] = version.to_bytes(4, "little")
        with open(name, "wb") as f:
            f.write(data)
        status, out, err = run(*command)
        if status != 2 or "version" not in err or "found" not in err or " %d" % version not in err or bytes_of(name) != data:
            wrong.append((name, version, status, out[-500:], err))
    with open(name, "wb") as f:
        f.write(whole)
    return wrong


if "--make" in sys.argv:
    unpack(kept)
    with open(os.path.join(kept, "kept.json"), "w") as f:
        json.dump(look(), f, indent=1)
        f.write("\n")
    sys.exit()

releases = sorted(n for n in os.listdir(kept) if os.path.isdir(os.path.join(kept, n)))
for release in releases:
    unpack(os.path.join(kept, release))
    expected = json.load(open("kept.json"))
    wrong = newer_and_older("kv", (8, 4096 + 8), ("recover", "kv")) + newer_and_older("btree.log", (8,), ("log", "dump", "btree.log"))
    wrong += newer_and_older("btree.finding", (8,), ("replay", "btree.finding"))
    ok(not wrong, "other_versions_than_those_of_%s_are_refused_by_their_number" % release, *wrong)
    found = look()
    for name in expected:
        ok(found.get(name) == expected[name], "%s_of_%s_is_read_as_it_was_then" % (name.replace(" ", "_"), release), expected[name], found.get(name))
    ok(found["btree.log"]["the pool's bytes"] and found["btree"]["epochs_rolled_back"] > 1, "the_log_of_%s_leads_to_the_bytes_of_its_pool" % release)
    # The comparison itself: a byte that recovery keeps is another one.
    unpack(os.path.join(kept, release))
    with open("kv", "r+b") as f:
        f.seek(8192 + 56)
        f.write(b"\1")
    changed = recovered("kv")
    ok(changed["sha256"] != expected["kv"]["sha256"] and changed["status"] == 0, "a_byte_of_%s_that_differs_is_noticed" % release, changed)
ok(bool(releases), "a_release_is_kept", kept)
plan()
