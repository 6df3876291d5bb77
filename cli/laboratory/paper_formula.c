/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic over statistics: "64 * l1.load_misses + 8 * l1.probes". Names may have dots and dashes, so
 * operators have blanks around them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"

#include "paper.h"

enum { DEPTH_MAX = 16 };

struct formula {
	const char *at;
	const json_t *values;           /* NULL: names are not looked up */
	char missing[PAPER_NAME_BYTES]; /* the first one */
	bool wrong;
	unsigned depth;
};

static double sum(struct formula *f);

static void skip(struct formula *f)
{
	f->at += strspn(f->at, " ");
}

static double name(struct formula *f)
{
	char text[PAPER_NAME_BYTES];
	const size_t n = strspn(f->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	const json_t *value;

	NVW_PRINT(text, "%.*s", (int)n, f->at);
	f->at += n;
	f->wrong = f->wrong || n == 0 || n >= sizeof text;
	value = f->values ? json_object_get(f->values, text) : NULL;
	if (f->values && !json_is_number(value) && !*f->missing) {
		memcpy(f->missing, text, sizeof text);
	}
	return value ? json_number_value(value) : 1;
}

static double factor(struct formula *f)
{
	char *end;
	double x;

	skip(f);
	if (*f->at == '(' && f->depth < DEPTH_MAX) {
		f->at++;
		f->depth++;
		x = sum(f);
		f->depth--;
		skip(f);
		f->wrong = f->wrong || *f->at != ')';
		f->at += *f->at == ')';
		return x;
	}
	if (isdigit((unsigned char)*f->at)) {
		x = strtod(f->at, &end);
		f->at = end;
		return x;
	}
	return name(f);
}

static double product(struct formula *f)
{
	double x = factor(f);

	for (skip(f); (*f->at == '*' || *f->at == '/') && !f->wrong; skip(f)) {
		const char op = *f->at++;
		const double y = factor(f);

		x = op == '*' ? x * y : x / y;
	}
	return x;
}

static double sum(struct formula *f)
{
	double x = product(f);

	for (skip(f); (*f->at == '+' || *f->at == '-') && !f->wrong; skip(f)) {
		const char op = *f->at++;
		const double y = product(f);

		x = op == '+' ? x + y : x - y;
	}
	return x;
}

int paper_formula_check(const char *formula, const char *where)
{
	struct formula f = {.at = formula};

	sum(&f);
	NVW_FAIL_IF(f.wrong || *f.at, NVW_E_INPUT,
		"%s: expected a formula over statistics, such as "
		"\"64 * l1.load_misses + l1.probes\", found \"%s\"",
		where, formula);
	return 0;
}

bool paper_formula(const char *formula, const json_t *values, double *ret, char ret_missing[PAPER_NAME_BYTES])
{
	struct formula f = {.at = formula, .values = values};

	NVW_INVARIANT(*formula != '\0');
	*ret = sum(&f);
	memcpy(ret_missing, f.missing, sizeof f.missing);
	return !*f.missing;
}
