#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns text files into a C table of {name, text}: embed.py OUTPUT TABLE FILE..."""
import os
import sys

output, table, files = sys.argv[1], sys.argv[2], sys.argv[3:]
with open(output, "w", encoding="utf-8") as out:
    out.write('#include "config/machines.h"\n\nconst struct emu_text %s[] = {\n' % table)
    for path in sorted(files):
        name = os.path.splitext(os.path.basename(path))[0]
        out.write('\t{"%s",\n' % name)
        with open(path, encoding="utf-8") as text:
            for line in text:
                escaped = line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
                out.write('\t\t"%s\\n"\n' % escaped)
        out.write("\t},\n")
    out.write("\t{0, 0},\n};\n")
