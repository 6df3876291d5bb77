/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery in a process that dies by SIGKILL at one of its writes to the mapped file; the next recovery, by
 * another process, has to leave the bytes that one without interruption leaves. Every write of many random
 * pools: 1,000 kills and more.
 */
#include "image.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/random.h>

enum { FILE_STREAMS = 6, FILE_ENTRIES = 8, BLOCKS = 24, KILLS = 1000 };

static char path[64];

/* The file; stop_at is the write at which the process is killed. */
static void map(struct image *f)
{
	const int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	f->bytes = mmap(NULL, f->g.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(f->bytes, MAP_FAILED);
	close(fd);
}

static void put_stream(struct image *f, uint32_t stream, struct nvw_random *random)
{
	const uint64_t settled = 1 + nvw_random_below(random, 9);
	const uint32_t open = (uint32_t)nvw_random_below(random, FILE_ENTRIES + 1);

	put_est(f, stream, NVW__EST_COMPLETED, settled);
	for (uint32_t i = 0; i < FILE_ENTRIES; i++) {
		const unsigned k = (unsigned)nvw_random_below(random, BLOCKS);

		put_entry(f, stream, i, settled + (i < open), nvw__block_off(nvw__chunk_off(&f->g, 0), 0, k),
			nvw_random_u64(random), 15);
	}
	for (unsigned i = stream; i < BLOCKS; i += FILE_STREAMS) {
		const enum nvw__block_kind kind =
			nvw_random_below(random, 2) ? NVW__BLOCK_ALLOCATED_BY : NVW__BLOCK_FREED_BY;

		put_block(f, 0, i, kind, stream, open ? settled + nvw_random_below(random, 2) : settled);
	}
}

/* A pool after a crash, by its seed; of every third one page of the header is damaged. */
static void make(struct image *f, uint64_t seed)
{
	const struct nvw_pool_params params = {
		.streams = FILE_STREAMS, .log_entries = FILE_ENTRIES, .layout = "test"};
	struct nvw_random random = {nvw_mix64(seed)};
	struct nvw_pool *pool;

	unlink(path);
	assert_ok(nvw_pool_create(path, &params, &pool));
	*f = (struct image){.g = *nvw_pool_geometry(pool)};
	nvw_pool_close(pool);
	map(f);
	put_sealed(f, nvw__chunk_word_off(&f->g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 0));
	NVW_FOR(stream, FILE_STREAMS) {
		put_stream(f, stream, &random);
	}
	f->bytes[100] ^= seed % 3 == 0;
}

static int write_or_die(void *context, nvw_off off, const void *from, size_t n)
{
	struct image *const f = context;

	if (f->writes++ == f->stop_at) {
		kill(getpid(), SIGKILL);
	}
	memcpy(f->bytes + off, from, n);
	return 0;
}

static int recover_mapped(struct image *f)
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
static bool recovery_dies_at(struct image *f, uint64_t write)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		f->stop_at = write;
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
	struct image f;
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
