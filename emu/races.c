/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The race detector: happens-before by vector clocks. See races.h, vclock.h and docs/races.md.
 *
 * Every 8 aligned bytes that a kernel touches have a cell: the accesses that no later one stands for, and the clocks that
 * were released into it. Time is one count for the kernel; it goes on after each instruction that releases. A clock's entry for
 * a work-item is the time of one of its releases, so all that the work-item does between two of them may count as done right
 * after the first: like accesses of a wavefront's lanes that have not released meanwhile are one record.
 *
 * A record may go when a later access stands for it: that happens after it and conflicts with whatever it conflicts
 * with, so that whoever is unordered with the earlier is unordered with the later.
 *
 * Under HRF each work-item has two clocks, what is ordered and what would be if scopes were ignored. Where they
 * differ, scopes are to blame, and the acquires that missed a release because of them are kept to be named.
 */
#include "races.h"

#include <stdlib.h>

#include "protocol/protocol.h"
#include "vclock.h"

enum { FAILED = 0x80 }; /* in the kind of an operation: a compare-exchange that stored nothing */
enum { FIRST_TIME = 1, MISSES = 1024, CELLS_MIN = 1 << 10, WHATS_MIN = 256, PRUNE_MIN = 32, RECENT_MIN = 1 << 12 };

/* Whom the scope of an atomic includes, under the model. */
enum reach { REACH_SELF, REACH_LOCAL, REACH_AGENT, REACH_REMOTE, REACHES };

/* A source place and what is done there. */
struct what {
	const struct nvw_site *site;
	uint32_t op;
	uint32_t line; /* the first of these with the same source line */
	enum reach reach;
	bool is_atomic, is_write, acquires, releases;
};

struct access {
	uint32_t next, wavefront;
	uint32_t cell; /* 0: a row that is free */
	uint64_t lanes;
	uint64_t value; /* that all of them store */
	uint32_t time, what;
	uint8_t mask; /* of the cell's bytes */
	bool has_value;
};

/* What has been released into bytes of a cell since the latest store that was no read-modify-write. */
enum { BY_AGENT, BY_LOCAL_OR_WIDER, BY_REMOTE, BY_ANY, IGNORING_SCOPES, RELEASED };

struct sync {
	uint32_t next;
	uint32_t domains; /* of local scope or wider, by domain */
	vclock released[RELEASED];
	uint32_t latest[REACHES]; /* whats of the releases, by reach */
	uint64_t turn[REACHES];   /* when; 0: none */
	uint32_t domain_of_latest;
	uint8_t mask;
};

struct domain {
	uint32_t next, id;
	vclock released;
};

/* Somebody touched bytes of a cell in this kernel. */
struct touch {
	uint32_t wavefront, what;
	uint8_t lane, mask;
};

struct cell {
	uint64_t key;
	uint32_t number; /* its row */
	uint32_t reads, writes, syncs;
	uint32_t count, prune_at; /* reads and writes */
	struct touch written, read_only;
};

/* What the work-items of a wavefront know. */
struct party {
	vclock ordered[EMU_LANES];
	vclock unscoped[EMU_LANES]; /* HRF: if scopes were ignored */
	uint32_t since[EMU_LANES];  /* after the latest release */
};

/* An acquire that missed a release because of their scopes. */
struct miss {
	vclock released; /* what it missed, with what it got */
	uint32_t release, acquire; /* whats */
	uint32_t wavefront, lane, time;
};

/* Rows by number; 0 is none. The first word of a free row is the next free one's number. */
struct pool {
	char *rows;
	uint32_t row_bytes, count, capacity, free;
};

struct emu_races {
	bool scopes, remote, by_cu; /* HRF; with remote scopes; local scope is the CU's */
	struct vclock_pool clocks;
	uint32_t time;
	uint64_t turns; /* releases, counted */
	bool released;  /* by the instruction that is looked at */

	struct pool accesses, syncs, domains, cells;
	uint32_t *recent; /* reads by hash, a later one in the place of an earlier: who reads again is found without a search */
	uint32_t recent_mask;
	uint32_t *table; /* cells by key */
	uint32_t table_mask;
	struct party **parties; /* by wavefront; NULL: knows nothing */
	uint32_t *domain_of;    /* by wavefront */
	uint64_t wavefronts;

	struct what *whats;
	uint32_t what_count, what_capacity;
	uint32_t *what_table;
	uint32_t what_mask;
	uint32_t last_what;

	struct miss misses[MISSES]; /* a ring */
	uint64_t missed;

	struct emu_race_report report;
	struct {
		uint32_t lines[2];
	} found[EMU_RACES_MAX];
};

/* The instruction that is looked at: lanes of it that do one thing to bytes of one cell. */
struct event {
	struct nvw_machine *m;
	uint32_t wavefront, what;
	uint64_t lanes;
	uint32_t since; /* their latest release */
	uint64_t value;
	bool has_value;
	uint8_t mask;
};

/* ---- Memory ------------------------------------------------------------------------------------------ */

static void out_of_memory(struct nvw_machine *m)
{
	if (!m->error) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for the race check of kernel %s", m->exec.name);
	}
}

static void *row(const struct pool *p, uint32_t i)
{
	return p->rows + (size_t)i * p->row_bytes;
}

static void pool_reset(struct pool *p)
{
	p->count = p->free = 0;
}

/* A zeroed row; 0 without memory. */
static uint32_t pool_take(struct nvw_machine *m, struct pool *p)
{
	uint32_t i = p->free;

	if (i) {
		memcpy(&p->free, row(p, i), sizeof p->free);
	} else {
		if (p->count + 1 >= p->capacity) {
			const uint32_t capacity = p->capacity ? 2 * p->capacity : 1024;
			char *const grown = realloc(p->rows, (size_t)capacity * p->row_bytes);

			if (!grown) {
				out_of_memory(m);
				return 0;
			}
			p->rows = grown;
			p->capacity = capacity;
		}
		i = ++p->count;
	}
	memset(row(p, i), 0, p->row_bytes);
	return i;
}

