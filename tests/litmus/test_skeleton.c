/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next protocol: the skeletons of docs/protocols.md, brought along in a list of this executable's own,
 * are asked what all are asked, with nothing else said about them anywhere.
 */
#include "common/test.h"

#include <string.h>

#include "litmus_rig.h"

enum { PROGRAMS = 60, PROTOCOLS = 3 };

static const char *const protocols[] = {"skeleton", "directory", "apart"};

TEST(they_are_listed_behind_the_shipped_ones)
{
	const char *names[PROTOCOLS] = {"", "", ""}, *citation, *summary;
	unsigned n = 0;

	while (emu_protocol_info(n, &names[n % PROTOCOLS], &citation, &summary)) {
		n++;
	}
	assert_string_equal(names[n % PROTOCOLS], "apart");
	assert_string_equal(names[(n + 1) % PROTOCOLS], "directory");
	assert_string_equal(names[(n + 2) % PROTOCOLS], "skeleton");
}

TEST(random_programs_are_right_under_them)
{
	NVW_EACH(protocol, protocols, PROTOCOLS) {
		expect_right(
			&(struct torture_options){.protocol = *protocol, .seed = 1, .programs = PROGRAMS});
	}
}

/* Torture looks at caches; what only memory shows, tests/emu/test_seams.c sees. */
static bool is_unseen(const char *protocol, const char *action)
{
	return !strcmp(protocol, "skeleton") &&
	       (!strcmp(action, "marker through the S-FIFOs") || !strcmp(action, "append to the S-FIFO"));
}

/* Whatever the tables name is missed by some program, but for what is known of others too. */
static unsigned missed_actions(const char *protocol)
{
	static struct torture_result result;
	const char *action;
	unsigned missed = 0;

	for (unsigned i = 0; (action = emu_protocol_action(protocol, i)); i++) {
		if (torture_unnoticed(protocol, action) || is_unseen(protocol, action)) {
			continue;
		}
		assert_ok(torture_run(
			&(struct torture_options){
				.protocol = protocol, .seed = 1, .programs = PROGRAMS, .fault = action},
			&result));
		if (!result.failed) {
			fail_msg("without \"%s\" %s passes for itself", action, protocol);
		}
		missed++;
	}
	return missed;
}

TEST(each_of_their_actions_is_missed)
{
	assert_true(missed_actions("skeleton") >= 8);
	assert_true(missed_actions("directory") >= 8);
	assert_true(missed_actions("apart") >= 8);
}

static void expect_verdicts(const char *protocol, const char *file)
{
	const struct litmus_options options = {.protocol = protocol, .schedules = 60, .seed = 1};
	static struct litmus_report report;
	struct litmus_list list = shipped(file);

	assert_true(list.count > 0);
	NVW_EACH(test, list.test, list.count) {
		assert_ok(litmus_run_visibility(test, &options, &report));
		assert_false(litmus_has_failed(&report));
	}
	litmus_list_free(&list);
}

TEST(litmus_tests_give_their_verdicts_under_them)
{
	static const char *const files[] = {"hrf.litmus", "remote.litmus", "loads.litmus"};

	for_each(row, files) {
		NVW_EACH(protocol, protocols, PROTOCOLS) {
			expect_verdicts(*protocol, *row);
		}
	}
}

/*
 * Each stores, then looks at the other's variable. The directory protocol is sequentially consistent without
 * store buffers.
 */
static uint64_t both_miss_the_other_s_store(const char *const *settings, bool *ret_exhaustive)
{
	static const char text[] =
		"test store-buffering\nracy\nmodel none\n"
		"P0@wg0,dev0{W(plain) x=1; R(plain) r0<-y} || P1@wg1,dev0{W(plain) y=1; R(plain) r0<-x}\n"
		"outcome 0:r0==0 && 1:r0==0\nverdict allowed\n";
	const struct litmus_options options = {
		.protocol = "directory", .schedules = 300, .seed = 1, .settings = settings};
	static struct litmus_report report;
	struct litmus_list list = {0};

	assert_ok(litmus_parse("test", text, &list));
	assert_ok(litmus_run_visibility(&list.test[0], &options, &report));
	*ret_exhaustive = report.is_exhaustive;
	litmus_list_free(&list);
	return report.seen;
}

TEST(store_buffers_show_in_litmus_tests)
{
	static const char *const buffers[] = {"store_buffer.entries=2", NULL};
	static const char *const wait[] = {"store_buffer.entries=2", "store_buffer.loads=wait", NULL};
	bool exhaustive;

	assert_int_equal(both_miss_the_other_s_store(NULL, &exhaustive), 0);
	assert_true(exhaustive);
	/* There are many more orders, which are sampled. */
	assert_true(both_miss_the_other_s_store(buffers, &exhaustive) > 0);
	assert_int_equal(both_miss_the_other_s_store(wait, &exhaustive), 0);
}
