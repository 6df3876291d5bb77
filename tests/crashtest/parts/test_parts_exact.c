/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks in parts against brute force. Small random runs of every structure with parts, as it is or with a
 * seeded bug: at every instant every permitted state is recovered and checked as a whole, and every part is
 * tried with all combinations of what it looks at. The states in which some part fails must be exactly those
 * in which the whole check fails, under every model; every state must be in one evaluation of each part, and
 * in no two.
 *
 * PARTS_SEEDS=N tries N runs of each structure (test.sh --all: many).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts_runs.h"
#include "pool/layout.h"

static const enum ct_model models[] = {
	CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_EADR, CT_MODEL_OBSERVED, CT_MODEL_BUFFERED};
enum { MODELS = NVW_COUNT(models) };

/*
 * An instant with more states than STATES_FEW is left out, and counted. With PARTS_SEEDS in the environment
 * the limit is RIG_STATES_MAX.
 */
enum { STATES_FEW = 1024, SEEDS = 4, OPTIONS_BYTES = 256 };

/* ---- Random runs ------------------------------------------------------------------------------ */

/* An option with values to choose from. */
struct choice {
	const char *name;
	const char *values[5]; /* NULL ends */
};

static const struct structure {
	const struct nvw_workload *workload;
	struct choice choices[9];
} structures[] = {
	{&nvw_workload_queue,
		{{"count", {"2", "4", "6", "8"}}, {"producers", {"1", "2"}}, {"consumers", {"1", "2"}},
			{"capacity", {"2", "4"}}, {"group-size", {"1", "2"}}, {"payload", {"1", "2"}},
			{"scope", {"workitem", "workgroup"}}, {"release", {"durable", "visible"}}}},
	{&nvw_workload_steal_log, {{"tasks", {"1", "2", "3"}}, {"groups", {"1", "2"}}, {"depth", {"2", "3"}},
					  {"group-size", {"1", "2"}}, {"skew", {"100"}},
					  {"words", {"1", "2"}}, {"spawn", {"95"}}}},
	{&nvw_workload_kv, {{"count", {"5", "8", "12"}}, {"batch", {"1", "2"}}, {"slots", {"4", "8"}},
				   {"group-size", {"1", "2"}}, {"mix", {"put", "put=60,delete=40"}},
				   {"records", {"3", "6"}}, {"value-size", {"1B", "8B"}},
				   {"scope", {"workitem", "workgroup", "kernel"}}}},
	{&nvw_workload_btree,
		{{"count", {"3", "8", "14"}}, {"preload", {"0", "6", "16"}}, {"batch", {"1", "2", "5"}},
			{"group-size", {"1", "2"}}, {"scope", {"workgroup", "kernel"}}}},
	{&nvw_workload_btree, {{"count", {"3", "8"}}, {"preload", {"6", "16"}}, {"batch", {"1", "2", "5"}},
				      {"group-size", {"1", "2"}}, {"op", {"update", "delete"}}}},
	{&nvw_workload_tiered,
		{{"count", {"2", "5", "9"}}, {"groups", {"1"}}, {"group-size", {"1", "1", "2"}},
			{"keys", {"1", "2"}}, {"records", {"1", "2", "3"}}, {"words", {"0", "1"}}}},
	{&nvw_workload, {{"count", {"1"}}}},
};
enum { STRUCTURES = NVW_COUNT(structures) };

static unsigned length(const char *const *values)
{
	return NVW_INDEX(i, 5, values[i] == NULL);
}

/* Its options are in text. */
static struct small random_run(const struct structure *s, uint64_t seed, char text[OPTIONS_BYTES])
{
	struct nvw_random random = {seed};
	size_t n = 0;

	for (unsigned i = 0; i < 9 && s->choices[i].name != NULL; i++) {
		const char *const *const values = s->choices[i].values;

		n += (size_t)snprintf(text + n, OPTIONS_BYTES - n, "%s=%s ", s->choices[i].name,
			values[nvw_random_below(&random, length(values))]);
	}
	return (struct small){s->workload, text};
}

/* Seeded bugs without the last ones, which only other orders of the wavefronts show. */
static unsigned in_this_order(const struct nvw_workload *w)
{
	unsigned n = 0;

	while (w->mutations[n].name != NULL && strcmp(w->mutations[n].found_by, "schedules") != 0) {
		n++;
	}
	return n;
}

