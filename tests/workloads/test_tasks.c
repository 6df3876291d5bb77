/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task programs (tasks/tasks.h) on the ideal machine (ideal.h): TREES and the task vector machine run the
 * same epochs with the same results in any interleaving, hechtman14's Table 5.1 row by row, and mistakes of
 * tasks are named.
 */
#include "common/test.h"

#include <stdlib.h>
#include <string.h>

#include "tasks/tasks.h"

#include "ideal.h"

typedef int machine_run(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, nvw_task_run function, const uint32_t *words, unsigned n,
	struct nvw_task_totals *ret_totals);

static machine_run *const machines[] = {nvw_trees_run, nvw_tvm_run};

/* ---- Epochs that are kept ------------------------------------------------------------------------- */

enum { EPOCHS_MAX = 4096, ENTRIES_KEPT = 16, DEPTH_KEPT = 8 };

static struct kept {
	struct nvw_task_epoch epoch;
	uint32_t entry[ENTRIES_KEPT], waiting[DEPTH_KEPT];
} kept[2][EPOCHS_MAX];
static unsigned count[2];

static void keep(void *context, const struct nvw_task_epoch *epoch)
{
	const unsigned which = *(const unsigned *)context;
	struct kept *const k = &kept[which][count[which]++];

	assert_true(count[which] < EPOCHS_MAX);
	k->epoch = *epoch;
	memcpy(k->entry, epoch->entry, sizeof k->entry);
	for (unsigned i = 0; i < epoch->depth && i < DEPTH_KEPT; i++) {
		k->waiting[i] = epoch->waiting[i];
	}
}

static struct nvw_task_totals run_on(unsigned which, const struct nvw_task_program *program,
	nvw_task_run function, const uint32_t *words, unsigned n, const void *data, uint64_t seed)
{
	const struct nvw_task_options options = {
		.entries = 1 << 14, .group_size = 8, .data = data, .on_epoch = keep, .context = &which};
	struct nvw_task_totals totals;

	count[which] = 0;
	assert_ok(
		machines[which](ideal_create(1 << 20, seed), program, &options, function, words, n, &totals));
	ideal_destroy();
	return totals;
}

static void assert_same_epochs(void)
{
	assert_int_equal(count[0], count[1]);
	NVW_FOR(i, count[0]) {
		const struct nvw_task_epoch *const a = &kept[0][i].epoch, *const b = &kept[1][i].epoch;

		assert_int_equal(a->number, b->number);
		assert_int_equal(a->first, b->first);
		assert_int_equal(a->end, b->end);
		assert_int_equal(a->next_now, b->next_now);
		assert_int_equal(a->joins, b->joins);
		assert_int_equal(a->maps, b->maps);
		assert_int_equal(a->depth, b->depth);
		assert_memory_equal(a->ran, b->ran, sizeof a->ran);
		assert_memory_equal(kept[0][i].waiting, kept[1][i].waiting, sizeof kept[0][i].waiting);
	}
}

/* Runs a program on both machines, in several interleavings: the first task's emitted word. */
static uint32_t run_on_both(const struct nvw_task_program *program, nvw_task_run function,
	const uint32_t *words, unsigned n, const void *data)
{
	const struct nvw_task_totals formal = run_on(1, program, function, words, n, data, 1);

	for (uint64_t seed = 1; seed <= 4; seed++) {
		const struct nvw_task_totals t = run_on(0, program, function, words, n, data, seed);

		assert_memory_equal(&t, &formal, sizeof t);
		assert_same_epochs();
	}
	return formal.result[0];
}

/* ---- Table 5.1 ------------------------------------------------------------------------------------ */

/* The tree of Figure 5.3: A has B and C, these have D, E and F; 0: no node. */
static const struct {
	uint32_t left, right;
} tree[] = {{0, 0}, {2, 3}, {4, 5}, {6, 0}, {0, 0}, {0, 0}, {0, 0}};

static uint32_t visited[16], visits;

static void visit_after(struct nvw_task *t)
{
	visited[visits++] = nvw_task_word(t, 0);
}

static void postorder(struct nvw_task *t)
{
	const uint32_t node = nvw_task_word(t, 0);

	if (node != 0) {
		nvw_fork(t, postorder, tree[node].right);
		nvw_fork(t, postorder, tree[node].left);
		nvw_join(t, visit_after, node);
	}
}

static const struct nvw_task_program walk = {
	.name = "walk",
	.functions = (const struct nvw_task_function[]){{"postorder", postorder, false},
		{"visitAfter", visit_after, false}, {NULL, NULL, false}},
	.words = 1,
};

