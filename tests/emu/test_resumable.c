/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel without stacks, written by hand as a compiler makes one, and the same kernel with stacks: both are
 * the same run. */
#include "common/rig.h"

#include <string.h>

enum { GROUP = 96, GROUPS = 6, ITEMS = GROUP * GROUPS, ROUNDS = 3 };

struct words {
	uint64_t *a, *b;
	enum nvw_group scope; /* of the barrier */
};

/* Each adds to a word of its own, meets the others in the middle of a call, and takes over a neighbour's;
 * some go on longer. */
static void meet_and_take_over(const struct words *w, uint64_t i)
{
	nvw_barrier(w->scope);
	nvw_store(&w->b[i], nvw_load(&w->a[i / GROUP * GROUP + (i + 1) % GROUP]));
}

static uint64_t rounds_of(uint64_t i)
{
	return ROUNDS + i % 2;
}

/* ---- With stacks ------------------------------------------------------------------------------ */

static struct nvw_site load_site = {.file = "by_hand.c", .function = "adds", .line = 10, .kind = NVW__LOAD},
		       store_site = {.file = "by_hand.c", .function = "adds", .line = 11, .kind = NVW__STORE};
static const uint32_t load_op = NVW__OP(LOAD, uint64_t, 0, 0), store_op = NVW__OP(STORE, uint64_t, 0, 0);

KERNEL(with_stacks, const struct words, w)
{
	const uint64_t i = nvw_global_id();

	NVW_FOR(round, rounds_of(i)) {
		nvw__op(&store_site, store_op, &w->a[i], nvw__op(&load_site, load_op, &w->a[i], 0, 0) + i, 0);
	}
	meet_and_take_over(w, i);
}

/* ---- Without ---------------------------------------------------------------------------------- */

struct frame {
	void (*resume)(struct frame *);
	const struct words *w;
	uint64_t i, round;
	bool loads; /* its request was the load */
};

static void post(const struct nvw_site *site, uint32_t op, const uint64_t *p, uint64_t value)
{
	nvw__self->address = (uintptr_t)p;
	nvw__self->value = value;
	nvw__self->compare = 0;
	nvw__self->site = site;
	nvw__self->op = op;
}

static void resume(struct frame *f)
{
	uint64_t *const own = &f->w->a[f->i];

	assert_int_equal(nvw_global_id(), f->i);
	if (f->loads) {
		f->loads = false;
		f->round++;
		post(&store_site, store_op, own, nvw__self->value + f->i);
	} else if (f->round < rounds_of(f->i)) {
		f->loads = true;
		post(&load_site, load_op, own, 0);
	} else {
		meet_and_take_over(f->w, f->i);
		emu_post_return();
	}
}

static void begin(const void *args, void *frame)
{
	*(struct frame *)frame = (struct frame){.resume = resume, .w = args, .i = nvw_global_id()};
}

static void resume_neighbours(struct frame *f)
{
	do {
		resume(f);
	} while ((f = (void *)emu_turn_next(emu_turn(), &nvw__self, (char *)f)) != NULL);
}

static void begin_with_neighbours(const void *args, void *frame)
{
	begin(args, frame);
	((struct frame *)frame)->resume = resume_neighbours;
}

/* The odd work-items leave from the middle of a call, the others return. */
static void resume_and_leave(struct frame *f)
{
	if (f->round++ == 0) {
		post(&store_site, store_op, &f->w->b[f->i], f->i);
		return;
	}
	emu_post_return();
	if (f->i % 2) {
		emu_leave_resumable();
	}
}

static void begin_to_leave(const void *args, void *frame)
{
	*(struct frame *)frame = (struct frame){.resume = resume_and_leave, .w = args, .i = nvw_global_id()};
}

/* ---- Both ------------------------------------------------------------------------------------- */

static const struct emu_resumable adds = {.frame_bytes = sizeof(struct frame), .begin = begin},
				  adds_in_turn = {.frame_bytes = sizeof(struct frame),
					  .begin = begin_with_neighbours},
				  leaves = {.frame_bytes = sizeof(struct frame), .begin = begin_to_leave};

struct outcome {
	uint64_t word[ITEMS], time_ps;
	struct emu_stats stats;
};

static void run(enum nvw_group scope, const struct emu_resumable *kernel, struct outcome *ret)
{
	/* two groups per CU at a time, so that a kernel-wide barrier takes preemption */
	struct words w = {.scope = scope};

	RIG_BEGUN(rig, 1, "gpu.cus=2", "gpu.wavefronts_per_cu=4", "gpu.wavefront_width=32");
	emu_order_by_line(rig.machine);
	w.a = nvw_alloc(rig.machine, sizeof ret->word);
	w.b = nvw_alloc(rig.machine, sizeof ret->word);
	memset(ret, 0, sizeof *ret);
	rig_ok(nvw_write(rig.machine, w.a, ret->word, sizeof ret->word));
	rig_ok(kernel ? emu_launch_resumable(rig.machine, "adds", kernel, &w, ITEMS, GROUP) :
			nvw_launch(rig.machine, "adds", with_stacks, &w, ITEMS, GROUP));
	NVW_FOR(i, ITEMS) {
		ret->word[i] = rig_visible(&rig, &w.b[i]);
	}
	ret->time_ps = nvw_time_ps(rig.machine);
	ret->stats = *emu_statistics(rig.machine);
}

TEST(a_kernel_without_stacks_is_the_same_run)
{
	static struct outcome with, without;

	for (enum nvw_group scope = NVW_WORKGROUP; scope <= NVW_KERNEL; scope++) {
		run(scope, NULL, &with);
		run(scope, &adds, &without);
		NVW_FOR(i, ITEMS) {
			const uint64_t next = i / GROUP * GROUP + (i + 1) % GROUP;

			assert_int_equal(without.word[i], next * rounds_of(next));
		}
		assert_memory_equal(&with, &without, sizeof with);
		run(scope, &adds_in_turn, &without);
		assert_memory_equal(&with, &without, sizeof with);
		assert_int_equal(scope == NVW_KERNEL, without.stats.preemptions > 0);
	}
}

TEST(a_work_item_leaves_from_the_middle_of_a_call)
{
	static struct outcome left;

	run(NVW_WORKGROUP, &leaves, &left);
	NVW_FOR(i, ITEMS) {
		assert_int_equal(left.word[i], i);
	}
}
