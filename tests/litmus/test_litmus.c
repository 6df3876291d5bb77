/* SPDX-License-Identifier: BSD-3-Clause */
/* Visibility: schedules are complete, shipped tests give their verdicts, faults in protocols show. */
#include "common/test.h"

#include <stdio.h>
#include <string.h>
#include <emu.h>
#include <litmus/internal.h>

#include "common/skip.h"
#include "litmus_rig.h"

static struct litmus_report report;

static const struct litmus_options under_vi = {.protocol = "vi"};

static void run_text(const char *text, const struct litmus_options *options)
{
	struct litmus_list list = {0};
	static struct litmus_test test;

	assert_ok(litmus_parse("t.litmus", text, &list));
	test = list.test[0];
	litmus_list_free(&list);
	assert_ok(litmus_run_visibility(&test, options, &report));
}

/* The threads, and an outcome that is allowed, under no model. */
static void run_program(const char *threads, const char *outcome, const struct litmus_options *options)
{
	run_text(formatted("test t\nmodel none\n%s\noutcome %s\nverdict allowed", threads, outcome), options);
}

/*
 * Runs the tests of a list under a protocol, each step-th from the first one; returns how many forbidden
 * outcomes of claimed models were seen.
 */
static unsigned failures(
	const struct litmus_list *list, const struct litmus_options *options, unsigned first, unsigned step)
{
	unsigned n = 0;

	NVW_EACH(test, list->test, list->count) {
		if ((test - list->test) % step != first || litmus_is_persist(test)) {
			continue;
		}
		if (litmus_run_visibility(test, options, &report)) {
			fail_msg("%s: %s", test->name, nvw_error_message());
		}
		if (litmus_has_failed(&report)) {
			printf("# %s under %s: %s\n", report.test->name, options->protocol, report.witness);
			n++;
		}
	}
	return n;
}

/* Two operations of two threads are in 6 orders, three of one and two of another in 10. */
TEST(every_order_of_the_operations_is_run_once)
{
	run_program("P0@wg0{W(plain) x=1; R(plain) r0<-x} || "
		    "P1@wg1{R(plain) r0<-x; R(plain) r1<-x}",
		"x==1", &under_vi);
	assert_true(report.is_exhaustive);
	assert_true(report.situations >= 8);
	/*
	 * Those with evictions may take other steps before the first operation, never another number of
	 * orders.
	 */
	assert_int_equal(report.schedules, 6 * report.situations);
	run_program("P0@wg0{W(plain) x=1; MOV r9=3; R(plain) r0<-x; W(plain) x=2} || "
		    "P1@wg0{R(plain) r0<-x; R(plain) r1<-x}",
		"x==1", &under_vi);
	assert_int_equal(report.schedules, 10 * report.situations);
}

TEST(a_budget_that_does_not_suffice_samples_and_says_so)
{
	const struct litmus_options options = {.protocol = "vi", .schedules = 5};

	run_program("P0@wg0{W(plain) x=1; R(plain) r0<-x} || "
		    "P1@wg1{R(plain) r0<-x; R(plain) r1<-x}",
		"x==1", &options);
	assert_false(report.is_exhaustive);
	assert_int_equal(report.schedules, 5 * report.situations);
}

/* What the search over orders does not vary, situations do. */
TEST(situations_share_lines_fill_caches_and_warm_them)
{
	struct litmus_situation s;
	struct emu_config config;
	unsigned apart = 0, shared = 0, small = 0, warm = 0, one_cu = 0, draining = 0;

	run_program("P0@wg0{W(plain) x=1} || P1@wg1{W(plain) y=1}", "x==1", &under_vi);
	for (unsigned i = 0; litmus_situation(report.test, i, 1, &s); i++) {
		assert_ok(litmus_machine(report.test, &s, &under_vi, &config));
		apart += litmus_variable_offset(&s, 1) == 64;
		shared += litmus_variable_offset(&s, 1) == 8;
		small += config.l1.size <= 2 * 64 && config.l2.size <= 4 * 64;
		warm += s.warm == 3;
		one_cu += config.cus == 1;
		draining += config.l1.sfifo == 1;
	}
	assert_true(apart > 4 && shared > 1 && small > 4 && warm > 0 && one_cu > 0 && draining > 1);
}

