/* SPDX-License-Identifier: BSD-3-Clause */
/* The persist log: what goes in comes out, and a file that is not what was written is refused. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/test.h"

#include <xxhash.h>

#include "common/skip.h"

#include <nvw/persist_log.h>
#include <nvw/random.h>

#include "log/format.h"

static const struct nvw_log_info INFO = {
	.workload = "kv",
	.options = "--count=3",
	.machine = "gope18",
	.protocol = "vi",
	.model = "epoch",
	.domain = "device",
	.seed = 7,
	.pool_bytes = 1 << 20,
	.atomicity = 8,
};

static uint8_t line_data[NVW_LOG_LINE_BYTES];
static uint8_t host_data[4096];

static int memory_file(void)
{
	const int fd = memfd_create("log", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct nvw_log_record random_store(struct nvw_random *r, uint64_t time_ps)
{
	const uint32_t bytes = 1u << nvw_random_below(r, 4);
	const uint64_t value = nvw_random_u64(r);

	return (struct nvw_log_record){
		.kind = NVW_LOG_STORE,
		.time_ps = time_ps,
		.store = {.site = 1 + (uint32_t)nvw_random_below(r, 2),
			.kernel = 1,
			.work_item = nvw_random_below(r, 1000),
			.group = nvw_random_below(r, 9),
			.epoch_wi = (uint32_t)nvw_random_below(r, 3),
			.epoch_wg = 1,
			.bytes = bytes,
			.off = nvw_random_below(r, INFO.pool_bytes / 8) * 8 +
			       nvw_random_below(r, 8 / bytes) * bytes,
			.value = bytes == 8 ? value : value & (((uint64_t)1 << 8 * bytes) - 1)},
	};
}

/* A begin, or an acknowledgement by a thread of the host: of logs with operations alone. */
static struct nvw_log_record operation_number(uint64_t i)
{
	struct nvw_log_record record = {.time_ps = i * 1000};

	if (i == 0) {
		record.kind = NVW_LOG_SITE;
		record.site.id = 1;
		record.site.file = record.site.function = "tree.c";
	} else if (i % 2) {
		record.kind = NVW_LOG_BEGIN;
		record.begin.site = i % 3 == 0;
		record.begin.thread = i;
		record.begin.number = i * i;
		record.begin.name = i % 5 ? "delete 42" : "";
	} else {
		record.kind = NVW_LOG_ACK;
		record.ack.first = i;
		record.ack.count = 1;
		record.ack.site = i % 3 == 0;
		record.ack.work_item = i;
	}
	return record;
}

/* Record number i of a log that has every kind of record and every form of it. */
static struct nvw_log_record record_number(uint64_t i)
{
	struct nvw_random r = {.state = i};
	const uint64_t time_ps = i / 3 * 1000;
	struct nvw_log_record record = {.time_ps = time_ps};

