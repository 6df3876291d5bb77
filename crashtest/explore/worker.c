/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a worker. See worker.h. */
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <nvw/random.h>

#include "core/array.h"
#include "core/print.h"
#include "core/search.h"

#include "../parts/parts.h"
#include "../judge/process.h"
#include "export.h"
#include "known.h"
#include "robust.h"
#include "worker.h"

enum {
	WORTH_A_TREE = 32,
	SHAPES_MAX = 64,        /* of an instant's findings */
	CONFIRMATIONS_MAX = 16, /* of an instant's parts that fail */
	GUARDS_LEAST = 32,      /* whole states of a run whose parts all pass, as far as there are so many; */
	GUARDS_MOST = 512,      /* of small pools more */
	GUARDED_BYTES = 1 << 29, /* states times bytes of the pool */
};

struct range {
	const struct ct_exploration *e;
	const struct ct_plan *plan;
	struct ct_medium *medium;
	struct ct_interval *here; /* of the medium's instant */
	struct ct_shared *shared;
	struct ct_failing *failing;
	uint64_t first; /* first instant to test; states of earlier ones are only recorded */
	int error;
	struct nvw_findings findings;
	struct ct_walk walk;
	struct ct_parts *parts; /* of the check; NULL: none */
	uint64_t evaluations;   /* of parts, by earlier workers of the range */
	/* Shapes of what the whole check said at this instant. */
	uint64_t shape[SHAPES_MAX];
	unsigned shapes;
	struct ct_reads reads;
	uint64_t leaves;                /* of the last tree */
	bool failed;                    /* a state failed since the last reset */
	unsigned alike;                 /* states that failed in a row at this instant, none in a new way */
	struct nvw_pool_reads *tracked; /* the image's; detached while recording does not pay */
	struct ct_array pattern;        /* uint64_t per work-item */
	unsigned *levels;
	unsigned level_capacity;
	uint64_t promised_at, promised; /* a key of what the program had promised at an instant (known.h) */
};

static uint64_t key_of(uint64_t state)
{
	return nvw_mix64(state) | 1;
}

/* Where its key is, or belongs. */
static uint64_t *place_of(struct ct_shared *s, uint64_t key)
{
	return &s->seen[NVW_PROBE(i, key >> 1, s->seen_capacity, s->seen[i] == 0 || s->seen[i] == key)];
}

/* True if the state has not been tested before; records it. */
static void forget_if_full(struct ct_shared *s)
{
	if (s->seen_count > s->seen_capacity / 4 * 3) {
		memset(s->seen, 0, s->seen_capacity * sizeof s->seen[0]);
		s->seen_count = 0;
	}
}

static bool is_new(struct ct_shared *s, uint64_t state)
{
	const uint64_t key = key_of(state);
	uint64_t *const place = place_of(s, key);

	if (*place == key) {
		return false;
	}
	*place = key;
	s->seen_count++;
	forget_if_full(s);
	return true;
}

static bool is_said(const struct range *r, uint64_t shape)
{
	return NVW_ANY(said, r->shape, r->shapes, *said == shape);
}

static void note_shape(struct range *r, uint64_t shape)
{
	if (!is_said(r, shape) && r->shapes < SHAPES_MAX) {
		r->shape[r->shapes++] = shape;
	}
}

static void note_shapes(struct range *r)
{
	NVW_FOR(i, r->findings.kept) {
		note_shape(r, ct_parts_shape(&r->findings, i));
	}
}

/* Each kind of finding counts once per state, however many keys it affects. */
static void note_findings(struct range *r)
{
	const uint64_t state = key_of(ct_medium_key(r->medium));
	struct ct_shared *const s = r->shared;
	struct ct_finding f = {
		.states = 1, .first_time_ps = r->medium->time_ps, .instant = s->instant, .draw = s->draw};

	s->failing++;
	note_shapes(r);
	NVW_EACH(v, r->findings.finding, r->findings.kept) {
		if (ct_find_alike(&r->findings, v->text) == v) {
			f.off = v->off;
			NVW_PRINT(f.text, "%s", v->text);
			ct_groups_add_sample(&s->groups, &f, r->medium->newest_site);
			ct_failing_add(r->failing, state, f.text);
		}
	}
}

