/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of times. See histogram.h. */
#include "histogram.h"

#include "bounds.h"
#include "each.h"
#include "invariant.h"

enum { STEP_BITS = NVW_HISTOGRAM_STEP_BITS, STEPS = NVW_HISTOGRAM_STEPS };

static unsigned bucket_of(uint64_t time)
{
	if (time < STEPS) {
		return (unsigned)time;
	}
	const unsigned power = 64 - STEP_BITS - (unsigned)__builtin_clzll(time);

	return power * STEPS + (unsigned)(time >> (power - 1) & (STEPS - 1));
}

/* The longest time in the bucket. */
static uint64_t end_of(unsigned bucket)
{
	const unsigned power = bucket / STEPS;
	const uint64_t step = bucket % STEPS;

	NVW_INVARIANT(bucket < NVW_HISTOGRAM_BUCKETS);
	if (power == 0) {
		return step;
	}
	return ((STEPS + step + 1) << (power - 1)) - 1;
}

void nvw_histogram_add(struct nvw_histogram *h, uint64_t time)
{
	NVW_INVARIANT(bucket_of(time) < NVW_COUNT(h->bucket));
	h->count++;
	h->longest = nvw_max(h->longest, time);
	h->bucket[bucket_of(time)]++;
}

void nvw_histogram_merge(struct nvw_histogram *to, const struct nvw_histogram *from)
{
	to->count += from->count;
	to->longest = nvw_max(to->longest, from->longest);
	NVW_FOR(i, NVW_COUNT(to->bucket)) {
		to->bucket[i] += from->bucket[i];
	}
}

uint64_t nvw_histogram_quantile(const struct nvw_histogram *h, unsigned per_mille)
{
	const uint64_t rank = (h->count * per_mille + 999) / 1000;
	uint64_t before = 0;

	NVW_INVARIANT(per_mille <= 1000);
	NVW_FOR(i, NVW_COUNT(h->bucket)) {
		before += h->bucket[i];
		if (before >= rank) {
			return nvw_min(end_of(i), h->longest);
		}
	}
	return h->longest;
}
