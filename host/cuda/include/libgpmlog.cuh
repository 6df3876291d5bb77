/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs by the names of GPM's library: a file with a stack of bytes per partition, which kernels push on and pop from.
 *
 * A conventional log has partitions that the caller chooses, each serialized by a lock in device memory. An HCL (hierarchical
 * coalesced log, *_managed) has a partition per work-item: the 32 lanes of a warp share blocks of 128 bytes, lane l has word l of each,
 * so that a warp's inserts fill lines and need no lock.
 *
 * Crash guarantees: the commit point of every operation is the 8-byte store of the partition's head. An entry that the head covers
 * is whole once the fences persist (libgpm.cuh). With PMEMLOG_UNSTRICT an insert does not persist anything. A file whose
 * creation was cut short is not opened.
 *
 * Functions on a log return 0 or the size, and -1 for a partition that is not there, a full one, or one with fewer bytes.
 */
#ifndef NVW_LIBGPMLOG_CUH
#define NVW_LIBGPMLOG_CUH

#include "libgpm.cuh"

enum { PMEMLOG_UNMANAGED = 1, PMEMLOG_UNSTRICT = 2 };

struct nvw_gpmlog_file {
	unsigned long long ready;                   /* stored last; its value is the kind of file */
	unsigned long long partitions, room, flags; /* room: bytes of a partition */
	unsigned long long head[];                  /* bytes in use, per partition; then, aligned, the data */
};
#define NVW_GPMLOG_READY 0x676f6c6d70677677ull

struct gpmlog {
	struct nvw_gpmlog_file *file;
	char *data;
	size_t bytes; /* of the file */
	int *locks;   /* per partition; NULL: HCL */
};

/* ---- Host ------------------------------------------------------------------------------------------ */

static inline size_t nvw_gpmlog_before_data(size_t partitions)
{
	return (sizeof(nvw_gpmlog_file) + partitions * sizeof(long long) + 127) / 128 * 128;
}

NVW_GPM_HOST gpmlog *nvw_gpmlog_of(void *file, size_t bytes)
{
	nvw_gpmlog_file *const f = (nvw_gpmlog_file *)file;
	gpmlog *log = NULL;

	if (!f || cudaMallocManaged(&log, sizeof *log)) {
		return NULL;
	}
	log->file = f;
	log->bytes = bytes;
	log->data = (char *)f + nvw_gpmlog_before_data(f->partitions);
	log->locks = NULL;
	if (f->flags & PMEMLOG_UNMANAGED) {
		cudaMallocManaged(&log->locks, f->partitions * sizeof *log->locks);
		memset(log->locks, 0, f->partitions * sizeof *log->locks);
	}
	return log;
}

NVW_GPM_HOST gpmlog *nvw_gpmlog_make(const char *path, size_t data, size_t partitions, size_t room, int flags)
{
	size_t bytes = nvw_gpmlog_before_data(partitions) + data;
	nvw_gpmlog_file *const f = (nvw_gpmlog_file *)gpm_map_file(path, bytes, true);

	if (!f) {
		return NULL;
	}
	f->ready = 0;
	nvw_gpm_persist(f, sizeof f->ready);
	f->partitions = partitions;
	f->room = room;
	f->flags = (unsigned long long)flags;
	memset(f->head, 0, partitions * sizeof *f->head);
	nvw_gpm_persist(f, nvw_gpmlog_before_data(partitions));
	f->ready = NVW_GPMLOG_READY;
	nvw_gpm_persist(f, sizeof f->ready);
	return nvw_gpmlog_of(f, bytes);
}

/* len bytes for all partitions. */
NVW_GPM_HOST gpmlog *gpmlog_create(const char *path, size_t len, int partitions, int flags = 0)
{
	const size_t room = partitions > 0 ? (len + (size_t)partitions - 1) / (size_t)partitions : 0;

	return partitions > 0 ? nvw_gpmlog_make(path, room * (size_t)partitions, (size_t)partitions, room,
					flags | PMEMLOG_UNMANAGED) :
				NULL;
}

