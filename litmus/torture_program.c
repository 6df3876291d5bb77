/* SPDX-License-Identifier: BSD-3-Clause */
/* Generation: variables and steps. See torture_program.h for why the programs are race-free. */

#include <string.h>

#include <nvw/random.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "torture_draw.h"

struct generator {
	struct torture_program *p;
	struct nvw_random random;
	uint64_t used[TORTURE_LINES_MAX]; /* bytes of each line used by variables */
	bool apart;                       /* synchronization variables have lines of their own */
	unsigned sync_lines;
	unsigned first_set, sets;    /* of this phase */
	int owner[TORTURE_DATA_MAX]; /* PHASED: work-item, FREE or READERS */
};

enum { FREE = -1, READERS = -2 };

static unsigned below(struct generator *g, unsigned bound)
{
	return torture_drawn(&g->random, bound);
}

static bool chance(struct generator *g, unsigned percent)
{
	return torture_chance(&g->random, percent);
}

/* ---- Variables ----------------------------------------------------------------------------- */

/* Distant lines map to the same sets of the caches. */
static void draw_lines(struct generator *g)
{
	static const unsigned strides[] = {1, 1, 4, 16, 64};
	struct torture_program *const p = g->p;
	const unsigned stride = strides[below(g, 5)], nvram = below(g, 101);

	g->apart = chance(g, 50);
	g->sync_lines = 3 + below(g, 4);
	p->line_count = g->sync_lines + 1 + below(g, 8);
	NVW_FOR(i, p->line_count) {
		p->lines[i] = (struct torture_line){.is_nvram = chance(g, nvram), .number = i * stride};
	}
}

/* Finds a place for a variable in a line from..to-1, starting at a random one; false if there is none. */
static bool place(struct generator *g, unsigned from, unsigned to, unsigned size)
{
	struct torture_program *const p = g->p;
	const unsigned of_line = 64 / size, places = (to - from) * of_line, start = below(g, places);

	NVW_INVARIANT(from < to && size <= 8);
	NVW_FOR(i, places) {
		const unsigned n = (start + i) % places, line = from + n / of_line,
			       offset = n % of_line * size;
		const uint64_t mask = nvw_low_bits(size) << offset;

		if (!(g->used[line] & mask)) {
			g->used[line] |= mask;
			p->variables[p->variable_count++] = (struct torture_variable){
				.line = (uint8_t)line, .offset = (uint8_t)offset, .size = (uint8_t)size};
			return true;
		}
	}
	return false;
}

static uint8_t place_sync(struct generator *g, unsigned least_size)
{
	struct torture_program *const p = g->p;
	const unsigned lines = g->apart ? g->sync_lines : p->line_count;
	const bool placed =
		place(g, 0, lines, least_size << below(g, 2)) || place(g, 0, p->line_count, least_size);

	NVW_INVARIANT(placed);
	return (uint8_t)(p->variable_count - 1);
}

/* Half of the bytes of the other lines stay free for synchronization variables. */
static void draw_data(struct generator *g, unsigned wanted)
{
	struct torture_program *const p = g->p;

	for (; wanted; wanted--) {
		const unsigned first = g->apart || chance(g, 70) ? g->sync_lines : 0;

		if (p->variable_count < 8 * (p->line_count - 1) || g->apart) {
			place(g, first, p->line_count, 1u << below(g, 4));
		}
	}
	p->data_count = p->variable_count;
}

static void place_slot(struct generator *g, unsigned slot)
{
	struct torture_program *const p = g->p;

	NVW_INVARIANT(slot < TORTURE_SLOTS);
	p->lock[slot] = place_sync(g, 1u << below(g, 3));
	p->turn[slot] = place_sync(g, 2);
	p->ticket[slot] = place_sync(g, 2);
	NVW_EACH(turn, p->local_turn[slot], p->groups) {
		*turn = place_sync(g, 2);
	}
}

static void draw_variables(struct generator *g)
{
	const unsigned wanted = 4 + below(g, TORTURE_DATA_MAX - 4);

	draw_lines(g);
	draw_data(g, wanted);
	NVW_FOR(slot, TORTURE_SLOTS) {
		place_slot(g, slot);
	}
}

