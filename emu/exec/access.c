/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coalescing: from the lanes of one memory instruction to requests for lines.
 *
 * Lanes that access the same line share a request; requests go to the L1 in the order of their first lane and
 * pass through its port one by one. The instruction is complete when its last request is.
 */
#include "../memory/device_memory.h"
#include "../machine.h"
#include "../observe/names.h"
#include "../persist/persist.h"
#include "../protocol/protocol.h"
#include "store_buffer.h"

#include "core/each.h"
#include "core/invariant.h"

enum { SLOTS = 128, FEW = 16, LINES_AHEAD = 4, TAGS_AHEAD = 8 };

struct requests {
	unsigned count;
	emu_line_id lines[EMU_LANES];
	uint64_t lanes[EMU_LANES];
	uint64_t bytes[EMU_LANES];
	union {
		uint8_t slots[SLOTS]; /* hash: request number plus 1 */
		emu_pair pairs[SLOTS / sizeof(emu_pair)];
	};
};

static void bad_access(
	struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane, unsigned size, const char *why)
{
	const struct nvw__request *const r = emu_request(wf, lane);

	m->error = nvw_fail(NVW_E_KERNEL, "%s:%u: %s: %s of %u bytes at %#llx by work-item %llu %s",
		r->site->file, r->site->line, r->site->function, emu_kind_names[r->op & 0xff], size,
		(unsigned long long)r->address, (unsigned long long)(wf->first_global + lane), why);
}

/* The slot of a line: its own, or the free one where it would go. */
static uint8_t *slot_of(struct requests *q, emu_line_id line)
{
	uint32_t slot = (line * 0x9e3779b1u) >> 25;

	while (q->slots[slot] && q->lines[q->slots[slot] - 1u] != line) {
		slot = (slot + 1) % SLOTS;
	}
	return &q->slots[slot];
}

/* One pair after the other: compilers make memset() of this size an instruction that takes as long as
 * forty. */
static inline void clear_slots(struct requests *q)
{
	const emu_pair zero = {0, 0};

	_Static_assert(sizeof q->slots == 8 * sizeof zero, "pairs");
	q->pairs[0] = q->pairs[1] = q->pairs[2] = q->pairs[3] = zero;
	q->pairs[4] = q->pairs[5] = q->pairs[6] = q->pairs[7] = zero;
}

/* The slots are not used before there is a second line. */
static unsigned request_for(struct requests *q, emu_line_id line)
{
	uint8_t *slot;

	if (q->count == 1) {
		clear_slots(q);
		*slot_of(q, q->lines[0]) = 1;
	}
	if (q->count) {
		slot = slot_of(q, line);
		if (*slot) {
			return *slot - 1u;
		}
		*slot = (uint8_t)(q->count + 1);
	}
	q->lines[q->count] = line;
	q->lanes[q->count] = q->bytes[q->count] = 0;
	return q->count++;
}

/* Whether each address is that of the one before and size bytes more. count is even. */
static bool ascend(const uint64_t *address, unsigned count, unsigned size)
{
	const uint64_t start = address[0];
	const emu_pair step = {2 * size, 2 * size};
	emu_pair expected = {start, start + size}, differ = {0, 0};

#pragma GCC unroll 4
	for (const uint64_t *const end = address + count; address != end; address += 2) {
		differ |= *(const emu_pair *)address ^ expected;
		expected += step;
	}
	return !(differ[0] | differ[1]);
}

/*
 * Whether the lanes are neighbours that access neighbouring objects, none of them across lines: what most
 * instructions do. Asks the last one first, which is elsewhere if they are scattered.
 */
static bool is_sequence(const uint64_t *address, unsigned first, unsigned end, unsigned size)
{
	NVW_DEEP_INVARIANT(first < end && end <= EMU_LANES);

	const uint64_t start = address[first], last = start + (uint64_t)(end - 1 - first) * size;

	return (start & (size - 1)) == 0 && address[end - 1] == last &&
	       (end - first < 3 || ascend(&address[first], (end - first) & ~1u, size));
}

