/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that nvwave-cc has built, by several compilers: what is recorded is compared with what the program
 * says itself that it does (cc_subject.c), and a log by hand with its bugs is crash-tested
 * (host/examples/raw_log.c).
 */
#include "common/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/persist_log.h>

#include "common/json.h"
#include "common/shell.h"
#include "common/skip.h"

enum { BYTES = 1 << 14, SITES = 512, THREADS = 4, ROUNDS = 500 };

/* The paths of a list that NULL ends. */
#define for_each_path(path, list) for (char **path = (list); *path != NULL; path++)
/* By default every second path, from the first (0) or, if there is one, from the second (1). */
#define for_each_second_path(path, list, from) \
	for (char **path = first_path((list), (from)); *path != NULL; path = next_path(path, one_in(2)))

static char *subjects[8], *raw_logs[8]; /* one a compiler, NULL at the end */

static char **first_path(char **list, unsigned from)
{
	return one_in(2) == 2 && list[from] != NULL ? list + from : list;
}

/* The path that is n further, or the end. */
static char **next_path(char **path, unsigned n)
{
	while (n-- > 0 && *path != NULL) {
		path++;
	}
	return path;
}

static void record(const char *program, const char *mode, unsigned number)
{
	clean();
	succeeds("$NVWAVE exec --delays=off --record=log --report=report --output-format=json -- %s %s "
		 "pool %u",
		program, mode, number);
}

static FILE *open_in_dir(const char *name)
{
	FILE *const f = fopen(in_dir(name), "r");

	assert_non_null(f);
	return f;
}

static struct nvw_log_reader *open_log(void)
{
	struct nvw_log_reader *reader;

	assert_ok(nvw_log_open(in_dir("log"), &reader));
	return reader;
}

/* ---- What is recorded ------------------------------------------------------------------------- */

/* A record as the subject writes it; false: of a kind that it does not write. */
static bool describe(const struct nvw_log_record *r, uint32_t lines[SITES], char *text, size_t n)
{
	switch (r->kind) {
	case NVW_LOG_SITE:
		assert_true(r->site.id < SITES);
		lines[r->site.id] = r->site.line;
		return false;
	case NVW_LOG_STORE:
		snprintf(text, n, "store %u %llu %u %llu", lines[r->store.site],
			(unsigned long long)r->store.off, r->store.bytes, (unsigned long long)r->store.value);
		return true;
	case NVW_LOG_FLUSH:
		snprintf(text, n, "%s %u %llu %llu 0", r->flush.ordered ? "ordered" : "flush",
			lines[r->flush.site], (unsigned long long)r->flush.off,
			(unsigned long long)r->flush.bytes);
		return true;
	case NVW_LOG_FENCE:
		snprintf(text, n, "fence %u 0 0 0", lines[r->fence.site]);
		return true;
	default:
		return false;
	}
}

/* The log has what the program expects, record by record; how many. */
static unsigned compare_with_expected(void)
{
	FILE *const expected = open_in_dir("expected");
	struct nvw_log_reader *const reader = open_log();
	struct nvw_log_record r;
	uint32_t lines[SITES] = {0};
	char got[128], wanted[128];
	unsigned n = 0;

	assert_int_equal(nvw_log_info(reader)->atomicity, 8);
	while (nvw_log_next(reader, &r) == 1) {
		if (describe(&r, lines, got, sizeof got)) {
			if (fgets(wanted, sizeof wanted, expected) == NULL) {
				fail_msg("record %u is %s, and nothing was expected", n, got);
			}
			wanted[strcspn(wanted, "\n")] = '\0';
			assert_string_equal(got, wanted);
			n++;
		}
	}
	assert_null(fgets(wanted, sizeof wanted, expected));
	fclose(expected);
	nvw_log_reader_close(reader);
	return n;
}

/* The log on a file of zeros gives the file. */
static void replay(void)
{
	static uint8_t replayed[BYTES], now[BYTES];
	struct nvw_log_reader *const reader = open_log();
	FILE *const pool = open_in_dir("pool");
	struct nvw_log_record r;

	memset(replayed, 0, sizeof replayed);
	while (nvw_log_next(reader, &r) == 1) {
		if (r.kind == NVW_LOG_STORE) {
			memcpy(replayed + r.store.off, &r.store.value, r.store.bytes);
		}
	}
	assert_int_equal(fread(now, 1, BYTES, pool), BYTES);
	assert_memory_equal(replayed, now, BYTES);
	fclose(pool);
	nvw_log_reader_close(reader);
}

