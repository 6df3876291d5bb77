/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with units, both ways. See units.h. */
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/errors.h>

#include "core/each.h"
#include "core/invariant.h"

struct unit {
	const char *name;
	uint64_t scale;
};

/* In descending order of scale: the formatters take the first that divides. */
static const struct unit byte_units[] = {
	{"GiB", UINT64_C(1) << 30},
	{"MiB", 1u << 20},
	{"KiB", 1u << 10},
	{"B", 1},
	{"kB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"K", 1u << 10},
	{"M", 1u << 20},
	{"G", 1u << 30},
	{NULL, 0},
};
static const struct unit time_units[] = {
	{"s", UINT64_C(1000000000000)},
	{"ms", 1000000000},
	{"us", 1000000},
	{"ns", 1000},
	{"ps", 1},
	{NULL, 0},
};
static const struct unit frequency_units[] = {
	{"GHz", 1000000000},
	{"MHz", 1000000},
	{"kHz", 1000},
	{"Hz", 1},
	{NULL, 0},
};
static const struct unit rate_units[] = {
	{"GB/s", 1000000000},
	{"MB/s", 1000000},
	{"kB/s", 1000},
	{"B/s", 1},
	{"GiB/s", UINT64_C(1) << 30},
	{"MiB/s", 1u << 20},
	{"KiB/s", 1u << 10},
	{NULL, 0},
};
static const struct unit energy_units[] = {
	{"uJ", 1000000000},
	{"nJ", 1000000},
	{"pJ", 1000},
	{"fJ", 1},
	{NULL, 0},
};
static const struct unit count_units[] = {
	{"", 1},
	{"k", 1000},
	{"K", 1000},
	{"M", 1000000},
	{"G", 1000000000},
	{NULL, 0},
};

/*
 * Splits text into a number and what follows it. Hexadecimal and whole decimal numbers are exact, *ret_whole
 * is then true; a fraction is kept in *ret_real.
 */
static bool split(const char *text, uint64_t *ret_integer, long double *ret_real, bool *ret_whole,
	const char **ret_rest)
{
	const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (text[0] < '0' || text[0] > '9') {
		return false;
	}
	errno = 0;
	*ret_integer = strtoull(text, &end, hexadecimal ? 16 : 10);
	*ret_whole = errno == 0;
	*ret_real = (long double)*ret_integer;
	if (!hexadecimal && (*end == '.' || errno)) {
		*ret_whole = false;
		errno = 0;
		*ret_real = strtold(text, &end);
	}
	*ret_rest = end;
	return errno == 0;
}

static const char *whole_of(const struct unit *units)
{
	if (units == count_units) {
		return "";
	}
	if (units == byte_units) {
		return " of bytes";
	}
	return " of the smallest unit";
}

/* The number in multiples of the unit's base. expected names examples. */
static int parse_number(const char *text, const struct unit *units, const char *expected, uint64_t *ret)
{
	uint64_t integer;
	long double real;
	bool whole;
	const char *rest;

	NVW_FAIL_IF(!split(text, &integer, &real, &whole, &rest), NVW_E_USAGE,
		"\"%s\" is not a number; expected %s", text, expected);
	for (const struct unit *u = units; u->name; u++) {
		if (strcmp(rest, u->name)) {
			continue;
		}
		real *= (long double)u->scale;
		NVW_FAIL_IF(real > 0x1p63L || (whole && integer > (UINT64_C(1) << 63) / u->scale),
			NVW_E_USAGE, "\"%s\" is too large", text);
		*ret = whole ? integer * u->scale : (uint64_t)roundl(real);
		NVW_FAIL_IF(!whole && fabsl(real - roundl(real)) > 1e-6L * (real + 1), NVW_E_USAGE,
			"\"%s\" is not a whole number%s", text, whole_of(units));
		return 0;
	}
	NVW_FAIL_IF(!*rest, NVW_E_USAGE, "%s has no unit; write %s", text, expected);
	return nvw_fail(NVW_E_USAGE, "\"%s\" has an unknown unit \"%s\"; expected %s", text, rest, expected);
}

int nvw_parse_count(const char *text, uint64_t *ret)
{
	return parse_number(text, count_units, "a number such as 12, 10k, 3M or 0x40", ret);
}

int nvw_parse_bytes(const char *text, uint64_t *ret)
{
	const size_t digits = strspn(text, "0123456789");
	char expected[64] = "a size such as 64B, 16KiB or 1MiB";

	if (digits && !text[digits]) {
		snprintf(expected, sizeof expected, "%.16sB or %.16sKiB", text, text);
	}
	return parse_number(text, byte_units, expected, ret);
}

int nvw_parse_frequency(const char *text, uint64_t *ret)
{
	return parse_number(text, frequency_units, "a frequency such as 800MHz or 1GHz", ret);
}

int nvw_parse_rate(const char *text, uint64_t *ret)
{
	return parse_number(text, rate_units, "a rate such as 12.8GB/s", ret);
}

int nvw_parse_energy(const char *text, uint64_t *ret)
{
	return parse_number(text, energy_units, "an energy such as 1265pJ or 16nJ", ret);
}

int nvw_parse_time(const char *text, uint64_t *ret, bool *ret_cycles)
{
	const size_t digits = strspn(text, "0123456789");
	char expected[64] = "a time such as 250ns, 1us or 4cycles";

	*ret_cycles = digits && (!strcmp(text + digits, "cycles") || !strcmp(text + digits, "cycle"));
	if (*ret_cycles) {
		char number[32];

		NVW_FAIL_IF(digits >= sizeof number, NVW_E_USAGE, "\"%s\" is too large", text);
		memcpy(number, text, digits);
		number[digits] = 0;
		return nvw_parse_count(number, ret);
	}
	if (digits && !text[digits]) {
		snprintf(expected, sizeof expected, "%.16sns or %.16scycles", text, text);
	}
	return parse_number(text, time_units, expected, ret);
}

int nvw_parse_real(const char *text, double *ret)
{
	char *end;

	errno = 0;
	*ret = strtod(text, &end);
	NVW_FAIL_IF(end == text || *end || errno || !isfinite(*ret) || *ret < 0, NVW_E_USAGE,
		"\"%s\" is not a number; expected one such as 0.5", text);
	return 0;
}

int nvw_parse_word(const char *text, const char *const *words, uint64_t *ret)
{
	char list[256] = "";

	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(words[i], text)) {
			*ret = i;
			return 0;
		}
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
	}
	return nvw_fail(NVW_E_USAGE, "\"%s\" is not one of %s", text, list);
}

