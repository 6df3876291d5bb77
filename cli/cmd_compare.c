/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave compare: what differs between two runs or sweeps. See laboratory/compare.h. */
#include <math.h>
#include <string.h>

#include "commands.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/units.h"
#include "laboratory/compare.h"
#include "report/json_report.h"
#include "report/numbers.h"
#include "report/provenance.h"
#include "report/words.h"
#include "session.h"

enum { VALUE_BYTES = 64, NAME_WIDE = 28, CHANGE_WIDE = 20 };

struct compare_command {
	const char *a, *b; /* files */
	json_t *a_rows, *b_rows;
	struct comparison found;
};

/* ---- Text ---------------------------------------------------------------------------------------- */

static void value_text(double value, const char *unit, unsigned digits, char text[VALUE_BYTES])
{
	char number[NVW_UNIT_TEXT];

	NVW_INVARIANT(digits > 0);
	if (!strcmp(unit, "ps") && value >= 0) {
		snprintf(text, VALUE_BYTES, "%s", nvw_format_rounded_time((uint64_t)value, digits, number));
	} else if (value >= 0 && value < 1e15 && value == floor(value)) {
		snprintf(text, VALUE_BYTES, "%s", nvw_format_grouped((uint64_t)value, number));
	} else {
		snprintf(text, VALUE_BYTES, "%.*g", (int)digits, value);
	}
}

/* Enough digits to tell them apart. */
static void value_texts(const struct compare_row *row, char a[VALUE_BYTES], char b[VALUE_BYTES])
{
	struct cli_number number = {row->name, "count", row->name};
	unsigned digits = 4;

	(void)cli_number_named(row->name, &number);
	do {
		value_text(row->a.mean, number.unit, digits, a);
		value_text(row->b.mean, number.unit, digits, b);
		digits += 2;
	} while (!strcmp(a, b) && digits <= 16);
}

/* How B is to A. */
static void change_text(const struct compare_row *row, char text[VALUE_BYTES])
{
	char ratio[CONFIDENCE_TEXT];

	if (row->a.mean == 0 || row->b.mean / row->a.mean < 0) {
		*text = 0;
	} else if (row->ratio.half > 0 || row->ratio.mean > 2 || row->ratio.mean < 0.5) {
		snprintf(text, VALUE_BYTES, "%s times", confidence_text(row->ratio, ratio));
	} else {
		snprintf(text, VALUE_BYTES, "%+.3g %%", 100 * (row->ratio.mean - 1));
	}
}

static void print_point(const struct compare_row *row, char change[VALUE_BYTES])
{
	if (*row->point) {
		/* the sign ± has two bytes */
		printf("   %-*s %s", CHANGE_WIDE + (strchr(change, '\xc2') != NULL), change, row->point);
	} else if (*change) {
		printf("   %s", change);
	}
}

static void texts_of(const struct compare_row *row, char a[VALUE_BYTES], char b[VALUE_BYTES])
{
	snprintf(a, VALUE_BYTES, "%s", words_or(row->a_text, "-"));
	snprintf(b, VALUE_BYTES, "%s", words_or(row->b_text, "-"));
}

static void print_row(const struct compare_row *row)
{
	char a[VALUE_BYTES], b[VALUE_BYTES], change[VALUE_BYTES] = "";

	NVW_INVARIANT(!row->a_text == !row->b_text);
	if (row->a_text) {
		texts_of(row, a, b);
	} else {
		value_texts(row, a, b);
		change_text(row, change);
	}
	printf("%-*s %16s %16s", NAME_WIDE, row->name, a, b);
	print_point(row, change);
	putchar('\n');
}

static void print_only_in(const char *file, const char *what, const char *name)
{
	printf("only in %s: %s%s\n", file, what, words_or(name, "a run without axes"));
}

static void print_in_one(const struct compare_command *c, json_t *names, const char *what, uint64_t rows)
{
	const uint64_t all = json_object_size(names);
	uint64_t shown = 0;

	JSON_EACH_MEMBER(name, side, names) {
		if (shown++ < rows) {
			print_only_in(strcmp(json_string_value(side), "a") ? c->b : c->a, what, name);
		}
	}
	if (all > rows) {
		printf("and %llu more that only one has\n", (ull)(all - rows));
	}
}

