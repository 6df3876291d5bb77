/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The permitted states of small random runs, against a second definition of them (axioms.c): what is explored
 * must be permitted, and whatever is permitted must be explored, with no fewer acknowledgements. Sampled and
 * minimised states are permitted ones, and any number of jobs tests the same.
 */
#include "axioms.h"

#include <string.h>
#include <unistd.h>

#include <check/check.h>
#include <crashtest/states/states.h>

#include "common/skip.h"
#include "explored.h"
#include "same_result.h"

/* ---- Against the explorer ------------------------------------------------------------------------ */

static const struct ct_result *explore(int fd, enum ct_model model, unsigned by, unsigned unit)
{
	struct ct_exploration e = exploration_of(fd, POOL_BYTES, note, model);

	e.rules.unit_bytes = unit;
	e.rules.narrow_file = by ? "r.c" : NULL;
	e.rules.narrow_line = 7;
	e.rules.narrow_by = by;
	explored->count = 0;
	return explored_by(&e);
}

/* Takes each step-th seed, from the first one. */
static void compare_some(enum ct_model model, unsigned by, unsigned unit, bool small,
	void (*permit)(const struct history *h), uint64_t first, unsigned step)
{
	for (uint64_t seed = first; seed <= RUNS; seed += step) {
		static struct history h;
		const int fd = make_run(seed, by, small, &h);

		permitted.count = 0;
		permit(&h);
		const struct ct_result *const result = explore(fd, model, by, unit);

		assert_int_equal(result->instants, result->instants_exhausted);
		assert_same_states(model, "random runs", seed);
		close(fd);
	}
}

static void compare(enum ct_model model, void (*permit)(const struct history *h))
{
	compare_some(model, 0, 8, false, permit, 1, 1);
}

TEST(strict_states_are_the_prefixes_of_visibility_order)
{
	compare(CT_MODEL_STRICT, permit_strict);
}

TEST(epoch_states_are_those_that_no_completed_barrier_forbids)
{
	compare(CT_MODEL_EPOCH, permit_epoch);
}

TEST(buffered_states_are_those_that_equations_1_to_3_permit)
{
	compare(CT_MODEL_BUFFERED, permit_buffered);
}

TEST(eadr_states_are_what_was_visible)
{
	compare(CT_MODEL_EADR, permit_eadr);
}

static const struct {
	enum ct_model model;
	void (*permit)(const struct history *h);
} models[] = {{CT_MODEL_EPOCH, permit_epoch}, {CT_MODEL_BUFFERED, permit_buffered},
	{CT_MODEL_STRICT, permit_strict}, {CT_MODEL_EADR, permit_eadr}};

/*
 * Neither words nor lines order stores, however many bytes the NVRAM writes at once. The tests above have
 * units of 8 bytes with stores to all words. By default, a combination takes every second run, and the next
 * one takes the others.
 */
TEST(stores_to_the_same_bytes_alone_are_in_order)
{
	for (unsigned unit = 8; unit <= 64; unit += 56) {
		for (unsigned small = unit == 8; small <= 1; small++) {
			NVW_FOR(i, 4) {
				compare_some(models[i].model, 0, unit, small, models[i].permit,
					1 + (small + i) % one_in(2), one_in(2));
			}
		}
	}
}

TEST(a_narrowed_barrier_orders_as_the_narrower_one_would)
{
	for (unsigned by = 1; by <= 3; by++) {
		for (unsigned small = 0; small <= 1; small++) {
			NVW_FOR(i, 2) {
				compare_some(models[i].model, by, 8, small, models[i].permit,
					1 + (by + small + i) % one_in(2), one_in(2));
			}
		}
	}
}

/* What a wider model permits, a narrower one does not lose: strict is in epoch, epoch in buffered. */
TEST(models_are_contained_in_each_other)
{
	static struct set smaller;

	for (uint64_t seed = 1; seed <= RUNS; seed += one_in(2)) {
		static const enum ct_model chain[] = {
			CT_MODEL_EADR, CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_BUFFERED};
		static struct history h;
		const int fd = make_run(seed, 0, false, &h);

		smaller.count = 0;
		NVW_EACH(one, chain, 4) {
			explore(fd, *one, 0, 8);
			NVW_EACH(state, smaller.state, smaller.count) {
				assert_true(has(explored, state, true));
			}
			smaller = *explored;
		}
		close(fd);
	}
}

/* ---- States that are not enumerated -------------------------------------------------------------- */

