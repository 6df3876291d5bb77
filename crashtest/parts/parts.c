/* SPDX-License-Identifier: BSD-3-Clause */
/* A check in parts. See parts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <check/check.h>

#include "core/order.h"

#include "../group.h"
#include "part_view.h"
#include "parts.h"
#include "pool/layout.h"

enum { KINDS = 5 };

struct ct_parts {
	const struct nvw_workload *workload;
	void *plan;
	const struct ct_plain_parts *plain; /* instead of the workload's */
	struct ct_part_view view;
	struct nvw_findings findings;
	struct room {
		uint64_t owners, each; /* streams or chunks, and how many parts each of them has */
	} room[KINDS];                 /* of each kind of recovery's parts, in the order of its metadata */
	uint64_t of_recovery;          /* all of them */
	struct ct_array trouble;       /* struct ct_part_trouble */
	struct ct_parts_count count;
};

/* ---- One part ----------------------------------------------------------------------------------------- */

static int look_at_entry(struct ct_parts *p, uint64_t i, uint64_t stream, nvw_off *ret_off)
{
	struct rec_entry entry;

	*ret_off = nvw__entry_off(&p->view.geometry, (uint32_t)stream, (uint32_t)i);
	return rec_through_entry(&p->view.through, (uint32_t)stream, (uint32_t)i, &entry);
}

static int look_at_stream(struct ct_parts *p, uint64_t stream, uint64_t unused, nvw_off *ret_off)
{
	NVW_INVARIANT(stream < p->view.geometry.streams);
	*ret_off = nvw__est_off(&p->view.geometry, (uint32_t)stream);
	return rec_through_stream(&p->view.through, (uint32_t)stream);
}

static int look_at_chunk(struct ct_parts *p, uint64_t chunk, uint64_t unused, nvw_off *ret_off)
{
	NVW_INVARIANT(chunk < p->view.geometry.chunk_count);
	*ret_off = nvw__chunk_word_off(&p->view.geometry, chunk);
	return rec_through_chunk(&p->view.through, chunk);
}

/* The word at this place of a class chunk may be no block word. */
static int look_at_block(struct ct_parts *p, uint64_t i, uint64_t chunk, nvw_off *ret_off)
{
	const nvw_off off = nvw__chunk_off(&p->view.geometry, chunk) + 8 * i;
	uint64_t word;

	*ret_off = off;
	return rec_through_is_block_word(&p->view.through, off) ?
		       rec_through_block(&p->view.through, off, &word) :
		       0;
}

/* The headers, which no run changes. */
static int look_at_header(struct ct_parts *p, uint64_t unused, uint64_t likewise, nvw_off *ret_off)
{
	ct_part_view_fetch_before(&p->view, 0, NVW__ROOTS_OFF);
	p->view.is_wide = ct_choices_forks(&p->view.choices) > 0;
	return 0;
}

/* The parts of nvw_recover(). look() fails where recovery does, at *ret_off. */
static const struct kind {
	const char *name;
	int (*look)(struct ct_parts *p, uint64_t i, uint64_t of, nvw_off *ret_off);
} kinds[KINDS] = {
	{"undo log entry %llu of stream %llu", look_at_entry},
	{"stream %llu", look_at_stream},
	{"chunk %llu", look_at_chunk},
	{"block word %llu of chunk %llu", look_at_block},
	{"the header", look_at_header},
};

/* The kind of one of them: it is number *ret_i of *ret_of. */
static const struct kind *kind_of(const struct ct_parts *p, uint64_t part, uint64_t *ret_i, uint64_t *ret_of)
{
	unsigned k = 0;

	NVW_INVARIANT(part < p->of_recovery);
	for (; part >= p->room[k].owners * p->room[k].each; k++) {
		part -= p->room[k].owners * p->room[k].each;
	}
	*ret_i = part % p->room[k].each;
	*ret_of = part / p->room[k].each;
	return &kinds[k];
}

