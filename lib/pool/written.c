/* SPDX-License-Identifier: BSD-3-Clause */
/* See written.h. */
#include "written.h"

#include <errno.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/invariant.h"

#include "internal.h"

static bool knows_holes(const struct nvw_pool *pool)
{
	return pool->has_holes && (pool->shared || pool->words_written == 0);
}

static void ask_file(const struct nvw_pool *pool, nvw_off off, struct nvw__written *walk)
{
	const off_t data = lseek(pool->lock_fd, (off_t)off, SEEK_DATA);

	if (data >= 0) {
		const off_t hole = lseek(pool->lock_fd, data, SEEK_HOLE);

		walk->from = (nvw_off)data;
		walk->to = pool->geometry.bytes;
		if (hole > data) {
			walk->to = (nvw_off)hole;
		}
	} else if (errno == ENXIO) {
		walk->from = walk->to; /* no data behind it */
	}
}

nvw_off nvw__written_from(const struct nvw_pool *pool, nvw_off off, struct nvw__written *walk)
{
	NVW_INVARIANT(off >= walk->begin); /* a walk ascends */
	if (off >= walk->to) {
		*walk = (struct nvw__written){off, off, pool->geometry.bytes};
		if (knows_holes(pool)) {
			ask_file(pool, off, walk);
		}
	}
	NVW_INVARIANT(walk->begin <= walk->from && walk->from <= walk->to);
	return nvw_max(off, walk->from);
}
