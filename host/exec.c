/* SPDX-License-Identifier: BSD-3-Clause */
/* The parent of a program under interposition. See exec.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exec.h"
#include "preload.h"
#include "program.h"

#ifndef NVWAVE_LIBRARY
#define NVWAVE_LIBRARY ""
#endif

/* ---- Clocks --------------------------------------------------------------------------------------------------------- */

static uint64_t raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Over 20 ms; the reading of both clocks is repeated until nothing came between the two. */
static void read_both(uint64_t *ret_ns, uint64_t *ret_ticks)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < 20; i++) {
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

/* ---- The session -------------------------------------------------------------------------------------------------------- */

enum { PORTION_NS = 100 };

static void set_machine(struct host_control *c, const struct emu_config *m)
{
	const double rate = (double)m->nvram.bandwidth * (double)m->nvram.channels;

	c->ticks_per_ns = c->delays ? measure_ticks() : 1; /* it takes a while */
	c->read_ticks = (uint64_t)(1e-3 * (double)m->nvram.read * c->ticks_per_ns);
	c->write_ticks = (uint64_t)(1e-3 * (double)m->nvram.write * c->ticks_per_ns);
	c->line_ticks = (uint64_t)(1e9 * HOST_LINE / rate * c->ticks_per_ns + 0.5);
	c->queue_ticks = m->nvram.queue * m->nvram.channels * c->line_ticks;
	c->portion = c->line_ticks ? 1 + (uint64_t)(PORTION_NS * c->ticks_per_ns) / c->line_ticks : UINT64_MAX;
	c->timed = c->delays && (c->read_ticks > 0 || c->write_ticks > 0);
	c->auto_flush = m->domain == EMU_DOMAIN_eadr;
	c->accept = m->domain == EMU_DOMAIN_adr;
}

static int make_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t a;
	int error = pthread_mutexattr_init(&a);

	error = error ? error : pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	error = error ? error : pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	return error ? error : pthread_mutex_init(lock, &a);
}

static int make_file(const struct host_session *s, const char *name, off_t bytes)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", s->folder, name);
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0 && ftruncate(fd, bytes)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int make_control(struct host_session *s, const struct host_options *o)
{
	const int fd = make_file(s, "control", sizeof *s->control), spool = make_file(s, "spool", 0);
	void *at = MAP_FAILED;

	if (fd >= 0) {
		at = mmap(NULL, sizeof *s->control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (spool >= 0) {
		close(spool);
	}
	if (at == MAP_FAILED || spool < 0) {
		return nvw_fail_errno("%s", s->folder);
	}
	s->control = at;
	s->control->version = HOST_VERSION;
	s->control->record = o->record;
	s->control->advice = o->advice;
	s->control->delays = o->delays;
	set_machine(s->control, o->machine);
	return make_lock(&s->control->lock) ? nvw_fail(NVW_E_SYSTEM, "no lock can be shared between processes") : 0;
}

int host_session_begin(const struct host_options *o, struct host_session *ret_session)
{
	const char *const tmp = getenv("TMPDIR");

	*ret_session = (struct host_session){0};
	snprintf(ret_session->folder, sizeof ret_session->folder, "%.200s/nvwave-exec-XXXXXX",
		tmp && *tmp ? tmp : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(ret_session->folder) == NULL) {
		const int error = nvw_fail_errno("%s", ret_session->folder);

		ret_session->folder[0] = '\0';
		return error;
	}
	const int error = make_control(ret_session, o);

	if (error) {
		host_session_end(ret_session);
	}
	return error;
}

void host_session_end(struct host_session *s)
{
	DIR *const dir = s->folder[0] ? opendir(s->folder) : NULL;
	const struct dirent *entry;

	host_places_close();
	if (s->control != NULL) {
		s->control->closed = true;
		munmap(s->control, sizeof *s->control);
	}
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.') {
			unlinkat(dirfd(dir), entry->d_name, 0);
		}
	}
	if (dir != NULL) {
		closedir(dir);
		rmdir(s->folder);
	}
	*s = (struct host_session){0};
}

/* ---- Running ---------------------------------------------------------------------------------------------------------------- */

