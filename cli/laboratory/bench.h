/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A benchmark: structures by mixes by values of --against, one table. docs/bench.md has the user's view.
 *
 *	bench_plan.c     command line -> cases and rows; a row's runs are points of a sweep, and so is its
 *			 crash test
 *	bench_mixes.def  the mixes of the structures of the command
 *	bench_host.c     rows of host programs, which nvwave exec runs one after another
 *	bench_rows.c     results -> numbers per operation, their means over the seeds, the order of the rows
 *	bench_print.c    the table as text, CSV and JSON
 *
 * The points of two sweeps are run as those of nvwave sweep: the runs, with one more for each in which NVRAM
 * has the latencies of DRAM, and the crash tests. Rows of host programs are real time: nothing else of the
 * benchmark runs beside them, they are measured anew each time, and they are never ranked among simulated
 * ones.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "sweep.h"

enum { BENCH_SEEDS_MAX = 64, BENCH_WORKLOADS_MAX = 64, BENCH_CASES_MAX = 512, BENCH_AXES_MAX = 16 };

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
	const struct nvw_workload *workload; /* NULL: a host program */
	const char *reference;               /* as the command line names it */
	const char *mix;
	char name[48]; /* in the table */
	unsigned rank; /* of the mix in the table */
};

enum bench_status {
	BENCH_OK,
	BENCH_UNCHECKED, /* no crash test, and the reason */
	BENCH_REFUSED,   /* the structure cannot do it, and the reason */
	BENCH_FAILED,    /* no result, and the reason */
	BENCH_LOSES      /* a check failed; a host program had a wrong result */
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
	double (*of_seed)[BENCH_METRIC_COUNT]; /* NAN: not known; NULL of a refused row */
	int crash;                             /* point of the crash sweep, -1: none */
	char *states;                          /* "all 2^636", "100 of 2^476" */
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
	bool has_host;      /* a case is a host program */
	bool loses, failed; /* a row is BENCH_LOSES, BENCH_FAILED */
};

/*
 * Makes cases, axes and rows, and the points of both sweeps; rows that are refused are marked. NVW_E_USAGE.
 * Release by bench_end(), also after an error.
 */
NVW_CHECKED int bench_plan(struct bench *bench, const struct cli_options *given);
void bench_end(struct bench *bench);

/* Is the case a host program: "pibench:LIBRARY [options]", "exec:COMMAND"? */
bool bench_is_host(const char *reference);
/* Does the axis hold for host programs? The machine does, and keys of its NVRAM. */
bool bench_host_has(const char *axis);
/* The name of the case's row is that of the library, or of the command's first word. */
void bench_host_name(const char *reference, char *ret_name, size_t bytes);
/* Runs the rows of host programs. NVW_E_STOPPED, or an error that concerns all of them. */
NVW_CHECKED int bench_host_run(struct bench *bench, uint64_t timeout_ms);

/* Makes the rows of both sweeps' results, and puts them into the order of the table. */
NVW_CHECKED int bench_rows(struct bench *bench);

/* The value that a row has on an axis of --against. */
const char *bench_axis_name(const struct bench *bench, unsigned axis);
const char *bench_axis_value(const struct bench *bench, const struct bench_row *row, unsigned axis);
NVW_CHECKED int bench_set_status(struct bench_row *row, enum bench_status status, const char *reason);
/* Makes room for the numbers of each seed, none of which is known yet. */
NVW_CHECKED int bench_begin_numbers(const struct bench *bench, struct bench_row *row);

void bench_print(const struct bench *bench, FILE *to);
/* NVW_E_USAGE if the file has points that this benchmark lacks, or is no table of a benchmark. */
NVW_CHECKED int bench_check_former(const struct bench *bench, const char *path);
NVW_CHECKED int bench_write_csv(const struct bench *bench, const char *path);
json_t *bench_json(const struct bench *bench);

#endif
