#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mutates C files in a copy of the tree, all mutants in one build, and asks the tests which of them they see.

Each mutated place of the copy chooses by the variable NVW_MUTANT of the environment, which a process reads once:
`a < b` becomes `(NVW_M(7) ? (a <= b) : (a < b))`. A place also notes, in a file that NVW_REACH names, that it was
executed. So one run of a test tells which mutants it can see at all, and only these are tried with it, the quickest
tests first. clang's index (python3-clang-14) says what is a relation, a constant, a statement, an argument.
"""
import argparse
import bisect
import collections
import fnmatch
import glob
import json
import os
import random
import re
import sys
import threading
import time
from ctypes import byref, c_uint, c_void_p

import faults
from faults import ROOT, Wrong

try:
    from clang import cindex
except ImportError:
    sys.exit('mutants.py: needs the bindings of clang\'s index: apt-get install python3-clang-14')

# What is mutated, and the tests that defend it: quick ones, for a sample. With --tests=* every test is asked.
AREAS = [
    ('emu/persist/*.c', 'persist buffered edges'),
    ('emu/{observe/record,memory/nvram,exec/store_buffer,exec/late_loads,wavefront/inserted}.c', 'persist buffered edges devices store-buffer consistency inserted undivided'),
    ('emu/{memory/cache,time/resource,exec/groups}.c', 'caches bookings lanes machine edges'),
    ('emu/races/*.c', 'races races-definition'),
    ('recovery/*.c', 'recovery pools-of-a-run device part-view kv'),
    ('lib/{pool,device}/*.c', 'recovery pools-of-a-run device kv'),
    ('lib/{log,check}/*.c', 'log check saved'),
    ('crashtest/states/*.c', 'explore sampling leaves closed mixed restores reads plan'),
    ('crashtest/states/models/*.c', 'explore sampling leaves closed mixed'),
    ('crashtest/parts/*.c', 'watch part-view parts parts-alone checker-parts'),
    ('crashtest/{explore,judge}/*.c', 'explore sampling plan modes reads hang misbehaving saved store-log'),
    ('crashtest/explain/*.c', 'cause need edit edit-order cure cost saved'),
    ('litmus/*.c', 'litmus-text litmus'),
]
RUNTIME = '''
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char nvw__nowhere[%(count)d];
unsigned char *nvw__reached = nvw__nowhere;
int nvw__mutant;
__attribute__((constructor(101))) static void nvw__choose_mutant(void)
{
	const char *mutant = getenv("NVW_MUTANT"), *reach = getenv("NVW_REACH");
	nvw__mutant = mutant != NULL ? atoi(mutant) : 0;
	const int file = reach != NULL ? open(reach, O_RDWR | O_CLOEXEC) : -1;
	void *map = file < 0 ? MAP_FAILED : mmap(NULL, %(count)d, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	nvw__reached = map != MAP_FAILED ? map : nvw__reached;
	if (file >= 0) {
		close(file);
	}
}
'''
PRELUDE = ('extern unsigned char *nvw__reached; extern int nvw__mutant;\n#define NVW_M(n) '
           '(nvw__reached[n] = 1, __builtin_expect(nvw__mutant == (n), 0))\n#line 1\n')
RUNTIME_IN = 'lib/core/error.c'  # part of every program
OPERATORS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&', '+': '-', '-': '+',
             '&': '|', '|': '&', '<<': '>>', '>>': '<<'}
# Deleted, these change nothing that a test could see; what they are given is for people.
UNSEEN = re.compile(r'free|\w*_free|fini|munmap|f?close|\w*_destroy|assert|\w*INVARIANT\w*|f?printf|nvw_fail(_errno)?|va_end|\w*_text')

# Their arguments are code like any other.
TRANSPARENT = ('NVW_FAIL_IF', 'NVW_FAIL_ERRNO_IF')

Mutant = collections.namedtuple('Mutant', 'path line kind before after start end')
K = cindex.CursorKind


# ---- Mutants of a file ----------------------------------------------------------------------------------------------


def one_line(text):
    text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)
    return re.sub(r'\s+', ' ', text).strip()


class Finder:
    """The mutants of one file, by its syntax tree."""

    def __init__(self, path, text, arguments):
        self.path, self.text, self.found = path, text, []
        self.bytes = text.encode()
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        unit = cindex.Index.create().parse(os.path.join(ROOT, path), args=arguments, options=options)
        errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            raise Wrong('%s: clang: %s' % (path, errors[0].spelling))
        here = [c for c in unit.cursor.get_children() if c.location.file and c.location.file.name == os.path.join(ROOT, path)]
        self.ends = {}
        self.macros = sorted(self.range(c) for c in here if c.kind == K.MACRO_INSTANTIATION and c.spelling not in TRANSPARENT)
        self.ends = dict(self.macros)
        for cursor in here:
            if cursor.kind == K.FUNCTION_DECL and cursor.is_definition():
                self.visit(list(cursor.get_children())[-1], cursor)

    def range(self, cursor):
        """Where it is written: a macro's argument in the argument, what the macro makes in the macro's use."""
        def offset_of(location):
            file, line, column, offset = c_void_p(), c_uint(), c_uint(), c_uint()
            cindex.conf.lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), byref(offset))
            return offset.value

        end = offset_of(cursor.extent.end)
        return offset_of(cursor.extent.start), self.ends.get(end, end)  # an argument that ends in a macro ends where that begins

    def source(self, start, end):
        return one_line(self.bytes[start:end].decode())

    def macro_around(self, cursor):
        """The macro's range that a cursor lies in, or None."""
        start, end = self.range(cursor)
        at = bisect.bisect_right(self.macros, (start, sys.maxsize)) - 1
        return self.macros[at] if at >= 0 and start >= self.macros[at][0] and end <= self.macros[at][1] else None

    def add(self, cursor, kind, after, before=None):
        start, end = self.range(cursor)
        line = self.bytes.count(b'\n', 0, start) + 1
        self.found.append(Mutant(self.path, line, kind, before or self.source(start, end), after, start, end))

    def visit(self, cursor, parent):
        kind, children = cursor.kind, list(cursor.get_children())
        if kind in (K.CXX_UNARY_EXPR, K.ASM_STMT, K.ENUM_DECL, K.STRUCT_DECL, K.UNION_DECL) or \
                kind == K.VAR_DECL and cursor.storage_class == cindex.StorageClass.STATIC:
            return
        if self.macro_around(cursor) and kind != K.COMPOUND_STMT:
            return
        if kind == K.CALL_EXPR:
            if UNSEEN.fullmatch(cursor.spelling):
                return
            self.swap_arguments(cursor)
        elif kind == K.BINARY_OPERATOR and len(children) == 2:
            self.other_operator(cursor, *children)
        elif kind == K.INTEGER_LITERAL:
            self.other_constant(cursor, parent)
        elif kind in (K.IF_STMT, K.WHILE_STMT, K.CONDITIONAL_OPERATOR) and not self.macro_around(children[0]):
            condition = self.source(*self.range(children[0]))
            self.add(children[0], 'negated', '!(%s)' % condition)
        elif kind == K.COMPOUND_STMT:
            for child in children:
                self.delete(child)
        elif kind == K.CASE_STMT:
            children = children[1:]
        elif kind == K.VAR_DECL:
            head = self.range(cursor)[0]
            children = [c for c in children if b'=' in self.bytes[head:self.range(c)[0]]]
        elif kind == K.COMPOUND_LITERAL_EXPR:
            children = [c for c in children if c.kind == K.INIT_LIST_EXPR]
        for child in children:
            self.visit(child, cursor)

    def swap_arguments(self, call):
        arguments = list(call.get_arguments())
        for one, two in zip(arguments, arguments[1:]):
            if one is None or two is None or self.macro_around(one) or self.macro_around(two):
                continue
            (a, b), (c, d) = self.range(one), self.range(two)
            same = one.type.get_canonical().spelling == two.type.get_canonical().spelling
            if same and a < b <= c < d and self.source(a, b) != self.source(c, d):
                start, end = self.range(call)
                swapped = ''.join((self.source(start, a), self.source(c, d), ', ', self.source(a, b), self.source(d, end)))
                self.add(call, 'swapped arguments', swapped)

    def other_operator(self, cursor, left, right):
        (a, b), (c, d) = self.range(left), self.range(right)
        operator = self.source(b, c)
        pointers = any(s.type.get_canonical().kind == cindex.TypeKind.POINTER for s in (left, right))
        if operator in OPERATORS and not (pointers and operator in '+-'):
            after = '%s %s %s' % (self.source(a, b), OPERATORS[operator], self.source(c, d))
            self.add(cursor, '%s for %s' % (OPERATORS[operator], operator), '(%s)' % after)

    def other_constant(self, cursor, parent):
        start, end = self.range(cursor)
        around = self.bytes[start - 1:start] + self.bytes[end:end + 1]
        text = self.source(start, end)
        if parent.type.get_canonical().kind == cindex.TypeKind.POINTER or around == b'[]' and parent.kind == K.INIT_LIST_EXPR or \
                not re.fullmatch(r'\w+', text):
            return
        self.add(cursor, 'constant', '%s + 1' % text)
        if int(re.sub(r'[uUlL]+$', '', text), 0) if text[0] in '123456789' else text != '0':
            self.add(cursor, 'constant', '%s - 1' % text)

    def delete(self, statement):
        start, end = self.range(statement)
        name = re.match(r'\w*', self.source(start, end))[0]
        macro = self.macro_around(statement)
        expression = statement.kind in (K.CALL_EXPR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR) or \
            statement.kind == K.BINARY_OPERATOR
        if name in TRANSPARENT and statement.kind == K.DO_STMT:
            self.add(statement, 'deleted', ';')
            return
        if macro and (macro != (start, end) or name != 'NVW_TRY') or not macro and not expression or UNSEEN.fullmatch(name):
            return
        self.add(statement, 'deleted', ';')


