/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is kept in the folder of the papers: the last judgement of each row (judgements.tsv), and what rows are at both
 * ends of the values that the papers do not give (ends.tsv).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/input.h>

#include "core/newfile.h"
#include "paper.h"

enum { JUDGEMENT_FIELDS = 7, END_FIELDS = 8, FIELDS_MAX = 8, KEPT_BYTES_MAX = 1 << 20 };

/* How a file of what is kept is read: its fields, and what a line of them means. */
struct kept_file {
	const char *name, *heading;
	unsigned fields;
	void (*take)(struct papers *p, char *const field[FIELDS_MAX]);
};

/* ---- Judgements ---------------------------------------------------------------------------- */

/* Which inputs a row's points have: a judgement of others says nothing about this one. */
static const char *inputs_of(const struct paper_row *row)
{
	const struct sweep *const s = row->measured ? &row->measure.of->sweep : NULL;
	bool any = false, from_files = false;

	for (unsigned i = 0; s && i < s->bundle_count; i++) {
		for (unsigned k = 0; k < s->bundle[i].count; k++) {
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
	return row->is_kept && row->kept == PAPER_AGREES && row->verdict < PAPER_AGREES;
}

bool paper_has_moved(const struct paper_row *row)
{
	const bool is_points = row->measure.form == PAPER_PERCENT || row->measure.form == PAPER_SPEEDUP;
	const struct paper_numbers *const was = &row->kept_here;
	const double least = is_points ? 1 : fabs(was->mean) / 50;
	const double room = fmax(was->most - was->least, least);

	return row->is_kept && row->here.count > 0 && was->count > 0 &&
	       (row->here.mean < was->least - room || row->here.mean > was->most + room);
}

static struct paper_row *row_of(struct papers *p, const char *id, const char *part)
{
	for (unsigned i = 0; i < p->row_count; i++) {
		if (!strcmp(p->row[i].id, id) && !strcmp(p->row[i].part, part)) {
			return &p->row[i];
		}
	}
	return NULL;
}

static void take_judgement(struct papers *p, char *const field[FIELDS_MAX])
{
	struct paper_row *const row = row_of(p, field[0], field[1]);

	if (!row) {
		return;
	}
	row->kept = paper_verdict_named(field[2]);
	row->is_kept = !row->measured || !strcmp(inputs_of(row), field[6]);
	row->kept_here = (struct paper_numbers){.count = 1,
		.mean = strtod(field[3], NULL),
		.least = strtod(field[4], NULL),
		.most = strtod(field[5], NULL)};
	free(row->kept_inputs);
	row->kept_inputs = strdup(field[6]);
}

static void write_judgement(const struct paper_row *row, enum paper_verdict v, const struct paper_numbers *n,
	const char *inputs, FILE *to)
{
	fprintf(to, "%s\t%s\t%s\t%.5g\t%.5g\t%.5g\t%s\n", row->id, row->part, paper_verdict_text(v), n->mean,
		n->least, n->most, inputs);
}

static void write_judgements(const struct papers *p, FILE *to)
{
	for (unsigned i = 0; i < p->row_count; i++) {
		const struct paper_row *const row = &p->row[i];

		if (row->wanted && row->measured && row->here.count > 0) {
			write_judgement(row, row->verdict, &row->here, inputs_of(row), to);
		} else if (row->kept_inputs) {
			write_judgement(row, row->kept, &row->kept_here, row->kept_inputs, to);
		}
	}
}

/* ---- Ends ---------------------------------------------------------------------------------- */

/* Of values that are still those of the paper's list. */
static void take_end(struct papers *p, char *const field[FIELDS_MAX])
{
	struct paper_row *const row = row_of(p, field[0], field[1]);

	for (unsigned i = 0; row && i < row->ends; i++) {
		struct paper_end *const e = &row->end[i];

		if (!strcmp(e->of->key, field[2]) && !strcmp(paper_text(e->of->keys, "low"), field[3]) &&
			!strcmp(paper_text(e->of->keys, "high"), field[4])) {
			e->value[0] = strtod(field[5], NULL);
			e->value[1] = strtod(field[6], NULL);
			e->is_known = true;
			snprintf(e->version, sizeof e->version, "%s", field[7]);
		}
	}
}

static void write_ends(const struct papers *p, FILE *to)
{
	for (unsigned i = 0; i < p->row_count; i++) {
		const struct paper_row *const row = &p->row[i];

		for (unsigned k = 0; k < row->ends; k++) {
			const struct paper_end *const e = &row->end[k];

			if (e->is_known) {
				fprintf(to, "%s\t%s\t%s\t%s\t%s\t%.5g\t%.5g\t%s\n", row->id, row->part,
					e->of->key, paper_text(e->of->keys, "low"),
					paper_text(e->of->keys, "high"), e->value[0], e->value[1],
					e->version);
			}
		}
	}
}

/* ---- Both files ---------------------------------------------------------------------------- */

static const struct kept_file judgements = {"judgements.tsv",
	"id\tpart\tjudgement\tmean\tleast\tmost\tinputs\n", JUDGEMENT_FIELDS, take_judgement};
static const struct kept_file ends = {
	"ends.tsv", "id\tpart\tkey\tlow\thigh\tat_low\tat_high\tversion\n", END_FIELDS, take_end};

static char *path_of(const struct papers *p, const struct kept_file *f)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", p->folder, f->name) < 0) {
		(void)nvw_fail(NVW_E_MEMORY, "no memory for a file name");
		return NULL;
	}
	return path;
}

static int read_lines(struct papers *p, const struct kept_file *f, const char *path, char *rest)
{
	char *line;

	for (unsigned at = 1; (line = strsep(&rest, "\n")); at++) {
		char *field[FIELDS_MAX], *next = line;
		unsigned n = 0;

		while (next && n < f->fields) {
			field[n++] = strsep(&next, "\t");
		}
		if (*line && (n < f->fields || next)) {
			return nvw_fail(NVW_E_INPUT, "%s: line %u has %s than %u fields", path, at,
				next ? "more" : "fewer", f->fields);
		}
		if (*line && at > 1) {
			f->take(p, field);
		}
	}
	return 0;
}

static int read_kept(struct papers *p, const struct kept_file *f)
{
	char *const path = path_of(p, f), *text = NULL;
	uint64_t bytes;
	int r = path ? 0 : NVW_E_MEMORY;

	if (r == 0 && access(path, F_OK) == 0) {
		r = nvw_input_read(path, KEPT_BYTES_MAX, &text, &bytes);
		if (r == 0) {
			r = read_lines(p, f, path, text);
		}
	}
	free(text);
	free(path);
	return r;
}

int papers_read_kept(struct papers *p)
{
	NVW_TRY(read_kept(p, &judgements));
	return read_kept(p, &ends);
}

static int write_kept(
	const struct papers *p, const struct kept_file *kept, void (*write)(const struct papers *p, FILE *to))
{
	struct nvw_new_file f;
	char *const path = path_of(p, kept);
	const int r = path ? nvw_new_file_begin(path, false, &f) : NVW_E_MEMORY;

	free(path);
	if (r < 0) {
		return r;
	}
	fputs(kept->heading, f.file);
	write(p, f.file);
	return nvw_new_file_end(&f, 0);
}

int papers_keep(const struct papers *p)
{
	if (p->run == PAPER_RUN_ENDS) {
		return write_kept(p, &ends, write_ends);
	}
	return write_kept(p, &judgements, write_judgements);
}