static int check_recovery(struct ct_parts *p, uint64_t part)
{
	uint64_t i, of;
	nvw_off off = 0;

	if (kind_of(p, part, &i, &of)->look(p, i, of, &off) != 0) {
		return nvw_violation(&p->findings, off, "recovery refuses the pool: %s", nvw_error_message());
	}
	return 0;
}

static int check_plain(struct ct_parts *p, uint64_t part)
{
	const struct ct_asking image = {p->view.before.words, ct_part_view_fetch_before, &p->view};

	return p->plain->check(p->plain->context, &image, &p->view.acks, part, &p->findings);
}

static int check_part(struct ct_parts *p, uint64_t part)
{
	NVW_INVARIANT(part < p->count.parts);
	if (p->plain) {
		return check_plain(p, part);
	}
	if (part < p->of_recovery) {
		return check_recovery(p, part);
	}
	return p->workload->parts->check(
		p->plan, p->view.after.pool, &p->view.acks, part - p->of_recovery, &p->findings);
}

/* True if the part finds nothing. */
static bool evaluate(struct ct_parts *p, uint64_t part)
{
	ct_part_view_begin(&p->view);
	nvw__findings_clear(&p->findings);
	p->count.evaluations++;
	const int error = check_part(p, part);

	if (error != 0 && p->findings.count == 0) {
		nvw_violation(&p->findings, 0, "a part of the check gives up: %s", nvw_error_message());
	}
	return p->findings.count == 0;
}

static void note_width(struct ct_parts *p, uint64_t part, unsigned forks)
{
	if (forks > p->count.most_forks) {
		p->count.most_forks = forks;
		p->count.widest = part;
	}
}

/* Texts that differ in numbers alone are one shape. */
uint64_t ct_parts_shape(const struct nvw_findings *findings, unsigned i)
{
	NVW_INVARIANT(i < findings->count);
	return ct_shape_hash(i < findings->kept ? findings->finding[i].text : "");
}

static struct ct_part_trouble try_part(struct ct_parts *p, uint64_t part)
{
	struct ct_part_trouble t = {.part = part, .verdict = CT_PART_PASSES};
	/* A step among closed sets costs several times as much. */
	const uint32_t most = ct_model_info(p->view.medium->rules.model)->levels == CT_GRAPH ?
				      CT_PART_EVALUATIONS_CLOSED :
				      CT_PART_EVALUATIONS;

	NVW_INVARIANT(part < p->count.parts);
	ct_watch_try(&p->view.watch, (uint32_t)part);
	p->count.tries++;
	ct_choices_begin(&p->view.choices, p->view.medium);
	do {
		const bool passes = evaluate(p, part);
		const unsigned forks = ct_choices_forks(&p->view.choices);

		t.forks = MAX(t.forks, forks);
		if (p->view.is_wide || p->view.choices.too_many || t.evaluation == most) {
			t.verdict = CT_PART_WIDE;
		} else if (!passes) {
			t.verdict = CT_PART_FAILS;
			t.shape = ct_parts_shape(&p->findings, 0);
		} else {
			t.evaluation++;
		}
	} while (t.verdict == CT_PART_PASSES && ct_choices_next(&p->view.choices));
	note_width(p, part, t.forks);
	return t;
}

/* ---- All parts ---------------------------------------------------------------------------------------- */

/* Forgets the answers of the parts that are tried now; those of the others stay. */
static void forget_trouble(struct ct_parts *p, const uint32_t *tried, uint64_t count)
{
	struct ct_part_trouble *const t = p->trouble.at;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < p->trouble.count && count > 0; i++) {
		const uint32_t part = (uint32_t)t[i].part;

		if (!bsearch(&part, tried, count, sizeof part, nvw_by_u32)) {
			t[kept++] = t[i];
		}
	}
	if (count > 0) {
		p->trouble.count = kept;
	}
}

static int note_trouble(struct ct_parts *p, const struct ct_part_trouble *t)
{
	return CT_ADD(&p->trouble, t);
}

uint64_t ct_parts_crowd(const struct ct_parts *p)
{
	const struct ct_medium *const m = p->view.medium;

	return p->view.choices.closed.before.too_many ? m->flight_count - m->flight_head : 0;
}

