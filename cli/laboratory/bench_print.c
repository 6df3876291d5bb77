/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a benchmark, as text, CSV and JSON. See bench.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../report/provenance.h"
#include "../report/words.h"
#include "bench.h"
#include "confidence.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/newfile.h"
#include "core/print.h"
#include "former.h"

enum { CELL_BYTES = 64, COLUMNS_MAX = 3 + BENCH_AXES_MAX + BENCH_METRIC_COUNT + 1 };

enum unit { NUMBER, RATE, TIME, ENERGY };

static const struct {
	const char *column, *head;
	enum unit unit;
} metrics[BENCH_METRIC_COUNT] = {
#define X(id, column, unit, head) {column, head, unit},
	BENCH_METRICS(X)
#undef X
};

/* ---- Cells --------------------------------------------------------------------------------- */

/* Three digits, and the unit that leaves none or few before the point. */
static void scaled(double x, const char *const *units, char cell[CELL_BYTES])
{
	while (units[1] && x >= 999.5) {
		x /= 1000;
		units++;
	}
	snprintf(cell, CELL_BYTES, "%.*f%s", (x < 9.995) + (x < 99.95), x, *units);
}

static void print_number(double x, enum unit unit, char cell[CELL_BYTES])
{
	static const char *const units[][6] = {[NUMBER] = {"", NULL},
		[RATE] = {"", "k", "M", "G", NULL},
		[TIME] = {"ps", "ns", "us", "ms", "s", NULL},
		[ENERGY] = {"pJ", "nJ", "uJ", "mJ", "J", NULL}};

	NVW_INVARIANT(unit < NVW_COUNT(units));
	scaled(x, units[unit], cell);
}

/* The mean; of the throughput also what the seeds leave open. */
static void print_cell(const struct bench_row *row, unsigned metric, char cell[CELL_BYTES])
{
	NVW_INVARIANT(metric < NVW_COUNT(row->number));

	const struct bench_number *const n = &row->number[metric];
	char mean[CELL_BYTES], most[CELL_BYTES];

	if (n->count == 0) {
		snprintf(cell, CELL_BYTES, "-");
		return;
	}
	print_number(n->mean, metrics[metric].unit, mean);
	if (metric != BENCH_THROUGHPUT || n->count == 1) {
		snprintf(cell, CELL_BYTES, "%s", mean);
	} else if (!isnan(n->half)) {
		snprintf(cell, CELL_BYTES, "%.40s ±%.1f%%", mean, 100 * n->half / n->mean);
	} else {
		print_number(n->least, metrics[metric].unit, mean);
		print_number(n->most, metrics[metric].unit, most);
		snprintf(cell, CELL_BYTES, "%.28s..%.28s", mean, most);
	}
}

static bool is_host(const struct bench *b, const struct bench_row *row)
{
	return !b->of[row->of].workload;
}

static const char *checked_text(const struct bench *b, const struct bench_row *row)
{
	if (row->status == BENCH_LOSES) {
		return is_host(b, row) ? "WRONG RESULTS" : "LOSES DATA";
	}
	if (row->status == BENCH_FAILED) {
		return "no result";
	}
	if (row->status == BENCH_REFUSED || is_host(b, row)) {
		return "-";
	}
	return words_or(row->states, b->states ? "not checked" : "unchecked");
}

const char *bench_axis_name(const struct bench *b, unsigned axis)
{
	NVW_INVARIANT(axis < b->axis_count);
	return b->runs.axis[b->first_axis + axis].name;
}

const char *bench_axis_value(const struct bench *b, const struct bench_row *row, unsigned axis)
{
	NVW_INVARIANT(axis < NVW_COUNT(row->choice));
	return b->runs.axis[b->first_axis + axis].value[row->choice[axis]];
}

/* Columns before the numbers: what is measured, on what, and whose time it is in tables that have both. */
static unsigned name_count(const struct bench *b)
{
	return 2 + b->axis_count + b->has_host;
}

