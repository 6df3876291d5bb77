/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of wavefronts that a seed chooses.
 *
 * A wavefront that is not the one to go next waits, as if its last instruction took longer: nothing else of
 * the machine changes, and the memory system's own events keep their times. So every order is one that
 * hardware with other latencies could have, under every protocol.
 *
 * A *choice* is made before a wavefront's atomic, its persist barrier, and its access to a *contended* word:
 * one that two wavefronts access, of which one stores. What comes between choices has an order that nobody
 * sees.
 *
 *	PCT       each wavefront has a random priority, the highest goes next; at depth - 1 choices drawn in
 *	          advance, the wavefront whose choice it is falls below all others (Burckhardt et al., ASPLOS
 *	          2010). A wavefront that only repeats what it has read waits for others, and falls, too.
 *	random    at every choice, each wavefront that could go is as likely as the others.
 *
 * The hash of the order: every access adds a term of its wavefront, its number there, the store to the word
 * before it, and the value that it reads; a store has the reads since that store as well. The sum is the same
 * for two runs exactly if all conflicting accesses have the same order and read the same (but for
 * collisions). A persist barrier that completes has a term of the stores to NVRAM until then: a crash before
 * it may keep these and lose what it orders.
 * Reads of a wavefront that repeats itself, while no word has changed, do not count: how long it spins is no
 * order.
 */
#include <stdlib.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/search.h"
#include "asked.h"
#include "../memory/device_memory.h"
#include "order.h"

enum {
	KNOWN = 8,              /* instructions that a wavefront may repeat in a loop, remembered */
	IDLE_MAX = 8,           /* repetitions after which it waits for others */
	IN_A_ROW_MAX = 1 << 14, /* turns of one wavefront, after which the others have theirs */
	OWED_MAX = 256,         /* events of the memory system, likewise */
	SPELLS = 1 << 10
};

static const int64_t initial = INT64_C(1) << 61; /* priorities of wavefronts that have not fallen: above it */

struct word {
	uint64_t key;            /* of its place, plus 1; 0: none */
	uint64_t stored, loaded; /* the last store's identity; the sum of those of the loads since */
	uint32_t version, last;  /* changes; the last wavefront's number, plus 1 */
	bool several, changes;   /* wavefronts access it; one stores */
};

/* A wavefront of the running kernel. */
struct party {
	int64_t priority; /* 0: it had no turn yet */
	uint64_t accesses, known[KNOWN];
	unsigned next_known, idle;
	bool chosen; /* its choice has been made: it goes when it is offered again */
};

/* Events that were scheduled from a turn of a wavefront on, until the next spell: they are its doing. */
struct spell {
	uint64_t from; /* the events' order */
	uint64_t number;
};

struct emu_chosen_order {
	struct emu_order how;
	struct emu_asked *asked; /* NULL: a seed or time decides */
	struct emu_order_seen *seen;
	struct word *words; /* a hash table */
	uint64_t word_count, word_capacity;
	struct party *parties; /* by number */
	uint64_t party_capacity, party_count;
	uint32_t kernel;
	uint64_t change[EMU_ORDER_DEPTH_MAX];
	int64_t lowest;
	uint64_t persistent; /* the sum of the identities of stores to NVRAM */
	uint64_t draw, in_a_row;
	const struct emu_wavefront *latest;
	struct spell spell[SPELLS]; /* a ring */
	uint64_t spells;
	unsigned owed; /* events of the memory system that went before wavefronts, in a row */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	return nvw_mix64(a * 0x9e3779b97f4a7c15u + nvw_mix64(b + 0x632be59bd9b4e019u));
}

static void out_of_memory(struct nvw_machine *m)
{
	m->error = nvw_fail(NVW_E_MEMORY, "no memory for the order of wavefronts");
}

/* ---- Wavefronts ---------------------------------------------------------------------------------------- */

/* The wavefront's; NULL without memory. */
static struct party *party_of(struct nvw_machine *m, uint64_t number)
{
	struct emu_chosen_order *const o = m->order;

	if (o->kernel != m->exec.number) {
		o->kernel = m->exec.number;
		o->party_count = o->spells = 0;
	}
	if (!NVW_ROOM(o->parties, o->party_capacity, number + 1)) {
		out_of_memory(m);
		return NULL;
	}
	while (o->party_count <= number) {
		o->parties[o->party_count++] = (struct party){.priority = 0};
	}
	return &o->parties[number];
}

