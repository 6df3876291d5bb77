/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Robustness: stores that the program has put in order, and that persist in another, are told from reads
 * alone; twins with the barrier are not. The shipped structures have at most the reports that are listed
 * here, each with its reason.
 */
#include "common/test.h"

#include <stdlib.h>
#include <string.h>
#include <nvw/kernel.h>

#include "shipped.h"
#include "small_run.h"
#include "words.h"

/* ---- A record and its flag, read together ------------------------------------------------------------ */

enum { OPS = 6, WORDS = 1024 };
enum fault {
	RIGHT = -1,
	NO_BARRIER,
	EARLY_ACK,
	LATER_KERNEL,
	UNREAD,
	HALVES,
	TOGETHER,
	NARROW,
	HANDED_ON,
	TOLD_EARLY
};

struct args {
	uint64_t *words, op;
	int fault;
};

/* The record and its flag are in two lines. */
static void store_record(const struct args *a)
{
	nvw_store(&a->words[16 * a->op], a->op + 100);
}

static void store_flag(const struct args *a)
{
	nvw_store(&a->words[16 * a->op + 8], 1);
}

KERNEL(append, const struct args, a)
{
	store_record(a);
	if (a->fault != NO_BARRIER && a->fault != UNREAD) {
		nvw_p_barrier_wi();
	}
	store_flag(a);
	if (a->fault == EARLY_ACK) {
		nvw_ack(a->op);
	}
	nvw_p_barrier_wi();
	nvw_ack(a->op);
}

KERNEL(only_record, const struct args, a)
{
	store_record(a);
}

KERNEL(only_flag, const struct args, a)
{
	store_flag(a);
	nvw_p_barrier_wi();
}

/* The flag and, behind it in the same word, a mark. */
KERNEL(append_in_halves, const struct args, a)
{
	uint32_t *const flag = (uint32_t *)&a->words[16 * a->op + 8];

	nvw_store(&flag[1], 7);
	nvw_store(flag, 1);
	nvw_p_barrier_wi();
}

/* One work-item of the group stores the record, the other the flag. */
KERNEL(append_together, const struct args, a)
{
	if (nvw_local_id() == 0) {
		store_record(a);
	}
	nvw_barrier(NVW_WORKGROUP);
	if (a->fault == TOGETHER) {
		nvw_p_barrier_wg();
	}
	if (nvw_local_id() == 1) {
		only_flag(a);
	}
}

/* Likewise in two groups: a word of the NVRAM tells the second one. Without TOLD_EARLY the first one has made
 * its record durable. */