static const char *name_of(const struct bench *b, unsigned column)
{
	static const char *const first[] = {"workload", "mix"};

	NVW_INVARIANT(column < name_count(b));
	if (column < 2) {
		return first[column];
	}
	return column < 2 + b->axis_count ? bench_axis_name(b, column - 2) : "time";
}

static const char *value_of(const struct bench *b, const struct bench_row *row, unsigned column)
{
	const struct bench_case *const of = &b->of[row->of];

	NVW_INVARIANT(column < name_count(b));
	if (column < 2) {
		return column ? of->mix : of->name; /* the workload's own name, not a path */
	}
	if (column < 2 + b->axis_count) {
		return bench_axis_value(b, row, column - 2);
	}
	return is_host(b, row) ? "real" : "simulated";
}

/* ---- Text ---------------------------------------------------------------------------------- */

struct table {
	unsigned columns, rows;
	char (*cell)[CELL_BYTES]; /* rows x columns; the first row is the head */
	unsigned wide[COLUMNS_MAX];
};

/* Letters of UTF-8. */
static unsigned letters(const char *text)
{
	unsigned n = 0;

	for (; *text; text++) {
		n += (*text & 0xc0) != 0x80;
	}
	return n;
}

static char *cell_at(const struct table *t, unsigned row, unsigned column)
{
	NVW_INVARIANT(row < t->rows && column < t->columns);
	return t->cell[row * t->columns + column];
}

static void fill_head(const struct bench *b, struct table *t)
{
	unsigned c = 0;

	NVW_FOR(i, name_count(b)) {
		snprintf(cell_at(t, 0, c++), CELL_BYTES, "%s", name_of(b, i));
	}
	NVW_EACH(metric, metrics, BENCH_METRIC_COUNT) {
		snprintf(cell_at(t, 0, c++), CELL_BYTES, "%s", metric->head);
	}
	snprintf(cell_at(t, 0, c), CELL_BYTES, "crash states");
	NVW_INVARIANT(c + 1 == t->columns);
}

static void fill_row(const struct bench *b, struct table *t, unsigned of)
{
	NVW_INVARIANT(of < b->row_count);

	const struct bench_row *const row = &b->row[of];
	unsigned c = 0;

	NVW_FOR(i, name_count(b)) {
		snprintf(cell_at(t, of + 1, c++), CELL_BYTES, "%s", value_of(b, row, i));
	}
	NVW_FOR(i, BENCH_METRIC_COUNT) {
		print_cell(row, i, cell_at(t, of + 1, c++));
	}
	snprintf(cell_at(t, of + 1, c), CELL_BYTES, "%s", checked_text(b, row));
	NVW_INVARIANT(c + 1 == t->columns);
}

static void measure(struct table *t)
{
	NVW_FOR(r, t->rows) {
		NVW_FOR(c, t->columns) {
			t->wide[c] = (unsigned)nvw_max(t->wide[c], letters(cell_at(t, r, c)));
		}
	}
}

/* Names to the left, numbers to the right. */
static void print_table(const struct table *t, unsigned names, FILE *to)
{
	NVW_INVARIANT(names < t->columns);
	NVW_FOR(r, t->rows) {
		NVW_FOR(c, t->columns) {
			const char *const cell = cell_at(t, r, c);
			const int pad = (int)(t->wide[c] - letters(cell));

			if (c + 1 == t->columns) {
				fprintf(to, "  %s\n", cell);
			} else if (c < names) {
				fprintf(to, "%s%s%*s", words_if(c > 0, "  "), cell, pad, "");
			} else {
				fprintf(to, "  %*s%s", pad, "", cell);
			}
		}
	}
}

/* "kv a scope=kernel" */
static void print_row_name(const struct bench *b, const struct bench_row *row, FILE *to)
{
	fprintf(to, "%s %s", b->of[row->of].name, b->of[row->of].mix);
	NVW_FOR(i, b->axis_count) {
		fprintf(to, " %s=%s", bench_axis_name(b, i), bench_axis_value(b, row, i));
	}
}