TEST(every_instruction_is_recorded_once_with_its_line)
{
	for_each_path(s, subjects) {
		record(*s, "kinds", 0);
		assert_true(compare_with_expected() > 150);
		replay();
	}
}

TEST(a_random_program_is_recorded_as_it_says_itself)
{
	for_each_path(s, subjects) {
		for (unsigned k = (unsigned)(s - subjects) % one_in(3); k < 3; k += one_in(3)) {
			record(*s, "random", 1 + k);
			assert_true(compare_with_expected() > 3000);
			replay();
		}
	}
}

TEST(registers_flags_and_the_red_zone_survive)
{
	for_each_path(s, subjects) {
		record(*s, "registers", 0);
		succeeds("$NVWAVE exec -- %s registers pool", *s);
		succeeds("%s registers pool", *s);
	}
}

TEST(jumps_forks_and_sudden_ends_keep_program_order)
{
	for_each_path(s, subjects) {
		record(*s, "jumps", 0);
		assert_int_equal(compare_with_expected(), 13);
		record(*s, "forks", 0);
		assert_int_equal(compare_with_expected(), 8);
		record(*s, "quits", 0);
		assert_int_equal(compare_with_expected(), 2);
	}
}

TEST(the_same_run_gives_the_same_log_byte_for_byte)
{
	run("rm -rf -- /tmp/nvwave-first-log.%d", (int)getpid());
	record(subjects[0], "random", 7);
	succeeds("mv log /tmp/nvwave-first-log.%d", (int)getpid());
	record(subjects[0], "random", 7);
	succeeds("cmp log /tmp/nvwave-first-log.%d", (int)getpid());
	run("rm -rf -- /tmp/nvwave-first-log.%d", (int)getpid());
}

TEST(without_nvwave_a_program_does_the_same)
{
	for_each_second_path(s, subjects, 1) {
		record(*s, "random", 2);
		succeeds("mv pool first && mv expected first.expected && %s random pool 2", *s);
		succeeds("cmp pool first && cmp expected first.expected");
	}
}

TEST(atomics_of_threads_are_recorded_one_by_one)
{
	for_each_path(s, subjects) {
		uint64_t counted = 0, own[THREADS][2] = {{0}};
		struct nvw_log_record r;

		record(*s, "threads", 0);
		struct nvw_log_reader *const reader = open_log();

		while (nvw_log_next(reader, &r) == 1) {
			if (r.kind == NVW_LOG_STORE && r.store.off == 0) {
				assert_int_equal(r.store.value, ++counted);
			} else if (r.kind ==
				   NVW_LOG_STORE) { /* two words of a line, the first before the second */
				uint64_t *const o = own[r.store.off / 64 - 1];
				const unsigned word = r.store.off / 8 % 8;

				assert_int_equal(r.store.value, ++o[word]);
				assert_true(o[0] == o[1] + (word == 0));
			}
		}
		assert_int_equal(counted, THREADS * ROUNDS);
		NVW_EACH(one, own, THREADS) {
			assert_true((*one)[0] == ROUNDS && (*one)[1] == ROUNDS);
		}
		nvw_log_reader_close(reader);
		replay();
	}
}

TEST(handlers_of_signals_neither_block_nor_lose_stores)
{
	for_each_path(s, subjects) {
		record(*s, "signals", 0);
		replay();
	}
	for_each_second_path(s, subjects, 1) {
		record(*s, "steps", 0);
		replay();
	}
}

TEST(stores_that_the_compiler_does_not_announce_are_recorded_all_the_same)
{
	for_each_path(s, subjects) {
		record(*s, "unannounced", 0);
		struct nvw_log_reader *const reader = open_log();

		assert_int_equal(nvw_log_info(reader)->atomicity, 8); /* nothing was left to comparing */
		nvw_log_reader_close(reader);
		replay();
	}
}

