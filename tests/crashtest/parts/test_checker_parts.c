/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of a checker library (nvw/checker.h) against brute force. The indexed log inserts a few entries, as
 * it is and with each of its bugs: at every instant every permitted state is checked as a whole, and every
 * part of its checker is tried with all combinations of what it looks at. The states in which some part fails
 * must be exactly those in which the whole check fails; every state must be in one evaluation of each part,
 * and in no two.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/judge/checker.h>

#include "common/shell.h"
#include "parts_rig.h"

static const char *const bugs[] = {"", "one-drain", "no-flush", "index-first", "index-unflushed"};
static const enum ct_model models[] = {CT_MODEL_X86, CT_MODEL_EADR};
enum { STATES_MAX = 512, MODELS = NVW_COUNT(models) };

static struct ct_checker checker;

/* ---- A recorded program ----------------------------------------------------------------------- */

struct recorded {
	int log_fd;
	uint8_t *image;
	uint64_t bytes;
};

static struct recorded record(const char *bug, unsigned insertions)
{
	struct recorded r = {0};

	succeeds("rm -f pool log log.image && $HOST_INDEXED_LOG pool 2");
	succeeds("$NVWAVE exec --record=log -- $HOST_INDEXED_LOG pool %u %s", insertions, bug);
	r.log_fd = open(in_dir("log"), O_RDONLY | O_CLOEXEC);
	assert_true(r.log_fd >= 0);
	const int fd = open(in_dir("log.image"), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	r.bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	r.image = malloc(r.bytes);
	assert_int_equal(pread(fd, r.image, r.bytes, 0), r.bytes);
	close(fd);
	return r;
}

static void begin_medium(struct rig *rig, const struct recorded *r, enum ct_model model)
{
	const struct ct_rules rules = {.model = model};

	*rig = (struct rig){.failed = 0};
	assert_ok(ct_medium_create(r->log_fd, r->image, r->bytes, 0, &rules, &rig->medium));
}

/* ---- All states ------------------------------------------------------------------------------- */

static bool check_fails(struct rig *r)
{
	static struct nvw_findings findings;
	volatile uint32_t phase;

	nvw__findings_clear(&findings);
	ct_medium_apply(&r->medium, r->levels);
	const int verdict = ct_checker_judge(&checker, &r->medium.image, &r->medium.acks, &findings, &phase);

	ct_medium_undo(&r->medium);
	assert_true(verdict == 0 || verdict == NVW_E_INCONSISTENT);
	return verdict != 0;
}

/* noise: what a part did not ask for. */
static void compare_run(const struct recorded *recorded, const struct ct_plain_parts *plain,
	enum ct_model model, uint64_t noise, struct rig_sum *sum)
{
	struct ct_parts *parts;
	struct rig r;

