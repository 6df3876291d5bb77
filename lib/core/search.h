/* SPDX-License-Identifier: BSD-3-Clause */
/* Searches: by halves in what is in order, and from place to place in a table of hashes. */
#ifndef CORE_SEARCH_H
#define CORE_SEARCH_H

#include <stdint.h>

/* The first number from low on with which the condition holds, as it does with all later ones below high;
 * high: with none. The condition is asked of the middle of what is left:
 *	NVW_FIRST(i, 0, o->edges, o->edge[i].at > stores)
 */
#define NVW_FIRST(number, low, high, condition)                                        \
	__extension__({                                                                \
		__typeof__((high) + 0) low_ = (low), high_ = (high);                   \
                                                                                       \
		while (low_ < high_) {                                                 \
			const __typeof__(low_) number = low_ + (high_ - low_ - 1) / 2; \
                                                                                       \
			if (condition) {                                               \
				high_ = number;                                        \
			} else {                                                       \
				low_ = number + 1;                                     \
			}                                                              \
		}                                                                      \
		low_;                                                                  \
	})

/* The first place from a hash's own on, in a table of room places, a power of two, with which the condition
 * holds: it is the key's, or free. One always is:
 *	NVW_PROBE(i, nvw_mix64(key), t->room, t->key[i] == key || t->key[i] == 0)
 */
#define NVW_PROBE(place, hash, room, condition)           \
	__extension__({                                   \
		uint64_t place = (hash) & ((room)-1);     \
                                                          \
		while (!(condition)) {                    \
			place = (place + 1) & ((room)-1); \
		}                                         \
		place;                                    \
	})

/* The room of such a table for so many keys, at least least: at most half of it is taken. */
static inline uint64_t nvw_probe_room(uint64_t least, uint64_t keys)
{
	while (least < 2 * keys) {
		least *= 2;
	}
	return least;
}

#endif
