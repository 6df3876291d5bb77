/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observed mode on logs written by hand, of a structure with a data word and a flag an operation: the flag must
 * not be durable before the data. The faults are planted here.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <crashtest/crash.h>
#include <crashtest/image.h>

#include "common/skip.h"

enum { POOL_BYTES = 65536, FLAGS = 32768, DATA_SITE = 1, FLAG_SITE = 2 };

static nvw_off data_off(unsigned op)
{
	return 64 * (nvw_off)op;
}

static nvw_off flag_off(unsigned op)
{
	return FLAGS + 64 * (nvw_off)op;
}

/* ---- Logs -------------------------------------------------------------------------------------------- */

struct run {
	int fd;
	struct nvw_log_writer *w;
	uint64_t time_ps, write;
};

static void append(struct run *run, struct nvw_log_record record)
{
	run->time_ps += 1000;
	record.time_ps = run->time_ps;
	assert_int_equal(nvw_log_append(run->w, &record), 0);
}

static void name_site(struct run *run, uint32_t id, uint32_t line)
{
	append(run, (struct nvw_log_record){.kind = NVW_LOG_SITE,
			    .site = {.id = id, .line = line, .file = "queue.c", .function = "enqueue"}});
}

static struct run begin(unsigned atomicity)
{
	const struct nvw_log_info info = {
		.workload = "queue", .pool_bytes = POOL_BYTES, .atomicity = atomicity};
	struct run run = {.fd = memfd_create("log", MFD_CLOEXEC)};

	assert_true(run.fd >= 0);
	assert_int_equal(nvw_log_create_fd(dup(run.fd), "test log", &info, &run.w), 0);
	name_site(&run, DATA_SITE, 10);
	name_site(&run, FLAG_SITE, 20);
	append(&run, (struct nvw_log_record){.kind = NVW_LOG_LAUNCH,
			     .launch = {.kernel = 1, .group_size = 64, .work_items = 64, .name = "enqueue"}});
	return run;
}

static void store(struct run *run, uint32_t site, unsigned op, nvw_off off, uint64_t value)
{
	append(run, (struct nvw_log_record){.kind = NVW_LOG_STORE,
			    .store = {.site = site,
				    .kernel = 1,
				    .work_item = op,
				    .epoch_wi = 1,
				    .bytes = 8,
				    .off = off,
				    .value = value}});
}

static uint64_t issue(struct run *run, nvw_off off, uint64_t value)
{
	uint64_t line[8] = {0};

	line[off % 64 / 8] = value;
	append(run, (struct nvw_log_record){.kind = NVW_LOG_ISSUE,
			    .issue = {.write = ++run->write,
				    .off = off & ~(nvw_off)63,
				    .mask = (uint64_t)0xff << off % 64,
				    .data = (const uint8_t *)line}});
	return run->write;
}

static void done(struct run *run, uint64_t write)
{
	append(run, (struct nvw_log_record){.kind = NVW_LOG_DONE, .done = {.write = write}});
}

static void acknowledge(struct run *run, unsigned op)
{
	append(run, (struct nvw_log_record){.kind = NVW_LOG_ACK, .ack = {.first = op, .count = 1}});
}

static void end(struct run *run)
{
	assert_int_equal(nvw_log_close(run->w, run->time_ps), 0);
}

/* Data, a persist barrier, flag: the correct order; without the barrier both are in flight at once. */
static int queue_log(unsigned ops, bool barrier)
{
	struct run run = begin(8);

	for (unsigned op = 0; op < ops; op++) {
		store(&run, DATA_SITE, op, data_off(op), 100 + op);
		store(&run, FLAG_SITE, op, flag_off(op), 1);
		const uint64_t data = issue(&run, data_off(op), 100 + op);

		if (barrier) {
			done(&run, data);
		}
		const uint64_t flag = issue(&run, flag_off(op), 1);

		done(&run, flag);
		if (!barrier) {
			done(&run, data);
		}
		acknowledge(&run, op);
	}
	end(&run);
	return run.fd;
}

/* ---- Judges ------------------------------------------------------------------------------------------ */

static int judge_queue(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	int verdict = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned op = 0; op < FLAGS / 64; op++) {
		uint64_t data, flag;

		memcpy(&data, image->ro + data_off(op), 8);
		memcpy(&flag, image->ro + flag_off(op), 8);
		if (flag && data != 100 + op) {
			verdict = nvw_violation(
				findings, flag_off(op), "entry %u is published without its data", op);
		}
		if (!flag && nvw_acked(acks, op)) {
			verdict =
				nvw_violation(findings, flag_off(op), "acknowledged entry %u is missing", op);
		}
	}
	return verdict;
}

