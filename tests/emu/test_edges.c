/* SPDX-License-Identifier: BSD-3-Clause */
/* What a machine does at its edges: lanes that come alone, counts that wrap round, queues that are full, what the host finds. */
#include "common/rig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nvw/host.h>
#include <nvw/persist_log.h>

#include "device_memory.h"
#include "machine.h"
#include "protocol/protocol.h"

struct words {
	uint64_t *a, *b;
};

static void begin_under(struct rig *rig, const char *protocol)
{
	char setting[64];

	snprintf(setting, sizeof setting, "protocol=%s", protocol);
	rig_begin(rig, 0, (const char *const[]){setting, NULL});
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* A work-item stores a word, and has it in its L1; then two load a word each of that line. */
static void load_beside_own_store(const void *args)
{
	const struct words *const w = args;
	const uint64_t lane = nvw_local_id();

	if (lane == 1) {
		nvw_store(&w->a[1], 11);
	}
	nvw_store(&w->b[lane], nvw_load(&w->a[lane]));
}

static void lanes_that_share_a_line_load_what_each_of_them_needs(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		struct rig rig;
		struct words w;
		const uint64_t before[2] = {10, 0};

		begin_under(&rig, coh_protocols[i]->name);
		w.a = nvw_alloc(rig.machine, 64);
		w.b = nvw_alloc(rig.machine, 64);
		rig_ok(nvw_write(rig.machine, w.a, before, sizeof before));
		rig_ok(nvw_launch(rig.machine, "beside", load_beside_own_store, &w, 2, 2));
		assert_int_equal(rig_visible(&rig, &w.b[0]), 10);
		assert_int_equal(rig_visible(&rig, &w.b[1]), 11);
		rig_end(&rig);
	}
}

