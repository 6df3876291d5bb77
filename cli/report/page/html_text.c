/* SPDX-License-Identifier: BSD-3-Clause */
/* Text in an HTML page. See html_text.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"
#include "html_text.h"
#include "../words.h"

/* NULL: the character stands for itself. */
static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

void html_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		const char *const entity = entity_of(*text);

		if (entity) {
			fputs(entity, to);
		} else {
			fputc(*text, to);
		}
	}
}

/* Of the conversion that begins at a '%'. Returns what is behind it. */
static const char *print_value(FILE *to, const char *at, va_list *values)
{
	const size_t n = strcspn(at, "sux") + 1;
	char conversion[8];

	NVW_INVARIANT(n < sizeof conversion);
	NVW_PRINT(conversion, "%.*s", (int)n, at);
	if (at[n - 1] == 's') {
		html_text(to, va_arg(*values, const char *));
	} else if (at[n - 2] == 'l') {
		fprintf(to, conversion, va_arg(*values, ull)); /* NOLINT */
	} else {
		fprintf(to, conversion, va_arg(*values, unsigned)); /* NOLINT */
	}
	return at + n;
}

void html_print(FILE *to, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	for (const char *at = format; *at;) {
		const size_t n = strcspn(at, "%");

		fwrite(at, 1, n, to);
		at = at[n] ? print_value(to, at + n, &values) : at + n;
	}
	va_end(values);
}

void html_figure(FILE *to, uint64_t n)
{
	for (const char *at = GROUPED(n); *at; at++) {
		if (*at == ',') {
			fputs("&#8239;", to);
		} else {
			fputc(*at, to);
		}
	}
}

void html_time(FILE *to, uint64_t ps)
{
	fputs(nvw_format_rounded_time(ps, 6, (char[NVW_UNIT_TEXT]){0}), to);
}

void html_moment(FILE *to, const struct ct_result *r, int64_t ps)
{
	if (ct_model_has_threads(r->model) || r->kernels) {
		fprintf(to, "operation %lld", (long long)ps / 1000);
		return;
	}
	fputs(words_if(ps < 0, "&minus;"), to);
	html_time(to, (uint64_t)llabs(ps));
}

const char *html_look(enum ct_verdict verdict)
{
	static const char *const looks[] = {[CT_VERDICT_UNDECIDED] = "bad",
		[CT_VERDICT_CONSISTENT] = "good",
		[CT_VERDICT_UNREFUTED] = "sample",
		[CT_VERDICT_INCONSISTENT] = "bad",
		[CT_VERDICT_UNLOGGED] = "bad",
		[CT_VERDICT_ROBUST] = "sample",
		[CT_VERDICT_NOT_ROBUST] = "bad"};

	NVW_INVARIANT(verdict < NVW_COUNT(looks));
	return looks[verdict];
}