static struct ct_result explored_under(
	enum ct_model model, int fd, ct_judge judge, uint64_t states, unsigned jobs)
{
	static const uint8_t zeroes[POOL_BYTES];
	const struct ct_exploration e = {
		.rules = {.model = model},
		.log_fd = fd,
		.initial = zeroes,
		.bytes = POOL_BYTES,
		.judge = judge,
		.options =
			{.mode = CT_OBSERVED, .states = states, .seed = 1, .jobs = jobs, .timeout_ms = 200},
	};
	struct ct_result result;

	if (ct_explore(&e, NULL, &result)) {
		fail_msg("%s", nvw_error_message());
	}
	close(fd);
	ct_result_free(&result);
	return result;
}

static struct ct_result explored(int fd, ct_judge judge, uint64_t states, unsigned jobs)
{
	return explored_under(CT_MODEL_OBSERVED, fd, judge, states, jobs);
}

/* ---- Claims ------------------------------------------------------------------------------------------ */

static void a_run_with_its_barriers_is_consistent(void **state)
{
	const struct ct_result r = explored(queue_log(100, true), judge_queue, 20000, 1);

	assert_true(r.consistent);
	assert_int_equal(r.finding_count, 0);
	assert_int_equal(r.instants, r.instants_exhausted);
	assert_true(r.states_distinct > 200);
	assert_int_equal(r.acks, 100);
	assert_int_equal(r.stores, 200);
}

static void a_flag_that_may_be_durable_before_its_data_is_found(void **state)
{
	const struct ct_result r = explored(queue_log(100, false), judge_queue, 20000, 1);

	assert_false(r.consistent);
	assert_int_equal(r.finding_count, 1);
	assert_string_equal(r.finding[0].text, "entry 0 is published without its data");
	assert_int_equal(r.finding[0].states, 100);
	assert_int_equal(r.finding[0].off, flag_off(0));
}

static void a_finding_names_the_store_that_was_early_and_the_one_that_was_lost(void **state)
{
	const struct ct_result r = explored(queue_log(3, false), judge_queue, 20000, 1);
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

static void data_that_never_left_the_cache_is_named_as_lost(void **state)
{
	struct run run = begin(8);

	store(&run, DATA_SITE, 5, data_off(5), 105);
	store(&run, FLAG_SITE, 5, flag_off(5), 1);
	done(&run, issue(&run, flag_off(5), 1));
	end(&run);
	const struct ct_result r = explored(run.fd, judge_queue, 100, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].place_count, 2);
	assert_int_equal(r.finding[0].place[0].line, 20);
	assert_int_equal(r.finding[0].place[1].line, 10);
	assert_int_equal(r.finding[0].place[1].fate, CT_FATE_CACHED);
}

/* The flag is stored twice; the second store never leaves the cache, so the first one is to blame. */
static void of_two_stores_to_a_word_the_one_that_is_there_is_named(void **state)
{
	struct run run = begin(8);

	name_site(&run, 3, 30);
	store(&run, DATA_SITE, 0, data_off(0), 100);
	store(&run, FLAG_SITE, 0, flag_off(0), 1);
	store(&run, 3, 0, flag_off(0), 2);
	const uint64_t data = issue(&run, data_off(0), 100);

	done(&run, issue(&run, flag_off(0), 1));
	done(&run, data);
	end(&run);
	const struct ct_result r = explored(run.fd, judge_queue, 100, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].place_count, 2);
	assert_int_equal(r.finding[0].place[0].line, 20);
	assert_int_equal(r.finding[0].place[0].value, 1);
	assert_int_equal(r.finding[0].place[1].line, 10);
}

static void a_lost_acknowledged_operation_is_found(void **state)
{
	struct run run = begin(8);
	const uint64_t data = issue(&run, data_off(0), 100);

	done(&run, data);
	const uint64_t flag = issue(&run, flag_off(0), 1);

	acknowledge(&run, 0);
	done(&run, flag);
	end(&run);
	const struct ct_result r = explored(run.fd, judge_queue, 100, 1);

	assert_false(r.consistent);
	assert_string_equal(r.finding[0].text, "acknowledged entry 0 is missing");
}

/* Reports what the first two words hold. */
static int judge_values(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	uint64_t first, second;

	*phase = CT_PHASE_CHECK;
	memcpy(&first, image->ro, 8);
	memcpy(&second, image->ro + 8, 8);
	return nvw_violation(findings, 0, "state %c%c", (char)('a' + first), (char)('a' + second));
}

static bool has_finding(const struct ct_result *r, const char *text)
{
	for (unsigned i = 0; i < r->finding_count; i++) {
		if (strcmp(r->finding[i].text, text) == 0) {
			return true;
		}
	}
	return false;
}

