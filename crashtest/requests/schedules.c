/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: a workload runs under many orders of its wavefronts. Two schedules with the same order of
 * conflicting accesses are one: the second is counted and left. Of each other one, the races, the workload's
 * own verification and, in a crash test, the crash states of its log are looked at. See ../schedules.h.
 *
 * The schedule by time comes first: it tells the others which words are contended, and how many choices there
 * are. So a schedule is repeated by two runs, whatever its number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <emu.h>
#include <nvw/kernel.h>

#include "core/bounds.h"
#include "core/member.h"
#include "core/print.h"
#include "core/stop.h"

#include "../explain/finding.h"
#include "../explore/every_order.h"
#include "../explore/result.h"
#include "../group.h"
#include "../judge/process.h"
#include "../table.h"
#include "modes.h"

enum {
	TURNS_AT_LEAST = 100000, /* of a schedule, before it is said not to end */
	TURNS_FACTOR = 20,       /* of the run by time, likewise */
};

struct schedules {
	const struct ct_options *options;
	struct ct_subject subject;
	struct emu_order order; /* of the subject */
	struct emu_order_seen by_time;
	struct ct_schedule_named named;
	struct ct_rules rules;
	struct ct_logged logged;
	bool crashes;             /* crash states are tested */
	struct ct_table known;    /* uint64_t: hashes of the orders */
	struct ct_orders *orders; /* every one; else NULL */
	struct ct_orders *again;  /* the last run's, when it is run again to explain what it left */
	char *turns;              /* of the last run, as a finding has them */
	struct ct_schedules *ret;
	struct ct_result *sum;
};

/* ---- Findings without a crash ----------------------------------------------------------------------- */

static bool is_alike(const struct ct_schedule_finding *f, enum ct_schedule_kind kind, const char *text)
{
	if (f->kind != kind) {
		return false;
	}
	return kind == CT_SCHEDULE_RACE ? !strcmp(f->text, text) : ct_have_one_shape(f->text, text);
}

/* A file without bytes of a pool: what it takes to run the schedule again. */
static int save(struct schedules *x, struct ct_schedule_finding *f)
{
	struct ct_finding *const text = calloc(1, sizeof *text);
	const struct nvw_acks none = {0};

	NVW_ALLOCATED(text, "no memory to save a finding");
	json_t *const head = ct_finding_subject(&x->subject, x->options, x->subject.command);

	member_set_text(head, "without_crash", ct_schedule_kind_name(f->kind));
	NVW_PRINT(text->text, "%.*s", (int)sizeof text->text - 1, f->text);
	ct_finding_name(x->options, x->ret->finding_count, text);
	const int error = ct_finding_save(text->saved, head, text, "", 0, &none);

	NVW_PRINT(f->saved, "%s", text->saved);
	json_decref(head);
	free(text);
	return error;
}

static int add_finding(struct schedules *x, enum ct_schedule_kind kind, const char *text)
{
	struct ct_schedules *const s = x->ret;

	NVW_EACH(finding, s->finding, s->finding_count) {
		if (is_alike(finding, kind, text)) {
			finding->schedules++;
			return 0;
		}
	}
	if (s->finding_count == CT_SCHEDULE_FINDINGS) {
		s->unlisted++;
		return 0;
	}
	struct ct_schedule_finding *const f = &s->finding[s->finding_count];

	*f = (struct ct_schedule_finding){.kind = kind, .schedules = 1, .first = x->named.number};
	NVW_PRINT(f->text, "%s", text);
	int error = 0;

	if (x->options->save) {
		error = save(x, f);
	}
	s->finding_count++;
	return error;
}

static void describe(const struct emu_race *r, char ret_text[CT_SCHEDULE_TEXT])
{
	static const char *const kinds[EMU_RACE_KINDS] = {[EMU_RACE_DATA] = "data race",
		[EMU_RACE_SCOPES] = "atomics whose scopes do not include each other",
		[EMU_RACE_READ_ONLY] = "read-only load of data written in the same kernel"};
	static const struct nvw_site nowhere = {.file = "?", .function = "?"};
	const struct nvw_site *const a = NVW_OR(r->first.site, &nowhere);
	const struct nvw_site *const b = NVW_OR(r->second.site, &nowhere);

	snprintf(ret_text, CT_SCHEDULE_TEXT, "%s%s: %s at %s:%u (%s), then %s at %s:%u (%s), kernel \"%s\"",
		kinds[r->kind], r->scopes_to_blame ? ", scope mismatch" : "", r->first.kind, a->file, a->line,
		a->function, r->second.kind, b->file, b->line, b->function, r->kernel);
}

