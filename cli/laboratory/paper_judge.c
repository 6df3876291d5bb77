/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a row agree with the paper? The first rule of the table that applies decides; if none does, the row
 * agrees: its sign and size are the paper's, every row of its mean has the mean's sign or is named, and the
 * sign survives every free value that is known to matter (paper_ends.c).
 *
 * Size is within a third of the published number: of the nearer end of an interval. Where that is 0, a third
 * of the other end; where both are, 5 percentage points. Shares are within 10 points.
 */
#include <math.h>
#include <string.h>

#include "core/bounds.h"
#include "core/print.h"
#include "paper.h"

const char paper_usual_reason[] = "not within a third";

static const double equal_points = 5, share_points = 10, no_change = 0.005;

static const char *const verdict_names[PAPER_VERDICTS] = {[PAPER_UNJUDGED] = "cannot be judged",
	[PAPER_INCOMPARABLE] = "not comparable",
	[PAPER_DISAGREES] = "disagrees",
	[PAPER_LUCK] = "agrees by luck",
	[PAPER_AGREES] = "agrees"};

const char *paper_verdict_text(enum paper_verdict v)
{
	NVW_INVARIANT(v < NVW_COUNT(verdict_names));
	return verdict_names[v];
}

enum paper_verdict paper_verdict_named(const char *text)
{
	unsigned v = PAPER_AGREES;

	while (v > PAPER_UNJUDGED && strcmp(verdict_names[v], text) != 0) {
		v--;
	}
	return (enum paper_verdict)v;
}

/* ---- Sign and size ------------------------------------------------------------------------- */

static bool is_ratio(enum paper_form form)
{
	return form == PAPER_RATIO || form == PAPER_FASTER;
}

static double neutral(const struct paper_row *row)
{
	return is_ratio(row->measure.form) ? 1 : 0;
}

/* 1, -1, or 0 if the interval includes "no change" or the form has no sign. An interval without an end (a
 * trend) begins beyond "no change". */
static int sign_of(const struct paper_row *row)
{
	const double zero = neutral(row), low = row->published.low, high = row->published.high;

	if (row->measure.form == PAPER_VALUE) {
		return 0;
	}
	if (low > zero || (low == zero && isinf(high))) {
		return 1;
	}
	return high < zero || (high == zero && isinf(low)) ? -1 : 0;
}

static bool is_on_side(const struct paper_row *row, double x)
{
	const int sign = sign_of(row);

	return sign == 0 || (x - neutral(row)) * sign > 0;
}

static bool is_share(const struct paper_row *row)
{
	const char *const unit = paper_text(row->keys, "unit");

	return row->measure.form == PAPER_VALUE && unit && !strcmp(unit, "percent");
}

/* How far from the published number a row may be. */
static double allowance(const struct paper_row *row, double near, double other)
{
	if (is_share(row)) {
		return share_points;
	}
	if (near != 0) {
		return fabs(near) / 3;
	}
	return other != 0 && isfinite(other) ? fabs(other) / 3 : equal_points;
}

static bool is_near(const struct paper_row *row)
{
	const double low = row->published.low, high = row->published.high, x = row->here.mean;

	if (x < low) {
		return low - x <= allowance(row, low, high);
	}
	return x <= high || fabs(x - high) <= allowance(row, high, low);
}

/* ---- The rules ----------------------------------------------------------------------------- */

static bool is_unmeasured(struct paper_row *row)
{
	const char *const cannot = paper_text(row->keys, "cannot");

	NVW_PRINT(row->judgement, "%s", NVW_OR(cannot, row->here.reason));
	return row->here.count == 0;
}

static bool is_text(struct paper_row *row, const char *key)
{
	const char *const text = paper_text(row->keys, key);

	NVW_PRINT(row->judgement, "%s", NVW_OR(text, ""));
	return text != NULL;
}

static bool is_incomparable(struct paper_row *row)
{
	return is_text(row, "incomparable");
}

static bool has_other_sign(struct paper_row *row)
{
	NVW_PRINT(row->judgement, "other sign");
	return !is_on_side(row, row->here.mean);
}

static bool has_other_size(struct paper_row *row)
{
	NVW_PRINT(row->judgement, "%s", is_share(row) ? "not within 10 points" : paper_usual_reason);
	return !is_near(row);
}

static bool is_known_luck(struct paper_row *row)
{
	return is_text(row, "luck");
}

static bool has_mixed_seeds(struct paper_row *row)
{
	NVW_PRINT(row->judgement, "seeds differ in sign");
	return !is_on_side(row, row->here.least) || !is_on_side(row, row->here.most);
}

/* Points of the mean on its other side that the paper does not name. */
static bool has_opposite_rows(struct paper_row *row)
{
	const char *const named = paper_text(row->keys, "opposite");
	char others[PAPER_REASON_BYTES];

	if (sign_of(row) == 0 || !paper_opposites(&row->measure, no_change, named, others, sizeof others)) {
		return false;
	}
	/* As many of them as there is room for. */
	NVW_PRINT(row->judgement, "rows of the mean have the other sign: %.473s", others);
	return true;
}

static bool turns(const struct paper_row *row, const struct paper_end *e)
{
	return e->is_known && (!is_on_side(row, e->value[0]) || !is_on_side(row, e->value[1]));
}

static bool turns_by_free_value(struct paper_row *row)
{
	NVW_EACH(e, row->end, row->ends) {
		if (turns(row, e)) {
			NVW_PRINT(row->judgement, "the sign is decided by %s", e->of->name);
			return true;
		}
	}
	return false;
}

static const struct rule {
	bool (*applies)(struct paper_row *row);
	enum paper_verdict verdict;
} rules[] = {
	{is_unmeasured, PAPER_UNJUDGED},
	{is_incomparable, PAPER_INCOMPARABLE},
	{has_other_sign, PAPER_DISAGREES},
	{has_other_size, PAPER_DISAGREES},
	{is_known_luck, PAPER_LUCK},
	{has_mixed_seeds, PAPER_LUCK},
	{has_opposite_rows, PAPER_LUCK},
	{turns_by_free_value, PAPER_LUCK},
};

static void judge(struct paper_row *row)
{
	NVW_EACH_IN(rule, rules) {
		if (rule->applies(row)) {
			row->verdict = rule->verdict;
			return;
		}
	}
	row->judgement[0] = 0;
	row->verdict = PAPER_AGREES;
}

/* How far runs that are cut short went. */
static void tell_how_far(struct paper_row *row)
{
	const char *const ran = paper_text(row->keys, "ran");

	row->ran[0] = 0;
	if (ran && row->here.count) {
		paper_at_points(&row->measure, ran, row->ran, sizeof row->ran);
	}
}

static void measure_and_judge(struct paper_row *row)
{
	if (row->measured) {
		paper_measure(&row->measure, -1, 0, -1, 0, &row->here);
		tell_how_far(row);
	}
	judge(row);
}

void papers_judge(struct papers *p)
{
	NVW_EACH(row, p->row, p->row_count) {
		if (row->wanted) {
			measure_and_judge(row);
		}
	}
}
