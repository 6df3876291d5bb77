/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave inspect POOL: the durable content of a pool; changes nothing. */
#include <stdio.h>

#include "commands.h"
#include "core/describe.h"
#include "pool/header.h"
#include "pool_command.h"
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

/* The outcomes of the streams' last epochs; with --epochs, one by one. */
static int add_epochs(const struct nvw_pool *pool, bool each, json_t *report)
{
	static const char *const names[] = {"never", "completed", "rolled back"};
	uint64_t count[3] = {0}, open = 0;
	json_t *const list = json_array();
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < nvw_pool_geometry(pool)->streams; i++) {
		struct nvw_stream_state s;

		r = nvw_stream_state(pool, i, &s);
		if (r == 0) {
			count[s.state]++;
			open += s.open_entries != 0;
		}
		if (r == 0 && each && s.state != NVW_EPOCH_NEVER) {
			json_array_append_new(
				list, json_pack("{s:i, s:I, s:s, s:I}", "stream", (int)i, "settled",
					      (json_int_t)s.settled, "state", names[s.state], "open_entries",
					      (json_int_t)s.open_entries));
		}
	}
	json_object_set_new(report, "epochs",
		json_pack("{s:I, s:I, s:I, s:I, s:I}", "streams",
			(json_int_t)nvw_pool_geometry(pool)->streams, "never", (json_int_t)count[0],
			"completed", (json_int_t)count[1], "rolled_back", (json_int_t)count[2], "incomplete",
			(json_int_t)open));
	if (each) {
		json_object_set_new(report, "stream", list);
	} else {
		json_decref(list);
	}
	return r;
}

static int add_structure(struct nvw_pool *pool, json_t *report)
{
	const struct nvw_workload *const w = nvw_workload_find(nvw_pool_geometry(pool)->layout);
	struct nvw_description d = {0};
	json_t *object;
	int r;

	if (!w || !w->inspect) {
		return 0;
	}
	r = w->inspect(pool, &d);
	object = json_object();
	pool_command_describe(object, &d);
	json_object_set_new(report, "contents", object);
	nvw__description_clear(&d);
	return r;
}

static int inspect(struct nvw_pool *pool, const struct pool_command *c)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	json_t *const report = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "pool", nvw_pool_path(pool),
		"header", header_text(pool), "layout", g->layout, "bytes", (json_int_t)g->bytes, "streams",
		(json_int_t)g->streams, "log_entries", (json_int_t)g->log_entries);
	int r = report ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for the report"), checked = 0;

	r = r ? r : add_epochs(pool, cli_given(&c->given, CLI_epochs), report);
	r = r ? r : add_heap(pool, report);
	r = r ? r : add_further_pools(pool, report);
	r = r ? r : add_structure(pool, report);
	if (r == 0) {
		checked = pool_command_check(pool, report);
		r = checked == 0 || checked == NVW_E_INCONSISTENT ? pool_command_print(report, c->json) :
								    checked;
	}
	json_decref(report);
	return r ? r : checked;
}

int cmd_inspect(int argc, char **argv)
{
	struct pool_command c = {.path = NULL};
	struct nvw_pool *pool = NULL;
	int r = pool_command_parse(&c, argc, argv);

	if (r == 0 && c.help) {
		puts("nvwave inspect POOL [options]\n\n"
		     "Shows geometry, epochs, heap and structure of a pool as it is on the medium, and changes nothing. A pool that\n"
		     "needs recovery is shown as the crash left it: its structure may be reported as inconsistent.\n");
		cli_options_help("inspect");
		cli_options_end(&c.given);
		return STATUS_CLEAN;
	}
	r = r ? r : nvw_pool_open(c.path, NVW_POOL_READ, &pool);
	r = r ? r : inspect(pool, &c);
	nvw_pool_close(pool);
	cli_options_end(&c.given);
	return r == 0 ? STATUS_CLEAN : r == NVW_E_INCONSISTENT ? STATUS_INCONSISTENT : cli_fail();
}
