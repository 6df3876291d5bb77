/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of numbers. See numbers.h. */
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

#include <emu.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/invariant.h"
#include "core/units.h"

static const struct cli_number table[] = {
#define NUMBER(name, unit, meaning) {name, unit, meaning},
#include "numbers.def"
#undef NUMBER
};

enum { NUMBERS = NVW_COUNT(table) };

/* The same names, and between them the commands whose reports have them. */
static const struct {
	const char *command, *name;
} places[] = {
#define OF(command)                 {#command, NULL},
#define NUMBER(name, unit, meaning) {NULL, name},
#include "numbers.def"
#undef NUMBER
};

const struct cli_number *cli_number_table(unsigned *ret_count)
{
	*ret_count = NUMBERS;
	return table;
}

static bool statistic(
	const struct emu_stat_info *stats, unsigned count, const char *name, struct cli_number *ret)
{
	const struct emu_stat_info *const stat = NVW_FIND(one, stats, count, !strcmp(one->name, name));

	if (stat) {
		*ret = (struct cli_number){stat->name, stat->unit, stat->meaning};
	}
	return stat;
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

static bool is_of_machine(const char *name, struct cli_number *ret)
{
	unsigned count;
	const struct emu_stat_info *const stats = emu_stat_table(&count);

	return statistic(stats, count, name, ret) || device_statistic(name, ret) || latency(name, ret);
}

bool cli_number_named(const char *name, struct cli_number *ret)
{
	const struct cli_number *const own = NVW_FIND(one, table, NUMBERS, !strcmp(one->name, name));

	if (own) {
		*ret = *own;
	}
	return own || is_of_machine(name, ret);
}

/* Whether numbers.def has the name below a command's. */
static bool is_there(const char *command, const char *name)
{
	const char *of = "";

	NVW_EACH_IN(place, places) {
		if (place->command) {
			of = place->command;
		} else if (!strcmp(of, command) && !strcmp(place->name, name)) {
			return true;
		}
	}
	return false;
}

bool cli_number_is_of(const char *command, const char *name)
{
	struct cli_number ignored;

	if (is_there(command, name) || is_there("any", name)) {
		return true;
	}
	return !strcmp(command, "run") && is_of_machine(name, &ignored);
}

/* Behind n of them, those of numbers.def that are a command's. */
static unsigned add_places(const char *command, const char **names, unsigned n)
{
	const char *of = "";

	NVW_EACH_IN(place, places) {
		if (place->command) {
			of = place->command;
		} else if (!strcmp(of, command)) {
			names[n++] = place->name;
		}
	}
	return n;
}

const char *cli_number_nearest(const char *command, const char *name)
{
	unsigned count, n = 0;
	const struct emu_stat_info *const stats = emu_stat_table(&count);
	const char **const names = calloc(count + NUMBERS + 1, sizeof *names);
	const char *near;

	if (!names) {
		return NULL;
	}
	for (unsigned i = 0; !strcmp(command, "run") && i < count; i++) {
		names[n++] = stats[i].name;
	}
	n = add_places(command, names, n);
	NVW_INVARIANT(n <= count + NUMBERS);
	names[n] = NULL;
	near = nvw_nearest(name, names);
	free(names);
	return near;
}

bool cli_number_group(const char *name)
{
	const char *const dot = strchr(name, '.');
	unsigned count;
	const struct emu_stat_info *const stats = emu_stat_table(&count);

	return dot && NVW_ANY(stat, stats, count, !strncmp(stat->name, name, (size_t)(dot - name) + 1));
}