static void pool_give(struct pool *p, uint32_t i)
{
	memcpy(row(p, i), &p->free, sizeof p->free);
	p->free = i;
}

static struct access *access_at(const struct emu_races *r, uint32_t i)
{
	return row(&r->accesses, i);
}

static struct sync *sync_at(const struct emu_races *r, uint32_t i)
{
	return row(&r->syncs, i);
}

static struct domain *domain_at(const struct emu_races *r, uint32_t i)
{
	return row(&r->domains, i);
}

static struct cell *cell_at(const struct emu_races *r, uint32_t i)
{
	return row(&r->cells, i);
}

static uint32_t hash(uint64_t key)
{
	return (uint32_t)(nvw_mix64(key) >> 32);
}

static void put_cell(struct emu_races *r, uint32_t i)
{
	uint32_t slot = hash(cell_at(r, i)->key) & r->table_mask;

	while (r->table[slot]) {
		slot = (slot + 1) & r->table_mask;
	}
	r->table[slot] = i;
}

static bool grow_table(struct emu_races *r)
{
	const uint32_t size = r->table ? 2 * (r->table_mask + 1) : CELLS_MIN;
	uint32_t *const table = calloc(size, sizeof *table);

	if (!table) {
		return false;
	}
	free(r->table);
	r->table = table;
	r->table_mask = size - 1;
	for (uint32_t i = 1; i <= r->cells.count; i++) {
		put_cell(r, i);
	}
	return true;
}

/* The cell of 8 aligned bytes, made if need be; NULL without memory. */
static struct cell *cell_for(struct nvw_machine *m, uint64_t key)
{
	struct emu_races *const r = m->races;
	uint32_t slot, i;

	for (slot = hash(key) & r->table_mask; r->table[slot]; slot = (slot + 1) & r->table_mask) {
		if (cell_at(r, r->table[slot])->key == key) {
			return cell_at(r, r->table[slot]);
		}
	}
	if (2 * r->cells.count > r->table_mask && !grow_table(r)) {
		out_of_memory(m);
		return NULL;
	}
	i = pool_take(m, &r->cells);
	if (!i) {
		return NULL;
	}
	cell_at(r, i)->key = key;
	cell_at(r, i)->number = i;
	cell_at(r, i)->prune_at = PRUNE_MIN;
	put_cell(r, i);
	return cell_at(r, i);
}

static struct party *party_of(struct nvw_machine *m, uint32_t wavefront)
{
	struct party **const party = &m->races->parties[wavefront];

	if (!*party) {
		*party = malloc(sizeof **party);
		if (!*party) {
			out_of_memory(m);
			return NULL;
		}
		for (unsigned lane = 0; lane < EMU_LANES; lane++) {
			(*party)->ordered[lane] = (*party)->unscoped[lane] = VCLOCK_NONE;
			(*party)->since[lane] = FIRST_TIME;
		}
	}
	return *party;
}

/* Forgets all accesses and clocks: what comes is ordered after everything so far. */
static void forget_order(struct emu_races *r)
{
	for (uint64_t i = 0; i < r->wavefronts; i++) {
		free(r->parties[i]);
		r->parties[i] = NULL;
	}
	vclock_reset(&r->clocks, r->wavefronts);
	pool_reset(&r->accesses);
	pool_reset(&r->syncs);
	pool_reset(&r->domains);
	memset(r->recent, 0, (r->recent_mask + 1) * sizeof *r->recent);
	r->missed = 0;
	r->time = FIRST_TIME;
}

/* ---- Who and what -------------------------------------------------------------------------------------- */

static uint32_t number_of(const struct nvw_machine *m, const struct emu_wavefront *wf)
{
	return (uint32_t)(wf->group->id * m->exec.group_wavefronts + wf->first_local / m->config.wavefront_width);
}

static uint64_t group_of(const struct nvw_machine *m, uint32_t wavefront)
{
	return wavefront / m->exec.group_wavefronts;
}

static uint64_t work_item_of(const struct nvw_machine *m, uint32_t wavefront, unsigned lane)
{
	return group_of(m, wavefront) * m->exec.group_size +
	       wavefront % m->exec.group_wavefronts * m->config.wavefront_width + lane;
}

static enum reach reach_of(const struct emu_races *r, enum nvw_scope scope)
{
	if (!r->scopes) {
		return REACH_AGENT;
	}
	switch (scope) {
	case NVW_SCOPE_WORKITEM:
		return REACH_SELF;
	case NVW_SCOPE_WORKGROUP:
		return REACH_LOCAL;
	case NVW_SCOPE_AGENT:
	case NVW_SCOPE_SYSTEM:
		return REACH_AGENT;
	case NVW_SCOPE_REMOTE_AGENT:
	case NVW_SCOPE_REMOTE_SYSTEM:
		break;
	}
	return r->remote ? REACH_REMOTE : REACH_AGENT;
}

static bool is_read_modify_write(const struct what *w)
{
	return w->is_atomic && w->is_write && (w->op & 0xff) != NVW__ATOMIC_STORE;
}

static struct what describe(const struct emu_races *r, const struct nvw_site *site, uint32_t op)
{
	const unsigned kind = op & 0xff, order = op >> 16 & 0xff;
	struct what w = {.site = site, .op = op, .line = r->what_count};

