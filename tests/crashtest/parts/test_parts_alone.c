/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part looks at what it asks for alone: it answers the same whatever was tried before, in another order, in
 * another process.
 */
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/test.h"

#include "parts_runs.h"

enum { SAID_MAX = 1024 };

CHECK_PART(check_that_remembers)
{
	static unsigned calls;

	return part == 1 && nvw_pool_word(pool, nvw_pool_geometry(pool)->chunks) != 0 && ++calls % 2 == 0 ?
		       nvw_violation(findings, 0, "an even call") :
		       0;
}

CHECK_PART(check_that_peeks)
{
	const uint64_t *const words = nvw_pool_at(pool, nvw_pool_geometry(pool)->chunks, 8);

	return part == 1 && words[1] % 2 == 1 ? nvw_violation(findings, 0, "a word that was not asked for") :
						0;
}

/* The answers of all parts at all instants, as one number. anew: by parts that were never tried before. */
static uint64_t answers(
	struct rig *r, const struct nvw_workload *in_parts, enum ct_model model, uint64_t noise, bool anew)
{
	struct ct_parts *parts = NULL;
	uint64_t hash = 0;

	rig_begin(r, model);
	for (unsigned i = 0; rig_next(r) && i < INSTANTS;) {
		const struct ct_part_trouble *t;

		if (anew || parts == NULL) {
			ct_parts_free(parts);
			assert_ok(ct_parts_create(in_parts, r->oracle.plan, &r->medium, &parts));
			ct_parts_noise(parts, noise);
		}
		assert_ok(ct_parts_try(parts, NULL, NULL));
		for (uint64_t k = ct_parts_troubles(parts, &t); k-- > 0;) {
			hash = nvw_mix64(hash ^ nvw_mix64(t[k].part * 4 + t[k].verdict) ^
					 nvw_mix64(t[k].evaluation) ^ t[k].shape);
		}
		hash = nvw_mix64(hash);
		i++;
	}
	ct_parts_free(parts);
	rig_end(r);
	return hash;
}

TEST(parts_look_at_what_they_ask_for_alone)
{
	static const struct {
		unsigned run;
		const char *bug;
	} of[] = {{0, "commit-before-record"}, {2, "commit-before-result"}};
	struct rig r;

	NVW_FOR(i, 4) {
		const enum ct_model model = i < 2 ? CT_MODEL_EPOCH : CT_MODEL_BUFFERED;

		rig_with_bug(&r, &runs[of[i % 2].run], of[i % 2].bug);
		assert_true(answers(&r, r.subject.workload, model, 0, false) ==
			    answers(&r, r.subject.workload, model, 99, false));
		rig_destroy(&r);
	}
	rig_with_bug(&r, &runs[0], of[0].bug);
	assert_true(answers(&r, with(&nvw_workload_queue, check_that_peeks), CT_MODEL_EPOCH, 0, false) !=
		    answers(&r, with(&nvw_workload_queue, check_that_peeks), CT_MODEL_EPOCH, 99, false));
	rig_destroy(&r);
}

TEST(parts_do_not_depend_on_what_was_tried_before)
{
	struct rig r;

	for (unsigned i = 0; i < RUNS; i += 2) {
		const enum ct_model model = i % 4 == 0 ? CT_MODEL_EPOCH : CT_MODEL_BUFFERED;

		assert_true(rig_create(&r, &runs[i], 0, 1, NULL));
		assert_true(answers(&r, r.subject.workload, model, 0, false) ==
			    answers(&r, r.subject.workload, model, 0, true));
		rig_destroy(&r);
	}
	assert_true(rig_create(&r, &runs[0], 0, 1, NULL));
	assert_true(answers(&r, with(&nvw_workload_queue, check_that_remembers), CT_MODEL_EPOCH, 0, false) !=
		    answers(&r, with(&nvw_workload_queue, check_that_remembers), CT_MODEL_EPOCH, 0, true));
	rig_destroy(&r);
}

/*
 * Parts under buffered epoch persistency, with an order of so many bytes: what they say at each instant, 0:
 * nothing, since there is a crowd. The number of instants.
 */
static unsigned say(struct rig *r, uint64_t bytes, uint64_t ret_said[SAID_MAX])
{
	const struct ct_part_trouble *t;
	struct ct_parts *parts = NULL;
	unsigned n = 0;

	for (rig_begin(r, CT_MODEL_BUFFERED); rig_next(r) && n < SAID_MAX; n++) {
		if (parts == NULL) {
			assert_ok(ct_parts_create(r->subject.workload, r->oracle.plan, &r->medium, &parts));
			ct_parts_crowd_beyond(parts, bytes);
		}
		assert_ok(ct_parts_try(parts, NULL, NULL));
		ret_said[n] = ct_parts_crowd(parts) > 0 ? 0 : 1;
		for (uint64_t k = ct_parts_troubles(parts, &t); ret_said[n] != 0 && k-- > 0;) {
			ret_said[n] = nvw_mix64(ret_said[n] + 4 * t[k].part + t[k].verdict) | 1;
		}
	}
	ct_parts_free(parts);
	rig_end(r);
	return n;
}

/* Counts the instants after a crowd that have troubles. */
static unsigned troubles_after_a_crowd(const uint64_t *all, const uint64_t *bounded, unsigned n)
{
	unsigned crowds = 0, after = 0;

	NVW_FOR(i, n) {
		assert_true(all[i] != 0);
		assert_true(bounded[i] == 0 || bounded[i] == all[i]);
		crowds += bounded[i] == 0;
		after += crowds > 0 && bounded[i] != 0 && all[i] != 1;
	}
	return after;
}

