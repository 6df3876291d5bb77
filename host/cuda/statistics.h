/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a machine by their names, for reports. */
#ifndef HOST_CUDA_STATISTICS_H
#define HOST_CUDA_STATISTICS_H

#include <emu.h>

#include "core/each.h"
#include "core/member.h"

static inline uint64_t statistic(const struct emu_stats *stats, const struct emu_stat_info *which)
{
	return *(const uint64_t *)(const void *)((const char *)stats + which->offset);
}

static inline json_t *statistics_json(const struct emu_stats *stats)
{
	json_t *const all = json_object();
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);

	NVW_EACH(one, table, count) {
		member_set_count(all, one->name, statistic(stats, one));
	}
	return all;
}

#endif
