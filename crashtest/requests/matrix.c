/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict matrix: one run under every model, and with each of its barriers narrowed. See crash.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/invariant.h"
#include "core/print.h"

#include "core/array.h"
#include "core/stop.h"

#include "../log_walk.h"
#include "modes.h"
#include "../judge/process.h"
#include "../sites.h"

/* ---- The barriers of the run --------------------------------------------------------------------------- */

struct survey {
	struct ct_matrix *matrix;
	uint64_t first_record; /* of the measured part */
	struct ct_sites sites;
	/* Barriers that were reached and have not completed; of another kind is an empty place. */
	struct nvw_log_record *open;
	unsigned opens, open_capacity;
};

static struct ct_barrier *barrier_of(struct survey *s, uint32_t site)
{
	const struct ct_names *const at = ct_sites_at(&s->sites, site);
	struct ct_matrix *const x = s->matrix;

	NVW_INVARIANT(at);
	const unsigned i = NVW_INDEX(
		k, x->count, x->barrier[k].line == at->line && !strcmp(x->barrier[k].file, at->file));

	if (i == CT_BARRIERS_MAX) {
		x->unlisted++;
		return NULL;
	}
	if (i == x->count) {
		x->count++;
		memcpy(x->barrier[i].file, at->file, sizeof at->file);
		memcpy(x->barrier[i].function, at->function, sizeof at->function);
		x->barrier[i].line = at->line;
	}
	return &x->barrier[i];
}

static bool same(const struct nvw_log_record *o, const struct nvw_log_record *r)
{
	return o->kind == NVW_LOG_BARRIER && o->barrier.site == r->barrier.site &&
	       o->barrier.epoch == r->barrier.epoch && o->barrier.scope == r->barrier.scope &&
	       o->barrier.work_item == r->barrier.work_item && o->barrier.group == r->barrier.group;
}

static int meet(struct survey *s, const struct nvw_log_record *r)
{
	struct ct_barrier *const b = barrier_of(s, r->barrier.site);

	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER);
	if (!b) {
		return 0;
	}
	b->met++;
	b->scope = MAX(b->scope, r->barrier.scope);
	const unsigned i = NVW_INDEX(k, s->opens, s->open[k].kind != NVW_LOG_BARRIER);

	NVW_GROWN(s->open, s->open_capacity, i + 1, "no memory for the barriers of the run");
	s->opens = MAX(s->opens, i + 1);
	s->open[i] = *r;
	return 0;
}

static void complete_barrier(struct survey *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_PERSISTED);
	NVW_EACH(open, s->open, s->opens) {
		if (same(open, r)) {
			struct ct_barrier *const b = barrier_of(s, r->barrier.site);

			open->kind = NVW_LOG_PERSISTED;
			b->stall_ps += r->time_ps - open->time_ps;
			return;
		}
	}
}

static int survey_record(void *context, const struct nvw_log_record *r, uint64_t number)
{
	struct survey *const s = context;

	if (r->kind == NVW_LOG_SITE) {
		return ct_sites_add(&s->sites, r);
	}
	if (r->kind == NVW_LOG_BARRIER && number > s->first_record) {
		return meet(s, r);
	}
	if (r->kind == NVW_LOG_PERSISTED) {
		complete_barrier(s, r);
	}
	return 0;
}

/* ---- Verdicts ------------------------------------------------------------------------------------------ */

struct matrix {
	const struct ct_subject *subject;
	struct ct_options options;
	struct ct_logged logged;
	struct ct_matrix *result;
	unsigned done, total;
	double began;
	struct ct_result judged;
};

static void note_verdict(const struct ct_result *r, struct ct_matrix *x, struct ct_matrix_cell *ret_cell)
{
	x->stores = r->stores;
	x->barriers_met = r->barriers;
	x->acks = r->acks;
	*ret_cell = (struct ct_matrix_cell){.verdict = ct_verdict_of(r),
		.states_distinct = r->states_distinct,
		.states_failing = r->states_failing,
		.confirmations = r->by_parts.confirmations};
	if (r->finding_count > 0) {
		NVW_PRINT(ret_cell->text, "%s", r->finding[0].text);
	}
}

static int judge_cell(struct matrix *x, const struct ct_rules *rules, struct ct_matrix_cell *ret_cell)
{
	struct ct_result *const r = &x->judged;
	struct ct_options quiet = x->options;

	quiet.progress = NULL;
	quiet.save = NULL;
	quiet.unexplained = true;
	ct_tell(&x->options, "verdicts", x->done++, x->total, ct_wall_seconds() - x->began);
	NVW_TRY(ct_logged_explore(&x->logged, rules, &quiet, r));
	ct_result_free(r);
	if (r->interrupted && r->consistent) {
		return nvw_stop_error();
	}
	NVW_FAIL_IF(r->states_undecided > 0, NVW_E_SYSTEM, "no verdict for a state: %s", r->undecided);
	note_verdict(r, x->result, ret_cell);
	return 0;
}

