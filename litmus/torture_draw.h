/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two halves of torture_generate() share: the machine is drawn first, then the program. */
#ifndef LITMUS_TORTURE_DRAW_H
#define LITMUS_TORTURE_DRAW_H

#include <nvw/random.h>

#include "torture_program.h"

static inline unsigned torture_drawn(struct nvw_random *random, unsigned bound)
{
	return (unsigned)nvw_random_below(random, bound);
}

static inline bool torture_chance(struct nvw_random *random, unsigned percent)
{
	return torture_drawn(random, 100) < percent;
}

/* Later additions are drawn separately, so that the programs of a seed do not change. */
static inline struct nvw_random torture_drawn_apart(uint64_t seed)
{
	return (struct nvw_random){nvw_mix64(seed ^ 0x6f7074696f6e73)};
}

/* Draws the machine, with the program's settings applied, and how many work-groups it runs. */
NVW_CHECKED int torture_draw_machine(
	struct torture_program *p, const char *protocol, struct nvw_random *random);

#endif
