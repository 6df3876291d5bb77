/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A check in parts says what the whole check says. On small runs of the shipped structures, as they are and with each
 * seeded bug, states are judged twice: by the real recovery and the whole check, and by the parts. Whatever is compared, a
 * planted opposite shows that a difference would be seen.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/stop.h"
#include "crashtest/group.h"
#include "parts_rig.h"
#include "pool/layout.h"

#define WORKLOAD(name) extern const struct nvw_workload nvw_workload_##name;
#include "workloads/workloads.def"
#undef WORKLOAD
extern const struct nvw_workload nvw_workload; /* the tutorial's queue */

#ifdef __SANITIZE_ADDRESS__
enum { STATES = 3, INSTANTS = 6 };
#else
enum { STATES = 8, INSTANTS = 20 };
#endif

static const struct small runs[] = {
	{&nvw_workload_queue, {{"count", "24"}, {"producers", "2"}, {"consumers", "2"}, {"capacity", "8"},
				      {"group-size", "4"}, {"payload", "2"}}},
	{&nvw_workload_queue, {{"count", "24"}, {"producers", "1"}, {"consumers", "2"}, {"capacity", "8"},
				      {"group-size", "4"}, {"payload", "3"}, {"scope", "workgroup"}}},
	{&nvw_workload_steal_log, {{"tasks", "4"}, {"groups", "3"}, {"depth", "4"}, {"group-size", "4"},
					  {"skew", "100"}, {"words", "3"}, {"spawn", "95"}}},
	{&nvw_workload_kv, {{"count", "120"}, {"batch", "24"}, {"slots", "16"}, {"group-size", "8"},
				   {"mix", "put=80,delete=20"}, {"records", "40"}, {"value-size", "16B"}}},
	{&nvw_workload_btree, {{"count", "90"}, {"preload", "30"}, {"batch", "30"}, {"group-size", "8"}}},
	{&nvw_workload_btree,
		{{"count", "40"}, {"preload", "40"}, {"batch", "20"}, {"group-size", "8"}, {"op", "update"}}},
	{&nvw_workload_btree,
		{{"count", "40"}, {"preload", "40"}, {"batch", "20"}, {"group-size", "8"}, {"op", "delete"}}},
	{&nvw_workload_tiered, {{"count", "40"}, {"groups", "2"}, {"group-size", "2"}, {"keys", "2"},
				       {"records", "3"}, {"words", "2"}}},
	{&nvw_workload, {{"count", "60"}}},
};
enum { SAID_MAX = 1024 };
enum { RUNS = sizeof runs / sizeof *runs, TUTORIAL = RUNS - 1 };

static const enum ct_model models[] = {
	CT_MODEL_EPOCH, CT_MODEL_STRICT, CT_MODEL_OBSERVED, CT_MODEL_EADR, CT_MODEL_BUFFERED};
enum { MODELS = sizeof models / sizeof *models };

/* ---- Against the whole check ------------------------------------------------------------------------------ */

/* Number of this instant's sampled states about which parts and whole check differ. */
static unsigned different_states(struct rig *r, struct ct_parts *parts, bool *ret_some_fail)
{
	static struct nvw_findings findings;
	bool fails[STATES];
	struct rig_states states;
	unsigned different = 0;

	rig_states_create(r, parts, STATES, &states);
	for (unsigned i = 0; i < STATES; i++) {
		rig_choose(r, i);
		rig_states_set(&states, i);
		fails[i] = rig_fails(r, &findings);
		r->failed += fails[i];
		*ret_some_fail = *ret_some_fail || fails[i];
	}
	rig_states_try(&states);
	for (unsigned i = 0; i < STATES; i++) {
		different += states.part_fails[i] != fails[i];
	}
	different += states.uneven > 0;
	rig_states_free(&states);
	return different;
}

/* Number of states of this run about which parts and whole check differ. */
static unsigned differences(struct rig *r, const struct nvw_workload *in_parts, enum ct_model model)
{
	static struct nvw_findings findings;
	unsigned different = 0, instants = 0;
	struct ct_parts *parts;

	rig_begin(r, model);
	assert_int_equal(ct_parts_create(in_parts, r->oracle.plan, &r->medium, &parts), 0);
	assert_non_null(parts);
	while (rig_next(r)) {
		const struct ct_part_trouble *trouble;
		bool some_fail = false;

		assert_int_equal(ct_parts_try(parts, NULL, NULL), 0);
		const uint64_t troubles = ct_parts_troubles(parts, &trouble);

		if (instants < INSTANTS) {
			different += different_states(r, parts, &some_fail);
		}
		different += some_fail && troubles == 0;
		for (uint64_t i = 0; i < troubles && i < 4; i++) {
			static struct nvw_findings said;

			assert_true(ct_parts_remake(
				parts, trouble[i].part, trouble[i].evaluation, &said, r->levels));
			different += trouble[i].verdict == CT_PART_FAILS && !rig_fails(r, &findings);
		}
		instants++;
	}
	ct_parts_free(parts);
	rig_end(r);
	return different;
}

