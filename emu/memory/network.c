/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interconnect between CUs and L2 banks: crossbar, mesh or torus, with dimension-ordered routing.
 *
 * A message reserves the resources on its path: with a crossbar the sender's and the receiver's port, on a
 * grid every link, for as many cycles as it has flits. Its head advances by one hop latency per hop, its tail
 * follows at one flit per cycle (wormhole).
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "../time/booking.h"
#include "../machine.h"

enum { HEADER_BYTES = 8, PORTS = 2, LINKS = 4 };
enum link { EAST, WEST, SOUTH, NORTH };

static size_t links(const struct emu_network *n)
{
	return (size_t)n->columns * n->rows * LINKS + (size_t)n->nodes * PORTS;
}

static uint32_t flits_of(const struct nvw_machine *m, uint32_t bytes)
{
	return (uint32_t)((HEADER_BYTES + bytes + m->config.flit - 1) / m->config.flit);
}

int emu_network_init(struct nvw_machine *m)
{
	struct emu_network *const n = &m->network;

	n->nodes = (uint32_t)(m->config.cus + m->config.l2_banks);
	if (m->config.bank_nodes == EMU_BANKS_beside) {
		n->nodes = (uint32_t)nvw_max(m->config.cus, m->config.l2_banks);
	}
	n->columns = (uint32_t)m->config.columns;
	while (m->config.columns == 0 && n->columns * n->columns < n->nodes) {
		n->columns++;
	}
	n->rows = (n->nodes + n->columns - 1) / n->columns;
	n->flit_ps = m->cycle_ps;
	NVW_FOR(bytes, EMU_MESSAGE_BYTES) {
		n->flits[bytes] = flits_of(m, bytes);
	}
	NVW_INVARIANT(n->columns > 0 && n->columns * n->rows >= n->nodes);
	n->link = calloc(links(n), sizeof *n->link);
	n->place = calloc(n->nodes, sizeof *n->place);
	NVW_FAIL_IF(!n->link || !n->place, NVW_E_MEMORY, "no memory for a network of %u nodes", n->nodes);
	NVW_FOR(i, n->nodes) {
		n->place[i] = (struct emu_place){i % n->columns, i / n->columns};
	}
	return 0;
}

void emu_network_finish(struct nvw_machine *m)
{
	emu_resources_finish(m->network.link, links(&m->network));
	free(m->network.link);
	free(m->network.place);
}

extern inline uint32_t emu_network_cu_node(const struct nvw_machine *m, unsigned cu)
{
	NVW_DEEP_INVARIANT(cu < m->config.cus);
	return cu;
}

extern inline uint32_t emu_network_bank_node(const struct nvw_machine *m, uint32_t bank)
{
	NVW_DEEP_INVARIANT(bank < m->config.l2_banks);
	if (m->config.bank_nodes == EMU_BANKS_beside) {
		return (uint32_t)(bank * (uint64_t)m->network.nodes / m->config.l2_banks); /* evenly spread */
	}
	return (uint32_t)m->config.cus + bank;
}

static __attribute__((noinline, cold)) emu_time watch_link(
	struct nvw_machine *m, size_t link, emu_time t, emu_time occupancy)
{
	static const char *const classes[] = {
		[EMU_MESSAGE_READ] = "read",
		[EMU_MESSAGE_REGISTER] = "register",
		[EMU_MESSAGE_WRITE] = "write",
		[EMU_MESSAGE_ATOMIC] = "atomic",
		[EMU_MESSAGE_CONTROL] = "control",
	};

	return emu_watch_book(m, &m->network.link[link], EMU_SIGHT_LINK, (uint32_t)link,
		classes[m->network.message], t, occupancy);
}

/* The message occupies the link, or port, from t on or later; returns from when. */
static inline emu_time book_link(struct nvw_machine *m, size_t link, emu_time t, emu_time occupancy)
{
	NVW_DEEP_INVARIANT(link < links(&m->network));
	if (emu_is_watched(m)) {
		return watch_link(m, link, t, occupancy);
	}
	return emu_book(m, &m->network.link[link], t, occupancy);
}

/* A column or a row of the grid: so many nodes, whose links in one direction are stride apart. */
struct line {
	size_t first;
	uint32_t size;
	size_t stride;
};

