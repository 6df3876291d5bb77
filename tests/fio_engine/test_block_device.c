/* SPDX-License-Identifier: BSD-3-Clause */
/* The block device behind the fio engine, without fio; and the crash tester's judgement of its logs. */
#include "common/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <device.h>
#include <emu.h>

#include "core/print.h"
#include "crashtest/crash.h"
#include "crashtest/states/model.h"
#include "crashtest/requests/writes.h"

enum { BLOCK = 1024, BLOCKS = 16, DEPTH = 4 };

static char pool[96], log_path[96], image[104];
static const struct block_options plain = {
	.seed = 1, .group_size = 64, .scope = NVW_WORKGROUP, .depth = DEPTH, .bytes_max = BLOCK};

static int make(void **state)
{
	unlink(pool);
	assert_ok(block_device_create(pool, BLOCK * BLOCKS));
	return 0;
}

static struct block_device *open_with(const struct block_options *options)
{
	struct block_device *d;

	assert_ok(block_device_open(pool, options, &d));
	return d;
}

/* What block number i holds after round number round. */
static void fill(uint64_t *block, unsigned i, unsigned round)
{
	NVW_FOR(k, BLOCK / 8) {
		block[k] = UINT64_C(0x9e3779b97f4a7c15) * (1 + round * BLOCKS + i) + k;
	}
}

/* Writes count blocks from first on, in kernels of DEPTH. */
static void write_blocks(struct block_device *d, unsigned first, unsigned count, unsigned round, bool durable)
{
	static uint64_t data[DEPTH][BLOCK / 8];

	for (unsigned i = 0; i < count; i += DEPTH) {
		struct block_io ios[DEPTH];
		const unsigned n = count - i < DEPTH ? count - i : DEPTH;

		NVW_FOR(k, n) {
			fill(data[k], first + i + k, round);
			ios[k] = (struct block_io){
				data[k], (uint64_t)(first + i + k) * BLOCK, BLOCK, true, durable};
		}
		assert_ok(block_device_run(d, ios, n));
	}
}

static char lost[100]; /* where blocks do not hold it */

/* Do so many blocks hold what the round wrote? */
static bool hold(struct block_device *d, unsigned first, unsigned count, unsigned round)
{
	bool whole = true;

	for (unsigned i = first; i < first + count; i++) {
		uint64_t expected[BLOCK / 8], found[BLOCK / 8];
		const struct block_io io = {found, (uint64_t)i * BLOCK, BLOCK, false, false};

		fill(expected, i, round);
		assert_ok(block_device_run(d, &io, 1));
		const unsigned same = NVW_INDEX(k, BLOCK / 8, found[k] != expected[k]);

		if (same < BLOCK / 8) {
			NVW_PRINT(lost, "block %u, from byte %u on, is not what round %u wrote", i, 8 * same,
				round);
			whole = false;
		}
	}
	return whole;
}

static void assert_holds(struct block_device *d, unsigned first, unsigned count, unsigned round)
{
	if (!hold(d, first, count, round)) {
		fail_msg("%s", lost);
	}
}

/* ---- Reading and writing ---------------------------------------------------------------------- */

TEST(what_is_written_is_read_back_under_every_protocol, make)
{
	struct block_options o = plain;

	for (unsigned i = 0; (o.protocol = emu_protocol_name(i)); i++) {
		struct block_device *const d = open_with(&o);

		write_blocks(d, 0, BLOCKS, 2 * i, false);
		write_blocks(d, 3, 6, 2 * i + 1, i % 2);
		assert_ok(block_device_sync(d));
		assert_holds(d, 0, 3, 2 * i);
		assert_holds(d, 3, 6, 2 * i + 1);
		assert_ok(block_device_close(d));
	}
}

TEST(an_orderly_close_keeps_what_was_never_synced, make)
{
	struct block_device *d = open_with(&plain);
	uint64_t bytes;

	write_blocks(d, 0, BLOCKS, 5, false);
	assert_ok(block_device_close(d));
	assert_ok(block_device_size(pool, &bytes));
	assert_int_equal(bytes, BLOCK * BLOCKS);
	d = open_with(&plain);
	assert_holds(d, 0, BLOCKS, 5);
	assert_ok(block_device_close(d));
}

TEST(what_is_not_on_the_device_is_refused_and_the_device_goes_on, make)
{
	static const struct {
		uint64_t off, bytes;
		const char *message;
	} bad[] = {{BLOCK * BLOCKS - 8, 16, "is not on the device"},
		{UINT64_MAX - 7, 16, "is not on the device"}, {0, BLOCK + 8, "longer than 1024"},
		{4, 8, "multiples of 8"}, {0, 12, "multiples of 8"}};
	struct block_device *const d = open_with(&plain);
	char buffer[2 * BLOCK];

	for_each(option, bad) {
		const struct block_io io = {buffer, option->off, option->bytes, false, false};

		assert_int_equal(block_device_run(d, &io, 1), NVW_E_USAGE);
		assert_error_has(option->message);
	}
	write_blocks(d, 0, 1, 7, true);
	assert_holds(d, 0, 1, 7);
	assert_ok(block_device_close(d));
}

