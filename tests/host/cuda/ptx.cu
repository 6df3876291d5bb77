// SPDX-License-Identifier: BSD-3-Clause
// Inline PTX: each kind of instruction once; the program checks itself.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <vector>

#include "all_hold.h"

typedef unsigned long long u64;

template <class T> static T *zeros(size_t count)
{
	T *p;

	cudaMalloc(&p, count * sizeof(T));
	cudaMemset(p, 0, count * sizeof(T));
	return p;
}

template <class T> static std::vector<T> fetch(const T *p, size_t count)
{
	std::vector<T> v(count);

	cudaMemcpy(v.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost);
	return v;
}

static bool is_clean() { return cudaDeviceSynchronize() == cudaSuccess; }

// ---- Who am I

static __device__ __forceinline__ unsigned lane_id()
{
	unsigned lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

__global__ void registers(unsigned *wrong)
{
	unsigned x, y, block, size, grid, warp, sm, sms, below, bad = 0;
	u64 from, to, timer;

	asm("mov.u32 %0, %%tid.x;\n\tmov.u32 %1, %%tid.y; // the second\n\tmov.u32 %2, %%ctaid.x;" : "=r"(x), "=r"(y), "=r"(block));
	asm("mov.u32 %0, %%ntid.x; mov.u32 %1, %%nctaid.x; /* the grid */ mov.u32 %2, %%warpid;" : "=r"(size), "=r"(grid), "=r"(warp));
	asm("mov.u32 %0, %%smid; mov.u32 %1, %%lanemask_lt; mov.u32 %2, %%nsmid;" : "=r"(sm), "=r"(below), "=r"(sms));
	asm volatile("mov.u64 %0, %%clock64;" : "=l"(from));
	asm volatile("mov.u64 %0, %%clock64;" : "=l"(to));
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
	bad += x != threadIdx.x || y != threadIdx.y || block != blockIdx.x || size != blockDim.x || grid != gridDim.x;
	bad += warp != threadIdx.y || sm >= sms || lane_id() != threadIdx.x || below != (1u << threadIdx.x) - 1;
	bad += to <= from || !timer;
	atomicAdd(wrong, bad);
}

static bool special_registers()
{
	unsigned *wrong = zeros<unsigned>(1);

	registers<<<3, dim3(32, 2)>>>(wrong);
	return fetch(wrong, 1)[0] == 0 && is_clean();
}

// ---- Loads and stores

struct cells {
	unsigned char b;
	signed char s;
	short h;
	alignas(16) int w[4];
	u64 l;
	float f;
	double d;
};

__global__ void accesses(cells *from, cells *to)
{
	unsigned b;
	int s, h, w0, w1, w2, w3;
	u64 l;
	float f;
	double d;

	asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(b) : "l"(&from->b) : "memory");
	asm volatile("ld.global.s8 %0, [%1];" : "=r"(s) : "l"(&from->s) : "memory");
	asm volatile("ld.volatile.global.s16 %0, [%1];" : "=r"(h) : "l"(&from->h) : "memory");
	asm volatile("ld.global.ca.v4.s32 {%0, %1, %2, %3}, [%4];" : "=r"(w0), "=r"(w1), "=r"(w2), "=r"(w3) : "l"(from->w) : "memory");
	asm volatile("ld.acquire.sys.b64 %0, [%1];" : "=l"(l) : "l"(&from->l) : "memory");
	asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(f) : "l"(&from->f));
	asm volatile("ld.global.f64 %0, [%1];" : "=d"(d) : "l"(&from->d));
	asm volatile("st.relaxed.cta.u8 [%0], %1;" ::"l"(&to->b) "r"(b) : "memory"); // nvcc needs no comma
	asm volatile("st.global.u8 [%0+1], %1;" ::"l"(to), "r"(s) : "memory");
	asm volatile("st.volatile.global.u16 [%0], %1;" ::"l"(&to->h), "h"((short)h) : "memory");
	asm volatile("st.global.v2.b32 [%0], {%1, %2};\n\tst.global.v2.b32 [%0+8], {%3, %4};" ::"l"(to->w), "r"(w0), "r"(w1), "r"(w2), "r"(w3) : "memory");
	asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(&to->l), "l"(l) : "memory");
	asm volatile("st.global.wt.f32 [%0], %1;" ::"l"(&to->f), "f"(f) : "memory");
	asm volatile("st.f64 [%0], %1;" ::"l"(&to->d), "d"(d) : "memory");
}

