/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave inspect POOL: the durable content of a pool; changes nothing. */

#include "commands.h"
#include "core/bounds.h"
#include "core/describe.h"
#include "core/each.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "pool/header.h"
#include "pools/pool_command.h"
#include "pools/folder.h"
#include "registry.h"
#include "session.h"

struct use {
	uint64_t blocks, bytes;
};

static int count_block(void *context, nvw_off block, uint64_t bytes)
{
	struct use *const use = context;

	use->blocks++;
	use->bytes += bytes;
	return 0;
}

/* A pool opens if one of its two header pages is intact. */
static const char *header_text(const struct nvw_pool *pool)
{
	static const char *const text[] = {"whole", "damaged, its copy is whole; nvwave recover mends it",
		"whole, its copy is damaged; nvwave recover mends it"};

	return text[nvw__header_damaged(pool)];
}

static int add_heap(const struct nvw_pool *pool, json_t *report)
{
	struct use use = {0};
	const int r = nvw_heap_visit(pool, count_block, &use);

	json_object_set_new(report, "heap",
		json_pack("{s:I, s:I, s:I}", "chunks", (json_int_t)nvw_pool_geometry(pool)->chunk_count,
			"allocated_blocks", (json_int_t)use.blocks, "allocated_bytes",
			(json_int_t)use.bytes));
	return r;
}

/* The other pools of the run: their files, devices and heaps. */
static int add_further_pools(const struct nvw_pool *first, json_t *report)
{
	json_t *const list = json_array();
	int r = 0;

	for (unsigned i = 1; i < nvw_pool_count(first) && r == 0; i++) {
		const struct nvw_pool *const pool = nvw_pool_number(first, i);
		json_t *const one = json_pack("{s:s, s:s, s:s, s:I}", "pool", nvw_pool_path(pool), "device",
			nvw_pool_device(pool), "header", header_text(pool), "bytes",
			(json_int_t)nvw_pool_geometry(pool)->bytes);

		r = add_heap(pool, one);
		json_array_append_new(list, one);
	}
	if (json_array_size(list)) {
		json_object_set(report, "further_pools", list);
	}
	json_decref(list);
	return r;
}

static void add_stream(json_t *list, uint32_t number, const struct nvw_stream_state *s)
{
	static const char *const names[] = {"never", "completed", "rolled back"};

	NVW_INVARIANT(s->state < NVW_COUNT(names));
	json_array_append_new(list,
		json_pack("{s:i, s:I, s:s, s:I}", "stream", (int)number, "settled", (json_int_t)s->settled,
			"state", names[s->state], "open_entries", (json_int_t)s->open_entries));
}

/* Counts the streams by their last epochs' outcomes; list: each that has had one, NULL: not wanted. */
static int count_epochs(const struct nvw_pool *pool, uint64_t count[3], uint64_t *open, json_t *list)
{
	NVW_FOR(i, nvw_pool_geometry(pool)->streams) {
		struct nvw_stream_state s;

		NVW_TRY(nvw_stream_state(pool, i, &s));
		count[s.state]++;
		*open += s.open_entries != 0;
		if (list && s.state != NVW_EPOCH_NEVER) {
			add_stream(list, i, &s);
		}
	}
	return 0;
}

/* The outcomes of the streams' last epochs; with --epochs, one by one. */
static int add_epochs(const struct nvw_pool *pool, bool each, json_t *report)
{
	uint64_t count[3] = {0}, open = 0;
	json_t *list = NULL;

	if (each) {
		list = json_array();
	}
	const int error = count_epochs(pool, count, &open, list);

	json_object_set_new(report, "epochs",
		json_pack("{s:I, s:I, s:I, s:I, s:I}", "streams",
			(json_int_t)nvw_pool_geometry(pool)->streams, "never", (json_int_t)count[0],
			"completed", (json_int_t)count[1], "rolled_back", (json_int_t)count[2], "incomplete",
			(json_int_t)open));
	if (each) {
		json_object_set_new(report, "stream", list);
	}
	return error;
}

