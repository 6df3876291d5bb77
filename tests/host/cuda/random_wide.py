# SPDX-License-Identifier: BSD-3-Clause
"""Random CUDA programs with more of the language than random_kernels.py: random_wide.program(seed) is the text of one.

The same kernels and twins, and in them vector types, floating numbers, packed and large structures; local arrays, lambdas,
virtual functions, pointers that are chosen, bytes of values, copies of a part, volatile accesses, memory of malloc();
results of atomics, loops of compare-and-swaps; warps that are not whole, and lanes of which some take part; phases under
conditions that are the same for a block; grids that meet. Jumps out of loops, early returns, unions, signed bit fields,
dynamic shared memory of two types, sums of floating numbers in shared memory, exchanges behind __syncwarp(), tiles of
cooperative groups, and a line of printf() by one work-item, which test_random.py compares with the twin's.
Floating numbers are converted, copied, compared bit by bit, and added where that is exact; single operations take any
values, infinite ones and ones that are no numbers, too (whose bits are not compared).
"""
import re

from random_kernels import (ATOMICS, BUFFER_ELEMENTS, PRELUDE, SCALARS, Body, Buffer, Function, Kernel, Program, Struct, block)

FLOATS = ('f32', 'f64')
VECTORS = {'char2': 'i8', 'uchar3': 'u8', 'uchar4': 'u8', 'short2': 'i16', 'ushort3': 'u16', 'short4': 'i16', 'int2': 'i32',
           'uint3': 'u32', 'int4': 'i32', 'longlong2': 'i64', 'float2': 'f32', 'float3': 'f32', 'float4': 'f32', 'double2': 'f64'}

WIDE_PRELUDE = PRELUDE.replace('#include <algorithm>\n', '#include <algorithm>\n#include <cooperative_groups.h>\n') + r'''
typedef float f32;
typedef double f64;

__host__ __device__ static u32 bits(f32 x) { u32 u; memcpy(&u, &x, sizeof u); return u; }
__host__ __device__ static u64 bits(f64 x) { u64 u; memcpy(&u, &x, sizeof u); return u; }
template <class T> static bool equal(T a, T b) { return a == b; }
template <> bool equal(f32 a, f32 b) { return bits(a) == bits(b); }
template <> bool equal(f64 a, f64 b) { return bits(a) == bits(b); }

#ifdef __CUDA_ARCH__
#define INTRINSIC(there, here) there
#else
#define INTRINSIC(there, here) here
#endif
__host__ __device__ inline u32 bits_set(u32 x) { return INTRINSIC(__popc(x), __builtin_popcount(x)); }
__host__ __device__ inline u32 bits_set(u64 x) { return INTRINSIC(__popcll(x), __builtin_popcountll(x)); }
__host__ __device__ inline u32 zeros_before(u32 x) { return INTRINSIC(__clz(x), x ? __builtin_clz(x) : 32); }
__host__ __device__ inline u32 first_set(u32 x) { return INTRINSIC(__ffs(x), __builtin_ffs(x)); }
__host__ __device__ inline u32 turned(u32 lo, u32 hi, u32 n) { return INTRINSIC(__funnelshift_l(lo, hi, n), (u32)((((u64)hi << 32 | lo) << (n & 31)) >> 32)); }
__host__ __device__ inline u32 upper(u32 a, u32 b) { return INTRINSIC(__umulhi(a, b), (u32)((u64)a * b >> 32)); }
__host__ __device__ inline u32 backwards(u32 x)
{
#ifdef __CUDA_ARCH__
	return __brev(x);
#else
	u32 y = 0;

	for (u32 i = 0; i < 32; i++) {
		y |= (x >> i & 1) << (31 - i);
	}
	return y;
#endif
}

struct Figure {
	__host__ __device__ virtual u64 of(u64 x) const { return x * 7; }
};
struct Turned : Figure {
	u32 by;
	__host__ __device__ Turned(u32 n) : by(n & 63) {}
	__host__ __device__ u64 of(u64 x) const override { return by ? x << by | x >> (64 - by) : x; }
};
struct Summed : Figure {
	u64 v[3];
	__host__ __device__ Summed(u64 x) : v{x, x * 3, x ^ 5} {}
	__host__ __device__ u64 of(u64 x) const override { return v[x % 3] + Figure::of(x); }
};
template <class T, int N> __host__ __device__ u64 folded(const T (&a)[N])
{
	u64 sum = N;

	for (const T &x : a) {
		sum = sum * 31 + (u64)x;
	}
	return sum;
}
__host__ __device__ static u64 gone_on(u64 &state)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 33;
}

template <class T> __host__ __device__ inline T loaded(const T *p) { return INTRINSIC(__ldg(p), *p); }
#define SIDE INTRINSIC("device", "host")
__host__ __device__ inline u64 known(f32 x) { return x != x ? 1 : bits(x); }
__host__ __device__ inline u64 known(f64 x) { return x != x ? 1 : bits(x); }
__host__ __device__ inline f32 as_float(u32 u) { f32 x; memcpy(&x, &u, sizeof x); return x; }
__host__ __device__ inline f64 as_double(u64 u) { f64 x; memcpy(&x, &u, sizeof x); return x; }
template <class T, class F> __host__ __device__ inline T within(F x) { return x > (F)-2e9 && x < (F)2e9 ? (T)(i64)x : (T)77; }
struct parts {
	i32 a : 5;
	u32 b : 11;
	i64 c : 37;
	bool d : 1;
	f32 e;
};
union views {
	u64 whole;
	u32 half[2];
	i16 quarter[4];
	u8 byte[8];
	f64 number;
};
__host__ __device__ inline u32 following(u32 m, u32 lane)
{
	const u32 above = lane == 31 ? 0 : m & ~0u << (lane + 1), among = above ? above : m;
	u32 n = 0;

	while (!(among >> n & 1)) {
		n++;
	}
	return n;
}
__device__ u64 swapped(u32 tid, u64 v, u32 from, u32 m)
{
	__shared__ u64 all[256];

	all[tid] = v;
	__syncwarp(m);
	const u64 got = all[from];
	__syncwarp(m);
	return got;
}
__device__ void atomicSum(f64 *p, f64 by) /* as programs had to, before there was one */
{
	u64 *const at = (u64 *)p;
	u64 seen = *at, old;

	while ((old = atomicCAS(at, seen, __double_as_longlong(by + __longlong_as_double(seen)))) != seen) {
		seen = old;
	}
}

/* Lanes that take part, of a warp of the twin: values and predicates are of one warp. */
static u32 voting(const u64 *w, u32 mask, u32 bit)
{
	u32 found = 0;

	for (u32 i = 0; i < 32; i++) {
		found |= (mask >> i & 1) && (w[i] & bit) ? 1u << i : 0;
	}
	return found;
}
static u32 matching(const u64 *w, u32 mask, u32 v)
{
	u32 found = 0;

	for (u32 i = 0; i < 32; i++) {
		found |= (mask >> i & 1) && (u32)w[i] == v ? 1u << i : 0;
	}
	return found;
}
template <class F> static u32 reduced(const u64 *w, u32 mask, F f)
{
	u32 all = 0;
	bool any = false;

	for (u32 i = 0; i < 32; i++) {
		if (mask >> i & 1) {
			all = any ? f(all, (u32)w[i]) : (u32)w[i];
			any = true;
		}
	}
	return all;
}
'''