static bool loads_and_stores()
{
	cells *p = zeros<cells>(2), in = {200, -3, -400, {1, -2, 3, -4}, 0x123456789abcdefull, 1.5f, -2.25}, out;

	cudaMemcpy(p, &in, sizeof in, cudaMemcpyHostToDevice);
	accesses<<<1, 1>>>(p, p + 1);
	cudaMemcpy(&out, p + 1, sizeof out, cudaMemcpyDeviceToHost);
	return is_clean() && out.b == in.b && out.s == in.s && out.h == in.h && !memcmp(out.w, in.w, sizeof in.w) && out.l == in.l &&
	       out.f == in.f && out.d == in.d;
}

// A message from one block to another: the flag is released and acquired.
__global__ void message(int *data, int *flag, int *out)
{
	int seen = 0;

	if (blockIdx.x == 1) {
		*data = 42;
		asm volatile("fence.acq_rel.gpu;" ::: "memory");
		asm volatile("st.relaxed.gpu.s32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
	} else {
		while (!seen) {
			asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
		}
		asm volatile("fence.acq_rel.gpu;" ::: "memory");
		*out = *data;
	}
}

// The same without fences, by the orders of the accesses themselves.
__global__ void released(int *data, int *flag, int *out)
{
	int seen = 0;

	if (blockIdx.x == 1) {
		*data = 43;
		asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
	} else {
		while (!seen) {
			asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
		}
		*out = *data;
	}
}

static bool messages()
{
	int *p = zeros<int>(96);

	message<<<2, 1>>>(p, p + 16, p + 32);
	released<<<2, 1>>>(p + 48, p + 64, p + 80);
	return is_clean() && fetch(p, 96)[32] == 42 && fetch(p, 96)[80] == 43;
}

// ---- Atomics, fences, barriers

__global__ void all_atomics(int *i, u64 *l, float *f)
{
	__shared__ int in_block;
	int old, seen;

	if (threadIdx.x == 0) {
		in_block = 0;
	}
	asm volatile("bar.sync 0;" ::: "memory");
	asm volatile("atom.add.global.u32 %0, [%1], %2;" : "=r"(old) : "l"(&i[0]), "r"(1) : "memory");
	asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(&i[1]), "r"(-2) : "memory");
	asm volatile("atom.acq_rel.sys.max.s32 %0, [%1], %2;" : "=r"(old) : "l"(&i[2]), "r"((int)threadIdx.x - 40) : "memory");
	asm volatile("red.min.s32 [%0], %1;" ::"l"(&i[3]), "r"(-(int)threadIdx.x) : "memory");
	asm volatile("red.global.or.b32 [%0], %1;" ::"l"(&i[4]), "r"(1 << threadIdx.x % 32) : "memory");
	asm volatile("red.global.inc.u32 [%0], %1;" ::"l"(&i[5]), "r"(9) : "memory");
	asm volatile("red.global.add.u64 [%0+8], %1;" ::"l"(l), "l"(1ull << 40) : "memory");
	asm volatile("red.global.add.f32 [%0], %1;" ::"l"(f), "f"(0.5f) : "memory");
	for (old = 0;; old = seen) {
		asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;" : "=r"(seen) : "l"(&i[6]), "r"(old), "r"(old + 3) : "memory");
		if (seen == old) {
			break;
		}
	}
	asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(old) : "r"((unsigned)__cvta_generic_to_shared(&in_block)) : "memory");
	asm volatile("membar.cta; membar.gl; membar.sys; fence.sc.gpu;" ::: "memory");
	asm volatile("barrier.sync 0;" ::: "memory");
	if (threadIdx.x == 0) {
		asm volatile("st.global.u32 [%0], %1;" ::"l"(&i[7]), "r"(in_block) : "memory");
	}
}

