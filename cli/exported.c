/* SPDX-License-Identifier: BSD-3-Clause */
/* See exported.h. */
#include "exported.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/judge/process.h>

#include "core/bounds.h"
#include "core/copy.h"
#include "core/each.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/newfile.h"
#include "core/print.h"
#include "core/stop.h"
#include "report/json_report.h"
#include "session.h"

enum { COMMAND_BYTES = 8192, PATH_BYTES = 4096, STATUSES = 256 };

int exported_begin(const char *folder)
{
	return cli_new_folder("--export-states", folder);
}

/* ---- The list ------------------------------------------------------------------------------------ */

static int by_file(const void *a, const void *b)
{
	const json_t *const *const one = a, *const *const other = b;

	return strcmp(member_string(*one, "file"), member_string(*other, "file"));
}

static json_t *read_lines(FILE *file)
{
	json_t *const list = json_array(), *line;

	while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		json_array_append_new(list, line);
	}
	return list;
}

/* Workers have written side by side: in order of instants and draws. */
static json_t *in_order(const json_t *list)
{
	const size_t count = json_array_size(list);
	json_t **const at = calloc(count + 1, sizeof *at), *const ordered = json_array();

	NVW_INVARIANT(json_is_array(list));
	for (size_t i = 0; at && i < count; i++) {
		at[i] = json_array_get(list, i);
	}
	if (at) {
		qsort(at, count, sizeof *at, by_file);
	}
	for (size_t i = 0; at && i < count; i++) {
		json_array_append(ordered, at[i]);
	}
	free(at);
	return ordered;
}

static int open_states(const char *path, const char *folder, FILE **ret)
{
	*ret = fopen(path, "re");
	NVW_FAIL_IF(!*ret && errno == ENOENT, NVW_E_INPUT, "%s: no state was tested", folder);
	NVW_FAIL_ERRNO_IF(!*ret, "%s", path);
	return 0;
}

static int read_states(const char *folder, json_t **ret_list)
{
	char path[PATH_BYTES];
	FILE *file;

	NVW_PRINT(path, "%s/states.jsonl", folder);
	NVW_TRY(open_states(path, folder, &file));
	json_t *const list = read_lines(file);

	fclose(file);
	unlink(path);
	*ret_list = in_order(list);
	json_decref(list);
	return 0;
}

/* ---- The tool ------------------------------------------------------------------------------------ */

static int tool_command(const char *tool, const char *path, char command[COMMAND_BYTES])
{
	const char *const braces = strstr(tool, "{}");
	int n;

	if (braces) {
		n = snprintf(
			command, COMMAND_BYTES, "%.*s%s%s", (int)(braces - tool), tool, path, braces + 2);
	} else {
		n = snprintf(command, COMMAND_BYTES, "%s %s", tool, path);
	}
	NVW_FAIL_IF(n >= COMMAND_BYTES, NVW_E_USAGE, "--tool: expected a command of at most %d characters",
		COMMAND_BYTES - PATH_BYTES);
	return 0;
}

/* The exit status as a shell has it: 128 and the signal. */
static int run_tool(const char *command, int *ret_status)
{
	int status;

	fflush(NULL);
	const pid_t pid = fork();

	if (pid == 0) {
		nvw_stop_leave_to_parent();
		if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
			!freopen("/dev/null", "w", stderr)) {
			_exit(127);
		}
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	NVW_FAIL_ERRNO_IF(pid < 0, "--tool: no process");
	NVW_TRY(nvw_stop_wait(pid, &status));
	*ret_status = cli_exit_status(status);
	return 0;
}

/* The state of a run with several pools has files of the same name with numbers behind it. */
static int copy_further(const char *from, const char *to, unsigned i)
{
	char source[PATH_BYTES + 16], copy[PATH_BYTES + 16];

	NVW_PRINT(source, "%s.%u", from, i);
	NVW_PRINT(copy, "%s.%u", to, i);
	if (access(source, F_OK)) {
		return 0;
	}
	return nvw_copy_file(source, copy);
}

