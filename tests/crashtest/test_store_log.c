/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Store logs from elsewhere: random ones, explored under the models pmreorder and x86, against second
 * definitions of both that go through every permutation and every prefix; logs that are none; checkers that
 * misbehave.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <crashtest/judge/checker.h>
#include <crashtest/judge/process.h>
#include <crashtest/states/image.h>
#include <crashtest/requests/store_log.h>
#include <nvw/random.h>

#include "common/shell.h"
#include "common/skip.h"
#include "explored.h"
#include "same_result.h"

enum { BYTES = 256, OPS_MAX = 24, INTERVAL_MAX = 5, IMAGES_MAX = 1 << 16 };

#define BASE 0x7f0000000000ull

struct op {
	enum { STORE, FLUSH, FENCE } kind;
	unsigned off, bytes;
	uint8_t value[16];
	bool flushed, done;
};

struct images {
	unsigned count;
	uint8_t image[IMAGES_MAX][BYTES];
};

static struct images expected, *explored;

static bool has(const struct images *set, const uint8_t *image)
{
	return NVW_ANY(one, set->image, set->count, memcmp(*one, image, BYTES) == 0);
}

static void add(struct images *set, const uint8_t *image)
{
	if (!has(set, image)) {
		assert_true(set->count < IMAGES_MAX);
		memcpy(set->image[set->count++], image, BYTES);
	}
}

/* ---- Random logs ------------------------------------------------------------------------------ */

static unsigned make_ops(uint64_t seed, struct op *op)
{
	struct nvw_random r = {seed};
	unsigned n = 0, open = 0; /* stores since the last time that everything was flushed and fenced */

	while (n < OPS_MAX) {
		struct op *const o = &op[n];
		const uint64_t what = nvw_random_below(&r, 10);

		*o = (struct op){0};
		if (what < 4 && open < INTERVAL_MAX) {
			static const unsigned sizes[] = {1, 2, 4, 8, 8, 8, 16};

			o->kind = STORE;
			o->bytes = sizes[nvw_random_below(&r, 7)];
			o->off = (unsigned)nvw_random_below(&r, 3) * 64 +
				 (unsigned)nvw_random_below(&r, 3) * o->bytes;
			if (o->bytes == 16 && o->off % 64 == 32) { /* in two lines */
				o->off = o->off / 64 % 2 * 64 + 56;
			}
			NVW_FOR(i, o->bytes) {
				o->value[i] = (uint8_t)(n * 16 + i + 1);
			}
			open++;
		} else if (what < 7) {
			o->kind = FLUSH;
			o->off = (unsigned)nvw_random_below(&r, 3) * 64;
			o->bytes = 64;
			if (what == 6 && n + 2 < OPS_MAX) { /* a whole flush and a fence */
				o->off = 0;
				o->bytes = 192;
				op[++n] = (struct op){.kind = FENCE};
				open = 0;
			}
		} else {
			o->kind = FENCE;
		}
		n++;
	}
	return n;
}

static void write_log(const struct op *op, unsigned n)
{
	FILE *const f = fopen(in_dir("log"), "w");

	assert_non_null(f);
	fprintf(f, "==1== pmemcheck\nSTART|REGISTER_FILE;/mnt/pmem/pool;0x%llx;0x%x;0x0|", BASE, BYTES);
	NVW_FOR(i, n) {
		if (op[i].kind == STORE) {
			fprintf(f, "STORE;0x%llx;0x", BASE + op[i].off);
			for (unsigned k = op[i].bytes; k > 0; k--) {
				fprintf(f, "%02x", op[i].value[k - 1]);
			}
			fprintf(f, ";0x%x;put (prog.c:%u)|", op[i].bytes, i + 1);
		} else if (op[i].kind == FLUSH) {
			fprintf(f, "FLUSH;0x%llx;0x%x|", BASE + op[i].off, op[i].bytes);
		} else {
			fputs("FENCE|", f);
		}
	}
	fputs("STOP\n==1== done\n", f);
	assert_int_equal(fclose(f), 0);
}

