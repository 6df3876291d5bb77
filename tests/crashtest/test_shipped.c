/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shipped structures on the emulated machine, from store to verdict: as they are they survive, and every
 * mutation is found in the way that its table names.
 */
#include "common/test.h"

#include <stdio.h>
#include <string.h>

#include <config/config.h>
#include <crashtest/crash.h>
#include <emu.h>

#include "common/options.h"
#include "common/skip.h"
#include "shipped.h"

/* A run in which everything happens that a mutation could break, small enough to be tested in a second. */
static const struct shipped {
	const struct nvw_workload *workload;
	const char *options;
} kv = {&nvw_workload_kv, "count=600 batch=128 slots=64 mix=put=80,delete=20 records=200"},
  kv_resize = {&nvw_workload_kv, "count=600 batch=128 slots=64"},
  kv_group = {&nvw_workload_kv, "count=600 batch=128 slots=64 scope=workgroup"},
  btree = {&nvw_workload_btree, "count=600 preload=300 batch=200 group-size=64"},
  btree_wide = {&nvw_workload_btree, "order=14 count=600 preload=300 batch=200 group-size=64"},
  btree_kernel = {&nvw_workload_btree, "count=600 preload=300 batch=200 group-size=64 scope=kernel"},
  btree_update = {&nvw_workload_btree, "count=300 preload=300 batch=100 op=update"},
  btree_delete = {&nvw_workload_btree, "count=300 preload=300 batch=100 op=delete"},
  queue = {&nvw_workload_queue, "count=96 producers=2 consumers=2 capacity=32 group-size=16"},
  queue_visible = {&nvw_workload_queue,
	  "count=300 producers=2 consumers=2 capacity=200 group-size=100 scope=workgroup "
	  "release=visible placement=together"},
  steal = {&nvw_workload_steal_log, "tasks=16 groups=4 depth=4 group-size=80 skew=100 words=40"},
  steal_scoped = {&nvw_workload_steal_log, "tasks=24 groups=4 depth=4 group-size=16 scenario=scoped"},
  steal_remote = {&nvw_workload_steal_log, "tasks=24 groups=4 depth=4 group-size=16 scenario=remote"},
  stack = {&nvw_workload_stack, "count=96 stacks=4 groups=2 group-size=16"},
  tasks = {&nvw_workload_saved_tasks, "program=nqueens n=5 entries=128 group-size=16"},
  stack_group = {&nvw_workload_stack, "count=60 stacks=2 groups=3 group-size=9 payload=6 scope=workgroup"},
  tiered = {&nvw_workload_tiered, "count=96 groups=2 group-size=8"},
  tiered_two = {&nvw_workload_tiered, "count=96 groups=2 group-size=8 table-device=far"};

static const char *protocol = "vi";
static const char *also[3]; /* settings of the machine besides a test's own */

/* A protocol sees a part of the states, since there are many protocols. Sanitizers take ten times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { PART = 10, NEXT_PAIR = 3, NEXT_CASE = 35 };
#else
enum { PART = 4, NEXT_PAIR = 3, NEXT_CASE = 25 };
#endif

static struct ct_result run_under(const struct shipped *s, enum ct_mode mode, enum ct_model model,
	uint64_t states, int mutation, const char *setting)
{
	static struct ct_result result;
	const struct ct_options options = {
		.mode = mode, .model = model, .states = states, .seed = 1, .jobs = 1, .whole = true};
	struct nvw_options *const values = options_of(s->workload->options, s->options);
	struct emu_config config;

	emu_config_default(&config);
	assert_ok(emu_config_load(&config, s == &tiered_two ? "near-far" : "gope18"));
	config.seed = 1;
	snprintf(config.protocol, sizeof config.protocol, "%s", protocol);
	assert_int_equal(setting ? emu_config_set(&config, setting) : 0, 0);
	for (unsigned i = 0; also[i]; i++) {
		assert_ok(emu_config_set(&config, also[i]));
	}
	const struct ct_subject subject = {
		.workload = s->workload, .options = values, .config = &config, .mutation = mutation};

	if (ct_run(&subject, &options, &result) < 0) {
		fail_msg("%s: %s", s->workload->name, nvw_error_message());
	}
	nvw__options_free(values);
	ct_result_free(&result);
	return result;
}

static void expect(const struct shipped *s, enum ct_mode mode, uint64_t states, int mutation,
	const char *setting, bool consistent)
{
	const struct ct_result result = run_under(s, mode, CT_MODEL_OBSERVED, states, mutation, setting);

	if (result.consistent != consistent) {
		fail_msg("%s %s, mutation %s: %s", s->workload->name, mode == CT_KILL ? "kill" : "observed",
			mutation < 0 ? "none" : s->workload->mutations[mutation].name,
			consistent ? result.finding[0].text : "nothing was found");
	}
}

/* Some of them, each with so many states. */
struct share {
	const struct shipped *shipped;
	uint64_t states;
};

