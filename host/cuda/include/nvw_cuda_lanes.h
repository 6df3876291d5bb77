/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain access of a kernel whose work-items have no stacks (compiler/coroutines.c): nvwave-device puts a call of one of these functions before
 * it, and a suspension behind the call, and then inlines the call. The runtime has the same structures (seam.h, runtime/runtime.h).
 */
#ifndef NVW_CUDA_LANES_H
#define NVW_CUDA_LANES_H

#ifdef __CUDA_ARCH__

struct nvw_lanes_span {
	unsigned long start, bytes, at;
	unsigned char *touched;
};

struct nvw_lanes_request {
	unsigned long address, others1[63], value, others2[63], compare, others3[63];
	const void *site;
	unsigned long others4[63], op;
};

struct nvw_lanes_item {
	void *sp, *next;
	struct {
		char others[104];
		unsigned long places;
	} * group;
};

struct nvw_lanes_turn {
	unsigned long to_run, lane, plain;
	char *frame;
	unsigned long frame_bytes;
};

extern "C" {
extern __device__ struct {
	const struct nvw_lanes_span *span;
	struct nvw_lanes_request **self;
	unsigned long shared, shared_bytes, dynamic, dynamic_end;
	void *frame;
	unsigned long frame_bytes;
	struct nvw_lanes_turn *turn;
} nvw_cuda_lanes;
extern __device__ struct nvw_lanes_item *nvw_cuda_now;
extern __device__ struct {
	void *address, *place;
	unsigned long n;
} nvw_cuda_pending;
extern __device__ unsigned long nvw_cuda_looks;
}

#define NVW_LANES(type, name, ...)                                                                   \
	static __device__                                                                            \
		__attribute__((__used__, __nodebug__, __always_inline__, __no_sanitize__("thread"))) \
		type name(__VA_ARGS__) __asm__(#name);                                               \
	static __device__ type name(__VA_ARGS__)

/* Fills in the request of an access to n bytes, 1, 2, 4 or 8. False: it goes the long way, by a call. */
NVW_LANES(bool, nvw_lanes_post, unsigned long p, unsigned long n, const void *const *site, unsigned long kind,
	unsigned long value)
{
	const struct nvw_lanes_span *const s = &nvw_cuda_lanes.span[p >> 12 & 63];
	const unsigned long offset = p - s->start, at = s->at + offset;

	if (offset + n - 1 >= s->bytes || (at & (n - 1)) || !*site || nvw_cuda_pending.n)
		return false;
	struct nvw_lanes_request *const r = *nvw_cuda_lanes.self;

	s->touched[offset >> 6] = 1;
	r->address = at;
	r->value = value;
	r->compare = 0;
	r->site = *site;
	r->op = kind | (unsigned long)__builtin_ctzl(n) << 8;
	return true;
}

NVW_LANES(bool, nvw_lanes_load, void *p, unsigned long n, const void *const *site)
{
	return nvw_lanes_post((unsigned long)p, n, site, 0, 0);
}

/* The window keeps poison: nobody may read it but by a hook. */
NVW_LANES(bool, nvw_lanes_store, void *p, unsigned long n, const void *const *site, unsigned long value)
{
	const unsigned long poison = 0xa5a5a5a5a5a5a5a5;

	nvw_cuda_looks = 0;
	if (!nvw_lanes_post((unsigned long)p, n, site, 2, value))
		return false;
	if (n == 8)
		*(unsigned long *)p = poison;
	else if (n == 4)
		*(unsigned *)p = (unsigned)poison;
	else if (n == 2)
		*(unsigned short *)p = (unsigned short)poison;
	else
		*(unsigned char *)p = (unsigned char)poison;
	return true;
}

/* Whether the address is one of a shared variable, whose place in the block may be used at once. */
NVW_LANES(bool, nvw_lanes_is_shared, void *p, unsigned long n, const void *const *site)
{
	const unsigned long at = (unsigned long)p;

	return at - nvw_cuda_lanes.shared < nvw_cuda_lanes.shared_bytes && !(at & (n - 1)) && *site &&
	       !nvw_cuda_pending.n &&
	       (at - nvw_cuda_lanes.dynamic >= 160 << 10 || at + n <= nvw_cuda_lanes.dynamic_end);
}

NVW_LANES(unsigned long, nvw_lanes_load_shared, void *p, unsigned long n)
{
	const unsigned long at = nvw_cuda_now->group->places + (unsigned long)p;

	if (n == 8)
		return *(unsigned long *)at;
	if (n == 4)
		return *(unsigned *)at;
	if (n == 2)
		return *(unsigned short *)at;
	return *(unsigned char *)at;
}

NVW_LANES(void, nvw_lanes_store_shared, void *p, unsigned long n, unsigned long value)
{
	const unsigned long at = nvw_cuda_now->group->places + (unsigned long)p;

	if (n == 8)
		*(unsigned long *)at = value;
	else if (n == 4)
		*(unsigned *)at = (unsigned)value;
	else if (n == 2)
		*(unsigned short *)at = (unsigned short)value;
	else
		*(unsigned char *)at = (unsigned char)value;
}

/* What was loaded. */
NVW_LANES(unsigned long, nvw_lanes_loaded, void)
{
	return (*nvw_cuda_lanes.self)->value;
}

/* As the machine's emu_turn_next(). */
NVW_LANES(char *, nvw_lanes_next, void)
{
	struct nvw_lanes_turn *const t = nvw_cuda_lanes.turn;

	if (!(t->plain & 1))
		return 0;
	char *const frame = t->frame + t->frame_bytes;

	t->plain >>= 1;
	t->to_run >>= 1;
	t->lane++;
	t->frame = frame;
	*(unsigned long *)nvw_cuda_lanes.self += 8;
	__builtin_prefetch(frame + 4 * t->frame_bytes);
	return frame;
}

#undef NVW_LANES
#endif

#endif
