/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow by doubling: a pointer, and the number of elements that there is room for. */
#ifndef CORE_ARRAY_H
#define CORE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvw/errors.h>

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

/* Fails with NVW_E_MEMORY, from the calling function, if there is no room:
 *	NVW_GROWN(log->record, log->capacity, log->count + 1, "no memory for a log");
 */
#define NVW_GROWN(at, capacity, count, ...) \
	NVW_FAIL_IF(!NVW_ROOM(at, capacity, count), NVW_E_MEMORY, __VA_ARGS__)

/* NVW_ROOM() for elements of this many bytes. */
bool nvw__room(void **at, uint64_t *capacity, uint64_t count, size_t bytes);

#endif
