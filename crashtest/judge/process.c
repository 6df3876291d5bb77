/* SPDX-License-Identifier: BSD-3-Clause */
/* Watching processes. See process.h. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/invariant.h"
#include "core/print.h"
#include "core/stop.h"

#include "process.h"

static double seconds_of(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double ct_wall_seconds(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double ct_cpu_seconds(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) == 0 ? seconds_of(clock) : -1;
}

double ct_cpu_of_usage(const struct rusage *usage)
{
	const struct timeval *const user = &usage->ru_utime, *const kernel = &usage->ru_stime;

	return (double)(user->tv_sec + kernel->tv_sec) + 1e-6 * (double)(user->tv_usec + kernel->tv_usec);
}

bool ct_over_limit(pid_t pid, double cpu, double wall, unsigned limit_ms)
{
	const double limit = 1e-3 * limit_ms;

	return ct_cpu_seconds(pid) - cpu > limit || ct_wall_seconds() - wall > CT_WALL_FACTOR * limit;
}

void *ct_shared_memory(size_t bytes)
{
	void *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	NVW_INVARIANT(bytes > 0);
	return at == MAP_FAILED ? NULL : at;
}

void ct_child_leads(void)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void ct_child_begin(void)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGALRM, SIGPROF};
	const struct rlimit no_core = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	nvw_stop_leave_to_parent();
	setrlimit(RLIMIT_CORE, &no_core);
	NVW_EACH_IN(one, fatal) {
		signal(*one, SIG_DFL);
	}
}

int ct_fork(struct ct_frames *frames, pid_t *ret_pid)
{
	fflush(NULL);
	*ret_pid = fork();
	NVW_FAIL_ERRNO_IF(*ret_pid < 0, "cannot start a process");
	if (*ret_pid == 0) {
		ct_child_begin();
	}
	if (*ret_pid == 0 && frames) {
		ct_frames_catch(frames);
	}
	return 0;
}

void ct_leave(struct ct_left *left, int error)
{
	left->error = error;
	if (error) {
		NVW_PRINT(left->message, "%s", nvw_error_message());
	}
}

int ct_left_by(const struct ct_left *left)
{
	NVW_FAIL_IF(left->error, left->error, "%s", left->message);
	return 0;
}

bool ct_is_from_outside(int signal)
{
	return signal == SIGKILL || signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

static const char *phase_name(uint32_t phase)
{
	static const char *const names[] = {
#define X(name, text) [CT_PHASE_##name] = text,
		CT_PHASES(X)
#undef X
	};

	NVW_INVARIANT(phase < NVW_COUNT(names));
	return phase < NVW_COUNT(names) ? names[phase] : "nowhere";
}

void ct_end_process(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
		*pid = 0;
	}
}

void ct_end_hanging(pid_t pid, const struct ct_frames *frames)
{
	kill(pid, CT_FRAMES_ASK);
	for (unsigned i = 0; i < 100 && frames->count == 0; i++) {
		usleep(1000);
	}
	kill(pid, SIGKILL);
}

void ct_describe_death(
	uint32_t phase, bool hung, int status, const struct ct_frames *frames, struct ct_finding *f)
{
	f->hung = hung;
	ct_frames_place(frames, f->where);
	ct_frames_stack(frames, f->stack);
	if (hung) {
		NVW_PRINT(f->text, "%s does not terminate", phase_name(phase));
	} else if (WIFSIGNALED(status)) {
		f->signal = WTERMSIG(status);
		NVW_PRINT(f->text, "%s was killed by signal %d (%s)", phase_name(phase), f->signal,
			strsignal(f->signal));
	} else if (phase != CT_PHASE_IDLE) {
		NVW_PRINT(f->text, "%s ended the process with status %d", phase_name(phase),
			WEXITSTATUS(status));
	}
}
