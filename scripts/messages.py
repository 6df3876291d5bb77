#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""messages.py ROOT: prints every message that the sources can give a user, a line each: file:line: message. They are read
in a row, as no user ever meets them. Exit status 1 if one breaks the idiom: a clause that begins in lower case or with a
name, without a full stop, of plain words."""
import os
import re
import sys

CALL = re.compile(r'\b(?:nvw_fail|nvw_fail_errno|NVW_FAIL_IF|NVW_FAIL_ERRNO_IF|NVW_ALLOCATED|LITMUS_FAIL|LITMUS_FAIL_IF|nvw_violation|cli_options_surplus|damaged|bad_access)\s*\(')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
FOLDERS = ("lib", "recovery", "emu", "workloads", "crashtest", "litmus", "host", "cli")

# Words that plain English does not put there.
INVERTED = re.compile(r"no place beside|what goes before|\b(?:is|are|was) told\b|what is asked|so often|who knows of whom|makes room beside|\bnobody\b|what\? |which \w+\?|dies of|has taken it back")


def call_text(source, at):
    """The call from its opening parenthesis to the closing one; literals are skipped."""
    depth, i = 0, at
    while i < len(source):
        c = source[i]
        if c == '"':
            i = LITERAL.match(source, i).end()
            continue
        if c == "'":
            i += 4 if source[i + 1] == "\\" else 3
            continue
        depth += (c == "(") - (c == ")")
        i += 1
        if depth == 0:
            break
    return source[at:i]


def messages(path):
    source = open(path, errors="replace").read()
    for m in CALL.finditer(source):
        text = call_text(source, m.end() - 1)
        line = source.count("\n", 0, m.start()) + 1
        text = re.sub(r'"\s*(?:PRI\w+\s*)"', "…", text)
        text = re.sub(r'"\s+"', "", text)
        for literal in LITERAL.findall(text):
            if " " in literal.strip():
                yield line, literal


def problem(text):
    if text.rstrip().endswith(".") and not text.endswith("..."):
        return "ends with a full stop"
    if re.match(r"[A-Z][a-z]+ [a-z]", text):
        return "begins with a capital letter"
    found = INVERTED.search(text)
    return "says \"%s\"" % found.group(0) if found else None


def main():
    root, bad, count = sys.argv[1], 0, 0
    for folder in FOLDERS:
        for where, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(n for n in names if n.endswith(".c")):
                path = os.path.join(where, name)
                for line, text in messages(path):
                    wrong = problem(text)
                    count += 1
                    bad += wrong is not None
                    print("%s:%d: %s%s" % (os.path.relpath(path, root), line, text, "   <-- " + wrong if wrong else ""))
    print("%d messages, %d break the idiom" % (count, bad))
    return bad > 0


sys.exit(main())
