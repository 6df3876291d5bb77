/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave log dump FILE: a persist log, one record per line, with source lines. For nvwave log export see
 * log_export.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <crashtest/explain/finding.h>
#include <nvw/persist_log.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"

#include "commands.h"
#include "log_export.h"
#include "session.h"
#include "report/words.h"

/* The sites seen so far: number i at i - 1. */
struct sites {
	unsigned count, room;
	struct site {
		char file[128], function[64];
		unsigned line;
		const char *layout; /* the reader's; NULL: unknown */
	} * site;
};

static int remember_site(struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_SITE);
	NVW_GROWN(s->site, s->room, s->count + 1, "no memory for the sites of the log");
	struct site *const new = &s->site[s->count++];

	*new = (struct site){.line = r->site.line, .layout = r->site.layout};
	NVW_PRINT(new->file, "%s", r->site.file);
	NVW_PRINT(new->function, "%s", r->site.function);
	return 0;
}

static const char *const scope_names[] = {
	[NVW_WORKITEM] = "work-item", [NVW_WORKGROUP] = "work-group", [NVW_KERNEL] = "kernel"};

/* ---- Text ---------------------------------------------------------------------------------------- */

typedef void print_record(const struct sites *s, const struct nvw_log_record *r);

static void print_bytes(const uint8_t *data, uint64_t mask, unsigned n)
{
	NVW_FOR(i, n) {
		if (i % 8 == 0) {
			putchar(' ');
		}
		printf(n > 64 || mask >> i & 1 ? "%02x" : "..", data[i]);
	}
}

static void print_place(const struct sites *s, uint32_t id)
{
	printf("%s:%u (%s)", s->site[id - 1].file, s->site[id - 1].line, s->site[id - 1].function);
}

static void print_operation_place(const struct sites *s, uint32_t id)
{
	if (id != 0) {
		print_place(s, id);
		printf("  ");
	}
}

static void print_site(const struct sites *s, const struct nvw_log_record *r)
{
	printf("%u is ", r->site.id);
	print_place(s, r->site.id);
	if (r->site.caller != 0) {
		printf(", called at site %u", r->site.caller);
	}
}

static void print_launch(const struct sites *s, const struct nvw_log_record *r)
{
	printf("kernel %u \"%s\" %llu work-items in groups of %u", r->launch.kernel, r->launch.name,
		(ull)r->launch.work_items, r->launch.group_size);
}

static void print_finish(const struct sites *s, const struct nvw_log_record *r)
{
	printf("kernel %u", r->finish.kernel);
}

/* What the store goes to. */
static bool find_field(const struct sites *s, const struct nvw_log_record *r, struct nvw__field *ret)
{
	const char *const layout = s->site[r->store.site - 1].layout;

	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	return layout && nvw__layout_find(layout, r->store.at, r->store.bytes, r->store.whole, ret);
}

static void print_store(const struct sites *s, const struct nvw_log_record *r)
{
	struct nvw__field field;

	print_place(s, r->store.site);
	if (r->store.kernel == 0) { /* of a host program */
		printf(" thread %llu group %llu", (ull)r->store.work_item, (ull)r->store.group);
	} else {
		printf(" kernel %u work-item %llu group %llu epoch wi %u wg %u kr %u", r->store.kernel,
			(ull)r->store.work_item, (ull)r->store.group, r->store.epoch_wi, r->store.epoch_wg,
			r->store.epoch_kr);
	}
	if (find_field(s, r, &field)) {
		printf(" to %s%s", words_if(field.part, "a part of "), field.name);
	}
	printf("  0x%llx = 0x%0*llx", (ull)r->store.off, 2 * (int)r->store.bytes, (ull)r->store.value);
}

static void print_issue(const struct sites *s, const struct nvw_log_record *r)
{
	printf("write %llu  0x%llx =", (ull)r->issue.write, (ull)r->issue.off);
	print_bytes(r->issue.data, r->issue.mask, NVW_LOG_LINE_BYTES);
}

static void print_done(const struct sites *s, const struct nvw_log_record *r)
{
	printf("write %llu", (ull)r->done.write);
}

static void print_barrier(const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED);
	print_place(s, r->barrier.site);
	printf(" %s kernel %u work-item %llu group %llu work-items %u ends epoch %u",
		scope_names[r->barrier.scope], r->barrier.kernel, (ull)r->barrier.work_item,
		(ull)r->barrier.group, r->barrier.work_items, r->barrier.epoch);
}

