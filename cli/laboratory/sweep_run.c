/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points as processes of this program, side by side. A point that dies takes nothing along, and all of them
 * die with the sweep.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <crashtest/judge/process.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/folder.h"
#include "core/member.h"
#include "core/newfile.h"
#include "core/stop.h"
#include "sweep.h"
#include "report/words.h"

enum { JOBS_MAX = 256, POLL_MS = 100, REPORT_BYTES_MAX = 1 << 28 };

struct child {
	pid_t pid; /* 0: none */
	int watch; /* readable when it has ended */
	int out, err;
	double began;
	bool timed_out;
	struct sweep_point *point; /* NULL: of no sweep */
};

struct running {
	struct sweep *sweep;
	const struct sweep_manner *manner;
	struct sweep_journal *journal;
	struct child *child; /* manner->jobs */
	unsigned next, active;
	struct sweep_progress progress;
};

unsigned sweep_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) < 1) {
		return 1;
	}
	return CPU_COUNT(&set) > JOBS_MAX ? JOBS_MAX : (unsigned)CPU_COUNT(&set);
}

/* ---- A process ----------------------------------------------------------------------------------- */

/* A child dies with its parent; its output goes to the files. */
static bool is_settled(pid_t parent, const struct child *c)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
	       dup2(c->out, STDOUT_FILENO) >= 0 && dup2(c->err, STDERR_FILENO) >= 0;
}

static void become_point(pid_t parent, struct child *c, const struct sweep_words *w)
{
	NVW_INVARIANT(w->count > 0 && w->count <= SWEEP_WORDS_MAX);

	char *argv[SWEEP_WORDS_MAX + 2] = {"nvwave"};

	NVW_FOR(i, w->count) {
		argv[i + 1] = w->word[i];
	}
	nvw_stop_leave_to_parent();
	if (is_settled(parent, c)) {
		execv("/proc/self/exe", argv);
	}
	_exit(127);
}

static void release_child(struct child *c)
{
	const int fds[] = {c->watch, c->out, c->err};

	NVW_EACH(fd, fds, 3) {
		if (*fd >= 0) {
			close(*fd);
		}
	}
	*c = (struct child){0};
}