/* ---- Orders and scopes --------------------------------------------------------------------- */

/* A scope that is at least as wide; any scope, if scopes have no meaning. */
static uint8_t scope_of(struct generator *g, enum nvw_scope least)
{
	static const uint8_t wider[] = {NVW_SCOPE_AGENT, NVW_SCOPE_SYSTEM, NVW_SCOPE_SYSTEM,
		NVW_SCOPE_REMOTE_AGENT, NVW_SCOPE_REMOTE_SYSTEM};
	const bool has_scopes = g->p->promises.scopes;

	if (chance(g, has_scopes ? 80 : 50)) {
		return (uint8_t)least;
	}
	if (!has_scopes) {
		return (uint8_t)below(g, NVW_SCOPE_REMOTE_SYSTEM + 1);
	}
	if (least == NVW_SCOPE_REMOTE_AGENT) {
		return NVW_SCOPE_REMOTE_SYSTEM;
	}
	return wider[below(g, NVW_COUNT(wider))];
}

static uint8_t order_of(struct generator *g, enum nvw_order least)
{
	if (chance(g, 70)) {
		return (uint8_t)least;
	}
	return chance(g, 50) ? NVW_ACQ_REL : NVW_SEQ_CST;
}

/* ---- Steps --------------------------------------------------------------------------------- */

static struct torture_step *add_step(struct generator *g, enum torture_step_kind kind)
{
	struct torture_program *const p = g->p;
	struct torture_step *const step = &p->steps[p->step_count++];

	NVW_INVARIANT(p->step_count <= TORTURE_STEPS_MAX);
	*step = (struct torture_step){.kind = kind,
		.group = TORTURE_NONE,
		.set = TORTURE_NONE,
		.first_op = p->op_count,
		.acquire.variable = TORTURE_NONE,
		.release.variable = TORTURE_NONE};
	return step;
}

static void add_op(struct generator *g, struct torture_step *step, unsigned kind, unsigned variable)
{
	struct torture_program *const p = g->p;

	NVW_INVARIANT(p->op_count < TORTURE_OPS_MAX);
	p->ops[p->op_count++] = (struct torture_op){.kind = (uint8_t)kind,
		.variable = (uint8_t)variable,
		.order = (uint8_t)below(g, NVW_SEQ_CST + 1),
		.scope = (uint8_t)below(g, NVW_SCOPE_REMOTE_SYSTEM + 1),
		.value = nvw_random_u64(&g->random)};
	step->op_count++;
}

/* A kernel's read-only data, which stay so in all of its phases. */
static void draw_read_only(struct generator *g, bool *read_only)
{
	const unsigned data = g->p->data_count;

	memset(read_only, 0, data);
	for (unsigned n = chance(g, 60) ? data / 4 : 0; n; n--) {
		read_only[below(g, data)] = true;
	}
}

static void draw_set(struct generator *g, unsigned slot)
{
	struct torture_program *const p = g->p;
	struct torture_set *const s = &p->sets[p->set_count++];

	NVW_INVARIANT(p->set_count <= NVW_COUNT(p->sets));
	*s = (struct torture_set){.style = below(g, TORTURE_READ_ONLY), .slot = slot, .group = TORTURE_NONE};
	if (s->style == TORTURE_STEAL && !p->promises.remote) {
		s->style = TORTURE_LOCK;
	}
	if (slot == 0) {
		s->style = TORTURE_READ_ONLY;
		return;
	}
	if (s->style == TORTURE_STEAL || chance(g, 40) || (s->style == TORTURE_TURN && p->crowded)) {
		s->group = (int)below(g, p->groups);
	}
}

/* The first set has the read-only data. */
static void deal_data(struct generator *g, const bool *read_only)
{
	struct torture_program *const p = g->p;

	NVW_FOR(i, p->data_count) {
		struct torture_set *const s =
			&p->sets[g->first_set + (read_only[i] ? 0 : 1 + below(g, g->sets - 1))];

		s->variables[s->count++] = (uint8_t)i;
		g->owner[i] = FREE;
	}
}

