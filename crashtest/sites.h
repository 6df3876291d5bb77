/* SPDX-License-Identifier: BSD-3-Clause */
/* The source places of a log, by number. */
#ifndef CRASHTEST_SITES_H
#define CRASHTEST_SITES_H

#include <nvw/persist_log.h>

struct ct_names {
	char file[128], function[64];
	uint32_t line, caller; /* another site: the call in whose function it is; 0: not known */
	char *layout;          /* source/layout.h; NULL: unknown */
};

struct ct_sites {
	struct ct_names *at; /* number i at i - 1 */
	uint32_t count, capacity;
};

/* Takes a record of a site, the next one of its log. */
NVW_CHECKED int ct_sites_add(struct ct_sites *sites, const struct nvw_log_record *record);
void ct_sites_free(struct ct_sites *sites);

/* The place of that number; NULL: it is not known. */
static inline const struct ct_names *ct_sites_at(const struct ct_sites *s, uint32_t site)
{
	return site >= 1 && site <= s->count ? &s->at[site - 1] : NULL;
}

#endif