/* A small kernel after a large one, so that a crowd ends. What was to be tried in it is tried after it. */
TEST(after_a_crowd_of_stores_parts_say_what_they_would_have_said)
{
	static const struct small run = {
		&nvw_workload_kv, "count=62 batch=60 slots=64 group-size=8 records=40"};
	static uint64_t all[SAID_MAX], bounded[SAID_MAX];
	unsigned after = 0;

	NVW_FOR(mutation, 6) {
		struct rig r;

		if (!rig_create(&r, &run, mutation, 1, NULL)) {
			continue;
		}
		const unsigned n = say(&r, 0, all);

		for (uint64_t bytes = 250; bytes <= 16000; bytes *= 2) {
			assert_int_equal(say(&r, bytes, bounded), n);
			after += troubles_after_a_crowd(all, bounded, n);
		}
		rig_destroy(&r);
	}
	print_message("# %u instants with troubles after a crowd\n", after);
	assert_true(after > 0);
}

enum { ANSWERS_MAX = 400, EVALUATIONS_MAX = 32 };

/* What a part answers in its evaluations, as one number. */
static uint64_t answer_of(struct ct_parts *parts, uint64_t part, unsigned *levels)
{
	static struct nvw_findings said;
	uint64_t hash = 1;

	for (unsigned n = 0; n < EVALUATIONS_MAX && ct_parts_remake(parts, part, n, &said, levels); n++) {
		hash = nvw_mix64(hash + said.count);
		for (const char *c = said.count > 0 ? said.finding[0].text : ""; *c != '\0'; c++) {
			hash = nvw_mix64(hash + (unsigned char)*c);
		}
	}
	return hash;
}

/* Some parts at one instant, up to the last one. */
struct asked {
	struct rig *rig;
	const struct nvw_workload *in_parts;
	uint64_t total, count;
};

static struct ct_parts *make_parts(const struct asked *a)
{
	struct ct_parts *parts;

	assert_ok(ct_parts_create(a->in_parts, a->rig->oracle.plan, &a->rig->medium, &parts));
	return parts;
}

static uint64_t part_of(const struct asked *a, uint64_t i)
{
	return (i + 1) * a->total / a->count - 1;
}

static void answer_in_order(const struct asked *a, bool descending, uint64_t ret_answers[ANSWERS_MAX])
{
	struct ct_parts *const parts = make_parts(a);

	NVW_FOR(n, a->count) {
		const uint64_t i = descending ? a->count - 1 - n : n;

		ret_answers[i] = answer_of(parts, part_of(a, i), a->rig->levels);
	}
	ct_parts_free(parts);
}

static void answer_alone(const struct asked *a, uint64_t ret_answers[ANSWERS_MAX])
{
	NVW_FOR(i, a->count) {
		struct ct_parts *const parts = make_parts(a);

		ret_answers[i] = answer_of(parts, part_of(a, i), a->rig->levels);
		ct_parts_free(parts);
	}
}

/* In a process that has not asked a part before. */
static void answer_elsewhere(const struct asked *a, uint64_t ret_answers[ANSWERS_MAX])
{
	const size_t bytes = a->count * sizeof *ret_answers;
	size_t had = 0;
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		answer_in_order(a, true, ret_answers);
		_exit(write(ends[1], ret_answers, bytes) != (ssize_t)bytes);
	}
	close(ends[1]);
	for (ssize_t n = 1; n > 0 && had < bytes; had += (size_t)n) {
		n = read(ends[0], (char *)ret_answers + had, bytes - had);
		assert_true(n > 0);
	}
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* How many of the ways of asking give other answers: in another process, in the other order, alone. */
static unsigned ways_that_differ(struct rig *r, const struct nvw_workload *in_parts, enum ct_model model)
{
	static uint64_t elsewhere[ANSWERS_MAX], ascending[ANSWERS_MAX], descending[ANSWERS_MAX],
		alone[ANSWERS_MAX];
	struct asked a = {.rig = r, .in_parts = in_parts};

	rig_begin(r, model);
	NVW_FOR(i, 3) {
		assert_true(rig_next(r));
	}
	struct ct_parts *const parts = make_parts(&a);

	a.total = ct_parts_count(parts)->parts;
	a.count = a.total < ANSWERS_MAX ? a.total : ANSWERS_MAX;
	ct_parts_free(parts);
	answer_elsewhere(&a, elsewhere);
	answer_in_order(&a, false, ascending);
	answer_in_order(&a, true, descending);
	answer_alone(&a, alone);
	rig_end(r);

	const size_t bytes = a.count * sizeof *alone;

	return (memcmp(ascending, elsewhere, bytes) != 0) + (memcmp(ascending, descending, bytes) != 0) +
	       (memcmp(ascending, alone, bytes) != 0);
}

/* A part that says nothing at first. */
CHECK_PART(check_that_tires)
{
	static unsigned calls;

	return ++calls > 8 ? nvw_violation(findings, 0, "too many calls") : 0;
}

TEST(parts_answer_the_same_alone_in_another_order_and_in_another_process)
{
	static const enum ct_model some[] = {CT_MODEL_EPOCH, CT_MODEL_STRICT, CT_MODEL_BUFFERED};
	struct rig r;

	NVW_FOR(i, RUNS) {
		assert_true(rig_create(&r, &runs[i], i == TUTORIAL ? -1 : 0, 1, NULL));
		assert_int_equal(ways_that_differ(&r, r.subject.workload, some[i % 3]), 0);
		rig_destroy(&r);
	}
	assert_true(rig_create(&r, &runs[0], 0, 1, NULL));
	assert_int_equal(
		ways_that_differ(&r, with(&nvw_workload_queue, check_that_tires), CT_MODEL_EPOCH), 3);
	rig_destroy(&r);
}