/* Follows the line upwards or downwards, round the torus's end if need be; returns the head's arrival. */
static emu_time follow(struct nvw_machine *m, const struct line *line, uint32_t at, uint32_t steps, bool up,
	emu_time occupancy, emu_time t)
{
	NVW_DEEP_INVARIANT(at < line->size && steps <= line->size);
	while (steps--) {
		t = book_link(m, line->first + at * line->stride, t, occupancy) + m->config.hop;
		if (!up) {
			at = NVW_OR(at, line->size) - 1;
		} else if (++at == line->size) {
			at = 0;
		}
	}
	return t;
}

/* The steps from node to node of a line, and whether they go up. A torus takes the shorter way round. */
static inline uint32_t steps_of(uint32_t at, uint32_t to, uint32_t size, bool torus, bool *ret_up)
{
	uint32_t ahead = to - at;

	NVW_DEEP_INVARIANT(at < size && to < size && at != to);
	*ret_up = to > at;
	if (to < at) {
		ahead += size;
	}
	if (torus) {
		*ret_up = 2 * ahead <= size;
	}
	if (*ret_up) {
		return ahead;
	}
	return size - ahead;
}

/* Ahead and back along a column, and along a row. */
static const unsigned directions[2][2] = {{SOUTH, NORTH}, {EAST, WEST}};

/* Follows the links, columns first; returns the head's arrival and the number of hops. */
static emu_time walk(
	struct nvw_machine *m, uint32_t from, uint32_t to, emu_time occupancy, emu_time t, uint32_t *ret_hops)
{
	struct emu_network *const n = &m->network;
	const bool torus = m->config.topology == EMU_TOPOLOGY_torus;
	NVW_DEEP_INVARIANT(from < n->nodes && to < n->nodes);
	const struct emu_place at = n->place[from], end = n->place[to];
	const size_t links = (size_t)n->nodes * PORTS, row = (size_t)n->columns * LINKS;
	uint32_t steps;
	bool up;

	*ret_hops = 0;
	if (at.x != end.x) {
		steps = steps_of(at.x, end.x, n->columns, torus, &up);
		t = follow(m, &(struct line){links + at.y * row + directions[true][!up], n->columns, LINKS},
			at.x, steps, up, occupancy, t);
		*ret_hops += steps;
	}
	if (at.y != end.y) {
		steps = steps_of(at.y, end.y, n->rows, torus, &up);
		t = follow(m, &(struct line){links + end.x * LINKS + directions[false][!up], n->rows, row},
			at.y, steps, up, occupancy, t);
		*ret_hops += steps;
	}
	return t;
}

extern inline uint32_t emu_network_flits(const struct nvw_machine *m, uint32_t bytes)
{
	if (bytes < EMU_MESSAGE_BYTES) {
		return m->network.flits[bytes];
	}
	return flits_of(m, bytes);
}

