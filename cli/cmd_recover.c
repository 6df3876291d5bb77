/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave recover POOL [--dry-run]: the generic recovery, the structure's own, and a check of the result. */
#include <inttypes.h>
#include <stdio.h>

#include "commands.h"
#include "pool_command.h"
#include "registry.h"
#include "session.h"

static int recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	const struct nvw_workload *const w = nvw_workload_find(nvw_pool_geometry(pool)->layout);
	int r = nvw_recover(pool, report);

	r = r || !w || !w->recover ? r : w->recover(pool, report);
	return r ? r : nvw_pool_sync(pool);
}

static json_t *report_json(const struct nvw_pool *pool, const struct nvw_recovery *r, bool dry)
{
	return json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pool",
		nvw_pool_path(pool), "layout", nvw_pool_geometry(pool)->layout, "dry_run", dry,
		"epochs_completed", (json_int_t)r->epochs_completed, "epochs_rolled_back",
		(json_int_t)r->epochs_rolled_back, "entries_read", (json_int_t)r->entries_read,
		"words_restored", (json_int_t)r->words_restored, "entries_torn", (json_int_t)r->entries_torn,
		"blocks_freed", (json_int_t)r->blocks_freed, "blocks_kept", (json_int_t)r->blocks_kept,
		"header_repaired", (json_int_t)r->header_repaired, "structure_repairs",
		(json_int_t)r->structure_repairs, "words_written", (json_int_t)r->words_written);
}

/* One sentence with the verdict. */
static void print_text(
	const struct nvw_pool *pool, const struct nvw_recovery *r, bool dry, const json_t *report)
{
	const json_t *const findings = json_object_get(report, "findings");

	printf("%s: %" PRIu64 " epochs complete, %" PRIu64 " rolled back (%" PRIu64 " words), %" PRIu64
	       " log entries torn; %" PRIu64 " blocks freed, %" PRIu64 " kept%s; structure %s: %s.\n%" PRIu64
	       " words %s; %" PRIu64 " log entries read\n",
		nvw_pool_path(pool), r->epochs_completed, r->epochs_rolled_back, r->words_restored,
		r->entries_torn, r->blocks_freed, r->blocks_kept,
		r->header_repaired ? ", header restored from its copy" : "", nvw_pool_geometry(pool)->layout,
		json_string_value(json_object_get(report, "structure")), r->words_written,
		dry ? "would have been written: nothing was changed (--dry-run)" : "written",
		r->entries_read);
	for (size_t i = 0; i < json_array_size(findings); i++) {
		printf("  %s\n", json_string_value(json_array_get(findings, i)));
	}
}

static int run(const struct pool_command *c, struct nvw_pool *pool)
{
	struct nvw_recovery done = {0};
	int r = recover(pool, &done), checked;
	json_t *report;

	if (r < 0) {
		return r;
	}
	report = report_json(pool, &done, cli_given(&c->given, CLI_dry_run));
	if (!report) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the report");
	}
	checked = pool_command_check(pool, report);
	if (checked == 0 || checked == NVW_E_INCONSISTENT) {
		if (c->json) {
			r = pool_command_print(report, true);
		} else {
			print_text(pool, &done, cli_given(&c->given, CLI_dry_run), report);
		}
	}
	json_decref(report);
	return r ? r : checked;
}

int cmd_recover(int argc, char **argv)
{
	struct pool_command c = {.path = NULL};
	struct nvw_pool *pool = NULL;
	int r = pool_command_parse(&c, argc, argv);

	if (r == 0 && c.help) {
		puts("nvwave recover POOL [options]\n\n"
		     "Rolls incomplete epochs back, frees what they allocated, runs the structure's own recovery and checks the\n"
		     "result.\n");
		cli_options_help("recover");
		cli_options_end(&c.given);
		return STATUS_CLEAN;
	}
	r = r ? r :
		nvw_pool_open(
			c.path, cli_given(&c.given, CLI_dry_run) ? NVW_POOL_PRIVATE : NVW_POOL_WRITE, &pool);
	r = r ? r : run(&c, pool);
	nvw_pool_close(pool);
	cli_options_end(&c.given);
	return r == 0 ? STATUS_CLEAN : r == NVW_E_INCONSISTENT ? STATUS_INCONSISTENT : cli_fail();
}
