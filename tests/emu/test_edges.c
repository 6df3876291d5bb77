/* SPDX-License-Identifier: BSD-3-Clause */
/* What a machine does at its edges: lanes that come alone, counts that wrap round, queues that are full, what the host finds. */
#include "common/rig.h"

#include <stdio.h>
#include <string.h>

#include <nvw/host.h>

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

/* ---- Queues, messages -------------------------------------------------------------------------- */

static void a_controller_accepts_as_many_writes_as_its_queue_holds(void **state)
{
	enum { WRITES = 1000 };
	struct rig rig;
	uint64_t wait_ps = 0;
	emu_time done;

	rig_begin(&rig, 0, (const char *const[]){"nvram.channels=1", "nvram.queue=16", NULL});
	struct emu_channels *const c = &rig.machine->nvram_channels;

	for (unsigned i = 0; i < WRITES; i++) {
		const emu_time accepted = emu_channel_write(c, EMU_NVRAM | i, 0, &done, &wait_ps);

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_that_share_a_line_load_what_each_of_them_needs),
		cmocka_unit_test(a_compare_exchange_compares_as_many_bytes_as_its_type_has),
		cmocka_unit_test(a_barrier_waits_for_a_work_item_that_comes_alone),
		cmocka_unit_test(lanes_may_name_different_groups_at_one_barrier),
		cmocka_unit_test(the_oldest_line_goes_first_after_stamps_have_wrapped_round),
		cmocka_unit_test(lines_stay_invalid_after_the_count_of_invalidations_has_wrapped_round),
		cmocka_unit_test(a_controller_accepts_as_many_writes_as_its_queue_holds),
		cmocka_unit_test(a_broadcast_comes_to_every_cu_as_soon_as_a_message_of_its_own),
		cmocka_unit_test(a_remote_store_holds_up_the_read_modify_writes_of_every_cu),
		cmocka_unit_test(host_and_kernels_see_each_other_s_stores_under_every_protocol),
		cmocka_unit_test(memory_that_was_given_back_comes_back_as_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
