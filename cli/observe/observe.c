/* SPDX-License-Identifier: BSD-3-Clause */
/* One observer and one clock for all that looks into a run. See observe.h. */
#include "../report/words.h"
#include "observe.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <crashtest/judge/process.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/units.h"
#include "latencies.h"
#include "memory_trace.h"
#include "series.h"
#include "timeline.h"

/* The clock rings this often where a limit of the host's time or a terminal needs it. */
static const uint64_t look_ps = 1000000;

struct cli_observers {
	struct nvw_machine *machine;
	struct cli_timeline *timeline;
	struct cli_series *series;
	struct cli_latencies *latencies;
	struct cli_memory_trace *memory;
	const char *limit_text, *host_limit_text; /* NULL: none */
	uint64_t origin_ps, limit_ps, limit_at_ps, look_at_ps;
	double began, host_limit, shown; /* s */
	uint64_t operations, acknowledged, launches, groups;
	bool is_terminal;
};

/* ---- Options ------------------------------------------------------------------------------------- */

static int parse_time(const char *text, uint64_t *ret_ps)
{
	bool cycles = false;

	NVW_TRY(nvw_parse_time(text, ret_ps, &cycles));
	NVW_FAIL_IF(cycles || !*ret_ps, NVW_E_USAGE, "\"%s\": expected a time such as 10us", text);
	return 0;
}

static int take_time(const struct cli_options *o, enum cli_option_id id, const char *name, uint64_t *ret_ps)
{
	const char *const text = cli_text(o, id);

	if (!text) {
		return 0;
	}
	const int r = parse_time(text, ret_ps);

	NVW_FAIL_IF(r, r, "--%s=%s", name, nvw_error_message());
	return 0;
}

static int take_window(const struct cli_options *options, struct cli_window *ret)
{
	if (cli_given(options, CLI_timeline_window)) {
		const int r = cli_window_parse(cli_text(options, CLI_timeline_window), ret);

		NVW_FAIL_IF(r, r, "--timeline-window=%s", nvw_error_message());
	}
	return 0;
}

static int create_timeline(struct cli_observers *o, const struct cli_options *options)
{
	struct cli_window window = {.to_ps = UINT64_MAX};

	NVW_TRY(take_window(options, &window));
	if (!cli_given(options, CLI_timeline)) {
		return 0;
	}
	return cli_timeline_create(cli_text(options, CLI_timeline), &window, &o->timeline);
}

static int create_series(struct cli_observers *o, const struct cli_options *options)
{
	uint64_t interval_ps = 10 * look_ps;

	NVW_TRY(take_time(options, CLI_interval, "interval", &interval_ps));
	if (!cli_given(options, CLI_series)) {
		return 0;
	}
	return cli_series_create(cli_text(options, CLI_series), (enum cli_per)cli_number(options, CLI_per),
		interval_ps, &o->series);
}

static int create_memory_trace(struct cli_observers *o, const struct cli_options *options)
{
	const char *const device = cli_text(options, CLI_memory_device);
	uint64_t cycle_ps = 1000;

	NVW_TRY(take_time(options, CLI_memory_cycle, "memory-cycle", &cycle_ps));
	if (!cli_given(options, CLI_memory_trace)) {
		return 0;
	}
	return cli_memory_trace_create(cli_text(options, CLI_memory_trace),
		(enum cli_memory_format)cli_number(options, CLI_memory_format), NVW_OR(device, "nvram"),
		cycle_ps, &o->memory);
}

int cli_observers_create(
	const struct cli_options *options, const char *const *operations, struct cli_observers **ret)
{
	struct cli_observers *const o = calloc(1, sizeof *o);

	NVW_ALLOCATED(o, "no memory to observe the run");
	*ret = o;
	o->limit_text = cli_text(options, CLI_limit);
	o->host_limit_text = cli_text(options, CLI_host_limit);
	o->host_limit = (double)cli_number(options, CLI_host_limit) / 1e3;
	o->is_terminal = isatty(STDERR_FILENO);
	NVW_TRY(take_time(options, CLI_limit, "limit", &o->limit_ps));
	NVW_TRY(create_timeline(o, options));
	NVW_TRY(create_series(o, options));
	NVW_TRY(create_memory_trace(o, options));
	if (cli_given(options, CLI_latencies)) {
		NVW_TRY(cli_latencies_create(operations, &o->latencies));
	}
	return 0;
}

void cli_observers_free(struct cli_observers *o)
{
	if (o) {
		cli_timeline_free(o->timeline);
		cli_series_free(o->series);
		cli_latencies_free(o->latencies);
		cli_memory_trace_free(o->memory);
		free(o);
	}
}

/* ---- Progress ------------------------------------------------------------------------------------ */

/* The share of the work that is known to be done; 0: unknown. */
static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static double share_done(const struct cli_observers *o, uint64_t now_ps)
{
	NVW_INVARIANT(now_ps >= o->origin_ps);
	return fmax(share_of(now_ps - o->origin_ps, o->limit_ps), share_of(o->acknowledged, o->operations));
}

static void show_progress(struct cli_observers *o, uint64_t now_ps, double now)
{
	const double took = now - o->began, share = share_done(o, now_ps);
	const double us = (double)(now_ps - o->origin_ps) / 1e6;

	NVW_INVARIANT(o->is_terminal);
	o->shown = now;
	fprintf(stderr, "\r%.0f us of simulated time, %.3g us/s, launch %llu, %llu work-groups ended", us,
		us / took, (ull)o->launches + 1, (ull)o->groups);
	if (o->acknowledged) {
		fprintf(stderr, ", %llu operations", (ull)o->acknowledged);
	}
	if (share > 0 && share <= 1) {
		fprintf(stderr, ", %.0f %%, %.0f s left", 100 * share, took / share - took);
	}
	fputs("\033[K", stderr);
	fflush(stderr);
}

