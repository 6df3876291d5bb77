#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""maps.py ROOT: does the README of a folder name each of its C files, and only files that there are? ARCHITECTURE.md, too, names no others.

Of the folders of code in the tree that have a README. Where a README says `cmd_NAME.c` or `paper_*.c`, capitals and stars stand for any letters. Prints a line for
each file without a name and each name without a file; exit status 1 if there is one.
"""
import os
import re
import sys

NAME = re.compile(r'[\w*/-]*[\w*]\.c\b')


def folders(root):
    for path, inner, names in os.walk(root):
        inner[:] = [i for i in inner if not i.startswith(('.', 'build')) and
                    not os.path.isfile(os.path.join(path, i, 'build.ninja'))]
        yield os.path.relpath(path, root), names


def names_in(path):
    with open(path, encoding='utf-8') as file:
        return {os.path.basename(name) for name in NAME.findall(file.read())}


def stands_for(name, file):
    return re.fullmatch(re.sub(r'[A-Z]+|\*', r'\\w+', re.escape(name).replace(r'\*', '*')), file)


def main(root):
    tree = dict(folders(root))
    every = {file for names in tree.values() for file in names if file.endswith('.c')}
    everywhere = names_in(os.path.join(root, 'ARCHITECTURE.md'))
    wrong = []
    for folder, names in sorted(tree.items()):
        if folder in ('.', 'docs') or 'README.md' not in names:
            continue
        said = names_in(os.path.join(root, folder, 'README.md'))
        wrong += ['%s/%s: no README names it' % (folder, file) for file in sorted(names) if file.endswith('.c') and
                  not any(stands_for(name, file) for name in said)]
        wrong += ['%s/README.md: there is no %s' % (folder, name) for name in sorted(said) if
                  not any(stands_for(name, file) for file in every)]
    wrong += ['ARCHITECTURE.md: there is no %s' % name for name in sorted(everywhere) if
              not any(stands_for(name, file) for file in every)]
    print('\n'.join(wrong), end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
