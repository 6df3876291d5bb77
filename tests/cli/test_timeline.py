#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_timeline.py NVWAVE: timelines of runs, decoded by protoc, against the statistics of the same runs."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import common
from common import ok, plan, run, statistics

nvwave = common.nvwave = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="nvwave-timeline-")
os.chdir(folder.name)
kv = ["run", "kv", "--count=64", "--preload=64", "--slots=256", "--batch=32", "--scope=workgroup",
      "--group-size=16"]

# Field numbers as Perfetto publishes them.
PACKET, TIMESTAMP, EVENT, INTERNED, DESCRIPTOR = 1, 8, 11, 12, 60
TYPE, TRACK, NAME_IID, CATEGORY_IID, VALUE = 9, 11, 10, 3, 30
CATEGORIES, NAMES = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def decode(path):
    """The packets of a trace: lists of (field number, value), a value being a number, a text or such a list."""
    with open(path, "rb") as f:
        text = subprocess.run(["protoc", "--decode_raw"], stdin=f, capture_output=True, text=True, check=True).stdout
    stack = [[]]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            stack.append([])
            stack[-2].append((int(line[:-1]), stack[-1]))
        elif line == "}":
            stack.pop()
        else:
            number, value = line.split(": ", 1)
            stack[-1].append((int(number), value[1:-1].replace("\\'", "'") if value[0] == '"' else int(value, 0)))
    return [value for number, value in stack[0] if number == PACKET]


def get(message, number, default=None):
    return next((v for n, v in message if n == number), default)


def events(path):
    """(type, track's name, folder's name, ns, category, name, value of a counter) per event."""
    names, categories, tracks, found = {}, {}, {}, []
    for packet in decode(path):
        described, event = get(packet, DESCRIPTOR), get(packet, EVENT)
        interned = get(packet, INTERNED, [])
        names.update((get(v, 1), get(v, 2)) for n, v in interned if n == NAMES)
        categories.update((get(v, 1), get(v, 2)) for n, v in interned if n == CATEGORIES)
        if described:
            tracks[get(described, 1)] = (get(described, 1), get(described, 2), get(described, 5))
        if event:
            uuid, name, parent = tracks[get(event, TRACK)]
            kind = get(event, TYPE)
            named = kind in (BEGIN, INSTANT)
            found.append((kind, uuid, name, tracks[parent][1], get(packet, TIMESTAMP),
                          categories[get(event, CATEGORY_IID)] if named else None,
                          names[get(event, NAME_IID)] if named else None, get(event, VALUE, 0)))
    return found


def slices(found):
    """(uuid, track, folder, from, to, category, name, depth) per slice; fails if they do not nest or are not in order."""
    open_at, done, last = collections.defaultdict(list), [], {}
    for kind, uuid, track, place, ns, category, name, _ in found:
        if kind == BEGIN:
            assert ns >= last.get(uuid, 0), (track, ns, last[uuid])
            open_at[uuid].append((ns, category, name))
        elif kind == END:
            begun, category, name = open_at[uuid].pop()
            assert ns >= begun
            done.append((uuid, track, place, begun, ns, category, name, len(open_at[uuid])))
        if kind in (BEGIN, END):
            last[uuid] = ns
    assert not any(open_at.values())
    return done


def number_of(found, category, name=None):
    return sum(1 for e in found if e[0] in (BEGIN, INSTANT) and e[5] == category and e[6] != "done" and name in (None, e[6]))


def against_statistics(model, domain):
    words = kv + ["--set", "persist.model=" + model, "--set", "nvram.domain=" + domain]
    stats = statistics(*words, "--timeline=out.pftrace")
    found = events("out.pftrace")
    done = slices(found)
    barriers = sum(stats["persist.barriers_" + s] for s in ("wi", "wg", "kr"))
    expected = {
        "kernels": (number_of(found, "kernel"), stats["gpu.kernels"]),
        "work-groups": (number_of(found, "work-group"), stats["gpu.work_groups"] + stats["gpu.preemptions"]),
        "reads": (number_of(found, "read"), stats["dram.reads"] + stats["nvram.reads"]),
        "writes": (number_of(found, "write"), stats["dram.writes"] + stats["nvram.writes"]),
        "banks": (number_of(found, "bank"), stats["l2.accesses"]),
        "barriers": (number_of(found, "persist barrier"), barriers),
        "end of the last kernel": (max(s[4] for s in done if s[5] == "kernel") <= stats["sim_time"] / 1000, True),
    }
    for stat, value in stats.items():
        if stat.startswith(("flushes.", "invalidations.")):
            category = "flush" if stat.startswith("f") else "invalidation"
            expected[stat] = (number_of(found, category, stat), value)
    wrong = ["%s: %s in the timeline, %s in the statistics" % (k, a, b) for k, (a, b) in expected.items() if a != b]
    ok(not wrong and barriers > 0, "every_event_is_in_the_timeline_as_often_as_statistics_count_it (%s, %s)" % (model, domain), *wrong)
    return found, done, stats


def barriers_and_parts(done, stats):
    whole = [s for s in done if s[5] == "persist barrier" and s[7] == 0]
    parts = [s for s in done if s[5] == "persist barrier part" and s[7] == 1]
    length = sum(s[4] - s[3] for s in whole)
    ok(len(parts) >= 3 * len(whole) > 0 and length == sum(s[4] - s[3] for s in parts)
       and abs(length - stats["persist.stall"] / 1000) <= 2 * len(whole),
       "the_parts_of_persist_barriers_add_up_to_the_time_that_they_take", len(whole), len(parts), length, stats["persist.stall"])


