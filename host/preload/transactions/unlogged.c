/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that no undo log can take back: those that were found, and the rule for transactions that a program
 * has annotated (annotations.c). A store of a program built by nvwave-cc within one must go to what was added
 * to it.
 */
#include "ranges.h"

#include "core/each.h"

static struct host_ranges *ignored; /* of all threads; under the lock */

void host_note_unlogged(const struct host_unlogged *found)
{
	NVW_INVARIANT(host_self.inside && host_control->unlogged_count <= HOST_UNLOGGED_MAX);

	struct host_control *const c = host_control;

	NVW_EACH(unlogged, c->unlogged, c->unlogged_count) {
		if (unlogged->store == found->store && unlogged->begun == found->begun) {
			unlogged->times++;
			return;
		}
	}
	if (c->unlogged_count < HOST_UNLOGGED_MAX) {
		c->unlogged[c->unlogged_count++] = *found;
	} else {
		c->unlogged_more++;
	}
}

struct host_annotated *host_annotated(void)
{
	if (host_self.annotated == NULL) {
		host_self.annotated = host_memory(sizeof *host_self.annotated);
	}
	return host_self.annotated;
}

void host_annotated_ignore(const void *at, size_t n)
{
	NVW_INVARIANT(host_self.inside);
	if (ignored == NULL) {
		ignored = host_memory(sizeof *ignored);
	}
	if (ignored != NULL) {
		host_ranges_add(ignored, at, n);
	}
}

struct host_unlogged host_unlogged_of(
	const struct host_mapping *m, const struct host_pending *p, uint32_t begun)
{
	NVW_DEEP_INVARIANT(p->address - m->start < m->length);

	const struct host_bytes own = {p->address, p->n}, whole = p->whole.n > 0 ? p->whole : own;

	return (struct host_unlogged){.store = p->site,
		.begun = begun,
		.file = (uint32_t)m->file,
		.bytes = (uint32_t)p->n,
		.at = (uint32_t)(p->address - whole.address),
		.whole = (uint32_t)whole.n,
		.off = m->off + (p->address - m->start),
		.times = 1};
}

void host_check_annotated(const struct host_mapping *m, const struct host_pending *p)
{
	const struct host_annotated *const t = host_self.annotated;

	if (t == NULL || t->depth == 0 || m->file < 0 || host_ranges_cover(&t->ranges, p->address, p->n) ||
		(ignored != NULL && host_ranges_cover(ignored, p->address, p->n))) {
		return;
	}
	struct host_unlogged found = host_unlogged_of(m, p, t->begun);

	found.annotated = true;
	host_note_unlogged(&found);
}