/* ---- Second definitions ----------------------------------------------------------------------- */

static void put(uint8_t *image, const struct op *o)
{
	memcpy(image + o->off, o->value, o->bytes);
}

/* Every sequence of different stores. */
static void permute(const struct op *const *store, unsigned count, unsigned used, const uint8_t *image)
{
	add(&expected, image);
	NVW_FOR(i, count) {
		if (!(used >> i & 1)) {
			uint8_t next[BYTES];

			memcpy(next, image, BYTES);
			put(next, store[i]);
			permute(store, count, used | 1u << i, next);
		}
	}
}

static bool overlap(const struct op *a, const struct op *b)
{
	return a->off < b->off + b->bytes && b->off < a->off + a->bytes;
}

/*
 * At a fence that follows a flush: all sequences of the flushed stores; then they are there, in program
 * order.
 */
static void permit_pmreorder(struct op *op, unsigned n)
{
	uint8_t image[BYTES] = {0};

	NVW_FOR(i, n) {
		const struct op *flushed[OPS_MAX];
		unsigned count = 0;

		for (unsigned k = 0; k < i && op[i].kind == FLUSH; k++) {
			op[k].flushed = op[k].flushed || (op[k].kind == STORE && overlap(&op[k], &op[i]));
		}
		if (op[i].kind != FENCE) {
			continue;
		}
		NVW_EACH(one, op, i) {
			if (one->kind == STORE && one->flushed && !one->done) {
				flushed[count++] = one;
				one->done = true;
			}
		}
		if (count > 0) {
			permute(flushed, count, 0, image);
		}
		NVW_EACH(one, flushed, count) {
			put(image, *one);
		}
	}
}

/*
 * The stores to each line up to one of them, in pieces of 8 bytes; those before a flush and a fence are
 * there.
 */
struct piece {
	unsigned op, off, bytes;
};

static void combine(const struct op *op, const struct piece *piece, unsigned pieces, const unsigned level[3])
{
	uint8_t image[BYTES] = {0};
	unsigned met[3] = {0};

	NVW_EACH(one, piece, pieces) {
		const unsigned line = one->off / 64;

		if (met[line]++ < level[line]) {
			memcpy(image + one->off, op[one->op].value + (one->off - op[one->op].off),
				one->bytes);
		}
	}
	add(&expected, image);
}

static void permit_x86(struct op *op, unsigned n)
{
	struct piece piece[OPS_MAX * 3];
	unsigned pieces = 0, count[3] = {0}, flushed[3] = {0}, floor[3] = {0}, level[3];

	for (unsigned i = 0; i <= n; i++) {
		for (level[0] = floor[0]; level[0] <= count[0]; level[0]++) {
			for (level[1] = floor[1]; level[1] <= count[1]; level[1]++) {
				for (level[2] = floor[2]; level[2] <= count[2]; level[2]++) {
					combine(op, piece, pieces, level);
				}
			}
		}
		if (i == n) {
			break;
		}
		if (op[i].kind == FENCE) {
			memcpy(floor, flushed, sizeof floor);
		} else if (op[i].kind == FLUSH) {
			for (unsigned line = op[i].off / 64; line < (op[i].off + op[i].bytes) / 64; line++) {
				flushed[line] = count[line];
			}
		}
		for (unsigned done = 0; op[i].kind == STORE && done < op[i].bytes;) {
			const unsigned off = op[i].off + done, room = 8 - off % 8;
			const unsigned bytes = op[i].bytes - done < room ? op[i].bytes - done : room;

			piece[pieces++] = (struct piece){i, off, bytes};
			count[off / 64]++;
			done += bytes;
		}
	}
}

/* ---- Against the explorer --------------------------------------------------------------------- */

CHECK(note)
{
	*phase = CT_PHASE_CHECK;
	memcpy(explored->image[explored->count++], image->ro, BYTES);
	return 0;
}

/* Converts a log of the folder into one of the persist log's format: its file. */
static int convert(const char *name, int *ret_fd)
{
	struct ct_store_log counts;

	*ret_fd = memfd_create("log", MFD_CLOEXEC);
	return ct_store_log_convert(in_dir(name), "pool", BYTES, *ret_fd, &counts);
}

