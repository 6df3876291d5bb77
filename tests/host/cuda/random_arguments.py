# SPDX-License-Identifier: BSD-3-Clause
"""Random CUDA programs about arguments: random_arguments.program(seed) is the text of one.

Kernels and device functions have up to 24 parameters of all types in any order: numbers, flags, enumerations, pointers,
vectors, structures of mixed classes, unions, bit fields, empty structures, functors, lambdas, objects that are copied by
a function, packed, aligned and large structures. So more integers and more floating numbers than there are registers,
and numbers of both classes beside each other. Kernels are static, of templates, variadic, extern "C", or in a namespace.

Each work-item makes one number of all its parameters: it reads them, changes them (they are its own), passes them on by
value, by reference, through pointers to functions, virtual functions and templates, from shared memory and from
variables, and gets structures back. The kernel's twin on the host has the same statements; all numbers are compared.
Objects that hold pointers exist twice: those of the kernel lead to device memory, those of the twin to the same values.
"""
import random

from random_kernels import COMPARE, INTEGERS, block

PRELUDE = r'''#include <stdio.h>
#include <string.h>

''' + INTEGERS + r'''typedef unsigned __int128 u128;
typedef float f32;
typedef double f64;
enum tint : i8 { RED = -3, BLUE = 5 };
enum class shape : u16 { FLAT, ROUND = 60000 };
enum plain { FIRST, SECOND = 77, LAST = 0x7fffffff };

#define BOTH __host__ __device__
#ifdef __CUDA_ARCH__
#define INTRINSIC(there, here) there
#else
#define INTRINSIC(there, here) here
#endif

static u64 drawn = 88172645463325252ull;
static u64 draw()
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return drawn;
}
template <class T> static bool same(const T &a, const T &b) { return a == b; }

/* What pointers lead to: the same bytes on both sides. */
static u8 host_pool[4096], *dev_pool;

template <class T> static void fill(T &there, T &here)
{
	const u64 x = draw();

	here = (T)(draw() & 3 ? x : x & 3 ? x % 256 : ~0ull);
	there = here;
}
static void fill(bool &there, bool &here) { there = here = draw() & 1; }
static void fill(u128 &there, u128 &here) { there = here = (u128)draw() << 64 | draw(); }
/* Any bits, also those of no number. */
static void fill(f32 &there, f32 &here) { const u32 x = (u32)draw(); memcpy(&here, &x, sizeof x); memcpy(&there, &x, sizeof x); }
static void fill(f64 &there, f64 &here) { const u64 x = draw(); memcpy(&here, &x, sizeof x); memcpy(&there, &x, sizeof x); }
template <class T> static void fill(T *&there, T *&here)
{
	const u32 at = (u32)draw() % 255 * 16;

	there = (T *)(dev_pool + at);
	here = (T *)(host_pool + at);
}

BOTH inline u64 word(f32 x) { u32 u; memcpy(&u, &x, sizeof u); return u; }
BOTH inline u64 word(f64 x) { u64 u; memcpy(&u, &x, sizeof u); return u; }
BOTH inline u64 word(u128 x) { return (u64)x ^ (u64)(x >> 64) * 3; }
BOTH inline u64 word(shape x) { return (u64)x; }
BOTH inline u64 word(tint x) { return (u64)(i64)(i8)x; }
BOTH inline u64 word(plain x) { return (u64)(u32)x; }
BOTH inline u64 word(bool x) { return x ? 1 : 0; }
BOTH inline u64 word(char x) { return (u64)(i64)x; }
BOTH inline u64 word(i8 x) { return (u64)(i64)x; }
BOTH inline u64 word(u8 x) { return x; }
BOTH inline u64 word(i16 x) { return (u64)(i64)x; }
BOTH inline u64 word(u16 x) { return x; }
BOTH inline u64 word(i32 x) { return (u64)(i64)x; }
BOTH inline u64 word(u32 x) { return x; }
BOTH inline u64 word(long x) { return (u64)x; }
BOTH inline u64 word(unsigned long x) { return x; }
BOTH inline u64 word(i64 x) { return (u64)x; }
BOTH inline u64 word(u64 x) { return x; }
template <class T> BOTH inline u64 word(T *p) { return word(*p) + 1; }
/* Where something is, modulo what its type is aligned by: not known to the caller, who would take 0 for granted. */
__noinline__ BOTH u64 beside(const volatile void *p, u32 by) { return (u64)p % by; }
BOTH inline u64 mixed(u64 h, u64 w) { return (h ^ w) * 0x9e3779b97f4a7c15ull ^ h >> 29; }

template <class T> BOTH inline void change(T &x, u64 h) { x = (T)(x ^ (T)h); }
BOTH inline void change(bool &x, u64 h) { x = (h >> 7) & 1; }
BOTH inline void change(tint &x, u64 h) { x = h & 1 ? RED : BLUE; }
BOTH inline void change(shape &x, u64 h) { x = h & 1 ? shape::ROUND : shape::FLAT; }
BOTH inline void change(plain &x, u64 h) { x = h & 1 ? SECOND : LAST; }
BOTH inline void change(f32 &x, u64 h) { x = (f32)(i32)h * 0.5f; }
BOTH inline void change(f64 &x, u64 h) { x = (f64)(i64)h * 0.25; }
template <class T> BOTH inline void change(T *&x, u64 h) { x = h & 8 ? x : (T *)((u8 *)x - ((u64)x & 15)); }

/* Last, so that they are found for every type by the types' own namespace. */
BOTH inline u64 all(u64 h) { return h; }
template <class T, class... U> BOTH u64 all(u64 h, T x, U... others) { return all(mixed(h, word(x)), others...); }
'''

