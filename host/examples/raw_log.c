/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hand-written log without any library: a mapped file, stores, clflush and mfence. Built by nvwave-cc, all
 * of them are recorded.
 *
 *	raw_log append FILE N [BUG]     N more values
 *	raw_log check FILE              0: in order, 1: not, with the reason on the standard output
 *
 * The first line of the file holds the number of values; each other line holds the number of its values, and
 * the values. A value is stored before its line's number: they are in one line, so that is enough. The line
 * is durable before the total is.
 *
 * BUG plants a bug:
 *	early      the line's number is stored before the value
 *	unflushed  the line is not flushed before the total is stored
 *	unfenced   the line is flushed by clflushopt, and no fence waits for it
 * or omits an unnecessary step:
 *	lean       no fence behind the line's clflush, which no later store overtakes
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINES = 63, VALUES = 7 };

struct log {
	struct {
		uint64_t magic, total, unused[6];
	} head;
	struct {
		uint64_t count, value[VALUES];
	} line[LINES];
};

static const uint64_t magic = 0x676f6c2077617221;
static const char *bug = "";

static uint64_t value_of(uint64_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15;
}

static void fence(void)
{
	__asm__ volatile("mfence" ::: "memory");
}

static void flush(const void *line)
{
	__asm__ volatile("clflush %0" ::"m"(*(const char *)line) : "memory");
}

static void flush_weakly(const void *line)
{
	__asm__ volatile(".byte 0x66; clflush %0" ::"m"(*(const char *)line) : "memory"); /* clflushopt */
}

static void append(struct log *log)
{
	const uint64_t i = log->head.total, slot = i % VALUES;
	volatile uint64_t *const count = &log->line[i / VALUES].count, *const value =
									       log->line[i / VALUES].value;

	if (strcmp(bug, "early") == 0) {
		*count = slot + 1;
		value[slot] = value_of(i); /* early */
	} else {
		value[slot] = value_of(i);
		*count = slot + 1;
	}
	if (strcmp(bug, "unfenced") == 0) {
		flush_weakly((const void *)count); /* unfenced */
	} else if (strcmp(bug, "unflushed") != 0) {
		flush((const void *)count);
		if (strcmp(bug, "lean") != 0) {
			fence();
		}
	}
	log->head.total = i + 1;
	flush(&log->head);
	fence();
}

static int check(const struct log *log)
{
	if (log->head.magic != magic) {
		return 0; /* not begun */
	}
	for (uint64_t i = 0; i < log->head.total || i % VALUES != 0; i++) {
		const uint64_t count = log->line[i / VALUES].count;

		if (i < log->head.total && count <= i % VALUES) {
			printf("value %llu is missing in its line\n", (unsigned long long)i);
			return 1;
		}
		if (i % VALUES < count && log->line[i / VALUES].value[i % VALUES] != value_of(i)) {
			printf("value %llu is counted, and wrong\n", (unsigned long long)i);
			return 1;
		}
	}
	return 0;
}

static struct log *map(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0666);
	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct log)) == 0) {
		at = mmap(NULL, sizeof(struct log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}

	if (at == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	close(fd);
	return (struct log *)at;
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";
	const int checks = strcmp(what, "check") == 0 && argc == 3;

	if (!checks && (strcmp(what, "append") != 0 || argc < 4 || argc > 5)) {
		fprintf(stderr, "raw_log append FILE N [BUG] | check FILE\n");
		return 2;
	}
	struct log *const log = map(argv[2]);

	if (checks) {
		return check(log);
	}
	if (argc > 4) {
		bug = argv[4];
	}
	if (log->head.magic != magic) {
		log->head.magic = magic;
		flush(&log->head);
		fence();
	}
	for (int n = atoi(argv[3]); n > 0 && log->head.total < LINES * VALUES; n--) {
		append(log);
	}
	return 0;
}
