/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is kept in the folder of the papers: the last judgement of each row (judgements.tsv), what rows are at
 * both ends of the values that the papers do not give (ends.tsv), and the tables of the papers' other figures
 * (tables.tsv). The pages can be written from these files alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/input.h>

#include "../report/words.h"
#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/print.h"
#include "../report/provenance.h"
#include "paper.h"

enum {
	JUDGEMENT_FIELDS = 11,
	END_FIELDS = 8,
	CELL_FIELDS = 9,
	FIELDS_MAX = 11,
	KEPT_BYTES_MAX = 1 << 20,
	WITHOUT_ROUNDING = 6 /* digits */
};

/* How a file of what is kept is read: its fields, and what a line of them means. */
struct kept_file {
	const char *name, *heading;
	unsigned fields;
	int (*take)(struct papers *p, char *const field[FIELDS_MAX]);
};

/* From the fields mean, least, most, seeds. */
static struct paper_numbers numbers_of(char *const field[4])
{
	return (struct paper_numbers){.count = (unsigned)strtoul(field[3], NULL, 10),
		.mean = strtod(field[0], NULL),
		.least = strtod(field[1], NULL),
		.most = strtod(field[2], NULL)};
}

static void write_numbers(const struct paper_numbers *n, FILE *to)
{
	fprintf(to, "\t%.*g\t%.*g\t%.*g\t%u", WITHOUT_ROUNDING, n->mean, WITHOUT_ROUNDING, n->least,
		WITHOUT_ROUNDING, n->most, n->count);
}

/* ---- Judgements ---------------------------------------------------------------------------- */

/* Which inputs a row's points have: a judgement of others says nothing about this one. */
static const char *inputs_of(const struct paper_row *row)
{
	const struct sweep *const s = row->measured ? &row->measure.of->sweep : NULL;
	bool any = false, from_files = false;

	for (unsigned i = 0; s && i < s->bundle_count; i++) {
		NVW_FOR(k, s->bundle[i].count) {
			const char *const text = s->bundle[i].text[k], *const bar = strchr(text, '|');
			char *const taken = strncmp(text, "data:", 5) || !bar ? NULL : sweep_resolve(s, text);

			any = any || taken;
			from_files = from_files || (taken && strcmp(taken, bar + 1) != 0);
			free(taken);
		}
	}
	if (!any) {
		return "-";
	}
	return from_files ? "files" : "generated";
}

bool paper_is_lost(const struct paper_row *row)
{
	return row->is_kept && row->kept.verdict == PAPER_AGREES && row->verdict < PAPER_AGREES;
}

bool paper_has_moved(const struct paper_row *row)
{
	const bool is_points = row->measure.form == PAPER_PERCENT || row->measure.form == PAPER_SPEEDUP;
	const struct paper_numbers *const was = &row->kept.here;
	const double least = is_points ? 1 : fabs(was->mean) / 50;
	const double room = fmax(was->most - was->least, least);

	return row->is_kept && row->here.count > 0 && was->count > 0 &&
	       (row->here.mean < was->least - room || row->here.mean > was->most + room);
}

static struct paper_row *row_of(struct papers *p, const char *id, const char *part)
{
	return NVW_FIND(row, p->row, p->row_count, !strcmp(row->id, id) && !strcmp(row->part, part));
}

static int take_judgement(struct papers *p, char *const field[FIELDS_MAX])
{
	struct paper_row *const row = row_of(p, field[0], field[1]);

	if (!row || row->kept.inputs) {
		return 0;
	}
	row->kept = (struct paper_judgement){.verdict = paper_verdict_named(field[2]),
		.here = numbers_of(&field[3]),
		.inputs = field[7],
		.version = field[8],
		.remark = field[9],
		.ran = field[10]};
	row->is_kept = !row->measured || !strcmp(inputs_of(row), field[7]);
	return 0;
}

static void write_judgement(const struct paper_row *row, const struct paper_judgement *j, FILE *to)
{
	fprintf(to, "%s\t%s\t%s", row->id, row->part, paper_verdict_text(j->verdict));
	write_numbers(&j->here, to);
	fprintf(to, "\t%s\t%s\t%s\t%s\n", j->inputs, j->version, j->remark, j->ran);
}

static void write_judgements(const struct papers *p, FILE *to)
{
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted && row->measured && row->here.count > 0) {
			const struct paper_judgement now = {row->verdict, row->here, inputs_of(row),
				cli_version, row->judgement, row->ran};

			write_judgement(row, &now, to);
		} else if (row->kept.inputs) {
			write_judgement(row, &row->kept, to);
		}
	}
}

static const char *unjudged_text(const struct paper_row *row)
{
	return words_or(paper_text(row->keys, "cannot"), "no judgement is kept");
}