static int64_t priority_of(struct nvw_machine *m, uint64_t number)
{
	struct emu_chosen_order *const o = m->order;
	const uint64_t me = mix(o->how.seed, (uint64_t)m->exec.number << 32 | number);
	struct party *const party = party_of(m, number);

	if (o->how.kind == EMU_ORDER_RANDOM || !party) {
		return (int64_t)(mix(me, o->draw) >> 2);
	}
	if (!party->priority) {
		party->priority = initial + (int64_t)(me >> 3);
	}
	return party->priority;
}

/* ---- Which event is next ------------------------------------------------------------------------------- */

/* Whose doing an event of the memory system is, directly or through other events. False if that is
 * forgotten. */
static bool doer_of(const struct emu_chosen_order *o, const struct emu_event *e, uint64_t *ret_number)
{
	const uint64_t order = e->order & ~EMU_EVENT_OPEN;

	for (uint64_t n = o->spells; n > 0 && n + SPELLS > o->spells; n--) {
		const struct spell *const s = &o->spell[(n - 1) % SPELLS];

		if (s->from <= order) {
			*ret_number = s->number;
			return true;
		}
	}
	return false;
}

/* Behind the event that goes next, a spell of its wavefront begins. */
static void begin_spell(struct nvw_machine *m, const struct emu_event *next)
{
	struct emu_chosen_order *const o = m->order;
	uint64_t number;

	if (next->wavefront) {
		number = emu_wavefront_number(m, next->wavefront);
	} else if (!doer_of(o, next, &number)) {
		return;
	}
	if (!o->spells || o->spell[(o->spells - 1) % SPELLS].number != number) {
		o->spell[o->spells++ % SPELLS] = (struct spell){m->exec.ages, number};
	}
}

/* What could go next: the wavefront with the highest priority; the memory system's earliest event, with the
 * highest priority of those who wait for one. The number of events: there is none. */
struct candidates {
	uint32_t wavefront, owed;
	int64_t priority, owed_priority;
};

static struct candidates find_candidates(struct nvw_machine *m)
{
	const struct emu_exec *const x = &m->exec;
	struct candidates c = {x->event_count, x->event_count, INT64_MIN, INT64_MIN};
	uint64_t number;

	NVW_FOR(i, x->event_count) {
		const struct emu_event *const e = &x->events[i];

		if (e->wavefront) {
			const int64_t priority = priority_of(m, emu_wavefront_number(m, e->wavefront));

			if (priority > c.priority) {
				c.wavefront = i;
				c.priority = priority;
			}
			continue;
		}
		if (c.owed == x->event_count || emu_event_before(e, &x->events[c.owed])) {
			c.owed = i;
		}
		if (doer_of(m->order, e, &number)) {
			const int64_t priority = priority_of(m, number);

			c.owed_priority = priority > c.owed_priority ? priority : c.owed_priority;
		}
	}
	return c;
}

/*
 * The wavefront with the highest priority, unless the memory system has something to do until its turn, or
 * for one with a higher priority that waits for it: others do not overtake that one.
 */
static uint32_t next_event(struct nvw_machine *m)
{
	NVW_DEEP_INVARIANT(m->exec.event_count > 0);

	const struct emu_exec *const x = &m->exec;
	struct emu_chosen_order *const o = m->order;
	const struct candidates c = find_candidates(m);
	uint32_t next = c.wavefront;

	if (next == x->event_count) {
		next = c.owed;
	} else if (c.owed < x->event_count) {
		const bool is_due = x->events[c.owed].time <= emu_later(x->events[next].time, m->now);
		const bool is_awaited = c.owed_priority > c.priority && o->owed < OWED_MAX;

		next = is_due || is_awaited ? c.owed : next;
	}
	o->owed = x->events[next].wavefront ? 0 : o->owed + 1;
	begin_spell(m, &x->events[next]);
	return next;
}

/* ---- Words --------------------------------------------------------------------------------------------- */

static struct word *place_of(const struct emu_chosen_order *o, uint64_t key)
{
	NVW_DEEP_INVARIANT(o->word_count < o->word_capacity);

	return &o->words[NVW_PROBE(
		i, nvw_mix64(key), o->word_capacity, !o->words[i].key || o->words[i].key == key)];
}

