#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""litmus_cuda.py NVWAVE NVCC PROTOCOLS FILE[:TEXT]...: litmus tests as CUDA sources with inline PTX do what they do through nvwave's own API.

Of each file, the tests whose names contain TEXT. Each becomes a kernel, whose work-items take turns in every order of their operations, by the
clock, which orders nothing. It runs on the emulated machine with lines absent, in the L1s, and one of them there; each variable with a line of
its own, and two in a line. Then the outcome has to be seen if and only if "nvwave litmus" sees it under the same protocol, and no other final
state than there. Tests with barriers, persistency or remote scopes are left out. Prints a line of TAP for each test and protocol.
"""
import itertools, json, os, re, shutil, subprocess, sys, tempfile

SCOPES = {"wi": "cta", "sg": "cta", "wg": "cta", "dev": "gpu", "sys": "sys"}
WORD = r"(\w+)"
SYNC = r"\((plain|(\w+)\.(\w+))\)"


def asm(text, outputs="", inputs=""):
    return f'asm volatile("{text}" : {outputs} : {inputs} : "memory");'


def strict(order, scope):
    """Sequentially consistent atomics, as CUDA's C++ library makes them."""
    return (asm(f"fence.sc.{scope};") + " ", "acquire", "release") if order == "sc" else ("", order, order)


def access(kind, order, scope, register, variable, value):
    where, scope = f'"l"(v[{variable}])', SCOPES.get(scope)
    before, loads, stores = strict({"rlx": "relaxed", "acq": "acquire", "rel": "release"}.get(order, order), scope)
    if kind == "R":
        suffix = "" if scope is None else f".{loads}.{scope}"
        return before + asm(f"ld{suffix}.u32 %0, [%1];", f'"=r"({register})', where)
    suffix = "" if scope is None else f".{'relaxed' if order == 'sc' else stores}.{scope}"
    return before + asm(f"st{suffix}.u32 [%0], %1;", "", f'{where}, "r"({value})')


def exchange(kind, order, scope, register, variable, value, desired):
    order = {"rlx": "relaxed", "acq": "acquire", "rel": "release"}.get(order, "acq_rel")
    result = "unused" if register == "_" else register
    values = f'"r"({value})' + (f', "r"({desired})' if desired else "")
    places = "%2, %3" if desired else "%2"
    suffix = "b32" if kind in ("cas", "exch") else "u32"
    value = f'"l"(v[{variable}]), {values}'
    return asm(f"atom.{order}.{SCOPES[scope]}.{kind}.{suffix} %0, [%1], {places};", f'"=r"({result})', value)


def operation(text, variables):
    """C++ of one operation; None if it has none here."""
    guard, text = re.match(r"(?:\[(.*?)\])?\s*(.*)", text).groups()
    place = {v: i for i, v in enumerate(variables)}
    if m := re.fullmatch(rf"R{SYNC} {WORD}<-{WORD}", text):
        code = access("R", m[2], m[3], m[4], place[m[5]], None)
    elif m := re.fullmatch(rf"W{SYNC} {WORD}={WORD}", text):
        code = access("W", m[2], m[3], None, place[m[4]], m[5])
    elif m := re.fullmatch(rf"RMW\.{WORD}{SYNC} {WORD}<-{WORD},{WORD}(?:->{WORD})?", text):
        code = exchange(m[1], m[3], m[4], m[5], place[m[6]], m[7], m[8])
    elif m := re.fullmatch(r"F\((ar|sc)\.(\w+)\)", text):
        code = asm(f"fence.{'sc' if m[1] == 'sc' else 'acq_rel'}.{SCOPES[m[2]]};")
    elif m := re.fullmatch(rf"(?:MOV|ADD) {WORD}=([\w+]+)", text):
        code = f"{m[1]} = {m[2]};"
    else:
        return None
    return f"if ({guard}) {{ {code} }}" if guard else code


