#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants faults in a copy of the tree, one at a time, and asks the tests whether they see them.

A test suite that nothing has ever failed proves little. The catalogue (*.fault, beside this file) has small edits of
the sources, each of them a mistake that somebody could make, and names the tests that defend the property it breaks.
This program applies an edit in a copy, builds what these tests need, runs them, and says `seen` or `survived`.
A fault that survives is a test that is missing.

The catalogue's format, README.md beside this file, in short:

    fault fence-of-every-thread
        A fence completes the flushes of every thread, not only its own.
        in crashtest/states/order.c, complete_flushes
        -   f->thread == thread
        +   true
        seen by store-log/a_fence_*, models
"""
import argparse
import collections
import configparser
import filecmp
import fnmatch
import functools
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# test.sh's optimised build, if it is there: a copy of it, with its objects, is where a fault is tried first.
BUILT = os.path.join(ROOT, 'build-release')
# The checks of a debug build are on, as in the sanitized build of test.sh, without the cost of the sanitizers.
MESON_OPTIONS = ['-Dtests=true', '-Dbuildtype=debug', '-Doptimization=1']
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\w+|[^\w\s]')

Edit = collections.namedtuple('Edit', 'path function old new')


class Fault:
    def __init__(self, name, place):
        self.name, self.place = name, place
        self.meaning, self.edits, self.suites = '', [], []


class Wrong(Exception):
    """A mistake in the catalogue, or a tree that it does not fit."""


# ---- The catalogue --------------------------------------------------------------------------------------------------


class Reader:
    """Reads one file of the catalogue, line by line."""

    def __init__(self, path):
        self.path, self.faults, self.number, self.sign = path, [], 0, None

    def place(self):
        return '%s:%d' % (os.path.relpath(self.path, ROOT), self.number)

    def wrong(self, text):
        raise Wrong('%s: %s' % (self.place(), text))

    def read(self):
        with open(self.path, encoding='utf-8') as file:
            for self.number, line in enumerate(file, 1):
                if line.strip() and not line.startswith('#'):
                    self.take(line.rstrip('\n'))
        for fault in self.faults:
            if not (fault.meaning and fault.edits and fault.suites and all(e.old for e in fault.edits)):
                raise Wrong('%s: %s: expected a sentence, "in FILE" with lines "-" and "+", and "seen by"' %
                            (fault.place, fault.name))
        return self.faults

    def take(self, line):
        if line.startswith('fault '):
            self.faults.append(Fault(line[6:].strip(), self.place()))
            return
        if not self.faults or not line[0].isspace():
            self.wrong('expected "fault NAME", found "%s"' % line)
        fault, text = self.faults[-1], line.strip()
        if text.startswith('in '):
            path, _, function = (part.strip() for part in text[3:].partition(','))
            fault.edits.append(Edit(path, function, [], []))
        elif text.startswith('seen by '):
            fault.suites += [suite.strip() for suite in text[8:].split(',')]
        elif text[0] in '-+' and fault.edits:
            (fault.edits[-1].old if text[0] == '-' else fault.edits[-1].new).append(text[1:].strip())
        elif not fault.edits:
            fault.meaning = (fault.meaning + ' ' + text).strip()
        else:
            self.wrong('expected "in", "-", "+" or "seen by", found "%s"' % text)


def catalogue():
    faults = [fault for path in sorted(glob.glob(os.path.join(HERE, '*.fault'))) for fault in Reader(path).read()]
    for name, count in collections.Counter(fault.name for fault in faults).items():
        if count > 1:
            raise Wrong('%s: two faults have this name' % name)
    return faults


# ---- Edits ----------------------------------------------------------------------------------------------------------


def pattern(lines):
    """The code of lines, however it is laid out."""
    tokens = TOKEN.findall(' '.join(lines))
    parts = [re.escape(tokens[0])]
    for before, token in zip(tokens, tokens[1:]):
        words = before[-1].isidentifier() and token[0].isidentifier()
        parts.append((r'\s+' if words else r'\s*') + re.escape(token))
    start = r'(?<!\w)' if re.match(r'\w', tokens[0]) else ''
    end = r'(?!\w)' if re.search(r'\w$', tokens[-1]) else ''
    return re.compile(start + ''.join(parts) + end)


def span_of(text, function):
    """From a function's head to the brace that ends it."""
    head = re.compile(r'^\w[^;{}]*?\b%s\([^;{}]*\n?\{\n' % re.escape(function), re.MULTILINE)
    found = list(head.finditer(text))
    if len(found) != 1:
        return None
    return found[0].start(), text.index('\n}', found[0].end() - 2)


