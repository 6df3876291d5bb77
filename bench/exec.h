/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs that bench/exec.sh runs have in common: their processor time, and a mapped file. */
#ifndef BENCH_EXEC_H
#define BENCH_EXEC_H

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* So many bytes of a file, which it makes if need be; MAP_FAILED after an error. */
static inline void *map_file(const char *path, off_t bytes)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, bytes) != 0) {
		return MAP_FAILED;
	}
	return mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

#endif