	begin_medium(&r, recorded, model);
	assert_ok(ct_parts_create_plain(plain, &r.medium, &parts));
	assert_non_null(parts);
	ct_parts_noise(parts, noise);
	while (rig_next(&r)) {
		struct ct_count count;

		sum->instants++;
		assert_ok(ct_parts_try(parts, NULL, NULL));
		assert_ok(ct_states_count(&r.medium, &count));
		if (count.fresh == CT_COUNT_MANY || ct_states_numbers(&r.medium) > STATES_MAX) {
			sum->left_out++;
		} else {
			rig_compare(&r, parts, (unsigned)ct_states_numbers(&r.medium), check_fails, sum);
		}
	}
	ct_parts_free(parts);
	rig_end(&r);
}

static struct rig_sum compare_bug(
	const char *bug, const struct ct_plain_parts *plain, enum ct_model model, uint64_t noise)
{
	/* Noise is slow. */
	const struct recorded r = record(bug, noise ? 1 : 3);
	struct rig_sum sum = {0};

	compare_run(&r, plain, model, noise, &sum);
	sum.different += sum.wide;
	close(r.log_fd);
	free(r.image);
	return sum;
}

TEST(parts_of_a_library_fail_in_exactly_the_states_in_which_its_check_fails)
{
	NVW_EACH(model, models, MODELS) {
		NVW_FOR(i, NVW_COUNT(bugs)) {
			const struct rig_sum n = compare_bug(bugs[i], ct_checker_parts(&checker), *model, 0);

			print_message("# %s, '%s': %" PRIu64 " instants and %" PRIu64 " left out, %" PRIu64
				      " states, %" PRIu64 " fail\n",
				ct_model_info(*model)->name, bugs[i], n.instants - n.left_out, n.left_out,
				n.states, n.failing);
			assert_int_equal(n.different, 0);
			assert_true(n.states > 0 && n.left_out <= n.instants / 2);
			/* Under eadr a flush that is missing does no harm. */
			assert_true((n.failing > 0) ==
				    (*model == CT_MODEL_X86 ? i > 0 : strcmp(bugs[i], "index-first") == 0));
		}
	}
}

/* What a part of the example does not ask for does not matter to it. */
TEST(parts_of_a_library_look_at_what_they_ask_for)
{
	assert_int_equal(compare_bug("one-drain", ct_checker_parts(&checker), CT_MODEL_X86, 17).different, 0);
}

/* ---- Planted differences ---------------------------------------------------------------------- */

static int check_nothing(void *context, const struct ct_asking *image, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	return 0;
}

static int check_that_cries(void *context, const struct ct_asking *image, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	image->ask(image->asker, 0, 8);
	return part == 0 && *(const uint64_t *)image->bytes == 2 ?
		       nvw_violation(findings, 0, "three") :
		       ct_checker_parts(&checker)->check(context, image, acks, part, findings);
}

/* A check of the count alone, which reads what it did not ask for. */
static int check_behind_its_back(void *context, const struct ct_asking *image, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	return *(const uint64_t *)image->bytes > 1024 ? nvw_violation(findings, 0, "more than fit") : 0;
}

static uint64_t count_one(void *context)
{
	return 1;
}

TEST(a_part_of_a_library_that_says_less_or_more_is_seen)
{
	struct ct_plain_parts parts = *ct_checker_parts(&checker);

	parts.check = check_nothing;
	assert_true(compare_bug("one-drain", &parts, CT_MODEL_X86, 0).different > 0);
	parts.check = check_that_cries;
	assert_true(compare_bug("", &parts, CT_MODEL_X86, 0).different > 0);
	parts.check = check_behind_its_back;
	parts.count = count_one;
	assert_int_equal(compare_bug("", &parts, CT_MODEL_X86, 0).different, 0);
	assert_true(compare_bug("", &parts, CT_MODEL_X86, 17).different > 0);
}

/* ---- The command ------------------------------------------------------------------------------ */

static void crash(int status, const char *bug, const char *options)
{
	succeeds("rm -f pool && $HOST_INDEXED_LOG pool 2");
	exits(status, "$NVWAVE crash --exec=\"$HOST_INDEXED_LOG pool 12 %s\" --image=pool --check-lib=%s %s",
		bug, getenv("HOST_INDEXED_LOG_CHECK"), options);
}

TEST(a_program_whose_library_has_parts_is_explored_by_them)
{
	static const char *const texts[] = {NULL, "counts and is not whole", "counts and is not whole",
		"has an entry that does not count", "is not in the index"};

	NVW_FOR(i, NVW_COUNT(bugs)) {
		crash(i > 0, bugs[i], i % 2 ? "--verbose --jobs=3 --cures=off" : "--verbose --cures=off");
		assert_output_has(" evaluations of 3,073 parts", i ? texts[i] : "NO FAILURE FOUND in ");
		assert_true(i == 0 || strstr(output, "examples/indexed_log.c:") != NULL);
		assert_output_lacks("that the whole check passes");
	}
	crash(0, "", "--verbose --model=pmreorder");
	assert_output_lacks("by parts");
}

static const char half_source[] = "#include <nvw/checker.h>\n"
				  "int nvw_check(struct nvw_check *c) { return 0; }\n"
				  "int nvw_check_part(struct nvw_check *c, uint64_t part) {\n"
				  "	return *(const int *)c->image; }\n",
		  count_source[] = "uint64_t nvw_check_parts(const struct nvw_check *c) { return 3; }\n";

static void crash_with_library(int status, const char *source, const char *more)
{
	FILE *const f = fopen(in_dir("check.c"), "w");

	assert_non_null(f);
	assert_true(fputs(source, f) >= 0 && fputs(more, f) >= 0);
	assert_int_equal(fclose(f), 0);
	succeeds("cc -shared -fPIC -I%s -o check.so check.c", HEADERS);
	succeeds("rm -f pool && $HOST_INDEXED_LOG pool 2");
	exits(status, "$NVWAVE crash --exec=\"$HOST_INDEXED_LOG pool 2\" --image=pool "
		      "--check-lib=./check.so");
}

TEST(a_library_with_half_of_the_functions_of_parts_is_refused)
{
	crash_with_library(2, half_source, "");
	assert_output_has("check.so: expected both nvw_check_parts and nvw_check_part");
}

TEST(a_part_of_a_library_that_dies_is_reported_and_whole_states_are_tested)
{
	crash_with_library(0, half_source, count_source);
	assert_output_has("sampled: a part crashed or hung");
}

/*
 * Whoever judges by a library drops what the process prints from then on; a test still has to say how it
 * ends.
 */
static void judge_once(const struct recorded *r)
{
	const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	struct rig rig;

	begin_medium(&rig, r, CT_MODEL_X86);
	assert_true(rig_next(&rig));
	check_fails(&rig);
	rig_end(&rig);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
}

static int begin(void **state)
{
	assert_int_equal(shell_begin((const char *const[]){
				 "NVWAVE", "HOST_INDEXED_LOG", "HOST_INDEXED_LOG_CHECK", NULL}),
		0);
	const struct recorded r = record("", 1);
	const struct ct_asked_is is = {.bytes = r.bytes, .timeout_ms = 1000};

	assert_ok(ct_checker_create(&is, getenv("HOST_INDEXED_LOG_CHECK"), &checker));
	judge_once(&r);
	close(r.log_fd);
	free(r.image);
	return 0;
}

static int end(void **state)
{
	ct_checker_destroy(&checker);
	return shell_end(state);
}

GROUP(begin, end);
