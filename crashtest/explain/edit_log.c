/* SPDX-License-Identifier: BSD-3-Clause */
/* A persist log in memory. See edit_log.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edit_log.h"
#include "../run.h"

/* ---- Reading and writing ---------------------------------------------------------------------------------------- */

static void *keep(struct edit_log *log, const void *data, size_t bytes)
{
	void *const copy =
		ct_array_grow(&log->owned, log->owned.count + 1, sizeof copy) ? NULL : malloc(bytes + 1);

	if (copy != NULL) {
		memcpy(copy, data, bytes);
		((void **)log->owned.at)[log->owned.count++] = copy;
	}
	return copy;
}

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory to edit the persist log");
}

/* What the record points to belongs to the reader. */
static int keep_data(struct edit_log *log, struct nvw_log_record *r)
{
	switch (r->kind) {
	case NVW_LOG_SITE:
		r->site.file = keep(log, r->site.file, strlen(r->site.file) + 1);
		r->site.function = keep(log, r->site.function, strlen(r->site.function) + 1);
		return r->site.file && r->site.function ? 0 : no_memory();
	case NVW_LOG_LAUNCH:
		r->launch.name = keep(log, r->launch.name, strlen(r->launch.name) + 1);
		return r->launch.name ? 0 : no_memory();
	case NVW_LOG_BEGIN:
		r->begin.name = keep(log, r->begin.name, strlen(r->begin.name) + 1);
		return r->begin.name ? 0 : no_memory();
	case NVW_LOG_HOST:
		r->host.data = keep(log, r->host.data, r->host.bytes);
		return r->host.data ? 0 : no_memory();
	default:
		return 0;
	}
}

static int note_site(struct edit_log *log, const struct nvw_log_record *r)
{
	const char *const function = keep(log, r->site.function, strlen(r->site.function) + 1);
	const int error =
		function ? ct_array_grow(&log->site, r->site.id, sizeof(struct edit_site)) : no_memory();

	if (!error) {
		struct edit_site *const s = (struct edit_site *)log->site.at + r->site.id - 1;

		snprintf(s->file, sizeof s->file, "%s", r->site.file);
		s->line = r->site.line;
		s->caller = r->site.caller;
		s->function = function;
		log->site.count = r->site.id > log->site.count ? r->site.id : log->site.count;
	}
	return error;
}

static int append(struct ct_array *to, const struct nvw_log_record *r, uint64_t key)
{
	const int error = ct_array_grow(to, to->count + 1, sizeof(struct edit_entry));

	if (!error) {
		((struct edit_entry *)to->at)[to->count] =
			(struct edit_entry){.record = *r, .key = key, .place = to->count};
		to->count++;
	}
	return error;
}

static int take(struct edit_log *log, struct nvw_log_record *r)
{
	int error = r->kind == NVW_LOG_SITE ? note_site(log, r) : 0;

	if (r->kind == NVW_LOG_ISSUE || r->kind == NVW_LOG_DONE) {
		return 0;
	}
	error = error ? error : keep_data(log, r);
	if (r->kind ==
		NVW_LOG_SITE) { /* all of them come first: what moves may then be used earlier than it was */
		r->time_ps = 0;
		return error ? error : append(&log->entry, r, 0);
	}
	return error ? error : append(&log->entry, r, 2 * log->entry.count + 2);
}

int edit_log_read(int log_fd, uint64_t first_record, struct edit_log *ret_log)
{
	struct edit_log log = {.first = UINT64_MAX};
	struct nvw_log_record r;
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &log.reader);

	if (error) {
		return error;
	}
	for (uint64_t i = 0; (error = nvw_log_next(log.reader, &r)) == 1; i++) {
		log.first = i == first_record ? log.entry.count : log.first;
		error = take(&log, &r);
		if (error) {
			break;
		}
	}
	log.first = log.first == UINT64_MAX ? log.entry.count : log.first;
	error = error ? error : edit_log_settle(&log);
	if (error) {
		edit_log_free(&log);
		return error;
	}
	*ret_log = log;
	return 0;
}

