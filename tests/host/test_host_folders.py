#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_host_folders.py NVWAVE HEADERS SOURCES: programs whose image is a folder.

Short sequences of steps that create, write, rename, link, unlink and sync files, whose crash states are compared with a definition of what
they may be, below; and SQLite in its modes, where its library is installed.
"""
import itertools
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import has_header, ok, plan

NVWAVE, HEADERS, SOURCES = (os.path.abspath(a) for a in sys.argv[1:4])
SECTOR = 512
EVERY = os.environ.get("EVERY_CASE")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def crash(exec_, check, *options):
    return run(NVWAVE, "crash", "--exec=" + exec_, "--image=image", "--check=" + check, *options)


def begin_image(files=()):
    shutil.rmtree("image", ignore_errors=True)
    os.mkdir("image")
    for name, content in files:
        with open(os.path.join("image", name), "wb") as f:
            f.write(content)


# ---- A second definition -------------------------------------------------------------------------------

class Many(Exception):
    """More states than are worth their time."""


class Folder:
    """What a crash may leave of files with names, under ext4 (data=ordered) or by what POSIX promises.

    The disk has, of each of these, one version from the first that may be on it to the last: the names (under ext4 all together, else each alone), the
    size of each file, and each sector. A rule (x, i, y, k) says that x has version i or a later one only if y has version k or a later one.
    """

    def __init__(self, files, ordered):
        self.ordered = ordered
        self.versions = {}  # of x, a list
        self.least = {}  # of x, the first that may be on the disk
        self.rules = []
        self.files = 0
        self.size, self.now, self.cuts = {}, {}, []
        self.clock = 0
        if ordered:
            self.add("names", {})
        for name, content in files:
            f = self.file(content)
            self.now[name] = f
            self.give({name: f})
        self.rules, self.cuts = [], []
        for x in self.versions:
            del self.versions[x][:-1]

    def add(self, x, version):
        self.versions.setdefault(x, []).append(version)
        self.least.setdefault(x, 0)

    def last(self, x):
        return len(self.versions[x]) - 1

    def file(self, content=b""):
        f = self.files = self.files + 1
        self.size[f] = (0, len(content))  # its slot, and its bytes
        self.add(("size", f), (0, len(content), None))
        for i in range(0, len(content), SECTOR):
            self.add((f, 0, i // SECTOR), (0, content[i:i + SECTOR].ljust(SECTOR, b"\0")))
        return f

    def rule(self, x, y, k=None):
        if y in self.versions and x != y:
            self.rules.append((x, self.last(x), y, self.last(y) if k is None else k))

    def in_journal(self, x):
        if self.ordered:
            self.rule(x, "names")
            for y, k in self.cuts:
                self.rule(x, y, k)

    def give(self, changes):
        """One call: names and the files that have them from now on, "folder", or the text of a link."""
        if not self.ordered:
            for name, f in changes.items():
                if ("name", name) not in self.versions:
                    self.add(("name", name), None)
                self.add(("name", name), f)
            return
        before = self.versions["names"][-1]
        self.add("names", {**before, **changes})
        self.in_journal("names")
        for name, f in changes.items():
            if f is not None and before.get(name) is not None:
                self.rule("names", ("size", f))

    def resize(self, f, slot, size):
        self.clock += 1
        before = self.size[f]
        begin = before[1] if slot == before[0] else 0
        grown = (self.clock, begin, size) if size > begin and self.ordered else None
        self.add(("size", f), (slot, size, grown))
        self.size[f] = (slot, size)
        self.in_journal(("size", f))
        if slot != before[0] or size < before[1]:
            self.cuts.append((("size", f), self.last(("size", f))))

    def write(self, f, off, data):
        slot, end = self.size[f][0], off + len(data)
        while off < end:  # page by page
            stop = min((off // 4096 + 1) * 4096, end)
            self.clock += 1
            for i in range(off // SECTOR, (stop - 1) // SECTOR + 1):
                x = (f, slot, i)
                if x not in self.versions:
                    self.add(x, (0, bytes(SECTOR)))
                now = bytearray(self.versions[x][-1][1])
                for at in range(max(off, i * SECTOR), min(stop, (i + 1) * SECTOR)):
                    now[at - i * SECTOR] = data[at - end + len(data)]
                self.add(x, (self.clock, bytes(now)))
            if stop > self.size[f][1]:
                self.resize(f, slot, stop)
            off = stop

    def text(self, f, n):
        """The first bytes of a file, as a program reads them."""
        return self.content(f, {x: self.last(x) for x in self.versions})[:n]

    def settle(self, x, k):
        """From now on the disk has version k of it, or a later one."""
        if k <= self.least[x]:
            return
        before, self.least[x] = self.least[x], k
        for a, i, y, j in self.rules:
            if a == x and before < i <= k:
                self.settle(y, j)
        if x[0] == "size":
            for slot, size, grown in self.versions[x][before + 1:k + 1]:
                if grown is not None:
                    self.settle_bytes(x[1], slot, grown)

    def settle_bytes(self, f, slot, grown):
        for i in range(grown[1] // SECTOR, (grown[2] - 1) // SECTOR + 1):
            versions = self.versions.get((f, slot, i), [])
            written = [k for k in range(len(versions)) if versions[k][0] < grown[0]]
            if written:
                self.settle((f, slot, i), written[-1])

    def sync(self, f):
        for x in list(self.versions):
            if len(x) == 3 and x[0] == f and x[1] == self.size[f][0] and isinstance(x[0], int):
                self.settle(x, self.last(x))
        self.settle(("size", f), self.last(("size", f)))
        for k in range(self.last("names") if self.ordered else 0, 0, -1):
            before, now = self.versions["names"][k - 1:k + 1]
            if any((before.get(n) == f) != (now.get(n) == f) for n in {**before, **now}):
                self.settle("names", k)
                break

    def sync_folder(self, folder):
        for x in list(self.versions):
            if x == "names" or (x[0] == "name" and os.path.dirname(x[1]) == folder):
                self.settle(x, self.last(x))

    def keeps(self, chosen):
        for x, i, y, j in self.rules:
            if chosen[x] >= i and chosen[y] < j:
                return False
        for x, versions in self.versions.items():
            if x[0] == "size" and chosen[x] > self.least[x] and versions[chosen[x]][2] is not None:
                slot, _, (clock, begin, end) = versions[chosen[x]]
                for i in range(begin // SECTOR, (end - 1) // SECTOR + 1):
                    of = self.versions.get((x[1], slot, i), [])
                    part = slice(max(begin - i * SECTOR, 0), end - i * SECTOR)
                    for k in range(chosen.get((x[1], slot, i), 0) + 1, len(of)):
                        if of[k][0] < clock and of[k][1][part] != of[k - 1][1][part]:
                            return False
        return True

    def content(self, f, chosen):
        slot, size, _ = self.versions["size", f][chosen["size", f]]
        content = bytearray(size)
        for x, versions in self.versions.items():
            if len(x) == 3 and x[:2] == (f, slot) and x[2] * SECTOR < size:
                content[x[2] * SECTOR:(x[2] + 1) * SECTOR] = versions[chosen[x]][1]
        return bytes(content[:size])

    def states(self, into):
        keys = list(self.versions)
        if math.prod(len(self.versions[k]) - self.least[k] for k in keys) > 6000:
            raise Many
        for choice in itertools.product(*(range(self.least[k], len(self.versions[k])) for k in keys)):
            chosen = dict(zip(keys, choice))
            if not self.keeps(chosen):
                continue
            if self.ordered:
                names = self.versions["names"][chosen["names"]]
            else:
                names = {x[1]: v[chosen[x]] for x, v in self.versions.items() if x[0] == "name"}
            into.add("=" + "".join("%s=%s," % (n.replace("/", ":"), self.text_of(names[n], chosen)) for n in sorted(names)
                                   if names[n] is not None and is_reached(n, names)))

    def text_of(self, thing, chosen):
        return text_of(self.content(thing, chosen)) if isinstance(thing, int) else thing


def is_reached(name, names):
    """A name is lost with its folder's."""
    folder = os.path.dirname(name)
    return folder == "" or (names.get(folder) == "folder" and is_reached(folder, names))


