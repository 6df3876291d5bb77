/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec: records the run of a real program, then explores its log like an external one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <crashtest/judge/process.h>
#include <nvw/random.h>

#include "../commands.h"
#include "../../host/kernels.h"
#include "host_machine.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/copy.h"
#include "core/stop.h"
#include "../report/provenance.h"
#include "../report/unlogged.h"
#include "../report/words.h"
#include "../crash_command.h"
#include "crash_corpus.h"
#include "crash_exec.h"
#include "fuzz.h"
#include "../schedules/crash_schedules.h"
#include "image_name.h"
#include "../schedules/schedules_asked.h"
#include "../session.h"
#include "try_cures.h"

enum { WORDS_MAX = 256 };

/* The copy that the program works on, with the image's name in a folder of its own. */
struct working_copy {
	struct nvw_folder folder;
	char path[640];
	char input[640];  /* the copy of an input of a corpus */
	bool names_input; /* the command does */
	char *text;       /* the command, with the copy's path in it */
	char *words[WORDS_MAX + 1];
};

/* ---- The copy ------------------------------------------------------------------------------------ */

/* The program may create the image. */
static int copy_image(const char *from, const char *to)
{
	const int error = nvw_copy_file(from, to);

	if (error == -ENOENT) {
		return 0;
	}
	return error;
}

/* Makes a copy with the image's name, except for characters that would need quoting in a command. */
static int make_copy(const char *image, struct working_copy *w)
{
	const char *const name = basename(image);

	if (*name == '\0') {
		return nvw_fail(NVW_E_USAGE, "--image: expected a file, found \"%s\"", image);
	}
	NVW_TRY(nvw_folder_make("pool", true, &w->folder));
	const int n = snprintf(w->path, sizeof w->path, "%s/", w->folder.path);

	snprintf(w->input, sizeof w->input, "%s/.input", w->folder.path);

	snprintf(w->path + n, sizeof w->path - (size_t)n, "%.255s", name);
	for (char *c = w->path + n; *c != '\0'; c++) {
		if (strchr(" \t\n|&;<>()$`\\\"'*?[]#~%!{}", *c)) {
			*c = '_';
		}
	}
	return copy_image(image, w->path);
}

static void drop_copy(struct working_copy *w)
{
	nvw_folder_remove(&w->folder);
	free(w->text);
}

/* ---- The command --------------------------------------------------------------------------------- */

/* The program itself, with the option to print. */
static char *default_recover(const char *exec)
{
	static const char option[] = " --recover-and-print";
	const size_t n = strcspn(exec, " \t");
	char *const text = malloc(n + sizeof option);

	if (text != NULL) {
		memcpy(text, exec, n);
		memcpy(text + n, option, sizeof option);
	}
	return text;
}

/* The command with the copy instead of the image. */
static int name_copy(const char *command, const char *image, bool has_input, struct working_copy *w)
{
	size_t bytes;
	FILE *const f = open_memstream(&w->text, &bytes);
	unsigned named = 0;

	for (size_t at = 0; f != NULL && command[at] != '\0';) {
		const size_t length = cli_names_image(command, at, image);

		if (length > 0) {
			named++;
			fputs(w->path, f);
			at += length;
		} else if (has_input && strncmp(command + at, "@@", 2) == 0) {
			w->names_input = true;
			fputs(w->input, f);
			at += 2;
		} else {
			fputc(command[at++], f);
		}
	}
	if (f == NULL || fclose(f)) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a command");
	}
	if (named == 0) {
		return nvw_fail(NVW_E_USAGE,
			"--exec: expected %s, or {}, in \"%s\": the program must work on a copy of the image",
			image, command);
	}
	return 0;
}

/* The command's words; run by a shell if it needs one. */
static int make_command(const char *command, const char *image, bool has_input, struct working_copy *w)
{
	static char shell[] = "/bin/sh", option[] = "-c"; /* not const, as argv is not */
	unsigned n = 0;

	NVW_TRY(name_copy(command, image, has_input, w));
	if (strpbrk(w->text, "|&;<>()$`\\\"'*?[]#~%!\n") != NULL) {
		w->words[0] = shell;
		w->words[1] = option;
		w->words[2] = w->text;
		return 0;
	}
	for (char *rest = w->text, *word; (word = strtok_r(rest, " \t", &rest)) != NULL;) {
		if (n == WORDS_MAX) {
			return nvw_fail(NVW_E_USAGE, "--exec: more than %d words", WORDS_MAX);
		}
		w->words[n++] = word;
	}
	return 0;
}

