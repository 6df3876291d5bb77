/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating, opening and closing pools. The file is mapped with libpmem for writing, with plain mmap for
 * reading (the file may be read-only) and for private use (libpmem maps shared only).
 *
 * A lock (flock, which belongs to the open file and so ends with the process) makes writers exclusive;
 * readers share it. The lock is taken before the first byte is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <libpmem.h>
#include <linux/magic.h>

#include <nvw/input.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/pools.h"

#include "internal.h"

enum { DEFAULT_LOG_ENTRIES = 64 };

/* ---- The handle ------------------------------------------------------------------------------ */

static int no_handle(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for a pool handle");
}

static int new_handle(const char *path, struct nvw_pool **ret_pool)
{
	struct nvw_pool *pool = calloc(1, sizeof *pool);

	if (pool && path) {
		pool->path = strdup(path);
	}
	if (!pool || (path && !pool->path)) {
		free(pool);
		return no_handle();
	}
	pool->lock_fd = -1;
	*ret_pool = pool;
	return 0;
}

static void unmap(struct nvw_pool *pool)
{
	if (pool->mapped_bytes == 0) {
		return;
	}
	NVW_INVARIANT(pool->base && (!pool->shared || pool->writable == pool->base));
	if (pool->shared) {
		/* The emulated NVRAM stores to the mapping directly, so all of it may be new. */
		(void)pmem_msync(pool->writable, pool->mapped_bytes);
		(void)pmem_unmap(pool->writable, pool->mapped_bytes);
	} else {
		(void)munmap((void *)(uintptr_t)pool->base, pool->mapped_bytes);
	}
}

static void close_one(struct nvw_pool *pool)
{
	unmap(pool);
	if (pool->lock_fd >= 0) {
		(void)close(pool->lock_fd);
	}
	free(pool->path);
	free(pool);
}

void nvw_pool_close(struct nvw_pool *pool)
{
	while (pool) {
		struct nvw_pool *const next = pool->next;

		close_one(pool);
		pool = next;
	}
}