static int copy_state(const char *from, const char *to)
{
	NVW_TRY(nvw_copy_file(from, to));
	for (unsigned i = 1; i < NVW_POOLS_MAX; i++) {
		NVW_TRY(copy_further(from, to, i));
	}
	return 0;
}

static int tool_on_state(const char *folder, const char *tool, json_t *state)
{
	struct nvw_folder scratch;
	int status = 0;
	char from[PATH_BYTES], to[NVW__FOLDER_PATH + 16], command[COMMAND_BYTES];

	NVW_PRINT(from, "%s/%s", folder, member_string(state, "file"));
	NVW_TRY(nvw_folder_make("tool", true, &scratch));
	NVW_PRINT(to, "%s/state", scratch.path);
	int error = tool_command(tool, to, command);

	error = NVW_OR(error, copy_state(from, to));
	const double began = ct_wall_seconds();

	error = NVW_OR(error, run_tool(command, &status));
	member_set_number(state, "tool_status", status);
	member_set_real(state, "tool_seconds", ct_wall_seconds() - began);
	nvw_folder_remove(&scratch);
	return error;
}

struct tool_times {
	unsigned count;
	double least, most, sum;
};

static void add_time(struct tool_times *t, double seconds)
{
	if (t->count == 0 || seconds < t->least) {
		t->least = seconds;
	}
	t->most = fmax(t->most, seconds);
	t->sum += seconds;
	t->count++;
	NVW_INVARIANT(t->count > 0 && t->least <= t->most);
}

static void print_times(const char *tool, const struct tool_times times[STATUSES])
{
	printf("%s\n  exit status   states   least      mean      most\n", tool);
	NVW_FOR(i, STATUSES) {
		const struct tool_times *const t = &times[i];

		if (t->count != 0) {
			printf("  %11u %8u %7.1f ms %7.1f ms %7.1f ms\n", i, t->count, 1e3 * t->least,
				1e3 * t->sum / t->count, 1e3 * t->most);
		}
	}
}

static int tool_on_all(const char *folder, const char *tool, json_t *states, bool quiet, unsigned *ret_failed)
{
	struct tool_times times[STATUSES] = {{0}};

	JSON_EACH(state, states) {
		NVW_TRY(tool_on_state(folder, tool, state));
		const long long status = member_number(state, "tool_status");

		add_time(&times[status & 0xff], member_real(state, "tool_seconds"));
		*ret_failed += status != 0;
	}
	if (!quiet) {
		print_times(tool, times);
	}
	return 0;
}

/* ---- The manifest -------------------------------------------------------------------------------- */

int exported_manifest(const char *folder, json_t *manifest)
{
	struct nvw_new_file file;
	char path[PATH_BYTES];

	NVW_PRINT(path, "%s/manifest.json", folder);
	const int error = nvw_new_file_begin(path, false, &file);

	if (error != 0) {
		json_decref(manifest);
		return error;
	}
	return nvw_new_file_end(&file, cli_print_json(manifest, file.file));
}

int exported_end(
	const char *folder, const char *tool, const json_t *made_by, bool quiet, unsigned *ret_failed)
{
	json_t *states = NULL;
	int error = read_states(folder, &states);

	*ret_failed = 0;
	if (error == 0 && !quiet) {
		printf("%zu states in %s; manifest.json says of which instants\n", json_array_size(states),
			folder);
	}
	if (error == 0 && tool) {
		error = tool_on_all(folder, tool, states, quiet, ret_failed);
	}
	if (error == 0 || error == NVW_E_STOPPED) {
		json_t *const manifest = json_pack("{s:O, s:O*}", "states", states, "made_by", made_by);

		if (tool) {
			member_set_text(manifest, "tool", tool);
		}
		const int written = exported_manifest(folder, manifest);

		error = NVW_OR(error, written);
	}
	json_decref(states);
	return error;
}
