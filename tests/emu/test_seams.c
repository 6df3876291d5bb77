/* SPDX-License-Identifier: BSD-3-Clause */
/* What protocols may decide for themselves: the skeleton of docs/protocols.md decides it differently from the shipped ones. */
#include "common/rig.h"

#include <stdio.h>

#include <nvw/kernel.h>

#include "machine.h"

struct words {
	uint64_t *a;
};

static void begin(struct rig *rig, const char *protocol, struct words *w)
{
	char setting[32];
	const char *const settings[] = {setting, NULL};

	snprintf(setting, sizeof setting, "protocol=%s", protocol);
	rig_begin(rig, 0, settings);
	w->a = nvw_alloc(rig->machine, 64);
}

/* ---- The classifier ------------------------------------------------------------------------ */

static void store_then_load_at_the_l2(const void *args)
{
	const struct words *const w = args;

	nvw_atomic_store(w->a, 5, NVW_RELAXED, NVW_SCOPE_AGENT);
	(void)nvw_atomic_load(w->a, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static struct emu_stats loaded_under(const char *protocol)
{
	struct emu_stats stats;
	struct words w;
	struct rig rig;

	begin(&rig, protocol, &w);
	rig_ok(nvw_launch(rig.machine, "store_then_load", store_then_load_at_the_l2, &w, 1, 1));
	assert_int_equal(rig_visible(&rig, w.a), 5);
	stats = *emu_statistics(rig.machine);
	rig_end(&rig);
	return stats;
}

/* gd hits the bytes that were stored. The skeleton wants the whole line. */
static void the_classifier_decides_whether_a_read_hits(void **state)
{
	const struct emu_stats gd = loaded_under("gd"), skeleton = loaded_under("skeleton");

	assert_int_equal(gd.l2_load_hits, 1);
	assert_int_equal(gd.l2_load_misses, 0);
	assert_int_equal(skeleton.l2_load_hits, 0);
	assert_int_equal(skeleton.l2_load_misses, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_classifier_decides_whether_a_read_hits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