void ct_worker_note_undecided(struct ct_shared *s, const struct ct_plan *plan, const char *why)
{
	plan->interval[s->instant - 1].undecided++;
	if (s->undecided++ == 0) {
		NVW_PRINT(s->why_undecided, "%s", why);
	}
}

/* True if the state was counted before its worker was killed. A tree is searched again from its first
 * leaf. */
static bool is_counted(const struct range *r, uint64_t draw, bool retried)
{
	const struct ct_shared *s = r->shared;

	return draw < CT_DRAW_LEAF ? retried && s->counted :
				     s->tree == r->medium->instant && draw - CT_DRAW_LEAF < s->leaves;
}

static void count(struct range *r, uint64_t draw, bool again)
{
	struct ct_shared *s = r->shared;

	s->equal += again;
	r->here->equal += again;
	s->distinct += !again;
	r->here->distinct += !again;
	s->counted = 1;
	if (draw >= CT_DRAW_LEAF) {
		s->tree = r->medium->instant;
		s->leaves = draw - CT_DRAW_LEAF + 1;
	}
}

/* True if it was tested in another log. */
static bool is_elsewhere(struct range *r, uint64_t state)
{
	const struct ct_exploration *const e = r->e;
	struct ct_known *const known = e->options.known;

	if (!known || !e->promises) {
		return false;
	}
	if (r->promised_at != r->medium->instant) {
		r->promised_at = r->medium->instant;
		r->promised = ct_promises_key(e->promises, e->operations, &r->medium->acks);
	}
	return ct_known_meets(known, state ^ r->promised);
}

/* Records the medium's state as the one being judged, if it is new: true if it was judged before. */
static bool begin_state(struct range *r, uint64_t draw)
{
	struct ct_shared *s = r->shared;
	const uint64_t state = ct_medium_key(r->medium);
	const bool retried = s->retried == key_of(state), counted = is_counted(r, draw, retried);

	s->counted = counted;
	s->judged = key_of(state);
	const bool is_first = is_new(s, state), known = is_first && is_elsewhere(r, state);
	const bool again = (!is_first || known) && !retried;

	if (!counted) {
		count(r, draw, again);
		s->known += known && again;
	}
	if (retried) {
		s->retried = 0;
	}
	if (again) {
		s->judged = 0;
	}
	return again;
}

static void note_verdict(struct range *r, struct ct_shared *s, bool again, int verdict)
{
	r->failed |= verdict != 0;
	r->alike = verdict == NVW_E_INCONSISTENT ? r->alike + 1 : 0;
	if (verdict == NVW_E_INCONSISTENT && !again) {
		const unsigned known = s->groups.count;

		note_findings(r);
		if (s->groups.count != known) {
			r->alike = 0;
		}
	} else if (verdict == CT_NO_ANSWER && !again) {
		ct_worker_note_undecided(s, r->plan, nvw_error_message());
	} else if (verdict != 0 && verdict != NVW_E_INCONSISTENT && verdict != CT_NO_ANSWER) {
		r->error = verdict;
	}
}

/* Recovers and checks the medium's state, unless it was tested before; with learning also then, to record
 * reads. */
static void judge_state(struct range *r, uint64_t draw, bool learning)
{
	struct ct_medium *m = r->medium;
	struct ct_shared *s = r->shared;

	const bool again = begin_state(r, draw);

	if (again && !learning) {
		return;
	}
	s->draw = draw;
	s->sequence++;
	if (r->e->options.exports && !again) {
		r->error = ct_export_state(r->e, m, draw);
		if (r->error != 0) {
			return;
		}
	}
	nvw__findings_clear(&r->findings);
	ct_image_forget_reads(&m->image);
	s->phase = CT_PHASE_OPEN;
	const int verdict = r->e->robust ?
				    ct_robust_judge(r->e->robust, m, r->levels, &r->findings, &s->phase) :
				    r->e->judge(r->e->context, &m->image, &m->acks, &r->findings, &s->phase);

	note_verdict(r, s, again, verdict);
	s->phase = CT_PHASE_IDLE;
	s->judged = 0;
}

