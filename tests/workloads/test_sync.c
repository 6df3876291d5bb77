/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sinclair15's synchronization benchmarks on the emulated machine: they are right under every protocol, and
 * what they verify notices every seeded bug.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <emu.h>
#include <nvw/workload.h>

#include "check/check.h"
#include "core/options.h"

extern const struct nvw_workload nvw_workload_mutex, nvw_workload_semaphore, nvw_workload_tree_barrier,
	nvw_workload_uts;

static const struct nvw_workload *const workloads[] = {
	&nvw_workload_mutex, &nvw_workload_semaphore, &nvw_workload_tree_barrier, &nvw_workload_uts};

static const char *const protocols[] = {"vi", "gd", "gh"};

enum {
	WORKLOADS = sizeof(workloads) / sizeof(*workloads),
	PROTOCOLS = sizeof(protocols) / sizeof(*protocols)
};

struct setting {
	const char *protocol;
	uint64_t cus, seed;
	int mutation;
};

/* Options as "name=value ...". */
static struct nvw_options *parse(const struct nvw_workload *w, const char *text)
{
	struct nvw_options *options = NULL;
	char copy[256], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	assert_int_equal(nvw__options_create(w->options, &options), 0);
	while ((word = strsep(&rest, " ")) != NULL) {
		char *const value = strchr(word, '=');

		if (value != NULL) {
			*value = 0;
			assert_int_equal(nvw__options_set(options, word, value + 1), 0);
		}
	}
	return options;
}

static int run_on(
	const struct nvw_workload *w, void *plan, const struct setting *s, struct nvw_findings *findings)
{
	struct nvw_machine *machine = NULL;
	struct emu_config config;
	char cus[32];
	int error;

	emu_config_default(&config);
	assert_int_equal(emu_config_load(&config, "sinclair15"), 0);
	snprintf(cus, sizeof(cus), "gpu.cus=%u", (unsigned)s->cus);
	assert_int_equal(emu_config_set(&config, cus), 0);
	snprintf(config.protocol, sizeof(config.protocol), "%s", s->protocol);
	config.seed = s->seed;
	assert_int_equal(emu_create(&config, NULL, NULL, &machine), 0);
	error = w->run(plan, machine);
	error = error ? error : w->verify(plan, machine, findings);
	emu_destroy(machine);
	return error;
}

/* What prepare, run or verify said. */
static int run(const struct nvw_workload *w, const char *text, const struct setting *s,
	struct nvw_findings *ret_findings)
{
	struct nvw_options *const options = parse(w, text);
	void *plan = NULL;
	int error = w->prepare(options, s->seed, s->mutation, &plan);

	*ret_findings = (struct nvw_findings){0};
	nvw__options_free(options);
	if (error == 0) {
		error = run_on(w, plan, s, ret_findings);
		w->dispose(plan);
	}
	return error;
}

static void expect_right(const struct nvw_workload *w, const char *text)
{
	for (unsigned i = 0; i < PROTOCOLS; i++) {
		for (uint64_t seed = 0; seed < 3; seed++) {
			const struct setting s = {protocols[i], 3 + seed, seed, -1};
			struct nvw_findings findings;

			if (run(w, text, &s, &findings) != 0) {
				fail_msg("%s %s, %s, seed %u: %s", w->name, text, s.protocol, (unsigned)seed,
					findings.kept ? findings.finding[0].text : nvw_error_message());
			}
		}
	}
}

/* ---- They are right --------------------------------------------------------------------------------- */

static void critical_sections_of_every_mutex_exclude_each_other(void **state)
{
	static const char *const kinds[] = {"fetch-add", "sleep", "spin", "spin-backoff"};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		static const char *const sharings[] = {"global", "local", "local scope=global"};

		for (unsigned k = 0; k < sizeof(sharings) / sizeof(*sharings); k++) {
			char text[128];

			snprintf(text, sizeof(text), "iterations=15 accesses=3 kind=%s sharing=%s", kinds[i],
				sharings[k]);
			expect_right(&nvw_workload_mutex, text);
		}
	}
}

static void readers_see_whole_turns_of_the_writer_and_the_last_one(void **state)
{
	expect_right(&nvw_workload_semaphore, "iterations=40 accesses=3 group-size=40");
	expect_right(&nvw_workload_semaphore, "iterations=40 accesses=3 kind=spin-backoff backoff-max=100");
	expect_right(&nvw_workload_semaphore, "iterations=20 groups-per-cu=5 scope=global");
	expect_right(&nvw_workload_semaphore, "iterations=20 accesses=1 groups-per-cu=1");
}