def stalls(found, done, stats):
    by_name = collections.Counter()
    for s in done:
        if s[5] == "stall":
            by_name[s[6]] += s[4] - s[3]
    loads = stats["latency.load"] / 1000
    ok(loads <= by_name["load"] + by_name["read-only load"] + number_of(found, "stall") and by_name["persist barrier (work-group)"] > 0
       and all(re.fullmatch(r"wavefront \d+", s[1]) and s[2].startswith("CU ") for s in done if s[5] == "stall"),
       "wavefronts_stall_for_at_least_the_latency_of_their_loads", by_name, loads)


def queues(found):
    counters, wrong = collections.defaultdict(list), []
    for kind, uuid, track, _, ns, _, _, value in found:
        if kind == COUNTER:
            counters[track].append((ns, value))
    for track, values in counters.items():
        if values[-1][1] != 0 or min(v for _, v in values) < 0 or [t for t, _ in values] != sorted(t for t, _ in values):
            wrong.append((track, values[-5:]))
    ok("nvram channel 0: writes: in flight" in counters and not wrong, "queues_of_channels_are_empty_in_the_end", wrong, list(counters))


def places(found):
    tracks = {(e[3], e[2]) for e in found}
    needed = {("GPU", "kernels"), ("L2", "L2 bank 0"), ("network", "bank 0 out"), ("epochs", "work-group scope"),
              ("persist barriers", "work-group scope"), ("CU 0", "L1 flushes"), ("memory", "nvram channel 0: writes")}
    ok(needed <= tracks, "tracks_have_the_names_of_their_places", needed - tracks, sorted(tracks)[:40])


def window(found):
    middle = max(e[4] for e in found) // 2
    status, _, err = run(*kv, "--timeline=part.pftrace", "--timeline-window=%dns..%dns" % (middle, middle + 1000))
    part = events("part.pftrace")
    slices(part)
    # What is cut at the window's end has its end there.
    inside = [e for e in found if e[0] == INSTANT and middle <= e[4] < middle + 1000]
    ok(status == 0 and part and all(middle <= e[4] <= middle + 1000 for e in part)
       and len(inside) == sum(1 for e in part if e[0] == INSTANT and e[4] < middle + 1000) and len(part) < len(found) / 3,
       "a_window_has_what_the_whole_timeline_has_then", err, len(part), len(found), len(inside))


def chrome(done):
    run(*kv, "--timeline=out.json")
    with open("out.json") as f:
        trace = json.load(f)["traceEvents"]
    open_at, theirs = collections.defaultdict(list), collections.Counter()
    for e in trace:
        if e["ph"] == "B":
            open_at[e["tid"]].append(e)
        elif e["ph"] == "E":
            begun = open_at[e["tid"]].pop()
            theirs[(begun["name"], int(begun["ts"] * 1000 + 1e-6), int(e["ts"] * 1000 + 1e-6))] += 1
    ours = collections.Counter((s[6], s[3], s[4]) for s in done)
    ok(ours == theirs, "chrome_s_format_has_the_same_slices", list((ours - theirs).items())[:5], list((theirs - ours).items())[:5])


def unchanged():
    def essence(text):
        return [line for line in text.splitlines() if not re.search(r"host_|made by|again", line)]

    with_it, without = run(*kv, "--statistics", "--timeline=out.pftrace"), run(*kv, "--statistics")
    ok(essence(with_it[1]) == essence(without[1]) and with_it[0] == 0, "watching_changes_nothing_in_the_run", with_it[2])


def waits():
    stats = statistics("run", "mutex", "--machine=sinclair15", "--protocol=dd", "--iterations=2", "--set", "gpu.cus=4",
                       "--timeline=waits.pftrace", "--timeline-window=..")
    found = events("waits.pftrace")
    total = sum(s[4] - s[3] for s in slices(found) if s[5] == "wait")
    causes = ("owner", "release")
    times, ps = [sum(stats["wait." + c + unit] for c in causes) for unit in ("", "_time")]
    ok(all(number_of(found, "wait", c) == stats["wait." + c] > 0 for c in causes) and abs(total - ps / 1000) <= 2 * times,
       "requests_that_are_put_off_are_parts_of_stalls_with_their_cause", times, ps, total)


def refusals():
    wrong = []
    for words, message in ((["--timeline-window=1us..2us"], "has no effect without --timeline"),
                           (["--timeline=x.pftrace", "--timeline-window=2us..1us"], "ends before it begins"),
                           (["--timeline=x.pftrace", "--timeline-window=1us"], "expected FROM..TO"),
                           (["--timeline=x.pftrace", "--timeline-window=1..2us"], "--timeline-window="),
                           (["--timeline=x"], "--timeline: x: expected a name that ends in .pftrace or .perfetto-trace"),
                           (["--timeline=x.JSON"], "or .json"), (["--timeline=nowhere/x.json"], "nowhere/x")):
        status, out, err = run(*kv, *words)
        if status != 2 or out or message not in err or err.count("\n") != 1:
            wrong.append("%s: %d %s%s" % (words, status, out, err))
    ok(not wrong and not [f for f in os.listdir(".") if f.startswith("x")], "a_wrong_window_or_file_is_refused_in_one_sentence_before_the_run", *wrong)


if not shutil.which("protoc"):
    print("# skipped: protoc is missing (protobuf-compiler): timelines are not decoded")
    print("ok 1 - timelines_are_decoded # SKIP\n1..1")
    sys.exit(0)
whole, nested, measured = against_statistics("epoch", "device")
barriers_and_parts(nested, measured)
stalls(whole, nested, measured)
queues(whole)
places(whole)
window(whole)
chrome(nested)
for model, domain in (("buffered-epoch", "device"), ("strict", "device"), ("epoch", "eadr")):
    against_statistics(model, domain)
unchanged()
waits()
refusals()
plan()
