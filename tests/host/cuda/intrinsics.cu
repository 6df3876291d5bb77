// SPDX-License-Identifier: BSD-3-Clause
// Intrinsics with a rounding mode against exact residues, conversions against their definition, parts of words and DPX against loops.
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

enum { N = 4096, D = 24, F = 28, V = 20 };

__device__ static uint64_t draw(uint64_t *state)
{
	uint64_t x = (*state += 0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

#define FOUR(name, ...) name##_rn(__VA_ARGS__), name##_rd(__VA_ARGS__), name##_ru(__VA_ARGS__), name##_rz(__VA_ARGS__)

struct doubles { double a, b, results[D]; };
struct floats { float a, b, c, results[F]; };
struct converted { double from; uint64_t bits; float narrow[4], f[16]; double d[8]; int i[4]; unsigned u[4]; long long l[4]; unsigned long long ul[4]; };
struct words { unsigned a, b, results[V]; };

template <class T, int COUNT> __device__ static void put(T (&to)[COUNT], const T (&from)[COUNT])
{
	memcpy(to, from, sizeof to);
}

__global__ void compute(doubles *d, floats *f, converted *c, words *w)
{
	const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t state = n;

	d += n, f += n, c += n, w += n;
	d->a = ldexp((double)draw(&state), (int)(draw(&state) % 9) - 64);
	d->b = ldexp((double)(int64_t)draw(&state), (int)(draw(&state) % 9) - 64);
	const double results[D] = {FOUR(__dadd, d->a, d->b), FOUR(__dsub, d->a, d->b), FOUR(__dmul, d->a, d->b),
		FOUR(__ddiv, d->a, d->b), FOUR(__dsqrt, d->a), FOUR(__drcp, d->b)};
	put(d->results, results);
	f->a = (float)d->a, f->b = (float)d->b, f->c = (float)draw(&state) * 0x1p-64f;
	const float fresults[F] = {FOUR(__fadd, f->a, f->b), FOUR(__fsub, f->a, f->b), FOUR(__fmul, f->a, f->b),
		FOUR(__fdiv, f->a, f->b), FOUR(__fsqrt, f->a), FOUR(__frcp, f->b), FOUR(__fmaf, f->a, f->b, f->c)};
	put(f->results, fresults);

	static const double odd[] = {0, -0.5, 0.5, 1.5, -1.5, 2.5, 1e30, -1e30, 0x1p31, -0x1p31, 0x1p63, -0x1p63, NAN, INFINITY};
	c->bits = draw(&state) >> draw(&state) % 64;
	c->from = n < sizeof odd / sizeof *odd ? odd[n] : ldexp(d->b, (int)(draw(&state) % 80));
	const float narrow[4] = {FOUR(__double2float, c->from)};
	const int i[4] = {FOUR(__double2int, c->from)};
	const unsigned u[4] = {FOUR(__double2uint, c->from)};
	const long long l[4] = {FOUR(__double2ll, c->from)};
	const unsigned long long ul[4] = {FOUR(__double2ull, c->from)};
	const float numbers[16] = {FOUR(__int2float, (int)c->bits), FOUR(__uint2float, (unsigned)c->bits),
		FOUR(__ll2float, (long long)c->bits), FOUR(__ull2float, c->bits)};
	const double wide[8] = {FOUR(__ll2double, (long long)c->bits), FOUR(__ull2double, c->bits)};
	put(c->narrow, narrow);
	put(c->i, i);
	put(c->u, u);
	put(c->l, l);
	put(c->ul, ul);
	put(c->f, numbers);
	put(c->d, wide);

	w->a = (unsigned)draw(&state), w->b = n % 3 ? (unsigned)draw(&state) : w->a ^ 0x80017f80u;
	const unsigned a = w->a, b = w->b;
	const unsigned parts[V] = {__vadd2(a, b), __vsub4(a, b), __vaddss2(a, b), __vsubss4(a, b), __vaddus4(a, b), __vsubus2(a, b),
		__vavgs2(a, b), __vavgu4(a, b), __vhaddu2(a, b), __vmaxs4(a, b), __vminu2(a, b), __vabsdiffs4(a, b), __vcmpeq4(a, b),
		__vcmpgts2(a, b), __vsetleu4(a, b), __vabs2(a), __vabsss4(a), __vnegss2(a), __vsadu4(a, b), __vsads2(a, b)};
	put(w->results, parts);
}

static unsigned wrong;

static void check(bool right, const char *what, unsigned n, int which)
{
	if (!right && wrong++ < 10) {
		printf("wrong: %s, %u, %d\n", what, n, which);
	}
}

// The four results for an exact value: the nearest has been computed, sign is the sign of exact - nearest.
template <class T> static void four(const T *r, T nearest, int sign, const char *what, unsigned n)
{
	const T below = sign < 0 ? std::nextafter(nearest, (T)-INFINITY) : nearest;
	const T above = sign > 0 ? std::nextafter(nearest, (T)INFINITY) : nearest;

	check(r[0] == nearest, what, n, 0);
	check(r[1] == below, what, n, 1);
	check(r[2] == above, what, n, 2);
	check(r[3] == (nearest > 0 || (nearest == 0 && sign > 0) ? below : above), what, n, 3);
}

static int sign_of(long double x)
{
	return (x > 0) - (x < 0);
}

// The residue of a sum, a product, a quotient and a root is a double: they are exact.
static void check_doubles(const doubles &d, unsigned n)
{
	const double a = d.a, b = d.b;

	for (int minus = 0; minus < 2; minus++) {
		const double c = minus ? -b : b, s = a + c, part = s - a;

		four(d.results + 4 * minus, s, sign_of((a - (s - part)) + (c - part)), "sum", n);
	}
	four(d.results + 8, a * b, sign_of(fma(a, b, -(a * b))), "product", n);
	four(d.results + 12, a / b, sign_of(fma(-(a / b), b, a)) * sign_of(b), "quotient", n);
	four(d.results + 16, sqrt(a), sign_of(fma(-sqrt(a), sqrt(a), a)), "root", n);
	four(d.results + 20, 1 / b, sign_of(fma(-(1 / b), b, 1)) * sign_of(b), "reciprocal", n);
}

template <class T> static void of_exact(const T *r, __float128 exact, const char *what, unsigned n)
{
	const T nearest = (T)exact;

	four(r, nearest, exact > nearest ? 1 : exact < nearest ? -1 : 0, what, n);
}

static void check_floats(const floats &f, unsigned n)
{
	const __float128 a = f.a, b = f.b, c = f.c;

	of_exact(f.results, a + b, "sum of floats", n);
	of_exact(f.results + 4, a - b, "difference of floats", n);
	of_exact(f.results + 8, a * b, "product of floats", n);
	of_exact(f.results + 12, a / b, "quotient of floats", n);
	four(f.results + 16, sqrtf(f.a), sign_of((long double)f.a - (long double)sqrtf(f.a) * sqrtf(f.a)), "root of a float", n);
	of_exact(f.results + 20, 1 / b, "reciprocal of a float", n);
	of_exact(f.results + 24, a * b + c, "fused product", n);
}

template <class T> static T saturated(double x, T least, T most)
{
	if (x != x) { // a double, or 64 bits
		return (T)(1ull << (8 * sizeof(T) - 1));
	}
	return x <= (double)least ? least : x >= (double)most ? most : (T)x;
}

static void check_converted(const converted &c, unsigned n)
{
	const double integers[] = {rint(c.from), floor(c.from), ceil(c.from), trunc(c.from)};

	if (fabs(c.from) < FLT_MAX) {
		of_exact(c.narrow, (__float128)c.from, "float", n);
	}
	of_exact(c.f, (__float128)(int)c.bits, "float of int", n);
	of_exact(c.f + 4, (__float128)(unsigned)c.bits, "float of unsigned", n);
	of_exact(c.f + 8, (__float128)(long long)c.bits, "float of long long", n);
	of_exact(c.f + 12, (__float128)c.bits, "float of unsigned long long", n);
	of_exact(c.d, (__float128)(long long)c.bits, "double of long long", n);
	of_exact(c.d + 4, (__float128)c.bits, "double of unsigned long long", n);
	for (int i = 0; i < 4; i++) {
		check(c.i[i] == saturated<int>(integers[i], INT32_MIN, INT32_MAX), "int", n, i);
		check(c.u[i] == saturated<unsigned>(integers[i], 0, UINT32_MAX), "unsigned", n, i);
		check(c.l[i] == saturated<long long>(integers[i], INT64_MIN, INT64_MAX), "long long", n, i);
		check(c.ul[i] == saturated<unsigned long long>(integers[i], 0, UINT64_MAX), "unsigned long long", n, i);
	}
}

static int clamp(int x, int least, int most)
{
	return x < least ? least : x > most ? most : x;
}

// The results of a part of size bits, by the order of compute()'s list: only those whose parts are of that size.
static void check_part(const words &w, unsigned n, unsigned at, unsigned bits, unsigned *sums)
{
	const unsigned a = w.a >> at & ((1u << bits) - 1), b = w.b >> at & ((1u << bits) - 1);
	const int x = (int)(a << (32 - bits)) >> (32 - bits), y = (int)(b << (32 - bits)) >> (32 - bits);
	const int most = (1 << (bits - 1)) - 1, least = -most - 1, all = (1 << bits) - 1, A = (int)a, B = (int)b;
	const struct { unsigned bits; int value; } expected[V] = {{16, A + B}, {8, A - B}, {16, clamp(x + y, least, most)},
		{8, clamp(x - y, least, most)}, {8, clamp(A + B, 0, all)}, {16, clamp(A - B, 0, all)},
		{16, (x + y + (x + y >= 0)) >> 1}, {8, (A + B + 1) / 2}, {16, (A + B) / 2}, {8, x > y ? x : y}, {16, A < B ? A : B},
		{8, abs(x - y)}, {8, A == B ? -1 : 0}, {16, x > y ? -1 : 0}, {8, A <= B}, {16, abs(x)}, {8, clamp(abs(x), 0, most)},
		{16, clamp(-x, least, most)}, {0, 0}, {0, 0}};

	for (int i = 0; i < V; i++) {
		check(expected[i].bits != bits || (w.results[i] >> at & (unsigned)all) == ((unsigned)expected[i].value & (unsigned)all),
			"part of a word", n, i);
	}
	sums[0] += bits == 8 ? (unsigned)abs(A - B) : 0;
	sums[1] += bits == 16 ? (unsigned)abs(x - y) : 0;
}

static void check_words(const words &w, unsigned n)
{
	unsigned sums[2] = {0, 0};

	for (unsigned bits = 8; bits <= 16; bits += 8) {
		for (unsigned at = 0; at < 32; at += bits) {
			check_part(w, n, at, bits, sums);
		}
	}
	check(w.results[18] == sums[0] && w.results[19] == sums[1], "sum of parts", n, 18);
}

__global__ void others(unsigned *r)
{
	r[0] = __fns(0xb1, 0, 3), r[1] = __fns(0xb1, 7, -2), r[2] = __fns(0xb1, 4, 0), r[3] = __fns(0xb1, 6, 0), r[4] = __fns(1, 0, 2);
	r[5] = (unsigned)__mul64hi(-1, 5), r[6] = (unsigned)__rhadd(-3, 4), r[7] = __urhadd(~0u, 2);
	r[8] = (unsigned)__double2hiint(__hiloint2double(-5, 7)), r[9] = (unsigned)__double2loint(__hiloint2double(-5, 7));
	r[10] = __funnelshift_lc(1, 2, 40), r[11] = __funnelshift_rc(1, 3, 1);
	r[12] = sinpi(1e9) == 0 && cospi(2.5) == 0 && sinpi(0.5) == 1 && cospif(3) == -1 && norm3d(2, 3, 6) == 7 && rcbrtf(8) == 0.5f;
}

static void check_others()
{
	const unsigned expected[13] = {5, 5, 4, ~0u, ~0u, ~0u, 1, 0x80000001u, (unsigned)-5, 7, 1, 0x80000000u, 1};
	unsigned *r;

	cudaMallocManaged(&r, sizeof expected);
	others<<<1, 1>>>(r);
	cudaDeviceSynchronize();
	for (int i = 0; i < 13; i++) {
		check(r[i] == expected[i], "one of the others", r[i], i);
	}
}

// DPX in kernels and on the host against their definition, part by part.
#define SIX(name) (unsigned)name##_s32(a, b, c), name##_u32(a, b, c), name##_s16x2(a, b, c), name##_u16x2(a, b, c), \
	(unsigned)name##_s32_relu(a, b, c), name##_s16x2_relu(a, b, c)
#define TWO(name, sign, i) (unsigned)name##_##sign##32(a, b, first + i), name##_##sign##16x2(a, b, first + i + 1, first + i + 2)
enum { CHOICES = 28, DPX = 36 };

__host__ __device__ static void dpx_of(unsigned a, unsigned b, unsigned c, unsigned *to)
{
	bool first[12];
	const unsigned results[DPX] = {SIX(__viaddmax), SIX(__viaddmin), SIX(__vimax3), SIX(__vimin3),
		(unsigned)__vimax_s32_relu(a, b), __vimax_s16x2_relu(a, b), (unsigned)__vimin_s32_relu(a, b), __vimin_s16x2_relu(a, b),
		TWO(__vibmax, s, 0), TWO(__vibmin, s, 3), TWO(__vibmax, u, 6), TWO(__vibmin, u, 9)};

	memcpy(to, results, sizeof results);
	to[DPX] = 0;
	for (int i = 0; i < 12; i++) {
		to[DPX] |= (unsigned)first[i] << i;
	}
}

__global__ void dpx(const unsigned (*words)[3], unsigned (*results)[DPX + 1])
{
	const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;

	dpx_of(words[n][0], words[n][1], words[n][2], results[n]);
}

// Of the results above, in their order: sums (S), bounds of three (B), bounds of two (2).
static const struct { const char *kinds; bool largest; char of; } dpx_table[] = {{"iuhvIH", true, 'S'}, {"iuhvIH", false, 'S'},
	{"iuhvIH", true, 'B'}, {"iuhvIH", false, 'B'}, {"IH", true, '2'}, {"IH", false, '2'}, {"ih", true, '2'}, {"ih", false, '2'},
	{"uv", true, '2'}, {"uv", false, '2'}};

static long long part_of(unsigned word, unsigned at, unsigned bits, bool is_signed)
{
	const long long part = (long long)(word >> at) & ((1ll << bits) - 1);

	return is_signed && part >> (bits - 1) ? part - (1ll << bits) : part;
}

static void check_dpx()
{
	const unsigned odd[] = {0, 1, ~0u, 0x7fffffff, 0x80000000, 0x7fff8000, 0x80007fff, 0xffff0001};
	unsigned (*words)[3], (*results)[DPX + 1], here[DPX + 1];

	cudaMallocManaged(&words, N * sizeof *words);
	cudaMallocManaged(&results, N * sizeof *results);
	for (unsigned n = 0; n < 3 * N; n++) {
		words[n / 3][n % 3] = n * 2654435761u >> 31 ? odd[n % 8] : n * n * 2246822519u;
	}
	dpx<<<N / 64, 64>>>(words, results);
	cudaDeviceSynchronize();
	for (unsigned n = 0; n < N; n++) {
		const unsigned *w = words[n];
		unsigned first = 0, of_first = 1;
		int i = 0;

		for (const auto &row : dpx_table) {
			for (const char *kind = row.kinds; *kind; kind++, i++) {
				const unsigned bits = strchr("hvH", *kind) ? 16 : 32;
				const bool is_signed = !strchr("uv", *kind), relu = strchr("IH", *kind);
				unsigned expected = 0;

				for (int at = 32 - (int)bits; at >= 0; at -= (int)bits) {
					long long x[3];

					for (int k = 0; k < 3; k++) {
						x[k] = part_of(w[k], (unsigned)at, bits, is_signed);
					}
					if (row.of == 'S') {
						x[0] = part_of((unsigned)(x[0] + x[1]), 0, bits, is_signed);
						x[1] = x[2];
					}
					long long value = row.largest ? std::max(x[0], x[1]) : std::min(x[0], x[1]);

					if (i >= CHOICES) {
						first |= value == x[0] ? of_first : 0;
						of_first *= 2;
					}
					if (row.of == 'B') {
						value = row.largest ? std::max(value, x[2]) : std::min(value, x[2]);
					}
					value = relu ? std::max(value, 0ll) : value;
					expected |= (unsigned)(value & ((1ll << bits) - 1)) << at;
				}
				check(results[n][i] == expected, "DPX", n, i);
			}
		}
		check(results[n][DPX] == first, "DPX's choice", n, DPX);
		dpx_of(w[0], w[1], w[2], here);
		check(memcmp(here, results[n], sizeof here) == 0, "DPX on the host", n, 0);
	}
}

// Functions that the C library lacks, and arguments of two types, against digits of a multiple-precision library.
enum { SPECIAL = 20 };

__global__ void specials(double *r, const double *by)
{
	const double x = by[0], tenth = by[1];
	const int two = 2;
	int quotient;
	double sine, cosine;

	sincospi(x / 2, &sine, &cosine);
	const double values[SPECIAL] = {erfinv(x), erfinv(0.9999), erfinv(1e-8), erfcinv(1e-10), erfcinv(x + 1), cyl_bessel_i0(2 * x),
		cyl_bessel_i1(2 * x), cyl_bessel_i0(40 * x), cyl_bessel_i1(-600 * x), erfcx(20 * x), erfcx(-6 * x), normcdfinv(0.975), j0(2 * x),
		jn(two, 6 * x), exp10(3 * tenth), pow(x, two) + pow(2, x), rnorm(2, by) * norm(2, by) + remquo(7 * x, 1, &quotient) + quotient,
		sine - cosine, scalbn(x, two) + (double)lroundf((float)x) + fmax(x, two) + atan2(x, 1.0f),
		erfinv((float)x) == erfinvf((float)x) && jn(two, (float)x) == jnf(two, (float)x) ? sizeof erfinv((float)x) : 0.0};

	for (int i = 0; i < SPECIAL; i++) {
		r[i] = values[i];
	}
}

static void check_specials()
{
	static const double expected[SPECIAL] = {0.47693627620446987338, 2.7510639057120796917, 8.8622692545275805539e-9, 4.5728249673894852748,
		-0.47693627620446987338, 1.2660658777520083356, 0.56515910399248502721, 43558282.559553533272, -4.4683813850369544139e+128,
		0.056140992743822585858, 16205.988853999586625, 1.9599639845400538556, 0.76519768655796655145, 0.48609126058589107691,
		1.9952623149688795503, 0.25 + 1.4142135623730950488, 1 - 0.5 + 4, 0, 2 + 1 + 2 + 0.46364760900080611621, sizeof(float)};
	double *r, *by;

	cudaMallocManaged(&r, sizeof expected);
	cudaMallocManaged(&by, 2 * sizeof *by);
	by[0] = 0.5;
	by[1] = 0.1;
	specials<<<1, 1>>>(r, by);
	cudaDeviceSynchronize();
	for (int i = 0; i < SPECIAL; i++) {
		check(fabs(r[i] - expected[i]) <= 4e-15 * fabs(expected[i]) + 1e-15, "special function", 0, i);
	}
}

// Casts and shifts beyond the type, as an H100 has done them: conversions end at the type's ends, shifts take all bits out.
struct beyond {
	double from;
	int i;
	unsigned u;
	long long l;
	unsigned long long ul;
	short s;
	unsigned char b;
	int of_float;
	long long wide_of_float;
};
static const beyond seen[] = {{NAN, INT_MIN, 1u << 31, LLONG_MIN, 1ull << 63, 0, 0, 0, LLONG_MIN},
	{INFINITY, INT_MAX, ~0u, LLONG_MAX, ~0ull, -1, 255, INT_MAX, LLONG_MAX}, {-INFINITY, INT_MIN, 0, LLONG_MIN, 0, 0, 0, INT_MIN, LLONG_MIN},
	{1e10, INT_MAX, ~0u, 10000000000, 10000000000, -1, 255, INT_MAX, 10000000000}, {-1, -1, 0, -1, 0, -1, 0, -1, -1},
	{-300, -300, 0, -300, 0, -300, 0, -300, -300}, {70000, 70000, 70000, 70000, 70000, 4464, 112, 70000, 70000},
	{3e9, INT_MAX, 3000000000, 3000000000, 3000000000, -1, 0, INT_MAX, 3000000000}};
enum { BEYOND = sizeof seen / sizeof *seen, SHIFTS = 5 };

__global__ void go_beyond(beyond *to)
{
	beyond *const p = to + threadIdx.x;
	const double d = p->from;
	const float f = (float)d;

	p->i = (int)d, p->u = (unsigned)d, p->l = (long long)d, p->ul = (unsigned long long)d, p->s = (short)d, p->b = (unsigned char)d;
	p->of_float = (int)f, p->wide_of_float = (long long)f;
}

__global__ void shift(const int *by, long long *to)
{
	const int n = by[threadIdx.x], x = -5;

	to += 4 * threadIdx.x;
	to[0] = x << n, to[1] = x >> n, to[2] = (unsigned)x >> n, to[3] = (long long)((unsigned long long)x >> n);
}

static void check_beyond()
{
	static const int by[SHIFTS] = {3, 31, 32, 40, -1};
	static const long long shifted[SHIFTS][4] = {{-40, -1, 536870911, 2305843009213693951}, {INT_MIN, -1, 1, 8589934591}, {0, -1, 0, 4294967295},
		{0, -1, 0, 16777215}, {0, -1, 0, 0}};
	beyond *p;
	int *n;
	long long *r;

	cudaMallocManaged(&p, sizeof seen);
	cudaMallocManaged(&n, sizeof by);
	cudaMallocManaged(&r, sizeof shifted);
	memset(p, 0, sizeof seen);
	memcpy(n, by, sizeof by);
	for (int i = 0; i < BEYOND; i++) {
		p[i].from = seen[i].from;
	}
	go_beyond<<<1, BEYOND>>>(p);
	shift<<<1, SHIFTS>>>(n, r);
	cudaDeviceSynchronize();
	for (int i = 0; i < BEYOND; i++) {
		check(!memcmp(&p[i].i, &seen[i].i, sizeof *p - offsetof(beyond, i)), "cast", 0, i);
	}
	for (int i = 0; i < SHIFTS; i++) {
		check(!memcmp(r + 4 * i, shifted[i], sizeof *shifted), "shift", 0, i);
	}
}

int main()
{
	doubles *d;
	floats *f;
	converted *c;
	words *w;

	cudaMallocManaged(&d, N * sizeof *d);
	cudaMallocManaged(&f, N * sizeof *f);
	cudaMallocManaged(&c, N * sizeof *c);
	cudaMallocManaged(&w, N * sizeof *w);
	compute<<<N / 256, 256>>>(d, f, c, w);
	check(cudaDeviceSynchronize() == cudaSuccess, "kernel", 0, 0);
	for (unsigned n = 0; n < N; n++) {
		check_doubles(d[n], n);
		check_floats(f[n], n);
		check_converted(c[n], n);
		check_words(w[n], n);
	}
	check_others();
	check_dpx();
	check_beyond();
	check_specials();
	puts(wrong ? "some are wrong" : "all are right");
	return wrong != 0;
}
