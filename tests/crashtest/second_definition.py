#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A second definition of the persistency models: are the crash states that nvwave explores those that the axioms permit?

Random small runs of every structure whose check has parts, most of them with a seeded bug. The states are made here, from what "nvwave log
dump" prints and the axioms alone, each judged by the structure's own recovery and check (judge.c), and compared with what exploring says: the
verdict, of the command, by parts and state by state, the number of failing states, and, where it is called exact, the number of states.

The axioms, for a crash before a record of the log. A store is durable as a whole or not at all; of stores to the same bytes, older ones
are durable if newer ones are (as long as both can be lost). What the host writes is durable.
  strict          a prefix of the stores, with all of any completed barrier
  epoch           all stores of the members of a completed barrier before it, and of all before the host waited; any of the others
  buffered-epoch  any set of stores that has, with a store, those of smaller epochs of its work-item, work-group and kernel; all before a
                  kernel's end, and before the host writes. Of a work-item's acknowledgement those of smaller epochs are durable, or it is none
  eadr            all stores
Crashes come before records that make something durable, and at the end (crashtest/states/medium.h): at others a state has fewer acknowledgements.
"""
import argparse, json, os, random, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import tap

STRUCTURES = [
    ("queue", {"count": [2, 4, 6], "producers": [1, 2], "consumers": [1, 2], "capacity": [2, 4], "group-size": [1, 2],
               "payload": [1, 2], "scope": ["workitem", "workgroup"], "release": ["durable", "visible"]}),
    ("steal-log", {"tasks": [1, 2, 3], "groups": [1, 2], "depth": [2, 3], "group-size": [1, 2], "skew": [100],
                   "words": [1, 2], "spawn": [95]}),
    ("kv", {"count": [4, 6, 8], "batch": [1, 2], "slots": [4, 8], "group-size": [1, 2], "mix": ["put", "put=60,delete=40"],
            "records": [3, 6], "value-size": ["1B", "8B"], "scope": ["workitem", "workgroup", "kernel"]}),
    ("btree", {"count": [3, 5, 8], "preload": [0, 6, 16], "batch": [1, 2], "group-size": [1, 2], "scope": ["workgroup", "kernel"]}),
    ("btree", {"count": [2, 3], "preload": [6, 16], "batch": [1, 2], "group-size": [1, 2], "op": ["update", "delete"]}),
    ("tiered", {"count": [2, 3, 5], "groups": [1], "group-size": [1, 2], "keys": [1, 2], "records": [1, 2, 3], "words": [0, 1]}),
]
COMPLETING = {
    "strict": {"persisted", "drained", "host"},
    "epoch": {"persisted", "drained", "host"},
    "buffered-epoch": {"persisted", "finish", "drained", "host"},
    "eadr": {"store", "host"},
}


class TooMany(Exception):
    pass


class Store:
    def __init__(self, at, record):
        self.at, self.kernel, self.item, self.group = at, record["kernel"], record["work_item"], record["group"]
        self.epochs = record["epoch_wi"], record["epoch_wg"], record["epoch_kr"]
        self.offset, self.data = record["offset"], bytes.fromhex(record["data"])
        self.bytes = frozenset(range(self.offset, self.offset + len(self.data)))


def is_before(store, other):
    """By the equations: an acknowledgement has item, group, kernel and epochs, too."""
    return store.kernel == other.kernel and (
        (store.item == other.item and store.epochs[0] < other.epochs[0]) or
        (store.group == other.group and store.epochs[1] < other.epochs[1]) or store.epochs[2] < other.epochs[2])


class Ack:
    def __init__(self, record):
        self.operations = frozenset(range(record["first"], record["first"] + record["count"]))
        self.kernel = record["kernel"]
        if self.kernel:
            self.item, self.group = record["work_item"], record["group"]
            self.epochs = record["epoch_wi"], record["epoch_wg"], record["epoch_kr"]


def members(record, store):
    """Did the store's work-item meet the barrier?"""
    if record["kernel"] != store.kernel:
        return False
    if record["scope"] == "kernel":
        return True
    if record["scope"] == "work-group":
        return record["group"] == store.group
    lanes = int.from_bytes(bytes.fromhex(record["lanes"]), "little")
    return 0 <= store.item - record["work_item"] < 64 and bool(lanes >> (store.item - record["work_item"]) & 1)


