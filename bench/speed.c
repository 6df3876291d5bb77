/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the emulator runs on this host: work-item memory operations a second, and what one costs in bare
 * fiber switches of the same run, a figure that travels better between hosts.
 */
#include <stdio.h>
#include <sys/resource.h>

#include <emu.h>
#include <nvw/host.h>

#include "fiber.h"
#include "kernels.h"
#include "part.h"

enum { WORK_ITEMS = 10240, FOOTPRINT = 40 << 20, SWITCHES = 20000000 };

static void *here, *there;

static void ping(void)
{
	for (;;) {
		emu_fiber_switch(&there, here);
	}
}

static double bare_switch(unsigned switches)
{
	static char stack[16384] __attribute__((aligned(64)));
	const double begin = seconds();

	there = emu_fiber_prepare(stack, stack + sizeof stack, ping);
	for (unsigned i = 0; i < switches / 2; i++) {
		emu_fiber_switch(&here, there);
	}
	return (seconds() - begin) / switches;
}

static int measure(struct nvw_machine *m, const char *name, nvw_kernel kernel, struct args *args, double bare)
{
	double begin, each;
	int r;

	nvw_begin_measurement(m);
	begin = seconds();
	r = nvw_launch(m, name, kernel, args, WORK_ITEMS, 256);
	each = (seconds() - begin) / (double)emu_statistics(m)->work_item_ops;
	printf("%-28s %8.2f M operations/s  %6.1f bare fiber switches each\n", name, 1e-6 / each,
		each / bare);
	return r;
}

int main(void)
{
	struct emu_config config;
	struct nvw_machine *m;
	struct args hits = {.rounds = part_of(2000)};
	struct args scattered = {.lines = FOOTPRINT / 64, .rounds = part_of(400)};
	const double bare = bare_switch(2 * part_of(SWITCHES / 2));
	struct rusage usage;
	int r;

	emu_config_default(&config);
	r = emu_create(&config, NULL, NULL, &m);
	if (r == 0) {
		hits.words = nvw_alloc(m, 8 * HIT_WORDS);
		scattered.words = nvw_alloc(m, FOOTPRINT);
		printf("%-28s %8.2f M switches/s\n", "bare fiber switch", 1e-6 / bare);
		r = measure(m, "coalesced L1 hits", hit, &hits, bare);
		r = r ? r : measure(m, "scattered, 40 MB, warming", scatter, &scattered, bare);
		r = r ? r : measure(m, "scattered, 40 MB", scatter, &scattered, bare);
		emu_destroy(m);
	}
	if (r < 0) {
		fprintf(stderr, "%s\n", nvw_error_message());
		return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%-28s %8.2f KiB a resident work-item beyond the data\n", "memory",
		((double)usage.ru_maxrss - FOOTPRINT / 1024.0) / WORK_ITEMS);
	return 0;
}