class Vector:
    """One of CUDA's vector types, as a structure."""

    def __init__(self, name):
        self.name, self.paths = name, [(VECTORS[name], part, 0) for part in 'xyzw'[:int(name[-1])]]
        self.text = (['static void fill(%s &x)' % self.name, '{'] + block('x.%s = draw();' % path for _, path, _ in self.paths) + ['}'] +
                ['static bool same(const %s &a, const %s &b)' % (self.name, self.name), '{'] +
                block(['return ' + ' && '.join('equal(a.%s, b.%s)' % (path, path) for _, path, _ in self.paths) + ';']) + ['}'])


class WideStruct(Struct):
    def __init__(self, rng, number, earlier):
        super().__init__(rng, number, earlier)
        if rng.random() < .15:
            self.text[0] = 'struct __attribute__((packed)) %s {' % self.name
        elif rng.random() < .15:
            self.text[0] = 'struct alignas(%d) %s {' % (rng.choice([16, 32]), self.name)

    def add(self, rng, name, earlier):
        kind = rng.random()
        if kind < .2:
            scalar = rng.choice(FLOATS)
            self.lines.append('%s %s;' % (scalar, name))
            self.paths.append((scalar, name, 0))
        elif kind < .25:
            length = rng.randint(10, 40)
            self.lines.append('%s %s[%d];' % (rng.choice(['u8', 'u32']), name, length))
            self.paths.append((self.lines[-1].split()[0], name, length))
        elif kind < .35 and earlier:
            inner = rng.choice(earlier)
            self.lines.append('%s %s[2];' % (inner.name, name))
            self.paths += [(scalar, '%s[%d].%s' % (name, i, path), length) for i in range(2) for scalar, path, length in inner.paths[:8]]
        else:
            super().add(rng, name, earlier)

    def functions(self):
        every = [path + ('[%d]' % i if length else '') for _, path, length in self.paths for i in range(length or 1)]
        return (['static void fill(%s &x)' % self.name, '{'] + block(['memset((void *)&x, 0, sizeof x);'] + ['x.%s = draw();' % path for path in every]) + ['}'] +
                ['static bool same(const %s &a, const %s &b)' % (self.name, self.name), '{'] +
                block(['return ' + ' && '.join('equal(a.%s, b.%s)' % (path, path) for path in every) + ';']) + ['}'])