static void expect_survival(const struct share *shares, size_t count, enum ct_mode mode, const char *setting)
{
	NVW_EACH(share, shares, count) {
		expect(share->shipped, mode, share->states, -1, setting, true);
	}
}

static void run_clean(const struct shipped *s, enum ct_model model, uint64_t states)
{
	const struct ct_result r = run_under(s, CT_PERMITTED, model, states, -1, NULL);

	if (!r.consistent) {
		fail_msg("%s under %s, %s: %s", s->workload->name, protocol, ct_model_info(model)->name,
			r.finding[0].text);
	}
}

TEST(shipped_structures_survive_every_observed_state)
{
	static const struct shipped *const all[] = {&kv, &kv_resize, &kv_group, &btree, &btree_wide,
		&btree_kernel, &btree_update, &btree_delete, &queue, &queue_visible, &steal, &steal_scoped,
		&stack, &stack_group, &tiered, &tiered_two};

	for_each(one, all) {
		expect(*one, CT_OBSERVED, 1000, -1, NULL, true);
	}
}

/* Each structure is tested under one of the models, in turn. */
TEST(shipped_structures_survive_what_each_model_permits)
{
	static const struct shipped *const all[] = {&kv, &kv_resize, &kv_group, &btree, &btree_wide,
		&btree_kernel, &btree_update, &btree_delete, &queue, &queue_visible, &steal, &steal_scoped,
		&stack, &stack_group, &tiered, &tiered_two, &tasks};
	static const enum ct_model models[] = {CT_MODEL_BUFFERED, CT_MODEL_EPOCH, CT_MODEL_STRICT};

	NVW_FOR(i, NVW_COUNT(all)) {
		for (unsigned m = i % one_in(3); m < NVW_COUNT(models); m += one_in(3)) {
			run_clean(all[i], models[m], 600);
		}
	}
}

TEST(shipped_structures_survive_kills)
{
	static const struct share shares[] = {
		{&kv, 20}, {&btree, 20}, {&queue, 10}, {&steal, 10}, {&stack, 10}, {&tiered_two, 20}};

	expect_survival(shares, NVW_COUNT(shares), CT_KILL, NULL);
}

TEST(shipped_structures_survive_on_every_domain_and_model)
{
	static const struct share shares[] = {{&kv_resize, 400}, {&btree, 400}, {&btree_wide, 200},
		{&queue, 200}, {&queue_visible, 100}, {&steal, 100}, {&stack, 100}, {&tiered, 100}};
	static const char *const settings[] = {"nvram.domain=adr", "nvram.domain=eadr", "nvram.atomicity=64B",
		"persist.model=buffered-epoch", "persist.model=strict"};

	for_each(setting, settings) {
		expect_survival(shares, NVW_COUNT(shares), CT_OBSERVED, *setting);
	}
}

/* Each device has a domain of its own, and each model has to keep the order between them. */
TEST(two_pools_survive_on_every_pair_of_domains_and_under_every_model)
{
	static const char *const settings[] = {"far.domain=adr", "nvram.domain=device", "far.write=20ns",
		"far.hops=50", "nvram.atomicity=64B", "persist.model=buffered-epoch", "persist.model=strict",
		"store_buffer.entries=8", "nvram.write=20us"};

	for_each(setting, settings) {
		expect(&tiered_two, CT_OBSERVED, 1000, -1, *setting, true);
	}
	static const enum ct_model models[] = {CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_BUFFERED};

	for_each(model, models) {
		run_clean(&tiered_two, *model, 300 / PART);
	}
}

/* What waits in a store buffer is no more durable than what is in a cache: persist barriers wait for both. */
TEST(shipped_structures_survive_with_store_buffers)
{
	static const struct share shares[] = {
		{&kv_resize, 1000}, {&btree, 500}, {&queue, 1000}, {&queue_visible, 500}, {&steal, 500}};
	static const char *const entries[] = {"store_buffer.entries=1", "store_buffer.entries=8"};

	for_each(setting, entries) {
		expect_survival(shares, NVW_COUNT(shares), CT_OBSERVED, *setting);
	}
	expect(&kv, CT_KILL, 10, -1, entries[1], true);
	expect(&queue, CT_KILL, 10, -1, entries[1], true);
}

