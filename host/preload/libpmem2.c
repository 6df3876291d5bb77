/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmem2's interface. It hands out functions that flush, drain and copy: for a map of a file that is
 * emulated persistent memory these are libpmem's, as they are interposed here (libpmem.c). Both libraries
 * have the same flags.
 */
#include <libpmem.h>
#include <libpmem2.h>

#include "preload.h"

_Static_assert(PMEM2_F_MEM_NODRAIN == PMEM_F_MEM_NODRAIN && PMEM2_F_MEM_NOFLUSH == PMEM_F_MEM_NOFLUSH &&
		       PMEM2_F_MEM_TEMPORAL == PMEM_F_MEM_TEMPORAL,
	"a copy's flags mean the same to libpmem");

static bool is_emulated(struct pmem2_map *map)
{
	if (host_control == NULL || host_find(REAL(pmem2_map_get_address)(map)) == NULL) {
		return false;
	}
	host_control->libpmem_calls = 1;
	return true;
}

HOST_EXPORT int pmem2_map_new(
	struct pmem2_map **map_ptr, const struct pmem2_config *cfg, const struct pmem2_source *src)
{
	const uint64_t began = host_began();
	const int error = REAL(pmem2_map_new)(map_ptr, cfg, src);

	if (error == 0 && is_emulated(*map_ptr)) {
		host_thread()->maps++;
		host_delay_read(began, HOST_LINE);
	}
	return error;
}

#define HANDS_OUT(type, name, own)                               \
	HOST_EXPORT type name(struct pmem2_map *map)             \
	{                                                        \
		return is_emulated(map) ? own : REAL(name)(map); \
	}

HANDS_OUT(pmem2_persist_fn, pmem2_get_persist_fn, pmem_persist)
HANDS_OUT(pmem2_flush_fn, pmem2_get_flush_fn, pmem_flush)
HANDS_OUT(pmem2_drain_fn, pmem2_get_drain_fn, pmem_drain)
HANDS_OUT(pmem2_memmove_fn, pmem2_get_memmove_fn, pmem_memmove)
HANDS_OUT(pmem2_memcpy_fn, pmem2_get_memcpy_fn, pmem_memcpy)
HANDS_OUT(pmem2_memset_fn, pmem2_get_memset_fn, pmem_memset)

HOST_EXPORT int pmem2_deep_flush(struct pmem2_map *map, void *ptr, size_t size)
{
	const struct host_caller caller = HOST_CALLER;
	const int error = REAL(pmem2_deep_flush)(map, ptr, size);

	if (error == 0 && is_emulated(map)) {
		host_synced(ptr, size, &caller);
	}
	return error;
}