/* ---- The run ------------------------------------------------------------------------------------- */

struct crash_tested {
	const struct emu_config *machine;
	const struct crash_request *request;
	const char *command;
	json_t *made_by;
	char *recover; /* NULL: a checker judges */
	struct working_copy copy;
	char log[300], base[300];
	double limit;                    /* of a run, in seconds; 0: none */
	struct crash_recording recorded; /* the last run */
	bool covers;                     /* coverage has what all runs have executed */
	struct host_coverage coverage;
	char *image; /* the image's whole path: a trial of cures has another working directory */
	const struct ct_options *options;
};

/* Reports how the program ended; in kill mode nvwave sent the SIGKILL. */
static void tell_end(const struct host_session *s)
{
	const struct host_control *const c = s->control;

	if (WIFSIGNALED(s->status) && c->kill_at == 0) {
		fprintf(stderr,
			"nvwave: note: %s ended by signal %d (%s): what it did until then is explored\n",
			s->program, WTERMSIG(s->status), strsignal(WTERMSIG(s->status)));
	} else if (WIFEXITED(s->status) && WEXITSTATUS(s->status) != 0) {
		fprintf(stderr, "nvwave: note: %s ended with status %d: what it did until then is explored\n",
			s->program, WEXITSTATUS(s->status));
	}
}

static void tell_gaps(const struct host_control *c)
{
	for (unsigned i = 0; i < HOST_GAP_COUNT; i++) {
		if (c->gap[i] > 0) {
			fprintf(stderr, "nvwave: note: the record has a gap: %s\n",
				host_gap_text((enum host_gap)i));
		}
	}
	if (c->stray[0] != '\0') {
		fprintf(stderr, "nvwave: note: %s\n", c->stray);
	}
}

/* Finds the copy among the files that the program mapped: returns 1, or 0 if it is not among them. */
static int find_file(const struct host_session *s, const char *path, unsigned *ret_file)
{
	const struct host_control *const c = s->control;
	unsigned found = 0;

	for (unsigned i = c->file_count; i-- > 0;) {
		if (strcmp(c->file[i].path, path) == 0) {
			*ret_file = i;
			found++;
		}
	}
	if (found > 1) {
		fprintf(stderr,
			"nvwave: note: %s replaced the file by another of its name: only the first is "
			"explored\n",
			s->program);
	}
	return found > 0;
}

static int check_followed(const struct host_session *s, const char *path)
{
	struct stat file;

	if (stat(path, &file) != 0) {
		return 0;
	}
	return host_session_check_followed(s, &file);
}

static int refuse_unmapped(const struct host_session *s)
{
	const struct host_control *const c = s->control;
	const char *what = ": it did not load the recording library", *other = "";

	if (c->file_count) {
		what = ", but ";
		other = c->file[0].path;
	} else if (c->attached) {
		what = ", nor any other file";
	}
	return nvw_fail(
		NVW_E_INPUT, "--exec: %s did not map or write the image's copy%s%s", s->program, what, other);
}

static void tell_unflushed(const struct host_session *s, unsigned file)
{
	if (s->control->file[file].written) {
		fprintf(stderr, "nvwave: note: %s wrote to the file and never synced it\n", s->program);
		return;
	}
	const char *what = "through libpmem: flushes of its own are not seen; nvwave-cc makes them seen";

	if (s->control->instrumented) {
		what = "it, neither by libpmem nor by what nvwave-cc has built";
	}
	fprintf(stderr, "nvwave: note: %s stored to the file and never flushed %s\n", s->program, what);
}

/* Writes the log and the initial content of the file next to the copy. */
static int write_log(struct host_session *s, const struct crash_recording *r, unsigned file)
{
	struct host_counts counts;
	const int fd = open(r->log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0) {
		return nvw_fail_errno("%s", r->log);
	}
	if (r->schedule != NULL || r->named) {
		s->named = basename(r->path); /* the copy's folder is another in every test */
	}
	NVW_TRY(host_session_convert(s, file, fd, r->log, &counts));
	NVW_TRY(host_session_save_image(s, file, r->base));
	if (counts.stores > 0 && counts.flushes == 0 && s->control->kill_at == 0 && !r->quiet) {
		tell_unflushed(s, file);
	}
	return 0;
}

