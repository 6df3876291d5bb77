/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gdb's command lines. See replay_gdb.h.
 *
 * A workload's state is recovered and checked by "nvwave replay", in whose forked process gdb stops where the
 * check reports what is wrong. A program's checker is run on a file with the state. A store of a kernel is
 * met in the run itself, by the work-item that the finding names, whose frames gdb shows.
 */
#include "replay_gdb.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <config/config.h>
#include <crashtest/judge/command.h>

#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "replay_event.h"
#include "report/words.h"

enum { WORDS_MAX = 128, PATH_BYTES = 4096 };

struct gdb {
	char *word[WORDS_MAX + 1];
	unsigned count;
	bool no_memory;
};

__attribute__((format(printf, 2, 3))) static void add(struct gdb *g, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (g->count == WORDS_MAX || vasprintf(&g->word[g->count], format, arguments) < 0) {
		g->no_memory = true;
	} else {
		g->count++;
	}
	va_end(arguments);
}

/* A command of gdb's. */
#define ADD_COMMAND(g, ...) (add(g, "-ex"), add(g, __VA_ARGS__))

/* gdb 13 cannot call functions on CPUs with AMX, and waits for ever where a condition does: what the function
 * reads is read. */
static void begin(struct gdb *g)
{
	add(g, "gdb");
	add(g, "-q");
	ADD_COMMAND(g, "set breakpoint pending on");
	ADD_COMMAND(g, "set print thread-events off");
	ADD_COMMAND(g, "macro define nvw_global_id() (emu_now.wavefront->first_global + "
		       "((unsigned long *)nvw__self - emu_now.wavefront->requests.address))");
}

/* ---- Running gdb --------------------------------------------------------------------------------- */

/* Ctrl-C is gdb's. */
static int execute(struct gdb *g)
{
	int status = 0;

	NVW_INVARIANT(g->count > 0);
	NVW_FAIL_IF(g->no_memory, NVW_E_MEMORY, "no memory for gdb's command line");
	signal(SIGINT, SIG_IGN);
	fflush(NULL);
	const pid_t pid = fork();

	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		execvp(g->word[0], g->word);
		_exit(127);
	}
	NVW_FAIL_ERRNO_IF(pid < 0 || waitpid(pid, &status, 0) < 0, "cannot start gdb");
	NVW_FAIL_IF(WIFEXITED(status) && WEXITSTATUS(status) == 127, NVW_E_USAGE, "--gdb: there is no gdb");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int end(struct gdb *g, int result)
{
	NVW_INVARIANT(g->count <= WORDS_MAX);
	NVW_EACH(word, g->word, g->count) {
		free(*word);
	}
	return result;
}

static int find_self(char self[PATH_BYTES])
{
	const ssize_t n = readlink("/proc/self/exe", self, PATH_BYTES - 1);

	NVW_FAIL_ERRNO_IF(n < 0, "/proc/self/exe");
	self[n] = '\0';
	return 0;
}

/* ---- The failure --------------------------------------------------------------------------------- */

static int of_workload(const char *path)
{
	struct gdb g = {0};
	char self[PATH_BYTES];

	NVW_TRY(find_self(self));
	begin(&g);
	ADD_COMMAND(&g, "set follow-fork-mode child");
	ADD_COMMAND(&g, "break nvw_violation");
	ADD_COMMAND(&g, "run");
	ADD_COMMAND(&g, "up");
	add(&g, "--args");
	add(&g, "%s", self);
	add(&g, "replay");
	add(&g, "%s", path);
	add(&g, "--debugged");
	return end(&g, execute(&g));
}

static int write_state(const char *path, const struct ct_saved *s)
{
	FILE *const f = fopen(path, "we");

	NVW_FAIL_ERRNO_IF(
		f == NULL || fwrite(s->image, 1, s->bytes, f) != s->bytes || fclose(f) != 0, "%s", path);
	return 0;
}

/* The checker, or the recovery whose output is compared. */
static int run_checker(const struct ct_saved *s, const char *source, const char *path)
{
	struct ct_command command;
	struct ct_command_line line;
	struct gdb g = {0};

	NVW_TRY(ct_command_make(source, "--check", &command));
	NVW_TRY(write_state(path, s));
	NVW_FAIL_IF(command.by_shell, NVW_E_USAGE,
		"--gdb: the checker needs a shell (%s): try its parts on the state, "
		"which --extract writes",
		command.why);
	ct_command_fill(&command, path, &line);
	begin(&g);
	ADD_COMMAND(&g, "break exit");
	ADD_COMMAND(&g, "run");
	add(&g, "--args");
	for (unsigned i = 0; line.word[i]; i++) {
		add(&g, "%s", line.word[i]);
	}
	return end(&g, execute(&g));
}

