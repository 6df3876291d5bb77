/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The durability checker finds the faults that are planted here, accepts what the equations allow, and
 * forgets no store.
 */
#include "epochs.h"

#include <stdio.h>
#include <stdlib.h>

#include "persist/persist.h"
#include "observe/record.h"

/* Work-item 0 of a small kernel as the test drives it: stores recorded by hand on lines of its own. */
struct hand {
	struct rig rig;
	struct emu_wavefront *wf;
	struct emu_line line[2];
	struct emu_group group;
};

static const struct nvw_site planted = {.file = "planted.c", .function = "planted", .line = 7};

static void hand_begin(struct hand *h)
{
	*h = (struct hand){.wf = calloc(1, sizeof *h->wf)};
	rig_begin(&h->rig, 0, NULL);
	h->wf->group = &h->group;
	h->wf->requests.site[0] = h->wf->requests.site[1] = &planted;
}

static void hand_end(struct hand *h)
{
	free(h->wf);
	rig_end(&h->rig);
}

/* It has begun, and ends with its block. */
#define HAND(name)                                           \
	struct hand name __attribute__((cleanup(hand_end))); \
	hand_begin(&name)

static void hand_store(struct hand *h, unsigned lane, struct emu_line *line, uint64_t off)
{
	record_store(h->rig.machine, h->wf, lane, line, off, 8, off);
}

static void hand_issue(struct hand *h, struct emu_line *line, uint64_t number)
{
	const struct emu_nvram_write write = {.line = h->rig.machine->device[EMU_NVRAM].first + 100,
		.number = number,
		.mask = 255,
		.stores = line->stores};

	record_issue(h->rig.machine, &write);
}

TEST(the_checker_finds_a_later_epoch_that_overtakes)
{
	NVW_FOR(scope, 3) {
		const unsigned lane = scope ? 1 : 0; /* another work-item, but for the first equation */

		HAND(h);
		hand_store(&h, 0, &h.line[0], 6400);
		h.wf->epoch_wi[lane]++;
		h.wf->epoch_wg[lane] += scope == 1;
		h.wf->epoch_kr[lane] += scope == 2;
		hand_store(&h, lane, &h.line[1], 6464);
		hand_issue(&h, &h.line[1], 1);
		assert_int_equal(h.rig.machine->error, NVW_E_MODEL);
		assert_error_has("planted.c:7");
	}
}

TEST(the_checker_finds_a_store_that_comes_after_a_later_epoch_went_out)
{
	HAND(h);
	h.wf->epoch_wg[0] = 1;
	hand_store(&h, 0, &h.line[0], 6400);
	hand_issue(&h, &h.line[0], 1);
	assert_int_equal(h.rig.machine->error, 0);
	hand_store(&h, 1, &h.line[1], 6464);
	assert_int_equal(h.rig.machine->error, NVW_E_MODEL);
}

TEST(a_line_that_is_split_parts_with_the_records_of_what_leaves)
{
	struct emu_line leaving = {0};

	HAND(h);
	hand_store(&h, 0, &h.line[0], 6400);
	hand_store(&h, 1, &h.line[0], 6408);
	const uint32_t first = h.line[0].stores, second = h.line[0].stores_tail;

	assert_int_not_equal(first, second);
	record_split(h.rig.machine, &leaving, &h.line[0], 0xff);
	assert_int_equal(leaving.stores, first);
	assert_int_equal(leaving.stores_tail, first);
	assert_int_equal(h.line[0].stores, second);
	assert_int_equal(h.line[0].stores_tail, second);
}

TEST(the_checker_accepts_what_the_equations_allow)
{
	/* Another work-item's work-item barriers order nothing of this one. */
	HAND(h);
	hand_store(&h, 0, &h.line[0], 6400);
	h.wf->epoch_wi[1] = 5;
	hand_store(&h, 1, &h.line[1], 6464);
	hand_issue(&h, &h.line[1], 1);
	hand_issue(&h, &h.line[0], 2);
	assert_int_equal(h.rig.machine->error, 0);
}

/* A line's bytes go on to the next level with the records of their stores: behind what is there, too. */
TEST(the_checker_follows_stores_from_cache_to_cache)
{
	NVW_FOR(both, 2) {
		struct emu_line l2 = {0};

		/*
		 * A line goes from the L1 to the L2, where it stays; another one of a later epoch overtakes
		 * it.
		 */
		HAND(h);
		if (both) {
			hand_store(&h, 2, &l2, 6408);
		}
		hand_store(&h, 0, &h.line[0], 6400);
		record_move(h.rig.machine, &l2, &h.line[0]);
		assert_int_equal(h.line[0].stores, 0);
		h.wf->epoch_wi[0]++;
		hand_store(&h, 0, &h.line[1], 6464);
		hand_issue(&h, &h.line[1], 1);
		assert_int_equal(h.rig.machine->error, NVW_E_MODEL);

		/* The line that moved is itself the one that overtakes. */
		hand_end(&h);
		hand_begin(&h);
		l2 = (struct emu_line){0};
		if (both) {
			hand_store(&h, 2, &l2, 6408);
		}
		hand_store(&h, 0, &h.line[0], 6464);
		h.wf->epoch_wi[0]++;
		hand_store(&h, 0, &h.line[1], 6400);
		record_move(h.rig.machine, &l2, &h.line[1]);
		hand_issue(&h, &l2, 1);
		assert_int_equal(h.rig.machine->error, NVW_E_MODEL);
	}
}

/* No store is forgotten on its way: what has left every cache has left the checker's books. */
TEST(every_recorded_store_becomes_durable_in_the_checkers_books)
{
	static const char *const protocols[] = {"protocol=vi", "protocol=dd", "protocol=hlrc"};

	for (unsigned i = 0; emu_model_info(i / 3); i++) {
		char model[64];

		snprintf(model, sizeof model, "persist.model=%s", emu_model_info(i / 3)->name);
		RIG_BEGUN(rig, 0, model, protocols[i % 3], "l1.size=512B", "l1.ways=2");
		struct words w = {.group = NVW_WORKGROUP, .rounds = 3, .a = rig.nvram};

		rig_launch(&rig, ladder, &w, 64, 32);
		assert_true(emu_statistics(rig.machine)->checked_stores >= 64 * 6);
		rig_ok(nvw_persist(rig.machine));
		assert_int_equal(record_outstanding(rig.machine), 0);
	}
}
