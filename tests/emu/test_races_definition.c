/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The race detector against a second definition: plain clocks, and random programs that race where the
 * definition says so.
 */
#include "common/rig.h"

#include <nvw/random.h>

#include "protocol/protocol.h"
#include "races/races.h"
#include "races/vclock.h"

#define WI    NVW_SCOPE_WORKITEM
#define WG    NVW_SCOPE_WORKGROUP
#define AGENT NVW_SCOPE_AGENT
#define FAR   NVW_SCOPE_REMOTE_AGENT

/* ---- Clocks -------------------------------------------------------------------------------------------- */

enum { CLOCKS = 8, WAVEFRONTS = 40, LANES = 64 };

static void assert_equal_clocks(
	const struct vclock_pool *pool, vclock clock, uint32_t plain[WAVEFRONTS][LANES])
{
	NVW_FOR(w, WAVEFRONTS) {
		NVW_FOR(lane, LANES) {
			const uint64_t bit = UINT64_C(1) << lane;

			assert_int_equal(vclock_unknown(pool, clock, w, bit, plain[w][lane]), 0);
			assert_int_equal(vclock_unknown(pool, clock, w, bit, plain[w][lane] + 1), bit);
		}
	}
}

TEST(shared_clocks_are_the_same_as_plain_ones)
{
	static uint32_t plain[CLOCKS][WAVEFRONTS][LANES];
	struct nvw_random random = {7};
	struct vclock_pool pool = {0};
	vclock clocks[CLOCKS];

	vclock_reset(&pool, WAVEFRONTS);
	NVW_EACH(clock, clocks, CLOCKS) {
		*clock = VCLOCK_NONE;
	}
	for (uint32_t time = 1; time < 4000; time++) {
		const unsigned a = (unsigned)nvw_random_below(&random, CLOCKS),
			       b = (unsigned)nvw_random_below(&random, CLOCKS);
		const uint32_t w = (uint32_t)nvw_random_below(&random, WAVEFRONTS);
		const uint64_t lanes =
			time % 3 ? UINT64_C(1) << nvw_random_below(&random, LANES) : UINT64_MAX;
		const bool joins = nvw_random_below(&random, 2);
		const vclock made = joins ? vclock_join(&pool, clocks[a], clocks[b]) :
					    vclock_mark(&pool, clocks[a], w, lanes, time);

		for (unsigned i = 0; joins && i < WAVEFRONTS * LANES; i++) {
			uint32_t *const to = &plain[a][i / LANES][i % LANES];
			const uint32_t from = plain[b][i / LANES][i % LANES];

			*to = *to > from ? *to : from;
		}
		for (unsigned lane = 0; !joins && lane < LANES; lane++) {
			plain[a][w][lane] = lanes >> lane & 1 ? time : plain[a][w][lane];
		}
		vclock_drop(&pool, clocks[a]);
		clocks[a] = made;
		if (time % 50 == 0) {
			assert_equal_clocks(&pool, clocks[a], plain[a]);
		}
	}
	NVW_FOR(i, CLOCKS) {
		assert_equal_clocks(&pool, clocks[i], plain[i]);
		vclock_drop(&pool, clocks[i]);
	}
	assert_false(pool.failed);
	vclock_finish(&pool);
}

/* ---- Against the definition ---------------------------------------------------------------------------- */

/*
 * The definition: every work-item has a whole vector clock (two, with and without scopes), all accesses are
 * kept, and an acquire goes through every release of the release sequence that it reads.
 */
enum {
	GROUPS = 3,
	GROUP_WAVEFRONTS = 2,
	ACTIVE = 3,
	ITEMS = GROUPS * GROUP_WAVEFRONTS * ACTIVE,
	PLACES = 4,
	STEPS = 70
};

struct plain_clock {
	uint32_t of[ITEMS];
};

struct seen {
	unsigned item, place, line;
	uint32_t time;
	uint8_t mask;
	bool atomic, write, fence;
	enum nvw_scope scope;
};