static bool atomics()
{
	int *i = zeros<int>(8);
	u64 *l = zeros<u64>(2);
	float *f = zeros<float>(1);

	all_atomics<<<1, 64>>>(i, l, f);
	const auto v = fetch(i, 8);
	return is_clean() && v[0] == 64 && v[1] == -128 && v[2] == 23 && v[3] == -63 && v[4] == -1 && v[5] == 4 && v[6] == 192 &&
	       v[7] == 64 && fetch(l, 2)[1] == 64ull << 40 && fetch(f, 1)[0] == 32;
}

// ---- Lanes

__global__ void lanes(unsigned *p)
{
	const unsigned me = threadIdx.x;
	unsigned ballot, down, xored, first, active, up;

	asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tvote.sync.ballot.b32 %0, p, 0xffffffff;\n\t}" : "=r"(ballot) : "r"(me % 3));
	asm volatile("shfl.sync.down.b32 %0, %1, 4, 0x1f, 0xffffffff;" : "=r"(down) : "r"(me));
	asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(xored) : "r"(me));
	asm volatile("shfl.sync.idx.b32 %0, %1, 5, 0x1f, -1;" : "=r"(first) : "r"(me));
	asm volatile("activemask.b32 %0;" : "=r"(active));
	asm volatile("bar.warp.sync 0xffffffff;");
	// A sum with the lane four below, as cub writes it.
	asm volatile("{ .reg .u32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %1, %2, %3, %4; @p add.u32 r0, r0, %1; @!p mov.u32 r0, 99; mov.u32 %0, r0; }"
		: "=r"(up) : "r"(me), "r"(4), "r"(0), "r"(-1));
	p[me] = up == (me < 4 ? 99 : 2 * me - 4) && ballot == 0xb6db6db6 && down == (me < 28 ? me + 4 : me) && xored == (me ^ 1) && first == 5 && active == 0xffffffff;
}

static bool warps()
{
	unsigned *p = zeros<unsigned>(32);

	lanes<<<1, 32>>>(p);
	for (unsigned right : fetch(p, 32)) {
		if (!right) {
			return false;
		}
	}
	return is_clean();
}

// Votes: with a mask in groups of 8 lanes, and of the active lanes.
__global__ void votes(unsigned *p)
{
	const unsigned me = threadIdx.x, group = 0xffu << (me & ~7u);
	unsigned all, any, same, not_all, ballot = 0, active = 0;

	asm volatile("{ .reg .pred p, q, r, s, t; setp.ne.u32 p, %4, 8; vote.sync.all.pred q, p, %5; vote.sync.any.pred r, !p, %5;"
		     " vote.sync.uni.pred s, p, %5; vote.sync.all.pred t, !p, %5;"
		     " selp.u32 %0, 1, 0, q; selp.u32 %1, 1, 0, r; selp.u32 %2, 1, 0, s; selp.u32 %3, 1, 0, t; }"
		: "=r"(all), "=r"(any), "=r"(same), "=r"(not_all) : "r"(me), "r"(group));
#if __CUDA_ARCH__ < 700 // later ones have no votes without a mask
#define OLD_VOTES 1
	if (me % 4 == 1) {
		asm volatile("{ .reg .pred p, q; setp.gt.u32 p, %2, 20; vote.ballot.b32 %0, p; vote.any.pred q, p; selp.u32 %1, 1, 0, q; }"
			: "=r"(ballot), "=r"(active) : "r"(me));
	}
#else
#define OLD_VOTES 0
#endif
	p[me] = all == (me / 8 != 1) && any == (me / 8 == 1) && same == (me / 8 != 1) && !not_all &&
		ballot == (OLD_VOTES && me % 4 == 1 ? 0x22200000 : 0) && active == (OLD_VOTES && me % 4 == 1);
}