def text_of(content):
    return "".join("%dx%d-" % (b, len(list(same))) for b, same in itertools.groupby(content))


def permitted(files, steps, ordered):
    d = Folder(files, ordered)
    states = set()
    for step in steps:
        a, *rest = step[1:].replace(":", "/").split(",")
        f = d.now.get(a) if a else None
        d.states(states)
        if step[0] == "c":
            d.now[a] = d.file()
            d.give({a: d.now[a]})
        elif step[0] == "w":
            off, n, byte = map(int, rest)
            d.write(f, off, bytes([byte]) * n)
        elif step[0] in "pk":
            data = d.text(f, 10 if step[0] == "p" else 600)
            d.write(d.now[rest[0]], int(rest[1]) if rest[1:] else 0, data)
        elif step[0] in "to" and d.size[f][1] > 0:
            d.resize(f, d.size[f][0] + 1, 0)
        elif step[0] == "s":
            d.sync(f)
        elif step[0] == "D":
            d.sync_folder(a)
        elif step[0] in "my":
            d.now[a] = "folder" if step[0] == "m" else "to " + rest[0]
            d.give({a: d.now[a]})
        elif step[0] in "uv":
            del d.now[a]
            d.give({a: None})
        elif step[0] == "l":
            d.now[rest[0]] = f
            d.give({rest[0]: f})
        elif step[0] == "r":
            d.now[rest[0]] = d.now.pop(a)
            d.give({rest[0]: f, a: None})
        elif step[0] == "x":
            d.now[a], d.now[rest[0]] = d.now[rest[0]], f
            d.give({a: d.now[a], rest[0]: f})
    d.states(states)
    return states


