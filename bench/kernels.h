/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that do nothing but access memory, and the host's clock, for the benchmarks of speed. */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include "core/print.h"
#include "core/each.h"

#include <emu.h>
#include <nvw/host.h>
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

/* A kernel, by a pointer to its struct args. */
#define KERNEL(name)                                          \
	static inline void name##_with(const struct args *a); \
	static inline void name(const void *args)             \
	{                                                     \
		name##_with(args);                            \
	}                                                     \
	static inline void name##_with(const struct args *const a)

/* Coalesced loads that hit the L1. */
KERNEL(hit)
{
	uint64_t sum = 0;

	NVW_FOR(i, a->rounds) {
		sum += nvw_load(&a->words[nvw_global_id() % HIT_WORDS]);
	}
	if (sum == 1) {
		nvw_store(&a->words[0], sum);
	}
}

/* The same for stores. */
KERNEL(hit_by_stores)
{
	NVW_FOR(i, a->rounds) {
		nvw_store(&a->words[nvw_global_id() % HIT_WORDS], i);
	}
}

/* Loads and stores in turn, each lane of a line of its own anywhere. */
KERNEL(scatter)
{
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

/* A launch that is measured by itself: processor time of one of its memory operations. */
static inline int time_launch(struct nvw_machine *m, const char *name, nvw_kernel kernel,
	const struct args *args, uint64_t work_items, unsigned group_size, double *ret_seconds)
{
	nvw_begin_measurement(m);
	const double begin = seconds();

	NVW_TRY(nvw_launch(m, name, kernel, args, work_items, group_size));
	*ret_seconds = (seconds() - begin) / (double)emu_statistics(m)->work_item_ops;
	return 0;
}

/* The exit status of a program that has ended so; an error is printed. */
static inline int exit_status(int error)
{
	if (error < 0) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, nvw_error_message());
	}
	return error < 0;
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
