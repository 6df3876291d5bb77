/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap and epochs as kernels use them, on the machine. */
#include "common/rig.h"

#include <stdlib.h>
#include <string.h>

#include <nvw/heap.h>
#include <nvw/host.h>
#include <nvw/recovery.h>

#include "pool/layout.h"

struct args {
	struct nvw_pmem pmem;
	uint64_t *out;
	uint64_t bytes;
	enum nvw_group group;
};

/* ---- Heap ---------------------------------------------------------------------------------- */

KERNEL(allocate, const struct args, a)
{
	nvw_store(&a->out[nvw_global_id()], nvw_pmalloc(&a->pmem, a->bytes, NULL));
	nvw_p_barrier_wi();
}

KERNEL(give_back, const struct args, a)
{
	if (nvw_global_id() % 2 == 0) {
		nvw_pfree(&a->pmem, nvw_load(&a->out[nvw_global_id()]), a->bytes, NULL);
	}
}

/* What the durable word of a block says. */
static enum nvw__block_kind durable_kind(const struct rig *rig, const struct args *a, nvw_off block)
{
	uint64_t chunk = 0, payload = 0;
	uint32_t index = 0;

	assert_true(nvw__block_locate(&a->pmem.geometry, block, nvw__class_of(a->bytes), &chunk, &index));
	const nvw_off word = nvw__block_word_off(nvw__chunk_off(&a->pmem.geometry, chunk), index);

	assert_true(nvw_unseal(word, nvw_pool_word(rig->pool, word), &payload));
	return nvw__block_kind(payload);
}

TEST(many_work_items_get_different_blocks_that_are_theirs)
{
	static const uint64_t sizes[] = {1, 64, 65, 512, 4096, NVW_HEAP_BLOCK_MAX};

	NVW_FOR(s, NVW_COUNT(sizes)) {
		enum { N = 512 };
		struct args a = {.bytes = sizes[s]};
		uint64_t blocks[N];

		RIG_BEGUN(rig, s);
		rig_ok(nvw_pmem_attach(rig.machine, &a.pmem));
		rig_ok(nvw_heap_provision(rig.machine, &a.pmem, sizes[s], N - 100));
		a.out = nvw_alloc(rig.machine, 8 * N);
		rig_launch(&rig, allocate, &a, N, 64);
		rig_ok(nvw_read(rig.machine, blocks, a.out, sizeof blocks));
		qsort(blocks, N, 8, by_number);
		NVW_FOR(i, N) {
			if (i < 100) {
				assert_int_equal(blocks[i], 0); /* more than was set aside */
				continue;
			}
			assert_true(i == 100 || blocks[i] >= blocks[i - 1] + nvw_heap_block_bytes(sizes[s]));
			assert_int_equal(blocks[i] % 64, 0);
		}
		rig_ok(nvw_persist(rig.machine));
		for (unsigned i = 100; i < N; i++) {
			assert_int_equal(durable_kind(&rig, &a, blocks[i]), NVW__BLOCK_ALLOCATED);
		}
	}
}

TEST(freed_blocks_return_at_the_next_provision_and_not_before)
{
	enum { N = 256 };
	struct args a = {.bytes = 64};
	uint64_t first[N], second[N];

	RIG_BEGUN(rig, 0);
	rig_ok(nvw_pmem_attach(rig.machine, &a.pmem));
	rig_ok(nvw_heap_provision(rig.machine, &a.pmem, 64, N));
	a.out = nvw_alloc(rig.machine, 8 * N);
	rig_launch(&rig, allocate, &a, N, 64);
	rig_ok(nvw_read(rig.machine, first, a.out, sizeof first));
	rig_launch(&rig, give_back, &a, N, 64);
	/* Nothing is set aside any more. */
	rig_launch(&rig, allocate, &a, N, 64);
	rig_ok(nvw_read(rig.machine, second, a.out, sizeof second));
	NVW_EACH(one, second, N) {
		assert_int_equal(*one, 0);
	}
	rig_ok(nvw_heap_provision(rig.machine, &a.pmem, 64, N));
	/* What may be handed out now is free on the medium too, or a crash could find it in two hands. */
	for (unsigned i = 0; i < N; i += 2) {
		assert_int_equal(durable_kind(&rig, &a, first[i]), NVW__BLOCK_FREE);
	}
	rig_launch(&rig, allocate, &a, N, 64);
	rig_ok(nvw_read(rig.machine, second, a.out, sizeof second));
	qsort(second, N, 8, by_number);
	NVW_FOR(i, N) {
		const bool reused = bsearch(&first[i], second, N, 8, by_number);

		assert_int_equal(reused, i % 2 == 0);
	}
}