static void add_patterns(struct range *r, const struct ct_medium *m, uint64_t *pattern)
{
	NVW_FOR(i, m->cell_count) {
		const struct ct_cell *const c = &m->cell[i];

		NVW_FOR(v, c->count) {
			const struct ct_flight *const f = ct_medium_flight(m, c->write[v]);
			const uint64_t what = (uint64_t)f->site << 32 | (uint64_t)f->by.epoch_wi << 1 |
					      ct_cell_has(c, r->levels[i], v);

			if (ct_cell_is_first(c, v)) {
				pattern[f->by.work_item] += nvw_mix64(what);
			}
		}
	}
}

/* A key of what happens to each work-item's stores in the state, independent of the work-items'
 * identities. */
static uint64_t symmetric_key(struct range *r)
{
	const struct ct_medium *m = r->medium;
	uint64_t key = m->instant;

	if (m->work_items == 0 || ct_array_grow(&r->pattern, m->work_items, sizeof(uint64_t))) {
		return 0;
	}
	uint64_t *const pattern = r->pattern.at;

	memset(pattern, 0, m->work_items * sizeof *pattern);
	add_patterns(r, m, pattern);
	NVW_EACH(one, pattern, m->work_items) {
		if (*one != 0) {
			key += nvw_mix64(*one);
		}
	}
	return nvw_mix64(key);
}

/* A state that was being judged when its worker was killed does not count. */
static bool is_symmetric(struct range *r)
{
	if (r->shared->retried != 0) {
		return false;
	}

	return r->e->options.symmetric && r->medium->work_items > 0 &&
	       ct_model_info(r->medium->rules.model)->counts_work_items &&
	       !is_new(r->shared, symmetric_key(r));
}

static void test_state(struct range *r, uint64_t draw)
{
	struct ct_medium *m = r->medium;

	if (!ct_plan_draw(r->plan, m, draw, &r->walk, r->levels)) {
		return;
	}
	const bool tested = m->instant >= r->first;

	if (is_symmetric(r)) {
		r->shared->symmetric += tested;
		return;
	}
	ct_medium_apply(m, r->levels);
	if (tested) {
		judge_state(r, draw, false);
	} else {
		is_new(r->shared, ct_medium_key(m));
	}
	ct_medium_undo(m);
}

static bool is_over(const struct range *r)
{
	const struct ct_options *const o = &r->e->options;
	const struct ct_groups *const met = &r->shared->groups;

	return r->shared->stop || r->error || (o->stop_after > 0 && met->count >= o->stop_after) ||
	       (o->stop_at && ct_groups_has(met, o->stop_at));
}

/* Tests the leaves of the instant's tree: true if the tree was completed, and so all states of the instant
 * are covered. Gives up as soon as there are clearly too many. */
static bool test_tree(struct range *r, uint64_t budget)
{
	struct ct_medium *m = r->medium;
	bool whole = false;

	r->failed = false;
	if (ct_tree_begin(&r->reads, m)) {
		return false;
	}
	for (uint64_t leaf = 0; leaf < budget && !is_over(r); leaf++) {
		r->leaves = leaf;
		if (!ct_tree_next(&r->reads, m, r->levels)) {
			whole = true;
			break;
		}
		ct_medium_apply(m, r->levels);
		judge_state(r, CT_DRAW_LEAF + leaf, true);
		ct_medium_undo(m);
		if (leaf < 2 && ct_reads_are_many(&r->reads, m, budget)) {
			break;
		}
		/* A failing state may not have read everything that matters to its neighbours. */
		if (r->failed || ct_tree_learn(&r->reads, m)) {
			break;
		}
	}
	return whole;
}

/* For judges that record reads. draws is the number of states, if all can be tested one by one. */
static bool try_tree(struct range *r, uint64_t draws)
{
	const struct ct_medium *m = r->medium;
	const uint64_t share =
		ct_plan_exhausts(r->plan, m->instant) ? draws : ct_plan_share(r->plan, m->instant);
	const bool fits = ct_model_info(m->rules.model)->bounds_reads;

	return m->image.reads && !r->e->robust && !m->rules.limits && fits && share >= WORTH_A_TREE &&
	       test_tree(r, share);
}