static void count(struct nvw_machine *m, enum emu_message what, uint32_t flits, uint32_t hops)
{
	static const struct {
		size_t flits, hops;
	} by_class[] = {
#define CLASS(message, name)        \
	[EMU_MESSAGE_##message] = { \
		offsetof(struct emu_stats, net_flits_##name), offsetof(struct emu_stats, net_hops_##name)}
		CLASS(READ, read),
		CLASS(REGISTER, register),
		CLASS(WRITE, write),
		CLASS(ATOMIC, atomic),
		CLASS(CONTROL, control),
#undef CLASS
	};

	m->stats.net_messages++;
	m->stats.net_flits += flits;
	m->stats.net_flit_hops += (uint64_t)flits * hops;
	*emu_counter(m, by_class[what].flits) += flits;
	*emu_counter(m, by_class[what].hops) += (uint64_t)flits * hops;
}

/* Sends a message other than across a crossbar, or while an observer watches. */
static __attribute__((noinline)) emu_time send_far(
	struct nvw_machine *m, uint32_t from, uint32_t to, uint32_t flits, enum emu_message what, emu_time t)
{
	const emu_time occupancy = flits * m->network.flit_ps;
	uint32_t hops = 1;

	m->network.message = what;
	t = book_link(m, from * PORTS, t, occupancy);
	if (m->config.topology == EMU_TOPOLOGY_crossbar) {
		t += m->config.hop;
	} else {
		t = walk(m, from, to, occupancy, t, &hops);
	}
	t = book_link(m, to * PORTS + 1, t, occupancy) + occupancy;
	count(m, what, flits, hops);
	return t;
}

extern inline emu_time emu_network_send(
	struct nvw_machine *m, uint32_t from, uint32_t to, uint32_t bytes, enum emu_message what, emu_time t)
{
	struct emu_resource *const link = m->network.link;
	const uint32_t flits = emu_network_flits(m, bytes);
	const emu_time occupancy = flits * m->network.flit_ps;

	NVW_DEEP_INVARIANT(from < m->network.nodes && to < m->network.nodes);
	if (m->config.topology != EMU_TOPOLOGY_crossbar || emu_is_watched(m)) {
		return send_far(m, from, to, flits, what, t);
	}
	count(m, what, flits, 1);
	t = emu_book(m, &link[from * PORTS], t, occupancy) + m->config.hop;
	return emu_book(m, &link[to * PORTS + 1], t, occupancy) + occupancy;
}

/* Spreads a message both ways along a node's column or row: arrived[] is when its head reaches each node. */
static void spread(struct nvw_machine *m, uint32_t from, bool along_row, emu_time occupancy,
	emu_time *arrived, uint32_t *hops)
{
	const struct emu_network *const n = &m->network;
	uint32_t place = from / n->columns, size = n->rows;
	ptrdiff_t apart = (ptrdiff_t)n->columns;

	if (along_row) {
		place = from % n->columns;
		size = n->columns;
		apart = 1;
	}
	NVW_DEEP_INVARIANT(place < size);
	const uint32_t both[] = {size - 1 - place, place};

	for (unsigned back = 0; back < 2; back++, apart = -apart) {
		const uint32_t steps = both[back];
		size_t link = (size_t)n->nodes * PORTS + (size_t)from * LINKS + directions[along_row][back];
		emu_time *at = arrived + from, t = *at;

		NVW_FOR(i, steps) {
			t = book_link(m, link, t, occupancy) + m->config.hop;
			link += (size_t)(apart * LINKS);
			at += apart;
			*at = t;
		}
		*hops += steps;
	}
}

void emu_network_broadcast(
	struct nvw_machine *m, uint32_t from, enum emu_message what, emu_time t, emu_time *ret_arrivals)
{
	enum { NODES_MAX = EMU_CUS_MAX + 1024 };
	struct emu_network *const n = &m->network;
	const uint32_t flits = emu_network_flits(m, 0);
	const emu_time occupancy = flits * n->flit_ps;
	emu_time arrived[2 * NODES_MAX];
	uint32_t hops = 0;

	NVW_INVARIANT(from < n->nodes && n->nodes <= NODES_MAX);
	n->message = what;
	t = book_link(m, from * PORTS, t, occupancy);
	if (m->config.topology == EMU_TOPOLOGY_crossbar) {
		NVW_EACH(one, arrived, n->nodes) {
			*one = t + m->config.hop;
		}
		hops = 1;
	} else {
		const uint32_t first = n->place[from].y * n->columns;

		arrived[from] = t;
		spread(m, from, true, occupancy, arrived, &hops);
		NVW_FOR(x, n->columns) {
			spread(m, first + x, false, occupancy, arrived, &hops);
		}
	}
	NVW_FOR(i, m->config.cus) {
		const uint32_t node = emu_network_cu_node(m, i);

		ret_arrivals[i] = t;
		if (node != from) {
			ret_arrivals[i] =
				book_link(m, node * PORTS + 1, arrived[node], occupancy) + occupancy;
		}
	}
	count(m, what, flits, hops);
}

/* ---- Names --------------------------------------------------------------------------------- */

static void node_name(const struct nvw_machine *m, uint32_t node, char text[32])
{
	if (m->config.bank_nodes == EMU_BANKS_beside) {
		snprintf(text, 32, "node %u", node);
	} else if (node < m->config.cus) {
		snprintf(text, 32, "CU %u", node);
	} else {
		snprintf(text, 32, "bank %u", node - (uint32_t)m->config.cus);
	}
}

void emu_network_link_name(const struct nvw_machine *m, uint32_t link, char *text, size_t size)
{
	static const char *const ports_of[] = {"out", "in"};
	static const char *const names[] = {
		[EAST] = "east", [WEST] = "west", [SOUTH] = "south", [NORTH] = "north"};
	NVW_DEEP_INVARIANT(link < links(&m->network));
	const uint32_t ports = m->network.nodes * PORTS;
	char node[32];

	if (link < ports) {
		node_name(m, link / PORTS, node);
		snprintf(text, size, "%s %s", node, ports_of[link % PORTS]);
	} else {
		node_name(m, (link - ports) / LINKS, node);
		snprintf(text, size, "%s %s", node, names[(link - ports) % LINKS]);
	}
}
