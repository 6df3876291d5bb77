/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random runs that are edited: items that come to a line of stores or barriers, with others between. See
 * edit_rig.h.
 */
#include <nvw/random.h>

#include "edit_rig.h"

struct maker {
	struct history *h;
	struct nvw_random r;
	/*
	 * Each item has what it still does, last first: lines of stores and barriers, 0: an acknowledgement.
	 */
	unsigned program[ITEMS][16], left[ITEMS];
	unsigned wi[ITEMS], wg[ITEMS];
	unsigned come[ITEMS]; /* how often to the line of the edit */
};

static unsigned below(struct maker *m, unsigned n)
{
	return (unsigned)nvw_random_below(&m->r, n);
}

static struct event *add_event(struct maker *m, enum nvw_log_kind kind, unsigned item)
{
	struct event *const e = &m->h->event[m->h->events++];

	assert_true(m->h->events < EVENTS_MAX);
	*e = (struct event){.kind = kind, .item = item, .wi = m->wi[item], .wg = m->wg[item]};
	return e;
}

bool is_member(const struct event *e, unsigned item)
{
	return e->of_group ? e->item / GROUP == item / GROUP : e->item == item;
}

static void complete(struct maker *m, const struct event *barrier)
{
	struct event *const e = add_event(m, NVW_LOG_PERSISTED, barrier->item);

	e->of_group = barrier->of_group;
	e->line = barrier->line;
	NVW_FOR(s, m->h->stores) {
		e->covers |= (uint32_t)is_member(e, m->h->event[m->h->store_at[s]].item) << s;
	}
}

static void meet(struct maker *m, unsigned item, unsigned line)
{
	struct event *const e = add_event(m, NVW_LOG_BARRIER, item);

	e->line = line;
	e->of_group = line == LINE_GROUP;
	NVW_FOR(i, ITEMS) {
		m->wi[i] += is_member(e, i);
		m->wg[i] += e->of_group && is_member(e, i);
	}
	complete(m, e);
}

static void step(struct maker *m, unsigned item)
{
	const unsigned line = m->program[item][--m->left[item]];

	if (line == 0 && m->h->acks < ACKS_MAX) {
		m->h->ack_at[m->h->acks] = m->h->events;
		add_event(m, NVW_LOG_ACK, item)->number = m->h->acks++;
	} else if (line == LINE_BARRIER) {
		meet(m, item, line);
	} else if (line != 0 && m->h->stores < STORES_MAX) {
		struct event *const e = add_event(m, NVW_LOG_STORE, item);

		e->line = line;
		e->word = below(m, WORDS);
		e->number = m->h->stores;
		m->h->store_at[m->h->stores++] = m->h->events - 1;
	}
}

/*
 * Every item comes to line so often, with one or two stores if it is LINE_A, and does other things before
 * and between.
 */
static void make_programs(struct maker *m, unsigned line)
{
	static const unsigned others[] = {LINE_OTHER, LINE_B, 0};

	NVW_FOR(i, ITEMS) {
		NVW_FOR(k, ARRIVALS) {
			if (below(m, 4) == 0) {
				m->program[i][m->left[i]++] = others[below(m, 3)];
			}
			if (k > 0 && line == LINE_A) {
				m->program[i][m->left[i]++] =
					below(m, 2) ? LINE_B : 0; /* or the two runs were one */
			}
			m->program[i][m->left[i]++] = line;
			if (line == LINE_A && below(m, 4) == 0) {
				m->program[i][m->left[i]++] = line;
			}
		}
		if (below(m, 2)) {
			m->program[i][m->left[i]++] = line == LINE_A ? LINE_BARRIER : LINE_A;
		}
	}
}

/* The item's next and last stores may be consecutive ones. */
static bool is_storing(const struct maker *m, unsigned item)
{
	unsigned line = 0;

	NVW_EACH(e, m->h->event, m->h->events) {
		line = e->kind != NVW_LOG_PERSISTED && e->item / GROUP == item / GROUP &&
				       (e->of_group || e->item == item) ?
			       e->line :
			       line;
	}
	return line == LINE_A;
}

/* A real barrier would make the item wait: others of its scope have not come as often. */
static bool waits(const struct maker *m, unsigned item, enum nvw_group scope)
{
	bool waits = false;

	for (unsigned i = 0; i < ITEMS; i++) {
		waits = waits ||
			((scope == NVW_KERNEL || i / GROUP == item / GROUP) && m->come[i] < m->come[item]);
	}
	return waits;
}

void make_run(uint64_t seed, unsigned line, enum nvw_group waiting, struct history *h)
{
	struct maker m = {.h = h, .r = {seed}};
	unsigned left = 0;

	*h = (struct history){.host = false};
	make_programs(&m, line);
	NVW_EACH(one, m.left, ITEMS) {
		left += *one;
	}
	while (left > 0) {
		const unsigned item = below(&m, ITEMS);

		if (waiting != NVW_WORKITEM && waits(&m, item, waiting)) {
			continue;
		}
		if (below(&m, 12) == 0 && !is_storing(&m, item) && !is_storing(&m, item ^ 1) &&
			m.come[item] == m.come[item ^ 1]) {
			meet(&m, item / GROUP * GROUP, LINE_GROUP);
		} else if (m.left[item] > 0) {
			step(&m, item);
			left--;
			m.come[item] += m.program[item][m.left[item]] == line &&
					(line != LINE_A || m.left[item] == 0 ||
						m.program[item][m.left[item] - 1] != line);
		}
	}
	add_event(&m, NVW_LOG_FINISH, 0);
}