static void print_ack(const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_ACK && r->ack.count > 0);
	print_operation_place(s, r->ack.site);
	printf("operations %llu to %llu", (ull)r->ack.first, (ull)(r->ack.first + r->ack.count - 1));
	if (r->ack.kernel != 0) {
		printf(" kernel %u work-item %llu group %llu epoch wi %u wg %u kr %u", r->ack.kernel,
			(ull)r->ack.work_item, (ull)r->ack.group, r->ack.epoch_wi, r->ack.epoch_wg,
			r->ack.epoch_kr);
	} else if (r->ack.work_item != 0) {
		printf(" thread %llu", (ull)r->ack.work_item);
	}
}

static void print_begin(const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BEGIN);
	print_operation_place(s, r->begin.site);
	printf(*r->begin.name ? "thread %llu  operation %llu: %s" : "thread %llu  operation %llu",
		(ull)r->begin.thread, (ull)r->begin.number, r->begin.name);
}

static void print_host(const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_HOST);
	printf("0x%llx, %u bytes =", (ull)r->host.off, r->host.bytes);
	print_bytes(r->host.data, UINT64_MAX, r->host.bytes);
}

static void print_flush(const struct sites *s, const struct nvw_log_record *r)
{
	print_place(s, r->flush.site);
	printf(" thread %llu  0x%llx, %llu bytes%s", (ull)r->flush.thread, (ull)r->flush.off,
		(ull)r->flush.bytes, words_if(r->flush.ordered, ", in order"));
}

static void print_fence(const struct sites *s, const struct nvw_log_record *r)
{
	print_place(s, r->fence.site);
	printf(" thread %llu", (ull)r->fence.thread);
}

static void print_threads(const struct sites *s, const struct nvw_log_record *r)
{
	printf("%llu", (ull)r->threads.count);
}

/* The log of a host program has no machine. */
static void print_info(const struct nvw_log_info *i)
{
	printf("# persist log of %s%s%s", i->workload, words_if(*i->options, " "), i->options);
	if (*i->machine) {
		printf(" on %s, protocol %s, %s persistency, domain %s, %u-byte atomicity, seed %llu, pool "
		       "of",
			i->machine, i->protocol, i->model, i->domain, i->atomicity, (ull)i->seed);
	} else {
		printf(", %s persistency, %u-byte atomicity, file of", i->model, i->atomicity);
	}
	printf(" %llu bytes\n", (ull)i->pool_bytes);
	puts("# time (ns)      record");
}

/* ---- JSON: one object per line, so that a log of any length can be streamed ---------------------- */

typedef void put_record(json_t *o, const struct sites *s, const struct nvw_log_record *r);

static void put_site(json_t *o, const struct sites *s, uint32_t id)
{
	member_set_text(o, "file", s->site[id - 1].file);
	member_set_number(o, "line", s->site[id - 1].line);
	member_set_text(o, "function", s->site[id - 1].function);
}

/* Values have 64 bits, more than JSON numbers. */
static void put_hex(json_t *o, const char *name, const uint8_t *data, uint32_t n)
{
	char text[2 * 4096 + 1] = "", *at = text;

	NVW_EACH(byte, data, n) {
		at += sprintf(at, "%02x", *byte);
	}
	member_set_text(o, name, text);
}

static void put_store(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	struct nvw__field field;

	put_site(o, s, r->store.site);
	member_set_count(o, "kernel", r->store.kernel);
	member_set_count(o, "work_item", r->store.work_item);
	member_set_count(o, "group", r->store.group);
	member_set_count(o, "epoch_wi", r->store.epoch_wi);
	member_set_count(o, "epoch_wg", r->store.epoch_wg);
	member_set_count(o, "epoch_kr", r->store.epoch_kr);
	member_set_count(o, "offset", r->store.off);
	put_hex(o, "data", (const uint8_t *)&r->store.value, r->store.bytes);
	if (find_field(s, r, &field)) {
		json_object_set_new(o, "stored", ct_field_json(&field));
	}
}

static void put_barrier(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED);
	put_site(o, s, r->barrier.site);
	member_set_text(o, "scope", scope_names[r->barrier.scope]);
	member_set_count(o, "kernel", r->barrier.kernel);
	member_set_count(o, "work_item", r->barrier.work_item);
	member_set_count(o, "group", r->barrier.group);
	member_set_count(o, "work_items", r->barrier.work_items);
	member_set_count(o, "epoch", r->barrier.epoch);
	if (r->barrier.lanes != 0) {
		put_hex(o, "lanes", (const uint8_t *)&r->barrier.lanes, 8);
	}
}

static void put_called_site(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_SITE);
	member_set_count(o, "site", r->site.id);
	put_site(o, s, r->site.id);
	if (r->site.caller) {
		member_set_count(o, "caller", r->site.caller);
	}
}

