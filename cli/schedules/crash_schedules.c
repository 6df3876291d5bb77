/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash_schedules.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/group.h>
#include <crashtest/judge/process.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/stop.h"
#include "../programs/crash_sum.h"
#include "crash_races.h"
#include "crash_schedules.h"
#include "../report/words.h"

/* What a finding's schedule may take to be shortened: so many runs and seconds, and so many times the states
 * that were tested to find it. */
enum { RUNS = 60, SECONDS = 60, TIMES = 10 };

/* A schedule that has been run. */
struct ran {
	struct host_schedule made;
	char end[2048];
	uint64_t hash;
	bool has_log, is_new; /* its log is */
};

struct schedules {
	struct crash_tested *tested;
	const struct ct_options *options;
	struct cli_schedules asked;
	struct host_schedule_length first;
	struct cli_logs_seen logs;
	struct crash_races *races; /* NULL: they are not looked for */
	struct ct_result *sum;
	struct ran ran, shorter;
	struct { /* of the finding that is being shortened */
		unsigned runs;
		uint64_t states, states_most;
		double until;
	} took;
	struct host_switch list[HOST_SCHEDULE_SWITCHES];
};

/* ---- Running -------------------------------------------------------------------------------------- */

/* On a new copy of the image. 1: there is a log; 0: there is none. */
static int run_scheduled(struct schedules *x, const struct host_schedule_plan *plan,
	const struct host_switch *list, struct host_schedule *ret_made, char ret_end[2048])
{
	struct crash_tested *const t = x->tested;
	struct crash_recording *const r = &t->recorded;

	NVW_INVARIANT(plan->number > 0);
	NVW_TRY(working_copy_renew(&t->copy, t->request->image));
	*r = crash_tested_recording(t);
	r->judged = true;
	r->quiet = plan->number > 1; /* they would be the same */
	r->schedule = plan;
	r->switch_at = plan->number == 1 && plan->directed ? t->request->schedules.at : NULL;
	r->switches = list;
	if (!list && x->races) {
		r->take_races = crash_races_take;
		r->races = x->races;
	}
	r->made = ret_made;
	const int found = crash_record(r);

	memcpy(ret_end, r->end, sizeof r->end);
	return found;
}

static int run(struct schedules *x, const struct host_schedule_plan *plan, const struct host_switch *list,
	struct ran *ret)
{
	const int found = run_scheduled(x, plan, list, &ret->made, ret->end);

	ret->has_log = found > 0;
	ret->hash = 0;
	return ret->has_log ? crash_tested_hash(x->tested, &ret->hash) : found;
}

/* Its log is tested, or was. */
static int note_log(struct schedules *x, struct ran *r)
{
	const int is_new = r->has_log ? cli_log_is_new(&x->logs, r->hash) : 0;

	r->is_new = is_new > 0;
	return is_new < 0 ? is_new : 0;
}

/* The same by its list of switches. */
static int run_list(struct schedules *x, const struct host_schedule_plan *plan,
	const struct host_switch *list, uint32_t count, struct ran *ret)
{
	struct host_schedule_plan listed = *plan;

	NVW_INVARIANT(count <= HOST_SCHEDULE_SWITCHES);
	listed.policy = HOST_POLICY_SWITCHES;
	listed.switches = count;
	return run(x, &listed, list, ret);
}

/* ---- Saved ---------------------------------------------------------------------------------------- */

/* With all that a replay needs, the switches as [thread, its point, thread]. */
static json_t *schedule_json(
	const struct schedules *x, const struct host_schedule_plan *plan, const struct ran *r)
{
	const struct crash_request *const q = x->tested->request;
	char *const image = realpath(q->image, NULL);
	json_t *const switches = json_array();
	char hash[17];

	NVW_EACH(s, r->made.made, r->made.switches) {
		json_array_append_new(
			switches, json_pack("[i, I, i]", (int)s->from, (json_int_t)s->point, (int)s->to));
	}
	NVW_PRINT(hash, "%016llx", (ull)r->hash);
	json_t *const o = json_pack("{s:I, s:I, s:i, s:s, s:o, s:s, s:s, s:s, s:b, s:b}", "seed",
		(json_int_t)plan->seed, "number", (json_int_t)plan->number, "depth", (int)plan->depth,
		"policy", host_policy_name(plan->policy), "switches", switches, "log", hash, "exec", q->exec,
		"image", words_or(image, q->image), "stacks", q->stacks, "compare", q->compare);

	free(image);
	return o;
}

