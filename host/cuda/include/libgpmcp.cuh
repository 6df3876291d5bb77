/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints by the names of GPM's library: a file with two copies of the data of every group, and which of them is valid.
 *
 * Crash guarantee: a checkpoint goes to the copy that is not valid, persists, and then becomes valid by an 8-byte store. So
 * gpmcp_restore() brings the last complete one, if kernels' fences persist (libgpm.cuh). Groups are not ordered.
 *
 * Elements are registered in the same order, with the same sizes, before gpmcp_restore() as before the checkpoint. Functions return 0 or
 * the element's number, and -1, with a message on standard error, for a group that is not there and for more than was created.
 */
#ifndef NVW_LIBGPMCP_CUH
#define NVW_LIBGPMCP_CUH

#include "libgpm.cuh"

struct nvw_gpmcp_file {
	unsigned long long ready;                  /* stored last; its value is the kind of file */
	unsigned long long groups, elements, room; /* of each group; room: bytes of a copy */
	unsigned long long valid[];                /* per group: 0 none, 1 or 2; then, aligned, the copies */
};
#define NVW_GPMCP_READY 0x70636d7067767721ull

struct nvw_gpmcp_element {
	void *address;
	size_t bytes, at; /* in a copy */
	long long group;
};

struct gpmcp {
	struct nvw_gpmcp_file *file;
	size_t bytes; /* of the file */
	char *data;
	struct nvw_gpmcp_element *element; /* in the order of their registration */
	long long elements, room;
	size_t *used; /* bytes of each group */
};

enum { NVW_GPMCP_ALIGNED = 128, NVW_GPMCP_BLOCK = 1024 };

static inline size_t nvw_gpmcp_round(size_t n)
{
	return (n + NVW_GPMCP_ALIGNED - 1) / NVW_GPMCP_ALIGNED * NVW_GPMCP_ALIGNED;
}

static inline size_t nvw_gpmcp_before_data(size_t groups)
{
	return nvw_gpmcp_round(sizeof(nvw_gpmcp_file) + groups * sizeof(long long));
}

/* ---- Host ------------------------------------------------------------------------------------------- */

NVW_GPM_HOST gpmcp *nvw_gpmcp_of(nvw_gpmcp_file *f, size_t bytes)
{
	gpmcp *cp = NULL;

	if (!f || cudaMallocManaged(&cp, sizeof *cp)) {
		return NULL;
	}
	memset(cp, 0, sizeof *cp);
	cp->file = f;
	cp->bytes = bytes;
	cp->data = (char *)f + nvw_gpmcp_before_data(f->groups);
	cp->room = (long long)(f->elements * f->groups);
	cudaMallocManaged(&cp->element, (size_t)(cp->room + 1) * sizeof *cp->element);
	cudaMallocManaged(&cp->used, f->groups * sizeof *cp->used);
	memset(cp->used, 0, f->groups * sizeof *cp->used);
	return cp;
}

/* size: bytes of the elements of a group. */
NVW_GPM_HOST gpmcp *gpmcp_create(const char *path, size_t size, long long elements, long long groups)
{
	const size_t room = nvw_gpmcp_round(size) + (size_t)elements * NVW_GPMCP_ALIGNED;
	size_t bytes = nvw_gpmcp_before_data((size_t)groups) + 2 * room * (size_t)groups;
	nvw_gpmcp_file *const f =
		elements > 0 && groups > 0 ? (nvw_gpmcp_file *)gpm_map_file(path, bytes, true) : NULL;

	if (!f) {
		return NULL;
	}
	f->ready = 0;
	nvw_gpm_persist(f, sizeof f->ready);
	f->groups = (unsigned long long)groups;
	f->elements = (unsigned long long)elements;
	f->room = room;
	memset(f->valid, 0, (size_t)groups * sizeof *f->valid);
	nvw_gpm_persist(f, nvw_gpmcp_before_data((size_t)groups));
	f->ready = NVW_GPMCP_READY;
	nvw_gpm_persist(f, sizeof f->ready);
	return nvw_gpmcp_of(f, bytes);
}

/* NULL if there is no such file, or none that gpmcp_create() has completed. */
NVW_GPM_HOST gpmcp *gpmcp_open(const char *path)
{
	size_t bytes = 0;
	nvw_gpmcp_file *const f = (nvw_gpmcp_file *)gpm_map_file(path, bytes, false);

	if (f && (bytes < sizeof *f || f->ready != NVW_GPMCP_READY)) {
		fprintf(stderr, "nvwave: %s: expected a checkpoint that gpmcp_create() has completed\n",
			path);
		gpm_unmap(f, bytes);
		return NULL;
	}
	return nvw_gpmcp_of(f, bytes);
}

NVW_GPM_HOST void gpmcp_close(gpmcp *cp)
{
	if (cp) {
		gpm_unmap(cp->file, cp->bytes);
		cudaFree(cp->element);
		cudaFree(cp->used);
		cudaFree(cp);
	}
}

