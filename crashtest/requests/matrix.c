/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict matrix: one run under every model, and with each of its barriers narrowed. See crash.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/array.h"
#include "core/stop.h"

#include "modes.h"
#include "../judge/process.h"
#include "../explain/stores.h"

/* ---- The barriers of the run ---------------------------------------------------------------------------------- */

/* A barrier that was reached and has not completed. */
struct open_barrier {
	uint32_t site, epoch;
	uint64_t work_item, group, time_ps;
	enum nvw_group scope;
	bool open;
};

struct survey {
	struct ct_matrix *matrix;
	struct ct_names *site;
	uint32_t sites;
	struct open_barrier *open;
	unsigned opens, open_capacity;
};

static int add_site(struct survey *s, const struct nvw_log_record *r)
{
	struct ct_names *grown = realloc(s->site, (s->sites + 1) * sizeof *grown);

	if (grown == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the sites of the run");
	}
	s->site = grown;
	grown += s->sites++;
	snprintf(grown->file, sizeof grown->file, "%s", r->site.file);
	snprintf(grown->function, sizeof grown->function, "%s", r->site.function);
	grown->line = r->site.line;
	return 0;
}

static struct ct_barrier *barrier_of(struct survey *s, uint32_t site)
{
	const struct ct_names *const at = &s->site[site - 1];
	struct ct_matrix *const x = s->matrix;
	unsigned i = 0;

	while (i < x->count &&
		(x->barrier[i].line != at->line || strcmp(x->barrier[i].file, at->file) != 0)) {
		i++;
	}
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

static bool same(const struct open_barrier *o, const struct nvw_log_record *r)
{
	return o->open && o->site == r->barrier.site && o->epoch == r->barrier.epoch &&
	       o->scope == r->barrier.scope && o->work_item == r->barrier.work_item &&
	       o->group == r->barrier.group;
}

static int meet(struct survey *s, const struct nvw_log_record *r)
{
	struct ct_barrier *const b = barrier_of(s, r->barrier.site);
	unsigned i = 0;

	if (b == NULL) {
		return 0;
	}
	b->met++;
	b->scope = r->barrier.scope > b->scope ? r->barrier.scope : b->scope;
	while (i < s->opens && s->open[i].open) {
		i++;
	}
	if (!NVW_ROOM(s->open, s->open_capacity, i + 1)) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the barriers of the run");
	}
	s->opens = i < s->opens ? s->opens : i + 1;
	s->open[i] = (struct open_barrier){.site = r->barrier.site,
		.epoch = r->barrier.epoch,
		.work_item = r->barrier.work_item,
		.group = r->barrier.group,
		.time_ps = r->time_ps,
		.scope = r->barrier.scope,
		.open = true};
	return 0;
}

static void complete(struct survey *s, const struct nvw_log_record *r)
{
	for (unsigned i = 0; i < s->opens; i++) {
		if (same(&s->open[i], r)) {
			struct ct_barrier *const b = barrier_of(s, r->barrier.site);

			s->open[i].open = false;
			b->stall_ps += r->time_ps - s->open[i].time_ps;
			return;
		}
	}
}

static int survey(struct survey *s, const struct ct_logged *l)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	uint64_t number = 0;
	int error = nvw_log_open_fd(dup(l->log_fd), "persist log", &reader);

	if (error) {
		return error;
	}
	while ((error = nvw_log_next(reader, &r)) == 1) {
		const bool measured = number++ >= l->shared->first_record;

		error = r.kind == NVW_LOG_SITE                ? add_site(s, &r) :
			r.kind == NVW_LOG_BARRIER && measured ? meet(s, &r) :
								0;
		if (error) {
			break;
		}
		if (r.kind == NVW_LOG_PERSISTED) {
			complete(s, &r);
		}
	}
	nvw_log_reader_close(reader);
	return error;
}

/* ---- Verdicts -------------------------------------------------------------------------------------------------- */

struct matrix {
	const struct ct_subject *subject;
	struct ct_options options;
	struct ct_logged logged;
	struct ct_matrix *result;
	unsigned done, total;
	double began;
};

static void tell(struct matrix *x)
{
	const struct ct_progress p = {.what = "verdicts",
		.done = x->done,
		.total = x->total,
		.seconds = ct_wall_seconds() - x->began};

	if (x->options.progress != NULL) {
		x->options.progress(x->options.context, &p);
	}
}

