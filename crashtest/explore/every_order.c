/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every order, by source sets and sleep sets. See every_order.h.
 *
 * A *frame* is a step of the last run and what is known of the state before it: who can go, who has gone
 * there (with what its step did), who is to go there, and who sleeps: whoever goes there would only repeat an
 * order that was run. A run repeats the frames up to the last one in which somebody is still to go, lets this
 * one go, and then chooses freely among those who do not sleep.
 *
 * After a run each pair of its steps that conflict, with no step between them in the order that they must
 * have, is a race: in an order in which the second step comes first, somebody has to go in the frame of the
 * first step. It is enough that one of those goes who can begin that order (a source set).
 *
 * What happens before what is kept in vector clocks, of the steps of each wavefront.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/text_stream.h"
#include "core/zeroed.h"

#include "../judge/process.h"
#include "../table.h"
#include "every_order.h"

enum {
	WAVEFRONTS = EMU_ASKED_MAX,
	STEPS_MAX = 1 << 15,
	ACCESSES_MAX = 1 << 18,
	IN_A_ROW_MAX = 1 << 10, /* steps of one wavefront, when others could go as well */
	MODES = 5
};

/* What a step does to its word, or to NVRAM as a whole. */
enum mode { READS, CHANGES, STORES, PERSISTS, ACKS };

struct access {
	uint64_t word;
	bool changes;
};

struct step {
	uint32_t kernel, first, count; /* its accesses */
	uint8_t wavefront, persists;
	uint64_t can_go, posted, asleep; /* before it */
};

/* Written by the run. */
struct trace {
	uint32_t steps, accesses;
	bool is_redundant, is_too_long, differs;
	struct step step[STEPS_MAX];
	struct access access[ACCESSES_MAX];
};

/* What a step that was taken in a frame did. */
struct foot {
	struct foot *next;
	uint8_t wavefront, persists;
	uint32_t count;
	struct access access[];
};

struct frame {
	uint8_t wavefront;
	uint64_t can_go, posted, asleep, done, wanted;
	struct foot *feet; /* of those that are done */
};

struct clock {
	/* Steps of the wavefront that happened before: the number of the last one, plus 1. */
	uint32_t of[WAVEFRONTS];
};

/* The last step of each wavefront that did so to a word. */
struct last {
	uint64_t word;
	uint32_t of[WAVEFRONTS][2]; /* by READS, CHANGES: number plus 1; 0: none */
};

/* The steps that a step conflicts with: of each wavefront the last ones. */
struct before {
	uint32_t count;
	uint64_t capacity;
	uint32_t *step;
};

struct ct_orders {
	struct emu_asker asker;
	bool reduced, is_whole;
	struct trace *trace;
	struct frame *frames;
	uint64_t frame_capacity;
	uint32_t depth; /* frames that the next run repeats; the last of them is new */
	/* The run has these: who sleeps, and what their steps do. */
	uint64_t asleep;
	const struct foot *foot[WAVEFRONTS];
	uint32_t in_a_row;
	/* The run that is looked at has these. */
	struct clock *clocks;
	uint64_t clock_capacity;
	struct ct_table words; /* struct last */
	uint32_t persisted[WAVEFRONTS][MODES];
	struct before before;
};

/* ---- Conflicts ----------------------------------------------------------------------------------------- */

static unsigned bit_of(enum mode mode)
{
	static const unsigned bits[MODES] = {
		[STORES] = EMU_STEP_STORES, [PERSISTS] = EMU_STEP_BARRIER, [ACKS] = EMU_STEP_ACK};

	NVW_DEEP_INVARIANT(mode < NVW_COUNT(bits));
	return bits[mode];
}