/* Every third work-item, so that no two are neighbours, and then those of which every fourth is missing. */
static void copy_by_some(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_local_id();

	if (id % 3 == 1) {
		nvw_store(&w->b[id], nvw_load(&w->a[id]) + 1);
	}
	if (id % 4 != 2) {
		nvw_atomic_add(&w->b[id], nvw_load(&w->a[63 - id]), NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

static void lanes_that_have_no_neighbours_are_served_like_others(void **state)
{
	struct rig rig;
	struct words w;

	rig_begin(&rig, 0, NULL);
	w.a = nvw_alloc(rig.machine, 512);
	w.b = nvw_alloc(rig.machine, 512);
	for (uint64_t i = 0; i < 64; i++) {
		const uint64_t value = 1000 * i;

		rig_ok(nvw_write(rig.machine, &w.a[i], &value, sizeof value));
	}
	rig_ok(nvw_launch(rig.machine, "some", copy_by_some, &w, 64, 64));
	for (uint64_t i = 0; i < 64; i++) {
		assert_int_equal(rig_visible(&rig, &w.b[i]),
			(i % 3 == 1 ? 1000 * i + 1 : 0) + (i % 4 != 2 ? 1000 * (63 - i) : 0));
	}
	rig_end(&rig);
}

enum { STACK_WORDS = 64, LONG_ITEMS = 512, LONG_ROUNDS = 1200 };

/* A long life, with numbers on the stack. */
static void keep_numbers(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_global_id();
	volatile uint64_t own[STACK_WORDS];
	uint64_t wrong = 0;

	for (unsigned i = 0; i < STACK_WORDS; i++) {
		own[i] = id * STACK_WORDS + i;
	}
	for (unsigned i = 0; i < LONG_ROUNDS; i++) {
		wrong += nvw_load(&w->a[0]) != 7;
	}
	for (unsigned i = 0; i < STACK_WORDS; i++) {
		wrong += own[i] != id * STACK_WORDS + i;
	}
	nvw_store(&w->b[id], wrong + 1);
}

static void stacks_that_move_to_huge_pages_keep_what_they_have(void **state)
{
	const uint64_t seven = 7;
	struct rig rig;
	struct words w;

	rig_begin(&rig, 0, NULL);
	w.a = nvw_alloc(rig.machine, 64);
	w.b = nvw_alloc(rig.machine, 8 * LONG_ITEMS);
	rig_ok(nvw_write(rig.machine, w.a, &seven, sizeof seven));
	rig_ok(nvw_launch(rig.machine, "numbers", keep_numbers, &w, LONG_ITEMS, LONG_ITEMS));
	assert_true(rig.machine->exec.huge_pages);
	for (unsigned i = 0; i < LONG_ITEMS; i++) {
		assert_int_equal(rig_visible(&rig, &w.b[i]), 1);
	}
	rig_end(&rig);
}

/* A value of 4 bytes that is negative fills the request's 8 bytes with ones. */
static void exchange_negative(const void *args)
{
	const struct words *const w = args;
	int32_t *const word = (int32_t *)w->a;

	nvw_atomic_compare_exchange(word, -7, 3, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void a_compare_exchange_compares_as_many_bytes_as_its_type_has(void **state)
{
	struct rig rig;
	struct words w;
	const int32_t before[2] = {-7, 5};

	rig_begin(&rig, 1, NULL);
	w.a = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_write(rig.machine, w.a, before, sizeof before));
	rig_ok(nvw_launch(rig.machine, "exchange", exchange_negative, &w, 1, 1));
	assert_int_equal(rig_visible(&rig, w.a), UINT64_C(5) << 32 | 3);
	rig_end(&rig);
}

static void add_to_own_store(const void *args)
{
	const struct words *const w = args;
	uint64_t *const mine = &w->a[nvw_global_id()];

	nvw_store(mine, 5);
	nvw_store(&w->b[nvw_global_id()], nvw_atomic_add(mine, 1, NVW_RELAXED, NVW_SCOPE_AGENT));
}

/* Nothing but the order of the program says so: no release writes back what was stored. */
static void a_relaxed_atomic_finds_what_its_work_item_has_stored(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		struct rig rig;
		struct words w;

		begin_under(&rig, coh_protocols[i]->name);
		w.a = nvw_alloc(rig.machine, 8 * 100);
		w.b = nvw_alloc(rig.machine, 8 * 100);
		rig_ok(nvw_launch(rig.machine, "own", add_to_own_store, &w, 100, 10));
		for (unsigned id = 0; id < 100; id++) {
			assert_int_equal(rig_visible(&rig, &w.b[id]), 5);
			assert_int_equal(rig_visible(&rig, &w.a[id]), 6);
		}
		rig_end(&rig);
	}
}

static void fail_to_exchange(const void *args)
{
	const struct words *const w = args;

	nvw_atomic_compare_exchange(w->a, UINT64_C(1), 2, NVW_ACQ_REL, NVW_SCOPE_AGENT);
	nvw_atomic_compare_exchange(w->a + 8, UINT64_C(1), 2, NVW_RELAXED, NVW_SCOPE_WORKGROUP);
}

static void a_compare_exchange_that_fails_stores_nothing(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		struct rig rig;
		struct words w;

		begin_under(&rig, coh_protocols[i]->name);
		w.a = (uint64_t *)rig.nvram;
		rig_ok(nvw_launch(rig.machine, "fail", fail_to_exchange, &w, 100, 10));
		rig_ok(nvw_persist(rig.machine));
		assert_int_equal(emu_statistics(rig.machine)->nv_stores, 0);
		assert_int_equal(emu_statistics(rig.machine)->nvram_writes, 0);
		rig_end(&rig);
	}
}

/* ---- Barriers -------------------------------------------------------------------------------- */

/* The last work-item comes by itself, long after the others. */
static void come_late(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_local_id();

	if (id == nvw_group_size() - 1) {
		for (unsigned i = 0; i < 50; i++) {
			(void)nvw_load(&w->b[8 * i]);
		}
		nvw_store(w->a, 1);
	}
	nvw_barrier(NVW_WORKGROUP);
	if (id == 0) {
		nvw_store(w->b, nvw_load(w->a));
	}
}

static void a_barrier_waits_for_a_work_item_that_comes_alone(void **state)
{
	static const unsigned sizes[] = {2, 33, 64, 65, 200};

	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct rig rig;
		struct words w;

		rig_begin(&rig, 1, NULL);
		w.a = nvw_alloc(rig.machine, 64);
		w.b = nvw_alloc(rig.machine, 64 * 64);
		rig_ok(nvw_launch(rig.machine, "late", come_late, &w, sizes[i], sizes[i]));
		assert_int_equal(rig_visible(&rig, w.b), 1);
		rig_end(&rig);
	}
}

/* Odd lanes name themselves at the same barrier, store, and only then meet the others. */
static void name_two_groups(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_local_id();
	const bool is_odd = id & 1;

	for (unsigned i = 0; i <= is_odd; i++) {
		nvw_barrier(is_odd && i == 0 ? NVW_WORKITEM : NVW_WORKGROUP);
		if (is_odd && i == 0) {
			nvw_store(&w->a[id], id);
		}
	}
	nvw_store(&w->b[id], nvw_load(&w->a[id | 1]));
}

static void lanes_may_name_different_groups_at_one_barrier(void **state)
{
	enum { ITEMS = 100 };
	struct rig rig;
	struct words w;

	rig_begin(&rig, 1, NULL);
	w.a = nvw_alloc(rig.machine, 8 * ITEMS);
	w.b = nvw_alloc(rig.machine, 8 * ITEMS);
	rig_ok(nvw_launch(rig.machine, "two groups", name_two_groups, &w, ITEMS, ITEMS));
	for (uint64_t id = 0; id < ITEMS; id++) {
		assert_int_equal(rig_visible(&rig, &w.b[id]), id | 1);
	}
	rig_end(&rig);
}

/* ---- Sets searched at once --------------------------------------------------------------------- */

static void a_set_searched_at_once_gives_what_a_search_way_by_way_gives(void **state)
{
	enum { WAYS_MAX = 40, ROUNDS = 400 };
	static const uint32_t corners[] = {0, 1, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX - 1, UINT32_MAX};
	struct nvw_random random = {.state = 5};
	uint32_t sets[2 * WAYS_MAX] __attribute__((aligned(64)));
	unsigned found = 0;

	for (uint32_t round = 0; round < WAYS_MAX * ROUNDS; round++) {
		const uint32_t ways = 1 + round % WAYS_MAX;
		const uint32_t first = (uint32_t)nvw_random_u64(&random);
		uint32_t *const words = sets + ways; /* the second set of its cache */

		/* Tags differ; among stamps there are equal ones, and ones whose highest bit is set. */
		for (uint32_t i = 0; i < ways; i++) {
			words[i] = first + i * UINT32_C(0x9e3779b1);
		}
		for (uint32_t i = 0; i < 2; i++) {
			const uint32_t tag = i ? first + 7 : words[nvw_random_below(&random, ways)];

			assert_int_equal(emu_find_way(words, ways, tag), emu_scan_tags(words, ways, tag));
			found += emu_find_way(words, ways, tag) < ways;
		}
		for (uint32_t i = 0; i < ways; i++) {
			if (nvw_random_below(&random, 2)) {
				words[i] = corners[nvw_random_below(&random, 6)];
			}
		}
		assert_int_equal(emu_find_oldest(words, ways), emu_scan_oldest(words, ways));
	}
	assert_true(found >= WAYS_MAX * ROUNDS);
}

static void a_walk_over_a_cache_meets_each_line_that_has_a_tag_once(void **state)
{
	enum { LINES = 12 * 100 };
	const struct emu_cache_config config = {.size = EMU_LINE * LINES, .ways = 12};
	struct nvw_random random = {.state = 6};
	bool has[LINES] = {false};
	struct emu_cache cache = {0};
	unsigned tags = 0, met = 0;

	rig_ok(emu_cache_init(&cache, &config));
	assert_int_equal(emu_cache_next(&cache, 0), LINES);
	for (unsigned n = 0; n < 60; n++) {
		const uint32_t i = (uint32_t)nvw_random_below(&random, LINES);

		emu_cache_assign(&cache, &cache.lines[i], n % 5 ? 1000 + i : EMU_NO_LINE);
		has[i] = n % 5;
	}
	for (unsigned i = 0; i < LINES; i++) {
		tags += has[i];
	}
	for (uint32_t i = emu_cache_next(&cache, 0); i < LINES; i = emu_cache_next(&cache, i + 1)) {
		assert_true(has[i]);
		assert_int_equal(emu_cache_tag_at(&cache, i), 1000 + i);
		met++;
	}
	assert_int_equal(met, tags);
	emu_cache_finish(&cache);
}

/* What a cache is: a list of lines, each with the time when it was last used. */
struct plain_line {
	emu_line_id id;
	uint64_t used; /* 0: it has no line; UINT64_MAX: that is being evicted */
	bool registered;
};

static bool goes_first(const struct plain_line *a, const struct plain_line *b, bool registered_last)
{
	const bool a_last = registered_last && (a->used == UINT64_MAX || (a->used && a->registered)),
		   b_last = registered_last && (b->used == UINT64_MAX || (b->used && b->registered));

	return a_last == b_last ? a->used < b->used : b_last;
}

static uint32_t plain_victim(const struct plain_line *set, uint32_t ways, bool registered_last)
{
	uint32_t first = 0;

	for (uint32_t way = 1; way < ways; way++) {
		first = goes_first(&set[way], &set[first], registered_last) ? way : first;
	}
	return first;
}

static uint32_t plain_way(const struct plain_line *set, uint32_t ways, emu_line_id id)
{
	for (uint32_t way = 0; way < ways; way++) {
		if (set[way].used && set[way].id == id) {
			return way;
		}
	}
	return ways;
}

/* One thing done to a cache and to the list. */
static void use_both(struct emu_cache *cache, struct plain_line *set, uint32_t start, emu_line_id id,
	unsigned what, uint64_t now)
{
	const uint32_t ways = cache->ways;
	const uint32_t way = plain_way(set, ways, id),
		       victim = plain_victim(set, ways, cache->registered_last);
	struct emu_line *const line = way < ways ? &cache->lines[start + way] : NULL;

	assert_ptr_equal(emu_cache_peek(cache, id), line);
	assert_int_equal(emu_cache_victim(cache, id) - cache->lines, start + victim);
	if (what == 0 && line) {
		emu_cache_assign(cache, line, EMU_NO_LINE);
		set[way] = (struct plain_line){0};
	} else if (what == 1 && line) {
		emu_cache_pin(cache, line);
		set[way].used = UINT64_MAX;
	} else if (what == 2 && line) {
		line->registered = set[way].registered = !set[way].registered;
	} else if (what < 9 || line) {
		assert_ptr_equal(emu_cache_find(cache, id), line);
		set[way % ways].used = line ? now : set[way % ways].used;
	} else {
		emu_cache_assign(cache, emu_cache_victim(cache, id), id);
		set[victim] = (struct plain_line){.id = id, .used = now};
	}
}

/* Each clock of a set goes round many times. */
static void a_cache_replaces_what_a_list_by_last_use_replaces(void **state)
{
	enum { WAYS_MAX = 20, SETS_MAX = 4, ROUNDS = 12000 };
	static const uint32_t ways[] = {16, 16, 4, 20, 7}, sets[] = {4, 3, 4, 2, 1};

	for (unsigned k = 0; k < 2 * sizeof ways / sizeof *ways; k++) {
		const uint32_t n = sets[k / 2];
		const struct emu_cache_config config = {
			.size = EMU_LINE * n * ways[k / 2], .ways = ways[k / 2]};
		struct plain_line plain[SETS_MAX][WAYS_MAX] = {0};
		struct nvw_random random = {.state = k};
		struct emu_cache cache = {0};

		rig_ok(emu_cache_init(&cache, &config));
		cache.registered_last = k % 2;
		for (uint64_t now = 1; now <= ROUNDS; now++) {
			const emu_line_id id = (emu_line_id)nvw_random_below(&random, 3 * cache.ways * n / 2);

			use_both(&cache, plain[id % n], id % n * cache.ways, id,
				(unsigned)nvw_random_below(&random, 24), now);
		}
		emu_cache_finish(&cache);
	}
}

static void the_oldest_of_16_ways_is_the_one_that_a_scan_finds(void **state)
{
	struct nvw_random random = {.state = 7};

	for (unsigned round = 0; round < 4000; round++) {
		const uint64_t range = round % 3 ? 256 : 4;
		struct emu_set set = {.clock = 0};

		for (unsigned way = 0; way < 16; way++) {
			set.stamp[way] = (uint8_t)(nvw_random_below(&random, range) * (256 / range));
		}
		assert_int_equal(emu_set_oldest(&set), emu_set_scan_oldest(&set));
	}
}

static void bytes_of_a_mask_are_copied_and_no_others(void **state)
{
	struct nvw_random random = {.state = 8};

	for (unsigned round = 0; round < 4000; round++) {
		const uint64_t some = nvw_random_u64(&random), more = nvw_random_u64(&random);
		const uint64_t mask = round % 3 ? some & more : round % 2 ? UINT64_MAX : some | more;
		uint8_t from[EMU_LINE], to[EMU_LINE], before[EMU_LINE];

		for (unsigned i = 0; i < EMU_LINE; i++) {
			from[i] = (uint8_t)nvw_random_u64(&random);
			to[i] = before[i] = (uint8_t)nvw_random_u64(&random);
		}
		emu_copy_masked(to, from, mask);
		for (unsigned i = 0; i < EMU_LINE; i++) {
			assert_int_equal(to[i], mask >> i & 1 ? from[i] : before[i]);
		}
	}
}

static void bytes_with_a_value_are_those_that_a_look_at_each_finds(void **state)
{
	struct nvw_random random = {.state = 9};

	for (unsigned round = 0; round < 4000; round++) {
		const uint8_t value = (uint8_t)nvw_random_u64(&random);
		uint8_t line[EMU_LINE];
		uint64_t found;

		for (unsigned i = 0; i < EMU_LINE; i++) {
			const unsigned other = (unsigned)nvw_random_below(&random, 1024);

			/* the value, a neighbour of it, one with another highest bit, any */
			line[i] = (uint8_t)(other % 4 == 0 ? value :
					    other % 4 == 1 ? value + 1u :
					    other % 4 == 2 ? value ^ 0x80u :
							     other / 4);
		}
		found = emu_bytes_with(line, value);
		for (unsigned i = 0; i < EMU_LINE; i++) {
			assert_int_equal(found >> i & 1, line[i] == value);
		}
	}
}

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

/* Nothing else is under way: the message is on each link of its way for one hop and its flits, and on no other. */
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

static void messages_take_the_links_of_their_way_through_a_grid(void **state)
{
	static const char *const topologies[] = {"network.topology=mesh", "network.topology=torus"},
				 *const columns[] = {"network.columns=1", "network.columns=4",
					 "network.columns=5", "network.columns=0"};

	for (unsigned i = 0; i < 8; i++) {
		struct rig rig;
		emu_time t = 0;

		rig_begin(&rig, 0,
			(const char *const[]){topologies[i % 2], columns[i / 2], "gpu.cus=11", NULL});
		for (uint32_t from = 0; from < rig.machine->network.nodes; from++) {
			for (uint32_t to = 0; to < rig.machine->network.nodes; to++) {
				send_alone(rig.machine, from, to, t += 1000000);
			}
		}
		rig_end(&rig);
	}
}

/* ---- Counts that wrap round ------------------------------------------------------------------- */

static void the_oldest_line_goes_first_after_stamps_have_wrapped_round(void **state)
{
	const struct emu_cache_config config = {.size = EMU_LINE * 4, .ways = 4};
	struct emu_cache cache = {0};

	rig_ok(emu_cache_init(&cache, &config));
	for (emu_line_id id = 0; id < 4; id++) {
		emu_cache_assign(&cache, emu_cache_victim(&cache, id), id);
	}
	cache.clock = UINT32_MAX - 1;
	/* Stamped in turn: one of them with the last stamp there is, the others behind it. */
	for (emu_line_id id = 0; id < 4; id++) {
		assert_non_null(emu_cache_find(&cache, id));
	}
	for (emu_line_id id = 1; id < 4; id++) {
		assert_non_null(emu_cache_find(&cache, id));
	}
	assert_int_equal(emu_cache_tag(&cache, emu_cache_victim(&cache, 9)), 0);
	emu_cache_finish(&cache);
}

static void load_word(const void *args)
{
	const struct words *const w = args;

	nvw_store(w->b, nvw_load(w->a));
}

/* What an L1 has held since its invalidations began to be counted is stale when the count begins anew. */
static void lines_stay_invalid_after_the_count_of_invalidations_has_wrapped_round(void **state)
{
	struct rig rig;
	struct words w;
	const uint64_t old = 1, new = 2;

	rig_begin(&rig, 0, (const char *const[]){"gpu.cus=1", NULL});
	w.a = nvw_alloc(rig.machine, 64);
	w.b = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_write(rig.machine, w.a, &old, sizeof old));
	rig_ok(nvw_launch(rig.machine, "load", load_word, &w, 1, 1));
	rig_ok(nvw_write(rig.machine, w.a, &new, sizeof new));
	struct emu_cache *const l1 = &rig.machine->cus[0].l1;

	for (uint32_t i = 0; i < l1->sets * l1->ways; i++) {
		l1->lines[i].generation = 0;
	}
	l1->generation = UINT32_MAX;
	rig_ok(nvw_launch(rig.machine, "load", load_word, &w, 1, 1));
	assert_int_equal(rig_visible(&rig, w.b), new);
	rig_end(&rig);
}