static int write_limits(const struct edit_log *log, struct ct_limits **ret)
{
	uint64_t stores = 0, number = 0;

	for (uint64_t i = 0; i < log->entry.count; i++) {
		stores += edit_entry_at(log, i)->record.kind == NVW_LOG_STORE;
	}
	*ret = log->limited ? ct_limits_create(stores, log->groups) : NULL;
	for (uint64_t i = 0; i < log->entry.count && *ret != NULL; i++) {
		const struct edit_entry *const e = edit_entry_at(log, i);

		if (e->record.kind == NVW_LOG_STORE) {
			(*ret)->limit[number++] = e->limit;
		}
	}
	return log->limited && *ret == NULL ? no_memory() : 0;
}

int edit_log_write(const struct edit_log *log, int *ret_fd, struct ct_limits **ret_limits)
{
	const int fd = ct_log_file();
	struct nvw_log_writer *w;
	int error = fd < 0 ? NVW_E_SYSTEM :
			     nvw_log_create_fd(dup(fd), "edited log", nvw_log_info(log->reader), &w);
	uint64_t time_ps = 0;
	bool ended = false;

	for (uint64_t i = 0; i < log->entry.count && !error && !ended; i++) {
		const struct nvw_log_record *const r = &edit_entry_at(log, i)->record;

		ended = r->kind == NVW_LOG_END;
		time_ps = r->time_ps;
		error = ended ? 0 : nvw_log_append(w, r);
	}
	if (fd >= 0 && ended) {
		const int closed = nvw_log_close(w, time_ps);

		error = error ? error : closed;
	} else if (fd >= 0) {
		nvw_log_abandon(w);
	}
	if (error && fd >= 0) {
		close(fd);
	}
	*ret_fd = error ? -1 : fd;
	return error ? error : write_limits(log, ret_limits);
}

void edit_log_free(struct edit_log *log)
{
	for (uint64_t i = 0; i < log->owned.count; i++) {
		free(((void **)log->owned.at)[i]);
	}
	nvw_log_reader_close(log->reader);
	free(log->entry.at);
	free(log->added.at);
	free(log->site.at);
	free(log->owned.at);
	*log = (struct edit_log){0};
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

int edit_log_add(struct edit_log *log, uint64_t place, bool behind, const struct nvw_log_record *r)
{
	const struct edit_entry *const at = edit_entry_at(log, place);
	struct nvw_log_record timed = *r;

	timed.time_ps = at->record.time_ps;
	return append(&log->added, &timed, behind ? 2 * place + 3 : 2 * place + 1);
}

void edit_log_move(struct edit_log *log, uint64_t place, uint64_t to, bool behind)
{
	struct edit_entry *const e = edit_entry_at(log, place);

	e->key = behind ? 2 * to + 3 : 2 * to + 1;
	e->record.time_ps = edit_entry_at(log, to)->record.time_ps;
}

/* What moves to a place comes before what was added there, each in the order in which it was. */
static int by_key(const void *a, const void *b)
{
	const struct edit_entry *const x = a, *const y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->place > y->place) - (x->place < y->place);
}

