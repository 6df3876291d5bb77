#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang.py BUILD: has clang neither an error nor a warning for any C file that a build of gcc's compiles?

It reads each file with the options of the build and makes no code: tests/fuzz/fuzz.sh builds and runs the command by clang.
One process reads many files of the same options: a clang of its own for each would spend most of its time in starting.
Prints what clang says; exit status 1 if it says something.
"""
import concurrent.futures
import glob
import json
import os
import re
import shlex
import subprocess
import sys

READ = ('-I', '-D', '-std=', '-W', '-isystem', '-include')
AT_ONCE = 40


def is_empty(word, folder):
    """Meson gives each target a folder of generated headers, which most have none of."""
    return word.startswith('-I') and word.endswith('.p') and not glob.glob(os.path.join(folder, word[2:], '*.h'))


def commands(build):
    """Once for each file and its definitions: folder and options, with their files."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        entries = json.load(file)
    met, found = set(), {}
    for entry in entries:
        words = [w.strip("'") for w in re.findall(r"'[^']*'|\S+", entry['command'])]
        options = tuple(w for before, w in zip([''] + words, words)
                        if (w.startswith(READ) and w != '-Winvalid-pch') or before in ('-isystem', '-include'))
        file = entry['file'], tuple(w for w in options if w.startswith('-D'))
        if entry['file'].endswith('.c') and file not in met:
            met.add(file)
            options = tuple(w for w in options if not is_empty(w, entry['directory']))
            found.setdefault((entry['directory'], options), []).append(entry['file'])
    return [(folder, options, files[i:i + AT_ONCE]) for (folder, options), files in found.items()
            for i in range(0, len(files), AT_ONCE)]


def read(command):
    """The driver says how it would read one file; the compiler proper takes all of them."""
    folder, options, files = command
    plan = subprocess.run(['clang', '-###', '-fsyntax-only', '-Werror', *options, files[0]], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False).stderr
    words = next((shlex.split(line) for line in plan.splitlines() if '"-cc1"' in line), None)
    if words is None or words.pop() != files[0]:
        return plan
    done = subprocess.run([*words, *files], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout + '%s: status %d\n' % (files[0], done.returncode) if done.returncode else ''


def main(build):
    every = commands(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(read, every) if text]
    print(''.join(said) + '%d files, %d processes with errors or warnings' % (sum(len(files) for _, _, files in every), len(said)))
    return 1 if said else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
