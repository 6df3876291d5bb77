/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule of the undo log: a store in an epoch to what the epoch has not logged is named, and no other. */
#include "common/rig.h"

#include <nvw/heap.h>

enum { ITEMS = 8, BLOCK_BYTES = 256 };

struct program {
	struct nvw_pmem pmem;
	uint64_t *word, *other; /* in the pool, one a work-item, on lines of their own */
	uint64_t *dram;
	struct nvw_epoch epoch; /* of a kernel that joins it */
};

static uint64_t *of_item(uint64_t *words)
{
	return words + 8 * nvw_global_id();
}

static bool logs(const struct nvw_epoch *epoch, const uint64_t *word)
{
	return nvw_undo(epoch, nvw_off_of(epoch->pmem, word));
}

/* What is found when the kernels run one after the other, each by work-items that are a work-group. */
static struct emu_undo_report found(nvw_kernel first, nvw_kernel second)
{
	struct program p = {.dram = NULL};

	RIG_BEGUN(rig, 0);
	rig_ok(emu_check_undo(rig.machine));
	rig_ok(nvw_pmem_attach(rig.machine, &p.pmem));
	rig_ok(nvw_heap_provision(rig.machine, &p.pmem, BLOCK_BYTES, 4 * ITEMS));
	p.word = (uint64_t *)rig.nvram + rig.nvram_bytes / 2 / sizeof *p.word;
	p.other = p.word + 8 * ITEMS;
	p.dram = nvw_alloc(rig.machine, 64 * ITEMS);
	p.epoch = (struct nvw_epoch){.pmem = &p.pmem};
	rig_launch(&rig, first, &p, ITEMS, ITEMS);
	if (second) {
		rig_ok(nvw_launch(rig.machine, "second", second, &p, ITEMS, ITEMS));
	}
	return *emu_undo(rig.machine);
}

static void assert_clean(nvw_kernel first, nvw_kernel second)
{
	const struct emu_undo_report r = found(first, second);

	assert_true(r.stores >= ITEMS);
	assert_int_equal(r.unlogged, 0);
	assert_int_equal(r.count, 0);
}

static unsigned line; /* where a kernel has a store that is to be named */

/* One place alone, by each work-item once. */
static void assert_named(nvw_kernel kernel, const char *kind)
{
	const struct emu_undo_report r = found(kernel, NULL);

	assert_int_equal(r.count, 1);
	assert_int_equal(r.unlisted, 0);
	assert_int_equal(r.unlogged, ITEMS);
	assert_int_equal(r.store[0].count, ITEMS);
	assert_int_equal(r.store[0].store->line, line);
	assert_string_equal(r.store[0].kind, kind);
}

static void finish(struct nvw_epoch *epoch)
{
	nvw_p_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_epoch_complete(epoch);
	} else {
		epoch->number++;
	}
	nvw_p_barrier(NVW_WORKGROUP);
	nvw_barrier(NVW_WORKGROUP);
}

/* A kernel that is an epoch: finish() follows the body, so all of its work-items end it. A body that calls
 * finish() itself ends one epoch, and what it does then belongs to the next. */
#define IN_EPOCH(name, p, epoch)                                                 \
	static void name##_in(const struct program *p, struct nvw_epoch *epoch); \
	KERNEL(name, const struct program, given)                                \
	{                                                                        \
		struct nvw_epoch begun = nvw_epoch_begin(&given->pmem, 0);       \
                                                                                 \
		name##_in(given, &begun);                                        \
		finish(&begun);                                                  \
	}                                                                        \
	static void name##_in(const struct program *const p, struct nvw_epoch *const epoch)

/* ---- What may be stored to ----------------------------------------------------------------- */

