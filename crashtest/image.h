/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The image of a pool that crash states are made in: one copy of the bytes, changed in place, with an
 * undo log, so that a state costs what it touches and not what the pool is large.
 *
 * It is mapped twice: read-write for the explorer, read-only for recovery and check, whose stray writes
 * therefore fault instead of passing from one state into the next.
 */
#ifndef CRASHTEST_IMAGE_H
#define CRASHTEST_IMAGE_H

#include <nvw/pool.h>

struct ct_image {
	uint8_t *rw;
	const uint8_t *ro;
	uint64_t bytes; /* a multiple of 8 */
	uint64_t hash;  /* xor over all words of a hash of place and value, relative to the first content */
	struct ct_undo {
		nvw_off off; /* of an aligned word */
		uint64_t old;
	} * undo;
	uint64_t undo_count, undo_capacity;
	struct nvw_pool_reads *reads; /* words that were looked at (nvw/pool.h); NULL: nobody asks */
};

/* A copy of bytes bytes at content. */
NVW_CHECKED int ct_image_create(const void *content, uint64_t bytes, struct ct_image *ret_image);
/* From now on reads are kept, by judges that can. */
NVW_CHECKED int ct_image_track(struct ct_image *image);
/* Nothing has been looked at. */
void ct_image_forget_reads(struct ct_image *image);

void ct_image_destroy(struct ct_image *image);

/* Sets an aligned word; remembers the old one. Never fails: running out of memory for the undo log ends the
 * process, as a worker's death. */
void ct_image_set(struct ct_image *image, nvw_off off, uint64_t value);

/* As nvw_pool_image.write: n bytes within one word. NVW_E_DAMAGED outside the image. */
int ct_image_write(void *image, nvw_off off, const void *from, size_t n);

static inline uint64_t ct_image_word(const struct ct_image *image, nvw_off off)
{
	return *(const uint64_t *)(image->rw + off);
}

/* Takes back all since the undo log had mark entries. */
void ct_image_undo(struct ct_image *image, uint64_t mark);

/* Makes all since then the base that undo goes back to. */
void ct_image_commit(struct ct_image *image);

#endif
