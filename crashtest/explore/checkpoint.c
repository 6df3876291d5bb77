/* SPDX-License-Identifier: BSD-3-Clause */
/* Saving an exploration to a file. See checkpoint.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <nvw/input.h>
#include <xxhash.h>

#include "core/bounds.h"
#include "core/member.h"
#include "core/newfile.h"

#include "checkpoint.h"

static const char magic[8] = "NVWCKPT";

int ct_checkpoint_identity(int log_fd, const struct ct_exploration *e, const struct ct_plan *plan,
	unsigned workers, uint64_t *ret_identity)
{
	const uint64_t numbers[] = {e->rules.model, e->rules.unit_bytes, e->options.shard, e->options.shards,
		e->rules.trusts, e->options.nested, e->options.go_on, e->options.crash_again,
		e->options.robust, e->options.symmetric, e->options.stop_after, e->options.settle_after,
		plan->seed, plan->budget, plan->draws, plan->instants, workers, sizeof(struct ct_shared)};
	/* Another revision may judge otherwise. */
	const char *const version = member_string(json_object_get(e->head, "made_by"), "version");
	XXH64_state_t *const h = XXH64_createState();
	char buffer[1 << 16];
	ssize_t n;

	NVW_ALLOCATED(h, "no memory for a checkpoint");
	XXH64_reset(h, 0);
	XXH64_update(h, numbers, sizeof numbers);
	XXH64_update(h, NVW_OR(version, ""), version ? strlen(version) : 0);
	for (off_t at = 0; (n = pread(log_fd, buffer, sizeof buffer, at)) > 0; at += n) {
		XXH64_update(h, buffer, (size_t)n);
	}
	*ret_identity = XXH64_digest(h);
	XXH64_freeState(h);
	NVW_FAIL_ERRNO_IF(n < 0, "persist log");
	return 0;
}

static bool put(FILE *f, XXH64_state_t *h, const void *data, size_t bytes)
{
	XXH64_update(h, data, bytes);
	return fwrite(data, 1, bytes, f) == bytes;
}

static bool write_all(FILE *f, XXH64_state_t *h, uint64_t identity, const struct ct_plan *plan,
	const struct ct_worker *worker, unsigned workers)
{
	const uint64_t count = workers;
	bool good = put(f, h, magic, sizeof magic) && put(f, h, &identity, 8) && put(f, h, &count, 8) &&
		    put(f, h, plan->interval, plan->instants * sizeof *plan->interval);

	for (unsigned i = 0; i < workers && good; i++) {
		const uint64_t bytes = worker[i].shared_bytes;

		good = put(f, h, &bytes, 8) && put(f, h, worker[i].shared, bytes);
	}
	const uint64_t sum = XXH64_digest(h);

	return good && fwrite(&sum, 1, 8, f) == 8;
}

int ct_checkpoint_write(const char *path, uint64_t identity, const struct ct_plan *plan,
	const struct ct_worker *worker, unsigned workers)
{
	XXH64_state_t *const h = XXH64_createState();
	struct nvw_new_file f;
	int error = 0;

	NVW_INVARIANT(workers > 0);
	NVW_ALLOCATED(h, "no memory for a checkpoint");
	error = nvw_new_file_begin(path, false, &f);
	if (error == 0) {
		XXH64_reset(h, 0);
		if (!write_all(f.file, h, identity, plan, worker, workers)) {
			error = nvw_fail_errno("%s", path);
		}
		error = nvw_new_file_end(&f, error);
	}
	XXH64_freeState(h);
	return error;
}

static int wrong(const char *path, const char *expected)
{
	return nvw_fail(NVW_E_DAMAGED, "%s: expected %s; remove the file to start again", path, expected);
}

static bool get(FILE *f, XXH64_state_t *h, void *data, size_t bytes)
{
	if (fread(data, 1, bytes, f) != bytes) {
		return false;
	}
	XXH64_update(h, data, bytes);
	return true;
}