	if (i < 2) {
		record.kind = NVW_LOG_SITE;
		record.site.id = (uint32_t)i + 1;
		record.site.line = 100 + (uint32_t)i;
		record.site.file = i ? "kv.c" : "";
		record.site.function = "put";
		return record;
	}
	switch (i % 12) {
	case 2:
		record.kind = NVW_LOG_LAUNCH;
		record.launch.kernel = 1;
		record.launch.group_size = 256;
		record.launch.work_items = 1 << 20;
		record.launch.name = "put";
		return record;
	case 3:
		record.kind = NVW_LOG_FINISH;
		record.finish.kernel = 1;
		return record;
	case 4:
	case 5:
		record.kind = NVW_LOG_ISSUE;
		record.issue.write = i / 12 * 2 + i % 2;
		record.issue.off = nvw_random_below(&r, INFO.pool_bytes / 64) * 64;
		record.issue.mask = i % 24 < 12 ? 0xff00ff00000000ffu : nvw_random_u64(&r);
		NVW_FOR(k, 64) {
			line_data[k] = record.issue.mask >> k & 1 ? (uint8_t)(i + k) : 0;
		}
		record.issue.data = line_data;
		return record;
	case 6:
		record.kind = NVW_LOG_DONE;
		record.done.write = i / 12;
		return record;
	case 7:
	case 8:
		record.kind = i % 12 == 7 ? NVW_LOG_BARRIER : NVW_LOG_PERSISTED;
		record.barrier.site = 2;
		record.barrier.kernel = 1;
		record.barrier.scope = (enum nvw_group)(i / 12 % 3);
		record.barrier.work_item = nvw_random_below(&r, 1000);
		record.barrier.group = 5;
		record.barrier.work_items = 64;
		record.barrier.epoch = (uint32_t)i;
		record.barrier.lanes = record.barrier.scope == NVW_WORKITEM ? nvw_random_u64(&r) : 0;
		return record;
	case 9:
		record.kind = NVW_LOG_ACK;
		record.ack.first = nvw_random_below(&r, 1000);
		record.ack.count = 1 + i % 5;
		record.ack.kernel = i / 12 % 2;
		if (record.ack.kernel != 0) {
			record.ack.site = i / 24 % 2;
			record.ack.work_item = nvw_random_below(&r, 1000);
			record.ack.group = nvw_random_below(&r, 20);
			record.ack.epoch_wi = 7;
			record.ack.epoch_wg = 5;
			record.ack.epoch_kr = 3;
		}
		return record;
	case 10:
		if (i / 12 % 7 == 0) {
			record.kind = NVW_LOG_DRAINED;
			return record;
		}
		if (i / 12 % 7 == 1) {
			record.kind = NVW_LOG_FLUSH;
			record.flush.site = 2;
			record.flush.thread = i;
			record.flush.off = nvw_random_below(&r, 1000);
			record.flush.bytes = 1 + nvw_random_below(&r, 4096);
			return record;
		}
		if (i / 12 % 7 == 2) {
			record.kind = NVW_LOG_FENCE;
			record.fence.site = 1;
			record.fence.thread = i;
			return record;
		}
		if (i / 12 % 7 == 3) {
			record.kind = NVW_LOG_THREADS;
			record.threads.count = i;
			return record;
		}
		if (i / 12 % 7 == 4) {
			record.kind = NVW_LOG_RANGE;
			record.range.what = (enum nvw_log_range)(i / 84 % NVW_RANGE_KINDS);
			record.range.thread = i;
			record.range.off = nvw_random_below(&r, 1000);
			record.range.bytes = nvw_random_below(&r, 4096);
			return record;
		}
		record.kind = NVW_LOG_HOST;
		record.host.off = nvw_random_below(&r, 1000);
		record.host.bytes = 1 + (uint32_t)nvw_random_below(&r, 64);
		memset(host_data, (int)i, record.host.bytes);
		record.host.data = host_data;
		return record;
	default:
		return random_store(&r, time_ps);
	}
}

/* What a record of a kind says; PERSISTED says what BARRIER does. */
struct field {
	enum nvw_log_kind kind;
	const char *name;
	size_t offset, bytes;
};
#define FIELD(KIND, member)                                                       \
	{                                                                         \
		NVW_LOG_##KIND, #member, offsetof(struct nvw_log_record, member), \
			sizeof(((struct nvw_log_record *)0)->member)              \
	}