/* The instant's states keep failing in ways that are known. */
static bool is_settled(const struct range *r)
{
	return r->e->options.settle_after > 0 && r->alike >= r->e->options.settle_after;
}

static int make_room(struct range *r)
{
	NVW_GROWN(r->levels, r->level_capacity, r->medium->cell_count + 1, "no memory for a crash state");
	return 0;
}

/* For an instant whose states would all have been tested: the number of states that its tree's leaves
 * represent. */
static uint64_t states_spared(const struct range *r, uint64_t draws)
{
	NVW_INVARIANT(r->medium->instant >= 1);
	return ct_plan_exhausts(r->plan, r->medium->instant) ? draws - MIN(draws, r->leaves) : 0;
}

/* ---- Parts of the check ------------------------------------------------------------------------------ */

static void part_began(void *context, uint64_t part)
{
	const struct range *const r = context;

	r->shared->sequence++;
}

static void count_parts(struct range *r)
{
	const struct ct_parts_count *const n = ct_parts_count(r->parts);
	struct ct_by_parts *const to = &r->shared->parts;
	char name[CT_PART_NAME];

	NVW_INVARIANT(r->parts);
	to->parts = n->parts;
	to->evaluations = r->evaluations + n->evaluations;
	if (n->most_forks > to->most_forks) {
		to->most_forks = n->most_forks;
		ct_parts_name(r->parts, n->widest, name);
		NVW_PRINT(to->widest, "%s", name);
	}
}

/* Tries the parts that may answer otherwise now; before the range, too, where they tell which states to
 * record. True if all pass, in every state of this instant. */
static bool try_parts(struct range *r)
{
	const struct ct_part_trouble *trouble;
	struct ct_shared *const s = r->shared;

	if (!r->parts || s->no_parts) {
		return false;
	}
	s->in_part = 1;
	s->phase = CT_PHASE_CHECK;
	r->error = ct_parts_try(r->parts, part_began, r);
	s->phase = CT_PHASE_IDLE;
	s->in_part = 0;
	count_parts(r);
	return !r->error && ct_parts_crowd(r->parts) == 0 && ct_parts_troubles(r->parts, &trouble) == 0;
}

/* How many whole states are tested as well at an instant whose parts all pass: they guard against parts that
 * miss what the check finds. The number of jobs does not change it. */
static uint64_t guards(const struct range *r, uint64_t draws)
{
	const uint64_t wanted = GUARDED_BYTES / r->medium->image.bytes, instant = r->medium->instant,
		       all = MIN(MAX(wanted, GUARDS_LEAST), GUARDS_MOST),
		       mine = instant * all / r->plan->instants - (instant - 1) * all / r->plan->instants;

	NVW_INVARIANT(r->plan->instants > 0);
	return MIN(mine, draws);
}

static void note_wide(struct range *r, const struct ct_part_trouble *t)
{
	struct ct_by_parts *const to = &r->shared->parts;
	char name[CT_PART_NAME];

	NVW_INVARIANT(t->verdict == CT_PART_WIDE);
	if (to->wide++ == 0) {
		ct_parts_name(r->parts, t->part, name);
		NVW_PRINT(to->first_wide, "%s", name);
		to->wide_forks = t->forks;
	}
}

static void note_denied(struct range *r, const struct ct_part_trouble *t, const struct nvw_findings *said)
{
	char name[CT_PART_NAME];

	if (r->shared->parts.denied++ == 0) {
		ct_parts_name(r->parts, t->part, name);
		NVW_PRINT(
			r->shared->parts.first_denied, "%s, which says: %.120s", name, said->finding[0].text);
	}
}

/* Whether the state of a part that fails has been tested before; records it, but where other workers, who do
 * not make it, would know less of later states. */
static bool is_known(struct range *r, uint64_t state)
{
	if (ct_plan_cuts_apart(&r->e->rules)) {
		return !is_new(r->shared, state);
	}
	return *place_of(r->shared, key_of(state)) != 0;
}

