/* SPDX-License-Identifier: BSD-3-Clause */
/* A command run once more to see where it dies. See trace.h. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/invariant.h"

#include "source/frames.h"

#include "output.h"
#include "process.h"
#include "trace.h"

enum { LOOK_US = 2000 };

struct trace {
	pid_t pid; /* of the command, and of its group */
	bool ended, died;
	double most; /* CPU time of the process that stack is of, when the command hangs */
	char *stack;
};

__attribute__((noreturn)) static void become_traced(const struct ct_start *how)
{
	ct_child_leads();
	ct_output_redirect(how->output);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
		raise(SIGSTOP);
		execvpe(how->words[0], how->words, how->environment);
	}
	_exit(127);
}

static pid_t start(const struct ct_start *how)
{
	const pid_t pid = fork();

	if (pid == 0) {
		become_traced(how);
	}
	return pid;
}

static bool is_fatal(int signal)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};

	return NVW_ANY(one, signals, NVW_COUNT(signals), signal == *one);
}

/* A thread of the command has stopped: goes on, with the signal if it is the command's own. */
static void go_on(const struct trace *t, pid_t thread, int status)
{
	const int signal = WSTOPSIG(status);
	const bool own = signal != SIGTRAP && signal != SIGSTOP && status >> 16 == 0;

	if (own && is_fatal(signal)) {
		nvw__stopped_stack(thread, t->stack, CT_STACK_BYTES);
	}
	ptrace(PTRACE_CONT, thread, NULL, (void *)(uintptr_t)(own ? signal : 0));
}

/* What waitpid() had to say. */
static void note(struct trace *t, pid_t thread, int status)
{
	if (WIFSTOPPED(status)) {
		go_on(t, thread, status);
	} else if (thread == t->pid) {
		t->ended = true;
		t->died = WIFSIGNALED(status) || WEXITSTATUS(status) > 128; /* as a shell tells of it */
	}
}

/* Stops what hangs; the stack is that of the process that has computed most. */
static void look_at_hang(struct trace *t)
{
	const double began = ct_wall_seconds();
	int status;

	NVW_INVARIANT(t->pid > 0);
	t->stack[0] = '\0';
	kill(-t->pid, SIGSTOP);
	while (ct_wall_seconds() - began < 0.2) {
		const pid_t thread = waitpid(-t->pid, &status, __WALL | WNOHANG);
		const double cpu = thread > 0 && WIFSTOPPED(status) ? ct_cpu_seconds(thread) : -1;

		if (cpu > t->most) {
			t->most = cpu;
			nvw__stopped_stack(thread, t->stack, CT_STACK_BYTES);
		}
		if (thread <= 0) {
			usleep(LOOK_US);
		}
	}
}

static void follow(struct trace *t, unsigned timeout_ms)
{
	const double began = ct_wall_seconds(), limit = 1e-3 * timeout_ms;
	int status;

	NVW_INVARIANT(t->pid > 0);
	while (!t->ended) {
		const pid_t thread = waitpid(-t->pid, &status, __WALL | WNOHANG);

		if (thread > 0) {
			note(t, thread, status);
		} else if (thread < 0) {
			return;
		} else if (ct_cpu_seconds(t->pid) > limit ||
			   ct_wall_seconds() - began > CT_COMMAND_WALL_FACTOR * limit) {
			look_at_hang(t);
			t->died = true;
			return;
		} else {
			usleep(LOOK_US);
		}
	}
}

void ct_trace_run(const struct ct_start *how, unsigned timeout_ms, char ret_stack[CT_STACK_BYTES])
{
	const int options =
		PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
	struct trace t = {.pid = start(how), .most = -1, .stack = ret_stack};
	int status;

	ret_stack[0] = '\0';
	if (t.pid < 0) {
		return;
	}
	if (waitpid(t.pid, &status, 0) == t.pid && WIFSTOPPED(status)) {
		ptrace(PTRACE_SETOPTIONS, t.pid, NULL, (void *)(uintptr_t)options);
		ptrace(PTRACE_CONT, t.pid, NULL, NULL);
		follow(&t, timeout_ms);
	}
	if (!t.died) {
		ret_stack[0] = '\0';
	}
	kill(-t.pid, SIGKILL);
	while (waitpid(-t.pid, &status, __WALL) > 0) {
	}
}