struct definition {
	bool scopes, remote, by_cu;
	struct plain_clock knows[2][ITEMS]; /* [1]: without scopes */
	struct seen seen[STEPS * ACTIVE];
	unsigned seen_count;
	struct {
		struct seen by;
		struct plain_clock clock[2];
	} released[STEPS * ACTIVE];
	unsigned released_count;
};

static unsigned group_of_item(unsigned item)
{
	return item / (GROUP_WAVEFRONTS * ACTIVE);
}

/* Groups 0 and 1 share a CU. */
static bool near(const struct definition *d, unsigned a, unsigned b)
{
	return group_of_item(a) == group_of_item(b) ||
	       (d->by_cu && group_of_item(a) < 2 && group_of_item(b) < 2);
}

static bool includes(const struct definition *d, enum nvw_scope scope, unsigned a, unsigned b)
{
	return a == b || scope >= AGENT || (scope == WG && near(d, a, b));
}

static bool both_include(const struct definition *d, const struct seen *x, const struct seen *y)
{
	if (!d->scopes || x->item == y->item) {
		return true;
	}
	if (d->remote && (x->scope >= FAR || y->scope >= FAR)) {
		return x->scope != WI && y->scope != WI;
	}
	return includes(d, x->scope, x->item, y->item) && includes(d, y->scope, y->item, x->item);
}

static bool overlap(const struct seen *x, const struct seen *y)
{
	return x->place == y->place && (x->mask & y->mask);
}

static void learn_plain(struct plain_clock *to, const struct plain_clock *from)
{
	NVW_FOR(i, ITEMS) {
		to->of[i] = to->of[i] > from->of[i] ? to->of[i] : from->of[i];
	}
}

static bool unordered(const struct definition *d, const struct seen *x, const struct seen *y, unsigned which)
{
	return d->knows[which][y->item].of[x->item] < x->time;
}

static bool is_race(const struct definition *d, const struct seen *x, const struct seen *y)
{
	return x->item != y->item && overlap(x, y) && (x->write || y->write) &&
	       !(x->atomic && y->atomic && both_include(d, x, y)) && unordered(d, x, y, 0);
}

/* The access happens; returns with how many earlier ones it races. */
static unsigned happens(struct definition *d, struct seen y, enum nvw_order order, bool rmw)
{
	unsigned races = 0, kept = 0;

	for (unsigned i = 0; y.atomic && (rmw || !y.write) && order != NVW_RELAXED && order != NVW_RELEASE &&
			     i < d->released_count;
		i++) {
		if (overlap(&d->released[i].by, &y)) {
			learn_plain(&d->knows[1][y.item], &d->released[i].clock[1]);
			if (both_include(d, &d->released[i].by, &y)) {
				learn_plain(&d->knows[0][y.item], &d->released[i].clock[0]);
			}
		}
	}
	if (y.fence) {
		return 0; /* is no access, and what follows it releases */
	}
	y.time = ++d->knows[0][y.item].of[y.item];
	d->knows[1][y.item].of[y.item] = y.time;
	NVW_EACH(seen, d->seen, d->seen_count) {
		races += is_race(d, seen, &y);
	}
	d->seen[d->seen_count++] = y;
	NVW_EACH(released, d->released, d->released_count) {
		if (!y.write || rmw || !overlap(&released->by, &y)) {
			d->released[kept++] = *released;
		}
	}
	d->released_count = kept;
	if (y.atomic && y.write && order != NVW_RELAXED && order != NVW_ACQUIRE) {
		d->released[kept].by = y;
		d->released[kept].clock[0] = d->knows[0][y.item];
		d->released[kept].clock[1] = d->knows[1][y.item];
		d->released_count++;
	}
	return races;
}

static void group_meets(struct definition *d, unsigned group)
{
	NVW_EACH(know, d->knows, 2) {
		struct plain_clock all = {{0}};

		NVW_FOR(i, ITEMS) {
			if (group_of_item(i) == group) {
				learn_plain(&all, &(*know)[i]);
			}
		}
		NVW_FOR(i, ITEMS) {
			if (group_of_item(i) == group) {
				(*know)[i] = all;
			}
		}
	}
}