// Reductions and matches; functions of warps and barriers under predicates.
__global__ void lanes_together(int *right)
{
	const unsigned me = threadIdx.x, lane = me % 32, upper = 0xffff0000u;
	unsigned sum, least, all_of, same, equal, every, ballot = 7, shuffled = 8, active = 9, count, mixed;
	int most, lowest;

	asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(me));
	asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(least) : "r"(lane - 1));
	asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(most) : "r"((int)lane - 40));
	asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(lowest) : "r"((int)lane - 40));
	asm volatile("redux.sync.and.b32 %0, %1, 0xffffffff;" : "=r"(all_of) : "r"(lane | 0x40));
	asm volatile("redux.sync.xor.b32 %0, %1, 0xffffffff;" : "=r"(mixed) : "r"(1u << lane));
	asm volatile("match.any.sync.b64 %0, %1, 0xffffffff;" : "=r"(same) : "l"((u64)(lane % 4) << 40));
	asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(equal), "=r"(every) : "r"(me / 32));
	asm volatile("{ .reg .pred p; setp.ge.u32 p, %3, 16; @p vote.sync.ballot.b32 %0, p, %4; @p shfl.sync.idx.b32 %1, %3, 20, 31, %4;"
		     " @!p activemask.b32 %2; @p bar.warp.sync %4; @!p nanosleep.u32 10; }"
		: "+r"(ballot), "+r"(shuffled), "+r"(active) : "r"(lane), "r"(upper));
	asm volatile("{ .reg .pred p, q, r; setp.lt.u32 p, %1, 40; bar.red.popc.u32 %0, 0, p; bar.red.and.pred q, 0, !p; bar.red.or.pred r, 0, p;"
		     " @q add.u32 %0, %0, 1000; @r add.u32 %0, %0, 2000; }" : "=r"(count) : "r"(me));
	right[me] = sum == (me < 32 ? 496 : 1520) && least == 0 && most == -9 && lowest == -40 && all_of == 0x40 && mixed == ~0u;
	right[me] += same == 0x11111111u << lane % 4 && equal == ~0u && every == 1 && count == 2040;
	right[me] += lane >= 16 ? ballot == upper && shuffled == 20 && active == 9 : ballot == 7 && shuffled == 8 && active == 0xffff;
}

// Branches forwards: from several places to one label, over others, and accesses, barriers and atomics between them.
__global__ void branches(int *p, int *right)
{
	const unsigned me = threadIdx.x;
	unsigned way, kept = 5;

	asm volatile("{ .reg .pred p, q; .reg .u32 t;\n"
		     " setp.eq.u32 p, %2, 0; setp.lt.u32 q, %2, 8;\n"
		     " @p bra ZERO_%=;\n"
		     " @q bra FEW_%=;\n"
		     " mov.u32 t, 3; st.global.u32 [%3], 30; @q mov.u32 t, 99; bra END_%=;\n"
		     "FEW_%=: mov.u32 t, 2; red.global.add.u32 [%4], 1;\n"
		     " setp.eq.u32 p, %2, 7; @!p bra END_%=; mov.u32 t, 7; bra.uni END_%=;\n"
		     "ZERO_%=:\n"
		     " mov.u32 t, 1; add.u32 %1, %1, t;\n"
		     "END_%=: mov.u32 %0, t; }"
		: "=r"(way), "+r"(kept) : "r"(me), "l"(me < 8 ? (int *)8 : p + me), "l"(me == 0 || me >= 8 ? (int *)8 : p) : "memory");
	right[me] = way == (me == 0 ? 1 : me == 7 ? 7 : me < 8 ? 2 : 3) && kept == (me == 0 ? 6 : 5);
	__syncthreads();
	right[me] += p[me] == (me == 0 ? 7 : me < 8 ? 0 : 30);
}

// A work-item that exits does nothing more, deep in calls, too; barriers and warps go on without it.
__device__ __noinline__ int leaves_below(int depth, int limit)
{
	if (depth == 0) {
		asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, %1; @p exit; }" ::"r"((int)threadIdx.x), "r"(limit) : "memory");
		return 1;
	}
	return leaves_below(depth - 1, limit) + 1;
}

__global__ void leaves(int *right)
{
	__shared__ int left;
	const unsigned me = threadIdx.x;

	left = 0;
	__syncthreads();
	right[me] = 3;
	if (me < 40 && leaves_below(3, 20) == 4) {
		right[me] = 2;
	}
	right[me] += atomicAdd(&left, 1) < 44;
	__syncthreads();
	right[me] += (int)(left == 44 && __popc(__activemask()) == (me < 32 ? 12 : 32)) - (me >= 40);
	if (me == 63) {
		asm volatile("exit;");
		right[me] = 9;
	}
}

static bool all_are(int *right, int expected)
{
	for (int i : fetch(right, 64)) {
		if (i != expected) {
			return false;
		}
	}
	return is_clean();
}

