/* SPDX-License-Identifier: BSD-3-Clause */
/* See apart.h. The child writes its result as one JSON object into a pipe. */
#include "apart.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <crashtest/judge/process.h>

#include "../commands.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/stop.h"
#include "../report/words.h"

enum { SECONDS_MAX = 60 };

__attribute__((noreturn)) static void child(pool_work *work, void *context, const char *path, int to)
{
	const struct rlimit time = {SECONDS_MAX, SECONDS_MAX + 1};
	json_t *report = NULL;

	nvw_stop_leave_to_parent();
	setrlimit(RLIMIT_CPU, &time);

	const int error = work(context, path, &report);
	const bool fails = error != 0 && !report;
	json_t *const all =
		json_pack("{s:i, s:s}", "error", error, "message", words_if(fails, nvw_error_message()));
	FILE *const file = fdopen(to, "w");

	if (report) {
		json_object_set_new(all, "report", report);
	}
	if (!file || json_dumpf(all, file, JSON_COMPACT) != 0 || fclose(file) != 0) {
		_exit(1);
	}
	_exit(0);
}

static void take_result(FILE *file, struct pool_outcome *o)
{
	json_t *const all = json_loadf(file, 0, NULL);

	if (all) {
		o->error = (int)member_number(all, "error");
		o->report = json_incref(json_object_get(all, "report"));
		NVW_PRINT(o->message, "%s", member_string(all, "message"));
		json_decref(all);
	}
}

/* What the child has written; nothing, or not all of it, if it died. */
static void take(int from, struct pool_outcome *o)
{
	FILE *const file = fdopen(from, "r");

	if (!file) {
		close(from);
		return;
	}
	take_result(file, o);
	fclose(file);
}

static void say_how_it_ended(struct pool_outcome *o, const char *path, int status)
{
	if (WIFSIGNALED(status)) {
		o->signal = WTERMSIG(status);
		o->error = NVW_E_SYSTEM;
		NVW_PRINT(o->message, "%s: %s (signal %d)", path,
			o->signal == SIGXCPU ? "it did not end in a minute of processor time" :
					       "the process died",
			o->signal);
	}
}

/* In a new process, whose number is *ret_pid; what it writes can be read at *ret_from. */
static int begin(pool_work *work, void *context, const char *path, pid_t *ret_pid, int *ret_from)
{
	int ends[2];

	fflush(NULL);
	NVW_FAIL_ERRNO_IF(pipe(ends) != 0, "no pipe");
	*ret_pid = fork();
	if (*ret_pid == 0) {
		close(ends[0]);
		child(work, context, path, ends[1]);
	}
	close(ends[1]);
	if (*ret_pid < 0) {
		close(ends[0]);
		return nvw_fail_errno("no process for %s", path);
	}
	*ret_from = ends[0];
	return 0;
}

int pool_apart(pool_work *work, void *context, const char *path, struct pool_outcome *ret)
{
	const double began = ct_wall_seconds();
	struct rusage used;
	pid_t pid;
	int from, status;

	*ret = (struct pool_outcome){.error = NVW_E_SYSTEM, .message = "the process left no result"};
	NVW_TRY(begin(work, context, path, &pid, &from));
	take(from, ret);
	NVW_FAIL_ERRNO_IF(wait4(pid, &status, 0, &used) != pid, "no result of %s", path);
	say_how_it_ended(ret, path, status);
	ret->seconds = ct_wall_seconds() - began;
	ret->memory_bytes = (uint64_t)used.ru_maxrss * 1024;
	if (nvw_stopping()) {
		return nvw_stop_error();
	}
	return 0;
}

void pool_outcome_end(struct pool_outcome *o)
{
	json_decref(o->report);
	o->report = NULL;
}

int pool_outcome_status(const struct pool_outcome *o)
{
	NVW_INVARIANT(o->signal == 0 || o->error != 0);
	if (o->error == 0) {
		return STATUS_CLEAN;
	}
	return o->error == NVW_E_INCONSISTENT ? STATUS_INCONSISTENT : STATUS_INPUT;
}

static bool counts(const struct pool_outcome *o, const char *member)
{
	return member_number(o->report, member) > 0;
}

const char *pool_outcome_state(const struct pool_outcome *o)
{
	NVW_INVARIANT(o->signal == 0 || o->error != 0);
	if (o->signal != 0) {
		return o->signal == SIGXCPU ? "does not end" : "crashes";
	}
	switch (o->error) {
	case 0:
		break;
	case NVW_E_INCONSISTENT:
		return "inconsistent";
	case NVW_E_DAMAGED:
		return "damaged";
	case NVW_E_VERSION:
		return "other version";
	case NVW_E_BUSY:
		return "in use";
	default:
		return "refused";
	}
	if (counts(o, "header_repaired")) {
		return "header mended";
	}
	return counts(o, "words_written") ? "recovered" : "clean";
}