def apply_edit(text, edit):
    """The text with the edit; Wrong unless its old code is there exactly once."""
    start, end = 0, len(text)
    where = edit.path + (', ' + edit.function if edit.function else '')
    if edit.function:
        span = span_of(text, edit.function)
        if span is None:
            raise Wrong('%s: no such function' % where)
        start, end = span
    found = list(pattern(edit.old).finditer(text, start, end))
    if len(found) != 1:
        raise Wrong('%s: "%s" is there %d times, expected once' % (where, ' '.join(edit.old), len(found)))
    return text[:found[0].start()] + '\n'.join(edit.new) + text[found[0].end():]


def planted(root, fault):
    """The files that the fault changes: path -> (text before, text after)."""
    files = {}
    for edit in fault.edits:
        path = os.path.join(root, edit.path)
        if path not in files:
            if not os.path.isfile(path):
                raise Wrong('%s: %s: no such file' % (fault.name, edit.path))
            with open(path, encoding='utf-8') as file:
                text = file.read()
            files[path] = (text, text)
        try:
            after = apply_edit(files[path][1], edit)
        except Wrong as wrong:
            raise Wrong('%s: %s does not apply: %s' % (fault.place, fault.name, wrong)) from None
        if after == files[path][1]:
            raise Wrong('%s: %s changes nothing' % (fault.place, fault.name))
        files[path] = (files[path][0], after)
    return files


def test_functions():
    """The names that a pattern behind a suite can mean."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, 'tests', '**', '*.c'), recursive=True):
        with open(path, encoding='utf-8') as file:
            names.update(re.findall(r'\b(?:cmocka_unit_test\w*|TEST)\(\s*(\w+)', file.read()))
    return names


def check(faults, root, tests):
    """Prints, as TAP, whether every fault fits the tree; tests: the names of meson's, or None."""
    functions, failed = test_functions(), 0
    print('1..%d' % len(faults))
    for number, fault in enumerate(faults, 1):
        wrong = None
        try:
            planted(root, fault)
        except Wrong as error:
            wrong = str(error)
        for suite in fault.suites:
            name, _, wanted = suite.partition('/')
            if tests is not None and name not in tests:
                wrong = '%s: there is no test %s' % (fault.place, name)
            if wanted and not fnmatch.filter(functions, wanted):
                wrong = '%s: no test function is called %s' % (fault.place, wanted)
        print('%sok %d - %s_applies' % ('not ' if wrong else '', number, fault.name.replace('-', '_')))
        if wrong:
            print('# ' + wrong)
            failed += 1
    return 1 if failed else 0


# ---- A copy of the tree, built --------------------------------------------------------------------------------------


def run_quietly(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def tree_files(root):
    status, listed = run_quietly(['git', 'ls-files', '-co', '--exclude-standard'], root)
    if status == 0:
        return [path for path in listed.splitlines() if os.path.isfile(os.path.join(root, path))]
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(('.', 'build'))]
        files += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return files


def options_of(built):
    """Those that the build folder was set up with; paths are relative to the tree."""
    parser = configparser.RawConfigParser()
    parser.read(os.path.join(built, 'meson-private', 'cmd_line.txt'), encoding='utf-8')
    options = dict(parser['options'], tests='true')
    if options.get('fio_src'):
        options['fio_src'] = os.path.join(ROOT, options['fio_src'])
    return ['-D%s=%s' % option for option in options.items()]