static void writes_to_one_word_stay_in_order_and_words_of_a_line_do_not(void **state)
{
	struct run run = begin(8);
	const uint64_t a = issue(&run, 0, 1);
	const uint64_t b = issue(&run, 0, 2);
	const uint64_t c = issue(&run, 8, 3);

	done(&run, a);
	done(&run, b);
	done(&run, c);
	end(&run);
	const struct ct_result r = explored(run.fd, judge_values, 100, 1);

	assert_int_equal(r.states_distinct, 6); /* 0, 1 or 2; with and without 3 */
	assert_int_equal(r.finding_count, 6);
	assert_true(has_finding(&r, "state aa"));
	assert_true(has_finding(&r, "state ba"));
	assert_true(has_finding(&r, "state cd"));
	assert_true(has_finding(&r, "state ad"));
}

static void an_issued_line_is_torn_by_words_or_not_at_all(void **state)
{
	const unsigned atomicity[] = {8, 64};
	const uint64_t line[8] = {1, 2};

	for (unsigned i = 0; i < 2; i++) {
		struct run run = begin(atomicity[i]);

		append(&run, (struct nvw_log_record){.kind = NVW_LOG_ISSUE,
				     .issue = {.write = 1, .mask = 0xffff, .data = (const uint8_t *)line}});
		done(&run, 1);
		end(&run);
		const struct ct_result r = explored(run.fd, judge_values, 100, 1);

		assert_int_equal(r.states_distinct, i ? 2 : 4);
		assert_int_equal(has_finding(&r, "state ac"), i == 0);
		assert_true(has_finding(&r, "state bc"));
	}
}

static void host_writes_are_durable_at_once(void **state)
{
	struct run run = begin(8);
	const uint64_t value = 1;

	append(&run, (struct nvw_log_record){.kind = NVW_LOG_HOST,
			     .host = {.off = 0, .bytes = 8, .data = (const uint8_t *)&value}});
	done(&run, issue(&run, 8, 1));
	end(&run);
	const struct ct_result r = explored(run.fd, judge_values, 100, 1);

	assert_true(has_finding(&r, "state aa"));
	assert_true(has_finding(&r, "state ba"));
	assert_true(has_finding(&r, "state bb"));
	assert_false(has_finding(&r, "state ab"));
}

/* Reports what the first words of two lines hold. */
static int judge_lines(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	return nvw_violation(
		findings, 0, "state %c%c", (char)('a' + image->ro[0]), (char)('a' + image->ro[64]));
}

static void flush(struct run *run, uint64_t thread, nvw_off off)
{
	append(run, (struct nvw_log_record){.kind = NVW_LOG_FLUSH,
			    .flush = {.site = DATA_SITE, .thread = thread, .off = off, .bytes = 64}});
}

static void fence(struct run *run, uint64_t thread)
{
	append(run, (struct nvw_log_record){
			    .kind = NVW_LOG_FENCE, .fence = {.site = DATA_SITE, .thread = thread}});
}

/* The first word is flushed by thread 1, and a thread has fenced when the second one is stored. */
static struct ct_result explored_with_fence_of(uint64_t thread)
{
	struct run run = begin(8);

	store(&run, DATA_SITE, 1, 0, 1);
	flush(&run, 1, 0);
	fence(&run, thread);
	store(&run, FLAG_SITE, 2, 64, 1);
	flush(&run, 2, 64);
	fence(&run, 2);
	end(&run);
	return explored_under(CT_MODEL_X86, run.fd, judge_lines, 100, 1);
}

static void a_fence_completes_the_flushes_of_its_own_thread_alone(void **state)
{
	const struct ct_result own = explored_with_fence_of(1), other = explored_with_fence_of(2);

	assert_true(has_finding(&own, "state bb") && has_finding(&other, "state bb"));
	assert_false(has_finding(&own, "state ab"));
	assert_true(has_finding(&other, "state ab"));
}

static void equal_states_are_tested_once_and_counted(void **state)
{
	struct run run = begin(8);
	uint64_t write[12];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 12; i++) {
			write[i] = issue(&run, 64 * i, round % 2 ? 0 : 1);
		}
		for (unsigned i = 0; i < 12; i++) {
			done(&run, write[i]);
		}
	}
	end(&run);
	const struct ct_result r = explored(run.fd, judge_queue, 100000, 1);

	assert_int_equal(r.states_distinct, 4096);
	assert_true(r.states_equal > 4000);
	assert_int_equal(r.states_tested, r.states_distinct + r.states_equal);
}

/* ---- Misbehaving checkers ---------------------------------------------------------------------------- */

static bool has_entry(const struct ct_image *image, unsigned op)
{
	return image->ro[flag_off(op)] != 0;
}

