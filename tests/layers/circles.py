#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""circles.py ROOT BUILD [KNOWN]: the calls between the files of each library go one way.

Reads the object files of the build (nm). A file calls another one if it needs a function that the other one defines. Tables are
no calls: a registry names its members, and they call what it offers. Prints each circle of calls that KNOWN (circles.known) does
not list, with its calls, and each listed line of which no file is in a circle any more. Exit status 1 if there is one.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NOT_SEARCHED = ('tests/', 'bench/', 'docs/')


def objects(root, build):
    """{target: {source file: object file}} of what has been built."""
    found = {}
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        commands = json.load(file)
    for command in commands:
        output, source = command['output'], os.path.join(command['directory'], command['file'])
        path, target = os.path.join(build, output), output.split('.p/')[0]
        if os.path.isfile(path) and not output.startswith(NOT_SEARCHED):
            found.setdefault(target, {})[os.path.relpath(source, root)] = path
    return found


def symbols(paths, options=()):
    """{object file: (functions that it needs, functions that it defines)}"""
    tables = {path: (set(), set()) for path in paths}
    output = subprocess.run(['nm', '-A', *options, *paths], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        path, rest = line.split(':', 1)
        kind, name = rest.split()[-2:]
        if kind == 'U':
            tables[path][0].add(name)
        elif kind in 'TW':
            tables[path][1].add(name)
    return tables


def exported(library):
    """What a library that is preloaded defines in place of the C library's functions: a call of such a name is meant for those."""
    if not library.endswith('.so') or not os.path.isfile(library):
        return set()
    return symbols([library], ['-D'])[library][1]


def calls(files, ignored):
    """{file: {file: names}}"""
    tables = symbols(list(files.values()))
    owner = {name: source for source, path in files.items() for name in tables[path][1] - ignored}
    graph = {}
    for source, path in files.items():
        edges = graph.setdefault(source, {})
        for name in sorted(tables[path][0] & owner.keys()):
            if owner[name] != source:
                edges.setdefault(owner[name], []).append(name)
    return graph


def reachable(graph, start):
    seen, todo = set(), [start]
    while todo:
        for other in graph[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def circles(graph):
    """Sets of files, each of which calls all others, if not at once."""
    reach = {source: reachable(graph, source) for source in graph}
    return {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}


def read_known(path):
    """Sets of files and folders ("emu/protocol/"), each under a line with its reason ("# ...")."""
    known = [set()]
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.startswith('#'):
                known += [set()] if known[-1] else []
            elif line.strip():
                known[-1].add(line.strip())
    return [k for k in known if k]


def names(listed, path):
    """Whether a line of the list is this file, or a folder that it is in."""
    return path == listed or listed.endswith('/') and path.startswith(listed)


def main(root, build, known_path=os.path.join(HERE, 'circles.known')):
    known, met, wrong = read_known(known_path), set(), 0
    for target, files in sorted(objects(root, build).items()):
        graph = calls(files, exported(os.path.join(build, target)))
        for circle in sorted(map(sorted, circles(graph))):
            met.update(circle)
            if any(all(any(names(line, path) for line in k) for path in circle) for k in known):
                continue
            wrong += 1
            print('%s: a circle of %d files that tests/layers/circles.known does not list' % (target, len(circle)))
            for a in circle:
                for b in sorted(set(graph[a]) & set(circle)):
                    print('\t%s calls %s: %s' % (a, b, ', '.join(graph[a][b])))
    for line in sorted(line for line in set().union(*known) if not any(names(line, path) for path in met)):
        print('%s is listed, but in no circle: strike it' % line)
        wrong += 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
