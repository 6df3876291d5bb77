/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave run WORKLOAD: prepare, create the pool, set up, run, check, report. A normal end, not a crash: the
 * check sees all acknowledged operations.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/judge/process.h>

#include "check/check.h"
#include "commands.h"
#include "core/bounds.h"
#include "core/describe.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/pools.h"
#include "core/print.h"
#include "core/stop.h"
#include "core/units.h"
#include "examine.h"
#include "log/stop.h"
#include "observe/memory_trace.h"
#include "observe/observe.h"
#include "registry.h"
#include "report/run/output.h"
#include "report/run/race_report.h"
#include "report/crash/unlogged.h"
#include "readers/drive.h"
#include "run_check.h"
#include "schedules/run_schedules.h"
#include "observe/series.h"
#include "session.h"

struct run {
	const struct cli_session *session;
	bool look_for_races, check_undo;
	enum emu_race_model race_model;
	void *plan;
	struct nvw_pool *pool;
	struct nvw_log_writer *log;
	struct nvw_machine *machine;
	struct nvw_acks acks;
	int ack_error;
	uint64_t host_readers, reader_scans; /* number of threads; percentage of reads */
	struct nvw__sightings *sightings;
	struct nvw__drive *drive; /* NULL: no host readers (yet) */
	struct cli_observers *observers;
	double seconds;
	struct nvw_description report;
	struct nvw_findings findings;
};

static int acknowledge(struct run *run, uint64_t first, uint64_t count)
{
	const int r = nvw__acks_add(&run->acks, first, count);

	if (run->observers) {
		cli_observers_acknowledged(run->observers, count);
	}
	return !r && run->drive ? nvw__drive_acknowledged(run->drive, first, count) : r;
}

static void on_acknowledged(void *context, uint64_t first, uint64_t count)
{
	struct run *const run = context;
	const int r = acknowledge(run, first, count);

	run->ack_error = NVW_OR(run->ack_error, r);
}

static int create_kept_pool(struct run *run, const char *path, struct nvw_pool_params *params, unsigned count)
{
	const char *const size = cli_text(&run->session->given, CLI_pool_size);
	uint64_t bytes = 0;

	NVW_FAIL_IF(size && nvw_parse_bytes(size, &bytes) != 0, NVW_E_USAGE, "--pool-size: %s",
		nvw_error_message());
	NVW_EACH(param, params, count) {
		param->bytes = bytes;
		param->sparse = size != NULL;
	}
	const int r = nvw_pool_create_several(path, params, count, &run->pool);

	NVW_FAIL_IF(r == -EEXIST, r, "%s, and a run creates its pool: remove the file or name another",
		nvw_error_message());
	return r;
}

/* A temporary pool loses its name before the run begins, so that it cannot be left behind. */
static int create_pool(struct run *run)
{
	const struct cli_session *const s = run->session;
	const char *const kept = cli_text(&s->given, CLI_pool);
	struct nvw_pool_params params[NVW_POOLS_MAX] = {{0}};
	unsigned count;

	NVW_FAIL_IF(!s->workload->pool && kept, NVW_E_USAGE, "%s keeps nothing in NVRAM: it needs no --pool",
		s->workload->name);
	if (!s->workload->pool) {
		return 0;
	}
	NVW_TRY(nvw__workload_pools(s->workload, run->plan, params, &count));
	if (kept) {
		return create_kept_pool(run, kept, params, count);
	}
	return nvw__pool_create_unnamed("run", params, count, &run->pool);
}

static int create_log(struct run *run)
{
	const struct cli_session *const s = run->session;
	const struct nvw_log_info info = {.workload = s->workload->name,
		.options = s->options_text,
		.machine = s->config.name,
		.protocol = s->config.protocol,
		.model = cli_model_name(&s->config),
		.domain = cli_domain_name(&s->config),
		.seed = s->config.seed,
		.pool_bytes = run->pool ? nvw_pool_run_bytes(run->pool) : 0,
		.atomicity = (uint32_t)s->config.nvram.atomicity};

	const char *const path = cli_text(&s->given, CLI_log);

	if (path) {
		NVW_TRY(nvw_log_create(path, &info, &run->log));
		nvw__log_stop_after(run->log, cli_number(&s->given, CLI_stop_at_event));
	}
	return 0;
}

