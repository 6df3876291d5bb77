/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that do nothing but access memory, and the host's clock, for the benchmarks of speed. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include <stdio.h>
#include <time.h>
#include "core/print.h"
#include "core/each.h"

#include <emu.h>
#include <nvw/kernel.h>

enum { HIT_WORDS = 512 };

/* Processor time of this process so far. */
static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct args {
	uint64_t *words, lines; /* HIT_WORDS words; so many lines */
	unsigned rounds;        /* accesses of a work-item */
};

/* Coalesced loads that hit the L1. */
static inline void hit(const void *args)
{
	const struct args *const a = args;
	uint64_t sum = 0;

	NVW_FOR(i, a->rounds) {
		sum += nvw_load(&a->words[nvw_global_id() % HIT_WORDS]);
	}
	if (sum == 1) {
		nvw_store(&a->words[0], sum);
	}
}

/* The same for stores. */
static inline void hit_by_stores(const void *args)
{
	const struct args *const a = args;

	NVW_FOR(i, a->rounds) {
		nvw_store(&a->words[nvw_global_id() % HIT_WORDS], i);
	}
}

/* Loads and stores in turn, each lane of a line of its own anywhere. */
static inline void scatter(const void *args)
{
	const struct args *const a = args;
	uint64_t x = nvw_global_id() * 0x9e3779b97f4a7c15u;

	NVW_FOR(i, a->rounds) {
		uint64_t *line;

		x = x * 6364136223846793005u + 1442695040888963407u;
		line = a->words + (x >> 20) % a->lines * 8;
		if (i & 1) {
			nvw_store(line, x);
		} else {
			(void)nvw_load(line);
		}
	}
}

/* alsop16's machine with a setting ("gpu.cus=4"), two wavefronts a CU, and a protocol. */
static inline int alsop16_machine(const char *protocol, const char *setting, struct nvw_machine **ret_machine)
{
	struct emu_config config;

	emu_config_default(&config);
	NVW_TRY(emu_config_load(&config, "alsop16"));
	NVW_TRY(emu_config_set(&config, setting));
	NVW_TRY(emu_config_set(&config, "gpu.wavefronts_per_cu=2"));
	NVW_PRINT(config.protocol, "%s", protocol);
	return emu_create(&config, NULL, NULL, ret_machine);
}

#endif
