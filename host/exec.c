/* SPDX-License-Identifier: BSD-3-Clause */
/* The parent of a program under interposition. See exec.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/each.h"
#include "exec.h"
#include "folder.h"
#include "kernels.h"
#include "persistency.h"
#include "core/bounds.h"
#include "core/folder.h"
#include "core/granularity.h"
#include "core/invariant.h"
#include "core/stop.h"
#include "program.h"
#include "schedules.h"

#ifndef NVWAVE_LIBRARY
#define NVWAVE_LIBRARY ""
#endif

/* ---- Clocks --------------------------------------------------------------------------------------- */

static uint64_t raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Over 20 ms; reading both clocks is repeated until nothing comes between the two. */
static void read_both(uint64_t *ret_ns, uint64_t *ret_ticks)
{
	uint64_t best = UINT64_MAX;

	NVW_FOR(i, 20) {
		const uint64_t before = host_ticks(), ns = raw_ns(), after = host_ticks();

		if (i == 0 || after - before < best) {
			best = after - before;
			*ret_ns = ns;
			*ret_ticks = before + (after - before) / 2;
		}
	}
}

static double measure_ticks(void)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	uint64_t ns[2], ticks[2];

	read_both(&ns[0], &ticks[0]);
	nanosleep(&pause, NULL);
	read_both(&ns[1], &ticks[1]);
	return (double)(ticks[1] - ticks[0]) / (double)(ns[1] - ns[0]);
}

/* ---- Signals: they are meant for the program, whose run must still be reported -------------------- */

static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

enum { PASSED = NVW_COUNT(passed) };

/* A handler of signals has no context. */
static struct {
	volatile pid_t pid; /* negative for a group */
	volatile int seen;  /* the last signal passed on */
	bool held;
	struct sigaction before[PASSED];
	sigset_t mask;
} running;

/* The terminal sends its signals to the program too, unless that has its own process group. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	if (number != SIGQUIT) {
		nvw_stop_note(number);
	}
	if (running.pid != 0) {
		running.seen = number;
		if (running.pid < 0 || info->si_code != SI_KERNEL) {
			kill(running.pid, number);
		}
	}
}

/* Blocked until there is a process to pass them on to. */
static void hold_signals(void)
{
	NVW_INVARIANT(running.pid == 0);

	struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t set;

	sigemptyset(&set);
	NVW_EACH(one, passed, PASSED) {
		sigaddset(&set, *one);
	}
	sigprocmask(SIG_BLOCK, &set, &running.mask);
	running.seen = 0;
	running.held = true;
	NVW_FOR(i, PASSED) {
		sigaction(passed[i], NULL, &running.before[i]);
		if (running.before[i].sa_handler != SIG_IGN) {
			sigaction(passed[i], &action, NULL);
		}
	}
}

static void pass_signals(pid_t to)
{
	running.pid = to;
	sigprocmask(SIG_SETMASK, &running.mask, NULL);
}

static void restore_signals(void)
{
	for (unsigned i = 0; i < PASSED && running.held; i++) {
		sigaction(passed[i], &running.before[i], NULL);
	}
}

/* ---- The session ---------------------------------------------------------------------------------- */

enum { PORTION_NS = 100 };

static void set_machine(struct host_control *c, const struct host_machine *m)
{
	c->ticks_per_ns = 1;
	if (c->delays) {
		c->ticks_per_ns = measure_ticks(); /* it takes a while */
	}
	c->read_ticks = (uint64_t)(1e-3 * (double)m->read_ps * c->ticks_per_ns);
	c->write_ticks = (uint64_t)(1e-3 * (double)m->write_ps * c->ticks_per_ns);
	c->line_ticks = (uint64_t)(1e9 * HOST_LINE / m->bytes_per_second * c->ticks_per_ns + 0.5);
	c->queue_ticks = m->queue * c->line_ticks;
	c->portion = UINT64_MAX;
	if (c->line_ticks > 0) {
		c->portion = 1 + (uint64_t)(PORTION_NS * c->ticks_per_ns) / c->line_ticks;
	}
	c->timed = c->delays && (c->read_ticks > 0 || c->write_ticks > 0);
	c->auto_flush = m->keeps_caches;
	c->accept = m->accepts;
}

/* With holes: what is not used takes no memory. */
static int make_races(struct host_session *s, const struct host_options *o)
{
	const bool initial = o->initial;

	_Static_assert(offsetof(struct host_races, initial) == 0, "as it is written");
	if (!o->check) {
		return 0;
	}
	const int fd = nvw_folder_create(&s->folder, "races", sizeof(struct host_races));
	const bool failed = fd < 0 || pwrite(fd, &initial, sizeof initial, 0) != sizeof initial;

	host_close(fd);
	NVW_FAIL_ERRNO_IF(failed, "%s/races", s->folder.path);
	return 0;
}

