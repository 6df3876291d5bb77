/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranges of a workload's numeric options, one row per option. */
#ifndef WORKLOADS_COMMON_BOUNDS_H
#define WORKLOADS_COMMON_BOUNDS_H

#include <assert.h>

#include <nvw/workload.h>

struct bounds {
	const char *option;
	uint64_t least, most;
};

/* NVW_E_USAGE with a message that names workload and option, if a value is out of range. */
NVW_CHECKED int bounds_check(
	const char *workload, const struct nvw_options *options, const struct bounds *rows, unsigned count);

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* How many parts of a size hold count; the last one may be smaller. */
static inline uint64_t u64_parts(uint64_t count, uint64_t size)
{
	assert(size > 0);
	return (count + size - 1) / size;
}

#define BOUNDS_CHECK(workload, options, rows) \
	bounds_check(workload, options, rows, sizeof(rows) / sizeof *(rows))

#endif
