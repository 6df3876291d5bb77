// SPDX-License-Identifier: BSD-3-Clause
// Half precision and bfloat16 against another way to their results: of all numbers of the format the nearest one to the exact value, found by search.
// On the device, and on the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdio>
#include <cstring>

enum { OPERATIONS = 9, VALUES = 3000 };

template <class T> struct result {
	T of[OPERATIONS];
};

#ifdef __CUDA_ARCH__ // CUDA has it in device code alone
#define FUSED(T, a, b, c) __hfma(a, b, c)
#else
#define FUSED(T, a, b, c) T()
#endif

static __host__ __device__ unsigned short bits_of(__half x) { return __half_as_ushort(x); }
static __host__ __device__ unsigned short bits_of(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
static __host__ __device__ void set(__half *x, unsigned short bits) { *x = __ushort_as_half(bits); }
static __host__ __device__ void set(__nv_bfloat16 *x, unsigned short bits) { *x = __ushort_as_bfloat16(bits); }

template <class T> struct operands {
	T v[3];
	float f;
};

#define CALCULATE(T, Short)                                                                                                            \
	static __host__ __device__ result<T> calculate(const operands<T> &o)                                                          \
	{                                                                                                                              \
		const T a = o.v[0], b = o.v[1], c = o.v[2];                                                                            \
                                                                                                                                       \
		return {{a + b, a - b, a * b, a / b, FUSED(T, a, b, c), __float2##Short##_rn(o.f), __float2##Short##_rz(o.f),            \
			__float2##Short##_rd(o.f), __float2##Short##_ru(o.f)}};                                                        \
	}
CALCULATE(__half, half)
CALCULATE(__nv_bfloat16, bfloat16)

static __host__ __device__ unsigned random_bits(unsigned i)
{
	i = (i ^ 61) ^ (i >> 16);
	i *= 9;
	i = (i ^ (i >> 4)) * 0x27d4eb2du;
	return i ^ (i >> 15);
}

template <class T> static __host__ __device__ operands<T> numbers(int i)
{
	T v[3];
	const unsigned bits = random_bits(4 * i + 3);
	float f;

	for (int k = 0; k < 3; k++) {
		unsigned short x = (unsigned short)random_bits(4 * i + k);

		if (i % 3 == 1 && k > 0) { // near the first
			x = (unsigned short)(bits_of(v[0]) ^ (x & 0x80ff));
		} else if (i % 3 == 2) { // small, or a power of two
			x = k % 2 ? x & 0x83ff : x & 0xfc00;
		}
		set(&v[k], x);
		if (k == 2 && i % 5) { // its exponent near that of the product
			v[2] = T((float)v[0] * (float)v[1] * (0.5f + (float)(x % 64) / 32));
		}
	}
	if (i % 7 == 3) { // a product in the middle of two, or not, and a little beside it
		v[0] = T(2 * (int)(bits % 8) + 1);
		v[1] = T(2 * (int)(bits / 8 % 64) + 1);
		v[2] = T(ldexpf(bits & 512 ? 1.0f : -1.0f, -20 - (int)(bits / 1024 % 50)));
	}
	f = (float)v[0];
	if (i % 2) { // between two, and at the middle of them
		f = f * (1 + ldexpf((float)(bits % 5), -12)) + ldexpf((float)(int)(bits % 3) - 1, -(int)(bits / 8 % 150));
	}
	return {{v[0], v[1], v[2]}, f};
}

// Of 113 bits: sums and products of these numbers are exact in it, and a quotient is no nearer to a tie than it should be.
typedef __float128 exact;

// The format's finite numbers that are not negative grow with their bits.
static exact value_of(unsigned bits, int mantissa, int least)
{
	const int e = (int)(bits >> mantissa), m = (int)(bits & ((1u << mantissa) - 1));

	return (exact)ldexp((double)(e ? m + (1 << mantissa) : m), (e ? e - 1 : 0) + least - mantissa);
}

// toward: 0 nearest, 1 zero, 2 down, 3 up
static unsigned expected(exact value, int toward, int mantissa, int least)
{
	const bool negative = value < 0;
	const unsigned infinite = 0x7fff >> mantissa << mantissa, sign = negative ? 0x8000 : 0;
	const exact v = negative ? -value : value;
	unsigned low = 0, high = infinite; // low: the largest that is not above; what is infinite stands for the next power of two

	while (high - low > 1) {
		const unsigned middle = (low + high) / 2;

		(value_of(middle, mantissa, least) <= v ? low : high) = middle;
	}
	const exact below = v - value_of(low, mantissa, least), above = value_of(low + 1, mantissa, least) - v;
	const bool up = toward == 0 ? below > above || (below == above && low % 2) : below != 0 && toward == (negative ? 2 : 3);

	return sign | (low + up);
}

template <class T> __global__ void calculates(result<T> *results)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < VALUES) {
		results[i] = calculate(numbers<T>(i));
	}
}

template <class T> static bool is_right(const operands<T> &o, const result<T> &r, int mantissa, int least)
{
	const exact a = (float)o.v[0], b = (float)o.v[1], c = (float)o.v[2], f = o.f;
	const exact want[OPERATIONS] = {a + b, a - b, a * b, a / b, a * b + c, f, f, f, f};

	for (int k = 0; k < OPERATIONS; k++) {
		const exact off = want[k] - want[k];

		if (off != off) { // infinite or none
			const bool same = want[k] != want[k] ? isnan((float)r.of[k]) : (float)r.of[k] == (want[k] > 0 ? INFINITY : -INFINITY);

			if (!same) {
				return false;
			}
		} else if (bits_of(r.of[k]) != expected(want[k], k < 6 ? 0 : k - 5, mantissa, least) && (want[k] != 0 || (bits_of(r.of[k]) & 0x7fff))) {
			return false;
		}
	}
	return true;
}

template <class T> static void test(const char *name, int mantissa, int least)
{
	static result<T> found[VALUES];
	result<T> *device;
	int wrong = 0, other = 0;

	cudaMalloc(&device, sizeof found);
	calculates<<<(VALUES + 255) / 256, 256>>>(device);
	cudaMemcpy(found, device, sizeof found, cudaMemcpyDeviceToHost);
	for (int i = 0; i < VALUES; i++) {
		const operands<T> o = numbers<T>(i);
		result<T> here = calculate(o);

		here.of[4] = found[i].of[4];
		wrong += !is_right(o, here, mantissa, least);
		other += memcmp(&here, &found[i], sizeof here) != 0;
	}
	for (unsigned x = 0; x < 0x10000; x++) { // there and back
		T t;

		set(&t, (unsigned short)x);
		other += !isnan((float)t) && bits_of(T((float)t)) != x;
	}
	printf("%s: %d wrong, %d others, %s\n", name, wrong, other, cudaGetErrorName(cudaGetLastError()));
}

// Contended atomics of one and of two numbers, and functions of both halves.
__global__ void adds(__half2 *pair, __half *one, __nv_bfloat16 *b)
{
	const __half2 two = atomicAdd(pair, __floats2half2_rn(1, 0.5f));

	atomicAdd(one + threadIdx.x % 2, __float2half(1));
	atomicAdd(b, __float2bfloat16(1));
	if (__hbge2(two, __float2half2_rn(0)) && __hadd_sat(__high2half(two), __float2half(3)) == __float2half(1)) {
		const __half root = __low2half(h2sqrt(__lowhigh2highlow(__floats2half2_rn(9, 4))));

		atomicAdd(one + 2, hlog10(hexp10(hlog2(hexp2(root)))));
	}
}

static void test_adds()
{
	__half2 *pair;
	__half *one;
	__nv_bfloat16 *b;

	cudaMallocManaged(&pair, sizeof *pair);
	cudaMallocManaged(&one, 3 * sizeof *one);
	cudaMallocManaged(&b, sizeof *b);
	adds<<<2, 64>>>(pair, one, b);
	cudaDeviceSynchronize();
	printf("%g %g %g %g %g %g\n", __low2float(*pair), __high2float(*pair), (float)one[0], (float)one[1], (float)one[2], (float)*b);
}

int main()
{
	test_adds();
	test<__half>("half", 10, -14);
	test<__nv_bfloat16>("bfloat16", 7, -126);
	return 0;
}
