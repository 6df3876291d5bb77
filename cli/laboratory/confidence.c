/* SPDX-License-Identifier: BSD-3-Clause */
/* Confidence intervals of means. See confidence.h. */
#include "confidence.h"

#include <math.h>
#include <stdio.h>

#include "core/each.h"
#include "core/invariant.h"

/* The t of so many degrees of freedom. */
static double confidence_student(unsigned degrees)
{
	static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
		2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
	enum { KNOWN = NVW_COUNT(t) };

	NVW_INVARIANT(degrees > 0);
	return degrees <= KNOWN ? t[degrees - 1] : 1.960 + 2.5 / degrees;
}

struct confidence confidence_of(const double *value, unsigned count)
{
	struct confidence c = {.half = NAN};
	double squares = 0;

	NVW_INVARIANT(count > 0);
	NVW_EACH(one, value, count) {
		c.mean += *one / count;
	}
	NVW_EACH(one, value, count) {
		squares += (*one - c.mean) * (*one - c.mean);
	}
	if (count >= CONFIDENCE_SAMPLES) {
		c.half = confidence_student(count - 1) * sqrt(squares / (count - 1) / count);
	}
	return c;
}

struct confidence confidence_ratio(struct confidence of, struct confidence to)
{
	const double ratio = of.mean / to.mean;

	return (struct confidence){ratio, fabs(ratio) * hypot(of.half / of.mean, to.half / to.mean)};
}

/* As many digits as the interval leaves, two behind the point at least; of tiny numbers the first ones. */
const char *confidence_text(struct confidence c, char text[CONFIDENCE_TEXT])
{
	if (!(c.half > 0)) {
		snprintf(text, CONFIDENCE_TEXT, fabs(c.mean) < 0.1 ? "%.3g" : "%.2f", c.mean);
		return text;
	}
	if (fabs(c.mean) < 0.01) {
		snprintf(text, CONFIDENCE_TEXT, "%.2g ± %.1g", c.mean, c.half);
		return text;
	}
	const int digits = (int)fmax(2, fmin(6, ceil(-log10(c.half))));

	snprintf(text, CONFIDENCE_TEXT, "%.*f ± %.*f", digits, c.mean, digits, c.half);
	return text;
}