/* ---- Many CUs ---------------------------------------------------------------------------------- */

static void load_one(const void *args)
{
	const struct words *const w = args;

	nvw_store(&w->b[8 * nvw_global_id()], nvw_load(w->a));
}

static void the_l2_knows_every_cu_that_has_a_line(void **state)
{
	enum { CUS = 100 };
	struct rig rig;
	struct words w;
	unsigned known = 0, unknown = 0;

	rig_begin(&rig, 0, (const char *const[]){"gpu.cus=100", NULL});
	struct nvw_machine *const m = rig.machine;

	w.a = nvw_alloc(m, 64);
	w.b = nvw_alloc(m, 64 * CUS);
	rig_ok(nvw_launch(m, "load", load_one, &w, CUS, 1));
	for (unsigned cu = 0; cu < CUS; cu++) {
		const struct emu_cache *const l1 = &m->cus[cu].l1;

		for (uint32_t i = emu_cache_next(l1, 0); i < l1->sets * l1->ways;
			i = emu_cache_next(l1, i + 1)) {
			const struct emu_line *const below =
				emu_cache_peek(&m->l2.cache, emu_cache_tag_at(l1, i));
			const bool is_known = below && below->sharers[cu / 64] >> cu % 64 & 1;

			known += is_known;
			unknown += !is_known;
		}
	}
	assert_int_equal(unknown, 0);
	assert_true(known >= 2 * CUS);
	rig_end(&rig);
}