static void put_launch(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	member_set_count(o, "kernel", r->launch.kernel);
	member_set_text(o, "name", r->launch.name);
	member_set_count(o, "work_items", r->launch.work_items);
	member_set_count(o, "group_size", r->launch.group_size);
}

static void put_finish(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	member_set_count(o, "kernel", r->finish.kernel);
}

static void put_issue(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_ISSUE);
	member_set_count(o, "write", r->issue.write);
	member_set_count(o, "offset", r->issue.off);
	put_hex(o, "mask", (const uint8_t *)&r->issue.mask, 8);
	put_hex(o, "data", r->issue.data, NVW_LOG_LINE_BYTES);
}

static void put_done(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	member_set_count(o, "write", r->done.write);
}

static void put_ack(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	member_set_count(o, "first", r->ack.first);
	member_set_count(o, "count", r->ack.count);
	member_set_count(o, "kernel", r->ack.kernel);
	if (r->ack.kernel == 0 && r->ack.work_item == 0) {
		return;
	}
	member_set_count(o, "site", r->ack.site);
	if (r->ack.kernel == 0) {
		member_set_count(o, "thread", r->ack.work_item);
		return;
	}
	member_set_count(o, "work_item", r->ack.work_item);
	member_set_count(o, "group", r->ack.group);
	member_set_count(o, "epoch_wi", r->ack.epoch_wi);
	member_set_count(o, "epoch_wg", r->ack.epoch_wg);
	member_set_count(o, "epoch_kr", r->ack.epoch_kr);
}

static void put_begin(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BEGIN);
	member_set_count(o, "site", r->begin.site);
	member_set_count(o, "thread", r->begin.thread);
	member_set_count(o, "operation", r->begin.number);
	member_set_text(o, "name", r->begin.name);
}

static void put_host(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_HOST);
	member_set_count(o, "offset", r->host.off);
	put_hex(o, "data", r->host.data, r->host.bytes);
}

static void put_flush(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	put_site(o, s, r->flush.site);
	member_set_count(o, "thread", r->flush.thread);
	member_set_count(o, "offset", r->flush.off);
	member_set_count(o, "bytes", r->flush.bytes);
	if (r->flush.ordered) {
		member_set_flag(o, "ordered", true);
	}
}

static void put_fence(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	put_site(o, s, r->fence.site);
	member_set_count(o, "thread", r->fence.thread);
}

static void put_threads(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	member_set_count(o, "count", r->threads.count);
}

static const char *const range_words[] = {[NVW_RANGE_ADDING] = "adds a range",
	[NVW_RANGE_ADDED] = "has added",
	[NVW_RANGE_UNLOGGED] = "has without an undo entry",
	[NVW_RANGE_SETTLES] = "settles",
	[NVW_RANGE_FORGOTTEN] = "opens a pool"};

static void print_range(const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_RANGE);
	printf("thread %llu %s", (ull)r->range.thread, range_words[r->range.what]);
	if (r->range.bytes > 0) {
		printf(" %llu bytes at 0x%llx", (ull)r->range.bytes, (ull)r->range.off);
	}
}

static void put_range(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_RANGE);
	member_set_count(o, "thread", r->range.thread);
	member_set_text(o, "what", range_words[r->range.what]);
	member_set_count(o, "offset", r->range.off);
	member_set_count(o, "bytes", r->range.bytes);
}

static void print_end(const struct sites *s, const struct nvw_log_record *r)
{
	fputs(words_if(r->end.interrupted, "interrupted"), stdout);
}

static void put_end(json_t *o, const struct sites *s, const struct nvw_log_record *r)
{
	member_set_flag(o, "interrupted", r->end.interrupted);
}

static void print_json(json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static void json_info(const struct nvw_log_info *i)
{
	print_json(json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i}", "record", "info",
		"workload", i->workload, "options", i->options, "machine", i->machine, "protocol",
		i->protocol, "model", i->model, "domain", i->domain, "seed", (json_int_t)i->seed,
		"pool_bytes", (json_int_t)i->pool_bytes, "atomicity", (int)i->atomicity));
}

/* ---- Records ------------------------------------------------------------------------------------- */

