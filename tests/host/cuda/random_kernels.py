# SPDX-License-Identifier: BSD-3-Clause
"""Random CUDA programs that check themselves: random_kernels.program(seed) is the text of one.

A program has buffers, structures, functions for both sides, and a few kernels, each launched once. Every kernel has a
twin, a function of the host that does the same for one work-item after the other. After each launch the program
compares all buffers with the twin's, field by field, and says where they differ; its exit status is 1 then.

A kernel is a list of phases with barriers between them; the twin runs a phase for all work-items of a block before the
next one. Within a phase no two work-items touch the same data unless both read it or both update it by the same atomic,
whose order does not matter. So there is one right result. All arithmetic is defined: it is done without sign, or cannot
overflow; shifts and indices are bounded, divisors are not 0.
"""
import random
import re

SCALARS = {'i8': 8, 'u8': 8, 'i16': 16, 'u16': 16, 'i32': 32, 'u32': 32, 'i64': 64, 'u64': 64}
ATOMICS = {'u32': ['Add', 'Sub', 'Min', 'Max', 'And', 'Or', 'Xor', 'Inc', 'Dec', 'Multiply'],
           'u64': ['Add', 'Min', 'Max', 'And', 'Or', 'Xor'], 'i32': ['Add', 'Min', 'Max']}
BUFFER_ELEMENTS = 512
WORK_ITEMS_MOST = 256

INTEGERS = '''typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
'''

PRELUDE = r'''#include <algorithm>
#include <stdio.h>
#include <string.h>
#include <vector>

''' + INTEGERS + r'''
__device__ void atomicMultiply(u32 *p, u32 by)
{
	u32 seen = *p, old;

	while ((old = atomicCAS(p, seen, seen * by)) != seen) {
		seen = old;
	}
}
template <class T> T exchanged(T *p, T v) { const T old = *p; *p = v; return old; }
template <class T> T sequentialAdd(T *p, T v) { return exchanged(p, (T)((u64)*p + (u64)v)); }
template <class T> T sequentialSub(T *p, T v) { return exchanged(p, (T)((u64)*p - (u64)v)); }
template <class T> T sequentialMin(T *p, T v) { return exchanged(p, std::min(*p, v)); }
template <class T> T sequentialMax(T *p, T v) { return exchanged(p, std::max(*p, v)); }
template <class T> T sequentialAnd(T *p, T v) { return exchanged(p, (T)(*p & v)); }
template <class T> T sequentialOr(T *p, T v) { return exchanged(p, (T)(*p | v)); }
template <class T> T sequentialXor(T *p, T v) { return exchanged(p, (T)(*p ^ v)); }
template <class T> T sequentialExch(T *p, T v) { return exchanged(p, v); }
template <class T> T sequentialCAS(T *p, T expected, T v) { return exchanged(p, *p == expected ? v : *p); }
static u32 sequentialInc(u32 *p, u32 limit) { return exchanged(p, *p >= limit ? 0 : *p + 1); }
static u32 sequentialDec(u32 *p, u32 limit) { return exchanged(p, *p == 0 || *p > limit ? limit : *p - 1); }
static u32 sequentialMultiply(u32 *p, u32 by) { return exchanged(p, *p * by); }

__host__ __device__ u32 descend(u32 n, u64 x) { return n ? descend(n - 1, x * 3 + n) ^ (u32)x : (u32)(x >> 7); }

static u64 drawn = 88172645463325252ull;
static u64 draw()
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return drawn >> (drawn & 1 ? 0 : drawn % 61);
}
template <class T> static void fill(T &x) { x = (T)draw(); }
template <class T> static bool same(const T &a, const T &b) { return a == b; }
'''

COMPARE = r'''
template <class T, int N> static int differs(const char *kernel, const char *name, const T (&got)[N], const T (&expected)[N])
{
	for (int i = 0; i < N; i++) {
		if (!same(got[i], expected[i])) {
			printf("%s: %s[%d] is", kernel, name, i);
			for (unsigned k = 0; k < sizeof(T); k++) {
				printf(" %02x", ((const unsigned char *)&got[i])[k]);
			}
			printf(", expected");
			for (unsigned k = 0; k < sizeof(T); k++) {
				printf(" %02x", ((const unsigned char *)&expected[i])[k]);
			}
			printf("\n");
			return 1;
		}
	}
	return 0;
}
'''


def block(lines):
    return ['\t' + line for line in lines]