static int start_readers(struct run *run)
{
	const struct cli_session *const s = run->session;

	NVW_INVARIANT(!run->drive);
	if (!run->host_readers) {
		return 0;
	}
	run->sightings = nvw__sightings_create(s->workload, run->plan, (unsigned)run->host_readers);
	if (!run->sightings) {
		return NVW_E_USAGE;
	}
	return nvw__drive_start(s->workload, run->plan, run->machine, run->sightings,
		(unsigned)run->reader_scans, s->config.seed, &run->drive);
}

/* ---- The run ------------------------------------------------------------------------------------- */

/* The number of operations that its option "count" asks for; 0: it has none. */
static uint64_t operations(const struct run *run)
{
	const struct nvw_option *const o = nvw_workload_option(run->session->workload, "count");

	return o && o->type == NVW_OPTION_COUNT ? nvw_option_u64(run->session->options, "count") : 0;
}

static int set_up(struct run *run)
{
	const struct nvw_workload *const w = run->session->workload;

	if (w->setup) {
		NVW_TRY(w->setup(run->plan, run->machine));
	}
	return nvw_persist(run->machine);
}

static int begin_measurement(struct run *run)
{
	NVW_TRY(set_up(run));
	nvw_begin_measurement(run->machine);
	NVW_TRY(cli_observers_start(run->observers, run->machine, operations(run)));
	return start_readers(run);
}

/* To the end of its last write. */
static int run_kernels(struct run *run)
{
	const double begin = ct_wall_seconds();
	const int r = run->session->workload->run(run->plan, run->machine);

	run->seconds = ct_wall_seconds() - begin;
	if (r == NVW_E_INCONSISTENT) {
		nvw_violation(&run->findings, 0, "%s", nvw_error_message());
	}
	NVW_TRY(r);
	return nvw_persist(run->machine);
}

static int measured_part(struct run *run)
{
	const struct nvw_workload *const w = run->session->workload;

	NVW_TRY(begin_measurement(run));
	const uint64_t acknowledged = run->acks.count;
	const int r = run_kernels(run);

	nvw_end_measurement(run->machine);
	nvw__drive_stop(run->drive);
	NVW_TRY(r);
	NVW_TRY(run->ack_error);
	NVW_INVARIANT(run->acks.count >= acknowledged);
	if (w->report) {
		NVW_TRY(w->report(run->plan, run->machine, &run->report));
	}
	if (run->drive) {
		NVW_TRY(nvw__drive_describe(run->drive, run->acks.count - acknowledged, &run->report));
	}
	return 0;
}

/* 0, NVW_E_INCONSISTENT, or an error; *ret_verdict in words. */
static int check(struct run *run, const char **ret_verdict)
{
	const struct cli_checked checked = {.workload = run->session->workload,
		.plan = run->plan,
		.machine = run->machine,
		.pool = run->pool,
		.acks = &run->acks,
		.sightings = run->drive ? run->sightings : NULL};

	return cli_check(&checked, &run->findings, ret_verdict);
}

static void host_fault(void *context, const char *message)
{
	fprintf(stderr, "nvwave: %s\n", message);
	_exit(STATUS_INPUT);
}

static int prepare(struct run *run)
{
	const struct cli_session *const s = run->session;
	const struct emu_power_cut listen = {
		.time_ps = UINT64_MAX, .acknowledged = on_acknowledged, .context = run};

	NVW_INVARIANT(!run->machine && !run->pool);
	NVW_TRY(s->workload->prepare(s->options, s->config.seed, s->mutation, &run->plan));
	NVW_TRY(create_pool(run));
	NVW_TRY(create_log(run));
	NVW_TRY(cli_observers_create(&s->given, s->workload->operations, &run->observers));
	NVW_TRY(emu_create(&s->config, run->pool, run->log, &run->machine));
	if (run->look_for_races) {
		NVW_TRY(emu_check_races(run->machine, run->race_model));
	}
	if (run->check_undo) {
		NVW_TRY(emu_check_undo(run->machine));
	}
	emu_set_power_cut(run->machine, &listen);
	emu_set_host_fault(run->machine, host_fault, NULL);
	return 0;
}

