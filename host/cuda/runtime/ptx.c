/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inline PTX that touches memory, orders it, or lets lanes meet: what nvwave-device makes of its
 * instructions. All values are 64 bits wide, of which each function uses those of its type; executed is 0
 * where the instruction's predicate does not hold, and 1 otherwise. ptx_compute.c has the arithmetic.
 *
 * SBRP's instructions (sbrp23 5) are relaxed accesses and fences with scopes: st.relaxed is pRel, ld.relaxed
 * pAcq, fence.acq_rel.sys dFence, a narrower fence oFence. host.sbrp says what they promise of persistency.
 */

#include "../include/nvw_cuda_atomics.h"
#include "../include/nvw_cuda_warp.h"
#include "ptx.h"
#include "runtime.h"

#define HERE __builtin_return_address(0)

/* ---- Memory ------------------------------------------------------------------------------------- */

uint64_t nvw_ptx_load(uint64_t address, uint64_t type, uint64_t is_volatile, uint64_t executed)
{
	uint64_t value = 0;

	NVW_DEEP_INVARIANT(PTX_BYTES(type) <= sizeof value);
	if (!executed) {
		return 0;
	}
	nvw_cuda_before_read((void *)address, PTX_BYTES(type), is_volatile, HERE);
	memcpy(&value, (void *)address, PTX_BYTES(type));
	return ptx_extended(value, (unsigned)type);
}

uint64_t nvw_ptx_store(
	uint64_t address, uint64_t type, uint64_t is_volatile, uint64_t value, uint64_t executed)
{
	if (!executed) {
		return 0;
	}
	nvw_cuda_before_write((void *)address, PTX_BYTES(type), is_volatile, HERE);
	memcpy((void *)address, &value, PTX_BYTES(type));
	return 0;
}

/* Some operations differ with the type. */
static unsigned typed_operation(unsigned operation, unsigned type)
{
	switch (PTX_KIND(type) << 8 | operation) {
	case PTX_FLOAT << 8 | NVW_CUDA_ADD:
		return NVW_CUDA_ADD_FLOAT;
	case PTX_SIGNED << 8 | NVW_CUDA_MIN:
		return NVW_CUDA_SIGNED_MIN;
	case PTX_SIGNED << 8 | NVW_CUDA_MAX:
		return NVW_CUDA_SIGNED_MAX;
	default:
		return operation;
	}
}

uint64_t nvw_ptx_atomic(uint64_t what, uint64_t address, uint64_t value, uint64_t compare, uint64_t executed)
{
	const unsigned operation = what & 0xff, type = what >> 8 & 0xff, scope = what >> 16 & 0xff,
		       order = (unsigned)(what >> 24);

	if (!executed) {
		return 0;
	}
	if (operation == NVW_CUDA_STORE && order == NVW_CUDA_RELAXED) {
		nvw_cuda_sbrp("pRel", scope, HERE);
	} else if (operation == NVW_CUDA_LOAD && order == NVW_CUDA_RELAXED) {
		nvw_cuda_sbrp(NULL, scope, HERE);
	}
	return ptx_extended(nvw_cuda_atomic_at(typed_operation(operation, type), type & 3, scope, order,
				    (void *)address, ptx_extended(value, (type & 3) | PTX_UNSIGNED << 2),
				    ptx_extended(compare, (type & 3) | PTX_UNSIGNED << 2), HERE),
		type);
}

uint64_t nvw_ptx_fence(uint64_t scope, uint64_t is_acq_rel, uint64_t executed)
{
	if (!executed) {
		return 0;
	}
	if (is_acq_rel) {
		nvw_cuda_sbrp(scope == NVW_CUDA_SYSTEM ? "dFence" : "oFence", (unsigned)scope, HERE);
	}
	nvw_cuda_fence_at((unsigned)scope, HERE);
	return 0;
}

/* ---- Special registers -------------------------------------------------------------------------- */

static uint64_t part(const struct extent *e, unsigned i)
{
	const unsigned parts[] = {e->x, e->y, e->z};

	NVW_DEEP_INVARIANT(i < 3);
	return parts[i];
}

static uint64_t lane_mask(unsigned number, unsigned lane)
{
	const uint32_t own = 1u << lane, below = own - 1;

	switch (number) {
	case PTX_LANEMASK_EQ:
		return own;
	case PTX_LANEMASK_LT:
		return below;
	case PTX_LANEMASK_LE:
		return below | own;
	case PTX_LANEMASK_GT:
		return (uint32_t) ~(below | own);
	default:
		return (uint32_t)~below;
	}
}