/* A run of the first structure with a seeded bug that shows, for planted opposites. */
static void rig_with_bug(struct rig *r, const struct small *s, const char *name)
{
	int mutation = 0;

	while (strcmp(s->workload->mutations[mutation].name, name) != 0) {
		mutation++;
	}
	assert_true(rig_create(r, s, mutation, 1, NULL));
}

static void parts_fail_in_the_states_in_which_the_whole_check_fails(void **state)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < RUNS; i++) {
		const struct nvw_workload *const w = runs[i].workload;

		for (int mutation = -1; mutation < 0 || w->mutations[mutation].name != NULL; mutation++) {
			struct rig r;

			if (!rig_create(&r, &runs[i], mutation, 1, NULL)) {
				continue;
			}
			const enum ct_model model = models[(unsigned)(mutation + 1) % MODELS];
			const unsigned different = differences(&r, w, model);

			if (different > 0) {
				fail_msg("run %u: %s, mutation %s, %s: parts and check differ in %u states",
					i, w->name, mutation < 0 ? "none" : w->mutations[mutation].name,
					ct_model_info(model)->name, different);
			}
			failed += r.failed;
			rig_destroy(&r);
		}
	}
	assert_in_range(failed, 10 * STATES, UINT32_MAX);
}

/* The parts of the queue, one kind of which says nothing; of which one remembers; which looks where it did not ask. */
static int check_without_messages(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	return part > 8 && part <= 8 + 24 ? 0 :
					    nvw_workload_queue.parts->check(plan, pool, acks, part, findings);
}

static int check_that_cries(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	return part == 1 && nvw_pool_word(pool, nvw_pool_geometry(pool)->chunks) != 0 ?
		       nvw_violation(findings, 0, "slot 0 has changed") :
		       0;
}

static int check_that_remembers(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	static unsigned calls;

	return part == 1 && nvw_pool_word(pool, nvw_pool_geometry(pool)->chunks) != 0 && ++calls % 2 == 0 ?
		       nvw_violation(findings, 0, "an even call") :
		       0;
}

static int check_that_peeks(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	const uint64_t *const words = nvw_pool_at(pool, nvw_pool_geometry(pool)->chunks, 8);

	return part == 1 && words[1] % 2 == 1 ? nvw_violation(findings, 0, "a word that was not asked for") :
						0;
}

static const struct nvw_workload *with(struct nvw_workload *to, struct nvw_parts *parts,
	int (*check)(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
		struct nvw_findings *findings))
{
	*to = nvw_workload_queue;
	*parts = *nvw_workload_queue.parts;
	parts->check = check;
	to->parts = parts;
	return to;
}

static void a_part_that_is_left_out_is_missed(void **state)
{
	struct nvw_workload w;
	struct nvw_parts parts;
	struct rig r;

	rig_with_bug(&r, &runs[0], "ack-before-barrier");
	assert_int_equal(differences(&r, &nvw_workload_queue, CT_MODEL_EPOCH), 0);
	assert_true(differences(&r, with(&w, &parts, check_without_messages), CT_MODEL_EPOCH) > 0);
	rig_destroy(&r);
}

static void a_part_that_fails_without_reason_is_seen(void **state)
{
	struct nvw_workload w;
	struct nvw_parts parts;
	struct rig r;

	assert_true(rig_create(&r, &runs[0], -1, 1, NULL));
	assert_true(differences(&r, with(&w, &parts, check_that_cries), CT_MODEL_EPOCH) > 0);
	rig_destroy(&r);
}

/* ---- Words and noise ---------------------------------------------------------------------------------------- */

