/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A check in parts says what the whole check says. On small runs of the shipped structures, as they are and
 * with each seeded bug, states are judged twice: by the real recovery and the whole check, and by the parts.
 * Whatever is compared, a planted opposite shows that a difference would be seen.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"

#include "core/stop.h"
#include "crashtest/group.h"
#include "parts_runs.h"

static const enum ct_model models[] = {
	CT_MODEL_EPOCH, CT_MODEL_STRICT, CT_MODEL_OBSERVED, CT_MODEL_EADR, CT_MODEL_BUFFERED};
enum { MODELS = NVW_COUNT(models) };

/*
 * ---- Against the whole check ------------------------------------------------------------------------------
 */

/* Number of this instant's sampled states about which parts and whole check differ. */
static unsigned different_states(struct rig *r, struct ct_parts *parts, bool *ret_some_fail)
{
	static struct nvw_findings findings;
	bool fails[STATES];
	struct rig_states states;
	unsigned different = 0;

	rig_states_create(r, parts, STATES, &states);
	NVW_FOR(i, STATES) {
		rig_choose(r, i);
		rig_states_set(&states, i);
		fails[i] = rig_fails(r, &findings);
		r->failed += fails[i];
		*ret_some_fail = *ret_some_fail || fails[i];
	}
	rig_states_try(&states);
	NVW_FOR(i, STATES) {
		different += states.part_fails[i] != fails[i];
	}
	different += states.uneven > 0;
	rig_states_free(&states);
	return different;
}

/* Number of states of this run about which parts and whole check differ. */
static unsigned differences(struct rig *r, const struct nvw_workload *in_parts, enum ct_model model)
{
	static struct nvw_findings findings;
	unsigned different = 0, instants = 0;
	struct ct_parts *parts;

	rig_begin(r, model);
	assert_ok(ct_parts_create(in_parts, r->oracle.plan, &r->medium, &parts));
	assert_non_null(parts);
	while (rig_next(r)) {
		const struct ct_part_trouble *trouble;
		bool some_fail = false;

		assert_ok(ct_parts_try(parts, NULL, NULL));
		const uint64_t troubles = ct_parts_troubles(parts, &trouble);

		if (instants < INSTANTS) {
			different += different_states(r, parts, &some_fail);
		}
		different += some_fail && troubles == 0;
		for (uint64_t i = 0; i < troubles && i < 4; i++) {
			static struct nvw_findings said;

			assert_true(ct_parts_remake(
				parts, trouble[i].part, trouble[i].evaluation, &said, r->levels));
			different += trouble[i].verdict == CT_PART_FAILS && !rig_fails(r, &findings);
		}
		instants++;
	}
	ct_parts_free(parts);
	rig_end(r);
	return different;
}

TEST(parts_fail_in_the_states_in_which_the_whole_check_fails)
{
	unsigned failed = 0;

	NVW_FOR(i, RUNS) {
		const struct nvw_workload *const w = runs[i].workload;

		for (int mutation = -1; mutation < 0 || w->mutations[mutation].name != NULL; mutation++) {
			struct rig r;

			if (!rig_create(&r, &runs[i], mutation, 1, NULL)) {
				continue;
			}
			const enum ct_model model = models[(unsigned)(mutation + 1) % MODELS];
			const unsigned different = differences(&r, w, model);

			if (different > 0) {
				fail_msg("run %u: %s, mutation %s, %s: parts and check differ in %u states",
					i, w->name, mutation < 0 ? "none" : w->mutations[mutation].name,
					ct_model_info(model)->name, different);
			}
			failed += r.failed;
			rig_destroy(&r);
		}
	}
	assert_in_range(failed, 10 * STATES, UINT32_MAX);
}

/*
 * The parts of the queue, one kind of which says nothing; of which one remembers; which looks where it did
 * not ask.
 */
CHECK_PART(check_without_messages)
{
	return part > 8 && part <= 8 + 24 ? 0 :
					    nvw_workload_queue.parts->check(plan, pool, acks, part, findings);
}

