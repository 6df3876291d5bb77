/* SPDX-License-Identifier: BSD-3-Clause */
/* Zipfian ranks (zipf.h). The names of variables are those of Gray et al., figure 3. */
#include "zipf.h"

#include <assert.h>
#include <math.h>

#include "bounds.h"

enum { EXACT_TERMS = 1000 };

double zipf_zeta(uint64_t n, double theta)
{
	const uint64_t exact = u64_min(n, EXACT_TERMS);
	double sum = 0;
	assert(theta > 0 && theta < 1);

	for (uint64_t i = 1; i <= exact; i++) {
		sum += pow((double)i, -theta);
	}
	if (n == exact) {
		return sum;
	}

	const double a = (double)exact, b = (double)n;

	/* integral, half of the end terms, first derivative: the next term is below a^-(theta + 3). */
	sum += (pow(b, 1 - theta) - pow(a, 1 - theta)) / (1 - theta);
	sum += (pow(b, -theta) - pow(a, -theta)) / 2;
	sum -= theta * (pow(b, -theta - 1) - pow(a, -theta - 1)) / 12;
	return sum;
}

static void derive(struct zipf *z)
{
	assert(z->items > 0 && z->theta > 0 && z->theta < 1);
	const double zeta2 = 1 + pow(2, -z->theta);

	z->alpha = 1 / (1 - z->theta);
	z->eta = (1 - pow(2.0 / (double)z->items, 1 - z->theta)) / (1 - zeta2 / z->zeta);
}

void zipf_init(struct zipf *z, uint64_t items, double theta)
{
	z->items = items;
	z->theta = theta;
	z->zeta = zipf_zeta(items, theta);
	derive(z);
}

void zipf_grow(struct zipf *z, uint64_t items)
{
	assert(z->items > 0 && z->theta < 1);
	if (items <= z->items) {
		return;
	}
	for (uint64_t i = z->items + 1; i <= items; i++) {
		z->zeta += pow((double)i, -z->theta);
	}
	z->items = items;
	derive(z);
}

uint64_t zipf_next(const struct zipf *z, struct nvw_random *random)
{
	assert(z->items > 0 && z->zeta >= 1);
	const double u = nvw_random_real(random);
	const double uz = u * z->zeta;

	if (uz < 1 || z->items == 1) {
		return 0;
	}
	if (uz < 1 + pow(0.5, z->theta) || z->items == 2) {
		return 1;
	}

	const uint64_t rank = (uint64_t)((double)z->items * pow(z->eta * u - z->eta + 1, z->alpha));

	return u64_min(rank, z->items - 1);
}

/* FNV-1a over the eight bytes of x, low byte first, as YCSB scatters its ranks. */
static uint64_t fnv64(uint64_t x)
{
	uint64_t hash = 0xcbf29ce484222325u;

	NVW_FOR(i, 8) {
		hash = (hash ^ (x & 0xff)) * 0x100000001b3u;
		x >>= 8;
	}
	return hash;
}

uint64_t zipf_scrambled(const struct zipf *z, uint64_t records, struct nvw_random *random)
{
	assert(records > 0);
	return fnv64(zipf_next(z, random)) % records;
}

uint64_t zipf_latest(const struct zipf *z, struct nvw_random *random)
{
	assert(z->items > 0);
	return z->items - 1 - zipf_next(z, random);
}