static const struct field numbers[] = {
	FIELD(SITE, site.id),
	FIELD(SITE, site.line),
	FIELD(LAUNCH, launch.kernel),
	FIELD(LAUNCH, launch.group_size),
	FIELD(LAUNCH, launch.work_items),
	FIELD(FINISH, finish.kernel),
	FIELD(STORE, store.site),
	FIELD(STORE, store.kernel),
	FIELD(STORE, store.work_item),
	FIELD(STORE, store.group),
	FIELD(STORE, store.epoch_wi),
	FIELD(STORE, store.epoch_wg),
	FIELD(STORE, store.epoch_kr),
	FIELD(STORE, store.bytes),
	FIELD(STORE, store.off),
	FIELD(STORE, store.value),
	FIELD(ISSUE, issue.write),
	FIELD(ISSUE, issue.off),
	FIELD(ISSUE, issue.mask),
	FIELD(DONE, done.write),
	FIELD(BARRIER, barrier.site),
	FIELD(BARRIER, barrier.kernel),
	FIELD(BARRIER, barrier.scope),
	FIELD(BARRIER, barrier.work_item),
	FIELD(BARRIER, barrier.group),
	FIELD(BARRIER, barrier.work_items),
	FIELD(BARRIER, barrier.epoch),
	FIELD(BARRIER, barrier.lanes),
	FIELD(ACK, ack.first),
	FIELD(ACK, ack.count),
	FIELD(ACK, ack.kernel),
	FIELD(ACK, ack.site),
	FIELD(ACK, ack.work_item),
	FIELD(ACK, ack.group),
	FIELD(ACK, ack.epoch_wi),
	FIELD(ACK, ack.epoch_wg),
	FIELD(ACK, ack.epoch_kr),
	FIELD(HOST, host.off),
	FIELD(HOST, host.bytes),
	FIELD(FLUSH, flush.site),
	FIELD(FLUSH, flush.thread),
	FIELD(FLUSH, flush.off),
	FIELD(FLUSH, flush.bytes),
	FIELD(FENCE, fence.site),
	FIELD(FENCE, fence.thread),
	FIELD(THREADS, threads.count),
	FIELD(RANGE, range.what),
	FIELD(RANGE, range.thread),
	FIELD(RANGE, range.off),
	FIELD(RANGE, range.bytes),
	FIELD(BEGIN, begin.site),
	FIELD(BEGIN, begin.thread),
	FIELD(BEGIN, begin.number),
};
static const struct field texts[] = {
	FIELD(SITE, site.file),
	FIELD(SITE, site.function),
	FIELD(LAUNCH, launch.name),
	FIELD(BEGIN, begin.name),
};

/* Asserts that two records say the same. */
static void assert_same(const struct nvw_log_record *a, const struct nvw_log_record *b)
{
	const enum nvw_log_kind kind = a->kind == NVW_LOG_PERSISTED ? NVW_LOG_BARRIER : a->kind;

	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->time_ps, b->time_ps);
	for_each(field, numbers) {
		const size_t at = field->offset;

		if (field->kind == kind && memcmp((const char *)a + at, (const char *)b + at, field->bytes)) {
			fail_msg("%s is another", field->name);
		}
	}
	for_each(field, texts) {
		const size_t at = field->offset;

		if (field->kind == kind) {
			assert_string_equal(*(char *const *)((const char *)a + at),
				*(char *const *)((const char *)b + at));
		}
	}
	if (kind == NVW_LOG_ISSUE) {
		assert_memory_equal(a->issue.data, b->issue.data, NVW_LOG_LINE_BYTES);
	} else if (kind == NVW_LOG_HOST) {
		assert_memory_equal(a->host.data, b->host.data, a->host.bytes);
	}
}

typedef struct nvw_log_record record_of(uint64_t i);

static struct nvw_log_writer *writer_of(
	int fd, const struct nvw_log_info *info, record_of *record, uint64_t n)
{
	struct nvw_log_writer *w;

	assert_ok(nvw_log_create_fd(dup(fd), "test log", info, &w));
	NVW_FOR(i, n) {
		const struct nvw_log_record r = record(i);

		assert_ok(nvw_log_append(w, &r));
	}
	assert_int_equal(nvw_log_records(w), n);
	return w;
}

/* A closed log of n records in a memory file; the caller closes the descriptor. */
static int log_of(const struct nvw_log_info *info, record_of *record, uint64_t n)
{
	const int fd = memory_file();

	assert_ok(nvw_log_close(writer_of(fd, info, record, n), n * 1000));
	return fd;
}

static int written_log(uint64_t n)
{
	struct nvw_log_info info = INFO;

	info.ranges = true;
	return log_of(&info, record_number, n);
}

static struct nvw_log_reader *reader_of(int fd)
{
	struct nvw_log_reader *r;

	assert_ok(nvw_log_open_fd(fd, "test log", &r));
	return r;
}

