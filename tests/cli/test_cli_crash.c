/* SPDX-License-Identifier: BSD-3-Clause */
/* Crash tests as the users of the command meet them: verdicts, saved findings, shards, logs. */
#include "command.h"
#include "common/json.h"
#include "common/skip.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(an_inconsistency_is_exit_status_1_with_the_source_lines)
{
	command_finds("crash btree --count=300 --preload=100 --batch=100 --group-size=64 "
		      "--mutate=update-before-log --cures=off",
		"INCONSISTENT");
	command_expect("run btree --count=500 --preload=500 --mutate=lost-leaf-link", 1, "INCONSISTENT",
		"before the highest key");
}

/* The state is worked on again when it is replayed. */
TEST(a_state_fails_after_going_on_and_is_replayed_so)
{
	command_prints("crash kv --count=64 --states=100 --cures=off --and-then=3 --crash-again",
		"by up to 3 operations: 100 states, judged again, also after a crash on the way");
	command_prints(
		"crash kv --count=64 --cures=off", "worked on after recovery, by up to 4 operations: ");
	assert_lacks(command_run("crash kv --count=64 --cures=off --and-then=0")->out, "worked on");
	command_refuses("crash kv --crash-again --shard=1/2", "--crash-again needs --and-then=N");
	command_refuses("crash kv --crash-again --and-then=0", "--crash-again needs --and-then=N");
	command_prints("crash kv --count=64 --states=100 --oracle=robust", "judged by what was read");
	command_finds("crash kv --count=64 --states=100 --oracle=robust --mutate=publish-before-value",
		"NOT ROBUST   ");
	command_prints("crash kv --count=1 --oracle=robust --output-format=json", "\"verdict\": \"robust\"");
	command_refuses("crash kv --oracle=robust --save=%D/robust", "does not have the order of the run");
	command_refuses("crash kv --oracle=robust --and-then=4", "--and-then has no effect");
	command_refuses("crash kv --oracle=replay", "--oracle=replay is for programs");
	command_refuses("crash kv --and-then=some", "--and-then: expected a number of operations");
	command_finds("crash $PLACES_WORKLOAD --mutate=late-mark --states=100 --cures=off --and-then=2 "
		      "--save=%D/findings",
		"after recovery, and going on: ");
	command_finds("replay %D/findings/finding-1", "REPRODUCED   after recovery, and going on: ");
	command_remove("findings/finding-1");
	command_finds("crash $PLACES_WORKLOAD --mutate=hasty --cures=off --and-then=4 --crash-again "
		      "--save=%D/findings",
		"after recovery, going on and a second crash ");
	command_finds("replay %D/findings/finding-1", "REPRODUCED   after recovery, going on and a second");
	clean();
}

#define BROKEN                                                                        \
	"crash btree --order=14 --count=120 --preload=60 --batch=60 --group-size=64 " \
	"--mutate=update-before-log --model=epoch --states=2000"

TEST(a_saved_finding_is_replayed_to_the_same_verdict_and_holds_the_pool)
{
	command_finds(BROKEN " --cures=off --save=%D/findings", "replay with: nvwave replay");
	command_finds("replay %D/findings/finding-1", "REPRODUCED");
	command_finds("replay %D/findings/finding-1 --extract=%D/pool", "REPRODUCED");
	command_finds("inspect %D/pool", "btree"); /* as the crash left it: not recovered */
	command_remove("pool");
	command_remove_findings();
	assert_int_equal(command_files(), 0);
}

TEST(the_html_page_has_verdict_findings_and_source_lines)
{
	skip_if_sanitized();
	static char page[1 << 20];

	command_finds(BROKEN " --html=%D/page.html", "INCONSISTENT");
	command_read("page.html", page, sizeof page);
	assert_has(page, "INCONSISTENT", "made by nvwave ", "id=\"finding-1\"", "Before the crash",
		"Words that matter", "insert.c:", "</html>");
	assert_lacks(page, "<script");
	assert_lacks(page, "src=");
	command_remove("page.html");
	command_refuses("run btree --order=15", "--order: expected 4 to 14, found 15");
	command_refuses("crash btree --count=50 --html=/nowhere/page.html", "/nowhere/page.html");
	assert_int_equal(command_files(), 0);
}

static uint64_t sum_of(const char *text, const char *name)
{
	json_auto_t *root = json_loads(text, 0, NULL);

	assert_non_null(root);
	return (uint64_t)integer_at(root, name);
}