class WideBody(Body):
    def scalar(self, kind, text, writable=True):
        if kind in FLOATS:
            self.values.append(lambda: 'bits(%s)' % text())
            if writable:
                self.scalars.append((kind, text))
        else:
            super().scalar(kind, text, writable)

    def fresh(self, prefix):
        self.names += 1
        return '%s%d_' % (prefix, self.names)

    def value(self, depth):
        if depth > 0 and self.rng.random() < .12:
            a, b = self.value(depth - 1), self.leaf()
            return self.rng.choice(['bits_set((u32)(%s))' % a, 'bits_set((u64)(%s))' % a, 'zeros_before((u32)(%s))' % a,
                                    'first_set((u32)(%s))' % a, 'backwards((u32)(%s))' % a, 'upper((u32)(%s), (u32)(%s))' % (a, b),
                                    'turned((u32)(%s), (u32)(%s), (u32)(%s))' % (a, b, self.leaf())])
        return super().value(depth)

    # ---- Statements

    def assign_to(self, kind, text):
        rng = self.rng
        if kind in FLOATS:
            value = '(%s)(i32)(%s)' % (kind, self.value(2))
            if rng.random() < .3:
                value = '(%s)(i16)(%s) * 0.5f + (%s)(i16)(%s)' % (kind, self.leaf(), kind, self.leaf())
            return ['%s = %s;' % (text(), value)]
        return super().assign_to(kind, text)

    def volatile(self):
        """A volatile access, and one byte of a value by its address."""
        rng = self.rng
        plain = [(kind, text) for kind, text in self.scalars if kind in SCALARS and not self.is_packed(text)]
        if not plain:
            return self.assign()
        kind, text = rng.choice(plain)
        target = text()
        if rng.random() < .5:
            return ['*(volatile %s *)&%s = (%s)(%s);' % (kind, target, kind, self.value(2)),
                    '%s ^= (%s)(*(volatile %s *)&%s >> 1);' % (target, kind, kind, target)]
        return ['((u8 *)&%s)[(u32)(%s) %% sizeof(%s)] = (u8)(%s);' % (target, self.leaf(), kind, self.value(1))]

    @staticmethod
    def is_packed(text):
        return '.' in text()  # it may be a field of a packed structure, whose address is not aligned

    def part(self):
        """Copies or fills some bytes of a structure."""
        rng = self.rng
        targets = [s for s in self.structs if s[2]]
        if not targets:
            return self.assign()
        struct, target, _ = rng.choice(targets)
        if rng.random() < .4:
            return ['memset((void *)&%s, (int)((%s) & 255), (u32)(%s) %% (sizeof(%s) + 1));' % (
                target(), self.leaf(), self.leaf(), struct.name)]
        source = rng.choice([text for s, text, _ in self.structs if s is struct])
        name = self.fresh('part')
        return ['{', '\tconst %s %s = %s;' % (struct.name, name, source()),
                '\tmemcpy((void *)&%s, &%s, (u32)(%s) %% (sizeof %s + 1));' % (target(), name, self.leaf(), name), '}']

    def chosen(self):
        """A pointer to one of two, or one of two values."""
        rng = self.rng
        targets = [s for s in self.structs if s[2]]
        if not targets:
            return self.assign()
        struct, target, _ = rng.choice(targets)
        others = [s for s in self.structs if s[0] is struct]
        if rng.random() < .5:
            return ['%s = (%s) & 1 ? %s : %s;' % (target(), self.value(1), rng.choice(others)[1](), rng.choice(others)[1]())]
        second = rng.choice([s for s in others if s[2]])
        name = self.fresh('chosen')
        kind, path, length = rng.choice(struct.paths)
        inner = self.__class__(rng, self.functions)
        inner.names, inner.values = self.names + 50, list(self.values)
        inner.scalar(kind, lambda: '%s->%s%s' % (name, path, '[%s]' % self.index(length) if length else ''))
        return ['{', '\t%s *const %s = (%s) & 1 ? &%s : &%s;' % (struct.name, name, self.value(1), target(), second[1]())] + block(
            inner.assign()) + ['}']

    def array(self):
        """A local array, or one of malloc(); what follows may use it."""
        rng, name, n = self.rng, self.fresh('local'), self.rng.randint(2, 9)
        kind = rng.choice(['u8', 'u16', 'u32', 'u64', 'i32', 'i64'])
        heap = rng.random() < .25
        lines = ['%s *const %s = (%s *)malloc(%d * sizeof(%s));' % (kind, name, kind, n, kind) if heap else '%s %s[%d];' % (kind, name, n),
                 'for (u32 i = 0; i < %d; i++) {' % n, '\t%s[i] = (%s)((%s) + i * i);' % (name, kind, self.value(1)), '}']
        kept = len(self.values), len(self.scalars)
        for _ in range(2):
            self.scalar(kind, lambda: '%s[%s]' % (name, self.index(n)))
        lines += self.some(1)
        self.values[kept[0]:], self.scalars[kept[1]:] = [], []
        target = rng.choice([s for s in self.scalars if s[0] in ('u32', 'u64')] or [None])
        if target and not heap:
            lines.append('%s ^= (%s)folded(%s);' % (target[1](), target[0], name))
        elif target:
            lines.append('%s += (%s)%s[%d];' % (target[1](), target[0], name, n - 1))
        return ['{'] + block(lines + (['free(%s);' % name] if heap else [])) + ['}']

    def lambda_(self):
        rng, name, parameter = self.rng, self.fresh('f'), self.fresh('x')
        kept = len(self.values), len(self.scalars)
        self.scalar('u64', lambda: parameter)
        body = self.some(0, 2) + ['return (u64)(%s);' % self.value(1)]
        self.values[kept[0]:], self.scalars[kept[1]:] = [], []
        kind, text = rng.choice([s for s in self.scalars if s[0] in SCALARS] or [(None, None)])
        if not kind:
            return self.assign()
        result = self.fresh('y')  # before the target is read: the call may change it
        return (['{', '\tauto %s = [&](u64 %s) {' % (name, parameter)] + block(block(body)) + ['\t};', '\tconst u64 %s = %s(%s) ^ %s(%s);' % (
            result, name, self.value(1), name, self.leaf()), '\t%s = (%s)%s;' % (text(), kind, result), '}'])

    def figure(self):
        rng, name = self.rng, self.fresh('figure')
        kind, text = rng.choice([s for s in self.scalars if s[0] in SCALARS] or [(None, None)])
        if not kind:
            return self.assign()
        return ['{', '\tTurned %sa((u32)(%s));' % (name, self.leaf()), '\tSummed %sb(%s);' % (name, self.leaf()),
                '\tconst Figure &%s = (%s) & 1 ? (const Figure &)%sa : (const Figure &)%sb;' % (name, self.value(1), name, name),
                '\tu64 %sc = %s.of(%s);' % (name, name, self.value(1)), '\t%s = (%s)gone_on(%sc);' % (text(), kind, name), '}']

    def target(self):
        kind, text = self.rng.choice([s for s in self.scalars if s[0] in SCALARS] or [(None, None)])
        return kind, text

    def out_of_loops(self):
        rng, name = self.rng, self.fresh('loop')
        kind, text = self.target()
        if not kind:
            return self.assign()
        label = 'out_%x' % rng.getrandbits(48)  # labels are of the whole function
        self.values += [lambda: name + 'i', lambda: name + 'j']
        inside = self.assign() + ['if (((%s) & 7) == 3) { goto %s; }' % (self.value(1), label), 'if ((%s) & 8) { continue; }' % self.leaf()] + self.assign()
        self.values = self.values[:-2]
        return (['{', '\tu32 %si = 0, %sj = 0;' % (name, name), '\tfor (; %si < %d; %si++) {' % (name, rng.randint(1, 4), name),
                 '\t\tfor (%sj = 0; %sj < %d; %sj++) {' % (name, name, rng.randint(1, 4), name)] + block(block(block(inside))) + ['\t\t}', '\t}', label + ':',
                 '\t%s ^= (%s)(%si * 5 + %sj);' % (text(), kind, name, name), '}'])

    def punned(self):
        rng, name = self.rng, self.fresh('u')
        kind, text = self.target()
        if not kind:
            return self.assign()
        return ['{', '\tviews %s;' % name, '\t%s.whole = (u64)(%s);' % (name, self.value(1)), '\t%s.byte[(u32)(%s) & 7] ^= (u8)(%s);' % (name, self.leaf(), self.leaf()),
                '\t%s.number = -%s.number;' % (name, name), '\t%s.quarter[(u32)(%s) & 3] += 3;' % (name, self.leaf()),
                '\t%s ^= (%s)%s;' % (text(), kind, rng.choice([name + '.half[(u32)(%s) & 1]' % self.leaf(), name + '.whole'])), '}']

    def bit_fields(self):
        name, value = self.fresh('parts'), self.value(1)
        kind, text = self.target()
        if not kind:
            return self.assign()
        return ['{', '\tparts %s = {};' % name, '\t%s.a = (i32)(%s);' % (name, value), '\t%s.b = (u32)(%s);' % (name, self.leaf()),
                '\t%s.c = (i64)(%s);' % (name, self.value(1)), '\t%s.c += %s.a;' % (name, name), '\t%s.d = ((%s) & 1) != 0;' % (name, self.leaf()),
                '\t%s.e = (f32)%s.a * %s.b;' % (name, name, name), '\tparts %sb = %s;' % (name, name), '\t%sb.b -= %s.d;' % (name, name),
                '\t%s ^= (%s)((u64)%sb.c + %sb.b * 3 + bits(%sb.e) + (u32)%sb.a);' % (text(), kind, name, name, name, name), '}']

    def number(self, kind):
        """A floating number: any bits, a special one, or a converted one."""
        rng = self.rng
        if rng.random() < .3:
            return rng.choice(['0.0', '-0.0', '1e-310', '1e-42', '3.4e38', '1.7e308', 'INFINITY', '-INFINITY', '1.0 / 3', '-1.5', '16777217.0', '9007199254740993.0'])
        if rng.random() < .4:
            return 'as_float((u32)(%s))' % self.leaf() if kind == 'f32' else 'as_double((u64)(%s))' % self.leaf()
        return '(%s)(%s)(%s)' % (kind, rng.choice(['i32', 'u32', 'i64', 'u64', 'i8', 'u16']), self.leaf())

    def one_operation(self):
        rng, f = self.rng, self.rng.choice(FLOATS)
        kind, text = self.target()
        if not kind:
            return self.assign()
        a, b = '(%s)(%s)' % (f, self.number(f)), '(%s)(%s)' % (f, self.number(f))
        end = 'f' if f == 'f32' else ''
        form = rng.choice(['known(%s + %s)', 'known(%s - %s)', 'known(%s * %s)', 'known(%s / %s)', '(u64)(%s < %s)', '(u64)(%s != %s)'] + [
            'known(sqrt%s(fabs%s(%%s)) * (%s)((%%s) > 0))' % (end, end, f), 'known(copysign%s(%%s, %%s))' % end, 'known(fma%s(%%s, %%s, (%s)1))' % (end, f),
            'known((f32)(f64)(%s)) + known((f64)(f32)(%s))', '(u64)within<i32>(%s) * 3 + (u64)within<i64>(%s)', '(u64)within<i16>(%s) - known((f32)(u64)bits(%s))'])
        return ['%s ^= (%s)(%s);' % (text(), kind, form % (a, b))]

    def until(self, depth):
        """A loop without a bound of its own, that ends within 8 turns."""
        rng, name = self.rng, self.fresh('turn')
        self.values.append(lambda: name)
        body = self.some(depth - 1)
        self.values.pop()
        leave = 'if (%s == %d || ((%s) & 7) == 5) { break; }' % (name, rng.randint(1, 7), self.value(1))
        return ['for (u32 %s = 0;; %s++) {' % (name, name)] + block(
            ([leave] + body if rng.random() < .5 or any('continue' in line for line in body) else body + [leave])) + ['}']

    def statement(self, depth):
        draw = self.rng.random()
        if draw < .25:
            return self.rng.choice([self.volatile, self.part, self.chosen, self.figure, self.punned, self.bit_fields, self.one_operation, self.one_operation])()
        if depth > 0 and draw < .4:
            return self.rng.choice([self.array, self.lambda_, lambda: self.until(depth), self.out_of_loops])()
        return super().statement(depth)


