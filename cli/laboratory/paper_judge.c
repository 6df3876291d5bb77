/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a row agree with the paper? A reproduction is judged by shape first, then by size:
 *
 *	sign   as far from "no change" on the same side
 *	order  above and below the same rows of its figure as in the paper
 *	size   within half of the published number: of the nearer end of an interval. Where that is 0, half of the
 *	       other end; where both are, 5 (percentage points)
 *
 * All are judged of the mean over the seeds. Rows without a sign (counts, shares) have order and size. Order is judged
 * if all rows of the figure are there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/input.h>

#include "core/newfile.h"
#include "paper.h"

enum { NAME_BYTES = 160, LINE_FIELDS = 7, JUDGEMENTS_BYTES_MAX = 1 << 20 };
static const double equal_points = 5;
static const char heading[] = "id\tpart\tjudgement\tmean\tleast\tmost\tinputs\n";

static const char *const verdict_names[] = {
	"cannot be judged", "disagrees", "agrees in sign", "agrees in order", "agrees within half its size"};

const char *paper_verdict_text(enum paper_verdict v)
{
	return verdict_names[v];
}

/* ---- Sign, size, order --------------------------------------------------------------------- */

static double neutral(enum paper_form form)
{
	return form == PAPER_RATIO || form == PAPER_FASTER ? 1 : 0;
}

/* 1, -1, or 0 if the interval includes "no change" or the form has no sign. */
static int sign_of(const struct paper_row *row)
{
	const double zero = neutral(row->measure.form);

	return row->measure.form == PAPER_VALUE                         ? 0 :
	       row->published.low >= zero && row->published.high > zero ? 1 :
	       row->published.high <= zero && row->published.low < zero ? -1 :
									  0;
}

static bool has_sign(const struct paper_row *row, int sign)
{
	return (row->here.mean - neutral(row->measure.form)) * sign > 0;
}

static bool is_within_half(const struct paper_row *row)
{
	const struct paper_interval *const p = &row->published;
	const double x = row->here.mean, near = x < p->low ? p->low : p->high;
	const double other = x < p->low ? p->high : p->low;
	const double size = near != 0 ? fabs(near) : isfinite(other) ? fabs(other) : 0;

	return (x >= p->low && x <= p->high) || fabs(x - near) <= (size > 0 ? size / 2 : equal_points);
}

static bool is_below(const struct paper_interval *a, const struct paper_interval *b)
{
	return a->high < b->low;
}

static bool is_judged(const struct paper_row *row)
{
	return row->wanted && row->measured && row->here.count > 0;
}

/* Rows that the paper draws together. */
static bool are_in_one_figure(const struct paper_row *a, const struct paper_row *b)
{
	const char *const x = paper_text(a->keys, "figure"), *const y = paper_text(b->keys, "figure");

	return x && y && a != b && !strcmp(x, y) && !strcmp(a->paper, b->paper);
}

/* Whether every row of its figure has been measured: if not, its order is not judged. */
static bool has_whole_figure(const struct papers *p, const struct paper_row *row)
{
	for (unsigned i = 0; i < p->row_count; i++) {
		if (are_in_one_figure(row, &p->row[i]) && !is_judged(&p->row[i])) {
			return false;
		}
	}
	return true;
}

/* The first row of its figure that it is on the wrong side of; any: whether there is one to compare with. */
static const struct paper_row *out_of_order(
	const struct papers *p, const struct paper_row *row, bool *ret_any)
{
	*ret_any = false;
	for (unsigned i = 0; has_whole_figure(p, row) && i < p->row_count; i++) {
		const struct paper_row *const other = &p->row[i];
		const bool below = is_below(&row->published, &other->published);

		if (!are_in_one_figure(row, other) ||
			(!below && !is_below(&other->published, &row->published))) {
			continue;
		}
		*ret_any = true;
		if (below ? row->here.mean >= other->here.mean : row->here.mean <= other->here.mean) {
			return other;
		}
	}
	return NULL;
}

static bool straddles(const struct paper_row *row)
{
	const double zero = neutral(row->measure.form);

	return (row->here.least - zero) * (row->here.most - zero) <= 0;
}