static int make_control(struct host_session *s, const struct host_options *o)
{
	NVW_INVARIANT(s->control == NULL && s->folder.path[0] != 0);

	const size_t bytes = host_control_bytes(HOST_THREADS_FIRST);
	const int fd = nvw_folder_create(&s->folder, "control", (off_t)bytes),
		  spool = nvw_folder_create(&s->folder, "spool", 0);
	void *at = MAP_FAILED;

	if (fd >= 0) {
		/* With all its space allocated, so that no store to it can fail later; further threads
		 * allocate their own (preload/session.c). */
		errno = posix_fallocate(fd, 0, (off_t)bytes);
		if (errno == 0) {
			at = mmap(NULL, sizeof *s->control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		}
		close(fd);
	}
	host_close(spool);
	if (at == MAP_FAILED || spool < 0) {
		return nvw_folder_fail(s->folder.path, bytes);
	}
	s->control = at;
	s->control->version = HOST_VERSION;
	s->control->record = o->record;
	s->control->stacks = o->record && o->stacks;
	s->control->compare = o->compare;
	s->control->advice = o->advice;
	s->control->check = o->check;
	s->control->coverage = o->coverage;
	s->control->delays = o->delays;
	set_machine(s->control, &o->machine);
	s->control->schedule = o->schedule != NULL;
	if (o->schedule != NULL) {
		NVW_TRY(host_schedule_make(s, o->schedule, o->switches));
	}
	return make_races(s, o);
}

/* As it grows: two bytes for a byte of code. */
static int make_marks(struct host_session *s, const struct host_options *o)
{
	if (!o->coverage) {
		return 0;
	}
	const int fd = nvw_folder_create(&s->folder, "marks", 0);

	NVW_FAIL_ERRNO_IF(fd < 0, "%s/marks", s->folder.path);
	close(fd);
	return 0;
}

/* The delays and the persistence domain of a session are those of one device. */
static int check_devices(const struct host_machine *m)
{
	if (m->further == NULL) {
		return 0;
	}
	return nvw_fail(NVW_E_CONFIG,
		"device %s: a program of the host runs on one NVRAM device, and the machine %s has further "
		"ones",
		m->further, m->name);
}

/* Waits are busy loops: a program in a very long delay could not even be ended by a signal that it
 * handles. */
static int check_delays(const struct host_machine *m)
{
	static const uint64_t most_ps = UINT64_C(1000000000000);
	const uint64_t latency = nvw_max(m->read_ps, m->write_ps);

	NVW_FAIL_IF(latency > most_ps, NVW_E_CONFIG, "nvram.%s: expected at most 1s, found %.6gs",
		m->read_ps == latency ? "read" : "write", 1e-12 * (double)latency);
	NVW_FAIL_IF(m->bytes_per_second < HOST_LINE, NVW_E_CONFIG,
		"nvram.bandwidth: expected at least %d B/s (one line per second), found %.0f", HOST_LINE,
		m->bytes_per_second);
	return 0;
}

int host_session_begin(const struct host_options *o, struct host_session *ret_session)
{
	int error;

	*ret_session =
		(struct host_session){.kernels = {.fences = o->machine.fences, .sbrp = o->machine.sbrp}};
	NVW_FAIL_IF(getenv(HOST_SESSION_VARIABLE) != NULL, NVW_E_USAGE,
		"nvwave exec cannot run under nvwave exec (%s is set)", HOST_SESSION_VARIABLE);
	NVW_TRY(check_devices(&o->machine));
	if (o->delays) {
		NVW_TRY(check_delays(&o->machine));
	}
	NVW_TRY(nvw_folder_make("exec", true, &ret_session->folder));
	error = make_control(ret_session, o);
	if (!error) {
		error = make_marks(ret_session, o);
	}
	if (error) {
		host_session_end(ret_session);
	}
	return error;
}

void host_session_end(struct host_session *s)
{
	host_places_forget();
	restore_signals();
	running.held = false;
	if (s->control != NULL) {
		s->control->closed = true;
		munmap(s->control, sizeof *s->control);
	}
	host_schedule_close(s);
	host_folder_free(s);
	nvw_folder_remove(&s->folder);
	*s = (struct host_session){0};
}

/* ---- Running -------------------------------------------------------------------------------------- */

/* Next to the command in a build folder, in the tree that it is installed in, or where it was to be
 * installed. */
static int find_library(char *ret_path, size_t n)
{
	const char *const named = getenv(HOST_LIBRARY_VARIABLE);
	char self[4096];

	nvw_own_folder(self, sizeof self);
	if (named != NULL) {
		snprintf(ret_path, n, "%s", named);
	} else {
		snprintf(ret_path, n, "%.4000s/../host/libnvwave-pmem.so", self);
		if (access(ret_path, R_OK) != 0) {
			snprintf(ret_path, n, "%.4000s/%s", self, NVWAVE_BESIDE);
		}
		if (access(ret_path, R_OK) != 0) {
			snprintf(ret_path, n, "%s", NVWAVE_LIBRARY);
		}
	}
	char *const absolute = realpath(ret_path, NULL);

	if (absolute == NULL || access(absolute, R_OK) != 0) {
		free(absolute);
		return nvw_fail(NVW_E_SYSTEM, "%s: expected the library to preload into programs (set by %s)",
			ret_path, HOST_LIBRARY_VARIABLE);
	}
	snprintf(ret_path, n, "%s", absolute);
	free(absolute);
	if (strpbrk(ret_path, " :") != NULL) {
		return nvw_fail(NVW_E_USAGE,
			"%s: the dynamic linker cannot preload from a path with a space or a colon; set %s "
			"to a "
			"copy of the library elsewhere",
			ret_path, HOST_LIBRARY_VARIABLE);
	}
	return 0;
}

int host_library_beside(const char *name, char *ret_path, size_t n)
{
	char library[4096];

	NVW_TRY(find_library(library, sizeof library));
	const char *const slash = strrchr(library, '/');

	snprintf(ret_path, n, "%.*s/%s", (int)(slash - library), library, name);
	return 0;
}

static int check_program(const char *name)
{
	char path[4096];

	switch (host_program_look(name, path, sizeof path)) {
	case HOST_PROGRAM_FITS:
		return 0;
	case HOST_PROGRAM_MISSING:
		return nvw_fail_errno("%s: expected a program", name);
	case HOST_PROGRAM_STATIC:
		return nvw_fail(NVW_E_USAGE,
			"%s is statically linked: no library can be preloaded into it; link it dynamically",
			path);
	case HOST_PROGRAM_SET_ID:
		return nvw_fail(NVW_E_USAGE,
			"%s is set-user-id, set-group-id or has capabilities: the dynamic linker does not "
			"preload "
			"into it; run a copy without them",
			path);
	default:
		return nvw_fail(NVW_E_USAGE, "%s is a program for another architecture", path);
	}
}

/* ---- Processes ------------------------------------------------------------------------------------ */

enum { CHILDREN_MAX = 64, WAIT_MS = 50 };

static unsigned children(pid_t pid[CHILDREN_MAX])
{
	FILE *const f = fopen("/proc/thread-self/children", "re");
	unsigned n = 0;

	while (f != NULL && n < CHILDREN_MAX && fscanf(f, "%d", &pid[n]) == 1) {
		n++;
	}
	if (f != NULL) {
		fclose(f);
	}
	return n;
}

static bool is_among(pid_t pid, const pid_t *list, unsigned n)
{
	return NVW_ANY(one, list, n, *one == pid);
}

/*
 * The processes that the program left running have become children of this one, their reaper. Counts them, or
 * ends them and their remaining children. Children from before the run are not included.
 */
static unsigned left_running(const pid_t *before, unsigned n, bool end)
{
	NVW_INVARIANT(n <= CHILDREN_MAX);

	pid_t now[CHILDREN_MAX];
	unsigned left = 0, met;

	do {
		const unsigned count = children(now);

		met = 0;
		NVW_EACH(one, now, count) {
			if (is_among(*one, before, n) || waitpid(*one, NULL, WNOHANG) == *one) {
				continue;
			}
			met++;
			if (end) {
				kill(*one, SIGKILL);
				waitpid(*one, NULL, 0);
			}
		}
		left += met;
	} while (end && met > 0);
	return left;
}

/* Adds the library of that name, which is beside the other. */
static int add_preload(char *preload, size_t n, int at, const char *library, const char *name)
{
	NVW_INVARIANT(at > 0 && (size_t)at < n);

	const char *const slash = strrchr(library, '/');

	return at + snprintf(preload + at, n - (size_t)at, ":%.*s/%s", (int)(slash - library), library, name);
}

/* Beside the library are that for locks and that for schedules. */
static void set_preload(const char *library, const struct host_control *c)
{
	const char *before = getenv("LD_PRELOAD");
	char preload[16384];
	int n = snprintf(preload, sizeof preload, "%s", library);

	if (c->check) {
		n = add_preload(preload, sizeof preload, n, library, "libnvwave-locks.so");
	}
	if (c->schedule) {
		n = add_preload(preload, sizeof preload, n, library, "libnvwave-schedule.so");
	}
	if (before != NULL && *before) {
		snprintf(preload + n, sizeof preload - (size_t)n, ":%.3900s", before);
	}
	setenv("LD_PRELOAD", preload, 1);
}

/* In the child; tells the parent why the program could not start. */
static void enter_program(const struct host_session *s, const char *library, char *const argv[], int failed)
{
	set_preload(library, s->control);
	if (s->control->schedule) {
		personality(
			ADDR_NO_RANDOMIZE); /* where it is not allowed, addresses differ from run to run */
	}
	setenv(HOST_SESSION_VARIABLE, s->folder.path, 1);
	setenv(NVW_GRANULARITY_VARIABLE, NVW_GRANULARITY, 0);
	host_kernels_enter(s);
	if (s->apart) {
		setpgid(0, 0);
		s->control->group = getpid();
	}
	if (s->quiet) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	int input;

	if (s->input != NULL && (input = open(s->input, O_RDONLY)) >= 0) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
	restore_signals();
	sigprocmask(SIG_SETMASK, &running.mask, NULL);
	execvp(argv[0], argv);
	const int error = errno;

	_exit(write(failed, &error, sizeof error) == sizeof error ? 127 : 126);
}

static pid_t start_program(struct host_session *s, const char *library, char *const argv[])
{
	int failed[2], error = 0;

	if (pipe2(failed, O_CLOEXEC)) {
		return -1;
	}
	const pid_t pid = fork();

	if (pid == 0) {
		enter_program(s, library, argv, failed[1]);
	}
	if (pid > 0 && s->apart) {
		setpgid(pid, pid); /* whichever process is first */
	}
	close(failed[1]);
	if (pid < 0) {
		pass_signals(0);
	} else {
		pass_signals(s->apart ? -pid : pid);
	}
	if (pid > 0 && read(failed[0], &error, sizeof error) == sizeof error) {
		waitpid(pid, NULL, 0);
		errno = error;
	}
	close(failed[0]);
	return error ? -1 : pid;
}

/* By any of its processes. */
static bool is_refused(const struct host_session *s)
{
	return s->schedule != NULL &&
	       __atomic_load_n(&s->schedule->end, __ATOMIC_RELAXED) == HOST_SCHEDULE_REFUSED;
}

/* Waits until it ends; its orphans may end before. After a stop signal it has half a second. */
static void wait_for(struct host_session *s, pid_t pid, uint64_t began)
{
	NVW_INVARIANT(pid > 0);

	struct pollfd p = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	struct host_stall stall = {.points = 0};
	pid_t ended = 0;
	int status;

	while (ended != pid && ended >= 0) {
		s->timed_out = s->limit > 0 && 1e-9 * (double)(raw_ns() - began) > s->limit;
		if (nvw_stop_seconds() > 0.5 || s->timed_out || is_refused(s)) {
			kill(NVW_OR(running.pid, pid), SIGKILL);
		}
		host_schedule_watch(s, &stall);
		poll(&p, 1, p.fd < 0 ? 1 : WAIT_MS);
		ended = waitpid(-1, &status, WNOHANG);
		if (ended == pid) {
			s->status = status;
		}
	}
	host_close(p.fd);
	nvw_stop_reporting();
}

/* Processes that still run are not waited for; their record ends here, between two events. */
static void close_record(struct host_control *c)
{
	host_take(&c->lock, (uint32_t)syscall(SYS_gettid));
	c->closed = true;
	host_give_back(&c->lock);
}

int host_session_run(struct host_session *s, char *const argv[])
{
	char library[4096];
	pid_t before[CHILDREN_MAX];
	int error = 0;

	NVW_TRY(check_program(argv[0]));
	NVW_TRY(find_library(library, sizeof library));
	HOST_COPY_TEXT(s->program, argv[0]);
	fflush(NULL);
	const unsigned n = children(before);

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	hold_signals();
	const uint64_t began = raw_ns();
	const pid_t pid = start_program(s, library, argv);

	if (pid < 0) {
		error = nvw_fail(NVW_E_USAGE, "%s: cannot be executed: %s", argv[0], strerror(errno));
	} else {
		wait_for(s, pid, began);
		s->seconds = 1e-9 * (double)(raw_ns() - began);
		close_record(s->control);
		const unsigned left = left_running(before, n, s->alone || nvw_stopping());

		s->control->gap[HOST_GAP_STILL_RUNNING] = left * !s->apart; /* else killed with it */
	}
	running.pid = 0;
	s->interrupted = running.seen;
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	return error;
}

int host_session_check_followed(const struct host_session *s, const struct stat *file)
{
	const struct host_control *const c = s->control;
	struct host_place p;
	char line[16] = "";

	NVW_EACH(u, c->unfollowed, c->unfollowed_count) {
		const char *const brackets = strchr(u->call, '(') ? "" : "()";
		const bool is_any = u->inode == 0;

		if (!is_any && file != NULL && (u->inode != file->st_ino || u->device != file->st_dev)) {
			continue;
		}
		host_place_of(c, u->site, &p);
		line[0] = '\0';
		if (p.line != 0) {
			snprintf(line, sizeof line, ":%u", (unsigned)p.line);
		}
		NVW_FAIL_IF(is_any, NVW_E_INPUT,
			"UNDECIDED: %s uses io_uring (%s%s at %s%s): what it writes so is not "
			"recorded, so it is not known what a crash may leave",
			s->program, u->call, brackets, p.file, line);
		return nvw_fail(NVW_E_INPUT,
			"UNDECIDED: %s changes %s by %s%s at %s%s (%s): that call is not recorded, so it is "
			"not known what a crash may leave",
			s->program, u->name, u->call, brackets, p.file, line, p.function);
	}
	return 0;
}

/* ---- Results -------------------------------------------------------------------------------------- */

const void *host_session_map(const struct host_session *s, const char *name, size_t n)
{
	NVW_INVARIANT(n > 0);

	char path[300];
	void *at = MAP_FAILED;

	snprintf(path, sizeof path, "%s/%s", s->folder.path, name);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		at = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
	}
	if (at == MAP_FAILED) {
		(void)nvw_fail_errno("%s", path);
		at = NULL;
	}
	host_close(fd);
	return at;
}