WORDS = {'bool': 1, 'char': 1, 'i8': 1, 'u8': 1, 'i16': 2, 'u16': 2, 'i32': 4, 'u32': 4, 'long': 8, 'unsigned long': 8, 'i64': 8, 'u64': 8,
         'tint': 1, 'shape': 2, 'plain': 4}
FLOATS = {'f32': 4, 'f64': 8}
VECTORS = {'char2': 'i8', 'char3': 'i8', 'uchar4': 'u8', 'short2': 'i16', 'short3': 'i16', 'ushort4': 'u16', 'int2': 'i32', 'uint3': 'u32',
           'int4': 'i32', 'longlong2': 'i64', 'ulonglong3': 'u64', 'float1': 'f32', 'float2': 'f32', 'float3': 'f32', 'float4': 'f32',
           'double1': 'f64', 'double2': 'f64', 'double3': 'f64'}
POINTERS = ['u32 *', 'const f32 *', 'f64 *', 'const u8 *', 'i64 *', 'volatile u16 *']
SCALARS = list(WORDS) + list(FLOATS)


class Structure:
    """A type with members: what it is made of, and the functions that fill, read and change it."""

    def __init__(self, name):
        self.name, self.fields, self.lines, self.head, self.is_empty = name, [], [], 'struct ' + name, False
        self.filled, self.methods = True, []

    def field(self, kind, name, length=0):
        declared = kind + name if kind.endswith('*') else kind + ' ' + name
        self.lines.append('%s%s;' % (declared, '[%d]' % length if length else ''))
        self.fields += ['%s[%d]' % (name, i) for i in range(length)] if length else [name]

    def text(self):
        name = self.name
        lines = [] if not self.head else [self.head + ' {'] + block(self.lines + self.methods) + ['};']
        if self.filled:
            lines += ['static void fill(%s &there, %s &here)' % (name, name), '{', '\t(void)there; (void)here;'] + block(
                self.fill(field) for field in self.fields) + ['}']
        lines += ['BOTH inline u64 word(const %s &x)' % name, '{', '\tu64 h = %d;' % len(self.fields), '', '\t(void)x;'] + block(
            'h = mixed(h, word(x.%s));' % field for field in self.fields) + (
                ['\th += beside(&x, alignof(%s));' % name] if 'alignas' in (self.head or '') else []) + (
                ['\th = x(h);'] if any('operator()' in line for line in self.methods) else []) + ['\treturn h;', '}']
        return lines + ['BOTH inline void change(%s &x, u64 h)' % name, '{', '\t(void)x; (void)h;'] + block(
            '{ auto y = x.%s; change(y, h); x.%s = y; }' % (field, field) for field in self.fields[:2]) + ['}']

    @staticmethod
    def fill(field):
        return '{ auto a = there.%s; auto b = here.%s; fill(a, b); there.%s = a; here.%s = b; }' % ((field,) * 4)