class Run:
    """What a log says, and the states that it permits."""

    def __init__(self, records, first, initial, most):
        self.records, self.first, self.initial, self.most = records, first, initial, most

    def floor(self, model, stores, past):
        """The stores that are durable for certain: positions in the list."""
        certain = set()
        for at, record in enumerate(past):
            kind = record["record"]
            waits = kind == "drained" or (model == "buffered-epoch" and kind in ("finish", "host"))
            for i, store in enumerate(stores):
                if store.at < at and (waits or (kind == "persisted" and model != "buffered-epoch" and members(record, store))):
                    certain.add(i)
        return certain

    def sets(self, model, stores, certain, host):
        """All sets of durable stores."""
        everything = frozenset(range(len(stores)))
        if model == "eadr":
            return [everything]
        if model == "strict":
            least = max(certain) + 1 if certain else 0
            return [frozenset(range(n)) for n in range(least, len(stores) + 1)]
        before = {}  # of each store that may be lost
        for i, store in enumerate(stores):
            before[i] = {k for k in range(i) if stores[k].bytes & store.bytes}
            if model == "buffered-epoch":
                before[i] |= {k for k in everything if is_before(stores[k], store)}
        certain = set(certain)
        work = list(certain)
        while work:  # what comes before what is certain
            for k in before[work.pop()] - certain:
                certain.add(k)
                work.append(k)
        free = [i for i in range(len(stores)) if i not in certain]
        closed = [frozenset()]
        for i in free:  # in an order in which what comes before is there already
            assert all(k < i for k in before[i])
            need = before[i] - certain
            closed += [had | {i} for had in closed if need <= had]
            if len(closed) > self.most:
                raise TooMany
        return [frozenset(certain) | had for had in closed]

    def states(self, model):
        """The different (words that are not as before the run, acknowledged operations)."""
        found = set()
        for at in range(self.first, len(self.records) + 1):
            if at < len(self.records) and self.records[at]["record"] not in COMPLETING[model]:
                continue
            self.crash(model, self.records[:at], found)
            if len(found) > self.most:
                raise TooMany
        return found

    def crash(self, model, past, found):
        stores = [Store(at, r) for at, r in enumerate(past) if r["record"] == "store"]
        host = [(at, r["offset"], bytes.fromhex(r["data"])) for at, r in enumerate(past) if r["record"] == "host"]
        acks = [(at, Ack(r)) for at, r in enumerate(past) if r["record"] == "ack"]
        certain = self.floor(model, stores, past)
        for durable in self.sets(model, stores, certain, host):
            writes = sorted(host + [(stores[i].at, stores[i].offset, stores[i].data) for i in durable])
            image = {}
            for _, offset, data in writes:
                for i, byte in enumerate(data):
                    image[offset + i] = byte
            words = {offset & ~7 for offset in image}
            content = []
            for word in sorted(words):
                now = bytes(image.get(word + i, self.initial[word + i]) for i in range(8))
                if now != self.initial[word:word + 8]:
                    content.append((word, int.from_bytes(now, "little")))
            told, untold = set(), set()
            for _, ack in acks:
                lost = model == "buffered-epoch" and ack.kernel and any(
                    is_before(store, ack) for i, store in enumerate(stores) if i not in durable)
                (untold if lost else told).update(ack.operations)
            found.add((tuple(content), frozenset(told - untold)))


def judge_all(process, states):
    failing = 0
    for words, acks in states:
        line = " ".join("%d %d" % w for w in words) + " | " + " ".join("%d 1" % a for a in sorted(acks))
        process.stdin.write(line + "\n")
        process.stdin.flush()
        answer = process.stdout.readline().strip()
        assert answer in ("pass", "fail"), answer
        failing += answer == "fail"
    return failing


def ask_command(options, arguments):
    """The report of nvwave crash, and whether its verdict is that states fail; None, None: the run is another one."""
    command = subprocess.run([options.nvwave, "crash", "--and-then=0"] + arguments, capture_output=True, text=True)
    report = json.loads(command.stdout) if command.returncode in (0, 1) else {"protocol": "none"}
    return (report, command.returncode == 1) if report["protocol"] == "vi" else (None, None)