static int by_code(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * A row has the vector as the epoch leaves it; the table, as the next one finds it. Which of its entries a
 * fork gets is open, so that codes are compared in ascending order: 2 * epoch + 1 is a traversal, 2 * epoch +
 * 2 a visit, 0 one that has returned.
 */
TEST(a_postorder_walk_goes_through_table_5_1)
{
	static const struct {
		uint32_t epoch, next, next_now;
		bool joins;
		unsigned depth;
		uint32_t waiting[4], entries, code[13];
	} rows[] = {
		{0, 1, 3, true, 2, {1, 0}, 3, {2, 3, 3}},
		{1, 3, 7, true, 3, {2, 1, 0}, 7, {2, 4, 4, 5, 5, 5, 5}},
		{2, 7, 13, true, 4, {3, 2, 1, 0}, 13, {0, 2, 4, 4, 6, 6, 6, 7, 7, 7, 7, 7, 7}},
		{3, 13, 7, false, 3, {2, 1, 0}, 7, {0, 2, 4, 4, 6, 6, 6}},
		{2, 7, 3, false, 2, {1, 0}, 3, {2, 4, 4}},
		{1, 3, 1, false, 1, {0}, 1, {2}},
		{0, 1, 0, false, 0, {0}, 0, {0}},
	};

	NVW_FOR(which, 2) {
		visits = 0;
		run_on(which, &walk, postorder, (uint32_t[]){1}, 1, NULL, 1);
		assert_int_equal(count[which], NVW_COUNT(rows));
		NVW_FOR(i, count[which]) {
			struct kept *const k = &kept[which][i];

			assert_int_equal(k->epoch.number, rows[i].epoch);
			assert_int_equal(k->epoch.next, rows[i].next);
			assert_int_equal(k->epoch.next_now, rows[i].next_now);
			assert_int_equal(k->epoch.joins, rows[i].joins);
			assert_int_equal(k->epoch.depth, rows[i].depth);
			assert_memory_equal(k->waiting, rows[i].waiting, 4 * rows[i].depth);
			qsort(k->entry, rows[i].entries, sizeof *k->entry, by_code);
			assert_memory_equal(k->entry, rows[i].code, 4 * rows[i].entries);
		}
		assert_int_equal(visits, 6);
		assert_int_equal(visited[5], 1);           /* the root comes last, */
		assert_true(visited[3] + visited[4] == 5); /* B and C before it */
	}
}

/* ---- Programs ------------------------------------------------------------------------------------- */

static void sum(struct nvw_task *t)
{
	nvw_emit(t, nvw_emitted(t, nvw_task_word(t, 0), 0) + nvw_emitted(t, nvw_task_word(t, 1), 0));
}

static void fib(struct nvw_task *t)
{
	const uint32_t n = nvw_task_word(t, 0);

	if (n < 2) {
		nvw_emit(t, n);
	} else {
		const uint32_t a = nvw_fork(t, fib, n - 1), b = nvw_fork(t, fib, n - 2);

		nvw_join(t, sum, a, b);
	}
}

static const struct nvw_task_program fibonacci = {
	.name = "fibonacci",
	.functions = (const struct nvw_task_function[]){{"fib", fib, false}, {"sum", sum, false},
		{NULL, NULL, false}},
	.words = 2,
};

TEST(both_machines_compute_fibonacci_by_the_same_epochs)
{
	static const uint32_t expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};

	for (uint32_t n = 0; n <= 10; n = 2 * n + (n < 3)) {
		assert_int_equal(run_on_both(&fibonacci, fib, &n, 1, NULL), expected[n]);
		assert_int_equal(count[1], n < 2 ? 1 : 2 * n - 1);
	}
}

/*
 * A continuation that forks while its neighbours still read what their tasks have emitted: a round a word.
 * Each round adds the values of two fresh tasks.
 */
static void leaf(struct nvw_task *t)
{
	nvw_emit(t, nvw_task_word(t, 0));
}

static void round_of(struct nvw_task *t)
{
	const uint32_t left = nvw_task_word(t, 0), total = nvw_task_word(t, 1) +
							   nvw_emitted(t, nvw_task_word(t, 2), 0) +
							   nvw_emitted(t, nvw_task_word(t, 3), 0);

	if (left == 0) {
		nvw_emit(t, total);
	} else {
		const uint32_t a = nvw_fork(t, leaf, left), b = nvw_fork(t, leaf, 100 * left);

		nvw_join(t, round_of, left - 1, total, a, b);
	}
}

static void begin_rounds(struct nvw_task *t)
{
	const uint32_t a = nvw_fork(t, leaf, 1), b = nvw_fork(t, leaf, 2);

	nvw_join(t, round_of, nvw_task_word(t, 0), 0, a, b);
}

static void add_all(struct nvw_task *t)
{
	uint32_t total = 0;

	NVW_FOR(i, nvw_task_word(t, 1)) {
		total += nvw_emitted(t, nvw_task_word(t, 0) + i, 0);
	}
	nvw_emit(t, total);
}