def mutated(text, numbered):
    """The text with all of its mutants, each with its number."""
    data, marks = text.encode(), []
    for order, (number, m) in enumerate(numbered):
        if m.kind == 'deleted':
            marks.append((m.start, 1, -m.end, order, 'if (!NVW_M(%d)) ' % number))
        else:
            marks.append((m.start, 1, -m.end, order, '(NVW_M(%d) ? %s : (' % (number, m.after)))
            marks.append((m.end, 0, -m.start, -order, '))'))
    parts, at = [], 0
    for place, _, _, _, mark in sorted(marks):
        parts += [data[at:place].decode(), mark]
        at = place
    return PRELUDE + ''.join(parts) + data[at:].decode()


def expand(pattern):
    match = re.search(r'\{([^}]*)\}', pattern)
    return [p for word in match[1].split(',') for p in expand(pattern.replace(match[0], word))] if match else [pattern]


def files_of(pattern):
    return sorted(os.path.relpath(path, ROOT) for p in expand(pattern) for path in
                  glob.glob(os.path.join(ROOT, p)))


# ---- The mutated tree -----------------------------------------------------------------------------------------------


class MutatedTree(faults.Tree):
    """A copy of the tree whose chosen files have all of their mutants. The same copy serves planted faults."""

    def __init__(self, folder, threads, paths):
        self.mutants, self.changed, self.dropped, self.paths = [], {}, set(), paths
        if os.path.isfile(os.path.join(folder, 'build', 'build.ninja')):  # else as it is first, for its commands
            self.root, self.build = folder, os.path.join(folder, 'build')
            self.find()
        super().__init__(folder, threads)
        if not self.mutants:
            self.find()
            self.copy()

    def text_of(self, path, data):
        return self.changed[path].encode() if path in self.changed else data

    def read_commands(self):
        """The options of a file that say how it is to be read."""
        with open(os.path.join(self.build, 'compile_commands.json'), encoding='utf-8') as file:
            commands = json.load(file)
        found = {}
        for entry in commands:
            path = os.path.relpath(os.path.normpath(os.path.join(entry['directory'], entry['file'])), self.root)
            words = re.findall(r"'-D[^']*'|\S+", entry['command'])
            words = [w.strip("'") for w in words if w.strip("'").startswith(('-I', '-D', '-std'))]
            found.setdefault(path, ['-I' + os.path.join(entry['directory'], w[2:]) if w.startswith('-I') else w for w in words] +
                             ['-iquote' + os.path.dirname(os.path.join(ROOT, path))])  # with -I, <limits.h> would be crashtest's
        return found

    def find(self):
        """All mutants of the files, in one order: their numbers begin with 1."""
        commands = self.read_commands()
        for path in self.paths:
            if path in commands:  # what this machine does not compile is no subject
                with open(os.path.join(ROOT, path), encoding='utf-8') as file:
                    self.mutants += Finder(path, file.read(), commands[path]).found
        self.write_mutants()

    def write_mutants(self):
        by_path = collections.defaultdict(list)
        for number, mutant in enumerate(self.mutants, 1):
            if number not in self.dropped:
                by_path[mutant.path].append((number, mutant))
        self.changed = {}
        for path in [RUNTIME_IN] + list(by_path):
            with open(os.path.join(ROOT, path), encoding='utf-8') as file:
                self.changed[path] = mutated(file.read(), by_path[path])
        self.changed[RUNTIME_IN] += RUNTIME % {'count': len(self.mutants) + 1}

    def make_all(self, suites):
        """Mutants that do not compile are left out, and the rest is built."""
        for _ in range(4):
            output = self.make(suites)
            if output is None:
                return
            wrong = {(os.path.normpath(os.path.join('build', path)), int(line)) for path, line in
                     re.findall(r'^(\S+?):(\d+):\d+: error', output, flags=re.M)}
            dropped = {n for n, m in enumerate(self.mutants, 1) if (m.path, m.line) in wrong} - self.dropped
            if not dropped:
                raise Wrong('the mutated tree does not build:\n%s' % output[-3000:])
            self.dropped |= dropped
            self.write_mutants()
            self.copy()
        raise Wrong('the mutated tree does not build after four rounds:\n%s' % output[-3000:])