/* ---- Queues, messages -------------------------------------------------------------------------- */

static void a_controller_accepts_as_many_writes_as_its_queue_holds(void **state)
{
	enum { WRITES = 1000 };
	struct rig rig;
	emu_time done;

	rig_begin(&rig, 0, (const char *const[]){"nvram.channels=1", "nvram.queue=16", NULL});
	struct emu_device *const d = &rig.machine->device[EMU_NVRAM];
	const struct emu_channels *const c = &d->channels;

	for (unsigned i = 0; i < WRITES; i++) {
		const emu_time accepted = emu_channel_write(rig.machine, d, d->first + i, 0, &done);

		assert_int_equal(done, i * c->line_ps + c->write_ps);
		assert_int_equal(accepted, i > 16 ? (i - 16) * c->line_ps : 0);
	}
	rig_end(&rig);
}

static void a_broadcast_comes_to_every_cu_as_soon_as_a_message_of_its_own(void **state)
{
	static const char *const networks[] = {"crossbar", "mesh"};

	for (unsigned n = 0; n < 2; n++) {
		for (unsigned from = 0; from < 12; from++) {
			char topology[64];
			struct rig rig;
			emu_time arrivals[EMU_CUS_MAX];

			snprintf(topology, sizeof topology, "network.topology=%s", networks[n]);
			rig_begin(&rig, 0,
				(const char *const[]){topology, "network.columns=4", "gpu.cus=12", NULL});
			struct nvw_machine *const m = rig.machine;
			const uint32_t here = emu_network_cu_node(m, from);

			memset(arrivals, 0xff, sizeof arrivals);
			emu_network_broadcast(m, here, EMU_MESSAGE_CONTROL, 0, arrivals);
			for (unsigned cu = 0; cu < 12; cu++) {
				const emu_time later = 1000000000; /* when the links are free again */

				assert_int_equal(arrivals[cu],
					cu == from ? 0 :
						     emu_network_send(m, here, emu_network_cu_node(m, cu), 0,
							     EMU_MESSAGE_CONTROL, later * (1 + cu)) -
							     later * (1 + cu));
			}
			rig_end(&rig);
		}
	}
}