CHECK_PART(check_that_cries)
{
	return part == 1 && nvw_pool_word(pool, nvw_pool_geometry(pool)->chunks) != 0 ?
		       nvw_violation(findings, 0, "slot 0 has changed") :
		       0;
}

TEST(a_part_that_is_left_out_is_missed)
{
	struct rig r;

	rig_with_bug(&r, &runs[0], "ack-before-barrier");
	assert_int_equal(differences(&r, &nvw_workload_queue, CT_MODEL_EPOCH), 0);
	assert_true(differences(&r, with(&nvw_workload_queue, check_without_messages), CT_MODEL_EPOCH) > 0);
	rig_destroy(&r);
}

TEST(a_part_that_fails_without_reason_is_seen)
{
	struct rig r;

	assert_true(rig_create(&r, &runs[0], -1, 1, NULL));
	assert_true(differences(&r, with(&nvw_workload_queue, check_that_cries), CT_MODEL_EPOCH) > 0);
	rig_destroy(&r);
}

/* ---- The explorer ----------------------------------------------------------------------------- */

static struct ct_result explore(struct rig *r, const struct nvw_workload *w, unsigned jobs)
{
	r->subject.workload = w;
	return *rig_explore(r, (struct ct_options){.model = CT_MODEL_EPOCH, .states = 300, .jobs = jobs});
}

TEST(a_sound_structure_is_accounted_for_by_any_number_of_jobs)
{
	struct rig r;

	for (unsigned i = 0; i < RUNS; i += 2) {
		assert_true(rig_create(&r, &runs[i], -1, 1, NULL));
		for (unsigned jobs = 1; jobs <= 3; jobs += 2) {
			const struct ct_result result = explore(&r, runs[i].workload, jobs);

			assert_true(result.consistent);
			assert_int_equal(result.instants_by_parts, result.instants);
			assert_int_equal(result.instants_exhausted, result.instants);
		}
		rig_destroy(&r);
	}
}

/*
 * ---- In pieces --------------------------------------------------------------------------------------------
 */

/*
 * What a result says: how many instants are accounted for, and the findings, whose texts may differ in
 * numbers.
 */
struct said {
	uint64_t instants, by_parts, exhausted, findings;
	char texts[CT_FINDINGS_MAX][CT_TEXT_BYTES];
};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_said(struct said *to, const struct ct_result *r)
{
	to->instants += r->instants;
	to->by_parts += r->instants_by_parts;
	to->exhausted += r->instants_exhausted;
	NVW_EACH(finding, r->finding, r->finding_count) {
		char shape[CT_TEXT_BYTES] = "";

		ct_shape(finding->text, shape);
		if (!NVW_ANY(said, to->texts, to->findings, strcmp(*said, shape) == 0)) {
			memset(to->texts[to->findings], 0, CT_TEXT_BYTES);
			strcpy(to->texts[to->findings++], shape);
		}
	}
	qsort(to->texts, to->findings, CT_TEXT_BYTES, by_text);
}

static bool is_stopped_once;

/* As a signal in the middle. */
static void stop_in_the_middle(void *context, const struct ct_progress *p)
{
	if (!is_stopped_once && strcmp(p->what, "exploring instants") == 0 && p->done > 0) {
		is_stopped_once = true;
		nvw_stop_note(SIGINT);
	}
}

static bool explore_piece(struct rig *r, struct ct_options options, struct said *said)
{
	options.model = CT_MODEL_EPOCH;
	options.states = 300;
	options.unexplained = true;
	const struct ct_result *const result = rig_explore(r, options);

	if (!result->interrupted) {
		add_said(said, result);
	}
	return !result->interrupted;
}

/*
 * A sound run and a broken one: all at once, by three processes, in three shards, and with an interruption.
 */
