/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences and persist barriers: the machine's, or, where a record is made, flushes and fences. The record has
 * one thread: all work-items flush before the first of them fences.
 */

#include "../include/nvw_cuda_atomics.h"
#include "runtime.h"

enum { WORK_ITEM, BLOCK, GRID, WAYS = 3 };

/* What __threadfence_system() promises: host.fence_system. */
static enum { VISIBLE, DURABLE, SWITCHED } fences;
static bool direct_io = true; /* the program has not switched it off */
static enum { SBRP_NOTHING, SBRP_BARRIERS, SBRP_REFUSED } sbrp;

/* 0: it is none of the names. */
static unsigned one_of(const char *const names[WAYS], const char *name)
{
	for (unsigned i = 1; name && i < WAYS; i++) {
		if (!strcmp(names[i], name)) {
			return i;
		}
	}
	return 0;
}

static __attribute__((constructor)) void begin(void)
{
	static const char *const of_fences[WAYS] = {[DURABLE] = "durable", [SWITCHED] = "switched"},
				 *const of_sbrp[WAYS] = {
					 [SBRP_BARRIERS] = "barriers", [SBRP_REFUSED] = "refused"};

	fences = one_of(of_fences, getenv(NVW_CUDA_FENCE_VARIABLE));
	sbrp = one_of(of_sbrp, getenv(NVW_CUDA_SBRP_VARIABLE));
}

void nvw_cuda_switch_direct_io(int on)
{
	direct_io = on != 0;
}

static bool is_durable(unsigned scope)
{
	return scope == NVW_CUDA_SYSTEM && (fences == DURABLE || (fences == SWITCHED && !direct_io));
}

void nvw_cuda_grid_barrier(void);
int nvw_cuda_barrier(int kind, int predicate);

static void fence_on_machine(struct item *me, unsigned scope, const void *place)
{
	if (me->seen) {
		(void)nvw_cuda_machine_atomic(NVW_CUDA_LOAD, me->seen, me->seen_bytes, 0, NVW_CUDA_OF_FENCE,
			NVW_CUDA_ACQUIRE, scope, place);
		me->seen = NULL;
	}
	nvw_cuda_machine_fence(scope, place);
	me->fenced = true;
}

void nvw_cuda_fence_at(unsigned scope, const void *place)
{
	struct item *const me = nvw_cuda_now;

	NVW_DEEP_INVARIANT(scope <= NVW_CUDA_SYSTEM);
	nvw_cuda_settle();
	if (nvw_cuda_machine && me) {
		fence_on_machine(me, scope, place);
		if (is_durable(scope)) {
			nvw_cuda_machine_persist(WORK_ITEM, place);
		}
	} else if (me && is_durable(scope)) {
		nvw_cuda_record_flush(place);
		nvw_cuda_record_fence(place);
	}
}

void nvw_cuda_fence(int scope)
{
	nvw_cuda_fence_at((unsigned)scope, __builtin_return_address(0));
}

void nvw_tsan_atomic_thread_fence(int order)
{
	nvw_cuda_fence_at(NVW_CUDA_SYSTEM, __builtin_return_address(0));
}

void nvw_tsan_atomic_signal_fence(int order)
{
}

static void persist(int scope, const void *place)
{
	nvw_cuda_settle();
	if (nvw_cuda_machine) {
		nvw_cuda_machine_persist((unsigned)scope, place);
		return;
	}
	nvw_cuda_record_flush(place);
	if (scope == BLOCK) {
		(void)nvw_cuda_barrier(0, 0);
	} else if (scope == GRID) {
		nvw_cuda_grid_barrier();
	}
	nvw_cuda_record_fence(place);
}

void nvw_cuda_persist_barrier(int scope)
{
	persist(scope, __builtin_return_address(0));
}

/* A persist barrier of the work-item orders more than SBRP's instructions do, and it waits. pAcq needs
 * none: the releaser has waited. */
void nvw_cuda_sbrp(const char *instruction, unsigned scope, const void *place)
{
	static const char *const scopes[] = {"", "block", "device", "system"};

	if (sbrp == SBRP_REFUSED) {
		nvw_cuda_report(place,
			"%s of scope %s: inline PTX that is SBRP's is refused (host.sbrp=refused)",
			NVW_OR(instruction, "pAcq"), scopes[scope & 3]);
		nvw_cuda_end_kernel(cudaErrorLaunchFailure);
	}
	if (sbrp == SBRP_BARRIERS && instruction) {
		persist(WORK_ITEM, place);
	}
}