TEST(shards_together_are_the_whole)
{
	skip_if_sanitized();
	const char *const report = command_run(BROKEN " --cures=off --output-format=json")->out;
	const uint64_t failing = sum_of(report, "states_failing"),
		       distinct = sum_of(report, "states_distinct");

	for (unsigned i = 1; i <= 3; i++) {
		write_text(formatted("part-%u", i),
			command_run(formatted(BROKEN " --output-format=json --shard=%u/3", i))->out);
	}
	command_finds("crash --merge %D/part-1 %D/part-2 %D/part-3", "INCONSISTENT");
	command_refuses("crash --merge %D/part-1 %D/part-3", "shard 2 of 3 is missing");
	command_refuses("crash --merge %D/part-1 %D/part-1", "given twice");
	const char *const merged =
		command_run("crash --merge %D/part-1 %D/part-2 %D/part-3 --output-format=json")->out;

	assert_int_equal(sum_of(merged, "states_failing"), failing);
	assert_int_equal(sum_of(merged, "states_distinct"), distinct);
	assert_has(merged, "\"newest\": \"0x"); /* the words of a finding */
	assert_lacks(merged, "\"lost_event\": 0,");
	/* a report whose names are numbers */
	succeeds("sed -i 's/\"kind\": \"[a-z ]*\"/\"kind\": 99/' part-?");
	command_finds("crash --merge %D/part-1 %D/part-2 %D/part-3", "INCONSISTENT");
	command_remove("part-1");
	command_remove("part-2");
	command_remove("part-3");
	assert_int_equal(command_files(), 0);
}

/* SIGINT in the middle, twice; then to the end. */
TEST(an_interrupted_exploration_goes_on_where_it_was)
{
	skip_if_sanitized();
#define WHOLE                                                                                             \
	"crash btree --count=300 --preload=100 --batch=100 --group-size=64 --model=epoch --states=40000 " \
	"--output-format=json"
	const uint64_t distinct = sum_of(command_run(WHOLE)->out, "states_distinct");
	unsigned interrupted = 0;

	NVW_FOR(i, 2) {
		const pid_t pid = command_start(WHOLE " --resume=%D/checkpoint");

		usleep(100000);
		kill(pid, SIGINT);
		command_wait(pid);
		interrupted += access(in_dir("checkpoint"), F_OK) == 0;
	}
	assert_int_equal(
		sum_of(command_run(WHOLE " --resume=%D/checkpoint")->out, "states_distinct"), distinct);
	assert_int_not_equal(access(in_dir("checkpoint"), F_OK), 0);
	if (interrupted == 0) {
		print_message("# the exploration was too quick to be interrupted\n");
	}
	write_text("checkpoint", "NVWCKPT and then something else");
	command_refuses("crash btree --count=50 --resume=%D/checkpoint", "remove the file to start again");
	command_remove("checkpoint");
}

TEST(the_matrix_says_which_barriers_are_needed)
{
	command_prints("crash btree --order=14 --count=60 --preload=30 --batch=60 --group-size=64 --matrix "
		       "--states=100",
		"(only buffered-epoch; no state that epoch permits fails)");
	command_prints("crash kv --count=30 --batch=10 --slots=16 --matrix --states=50",
		"not needed in "
		"any state that epoch or buffered-epoch permits: ");
	command_prints("crash queue --count=24 --producers=1 --consumers=1 --capacity=16 --group-size=16 "
		       "--matrix "
		       "--states=60",
		"needed: with none scope message 0 is lost: its production was acknowledged");
	command_finds("crash btree --count=60 --preload=30 --batch=60 --group-size=32 --matrix --states=100 "
		      "--mutate=no-undo",
		" outside of the budget)");
	command_prints("crash btree --count=60 --preload=20 --batch=60 --group-size=32 --matrix "
		       "--states=20",
		"nothing failed with work-group scope in a sample under buffered-epoch");
}

/*
 * The undo log on a fast device inside the domain, the nodes on a slow one outside of it, and the other way
 * round.
 */
TEST(a_pool_on_two_nvram_devices_is_crash_tested_as_one)
{
	skip_if_sanitized();
#define TWO_NVRAM "--machine=two-nvram --count=100 --preload=50 --batch=50 --group-size=64 --states=200"
#define SWAPPED                                                                     \
	" --set=nvram.write=1us --set=nvram.domain=device --set=nvram2.write=100ns" \
	" --set=nvram2.domain=adr"
	static const char *const placed[] = {"crash btree " TWO_NVRAM, "crash btree " TWO_NVRAM SWAPPED};

	for_each(row, placed) {
		command_prints(*row, "CONSISTENT   all ");
		command_finds(formatted("%s --mutate=update-before-log --cures=off", *row), "INCONSISTENT");
	}
	command_prints("crash btree " TWO_NVRAM " --mode=kill --states=3", "NO FAILURE FOUND in 3 kills");
	command_prints("run kv --machine=two-nvram --count=200 --output-format=json", "\"domain\": \"adr, "
										      "nvram2 device\"");
	command_refuses("exec --machine=two-nvram -- true", "device nvram2: a program of the host runs on "
							    "one NVRAM device");
}

