/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program to be watched: "subject MODE FILE [NUMBER]" does one thing that a recorder must get right, and
 * ends with status 0 if it went as it does without a recorder.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libpmem.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/random.h>

enum { BYTES = 1 << 18, WORDS = BYTES / 8, LINE = 8 };

static uint64_t *pool;
static size_t pool_bytes;
static const char *path;
static uint64_t number;

static int map(void)
{
	int is_pmem = 0;

	pool = pmem_map_file(path, BYTES, PMEM_FILE_CREATE, 0600, &pool_bytes, &is_pmem);
	return pool != NULL && is_pmem && pmem_is_pmem(pool, pool_bytes) ? 0 : 1;
}

/* A store and its flush on lines that are marked in the source. */
static int persist_one(void)
{
	pool[1] = 42;
	pmem_persist(&pool[1], 8); /* the place that a test looks for */
	return 0;
}

/* A copy and a store whose bytes lie in two lines each. */
static int cross_lines(void)
{
	pmem_memcpy_persist((char *)pool + 60, "12345678", 8);
	memcpy((char *)pool + 1084, "87654321", 8);
	pmem_persist((char *)pool + 1084, 8);
	return 0;
}

static int leave_unflushed(void)
{
	pool[3] = 7;
	pmem_persist(&pool[3], 8);
	pool[100] = 8; /* before a fence of another line: seen there */
	pmem_persist(&pool[3], 8);
	pool[200] = 9; /* after the last event: seen at the end */
	return 0;
}

/* ---- Random stores ---------------------------------------------------------------------------- */

static void act(uint64_t *at, size_t words, struct nvw_random *r)
{
	const size_t i = (size_t)nvw_random_below(r, words),
		     n = 1 + (size_t)nvw_random_below(r, words - i < 64 ? words - i : 64);
	uint64_t some[64];

	for (size_t k = 0; k < n; k++) {
		some[k] = nvw_random_u64(r);
	}
	switch (nvw_random_below(r, 14)) {
	case 0:
		pmem_memcpy_persist(&at[i], some, 8 * n);
		break;
	case 1:
		pmem_memcpy(&at[i], some, 8 * n - 3, PMEM_F_MEM_NOFLUSH);
		break;
	case 2:
		pmem_memset_nodrain((char *)&at[i] + 3, (int)some[0], 8 * n - 3);
		break;
	case 3:
		pmem_memmove(&at[i], &at[i / 2], 8 * n, PMEM_F_MEM_NONTEMPORAL | PMEM_F_MEM_NODRAIN);
		break;
	case 4:
		memcpy(&at[i], some, 8 * n);
		break;
	case 5:
		pmem_flush(&at[i], 8 * n);
		break;
	case 6:
		pmem_drain();
		break;
	case 7:
		pmem_deep_persist(&at[i], 8 * n);
		break;
	default:
		at[i] = some[0];
	}
}

static int stress(void)
{
	struct nvw_random r = {number};

	for (unsigned i = 0; i < 2000; i++) {
		act(pool, WORDS, &r);
	}
	return 0;
}

/* Each thread on its quarter. */
static void *stress_part(void *part)
{
	const uint64_t i = (uint64_t)(uintptr_t)part;
	struct nvw_random r = {number * 16 + i};

	for (unsigned k = 0; k < 1000; k++) {
		act(pool + i * (WORDS / 4), WORDS / 4, &r);
	}
	return NULL;
}

static int threads(void)
{
	pthread_t thread[4];
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* as programs do in their workers */
	for (uintptr_t i = 0; i < 4; i++) {
		pthread_create(&thread[i], NULL, stress_part, (void *)i);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
	}
	return 0;
}

/* It stores, and leaves the flush to another thread. */
static void *store_unflushed(void *to)
{
	*(uint64_t *)to = 1;
	return NULL;
}

static int store_in_other_thread(void)
{
	pthread_t thread;

	for (unsigned i = 0; i < 2; i++) {
		if (pthread_create(&thread, NULL, store_unflushed, &pool[8 * i]) ||
			pthread_join(thread, NULL)) {
			return 1;
		}
	}
	pmem_persist(pool, 128);
	return 0;
}