/* Request i is of so many neighbours from lane on, the first of them at this offset of the line. */
static inline void ask_for(struct requests *q, unsigned i, unsigned lane, unsigned count, unsigned size,
	emu_line_id line, unsigned offset)
{
	NVW_DEEP_INVARIANT(
		i < EMU_LANES && count > 0 && lane + count <= EMU_LANES && offset + count * size <= EMU_LINE);
	q->lines[i] = line;
	q->lanes[i] = UINT64_MAX >> (EMU_LANES - count) << lane;
	q->bytes[i] = UINT64_MAX >> (EMU_LINE - count * size) << offset;
}

/* One line, or line after line: most have all their bytes then. */
static void split_sequence(
	unsigned lane, unsigned end, unsigned size, emu_line_id line, unsigned offset, struct requests *q)
{
	unsigned i = 0, count;

	if (offset + (end - lane) * size <= EMU_LINE) {
		ask_for(q, 0, lane, end - lane, size, line, offset);
		q->count = 1;
		return;
	}
	for (; lane < end; lane += count, offset = 0, i++) {
		count = (EMU_LINE - offset) / size;
		if (count >= end - lane) {
			count = end - lane;
		}
		ask_for(q, i, lane, count, size, line++, offset);
	}
	q->count = i;
}

/* Lanes may come in any order: those of the same line find their request by its slot. */
static bool coalesce_scattered(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, unsigned size, struct requests *q)
{
	const uint64_t mask = (UINT64_C(1) << size) - 1;
	/* The previous lane's line address, and the lanes and bytes that its request i has got since then. */
	uint64_t last = UINT64_MAX, its_lanes = 0, its_bytes = 0;
	unsigned i = 0;

	q->count = 0;
	q->lanes[0] = q->bytes[0] = 0;
	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		const unsigned lane = emu_first(rest);
		const uint64_t address = wf->requests.address[lane];
		unsigned offset = (unsigned)(address % EMU_LINE);

		if (address / EMU_LINE != last) {
			emu_line_id line;

			if (!emu_locate(m, address, 1, &line, &offset)) {
				bad_access(m, wf, lane, size, "is outside device memory (DRAM and the pool)");
				return false;
			}
			q->lanes[i] |= its_lanes;
			q->bytes[i] |= its_bytes;
			its_lanes = its_bytes = 0;
			i = request_for(q, line);
			last = address / EMU_LINE;
		}
		if (offset + size > EMU_LINE) {
			bad_access(m, wf, lane, size, "crosses a 64-byte line");
			return false;
		}
		its_lanes |= UINT64_C(1) << lane;
		its_bytes |= mask << offset;
	}
	q->lanes[i] |= its_lanes;
	q->bytes[i] |= its_bytes;
	return true;
}

/* Neighbouring lanes from one on, and where their objects begin. */
struct sequence {
	unsigned lane, end;
	emu_line_id line;
	unsigned offset;
};

/* What is partly outside is no sequence: it is looked at lane by lane, to name the first. */
static bool find_sequence(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes,
	unsigned size, struct sequence *s)
{
	const uint64_t *const address = wf->requests.address;

	s->lane = emu_first(lanes);
	s->end = emu_run_end(lanes);
	return (s->end == EMU_LANES || lanes >> s->end == 0) && is_sequence(address, s->lane, s->end, size) &&
	       emu_locate(m, address[s->lane], (uint64_t)(s->end - s->lane) * size, &s->line, &s->offset);
}

/* Serves the lines that do nothing but hit; returns when they are done. Those behind them become requests. */
static emu_time serve_hits(
	struct nvw_machine *m, struct coh_request *r, struct sequence s, emu_time t, struct requests *q)
{
	const unsigned first = s.lane;
	emu_time done = t;

	if (coh_may_hit(r)) {
		r->line = s.line;
		s.lane = coh_serve_hits(r, s.lane, s.end, s.offset, t, &done);
		s.offset = s.lane == first ? s.offset : 0;
		m->stats.line_requests += r->line - s.line;
		s.line = r->line;
	}
	q->count = 0;
	if (s.lane < s.end) {
		split_sequence(s.lane, s.end, r->size, s.line, s.offset, q);
	}
	return done;
}

/*
 * Scattered requests miss the host's caches in every array. The L2's tags and the bytes in memory are
 * prefetched first; a few requests later the tags are there, and lead to what else is needed. Not all
 * requests' at once: what comes too early has left the host's first cache before it is used. To fetch what an
 * L1 needs gained nothing.
 */
