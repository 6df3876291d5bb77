/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a work-item memory operation costs the host under each protocol against vi, where hit rates are alike,
 * and with 128 CUs against 4. protocols.sh counts instructions with this program; alone it compares processor
 * times within one run.
 *
 *	bench_protocols                             all protocols, by processor time
 *	bench_protocols list                        their names
 *	bench_protocols PROTOCOL KERNEL CUS ROUNDS  one run: its operations, and the share of loads that hit
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <emu.h>
#include <nvw/host.h>

#include "core/print.h"
#include "kernels.h"
#include "part.h"
#include "core/each.h"

enum { GROUP = 128, WORK_ITEMS = 128 * GROUP, FOOTPRINT = 40 << 20, RUNS = 3, REGION = 256 };

/* Seven loads and a store in turn, of data that the work-group has alone and its L1 has room for. */
KERNEL(mix)
{
	uint64_t *const own = a->words + REGION * nvw_group_id();
	uint64_t sum = 0;

	NVW_FOR(i, a->rounds) {
		uint64_t *const word = &own[(64 * (i / 2) + nvw_local_id()) % REGION];

		if (i % 8 == 7) {
			nvw_store(word, sum);
		} else {
			sum += nvw_load(word);
		}
	}
}

static const struct {
	const char *name;
	nvw_kernel kernel;
	unsigned rounds;
} kernels[] = {
	{"hit", hit, 400}, {"mix", mix, 400}, {"scatter", scatter, 40}, {"stores", hit_by_stores, 400}};

enum { HIT, MIX, KERNELS = NVW_COUNT(kernels) };

struct outcome {
	double ns; /* of an operation */
	uint64_t operations;
	double hits;
};

static int measure_protocol(
	const char *protocol, unsigned kernel, const char *cus, unsigned rounds, struct outcome *ret)
{
	struct nvw_machine *m = NULL;
	char setting[32];
	int r;

	NVW_PRINT(setting, "gpu.cus=%s", cus);
	NVW_TRY(alsop16_machine(protocol, setting, &m));

	const struct args args = {
		.words = nvw_alloc(m, FOOTPRINT), .lines = FOOTPRINT / 64, .rounds = rounds};
	const struct emu_stats *const stats = emu_statistics(m);
	double each = 0;

	r = time_launch(m, kernels[kernel].name, kernels[kernel].kernel, &args, WORK_ITEMS, GROUP, &each);
	ret->operations = stats->work_item_ops;
	ret->ns = 1e9 * each;
	ret->hits = 0;
	if (stats->l1_load_hits > 0) {
		ret->hits =
			(double)stats->l1_load_hits / (double)(stats->l1_load_hits + stats->l1_load_misses);
	}
	emu_destroy(m);
	return r;
}

/* The least of some runs. */
static int measure_least(const char *protocol, unsigned kernel, const char *cus, struct outcome *ret)
{
	double least = 1e9;

	NVW_FOR(run, part_of(RUNS)) {
		NVW_TRY(measure_protocol(protocol, kernel, cus, part_of(kernels[kernel].rounds), ret));
		least = fmin(ret->ns, least);
	}
	ret->ns = least;
	return 0;
}

static int compare_all(void)
{
	struct outcome vi[KERNELS], each[KERNELS], many;
	const char *name;

	printf("processor time of an operation over vi's, and L1 hits; 128 CUs over 4\n");
	NVW_FOR(k, KERNELS) {
		NVW_TRY(measure_least("vi", k, "4", &vi[k]));
	}
	for (unsigned i = 0; (name = emu_protocol_name(i)); i++) {
		printf("%-13s", name);
		NVW_FOR(k, KERNELS) {
			NVW_TRY(measure_least(name, k, "4", &each[k]));
			printf("  %s %4.2f (%2.0f %%)", kernels[k].name, each[k].ns / vi[k].ns,
				100 * each[k].hits);
		}
		NVW_TRY(measure_least(name, MIX, "128", &many));
		printf("  128 CUs %4.2f\n", many.ns / each[MIX].ns);
	}
	return 0;
}

static int run_chosen(char **argv)
{
	struct outcome outcome = {0};
	unsigned k = 0;
	int r;

	while (k < KERNELS && strcmp(kernels[k].name, argv[2]) != 0) {
		k++;
	}
	if (k == KERNELS) {
		return nvw_fail(NVW_E_USAGE, "there is no kernel \"%s\"", argv[2]);
	}
	r = measure_protocol(argv[1], k, argv[3], (unsigned)strtoul(argv[4], NULL, 10), &outcome);
	printf("%llu %.3f\n", (unsigned long long)outcome.operations, outcome.hits);
	return r;
}

int main(int argc, char **argv)
{
	const char *name;
	int r = 0;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (unsigned i = 0; (name = emu_protocol_name(i)); i++) {
			puts(name);
		}
	} else {
		r = argc == 5 ? run_chosen(argv) : compare_all();
	}
	return exit_status(r);
}
