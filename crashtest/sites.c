/* SPDX-License-Identifier: BSD-3-Clause */
/* The source places of a log. See sites.h. */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"

#include "sites.h"

int ct_sites_add(struct ct_sites *s, const struct nvw_log_record *r)
{
	char *layout = NULL;

	NVW_INVARIANT(r->kind == NVW_LOG_SITE && r->site.id == s->count + 1);
	NVW_GROWN(s->at, s->capacity, s->count + 1, "no memory for the sites of the run");
	NVW_FAIL_IF(r->site.layout && !(layout = strdup(r->site.layout)), NVW_E_MEMORY,
		"no memory for the sites of the run");
	struct ct_names *const site = &s->at[s->count++];

	*site = (struct ct_names){.line = r->site.line, .caller = r->site.caller, .layout = layout};
	NVW_PRINT(site->file, "%s", r->site.file);
	NVW_PRINT(site->function, "%s", r->site.function);
	return 0;
}

void ct_sites_free(struct ct_sites *s)
{
	NVW_EACH(site, s->at, s->count) {
		free(site->layout);
	}
	free(s->at);
	*s = (struct ct_sites){0};
}