static bool grow(struct emu_chosen_order *o)
{
	struct emu_chosen_order larger = *o;

	larger.word_capacity = nvw_max(2 * o->word_capacity, 1024);
	larger.words = calloc(larger.word_capacity, sizeof *larger.words);
	if (!larger.words) {
		return false;
	}
	NVW_EACH(word, o->words, o->word_capacity) {
		if (word->key) {
			*place_of(&larger, word->key) = *word;
		}
	}
	free(o->words);
	*o = larger;
	return true;
}

/* NULL: it is not there, or with add, there is no memory. */
static struct word *word_of(struct emu_chosen_order *o, uint64_t key, bool add)
{
	if (add && 4 * o->word_count >= 3 * o->word_capacity && !grow(o)) {
		return NULL;
	}
	if (!o->word_capacity) {
		return NULL;
	}
	struct word *const w = place_of(o, key);

	if (!w->key && !add) {
		return NULL;
	}
	o->word_count += !w->key;
	w->key = key;
	return w;
}

/* The first and last word that a request's bytes are in. False for an address that is none. */
static bool words_at(
	const struct nvw_machine *m, uint64_t address, uint64_t size, uint64_t *ret_first, uint64_t *ret_last)
{
	NVW_DEEP_INVARIANT(size > 0);

	emu_line_id line = EMU_NO_LINE;
	unsigned offset = 0;

	if (!emu_locate(m, address, size, &line, &offset)) {
		return false;
	}
	*ret_first = ((uint64_t)line << 3 | offset / 8) + 1;
	*ret_last = ((uint64_t)line << 3) + (offset + size - 1) / 8 + 1;
	return true;
}

static uint32_t version_of(const struct nvw_machine *m, uint64_t key)
{
	const struct word *const w = word_of(m->order, key, false);

	return w ? w->version : 0;
}

static bool bit(const uint64_t *map, uint64_t key)
{
	const uint64_t h = nvw_mix64(key) % (64 * EMU_ORDER_MAP);

	return map[h / 64] >> h % 64 & 1;
}

static void set_bit(uint64_t *map, uint64_t key)
{
	const uint64_t h = nvw_mix64(key) % (64 * EMU_ORDER_MAP);

	map[h / 64] |= UINT64_C(1) << h % 64;
}

static bool is_contended(struct emu_chosen_order *o, uint64_t key)
{
	const struct word *const w = word_of(o, key, false);

	return (w && w->several && w->changes) || (o->how.by_time && bit(o->how.by_time->contended, key));
}

/* ---- Choices ------------------------------------------------------------------------------------------- */

static bool synchronizes(unsigned kind)
{
	return (kind >= NVW__ATOMIC_LOAD && kind <= NVW__COMPARE_EXCHANGE) || kind == NVW__P_BARRIER;
}

/* Whether others may see when this request is executed. */
static bool is_seen(struct nvw_machine *m, const struct nvw__request *r)
{
	const unsigned kind = r->op & 0xff;
	uint64_t word, last;

	if (synchronizes(kind)) {
		return true;
	}
	if (kind > NVW__COMPARE_EXCHANGE ||
		!words_at(m, r->address, UINT64_C(1) << (r->op >> 8 & 0xff), &word, &last)) {
		return false;
	}
	while (word < last && !is_contended(m->order, word)) {
		word++;
	}
	return is_contended(m->order, word);
}

static bool is_choice(struct nvw_machine *m, const struct emu_wavefront *wf)
{
	uint64_t rest = wf->posted;

	while (rest && !is_seen(m, emu_request(wf, emu_first(rest)))) {
		rest &= rest - 1;
	}
	return rest != 0;
}

/* Whether the wavefront falls at its choice; the priority is then as low as PCT says. */
static bool changes_here(const struct emu_chosen_order *o, int64_t *ret_priority)
{
	for (unsigned i = 0; i + 1 < o->how.depth; i++) {
		if (o->change[i] == o->seen->choices) {
			*ret_priority = i + 1;
			return true;
		}
	}
	return false;
}

static void choose(struct nvw_machine *m, struct party *party, bool is_idle)
{
	struct emu_chosen_order *const o = m->order;

	o->draw++;
	if (is_idle) {
		party->priority = --o->lowest;
		return;
	}
	o->seen->choices++;
	(void)changes_here(o, &party->priority);
}