static int hash_image(const char *path, uint64_t *ret)
{
	*ret = 0;
	return access(path, F_OK) == 0 ? cli_hash_file(path, ret) : 0;
}

/* A written file is recorded from its first write on: what changed it before, such as an open() that cuts it, was
 * not seen. */
static int check_beginning(const struct host_session *s, const struct crash_recording *r, unsigned file)
{
	char base[300];
	uint64_t hash;
	struct stat is;

	host_session_base(s, file, base, sizeof base);
	if (!s->control->file[file].written || (r->before == 0 && stat(base, &is) == 0 && is.st_size == 0)) {
		return 0;
	}
	NVW_TRY(hash_image(base, &hash));
	if (hash != r->before) {
		return nvw_fail(NVW_E_INPUT,
			"UNDECIDED: %s changes %s before its first recorded call (by stdio, or by open() with "
			"O_TRUNC), so it is not known what a crash may leave",
			s->program, basename(r->path));
	}
	return 0;
}

/* 1, 0 if the program was killed before it mapped the file, or an error. */
static int take_record(struct host_session *s, struct crash_recording *r)
{
	unsigned file = 0;
	const int found = find_file(s, r->path, &file);

	if (!r->judged) {
		tell_end(s);
	}
	if (!r->quiet) {
		tell_gaps(s->control);
	}
	r->events = s->control->events;
	r->status = s->status;
	r->seconds = s->seconds;
	NVW_TRY(check_followed(s, r->path));
	if (found) {
		NVW_TRY(check_beginning(s, r, file));
		cli_unlogged_take(s->control, (int)file, &r->unlogged);
		NVW_TRY(write_log(s, r, file));
	} else if (r->kill_at == 0) {
		return refuse_unmapped(s);
	}
	return found;
}

/* The same, and what the schedule has become. */
static int take_schedule(struct host_session *s, struct crash_recording *r)
{
	NVW_TRY(host_schedule_check(s));
	if (r->schedule != NULL) {
		FILE *const to = fmemopen(r->end, sizeof r->end - 1, "w");

		memcpy(r->made, s->schedule, sizeof *r->made);
		if (to != NULL) {
			host_schedule_print_end(s, to);
			fclose(to);
		}
	}
	return take_record(s, r);
}

static int run_recorded(struct host_session *s, struct crash_recording *r)
{
	int error = 0;

	if (r->emulate) {
		error = cli_emulate_kernels(s, r->machine, NULL);
	}
	s->quiet = s->alone = true;
	s->apart = r->kill_at > 0;
	s->control->kill_at = r->kill_at;
	s->limit = r->limit;
	s->input = r->input;
	s->model = r->model;
	if (!r->from_map) {
		snprintf(s->control->image, sizeof s->control->image, "%.1023s", r->path);
	}
	if (!error) {
		error = hash_image(r->path, &r->before);
	}
	if (!error) {
		error = host_session_run(s, r->words);
	}
	r->timed_out = s->timed_out;
	NVW_TRY(error);
	if (s->timed_out && !nvw_stopping()) {
		return 0;
	}
	if (r->coverage != NULL) {
		NVW_TRY(host_coverage_add(r->coverage, s, &r->fresh));
	}
	if (nvw_stopping()) {
		return nvw_stop_error();
	}
	return take_schedule(s, r);
}

int crash_record(struct crash_recording *r)
{
	NVW_INVARIANT(r->words[0] != NULL && r->path != NULL);

	const struct host_options options = {.machine = cli_host_machine(r->machine),
		.record = true,
		.stacks = r->stacks,
		.compare = r->compare,
		.coverage = r->coverage != NULL,
		.schedule = r->schedule,
		.switches = r->switches};
	struct host_session s;

	NVW_TRY(host_session_begin(&options, &s));
	const int found = run_recorded(&s, r);

	host_session_end(&s);
	return found;
}

/* The model is that of kernels on the machine, and not of a processor. */
static bool is_of_machine(const struct crash_request *r)
{
	const struct ct_model_info *const m = ct_model_info(r->options.model);

	return r->options.mode == CT_PERMITTED && m->of_runs && !m->of_programs;
}

/* The copy is again what the image is. */
static int renew_copy(struct crash_tested *t)
{
	unlink(t->copy.path);
	return copy_image(t->request->image, t->copy.path);
}