	w.is_atomic = kind >= NVW__ATOMIC_LOAD;
	w.is_write = kind == NVW__STORE || (w.is_atomic && kind != NVW__ATOMIC_LOAD && !(kind & FAILED));
	w.reach = w.is_atomic ? reach_of(r, (enum nvw_scope)(op >> 24)) : REACH_SELF;
	w.acquires = w.is_atomic && kind != NVW__ATOMIC_STORE && order != NVW_RELAXED && order != NVW_RELEASE;
	w.releases = w.is_atomic && w.is_write && order != NVW_RELAXED && order != NVW_ACQUIRE;
	for (uint32_t i = 0; i < r->what_count; i++) {
		if (r->whats[i].site->line == site->line && !strcmp(r->whats[i].site->file, site->file)) {
			w.line = r->whats[i].line;
			break;
		}
	}
	return w;
}

static uint32_t what_slot(const struct emu_races *r, const struct nvw_site *site, uint32_t op)
{
	uint32_t slot = hash((uint64_t)(uintptr_t)site ^ (uint64_t)op << 32) & r->what_mask;

	while (r->what_table[slot]) {
		const struct what *const w = &r->whats[r->what_table[slot] - 1];

		if (w->site == site && w->op == op) {
			break;
		}
		slot = (slot + 1) & r->what_mask;
	}
	return slot;
}

static bool grow_whats(struct emu_races *r)
{
	const uint32_t capacity = r->what_capacity ? 2 * r->what_capacity : WHATS_MIN;
	struct what *const whats = realloc(r->whats, capacity * sizeof *whats);
	uint32_t *const table = calloc(2 * capacity, sizeof *table);

	r->whats = whats ? whats : r->whats;
	if (!whats || !table) {
		free(table);
		return false;
	}
	free(r->what_table);
	r->what_table = table;
	r->what_mask = 2 * capacity - 1;
	r->what_capacity = capacity;
	for (uint32_t i = 0; i < r->what_count; i++) {
		table[what_slot(r, whats[i].site, whats[i].op)] = i + 1;
	}
	return true;
}

static uint32_t what_number(struct nvw_machine *m, const struct nvw_site *site, uint32_t op)
{
	struct emu_races *const r = m->races;
	uint32_t slot;

	if (r->last_what < r->what_count && r->whats[r->last_what].site == site && r->whats[r->last_what].op == op) {
		return r->last_what;
	}
	slot = what_slot(r, site, op);
	if (!r->what_table[slot]) {
		if (r->what_count == r->what_capacity) {
			if (!grow_whats(r)) {
				out_of_memory(m);
				return 0;
			}
			slot = what_slot(r, site, op);
		}
		r->whats[r->what_count] = describe(r, site, op);
		r->what_table[slot] = ++r->what_count;
	}
	return r->last_what = r->what_table[slot] - 1;
}

/* ---- Findings ------------------------------------------------------------------------------------------ */

static struct emu_race_access told(
	const struct nvw_machine *m, uint32_t what, uint32_t wavefront, unsigned lane)
{
	static const char *const kinds[] = {
#define X(name, text) text,
		NVW__KINDS(X)
#undef X
	};
	static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
	static const char *const scopes[] = {
		"work-item", "work-group", "agent", "system", "remote agent", "remote system"};
	const struct what *const w = &m->races->whats[what];

	return (struct emu_race_access){.site = w->site,
		.kind = kinds[w->op & (FAILED - 1)],
		.order = w->is_atomic ? orders[w->op >> 16 & 0xff] : NULL,
		.scope = w->is_atomic ? scopes[w->op >> 24] : NULL,
		.work_item = work_item_of(m, wavefront, lane),
		.group = group_of(m, wavefront)};
}

/* The place of a pair of source lines in the report, a new one if there is room; NULL if there is none. */
static struct emu_race *place_for(
	struct emu_races *r, enum emu_race_kind kind, uint32_t first, uint32_t second, bool *ret_new)
{
	struct emu_race_report *const report = &r->report;
	const uint32_t a = r->whats[first].line, b = r->whats[second].line;
	const uint32_t low = a < b ? a : b, high = a < b ? b : a;
	unsigned i = 0;

	while (i < report->count && (report->race[i].kind != kind || r->found[i].lines[0] != low ||
					    r->found[i].lines[1] != high)) {
		i++;
	}
	*ret_new = i == report->count;
	if (i == EMU_RACES_MAX) {
		return NULL;
	}
	r->found[i].lines[0] = low;
	r->found[i].lines[1] = high;
	report->count += *ret_new;
	return &report->race[i];
}

/* The acquire, on the way from x to lane of the event that scopes have cut, that missed its release. */
static void blame(const struct event *e, unsigned lane, const struct access *x, unsigned x_lane, struct emu_race *race)
{
	struct emu_races *const r = e->m->races;
	const uint64_t x_bit = UINT64_C(1) << x_lane;
	const vclock unscoped = party_of(e->m, e->wavefront)->unscoped[lane];

	race->scopes_to_blame = true;
	for (uint64_t n = r->missed; n && n + MISSES > r->missed; n--) {
		const struct miss *const miss = &r->misses[(n - 1) % MISSES];
		const bool own = miss->wavefront == e->wavefront && miss->lane == lane;

		if (vclock_unknown(&r->clocks, miss->released, x->wavefront, x_bit, x->time) == 0 &&
			(own || vclock_unknown(&r->clocks, unscoped, miss->wavefront, UINT64_C(1) << miss->lane,
					miss->time) == 0)) {
			race->release = told(e->m, miss->release, x->wavefront, x_lane);
			race->acquire = told(e->m, miss->acquire, miss->wavefront, miss->lane);
			return;
		}
	}
}

static void locate(const struct cell *c, uint8_t bytes, struct emu_race *race)
{
	const emu_line_id line = (emu_line_id)(c->key >> 3);

	race->in_nvram = emu_is_nvram(line);
	race->offset = emu_line_off(line) + (c->key & 7) * 8 + (uint64_t)__builtin_ctz(bytes);
	race->bytes = (unsigned)__builtin_popcount(bytes);
}

