/* SPDX-License-Identifier: BSD-3-Clause */
/* Values: the effect of a request's lanes on the bytes of its line, lane by lane. */
#include "core/each.h"
#include "core/atomic_value.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "../memory/device_memory.h"
#include "../persist/persist.h"
#include "../protocol/protocol.h"
#include "../observe/record.h"

static unsigned offset_of(const struct nvw__request *r)
{
	return (unsigned)(r->address % EMU_LINE);
}

/* Copies 1, 2, 4 or 8 bytes; memcpy() of a number that the compiler does not know is a call. */
static inline void copy_object(void *to, const void *from, unsigned size)
{
	NVW_DEEP_INVARIANT(size == 8 || size == 4 || size == 2 || size == 1);
	if (size == 8) {
		memcpy(to, from, 8);
	} else if (size == 4) {
		memcpy(to, from, 4);
	} else {
		memcpy(to, from, size == 2 ? 2 : 1);
	}
}

static inline uint64_t get(const struct emu_line *line, unsigned offset, unsigned size)
{
	uint64_t value = 0;

	NVW_DEEP_INVARIANT(offset + size <= EMU_LINE);
	copy_object(&value, line->data + offset, size);
	return value;
}

/* Whether the lanes, the first of which are neighbours up to end, are these alone, and access neighbouring
 * objects. A sequence has gaps where a store buffer has served lanes. */
static inline bool is_run(const struct coh_request *request, unsigned end)
{
	return request->is_sequence && (end == EMU_LANES || request->lanes >> end == 0);
}

/* The compiler knows the number of words of a whole line, and extends several at once. */
static inline void load_words(uint64_t *values, const uint8_t *data, unsigned count)
{
	uint32_t words[EMU_LINE / sizeof(uint32_t)];

	if (count == EMU_LINE / sizeof *words) {
		memcpy(words, data, sizeof words);
		NVW_FOR(i, EMU_LINE / sizeof *words) {
			values[i] = words[i];
		}
		return;
	}
	NVW_FOR(i, count) {
		memcpy(words, data + i * sizeof *words, sizeof *words);
		values[i] = words[0];
	}
}

extern inline void coh_lanes_load_run(uint64_t *values, const uint8_t *data, unsigned size, unsigned count)
{
	NVW_DEEP_INVARIANT(count > 0 && count * size <= EMU_LINE);
	if (size == 4) {
		load_words(values, data, count);
	} else if (count * size == EMU_LINE && size == 8) {
		memcpy(values, data, EMU_LINE);
	} else {
		NVW_FOR(i, count) {
			values[i] = 0;
			copy_object(&values[i], data + i * size, size);
		}
	}
}

extern inline void coh_lanes_load(const struct coh_request *request, const struct emu_line *line)
{
	NVW_DEEP_INVARIANT(request->lanes);
	struct emu_requests *const r = &request->wf->requests;
	const unsigned first = emu_first(request->lanes), end = emu_run_end(request->lanes);
	const unsigned size = request->size;

	if (size == 4 && is_run(request, end)) {
		load_words(&r->value[first], line->data + r->address[first] % EMU_LINE, end - first);
		return;
	}
	/* Eight neighbours: a whole line. */
	if (size == 8 && request->is_sequence && request->lanes >> first == 0xff) {
		memcpy(&r->value[first], line->data, EMU_LINE);
		return;
	}
	for (uint64_t rest = request->lanes; rest; rest &= rest - 1) {
		const unsigned lane = emu_first(rest);

		r->value[lane] = get(line, (unsigned)(r->address[lane] % EMU_LINE), size);
	}
}

/* Stores value to a lane's bytes of the line. */
static inline void put(
	const struct coh_request *request, struct emu_line *line, unsigned lane, uint64_t value)
{
	struct nvw_machine *const m = request->m;
	const unsigned size = request->size, offset = offset_of(emu_request(request->wf, lane));
	const uint64_t mask = ((UINT64_C(1) << size) - 1) << offset;

	copy_object(line->data + offset, &value, size);
	line->valid |= mask;
	line->dirty |= mask;
	if (emu_is_persistent(m, request->line)) {
		m->stats.nv_stores++;
		record_store(
			m, request->wf, lane, line, emu_line_off(m, request->line) + offset, size, value);
		persist_stored(request, lane, line, offset);
	}
}

