#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_random.py NVWAVE NVCC: random CUDA kernels do what the host does (random_kernels.py, random_wide.py, random_arguments.py).

A few programs; with --programs=N as many, by all cores. What differs is printed with its seed, and --keep=FOLDER leaves its
source there. The options and the seed tell everything: the same ones make the same programs.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

import random_arguments
import random_kernels
import random_wide

MAKERS = {'random': random_kernels, 'wide': random_wide, 'arguments': random_arguments}
LEVELS = ['-O0', '-O1', '-O2', '-O3']
PROTOCOLS = ['vi', 'hlrc', 'dd', 'gh']
# These have what nvwave-nvcc once stumbled over: constants with padding, structures by value out of constant places.
SAMPLE = [(100, '-O0'), (103, '-O2', 'hlrc')]
# Its four kernels show most planted faults of arguments (tests/faults/doors.fault).
SAMPLE_OF_ARGUMENTS = (2, '-O2', 'vi')


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument('nvwave')
    parser.add_argument('nvcc')
    parser.add_argument('--programs', type=int, default=0, metavar='N', help='N programs instead of the sample')
    parser.add_argument('--first', type=int, default=1, metavar='SEED', help='of the programs (1)')
    parser.add_argument('--kernels', type=int, help='of each program (6, of the sample 3)')
    parser.add_argument('--wide', action='store_const', dest='kind', const='wide', help='programs of random_wide.py, with more of the language')
    parser.add_argument('--arguments', action='store_const', dest='kind', const='arguments',
                        help='programs of random_arguments.py: arguments of all types, of kernels and of functions')
    parser.add_argument('--workers', type=int, default=os.cpu_count(), metavar='N', help='programs at a time (one per core)')
    parser.add_argument('--every-protocol', action='store_true', help='on the machine under each of %s, not one of them' % ', '.join(PROTOCOLS))
    parser.add_argument('--machine-every', type=int, default=2, metavar='N', help='every Nth program also runs on the machine (2); 0: none')
    parser.add_argument('--keep', metavar='FOLDER', help='where what differs stays')
    return parser.parse_args()


def run(folder, *words):
    """Exit status 124: it did not end within 300 s."""
    done = subprocess.run(('timeout', '300') + words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', check=False)
    return done.returncode, done.stdout


class Bench:
    def __init__(self, arguments, folder):
        self.nvwave, self.nvcc = os.path.abspath(arguments.nvwave), os.path.abspath(arguments.nvcc)
        self.kernels, self.folder = arguments.kernels or (6 if arguments.programs else 3), folder
        self.kind = arguments.kind or 'random'
        self.host = '-w' if arguments.programs else '-w,-O0'  # the host's half takes as long as the device's

    def build(self, seed, level, plant=False):
        """The program's name, or None; what the compiler says."""
        name = '%s-%d%s%s' % (self.kind, seed, level, '-planted' if plant else '')
        with open(os.path.join(self.folder, name + '.cu'), 'w', encoding='utf-8') as file:
            file.write(MAKERS[self.kind].program(seed, self.kernels, plant))
        status, output = run(self.folder, self.nvcc, level, '-Xcompiler', self.host, '-o', name, name + '.cu')
        return (None if status else name), output

    def wrong(self, name, protocol=None):
        """What a program, run by itself or on the machine, finds wrong; '' if all is right."""
        words = ('./' + name,)
        if protocol:
            words = (self.nvwave, 'exec', '--protocol=' + protocol, '--report=' + name + '.report', '--') + words
        status, output = run(self.folder, *words)
        if protocol and run(self.folder, 'env', 'NVWAVE_CUDA_STACKS=1', *words) != (status, output):
            output += 'with stacks the output is another one\n'
        lines = output.splitlines()
        there, here = ([line.partition(' ')[2] for line in lines if line.startswith(side)] for side in ('device ', 'host '))
        good = status == 0 and lines[-1:] == ['right'] and there == here
        return '' if good else '%s%s: exit status %d\n%s\n' % (name, ' under ' + protocol if protocol else '', status, output)

    def one(self, seed, level, *protocols):
        """Builds and runs a program: what is wrong."""
        name, output = self.build(seed, level)
        return ''.join(self.wrong(name, protocol) for protocol in (None,) + protocols) if name else (
            'seed %d %s does not build:\n%s' % (seed, level, output))

    def remove(self, seed, level):
        for ending in ('', '.cu', '.report'):
            path = os.path.join(self.folder, '%s-%d%s%s' % (self.kind, seed, level, ending))
            if os.path.exists(path):
                os.remove(path)


tests = 0


def ok(wrong, name):
    global tests
    tests += 1
    for line in wrong.splitlines()[:20]:
        print('# ' + line)
    print('%sok %d - %s' % ('not ' if wrong else '', tests, name), flush=True)


def sample(bench):
    """A program each for two levels; one of arguments; the comparison itself."""
    ok(''.join(bench.one(*each) for each in SAMPLE), 'random_kernels_do_what_the_host_does')
    bench.kind, bench.kernels = 'arguments', 4
    ok(bench.one(*SAMPLE_OF_ARGUMENTS), 'random_arguments_travel_as_on_the_host')
    bench.kind, bench.kernels = 'random', 1
    name, output = bench.build(3, '-O1', True)
    found = bench.wrong(name) if name else ''
    expected = 'k0: b'
    ok('' if expected in found and 'expected' in found else 'expected "%s" in\n%s' % (expected, found or output),
       'one_wrong_bit_of_one_value_is_noticed')


def many(bench, arguments):
    def one(i):
        seed, level, protocols = arguments.first + i, LEVELS[(arguments.first + i) % len(LEVELS)], []
        if arguments.machine_every and i % arguments.machine_every == 0:
            protocols = PROTOCOLS if arguments.every_protocol else [PROTOCOLS[i // arguments.machine_every % len(PROTOCOLS)]]
        wrong = bench.one(seed, level, *protocols)
        if not wrong:
            bench.remove(seed, level)  # a thousand of them take much room
        return wrong
    with concurrent.futures.ThreadPoolExecutor(arguments.workers) as workers:
        found = [wrong for wrong in workers.map(one, range(arguments.programs)) if wrong]
    for wrong in found[1:]:
        print('# ' + '\n# '.join(wrong.splitlines()[:6]))
    ok(found[0] if found else '', '%d_random_programs_do_what_the_host_does' % arguments.programs)
    return 1 if found else 0


def main():
    arguments = options()
    if subprocess.run([arguments.nvcc, '-x', 'cu', '-M', '/dev/null'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        print('1..0 # SKIP there is no clang++ with its LLVM')
        return 0
    with tempfile.TemporaryDirectory(prefix='nvwave-random-') as folder:
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
        bench = Bench(arguments, arguments.keep or folder)
        if arguments.programs:
            return many(bench, arguments)
        sample(bench)
    print('1..%d' % tests)
    return 0


if __name__ == '__main__':
    sys.exit(main())
