/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs whose statistics, persist logs and crash states are recorded in recorded_runs.txt: a change that
 * should leave behaviour alone leaves them alone. The kernels do not diverge, so that no compiler has a say
 * in the order of lanes.
 *
 * A change of simulated time or of crash states is recorded by RECORD=1 build-dev/tests/test_recorded, and
 * CHANGELOG.md says why.
 */
#include "common/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <crashtest/crash.h>
#include <nvw/host.h>
#include <nvw/random.h>
#include <nvw/workload.h>

#include "core/options.h"

enum { ITEMS = 192, GROUP = 96, ROUNDS = 3, LINE_WORDS = 8 };

/* ---- Kernels ------------------------------------------------------------------------------- */

struct words {
	uint64_t *a;
	enum nvw_group group;
};

/* Two lines of each work-item, a barrier between them, an acknowledgement at the end. */
KERNEL(ladder, const struct words, w)
{
	uint64_t *const mine = w->a + (uint64_t)2 * LINE_WORDS * nvw_global_id();

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		nvw_store(&mine[0], round);
		nvw_p_barrier(w->group);
		nvw_store(&mine[LINE_WORDS], round);
		nvw_p_barrier(w->group);
	}
	nvw_ack(nvw_global_id());
}

static void change_words(const struct words *w, uint64_t *first, uint64_t id, uint64_t count)
{
	NVW_FOR(round, ROUNDS) {
		uint64_t *const word = &first[(id + 67 * round) % count];

		nvw_store(word, nvw_load(word) + round);
		nvw_p_barrier(w->group);
		nvw_barrier(NVW_WORKGROUP);
	}
}

/*
 * Lines that work-items share, read and changed at other places each round: words of other work-groups, too,
 * which nothing orders.
 */
KERNEL(scatter, const struct words, w)
{
	change_words(w, w->a, nvw_global_id(), ITEMS);
}

/* The same within each work-group, whose barriers order it. */
KERNEL(scatter_in_group, const struct words, w)
{
	change_words(w, w->a + nvw_global_id() / GROUP * GROUP, nvw_local_id(), GROUP);
}

KERNEL(add, const struct words, w)
{
	NVW_FOR(round, ROUNDS) {
		nvw_atomic_add(&w->a[nvw_global_id() / 2 * LINE_WORDS], 1, NVW_ACQ_REL, NVW_SCOPE_AGENT);
		nvw_p_barrier(w->group);
	}
}

static int launch_all(struct nvw_machine *m, uint64_t *a, nvw_kernel scatters)
{
	int r = 0;

	for (unsigned group = NVW_WORKITEM; group <= NVW_KERNEL && r == 0; group++) {
		const struct words w = {a, (enum nvw_group)group};

		r = nvw_launch(m, "ladder", ladder, &w, ITEMS, GROUP);
		r = r ? r : nvw_launch(m, "scatter", scatters, &w, ITEMS, GROUP);
		r = r ? r : nvw_launch(m, "add", add, &w, ITEMS, GROUP);
	}
	return r;
}

/* ---- What a run leaves --------------------------------------------------------------------- */

static void mix(uint64_t *hash, uint64_t value)
{
	*hash = nvw_mix64(*hash ^ nvw_mix64(value + 1));
}

static void mix_text(uint64_t *hash, const char *text)
{
	for (; *text; text++) {
		mix(hash, (uint8_t)*text);
	}
}

/* Statistics that are 0 do not count: a new one changes nothing here until it has something to count. */
static uint64_t hash_statistics(struct nvw_machine *m)
{
	const struct emu_stats *const stats = emu_statistics(m);
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);
	uint64_t hash = 0;

	NVW_EACH(one, table, count) {
		uint64_t value;

		memcpy(&value, (const char *)stats + one->offset, sizeof value);
		if (value) {
			mix_text(&hash, one->name);
			mix(&hash, value);
		}
	}
	return hash;
}

