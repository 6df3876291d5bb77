/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events for a debugger. See replay_event.h.
 *
 * The machine appends the record of a store while it carries out the instruction of a whole wavefront, when
 * no work-item runs. A debugger that shall show the work-item's frames has to stop before, where the
 * work-item executes the line. Between its last record of an earlier time and this one it executes the line
 * once, unless it does so without a record (a failed exchange).
 */
#include "report/words.h"
#include "replay_event.h"

#include <stdlib.h>

#include <nvw/persist_log.h>

#include "core/array.h"
#include "core/invariant.h"
#include "core/print.h"

/* The work-item of a record. */
struct by {
	uint32_t kernel, site;
	uint64_t work_item, group;
};

struct places {
	uint32_t count, room;
	struct place {
		char file[256];
		uint32_t line;
	} * place;
};

/* False: it is the machine's or the host's. */
static bool find_work_item(const struct nvw_log_record *r, struct by *ret)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		*ret = (struct by){r->store.kernel, r->store.site, r->store.work_item, r->store.group};
		break;
	case NVW_LOG_BARRIER:
		*ret = (struct by){
			r->barrier.kernel, r->barrier.site, r->barrier.work_item, r->barrier.group};
		break;
	case NVW_LOG_ACK:
		*ret = (struct by){r->ack.kernel, r->ack.site, r->ack.work_item, r->ack.group};
		break;
	default:
		return false;
	}
	return ret->kernel != 0 && ret->site != 0;
}

static bool has_arrived(const struct nvw_log_record *r, const struct by *by)
{
	NVW_INVARIANT(r->kind == NVW_LOG_BARRIER || r->kind == NVW_LOG_PERSISTED);
	switch (r->barrier.scope) {
	case NVW_WORKITEM:
		return by->work_item - r->barrier.work_item < 64 &&
		       r->barrier.lanes >> (by->work_item - r->barrier.work_item) & 1;
	case NVW_WORKGROUP:
		return r->barrier.group == by->group;
	default:
		return true;
	}
}

/* Whether the work-item caused the record, or its kernel began with it. */
static bool is_of(const struct nvw_log_record *r, const struct by *by)
{
	struct by other;

	if (r->kind == NVW_LOG_LAUNCH) {
		return r->launch.kernel == by->kernel;
	}
	if (!find_work_item(r, &other) || other.kernel != by->kernel) {
		return false;
	}
	return r->kind == NVW_LOG_BARRIER ? has_arrived(r, by) : other.work_item == by->work_item;
}

static int remember(struct places *p, const struct nvw_log_record *r)
{
	const uint32_t id = r->site.id;

	NVW_INVARIANT(r->kind == NVW_LOG_SITE);
	NVW_GROWN(p->place, p->room, id, "no memory for the sites of a log");
	p->place[id - 1].line = r->site.line;
	NVW_PRINT(p->place[id - 1].file, "%s", r->site.file);
	p->count = id;
	return 0;
}

/* Behind the announcement of a site it reads the event that has it. */
static int read_event(
	struct nvw_log_reader *reader, uint64_t *number, struct places *places, struct nvw_log_record *ret)
{
	uint64_t at = 0;
	int more;

	while ((more = nvw_log_next(reader, ret)) == 1) {
		at++;
		if (ret->kind == NVW_LOG_SITE) {
			NVW_TRY(remember(places, ret));
		} else if (at >= *number) {
			*number = at;
			return 0;
		}
	}
	NVW_TRY(more);
	return nvw_fail(NVW_E_USAGE, "--at=%llu: the run has %llu events", (ull)*number, (ull)at);
}

static int find_last(
	struct nvw_log_reader *reader, const struct by *by, uint64_t time_ps, uint64_t *ret_number)
{
	struct nvw_log_record r;
	int more;

	NVW_TRY(nvw_log_rewind(reader));
	for (uint64_t at = 1; (more = nvw_log_next(reader, &r)) == 1 && r.time_ps < time_ps; at++) {
		if (is_of(&r, by)) {
			*ret_number = at;
		}
	}
	return more < 0 ? more : 0;
}

static int find(
	struct nvw_log_reader *reader, uint64_t number, struct places *places, struct replay_event *ret)
{
	struct nvw_log_record r;
	struct by by;

	NVW_TRY(read_event(reader, &number, places, &r));
	*ret = (struct replay_event){.after = number, .of_work_item = find_work_item(&r, &by)};
	if (!ret->of_work_item) {
		return 0;
	}
	NVW_INVARIANT(by.site <= places->count);
	const struct place *const place = &places->place[by.site - 1];

	NVW_PRINT(ret->file, "%s", place->file);
	ret->line = place->line;
	ret->work_item = by.work_item;
	return find_last(reader, &by, r.time_ps, &ret->after);
}

int replay_find_event(const char *log, uint64_t number, struct replay_event *ret)
{
	struct nvw_log_reader *reader;
	struct places places = {0};

	NVW_TRY(nvw_log_open(log, &reader));
	const int error = find(reader, number, &places, ret);

	free(places.place);
	nvw_log_reader_close(reader);
	return error;
}