class WideFunction(Function):
    """Some return early."""

    body_class = WideBody

    def make(self, rng, earlier):
        lines = super().make(rng, earlier)
        if self.result in SCALARS and rng.random() < .5:
            lines[3:3] = ['\tif ((a0 & 7) == %d) {' % rng.randrange(8), '\t\treturn (%s)(a0 >> %d);' % (self.result, rng.randint(0, 9)), '\t}']
        elif self.result in SCALARS:
            lines[-2:-2] = ['\tfor (u32 n = 0; n < 3; n++) {', '\t\tif ((a0 >> n & 3) == 1) {', '\t\t\treturn (%s)(a0 + n);' % self.result, '\t\t}', '\t}']
        return lines


class WideKernel(Kernel):
    """Further items: ('when', condition, items)."""

    body_class = WideBody

    def __init__(self, rng, number, program):
        self.of_grid = False
        super().__init__(rng, number, program)

    def roles(self):
        super().roles()
        self.meets = self.meets or self.rng.random() < .4

    # ---- Atomics whose result counts: of one's own

    def add_buffer(self, body, b):
        super().add_buffer(body, b)
        if self.role[b] == 'read' and b.kind in SCALARS and not self.of_grid:
            body.scalar(b.kind, lambda: 'loaded(&%s[%s])' % (b.name, body.index(BUFFER_ELEMENTS)), False)
        if self.role[b] == 'own' and b.kind in ('u32', 'i32', 'u64'):
            body.statements.append(lambda: self.own_atomic(body, b))

    def own_atomic(self, body, b):
        rng = self.rng
        name = rng.choice(['Exch', 'CAS', 'Add'] + ATOMICS[b.kind])
        if name == 'Multiply' or name in ('Inc', 'Dec', 'Sub') and b.kind != 'u32':
            name = 'Exch'
        at = '%s[own * %d + %s]' % (b.name, self.per, body.index(self.per))
        target, kind = rng.choice([(n, k) for n, k in self.locals if k in SCALARS])
        if rng.random() < .25:
            seen = body.fresh('seen')
            return ['{', '\t%s %s;' % (b.kind, seen), '\t%s *const %sat = &%s;' % (b.kind, seen, at), '\tdo {', '\t\t%s = *%sat;' % (seen, seen),
                    '\t} while (atomicCAS(%sat, %s, (%s)(%s * 3u + 1)) != %s);' % (seen, seen, b.kind, seen, seen), '\t%s ^= (%s)%s;' % (target, kind, seen), '}']
        expected = '(%s)(%s), ' % (b.kind, rng.choice([body.leaf(), at])) if name == 'CAS' else ''
        scope = rng.choice(['', '_system', '_block'])
        old = body.fresh('old')
        return ['{', '\tconst %s %s = atomic%s%s(&%s, %s(%s)(%s));' % (b.kind, old, name, scope, at, expected, b.kind, body.value(1)),
                '\t%s = (%s)%s;' % (target, kind, old), '}']

    # ---- Warps: whole ones or what there is of them; some of the lanes

    def meet(self, body):
        rng, value = self.rng, body.value(2)
        target, kind = rng.choice([(name, kind) for name, kind in self.locals if kind in SCALARS])
        some = rng.random() < .5
        condition = '((%s) & %d) != 0' % (body.value(1), rng.choice([1, 2, 3])) if some else 'true'
        by, wide = rng.randint(1, 31), rng.random() < .4
        sent = '(%s)(%s)' % ('u64' if wide else 'u32', value)
        forms = [('__shfl_sync(m, %s, __ffs(m) - 1)' % sent, '%s(w[first + __builtin_ffs(m) - 1])' % ('' if wide else '(u32)')),
                 ('__ballot_sync(m, (%s) & 1)' % sent, 'voting(&w[first], m, 1)'),
                 ('(u32)(__any_sync(m, ((%s) & 4) != 0) != 0)' % sent, '(u32)(voting(&w[first], m, 4) != 0)'),
                 ('(u32)(__all_sync(m, ((%s) & 2) != 0) != 0)' % sent, '(u32)(voting(&w[first], m, 2) == m)'),
                 ('__match_any_sync(m, (u32)(%s) & 3)' % value, 'matching(&w[first], m, (u32)w[tid])'),
                 ('__popc(__activemask() & 0) + __reduce_min_sync(m, (u32)(%s))' % value,
                  'reduced(&w[first], m, [](u32 a, u32 b) { return std::min(a, b); })'),
                 ('__reduce_xor_sync(m, (u32)(%s))' % value, 'reduced(&w[first], m, [](u32 a, u32 b) { return a ^ b; })'),
                 ('__reduce_add_sync(m, (u32)(%s))' % value, 'reduced(&w[first], m, [](u32 a, u32 b) { return a + b; })')]
        forms += [('swapped(tid, (u64)%s, first + __ffs(m) - 1, m)' % sent, '(u64)%s(w[first + __builtin_ffs(m) - 1])' % ('' if wide else '(u32)')),
                  ('swapped(tid, (u64)%s, first + following(m, lane), m)' % sent, '(u64)%s(w[first + following(m, lane)])' % ('' if wide else '(u32)'))]
        if not some and self.size % 32 == 0:
            forms += [('cooperative_groups::tiled_partition<%d>(cooperative_groups::this_thread_block()).shfl_xor(%s, %d)' % (tile, sent, by % tile),
                       '%sw[first | (lane ^ %d)]' % ('' if wide else '(u32)', by % tile)) for tile in (4, 16)] if not self.of_grid else []
            width = rng.choice([4, 8, 16, 32])
            cast = '' if wide else '(u32)'
            forms += [('__shfl_xor_sync(m, %s, %d)' % (sent, by), '%sw[first | (lane ^ %d)]' % (cast, by)),
                      ('__shfl_up_sync(m, %s, %d, %d)' % (sent, by % width, width), '%sw[tid - (lane %% %d >= %d ? %d : 0)]' % (cast, width, by % width, by % width)),
                      ('__shfl_down_sync(m, %s, %d, %d)' % (sent, by % width, width), '%sw[tid + (lane %% %d + %d < %d ? %d : 0)]' % (cast, width, by % width, width, by % width)),
                      ('__shfl_sync(m, %s, (int)(tid * %d), %d)' % (sent, by, width), '%sw[tid - lane %% %d + (tid * %d) %% %d]' % (cast, width, by, width)),
                      ('bits(__shfl_xor_sync(m, (f64)(i32)(%s), %d))' % (value, by), 'bits((f64)(i32)(u32)w[first | (lane ^ %d)])' % by)]
        there, here = rng.choice(forms)
        masked = ' & 3' if '__match_any' in there else ''
        exist = 'const u32 lane = tid % 32, first = tid - lane; const u32 exist = {n} - first >= 32 ? ~0u : (1u << ({n} - first)) - 1;'.format(n=self.size)
        if not self.size % 32:
            exist = 'const u32 lane = tid % 32, first = tid - lane; const u32 exist = ~0u;'
        kernel = ['{', '\t' + exist, '\t(void)first; (void)lane;', '\tconst bool joins = %s;' % condition, '\tconst u32 m = __ballot_sync(exist, joins);',
                  '\tif (joins) {', '\t\t%s = (%s)(%s);' % (target, kind, there), '\t} else {', '\t\t%s ^= 1;' % target, '\t}', '}']
        twin = (self.each([exist, '(void)exist; (void)lane; const bool joins = %s;' % condition, 'takes[first / 32] = (lane ? takes[first / 32] : 0) | (u32)joins << lane;',
                           'w[tid] = (u64)(%s)%s;' % (sent, masked)]) +
                self.each([exist, '(void)exist; const u32 m = takes[first / 32];', 'if (m >> lane & 1) {', '\t%s = (%s)(%s);' % (target, kind, here),
                           '} else {', '\t%s ^= 1;' % target, '}']))
        return [('meet', kernel, ['{', '\tstd::vector<u64> w(%d);' % (self.size + 32), '\tstd::vector<u32> takes(%d);' % (self.size // 32 + 1)] + block(twin) + ['}'])]

    # ---- Sums of floating numbers, exact in any order

    def vote(self, body):
        rng = self.rng
        if rng.random() < .5:
            return super().vote(body)
        target, kind = rng.choice([(name, kind) for name, kind in self.locals if kind in SCALARS])
        where, value = body.value(1), body.value(1)
        float_ = rng.random() < .5
        there = rng.choice(['atomicAdd', 'atomicAdd_block'] if float_ else ['atomicAdd', 'atomicSum'])
        of, name = ('f32' if float_ else 'f64'), 'sums_%x' % rng.getrandbits(40)
        add = '(%s)(i16)(%s) * (%s)0.25' % (of, value, of)
        kernel = ['{', '\t__shared__ %s %s[4];' % (of, name), '\t__syncthreads();', '\tif (tid %% 8 == 0 || tid == %d) {' % (self.size - 1),
                  '\t\tfor (u32 i = 0; i < 4; i++) { %s[i] = 0; }' % name, '\t}', '\t__syncthreads();', '\t%s(&%s[(u32)(%s) & 3], %s);' % (there, name, where, add),
                  '\t__syncthreads();', '\t%s ^= (%s)bits(%s[tid & 3]);' % (target, kind, name), '}']
        return [('meet', kernel, ['{', '\t%s %s[4] = {};' % (of, name)] + block(self.each(['%s[(u32)(%s) & 3] += %s;' % (name, where, add)]) + self.each(
            ['%s ^= (%s)bits(%s[tid & 3] + 0);' % (target, kind, name)])) + ['}'])]

    def end(self):
        rng, body, form, values = self.rng, self.body(), '', []
        for _ in range(rng.randint(1, 14)):
            kind = rng.choice(['%d', '%u', '%lld', '%llx', '%.3f', '%g', '%5hd', '%s', '%c'])
            value = body.leaf()
            form += ' ' + kind
            values.append({'%d': '(i32)(%s)', '%u': '(u32)(%s)', '%lld': '(i64)(%s)', '%llx': '(u64)(%s)', '%.3f': '(f32)(i32)(%s) * 0.125f',
                           '%g': '(f64)(i64)(%s)', '%5hd': '(i32)(i16)(%s)', '%s': '((%s) & 1 ? "odd" : "even")', '%c': "'a' + (i32)((%s) & 15)"}[kind] % value)
        items = super().end()
        items.append(('work', ['if (gid == 0) { printf(SIDE " %s%s\\n", %s); }' % (self.name, form, ', '.join(values))]))
        return items

    # ---- Phases

    def uniform(self):
        """A condition that is the same for all work-items of a block."""
        rng = self.rng
        values = ['bid'] + [name for name, kind in self.parameters if not isinstance(kind, Buffer) and kind in SCALARS]
        return '((u64)%s >> %d & 1) == %d' % (rng.choice(values), rng.randint(0, 3), rng.randint(0, 1))

    def make(self):
        if self.dynamic and self.rng.random() < .6:
            self.shared.append(('behind', self.rng.choice(list(SCALARS)), self.rng.randint(1, 2)))
        items = self.begin()
        for _ in range(self.rng.randint(1, 3)):
            draw = self.rng.random()
            if draw < .3:
                items.append(('loop', self.rng.randint(2, 4), self.phase('turn') + self.phase('turn')))
            elif draw < .5:
                items.append(('when', self.uniform(), self.phase() + [('barrier',)]))
            else:
                items += self.phase()
        return items + self.end()

    def before_behind(self):
        """Words of dynamic memory in front of its second array."""
        return sum(self.size * per for name, _, per in self.shared if name == 'dynamic')

    def kernel(self, plant):
        lines = super().kernel(plant)
        for i, line in enumerate(lines):
            found = re.match(r'\t__shared__ (\w+) behind\[', line)
            if found:
                lines[i] = '\t%s *const behind = (%s *)(dynamic + %d);' % (found.group(1), found.group(1), self.before_behind())
        return lines

    def launch(self):
        lines = super().launch()
        more = sum(SCALARS[kind] // 8 * self.size * per for name, kind, per in self.shared if name == 'behind')
        return [re.sub(r', %d>>>' % (8 * self.before_behind()), ', %d>>>' % (8 * self.before_behind() + more), line) if more else line for line in lines]

    def lines(self, items, twin):
        lines = []
        for item in items:
            if item[0] == 'when':
                lines += ['if (%s) {' % item[1]] + block(self.lines(item[2], twin)) + ['}']
            else:
                lines += super().lines([item], twin)
        return lines


class GridKernel(WideKernel):
    """One whose blocks meet between phases, so that each may use what all others have done. Its barriers are the grid's."""

    def roles(self):
        super().roles()
        self.of_grid, self.meets, self.is_template = True, False, False

    def vote(self, body):
        return []

    def leave(self, body):
        return ''

    def phase(self, uniform=None):
        if hasattr(self, 'role'):
            super().roles()
            self.meets = False
        return super().phase(uniform)

    def uniform(self):
        return WideKernel.uniform(self).replace('bid', '%d' % self.number)

    def end(self):
        return super().end()

    def each(self, lines):
        items = super().each(lines)
        items[1] = '\t%s_locals &l = all[bid * %d + tid];' % (self.name, self.size)
        shared = ['%s *const %s = all_%s.data() + bid * %d;' % (k if k in SCALARS else k.name, n, n, self.size * per) for n, k, per in self.shared]
        return ['for (u32 bid = 0; bid < %d; bid++) {' % self.blocks] + block(shared + items) + ['}']

    def kernel(self, plant):
        return [line.replace('__syncthreads();', 'cooperative_groups::this_grid().sync();') for line in super().kernel(plant)]

    def signature(self, twin):
        return super().signature(True)

    def twin(self):
        lines = super().twin()
        at = next(i for i, line in enumerate(lines) if line.startswith('\tfor (u32 bid = 0'))
        lines[at] = '\t{'
        for i in range(at, len(lines)):
            for n, k, per in self.shared:
                lines[i] = lines[i].replace(' %s(%d);' % (n, self.size * per), ' all_%s(%d);' % (n, self.items * per)) if 'std::vector' in lines[i] else lines[i]
            lines[i] = lines[i].replace('> all(%d);' % self.size, '> all(%d);' % self.items)
        return lines

    def launch(self):
        lines = super().launch()
        at = next(i for i, line in enumerate(lines) if '<<<' in line)
        words = lines[at].replace('>>>(', '<<<').rstrip(');').split('<<<')
        configuration = words[1].split(', ') if 'dim3' not in words[1] else None
        if configuration is None:  # commas within dim3()
            depth, configuration, start = 0, [], 0
            for i, c in enumerate(words[1] + ','):
                depth += (c == '(') - (c == ')')
                if c == ',' and depth == 0:
                    configuration.append(words[1][start:i].strip())
                    start = i + 1
        arguments = words[2].split(', ') if words[2] else []
        named = ['auto argument%d = %s;' % (i, argument) for i, argument in enumerate(arguments)]
        lines[at] = '{ %s void *arguments[] = {%s}; cudaLaunchCooperativeKernel((void *)%s, %s, %s, arguments, %s, 0); }' % (
            ' '.join(named), ', '.join('&argument%d' % i for i in range(len(arguments))), self.name, configuration[0], configuration[1],
            configuration[2] if len(configuration) > 2 else '0')
        return lines


def wide_kernel(rng, number, program):
    return (GridKernel if rng.random() < .2 else WideKernel)(rng, number, program)


class WideProgram(Program):
    struct_class, function_class, kernel_class, prelude = WideStruct, WideFunction, staticmethod(wide_kernel), WIDE_PRELUDE

    @staticmethod
    def first_structs(rng):
        return [Vector(name) for name in rng.sample(list(VECTORS), 3)]


def program(seed, kernels=6, plant=False):
    return WideProgram(seed, kernels).text(plant)