/* Stores to NVRAM pass a third level on their way. */
TEST(shipped_structures_survive_with_an_l3)
{
	static const struct share shares[] = {
		{&kv_resize, 1000}, {&btree, 500}, {&queue, 1000}, {&steal, 500}};

	expect_survival(shares, NVW_COUNT(shares), CT_OBSERVED, "l3.size=4KiB");
}

/* A barrier that only orders stores of one work-item is what strict persistency does without. */
TEST(strict_hardware_orders_stores_whose_barrier_is_missing)
{
	static const struct {
		const struct shipped *shipped;
		const char *mutation;
	} cases[] = {{&kv, "publish-before-value"}, {&btree, "update-before-log"}};

	for_each(c, cases) {
		const int mutation = mutation_of(c->shipped->workload, c->mutation);

		expect(c->shipped, CT_OBSERVED, 2000, mutation, NULL, false);
		expect(c->shipped, CT_OBSERVED, 2000, mutation, "persist.model=strict", true);
	}
}

TEST(shipped_structures_survive_under_every_protocol)
{
	for (unsigned i = 0; (protocol = emu_protocol_name(i)); i += NEXT_PROTOCOL) {
		static const struct shipped *const all[] = {&kv_resize, &kv_group, &btree, &btree_kernel};

		for (unsigned k = i % one_in(4); k < NVW_COUNT(all); k += one_in(4)) {
			expect(all[k], CT_OBSERVED, 1000 / PART, -1, NULL, true);
			expect(all[k], CT_PERMITTED, 1000 / PART, -1, NULL, true);
		}
		if (i % one_in(2) == 0) {
			expect(&btree, CT_OBSERVED, 1000 / PART, -1, "persist.model=buffered-epoch", true);
		}
		if ((i + 1) % one_in(2) == 0) {
			expect(&kv, CT_KILL, 2, -1, NULL, true);
		}
	}
	protocol = "vi";
}

TEST(queues_stealing_and_stacks_survive_under_every_protocol)
{
	static const struct shipped *const all[] = {&queue, &queue_visible, &steal, &steal_scoped,
		&steal_remote, &stack, &stack_group, &tiered_two, &tasks};
	for (unsigned i = 0; (protocol = emu_protocol_name(i)); i += NEXT_PROTOCOL) {
		for (unsigned k = i % one_in(7); k < NVW_COUNT(all); k += one_in(7)) {
			/* Protocols without scopes, and those that know what a remote scope is, run all. */
			if (all[k] == &steal_remote && emu_protocol_scopes(protocol) == EMU_SCOPES_KEPT) {
				continue;
			}
			const bool buffered =
				(i / NEXT_PROTOCOL + k) % 2; /* one model is crashed, the other only run */

			expect(all[k], CT_OBSERVED, 300 / PART, -1,
				buffered ? "persist.model=buffered-epoch" : NULL, true);
			run_clean(all[k], buffered ? CT_MODEL_EPOCH : CT_MODEL_BUFFERED, 300 / PART);
		}
	}
	protocol = "vi";
}

/*
 * A store waits in an owner's cache or, under three of the four models, in a write buffer in front of it. The
 * durability checker looks on in every build.
 */
TEST(structures_survive_with_owners_under_every_consistency_model)
{
	static const struct shipped *const all[] = {&kv_resize, &btree, &queue, &steal};
	static const char *const protocols[] = {"mttop-wb", "rfo"}, *const models[] = {
									    "gpu.consistency=sc-simple",
									    "gpu.consistency=sc-wb",
									    "gpu.consistency=tso",
									    "gpu.consistency=rmo"};

	also[0] = "persist.check=on";
	for (unsigned i = 0; i < 8; i += one_in(NEXT_PAIR)) {
		const struct shipped *const killed = all[i / 2];

		protocol = protocols[i % 2];
		also[1] = models[i / 2];
		for (unsigned k = i / one_in(NEXT_PAIR) % one_in(NEXT_PAIR); k < 2 * NVW_COUNT(all);
			k += one_in(NEXT_PAIR)) {
			expect(all[k / 2], CT_OBSERVED, 120 / PART, -1,
				k % 2 ? "persist.model=buffered-epoch" : NULL, true);
		}
		run_clean(all[i % 4], CT_MODEL_EPOCH, 300 / PART);
		run_clean(all[i % 4], CT_MODEL_BUFFERED, 300 / PART);
		expect(killed, CT_KILL, 4, -1, NULL, true);
		expect(killed, CT_KILL, 4, -1, "persist.model=buffered-epoch", true);
	}
	also[0] = also[1] = NULL;
	protocol = "vi";
}