KERNEL(logged, const struct program, p)
{
	struct nvw_epoch epoch = nvw_epoch_begin(&p->pmem, 0);

	NVW_FOR(round, 2) {
		if (nvw_local_id() == 0) {
			nvw_undo_reset(&epoch);
		}
		nvw_barrier(NVW_WORKGROUP);
		logs(&epoch, of_item(p->word));
		nvw_p_barrier(NVW_WORKGROUP);
		nvw_store((uint32_t *)of_item(p->word) + 1, round);
		nvw_atomic_add(of_item(p->word), 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		nvw_store(of_item(p->dram), round);
		finish(&epoch);
	}
}

/* Each logs the word of its neighbour. */
IN_EPOCH(logged_by_another, p, epoch)
{
	logs(epoch, p->word + 8 * ((nvw_global_id() + 1) % ITEMS));
	nvw_p_barrier(NVW_WORKGROUP);
	nvw_barrier(NVW_WORKGROUP);
	nvw_store(of_item(p->word), 1);
}

IN_EPOCH(allocated, p, epoch)
{
	nvw_off block;

	nvw_undo_reset(epoch);
	block = nvw_pmalloc(&p->pmem, BLOCK_BYTES, epoch);
	for (unsigned i = 0; i < BLOCK_BYTES; i += 8) {
		nvw_store(nvw_at(&p->pmem, uint64_t, block + i), i);
	}
	nvw_pfree(&p->pmem, block, BLOCK_BYTES, epoch);
}

IN_EPOCH(spared, p, epoch)
{
	nvw_undo_reset(epoch);
	nvw_undo_spare(epoch, nvw_off_of(&p->pmem, of_item(p->word)), 16);
	nvw_store(of_item(p->word), 1);
	nvw_store(of_item(p->word) + 1, 1);
}

TEST(what_an_epoch_has_logged_allocated_or_spared_may_be_stored_to)
{
	assert_clean(logged, NULL);
	assert_clean(logged_by_another, NULL);
	assert_clean(allocated, NULL);
	assert_clean(spared, NULL);
}

IN_EPOCH(copy_point, p, epoch)
{
	nvw_store(of_item(p->word), 1);
}

KERNEL(not_in_an_epoch, const struct program, p)
{
	nvw_store(of_item(p->other), 1);
	nvw_p_barrier_wi();
}

TEST(a_stream_without_a_log_is_not_looked_at_nor_a_work_item_without_an_epoch)
{
	struct emu_undo_report r = found(copy_point, NULL);

	assert_int_equal(r.stores, 0);
	r = found(logged, not_in_an_epoch);
	assert_int_equal(r.count, 0);
}

/* ---- What may not -------------------------------------------------------------------------- */

IN_EPOCH(one_word_too_few, p, epoch)
{
	logs(epoch, of_item(p->word));
	nvw_p_barrier(NVW_WORKGROUP);
	nvw_store(of_item(p->word), 1);
	line = __LINE__ + 1;
	nvw_store(of_item(p->word) + 1, 1);
}

IN_EPOCH(logged_before_the_epoch_ended, p, epoch)
{
	logs(epoch, of_item(p->word));
	nvw_p_barrier(NVW_WORKGROUP);
	nvw_store(of_item(p->word), 1);
	finish(epoch);
	line = __LINE__ + 1;
	nvw_store(of_item(p->word), 2);
}

IN_EPOCH(allocated_by_an_earlier_epoch, p, epoch)
{
	nvw_off block;

	nvw_undo_reset(epoch);
	block = nvw_pmalloc(&p->pmem, BLOCK_BYTES, epoch);
	nvw_store(nvw_at(&p->pmem, uint64_t, block), 1);
	finish(epoch);
	line = __LINE__ + 1;
	nvw_atomic_exchange(nvw_at(&p->pmem, uint64_t, block), 2, NVW_RELAXED, NVW_SCOPE_AGENT);
}

/* The block's word is the heap's, and need not be logged. */
IN_EPOCH(allocated_without_the_epoch, p, epoch)
{
	nvw_off block;

	nvw_undo_reset(epoch);
	block = nvw_pmalloc(&p->pmem, BLOCK_BYTES, NULL);
	line = __LINE__ + 1;
	nvw_store(nvw_at(&p->pmem, uint64_t, block), 1);
}

IN_EPOCH(emptied, p, epoch)
{
	logs(epoch, of_item(p->word));
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_undo_reset(epoch);
	}
	nvw_p_barrier(NVW_WORKGROUP);
	nvw_barrier(NVW_WORKGROUP);
	line = __LINE__ + 1;
	nvw_store(of_item(p->word), 1);
}

TEST(any_other_store_is_named)
{
	assert_named(one_word_too_few, "store");
}

TEST(what_an_ended_epoch_could_store_to_is_void)
{
	assert_named(logged_before_the_epoch_ended, "store");
	assert_named(allocated_by_an_earlier_epoch, "atomic exchange");
	assert_named(emptied, "store");
}

TEST(a_block_that_is_not_the_epochs_is_not_new)
{
	assert_named(allocated_without_the_epoch, "store");
}

KERNEL(log_word, const struct program, p)
{
	const struct nvw_epoch epoch = nvw_epoch_begin(&p->pmem, 0);

	logs(&epoch, of_item(p->word));
	nvw_p_barrier(NVW_WORKGROUP);
}

static unsigned joined;

KERNEL(go_on, const struct program, p)
{
	joined = __LINE__ + 1;
	nvw_epoch_join(&p->epoch);
	nvw_store(of_item(p->word), 1);
	line = __LINE__ + 1;
	nvw_store(of_item(p->other), 1);
}

TEST(an_epoch_goes_on_in_another_kernel)
{
	const struct emu_undo_report r = found(log_word, go_on);

	assert_int_equal(r.count, 1);
	assert_int_equal(r.store[0].store->line, line);
	assert_int_equal(r.store[0].begun->line, joined);
	assert_string_equal(r.store[0].kernel, "second");
	assert_int_equal(r.stores, 2 * ITEMS + 4 * ITEMS);
}

IN_EPOCH(exchange, p, epoch)
{
	nvw_undo_reset(epoch);
	nvw_atomic_compare_exchange(of_item(p->word), 5, 6, NVW_RELAXED, NVW_SCOPE_AGENT);
	line = __LINE__ + 1;
	nvw_atomic_compare_exchange(of_item(p->word), 0, 7, NVW_RELAXED, NVW_SCOPE_AGENT);
}

TEST(a_compare_exchange_that_fails_stores_nothing)
{
	assert_named(exchange, "atomic compare-exchange");
}
