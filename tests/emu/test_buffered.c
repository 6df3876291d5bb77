/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered epoch persistency where caches are tiny: bytes of several epochs meet in one line on ways that
 * ordinary caches seldom take. The durability checker is on (rig.h); test_persist.c and
 * test_persist_buffer.c have the rest of the model.
 */
#define nvw_rows_take library_rows_take
#include "../../lib/core/rows.c"
#undef nvw_rows_take

#include "common/rig.h"

uint32_t nvw_rows_take(struct nvw_rows *rows);

/* ---- Recalls ------------------------------------------------------------------------------- */

struct shared_line {
	uint64_t *x, *before; /* two lines of NVRAM */
	uint64_t *other;      /* DRAM that needs the L2's room */
	unsigned ahead;       /* the group that stores to another line first */
};

/* Two groups, each on its CU, store to words of one line. Both L1s hold it when the L2 needs its room. */
KERNEL(store_to_one_line, const struct shared_line, s)
{
	const unsigned group = (unsigned)nvw_group_id();

	if (group == s->ahead) {
		nvw_store(s->before, 1);
		nvw_p_barrier_wi();
	}
	nvw_store(&s->x[group], 2 + group);
	if (group == s->ahead) {
		NVW_FOR(i, 16) {
			(void)nvw_load(&s->other[8 * i]);
		}
		nvw_p_barrier_wi();
		nvw_store(s->before, 5);
	}
}

TEST(what_two_l1s_give_up_to_one_line_keeps_its_epochs)
{
	NVW_FOR(ahead, 2) {
		struct shared_line s = {.ahead = ahead};

		RIG_BEGUN(rig, 0, "persist.model=buffered-epoch", "gpu.first_cu=first", "l2.size=256B",
			"l2.ways=4", "l2.banks=1");
		s.x = rig.nvram;
		s.before = s.x + 8;
		s.other = nvw_alloc(rig.machine, 16 * 64);
		rig_launch(&rig, store_to_one_line, &s, 2, 1);
		assert_true(emu_statistics(rig.machine)->l1_recalls > 1);
		assert_durable(&rig, &s.x[0], 2);
		assert_durable(&rig, &s.x[1], 3);
		assert_durable(&rig, s.before, 5);
	}
}

/* ---- Memory -------------------------------------------------------------------------------- */

static uint32_t most_rows; /* of one kind */

/* In place of the library's. */
uint32_t nvw_rows_take(struct nvw_rows *rows)
{
	const uint32_t i = library_rows_take(rows);

	most_rows = rows->count > most_rows ? rows->count : most_rows;
	return i;
}

static void store_in_many_epochs(const void *args)
{
	uint64_t *const x = *(uint64_t *const *)args;

	NVW_FOR(i, 2000) {
		nvw_store(x, i);
		nvw_p_barrier_wi();
	}
}

TEST(epochs_whose_stores_are_durable_take_no_memory)
{
	RIG_BEGUN(rig, 0, "persist.model=buffered-epoch");
	most_rows = 0;
	rig_launch(&rig, store_in_many_epochs, &rig.nvram, 1, 1);
	assert_durable(&rig, rig.nvram, 1999);
	assert_in_range(most_rows, 1, 200);
}