TEST(a_process_has_one_device_at_a_time, make)
{
	struct block_device *const first = open_with(&plain), *second;

	assert_int_equal(block_device_open(pool, &plain, &second), NVW_E_USAGE);
	assert_error_has("one machine at a time");
	assert_ok(block_device_close(first));
	assert_ok(block_device_close(open_with(&plain)));
}

TEST(a_pool_of_something_else_is_refused, make)
{
	const struct nvw_pool_params params = {.layout = "kv"};
	struct nvw_pool *other;
	struct block_device *d;
	uint64_t bytes;

	unlink(pool);
	assert_ok(nvw_pool_create(pool, &params, &other));
	nvw_pool_close(other);
	assert_int_equal(block_device_size(pool, &bytes), NVW_E_INPUT);
	assert_error_has("expected a pool of layout \"block-device\", found \"kv\"");
	assert_int_equal(block_device_open(pool, &plain, &d), NVW_E_INPUT);
}

/* ---- Time ------------------------------------------------------------------------------------- */

/* Simulated time of synced writes of the whole device. */
static uint64_t time_with(const char *set)
{
	struct block_options o = plain;
	struct block_figures writes, syncs;

	o.set = set;
	make(NULL);
	struct block_device *const d = open_with(&o);

	write_blocks(d, 0, BLOCKS, 1, true);
	assert_ok(block_device_sync(d));
	block_device_figures(d, BLOCK_WRITE, &writes);
	block_device_figures(d, BLOCK_SYNC, &syncs);
	assert_int_equal(writes.count, BLOCKS);
	assert_int_equal(writes.bytes, BLOCKS * BLOCK);
	assert_int_equal(syncs.count, 1);
	assert_true(writes.p50_ps > 0 && writes.p50_ps <= writes.p99_ps && writes.p99_ps <= writes.max_ps);
	assert_int_equal(writes.busy_ps + syncs.busy_ps, block_device_time_ps(d));
	assert_int_equal(block_device_statistics(d)->nvram_writes, BLOCKS * BLOCK / 64);
	const uint64_t ps = block_device_time_ps(d);

	assert_ok(block_device_close(d));
	return ps;
}

TEST(simulated_time_grows_with_the_latency_of_nvram_writes, make)
{
	const uint64_t quick = time_with("nvram.write=100ns"),
		       slow = time_with("nvram.write=1100ns, nvram.read=75ns");

	/* Each kernel waits for its writes: at least once longer. */
	assert_true(slow >= quick + BLOCKS / DEPTH * UINT64_C(1000000));
	assert_int_equal(time_with("nvram.write=100ns"), quick);
}

/* ---- Power cuts ------------------------------------------------------------------------------- */

/* Writes the first half and syncs. */
static struct block_device *first_half(enum block_fault fault, const char *when)
{
	struct block_options o = plain;

	o.fault = fault;
	o.power_cut = when;
	o.log = log_path;
	struct block_device *const d = open_with(&o);

	write_blocks(d, 0, BLOCKS / 2, 1, false);
	(void)!block_device_sync(d);
	return d;
}

/*
 * A child writes the first half, syncs, and goes on with the other half; it dies as soon as the sync has
 * returned.
 */