static int add_races(struct schedules *x, const struct emu_race_report *races)
{
	char text[CT_SCHEDULE_TEXT];

	NVW_EACH(race, races->race, races->count) {
		describe(race, text);
		NVW_TRY(add_finding(x, CT_SCHEDULE_RACE, text));
	}
	return 0;
}

/* An error of the run is a finding if it is the program's. */
static int add_error(struct schedules *x, int error)
{
	char text[CT_SCHEDULE_TEXT];

	NVW_PRINT(text, "%s", nvw_error_message());
	switch (error) {
	case 0:
		return 0;
	case NVW_E_INCONSISTENT:
		return add_finding(x, CT_SCHEDULE_WRONG, text);
	case NVW_E_DEADLOCK:
		return add_finding(x, CT_SCHEDULE_ENDLESS, text);
	case NVW_E_KERNEL:
		return add_finding(x, CT_SCHEDULE_ERROR, text);
	default:
		return error;
	}
}

/* ---- Crash states ----------------------------------------------------------------------------------- */

static bool has_text(const struct ct_result *r, const char *text)
{
	NVW_INVARIANT(r->finding_count <= CT_FINDINGS_MAX);
	return NVW_ANY(finding, r->finding, r->finding_count, ct_finding_has_text(finding, text));
}

/* Whether the sum knows the failures of the result, numbers aside. */
static bool has_all(const struct ct_result *sum, const struct ct_result *r)
{
	return !NVW_ANY(finding, r->finding, r->finding_count, !has_text(sum, finding->text));
}

/* Is the schedule the first of the different ones? */
static bool is_first(const struct schedules *x)
{
	return x->ret->different == 1;
}

static int explore(struct schedules *x, bool explained, struct ct_result *ret)
{
	struct ct_options o = *x->options;

	o.unexplained = !explained;
	if (!explained) {
		o.save = NULL;
	}
	o.cures = explained && o.cures && is_first(x) && !x->orders;
	ct_result_clear(ret);
	NVW_TRY(ct_logged_explore(&x->logged, &x->rules, &o, ret));
	NVW_EACH(finding, ret->finding, ret->finding_count) {
		finding->schedule = x->named.number;
	}
	return 0;
}

/* What is said of states and instants becomes a sum; what is said of the run stays that of the first. */
static void join_states(struct ct_result *sum, const struct ct_result *r)
{
	sum->states_tested += r->states_tested;
	sum->states_unread += r->states_unread;
	sum->states_symmetric += r->states_symmetric;
	sum->states_settled += r->states_settled;
	sum->states_planned += r->states_planned;
	sum->states_asked = r->states_asked;
	sum->states_possible += r->states_possible;
	sum->states_possible_log2 = ct_log2_sum(sum->states_possible_log2, r->states_possible_log2);
	sum->states_possible_exact &= r->states_possible_exact;
	sum->states_known &= r->states_known;
	sum->instants_exhausted += r->instants_exhausted;
	sum->instants_by_reads += r->instants_by_reads;
	sum->instants_by_parts += r->instants_by_parts;
	sum->hangs_alike += r->hangs_alike;
	ct_by_parts_join(&sum->by_parts, &r->by_parts);
	ct_recoveries_join(&sum->recoveries, &r->recoveries);
}

/* Frees r. */
static void join(struct schedules *x, struct ct_result *r)
{
	struct ct_result *const sum = x->sum;
	const uint64_t stores = sum->stores, barriers = sum->barriers;

	if (sum->instants == 0) { /* the first */
		r->schedules = sum->schedules;
		r->consistent &= sum->consistent;
		*sum = *r;
		return;
	}
	join_states(sum, r);
	ct_result_add(sum, r);
	sum->stores = stores;
	sum->barriers = barriers;
}

/* Failures are explained once: of a schedule that fails as others did, only the states are counted. */
static int test_states(struct schedules *x, bool *fails)
{
	const bool first = is_first(x);
	struct ct_result *const r = calloc(1, sizeof *r);

	NVW_INVARIANT(x->crashes);
	NVW_ALLOCATED(r, "no memory for a crash test");
	int error = explore(x, first, r);

	if (!error && !first && !has_all(x->sum, r)) {
		ct_result_free(r);
		error = explore(x, true, r);
	}
	if (!error) {
		*fails |= !r->consistent;
		join(x, r);
	}
	free(r);
	return error;
}

/* ---- One schedule ----------------------------------------------------------------------------------- */

static void order_schedule(struct schedules *x, uint64_t number)
{
	x->named.number = number;
	ct_schedule_order(number, x->named.depth, x->named.seed, &x->order);
	if (number > 0) {
		x->order.by_time = &x->by_time;
		x->order.turns_max = TURNS_AT_LEAST + TURNS_FACTOR * x->by_time.turns;
	}
}

