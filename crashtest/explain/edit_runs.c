/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of a line in an edited log. See edit_runs.h. */
#include <stdlib.h>

#include "edit_runs.h"

/* False: no work-item or thread does alone what the record says. */
static bool has_actor(const struct nvw_log_record *r, struct ct_by *ret)
{
	return r->kind != NVW_LOG_BARRIER && r->kind != NVW_LOG_PERSISTED && ct_record_by(r, ret);
}

/* Threads of the host and work-items have numbers of their own. */
static uint64_t slot_of(struct ct_by who)
{
	return 2 * who.work_item + (who.kernel != 0);
}

/* Work-items end with their kernel, threads go on. */
static void forget_items(struct ct_array *slots)
{
	for (uint64_t i = 1; i < slots->capacity; i += 2) {
		((uint64_t *)slots->at)[i] = 0;
	}
}

static int begin_run(struct runs *s, struct ct_by who, uint64_t place)
{
	uint64_t *const last = (uint64_t *)s->last.at + slot_of(who);

	NVW_TRY(ct_array_grow(&s->run, s->run.count + 1, sizeof(struct run)));
	if (*last != 0) {
		run_at(s, *last - 1)->again = place;
	}
	*run_at(s, s->run.count++) = (struct run){
		.actor = who, .first = place, .last = place, .next = UINT64_MAX, .again = UINT64_MAX};
	*last = s->run.count;
	return 0;
}

static int look_at(struct runs *s, const struct edit_log *log, uint64_t place, const struct ct_line *line,
	uint32_t kinds)
{
	const struct nvw_log_record *const r = edit_record_at(log, place);
	struct ct_by who;

	if (r->kind == NVW_LOG_LAUNCH) {
		forget_items(&s->open);
		forget_items(&s->last);
	}
	if (!has_actor(r, &who)) {
		return 0;
	}
	NVW_TRY(ct_array_grow(&s->open, slot_of(who) + 1, sizeof(uint64_t)));
	NVW_TRY(ct_array_grow(&s->last, slot_of(who) + 1, sizeof(uint64_t)));
	uint64_t *const open = (uint64_t *)s->open.at + slot_of(who);
	const bool is_there = kinds >> r->kind & 1 && edit_log_is_at(log, who.site, line);

	if (*open != 0 && is_there) {
		run_at(s, *open - 1)->last = place;
	} else if (is_there) {
		NVW_TRY(begin_run(s, who, place));
		*open = s->run.count;
	} else if (*open != 0) {
		run_at(s, *open - 1)->next = place;
		*open = 0;
	}
	return 0;
}

int edit_runs_find(const struct edit_log *log, const struct ct_line *line, uint32_t kinds, struct runs *ret)
{
	struct runs s = {0};
	int error = 0;

	for (uint64_t i = 0; i < log->entry.count && !error; i++) {
		error = look_at(&s, log, i, line, kinds);
	}
	free(s.open.at);
	free(s.last.at);
	s.open = s.last = (struct ct_array){0};
	*ret = s;
	return error;
}

bool edit_run_has(
	const struct edit_log *log, uint64_t place, const struct run *run, const struct ct_line *line)
{
	const struct nvw_log_record *const r = edit_record_at(log, place);
	struct ct_by who;

	return (r->kind == NVW_LOG_STORE || r->kind == NVW_LOG_ACK) && ct_record_by(r, &who) &&
	       ct_is_same_item(&who, &run->actor) && edit_log_is_at(log, who.site, line);
}
