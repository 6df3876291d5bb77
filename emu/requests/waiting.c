/* SPDX-License-Identifier: BSD-3-Clause */
/* The waits of wavefronts, counted by cause in the statistics, and by cause and source line. */
#include <stdlib.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "../machine.h"

static void count_cause(struct emu_stats *s, enum emu_cause cause, emu_time waited)
{
	const struct {
		uint64_t *times, *ps;
	} counters[] = {
#define X(name, waker) {&s->waits_##name, &s->wait_##name##_ps},
		EMU_CAUSES(X)
#undef X
	};

	++*counters[cause].times;
	*counters[cause].ps += waited;
}

static struct emu_waited *find(
	const struct emu_waited_table *t, const struct nvw_site *site, enum emu_cause cause)
{
	return NVW_FIND(row, t->rows, t->count, row->site == site && row->cause == cause);
}

static struct emu_waited *add(struct nvw_machine *m, const struct nvw_site *site, enum emu_cause cause)
{
	struct emu_waited_table *const t = &m->waited;

	if (!NVW_ROOM(t->rows, t->capacity, t->count + 1)) {
		m->error = nvw_fail(NVW_E_MEMORY, "no memory for more than %u places of waiting", t->count);
		return NULL;
	}
	t->rows[t->count] = (struct emu_waited){.site = site, .cause = cause};
	return &t->rows[t->count++];
}

void emu_count_wait(struct nvw_machine *m, const struct emu_wavefront *wf, const struct nvw_site *site,
	enum emu_cause cause, emu_time from, emu_time to)
{
	struct emu_waited *row = find(&m->waited, site, cause);

	count_cause(&m->stats, cause, to - from);
	if (!row) {
		row = add(m, site, cause);
	}
	if (row) {
		row->times++;
		row->ps += to - from;
	}
	if (wf && emu_is_watched(m)) {
		emu_watch_wait(m, wf, emu_cause_name(cause), site, from, to);
	}
}

void emu_forget_waits(struct nvw_machine *m)
{
	free(m->waited.rows);
	m->waited = (struct emu_waited_table){0};
}

static const struct {
	const char *name, *waker;
} causes[] = {
#define X(name, waker) {#name, waker},
	EMU_CAUSES(X)
#undef X
};

const char *emu_cause_name(enum emu_cause cause)
{
	NVW_INVARIANT(cause < NVW_COUNT(causes));
	return causes[cause].name;
}

const char *emu_cause_waker(enum emu_cause cause)
{
	NVW_INVARIANT(cause < NVW_COUNT(causes));
	return causes[cause].waker;
}

static int longest_first(const void *a, const void *b)
{
	const struct emu_waited *const x = a, *const y = b;

	if (x->ps != y->ps) {
		return (x->ps < y->ps) - (x->ps > y->ps);
	}
	return (x->times < y->times) - (x->times > y->times);
}

const struct emu_waited *emu_waited(struct nvw_machine *m, unsigned *ret_count)
{
	if (m->waited.count) {
		qsort(m->waited.rows, m->waited.count, sizeof *m->waited.rows, longest_first);
	}
	*ret_count = m->waited.count;
	return m->waited.rows;
}
