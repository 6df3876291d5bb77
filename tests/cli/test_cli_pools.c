/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools as the users of the command meet them: kept, inspected, recovered, refused. */
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
	command_finds("crash " TWO_POOLS " --states=400 --mutate=value-unordered --save=%D", "INCONSISTENT");
	command_finds("replay %D/finding-1 --extract=%D/b.pool", "REPRODUCED");
	command_finds("recover %D/b.pool", "structure tiered: inconsistent");
	command_remove("finding-1");
	command_remove("b.pool");
	command_remove("b.pool.1");
	assert_int_equal(command_files(), 0);
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

static uint64_t hash_of_pool(void)
{
	FILE *const f = fopen(in_dir("a.pool"), "rb");
	uint64_t hash = 14695981039346656037u;
	int c;

	while ((c = getc(f)) != EOF) {
		hash = (hash ^ (uint64_t)c) * 1099511628211u;
	}
	fclose(f);
	return hash;
}

static void assert_refused(const char *message)
{
	const uint64_t hash = hash_of_pool();

	command_refuses("recover %D/a.pool", message);
	assert_int_equal(command_run("inspect %D/a.pool")->status, 2);
	assert_int_equal(hash_of_pool(), hash);
	command_remove("a.pool");
}

TEST(damaged_pools_are_refused_and_not_touched)
{
	static const struct {
		const char *message;
		long at;
		int byte;
		bool in_both; /* of the header's pages */
	} damages[] = {{"no pool header", 0, 'X', true}, {"version", 8, 9, true}, {"damaged", 60, 0x5a, true},
		{"broken seal", 8192 + 64, 0x77, false} /* of the epoch status table */};

	for_each(damage, damages) {
		command_prints("run kv --count=50 --pool=%D/a.pool", "");
		command_patch("a.pool", damage->at, damage->byte);
		if (damage->in_both) {
			command_patch("a.pool", damage->at + 4096, damage->byte);
		}
		assert_refused(damage->message);
	}
	command_prints("run kv --count=50 --pool=%D/a.pool", "");
	assert_int_equal(truncate(in_dir("a.pool"), 20000), 0);
	assert_refused("expected");
	write_text("a.pool", "");
	command_refuses("recover %D/a.pool", "empty");
	write_text("a.pool", "foreign bytes\n");
	command_refuses("recover %D/a.pool", "no pool header");
	command_remove("a.pool");
}

TEST(one_damaged_header_is_mended_from_its_copy)
{
	command_prints("run kv --count=50 --pool=%D/a.pool", "");
	command_patch("a.pool", 40, 0x11);
	command_prints("recover %D/a.pool", "header restored from its copy");
	command_prints("recover %D/a.pool", "0 words written");
	command_remove("a.pool");
}

TEST(a_pool_in_use_is_refused)
{
	struct nvw_pool *pool;

	command_prints("run kv --count=50 --pool=%D/a.pool", "");
	assert_ok(nvw_pool_open(in_dir("a.pool"), NVW_POOL_WRITE, &pool));
	command_refuses("recover %D/a.pool", "in use by another process");
	nvw_pool_close(pool);
	command_prints("recover %D/a.pool", "");
	command_remove("a.pool");
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

GROUP_OF_COMMANDS();