static void judge_whole(struct range *r, const struct ct_part_trouble *t, struct nvw_findings *said,
	struct ct_medium *m, struct ct_shared *s)
{
	ct_medium_apply(m, r->levels);
	const bool again = is_known(r, ct_medium_key(m));

	nvw__findings_clear(&r->findings);
	const int verdict = r->e->judge(r->e->context, &m->image, &m->acks, &r->findings, &s->phase);

	s->distinct += !again;
	s->parts.confirmations += !again;
	r->here->distinct += !again;
	if (verdict == NVW_E_INCONSISTENT && !again) {
		note_findings(r);
	} else if (verdict == NVW_E_INCONSISTENT) {
		/* it was counted when it was judged first, perhaps before an interruption */
		note_shapes(r);
	} else if (verdict == 0) {
		note_denied(r, t, said);
	}
	ct_medium_undo(m);
}

/* A part fails in a state: so must the whole check, or there is no finding. */
static void confirm(struct range *r, const struct ct_part_trouble *t)
{
	struct nvw_findings said;
	struct ct_medium *const m = r->medium;
	struct ct_shared *const s = r->shared;

	NVW_INVARIANT(r->parts);
	s->in_part = 1;
	s->phase = CT_PHASE_CHECK;
	const bool is_there = ct_parts_remake(r->parts, t->part, t->evaluation, &said, r->levels);

	s->in_part = 0;
	s->draw = ct_part_draw(t->part, t->evaluation);
	s->sequence++;
	if (is_there) {
		judge_whole(r, t, &said, m, s);
	}
	s->phase = CT_PHASE_IDLE;
}

/* True if no part was tried. */
static bool note_crowd(struct range *r)
{
	struct ct_by_parts *const to = &r->shared->parts;
	const uint64_t crowd = ct_parts_crowd(r->parts);

	if (crowd > 0 && to->crowded++ == 0) {
		to->crowd = crowd;
	}
	return crowd > 0;
}

/* After the instant's other states, so that these stay the examples. */
static void confirm_parts(struct range *r)
{
	const struct ct_part_trouble *t;
	unsigned confirmations = 0;

	if (!r->parts || r->medium->instant < r->first || note_crowd(r)) {
		return;
	}
	const uint64_t count = ct_parts_troubles(r->parts, &t);

	for (uint64_t i = 0; i < count && !is_over(r); i++) {
		if (t[i].verdict == CT_PART_WIDE) {
			note_wide(r, &t[i]);
		} else if (!is_said(r, t[i].shape) && confirmations < CONFIRMATIONS_MAX &&
			   r->shared->no_confirmation != r->medium->instant) {
			confirmations++;
			confirm(r, &t[i]);
		}
	}
	r->shapes = 0;
}

/* Between two states the shared memory is consistent, and the parent may save it. */
static void wait_while_held(struct ct_shared *s)
{
	while (s->hold && !s->stop) {
		s->held = 1;
		usleep(200);
	}
	s->held = 0;
}

/* The instant at hand, while its states are tested. */
struct instant {
	uint64_t draws, all_draws;   /* all_draws: those without parts */
	uint64_t failing, symmetric; /* states, before it */
	bool by_parts;               /* parts stand for the states that are not drawn */
};

static int begin_instant(struct range *r, uint64_t draw)
{
	struct ct_medium *const m = r->medium;

	NVW_TRY(make_room(r));
	r->shared->instant = m->instant;
	r->shared->next = draw;
	r->shared->time_ps = m->time_ps;
	r->here = &r->plan->interval[m->instant - 1];
	m->image.reads = r->tracked;
	return m->image.reads ? ct_reads_at(&r->reads, m) : 0;
}

/* How many of these are to be drawn: none if a tree of what is read has exhausted the instant. */
static uint64_t draws_wanted(struct range *r, uint64_t draw, uint64_t draws, bool by_parts)
{
	if (r->e->options.parts_alone) {
		return 0;
	}
	if (by_parts) {
		return guards(r, draws);
	}
	if (draws == 0 || draw != 0 || r->shared->no_tree == r->medium->instant || !try_tree(r, draws)) {
		return draws;
	}
	r->shared->by_reads += !ct_plan_exhausts(r->plan, r->medium->instant);
	r->shared->unread += states_spared(r, draws);
	r->here->unread += (uint32_t)states_spared(r, draws);
	r->here->exhausted = true;
	return 0;
}