/* Counts a race; says in *ret_race where it is told if it is the first of its pair of lines. */
static bool is_new_race(const struct event *e, const struct cell *c, enum emu_race_kind kind, uint32_t x_what,
	uint8_t bytes, bool same_value, struct emu_race **ret_race)
{
	struct emu_races *const r = e->m->races;
	bool new;
	struct emu_race *const race = place_for(r, kind, x_what, e->what, &new);

	r->report.races++;
	if (!race) {
		r->report.unlisted++;
		return false;
	}
	race->count++;
	race->same_value = same_value && (new || race->same_value);
	if (new) {
		race->kind = kind;
		snprintf(race->kernel, sizeof race->kernel, "%s", e->m->exec.name);
		locate(c, bytes, race);
	}
	*ret_race = race;
	return new;
}

static void tell_race(const struct event *e, const struct cell *c, const struct access *x, unsigned x_lane, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const bool atomics = r->whats[x->what].is_atomic && r->whats[e->what].is_atomic;
	const bool same = x->has_value && e->has_value && x->value == e->value && x->mask == e->mask;
	struct emu_race *race;

	if (!is_new_race(e, c, atomics ? EMU_RACE_SCOPES : EMU_RACE_DATA, x->what, x->mask & e->mask, same, &race)) {
		return;
	}
	race->first = told(e->m, x->what, x->wavefront, x_lane);
	race->second = told(e->m, e->what, e->wavefront, lane);
	if (r->scopes && !atomics && r->parties[e->wavefront] &&
		!vclock_unknown(&r->clocks, r->parties[e->wavefront]->unscoped[lane], x->wavefront,
			UINT64_C(1) << x_lane, x->time)) {
		blame(e, lane, x, x_lane, race);
	}
}

/* A read-only load promises that nobody writes the bytes in this kernel, ordered or not. */
static void check_read_only(const struct event *e, struct cell *c)
{
	const struct what *const w = &e->m->races->whats[e->what];
	const bool read_only = (w->op & 0xff) == NVW__LOAD_READ_ONLY;
	struct touch *const other = read_only ? &c->written : &c->read_only;
	struct touch *const own = read_only ? &c->read_only : &c->written;
	const unsigned lane = (unsigned)__builtin_ctzll(e->lanes);
	struct emu_race *race;

	if (!read_only && !w->is_write) {
		return;
	}
	if ((other->mask & e->mask) &&
		is_new_race(e, c, EMU_RACE_READ_ONLY, other->what, other->mask & e->mask, false, &race)) {
		race->first = told(e->m, other->what, other->wavefront, other->lane);
		race->second = told(e->m, e->what, e->wavefront, lane);
	}
	*own = (struct touch){e->wavefront, e->what, (uint8_t)lane, (uint8_t)(own->mask | e->mask)};
}

/* ---- Accesses against accesses ------------------------------------------------------------------------- */

/* Do the scopes of two atomics of different work-items include each other? */
static bool inclusive(const struct emu_races *r, const struct what *x, uint32_t x_wavefront, const struct what *y,
	uint32_t y_wavefront)
{
	if (x->reach == REACH_SELF || y->reach == REACH_SELF) {
		return false;
	}
	if (x->reach == REACH_REMOTE || y->reach == REACH_REMOTE) {
		return true;
	}
	return (x->reach == REACH_AGENT && y->reach == REACH_AGENT) ||
	       r->domain_of[x_wavefront] == r->domain_of[y_wavefront];
}

static bool conflict(const struct emu_races *r, const struct access *x, const struct event *e)
{
	const struct what *const a = &r->whats[x->what], *const b = &r->whats[e->what];

	return (a->is_write || b->is_write) &&
	       !(a->is_atomic && b->is_atomic && inclusive(r, a, x->wavefront, b, e->wavefront));
}

/* Does whatever conflicts with x conflict with the event as well? */
static bool stands_for(const struct emu_races *r, const struct event *e, const struct access *x)
{
	const struct what *const a = &r->whats[x->what], *const b = &r->whats[e->what];

	if (x->mask & ~e->mask || (a->is_write && !b->is_write)) {
		return false;
	}
	if (!b->is_atomic) {
		return true;
	}
	if (!a->is_atomic || a->reach != b->reach) {
		return false;
	}
	if (a->reach == REACH_SELF) {
		return x->wavefront == e->wavefront && !(x->lanes & ~e->lanes);
	}
	return !r->scopes || a->reach == REACH_REMOTE || r->domain_of[x->wavefront] == r->domain_of[e->wavefront];
}

static vclock ordered(const struct emu_races *r, uint32_t wavefront, unsigned lane)
{
	return r->parties[wavefront] ? r->parties[wavefront]->ordered[lane] : VCLOCK_NONE;
}

/* The event's lanes that know as much as the first of lanes. */
static uint64_t alike(const struct emu_races *r, const struct event *e, uint64_t lanes)
{
	const struct party *const party = r->parties[e->wavefront];
	const vclock first = ordered(r, e->wavefront, (unsigned)__builtin_ctzll(lanes));
	uint64_t same = 0;

	for (uint64_t rest = party ? lanes : 0; rest; rest &= rest - 1) {
		const unsigned lane = (unsigned)__builtin_ctzll(rest);

		same |= (uint64_t)(party->ordered[lane] == first) << lane;
	}
	return party ? same : lanes;
}