static void data_go_round_from_barrier_to_barrier(void **state)
{
	expect_right(&nvw_workload_tree_barrier, "iterations=30 accesses=2");
	expect_right(&nvw_workload_tree_barrier, "iterations=30 accesses=2 exchange=local");
	expect_right(&nvw_workload_tree_barrier,
		"iterations=30 accesses=2 exchange=local scope=global group-size=7");
	expect_right(&nvw_workload_tree_barrier, "iterations=10 exchange=local groups-per-cu=1");
}

static void every_node_of_a_tree_is_visited_once(void **state)
{
	expect_right(&nvw_workload_uts, "nodes=2000");
	expect_right(&nvw_workload_uts, "nodes=2000 queue=1 group-size=33");
	expect_right(&nvw_workload_uts, "nodes=64 queue=1000 scope=global groups-per-cu=5");
}

/* ---- What is wrong is noticed ------------------------------------------------------------------------ */

static void every_seeded_bug_is_noticed(void **state)
{
	for (unsigned i = 0; i < WORKLOADS; i++) {
		const struct nvw_workload *const w = workloads[i];

		for (int m = 0; w->mutations[m].name != NULL; m++) {
			const struct setting s = {"gh", 15, 1, m};
			const char *const text = w->mutations[m].options;
			struct nvw_findings findings;

			if (run(w, text ? text : "", &s, &findings) != NVW_E_INCONSISTENT ||
				findings.kept == 0) {
				fail_msg("%s: %s was not noticed", w->name, w->mutations[m].name);
			}
		}
	}
}

static void without_scopes_a_narrow_one_does_no_harm(void **state)
{
	const struct setting s = {"gd", 4, 1, 3};
	struct nvw_findings findings;

	assert_string_equal(nvw_workload_mutex.mutations[3].name, "narrow-scope");
	assert_int_equal(run(&nvw_workload_mutex, "iterations=20", &s, &findings), 0);
	assert_string_equal(nvw_workload_uts.mutations[3].name, "narrow-scope");
	assert_int_equal(run(&nvw_workload_uts, "nodes=1000", &s, &findings), 0);
}

/* ---- Options ---------------------------------------------------------------------------------------- */

static void bad_options_are_refused(void **state)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *text, *part;
		int mutation;
	} bad[] = {
		{&nvw_workload_mutex, "iterations=0", "--iterations: expected 1 to", -1},
		{&nvw_workload_mutex, "accesses=65", "--accesses: expected 1 to 64, found 65", -1},
		{&nvw_workload_mutex, "group-size=4294967297", "--group-size: expected 1 to 1024", -1},
		{&nvw_workload_mutex, "groups-per-cu=0", "--groups-per-cu: expected 1", -1},
		{&nvw_workload_mutex, "groups-per-cu=21", "has room for 20", -1},
		{&nvw_workload_mutex, "sharing=global scope=local", "needs --scope=global", -1},
		{&nvw_workload_mutex, "sharing=local", "shows with --sharing=global only", 0},
		{&nvw_workload_semaphore, "group-size=512", "has room for 2", -1},
		{&nvw_workload_tree_barrier, "iterations=65536", "--iterations: expected 1 to 65535", -1},
		{&nvw_workload_uts, "nodes=63", "--nodes: expected 64", -1},
		{&nvw_workload_semaphore, "backoff-max=0", "--backoff-max: expected 1", -1},
		{&nvw_workload_uts, "queue=0", "--queue: expected 1", -1},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const struct setting s = {"gh", 4, 1, bad[i].mutation};
		struct nvw_findings findings;

		if (run(bad[i].workload, bad[i].text, &s, &findings) != NVW_E_USAGE ||
			strstr(nvw_error_message(), bad[i].part) == NULL) {
			fail_msg("%s: expected \"%s\" in \"%s\"", bad[i].text, bad[i].part,
				nvw_error_message());
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(critical_sections_of_every_mutex_exclude_each_other),
		cmocka_unit_test(readers_see_whole_turns_of_the_writer_and_the_last_one),
		cmocka_unit_test(data_go_round_from_barrier_to_barrier),
		cmocka_unit_test(every_node_of_a_tree_is_visited_once),
		cmocka_unit_test(every_seeded_bug_is_noticed),
		cmocka_unit_test(without_scopes_a_narrow_one_does_no_harm),
		cmocka_unit_test(bad_options_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