/* Do two modes of one word, or of NVRAM, conflict? */
static bool do_conflict(enum mode a, enum mode b)
{
	static const bool table[MODES][MODES] = {
		[READS] = {[CHANGES] = true},
		[CHANGES] = {[READS] = true, [CHANGES] = true},
		[STORES] = {[PERSISTS] = true},
		[PERSISTS] = {[STORES] = true, [ACKS] = true},
		[ACKS] = {[PERSISTS] = true},
	};

	NVW_DEEP_INVARIANT(a < NVW_COUNT(table));
	return table[a][b];
}

static bool persists_conflict(unsigned a, unsigned b)
{
	for (enum mode i = STORES; i <= ACKS; i++) {
		for (enum mode k = STORES; k <= ACKS; k++) {
			if ((a & bit_of(i)) != 0 && (b & bit_of(k)) != 0 && do_conflict(i, k)) {
				return true;
			}
		}
	}
	return false;
}

static bool meets_access(const struct trace *t, const struct step *s, const struct access *a)
{
	NVW_FOR(k, s->count) {
		const struct access *const b = &t->access[s->first + k];

		if (a->word == b->word && (a->changes || b->changes)) {
			return true;
		}
	}
	return false;
}

static bool conflicts(const struct foot *f, const struct trace *t, const struct step *s)
{
	NVW_EACH(one, f->access, f->count) {
		if (meets_access(t, s, one)) {
			return true;
		}
	}
	return persists_conflict(f->persists, s->persists);
}

/* ---- In the run ---------------------------------------------------------------------------------------- */

static struct step *last_step(struct trace *t)
{
	if (t->steps > 0) {
		return &t->step[t->steps - 1];
	}
	return NULL;
}

/* Whoever's step conflicts with the last one wakes up. */
static void wake(struct ct_orders *o, uint32_t kernel)
{
	const struct step *const s = last_step(o->trace);

	if (!s || s->kernel != kernel) {
		o->asleep = 0;
		return;
	}
	NVW_EACH_BIT(wavefront, o->asleep) {
		if (wavefront == s->wavefront || conflicts(o->foot[wavefront], o->trace, s)) {
			o->asleep &= ~(UINT64_C(1) << wavefront);
		}
	}
}

/* As few switches as possible. */
static unsigned choose_freely(struct ct_orders *o, uint64_t who)
{
	const struct step *const s = last_step(o->trace);

	if (s && (who >> s->wavefront & 1) != 0 && ++o->in_a_row < IN_A_ROW_MAX) {
		return s->wavefront;
	}
	o->in_a_row = 0;
	if (s) {
		const uint64_t others = who & ~(UINT64_C(1) << s->wavefront);
		const uint64_t behind = others & ~((UINT64_C(2) << s->wavefront) - 1);

		who = NVW_OR(behind, NVW_OR(others, who));
	}
	return (unsigned)__builtin_ctzll(who);
}

static void take(struct trace *t, uint32_t kernel, unsigned wavefront, uint64_t can_go, uint64_t posted,
	uint64_t asleep)
{
	t->step[t->steps++] = (struct step){.kernel = kernel,
		.first = t->accesses,
		.wavefront = (uint8_t)wavefront,
		.can_go = can_go,
		.posted = posted,
		.asleep = asleep};
}

static void begin(void *context)
{
	struct trace *const t = ((struct ct_orders *)context)->trace;

	t->steps = t->accesses = 0;
	t->is_redundant = t->is_too_long = t->differs = false;
}

static unsigned choose(void *context, uint32_t kernel, uint64_t can_go, uint64_t posted)
{
	struct ct_orders *const o = context;
	struct trace *const t = o->trace;
	const uint32_t i = t->steps;
	unsigned wavefront;

	if (i == STEPS_MAX || t->accesses + WAVEFRONTS >= ACCESSES_MAX) {
		t->is_too_long = true;
		return WAVEFRONTS;
	}
	if (i >= o->depth) {
		wake(o, kernel);
		t->is_redundant = (can_go & ~o->asleep) == 0;
		if (t->is_redundant) {
			return WAVEFRONTS;
		}
		wavefront = choose_freely(o, can_go & ~o->asleep);
		take(t, kernel, wavefront, can_go, posted, o->asleep);
		return wavefront;
	}
	wavefront = o->frames[i].wavefront;
	t->differs =
		(can_go >> wavefront & 1) == 0 || (o->frames[i].can_go != 0 && o->frames[i].can_go != can_go);
	if (t->differs) {
		return WAVEFRONTS;
	}
	take(t, kernel, wavefront, can_go, posted, o->frames[i].asleep);
	return wavefront;
}