int ct_parts_try(struct ct_parts *p, void (*began)(void *context, uint64_t part), void *context)
{
	const uint32_t *tried;
	const int error = ct_part_view_changed(&p->view);

	/* Who is awake stays so. */
	if (error || ct_parts_crowd(p) > 0) {
		return error;
	}
	const uint64_t count = ct_watch_take(&p->view.watch, &tried);

	forget_trouble(p, tried, count);
	for (uint64_t i = 0; i < count && !p->view.error; i++) {
		if (began) {
			began(context, tried[i]);
		}
		const struct ct_part_trouble t = try_part(p, tried[i]);

		if (t.verdict != CT_PART_PASSES) {
			p->view.error = note_trouble(p, &t);
		}
	}
	if (p->trouble.count > 1) {
		qsort(p->trouble.at, p->trouble.count, sizeof(struct ct_part_trouble), nvw_by_u64);
	}
	return p->view.error;
}

uint64_t ct_parts_troubles(const struct ct_parts *p, const struct ct_part_trouble **ret_troubles)
{
	*ret_troubles = p->trouble.at;
	return p->trouble.count;
}

bool ct_parts_remake(struct ct_parts *p, uint64_t part, uint32_t evaluation, struct nvw_findings *findings,
	unsigned *levels)
{
	uint32_t n = 0;

	NVW_INVARIANT(part < p->count.parts);
	if (ct_choices_changed(&p->view.choices, p->view.medium)) {
		return false;
	}
	p->view.unwatched = true;
	ct_choices_begin(&p->view.choices, p->view.medium);
	evaluate(p, part);
	while (n < evaluation && ct_choices_next(&p->view.choices)) {
		evaluate(p, part);
		n++;
	}
	p->view.unwatched = false;
	*findings = p->findings;
	ct_choices_state(&p->view.choices, levels);
	return n == evaluation;
}

const struct ct_parts_count *ct_parts_count(const struct ct_parts *p)
{
	return &p->count;
}

void ct_parts_name(const struct ct_parts *p, uint64_t part, char ret_name[CT_PART_NAME])
{
	uint64_t i, of;

	NVW_INVARIANT(part < p->count.parts);
	if (p->plain) {
		p->plain->name(p->plain->context, part, ret_name, CT_PART_NAME);
	} else if (part < p->of_recovery) {
		const struct kind *const kind = kind_of(p, part, &i, &of);

		snprintf(ret_name, CT_PART_NAME, kind->name, (unsigned long long)i, (unsigned long long)of);
	} else {
		p->workload->parts->name(p->plan, part - p->of_recovery, ret_name, CT_PART_NAME);
	}
}

/* ---- A life ------------------------------------------------------------------------------------------- */

void ct_parts_free(struct ct_parts *p)
{
	if (!p) {
		return;
	}
	ct_part_view_free(&p->view);
	free(p->trouble.at);
	free(p);
}

static void number_parts(struct ct_parts *p)
{
	const struct nvw_pool_geometry *const g = &p->view.geometry;

	if (p->plain) {
		p->count.parts = p->plain->count(p->plain->context);
		return;
	}
	const struct room rooms[KINDS] = {{g->streams, g->log_entries}, {1, g->streams}, {1, g->chunk_count},
		{g->chunk_count, nvw__class_blocks[0]}, {1, 1}};

	memcpy(p->room, rooms, sizeof rooms);
	NVW_EACH_IN(room, rooms) {
		p->of_recovery += room->owners * room->each;
	}
	p->count.parts = p->of_recovery + p->workload->parts->count(p->plan, g);
}

static int create_view(struct ct_parts *p, struct ct_medium *m)
{
	if (p->plain) {
		return ct_part_view_create_plain(m, &p->view);
	}
	return ct_part_view_create(m, p->workload->parts->key, p->plan, &p->view);
}

static int fill_parts(struct ct_parts *p, struct ct_medium *m)
{
	NVW_TRY(create_view(p, m));
	number_parts(p);
	NVW_FAIL_IF(p->count.parts > UINT32_MAX / 2, NVW_E_USAGE, "a check of more than 2^31 parts");
	return ct_part_view_watch(&p->view, p->count.parts);
}