/* What repeats itself makes no choices: else PCT would spend its changes on the many turns of one that
 * waits. */
static bool is_spinning(const struct emu_chosen_order *o, const struct party *party)
{
	return o->how.kind != EMU_ORDER_RANDOM && party->idle > 0;
}

static bool another_goes_first(struct nvw_machine *m, const struct emu_wavefront *wf)
{
	const int64_t mine = priority_of(m, emu_wavefront_number(m, wf));
	const struct candidates c = find_candidates(m);

	return c.priority > mine || c.owed_priority > mine;
}

static void count_turn(struct nvw_machine *m, const struct emu_wavefront *wf)
{
	struct emu_chosen_order *const o = m->order;

	o->in_a_row = o->latest == wf ? o->in_a_row + 1 : 0;
	o->latest = wf;
	if (++o->seen->turns > o->how.turns_max && o->how.turns_max) {
		m->error = nvw_fail(NVW_E_DEADLOCK, "kernel %s does not end within %llu turns of wavefronts",
			m->exec.name, (unsigned long long)o->how.turns_max);
	}
}

bool emu_order_puts_off(struct nvw_machine *m, const struct emu_wavefront *wf)
{
	struct emu_chosen_order *const o = m->order;

	count_turn(m, wf);
	if (o->asked) {
		return m->error || emu_asked_puts_off(m, o->asked, wf);
	}
	struct party *const party = party_of(m, emu_wavefront_number(m, wf));

	if (!party || m->error) {
		return true;
	}
	if (party->chosen) {
		party->chosen = false;
		o->draw++; /* while it waits for the memory system, each could go as well */
		return false;
	}
	const bool is_idle = party->idle >= IDLE_MAX || o->in_a_row >= IN_A_ROW_MAX;

	if (!is_idle && (is_spinning(o, party) || !is_choice(m, wf))) {
		return false;
	}
	if (is_idle) {
		party->idle = 0;
		o->in_a_row = 0;
	}
	choose(m, party, is_idle);
	if (o->how.kind == EMU_ORDER_TIME) {
		return false;
	}
	if (!another_goes_first(m, wf)) {
		o->draw++;
		return false;
	}
	party_of(m, emu_wavefront_number(m, wf))->chosen = true; /* the parties may have moved */
	return true;
}

/* ---- Accesses ------------------------------------------------------------------------------------------ */

static bool changes_memory(const struct emu_wavefront *wf, unsigned lane)
{
	NVW_DEEP_INVARIANT(lane < NVW_COUNT(wf->requests.op));

	const unsigned kind = wf->requests.op[lane] & 0xff;

	if (kind == NVW__LOAD || kind == NVW__LOAD_READ_ONLY || kind == NVW__ATOMIC_LOAD) {
		return false;
	}
	return kind == NVW__STORE || kind == NVW__ATOMIC_STORE || wf->changed >> lane & 1;
}

/* A hash of what the lanes have done if they have only read; 0 if they have changed a word. */
static uint64_t reading(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	const struct emu_requests *const r = &wf->requests;
	uint64_t hash = lanes, word, last;

	NVW_EACH_BIT(lane, lanes) {
		if (changes_memory(wf, lane) ||
			!words_at(m, r->address[lane], UINT64_C(1) << (r->op[lane] >> 8 & 0xff), &word,
				&last)) {
			return 0;
		}
		hash = mix(mix(hash, (uintptr_t)r->site[lane]), mix(r->address[lane], r->value[lane]));
		for (; word <= last; word++) {
			const struct word *const w = word_of(m->order, word, false);

			hash = mix(hash, w ? w->version : 0);
		}
	}
	return hash | 1;
}

/* Whether the wavefront has read the very same there, lately. */
static bool repeats(struct party *party, uint64_t hash)
{
	for (unsigned i = 0; i < KNOWN && hash; i++) {
		if (party->known[i] == hash) {
			party->idle++;
			return true;
		}
	}
	party->idle = 0;
	party->known[party->next_known++ % KNOWN] = hash;
	return false;
}

/* A value as it is in every process: the addresses of device memory differ between them. */
static uint64_t stable(const struct nvw_machine *m, uint64_t value)
{
	emu_line_id line;
	unsigned offset;

	return emu_locate(m, value, 1, &line, &offset) ? ~((uint64_t)line << 6 | offset) : value;
}

