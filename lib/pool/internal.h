/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of lib/pool: the handle, and reading and writing the header. */
#ifndef NVW_POOL_INTERNAL_H
#define NVW_POOL_INTERNAL_H

#include "layout.h"

/* Says which of a run's pools this is; all zero for a single pool. */
struct nvw__member {
	uint8_t run[16]; /* the same for all of its run */
	uint32_t number, count;
};

struct nvw_pool {
	struct nvw_pool_geometry geometry;
	struct nvw__member member;
	char device[NVW_DEVICE_NAME_BYTES];
	nvw_off begin;         /* in the run's range */
	struct nvw_pool *next; /* of its run */
	const char *base;      /* the bytes to read */
	char *writable;        /* the same mapping, NULL if this handle cannot store to it */
	bool shared;           /* stores reach the file: opened with NVW_POOL_WRITE */
	bool is_pmem;          /* flushing the CPU caches makes stores durable; otherwise msync does */
	bool has_holes; /* its file does not have all blocks, and its file system tells which (written.h) */
	size_t mapped_bytes; /* 0: an image, which the caller owns */
	int lock_fd;         /* holds the lock; -1 for an image */
	char *path;          /* NULL for an image */
	struct nvw_pool_image image;
	uint64_t words_written;
	uint64_t unsynced_begin, unsynced_end; /* written but not yet msynced */
};

/* The bytes are a mapping, which belongs to the file that is locked, or an image. Stores of kernels need a
 * mapping, and are durable in it. */
static inline bool nvw__pool_is_valid(const struct nvw_pool *pool)
{
	const bool is_image = pool->mapped_bytes == 0;

	return pool->base != NULL && is_image == (pool->path == NULL) && is_image == (pool->lock_fd < 0) &&
	       (pool->writable == NULL || (!is_image && pool->writable == pool->base)) &&
	       (!pool->shared || pool->writable != NULL) && (!pool->is_pmem || pool->shared) &&
	       pool->unsynced_begin <= pool->unsynced_end && pool->unsynced_end <= pool->geometry.bytes;
}

/* All offsets that follow from the parameters; NVW_E_USAGE names the impossible one. bytes must not be 0. */
NVW_CHECKED int nvw__geometry(
	uint64_t bytes, uint32_t streams, uint32_t log_entries, struct nvw_pool_geometry *ret_geometry);

/* Bytes of a pool with chunk_count chunks. */
uint64_t nvw__pool_bytes(uint32_t streams, uint32_t log_entries, uint64_t chunk_count);

/* Records n bytes as read, if the pool is an image that records reads. */
void nvw__note_read(const struct nvw_pool *pool, nvw_off off, uint64_t n);

/* The header of a new pool. Fails only if the system has no random numbers. */
NVW_CHECKED int nvw__header_make(const struct nvw_pool *pool, struct nvw__header *ret_header);

/*
 * Checks both header pages of a file of bytes bytes at base (which may be short). 0 and the pool's geometry,
 * member and device if at least one is intact; otherwise NVW_E_NOT_A_POOL, NVW_E_VERSION or NVW_E_DAMAGED
 * with a message. In an image the next pool of the run may follow.
 */
NVW_CHECKED int nvw__header_check(
	const char *path, const char *base, uint64_t bytes, bool is_image, struct nvw_pool *ret_pool);

#endif