static void assert_records(struct nvw_log_reader *r, record_of *record, uint64_t n)
{
	struct nvw_log_record got;

	NVW_FOR(i, n) {
		const struct nvw_log_record expected = record(i);

		assert_int_equal(nvw_log_next(r, &got), 1);
		assert_same(&expected, &got);
	}
}

static void assert_reads_as_written(struct nvw_log_reader *r, uint64_t n)
{
	struct nvw_log_record got;

	assert_records(r, record_number, n);
	assert_int_equal(nvw_log_next(r, &got), 1);
	assert_int_equal(got.kind, NVW_LOG_END);
	assert_int_equal(got.time_ps, n * 1000);
	assert_int_equal(nvw_log_next(r, &got), 0);
	assert_int_equal(nvw_log_next(r, &got), 0);
}

TEST(records_come_back_as_they_were_written_over_many_blocks)
{
	const uint64_t n = 200000;
	struct nvw_log_reader *const r = reader_of(written_log(n));

	assert_reads_as_written(r, n);
	assert_ok(nvw_log_rewind(r));
	assert_reads_as_written(r, n);
	nvw_log_reader_close(r);
}

static int operations_log(bool operations, uint64_t n)
{
	struct nvw_log_info info = INFO;

	info.operations = operations;
	return log_of(&info, operation_number, n);
}

static uint8_t version_of(int fd)
{
	uint8_t head[16];

	assert_int_equal(pread(fd, head, sizeof head, 0), sizeof head);
	return head[8];
}

TEST(operations_of_a_program_come_back_with_thread_place_and_name)
{
	const uint64_t n = 1000;
	struct nvw_log_reader *const r = reader_of(operations_log(true, n));

	assert_true(nvw_log_info(r)->operations);
	assert_records(r, operation_number, n);
	nvw_log_reader_close(r);
}

/*
 * Earlier readers refuse a log of operations by its version; in a log without any, such a record is damage.
 */
TEST(only_a_log_of_operations_has_the_later_version)
{
	struct nvw_log_record got;
	int fd = operations_log(true, 1);

	assert_int_equal(version_of(fd), NVW_LOG_VERSION + NVW_LOG_WITH_OPERATIONS);
	close(fd);
	fd = operations_log(false, 2);
	assert_int_equal(version_of(fd), NVW_LOG_VERSION);

	struct nvw_log_reader *const r = reader_of(fd);

	assert_int_equal(nvw_log_next(r, &got), 1);
	assert_int_equal(nvw_log_next(r, &got), NVW_E_DAMAGED);
	nvw_log_reader_close(r);
}

/* Three sites: each is called at the one before. */
static struct nvw_log_record site_number(uint64_t i)
{
	const uint32_t id = (uint32_t)i + 1;

	return (struct nvw_log_record){.kind = NVW_LOG_SITE,
		.site = {.id = id, .line = 10 * id, .file = "f.c", .function = "f", .caller = id - 1}};
}

static struct nvw_log_record site_that_calls_itself(uint64_t i)
{
	struct nvw_log_record r = site_number(i);

	r.site.caller += i == 2;
	return r;
}

static int callers_log(bool callers, record_of *site)
{
	struct nvw_log_info info = INFO;

	info.callers = callers;
	return log_of(&info, site, 3);
}

TEST(callers_of_sites_come_back_in_a_log_of_its_own_version)
{
	struct nvw_log_record got;
	const int fd = callers_log(true, site_number);
	struct nvw_log_reader *r = reader_of(fd);

	assert_int_equal(version_of(fd), NVW_LOG_VERSION + NVW_LOG_WITH_CALLERS);
	assert_true(nvw_log_info(r)->callers && !nvw_log_info(r)->operations);
	for (uint32_t id = 1; id <= 3; id++) {
		assert_int_equal(nvw_log_next(r, &got), 1);
		assert_int_equal(got.site.id, id);
		assert_int_equal(got.site.caller, id - 1);
	}
	nvw_log_reader_close(r);
	/* Without them it is a log as before. */
	r = reader_of(callers_log(false, site_number));
	assert_int_equal(nvw_log_next(r, &got), 1);
	assert_int_equal(nvw_log_next(r, &got), 1);
	assert_int_equal(got.site.caller, 0);
	nvw_log_reader_close(r);
}