def vector(name):
    made = Structure(name)
    made.head, made.fields = None, list('xyzw'[:int(name[-1])])
    return made


def small(rng, made):
    """At most 16 bytes or a little more, of both classes: what travels in registers, or just does not."""
    for i in range(rng.randint(1, 4)):
        made.field(rng.choice(SCALARS + list(FLOATS) * 5 + POINTERS), 'f%d' % i, rng.choice([0, 0, 0, 0, 2, 3]))


def halves(rng, made):
    made.field(rng.choice(['f32', 'f64', 'i64', 'u32', 'f32', 'u16', rng.choice(POINTERS)]), 'f0')
    made.field(rng.choice(['f32', 'f64', 'i64', 'u32', 'bool', rng.choice(POINTERS)]), 'f1')


def odd(rng, made):
    made.field(rng.choice(['u8', 'i8', 'u16', 'f32']), 'f0', rng.choice([3, 5, 6, 7, 9, 11, 13, 15]))


def bits(rng, made):
    for i in range(rng.randint(2, 5)):
        made.lines.append('%s f%d : %d;' % (rng.choice(['u32', 'i32', 'u64']), i, rng.randint(1, 31)))
        made.fields.append('f%d' % i)
    if rng.random() < .5:
        made.field('f32', 'g')


def aligned(rng, made):
    made.head = 'struct alignas(%d) %s' % (rng.choice([16, 32, 64]), made.name)
    small(rng, made)


def packed(rng, made):
    made.head = 'struct __attribute__((packed)) %s' % made.name
    for i in range(rng.randint(2, 5)):
        made.field(rng.choice(list(WORDS) + list(FLOATS) * 2), 'f%d' % i)


def large(rng, made):
    made.field(rng.choice(['u64', 'f32', 'u8', 'i16', 'f64']), 'f0', rng.randint(5, 40))
    made.field(rng.choice(SCALARS), 'f1')


def functor(rng, made):
    small(rng, made)
    made.methods.append('BOTH u64 operator()(u64 x) const { return mixed(x, word(f0%s)); }' % ('[0]' if made.fields[0] != 'f0' else ''))


def empty(_, made):
    made.is_empty = True
    made.methods.append('BOTH u64 operator()(u64 x) const { return x * 5 + 1; }')


def copied(rng, made):
    """Not trivial to copy: such an object travels as its address."""
    small(rng, made)
    assign = ' '.join('%s = x.%s;' % (field, field) for field in made.fields)
    made.methods += ['%s() = default;' % made.name, 'BOTH %s(const %s &x) { %s }' % (made.name, made.name, assign),
                     '%s &operator=(const %s &) = default;' % (made.name, made.name)]


def derived(rng, made):
    made.head = 'struct %s : B%s' % (made.name, made.name)
    small(rng, made)


def union(rng, made):
    made.lines += ['union { %s a; %s b; };' % (rng.choice(['f32', 'i32']), rng.choice(['u32', 'u16']))]
    made.fields.append('a')
    made.field(rng.choice(['f32', 'u32', 'f64']), 'f0')


SHAPES = [small] * 4 + [halves] * 5 + [odd, odd, bits, aligned, packed, large, functor, functor, empty, copied, derived, union]