TEST(what_was_not_recompiled_is_found_by_comparing)
{
	for_each_path(s, subjects) {
		struct nvw_log_record r;
		uint64_t seen = 0, strayed = 0;

		record(*s, "mixed", 0);
		struct nvw_log_reader *const reader = open_log();

		assert_int_equal(
			nvw_log_info(reader)->atomicity, 64); /* it does not know the order of all of them */
		while (nvw_log_next(reader, &r) == 1) {
			if (r.kind == NVW_LOG_STORE && r.store.off < 64) {
				assert_int_equal(
					r.store.value, ++seen); /* in one line, in order all the same */
			}
			strayed += r.kind == NVW_LOG_STORE && r.store.off == 160 && r.store.value == 5;
		}
		assert_int_equal(seen, 4);
		assert_int_equal(strayed, 1);
		nvw_log_reader_close(reader);
		replay();
	}
}

/* ---- Crash tests ------------------------------------------------------------------------------ */

/* Appends five values; the exit status. */
static void crash(int status, const char *program, const char *bug, const char *options)
{
	clean();
	exits(status,
		"$NVWAVE crash --exec='%s append pool 5 %s' --image=pool --check='%s check' --save=found %s",
		program, bug, program, options);
}

/* So many lines behind the one that is marked, or has a text. */
static bool names_line(const char *mark, int behind)
{
	const int line = (int)line_with(RAW_LOG_SOURCE, mark) + behind;

	for (const char *at = output; (at = strstr(at, "raw_log.c:")) != NULL; at++) {
		if (atoi(at + 10) == line) {
			return true;
		}
	}
	return false;
}

TEST(a_right_log_by_hand_is_consistent)
{
	for_each_path(s, raw_logs) {
		crash(0, *s, "", "--model=x86");
		assert_output_has("16 stores, 11 fences", "exhausted");
		/* Which knows no lines: any of what is flushed may be there. */
		crash(1, *s, "", "--model=pmreorder");
		/* A crash may come between any two stores. */
		crash(0, *s, "", "--model=eadr");
		assert_output_has("17 states at 17 instants");
	}
}

TEST(a_count_stored_before_its_value_in_one_line_is_found)
{
	for_each_second_path(s, raw_logs, 0) {
		crash(1, *s, "early", "--model=x86");
		assert_output_has("is counted, and wrong");
		assert_true(names_line("/* early */", 0));
		assert_true(names_line("/* early */", -1));
		assert_output_has("in one line, which persists in program order");
		crash(1, *s, "early", "--model=eadr");
		assert_true(names_line("/* early */", -1));
	}
}

/* Both stores are in one line, in the wrong order. What is compared at the call cannot show that. */
static const char early_source[] =
	"#include <libpmem.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
	"int main(int argc, char **argv)\n{\n"
	"	size_t n;\n	volatile uint64_t *const p = pmem_map_file("
	"argv[argc - 1], 4096, PMEM_FILE_CREATE, "
	""
	"0600, &n, NULL);\n"
	"	if (argc == 3) {\n		puts(p[0] && !p[1] ? \"valid without its value\" : "
	"\"whole\");\n"
	"		return p[0] && !p[1];\n	}\n"
	"	p[0] = 1;\n	p[1] = 7;\n	pmem_persist((void *)p, 16);\n	return 0;\n}\n";

static void crash_early(int status, const char *options)
{
	exits(status,
		"rm -f pool && head -c 4096 /dev/zero >pool && $NVWAVE crash --exec='./early pool' "
		"--image=pool "
		"--check='./plain check' %s",
		options);
}

TEST(stores_of_a_line_that_were_compared_are_no_reason_to_be_sure)
{
	static const char says[] = "stores within a line were not ordered: build with nvwave-cc";

	write_text("early.c", early_source);
	succeeds("cc -O1 -o plain early.c -lpmem && cp plain early");
	crash_early(0, "--html=page");
	assert_output_has("NO FAILURE FOUND in ", says);
	assert_output_lacks("100 %");
	succeeds("grep -q '<p>NO FAILURE FOUND in .*%s' page", says);
	crash_early(0, "--mode=kill --states=3");
	assert_output_has("NO FAILURE FOUND in 3 kills", says);
	crash_early(0, "--output-format=json");
	assert_output_has("\"verdict\": \"not-refuted\"", says, "\"atomicity\": 64");
	succeeds("$HOST_CC cc -O1 -o early early.c -lpmem");
	crash_early(1, "--cures=off");
	assert_output_has("valid without its value");
	assert_false(printed(says));
	crash_early(1, "--cures=off --output-format=json");
	assert_output_has("\"atomicity\": 8");
}