static int judge_crashing(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	if (has_entry(image, 5) && !has_entry(image, 6)) {
		raise(SIGSEGV);
	}
	return judge_queue(context, image, acks, findings, phase);
}

static void a_check_that_dies_is_a_finding_and_the_rest_is_tested(void **state)
{
	const struct ct_result clean = explored(queue_log(40, true), judge_queue, 20000, 1);
	const struct ct_result r = explored(queue_log(40, true), judge_crashing, 20000, 1);

	assert_false(r.consistent);
	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].signal, SIGSEGV);
	assert_non_null(strstr(r.finding[0].text, "the check was killed by signal 11"));
	assert_int_equal(r.states_distinct, clean.states_distinct);
	assert_int_equal(r.states_failing, r.finding[0].states);
	assert_false(r.gave_up);
}

static int judge_hanging(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_RECOVER;
	while (has_entry(image, 1) && !has_entry(image, 2) && nvw_acked_count(acks) < 2) {
	}
	return 0;
}

static void a_recovery_that_hangs_is_a_finding_and_the_rest_is_tested(void **state)
{
	const struct ct_result clean = explored(queue_log(10, true), judge_queue, 20000, 1);
	const struct ct_result r = explored(queue_log(10, true), judge_hanging, 20000, 1);

	assert_int_equal(r.finding_count, 1);
	assert_true(r.finding[0].hung);
	assert_string_equal(r.finding[0].text, "recovery does not terminate");
	assert_int_equal(r.states_distinct, clean.states_distinct);
}

static volatile unsigned rounds;

/* Where both what hangs and what is only slow take their time. */
static void __attribute__((noinline)) go_round(uint64_t milliseconds)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		for (unsigned i = 0; i < 1000; i++) {
			rounds++;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((uint64_t)(now.tv_sec - began.tv_sec) * 1000 + (uint64_t)(now.tv_nsec / 1000000) -
			 (uint64_t)(began.tv_nsec / 1000000) <
		 milliseconds);
}

/* Hangs in every state with one entry missing; is slow where two are. */
static int judge_hanging_often(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	unsigned missing = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned i = 0; i < 2; i++) {
		missing += !has_entry(image, i);
	}
	if (missing == 1) {
		go_round(100000);
	} else if (missing == 2) {
		go_round(4);
	}
	return 0;
}

static void states_that_hang_alike_are_cut_early(void **state)
{
	skip_if_sanitized();
	static const uint8_t zeroes[POOL_BYTES];
	const int fd = queue_log(2, false);
	const struct ct_exploration e = {
		.rules = {.model = CT_MODEL_EPOCH},
		.log_fd = fd,
		.initial = zeroes,
		.bytes = POOL_BYTES,
		.judge = judge_hanging_often,
		.options = {.states = 20000, .seed = 1, .jobs = 1, .timeout_ms = 800, .unexplained = true},
	};
	static struct ct_result r;

	assert_int_equal(ct_explore(&e, NULL, &r), 0);
	close(fd);
	ct_result_free(&r);
	assert_int_equal(r.finding_count, 1);
	assert_string_equal(r.finding[0].text, "the check does not terminate");
	assert_non_null(strstr(r.finding[0].where, "go_round"));
	assert_true(r.states_failing >= 3);
	assert_true(r.hangs_alike > 0 && r.hangs_alike < r.states_failing);
	assert_true(r.states_failing < r.states_distinct - 1); /* the slow ones passed */
}

/* How often states died from outside, in all processes. */
static volatile unsigned *kills;

