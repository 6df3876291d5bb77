/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that only the local L1 learns of (emu/protocol/hits.c) against the same ones by their steps: a
 * planted fault that is in no table has every instruction go by the steps, and changes nothing else.
 */
#include "common/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvw/random.h>

#include "machine.h"
#include "protocol/protocol.h"

enum { ITEMS = 1024, GROUP = 256, ROUNDS = 60, WORDS = 2048, LOG_MAX = 8 << 20 };

struct arrays {
	uint64_t *dram, *nvram, *sums, *flag;
	uint64_t seed;
};

/* All work-items of a group draw the same numbers, so that their accesses are of neighbours, and begin
 * anywhere in a line. */
#define ACCESS(type)                                                             \
	do {                                                                     \
		type *const at = (type *)(void *)words + start + nvw_local_id(); \
		if (draw >> 40 & 1) {                                            \
			nvw_store(at, (type)(sum + i));                          \
		} else {                                                         \
			sum += nvw_load(at);                                     \
		}                                                                \
	} while (0)

KERNEL(mix, const struct arrays, a)
{
	uint64_t sum = nvw_global_id();

	NVW_FOR(i, ROUNDS) {
		const uint64_t draw = nvw_mix64(a->seed + i + 1000 * (nvw_group_id() % 2));
		uint64_t *const words = draw >> 50 & 1 ? a->dram : a->nvram;
		const uint64_t start = draw % 3 ? draw % 16 : draw % (WORDS - GROUP);

		if ((draw >> 44) % 8 == 0) {
			sum += nvw_atomic_add(a->flag, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
		} else if (nvw_local_id() % 8 == 1 && draw >> 54 & 1) {
			sum++; /* these lanes stay behind */
		} else if (draw >> 48 & 1) {
			ACCESS(uint64_t);
		} else if (draw >> 49 & 1) {
			ACCESS(uint32_t);
		} else if (draw >> 51 & 1) {
			ACCESS(uint16_t);
		} else {
			ACCESS(uint8_t);
		}
		if ((draw >> 56) % 16 == 0) {
			nvw_p_barrier_wi();
		}
	}
	nvw_store(&a->sums[nvw_global_id()], sum);
}

struct outcome {
	struct emu_stats stats;
	uint64_t time_ps;
	uint64_t sums[ITEMS], dram[WORDS], nvram[WORDS];
	char *log;
	size_t log_bytes;
};

static void read_log(const char *path, struct outcome *o)
{
	FILE *const f = fopen(path, "rb");

	o->log = malloc(LOG_MAX);
	assert_true(f && o->log);
	o->log_bytes = fread(o->log, 1, LOG_MAX, f);
	assert_in_range(o->log_bytes, 1, LOG_MAX - 1);
	fclose(f);
	unlink(path);
}

static void run(const char *const *settings, uint64_t seed, bool by_steps, struct outcome *o)
{
	static const struct coh_action_info in_no_table = {.name = "in no table"};
	struct arrays a = {.seed = seed << 20};
	struct rig rig;

	rig_begin_logged(&rig, 0, settings);
	rig.machine->fault.action = by_steps ? &in_no_table : NULL;
	a.dram = nvw_alloc(rig.machine, 8 * WORDS);
	a.sums = nvw_alloc(rig.machine, 8 * ITEMS);
	a.flag = nvw_alloc(rig.machine, 64);
	a.nvram = rig.nvram;
	rig_launch(&rig, mix, &a, ITEMS, GROUP);
	assert_true(!by_steps || !rig.machine->hits);
	o->stats = *emu_statistics(rig.machine);
	o->time_ps = nvw_time_ps(rig.machine);
	rig_ok(nvw_read(rig.machine, o->sums, a.sums, sizeof o->sums));
	rig_ok(nvw_read(rig.machine, o->dram, a.dram, sizeof o->dram));
	rig_ok(nvw_read(rig.machine, o->nvram, a.nvram, sizeof o->nvram));
	rig_end(&rig);
	read_log(rig.log_path, o);
}

static void check_both(const char *const *settings, uint64_t seed)
{
	static struct outcome fast, steps;

	run(settings, seed, false, &fast);
	run(settings, seed, true, &steps);
	assert_memory_equal(fast.sums, steps.sums, sizeof fast.sums);
	assert_memory_equal(fast.dram, steps.dram, sizeof fast.dram);
	assert_memory_equal(fast.nvram, steps.nvram, sizeof fast.nvram);
	assert_memory_equal(&fast.stats, &steps.stats, sizeof fast.stats);
	assert_int_equal(fast.time_ps, steps.time_ps);
	assert_int_equal(fast.log_bytes, steps.log_bytes);
	assert_memory_equal(fast.log, steps.log, fast.log_bytes);
	free(fast.log);
	free(steps.log);
}

TEST(hits_are_what_their_steps_are_under_every_protocol)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		char protocol[64];

		snprintf(protocol, sizeof protocol, "protocol=%s", coh_protocols[i]->name);
		check_both(SETTINGS(protocol, i % 2 ? "l1.sfifo_unit=words" : "l1.ways=4"), i);
	}
}

TEST(hits_are_what_their_steps_are_under_every_model)
{
	static const char *const models[] = {
		"persist.model=buffered-epoch", "persist.model=strict", "nvram.domain=eadr"};

	NVW_FOR(i, NVW_COUNT(models)) {
		check_both(SETTINGS(models[i]), i);
		check_both(SETTINGS(models[i], "protocol=dd"), i);
	}
}
