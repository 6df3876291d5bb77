/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery looked through: what nvw_recover() would do with one word, without running it.
 *
 * Recovery refuses a pool if one word of the epoch status table, one entry of the undo log, one word of the
 * chunk table or one block word is damaged; each of these is judged alone. Otherwise it changes
 *	a word that entries of open epochs name: the newest entries are restored first, stream by stream, so
 *		the value of the oldest entry of the last such stream stays;
 *	a block word that names an epoch which did not complete;
 *	the words of the epoch status table, of which this knows nothing: an open epoch shows in the whole
 *	log.
 * So a word after recovery is a function of few words before it.
 */
#ifndef RECOVERY_THROUGH_H
#define RECOVERY_THROUGH_H

#include "entry.h"

struct rec_through {
	const struct nvw_pool *before; /* the pool, not recovered */
	/* The stream's epochs up to this one have completed; what the epoch status table says is not looked
	 * at for them. 0: not known. */
	uint64_t (*completed)(void *context, uint32_t stream);
	void *context;
};

/* Judges one entry; NVW_E_DAMAGED with recovery's message. */
NVW_CHECKED int rec_through_entry(
	const struct rec_through *through, uint32_t stream, uint32_t entry, struct rec_entry *ret_entry);

/* Whether the entry restores the word at off, and its old value: all that recovery makes of the entry for
 * this word. It asks for no more (nvw_pool_ask()). A damaged entry gives false; rec_through_entry() judges
 * it. */
bool rec_through_restores(
	const struct rec_through *through, uint32_t stream, uint32_t entry, nvw_off off, uint64_t *ret_value);

/* Judges the word of a stream, or of a chunk. */
NVW_CHECKED int rec_through_stream(const struct rec_through *through, uint32_t stream);
NVW_CHECKED int rec_through_chunk(const struct rec_through *through, uint64_t chunk);

/* Is there a block word at off? It looks at the chunk's word alone. */
bool rec_through_is_block_word(const struct rec_through *through, nvw_off off);

/* Judges a block word; *ret_word is what recovery leaves there. */
NVW_CHECKED int rec_through_block(const struct rec_through *through, nvw_off word_off, uint64_t *ret_word);

#endif
