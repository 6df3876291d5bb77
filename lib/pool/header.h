/* SPDX-License-Identifier: BSD-3-Clause */
/* For recovery: which of the two header pages is damaged, and its repair. */
#ifndef NVW_POOL_HEADER_H
#define NVW_POOL_HEADER_H

#include <nvw/pool.h>

/*
 * The page that must be rewritten from the other: 0 if both are intact, otherwise its page number + 1 (1: the
 * header, 2: the copy). The pool is open, so at least one page is intact.
 */
unsigned nvw__header_damaged(const struct nvw_pool *pool);

/* Writes that page from the other one, changed words only. A crash in between leaves the same repair to
 * do. */
NVW_CHECKED int nvw__header_repair(struct nvw_pool *pool, unsigned damaged);

/* An image of a recovered pool that is made word by word (nvw_pool_image.recovered). */
bool nvw__is_recovered(const struct nvw_pool *pool);

#endif
