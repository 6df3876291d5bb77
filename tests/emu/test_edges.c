/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a machine does at its edges: counts that wrap round, queues that are full, what the host finds, what
 * the log has.
 */
#include "words.h"

#include <stdio.h>
#include <string.h>

#include <nvw/persist_log.h>

#include "memory/device_memory.h"
#include "machine.h"
#include "protocol/protocol.h"

/* ---- Ways through a grid ------------------------------------------------------------------------- */

/* The next node on the way, columns first, and the link to it: east, west, south, north. */
static uint32_t next_node(
	const struct emu_network *n, uint32_t at, uint32_t to, bool torus, uint32_t *ret_link)
{
	const uint32_t x = at % n->columns, y = at / n->columns, to_x = to % n->columns,
		       to_y = to / n->columns;
	const bool along_row = x != to_x;
	const uint32_t size = along_row ? n->columns : n->rows;
	const uint32_t here = along_row ? x : y, there = along_row ? to_x : to_y;
	const bool up = torus ? 2 * ((there + size - here) % size) <= size : there > here;
	const uint32_t next = (here + (up ? 1 : size - 1)) % size;

	*ret_link = 2 * n->nodes + 4 * at + (along_row ? 0 : 2) + !up;
	return along_row ? y * n->columns + next : next * n->columns + x;
}

/*
 * Nothing else is under way: the message is on each link of its way for one hop and its flits, and on no
 * other.
 */
static void send_alone(struct nvw_machine *m, uint32_t from, uint32_t to, emu_time t)
{
	const struct emu_network *const n = &m->network;
	const bool torus = m->config.topology == EMU_TOPOLOGY_torus;
	const emu_time flits = n->flits[0] * n->flit_ps;
	const uint64_t hops = m->stats.net_flit_hops;
	const emu_time arrival = emu_network_send(m, from, to, 0, EMU_MESSAGE_CONTROL, t);
	uint64_t steps = 0;

	for (uint32_t at = from, link; at != to; steps++) {
		const uint32_t next = next_node(n, at, to, torus, &link);
		const struct emu_resource *const r = &n->link[link];

		assert_int_equal(r->end[-1].from, t + steps * m->config.hop);
		assert_int_equal(r->end[-1].to, t + steps * m->config.hop + flits);
		at = next;
	}
	assert_int_equal(arrival, t + steps * m->config.hop + flits);
	assert_int_equal(m->stats.net_flit_hops - hops, steps * n->flits[0]);
}

TEST(messages_take_the_links_of_their_way_through_a_grid)
{
	static const char *const topologies[] = {"network.topology=mesh", "network.topology=torus"},
				 *const columns[] = {"network.columns=1", "network.columns=4",
					 "network.columns=5", "network.columns=0"};

	NVW_FOR(i, 8) {
		RIG(rig);
		emu_time t = 0;

		rig_begin(&rig, 0, SETTINGS(topologies[i % 2], columns[i / 2], "gpu.cus=11"));
		NVW_FOR(from, rig.machine->network.nodes) {
			NVW_FOR(to, rig.machine->network.nodes) {
				send_alone(rig.machine, from, to, t += 1000000);
			}
		}
	}
}

/* ---- Counts that wrap round ------------------------------------------------------------------- */

KERNEL(load_word, const struct words, w)
{
	nvw_store(w->b, nvw_load(w->a));
}

/* What an L1 has held since its invalidations began to be counted is stale when the count begins anew. */
TEST(lines_stay_invalid_after_the_count_of_invalidations_has_wrapped_round)
{
	RIG_BEGUN(rig, 0, "gpu.cus=1");
	const struct words w = words_of(&rig, 64, 64);

	rig_write(&rig, w.a, 1);
	rig_launch(&rig, load_word, &w, 1, 1);
	rig_write(&rig, w.a, 2);
	struct emu_cache *const l1 = &rig.machine->cus[0].l1;

	NVW_EACH(line, l1->lines, l1->sets * l1->ways) {
		line->generation = 0;
	}
	l1->generation = UINT32_MAX;
	rig_launch(&rig, load_word, &w, 1, 1);
	assert_visible(&rig, w.b, 2);
}

/* ---- Many CUs ---------------------------------------------------------------------------------- */