# ---- Verdicts -------------------------------------------------------------------------------------------------------


class Trial:
    """Tells of each mutant which test sees it."""

    def __init__(self, tree, mutants, suites, most, jobs):
        self.tree, self.suites, self.most, self.jobs = tree, suites, most, jobs
        self.queue, self.lock = collections.deque(mutants), threading.Lock()
        self.took, self.reach, self.broken = {}, {}, []
        self.kills = collections.Counter()
        self.verdicts = {}

    def each(self, queue, what):
        def work():
            while True:
                with self.lock:
                    if not queue:
                        return
                    item = queue.popleft()
                what(item)
        workers = [threading.Thread(target=work) for _ in range(self.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def record(self, suite):
        """Without a mutant the suite passes; which places it executes, and how long that takes."""
        path = os.path.join(self.tree.root, 'reach-' + suite)
        with open(path, 'wb') as file:
            file.truncate(len(self.tree.mutants) + 1)
        start = time.monotonic()
        failure, passed = self.tree.ask(suite, 900, {'NVW_REACH': path})
        with open(path, 'rb') as file, self.lock:
            self.reach[suite], self.took[suite] = file.read(), time.monotonic() - start
            if failure or not passed:
                self.broken.append('%s does not pass without a mutant: %s' % (suite, failure or 'no test runs'))
        os.remove(path)

    def judge(self, number):
        mutant, left = self.tree.mutants[number - 1], self.most
        able = [s for s in self.suites if self.reach[s][number]]
        able.sort(key=lambda suite: (-self.kills[mutant.path, suite], self.took[suite]))
        verdict, asked = ('survived' if able else 'not reached'), []
        for suite in able:
            if asked and self.took[suite] > left:
                verdict = 'undecided'
                continue
            left -= self.took[suite]
            asked.append(suite)
            failure, _ = self.tree.ask(suite, 5 + 5 * self.took[suite], {'NVW_MUTANT': str(number)})
            if failure:
                verdict, asked = 'killed', ['%s: %s' % (suite, failure)]
                break
        detail = ' '.join(asked) + (', --most leaves no time for more' if verdict == 'undecided' else '')
        with self.lock:
            self.verdicts[number] = verdict
            self.kills[mutant.path, detail.partition(':')[0]] += verdict == 'killed'
            print('%-11s %s:%d: %s: %s -> %s' % (verdict if verdict == 'killed' else verdict.upper(), mutant.path, mutant.line,
                                               mutant.kind, mutant.before[:60], mutant.after[:60]))
            print('            ' + detail[:150], flush=True)

    def run(self):
        self.each(collections.deque(self.suites), self.record)
        if self.broken:
            raise Wrong('\n'.join(self.broken))
        print('reach of %d tests recorded in %.0f s' % (len(self.suites), sum(self.took.values())), flush=True)
        self.each(self.queue, self.judge)


def table(tree, verdicts):
    """A row per folder: what became of its mutants."""
    rows = collections.defaultdict(collections.Counter)
    for number, verdict in verdicts.items():
        rows[os.path.dirname(tree.mutants[number - 1].path)][verdict] += 1
        rows['all'][verdict] += 1
    print('%-28s %8s %8s %8s %11s %9s' % ('', 'mutants', 'killed', 'survived', 'not reached', 'undecided'))
    for folder, row in sorted(rows.items(), key=lambda r: (r[0] == 'all', r[0])):
        print('%-28s %8d %8d %8d %11d %9d' % (
            folder, sum(row.values()), row['killed'], row['survived'], row['not reached'], row['undecided']))
    return 100 * rows['all']['killed'] // max(1, len(verdicts))


def choose_files(arguments, dice):
    """All files of the table, those that are named, or a few for a sample: five mutants of each, larger files more often."""
    paths = list(dict.fromkeys(path for pattern, _ in AREAS for path in files_of(pattern)))
    paths = [p for p in paths if not arguments.names or any(p.startswith(name) for name in arguments.names)]
    if not paths:
        raise Wrong('no file of the table is in %s' % ' or '.join(arguments.names))
    drawn = []
    while arguments.sample and len(drawn) < min(len(paths), max(1, arguments.sample // 5)):
        left = [p for p in paths if p not in drawn]
        drawn += dice.choices(left, [os.path.getsize(os.path.join(ROOT, p)) for p in left])
    return drawn or paths


def draw(tree, arguments, dice):
    """The numbers of the mutants that are tried."""
    by_path = collections.defaultdict(list)
    for number, mutant in enumerate(tree.mutants, 1):
        if number not in tree.dropped:
            by_path[mutant.path].append(number)
    if not arguments.sample:
        return [number for numbers in by_path.values() for number in numbers]
    share = -(-arguments.sample // len(by_path))
    return [n for numbers in by_path.values() for n in sorted(dice.sample(numbers, min(share, len(numbers))))]


def tests_of(tree, wanted):
    """The tests that defend the files, or those of the patterns that are wanted."""
    if wanted:
        return [name for name in tree.tests if any(fnmatch.fnmatch(name, w) for w in wanted.split(','))]
    names = {name for pattern, tests in AREAS if set(tree.paths) & set(files_of(pattern)) for name in tests.split()}
    return [name for name in tree.tests if name in names]


def options():
    parser = argparse.ArgumentParser(
        description='Mutates C files in a copy of the tree, all mutants in one build, and asks the tests which they see. '
                    'Exit status: 0; 1 if fewer are killed than --least; 2 if the tree does not build, or fails without a mutant.')
    parser.add_argument('names', nargs='*', metavar='PATH', help='only mutants of these files and folders')
    parser.add_argument('--all', action='store_true', help='every mutant')
    parser.add_argument('--sample', type=int, metavar='N', help='N mutants, drawn at random')
    parser.add_argument('--seed', help='of the sample; without it, the name of the commit')
    parser.add_argument('--list', action='store_true', help='how many mutants each file has; nothing is built')
    parser.add_argument('--tests', metavar='PATTERNS', help='the tests that are asked: * for all; else those of the table')
    parser.add_argument('--most', type=float, default=60, metavar='SECONDS', help='for the tests of one mutant (60)')
    parser.add_argument('--least', type=int, default=0, metavar='PERCENT', help='so many have to be killed')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1, metavar='N', help='so many tests side by side')
    parser.add_argument('--folder', default=os.path.join(ROOT, 'build-faults'), help='for the copy (build-faults)')
    arguments = parser.parse_args()
    if not (arguments.names or arguments.all or arguments.sample or arguments.list):
        parser.error('expected --all, --sample=N, --list or files')
    return arguments


def main():
    arguments = options()
    seed = arguments.seed or faults.commit()
    dice = random.Random(seed)
    tree = MutatedTree(os.path.join(arguments.folder, 'tree'), os.cpu_count() or 1, choose_files(arguments, dice))
    if arguments.list:
        for path, count in sorted(collections.Counter(m.path for m in tree.mutants).items()):
            print('%6d %s' % (count, path))
        return 0
    suites = tests_of(tree, arguments.tests)
    tree.make_all(suites)
    drawn = draw(tree, arguments, dice)
    print('%d of %d mutants%s; %d do not compile' % (
        len(drawn), len(tree.mutants), ', --seed=' + seed if arguments.sample else '', len(tree.dropped)), flush=True)
    trial = Trial(tree, drawn, suites, arguments.most, arguments.jobs)
    trial.run()
    killed = table(tree, trial.verdicts)
    if killed < arguments.least:
        print('%d %% were killed, expected %d' % (killed, arguments.least))
        return 1
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Wrong as wrong:
        print('mutants.py: %s' % wrong, file=sys.stderr)
        sys.exit(2)