static void add_one(const void *args)
{
	const struct words *const w = args;

	nvw_atomic_add(w->a, 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

/* The line is the L1's as soon as it has asked for it, and comes later: its CU's work-items wait for it together. */
static void work_items_wait_for_what_their_l1_has_registered_and_not_got(void **state)
{
	struct rig rig;
	struct words w;

	rig_begin(&rig, 0, (const char *const[]){"protocol=dd", "gpu.cus=1", NULL});
	w.a = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_launch(rig.machine, "add", add_one, &w, 1, 1));
	struct emu_cache *const l1 = &rig.machine->cus[0].l1;
	const emu_time later = nvw_time_ps(rig.machine) + 50000000;
	unsigned registered = 0;

	for (uint32_t i = 0; i < l1->sets * l1->ways; i++) {
		if (l1->lines[i].registered) {
			l1->lines[i].granted = later;
			registered++;
		}
	}
	assert_int_equal(registered, 1);
	rig_ok(nvw_launch(rig.machine, "add", add_one, &w, 1, 1));
	assert_true(nvw_time_ps(rig.machine) >= later);
	assert_int_equal(rig_visible(&rig, w.a), 2);
	rig_end(&rig);
}

struct ordered {
	uint64_t *data, *flag;
	enum nvw_order order;
};

static void pass_with_order(const void *args)
{
	const struct ordered *const o = args;

	nvw_store(&o->data[nvw_global_id()], 1);
	nvw_atomic_add(o->flag, 1, o->order, NVW_SCOPE_AGENT);
	(void)nvw_load(o->data);
	nvw_atomic_store(o->flag + 8, 1, o->order, NVW_SCOPE_SYSTEM);
	(void)nvw_atomic_load(o->flag + 8, o->order, NVW_SCOPE_AGENT);
}

static void a_sequentially_consistent_atomic_does_what_acquires_and_releases_do(void **state)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		struct emu_stats stats[2];

		for (unsigned k = 0; k < 2; k++) {
			struct rig rig;
			struct ordered o = {.order = k ? NVW_SEQ_CST : NVW_ACQ_REL};

			begin_under(&rig, coh_protocols[i]->name);
			o.data = nvw_alloc(rig.machine, 8 * 100);
			o.flag = nvw_alloc(rig.machine, 128);
			rig_ok(nvw_launch(rig.machine, "pass", pass_with_order, &o, 100, 10));
			stats[k] = *emu_statistics(rig.machine);
			rig_end(&rig);
		}
		assert_memory_equal(&stats[0], &stats[1], sizeof stats[0]);
	}
}