/* Single words all over a larger pool, so that threads meet in pages that nobody has touched for a while. */
static void *scatter(void *part)
{
	struct nvw_random r = {number * 16 + (uint64_t)(uintptr_t)part};
	const size_t words = pool_bytes / 8;

	for (unsigned i = 0; i < 8000; i++) {
		const size_t at = (size_t)nvw_random_below(&r, words / 4) * 4 + (uintptr_t)part;

		pool[at] = i + 1;
		if (i % 8 == 0) {
			pmem_persist(&pool[at], 8);
		}
	}
	return NULL;
}

static int scatters(void)
{
	pthread_t thread[4];

	pmem_unmap(pool, pool_bytes);
	pool = pmem_map_file(path, 8 << 20, PMEM_FILE_CREATE, 0600, &pool_bytes, NULL);
	for (uintptr_t i = 0; i < 4; i++) {
		pthread_create(&thread[i], NULL, scatter, (void *)i);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
	}
	return 0;
}

/* ---- Processes -------------------------------------------------------------------------------- */

static int wait_for(pid_t pid)
{
	int status = 1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int forks(void)
{
	int status = 0;
	pid_t pid[3];

	pool[0] = 1;
	for (uintptr_t i = 0; i < 3; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			stress_part((void *)(i + 1));
			_exit(0); /* without what exit() would do */
		}
	}
	stress_part((void *)0);
	for (unsigned i = 0; i < 3; i++) {
		status |= wait_for(pid[i]);
	}
	return status;
}

static int executes(void)
{
	pool[0] = 5;
	pmem_persist(pool, 8);
	const pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "subject", "unflushed", path, (char *)NULL);
		_exit(3);
	}
	return wait_for(pid);
}

static int executes_without_environment(void)
{
	char *const argv[] = {(char *)(uintptr_t) "true", NULL}, *const nothing[] = {NULL};
	const pid_t pid = fork();

	if (pid == 0) {
		execve("/bin/true", argv, nothing);
		_exit(3);
	}
	return wait_for(pid);
}

static int dies(void)
{
	stress();
	pool[300] = 11;
	raise(number ? (int)number : SIGKILL);
	return 1;
}

/* ---- Mappings --------------------------------------------------------------------------------- */

static int two_pools(void)
{
	char other[512];
	size_t n;

	snprintf(other, sizeof other, "%s.second", path);
	uint64_t *const second = pmem_map_file(other, BYTES, PMEM_FILE_CREATE, 0600, &n, NULL);

	if (second == NULL) {
		return 1;
	}
	pool[0] = 1;
	pmem_persist(pool, 8);
	second[8] = 2;
	pmem_persist(&second[8], 8);
	pool[16] = 3;
	return pmem_unmap(second, n);
}

/* Stores through one mapping, is flushed through another. */
static int maps_twice(void)
{
	size_t n;
	uint64_t *const again = pmem_map_file(path, 0, 0, 0, &n, NULL);

	if (again == NULL || again == pool) {
		return 1;
	}
	pool[9] = 90;
	again[17] = 170;
	pmem_persist(&again[9], 8);
	pmem_persist(&pool[17], 8);
	return again[9] == 90 && pool[17] == 170 ? pmem_unmap(again, n) : 1;
}

static int writes_after_unmapping(void)
{
	pmem_unmap(pool, pool_bytes);
	pool[5] = 1;
	return 1;
}

/* Maps, writes with write(), maps again. */
static int writes_by_descriptor(void)
{
	static const char text[] = "by a descriptor";

	pool[0] = 1;
	pmem_persist(pool, 8);
	pmem_unmap(pool, pool_bytes);
	const int fd = open(path, O_RDWR);
	const ssize_t n = pwrite(fd, text, sizeof text, 4096);

	close(fd);
	if (map()) {
		return 1;
	}
	pool[1] = 2;
	pmem_persist(&pool[1], 8);
	return n == sizeof text ? 0 : 1;
}

/* The kernel stores into the mapping for the program. */
static int reads_into_mapping(void)
{
	int pipes[2];

	if (pipe(pipes) || write(pipes[1], "sixteen bytes ..", 16) != 16 ||
		read(pipes[0], &pool[1024], 16) != 16) {
		return 1;
	}
	pmem_persist(&pool[1024], 16);
	return memcmp(&pool[1024], "sixteen bytes ..", 16) != 0;
}

static int unmaps_part(void)
{
	pool[0] = 1;
	pool[4096] = 2;
	if (munmap(&pool[1024], 8192)) {
		return 1;
	}
	pool[8] = 3;
	pool[8192] = 4;
	pmem_persist(pool, 64);
	pmem_persist(&pool[8192], 64);
	return 0;
}