/* The log's pool on a near device, the table's on a far one; a crash state is one of both. */
TEST(pools_on_two_nvram_devices_are_crash_tested_together)
{
#define NEAR_FAR "tiered --machine=near-far --table-device=far --count=96 --group-size=8"
	command_prints("crash " NEAR_FAR " --states=400", "NO FAILURE FOUND in ");
	command_prints("crash " NEAR_FAR " --mode=permitted --states=400", "NO FAILURE FOUND in ");
	command_prints("crash " NEAR_FAR " --mode=kill --states=3", "NO FAILURE FOUND in 3 kills");
	command_finds("crash " NEAR_FAR " --states=400 --mutate=truncate-unordered", "INCONSISTENT");
	command_finds(
		"crash " NEAR_FAR " --mode=permitted --states=400 --mutate=value-unordered", "INCONSISTENT");
	command_prints("run " NEAR_FAR " --output-format=json", "\"device.far.barrier_wait\": ");
	command_prints("run " NEAR_FAR " --output-format=json", "\"domain\": \"adr, far device\"");
	command_prints("run " NEAR_FAR " --set far.write=2us --set nvram.hops=1", "with nvram.hops=1, "
										  "device far.write=2000ns;");
	command_refuses("run " NEAR_FAR " --set far.wirte=2us", "far.wirte: not a key of a device; did "
								"you mean write?");
	command_refuses("run tiered --table-device=far", "the machine gope18 has no device far");
	command_refuses("run tiered --machine=near-far --table-device=farr",
		"the machine near-far has no "
		"device farr; did you mean far?");
	command_refuses("exec --machine=near-far -- true", "device far: a program of the host runs on one "
							   "NVRAM device");
	command_prints("list stats", "device.NAME.reads");
}

TEST(every_state_of_a_small_run_is_accounted_for)
{
	command_prints("crash kv --count=6 --batch=2 --slots=16 --group-size=16 --model=epoch",
		"100 %: all instants "
		"exhausted");
	command_prints("crash kv --count=6 --batch=2 --slots=16 --group-size=16 --model=epoch --intervals",
		"exhausted");
}

/* No time is later than the run, which the set-up is no part of. */
static void expect_times_within_the_run(const char *line)
{
	json_auto_t *o = json_loads(command_run(line)->out, 0, NULL);
	const double run = json_real_value(json_at(o, "sim_time_ns"));
	const json_t *k;
	size_t i;

	assert_true(run > 0 && size_at(o, "findings") > 0);
	json_array_foreach(json_at(o, "findings"), i, k)
	{
		assert_in_range(integer_at(k, "first_time_ps"), 1, (uint64_t)(1000 * run));
	}
	json_array_foreach(json_at(o, "intervals"), i, k)
	{
		assert_true(json_real_value(json_at(k, "until_ns")) <= run);
	}
}

TEST(every_time_of_a_report_counts_from_the_end_of_the_set_up)
{
#define LONG_SET_UP \
	"crash kv --count=64 --preload=640 --batch=64 --mutate=publish-before-value --output-format=json "
	static char page[400000];

	expect_times_within_the_run(
		LONG_SET_UP "--mode=observed --states=400 --cures=off --html=%D/page.html");
	command_read("page.html", page, sizeof page);
	assert_has(page, "&minus;", /* a store of the set-up, by a work-item of the same number */
		"times count from the end of the set-up");
	command_remove("page.html");
	expect_times_within_the_run(LONG_SET_UP "--mode=kill --states=30");
}

/* It judges one state, and says nothing of the others. */
TEST(a_finding_that_is_gone_passes)
{
	static char image[4097];

	memset(image, 'x', 4096);
	write_text("image", image);
	write_text("a.log",
		"START|REGISTER_FILE;pool;0x10000;0x1000;0x0|STORE;0x10000;0x41;0x8|FLUSH;0x10000;0x40|"
		"FENCE|STOP");
	write_text("check", "grep -q A \"$1\" || { echo the store is lost; exit 1; }\n");
	command_finds(
		"crash --store-log=%D/a.log --image=%D/image --check=sh${IFS}%D/check --save=%D/findings",
		"the store is lost");
	command_finds("replay %D/findings/finding-1", "REPRODUCED   the store is lost");
	write_text("check", "exit 0\n");
	command_prints("replay %D/findings/finding-1", "PASSES   the state passes");
	command_prints("replay %D/findings/finding-1 --output-format=json", "\"verdict\": \"passes\"");
	clean();
}