/* The number of switches. */
static uint32_t switches_of(const json_t *schedule, struct host_switch *list)
{
	const json_t *const all = json_object_get(schedule, "switches"), *one;
	const size_t count = nvw_min(json_array_size(all), HOST_SCHEDULE_SWITCHES);

	NVW_FOR(i, count) {
		one = json_array_get(all, i);
		list[i] = (struct host_switch){.from = (uint16_t)json_integer_value(json_array_get(one, 0)),
			.point = (uint64_t)json_integer_value(json_array_get(one, 1)),
			.to = (uint16_t)json_integer_value(json_array_get(one, 2))};
	}
	return (uint32_t)count;
}

int crash_schedules_again(struct crash_tested *t, const json_t *schedule, bool *ret_same, char ret_end[2048])
{
	struct schedules *const x = calloc(1, sizeof *x);
	const char *const hash = member_string(schedule, "log");
	const struct host_schedule_plan plan = {.depth = 1, .number = 1};
	char now[17];

	NVW_ALLOCATED(x, "no memory for a schedule");
	x->tested = t;
	const int error = run_list(x, &plan, x->list, switches_of(schedule, x->list), &x->ran);

	NVW_PRINT(now, "%016llx", (ull)x->ran.hash);
	*ret_same = x->ran.has_log && hash && strcmp(hash, now) == 0;
	memcpy(ret_end, x->ran.end, sizeof x->ran.end);
	free(x->logs.hash);
	free(x);
	return error;
}

/* ---- The sum -------------------------------------------------------------------------------------- */

/* Of two in the same words, the first that is saved stands for both. */
static void keep_one_file(struct ct_result *sum, const struct ct_finding *f)
{
	NVW_EACH(known, sum->finding, sum->finding_count) {
		const uint64_t states = known->states;

		if (f->saved[0] == '\0' || ct_shape_hash(known->text) != ct_shape_hash(f->text)) {
			continue;
		}
		if (known->saved[0] != '\0') {
			unlink(f->saved);
			return;
		}
		*known = *f;
		known->states = states;
	}
}

static void add(struct schedules *x, const struct host_schedule_plan *plan, const struct ran *from,
	struct ct_result *r)
{
	NVW_INVARIANT(from->has_log);
	NVW_EACH(f, r->finding, r->finding_count) {
		f->thread_schedule = plan->number;
		f->switches = from->made.switches;
		f->shorten_runs = x->took.runs;
		f->shorten_states = x->took.states;
		NVW_PRINT(f->policy, "%s", host_policy_name(plan->policy));
		keep_one_file(x->sum, f);
	}
	crash_sum_add(x->sum, r);
}

/* ---- Exploring ------------------------------------------------------------------------------------ */

static int explore_scheduled(const struct crash_tested *t, const struct ct_options *o, json_t *schedule,
	struct ct_result *ret_result)
{
	struct ct_foreign foreign = crash_tested_log(t);

	foreign.schedule = schedule;
	return crash_tested_explore(t, &foreign, o, ret_result);
}

/* Only whether it fails, and in which words. */
static int look(const struct schedules *x, struct ct_options o, struct ct_result *ret)
{
	o.cures = false;
	o.unexplained = true;
	o.save = NULL;
	ct_result_clear(ret);
	return explore_scheduled(x->tested, &o, NULL, ret);
}

static int explore(struct schedules *x, const struct host_schedule_plan *plan, const struct ran *r,
	struct ct_result *ret)
{
	json_t *const schedule = schedule_json(x, plan, r);

	ct_result_clear(ret);
	const int error = explore_scheduled(x->tested, x->options, schedule, ret);

	json_decref(schedule);
	return error;
}

/* Up to the first state that fails in these words. */
static int look_for(struct schedules *x, const char *text, struct ct_result *ret)
{
	struct ct_options o = *x->options;

	const uint64_t left = x->took.states_most - x->took.states;

	o.stop_at = text;
	if (o.states == 0 || o.states > left) {
		o.states = left;
	}
	NVW_TRY(look(x, o, ret));
	x->took.states += ret->states_tested;
	return 0;
}

