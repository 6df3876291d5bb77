/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools as the users of the command meet them: kept, inspected, recovered, refused. */
#include "common/test.h"

#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nvw/pool.h>

/* The first pool's name stands for all of its run. */
TEST(the_pools_of_a_run_are_kept_inspected_recovered_and_extracted_together)
{
#define TWO_POOLS "tiered --machine=near-far --table-device=far --count=96 --group-size=8"
	command_prints("run " TWO_POOLS " --pool=%D/a.pool", "consistent");
	command_refuses("run " TWO_POOLS " --pool=%D/a.pool", "a.pool.1 already exists");
	command_prints("inspect %D/a.pool", "further_pools[0].device      far");
	command_prints("recover %D/a.pool", "structure tiered: consistent");
	command_refuses("recover %D/a.pool.1", "is pool 1 of a run of 2");
	command_remove("a.pool.1");
	command_refuses("inspect %D/a.pool", "a.pool.1: No such file");
	command_remove("a.pool");
	command_expect(
		"crash " TWO_POOLS " --states=400 --mutate=value-unordered --save=%D", 1, "INCONSISTENT", "");
	command_expect("replay %D/finding-1 --extract=%D/b.pool", 1, "REPRODUCED", "");
	command_expect("recover %D/b.pool", 1, "structure tiered: inconsistent", "");
	command_remove("finding-1");
	command_remove("b.pool");
	command_remove("b.pool.1");
	assert_int_equal(command_files(), 0);
}

static void pool_path(char *path, size_t n)
{
	snprintf(path, n, "%s/a.pool", command_dir());
}

TEST(a_pool_is_kept_inspected_and_recovered)
{
	command_prints("run kv --count=300 --pool=%D/a.pool", "consistent");
	command_refuses("run kv --count=300 --pool=%D/a.pool", "already exists");
	command_prints("inspect %D/a.pool", "structure                    consistent");
	command_prints("inspect %D/a.pool --output-format=json", "\"structure\": \"consistent\"");
	command_prints("recover %D/a.pool --dry-run", "nothing was changed");
	command_prints("recover %D/a.pool", "structure kv: consistent");
	command_remove("a.pool");
	assert_int_equal(command_files(), 0);
}

static uint64_t hash_file(const char *path)
{
	FILE *const f = fopen(path, "rb");
	uint64_t hash = 14695981039346656037u;
	int c;

	while ((c = getc(f)) != EOF) {
		hash = (hash ^ (uint64_t)c) * 1099511628211u;
	}
	fclose(f);
	return hash;
}

static void patch(const char *path, long at, int byte)
{
	FILE *const f = fopen(path, "r+b");

	fseek(f, at, SEEK_SET);
	putc(byte, f);
	fclose(f);
}

/* Damages both header pages. */
static void patch_both(const char *path, long at, int byte)
{
	patch(path, at, byte);
	patch(path, at + 4096, byte);
}

TEST(damaged_pools_are_refused_and_not_touched)
{
	char path[128], words[256];
	uint64_t hash;

	pool_path(path, sizeof path);
	NVW_FOR(i, 5) {
		static const char *const messages[] = {
			"no pool header", "version", "damaged", "expected", "broken seal"};

		command_prints("run kv --count=50 --pool=%D/a.pool", "");
		switch (i) {
		case 0:
			patch_both(path, 0, 'X');
			break;
		case 1:
			patch_both(path, 8, 9);
			break;
		case 2:
			patch_both(path, 60, 0x5a);
			break;
		case 3:
			assert_int_equal(truncate(path, 20000), 0);
			break;
		case 4:
			patch(path, 8192 + 64, 0x77);
			break; /* the epoch status table */
		}
		hash = hash_file(path);
		snprintf(words, sizeof words, "recover %s", path);
		command_refuses(words, messages[i]);
		snprintf(words, sizeof words, "inspect %s", path);
		assert_int_equal(command_run(words)->status, 2);
		assert_int_equal(hash_file(path), hash);
		unlink(path);
	}
	command_text("a.pool", "");
	command_refuses("recover %D/a.pool", "empty");
	command_text("a.pool", "foreign bytes\n");
	command_refuses("recover %D/a.pool", "no pool header");
	command_remove("a.pool");
}

TEST(one_damaged_header_is_mended_from_its_copy)
{
	char path[128];

	pool_path(path, sizeof path);
	command_prints("run kv --count=50 --pool=%D/a.pool", "");
	patch(path, 40, 0x11);
	command_prints("recover %D/a.pool", "header restored from its copy");
	command_prints("recover %D/a.pool", "0 words written");
	unlink(path);
}

TEST(a_pool_in_use_is_refused)
{
	char path[128];
	struct nvw_pool *pool;

	pool_path(path, sizeof path);
	command_prints("run kv --count=50 --pool=%D/a.pool", "");
	assert_ok(nvw_pool_open(path, NVW_POOL_WRITE, &pool));
	command_refuses("recover %D/a.pool", "in use by another process");
	nvw_pool_close(pool);
	command_prints("recover %D/a.pool", "");
	unlink(path);
}

TEST(a_full_disk_is_reported_and_leaves_nothing)
{
	const struct rlimit small = {100000, RLIM_INFINITY};
	struct rlimit before;

	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){small.rlim_cur, before.rlim_max});
	command_refuses("run kv --count=5000 --pool=%D/a.pool", "no room for a pool");
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(command_files(), 0);
}

GROUP(command_set_up, command_tear_down);
