/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that a program announces and acknowledges (nvw/ack.h): the record, what checkers are told, what
 * findings say, and the oracle that compares what programs print (--oracle=replay). host/examples/skeleton.c
 * is the subject, and small programs that the test compiles.
 */
#include "common/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/persist_log.h>

#include "common/shell.h"
#include "common/skip.h"

static void crash_states(int status, const char *bug, const char *oracle, unsigned states)
{
	exits(status,
		"$NVWAVE crash --exec=\"$HOST_SKELETON run pool 24 %s\" --image=pool %s --timeout=200ms "
		"--states=%u --cures=off",
		bug, oracle, states);
}

static void crash(int status, const char *bug, const char *oracle)
{
	crash_states(status, bug, oracle, 400);
}

static void crash_by(int status, const char *bug, const char *command)
{
	crash(status, bug, formatted("--check=\"$HOST_SKELETON %s\"", command));
}

static void crash_and_then(int status, const char *bug, const char *oracle)
{
	crash(status, bug, formatted("%s --and-then=\"$HOST_SKELETON go-on\"", oracle));
}

/* ---- The record ------------------------------------------------------------------------------- */

/* Operation number n of the skeleton lies between its begin and its acknowledgement, with all its stores. */
TEST(each_store_lies_between_begin_and_acknowledgement_of_its_operation)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	uint64_t open = UINT64_MAX, begun = 0, acknowledged = 0, stores = 0;
	int more;

	succeeds("$NVWAVE exec --record=log -- $HOST_SKELETON run pool 24");
	assert_ok(nvw_log_open(in_dir("log"), &reader));
	while ((more = nvw_log_next(reader, &r)) == 1) {
		if (r.kind == NVW_LOG_BEGIN) {
			assert_int_equal(r.begin.number, begun++);
			assert_true(strncmp(r.begin.name, "put ", 4) == 0 ||
				    strncmp(r.begin.name, "drop ", 5) == 0);
			open = r.begin.number;
		} else if (r.kind == NVW_LOG_ACK) {
			assert_int_equal(r.ack.first, open);
			assert_int_equal(r.ack.work_item, 1);
			acknowledged++;
			open = UINT64_MAX;
		} else if (r.kind == NVW_LOG_STORE && begun > 0) {
			assert_true(open != UINT64_MAX);
			stores++;
		}
	}
	assert_int_equal(more, 0);
	nvw_log_reader_close(reader);
	assert_int_equal(begun, 24);
	assert_int_equal(acknowledged, 24);
	assert_true(stores > 40);
	succeeds("$NVWAVE log dump log | grep -q 'skeleton.c:.*operation 1: put 10'");
	succeeds("$NVWAVE log dump --output-format=json log | grep -c '\"name\":\"put 10\"'");
}

static const char plain_program[] = "#include <nvw/ack.h>\n"
				    "#include <stdio.h>\n"
				    "int main(void) {\n"
				    "	unsigned i;\n"
				    "	for (i = 0; i < 3; i++) {\n"
				    "		nvw_operation_begins(i, \"some\\xff name\");\n"
				    "		nvw_operation_is_durable(i);\n"
				    "	}\n"
				    "	nvw_operation_begins(3, 0);\n"
				    "	puts(\"done\");\n"
				    "	return 0;\n"
				    "}\n";

static const char *const compilers[] = {"cc -std=c11", "cc -std=gnu89", "cc -O2", "cc -static",
	"cc -no-pie -O2", "c++ -x c++ -std=c++11", "c++ -x c++ -O2 -std=c++20", "clang",
	"clang++ -x c++ -O2 -no-pie"};

TEST(the_header_needs_nothing_and_does_nothing_outside_of_nvwave)
{
	unsigned tried = 0;

	write_text("plain.c", plain_program);
	for_each(compiler, compilers) {
		if (run("command -v %.*s", (int)strcspn(*compiler, " "), *compiler) != 0) {
			continue;
		}
		succeeds("%s -Wall -Wextra -Werror -I%s -o plain plain.c", *compiler, HEADERS);
		succeeds("./plain");
		assert_string_equal(output, "done\n");
		tried++;
	}
	assert_true(tried >= 5);
}