static const struct ct_result *explore(enum ct_model model)
{
	int fd;

	assert_ok(convert("log", &fd));
	const struct ct_exploration e = exploration_of(fd, BYTES, note, model);

	explored->count = 0;
	const struct ct_result *const r = explored_by(&e);

	close(fd);
	return r;
}

static void compare(enum ct_model model, void (*permit)(struct op *op, unsigned n))
{
	for (uint64_t seed = 1; seed <= 100 / one_in(2); seed++) {
		struct op op[OPS_MAX];
		const unsigned n = make_ops(seed, op);

		write_log(op, n);
		expected.count = 0;
		permit(op, n);
		const struct ct_result *const r = explore(model);

		assert_int_equal(r->instants, r->instants_exhausted);
		NVW_EACH(image, explored->image, explored->count) {
			if (!has(&expected, *image)) {
				fail_msg("seed %llu: an impossible image was tested",
					(unsigned long long)seed);
			}
		}
		NVW_EACH(image, expected.image, expected.count) {
			if (!has(explored, *image)) {
				fail_msg("seed %llu: an image was not tested", (unsigned long long)seed);
			}
		}
	}
}

TEST(pmreorder_images_are_those_of_every_permutation_of_every_subset)
{
	compare(CT_MODEL_PMREORDER, permit_pmreorder);
}

TEST(x86_images_are_every_prefix_of_every_line)
{
	compare(CT_MODEL_X86, permit_x86);
}

/* ---- What is converted ------------------------------------------------------------------------ */

/* The image after all stores of the log in the test's folder. */
static void replay(uint8_t image[BYTES])
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int fd;

	assert_ok(convert("log", &fd));
	memset(image, 0, BYTES);
	assert_ok(nvw_log_open_fd(dup(fd), "log", &reader));
	while (nvw_log_next(reader, &r) == 1) {
		if (r.kind == NVW_LOG_STORE) {
			assert_true(r.store.bytes <= 8 && r.store.off + r.store.bytes <= BYTES);
			memcpy(image + r.store.off, &r.store.value, r.store.bytes);
		}
	}
	nvw_log_reader_close(reader);
	close(fd);
}

TEST(a_store_of_any_size_is_stored_whole)
{
	for (unsigned bytes = 1; bytes <= 64; bytes++) {
		for (unsigned off = 0; off < 70; off += 23) {
			uint8_t wanted[BYTES] = {0}, found[BYTES];
			FILE *const f = fopen(in_dir("log"), "w");

			assert_non_null(f);
			fprintf(f, "START|REGISTER_FILE;/pool;0x1000;0x100;0x0|STORE;0x%x;0x", 0x1000 + off);
			for (unsigned i = bytes; i > 0; i--) {
				wanted[off + i - 1] = (uint8_t)(i + 100);
				fprintf(f, "%02x", i + 100);
			}
			fprintf(f, ";0x%x|STOP", bytes);
			assert_int_equal(fclose(f), 0);
			replay(found);
			assert_memory_equal(found, wanted, BYTES);
		}
	}
}

/* Two mappings of parts of the file, the later part at the lower address. */
TEST(a_mapping_of_a_part_of_the_file_begins_at_its_offset)
{
	static const char log[] =
		"START|REGISTER_FILE;/pool;0x9000;0x40;0x40|REGISTER_FILE;/pool;0x1000;0x80;0x80|"
		"STORE;0x9008;0x11;0x1|STORE;0x1010;0x22;0x1|STOP";
	uint8_t wanted[BYTES] = {0}, found[BYTES];

	wanted[0x48] = 0x11;
	wanted[0x90] = 0x22;
	write_text("log", log);
	replay(found);
	assert_memory_equal(found, wanted, BYTES);
}

/* ---- Named faults ----------------------------------------------------------------------------- */

static struct ct_result result;