def durations_of(built):
    """How long each test has taken at the last run there."""
    path = os.path.join(built, 'meson-logs', 'testlog.json')
    if not os.path.isfile(path):
        return {}
    with open(path, encoding='utf-8') as file:
        return {test['name'].split(' / ')[-1]: test['duration'] for test in map(json.loads, file)}


class Tree:
    """A copy of the sources with a build folder of its own, in which one fault at a time is planted."""

    def __init__(self, folder, threads, built=None):
        """built: a build folder whose options and objects it begins with."""
        self.root, self.build, self.threads = folder, os.path.join(folder, 'build'), threads
        self.copy()
        self.link_data()
        if not os.path.isfile(os.path.join(self.build, 'build.ninja')):
            options = options_of(built) if built else MESON_OPTIONS
            status, output = run_quietly(['meson', 'setup', 'build'] + options, self.root)
            if status:
                raise Wrong('%s: meson setup fails:\n%s' % (self.root, output))
            if built:
                self.take_objects(built)
        else:
            run_quietly(['ninja', '-C', 'build', 'build.ninja'], self.root)
        with open(os.path.join(self.build, 'meson-info', 'intro-tests.json'), encoding='utf-8') as file:
            self.tests = {test['name']: test for test in json.load(file)}
        with open(os.path.join(self.build, 'meson-info', 'intro-targets.json'), encoding='utf-8') as file:
            self.targets = {target['id']: target['filename'] for target in json.load(file)}

    def copy(self):
        """Only what differs is written, so that only what differs is built again."""
        files = set(tree_files(ROOT))
        for path in files:
            source, target = os.path.join(ROOT, path), os.path.join(self.root, path)
            with open(source, 'rb') as file:
                own = file.read()
            data = self.text_of(path, own)
            if os.path.isfile(target):
                with open(target, 'rb') as file:
                    if file.read() == data:
                        continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, 'wb') as file:
                file.write(data)
            (shutil.copystat if data == own else shutil.copymode)(source, target)
        for path in tree_files(self.root) if os.path.isdir(os.path.join(self.root, '.git')) else []:
            if path not in files:
                os.remove(os.path.join(self.root, path))

    def take_objects(self, built):
        """With their times, and ninja's log of their commands: what has the same command here is not built again."""
        for folder, folders, names in os.walk(built):
            folders[:] = [f for f in folders if not f.startswith('meson-')]
            for name in names:
                source = os.path.join(folder, name)
                target = os.path.join(self.build, os.path.relpath(source, built))
                if os.path.isfile(source) and (not os.path.exists(target) or filecmp.cmp(source, target, shallow=False)):
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copy2(source, target)

    def text_of(self, path, data):
        """What the copy has in place of a file's bytes."""
        return data

    def link_data(self):
        """Tests look for real traces in ../shared of the tree."""
        shared, link = os.path.join(os.path.dirname(ROOT), 'shared'), os.path.join(os.path.dirname(self.root), 'shared')
        if os.path.isdir(shared) and not os.path.lexists(link):
            os.symlink(shared, link)

    def write(self, path, text):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def make(self, suites):
        """Builds what the suites need; the compiler's output if it fails, else None."""
        wanted = []
        for suite in suites:
            if suite.partition('/')[0] not in self.tests:
                raise Wrong('there is no test %s' % suite)
            test = self.tests[suite.partition('/')[0]]
            wanted += [name for target in test['depends'] for name in self.targets[target]]
            wanted += [test['cmd'][0]] if test['cmd'][0].startswith(self.build) else []
        names = sorted({os.path.relpath(path, self.build) for path in wanted})
        status, output = run_quietly(['ninja', '-j', str(self.threads)] + names, self.build)
        return output if status else None

    def ask(self, suite, limit, variables=None, until=None):
        """Runs a suite, as far as its first failure or the success of a subtest: what failed, or None; how many passed."""
        name, _, wanted = suite.partition('/')
        test = self.tests[name]
        environment = dict(os.environ, **test['env'], **(variables or {}))
        if wanted:
            environment['TEST_FILTER'] = wanted
        process = subprocess.Popen(test['cmd'], cwd=test.get('workdir') or self.build, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, errors='replace', start_new_session=True)
        hung = []
        timer = threading.Timer(limit, lambda: (hung.append(True), kill(process)))
        timer.start()
        failure, passed, skipped = None, 0, False
        for line in process.stdout:
            match = re.match(r'(not )?ok \d+ (?:- )?(.*)', line)
            passed += bool(match and not match.group(1) and not skipped)
            skipped = line.startswith('# skipped:') or (skipped and not match)
            if match and match.group(1):
                failure = match.group(2).strip()
                kill(process)
                break
            if match and until == match.group(2).strip():
                kill(process)
                break
        else:
            until = None
        process.stdout.close()
        status = process.wait()
        timer.cancel()
        kill(process)
        if failure is None and hung:
            failure = 'does not end within %d s' % limit
        elif failure is None and status and until is None:
            failure = 'signal %d' % -status if status < 0 else 'exit status %d' % status
        return failure, passed


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# ---- Verdicts -------------------------------------------------------------------------------------------------------