/* Words of this instant's state that the view tells otherwise than recovery leaves them; raw: than they are before it. */
static unsigned other_words(struct rig *r, struct ct_parts *parts, bool raw)
{
	const struct nvw_pool_image image = {.image = r->medium.image.ro,
		.bytes = r->medium.image.bytes,
		.write = ct_image_write,
		.context = &r->medium.image};
	uint64_t *const told = calloc(r->medium.image.bytes / 8, 8);
	bool *const known = calloc(r->medium.image.bytes / 8, 1);
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;
	unsigned other = 0, unknown = 0;

	for (uint64_t i = 0; i < r->medium.image.bytes / 8; i++) {
		known[i] = ct_parts_recovered(parts, 8 * i, r->levels, &told[i]);
		unknown += !known[i];
	}
	ct_medium_apply(&r->medium, r->levels);
	assert_int_equal(nvw_pool_open_image(&image, &pool), 0);
	assert_true(unknown <= nvw_pool_geometry(pool)->streams);
	assert_int_equal(raw ? 0 : nvw_recover(pool, &report), 0);
	for (uint64_t i = 0; i < r->medium.image.bytes / 8; i++) {
		other += known[i] && ct_image_word(&r->medium.image, 8 * i) != told[i];
	}
	nvw_pool_close(pool);
	ct_medium_undo(&r->medium);
	free(told);
	free(known);
	return other;
}

static void view_a_run(struct rig *r, enum ct_model model)
{
	unsigned changed = 0, instants = 0;
	struct ct_parts *parts;

	rig_begin(r, model);
	assert_int_equal(ct_parts_create(r->subject.workload, r->oracle.plan, &r->medium, &parts), 0);
	while (rig_next(r) && instants++ < 2 * INSTANTS) {
		assert_int_equal(ct_parts_try(parts, NULL, NULL), 0);
		for (unsigned i = 0; i < 3; i++) {
			rig_choose(r, i);
			assert_int_equal(other_words(r, parts, false), 0);
			changed += other_words(r, parts, true) > 0;
		}
	}
	assert_true(changed > 0);
	ct_parts_free(parts);
	rig_end(r);
}

static void the_view_tells_what_recovery_writes(void **state)
{
	struct rig r;

	assert_true(rig_create(&r, &runs[4], -1, 1, NULL)); /* splits are undone */
	view_a_run(&r, CT_MODEL_EPOCH);
	view_a_run(&r, CT_MODEL_BUFFERED);
	rig_destroy(&r);
}

/* Entries of open epochs that restore the same root word, each to another value. */
static const struct {
	uint32_t stream, entry;
} rivals[] = {{0, 0}, {0, 3}, {1, 1}, {2, 0}, {2, 2}};
enum { RIVALS = sizeof rivals / sizeof *rivals };

static int pool_with_streams(const void *plan, struct nvw_pool_params *ret_params)
{
	const int error = nvw_workload_queue.pool(plan, ret_params);

	ret_params->streams = 3;
	ret_params->log_entries = 4;
	return error;
}

/* Puts those of the set into the image, and none of the others. */
static void put_rivals(uint8_t *image, const struct nvw_pool_geometry *g, unsigned set)
{
	for (unsigned i = 0; i < RIVALS; i++) {
		const struct nvw__undo undo = {.off = nvw_pool_root_off(g, 7), .value = 1000 + i};

		for (unsigned k = 0; k < NVW__ENTRY_WORDS; k++) {
			const nvw_off off = nvw__entry_off(g, rivals[i].stream, rivals[i].entry) + 8 * k;
			const uint64_t word =
				set >> i & 1 ? nvw_seal(off, nvw__entry_payload(&undo, 1, k)) : 0;

			memcpy(image + off, &word, sizeof word);
		}
	}
}

static struct nvw_pool_geometry geometry_of(const struct ct_bench *b)
{
	const struct nvw_pool_image image = {.image = b->initial, .bytes = b->bytes};
	struct nvw_pool *pool;

	assert_int_equal(nvw_pool_open_image(&image, &pool), 0);
	const struct nvw_pool_geometry g = *nvw_pool_geometry(pool);

	nvw_pool_close(pool);
	return g;
}

/* Of each two and of all together: the view restores what recovery restores last. */
static void of_several_entries_that_restore_a_word_the_view_takes_recovery_s(void **state)
{
	struct nvw_workload w = nvw_workload_queue;
	struct small s = runs[0];
	struct ct_parts *parts;
	struct rig r;

	w.pool = pool_with_streams;
	s.workload = &w;
	assert_true(rig_create(&r, &s, -1, 1, NULL));
	const struct nvw_pool_geometry g = geometry_of(&r.logged.bench);

	for (unsigned set = 1; set < 1u << RIVALS; set++) {
		if (__builtin_popcount(set) != 2 && __builtin_popcount(set) != RIVALS) {
			continue;
		}
		put_rivals(r.logged.bench.initial, &g, set);
		rig_begin(&r, CT_MODEL_EPOCH);
		assert_int_equal(ct_parts_create(&w, r.oracle.plan, &r.medium, &parts), 0);
		assert_true(rig_next(&r));
		assert_int_equal(ct_parts_try(parts, NULL, NULL), 0);
		rig_choose(&r, 0);
		assert_int_equal(other_words(&r, parts, false), 0);
		assert_int_equal(other_words(&r, parts, true), 1);
		ct_parts_free(parts);
		rig_end(&r);
	}
	rig_destroy(&r);
}