static int run_schedule(struct schedules *x)
{
	struct ct_logged *const l = &x->logged;

	if (l->log_fd >= 0) {
		close(l->log_fd);
	}
	l->log_fd = -1;
	if (x->crashes) {
		NVW_TRY(ct_log_file(&l->log_fd));
	}
	memset(&l->shared->order, 0, sizeof l->shared->order);
	memset(&l->shared->races, 0, sizeof l->shared->races);
	return ct_run_whole(&l->bench, l->log_fd, NULL, l->shared);
}

/* What a run that is not a known one has left. */
static int look_at(struct schedules *x, int run_error)
{
	const struct emu_race_report *const races = &x->logged.shared->races;
	bool fails = run_error != 0 || races->count > 0;
	int error = NVW_OR(add_error(x, run_error), add_races(x, races));

	if (!error && !run_error && x->crashes) {
		error = test_states(x, &fails);
	}
	x->ret->failing += fails;
	return error;
}

static int try_schedule(struct schedules *x, uint64_t number)
{
	order_schedule(x, number);
	const int run_error = run_schedule(x);
	const struct emu_order_seen *const seen = &x->logged.shared->order;

	if (run_error == NVW_E_STOPPED) {
		return run_error;
	}
	if (number == 0) {
		x->by_time = *seen;
	}
	x->ret->run++;
	x->ret->choices = seen->choices > x->ret->choices ? seen->choices : x->ret->choices;
	const uint64_t known = x->known.count;
	uint64_t *row;

	NVW_TRY(ct_table_take(&x->known, sizeof *row, nvw_min(seen->hash, UINT64_MAX - 1), &row));
	if (x->known.count == known) {
		return 0;
	}
	x->ret->different++;
	return look_at(x, run_error);
}

/* One that an earlier one makes needless, or that is too long, has ended early. */
static bool ended_early(struct schedules *x)
{
	const bool is_redundant = ct_orders_is_redundant(x->orders), is_cut = ct_orders_is_cut(x->orders);

	x->ret->redundant += is_redundant;
	x->ret->cut += is_cut;
	return is_redundant || is_cut;
}

static int try_order(struct schedules *x, uint64_t number)
{
	x->named.number = number;
	x->order = (struct emu_order){.kind = EMU_ORDER_ASKED, .asker = ct_orders_asker(x->orders)};
	const int run_error = run_schedule(x);

	if (run_error == NVW_E_STOPPED) {
		return run_error;
	}
	if (ended_early(x)) {
		return 0;
	}
	x->ret->run++;
	x->ret->choices = nvw_max(ct_orders_steps(x->orders), x->ret->choices);
	free(x->turns);
	x->named.turns = x->turns = ct_orders_text(x->orders);
	x->ret->different++;
	NVW_ALLOCATED(x->turns, "no memory for an order");
	NVW_TRY(ct_orders_follow(x->again, x->turns));
	x->order.asker = ct_orders_asker(x->again);
	return look_at(x, run_error);
}

static bool is_enough(const struct schedules *x)
{
	const unsigned wanted = x->options->stop_after;

	return wanted > 0 && x->ret->finding_count + x->sum->finding_count >= wanted;
}

/* *ret_more: 0 behind the last order of all. */
static int try_next(struct schedules *x, uint64_t i, int *ret_more)
{
	if (nvw_stopping()) {
		return NVW_E_STOPPED;
	}
	if (!x->orders) {
		return try_schedule(x, i);
	}
	NVW_TRY(try_order(x, i + 1));
	*ret_more = ct_orders_next(x->orders);
	return *ret_more < 0 ? *ret_more : 0;
}

