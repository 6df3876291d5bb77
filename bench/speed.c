/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the emulator runs on this host: work-item memory operations a second, and what one costs in bare
 * fiber switches of the same run, a figure that travels better between hosts.
 *
 * The second table has the limit of a design with one switch an access: fibers that do nothing but switch to
 * the next one and look a line up, on as many stacks as the emulator's wavefronts have, and beside it the
 * emulator's coalesced hits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <emu.h>
#include <nvw/host.h>

#include "wavefront/fiber.h"
#include "kernels.h"
#include "machine.h"
#include "part.h"
#include "core/each.h"

enum { WORK_ITEMS = 10240, FOOTPRINT = 40 << 20, SWITCHES = 20000000 };
enum { LIMIT_ACCESSES = 20000000, CU_WAVEFRONTS = 40, LINE_WORDS = EMU_LINE / 8 };

static struct emu_fiber here, there;

static void ping(void)
{
	for (;;) {
		emu_fiber_switch(&there, &here);
	}
}

static double bare_switch(unsigned switches)
{
	static char stack[16384] __attribute__((aligned(64)));
	const double begin = seconds();

	there = emu_fiber_prepare(stack, stack + sizeof stack, ping);
	NVW_FOR(i, switches / 2) {
		emu_fiber_switch(&here, &there);
	}
	return (seconds() - begin) / switches;
}

static int measure_kernel(
	struct nvw_machine *m, const char *name, nvw_kernel kernel, struct args *args, double bare)
{
	double each;

	NVW_TRY(time_launch(m, name, kernel, args, WORK_ITEMS, 256, &each));
	printf("%-28s %8.2f M operations/s  %6.1f bare fiber switches each\n", name, 1e-6 / each,
		each / bare);
	return 0;
}

/* ---- The limit ----------------------------------------------------------------------------- */

static struct {
	struct emu_cache cache;
	struct emu_fiber *fibers;
	unsigned count, at;
	uint64_t left; /* accesses */
} limit;

static void look_up(void)
{
	for (;;) {
		const unsigned self = limit.at;

		emu_cache_find(&limit.cache, self % HIT_WORDS / LINE_WORDS);
		limit.at = self + 1 == limit.count ? 0 : self + 1;
		emu_fiber_switch(&limit.fibers[self], limit.left-- ? &limit.fibers[limit.at] : &here);
	}
}

/* Seconds of an access of so many wavefronts; 0 without memory. */
static double limit_of(unsigned wavefronts, uint64_t stack, uint64_t accesses)
{
	const struct emu_cache_config config = {.size = 16 << 10, .ways = 16};
	const size_t bytes = (size_t)wavefronts * EMU_LANES * stack;
	char *const stacks =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	double each = 0;

	limit.count = wavefronts * EMU_LANES;
	limit.fibers = calloc(limit.count, sizeof *limit.fibers);
	if (stacks != MAP_FAILED) {
		(void)madvise(stacks, bytes, MADV_HUGEPAGE); /* as the emulator does for this many */
	}
	if (stacks != MAP_FAILED && limit.fibers && emu_cache_init(&limit.cache, &config) == 0) {
		NVW_FOR(i, HIT_WORDS / LINE_WORDS) {
			emu_cache_assign(&limit.cache, emu_cache_victim(&limit.cache, i), i);
		}
		NVW_FOR(i, limit.count) {
			char *const bottom = stacks + i * stack;

			/* Staggered like the emulator's. */
			limit.fibers[i] =
				emu_fiber_prepare(bottom, bottom + stack - 64 * (i * 7 % 32), look_up);
		}
		limit.left = limit.count; /* every stack has been touched */
		limit.at = 0;
		emu_fiber_switch(&here, &limit.fibers[0]);
		limit.left = accesses;
		each = seconds();
		emu_fiber_switch(&here, &limit.fibers[limit.at]);
		each = (seconds() - each) / (double)accesses;
		emu_cache_finish(&limit.cache);
	}
	free(limit.fibers);
	if (stacks != MAP_FAILED) {
		munmap(stacks, bytes);
	}
	return each;
}