class Test:
    def __init__(self, text):
        self.name = re.match(r"\S+", text)[0]
        self.outcome = re.search(r"^outcome (.*)$", text, re.M)[1]
        self.initial = dict(re.findall(r"(\w+)=(\d+)", (re.search(r"^init (.*)$", text, re.M) or ["", ""])[1]))
        threads = re.findall(r"P\d+@wg(\d+)(?:,dev(\d+))?\{(.*?)\}", text, re.S)
        self.ops = [[op.strip() for op in re.split(r";", t[2])] for t in threads]
        block = [int(t[0]) for t in threads]
        self.place = [(b, block[:i].count(b)) for i, b in enumerate(block)]
        joined = " ".join(t[2] for t in threads)
        accesses = re.findall(r"<-(\w+)|W\([^)]*\) (\w+)=", joined)
        self.variables = list(dict.fromkeys(a or b for a, b in accesses))
        self.racy = re.search(r"^racy$", text, re.M) is not None
        self.registers = sorted(set(re.findall(r"\br\d+\b", joined)))
        self.code = [[operation(op, self.variables) for op in ops] for ops in self.ops]
        self.known = "nvm" not in text and not re.search(r"^nvram", text, re.M) and ".rem" not in joined and all(all(c) for c in self.code)

    def orders(self):
        """Of each order, the thread whose turn it is."""
        turns = [i for i, ops in enumerate(self.ops) for _ in ops]
        return sorted(set(itertools.permutations(turns))) if len(turns) < 9 else []

    def kernel(self, number):
        registers = ", ".join(f"{r} = 0" for r in self.registers + ["unused"])
        threads = []
        for i, code in enumerate(self.code):
            lines = [f"turn.begin({i}); {c}" for c in code]
            out = [f"out[{i * len(self.registers) + j}] = {r};" for j, r in enumerate(self.registers)]
            block, warp = self.place[i]
            threads.append(f"if (blockIdx.x == {block} && threadIdx.x == {32 * warp}) {{\n\t\t" + "\n\t\t".join(lines + out) + "\n\t}")
        return (f"__global__ void test_{number}(situation s, unsigned *out, unsigned long long *last)\n{{\n\tunsigned {registers};\n"
                f"\tunsigned *const *const v = s.v;\n"
                f"\tif (threadIdx.x % 32) {{ return; }}\n\tturner turn(last, s, {len(self.variables)});\n\t"
                + "\n\t".join(threads) + "\n\t(void)unused;\n}\n")

    def call(self, number):
        blocks, warps = (1 + max(p[k] for p in self.place) for k in (0, 1))
        orders = ", ".join('"' + "".join(map(str, o)) + '"' for o in self.orders())
        initial = ", ".join(self.initial.get(v, "0") for v in self.variables)
        return (f"\tstatic const char *const orders_{number}[] = {{{orders}}};\n\tstatic const unsigned initial_{number}[] = {{{initial}}};\n"
                f"\tfor (const char *order : orders_{number}) {{\n"
                f"\t\ttry_all(test_{number}, {number}, {blocks}, {32 * warps}, {len(self.variables)}, initial_{number}, order, "
                f"{len(self.ops) * len(self.registers)});\n\t}}\n")


SOURCE = r"""
#include <stdio.h>
#include <string.h>

enum { VARIABLES = 8, STEPS = 16, WORDS = 1024, START = 150, TURN = 200, WAYS = 16, WAY = 256 };

struct situation {
	unsigned *v[VARIABLES], *others;
	unsigned warm, steps;
	unsigned char order[STEPS];
};

// Who is next, by the clock, which orders nothing: a turn is longer than an operation. Turns begin after the last one has warmed its L1.
struct turner {
	long long from = 0;
	unsigned own = 0, next = 0;
	const situation &s;

	// Loads of lines of one set of the L1, more than it has ways, so that each takes its time; no variable is in that set.
	__device__ __noinline__ void wait(long long until)
	{
		while (clock64() < until) {
			unsigned unused;

			asm volatile("ld.u32 %0, [%1];" : "=r"(unused) : "l"(s.others + WAY * (next++ % (2 * WAYS))) : "memory");
		}
	}
	__device__ __noinline__ turner(unsigned long long *last, const situation &now, unsigned variables) : s(now)
	{
		for (unsigned i = 0; i < variables; i++) {
			unsigned seen;

			if (s.warm >> i & 1) {
				asm volatile("ld.u32 %0, [%1];" : "=r"(seen) : "l"(s.v[i]) : "memory");
			}
		}
		const long long ready = clock64();

		asm volatile("red.relaxed.gpu.max.u64 [%0], %1;" : : "l"(last), "l"(ready) : "memory");
		wait(ready + START);
		asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(from) : "l"(last) : "memory");
		from += 2 * START;
	}
	__device__ void begin(unsigned thread)
	{
		while (s.order[own] != thread) {
			own++;
		}
		wait(from + own++ * TURN);
	}
};

static unsigned *memory;

typedef void kernel(situation, unsigned *, unsigned long long *);

static void try_one(kernel *test, unsigned number, unsigned blocks, unsigned threads, unsigned variables, const unsigned *initial, situation s,
	unsigned outs, unsigned apart)
{
	static unsigned words[WORDS];

	memset(words, 0, sizeof words);
	for (unsigned i = 0; i < variables; i++) {
		words[256 + i * apart] = initial[i];
		s.v[i] = memory + 256 + i * apart;
	}
	cudaMemcpy(memory, words, sizeof words, cudaMemcpyHostToDevice);
	s.others = memory + WORDS + 128;
	test<<<blocks, threads>>>(s, memory, (unsigned long long *)memory + 64);
	cudaMemcpy(words, memory, sizeof words, cudaMemcpyDeviceToHost);

	printf("%u", number);
	for (unsigned i = 0; i < outs; i++) {
		printf(" %u", words[i]);
	}
	for (unsigned i = 0; i < variables; i++) {
		printf(" %u", words[256 + i * apart]);
	}
	puts("");
}

static void try_all(kernel *test, unsigned number, unsigned blocks, unsigned threads, unsigned variables, const unsigned *initial, const char *order,
	unsigned outs)
{
	const unsigned all = (1u << variables) - 1;
	situation s = {};

	for (s.steps = 0; order[s.steps]; s.steps++) {
		s.order[s.steps] = (unsigned char)(order[s.steps] - '0');
	}
	for (unsigned i = 0; i < 2 + (variables > 1 ? variables : 0); i++) {
		s.warm = i == 0 ? 0 : i == 1 ? all : 1u << (i - 2);
		try_one(test, number, blocks, threads, variables, initial, s, outs, 32);
		if (i < 2) {
			try_one(test, number, blocks, threads, variables, initial, s, outs, 1);
		}
	}
}
"""


