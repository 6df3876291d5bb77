#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""measure.py ROOT: how large the tree is and how much a line carries, a row per folder.

Of .c and .h files, without comments and strings: lines of code, tokens, functions, the median of tokens per function, conditional expressions per
1,000 lines, statements with two or more per 1,000 lines, invariants per function, lines of more than 110 columns (comments too), and the most files of one
kind in one folder. Then words of the documents: what has a letter or a digit, so the bars of tables are none. A function is a block at file level behind a closing parenthesis.
"""
import collections
import os
import re
import statistics
import subprocess
import sys

PARTS = ('lib', 'emu', 'recovery', 'crashtest', 'workloads', 'papers', 'litmus', 'host', 'cli', 'tests', 'bench', 'docs')
TOKEN = re.compile(r'[A-Za-z_]\w*|\.?\d[\w.]*|->|\+\+|--|<<=?|>>=?|[-+*/%&|^!=<>]=|&&|\|\||\.\.\.|[^\s\w]')
APART = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_texts(text):
    """Comments become blanks, with their lines kept; strings and characters a digit."""
    return APART.sub(lambda m: '\n' * m[0].count('\n') + ' ' if m[0].startswith('/') else '0', text)


def functions(code):
    """Tokens of each function's body."""
    depth, body, before = 0, [], ''
    for token in TOKEN.findall(re.sub(r'^\s*#(?:.*\\\n)*.*', '', code, flags=re.M)):
        if token == '{':
            if depth == 0:
                body, is_function = [], before == ')'
            depth += 1
        elif token == '}':
            depth -= 1
            if depth == 0 and is_function:
                yield body
        if depth > 0:
            body.append(token)
        before = token


def columns(line):
    return len(line.expandtabs(8))


def measure(root, files):
    count, sizes, folders = collections.Counter(), [], collections.Counter()
    for path in files:
        with open(os.path.join(root, path), encoding='utf-8') as file:
            text = file.read()
        code = without_texts(text)
        folders[os.path.dirname(path), path[-2:]] += 1
        count['wide'] += sum(columns(line) > 110 for line in text.splitlines())
        count['lines'] += sum(bool(line.strip()) for line in code.splitlines())
        count['tokens'] += len(TOKEN.findall(code))
        count['conditionals'] += code.count('?')
        count['doubled'] += sum(statement.count('?') > 1 for statement in re.split(r'[;{}]', code))
        count['invariants'] += len(re.findall(r'\b(?:NVW_(?:DEEP_)?INVARIANT|assert)\b(?!\.h)', code))
        sizes += [len(body) for body in functions(code)]
    thousands = max(count['lines'], 1) / 1000
    return (count['lines'], count['tokens'], len(sizes), statistics.median(sizes or [0]), count['conditionals'] / thousands,
            count['doubled'] / thousands, count['invariants'] / max(len(sizes), 1), count['wide'], max(folders.values(), default=0))


def main(root):
    tracked = subprocess.run(['git', '-C', root, 'ls-files'], check=True, capture_output=True, text=True).stdout.splitlines()
    code = [p for p in tracked if p.endswith(('.c', '.h'))]
    print('%-10s %8s %9s %9s %6s %6s %7s %10s %6s %6s' % ('', 'lines', 'tokens', 'functions', 'median', '?:', 'doubled', 'invariants', 'wide', 'folder'))
    for part in PARTS + ('all',):
        files = [p for p in code if part == 'all' or p.startswith(part + '/')]
        print('%-10s %8d %9d %9d %6d %6.1f %7.2f %10.3f %6d %6d' % ((part,) + measure(root, files)))
    words = 0
    for path in tracked:
        if path.endswith('.md'):
            with open(os.path.join(root, path), encoding='utf-8') as file:
                words += sum(any(c.isalnum() for c in word) for word in file.read().split())
    print('%d words of documents' % words)


if __name__ == '__main__':
    main(sys.argv[1])
