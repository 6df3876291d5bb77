/* SPDX-License-Identifier: BSD-3-Clause */
/* A persist log in memory. See edit_log.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/order.h"

#include "edit_log.h"
#include "../log_walk.h"
#include "../run.h"

/* ---- Reading and writing ------------------------------------------------------------------------------- */

/* A copy of what *data points to, which lasts as long as the log. */
static int keep_bytes(struct edit_log *log, const void *data, size_t bytes, const void **ret)
{
	NVW_TRY(ct_array_grow(&log->owned, log->owned.count + 1, sizeof data));
	void *const copy = malloc(bytes + 1);

	NVW_ALLOCATED(copy, "no memory to edit the persist log");
	*ret = memcpy(copy, data, bytes);
	((void **)log->owned.at)[log->owned.count++] = copy;
	return 0;
}

static int keep_text(struct edit_log *log, const char **text)
{
	return keep_bytes(log, *text, strlen(*text) + 1, (const void **)text);
}

/* What the record points to belongs to the reader. */
static int keep_data(struct edit_log *log, struct nvw_log_record *r)
{
	switch (r->kind) {
	case NVW_LOG_SITE:
		NVW_TRY(keep_text(log, &r->site.file));
		if (r->site.layout) {
			NVW_TRY(keep_text(log, &r->site.layout));
		}
		return keep_text(log, &r->site.function);
	case NVW_LOG_LAUNCH:
		return keep_text(log, &r->launch.name);
	case NVW_LOG_BEGIN:
		return keep_text(log, &r->begin.name);
	case NVW_LOG_HOST:
		return keep_bytes(log, r->host.data, r->host.bytes, (const void **)&r->host.data);
	default:
		return 0;
	}
}

static int append(struct ct_array *to, const struct nvw_log_record *r, uint64_t key)
{
	const struct edit_entry entry = {.record = *r, .key = key, .place = to->count};

	return CT_ADD(to, &entry);
}

static int take_record(struct edit_log *log, struct nvw_log_record *r)
{
	if (r->kind == NVW_LOG_ISSUE || r->kind == NVW_LOG_DONE) {
		return 0;
	}
	NVW_TRY(keep_data(log, r));
	if (r->kind != NVW_LOG_SITE) {
		return append(&log->entry, r, 2 * log->entry.count + 2);
	}
	NVW_TRY(ct_sites_add(&log->sites, r));
	r->time_ps = 0; /* all of them come first: what moves may then be used earlier than it was */
	return append(&log->entry, r, 0);
}

static int take_records(struct edit_log *log, uint64_t first_record)
{
	struct nvw_log_record r;
	int error;

	for (uint64_t i = 0; (error = nvw_log_next(log->reader, &r)) == 1; i++) {
		if (i == first_record) {
			log->first = log->entry.count;
		}
		NVW_TRY(take_record(log, &r));
	}
	log->first = MIN(log->first, log->entry.count);
	NVW_TRY(error);
	return edit_log_settle(log);
}

int edit_log_read(int log_fd, uint64_t first_record, struct edit_log *ret_log)
{
	*ret_log = (struct edit_log){.first = UINT64_MAX};
	NVW_TRY(nvw_log_open_fd(dup(log_fd), "persist log", &ret_log->reader));
	const int error = take_records(ret_log, first_record);

	if (error) {
		edit_log_free(ret_log);
	}
	return error;
}

static int write_limits(const struct edit_log *log, struct ct_limits **ret)
{
	uint64_t stores = 0, number = 0;

	*ret = NULL;
	if (!log->limited) {
		return 0;
	}
	NVW_FOR(i, log->entry.count) {
		stores += edit_is_kind(log, i, NVW_LOG_STORE);
	}
	*ret = ct_limits_create(stores, log->groups);
	NVW_FAIL_IF(!*ret, NVW_E_MEMORY, "no memory to edit the persist log");
	NVW_FOR(i, log->entry.count) {
		const struct edit_entry *const e = edit_entry_at(log, i);

		if (e->record.kind == NVW_LOG_STORE) {
			(*ret)->limit[number++] = e->limit;
		}
	}
	return 0;
}