void host_session_base(const struct host_session *s, unsigned i, char *ret_path, size_t n)
{
	snprintf(ret_path, n, "%s/base-%u", s->folder.path, i);
}

static void add_histogram(struct host_histogram *sum, const struct host_histogram *h)
{
	NVW_FOR(b, HOST_BINS) {
		sum->bin[b] += h->bin[b];
	}
}

static void add_delays(struct host_delays *sum, const struct host_delays *d)
{
	sum->count += d->count;
	add_histogram(&sum->requested, &d->requested);
	add_histogram(&sum->achieved, &d->achieved);
}

static void add_operations(struct host_operations *sum, const struct host_operations *o)
{
	if (o->count && (sum->count == 0 || o->began_ns < sum->began_ns)) {
		sum->began_ns = o->began_ns;
	}
	sum->ended_ns = nvw_max(o->ended_ns, sum->ended_ns);
	sum->count += o->count;
	sum->longest_ns = nvw_max(o->longest_ns, sum->longest_ns);
	sum->flushes += o->flushes;
	sum->fences += o->fences;
	sum->lines_flushed += o->lines_flushed;
	sum->bytes_asked += o->bytes_asked;
	add_histogram(&sum->latency, &o->latency);
}

void host_session_sum(const struct host_session *s, struct host_thread *ret_sum)
{
	*ret_sum = (struct host_thread){0};
	for (uint32_t i = 0; i < s->control->threads && i < HOST_THREADS_MAX; i++) {
		const struct host_thread *const t = &s->control->thread[i];

		if (!__atomic_load_n(&s->control->counted[i], __ATOMIC_ACQUIRE)) {
			continue;
		}

#define STAT(name, meaning) ret_sum->name += t->name;
		HOST_STATS(STAT)
#undef STAT
		add_operations(&ret_sum->operations, &t->operations);
		add_delays(&ret_sum->read, &t->read);
		add_delays(&ret_sum->write, &t->write);
	}
}

uint64_t host_percentile(const struct host_histogram *h, double fraction)
{
	NVW_INVARIANT(fraction >= 0 && fraction <= 1);

	uint64_t total = 0, seen = 0;

	NVW_EACH_IN(bin, h->bin) {
		total += *bin;
	}
	for (unsigned b = 0; b < HOST_BINS && total > 0; b++) {
		seen += h->bin[b];
		if ((double)seen >= fraction * (double)total) {
			return host_bin_ns(b);
		}
	}
	return 0;
}

const char *host_gap_text(enum host_gap gap)
{
	static const char *const texts[] = {HOST_GAPS(HOST_TEXT)};

	NVW_INVARIANT(gap < NVW_COUNT(texts));
	return texts[gap];
}