/*
 * Sequential consistency of one CU: all four final states of store buffering but the weak one, which needs
 * two CUs.
 */
TEST(outcomes_are_counted_by_final_state)
{
	uint64_t all = 0;

	run_program("P0@wg0{W(plain) x=1; R(plain) r0<-y} || "
		    "P1@wg1{W(plain) y=1; R(plain) r0<-x}",
		"0:r0==0 && 1:r0==0", &under_vi);
	assert_int_equal(report.outcome_count, 4);
	assert_string_equal(report.outcome[0].text, "0:r0=0 1:r0=0");
	assert_true(report.outcome[0].holds);
	assert_int_equal(report.outcome[0].count, report.seen);
	NVW_EACH(outcome, report.outcome, report.outcome_count) {
		all += outcome->count;
	}
	assert_int_equal(all, report.schedules);
	assert_string_equal(litmus_report_verdict(&report), "not claimed, allowed seen");
}

TEST(a_barrier_that_somebody_misses_does_not_end)
{
	run_program("P0@wg0{BAR(wg) 0; W(plain) x=1} || P1@wg0{R(plain) r0<-x}", "x==1", &under_vi);
	assert_int_equal(report.unfinished, report.schedules);
	assert_int_equal(report.seen, 0);
}

TEST(the_same_seed_gives_the_same_report)
{
	static struct litmus_report first;
	const struct litmus_options options = {.protocol = "hlrc", .schedules = 7, .seed = 3};
	const char *const threads = "P0@wg0{W(plain) x=1; W(plain) y=1; W(plain) z=1} || "
				    "P1@wg1{R(plain) r0<-z; R(plain) r1<-y; R(plain) r2<-x}";

	run_program(threads, "x==1", &options);
	first = report;
	run_program(threads, "x==1", &options);
	assert_memory_equal(&first, &report, sizeof first);
}

/*
 * By default, a protocol runs every second test of hrf.litmus, and the next protocol runs the others; with
 * store buffers it is the other way round. Few protocols claim what remote.litmus tests: each runs all of it.
 */
TEST(shipped_tests_give_their_verdicts_under_every_protocol)
{
	static const char *const files[] = {"hrf.litmus", "remote.litmus", "loads.litmus"};

	for_each(row, files) {
		struct litmus_list list = shipped(*row);
		const unsigned step = row == files ? one_in(2) : 1;

		for_each_protocol_name(at, NEXT_PROTOCOL) {
			const struct litmus_options options = {
				.protocol = at.name, .schedules = 24, .seed = 1};

			assert_int_equal(
				failures(&list, &options, at.number / NEXT_PROTOCOL % step, step), 0);
		}
		litmus_list_free(&list);
	}
}

/* Releases and acquires drain store buffers: what a protocol claims, it keeps with them. */
TEST(claims_hold_with_store_buffers)
{
	static const char *const settings[] = {
		"store_buffer.entries=2", "store_buffer.order=unordered", NULL};
	const unsigned step = one_in(2);
	struct litmus_list list = shipped("hrf.litmus");

	for_each_protocol_name(at, NEXT_PROTOCOL) {
		const struct litmus_options options = {
			.protocol = at.name, .schedules = 12, .seed = 1, .settings = settings};

		assert_int_equal(failures(&list, &options, (at.number / NEXT_PROTOCOL + 1) % step, step), 0);
	}
	litmus_list_free(&list);
}

/* A load is performed where it is issued: before an acquire it may miss what the acquire brings. */
TEST(a_load_is_performed_where_it_is_issued)
{
	static const char *const protocols[] = {"vi", "dd", "hlrc"};
	struct litmus_list list = shipped("loads.litmus");

	NVW_FOR(i, 3 * list.count) {
		const struct litmus_options options = {
			.protocol = protocols[i % 3], .schedules = 60, .seed = 1};
		const struct litmus_test *const test = &list.test[i / 3];

		assert_ok(litmus_run_visibility(test, &options, &report));
		assert_true(report.is_exhaustive);
		assert_int_equal(report.seen > 0, test->is_racy);
	}
	litmus_list_free(&list);
}

/*
 * What a model allows and a protocol with scopes shows: if nothing weak were ever seen, nothing would be
 * tested.
 */
