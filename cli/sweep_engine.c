/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs the points of a sweep. See sweep.h. */
#include "sweep.h"

int sweep_run(struct sweep *s, const struct sweep_manner *manner, struct sweep_journal *journal)
{
	return manner->engine == SWEEP_SLURM ? sweep_slurm_run(s, manner, journal) :
					       sweep_local_run(s, manner, journal);
}
