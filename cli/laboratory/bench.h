/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A benchmark: structures by mixes by values of --against, one table. docs/bench.md has the user's view.
 *
 *	bench_plan.c     command line -> cases and rows; a row's runs are points of a sweep, and so is its crash test
 *	bench_mixes.def  the mixes of the structures of the command
 *	bench_rows.c     results -> numbers per operation, their means over the seeds, the order of the rows
 *	bench_print.c    the table as text, CSV and JSON
 *
 * The points of two sweeps are run as those of nvwave sweep: the runs, with one more for each in which NVRAM has the
 * latencies of DRAM, and the crash tests.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "sweep.h"

enum { BENCH_SEEDS_MAX = 64, BENCH_WORKLOADS_MAX = 64, BENCH_CASES_MAX = 512, BENCH_AXES_MAX = 16 };

/* Two-sided 95 % of Student's t are over this many seeds and more; fewer have the least and the most. */
enum { BENCH_CONFIDENT = 3 };

/* X(id, column, unit, head of the table): numbers per operation but for the first and the last. */
#define BENCH_METRICS(X)                                      \
	X(THROUGHPUT, "throughput", RATE, "op/s")             \
	X(P50, "p50", TIME, "p50")                            \
	X(P99, "p99", TIME, "p99")                            \
	X(P999, "p999", TIME, "p99.9")                        \
	X(LONGEST, "longest", TIME, "longest")                \
	X(LINES, "lines_per_op", NUMBER, "lines/op")          \
	X(BYTES, "bytes_per_op", NUMBER, "B/op")              \
	X(AMPLIFICATION, "amplification", NUMBER, "ampl.")    \
	X(BARRIERS, "barriers_per_op", NUMBER, "barriers/op") \
	X(STALL, "stall_per_op", TIME, "stall/op")            \
	X(ENERGY, "energy_per_op", ENERGY, "energy/op")       \
	X(OVER_DRAM, "over_dram", NUMBER, "of DRAM-only")

enum bench_metric {
#define X(id, column, unit, head) BENCH_##id,
	BENCH_METRICS(X)
#undef X
		BENCH_METRIC_COUNT
};

struct bench_case {
	const struct nvw_workload *workload;
	const char *reference; /* as the command line names it */
	const char *mix;
	unsigned rank; /* of the mix in the table */
};

enum bench_status {
	BENCH_OK,
	BENCH_UNCHECKED, /* no crash test, and the reason */
	BENCH_REFUSED,   /* the structure cannot do it, and the reason */
	BENCH_FAILED,    /* no result, and the reason */
	BENCH_LOSES      /* a check failed */
};

struct bench_number {
	double mean, least, most, half; /* half of the confidence interval, NAN: none */
	unsigned count;                 /* seeds; 0: there is no number */
};

struct bench_row {
	unsigned of; /* case */
	uint32_t choice[BENCH_AXES_MAX];
	enum bench_status status;
	char *reason;
	unsigned first; /* point of the first seed; those with DRAM's latencies follow the seeds' */
	int crash;      /* point of the crash sweep, -1: none */
	char *states;   /* "all 2^636", "100 of 2^476" */
	struct bench_number number[BENCH_METRIC_COUNT];
};

struct bench {
	const struct cli_options *given;
	struct bench_case *of;
	unsigned case_count;
	unsigned first_axis, axis_count; /* of both sweeps: those of --against */
	unsigned seeds;
	uint64_t records, operations, states; /* states 0: --unchecked */
	struct sweep runs, crashes;
	struct bench_row *row;
	unsigned row_count;
	bool loses, failed; /* a row is BENCH_LOSES, BENCH_FAILED */
};

/* Cases, axes, rows, and the points of both sweeps; refused rows are known. NVW_E_USAGE. Release by bench_end(), also
 * after an error. */
NVW_CHECKED int bench_plan(struct bench *bench, const struct cli_options *given);
void bench_end(struct bench *bench);

/* Of both sweeps' results; then rows are in the order of the table. */
NVW_CHECKED int bench_rows(struct bench *bench);
/* Of one point: NAN where there is none. dram: its run with DRAM's latencies. */
void bench_numbers(const json_t *values, const json_t *dram, double ret[BENCH_METRIC_COUNT]);
/* Two-sided 95 % of Student's t. */
double bench_student(unsigned degrees);

void bench_print(const struct bench *bench, FILE *to);
NVW_CHECKED int bench_write_csv(const struct bench *bench, const char *path);
json_t *bench_json(const struct bench *bench);

#endif