/* A number of the report of nvwave exec, -1 if it is not there. */
static double reported(const char *name)
{
	const char *const at = strstr(output, name);

	return at ? strtod(at + strlen(name), NULL) : -1;
}

/*
 * The subject flushes and drains at least once in an operation; a wait for the device is never shorter than
 * asked for.
 */
TEST(exec_reports_latencies_and_flushes_of_operations)
{
	succeeds("$NVWAVE exec --set nvram.write=50us -- $HOST_SKELETON run pool 24");
	assert_true(reported("operation.count ") == 24);
	assert_true(reported("operation.p50 ") >= 49000 && reported("operation.p99 ") >= 49000);
	assert_true(reported("operation.p50 ") <= reported("operation.p999 "));
	assert_true(reported("operation.p999 ") <= reported("operation.longest "));
	assert_true(reported("operation.fences_per_op ") >= 1);
	assert_true(reported("operation.fences_per_op ") * 24 <= reported("pmem.fences "));
	assert_true(reported("operation.lines_per_op ") * 24 <= reported("pmem.lines_flushed "));
	assert_true(reported("operation.lines_per_op ") >= reported("operation.flushes_per_op "));
	succeeds("$NVWAVE exec -- true");
	assert_true(reported("operation.count ") == -1);
	write_text("plain.c", plain_program);
	succeeds("cc -I%s -o plain plain.c && $NVWAVE exec -- ./plain", HEADERS);
	assert_true(reported("operation.count ") == 3 && reported("operation.fences_per_op ") == 0);
}

/* A program that maps a file by hand, one store an operation; built by whatever compiler. */
static const char mapping_program[] =
	"#include <fcntl.h>\n#include <stdint.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
	"#include <nvw/ack.h>\n"
	"int main(int n, char **a) {\n"
	"	const int fd = open(a[1], O_RDWR | O_CREAT, 0666);\n"
	"	if (ftruncate(fd, 4096)) return 1;\n"
	"	volatile uint64_t *p = (volatile uint64_t *)mmap(0, 4096, "
	"PROT_READ | PROT_WRITE, MAP_SHARED, fd, "
	""
	"0);\n"
	"	for (uint64_t i = 0; i < 4; i++) {\n"
	"		nvw_operation_begins(i, \"append\");\n"
	"		p[i * 8] = i + 1;\n"
	"		__asm__ volatile(\"clflush %0\\n\\tmfence\" : : \"m\"(p[i * 8]) : \"memory\");\n"
	"		nvw_operation_is_durable(i);\n"
	"	}\n"
	"	return n < 0;\n"
	"}\n";

TEST(operations_are_heard_from_programs_of_nvwave_cc_too)
{
	static const char *const by[] = {"cc -O2", "c++ -x c++ -O0", "clang -O1 -no-pie"};

	if (!getenv("HOST_CC")) {
		skip();
	}
	for_each(one, by) {
		clean();
		write_text("mapping.c", mapping_program);
		if (run("command -v %.*s", (int)strcspn(*one, " "), *one) != 0) {
			continue;
		}
		succeeds("$HOST_CC %s -g -I%s -o mapping mapping.c", *one, HEADERS);
		succeeds("$NVWAVE exec --record=log -- ./mapping pool");
		/* begin, store, flush, fence and acknowledgement of each, in this order */
		succeeds("$NVWAVE log dump log | awk '$2 != \"site\" && $2 ~ /^[a-z]/ {print $2}' | tr '\\n' "
			 "' '");
		assert_output_has("begin store flush fence ack begin store flush fence ack begin store flush "
				  "fence ack begin store flush fence ack end");
		succeeds("$NVWAVE log dump log | grep -v ' site ' | grep -c 'mapping.c:1[1-5] (main)'");
		assert_string_equal(output, "20\n"); /* all events have their places, none the header's */
	}
}