static void show_kept(struct paper_row *row)
{
	const struct paper_judgement *const kept = &row->kept;

	row->here = kept->here;
	row->verdict = kept->verdict; /* nothing is kept: PAPER_UNJUDGED */
	NVW_PRINT(row->judgement, "%s", kept->inputs ? kept->remark : unjudged_text(row));
	NVW_PRINT(row->ran, "%s", NVW_OR(kept->ran, ""));
}

void papers_show_kept(struct papers *p)
{
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted) {
			show_kept(row);
		}
	}
}

/* ---- Ends ---------------------------------------------------------------------------------- */

/* Takes the values that are still those of the paper's list. */
static int take_end(struct papers *p, char *const field[FIELDS_MAX])
{
	struct paper_row *const row = row_of(p, field[0], field[1]);

	for (unsigned i = 0; row && i < row->ends; i++) {
		struct paper_end *const e = &row->end[i];

		if (!strcmp(e->of->name, field[2]) && !strcmp(paper_text(e->of->keys, "low"), field[3]) &&
			!strcmp(paper_text(e->of->keys, "high"), field[4])) {
			e->value[0] = strtod(field[5], NULL);
			e->value[1] = strtod(field[6], NULL);
			e->is_known = true;
			NVW_PRINT(e->version, "%s", field[7]);
		}
	}
	return 0;
}

static void write_ends(const struct papers *p, FILE *to)
{
	NVW_EACH(row, p->row, p->row_count) {
		NVW_EACH(e, row->end, row->ends) {
			if (e->is_known) {
				fprintf(to, "%s\t%s\t%s\t%s\t%s\t%.5g\t%.5g\t%s\n", row->id, row->part,
					e->of->name, paper_text(e->of->keys, "low"),
					paper_text(e->of->keys, "high"), e->value[0], e->value[1],
					e->version);
			}
		}
	}
}

/* ---- Tables -------------------------------------------------------------------------------- */

static struct paper_table *table_of(struct papers *p, const char *paper, const char *name)
{
	return NVW_FIND(table, p->table, p->table_count,
		!strcmp(table->section.paper, paper) && !strcmp(table->section.name, name));
}

static int take_cell(struct papers *p, char *const field[FIELDS_MAX])
{
	struct paper_table *const t = table_of(p, field[0], field[1]);

	if (!t) {
		return 0;
	}
	NVW_GROWN(
		t->kept, t->kept_room, t->kept_count + 1, "no memory for what is kept of published results");
	t->kept[t->kept_count++] = (struct paper_cell){
		.row = field[2], .column = field[3], .here = numbers_of(&field[4]), .version = field[8]};
	return 0;
}

static const char *row_name(const struct paper_table *t, int row)
{
	NVW_INVARIANT(row < (int)t->measure.of->sweep.axis[t->rows].count);
	return row < 0 ? "mean" : t->measure.of->sweep.axis[t->rows].value[row];
}

static const char *column_name(const struct paper_table *t, unsigned column)
{
	NVW_INVARIANT(t->columns < 0 || column < t->measure.of->sweep.axis[t->columns].count);
	return t->columns < 0 ? "" : t->measure.of->sweep.axis[t->columns].value[column];
}

bool paper_table_has(const struct paper_table *t, int axis, unsigned choice)
{
	const struct sweep *const s = &t->measure.of->sweep;

	NVW_INVARIANT(axis >= -1 && axis < (int)s->axis_count);
	return NVW_ANY(point, s->point, s->count,
		(axis < 0 || point->choice[axis] == choice) && sweep_holds(s, &t->measure.points, point));
}

void paper_table_number(const struct papers *p, const struct paper_table *t, int row, unsigned column,
	struct paper_numbers *ret)
{
	if (p->run != PAPER_RUN_NOTHING) {
		paper_measure(&t->measure, row < 0 ? -1 : t->rows, (unsigned)row, t->columns, column, ret);
		return;
	}
	*ret = (struct paper_numbers){0};
	NVW_EACH(kept, t->kept, t->kept_count) {
		if (!strcmp(kept->row, row_name(t, row)) && !strcmp(kept->column, column_name(t, column))) {
			*ret = kept->here;
		}
	}
}

static void write_cell(const struct paper_table *t, const char *row, const char *column,
	const struct paper_numbers *n, const char *version, FILE *to)
{
	fprintf(to, "%s\t%s\t%s\t%s", t->section.paper, t->section.name, row, column);
	write_numbers(n, to);
	fprintf(to, "\t%s\n", version);
}

