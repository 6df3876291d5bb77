/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a check in parts sees of a state: words as recovery would leave them, and what the undo log restores.
 */
#include "common/test.h"

#include <stdlib.h>
#include <string.h>

#include "parts_runs.h"
#include "pool/layout.h"

/*
 * Words of this instant's state that the view tells otherwise than recovery leaves them; raw: than they are
 * before it.
 */
static unsigned other_words(struct rig *r, struct ct_parts *parts, bool raw)
{
	const struct nvw_pool_image image = {.image = r->medium.image.ro,
		.bytes = r->medium.image.bytes,
		.write = ct_image_write,
		.context = &r->medium.image};
	uint64_t *const told = calloc(r->medium.image.bytes / 8, 8);
	bool *const known = calloc(r->medium.image.bytes / 8, 1);
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;
	unsigned other = 0, unknown = 0;

	NVW_FOR(i, r->medium.image.bytes / 8) {
		known[i] = ct_parts_recovered(parts, 8 * i, r->levels, &told[i]);
		unknown += !known[i];
	}
	ct_medium_apply(&r->medium, r->levels);
	assert_ok(nvw_pool_open_image(&image, &pool));
	assert_true(unknown <= nvw_pool_geometry(pool)->streams);
	assert_int_equal(raw ? 0 : nvw_recover(pool, &report), 0);
	NVW_FOR(i, r->medium.image.bytes / 8) {
		other += known[i] && ct_image_word(&r->medium.image, 8 * i) != told[i];
	}
	nvw_pool_close(pool);
	ct_medium_undo(&r->medium);
	free(told);
	free(known);
	return other;
}

static void view_a_run(struct rig *r, enum ct_model model)
{
	unsigned changed = 0, instants = 0;
	struct ct_parts *parts;

	rig_begin(r, model);
	assert_ok(ct_parts_create(r->subject.workload, r->oracle.plan, &r->medium, &parts));
	while (rig_next(r) && instants++ < 2 * INSTANTS) {
		assert_ok(ct_parts_try(parts, NULL, NULL));
		NVW_FOR(i, 3) {
			rig_choose(r, i);
			assert_int_equal(other_words(r, parts, false), 0);
			changed += other_words(r, parts, true) > 0;
		}
	}
	assert_true(changed > 0);
	ct_parts_free(parts);
	rig_end(r);
}

TEST(the_view_tells_what_recovery_writes)
{
	struct rig r;

	assert_true(rig_create(&r, &runs[4], -1, 1, NULL)); /* splits are undone */
	view_a_run(&r, CT_MODEL_EPOCH);
	view_a_run(&r, CT_MODEL_BUFFERED);
	rig_destroy(&r);
}

/* Entries of open epochs that restore the same root word, each to another value. */
static const struct {
	uint32_t stream, entry;
} rivals[] = {{0, 0}, {0, 3}, {1, 1}, {2, 0}, {2, 2}};
enum { RIVALS = NVW_COUNT(rivals) };

static int pool_with_streams(const void *plan, struct nvw_pool_params *ret_params)
{
	const int error = nvw_workload_queue.pool(plan, ret_params);

	ret_params->streams = 3;
	ret_params->log_entries = 4;
	return error;
}

/* Puts those of the set into the image, and none of the others. */
static void put_rivals(uint8_t *image, const struct nvw_pool_geometry *g, unsigned set)
{
	NVW_FOR(i, RIVALS) {
		const struct nvw__undo undo = {.off = nvw_pool_root_off(g, 7), .value = 1000 + i};

		NVW_FOR(k, NVW__ENTRY_WORDS) {
			const nvw_off off = nvw__entry_off(g, rivals[i].stream, rivals[i].entry) + 8 * k;
			const uint64_t word =
				set >> i & 1 ? nvw_seal(off, nvw__entry_payload(&undo, 1, k)) : 0;

			memcpy(image + off, &word, sizeof word);
		}
	}
}

static struct nvw_pool_geometry geometry_of(const struct ct_bench *b)
{
	const struct nvw_pool_image image = {.image = b->initial, .bytes = b->bytes};
	struct nvw_pool *pool;

	assert_ok(nvw_pool_open_image(&image, &pool));
	const struct nvw_pool_geometry g = *nvw_pool_geometry(pool);

	nvw_pool_close(pool);
	return g;
}

/* The view of each two, and of all together, restores what recovery restores last. */
TEST(of_several_entries_that_restore_a_word_the_view_takes_recovery_s)
{
	struct nvw_workload w = nvw_workload_queue;
	struct small s = runs[0];
	struct ct_parts *parts;
	struct rig r;

	w.pool = pool_with_streams;
	s.workload = &w;
	assert_true(rig_create(&r, &s, -1, 1, NULL));
	const struct nvw_pool_geometry g = geometry_of(&r.logged.bench);

	for (unsigned set = 1; set < 1u << RIVALS; set++) {
		if (__builtin_popcount(set) != 2 && __builtin_popcount(set) != RIVALS) {
			continue;
		}
		put_rivals(r.logged.bench.initial, &g, set);
		rig_begin(&r, CT_MODEL_EPOCH);
		assert_ok(ct_parts_create(&w, r.oracle.plan, &r.medium, &parts));
		assert_true(rig_next(&r));
		assert_ok(ct_parts_try(parts, NULL, NULL));
		rig_choose(&r, 0);
		assert_int_equal(other_words(&r, parts, false), 0);
		assert_int_equal(other_words(&r, parts, true), 1);
		ct_parts_free(parts);
		rig_end(&r);
	}
	rig_destroy(&r);
}

/* One part: a word has this value after recovery, and is found by it. */
static uint64_t wanted;

static uint64_t one_part(const void *plan, const struct nvw_pool_geometry *g)
{
	return 1;
}

static uint64_t by_itself(const void *plan, uint64_t word)
{
	return word;
}

CHECK_PART(check_wanted)
{
	nvw_off off[8];
	const unsigned holders = nvw_pool_holders(pool, wanted, off, 8);

	for (unsigned i = 0; i < holders && i < 8; i++) {
		if (nvw_pool_word(pool, off[i]) == wanted) {
			return 0;
		}
	}
	return nvw_violation(findings, 0, "no word is wanted");
}

/* Before recovery no word has the value. */
TEST(what_the_log_restores_is_found_by_its_key)
{
	struct nvw_workload w = nvw_workload_queue;
	struct nvw_parts parts = *nvw_workload_queue.parts;
	struct small s = runs[0];
	struct rig r;

	parts.count = one_part;
	parts.check = check_wanted;
	parts.key = by_itself;
	w.pool = pool_with_streams;
	w.parts = &parts;
	s.workload = &w;
	assert_true(rig_create(&r, &s, -1, 1, NULL));
	const struct nvw_pool_geometry g = geometry_of(&r.logged.bench);

	for (unsigned i = 0; i <= RIVALS; i++) {
		const struct ct_part_trouble *trouble;
		struct ct_parts *in_parts;

		put_rivals(r.logged.bench.initial, &g, 1u << i);
		wanted = 1000 + i;
		rig_begin(&r, CT_MODEL_EPOCH);
		assert_ok(ct_parts_create(&w, r.oracle.plan, &r.medium, &in_parts));
		assert_true(rig_next(&r));
		assert_ok(ct_parts_try(in_parts, NULL, NULL));
		assert_int_equal(ct_parts_troubles(in_parts, &trouble), i == RIVALS);
		ct_parts_free(in_parts);
		rig_end(&r);
	}
	rig_destroy(&r);
}