static int run_foreign(const char *check, struct ct_options options)
{
	const struct ct_foreign foreign = {
		.store_log = in_dir("log"), .image = in_dir("pool"), .command = check};

	options.seed = options.jobs = 1;
	const int error = ct_run_foreign(&foreign, &options, &result);

	ct_result_free(&result);
	return error;
}

static bool is_consistent(const char *log, const char *check, enum ct_model model)
{
	const uint8_t initial[BYTES] = {0};

	write_text("log", log);
	write_bytes("pool", initial, sizeof initial);
	assert_ok(run_foreign(check, (struct ct_options){.model = model}));
	return result.consistent;
}

#define REGISTER "START|REGISTER_FILE;/pool;0x1000;0x100;0x0|"
#define FLAG_WITHOUT_DATA \
	"sh -c 'test \"$(od -An -tu1 -j64 -N1 $0)\" -eq 0 || test \"$(od -An -tu1 -N1 $0)\" -ne 0'"

/*
 * Store data, store flag, flush data, fence, flush flag, fence: the flag may be evicted before the data is
 * flushed.
 */
TEST(an_eviction_that_comes_before_the_flush_is_found_under_x86)
{
	static const char log[] = REGISTER
		"STORE;0x1000;0x1;0x8|STORE;0x1040;0x1;0x8|FLUSH;0x1000;0x40|FENCE|FLUSH;0x1040;0x40|"
		"FENCE|STOP";

	assert_false(is_consistent(log, FLAG_WITHOUT_DATA, CT_MODEL_X86));
	assert_true(is_consistent(log, FLAG_WITHOUT_DATA, CT_MODEL_PMREORDER));
}

TEST(stores_that_are_flushed_and_fenced_in_order_raise_no_alarm)
{
	static const char log[] = REGISTER
		"STORE;0x1000;0x1;0x8|FLUSH;0x1000;0x40|FENCE|STORE;0x1040;0x1;0x8|FLUSH;0x1040;0x40|"
		"FENCE|STOP";

	assert_true(is_consistent(log, FLAG_WITHOUT_DATA, CT_MODEL_X86));
}

/* pmreorder's engine swaps them; a cache line does not. */
TEST(two_stores_of_one_line_are_not_swapped)
{
	static const char log[] =
		REGISTER "STORE;0x1000;0x1;0x8|STORE;0x1008;0x1;0x8|FLUSH;0x1000;0x40|FENCE|STOP";
	static const char check[] =
		"sh -c 'test \"$(od -An -tu1 -j8 -N1 $0)\" -eq 0 || test \"$(od -An -tu1 -N1 $0)\" -ne 0'";

	assert_true(is_consistent(log, check, CT_MODEL_X86));
	assert_false(is_consistent(log, check, CT_MODEL_PMREORDER));
}

/* It fails on every file that it has written to before. */
TEST(a_checker_that_writes_does_not_reach_the_next_state)
{
	static const char log[] = REGISTER
		"STORE;0x1000;0x1;0x8|STORE;0x1040;0x1;0x8|STORE;0x1080;0x1;0x8|FLUSH;0x1000;0xc0|FENCE|"
		"STOP";
	static const char writes[] = "sh -c 'test \"$(od -An -tu1 -j200 -N1 $0)\" -eq 0 || exit 1; "
				     "printf x | dd of=$0 bs=1 seek=200 conv=notrunc 2>/dev/null'";
	static const char truncates[] = "sh -c 'test \"$(wc -c <$0)\" -eq 256 || exit 1; echo >$0'";
	static const char removes[] = "sh -c 'test -e $0 || exit 1; rm $0'";

	assert_true(is_consistent(log, writes, CT_MODEL_X86));
	assert_true(is_consistent(log, truncates, CT_MODEL_X86));
	assert_true(is_consistent(log, removes, CT_MODEL_X86));
}

