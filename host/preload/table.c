/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of mapped files. Lookups take no lock: an entry is valid while its length is not 0; the length is
 * set last and cleared first. mappings.c changes the table.
 */
#include "core/each.h"
#include "preload.h"

struct host_mapping host_mapping[HOST_MAPPINGS_MAX];
/* Each load looks at them: they share no line with what stores change. */
_Alignas(HOST_LINE) uintptr_t host_lowest, host_highest;

struct host_mapping *host_find_slowly(uintptr_t at)
{
	NVW_FOR(i, HOST_MAPPINGS_MAX) {
		if (at - host_mapping[i].start < host_mapping[i].length) {
			host_self.found = i;
			return &host_mapping[i];
		}
	}
	return NULL;
}
