/* SPDX-License-Identifier: BSD-3-Clause */
/* See exec_schedules.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/stop.h"
#include "exec_schedules.h"
#include "../report/words.h"

/* Ends in words of their own, and schedules of each. */
enum { PRINTED = 16, NUMBERS = 12 };

/* ---- Records -------------------------------------------------------------------------------------- */

/* What the program has put in a file's place may be a pipe, and nobody writes to it. */
static bool is_regular(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* The hash covers what is recorded, and all files that the program has mapped: what they were before, and
 * what they are, since stores may have come after the last event. */
static int hash_record(const struct host_session *s, uint64_t *ret_hash)
{
	char path[300];

	*ret_hash = s->control->file_count;
	NVW_TRY(host_session_check_followed(s, NULL));
	NVW_TRY(host_session_hash(s, ret_hash));
	NVW_FOR(i, s->control->file_count) {
		const char *const now = s->control->file[i].path;

		host_session_base(s, i, path, sizeof path);
		NVW_TRY(cli_hash_file(path, ret_hash));
		if (is_regular(now)) {
			NVW_TRY(cli_hash_file(now, ret_hash));
		}
	}
	return 0;
}

/* ---- Files between two runs ----------------------------------------------------------------------- */

/* A time by the clock of files. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_born_since(const char *path, uint64_t since)
{
	struct statx s;

	return statx(AT_FDCWD, path, 0, STATX_BTIME, &s) == 0 && s.stx_mask & STATX_BTIME &&
	       (uint64_t)s.stx_btime.tv_sec * 1000000000u + s.stx_btime.tv_nsec >= since;
}

/* What the program has created goes; another file is again as it was when it was mapped first. */
static int put_back(const struct host_session *s, uint64_t since)
{
	NVW_FOR(i, s->control->file_count) {
		const char *const path = s->control->file[i].path;

		if (access(path, F_OK) != 0) {
			continue;
		}
		if (is_born_since(path, since)) {
			unlink(path);
		} else {
			NVW_TRY(host_session_save_base(s, i, path));
		}
	}
	return 0;
}

/* ---- One schedule --------------------------------------------------------------------------------- */

/* "": it ended with status 0. */
static void end_text(const struct host_session *s, char *text, size_t n)
{
	FILE *const to = fmemopen(text, n, "w");

	text[0] = '\0';
	if (to == NULL) {
		return;
	}
	host_schedule_print_end(s, to);
	if (s->schedule->end == HOST_SCHEDULE_RAN && WIFSIGNALED(s->status)) {
		fprintf(to, "ended by signal %d (%s)", WTERMSIG(s->status), strsignal(WTERMSIG(s->status)));
	} else if (s->schedule->end == HOST_SCHEDULE_RAN && s->status != 0) {
		fprintf(to, "ended with status %d", WEXITSTATUS(s->status));
	}
	fclose(to);
	text[n - 1] = '\0';
}

static void note_end(struct exec_schedules *x, const struct host_session *s)
{
	const struct host_schedule_plan *const plan = &s->schedule->plan;
	char text[4096];

	end_text(s, text, sizeof text);
	if (text[0] != '\0') {
		x->bad++;
		json_array_append_new(
			x->ended, json_pack("{s:I, s:s, s:s}", "schedule", (json_int_t)plan->number, "policy",
					  host_policy_name(plan->policy), "text", text));
	}
}

static void place_text(const struct host_session *s, uint32_t site, char *text, size_t n)
{
	struct host_place p;

	host_place_of(s->control, site, &p);
	snprintf(text, n, "%s:%u %s", p.file, p.line, p.function);
}

static json_t *pair_json(const struct host_session *s, uint32_t store, uint32_t load)
{
	char from[400], to[400];

	place_text(s, store, from, sizeof from);
	place_text(s, load, to, sizeof to);
	return json_pack("{s:s, s:s}", "store", from, "load", to);
}

/* The witness of a pair; NULL: there is none. */
static json_t *witness_of(const struct exec_schedules *x, const json_t *pair)
{
	JSON_EACH(one, x->witnessed) {
		if (json_equal(json_object_get(one, "pair"), pair)) {
			return one;
		}
	}
	return NULL;
}

static void note_witnesses(struct exec_schedules *x, const struct host_session *s)
{
	const struct host_schedule *const c = s->schedule;

	NVW_FOR(i, c->witnesses) {
		json_t *const pair = pair_json(s, c->witness[i].store, c->witness[i].load);

		if (witness_of(x, pair) == NULL) {
			json_array_append_new(
				x->witnessed, json_pack("{s:I, s:O}", "schedule", (json_int_t)c->plan.number,
						      "pair", pair));
		}
		json_decref(pair);
	}
}

static int note_run(struct exec_schedules *x, struct host_session *s, uint64_t *ret_hash)
{
	NVW_TRY(host_schedule_check(s));
	NVW_TRY(hash_record(s, ret_hash));
	const int is_new = cli_log_is_new(&x->logs, *ret_hash);

	if (is_new < 0) {
		return is_new;
	}
	x->run++;
	x->outside = x->outside || s->schedule->outside;
	note_end(x, s);
	note_witnesses(x, s);
	return 0;
}

static int run_one(struct exec_schedules *x, const struct host_options *options, char *const argv[],
	uint64_t number, uint64_t since)
{
	const struct host_schedule_plan plan =
		host_schedule_plan_of(x->asked.seed, number, x->asked.depth, x->asked.at != NULL, &x->first);
	struct host_options o = *options;
	struct host_session s;
	uint64_t hash = 0;

	NVW_INVARIANT(number > 0);
	o.schedule = &plan;
	NVW_TRY(host_session_begin(&o, &s));
	s.alone = true;
	int error = host_session_run(&s, argv);

	error = NVW_OR(error, note_run(x, &s, &hash));
	error = NVW_OR(error, put_back(&s, since));
	if (!error && number == 1 && x->asked.at != NULL) {
		error = host_schedule_direct(&s, x->asked.at);
	}
	if (number == 1) {
		x->first = s.schedule->length;
		x->first_hash = hash;
	}
	host_session_end(&s);
	return error;
}

/* ---- All ------------------------------------------------------------------------------------------ */

/* Schedule 1 is the first, since the others are made from its length; it is run again, and reported, or the
 * one that is run alone. */
int exec_schedules_run(const struct host_options *options, char *const argv[], struct exec_schedules *x,
	struct host_schedule_plan *ret_plan)
{
	const uint64_t since = now_ns();
	int error = 0;

	NVW_INVARIANT(x->asked.count > 0);
	x->ended = json_array();
	x->witnessed = json_array();
	for (uint64_t i = 1; i <= x->asked.count && !error && !nvw_stopping(); i++) {
		error = run_one(x, options, argv, i, since);
	}
	*ret_plan = host_schedule_plan_of(x->asked.seed, x->asked.only > 0 ? x->asked.only : 1,
		x->asked.depth, x->asked.at != NULL, &x->first);
	return error;
}

int exec_schedules_ran(struct exec_schedules *x, struct host_session *s)
{
	uint64_t hash;

	NVW_TRY(host_schedule_check(s));
	x->repeats = x->asked.only > 1;
	if (x->repeats) {
		return note_run(x, s, &hash);
	}
	NVW_TRY(hash_record(s, &hash));
	x->repeats = hash == x->first_hash;
	return 0;
}

void exec_schedules_end(struct exec_schedules *x)
{
	json_decref(x->ended);
	json_decref(x->witnessed);
	free(x->logs.hash);
}

void exec_schedules_witness(
	const struct exec_schedules *x, const struct host_session *s, struct host_candidates *c)
{
	c->schedules = x->run;
	c->besides = json_array_size(x->witnessed);
	for (size_t i = 0; i < c->count && x->run > 0; i++) {
		json_t *const pair = pair_json(s, c->list[i].store, c->list[i].load);
		json_t *const witness = witness_of(x, pair);

		if (witness != NULL) {
			c->list[i].witness = member_count(witness, "schedule");
			c->witnessed++;
			c->besides -= json_object_get(witness, "candidate") == NULL;
			json_object_set_new(witness, "candidate", json_true());
		}
		json_decref(pair);
	}
	NVW_INVARIANT(c->witnessed <= c->count);
}

/* ---- Report --------------------------------------------------------------------------------------- */

static const char *const unrepeated =
	"schedule 1 was run twice, and its logs differ: the program does not do the same thing twice (random "
	"numbers, "
	"another process, a clock that is not the schedule's)";

/* Those that the schedule of the report did not let expect. */
static void print_witnessed(const struct exec_schedules *x, FILE *to)
{
	JSON_EACH(one, x->witnessed) {
		const json_t *const pair = json_object_get(one, "pair");

		if (json_object_get(one, "candidate") == NULL) {
			fprintf(to,
				"    schedule %lld: load %s reads what store %s has not made durable, and "
				"its thread makes something durable\n",
				member_number(one, "schedule"), member_string(pair, "load"),
				member_string(pair, "store"));
		}
	}
}

static const char *end_of(const json_t *ended, size_t i)
{
	NVW_INVARIANT(i < json_array_size(ended));
	return member_string(json_array_get(ended, i), "text");
}

/* An earlier one ended in the same words. */
static bool is_told(const json_t *ended, size_t i)
{
	return NVW_ANY_BELOW(k, i, !strcmp(end_of(ended, k), end_of(ended, i)));
}

/* All that ended in the words of this one, the first of them. Returns how many. */
static uint64_t print_alike(const json_t *ended, size_t first, FILE *to)
{
	uint64_t alike = 0;

	NVW_INVARIANT(!is_told(ended, first));
	for (size_t i = first; i < json_array_size(ended); i++) {
		const json_t *const one = json_array_get(ended, i);

		if (strcmp(end_of(ended, first), end_of(ended, i)) != 0) {
			continue;
		}
		if (alike == 0) {
			fprintf(to, "    schedule %lld (%s)", member_number(one, "schedule"),
				member_string(one, "policy"));
		} else if (alike < NUMBERS) {
			fprintf(to, ", %lld", member_number(one, "schedule"));
		}
		alike++;
	}
	if (alike > NUMBERS) {
		fprintf(to, " and %llu more", (ull)alike - NUMBERS);
	}
	fprintf(to, ": %s\n", end_of(ended, first));
	return alike;
}

static void print_ends(const struct exec_schedules *x, FILE *to)
{
	uint64_t told = 0;
	unsigned printed = 0;

	for (size_t i = 0; i < json_array_size(x->ended) && printed < PRINTED; i++) {
		if (!is_told(x->ended, i)) {
			told += print_alike(x->ended, i, to);
			printed++;
		}
	}
	if (x->bad > told) {
		fprintf(to, "    %llu more: --output-format=json has all\n", (ull)(x->bad - told));
	}
}

void exec_schedules_text(const struct exec_schedules *x, FILE *to)
{
	if (x->asked.count == 0) {
		return;
	}
	NVW_INVARIANT(x->bad <= x->run);
	fprintf(to,
		"schedules: %llu run, %zu different; %llu ended badly (seed %llu, depth %u; this report is "
		"of schedule %llu)\n",
		(ull)x->run, x->logs.count, (ull)x->bad, (ull)x->asked.seed, x->asked.depth,
		(ull)(x->asked.only > 0 ? x->asked.only : 1));
	print_ends(x, to);
	print_witnessed(x, to);
	if (x->outside) {
		fprintf(to, "    %s\n", OUTSIDE_WORDS);
	}
	if (!x->repeats) {
		fprintf(to, "    %s\n", unrepeated);
	}
}

json_t *exec_schedules_json(const struct exec_schedules *x)
{
	if (x->asked.count == 0) {
		return NULL;
	}
	return json_pack("{s:I, s:I, s:I, s:i, s:b, s:b, s:O, s:O}", "run", (json_int_t)x->run, "different",
		(json_int_t)x->logs.count, "seed", (json_int_t)x->asked.seed, "depth", (int)x->asked.depth,
		"repeats", x->repeats, "outside", x->outside, "ended", x->ended, "witnessed", x->witnessed);
}