TEST(a_checker_that_dies_or_hangs_is_a_finding)
{
	static const char log[] = REGISTER "STORE;0x1000;0x1;0x8|FLUSH;0x1000;0x40|FENCE|STOP";

	assert_false(is_consistent(log, "sh -c 'kill -SEGV $$'", CT_MODEL_X86));
	/* Looking up where the checker is takes CPU time of the worker, which has the same limit. */
	assert_ok(run_foreign("sleep 100;:", (struct ct_options){.timeout_ms = 300}));
	assert_false(result.consistent);
	assert_string_equal(result.finding[0].text, "the checker does not terminate");
}

/* Two stores that nothing orders: in one of four states there is the flag without the data. */
#define UNORDERED REGISTER "STORE;0x1000;0x1;0x8|STORE;0x1040;0x1;0x8|FLUSH;0x1000;0x80|FENCE|STOP"

/* A script of the test's folder, as a command. */
static const char *script(const char *text)
{
	write_text("script", text);
	assert_int_equal(chmod(in_dir("script"), 0755), 0);
	return in_dir("script");
}

/* Commands in front of a word with their own: they must not be served in its place. */
TEST(what_a_checker_of_bash_executes_is_executed)
{
	static const char text[] =
		"#!/bin/bash\n"
		"/usr/bin/env | /bin/grep -q -e NVWAVE_FORK -e libnvwave && exit 1\n"
		"data=$(/usr/bin/od -An -tu1 -N1 \"$1\") flag=$(/usr/bin/od -An -tu1 -j64 -N1 \"$1\")\n"
		"/usr/bin/test \"$flag\" -eq 0 || /usr/bin/test \"$data\" -ne 0 || exit 1\n";
	const char *const path = script(text);
	static const char *const forms[] = {"%s", "bash %s", "X=1 %s", "exec %s", "exec bash %s"};

	for_each(form, forms) {
		assert_false(is_consistent(UNORDERED, formatted(*form, path), CT_MODEL_X86));
		assert_false(result.without_crash);
		assert_int_equal(result.states_failing, 1);
		assert_false(result.executed);
	}
}

TEST(what_the_checker_finds_in_ld_preload_is_what_nvwave_found)
{
	const char *const path = script("#!/bin/bash\n/usr/bin/test \"$LD_PRELOAD\" = libc.so.6\n");

	setenv("LD_PRELOAD", "libc.so.6", 1);
	assert_true(is_consistent(UNORDERED, path, CT_MODEL_X86));
	unsetenv("LD_PRELOAD");
}

/* It says yes if its parent has its name, as the parent of a fork has. */
TEST(a_checker_that_answers_otherwise_as_a_fork_is_executed)
{
	const char *const path =
		script("#!/bin/sh\nread parent </proc/$PPID/comm\ntest \"$parent\" = script && exit 0\n"
		       "test $(od -An -tu1 -j64 -N1 $1) -eq 0 || test $(od -An -tu1 -N1 $1) -ne 0\n");

	assert_false(is_consistent(UNORDERED, path, CT_MODEL_X86));
	assert_int_equal(result.states_failing, 1);
	assert_true(result.executed);
}

/* As a fork it says no after twelve answers: what it had said before that is asked again. */
TEST(a_checker_whose_forks_fail_late_is_asked_anew)
{
	char log[1024] = REGISTER;

	NVW_FOR(i, 4) {
		sprintf(log + strlen(log), "STORE;0x%x;0x1;0x8|", 0x1000 + 64 * i);
	}
	strcat(log, "FLUSH;0x1000;0x100|FENCE|STOP");
	assert_true(is_consistent(log,
		script(formatted("#!/bin/sh\necho >>%s\nread parent </proc/$PPID/comm\n"
				 "test \"$parent\" = script && test $(wc -l <%s) -gt 12 && exit 1\nexit 0\n",
			in_dir("pids"), in_dir("pids"))),
		CT_MODEL_X86));
	assert_true(result.executed);
	assert_int_equal(result.states_distinct, 16);
	assert_int_equal(unlink(in_dir("pids")), 0);
}

static unsigned still_running(void)
{
	FILE *const f = fopen(in_dir("pids"), "r");
	unsigned n = 0;
	int pid;

	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1) {
		n += kill(pid, 0) == 0;
		kill(pid, SIGKILL);
	}
	fclose(f);
	unlink(in_dir("pids"));
	return n;
}