/* A machine whose work-items are made up: what they do is shown to the detector and to the definition. */
struct stage {
	struct rig rig;
	struct emu_slot slots[GROUPS];
	struct emu_group groups[GROUPS];
	struct emu_wavefront wavefronts[GROUPS][GROUP_WAVEFRONTS];
	struct nvw_site sites[STEPS];
	uint64_t *memory;
};

static void set_stage(struct stage *s, const char *protocol, enum emu_race_model model)
{
	struct nvw_machine *const m = s->rig.machine;

	races_finish(m);
	m->protocol = coh_protocol_find(protocol);
	rig_ok(emu_check_races(m, model));
	m->exec.name = "made up";
	m->exec.groups = GROUPS;
	m->exec.group_size = GROUP_WAVEFRONTS * LANES;
	m->exec.group_wavefronts = GROUP_WAVEFRONTS;
	NVW_FOR(g, GROUPS) {
		s->slots[g].cu = &m->cus[g / 2];
		s->groups[g] = (struct emu_group){.id = g, .slot = &s->slots[g]};
		NVW_FOR(w, GROUP_WAVEFRONTS) {
			s->wavefronts[g][w].group = &s->groups[g];
			s->wavefronts[g][w].first_local = w * LANES;
		}
	}
	races_launch(m);
}

/*
 * One random instruction of some lanes; returns the races that the definition sees. Orderly programs
 * synchronize much, have atomics at two of the places and data at the others. Of the atomic loads and stores
 * a third is that of a fence.
 */
static unsigned act(
	struct stage *s, struct definition *d, struct nvw_random *random, unsigned step, bool orderly)
{
	static const unsigned kinds[] = {NVW__LOAD, NVW__STORE, NVW__ATOMIC_LOAD, NVW__ATOMIC_STORE, NVW__ADD,
		NVW__COMPARE_EXCHANGE, NVW__ATOMIC_LOAD, NVW__ADD, NVW__ADD, NVW__ADD};
	static const enum nvw_scope scopes[] = {
		WI, WG, WG, AGENT, AGENT, AGENT, FAR, AGENT, AGENT, AGENT, AGENT, AGENT, AGENT, AGENT};
	const unsigned kind = kinds[nvw_random_below(random, orderly ? 10 : 6)],
		       g = (unsigned)nvw_random_below(random, GROUPS);
	const unsigned w = (unsigned)nvw_random_below(random, GROUP_WAVEFRONTS);
	const enum nvw_order order = orderly ? NVW_ACQ_REL : (enum nvw_order)nvw_random_below(random, 5);
	const enum nvw_scope scope = scopes[nvw_random_below(random, orderly ? 14 : 7)];
	const unsigned log2_size = orderly ? 3 : 2 + (unsigned)nvw_random_below(random, 2);
	const uint64_t lanes = orderly ? UINT64_C(1) << nvw_random_below(random, ACTIVE) :
					 1 + nvw_random_below(random, (1 << ACTIVE) - 1);
	const bool of_fence = step % 3 == 0 && (kind == NVW__ATOMIC_LOAD || kind == NVW__ATOMIC_STORE);
	const unsigned first_place = orderly && kind <= NVW__STORE ? 2 : 0, places = orderly ? 2 : PLACES - 1;
	struct emu_wavefront *const wf = &s->wavefronts[g][w];
	unsigned races = 0;