int nvw_parse_bool(const char *text, bool *ret)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"on", true}, {"off", false}, {"yes", true}, {"no", false}, {"true", true},
		{"false", false}, {"1", true}, {"0", false}};

	NVW_EACH_IN(word, words) {
		if (!strcmp(text, word->word)) {
			*ret = word->value;
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE, "\"%s\" is neither \"on\" nor \"off\"", text);
}

/* ---- Formatting ---------------------------------------------------------------------------- */

static const char *format(uint64_t value, const struct unit *units, unsigned count, char *buffer)
{
	NVW_DEEP_INVARIANT(count > 0);
	NVW_EACH(unit, units, count) {
		if (value && value % unit->scale == 0) {
			snprintf(buffer, NVW_UNIT_TEXT, "%" PRIu64 "%s", value / unit->scale, unit->name);
			return buffer;
		}
	}
	snprintf(buffer, NVW_UNIT_TEXT, "0%s", units[count - 1].name);
	return buffer;
}

const char *nvw_format_bytes(uint64_t bytes, char buffer[NVW_UNIT_TEXT])
{
	return format(bytes, byte_units, 4, buffer);
}

const char *nvw_format_time(uint64_t ps, char buffer[NVW_UNIT_TEXT])
{
	/* Times are compared in nanoseconds: no coarser unit. */
	return format(ps, time_units + 3, 2, buffer);
}

const char *nvw_format_frequency(uint64_t hz, char buffer[NVW_UNIT_TEXT])
{
	return format(hz, frequency_units, 4, buffer);
}

const char *nvw_format_rate(uint64_t bytes_a_second, char buffer[NVW_UNIT_TEXT])
{
	return format(bytes_a_second, rate_units, 4, buffer);
}

const char *nvw_format_energy(uint64_t fj, char buffer[NVW_UNIT_TEXT])
{
	/* Picojoules are what people compare, as nanoseconds above. */
	return format(fj, energy_units + 2, 2, buffer);
}

const char *nvw_format_grouped(uint64_t n, char buffer[NVW_UNIT_TEXT])
{
	char digits[24];
	const int count = snprintf(digits, sizeof digits, "%" PRIu64, n);
	int at = 0;

	NVW_FOR(i, count) {
		if (i > 0 && (count - i) % 3 == 0) {
			buffer[at++] = ',';
		}
		buffer[at++] = digits[i];
	}
	NVW_DEEP_INVARIANT(at < NVW_UNIT_TEXT);
	buffer[at] = '\0';
	return buffer;
}

const char *nvw_format_rounded_time(uint64_t ps, unsigned digits, char buffer[NVW_UNIT_TEXT])
{
	static const struct {
		double ps;
		const char *unit;
	} units[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}};
	unsigned i = 0;

	NVW_INVARIANT(digits > 0);
	while (i < 3 && (double)ps < units[i].ps) {
		i++;
	}
	snprintf(buffer, NVW_UNIT_TEXT, "%.*g %s", (int)digits, (double)ps / units[i].ps, units[i].unit);
	return buffer;
}

const char *nvw_format_share(double part, double whole, char buffer[NVW_UNIT_TEXT])
{
	const double percent = whole > 0 ? 100 * part / whole : 0;

	if (!(whole > 0)) {
		buffer[0] = '\0';
	} else if (percent > 0 && percent < 0.01) {
		snprintf(buffer, NVW_UNIT_TEXT, " (below 0.01 %%)");
	} else if (percent < 100) { /* 100 is all of it */
		snprintf(buffer, NVW_UNIT_TEXT, " (%.3g %%)", percent > 99.9 ? 99.9 : percent);
	} else {
		snprintf(buffer, NVW_UNIT_TEXT, " (%.0f %%)", percent);
	}
	return buffer;
}