static volatile sig_atomic_t caught;

static void on_fault(int signal)
{
	(void)signal;
	caught++;
	mprotect(pool, 4096, PROT_READ | PROT_WRITE);
}

/* A program that protects its pool and handles its own faults, blocked or not. */
static int protects(void)
{
	signal(SIGSEGV, on_fault);
	pool[0] = 1;
	if (mprotect(pool, 4096, PROT_READ)) {
		return 1;
	}
	pool[1] = 2;   /* a fault of its own */
	pool[512] = 3; /* none */
	pmem_persist(pool, 16);
	return caught == 1 ? 0 : 1;
}

/* ---- Other ------------------------------------------------------------------------------------ */

/* libpmem by dlopen(): this program is linked with it, so by functions that are looked up. */
static int looks_up(void)
{
	void *const library = dlopen("libpmem.so.1", RTLD_NOW | RTLD_LOCAL);
	void (*persist)(const void *, size_t) = NULL;

	*(void **)&persist = library ? dlsym(library, "pmem_persist") : NULL;
	if (persist == NULL) {
		return 1;
	}
	pool[2] = 21;
	persist(&pool[2], 8);
	return 0;
}

/* Without libpmem: the system calls that make a mapping durable. */
static int syncs(void)
{
	const int fd = open(path, O_RDWR);
	uint64_t *const at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		return 1;
	}
	at[6] = 66;
	if (msync(at, 4096, MS_SYNC)) {
		return 1;
	}
	at[7] = 77;
	return fsync(fd);
}

static int wastes(void)
{
	for (unsigned i = 0; i < 10; i++) {
		pool[0] = i + 1;
		pmem_persist(pool, 8);
		pmem_flush(pool, 8); /* for nothing */
		pmem_drain();
		pmem_drain(); /* for nothing */
	}
	return 0;
}

static int flushes(void)
{
	for (unsigned i = 0; i < 100000; i++) {
		pmem_flush(pool, 8);
	}
	pmem_drain();
	return 0;
}

/* A value and what publishes it in one line, in this order. */
static int same_line(void)
{
	for (uint64_t i = 1; i <= 5; i++) {
		pool[1] = i;
		pool[0] = i;
		pmem_persist(pool, 16);
	}
	return 0;
}

static int checks_same_line(void)
{
	return pool[0] != pool[1];
}

static void on_alarm(int signal)
{
	(void)signal;
	pool[2048]++;
	pmem_persist(&pool[2048], 8);
}

/* Flushes in a signal handler, which may come into a flush. */
static int interrupts(void)
{
	const struct sigaction action = {.sa_handler = on_alarm};

	sigaction(SIGUSR1, &action, NULL);
	for (unsigned i = 0; i < 2000; i++) {
		pool[i] = i;
		if (i % 100 == 0) {
			raise(SIGUSR1);
		}
		pmem_persist(&pool[i], 8);
	}
	return pool[2048] == 20 ? 0 : 1;
}

static const struct {
	const char *name;
	int (*run)(void);
} modes[] = {
	{"persist", persist_one},
	{"unflushed", leave_unflushed},
	{"crosses", cross_lines},
	{"stress", stress},
	{"threads", threads},
	{"stores-apart", store_in_other_thread},
	{"scatters", scatters},
	{"forks", forks},
	{"executes", executes},
	{"clears", executes_without_environment},
	{"dies", dies},
	{"two", two_pools},
	{"twice", maps_twice},
	{"stray", writes_after_unmapping},
	{"descriptor", writes_by_descriptor},
	{"reads", reads_into_mapping},
	{"part", unmaps_part},
	{"protects", protects},
	{"looks-up", looks_up},
	{"wastes", wastes},
	{"flushes", flushes},
	{"syncs", syncs},
	{"same-line", same_line},
	{"check-same-line", checks_same_line},
	{"interrupts", interrupts},
};

int main(int argc, char **argv)
{
	path = argc > 2 ? argv[2] : "";
	number = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (argc > 2 && strcmp(argv[1], modes[i].name) == 0) {
			return map() ? 4 : modes[i].run();
		}
	}
	fprintf(stderr, "subject MODE FILE [NUMBER]\n");
	return 2;
}