/*
 * Where a store may wait: in a write cache, on its way to memory, in an owner's cache, in a blocked store
 * queue, for the end of a lease, in an L1 (docs/protocols.md). Each protocol with each structure, mode and
 * model; the durability checker looks on in every build.
 */
TEST(structures_survive_in_every_mode_wherever_a_store_may_wait)
{
	static const struct shipped *const all[] = {&kv_resize, &btree, &queue, &steal};
	static const enum ct_model models[] = {CT_MODEL_EPOCH, CT_MODEL_BUFFERED};
	static const char *const settings[] = {NULL, "persist.model=buffered-epoch"};

	also[0] = "persist.check=on";
	for (unsigned i = 0; (protocol = emu_protocol_name(i / 24)); i += one_in(NEXT_CASE)) {
		const struct shipped *const s = all[i / 6 % 4];
		const unsigned mode = i / 2 % 3, model = i % 2;

		if (mode == 1) {
			run_clean(s, models[model], 300 / PART);
		} else {
			expect(s, mode ? CT_KILL : CT_OBSERVED, mode ? 4 : 300 / PART, -1, settings[model],
				true);
		}
	}
	also[0] = NULL;
	protocol = "vi";
}

/*
 * The lesson of both: where barriers only order, a consumer's and a thief's barrier do not cover what they
 * have read (gope18 6.2); where they wait, nothing shows.
 */
TEST(a_claim_is_needed_where_barriers_do_not_wait_and_nowhere_else)
{
	static const struct {
		const struct shipped *shipped;
		const char *mutation;
	} cases[] = {
		{&queue, "no-claim"}, {&queue, "no-take-over"}, {&steal, "no-claim"}, {&steal, "late-claim"}};

	for_each(c, cases) {
		const int mutation = mutation_of(c->shipped->workload, c->mutation);

		expect(c->shipped, CT_OBSERVED, 2000, mutation, NULL, true);
		if (!run_under(c->shipped, CT_PERMITTED, CT_MODEL_EPOCH, 2000, mutation, NULL).consistent) {
			fail_msg("%s shows where barriers wait", c->mutation);
		}
	}
}

/* ---- The self-test ---------------------------------------------------------------------------- */

static void judge_trial(void *context, const struct ct_trial *t)
{
	unsigned *const mutations = context;

	if (!t->as_expected) {
		fail_msg("%s by %s in \"%s\": %s", t->mutation ? t->mutation : "no mutation", t->way,
			t->options, t->mutation ? "nothing was found" : t->text);
	}
	*mutations += t->mutation != NULL;
}

static void self_test_on(const struct nvw_workload *workload, const char *machine, unsigned least)
{
#ifdef __SANITIZE_ADDRESS__
	skip_test("the self-test of %s: it takes minutes with sanitizers", workload->name);
#endif
	/* That a bug is found is all that is asked: a job ends with its first finding. */
	const struct ct_options options = {.seed = 1, .jobs = 1, .stop_after = 1};
	struct ct_self_test sum;
	struct emu_config config;
	unsigned mutations = 0;

	emu_config_default(&config);
	assert_ok(emu_config_load(&config, machine));
	config.seed = 1;
	const struct ct_subject subject = {.workload = workload, .config = &config, .mutation = -1};

	if (ct_run_self_test(&subject, &options, judge_trial, &mutations, &sum)) {
		fail_msg("%s: %s", workload->name, nvw_error_message());
	}
	assert_true(mutations >= least);
	assert_int_equal(sum.found, mutations);
	assert_int_equal(sum.alarms, 0);
}

/* The structure itself is tested in every way in these trials; in the workload's own, with EVERY_CASE. */
static void self_test(
	const struct nvw_workload *workload, const char *machine, unsigned least, const char *trials)
{
	struct nvw_workload some = *workload;

	some.trial = getenv("EVERY_CASE") ? workload->trial : trials;
	self_test_on(&some, machine, least);
}

TEST(every_mutation_of_kv_is_found_and_kv_itself_is_clean_under_every_model)
{
	self_test(&nvw_workload_kv, "gope18", 10, "count=600 batch=128 slots=64");
}