/* A record without its source place, which edits of this file move. */
static void mix_record(uint64_t *hash, const struct nvw_log_record *r)
{
	mix(hash, r->kind);
	mix(hash, r->time_ps);
	switch (r->kind) {
	case NVW_LOG_STORE:
		mix(hash, r->store.work_item);
		mix(hash, (uint64_t)r->store.epoch_wi << 40 ^ (uint64_t)r->store.epoch_wg << 20 ^
				  r->store.epoch_kr);
		mix(hash, r->store.off);
		mix(hash, r->store.value);
		break;
	case NVW_LOG_ISSUE:
		mix(hash, r->issue.write);
		mix(hash, r->issue.off);
		mix(hash, r->issue.mask);
		break;
	case NVW_LOG_DONE:
		mix(hash, r->done.write);
		break;
	case NVW_LOG_BARRIER:
	case NVW_LOG_PERSISTED:
		mix(hash, r->barrier.scope);
		mix(hash, r->barrier.work_item);
		mix(hash, r->barrier.epoch);
		mix(hash, r->barrier.lanes);
		break;
	case NVW_LOG_ACK:
		mix(hash, r->ack.first);
		mix(hash, r->ack.work_item);
		break;
	default:
		break;
	}
}

static uint64_t hash_log(const char *path)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	uint64_t hash = 0;

	rig_ok(nvw_log_open(path, &reader));
	while (nvw_log_next(reader, &r) == 1) {
		mix_record(&hash, &r);
	}
	nvw_log_reader_close(reader);
	return hash;
}

static const char *const domains[] = {"device", "adr", "eadr"};
enum { DOMAINS = NVW_COUNT(domains) };

/*
 * Under buffered epochs work-items do not meet at persist barriers. In scatter a group that is a round ahead
 * may store a word before another group does in an earlier epoch: a race, and then the run may end with a
 * report. Under these protocols it comes to that.
 */
static bool is_contradicted(const char *protocol, const char *model)
{
	static const char *const names[] = {
		"no-l1", "wt", "quickrelease", "stc-nv", "stc-es", "stc-ab", "stc-mb", "tcs"};
	bool is_named = false;

	for_each(name, names) {
		is_named |= !strcmp(protocol, *name);
	}
	return is_named && !strcmp(model, "buffered-epoch");
}

static void run_one(FILE *to, const char *protocol, const char *model, const char *domain)
{
	struct rig rig;
	uint64_t statistics;

	rig_begin_logged_set(&rig, 1, formatted("protocol=%s", protocol),
		formatted("persist.model=%s", model), formatted("nvram.domain=%s", domain), "l1.size=1KiB",
		"l1.ways=2", "l2.size=8KiB", "l2.ways=2");
	rig_ok(launch_all(rig.machine, (uint64_t *)(void *)rig.nvram,
		is_contradicted(protocol, model) ? scatter_in_group : scatter));
	rig_ok(nvw_persist(rig.machine));
	statistics = hash_statistics(rig.machine);
	rig_end(&rig);
	fprintf(to, "run %s %s %s: statistics %016llx, log %016llx\n", protocol, model, domain,
		(unsigned long long)statistics, (unsigned long long)hash_log(rig.log_path));
	unlink(rig.log_path);
}

/* ---- What a crash test says ---------------------------------------------------------------- */

enum { CRASH_ITEMS = 8 };

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	*ret_plan = NULL;
	return 0;
}

static void dispose(void *plan)
{
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	*ret_params = (struct nvw_pool_params){.layout = "recorded"};
	return 0;
}

static int run(void *plan, struct nvw_machine *m)
{
	const struct words w = {
		(uint64_t *)(uintptr_t)(nvw_nvram_base(m) + nvw_pool_geometry(nvw_machine_pool(m))->chunks),
		NVW_WORKGROUP};

	return nvw_launch(m, "ladder", ladder, &w, CRASH_ITEMS, CRASH_ITEMS / 2);
}

/* Wants all first words to be equal, which no barrier promises. */
static int check(void *plan, struct nvw_pool *p, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const nvw_off at = nvw_pool_geometry(p)->chunks;

	for (unsigned i = 1; i < CRASH_ITEMS; i++) {
		if (nvw_pool_word(p, at + 128 * i) != nvw_pool_word(p, at)) {
			return nvw_violation(findings, at + 128 * i, "the first words differ");
		}
	}
	return 0;
}

static const struct nvw_workload workload = {
	.name = "recorded", .prepare = prepare, .dispose = dispose, .pool = pool, .run = run, .check = check};