/* Sets with random styles, and the data dealt to them. */
static void deal(struct generator *g, const bool *read_only)
{
	g->first_set = g->p->set_count;
	g->sets = 2 + below(g, TORTURE_SLOTS - 1);
	NVW_FOR(slot, g->sets) {
		draw_set(g, slot);
	}
	deal_data(g, read_only);
}

static bool is_store(unsigned kind)
{
	return kind != NVW__LOAD && kind != NVW__LOAD_READ_ONLY && kind != NVW__ATOMIC_LOAD;
}

static unsigned draw_kind(struct generator *g)
{
	static const struct {
		unsigned below, kind;
	} kinds[] = {{44, NVW__LOAD}, {86, NVW__STORE}, {92, NVW__P_BARRIER}};
	const unsigned n = below(g, 100);

	NVW_EACH_IN(kind, kinds) {
		if (n < kind->below) {
			return kind->kind;
		}
	}
	const unsigned kind = NVW__ATOMIC_LOAD + below(g, NVW__COMPARE_EXCHANGE - NVW__ATOMIC_LOAD);

	/* Its sizes are two, and its sums are rounded. */
	return kind == NVW__ADD_FLOAT ? NVW__COMPARE_EXCHANGE : kind;
}

/* PHASED: whether the work-item may do this to the variable, which then belongs to it, or to the readers,
 * until the barrier. An atomic load may register its variable, but stores nothing. */
static bool claim(struct generator *g, unsigned variable, unsigned work_item, unsigned kind)
{
	NVW_INVARIANT(variable < NVW_COUNT(g->owner));

	int *const owner = &g->owner[variable];

	if (*owner == (int)work_item) {
		return true;
	}
	if (is_store(kind) && *owner == FREE) {
		*owner = (int)work_item;
		return true;
	}
	if (is_store(kind) || *owner >= 0) {
		return false;
	}
	*owner = READERS;
	return true;
}

static unsigned kind_for(struct generator *g, const struct torture_set *s)
{
	const unsigned kind = draw_kind(g);

	if (s->style != TORTURE_READ_ONLY) {
		return kind;
	}
	return chance(g, 75) ? NVW__LOAD_READ_ONLY : NVW__LOAD;
}

static void add_ops(struct generator *g, struct torture_step *step, const struct torture_set *s)
{
	NVW_INVARIANT(s->count > 0);
	for (unsigned n = 1 + below(g, 4); n; n--) {
		const unsigned variable = s->variables[below(g, s->count)], kind = kind_for(g, s);

		if (kind == NVW__P_BARRIER || s->style != TORTURE_PHASED ||
			claim(g, variable, step->work_item, kind)) {
			add_op(g, step, kind, variable);
		}
	}
}

static struct torture_sync draw_sync(
	struct generator *g, int16_t variable, unsigned ways, enum nvw_order order, enum nvw_scope least)
{
	struct torture_sync sync = {.variable = variable, .how = (uint8_t)below(g, ways)};

	sync.order = order_of(g, order);
	sync.scope = scope_of(g, least);
	return sync;
}

/* Draws how a group acquires and releases the lock of a set. */
static void draw_lock(struct generator *g, struct torture_step *step, const struct torture_set *s)
{
	const uint8_t lock = g->p->lock[s->slot];
	enum nvw_scope least = NVW_SCOPE_AGENT;

	if (s->group == (int)torture_group_of(g->p, step->work_item)) {
		least = NVW_SCOPE_WORKGROUP;
	} else if (s->style == TORTURE_STEAL) {
		least = NVW_SCOPE_REMOTE_AGENT;
	}
	step->acquire = draw_sync(g, lock, 4, NVW_ACQUIRE, least);
	step->release = draw_sync(g, lock, 4, NVW_RELEASE, least);
}

static bool has_lock(const struct torture_set *s)
{
	return s->style == TORTURE_LOCK || s->style == TORTURE_STEAL;
}

static void draw_syncs(struct generator *g, struct torture_step *step, const struct torture_set *s)
{
	if (has_lock(s)) {
		draw_lock(g, step, s);
	} else if (s->style == TORTURE_TURN || s->style == TORTURE_TICKET) {
		/* Variables, tags and least scopes are set by torture_link(). */
		step->acquire = draw_sync(g, TORTURE_NONE, 3, NVW_ACQUIRE, NVW_SCOPE_WORKGROUP);
		step->release = draw_sync(g, TORTURE_NONE, 2, NVW_RELEASE, NVW_SCOPE_WORKGROUP);
	}
}