class Struct:
    """A structure: its fields, and the paths that lead to its scalars."""

    def __init__(self, rng, number, earlier):
        self.name, self.lines, self.paths = 'S%d' % number, [], []  # paths: (type, text, length of an array or 0)
        for i in range(rng.randint(1, 6)):
            self.add(rng, 'f%d' % i, earlier)
        self.text = ['struct %s {' % self.name] + block(self.lines) + ['};'] + self.functions()

    def add(self, rng, name, earlier):
        kind, scalar = rng.random(), rng.choice(list(SCALARS))
        if kind < .55:
            self.lines.append('%s %s;' % (scalar, name))
            self.paths.append((scalar, name, 0))
        elif kind < .7:
            length = rng.randint(2, 4)
            self.lines.append('%s %s[%d];' % (scalar, name, length))
            self.paths.append((scalar, name, length))
        elif kind < .8:
            self.lines.append('u32 %s : %d;' % (name, rng.randint(1, 31)))
            self.paths.append(('bits', name, 0))
        elif kind < .9 or not earlier:
            self.lines.append('uint%d %s;' % (rng.choice([2, 4]), name))
            self.paths += [('u32', name + '.' + part, 0) for part in ('xy' if 'uint2' in self.lines[-1] else 'xyzw')]
        else:
            inner = rng.choice(earlier)
            self.lines.append('%s %s;' % (inner.name, name))
            self.paths += [(scalar, name + '.' + path, length) for scalar, path, length in inner.paths]

    def functions(self):
        every = [path + ('[%d]' % i if length else '') for _, path, length in self.paths for i in range(length or 1)]
        return (['static void fill(%s &x)' % self.name, '{'] + block('x.%s = draw();' % path for path in every) + ['}'] +
                ['static bool same(const %s &a, const %s &b)' % (self.name, self.name), '{'] +
                block(['return ' + ' && '.join('a.%s == b.%s' % (path, path) for path in every) + ';']) + ['}'])