/* Lanes of x that some lane of the event comes after; tells races with the others if the two conflict. */
static uint64_t ordered_before(const struct event *e, const struct cell *c, const struct access *x, bool conflicting)
{
	const struct emu_races *const r = e->m->races;
	uint64_t before = 0, same;

	for (uint64_t rest = e->lanes; rest; rest &= ~same) {
		const vclock known = ordered(r, e->wavefront, (unsigned)__builtin_ctzll(rest));
		const uint64_t unknown = vclock_unknown(&r->clocks, known, x->wavefront, x->lanes, x->time);

		same = alike(r, e, rest);
		before |= x->lanes & ~unknown;
		for (uint64_t lanes = conflicting && unknown ? same : 0; lanes; lanes &= lanes - 1) {
			const unsigned lane = (unsigned)__builtin_ctzll(lanes);
			const uint64_t others = x->wavefront == e->wavefront ? unknown & ~(UINT64_C(1) << lane) : unknown;

			if (others) {
				tell_race(e, c, x, (unsigned)__builtin_ctzll(others), lane);
			}
		}
	}
	return before;
}

/* Two lanes of one instruction. */
static void check_lanes(const struct event *e, const struct cell *c)
{
	const struct what *const w = &e->m->races->whats[e->what];
	struct access x = {.wavefront = e->wavefront, .value = e->value, .time = e->since, .what = e->what,
		.mask = e->mask, .has_value = e->has_value};

	if (!w->is_write || (w->is_atomic && w->reach != REACH_SELF)) {
		return;
	}
	for (uint64_t rest = e->lanes & (e->lanes - 1); rest; rest &= rest - 1) {
		tell_race(e, c, &x, (unsigned)__builtin_ctzll(e->lanes), (unsigned)__builtin_ctzll(rest));
	}
}

static bool is_same(const struct access *x, const struct event *e)
{
	return x->wavefront == e->wavefront && x->what == e->what && x->time == e->since && x->mask == e->mask &&
	       x->has_value == e->has_value && x->value == e->value;
}

/* Where the number of a read like this one is, if it was the latest with its hash. */
static uint32_t *recent(const struct event *e, const struct cell *c)
{
	const uint64_t key = (uint64_t)c->number << 32 | (e->wavefront * 0x9e3779b1u ^ e->what << 8 ^ e->mask);

	return &e->m->races->recent[hash(key) & e->m->races->recent_mask];
}

/* Forgets all: they are found by a search then. */
static bool grow_recent(struct emu_races *r)
{
	const uint32_t size = r->recent ? 4 * (r->recent_mask + 1) : RECENT_MIN;
	uint32_t *const recent = calloc(size, sizeof *recent);

	if (recent) {
		free(r->recent);
		r->recent = recent;
		r->recent_mask = size - 1;
	}
	return recent;
}

static void remember(const struct event *e, struct cell *c, uint32_t *list)
{
	struct emu_races *const r = e->m->races;
	const uint32_t i = pool_take(e->m, &r->accesses);

	if (i) {
		*access_at(r, i) = (struct access){.next = *list, .wavefront = e->wavefront, .cell = c->number,
			.lanes = e->lanes, .value = e->value, .time = e->since, .what = e->what, .mask = e->mask,
			.has_value = e->has_value};
		*list = i;
		c->count++;
		if (r->accesses.count > r->recent_mask / 2 && !grow_recent(r)) {
			out_of_memory(e->m);
		}
		if (list == &c->reads) {
			*recent(e, c) = i;
		}
	}
}

/* The event against the accesses of a list: tells races and forgets those that it stands for. Returns the one that is like
 * it, 0 if there is none. */
static uint32_t meet(const struct event *e, struct cell *c, uint32_t *list)
{
	struct emu_races *const r = e->m->races;
	const bool prune = c->count >= c->prune_at;
	uint32_t same = 0;

	for (uint32_t *link = list; *link;) {
		struct access *const x = access_at(r, *link);
		const uint32_t i = *link;
		const bool conflicting = (x->mask & e->mask) && conflict(r, x, e);
		uint64_t before = x->wavefront == e->wavefront ? x->lanes & e->lanes : 0;

		if (conflicting || prune) {
			before |= ordered_before(e, c, x, conflicting);
		}
		same = same || !is_same(x, e) ? same : i;
		if (i != same && before && stands_for(r, e, x)) {
			x->lanes &= ~before;
		}
		if (x->lanes) {
			link = &x->next;
			continue;
		}
		*link = x->next;
		x->cell = 0;
		pool_give(&r->accesses, i);
		c->count--;
	}
	return same;
}

static void check(const struct event *e, struct cell *c)
{
	struct emu_races *const r = e->m->races;
	const bool is_write = r->whats[e->what].is_write, prune = c->count >= c->prune_at;
	uint32_t same = meet(e, c, &c->writes);

	check_lanes(e, c);
	if (is_write) {
		meet(e, c, &c->reads);
	} else {
		same = *recent(e, c);
		if (!same || access_at(r, same)->cell != c->number || !is_same(access_at(r, same), e)) {
			same = *recent(e, c) = meet(e, c, &c->reads);
		}
	}
	if (same) {
		access_at(r, same)->lanes |= e->lanes;
	} else {
		remember(e, c, is_write ? &c->writes : &c->reads);
	}
	if (prune) {
		c->prune_at = c->count < PRUNE_MIN / 2 ? PRUNE_MIN : 2 * c->count;
	}
}

/* ---- Synchronization ----------------------------------------------------------------------------------- */

static void learn(struct emu_races *r, vclock *clock, vclock other)
{
	const vclock joined = vclock_join(&r->clocks, *clock, other);

	vclock_drop(&r->clocks, *clock);
	*clock = joined;
}

static void forget_sync(struct emu_races *r, struct sync *s)
{
	for (unsigned i = 0; i < RELEASED; i++) {
		vclock_drop(&r->clocks, s->released[i]);
		s->released[i] = VCLOCK_NONE;
	}
	while (s->domains) {
		const uint32_t i = s->domains;

		s->domains = domain_at(r, i)->next;
		vclock_drop(&r->clocks, domain_at(r, i)->released);
		pool_give(&r->domains, i);
	}
	memset(s->turn, 0, sizeof s->turn);
}

