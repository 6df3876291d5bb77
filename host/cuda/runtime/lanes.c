/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain accesses of kernels whose work-items have no stacks, as compiler/coroutines.c has them call: each
 * function says where the access finds its bytes. NULL: it has filled in the request, and the lane gives way.
 *
 * *site is the access's own, and unknown at first. It is known before others run: then the next access goes
 * the short way.
 */
#include "runtime.h"

struct nvw_cuda_lanes nvw_cuda_lanes;
struct nvw__request **nvw_cuda_lane_self;
void *nvw_cuda_lane_frame;
size_t nvw_cuda_lane_frame_bytes;

enum { AHEAD = 5 };
#define POISON (UINT64_MAX / 0xff * NVW_CUDA_POISON)

/* ---- The long way -------------------------------------------------------------------------------- */

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

static __attribute__((noinline)) void *load_by_call(
	void *p, size_t n, size_t aligned, const struct nvw_site **site, const void *from)
{
	if (!meet(p, n, aligned, site, "reads from", from)) {
		return nvw_cuda_translate(p, n);
	}
	nvw_cuda_machine_load(p, n, false, from);
	return p;
}

static __attribute__((noinline)) void *store_by_call(
	void *p, size_t n, size_t aligned, const struct nvw_site **site, const void *from)
{
	if (!meet(p, n, aligned, site, "writes to", from)) {
		return nvw_cuda_translate(p, n);
	}
	nvw_cuda_announce_to_machine(p, n, false, from);
	return p;
}

/* ---- The short way ------------------------------------------------------------------------------- */

static inline bool post(
	char *p, size_t n, const struct nvw_site *site, struct nvw__request *r, uint64_t kind, uint64_t value)
{
	struct nvw_cuda_span *const s = &nvw_cuda_lanes.span[nvw_cuda_span_of(p)];
	const uintptr_t offset = (uintptr_t)(p - s->start), at = s->at + offset;

	if (offset + n - 1 >= s->bytes || at % n || !site || nvw_cuda_pending.n) {
		return false;
	}
	s->touched[offset / NVW_CUDA_LINE] = 1;
	r->address = at;
	if (kind != NVW__LOAD) {
		r->value = value;
	}
	r->compare = 0;
	r->site = site;
	r->op = kind | (uint64_t)__builtin_ctzll(n) << 8;
	return true;
}

/* The block's place of a shared variable. NULL: it is not one, or is not simple. */
static inline char *shared_place(char *p, size_t n)
{
	const struct nvw_cuda_lanes *const l = &nvw_cuda_lanes;
	const uintptr_t at = (uintptr_t)p;

	if (at - (uintptr_t)l->shared >= l->shared_bytes || at % n || nvw_cuda_pending.n ||
		(at - (uintptr_t)l->dynamic < DYNAMIC_MAX && p + n > l->dynamic_end)) {
		return NULL;
	}
	return p + nvw_cuda_now->group->places;
}

#define HERE __builtin_return_address(0)

/* request: the lane's own. The window keeps poison: nobody may read it but by a hook. */
#define ACCESSES(n, type)                                                                                  \
	void *nvw_cuda_lane_read##n(                                                                       \
		void *p, const struct nvw_site **site, size_t aligned, struct nvw__request *request)       \
	{                                                                                                  \
		return post(p, n, *site, request, NVW__LOAD, 0) ? NULL :                                   \
								  load_by_call(p, n, aligned, site, HERE); \
	}                                                                                                  \
	void *nvw_cuda_lane_write##n(void *p, const struct nvw_site **site, size_t aligned,                \
		struct nvw__request *request, uint64_t value)                                              \
	{                                                                                                  \
		nvw_cuda_works();                                                                          \
		if (post(p, n, *site, request, NVW__STORE, value)) {                                       \
			*(type *)p = (type)POISON;                                                         \
			return NULL;                                                                       \
		}                                                                                          \
		return store_by_call(p, n, aligned, site, HERE);                                           \
	}                                                                                                  \
	void *nvw_cuda_lane_read_shared##n(void *p, const struct nvw_site **site, size_t aligned)          \
	{                                                                                                  \
		char *const place = shared_place(p, n);                                                    \
                                                                                                           \
		return place ? place : load_by_call(p, n, aligned, site, HERE);                            \
	}                                                                                                  \
	void *nvw_cuda_lane_write_shared##n(void *p, const struct nvw_site **site, size_t aligned)         \
	{                                                                                                  \
		char *const place = shared_place(p, n);                                                    \
                                                                                                           \
		nvw_cuda_works();                                                                          \
		return place ? place : store_by_call(p, n, aligned, site, HERE);                           \
	}
ACCESSES(1, uint8_t)
ACCESSES(2, uint16_t)
ACCESSES(4, uint32_t)
ACCESSES(8, uint64_t)

/* ---- The next lane ------------------------------------------------------------------------------- */

void *nvw_cuda_lane_next(char *frame)
{
	const struct emu_turn *const t = nvw_cuda_lanes.turn;

	__builtin_prefetch(frame + AHEAD * t->frame_bytes);
	return emu_turn_next(t, nvw_cuda_lane_self, frame);
}