static bool lanes()
{
	int *right = zeros<int>(64);

	lanes_together<<<1, 64>>>(right);
	return all_are(right, 3);
}

static bool exits()
{
	int *right = zeros<int>(128);

	leaves<<<1, 64>>>(right);
	bool same = true;
	for (int i = 0; i < 64; i++) {
		const int is = fetch(right, 64)[i];

		same = same && is == (i < 20 ? 3 : 4);
	}
	return same && is_clean();
}

static bool jumps()
{
	int *p = zeros<int>(64), *right = zeros<int>(64);

	branches<<<1, 64>>>(p, right);
	return all_are(right, 2);
}

// Under a predicate, accesses of every kind: those that are not executed have addresses of nothing.
__global__ void predicates(int *p, int *right)
{
	const unsigned me = threadIdx.x;
	int *const mine = me % 2 ? p + me : (int *)8, *const others = me % 2 ? (int *)8 : p + me;
	int loaded = -1, kept = -2, old = -3, first, second;

	asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p st.global.u32 [%3], 7; @!p st.relaxed.gpu.u32 [%4], 8;"
		     " @p ld.volatile.global.u32 %0, [%3]; @!p ld.global.u32 %1, [%4]; @p atom.global.add.u32 %2, [%3], 1;"
		     " @!p red.global.max.u32 [%4], 20; @p fence.acq_rel.gpu; @!p membar.gl; }"
		: "+r"(loaded), "+r"(kept), "+r"(old) : "l"(mine), "l"(others), "r"(me % 2) : "memory");
	asm volatile("{ .reg .pred p; setp.eq.u32 p, %4, 2; mov.u32 %0, 0; mov.u32 %1, 0; @p ld.global.v2.u32 {%0, %1}, [%2];"
		     " @!p ld.global.v2.u32 {%1, %0}, [%3]; @!p prefetch.global.L1 [%2]; xor.pred p, p, p; @p trap; }"
		: "=r"(first), "=r"(second) : "l"(me == 2 ? right + 64 : nullptr), "l"(me == 2 ? nullptr : right + 64), "r"(me) : "memory");
	right[me] = me % 2 ? loaded == 7 && kept == -2 && old == 7 && p[me] == 8 : loaded == -1 && kept == 8 && old == -3 && p[me] == 20;
	right[me] += first == (me == 2 ? 5 : 6) && second == 11 - first;
}

static bool predicated_accesses()
{
	int *p = zeros<int>(64), *right = zeros<int>(66);
	const int pair[2] = {5, 6};

	cudaMemcpy(right + 64, pair, sizeof pair, cudaMemcpyHostToDevice);
	predicates<<<1, 64>>>(p, right);
	const auto v = fetch(right, 64);
	for (int i : v) {
		if (i != 2) {
			return false;
		}
	}
	return is_clean();
}

static bool vote_instructions()
{
	unsigned *p = zeros<unsigned>(32);

	votes<<<1, 32>>>(p);
	for (unsigned right : fetch(p, 32)) {
		if (!right) {
			return false;
		}
	}
	return is_clean();
}

// ---- Arithmetic: the same in C beside it

#define CHECK(expected, type, constraint, text, ...)                            \
	{                                                                       \
		type result;                                                    \
		asm volatile(text : "=" constraint(result) : __VA_ARGS__); \
		bad += result != (type)(expected) ? 1 << __COUNTER__ % 31 : 0;  \
	}

