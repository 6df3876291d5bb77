/* SPDX-License-Identifier: BSD-3-Clause */
/* Generation: machine, variables, steps. See torture_program.h for why the programs are race-free. */

#include <stdarg.h>
#include <string.h>

#include <observe/names.h>
#include <nvw/random.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"
#include "torture_program.h"

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

static unsigned drawn(struct nvw_random *random, unsigned bound)
{
	return (unsigned)nvw_random_below(random, bound);
}

static unsigned below(struct generator *g, unsigned bound)
{
	return drawn(&g->random, bound);
}

static bool chance(struct generator *g, unsigned percent)
{
	return below(g, 100) < percent;
}

/* ---- The machine --------------------------------------------------------------------------- */

struct torture_promises torture_promises_of(const char *protocol)
{
	const enum emu_scopes scopes = emu_protocol_scopes(protocol);

	return (struct torture_promises){
		.scopes = scopes != EMU_SCOPES_WIDENED,
		.remote = scopes != EMU_SCOPES_KEPT,
	};
}

__attribute__((format(printf, 2, 3))) static int set(struct torture_program *p, const char *format, ...)
{
	const size_t n = strlen(p->machine);
	char setting[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(setting, sizeof setting, format, arguments);
	va_end(arguments);
	snprintf(p->machine + n, sizeof p->machine - n, "%s%s", n > 0 ? " " : "", setting);
	return emu_config_set(&p->config, setting);
}

/* A key whose value is drawn: a word, or least and up to bound - 1 more, or as many times doubled. */
struct draw {
	const char *key;
	const char *const *words;
	unsigned least, bound;
	bool doubled;
	const char *unit;
};
#define SUM(key, least, bound, unit)                 \
	{                                            \
		key, NULL, least, bound, false, unit \
	}
#define DOUBLED(key, least, bound, unit)            \
	{                                           \
		key, NULL, least, bound, true, unit \
	}
#define WORD(key, words)                                   \
	{                                                  \
		key, words, 0, NVW_COUNT(words), false, "" \
	}

static int draw_key(struct torture_program *p, struct nvw_random *random, const struct draw *draw)
{
	const unsigned n = drawn(random, draw->bound);

	if (draw->words) {
		return set(p, "%s=%s", draw->key, draw->words[n]);
	}
	return set(p, "%s=%u%s", draw->key, draw->doubled ? draw->least << n : draw->least + n, draw->unit);
}

static int draw_keys(
	struct torture_program *p, struct nvw_random *random, const struct draw *draws, unsigned count)
{
	NVW_EACH(draw, draws, count) {
		NVW_TRY(draw_key(p, random, draw));
	}
	return 0;
}
#define DRAW(p, random, draws) draw_keys((p), (random), (draws), NVW_COUNT(draws))

/* Small caches and FIFOs, so that rare events happen often. */
static int draw_machine(struct generator *g)
{
	static const char *const domains[] = {"device", "device", "adr", "eadr"};
	static const char *const topologies[] = {"crossbar", "mesh", "torus"};
	static const char *const replacements[] = {"auto", "lru", "registered-last"};
	static const struct draw cus[] = {SUM("gpu.cus", 1, 6, "")};
	static const struct draw caches[] = {
		DOUBLED("l1.size", 256, 4, "B"),
		DOUBLED("l1.ways", 1, 3, ""),
		SUM("l1.sfifo", 1, 8, ""),
		SUM("l1.nvw_fifo", 1, 8, ""),
		WORD("l1.replacement", replacements),
		DOUBLED("l2.size", 1024, 5, "B"),
		DOUBLED("l2.ways", 1, 3, ""),
		DOUBLED("l2.banks", 1, 3, ""),
		SUM("l2.sfifo", 1, 8, ""),
		SUM("l2.nvw_fifo", 1, 8, ""),
		WORD("l2.replacement", replacements),
		WORD("network.topology", topologies),
	};
	static const struct draw nvram[] = {WORD("nvram.domain", domains), SUM("nvram.queue", 1, 8, "")};
	struct torture_program *const p = g->p;

	p->machine[0] = 0;
	p->config.seed = 0;
	if (chance(g, 75)) {
		p->config.seed = nvw_random_u64(&g->random) >> 32;
	}
	NVW_TRY(DRAW(p, &g->random, cus));
	NVW_TRY(set(p, "gpu.wavefront_width=%u", chance(g, 80) ? 1 + below(g, 4) : 8));
	NVW_TRY(DRAW(p, &g->random, caches));
	NVW_TRY(set(p, "network.banks=%s", chance(g, 50) ? "apart" : "beside"));
	return DRAW(p, &g->random, nvram);
}

/* Called when the L2 is known: buffered epochs need two ways of it. */
static int draw_model(struct generator *g)
{
	static const char *const models[] = {"epoch", "buffered-epoch"};
	struct torture_program *const p = g->p;
	const bool buffered = chance(g, 50) && p->config.l2.ways > 1;

	NVW_TRY(set(p, "persist.model=%s", models[buffered]));
	NVW_TRY(set(p, "persist.check=on"));
	return set(p, "dram.size=1MiB");
}

/* Later additions are drawn separately, so that the programs of a seed do not change. */
static struct nvw_random drawn_apart(uint64_t seed)
{
	return (struct nvw_random){nvw_mix64(seed ^ 0x6f7074696f6e73)};
}

static int draw_store_buffer(struct torture_program *p, struct nvw_random *random)
{
	static const char *const orders[] = {"fifo", "unordered"};
	static const char *const loads[] = {"forward", "pass", "wait"};
	static const struct draw buffer[] = {SUM("store_buffer.entries", 1, 4, ""),
		WORD("store_buffer.order", orders), WORD("store_buffer.loads", loads)};

	if (drawn(random, 4) || p->config.model == EMU_MODEL_strict) {
		return 0;
	}
	return DRAW(p, random, buffer);
}

/* Few and narrow bands, short epochs, and queues that are often full. */
static int draw_turns(struct torture_program *p, struct nvw_random *random)
{
	static const struct draw bits[] = {SUM("stc.bits", 1, 3, "")};
	static const struct draw turns[] = {SUM("stc.seb", 6, 3, ""), SUM("stc.at_once", 1, 3, ""),
		SUM("stc.wakeup", 1, 40, "cycles"), SUM("stc.bsq", 1, 6, "")};

	NVW_TRY(DRAW(p, random, bits));
	NVW_TRY(set(p, "stc.seb_least=6"));
	return DRAW(p, random, turns);
}

/* Leases that end early and late; but where time decides, a work-item that polls must not do so too long for
 * one of them. */
static int draw_leases(struct torture_program *p, uint64_t seed)
{
	struct nvw_random random = drawn_apart(seed + UINT64_C(0x6c6561736573));

	NVW_TRY(set(p, "tcs.lease=%ucycles", 5u << drawn(&random, p->schedule ? 10 : 6)));
	NVW_TRY(set(p, "tcs.most=%ucycles", p->schedule ? 8000 : 160));
	NVW_TRY(set(p, "tcs.step=%ucycles", drawn(&random, 40)));
	return set(p, "tcs.mshrs=%u", 8u << drawn(&random, 3));
}

/* Options of machines: store buffers, a bound on loads in flight, an L3. */
static int draw_options(struct torture_program *p, uint64_t seed)
{
	static const char *const splits[] = {"off", "on"};
	static const struct draw loads[] = {SUM("gpu.loads", 1, 4, "")};
	static const struct draw l3[] = {DOUBLED("l3.size", 2048, 3, "B"), DOUBLED("l3.ways", 1, 3, ""),
		SUM("l3.sfifo", 1, 8, ""), WORD("l3.split", splits)};
	struct nvw_random random = drawn_apart(seed);

	NVW_TRY(draw_store_buffer(p, &random));
	if (drawn(&random, 2)) {
		NVW_TRY(DRAW(p, &random, loads));
	}
	if (drawn(&random, 4) == 0) {
		NVW_TRY(DRAW(p, &random, l3));
	}
	return draw_turns(p, &random);
}

/* Every second machine of a protocol with a directory has one of its own, of a few entries. */
static int draw_directory(struct torture_program *p, uint64_t seed)
{
	struct nvw_random random = drawn_apart(seed + UINT64_C(0x6469726563));
	const unsigned ways = 1u << drawn(&random, 3);

	if (!emu_protocol_has_owners(p->config.protocol) || !drawn(&random, 2)) {
		return 0;
	}
	NVW_TRY(set(p, "directory.ways=%u", ways));
	NVW_TRY(set(p, "directory.lines=%u", ways << drawn(&random, 7)));
	return set(p, "directory.mshrs=%u", 1u << drawn(&random, 4));
}

/* Where caches are apart, write caches of a few lines. */
static int draw_write_caches(struct torture_program *p, uint64_t seed)
{
	const unsigned least = (unsigned)emu_model_info(p->config.model)->l2_ways;
	const struct draw caches[] = {DOUBLED("l1.write_size", 256, 3, "B"),
		DOUBLED("l1.write_ways", 1, 3, ""), DOUBLED("l2.write_size", 512, 4, "B"),
		DOUBLED("l2.write_ways", NVW_OR(least, 1), 2, "")};
	struct nvw_random random = drawn_apart(seed + 1);

	return emu_protocol_is_apart(p->config.protocol) ? DRAW(p, &random, caches) : 0;
}

/* Every second machine has a consistency model if its protocol lets it. */
static int draw_consistency(struct torture_program *p, uint64_t seed)
{
	static const char *const of[] = {"sc-simple", "sc-wb", "tso", "rmo"};
	struct nvw_random random = drawn_apart(seed + UINT64_C(0x636f6e736973));
	const unsigned model = drawn(&random, 8);

	if (model >= NVW_COUNT(of) || !emu_protocol_has_owners(p->config.protocol) ||
		p->config.model == EMU_MODEL_strict) {
		return 0;
	}
	return set(p, "gpu.consistency=%s", of[model]);
}

/* Every third load is issued and used later. */
static void draw_issued(struct torture_program *p, uint64_t seed)
{
	struct nvw_random random = drawn_apart(~seed);

	NVW_EACH(op, p->ops, p->op_count) {
		op->is_issued = drawn(&random, 3) == 0 && op->kind == NVW__LOAD;
	}
}

static int apply(struct torture_program *p)
{
	for (const char *const *setting = p->settings; setting && *setting; setting++) {
		NVW_TRY(emu_config_set(&p->config, *setting));
	}
	return 0;
}

static int apply_checked(struct torture_program *p)
{
	NVW_TRY(apply(p));
	return emu_config_check(&p->config);
}

static unsigned wavefronts_per_group(const struct torture_program *p)
{
	const unsigned width = (unsigned)p->config.wavefront_width;

	return (p->group_size + width - 1) / width;
}

/* Number of work-groups, and whether all of them are resident. */
static int draw_groups(struct generator *g)
{
	struct torture_program *const p = g->p;
	const unsigned cus = (unsigned)p->config.cus;

	p->groups = 1 + below(g, chance(g, 30) ? 4 * cus : cus + 2);
	p->groups = (unsigned)nvw_min(p->groups, TORTURE_GROUPS_MAX);
	p->group_size = 1 + below(g, TORTURE_GROUP_SIZE_MAX);
	p->crowded = p->groups > cus && chance(g, 20);
	p->schedule = below(g, 3);
	return set(p, "gpu.wavefronts_per_cu=%u",
		wavefronts_per_group(p) * (p->crowded ? 1 : (p->groups + cus - 1) / cus));
}

/* Settings may leave less room than was drawn. */
static bool is_crowded(const struct torture_program *p)
{
	return p->config.wavefronts_per_cu / wavefronts_per_group(p) * p->config.cus < p->groups;
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

static unsigned group_of(const struct torture_program *p, unsigned work_item)
{
	return work_item / p->group_size;
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

	NVW_EACH(kind, kinds, NVW_COUNT(kinds)) {
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

	if (s->group == (int)group_of(g->p, step->work_item)) {
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
	       (s->style == TORTURE_STEAL || s->group < 0 || s->group == (int)group_of(p, work_item));
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

/* ---- Links --------------------------------------------------------------------------------- */

static void widen(const struct torture_program *p, struct torture_sync *sync)
{
	if (p->promises.scopes) {
		sync->scope = (uint8_t)nvw_max(sync->scope, NVW_SCOPE_AGENT);
	}
}

/* b follows a in a set whose steps take turns: the first step of the next work-item waits for a word written
 * by the last. */
static void link_turn(struct torture_program *p, struct torture_step *a, struct torture_step *b)
{
	const unsigned slot = p->sets[b->set].slot, group = group_of(p, a->work_item);
	const bool local = group == group_of(p, b->work_item);

	if (a->work_item == b->work_item) {
		return;
	}
	a->release.variable = b->acquire.variable = local ? p->local_turn[slot][group] : p->turn[slot];
	a->release.tag = b->acquire.tag = (uint16_t)(a - p->steps + 1);
	if (!local) {
		widen(p, &a->release);
		widen(p, &b->acquire);
	}
}

static bool step_is_valid(const struct torture_program *p, const struct torture_step *s)
{
	return s->first_op + s->op_count <= p->op_count && s->set < (int)p->set_count &&
	       s->work_item < p->groups * p->group_size;
}

static bool variable_is_valid(const struct torture_program *p, const struct torture_variable *v)
{
	return v->line < p->line_count && v->offset + v->size <= 64 && v->offset % v->size == 0;
}

bool torture_program_is_valid(const struct torture_program *p)
{
	bool is_valid = p->groups <= TORTURE_GROUPS_MAX && p->group_size <= TORTURE_GROUP_SIZE_MAX;

	NVW_EACH(step, p->steps, p->step_count) {
		is_valid &= step_is_valid(p, step);
	}
	NVW_EACH(op, p->ops, p->op_count) {
		is_valid &= op->variable < p->variable_count;
	}
	NVW_EACH(v, p->variables, p->variable_count) {
		is_valid &= variable_is_valid(p, v);
	}
	return is_valid;
}

/* The steps of the program before the one that is linked. */
struct links {
	struct torture_step *last[TORTURE_PHASES_MAX * TORTURE_SLOTS]; /* of each set that takes turns */
	uint32_t tickets[TORTURE_SLOTS];
	unsigned sets; /* sets with a step so far; they are in the order of their phases */
};

static void begin_sets(struct torture_program *p, struct links *links, int until)
{
	for (; (int)links->sets <= until; links->sets++) {
		struct torture_set *const s = &p->sets[links->sets];

		s->tickets_before = links->tickets[s->slot];
	}
}

static void link_ticket(struct torture_program *p, const struct torture_set *s, struct torture_step *step)
{
	step->acquire.variable = p->ticket[s->slot];
	if (s->group < 0) {
		widen(p, &step->acquire);
	}
}

static void link_step(struct torture_program *p, struct links *links, struct torture_step *step)
{
	const struct torture_set *const s = &p->sets[step->set];
	struct torture_step **const last = &links->last[step->set];

	if (s->style == TORTURE_TICKET) {
		link_ticket(p, s, step);
		links->tickets[s->slot]++;
	} else if (s->style == TORTURE_TURN) {
		step->acquire.variable = step->release.variable = TORTURE_NONE;
		if (*last) {
			link_turn(p, *last, step);
		}
		*last = step;
	}
}

void torture_link(struct torture_program *p)
{
	struct links links = {0};

	NVW_EACH(step, p->steps, p->step_count) {
		begin_sets(p, &links, step->set);
		if (step->set >= 0 && !step->removed) {
			link_step(p, &links, step);
		}
	}
}

/* The options of the machine that may depend on its protocol and model. */
static int draw_additions(struct torture_program *p)
{
	NVW_TRY(draw_options(p, p->seed));
	NVW_TRY(draw_write_caches(p, p->seed));
	NVW_TRY(draw_consistency(p, p->seed));
	NVW_TRY(draw_directory(p, p->seed));
	return apply_checked(p);
}

static int draw_configuration(struct generator *g)
{
	struct torture_program *const p = g->p;

	NVW_TRY(draw_machine(g));
	NVW_TRY(apply(p));
	NVW_TRY(draw_model(g));
	NVW_TRY(apply(p)); /* they may name the model */
	NVW_TRY(draw_additions(p));
	NVW_TRY(draw_groups(g));
	NVW_TRY(draw_leases(p, p->seed));
	return apply_checked(p);
}

int torture_generate(
	struct torture_program *p, const char *protocol, uint64_t seed, const char *const *settings)
{
	struct generator g = {.p = p, .random = {nvw_mix64(seed ^ 0x6d616368696e65)}};

	memset(p, 0, sizeof *p);
	p->seed = seed;
	p->promises = torture_promises_of(protocol);
	p->settings = settings;
	emu_config_default(&p->config);
	NVW_PRINT(p->config.protocol, "%s", protocol);
	NVW_TRY(draw_configuration(&g));
	p->crowded = p->crowded || is_crowded(p);
	g.random.state = nvw_mix64(seed ^ 0x70726f6772616d);
	draw_variables(&g);
	draw_steps(&g);
	draw_issued(p, seed);
	torture_link(p);
	return 0;
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void name_in_slot(const struct torture_program *p, unsigned variable, unsigned slot, char buffer[24])
{
	enum { TEXT = 24 };
	const struct {
		const char *name;
		unsigned variable;
	} of_slot[] = {{"lock", p->lock[slot]}, {"turn", p->turn[slot]}, {"ticket", p->ticket[slot]}};

	NVW_EACH(one, of_slot, NVW_COUNT(of_slot)) {
		if (variable == one->variable) {
			snprintf(buffer, TEXT, "%s%u", one->name, slot);
		}
	}
	NVW_FOR(group, p->groups) {
		if (variable == p->local_turn[slot][group]) {
			snprintf(buffer, TEXT, "turn%u.%u", slot, group);
		}
	}
}

const char *torture_variable_name(const struct torture_program *p, unsigned variable, char buffer[24])
{
	NVW_INVARIANT(variable < p->variable_count && p->data_count <= p->variable_count);
	snprintf(buffer, 24, "d%u", variable);
	for (unsigned slot = 0; variable >= p->data_count && slot < TORTURE_SLOTS; slot++) {
		name_in_slot(p, variable, slot, buffer);
	}
	return buffer;
}

static const char *const styles[] = {
#define X(name, text) text,
	TORTURE_STYLES(X)
#undef X
};

static void print_sync(
	const struct torture_program *p, const char *what, const struct torture_sync *sync, FILE *to)
{
	char name[24];

	if (sync->variable >= 0) {
		fprintf(to, " %s %s (%s, %s, %u);", what,
			torture_variable_name(p, (unsigned)sync->variable, name),
			emu_order_names[sync->order], emu_scope_names[sync->scope], sync->how);
	}
}

static void print_op(const struct torture_program *p, const struct torture_step *step,
	const struct torture_op *op, FILE *to)
{
	char name[24] = "its own";

	if (op->kind == NVW__P_BARRIER) {
		fprintf(to, " persist barrier;");
		return;
	}
	if (step->set < 0 || p->sets[step->set].style != TORTURE_TICKET) {
		torture_variable_name(p, op->variable, name);
	}
	fprintf(to, " %s%s %s", op->is_issued ? "issued " : "", emu_kind_names[op->kind], name);
	if (op->kind >= NVW__ATOMIC_LOAD) {
		fprintf(to, " (%s, %s)", emu_order_names[op->order], emu_scope_names[op->scope]);
	}
	putc(';', to);
}

static void print_meeting(const struct torture_step *step, FILE *to)
{
	fprintf(to, "%s of ", step->persist ? "persist barrier" : "barrier");
	if (step->group < 0) {
		fputs("the kernel", to);
	} else {
		fprintf(to, "work-group %d", step->group);
	}
}

static void print_subject(const struct torture_program *p, const struct torture_step *step, FILE *to)
{
	switch (step->kind) {
	case TORTURE_LAUNCH:
		fprintf(to, "launch: %u work-groups of %u", p->groups, p->group_size);
		break;
	case TORTURE_HOST:
		fputs("host:", to);
		break;
	case TORTURE_MEET:
		print_meeting(step, to);
		break;
	case TORTURE_ACCESS:
		fprintf(to, "work-item %u of group %u, %s:", step->work_item, group_of(p, step->work_item),
			styles[p->sets[step->set].style]);
	}
}

static void print_step(const struct torture_program *p, const struct torture_step *step, FILE *to)
{
	fprintf(to, "  %3u ", (unsigned)(step - p->steps));
	print_subject(p, step, to);
	print_sync(p, "acquire", &step->acquire, to);
	NVW_EACH(op, p->ops + step->first_op, step->op_count) {
		print_op(p, step, op, to);
	}
	print_sync(p, "release", &step->release, to);
	putc('\n', to);
}

static void print_line(const struct torture_program *p, unsigned line, FILE *to)
{
	char name[24];

	fprintf(to, " %s %u", p->lines[line].is_nvram ? "NVRAM" : "DRAM", p->lines[line].number);
	NVW_FOR(i, p->variable_count) {
		const struct torture_variable *const v = &p->variables[i];

		if (v->line == line) {
			fprintf(to, " %s@%u:%u", torture_variable_name(p, i, name), v->offset, v->size);
		}
	}
}

static void print_settings(const char *const *setting, FILE *to)
{
	fputs("  but:", to);
	for (; *setting; setting++) {
		fprintf(to, " %s", *setting);
	}
	putc('\n', to);
}

void torture_print(const struct torture_program *p, FILE *to)
{
	fprintf(to, "  machine: %s, seed %llu, schedule %u\n", p->machine, (unsigned long long)p->config.seed,
		p->schedule);
	if (p->settings && *p->settings) {
		print_settings(p->settings, to);
	}
	fputs("  lines:", to);
	NVW_FOR(line, p->line_count) {
		fputs(line > 0 ? ";" : "", to);
		print_line(p, line, to);
	}
	putc('\n', to);
	NVW_EACH(step, p->steps, p->step_count) {
		if (!step->removed) {
			print_step(p, step, to);
		}
	}
}