static int judge(struct matrix *x, const struct ct_rules *rules, struct ct_matrix_cell *ret_cell)
{
	static struct ct_result result;
	struct ct_options quiet = x->options;

	quiet.progress = NULL;
	quiet.save = NULL;
	quiet.unexplained = true;
	tell(x);
	x->done++;
	const int error = ct_logged_explore(&x->logged, rules, &quiet, &result);

	if (error) {
		return error;
	}
	ct_result_free(&result);
	if (result.interrupted && result.consistent) {
		return nvw_stop_error();
	}
	if (result.states_undecided > 0) {
		return nvw_fail(NVW_E_SYSTEM, "no verdict for a state: %s", result.undecided);
	}
	x->result->stores = result.stores;
	x->result->barriers_met = result.barriers;
	x->result->acks = result.acks;
	ret_cell->verdict = ct_verdict_of(&result);
	ret_cell->states_distinct = result.states_distinct;
	ret_cell->states_failing = result.states_failing;
	ret_cell->confirmations = result.by_parts.confirmations;
	snprintf(ret_cell->text, sizeof ret_cell->text, "%s",
		result.finding_count ? result.finding[0].text : "");
	return 0;
}

static int judge_models(struct matrix *x)
{
	int error = 0;

	for (enum ct_model model = 0; model < CT_MODEL_COUNT && !error; model++) {
		const struct ct_rules rules = {.model = model, .unit_bytes = x->options.atomicity};

		if (ct_model_info(model)->of_runs) {
			error = judge(x, &rules, &x->result->under[model]);
		}
	}
	return error;
}

/* ---- Narrower barriers ------------------------------------------------------------------------------------------ */

/* A run of the machine with the barrier narrowed by this many steps: the time saved. The run must also
 * succeed. */
static int measure(const struct matrix *x, struct ct_barrier *b)
{
	struct ct_subject narrow = *x->subject;
	struct ct_options options = x->options;
	struct ct_logged logged;

	narrow.narrow_file = b->file;
	narrow.narrow_line = b->line;
	narrow.narrow_by = b->spare;
	options.progress = NULL;
	if (ct_logged_create(&narrow, &options, &logged)) {
		snprintf(b->trouble, sizeof b->trouble, "%s", nvw_error_message());
		return 0;
	}
	b->measured = true;
	b->saved_ps = (int64_t)(x->logged.shared->end_ps - x->logged.shared->begin_ps) -
		      (int64_t)(logged.shared->end_ps - logged.shared->begin_ps);
	ct_logged_destroy(&logged);
	return 0;
}

static int judge_barrier(struct matrix *x, struct ct_barrier *b)
{
	int error = 0;

	for (unsigned by = 1; by <= (unsigned)b->scope + 1 && b->spare + 1 == by && !error; by++) {
		bool whole = true;

		for (enum ct_model m = 0; m < CT_MODEL_COUNT && !error; m++) {
			const struct ct_rules rules = {.model = m,
				.unit_bytes = x->options.atomicity,
				.narrow_file = b->file,
				.narrow_line = b->line,
				.narrow_by = by};

			if (ct_model_info(m)->narrows) {
				error = judge(x, &rules, &b->narrower[by - 1][m]);
				whole = whole && ct_verdict_passes(b->narrower[by - 1][m].verdict);
			}
		}
		b->tried = by;
		b->spare = whole ? by : b->spare;
	}
	return error || b->spare == 0 ? error : measure(x, b);
}

static int run(struct matrix *x)
{
	struct survey s = {.matrix = x->result};
	int error = survey(&s, &x->logged);

	free(s.site);
	free(s.open);
	x->total = 4 + 4 * x->result->count;
	if (!error) {
		error = judge_models(x);
	}
	for (unsigned i = 0; i < x->result->count && !error; i++) {
		error = judge_barrier(x, &x->result->barrier[i]);
	}
	return error;
}

int ct_run_matrix(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_matrix *ret_matrix)
{
	struct matrix x = {
		.subject = subject, .options = *options, .result = ret_matrix, .began = ct_wall_seconds()};

	memset(ret_matrix, 0, sizeof *ret_matrix);
	x.options.mode = CT_PERMITTED;
	x.options.states = options->states ? options->states : 5000;
	int error = ct_options_complete(subject, &x.options);

	if (!error) {
		error = ct_logged_create(subject, &x.options, &x.logged);
	}
	if (error) {
		ret_matrix->interrupted = error == NVW_E_STOPPED;
		return ret_matrix->interrupted ? 0 : error;
	}
	ret_matrix->sim_time_ps = x.logged.shared->end_ps - x.logged.shared->begin_ps;
	error = run(&x);
	ret_matrix->interrupted = error == NVW_E_STOPPED;
	error = ret_matrix->interrupted ? 0 : error;
	ct_logged_destroy(&x.logged);
	ret_matrix->host_seconds = ct_wall_seconds() - x.began;
	return error;
}
