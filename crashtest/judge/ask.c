/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that judge crash states, one after another. See ask.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/random.h>

#include <xxhash.h>

#include "core/disk_image.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/stop.h"
#include "core/zeroed.h"

#include "ask.h"
#include "descendants.h"
#include "environment.h"
#include "fork_server.h"
#include "../states/image.h"
#include "process.h"
#include "same_reads.h"
#include "state_file.h"
#include "state_folder.h"
#include "trace.h"

enum { OBSERVED_MS = 1000 }; /* a run that takes longer is not worth it */

/* ---- Asking -------------------------------------------------------------------------------------------- */

static pid_t start_command(const struct ct_start *how)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		ct_child_leads();
		ct_output_redirect(how->output);
		execvpe(how->words[0], how->words, how->environment);
		_exit(127);
	}
	return pid;
}

static void finish(pid_t pid, const struct ct_asked *c, struct ct_answer *ret_answer)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct rusage usage = {0};

	NVW_INVARIANT(pid > 0);
	ret_answer->in_time =
		fd < 0 || ct_hang_wait(fd, pid, c->timeout_ms, &c->shared->hangs, ret_answer->where);
	if (fd >= 0) {
		kill(-pid, SIGKILL); /* its remaining processes too: the next state is a new one */
		close(fd);
	}
	while (wait4(pid, &ret_answer->status, 0, &usage) < 0 && errno == EINTR) {
	}
	if (ret_answer->in_time) {
		ct_hang_ended(&usage);
	}
	ct_end_descendants(ct_fork_server_pid()); /* also those that have left the group */
}

/* What runs on a state have in common. Valid until the next state of this process. */
struct sitting {
	const char *path;
	struct ct_told_state *told;       /* NULL: there are no operations */
	const struct ct_state_file *file; /* NULL: it is a folder */
	int nowhere;                      /* output of next, where the command's counts as a whole */
};

enum way { EXECUTED, FORKED, OBSERVED };

/* The answers that this process knows. */
static struct ct_same_reads same;

/* Makes the file, or the folder, that the image is: it remembers what it holds. */
static int fill(const struct ct_asked *c, const struct ct_image *image, const char **ret_path,
	const struct ct_state_file **ret_file)
{
	/* This process has one command to ask. */
	static struct ct_state_file file;
	static struct ct_state_folder folder;
	const struct nvw__disk *const disk = nvw__disk_of(image->rw, c->bytes);

	if (disk && disk->is_folder) {
		*ret_path = folder.path;
		return ct_state_folder_fill(&folder, c->folder.path, image, disk);
	}
	*ret_path = file.path;
	*ret_file = &file;
	return ct_state_file_fill(&file, c->folder.path, image, c->bytes);
}