/* A store that is no read-modify-write: who reads it does not read what was there before. */
static void forget_released(struct emu_races *r, struct cell *c, uint8_t mask)
{
	for (uint32_t *link = &c->syncs; *link;) {
		struct sync *const s = sync_at(r, *link);
		const uint32_t i = *link;

		if (s->mask & mask) {
			forget_sync(r, s);
			*link = s->next;
			pool_give(&r->syncs, i);
		} else {
			link = &s->next;
		}
	}
}

static struct sync *sync_for(const struct event *e, struct cell *c)
{
	struct emu_races *const r = e->m->races;
	uint32_t i = c->syncs;

	while (i && sync_at(r, i)->mask != e->mask) {
		i = sync_at(r, i)->next;
	}
	if (!i) {
		i = pool_take(e->m, &r->syncs);
		if (!i) {
			return NULL;
		}
		sync_at(r, i)->next = c->syncs;
		sync_at(r, i)->mask = e->mask;
		for (unsigned k = 0; k < RELEASED; k++) {
			sync_at(r, i)->released[k] = VCLOCK_NONE;
		}
		c->syncs = i;
	}
	return sync_at(r, i);
}

/* What work-items of a domain released with local scope or wider; NULL if nothing. */
static struct domain *domain_in(const struct emu_races *r, const struct sync *s, uint32_t id)
{
	for (uint32_t i = s->domains; i; i = domain_at(r, i)->next) {
		if (domain_at(r, i)->id == id) {
			return domain_at(r, i);
		}
	}
	return NULL;
}

static void release_to_domain(const struct event *e, struct sync *s, vclock published)
{
	struct emu_races *const r = e->m->races;
	const uint32_t id = r->domain_of[e->wavefront];
	struct domain *d = domain_in(r, s, id);

	if (!d) {
		const uint32_t i = pool_take(e->m, &r->domains);

		if (!i) {
			return;
		}
		d = domain_at(r, i);
		*d = (struct domain){.next = s->domains, .id = id, .released = VCLOCK_NONE};
		s->domains = i;
	}
	learn(r, &d->released, published);
}

static void release(const struct event *e, struct cell *c, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const struct what *const w = &r->whats[e->what];
	struct sync *const s = sync_for(e, c);
	struct party *const party = party_of(e->m, e->wavefront);
	vclock published, unscoped;

	if (!s || !party) {
		return;
	}
	published = vclock_mark(&r->clocks, party->ordered[lane], e->wavefront, e->lanes, r->time);
	if (w->reach >= REACH_AGENT) {
		learn(r, &s->released[BY_AGENT], published);
	}
	if (r->scopes) {
		unscoped = vclock_mark(&r->clocks, party->unscoped[lane], e->wavefront, e->lanes, r->time);
		learn(r, &s->released[BY_ANY], published);
		learn(r, &s->released[IGNORING_SCOPES], unscoped);
		vclock_drop(&r->clocks, unscoped);
		if (w->reach >= REACH_LOCAL) {
			learn(r, &s->released[BY_LOCAL_OR_WIDER], published);
			release_to_domain(e, s, published);
		}
		if (w->reach == REACH_REMOTE) {
			learn(r, &s->released[BY_REMOTE], published);
		}
		s->latest[w->reach] = e->what;
		s->turn[w->reach] = ++r->turns;
		s->domain_of_latest = w->reach == REACH_LOCAL ? r->domain_of[e->wavefront] : s->domain_of_latest;
	}
	vclock_drop(&r->clocks, published);
	party->since[lane] = r->time + 1;
	r->released = true;
}

/* The latest release into s that an acquire of this scope does not synchronize with. */
static uint32_t missed_release(const struct emu_races *r, const struct event *e, const struct sync *s)
{
	const enum reach reach = r->whats[e->what].reach;
	enum reach best = REACHES;

	for (enum reach i = REACH_SELF; i < REACHES; i++) {
		const bool met = i == REACH_LOCAL && reach >= REACH_LOCAL && reach != REACH_REMOTE &&
				 s->domain_of_latest == r->domain_of[e->wavefront];

		if (s->turn[i] && !(i >= REACH_AGENT && reach >= REACH_AGENT) && !met &&
			(best == REACHES || s->turn[i] > s->turn[best])) {
			best = i;
		}
	}
	for (enum reach i = REACH_SELF; best == REACHES && i < REACHES; i++) {
		best = s->turn[i] ? i : best;
	}
	return s->latest[best];
}

static void note_miss(const struct event *e, const struct sync *s, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	struct miss *const miss = &r->misses[r->missed % MISSES];

	for (uint64_t n = r->missed; n && n + MISSES > r->missed; n--) {
		const struct miss *const old = &r->misses[(n - 1) % MISSES];

		if (old->released == s->released[BY_ANY] && old->wavefront == e->wavefront && old->lane == lane) {
			return; /* who spins misses the same again */
		}
	}
	if (r->missed >= MISSES) {
		vclock_drop(&r->clocks, miss->released);
	}
	*miss = (struct miss){.released = vclock_keep(s->released[BY_ANY]),
		.release = missed_release(r, e, s),
		.acquire = e->what,
		.wavefront = e->wavefront,
		.lane = lane,
		.time = r->time};
	r->missed++;
}