TEST(a_heap_that_is_too_small_is_an_error_that_changes_nothing)
{
	struct nvw_pmem pmem;
	nvw_off extent;

	RIG_BEGUN(rig, 0);
	rig_ok(nvw_pmem_attach(rig.machine, &pmem));
	assert_int_equal(nvw_heap_provision(rig.machine, &pmem, 4096, 1 << 20), NVW_E_FULL);
	assert_int_equal(nvw_heap_provision(rig.machine, &pmem, NVW_HEAP_BLOCK_MAX + 1, 1), NVW_E_USAGE);
	assert_int_equal(nvw_heap_alloc_extent(rig.machine, &pmem, 1 << 30, &extent), NVW_E_FULL);
	rig_ok(nvw_heap_alloc_extent(rig.machine, &pmem, 200000, &extent));
	assert_int_equal(nvw_heap_free_extent(rig.machine, &pmem, extent + 64), NVW_E_USAGE);
	rig_ok(nvw_heap_free_extent(rig.machine, &pmem, extent));
	assert_int_equal(nvw_heap_free_extent(rig.machine, &pmem, extent), NVW_E_USAGE);
}

/* ---- Epochs -------------------------------------------------------------------------------- */

KERNEL(overflow_log, const struct args, a)
{
	const struct nvw_epoch epoch = nvw_epoch_begin(&a->pmem, 3);
	uint64_t logged = 0;

	nvw_undo_reset(&epoch);
	NVW_FOR(i, a->pmem.geometry.log_entries + 5) {
		logged += nvw_undo(&epoch, nvw_pool_root_off(&a->pmem.geometry, 0));
	}
	nvw_store(&a->out[0], logged);
}

TEST(a_full_undo_log_refuses_and_writes_nothing)
{
	struct args a = {0};
	nvw_off next;

	RIG_BEGUN(rig, 0);
	rig_ok(nvw_pmem_attach(rig.machine, &a.pmem));
	a.out = nvw_alloc(rig.machine, 8);
	rig_launch(&rig, overflow_log, &a, 1, 1);
	rig_ok(nvw_persist(rig.machine));
	assert_visible(&rig, a.out, a.pmem.geometry.log_entries);
	next = nvw__entry_off(&a.pmem.geometry, 4, 0);
	assert_int_equal(nvw_pool_word(rig.pool, next), 0);
}

/* Each work-group of 16 changes its words, two epochs long, with the barriers of its scope. */
KERNEL(transact, const struct args, a)
{
	const uint32_t stream = a->group == NVW_KERNEL    ? 0 :
				a->group == NVW_WORKGROUP ? (uint32_t)nvw_group_id() :
							    (uint32_t)nvw_global_id();
	const bool leader = a->group == NVW_WORKITEM ||
			    (a->group == NVW_WORKGROUP ? nvw_local_id() : nvw_global_id()) == 0;
	uint64_t *const word = a->out + 8 * nvw_global_id();
	struct nvw_epoch epoch = nvw_epoch_begin(&a->pmem, stream);

	for (unsigned round = 1; round <= 2; round++) {
		if (leader) {
			nvw_undo_reset(&epoch);
		}
		nvw_barrier(a->group);
		nvw_undo(&epoch, nvw_off_of(&a->pmem, word));
		nvw_p_barrier(a->group);
		nvw_store(word, round);
		nvw_p_barrier(a->group);
		if (leader) {
			nvw_epoch_complete(&epoch);
		} else {
			epoch.number++;
		}
		nvw_p_barrier(a->group);
	}
}

static void on_cut(void *context)
{
	longjmp(*(jmp_buf *)context, 1);
}

static int no_write(void *context, nvw_off off, const void *from, size_t n)
{
	memcpy((char *)context + off, from, n);
	return 0;
}

/* After a cut anywhere and recovery, all words of a group are of one round: that of the stream's settled
 * epoch. */