static void assert_is_permitted(struct ct_medium *m, const unsigned *levels, const char *what)
{
	ct_medium_apply(m, levels);
	const struct state s = state_of(&m->image, &m->acks);

	ct_medium_undo(m);
	if (!has(&permitted, &s, true)) {
		fail_msg("%s: a state that is %s is one that the axioms forbid",
			ct_model_info(m->rules.model)->name, what);
	}
}

/* A range of cells raised at once has the levels of cells raised one after the other. */
static void assert_raised_as_one_by_one(
	const struct ct_medium *m, struct nvw_random *r, const unsigned *levels)
{
	const unsigned first = (unsigned)nvw_random_below(r, m->cell_count),
		       end = first + 1 + (unsigned)nvw_random_below(r, m->cell_count - first);
	unsigned each[STORES_MAX], all[STORES_MAX];

	memcpy(each, levels, m->cell_count * sizeof *each);
	memcpy(all, levels, m->cell_count * sizeof *all);
	for (unsigned i = first; i < end; i++) {
		ct_states_raise(m, i, m->cell[i].count, each);
	}
	ct_states_raise_all(m, first, end, all);
	assert_memory_equal(each, all, m->cell_count * sizeof *each);
}

/* Samples, and what minimising makes of them: a cell is raised or lowered, and others with it. */
static void sample(struct ct_medium *m, struct nvw_random *r)
{
	unsigned levels[STORES_MAX] = {0};

	assert_true(m->cell_count <= STORES_MAX);
	NVW_FOR(i, 20) {
		ct_states_sample(m, r, levels);
		assert_is_permitted(m, levels, "sampled");
		if (m->cell_count == 0) {
			return;
		}
		assert_raised_as_one_by_one(m, r, levels);
		const unsigned cell = (unsigned)nvw_random_below(r, m->cell_count);

		ct_states_raise(m, cell, m->cell[cell].count, levels);
		assert_int_equal(levels[cell], m->cell[cell].count);
		assert_is_permitted(m, levels, "raised");
		ct_states_lower(m, cell, (unsigned)nvw_random_below(r, m->cell[cell].count + 1), levels);
		assert_is_permitted(m, levels, "lowered in part");
		ct_states_raise(m, cell, (unsigned)nvw_random_below(r, m->cell[cell].count + 1), levels);
		assert_is_permitted(m, levels, "raised in part");
		ct_states_lower(m, (cell + 1) % m->cell_count, 0, levels);
		assert_int_equal(levels[(cell + 1) % m->cell_count], 0);
		assert_is_permitted(m, levels, "lowered");
	}
}

TEST(sampled_and_minimised_states_are_permitted_ones)
{
	static const uint8_t initial[POOL_BYTES];

	for (uint64_t seed = 1; seed <= 2 * RUNS; seed++) {
		NVW_EACH(model, models, 3) { /* all but eADR */
			const struct ct_rules rules = {.model = model->model, .unit_bytes = 8};
			struct nvw_random r = {seed};
			struct ct_medium m;
			static struct history h;
			const int fd = make_run(seed, 0, seed > RUNS, &h);

			permitted.count = 0;
			model->permit(&h);
			assert_ok(ct_medium_create(fd, initial, POOL_BYTES, 0, &rules, &m));
			while (ct_medium_next(&m) == 1) {
				sample(&m, &r);
			}
			ct_medium_destroy(&m);
			close(fd);
		}
	}
}

/* ---- Jobs ---------------------------------------------------------------------------------------- */

/* A third of the states fail, in four ways. */
static int judge_by_words(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	uint64_t key = 0;

	*phase = CT_PHASE_CHECK;
	NVW_FOR(w, WORDS) {
		key = nvw_mix64(key + ct_image_word(image, place(w)));
	}
	return key % 3 ? 0 : nvw_violation(findings, 0, "way %c", (char)('a' + key / 3 % 4));
}

TEST(any_number_of_jobs_tests_the_same_states)
{
	static const enum ct_model models[] = {
		CT_MODEL_EADR, CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_BUFFERED};

	for (uint64_t seed = 1; seed <= 10; seed++) {
		static struct history h;
		const int fd = make_run(seed, 0, false, &h);

		NVW_EACH(model, models, 4) {
			struct ct_exploration e = exploration_of(fd, POOL_BYTES, judge_by_words, *model);

			e.options.unexplained = true;
			for (e.options.states = 40; e.options.states <= 10000; e.options.states *= 250) {
				assert_same_by_jobs(e);
			}
		}
		close(fd);
	}
}

GROUP(set_up, NULL);
