/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory by cudaMallocPitch() in a file, which NVWAVE_PITCH_POOL names: SBRP's simulator takes it for
 * persistent (sbrp23 3), so its programs have no other files. Each allocation begins at the next page of the
 * file, in the order of the calls. A program that runs again finds what it has left there.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"

static uint64_t used_bytes;

static const char *pool(void)
{
	const char *const path = getenv("NVWAVE_PITCH_POOL");

	return NVW_OR(path, "");
}

bool nvw_cuda_pitched_is_file(void)
{
	return *pool() != 0;
}

char *nvw_cuda_map_pitched(size_t bytes)
{
	const int fd = open(pool(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	const uint64_t end = used_bytes + bytes;
	struct stat s;
	void *at = NULL;

	if (fd >= 0 && !fstat(fd, &s) && ((uint64_t)s.st_size >= end || !ftruncate(fd, (off_t)end))) {
		void *const mapped =
			mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)used_bytes);

		if (mapped != MAP_FAILED) {
			at = mapped;
		}
	}
	if (!at) {
		fprintf(stderr, "nvwave: NVWAVE_PITCH_POOL=%s: %s\n", pool(), strerror(errno));
	} else {
		used_bytes = end;
	}
	if (fd >= 0) {
		close(fd);
	}
	return at;
}