static void die_after_sync(enum block_fault fault)
{
	struct block_device *d = first_half(fault, NULL);
	char when[32];

	snprintf(when, sizeof when, "%.3fns", (double)block_device_time_ps(d) / 1000 + 1);
	assert_ok(block_device_close(d));
	make(NULL);

	const pid_t child = fork();
	int status;

	if (child == 0) {
		d = first_half(fault, when);
		for (unsigned round = 2; round < 1000; round++) {
			write_blocks(d, BLOCKS / 2, BLOCKS / 2, round, false);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static bool first_half_is_there(void)
{
	struct block_device *const d = open_with(&plain);
	const bool whole = hold(d, 0, BLOCKS / 2, 1);

	assert_ok(block_device_close(d));
	return whole;
}

TEST(a_power_cut_keeps_what_was_synced_and_loses_it_without_the_barrier, make)
{
	die_after_sync(BLOCK_FAULT_NONE);
	assert_true(first_half_is_there());
	make(NULL);
	die_after_sync(BLOCK_FAULT_NO_BARRIER);
	assert_false(first_half_is_there());
}

/* ---- Judged by the log ------------------------------------------------------------------------ */

static struct ct_result result; /* large */

static void explore(enum ct_mode mode, enum ct_model model)
{
	const struct ct_foreign foreign = {.store_log = log_path, .image = image};
	const struct ct_options o = {.mode = mode, .model = model, .states = 300, .seed = 1};

	ct_result_free(&result);
	result = (struct ct_result){0};
	assert_ok(ct_run_foreign(&foreign, &o, &result));
}

/* Overwrites under way, acknowledged by the writes themselves or by syncs. */
static void leave_log(enum block_fault fault, enum nvw_group scope, bool durable)
{
	struct block_options o = plain;

	make(NULL);
	o.fault = fault;
	o.scope = scope;
	o.group_size = 128; /* two wavefronts: what a barrier's scope can be too narrow for */
	o.log = log_path;
	o.description = "test";
	struct block_device *const d = open_with(&o);

	NVW_FOR(round, 4) {
		write_blocks(d, round, BLOCKS / 2, round, durable);
		assert_holds(d, round, 2, round);
		if (!durable && round % 2) {
			assert_ok(block_device_sync(d));
		}
	}
	assert_ok(block_device_close(d));
}

TEST(acknowledged_writes_are_there_after_every_crash, make)
{
	NVW_FOR(i, 4) {
		leave_log(BLOCK_FAULT_NONE, i % 2 ? NVW_KERNEL : NVW_WORKGROUP, i / 2);
		explore(CT_OBSERVED, CT_MODEL_OBSERVED);
		assert_true(result.consistent && result.states_distinct > 20);
		for (enum ct_model m = 0; m < CT_MODEL_COUNT; m++) {
			if (ct_model_info(m)->of_runs) {
				explore(CT_PERMITTED, m);
				assert_true(result.consistent && result.states_distinct > 1);
			}
		}
	}
}

static void assert_found(const char *cause)
{
	assert_false(result.consistent);
	assert_true(result.finding_count > 0);
	assert_has(result.finding[0].text, "was acknowledged, but a word of it is older");
	assert_has(result.finding[0].cause.text, cause);
}

TEST(a_sync_without_a_barrier_is_found, make)
{
	leave_log(BLOCK_FAULT_NO_BARRIER, NVW_WORKGROUP, false);
	explore(CT_OBSERVED, CT_MODEL_OBSERVED);
	assert_found("nothing waits for the store");
	explore(CT_PERMITTED, CT_MODEL_EPOCH);
	assert_found("nothing waits for the store");
}

TEST(a_durable_write_without_a_barrier_or_with_one_too_narrow_is_found, make)
{
	leave_log(BLOCK_FAULT_NO_BARRIER, NVW_WORKGROUP, true);
	explore(CT_OBSERVED, CT_MODEL_OBSERVED);
	assert_found("");
	leave_log(BLOCK_FAULT_NARROW_BARRIER, NVW_WORKGROUP, true);
	explore(CT_PERMITTED, CT_MODEL_EPOCH);
	assert_found("");
}

TEST(the_log_that_a_power_cut_left_is_explored_too, make)
{
	die_after_sync(BLOCK_FAULT_NONE);
	explore(CT_OBSERVED, CT_MODEL_OBSERVED);
	assert_true(result.consistent && result.states_distinct > 20);
	make(NULL);
	die_after_sync(BLOCK_FAULT_NO_BARRIER);
	explore(CT_OBSERVED, CT_MODEL_OBSERVED);
	assert_found("");
}

TEST(what_cannot_be_explored_is_refused, make)
{
	const struct ct_foreign foreign = {.store_log = log_path, .image = image};
	struct ct_options o = {.mode = CT_KILL, .seed = 1};

	leave_log(BLOCK_FAULT_NONE, NVW_WORKGROUP, false);
	assert_int_equal(ct_run_foreign(&foreign, &o, &result), NVW_E_USAGE);
	assert_error_has("not by kills");
	o.mode = CT_PERMITTED;
	o.model = CT_MODEL_X86;
	assert_int_equal(ct_run_foreign(&foreign, &o, &result), NVW_E_USAGE);
	assert_error_has("not x86");
}

TEST(a_file_that_is_no_log_has_no_writes)
{
	struct ct_writes *writes;
	const int fd = open("/dev/null", O_RDONLY);

	assert_true(fd >= 0);
	assert_true(ct_writes_create(fd, NULL, 0, &writes) < 0);
	close(fd);
}

static int begin(void **state)
{
	const char *const tmp = getenv("TMPDIR");

	if (shell_begin_in(tmp && strlen(tmp) < 32 ? tmp : "/tmp", (const char *const[]){NULL})) {
		return -1;
	}
	snprintf(pool, sizeof pool, "%s/pool", dir);
	snprintf(log_path, sizeof log_path, "%s/log", dir);
	snprintf(image, sizeof image, "%s.image", log_path);
	return 0;
}

static int end(void **state)
{
	ct_result_free(&result);
	return shell_end(state);
}

GROUP(begin, end);
