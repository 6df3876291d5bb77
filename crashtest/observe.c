/* SPDX-License-Identifier: BSD-3-Clause */
/* Observed and permitted mode of a workload: one logged run, then the exploration of its log. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <emu.h>

#include "finding.h"
#include "modes.h"
#include "oracle.h"
#include "process.h"
#include "run.h"

enum { ACK_RANGES_MAX = 1 << 26 }; /* room is used as it is needed */

int ct_log_file(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd = open(tmp && *tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) { /* a file system without nameless files */
		fd = memfd_create("persist log", MFD_CLOEXEC);
	}
	if (fd < 0) {
		nvw_fail_errno("no file for the persist log");
	}
	return fd;
}

/* The log must account for every byte of the pool, or what is explored is not what would have happened. */
static int compare_final(const struct ct_bench *b, const uint8_t *replayed)
{
	struct nvw_pool *pool;
	char path[512];

	ct_bench_pool_path(b, 0, path, sizeof path);
	const int error = nvw_pool_open(path, NVW_POOL_READ, &pool);

	if (error) {
		return error;
	}
	const uint8_t *real = nvw_pool_base(pool);
	uint64_t at = 0;

	while (at < b->bytes && real[at] == replayed[at]) {
		at++;
	}
	nvw_pool_close(pool);
	return at == b->bytes ? 0 :
				nvw_fail(NVW_E_MODEL,
					"the persist log does not account for the pool's final byte at offset %llu",
					(unsigned long long)at);
}

static int explore(const struct ct_bench *b, int log_fd, uint64_t first_record, const struct ct_options *options,
	const json_t *head, struct ct_result *ret_result)
{
	struct ct_oracle oracle = {.workload = b->subject->workload, .plan = b->plan};
	const struct ct_exploration e = {
		.rules = {.model = options->mode == CT_PERMITTED ? options->model : CT_MODEL_OBSERVED,
			.unit_bytes = options->atomicity},
		.log_fd = log_fd,
		.initial = b->initial,
		.bytes = b->bytes,
		.first_record = first_record,
		.judge = ct_oracle_judge,
		.context = &oracle,
		.options = *options,
		.head = head,
	};
	uint8_t *final = malloc(b->bytes);

	if (final == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a pool of %llu bytes", (unsigned long long)b->bytes);
	}
	int error = ct_explore(&e, final, ret_result);

	if (!error && options->mode == CT_OBSERVED) {
		error = compare_final(b, final);
	}
	free(final);
	return error;
}

static int log_and_explore(const struct ct_bench *b, const struct ct_options *options, struct ct_result *ret_result)
{
	struct ct_run_shared *shared = ct_run_shared_create(ACK_RANGES_MAX);
	const struct ct_cut never = {.wanted = false};
	const struct ct_progress emulating = {.what = "emulating"};
	const int log_fd = ct_log_file();
	int error = shared == NULL ? NVW_E_MEMORY : log_fd < 0 ? NVW_E_SYSTEM : 0;

	if (options->progress != NULL) {
		options->progress(options->context, &emulating);
	}
	if (!error) {
		error = ct_run_whole(b, 0, log_fd, &never, shared);
	}
	if (!error) {
		json_t *const head = ct_finding_subject(b->subject, options, b->subject->command);

		error = explore(b, log_fd, shared->first_record, options, head, ret_result);
		json_decref(head);
		ret_result->sim_time_ps = shared->end_ps - shared->begin_ps;
	}
	if (log_fd >= 0) {
		close(log_fd);
	}
	ct_run_shared_destroy(shared);
	return error;
}

int ct_run_observed(const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result)
{
	const double began = ct_wall_seconds();
	struct ct_bench bench;
	int error = ct_bench_create(subject, &bench);

	if (error) {
		return error;
	}
	error = log_and_explore(&bench, options, ret_result);
	ct_bench_destroy(&bench);
	ret_result->host_seconds = ct_wall_seconds() - began;
	return error;
}

int ct_run(const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result)
{
	struct ct_options o = *options;

	if (o.mode == CT_PERMITTED && subject->config->model == EMU_MODEL_buffered) {
		return nvw_fail(NVW_E_USAGE,
			"what a model permits is explored from a run whose barriers stall: without persist.model = buffered-epoch");
	}
	if (o.save != NULL && mkdir(o.save, 0777) != 0 && errno != EEXIST) {
		return nvw_fail_errno("%s", o.save);
	}
	o.model = o.model == CT_MODEL_OBSERVED ? CT_MODEL_EPOCH : o.model;
	o.states = o.states ? o.states : o.mode == CT_KILL ? 100 : 20000;
	o.jobs = o.jobs ? o.jobs : 1;
	o.timeout_ms = o.timeout_ms ? o.timeout_ms : 10000;
	if (o.jobs > 64 || o.states > (uint64_t)1 << 30) {
		return nvw_fail(NVW_E_USAGE, "at most 64 jobs and 2^30 states");
	}
	return o.mode == CT_KILL ? ct_run_kill(subject, &o, ret_result) : ct_run_observed(subject, &o, ret_result);
}
