/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every range of the program has a place in the machine's DRAM or NVRAM, and a shadow: what the machine holds
 * there between kernels. What differs from it before a kernel, the program has written; where it cannot have
 * written, nobody looks. A place whose range is gone is used again by a range of its kind that fits.
 *
 * What host code reaches by copies alone comes back at the first one, whose time the kernel's end has taken.
 */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "emu.h"

enum { LINE = NVW_CUDA_LINE };
/* Of a line: this kernel has touched it; one has, and the program has not got it back. */
enum { TOUCHED = 1, KEPT = 2 };

struct place {
	struct nvw_cuda_range range; /* bytes 0: unused */
	char *at;                    /* in the machine */
	size_t room;                 /* whole lines */
	char *shadow;
	uint8_t *touched; /* by line: TOUCHED, KEPT */
	bool seen;
};

static struct {
	struct nvw_machine *machine;
	bool has_pinned;
	const char *nvram;
	uint64_t nvram_bytes, nvram_used;
	struct place *places;
	size_t count, capacity;
	struct place *last;
	struct nvw_cuda_span *spans;
} self;

static size_t lines(size_t bytes)
{
	return (bytes + LINE - 1) / LINE;
}

void ranges_begin(struct nvw_machine *machine, struct nvw_cuda_span *spans, bool has_pinned,
	const char *nvram, uint64_t nvram_bytes)
{
	NVW_INVARIANT(machine && spans && !nvram == !nvram_bytes);
	NVW_EACH(p, self.places, self.count) {
		free(p->shadow);
		free(p->touched);
	}
	free(self.places);
	memset(&self, 0, sizeof self);
	self.machine = machine;
	self.spans = spans;
	self.has_pinned = has_pinned;
	self.nvram = nvram;
	self.nvram_bytes = nvram_bytes;
}

uint64_t ranges_nvram_bytes(const struct nvw_cuda_job *job)
{
	uint64_t bytes = 0;

	NVW_EACH(r, job->ranges, job->range_count) {
		if (r->persistent) {
			bytes += lines(r->bytes) * LINE;
		}
	}
	return bytes;
}

/* ---- Places ------------------------------------------------------------------------------------- */

static bool is_of_kind(const struct place *p, const struct nvw_cuda_range *r)
{
	return p->range.persistent == r->persistent && p->range.pinned == r->pinned;
}

static struct place *place_of(const struct nvw_cuda_range *r)
{
	return NVW_FIND(p, self.places, self.count,
		p->range.start == r->start && p->range.bytes == r->bytes && is_of_kind(p, r));
}

bool ranges_have_room(const struct nvw_cuda_job *job)
{
	uint64_t wanted = 0;

	NVW_EACH(r, job->ranges, job->range_count) {
		if (r->persistent && !place_of(r)) {
			wanted += lines(r->bytes) * LINE;
		}
	}
	NVW_INVARIANT(self.nvram_used <= self.nvram_bytes);
	return wanted <= self.nvram_bytes - self.nvram_used;
}

/* An unused one that is large enough, but not much larger. */
static struct place *unused_place(const struct nvw_cuda_range *r)
{
	const size_t wanted = lines(r->bytes) * LINE;

	return NVW_FIND(p, self.places, self.count,
		!p->range.bytes && is_of_kind(p, r) && p->room >= wanted && p->room <= 2 * wanted);
}

static char *room_in_machine(const struct nvw_cuda_range *r)
{
	const size_t bytes = lines(r->bytes) * LINE;

	if (!r->persistent && r->pinned && self.has_pinned) {
		return nvw_alloc_on(self.machine, "pinned", bytes);
	}
	if (!r->persistent) {
		return nvw_alloc(self.machine, bytes);
	}
	self.nvram_used += bytes;
	NVW_INVARIANT(self.nvram_used <= self.nvram_bytes); /* ranges_have_room() */
	return (char *)(uintptr_t)(self.nvram + self.nvram_used - bytes);
}

static int new_place(const struct nvw_cuda_range *r, struct place **ret)
{
	const size_t bytes = lines(r->bytes) * LINE;
	const bool has_room = NVW_ROOM(self.places, self.capacity, self.count + 1);
	struct place p = {.room = bytes, .shadow = calloc(1, bytes), .touched = calloc(1, bytes / LINE)};

	NVW_FAIL_IF(!has_room || !p.shadow || !p.touched, NVW_E_MEMORY,
		"no memory for the %zu bytes of a range", r->bytes);
	p.at = room_in_machine(r);
	self.places[self.count] = p;
	NVW_INVARIANT(p.room >= r->bytes && p.room % LINE == 0);
	*ret = &self.places[self.count++];
	return p.at ? 0 : NVW_E_MEMORY;
}

/* ---- Before and after a kernel ------------------------------------------------------------------ */

/* Writes the lines from one on that differ, those that follow each other at once. */
static int write_changes(struct place *p, size_t from, size_t bytes)
{
	int error = 0;

	NVW_INVARIANT(from % LINE == 0 && bytes <= p->room);
	while (from < bytes && !error) {
		size_t to = from;

		while (to < bytes &&
			memcmp(p->range.start + to, p->shadow + to, nvw_min(bytes - to, LINE)) != 0) {
			to = nvw_min(to + LINE, bytes);
		}
		if (to > from) {
			memcpy(p->shadow + from, p->range.start + from, to - from);
			error = nvw_write(self.machine, p->at + from, p->shadow + from, to - from);
		}
		from = to + LINE;
	}
	return error;
}