static int try_all(struct schedules *x)
{
	const double began = ct_wall_seconds();
	int error = 0, more = 1;

	for (uint64_t i = 0; i < x->options->schedules && more > 0 && !error && !is_enough(x); i++) {
		ct_tell(x->options, "schedules", i, x->options->schedules, x->ret->seconds);
		error = try_next(x, i, &more);
		x->ret->seconds = ct_wall_seconds() - began;
	}
	x->ret->exhausted = more == 0 && ct_orders_is_whole(x->orders);
	x->sum->consistent &= x->ret->finding_count == 0;
	if (error == NVW_E_STOPPED) {
		x->sum->interrupted = true;
		return 0;
	}
	return error;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

/* At the end of a run whose crash states are not tested. */
static int check_pool(
	const struct nvw_workload *w, void *plan, struct nvw_pool *pool, const struct nvw_acks *acks)
{
	struct nvw_findings findings = {0};
	const int error = w->check ? w->check(plan, pool, acks, &findings) : 0;

	NVW_FAIL_IF(error == NVW_E_INCONSISTENT && findings.kept > 0, error, "%s", findings.finding[0].text);
	return error;
}

static int check_every_order(const struct schedules *x, const struct ct_options *o)
{
	NVW_FAIL_IF(o->every_order && x->crashes && o->mode != CT_PERMITTED, NVW_E_USAGE,
		"--every-order: expected --mode=permitted: which states are observed is a matter of "
		"times, which these orders do not have");
	return 0;
}

static int prepare_runs(struct schedules *x)
{
	NVW_TRY(ct_bench_create(&x->subject, x->crashes, &x->logged.bench));
	return ct_run_shared_create(CT_ACK_RANGES_MAX, &x->logged.shared);
}

static int prepare(struct schedules *x, const struct ct_subject *subject)
{
	const struct ct_options *const o = x->options;

	NVW_TRY(check_every_order(x, o));
	if (o->every_order) {
		NVW_TRY(ct_orders_create(true, x->crashes, &x->orders));
		NVW_TRY(ct_orders_create(true, x->crashes, &x->again));
	}
	x->subject = *subject;
	x->subject.order = &x->order;
	x->subject.schedule = &x->named;
	x->subject.judge = x->crashes || !subject->workload->pool ? NULL : check_pool;
	x->named = (struct ct_schedule_named){.seed = o->seed, .depth = o->schedule_depth};
	x->rules =
		(struct ct_rules){.model = o->mode == CT_PERMITTED ? o->model : ct_model_for(CT_USE_TIMING),
			.unit_bytes = o->atomicity};
	x->logged.log_fd = -1;
	return prepare_runs(x);
}

static int run(struct schedules *x, const struct ct_subject *subject)
{
	NVW_TRY(prepare(x, subject));
	NVW_TRY(try_all(x));
	ct_coverage_free(&x->sum->coverage); /* of the first alone */
	return ct_coverage_of(ct_run_executed(x->logged.shared), &x->sum->coverage);
}

static void end(struct schedules *x)
{
	ct_logged_destroy(&x->logged);
	ct_orders_destroy(x->orders);
	ct_orders_destroy(x->again);
	free(x->turns);
	free(x->known.at);
	free(x);
}

int ct_run_schedules(const struct ct_subject *subject, const struct ct_options *options, bool crashes,
	struct ct_result *ret_result)
{
	const double began = ct_wall_seconds();
	struct schedules *const x = calloc(1, sizeof *x);

	NVW_INVARIANT(options->schedules > 0);
	NVW_ALLOCATED(x, "no memory for schedules");
	struct ct_options o = *options;
	int error = ct_options_complete(subject, &o);

	x->options = &o;
	x->crashes = crashes;
	x->sum = ret_result;
	ct_result_begin(x->sum, o.mode, o.model);
	x->ret = &ret_result->schedules;
	x->ret->asked = options->schedules;
	x->ret->depth = options->schedule_depth;
	x->ret->seed = options->seed;
	x->ret->every = options->every_order;
	if (!error) {
		error = run(x, subject);
	}
	end(x);
	ret_result->host_seconds = ct_wall_seconds() - began;
	return error;
}

/* ---- Again ------------------------------------------------------------------------------------------ */

static int try_drawn_of(struct schedules *x, const struct ct_schedule_named *named)
{
	NVW_TRY(try_schedule(x, 0));
	if (named->number == 0) {
		return 0;
	}
	x->ret->finding_count = 0;
	return try_schedule(x, named->number);
}

static int try_order_of(struct schedules *x, const struct ct_schedule_named *named)
{
	NVW_TRY(ct_orders_follow(x->orders, named->turns));
	return try_order(x, named->number);
}

int ct_schedule_again(const struct ct_subject *subject, const struct ct_schedule_named *named,
	struct ct_schedules *ret_schedules)
{
	const struct ct_options options = {.mode = CT_OBSERVED,
		.schedules = 1,
		.schedule_depth = named->depth,
		.every_order = named->turns,
		.seed = named->seed};
	struct ct_result *const sum = calloc(1, sizeof *sum);
	struct schedules *const x = calloc(1, sizeof *x);
	int error = x && sum ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for a schedule");

	if (!error) {
		*x = (struct schedules){.options = &options, .sum = sum, .ret = ret_schedules};
		*ret_schedules =
			(struct ct_schedules){.asked = 1, .depth = named->depth, .seed = named->seed};
		error = prepare(x, subject);
	}
	if (!error) {
		error = named->turns ? try_order_of(x, named) : try_drawn_of(x, named);
	}
	if (x) {
		end(x);
	}
	free(sum);
	return error;
}