static void store_remotely(const void *args)
{
	const struct words *const w = args;

	nvw_atomic_store(w->a, 1, NVW_RELEASE, NVW_SCOPE_REMOTE_AGENT);
}

/* alsop16 II.D: "lock all RMWs"; nothing comes in between, but others begin later. */
static void a_remote_store_holds_up_the_read_modify_writes_of_every_cu(void **state)
{
	struct rig rig;
	struct words w;

	rig_begin(&rig, 0, (const char *const[]){"protocol=rsp", "gpu.cus=4", NULL});
	w.a = nvw_alloc(rig.machine, 64);
	rig_ok(nvw_launch(rig.machine, "remote", store_remotely, &w, 1, 1));
	for (unsigned cu = 0; cu < 4; cu++) {
		assert_true(rig.machine->cus[cu].rmw_free > 0);
	}
	rig_end(&rig);
}

/* ---- The host ---------------------------------------------------------------------------------- */

static void add_to_words(const void *args)
{
	const struct words *const w = args;
	const uint64_t id = nvw_global_id();

	nvw_store(&w->b[id], nvw_load(&w->a[id]) + 1);
	nvw_store(&w->a[id], nvw_load(&w->a[id]) + 100);
	nvw_atomic_add(&w->a[id], 1000, NVW_ACQ_REL, NVW_SCOPE_AGENT);
}