/* Where the program's file is, if the model says so. */
static enum host_model place_of(const struct crash_request *r)
{
	const struct ct_model_info *const m = ct_model_info(r->options.model);

	if (r->options.model == CT_MODEL_FILES) {
		return HOST_MODEL_FILES;
	}
	return r->options.mode == CT_PERMITTED && m->of_programs ? HOST_MODEL_X86 : HOST_MODEL_ANY;
}

static struct crash_recording recording_of(struct crash_tested *t)
{
	struct host_coverage *const coverage = t->covers ? &t->coverage : NULL;

	return (struct crash_recording){.machine = t->machine,
		.words = t->copy.words,
		.path = t->copy.path,
		.log = t->log,
		.base = t->base,
		.emulate = is_of_machine(t->request),
		.stacks = t->request->stacks,
		.compare = t->request->compare,
		.model = place_of(t->request),
		.judged = t->limit > 0,
		.limit = t->limit,
		.coverage = coverage};
}

/* Runs up to the event; 0: to the end. */
static int record(struct crash_tested *t, uint64_t kill_at, uint64_t *ret_events)
{
	struct crash_recording *const r = &t->recorded;

	*r = recording_of(t);
	r->kill_at = kill_at;
	if (kill_at > 0) {
		r->coverage = NULL; /* the uncut run has executed more */
	}
	const int found = crash_record(r);

	*ret_events = r->events;
	return found;
}

static struct ct_foreign foreign_of(const struct crash_tested *t)
{
	return (struct ct_foreign){.store_log = t->log,
		.image = t->base,
		.command = t->request->check,
		.library = t->request->check_lib,
		.recover = t->recover,
		.next = t->request->and_then,
		.command_line = t->command,
		.made_by = t->made_by};
}

static int explore_log(const struct crash_tested *t, const struct ct_foreign *foreign,
	const struct ct_options *o, struct ct_result *ret_result)
{
	NVW_TRY(ct_run_foreign(foreign, o, ret_result));
	ret_result->unlogged = t->recorded.unlogged;
	cli_unlogged_mark(ret_result);
	return 0;
}

static int explore(const struct crash_tested *t, const struct ct_options *o, bool last_only, bool final_only,
	struct ct_result *ret_result)
{
	struct ct_foreign foreign = foreign_of(t);

	foreign.last_only = last_only;
	foreign.final_only = final_only;
	return explore_log(t, &foreign, o, ret_result);
}

/* An error of the run, or the result of one that was told to stop. */
static int without_log(int error, const struct ct_options *o, struct ct_result *ret_result)
{
	if (error != NVW_E_STOPPED) {
		return error;
	}
	*ret_result = (struct ct_result){
		.mode = o->mode, .model = o->model, .consistent = true, .interrupted = true};
	return 0;
}

/* ---- Cures --------------------------------------------------------------------------------------- */

static int check_request(const struct crash_request *r)
{
	NVW_TRY(crash_check_foreign(r));
	if (r->store_log != NULL) {
		return nvw_fail(NVW_E_USAGE,
			"crash: --exec cannot be combined with --store-log: it makes its own log");
	}
	if (r->try_cures != NULL) {
		NVW_TRY(cli_try_cures_check(r->exec));
	}
	if (r->try_cures != NULL && !r->options.cures) {
		return nvw_fail(NVW_E_USAGE, "crash: --try-cures has no effect with --cures=off");
	}
	return 0;
}

static char *recover_command(const struct crash_request *r)
{
	return r->recover ? strdup(r->recover) : default_recover(r->exec);
}

/* image: where it is. Ends with end_test(), also after an error. */
static int begin_test(const struct emu_config *machine, const struct crash_request *request,
	const char *image, const char *command, struct crash_tested *t)
{
	*t = (struct crash_tested){.machine = machine,
		.request = request,
		.command = command,
		.made_by = cli_provenance(machine, command)};
	NVW_TRY(check_request(request));
	if (request->replays) {
		t->recover = recover_command(request);
		if (t->recover == NULL) {
			return nvw_fail(NVW_E_MEMORY, "no memory for a command");
		}
	}
	NVW_TRY(make_copy(image, &t->copy));
	snprintf(t->log, sizeof t->log, "%s/.log", t->copy.folder.path);
	snprintf(t->base, sizeof t->base, "%s/.base", t->copy.folder.path);
	return make_command(request->exec, request->image, request->corpus != NULL, &t->copy);
}