static void note_access(void *context, uint64_t word, bool changes)
{
	struct trace *const t = ((struct ct_orders *)context)->trace;
	struct step *const s = last_step(t);

	/* Lanes of a step access at most as many words as there is room for. */
	if (s && t->accesses < ACCESSES_MAX) {
		t->access[t->accesses++] = (struct access){word, changes};
		s->count++;
	}
}

static void note_persist(void *context, unsigned what)
{
	struct step *const s = last_step(((struct ct_orders *)context)->trace);

	if (s) {
		s->persists |= (uint8_t)what;
	}
}

/* ---- Frames -------------------------------------------------------------------------------------------- */

static void free_feet(struct frame *f)
{
	while (f->feet) {
		struct foot *const next = f->feet->next;

		free(f->feet);
		f->feet = next;
	}
}

static int add_frames(struct ct_orders *o)
{
	const struct trace *const t = o->trace;

	NVW_GROWN(o->frames, o->frame_capacity, t->steps, "no memory for orders of %u steps", t->steps);
	for (uint32_t i = o->depth; i < t->steps; i++) {
		const struct step *const s = &t->step[i];

		o->frames[i] = (struct frame){.wavefront = s->wavefront,
			.can_go = s->can_go,
			.posted = s->posted,
			.asleep = s->asleep,
			.wanted = o->reduced ? UINT64_C(1) << s->wavefront : s->can_go};
	}
	return 0;
}

/* The frame's wavefront has gone. */
static int finish(struct ct_orders *o, uint32_t i)
{
	NVW_DEEP_INVARIANT(i < o->frame_capacity);

	const struct step *const s = &o->trace->step[i];
	struct frame *const f = &o->frames[i];
	struct foot *const foot = malloc(sizeof *foot + s->count * sizeof *foot->access);

	NVW_ALLOCATED(foot, "no memory for a step's accesses");
	*foot = (struct foot){
		.next = f->feet, .wavefront = s->wavefront, .persists = s->persists, .count = s->count};
	memcpy(foot->access, &o->trace->access[s->first], s->count * sizeof *foot->access);
	f->feet = foot;
	f->done |= UINT64_C(1) << f->wavefront;
	return 0;
}

/* What the step of one who sleeps in a frame does: as where it has gone last. */
static const struct foot *foot_of(const struct ct_orders *o, uint32_t i, unsigned wavefront)
{
	for (;; i--) {
		for (const struct foot *f = o->frames[i].feet; f; f = f->next) {
			if (f->wavefront == wavefront) {
				return f;
			}
		}
		NVW_INVARIANT(i > 0);
	}
}

/* Who sleeps behind the new step of the last frame, but for those that it wakes. */
static void put_to_sleep(struct ct_orders *o)
{
	const struct frame *const f = &o->frames[o->depth - 1];

	o->asleep = o->reduced ? f->asleep | f->done : 0;
	NVW_EACH_BIT(wavefront, o->asleep) {
		o->foot[wavefront] = foot_of(o, o->depth - 1, wavefront);
	}
}

