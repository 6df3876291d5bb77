/* SPDX-License-Identifier: BSD-3-Clause */
/* Two stores exchanged; a flush or a fence behind a line. See edit.h. */
#include <stdlib.h>
#include <string.h>

#include "edit_log.h"
#include "models/models.h"

/* Who does what the record says, if one work-item or thread alone does: kernel, number. */
struct actor {
	uint32_t kernel;
	uint64_t number;
};

static bool has_actor(const struct nvw_log_record *r, struct actor *ret)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		*ret = (struct actor){r->store.kernel, r->store.work_item};
		return true;
	case NVW_LOG_ACK:
		*ret = (struct actor){r->ack.kernel, r->ack.work_item};
		return true;
	case NVW_LOG_FLUSH:
		*ret = (struct actor){0, r->flush.thread};
		return true;
	case NVW_LOG_FENCE:
		*ret = (struct actor){0, r->fence.thread};
		return true;
	case NVW_LOG_BEGIN:
		*ret = (struct actor){0, r->begin.thread};
		return true;
	default:
		return false;
	}
}

/* ---- Runs: consecutive records of one actor at one line --------------------------------------------------------- */

struct run {
	struct actor actor;
	uint64_t first, last; /* places */
	uint64_t next;        /* place of the actor's next record, UINT64_MAX: none */
	uint64_t again;       /* where the actor's next run of the line begins, likewise */
};

/* The runs of a line, in the order in which they begin. */
struct runs {
	struct ct_array run;
	struct ct_array open; /* uint64_t by actor's number: its open run + 1; 0: none */
	struct ct_array last; /* likewise: its last run + 1 */
};

static struct run *run_at(const struct runs *s, uint64_t i)
{
	return (struct run *)s->run.at + i;
}

static int begin_run(struct runs *s, struct actor who, uint64_t place)
{
	uint64_t *const last = (uint64_t *)s->last.at + who.number;
	const int error = ct_array_grow(&s->run, s->run.count + 1, sizeof(struct run));

	if (error) {
		return error;
	}
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
	const struct nvw_log_record *const r = &edit_entry_at(log, place)->record;
	struct actor who;

	if (r->kind == NVW_LOG_LAUNCH && s->open.at != NULL) {
		memset(s->open.at, 0, s->open.capacity * sizeof(uint64_t));
		memset(s->last.at, 0, s->last.capacity * sizeof(uint64_t));
	}
	if (!has_actor(r, &who)) {
		return 0;
	}
	int error = ct_array_grow(&s->open, who.number + 1, sizeof(uint64_t));

	error = error ? error : ct_array_grow(&s->last, who.number + 1, sizeof(uint64_t));
	uint64_t *const open = error ? NULL : (uint64_t *)s->open.at + who.number;
	const bool is_there = kinds >> r->kind & 1 && edit_log_is_at(log, edit_site_of(r), line);

	if (error) {
		return error;
	}
	if (*open != 0 && is_there) {
		run_at(s, *open - 1)->last = place;
	} else if (is_there) {
		error = begin_run(s, who, place);
		*open = error ? 0 : s->run.count;
	} else if (*open != 0) {
		run_at(s, *open - 1)->next = place;
		*open = 0;
	}
	return error;
}

static int find_runs(const struct edit_log *log, const struct ct_line *line, uint32_t kinds, struct runs *ret)
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

static bool is_of(
	const struct edit_log *log, uint64_t place, const struct run *run, const struct ct_line *line)
{
	const struct nvw_log_record *const r = &edit_entry_at(log, place)->record;
	struct actor who;

	return (r->kind == NVW_LOG_STORE || r->kind == NVW_LOG_ACK) && has_actor(r, &who) &&
	       who.kernel == run->actor.kernel && who.number == run->actor.number &&
	       edit_log_is_at(log, edit_site_of(r), line);
}

/* ---- Exchange --------------------------------------------------------------------------------------------------- */

static bool touch(const struct nvw_log_record *a, const struct nvw_log_record *b)
{
	return a->kind == NVW_LOG_STORE && b->kind == NVW_LOG_STORE &&
	       (a->store.off & ~(nvw_off)7) == (b->store.off & ~(nvw_off)7);
}

