/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outcomes over NVRAM: what gope18's equations forbid is never left by a crash, what they allow is, narrower
 * barriers show.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"

#include "common/skip.h"
#include "litmus_rig.h"

static struct litmus_report report;
static struct litmus_list tests;

static int load(void **state)
{
	if (!access("/dev/shm", W_OK)) {
		setenv("TMPDIR", "/dev/shm", 0); /* hundreds of pools */
	}
	tests = shipped("persist");
	return 0;
}

static int unload(void **state)
{
	litmus_list_free(&tests);
	return 0;
}

static void run(
	const struct litmus_test *test, enum litmus_persistency p, const struct litmus_options *options)
{
	if (litmus_run_persist(test, p, options, &report)) {
		fail_msg("%s: %s", test->name, nvw_error_message());
	}
}

TEST(every_test_gives_its_verdict_under_the_models_that_it_names)
{
	unsigned verdicts = 0;

	assert_true(tests.count >= 40);
	NVW_EACH(test, tests.test, tests.count) {
		NVW_FOR(p, LITMUS_PERSISTENCY_COUNT) {
			const enum litmus_verdict said = test->under[p];
			const struct litmus_options options = {.protocol = "vi",
				.schedules = said == LITMUS_ALLOWED ? 20 : 3 / one_in(3),
				.seed = 1,
				.stop_when_seen = true};

			if (!said) {
				continue;
			}
			run(test, p, &options);
			verdicts++;
			if (strcmp(litmus_report_verdict(&report),
				    said == LITMUS_FORBIDDEN ? "ok" : "allowed, seen")) {
				fail_msg("%s under %s: %s (%s)", test->name, litmus_persistency_name(p),
					litmus_report_verdict(&report), report.witness);
			}
		}
	}
	assert_true(verdicts >= 100);
}

static const struct litmus_test *find(const char *name)
{
	NVW_EACH(test, tests.test, tests.count) {
		if (!strcmp(test->name, name)) {
			return test;
		}
	}
	fail_msg("there is no test %s", name);
	return NULL;
}

/* A machine whose barriers have a narrower scope than was asked for breaks the equation of the wider one. */
TEST(barriers_of_too_narrow_a_scope_show)
{
	static const struct {
		const char *name;
		unsigned narrower;
	} table[] = {
		{"persist/wi-orders-own-stores", 1},
		{"persist/wi-is-transitive", 1},
		{"persist/wi-of-the-producer", 1},
		{"persist/wg-orders-own-stores", 2},
		{"persist/wg-orders-others-of-the-group", 1},
		{"persist/wg-orders-both-ways", 1},
		{"persist/wg-figure-4", 2},
		{"persist/kr-orders-other-groups", 1},
		{"persist/kr-orders-three-groups", 1},
		{"persist/kr-orders-within-a-group", 2},
		{"persist/same-word-does-not-go-back", 1},
		{"persist/counter-never-ahead-of-its-data", 1},
	};

	for_each(row, table) {
		const struct litmus_options options = {
			.protocol = "vi", .narrower = row->narrower, .stop_when_seen = true};

		run(find(row->name), LITMUS_EPOCH, &options);
		if (!litmus_has_failed(&report)) {
			fail_msg("%s does not notice barriers that are narrower by %u", row->name,
				row->narrower);
		}
	}
}

TEST(the_equations_hold_under_every_family_of_protocols)
{
	static const char *const protocols[] = {
		"gd", "rsp", "denovo-b", "dd", "hlrc", "no-l1", "wt", "quickrelease"};
	static const char *const names[] = {"persist/wi-of-the-producer-agent", "persist/wg-orders-both-ways",
		"persist/kr-orders-other-groups"};

	for_each(protocol, protocols) {
		for_each(name, names) {
			const struct litmus_options options = {
				.protocol = *protocol, .schedules = 3 / one_in(3), .seed = 1};

			run(find(*name), LITMUS_EPOCH, &options);
			assert_string_equal(litmus_report_verdict(&report), "ok");
			assert_true(report.states > 0);
		}
	}
}

GROUP(load, unload);
