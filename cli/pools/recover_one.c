/* SPDX-License-Identifier: BSD-3-Clause */
/* See recover_one.h. */
#include "core/member.h"
#include "core/print.h"

#include "recover_one.h"

#include <inttypes.h>

#include <nvw/recovery.h>

#include "pool_command.h"
#include "../registry.h"

static int recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	const struct nvw_workload *const w = nvw_workload_find(nvw_pool_geometry(pool)->layout);

	NVW_TRY(nvw_recover(pool, report));
	if (w && w->recover) {
		NVW_TRY(w->recover(pool, report));
	}
	return nvw_pool_sync(pool);
}

static json_t *report_json(const struct nvw_pool *pool, const struct nvw_recovery *r, bool dry_run)
{
	return json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pool",
		nvw_pool_path(pool), "layout", nvw_pool_geometry(pool)->layout, "dry_run", dry_run,
		"epochs_completed", (json_int_t)r->epochs_completed, "epochs_rolled_back",
		(json_int_t)r->epochs_rolled_back, "entries_read", (json_int_t)r->entries_read, "words_read",
		(json_int_t)r->words_read, "words_restored", (json_int_t)r->words_restored, "entries_torn",
		(json_int_t)r->entries_torn, "blocks_freed", (json_int_t)r->blocks_freed, "blocks_kept",
		(json_int_t)r->blocks_kept, "header_repaired", (json_int_t)r->header_repaired,
		"structure_repairs", (json_int_t)r->structure_repairs, "words_written",
		(json_int_t)r->words_written);
}

/* Recovery is idempotent (nvw/recovery.h, guarantee 1). */
static int verify(struct nvw_pool *pool, json_t *report)
{
	struct nvw_recovery again = {0};
	char text[128];

	NVW_TRY(recover(pool, &again));
	member_set_count(report, "words_written_again", again.words_written);
	if (again.words_written == 0) {
		return 0;
	}
	NVW_PRINT(text, "a second recovery wrote %" PRIu64 " words, expected none", again.words_written);
	json_array_append_new(json_object_get(report, "findings"), json_string(text));
	return NVW_E_INCONSISTENT;
}

static int report_on(struct nvw_pool *pool, const struct pool_recover_how *how, json_t *report)
{
	const int checked = pool_command_check(pool, report);
	int verified = 0;

	if (how->verify && (checked == 0 || checked == NVW_E_INCONSISTENT)) {
		verified = verify(pool, report);
	}
	NVW_TRY(checked);
	return verified;
}

static int recover_opened(struct nvw_pool *pool, const struct pool_recover_how *how, json_t **ret_report)
{
	struct nvw_recovery done = {0};

	NVW_TRY(recover(pool, &done));
	json_t *const report = report_json(pool, &done, how->dry_run);

	NVW_ALLOCATED(report, "no memory for the report");
	const int r = report_on(pool, how, report);

	if (r == 0 || r == NVW_E_INCONSISTENT) {
		*ret_report = report;
	} else {
		json_decref(report);
	}
	return r;
}

int pool_recover_one(void *context, const char *path, json_t **ret_report)
{
	const struct pool_recover_how *const how = context;
	struct nvw_pool *pool;

	NVW_TRY(nvw_pool_open(path, how->dry_run ? NVW_POOL_PRIVATE : NVW_POOL_WRITE, &pool));
	const int r = recover_opened(pool, how, ret_report);

	nvw_pool_close(pool);
	return r;
}
