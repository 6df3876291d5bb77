/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow by doubling: a pointer, and the number of elements that there is room for. */
#ifndef CORE_ARRAY_H
#define CORE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for count elements at at, which has room for capacity elements; both are updated in place. New
 * room is zeroed. False if there is no memory: then nothing changes. The caller frees at. count is evaluated
 * twice.
 */
#define NVW_ROOM(at, capacity, count)                                                                \
	((count) <= (capacity) || __extension__({                                                    \
		void *room_at_ = (at);                                                               \
		uint64_t room_capacity_ = (capacity);                                                \
		const bool has_room_ = nvw__room(&room_at_, &room_capacity_, (count), sizeof *(at)); \
                                                                                                     \
		(at) = room_at_;                                                                     \
		(capacity) = (__typeof__(capacity))room_capacity_;                                   \
		has_room_;                                                                           \
	}))

/* The same for elements of this many bytes. */
bool nvw__room(void **at, uint64_t *capacity, uint64_t count, size_t bytes);

#endif