static int of_program(const struct ct_saved *s)
{
	const char *source = member_text(s->head, "checker");
	char path[NVW__FOLDER_PATH + 16];
	struct nvw_folder folder;

	if (*source == '\0') {
		source = member_text(s->head, "recover");
	}
	NVW_FAIL_IF(*source == '\0', NVW_E_USAGE,
		"--gdb: the finding is of a checker's library, and not of a command");
	NVW_TRY(nvw_folder_make("replay", false, &folder));
	NVW_PRINT(path, "%s/state", folder.path);
	const int result = run_checker(s, source, path);

	nvw_folder_remove(&folder);
	return result;
}

/* ---- A store of the run -------------------------------------------------------------------------- */

/* The store that was lost, or that relies on it; NULL: the finding names none. */
static const json_t *place_of(const json_t *finding, enum replay_at at)
{
	JSON_EACH(place, json_object_get(finding, "places")) {
		const bool durable = !strcmp(member_text(place, "fate"), ct_fate_name(CT_FATE_DURABLE));

		if (durable == (at == REPLAY_AT_EARLY) && member_count(place, "line")) {
			return place;
		}
	}
	return NULL;
}

/* The run that was crash-tested. */
static void add_run(struct gdb *g, const json_t *head)
{
	const json_t *const machine = json_object_get(json_object_get(head, "made_by"), "machine");

	add(g, "run");
	add(g, "%s", member_text(head, "workload"));
	JSON_EACH_MEMBER(name, value, json_object_get(head, "options")) {
		add(g, "--%s=%s", name, json_string_value(value));
	}
	add(g, "--seed=%lld", member_number(head, "seed"));
	if (*member_text(head, "mutation") != '\0') {
		add(g, "--mutate=%s", member_text(head, "mutation"));
	}
	add(g, "--machine=%s", words_or(member_string(machine, "over"), member_text(head, "machine")));
	JSON_EACH_MEMBER(name, value, json_object_get(machine, "changed")) {
		add(g, "--set=%s=%s", name, json_string_value(value));
	}
	add(g, "--protocol=%s", member_text(head, "protocol"));
}

static int at_store(const json_t *head, enum replay_at at)
{
	const json_t *const place = place_of(json_object_get(head, "finding"), at);
	struct gdb g = {0};
	char self[PATH_BYTES];

	NVW_INVARIANT(at == REPLAY_AT_LOST || at == REPLAY_AT_EARLY);
	NVW_FAIL_IF(!json_object_get(head, "workload") || !place, NVW_E_USAGE,
		"--at: the finding names no such store of a workload's run");
	NVW_TRY(find_self(self));
	begin(&g);
	ADD_COMMAND(&g, "break %s:%lld if nvw_global_id() == %lld", member_text(place, "file"),
		member_number(place, "line"), member_number(place, "work_item"));
	ADD_COMMAND(&g, "run");
	ADD_COMMAND(&g, "backtrace");
	add(&g, "--args");
	add(&g, "%s", self);
	add_run(&g, head);
	return end(&g, execute(&g));
}

/* ---- An event of the run ------------------------------------------------------------------------- */

/* The run, without gdb and what it prints. */
static int run_quietly(struct gdb *words)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int status = 0;

	if (null < 0 || words->no_memory) {
		close(null);
		return nvw_fail(NVW_E_SYSTEM, "cannot start the run");
	}
	fflush(NULL);
	const pid_t pid = fork();

	if (pid == 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execv(words->word[0], words->word);
		_exit(127);
	}
	close(null);
	NVW_FAIL_ERRNO_IF(pid < 0 || waitpid(pid, &status, 0) < 0, "cannot start the run");
	if (!WIFEXITED(status) ||
		WEXITSTATUS(status) > 1) { /* 1: its result is wrong, which is why it is tested */
		return nvw_fail(NVW_E_USAGE, "--at: the run of the finding cannot be made again");
	}
	return 0;
}

static int write_log(const json_t *head, const char *self, const char *log)
{
	struct gdb words = {0};

	add(&words, "%s", self);
	add_run(&words, head);
	add(&words, "--log=%s", log);
	return end(&words, run_quietly(&words));
}

