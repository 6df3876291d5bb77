/* SPDX-License-Identifier: BSD-3-Clause */
/* A job array of Slurm. See slurm_job.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/invariant.h"
#include "core/print.h"
#include "core/stop.h"
#include "core/text_stream.h"
#include "report/words.h"
#include "slurm_job.h"
#include "sweep.h"

enum { ANSWER_STEP = 1 << 14, WAIT_MS = 100, KINDS = 16 };

/* ---- Asking -------------------------------------------------------------------------------------- */

/* Until there is more of an answer. An interrupted command still waits for it: a job whose number is not
 * known could not be cancelled. */
static void wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool is_reporting = false;

	for (int n; (n = poll(&p, 1, WAIT_MS)) == 0 || (n < 0 && errno == EINTR);) {
		if (nvw_stopping() && !is_reporting) {
			is_reporting = true;
			nvw_stop_reporting();
		}
	}
}

static char *read_all(int fd)
{
	struct text_stream t;
	char part[ANSWER_STEP];
	ssize_t n = 0;

	if (!text_begin(&t)) {
		return NULL;
	}
	do {
		wait_for(fd);
		n = read(fd, part, sizeof part);
		if (n > 0) {
			fwrite(part, 1, (size_t)n, t.to);
		}
	} while (n > 0 || (n < 0 && errno == EINTR));
	return text_end(&t);
}

/* With SIGINT ignored; NULL: it did not start. */
static FILE *start(const char *command)
{
	char *const all = text_made("trap '' INT; %s", command);
	FILE *const f = all ? popen(all, "re") : NULL;

	free(all);
	return f;
}

static int ask(const char *command, char **ret_answer)
{
	FILE *const f = start(command);

	*ret_answer = NULL;
	if (!f) {
		return -1;
	}
	*ret_answer = read_all(fileno(f));
	const int status = pclose(f);

	return *ret_answer ? status : -1;
}

static void keep_first_line(char *answer)
{
	if (answer) {
		answer[strcspn(answer, "\n")] = 0;
	}
}

int sweep_slurm_find(void)
{
	char *answer;
	const int status = ask("command -v sbatch squeue scancel 2>&1", &answer);

	free(answer);
	NVW_FAIL_IF(status, NVW_E_USAGE,
		"--engine=slurm: there is no sbatch: install Slurm's commands "
		"(on Debian, the package slurm-client)");
	return 0;
}

/* ---- A job --------------------------------------------------------------------------------------- */

int slurm_follow(struct slurm_job *job, unsigned long long number, unsigned tasks)
{
	NVW_INVARIANT(number > 0 && tasks > 0);
	slurm_job_end(job);
	job->task = calloc(tasks, sizeof *job->task);
	NVW_ALLOCATED(job->task, "no memory for a job array");
	job->number = number;
	job->count = tasks;
	NVW_EACH(task, job->task, tasks) {
		snprintf(task->state, SLURM_STATE_BYTES, "PENDING");
	}
	return 0;
}

void slurm_job_end(struct slurm_job *job)
{
	free(job->task);
	free(job->said);
	*job = (struct slurm_job){0};
}

/* ---- States -------------------------------------------------------------------------------------- */

/* How tasks end. Every other state is one of a task that waits or runs. */
static const struct slurm_ending endings[] = {
	{"BOOT_FAIL", SLURM_RETRY, "error", "its node did not start"},
	{"CANCELLED", SLURM_NO_RETRY, "error",
		"cancelled, and not by nvwave; the same command submits what is missing"},
	{"COMPLETED", SLURM_RETRY, "error", "it left no result"},
	{"DEADLINE", SLURM_NO_RETRY, "timeout", "past its deadline"},
	{"FAILED", SLURM_RETRY, "error", "it failed"},
	{"NODE_FAIL", SLURM_RETRY, "error", "its node was lost"},
	{"OUT_OF_MEMORY", SLURM_RETRY_OTHERS, "error", "over its memory limit (--mem of sbatch)"},
	{"PREEMPTED", SLURM_RETRY, "error", "another job has taken its place"},
	{"REVOKED", SLURM_NO_RETRY, "error", "another cluster has it"},
	{"TIMEOUT", SLURM_RETRY_OTHERS, "timeout", "over its time limit (--time of sbatch)"},
	{"", SLURM_RETRY, "error", "Slurm does not say how it ended"},
};

static const struct slurm_ending *ending_of(const char *state)
{
	return NVW_FIND(ending, endings, NVW_COUNT(endings), !strcmp(state, ending->state));
}

const struct slurm_ending *slurm_ending(const struct slurm_job *job, unsigned task)
{
	NVW_INVARIANT(task >= 1 && task <= job->count);
	const struct slurm_ending *const ending = ending_of(job->task[task - 1].state);

	return ending ? ending : ending_of("");
}

bool slurm_is_active(const struct slurm_job *job)
{
	return NVW_ANY(task, job->task, job->count, !ending_of(task->state));
}