static int close_log(struct run *run, bool interrupted)
{
	struct nvw_log_writer *const log = run->log;

	run->log = NULL;
	if (!log) {
		return 0;
	}
	if (interrupted) {
		return nvw_log_interrupt(log, nvw_time_ps(run->machine));
	}
	return nvw_log_close(log, nvw_time_ps(run->machine));
}

/* What is known of a run that a signal or a limit has ended. Returns stopped, with its message. */
static int write_what_is_known(struct run *run, int stopped)
{
	char why[256];

	NVW_PRINT(why, "%s", nvw_error_message());
	nvw_stop_reporting();
	if (nvw_stopping() && (run->log || cli_observers_write(run->observers))) {
		fputs("\nnvwave: stopped: what is known is being written; a third signal ends it at once\n",
			stderr);
	}
	if (close_log(run, true) || (run->observers && cli_observers_end(run->observers, &run->report))) {
		fprintf(stderr, "nvwave: %s\n", nvw_error_message());
	}
	return nvw_fail(stopped, "%s", why);
}

static int execute(struct run *run, const char **ret_verdict)
{
	int r = prepare(run);

	if (r == 0) {
		r = measured_part(run);
		if (r == NVW_E_INCONSISTENT) {
			*ret_verdict = "WRONG";
		}
	}
	if (r == NVW_E_STOPPED && run->machine) {
		return write_what_is_known(run, r);
	}
	NVW_TRY(r);
	NVW_TRY(close_log(run, false));
	NVW_TRY(cli_observers_end(run->observers, &run->report));
	return check(run, ret_verdict);
}

static void end(struct run *run)
{
	nvw__drive_destroy(run->drive);
	nvw__sightings_destroy(run->sightings);
	emu_destroy(run->machine);
	nvw_log_abandon(run->log);
	nvw_pool_close(run->pool);
	cli_dispose(run->session->workload, run->plan);
	nvw__acks_free(&run->acks);
	cli_observers_free(run->observers);
	nvw__description_clear(&run->report);
}

static void say_findings(const struct run *run, const struct cli_session *s)
{
	NVW_EACH(finding, run->findings.finding, run->findings.kept) {
		fprintf(stderr, "nvwave: %s: %s\n", s->workload->name, finding->text);
	}
}

static int print(const struct run *run, const char *verdict)
{
	const struct cli_session *const s = run->session;
	struct cli_run_result result = {.workload = s->workload->name,
		.options = s->options_text,
		.mutation = cli_mutation_name(s),
		.config = &s->config,
		.made_by = cli_session_provenance(s, NULL),
		.stats = emu_statistics(run->machine),
		.machine = run->machine,
		.report = &run->report,
		.races = emu_races(run->machine),
		.undo = emu_undo(run->machine),
		.host_seconds = run->seconds,
		.every_statistic = cli_given(&s->given, CLI_statistics),
		.verdict = verdict};
	int r = 0;

	result.waits.wanted = cli_given(&s->given, CLI_waits);
	result.waits.rows = emu_waited(run->machine, &result.waits.count);
	if (s->json) {
		r = cli_print_run_json(&result, stdout);
	} else {
		cli_print_run(&result, stdout);
	}
	say_findings(run, s);
	json_decref(result.made_by);
	NVW_TRY(r);
	return cli_flush();
}

static bool breaks_rule(const struct run *run)
{
	const struct emu_undo_report *const undo = run->machine ? emu_undo(run->machine) : NULL;

	return undo != NULL && undo->unlogged > 0;
}

/* NULL: none was found. */
static const struct emu_race_report *races_of(const struct run *run)
{
	if (!run->machine) {
		return NULL;
	}
	const struct emu_race_report *const races = emu_races(run->machine);

	return races && races->races ? races : NULL;
}

static int dump_machine_to(const char *path, const struct emu_config *config)
{
	struct nvw_new_file f;

	NVW_TRY(nvw_new_file_begin(path, false, &f));
	return nvw_new_file_end(&f, emu_config_dump(config, f.file));
}

static int dump_machine(const struct cli_session *s)
{
	const char *const path = cli_text(&s->given, CLI_dump_machine);

	if (!path) {
		return 0;
	}
	return strcmp(path, "-") ? dump_machine_to(path, &s->config) : emu_config_dump(&s->config, stdout);
}