/* Objects of 4 or 8 bytes of neighbours, to a line of DRAM. */
static inline void store_run(
	const uint64_t *values, struct emu_line *line, unsigned offset, unsigned size, unsigned count)
{
	const uint64_t mask = UINT64_MAX >> (EMU_LINE - count * size) << offset;

	if (mask == UINT64_MAX && size == 8) {
		memcpy(line->data, values, EMU_LINE);
	} else if (size == 8) {
		NVW_FOR(i, count) {
			memcpy(line->data + offset + 8 * i, &values[i], 8);
		}
	} else {
		NVW_FOR(i, count) {
			memcpy(line->data + offset + 4 * i, &values[i], 4);
		}
	}
	line->valid |= mask;
	line->dirty |= mask;
}

extern inline void coh_lanes_store(const struct coh_request *request, struct emu_line *line)
{
	NVW_DEEP_INVARIANT(request->lanes);
	const struct emu_requests *const r = &request->wf->requests;
	const unsigned first = emu_first(request->lanes), end = emu_run_end(request->lanes);

	if (request->size >= 4 && is_run(request, end) && !emu_is_persistent(request->m, request->line)) {
		store_run(&r->value[first], line, (unsigned)(r->address[first] % EMU_LINE), request->size,
			end - first);
		return;
	}
	for (uint64_t rest = request->lanes; rest; rest &= rest - 1) {
		const unsigned lane = emu_first(rest);

		put(request, line, lane, r->value[lane]);
	}
}

/* Whether the lanes add as a wavefront (nvw_wavefront_add()). All of them are at the same instruction. */
static bool adds_together(const struct coh_request *request)
{
	return request->kind == NVW__ADD &&
	       request->wf->requests.compare[__builtin_ctzll(request->lanes)] != 0;
}

/* One store per object: the sums in between are nowhere. */
static void add_together(const struct coh_request *request, struct emu_line *line, uint64_t all)
{
	uint64_t sum[EMU_LINE] = {0};
	bool seen[EMU_LINE] = {false};

	EMU_FOR_LANES(lane, request->lanes)
	{
		struct nvw__request *const r = emu_request(request->wf, lane);
		const unsigned offset = offset_of(r);
		const uint64_t operand = r->value;

		r->value = (get(line, offset, request->size) + sum[offset]) & all;
		r->compare = !seen[offset];
		seen[offset] = true;
		sum[offset] += operand;
	}
	EMU_FOR_LANES(lane, request->lanes)
	{
		const struct nvw__request *const r = emu_request(request->wf, lane);

		request->wf->changed |= UINT64_C(1) << lane;
		if (r->compare != 0) {
			put(request, line, (unsigned)lane, (r->value + sum[offset_of(r)]) & all);
		}
	}
}

void coh_lanes_rmw(const struct coh_request *request, struct emu_line *line)
{
	const uint64_t all = nvw_low_bits(8 * request->size);

	NVW_DEEP_INVARIANT(request->lanes);
	if (adds_together(request)) {
		add_together(request, line, all);
		return;
	}
	EMU_FOR_LANES(lane, request->lanes)
	{
		struct nvw__request *const r = emu_request(request->wf, lane);
		const uint64_t old = get(line, offset_of(r), request->size);
		const bool fails = request->kind == NVW__COMPARE_EXCHANGE && old != (r->compare & all);
		uint64_t new = old;

		if (!fails) {
			new = nvw_atomic_value(request->kind, request->size, old, r->value & all) & all;
			put(request, line, (unsigned)lane, new);
		}
		request->wf->changed &= ~(UINT64_C(1) << lane);
		request->wf->changed |= (uint64_t)(new != old) << lane;
		r->value = old;
	}
}

unsigned coh_lanes_serial(const struct coh_request *request)
{
	uint8_t wanted[EMU_LINE] = {0};
	unsigned most = 0;

	if (adds_together(request)) {
		return 1;
	}
	EMU_FOR_LANES(lane, request->lanes)
	{
		const unsigned count = ++wanted[offset_of(emu_request(request->wf, lane))];

		if (count > most) {
			most = count;
		}
	}
	return most;
}