/* What an acquire by a lane learns from s under HRF-indirect. */
static void acquire_scoped(const struct event *e, const struct sync *s, struct party *party, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	const enum reach reach = r->whats[e->what].reach;
	const struct domain *const d = domain_in(r, s, r->domain_of[e->wavefront]);
	vclock *const known = &party->ordered[lane];
	vclock all;

	if (reach == REACH_REMOTE) {
		learn(r, known, s->released[BY_LOCAL_OR_WIDER]);
	}
	if (reach == REACH_AGENT) {
		learn(r, known, s->released[BY_AGENT]);
	}
	if (reach >= REACH_LOCAL) {
		learn(r, known, s->released[BY_REMOTE]);
		learn(r, known, d ? d->released : VCLOCK_NONE);
	}
	learn(r, &party->unscoped[lane], s->released[IGNORING_SCOPES]);
	all = vclock_join(&r->clocks, *known, s->released[BY_ANY]);
	if (all != *known) {
		note_miss(e, s, lane);
	}
	vclock_drop(&r->clocks, all);
}

static void acquire(const struct event *e, struct cell *c, unsigned lane)
{
	struct emu_races *const r = e->m->races;
	struct party *const party = c->syncs ? party_of(e->m, e->wavefront) : NULL;

	for (uint32_t i = party ? c->syncs : 0; i; i = sync_at(r, i)->next) {
		const struct sync *const s = sync_at(r, i);

		if (!(s->mask & e->mask)) {
			continue;
		}
		if (r->scopes) {
			acquire_scoped(e, s, party, lane);
		} else {
			learn(r, &party->ordered[lane], s->released[BY_AGENT]);
		}
	}
}

/* ---- Instructions -------------------------------------------------------------------------------------- */

/* The event's bytes of one cell; it is of one lane if it synchronizes. */
static void take_cell(const struct event *e, struct cell *c)
{
	struct emu_races *const r = e->m->races;
	const struct what *const w = &r->whats[e->what];
	const unsigned lane = (unsigned)__builtin_ctzll(e->lanes);

	check_read_only(e, c);
	if ((w->op & 0xff) == NVW__LOAD_READ_ONLY) {
		return;
	}
	if (w->acquires) {
		acquire(e, c, lane);
	}
	check(e, c);
	if (w->is_write && !is_read_modify_write(w) && c->syncs) {
		forget_released(r, c, e->mask);
	}
	if (w->releases) {
		release(e, c, lane);
	}
}

/* Bytes at an address, 8 aligned ones after the other: an access may lie across two of them. */
static void take_bytes(struct event *e, uint64_t address, unsigned size)
{
	emu_line_id line = EMU_NO_LINE;
	unsigned offset = 0;
	uint32_t bytes;

	emu_locate(e->m, address, size, &line, &offset);
	bytes = ((UINT32_C(1) << size) - 1) << offset % 8;
	for (unsigned word = offset / 8; bytes && !e->m->error; word++, bytes >>= 8) {
		struct cell *const c = cell_for(e->m, (uint64_t)line << 3 | word);

		e->mask = (uint8_t)bytes;
		if (c) {
			take_cell(e, c);
		}
	}
}

/* Takes the first of lanes and, unless it goes alone, those that do the same to the same bytes and have not released
 * since. They may store different values. */
static void take_lanes(struct event *e, const struct emu_wavefront *wf, uint64_t lanes, bool alone, bool is_store)
{
	static const uint32_t never[EMU_LANES] = {[0 ... EMU_LANES - 1] = FIRST_TIME};
	const struct party *const party = e->m->races->parties[e->wavefront];
	const uint32_t *const since = party ? party->since : never;
	const unsigned first = (unsigned)__builtin_ctzll(lanes);

	e->lanes = 0;
	e->since = since[first];
	e->value = is_store ? wf->requests[first].value : 0;
	e->has_value = is_store;
	for (uint64_t rest = alone ? lanes & -lanes : lanes; rest; rest &= rest - 1) {
		const unsigned lane = (unsigned)__builtin_ctzll(rest);

		if (wf->requests[lane].address == wf->requests[first].address && since[lane] == since[first]) {
			e->lanes |= UINT64_C(1) << lane;
			e->has_value = e->has_value && wf->requests[lane].value == e->value;
		}
	}
	e->value = e->has_value ? e->value : 0;
}

/* The operation of a request that has been carried out. */
static uint32_t operation(const struct nvw__request *request, unsigned size)
{
	const uint64_t all = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;

	return (request->op & 0xff) == NVW__COMPARE_EXCHANGE && request->value != (request->compare & all) ?
		       request->op | FAILED :
		       request->op;
}

static void finish_instruction(struct nvw_machine *m)
{
	struct emu_races *const r = m->races;

	r->time += r->released;
	r->released = false;
	if (r->clocks.failed) {
		out_of_memory(m);
	}
	if (r->time >= UINT32_MAX >> 1 && !m->error) {
		m->error = nvw_fail(NVW_E_MEMORY, "kernel %s has more releases than the race check can count", m->exec.name);
	}
}

void races_access(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	const struct nvw__request *const requests = wf->requests;
	const uint32_t op = requests[__builtin_ctzll(lanes)].op;
	const unsigned kind = op & 0xff, size = 1u << (op >> 8 & 0xff);
	const bool one_by_one =
		kind >= NVW__ATOMIC_LOAD && ((op >> 16 & 0xff) != NVW_RELAXED || kind == NVW__COMPARE_EXCHANGE);
	struct event e = {.m = m};

	if (!m->races) {
		return;
	}
	e.wavefront = number_of(m, wf);
	m->races->domain_of[e.wavefront] = (uint32_t)(m->races->by_cu ? emu_cu_of(wf)->id : wf->group->id);
	for (uint64_t rest = lanes; rest && !m->error; rest &= ~e.lanes) {
		const struct nvw__request *const request = &requests[__builtin_ctzll(rest)];

		take_lanes(&e, wf, rest, one_by_one, kind == NVW__STORE);
		e.what = what_number(m, request->site, operation(request, size));
		take_bytes(&e, request->address, size);
	}
	finish_instruction(m);
}