/* So callers never go round. */
TEST(a_caller_that_is_no_earlier_site_is_damage)
{
	struct nvw_log_reader *const r = reader_of(callers_log(true, site_that_calls_itself));
	struct nvw_log_record got;

	assert_int_equal(nvw_log_next(r, &got), 1);
	assert_int_equal(nvw_log_next(r, &got), 1);
	assert_int_equal(nvw_log_next(r, &got), NVW_E_DAMAGED);
	nvw_log_reader_close(r);
}

TEST(what_the_log_is_about_comes_back)
{
	struct nvw_log_reader *const r = reader_of(written_log(0));
	const struct nvw_log_info *const info = nvw_log_info(r);

	assert_string_equal(info->workload, "kv");
	assert_string_equal(info->options, "--count=3");
	assert_string_equal(info->machine, "gope18");
	assert_string_equal(info->protocol, "vi");
	assert_string_equal(info->model, "epoch");
	assert_string_equal(info->domain, "device");
	assert_int_equal(info->seed, 7);
	assert_int_equal(info->pool_bytes, 1 << 20);
	assert_int_equal(info->atomicity, 8);
	nvw_log_reader_close(r);
}

/* ---- Damage ---------------------------------------------------------------------------------------- */

static size_t contents(int fd, uint8_t *to, size_t capacity)
{
	const ssize_t n = pread(fd, to, capacity, 0);

	assert_true(n > 0 && (size_t)n < capacity);
	return (size_t)n;
}

/* Reads a whole file of these bytes; the first error, or 0 if there was none. */
static int verdict(const uint8_t *bytes, size_t n)
{
	const int fd = memory_file();
	struct nvw_log_reader *r;
	struct nvw_log_record record;

	assert_int_equal(pwrite(fd, bytes, n, 0), (ssize_t)n);
	int error = nvw_log_open_fd(fd, "test log", &r);

	if (error) {
		return error;
	}
	do {
		error = nvw_log_next(r, &record);
	} while (error == 1);
	nvw_log_reader_close(r);
	return error;
}

static uint8_t small[65536];

static size_t small_log(void)
{
	const int fd = written_log(60);
	const size_t n = contents(fd, small, sizeof small);

	close(fd);
	assert_int_equal(verdict(small, n), 0);
	return n;
}

TEST(every_changed_byte_is_noticed)
{
	const size_t n = small_log();

	NVW_FOR(i, n) {
		for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
			small[i] ^= (uint8_t)flip;
			const int error = verdict(small, n);

			if (error != NVW_E_DAMAGED && !(error == NVW_E_VERSION && i >= 8 && i < 12)) {
				fail_msg("byte %zu xor %u: got %d", i, flip, error);
			}
			assert_error_has("test log: offset ");
			small[i] ^= (uint8_t)flip;
		}
	}
}

TEST(every_truncation_is_noticed)
{
	const size_t n = small_log();

	NVW_FOR(i, n) {
		if (verdict(small, i) != NVW_E_DAMAGED) {
			fail_msg("a log cut to %zu of %zu bytes was accepted", i, n);
		}
	}
}

TEST(bytes_after_the_trailer_are_noticed)
{
	const size_t n = small_log();

	small[n] = 0;
	assert_int_equal(verdict(small, n + 1), NVW_E_DAMAGED);
}

/* The begin of each block, the trailer's too, and the end. */
static unsigned block_offs(const uint8_t *bytes, size_t n, size_t *ret_offs, unsigned room)
{
	unsigned count = 0;

	for (size_t at = log_get32(bytes + 12); at < n && count < room;
		at += LOG_BLOCK_HEADER_BYTES + log_get32(bytes + at + 8)) {
		ret_offs[count++] = at;
	}
	ret_offs[count] = n;
	return count;
}

