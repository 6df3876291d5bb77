/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short way of a kernel's plain access to the machine (seam.h).
 *
 * There are thousands of lanes, and their stacks are cold whenever they resume. So the way from the compiled kernel to the machine's
 * issue is one call deep, and has little to remember.
 */
#ifndef HOST_CUDA_RUNTIME_SHORT_WAY_H
#define HOST_CUDA_RUNTIME_SHORT_WAY_H

#include <string.h>

#include "runtime.h"

/* Source lines that were asked for last, by the place of the call. */
enum { NVW_CUDA_KNOWN_SITES = 256 };
extern struct nvw_cuda_known_site {
	const void *place;
	const struct nvw_site *site;
} nvw_cuda_known_sites[NVW_CUDA_KNOWN_SITES];

/* Of an access by the long way: asks for the source line, so that the next one may go the short way. */
void nvw_cuda_learn_site(const void *place);

static inline struct nvw_cuda_known_site *nvw_cuda_known_site(const void *place)
{
	return &nvw_cuda_known_sites[(uintptr_t)place % NVW_CUDA_KNOWN_SITES];
}

/* Whether an access of n bytes, a power of two up to 8, may go the short way. */
static inline __attribute__((always_inline)) bool nvw_cuda_has_short_way(
	const void *address, size_t n, const void *place)
{
	const struct nvw_cuda_span *const span =
		&nvw_cuda_machine->short_way->span[nvw_cuda_span_of(address)];
	const size_t from = (size_t)((const char *)address - span->start);

	return __builtin_expect(from < span->bytes && span->bytes - from >= n && n <= 8 &&
					(n & (n - 1)) == 0 && (span->at + from) % n == 0 && nvw_cuda_now &&
					nvw_cuda_known_site(place)->place == place,
		1);
}

/* What it asks the machine for. */
static inline __attribute__((always_inline)) void nvw_cuda_post(
	unsigned kind, const void *address, unsigned log2, uint64_t value, const void *place)
{
	const struct nvw_cuda_short_way *const way = nvw_cuda_machine->short_way;
	const struct nvw_cuda_span *const span = &way->span[nvw_cuda_span_of(address)];
	const size_t from = (size_t)((const char *)address - span->start);
	struct nvw__request *const r = *way->self;

	span->touched[from / NVW_CUDA_LINE] = 1;
	r->address = span->at + from;
	r->value = value;
	r->compare = 0;
	r->site = nvw_cuda_known_site(place)->site;
	r->op = kind | log2 << 8;
}

static inline __attribute__((always_inline)) void nvw_cuda_load_shortly(
	void *address, size_t n, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_post(NVW__LOAD, address, (unsigned)__builtin_ctzl(n), 0, place);
	nvw_cuda_machine->short_way->issue();
	nvw_cuda_now = me;
	memcpy(address, &(*nvw_cuda_machine->short_way->self)->value, n);
}

/* The value is taken out of the window at once, since others run before it has been stored. */
static inline void nvw_cuda_store_shortly(void *address, size_t n, const void *place)
{
	struct item *const me = nvw_cuda_now;
	uint64_t value = 0;

	switch (n) {
	case 1:
		memcpy(&value, address, 1);
		memset(address, NVW_CUDA_POISON, 1);
		break;
	case 2:
		memcpy(&value, address, 2);
		memset(address, NVW_CUDA_POISON, 2);
		break;
	case 4:
		memcpy(&value, address, 4);
		memset(address, NVW_CUDA_POISON, 4);
		break;
	default:
		memcpy(&value, address, 8);
		memset(address, NVW_CUDA_POISON, 8);
		break;
	}
	nvw_cuda_post(NVW__STORE, address, (unsigned)__builtin_ctzl(n), value, place);
	nvw_cuda_machine->short_way->issue();
	nvw_cuda_now = me;
}

#endif
