/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of wavefronts that the caller chooses step by step.
 *
 * The memory system does what it owes, and each wavefront goes on to its next step, before the caller is
 * asked: so a step is done before the next one begins, and what is between steps has no order.
 *
 * A wavefront *waits* if it is where it was before, with the same registers and stacks, and nothing that it
 * has read since then has changed: from there it would do the same again, for good. It has no step until one
 * of these words changes. So loops that only look do not make runs longer, and a kernel in which all that
 * are left wait does not end. A loop that counts its turns is never there again, and is run as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "core/each.h"
#include "core/invariant.h"
#include "asked.h"
#include "../memory/device_memory.h"

enum { PAST_MAX = 32, READS_MAX = 128 };

/* A place where the wavefront was, and its first read from there on. */
struct past {
	uint64_t state;
	unsigned first_read;
};

struct read {
	uint64_t word;
	uint32_t version;
};

struct party {
	bool is_ready, goes, waits; /* has posted a step; its step is next; it has none */
	struct past past[PAST_MAX];
	struct read reads[READS_MAX];
	unsigned past_count, read_count, waits_for; /* the first of the reads that it waits for */
};

struct emu_asked {
	struct emu_asker asker;
	const struct emu_asked_words *words;
	uint32_t kernel;
	struct party party[EMU_ASKED_MAX];
};

/* ---- Wavefronts ---------------------------------------------------------------------------------------- */

/* NULL: there are too many. */
static struct party *party_of(struct nvw_machine *m, struct emu_asked *a, const struct emu_wavefront *wf)
{
	const uint64_t number = emu_wavefront_number(m, wf);

	if (a->kernel != m->exec.number) {
		a->kernel = m->exec.number;
		memset(a->party, 0, sizeof a->party);
	}
	if (number >= EMU_ASKED_MAX) {
		m->error = nvw_fail(NVW_E_USAGE,
			"kernel %s: every order: expected at most %d wavefronts, found more", m->exec.name,
			EMU_ASKED_MAX);
		return NULL;
	}
	return &a->party[number];
}

static bool is_step(const struct emu_asked *a, uint64_t op)
{
	const unsigned kind = op & 0xff;

	return kind <= NVW__COMPARE_EXCHANGE || (a->asker.persists && kind == NVW__P_BARRIER);
}

static bool has_step(const struct emu_asked *a, const struct emu_wavefront *wf)
{
	NVW_EACH_BIT(lane, wf->posted) {
		if (is_step(a, wf->requests.op[lane])) {
			return true;
		}
	}
	return false;
}

/* ---- Waiting ------------------------------------------------------------------------------------------- */

typedef uint64_t any_word __attribute__((may_alias));

/* The words are 8-byte aligned. They may be of a stack, which the address sanitizer knows to have holes. */
__attribute__((no_sanitize("address"))) static uint64_t hash_words(
	uint64_t hash, const void *words, uint64_t bytes)
{
	const any_word *const from = words;

	NVW_EACH(one, from, bytes / sizeof *from) {
		hash = nvw_mix64(hash ^ *one) + 0x9e3779b97f4a7c15u;
	}
	return hash;
}

/* Registers and stacks of the lanes, and what they have posted. */
static uint64_t state_of(const struct nvw_machine *m, const struct emu_wavefront *wf)
{
	uint64_t hash = nvw_mix64(wf->posted) ^ nvw_mix64(wf->parked + 1);

	NVW_EACH_BIT(lane, wf->live) {
		const struct emu_requests *const r = &wf->requests;
		const uint64_t posted[] = {(uintptr_t)r->site[lane], r->op[lane], r->address[lane]};

		hash = hash_words(hash, &wf->fibers[lane], sizeof wf->fibers[lane]);
		hash = hash_words(
			hash, emu_wavefront_stack(m, wf, lane), emu_wavefront_stack_used(m, wf, lane));
		hash = hash_words(hash, posted, sizeof posted);
	}
	return hash;
}

static bool is_current(
	const struct nvw_machine *m, const struct emu_asked *a, const struct party *p, unsigned first_read)
{
	for (unsigned i = first_read; i < p->read_count; i++) {
		if (a->words->version(m, p->reads[i].word) != p->reads[i].version) {
			return false;
		}
	}
	return true;
}

/* Whether the wavefront has been here, and would do the same again. */
static bool comes_back(
	const struct nvw_machine *m, const struct emu_asked *a, struct party *p, uint64_t state)
{
	NVW_EACH(past, p->past, p->past_count) {
		if (past->state == state && is_current(m, a, p, past->first_read)) {
			p->waits_for = past->first_read;
			return true;
		}
	}
	if (p->past_count == PAST_MAX) {
		p->past_count = p->read_count = 0;
	}
	p->past[p->past_count++] = (struct past){state, p->read_count};
	return false;
}

static void note_read(const struct nvw_machine *m, const struct emu_asked *a, struct party *p, uint64_t word)
{
	if (p->read_count == READS_MAX) {
		p->past_count = p->read_count = 0;
		return; /* what is forgotten cannot be waited for: places from here on are new */
	}
	p->reads[p->read_count++] = (struct read){word, a->words->version(m, word)};
}

/* ---- Who is next --------------------------------------------------------------------------------------- */

/* What may go before anybody is asked: the memory system's next event, else a wavefront between two steps.
 * The number of events: nothing. */