TEST(pieces_together_say_what_the_whole_says)
{
	static struct said whole, jobs, shards, resumed;
	char path[64];

	snprintf(path, sizeof path, "/tmp/nvwave-parts-%d", (int)getpid());
	for (int mutation = -1; mutation < 1; mutation++) {
		struct rig r;

		memset(&whole, 0, sizeof whole);
		jobs = shards = resumed = whole;
		assert_true(rig_create(&r, &runs[4], mutation, 1, NULL));
		explore_piece(&r, (struct ct_options){.jobs = 1}, &whole);
		explore_piece(&r, (struct ct_options){.jobs = 3}, &jobs);
		assert_memory_equal(&whole, &jobs, sizeof whole);
		for (unsigned i = 1; i <= 3; i++) {
			explore_piece(&r, (struct ct_options){.shard = i, .shards = 3}, &shards);
		}
		assert_memory_equal(&whole, &shards, sizeof whole);
		is_stopped_once = false;
		const struct ct_options stopped = {.resume = path, .progress = stop_in_the_middle};

		const bool is_whole = explore_piece(&r, stopped, &resumed);

		nvw__stop_signal = 0; /* it may have come after the last instant */
		if (is_whole) {
			print_message("# the exploration was too quick to be interrupted\n");
		} else {
			assert_true(explore_piece(&r, stopped, &resumed));
		}
		assert_memory_equal(&whole, &resumed, sizeof whole);
		assert_true(mutation < 0 ? whole.findings == 0 && whole.by_parts == whole.instants :
					   whole.findings > 0);
		rig_destroy(&r);
	}
}

/* A workload outside of the tree, whose few lines for parts docs/tutorial.md shows. */
TEST(the_tutorial_s_queue_is_accounted_for_and_its_bug_is_found)
{
	struct rig r;

	assert_true(rig_create(&r, &runs[TUTORIAL], -1, 1, NULL));
	const struct ct_result sound = explore(&r, &nvw_workload, 1);

	assert_true(ct_covers_all(&sound) && sound.consistent);
	assert_int_equal(sound.instants_by_parts, sound.instants);
	rig_destroy(&r);

	rig_with_bug(&r, &runs[TUTORIAL], "forget-barrier");
	assert_int_equal(differences(&r, &nvw_workload, CT_MODEL_EPOCH), 0);
	assert_true(r.failed > 0);
	const struct ct_result broken = explore(&r, &nvw_workload, 1);

	assert_false(broken.consistent);
	assert_int_equal(broken.by_parts.missed + broken.by_parts.denied + broken.by_parts.wide, 0);
	assert_true(differences(&r, with(&nvw_workload, check_nothing), CT_MODEL_EPOCH) > 0);
	rig_destroy(&r);
}

/* States that confirm a part that fails are tested besides the budget, and counted apart. */
TEST(confirmations_are_counted_apart_from_the_budget)
{
	enum { BUDGET = 50 };
	struct rig r;

	assert_true(rig_create(&r, &runs[0], 0, 1, NULL));
	NVW_FOR(whole, 2) {
		const struct ct_result *const result =
			rig_explore(&r, (struct ct_options){.model = CT_MODEL_BUFFERED,
						.states = BUDGET,
						.whole = whole,
						.unexplained = true});

		assert_false(result->consistent);
		print_message("# %u states, %u of them confirmations\n", (unsigned)result->states_distinct,
			(unsigned)result->by_parts.confirmations);
		assert_true((result->by_parts.confirmations > 0) == !whole);
		assert_true(result->states_tested - result->by_parts.confirmations <= BUDGET);
		assert_true(whole || result->states_distinct > BUDGET); /* or the test shows nothing */
	}
	rig_destroy(&r);
}

TEST(what_the_check_does_not_confirm_is_no_finding)
{
	struct rig r;

	assert_true(rig_create(&r, &runs[0], -1, 1, NULL));
	const struct ct_result result = explore(&r, with(&nvw_workload_queue, check_that_cries), 1);

	assert_true(result.consistent);
	assert_true(result.by_parts.denied > 0);
	assert_true(result.instants_exhausted < result.instants);
	rig_destroy(&r);
}