int edit_log_settle(struct edit_log *log)
{
	const uint64_t count = log->entry.count + log->added.count;
	const uint64_t first_key = 2 * log->first + 2;
	int error = ct_array_grow(&log->entry, count, sizeof(struct edit_entry));

	if (error) {
		return error;
	}
	for (uint64_t i = 0; i < log->added.count; i++) {
		struct edit_entry *const e = edit_entry_at(log, log->entry.count + i);

		*e = ((struct edit_entry *)log->added.at)[i];
		e->place += log->entry.count;
	}
	log->entry.count = count;
	log->added.count = 0;
	qsort(log->entry.at, count, sizeof(struct edit_entry), by_key);
	log->first = count;
	for (uint64_t i = 0; i < count; i++) {
		struct edit_entry *const e = edit_entry_at(log, i);

		if (e->key >= first_key && log->first == count) {
			log->first = i;
		}
		e->place = i;
		e->key = 2 * i + 2;
	}
	return 0;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------ */

static bool ends_in(const char *path, const char *end)
{
	const size_t n = strlen(path), m = strlen(end);

	return n >= m && strcmp(path + n - m, end) == 0 && (n == m || path[n - m - 1] == '/' || *end == '/');
}

bool ct_line_is(const struct ct_line *line, const char *file, uint32_t number)
{
	return line->line == number && number != 0 && *line->file != '\0' && *file != '\0' &&
	       (ends_in(file, line->file) || ends_in(line->file, file));
}

static const struct edit_site *site_at(const struct edit_log *log, uint32_t site)
{
	return site >= 1 && site <= log->site.count ? (const struct edit_site *)log->site.at + site - 1 :
						      NULL;
}

const struct edit_site *edit_log_caller(const struct edit_log *log, uint32_t site, const struct ct_line *line)
{
	struct ct_line caller = {.line = line->caller_line};
	const struct edit_site *s = site_at(log, site);

	memcpy(caller.file, line->caller_file, sizeof line->caller_file);
	do {
		s = s ? site_at(log, s->caller) : NULL;
	} while (s != NULL && !ct_line_is(&caller, s->file, s->line));
	return s;
}

bool edit_log_has_returned(
	const struct edit_log *log, uint32_t site, const struct edit_site *caller, const struct ct_line *line)
{
	const struct edit_site *const s = site_at(log, site);

	return s != NULL && edit_log_caller(log, site, line) == NULL &&
	       (s->caller != 0 || strcmp(s->function, caller->function) == 0);
}

bool edit_log_is_at(const struct edit_log *log, uint32_t site, const struct ct_line *line)
{
	const struct edit_site *const s = site_at(log, site);

	return s != NULL && ct_line_is(line, s->file, s->line) &&
	       (line->caller_line == 0 || edit_log_caller(log, site, line) != NULL);
}

uint32_t edit_site_of(const struct nvw_log_record *r)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		return r->store.site;
	case NVW_LOG_ACK:
		return r->ack.site;
	case NVW_LOG_BEGIN:
		return r->begin.site;
	case NVW_LOG_BARRIER:
	case NVW_LOG_PERSISTED:
		return r->barrier.site;
	case NVW_LOG_FLUSH:
		return r->flush.site;
	case NVW_LOG_FENCE:
		return r->fence.site;
	default:
		return 0;
	}
}

enum { NEAR_MAX = 3 };

static uint32_t distance(const struct edit_site *s, uint32_t line)
{
	return s->line > line ? s->line - line : line - s->line;
}

/* The sites of the line's file that are nearest to it and have such records: how many. */
static unsigned near_sites(
	const struct edit_log *log, const struct ct_line *line, uint32_t kinds, uint32_t ret_line[NEAR_MAX])
{
	unsigned count = 0;

	for (uint64_t i = 0; i < log->entry.count; i++) {
		const struct nvw_log_record *const r = &edit_entry_at(log, i)->record;
		const uint32_t site = kinds >> r->kind & 1 ? edit_site_of(r) : 0;
		const struct edit_site *const s = (const struct edit_site *)log->site.at + site - 1;
		unsigned k = 0, at;

		if (site < 1 || site > log->site.count ||
			!(ends_in(s->file, line->file) || ends_in(line->file, s->file))) {
			continue;
		}
		while (k < count && ret_line[k] != s->line) {
			k++;
		}
		if (k < count) {
			continue;
		}
		for (at = count;
			at > 0 && distance(s, line->line) <
					  distance(&(struct edit_site){.line = ret_line[at - 1]}, line->line);
			at--) {
			if (at < NEAR_MAX) {
				ret_line[at] = ret_line[at - 1];
			}
		}
		if (at < NEAR_MAX) {
			ret_line[at] = s->line;
			count += count < NEAR_MAX;
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

	for (unsigned i = 0; i < count; i++) {
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%u",
			i ? ", " : "; lines near it that have: ", nearest[i]);
	}
	return nvw_fail(NVW_E_USAGE, "%s:%u: the log has no %s at this line%s", line->file, line->line, lacks,
		count       ? text :
		*line->file ? ", nor at any line of this file" :
			      "");
}
