/* SPDX-License-Identifier: BSD-3-Clause */
/* What columns are called in a figure, and their units. See plot.h. */
#include <string.h>

#include "../report/numbers.h"
#include "plot.h"

enum { MEANING_MAX = 90 };

/* A time or an energy in the unit that leaves few digits; other units as they are. */
static const char *scaled_unit(const char *unit, double most, double *ret_scale)
{
	static const struct {
		const char *unit, *larger;
		double scale;
	} scales[] = {{"ps", "s", 1e12}, {"ps", "ms", 1e9}, {"ps", "µs", 1e6}, {"ps", "ns", 1e3},
		{"ns", "s", 1e9}, {"ns", "ms", 1e6}, {"ns", "µs", 1e3}, {"pJ", "mJ", 1e9}, {"pJ", "µJ", 1e6},
		{"pJ", "nJ", 1e3}, {"operations/s", "Mop/s", 1e6}, {"operations/s", "kop/s", 1e3}};

	*ret_scale = 1;
	NVW_EACH_IN(scale, scales) {
		if (!strcmp(unit, scale->unit) && most >= scale->scale) {
			*ret_scale = scale->scale;
			return scale->larger;
		}
	}
	return unit;
}

/* A meaning stands for itself unless it goes on from the statistic before it, or is too long. */
static bool is_label(const char *meaning)
{
	return strlen(meaning) <= MEANING_MAX && strncmp(meaning, "of ", 3) && strncmp(meaning, "by ", 3) &&
	       strncmp(meaning, "because", 7) && !strstr(meaning, "these") && !strstr(meaning, "they");
}

/* Where there is no room for all of it. */
static void shorten_time(char *text, unsigned wide)
{
	static const char of[] = " of the measured part";
	char *const at = strstr(text, of);

	if (at && plot_letters(text) > wide) {
		memmove(at, at + sizeof of - 1, strlen(at + sizeof of - 1) + 1);
	}
}

void plot_label(const char *column, bool is_axis, const char *given, double largest, unsigned wide,
	char text[PLOT_LABEL_BYTES], double *ret_scale)
{
	struct cli_number number = {column, "count", column};
	const char *unit;

	*ret_scale = 1;
	if (!is_axis && cli_number_named(column, &number) && !is_label(number.meaning)) {
		number.meaning = column;
	}
	if (given) {
		number.meaning = given;
	}
	unit = strcmp(number.unit, "count") ? scaled_unit(number.unit, largest, ret_scale) : "";
	/* "stores (lines)" tells more than "stores"; "8-byte words written (words)" does not */
	snprintf(text, PLOT_LABEL_BYTES,
		*unit && (strlen(unit) < 3 || !strstr(number.meaning, unit)) ? "%s (%s)" : "%s",
		number.meaning, unit);
	shorten_time(text, wide);
	plot_wrap(text, wide);
}

static bool begins_letter(char c)
{
	return (c & 0xc0) != 0x80;
}

unsigned plot_letters(const char *text)
{
	unsigned n = 0;

	for (; *text; text++) {
		n += begins_letter(*text);
	}
	return n;
}

unsigned plot_longest(const struct plot_names *names)
{
	unsigned longest = 0;

	NVW_EACH(name, names->name, names->count) {
		const unsigned letters = plot_letters(*name);

		if (letters > longest) {
			longest = letters;
		}
	}
	return longest;
}

void plot_wrap(char *text, unsigned wide)
{
	char *blank = NULL;
	unsigned in_line = 0;

	for (char *c = text; *c; c++) {
		in_line += begins_letter(*c);
		if (*c == '\n') {
			in_line = 0;
			blank = NULL;
		} else if (*c == ' ') {
			blank = c;
		}
		if (in_line > wide && blank) {
			*blank = '\n';
			in_line = (unsigned)(c - blank);
			blank = NULL;
		}
	}
}

/* One word of a name ends here, and the next line may begin behind it. */
static bool may_break(char c)
{
	return c == ' ' || c == '-' || c == '_' || c == '/' || c == ',' || c == '+';
}

unsigned plot_break(const char *name, unsigned wide, char text[PLOT_LABEL_BYTES])
{
	char *to = text, *const end = text + PLOT_LABEL_BYTES - 2, *behind = NULL;
	unsigned lines = 1, in_line = 0, since = 0;

	for (const char *c = name; *c && to < end; c++) {
		*to++ = *c;
		in_line += begins_letter(*c);
		since += begins_letter(*c);
		if (in_line > wide && behind) {
			memmove(behind + 1, behind, (size_t)(to - behind));
			*behind = '\n';
			to++;
			lines++;
			in_line = since;
			behind = NULL;
		}
		if (in_line > wide) {
			return 0;
		}
		if (may_break(*c)) {
			behind = to;
			since = 0;
		}
	}
	*to = 0;
	return lines;
}

void plot_shorten(const char *name, unsigned letters, char text[PLOT_LABEL_BYTES])
{
	const unsigned all = plot_letters(name), head = letters / 2, tail = all - (letters - head - 1);
	unsigned letter = 0;
	char *to = text, *const end = text + PLOT_LABEL_BYTES - 4;

	for (const char *c = name; *c && to < end; c++) {
		letter += begins_letter(*c);
		if (all <= letters || letter <= head || letter > tail) {
			*to++ = *c;
		} else if (letter == head + 1 && begins_letter(*c)) {
			to = stpcpy(to, "…");
		}
	}
	*to = 0;
}
