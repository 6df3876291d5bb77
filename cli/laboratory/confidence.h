/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How well a mean is known: two-sided confidence intervals of 95 %, by Student's t, of samples that seeds
 * make. Two samples say too little: they have none.
 */
#ifndef CLI_CONFIDENCE_H
#define CLI_CONFIDENCE_H

enum { CONFIDENCE_SAMPLES = 3 }; /* and more have an interval */

struct confidence {
	double mean;
	double half; /* of the interval; NAN: there is none */
};

/* value has count values, one at least. */
struct confidence confidence_of(const double *value, unsigned count);
/* A quotient, whose interval is that of the relative errors, to first order. NAN without one of both. */
struct confidence confidence_ratio(struct confidence of, struct confidence to);

enum { CONFIDENCE_TEXT = 64 };
/* "1.08 ± 0.02", as many digits as the interval leaves; "1.08" without one. */
const char *confidence_text(struct confidence c, char text[CONFIDENCE_TEXT]);

#endif
