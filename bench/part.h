/* SPDX-License-Identifier: BSD-3-Clause */
/* PART=N in the environment has the benchmarks do 1/N of their work, to see that they run. */
#ifndef BENCH_PART_H
#define BENCH_PART_H

#include <stdlib.h>

/* 1/PART of so much work, but some. */
static inline unsigned part_of(unsigned work)
{
	const char *const text = getenv("PART");
	const long part = text ? strtol(text, NULL, 10) : 1;

	if (part <= 1) {
		return work;
	}
	return work > part ? work / (unsigned)part : 1;
}

#endif