/* Stores of C++ functions, one of them inlined. */
static const char cpp_program[] =
	"#include <fcntl.h>\n#include <stdint.h>\n#include <sys/mman.h>\n#include <unistd.h>\n#include "
	"<libpmem.h>\n"
	"namespace shop {\n"
	"template <typename T> struct ledger {\n"
	"	T *at;\n"
	"	__attribute__((noinline)) void add(T v, int) { *at = v; pmem_persist(at, sizeof v); }\n"
	"	__attribute__((always_inline)) void change(T v) { at[8] = v; pmem_persist(at + 8, sizeof v); "
	"}\n"
	"};\n"
	"}\n"
	"int main(int n, char **a) {\n"
	"	const int fd = open(a[1], O_RDWR | O_CREAT, 0666);\n"
	"	if (ftruncate(fd, 4096)) return 1;\n"
	"	shop::ledger<uint64_t> l = {(uint64_t *)mmap(0, 4096, "
	"PROT_READ | PROT_WRITE, MAP_SHARED, fd, "
	""
	"0)};\n"
	"	l.add(7, n);\n"
	"	l.change(8);\n"
	"	return 0;\n"
	"}\n";

TEST(functions_of_cpp_have_their_names_and_inlined_ones_are_named_too)
{
	write_text("shop.cpp", cpp_program);
	if (run("command -v c++") != 0) {
		skip();
	}
	succeeds("c++ -O1 -g -o shop shop.cpp -lpmem");
	succeeds("$NVWAVE exec --record=log -- ./shop pool");
	succeeds("$NVWAVE log dump log");
	assert_output_has("shop.cpp:9 (shop::ledger<unsigned long>::add)",
		"shop.cpp:10 (shop::ledger<unsigned long>::change, inlined in main)");
	assert_output_lacks("_ZN4shop");
}

/* ---- What checkers are told ------------------------------------------------------------------- */

/* Writes down what it is told; the file it is told of must name operation 1. */
static const char teller[] = "#!/bin/sh\n"
			     "grep -q '^1 put 10$' \"$NVWAVE_OPERATIONS\" || { echo no name; exit 1; }\n"
			     "echo \"$NVWAVE_ACKNOWLEDGED/$NVWAVE_IN_FLIGHT\" >>told\n";

TEST(checkers_are_told_what_was_acknowledged_however_they_are_started)
{
	static const char *const forms[] = {"./teller", ": && ./teller", "X=1 ./teller"};
	char first[1 << 12] = "";

	NVW_FOR(i, NVW_COUNT(forms)) {
		clean();
		write_text("teller", teller);
		succeeds("chmod +x teller");
		/* An operation in flight is the one behind those that are acknowledged. */
		crash(0, "", formatted("--check=\"%s\"", forms[i]));
		succeeds("sort -u told | sort -t- -k2 -n");
		assert_output_has("/\n0/1\n0-1/2\n", /* the first one changes nothing */
			"\n0-23/\n");                /* all of them */
		assert_output_lacks("\n0-3/5\n");
		if (i == 0) {
			snprintf(first, sizeof first, "%.4000s", output);
		}
		assert_string_equal(first, output);
	}
}

static const char library_source[] =
	"#include <nvw/checker.h>\n#include <stdio.h>\n#include <string.h>\n"
	"int nvw_check(struct nvw_check *c) {\n"
	"	uint64_t n = 0;\n"
	"	if (c->operations != 24 || strcmp(c->name(c, 1), \"put 10\") || *c->name(c, 24)) return 1;\n"
	"	while (n < c->operations && c->is_acknowledged(c, n)) n++;\n"
	"	for (uint64_t i = n + 1; i < c->operations; i++)\n"
	"		if (c->is_acknowledged(c, i) || c->is_in_flight(c, i)) return 1;\n"
	"	if (n != 12 || c->is_in_flight(c, 11) || !c->is_in_flight(c, 12)) return 0;\n"
	"	snprintf(c->message, c->message_bytes, \"after twelve operations\");\n"
	"	return 1;\n"
	"}\n";

TEST(a_library_is_told_the_same)
{
	write_text("check.c", library_source);
	succeeds("cc -shared -fPIC -I%s -o check.so check.c", HEADERS);
	crash(1, "", "--check-lib=./check.so");
	assert_output_has("after twelve operations", "in flight: operation 12 (");
}

/* ---- The skeleton ----------------------------------------------------------------------------- */

TEST(a_right_structure_is_consistent_by_every_oracle)
{
	crash_by(0, "", "check");
	crash_by(0, "", "look");
	crash(0, "", "--oracle=replay");
	crash_and_then(0, "", "--oracle=replay");
}

