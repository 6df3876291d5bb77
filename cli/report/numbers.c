/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of numbers. See numbers.h. */
#include "numbers.h"

#include <string.h>

#include <emu.h>

static const struct cli_number table[] = {
#define NUMBER(name, unit, meaning) {name, unit, meaning},
#include "numbers.def"
#undef NUMBER
};

enum { NUMBERS = sizeof table / sizeof *table };

const struct cli_number *cli_number_table(unsigned *ret_count)
{
	*ret_count = NUMBERS;
	return table;
}

static bool statistic(
	const struct emu_stat_info *stats, unsigned count, const char *name, struct cli_number *ret)
{
	for (unsigned i = 0; i < count; i++) {
		if (!strcmp(stats[i].name, name)) {
			*ret = (struct cli_number){stats[i].name, stats[i].unit, stats[i].meaning};
			return true;
		}
	}
	return false;
}

/* "device.NAME.reads" */
static bool device_statistic(const char *name, struct cli_number *ret)
{
	const char *const end = strrchr(name, '.');
	unsigned count;
	const struct emu_stat_info *const stats = emu_device_stat_table(&count);

	return !strncmp(name, "device.", 7) && end > name + 7 && statistic(stats, count, end + 1, ret);
}

/* "latency.load.p99" (latencies.c): all of them are times, but for the numbers of operations. */
static bool latency(const char *name, struct cli_number *ret)
{
	const char *const end = strrchr(name, '.');

	if (strncmp(name, "latency.", 8) || !end ||
		(strcmp(end, ".p50") && strcmp(end, ".p99") && strcmp(end, ".p999") && strcmp(end, ".max"))) {
		return false;
	}
	*ret = (struct cli_number){name, "ps", name};
	return true;
}

bool cli_number_named(const char *name, struct cli_number *ret)
{
	unsigned count;
	const struct emu_stat_info *const stats = emu_stat_table(&count);

	for (unsigned i = 0; i < NUMBERS; i++) {
		if (!strcmp(table[i].name, name)) {
			*ret = table[i];
			return true;
		}
	}
	return statistic(stats, count, name, ret) || device_statistic(name, ret) || latency(name, ret);
}
