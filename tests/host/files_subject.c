/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs whose file is written by system calls.
 *
 *	files_subject run FILE COUNT [BUG]	a log of records behind a header that counts them
 *	files_subject check FILE		its checker
 *	files_subject steps FILE STEPS		carries out STEPS, as test_host_files.py makes them
 *	files_subject see FOLDER FILE		notes the content of FILE as the name of a file in FOLDER
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <nvw/ack.h>

#include "acknowledged.h"

/* ---- A log ------------------------------------------------------------------------------------ */

enum { RECORD = 1500, HEADER = 512 };

static const char *bug = "";

static int is(const char *name)
{
	return strcmp(bug, name) == 0;
}

static void fill(uint8_t *to, uint64_t number)
{
	for (unsigned i = 0; i < RECORD; i++) {
		to[i] = (uint8_t)(number * 31 + i * 7 + 1);
	}
}

/* The header's count is stored through a mapping where the bug, or its absence, says so. */
static int commit(int fd, uint64_t *mapped, uint64_t count)
{
	if (is("mapped") || is("mapped-unsynced")) {
		*mapped = count;
		return is("mapped") ? msync(mapped, 4096, MS_SYNC) : 0;
	}
	if (is("dsync") || is("no-data-sync-dsync")) {
		const struct iovec v = {&count, sizeof count};

		return pwritev2(fd, &v, 1, 0, RWF_DSYNC) != sizeof count;
	}
	return pwrite(fd, &count, sizeof count, 0) != sizeof count ||
	       (!is("no-commit-sync") && fdatasync(fd));
}

static int append(int fd, uint64_t *mapped, unsigned number)
{
	uint8_t record[RECORD];
	const struct iovec v[2] = {{record, 700}, {record + 700, RECORD - 700}};

	fill(record, number);
	if (pwritev(fd, v, 2, HEADER + (off_t)number * RECORD) != RECORD) {
		return 3;
	}
	if (!is("no-data-sync") && !is("no-data-sync-dsync") && fdatasync(fd)) {
		return 3;
	}
	return commit(fd, mapped, number + 1) ? 3 : 0;
}

static int run(const char *path, unsigned count)
{
	const int fd = open(path, O_RDWR);
	uint64_t *const mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	for (unsigned i = 0; i < count; i++) {
		nvw_operation_begins(i, "append");
		if (fd < 0 || mapped == MAP_FAILED || append(fd, mapped, i)) {
			return 3;
		}
		nvw_operation_is_durable(i);
	}
	return 0;
}

static int check(const char *path)
{
	const int fd = open(path, O_RDONLY);
	uint8_t record[RECORD], wanted[RECORD];
	uint64_t count = 0;

	if (pread(fd, &count, sizeof count, 0) != sizeof count) {
		printf("there is no header\n");
		return 1;
	}
	for (unsigned i = 0; i < count; i++) {
		fill(wanted, i);
		if (pread(fd, record, RECORD, HEADER + (off_t)i * RECORD) != RECORD ||
			memcmp(record, wanted, RECORD) != 0) {
			printf("a record counts and is not whole\n");
			return 1;
		}
	}
	if (count < acknowledged()) {
		printf("an acknowledged record is lost\n");
		return 1;
	}
	return 0;
}

/* ---- Steps ------------------------------------------------------------------------------------ */

static uint8_t bytes[1 << 16];

/* By the C library, whose calls are not seen. */
static int write_by_stdio(int fd, size_t n)
{
	FILE *const f = fdopen(dup(fd), "r+");

	return f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f);
}

/* "w OFF LEN BYTE", "d ..." by O_DSYNC, "m OFF BYTE" through the mapping, "s", "y PAGE" msync, "t SIZE",
 * "f LEN" by stdio, "o" an open() that cuts, "a" abort(). */
static const char *file;

static int carry_out(const char *step, int fd, int synced, uint8_t *mapped)
{
	unsigned long off = 0, n = 0, byte = 0;

	sscanf(step + 1, "%lu,%lu,%lu", &off, &n, &byte);
	memset(bytes, (int)byte, sizeof bytes);
	switch (*step) {
	case 'w':
		return pwrite(fd, bytes, n, (off_t)off) != (ssize_t)n;
	case 'd':
		return pwrite(synced, bytes, n, (off_t)off) != (ssize_t)n;
	case 'm':
		*(volatile uint64_t *)(mapped + off) = n * UINT64_C(0x0101010101010101);
		return 0;
	case 'f':
		return write_by_stdio(fd, off);
	case 'o':
		return close(open(file, O_RDWR | O_TRUNC));
	case 'a':
		abort();
	case 's':
		return fdatasync(fd);
	case 'y':
		return msync(mapped + 4096 * off, 4096, MS_SYNC);
	case 't':
		return ftruncate(fd, (off_t)off);
	default:
		return 1;
	}
}

static int steps(const char *path, char *text)
{
	const int fd = open(path, O_RDWR), synced = open(path, O_RDWR | O_DSYNC);
	uint8_t *mapped = NULL;

	file = path;
	if (strpbrk(text, "my") != NULL) {
		mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	for (char *rest = text, *step; (step = strtok_r(rest, "/", &rest)) != NULL;) {
		if (carry_out(step, fd, synced, mapped)) {
			return 3;
		}
	}
	return 0;
}

/* Runs of equal bytes: "BYTExCOUNT-...". */
static int see(const char *folder, const char *path)
{
	char name[4096];
	int n = snprintf(name, sizeof name, "%s/=", folder);
	const int fd = open(path, O_RDONLY);
	const ssize_t size = pread(fd, bytes, sizeof bytes, 0);

	for (ssize_t at = 0, end; at < size && n < 4000; at = end) {
		for (end = at; end < size && bytes[end] == bytes[at]; end++) {
		}
		n += snprintf(name + n, sizeof name - (size_t)n, "%ux%ld-", bytes[at], (long)(end - at));
	}
	return close(open(name, O_WRONLY | O_CREAT, 0600));
}

int main(int argc, char **argv)
{
	const char *const mode = argc > 2 ? argv[1] : "";

	if (strcmp(mode, "run") == 0 && argc > 3) {
		bug = argc > 4 ? argv[4] : "";
		return run(argv[2], (unsigned)atoi(argv[3]));
	}
	if (strcmp(mode, "check") == 0) {
		return check(argv[2]);
	}
	if (strcmp(mode, "steps") == 0 && argc > 3) {
		return steps(argv[2], argv[3]);
	}
	if (strcmp(mode, "see") == 0 && argc > 3) {
		return see(argv[2], argv[3]);
	}
	fprintf(stderr, "files_subject run|check|steps|see ...\n");
	return 2;
}