static void cut_transaction(enum nvw_group group, uint64_t seed, uint64_t time_ps)
{
	enum { ITEMS = 16, GROUP = 8 };
	static struct rig rig;
	static jmp_buf out;
	static struct args a;
	const struct emu_power_cut cut = {.time_ps = time_ps, .seed = seed, .die = on_cut, .context = &out};
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;
	uint64_t bytes;
	char *image;

	rig_begin(&rig, seed, NULL);
	rig_ok(nvw_pmem_attach(rig.machine, &a.pmem));
	a.group = group;
	a.out = rig.nvram;
	emu_set_power_cut(rig.machine, &cut);
	if (setjmp(out) == 0) {
		rig_launch(&rig, transact, &a, ITEMS, GROUP);
	}
	bytes = nvw_pool_geometry(rig.pool)->bytes;
	image = aligned_alloc(4096, bytes);
	memcpy(image, nvw_pool_base(rig.pool), bytes);
	const struct nvw_pool_image what = {
		.image = image, .bytes = bytes, .write = no_write, .context = image};

	rig_ok(nvw_pool_open_image(&what, &pool));
	rig_ok(nvw_recover(pool, &report));
	NVW_FOR(i, ITEMS) {
		const uint32_t stream = group == NVW_KERNEL ? 0 : group == NVW_WORKGROUP ? i / GROUP : i;
		struct nvw_stream_state s;

		rig_ok(nvw_stream_state(pool, stream, &s));
		const uint64_t completed = s.state == NVW_EPOCH_ROLLED_BACK ? s.settled - 1 : s.settled;

		assert_int_equal(
			nvw_pool_word(pool, (nvw_off)((char *)(a.out + 8 * i) - a.pmem.base)), completed);
	}
	nvw_pool_close(pool);
	free(image);
	rig_end(&rig);
}

TEST(epochs_of_every_scope_are_all_or_nothing_at_any_cut)
{
	for (unsigned group = NVW_WORKITEM; group <= NVW_KERNEL; group++) {
		NVW_FOR(i, 60) {
			cut_transaction((enum nvw_group)group, i, 100000 + i * 80000);
		}
	}
}

/* The epoch that frees the block is never completed. */
KERNEL(free_in_epoch, const struct args, a)
{
	const struct nvw_epoch epoch = nvw_epoch_begin(&a->pmem, 0);

	nvw_pfree(&a->pmem, nvw_load(&a->out[0]), a->bytes, &epoch);
	nvw_p_barrier_wi();
}

TEST(a_block_that_an_unfinished_epoch_freed_is_still_allocated)
{
	struct args a = {.bytes = 64};
	struct nvw_recovery report = {0};
	uint64_t bytes;
	nvw_off block;

	RIG_BEGUN(rig, 0);
	rig_ok(nvw_pmem_attach(rig.machine, &a.pmem));
	rig_ok(nvw_heap_provision(rig.machine, &a.pmem, a.bytes, 4));
	a.out = nvw_alloc(rig.machine, 8);
	rig_launch(&rig, allocate, &a, 1, 1);
	rig_launch(&rig, free_in_epoch, &a, 1, 1);
	block = rig_visible(&rig, a.out);
	rig_ok(nvw_persist(rig.machine));
	rig_ok(nvw_recover(rig.pool, &report));
	assert_int_equal(report.blocks_kept, 1);
	assert_true(nvw_heap_is_allocated(rig.pool, block, &bytes));
}

/* ---- Tearing ------------------------------------------------------------------------------- */

KERNEL(store_line, const struct args, a)
{
	NVW_EACH(out, a->out, 8) {
		nvw_store(out, UINT64_MAX);
	}
	nvw_p_barrier_wi();
}

/* Cuts the power while the line is in flight; how many of its words are durable. */
static unsigned cut_line(uint64_t seed, const char *const *settings)
{
	static struct rig rig;
	static jmp_buf out;
	static struct args a;
	static unsigned durable;
	const struct emu_power_cut cut = {.time_ps = 150000, .seed = seed, .die = on_cut, .context = &out};

	rig_begin(&rig, 0, settings);
	a.out = rig.nvram;
	emu_set_power_cut(rig.machine, &cut);
	if (setjmp(out) == 0) {
		rig_launch(&rig, store_line, &a, 1, 1);
		fail_msg("the cut came too late");
	}
	durable = 0;
	NVW_EACH(out, a.out, 8) {
		const uint64_t word = rig_durable(&rig, out);

		assert_true(word == 0 || word == UINT64_MAX);
		durable += word != 0;
	}
	rig_end(&rig);
	return durable;
}

TEST(a_cut_tears_a_line_in_flight_at_words_or_not_at_all)
{
	NVW_FOR(whole, 2) {
		unsigned torn = 0, all = 0, none = 0;

		NVW_FOR(seed, 40) {
			const unsigned durable =
				cut_line(seed, whole ? SETTINGS("nvram.atomicity=64B") : NULL);

			all += durable == 8;
			none += durable == 0;
			torn += durable != 0 && durable != 8;
		}
		assert_true(whole ? !torn && all && none : torn > 20);
	}
}
