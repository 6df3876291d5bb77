/* SPDX-License-Identifier: BSD-3-Clause */
/* What work-items see of each other's stores, and when. */
#include "words.h"

#include "machine.h"
#include "protocol/protocol.h"

/* ---- Coherence ----------------------------------------------------------------------------- */

KERNEL(publish_and_read, const struct words, w)
{
	if (nvw_local_id()) {
		return;
	}
	if (nvw_group_id() == 0) {
		NVW_FOR(i, 64) {
			nvw_store(&w->a[8 * i], i + 100);
		}
		nvw_atomic_store(&w->b[0], 1, NVW_RELEASE, NVW_SCOPE_AGENT);
	} else {
		uint64_t wrong = 0;

		/* Stale copies in this L1, to be dropped by the acquire. */
		NVW_FOR(i, 64) {
			wrong += nvw_load(&w->a[8 * i]) > 1000;
		}
		while (!nvw_atomic_load(&w->b[0], NVW_ACQUIRE, NVW_SCOPE_AGENT)) {
		}
		for (unsigned i = 0; i < 64; i++) {
			wrong += nvw_load(&w->a[8 * i]) != i + 100;
		}
		nvw_store(&w->b[8 * nvw_group_id()], wrong + 1);
	}
}

TEST(a_release_of_agent_scope_publishes_to_an_acquire_elsewhere)
{
	NVW_FOR(seed, 10) {
		RIG_BEGUN(rig, seed);
		const struct words w = words_of(&rig, 64 * 64, 64 * 8);

		rig_launch(&rig, publish_and_read, &w, 8 * 64, 64);
		for (unsigned group = 1; group < 8; group++) {
			assert_visible(&rig, &w.b[8 * group], 1);
		}
	}
}

KERNEL(read_before_acquire, const struct words, w)
{
	if (nvw_local_id()) {
		return;
	}
	if (nvw_group_id() == 0) {
		(void)nvw_load(&w->a[0]);
		nvw_atomic_store(&w->b[0], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		while (nvw_atomic_load(&w->b[0], NVW_RELAXED, NVW_SCOPE_AGENT) != 2) {
		}
		nvw_store(&w->b[8], nvw_load(&w->a[0]));
	} else {
		while (nvw_atomic_load(&w->b[0], NVW_RELAXED, NVW_SCOPE_AGENT) != 1) {
		}
		nvw_atomic_store(&w->a[0], 7, NVW_RELAXED, NVW_SCOPE_AGENT);
		nvw_atomic_store(&w->b[0], 2, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

TEST(a_load_without_an_acquire_returns_the_stale_copy)
{
	RIG_BEGUN(rig, 0);
	const struct words w = words_of(&rig, 64, 128);

	rig_launch(&rig, read_before_acquire, &w, 128, 64);
	assert_visible(&rig, &w.b[8], 0);
	assert_visible(&rig, &w.a[0], 7);
}

/* A random program on private lines against a plain array: caches small enough to replace all the time. */
KERNEL(churn, const struct words, w)
{
	uint64_t *const mine = w->a + nvw_global_id() * 64;
	uint64_t x = nvw_global_id() + 1, wrong = 0, shadow[64] = {0};

	NVW_FOR(i, 200) {
		const unsigned at = (x = x * 6364136223846793005u + 1442695040888963407u) >> 33 & 63;

		if (x >> 40 & 1) {
			shadow[at] = x;
			nvw_store(&mine[at], x);
		} else if (x >> 41 & 1) {
			wrong += nvw_load(&mine[at]) != shadow[at];
		} else {
			wrong += nvw_atomic_add(&mine[at], 1, NVW_ACQ_REL, NVW_SCOPE_AGENT) != shadow[at];
			shadow[at]++;
		}
	}
	nvw_store(&w->b[nvw_global_id()], wrong + 1);
}

TEST(a_work_item_always_sees_its_own_stores)
{
	static const char *const shapes[][6] = {
		{NULL},
		{"protocol=gd", "l1.size=1KiB", "l1.ways=2", "l2.size=4KiB", "l2.ways=2", NULL},
		{"protocol=gd", "l1.size=512B", "l1.ways=1", "l2.size=1KiB", "l2.ways=1", NULL},
		{"protocol=gh", "l1.size=1KiB", "l1.ways=2", "l2.size=4KiB", "l2.ways=2", NULL},
		{"protocol=gh", "l1.size=512B", "l1.ways=1", "l2.size=1KiB", "l2.ways=1", NULL},
		{"l1.size=1KiB", "l1.ways=2", "l2.size=4KiB", "l2.ways=2", NULL},
		{"l1.size=512B", "l1.ways=1", "l2.size=1KiB", "l2.ways=1", NULL},
		{"network.topology=mesh", "l2.banks=3", "dram.channels=3", NULL},
		{"network.topology=torus", "gpu.cus=7", "nvram.channels=4", "l2.size=8KiB", NULL},
	};

	NVW_FOR(i, 2 * NVW_COUNT(shapes)) {
		RIG(rig);
		struct words w;

		rig_begin(&rig, i, shapes[i / 2]);
		w.b = nvw_alloc(rig.machine, 8 * 256);
		w.a = i % 2 ? rig.nvram : nvw_alloc(rig.machine, 8 * 64 * 256);
		rig_launch(&rig, churn, &w, 256, 64);
		NVW_EACH(b, w.b, 256) {
			assert_visible(&rig, b, 1);
		}
	}
}

struct two_scopes {
	uint64_t *x;    /* NVRAM */
	uint64_t *turn; /* DRAM */
};

static void await(uint64_t *turn, uint64_t tag)
{
	while (nvw_atomic_load(turn, NVW_RELAXED, NVW_SCOPE_AGENT) != tag) {
	}
}

/*
 * The first group stores near, the second one stores at the L2 behind it, and then the first one's store
 * comes to the L2.
 */
KERNEL(store_in_two_scopes, const struct two_scopes, s)
{
	if (nvw_group_id() == 0) {
		nvw_atomic_store(s->x, 5, NVW_RELAXED, NVW_SCOPE_WORKGROUP);
		nvw_atomic_store(s->turn, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
		await(s->turn, 2);
		nvw_atomic_store(s->turn, 3, NVW_RELEASE, NVW_SCOPE_AGENT);
	} else {
		await(s->turn, 1);
		nvw_atomic_store(s->x, 7, NVW_RELAXED, NVW_SCOPE_AGENT);
		nvw_atomic_store(s->turn, 2, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

TEST(under_eadr_what_is_last_in_coherence_order_is_durable)
{
	for_each_protocol(p) {
		RIG_UNDER(rig, p->name, "nvram.domain=eadr");
		struct two_scopes s = {.x = rig.nvram, .turn = nvw_alloc(rig.machine, 64)};

		rig_launch(&rig, store_in_two_scopes, &s, 2, 1);
		if (rig_durable(&rig, s.x) != rig_visible(&rig, s.x)) {
			fail_msg("%s: %llu is durable, and %llu is visible", p->name,
				(unsigned long long)rig_durable(&rig, s.x),
				(unsigned long long)rig_visible(&rig, s.x));
		}
	}
}