static void print_reasons(const struct bench *b, FILE *to)
{
	NVW_EACH(row, b->row, b->row_count) {
		if (row->reason) {
			print_row_name(b, row, to);
			fprintf(to, ": %s: %s\n", checked_text(b, row), row->reason);
		}
	}
}

static const char *times_of(const struct bench *b)
{
	if (b->runs.count == 0) {
		return "real time";
	}
	return b->has_host ? "simulated and real time" : "simulated time";
}

static void print_legend(const struct bench *b, FILE *to)
{
	fprintf(to, "%s; %s records, %s operations, %u seed%s", times_of(b), GROUPED(b->records),
		GROUPED(b->operations), b->seeds, plural(b->seeds));
	fputs(b->seeds >= CONFIDENCE_SAMPLES ? ": means, ± 95 % confidence\n" : "\n", to);
	if (b->runs.count > 0) {
		fputs(b->states == 0 ?
				"unchecked: no row was crash-tested\n" :
				"crash states: those that the timing of one run, with seed 1, could leave\n",
			to);
	}
	if (b->has_host) {
		fputs("real: a host program on this computer, under the NVRAM's delays, which no simulated "
		      "time compares with;\n"
		      "its lines/op are flushed, its barriers/op are drains, and it is not crash-tested "
		      "here\n",
			to);
	}
}

void bench_print(const struct bench *b, FILE *to)
{
	struct table t = {.columns = name_count(b) + BENCH_METRIC_COUNT + 1, .rows = b->row_count + 1};

	NVW_INVARIANT(t.columns <= COLUMNS_MAX);
	t.cell = calloc((size_t)t.columns * t.rows, sizeof *t.cell);
	if (!t.cell) {
		return;
	}
	fill_head(b, &t);
	NVW_FOR(i, b->row_count) {
		fill_row(b, &t, i);
	}
	measure(&t);
	print_table(&t, name_count(b), to);
	free(t.cell);
	print_legend(b, to);
	print_reasons(b, to);
}

/* ---- CSV ----------------------------------------------------------------------------------- */

/* As in the tables of sweeps: what is not "ok" is left out of figures. */
static const char *csv_status(const struct bench_row *row)
{
	static const char *const names[] = {[BENCH_OK] = "ok",
		[BENCH_UNCHECKED] = "ok",
		[BENCH_REFUSED] = "refused",
		[BENCH_FAILED] = "error",
		[BENCH_LOSES] = "wrong"};

	return names[row->status];
}

/* A row that is refused has one line. */
static unsigned seeds_of(const struct bench *b, const struct bench_row *row)
{
	if (row->status == BENCH_REFUSED) {
		return 1;
	}
	return b->seeds;
}

/* A point is a row's seed. */
static void plan_axes(const struct bench *b, struct table_plan *plan)
{
	NVW_INVARIANT(plan->axes == 0 && name_count(b) < TABLE_AXES_MAX);
	NVW_FOR(i, name_count(b)) {
		plan->axis[plan->axes++] = name_of(b, i);
	}
	plan->axis[plan->axes++] = "seed";
}

static int plan_row(const struct bench *b, const struct bench_row *row, struct table_plan *plan)
{
	const char *values[TABLE_AXES_MAX];
	char seed[16];

	NVW_INVARIANT(name_count(b) < TABLE_AXES_MAX);
	NVW_FOR(i, name_count(b)) {
		values[i] = value_of(b, row, i);
	}
	values[name_count(b)] = seed;
	NVW_FOR(i, seeds_of(b, row)) {
		NVW_PRINT(seed, "%u", i + 1);
		NVW_TRY(table_plan_add(plan, values));
	}
	return 0;
}

