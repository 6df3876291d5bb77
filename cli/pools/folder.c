/* SPDX-License-Identifier: BSD-3-Clause */
/* See folder.h. */
#include "folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/bounds.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "../report/json_report.h"
#include "pool_command.h"
#include "pool/layout.h"

enum { NAME_WIDTH = 28, STATE_WIDTH = 14 };

struct folder {
	const char *path;
	const struct pool_column *columns;
	pool_work *work;
	void *context; /* of the work */
	json_t *pools; /* NULL: rows are printed */
	unsigned count, others;
	int status;
};

static bool begins_as_a_pool(const char *path)
{
	FILE *const file = fopen(path, "rbe");
	char magic[2][8] = {""};
	const size_t n = sizeof magic[0];

	if (!file) {
		return false;
	}
	const bool has = (fread(magic[0], 1, n, file) == n && memcmp(magic[0], NVW__MAGIC, n) == 0) ||
			 (fseek(file, NVW__COPY_OFF, SEEK_SET) == 0 && fread(magic[1], 1, n, file) == n &&
				 memcmp(magic[1], NVW__MAGIC, n) == 0);

	fclose(file);
	return has;
}

/* Is it FILE.1 beside FILE? */
static bool is_pool_number(const char *text)
{
	return text[0] >= '1' && text[0] < '0' + NVW_POOLS_MAX && text[1] == '\0';
}

static bool is_further(const char *path)
{
	const char *const dot = strrchr(path, '.');
	char first[4096];

	if (!dot || !is_pool_number(dot + 1)) {
		return false;
	}
	NVW_PRINT(first, "%.*s", (int)(dot - path), path);
	return begins_as_a_pool(first);
}

static void print_value(const struct pool_column *c, const json_t *report)
{
	const json_t *const value = json_object_get(report, c->member);
	const int width = abs(c->width);

	if (json_is_string(value)) {
		printf("  %*s", c->width, json_string_value(value));
	} else if (json_is_integer(value)) {
		printf("  %*" JSON_INTEGER_FORMAT, width, json_integer_value(value));
	} else {
		printf("  %*s", c->width, "-");
	}
}

static void print_head(const struct pool_column *columns)
{
	printf("%-*s  %-*s", NAME_WIDTH, "pool", STATE_WIDTH, "state");
	for (const struct pool_column *c = columns; c->title; c++) {
		printf("  %*s", c->width, c->title);
	}
	printf("  %9s  %9s\n", "time", "memory");
}

static void print_row(const struct folder *f, const char *name, const struct pool_outcome *o)
{
	NVW_INVARIANT(f->count > 0 && !f->pools);
	if (f->count == 1) {
		print_head(f->columns);
	}
	printf("%-*s  %-*s", NAME_WIDTH, name, STATE_WIDTH, pool_outcome_state(o));
	for (const struct pool_column *c = f->columns; c->title; c++) {
		print_value(c, o->report);
	}
	printf("  %6.1f ms  %5.1f MiB\n", 1e3 * o->seconds, (double)o->memory_bytes / (1 << 20));
	if (!o->report) {
		printf("  %s\n", o->message);
	}
	pool_command_print_findings(o->report);
	fflush(stdout);
}

static void add(struct folder *f, const char *path, const struct pool_outcome *o)
{
	json_t *const one = o->report ? json_deep_copy(o->report) :
					json_pack("{s:s, s:s}", "pool", path, "error", o->message);

	member_set_text(one, "state", pool_outcome_state(o));
	member_set_number(one, "status", pool_outcome_status(o));
	member_set_real(one, "host_seconds", o->seconds);
	member_set_count(one, "memory_bytes", o->memory_bytes);
	json_array_append_new(f->pools, one);
}

static int one_file(void *context, const char *name)
{
	struct folder *const f = context;
	struct pool_outcome o;
	char path[4096];

	NVW_PRINT(path, "%s/%s", f->path, name);
	if (nvw_is_folder(path) || is_further(path)) {
		return 0;
	}
	if (!begins_as_a_pool(path)) {
		f->others++;
		return 0;
	}
	NVW_TRY(pool_apart(f->work, f->context, path, &o));
	f->count++;
	if (f->pools) {
		add(f, path, &o);
	} else {
		print_row(f, name, &o);
	}
	const int status = pool_outcome_status(&o);

	if (status > f->status) {
		f->status = status;
	}
	pool_outcome_end(&o);
	return 0;
}

static int print_all(const struct folder *f)
{
	if (f->pools) {
		return cli_print_json(json_pack("{s:s, s:O, s:i, s:i}", "folder", f->path, "pools", f->pools,
					      "other_files", (int)f->others, "status", f->status),
			stdout);
	}
	printf("%u pools", f->count);
	if (f->others != 0) {
		printf(", and %u other files", f->others);
	}
	putchar('\n');
	return 0;
}

int pool_folder_each(
	const char *path, pool_work *work, void *context, const struct pool_column *columns, bool json)
{
	NVW_INVARIANT(columns[0].title);

	struct folder f = {.path = path, .columns = columns, .work = work, .context = context};

	if (json) {
		f.pools = json_array();
	}
	int error = nvw_each_entry(path, NULL, one_file, &f);

	if (f.count != 0) {
		const int printed = print_all(&f);

		error = NVW_OR(error, printed);
	} else if (error == 0) {
		error = nvw_fail(NVW_E_INPUT, "%s: expected a folder with pools, found none among %u files",
			path, f.others);
	}
	json_decref(f.pools);
	return NVW_OR(error, f.status);
}
