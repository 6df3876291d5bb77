/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scenarios and protocols: what options ask of scopes implies a protocol where none is named, and is refused
 * under one that cannot keep it. What is not refused is right, and free of races. Likewise a machine implies
 * what a power cut may lose.
 */
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define SMALL_GRAPH "--graph=grid:24x24 --queues=8 --group-size=16 --max-iterations=2"
#define SMALL_STEAL "--tasks=24 --groups=4 --depth=4 --group-size=16"

/* Programs, and the protocols that cannot keep them, from the papers: alsop16 II.D and V.C, sinclair15 3. */
static const struct {
	const char *program, *option;
	const char *wrong_under; /* each between blanks */
} programs[] = {
	{"pagerank " SMALL_GRAPH, "--scenario=scope-only", ""},
	{"pagerank " SMALL_GRAPH, "--scenario=steal-only", ""},
	{"pagerank " SMALL_GRAPH, "--scenario=rsp", " vi gh dh "},
	{"sssp " SMALL_GRAPH, "--scenario=hlrc-scoped", " vi gh rsp dh "},
	{"steal-log " SMALL_STEAL, "--scenario=agent", ""},
	{"steal-log " SMALL_STEAL, "--scenario=remote", " vi gh dh "},
	{"semaphore --iterations=2 --set=gpu.cus=2", "--scope=local", " vi rsp "},
	{"mutex --iterations=3 --set=gpu.cus=2 --sharing=local", "--scope=local", " vi rsp "},
	{"saved-tasks", "--recovery=copy", ""},
	{"saved-tasks", "--recovery=undo", ""},
};

enum { PROGRAMS = NVW_COUNT(programs) };

static void expect_pair(unsigned i, const char *protocol)
{
	const char *const line = formatted(
		"run %s %s --protocol=%s --check=races", programs[i].program, programs[i].option, protocol);

	if (strstr(programs[i].wrong_under, formatted(" %s ", protocol))) {
		command_refuses(line, formatted("cannot run correctly under %s: it needs", protocol));
		command_refuses(line, programs[i].option);
	} else {
		command_prints(line, "");
	}
}

TEST(what_is_not_refused_is_right_and_free_of_races_under_every_protocol)
{
	char *const list = strdup(command_run("list protocols")->out), *next;
	unsigned protocols = 0;

	for (char *line = strtok_r(list, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		line[strcspn(line, " ")] = '\0';
		NVW_FOR(i, PROGRAMS) {
			expect_pair(i, line);
		}
		protocols++;
	}
	free(list);
	assert_true(protocols >= 20);
}

TEST(a_refusal_names_the_protocols_that_can_keep_it)
{
	command_refuses("run sssp --scenario=rsp --protocol=vi",
		"sssp --scenario=rsp cannot run "
		"correctly under vi: it needs a protocol with remote-scope "
		"promotion, or without "
		"scopes (gd, rsp, denovo-b, dd, dd+ro, hlrc, hlrc-scoped, rfo, mttop-wb, no-l1, wt, "
		"quickrelease, stc-nv, "
		"stc-es, stc-ab, stc-mb, tcs");
	command_refuses("crash steal-log --scenario=remote --protocol=gh --states=1", "cannot run "
										      "correctly under gh");
	command_refuses("run semaphore --scope=local --set=gpu.protocol=rsp", "cannot run correctly under "
									      "rsp");
}

TEST(a_scenario_implies_its_protocol)
{
	command_prints("run sssp " SMALL_GRAPH " --scenario=rsp", "protocol rsp,");
	command_prints("run pagerank " SMALL_GRAPH " --scenario=hlrc-scoped", "protocol hlrc-scoped,");
	command_prints("run color " SMALL_GRAPH " --machine=sinclair15 --scenario=denovo-b", "protocol "
											     "denovo-b,");
	command_prints("run steal-log " SMALL_STEAL " --scenario=remote", "protocol rsp,");
	command_prints("run semaphore --iterations=2 --scope=local", "protocol gh,");
	command_prints("crash steal-log " SMALL_STEAL " --scenario=remote --states=1", "protocol rsp,");
}

TEST(a_protocol_that_is_named_is_kept)
{
	command_prints("run sssp " SMALL_GRAPH " --scenario=rsp --protocol=gd", "protocol gd,");
	command_prints("run steal-log " SMALL_STEAL " --scenario=remote --set=gpu.protocol=dd", "protocol "
												"dd,");
}

TEST(a_machine_has_the_protocol_of_its_paper_or_of_its_file)
{
	command_prints("run nn --machine=sinclair15 --set=gpu.cus=2", "protocol gd,");
	command_prints("run pagerank " SMALL_GRAPH " --machine=alsop16", "protocol rsp,");
	command_prints("run kv --count=50", "protocol vi,");
	/* The local scope of sinclair15 needs no other protocol where there are no scopes. */
	command_prints("run semaphore --iterations=2 --machine=sinclair15", "protocol gd,");
	write_text("own.ini", "[gpu]\nprotocol = dh\n");
	command_prints("run kv --count=50 --machine=%D/own.ini", "protocol dh,");
	command_prints("run kv --count=50 --machine=%D/own.ini --dump-machine=-", "protocol = dh");
	command_prints("run kv --count=50 --machine=%D/own.ini --protocol=vi --dump-machine=-", "protocol "
												"= vi");
	write_text("own.ini", "[gpu]\nprotocol = hrlc\n");
	command_refuses("run kv --count=50 --machine=%D/own.ini", "did you mean hlrc?");
	command_remove("own.ini");
}

TEST(each_protocol_leaves_out_those_that_cannot_keep_it)
{
	static const char line[] =
		"crash steal-log " SMALL_STEAL " --scenario=remote --states=1 --protocol=each";

	command_expect(line, 0, "nothing failed under 17 of 17 protocols",
		"left out: steal-log --scenario=remote cannot run correctly under vi");
}

/* Stores that caches keep are not lost there, whatever was acknowledged too early elsewhere. */
TEST(permitted_mode_explores_what_the_machine_can_lose)
{
#define EARLY "crash queue --count=64 --mode=permitted --mutate=ack-before-barrier --cures=off"
	command_finds(EARLY, "INCONSISTENT");
	command_finds(EARLY, "epoch persistency");
	command_prints(EARLY " --set=nvram.domain=eadr", "CONSISTENT   all ");
	command_prints(EARLY " --set=nvram.domain=eadr", "eadr persistency");
}

GROUP_OF_COMMANDS();