/*
 * Three of four have a seeded bug; one that such options do not show, or that ends the run, is passed over.
 * Its number, -1: none.
 */
static int create_random(struct rig *r, const struct structure *s, uint64_t seed)
{
	char text[OPTIONS_BYTES];
	const struct small small = random_run(s, seed, text);
	struct nvw_random random = {~seed};
	const char *const setting =
		s->workload == &nvw_workload || seed % 2 == 0 ? "nvram.atomicity=64B" : NULL;
	const unsigned mutations = in_this_order(s->workload);
	const unsigned first = (unsigned)nvw_random_below(&random, mutations);

	for (unsigned i = 0; i < mutations && seed % 4 != 0; i++) {
		const int mutation = (int)((first + i) % mutations);

		if (rig_create(r, &small, mutation, seed, setting)) {
			return mutation;
		}
	}
	assert_true(rig_create(r, &small, -1, seed, setting));
	return -1;
}

/* ---- All states ------------------------------------------------------------------------------- */

/* False: there are too many. */
static bool number_of_states(const struct rig *r, unsigned *ret_states)
{
	const uint64_t most = getenv("PARTS_SEEDS") ? RIG_STATES_MAX : STATES_FEW;
	struct ct_count count;

	assert_ok(ct_states_count(&r->medium, &count));
	if (count.fresh == CT_COUNT_MANY || ct_states_numbers(&r->medium) > most) {
		return false;
	}
	*ret_states = (unsigned)ct_states_numbers(&r->medium);
	return true;
}

static bool check_fails(struct rig *r)
{
	static struct nvw_findings findings;

	return rig_fails(r, &findings);
}

static void compare_run(
	struct rig *r, const struct nvw_workload *in_parts, enum ct_model model, struct rig_sum *sum)
{
	struct ct_parts *parts;
	unsigned count;

	rig_begin(r, model);
	assert_ok(ct_parts_create(in_parts, r->oracle.plan, &r->medium, &parts));
	assert_non_null(parts);
	while (rig_next(r)) {
		/*
		 * Also the states that an earlier instant had, which a number names under buffered epochs
		 * only then.
		 */
		r->medium.obliged = r->medium.obliged || ct_model_info(model)->levels == CT_GRAPH;
		sum->instants++;
		assert_ok(ct_parts_try(parts, NULL, NULL));
		if (number_of_states(r, &count)) {
			rig_compare(r, parts, count, check_fails, sum);
		} else {
			sum->left_out++;
		}
	}
	ct_parts_free(parts);
	rig_end(r);
}

static unsigned seeds(void)
{
	const char *const given = getenv("PARTS_SEEDS");

	return given != NULL ? (unsigned)strtoul(given, NULL, 10) : SEEDS;
}

/* One run under every model. */
static void compare_structure(const struct structure *s, uint64_t seed, struct rig_sum *sum)
{
	struct rig r;
	const int mutation = create_random(&r, s, seed);

	NVW_FOR(m, MODELS) {
		compare_run(&r, s->workload, models[m], &sum[m]);
		if (sum[m].different > 0) {
			fail_msg("%s, seed %u, mutation %s, %s: parts and check differ", s->workload->name,
				(unsigned)seed, mutation < 0 ? "none" : s->workload->mutations[mutation].name,
				ct_model_info(models[m])->name);
		}
	}
	rig_destroy(&r);
}

/* A record of the tutorial's queue is fifteen words that nothing orders. */
static bool has_many(const struct structure *s, enum ct_model model)
{
	return ct_model_info(model)->levels == CT_GRAPH ||
	       (s->workload == &nvw_workload && model == CT_MODEL_EPOCH);
}

TEST(parts_fail_in_exactly_the_states_in_which_the_whole_check_fails)
{
	uint64_t failing[MODELS] = {0};

	NVW_EACH(structure, structures, STRUCTURES) {
		struct rig_sum sum[MODELS] = {0};

		for (uint64_t seed = 1; seed <= seeds(); seed++) {
			compare_structure(structure, seed, sum);
		}
		NVW_FOR(m, MODELS) {
			const struct rig_sum *const n = &sum[m];

			print_message("# %s, %s: %" PRIu64 " instants and %" PRIu64 " left out, %" PRIu64
				      " states, %" PRIu64 " fail\n",
				structure->workload->name, ct_model_info(models[m])->name,
				n->instants - n->left_out, n->left_out, n->states, n->failing);
			assert_true(n->left_out <= n->instants / 4 || has_many(structure, models[m]));
			assert_int_equal(n->wide, 0);
			failing[m] += n->failing;
		}
	}
	NVW_EACH(one, failing, MODELS) {
		assert_true(*one > 0);
	}
}