static struct ct_result explored_killing(unsigned times, ct_judge judge)
{
	kills = mmap(NULL, sizeof *kills, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true((const void *)kills != MAP_FAILED);
	*kills = times;
	const struct ct_result r = explored(queue_log(10, false), judge, 20000, 1);

	assert_int_equal(*kills, 0);
	munmap((void *)(uintptr_t)kills, sizeof *kills);
	return r;
}

static int judge_killed(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_RECOVER;
	if (has_entry(image, 5) && !has_entry(image, 6) && *kills > 0) {
		--*kills;
		raise(SIGKILL);
	}
	return judge_queue(context, image, acks, findings, phase);
}

static int judge_killed_after(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const int verdict = judge_queue(context, image, acks, findings, phase);

	if (verdict && *kills > 0) {
		--*kills;
		raise(SIGKILL);
	}
	return verdict;
}

static void a_worker_that_is_killed_from_outside_changes_no_verdict(void **state)
{
	static struct ct_result clean; /* results are large */
	const ct_judge judges[] = {judge_killed, judge_killed_after};

	clean = explored(queue_log(10, false), judge_queue, 20000, 1);
	for (unsigned i = 0; i < 2; i++) {
		const struct ct_result r = explored_killing(2, judges[i]);

		assert_int_equal(r.finding_count, clean.finding_count);
		assert_string_equal(r.finding[0].text, clean.finding[0].text);
		assert_int_equal(r.finding[0].states, clean.finding[0].states);
		assert_int_equal(r.states_failing, clean.states_failing);
		assert_int_equal(r.states_distinct, clean.states_distinct);
		assert_int_equal(r.states_equal, clean.states_equal);
		assert_int_equal(r.states_undecided, 0);
	}
}

static void a_state_whose_workers_are_killed_again_and_again_is_undecided(void **state)
{
	const struct ct_result clean = explored(queue_log(10, true), judge_queue, 20000, 1);

	assert_true(ct_is_consistent(&clean));
	kills = mmap(NULL, sizeof *kills, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*kills = CT_KILLS_MAX;
	const struct ct_result r = explored(queue_log(10, true), judge_killed, 20000, 1);

	assert_int_equal(*kills, 0);
	munmap((void *)(uintptr_t)kills, sizeof *kills);
	assert_int_equal(r.finding_count, 0);
	assert_int_equal(r.states_failing, 0);
	assert_int_equal(r.states_undecided, 1);
	assert_int_equal(r.instants_exhausted, r.instants - 1);
	assert_int_equal(r.states_distinct, clean.states_distinct);
	assert_false(ct_is_consistent(&r));
	assert_string_equal(ct_verdict_name(&r), "undecided");
	assert_non_null(strstr(r.undecided, "SIGKILL"));
}

static int judge_leaving(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	if (has_entry(image, 5) && !has_entry(image, 6)) {
		_exit(0);
	}
	return judge_queue(context, image, acks, findings, phase);
}

static void a_check_that_ends_the_process_as_if_all_were_well_gives_no_answer(void **state)
{
	const struct ct_result r = explored(queue_log(10, true), judge_leaving, 20000, 1);

	assert_int_equal(r.finding_count, 0);
	assert_true(r.states_undecided > 0);
	assert_string_equal(ct_verdict_name(&r), "undecided");
	assert_string_equal(r.undecided, "the check ended the process with status 0, which is no verdict");
}

static int judge_scribbling(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	if (has_entry(image, 3) && !has_entry(image, 4)) {
		((volatile uint8_t *)(uintptr_t)image->ro)[data_off(0)] = 0;
	}
	return judge_queue(context, image, acks, findings, phase);
}

static void a_check_that_writes_to_the_image_is_a_finding_and_spoils_no_other_state(void **state)
{
	const struct ct_result r = explored(queue_log(10, true), judge_scribbling, 20000, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].signal, SIGSEGV);
}

static int judge_recovering(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const uint64_t zero = 0;

	for (unsigned op = 0; op < 16; op++) { /* a recovery that takes back what is half there */
		if (!has_entry(image, op)) {
			ct_image_write(image, data_off(op), &zero, 8);
		} else if (image->ro[data_off(op)] == 0) {
			ct_image_write(image, flag_off(op), &zero, 8);
		}
	}
	return judge_queue(context, image, acks, findings, phase);
}

static void what_recovery_wrote_is_undone_before_the_next_state(void **state)
{
	const struct ct_result r = explored(queue_log(10, false), judge_recovering, 20000, 1);

	assert_true(r.consistent);
}

/* ---- Sampling ---------------------------------------------------------------------------------------- */

/* Batches of 40 data words and flags in flight at once: far too many states. */
static int batch_log(unsigned batches)
{
	struct run run = begin(8);

	for (unsigned batch = 0; batch < batches; batch++) {
		uint64_t write[80];

		for (unsigned i = 0; i < 40; i++) {
			const unsigned op = 40 * batch + i;

			write[i] = issue(&run, data_off(op), 100 + op);
			write[40 + i] = issue(&run, flag_off(op), 1);
		}
		for (unsigned i = 0; i < 80; i++) {
			done(&run, write[i]);
		}
		for (unsigned i = 0; i < 40; i++) {
			acknowledge(&run, 40 * batch + i);
		}
	}
	end(&run);
	return run.fd;
}

static void too_many_states_are_sampled_within_the_budget(void **state)
{
	const struct ct_result r = explored(batch_log(10), judge_queue, 500, 1);

	assert_false(r.consistent);
	assert_true(r.states_tested <= 500 && r.states_tested > 400);
	assert_true(r.states_possible_log2 > 80);
	assert_true(r.instants_exhausted < r.instants);
	assert_true(r.finding[0].minimised);
	assert_int_equal(r.finding[0].units - r.finding[0].units_durable, 1); /* one lost word is enough */
}

enum { CELLS = 80, FEW = 10 };

/* Of states with few cells durable, and of those with few lost, shared by the processes: how often each was the odd one. */
static struct odd {
	unsigned durable[CELLS], lost[CELLS], sparse, dense;
} * odd;

static int judge_density(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	unsigned durable = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned i = 0; i < CELLS; i++) {
		durable += image->ro[8 * i] != 0;
	}
	odd->sparse += durable <= FEW;
	odd->dense += durable >= CELLS - FEW;
	for (unsigned i = 0; i < CELLS; i++) {
		odd->durable[i] += durable <= FEW && image->ro[8 * i];
		odd->lost[i] += durable >= CELLS - FEW && !image->ro[8 * i];
	}
	return 0;
}