static void touch(struct emu_chosen_order *o, struct word *w, uint32_t me, uint64_t id, const uint64_t *read)
{
	w->several = w->several || (w->last && w->last != me);
	w->last = me;
	w->changes = w->changes || !read;
	if (w->several && w->changes) {
		set_bit(o->seen->contended, w->key);
	}
	if (read) {
		o->seen->hash += mix(id, mix(w->stored, *read));
		w->loaded += id;
		return;
	}
	o->seen->hash += mix(id, mix(w->stored, ~w->loaded));
	w->stored = id;
	w->loaded = 0;
	w->version++;
}

static void take_lane(struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane, uint64_t id)
{
	const struct emu_requests *const r = &wf->requests;
	const bool changes = changes_memory(wf, lane);
	const uint32_t me = (uint32_t)emu_wavefront_number(m, wf) + 1;
	uint64_t word, last;

	if (!words_at(m, r->address[lane], UINT64_C(1) << (r->op[lane] >> 8 & 0xff), &word, &last)) {
		return;
	}
	const uint64_t read = stable(m, r->value[lane]);

	for (; word <= last; word++) {
		struct word *const w = word_of(m->order, word, true);

		if (!w) {
			out_of_memory(m);
			return;
		}
		touch(m->order, w, me, mix(id, word), changes ? NULL : &read);
		if (changes && emu_is_persistent(m, (emu_line_id)((word - 1) >> 3))) {
			m->order->persistent += mix(id, word);
		}
	}
}

void emu_order_access(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	struct party *const party = party_of(m, emu_wavefront_number(m, wf));

	if (m->order->asked) {
		emu_asked_access(m, m->order->asked, wf, lanes);
	}
	if (!party || repeats(party, reading(m, wf, lanes))) {
		return;
	}
	const uint64_t me = (uint64_t)m->exec.number << 32 | emu_wavefront_number(m, wf);
	const uint64_t id = mix(me, party->accesses++);

	for (uint64_t rest = lanes; rest && !m->error; rest &= rest - 1) {
		take_lane(m, wf, emu_first(rest), id + rest % 64);
	}
}

void emu_order_barrier(struct nvw_machine *m, const struct record_barrier *b)
{
	const uint64_t place = mix((uint64_t)m->exec.number << 32 | b->epoch, b->scope),
		       who = mix(b->scope == NVW_WORKITEM ? b->work_item : b->group, b->lanes);

	m->order->seen->hash += mix(mix(place, who), m->order->persistent);
}

/* ---- A machine's life ---------------------------------------------------------------------------------- */

/* Change points are among as many choices as the run by time had, and a quarter more: it is not the
 * longest. */
static void draw_changes(struct emu_chosen_order *o)
{
	struct nvw_random random = {nvw_mix64(o->how.seed)};
	const uint64_t known = o->how.by_time ? o->how.by_time->choices : 0;

	for (unsigned i = 0; i + 1 < o->how.depth; i++) {
		o->change[i] = 1 + nvw_random_below(&random, known + known / 4 + 8);
	}
}

static uint32_t next_asked(struct nvw_machine *m)
{
	return emu_asked_next(m, m->order->asked);
}

int emu_set_order(struct nvw_machine *m, const struct emu_order *how, struct emu_order_seen *seen)
{
	struct emu_chosen_order *const o = calloc(1, sizeof *o);

	NVW_INVARIANT(!m->order && how->depth <= EMU_ORDER_DEPTH_MAX);
	NVW_ALLOCATED(o, "no memory for the order of wavefronts");
	o->how = *how;
	o->seen = seen;
	m->order = o;
	if (how->kind == EMU_ORDER_ASKED) {
		static const struct emu_asked_words words = {version_of, words_at, changes_memory};

		o->asked = emu_asked_create(m, how->asker, &words);
		m->scheduler.next = next_asked;
		return o->asked ? 0 : NVW_E_USAGE;
	}
	if (how->kind != EMU_ORDER_TIME) {
		m->scheduler.next = next_event;
		draw_changes(o);
	}
	return 0;
}

void emu_order_finish(struct nvw_machine *m)
{
	if (m->order) {
		free(m->order->words);
		free(m->order->parties);
		emu_asked_destroy(m->order->asked);
		free(m->order);
		m->order = NULL;
	}
}