static int print_text(const struct compare_command *c, uint64_t rows)
{
	const struct comparison *const f = &c->found;

	print_in_one(c, f->points_in_one, "the point ", rows);
	if (f->count) {
		printf("%-*s %16s %16s\n", NAME_WIDE, "", "A", "B");
	}
	for (unsigned i = 0; i < f->count && i < rows; i++) {
		print_row(&f->row[i]);
	}
	if (f->count > rows) {
		printf("and %llu less important ones; --rows=%u lists all\n", (ull)(f->count - rows),
			f->count);
	}
	print_in_one(c, f->names_in_one, "", rows);
	printf("%s: A is %s, B is %s\n%u differ",
		f->count || json_object_size(f->points_in_one) ? "DIFFERENT" : "SAME", c->a, c->b, f->count);
	if (f->within_noise) {
		printf(", %u only within the noise of the seeds", f->within_noise);
	}
	printf(", %u numbers are equal\n", f->equal);
	return cli_flush();
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *row_json(const struct compare_row *row)
{
	struct cli_number number = {row->name, "", row->name};

	if (row->a_text) {
		return json_pack("{s:s, s:s, s:s, s:s, s:f}", "point", row->point, "name", row->name, "a",
			row->a_text, "b", row->b_text, "importance", row->importance);
	}
	(void)cli_number_named(row->name, &number);
	return json_pack("{s:s, s:s, s:s, s:f, s:f, s:o, s:o, s:o, s:o, s:f}", "point", row->point, "name",
		row->name, "unit", number.unit, "a", row->a.mean, "b", row->b.mean, "ratio",
		real_or_null(row->ratio.mean), "a_confidence_95", real_or_null(row->a.half),
		"b_confidence_95", real_or_null(row->b.half), "ratio_confidence_95",
		real_or_null(row->ratio.half), "importance", row->importance);
}

static int print_json(const struct compare_command *c, bool same)
{
	json_t *const rows = JSON_LIST(row, c->found.row, c->found.count, row_json(row));

	return cli_print_json(
		json_pack("{s:s, s:s, s:b, s:o, s:i, s:i, s:O, s:O, s:o}", "a", c->a, "b", c->b, "same", same,
			"differences", rows, "within_noise", (int)c->found.within_noise, "equal",
			(int)c->found.equal, "points_in_one", c->found.points_in_one, "names_in_one",
			c->found.names_in_one, "made_by", cli_provenance(NULL, NULL)),
		stdout);
}

/* ---- The command --------------------------------------------------------------------------------- */

static int compare_files(const struct cli_options *o, struct compare_command *c)
{
	NVW_TRY(cli_options_at_most(o, 2));
	NVW_FAIL_IF(o->argument_count < 2, NVW_E_USAGE,
		"compare: expected two files: reports as JSON, or tables of sweeps as CSV or JSON "
		"lines");
	NVW_TRY(cli_options_check_use(o, 0));
	c->a = o->argument[0];
	c->b = o->argument[1];
	NVW_TRY(compare_read(c->a, &c->a_rows));
	NVW_TRY(compare_read(c->b, &c->b_rows));
	NVW_TRY(compare_judge(c->a_rows, c->b_rows, &c->found));
	const bool same = !c->found.count && !json_object_size(c->found.points_in_one);

	NVW_TRY(cli_json(o) ? print_json(c, same) : print_text(c, cli_number(o, CLI_rows)));
	return same ? 0 : NVW_E_INCONSISTENT;
}

static int compare(struct cli_options *o)
{
	struct compare_command c = {0};
	const int r = compare_files(o, &c);

	compare_end(&c.found);
	json_decref(c.a_rows);
	json_decref(c.b_rows);
	return r;
}

const struct cli_command cmd_compare = {.main = cli_run_command,
	.help = "nvwave compare A B [options]\n\n"
		"Compares two runs (reports as JSON) or two sweeps (NAME.csv or NAME.jsonl): every "
		"number and text that\n"
		"differs, the most important first. Exit status 0: same, but for the noise of the "
		"seeds; 1: different;\n"
		"2: a file cannot be read.\n",
	.run = compare};
