/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last stores to each word of NVRAM up to a record of the log, with source lines: the origin of the
 * values that a crash state has or lacks.
 */
#ifndef CRASHTEST_STORES_H
#define CRASHTEST_STORES_H

#include "../crash.h"
#include "../sites.h"
#include "../table.h"

struct ct_store {
	uint64_t number; /* in log order, from 1; 0: none */
	uint64_t work_item, group, value;
	uint64_t at, whole; /* of a wider store, as in the log */
	nvw_off off;
	uint32_t site, kernel, bytes;
	uint32_t epoch_wi, epoch_wg, epoch_kr;
};

struct ct_word {
	nvw_off off; /* aligned */
	struct ct_store last, before;
};

struct ct_stores {
	struct ct_table words; /* struct ct_word */
	struct ct_sites sites;
	char (*kernel)[64]; /* number i at i - 1 */
	uint32_t kernel_count;
	bool of_files;                /* the log is of the model "files" */
	const struct nvw__disk *disk; /* then of its image; NULL: of no files */
};

/* Reads the stores among the first records records of the log, and the names in all of it. */
NVW_CHECKED int ct_stores_read(int log_fd, uint64_t records, struct ct_stores *ret_stores);
void ct_stores_free(struct ct_stores *stores);

/* The source location of that number; NULL: it is not known. */
static inline const struct ct_names *ct_stores_site(const struct ct_stores *s, uint32_t site)
{
	return ct_sites_at(&s->sites, site);
}

/* The store that a record of that number is. */
struct ct_store ct_store_of(const struct nvw_log_record *record, uint64_t number);

/* Each word that was stored to. */
#define CT_EACH_STORED(word, stores)                                                     \
	NVW_EACH(word, (const struct ct_word *)(stores)->words.at, (stores)->words.room) \
		if (word->off != UINT64_MAX)

/* The word at off (aligned), NULL if no work-item stored to it. */
const struct ct_word *ct_stores_at(const struct ct_stores *stores, nvw_off off);

/* True if image (the bytes of a crash state) has the store's value. */
bool ct_store_is_durable(const struct ct_store *store, const uint8_t *image);

void ct_stores_place(const struct ct_stores *stores, const struct ct_store *store, enum ct_fate fate,
	struct ct_place *ret_place);

#endif
