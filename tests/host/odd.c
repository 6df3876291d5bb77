/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with manners that a recorder may trip over: "odd MODE FILE [PROGRAM]" ends with status 0 if
 * everything went as it does without a recorder.
 */
#include <fcntl.h>
#include <libpmem.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 18, WORDS = BYTES / 8 };

static uint64_t *pool;
static size_t pool_bytes;
static const char *path, *program;

static void store(size_t word, uint64_t value)
{
	pool[word] = value;
	pmem_persist(&pool[word], 8);
}

/* ---- What a session lives on ------------------------------------------------------------------ */

/* More than one window of the record, so that it is opened anew. */
static int forgets_its_environment(void)
{
	clearenv();
	if (chdir("/")) {
		return 1;
	}
	for (unsigned i = 0; i < 200; i++) {
		pmem_memset_persist(pool, (int)i, pool_bytes);
	}
	return 0;
}

static int leaves_a_daemon(void)
{
	int ready[2];
	char byte = 0;

	if (pipe(ready)) {
		return 1;
	}
	if (fork() == 0) {
		setsid();
		store(1, 1);
		if (fork() == 0) {
			for (unsigned i = 0; i < 600; i++) { /* a minute, if nobody ends it */
				store(2, i + 1);
				if (i == 0) {
					close(STDOUT_FILENO);
					close(STDERR_FILENO);
					byte = write(ready[1], "!", 1) != 1;
				}
				usleep(100000);
			}
		}
		_exit(0);
	}
	return read(ready[0], &byte, 1) != 1; /* it has begun */
}

static int waits(void)
{
	store(1, 1);
	if (write(STDOUT_FILENO, "!", 1) != 1) {
		return 1;
	}
	return sleep(60) == 0;
}

static void *stores_once(void *word)
{
	store((size_t)(uintptr_t)word, 1);
	return NULL;
}

/* One after the other: eight with the first. */
static int has_threads(void)
{
	pthread_t t;

	for (uintptr_t i = 0; i < 7; i++) {
		if (pthread_create(&t, NULL, stores_once, (void *)(8 * i)) || pthread_join(t, NULL)) {
			return 1;
		}
	}
	store(8 * 7, 1);
	return 0;
}

/* ---- Files ------------------------------------------------------------------------------------ */

static int shrinks(void)
{
	for (size_t i = 0; i < WORDS; i++) {
		pool[i] = i + 1;
	}
	pmem_persist(pool, 64);
	return truncate(path, 4096) || (store(1, 5), 0);
}

/* Mapped as far as it will grow, as databases do. */
static int grows(void)
{
	const int fd = open(path, O_RDWR);
	uint64_t *const at = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		return 1;
	}
	at[0] = 1;
	if (fsync(fd) || ftruncate(fd, BYTES + BYTES / 2)) {
		return 1;
	}
	at[WORDS + 256] = 3;
	if (fsync(fd)) {
		return 1;
	}
	at[WORDS + 512] = 2;
	pmem_persist(&at[WORDS + 512], 8);
	return 0;
}

static int moves_its_mapping(void)
{
	pool[7] = 70;
	pool = mremap(pool, pool_bytes, 2 * pool_bytes, MREMAP_MAYMOVE);
	if (pool == MAP_FAILED) {
		return 1;
	}
	store(1, 10);
	pool[100] = 1000;
	return pool[7] != 70;
}

static int makes_writable_later(void)
{
	const int fd = open(path, O_RDWR);
	uint64_t *const at = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED || mprotect(at, 8192, PROT_READ | PROT_WRITE)) {
		return 1;
	}
	at[8] = 80;
	pmem_persist(&at[8], 8);
	return 0;
}

/* ---- Files that are written by system calls: PROGRAM is the call ------------------------------ */

