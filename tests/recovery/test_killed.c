/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery in a process that dies by SIGKILL at one of its writes to the mapped file; the next recovery, by
 * another process, has to leave the bytes that one without interruption leaves. Every write of many random
 * pools: 1,000 kills and more.
 */
#include "common/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/random.h>
#include <nvw/recovery.h>

#include "pool/layout.h"

enum { STREAMS = 6, ENTRIES = 8, BLOCKS = 24, KILLS = 1000 };

static char path[64];

struct file {
	uint8_t *bytes;
	struct nvw_pool_geometry g;
	uint64_t writes, kill_at;
};

static void map(struct file *f)
{
	const int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	f->bytes = mmap(NULL, f->g.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(f->bytes, MAP_FAILED);
	close(fd);
}

static void put_sealed(const struct file *f, nvw_off off, uint64_t payload)
{
	const uint64_t word = nvw_seal(off, payload);

	memcpy(f->bytes + off, &word, sizeof word);
}

static nvw_off block(const struct file *f, unsigned i)
{
	return nvw__block_off(nvw__chunk_off(&f->g, 0), 0, i);
}

static void put_entry(
	const struct file *f, uint32_t stream, uint32_t entry, uint64_t epoch, struct nvw_random *random)
{
	const struct nvw__undo undo = {
		block(f, (unsigned)nvw_random_below(random, BLOCKS)), nvw_random_u64(random)};

	NVW_FOR(i, NVW__ENTRY_WORDS) {
		put_sealed(
			f, nvw__entry_off(&f->g, stream, entry) + 8 * i, nvw__entry_payload(&undo, epoch, i));
	}
}

static void put_stream(const struct file *f, uint32_t stream, struct nvw_random *random)
{
	const uint64_t settled = 1 + nvw_random_below(random, 9);
	const uint32_t open = (uint32_t)nvw_random_below(random, ENTRIES + 1);

	put_sealed(f, nvw__est_off(&f->g, stream), nvw__est_payload(NVW__EST_COMPLETED, settled));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		put_entry(f, stream, i, i < open ? settled + 1 : settled, random);
	}
	for (unsigned i = stream; i < BLOCKS; i += STREAMS) {
		const enum nvw__block_kind kind =
			nvw_random_below(random, 2) ? NVW__BLOCK_ALLOCATED_BY : NVW__BLOCK_FREED_BY;

		put_sealed(f, nvw__block_word_off(nvw__chunk_off(&f->g, 0), i),
			nvw__block_payload(
				kind, stream, open ? settled + nvw_random_below(random, 2) : settled));
	}
}

/* A pool after a crash, by its seed; of every third one page of the header is damaged. */
static void make(struct file *f, uint64_t seed)
{
	const struct nvw_pool_params params = {.streams = STREAMS, .log_entries = ENTRIES, .layout = "test"};
	struct nvw_random random = {nvw_mix64(seed)};
	struct nvw_pool *pool;

	unlink(path);
	assert_ok(nvw_pool_create(path, &params, &pool));
	*f = (struct file){.g = *nvw_pool_geometry(pool)};
	nvw_pool_close(pool);
	map(f);
	put_sealed(f, nvw__chunk_word_off(&f->g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 0));
	NVW_FOR(stream, STREAMS) {
		put_stream(f, stream, &random);
	}
	f->bytes[100] ^= seed % 3 == 0;
}

static int write_or_die(void *context, nvw_off off, const void *from, size_t n)
{
	struct file *const f = context;

	if (f->writes++ == f->kill_at) {
		kill(getpid(), SIGKILL);
	}
	memcpy(f->bytes + off, from, n);
	return 0;
}

static int recover_mapped(struct file *f)
{
	const struct nvw_pool_image image = {
		.image = f->bytes, .bytes = f->g.bytes, .write = write_or_die, .context = f};
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;

	NVW_TRY(nvw_pool_open_image(&image, &pool));
	const int error = nvw_recover(pool, &report);

	nvw_pool_close(pool);
	return error;
}

/* Returns whether it died, of SIGKILL. */
static bool recovery_dies_at(struct file *f, uint64_t write)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		f->kill_at = write;
		f->writes = 0;
		_exit(recover_mapped(f) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

static void recover_file(void)
{
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;

	assert_ok(nvw_pool_open(path, NVW_POOL_WRITE, &pool));
	assert_ok(nvw_recover(pool, &report));
	nvw_pool_close(pool);
}

/*
 * Kills at every write of the recovery of this pool, twice in a row at every fourth; returns the number of
 * kills.
 */
static unsigned kill_at_each_write(uint64_t seed)
{
	struct file f;
	unsigned kills = 0;

	make(&f, seed);
	uint8_t *const crashed = malloc(f.g.bytes), *const whole = malloc(f.g.bytes);

	memcpy(crashed, f.bytes, f.g.bytes);
	recover_file();
	memcpy(whole, f.bytes, f.g.bytes);
	for (uint64_t at = 0;; at++) {
		memcpy(f.bytes, crashed, f.g.bytes);
		if (!recovery_dies_at(&f, at)) {
			break;
		}
		kills++;
		kills += at % 4 == 0 && recovery_dies_at(&f, at / 2);
		recover_file();
		assert_memory_equal(f.bytes, whole, f.g.bytes);
	}
	assert_memory_equal(f.bytes, whole, f.g.bytes);
	munmap(f.bytes, f.g.bytes);
	free(crashed);
	free(whole);
	return kills;
}

TEST(a_recovery_killed_at_any_write_is_completed_by_the_next)
{
	unsigned kills = 0;

	snprintf(path, sizeof path, "/dev/shm/nvwave-killed-%ld.pool", (long)getpid());
	for (uint64_t seed = 0; kills < KILLS; seed++) {
		kills += kill_at_each_write(seed);
		assert_true(seed < KILLS);
	}
	unlink(path);
}