static void end_test(struct crash_tested *t)
{
	free(t->image);
	drop_copy(&t->copy);
	free(t->recover);
	host_coverage_free(&t->coverage);
	json_decref(t->made_by);
}

static const char *image_of(const struct crash_tested *t)
{
	return words_or(t->image, t->request->image);
}

/* The same test, of the program of this working directory. */
static int run_copy(
	void *context, double limit, struct ct_result *ret_result, int *ret_status, bool *ret_timed_out)
{
	const struct crash_tested *const t = context;
	struct ct_options o = *t->options;
	struct crash_tested again;
	uint64_t events;
	int error = begin_test(t->machine, t->request, image_of(t), t->command, &again);

	o.cures = false;
	o.unexplained = true;
	o.settle_after = 0;
	o.save = o.resume = o.slices = NULL;
	again.limit = limit;
	if (!error) {
		error = record(&again, 0, &events);
		if (again.recorded.seconds > 0) { /* else it has not begun */
			*ret_status = again.recorded.status;
		}
		*ret_timed_out = again.recorded.timed_out;
	}
	if (error > 0 && *ret_status == t->recorded.status) {
		error = explore(&again, &o, false, false, ret_result);
	}
	end_test(&again);
	return error < 0 ? error : 0;
}

static void try_cures(struct crash_tested *t, struct ct_result *result)
{
	unsigned verified = result->unlogged.count;

	for (unsigned i = 0; i < result->finding_count; i++) {
		verified += result->finding[i].cure.verified;
	}
	t->image = realpath(t->request->image, NULL);
	if (verified == 0) {
		return;
	}
	cli_try_cures(&(struct cure_trial){.command = t->request->try_cures,
			      .exec = t->request->exec,
			      .image = image_of(t),
			      .seconds = t->recorded.seconds,
			      .status = t->recorded.status,
			      .run = run_copy,
			      .context = t},
		result);
}

static int run_once(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	uint64_t events;
	int error = record(t, 0, &events);

	if (error < 0) {
		return without_log(error, o, ret_result);
	}
	error = explore(t, o, false, false, ret_result);
	if (!error && t->request->try_cures != NULL && !ret_result->interrupted) {
		t->options = o;
		try_cures(t, ret_result);
	}
	return error;
}

/* ---- Kills --------------------------------------------------------------------------------------- */

enum { KILLS = 20, STATES_A_KILL = 8 };

static void add_kill(struct ct_result *result, struct ct_result *sum)
{
	result->states_failing = !result->consistent; /* kills are counted */
	for (unsigned i = 0; i < result->finding_count; i++) {
		result->finding[i].states = 1;
	}
	ct_result_add(sum, result);
}

static int explore_kill(struct crash_tested *t, const struct ct_options *o, struct ct_result *sum)
{
	struct ct_result *const result = calloc(1, sizeof *result);
	struct ct_options few = *o;

	if (result == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a result");
	}
	few.states = STATES_A_KILL;
	if (sum->finding_count) { /* of the first one */
		few.save = NULL;
	}
	const int error = explore(t, &few, true, false, result);

	if (!error) {
		add_kill(result, sum);
	}
	free(result);
	return error;
}

static int kill_once(struct crash_tested *t, const struct ct_options *o, uint64_t at, struct ct_result *sum)
{
	uint64_t events;

	NVW_TRY(renew_copy(t));
	const int found = record(t, at, &events);

	if (found <= 0) {
		return found;
	}
	return explore_kill(t, o, sum);
}

/* Kills the program by SIGKILL at seeded events; for each run, checks the certainly durable state and some of
 * the possible ones. */
static int kill_often(
	struct crash_tested *t, const struct ct_options *o, uint64_t events, struct ct_result *sum)
{
	const uint64_t kills = NVW_OR(o->states, KILLS);
	struct nvw_random random = {o->seed};
	int error = 0;

	sum->states_asked = kills;
	for (uint64_t i = 0; i < kills && !error && !nvw_stopping(); i++) {
		error = kill_once(t, o, 1 + nvw_random_below(&random, events + 1), sum);
		sum->states_tested += !error;
	}
	sum->interrupted = nvw_stopping();
	return error == NVW_E_STOPPED ? 0 : error; /* the other kills stand */
}

