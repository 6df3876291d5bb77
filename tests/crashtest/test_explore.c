/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observed mode on logs written by hand (hand_log.h): which states there are, which fail, and what a finding
 * names.
 */
#include <string.h>
#include <unistd.h>
#include "common/test.h"

#include <crashtest/crash.h>
#include <crashtest/states/image.h>
#include <crashtest/explain/timeline.h>
#include "hand_log.h"

/* ---- Claims ------------------------------------------------------------------------------------------ */

TEST(a_run_with_its_barriers_is_consistent)
{
	const struct ct_result r = explored(log_of_queue(100, true), judge_queue, 20000, 1);

	assert_true(r.consistent);
	assert_int_equal(r.finding_count, 0);
	assert_int_equal(r.instants, r.instants_exhausted);
	assert_true(r.states_distinct > 200);
	assert_int_equal(r.acks, 100);
	assert_int_equal(r.stores, 200);
}

TEST(a_flag_that_may_be_durable_before_its_data_is_found)
{
	const struct ct_result r = explored(log_of_queue(100, false), judge_queue, 20000, 1);

	assert_false(r.consistent);
	assert_int_equal(r.finding_count, 1);
	assert_string_equal(r.finding[0].text, "entry 0 is published without its data");
	assert_int_equal(r.finding[0].states, 100);
	assert_int_equal(r.finding[0].off, flag_off(0));
}

TEST(a_finding_names_the_store_that_was_early_and_the_one_that_was_lost)
{
	const struct ct_result r = explored(log_of_queue(3, false), judge_queue, 20000, 1);
	const struct ct_finding *f = &r.finding[0];

	assert_int_equal(f->place_count, 2);
	assert_string_equal(f->place[0].file, "queue.c");
	assert_string_equal(f->place[0].function, "enqueue");
	assert_string_equal(f->place[0].kernel, "enqueue");
	assert_int_equal(f->place[0].line, 20);
	assert_int_equal(f->place[0].fate, CT_FATE_DURABLE);
	assert_int_equal(f->place[1].line, 10);
	assert_int_equal(f->place[1].fate, CT_FATE_LOST);
	assert_int_equal(f->place[1].off, data_off(0));
	assert_true(f->minimised);
}

TEST(data_that_never_left_the_cache_is_named_as_lost)
{
	struct memory_log run = log_begin(8);

	log_store(&run, DATA_SITE, 5, 0, data_off(5), 105);
	log_store(&run, FLAG_SITE, 5, 0, flag_off(5), 1);
	log_done(&run, log_issue(&run, flag_off(5), 1));
	const struct ct_result r = explored(log_end(&run), judge_queue, 100, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].place_count, 2);
	assert_int_equal(r.finding[0].place[0].line, 20);
	assert_int_equal(r.finding[0].place[1].line, 10);
	assert_int_equal(r.finding[0].place[1].fate, CT_FATE_CACHED);
}

/* The flag is stored twice; the second store never leaves the cache, so the first one is to blame. */
TEST(of_two_stores_to_a_word_the_one_that_is_there_is_named)
{
	struct memory_log run = log_begin(8);

	log_name_site(&run, 3, 30);
	log_store(&run, DATA_SITE, 0, 0, data_off(0), 100);
	log_store(&run, FLAG_SITE, 0, 0, flag_off(0), 1);
	log_store(&run, 3, 0, 0, flag_off(0), 2);
	const uint64_t data = log_issue(&run, data_off(0), 100);

	log_done(&run, log_issue(&run, flag_off(0), 1));
	log_done(&run, data);
	const struct ct_result r = explored(log_end(&run), judge_queue, 100, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].place_count, 2);
	assert_int_equal(r.finding[0].place[0].line, 20);
	assert_int_equal(r.finding[0].place[0].value, 1);
	assert_int_equal(r.finding[0].place[1].line, 10);
}

TEST(a_lost_acknowledged_operation_is_found)
{
	struct memory_log run = log_begin(8);
	const uint64_t data = log_issue(&run, data_off(0), 100);

	log_done(&run, data);
	const uint64_t flag = log_issue(&run, flag_off(0), 1);

	log_acknowledge(&run, 0);
	log_done(&run, flag);
	const struct ct_result r = explored(log_end(&run), judge_queue, 100, 1);

	assert_false(r.consistent);
	assert_string_equal(r.finding[0].text, "acknowledged entry 0 is missing");
}

/* Reports what the first two words hold. */
CHECK(judge_values)
{
	*phase = CT_PHASE_CHECK;
	return nvw_violation(findings, 0, "state %c%c", (char)('a' + ct_image_word(image, 0)),
		(char)('a' + ct_image_word(image, 8)));
}

static bool has_finding(const struct ct_result *r, const char *text)
{
	return NVW_ANY(finding, r->finding, r->finding_count, strcmp(finding->text, text) == 0);
}