TEST(a_missing_flush_is_found_with_the_line_of_the_store)
{
	for_each_second_path(s, raw_logs, 1) {
		crash(1, *s, "unflushed", "--model=x86");
		assert_output_has("is missing in its line", "is never flushed");
		assert_true(names_line("log->head.total = i + 1", 0));
		crash(0, *s, "unflushed", "--model=eadr");
	}
}

TEST(clflush_keeps_later_stores_behind_it_and_clflushopt_does_not)
{
	for_each_second_path(s, raw_logs, 0) {
		crash(0, *s, "lean", "--model=x86");
		assert_output_has("16 stores, 6 fences");
		crash(1, *s, "unfenced", "--model=x86");
		assert_output_has("but no fence follows before");
		assert_true(names_line("/* clflushopt */", 0));
	}
}

/* Two stores to two lines, the first flushed in between: whether the second can be durable without it. */
static bool may_overtake(bool ordered)
{
	const struct nvw_log_info info = {
		.workload = "two", .pool_bytes = 4096, .atomicity = 8, .model = "x86"};
	struct nvw_log_record records[] = {
		{.kind = NVW_LOG_SITE, .site = {.id = 1, .line = 1, .file = "two.c", .function = "main"}},
		{.kind = NVW_LOG_STORE,
			.store = {.site = 1, .work_item = 1, .group = 1, .bytes = 8, .off = 0, .value = '1'}},
		{.kind = NVW_LOG_FLUSH,
			.flush = {.site = 1, .thread = 1, .off = 0, .bytes = 64, .ordered = ordered}},
		{.kind = NVW_LOG_STORE,
			.store =
				{.site = 1, .work_item = 1, .group = 2, .bytes = 8, .off = 64, .value = '2'}},
	};
	struct nvw_log_writer *log;

	clean();
	run("head -c 4096 /dev/zero > image; printf '#!/bin/sh\n! grep -q 2 $1 || grep -q 1 $1\n' > check; "
	    "chmod +x check");
	assert_ok(nvw_log_create(in_dir("two.log"), &info, &log));
	for_each(row, records) {
		assert_ok(nvw_log_append(log, row));
	}
	assert_ok(nvw_log_close(log, 0));
	exits(ordered ? 0 : 1, "$NVWAVE log dump two.log | grep -c 'in order'");
	const int status = run("$NVWAVE crash --store-log=two.log --image=image --check=./check");

	assert_in_range(status, 0, 1);
	return status == 1;
}

TEST(an_ordered_flush_is_before_all_later_stores_and_another_is_not)
{
	assert_false(may_overtake(true));
	assert_true(may_overtake(false));
}

TEST(findings_are_small_and_replayed)
{
	crash(1, raw_logs[0], "early", "");
	assert_output_has("smallest case: 1 of 1 writes");
	exits(1, "$NVWAVE replay found/finding-1");
	assert_output_has("REPRODUCED");
}

TEST(kills_are_survived_by_a_right_log)
{
	crash(0, raw_logs[0], "", "--mode=kill --states=5");
}

/* ---- Statistics ------------------------------------------------------------------------------- */

TEST(flushes_and_fences_count_and_take_time)
{
	succeeds("$NVWAVE exec --set nvram.write=2us --advice --report=report --output-format=json -- %s "
		 "append pool 10",
		raw_logs[0]);
	json_auto_t *o = json_load_file(in_dir("report"), 0, NULL);

	assert_non_null(o);
	assert_int_equal(integer_at(o, "pmem.flushes"), 21);
	assert_int_equal(integer_at(o, "pmem.fences"), 21);
	assert_int_equal(integer_at(o, "pmem.lines_flushed"), 21);
	assert_int_equal(integer_at(o, "pmem.idle_flushes"), 0);
	assert_true(integer_at(o, "write_delays.count") > 0);
	assert_true(integer_at(o, "write_delays.requested_p50_ns") > 0);
	assert_true(integer_at(o, "write_delays.achieved_p50_ns") >=
		    integer_at(o, "write_delays.requested_p50_ns"));
	assert_int_equal(size_at(o, "notes"), 0);
}

