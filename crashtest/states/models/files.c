/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files on a disk, behind a page cache, under a file system that orders data before the metadata which
 * uncovers it (ext4, data=ordered; docs/files.md). Mapped stores and write() go to the same pages, which may
 * be written back at any time, sector by sector. The processor's flushes are not in such logs.
 *
 * A file's size is a word of the image (core/disk_image.h). The file system has no size on the disk that ends
 * in bytes which it has not written there. So a state that has a size without the bytes which uncovered it
 * has the last size before that which may be.
 */

#include "../files.h"
#include "models.h"

static int store(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	NVW_TRY(ct_on_store(m, r));
	if (r->store.off < m->metadata) {
		return 0;
	}
	return ct_files_stored(m, r->store.off, r->store.value);
}

/* A sync begins. What is not in a cell is durable. Where all is in one journal, that is committed as a
 * whole. */
static int begin_sync(struct ct_medium *m, const struct nvw_log_record *r)
{
	const nvw_off end = r->flush.off + r->flush.bytes;
	const bool commits_all = m->chained;

	NVW_INVARIANT(r->kind == NVW_LOG_FLUSH);
	if (r->flush.off >= m->files) {
		NVW_TRY(ct_files_sync(m, r->flush.off, r->flush.thread));
	}
	NVW_FOR(i, m->cell_count) {
		const struct ct_cell *const c = &m->cell[i];
		const bool is_within = c->off < end && c->off + 8 * (nvw_off)c->words > r->flush.off;

		if (!is_within && !commits_all) {
			continue;
		}
		const struct ct_flush flush = {.thread = r->flush.thread, .write = m->stores, .off = c->off};

		NVW_TRY(CT_ADD(&m->flush, &flush));
	}
	return 0;
}

/* A sync of a range covers the file's size, and perhaps not all that was written to uncover it: states have
 * such a size from now on, and none had it before. */
static int end_sync(struct ct_medium *m, const struct nvw_log_record *r)
{
	NVW_TRY(ct_on_fence(m, r));
	if (ct_files_complete(m)) {
		m->changed = m->obliged = true;
	}
	return 0;
}

const struct ct_model_rules ct_model_files = {
	.info = {.name = "files",
		.who = "a program that writes and syncs files on a disk (ext4, data=ordered)",
		.use = CT_USE_FILES,
		.axioms = CT_A(SECTOR) | CT_A(SYNC) | CT_A(SIZE) | CT_A(NAMES),
		.levels = CT_FREE,
		.of_programs = true},
	.completing = CT_KIND(FENCE) | CT_KIND(HOST),
	.apply = {[NVW_LOG_STORE] = store,
		[NVW_LOG_FLUSH] = begin_sync,
		[NVW_LOG_FENCE] = end_sync,
		[NVW_LOG_HOST] = ct_on_host,
		[NVW_LOG_ACK] = ct_on_ack},
};