class Body:
    """Statements and expressions over what a function or a phase may use."""

    def __init__(self, rng, functions):
        self.rng, self.functions = rng, functions
        self.values = []            # functions that give the text of a value
        self.scalars = []           # (type, text of something to be assigned to, as a function)
        self.structs = []           # (struct, likewise, may it be written?)
        self.statements = []        # further statements: functions
        self.names = 0

    # ---- What may be used

    def scalar(self, kind, text, writable=True):
        self.values.append(text)
        if writable:
            self.scalars.append((kind, text))

    def struct(self, struct, text, writable=True):
        self.structs.append((struct, text, writable))
        for kind, path, length in struct.paths:
            self.scalar(kind, lambda path=path, length=length:
                        text() + '.' + path + ('[%s]' % self.index(length) if length else ''), writable)

    # ---- Expressions

    def literal(self):
        rng = self.rng
        return '0x%xull' % rng.choice([0, 1, 2, 3, 7, 31, 127, 128, 255, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
                                       0xffffffff, 1 << 63, (1 << 64) - 1, rng.getrandbits(16), rng.getrandbits(64)])

    def leaf(self):
        return self.literal() if self.rng.random() < .2 or not self.values else self.rng.choice(self.values)()

    def index(self, n):
        rng = self.rng
        return str(rng.randrange(n)) if rng.random() < .3 else '(u32)(%s) %% %du' % (
            self.leaf() if self.names > 40 or rng.random() < .7 else self.value(1), n)

    def value(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < .15:
            return self.leaf()
        a, b, wide = self.value(depth - 1), self.value(depth - 1), rng.choice(['u32', 'u64'])
        signed = rng.choice(['i8', 'i16', 'i32', 'i64'])
        forms = ['((%s)(%s) %s (%s)(%s))' % (wide, a, rng.choice('+-*&|^'), wide, b)] * 6
        forms += ['((%s)(%s) %s ((%s) & %d))' % (wide, a, rng.choice(['<<', '>>']), b, SCALARS[wide] - 1)] * 2
        forms += ['((%s)(%s) %s ((%s)(%s) | 1))' % (wide, a, rng.choice('/%'), wide, b),
                  '((%s)(%s) %s (%s)(%s))' % (signed, a, rng.choice(['<', '>=', '==', '!=']), signed, b),
                  '((%s)(%s) / %d)' % (signed, a, rng.choice([2, 3, 7, 100])),
                  '((%s)(%s) >> %d)' % (signed, a, rng.randint(0, 7)),
                  '((%s) & 1 ? (u64)(%s) : (u64)(%s))' % (self.leaf(), a, b),
                  '((%s)(%s))' % (rng.choice(list(SCALARS)), a),
                  '(~(%s)(%s))' % (wide, a),
                  '(((%s) & 2) && ((%s) & 1))' % (a, b),
                  'descend((%s) & 3, %s)' % (a, b)]
        calls = [f for f in self.functions if f.result in SCALARS]
        if calls and rng.random() < .2:
            return self.call(rng.choice(calls), depth - 1) or rng.choice(forms)
        return rng.choice(forms)

    def call(self, function, depth):
        """None: there is no structure of a kind that it wants."""
        arguments = []
        for kind in function.parameters:
            if kind in SCALARS:
                arguments.append('(%s)(%s)' % (kind, self.value(depth)))
                continue
            found = [text for struct, text, _ in self.structs if struct is kind]
            if not found:
                return None
            arguments.append(self.rng.choice(found)())
        return '%s(%s)' % (function.name, ', '.join(arguments))

    # ---- Statements

    def assign(self):
        return self.assign_to(*self.rng.choice(self.scalars))

    def assign_to(self, kind, text):
        rng, target = self.rng, text()
        if rng.random() < .3:
            return ['%s %s= (u32)(%s);' % (target, rng.choice('^|&'), self.value(2))]
        if kind in ('u32', 'u64') and rng.random() < .3:
            return ['%s %s= %s;' % (target, rng.choice('+-*'), self.value(2))]
        return ['%s = (%s)(%s);' % (target, 'u32' if kind == 'bits' else kind, self.value(3))]

    def copy(self):
        rng = self.rng
        targets = [s for s in self.structs if s[2]]
        if not targets:
            return self.assign()
        struct, target, _ = rng.choice(targets)
        calls = [f for f in self.functions if f.result is struct]
        made = self.call(rng.choice(calls), 1) if calls and rng.random() < .5 else None
        source = rng.choice([text for s, text, _ in self.structs if s is struct])
        if made or rng.random() < .6:
            return ['%s = %s;' % (target(), made or source())]
        return ['{', '\t%s copy;' % struct.name, '\tmemcpy(&copy, &%s, sizeof copy);' % source(),
                '\tmemcpy(&%s, &copy, sizeof copy);' % target(), '}']

    def by_pointer(self):
        rng = self.rng
        calls = [f for f in self.functions if f.result is None]
        if not calls:
            return self.copy()
        function = rng.choice(calls)
        targets = [text for struct, text, writable in self.structs if writable and struct is function.parameters[0]]
        return ['%s(&%s, %s);' % (function.name, rng.choice(targets)(), self.value(2))] if targets else self.copy()

    def branch(self, depth):
        lines = ['if ((%s) & %d) {' % (self.value(2), self.rng.choice([1, 1, 3, 8]))] + block(self.some(depth - 1)) + ['}']
        if self.rng.random() < .5:
            lines = lines[:-1] + ['} else {'] + block(self.some(depth - 1)) + ['}']
        return lines

    def choose(self, depth):
        lines = ['switch ((u32)(%s) %% 5) {' % self.value(2)]
        for i in range(self.rng.randint(2, 4)):
            lines += ['case %d:' % i] + block(self.some(depth - 1)) + (['\tbreak;'] if self.rng.random() < .7 else [])
        return lines + ['default:'] + block(self.assign()) + ['}']

    def loop(self, depth):
        rng = self.rng
        name = 'n%d' % self.names
        self.names += 1
        least = rng.randint(1, 6)
        bound = '(u32)(%s) %% %d' % (self.value(1), least + 1) if rng.random() < .6 else str(least)
        self.values += [lambda: name] * 2
        body = self.some(depth - 1)
        if rng.random() < .3:
            body.insert(rng.randrange(len(body) + 1) if depth == 1 else 0,
                        'if ((%s) & 4) { %s; }' % (self.value(1), rng.choice(['break', 'continue'])))
        self.values = self.values[:-2]
        if rng.random() < .3 and not any('continue' in line for line in body):
            return (['{', '\tu32 %s = %s;' % (name, bound), '\tdo {'] + block(block(body)) + ['\t} while (%s-- > 1);' % name, '}'])
        return ['for (u32 %s = 0; %s < %s; %s++) {' % (name, name, bound, name)] + block(body) + ['}']

    def statement(self, depth):
        draw = self.rng.random()
        if self.statements and draw < .2:
            return self.rng.choice(self.statements)()
        if depth > 0 and draw < .5:
            return self.rng.choice([self.branch, self.branch, self.loop, self.loop, self.choose])(depth)
        return self.rng.choice([self.assign, self.assign, self.assign, self.copy, self.by_pointer])()

    def some(self, depth, most=3):
        return [line for _ in range(self.rng.randint(1, most)) for line in self.statement(depth)]


class Function:
    """For both sides. Result: a scalar's type, a struct, or None: it changes the struct that its first argument points to."""

    body_class = Body

    def __init__(self, rng, number, structs, earlier):
        self.name = 'h%d' % number
        kinds = list(SCALARS)
        self.result = rng.choice([rng.choice(kinds), rng.choice(kinds), rng.choice(structs), None])
        self.parameters = [rng.choice(kinds + structs * 2) for _ in range(rng.randint(1, 4))]
        if self.result is None:
            self.parameters = [rng.choice(structs), 'u64']
        elif self.result in structs:
            self.parameters[0] = self.result
        self.text = self.make(rng, earlier)

    def declare(self, i):
        kind = self.parameters[i]
        return '%s %sp%d' % (kind if kind in SCALARS else kind.name, '*' if self.result is None and i == 0 else '', i)

    def make(self, rng, earlier):
        body = self.body_class(rng, earlier)
        for i, kind in enumerate(self.parameters):
            name = '(*p0)' if self.result is None and i == 0 else 'p%d' % i
            if kind in SCALARS:
                body.scalar(kind, lambda name=name: name)
            else:
                body.struct(kind, lambda name=name: name)
        body.scalar('u64', lambda: 'a0')
        lines = ['u64 a0 = %s;' % body.literal()] + body.some(2)
        if self.result in SCALARS:
            lines.append('return (%s)(%s);' % (self.result, body.value(2)))
        elif self.result:
            lines.append('return p0;')
        result = 'void' if self.result is None else self.result if self.result in SCALARS else self.result.name
        return ['%s__host__ __device__ %s%s %s(%s)' % (
            rng.choice(['', 'static ', 'inline ']), rng.choice(['', '', '__noinline__ ']), result, self.name,
            ', '.join(self.declare(i) for i in range(len(self.parameters)))), '{'] + block(lines) + ['}']


class Buffer:
    """Global memory: of cudaMalloc and its kin, or a __device__ variable."""

    def __init__(self, rng, number, kind):
        self.name, self.kind = 'b%d' % number, kind
        self.type = kind if kind in SCALARS else kind.name
        self.place = rng.choice(['cudaMalloc', 'cudaMalloc', 'cudaMallocManaged', 'cudaMallocHost', 'variable'])

    def declarations(self):
        lines = ['static %s host_%s[%d], got_%s[%d];' % (self.type, self.name, BUFFER_ELEMENTS, self.name, BUFFER_ELEMENTS)]
        return lines + (['__device__ %s var_%s[%d];' % (self.type, self.name, BUFFER_ELEMENTS)] if self.place == 'variable' else
                        ['static %s *dev_%s;' % (self.type, self.name)])

    def prepare(self):
        lines = ['for (auto &x : host_%s) { fill(x); }' % self.name]
        if self.place == 'variable':
            return lines + ['cudaMemcpyToSymbol(var_%s, host_%s, sizeof host_%s);' % (self.name, self.name, self.name)]
        return lines + ['%s(&dev_%s, sizeof host_%s);' % (self.place, self.name, self.name),
                        'cudaMemcpy(dev_%s, host_%s, sizeof host_%s, cudaMemcpyDefault);' % (self.name, self.name, self.name)]

    def compare(self, kernel):
        get = ('cudaMemcpyFromSymbol(got_%s, var_%s, sizeof got_%s);' if self.place == 'variable' else
               'cudaMemcpy(got_%s, dev_%s, sizeof got_%s, cudaMemcpyDefault);') % (self.name, self.name, self.name)
        return [get, 'wrong |= differs("%s", "%s", got_%s, host_%s);' % (kernel, self.name, self.name, self.name)]


class Kernel:
    """Items: ('work', lines), ('barrier',), ('meet', lines of the kernel, lines of the twin), ('loop', count, items)."""

    body_class = Body

    def __init__(self, rng, number, program):
        self.rng, self.number, self.name, self.program = rng, number, 'k%d' % number, program
        self.size = rng.choice([32, 64, 96, 128, 24, 33, 50, 64])
        self.blocks = rng.choice([n for n in (1, 2, 3, 4, 6) if n * self.size <= WORK_ITEMS_MOST])
        self.items = self.size * self.blocks
        self.per = BUFFER_ELEMENTS // self.items
        self.is_template = rng.random() < .3
        self.meets = self.size % 32 == 0 and rng.random() < .6
        self.roles()
        self.locals = [('a%d' % i, rng.choice(list(SCALARS))) for i in range(rng.randint(3, 6))]
        self.locals += [('r%d' % i, rng.choice(program.structs)) for i in range(rng.randint(1, 3))]
        self.parameters = [('p%d' % i, rng.choice(list(SCALARS))) for i in range(rng.randint(1, 4))]
        self.parameters += [('q%d' % i, rng.choice(program.structs)) for i in range(rng.randint(0, 2))]
        self.parameters += [(b.name, b) for b in program.buffers if b.place != 'variable']
        rng.shuffle(self.parameters)
        self.shared = [('s%d' % i, rng.choice(list(SCALARS) + ['u32', 'u64'] + program.structs * 2), rng.randint(1, 2))
                       for i in range(rng.randint(1, 3))]
        self.dynamic = rng.random() < .5
        if self.dynamic:
            self.shared.append(('dynamic', 'u64', rng.randint(1, 3)))
        self.phases = self.make()

    def roles(self):
        """What the kernel does with each buffer; an own scalar is always there."""
        self.role = {b: self.rng.choice(['own', 'read'] + (['atomic'] if b.kind in ATOMICS else [])) for b in self.program.buffers}
        self.result = self.rng.choice([b for b in self.program.buffers if b.kind in SCALARS])
        self.role[self.result] = 'own'
        # Blocks do not wait for each other, so a buffer has one atomic for the whole kernel.
        self.operations = {b: self.operation(b.kind) for b in self.program.buffers if b.kind in ATOMICS}

    # ---- What a phase may use

    def add(self, body, kind, text, writable=True):
        (body.scalar if kind in SCALARS else body.struct)(kind, text, writable)

    def operation(self, kind):
        """An atomic, and what it takes if that may not differ."""
        name = self.rng.choice(ATOMICS[kind])
        limit = '%du' % self.rng.choice([1, 6, 1000])
        return (name if name == 'Multiply' else name + self.rng.choice(['', '', '_system']),
                limit if name in ('Inc', 'Dec') else None)

    def atomic(self, body, kind, element, operation):
        name, limit = operation

        def statement():
            return ['atomic%s(&%s, %s);' % (name, element(), limit or '(%s)(%s)' % (kind, body.value(2)))]
        body.statements.append(statement)

    def add_buffer(self, body, b):
        if self.role[b] == 'own':
            self.add(body, b.kind, lambda: '%s[own * %d + %s]' % (b.name, self.per, body.index(self.per)))
        elif self.role[b] == 'read':
            self.add(body, b.kind, lambda: '%s[%s]' % (b.name, body.index(BUFFER_ELEMENTS)), False)
        else:
            self.atomic(body, b.kind, lambda: '%s[%s]' % (b.name, body.index(BUFFER_ELEMENTS)), self.operations[b])

    def add_shared(self, body, name, kind, per):
        """Within a phase an array is one's own, through a permutation, or everybody's to read, or everybody's to update."""
        rng, n = self.rng, self.size * per
        mode = rng.choice(['own', 'read'] + (['atomic'] if kind in ATOMICS else []))
        if mode == 'read':
            self.add(body, kind, lambda: '%s[%s]' % (name, body.index(n)), False)
        elif mode == 'atomic':
            self.atomic(body, kind, lambda: '%s[%s]' % (name, body.index(n)), self.operation(kind))
        else:
            by = rng.choice([1, self.size - 1] + [7] * (self.size % 7 != 0))
            mine = '(tid * %d + %d) %% %d' % (by, rng.randrange(self.size), self.size)
            self.add(body, kind, lambda: '%s[%s * %d + %s]' % (name, '(%s)' % mine, per, body.index(per)))

    def body(self, uniform=None):
        body = self.body_class(self.rng, self.program.functions)
        for name in ['tid', 'bid', 'gid'] + ['K'] * self.is_template + ([uniform] if uniform else []):
            body.scalar('u32', lambda name=name: name, False)
        for name, kind in self.locals:
            self.add(body, kind, lambda name=name: name)
        for name, kind in self.parameters:
            if not isinstance(kind, Buffer):
                self.add(body, kind, lambda name=name: name, False)
        for name, n in self.program.constants:
            body.scalar('u32', lambda name=name, n=n: '%s[%s]' % (name, body.index(n)), False)
        return body

    # ---- Phases

    def begin(self):
        """Every shared array gets a value."""
        body = self.body()
        lines = []
        for name, kind, per in self.shared:
            value = '(%s)(%s)' % (kind, body.value(2)) if kind in SCALARS else 'mixed<%s>(%s)' % (kind.name, body.value(1))
            lines += ['for (u32 i = 0; i < %d; i++) {' % per, '\t%s[tid * %d + i] = %s;' % (name, per, value), '}']
        return [('work', lines)]

    def leave(self, body):
        return 'if (tid != %d && ((%s) & 15) == 3) { @LEAVE@ }' % (self.size - 1, body.value(1))

    def meet(self, body):
        """All lanes of a warp exchange values."""
        rng, value = self.rng, body.value(2)
        target = rng.choice([name for name, kind in self.locals if kind in SCALARS])
        by = rng.randint(1, 31)
        forms = [('__shfl_xor_sync(~0u, (u32)(%s), %d)' % (value, by), 'w[first | (lane ^ %d)]' % by),
                 ('__shfl_up_sync(~0u, (u32)(%s), %d)' % (value, by), 'w[tid - (lane >= %d ? %d : 0)]' % (by, by)),
                 ('__shfl_down_sync(~0u, (u32)(%s), %d, 8)' % (value, by % 8),
                  'w[tid + (lane %% 8 + %d < 8 ? %d : 0)]' % (by % 8, by % 8)),
                 ('__shfl_sync(~0u, (u32)(%s), (tid * %d) & 31)' % (value, by), 'w[first | ((tid * %d) & 31)]' % by),
                 ('__ballot_sync(~0u, (u32)(%s) & 1)' % value, 'ballot(&w[first])'),
                 ('__reduce_add_sync(~0u, (u32)(%s))' % value, 'total(&w[first])')]
        there, here = rng.choice(forms)
        kind = dict(self.locals)[target]
        return [('meet', ['%s = (%s)(%s);' % (target, kind, there)],
                 self.each(['w[tid] = (u32)(%s);' % value]) +
                 self.each(['const u32 lane = tid %% 32, first = tid - lane; %s = (%s)(%s);' % (target, kind, here)]))]

    def vote(self, body):
        """A barrier that counts; those that have returned do not take part."""
        target, value = self.rng.choice([name for name, kind in self.locals if kind in SCALARS]), body.value(2)
        name, result = self.rng.choice([('count', 'yes'), ('and', 'yes == voters'), ('or', 'yes != 0')])
        call = '__syncthreads_%s((u32)(%s) & 1)%s' % (name, value, '' if name == 'count' else ' != 0')
        return [('meet', ['%s = %s;' % (target, call)],
                 ['yes = voters = 0;'] + self.each(['voters++;', 'yes += (u32)(%s) & 1;' % value]) +
                 self.each(['%s = %s;' % (target, result)]))]

    def phase(self, uniform=None):
        body = self.body(uniform)
        for b in self.program.buffers:
            self.add_buffer(body, b)
        for name, kind, per in self.shared:
            self.add_shared(body, name, kind, per)
        lines = body.some(3, 5)
        if not self.meets and self.rng.random() < .2:
            lines.append(self.leave(body))
        items = [('barrier',), ('work', lines)]
        if self.meets:
            items += self.meet(body)
        elif self.rng.random() < .4:
            items += self.vote(body)
        return items

    def end(self):
        """What locals and shared memory hold now is part of the result."""
        lines = []
        mixed = ' ^ '.join(['(u64)%s * %d' % (name, 2 * i + 3) for i, (name, kind) in enumerate(self.locals) if kind in SCALARS])
        lines.append('%s[own * %d] ^= (%s)(%s);' % (self.result.name, self.per, self.result.type, mixed))
        for b in self.program.buffers:
            for name, kind in self.locals + [('%s[tid]' % n, k) for n, k, _ in self.shared]:
                if self.role[b] == 'own' and b is not self.result and kind == b.kind and self.rng.random() < .5:
                    lines.append('%s[own * %d + %d] = %s;' % (b.name, self.per, self.per - 1, name))
        return [('barrier',), ('work', lines)]

    def make(self):
        items = self.begin()
        for _ in range(self.rng.randint(1, 3)):
            if self.rng.random() < .3:
                items.append(('loop', self.rng.randint(2, 4), self.phase('turn') + self.phase('turn')))
            else:
                items += self.phase()
        return items + self.end()

    # ---- Text

    def indices(self):
        return ['const u32 gid = bid * %d + tid, own = (gid * %d + %d) %% %d;' % (
            self.size, self.items - 1, self.number, self.items)]

    def each(self, lines):
        """A phase of the twin: for one work-item after the other."""
        twin = [re.sub(r'\batomic(\w+?)(_system|_block)?\(', r'sequential\1(', line).replace('@LEAVE@', 'l.gone = true; continue;')
                for line in lines]
        return (['for (u32 tid = 0; tid < %d; tid++) {' % self.size] +
                block(['%s_locals &l = all[tid];' % self.name, 'if (l.gone) { continue; }', 'LOCALS_%s' % self.name] +
                      self.indices() + twin) + ['}'])

    def lines(self, items, twin):
        lines = []
        for item in items:
            if item[0] == 'work':
                lines += self.each(item[1]) if twin else [line.replace('@LEAVE@', 'return;') for line in item[1]]
            elif item[0] == 'barrier':
                lines += [] if twin else ['__syncthreads();']
            elif item[0] == 'meet':
                lines += item[2] if twin else item[1]
            else:
                lines += (['for (u32 turn = 0; turn < %d; turn++) {' % item[1]] + block(self.lines(item[2], twin)) +
                          ['}'] + ([] if twin else ['__syncthreads();']))
        return lines

    def signature(self, twin):
        def type_of(kind):
            if isinstance(kind, Buffer):
                return ('const %s *' if self.role[kind] == 'read' and not twin else '%s *') % kind.type
            return kind if kind in SCALARS else kind.name
        return ', '.join('%s %s' % (type_of(kind), name) for name, kind in self.parameters)

    def kernel(self, plant):
        lines = ['const u32 tid = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);',
                 'const u32 bid = blockIdx.x + gridDim.x * blockIdx.y;'] + self.indices()
        lines += ['%s *const %s = var_%s;' % (b.type, b.name, b.name) for b in self.program.buffers if b.place == 'variable']
        lines += ['extern __shared__ u64 dynamic[];'] if self.dynamic else []
        lines += ['__shared__ %s %s[%d];' % (k if k in SCALARS else k.name, n, self.size * per)
                  for n, k, per in self.shared if n != 'dynamic']
        lines += ['%s %s = {};' % (k if k in SCALARS else k.name, n) for n, k in self.locals]
        lines += self.lines(self.phases, False)
        if plant:
            lines.append('if (gid == %d) { %s[own * %d] ^= 1; }' % (self.items - 1, self.result.name, self.per))
        head = 'template <u32 K> ' if self.is_template else ''
        return (['%s%s__global__ void %s(%s)' % (head, self.rng.choice(['', 'static ']), self.name, self.signature(False)), '{'] +
                block(lines) + ['}'])

    def twin(self):
        fields = ['%s %s = {};' % (k if k in SCALARS else k.name, n) for n, k in self.locals] + ['bool gone = false;']
        lines = ['std::vector<%s> %s(%d);' % (k if k in SCALARS else k.name, n, self.size * per) for n, k, per in self.shared]
        lines += ['std::vector<%s_locals> all(%d);' % (self.name, self.size), 'std::vector<u32> w(%d);' % self.size,
                  'u32 yes = 0, voters = 0;'] + self.lines(self.phases, True)
        before = ['%s *const %s = host_%s;' % (b.type, b.name, b.name) for b in self.program.buffers if b.place == 'variable']
        before += ['const u32 (&%s)[%d] = host_%s;' % (name, n, name) for name, n in self.program.constants]
        before += ['const u32 K = 5;'] if self.is_template else []
        return (['struct %s_locals {' % self.name] + block(fields) + ['};'] +
                ['#define LOCALS_%s %s' % (self.name, ' '.join('auto &%s = l.%s;' % (n, n) for n, _ in self.locals))] +
                ['static void twin_%s(%s)' % (self.name, self.signature(True)), '{'] +
                block(before + ['for (u32 bid = 0; bid < %d; bid++) {' % self.blocks] + block(lines) + ['}']) + ['}'])

    def launch(self):
        there, here, lines = [], [], []
        for name, kind in self.parameters:
            if isinstance(kind, Buffer):
                there.append('dev_' + name)
                here.append('host_' + name)
            elif kind in SCALARS:
                there.append('(%s)0x%xull' % (kind, self.rng.getrandbits(SCALARS[kind])))
                here.append(there[-1])
            else:
                lines += ['static %s %s_%s;' % (kind.name, self.name, name), 'fill(%s_%s);' % (self.name, name)]
                there.append('%s_%s' % (self.name, name))
                here.append(there[-1])
        deep = self.rng.choice([n for n in (1, 1, 2, 3) if self.size % (2 * n) == 0] or [0])
        dims = 'dim3(%d, 2, %d)' % (self.size // 2 // deep, deep) if deep and self.rng.random() < .5 else '%d' % self.size
        grid = 'dim3(%d, 2)' % (self.blocks // 2) if self.blocks % 2 == 0 and self.rng.random() < .5 else '%d' % self.blocks
        shared = [', %d' % (8 * self.size * per) for name, _, per in self.shared if name == 'dynamic']
        return lines + ['%s%s<<<%s, %s%s>>>(%s);' % (self.name, '<5>' if self.is_template else '', grid, dims, ''.join(shared),
                                                    ', '.join(there)),
                        'wrong |= fails("%s");' % self.name, 'twin_%s(%s);' % (self.name, ', '.join(here))]


TOOLS = r'''
template <class T> __host__ __device__ T mixed(u64 x)
{
	T t;

	memset(&t, (int)(x & 255), sizeof t);
	return t;
}
static u32 ballot(const u32 *w)
{
	u32 bits = 0;

	for (u32 i = 0; i < 32; i++) {
		bits |= (w[i] & 1) << i;
	}
	return bits;
}
static u32 total(const u32 *w)
{
	u32 sum = 0;

	for (u32 i = 0; i < 32; i++) {
		sum += w[i];
	}
	return sum;
}
static int fails(const char *kernel)
{
	const cudaError_t error = cudaDeviceSynchronize();

	if (error != cudaSuccess) {
		printf("%s: %s\n", kernel, cudaGetErrorName(error));
	}
	return error != cudaSuccess;
}
'''


class Program:
    struct_class, function_class, kernel_class, prelude = Struct, Function, Kernel, PRELUDE

    def __init__(self, seed, kernels):
        rng = random.Random(seed)
        self.structs, self.functions = self.first_structs(rng), []
        for i in range(rng.randint(2, 4)):
            self.structs.append(self.struct_class(rng, i, list(self.structs)))
        for i in range(rng.randint(3, 6)):
            # Calls within calls stay few: those after the second call the first two.
            self.functions.append(self.function_class(rng, i, self.structs, self.functions[:2] if i >= 2 else []))
        kinds = [rng.choice(list(SCALARS)), rng.choice(list(ATOMICS)), rng.choice(list(ATOMICS)), rng.choice(self.structs)]
        kinds += [rng.choice(list(SCALARS) + self.structs) for _ in range(rng.randint(0, 2))]
        self.buffers = [Buffer(rng, i, kind) for i, kind in enumerate(kinds)]
        self.constants = [('c%d' % i, rng.choice([4, 16, 33])) for i in range(rng.randint(1, 2))]
        self.kernels = [self.kernel_class(rng, i, self) for i in range(kernels)]

    @staticmethod
    def first_structs(_):
        return []

    def main(self):
        lines = ['int wrong = 0;']
        for name, _ in self.constants:
            lines += ['for (auto &x : host_%s) { fill(x); }' % name, 'cudaMemcpyToSymbol(%s, host_%s, sizeof host_%s);' % (name, name, name)]
        for b in self.buffers:
            lines += b.prepare()
        for k in self.kernels:
            lines += k.launch() + [line for b in self.buffers for line in b.compare(k.name)]
        return ['int main()', '{'] + block(['cudaDeviceSetLimit(cudaLimitStackSize, 1 << 15);'] + lines + ['printf("%s\\n", wrong ? "wrong" : "right");', 'return wrong;']) + ['}']

    def text(self, plant):
        lines = [line for part in self.structs + self.functions for line in part.text]
        lines += [line for b in self.buffers for line in b.declarations()]
        for name, n in self.constants:
            lines += ['__constant__ u32 %s[%d];' % (name, n), 'static u32 host_%s[%d];' % (name, n)]
        for k in self.kernels:
            lines += k.kernel(plant and k is self.kernels[-1]) + k.twin()
        return self.prelude + TOOLS + COMPARE + '\n'.join(lines + self.main()) + '\n'


def program(seed, kernels=6, plant=False):
    """The text of a program; with plant its last kernel changes one bit of one value, which the comparison must find."""
    return Program(seed, kernels).text(plant)