/* What is handed out twice shows when the structure is used further, and in no look-up before. */
TEST(going_on_finds_what_look_ups_alone_do_not)
{
	skip_if_sanitized();
	crash_by(0, "forgets", "look");
	/* Others of its states run in circles up to the limit. */
	crash_states(1, "forgets", "--check=\"$HOST_SKELETON check\" --stop-after=1", 50);
	assert_output_has("after going on, key");
}

TEST(a_program_that_works_on_after_recovery_shows_what_its_output_alone_does_not)
{
	skip_if_sanitized();
	crash(0, "forgets", "--oracle=replay");
	crash_and_then(1, "forgets", "--oracle=replay --stop-after=1 --save=saved");
	assert_output_has(" 1  going on after recovery: the program does not terminate: ");
	exits(1, "$NVWAVE replay saved/finding-1");
	assert_output_has("REPRODUCED   going on after recovery: the program does not terminate");
}

TEST(a_program_that_cannot_work_on_is_a_finding_and_its_words_stand_there)
{
	crash_by(1, "", "look\" --and-then=\"echo no room; exit 3;:");
	assert_output_has("going on after recovery: the program exited with status 3: no room");
	crash_by(1, "", "look\" --and-then=\"truncate -s 0");
	assert_output_has("after recovery, and going on: ");
	crash(2, "", "--check-lib=none.so --and-then=true");
	assert_output_has("--and-then=COMMAND needs --check=COMMAND or --oracle=replay");
}

TEST(an_acknowledged_operation_is_named_with_its_store)
{
	crash_by(1, "lazy", "look");
	assert_output_has("    operation 9 (put 0) was acknowledged\n",
		"is never flushed: ordering it before operation 9 (put 0) is acknowledged",
		"    in flight: operation 10 (drop 10)\n");
	crash_by(1, "early", "look");
	assert_output_has("in flight: operation 3 (put 6)");
	assert_output_lacks("is acknowledged");
}

/* ---- Without a checker ------------------------------------------------------------------------ */

TEST(without_a_checker_what_the_program_prints_tells)
{
	crash(1, "early", "--oracle=replay");
	assert_output_has("\"key 10: 0\" instead of \"key 10: 2\"");
	crash(1, "lazy", "--oracle=replay");
	assert_output_has("operation 9 (put 0) was acknowledged");
}

TEST(the_command_that_prints_may_be_the_users)
{
	static const char oracle[] =
		"--oracle=replay --recover=\"$HOST_SKELETON --recover-and-print pool | head -12\"";

	crash_states(0, "", oracle, 40);
	crash_states(1, "lazy", oracle, 80);
	assert_output_has("executed anew for every state, because a shell has to read its command (a pipe");
}

TEST(a_finding_of_what_is_printed_is_replayed)
{
	crash(1, "lazy", "--oracle=replay --save=saved");
	exits(1, "$NVWAVE replay saved/finding-1");
	assert_output_has("REPRODUCED");
	/* A program that prints what it may passes. */
	crash_by(1, "lazy", "look --save=checked");
	exits(1, "cd saved && $NVWAVE replay finding-1");
}

TEST(a_finding_of_a_checker_is_replayed_with_its_operations)
{
	crash_by(1, "lazy", "look\" --save=\"saved");
	exits(1, "$NVWAVE replay saved/finding-1");
	assert_output_has("REPRODUCED");
}

TEST(an_oracle_without_anything_to_compare_is_refused)
{
	exits(2, "$NVWAVE crash --exec='cp /dev/null create pool' --image=pool --oracle=replay");
	crash(2, "", "--oracle=replay --check=true");
	assert_output_has("--oracle=replay cannot be combined with --check");
	crash(2, "", "--check=true --recover=true");
	assert_output_has("--recover has no effect without --oracle=replay");
	crash(2, "", "--oracle=replay --recover='date +%N;:'");
	assert_output_has("prints different output for the same file");
	crash(2, "", "--oracle=replay --recover=false");
	assert_output_has("fails on the program's final file");
}