/* len becomes what the log takes: a multiple of 128 bytes per warp. */
NVW_GPM_HOST gpmlog *gpmlog_create_managed(
	const char *path, size_t &len, int blocks, int threads, int flags = 0)
{
	const size_t items = (size_t)blocks * (size_t)threads, warps = (items + 31) / 32;
	const size_t words = warps ? (len + 128 * warps - 1) / (128 * warps) : 0;

	len = 128 * warps * words;
	return warps ? nvw_gpmlog_make(path, len, items, 4 * words, flags & ~PMEMLOG_UNMANAGED) : NULL;
}

NVW_GPM_HOST gpmlog *gpmlog_create_conv(const char *path, size_t len, int partitions, int flags = 0)
{
	return gpmlog_create(path, len, partitions, flags);
}

NVW_GPM_HOST gpmlog *gpmlog_create_hcl(const char *path, size_t len, int blocks, int threads, int flags = 0)
{
	return gpmlog_create_managed(path, len, blocks, threads, flags);
}

/* NULL if there is no such file, or none that gpmlog_create() has completed. */
NVW_GPM_HOST gpmlog *gpmlog_open(const char *path)
{
	size_t bytes = 0;
	nvw_gpmlog_file *const f = (nvw_gpmlog_file *)gpm_map_file(path, bytes, false);

	if (f && (bytes < sizeof *f || f->ready != NVW_GPMLOG_READY)) {
		fprintf(stderr, "nvwave: %s: expected a log that gpmlog_create() has completed\n", path);
		gpm_unmap(f, bytes);
		return NULL;
	}
	return nvw_gpmlog_of(f, bytes);
}

NVW_GPM_HOST void gpmlog_close(gpmlog *log)
{
	if (log) {
		gpm_unmap(log->file, log->bytes);
		cudaFree(log->locks);
		cudaFree(log);
	}
}

static inline __host__ __device__ __attribute__((unused)) int gpmlog_get_partitions(gpmlog *log)
{
	return (int)log->file->partitions;
}

/* ---- Device ---------------------------------------------------------------------------------------- */

NVW_GPM_DEVICE unsigned long long nvw_gpm_global_id(void)
{
	const unsigned long long block =
		blockIdx.x +
		(unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);

	return block * (blockDim.x * blockDim.y * blockDim.z) + threadIdx.x +
	       blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/* -1: the work-item's own. False: there is none. */
NVW_GPM_DEVICE bool nvw_gpmlog_choose(gpmlog *log, int asked, unsigned long long *ret)
{
	*ret = asked >= 0 ? (unsigned long long)asked : log->locks ? 0 : nvw_gpm_global_id();
	return *ret < log->file->partitions && (asked >= 0 || !log->locks || log->file->partitions == 1);
}

/* Where byte `at` of a partition is. */
NVW_GPM_DEVICE char *nvw_gpmlog_byte(gpmlog *log, unsigned long long partition, unsigned long long at)
{
	return log->data + (log->locks ? partition * log->file->room + at :
					 (partition / 32 * (log->file->room / 4) + at / 4) * 128 +
						   partition % 32 * 4 + at % 4);
}

/* The bytes of a partition from `at` on. An HCL's entries begin at words. */
NVW_GPM_DEVICE void nvw_gpmlog_write(
	gpmlog *log, unsigned long long partition, unsigned long long at, const char *from, size_t n)
{
	if (log->locks) {
		vol_memcpy(nvw_gpmlog_byte(log, partition, at), from, n);
		return;
	}
	for (size_t done = 0; done < n; done += 4) {
		vol_memcpy(
			nvw_gpmlog_byte(log, partition, at + done), from + done, n - done < 4 ? n - done : 4);
	}
}

NVW_GPM_DEVICE void nvw_gpmlog_fetch(
	gpmlog *log, unsigned long long partition, unsigned long long at, char *to, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = *(volatile char *)nvw_gpmlog_byte(log, partition, at + i);
	}
}

NVW_GPM_DEVICE size_t nvw_gpmlog_room_of(gpmlog *log, size_t n)
{
	return log->locks ? n : (n + 3) / 4 * 4;
}

NVW_GPM_DEVICE void nvw_gpmlog_lock(gpmlog *log, unsigned long long partition)
{
	while (log->locks && atomicCAS(&log->locks[partition], 0, 1) != 0) {
	}
	__threadfence();
}

