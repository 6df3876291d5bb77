/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of statistics, from stats.def and device_stats.def. */
#include "../machine.h"

#include "core/each.h"

static const struct emu_stat_info table[] = {
#define STAT(field, name, unit, meaning) {name, unit, meaning, offsetof(struct emu_stats, field)},
#include "stats.def"
#undef STAT
};

const struct emu_stat_info *emu_stat_table(unsigned *ret_count)
{
	*ret_count = NVW_COUNT(table);
	return table;
}

static const struct emu_stat_info device_table[] = {
#define STAT(field, name, unit, meaning) {name, unit, meaning, offsetof(struct emu_device_stats, field)},
#include "core/each.h"
#include "device_stats.def"
#undef STAT
};

const struct emu_stat_info *emu_device_stat_table(unsigned *ret_count)
{
	*ret_count = NVW_COUNT(device_table);
	return device_table;
}