def structure(rng, number):
    made = Structure('S%d' % number)
    shape = rng.choice(SHAPES)
    shape(rng, made)
    if shape is derived:
        base = Structure('B' + made.name)
        base.field(rng.choice(['f32', 'f64', 'u32', 'i64']), 'b0')
        base.field(rng.choice(['f32', 'bool', 'u16']), 'b1')
        made.fields = ['b0', 'b1'] + made.fields
        made.base = base
    elif shape is not union and shape is not copied and not made.is_empty and rng.random() < .1:
        made.field('u128', 'wide')
    return made


def name_of(kind):
    return kind.name if isinstance(kind, Structure) else kind


class Maker:
    """Statements over named objects."""

    def __init__(self, rng, program, objects):
        self.rng, self.program, self.objects = rng, program, objects  # (kind, name)
        self.count = 0

    def kinds(self):
        return [kind for kind, _ in self.objects]

    def argument(self, kind):
        """Something of a kind: an object, an element of a variable, or a value."""
        rng = self.rng
        found = [name for k, name in self.objects if k is kind or k == kind]
        if found and rng.random() < .8:
            return rng.choice(found)
        if isinstance(kind, Structure):
            return 'at_%s((u32)h %% 4)' % kind.name
        if kind.endswith('*'):
            return '(%s)at_pool((u32)h %% 255 * 16)' % kind
        if kind == 'bool':
            return '(h >> 3 & 1) != 0'
        if kind in ('tint', 'shape', 'plain'):
            return {'tint': '(h & 2 ? RED : BLUE)', 'shape': '(h & 2 ? shape::ROUND : shape::FLAT)', 'plain': '(h & 2 ? LAST : SECOND)'}[kind]
        return '(%s)(h >> %d)' % (kind, rng.randint(0, 50))

    def arguments(self, kinds):
        return ', '.join(self.argument(kind) for kind in kinds)

    def read(self, name):
        return 'h = mixed(h, word(%s));' % name

    def call(self):
        rng = self.rng
        f = rng.choice(self.program.functions)
        given = f.kinds[:len(f.kinds) - rng.randint(0, f.defaults)]
        how, arguments = rng.random(), self.arguments(given)
        if how < .5:
            return ['h = mixed(h, word(%s(%s)));' % (f.name, arguments)]
        if how < .7 and len(given) == len(f.kinds):
            return ['{', '\t%s (*const chosen)(%s) = h & 1 ? %s : %s_too;' % (name_of(f.result), ', '.join(name_of(k) for k in f.kinds), f.name, f.name),
                    '\th = mixed(h, word(chosen(%s)));' % arguments, '}']
        if isinstance(f.result, Structure):
            return ['{', '\t%s got = %s(%s);' % (f.result.name, f.name, arguments), '\tchange(got, h);', '\th = mixed(h, word(got));', '}']
        return ['for (u32 n = 0; n < 3; n++) {', '\th += word(%s(%s));' % (f.name, arguments), '}']

    def virtual(self):
        v = self.program.virtual
        return ['{', '\tOther a(h);', '\tThird b((f32)(i32)h);', '\tBase &chosen = h & 2 ? (Base &)a : (Base &)b;',
                '\th = mixed(h, chosen.of(%s));' % self.arguments(v), '}']

    def recursive(self):
        return ['h = mixed(h, descend(%s));' % ', '.join(['(u32)h & 3'] + [self.argument(k) for k in self.program.descending])]

    def lambda_(self):
        rng, name = self.rng, rng_name(self)
        kinds = rng.sample(self.program.kinds, min(3, len(self.program.kinds)))
        inside = rng.choice(self.objects)[1]
        capture = rng.choice(['=', '&', '='])
        return ['{', '\tauto %s = [%s](%s) {' % (name, capture, ', '.join('%s x%d' % (name_of(k), i) for i, k in enumerate(kinds))),
                '\t\tu64 sum = word(%s);' % inside] + ['\t\tsum = mixed(sum, word(x%d));' % i for i in range(len(kinds))] + [
                    '\t\treturn sum;', '\t};', '\th ^= %s(%s);' % (name, self.arguments(kinds)), '}']

    def variadic(self):
        rng = self.rng
        kinds = [rng.choice(self.kinds()) for _ in range(rng.randint(1, 10))]
        return ['h = all(h, %s);' % self.arguments(kinds)]

    def changed(self):
        kind, name = self.rng.choice(self.objects)
        if isinstance(kind, str) and kind.endswith('*'):
            return [self.read(name)]
        return ['change(%s, h);' % name, self.read(name)]

    def by_reference(self):
        kind, name = self.rng.choice([o for o in self.objects if isinstance(o[0], Structure)] or [(None, None)])
        if not kind:
            return self.changed()
        return ['referred(%s, (f32)(i32)h, h, (f64)(i32)h);' % name, self.read(name)]

    def some(self, count):
        forms = [self.call] * 4 + [self.virtual, self.recursive, self.lambda_, self.variadic, self.changed, self.changed, self.by_reference]
        return [line for _ in range(count) for line in self.rng.choice(forms)()]


