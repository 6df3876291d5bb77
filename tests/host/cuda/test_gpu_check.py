#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_gpu_check.py NVWAVE NVCC ROOT: what scripts/gpu_check.sh needs of nvwave, without a GPU.

Its litmus program runs under nvwave, whose kernels run one work-item after the other; a final state that no protocol shows is wrong if it is
planted into the program's rows, and printed alone if its test is racy.
"""
import os
import subprocess
import sys
import tempfile

nvwave, nvcc, root = map(os.path.abspath, sys.argv[1:4])
LITMUS = os.path.join(root, 'litmus/tests/hrf.litmus')
GPU_LITMUS = os.path.join(root, 'tests/host/cuda/gpu_litmus.py')
tests = 0


def ok(right, name, said=''):
    global tests
    tests += 1
    for line in said.splitlines() if not right else []:
        print('# ' + line)
    print('%sok %d - %s' % ('' if right else 'not ', tests, name))


def run(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    return done.returncode, done.stdout


def judge(folder, selection, *more):
    """What the judge says of the rows of the program and more ones."""
    path, said = os.path.join(folder, 'rows'), run(os.path.join(folder, 'litmus'), '3', '2')[1]
    with open(path, 'w', encoding='utf-8') as file:
        file.write(said + ''.join(row + '\n' for row in more))
    return run(sys.executable, GPU_LITMUS, 'judge', os.path.join(folder, 'states'), path, selection)


def litmus(folder):
    selection = LITMUS + ':message-passing-agent,too-narrow'  # the second one is racy
    with open(os.path.join(folder, 'litmus.cu'), 'w', encoding='utf-8') as file:
        file.write(run(sys.executable, GPU_LITMUS, 'source', selection)[1])
    with open(os.path.join(folder, 'states'), 'w', encoding='utf-8') as file:
        file.write(run(nvwave, 'litmus', LITMUS, '--test=hrf/', '--output-format=json')[1])
    status, said = run(nvcc, '-O1', '-o', 'litmus', 'litmus.cu', cwd=folder)
    ok(status == 0, 'litmus_tests_build_as_one_program', said)
    status, said = judge(folder, selection)
    ok(status == 0 and said.count(' of ') == 5 and 'no protocol' not in said, 'final_states_under_nvwave_are_those_of_litmus', said)
    status, said = judge(folder, selection, '0 1 0 1 1 7')
    ok(status == 1 and 'wrong: no protocol shows 1:r0=1 1:r1=0, the GPU 7 times' in said, 'a_state_that_no_protocol_shows_is_wrong', said)
    status, said = judge(folder, selection, '1 0 1 1 1 7')
    ok(status == 0 and 'racy: no protocol shows 1:r0=0 1:r1=1, the GPU 7 times' in said, 'racy_tests_promise_nothing', said)


if run(nvcc, '-x', 'cu', '-M', '/dev/null')[0]:
    print("1..0 # SKIP there is no clang++ with its LLVM")
    sys.exit(0)
with tempfile.TemporaryDirectory(prefix='nvwave-gpu-') as top:
    litmus(top)
    status, output = run(os.path.join(root, 'scripts/gpu_check.sh'), env=dict(os.environ, PATH='/usr/bin:/bin', NVCC='/nonexistent/nvcc'))
    has_gpu = not run('sh', '-c', 'command -v nvidia-smi')[0]
    ok(has_gpu or (status == 0 and output.startswith('skipped: there is no NVIDIA GPU')), 'without_a_gpu_the_script_says_so', output)
print('1..%d' % tests)