static uint64_t time_register(unsigned number)
{
	switch (number) {
	case PTX_CLOCK:
	case PTX_CLOCK64:
		return (uint64_t)nvw_cuda_clock();
	case PTX_CLOCK_HI:
		return (uint64_t)nvw_cuda_clock() >> 32;
	case PTX_GLOBALTIMER_HI:
		return nvw_cuda_nanoseconds() >> 32;
	default:
		return nvw_cuda_nanoseconds();
	}
}

uint64_t nvw_ptx_special(uint64_t number)
{
	const struct item *const me = nvw_cuda_now;
	const unsigned n = (unsigned)number;

	if (n < PTX_LANEID) {
		const struct extent *const triples[] = {
			&me->thread, &nvw_cuda_launch.block, &me->group->block, &nvw_cuda_launch.grid};

		return part(triples[n / 3], n % 3);
	}
	if (n >= PTX_CLOCK && n <= PTX_GLOBALTIMER_HI) {
		return time_register(n);
	}
	switch (n) {
	case PTX_LANEID:
		return me->lane;
	case PTX_WARPID:
		return (uint64_t)(me->warp - me->group->warps);
	case PTX_NWARPID:
		return (me->group->size + WARP - 1) / WARP;
	case PTX_SMID:
		return me->group->number % MULTIPROCESSORS;
	case PTX_NSMID:
		return MULTIPROCESSORS;
	case PTX_GRIDID:
		return 1;
	case PTX_DYNAMIC_SMEM_SIZE:
		return nvw_cuda_launch.dynamic;
	default:
		return lane_mask(n, me->lane);
	}
}

/* ---- Others ------------------------------------------------------------------------------------- */

/* kind: 0 sync, 1 popc, 2 and, 3 or */
uint64_t nvw_ptx_barrier(uint64_t kind, uint64_t predicate, uint64_t executed)
{
	if (!executed) {
		return 0;
	}
	return (uint64_t)nvw_cuda_barrier_at((int)kind, predicate & 1, HERE);
}

/* shfl: the lane that it reads; -1: none within its bounds. mode: 0 idx, 1 up, 2 down, 3 bfly in the upper
 * half, then bound and mask of segments. */
static int source_lane(uint64_t argument, uint64_t mode)
{
	const unsigned lane = nvw_cuda_now->lane, by = argument & 31, bound = mode & 31,
		       segment = mode >> 8 & 31, last = (lane & segment) | (bound & ~segment),
		       kind = mode >> 16 & 3;
	const unsigned sources[] = {(lane & segment) | (by & ~segment), lane - by, lane + by, lane ^ by};
	NVW_DEEP_INVARIANT(lane < WARP && kind < NVW_COUNT(sources));
	const int from = (int)sources[kind];
	const bool is_within = kind == 1 ? from >= (int)last : from <= (int)last;

	return is_within ? from : -1;
}

uint64_t nvw_ptx_is_within(uint64_t argument, uint64_t mode)
{
	return source_lane(argument, mode) >= 0;
}

/* Returns what a reduction, a match or a vote compares. mode: 0 a predicate, 1 32 bits, 2 64 bits */
static uint64_t compared(uint64_t kind, uint64_t value, uint64_t mode)
{
	NVW_DEEP_INVARIANT(mode <= 2);
	if (mode == 0) {
		return value & 1;
	}
	if (kind == NVW_CUDA_REDUCE_SIGNED_MIN || kind == NVW_CUDA_REDUCE_SIGNED_MAX) {
		return (uint64_t)(int32_t)value;
	}
	return value & nvw_low_bits(32 * (unsigned)mode);
}

uint64_t nvw_ptx_meet(
	uint64_t kind, uint64_t mask, uint64_t value, uint64_t argument, uint64_t mode, uint64_t executed)
{
	unsigned from = (unsigned)argument;

	if (!executed) {
		return 0;
	}
	if (kind == NVW_CUDA_SHUFFLE) {
		const int lane = source_lane(argument, mode);

		from = nvw_cuda_now->lane;
		if (lane >= 0) {
			from = (unsigned)lane;
		}
		value &= UINT32_MAX;
	} else {
		value = compared(kind, value, mode);
	}
	return nvw_cuda_meet_at((int)kind, (unsigned)mask, value, from, HERE);
}

uint64_t nvw_ptx_active_mask(uint64_t executed)
{
	if (!executed) {
		return 0;
	}
	return nvw_cuda_active_mask_at(HERE);
}

uint64_t nvw_ptx_sleep(uint64_t ns, uint64_t executed)
{
	if (executed) {
		nvw_cuda_sleep_at((unsigned)ns, HERE);
	}
	return 0;
}

uint64_t nvw_ptx_trap(uint64_t executed)
{
	if (executed) {
		nvw_cuda_trap_at(HERE);
	}
	return 0;
}

uint64_t nvw_ptx_exit(uint64_t executed)
{
	if (executed) {
		nvw_cuda_running.leave();
	}
	return 0;
}
