/* SPDX-License-Identifier: BSD-3-Clause */
/* See filled.h. */
#include "filled.h"

#include <string.h>

#include "bounds.h"
#include "invariant.h"

uint64_t nvw__filled_pages(uint64_t bytes)
{
	return (bytes + NVW__FILLED_PAGE - 1) / NVW__FILLED_PAGE;
}

uint64_t nvw__filled_next(const uint8_t *map, uint64_t page, uint64_t pages)
{
	uint64_t eight = 0;

	NVW_DEEP_INVARIANT(page <= pages);
	while (page < pages && map[page] == 0) {
		if (page + 8 > pages) {
			page++;
			continue;
		}
		memcpy(&eight, map + page, sizeof eight);
		page += eight == 0 ? 8 : 1;
	}
	NVW_DEEP_INVARIANT(page <= pages);
	return page;
}

void nvw__filled_copy(uint8_t *to, const uint8_t *from, const uint8_t *map, uint64_t bytes)
{
	const uint64_t pages = nvw__filled_pages(bytes);

	NVW_DEEP_INVARIANT(to + bytes <= from || from + bytes <= to);
	if (!map) {
		memcpy(to, from, bytes);
		return;
	}
	for (uint64_t i = nvw__filled_next(map, 0, pages); i < pages;
		i = nvw__filled_next(map, i + 1, pages)) {
		const uint64_t off = i * NVW__FILLED_PAGE;

		memcpy(to + off, from + off, nvw_min(bytes - off, NVW__FILLED_PAGE));
	}
}

void nvw__filled_mark(uint8_t *map, uint64_t off, uint64_t bytes)
{
	NVW_DEEP_INVARIANT(map != NULL || bytes == 0);
	for (uint64_t i = off / NVW__FILLED_PAGE; bytes > 0 && i <= (off + bytes - 1) / NVW__FILLED_PAGE;
		i++) {
		map[i] = 1;
	}
}
