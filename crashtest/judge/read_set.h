/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a checker read of a state: memory that the judging process shares with the forks of its fork server.
 * The judge says which words of the file may differ between states; the fork lists those that it reads before
 * it has overwritten them, in the order of their first reads.
 *
 * A fork that does something whose reads cannot be seen says so and ends at once: its state is asked again
 * without being observed. So a set is either whole or absent.
 */
#ifndef CRASHTEST_READ_SET_H
#define CRASHTEST_READ_SET_H

#include <stdint.h>

enum { CT_READ_PAGE = 4096, CT_READ_WORDS_MAX = 1 << 16, CT_READ_BITS = CT_READ_PAGE / 512 };

/* A page that has been opened late, for a few words of which nothing was learnt, is opened soon in other
 * forks. That is for the judge to set: forks that are compared do the same. Where what is read is itself the
 * answer, bytes count, and no page is opened before all of its words are known, unless it would take
 * seconds. */
enum ct_haste { CT_PATIENT, CT_HASTY, CT_WAS_LATE, CT_EXACT };

struct ct_read_set {
	uint64_t device, inode; /* of the file */
	uint64_t pages;         /* of the file, the last one perhaps a part */
	/* The last observed fork has these: */
	volatile uint32_t began;
	volatile uint32_t gave_up; /* no set */
	volatile uint32_t call;    /* the system call in which it gave up, and 1; 0: in none */
	volatile uint32_t count;
	uint32_t word[CT_READ_WORDS_MAX]; /* numbers of words of 8 bytes */
	uint8_t bytes[CT_READ_WORDS_MAX]; /* of them: exact ones are in the list once for each that differs */
	/* Per page: bits of the words that may differ. Behind them, at ct_read_pages(), a byte per page that
	 * has some, and one that tells how soon it is opened (enum ct_haste). */
	uint64_t varies[][CT_READ_BITS];
};

static inline uint8_t *ct_read_pages(struct ct_read_set *set)
{
	return (uint8_t *)set->varies[set->pages];
}

static inline uint8_t *ct_read_haste(struct ct_read_set *set)
{
	return ct_read_pages(set) + set->pages;
}

/* In a fork, before it goes on into main(): from now on its reads are seen, or it ends. */
void ct_observe(struct ct_read_set *set);

#endif