/* Whether a list of switches leads to a failure in these words: 1, 0 or an error. */
static int fails_alike(struct schedules *x, const struct host_schedule_plan *plan,
	const struct host_switch *list, uint32_t count, const char *text, struct ct_result *room)
{
	bool alike = false;

	NVW_TRY(run_list(x, plan, list, count, &x->shorter));
	if (x->shorter.has_log) {
		NVW_TRY(look_for(x, text, room));
		alike = crash_sum_has(room, text);
		ct_result_free(room);
	}
	return alike;
}

static bool may_go_on(const struct schedules *x)
{
	return x->took.runs < RUNS && x->took.states < x->took.states_most &&
	       ct_wall_seconds() < x->took.until;
}

/* Leaves out switches, many at a time and at last one by one, as long as it fails alike. The list is x->list.
 */
static int shorten(struct schedules *x, const struct host_schedule_plan *plan, const char *text,
	uint32_t *count, struct ct_result *room)
{
	struct host_switch *const fewer = malloc((*count + 1) * sizeof *fewer);

	NVW_INVARIANT(*count <= HOST_SCHEDULE_SWITCHES);
	NVW_ALLOCATED(fewer, "no memory for a schedule");
	int alike = 0;

	for (uint32_t n = *count; n > 0 && alike >= 0; n /= 2) {
		for (uint32_t at = 0; at < *count && alike >= 0 && may_go_on(x); x->took.runs++) {
			const uint32_t left_out = (uint32_t)nvw_min(n, *count - at), behind = at + left_out;

			memcpy(fewer, x->list, at * sizeof *fewer);
			memcpy(fewer + at, x->list + behind, (*count - behind) * sizeof *fewer);
			alike = fails_alike(x, plan, fewer, *count - left_out, text, room);
			if (alike > 0) {
				*count = x->shorter.made.switches;
				memcpy(x->list, x->shorter.made.made, *count * sizeof *fewer);
			} else {
				at = behind;
			}
		}
	}
	free(fewer);
	return alike < 0 ? alike : 0;
}

/* A schedule has a finding in words that are new: it is explained in as short a schedule as is found. */
static int explain_in_short(
	struct schedules *x, const struct host_schedule_plan *plan, const char *words, struct ct_result *room)
{
	char text[CT_TEXT_BYTES];
	uint32_t count = x->ran.made.switches;

	NVW_INVARIANT(x->ran.has_log);
	NVW_PRINT(text, "%s", words);
	memcpy(x->list, x->ran.made.made, count * sizeof *x->list);
	NVW_TRY(shorten(x, plan, text, &count, room));
	NVW_TRY(run_list(x, plan, x->list, count, &x->shorter));
	if (!x->shorter.has_log) {
		return 0;
	}
	NVW_TRY(note_log(x, &x->shorter));
	NVW_TRY(explore(x, plan, &x->shorter, room));
	add(x, plan, &x->shorter, room);
	return 0;
}

/* A log that is new: result and room are for results. Where races are looked for, only what these lose is
 * explained: the rest is another command's, and takes minutes. */
static int test_log(struct schedules *x, const struct host_schedule_plan *plan, struct ct_result *result,
	struct ct_result *room)
{
	NVW_INVARIANT(x->ran.is_new);
	NVW_TRY(look(x, *x->options, result));
	for (const char *words;
		x->races == NULL && !result->interrupted && (words = crash_sum_first_new(x->sum, result));) {
		const unsigned before = x->sum->finding_count;

		x->took.runs = 0;
		x->took.states = 0;
		x->took.states_most = TIMES * result->states_tested;
		x->took.until = ct_wall_seconds() + SECONDS;
		const int error = explain_in_short(x, plan, words, room);

		if (error) { /* it may be interrupted */
			add(x, plan, &x->ran, result);
			return error;
		}
		if (x->sum->finding_count == before) {
			break; /* there is no room, or it does not repeat */
		}
	}
	add(x, plan, &x->ran, result);
	return 0;
}

static void note_end(struct schedules *x, const struct host_schedule_plan *plan)
{
	struct ct_result *const sum = x->sum;

	sum->thread_schedules.run++;
	sum->thread_schedules.different = x->logs.count;
	sum->thread_schedules.outside = sum->thread_schedules.outside || x->ran.made.outside;
	if (x->ran.end[0] == '\0') {
		return;
	}
	if (sum->thread_schedules.stuck++ == 0) {
		NVW_PRINT(sum->thread_schedules.first_stuck, "schedule %llu: %.1900s", (ull)plan->number,
			x->ran.end);
	}
	NVW_INVARIANT(sum->thread_schedules.stuck <= sum->thread_schedules.run);
}

