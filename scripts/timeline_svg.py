#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""timeline_svg.py FILE.json [CU...]: a picture of a timeline that nvwave run --timeline=FILE.json wrote, as SVG on standard output.

It shows kernels, the wavefronts of the CUs (0 without any), persist barriers of all scopes and what they wait for, and the queues of
the NVRAM's channels. Stalls of one kind that follow each other are one box. Choose a part of a few microseconds by --timeline-window."""
import collections
import html
import json
import sys

# Kinds of slices, by the begin of their names; the colours are those of Okabe and Ito, and greys.
KINDS = (("load", "#0072b2"), ("store", "#e69f00"), ("atomic", "#009e73"), ("barrier", "#cc79a7"), ("persist barrier", "#d55e00"),
         ("the work-items to meet", "#56b4e9"), ("the L1's lines to reach the L2", "#f0e442"),
         ("the writes in flight to NVRAM", "#444444"), ("the acknowledgement", "#bbbbbb"), ("kernel", "#888888"))
LEFT, WIDTH, ROW, GAP = 210, 900, 16, 3


class Trace:
    def __init__(self, path):
        self.folders, self.tracks = {}, {}
        self.slices, self.instants, self.counters = (collections.defaultdict(list) for _ in range(3))
        open_at = collections.defaultdict(list)
        with open(path) as f:
            for e in json.load(f)["traceEvents"]:
                self.take(e, open_at)

    def take(self, e, open_at):
        key = (e["pid"], e["tid"])
        if e["ph"] == "M" and e["name"] == "process_name":
            self.folders[e["pid"]] = e["args"]["name"]
        elif e["ph"] == "M":
            self.tracks[key] = e["args"]["name"]
        elif e["ph"] == "B":
            open_at[key].append(e)
        elif e["ph"] == "E":
            begun = open_at[key].pop()
            self.slices[key].append((begun["ts"], e["ts"], begun["name"], len(open_at[key])))
        elif e["ph"] == "i":
            self.instants[key].append(e["ts"])
        elif e["ph"] == "C":
            self.counters[(e["pid"], e["name"])].append((e["ts"], e["args"]["value"]))

    def rows(self, folder, matches):
        for key, name in self.tracks.items():
            if self.folders[key[0]] == folder and matches(name):
                yield name, self.slices[key]


class Picture:
    def __init__(self, first, last):
        self.first, self.last, self.y, self.parts, self.used = first, last, 8, [], set()

    def x(self, t):
        return LEFT + WIDTH * (t - self.first) / (self.last - self.first)

    def label(self, text):
        self.parts.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (LEFT - 6, self.y + ROW - 4, html.escape(text)))

    def box(self, a, b, kind):
        self.used.add(kind)
        self.parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>' % (
            self.x(a), self.y, max(self.x(b) - self.x(a), 0.3), ROW, kind[1]))

    def row(self, label, slices):
        """Slices: (from, to, name, depth)."""
        self.label(label)
        begun = None
        for a, b, name, _ in sorted(slices):
            kind = next(k for k in KINDS[:0:-1] + KINDS[:1] if k[0] in name)
            if begun and begun[2] == kind and a - begun[1] < 1e-6:
                begun = (begun[0], b, kind)
                continue
            if begun:
                self.box(*begun)
            begun = (a, b, kind)
        if begun:
            self.box(*begun)
        self.y += ROW + GAP

    def curve(self, label, values):
        most = max(v for _, v in values) or 1
        self.label("%s (up to %d)" % (label, most))
        points, before = [(self.first, 0)], 0
        for t, v in values:
            points += [(t, before), (t, v)]
            before = v
        path = " ".join("%.2f,%.2f" % (self.x(t), self.y + 2 * ROW * (1 - v / most)) for t, v in points + [(self.last, before), (self.last, 0)])
        self.parts.append('<polygon points="%s" fill="#999999"/>' % path)
        self.y += 2 * ROW + GAP

    def axis(self):
        for i in range(7):
            t = self.first + (self.last - self.first) * i / 6
            self.parts.append('<line x1="%.1f" x2="%.1f" y1="4" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%.2f us</text>'
                              % (self.x(t), self.x(t), self.y, self.x(t), self.y + 14, t))
        self.y += 26

    def legend(self):
        x = LEFT
        for name, colour in (k for k in KINDS if k in self.used):
            width = 22 + 6.6 * len(name)
            if x + width > LEFT + WIDTH:
                x, self.y = LEFT, self.y + 18
            self.parts.append('<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>' % (
                x, self.y, colour, x + 16, self.y + 10, html.escape(name)))
            x += width + 10
        self.y += 20

    def text(self):
        return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">\n'
                '<rect width="100%%" height="100%%" fill="white"/>\n%s\n</svg>\n' % (LEFT + WIDTH + 40, self.y, "\n".join(self.parts)))


def main(path, cus):
    trace = Trace(path)
    everything = [s for slices in trace.slices.values() for s in slices]
    picture = Picture(min(s[0] for s in everything), max(s[1] for s in everything))
    for name, slices in trace.rows("GPU", lambda name: True):
        picture.row("kernels", [(a, b, "kernel", d) for a, b, _, d in slices])
    for cu in cus:
        for name, slices in trace.rows("CU %s" % cu, lambda name: name.startswith("wavefront") and ":" not in name):
            picture.row("CU %s, %s" % (cu, name), slices)
    for name, slices in trace.rows("persist barriers", lambda name: True):
        picture.row("persist barriers, " + name, [s for s in slices if s[3]])
    for (_, name), values in trace.counters.items():
        if name.startswith("nvram") and "writes" in name:
            picture.curve(name.replace(": in flight", " in flight").replace("channel ", "").replace(":", ""), values)
    picture.axis()
    axis = picture.parts.copy()
    picture.parts = [p for p in axis if p.startswith("<line")] + [p for p in axis if not p.startswith("<line")]
    picture.legend()
    sys.stdout.write(picture.text())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or ["0"])