def draw(r):
    files = [("a", bytes([255]) * r.choice([0, 100, 600]))]
    if r.random() < 0.5:
        files.append(("b", bytes([254]) * 30))
    there, steps = {n for n, _ in files}, []
    size = {n: len(c) for n, c in files}
    folder, links = None, set()
    for _ in range(r.randint(3, 7)):
        kind = r.choice("cwwwssDrrulxtopkmvy")
        a = r.choice(sorted(there)) if there else None
        b = r.choice("abcd")
        if folder is not None and r.random() < 0.4:
            b = "f:a"
        if kind == "m" and folder is None:
            folder = "f"
            steps.append("mf")
        elif kind == "v" and folder is not None and "f:a" not in there | links:
            folder = None
            steps.append("vf")
        elif kind == "y" and b not in there | links:
            links.add(b)
            steps.append("y%s,%s" % (b, r.choice(["a", "none"])))
        elif kind in "ru" and links and r.random() < 0.6:
            a = r.choice(sorted(links))
            if kind == "r" and a == b:
                continue
            links.discard(a)
            there.discard(b if kind == "r" else a)
            if kind == "r":
                links.add(b)
            steps.append("r%s,%s" % (a, b) if kind == "r" else "u" + a)
        elif kind == "c" and b not in there | links:
            there.add(b)
            size[b] = 0
            steps.append("c" + b)
        elif a is None:
            continue
        elif kind == "w":
            off, n = r.choice([0, size[a], size[a], 400]), r.choice([8, 20, 600])
            size[a] = max(size[a], off + n)
            steps.append("w%s,%d,%d,%d" % (a, off, n, r.randint(1, 200)))
        elif kind in "pk" and b in there and a != b and size[a] > 0:
            off = r.choice([0, size[b]]) if kind == "k" else 0
            size[b] = max(size[b], off + min(size[a], 600 if kind == "k" else 10))
            steps.append("p%s,%s" % (a, b) if kind == "p" else "k%s,%s,%d" % (a, b, off))
        elif kind in "sto":
            size[a] = size[a] if kind == "s" else 0
            steps.append(kind + a)
        elif kind == "D":
            steps.append("D" if folder is None else r.choice(["D", "Df"]))
        elif kind == "u":
            there.discard(a)
            steps.append("u" + a)
        elif kind == "r" and a != b:
            links.discard(b)
            there.discard(a)
            there.add(b)
            size[b] = size[a]
            steps.append("r%s,%s" % (a, b))
        elif kind == "l" and b not in there | links and r.random() < 0.5:
            there.add(b)
            size[b] = 5000  # written through either name
            size[a] = 5000
            steps.append("l%s,%s" % (a, b))
        elif kind == "x" and b in there and a != b:
            size[a], size[b] = size[b], size[a]
            steps.append("x%s,%s" % (a, b))
    return files, steps


def compare(program, seed, fs):
    global SECTOR
    SECTOR = 4096 if seed % 4 == 3 else 512
    r = random.Random(seed)
    while True:
        files, steps = draw(r)
        if any(s[0] == "l" for s in steps) and any(s[0] in "xr" for s in steps):
            continue  # a rename of one of two names of a file may do nothing
        try:
            choices = permitted(files, steps, fs == "ext4")
        except Many:
            continue
        if 4 < len(choices) < 300 and any(s[0] in "crulxtomvy" for s in steps):
            break
    begin_image(files)
    os.mkdir("seen")
    status, text = crash("%s steps {} %s" % (program, "/".join(steps)), "%s see seen {}" % program, "--fs=" + fs,
                         "--model=files", "--atomicity=%d" % SECTOR)
    SECTOR = 512
    seen = set(os.listdir("seen"))
    shutil.rmtree("seen")
    return (status == 0 and seen == choices,
            (seed, files, steps, len(choices), sorted(choices - seen)[:3], sorted(seen - choices)[:3], text[-600:]))