/* It dies on every file but the final one: what a state says, the run without a crash says, too. */
TEST(a_command_that_also_fails_without_a_crash_is_said_to)
{
	write_text("frail", "out=$($HOST_SKELETON --recover-and-print $1); "
			    "[ \"$out\" = \"$(cat want)\" ] || exit 3; echo \"$out\"");
	succeeds("$HOST_SKELETON run whole 24 >/dev/null && $HOST_SKELETON --recover-and-print whole >want");
	crash_states(1, "", "--oracle=replay --recover='sh frail'", 20);
	assert_output_has("exited with status 3; after the same operations it fails without a crash, too");
	crash(1, "early", "--oracle=replay");
	assert_output_lacks("it fails without a crash, too");
}

/* A structure whose further use runs in circles: the place is named, and most such states are cut early. */
TEST(hangs_have_their_line_and_do_not_eat_the_budget)
{
	skip_if_sanitized();
	exits(1, "$NVWAVE crash --exec=\"$HOST_SKELETON run pool 6 forgets\" --image=pool --oracle=replay "
		 "--and-then=\"$HOST_SKELETON go-on\" --states=30 --timeout=400ms --cures=off "
		 "--output-format=json "
		 "--html=page >report");
	succeeds("grep 'does not terminate: host/examples/skeleton.c:[0-9]* ([a-z_, ]*)' report");
	succeeds("grep '\"hangs_alike\": [1-9]' report");
	succeeds("test $(grep -A9 '\"stack\"' report | grep -c 'skeleton.c:[0-9]* (') -ge 2");
	succeeds("grep 'checks were cut early' page && grep 'in flight: operation' page && "
		 "grep 'The stack there' page && rm page");
}

/* ---- Several threads -------------------------------------------------------------------------- */

/*
 * Two threads, each with its own line, take turns such that both have an operation in flight. BUG: the second
 * one's store is flushed after its acknowledgement.
 */
static const char threads_program[] =
	"#include <fcntl.h>\n#include <libpmem.h>\n#include <pthread.h>\n#include <stdint.h>\n#include "
	"<stdio.h>\n"
	"#include <string.h>\n#include <sys/mman.h>\n#include <unistd.h>\n#include <nvw/ack.h>\n"
	"static uint64_t *p; static pthread_barrier_t turn; static int bug;\n"
	"static void *work(void *mine) {\n"
	"	const uint64_t me = (uint64_t)(uintptr_t)mine;\n"
	"	for (uint64_t i = 0; i < 4; i++) {\n"
	"		nvw_operation_begins(2 * i + me, me ? \"right\" : \"left\");\n"
	"		pthread_barrier_wait(&turn);\n"
	"		p[8 + 8 * me] = i + 1;\n"
	"		if (!bug || !me) pmem_persist(p + 8 + 8 * me, 8);\n"
	"		nvw_operation_is_durable(2 * i + me);\n"
	"		if (bug && me) pmem_persist(p + 8 + 8 * me, 8);\n"
	"		pthread_barrier_wait(&turn);\n"
	"	}\n"
	"	return NULL;\n"
	"}\n"
	"int main(int n, char **a) {\n"
	"	const int prints = n > 2 && !strcmp(a[1], \"--recover-and-print\");\n"
	"	const int fd = open(a[prints ? 2 : 1], O_RDWR | O_CREAT, 0666);\n"
	"	pthread_t t;\n"
	"	if (ftruncate(fd, 4096)) return 1;\n"
	"	p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);\n"
	"	if (prints) { printf(\"%d %d\\n\", (int)p[8], (int)p[16]); return 0; }\n"
	"	bug = n > 2;\n"
	"	pthread_barrier_init(&turn, NULL, 2);\n"
	"	pthread_create(&t, NULL, work, (void *)1);\n"
	"	work((void *)0);\n"
	"	pthread_join(t, NULL);\n"
	"	return 0;\n"
	"}\n";

TEST(of_operations_in_flight_any_subset_may_have_happened)
{
	write_text("threads.c", threads_program);
	succeeds("cc -O1 -g -pthread -I%s -o threads threads.c -lpmem", HEADERS);
	succeeds("$NVWAVE crash --exec='./threads pool' --image=pool --oracle=replay");
	exits(1, "$NVWAVE crash --exec='./threads pool bug' --image=pool --oracle=replay");
	assert_true(printed("(right) was acknowledged") || printed("(right) is acknowledged"));
}

/* ---- Beginning and end ------------------------------------------------------------------------ */

GROUP_IN_FOLDER("HOST_SKELETON");
