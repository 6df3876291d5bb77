/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Content of files, of which most may be holes. A byte for each page, its map, says whether the page may have
 * other bytes than 0: the other pages are neither read nor written, so that they take no memory.
 */
#ifndef CORE_FILLED_H
#define CORE_FILLED_H

#include <stdint.h>

enum { NVW__FILLED_PAGE = 4096 };

/* The pages of a map for so many bytes. */
uint64_t nvw__filled_pages(uint64_t bytes);
/* The first page from page on that is filled; at least pages: none. */
uint64_t nvw__filled_next(const uint8_t *map, uint64_t page, uint64_t pages);
/* Copies pages that are filled to memory that is 0. map NULL: all may be. */
void nvw__filled_copy(uint8_t *to, const uint8_t *from, const uint8_t *map, uint64_t bytes);
/* Bytes from off on are written. */
void nvw__filled_mark(uint8_t *map, uint64_t off, uint64_t bytes);

#endif
