/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many different states a run can leave: the number against a list of them, of small random runs; and
 * runs whose states are too many to list.
 */
#include "random_runs.h"

#include <math.h>
#include <unistd.h>

#include <crashtest/states/distinct.h>
#include <crashtest/states/states.h>

/* ---- How many ------------------------------------------------------------------------------------ */

enum { KEYS_MAX = 1 << 17 };

static void note_all(struct ct_medium *m, uint64_t *key, uint64_t *count)
{
	unsigned levels[STORES_MAX + 1];
	struct ct_walk walk = {0};

	NVW_FOR(i, ct_states_numbers(m)) {
		if (ct_states_by_number(m, &walk, i, levels)) {
			assert_true(*count < KEYS_MAX);
			ct_medium_apply(m, levels);
			key[(*count)++] = ct_medium_key(m);
			ct_medium_undo(m);
		}
	}
	ct_walk_end(&walk);
}

struct counted {
	struct ct_distinct distinct;
	double states;
	bool exact;
};

static void note_host(void *context, const struct ct_medium *m, const struct nvw_log_record *r)
{
	struct counted *const counted = context;

	for (unsigned i = 0; i < 2 && r->kind == NVW_LOG_HOST; i++) {
		assert_ok(ct_distinct_host(&counted[i].distinct, m, r));
	}
}

static void count_instant(struct ct_medium *m, struct counted *c)
{
	struct ct_count n;

	assert_int_equal(ct_states_count(m, &n), 0);
	assert_true(n.exact);
	assert_int_equal(ct_distinct_count(&c->distinct, m, &n), 0);
	c->states += exp2(n.log2) - (n.old_log2 < 0 ? 0 : exp2(n.old_log2));
	c->exact = c->exact && n.exact;
}

/* By listing them, and, if it has no time for that, by the contents of words. */
static unsigned count_run(const struct history *kind, enum ct_model model, uint64_t seed)
{
	static const uint8_t initial[POOL_BYTES];
	static uint64_t key[KEYS_MAX];
	const struct ct_rules rules = {.model = model, .unit_bytes = 8};
	struct counted counted[2] = {{.exact = true}, {.distinct = {.steps = UINT32_MAX}, .exact = true}};
	static struct history h;
	const int fd = make_run_of(seed, kind, &h);
	struct ct_medium m;
	uint64_t count = 0;

	assert_ok(ct_medium_create(fd, initial, POOL_BYTES, 0, &rules, &m));
	m.seen = note_host;
	m.context = counted;
	while (ct_medium_next(&m) == 1) {
		note_all(&m, key, &count);
		count_instant(&m, &counted[0]);
		count_instant(&m, &counted[1]);
	}
	ct_medium_destroy(&m);
	close(fd);
	const uint64_t different = sort_into_set(key, count);

	assert_true(counted[0].exact);
	NVW_FOR(i, 2) {
		const uint64_t states = (uint64_t)round(counted[i].states);

		if (counted[i].exact ? states != different : states < different) {
			fail_msg("%s, seed %llu: %llu states by %s, there are %llu",
				ct_model_info(model)->name, (unsigned long long)seed,
				(unsigned long long)states, i ? "contents" : "a list",
				(unsigned long long)different);
		}
		ct_distinct_free(&counted[i].distinct);
	}
	return counted[1].exact;
}

TEST(a_number_of_states_counts_each_once)
{
	static const enum ct_model models[] = {
		CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_EADR, CT_MODEL_BUFFERED};

	NVW_FOR(i, 4) {
		unsigned exact = 0;

		for (uint64_t seed = 1; seed <= 4 * RUNS; seed++) {
			exact += count_run(&(const struct history){.small = seed & 1, .hosted = seed & 2},
				models[i], seed);
		}
		/*
		 * Contents say nothing of the order of buffered epochs, and nothing is uncertain under eadr.
		 */
		assert_true(i < 2 ? exact > RUNS / 4 : exact == 0);
	}
}

/* ---- Too many ------------------------------------------------------------------------------------ */

enum { MANY = 80 };

/* Two halves of a word, each of which any number of stores has reached: 41 times 41 contents. */
TEST(a_word_with_too_many_versions_is_never_exhausted)
{
	static const uint8_t initial[POOL_BYTES];
	static const enum ct_model models[] = {CT_MODEL_EPOCH, CT_MODEL_BUFFERED};
	struct memory_log log = begin_log("many", POOL_BYTES);

	log_sites(&log, 1, 7, "r.c");
	log_launch(&log, 1, 2, 2);
	NVW_FOR(i, MANY) {
		log_append(&log, (struct nvw_log_record){.kind = NVW_LOG_STORE,
					 .store = {.site = 1,
						 .kernel = 1,
						 .work_item = i % 2,
						 .bytes = 4,
						 .off = 64 + 4 * (i % 2),
						 .value = 1 + i}});
	}
	const int fd = log_end(&log);

	NVW_EACH(model, models, 2) {
		const struct ct_rules rules = {.model = *model};
		struct nvw_random r = {7};
		struct ct_count count;
		struct ct_medium m;
		unsigned level = 0;

		assert_ok(ct_medium_create(fd, initial, POOL_BYTES, 0, &rules, &m));
		assert_int_equal(ct_medium_next(&m), 1);
		assert_int_equal(ct_states_count(&m, &count), 0);
		assert_int_equal(count.fresh, CT_COUNT_MANY);
		assert_false(count.exact);
		assert_true(exp2(count.log2) >= 41 * 41);
		NVW_FOR(k, 1000) {
			ct_states_sample(&m, &r, &level);
			ct_medium_apply(&m, &level);
			const uint64_t word = ct_image_word(&m.image, 64);

			ct_medium_undo(&m);
			assert_true((uint32_t)word <= MANY && (word >> 32) <= MANY);
			assert_true((uint32_t)word == 0 || (uint32_t)word % 2 == 1);
			assert_int_equal((word >> 32) % 2, 0);
		}
		ct_medium_destroy(&m);
	}
	close(fd);
}