__global__ void computes(int a, unsigned b, u64 c, float f, double d, int *wrong)
{
	int bad = 0, sum = a;
	u64 packed;
	unsigned low, high;

	CHECK(a + 7, int, "r", "add.s32 %0, %1, 7;", "r"(a))
	CHECK(b - 0xff, unsigned, "r", "sub.u32 %0, %1, 0xff;", "r"(b))
	CHECK(a * 5, int, "r", "mul.lo.s32 %0, %1, %2;", "r"(a), "n"(5))
	CHECK((u64)b * b >> 32, unsigned, "r", "mul.hi.u32 %0, %1, %1;", "r"(b))
	CHECK((long long)a * a, long long, "l", "mul.wide.s32 %0, %1, %1;", "r"(a))
	CHECK(b * b + 3, unsigned, "r", "mad.lo.u32 %0, %1, %1, 3;", "r"(b))
	CHECK(a >> 3, int, "r", "shr.s32 %0, %1, 3;", "r"(a))
	CHECK(0, unsigned, "r", "shl.b32 %0, %1, 40;", "r"(b))
	CHECK(__popcll(c), unsigned, "r", "popc.b64 %0, %1;", "l"(c))
	CHECK(__clz((int)b), unsigned, "r", "clz.b32 %0, %1;", "r"(b))
	CHECK(__brev(b), unsigned, "r", "brev.b32 %0, %1;", "r"(b))
	CHECK(b >> 4 & 0xff, unsigned, "r", "bfe.u32 %0, %1, 4, 8;", "r"(b))
	CHECK((b & ~0xff0u) | 0x120, unsigned, "r", "bfi.b32 %0, %1, %2, 4, 8;", "r"(0x12), "r"(b))
	CHECK(__byte_perm(b, 0x01020304, 0x5140), unsigned, "r", "prmt.b32 %0, %1, 0x01020304, 0x5140;", "r"(b))
	CHECK((b & 0x0f0f0f0f) ^ a, unsigned, "r", "{ .reg .s32 t; min.s32 t, %2, -1; lop3.b32 %0, %1, 0x0f0f0f0f, t, 0x6a; }", "r"(b), "r"(a))
	CHECK(a < 0 ? 1 : 2, int, "r", "{ .reg .pred q; setp.lt.s32 q, %1, 0; selp.s32 %0, 1, 2, q; }", "r"(a))
	CHECK(b > 9 ? 1 : 2, int, "r", "{ .reg .pred q; setp.gt.u32 q, %1, 9; selp.s32 %0, 1, 2, q; }", "r"(b))
	CHECK(a / 3, int, "r", "div.s32 %0, %1, 3;", "r"(a))
	CHECK((float)a, float, "f", "cvt.rn.f32.s32 %0, %1;", "r"(a))
	CHECK((int)f, int, "r", "cvt.rzi.s32.f32 %0, %1;", "f"(f))
	CHECK((long long)a, long long, "l", "cvt.s64.s32 %0, %1;", "r"(a))
	CHECK(fmaf(f, f, 1.5f), float, "f", "fma.rn.f32 %0, %1, %1, 0f3FC00000;", "f"(f))
	CHECK(f * 3, float, "f", "mul.rn.f32 %0, %1, %2;", "f"(f), "f"(3.0f))
	CHECK(d + 0.5, double, "d", "add.f64 %0, %1, 0d3FE0000000000000;", "d"(d))
	CHECK(sqrt(d), double, "d", "sqrt.rn.f64 %0, %1;", "d"(d))
	CHECK(c ^ 0xf000000000000001ull, u64, "l", "xor.b64 %0, %1, 0xf000000000000001;", "l"(c))
	asm("add.s32 %0, %0, %1;" : "+r"(sum) : "r"(4));
	asm("mov.b64 %0, {%1, %2};" : "=l"(packed) : "r"(b), "r"(9));
	asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(packed));
	asm("{ .reg .u32 t<3>; mov.u32 t0, %1; add.u32 t1, t0, t0; add.u32 t2, t1, 1; mov.u32 %0, t2; }" : "=r"(low) : "r"(low));
	if (sum != a + 4 || low != 2 * b + 1 || high != 9) {
		bad |= 1 << 31;
	}
	*wrong = bad;
}

static bool arithmetic()
{
	int *wrong = zeros<int>(1);

	computes<<<1, 1>>>(-1000003, 0x8421f00du, 0x8000000012345678ull, 1234.75f, 6.25, wrong);
	const int bad = fetch(wrong, 1)[0];
	if (bad) {
		printf("arithmetic: %#x\n", (unsigned)bad);
	}
	return bad == 0 && is_clean();
}

int main()
{
	const claim all[] = {{"special_registers", special_registers}, {"loads_and_stores", loads_and_stores}, {"messages", messages},
		{"atomics", atomics}, {"warps", warps}, {"arithmetic", arithmetic}, {"votes", vote_instructions}, {"predicated_accesses", predicated_accesses}, {"lanes", lanes}, {"jumps", jumps}, {"exits", exits}};
	return all_hold(all);
}