static bool is_pending(const struct slurm_task *task)
{
	return !strcmp(task->state, "PENDING");
}

bool slurm_waits(const struct slurm_job *job)
{
	bool waits = false;

	NVW_EACH(task, job->task, job->count) {
		if (is_pending(task)) {
			waits = true;
		} else if (!ending_of(task->state)) {
			return false;
		}
	}
	return waits;
}

static void take_state(struct slurm_job *job, unsigned long at, const char *state, const char *reason)
{
	if (at > 0 && at <= job->count) {
		struct slurm_task *const task = &job->task[at - 1];

		task->is_listed = true;
		NVW_PRINT(task->state, "%s", state);
		NVW_PRINT(task->reason, "%s", reason);
	}
}

/* "3", or "[2-4,7]" of tasks that did not start. */
static void take_states(struct slurm_job *job, const char *tasks, const char *state, const char *reason)
{
	char *end;

	do {
		const unsigned long first = strtoul(tasks + (*tasks == '['), &end, 10);
		const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		for (unsigned long at = first; at <= last && at <= job->count; at++) {
			take_state(job, at, state, reason);
		}
		tasks = end + 1;
	} while (*end == ',');
}

/* "3|PENDING|Resources" of squeue, "12_3|CANCELLED by 1000|None" of sacct. */
static void take_line(struct slurm_job *job, char *line)
{
	char *const index = strsep(&line, "|"), *const state = strsep(&line, "|");
	const char *const behind = strrchr(index, '_');

	if (state) {
		state[strcspn(state, " ")] = 0;
		take_states(job, behind ? behind + 1 : index, state, words_or(line, "None"));
	}
}

static void take_lines(struct slurm_job *job, char *answer)
{
	char *rest = answer, *line;

	while ((line = strsep(&rest, "\n"))) {
		take_line(job, line);
	}
}

/* Accounting may be off; then it is not known how those tasks ended. */
static void ask_accounting(struct slurm_job *job)
{
	char command[160], *answer;

	NVW_INVARIANT(job->number != 0);
	NVW_PRINT(command, "sacct -n -X -P -j %llu -o JobID,State,Reason 2>/dev/null", job->number);
	if (ask(command, &answer) == 0) {
		take_lines(job, answer);
	}
	free(answer);
}

/* What squeue no longer lists has ended. Of a job that it knows, it leaves out only the tasks that were
 * cancelled before they started. */
static void take_unlisted(struct slurm_job *job, bool is_known)
{
	bool is_any = false;

	NVW_EACH(task, job->task, job->count) {
		if (task->is_listed || ending_of(task->state)) {
			continue;
		}
		const char *const state = is_known && is_pending(task) ? "CANCELLED" : "";

		NVW_PRINT(task->state, "%s", state);
		*task->reason = 0;
		is_any = is_any || !*state;
	}
	if (is_any) {
		ask_accounting(job);
	}
}

int slurm_ask(struct slurm_job *job)
{
	char command[128], *answer;

	NVW_INVARIANT(job->number != 0);
	NVW_PRINT(command, "squeue -h -r -t all -j %llu -o '%%K|%%T|%%r' 2>&1", job->number);
	const int status = ask(command, &answer);

	NVW_ALLOCATED(answer, "no memory for a job array");
	const bool is_known = status == 0 && *answer;

	if (status == 0 || strstr(answer, "Invalid job id")) {
		NVW_EACH(task, job->task, job->count) {
			task->is_listed = false;
		}
		take_lines(job, answer);
		take_unlisted(job, is_known);
	}
	free(answer);
	return 0;
}

/* ---- Saying -------------------------------------------------------------------------------------- */

/* Why a job waits that does not start by itself: how a reason of Slurm begins, and what it means. */
static const struct {
	const char *reason, *words;
} obstacles[] = {
	{"AccountNotAllowed", "its account may not use the partition"},
	{"BadConstraints", "no node is as it asks"},
	{"DependencyNeverSatisfied", "what it depends on has failed"},
	{"InvalidAccount", "there is no such account"},
	{"InvalidQOS", "there is no such quality of service"},
	{"JobHeldAdmin", "an administrator holds it"},
	{"JobHeldUser", "it is held; scontrol release lets it go"},
	{"Nodes", "the nodes that it needs are down, drained or reserved"},
	{"PartitionConfig", "its partition does not allow what it asks for"},
	{"PartitionDown", "its partition is down"},
	{"PartitionInactive", "its partition is inactive"},
	{"PartitionNodeLimit", "it asks for more nodes than its partition has up"},
	{"PartitionTimeLimit", "it asks for more time than its partition allows"},
	{"QOSNotAllowed", "its quality of service may not use the partition"},
	{"ReqNodeNotAvail", "the nodes that it needs are down, drained or reserved"},
	{"launch failed", "it could not be started on its node"},
	{"launch_failed", "it could not be started on its node"},
};