/* 1: the last frame in which somebody is still to go has this one now; 0: there is none. */
static int go_back(struct ct_orders *o)
{
	for (uint32_t i = o->trace->steps; i-- > 0;) {
		struct frame *const f = &o->frames[i];

		const uint64_t gone = f->done | UINT64_C(1) << f->wavefront;
		const uint64_t left = f->wanted & f->can_go & ~gone & ~f->asleep;

		if (left != 0) {
			NVW_TRY(finish(o, i));
			f->wavefront = (uint8_t)__builtin_ctzll(left);
			o->depth = i + 1;
			put_to_sleep(o);
			return 1;
		}
		free_feet(f);
	}
	o->depth = 0;
	return 0;
}

/* ---- What happens before what -------------------------------------------------------------------------- */

static void forget(struct ct_orders *o)
{
	ct_table_clear(&o->words, sizeof(struct last));
	memset(o->persisted, 0, sizeof o->persisted);
}

static void join(struct clock *c, const struct clock *other)
{
	NVW_FOR(w, WAVEFRONTS) {
		c->of[w] = nvw_max(c->of[w], other->of[w]);
	}
}

static int add_before(struct before *b, uint32_t last)
{
	NVW_EACH(step, b->step, b->count) {
		if (*step + 1 == last) {
			return 0;
		}
	}
	if (last == 0) {
		return 0;
	}
	NVW_GROWN(b->step, b->capacity, b->count + 1, "no memory for the conflicts of a step");
	b->step[b->count++] = last - 1;
	return 0;
}

static int find_before_word(struct ct_orders *o, const struct step *s, const struct access *a)
{
	struct last *l;

	NVW_TRY(ct_table_take(&o->words, sizeof *l, a->word, &l));
	NVW_FOR(w, WAVEFRONTS) {
		if (w == s->wavefront) {
			continue;
		}
		NVW_TRY(add_before(&o->before, l->of[w][CHANGES]));
		if (a->changes) {
			NVW_TRY(add_before(&o->before, l->of[w][READS]));
		}
	}
	return 0;
}

static int find_before_mode(struct ct_orders *o, const struct step *s, unsigned wavefront)
{
	for (enum mode m = STORES; m <= ACKS; m++) {
		if (persists_conflict(s->persists, bit_of(m))) {
			NVW_TRY(add_before(&o->before, o->persisted[wavefront][m]));
		}
	}
	return 0;
}

static int find_before_persist(struct ct_orders *o, const struct step *s)
{
	for (unsigned w = 0; w < WAVEFRONTS && s->persists != 0; w++) {
		if (w != s->wavefront) {
			NVW_TRY(find_before_mode(o, s, w));
		}
	}
	return 0;
}

static int find_before(struct ct_orders *o, const struct step *s)
{
	o->before.count = 0;
	NVW_FOR(i, s->count) {
		NVW_TRY(find_before_word(o, s, &o->trace->access[s->first + i]));
	}
	return find_before_persist(o, s);
}

static int note_step(struct ct_orders *o, const struct step *s, uint32_t number)
{
	struct last *l;

	NVW_FOR(i, s->count) {
		const struct access *const a = &o->trace->access[s->first + i];

		NVW_TRY(ct_table_take(&o->words, sizeof *l, a->word, &l));
		l->of[s->wavefront][a->changes ? CHANGES : READS] = number + 1;
	}
	for (enum mode m = STORES; m <= ACKS; m++) {
		if ((s->persists & bit_of(m)) != 0) {
			o->persisted[s->wavefront][m] = number + 1;
		}
	}
	return 0;
}

/* ---- Races --------------------------------------------------------------------------------------------- */

static bool is_before(const struct ct_orders *o, uint32_t first, const struct clock *c)
{
	NVW_DEEP_INVARIANT(first < NVW_COUNT(o->trace->step));
	return c->of[o->trace->step[first].wavefront] > first;
}

/* Who can begin an order in which step `second` comes before step `first`: of each wavefront the first step
 * that need not come behind `first`, unless one of the others must come before it. */
