/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a work-item memory operation costs the host on alsop16's 128 CUs, each with 128 resident work-items,
 * against the same machine with 4 CUs: the same kernels, the same number of operations, in one process.
 */
#include <math.h>
#include <stdio.h>

#include <emu.h>
#include <nvw/host.h>

#include "kernels.h"
#include "part.h"
#include "core/each.h"

enum { GROUP = 128, WORK_ITEMS = 128 * GROUP, FOOTPRINT = 40 << 20, RUNS = 3 };

/* A counter a work-group, with agent scope. */
KERNEL(count)
{
	NVW_FOR(i, a->rounds) {
		nvw_atomic_add(&a->words[8 * nvw_group_id()], 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	}
}

/* One counter for all. */
KERNEL(contend)
{
	NVW_FOR(i, a->rounds) {
		nvw_atomic_add(a->words, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	}
}

static const struct {
	const char *name;
	nvw_kernel kernel;
	unsigned rounds;
} kernels[] = {{"coalesced L1 hits", hit, 400}, {"scattered, 40 MB", scatter, 40},
	{"a counter a work-group", count, 20}, {"one counter", contend, 20}};

enum { KERNELS = NVW_COUNT(kernels) };

/* Host nanoseconds a work-item operation of each kernel: the least of some runs. */
static int measure_kernel(struct nvw_machine *m, unsigned k, double *ret_ns)
{
	struct args args = {.words = nvw_alloc(m, FOOTPRINT),
		.lines = FOOTPRINT / 64,
		.rounds = part_of(kernels[k].rounds)};

	*ret_ns = 1e9;
	NVW_FOR(run, part_of(RUNS)) {
		double each;

		NVW_TRY(time_launch(m, kernels[k].name, kernels[k].kernel, &args, WORK_ITEMS, GROUP, &each));
		*ret_ns = fmin(1e9 * each, *ret_ns);
	}
	return 0;
}

static int measure_scale(const char *protocol, const char *cus, double *ret_ns)
{
	struct nvw_machine *m = NULL;
	int r = 0;

	NVW_TRY(alsop16_machine(protocol, cus, &m));
	for (unsigned k = 0; r == 0 && k < KERNELS; k++) {
		r = measure_kernel(m, k, &ret_ns[k]);
	}
	emu_destroy(m);
	return r;
}

static int compare_all(void)
{
	static const char *const protocols[] = {"vi", "rsp", "denovo-b", "hlrc"};

	NVW_FOR(p, NVW_COUNT(protocols)) {
		double few[KERNELS], many[KERNELS];

		NVW_TRY(measure_scale(protocols[p], "gpu.cus=4", few));
		NVW_TRY(measure_scale(protocols[p], "gpu.cus=128", many));
		NVW_FOR(k, KERNELS) {
			printf("%-9s %-22s  4 CUs %7.1f ns an operation, 128 CUs %7.1f ns: %5.2f times\n",
				protocols[p], kernels[k].name, few[k], many[k], many[k] / few[k]);
		}
	}
	return 0;
}

int main(void)
{
	return exit_status(compare_all());
}