/*
 * Nothing is said of what was not looked at: states beyond the budget, other instants than a kill's,
 * other shards, what --symmetric skips.
 */
TEST(a_sample_in_which_nothing_fails_is_not_consistent)
{
#define WIDE  "crash stack --count=24 --mode=permitted --states=60"
#define SMALL "crash kv --count=6 --batch=2 --slots=16 --group-size=16 --model=epoch"
	char page[200000];

	command_prints(WIDE, "NO FAILURE FOUND in 57 of 2^72 states");
	command_prints(WIDE " --output-format=json", "\"verdict\": \"not-refuted\"");
	command_prints(WIDE " --html=%D/page.html", "NO FAILURE FOUND in 57 of 2^72 states");
	command_read("page.html", page, sizeof page);
	assert_has(page, "<span class=\"verdict sample\">NO FAILURE FOUND</span>",
		"<p>NO FAILURE FOUND in 57 of 2^72 states");
	command_remove("page.html");
	command_prints("crash btree --order=14 --count=300 --preload=100 --batch=100 --group-size=64 "
		       "--states=50 "
		       "--model=buffered-epoch --html=%D/page.html --verbose",
		"sampled: a part looks at too much ");
	command_read("page.html", page, sizeof page);
	assert_has(page, "Sampled: a part looks at too much ");
	command_remove("page.html");
	command_prints(SMALL, "CONSISTENT   all ");
	assert_lacks(command_run(SMALL)->out, "by parts");
	assert_lacks(command_run(SMALL)->out, "gope18");
	assert_has(command_run(SMALL)->out, "kv under epoch persistency, seed 1, ");
	command_prints(SMALL " --verbose", " by parts\nby parts: ");
	command_prints(SMALL " --verbose", "kv on gope18, protocol vi, epoch persistency, ");
	command_prints(SMALL " --machine=gope18", "\nmachine: gope18 (");
	command_prints(SMALL " --set=nvram.write=300ns", "kv on gope18, ");
	command_prints(SMALL " --protocol=dd --machine=sinclair15", "kv on sinclair15, protocol dd, ");
	command_prints(SMALL " --output-format=json", "\"verdict\": \"consistent\"");
	command_prints(SMALL " --shard=1/1", "NO FAILURE FOUND in ");
	command_prints("crash kv --count=6 --batch=2 --slots=16 --mode=kill --states=3", "NO FAILURE "
											 "FOUND in 3 kills");
	command_prints("crash kv --count=6 --batch=2 --slots=16 --mode=kill --states=3 "
		       "--output-format=json",
		"\"verdict\": \"not-refuted\"");
}

TEST(the_tutorial_finds_its_bug_and_mends_it)
{
	command_prints("run $TUTORIAL_QUEUE", "tutorial-queue on gope18");
	const struct command_outcome *const o = command_run("crash $TUTORIAL_QUEUE --mutate=forget-barrier");

	assert_int_equal(o->status, 1);
	assert_has(o->out, "is committed, but not all of its payload", "queue.c:");
	command_prints("crash $TUTORIAL_QUEUE", "CONSISTENT   all ");
	command_prints("crash $TUTORIAL_QUEUE --model=epoch", "CONSISTENT   all 2^");
}

TEST(a_refused_store_says_the_real_limit)
{
	static const char command[] =
		"crash --store-log=%D/a.log --image=%D/image --check=true --model=pmreorder --states=4";
	static char log[3 * 4096];
	char value[2 * 4096 + 1];

	memset(value, '1', sizeof value - 1);
	value[sizeof value - 1] = 0;
	memset(log, 'x', 4096);
	write_text("image", log);
	snprintf(log, sizeof log,
		"START|REGISTER_FILE;pool;0x10000;0x1000;0x0|STORE;0x10000;0x%s;0x1001|STOP", value);
	write_text("a.log", log);
	command_refuses(command, "expected a size from 0x1 to 0x1000 (4096 bytes), found \"0x1001");
	snprintf(log, sizeof log,
		"START|REGISTER_FILE;pool;0x10000;0x1000;0x0|STORE;0x10000;0x%s;0x1000|STOP", value);
	write_text("a.log", log);
	command_prints(command, "1 store, ");
	clean();
}

TEST(logs_are_written_and_dumped)
{
	command_prints("run kv --count=20 --log=%D/a.nvl", "");
	command_prints("log dump %D/a.nvl", "launch");
	command_remove("a.nvl");
}

GROUP_OF_COMMANDS("PLACES_WORKLOAD", "TUTORIAL_QUEUE");