class Trial:
    """Faults, shared out to trees; the counts. trees: of each worker, what makes its trees: the cheapest first."""

    def __init__(self, faults, trees):
        self.faults, self.trees = sorted(faults, key=lambda f: [e.path for e in f.edits]), trees
        self.lock = threading.Lock()
        self.durations = durations_of(BUILT)
        self.sound = set()
        self.counts = collections.Counter()

    def say(self, verdict, fault, text, *more):
        with self.lock:
            self.counts[verdict] += 1
            print('%-9s %-46s %s' % (verdict if verdict == 'seen' else verdict.upper(), fault.name, text))
            for line in more:
                print('          ' + line)
            sys.stdout.flush()

    def limit(self, suite):
        """Other work may run beside, and a debug build is slower than the one that was measured."""
        return 60 + 8 * self.durations.get(suite.partition('/')[0], 80)

    def is_sound(self, tree, suite, failure):
        """Does what has failed pass without a fault?"""
        if (tree, suite, failure) not in self.sound:
            output = tree.make([suite])
            if output:
                raise Wrong('the tree does not build without a fault:\n%s' % output)
            alone = {'TEST_FILTER': failure} if re.fullmatch(r'\w+', failure) else {}
            if not self.passes(tree, suite, alone, failure) and not self.passes(tree, suite, {}, None):
                return False
            self.sound.add((tree, suite, failure))
        return True

    def passes(self, tree, suite, variables, until):
        failure, passed = tree.ask(suite, self.limit(suite), variables, until)
        return failure is None and passed > 0

    def try_suite(self, tree, files, suite):
        """With the fault: a verdict and what is to be said of it; None: the suite does not see it."""
        start = time.monotonic()
        try:
            for path, (_, after) in files.items():
                tree.write(path, after)
            output = tree.make([suite])
            if output:
                return 'does not build', [line for line in output.splitlines() if 'error' in line][:3]
            failure, passed = tree.ask(suite, self.limit(suite))
        finally:
            for path, (before, _) in files.items():
                tree.write(path, before)
        took = time.monotonic() - start
        if not failure:
            return None if passed else ('undecided', ['%s: no test runs' % suite])
        if not self.is_sound(tree, suite, failure):
            return 'undecided', ['%s does not pass without a fault: %s' % (suite, failure)]
        return 'seen', ['%s: %s (%.0f s)' % (suite.partition('/')[0], failure, took)]

    def one_in(self, tree, fault):
        """A suite is built and run when those before it have not seen the fault: the first nearly always has."""
        files = planted(tree.root, fault)
        for suite in fault.suites:
            verdict = self.try_suite(tree, files, suite)
            if verdict:
                return verdict
        return 'survived', [fault.meaning, 'not seen by ' + ', '.join(fault.suites)]

    def one(self, trees, fault):
        """What is not seen in a copy of the optimised build, or makes a warning there, is tried in the debug build."""
        for make in trees:
            verdict, text = self.one_in(make(), fault)
            if verdict == 'seen':
                self.say(verdict, fault, *text)
                return
        self.say(verdict, fault, fault.place, *text)

    def work(self, trees, queue):
        while True:
            with self.lock:
                if not queue:
                    return
                fault = queue.popleft()
            try:
                self.one(trees, fault)
            except Wrong as wrong:
                self.say('undecided', fault, str(wrong))

    def run(self):
        queue = collections.deque(self.faults)
        workers = [threading.Thread(target=self.work, args=(trees, queue)) for trees in self.trees]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        missed = len(self.faults) - self.counts['seen']
        print('%d faults: %d seen, %d survived%s' % (
            len(self.faults), self.counts['seen'], self.counts['survived'],
            ', %d undecided' % (missed - self.counts['survived']) if missed > self.counts['survived'] else ''))
        return 1 if missed else 0