TEST(a_flush_for_nothing_has_its_place)
{
	succeeds("printf '#include <emmintrin.h>\\n#include <fcntl.h>\\n#include <sys/mman.h>\\n#include "
		 "<unistd.h>\\n"
		 "int main(void) {\\nint fd = open(\"f\", 66, 0600);\\nif (ftruncate(fd, 4096)) return "
		 "1;\\n"
		 "char *p = mmap(0, 4096, 3, MAP_SHARED, fd, 0);\\n*p = "
		 "1;\\n_mm_clflush(p);\\n_mm_mfence();\\n"
		 "_mm_clflush(p);\\n_mm_mfence();\\n_mm_mfence();\\n}\\n' > idle.c");
	succeeds("$HOST_CC cc -O1 -o idle idle.c && $NVWAVE exec --advice -- ./idle");
	assert_output_has("idle.c:12 (main): 1 of 1 flushes were of lines not stored to",
		"idle.c:14 (main): 1 of 1 drains had nothing flushed");
}

TEST(a_program_that_flushes_nothing_is_told)
{
	succeeds("printf '#include <fcntl.h>\n#include <sys/mman.h>\n#include <unistd.h>\nint main(void) "
		 "{\n"
		 "int fd = open(\"f\", 66, 0600);\nif (ftruncate(fd, 4096)) return 1;\n"
		 "char *p = mmap(0, 4096, 3, MAP_SHARED, fd, 0);\n*p = 1;\n}\n' > idle.c");
	succeeds("$HOST_CC cc -O1 -o idle idle.c && $NVWAVE exec --record=log -- ./idle");
	assert_output_has("note: nothing of a mapped file was flushed, neither by libpmem nor");
	succeeds("cc -O1 -o idle idle.c && $NVWAVE exec --record=log -- ./idle");
	assert_output_has("nvwave-cc makes them seen");
}

/* ---- The wrapper ------------------------------------------------------------------------------ */

TEST(what_cannot_be_watched_is_refused)
{
	static const struct {
		const char *arguments, *message;
		int status;
	} cases[] = {
		{"cc -static x.c", "linked statically", 2},
		{"cc -fsanitize=address x.c", "both instrument", 2},
		{"cc -m32 x.c", "64 bits", 2},
		{"no-such-compiler x.c", "expected a compiler", 2},
		{"true x.c", "expected gcc", 2},
		{"-o x.o -c x.s", "expected a compiler before its options", 2},
		{"cc -c wrong.c", "undeclared", 1},
		{"cc -c wrong.s", "wrong.s:2: Error", 1},
		{"cc -c -pipe wrong.c", "undeclared", 1},
		{"--loads", "expected a compiler before its options", 2},
		{"", "nvwave-cc [--loads] COMPILER", 0},
		{"--help", "nvwave-cc [--loads] COMPILER", 0},
		{"cc -flto -c x.c", "left out", 0},
		{"cc -c macro.s", "macro.s:2: an instruction in the body of a .macro is not watched", 0},
	};

	run("echo 'int main(void) { return 0; }' > x.c; echo 'int f(void) { return y; }' > wrong.c; "
	    "printf '\\tsfence\\n\\tnonsense\\n' > wrong.s; printf '.macro order\\n\\tsfence\\n.endm\\n' > "
	    "macro.s");
	for_each(c, cases) {
		const int status = run("$HOST_CC %s", c->arguments);

		if (status != c->status || strstr(output, c->message) == NULL) {
			fail_msg("%s: status %d, %s", c->arguments, status, output);
		}
	}
}

TEST(a_line_takes_no_longer_in_a_longer_text)
{
	run("rm -rf -- *");
	run("{ echo '.file 1 \"x.c\"'; yes '.loc 1 2 3' | head -n 300000; } > lines.s");
	succeeds("ulimit -t 10; $HOST_CC cc -c lines.s -o x.o");
}