TEST(what_a_checker_leaves_in_a_session_of_its_own_is_ended)
{
	const char *const path =
		script(formatted("#!/bin/sh\nsetsid sleep 100 >/dev/null 2>&1 </dev/null &\necho $! >>%s\n"
				 "while test $(ps -o sid= -p $!) != $!; do :; done\n",
			in_dir("pids")));

	assert_true(is_consistent(UNORDERED, path, CT_MODEL_X86));
	assert_int_equal(still_running(), 0);
	assert_true(is_consistent(UNORDERED, formatted("X=1 %s", path), CT_MODEL_X86));
	assert_int_equal(still_running(), 0);
}

TEST(a_checker_may_print_what_it_likes)
{
	assert_true(is_consistent(UNORDERED, "head -c 20000000 /dev/zero", CT_MODEL_X86));
	assert_false(is_consistent(UNORDERED, "sh -c 'echo why; seq 100000; exit 1'", CT_MODEL_X86));
	assert_string_equal(result.finding[0].text, "why");
}

TEST(a_checker_that_is_killed_or_cannot_be_executed_gives_no_answer)
{
	assert_true(is_consistent(UNORDERED, "sh -c 'kill -KILL $$'", CT_MODEL_X86));
	assert_string_equal(ct_verdict_name(ct_verdict_of(&result)), "undecided");
	/* Without a shell that tells of it. */
	assert_true(is_consistent(UNORDERED, script("#!/bin/sh\nkill -KILL $$\n"), CT_MODEL_X86));
	assert_string_equal(ct_verdict_name(ct_verdict_of(&result)), "undecided");
	assert_int_equal(run_foreign("exec ./nothing", (struct ct_options){.seed = 1}), NVW_E_INPUT);
	assert_error_has("could not be executed (status 127)");
}

static const char *const from_outside[] = {"KILL", "TERM", "INT", "HUP"};

/* A checker that a signal ends once, which it notes in the file pids. */
static void assert_asked_again(const char *text)
{
	assert_true(is_consistent(UNORDERED, script(text), CT_MODEL_X86));
	assert_string_equal(ct_verdict_name(ct_verdict_of(&result)), "consistent");
	assert_string_equal(result.why_executed, "");
	assert_int_equal(unlink(in_dir("pids")), 0);
}

/* It has not refused, and what it was asked is asked again. */
TEST(a_fork_server_that_is_killed_is_started_again)
{
	for_each(signal, from_outside) {
		assert_asked_again(formatted(
			"#!/bin/sh\nread parent </proc/$PPID/comm\n"
			"test \"$parent\" = script && test ! -e %s && { : >%s; kill -%s $PPID; sleep 10; "
			"}\nexit 0\n",
			in_dir("pids"), in_dir("pids"), *signal));
	}
}

TEST(a_checker_that_is_killed_once_is_asked_again)
{
	for_each(signal, from_outside) {
		assert_asked_again(
			formatted("#!/bin/sh\ntest -e %s || { : >%s; kill -%s $$; sleep 10; }\nexit 0\n",
				in_dir("pids"), in_dir("pids"), *signal));
	}
	/* One that does so in every state does it by itself. */
	assert_false(is_consistent(UNORDERED, script("#!/bin/sh\nkill -TERM $$\n"), CT_MODEL_X86));
	assert_has(result.finding[0].text, "killed by signal 15");
}

TEST(an_image_that_fails_without_any_crash_is_told_as_such)
{
	assert_false(is_consistent(UNORDERED, "sh -c 'echo bad; exit 1'", CT_MODEL_X86));
	assert_true(result.without_crash);
	assert_int_equal(result.finding_count, 1);
	assert_string_equal(result.finding[0].text, "bad");
	assert_int_equal(result.states_distinct, 0);
	/* What is never flushed is there without a crash. */
	assert_true(is_consistent(REGISTER "STORE;0x1000;0x1;0x8|STOP",
		"sh -c 'test $(od -An -tu1 -N1 $0) -eq 1'", CT_MODEL_PMREORDER));
	assert_false(is_consistent(REGISTER "STORE;0x1000;0x1;0x8|STOP",
		"sh -c 'test $(od -An -tu1 -N1 $0) -eq 1'", CT_MODEL_X86));
	assert_false(result.without_crash);
}