def test_names(program):
    seeds = range(200) if EVERY else range(14)
    for fs in ("ext4", "posix"):
        wrong = [why for good, why in (compare(program, seed, fs) for seed in seeds) if not good]
        ok(not wrong, "crash_states_of_names_are_those_of_the_definition_" + fs, wrong[:2])


# What each file system permits and forbids: steps from a file a of 30 bytes, and states as above.
LITMUS = (
    ("a_rename_that_replaces_is_atomic", "cb/wb,0,20,1/rb,a", {
        "ext4": ({"=a=255x30-,", "=a=1x20-,"}, {"=a=,", "=", "=a=1x20-,b=1x20-,"}),
        "ext4-journal": ({"=a=255x30-,", "=a=1x20-,"}, {"=a=,", "=", "=a=1x20-,b=1x20-,"}),
        "posix": ({"=a=,", "=a=255x30-,"}, set())}),
    ("a_new_name_comes_before_its_content", "cb/wb,0,20,1/rb,c", {
        "ext4": ({"=a=255x30-,c=,", "=a=255x30-,c=1x20-,"}, {"=a=255x30-,b=1x20-,c=1x20-,"}),
        "ext4-journal": ({"=a=255x30-,c=1x20-,"}, {"=a=255x30-,c=,"}),
        "posix": ({"=a=255x30-,c=,"}, set())}),
    ("a_sync_of_a_new_file_keeps_its_name", "cb/wb,0,20,1/sb/wa,0,1,9", {
        "ext4": ({"=a=9x1-255x29-,b=1x20-,"}, {"=a=9x1-255x29-,"}),
        "ext4-journal": ({"=a=9x1-255x29-,b=1x20-,"}, {"=a=9x1-255x29-,"}),
        "posix": ({"=a=9x1-255x29-,", "=a=9x1-255x29-,b=1x20-,"}, set())}),
    ("a_sync_of_an_empty_file_keeps_its_name", "cb/sb/wa,0,1,9", {
        "ext4": ({"=a=9x1-255x29-,b=,"}, {"=a=9x1-255x29-,"}),
        "ext4-journal": ({"=a=9x1-255x29-,b=,"}, {"=a=9x1-255x29-,"}),
        "posix": ({"=a=9x1-255x29-,"}, set())}),
    ("names_change_in_order", "cb/cc", {
        "ext4": ({"=a=255x30-,b=,", "=a=255x30-,b=,c=,"}, {"=a=255x30-,c=,"}),
        "ext4-journal": ({"=a=255x30-,b=,"}, {"=a=255x30-,c=,"}),
        "posix": ({"=a=255x30-,c=,"}, set())}),
    ("an_overwrite_may_persist_before_a_name", "cb/wa,0,1,9", {
        "ext4": ({"=a=9x1-255x29-,", "=a=255x30-,b=,"}, set()),
        "ext4-journal": ({"=a=255x30-,b=,"}, {"=a=9x1-255x29-,"}),
        "posix": ({"=a=9x1-255x29-,"}, set())}),
    ("a_sync_of_the_folder_keeps_names", "cb/ub/D/wa,0,1,9", {
        "ext4": ({"=a=9x1-255x29-,"}, {"=a=9x1-255x29-,b=,"}),
        "ext4-journal": ({"=a=9x1-255x29-,"}, {"=a=9x1-255x29-,b=,"}),
        "posix": ({"=a=9x1-255x29-,"}, {"=a=9x1-255x29-,b=,"})}),
    ("a_folder_comes_before_what_is_in_it", "mf/cf:b/wf:b,0,5,1/sf:b/wa,0,1,9", {
        "ext4": ({"=a=9x1-255x29-,f=folder,f:b=1x5-,", "=a=255x30-,f=folder,"}, {"=a=9x1-255x29-,"}),
        "ext4-journal": ({"=a=255x30-,f=folder,f:b=,"}, {"=a=9x1-255x29-,"}),
        "posix": ({"=a=9x1-255x29-,", "=a=9x1-255x29-,f=folder,"}, set())}),
    ("a_sync_of_a_folder_does_not_keep_its_own_name", "mf/cf:b/Df/wa,0,1,9", {
        "ext4": ({"=a=9x1-255x29-,f=folder,f:b=,"}, {"=a=9x1-255x29-,f=folder,", "=a=9x1-255x29-,"}),
        "posix": ({"=a=9x1-255x29-,", "=a=9x1-255x29-,f=folder,f:b=,"}, {"=a=9x1-255x29-,f=folder,"})}),
    ("a_folder_is_removed", "mf/cf:b/D/uf:b/vf", {
        "ext4": ({"=a=255x30-,", "=a=255x30-,f=folder,", "=a=255x30-,f=folder,f:b=,"}, set()),
        "posix": ({"=a=255x30-,", "=a=255x30-,f=folder,"}, set())}),
    ("a_link_is_there_as_a_whole", "yb,a/yc,a/rc,b", {
        "ext4": ({"=a=255x30-,", "=a=255x30-,b=to a,", "=a=255x30-,b=to a,c=to a,"}, {"=a=255x30-,c=to a,"}),
        "posix": ({"=a=255x30-,c=to a,"}, {"=a=255x30-,b=to ,"})}),
    ("a_size_comes_after_its_bytes", "wa,30,20,1", {
        "ext4": ({"=a=255x30-1x20-,"}, {"=a=255x30-0x20-,"}),
        "ext4-journal": ({"=a=255x30-1x20-,"}, {"=a=255x30-0x20-,"}),
        "posix": ({"=a=255x30-0x20-,"}, set())}),
)