static int run_kills(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	const double began = ct_wall_seconds();
	uint64_t events = 0;
	int error = record(t, 0, &events);

	if (error < 0) {
		return without_log(error, o, ret_result);
	}
	error = explore(t, o, false, true, ret_result);
	if (error || !ct_is_consistent(ret_result)) {
		return error;
	}
	*ret_result = (struct ct_result){
		.mode = CT_KILL, .model = ct_model_or(o->model, CT_USE_PROGRAMS), .consistent = true};
	error = kill_often(t, o, events, ret_result);
	ret_result->host_seconds = ct_wall_seconds() - began;
	return error;
}

/* ---- Schedules (crash_schedules.c) ---------------------------------------------------------------- */

static int run_scheduled(struct crash_tested *t, const struct host_schedule_plan *plan,
	const struct host_switch *list, struct host_schedule *ret_made, char ret_end[2048])
{
	struct crash_recording *const r = &t->recorded;

	NVW_TRY(renew_copy(t));
	*r = recording_of(t);
	r->judged = true;
	r->quiet = plan->number > 1; /* they would be the same */
	r->schedule = plan;
	r->switches = list;
	r->made = ret_made;
	const int found = crash_record(r);

	memcpy(ret_end, r->end, sizeof r->end);
	return found;
}

static int hash_log(const struct crash_tested *t, uint64_t *hash)
{
	NVW_TRY(cli_hash_file(t->log, hash));
	return cli_hash_file(t->base, hash);
}

static int explore_scheduled(const struct crash_tested *t, const struct ct_options *o, json_t *schedule,
	struct ct_result *ret_result)
{
	struct ct_foreign foreign = foreign_of(t);

	foreign.schedule = schedule;
	return explore_log(t, &foreign, o, ret_result);
}

static struct crash_runs runs_of(struct crash_tested *t)
{
	return (struct crash_runs){.tested = t,
		.request = t->request,
		.run = run_scheduled,
		.hash = hash_log,
		.explore = explore_scheduled};
}

static int run_schedules(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	const struct crash_runs runs = runs_of(t);
	const int error = crash_schedules_run(&runs, o, ret_result);

	return error < 0 ? without_log(error, o, ret_result) : 0;
}

/* ---- A corpus (crash_corpus.c) -------------------------------------------------------------------- */

static int run_input(struct crash_tested *t, const char *path, const struct crash_recording **ret_recording)
{
	struct crash_recording *const r = &t->recorded;

	*r = recording_of(t);
	*ret_recording = r;
	NVW_TRY(renew_copy(t));
	unlink(t->copy.input);
	if (nvw_copy_file(path, t->copy.input) != 0) {
		return nvw_fail_errno("%s", path);
	}
	r->judged = r->quiet = r->named = true;
	r->limit = 1e-3 * t->request->input_timeout_ms;
	if (!t->copy.names_input) {
		r->input = t->copy.input;
	}
	return crash_record(r);
}

static void settle_input(struct crash_tested *t, bool kept)
{
	host_coverage_settle(&t->coverage, kept);
}

static int explore_input(
	const struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	return explore(t, o, false, false, ret_result);
}

/* AFL++ adds to the corpus. It has a command in which it names the input itself. */
static int fuzz(struct crash_tested *t, unsigned *ret_made)
{
	const struct crash_request *const q = t->request;
	struct working_copy w = t->copy;

	w.text = NULL;
	memset(w.words, 0, sizeof w.words);
	int error = make_command(q->exec, q->image, false, &w);
	struct cli_fuzz f = {.corpus = q->corpus,
		.seconds = q->fuzz,
		.timeout_ms = q->input_timeout_ms,
		.words = w.words,
		.image = q->image,
		.file = t->copy.path,
		.folder = t->copy.folder.path};

	if (!error && strcmp(w.words[0], "/bin/sh") == 0) {
		error = nvw_fail(NVW_E_USAGE,
			"--fuzz: expected a program and its arguments in \"%s\", without a shell's characters",
			q->exec);
	}
	if (!error) {
		error = cli_fuzz_run(&f);
	}
	*ret_made = f.made;
	free(w.text);
	return error;
}