/* Gdb stops behind the record before, and then in the work-item. */
static int stop_at(const json_t *head, const char *self, const char *log, const struct replay_event *event)
{
	struct gdb g = {0};

	begin(&g);
	ADD_COMMAND(&g, "break nvw__log_stop");
	ADD_COMMAND(&g, "run");
	if (event->of_work_item) {
		ADD_COMMAND(&g, "delete 1");
		ADD_COMMAND(&g, "break %s:%u if nvw_global_id() == %llu", event->file, event->line,
			(ull)event->work_item);
		ADD_COMMAND(&g, "continue");
	}
	ADD_COMMAND(&g, "backtrace");
	add(&g, "--args");
	add(&g, "%s", self);
	add_run(&g, head);
	add(&g, "--log=%s", log);
	add(&g, "--stop-at-event=%llu", (ull)event->after);
	return end(&g, execute(&g));
}

/* Whether the event has the place that a finding says; "": any has. */
static bool is_at(const struct replay_event *event, const char *place)
{
	char text[sizeof event->file + 16];

	NVW_PRINT(text, "%s:%u", event->file, event->line);
	return !strchr(place, ':') || strcmp(text, place) == 0;
}

/* place: the event's; where it is another, the program has changed since. *ret_moved says so. */
static int find_and_stop(
	const json_t *head, uint64_t number, const char *place, const char *log, bool *ret_moved)
{
	struct replay_event event;
	char self[PATH_BYTES];

	NVW_TRY(find_self(self));
	NVW_TRY(write_log(head, self, log));
	NVW_TRY(replay_find_event(log, number, &event));
	*ret_moved = !is_at(&event, place);
	return *ret_moved ? 0 : stop_at(head, self, log, &event);
}

static int at_event(const json_t *head, uint64_t number, const char *place, bool *ret_moved)
{
	char log[NVW__FOLDER_PATH + 16];
	struct nvw_folder folder;

	NVW_FAIL_IF(!json_object_get(head, "workload"), NVW_E_USAGE,
		"--at=N: a program's run is not made again: only that of a workload stops at an "
		"event");
	NVW_TRY(nvw_folder_make("replay", false, &folder));
	NVW_PRINT(log, "%s/log", folder.path);
	const int result = find_and_stop(head, number, place, log, ret_moved);

	nvw_folder_remove(&folder);
	return result;
}

/* With store buffers a store is logged after its work-item has gone on: it has left the line. */
static bool has_store_buffers(const json_t *head)
{
	json_t *const machine = json_object_get(json_object_get(head, "made_by"), "machine");
	struct emu_config config;
	char text[512];

	emu_config_default(&config);
	if (emu_config_load(&config, member_text(machine, "over")) != 0) { /* the run will say so */
		return false;
	}
	JSON_EACH_MEMBER(key, value, json_object_get(machine, "changed")) {
		NVW_PRINT(text, "%s=%s", key, json_string_value(value));
		if (emu_config_set(&config, text) != 0) {
			return false;
		}
	}
	return emu_config_consistent(&config).store_buffer.entries > 0;
}

/* At the event, if the finding has its number and the program is the one that was tested; else where its line
 * is first executed. */
static int at_side(const json_t *head, enum replay_at at)
{
	const json_t *const cause = json_object_get(json_object_get(head, "finding"), "cause");
	const bool lost = at == REPLAY_AT_LOST;
	const json_int_t number = member_number(cause, lost ? "lost_event" : "early_event");

	if (number > 0 && json_object_get(head, "workload") && !has_store_buffers(head)) {
		bool moved = false;
		const int result =
			at_event(head, (uint64_t)number, member_text(cause, lost ? "lost" : "early"), &moved);

		if (!moved) {
			return result;
		}
	}
	return at_store(head, at);
}

int replay_in_gdb(const char *path, const struct ct_saved *s, enum replay_at at, uint64_t event)
{
	bool moved;

	NVW_FAIL_IF(at == REPLAY_AT_EVENT && has_store_buffers(s->head), NVW_E_USAGE,
		"--at=N: the machine has store buffers: a store is an event after its work-item has "
		"gone on");
	if (at == REPLAY_AT_EVENT) {
		return at_event(s->head, event, "", &moved);
	}
	if (at != REPLAY_AT_FAILURE) {
		return at_side(s->head, at);
	}
	if (json_object_get(s->head, "workload")) {
		return of_workload(path);
	}
	return of_program(s);
}