static void begin_many(struct nvw_task *t)
{
	const uint32_t n = nvw_task_word(t, 0);
	uint32_t first = UINT32_MAX;

	NVW_FOR(i, n) {
		const uint32_t entry = nvw_fork(t, begin_rounds, i % 5);

		first = entry < first ? entry : first;
	}
	nvw_join(t, add_all, first, n);
}

static const struct nvw_task_program rounds = {
	.name = "rounds",
	.functions = (const struct nvw_task_function[]){{"leaf", leaf, false}, {"round", round_of, false},
		{"begin", begin_rounds, false}, {"many", begin_many, false}, {"add", add_all, false},
		{NULL, NULL, false}},
	.words = 4,
};

static uint32_t rounds_of(uint32_t n)
{
	uint32_t total = 0;

	NVW_FOR(i, n) {
		total += 3;
		for (uint32_t left = i % 5; left > 0; left--) {
			total += 101 * left;
		}
	}
	return total;
}

TEST(continuations_that_fork_do_not_overwrite_values_that_others_read)
{
	for (uint32_t n = 1; n <= 20; n += 9) {
		assert_int_equal(run_on_both(&rounds, begin_many, &n, 1, NULL), rounds_of(n));
	}
}

/*
 * A search tree without joins: what an epoch leaves may be used again, so that the vector holds two epochs
 * and not all.
 */
static uint64_t seen;

static void spread(struct nvw_task *t)
{
	const uint32_t left = nvw_task_word(t, 0);

	seen++;
	if (left > 0) {
		nvw_fork(t, spread, left - 1);
		if (left % 3 == 0) {
			nvw_fork(t, spread, left - 1);
		}
	}
}

static const struct nvw_task_program spreading = {
	.name = "spreading",
	.functions = (const struct nvw_task_function[]){{"spread", spread, false}, {NULL, NULL, false}},
	.words = 1,
};

TEST(without_joins_entries_are_used_again)
{
	const uint32_t depth = 20; /* 64 tasks in the last epoch, 381 in all */

	NVW_EACH(machine, machines, 2) {
		const struct nvw_task_options options = {.entries = 200, .group_size = 8};
		struct nvw_task_totals totals;

		seen = 0;
		assert_int_equal((*machine)(ideal_create(1 << 20, 1), &spreading, &options, spread, &depth, 1,
					 &totals),
			0);
		ideal_destroy();
		assert_int_equal(totals.tasks, seen);
		assert_int_equal(seen, 381);
	}
}

TEST(in_a_vector_that_is_too_small_no_task_is_lost_unnoticed)
{
	const uint32_t depth = 20;
	unsigned full = 0, ran = 0;

	for (uint32_t entries = 40; entries < 260; entries += 5) {
		const struct nvw_task_options options = {.entries = entries, .group_size = 8};
		struct nvw_task_totals totals;
		int error;

		seen = 0;
		error = nvw_trees_run(
			ideal_create(1 << 20, entries), &spreading, &options, spread, &depth, 1, &totals);
		ideal_destroy();
		if (error == 0) {
			assert_int_equal(seen, 381);
			ran++;
		} else {
			assert_int_equal(error, NVW_E_FULL);
			full++;
		}
	}
	assert_true(full > 5 && ran > 5);
}

/* ---- Maps ----------------------------------------------------------------------------------------- */

struct square_data {
	uint32_t *from, *to;
};

static void square(struct nvw_task *t)
{
	const struct square_data *const d = nvw_task_data(t);
	const uint32_t first = nvw_task_word(t, 0), n = nvw_task_word(t, 1);

	for (uint32_t i = nvw_local_id(); i < n; i += nvw_group_size()) {
		const uint32_t x = nvw_load(&d->from[first + i]);

		nvw_store(&d->to[first + i], x * x);
	}
}

static void add_squares(struct nvw_task *t)
{
	const struct square_data *const d = nvw_task_data(t);
	uint32_t total = 0;

	NVW_EACH(to, d->to, 64) {
		total += nvw_load(to);
	}
	nvw_emit(t, total);
}

static void begin_squares(struct nvw_task *t)
{
	nvw_map(t, square, 0, 20);
	nvw_map(t, square, 20, 44);
	nvw_join(t, add_squares, 0);
}

static const struct nvw_task_program squares = {
	.name = "squares",
	.functions = (const struct nvw_task_function[]){{"begin", begin_squares, false},
		{"add", add_squares, false}, {"square", square, true}, {NULL, NULL, false}},
	.words = 2,
};