static void clear_progress(struct cli_observers *o)
{
	if (o->shown > 0) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
}

void cli_observers_acknowledged(struct cli_observers *o, uint64_t count)
{
	if (o->machine) {
		o->acknowledged += count;
	}
}

/* ---- The clock ----------------------------------------------------------------------------------- */

static int look(struct cli_observers *o, uint64_t until_ps)
{
	const double now = ct_wall_seconds();

	if (o->is_terminal && now - o->began > 1 && now - o->shown > 0.5) {
		show_progress(o, o->look_at_ps, now);
	}
	NVW_INVARIANT(until_ps >= o->look_at_ps);
	/* Nothing happens until then: looking more often shows nothing new. */
	o->look_at_ps += (1 + (until_ps - o->look_at_ps) / look_ps) * look_ps;
	NVW_FAIL_IF(o->host_limit > 0 && now - o->began > o->host_limit, NVW_E_STOPPED,
		"UNDECIDED: stopped by --host-limit=%s", o->host_limit_text);
	return 0;
}

static uint64_t next_ring(const struct cli_observers *o)
{
	uint64_t next = nvw_min(o->limit_at_ps, o->look_at_ps);

	if (o->series && cli_series_next(o->series) < next) {
		next = cli_series_next(o->series);
	}
	return next;
}

static int ring(void *context, uint64_t until_ps, uint64_t *next_ps)
{
	struct cli_observers *const o = context;
	const uint64_t now = *next_ps;

	NVW_FAIL_IF(o->limit_at_ps == now, NVW_E_STOPPED, "UNDECIDED: stopped by --limit=%s", o->limit_text);
	if (o->look_at_ps == now) {
		NVW_TRY(look(o, until_ps));
	}
	/* Last: a run that ends here has not come to the end of an interval. */
	if (o->series && cli_series_next(o->series) == now) {
		NVW_TRY(cli_series_ring(o->series));
	}
	*next_ps = next_ring(o);
	return 0;
}

/* ---- The measured part --------------------------------------------------------------------------- */

static void see(void *context, const struct emu_sight *sight)
{
	struct cli_observers *const o = context;

	o->launches += sight->kind == EMU_SIGHT_KERNEL;
	o->groups += sight->kind == EMU_SIGHT_GROUP;
	if (o->timeline) {
		cli_timeline_see(o->timeline, sight);
	}
	if (o->series) {
		cli_series_see(o->series, sight);
	}
	if (o->latencies) {
		cli_latencies_see(o->latencies, sight);
	}
	if (o->memory) {
		cli_memory_trace_see(o->memory, sight);
	}
}

static void start_clock(struct cli_observers *o)
{
	o->limit_at_ps = o->look_at_ps = UINT64_MAX;
	if (o->limit_ps) {
		o->limit_at_ps = o->origin_ps + o->limit_ps;
	}
	if (o->is_terminal || o->host_limit > 0) {
		o->look_at_ps = o->origin_ps + look_ps;
	}
	emu_set_clock(o->machine, &(struct emu_clock){.time_ps = next_ring(o), .ring = ring, .context = o});
}

int cli_observers_start(struct cli_observers *o, struct nvw_machine *machine, uint64_t operations)
{
	NVW_INVARIANT(!o->machine);
	o->machine = machine;
	o->operations = operations;
	o->origin_ps = nvw_time_ps(machine);
	o->began = ct_wall_seconds();
	if (o->timeline) {
		cli_timeline_start(o->timeline, machine);
	}
	if (o->series) {
		NVW_TRY(cli_series_start(o->series, machine));
	}
	if (o->memory) {
		NVW_TRY(cli_memory_trace_start(o->memory, machine));
	}
	start_clock(o);
	if (o->timeline || o->series || o->latencies || o->memory || o->is_terminal) {
		return emu_watch(machine, see, o);
	}
	return 0;
}

bool cli_observers_write(const struct cli_observers *o)
{
	return o && (o->timeline || o->series || o->memory);
}

static void say_incomplete(uint64_t complete_ps)
{
	char text[NVW_UNIT_TEXT];

	fprintf(stderr,
		"nvwave: the timeline is complete up to %s only, because it is too long: choose a part by "
		"--timeline-window\n",
		nvw_format_time(complete_ps, text));
}

static int write_timeline(struct cli_observers *o, uint64_t now_ps)
{
	uint64_t complete_ps;

	NVW_TRY(cli_timeline_check(o->timeline, now_ps));
	NVW_TRY(cli_timeline_write(o->timeline, &complete_ps));
	if (complete_ps != UINT64_MAX) {
		say_incomplete(complete_ps);
	}
	return 0;
}

static int write_all(struct cli_observers *o, uint64_t now_ps, struct nvw_description *description)
{
	NVW_INVARIANT(!o->machine);
	if (o->series) {
		NVW_TRY(cli_series_end(o->series, now_ps));
	}
	if (o->memory) {
		NVW_TRY(cli_memory_trace_end(o->memory));
	}
	if (o->timeline) { /* takes longest */
		NVW_TRY(write_timeline(o, now_ps));
	}
	if (o->latencies) {
		NVW_TRY(cli_latencies_describe(o->latencies, description));
	}
	return 0;
}

int cli_observers_end(struct cli_observers *o, struct nvw_description *description)
{
	struct nvw_machine *const machine = o->machine;

	if (!machine) {
		return 0;
	}
	o->machine = NULL;
	clear_progress(o);
	emu_set_clock(machine, &(struct emu_clock){0});
	(void)!emu_watch(machine, NULL, NULL);
	return write_all(o, nvw_time_ps(machine), description);
}