/* One part: a word has this value after recovery, and is found by it. */
static uint64_t wanted;

static uint64_t one_part(const void *plan, const struct nvw_pool_geometry *g)
{
	return 1;
}

static uint64_t by_itself(const void *plan, uint64_t word)
{
	return word;
}

static int check_wanted(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	nvw_off off[8];
	const unsigned holders = nvw_pool_holders(pool, wanted, off, 8);

	for (unsigned i = 0; i < holders && i < 8; i++) {
		if (nvw_pool_word(pool, off[i]) == wanted) {
			return 0;
		}
	}
	return nvw_violation(findings, 0, "no word is wanted");
}

/* Before recovery no word has the value. */
static void what_the_log_restores_is_found_by_its_key(void **state)
{
	struct nvw_workload w = nvw_workload_queue;
	struct nvw_parts parts = *nvw_workload_queue.parts;
	struct small s = runs[0];
	struct rig r;

	parts.count = one_part;
	parts.check = check_wanted;
	parts.key = by_itself;
	w.pool = pool_with_streams;
	w.parts = &parts;
	s.workload = &w;
	assert_true(rig_create(&r, &s, -1, 1, NULL));
	const struct nvw_pool_geometry g = geometry_of(&r.logged.bench);

	for (unsigned i = 0; i <= RIVALS; i++) {
		const struct ct_part_trouble *trouble;
		struct ct_parts *in_parts;

		put_rivals(r.logged.bench.initial, &g, 1u << i);
		wanted = 1000 + i;
		rig_begin(&r, CT_MODEL_EPOCH);
		assert_int_equal(ct_parts_create(&w, r.oracle.plan, &r.medium, &in_parts), 0);
		assert_true(rig_next(&r));
		assert_int_equal(ct_parts_try(in_parts, NULL, NULL), 0);
		assert_int_equal(ct_parts_troubles(in_parts, &trouble), i == RIVALS);
		ct_parts_free(in_parts);
		rig_end(&r);
	}
	rig_destroy(&r);
}

/* The answers of all parts at all instants, as one number. anew: by parts that were never tried before. */
static uint64_t answers(
	struct rig *r, const struct nvw_workload *in_parts, enum ct_model model, uint64_t noise, bool anew)
{
	struct ct_parts *parts = NULL;
	uint64_t hash = 0;

	rig_begin(r, model);
	for (unsigned i = 0; rig_next(r) && i < INSTANTS;) {
		const struct ct_part_trouble *t;

		if (anew || parts == NULL) {
			ct_parts_free(parts);
			assert_int_equal(ct_parts_create(in_parts, r->oracle.plan, &r->medium, &parts), 0);
			ct_parts_noise(parts, noise);
		}
		assert_int_equal(ct_parts_try(parts, NULL, NULL), 0);
		for (uint64_t k = ct_parts_troubles(parts, &t); k-- > 0;) {
			hash = nvw_mix64(hash ^ nvw_mix64(t[k].part * 4 + t[k].verdict) ^
					 nvw_mix64(t[k].evaluation) ^ t[k].shape);
		}
		hash = nvw_mix64(hash);
		i++;
	}
	ct_parts_free(parts);
	rig_end(r);
	return hash;
}

static void parts_look_at_what_they_ask_for_alone(void **state)
{
	static const struct {
		unsigned run;
		const char *bug;
	} of[] = {{0, "commit-before-record"}, {2, "commit-before-result"}};
	struct nvw_workload w;
	struct nvw_parts parts;
	struct rig r;

	for (unsigned i = 0; i < 4; i++) {
		const enum ct_model model = i < 2 ? CT_MODEL_EPOCH : CT_MODEL_BUFFERED;

		rig_with_bug(&r, &runs[of[i % 2].run], of[i % 2].bug);
		assert_true(answers(&r, r.subject.workload, model, 0, false) ==
			    answers(&r, r.subject.workload, model, 99, false));
		rig_destroy(&r);
	}
	rig_with_bug(&r, &runs[0], of[0].bug);
	assert_true(answers(&r, with(&w, &parts, check_that_peeks), CT_MODEL_EPOCH, 0, false) !=
		    answers(&r, with(&w, &parts, check_that_peeks), CT_MODEL_EPOCH, 99, false));
	rig_destroy(&r);
}