KERNEL(load_one, const struct words, w)
{
	nvw_store(&w->b[8 * nvw_global_id()], nvw_load(w->a));
}

TEST(the_l2_knows_every_cu_that_has_a_line)
{
	enum { CUS = 100 };
	RIG_BEGUN(rig, 0, "gpu.cus=100");
	struct nvw_machine *const m = rig.machine;
	const struct words w = words_of(&rig, 64, 64 * CUS);
	unsigned known = 0, unknown = 0;

	rig_launch(&rig, load_one, &w, CUS, 1);
	NVW_FOR(cu, CUS) {
		const struct emu_cache *const l1 = &m->cus[cu].l1;

		EMU_EACH_LINE(i, l1) {
			const struct emu_line *const below =
				emu_cache_peek(&m->l2.cache, emu_cache_tag_at(l1, i));
			const bool is_known = below && below->sharers[cu / 64] >> cu % 64 & 1;

			known += is_known;
			unknown += !is_known;
		}
	}
	assert_int_equal(unknown, 0);
	assert_true(known >= 2 * CUS);
}

/* ---- Queues, messages -------------------------------------------------------------------------- */

TEST(a_controller_accepts_as_many_writes_as_its_queue_holds)
{
	enum { WRITES = 1000 };
	emu_time done;

	RIG_BEGUN(rig, 0, "nvram.channels=1", "nvram.queue=16");
	struct emu_device *const d = &rig.machine->device[EMU_NVRAM];
	const struct emu_channels *const c = &d->channels;

	NVW_FOR(i, WRITES) {
		const emu_time accepted = emu_channel_write(rig.machine, d, d->first + i, 0, &done);

		assert_int_equal(done, i * c->line_ps + c->write_ps);
		assert_int_equal(accepted, i > 16 ? (i - 16) * c->line_ps : 0);
	}
}

TEST(a_broadcast_comes_to_every_cu_as_soon_as_a_message_of_its_own)
{
	static const char *const networks[] = {"crossbar", "mesh"};

	for_each(network, networks) {
		NVW_FOR(from, 12) {
			char topology[64];
			RIG(rig);
			emu_time arrivals[EMU_CUS_MAX];

			snprintf(topology, sizeof topology, "network.topology=%s", *network);
			rig_begin(&rig, 0, SETTINGS(topology, "network.columns=4", "gpu.cus=12"));
			struct nvw_machine *const m = rig.machine;
			const uint32_t here = emu_network_cu_node(m, from);

			memset(arrivals, 0xff, sizeof arrivals);
			emu_network_broadcast(m, here, EMU_MESSAGE_CONTROL, 0, arrivals);
			NVW_FOR(cu, 12) {
				const emu_time later = 1000000000; /* when the links are free again */

				assert_int_equal(arrivals[cu],
					cu == from ? 0 :
						     emu_network_send(m, here, emu_network_cu_node(m, cu), 0,
							     EMU_MESSAGE_CONTROL, later * (1 + cu)) -
							     later * (1 + cu));
			}
		}
	}
}