/* Beside the command in a build folder, or where it is installed. */
static int find_library(char *ret_path, size_t n)
{
	const char *const named = getenv(HOST_LIBRARY_VARIABLE);
	char self[4096];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

	self[length > 0 ? length : 0] = '\0';
	char *const slash = strrchr(self, '/');

	if (slash != NULL) {
		*slash = '\0';
	}
	if (named != NULL) {
		snprintf(ret_path, n, "%s", named);
	} else {
		snprintf(ret_path, n, "%.4000s/../host/libnvwave-pmem.so", self);
		if (access(ret_path, R_OK) != 0) {
			snprintf(ret_path, n, "%s", NVWAVE_LIBRARY);
		}
	}
	return access(ret_path, R_OK) == 0 ?
		       0 :
		       nvw_fail(NVW_E_SYSTEM, "%s: expected the library that is preloaded into programs (%s names it)",
			       ret_path, HOST_LIBRARY_VARIABLE);
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
			"%s is linked statically: nothing can be put between it and its libpmem; link it dynamically", path);
	case HOST_PROGRAM_SET_ID:
		return nvw_fail(NVW_E_USAGE,
			"%s is set-user-id, set-group-id or has capabilities: the dynamic linker does not preload into it; "
			"run a copy without them",
			path);
	default:
		return nvw_fail(NVW_E_USAGE, "%s is a program for another kind of machine", path);
	}
}

static void enter_program(const struct host_session *s, const char *library, char *const argv[])
{
	const char *const before = getenv("LD_PRELOAD");
	char preload[8192];

	snprintf(preload, sizeof preload, "%s%s%.3900s", library, before && *before ? ":" : "", before ? before : "");
	setenv("LD_PRELOAD", preload, 1);
	setenv(HOST_SESSION_VARIABLE, s->folder, 1);
	if (s->apart) {
		setpgid(0, 0);
	}
	if (s->quiet) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	execvp(argv[0], argv);
	fprintf(stderr, "nvwave: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static volatile pid_t running;

/* Who ends us means the program. */
static void pass_on(int number)
{
	if (running > 0) {
		kill(running, number);
	}
}

int host_session_run(struct host_session *s, char *const argv[])
{
	char library[4096], *absolute;
	int error = check_program(argv[0]);

	error = error ? error : find_library(library, sizeof library);
	if (error) {
		return error;
	}
	absolute = realpath(library, NULL);
	snprintf(s->program, sizeof s->program, "%s", argv[0]);
	fflush(NULL);
	/* Signals of the terminal are for the program; what it did is still to be reported. */
	void (*const interrupt)(int) = signal(SIGINT, SIG_IGN);
	void (*const quit)(int) = signal(SIGQUIT, SIG_IGN);
	void (*const terminate)(int) = signal(SIGTERM, pass_on);
	const uint64_t began = raw_ns();
	const pid_t pid = fork();

	running = pid;
	if (pid == 0) {
		enter_program(s, absolute ? absolute : library, argv);
	}
	free(absolute);
	while (pid > 0 && waitpid(pid, &s->status, 0) < 0 && errno == EINTR) {
	}
	s->seconds = 1e-9 * (double)(raw_ns() - began);
	signal(SIGINT, interrupt);
	signal(SIGQUIT, quit);
	signal(SIGTERM, terminate);
	if (pid < 0) {
		return nvw_fail_errno("%s cannot be started", argv[0]);
	}
	/* What still runs is not waited for; its record ends here, between two events. */
	if (pthread_mutex_lock(&s->control->lock) == EOWNERDEAD) {
		pthread_mutex_consistent(&s->control->lock);
	}
	s->control->closed = true;
	pthread_mutex_unlock(&s->control->lock);
	return 0;
}

/* ---- What is left ------------------------------------------------------------------------------------------------------------- */

void host_session_base(const struct host_session *s, unsigned i, char *ret_path, size_t n)
{
	snprintf(ret_path, n, "%s/base-%u", s->folder, i);
}

void host_session_sum(const struct host_session *s, struct host_thread *ret_sum)
{
	*ret_sum = (struct host_thread){0};
	for (uint32_t i = 0; i < s->control->threads && i < HOST_THREADS_MAX; i++) {
		const struct host_thread *const t = &s->control->thread[i];

#define STAT(name, meaning) ret_sum->name += t->name;
		HOST_STATS(STAT)
#undef STAT
		ret_sum->read.count += t->read.count;
		ret_sum->write.count += t->write.count;
		for (unsigned b = 0; b < HOST_BINS; b++) {
			ret_sum->read.requested.bin[b] += t->read.requested.bin[b];
			ret_sum->read.achieved.bin[b] += t->read.achieved.bin[b];
			ret_sum->write.requested.bin[b] += t->write.requested.bin[b];
			ret_sum->write.achieved.bin[b] += t->write.achieved.bin[b];
		}
	}
}

uint64_t host_percentile(const struct host_histogram *h, double fraction)
{
	uint64_t total = 0, seen = 0;

	for (unsigned b = 0; b < HOST_BINS; b++) {
		total += h->bin[b];
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
	static const char *const texts[] = {
#define GAP(name, text) text,
		HOST_GAPS(GAP)
#undef GAP
	};

	return texts[gap];
}