static int prepare(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	struct sitting *ret)
{
	/* This process has one command to ask. */
	static struct ct_told_state told;
	static int nowhere = -1;
	const bool tells = *c->operations_path;
	const struct ct_state_file *file = NULL;
	const char *path;

	NVW_TRY(fill(c, image, &path, &file));
	if (tells) {
		NVW_TRY(ct_environment_tell(acks, &told));
	}
	if (c->next.source && nowhere < 0) {
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	*ret = (struct sitting){path, tells ? &told : NULL, file, nowhere};
	return 0;
}

/* How to start a command on the file. Valid until the next call in this process. */
static struct ct_start start_of(
	const struct ct_asked *c, const struct ct_command *command, const struct sitting *s, int output)
{
	static struct ct_command_line line;

	ct_command_fill(command, s->path, &line);
	return (struct ct_start){.words = line.word,
		.environment = ct_environment_of(command->assigned, s->told, c->operations_path),
		.told = s->told,
		.output = output,
		.reads = same.pid == getpid() && same.set ? same.fd : -1};
}

/* 1, or 0 if it gives no answer as a fork. */
static int run_forked(const struct ct_asked *c, const struct ct_start *how, struct ct_answer *ret_answer)
{
	struct ct_ending ending;
	const unsigned timeout_ms = how->observed ? MIN(c->timeout_ms, OBSERVED_MS) : c->timeout_ms;
	struct ct_hangs *const hangs = how->observed ? NULL : &c->shared->hangs;
	const enum ct_fork end = ct_fork_server_run(how, timeout_ms, hangs, &ending);

	c->shared->refused |= end == CT_FORK_REFUSED;
	if (end != CT_FORK_ANSWERED) {
		return 0;
	}
	ret_answer->in_time = ending.in_time;
	ret_answer->status = ending.status;
	NVW_PRINT(ret_answer->where, "%s", ending.where);
	return 1;
}

/* 1, or an error. */
static int run_executed(const struct ct_asked *c, const struct ct_start *how, struct ct_answer *ret_answer)
{
	const pid_t pid = start_command(how);

	NVW_FAIL_ERRNO_IF(pid < 0, "the checker cannot be started");
	finish(pid, c, ret_answer);
	return 1;
}

/* 1, 0 if it gives no answer as a fork, or an error. */
static int run_command(const struct ct_asked *c, const struct sitting *s, enum way way, int output,
	struct ct_answer *ret_answer)
{
	struct ct_start how = start_of(c, &c->command, s, output);

	if (way == OBSERVED) {
		ct_same_reads_expect(&same, s->file->device, s->file->inode);
		how.observed = true;
	}
	return way != EXECUTED ? run_forked(c, &how, ret_answer) : run_executed(c, &how, ret_answer);
}

static bool is_accepted(const struct ct_answer *a)
{
	return a->in_time && WIFEXITED(a->status) && WEXITSTATUS(a->status) == 0;
}

/* Lets next work on the file, and asks again: as run_command(). */
static int go_on(const struct ct_asked *c, const struct sitting *s, enum way way, int output,
	struct ct_answer *ret_answer)
{
	NVW_INVARIANT(c->next.source);
	ret_answer->run = CT_RUN_NEXT;
	if (!c->whole_output) {
		ct_output_begin(false);
	}
	const struct ct_start how = start_of(c, &c->next, s, c->whole_output ? s->nowhere : output);
	const int end = run_executed(c, &how, ret_answer);

	if (end < 0 || !is_accepted(ret_answer)) {
		return end;
	}
	ret_answer->run = CT_RUN_AFTER;
	if (!c->whole_output) {
		ct_output_begin(false);
	}
	return run_command(c, s, way, output, ret_answer);
}

/* Asks the command, as a fork if that is wanted and can be: 1, 0 if it gives no answer as one, or an
 * error. */
static int ask(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	enum way way, struct ct_answer *ret_answer)
{
	struct sitting s;

	NVW_TRY(prepare(c, image, acks, &s));
	const int output = ct_output_begin(c->whole_output);

	NVW_FAIL_IF(c->whole_output && output < 0, NVW_E_MEMORY, "no memory for the output of a command");
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* in the process that judges */
	ret_answer->run = CT_RUN_FIRST;
	int end = run_command(c, &s, way, output, ret_answer);

	if (end == 1 && c->next.source && is_accepted(ret_answer)) {
		end = go_on(c, &s, way, output, ret_answer);
	}
	if (end == 1) {
		ct_output_line(ret_answer->line);
		ct_output_whole(&ret_answer->whole);
	}
	return end;
}

/* True for the first states of all processes, and then for fewer and fewer. */
static bool is_compared(const struct ct_asked *c)
{
	const uint64_t n = __atomic_fetch_add(&c->shared->forked, 1, __ATOMIC_RELAXED);

	return n < 4 || (n & (n - 1)) == 0;
}

/* The signal that it died of, itself or as a shell tells of it; 0: none. */
static int signal_of(const struct ct_answer *a)
{
	if (!a->in_time) {
		return 0;
	}
	if (WIFSIGNALED(a->status)) {
		return WTERMSIG(a->status);
	}
	return MAX(WEXITSTATUS(a->status) - 128, 0);
}

static bool is_killed(const struct ct_answer *a)
{
	return ct_is_from_outside(signal_of(a));
}

/* An answer that has been ended from outside is none. */
static bool is_same(const struct ct_answer *a, const struct ct_answer *b)
{
	if (is_killed(a) || is_killed(b)) {
		return true;
	}
	return a->run == b->run && a->in_time == b->in_time &&
	       (!a->in_time || (a->status == b->status && a->whole.bytes == b->whole.bytes &&
				       a->whole.hash == b->whole.hash));
}

/* Whether answers of other states may be this one's: those of a plain command that reads the image itself. */
static bool are_read_sets_off(void)
{
	const char *const wanted = getenv(CT_READ_SETS_VARIABLE);

	return wanted && !strcmp(wanted, "off");
}

static bool is_comparable(const struct ct_asked *c, const struct ct_image *image)
{
	return !c->command.by_shell && !c->shared->differs && !c->shared->misread && !c->next.source &&
	       !are_read_sets_off() && !nvw__disk_of(image->rw, c->bytes);
}

/* A hash of what the command is told beside the file. */
static uint64_t told_of(const struct ct_asked *c, const struct nvw_acks *acks)
{
	static struct ct_told_state told;

	if (!*c->operations_path || ct_environment_tell(acks, &told) != 0) {
		return 0;
	}
	return nvw_mix64(XXH64(told.acknowledged, strlen(told.acknowledged), 0)) ^
	       XXH64(told.in_flight, strlen(told.in_flight), 1);
}

/* As a fork, whose reads are observed if that is possible. */
static int ask_forked(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	bool observes, struct ct_answer *ret_answer)
{
	if (!observes || same.useless) {
		return ask(c, image, acks, FORKED, ret_answer);
	}
	const int error = ask(c, image, acks, OBSERVED, ret_answer);

	if (error == 1 && !ct_same_reads_learn(&same, image, ret_answer)) {
		return ask(c, image, acks, FORKED, ret_answer);
	}
	return error;
}

/* The command's answer, however it was come by: 0 or an error. */
static int ask_either(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	bool observes, struct ct_answer *ret_answer)
{
	const bool compared = is_compared(c);
	const int signals = nvw_stop_signals();
	struct ct_answer executed;
	int error = 0;

	if (!c->command.by_shell && !c->shared->differs) {
		error = ask_forked(c, image, acks, observes, ret_answer);
	}
	if (error == 1 && !compared) {
		c->shared->relied = 1;
	} else if (error == 1) {
		error = ask(c, image, acks, EXECUTED, &executed);
		c->shared->differs |=
			error == 1 && nvw_stop_signals() == signals && !is_same(ret_answer, &executed);
		*ret_answer = executed;
	} else if (error == 0) {
		error = ask(c, image, acks, EXECUTED, ret_answer);
	}
	NVW_FAIL_IF(error == 1 && c->shared->differs && c->shared->relied, NVW_E_SYSTEM,
		"the checker gives different answers when it is forked");
	return MIN(error, 0);
}

/* An answer of another state: it is compared with the command's own now and then. */
static int trust(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	struct ct_answer *ret_answer)
{
	struct ct_answer own;
	const uint64_t n = __atomic_add_fetch(&c->shared->found, 1, __ATOMIC_RELAXED);

	if ((n & (n - 1)) != 0) {
		c->shared->spared = 1;
		if (image->alike) {
			++*image->alike;
		}
		return 0;
	}
	NVW_TRY(MIN(ask(c, image, acks, EXECUTED, &own), 0));
	if (!is_killed(&own) && !is_same(ret_answer, &own)) {
		c->shared->misread = 1;
	}
	*ret_answer = own;
	return c->shared->misread && c->shared->spared ?
		       nvw_fail(NVW_E_SYSTEM,
			       "the checker gives different answers for states that it reads alike") :
		       0;
}

static bool was_not_executed(const struct ct_answer *a)
{
	return a->in_time && WIFEXITED(a->status) &&
	       (WEXITSTATUS(a->status) == 126 || WEXITSTATUS(a->status) == 127);
}

static int check_answer(struct ct_answer *ret)
{
	NVW_FAIL_IF(signal_of(ret) == SIGKILL, CT_NO_ANSWER,
		"the checker was killed by SIGKILL %u times in one state (was memory short?)", CT_KILLS_MAX);
	NVW_FAIL_IF(was_not_executed(ret), NVW_E_INPUT, "the checker could not be executed (status %d)%s%s",
		WEXITSTATUS(ret->status), *ret->line ? ": " : "", ret->line);
	return 0;
}

/* One that was killed from outside is asked again, and one that may have been told to stop: it need not have
 * died of that. One that dies each time of a signal other than SIGKILL does so by itself. */
int ct_ask(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	struct ct_answer *ret)
{
	bool again = true;

	*ret = (struct ct_answer){0};
	const bool observes =
		is_comparable(c, image) && ct_same_reads_begin(&same, image, c->bytes, told_of(c, acks));

	if (observes && ct_same_reads_find(&same, image, ret)) {
		return trust(c, image, acks, ret);
	}
	for (unsigned i = 0; i < CT_KILLS_MAX && again; i++) {
		const bool is_last = i + 1 == CT_KILLS_MAX; /* perhaps it dies only as a fork */
		const int signals = nvw_stop_signals();
		const int error = is_last ? ask(c, image, acks, EXECUTED, ret) :
					    ask_either(c, image, acks, observes, ret);

		if (error < 0) {
			return error;
		}
		again = is_killed(ret) || nvw_stop_signals() != signals;
	}
	return check_answer(ret);
}

int ct_ask_reads(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	const uint64_t (*words)[CT_READ_BITS], struct ct_answer *ret_answer,
	const struct ct_read_set **ret_reads)
{
	*ret_reads = NULL;
	*ret_answer = (struct ct_answer){0};
	if (is_comparable(c, image) && ct_same_reads_all(&same, image, c->bytes, words)) {
		const int error = ask(c, image, acks, OBSERVED, ret_answer);

		if (error < 0) {
			return error;
		}
		if (error == 1 && same.set->began && !same.set->gave_up && ret_answer->in_time &&
			WIFEXITED(ret_answer->status)) {
			*ret_reads = same.set;
			return 0;
		}
	}
	return MIN(ask_either(c, image, acks, false, ret_answer), 0);
}

void ct_asked_why_unseen(const struct ct_asked *c, char ret_why[CT_TEXT_BYTES])
{
	const uint32_t call = same.set && same.set->gave_up ? same.set->call : 0;

	switch (call) {
	case 0:
		snprintf(ret_why, CT_TEXT_BYTES, "%s",
			c->command.by_shell ?
				"it needs a shell" :
				"it has threads, handles signals, or maps the file over itself");
		break;
	case SYS_clone + 1:
	case SYS_clone3 + 1:
	case SYS_fork + 1:
	case SYS_vfork + 1:
		snprintf(ret_why, CT_TEXT_BYTES, "it starts a thread or a program");
		break;
	default:
		snprintf(ret_why, CT_TEXT_BYTES,
			"it makes system call %u of x86-64 (asm/unistd_64.h has its name), which is not "
			"followed with these arguments",
			call - 1);
	}
}

/* Brings the file to where this run began. */
static int redo_before(const struct ct_asked *c, const struct sitting *s, enum ct_run_of run, int output)
{
	struct ct_answer a;

	if (run >= CT_RUN_NEXT && run_command(c, s, EXECUTED, output, &a) != 1) {
		return NVW_E_SYSTEM;
	}
	if (run == CT_RUN_AFTER) {
		const struct ct_start how = start_of(c, &c->next, s, output);

		return run_executed(c, &how, &a) == 1 ? 0 : NVW_E_SYSTEM;
	}
	return 0;
}

void ct_asked_stack(const struct ct_asked *c, const struct ct_image *image, const struct nvw_acks *acks,
	char ret_stack[CT_STACK_BYTES])
{
	struct ct_answer a;
	struct sitting s;

	ret_stack[0] = '\0';
	if (ct_ask(c, image, acks, &a) != 0 || (a.in_time && signal_of(&a) == 0) ||
		prepare(c, image, acks, &s) != 0) {
		return;
	}
	const int output = ct_output_begin(c->whole_output);

	if (redo_before(c, &s, a.run, output) == 0) {
		const struct ct_start how =
			start_of(c, a.run == CT_RUN_NEXT ? &c->next : &c->command, &s, output);

		ct_trace_run(&how, c->timeout_ms, ret_stack);
	}
}

const char *ct_answer_when(const struct ct_answer *a)
{
	static const char *const when[] = {[CT_RUN_FIRST] = "",
		[CT_RUN_NEXT] = "going on after recovery: ",
		[CT_RUN_AFTER] = "after recovery, and going on: "};

	return when[a->run];
}

int ct_answer_note(const struct ct_answer *a, struct nvw_findings *findings)
{
	const char *const when = ct_answer_when(a);
	static const char *const runs[] = {[CT_RUN_FIRST] = "the checker",
		[CT_RUN_NEXT] = "the program",
		[CT_RUN_AFTER] = "the checker"};
	const char *const who = runs[a->run];

	if (!a->in_time && *a->where) {
		return nvw_violation(findings, 0, "%s%s does not terminate: %s", when, who, a->where);
	}
	if (!a->in_time) {
		return nvw_violation(findings, 0, "%s%s does not terminate", when, who);
	}
	if (WIFSIGNALED(a->status)) {
		return nvw_violation(findings, 0, "%s%s was killed by signal %d (%s)", when, who,
			WTERMSIG(a->status), strsignal(WTERMSIG(a->status)));
	}
	if (a->run == CT_RUN_NEXT && WEXITSTATUS(a->status) != 0) {
		return nvw_violation(findings, 0, "%s%s exited with status %d%s%s", when, who,
			WEXITSTATUS(a->status), *a->line ? ": " : "", a->line);
	}
	return 0;
}

/* ---- Beginning and end --------------------------------------------------------------------------------- */

static int make_shared(struct ct_asked *c)
{
	c->shared = ct_shared_memory(sizeof *c->shared);
	NVW_FAIL_ERRNO_IF(!c->shared, "no memory for a checker");
	return 0;
}

int ct_asked_make(const struct ct_asked_is *is, const char *option, struct ct_asked *ret)
{
	const struct ct_operations *const operations = is->operations;

	NVW_TRY(ct_command_make(is->command, option, &ret->command));
	if (is->next) {
		NVW_TRY(ct_command_make(is->next, "--and-then", &ret->next));
	}
	ret->bytes = is->bytes;
	ret->timeout_ms = is->timeout_ms;
	NVW_TRY(make_shared(ret));
	/* In memory rather than on a disk: the files are written once a state. */
	NVW_TRY(nvw_folder_make("check", true, &ret->folder));
	if (!operations || operations->count == 0) {
		return 0;
	}
	NVW_PRINT(ret->operations_path, "%s/operations", ret->folder.path);
	return ct_environment_write(ret->operations_path, operations);
}

bool ct_asked_begins_anew(struct ct_asked *c)
{
	struct ct_asked_shared *const s = c->shared;
	const bool anew = s && ((s->differs && s->relied) || (s->misread && s->spared));

	if (anew) {
		s->relied = 0;
		s->spared = 0;
	}
	return anew;
}

void ct_asked_why_executed(const struct ct_asked *c, char ret_why[CT_TEXT_BYTES])
{
	char library[4096];

	*ret_why = '\0';
	if (!c->shared) {
		return;
	}
	if (c->command.by_shell) {
		snprintf(ret_why, CT_TEXT_BYTES, "a shell has to read its command (%s)", c->command.why);
	} else if (c->shared->differs) {
		snprintf(ret_why, CT_TEXT_BYTES, "it gives different answers when it is forked");
	} else if (c->shared->refused && !ct_fork_server_library(library)) {
		snprintf(ret_why, CT_TEXT_BYTES, "libnvwave-fork.so is missing");
	} else if (c->shared->refused) {
		snprintf(ret_why, CT_TEXT_BYTES,
			"it cannot be forked before its main(): it is static, or set-user-id, or has "
			"threads by then");
	}
}

uint64_t ct_asked_alike(const struct ct_asked *c)
{
	return c->shared ? c->shared->hangs.alike : 0;
}

void ct_asked_destroy(struct ct_asked *c)
{
	ct_fork_server_end(); /* its command names a file in the folder */
	nvw_folder_remove(&c->folder);
	nvw__unmap(c->shared, sizeof *c->shared);
	*c = (struct ct_asked){0};
}