	s->sites[step] = (struct nvw_site){.file = "made-up.c", .function = "made_up", .line = step + 1};
	NVW_FOR(lane, ACTIVE) {
		const unsigned place = first_place + (unsigned)nvw_random_below(random, places),
			       half = (unsigned)nvw_random_below(random, 2);
		const unsigned offset = log2_size == 3 ? 0 : 4 * half;
		const bool fails = nvw_random_below(random, 3) == 0;

		emu_request_restore(wf, lane,
			(struct emu_saved_request){.address = (uint64_t)(uintptr_t)&s->memory[place] + offset,
				.value = lane,
				.compare = kind == NVW__COMPARE_EXCHANGE ? lane + fails : of_fence,
				.site = &s->sites[step],
				.op = kind | log2_size << 8 | (uint32_t)order << 16 | (uint32_t)scope << 24});
	}
	/*
	 * Lanes that store do so one after the other as far as synchronization goes; data have no order among
	 * lanes.
	 */
	NVW_EACH_BIT(lane, lanes) {
		const struct nvw__request *const r = emu_request(wf, lane);
		const unsigned at = (unsigned)(r->address - (uint64_t)(uintptr_t)s->memory);
		const bool failed = kind == NVW__COMPARE_EXCHANGE && r->compare != r->value;

		races += happens(d,
			(struct seen){.item = (g * GROUP_WAVEFRONTS + w) * ACTIVE + lane,
				.place = at / 8,
				.line = step + 1,
				.mask = (uint8_t)(((1u << (1u << log2_size)) - 1) << at % 8),
				.atomic = kind >= NVW__ATOMIC_LOAD,
				.write = kind != NVW__LOAD && kind != NVW__ATOMIC_LOAD && !failed,
				.fence = of_fence,
				.scope = scope},
			order, kind == NVW__ADD || kind == NVW__COMPARE_EXCHANGE);
	}
	races_access(s->rig.machine, wf, lanes);
	return races;
}

static unsigned item_of(const struct emu_race_access *a)
{
	return (unsigned)(a->work_item / LANES * ACTIVE + a->work_item % LANES);
}

static const struct seen *seen_at(const struct definition *d, const struct emu_race_access *a)
{
	unsigned i = 0;

	while (d->seen[i].line != a->site->line || d->seen[i].item != item_of(a)) {
		assert_true(++i < d->seen_count);
	}
	return &d->seen[i];
}

/* A race that has just been told: it is one, and scopes are blamed rightly. */
static void check_told(const struct definition *d, const struct emu_race *race)
{
	const struct seen *const x = seen_at(d, &race->first), *const y = seen_at(d, &race->second);

	assert_true(is_race(d, x, y));
	assert_int_equal(race->kind == EMU_RACE_SCOPES, x->atomic && y->atomic);
	assert_int_equal(
		race->scopes_to_blame, d->scopes && race->kind == EMU_RACE_DATA && !unordered(d, x, y, 1));
	assert_int_equal(race->scopes_to_blame, race->release.site && race->acquire.site);
}

TEST(random_programs_race_where_the_definition_says_so)
{
	static const struct {
		const char *protocol;
		enum emu_race_model model;
		bool scopes, remote, by_cu;
	} table[] = {{"vi", EMU_RACES_CLAIMED, true, false, false},
		{"rsp", EMU_RACES_CLAIMED, true, true, false}, {"gh", EMU_RACES_CLAIMED, true, false, true},
		{"gd", EMU_RACES_CLAIMED, false, false, false}, {"vi", EMU_RACES_DRF, false, false, false}};
	static struct stage s;
	static struct definition d;
	struct nvw_random random = {11};
	unsigned racing = 0, clean = 0, blamed = 0;

	rig_begin(&s.rig, 0, NULL);
	s.memory = nvw_alloc(s.rig.machine, 8 * PLACES);
	NVW_FOR(program, 4000) {
		const unsigned row = program % 5;
		const struct emu_race_report *report;

		set_stage(&s, table[row].protocol, table[row].model);
		report = emu_races(s.rig.machine);
		d = (struct definition){
			.scopes = table[row].scopes, .remote = table[row].remote, .by_cu = table[row].by_cu};
		NVW_FOR(step, STEPS) {
			const uint64_t before = report->races;
			const unsigned listed = report->count, what = (unsigned)nvw_random_below(&random, 12);

			if (what == 0) {
				const unsigned g = (unsigned)nvw_random_below(&random, GROUPS);

				races_group_barrier(s.rig.machine, &s.groups[g]);
				group_meets(&d, g);
			} else {
				const unsigned races = act(&s, &d, &random, step, program & 1);

				assert_int_equal(report->races > before, races > 0);
				racing += races > 0;
				clean += !races;
				for (unsigned i = listed; i < report->count; i++) {
					check_told(&d, &report->race[i]);
					blamed += report->race[i].scopes_to_blame;
				}
			}
		}
	}
	assert_true(racing > 1000 && clean > 1000 && blamed > 30);
	rig_end(&s.rig);
}
