/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The image of a pool in which crash states are made: one copy of the bytes, changed in place, with an undo
 * log, so that the cost of a state depends on the changed bytes and not on the size of the pool.
 *
 * It is mapped twice: read-write for the explorer, read-only for recovery and check, whose stray writes
 * therefore fault instead of affecting the next state.
 */
#ifndef CRASHTEST_IMAGE_H
#define CRASHTEST_IMAGE_H

#include <nvw/pool.h>

enum {
	CT_PAGE = 4096,
	CT_PAGE_BITS = CT_PAGE / (8 * 64)
}; /* words of 64 bits, one for each word of a page */

struct ct_image {
	uint8_t *rw;
	const uint8_t *ro;
	uint64_t bytes; /* a multiple of 8 */
	uint64_t hash;  /* xor over all words of a hash of offset and value; 0 for the initial content */
	struct ct_undo {
		nvw_off off; /* offset of an aligned word */
		uint64_t old;
	} * undo;
	uint64_t undo_count, undo_capacity;
	uint64_t serial;  /* number of this process's images, from 1; 0: not made by ct_image_create() */
	uint8_t *filled;  /* 1 per page that may have other bytes than 0; NULL: not recorded */
	uint8_t *touched; /* 1 per page written since it was last set to 0; NULL: not recorded */
	uint64_t *
		/* a bit per word that has been written, or may be in a later state (ct_image_foresee) */
		varies;
	struct nvw_pool_reads *reads; /* words that were read (nvw/pool.h); NULL: not recorded */
	uint64_t *alike; /* states that had the answer of another one are counted here; NULL: not */
	struct ct_recoveries
		*recoveries; /* the work of recovery is noted here, by judges that know it; NULL: not */
};

/* A copy of bytes bytes at content. filled: its map (core/filled.h); NULL: all of it is looked at. */
NVW_CHECKED int ct_image_create(
	const void *content, const uint8_t *filled, uint64_t bytes, struct ct_image *ret_image);
/* Becomes a copy of itself, which no other process shares. */
NVW_CHECKED int ct_image_own(struct ct_image *image);
/* From now on reads are recorded, by judges that support it. */
NVW_CHECKED int ct_image_track(struct ct_image *image);
/* The word may have other values in states to come. */
static inline void ct_image_vary(struct ct_image *image, nvw_off off)
{
	image->varies[off / (8 * 64)] |= UINT64_C(1) << off / 8 % 64;
	image->touched[off / CT_PAGE] = 1;
}

/* Words that vary in another image of the same bytes, none of whose pages has been forgotten in touched, vary
 * in this one. */
void ct_image_foresee(struct ct_image *image, const struct ct_image *other);

/* Discards the recorded reads. */
void ct_image_forget_reads(struct ct_image *image);

void ct_image_destroy(struct ct_image *image);

/* Sets an aligned word; remembers the old one. Never fails: if the undo log runs out of memory, the process
 * ends, like a dying worker. */
void ct_image_set(struct ct_image *image, nvw_off off, uint64_t value);
/* The same of bytes within a word. */
void ct_image_set_bytes(struct ct_image *image, nvw_off off, const void *from, size_t n);

/* For nvw_pool_image.write: n bytes within one word. NVW_E_DAMAGED outside the image. */
int ct_image_write(void *image, nvw_off off, const void *from, size_t n);

static inline uint64_t ct_image_word(const struct ct_image *image, nvw_off off)
{
	return *(const uint64_t *)(image->rw + off);
}

/* Undoes all changes since the undo log had mark entries. */
void ct_image_undo(struct ct_image *image, uint64_t mark);

/* Makes the present content the base of later undos. */
void ct_image_commit(struct ct_image *image);

#endif