static void crash_one(
	FILE *to, const char *machine, enum ct_mode mode, enum ct_model model, unsigned atomicity)
{
	static struct ct_result result;
	const struct ct_options options = {.mode = mode,
		.model = model,
		.states = 400,
		.seed = 1,
		.jobs = 1,
		.atomicity = atomicity,
		.unexplained = true};
	struct ct_subject subject = {.workload = &workload, .mutation = -1};
	struct emu_config config;
	struct nvw_options *none;

	emu_config_default(&config);
	config.seed = 1;
	rig_ok(emu_config_set(&config, machine));
	rig_ok(nvw__options_create(NULL, &none));
	subject.config = &config;
	subject.options = none;
	rig_ok(ct_run(&subject, &options, &result));
	fprintf(to, "crash %s %s %u: %llu states, %llu failing, %llu instants, %llu exhausted, %s\n", machine,
		mode == CT_OBSERVED ? "observed" : ct_model_info(model)->name, atomicity,
		(unsigned long long)result.states_tested, (unsigned long long)result.states_failing,
		(unsigned long long)result.instants, (unsigned long long)result.instants_exhausted,
		result.consistent ? "consistent" : "inconsistent");
	ct_result_free(&result);
	nvw__options_free(none);
}

/* ---- The set ------------------------------------------------------------------------------- */

static void write_runs(FILE *to)
{
	const char *name;

	for (unsigned i = 0; (name = emu_protocol_name(i / DOMAINS)); i++) {
		for (unsigned model = 0; emu_model_info(model); model++) {
			run_one(to, name, emu_model_info(model)->name, domains[i % DOMAINS]);
		}
	}
}

static void write_crashes(FILE *to)
{
	for (enum ct_model model = 0; model < CT_MODEL_COUNT; model++) {
		if (ct_model_info(model)->of_runs) {
			crash_one(to, "persist.model=epoch", CT_PERMITTED, model, 8);
			crash_one(to, "persist.model=epoch", CT_PERMITTED, model, 64);
		}
	}
	for (unsigned model = 0; emu_model_info(model); model++) {
		crash_one(to, formatted("persist.model=%s", emu_model_info(model)->name), CT_OBSERVED,
			CT_MODEL_OBSERVED, 8);
	}
}

/* The lines of both files, one by one: the first that differs says which run has changed. */
static void compare(FILE *now, const char *path)
{
	FILE *const recorded = fopen(path, "r");
	char a[256], b[256];

	if (!recorded) {
		fail_msg("%s cannot be read", path);
	}
	rewind(now);
	while (fgets(a, sizeof a, now)) {
		if (!fgets(b, sizeof b, recorded)) {
			strcpy(b, "nothing");
		}
		if (strcmp(a, b) != 0) {
			fail_msg("%snow, and recorded is\n%sRECORD=1 records what is now", a, b);
		}
	}
	assert_null(fgets(b, sizeof b, recorded));
	fclose(recorded);
}

/* Once all is known: what fails on the way changes nothing. */
static void record(FILE *now, const char *path)
{
	FILE *const to = fopen(path, "w");
	int c;

	assert_non_null(to);
	rewind(now);
	while ((c = getc(now)) != EOF) {
		putc(c, to);
	}
	assert_int_equal(fclose(to), 0);
}

TEST(recorded_runs_are_as_they_were)
{
	const char *const path = getenv("RECORDED_RUNS");
	FILE *const now = tmpfile();

	if (!path) {
		print_message("RECORDED_RUNS names no file\n");
		skip();
	}
	assert_non_null(now);
	write_runs(now);
	write_crashes(now);
	if (getenv("RECORD")) {
		record(now, path);
	} else {
		compare(now, path);
	}
	fclose(now);
}

/* The number of pairs of places that race in a kernel. */
static unsigned races_in(nvw_kernel kernel, enum nvw_group group)
{
	struct words w = {.group = group};
	struct rig rig;
	unsigned count;

	rig_begin(&rig, 1, (const char *const[]){"protocol=wt", NULL});
	rig_ok(emu_check_races(rig.machine, EMU_RACES_CLAIMED));
	w.a = (uint64_t *)(void *)rig.nvram;
	rig_launch(&rig, kernel, &w, ITEMS, GROUP);
	count = emu_races(rig.machine)->count;
	rig_end(&rig);
	return count;
}

/* What is_contradicted() says: the words of other work-groups are the race, and nothing else is one. */
TEST(scatter_races_with_other_work_groups_alone)
{
	for (unsigned group = NVW_WORKITEM; group < NVW_KERNEL; group++) {
		assert_true(races_in(scatter, (enum nvw_group)group) > 0);
		assert_int_equal(races_in(scatter_in_group, (enum nvw_group)group), 0);
	}
}
