/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with manners that a recorder may trip over: "odd MODE FILE [PROGRAM]" ends with status 0 if everything went as
 * it does without a recorder.
 */
#include <fcntl.h>
#include <libpmem.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* ---- What a session lives on ----------------------------------------------------------------------------------- */

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

/* ---- Files ------------------------------------------------------------------------------------------------------- */

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
	if (fsync(fd) || ftruncate(fd, BYTES + BYTES / 2) ||
		pwrite(fd, "from the kernel.", 16, BYTES) != 16 || fsync(fd)) {
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

/* ---- Programs ------------------------------------------------------------------------------------------------------ */

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

/* ---- Signals --------------------------------------------------------------------------------------------------------- */

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
} modes[] = {
	{"forgets", forgets_its_environment},
	{"daemon", leaves_a_daemon},
	{"waits", waits},
	{"shrinks", shrinks},
	{"grows", grows},
	{"moves", moves_its_mapping},
	{"later", makes_writable_later},
	{"misaligned", unmaps_badly},
	{"reads", reads_in_every_way},
	{"list", executes_list},
	{"nothing", executes_with_nothing},
	{"descriptor", executes_descriptor},
	{"segv", uses_segv},
};

int main(int argc, char **argv)
{
	path = argc > 2 ? argv[2] : "";
	program = argc > 3 ? argv[3] : "";
	pool = pmem_map_file(path, BYTES, PMEM_FILE_CREATE, 0600, &pool_bytes, NULL);
	for (unsigned i = 0; i < sizeof modes / sizeof *modes && pool != NULL; i++) {
		if (strcmp(argv[1], modes[i].name) == 0) {
			return modes[i].run();
		}
	}
	fprintf(stderr, "odd MODE FILE [PROGRAM]\n");
	return 2;
}
