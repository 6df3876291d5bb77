/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores that persist together, and assumptions. See edit.h and limits.h. */
#include <stdlib.h>

#include "edit_log.h"
#include "../states/models/models.h"

/* ---- Stores that persist together ---------------------------------------------------------------------- */

enum { TOGETHER_MAX = 64 };

/* What a work-item or thread has stored at the lines since it came to the first of them. */
struct episode {
	uint32_t kernel;
	bool beyond; /* at another line than the first */
	unsigned count;
	uint64_t place[TOGETHER_MAX];
};

struct gathering {
	struct edit_log *log;
	const struct ct_edit *edit;
	struct ct_array episode; /* struct episode, by the actor's number */
	uint64_t done;
};

static bool is_at_any(const struct edit_log *log, const struct ct_edit *e, uint32_t site)
{
	bool at = edit_log_is_at(log, site, &e->a) || edit_log_is_at(log, site, &e->b);

	for (unsigned i = 0; i < e->more_count && i < CT_EDIT_MORE_MAX; i++) {
		at = at || edit_log_is_at(log, site, &e->more[i]);
	}
	return at;
}

static bool is_in(const struct episode *p, uint64_t place)
{
	return NVW_ANY(one, p->place, p->count, *one == place);
}

/* True if somebody else stores to the word of the store at a place before the one to which it moves. */
static bool is_crossed(const struct gathering *g, const struct episode *p, uint64_t place, uint64_t to)
{
	const nvw_off word = edit_record_at(g->log, place)->store.off & ~(nvw_off)7;

	NVW_INVARIANT(place < to);
	for (uint64_t i = place + 1; i < to; i++) {
		const struct nvw_log_record *const r = edit_record_at(g->log, i);

		if (r->kind == NVW_LOG_STORE && (r->store.off & ~(nvw_off)7) == word && !is_in(p, i)) {
			return true;
		}
	}
	return false;
}

/* The thread's flushes of the line that a store moves away from come again behind the store. */
static int flush_again(const struct gathering *g, uint64_t place, uint64_t to)
{
	const struct nvw_log_record *const s = edit_record_at(g->log, place);
	const nvw_off line = s->store.off & ~(nvw_off)63;

	NVW_INVARIANT(place < to);
	for (uint64_t i = place + 1; i < to && s->store.kernel == 0; i++) {
		const struct nvw_log_record r = edit_entry_at(g->log, i)->record;

		if (r.kind == NVW_LOG_FLUSH && r.flush.thread == s->store.work_item &&
			r.flush.off < line + 64 && r.flush.off + r.flush.bytes > line) {
			return edit_log_add(g->log, to, true, &r);
		}
	}
	return 0;
}

static int gather(struct gathering *g, struct episode *p)
{
	const uint64_t to = p->count ? p->place[p->count - 1] : 0;
	int error = 0;

	if (p->count > 1) {
		g->log->groups++;
		g->done++;
	}
	for (unsigned i = 0; i < p->count && p->count > 1 && !error; i++) {
		struct edit_entry *const e = edit_entry_at(g->log, p->place[i]);
		const struct nvw_log_record *const last = edit_record_at(g->log, to);

		e->limit.together = g->log->groups;
		if (p->place[i] == to) {
			continue;
		}
		NVW_FAIL_IF(is_crossed(g, p, p->place[i], to), NVW_E_USAGE,
			"%s:%u: the stores cannot be put together in the log: in between, somebody "
			"else "
			"stored to their words",
			g->edit->a.file, g->edit->a.line);
		error = flush_again(g, p->place[i], to);
		e->record.store.epoch_wi = last->store.epoch_wi;
		e->record.store.epoch_wg = last->store.epoch_wg;
		e->record.store.epoch_kr = last->store.epoch_kr;
		edit_log_move(g->log, p->place[i], to, false);
	}
	p->count = 0;
	p->beyond = false;
	return error;
}

static struct episode *episode_of(struct gathering *g, uint64_t number)
{
	return ct_array_grow(&g->episode, number + 1, sizeof(struct episode)) ?
		       NULL :
		       (struct episode *)g->episode.at + number;
}

static int see_store(struct gathering *g, uint64_t place, const struct nvw_log_record *r)
{
	struct episode *const p = episode_of(g, r->store.work_item);
	const bool first = edit_log_is_at(g->log, r->store.site, &g->edit->a);
	const bool there = is_at_any(g->log, g->edit, r->store.site);
	int error = 0;

	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	if (!p) {
		return NVW_E_MEMORY;
	}
	if (p->count > 0 && (p->kernel != r->store.kernel || (first && p->beyond) ||
				    (!there && g->edit->b.line == 0) || p->count == TOGETHER_MAX)) {
		error = gather(g, p);
	}
	if (!error && there && (first || p->count > 0)) {
		p->kernel = r->store.kernel;
		p->beyond |= !first;
		p->place[p->count++] = place;
	}
	return error;
}

int edit_atomic(struct edit_log *log, const struct ct_edit *edit)
{
	struct gathering g = {.log = log, .edit = edit};

	NVW_INVARIANT(edit->kind == CT_EDIT_ATOMIC);
	int error = 0;

	for (uint64_t i = 0; i < log->entry.count && !error; i++) {
		const struct nvw_log_record *const r = edit_record_at(log, i);

		if (r->kind == NVW_LOG_STORE) {
			error = see_store(&g, i, r);
		} else if (r->kind == NVW_LOG_ACK && r->ack.work_item < g.episode.capacity) {
			error = gather(&g, episode_of(&g, r->ack.work_item));
		}
	}
	for (uint64_t i = 0; i < g.episode.capacity && !error; i++) {
		error = gather(&g, (struct episode *)g.episode.at + i);
	}
	free(g.episode.at);
	if (!error && g.done == 0) {
		error = edit_log_no_line(
			log, &edit->a, CT_KIND(STORE), "store that others of these lines follow");
	}
	log->limited = true;
	NVW_TRY(error);
	return edit_log_settle(log);
}

/* ---- Assumptions --------------------------------------------------------------------------------------- */

static int mark(struct edit_log *log, const struct ct_line *line, const struct ct_limit *limit)
{
	uint64_t marked = 0;

	NVW_FOR(i, log->entry.count) {
		struct edit_entry *const e = edit_entry_at(log, i);

		if (e->record.kind == NVW_LOG_STORE && edit_log_is_at(log, e->record.store.site, line)) {
			e->limit.durable |= limit->durable;
			e->limit.before |= limit->before;
			e->limit.after |= limit->after;
			marked++;
		}
	}
	log->limited = true;
	return marked ? 0 : edit_log_no_line(log, line, CT_KIND(STORE), "store");
}

int edit_durable(struct edit_log *log, const struct ct_edit *e)
{
	const struct ct_limit durable = {.durable = (uint8_t)(1u << log->durables)};

	NVW_INVARIANT(e->kind == CT_EDIT_DURABLE);
	log->durables += log->durables < CT_ORDERS_MAX - 1;
	return mark(log, &e->a, &durable);
}

int edit_ordered(struct edit_log *log, const struct ct_edit *e)
{
	NVW_INVARIANT(e->kind == CT_EDIT_ORDERED);
	NVW_FAIL_IF(log->orders == CT_ORDERS_MAX, NVW_E_USAGE,
		"at most %d pairs of lines can be assumed to be ordered", CT_ORDERS_MAX);
	const struct ct_limit before = {.before = (uint8_t)(1u << log->orders)},
			      after = {.after = (uint8_t)(1u << log->orders)};
	log->orders++;
	NVW_TRY(mark(log, &e->a, &before));
	return mark(log, &e->b, &after);
}