NVW_GPM_HOST bool nvw_gpmcp_has(const gpmcp *cp, long long group, const char *asks)
{
	if (group >= 0 && (unsigned long long)group < cp->file->groups) {
		return true;
	}
	fprintf(stderr, "nvwave: %s: there is no group %lld; the checkpoint has %llu\n", asks, group,
		cp->file->groups);
	return false;
}

NVW_GPM_HOST long long gpmcp_register(gpmcp *cp, void *address, size_t size, long long group)
{
	if (!nvw_gpmcp_has(cp, group, "gpmcp_register")) {
		return -1;
	}
	if (cp->elements == cp->room) {
		fprintf(stderr, "nvwave: gpmcp_register: all %lld elements are registered\n", cp->room);
		return -1;
	}
	if (cp->used[group] + nvw_gpmcp_round(size) > cp->file->room) {
		fprintf(stderr,
			"nvwave: gpmcp_register: group %lld has no room for %zu bytes besides %zu; it was created with %llu\n",
			group, size, cp->used[group], cp->file->room);
		return -1;
	}
	cp->element[cp->elements].address = address;
	cp->element[cp->elements].bytes = size;
	cp->element[cp->elements].at = cp->used[group];
	cp->element[cp->elements].group = group;
	cp->used[group] += nvw_gpmcp_round(size);
	return cp->elements++;
}

static inline __host__ __device__ __attribute__((unused)) char *nvw_gpmcp_copy(
	const gpmcp *cp, long long group, unsigned long long copy)
{
	return cp->data + (2 * (unsigned long long)group + (copy - 1)) * cp->file->room;
}

/* One block, as in GPM: each work-item copies words of 8 bytes, and persists. */
static __global__ __attribute__((unused)) void nvw_gpmcp_copy_kernel(
	char *to, const char *from, size_t n, int persists)
{
	for (size_t at = 8 * (size_t)threadIdx.x; at < n; at += 8 * (size_t)blockDim.x) {
		vol_memcpy(to + at, from + at, n - at < 8 ? n - at : 8);
	}
	if (persists) {
		gpm_persist();
	}
}

NVW_GPM_HOST long long gpmcp_checkpoint(gpmcp *cp, long long group)
{
	if (!nvw_gpmcp_has(cp, group, "gpmcp_checkpoint")) {
		return -1;
	}
	const unsigned long long to = cp->file->valid[group] == 1 ? 2 : 1;

	for (long long i = 0; i < cp->elements; i++) {
		const nvw_gpmcp_element *const e = &cp->element[i];

		if (e->group == group) {
			nvw_gpmcp_copy_kernel<<<1, NVW_GPMCP_BLOCK>>>(
				nvw_gpmcp_copy(cp, group, to) + e->at, (const char *)e->address, e->bytes, 1);
		}
	}
	if (cudaDeviceSynchronize()) {
		return -1;
	}
	cp->file->valid[group] = to;
	nvw_gpm_persist(&cp->file->valid[group], sizeof *cp->file->valid);
	return 0;
}

/* -1, without a message, if there is no checkpoint yet. */
NVW_GPM_HOST long long gpmcp_restore(gpmcp *cp, long long group)
{
	const unsigned long long from =
		nvw_gpmcp_has(cp, group, "gpmcp_restore") ? cp->file->valid[group] : 0;

	if (from != 1 && from != 2) {
		return -1;
	}
	for (long long i = 0; i < cp->elements; i++) {
		const nvw_gpmcp_element *const e = &cp->element[i];

		if (e->group == group) {
			nvw_gpmcp_copy_kernel<<<1, NVW_GPMCP_BLOCK>>>(
				(char *)e->address, nvw_gpmcp_copy(cp, group, from) + e->at, e->bytes, 0);
		}
	}
	return cudaDeviceSynchronize() ? -1 : 0;
}

/* ---- Device: a checkpoint in pieces. element is the number that gpmcp_register() gave. ----------------------- */

NVW_GPM_DEVICE long long gpmcp_checkpoint_value(
	gpmcp *cp, long long group, long long element, size_t offset, size_t size, void *from)
{
	const unsigned long long to = cp->file->valid[group] == 1 ? 2 : 1;

	vol_memcpy(nvw_gpmcp_copy(cp, group, to) + cp->element[element].at + offset, from, size);
	gpm_persist();
	return 0;
}

NVW_GPM_DEVICE long long gpmcp_checkpoint_start(
	gpmcp *cp, long long group, long long element, size_t offset, size_t size)
{
	return gpmcp_checkpoint_value(
		cp, group, element, offset, size, (char *)cp->element[element].address + offset);
}

/* Once all pieces are durable: by one work-item. */
NVW_GPM_DEVICE long long gpmcp_checkpoint_finish(gpmcp *cp, long long group)
{
	*(volatile unsigned long long *)&cp->file->valid[group] = cp->file->valid[group] == 1 ? 2 : 1;
	gpm_persist();
	return 0;
}

#endif