static int plan_rows(const struct bench *b, struct table_plan *plan)
{
	plan_axes(b, plan);
	NVW_EACH(row, b->row, b->row_count) {
		NVW_TRY(plan_row(b, row, plan));
	}
	return 0;
}

int bench_check_former(const struct bench *b, const char *path)
{
	struct table_plan plan = {.kind = "benchmark"};
	const int error = NVW_OR(plan_rows(b, &plan), former_check(&plan, path));

	table_plan_end(&plan);
	return error;
}

static void print_csv_head(const struct bench *b, FILE *to)
{
	NVW_FOR(i, name_count(b)) {
		sweep_csv_field(name_of(b, i), to);
		fputc(',', to);
	}
	fputs("seed,status,reason,crash_states", to);
	NVW_EACH(metric, metrics, BENCH_METRIC_COUNT) {
		fprintf(to, ",%s", metric->column);
	}
	fputs(",nvwave\n", to);
}

/* Returns the revision of the build that measured it, perhaps earlier. */
static const char *revision_of(const struct bench *b, const struct bench_row *row, unsigned seed)
{
	if (row->status == BENCH_REFUSED) {
		return "";
	}
	if (is_host(b, row)) {
		return cli_version;
	}
	return member_text(json_object_get(b->runs.point[row->first + seed].row, "values"), "nvwave");
}

static void print_csv_row(const struct bench *b, const struct bench_row *row, unsigned seed, FILE *to)
{
	NVW_INVARIANT(seed < b->seeds);
	NVW_FOR(i, name_count(b)) {
		sweep_csv_field(value_of(b, row, i), to);
		fputc(',', to);
	}
	fprintf(to, "%u,%s,", seed + 1, csv_status(row));
	sweep_csv_field(words_or(row->reason, ""), to);
	fprintf(to, ",%s", checked_text(b, row));
	NVW_FOR(i, BENCH_METRIC_COUNT) {
		const double x = row->of_seed ? row->of_seed[seed][i] : NAN;

		fprintf(to, isnan(x) ? "," : ",%.15g", x);
	}
	fprintf(to, ",%s\n", revision_of(b, row, seed));
}

static void print_csv(const struct bench *b, FILE *to)
{
	print_csv_head(b, to);
	NVW_EACH(row, b->row, b->row_count) {
		NVW_FOR(seed, seeds_of(b, row)) {
			print_csv_row(b, row, seed, to);
		}
	}
}

int bench_write_csv(const struct bench *b, const char *path)
{
	struct nvw_new_file f;

	NVW_TRY(nvw_new_file_begin(path, false, &f));
	print_csv(b, f.file);
	return nvw_new_file_end(&f, 0);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *number_json(const struct bench_number *n)
{
	if (n->count == 0) {
		return json_null();
	}
	json_t *const o = json_pack("{s:f, s:f, s:f, s:i}", "mean", n->mean, "least", n->least, "most",
		n->most, "seeds", (int)n->count);

	if (!isnan(n->half)) {
		member_set_real(o, "confidence_95", n->half);
	}
	return o;
}

static json_t *row_json(const struct bench *b, const struct bench_row *row)
{
	json_t *const o = json_object();

	NVW_FOR(i, name_count(b)) {
		member_set_text(o, name_of(b, i), value_of(b, row, i));
	}
	member_set_text(o, "status", csv_status(row));
	member_set_text(o, "reason", words_or(row->reason, ""));
	member_set_text(o, "crash_states", checked_text(b, row));
	NVW_FOR(i, BENCH_METRIC_COUNT) {
		json_object_set_new(o, metrics[i].column, number_json(&row->number[i]));
	}
	return o;
}

json_t *bench_json(const struct bench *b)
{
	json_t *const rows = JSON_LIST(row, b->row, b->row_count, row_json(b, row));

	return json_pack("{s:I, s:I, s:i, s:b, s:o}", "records", (json_int_t)b->records, "operations",
		(json_int_t)b->operations, "seeds", (int)b->seeds, "checked", b->states != 0, "rows", rows);
}
