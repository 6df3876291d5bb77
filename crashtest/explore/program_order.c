/* SPDX-License-Identifier: BSD-3-Clause */
/* The order that synchronization makes. See program_order.h. */
#include "program_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <emu.h>
#include <nvw/random.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/search.h"

enum { OF_PLACE = UINT32_MAX, MANY = 4096 };

struct reading {
	struct ct_program_order *order;
	uint64_t stores, next; /* next: the first store that is not yet behind */
	const uint32_t *members;
};

/* ---- Members ------------------------------------------------------------------------------------------- */

static bool is_of(const struct ct_member *m, uint32_t kernel, uint64_t id)
{
	return m->kernel == kernel && m->id == id;
}

static uint32_t *place_of(const struct ct_program_order *o, uint32_t kernel, uint64_t id)
{
	const uint64_t hash = nvw_mix64(id ^ (uint64_t)kernel << 40);

	return &o->table[NVW_PROBE(i, hash, (uint64_t)o->mask + 1,
		o->table[i] == 0 || is_of(&o->member[o->table[i] - 1], kernel, id))];
}

uint32_t ct_program_order_take(struct ct_program_order *o, uint32_t kernel, uint64_t id)
{
	uint32_t *const place = place_of(o, kernel, id);

	if (*place == 0) {
		o->member[o->members] = (struct ct_member){.id = id, .kernel = kernel};
		*place = ++o->members;
	}
	return *place - 1;
}

/* ---- What was told ------------------------------------------------------------------------------------- */

static int add_edge(struct ct_program_order *o, const struct ct_edge *edge)
{
	NVW_GROWN(o->edge, o->edge_capacity, o->edges + 1, "no memory for the order of a program");
	o->edge[o->edges++] = *edge;
	return 0;
}

/* Through a place it is the order of the edges that counts, not the number of a store. */
static int release(struct ct_program_order *o, const struct emu_sync *s, uint32_t member, uint32_t place)
{
	return add_edge(
		o, &(struct ct_edge){.at = s->stores, .upto = s->stores, .from = member, .to = place});
}

static int acquire(struct ct_program_order *o, const struct emu_sync *s, uint32_t member, uint32_t place)
{
	NVW_DEEP_INVARIANT(member < o->members && place < o->members);

	uint64_t after = s->stores;

	if (s->changes_word && o->member[member].newest > 0) {
		after = o->member[member].newest - 1;
	}
	return add_edge(o,
		&(struct ct_edge){.at = s->stores, .after = after, .upto = 1, .from = place, .to = member});
}

static bool meets(const struct ct_member *m, const struct emu_sync *s)
{
	return m->kernel == s->kernel && (s->kind == EMU_SYNC_KERNEL || m->id - s->work_item < s->place);
}

/* Calls pass() for all that meet at a barrier; the place is one that nothing else has. */
static int meet(struct ct_program_order *o, const struct emu_sync *s, uint64_t number,
	int (*pass)(struct ct_program_order *o, const struct emu_sync *s, uint32_t member, uint32_t place))
{
	const uint32_t place = ct_program_order_take(o, OF_PLACE, UINT64_MAX - number);

	NVW_INVARIANT(s->kind == EMU_SYNC_GROUP || s->kind == EMU_SYNC_KERNEL);
	if (s->kind == EMU_SYNC_KERNEL) {
		NVW_FOR(i, o->members) {
			if (meets(&o->member[i], s)) {
				NVW_TRY(pass(o, s, i, place));
			}
		}
		return 0;
	}
	for (uint64_t id = s->work_item; id < s->work_item + s->place; id++) {
		const uint32_t member = *place_of(o, s->kernel, id);

		if (member != 0) {
			NVW_TRY(pass(o, s, member - 1, place));
		}
	}
	return 0;
}

static int add_sync(struct ct_program_order *o, const struct emu_sync *s, uint64_t number)
{
	if (s->kind == EMU_SYNC_GROUP || s->kind == EMU_SYNC_KERNEL) {
		NVW_TRY(meet(o, s, number, release));
		return meet(o, s, number, acquire);
	}
	const uint32_t member = ct_program_order_take(o, s->kernel, s->work_item),
		       place = ct_program_order_take(o, OF_PLACE, s->place);

	return s->kind == EMU_SYNC_RELEASE ? release(o, s, member, place) : acquire(o, s, member, place);
}