/* ---- Losses ----------------------------------------------------------------------------------- */

/* A word is set back to what it was before the run. */
static void set_word(struct rig *r, nvw_off off, uint64_t word)
{
	NVW_FOR(i, 8) {
		ct_medium_set_byte(&r->medium, off + i, (uint8_t)(word >> 8 * i));
	}
}

/*
 * Number of words, each set back alone, about which parts and check differ; *ret_failing: those of which they
 * say so.
 */
static unsigned different_losses(
	struct rig *r, const struct nvw_workload *in_parts, bool acked, unsigned *ret_failing)
{
	static struct nvw_findings findings;
	const struct ct_part_trouble *trouble;
	struct ct_parts *parts;
	unsigned different = 0;

	rig_begin(r, CT_MODEL_EADR);
	while (rig_next(r) && !r->medium.at_end) {
	}
	if (!acked) {
		nvw__acks_clear(&r->medium.acks);
	}
	assert_ok(ct_parts_create(in_parts, r->oracle.plan, &r->medium, &parts));
	for (nvw_off off = NVW__ROOTS_OFF; off < r->medium.image.bytes; off += 8) {
		const uint64_t now = ct_image_word(&r->medium.image, off);
		uint64_t was;

		memcpy(&was, r->logged.bench.initial + off, sizeof was);
		if (was != now) {
			set_word(r, off, was);
			assert_ok(ct_parts_try(parts, NULL, NULL));
			const bool fails = rig_fails(r, &findings);

			different += fails != (ct_parts_troubles(parts, &trouble) > 0);
			*ret_failing += fails;
			set_word(r, off, now);
		}
	}
	ct_parts_free(parts);
	rig_end(r);
	return different;
}

/*
 * Whatever store is lost at the end of a sound run, whether its operations are acknowledged or not. No model
 * permits it, so no induction can rely on an order.
 */
TEST(what_is_lost_of_the_durable_is_seen_by_parts_as_by_the_whole_check)
{
	const struct nvw_workload *const silent = with(&nvw_workload_queue, check_nothing);
	unsigned failing = 0, unseen = 0;

	NVW_FOR(i, STRUCTURES) {
		NVW_FOR(seed, 8 * seeds()) {
			char text[OPTIONS_BYTES];
			const struct small small = random_run(&structures[i], 100 + seed, text);
			struct rig r;

			assert_true(rig_create(&r, &small, -1, seed, NULL));
			const unsigned different = different_losses(&r, small.workload, seed % 2, &failing);

			if (different > 0) {
				fail_msg("%s, seed %u: parts and check differ of %u words that are set back",
					small.workload->name, (unsigned)seed, different);
			}
			unseen += i == 0 ? different_losses(&r, silent, true, &(unsigned){0}) : 0;
			rig_destroy(&r);
		}
	}
	print_message("# %u lost words fail\n", failing);
	assert_true(failing > 0);
	assert_true(unseen > 0);
}

/* ---- Planted differences ---------------------------------------------------------------------- */

/* The queue's parts, with one that complains of nothing. */
CHECK_PART(check_that_cries)
{
	return part == 1 && nvw_pool_word(pool, nvw_pool_geometry(pool)->chunks) != 0 ?
		       nvw_violation(findings, 0, "something is stored") :
		       nvw_workload_queue.parts->check(plan, pool, acks, part, findings);
}

/* In one run after the other, until parts and check differ. */
static void see_difference(const struct nvw_workload *in_parts, enum ct_model model)
{
	struct rig_sum sum = {0};

	for (uint64_t seed = 1; seed <= 16 && sum.different == 0; seed++) {
		struct rig r;

		create_random(&r, &structures[0], seed);
		compare_run(&r, in_parts, model, &sum);
		rig_destroy(&r);
	}
	assert_true(sum.different > 0);
}

TEST(a_part_that_says_less_or_more_is_seen_under_every_model)
{
	for_each(model, models) {
		see_difference(with(&nvw_workload_queue, check_nothing), *model);
		see_difference(with(&nvw_workload_queue, check_that_cries), *model);
	}
}