/* Of tickets, tickets_before counts those that are used until torture_link(). */
static bool is_open_to(const struct torture_program *p, const struct torture_set *s, unsigned work_item)
{
	if (s->style == TORTURE_TICKET && s->tickets_before == s->count) {
		return false;
	}
	return s->count &&
	       (s->style == TORTURE_STEAL || s->group < 0 || s->group == (int)torture_group_of(p, work_item));
}

/* Adds a work-item's access to a set of this phase that is open to it. */
static void add_access(struct generator *g)
{
	struct torture_program *const p = g->p;
	const unsigned work_item = below(g, p->groups * p->group_size);
	struct torture_set *const s = &p->sets[g->first_set + below(g, g->sets)];
	struct torture_step *step;

	if (!is_open_to(p, s, work_item)) {
		return;
	}
	step = add_step(g, TORTURE_ACCESS);
	step->set = (int)(s - p->sets);
	step->work_item = work_item;
	add_ops(g, step, s);
	if (!step->op_count) {
		p->step_count--;
		return;
	}
	s->tickets_before += s->style == TORTURE_TICKET;
	draw_syncs(g, step, s);
}

/* The group's phased sets may be dealt anew. */
static void free_phased(struct generator *g, int group)
{
	NVW_EACH(s, g->p->sets + g->first_set, g->sets) {
		for (unsigned i = 0; s->style == TORTURE_PHASED && s->group == group && i < s->count; i++) {
			g->owner[s->variables[i]] = FREE;
		}
	}
}

static void add_meeting(struct generator *g)
{
	struct torture_step *const step = add_step(g, TORTURE_MEET);

	step->persist = chance(g, 50);
	if (!step->persist || !chance(g, 25)) {
		step->group = (int)below(g, g->p->groups);
	}
	/* A persist barrier orders persists; it makes nothing visible. */
	if (!step->persist) {
		free_phased(g, step->group);
	}
}

static void add_host_stores(struct generator *g)
{
	struct torture_step *const step = add_step(g, TORTURE_HOST);

	for (unsigned n = 1 + below(g, 8); n; n--) {
		add_op(g, step, NVW__STORE, below(g, g->p->data_count));
	}
}

static void begin_phase(struct generator *g, bool new_kernel, bool *read_only)
{
	if (!new_kernel) {
		add_step(g, TORTURE_MEET);
		return;
	}
	if (chance(g, 75)) {
		add_host_stores(g);
	}
	add_step(g, TORTURE_LAUNCH);
	draw_read_only(g, read_only);
}

static void draw_steps(struct generator *g)
{
	const unsigned phases = 1 + below(g, TORTURE_PHASES_MAX), steps = 10 + below(g, 50);
	bool read_only[TORTURE_DATA_MAX] = {false};

	NVW_FOR(phase, phases) {
		begin_phase(g, phase == 0 || chance(g, 50), read_only);
		deal(g, read_only);
		for (unsigned n = steps; n; n--) {
			if (chance(g, 7)) {
				add_meeting(g);
			} else {
				add_access(g);
			}
		}
	}
}

/* Every third load is issued and used later. */
static void draw_issued(struct torture_program *p, uint64_t seed)
{
	struct nvw_random random = torture_drawn_apart(~seed);

	NVW_EACH(op, p->ops, p->op_count) {
		op->is_issued = torture_drawn(&random, 3) == 0 && op->kind == NVW__LOAD;
	}
}

int torture_generate(
	struct torture_program *p, const char *protocol, uint64_t seed, const char *const *settings)
{
	struct generator g = {.p = p, .random = {nvw_mix64(seed ^ 0x6d616368696e65)}};

	memset(p, 0, sizeof *p);
	p->seed = seed;
	p->settings = settings;
	NVW_TRY(torture_draw_machine(p, protocol, &g.random));
	g.random.state = nvw_mix64(seed ^ 0x70726f6772616d);
	draw_variables(&g);
	draw_steps(&g);
	draw_issued(p, seed);
	torture_link(p);
	return 0;
}