/* True if somebody stores to a word of the run between two places, other than the run itself. */
static bool is_crossed(const struct edit_log *log, const struct run *run, const struct ct_line *line,
	uint64_t from, uint64_t to)
{
	for (uint64_t i = run->first; i <= run->last; i++) {
		if (!is_of(log, i, run, line)) {
			continue;
		}
		for (uint64_t k = from; k <= to; k++) {
			if (touch(&edit_entry_at(log, i)->record, &edit_entry_at(log, k)->record) &&
				!is_of(log, k, run, line)) {
				return true;
			}
		}
	}
	return false;
}

static void take_epochs(struct nvw_log_record *to, const struct nvw_log_record *from)
{
	const uint32_t wi = from->kind == NVW_LOG_ACK ? from->ack.epoch_wi : from->store.epoch_wi,
		       wg = from->kind == NVW_LOG_ACK ? from->ack.epoch_wg : from->store.epoch_wg,
		       kr = from->kind == NVW_LOG_ACK ? from->ack.epoch_kr : from->store.epoch_kr;

	if (to->kind == NVW_LOG_ACK) {
		to->ack.epoch_wi = wi;
		to->ack.epoch_wg = wg;
		to->ack.epoch_kr = kr;
	} else {
		to->store.epoch_wi = wi;
		to->store.epoch_wg = wg;
		to->store.epoch_kr = kr;
	}
}

static void move_run(
	struct edit_log *log, const struct run *run, const struct ct_line *line, uint64_t to, bool behind)
{
	for (uint64_t i = run->first; i <= run->last; i++) {
		if (is_of(log, i, run, line)) {
			take_epochs(&edit_entry_at(log, i)->record, &edit_entry_at(log, to)->record);
			edit_log_move(log, i, to, behind);
		}
	}
}

/* The run at b that follows one at a, before the actor's next one at a. */
static const struct run *partner(const struct run *a, const struct runs *at_b)
{
	uint64_t low = 0, high = at_b->run.count;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (run_at(at_b, middle)->first > a->last) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	for (uint64_t k = low; k < at_b->run.count && run_at(at_b, k)->first < a->again; k++) {
		const struct run *const b = run_at(at_b, k);

		if (b->actor.kernel == a->actor.kernel && b->actor.number == a->actor.number) {
			return b;
		}
	}
	return NULL;
}

static int exchange(struct edit_log *log, const struct ct_edit *e, const struct run *a, const struct run *b)
{
	const bool acknowledges = edit_entry_at(log, a->first)->record.kind == NVW_LOG_ACK;

	if (!acknowledges && !is_crossed(log, b, &e->b, a->first, b->last)) {
		move_run(log, b, &e->b, a->first, false);
		return 0;
	}
	if (!is_crossed(log, a, &e->a, a->first, b->last)) {
		move_run(log, a, &e->a, b->last, true);
		return 0;
	}
	return nvw_fail(NVW_E_USAGE,
		"%s:%u and %s:%u cannot be exchanged in the log: between the two, another work-item or thread stored to their words",
		e->a.file, e->a.line, e->b.file, e->b.line);
}

int edit_exchange(struct edit_log *log, const struct ct_edit *e)
{
	const uint32_t first_kinds = CT_KIND(STORE) | CT_KIND(ACK), then_kinds = CT_KIND(STORE);
	struct runs at_a = {0}, at_b = {0};
	int error = find_runs(log, &e->a, first_kinds, &at_a);
	uint64_t pairs = 0;

	error = error ? error : find_runs(log, &e->b, then_kinds, &at_b);
	if (!error && at_a.run.count == 0) {
		error = edit_log_no_line(log, &e->a, first_kinds, "store");
	}
	if (!error && at_b.run.count == 0) {
		error = edit_log_no_line(log, &e->b, then_kinds, "store");
	}
	for (uint64_t i = 0; i < at_a.run.count && !error; i++) {
		const struct run *const b = partner(run_at(&at_a, i), &at_b);

		error = b ? exchange(log, e, run_at(&at_a, i), b) : 0;
		pairs += b != NULL;
	}
	if (!error && pairs == 0) {
		error = nvw_fail(NVW_E_USAGE,
			"%s:%u is not stored to by any work-item or thread that stored at %s:%u before",
			e->b.file, e->b.line, e->a.file, e->a.line);
	}
	free(at_a.run.at);
	free(at_b.run.at);
	return error ? error : edit_log_settle(log);
}