/* NULL: the record says its name and its time only. */
static const struct {
	const char *name;
	print_record *print;
	put_record *put;
} kinds[] = {
	[NVW_LOG_BEGIN] = {"begin", print_begin, put_begin},
	[NVW_LOG_SITE] = {"site", print_site, put_called_site},
	[NVW_LOG_LAUNCH] = {"launch", print_launch, put_launch},
	[NVW_LOG_FINISH] = {"finish", print_finish, put_finish},
	[NVW_LOG_STORE] = {"store", print_store, put_store},
	[NVW_LOG_ISSUE] = {"issue", print_issue, put_issue},
	[NVW_LOG_DONE] = {"done", print_done, put_done},
	[NVW_LOG_BARRIER] = {"barrier", print_barrier, put_barrier},
	[NVW_LOG_PERSISTED] = {"persisted", print_barrier, put_barrier},
	[NVW_LOG_ACK] = {"ack", print_ack, put_ack},
	[NVW_LOG_HOST] = {"host", print_host, put_host},
	[NVW_LOG_DRAINED] = {"drained", NULL, NULL},
	[NVW_LOG_FLUSH] = {"flush", print_flush, put_flush},
	[NVW_LOG_FENCE] = {"fence", print_fence, put_fence},
	[NVW_LOG_END] = {"end", print_end, put_end},
	[NVW_LOG_THREADS] = {"threads", print_threads, put_threads},
	[NVW_LOG_RANGE] = {"range", print_range, put_range},
};

/* number 0: it is not printed. */
static void print_head(const struct nvw_log_record *r, uint64_t number)
{
	NVW_INVARIANT(r->kind < NVW_COUNT(kinds));
	if (number > 0) {
		printf("%9llu  ", (ull)number);
	}
	printf("%15.3f  %-9s ", (double)r->time_ps / 1000, kinds[r->kind].name);
}

static void text_record(const struct sites *s, const struct nvw_log_record *r, uint64_t number)
{
	print_head(r, number);
	if (kinds[r->kind].print) {
		kinds[r->kind].print(s, r);
	}
	putchar('\n');
}

static void json_record(const struct sites *s, const struct nvw_log_record *r, uint64_t number)
{
	json_t *o = json_object();

	member_set_count(o, "event", number);
	member_set_count(o, "time_ps", r->time_ps);
	member_set_text(o, "record", kinds[r->kind].name);
	if (kinds[r->kind].put) {
		kinds[r->kind].put(o, s, r);
	}
	print_json(o);
}

/* ---- The command --------------------------------------------------------------------------------- */

static int dump_records(struct nvw_log_reader *reader, const struct cli_options *o, struct sites *sites)
{
	const bool json = cli_json(o), numbers = json || cli_given(o, CLI_numbers);
	struct nvw_log_record r;
	uint64_t number = 0;
	int more;

	(json ? json_info : print_info)(nvw_log_info(reader));
	while ((more = nvw_log_next(reader, &r)) == 1) {
		if (r.kind == NVW_LOG_SITE) {
			NVW_TRY(remember_site(sites, &r));
		}
		number += numbers;
		(json ? json_record : text_record)(sites, &r, number);
		if (ferror(stdout)) {
			return cli_flush();
		}
	}
	NVW_TRY(more);
	return cli_flush();
}

static int dump_log(const char *path, const struct cli_options *o)
{
	struct nvw_log_reader *reader;
	struct sites sites = {0};

	NVW_TRY(nvw_log_open(path, &reader));
	const int error = dump_records(reader, o, &sites);

	free(sites.site);
	nvw_log_reader_close(reader);
	return error;
}

static int check_log(const struct cli_options *o, bool export)
{
	NVW_FAIL_IF(o->argument_count == 0 || (!export && strcmp(o->argument[0], "dump")), NVW_E_USAGE,
		"log: expected dump or export, found \"%s\"", words_or(o->argument[0], ""));
	NVW_FAIL_IF(o->argument_count == 1, NVW_E_USAGE, "log %s: expected a persist log", o->argument[0]);
	NVW_TRY(cli_options_at_most(o, 2));
	return cli_options_check_use(o, UINT64_C(1) << (export ? CLI_AT_EXPORT : CLI_AT_DUMP));
}

static int dump_or_export(struct cli_options *o)
{
	const bool export = o->argument_count && !strcmp(o->argument[0], "export");

	NVW_TRY(check_log(o, export));
	if (!export) {
		return dump_log(o->argument[1], o);
	}
	const int error = log_export(o->argument[1], cli_text(o, CLI_file), cli_given(o, CLI_words));

	fflush(stdout);
	return error;
}

const struct cli_command cmd_log = {.main = cli_run_command,
	.help = "nvwave log dump|export FILE [options]\n\n"
		"dump prints a persist log, one record per line (docs/persist-log.md). export writes "
		"the log of a program on the\n"
		"host as a store log of pmemcheck, for pmreorder and others.\n",
	.run = dump_or_export};