TEST(what_scopes_leave_open_is_seen)
{
	static const char *const protocols[] = {"vi", "gh", "rsp"};
	static const char *const names[] = {"hrf/work-group-scope-is-too-narrow",
		"hrf/plain-flag-promises-nothing", "hrf/wrong-link-breaks-the-chain",
		"hrf/figure-4-other-work-group"};
	struct litmus_list list = shipped("hrf.litmus");
	unsigned seen = 0;

	NVW_EACH(test, list.test, list.count) {
		for_each(name, names) {
			for (unsigned p = 0; p < 3 && !strcmp(test->name, *name); p++) {
				const struct litmus_options options = {
					.protocol = protocols[p], .stop_when_seen = true};

				assert_ok(litmus_run_visibility(test, &options, &report));
				assert_string_equal(litmus_report_verdict(&report), "allowed, seen");
				seen++;
			}
		}
	}
	assert_int_equal(seen, 12);
	litmus_list_free(&list);
}

/* One fault, one test that notices. */
TEST(a_protocol_that_leaves_an_action_out_shows_a_forbidden_outcome)
{
	static const char mp[] = "hrf/message-passing-agent", rmw[] = "hrf/rmw-agent-loses-nothing",
			  wg[] = "hrf/rmw-work-group-loses-nothing";
	static const char *const faults[][3] = {
		{"vi", "invalidate local L1", mp},
		{"vi", "flush local L1", mp},
		{"vi", "append to the S-FIFO", mp},
		{"vi", "RMW x at L2", rmw},
		{"vi", "RMW x at L1", wg},
		{"gd", "invalidate local L1", mp},
		{"gd", "flush local L1", mp},
		{"gd", "RMW x at L2", rmw},
		{"gh", "invalidate local L1", mp},
		{"gh", "flush local L1", mp},
		{"gh", "RMW x at L1", wg},
		{"rsp", "invalidate local L1", mp},
		{"rsp", "flush local L1", mp},
		{"rsp", "flush all L1s (broadcast)", "remote/rmw-is-atomic-with-local-ones"},
		{"rsp", "invalidate all L1s (broadcast)", "remote/owner-sees-what-the-thief-did"},
		{"denovo-b", "invalidate local L1 (non-registered)", mp},
		{"denovo-b", "register all dirty stores of the local L1", mp},
		{"denovo-b", "registration and data to the requesting L1", rmw},
		{"dd", "invalidate local L1 (non-registered)", mp},
		{"dd", "register all dirty stores of the local L1", mp},
		{"dd+ro", "invalidate local L1 (non-registered)", mp},
		{"dd+ro", "register all dirty stores of the local L1", mp},
		{"dh", "invalidate local L1 (non-registered)", mp},
		{"dh", "register all dirty stores of the local L1", mp},
		{"hlrc", "invalidate local L1", mp},
		{"hlrc", "registration and data to the requesting L1", rmw},
		{"hlrc-scoped", "invalidate local L1", mp},
		{"hlrc-scoped", "flush local L1", mp},
		{"rfo", "invalidate sharers elsewhere", mp},
		{"rfo", "read the line for ownership", rmw},
		{"mttop-wb", "invalidate sharers elsewhere", mp},
		{"mttop-wb", "obtain the right to write", mp},
	};
	struct litmus_list lists[] = {shipped("hrf.litmus"), shipped("remote.litmus")};

	for_each(fault, faults) {
		const struct litmus_options options = {
			.protocol = (*fault)[0], .fault = (*fault)[1], .stop_when_seen = true};
		bool found = false;

		NVW_EACH(list, lists, 2) {
			NVW_EACH(test, list->test, list->count) {
				if (!strcmp(test->name, (*fault)[2])) {
					const int r = litmus_run_visibility(test, &options, &report);

					/* Debug builds end such a run at the first broken invariant. */
					assert_true(r == 0 || r == NVW_E_MODEL);
					found = r == NVW_E_MODEL || litmus_has_failed(&report);
				}
			}
		}
		if (!found) {
			fail_msg("%s without \"%s\" passes %s", (*fault)[0], (*fault)[1], (*fault)[2]);
		}
	}
	litmus_list_free(&lists[0]);
	litmus_list_free(&lists[1]);
}

