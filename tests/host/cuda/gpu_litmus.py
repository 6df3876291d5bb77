#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpu_litmus.py source FILE... | judge STATES ROWS FILE...: litmus tests as one CUDA program for a real GPU (scripts/gpu_check.sh).

"source" prints the program, of the tests that litmus_cuda.py can write as inline PTX. It runs many instances of a test at a time: threads of one
work-group are warps of a block, work-groups are blocks, and an instance's threads are different lanes each time. "prog ROUNDS GROUPS" prints a
row for each final state: the test's number, what registers and variables hold, and how often.

"judge" compares such rows with what "nvwave litmus --protocol=each --output-format=json" wrote to STATES. A final state that no protocol shows is
wrong: exit status 1. Of tests that are declared racy CUDA promises nothing, so it is printed only. The table says as well how many of nvwave's
states the GPU shows.
"""
import json, sys
from collections import Counter, defaultdict

from litmus_cuda import holds, read

SOURCE = r"""#include <stdio.h>
#include <stdlib.h>

enum { VARIABLES = 6, FIELDS = 12, BITS = 5, STATES = 1024, SPINS = 1 << 14, MOST = 256 };
typedef unsigned long long word;

// Where an instance's variables are, and what this round does before it begins.
struct trial {
	unsigned *memory, *out, *arrived, initial[VARIABLES];
	unsigned instances, stride, variables, warm, delay, seed;

	__device__ unsigned *at(unsigned variable, unsigned instance) const
	{
		return memory + ((size_t)variable * instances + instance) * stride;
	}
};

static __device__ unsigned mixed(unsigned x)
{
	x = (x ^ x >> 16) * 0x45d9f3b;
	x = (x ^ x >> 16) * 0x45d9f3b;
	return x ^ x >> 16;
}

// The instance of this lane, as thread number "thread" of the test: another one in each round. A block has "slots" instances, a power of two.
static __device__ unsigned instance_of(const trial &r, unsigned blocks, unsigned warps, unsigned thread)
{
	const unsigned slots = blockDim.x / warps, slot = threadIdx.x / 32 / warps * 32 + threadIdx.x % 32;
	const unsigned other = mixed(r.seed * 16 + thread);

	return blockIdx.x / blocks * slots + (slot * (other | 1) + (other >> 16)) % slots;
}

// All blocks begin together, as far as they are there at once; lanes then wait for times of their own.
static __device__ void begin(const trial &r, unsigned instance)
{
	for (unsigned v = 0, seen; r.warm && v < r.variables; v++) {
		asm volatile("ld.u32 %0, [%1];" : "=r"(seen) : "l"(r.at(v, instance)) : "memory");
	}
	if (threadIdx.x == 0) {
		atomicAdd(r.arrived, 1);
		for (unsigned i = 0; i < SPINS && *(volatile unsigned *)r.arrived < gridDim.x; i++) {
		}
	}
	__syncthreads();
	const unsigned wait = r.delay ? mixed(r.seed + threadIdx.x / 32 + blockIdx.x * 64) % r.delay : 0;

	for (const long long from = clock64(); clock64() - from < wait;) {
	}
}

static __global__ void reset(trial r)
{
	const unsigned instance = blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned v = 0; instance < r.instances && v < r.variables; v++) {
		*r.at(v, instance) = r.initial[v];
	}
}

static __global__ void count(trial r, unsigned outs, word *states, word *counts)
{
	const unsigned instance = blockIdx.x * blockDim.x + threadIdx.x;
	word key = 0;

	if (instance >= r.instances) {
		return;
	}
	for (unsigned i = 0; i < outs; i++) {
		key = key << BITS | r.out[(size_t)instance * outs + i] % 32;
	}
	for (unsigned v = 0; v < r.variables; v++) {
		key = key << BITS | *r.at(v, instance) % 32;
	}
	for (unsigned i = (unsigned)key % STATES;; i = (i + 1) % STATES) {
		const word old = atomicCAS(states + i, ~0ull, key);

		if (old == ~0ull || old == key) {
			atomicAdd(counts + i, 1ull);
			return;
		}
	}
}

struct test {
	void (*kernel)(trial);
	unsigned blocks, warps, outs, variables, initial[VARIABLES];
};

static int failed(const char *what)
{
	const cudaError_t error = cudaDeviceSynchronize();

	if (error != cudaSuccess) {
		fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
	}
	return error != cudaSuccess;
}

static void print(unsigned number, unsigned fields, const word *states, const word *counts)
{
	for (unsigned i = 0; i < STATES; i++) {
		if (counts[i]) {
			printf("%u", number);
			for (unsigned f = fields; f-- > 0;) {
				printf(" %llu", states[i] >> f * BITS & 31);
			}
			printf(" %llu\n", counts[i]);
		}
	}
}