static void judge(const struct papers *p, struct paper_row *row)
{
	const int sign = sign_of(row);
	const bool mixed = sign != 0 && straddles(row);
	bool any;
	const struct paper_row *const other = out_of_order(p, row, &any);
	char name[NAME_BYTES] = "";

	row->verdict = sign != 0 && !has_sign(row, sign) ? PAPER_DISAGREES :
		       is_within_half(row)               ? PAPER_SIZE :
		       any && !other                     ? PAPER_ORDER :
		       sign != 0                         ? PAPER_SIGN :
		       has_whole_figure(p, row)          ? PAPER_DISAGREES :
							   PAPER_UNJUDGED;
	if (other) {
		paper_row_name(other, name, sizeof name);
	}
	if (row->verdict == PAPER_UNJUDGED) {
		snprintf(row->judgement, sizeof row->judgement,
			"not within half of the size; its order needs the other rows of its figure");
		return;
	}
	snprintf(row->judgement, sizeof row->judgement, "%s%s%s%s", other ? "not in order with " : "", name,
		other && mixed ? "; " : "", mixed ? "seeds differ in sign" : "");
}

void papers_judge(struct papers *p)
{
	for (unsigned i = 0; i < p->row_count; i++) {
		struct paper_row *const row = &p->row[i];

		if (row->wanted && row->measured) {
			paper_measure(&row->measure, -1, 0, -1, 0, &row->here);
		}
	}
	for (unsigned i = 0; i < p->row_count; i++) {
		struct paper_row *const row = &p->row[i];

		row->verdict = PAPER_UNJUDGED;
		if (is_judged(row)) {
			judge(p, row);
		} else if (row->wanted && row->measured) {
			snprintf(row->judgement, sizeof row->judgement, "%s", row->here.reason);
		}
	}
}

/* ---- Kept judgements ----------------------------------------------------------------------- */

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
	return !any ? "-" : from_files ? "files" : "generated";
}

bool paper_is_lost(const struct paper_row *row)
{
	const bool is_known =
		row->verdict != PAPER_UNJUDGED || row->here.count == 0 || row->kept == PAPER_SIZE;

	return row->is_kept && row->kept >= PAPER_SIGN && row->verdict < PAPER_SIGN && is_known;
}

static void take_line(struct papers *p, char *const field[LINE_FIELDS])
{
	for (unsigned i = 0; i < p->row_count; i++) {
		struct paper_row *const row = &p->row[i];
		unsigned v = 0;

		if (strcmp(row->id, field[0]) != 0 || strcmp(row->part, field[1]) != 0) {
			continue;
		}
		while (v < PAPER_SIZE && strcmp(verdict_names[v], field[2]) != 0) {
			v++;
		}
		row->kept = (enum paper_verdict)v;
		row->is_kept = !row->measured || !strcmp(inputs_of(row), field[6]);
		free(row->kept_line);
		if (asprintf(&row->kept_line, "%s\t%s\t%s\t%s", field[3], field[4], field[5], field[6]) < 0) {
			row->kept_line = NULL;
		}
	}
}

int papers_read_kept(struct papers *p)
{
	char *path = NULL, *text = NULL, *rest, *line;
	uint64_t bytes;
	int r = asprintf(&path, "%s/judgements.tsv", p->folder) < 0 ?
			nvw_fail(NVW_E_MEMORY, "no memory for a file name") :
			0;

	if (r == 0 && access(path, F_OK) == 0) {
		r = nvw_input_read(path, JUDGEMENTS_BYTES_MAX, &text, &bytes);
	}
	rest = text;
	for (unsigned at = 1; r == 0 && (line = strsep(&rest, "\n")); at++) {
		char *field[LINE_FIELDS], *next = line;
		unsigned n = 0;

		while (next && n < LINE_FIELDS) {
			field[n++] = strsep(&next, "\t");
		}
		if (*line && (n < LINE_FIELDS || next)) {
			r = nvw_fail(NVW_E_INPUT, "%s: line %u has %s than %d fields", path, at,
				next ? "more" : "fewer", LINE_FIELDS);
		} else if (*line && at > 1) {
			take_line(p, field);
		}
	}
	free(text);
	free(path);
	return r;
}

int papers_keep(const struct papers *p)
{
	struct nvw_new_file f;
	char *path = NULL;
	int r = asprintf(&path, "%s/judgements.tsv", p->folder) < 0 ?
			nvw_fail(NVW_E_MEMORY, "no memory for a file name") :
			nvw_new_file_begin(path, false, &f);

	free(path);
	if (r < 0) {
		return r;
	}
	fputs(heading, f.file);
	for (unsigned i = 0; i < p->row_count; i++) {
		const struct paper_row *const row = &p->row[i];

		if (is_judged(row)) {
			fprintf(f.file, "%s\t%s\t%s\t%.5g\t%.5g\t%.5g\t%s\n", row->id, row->part,
				verdict_names[row->verdict], row->here.mean, row->here.least, row->here.most,
				inputs_of(row));
		} else if (row->kept_line) {
			fprintf(f.file, "%s\t%s\t%s\t%s\n", row->id, row->part, verdict_names[row->kept],
				row->kept_line);
		}
	}
	return nvw_new_file_end(&f, 0);
}
