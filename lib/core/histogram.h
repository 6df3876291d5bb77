/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of times: 64 buckets of equal width for each power of two, so that a quantile is wrong by 1/64
 * at most, and never too low. A histogram of zeros is empty.
 */
#ifndef CORE_HISTOGRAM_H
#define CORE_HISTOGRAM_H

#include <stdint.h>

enum {
	NVW_HISTOGRAM_STEP_BITS = 6,
	NVW_HISTOGRAM_STEPS = 1 << NVW_HISTOGRAM_STEP_BITS,
	NVW_HISTOGRAM_BUCKETS = (64 - NVW_HISTOGRAM_STEP_BITS + 1) * NVW_HISTOGRAM_STEPS
};

struct nvw_histogram {
	uint64_t count, longest;
	uint64_t bucket[NVW_HISTOGRAM_BUCKETS];
};

void nvw_histogram_add(struct nvw_histogram *histogram, uint64_t time);
void nvw_histogram_merge(struct nvw_histogram *to, const struct nvw_histogram *from);
/* The time that so many of 1,000 do not exceed; 0 if there is none. */
uint64_t nvw_histogram_quantile(const struct nvw_histogram *histogram, unsigned per_mille);

#endif