static int add_contents(const struct nvw_workload *w, struct nvw_pool *pool, json_t *report)
{
	struct nvw_description d = {0};
	const int r = w->inspect(pool, &d);
	json_t *const object = json_object();

	pool_command_describe(object, &d);
	json_object_set_new(report, "contents", object);
	nvw__description_clear(&d);
	return r;
}

static int add_structure(struct nvw_pool *pool, json_t *report)
{
	const struct nvw_workload *const w = nvw_workload_find(nvw_pool_geometry(pool)->layout);

	if (w && w->inspect) {
		return add_contents(w, pool, report);
	}
	return 0;
}

static int inspect_opened(struct nvw_pool *pool, bool each_epoch, json_t **ret_report)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	json_t *const report = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "pool", nvw_pool_path(pool),
		"header", header_text(pool), "layout", g->layout, "bytes", (json_int_t)g->bytes, "streams",
		(json_int_t)g->streams, "log_entries", (json_int_t)g->log_entries);

	*ret_report = report;
	NVW_ALLOCATED(report, "no memory for the report");
	NVW_TRY(add_epochs(pool, each_epoch, report));
	NVW_TRY(add_heap(pool, report));
	NVW_TRY(add_further_pools(pool, report));
	NVW_TRY(add_structure(pool, report));
	return pool_command_check(pool, report);
}

/* A pool_work; the context is a bool: each epoch of its own. */
static int inspect_one(void *context, const char *path, json_t **ret_report)
{
	const bool *const check = context;
	struct nvw_pool *pool;

	NVW_TRY(nvw_pool_open(path, NVW_POOL_READ, &pool));
	const int r = inspect_opened(pool, *check, ret_report);

	nvw_pool_close(pool);
	if (r && r != NVW_E_INCONSISTENT) {
		json_decref(*ret_report);
		*ret_report = NULL;
	}
	return r;
}

/* A column of the table is a member of a part of the report. */
static void lift(json_t *report, const char *column, const char *part, const char *member)
{
	json_object_set(report, column, json_object_get(json_object_get(report, part), member));
}

static int inspect_row(void *context, const char *path, json_t **ret_report)
{
	const int r = inspect_one(context, path, ret_report);

	lift(*ret_report, "epochs_incomplete", "epochs", "incomplete");
	lift(*ret_report, "allocated_bytes", "heap", "allocated_bytes");
	return r;
}

static int inspect(struct cli_options *o)
{
	static const struct pool_column columns[] = {{"layout", "layout", -10}, {"bytes", "bytes", 12},
		{"allocated", "allocated_bytes", 12}, {"streams", "streams", 8},
		{"open epochs", "epochs_incomplete", 11}, {"structure", "structure", -12},
		{"header", "header", -6}, {NULL, NULL, 0}};
	bool each_epoch = cli_given(o, CLI_epochs);
	json_t *report = NULL;

	NVW_TRY(pool_command_named(o));
	if (nvw_is_folder(o->argument[0])) {
		return pool_folder_each(o->argument[0], cli_json(o) ? inspect_one : inspect_row, &each_epoch,
			columns, cli_json(o));
	}
	const int r = inspect_one(&each_epoch, o->argument[0], &report);

	if (!report) {
		return r;
	}
	const int printed = pool_command_print(report, cli_json(o));

	json_decref(report);
	return NVW_OR(printed, r);
}

const struct cli_command cmd_inspect = {.main = cli_run_command,
	.help = "nvwave inspect POOL|FOLDER [options]\n\n"
		"Shows geometry, epochs, heap and structure of a pool as it is on the medium, and changes "
		"nothing. A pool that\n"
		"needs recovery is shown as the crash left it: its structure may be reported as "
		"inconsistent. Of a folder: a table\n"
		"of its pools, and the worst exit status.\n",
	.run = inspect};
