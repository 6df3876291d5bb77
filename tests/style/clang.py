#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang.py BUILD: has clang neither an error nor a warning for any C file that a build of gcc's compiles?

It reads each file with the options of the build and makes no code: tests/fuzz/fuzz.sh builds and runs the command by clang.
Prints what clang says; exit status 1 if it says something.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

READ = ('-I', '-D', '-std=', '-W', '-isystem', '-include')


def commands(build):
    """One of each file and its definitions: folder, words."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        words = [w.strip("'") for w in re.findall(r"'[^']*'|\S+", entry['command'])]
        options = tuple(w for before, w in zip([''] + words, words)
                        if (w.startswith(READ) and w != '-Winvalid-pch') or before in ('-isystem', '-include'))
        if entry['file'].endswith('.c'):
            defined = tuple(w for w in options if w.startswith('-D'))
            found.setdefault((entry['file'], defined), (entry['directory'], options))
    return [(path, folder, options) for (path, _), (folder, options) in found.items()]


def read(command):
    path, folder, options = command
    done = subprocess.run(['clang', '-fsyntax-only', '-Werror', *options, path], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout if done.returncode else ''


def main(build):
    every = commands(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(read, every) if text]
    print(''.join(said) + '%d files, %d with errors or warnings' % (len(every), len(said)))
    return 1 if said else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
