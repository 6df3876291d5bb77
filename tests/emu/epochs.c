/* SPDX-License-Identifier: BSD-3-Clause */
/* See epochs.h. */
#include "epochs.h"

void ladder(const void *args)
{
	const struct words *const w = args;
	uint64_t *const mine = w->a + 16 * nvw_global_id();

	for (unsigned round = 1; round <= w->rounds; round++) {
		nvw_store(&mine[0], round);
		nvw_p_barrier(w->group);
		nvw_store(&mine[8], round);
		nvw_p_barrier(w->group);
		nvw_ack(nvw_global_id() * w->rounds + round - 1);
	}
}

void update_in_epochs(const void *args)
{
	const struct words *const w = args;
	uint64_t *const mine = w->a + 8 * nvw_global_id();

	NVW_FOR(round, w->rounds) {
		nvw_store(mine, nvw_load(mine) + 1);
		nvw_p_barrier(w->group);
	}
}
