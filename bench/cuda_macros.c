/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of cuda_sources.cu with nvwave's macros: PROGRAM MACHINE PROTOCOL KERNEL LAUNCHES [KEY=VALUE]
 * prints the same. Wavefronts are 32 wide, as warps are.
 */
#include <stdlib.h>
#include <string.h>

#include <emu.h>
#include <nvw/host.h>
#include <nvw/kernel.h>

#include "core/print.h"
#include "core/each.h"
#include "cuda_work.h"

struct work {
	float *x, *y;
	unsigned long long *table;
	unsigned round;
};

static void saxpy(const void *args)
{
	const struct work *const w = args;
	const unsigned i = (unsigned)nvw_global_id();

	nvw_store(&w->y[i], 2 * nvw_load(&w->x[i]) + nvw_load(&w->y[i]));
}

static void sum(const void *args)
{
	const struct work *const w = args;
	const unsigned i = (unsigned)nvw_global_id();
	float total = 0;

	NVW_FOR(k, SUM_VALUES) {
		total += nvw_load(&w->x[k * WORK_ITEMS + i]);
	}
	nvw_store(&w->y[i], total);
}

static void hash(const void *args)
{
	const struct work *const w = args;
	const unsigned long long key = work_key((unsigned)nvw_global_id(), w->round);
	unsigned at = (unsigned)work_hash(key);

	while (nvw_atomic_compare_exchange(&w->table[at], 0ull, key, NVW_RELAXED, NVW_SCOPE_AGENT) != 0) {
		at = (at + 1) % HASH_SLOTS;
	}
}

static const struct {
	const char *name;
	nvw_kernel kernel;
	unsigned operations; /* of a work-item; 0: by the table */
} kernels[] = {{"saxpy", saxpy, 3}, {"sum", sum, SUM_VALUES + 1}, {"hash", hash, 0}};

enum { KERNELS = NVW_COUNT(kernels) };

static int launch(struct nvw_machine *m, unsigned k, struct work *w, unsigned launches)
{
	for (w->round = 0; w->round < launches; w->round++) {
		NVW_TRY(nvw_launch(m, kernels[k].name, kernels[k].kernel, w, WORK_ITEMS, GROUP));
	}
	return 0;
}

/* The table is filled with zeroes first, as CUDA's is. */
static int hash_all(
	struct nvw_machine *m, unsigned k, struct work *w, unsigned long long *copy, unsigned launches)
{
	const size_t bytes = HASH_SLOTS * sizeof *copy;
	struct work_time begin, end;

	NVW_TRY(nvw_write(m, w->table, copy, bytes));
	begin = work_time();
	NVW_TRY(launch(m, k, w, launches));
	end = work_time();
	NVW_TRY(nvw_read(m, copy, w->table, bytes));
	work_print(begin, end, work_probes(copy));
	return 0;
}

static int run_hash(struct nvw_machine *m, unsigned k, unsigned launches)
{
	unsigned long long *const copy = calloc(HASH_SLOTS, sizeof *copy);
	struct work w = {.table = nvw_alloc(m, HASH_SLOTS * sizeof *copy)};
	const int r = w.table && copy ? hash_all(m, k, &w, copy, launches) : NVW_E_MEMORY;

	free(copy);
	return r;
}

static int run_array(struct nvw_machine *m, unsigned k, unsigned launches)
{
	struct work w = {.x = nvw_alloc(m, SUM_VALUES * WORK_ITEMS * sizeof *w.x),
		.y = nvw_alloc(m, WORK_ITEMS * sizeof *w.y)};
	const struct work_time begin = work_time();
	int r = NVW_E_MEMORY;

	if (w.x && w.y) {
		r = launch(m, k, &w, launches);
	}

	const struct work_time end = work_time();

	if (r == 0) {
		work_print(begin, end, (uint64_t)kernels[k].operations * launches * WORK_ITEMS);
	}
	return r;
}

static int make_machine(int argc, char **argv, struct nvw_machine **ret_machine)
{
	struct emu_config config;

	emu_config_default(&config);
	NVW_TRY(emu_config_load(&config, argv[1]));
	NVW_PRINT(config.protocol, "%s", argv[2]);
	NVW_TRY(emu_config_set(&config, "gpu.wavefront_width=32"));
	for (int i = 5; i < argc; i++) {
		NVW_TRY(emu_config_set(&config, argv[i]));
	}
	return emu_create(&config, NULL, NULL, ret_machine);
}

int main(int argc, char **argv)
{
	struct nvw_machine *m = NULL;
	unsigned k = 0;
	int r;

	while (argc >= 5 && k < KERNELS && strcmp(kernels[k].name, argv[3]) != 0) {
		k++;
	}
	if (argc < 5 || k == KERNELS || (!kernels[k].operations && atoi(argv[4]) > HASH_ROUNDS)) {
		fprintf(stderr,
			"usage: cuda_macros MACHINE PROTOCOL saxpy|sum|hash LAUNCHES [KEY=VALUE] "
			"(hash: at most %d)\n",
			HASH_ROUNDS);
		return 2;
	}
	r = make_machine(argc, argv, &m);
	if (r == 0) {
		r = (kernels[k].operations ? run_array : run_hash)(m, k, (unsigned)atoi(argv[4]));
	}
	if (r < 0) {
		fprintf(stderr, "%s\n", nvw_error_message());
	}
	emu_destroy(m);
	return r < 0;
}