TEST(it_compiles_as_the_compiler_alone_does)
{
	static const char *const commands[] = {
		"cc -c x.c -o x.o && $HOST_CC cc x.o -o x && ./x",
		"cc -pipe -O2 x.c y.c -o x && ./x",
		"cc -fPIC -shared -Wl,-z,defs -o lib.so y.c && $HOST_CC cc x.c lib.so -Wl,-rpath,. -o x "
		"&& ./x",
		"cc -S x.c && cc -c x.s -o x.o && $HOST_CC cc x.o -o x && ./x",
		"cc -r -o both.o x.c y.c && $HOST_CC cc both.o -o x && ./x",
		"cc -E x.c | $HOST_CC cc -x c - -o x && ./x",
		"cc -MMD -MF x.d -c x.c -o x.o && grep -q x.c x.d",
		"cc -dumpmachine | grep -q x86_64",
		"cc -masm=intel -O2 x.c -o x && ./x",
		"cc -O2 -D_FORTIFY_SOURCE=2 x.c -o x && ./x",
		"cc -O2 pre.h -o pre.h.gch && $HOST_CC cc -O2 -Winvalid-pch -include pre.h x.c -o x && ./x",
		"cc -x c-header pre.txt -o pre.gch",
		"cc -O2 -march=skylake-avx512 -c masked.c -o x.o && nm x.o | grep -q nvwave_cc_instruction",
		("cc -O2 -march=skylake-avx512 -masm=intel -c masked.c -o x.o && nm x.o | grep -q "
		 "nvwave_cc_instruction"),
		"cc -O2 -fno-plt -c plain.c -o x.o && ! nm x.o | grep -e nvwave_cc_instruction -e tsan_read",
		"--loads cc -O2 -fno-plt -c plain.c -o x.o && nm x.o | grep -q tsan_read",
		"cc -c section.s -o x.o",
		"cc -c sum.s -o x.o && objdump -d x.o | grep -q 'lea *0xa0(%rsp),%rax'",
	};

	run("echo 'int f(int *p, int *q) { *p = *q; return p[1]; }' > plain.c; "
	    "echo '.section \".linker-options\",\"e\",@llvm_linker_options' > section.s");
	run("echo '#include <stdio.h>' | tee pre.h > pre.txt; printf '\\tmovntdq %%%%xmm0, "
	    "(8*2+8)(%%%%rsp)\\n' > sum.s; "
	    "printf '#include <immintrin.h>\\nvoid f(void *p, __m512i v, __mmask8 k) { "
	    "_mm512_mask_storeu_epi64(p, k, v); }\\n' > masked.c");
	run("printf '#include <emmintrin.h>\\nlong v;\\nint main(void) { v = 1; _mm_clflush(&v); "
	    "_mm_stream_si64((void *)&v, 7); "
	    "_mm_sfence(); return v != 7; }\\n' > x.c; echo 'int y(int *p) { return *p = 3; }' > y.c");
	for_each(command, commands) {
		succeeds("$HOST_CC %s", *command);
		assert_string_equal(output, "");
	}
}

TEST(make_takes_it_for_a_compiler)
{
	run("printf 'int main(void) { return 0; }\\n' > x.c");
	succeeds("make -s CC=\"$HOST_CC cc\" x && ./x");
}

/* Compilers would take our assembler and linker stages for their own. */
TEST(its_folder_may_be_in_path)
{
	run("echo '_Atomic int x; int main(void) { return x++; }' > x.c");
	succeeds("export PATH=$(dirname $HOST_CC):$PATH; cc -o x x.c && ./x && nvwave-cc cc -o x x.c && ./x");
	succeeds("! command -v clang || "
		 "{ PATH=$(dirname $HOST_CC):$PATH clang -fno-integrated-as -o x x.c && ./x; }");
}

/* ---- All -------------------------------------------------------------------------------------- */

/* Paths between colons. */
static void split(const char *variable, char **to)
{
	char *const paths = strdup(getenv(variable) ? getenv(variable) : "");
	unsigned n = 0;

	for (char *rest = paths, *path; n < 7 && (path = strtok_r(rest, ":", &rest)) != NULL;) {
		to[n++] = path;
	}
}

static int begin(void **state)
{
	split("HOST_CC_SUBJECTS", subjects);
	split("HOST_RAW_LOGS", raw_logs);
	if (subjects[0] != NULL && getenv("HOST_CC_CLANG") == NULL) {
		printf("# there is no clang: only gcc is tested\n");
	}
	if (subjects[0] != NULL && getenv("HOST_CC_CPP") == NULL) {
		printf("# there is no C++ compiler: only C is tested\n");
	}
	return subjects[0] && raw_logs[0] ? shell_begin((const char *const[]){"NVWAVE", "HOST_CC", NULL}) :
					    -1;
}

static int end(void **state)
{
	free(subjects[0]);
	free(raw_logs[0]);
	return shell_end(state);
}

GROUP(begin, end, .each = clean_folder);
