#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""layers.py ROOT: the includes of every folder, against ARCHITECTURE.md ("Folders and allowed dependencies").

Prints a line for each include that is not allowed and for each folder of C files that the table below lacks; exit status
1 if there is one. Includes that name no file of the tree are the system's, or generated.
"""
import os
import re
import sys

# What a folder's files may include besides their own: folders, or single files. None: everything. Of a folder in a folder
# that is named the inner one counts.
MAY_KNOW = {
    'lib': ['lib'],
    'recovery': ['lib'],
    'emu': ['lib'],
    'workloads': ['lib/nvw'],
    'papers': ['lib/nvw', 'workloads/common', 'workloads/tasks'],
    'crashtest': ['lib', 'recovery', 'emu'],
    'host': ['lib'],
    'host/fio_engine': ['lib', 'emu'],
    'host/cuda': ['lib', 'emu'],
    'litmus': ['lib', 'emu', 'crashtest'],
    'cli': None,
    'bench': None,
    'docs': None,
    'tests': None,
}
# Rooms of a folder, from the lowest: files of one include those of rooms below it. What stands together calls each other.
ROOMS = {'crashtest': [['states'], ['parts'], ['judge'], ['explore', 'explain'], ['requests']]}
# Part of programs that are not ours: they know the C library, files of their own folder on top, and what is whole in its header.
PRELOADED = ('host/preload/', 'host/program.c', 'crashtest/judge/fork_preload.c')
WHOLE_HEADERS = ('lib/core/bounds.h', 'lib/core/each.h', 'lib/core/invariant.h', 'lib/core/order.h', 'lib/nvw/random.h')
SEARCHED = ['', 'lib', 'emu', 'workloads', 'papers/kernels', 'litmus']
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def sources(root):
    for folder in sorted(os.listdir(root)):
        if folder.startswith(('.', 'build')) or os.path.isfile(os.path.join(root, folder, 'build.ninja')):
            continue
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith(('.c', '.h', '.def')):
                    yield os.path.relpath(os.path.join(path, name), root)


def resolve(root, path, name):
    for folder in [os.path.dirname(path)] + SEARCHED:
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(root, found)):
            return found
    return None


def height(path):
    """Of a file's room within its folder; None where rooms have no order, or for what stands in none."""
    folder, _, rest = path.partition('/')
    for i, rooms in enumerate(ROOMS.get(folder, [])):
        if rest.split('/')[0] in rooms:
            return i
    return None


def allowed(path, included):
    folder = path.split('/')[0]
    if included.startswith(folder + '/') and None not in (height(path), height(included)) and height(included) > height(path):
        return False
    if path.startswith(PRELOADED):
        return included.startswith(folder + '/') or included in WHOLE_HEADERS
    known = MAY_KNOW[max((k for k in MAY_KNOW if path.startswith(k + '/')), key=len)]
    return known is None or included.startswith(folder + '/') or any(
        included == k or included.startswith(k + '/') for k in known)


def main(root):
    wrong = 0
    for path in sources(root):
        if path.split('/')[0] not in MAY_KNOW:
            print('%s: its folder is not in the table' % path)
            wrong += 1
            continue
        with open(os.path.join(root, path), encoding='utf-8') as file:
            for name in INCLUDE.findall(file.read()):
                included = resolve(root, path, name)
                if included and not allowed(path, included):
                    print('%s includes %s' % (path, included))
                    wrong += 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