def commit():
    status, output = run_quietly(['git', 'rev-parse', 'HEAD'], ROOT)
    return output.strip() if status == 0 else '0'


def choose(faults, arguments):
    if arguments.names:
        chosen = [f for f in faults if any(
            fnmatch.fnmatch(f.name, name) or any(e.path.startswith(name) for e in f.edits) for name in arguments.names)]
        if not chosen:
            raise Wrong('no fault and no file with faults is called %s' % ' or '.join(arguments.names))
        return chosen
    if arguments.sample:
        seed = arguments.seed or commit()
        print('a sample of %d, --seed=%s' % (min(arguments.sample, len(faults)), seed))
        return random.Random(seed).sample(faults, min(arguments.sample, len(faults)))
    return faults


def options():
    parser = argparse.ArgumentParser(
        description='Plants the faults of tests/faults in a copy of the tree and runs the tests meant to see them. '
                    'Exit status: 0 all were seen, 1 some were not, 2 the catalogue or the tree is wrong.')
    parser.add_argument('names', nargs='*', metavar='NAME', help='only these: names of faults (* and ?), files, folders')
    parser.add_argument('--all', action='store_true', help='the whole catalogue')
    parser.add_argument('--sample', type=int, metavar='N', help='N faults, drawn at random')
    parser.add_argument('--seed', help='of the sample; without it, the name of the commit')
    parser.add_argument('--list', action='store_true', help='what each fault breaks')
    parser.add_argument('--check', action='store_true', help='only whether every edit applies, as TAP')
    parser.add_argument('--tests', metavar='FILE', help="with --check: meson's intro-tests.json, which names the suites")
    parser.add_argument('--root', default=ROOT, help='with --check: the tree that is looked at')
    parser.add_argument('--jobs', type=int, default=1, metavar='N', help='so many copies of the tree side by side (1)')
    parser.add_argument('--folder', default=os.path.join(ROOT, 'build-faults'), help='for the copies (build-faults)')
    arguments = parser.parse_args()
    if not (arguments.names or arguments.all or arguments.sample or arguments.list or arguments.check):
        parser.error('expected --all, --sample=N, names, --list or --check')
    return arguments


def makers(folder, suffix, threads):
    """What makes the trees of a worker, each when it is needed, and once."""
    makes = [functools.cache(lambda: Tree(os.path.join(folder, 'tree' + suffix), threads))]
    if os.path.isfile(os.path.join(BUILT, 'build.ninja')):
        makes.insert(0, functools.cache(lambda: Tree(os.path.join(folder, 'copy' + suffix), threads, BUILT)))
    return makes


def main():
    arguments = options()
    faults = catalogue()
    if arguments.list:
        for fault in choose(faults, arguments):
            print('%-46s %s' % (fault.name, fault.meaning))
        return 0
    if arguments.check:
        tests = None
        if arguments.tests:
            with open(arguments.tests, encoding='utf-8') as file:
                tests = {test['name'] for test in json.load(file)}
        return check(faults, arguments.root, tests)
    chosen = choose(faults, arguments)
    threads = max(1, (os.cpu_count() or 1) // arguments.jobs)
    trees = [makers(arguments.folder, '-%d' % i if i else '', threads) for i in range(min(arguments.jobs, len(chosen)))]
    return Trial(chosen, trees).run()


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Wrong as wrong:
        print('faults.py: %s' % wrong, file=sys.stderr)
        sys.exit(2)