/* ---- Flush and fence -------------------------------------------------------------------------------------------- */

/* Each line once. */
static int flush_run(struct edit_log *log, const struct run *run, const struct ct_line *line)
{
	nvw_off last = UINT64_MAX;
	int error = 0;

	for (uint64_t i = run->first; i <= run->last && !error; i++) {
		const struct nvw_log_record *const r = &edit_entry_at(log, i)->record;
		const nvw_off at = r->kind == NVW_LOG_STORE ? r->store.off & ~(nvw_off)63 : UINT64_MAX;

		if (is_of(log, i, run, line) && at != last) {
			const struct nvw_log_record flush = {.kind = NVW_LOG_FLUSH,
				.flush = {.site = r->store.site,
					.thread = run->actor.number,
					.off = at,
					.bytes = NVW_LOG_LINE_BYTES}};

			last = at;
			error = edit_log_add(log, run->last, true, &flush);
		}
	}
	return error;
}

/* Of programs on the host alone. */
static int find_on_host(const struct edit_log *log, const struct ct_line *line, uint32_t kinds,
	const char *lacks, struct runs *ret)
{
	int error = find_runs(log, line, kinds, ret);

	if (!error && ret->run.count == 0) {
		error = edit_log_no_line(log, line, kinds, lacks);
	}
	if (!error && run_at(ret, 0)->actor.kernel != 0) {
		error = nvw_fail(NVW_E_USAGE,
			"%s:%u is in a kernel, which has barriers and no flushes or fences", line->file,
			line->line);
	}
	return error;
}

int edit_flushes(struct edit_log *log, const struct ct_edit *e)
{
	struct runs s = {0};
	int error = find_on_host(log, &e->a, CT_KIND(STORE), "store", &s);

	for (uint64_t i = 0; i < s.run.count && !error; i++) {
		error = flush_run(log, run_at(&s, i), &e->a);
	}
	free(s.run.at);
	return error ? error : edit_log_settle(log);
}

int edit_fences(struct edit_log *log, const struct ct_edit *e)
{
	const uint32_t kinds = CT_KIND(STORE) | CT_KIND(FLUSH);
	struct runs s = {0};
	int error = find_on_host(log, &e->a, kinds, "store or flush", &s);

	for (uint64_t i = 0; i < s.run.count && !error; i++) {
		const struct run *const run = run_at(&s, i);
		const struct nvw_log_record fence = {.kind = NVW_LOG_FENCE,
			.fence = {.site = edit_site_of(&edit_entry_at(log, run->first)->record),
				.thread = run->actor.number}};

		/* A thread that does nothing more has still executed the fence; the log does not say when. */
		error = run->next != UINT64_MAX ? edit_log_add(log, run->next, false, &fence) : 0;
	}
	free(s.run.at);
	return error ? error : edit_log_settle(log);
}

/* What the thread does next is after the call. */
static bool ends_with_call(const struct edit_log *log, const struct run *run, const struct ct_line *line)
{
	const struct edit_site *const caller =
		edit_log_caller(log, edit_site_of(&edit_entry_at(log, run->first)->record), line);
	const uint32_t next =
		run->next != UINT64_MAX ? edit_site_of(&edit_entry_at(log, run->next)->record) : 0;

	return run->next == UINT64_MAX || edit_log_has_returned(log, next, caller, line);
}

int ct_edit_look_behind_call(int log_fd, struct ct_edit *e)
{
	struct edit_log log;
	struct runs s = {0};
	int error;

	e->behind_call = false;
	if (e->kind != CT_EDIT_FENCE || e->a.caller_line == 0) {
		return 0;
	}
	error = edit_log_read(log_fd, 0, &log);
	if (error) {
		return error;
	}
	error = find_runs(&log, &e->a, CT_KIND(STORE) | CT_KIND(FLUSH), &s);
	e->behind_call = !error;
	for (uint64_t i = 0; i < s.run.count; i++) {
		e->behind_call = e->behind_call && ends_with_call(&log, run_at(&s, i), &e->a);
	}
	free(s.run.at);
	edit_log_free(&log);
	return error;
}
