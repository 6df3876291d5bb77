/* SPDX-License-Identifier: BSD-3-Clause */
/* See figures.h. */
#include "figures.h"

int figures_describe(struct nvw_description *description, const struct figure *rows, unsigned count)
{
	NVW_FOR(i, count) {
		NVW_TRY(nvw_describe_u64(
			description, rows[i].name, rows[i].value, rows[i].unit, rows[i].meaning));
	}
	return 0;
}