/* Returns the first draw that it has not tested. Parts that have missed a failing state stand for nothing. */
static uint64_t test_draws(struct range *r, struct instant *i, uint64_t draw)
{
	for (; draw < i->draws && !is_over(r) && !is_settled(r); draw++) {
		test_state(r, draw);
		r->shared->next = draw + 1;
		wait_while_held(r->shared);
		if (i->by_parts && r->shared->failing > i->failing) {
			r->shared->parts.missed++;
			i->by_parts = false;
			i->draws = i->all_draws;
		}
	}
	return draw;
}

static bool has_exhausted(const struct range *r, const struct instant *i, bool settled)
{
	if (i->by_parts || r->here->exhausted) {
		return true;
	}
	return !settled && r->here->undecided == 0 && !r->e->options.parts_alone &&
	       ct_plan_exhausts(r->plan, r->medium->instant) && !r->medium->inexact &&
	       r->shared->symmetric == i->symmetric;
}

/* Tests the states of the instant at hand, from this draw on. */
static int test_instant(struct range *r, uint64_t draw)
{
	struct ct_medium *const m = r->medium;

	NVW_TRY(begin_instant(r, draw));
	struct instant i = {.all_draws = ct_plan_draws(r->plan, m),
		.failing = r->shared->failing,
		.symmetric = r->shared->symmetric};

	i.by_parts = try_parts(r);
	NVW_TRY(r->error);
	i.draws = draws_wanted(r, draw, i.all_draws, i.by_parts);
	if (!r->e->robust) {
		m->image.reads = NULL; /* recording reads has a cost: only for trees */
	}
	r->alike = 0;
	const uint64_t next = test_draws(r, &i, draw);
	const bool settled = next < i.draws && !is_over(r);

	if (settled && m->instant >= r->first) {
		r->shared->settled += i.draws - next;
	}
	confirm_parts(r);
	if (!is_over(r) && m->instant >= r->first) {
		r->here->by_parts = i.by_parts;
		r->here->exhausted = has_exhausted(r, &i, settled);
	}
	return r->error;
}

static int test_range(struct range *r, uint64_t draw, uint64_t last)
{
	int error = 1;

	while (error == 1) {
		NVW_TRY(test_instant(r, draw));
		if (is_over(r) || r->medium->instant >= last) {
			return 0;
		}
		draw = 0;
		error = ct_medium_next(r->medium);
	}
	return error;
}

void ct_worker_run(const struct ct_exploration *e, const struct ct_plan *plan, struct ct_worker *w)
{
	struct ct_medium *const m = &w->medium;
	struct ct_shared *const shared = w->shared;
	struct range r = {.e = e,
		.plan = plan,
		.medium = m,
		.shared = shared,
		.failing = w->failing,
		.first = w->first};

	m->seen = NULL;
	int error = ct_image_own(&m->image); /* the parent's is needed if this process dies */

	m->image.recoveries = &shared->recoveries;
	m->image.alike = &shared->alike;

	/* Under buffered epoch persistency acknowledgements depend on the levels of all cells: no tree. */
	if (!error && e->tells_reads && !e->rules.mixed &&
		(e->robust || ct_model_info(e->rules.model)->levels != CT_GRAPH)) {
		error = ct_image_track(&m->image);
	}

	r.tracked = m->image.reads;
	r.evaluations = shared->parts.evaluations;
	if (!error && !shared->no_parts) {
		error = ct_parts_of(e, m, &r.parts);
		/* Known also if the first of them ends the process. */
		if (r.parts) {
			shared->parts.parts = ct_parts_count(r.parts)->parts;
		}
	}
	if (!error) {
		error = test_range(&r, w->next_draw, w->last);
	}
	ct_leave(&shared->left, error);
	shared->finished = !shared->stop;
	_exit(0);
}