static void parts_do_not_depend_on_what_was_tried_before(void **state)
{
	struct nvw_workload w;
	struct nvw_parts parts;
	struct rig r;

	for (unsigned i = 0; i < RUNS; i += 2) {
		const enum ct_model model = i % 4 == 0 ? CT_MODEL_EPOCH : CT_MODEL_BUFFERED;

		assert_true(rig_create(&r, &runs[i], 0, 1, NULL));
		assert_true(answers(&r, r.subject.workload, model, 0, false) ==
			    answers(&r, r.subject.workload, model, 0, true));
		rig_destroy(&r);
	}
	assert_true(rig_create(&r, &runs[0], 0, 1, NULL));
	assert_true(answers(&r, with(&w, &parts, check_that_remembers), CT_MODEL_EPOCH, 0, false) !=
		    answers(&r, with(&w, &parts, check_that_remembers), CT_MODEL_EPOCH, 0, true));
	rig_destroy(&r);
}

/* Parts under buffered epoch persistency, with an order of so many bytes: what they say at each instant, 0: nothing, since
 * there is a crowd. The number of instants. */
static unsigned say(struct rig *r, uint64_t bytes, uint64_t ret_said[SAID_MAX])
{
	const struct ct_part_trouble *t;
	struct ct_parts *parts = NULL;
	unsigned n = 0;

	for (rig_begin(r, CT_MODEL_BUFFERED); rig_next(r) && n < SAID_MAX; n++) {
		if (parts == NULL) {
			assert_int_equal(
				ct_parts_create(r->subject.workload, r->oracle.plan, &r->medium, &parts), 0);
			ct_parts_crowd_beyond(parts, bytes);
		}
		assert_int_equal(ct_parts_try(parts, NULL, NULL), 0);
		ret_said[n] = ct_parts_crowd(parts) > 0 ? 0 : 1;
		for (uint64_t k = ct_parts_troubles(parts, &t); ret_said[n] != 0 && k-- > 0;) {
			ret_said[n] = nvw_mix64(ret_said[n] + 4 * t[k].part + t[k].verdict) | 1;
		}
	}
	ct_parts_free(parts);
	rig_end(r);
	return n;
}

/* Of instants after a crowd, those with troubles. */
static unsigned troubles_after_a_crowd(const uint64_t *all, const uint64_t *bounded, unsigned n)
{
	unsigned crowds = 0, after = 0;

	for (unsigned i = 0; i < n; i++) {
		assert_true(all[i] != 0);
		assert_true(bounded[i] == 0 || bounded[i] == all[i]);
		crowds += bounded[i] == 0;
		after += crowds > 0 && bounded[i] != 0 && all[i] != 1;
	}
	return after;
}

/* A small kernel after a large one, so that a crowd ends. What was to be tried in it is tried after it. */
static void after_a_crowd_of_stores_parts_say_what_they_would_have_said(void **state)
{
	static const struct small run = {&nvw_workload_kv,
		{{"count", "62"}, {"batch", "60"}, {"slots", "64"}, {"group-size", "8"}, {"records", "40"}}};
	static uint64_t all[SAID_MAX], bounded[SAID_MAX];
	unsigned after = 0;

	for (int mutation = 0; mutation < 6; mutation++) {
		struct rig r;

		if (!rig_create(&r, &run, mutation, 1, NULL)) {
			continue;
		}
		const unsigned n = say(&r, 0, all);

		for (uint64_t bytes = 250; bytes <= 16000; bytes *= 2) {
			assert_int_equal(say(&r, bytes, bounded), n);
			after += troubles_after_a_crowd(all, bounded, n);
		}
		rig_destroy(&r);
	}
	print_message("# %u instants with troubles after a crowd\n", after);
	assert_true(after > 0);
}

/* ---- One part does not depend on another ---------------------------------------------------------------------- */

enum { ANSWERS_MAX = 400, EVALUATIONS_MAX = 32 };

/* What a part answers in its evaluations, as one number. */
static uint64_t answer_of(struct ct_parts *parts, uint64_t part, unsigned *levels)
{
	static struct nvw_findings said;
	uint64_t hash = 1;

	for (unsigned n = 0; n < EVALUATIONS_MAX && ct_parts_remake(parts, part, n, &said, levels); n++) {
		hash = nvw_mix64(hash + said.count);
		for (const char *c = said.count > 0 ? said.finding[0].text : ""; *c != '\0'; c++) {
			hash = nvw_mix64(hash + (unsigned char)*c);
		}
	}
	return hash;
}