/* A third of the states fail. */
CHECK(judge_third)
{
	uint64_t key = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned i = 0; i < BYTES; i += 8) {
		key = nvw_mix64(key + ct_image_word(image, i));
	}
	return key % 3 ? 0 : nvw_violation(findings, 0, "way %c", (char)('a' + key / 3 % 4));
}

TEST(any_number_of_jobs_tests_the_same_states)
{
	static const enum ct_model models[] = {CT_MODEL_X86, CT_MODEL_PMREORDER};

	for (uint64_t seed = 1; seed <= 20 / one_in(2); seed++) {
		struct op op[OPS_MAX];
		int fd;

		write_log(op, make_ops(seed, op));
		assert_ok(convert("log", &fd));
		for_each(model, models) {
			struct ct_exploration e = exploration_of(fd, BYTES, judge_third, *model);

			e.options.states = 200;
			e.options.unexplained = true;
			assert_same_by_jobs(e);
		}
		close(fd);
	}
}

/* ---- Logs that are none ----------------------------------------------------------------------- */

static void refuse(const char *log, const char *expected_message)
{
	int fd;

	write_text("bad", log);
	assert_true(convert("bad", &fd) < 0);
	assert_has(nvw_error_message(), expected_message, "bad");
	close(fd);
}

TEST(damaged_and_foreign_logs_are_refused_with_their_offset)
{
	refuse("", "offset 0");
	refuse("hello\n", "offset 0: expected a store log with START");
	refuse(REGISTER "STORE;0x1000;0x1;0x8", "STOP");
	refuse(REGISTER "STORE;0x1000;0x1;0x8|", "STOP");
	refuse(REGISTER "STORE;0x1000;0x1|STOP", "offset 43: expected STORE;address;value;bytes");
	refuse(REGISTER "STORE;0x1g00;0x1;0x8|STOP", "offset 49: expected a hexadecimal number");
	refuse(REGISTER "STORE;0x1000;0x1ff;0x1|STOP", "a hexadecimal value of the store's size");
	refuse(REGISTER "STORE;0x1000;0x1;0x0|STOP", "a size");
	refuse(REGISTER "STORE;0x2000;0x1;0x8|STOP", "address 0x2000 is in no file");
	refuse(REGISTER "STORE;0x10ff;0x1;0x8|STOP", "which has 256 bytes");
	refuse(REGISTER "STORE;0xfffffffffffffffff;0x1;0x8|STOP", "at most 64 bits");
	refuse(REGISTER "JUMP;0x1000|STOP", "offset 43: expected STORE, FLUSH, FENCE");
	refuse("STORE;0x1000;0x1;0x8|STOP", "START");
}

/* Any change of a byte gives a log that reads, or a message; never a crash. */
TEST(logs_with_flipped_bits_are_read_or_refused)
{
	static const char log[] =
		REGISTER "STORE;0x1000;0x1;0x8;f (p.c:3)|FLUSH;0x1000;0x40|FENCE|X.BEGIN|X.END|STOP";
	struct nvw_random r = {1};

	NVW_FOR(i, 3000 / one_in(3)) {
		char copy[sizeof log];
		int fd;

		memcpy(copy, log, sizeof log);
		copy[nvw_random_below(&r, sizeof log - 1)] ^= (char)(1 << nvw_random_below(&r, 7));
		write_bytes("bad", copy,
			nvw_random_below(&r, 4) ? sizeof log - 1 : nvw_random_below(&r, sizeof log));
		if (convert("bad", &fd) < 0) {
			assert_error_has("bad");
		}
		close(fd);
	}
}

static int set_up(void **state)
{
	explored = ct_shared_memory(sizeof *explored);
	return explored ? folder_begin(state) : -1;
}

GROUP(set_up, shell_end);