/* The pool, which is not mapped yet, with the content that such a program gives it first. */
static int begin_file(void)
{
	static char page[4096] = "by a descriptor";
	const int fd = open(path, O_RDWR | O_CREAT | O_DSYNC, 0600);

	for (unsigned i = 0; i < BYTES / sizeof page; i++) {
		if (pwrite(fd, page, sizeof page, (off_t)(i * sizeof page)) != sizeof page) {
			return -1;
		}
	}
	return lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

static ssize_t from_pipe(int fd)
{
	int ends[2];

	return pipe(ends) == 0 && write(ends[1], "new", 3) == 3 ? splice(ends[0], NULL, fd, NULL, 3, 0) : -1;
}

static ssize_t write_by(const char *call, int fd)
{
	static char text[] = "new";
	const struct iovec v = {text, 3};
	const int other = open(path, O_RDONLY);
	off64_t to = 8192;

	return strcmp(call, "write") == 0           ? write(fd, text, 3) :
	       strcmp(call, "pwrite") == 0          ? pwrite(fd, text, 3, 0) :
	       strcmp(call, "pwrite64") == 0        ? pwrite64(fd, text, 3, 0) :
	       strcmp(call, "writev") == 0          ? writev(fd, &v, 1) :
	       strcmp(call, "pwritev") == 0         ? pwritev(fd, &v, 1, 0) :
	       strcmp(call, "pwritev64") == 0       ? pwritev64(fd, &v, 1, 0) :
	       strcmp(call, "pwritev2") == 0        ? pwritev2(fd, &v, 1, 0, 0) :
	       strcmp(call, "pwritev64v2") == 0     ? pwritev64v2(fd, &v, 1, 0, 0) :
	       strcmp(call, "sendfile") == 0        ? sendfile(fd, other, NULL, 3) :
	       strcmp(call, "sendfile64") == 0      ? sendfile64(fd, other, NULL, 3) :
	       strcmp(call, "splice") == 0          ? from_pipe(fd) :
	       strcmp(call, "copy_file_range") == 0 ? copy_file_range(other, NULL, fd, &to, 3, 0) :
	       strcmp(call, "ftruncate") == 0       ? ftruncate(fd, 8192) + 3 :
	       strcmp(call, "ftruncate64") == 0     ? ftruncate64(fd, 8192) + 3 :
	       strcmp(call, "fallocate") == 0       ? fallocate(fd, 3, 0, 4096) + 3 :
	       strcmp(call, "fallocate64") == 0     ? fallocate64(fd, 3, 0, 4096) + 3 :
	       strcmp(call, "nothing") == 0         ? 3 :
						      -1;
}

static int map_written(int protection)
{
	const int fd = begin_file();

	pool = mmap(NULL, BYTES, protection, MAP_SHARED, fd, 0);
	return fd < 0 || pool == MAP_FAILED ? -1 : fd;
}

static int writes_what_it_stores_to(void)
{
	const int fd = map_written(PROT_READ | PROT_WRITE);

	if (fd < 0) {
		return 1;
	}
	store(1, 5);
	return write_by(program, fd) != 3;
}

/* As LMDB does. */
static int writes_what_it_reads(void)
{
	const int fd = map_written(PROT_READ);

	return fd < 0 || write_by(program, fd) != 3 || fdatasync(fd);
}

static int writes_between_mappings(void)
{
	const int fd = map_written(PROT_READ | PROT_WRITE);

	if (fd < 0 || munmap(pool, BYTES) || write_by(program, fd) != 3) {
		return 1;
	}
	pool = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	store(1, 5);
	return 0;
}

static int makes_a_part_writable_later(void)
{
	const int fd = map_written(PROT_READ);

	if (fd < 0 || mprotect((char *)pool + 8192, 4096, PROT_READ | PROT_WRITE)) {
		return 1;
	}
	store(1024, 80); /* of the part */
	return 0;
}

static int unmaps_badly(void)
{
	return munmap((char *)pool + 8, 4096) == 0 || (store(3, 30), 0);
}

/* All the ways in which the kernel writes where the program says, at a page each. */
static int reads_in_every_way(void)
{
	char *const at = (char *)pool;
	const int fd = open("/proc/self/exe", O_RDONLY);
	FILE *const f = fopen("/proc/self/exe", "r");
	struct iovec v[3] = {{at + 8192, 100}, {at + 16384, 100}, {at + 24576, 5}};
	struct msghdr message = {.msg_iov = &v[2], .msg_iovlen = 1};
	int s[2], bad = 0;

	if (fd < 0 || f == NULL || socketpair(AF_UNIX, SOCK_STREAM, 0, s) ||
		write(s[0], "0123456789", 10) != 10) {
		return 1;
	}
	bad |= pread(fd, at + 4096, 100, 0) != 100;
	bad |= readv(fd, &v[0], 1) != 100 || preadv(fd, &v[1], 1, 0) != 100;
	bad |= recvmsg(s[1], &message, 0) != 5 || recvfrom(s[1], at + 32768, 5, 0, NULL, NULL) != 5;
	bad |= fread(at + 40960, 1, 8192, f) != 8192;
	pmem_persist(pool, pool_bytes);
	return bad || memcmp(at + 24576, "01234", 5) || memcmp(at + 32768, "56789", 5);
}

/* ---- Programs --------------------------------------------------------------------------------- */

static int executes_list(void)
{
	execl(program, program, (char *)NULL);
	return 1;
}

static int executes_with_nothing(void)
{
	char *const nothing[] = {NULL};

	execle(program, program, "x", (char *)NULL, nothing);
	return 1;
}

static int executes_descriptor(void)
{
	char *const argv[] = {(char *)(uintptr_t)program, NULL}, *const nothing[] = {NULL};

	fexecve(open(program, O_RDONLY), argv, nothing);
	return 1;
}

/* ---- Signals ---------------------------------------------------------------------------------- */

static sigjmp_buf back;
static volatile sig_atomic_t caught;

static void on_fault(int number)
{
	(void)number;
	caught++;
	siglongjmp(back, 1);
}

/* Once by a handler that is good for one signal, then ignored. */
static int uses_segv(void)
{
	const struct sigaction once = {.sa_handler = on_fault, .sa_flags = (int)SA_RESETHAND};
	struct sigaction now;

	sigaction(SIGSEGV, &once, NULL);
	if (sigsetjmp(back, 1) == 0) {
		*(volatile int *)8 = 1;
	}
	sigaction(SIGSEGV, NULL, &now);
	signal(SIGSEGV, SIG_IGN);
	kill(getpid(), SIGSEGV);
	store(1, 1);
	return caught != 1 || now.sa_handler != SIG_DFL;
}

static const struct {
	const char *name;
	int (*run)(void);
	bool maps; /* the file by itself */
} modes[] = {
	{"written", writes_what_it_stores_to, true},
	{"read", writes_what_it_reads, true},
	{"between", writes_between_mappings, true},
	{"part-later", makes_a_part_writable_later, true},
	{"forgets", forgets_its_environment, false},
	{"daemon", leaves_a_daemon, false},
	{"waits", waits, false},
	{"has-threads", has_threads, false},
	{"shrinks", shrinks, false},
	{"grows", grows, false},
	{"moves", moves_its_mapping, false},
	{"later", makes_writable_later, false},
	{"misaligned", unmaps_badly, false},
	{"reads", reads_in_every_way, false},
	{"list", executes_list, false},
	{"nothing", executes_with_nothing, false},
	{"descriptor", executes_descriptor, false},
	{"segv", uses_segv, false},
};

int main(int argc, char **argv)
{
	path = argc > 2 ? argv[2] : "";
	program = argc > 3 ? argv[3] : "";
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
			pool = modes[i].maps ?
				       NULL :
				       pmem_map_file(path, BYTES, PMEM_FILE_CREATE, 0600, &pool_bytes, NULL);
			return pool == NULL && !modes[i].maps ? 3 : modes[i].run();
		}
	}
	fprintf(stderr, "odd MODE FILE [PROGRAM]\n");
	return 2;
}