def rng_name(maker):
    maker.count += 1
    return 'l%d' % maker.count


class Function:
    """For both sides, with a second one of the same type."""

    def __init__(self, rng, number, program):
        self.name, self.rng = 'h%d' % number, rng
        self.kinds = [rng.choice(program.kinds) for _ in range(rng.randint(1, 14))]
        self.defaults = 0
        while rng.random() < .3 and self.defaults < 3:
            self.kinds.append(rng.choice(list(WORDS) + list(FLOATS)))
            self.defaults += 1
        self.result = rng.choice(program.kinds + SCALARS) if rng.random() < .8 else 'u64'
        if isinstance(self.result, str) and self.result.endswith('*'):
            self.result = 'f32'

    def text(self, name, defaults):
        rng, parameters = self.rng, []
        for i, kind in enumerate(self.kinds):
            value = ' = (%s)%d' % (kind, rng.randint(0, 99) if kind not in ('bool', 'tint') else 1)
            parameters.append('%s p%d%s' % (name_of(kind), i, value if defaults and i >= len(self.kinds) - self.defaults else ''))
        lines = ['u64 h = %d;' % rng.randint(1, 1 << 30)]
        order = list(range(len(self.kinds)))
        rng.shuffle(order)
        lines += ['h = mixed(h, word(p%d));' % i for i in order]
        if isinstance(self.result, Structure):
            own = ['p%d' % i for i, kind in enumerate(self.kinds) if kind is self.result]
            lines += ['%s result = %s;' % (self.result.name, own[0] if own else 'at_%s((u32)h %% 4)' % self.result.name),
                      'change(result, h);', 'return result;']
        else:
            lines += ['%s result = %s;' % (self.result, Maker(rng, None, []).argument(self.result)), 'return result;']
        return ['%s%s %s(%s)' % (rng.choice(['__noinline__ BOTH ', '__noinline__ static BOTH ', 'BOTH ', 'inline BOTH ']), name_of(self.result), name,
                                 ', '.join(parameters)), '{'] + block(lines) + ['}']