/* Against a machine with so many wavefronts that do nothing but hit. */
static int compare_with_limit(struct emu_config config, unsigned wavefronts)
{
	const unsigned accesses = part_of(LIMIT_ACCESSES);
	const double bare = limit_of(wavefronts, config.stack, accesses);
	struct args hits = {.rounds = 1 + accesses / (wavefronts * EMU_LANES)};
	struct nvw_machine *m;
	int r;

	config.cus = (wavefronts + CU_WAVEFRONTS - 1) / CU_WAVEFRONTS;
	r = emu_create(&config, NULL, NULL, &m);
	if (r == 0) {
		struct args touch = hits;
		double each = 0;

		touch.rounds = 1;
		touch.words = hits.words = nvw_alloc(m, 8 * HIT_WORDS);
		r = nvw_launch(m, "touch", hit, &touch, wavefronts * EMU_LANES, EMU_LANES);
		if (r == 0) {
			r = time_launch(m, "hits", hit, &hits, wavefronts * EMU_LANES, EMU_LANES, &each);
		}
		printf("%10u %16.1f %34.1f %10.2f\n", wavefronts, 1e9 * each, 1e9 * bare, each / bare);
		emu_destroy(m);
	}
	return r;
}

static int print_limit(const struct emu_config *config)
{
	static const unsigned wavefronts[] = {1, 40, 160, 640};

	printf("\n%10s %16s %34s %10s\n", "wavefronts", "hits, ns/access",
		"a switch and a look-up, ns/access", "ratio");
	NVW_EACH(n, wavefronts, NVW_COUNT(wavefronts)) {
		NVW_TRY(compare_with_limit(*config, *n));
	}
	return 0;
}

/* "hits=N" or "scattered=N": only such a kernel, N accesses a work-item, for those who count instructions. */
static int run_kernel(const struct emu_config *config, const char *what)
{
	const bool hits = strncmp(what, "hits=", 5) == 0;
	struct args args = {.lines = FOOTPRINT / 64};
	struct nvw_machine *m;
	int r;

	if (hits || strncmp(what, "scattered=", 10) == 0) {
		args.rounds = (unsigned)strtoul(strchr(what, '=') + 1, NULL, 10);
	}
	NVW_FAIL_IF(!args.rounds, NVW_E_USAGE,
		"%s: hits=N or scattered=N was expected, N accesses a work-item", what);
	r = emu_create(config, NULL, NULL, &m);
	if (r == 0) {
		args.words = nvw_alloc(m, hits ? 8 * HIT_WORDS : FOOTPRINT);
		r = nvw_launch(m, what, hits ? hit : scatter, &args, WORK_ITEMS, 256);
		printf("%llu operations\n", (unsigned long long)emu_statistics(m)->work_item_ops);
		emu_destroy(m);
	}
	return r;
}

static int measure_all(struct nvw_machine *m, double bare)
{
	struct args hits = {.words = nvw_alloc(m, 8 * HIT_WORDS), .rounds = part_of(2000)};
	struct args scattered = {
		.words = nvw_alloc(m, FOOTPRINT), .lines = FOOTPRINT / 64, .rounds = part_of(400)};

	printf("%-28s %8.2f M switches/s\n", "bare fiber switch", 1e-6 / bare);
	NVW_TRY(measure_kernel(m, "coalesced L1 hits", hit, &hits, bare));
	NVW_TRY(measure_kernel(m, "scattered, 40 MB, warming", scatter, &scattered, bare));
	return measure_kernel(m, "scattered, 40 MB", scatter, &scattered, bare);
}

static int run_all(const struct emu_config *description)
{
	struct emu_config config = *description;
	struct nvw_machine *m;
	const double bare = bare_switch(2 * part_of(SWITCHES / 2));
	struct rusage usage;
	int r;

	r = emu_create(&config, NULL, NULL, &m);
	if (r == 0) {
		r = measure_all(m, bare);
		emu_destroy(m);
	}
	NVW_TRY(r);
	getrusage(RUSAGE_SELF, &usage);
	printf("%-28s %8.2f KiB a resident work-item beyond the data\n", "memory",
		((double)usage.ru_maxrss - FOOTPRINT / 1024.0) / WORK_ITEMS);
	return print_limit(&config);
}

int main(int argc, char **argv)
{
	struct emu_config config;

	emu_config_default(&config);
	return exit_status(argc > 1 ? run_kernel(&config, argv[1]) : run_all(&config));
}