static int write_records(const struct edit_log *log, int fd)
{
	struct nvw_log_writer *w;
	uint64_t i = 0;
	int error = 0;

	NVW_TRY(nvw_log_create_fd(dup(fd), "edited log", nvw_log_info(log->reader), &w));
	while (i < log->entry.count && !edit_is_kind(log, i, NVW_LOG_END) && !error) {
		error = nvw_log_append(w, edit_record_at(log, i++));
	}
	if (error || i == log->entry.count) {
		nvw_log_abandon(w);
		return error;
	}
	return nvw_log_close(w, edit_record_at(log, i)->time_ps);
}

int edit_log_write(const struct edit_log *log, int *ret_fd, struct ct_limits **ret_limits)
{
	NVW_TRY(ct_log_file(ret_fd));
	NVW_TRY(write_records(log, *ret_fd));
	return write_limits(log, ret_limits);
}

static void free_owned(struct edit_log *log)
{
	NVW_FOR(i, log->owned.count) {
		free(((void **)log->owned.at)[i]);
	}
	free(log->owned.at);
}

void edit_log_free(struct edit_log *log)
{
	free_owned(log);
	nvw_log_reader_close(log->reader);
	free(log->entry.at);
	free(log->added.at);
	ct_sites_free(&log->sites);
	*log = (struct edit_log){0};
}

/* ---- Places -------------------------------------------------------------------------------------------- */

/* Before or behind the entry there, whose key is 2 * place + 2. */
static uint64_t key_at(uint64_t place, bool behind)
{
	return 2 * place + 1 + 2 * behind;
}

int edit_log_add(struct edit_log *log, uint64_t place, bool behind, const struct nvw_log_record *r)
{
	struct nvw_log_record timed = *r;

	NVW_INVARIANT(place < log->entry.count);
	timed.time_ps = edit_record_at(log, place)->time_ps;
	return append(&log->added, &timed, key_at(place, behind));
}

void edit_log_move(struct edit_log *log, uint64_t place, uint64_t to, bool behind)
{
	struct edit_entry *const e = edit_entry_at(log, place);

	NVW_INVARIANT(MAX(place, to) < log->entry.count);
	e->key = key_at(to, behind);
	e->record.time_ps = edit_record_at(log, to)->time_ps;
}

/* What moves to a place comes before what was added there, each in the order in which it was. */
static int by_key(const void *a, const void *b)
{
	const struct edit_entry *const x = a, *const y = b;

	return NVW_OR(NVW_ORDER(x->key, y->key), NVW_ORDER(x->place, y->place));
}

static int take_added(struct edit_log *log, uint64_t count)
{
	NVW_TRY(ct_array_grow(&log->entry, count, sizeof(struct edit_entry)));
	NVW_FOR(i, log->added.count) {
		struct edit_entry *const e = edit_entry_at(log, log->entry.count + i);

		*e = ((struct edit_entry *)log->added.at)[i];
		e->place += log->entry.count;
	}
	log->entry.count = count;
	log->added.count = 0;
	return 0;
}

static void number_entries(struct edit_log *log, uint64_t count, uint64_t first_key)
{
	log->first = count;
	NVW_FOR(i, count) {
		struct edit_entry *const e = edit_entry_at(log, i);

		if (e->key >= first_key && log->first == count) {
			log->first = i;
		}
		e->place = i;
		e->key = 2 * i + 2;
	}
}

int edit_log_settle(struct edit_log *log)
{
	const uint64_t count = log->entry.count + log->added.count;
	const uint64_t first_key = 2 * log->first + 2;

	NVW_TRY(take_added(log, count));
	qsort(log->entry.at, count, sizeof(struct edit_entry), by_key);
	number_entries(log, count, first_key);
	return 0;
}

