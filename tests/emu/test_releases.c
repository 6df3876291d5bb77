/* SPDX-License-Identifier: BSD-3-Clause */
/* A release: its store is performed, and seen by others, when its flush is complete. */
#include "common/rig.h"

#include <nvw/kernel.h>

#include "protocol/protocol.h"

enum { LINES = 48, WORDS = EMU_LINE / 8 };

struct words {
	struct nvw_machine *m;
	uint64_t *a, *flag, *other;
	uint64_t kind, scope; /* of the release */
	bool has_begun;
	emu_time begins, ends; /* the release */
	emu_time seen;         /* the load that sees it is performed */
	emu_time other_begins, other_ends;
};

static struct words begin(struct rig *rig, const char *protocol)
{
	rig_begin_under_set(rig, protocol, "gpu.cus=4", "gpu.wavefront_width=1", "l1.sfifo=64");
	struct words w = {.m = rig->machine, .scope = NVW_SCOPE_AGENT};

	w.a = nvw_alloc(rig->machine, 2 * LINES * EMU_LINE);
	w.flag = nvw_alloc(rig->machine, EMU_LINE);
	w.other = nvw_alloc(rig->machine, EMU_LINE);
	return w;
}

static void store_lines(struct words *w, unsigned from)
{
	NVW_FOR(i, LINES) {
		nvw_store(&w->a[(from + i) * WORDS], i + 1);
	}
}

static void release(struct words *w, uint64_t *flag)
{
	if (w->kind == 0) {
		nvw_atomic_store(flag, 1, NVW_RELEASE, (enum nvw_scope)w->scope);
	} else if (w->kind == 1) {
		(void)nvw_atomic_add(flag, 1, NVW_RELEASE, (enum nvw_scope)w->scope);
	} else {
		(void)nvw_atomic_exchange(flag, 1, NVW_SEQ_CST, (enum nvw_scope)w->scope);
	}
}

/* One work-group releases, the other polls. */
KERNEL_ON(release_and_poll, struct words, w)
{
	if (nvw_group_id() == 0) {
		store_lines(w, 0);
		w->begins = w->m->now;
		release(w, w->flag);
		w->ends = w->m->now;
		return;
	}
	do {
		w->seen = w->m->now;
	} while (!nvw_atomic_load(w->flag, NVW_RELAXED, NVW_SCOPE_AGENT));
}

TEST(nobody_sees_a_release_before_its_flush_is_complete)
{
	static const char *const protocols[] = {"vi", "gd", "gh", "rsp", "denovo-b", "dd", "dd+ro", "dh",
		"hlrc-scoped", "wt", "no-l1", "quickrelease"};

	NVW_FOR(i, 3 * NVW_COUNT(protocols)) {
		struct emu_stats stats;
		emu_time flush;
		RIG(rig);
		struct words w = begin(&rig, protocols[i / 3]);

		w.kind = i % 3;
		rig_launch_on(&rig, release_and_poll, &w, 2, 1);
		stats = *emu_statistics(rig.machine);
		/* hlrc-scoped counts a release's time as the access's. */
		flush = stats.release_ps ? stats.release_ps : stats.wait_release_ps;
		assert_true(flush > rig.machine->cycle_ps);
		assert_true(w.seen >= w.begins + flush);
		assert_true(w.ends > w.begins + flush);
		if (!stats.waits_marker) {
			assert_int_equal(stats.waits_release, 1);
			assert_int_equal(stats.wait_release_ps, flush);
		}
	}
}

/* Two wavefronts of a CU: the first one's flush takes the second one's stores along. */
KERNEL_ON(release_after_another, struct words, w)
{
	if (nvw_local_id() == 0) {
		store_lines(w, 0);
		w->begins = w->m->now;
		w->has_begun = true;
		release(w, w->flag);
		w->ends = w->m->now;
		return;
	}
	nvw_store(&w->a[LINES * WORDS], 7);
	while (!w->has_begun) {
		(void)nvw_load(&w->a[LINES * WORDS]);
	}
	w->other_begins = w->m->now;
	release(w, w->other);
	w->other_ends = w->m->now;
}

TEST(a_release_waits_for_its_stores_on_their_way_by_another_s_flush)
{
	static const char *const protocols[] = {
		"vi", "gd", "gh", "rsp", "denovo-b", "dd", "dd+ro", "dh", "hlrc-scoped", "quickrelease"};

	for_each(protocol, protocols) {
		RIG(rig);
		struct words w = begin(&rig, *protocol);

		rig_launch_on(&rig, release_after_another, &w, 2, 2);
		assert_true(w.other_begins >= w.begins && w.other_begins < w.ends);
		/* Both wait for the end of the same flush, and the one that came second stores second. */
		assert_true(w.other_ends > w.ends);
	}
}

/* Three work-groups operate remotely; the first one adds in its own L1, or as they do. */
KERNEL_ON(lock_and_count, struct words, w)
{
	NVW_FOR(i, 40) {
		nvw_store(&w->a[(nvw_group_id() * 8 + i % 8) * WORDS], i);
		(void)nvw_atomic_add(w->flag, 1, NVW_ACQ_REL,
			nvw_group_id() ? NVW_SCOPE_REMOTE_AGENT : (enum nvw_scope)w->scope);
	}
}

static struct emu_stats counted_with(enum nvw_scope of_the_first)
{
	RIG(rig);
	struct words w = begin(&rig, "rsp");

	w.scope = of_the_first;
	rig_launch_on(&rig, lock_and_count, &w, 4, 1);
	assert_visible(&rig, w.flag, 160);
	return *emu_statistics(rig.machine);
}

TEST(a_remote_operation_is_atomic_although_its_flush_takes_time)
{
	const struct emu_stats stats = counted_with(NVW_SCOPE_WORKGROUP);

	assert_true(stats.waits_lock > 0 && stats.wait_lock_ps > 0 && stats.waits_release > 0);
}

/* The paper's lock delays read-modify-writes in L1s (alsop16 II.D). */
TEST(remote_operations_do_not_wait_for_each_other)
{
	const struct emu_stats stats = counted_with(NVW_SCOPE_REMOTE_AGENT);

	assert_true(stats.waits_release > 0);
	assert_int_equal(stats.waits_lock, 0);
}