def read(argument):
    path, _, only = argument.partition(":")
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"#.*", "", f.read())
    tests = [Test(t) for t in re.split(r"^test ", text, flags=re.M)[1:]]
    return path, [t for t in tests if any(o in t.name for o in (only.split(",") if only else [""])) and t.known and t.orders()]


def program(tests):
    text = SOURCE + "\n".join(t.kernel(i) for i, t in enumerate(tests)) + "\nint main()\n{\n\tcudaMalloc(&memory, (WORDS + 2 * WAYS * WAY) * sizeof *memory);\n"
    return (text + "".join(t.call(i) for i, t in enumerate(tests)) +
            '\treturn cudaDeviceSynchronize() != cudaSuccess;\n}\n')


def states_of(test, number, output):
    """Each final state: what every register and variable holds."""
    names = [f"{i}:{r}" for i in range(len(test.ops)) for r in test.registers] + test.variables
    rows = [line.split() for line in sorted(set(output.splitlines()))]
    return [dict(zip(names, map(int, row[1:]))) for row in rows if row[0] == str(number)]


def holds(outcome, state):
    text = re.sub(r"!(?!=)", " not ", outcome.replace("&&", " and ").replace("||", " or "))
    return eval(re.sub(r"\d+:\w+|\b[a-z]\w*\b", lambda m: m[0] if m[0] in ("and", "or", "not") else str(state[m[0]]), text), {})


def difference(test, states, api):
    """How the CUDA program's states differ from those of the API; '' if not."""
    seen, expected = any(holds(test.outcome, s) for s in states), api["seen"] > 0
    if seen != expected:
        return f"the outcome {test.outcome} is {'seen' if seen else 'never seen'}, and by nvwave litmus {'seen' if expected else 'never seen'}"
    there = {s["state"] for s in api["states_seen"]}
    names = re.findall(r"(\S+)=", next(iter(there)))
    here = {" ".join(f"{n}={s[n]}" for n in names) for s in states}
    return "" if here <= there else f"final states that nvwave litmus does not see: {sorted(here - there)}"


def main():
    nvwave, nvcc = map(os.path.abspath, sys.argv[1:3])
    if subprocess.run([nvcc, "-x", "cu", "-M", "/dev/null"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        print("1..0 # SKIP there is no clang++ with its LLVM")
        return 0
    files = [read(a) for a in sys.argv[4:]]
    tests, protocols, count, failed = [t for _, some in files for t in some], sys.argv[3].split(","), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "litmus.cu"), "w", encoding="utf-8") as f:
            f.write(program(tests))
        subprocess.run([nvcc, "-O1", "-o", "litmus", "litmus.cu"], cwd=folder, check=True)
        print(f"1..{len(protocols) * len(tests)}")
        for protocol in protocols:
            api, output = {}, ""
            for path, _ in files:
                said = subprocess.run([nvwave, "litmus", path, "--protocol=" + protocol, "--output-format=json"], capture_output=True, text=True)
                api.update({t["test"]: t for t in json.loads(said.stdout)["tests"]})
            # Stores stay in the L1; if an outcome is missing then, they leave it at once.
            for more in [], ["--set=l1.sfifo=1"]:
                ran = subprocess.run([nvwave, "exec", "--protocol=" + protocol, "--report=report", *more, "--", "./litmus"], cwd=folder, capture_output=True, text=True)
                output += ran.stdout if ran.returncode == 0 else ""
                wrong = [difference(t, states_of(t, i, output), api[t.name]) if output else "did not run: " + ran.stderr for i, t in enumerate(tests)]
                if not any(wrong):
                    break
            for i, test in enumerate(tests):
                count += 1
                failed += wrong[i] != ""
                print("".join(f"# {line}\n" for line in wrong[i].splitlines()), end="")
                print("not ok" if wrong[i] else "ok", count, "-", test.name.replace("/", "-") + "_under_" + protocol)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