static int take_over_one(const struct nvw_cuda_range *r)
{
	struct place *p = place_of(r);
	size_t from = r->changed / LINE * LINE, to = r->changed_end;

	if (!p) { /* the machine has nothing of it */
		from = 0;
		to = r->bytes;
		p = unused_place(r);
	}
	if (!p) {
		NVW_TRY(new_place(r, &p));
	}
	NVW_INVARIANT(p->room >= r->bytes && r->changed <= r->changed_end);
	p->range = *r;
	p->seen = true;
	return write_changes(p, from, to);
}

int ranges_take_over(const struct nvw_cuda_job *job)
{
	self.last = NULL;
	memset(self.spans, 0, NVW_CUDA_SPANS * sizeof *self.spans);
	NVW_EACH(p, self.places, self.count) {
		p->seen = false;
	}
	NVW_EACH(r, job->ranges, job->range_count) {
		struct place *const p = place_of(r);

		if (p) {
			p->seen = true;
		}
	}
	NVW_EACH(p, self.places, self.count) {
		if (!p->seen) {
			p->range.bytes = 0;
		}
	}
	NVW_EACH(r, job->ranges, job->range_count) {
		NVW_TRY(take_over_one(r));
	}
	return 0;
}

/* Bytes of the range in a line. */
static size_t bytes_at(const struct place *p, size_t at)
{
	return nvw_min(p->range.bytes - at, LINE);
}

static void keep_line(struct place *p, size_t at)
{
	NVW_DEEP_INVARIANT(p->touched[at / LINE] == TOUCHED);
	emu_spend_copy(self.machine, bytes_at(p, at));
	p->touched[at / LINE] = KEPT;
}

static void give_back_line(struct place *p, size_t at)
{
	const size_t n = bytes_at(p, at);

	NVW_DEEP_INVARIANT(p->touched[at / LINE] == KEPT);
	emu_peek(self.machine, p->shadow + at, p->at + at, n);
	memcpy(p->range.start + at, p->shadow + at, n);
	p->touched[at / LINE] = 0;
}

/* A kernel may touch little of much: where no line has the mark is passed over in words. */
static void for_lines(struct place *p, unsigned mark, void (*act)(struct place *p, size_t at))
{
	const size_t count = lines(p->range.bytes);
	uint64_t word;

	NVW_INVARIANT(count * LINE <= p->room);
	for (size_t i = 0; i < count;) {
		if (i % sizeof word == 0 && i + sizeof word <= count &&
			(memcpy(&word, p->touched + i, sizeof word), !(word & UINT64_MAX / 0xff * mark))) {
			i += sizeof word;
			continue;
		}
		if (p->touched[i] & mark) {
			act(p, i * LINE);
		}
		i++;
	}
}

void ranges_keep(void)
{
	NVW_EACH(p, self.places, self.count) {
		for_lines(p, TOUCHED, keep_line);
		if (!p->range.by_copies) {
			for_lines(p, KEPT, give_back_line);
		}
	}
}

void ranges_give_back(const char *start)
{
	NVW_EACH(p, self.places, self.count) {
		if (!start || p->range.start == start) {
			for_lines(p, KEPT, give_back_line);
		}
	}
}

size_t ranges_in_nvram(struct nvwave_kernel_range *ret)
{
	const char *const base = (const char *)nvw_nvram_base(self.machine);
	size_t count = 0;

	NVW_EACH(p, self.places, self.count) {
		if (p->range.persistent && p->range.bytes) {
			ret[count++] = (struct nvwave_kernel_range){.start = p->range.start,
				.bytes = p->range.bytes,
				.off = (uint64_t)(p->at - base)};
		}
	}
	return count;
}

/* ---- In kernels --------------------------------------------------------------------------------- */

static bool is_in(const struct place *p, const char *address, size_t n)
{
	return p && address >= p->range.start && address + n <= p->range.start + p->range.bytes;
}

static void found(struct place *p, const void *address)
{
	self.last = p;
	self.spans[nvw_cuda_span_of(address)] = (struct nvw_cuda_span){.start = p->range.start,
		.bytes = p->range.bytes,
		.at = (uintptr_t)p->at,
		.touched = p->touched};
}

bool ranges_have(const void *address, size_t n)
{
	struct place *p = self.last;

	if (!is_in(p, address, n)) {
		p = NVW_FIND(one, self.places, self.count, is_in(one, address, n));
	}
	if (p) {
		found(p, address);
	}
	return p;
}

uint64_t ranges_locate(const void *address)
{
	if (!ranges_have(address, 1)) {
		return (uint64_t)(uintptr_t)address;
	}
	const size_t at = (size_t)((const char *)address - self.last->range.start);

	self.last->touched[at / LINE] = TOUCHED;
	return (uint64_t)(uintptr_t)(self.last->at + at);
}