class Kernel:
    def __init__(self, rng, number, program):
        self.rng, self.program, self.name = rng, program, 'k%d' % number
        self.size, self.blocks = rng.choice([1, 17, 32, 48, 64]), rng.randint(1, 3)
        self.form = rng.choice(['plain', 'plain', 'static', 'template', 'variadic', 'extern', 'namespace', 'anonymous', 'functor', 'launched'])
        pick = rng.random()
        pool = program.kinds if pick < .6 else SCALARS if pick < .75 else ['f32', 'f64', 'i32', 'u8', 'bool', 'f32', 'float2', 'u32 *']
        pool = [program.named.get(kind, kind) for kind in pool]
        self.kinds = [rng.choice(pool) for _ in range(rng.choice([1, 2, 3, 3, 4, 5, 7, 10, 16, 24]))]
        self.output = 0 if self.form == 'variadic' else rng.randrange(len(self.kinds) + 1)
        self.objects = [(kind, 'p%d' % i) for i, kind in enumerate(self.kinds)]

    def statements(self):
        rng = self.rng
        names = [name for _, name in self.objects]
        rng.shuffle(names)
        maker = Maker(rng, self.program, self.objects)
        lines = ['u64 h = gid + 1;'] + [maker.read(name) for name in names]
        lines += maker.some(rng.randint(0, 5))
        shared = rng.choice([k for k in self.kinds if isinstance(k, Structure)] or [None])
        own = next((name for kind, name in self.objects if kind is shared), None)
        if shared:
            lines += ['shared_[tid] = %s;' % own, 'change(shared_[tid], h);']
            maker.objects = self.objects + [(shared, 'shared_[tid]')] * 3
            lines += maker.some(2) + ['h = mixed(h, word(shared_[tid]));']
        if self.form == 'functor':
            lines.append('h = mixed(h, f(h));')
        rng.shuffle(names)
        return shared, lines + [maker.read(name) for name in names]

    def signature(self, twin):
        words = ['%s %s' % (name_of(kind), name) for kind, name in self.objects]
        words.insert(self.output, 'u64 *out')
        if self.form == 'functor':
            words.insert(self.output, 'F f')
        return ', '.join((['u32 bid, u32 tid'] if twin else []) + words)

    def text(self, plant):
        shared, lines = self.statements()
        head = {'static': 'static ', 'extern': 'extern "C" ', 'template': 'template <u32 K, class Q> ', 'functor': 'template <class F> '}.get(self.form, '')
        twin_head = head.replace('extern "C" ', 'static ')
        if not head.startswith(('static', 'extern', 'template')):
            twin_head = 'static '
        start = ['const u32 gid = bid * %d + tid;' % self.size]
        end = ['out[gid] = h%s;' % (' + K + sizeof(Q)' if self.form == 'template' else '')]
        there = ['const u32 tid = threadIdx.x, bid = blockIdx.x;'] + start + (
            ['__shared__ %s shared_[%d];' % (shared.name, self.size)] if shared else []) + lines + (
                ['h ^= gid == %d;' % (self.size * self.blocks - 1)] if plant else []) + end
        here = start + (['static %s shared_[%d];' % (shared.name, self.size)] if shared else []) + lines + end
        space = {'namespace': 'namespace outer { namespace inner {', 'anonymous': 'namespace {'}.get(self.form)
        if self.form == 'variadic':  # one function on both sides takes the pack
            return (['BOTH u64 pack_%s(%s)' % (self.name, ', '.join(['u32 tid', 'u32 gid'] + ['%s %s' % (name_of(k), n) for k, n in self.objects])), '{'] +
                    block(['(void)tid;'] + [line for line in self.pack_lines(lines, shared)] + ['return h;']) + ['}'] +
                    ['template <class... T> __global__ void %s(u64 *out, T... xs)' % self.name, '{'] +
                    block(['const u32 gid = blockIdx.x * %d + threadIdx.x;' % self.size,
                           'out[gid] = pack_%s(threadIdx.x, gid, xs...)%s;' % (self.name, ' + (gid == 0)' if plant else '')]) + ['}'] +
                    ['template <class... T> static void twin_%s(u32 bid, u32 tid, u64 *out, T... xs)' % self.name, '{'] +
                    block(['const u32 gid = bid * %d + tid;' % self.size, 'out[gid] = pack_%s(tid, gid, xs...);' % self.name]) + ['}'])
        return (([space] if space else []) + ['%s__global__ void %s(%s)' % (head, self.name, self.signature(False)), '{'] + block(there) + ['}'] +
                (['} }' if 'outer' in space else '}'] if space else []) +
                ['%svoid twin_%s(%s)' % (twin_head, self.name, self.signature(True)), '{'] + block(here) + ['}'])

    @staticmethod
    def pack_lines(lines, shared):
        return (['%s shared_[64];' % shared.name] if shared else []) + lines

    def launch(self):
        rng, lines = self.rng, []
        there, here = [], []
        for kind, name in self.objects:
            variable = '%s_%s' % (self.name, name)
            lines += ['%s there_%s;' % (name_of(kind), variable), '%s here_%s;' % (name_of(kind), variable), 'fill(there_%s, here_%s);' % (variable, variable)]
            there.append('there_' + variable)
            here.append('here_' + variable)
        there.insert(self.output, 'dev_out')
        here.insert(self.output, 'host_out')
        name = {'namespace': 'outer::inner::', 'anonymous': ''}.get(self.form, '') + self.name
        twin = 'twin_' + self.name
        if self.form == 'template':
            name += '<%d, %s>' % (rng.randint(0, 9), rng.choice(['f32', 'u64 (*)(u32, f64)', 'char3']))
            twin += name[len(self.name):]
        if self.form == 'functor':
            captured = rng.sample(here[:self.output] + here[self.output + 1:], min(len(self.kinds), rng.randint(0, 3)))
            captured = [c for c in captured if not self.has_pointer(c)]
            lines += ['auto functor = [=] BOTH (u64 x) -> u64 { return all(x%s); };' % ''.join(', ' + c for c in captured)]
            there.insert(self.output, 'functor')
            here.insert(self.output, 'functor')
        call = '%s<<<%d, %d>>>(%s);' % (name, self.blocks, self.size, ', '.join(there))
        if self.form == 'launched':
            call = 'void *arguments[] = {%s}; cudaLaunchKernel((const void *)%s, %d, %d, arguments, 0, 0);' % (
                ', '.join('&' + each for each in there), name, self.blocks, self.size)
        lines += [call, 'wrong |= fails("%s");' % self.name, 'for (u32 bid = 0; bid < %d; bid++) {' % self.blocks,
                  '\tfor (u32 tid = 0; tid < %d; tid++) {' % self.size, '\t\t%s(bid, tid, %s);' % (twin, ', '.join(here)), '\t}', '}',
                  'cudaMemcpy(got_out, dev_out, sizeof got_out, cudaMemcpyDeviceToHost);',
                  'wrong |= differs("%s", "out", got_out, host_out);' % self.name]
        return ['{'] + block(lines) + ['}']

    def has_pointer(self, variable):
        kind = next(kind for kind, name in self.objects if variable.endswith('_' + name))
        if isinstance(kind, Structure):
            return any('*' in line for line in kind.lines + (kind.base.lines if hasattr(kind, 'base') else []))
        return kind.endswith('*')


