/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Speed of the persist log (records a second, written and read) and of the explorer itself (crash states a
 * second on a 1 MiB pool, with a check that reads little: what remains is the tester's own cost). One host
 * thread.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <crashtest/crash.h>
#include <crashtest/states/image.h>

#include "part.h"

enum { STORES = 4000000, POOL_BYTES = 1 << 20, OPS = 8000, FLAGS = POOL_BYTES / 2, STATES = 400000 };

static const struct nvw_log_info info = {.workload = "bench", .pool_bytes = POOL_BYTES, .atomicity = 8};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(void)
{
	fprintf(stderr, "bench_crash: %s\n", nvw_error_message());
	return 1;
}

/* Stores as wavefronts make them: 64 lanes at a time, values that do not compress. */
static int write_stores(int fd, unsigned stores)
{
	struct nvw_log_writer *w;
	struct nvw_log_record r = {
		.kind = NVW_LOG_SITE, .site = {.id = 1, .line = 1, .file = "b.c", .function = "b"}};
	int error = nvw_log_create_fd(dup(fd), "log", &info, &w);

	if (error || nvw_log_append(w, &r)) {
		return NVW_E_SYSTEM;
	}
	r.kind = NVW_LOG_STORE;
	for (uint64_t i = 0; i < stores && !error; i++) {
		r.time_ps = i / 64 * 1000;
		r.store.site = 1;
		r.store.kernel = 1;
		r.store.work_item = i;
		r.store.group = i / 256;
		r.store.epoch_wi = r.store.epoch_wg = r.store.epoch_kr = 0;
		r.store.bytes = 8;
		r.store.off = i * 8 % POOL_BYTES;
		r.store.value = i * 0x9e3779b97f4a7c15u;
		error = nvw_log_append(w, &r);
	}
	return nvw_log_close(w, r.time_ps);
}

static int read_stores(int fd)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = nvw_log_open_fd(dup(fd), "log", &reader);

	while (!error && (error = nvw_log_next(reader, &r)) == 1) {
		error = 0;
	}
	nvw_log_reader_close(reader);
	return error;
}

static int bench_log(unsigned stores)
{
	const int fd = memfd_create("log", MFD_CLOEXEC);
	const double t0 = now();

	if (write_stores(fd, stores)) {
		return fail();
	}
	const double t1 = now();

	if (read_stores(fd)) {
		return fail();
	}
	printf("persist log: written %.1f M records/s, read %.1f M records/s, %.1f bytes a store\n",
		1e-6 * stores / (t1 - t0), 1e-6 * stores / (now() - t1),
		(double)lseek(fd, 0, SEEK_END) / stores);
	close(fd);
	return 0;
}

/* Four entries in flight at a time, a value and a flag each. */
static int write_four(struct nvw_log_writer *w, uint64_t op)
{
	static const uint64_t line[8] = {1};
	struct nvw_log_record r;

	NVW_FOR(i, 8u) {
		r = (struct nvw_log_record){.kind = NVW_LOG_ISSUE, .time_ps = op * 1000};
		r.issue.write = 2 * op + i + 1;
		r.issue.off = (i < 4 ? 0 : FLAGS) + 64 * (op + i % 4);
		r.issue.mask = 0xff;
		r.issue.data = (const uint8_t *)line;
		NVW_TRY(nvw_log_append(w, &r));
	}
	NVW_FOR(i, 8u) {
		r = (struct nvw_log_record){.kind = NVW_LOG_DONE, .time_ps = op * 1000};
		r.done.write = 2 * op + i + 1;
		NVW_TRY(nvw_log_append(w, &r));
	}
	r = (struct nvw_log_record){
		.kind = NVW_LOG_ACK, .time_ps = op * 1000, .ack = {.first = op, .count = 4}};
	return nvw_log_append(w, &r);
}

static int write_run(int fd)
{
	struct nvw_log_writer *w;

	NVW_TRY(nvw_log_create_fd(dup(fd), "log", &info, &w));
	for (uint64_t op = 0; op < OPS; op += 4) {
		NVW_TRY(write_four(w, op));
	}
	return nvw_log_close(w, (OPS - 4) * 1000);
}

static int judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const uint64_t zero = 0;

	NVW_FOR(op, 64u) { /* a recovery that writes a little */
		if (image->ro[64 * op] && !image->ro[FLAGS + 64 * op]) {
			NVW_TRY(ct_image_write(image, 64 * op, &zero, 8));
		}
	}
	return 0;
}

static int bench_states(uint64_t states)
{
	static const uint8_t zeroes[POOL_BYTES];
	const int fd = memfd_create("log", MFD_CLOEXEC);
	const struct ct_exploration e = {
		.log_fd = fd,
		.initial = zeroes,
		.bytes = POOL_BYTES,
		.judge = judge,
		.options = {.states = states, .seed = 1, .jobs = 1, .timeout_ms = 10000},
	};
	static struct ct_result r;

	if (write_run(fd) || ct_explore(&e, NULL, &r)) {
		return fail();
	}
	printf("explorer: %.0f distinct states/s (%llu in %.2f s, "
	       "without recovery and check of a structure)\n",
		(double)r.states_distinct / r.explore_seconds, (unsigned long long)r.states_distinct,
		r.explore_seconds);
	close(fd);
	return 0;
}

int main(void)
{
	return bench_log(part_of(STORES)) || bench_states(part_of(STATES));
}