// Lines are shared by instances in some rounds, and warm in every second one; delays are longer in later ones.
static int try_test(const test &t, unsigned number, unsigned rounds, unsigned groups)
{
	static const unsigned strides[] = {1, 8, 32}, delays[] = {0, 64, 1024, 8192};
	static word states[STATES], counts[STATES];
	const unsigned slots = MOST / t.warps >= 128 ? 128 : 64;
	word *seen;
	trial r = {};

	r.instances = groups * slots;
	r.variables = t.variables;
	for (unsigned v = 0; v < t.variables; v++) {
		r.initial[v] = t.initial[v];
	}
	cudaMalloc(&r.memory, (size_t)r.instances * t.variables * 32 * sizeof *r.memory);
	cudaMalloc(&r.out, ((size_t)r.instances * t.outs + 1) * sizeof *r.out);
	cudaMalloc(&r.arrived, sizeof *r.arrived);
	cudaMalloc(&seen, 2 * sizeof states);
	cudaMemset(seen, 0xff, sizeof states);
	cudaMemset(seen + STATES, 0, sizeof states);
	for (unsigned i = 0; i < rounds; i++) {
		r.stride = strides[i % 3];
		r.warm = i / 3 % 2;
		r.delay = delays[i / 6 % 4];
		r.seed = i + 1;
		cudaMemset(r.arrived, 0, sizeof *r.arrived);
		reset<<<(r.instances + 255) / 256, 256>>>(r);
		t.kernel<<<groups * t.blocks, slots * t.warps>>>(r);
		count<<<(r.instances + 255) / 256, 256>>>(r, t.outs, seen, seen + STATES);
	}
	if (failed("a test")) {
		return 1;
	}
	cudaMemcpy(states, seen, sizeof states, cudaMemcpyDeviceToHost);
	cudaMemcpy(counts, seen + STATES, sizeof counts, cudaMemcpyDeviceToHost);
	print(number, t.outs + t.variables, states, counts);
	cudaFree(r.memory);
	cudaFree(r.out);
	cudaFree(r.arrived);
	cudaFree(seen);
	return 0;
}
"""

MAIN = r"""
int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1, groups = argc > 2 ? (unsigned)atoi(argv[2]) : 1;

	for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++) {
		if (try_test(tests[i], i, rounds, groups)) {
			return 1;
		}
	}
	return 0;
}
"""


def fields(test):
    return [(i, r) for i, code in enumerate(test.code) for r in test.registers if any(r in c for c in code)]


def kernel(test, number):
    blocks, warps = (1 + max(p[k] for p in test.place) for k in (0, 1))
    own, text = fields(test), ""
    for i, code in enumerate(test.code):
        block, warp = test.place[i]
        out = [f"r.out[(size_t)instance * {len(own)} + {j}] = {r};" for j, (t, r) in enumerate(own) if t == i]
        lines = [f"unsigned *const v[] = {{{', '.join(f'r.at({k}, instance)' for k in range(len(test.variables)))}}};", "begin(r, instance);"] + code + out
        text += (f"\tif (blockIdx.x % {blocks} == {block} && threadIdx.x / 32 % {warps} == {warp}) {{\n"
             f"\t\tconst unsigned instance = instance_of(r, {blocks}, {warps}, {i});\n\t\t" + "\n\t\t".join(lines) + "\n\t\treturn;\n\t}\n")
    registers = ", ".join(f"{r} = 0" for r in test.registers + ["unused"])
    return (f"static __global__ void test_{number}(trial r)\n{{\n\tunsigned {registers};\n{text}\tbegin(r, 0);\n\t(void)unused;\n}}\n")


def row(test, number):
    blocks, warps = (1 + max(p[k] for p in test.place) for k in (0, 1))
    initial = ", ".join(test.initial.get(v, "0") for v in test.variables)
    return f"\t{{test_{number}, {blocks}, {warps}, {len(fields(test))}, {len(test.variables)}, {{{initial}}}}},\n"


def source(tests):
    return (SOURCE + "\n".join(kernel(t, i) for i, t in enumerate(tests)) + "\nstatic const test tests[] = {\n" +
        "".join(row(t, i) for i, t in enumerate(tests)) + "};\n" + MAIN)


def judge(tests, by_nvwave, rows):
    """The table's lines; how many tests have a state that no protocol shows."""
    states, wrong, table = defaultdict(set), 0, []
    for t in by_nvwave:
        states[t["test"]] |= {s["state"] for s in t["states_seen"]}
    for number, test in enumerate(tests):
        names, seen, outcome = [f"{i}:{r}" for i, r in fields(test)] + test.variables, Counter(), 0
        expected = states[test.name]
        if not expected:
            continue
        shown = [part.split("=")[0] for part in next(iter(expected)).split()]
        for each in (r for r in rows if r[0] == number):
            state = dict(zip(names, each[1:-1]))
            seen[" ".join(f"{n}={state[n]}" for n in shown)] += each[-1]
            outcome += each[-1] if holds(test.outcome, state) else 0
        known = any(holds(test.outcome, dict((p.split("=")[0], int(p.split("=")[1])) for p in s.split())) for s in expected)
        new = sorted(set(seen) - expected)
        wrong += bool(new) and not test.racy
        table.append("%-45s %2d of %2d  %-5s %12d of %d%s" % (test.name, len(set(seen) & expected), len(expected), "some" if known else "none", outcome,
            sum(seen.values()), "".join(f"\n    {'racy' if test.racy else 'wrong'}: no protocol shows {s}, the GPU {seen[s]} times" for s in new)))
    return table, wrong


def main():
    files = sys.argv[2:] if sys.argv[1] == "source" else sys.argv[4:]
    tests = [t for f in files for t in read(f)[1]]
    if sys.argv[1] == "source":
        print(source(tests))
        return 0
    with open(sys.argv[2], encoding="utf-8") as f:
        by_nvwave = json.load(f)["tests"]
    with open(sys.argv[3], encoding="utf-8") as f:
        rows = [[int(n) for n in line.split()] for line in f]
    table, wrong = judge(tests, by_nvwave, rows)
    print("%-45s %-8s  %-5s %s" % ("test", "states", "asked", "its outcome on the GPU, of all instances"))
    print("\n".join(table))
    return wrong > 0


sys.exit(main())
