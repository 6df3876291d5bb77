/* SPDX-License-Identifier: BSD-3-Clause */
/* See figures.h. */
#include "figures.h"

int figures_describe(struct nvw_description *description, const struct figure *rows, unsigned count)
{
	int error = 0;

	for (unsigned i = 0; error == 0 && i < count; i++) {
		error = nvw_describe_u64(
			description, rows[i].name, rows[i].value, rows[i].unit, rows[i].meaning);
	}
	return error;
}