/* Whatever level of the caches has them; the kernel before has left copies in all of them. */
static void host_and_kernels_see_each_other_s_stores_under_every_protocol(void **state)
{
	enum { ITEMS = 300 };

	for (unsigned i = 0; coh_protocols[i]; i++) {
		for (unsigned in_nvram = 0; in_nvram < 2; in_nvram++) {
			struct rig rig;
			struct words w;

			begin_under(&rig, coh_protocols[i]->name);
			w.a = in_nvram ? (uint64_t *)rig.nvram : nvw_alloc(rig.machine, 8 * ITEMS);
			w.b = nvw_alloc(rig.machine, 8 * ITEMS);
			for (uint64_t round = 1; round <= 3; round++) {
				uint64_t values[ITEMS];

				for (uint64_t id = 0; id < ITEMS; id++) {
					values[id] = round * 1000000 + id;
				}
				rig_ok(nvw_write(rig.machine, w.a, values, sizeof values));
				rig_ok(nvw_launch(rig.machine, "add", add_to_words, &w, ITEMS, 50));
				for (uint64_t id = 0; id < ITEMS; id++) {
					assert_int_equal(rig_visible(&rig, &w.b[id]), values[id] + 1);
					assert_int_equal(rig_visible(&rig, &w.a[id]), values[id] + 1100);
				}
			}
			rig_end(&rig);
		}
	}
}

static void store_lines(const void *args)
{
	const struct words *const w = args;

	nvw_store(&w->a[8 * nvw_global_id()], 1);
}

/* Lines that were written back when the kernel ended are still on their way to the medium. */
static void what_the_host_writes_stays_on_top_of_writes_in_flight(void **state)
{
	enum { LINES = 200 };
	static const char *const settings[] = {"l1.nvw_fifo=1", "l2.nvw_fifo=1", "nvram.write=10us", NULL};
	static uint64_t values[8 * LINES];
	struct rig rig;
	struct words w;

	rig_begin(&rig, 0, settings);
	w.a = (uint64_t *)rig.nvram;
	for (unsigned i = 0; i < 8 * LINES; i++) {
		values[i] = 1000 + i;
	}
	rig_ok(nvw_launch(rig.machine, "store", store_lines, &w, LINES, 50));
	assert_true(rig.machine->nvram.in_flight > 10);
	rig_ok(nvw_write(rig.machine, w.a, values, sizeof values));
	rig_ok(nvw_persist(rig.machine));
	for (unsigned i = 0; i < 8 * LINES; i++) {
		assert_int_equal(rig_durable(&rig, &w.a[i]), 1000 + i);
		assert_int_equal(rig_visible(&rig, &w.a[i]), 1000 + i);
	}
	rig_end(&rig);
}

static void memory_that_was_given_back_comes_back_as_zeros(void **state)
{
	struct rig rig;
	struct words w;

	rig_begin(&rig, 1, NULL);
	w.b = nvw_alloc(rig.machine, 8 * 100);
	const uint64_t mark = nvw_mark(rig.machine);

	for (unsigned round = 0; round < 2; round++) {
		w.a = nvw_alloc(rig.machine, 8 * 100);
		for (unsigned i = 0; i < 100; i++) {
			assert_int_equal(rig_visible(&rig, &w.a[i]), 0);
		}
		rig_ok(nvw_launch(rig.machine, "add", add_to_words, &w, 100, 50));
		assert_int_equal(rig_visible(&rig, &w.b[99]), 1);
		nvw_release(rig.machine, mark);
	}
	rig_end(&rig);
}

/* ---- The log ------------------------------------------------------------------------------------ */

static struct nvw_log_reader *log_of(struct rig *rig)
{
	struct nvw_log_reader *reader;

	rig_end(rig);
	rig_ok(nvw_log_open(rig->log_path, &reader));
	return reader;
}

static void the_log_has_all_that_the_host_writes(void **state)
{
	static uint8_t bytes[50000], logged[sizeof bytes];
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	struct rig rig;

	for (unsigned i = 0; i < sizeof bytes; i++) {
		bytes[i] = (uint8_t)nvw_mix64(i);
	}
	rig_begin_logged(&rig, 0, NULL);
	const uint64_t first = nvw_pool_geometry(rig.pool)->chunks + 24;

	rig_ok(nvw_write(rig.machine, rig.nvram + 24, bytes, sizeof bytes));
	reader = log_of(&rig);
	while (nvw_log_next(reader, &r) == 1) {
		if (r.kind == NVW_LOG_HOST) {
			assert_in_range(r.host.off, first, first + sizeof bytes - r.host.bytes);
			memcpy(logged + (r.host.off - first), r.host.data, r.host.bytes);
		}
	}
	assert_memory_equal(logged, bytes, sizeof bytes);
	nvw_log_reader_close(reader);
	unlink(rig.log_path);
}

