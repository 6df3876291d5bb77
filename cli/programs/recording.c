/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program under the recorder. See recording.h. */
#include "recording.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"
#include "core/stop.h"
#include "host_machine.h"
#include "recorded_log.h"
#include "../../host/folder.h"

/* Up to the switches that were made: the rest is hundreds of empty pages. */
static void copy_made(struct host_schedule *to, const struct host_schedule *from)
{
	NVW_INVARIANT(from->switches <= HOST_SCHEDULE_SWITCHES);
	memcpy(to, from, offsetof(struct host_schedule, made) + from->switches * sizeof *from->made);
}

/* What the run's record is, and what the schedule has become. */
static int take_schedule(struct host_session *s, struct crash_recording *r)
{
	NVW_TRY(host_schedule_check(s));
	if (r->take_races) {
		NVW_TRY(r->take_races(r->races, s));
	}
	if (r->schedule) {
		if (r->switch_at) {
			NVW_TRY(host_schedule_direct(s, r->switch_at));
		}
		copy_made(r->made, s->schedule);
		FILE *const to = fmemopen(r->end, sizeof r->end - 1, "w");

		if (to) {
			host_schedule_print_end(s, to);
			fclose(to);
		}
	}
	return recorded_log_take(s, r);
}

static void prepare_session(struct host_session *s, struct crash_recording *r)
{
	NVW_INVARIANT(r->limit >= 0);
	s->quiet = s->alone = true;
	s->apart = r->kill_at > 0;
	s->control->kill_at = r->kill_at;
	s->limit = r->limit;
	s->input = r->input;
	s->model = r->model;
	s->fs = r->fs;
}

static int run_recorded(struct host_session *s, struct crash_recording *r)
{
	int error = 0;

	if (r->emulate) {
		error = cli_emulate_kernels(s, r->machine, NULL);
	}
	prepare_session(s, r);
	if (r->is_folder && !error) {
		error = host_folder_take(s, r->path, r->except);
	} else if (!r->from_map) {
		NVW_PRINT(s->control->image, "%.1023s", r->path);
	}
	if (!error && !r->is_folder) {
		error = recorded_log_hash_image(r->path, &r->before);
	}
	error = NVW_OR(error, host_session_run(s, r->words));
	r->timed_out = s->timed_out;
	NVW_TRY(error);
	if (s->timed_out && !nvw_stopping()) {
		return 0;
	}
	if (r->coverage) {
		NVW_TRY(host_coverage_add(r->coverage, s, &r->fresh));
	}
	if (nvw_stopping()) {
		return nvw_stop_error();
	}
	return take_schedule(s, r);
}

int crash_record(struct crash_recording *r)
{
	NVW_INVARIANT(r->words[0] && r->path);

	const struct host_options options = {.machine = cli_host_machine(r->machine),
		.record = true,
		.stacks = r->stacks,
		.compare = r->compare,
		.coverage = r->coverage != NULL,
		.check = r->take_races != NULL,
		.schedule = r->schedule,
		.switches = r->switches};
	struct host_session s;

	NVW_TRY(host_session_begin(&options, &s));
	const int found = run_recorded(&s, r);

	host_session_end(&s);
	return found;
}
