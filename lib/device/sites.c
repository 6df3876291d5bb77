/* SPDX-License-Identifier: BSD-3-Clause */
/* See sites.h. Each source file with kernels tells the section of its program or shared object when that is
 * loaded. */
#include "device/sites.h"

#include <stdlib.h>

#include "core/each.h"
#include "core/invariant.h"

struct range {
	struct nvw_site *begin;
	unsigned count;
};

static struct range *ranges; /* as long as the process: shared objects are not unloaded */
static unsigned range_count;

void nvw__have_sites(struct nvw_site *begin, struct nvw_site *end)
{
	NVW_INVARIANT(begin <= end);
	NVW_EACH(range, ranges, range_count) {
		if (range->begin == begin) {
			return;
		}
	}
	struct range *const more = realloc(ranges, (range_count + 1) * sizeof *ranges);

	if (more) {
		ranges = more;
		ranges[range_count++] = (struct range){begin, (unsigned)(end - begin)};
	}
}

unsigned nvw__site_count(void)
{
	unsigned count = 0;

	NVW_EACH(range, ranges, range_count) {
		count += range->count;
	}
	return count;
}

const struct nvw_site *nvw__site(unsigned i)
{
	const struct range *r = ranges;

	NVW_DEEP_INVARIANT(i < nvw__site_count());
	while (i >= r->count) {
		i -= r->count;
		r++;
	}
	return &r->begin[i];
}

void nvw__sites_forget(void)
{
	NVW_EACH(range, ranges, range_count) {
		NVW_EACH(begin, range->begin, range->count) {
			begin->executed = 0;
		}
	}
}