/* Of four channels, all of which have many. */
static void writes_complete_in_the_order_in_which_they_are_due(void **state)
{
	static const char *const settings[] = {
		"l1.nvw_fifo=1", "l2.nvw_fifo=1", "nvram.write=10us", "nvram.channels=4", NULL};
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	struct rig rig;
	struct words w;
	uint64_t last = 0;
	unsigned writes = 0;

	rig_begin_logged(&rig, 0, settings);
	w.a = (uint64_t *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, "store", store_lines, &w, 200, 50));
	rig_ok(nvw_persist(rig.machine));
	reader = log_of(&rig);
	while (nvw_log_next(reader, &r) == 1) {
		if (r.kind == NVW_LOG_DONE) {
			assert_true(r.time_ps >= last);
			last = r.time_ps;
			writes++;
		}
	}
	assert_int_equal(writes, 200);
	nvw_log_reader_close(reader);
	unlink(rig.log_path);
}

static unsigned at_first, at_second; /* lines */

static void store_in_turn(const void *args)
{
	const struct words *const w = args;

	for (unsigned i = 0; i < 10; i++) {
		at_first = __LINE__, nvw_store(&w->a[2 * i], i);
		at_second = __LINE__, nvw_store(&w->a[2 * i + 1], i);
	}
}

static void every_store_in_the_log_has_its_own_source_line(void **state)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	struct rig rig;
	struct words w;
	unsigned line_of[16] = {0}, stores = 0;

	rig_begin_logged(&rig, 0, NULL);
	w.a = (uint64_t *)rig.nvram;
	rig_ok(nvw_launch(rig.machine, "stores", store_in_turn, &w, 1, 1));
	reader = log_of(&rig);
	while (nvw_log_next(reader, &r) == 1) {
		if (r.kind == NVW_LOG_SITE) {
			assert_in_range(r.site.id, 1, 15);
			line_of[r.site.id] = r.site.line;
		} else if (r.kind == NVW_LOG_STORE) {
			assert_int_equal(line_of[r.store.site], r.store.off % 16 ? at_second : at_first);
			stores++;
		}
	}
	assert_int_equal(stores, 20);
	nvw_log_reader_close(reader);
	unlink(rig.log_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_that_share_a_line_load_what_each_of_them_needs),
		cmocka_unit_test(lanes_that_have_no_neighbours_are_served_like_others),
		cmocka_unit_test(stacks_that_move_to_huge_pages_keep_what_they_have),
		cmocka_unit_test(a_compare_exchange_compares_as_many_bytes_as_its_type_has),
		cmocka_unit_test(a_relaxed_atomic_finds_what_its_work_item_has_stored),
		cmocka_unit_test(a_compare_exchange_that_fails_stores_nothing),
		cmocka_unit_test(a_barrier_waits_for_a_work_item_that_comes_alone),
		cmocka_unit_test(lanes_may_name_different_groups_at_one_barrier),
		cmocka_unit_test(a_set_searched_at_once_gives_what_a_search_way_by_way_gives),
		cmocka_unit_test(a_walk_over_a_cache_meets_each_line_that_has_a_tag_once),
		cmocka_unit_test(a_cache_replaces_what_a_list_by_last_use_replaces),
		cmocka_unit_test(the_oldest_of_16_ways_is_the_one_that_a_scan_finds),
		cmocka_unit_test(bytes_of_a_mask_are_copied_and_no_others),
		cmocka_unit_test(bytes_with_a_value_are_those_that_a_look_at_each_finds),
		cmocka_unit_test(messages_take_the_links_of_their_way_through_a_grid),
		cmocka_unit_test(the_oldest_line_goes_first_after_stamps_have_wrapped_round),
		cmocka_unit_test(lines_stay_invalid_after_the_count_of_invalidations_has_wrapped_round),
		cmocka_unit_test(the_l2_knows_every_cu_that_has_a_line),
		cmocka_unit_test(a_controller_accepts_as_many_writes_as_its_queue_holds),
		cmocka_unit_test(a_broadcast_comes_to_every_cu_as_soon_as_a_message_of_its_own),
		cmocka_unit_test(work_items_wait_for_what_their_l1_has_registered_and_not_got),
		cmocka_unit_test(a_sequentially_consistent_atomic_does_what_acquires_and_releases_do),
		cmocka_unit_test(a_remote_store_holds_up_the_read_modify_writes_of_every_cu),
		cmocka_unit_test(host_and_kernels_see_each_other_s_stores_under_every_protocol),
		cmocka_unit_test(the_log_has_all_that_the_host_writes),
		cmocka_unit_test(writes_complete_in_the_order_in_which_they_are_due),
		cmocka_unit_test(every_store_in_the_log_has_its_own_source_line),
		cmocka_unit_test(what_the_host_writes_stays_on_top_of_writes_in_flight),
		cmocka_unit_test(memory_that_was_given_back_comes_back_as_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