static int run_corpus(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	unsigned made = 0;

	if (t->request->fuzz > 0) {
		NVW_TRY(fuzz(t, &made));
	}
	const struct crash_inputs inputs = {.tested = t,
		.request = t->request,
		.run = run_input,
		.settle = settle_input,
		.hash = hash_log,
		.explore = explore_input};

	const int error = crash_corpus_run(&inputs, o, ret_result);

	ret_result->corpus.made = made;
	return error;
}

static const char *text_of(const json_t *o, const char *name)
{
	return words_or(json_string_value(json_object_get(o, name)), "");
}

int crash_exec_replay(
	const struct emu_config *machine, const json_t *schedule, bool *ret_same, char ret_end[2048])
{
	/* It is run, and not judged. */
	const struct crash_request request = {.exec = text_of(schedule, "exec"),
		.image = text_of(schedule, "image"),
		.check = "true",
		.stacks = json_is_true(json_object_get(schedule, "stacks")),
		.compare = json_is_true(json_object_get(schedule, "compare"))};
	struct crash_tested t;
	int error = begin_test(machine, &request, request.image, "", &t);

	if (!error) {
		const struct crash_runs runs = runs_of(&t);

		error = crash_schedules_again(&runs, schedule, ret_same, ret_end);
	}
	end_test(&t);
	return error;
}

/* ---- The whole ----------------------------------------------------------------------------------- */

struct statements {
	struct ct_statement *at;
	unsigned count, room;
};

static int meet_statement(void *context, const struct host_statement *s)
{
	struct statements *const all = context;

	if (all->count == all->room) {
		const unsigned room = 2 * all->room + 256;
		struct ct_statement *const more = realloc(all->at, room * sizeof *more);

		if (more == NULL) {
			return nvw_fail(NVW_E_MEMORY, "no memory for the coverage of a program");
		}
		all->at = more;
		all->room = room;
	}
	all->at[all->count++] = (struct ct_statement){.file = s->file,
		.function = s->function,
		.line = s->line,
		.executed = s->executed,
		.flushes = s->flushes,
		.reached = s->reached};
	return 0;
}

/* A program of which nvwave-cc has built nothing has no statements. */
static int take_coverage(const struct crash_tested *t, struct ct_result *result)
{
	struct statements all = {.at = NULL};
	int error = host_coverage_each(&t->coverage, meet_statement, &all);

	if (!error && all.count > 0) {
		error = ct_coverage_of_program(all.at, all.count, &result->coverage);
	}
	free(all.at);
	return error;
}

static int run_kind(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	if (t->request->corpus != NULL) {
		return run_corpus(t, o, ret_result);
	}
	if (t->request->schedules.count > 0) {
		return run_schedules(t, o, ret_result);
	}
	if (o->mode == CT_KILL) {
		return run_kills(t, o, ret_result);
	}
	return run_once(t, o, ret_result);
}

static int run_covered(void *context, const struct ct_options *o, struct ct_result *ret_result)
{
	struct crash_tested *const t = context;

	NVW_TRY(run_kind(t, o, ret_result));
	host_coverage_settle(&t->coverage, true);
	return take_coverage(t, ret_result);
}

/* The test's options, and what makes its result. */
static struct crash_request to_explore(struct crash_tested *t)
{
	struct crash_request explored = *t->request;

	explored.run = run_covered;
	explored.options.schedules = 0; /* of wavefronts */
	explored.context = t;
	if (t->machine->nvram.domain == EMU_DOMAIN_eadr) {
		explored.options.model = ct_model_or(explored.options.model, CT_USE_KEPT_CACHES);
	}
	return explored;
}

int crash_exec(
	const struct emu_config *machine, const struct crash_request *request, const char *command, bool json)
{
	NVW_INVARIANT(request->exec != NULL);

	struct crash_tested t;
	const int error = begin_test(machine, request, request->image, command, &t);
	int status = STATUS_INPUT;

	if (!error) {
		const struct crash_request explored = to_explore(&t);

		t.covers = true;
		status = crash_store_log(machine, &explored, command, json);
	}
	end_test(&t);
	return error ? cli_fail() : status;
}

int crash_exec_result(
	const struct emu_config *machine, const struct crash_request *request, struct ct_result *ret_result)
{
	NVW_INVARIANT(request->exec != NULL);

	struct crash_tested t;
	int error = begin_test(machine, request, request->image, "", &t);

	if (!error) {
		const struct crash_request explored = to_explore(&t);

		error = explored.run(explored.context, &explored.options, ret_result);
	}
	end_test(&t);
	return error;
}