def test_litmus(program):
    for name, steps, systems in LITMUS:
        for fs, (allowed, forbidden) in systems.items():
            begin_image([("a", bytes([255]) * 30)])
            os.mkdir("seen")
            status, text = crash("%s steps {} %s" % (program, steps), "%s see seen {}" % program, "--fs=" + fs)
            seen = set(os.listdir("seen"))
            shutil.rmtree("seen")
            ok(status == 0 and allowed <= seen and not forbidden & seen, "%s_%s" % (name, fs), allowed - seen, forbidden & seen, text[-800:])


def test_undecided(program):
    for name, steps, words in (("stdio", "fb", "fopen()"), ("a_folder_that_is_renamed", "mb/rb,c", "rename"), ("a_call_by_its_number", "na/wa,0,8,0", "syscall(SYS_pwrite64) at")):
        begin_image([("a", bytes([255]) * 30)])
        status, text = crash("%s steps {} %s" % (program, steps), "true")
        ok(status == 2 and "UNDECIDED" in text and words in text, "undecided_" + name, status, text[-800:])
    with open("ring.c", "w") as f:
        f.write("#include <sys/syscall.h>\n#include <unistd.h>\nint io_uring_setup(unsigned n, void *p);\n#ifdef STUB\n"
                "int io_uring_setup(unsigned n, void *p) { return -1; }\n#else\nint main(int count, char **word) {\n"
                "if (count > 2) return syscall(SYS_io_uring_setup, 8, 0L) != -1;\nreturn io_uring_setup(8, 0) != -1; }\n#endif\n")
    run("cc", "-shared", "-fPIC", "-DSTUB", "-o", "libring.so", "ring.c")
    run("cc", "-g", "-o", "ring", "ring.c", "./libring.so")
    for number, words in (("", r"io_uring_setup\(\) at \S*ring.c:9"), (" raw", r"syscall\(SYS_io_uring_setup\) at \S*ring.c:8")):
        begin_image()
        status, text = crash("./ring {}" + number, "true")
        ok(status == 2 and re.search(r"UNDECIDED: ./ring uses io_uring \(%s\)" % words, text), "undecided_io_uring" + number, status, text)
    begin_image()
    status, text = crash("%s steps {} fb" % program, "test ! -e {}/b", "--except=b")
    ok(status == 0, "a_file_that_is_excepted_is_in_no_crash_state", status, text)
    status, text = crash("%s steps {} cb" % program, "true", "--model=x86")
    ok(status == 2 and "a folder has files on a disk" in text, "a_folder_is_no_persistent_memory", status, text)


# ---- SQLite ----------------------------------------------------------------------------------------------