TEST(blocks_that_changed_places_are_noticed)
{
	static uint8_t log[1 << 24], swapped[sizeof log];
	size_t off[64], n, at;
	const int fd = written_log(150000);

	n = contents(fd, log, sizeof log);
	close(fd);
	assert_int_equal(verdict(log, n), 0);
	assert_true(block_offs(log, n, off, 60) >= 4);
	memcpy(swapped, log, n);
	at = off[1];
	memcpy(swapped + at, log + off[2], off[3] - off[2]);
	memcpy(swapped + at + (off[3] - off[2]), log + off[1], off[2] - off[1]);
	assert_int_equal(verdict(swapped, n), NVW_E_DAMAGED);
}

/* Sealed as it should be: only the numbers are others. */
TEST(a_trailer_that_counts_other_records_is_noticed)
{
	NVW_FOR(word, 2) {
		const size_t n = small_log();
		size_t off[8];
		const unsigned blocks = block_offs(small, n, off, 7);
		uint8_t *const trailer = small + off[blocks - 1];

		trailer[LOG_BLOCK_HEADER_BYTES + 8 * word]++;
		log_put64(trailer, XXH64(trailer + 8, n - off[blocks - 1] - 8, log_block_seed(blocks - 1)));
		assert_int_equal(verdict(small, n), NVW_E_DAMAGED);
		assert_error_has("the trailer's record count is not the number of records");
	}
}

static struct nvw_log_record store_beyond(uint64_t i)
{
	return i == 0 ? record_number(0) :
			(struct nvw_log_record){.kind = NVW_LOG_STORE,
				.store = {.site = 1, .bytes = 8, .off = INFO.pool_bytes}};
}

TEST(a_store_beyond_the_pool_is_damage)
{
	const int fd = log_of(&INFO, store_beyond, 2);

	assert_int_equal(verdict(small, contents(fd, small, sizeof small)), NVW_E_DAMAGED);
	close(fd);
}

TEST(another_version_is_named)
{
	const size_t n = small_log();

	small[8] = 99;
	assert_int_equal(verdict(small, n), NVW_E_VERSION);
	assert_error_has("99");
}

TEST(an_abandoned_log_reads_as_far_as_it_went)
{
	const int fd = memory_file();
	struct nvw_log_record got;

	nvw_log_abandon(writer_of(fd, &INFO, record_number, 10));

	struct nvw_log_reader *const r = reader_of(fd);

	NVW_FOR(i, 10) {
		assert_int_equal(nvw_log_next(r, &got), 1);
		assert_int_not_equal(got.kind, NVW_LOG_END);
	}
	assert_int_equal(nvw_log_next(r, &got), 0);
	nvw_log_reader_close(r);
}

TEST(the_same_records_give_the_same_bytes)
{
	const int a = written_log(3000), b = written_log(3000);
	static uint8_t other[sizeof small];
	const size_t n = contents(a, small, sizeof small);

	assert_int_equal(contents(b, other, sizeof other), n);
	assert_memory_equal(small, other, n);
	close(a);
	close(b);
}

TEST(a_full_disk_is_reported)
{
	struct nvw_log_writer *w;

	if (access("/dev/full", W_OK) != 0) {
		skip_test("no /dev/full");
	}
	assert_int_equal(nvw_log_create("/dev/full", &INFO, &w), NVW_E_FULL);
}

TEST(a_disk_that_fills_up_is_reported_at_append_and_close)
{
	const int fd = memory_file();
	struct nvw_log_writer *w;
	int error = 0;

	assert_ok(nvw_log_create_fd(fd, "test log", &INFO, &w));
	assert_int_equal(dup2(open("/dev/full", O_WRONLY), fd), fd);
	for (uint64_t i = 0; i < 200000 && !error; i++) {
		const struct nvw_log_record record = record_number(i);

		error = nvw_log_append(w, &record);
	}
	assert_int_equal(error, NVW_E_FULL);
	assert_int_equal(nvw_log_close(w, UINT64_MAX), NVW_E_FULL);
}

TEST(an_unwritable_path_is_reported)
{
	struct nvw_log_writer *w;

	assert_int_equal(nvw_log_create("/nowhere/at/all", &INFO, &w), NVW_E_SYSTEM);
	assert_error_has("/nowhere/at/all");
}