static uint64_t initials(const struct ct_orders *o, uint32_t first, uint32_t second)
{
	uint32_t begins[WAVEFRONTS] = {0}; /* number of its first step there, plus 1 */
	uint64_t who = 0;

	for (uint32_t k = first + 1; k <= second; k++) {
		const unsigned me = o->trace->step[k].wavefront;
		bool follows = false;

		if ((k < second && is_before(o, first, &o->clocks[k])) || begins[me] != 0) {
			continue;
		}
		for (unsigned w = 0; w < WAVEFRONTS && !follows; w++) {
			follows = begins[w] != 0 && o->clocks[k].of[w] >= begins[w];
		}
		begins[me] = k + 1;
		who |= (uint64_t)!follows << me;
	}
	return who;
}

static void want(struct ct_orders *o, uint32_t first, uint32_t second)
{
	NVW_DEEP_INVARIANT(first < o->frame_capacity);
	NVW_DEEP_INVARIANT(second < NVW_COUNT(o->trace->step));

	struct frame *const f = &o->frames[first];
	const uint64_t begin = initials(o, first, second), who = begin & f->can_go;
	const unsigned its = o->trace->step[second].wavefront;

	if ((who & f->wanted) != 0) {
		return;
	}
	if (who != 0) {
		f->wanted |= who >> its & 1 ? UINT64_C(1) << its : who & -who;
	} else if ((begin & ~f->posted) != 0) {
		f->wanted |= f->can_go; /* not foreseen: who had no step there has one first; all then */
	}
	/* Else only those who wait there can begin: they would look again, and see the same. */
}

static bool is_before_conflict(const struct ct_orders *o, uint32_t first)
{
	return NVW_ANY(step, o->before.step, o->before.count,
		*step != first && is_before(o, first, &o->clocks[*step]));
}

/* Whether nothing must come between them. */
static bool is_race(const struct ct_orders *o, uint32_t first, const struct clock *own)
{
	return !is_before(o, first, own) && !is_before_conflict(o, first);
}

/* What happened before each wavefront's next step, apart from conflicts: its own steps, and barriers. */
struct threads {
	struct clock next[WAVEFRONTS];
};

static int look_at_step(struct ct_orders *o, uint32_t number, uint32_t from, struct threads *threads)
{
	const struct step *const s = &o->trace->step[number];
	struct clock *const c = &o->clocks[number], *const own = &threads->next[s->wavefront];
	const struct before *const b = &o->before;

	NVW_INVARIANT(number < o->trace->steps);
	NVW_TRY(find_before(o, s));
	*c = *own;
	NVW_EACH(step, b->step, b->count) {
		join(c, &o->clocks[*step]);
	}
	c->of[s->wavefront] = number + 1;
	for (uint32_t i = 0; i < b->count && number >= from; i++) {
		if (is_race(o, b->step[i], own)) {
			want(o, b->step[i], number);
		}
	}
	*own = *c;
	return note_step(o, s, number);
}

/* Wavefronts that had no step before this one, and have one behind it, were let go by a barrier: all steps of
 * those that meet there come before what follows it. */
static void open_barriers(const struct step *s, const struct step *next, struct threads *threads)
{
	const uint64_t opened = next->posted & ~s->posted;
	struct clock all = {{0}};

	if (opened == 0) {
		return;
	}
	NVW_FOR(w, WAVEFRONTS) {
		if (w == s->wavefront || (opened >> w & 1) != 0) {
			join(&all, &threads->next[w]);
		}
	}
	NVW_FOR(w, WAVEFRONTS) {
		if (w == s->wavefront || (opened >> w & 1) != 0) {
			join(&threads->next[w], &all);
		}
	}
}