class Totals:
    runs = states = failing = compared = left_out = commands = 0


def compare(options, number, totals):
    """What is wrong with one run, as texts."""
    draw = random.Random(number)
    name, choices = STRUCTURES[number % len(STRUCTURES)]
    chosen = ["--%s=%s" % (key, draw.choice(values)) for key, values in choices.items()]
    names = [m["name"] for m in options.mutations if m["workload"] == name]
    mutation = draw.choice(names) if number // len(STRUCTURES) % 4 != 3 else "none"
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "errors"), "w") as errors:
            process = subprocess.Popen(
                [options.judge, folder, ",".join(COMPLETING), str(1 << 20), name, str(number), mutation] + chosen,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        first, said = None, {}
        for line in process.stdout:
            if line.startswith("first "):
                first = int(line.split()[1])
            elif line == "explored\n":
                break
            else:
                model, way, text = line.split(None, 2)
                said[model, way.rstrip(":")] = [int(part.split()[0]) for part in text.split(",")]
        if first is None:
            process.communicate()
            return None
        with open(os.path.join(folder, "initial"), "rb") as f:
            initial = f.read()
        dump = subprocess.run([options.nvwave, "log", "dump", os.path.join(folder, "log"), "--output-format=json"],
                              capture_output=True, text=True, check=True).stdout
        records = [json.loads(line) for line in dump.splitlines()]
        records = [r for r in records if r["record"] not in ("info", "end")]
        run = Run(records, first, initial, options.most)
        totals.runs += 1
        for model in COMPLETING:
            what = "%s, seed %d, bug %s, %s, %s" % (name, number, mutation, " ".join(chosen), model)
            try:
                states = run.states(model)
            except TooMany:
                totals.left_out += 1
                continue
            failing = judge_all(process, states)
            exhausted, tested_failing, possible, exact = said[model, "whole"]
            totals.compared += 1
            totals.states += len(states)
            totals.failing += failing
            if exhausted and tested_failing != failing:
                wrong.append("%s: %d of %d states fail, nvwave says %d" % (what, failing, len(states), tested_failing))
            if exact and possible != len(states):
                wrong.append("%s: there are %d states, nvwave says %d" % (what, len(states), possible))
            if (said[model, "parts"][1] > 0) != (failing > 0):
                wrong.append("%s: %d states fail, by parts %d" % (what, failing, said[model, "parts"][1]))
            report, fails = ask_command(options, [name, "--seed=%d" % number, "--mode=permitted", "--model=" + model, "--cures=off",
                                                  "--output-format=json"] + chosen +
                                        (["--mutate=" + mutation] if mutation != "none" else []))
            totals.commands += report is not None
            if report and fails != (failing > 0):
                wrong.append("%s: %d states fail, not so says nvwave crash" % (what, failing))
            if report and report["states_possible_exact"] and round(2 ** report["states_possible_log2"]) != len(states):
                wrong.append("%s: there are %d states, nvwave crash says 2^%f" % (
                    what, len(states), report["states_possible_log2"]))
            if not exhausted or not exact:
                wrong.append("%s: %d states are too many for nvwave" % (what, len(states)))
        process.stdin.close()
        process.wait()
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9, help="number of runs")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--most", type=int, default=2000, help="states of a run under a model; one with more is left out")
    parser.add_argument("nvwave")
    parser.add_argument("judge")
    options = parser.parse_args()
    options.mutations = json.loads(subprocess.run([options.nvwave, "list", "mutations", "--output-format=json"],
                                                  capture_output=True, check=True).stdout)
    totals, number = Totals(), options.first
    while totals.runs < options.runs:
        wrong = compare(options, number, totals)
        number += 1
        if wrong is not None:
            tap.ok(not wrong, "run %d has the states of the axioms" % (number - 1), *wrong)
    print("# %d runs, %d times a model and %d left out: %d states, %d fail; %d times by nvwave crash" %
          (totals.runs, totals.compared, totals.left_out, totals.states, totals.failing, totals.commands))
    tap.ok(totals.failing > 0 and totals.compared > 2 * totals.runs, "the runs are small, and some fail")
    tap.plan()


main()