TOOLS = r'''
static u64 host_out[256], got_out[256], *dev_out;

static int fails(const char *kernel)
{
	const cudaError_t error = cudaDeviceSynchronize();

	if (error != cudaSuccess) {
		printf("%s: %s\n", kernel, cudaGetErrorName(error));
	}
	return error != cudaSuccess;
}
__device__ u8 *var_pool;
BOTH inline void *at_pool(u32 i) { return INTRINSIC(var_pool, host_pool) + i; }
template <class T> __noinline__ BOTH void referred(T &x, f32 a, const u64 &h, f64 b) { change(x, mixed(h, word(a) + word(b))); }
'''


class Program:
    def __init__(self, seed, kernels):
        rng = random.Random(seed)
        self.structures = [vector(name) for name in sorted(set(rng.sample(sorted(VECTORS), 4)) | {'float2'})]
        self.structures += [structure(rng, i) for i in range(rng.randint(6, 9))]
        self.named = {s.name: s for s in self.structures}
        self.kinds = self.structures * 2 + rng.sample(SCALARS, 8) + ['f32', 'f64', 'u32', 'bool'] + rng.sample(POINTERS, 2)
        if rng.random() < .3:
            self.kinds.append('u128')
        self.virtual = [rng.choice(self.kinds) for _ in range(rng.randint(2, 9))]
        self.descending = [rng.choice(self.kinds) for _ in range(rng.randint(2, 9))]
        self.functions = [Function(rng, i, self) for i in range(rng.randint(3, 5))]
        self.kernels = [Kernel(rng, i, self) for i in range(kernels)]
        self.rng = rng

    def polymorphic(self):
        parameters = ', '.join('%s p%d' % (name_of(k), i) for i, k in enumerate(self.virtual))
        read = ' '.join('h = mixed(h, word(p%d));' % i for i in range(len(self.virtual)))
        backwards = ' '.join('h = mixed(h, word(p%d));' % i for i in reversed(range(len(self.virtual))))
        lines = ['struct Base {', '\tBOTH virtual u64 of(%s) { u64 h = 1; %s return h; }' % (parameters, read), '};',
                 'struct Other : Base {', '\tu64 seed;', '\tBOTH Other(u64 s) : seed(s) {}',
                 '\tBOTH u64 of(%s) override { u64 h = seed; %s return h; }' % (parameters, backwards), '};',
                 'struct Third : Base {', '\tf32 seed;', '\tBOTH Third(f32 s) : seed(s) {}',
                 '\tBOTH u64 of(%s) override { return Base::of(%s) ^ word(seed); }' % (
                     parameters, ', '.join('p%d' % i for i in range(len(self.virtual)))), '};']
        names = ['p%d' % i for i in range(len(self.descending))]
        changed = next((n for n, k in zip(names, self.descending) if not (isinstance(k, str) and k.endswith('*'))), None)
        return lines + ['BOTH u64 descend(u32 n, %s)' % ', '.join('%s %s' % (name_of(k), n) for k, n in zip(self.descending, names)), '{',
                        '\tu64 h = n;', ''] + ['\th = mixed(h, word(%s));' % n for n in names] + (
                            ['\tchange(%s, h);' % changed] if changed else []) + [
                                '\treturn n ? mixed(h, descend(n - 1, %s)) : h;' % ', '.join(names), '}']

    def main(self):
        lines = ['int wrong = 0;', 'for (u8 &x : host_pool) { x = (u8)draw(); }', 'cudaMalloc(&dev_pool, sizeof host_pool);',
                 'cudaMemcpy(dev_pool, host_pool, sizeof host_pool, cudaMemcpyHostToDevice);', 'cudaMemcpyToSymbol(var_pool, &dev_pool, sizeof dev_pool);',
                 'cudaMalloc(&dev_out, sizeof host_out);', 'cudaMemset(dev_out, 0, sizeof host_out);']
        for s in self.structures:
            lines += ['{', '\tstatic %s there[4];' % s.name, '\tfor (u32 i = 0; i < 4; i++) { fill(there[i], host_%s[i]); }' % s.name,
                      '\tcudaMemcpyToSymbol(var_%s, there, sizeof there);' % s.name, '}']
        for k in self.kernels:
            lines += k.launch()
        return ['int main()', '{'] + block(['cudaDeviceSetLimit(cudaLimitStackSize, 1 << 15);'] + lines + ['printf("%s\\n", wrong ? "wrong" : "right");', 'return wrong;']) + ['}']

    def text(self, plant):
        lines = []
        for s in self.structures:
            if hasattr(s, 'base'):
                lines += s.base.text()
            lines += s.text()
            place = self.rng.choice(['__device__', '__constant__'])
            lines += ['%s %s var_%s[4];' % (place, s.name, s.name), 'static %s host_%s[4];' % (s.name, s.name),
                      'BOTH inline const %s &at_%s(u32 i) { return INTRINSIC(var_%s[i], host_%s[i]); }' % (s.name, s.name, s.name, s.name)]
        lines += self.polymorphic()
        for f in self.functions:
            lines += f.text(f.name, True) + f.text(f.name + '_too', False)
        for k in self.kernels:
            lines += k.text(plant and k is self.kernels[-1])
        return PRELUDE + TOOLS + COMPARE + '\n'.join(lines + self.main()) + '\n'


def program(seed, kernels=6, plant=False):
    """The text of a program; with plant its last kernel changes one bit of one value, which the comparison must find."""
    return Program(seed, kernels).text(plant)