static void write_row(const struct papers *p, const struct paper_table *t, int row, FILE *to)
{
	const unsigned columns = t->columns < 0 ? 1 : t->measure.of->sweep.axis[t->columns].count;

	NVW_FOR(k, columns) {
		struct paper_numbers n;

		if (!paper_table_has(t, t->columns, k)) {
			continue;
		}
		paper_table_number(p, t, row, k, &n);
		if (n.count > 0) {
			write_cell(t, row_name(t, row), column_name(t, k), &n, cli_version, to);
		}
	}
}

static void write_measured(const struct papers *p, const struct paper_table *t, FILE *to)
{
	NVW_INVARIANT(t->wanted && t->rows >= 0);
	NVW_FOR(i, t->measure.of->sweep.axis[t->rows].count) {
		if (paper_table_has(t, t->rows, i)) {
			write_row(p, t, (int)i, to);
		}
	}
	if (paper_text(t->section.keys, "mean")) {
		write_row(p, t, -1, to);
	}
}

static void write_kept_cells(const struct paper_table *t, FILE *to)
{
	NVW_EACH(cell, t->kept, t->kept_count) {
		write_cell(t, cell->row, cell->column, &cell->here, cell->version, to);
	}
}

static void write_tables(const struct papers *p, FILE *to)
{
	NVW_EACH(table, p->table, p->table_count) {
		if (table->wanted) {
			write_measured(p, table, to);
		} else {
			write_kept_cells(table, to);
		}
	}
}

/* ---- The files ----------------------------------------------------------------------------- */

static const struct kept_file judgements = {"judgements.tsv",
	"id\tpart\tjudgement\tmean\tleast\tmost\tseeds\tinputs\tversion\tremark\tran\n", JUDGEMENT_FIELDS,
	take_judgement};
static const struct kept_file tables = {"tables.tsv",
	"paper\ttable\trow\tcolumn\tmean\tleast\tmost\tseeds\tversion\n", CELL_FIELDS, take_cell};
static const struct kept_file ends = {
	"ends.tsv", "id\tpart\tkey\tlow\thigh\tat_low\tat_high\tversion\n", END_FIELDS, take_end};

static char *path_of(const struct papers *p, const struct kept_file *f)
{
	char *const path = text_made("%s/%s", p->folder, f->name);

	if (!path) {
		(void)nvw_fail(NVW_E_MEMORY, "no memory for a file name");
	}
	return path;
}

static int read_lines(struct papers *p, const struct kept_file *f, const char *path, char *rest)
{
	char *line;

	NVW_INVARIANT(f->fields <= FIELDS_MAX);
	for (unsigned at = 1; (line = strsep(&rest, "\n")); at++) {
		char *field[FIELDS_MAX], *next = line;
		unsigned n = 0;

		while (next && n < f->fields) {
			field[n++] = strsep(&next, "\t");
		}
		NVW_FAIL_IF(*line && (n < f->fields || next), NVW_E_INPUT,
			"%s: line %u has %s than %u fields", path, at, next ? "more" : "fewer", f->fields);
		if (*line && at > 1) {
			NVW_TRY(f->take(p, field));
		}
	}
	return 0;
}

static int read_file(struct papers *p, const struct kept_file *f, const char *path)
{
	char **const text = &p->kept_text[p->kept_texts];
	uint64_t bytes;

	NVW_INVARIANT(p->kept_texts < NVW_COUNT(p->kept_text));
	if (access(path, F_OK)) {
		return 0;
	}
	NVW_TRY(nvw_input_read(path, KEPT_BYTES_MAX, text, &bytes));
	p->kept_texts++;
	return read_lines(p, f, path, *text);
}

static int read_kept(struct papers *p, const struct kept_file *f)
{
	char *const path = path_of(p, f);
	const int r = path ? read_file(p, f, path) : NVW_E_MEMORY;

	free(path);
	return r;
}

int papers_read_kept(struct papers *p)
{
	NVW_TRY(read_kept(p, &judgements));
	NVW_TRY(read_kept(p, &tables));
	return read_kept(p, &ends);
}

static int write_kept(
	const struct papers *p, const struct kept_file *kept, void (*write)(const struct papers *p, FILE *to))
{
	struct nvw_new_file f;
	char *const path = path_of(p, kept);
	const int r = path ? nvw_new_file_begin(path, false, &f) : NVW_E_MEMORY;

	free(path);
	NVW_TRY(r);
	fputs(kept->heading, f.file);
	write(p, f.file);
	return nvw_new_file_end(&f, 0);
}

int papers_keep(const struct papers *p)
{
	if (p->run == PAPER_RUN_ENDS) {
		return write_kept(p, &ends, write_ends);
	}
	NVW_TRY(write_kept(p, &judgements, write_judgements));
	return write_kept(p, &tables, write_tables);
}