static const char *obstacle_of(const char *reason)
{
	NVW_EACH_IN(obstacle, obstacles) {
		if (!strncmp(reason, obstacle->reason, strlen(obstacle->reason))) {
			return obstacle->words;
		}
	}
	return NULL;
}

struct kind {
	const struct slurm_task *task;
	unsigned count;
};

static bool is_kind(const struct slurm_task *a, const struct slurm_task *b)
{
	return !strcmp(a->state, b->state) && (!is_pending(a) || !strcmp(a->reason, b->reason));
}

/* Tasks that are done, or are about to be, are not worth a word. */
static unsigned kinds_of(const struct slurm_job *job, struct kind kind[KINDS])
{
	unsigned count = 0, k;

	NVW_EACH(task, job->task, job->count) {
		if (!strncmp(task->state, "COMPLET", 7)) {
			continue;
		}
		for (k = 0; k < count && !is_kind(kind[k].task, task); k++) {
		}
		if (k == count && count < KINDS) {
			kind[count++] = (struct kind){.task = task};
		}
		if (k < count) {
			kind[k].count++;
		}
	}
	return count;
}

static void print_kind(const struct kind *kind, bool with_count, FILE *to)
{
	const struct slurm_task *const task = kind->task;

	NVW_INVARIANT(kind->count > 0);
	if (with_count) {
		fprintf(to, "%u ", kind->count);
	}
	fputs(words_or(task->state, "ended"), to);
	if (is_pending(task) && *task->reason && strcmp(task->reason, "None")) {
		fprintf(to, ": %s", task->reason);
	}
}

/* With the count of each kind where there are several. */
static char *states_text(const struct slurm_job *job, bool with_counts)
{
	struct kind kind[KINDS];
	const unsigned count = kinds_of(job, kind);
	struct text_stream t;

	if (!text_begin(&t)) {
		return NULL;
	}
	NVW_FOR(k, count) {
		fputs(words_if(k, ", "), t.to);
		print_kind(&kind[k], with_counts && count > 1, t.to);
	}
	return text_end(&t);
}

char *slurm_states(const struct slurm_job *job)
{
	return states_text(job, true);
}

/* A line of progress may be there. */
static void print_line(const struct slurm_job *job, const char *text, const char *obstacle)
{
	fprintf(stderr, "%snvwave: job %llu%s: %s", words_if(isatty(STDERR_FILENO), "\r\033[K"), job->number,
		words_if(obstacle, " cannot start"), text);
	if (obstacle) {
		fprintf(stderr, ": %s", obstacle);
	}
	fputc('\n', stderr);
}

/* The first that keeps a job from starting of which nothing runs. */
static const char *obstacle_to(const struct slurm_job *job)
{
	const char *words = NULL;

	NVW_EACH(task, job->task, job->count) {
		if (!words && is_pending(task)) {
			words = obstacle_of(task->reason);
		}
	}
	return slurm_waits(job) ? words : NULL;
}

void slurm_say(struct slurm_job *job)
{
	char *const kinds = states_text(job, false), *const text = states_text(job, true);

	if (kinds && text && *text && (!job->said || strcmp(kinds, job->said))) {
		print_line(job, text, obstacle_to(job));
		free(job->said);
		job->said = strdup(kinds);
	}
	free(kinds);
	free(text);
}

/* ---- Submitting and ending it ---------------------------------------------------------------------- */

/* "PENDING" alone is no news then. */
static void say_submitted(struct slurm_job *job)
{
	char text[64];

	NVW_INVARIANT(job->count > 0);
	NVW_PRINT(text, "submitted: %u task%s", job->count, plural(job->count));
	print_line(job, text, NULL);
	job->said = strdup("PENDING");
}

int slurm_submit(struct slurm_job *job, const char *command, unsigned tasks)
{
	char *answer;
	unsigned long long number = 0;
	int r = 0;

	NVW_INVARIANT(tasks > 0);
	if (ask(command, &answer) != 0 || sscanf(answer, "%llu", &number) != 1 || number == 0) {
		keep_first_line(answer);
		r = nvw_fail(NVW_E_USAGE, "--engine=slurm: %s", words_or(answer, "sbatch says nothing"));
	}
	free(answer);
	NVW_TRY(r);
	NVW_TRY(slurm_follow(job, number, tasks));
	say_submitted(job);
	return 0;
}

void slurm_cancel(struct slurm_job *job, const char *why)
{
	char command[64], text[512], *answer;

	NVW_INVARIANT(job->number != 0);
	NVW_PRINT(command, "scancel %llu 2>&1", job->number);
	if (!ask(command, &answer)) {
		NVW_PRINT(text, "cancelled: %s", why);
	} else {
		keep_first_line(answer);
		NVW_PRINT(text, "not cancelled: %s", words_or(answer, "scancel says nothing"));
	}
	print_line(job, text, NULL);
	free(answer);
}
