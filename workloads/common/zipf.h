/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zipfian ranks by the method of Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly Generating
 * Billion-Record Synthetic Databases", SIGMOD 1994, and the two request distributions that YCSB
 * (Cooper et al., SoCC 2010) builds on it.
 *
 * Rank 0 is the most popular of n items; rank i has a probability proportional to 1 / (i + 1)^theta.
 */
#ifndef WORKLOADS_COMMON_ZIPF_H
#define WORKLOADS_COMMON_ZIPF_H

#include <nvw/random.h>

#define ZIPF_YCSB_THETA 0.99

/* The number of ranks of YCSB's scrambled generator, whatever the number of records, so that a record's
 * popularity does not change when records are added. */
#define ZIPF_YCSB_ITEMS 10000000000u

struct zipf {
	uint64_t items;
	double theta;
	double alpha, eta, zeta; /* of the paper; zeta is zeta(items, theta) */
};

/* items > 0 and 0 < theta < 1. */
void zipf_init(struct zipf *z, uint64_t items, double theta);

/* Adds items cheaply: only the new terms of zeta are computed. items never shrinks. */
void zipf_grow(struct zipf *z, uint64_t items);

/* The next rank, 0 to items - 1. */
uint64_t zipf_next(const struct zipf *z, struct nvw_random *random);

/*
 * zeta(n, theta), the sum of 1 / i^theta for i = 1 to n: the first terms one by one, the rest by the
 * Euler-Maclaurin formula; relative error below 1e-9.
 */
double zipf_zeta(uint64_t n, double theta);

/* YCSB's "zipfian": popular records are scattered. z has ZIPF_YCSB_ITEMS items. Returns 0 to records - 1. */
uint64_t zipf_scrambled(const struct zipf *z, uint64_t records, struct nvw_random *random);

/* YCSB's "latest": of z->items records, the most recently added is the most popular. */
uint64_t zipf_latest(const struct zipf *z, struct nvw_random *random);

#endif