static int read_all(const char *path, FILE *f, XXH64_state_t *h, uint64_t identity,
	const struct ct_plan *plan, struct ct_worker *worker, unsigned workers)
{
	uint64_t found, count, bytes, sum;
	char start[sizeof magic];

	if (!get(f, h, start, sizeof start) || memcmp(start, magic, sizeof magic) != 0) {
		return wrong(path, "a checkpoint of an exploration (NVWCKPT)");
	}
	if (!get(f, h, &found, 8) || !get(f, h, &count, 8)) {
		return wrong(path, "a whole checkpoint");
	}
	NVW_FAIL_IF(found != identity || count != workers, NVW_E_INPUT,
		"%s: this is the checkpoint of another exploration (workload, options, seed, jobs "
		"or build)",
		path);
	if (!get(f, h, plan->interval, plan->instants * sizeof *plan->interval)) {
		return wrong(path, "a whole checkpoint");
	}
	NVW_EACH(one, worker, workers) {
		if (!get(f, h, &bytes, 8) || bytes != one->shared_bytes || !get(f, h, one->shared, bytes)) {
			return wrong(path, "a whole checkpoint");
		}
	}
	return fread(&sum, 1, 8, f) == 8 && sum == XXH64_digest(h) ?
		       1 :
		       wrong(path, "a checkpoint whose checksum is right");
}

int ct_checkpoint_read(const char *path, uint64_t identity, const struct ct_plan *plan,
	struct ct_worker *worker, unsigned workers)
{
	int fd, error = nvw_input_open(path, O_RDONLY, &fd);

	NVW_INVARIANT(workers > 0);
	if (error == -ENOENT) {
		return 0;
	}
	if (error) {
		return error;
	}
	FILE *const f = fdopen(fd, "rb");

	if (!f) {
		close(fd);
		return nvw_fail_errno("%s", path);
	}
	XXH64_state_t *const h = XXH64_createState();
	int r = NVW_E_MEMORY;

	if (h) {
		XXH64_reset(h, 0);
		r = read_all(path, f, h, identity, plan, worker, workers);
	}
	XXH64_freeState(h);
	fclose(f);
	return r;
}

/* ---- Slices -------------------------------------------------------------------------------------------- */

static char *slice_path(const char *folder, unsigned number)
{
	char *path;

	if (asprintf(&path, "%s/slice-%u", folder, number) < 0) {
		return NULL;
	}
	return path;
}

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for a slice of an exploration");
}

int ct_slice_write(const char *folder, unsigned number, uint64_t identity, const struct ct_plan *plan,
	const struct ct_worker *worker)
{
	char *const path = slice_path(folder, number);
	const int error = path ? ct_checkpoint_write(path, identity + number, plan, worker, 1) : no_memory();

	NVW_INVARIANT(number > 0);
	free(path);
	return error;
}

/* The other intervals are those of other slices. */
static int read_own(const char *path, uint64_t identity, const struct ct_plan *plan, struct ct_worker *worker)
{
	struct ct_plan its = *plan;
	const uint64_t begin = worker->first - 1, count = worker->last - begin;

	its.interval = malloc((plan->instants + 1) * sizeof *its.interval);
	NVW_ALLOCATED(its.interval, "no memory for a slice of an exploration");
	int error = ct_checkpoint_read(path, identity, &its, worker, 1);

	if (error == 1) {
		memcpy(&plan->interval[begin], &its.interval[begin], count * sizeof *its.interval);
	}
	free(its.interval);
	if (error == 1) {
		return 0;
	}
	if (error) {
		return error;
	}
	return nvw_fail(NVW_E_INPUT, "%s: there is no such slice of the exploration", path);
}

int ct_slice_read(const char *folder, unsigned number, uint64_t identity, const struct ct_plan *plan,
	struct ct_worker *worker)
{
	char *const path = slice_path(folder, number);
	const int error = path ? read_own(path, identity + number, plan, worker) : no_memory();

	NVW_INVARIANT(number > 0);
	free(path);
	return error;
}