/* Some parts at one instant, up to the last one. */
struct asked {
	struct rig *rig;
	const struct nvw_workload *in_parts;
	uint64_t total, count;
};

static struct ct_parts *make_parts(const struct asked *a)
{
	struct ct_parts *parts;

	assert_int_equal(ct_parts_create(a->in_parts, a->rig->oracle.plan, &a->rig->medium, &parts), 0);
	return parts;
}

static uint64_t part_of(const struct asked *a, uint64_t i)
{
	return (i + 1) * a->total / a->count - 1;
}

static void answer_in_order(const struct asked *a, bool descending, uint64_t ret_answers[ANSWERS_MAX])
{
	struct ct_parts *const parts = make_parts(a);

	for (uint64_t n = 0; n < a->count; n++) {
		const uint64_t i = descending ? a->count - 1 - n : n;

		ret_answers[i] = answer_of(parts, part_of(a, i), a->rig->levels);
	}
	ct_parts_free(parts);
}

static void answer_alone(const struct asked *a, uint64_t ret_answers[ANSWERS_MAX])
{
	for (uint64_t i = 0; i < a->count; i++) {
		struct ct_parts *const parts = make_parts(a);

		ret_answers[i] = answer_of(parts, part_of(a, i), a->rig->levels);
		ct_parts_free(parts);
	}
}

/* In a process that has not asked a part before. */
static void answer_elsewhere(const struct asked *a, uint64_t ret_answers[ANSWERS_MAX])
{
	const size_t bytes = a->count * sizeof *ret_answers;
	size_t had = 0;
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		answer_in_order(a, true, ret_answers);
		_exit(write(ends[1], ret_answers, bytes) != (ssize_t)bytes);
	}
	close(ends[1]);
	for (ssize_t n = 1; n > 0 && had < bytes; had += (size_t)n) {
		n = read(ends[0], (char *)ret_answers + had, bytes - had);
		assert_true(n > 0);
	}
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* How many of the ways of asking give other answers: in another process, in the other order, alone. */
static unsigned ways_that_differ(struct rig *r, const struct nvw_workload *in_parts, enum ct_model model)
{
	static uint64_t elsewhere[ANSWERS_MAX], ascending[ANSWERS_MAX], descending[ANSWERS_MAX],
		alone[ANSWERS_MAX];
	struct asked a = {.rig = r, .in_parts = in_parts};

	rig_begin(r, model);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(rig_next(r));
	}
	struct ct_parts *const parts = make_parts(&a);

	a.total = ct_parts_count(parts)->parts;
	a.count = a.total < ANSWERS_MAX ? a.total : ANSWERS_MAX;
	ct_parts_free(parts);
	answer_elsewhere(&a, elsewhere);
	answer_in_order(&a, false, ascending);
	answer_in_order(&a, true, descending);
	answer_alone(&a, alone);
	rig_end(r);

	const size_t bytes = a.count * sizeof *alone;

	return (memcmp(ascending, elsewhere, bytes) != 0) + (memcmp(ascending, descending, bytes) != 0) +
	       (memcmp(ascending, alone, bytes) != 0);
}

/* A part that says nothing at first. */
static int check_that_tires(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks,
	uint64_t part, struct nvw_findings *findings)
{
	static unsigned calls;

	return ++calls > 8 ? nvw_violation(findings, 0, "too many calls") : 0;
}

static void parts_answer_the_same_alone_in_another_order_and_in_another_process(void **state)
{
	static const enum ct_model some[] = {CT_MODEL_EPOCH, CT_MODEL_STRICT, CT_MODEL_BUFFERED};
	struct nvw_workload w;
	struct nvw_parts parts;
	struct rig r;

	for (unsigned i = 0; i < RUNS; i++) {
		assert_true(rig_create(&r, &runs[i], i == TUTORIAL ? -1 : 0, 1, NULL));
		assert_int_equal(ways_that_differ(&r, r.subject.workload, some[i % 3]), 0);
		rig_destroy(&r);
	}
	assert_true(rig_create(&r, &runs[0], 0, 1, NULL));
	assert_int_equal(ways_that_differ(&r, with(&w, &parts, check_that_tires), CT_MODEL_EPOCH), 3);
	rig_destroy(&r);
}

/* ---- The explorer --------------------------------------------------------------------------------------------- */

static struct ct_result explore(struct rig *r, const struct nvw_workload *w, unsigned jobs)
{
	const struct ct_rules rules = {.model = CT_MODEL_EPOCH};
	struct ct_options options = {
		.mode = CT_PERMITTED, .model = CT_MODEL_EPOCH, .states = 300, .seed = 1, .jobs = jobs};
	static struct ct_result result;

