#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does the patch of a cure do what the report says of it?

For seeded bugs of btree and kv, nvwave writes its patch. The patch is applied by patch(1) to a copy of the sources, the files that it
changes are compiled by the build's own commands, nvwave is linked with them, and the crash test runs again: it has to end, and the
findings that were cured have to be gone. Without --all: of a few bugs.
"""
import argparse, json, os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import tap

CHANGES = ["--count=300 --preload=300 --batch=100 --op=" + op for op in ("update", "delete")]
SMALL = {
    "btree": ["--count=600 --preload=300 --batch=200 --group-size=64 --scope=" + scope for scope in ("workgroup", "kernel")],
    "kv": ["--count=600 --batch=128 --slots=64 --group-size=64 --scope=" + scope for scope in ("workitem", "workgroup", "kernel")],
}
# A barrier before an acknowledgement; one in a loop, which no edit of the log shows; one in the library; one before another barrier.
SAMPLE = [("btree", "ack-before-barrier", "--mode=observed", CHANGES[0], 107),
          ("kv", "publish-before-value", "--mode=observed", SMALL["kv"][2], 102),
          ("btree", "complete-before-updates", "--mode=observed", SMALL["btree"][0], 101),
          ("kv", "ack-before-barrier", "--mode=observed", SMALL["kv"][1], 101)]


def all_bugs(nvwave, seeds):
    for workload, sets in SMALL.items():
        rows = subprocess.run([nvwave, "list", "mutations"], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
        for name, way in (row.split()[1:3] for row in rows if row.split()[0] == workload):
            if way == "kill":
                continue  # without cures
            mode = "--mode=observed" if way == "observed" else "--model=" + way
            # Two of kv show in runs of their own; kernels that split nothing have only acknowledgements to get wrong.
            own = {"tombstone-delete": ["--count=1500 --batch=512 --slots=64 --mix=put=80,delete=20 --records=200"],
                   "narrow-resize": ["--count=2000 --batch=256"]}.get(name, sets)
            if (workload, name) == ("btree", "ack-before-barrier"):
                own = sets + CHANGES
            for options in own:
                for seed in range(101, 101 + seeds):
                    yield workload, name, mode, options, seed


def crash(nvwave, bug, *more):
    workload, name, mode, options, seed = bug
    command = [nvwave, "crash", workload, "--mutate=" + name, mode, "--seed=%d" % seed, "--states=1500", "--cure-states=50000", "--output-format=json"]
    run = subprocess.run(command + options.split() + list(more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    return run.returncode, json.loads(run.stdout) if run.returncode in (0, 1) else None, run.stderr


class Copy:
    """A copy of the sources and of the build, of which only what a patch changes is made again."""

    def __init__(self, tree, build):
        self.root = tempfile.mkdtemp(prefix="nvwave-patches.")
        self.stale = set()  # what was patched, and is not any more
        self.source, self.build = os.path.join(self.root, "source"), os.path.join(self.root, "source", os.path.basename(build))
        os.makedirs(self.build)
        for entry in os.listdir(tree):
            if os.path.realpath(os.path.join(tree, entry)) == os.path.realpath(build):
                continue
            if entry in ("workloads", "lib"):
                shutil.copytree(os.path.join(tree, entry), os.path.join(self.source, entry), symlinks=True)
            else:
                os.symlink(os.path.join(tree, entry), os.path.join(self.source, entry))
        self.commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "cli/nvwave"], stdout=subprocess.PIPE, check=True,
                                       text=True).stdout.splitlines()
        for path in ("cli", "workloads", "lib", "emu", "crashtest", "recovery", "litmus", "host"):
            if os.path.isdir(os.path.join(build, path)):
                subprocess.run(["cp", "-rs", os.path.join(build, path), self.build], check=True)

    def close(self):
        shutil.rmtree(self.root)

    def run(self, command):
        """A command of the build; what it makes takes the place of a link."""
        for made in re.findall(r"(?: -o |gcc-ar \w+ |\bar \w+ )(\S+)", command):
            path = os.path.join(self.build, made)
            if os.path.islink(path):
                os.unlink(path)
        done = subprocess.run(command, shell=True, cwd=self.build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode == 0, done.stdout

    def make(self, patched):
        """Compiles the files that a patch has changed, and those of the patch before it, and links."""
        changed, self.stale = self.stale.union(patched), set(patched)
        objects = []
        for command in self.commands:
            made = re.search(r" -o (\S+\.o) -c \.\./(\S+)$", command)
            if made and made.group(2) in changed:
                objects.append(made.group(1))
            elif not any(o in command.split() for o in objects) and command is not self.commands[-1]:
                continue
            good, output = self.run(command)
            if not good:
                return False, output
        return bool(objects), "no command compiles " + " ".join(changed)

    def patch(self, diff, *more):
        return subprocess.run(["patch", "-p1", "--no-backup-if-mismatch", "-d", self.source, "-i", diff] + list(more), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)


def line_of(tree, place):
    """The text of a "file:line", which stays when lines come in before it."""
    file, _, line = place.rpartition(":")
    try:
        with open(os.path.join(tree, file)) as f:
            return file + ": " + f.read().splitlines()[int(line) - 1].strip()
    except (OSError, ValueError, IndexError):
        return place


def causes(report, tree, cured):
    """What the findings, or those of them that are cured, are about."""
    return {(line_of(tree, f["cause"]["lost"]), line_of(tree, f["cause"]["early"])) for f in report["findings"]
            if not cured or f["cure"]["verified"]}


def try_patch(copy, tree, bug, diff, before, said_before):
    """What is wrong with the patch, or None; the report that it is from, and what went with that."""
    with open(diff) as f:
        changed = re.findall(r"^\+\+\+ b/(\S+)", f.read(), flags=re.M)
    applied = copy.patch(diff)
    if applied.returncode:
        return "it does not apply: " + applied.stdout
    good, output = copy.make(changed)
    try:
        if not good:
            return "it does not compile: " + output
        status, after, said = crash(os.path.join(copy.build, "cli", "nvwave"), bug, "--cures=off")
        left = causes(after, copy.source, False) if after is not None else set()
    finally:
        copy.patch(diff, "-R")
    if after is None:
        return "the patched program ends with: " + said
    again = sorted(left & causes(before, tree, True))
    if again:
        return "it is still found that %s is lost before %s" % again[0]
    all_cured = all(f["cure"]["verified"] or f["cure"]["cured_by"] for f in before["findings"])
    # A cure that is no line to insert is not in the patch.
    if status != 0 and all_cured and "no patch for" not in said_before:
        return "all findings were cured, and there are others: " + "; ".join(f["text"] for f in after["findings"])
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvwave", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--tree", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    copy = Copy(args.tree, args.build)
    seen, wrong, runs = set(), 0, 0
    diff = os.path.join(copy.root, "cure.diff")
    try:
        for bug in all_bugs(args.nvwave, args.seeds) if args.all else SAMPLE:
            runs += 1
            if os.path.exists(diff):
                os.unlink(diff)
            status, before, said = crash(args.nvwave, bug, "--patch=" + diff)
            name = "%s: %s (%s, seed %d)" % (bug[0], bug[1], bug[3], bug[4])
            if "has an effect only with" in said:
                continue
            if status not in (0, 1):
                tap.ok(False, name + ": the crash test ends", said)
                wrong += 1
                continue
            text = open(diff).read() if os.path.exists(diff) else None
            if text is None and not args.all:
                tap.ok(False, name + ": there is a patch", said)
            if text is None or (bug[0], bug[1], bug[3], text) in seen:
                continue
            seen.add((bug[0], bug[1], bug[3], text))
            trouble = try_patch(copy, args.tree, bug, diff, before, said)
            wrong += trouble is not None
            tap.ok(trouble is None, name + ": the patched program has none of the findings that were cured", trouble or "", text)
    finally:
        copy.close()
    print("# %d runs, %d patches, %d of them wrong" % (runs, len(seen), wrong))
    tap.plan()
    return 0


if __name__ == "__main__":
    sys.exit(main())
