#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_host_files.py NVWAVE NVWAVE-CC files_subject.c HEADERS lmdb_subject.c: files that are written by system calls.

A log with bugs to plant; LMDB in each of its modes, where its library is installed; and short sequences of writes, mapped stores and syncs,
whose crash states are compared with a definition of what they may be, below.
"""
import itertools
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import has_header, ok, plan

NVWAVE, CC, SOURCE, HEADERS, LMDB = (os.path.abspath(a) for a in sys.argv[1:6])


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def crash(program, arguments, check, *options):
    return run(NVWAVE, "crash", "--exec=%s %s" % (program, arguments), "--image=pool", "--check=" + check, *options)


def write_synced(path):
    with open(path, "w") as f:
        f.write("import os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\nos.pwrite(fd, b'x' * 8, 0)\nos.fdatasync(fd)\n")


def test_room():
    """Files of at most so many bytes: the session's own have no room, or the record has none."""
    with open("much.py", "w", encoding="utf-8") as f:
        f.write("import os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\nfor _ in range(8):\n    os.pwrite(fd, b'x' * (4 << 20), 0)\n")
    with open("pool", "wb") as f:
        f.write(bytes(4096))
    before = set(os.listdir("."))
    for name, most, file in (("session", 1 << 16, r"nvwave-exec-[^/]*"), ("record", 30 << 20, "nvwave-exec-[^/]*/spool")):
        done = subprocess.run([NVWAVE, "crash", "--exec=%s much.py {}" % sys.executable, "--image=pool", "--check=true"], capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        text = done.stdout + done.stderr
        needed = re.search(r"%s/%s: [A-Z][a-z ]*: (\d+) bytes are needed; set TMPDIR to a folder" % (re.escape(os.getcwd()), file), text)
        ok(done.returncode == 2 and needed and int(needed[1]) > most and "UNDECIDED" not in text and set(os.listdir(".")) == before,
           "without_room_for_the_%s_the_file_and_the_bytes_are_named" % name, done.returncode, text, set(os.listdir(".")) - before)


def test_synced():
    write_synced("synced.py")
    status, text = run(NVWAVE, "crash", "--exec=%s synced.py {}" % sys.executable, "--image=pool", "--check=true", "--model=x86")
    ok(status == 0 and "never synced" not in text, "a_write_that_is_synced_has_no_note_under_x86", status, text)


# ---- A second definition -------------------------------------------------------------------------------

class Many(Exception):
    """More states than are worth their time."""


class Files:
    """What a crash may leave of one file, behind a page cache, on a disk with sectors of so many bytes.

    A slot is what the file has held since it was last cut to nothing. A sector of a slot has a list of contents, of which any may be on the disk;
    so has the file's size, each with the bytes that it uncovered and the number of contents that each sector had then.
    """

    def __init__(self, content, sector):
        self.sector = sector
        self.slot = 0
        self.size = len(content)
        self.sizes = [(0, self.size, None)]
        self.sectors = {}
        for i in range(0, len(content), sector):
            self.sectors[0, i // sector] = [(0, content[i:i + sector].ljust(sector, b"\0"))]
        self.clock = 0

    def put(self, off, data):
        """One store: those of a call to a sector are one."""
        for i in range(off // self.sector, (off + len(data) - 1) // self.sector + 1):
            versions = self.sectors.setdefault((self.slot, i), [(0, bytes(self.sector))])
            now = bytearray(versions[-1][1])
            for at in range(max(off, i * self.sector), min(off + len(data), (i + 1) * self.sector)):
                now[at - i * self.sector] = data[at - off]
            versions.append((self.clock, bytes(now)))

    def resize(self, slot, size):
        self.clock += 1
        uncovered = (self.size if slot == self.slot else 0, size)
        self.sizes.append((slot, size, (self.clock, uncovered) if uncovered[0] < size else None))
        self.slot, self.size = slot, size

    def write(self, off, data):
        end = off + len(data)
        begin = off
        while begin < end:  # page by page: the size may be any of theirs
            stop = min((begin // 4096 + 1) * 4096, end)
            self.clock += 1
            self.put(begin, data[begin - off:stop - off])
            if stop > self.size:
                self.resize(self.slot, stop)
            begin = stop

    def sync(self, first=0, pages=1 << 20):
        for (slot, i), versions in self.sectors.items():
            if slot == self.slot and first * 4096 <= i * self.sector < (first + pages) * 4096:
                del versions[:-1]
        del self.sizes[:-1]
        self.sizes[0] = self.sizes[0][:2] + (None,)

    def keeps(self, slot, grown, chosen):
        """Is what was written to uncover these bytes not lost?"""
        if grown is None:
            return True
        clock, (begin, end) = grown
        for i in range(begin // self.sector, (end - 1) // self.sector + 1):
            versions = self.sectors.get((slot, i))
            if versions is None:
                continue
            part = slice(max(begin - i * self.sector, 0), end - i * self.sector)
            for k in range(chosen[slot, i] + 1, len(versions)):
                if versions[k][0] < clock and versions[k][1][part] != versions[k - 1][1][part]:
                    return False
        return True

    def states(self, into):
        keys = sorted(k for k, v in self.sectors.items() if len(v) > 1)
        if math.prod(len(self.sectors[k]) for k in keys) > 2000:
            raise Many
        for choice in itertools.product(*(range(len(self.sectors[k])) for k in keys)):
            chosen = {k: 0 for k in self.sectors}
            chosen.update(zip(keys, choice))
            for slot, size, grown in self.sizes:
                if self.keeps(slot, grown, chosen):
                    content = bytearray(size)
                    for (of, i), versions in self.sectors.items():
                        if of == slot and i * self.sector < size:
                            content[i * self.sector:(i + 1) * self.sector] = versions[chosen[of, i]][1]
                    into.add(bytes(content[:size]))


def permitted(content, steps, sector):
    f = Files(content, sector)
    states = set()
    for step in steps:
        n = [int(x) for x in step[1:].split(",") if x]
        if step[0] in "wd":
            f.write(n[0], bytes([n[2]]) * n[1])
        elif step[0] == "m":
            f.clock += 1
            f.put(n[0], bytes([n[1]]) * 8)
        elif step[0] == "t":
            f.resize(f.slot + (n[0] == 0 and f.size > 0), n[0])
        f.states(states)
        if step[0] == "s":
            f.sync()
        elif step[0] == "y":
            f.sync(n[0], 1)
        elif step[0] == "d":
            f.sync(n[0] // 4096, (n[0] + n[1] - 1) // 4096 - n[0] // 4096 + 1)
    f.states(states)
    return states


def name(content):
    return "=" + "".join("%dx%d-" % (b, len(list(same))) for b, same in itertools.groupby(content))


def draw(r, mapped):
    """A sequence of steps, and the size of the file before."""
    begin = size = r.choice([600, 3000, 5000]) if mapped else r.choice([0, 100, 700, 4000])
    steps = []
    for i in range(r.randint(3, 7)):
        kind = r.choice("wwwdssmmmy" if mapped else "wwwwdsstt")
        byte = r.randint(1, 200)
        if kind in "wd":
            off = r.choice([0, 8, 300, 512, 1000, max(size - 20, 0), size, size + 100])
            n = r.choice([8, 20, 512, 600, 1100])
            size = max(size, off + n)
            steps.append("%s%d,%d,%d" % (kind, off, n, byte))
        elif kind == "m":
            steps.append("m%d,%d" % (r.randrange(0, size - 8) // 8 * 8, byte))
        elif kind == "y":
            steps.append("y%d" % r.randrange(0, (size + 4095) // 4096))
        elif kind == "t" and r.random() < 0.4:
            size = 0
            steps.append("t0")
        elif kind == "t":
            size += r.choice([10, 900])
            steps.append("t%d" % size)
        else:
            steps.append("s")
    return begin, steps


def compare(program, seed, sector):
    r = random.Random(seed)
    while True:
        begin, steps = draw(r, seed % 2 == 0)
        content = bytes([255]) * begin
        try:
            choices = permitted(content, steps, sector) if any(s[0] in "wdmt" for s in steps) else set()
        except Many:
            continue
        if 4 < len(choices) < 250:
            break
    with open("pool", "wb") as f:
        f.write(content)
    os.mkdir("seen")
    status, text = crash(program, "steps pool %s" % "/".join(steps), "%s see seen" % program, "--atomicity=%d" % sector, "--model=files")
    seen = set(os.listdir("seen"))
    for n in seen:
        os.unlink(os.path.join("seen", n))
    os.rmdir("seen")
    wanted = {name(c) for c in choices}
    return status == 0 and seen == wanted, (seed, begin, steps, len(wanted), sorted(wanted - seen)[:3], sorted(seen - wanted)[:3], text[-600:])


def test_steps(program):
    # 25, 41: a sync of a range makes a size durable, and not what was written to uncover it
    seeds = list(range(60)) if os.environ.get("EVERY_CASE") else [0, 1, 3, 4, 25, 41]
    for sector in (512, 4096, 64):
        results = [compare(program, seed, sector) for seed in (seeds if sector == 512 else seeds[::2])]
        wrong = [why for good, why in results if not good]
        ok(not wrong, "crash_states_are_those_of_the_definition_%d" % sector, wrong[:2])


# ---- The log ---------------------------------------------------------------------------------------------

def begin_pool():
    with open("pool", "wb") as f:
        f.write(b"\0" * 512)


def test_log(program):
    begin_pool()
    for mode, words in (("", ""), ("mapped", ""), ("dsync", ""),
                        ("no-data-sync", "a record counts and is not whole"), ("no-data-sync-dsync", "a record counts and is not whole"),
                        ("no-commit-sync", "an acknowledged record is lost"), ("mapped-unsynced", "an acknowledged record is lost")):
        status, text = crash(program, "run pool 3 " + mode, program + " check", "--states=3000")
        good = status == (1 if words else 0) and words in text and " under files:" in text and (words or text.startswith("CONSISTENT"))
        ok(good, "a_log_%s" % (mode.replace("-", "_") or "that_syncs"), status, text[:1500])
    status, text = crash(program, "run pool 2 no-data-sync", program + " check", "--states=3000")
    ok("files_subject.c:" in text and "takes a sync of its file" in text, "a_finding_names_the_write_and_the_sync", text[:1500])
    status, text = crash(program, "run pool 2", program + " check", "--states=300", "--model=x86")
    ok(status == 0 and " under x86:" in text, "the_same_on_persistent_memory", status, text[:800])
    status, text = crash(program, "run pool 3", program + " check", "--states=3000", "--model=files", "--atomicity=8")
    ok(status == 0, "sectors_may_be_torn", status, text[:800])


def test_records(program):
    begin_pool()
    status, text = run(NVWAVE, "exec", "--record=log", "--", program, "run", "pool", "2")
    ok(status == 0, "a_run_is_recorded", text)
    status, text = run(NVWAVE, "crash", "--store-log=log", "--image=log.image", "--check=%s check" % program)
    ok(status == 0 and " under files:" in text, "its_log_is_explored", text)
    status, text = run(NVWAVE, "log", "export", "log")
    ok(status == 2 and "a store log has no syncs" in text, "it_is_no_store_log_for_other_tools", status, text)
    begin_pool()
    status, text = run(NVWAVE, "crash", "--store-log=log", "--image=pool", "--check=%s check" % program)
    ok(status == 2 and "LOG.image" in text, "the_image_is_the_one_that_was_recorded", text)
    status, text = run(NVWAVE, "crash", "--store-log=log", "--image=log.image", "--check=%s check" % program, "--model=x86")
    ok(status == 2 and "under files" in text, "a_log_of_files_has_one_model", text)
    status, text = crash(program, "run pool 2 no-commit-sync", program + " check", "--states=500", "--save=found")
    status, again = run(NVWAVE, "replay", os.path.join("found", sorted(os.listdir("found"))[0]))
    ok(status == 1 and "an acknowledged record is lost" in again, "a_finding_is_repeated", status, again)
    with open("pool", "wb") as f:
        f.write(b"\1" * 3000)
    status, text = crash(program, "steps pool t1000/w2000,8,5", "true")
    ok(status == 2 and "UNDECIDED" in text and "shorter and then longer" in text, "a_file_cut_and_grown_is_undecided", text)
    status, text = crash(program, "steps pool w0,8,5/s/f600", "true")
    ok(status == 2 and "UNDECIDED" in text and "stdio" in text, "what_stdio_writes_is_undecided", status, text)
    status, text = crash(program, "steps pool w0,8,5/s/a", "true")
    ok(status == 2 and text.startswith("UNDECIDED") and "was ended by signal 6 (Aborted)" in text, "what_a_signal_ends_is_undecided", text)
    status, text = run(NVWAVE, "crash", "--exec=sh -c '%s steps pool w0,8,5/s/a; true'" % program, "--image=pool", "--check=true")
    ok(status == 0 and "signal" not in text.splitlines()[0], "a_shell_says_that_the_signal_is_expected", status, text)
    for steps in ("o/w0,8,5/s", "w0,8,5/o/w0,8,5/s"):
        status, text = crash(program, "steps pool " + steps, "true")
        ok(status == 2 and "UNDECIDED" in text, "a_file_that_open_cuts_is_undecided", steps, status, text)


# ---- Large files -----------------------------------------------------------------------------------------

def test_holes(program):
    """A file of 16 GiB with hardly any data: what is copied and held depends on what is stored, not on the size."""
    for model in ("files", "x86"):
        with open("pool", "wb") as f:
            f.truncate(16 << 30)
        with open("blocks", "w"):
            pass
        words = [NVWAVE, "crash", "--exec=%s steps pool w0,8,5/w8589934592,8,6/s/w17179869000,8,7/s" % program, "--image=pool",
                 "--check=sh -c 'stat -c %b {} >> blocks'", "--model=" + model]
        with open("text", "w") as text:
            crashed = subprocess.Popen(words, stdout=text, stderr=text)
            _, status, used = os.wait4(crashed.pid, 0)
            crashed.returncode = status
        with open("text") as text, open("blocks") as blocks:
            shown, of_states = text.read(), [int(b) for b in blocks]
        ok(status == 0 and "5 distinct states" in shown, "a_file_of_16_gib_" + model, status, shown[:1500])
        ok(len(of_states) > 4 and max(of_states) <= 8 * 4, "holes_stay_holes_" + model, of_states)
        ok(used.ru_maxrss < 256 << 10, "holes_take_no_memory_" + model, used.ru_maxrss)
    status, text = crash(program, "steps pool w0,8,5", "true", "--save=found-16")
    ok(status == 2 and "a finding has the whole image" in text, "a_large_image_is_not_saved", status, text)
    os.unlink("pool")


# ---- LMDB ------------------------------------------------------------------------------------------------

# Each expectation stands on what lmdb.h says of the mode.
LMDB_MODES = (
    ("default", None),  # of the modes below alone it says that a system crash loses something
    ("writemap", None),
    # MDB_NOMETASYNC: "maintains database integrity, but a system crash may undo the last committed transaction"
    ("nometasync", {"the last acknowledged transaction is lost"}),
    # MDB_NOSYNC: "a system crash can corrupt the database or lose the last transactions if buffers are not yet flushed to disk"
    ("nosync", {"corrupt"}),
    # MDB_MAPASYNC: "As with MDB_NOSYNC, a system crash can then corrupt the database or lose the last transactions."
    ("writemap-mapasync", {"corrupt"}),
)


def test_lmdb():
    if not has_header("lmdb.h"):
        ok(True, "lmdb # SKIP liblmdb-dev is not installed")
        return
    built, text = run("cc", "-g", "-O1", "-I" + HEADERS, "-o", "lmdb_subject", LMDB, "-llmdb")
    ok(built == 0, "lmdb_subject_is_compiled", text)
    program = os.path.abspath("lmdb_subject")
    for mode, expected in LMDB_MODES:
        for path in ("pool", "pool-lock"):
            if os.path.exists(path):
                os.unlink(path)
        run(program, "run", "pool", "0", "default")
        status, text = crash(program, "run pool 4 " + mode, program + " check", "--states=%d" % (1500 if os.environ.get("EVERY_CASE") else 500), "--model=files")
        found = set(re.findall(r"^ *\d+  (.*)$", text, re.M))
        if expected is None:
            good = status == 0
        elif expected == {"corrupt"}:
            good = status == 1 and any("transaction is lost" not in f for f in found)
        else:
            good = status == 1 and found == expected
        ok(good, "lmdb_%s" % mode.replace("-", "_"), status, text[:1500])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["TMPDIR"] = folder
    subprocess.run([CC, "cc", "-O1", "-g", "-I" + HEADERS, "-o", "files_subject", SOURCE], check=True)
    subject = os.path.abspath("files_subject")
    test_log(subject)
    test_records(subject)
    test_steps(subject)
    test_holes(subject)
    test_lmdb()
    test_room()
    test_synced()
    os.chdir("/")
plan()