TEST(maps_are_carried_out_before_the_next_epoch)
{
	NVW_EACH(machine, machines, 2) {
		struct nvw_machine *const m = ideal_create(1 << 20, 1);
		struct square_data data = {nvw_alloc(m, 4 * 64), nvw_alloc(m, 4 * 64)};
		const struct nvw_task_options options = {.entries = 64, .group_size = 8, .data = &data};
		struct nvw_task_totals totals;
		uint32_t words[64], expected = 0;

		NVW_FOR(i, 64) {
			words[i] = i + 3;
			expected += words[i] * words[i];
		}
		assert_ok(nvw_write(m, data.from, words, sizeof words));
		assert_int_equal((*machine)(m, &squares, &options, begin_squares, NULL, 0, &totals), 0);
		assert_int_equal(totals.result[0], expected);
		assert_int_equal(totals.maps, 2);
		ideal_destroy();
	}
}

/* ---- Mistakes ------------------------------------------------------------------------------------- */

static void fork_after_join(struct nvw_task *t)
{
	nvw_join(t, sum, 0, 0);
	nvw_fork(t, fib, 1);
}

static void fork_of_a_stranger(struct nvw_task *t)
{
	nvw_fork(t, leaf, 1);
}

static void fork_of_a_map(struct nvw_task *t)
{
	nvw_fork(t, square, 1);
}

static void map_of_a_task(struct nvw_task *t)
{
	nvw_map(t, sum, 1);
}

static void map_that_forks(struct nvw_task *t)
{
	nvw_fork(t, sum, 1);
}

static void maps_it(struct nvw_task *t)
{
	nvw_map(t, map_that_forks, 1);
}

static void too_many_words(struct nvw_task *t)
{
	nvw_emit(t, 1, 2, 3);
}

static void read_beyond(struct nvw_task *t)
{
	nvw_emit(t, nvw_emitted(t, 1 << 20, 0));
}

static void fork_without_end(struct nvw_task *t)
{
	nvw_fork(t, fork_without_end, 1);
	nvw_fork(t, fork_without_end, 1);
	nvw_join(t, sum, 0, 0);
}

static void recur_without_end(struct nvw_task *t)
{
	nvw_fork(t, recur_without_end, 1);
	nvw_join(t, sum, 0, 0);
}

static const struct nvw_task_program mistaken = {
	.name = "mistaken",
	.functions = (const struct nvw_task_function[]){{"fork_after_join", fork_after_join, false},
		{"fork_of_a_stranger", fork_of_a_stranger, false}, {"fork_of_a_map", fork_of_a_map, false},
		{"map_of_a_task", map_of_a_task, false}, {"map_that_forks", map_that_forks, true},
		{"maps_it", maps_it, false}, {"too_many_words", too_many_words, false},
		{"read_beyond", read_beyond, false}, {"fork_without_end", fork_without_end, false},
		{"recur_without_end", recur_without_end, false}, {"sum", sum, false}, {"fib", fib, false},
		{"square", square, true}, {NULL, NULL, false}},
	.words = 2,
};

TEST(mistakes_end_the_run_and_are_named)
{
	static const struct {
		nvw_task_run function;
		int error;
		const char *text;
	} cases[] = {
		{fork_after_join, NVW_E_KERNEL,
			"task fork_after_join in entry 0, epoch 0: fork after its end"},
		{fork_of_a_stranger, NVW_E_KERNEL,
			"fork of a function that program mistaken has not registered"},
		{fork_of_a_map, NVW_E_KERNEL, "fork of square, which is a map function"},
		{map_of_a_task, NVW_E_KERNEL, "map of sum, which is not a map function"},
		{maps_it, NVW_E_KERNEL, "a map function may not fork"},
		{too_many_words, NVW_E_KERNEL, "emit with 3 words, but program mistaken has room for 2"},
		{read_beyond, NVW_E_KERNEL, "word 0 of entry 1048576 is not in the task vector"},
		{fork_without_end, NVW_E_FULL, "the task vector of 100 entries is full"},
		{recur_without_end, NVW_E_FULL,
			"task recur_without_end in entry 29, epoch 29: epoch 30: the stack of epochs is "
			"full (30 wait, expected at most 30)"},
		{leaf, NVW_E_USAGE, "its first task"},
	};

	NVW_FOR(i, 2 * NVW_COUNT(cases)) {
		const struct nvw_task_options options = {.entries = 100, .group_size = 8, .depth = 30};
		struct nvw_task_totals totals;

		assert_int_equal(machines[i % 2](ideal_create(1 << 20, 1), &mistaken, &options,
					 cases[i / 2].function, NULL, 0, &totals),
			cases[i / 2].error);
		assert_error_has(cases[i / 2].text);
		if (cases[i / 2].error != NVW_E_USAGE) {
			assert_error_has("test_tasks.c:");
		}
		ideal_destroy();
	}
}