	assert_int_equal(ct_options_complete(NULL, &options), 0);
	r->subject.workload = w;
	if (ct_logged_explore(&r->logged, &rules, &options, &result)) {
		fail_msg("%s", nvw_error_message());
	}
	ct_result_free(&result);
	return result;
}

static void a_sound_structure_is_accounted_for_by_any_number_of_jobs(void **state)
{
	struct rig r;

	for (unsigned i = 0; i < RUNS; i += 2) {
		assert_true(rig_create(&r, &runs[i], -1, 1, NULL));
		for (unsigned jobs = 1; jobs <= 3; jobs += 2) {
			const struct ct_result result = explore(&r, runs[i].workload, jobs);

			assert_true(result.consistent);
			assert_int_equal(result.instants_by_parts, result.instants);
			assert_int_equal(result.instants_exhausted, result.instants);
		}
		rig_destroy(&r);
	}
}

/* ---- In pieces ----------------------------------------------------------------------------------------------- */

/* What a result says: how many instants are accounted for, and the findings, whose texts may differ in numbers. */
struct said {
	uint64_t instants, by_parts, exhausted, findings;
	char texts[CT_FINDINGS_MAX][CT_TEXT_BYTES];
};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_said(struct said *to, const struct ct_result *r)
{
	to->instants += r->instants;
	to->by_parts += r->instants_by_parts;
	to->exhausted += r->instants_exhausted;
	for (unsigned i = 0; i < r->finding_count; i++) {
		char shape[CT_TEXT_BYTES] = "";
		unsigned k = 0;

		ct_shape(r->finding[i].text, shape);
		while (k < to->findings && strcmp(to->texts[k], shape) != 0) {
			k++;
		}
		if (k == to->findings) {
			memset(to->texts[k], 0, CT_TEXT_BYTES);
			strcpy(to->texts[to->findings++], shape);
		}
	}
	qsort(to->texts, to->findings, CT_TEXT_BYTES, by_text);
}

static bool is_stopped_once;

/* As a signal in the middle. */
static void stop_in_the_middle(void *context, const struct ct_progress *p)
{
	if (!is_stopped_once && strcmp(p->what, "exploring instants") == 0 && p->done > 0) {
		is_stopped_once = true;
		nvw_stop_note(SIGINT);
	}
}

static bool explore_piece(struct rig *r, struct ct_options options, struct said *said)
{
	const struct ct_rules rules = {.model = CT_MODEL_EPOCH};
	static struct ct_result result;

	options.mode = CT_PERMITTED;
	options.model = CT_MODEL_EPOCH;
	options.states = 300;
	options.seed = 1;
	options.jobs = options.jobs ? options.jobs : 1;
	options.unexplained = true;
	assert_int_equal(ct_options_complete(NULL, &options), 0);
	if (ct_logged_explore(&r->logged, &rules, &options, &result)) {
		fail_msg("%s", nvw_error_message());
	}
	ct_result_free(&result);
	if (!result.interrupted) {
		add_said(said, &result);
	}
	return !result.interrupted;
}

/* A sound run and a broken one: all at once, by three processes, in three shards, and with an interruption. */
static void pieces_together_say_what_the_whole_says(void **state)
{
	static struct said whole, jobs, shards, resumed;
	char path[64];

	snprintf(path, sizeof path, "/tmp/nvwave-parts-%d", (int)getpid());
	for (int mutation = -1; mutation < 1; mutation++) {
		struct rig r;

		memset(&whole, 0, sizeof whole);
		jobs = shards = resumed = whole;
		assert_true(rig_create(&r, &runs[4], mutation, 1, NULL));
		explore_piece(&r, (struct ct_options){.jobs = 1}, &whole);
		explore_piece(&r, (struct ct_options){.jobs = 3}, &jobs);
		assert_memory_equal(&whole, &jobs, sizeof whole);
		for (unsigned i = 1; i <= 3; i++) {
			explore_piece(&r, (struct ct_options){.shard = i, .shards = 3}, &shards);
		}
		assert_memory_equal(&whole, &shards, sizeof whole);
		is_stopped_once = false;
		const struct ct_options stopped = {.resume = path, .progress = stop_in_the_middle};

		if (!explore_piece(&r, stopped, &resumed)) {
			nvw__stop_signal = 0;
			assert_true(explore_piece(&r, stopped, &resumed));
		} else {
			print_message("# the exploration was too quick to be interrupted\n");
		}
		assert_memory_equal(&whole, &resumed, sizeof whole);
		assert_true(mutation < 0 ? whole.findings == 0 && whole.by_parts == whole.instants :
					   whole.findings > 0);
		rig_destroy(&r);
	}
}