/* Races of which the second step is new. */
static int find_races(struct ct_orders *o)
{
	const struct trace *const t = o->trace;
	const uint32_t from = o->depth > 0 ? o->depth - 1 : 0;
	struct threads threads = {0};

	NVW_GROWN(o->clocks, o->clock_capacity, t->steps, "no memory for the clocks of %u steps", t->steps);
	forget(o);
	NVW_FOR(i, t->steps) {
		if (i > 0 && t->step[i].kernel != t->step[i - 1].kernel) {
			forget(o);
			memset(&threads, 0, sizeof threads);
		} else if (i > 0) {
			open_barriers(&t->step[i - 1], &t->step[i], &threads);
		}
		NVW_TRY(look_at_step(o, i, from, &threads));
	}
	return 0;
}

/* ---- The whole ----------------------------------------------------------------------------------------- */

int ct_orders_next(struct ct_orders *o)
{
	NVW_FAIL_IF(o->trace->differs || o->trace->steps < o->depth, NVW_E_USAGE,
		"every order: the program did not do the same again at step %u", o->trace->steps);
	o->is_whole &= !o->trace->is_too_long;
	NVW_TRY(add_frames(o));
	if (o->reduced) {
		NVW_TRY(find_races(o));
	}
	o->in_a_row = 0;
	return go_back(o);
}

bool ct_orders_is_redundant(const struct ct_orders *o)
{
	return o->trace->is_redundant;
}

bool ct_orders_is_cut(const struct ct_orders *o)
{
	return o->trace->is_too_long;
}

uint64_t ct_orders_steps(const struct ct_orders *o)
{
	return o->trace->steps;
}

bool ct_orders_is_whole(const struct ct_orders *o)
{
	return o->is_whole;
}

const struct emu_asker *ct_orders_asker(const struct ct_orders *o)
{
	return &o->asker;
}

int ct_orders_create(bool reduced, bool persists, struct ct_orders **ret)
{
	struct ct_orders *const o = calloc(1, sizeof *o);
	void *const trace = ct_shared_memory(sizeof *o->trace);

	if (!o || !trace) {
		free(o);
		return nvw_fail(NVW_E_MEMORY, "no memory for the orders of wavefronts");
	}
	*o = (struct ct_orders){.reduced = reduced,
		.is_whole = true,
		.trace = trace,
		.asker = {.context = o,
			.persists = persists,
			.begin = begin,
			.choose = choose,
			.access = note_access,
			.persist = note_persist}};
	*ret = o;
	return 0;
}

static void free_frames(struct ct_orders *o)
{
	NVW_EACH(frame, o->frames, o->depth) {
		free_feet(frame);
	}
	free(o->frames);
}

void ct_orders_destroy(struct ct_orders *o)
{
	if (!o) {
		return;
	}
	free_frames(o);
	nvw__unmap(o->trace, sizeof *o->trace);
	free(o->clocks);
	free(o->words.at);
	free(o->before.step);
	free(o);
}

/* ---- As text ------------------------------------------------------------------------------------------- */

char *ct_orders_text(const struct ct_orders *o)
{
	const struct trace *const t = o->trace;
	struct text_stream text;

	if (!text_begin(&text)) {
		return NULL;
	}
	for (uint32_t i = 0, k; i < t->steps; i = k) {
		for (k = i; k < t->steps && t->step[k].wavefront == t->step[i].wavefront; k++) {
		}
		fprintf(text.to, "%s%u*%u", i > 0 ? " " : "", t->step[i].wavefront, k - i);
	}
	return text_end(&text);
}

int ct_orders_follow(struct ct_orders *o, const char *text)
{
	unsigned wavefront, count;
	int used;

	for (o->depth = 0; sscanf(text, " %u*%u%n", &wavefront, &count, &used) == 2; text += used) {
		NVW_FAIL_IF(wavefront >= WAVEFRONTS || count > STEPS_MAX - o->depth ||
				    !NVW_ROOM(o->frames, o->frame_capacity, o->depth + count),
			NVW_E_DAMAGED, "no order of steps: \"%.20s\"", text);
		while (count-- > 0) {
			o->frames[o->depth++] = (struct frame){.wavefront = (uint8_t)wavefront};
		}
	}
	return 0;
}