/* Uniform draws alone have half of the cells durable, more or less. */
static void samples_have_every_density_and_leave_out_no_cell(void **state)
{
	struct run run = begin(8);
	uint64_t write[CELLS];

	for (unsigned i = 0; i < CELLS; i++) {
		write[i] = issue(&run, 8 * (nvw_off)i, 1);
	}
	for (unsigned i = 0; i < CELLS; i++) {
		done(&run, write[i]);
	}
	end(&run);
	odd = mmap(NULL, sizeof *odd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true((const void *)odd != MAP_FAILED);
	explored(run.fd, judge_density, 8000, 1);
	assert_true(odd->sparse > 100 && odd->dense > 100);
	for (unsigned i = 0; i < CELLS; i++) {
		assert_in_range(odd->durable[i], 1, odd->sparse / 2);
		assert_in_range(odd->lost[i], 1, odd->dense / 2);
	}
	munmap(odd, sizeof *odd);
}

static void fewer_states_than_instants_are_spread_over_them(void **state)
{
	const struct ct_result r = explored(queue_log(300, true), judge_queue, 50, 1);

	assert_true(r.consistent);
	assert_true(r.instants > 500);
	assert_in_range(r.states_tested, 45, 50);
}

static void assert_same_result(const struct ct_result *a, const struct ct_result *b)
{
	assert_int_equal(a->states_tested, b->states_tested);
	assert_int_equal(a->states_distinct, b->states_distinct);
	assert_int_equal(a->states_failing, b->states_failing);
	assert_int_equal(a->finding_count, b->finding_count);
	for (unsigned i = 0; i < a->finding_count; i++) {
		assert_string_equal(a->finding[i].text, b->finding[i].text);
		assert_int_equal(a->finding[i].states, b->finding[i].states);
		assert_int_equal(a->finding[i].instant, b->finding[i].instant);
		assert_int_equal(a->finding[i].draw, b->finding[i].draw);
		assert_memory_equal(a->finding[i].place, b->finding[i].place, sizeof a->finding[i].place);
	}
}

static void one_seed_gives_one_result_whatever_the_number_of_jobs(void **state)
{
	static struct ct_result one, again, four; /* 2 MiB each */

	one = explored(batch_log(10), judge_queue, 2000, 1);
	again = explored(batch_log(10), judge_queue, 2000, 1);
	four = explored(batch_log(10), judge_queue, 2000, 4);

	assert_same_result(&one, &again);
	assert_same_result(&one, &four);
}

/* Every second round leaves the words as the one before the last did, and acknowledges what is acknowledged. */
static int repeating_log(void)
{
	struct run run = begin(8);
	uint64_t write[6];

	for (unsigned round = 0; round < 8; round++) {
		for (unsigned i = 0; i < 6; i++) {
			write[i] = issue(&run, 64 * i, round % 2 ? 7 : 1);
		}
		for (unsigned i = 0; i < 6; i++) {
			done(&run, write[i]);
		}
		acknowledge(&run, 0);
	}
	end(&run);
	return run.fd;
}

static int judge_nothing(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	return 0;
}

static void what_is_acknowledged_twice_does_not_divide_equal_states_among_jobs(void **state)
{
	static struct ct_result one, r;

	one = explored(repeating_log(), judge_nothing, 100000, 1);
	assert_true(one.states_equal > 64);
	for (unsigned jobs = 2; jobs <= 5; jobs++) {
		r = explored(repeating_log(), judge_nothing, 100000, jobs);
		assert_same_result(&one, &r);
	}
}

static void a_damaged_log_is_an_error_and_not_a_verdict(void **state)
{
	static const uint8_t zeroes[POOL_BYTES];
	const int fd = queue_log(10, true);
	const struct ct_exploration e = {.log_fd = fd,
		.initial = zeroes,
		.bytes = POOL_BYTES,
		.judge = judge_queue,
		.options = {.states = 100, .jobs = 1, .timeout_ms = 200}};
	struct ct_result result;

	assert_int_equal(pwrite(fd, "x", 1, 200), 1);
	assert_int_equal(ct_explore(&e, NULL, &result), NVW_E_DAMAGED);
	close(fd);
}

/* ---- Causes, by need ----------------------------------------------------------------------------------- */

enum { THIRD_SITE = 3, FOURTH_SITE = 4 };

static nvw_off node_off(unsigned node)
{
	return 64 * (nvw_off)node;
}

/* A stack: word 0 is its head, a node's word its link. */
static int judge_stack(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	bool there[16] = {false};
	uint64_t node;
	int verdict = 0;

	*phase = CT_PHASE_CHECK;
	memcpy(&node, image->ro, 8);
	while (node != 0 && node < 16 && !there[node]) {
		there[node] = true;
		memcpy(&node, image->ro + node_off((unsigned)node), 8);
	}
	for (unsigned op = 1; op < 16; op++) {
		if (nvw_acked(acks, op) && !there[op]) {
			verdict =
				nvw_violation(findings, node_off(op), "acknowledged node %u is missing", op);
		}
	}
	return verdict;
}

/* The link of node 2 is lost, and its head is durable: node 1 is missing, whose acknowledgement came last. A barrier before
 * that acknowledgement would not help. */
static void a_store_that_relies_is_the_cause_where_an_acknowledgement_relies_as_well(void **state)
{
	struct run run = begin(8);

	store(&run, DATA_SITE, 1, node_off(1), 0x100);
	store(&run, DATA_SITE, 1, node_off(1), 0);
	store(&run, FLAG_SITE, 1, 0, 1);
	store(&run, DATA_SITE, 2, node_off(2), 1);
	store(&run, FLAG_SITE, 2, 0, 2);
	append(&run, (struct nvw_log_record){.kind = NVW_LOG_ACK,
			     .ack = {.first = 1, .count = 1, .kernel = 1, .work_item = 1}});
	end(&run);
	const struct ct_result r = explored_under(CT_MODEL_EPOCH, run.fd, judge_stack, 1000, 1);
	bool found = false;

	for (unsigned i = 0; i < r.finding_count; i++) {
		const struct ct_cause *const c = &r.finding[i].cause;

		found = found || (c->kind == CT_CAUSE_MISSING && !strcmp(c->lost, "queue.c:10") &&
					 !strcmp(c->early, "queue.c:20") && !strcmp(c->needed, "work-item"));
	}
	assert_true(found);
}

static uint64_t word_at(const struct ct_image *image, nvw_off off)
{
	uint64_t word;

	memcpy(&word, image->ro + off, 8);
	return word;
}

static int judge_pair(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	return word_at(image, 0) == word_at(image, 64) ? 0 : nvw_violation(findings, 64, "half a pair");
}

static int judge_first(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	return word_at(image, 0) == 0 || word_at(image, 64) != 0 ?
		       0 :
		       nvw_violation(findings, 64, "the first without the second");
}

static int judge_never(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	return word_at(image, 0) == 0 ? 0 : nvw_violation(findings, 0, "never right");
}

/* The first word, then the second, by one work-item. */
static struct ct_finding of_two_stores(ct_judge judge)
{
	struct run run = begin(8);

	store(&run, DATA_SITE, 1, 0, 7);
	store(&run, FLAG_SITE, 1, 64, 7);
	end(&run);
	const struct ct_result r = explored_under(CT_MODEL_EPOCH, run.fd, judge, 1000, 1);

	assert_int_equal(r.finding_count, 1);
	return r.finding[0];
}

static void stores_of_which_no_order_helps_must_be_atomic(void **state)
{
	const struct ct_finding f = of_two_stores(judge_pair);

	assert_int_equal(f.cause.kind, CT_CAUSE_ATOMIC);
	assert_int_equal(f.cause.group_count, 2);
	assert_int_equal(f.cause.group[0].line, 10);
	assert_int_equal(f.cause.group[1].line, 20);
	assert_non_null(strstr(f.cause.text, "the crash fell between queue.c:10 and :20"));
	assert_non_null(strstr(f.cause.text, "must be atomic"));
	assert_int_equal(f.proposals.edit[0].kind, CT_EDIT_ATOMIC);
}

static void stores_that_pass_in_the_other_order_are_exchanged(void **state)
{
	const struct ct_finding f = of_two_stores(judge_first);

	assert_int_equal(f.cause.kind, CT_CAUSE_REVERSED);
	assert_string_equal(f.cause.early, "queue.c:10");
	assert_string_equal(f.cause.lost, "queue.c:20");
	assert_int_equal(f.proposals.edit[0].kind, CT_EDIT_EXCHANGE);
}

static void a_run_that_ends_wrong_needs_no_crash(void **state)
{
	const struct ct_finding f = of_two_stores(judge_never);

	assert_int_equal(f.cause.kind, CT_CAUSE_LOGIC);
	assert_non_null(strstr(f.cause.text, "no crash is needed"));
}

/* Two flags, each of which needs its own data; the check has one sentence for both. */
static int judge_two(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_CHECK;
	for (nvw_off off = 0; off < 512; off += 256) {
		if (word_at(image, off + 64) != 0 && word_at(image, off) == 0) {
			return nvw_violation(findings, 0, "a flag has no data");
		}
	}
	return 0;
}

static struct ct_result of_two_bugs(unsigned jobs)
{
	struct run run = begin(8);

	name_site(&run, THIRD_SITE, 30);
	name_site(&run, FOURTH_SITE, 40);
	store(&run, DATA_SITE, 1, 0, 1);
	store(&run, FLAG_SITE, 1, 64, 1);
	for (unsigned completed = 0; completed < 2; completed++) {
		append(&run, (struct nvw_log_record){.kind = completed ? NVW_LOG_PERSISTED : NVW_LOG_BARRIER,
				     .barrier = {.site = FLAG_SITE,
					     .kernel = 1,
					     .scope = NVW_WORKITEM,
					     .work_item = 1,
					     .work_items = 1,
					     .lanes = 1}});
	}
	store(&run, THIRD_SITE, 2, 256, 1);
	store(&run, FOURTH_SITE, 2, 320, 1);
	end(&run);
	return explored_under(CT_MODEL_EPOCH, run.fd, judge_two, 1000, jobs);
}

static void two_causes_behind_one_sentence_are_two_findings(void **state)
{
	for (unsigned jobs = 1; jobs <= 3; jobs++) {
		const struct ct_result r = of_two_bugs(jobs);

		assert_int_equal(r.finding_count, 2);
		assert_string_equal(r.finding[0].text, r.finding[1].text);
		assert_string_equal(r.finding[0].cause.early, "queue.c:20");
		assert_string_equal(r.finding[1].cause.early, "queue.c:40");
		assert_false(r.finding[0].sample);
		assert_true(r.finding[1].sample);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_with_its_barriers_is_consistent),
		cmocka_unit_test(a_flag_that_may_be_durable_before_its_data_is_found),
		cmocka_unit_test(a_finding_names_the_store_that_was_early_and_the_one_that_was_lost),
		cmocka_unit_test(data_that_never_left_the_cache_is_named_as_lost),
		cmocka_unit_test(of_two_stores_to_a_word_the_one_that_is_there_is_named),
		cmocka_unit_test(a_lost_acknowledged_operation_is_found),
		cmocka_unit_test(writes_to_one_word_stay_in_order_and_words_of_a_line_do_not),
		cmocka_unit_test(an_issued_line_is_torn_by_words_or_not_at_all),
		cmocka_unit_test(host_writes_are_durable_at_once),
		cmocka_unit_test(a_fence_completes_the_flushes_of_its_own_thread_alone),
		cmocka_unit_test(equal_states_are_tested_once_and_counted),
		cmocka_unit_test(a_check_that_dies_is_a_finding_and_the_rest_is_tested),
		cmocka_unit_test(a_recovery_that_hangs_is_a_finding_and_the_rest_is_tested),
		cmocka_unit_test(states_that_hang_alike_are_cut_early),
		cmocka_unit_test(a_worker_that_is_killed_from_outside_changes_no_verdict),
		cmocka_unit_test(a_state_whose_workers_are_killed_again_and_again_is_undecided),
		cmocka_unit_test(a_check_that_ends_the_process_as_if_all_were_well_gives_no_answer),
		cmocka_unit_test(a_check_that_writes_to_the_image_is_a_finding_and_spoils_no_other_state),
		cmocka_unit_test(what_recovery_wrote_is_undone_before_the_next_state),
		cmocka_unit_test(too_many_states_are_sampled_within_the_budget),
		cmocka_unit_test(samples_have_every_density_and_leave_out_no_cell),
		cmocka_unit_test(fewer_states_than_instants_are_spread_over_them),
		cmocka_unit_test(one_seed_gives_one_result_whatever_the_number_of_jobs),
		cmocka_unit_test(what_is_acknowledged_twice_does_not_divide_equal_states_among_jobs),
		cmocka_unit_test(a_damaged_log_is_an_error_and_not_a_verdict),
		cmocka_unit_test(a_store_that_relies_is_the_cause_where_an_acknowledgement_relies_as_well),
		cmocka_unit_test(stores_of_which_no_order_helps_must_be_atomic),
		cmocka_unit_test(stores_that_pass_in_the_other_order_are_exchanged),
		cmocka_unit_test(a_run_that_ends_wrong_needs_no_crash),
		cmocka_unit_test(two_causes_behind_one_sentence_are_two_findings),
	};

	return cmocka_run_group_tests_name("explore", tests, NULL, NULL);
}
