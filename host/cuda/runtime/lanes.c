/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain accesses of kernels whose work-items have no stacks, where they do not go the short way of
 * compiler/coroutines.c: each function says where the access finds its bytes.
 *
 * *site is the access's own, and unknown at first. It is known before others run: then the next access goes
 * the short way.
 */
#include "runtime.h"

struct nvw_cuda_lanes nvw_cuda_lanes;
struct nvw__request **nvw_cuda_lane_self;
void *nvw_cuda_lane_frame;
size_t nvw_cuda_lane_frame_bytes;

/* False: the machine has none of it. A null pointer is told here, since NULL is no place. */
static bool meet(
	void *p, size_t n, size_t aligned, const struct nvw_site **site, const char *verb, const void *from)
{
	if (!p) {
		nvw_cuda_end_illegal(from, verb, p);
	}
	if ((uintptr_t)p % aligned) {
		nvw_cuda_end_misaligned(p, from);
	}
	if (nvw_cuda_pending.n) {
		nvw_cuda_settle();
	}
	if (!nvw_cuda_machine_has(p, n)) {
		return false;
	}
	*site = nvw_cuda_machine->short_way->site(from);
	return true;
}

/* The block's place of a shared variable. NULL: it is not one, or is not simple. */
static char *shared_place(char *p, size_t n)
{
	const struct nvw_cuda_lanes *const l = &nvw_cuda_lanes;
	const uintptr_t at = (uintptr_t)p;

	if (at - (uintptr_t)l->shared >= l->shared_bytes || (at & (n - 1)) || nvw_cuda_pending.n ||
		(at - (uintptr_t)l->dynamic < DYNAMIC_MAX && p + n > l->dynamic_end)) {
		return NULL;
	}
	return p + nvw_cuda_now->group->places;
}

static void *place_of(
	void *p, const struct nvw_site **site, size_t aligned, size_t n, bool stores, const void *from)
{
	char *const shared = shared_place(p, n);

	NVW_DEEP_INVARIANT(n <= 8 && !(n & (n - 1)) && (aligned == 1 || aligned == n));
	if (shared) {
		return shared;
	}
	if (!meet(p, n, aligned, site, stores ? "writes to" : "reads from", from)) {
		return nvw_cuda_translate(p, n);
	}
	if (stores) {
		nvw_cuda_announce_to_machine(p, n, false, from);
	} else {
		nvw_cuda_machine_load(p, n, false, from);
	}
	return p;
}

void *nvw_cuda_lane_read(void *p, const struct nvw_site **site, size_t aligned, size_t n)
{
	return place_of(p, site, aligned, n, false, __builtin_return_address(0));
}

void *nvw_cuda_lane_write(void *p, const struct nvw_site **site, size_t aligned, size_t n)
{
	nvw_cuda_works();
	return place_of(p, site, aligned, n, true, __builtin_return_address(0));
}
