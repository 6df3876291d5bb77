/* SPDX-License-Identifier: BSD-3-Clause */
/* From the results of runs and crash tests to the rows of a benchmark. See bench.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "confidence.h"
#include "core/invariant.h"
#include "core/member.h"

enum { LINE_BYTES = 64, WORD_BYTES = 8 };

/* ---- One run ------------------------------------------------------------------------------- */

/* NAN: the report has no such number. */
static double value_of(const json_t *values, const char *name)
{
	const json_t *const value = json_object_get(values, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* NAN for x / 0, also for 0 / 0. */
static double per(double x, double of)
{
	return of > 0 ? x / of : NAN;
}

static double sum_of(const json_t *values, const char *const *names)
{
	double sum = 0;

	for (; *names; names++) {
		sum += value_of(values, *names);
	}
	return sum;
}

/* The numbers of one point, NAN where there is none. dram has the same run with DRAM's latencies. */
static void bench_numbers(const json_t *values, const json_t *dram, double ret[BENCH_METRIC_COUNT])
{
	static const char *const barriers[] = {
		"persist.barriers_wi", "persist.barriers_wg", "persist.barriers_kr", NULL};
	static const char *const stalls[] = {
		"persist.stall", "persist.buffer_stall", "persist.store_stall", NULL};
	static const char *const energies[] = {"energy.core", "energy.l1", "energy.l2", "energy.network",
		"energy.dram", "energy.nvram", "energy.nvw_fifo", NULL};
	const double operations = value_of(values, "latency.operation.count");
	const double lines = value_of(values, "nvram.writes"), words = value_of(values, "nvram.words");
	const double ps = value_of(values, "sim_time"), energy = sum_of(values, energies);

	ret[BENCH_THROUGHPUT] = per(operations, ps / 1e12);
	ret[BENCH_P50] = value_of(values, "latency.operation.p50");
	ret[BENCH_P99] = value_of(values, "latency.operation.p99");
	ret[BENCH_P999] = value_of(values, "latency.operation.p999");
	ret[BENCH_LONGEST] = value_of(values, "latency.operation.max");
	ret[BENCH_LINES] = per(lines, operations);
	ret[BENCH_BYTES] = per(WORD_BYTES * words, operations);
	ret[BENCH_AMPLIFICATION] = per(LINE_BYTES * lines, WORD_BYTES * words);
	ret[BENCH_BARRIERS] = per(sum_of(values, barriers), operations);
	ret[BENCH_STALL] = per(sum_of(values, stalls), operations);
	ret[BENCH_ENERGY] = energy > 0 ? per(energy, operations) : NAN;
	ret[BENCH_OVER_DRAM] = per(ps, value_of(dram, "sim_time"));
}

/* ---- Over the seeds ------------------------------------------------------------------------ */

static void set_bounds(struct bench_number *n, const double *value)
{
	n->least = INFINITY;
	n->most = -INFINITY;
	NVW_EACH(one, value, n->count) {
		n->least = fmin(n->least, *one);
		n->most = fmax(n->most, *one);
	}
}

static struct bench_number number_of(const double *value, unsigned count)
{
	NVW_INVARIANT(count <= BENCH_SEEDS_MAX);

	struct bench_number n = {.half = NAN, .count = count};

	set_bounds(&n, value);
	if (count > 0) {
		const struct confidence c = confidence_of(value, count);

		n.mean = c.mean;
		n.half = c.half;
	}
	return n;
}

static const char *status_of(const struct sweep_point *p)
{
	return member_string(p->row, "status");
}

static const char *reason_of(const struct sweep_point *p)
{
	return member_string(p->row, "reason");
}

int bench_set_status(struct bench_row *row, enum bench_status status, const char *reason)
{
	NVW_INVARIANT(reason);
	free(row->reason);
	row->status = status;
	row->reason = strdup(reason);
	NVW_ALLOCATED(row->reason, SWEEP_NO_MEMORY);
	return 0;
}

/* What a run's own check says comes before what its crash test says. */
static int judge_runs(const struct bench *b, struct bench_row *row)
{
	NVW_INVARIANT(row->first + 2 * b->seeds <= b->runs.count);
	NVW_FOR(i, 2 * b->seeds) {
		const struct sweep_point *const p = &b->runs.point[row->first + i];

		if (!strcmp(status_of(p), "wrong")) {
			return bench_set_status(row, BENCH_LOSES, reason_of(p));
		}
		if (strcmp(status_of(p), "ok") != 0) {
			NVW_TRY(bench_set_status(row, BENCH_FAILED, reason_of(p)));
		}
	}
	return 0;
}

static int describe_states(struct bench_row *row, const json_t *values)
{
	const double possible = value_of(values, "states_possible_log2");
	const bool all = !strcmp(member_string(values, "verdict"), "consistent");
	const int n =
		all ? asprintf(&row->states, "all 2^%.0f", possible) :
		      asprintf(&row->states, "%.0f of 2^%.0f", value_of(values, "states_tested"), possible);

	if (n < 0) {
		row->states = NULL;
		return nvw_fail(NVW_E_MEMORY, SWEEP_NO_MEMORY);
	}
	return 0;
}

static int judge_crash(const struct bench *b, struct bench_row *row)
{
	NVW_INVARIANT(row->crash < (int)b->crashes.count);

	const struct sweep_point *const p = row->crash < 0 ? NULL : &b->crashes.point[row->crash];

	if (!p || row->status == BENCH_LOSES || row->status == BENCH_FAILED) {
		return 0;
	}
	if (!strcmp(status_of(p), "wrong")) {
		NVW_TRY(bench_set_status(row, BENCH_LOSES, reason_of(p)));
	} else if (strcmp(status_of(p), "ok") != 0) {
		return bench_set_status(row, BENCH_UNCHECKED, reason_of(p));
	}
	return describe_states(row, json_object_get(p->row, "values"));
}

int bench_begin_numbers(const struct bench *b, struct bench_row *row)
{
	row->of_seed = malloc(b->seeds * sizeof *row->of_seed);
	NVW_ALLOCATED(row->of_seed, SWEEP_NO_MEMORY);
	NVW_EACH(number, *row->of_seed, b->seeds * BENCH_METRIC_COUNT) {
		*number = NAN;
	}
	return 0;
}

static int take_runs(const struct bench *b, struct bench_row *row)
{
	NVW_TRY(bench_begin_numbers(b, row));
	NVW_FOR(i, b->seeds) {
		const struct sweep_point *const p = &b->runs.point[row->first + i];

		bench_numbers(json_object_get(p->row, "values"), json_object_get(p[b->seeds].row, "values"),
			row->of_seed[i]);
	}
	NVW_TRY(judge_runs(b, row));
	return judge_crash(b, row);
}

static void set_numbers(const struct bench *b, struct bench_row *row)
{
	double of[BENCH_METRIC_COUNT][BENCH_SEEDS_MAX];
	unsigned count[BENCH_METRIC_COUNT] = {0};

	NVW_INVARIANT(b->seeds <= BENCH_SEEDS_MAX);
	NVW_EACH(of_seed, row->of_seed, b->seeds) {
		NVW_FOR(k, BENCH_METRIC_COUNT) {
			of[k][count[k]] = (*of_seed)[k];
			count[k] += !isnan((*of_seed)[k]);
		}
	}
	NVW_FOR(k, BENCH_METRIC_COUNT) {
		row->number[k] = number_of(of[k], count[k]);
	}
}

/* ---- The order ----------------------------------------------------------------------------- */

/* What has lost data stands below everything else, however fast it is; real time stands below simulated
 * time. */
static int group_of(const struct bench *b, const struct bench_row *row)
{
	static const int groups[] = {[BENCH_OK] = 0,
		[BENCH_UNCHECKED] = 0,
		[BENCH_REFUSED] = 2,
		[BENCH_FAILED] = 4,
		[BENCH_LOSES] = 6};

	NVW_INVARIANT(row->status < NVW_COUNT(groups));
	return groups[row->status] + !b->of[row->of].workload;
}

/* By mix, the fastest first; rows alike in the order of the command line. */
static int compare_rows(const void *a, const void *b, void *bench)
{
	const struct bench_row *const x = a, *const y = b;
	const struct bench_case *const of = ((const struct bench *)bench)->of;
	const double faster = y->number[BENCH_THROUGHPUT].mean - x->number[BENCH_THROUGHPUT].mean;

	if (group_of(bench, x) != group_of(bench, y)) {
		return group_of(bench, x) - group_of(bench, y);
	}
	if (of[x->of].rank != of[y->of].rank) {
		return (int)of[x->of].rank - (int)of[y->of].rank;
	}
	if (faster != 0) {
		return faster > 0 ? 1 : -1;
	}
	return x->of != y->of ? (int)x->of - (int)y->of : memcmp(x->choice, y->choice, sizeof x->choice);
}

int bench_rows(struct bench *b)
{
	NVW_FOR(i, b->row_count) {
		struct bench_row *const row = &b->row[i];

		if (row->status == BENCH_REFUSED) {
			continue;
		}
		if (b->of[row->of].workload) {
			NVW_TRY(take_runs(b, row));
		}
		set_numbers(b, row);
		b->loses = b->loses || row->status == BENCH_LOSES;
		b->failed = b->failed || row->status == BENCH_FAILED;
	}
	qsort_r(b->row, b->row_count, sizeof *b->row, compare_rows, b);
	return 0;
}