KERNEL(add_one, const struct words, w)
{
	nvw_atomic_add(w->a, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

/*
 * The line is the L1's as soon as it has asked for it, and comes later: its CU's work-items wait for it
 * together.
 */
TEST(work_items_wait_for_what_their_l1_has_registered_and_not_got)
{
	RIG_BEGUN(rig, 0, "protocol=dd", "gpu.cus=1");
	const struct words w = words_of(&rig, 64, 0);

	rig_launch(&rig, add_one, &w, 1, 1);
	struct emu_cache *const l1 = &rig.machine->cus[0].l1;
	const emu_time later = nvw_time_ps(rig.machine) + 50000000;
	unsigned registered = 0;

	NVW_EACH(line, l1->lines, l1->sets * l1->ways) {
		if (line->registered) {
			line->granted = later;
			registered++;
		}
	}
	assert_int_equal(registered, 1);
	rig_launch(&rig, add_one, &w, 1, 1);
	assert_true(nvw_time_ps(rig.machine) >= later);
	assert_visible(&rig, w.a, 2);
}

struct ordered {
	uint64_t *data, *flag;
	enum nvw_order order;
};

KERNEL(pass_with_order, const struct ordered, o)
{
	nvw_store(&o->data[nvw_global_id()], 1);
	nvw_atomic_add(o->flag, 1, o->order, NVW_SCOPE_AGENT);
	(void)nvw_load(o->data);
	nvw_atomic_store(o->flag + 8, 1, o->order, NVW_SCOPE_SYSTEM);
	(void)nvw_atomic_load(o->flag + 8, o->order, NVW_SCOPE_AGENT);
}

TEST(a_sequentially_consistent_atomic_does_what_acquires_and_releases_do)
{
	for_each_protocol(p) {
		struct emu_stats stats[2];

		NVW_FOR(k, 2) {
			RIG_UNDER(rig, p->name);
			struct ordered o = {.order = k ? NVW_SEQ_CST : NVW_ACQ_REL};

			o.data = nvw_alloc(rig.machine, 8 * 100);
			o.flag = nvw_alloc(rig.machine, 128);
			rig_launch(&rig, pass_with_order, &o, 100, 10);
			stats[k] = *emu_statistics(rig.machine);
		}
		assert_memory_equal(&stats[0], &stats[1], sizeof stats[0]);
	}
}

KERNEL(store_remotely, const struct words, w)
{
	nvw_atomic_store(w->a, 1, NVW_RELEASE, NVW_SCOPE_REMOTE_AGENT);
}

/* alsop16 II.D: "lock all RMWs"; nothing comes in between, but others begin later. */
TEST(a_remote_store_holds_up_the_read_modify_writes_of_every_cu)
{
	RIG_BEGUN(rig, 0, "protocol=rsp", "gpu.cus=4");
	const struct words w = words_of(&rig, 64, 0);

	rig_launch(&rig, store_remotely, &w, 1, 1);
	NVW_EACH(cus, rig.machine->cus, 4) {
		assert_true(cus->rmw_free > 0);
	}
}

/* ---- The host ---------------------------------------------------------------------------------- */

KERNEL(add_to_words, const struct words, w)
{
	const uint64_t id = nvw_global_id();

	nvw_store(&w->b[id], nvw_load(&w->a[id]) + 1);
	nvw_store(&w->a[id], nvw_load(&w->a[id]) + 100);
	nvw_atomic_add(&w->a[id], 1000, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

/* Its dirty lines in the caches are no traffic, and take no time of a channel. */
TEST(memory_that_is_given_back_is_not_written)
{
	for_each_protocol(p) {
		RIG_UNDER(rig, p->name);
		const uint64_t mark = nvw_mark(rig.machine);
		const struct words w = words_of(&rig, 8 * 300, 8 * 300);

		rig_launch(&rig, add_to_words, &w, 300, 50);
		const uint64_t writes = emu_statistics(rig.machine)->dram_writes;

		nvw_release(rig.machine, mark);
		assert_counted(&rig, dram_writes, writes);
	}
}

/* Whatever level of the caches has them; the kernel before has left copies in all of them. */
TEST(host_and_kernels_see_each_other_s_stores_under_every_protocol)
{
	enum { ITEMS = 300 };

	for_each_protocol(p) {
		NVW_FOR(in_nvram, 2) {
			RIG_UNDER(rig, p->name);
			struct words w = {.a = in_nvram ? rig.nvram : nvw_alloc(rig.machine, 8 * ITEMS)};

			w.b = nvw_alloc(rig.machine, 8 * ITEMS);
			for (uint64_t round = 1; round <= 3; round++) {
				uint64_t values[ITEMS];

				NVW_FOR(id, ITEMS) {
					values[id] = round * 1000000 + id;
				}
				rig_ok(nvw_write(rig.machine, w.a, values, sizeof values));
				rig_launch(&rig, add_to_words, &w, ITEMS, 50);
				NVW_FOR(id, ITEMS) {
					assert_visible(&rig, &w.b[id], values[id] + 1);
					assert_visible(&rig, &w.a[id], values[id] + 1100);
				}
			}
		}
	}
}

KERNEL(store_lines, const struct words, w)
{
	nvw_store(&w->a[8 * nvw_global_id()], 1);
}

/* Lines that were written back when the kernel ended are still on their way to the medium. */
TEST(what_the_host_writes_stays_on_top_of_writes_in_flight)
{
	enum { LINES = 200 };
	static uint64_t values[8 * LINES];

	RIG_BEGUN(rig, 0, "l1.nvw_fifo=1", "l2.nvw_fifo=1", "nvram.write=10us");
	struct words w = {.a = rig.nvram};

	NVW_FOR(i, 8 * LINES) {
		values[i] = 1000 + i;
	}
	rig_launch(&rig, store_lines, &w, LINES, 50);
	assert_true(rig.machine->nvram.in_flight > 10);
	rig_ok(nvw_write(rig.machine, w.a, values, sizeof values));
	rig_ok(nvw_persist(rig.machine));
	NVW_FOR(i, 8 * LINES) {
		assert_durable(&rig, &w.a[i], 1000 + i);
		assert_visible(&rig, &w.a[i], 1000 + i);
	}
}

TEST(memory_that_was_given_back_comes_back_as_zeros)
{
	RIG_BEGUN(rig, 1);
	struct words w = words_of(&rig, 0, 8 * 100);
	const uint64_t mark = nvw_mark(rig.machine);

	NVW_FOR(round, 2) {
		w.a = nvw_alloc(rig.machine, 8 * 100);
		NVW_EACH(a, w.a, 100) {
			assert_visible(&rig, a, 0);
		}
		rig_launch(&rig, add_to_words, &w, 100, 50);
		assert_visible(&rig, &w.b[99], 1);
		nvw_release(rig.machine, mark);
	}
}

/* ---- The log ------------------------------------------------------------------------------------ */

TEST(the_log_has_all_that_the_host_writes)
{
	static uint8_t bytes[50000], logged[sizeof bytes];
	struct nvw_log_record r;

	NVW_FOR(i, sizeof bytes) {
		bytes[i] = (uint8_t)nvw_mix64(i);
	}
	RIG_LOGGED(rig, 0);
	const uint64_t first = nvw_pool_geometry(rig.pool)->chunks + 24;

	rig_ok(nvw_write(rig.machine, (char *)rig.nvram + 24, bytes, sizeof bytes));
	while (rig_next_record(&rig, &r)) {
		if (r.kind == NVW_LOG_HOST) {
			assert_in_range(r.host.off, first, first + sizeof bytes - r.host.bytes);
			memcpy(logged + (r.host.off - first), r.host.data, r.host.bytes);
		}
	}
	assert_memory_equal(logged, bytes, sizeof bytes);
}

/* There are four channels, all of which have many. */
TEST(writes_complete_in_the_order_in_which_they_are_due)
{
	struct nvw_log_record r;
	uint64_t last = 0;
	unsigned writes = 0;

	RIG_LOGGED(rig, 0, "l1.nvw_fifo=1", "l2.nvw_fifo=1", "nvram.write=10us", "nvram.channels=4");
	struct words w = {.a = rig.nvram};

	rig_launch(&rig, store_lines, &w, 200, 50);
	rig_ok(nvw_persist(rig.machine));
	while (rig_next_record(&rig, &r)) {
		if (r.kind == NVW_LOG_DONE) {
			assert_true(r.time_ps >= last);
			last = r.time_ps;
			writes++;
		}
	}
	assert_int_equal(writes, 200);
}

static unsigned at_first, at_second; /* lines */

KERNEL(store_in_turn, const struct words, w)
{
	NVW_FOR(i, 10) {
		at_first = __LINE__, nvw_store(&w->a[2 * i], i);
		at_second = __LINE__, nvw_store(&w->a[2 * i + 1], i);
	}
}

TEST(every_store_in_the_log_has_its_own_source_line)
{
	struct nvw_log_record r;
	unsigned line_of[16] = {0}, stores = 0;

	RIG_LOGGED(rig, 0);
	struct words w = {.a = rig.nvram};

	rig_launch(&rig, store_in_turn, &w, 1, 1);
	while (rig_next_record(&rig, &r)) {
		if (r.kind == NVW_LOG_SITE) {
			assert_in_range(r.site.id, 1, 15);
			line_of[r.site.id] = r.site.line;
		} else if (r.kind == NVW_LOG_STORE) {
			assert_int_equal(line_of[r.store.site], r.store.off % 16 ? at_second : at_first);
			stores++;
		}
	}
	assert_int_equal(stores, 20);
}