KERNEL(hand_on, const struct args, a)
{
	uint64_t *const told = &a->words[16 * a->op + 4];

	if (nvw_group_id() == 0) {
		store_record(a);
		if (a->fault == HANDED_ON) {
			nvw_p_barrier_wi();
		}
		nvw_atomic_store(told, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
		return;
	}
	while (nvw_atomic_load(told, NVW_ACQUIRE, NVW_SCOPE_AGENT) == 0) {
	}
	only_flag(a);
}

static int launch(struct nvw_machine *machine, const struct args *a)
{
	switch (a->fault) {
	case LATER_KERNEL:
		NVW_TRY(nvw_launch(machine, "record", only_record, a, 1, 1));
		return nvw_launch(machine, "flag", only_flag, a, 1, 1);
	case HALVES:
		return nvw_launch(machine, "halves", append_in_halves, a, 1, 1);
	case TOGETHER:
	case NARROW:
		return nvw_launch(machine, "together", append_together, a, 1, 2);
	case HANDED_ON:
	case TOLD_EARLY:
		return nvw_launch(machine, "hand on", hand_on, a, 2, 1);
	default:
		return nvw_launch(machine, "append", append, a, 1, 1);
	}
}

static int run(void *plan, struct nvw_machine *machine)
{
	const struct plan *const p = plan;
	uint64_t *words;

	NVW_TRY(words_in(machine, &words));
	NVW_FOR(op, OPS) {
		const struct args a = {words, op, p->mutation};

		NVW_TRY(launch(machine, &a));
	}
	return 0;
}

/* A check that is never wrong: it looks, and says nothing. */
static int check(void *plan, struct nvw_pool *its, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const struct plan *const p = plan;
	const nvw_off words = words_of(its);

	NVW_FOR(op, OPS) {
		if (nvw_pool_word(its, words + 8 * (16 * op + 8)) != 0 && p->mutation != UNREAD) {
			(void)nvw_pool_word(its, words + 8 * 16 * op);
		}
	}
	return 0;
}

static const struct nvw_mutation mutations[] = {
	{"no-barrier", "the flag may be durable before the record", "permitted", NULL},
	{"early-ack", "acknowledged before the flag is durable", "permitted", NULL},
	{"later-kernel", "the record is a kernel's, the flag the next one's", "permitted", NULL},
	{"unread", "as no-barrier, and the record is never read", "permitted", NULL},
	{"halves", "a word is stored in two halves", "permitted", NULL},
	{"together", "none: the record is of another work-item of the group", "permitted", NULL},
	{"narrow", "as together, without the barrier of the group", "permitted", NULL},
	{"handed-on", "none: the record is of another group, which tells", "permitted", NULL},
	{"told-early", "as handed-on, and the record is not durable", "permitted", NULL},
	{NULL, NULL, NULL, NULL},
};

static const struct nvw_workload records = {
	.name = "records",
	.mutations = mutations,
	.prepare = prepare,
	.dispose = free,
	.pool = pool,
	.setup = setup,
	.run = run,
	.check = check,
};

/* ---- Tests ------------------------------------------------------------------------------------------- */

static struct ct_result result;

static int judge_under(const char *model, const struct nvw_workload *w, const char *assignments, int mutation)
{
	struct ct_options o = {.mode = CT_PERMITTED,
		.states = 400,
		.seed = 1,
		.jobs = 1,
		.robust = true,
		.unexplained = true};

	assert_non_null(ct_model_find(model, &o.model));
	return small_run(w, assignments, mutation, &o, &result);
}

static int judge(const struct nvw_workload *w, const char *assignments, int mutation)
{
	return judge_under("epoch", w, assignments, mutation);
}

static void expect(int fault, const char *text)
{
	assert_int_equal(judge(&records, "", fault), 0);
	assert_int_equal(result.finding_count, 1);
	assert_has(result.finding[0].text, text);
}

TEST(what_barriers_order_is_robust)
{
	assert_int_equal(judge(&records, "", RIGHT), 0);
	assert_true(result.consistent);
	assert_true(result.states_distinct > OPS);
}

TEST(a_missing_barrier_is_told_with_both_stores)
{
	expect(NO_BARRIER,
		" (store_record) is lost, and a later one of its work-item is durable: test_robust.c:");
	assert_has(result.finding[0].text, " (store_flag)");
}

TEST(a_store_that_is_lost_behind_an_acknowledgement_is_told)
{
	expect(EARLY_ACK, " (store_flag) is lost, and was made before an acknowledgement");
}

TEST(the_end_of_a_kernel_is_an_order)
{
	expect(LATER_KERNEL, " (store_record) is lost, and one of a later kernel is durable: test_robust.c:");
}

TEST(halves_of_a_word_have_an_order)
{
	expect(HALVES, " (append_in_halves_of) is lost, and a later one of its work-item is durable");
}

/* With stores of two work-items. */
static void expect_of_two(const char *model, int right, int wrong)
{
	assert_int_equal(judge_under(model, &records, "", right), 0);
	assert_true(result.consistent);
	assert_int_equal(judge_under(model, &records, "", wrong), 0);
	assert_int_equal(result.finding_count, 1);
	assert_has(result.finding[0].text, " (store_record) is lost, and one of a work-item that "
					   "synchronized behind it is durable: "
					   "test_robust.c:");
}

TEST(a_barrier_of_a_group_orders_its_work_items)
{
	expect_of_two("epoch", TOGETHER, NARROW);
	expect_of_two("buffered-epoch", TOGETHER, NARROW);
}

/* Without stalls a work-item's barrier orders nothing of another group, so both are wrong then. */
TEST(what_another_has_told_comes_behind_it)
{
	expect_of_two("epoch", HANDED_ON, TOLD_EARLY);
	assert_int_equal(judge_under("buffered-epoch", &records, "", HANDED_ON), 0);
	assert_int_equal(result.finding_count, 1);
}

TEST(an_acknowledgement_under_buffered_epochs_waits)
{
	assert_int_equal(
		judge_under("buffered-epoch", &nvw_workload_kv, "count=100 batch=40 slots=32", RIGHT), 0);
	assert_true(result.consistent);
	assert_int_equal(judge_under("buffered-epoch", &records, "", EARLY_ACK), 0);
	assert_int_equal(result.finding_count, 1);
	assert_has(result.finding[0].text, " (store_flag) is lost, and was made before an acknowledgement");
}

TEST(what_nobody_reads_does_not_count)
{
	assert_int_equal(judge(&records, "", UNREAD), 0);
	assert_true(result.consistent);
}

/*
 * Each report that is left of right structures is of one epoch that recovery rolls back as a whole, or of
 * stores that no operation needs in order:
 *
 *	btree		a work-item publishes for several keys, whose operations are independent: a value's
 *			update may be durable before the order word of another node
 *	stack		a node is taken, and announced, before its push is durable: recovery takes it from
 *			the announcement
 *	saved-tasks	with --recovery=undo the entries of a task are filled in one epoch, whose words
 *			the log restores together; those that were not logged keep what the crash left
 */
TEST(the_shipped_structures_have_at_most_the_reports_that_are_listed)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *options, *benign;
	} cases[] = {
		{&nvw_workload_kv, "count=120 batch=40 slots=32 mix=put=70,delete=30 records=40", NULL},
		{&nvw_workload_kv, "count=100 batch=40 slots=32 scope=workgroup", NULL},
		{&nvw_workload_btree, "count=60 preload=60 batch=30 op=update", NULL},
		{&nvw_workload_btree, "count=120 preload=60 batch=60 group-size=16",
			" (publish_order) is lost"},
		{&nvw_workload_queue, "count=96 producers=2 consumers=2 capacity=32 group-size=16", NULL},
		{&nvw_workload_stack, "count=60 stacks=1 groups=3 group-size=5 payload=6 take=100",
			" (publish) is lost"},
		{&nvw_workload_steal_log, "tasks=24 groups=4 depth=4 group-size=16", NULL},
		{&nvw_workload_tiered, "count=96 groups=2 group-size=8", NULL},
		{&nvw_workload_saved_tasks, "program=nqueens n=5 entries=128 group-size=16", NULL},
		{&nvw_workload_saved_tasks, "recovery=undo program=fib n=6 entries=64 group-size=16",
			" (fill) is lost"},
	};

	for_each(c, cases) {
		assert_int_equal(judge(c->workload, c->options, RIGHT), 0);
		NVW_EACH(finding, result.finding, result.finding_count) {
			const char *const text = finding->text;

			if (c->benign == NULL || strstr(text, c->benign) == NULL) {
				fail_msg("%s %s: %s", c->workload->name, c->options, text);
			}
		}
	}
}

TEST(observed_mode_is_refused)
{
	const struct ct_options o = {.mode = CT_OBSERVED, .states = 1, .jobs = 1, .robust = true};

	assert_int_equal(small_run(&records, "", RIGHT, &o, &result), NVW_E_USAGE);
	assert_error_has("--oracle=robust: expected --mode=permitted");
}