LAST, MORE = "the last acknowledged transaction is lost", "more than the last acknowledged transaction is lost"
# Each expectation stands on what SQLite's documentation says of the mode (docs/files.md): nothing is lost; what is lost, and nothing is
# damaged; "broken": anything may be.
SQLITE = {
    "delete-off": "broken", "delete-normal": "broken", "delete-full": {LAST}, "delete-extra": set(),
    "truncate-off": "broken", "truncate-full": set(), "truncate-extra": set(),
    "persist-off": "broken", "persist-full": set(), "persist-extra": set(),
    "wal-off": {LAST, MORE}, "wal-normal": {LAST, MORE}, "wal-full": set(), "wal-extra": set(),
}
QUICK = ("delete-off", "delete-full", "delete-extra-mmap", "truncate-full", "persist-full", "wal-normal", "wal-full-mmap")


def test_sqlite():
    if not has_header("sqlite3.h"):
        ok(True, "sqlite # SKIP libsqlite3-dev is not installed")
        return
    built, text = run("cc", "-g", "-O1", "-I" + HEADERS, "-o", "sqlite_subject", os.path.join(SOURCES, "sqlite_subject.c"), "-lsqlite3")
    ok(built == 0, "sqlite_subject_is_compiled", text)
    program = os.path.abspath("sqlite_subject")
    for mode in [m + x for m in SQLITE for x in ("", "-mmap")] if EVERY else QUICK:
        expected = SQLITE[mode.replace("-mmap", "")]
        begin_image()
        run(program, "make", "image", mode)
        status, text = crash("%s run {} 3 %s" % (program, mode), program + " check {}", "--states=%d" % (3000 if EVERY else 250), "--cures=off")
        found = set(re.findall(r"^ *\d+  (.*)$", text, re.M))
        if expected == "broken":
            good = status == 1 and found - {LAST}
        else:
            good = status == (1 if expected else 0) and found <= expected
        ok(good, "sqlite_%s" % mode.replace("-", "_"), status, text[:1500])


# Recovery has printed something, and not what was acknowledged.
WHOLE = "the output differs from that of every run without a crash"


def test_sqlite_by_replay():
    """A lost acknowledged transaction is a finding, although the database is whole."""
    if not os.path.exists("sqlite_subject"):
        ok(True, "sqlite_by_replay # SKIP libsqlite3-dev is not installed")
        return
    program = os.path.abspath("sqlite_subject")
    for mode, loses in (("delete-full", True), ("delete-extra", False), ("wal-normal", True), ("wal-full", False)):
        begin_image()
        run(program, "make", "image", mode)
        status, text = run(NVWAVE, "crash", "--exec=%s run {} 2 %s" % (program, mode), "--image=image", "--oracle=replay",
                           "--recover=%s print {}" % program, "--states=100", "--cures=off")
        found = re.findall(r"^ *\d+  (.*)$", text, re.M)
        ok(status == loses and all(WHOLE in f for f in found), "sqlite_by_replay_" + mode.replace("-", "_"), status, text[:1500])
        if mode == "delete-full":
            ok("the name db-journal is removed" in text, "a_finding_names_the_file", text[:1500])


# ---- LevelDB ---------------------------------------------------------------------------------------------

def test_leveldb():
    if not has_header("leveldb/c.h"):
        ok(True, "leveldb # SKIP libleveldb-dev is not installed")
        return
    built, text = run("cc", "-g", "-O1", "-I" + HEADERS, "-o", "leveldb_subject", os.path.join(SOURCES, "leveldb_subject.c"), "-lleveldb")
    ok(built == 0, "leveldb_subject_is_compiled", text)
    program = os.path.abspath("leveldb_subject")
    for mode, loses in (("sync", False), ("async", True)):
        begin_image()
        run(program, "make", "image")
        status, text = run(NVWAVE, "crash", "--exec=%s run {} 5 %s" % (program, mode), "--image=image", "--oracle=replay",
                           "--recover=%s print {}" % program, "--states=100", "--cures=off", "--except=LOG*")
        found = re.findall(r"^ *\d+  (.*)$", text, re.M)
        ok(status == loses and all(WHOLE in f for f in found), "leveldb_" + mode, status, text[:1500])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["TMPDIR"] = folder
    subprocess.run(["cc", "-O1", "-g", "-o", "folder_subject", os.path.join(SOURCES, "folder_subject.c")], check=True)
    subject = os.path.abspath("folder_subject")
    test_litmus(subject)
    test_undecided(subject)
    test_names(subject)
    test_sqlite()
    test_sqlite_by_replay()
    test_leveldb()
    os.chdir("/")
plan()