TEST(writes_to_one_word_stay_in_order_and_words_of_a_line_do_not)
{
	struct memory_log run = log_begin(8);
	const uint64_t a = log_issue(&run, 0, 1);
	const uint64_t b = log_issue(&run, 0, 2);
	const uint64_t c = log_issue(&run, 8, 3);

	log_done(&run, a);
	log_done(&run, b);
	log_done(&run, c);
	const struct ct_result r = explored(log_end(&run), judge_values, 100, 1);

	assert_int_equal(r.states_distinct, 6); /* 0, 1 or 2; with and without 3 */
	assert_int_equal(r.finding_count, 6);
	assert_true(has_finding(&r, "state aa"));
	assert_true(has_finding(&r, "state ba"));
	assert_true(has_finding(&r, "state cd"));
	assert_true(has_finding(&r, "state ad"));
}

TEST(an_issued_line_is_torn_by_words_or_not_at_all)
{
	const unsigned atomicity[] = {8, 64};
	const uint64_t line[8] = {1, 2};

	NVW_FOR(i, 2) {
		struct memory_log run = log_begin(atomicity[i]);

		log_append(
			&run, (struct nvw_log_record){.kind = NVW_LOG_ISSUE,
				      .issue = {.write = 1, .mask = 0xffff, .data = (const uint8_t *)line}});
		log_done(&run, 1);
		const struct ct_result r = explored(log_end(&run), judge_values, 100, 1);

		assert_int_equal(r.states_distinct, i ? 2 : 4);
		assert_int_equal(has_finding(&r, "state ac"), i == 0);
		assert_true(has_finding(&r, "state bc"));
	}
}

TEST(host_writes_are_durable_at_once)
{
	struct memory_log run = log_begin(8);
	const uint64_t value = 1;

	log_append(&run, (struct nvw_log_record){.kind = NVW_LOG_HOST,
				 .host = {.off = 0, .bytes = 8, .data = (const uint8_t *)&value}});
	log_done(&run, log_issue(&run, 8, 1));
	const struct ct_result r = explored(log_end(&run), judge_values, 100, 1);

	assert_true(has_finding(&r, "state aa"));
	assert_true(has_finding(&r, "state ba"));
	assert_true(has_finding(&r, "state bb"));
	assert_false(has_finding(&r, "state ab"));
}

/* Reports what the first words of two lines hold. */
CHECK(judge_lines)
{
	*phase = CT_PHASE_CHECK;
	return nvw_violation(
		findings, 0, "state %c%c", (char)('a' + image->ro[0]), (char)('a' + image->ro[64]));
}

/* The first word is flushed by thread 1, and a thread has fenced when the second one is stored. */
static struct ct_result explored_with_fence_of(uint64_t thread)
{
	struct memory_log run = log_begin(8);

	log_store(&run, DATA_SITE, 1, 0, 0, 1);
	log_flush(&run, 1, 0);
	log_fence(&run, thread);
	log_store(&run, FLAG_SITE, 2, 0, 64, 1);
	log_flush(&run, 2, 64);
	log_fence(&run, 2);
	return explored_under(CT_MODEL_X86, log_end(&run), judge_lines, 100, 1);
}

TEST(a_fence_completes_the_flushes_of_its_own_thread_alone)
{
	const struct ct_result own = explored_with_fence_of(1), other = explored_with_fence_of(2);

	assert_true(has_finding(&own, "state bb") && has_finding(&other, "state bb"));
	assert_false(has_finding(&own, "state ab"));
	assert_true(has_finding(&other, "state ab"));
}

TEST(equal_states_are_tested_once_and_counted)
{
	struct memory_log run = log_begin(8);
	uint64_t write[12];

	NVW_FOR(round, 3) {
		NVW_FOR(i, 12) {
			write[i] = log_issue(&run, 64 * i, round % 2 ? 0 : 1);
		}
		NVW_EACH(one, write, 12) {
			log_done(&run, *one);
		}
	}
	const struct ct_result r = explored(log_end(&run), judge_queue, 100000, 1);

	assert_int_equal(r.states_distinct, 4096);
	assert_true(r.states_equal > 4000);
	assert_int_equal(r.states_tested, r.states_distinct + r.states_equal);
}

/* ---- What a finding lists ---------------------------------------------------------------------------- */

CHECK(judge_line)
{
	*phase = CT_PHASE_CHECK;
	return ct_image_word(image, flag_off(1)) && ct_image_word(image, data_off(1) + 8 * 3) == 7 ?
		       nvw_violation(findings, 64, "the line is old") :
		       0;
}

/* A line of which two words change at once. It is lost: each word has what the line before had there. */
TEST(a_lost_line_is_listed_with_the_words_that_were_there_before)
{
	const uint64_t before[8] = {0, 1, 2, 7, 4, 5, 6, 3}, after[8] = {0, 1, 2, 8, 4, 9, 6, 3};
	struct memory_log run = log_begin(64);

	NVW_FOR(i, 2) {
		const uint64_t flag = i ? log_issue(&run, flag_off(1), 1) : 0;

		log_append(&run, (struct nvw_log_record){.kind = NVW_LOG_ISSUE,
					 .issue = {.write = ++run.write,
						 .off = data_off(1),
						 .mask = UINT64_MAX,
						 .data = (const uint8_t *)(i ? after : before)}});
		log_done(&run, i ? flag : run.write);
	}
	const struct ct_result r = explored(log_end(&run), judge_line, 100, 1);
	const struct ct_finding *const f = &r.finding[0];

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(f->unit_count, 2);
	NVW_FOR(i, 2) {
		const unsigned word = i ? 5 : 3;

		assert_int_equal(f->unit[i].off, data_off(1) + 8 * word);
		assert_int_equal(f->unit[i].now, before[word]);
		assert_int_equal(f->unit[i].newest, after[word]);
		assert_true(f->unit[i].lost);
	}
}

