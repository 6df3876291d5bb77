/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool in memory that tests of recovery write word by word; its writes can be made to stop. */
#ifndef TESTS_RECOVERY_IMAGE_H
#define TESTS_RECOVERY_IMAGE_H

#include "common/test.h"

#include <stdbool.h>

#include <nvw/recovery.h>

#include "pool/header.h"
#include "pool/internal.h"

enum { STREAMS = 4, ENTRIES = 5 };

struct image {
	uint8_t *bytes;
	uint64_t size;
	uint64_t writes, stop_at; /* the power goes at this write; UINT64_MAX: never */
	struct nvw_pool_geometry g;
	unsigned *asked;              /* the words that were asked for; NULL: they are read */
	struct nvw_pool_reads *reads; /* of the pool as it opens; NULL: not kept */
};

/* Its bytes are freed at the end of its block. */
#define IMAGE(name) struct image name __attribute__((cleanup(image_end)))
void image_end(struct image *im);

/* Counts writes from 0 again. */
int open_image(struct image *im, struct nvw_pool **ret_pool);
struct nvw_pool *opened(struct image *im);
/* A pool is closed at the end of its block. */
#define POOL(name) __attribute__((unused, cleanup(pool_end))) struct nvw_pool *name
void pool_end(struct nvw_pool **pool);

struct image image_new(void); /* an empty pool */
struct image image_copy(const struct image *from);

void put(struct image *im, nvw_off off, uint64_t word);
uint64_t get(const struct image *im, nvw_off off);
void put_sealed(struct image *im, nvw_off off, uint64_t payload);
void put_est(struct image *im, uint32_t stream, enum nvw__est_state state, uint64_t epoch);

/* words: which of the entry's four words are durable. */
void put_entry(struct image *im, uint32_t stream, uint32_t entry, uint64_t epoch, nvw_off off, uint64_t value,
	unsigned words);
void put_block(struct image *im, uint64_t chunk, uint32_t i, enum nvw__block_kind kind, uint32_t stream,
	uint64_t epoch);
nvw_off data_at(const struct image *im, unsigned i);

/*
 * Stream 0: epoch 3 complete. Stream 1: epoch 6 open, two words changed, one of them twice, an allocation and
 * a free. Stream 2: epoch 1 open and torn. Stream 3: epoch 2 was rolled back before. An extent in chunk 1.
 */
struct image built(void);

/* The report may be NULL. */
int recover(struct image *im, struct nvw_recovery *report);
bool allocated(struct image *im, nvw_off off);
void put_headers(struct image *im, const struct nvw_pool *pool); /* both of its headers, as this pool's */

#endif