static int check_nothing(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
	struct nvw_findings *findings)
{
	return 0;
}

/* A workload outside of the tree, whose few lines for parts docs/tutorial.md shows. */
static void the_tutorial_s_queue_is_accounted_for_and_its_bug_is_found(void **state)
{
	struct nvw_workload w = nvw_workload;
	struct nvw_parts parts = *nvw_workload.parts;
	struct rig r;

	assert_true(rig_create(&r, &runs[TUTORIAL], -1, 1, NULL));
	const struct ct_result sound = explore(&r, &nvw_workload, 1);

	assert_true(ct_covers_all(&sound) && sound.consistent);
	assert_int_equal(sound.instants_by_parts, sound.instants);
	rig_destroy(&r);

	rig_with_bug(&r, &runs[TUTORIAL], "forget-barrier");
	assert_int_equal(differences(&r, &nvw_workload, CT_MODEL_EPOCH), 0);
	assert_true(r.failed > 0);
	const struct ct_result broken = explore(&r, &nvw_workload, 1);

	assert_false(broken.consistent);
	assert_int_equal(broken.by_parts.missed + broken.by_parts.denied + broken.by_parts.wide, 0);
	parts.check = check_nothing;
	w.parts = &parts;
	assert_true(differences(&r, &w, CT_MODEL_EPOCH) > 0);
	rig_destroy(&r);
}

/* States that confirm a part that fails are tested besides the budget, and counted apart. */
static void confirmations_are_counted_apart_from_the_budget(void **state)
{
	const struct ct_rules rules = {.model = CT_MODEL_BUFFERED};
	static struct ct_result result;
	struct rig r;

	assert_true(rig_create(&r, &runs[0], 0, 1, NULL));
	for (unsigned whole = 0; whole < 2; whole++) {
		struct ct_options options = {.mode = CT_PERMITTED,
			.model = CT_MODEL_BUFFERED,
			.states = 50,
			.seed = 1,
			.jobs = 1,
			.whole = whole,
			.unexplained = true};

		assert_int_equal(ct_options_complete(NULL, &options), 0);
		assert_int_equal(ct_logged_explore(&r.logged, &rules, &options, &result), 0);
		ct_result_free(&result);
		assert_false(result.consistent);
		print_message("# %u states, %u of them confirmations\n", (unsigned)result.states_distinct,
			(unsigned)result.by_parts.confirmations);
		assert_true((result.by_parts.confirmations > 0) == !whole);
		assert_true(result.states_tested - result.by_parts.confirmations <= options.states);
		assert_true(whole || result.states_distinct > options.states); /* or the test shows nothing */
	}
	rig_destroy(&r);
}

static void what_the_check_does_not_confirm_is_no_finding(void **state)
{
	struct nvw_workload w;
	struct nvw_parts parts;
	struct rig r;

	assert_true(rig_create(&r, &runs[0], -1, 1, NULL));
	const struct ct_result result = explore(&r, with(&w, &parts, check_that_cries), 1);

	assert_true(result.consistent);
	assert_true(result.by_parts.denied > 0);
	assert_true(result.instants_exhausted < result.instants);
	rig_destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_fail_in_the_states_in_which_the_whole_check_fails),
		cmocka_unit_test(a_part_that_is_left_out_is_missed),
		cmocka_unit_test(a_part_that_fails_without_reason_is_seen),
		cmocka_unit_test(the_view_tells_what_recovery_writes),
		cmocka_unit_test(of_several_entries_that_restore_a_word_the_view_takes_recovery_s),
		cmocka_unit_test(what_the_log_restores_is_found_by_its_key),
		cmocka_unit_test(parts_look_at_what_they_ask_for_alone),
		cmocka_unit_test(parts_do_not_depend_on_what_was_tried_before),
		cmocka_unit_test(parts_answer_the_same_alone_in_another_order_and_in_another_process),
		cmocka_unit_test(after_a_crowd_of_stores_parts_say_what_they_would_have_said),
		cmocka_unit_test(a_sound_structure_is_accounted_for_by_any_number_of_jobs),
		cmocka_unit_test(pieces_together_say_what_the_whole_says),
		cmocka_unit_test(the_tutorial_s_queue_is_accounted_for_and_its_bug_is_found),
		cmocka_unit_test(what_the_check_does_not_confirm_is_no_finding),
		cmocka_unit_test(confirmations_are_counted_apart_from_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
