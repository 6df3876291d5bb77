/* SPDX-License-Identifier: BSD-3-Clause */
/* See bounds.h. */
#include "bounds.h"

#include <assert.h>
#include <inttypes.h>

int bounds_check(
	const char *workload, const struct nvw_options *options, const struct bounds *rows, unsigned count)
{
	NVW_FOR(i, count) {
		const uint64_t value = nvw_option_u64(options, rows[i].option);

		assert(rows[i].least <= rows[i].most);
		NVW_FAIL_IF(value < rows[i].least || value > rows[i].most, NVW_E_USAGE,
			"%s: --%s: expected %" PRIu64 " to %" PRIu64 ", found %" PRIu64, workload,
			rows[i].option, rows[i].least, rows[i].most, value);
	}
	return 0;
}