/* ---- Options ------------------------------------------------------------------------------------- */

static int take_own(struct run *run)
{
	const struct cli_options *const o = &run->session->given;
	static const enum emu_race_model models[] = {EMU_RACES_CLAIMED, EMU_RACES_DRF, EMU_RACES_HRF};

	enum { CHECK_UNDO = NVW_COUNT(models) };

	run->check_undo = cli_given(o, CLI_races) && cli_number(o, CLI_races) == CHECK_UNDO;
	run->look_for_races = cli_given(o, CLI_races) && !run->check_undo;
	if (run->look_for_races) {
		run->race_model = models[cli_number(o, CLI_races)];
	}
	run->host_readers = cli_number(o, CLI_host_readers);
	run->reader_scans = cli_number(o, CLI_reader_scans);
	return cli_options_check_use(o,
		cli_at(CLI_AT_NO_READERS, !run->host_readers) |
			cli_at(CLI_AT_NO_POOL, !cli_given(o, CLI_pool)) |
			cli_at(CLI_AT_NO_TIMELINE, !cli_given(o, CLI_timeline)) |
			cli_at(CLI_AT_NO_SERIES, !cli_given(o, CLI_series)) |
			cli_at(CLI_AT_NOT_INTERVAL, cli_number(o, CLI_per) != CLI_PER_INTERVAL) |
			cli_at(CLI_AT_NO_MEMORY_TRACE, !cli_given(o, CLI_memory_trace)) |
			cli_at(CLI_AT_SCHEDULES, cli_given(o, CLI_kernel_schedules)) |
			cli_at(CLI_AT_NO_SCHEDULES, !cli_given(o, CLI_kernel_schedules)) |
			cli_at(CLI_AT_RAMULATOR, cli_number(o, CLI_memory_format) == CLI_MEMORY_RAMULATOR));
}

static int take_command_line(struct run *run)
{
	NVW_TRY(take_own(run));
	NVW_FAIL_IF(run->session->each_protocol, NVW_E_USAGE,
		"run: --protocol=each is not supported: name one protocol, or use nvwave crash");
	return 0;
}

int cli_examine_run(int argc, char **argv, struct emu_config *ret_config)
{
	struct cli_session session;
	struct run run = {.session = &session};
	int r = cli_session_begin(&session, CLI_WORKLOAD, argc, argv);

	r = NVW_OR(r, take_command_line(&run));
	r = NVW_OR(r, cli_session_try(&session));
	*ret_config = session.config;
	cli_session_end(&session);
	return r;
}

/* What the run ended with, printed; perhaps races are the reason. */
static int report(const struct run *run, int r, const char *verdict)
{
	const struct emu_race_report *const races = races_of(run);

	if (r == NVW_E_STOPPED && run->machine) {
		nvw_stop_reporting();
		(void)print(run, "UNDECIDED");
	} else if (r == 0 || r == NVW_E_INCONSISTENT) {
		NVW_TRY(print(run, verdict));
		return races || breaks_rule(run) ? NVW_E_INCONSISTENT : r;
	} else if (races) {
		cli_print_races(races, stderr);
	} else if (breaks_rule(run)) {
		cli_print_undo(emu_undo(run->machine), stderr);
	}
	return r;
}

static int run_workload(struct run *run)
{
	const char *verdict = "not checked";
	int r = take_command_line(run);

	r = NVW_OR(r, dump_machine(run->session));
	if (r == 0 && cli_given(&run->session->given, CLI_kernel_schedules)) {
		return cli_run_schedules(run->session);
	}
	r = NVW_OR(r, execute(run, &verdict));
	r = report(run, r, verdict);
	end(run);
	return r;
}

static int run_main(const struct cli_command *command, int argc, char **argv)
{
	struct cli_session session;
	struct run run = {.session = &session};
	int r = cli_session_begin(&session, CLI_WORKLOAD, argc, argv);

	if (r == 0 && session.help) {
		cli_session_help("run", session.workload);
	} else if (r == 0) {
		r = run_workload(&run);
	}
	cli_session_end(&session);
	return cli_status(r);
}

const struct cli_command cmd_run = {.main = run_main};