/* ---- Lines --------------------------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *end)
{
	const size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end) && (n == m || path[n - m - 1] == '/' || *end == '/');
}

bool ct_line_is(const struct ct_line *line, const char *file, uint32_t number)
{
	return line->line == number && number != 0 && *line->file && *file &&
	       (ends_in(file, line->file) || ends_in(line->file, file));
}

const struct ct_names *edit_log_caller(const struct edit_log *log, uint32_t site, const struct ct_line *line)
{
	struct ct_line caller = {.line = line->caller_line};
	const struct ct_names *s = ct_sites_at(&log->sites, site);

	memcpy(caller.file, line->caller_file, sizeof line->caller_file);
	while (s) {
		s = ct_sites_at(&log->sites, s->caller);
		if (s && ct_line_is(&caller, s->file, s->line)) {
			return s;
		}
	}
	return NULL;
}

bool edit_log_has_returned(
	const struct edit_log *log, uint32_t site, const struct ct_names *caller, const struct ct_line *line)
{
	const struct ct_names *const s = ct_sites_at(&log->sites, site);

	return s && !edit_log_caller(log, site, line) &&
	       (s->caller != 0 || !strcmp(s->function, caller->function));
}

bool edit_log_is_at(const struct edit_log *log, uint32_t site, const struct ct_line *line)
{
	const struct ct_names *const s = ct_sites_at(&log->sites, site);

	return s && ct_line_is(line, s->file, s->line) &&
	       (line->caller_line == 0 || edit_log_caller(log, site, line));
}

uint32_t edit_site_of(const struct nvw_log_record *r)
{
	struct ct_by by;

	return ct_record_by(r, &by) ? by.site : 0;
}

struct edit_epochs edit_epochs_of(struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE || r->kind == NVW_LOG_ACK);
	if (r->kind == NVW_LOG_ACK) {
		return (struct edit_epochs){&r->ack.epoch_wi, &r->ack.epoch_wg, &r->ack.epoch_kr};
	}
	return (struct edit_epochs){&r->store.epoch_wi, &r->store.epoch_wg, &r->store.epoch_kr};
}

enum { NEAR_MAX = 3 };

static int64_t distance(uint32_t a, uint32_t b)
{
	return llabs((int64_t)a - b);
}

/* Adds a line to the nearest ones, the nearest first. */
static void add_near(uint32_t number, uint32_t to, uint32_t line[NEAR_MAX], unsigned *count)
{
	unsigned at = *count;

	NVW_INVARIANT(*count <= NEAR_MAX);
	NVW_EACH(one, line, *count) {
		if (*one == number) {
			return;
		}
	}
	for (; at > 0 && distance(number, to) < distance(line[at - 1], to); at--) {
		if (at < NEAR_MAX) {
			line[at] = line[at - 1];
		}
	}
	if (at < NEAR_MAX) {
		line[at] = number;
		*count += *count < NEAR_MAX;
	}
}

/* The sites of the line's file that are nearest to it and have such records: how many. */
static unsigned near_sites(
	const struct edit_log *log, const struct ct_line *line, uint32_t kinds, uint32_t ret_line[NEAR_MAX])
{
	unsigned count = 0;

	NVW_INVARIANT(kinds != 0);
	NVW_FOR(i, log->entry.count) {
		const struct nvw_log_record *const r = edit_record_at(log, i);
		const struct ct_names *const s = ct_sites_at(&log->sites, edit_site_of(r));

		if (s && (kinds >> r->kind & 1) &&
			(ends_in(s->file, line->file) || ends_in(line->file, s->file))) {
			add_near(s->line, line->line, ret_line, &count);
		}
	}
	return count;
}

int edit_log_no_line(
	const struct edit_log *log, const struct ct_line *line, uint32_t kinds, const char *lacks)
{
	uint32_t nearest[NEAR_MAX] = {0};
	const unsigned count = near_sites(log, line, kinds, nearest);
	char text[160] = "";
	size_t at = 0;

	NVW_FOR(i, count) {
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%u",
			i ? ", " : "; lines near it that have: ", nearest[i]);
	}
	if (count == 0 && *line->file) {
		strcpy(text, ", nor at any line of this file");
	}
	return nvw_fail(
		NVW_E_USAGE, "%s:%u: the log has no %s at this line%s", line->file, line->line, lacks, text);
}