static int make_parts(const struct ct_parts *of, struct ct_medium *m, struct ct_parts **ret_parts)
{
	struct ct_parts *const p = malloc(sizeof *p);

	NVW_ALLOCATED(p, "no memory for a check in parts");
	*p = *of;
	const int error = fill_parts(p, m);

	if (error) {
		ct_parts_free(p);
		return error;
	}
	*ret_parts = p;
	return 0;
}

static bool has_one_pool(const struct nvw_workload *w, const void *plan)
{
	struct nvw_pool_params params[NVW_POOLS_MAX] = {{0}};

	return !w->further_pools || w->further_pools(plan, params) == 0;
}

static bool can_be_had(const struct nvw_workload *w, const void *plan, const struct ct_medium *m)
{
	return w && w->parts && has_one_pool(w, plan) && !m->rules.limits && !m->rules.mixed &&
	       (ct_model_info(m->rules.model)->of_runs || ct_model_info(m->rules.model)->replays) &&
	       m->image.bytes >= NVW__ROOTS_OFF && m->image.bytes % CT_PAGE == 0;
}

int ct_parts_create(
	const struct nvw_workload *w, void *plan, struct ct_medium *m, struct ct_parts **ret_parts)
{
	*ret_parts = NULL;
	if (!can_be_had(w, plan, m)) {
		return 0;
	}
	const struct ct_parts of = {.workload = w, .plan = plan};

	return make_parts(&of, m, ret_parts);
}

/* True for a host program's models in which a state is any combination, or a number of stores. */
static bool can_be_plain(const struct ct_medium *m)
{
	return !m->rules.limits && !m->rules.mixed &&
	       (ct_model_info(m->rules.model)->axioms & (CT_A(LINE) | CT_A(AT_ONCE)));
}

int ct_parts_create_plain(
	const struct ct_plain_parts *plain, struct ct_medium *m, struct ct_parts **ret_parts)
{
	*ret_parts = NULL;
	if (!plain || !can_be_plain(m)) {
		return 0;
	}
	const struct ct_parts of = {.plain = plain};

	return make_parts(&of, m, ret_parts);
}

int ct_parts_of(const struct ct_exploration *e, struct ct_medium *m, struct ct_parts **ret_parts)
{
	return e->plain_parts ? ct_parts_create_plain(e->plain_parts, m, ret_parts) :
				ct_parts_create(e->in_parts, e->plan, m, ret_parts);
}

/* ---- For tests ---------------------------------------------------------------------------------------- */

void ct_parts_noise(struct ct_parts *p, uint64_t seed)
{
	p->view.seed = seed;
}

void ct_parts_crowd_beyond(struct ct_parts *p, uint64_t bytes)
{
	p->view.choices.closed.before.most_bytes = bytes;
}

void ct_parts_walk(
	struct ct_parts *p, void (*tried)(void *context, const struct ct_tried *tried), void *context)
{
	p->view.unwatched = true;
	NVW_FOR(part, p->count.parts) {
		struct ct_tried t = {.part = part};

		ct_choices_begin(&p->view.choices, p->view.medium);
		do {
			t.passes = evaluate(p, part);
			t.forks = ct_choices_forks(&p->view.choices);
			t.wide = p->view.is_wide || p->view.choices.too_many;
			tried(context, &t);
		} while (t.evaluation++ < CT_PART_EVALUATIONS && ct_choices_next(&p->view.choices));
	}
	p->view.unwatched = false;
}

bool ct_parts_hold(const struct ct_parts *p, const unsigned *levels)
{
	return ct_choices_hold(&p->view.choices, levels);
}

bool ct_parts_recovered(struct ct_parts *p, nvw_off off, const unsigned *levels, uint64_t *ret_word)
{
	ct_part_view_begin(&p->view);
	p->view.levels = levels;
	*ret_word = nvw_pool_word(p->view.after.pool, off);
	p->view.levels = NULL;
	return !p->view.is_wide;
}