static int lock(struct nvw_pool *pool, bool alone)
{
	if (flock(pool->lock_fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) {
		return 0;
	}
	NVW_FAIL_ERRNO_IF(errno != EWOULDBLOCK, "%s: the pool cannot be locked", pool->path);
	return nvw_fail(NVW_E_BUSY, "%s: the pool is in use by another process%s", pool->path,
		alone ? "" : " that may write to it");
}

static int map_shared(struct nvw_pool *pool)
{
	int is_pmem = 0;
	size_t bytes = 0;
	void *p = pmem_map_file(pool->path, 0, 0, 0, &bytes, &is_pmem);

	NVW_INVARIANT(pool->mapped_bytes == 0);
	NVW_FAIL_IF(
		p == NULL, NVW_E_SYSTEM, "%s: the pool cannot be mapped: %s", pool->path, pmem_errormsg());
	pool->base = p;
	pool->writable = p;
	pool->shared = true;
	pool->is_pmem = is_pmem != 0;
	pool->mapped_bytes = bytes;
	return 0;
}

static int map_apart(struct nvw_pool *pool, enum nvw_pool_mode mode, size_t bytes)
{
	int access = PROT_READ, kind = MAP_SHARED;
	void *p;

	if (mode == NVW_POOL_PRIVATE) {
		access |= PROT_WRITE;
		kind = MAP_PRIVATE | MAP_NORESERVE; /* of a large pool few pages become private */
	}
	NVW_INVARIANT(pool->mapped_bytes == 0);
	p = mmap(NULL, bytes, access, kind, pool->lock_fd, 0);

	NVW_FAIL_ERRNO_IF(p == MAP_FAILED, "%s: the pool cannot be mapped", pool->path);
	pool->base = p;
	if (mode == NVW_POOL_PRIVATE) {
		pool->writable = p;
	}
	pool->mapped_bytes = bytes;
	return 0;
}

/* ---- Open ------------------------------------------------------------------------------------ */

static int create_file(struct nvw_pool *pool)
{
	pool->lock_fd = open(pool->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (pool->lock_fd < 0) {
		const int error = errno;

		NVW_FAIL_IF(error == EEXIST, -error, "%s already exists", pool->path);
		return nvw_fail(-error, "%s: %s", pool->path, strerror(error));
	}
	return 0;
}

static int open_file(struct nvw_pool *pool, int access)
{
	const int error = nvw_input_open(pool->path, access, &pool->lock_fd);

	NVW_FAIL_IF(error == NVW_E_INPUT, NVW_E_NOT_A_POOL, "%s, not a pool", nvw_error_message());
	return error;
}

static int file_bytes(const struct nvw_pool *pool, uint64_t *ret_bytes)
{
	struct stat st;

	NVW_FAIL_ERRNO_IF(fstat(pool->lock_fd, &st) != 0, "%s", pool->path);
	NVW_FAIL_IF(st.st_size == 0, NVW_E_NOT_A_POOL, "%s: the file is empty, expected a pool", pool->path);
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

/*
 * A pool that has reserved its blocks has no holes; what its file system takes for one depends on what is
 * cached. A FUSE file system may not know yet what is in the page cache.
 */
static bool has_holes(int fd)
{
	struct statfs of;
	struct stat s;

	return fstat(fd, &s) == 0 && s.st_blocks < s.st_size / 512 && fstatfs(fd, &of) == 0 &&
	       of.f_type != FUSE_SUPER_MAGIC;
}

static int open_and_check(struct nvw_pool *pool, enum nvw_pool_mode mode)
{
	const bool writes = mode == NVW_POOL_WRITE;
	uint64_t bytes = 0;

	NVW_TRY(open_file(pool, writes ? O_RDWR : O_RDONLY));
	NVW_TRY(lock(pool, writes));
	NVW_TRY(file_bytes(pool, &bytes));
	if (writes) {
		NVW_TRY(map_shared(pool));
	} else {
		NVW_TRY(map_apart(pool, mode, bytes));
	}
	pool->has_holes = has_holes(pool->lock_fd);
	return nvw__header_check(pool->path, pool->base, pool->mapped_bytes, false, pool);
}

static int open_one(const char *path, enum nvw_pool_mode mode, struct nvw_pool **ret_pool)
{
	struct nvw_pool *pool;
	int error;

	NVW_TRY(new_handle(path, &pool));
	error = open_and_check(pool, mode);
	if (error) {
		nvw_pool_close(pool);
		return error;
	}
	*ret_pool = pool;
	return 0;
}

/* ---- The pools of a run ---------------------------------------------------------------------- */

/* pool is behind the last of first's run. */
static void append(struct nvw_pool *first, struct nvw_pool *pool)
{
	struct nvw_pool *last = first;

	while (last->next) {
		last = last->next;
	}
	NVW_INVARIANT(!pool->next && pool != last);
	pool->begin = last->begin + last->geometry.bytes;
	last->next = pool;
}

/* Is pool number i of first's run? */
static int check_number(const struct nvw_pool *first, const struct nvw_pool *pool, unsigned i)
{
	NVW_FAIL_IF(pool->member.number != i || pool->member.count != first->member.count ||
			    memcmp(pool->member.run, first->member.run, sizeof pool->member.run) != 0,
		NVW_E_DAMAGED, "%s: found pool %" PRIu32 " of another run, expected pool %u of %s's",
		nvw_pool_path(pool), pool->member.number, i, nvw_pool_path(first));
	return 0;
}

static int check_first(const struct nvw_pool *pool)
{
	NVW_FAIL_IF(pool->member.number != 0, NVW_E_USAGE,
		"%s is pool %" PRIu32 " of a run of %" PRIu32
		": expected the first, whose name has no number suffix",
		nvw_pool_path(pool), pool->member.number, pool->member.count);
	return 0;
}

static int open_next(struct nvw_pool *first, unsigned i, enum nvw_pool_mode mode)
{
	struct nvw_pool *pool = NULL;
	char *const path = nvw__pool_path(first->path, i);
	int error;

	if (!path) {
		return no_handle();
	}
	error = open_one(path, mode, &pool);
	free(path);
	NVW_TRY(error);
	append(first, pool);
	return check_number(first, pool, i);
}

int nvw_pool_open(const char *path, enum nvw_pool_mode mode, struct nvw_pool **ret_pool)
{
	struct nvw_pool *first;
	int error;

	NVW_TRY(open_one(path, mode, &first));
	error = check_first(first);
	for (unsigned i = 1; i < first->member.count && !error; i++) {
		error = open_next(first, i, mode);
	}
	if (error) {
		nvw_pool_close(first);
		return error;
	}
	*ret_pool = first;
	return 0;
}

/* The pool that begins at an offset of the image. */
static int open_image_at(const struct nvw_pool_image *image, nvw_off begin, struct nvw_pool **ret_pool)
{
	struct nvw_pool *pool;
	int error;

	NVW_TRY(new_handle(NULL, &pool));
	pool->image = *image;
	pool->base = (const char *)image->image + begin;
	pool->begin = begin;
	if (image->fetch) {
		image->fetch(image->context, begin, NVW__ROOTS_OFF);
	}
	error = nvw__header_check("(image)", pool->base, image->bytes - begin, true, pool);
	if (error) {
		nvw_pool_close(pool);
		return error;
	}
	nvw__note_read(pool, 0, pool->geometry.roots); /* both headers */
	*ret_pool = pool;
	return 0;
}

int nvw_pool_open_image(const struct nvw_pool_image *image, struct nvw_pool **ret_pool)
{
	struct nvw_pool *first;
	int error;

	NVW_TRY(open_image_at(image, 0, &first));
	error = check_first(first);
	for (unsigned i = 1; i < first->member.count && !error; i++) {
		struct nvw_pool *pool = NULL;

		error = open_image_at(image, nvw_pool_run_bytes(first), &pool);
		if (!error) {
			error = check_number(first, pool, i);
			append(first, pool);
		}
	}
	if (error) {
		nvw_pool_close(first);
		return error;
	}
	*ret_pool = first;
	return 0;
}

/* ---- Create ---------------------------------------------------------------------------------- */

static int geometry_of(const struct nvw_pool_params *params, struct nvw_pool_geometry *ret_geometry)
{
	const uint32_t streams = NVW_OR(params->streams, 1);
	const uint32_t entries = NVW_OR(params->log_entries, DEFAULT_LOG_ENTRIES);
	const uint64_t heap = NVW_OR(params->heap_bytes, 1);
	uint64_t least;

	NVW_FAIL_IF(!memchr(params->layout, 0, sizeof params->layout), NVW_E_USAGE,
		"a pool's layout name has at most %d characters", NVW_POOL_LAYOUT_BYTES - 1);
	NVW_FAIL_IF(heap > NVW__POOL_BYTES_MAX, NVW_E_USAGE,
		"a pool's heap has at most %" PRIu64 " bytes, not %" PRIu64, NVW__POOL_BYTES_MAX, heap);
	least = nvw__pool_bytes(streams, entries, (heap + NVW_POOL_CHUNK_BYTES - 1) / NVW_POOL_CHUNK_BYTES);
	NVW_FAIL_IF(params->bytes != 0 && params->bytes < least, NVW_E_USAGE,
		"this pool needs at least %" PRIu64 " bytes, not %" PRIu64, least, params->bytes);
	NVW_TRY(nvw__geometry(NVW_OR(params->bytes, least), streams, entries, ret_geometry));
	/* Bytes after the name's end are not part of it and must not differ between equal pools. */
	snprintf(ret_geometry->layout, sizeof ret_geometry->layout, "%s", params->layout);
	return 0;
}

/* Reserves disk blocks for the whole file, unless it is to be sparse: the emulated NVRAM must not meet a full
 * disk later. */
static int reserve(const struct nvw_pool *pool, uint64_t bytes, bool sparse)
{
	int error;

	NVW_FAIL_ERRNO_IF(sparse && ftruncate(pool->lock_fd, (off_t)bytes) != 0, "%s", pool->path);
	if (sparse) {
		return 0;
	}
	error = posix_fallocate(pool->lock_fd, 0, (off_t)bytes);
	NVW_FAIL_IF(error == ENOSPC || error == EDQUOT || error == EFBIG, NVW_E_FULL,
		"%s: no room for a pool of %" PRIu64 " bytes: %s", pool->path, bytes, strerror(error));
	if (error != 0) {
		errno = error;
		return nvw_fail_errno("%s: %" PRIu64 " bytes cannot be reserved", pool->path, bytes);
	}
	return 0;
}

/* The copy first, each durable before the next: a crash leaves no pool or an intact one. */
static int write_headers(struct nvw_pool *pool)
{
	struct nvw__header header;

	NVW_TRY(nvw__header_make(pool, &header));
	NVW_TRY(nvw_pool_write(pool, NVW__COPY_OFF, &header, sizeof header));
	NVW_TRY(nvw_pool_sync(pool));
	NVW_TRY(nvw_pool_write(pool, NVW__HEADER_OFF, &header, sizeof header));
	return nvw_pool_sync(pool);
}

/* From here on the file is ours to remove. */
static int fill_new_file(struct nvw_pool *pool, bool sparse)
{
	NVW_TRY(lock(pool, true));
	NVW_TRY(reserve(pool, pool->geometry.bytes, sparse));
	NVW_TRY(map_shared(pool));
	return write_headers(pool);
}

static int create_one(const char *path, const struct nvw_pool_params *params,
	const struct nvw__member *member, struct nvw_pool **ret_pool)
{
	struct nvw_pool_geometry geometry;
	struct nvw_pool *pool;
	int error;

	NVW_TRY(geometry_of(params, &geometry));
	NVW_TRY(new_handle(path, &pool));
	pool->geometry = geometry;
	pool->member = *member;
	snprintf(pool->device, sizeof pool->device, "%s", params->device);
	error = create_file(pool);
	if (error) {
		nvw_pool_close(pool);
		return error;
	}
	error = fill_new_file(pool, params->sparse);
	if (error) {
		(void)unlink(path);
		nvw_pool_close(pool);
		return error;
	}
	pool->words_written = 0;
	*ret_pool = pool;
	return 0;
}

/* Pool i of a run, at its own path. */
static int create_number(const char *path, const struct nvw_pool_params *params,
	const struct nvw__member *run, unsigned i, struct nvw_pool **ret_pool)
{
	struct nvw__member member = *run;
	char *const its = nvw__pool_path(path, i);
	int error;

	member.number = i;
	if (!its) {
		return no_handle();
	}
	error = create_one(its, params, &member, ret_pool);
	free(its);
	return error;
}

static void remove_all(struct nvw_pool **pools, unsigned count)
{
	NVW_EACH(pool, pools, count) {
		if (*pool) {
			(void)unlink((*pool)->path);
			nvw_pool_close(*pool);
		}
	}
}

/* The first comes last: without it the others are not taken for pools. */
int nvw_pool_create_several(
	const char *path, const struct nvw_pool_params *params, unsigned count, struct nvw_pool **ret_first)
{
	struct nvw_pool *pools[NVW_POOLS_MAX] = {NULL};
	struct nvw__member run = {.count = count > 1 ? count : 0};
	int error = 0;

	NVW_FAIL_IF(count == 0 || count > NVW_POOLS_MAX, NVW_E_USAGE, "a run has 1 to %d pools, not %u",
		NVW_POOLS_MAX, count);
	NVW_FAIL_ERRNO_IF(count > 1 && getrandom(run.run, sizeof run.run, 0) != sizeof run.run,
		"no random number for the run's uuid");
	for (unsigned i = count; i-- > 0 && !error;) {
		error = create_number(path, &params[i], &run, i, &pools[i]);
	}
	if (error) {
		remove_all(pools, count);
		return error;
	}
	for (unsigned i = 1; i < count; i++) {
		append(pools[0], pools[i]);
	}
	*ret_first = pools[0];
	return 0;
}

int nvw_pool_create(const char *path, const struct nvw_pool_params *params, struct nvw_pool **ret_pool)
{
	return nvw_pool_create_several(path, params, 1, ret_pool);
}