static void meet_barrier(struct memory_log *run, enum nvw_log_kind kind, uint32_t epoch)
{
	log_append(run, (struct nvw_log_record){.kind = kind,
				.barrier = {.site = FLAG_SITE, .scope = NVW_WORKITEM, .epoch = epoch}});
}

/*
 * The timeline of a log of so many stores, barriers 1 to 3, of which the last does not complete, and three
 * stores to one word.
 */
static struct ct_finding with_timeline(unsigned stores_before, uint64_t barrier_record)
{
	struct ct_finding f = {.cause.barrier_record = barrier_record};
	uint64_t image[POOL_BYTES / 8] = {0};
	struct memory_log run = log_begin(8); /* three records */
	struct ct_stores stores;

	NVW_FOR(i, stores_before) {
		log_store(&run, FLAG_SITE, 0, 0, flag_off(0), i);
	}
	meet_barrier(&run, NVW_LOG_BARRIER, 1);
	log_store(&run, DATA_SITE, 0, 0, data_off(1), 5);
	meet_barrier(&run, NVW_LOG_BARRIER, 2);
	meet_barrier(&run, NVW_LOG_PERSISTED, 1);
	log_store(&run, DATA_SITE, 0, 0, data_off(1), 6);
	meet_barrier(&run, NVW_LOG_PERSISTED, 2);
	meet_barrier(&run, NVW_LOG_BARRIER, 3);
	log_store(&run, DATA_SITE, 0, 0, data_off(1), 7);
	log_end(&run);
	image[data_off(1) / 8] = 6;
	assert_ok(ct_stores_read(run.fd, UINT64_MAX, &stores));
	assert_ok(ct_timeline_read(run.fd, UINT64_MAX, 0, &stores, (const uint8_t *)image, &f));
	ct_stores_free(&stores);
	close(run.fd);
	return f;
}

/* Whether it is of the cause or not, and wherever it is among the moments that are kept. */
TEST(a_timeline_has_the_end_of_each_barrier_that_completed)
{
	NVW_FOR(before, 2 * CT_MOMENTS_MAX) {
		const uint64_t record = 3 + before + (before % 2 ? 1 : 3);
		const struct ct_finding f = with_timeline(before, record);
		const struct ct_moment *const m = &f.moment[f.moment_count - 6];

		NVW_FOR(i, 3) {
			assert_int_equal(m[2 * i].kind, CT_MOMENT_BARRIER);
			assert_int_equal(m[2 * i].value, i + 1);
		}
		assert_int_equal(m[0].role, before % 2 ? CT_ROLE_BARRIER : CT_ROLE_NONE);
		assert_int_equal(m[2].role, before % 2 ? CT_ROLE_NONE : CT_ROLE_BARRIER);
		assert_int_equal(m[0].end_ps, 1000 * (before + 7));
		assert_int_equal(m[2].end_ps, 1000 * (before + 9));
		assert_int_equal(m[4].end_ps, INT64_MAX);
	}
}

TEST(a_timeline_tells_stores_that_survive_from_overwritten_and_from_lost_ones)
{
	const struct ct_finding f = with_timeline(0, 0);

	assert_int_equal(f.moment_count, 6);
	NVW_FOR(i, 3) {
		const struct ct_moment *const m = &f.moment[2 * i + 1];

		assert_int_equal(m->kind, CT_MOMENT_STORE);
		assert_int_equal(m->value, 5 + i);
		assert_int_equal(m->overwritten, i == 0);
		assert_int_equal(m->durable, i == 1);
	}
}

/* ---- The image --------------------------------------------------------------------------------------- */

TEST(a_state_is_undone_however_many_words_it_changes)
{
	static uint64_t zeroes[POOL_BYTES / 8], half[POOL_BYTES / 8];
	struct ct_image image;
	uint64_t hash = 0;

	assert_ok(ct_image_create(zeroes, NULL, POOL_BYTES, &image));
	NVW_FOR(i, POOL_BYTES / 8) {
		hash = i == POOL_BYTES / 16 ? image.hash : hash;
		half[i] = i < POOL_BYTES / 16 ? i + 1 : 0;
		ct_image_set(&image, 8 * i, i + 1);
		assert_int_equal(ct_image_word(&image, 8 * i), i + 1);
	}
	ct_image_undo(&image, POOL_BYTES / 16);
	assert_memory_equal(image.ro, half, POOL_BYTES);
	assert_int_equal(image.hash, hash);
	ct_image_undo(&image, 0);
	assert_memory_equal(image.ro, zeroes, POOL_BYTES);
	assert_int_equal(image.hash, 0);
	ct_image_destroy(&image);
}
