/* SPDX-License-Identifier: BSD-3-Clause */
/* Cures of planted bugs: what is called verified is what the program lacks, and one bug does not hide the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <check/check.h>
#include <crashtest/crash.h>
#include <crashtest/cure.h>
#include <crashtest/image.h>

enum { POOL_BYTES = 4096, ROUNDS = 3 };

static nvw_off word_at(unsigned line)
{
	return 64 * (nvw_off)line;
}

static void put(struct nvw_log_writer *w, const struct nvw_log_record *r)
{
	static uint64_t time_ps;
	struct nvw_log_record timed = *r;

	timed.time_ps = time_ps += 1000;
	assert_int_equal(nvw_log_append(w, &timed), 0);
}

/* Each line has a word of its own, into which the number of the round goes. */
static void store(struct nvw_log_writer *w, unsigned item, unsigned line, uint64_t round)
{
	put(w, &(struct nvw_log_record){.kind = NVW_LOG_STORE,
		       .store = {.site = line,
			       .kernel = 1,
			       .work_item = item,
			       .group = item,
			       .bytes = 8,
			       .off = word_at(line),
			       .value = round}});
}

/* Work-item 0 stores at lines 1 and 2, work-item 1 at 3 and 4, and no barrier is between. */
static int make_log(void)
{
	const struct nvw_log_info info = {.workload = "two bugs", .pool_bytes = POOL_BYTES, .atomicity = 8};
	const int fd = memfd_create("log", MFD_CLOEXEC);
	struct nvw_log_writer *w;

	assert_int_equal(nvw_log_create_fd(dup(fd), "test log", &info, &w), 0);
	for (unsigned line = 1; line <= 4; line++) {
		put(w, &(struct nvw_log_record){.kind = NVW_LOG_SITE,
			       .site = {.id = line, .line = line, .file = "two.c", .function = "f"}});
	}
	put(w, &(struct nvw_log_record){.kind = NVW_LOG_LAUNCH,
		       .launch = {.kernel = 1, .group_size = 1, .work_items = 2, .name = "two"}});
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		store(w, 0, 1, round);
		store(w, 1, 3, round);
		store(w, 0, 2, round);
		store(w, 1, 4, round);
	}
	assert_int_equal(nvw_log_close(w, UINT64_C(1) << 40), 0);
	return fd;
}

struct law {
	bool first, second; /* what is stored at 2 is never ahead of 1, at 4 never ahead of 3 */
	bool odd;           /* and the last word is never 2, which no order can help */
};

static int judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct law *const law = context;
	uint64_t word[5];
	int verdict = 0;

	(void)acks;
	*phase = CT_PHASE_CHECK;
	for (unsigned line = 1; line <= 4; line++) {
		word[line] = ct_image_word(image, word_at(line));
	}
	if (law->first && word[2] > word[1]) {
		verdict = nvw_violation(findings, word_at(2), "the second word is ahead of the first");
	}
	if (law->second && word[4] > word[3]) {
		verdict = nvw_violation(findings, word_at(4), "the fourth word is ahead of the third");
	}
	if (law->odd && word[4] == 2) {
		verdict = nvw_violation(findings, word_at(4), "the fourth word is even");
	}
	return verdict;
}

static void cure(struct law law, unsigned jobs, struct ct_result *ret)
{
	static const uint8_t initial[POOL_BYTES];
	const int fd = make_log();
	const struct ct_exploration e = {.rules = {.model = CT_MODEL_EPOCH, .unit_bytes = 8},
		.log_fd = fd,
		.initial = initial,
		.bytes = POOL_BYTES,
		.judge = judge,
		.context = &law,
		.options = {.states = 1 << 20, .seed = 1, .jobs = jobs, .timeout_ms = 10000}};

	assert_int_equal(ct_explore(&e, NULL, ret), 0);
	assert_int_equal(ct_cure(&e, CT_MODEL_EPOCH, ret), 0);
	close(fd);
}

/* A barrier of the work-item between the two lines, wherever it stands. */
static bool orders(const struct ct_cure *c, unsigned a, unsigned b)
{
	return c->count == 1 && c->edit[0].kind == CT_EDIT_BARRIER && c->edit[0].scope == NVW_WORKITEM &&
	       (c->edit[0].a.line == a || c->edit[0].b.line == b);
}

static void a_missing_barrier_is_asked_for_and_verified(void **state)
{
	static struct ct_result r;

	cure((struct law){.first = true}, 1, &r);
	assert_int_equal(r.finding_count, 1);
	assert_true(r.finding[0].cure.verified);
	assert_true(r.finding[0].cure.exhaustive);
	assert_true(orders(&r.finding[0].cure, 1, 2));
	ct_result_free(&r);
}

static void two_bugs_are_both_listed_and_cured(void **state)
{
	static struct ct_result r;

	for (unsigned jobs = 1; jobs <= 2; jobs++) {
		bool first = false, second = false;

		cure((struct law){.first = true, .second = true}, jobs, &r);
		for (unsigned i = 0; i < r.finding_count; i++) {
			const struct ct_cure *const c = &r.finding[i].cure;

			assert_true(c->count == 0 || c->verified);
			assert_true(c->count == 0 || c->only > 0);
			first = first || orders(c, 1, 2);
			second = second || orders(c, 3, 4);
		}
		assert_true(first && second);
		assert_int_equal(r.states_uncured, 0);
		ct_result_free(&r);
	}
}

static void what_no_order_helps_has_no_verified_cure(void **state)
{
	static struct ct_result r;

	cure((struct law){.first = true, .odd = true}, 1, &r);
	assert_true(r.finding_count >= 2);
	for (unsigned i = 0; i < r.finding_count; i++) {
		assert_false(r.finding[i].cure.verified);
	}
	ct_result_free(&r);
}

static void a_cure_is_named_in_words(void **state)
{
	const struct ct_cure c = {.count = 2,
		.edit = {{.kind = CT_EDIT_FLUSH, .a = {.file = "src/list.c", .line = 31}},
			{.kind = CT_EDIT_FENCE, .a = {.file = "src/list.c", .line = 31}}}};
	char text[200];

	ct_cure_text(&c, text, sizeof text);
	assert_string_equal(text, "a flush after list.c:31 and a fence after list.c:31");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_barrier_is_asked_for_and_verified),
		cmocka_unit_test(two_bugs_are_both_listed_and_cured),
		cmocka_unit_test(what_no_order_helps_has_no_verified_cure),
		cmocka_unit_test(a_cure_is_named_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