static int judge_models(struct matrix *x)
{
	NVW_FOR(model, CT_MODEL_COUNT) {
		const struct ct_rules rules = {.model = model, .unit_bytes = x->options.atomicity};

		if (ct_model_info(model)->of_runs) {
			NVW_TRY(judge_cell(x, &rules, &x->result->under[model]));
		}
	}
	return 0;
}

/* ---- Narrower barriers --------------------------------------------------------------------------------- */

/* A run of the machine with the barrier narrowed by this many steps: the time saved. The run must also
 * succeed. */
static void measure_run(const struct matrix *x, struct ct_barrier *b)
{
	struct ct_subject narrow = *x->subject;
	struct ct_options options = x->options;
	struct ct_logged logged;

	NVW_INVARIANT(b->spare > 0);
	narrow.narrow_file = b->file;
	narrow.narrow_line = b->line;
	narrow.narrow_by = b->spare;
	options.progress = NULL;
	if (ct_logged_create(&narrow, &options, &logged)) {
		NVW_PRINT(b->trouble, "%s", nvw_error_message());
		return;
	}
	b->measured = true;
	b->saved_ps = (int64_t)(x->logged.shared->end_ps - x->logged.shared->begin_ps) -
		      (int64_t)(logged.shared->end_ps - logged.shared->begin_ps);
	ct_logged_destroy(&logged);
}

static int judge_narrower(struct matrix *x, struct ct_barrier *b, unsigned by)
{
	bool whole = true;

	NVW_INVARIANT(by >= 1 && by <= CT_STEPS);
	NVW_FOR(m, CT_MODEL_COUNT) {
		const struct ct_rules rules = {.model = m,
			.unit_bytes = x->options.atomicity,
			.narrow_file = b->file,
			.narrow_line = b->line,
			.narrow_by = by};

		if (ct_model_info(m)->narrows) {
			NVW_TRY(judge_cell(x, &rules, &b->narrower[by - 1][m]));
			whole &= ct_verdict_passes(b->narrower[by - 1][m].verdict);
		}
	}
	b->tried = by;
	if (whole) {
		b->spare = by;
	}
	return 0;
}

static int judge_barrier(struct matrix *x, struct ct_barrier *b)
{
	for (unsigned by = 1; by <= (unsigned)b->scope + 1 && b->spare + 1 == by; by++) {
		NVW_TRY(judge_narrower(x, b, by));
	}
	if (b->spare > 0) {
		measure_run(x, b);
	}
	return 0;
}

static int survey_run(struct matrix *x)
{
	struct survey s = {.matrix = x->result, .first_record = x->logged.shared->first_record};
	const int error = ct_log_walk(x->logged.log_fd, survey_record, &s);

	ct_sites_free(&s.sites);
	free(s.open);
	x->total = 4 + 4 * x->result->count;
	return error;
}

static int fill_matrix(struct matrix *x)
{
	NVW_TRY(survey_run(x));
	NVW_TRY(judge_models(x));
	NVW_EACH(barrier, x->result->barrier, x->result->count) {
		NVW_TRY(judge_barrier(x, barrier));
	}
	return 0;
}

static int run_matrix(struct matrix *x)
{
	x->options.mode = CT_PERMITTED;
	if (x->options.states == 0) {
		x->options.states = 5000;
	}
	x->result->states_asked = x->options.states;
	NVW_TRY(ct_options_complete(x->subject, &x->options));
	NVW_TRY(ct_logged_create(x->subject, &x->options, &x->logged));
	x->result->sim_time_ps = x->logged.shared->end_ps - x->logged.shared->begin_ps;
	const int error = fill_matrix(x);

	ct_logged_destroy(&x->logged);
	return error;
}

int ct_run_matrix(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_matrix *ret_matrix)
{
	struct matrix *const x = calloc(1, sizeof *x);

	NVW_ALLOCATED(x, "no memory for a matrix");
	memset(ret_matrix, 0, sizeof *ret_matrix);
	x->subject = subject;
	x->options = *options;
	x->result = ret_matrix;
	x->began = ct_wall_seconds();
	const int error = run_matrix(x);

	ret_matrix->host_seconds = ct_wall_seconds() - x->began;
	free(x);
	ret_matrix->interrupted = error == NVW_E_STOPPED;
	return ret_matrix->interrupted ? 0 : error;
}