static void kill_child(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static bool try_to_start(struct child *c, const struct sweep_words *words)
{
	const pid_t parent = getpid();

	c->out = memfd_create("nvwave-out", MFD_CLOEXEC);
	c->err = memfd_create("nvwave-err", MFD_CLOEXEC);
	if (c->out < 0 || c->err < 0) {
		return false;
	}
	c->pid = fork();
	if (c->pid == 0) {
		become_point(parent, c, words);
	}
	if (c->pid < 0) {
		return false;
	}
	c->watch = pidfd_open(c->pid, 0);
	return c->watch >= 0;
}

static int start_child(struct child *c, const struct sweep_words *words)
{
	*c = (struct child){.watch = -1, .out = -1, .err = -1, .began = ct_wall_seconds()};
	if (try_to_start(c, words)) {
		return 0;
	}
	const int r = nvw_fail_errno("cannot start a point");

	if (c->pid > 0) {
		kill_child(c);
	}
	release_child(c);
	return r;
}

static int start_point(struct child *c, const struct sweep *s, struct sweep_point *p)
{
	struct sweep_words words;

	NVW_INVARIANT(c->pid == 0 && !p->row);
	const int r = NVW_OR(sweep_words(s, p, &words), start_child(c, &words));

	c->point = p;
	sweep_words_end(&words);
	return r;
}

/* All that was written, with a 0 byte behind it; NULL without memory. */
static char *content_of(int fd)
{
	struct stat about;

	if (fstat(fd, &about) || about.st_size > REPORT_BYTES_MAX) {
		return NULL;
	}
	char *const text = malloc((size_t)about.st_size + 1);

	if (text) {
		const ssize_t n = pread(fd, text, (size_t)about.st_size, 0);

		text[n > 0 ? n : 0] = 0;
	}
	return text;
}

/* Waits for its end, which has come or will come. */
static int outcome_of(struct child *c, struct sweep_outcome *o)
{
	struct rusage used;

	*o = (struct sweep_outcome){.timed_out = c->timed_out};
	NVW_FAIL_ERRNO_IF(wait4(c->pid, &o->exit_status, 0, &used) < 0, "cannot wait for a point");
	o->seconds = ct_wall_seconds() - c->began;
	o->processor_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	o->out = content_of(c->out);
	o->err = content_of(c->err);
	release_child(c);
	NVW_FAIL_IF(!o->out || !o->err, NVW_E_MEMORY, "no memory for a result");
	return 0;
}

void sweep_outcome_end(struct sweep_outcome *o)
{
	free(o->out);
	free(o->err);
	*o = (struct sweep_outcome){0};
}

static bool is_late(const struct child *c, uint64_t timeout_ms)
{
	NVW_INVARIANT(c->pid > 0);
	return timeout_ms && (ct_wall_seconds() - c->began) * 1000 >= (double)timeout_ms;
}

int sweep_run_words(const struct sweep_words *words, uint64_t timeout_ms, struct sweep_outcome *o)
{
	struct child c;

	NVW_INVARIANT(words->count > 0);
	*o = (struct sweep_outcome){0};
	NVW_TRY(start_child(&c, words));
	for (;;) {
		struct pollfd fd = {.fd = c.watch, .events = POLLIN};
		const bool has_ended = poll(&fd, 1, POLL_MS) > 0;
		const bool stopping = nvw_stopping();

		c.timed_out = c.timed_out || is_late(&c, timeout_ms);
		if (c.timed_out || stopping) {
			kill(c.pid, SIGKILL);
		}
		if (has_ended || c.timed_out || stopping) {
			NVW_TRY(outcome_of(&c, o));
			if (stopping) {
				return nvw_stop_error();
			}
			return 0;
		}
	}
}

/* ---- Progress ------------------------------------------------------------------------------------ */

static void print_rate(struct sweep_progress *p, double now)
{
	if (!p->ended || now <= p->began) {
		return;
	}
	const double rate = p->ended / (now - p->began);

	fprintf(stderr, p->to_run ? ", %.3g/s, %.0f s left" : ", %.3g/s", rate,
		(p->to_run - p->ended) / rate);
}

void sweep_show(const struct sweep_manner *manner, struct sweep_progress *p, bool last)
{
	const double now = ct_wall_seconds();

	if (p->began == 0) {
		p->began = now;
	}
	if (!manner->progress || (!last && now - p->shown < 0.2)) {
		return;
	}
	p->shown = now;
	fprintf(stderr, "\r%u", p->ended);
	if (p->to_run) {
		fprintf(stderr, " of %u", p->to_run);
	}
	fprintf(stderr, " %s", words_or(p->what, "points"));
	print_rate(p, now);
	if (p->failed) {
		fprintf(stderr, ", %u not ok", p->failed);
	}
	fputs(last ? "\033[K\r\033[K" : "\033[K", stderr);
	fflush(stderr);
}

/* ---- A result ------------------------------------------------------------------------------------ */

char *sweep_report_path(const struct sweep_point *p, const char *folder)
{
	NVW_INVARIANT(p->number > 0);
	return text_made("%s/%06u.json", folder, p->number);
}

int sweep_write_text(const char *path, int mode, const char *text)
{
	struct nvw_new_file f;

	NVW_TRY(nvw_new_file_begin(path, false, &f));
	fputs(text, f.file);
	if (mode) {
		fchmod(fileno(f.file), (mode_t)mode);
	}
	return nvw_new_file_end(&f, 0);
}

static int write_report(const struct sweep_point *p, const char *folder, const char *text)
{
	char *const path = sweep_report_path(p, folder);

	NVW_ALLOCATED(path, "no memory for a file name");
	const int r = sweep_write_text(path, 0, text);

	free(path);
	return r;
}

int sweep_take(const struct sweep *s, const struct sweep_manner *manner, struct sweep_journal *journal,
	struct sweep_point *p, const struct sweep_outcome *o)
{
	NVW_INVARIANT(!p->row);
	if (manner->reports) {
		NVW_TRY(write_report(p, manner->reports, o->out));
	}
	p->row = sweep_row(o->exit_status, o->timed_out, o->seconds, o->out, o->err);
	NVW_ALLOCATED(p->row, "no memory for a result");
	member_set_real(p->row, "processor_seconds", o->processor_seconds);
	return sweep_journal_add(journal, p);
}

/* ---- All of them --------------------------------------------------------------------------------- */

static int finish_point(struct running *r, struct child *c)
{
	struct sweep_point *const p = c->point;
	struct sweep_outcome outcome;
	int error = outcome_of(c, &outcome);

	NVW_INVARIANT(r->active > 0);
	r->active--;
	r->progress.ended++;
	error = NVW_OR(error, sweep_take(r->sweep, r->manner, r->journal, p, &outcome));
	if (error == 0 && strcmp(member_string(p->row, "status"), "ok")) {
		r->progress.failed++;
	}
	sweep_outcome_end(&outcome);
	return error;
}

static int start_more(struct running *r)
{
	struct sweep *const s = r->sweep;

	NVW_INVARIANT(r->active <= r->manner->jobs);
	NVW_EACH(child, r->child, r->manner->jobs) {
		while (r->next < s->count && s->point[r->next].row) {
			r->next++;
		}
		if (child->pid == 0 && r->next < s->count) {
			NVW_TRY(start_point(child, s, &s->point[r->next++]));
			r->active++;
		}
	}
	return 0;
}

/* Waits until one has ended, at most for a moment. */
static int wait_for_some(struct running *r)
{
	struct pollfd fds[JOBS_MAX];
	const unsigned jobs = r->manner->jobs;

	NVW_FOR(i, jobs) {
		struct child *const c = &r->child[i];

		fds[i] = (struct pollfd){.fd = c->pid ? c->watch : -1, .events = POLLIN};
		if (c->pid && is_late(c, r->manner->timeout_ms)) {
			c->timed_out = true;
			kill(c->pid, SIGKILL);
		}
	}
	if (poll(fds, jobs, POLL_MS) < 0) {
		if (errno == EINTR) {
			return 0;
		}
		return nvw_fail_errno("cannot wait for the points");
	}
	NVW_FOR(i, jobs) {
		if (fds[i].fd >= 0 && fds[i].revents) {
			NVW_TRY(finish_point(r, &r->child[i]));
		}
	}
	return 0;
}

static void kill_all(struct running *r)
{
	NVW_EACH(child, r->child, r->manner->jobs) {
		if (child->pid) {
			kill_child(child);
			release_child(child);
		}
	}
}

static int continue_run(struct running *r)
{
	if (nvw_stopping()) {
		return nvw_stop_error();
	}
	NVW_TRY(start_more(r));
	if (r->active) {
		NVW_TRY(wait_for_some(r));
	}
	return 0;
}

/* Where there is no room for temporary files, no point has a result: that is one refusal. */
static int check_temporary_folder(void)
{
	struct nvw_folder folder;

	NVW_TRY(nvw_folder_make("sweep", false, &folder));
	nvw_folder_remove(&folder);
	return 0;
}

int sweep_local_run(struct sweep *s, const struct sweep_manner *manner, struct sweep_journal *journal)
{
	struct running r = {
		.sweep = s, .manner = manner, .journal = journal, .progress.began = ct_wall_seconds()};
	int error = 0;

	NVW_INVARIANT(manner->jobs > 0 && manner->jobs <= JOBS_MAX);
	NVW_EACH(point, s->point, s->count) {
		r.progress.to_run += !point->row;
	}
	r.child = calloc(manner->jobs, sizeof *r.child);
	NVW_ALLOCATED(r.child, "no memory for the points");
	if (r.progress.to_run > 0) {
		error = check_temporary_folder();
	}
	while (error == 0 && (r.active || r.next < s->count)) {
		error = continue_run(&r);
		sweep_show(manner, &r.progress, error || !r.active);
	}
	NVW_INVARIANT(error || r.progress.ended == r.progress.to_run);
	kill_all(&r);
	free(r.child);
	return error;
}