/* ---- Barriers, kernels --------------------------------------------------------------------------------- */

/* What any of a group's work-items knows, and that all have come here. */
static vclock known_to_group(struct nvw_machine *m, uint32_t first, bool unscoped)
{
	struct emu_races *const r = m->races;
	vclock known = VCLOCK_NONE, previous = VCLOCK_NONE;

	for (uint32_t i = first; i < first + m->exec.group_wavefronts; i++) {
		const struct party *const party = r->parties[i];

		for (unsigned lane = 0; party && lane < EMU_LANES; lane++) {
			const vclock clock = unscoped ? party->unscoped[lane] : party->ordered[lane];

			if (clock != previous) {
				learn(r, &known, clock);
				previous = clock;
			}
		}
	}
	for (uint32_t i = first; i < first + m->exec.group_wavefronts; i++) {
		const vclock marked = vclock_mark(&r->clocks, known, i, UINT64_MAX, r->time);

		vclock_drop(&r->clocks, known);
		known = marked;
	}
	return known;
}

void races_group_barrier(struct nvw_machine *m, const struct emu_group *group)
{
	struct emu_races *const r = m->races;
	const uint32_t first = (uint32_t)(group->id * m->exec.group_wavefronts);

	for (unsigned unscoped = 0; r && unscoped <= r->scopes && !m->error; unscoped++) {
		const vclock known = known_to_group(m, first, unscoped);

		for (unsigned n = 0; n < m->exec.group_wavefronts * EMU_LANES && !m->error; n++) {
			struct party *const party = party_of(m, first + n / EMU_LANES);

			if (party) {
				vclock *const clock =
					&(unscoped ? party->unscoped : party->ordered)[n % EMU_LANES];

				vclock_drop(&r->clocks, *clock);
				*clock = vclock_keep(known);
				party->since[n % EMU_LANES] = r->time + 1;
			}
		}
		vclock_drop(&r->clocks, known);
	}
	if (r) {
		r->released = true;
		finish_instruction(m);
	}
}

void races_kernel_barrier(struct nvw_machine *m)
{
	struct emu_races *const r = m->races;

	if (r) {
		forget_order(r);
		for (uint32_t i = 1; i <= r->cells.count; i++) {
			struct cell *const c = cell_at(r, i);

			c->reads = c->writes = c->syncs = c->count = 0;
			c->prune_at = PRUNE_MIN;
		}
	}
}

void races_group_finish(struct nvw_machine *m, const struct emu_group *group)
{
	struct emu_races *const r = m->races;
	const uint64_t first = group->id * m->exec.group_wavefronts;

	for (uint64_t i = first; r && i < first + m->exec.group_wavefronts; i++) {
		struct party *const party = r->parties[i];

		for (unsigned lane = 0; party && lane < EMU_LANES; lane++) {
			vclock_drop(&r->clocks, party->ordered[lane]);
			vclock_drop(&r->clocks, party->unscoped[lane]);
		}
		free(party);
		r->parties[i] = NULL;
	}
}

void races_launch(struct nvw_machine *m)
{
	struct emu_races *const r = m->races;

	if (!r) {
		return;
	}
	forget_order(r);
	pool_reset(&r->cells);
	memset(r->table, 0, (r->table_mask + 1) * sizeof *r->table);
	free(r->parties);
	free(r->domain_of);
	r->wavefronts = m->exec.groups * m->exec.group_wavefronts;
	r->parties = calloc(r->wavefronts, sizeof *r->parties);
	r->domain_of = calloc(r->wavefronts, sizeof *r->domain_of);
	if (!r->parties || !r->domain_of) {
		r->wavefronts = 0;
		out_of_memory(m);
	}
	vclock_reset(&r->clocks, r->wavefronts);
}

/* ---- A detector's life --------------------------------------------------------------------------------- */

int emu_check_races(struct nvw_machine *m, enum emu_race_model model)
{
	const bool scopes = model == EMU_RACES_HRF || (model == EMU_RACES_CLAIMED && m->protocol->scopes != EMU_SCOPES_WIDENED);
	struct emu_races *const r = calloc(1, sizeof *r);

	assert(m->exec.number == 0 && !m->races);
	m->races = r;
	if (!r || !grow_table(r) || !grow_whats(r) || !grow_recent(r)) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a race check");
	}
	r->scopes = scopes;
	r->remote = scopes && m->protocol->scopes == EMU_SCOPES_PROMOTED;
	r->by_cu = scopes && m->protocol->local_scope == COH_LOCAL_CU;
	r->accesses.row_bytes = sizeof(struct access);
	r->syncs.row_bytes = sizeof(struct sync);
	r->domains.row_bytes = sizeof(struct domain);
	r->cells.row_bytes = sizeof(struct cell);
	r->report.model = !scopes	  ? "DRF" :
			  r->remote ? "HRF-indirect with remote scopes" :
			  r->by_cu  ? "HRF-indirect, work-group scope is that of the CU" :
				      "HRF-indirect";
	return 0;
}

const struct emu_race_report *emu_races(const struct nvw_machine *m)
{
	return m->races ? &m->races->report : NULL;
}

void races_finish(struct nvw_machine *m)
{
	struct emu_races *const r = m->races;

	if (!r) {
		return;
	}
	for (uint64_t i = 0; i < r->wavefronts; i++) {
		free(r->parties[i]);
	}
	vclock_finish(&r->clocks);
	free(r->accesses.rows);
	free(r->syncs.rows);
	free(r->domains.rows);
	free(r->cells.rows);
	free(r->table);
	free(r->recent);
	free(r->parties);
	free(r->domain_of);
	free(r->whats);
	free(r->what_table);
	free(r);
	m->races = NULL;
}
