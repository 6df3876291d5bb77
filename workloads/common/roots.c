/* SPDX-License-Identifier: BSD-3-Clause */
/* See roots.h. */
#include <assert.h>
#include "roots.h"

int roots_write(
	struct nvw_machine *machine, const struct nvw_pmem *pmem, const uint64_t *words, unsigned count)
{
	assert(count <= NVW_POOL_ROOTS);

	for (unsigned i = count; i-- > 0;) {
		NVW_TRY(nvw_write(machine, pmem->base + nvw_pool_root_off(&pmem->geometry, i), &words[i], 8));
	}
	return 0;
}

int roots_read(struct nvw_machine *machine, const struct nvw_pmem *pmem, uint64_t *ret_words, unsigned count)
{
	assert(count <= NVW_POOL_ROOTS);
	return nvw_read(machine, ret_words, pmem->base + nvw_pool_root_off(&pmem->geometry, 0), 8 * count);
}

int roots_broken(const struct nvw_pool *pool, struct nvw_findings *findings)
{
	return nvw_violation(
		findings, nvw_pool_root_off(nvw_pool_geometry(pool), 0), "%s", nvw_error_message());
}

int roots_refused(const struct nvw_pool *pool, uint64_t part, struct nvw_findings *findings)
{
	if (part > 0) {
		return 0;
	}
	return nvw_violation(findings, nvw_pool_root_off(nvw_pool_geometry(pool), 0),
		"recovery refuses the pool: %s", nvw_error_message());
}