static uint32_t find_owed(struct nvw_machine *m, struct emu_asked *a)
{
	const struct emu_exec *const x = &m->exec;
	uint32_t owed = x->event_count, between = x->event_count;

	NVW_FOR(i, x->event_count) {
		const struct emu_event *const e = &x->events[i];

		if (!e->wavefront) {
			owed = owed == x->event_count || emu_event_before(e, &x->events[owed]) ? i : owed;
			continue;
		}
		const struct party *const p = party_of(m, a, e->wavefront);

		if (p && !p->is_ready &&
			(between == x->event_count ||
				e->wavefront->age < x->events[between].wavefront->age)) {
			between = i;
		}
	}
	return owed < x->event_count ? owed : between;
}

/* Wavefronts that have posted a step, and of these the ones that do not wait. */
static uint64_t posted_of(struct nvw_machine *m, struct emu_asked *a, uint64_t *ret_can_go)
{
	uint64_t posted = 0;

	*ret_can_go = 0;
	NVW_EACH(event, m->exec.events, m->exec.event_count) {
		const uint64_t number = emu_wavefront_number(m, event->wavefront);
		struct party *const p = &a->party[number];

		p->waits = p->waits && is_current(m, a, p, p->waits_for);
		posted |= UINT64_C(1) << number;
		*ret_can_go |= (uint64_t)!p->waits << number;
	}
	return posted;
}

static uint32_t event_of(struct nvw_machine *m, uint64_t number)
{
	uint32_t i = 0;

	while (emu_wavefront_number(m, m->exec.events[i].wavefront) != number) {
		i++;
		NVW_INVARIANT(i < m->exec.event_count);
	}
	return i;
}

uint32_t emu_asked_next(struct nvw_machine *m, struct emu_asked *a)
{
	const uint32_t owed = find_owed(m, a);
	uint64_t can_go;

	if (owed < m->exec.event_count || m->error) {
		return m->error ? 0 : owed;
	}
	const uint64_t posted = posted_of(m, a, &can_go);

	if (can_go == 0) {
		m->error = nvw_fail(NVW_E_DEADLOCK,
			"kernel %s does not end: each wavefront that is left waits for a word to change",
			m->exec.name);
		return 0;
	}
	const unsigned chosen = a->asker.choose(a->asker.context, m->exec.number, can_go, posted);

	if (chosen >= EMU_ASKED_MAX) {
		m->error = nvw_fail(NVW_E_DEADLOCK, "kernel %s: the order ends here", m->exec.name);
		return 0;
	}
	NVW_INVARIANT(can_go >> chosen & 1);
	a->party[chosen].goes = true;
	a->party[chosen].is_ready = false;
	return event_of(m, chosen);
}

/* ---- Steps --------------------------------------------------------------------------------------------- */

static void tell_persists(const struct emu_asked *a, const struct emu_wavefront *wf)
{
	unsigned what = 0;

	NVW_EACH_BIT(lane, wf->posted) {
		const unsigned kind = wf->requests.op[lane] & 0xff;

		if (kind == NVW__P_BARRIER) {
			what |= EMU_STEP_BARRIER;
		} else if (kind == NVW__ACK) {
			what |= EMU_STEP_ACK;
		}
	}
	if (what != 0 && a->asker.persists) {
		a->asker.persist(a->asker.context, what);
	}
}

bool emu_asked_puts_off(struct nvw_machine *m, struct emu_asked *a, const struct emu_wavefront *wf)
{
	struct party *const p = party_of(m, a, wf);

	if (!p) {
		return true;
	}
	if (p->goes) {
		p->goes = false;
		tell_persists(a, wf);
		return false;
	}
	if (!has_step(a, wf)) {
		tell_persists(a, wf);
		return false;
	}
	p->is_ready = true;
	p->waits = comes_back(m, a, p, state_of(m, wf));
	return true;
}

static void tell_access(
	struct nvw_machine *m, struct emu_asked *a, struct party *p, uint64_t word, bool changes)
{
	a->asker.access(a->asker.context, word, changes);
	if (changes) {
		p->past_count = p->read_count = 0;
	} else {
		note_read(m, a, p, word);
	}
	if (changes && a->asker.persists && emu_is_persistent(m, (emu_line_id)((word - 1) >> 3))) {
		a->asker.persist(a->asker.context, EMU_STEP_STORES);
	}
}

void emu_asked_access(
	struct nvw_machine *m, struct emu_asked *a, const struct emu_wavefront *wf, uint64_t lanes)
{
	struct party *const p = party_of(m, a, wf);
	uint64_t word, last;

	for (uint64_t rest = lanes; p && rest; rest &= rest - 1) {
		const unsigned lane = emu_first(rest);
		const bool changes = a->words->changes(wf, lane);

		if (!a->words->at(m, wf->requests.address[lane],
			    UINT64_C(1) << (wf->requests.op[lane] >> 8 & 0xff), &word, &last)) {
			continue;
		}
		for (; word <= last; word++) {
			tell_access(m, a, p, word, changes);
		}
	}
}

/* ---- A machine's life ---------------------------------------------------------------------------------- */

struct emu_asked *emu_asked_create(
	struct nvw_machine *m, const struct emu_asker *asker, const struct emu_asked_words *words)
{
	struct emu_asked *const a = calloc(1, sizeof *a);

	if (m->store_buffers || m->config.consistency == EMU_CONSISTENCY_rmo) {
		free(a);
		nvw_fail(NVW_E_USAGE, "every order: expected a machine without store buffers");
		return NULL;
	}
	if (!a) {
		nvw_fail(NVW_E_MEMORY, "no memory for the order of wavefronts");
		return NULL;
	}
	a->asker = *asker;
	a->words = words;
	a->kernel = UINT32_MAX;
	asker->begin(asker->context);
	return a;
}

void emu_asked_destroy(struct emu_asked *a)
{
	free(a);
}