TEST(every_mutation_of_btree_is_found_and_btree_itself_is_clean_under_every_model)
{
	self_test(&nvw_workload_btree, "gope18", 10,
		"count=300 preload=150 batch=100 group-size=64; "
		"count=150 preload=150 batch=50 op=delete");
}

TEST(every_mutation_of_btree_is_found_in_nodes_of_fourteen_keys_too)
{
	struct nvw_workload wide = nvw_workload_btree;

	wide.trial = "order=14 count=600 preload=300 batch=200 group-size=64";
	self_test(&wide, "gope18", 10, "order=14 count=300 preload=150 batch=100 group-size=64");
}

TEST(every_mutation_of_queue_is_found_and_queue_itself_is_clean_under_every_model)
{
	self_test(&nvw_workload_queue, "gope18", 10,
		"count=96 producers=2 consumers=2 capacity=32 group-size=16");
}

TEST(every_mutation_of_steal_log_is_found_and_steal_log_itself_is_clean_under_every_model)
{
	self_test(&nvw_workload_steal_log, "gope18", 10, "tasks=24 groups=4 depth=4 group-size=16");
}

TEST(recovery_points_of_tasks_survive_under_every_model)
{
	self_test(&nvw_workload_saved_tasks, "gope18", 10,
		"program=fib n=6 entries=64 group-size=16; program=nqueens n=5 entries=128 group-size=16; "
		"recovery=undo program=fib n=6 entries=64 group-size=16; "
		"program=marks n=9 entries=64 group-size=16");
}

TEST(every_mutation_of_stack_is_found_and_stack_itself_is_clean_under_every_model)
{
	self_test(&nvw_workload_stack, "gope18", 10,
		"count=96 stacks=4 groups=2 group-size=16; "
		"count=48 stacks=4 groups=2 group-size=16 scope=workgroup");
}

/* Its log and its table are in one pool, or in pools on two devices with different latencies and domains. */
TEST(every_mutation_of_tiered_is_found_and_tiered_itself_is_clean_with_one_pool_and_with_two)
{
	struct nvw_workload two = nvw_workload_tiered;

	two.trial = "table-device=far count=96 groups=2 group-size=8; "
		    "table-device=far count=60 groups=1 group-size=5 records=2 keys=1 words=1";
	self_test(&nvw_workload_tiered, "gope18", 5, "count=96 groups=2 group-size=8");
	self_test(&two, "near-far", 5, "table-device=far count=96 groups=2 group-size=8");
}

/* What the conservative hardware hides is in no observed state: the permitted ones are needed. */
TEST(a_barrier_of_too_narrow_a_scope_is_seen_in_permitted_states_alone)
{
	expect(&btree, CT_OBSERVED, 3000, mutation_of(&nvw_workload_btree, "narrow-scope"), NULL, true);
}

/* The cause of a planted bug is the bug: which barrier, of which scope, and which would do. */
TEST(findings_name_the_barrier_that_was_taken_away)
{
	skip_if_sanitized();
	static const struct {
		const char *mutation;
		enum ct_model model;
		enum ct_cause_kind kind;
		const char *needed, *text;
	} cases[] = {
		{"publish-before-data", CT_MODEL_EPOCH, CT_CAUSE_MISSING, "work-item",
			"no persist barrier lies between"},
		{"complete-before-updates", CT_MODEL_EPOCH, CT_CAUSE_MISSING, "work-group",
			"no persist barrier lies between"},
		{"narrow-scope", CT_MODEL_BUFFERED, CT_CAUSE_NARROW, "work-group",
			"has only work-item scope"},
		{"ack-before-barrier", CT_MODEL_EPOCH, CT_CAUSE_REVERSED, "",
			"was acknowledged before its stores were made"},
	};

	for_each(given, cases) {
		static struct ct_result r;
		bool found = false;

		r = run_under(&btree, CT_PERMITTED, given->model, 300,
			mutation_of(&nvw_workload_btree, given->mutation), NULL);
		NVW_EACH(finding, r.finding, r.finding_count) {
			const struct ct_cause *const c = &finding->cause;

			found = found || (c->kind == given->kind && !strcmp(c->needed, given->needed) &&
						 strstr(c->text, given->text));
		}
		if (!found) {
			fail_msg("%s: %s", given->mutation,
				r.finding_count ? r.finding[0].cause.text : "nothing was found");
		}
	}
}
