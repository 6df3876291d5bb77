/* SPDX-License-Identifier: BSD-3-Clause */
/* The check at the end of a run. See run_check.h. */
#include "run_check.h"
#include "core/invariant.h"
#include "core/print.h"
#include "report/words.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <crashtest/judge/process.h>
#include <emu.h>

/* Shared with the checking process. */
struct answer {
	volatile uint32_t phase; /* CT_PHASE_IDLE: it has answered */
	int result;
	const char *verdict;
	char message[512];
	struct nvw_findings findings;
	struct ct_frames frames;
};

/* ---- In the child -------------------------------------------------------------------------------- */

static void say(struct answer *a, int result, const char *good, const char *bad)
{
	a->verdict = good;
	if (result == NVW_E_INCONSISTENT) {
		a->verdict = bad;
	}
}

static int check(const struct cli_checked *c, struct answer *a)
{
	const struct nvw_workload *const w = c->workload;
	int r = 0;

	if (w->verify) {
		r = w->verify(c->plan, c->machine, &a->findings);
		say(a, r, "verified", "WRONG");
	}
	if (r == 0 && w->check && c->pool && !nvw_machine_is_volatile(c->machine)) {
		r = w->check(c->plan, c->pool, c->acks, &a->findings);
		say(a, r, "consistent", "INCONSISTENT");
	}
	if (r == 0 && c->sightings) {
		r = nvw__sightings_judge(c->sightings, w, c->plan, c->pool, &a->findings);
		say(a, r, "consistent, for host readers too", "INCONSISTENT for host readers");
	}
	return r;
}

static void fail(struct answer *a, int result, const char *message)
{
	a->result = result;
	NVW_PRINT(a->message, "%s", message);
	a->phase = CT_PHASE_IDLE;
}

static void host_fault(void *context, const char *message)
{
	fail(context, NVW_E_USAGE, message);
	_exit(0);
}

static _Noreturn void answer(const struct cli_checked *c, struct answer *a)
{
	ct_child_begin();
	ct_frames_catch(&a->frames);
	emu_set_host_fault(c->machine, host_fault, a);
	const int r = check(c, a);

	fail(a, r, words_if(r, nvw_error_message()));
	fflush(NULL); /* output of the check */
	_exit(0);
}

/* ---- In the parent ------------------------------------------------------------------------------- */

/* The check has not answered. */
static int describe_death(struct answer *a, int status)
{
	struct ct_finding f = {0};

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		a->verdict = "not checked";
		return nvw_fail(NVW_E_STOPPED, "the check was killed by SIGKILL: there is no verdict");
	}
	ct_describe_death(a->phase, false, status, &a->frames, &f);
	a->verdict = "INCONSISTENT";
	return nvw_violation(&a->findings, 0, "%s%s%s", f.text, words_if(f.where[0], " at "), f.where);
}

static int wait_for(pid_t pid, struct answer *a)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		NVW_FAIL_ERRNO_IF(errno != EINTR, "the check's process was lost");
	}
	if (a->phase != CT_PHASE_IDLE) {
		return describe_death(a, status);
	}
	NVW_FAIL_IF(a->result && a->result != NVW_E_INCONSISTENT, a->result, "%s", a->message);
	return a->result;
}

int cli_check(const struct cli_checked *c, struct nvw_findings *findings, const char **ret_verdict)
{
	NVW_INVARIANT(c->workload && c->machine);

	struct answer *const a = ct_shared_memory(sizeof *a);
	pid_t pid;
	int r;

	NVW_FAIL_ERRNO_IF(!a, "no memory for a check");
	a->verdict = "not checked";
	a->phase = CT_PHASE_CHECK;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		answer(c, a);
	}
	r = pid < 0 ? nvw_fail_errno("cannot start a process for the check") : wait_for(pid, a);
	*findings = a->findings;
	*ret_verdict = a->verdict;
	munmap(a, sizeof *a);
	return r;
}