static void prefetch_tags(const struct nvw_machine *m, emu_line_id id)
{
	emu_cache_prefetch(&m->l2.cache, id);
	emu_memory_prefetch(m, id);
}

/* The L2's line, which is often one that has to leave, and the place to which it goes. */
static void prefetch_line(const struct nvw_machine *m, emu_line_id id)
{
	const emu_line_id found = emu_cache_prefetch_line(m->l2.stores, id);

	if (found != id && found != EMU_NO_LINE) {
		emu_memory_prefetch(m, found);
	}
}

/* Called before the first request. A few lines are mostly hits: nothing is prefetched for them later. */
static void prefetch_first(const struct nvw_machine *m, const struct requests *q)
{
	const bool is_many = q->count > FEW;

	NVW_FOR(i, (is_many ? TAGS_AHEAD : q->count)) {
		prefetch_tags(m, q->lines[i]);
	}
	for (unsigned i = 0; is_many && i < LINES_AHEAD; i++) {
		prefetch_line(m, q->lines[i]);
	}
}

/* Called before request i of many. */
static __attribute__((noinline)) void prefetch_next(
	const struct nvw_machine *m, const struct requests *q, unsigned i)
{
	if (i + TAGS_AHEAD < q->count) {
		prefetch_tags(m, q->lines[i + TAGS_AHEAD]);
	}
	if (i + LINES_AHEAD < q->count) {
		prefetch_line(m, q->lines[i + LINES_AHEAD]);
	}
}

static uint64_t bytes_of(const struct emu_wavefront *wf, uint64_t lanes, unsigned size)
{
	uint64_t bytes = 0;

	for (uint64_t rest = lanes; rest; rest &= rest - 1) {
		bytes |= ((UINT64_C(1) << size) - 1)
			 << wf->requests.address[__builtin_ctzll(rest)] % EMU_LINE;
	}
	return bytes;
}

emu_time emu_access(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t)
{
	const uint32_t op = (uint32_t)wf->requests.op[__builtin_ctzll(lanes)];
	const unsigned size = 1u << (op >> 8 & 0xff);
	struct coh_request r = {.m = m,
		.cu = emu_cu_of(wf),
		.wf = wf,
		.kind = op & 0xff,
		.size = size,
		.order = op >> 16 & 0xff,
		.scope = (enum nvw_scope)(op >> 24)};
	struct sequence sequence;
	struct requests q;
	emu_time done = t;
	uint64_t queued = 0;

	if (r.order > NVW_SEQ_CST || r.scope > NVW_SCOPE_REMOTE_SYSTEM) {
		bad_access(
			m, wf, emu_first(lanes), size, "has a memory order or a scope that does not exist");
		return t;
	}
	r.rows = coh_rows_of(m, r.kind, r.order, r.scope);
	r.is_sequence = find_sequence(m, wf, lanes, size, &sequence);
	if (r.is_sequence) {
		done = serve_hits(m, &r, sequence, t, &q);
	} else if (!coalesce_scattered(m, wf, lanes, size, &q)) {
		return t;
	} else if (q.count > 2) {
		prefetch_first(m, &q);
	}
	m->stats.wavefront_ops++;
	m->stats.work_item_ops += emu_ones(lanes);
	m->stats.line_requests += q.count;
	for (unsigned i = 0; i < q.count && !m->error; i++) {
		r.line = q.lines[i];
		if (q.count > FEW) {
			prefetch_next(m, &q, i);
		}
		for (uint64_t rest = q.lanes[i]; rest; rest &= ~r.lanes) {
			r.lanes = persist_together(m, wf, rest);
			r.bytes = r.lanes == q.lanes[i] ? q.bytes[i] : bytes_of(wf, r.lanes, size);
			uint64_t late = r.lanes;
			const emu_time at =
				m->store_buffers ? emu_store_buffer_access(&r, t, &late) : coh_execute(&r, t);

			r.is_looked_up = false;
			queued |= at == COH_NOT_YET ? late : 0;
			if (at != COH_NOT_YET) {
				done = emu_later(done, at);
			}
		}
	}
	emu_tell_served(m, wf, lanes & ~queued);
	if (queued) {
		wf->issued = t;
	} else {
		emu_count_latency(m, r.kind, done - t);
	}
	return done;
}