static int visit(struct reading *r, const struct emu_sync *s, uint64_t number)
{
	struct ct_program_order *const o = r->order;

	for (; r->next < r->stores && r->next < s->stores; r->next++) {
		o->member[r->members[r->next]].newest = r->next + 1;
	}
	return add_sync(o, s, number);
}

/* Those that synchronize without a store: barriers look for members that there are. */
static int note_member(struct reading *r, const struct emu_sync *s, uint64_t number)
{
	if (s->kind == EMU_SYNC_RELEASE || s->kind == EMU_SYNC_ACQUIRE) {
		(void)ct_program_order_take(r->order, s->kernel, s->work_item);
	}
	return 0;
}

static int for_each_sync(
	struct reading *r, int fd, int (*look)(struct reading *r, const struct emu_sync *s, uint64_t number))
{
	struct emu_sync some[MANY / sizeof(struct emu_sync)];
	uint64_t number = 0;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, some, sizeof some, at)) > 0) {
		NVW_EACH(one, some, (size_t)n / sizeof *some) {
			NVW_TRY(look(r, one, number++));
		}
		at += n;
	}
	return n < 0 ? nvw_fail_errno("the list of what synchronized") : 0;
}

static uint64_t sync_count(int fd)
{
	const off_t bytes = fd > 0 ? lseek(fd, 0, SEEK_END) : 0;

	return bytes > 0 ? (uint64_t)bytes / sizeof(struct emu_sync) : 0;
}

int ct_program_order_make(struct ct_program_order *o, int fd, uint64_t stores)
{
	const uint64_t count = stores + 2 * sync_count(fd), capacity = nvw_probe_room(1024, count);

	o->member = calloc(count + 1, sizeof *o->member);
	o->table = capacity <= UINT32_MAX ? calloc(capacity, sizeof *o->table) : NULL;
	o->mask = (uint32_t)(capacity - 1);
	NVW_FAIL_IF(!o->member || !o->table, NVW_E_MEMORY, "no memory for the order of a program");
	return 0;
}

int ct_program_order_read(struct ct_program_order *o, int fd, uint64_t stores, const uint32_t *members)
{
	struct reading r = {.order = o, .stores = stores, .members = members};

	if (fd <= 0) {
		return 0;
	}
	NVW_TRY(for_each_sync(&r, fd, note_member));
	return for_each_sync(&r, fd, visit);
}

void ct_program_order_free(struct ct_program_order *o)
{
	free(o->member);
	free(o->table);
	free(o->edge);
}

uint32_t ct_program_order_member(const struct ct_program_order *o, uint32_t kernel, uint64_t work_item)
{
	return *place_of(o, kernel, work_item);
}

/* ---- A state ------------------------------------------------------------------------------------------- */

void ct_program_order_begin(struct ct_program_order *o)
{
	o->serial++;
}

static uint64_t needed(const struct ct_program_order *o, uint32_t member)
{
	NVW_DEEP_INVARIANT(member < o->members);
	return o->member[member].serial == o->serial ? o->member[member].upto : 0;
}

static void need(struct ct_program_order *o, uint32_t member, uint64_t upto, uint64_t because)
{
	struct ct_member *const m = &o->member[member];

	NVW_INVARIANT(member < o->members);
	if (needed(o, member) < upto) {
		m->serial = o->serial;
		m->upto = upto;
		m->because = because;
	}
}

void ct_program_order_need(struct ct_program_order *o, uint32_t member, uint64_t store)
{
	need(o, member, store, store);
}

/* The number of edges that were made within this many stores. */
static uint64_t edges_until(const struct ct_program_order *o, uint64_t stores)
{
	return NVW_FIRST(i, 0, o->edges, o->edge[i].at > stores);
}

void ct_program_order_follow(struct ct_program_order *o, uint64_t stores, uint64_t earliest)
{
	for (uint64_t i = edges_until(o, stores); i > 0 && o->edge[i - 1].at >= earliest; i--) {
		const struct ct_edge *const e = &o->edge[i - 1];

		if (needed(o, e->to) > e->after) {
			need(o, e->from, e->upto, o->member[e->to].because);
		}
	}
}

uint64_t ct_program_order_later(const struct ct_program_order *o, uint32_t member, uint64_t store)
{
	NVW_INVARIANT(member < o->members);
	return needed(o, member) >= store ? o->member[member].because : 0;
}
