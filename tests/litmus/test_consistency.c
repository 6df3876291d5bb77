/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The consistency models of hechtman14 3.3 over the protocols with ownership: what each lets be seen, and
 * what it never does.
 */
#include "common/test.h"

#include <stdio.h>
#include <string.h>
#include <emu.h>

#include "common/skip.h"
#include "litmus_rig.h"

enum { MODELS = 4, SCHEDULES = 80, SEARCH = 3000 };
enum { SC_SIMPLE = 1, SC_WB = 2, TSO = 4, RMO = 8 };

static const char *const models[MODELS] = {
	"gpu.consistency=sc-simple", "gpu.consistency=sc-wb", "gpu.consistency=tso", "gpu.consistency=rmo"};
static const char *const protocols[] = {"mttop-wb", "rfo"};

static struct litmus_report report;

/*
 * The outcomes of litmus/tests/consistency.litmus, and the models that show them: from the models'
 * definitions.
 */
static const struct {
	const char *test;
	unsigned seen;
} table[] = {
	{"sb/sc", TSO | RMO},
	{"sb/tso", TSO | RMO},
	{"sb/tso-fences", 0},
	{"sb/tso-own-store", 0},
	{"sb/tso-exchange", 0},
	{"mp/tso", RMO},
	{"mp/rmo", RMO},
	{"mp/rmo-fences", 0},
	{"lb/tso", 0},
	{"lb/rmo", RMO},
	{"lb/rmo-fences", 0},
	{"lb/rmo-own-store", 0},
	{"2+2w/tso", RMO},
	{"2+2w/rmo", RMO},
	{"s/tso", RMO},
	{"r/tso", TSO | RMO},
	{"iriw/tso", 0},
	{"iriw/rmo-fences", 0},
	{"corr/rmo", 0},
	{"coww/rmo", 0},
};

static bool is_seen(const struct litmus_test *test, const char *protocol, unsigned model, uint64_t schedules)
{
	const char *const settings[] = {models[model], NULL};
	const struct litmus_options options = {.protocol = protocol,
		.schedules = schedules,
		.seed = 1,
		.settings = settings,
		.stop_when_seen = true};

	assert_ok(litmus_run_visibility(test, &options, &report));
	assert_false(litmus_has_failed(&report));
	return report.seen;
}

static void expect_under(const char *protocol)
{
	struct litmus_list list = shipped("consistency.litmus");

	assert_int_equal(list.count, NVW_COUNT(table));
	NVW_FOR(i, list.count) {
		assert_string_equal(list.test[i].name, table[i].test);
		NVW_FOR(model, MODELS) {
			const bool expected = table[i].seen >> model & 1;

			if (is_seen(&list.test[i], protocol, model, expected ? SEARCH : SCHEDULES) !=
				expected) {
				fail_msg("%s under %s, %s: %s", table[i].test, protocol, models[model],
					expected ? "never seen" : report.witness);
			}
		}
	}
	litmus_list_free(&list);
}

TEST(each_model_shows_its_outcomes_and_no_other_under_mttop_wb)
{
	expect_under("mttop-wb");
}

TEST(each_model_shows_its_outcomes_and_no_other_under_rfo)
{
	expect_under("rfo");
}

TEST(a_model_claims_what_weaker_ones_claim)
{
	static const char *const names[] = {"SC", "x86-TSO", "RMO"};
	static const unsigned claimed[] = {
		SC_SIMPLE | SC_WB, SC_SIMPLE | SC_WB | TSO, SC_SIMPLE | SC_WB | TSO | RMO};
	const char *why;

	NVW_FOR(n, 3) {
		struct litmus_test test = {0};

		snprintf(test.model, sizeof test.model, "%s", names[n]);
		NVW_FOR(model, MODELS) {
			const char *const settings[] = {models[model], NULL};

			assert_int_equal(
				litmus_claimed(&test, "rfo", settings, &why), claimed[n] >> model & 1);
		}
		assert_false(litmus_claimed(&test, "rfo", NULL, &why));
	}
}

/* The public x86-TSO tests bind under sc-* and tso. */
TEST(public_tests_of_x86_tso_show_nothing_forbidden)
{
	const char *const path = shared_data("litmus/litmus.tsv");
	struct litmus_list list = {0};
	unsigned ran = 0;

	if (!path) {
		skip_test("the public litmus tests are not there");
	}
	assert_ok(litmus_load(path, &list));
	NVW_FOR(i, list.count) {
		for (unsigned model = 0; model < MODELS - 1 && !strcmp(list.test[i].model, "x86-TSO");
			model++) {
			const char *const settings[] = {models[model], NULL};
			const struct litmus_options options = {.protocol = protocols[i % 2],
				.schedules = 16,
				.seed = 1,
				.settings = settings};

			assert_ok(litmus_run_visibility(&list.test[i], &options, &report));
			assert_true(report.is_claimed);
			if (litmus_has_failed(&report)) {
				fail_msg("%s under %s: %s", list.test[i].name, models[model], report.witness);
			}
			ran++;
		}
	}
	assert_true(ran >= 3 * 8);
	litmus_list_free(&list);
}

TEST(random_programs_are_right_under_every_model)
{
	NVW_FOR(i, 2 * MODELS) {
		const char *const settings[] = {models[i / 2], NULL};

		expect_right(&(struct torture_options){.protocol = protocols[i % 2],
			.seed = 1 + 100 * i,
			.programs = 6,
			.settings = settings});
	}
}

TEST(a_protocol_without_ownership_is_refused)
{
	const char *const settings[] = {models[2], NULL};
	const struct litmus_options options = {
		.protocol = "vi", .schedules = 1, .seed = 1, .settings = settings};
	struct litmus_list list = shipped("consistency.litmus");

	assert_true(litmus_run_visibility(&list.test[0], &options, &report) < 0);
	assert_error_has("(rfo, mttop-wb), or to be none; found vi");
	litmus_list_free(&list);
}