/* A state of a cut fails, and no other store is lost there. */
static void note_loss(void *context, struct ct_result *result)
{
	struct schedules *const x = context;

	add(x, &x->ran.made.plan, &x->ran, result);
}

static int try_races(struct schedules *x, const struct host_schedule_plan *plan, struct ct_result *room)
{
	json_t *const schedule = schedule_json(x, plan, &x->ran);
	const int error = crash_races_try(x->races, x->tested, x->options, schedule, room, note_loss, x);

	json_decref(schedule);
	return error;
}

static int test_schedule(struct schedules *x, uint64_t number, struct ct_result *rooms)
{
	const bool directed = x->asked.at != NULL || x->races;

	NVW_INVARIANT(number > 0);
	if (number > 1 && x->races) {
		crash_races_aim(x->races, number, &x->first);
	}
	const struct host_schedule_plan plan =
		host_schedule_plan_of(x->asked.seed, number, x->asked.depth, directed, &x->first);

	NVW_TRY(run(x, &plan, NULL, &x->ran));
	if (number == 1) {
		x->first = x->ran.made.length;
	}
	if (number == 1 && x->asked.only > 1) {
		return 0; /* it was run for its length */
	}
	NVW_TRY(note_log(x, &x->ran));
	note_end(x, &plan);
	if (!x->ran.is_new) {
		return 0;
	}
	if (x->races) {
		NVW_TRY(try_races(x, &plan, &rooms[0]));
	}
	return test_log(x, &plan, &rooms[0], &rooms[1]);
}

static int test_all(struct schedules *x)
{
	NVW_INVARIANT(x->asked.count > 0);

	struct ct_result *const rooms = calloc(2, sizeof *rooms);
	int error = rooms ? test_schedule(x, 1, rooms) : nvw_fail(NVW_E_MEMORY, "no memory for results");

	for (uint64_t i = 2; i <= x->asked.count && !error && !nvw_stopping() && x->asked.only == 0; i++) {
		error = test_schedule(x, i, rooms);
	}
	if (x->asked.only > 1 && !error) {
		error = test_schedule(x, x->asked.only, rooms);
	}
	x->sum->interrupted = x->sum->interrupted || nvw_stopping();
	free(rooms);
	return error == NVW_E_STOPPED && x->sum->thread_schedules.run > 0 ? 0 : error; /* the others stand */
}

/* A cut is that of a processor's caches, and the images of its operations are not known. */
static int check_races(const struct crash_tested *t, const struct ct_options *o)
{
	const bool is_x86 = o->model == CT_MODEL_OBSERVED || o->model == CT_MODEL_X86;

	NVW_FAIL_IF(!is_x86 || t->machine->nvram.domain == EMU_DOMAIN_eadr, NVW_E_USAGE,
		"crash: --races is for --model=x86 and a domain without caches");
	NVW_FAIL_IF(
		t->request->replays || o->robust, NVW_E_USAGE, "crash: --races needs --check or --check-lib");
	return 0;
}

int crash_schedules_run(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	struct schedules *const x = calloc(1, sizeof *x);
	const double began = ct_wall_seconds();

	NVW_ALLOCATED(x, "no memory for schedules");
	if (t->request->schedules.races) {
		const int refused = check_races(t, o);

		if (refused) {
			free(x);
			return refused;
		}
	}
	crash_sum_begin(ret_result);
	x->tested = t;
	x->options = o;
	x->asked = t->request->schedules;
	x->sum = ret_result;
	x->sum->thread_schedules.only = x->asked.only;
	if (x->asked.races) {
		x->races = crash_races_begin();
	}
	const int error =
		x->asked.races && !x->races ? nvw_fail(NVW_E_MEMORY, "no memory for races") : test_all(x);

	if (x->races) {
		crash_races_end(x->races, &ret_result->races);
	}

	ret_result->host_seconds = ct_wall_seconds() - began;
	free(x->logs.hash);
	free(x);
	return error < 0 ? ct_or_undecided(error, o, ret_result) : 0;
}