NVW_GPM_DEVICE void nvw_gpmlog_unlock(gpmlog *log, unsigned long long partition)
{
	__threadfence();
	if (log->locks) {
		atomicExch(&log->locks[partition], 0);
	}
}

NVW_GPM_DEVICE void nvw_gpmlog_set_head(gpmlog *log, unsigned long long partition, unsigned long long to)
{
	*(volatile unsigned long long *)&log->file->head[partition] = to;
	if (!(log->file->flags & PMEMLOG_UNSTRICT)) {
		gpm_persist();
	}
}

NVW_GPM_DEVICE unsigned long long nvw_gpmlog_head(gpmlog *log, unsigned long long partition)
{
	return *(volatile unsigned long long *)&log->file->head[partition];
}

NVW_GPM_DEVICE int nvw_gpmlog_push(gpmlog *log, const void *from, size_t n, unsigned long long partition)
{
	const unsigned long long head = nvw_gpmlog_head(log, partition);
	const size_t room = nvw_gpmlog_room_of(log, n);

	if (head + room > log->file->room) {
		return -1;
	}
	nvw_gpmlog_write(log, partition, head, (const char *)from, n);
	if (!(log->file->flags & PMEMLOG_UNSTRICT)) {
		gpm_persist();
	}
	nvw_gpmlog_set_head(log, partition, head + room);
	return (int)n;
}

/* to NULL: nothing is read. */
NVW_GPM_DEVICE int nvw_gpmlog_pop(gpmlog *log, void *to, size_t n, unsigned long long partition, bool removes)
{
	const unsigned long long head = nvw_gpmlog_head(log, partition);
	const size_t room = nvw_gpmlog_room_of(log, n);

	if (head < room) {
		return -1;
	}
	if (to) {
		nvw_gpmlog_fetch(log, partition, head - room, (char *)to, n);
	}
	if (removes) {
		nvw_gpmlog_set_head(log, partition, head - room);
	}
	return (int)n;
}

/* Pushes n bytes; returns n. */
NVW_GPM_DEVICE int gpmlog_insert(gpmlog *log, void *from, size_t n, int partition = -1)
{
	unsigned long long p;
	int result = -1;

	if (nvw_gpmlog_choose(log, partition, &p)) {
		nvw_gpmlog_lock(log, p);
		result = nvw_gpmlog_push(log, from, n, p);
		nvw_gpmlog_unlock(log, p);
	}
	return result;
}

NVW_GPM_DEVICE int nvw_gpmlog_take(gpmlog *log, void *to, size_t n, int partition, bool removes)
{
	unsigned long long p;
	int result = -1;

	if (nvw_gpmlog_choose(log, partition, &p)) {
		nvw_gpmlog_lock(log, p);
		result = nvw_gpmlog_pop(log, to, n, p, removes);
		nvw_gpmlog_unlock(log, p);
	}
	return result;
}

/* The n bytes on top. */
NVW_GPM_DEVICE int gpmlog_read(gpmlog *log, void *to, size_t n, int partition = -1)
{
	return nvw_gpmlog_take(log, to, n, partition, false);
}
NVW_GPM_DEVICE int gpmlog_remove(gpmlog *log, size_t n, int partition = -1)
{
	return nvw_gpmlog_take(log, NULL, n, partition, true);
}
NVW_GPM_DEVICE int gpmlog_read_remove(gpmlog *log, void *to, size_t n, int partition = -1)
{
	return nvw_gpmlog_take(log, to, n, partition, true);
}

NVW_GPM_DEVICE void gpmlog_clear(gpmlog *log, int partition = -1)
{
	unsigned long long p;

	if (nvw_gpmlog_choose(log, partition, &p)) {
		nvw_gpmlog_lock(log, p);
		nvw_gpmlog_set_head(log, p, 0);
		gpm_persist();
		nvw_gpmlog_unlock(log, p);
	}
}

NVW_GPM_DEVICE size_t gpmlog_get_size(gpmlog *log, int partition = -1)
{
	unsigned long long p;

	return nvw_gpmlog_choose(log, partition, &p) ? (size_t)nvw_gpmlog_head(log, p) : 0;
}
NVW_GPM_DEVICE int gpmlog_is_empty(gpmlog *log, int partition = -1)
{
	return gpmlog_get_size(log, partition) == 0;
}

#endif