TEST(protocols_without_the_notion_do_not_claim_remote_scopes)
{
	const struct litmus_test test = {.model = "OpenCL + remote-scope promotion"},
				 ptx = {.model = "PTX 6.0"}, tso = {.model = "x86-TSO"},
				 none = {.model = "none"};
	const char *why;

	assert_true(litmus_claimed(&test, "rsp", NULL, &why));
	assert_true(litmus_claimed(&test, "hlrc-scoped", NULL, &why));
	assert_true(litmus_claimed(&test, "dd+ro", NULL, &why));
	assert_false(litmus_claimed(&test, "vi", NULL, &why));
	assert_false(litmus_claimed(&test, "dh", NULL, &why));
	assert_true(litmus_claimed(&ptx, "dh", NULL, &why));
	assert_false(litmus_claimed(&tso, "gd", NULL, &why));
	assert_false(litmus_claimed(&none, "vi", NULL, &why));
}

/* One outcome, two verdicts of a model that nothing here claims: the report must not sound the same. */
TEST(a_forbidden_outcome_of_a_model_that_is_not_claimed_stands_apart)
{
	static const char *const said[][2] = {
		{"forbidden", "not claimed, FORBIDDEN SEEN"}, {"allowed", "not claimed, allowed seen"}};
	const struct litmus_options options = {.protocol = "vi", .stop_when_seen = true};

	NVW_EACH(one, said, 2) {
		run_text(formatted("test t\nmodel x86-TSO\nP0@wg0{W(plain) x=1; W(plain) y=1} || "
				   "P1@wg1{R(plain) r0<-y; R(plain) r1<-x}\n"
				   "outcome 1:r0==1 && 1:r1==0\nverdict %s",
				 (*one)[0]),
			&options);
		assert_string_equal(litmus_report_verdict(&report), (*one)[1]);
		assert_false(litmus_has_failed(&report));
	}
}

/*
 * The stores before the barrier are read by another work-group that met none: only a release at the device's
 * scope helps.
 */
TEST(a_barrier_with_device_scope_orders_memory_beyond_its_work_group)
{
	static const struct {
		const char *barrier;
		bool is_seen;
	} table[] = {{"BAR(wg) 0", true}, {"BAR(ar.wg) 0", true}, {"BAR(none.wg) 0", true},
		{"BAR(rel.dev) 0", false}, {"BAR(ar.dev) 0", false}};
	const struct litmus_options options = {.protocol = "vi", .stop_when_seen = true};

	for_each(row, table) {
		run_program(formatted("P0@wg0{W(plain) x=1; %s; W(rlx.dev) y=1} || "
				      "P1@wg1{R(acq.dev) r0<-y; R(plain) r1<-x}",
				    row->barrier),
			"1:r0==1 && 1:r1==0", &options);
		assert_int_equal(report.seen != 0, row->is_seen);
	}
}

TEST(an_operation_is_carried_out_only_if_all_conditions_hold)
{
	run_program("P0@wg0{MOV r6=0; MOV r8=1; [r6==0 && r8==1] W(plain) x=1; "
		    "[r6==0 && r8==0] W(plain) x=2; [r6==1 && r8==1] W(plain) x=3}",
		"x==1", &under_vi);
	assert_int_equal(report.outcome_count, 1);
	assert_int_equal(report.seen, report.schedules);
}

TEST(a_thread_without_operations_does_nothing)
{
	run_program("P0@wg0{} || P1@wg0{W(plain) x=1} || P2@wg1{ }", "x==1", &under_vi);
	assert_int_equal(report.seen, report.schedules);
	assert_int_equal(report.unfinished, 0);
}

TEST(public_tests_show_nothing_forbidden_where_it_is_claimed)
{
	skip_if_sanitized();
	const char *const folder = shared_data("litmus"), *protocol;
	const unsigned step = one_in(2);
	struct litmus_list list = {0};

	if (!folder) {
		skip_test("the public litmus tests are not there");
	}
	assert_ok(litmus_load(folder, &list));
	assert_int_equal(list.count, 80);
	for (unsigned p = 0; (protocol = emu_protocol_name(p)); p++) {
		const struct litmus_options options = {.protocol = protocol, .schedules = 4, .seed = 1};

		assert_int_equal(failures(&list, &options, p % step, step), 0);
	}
	litmus_list_free(&list);
}
