/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values with a unit are numbers on an axis: 100ns, 1us and 10us are 0.1, 1 and 10 µs. The common unit is the
 * one in which all values together have the fewest digits. See plot.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"
#include "core/units.h"
#include "plot.h"

/* What values are kept in, and what they may be written in. */
static const struct {
	const char *base, *unit;
	double scale;
} units[] = {
	{"ps", "ps", 1},
	{"ps", "ns", 1e3},
	{"ps", "µs", 1e6},
	{"ps", "ms", 1e9},
	{"ps", "s", 1e12},
	{"B", "bytes", 1},
	{"B", "KiB", 1 << 10},
	{"B", "MiB", 1 << 20},
	{"B", "GiB", 1 << 30},
	{"Hz", "Hz", 1},
	{"Hz", "kHz", 1e3},
	{"Hz", "MHz", 1e6},
	{"Hz", "GHz", 1e9},
	{"B/s", "bytes/s", 1},
	{"B/s", "MB/s", 1e6},
	{"B/s", "GB/s", 1e9},
	{"fJ", "pJ", 1e3},
	{"fJ", "nJ", 1e6},
	{"fJ", "µJ", 1e9},
	{"cycles", "cycles", 1},
};

/* K, M and G alone are 1000s of counts and 1024s of bytes: a text that ends so is a name. */
static bool is_ambiguous(const char *text)
{
	return *text && strchr("KMG", text[strlen(text) - 1]);
}

/* The base of a value with a unit; NULL: it is none. */
static const char *read_unit(const char *text, uint64_t *ret)
{
	bool cycles;

	if (is_ambiguous(text)) {
		return NULL;
	}
	if (!nvw_parse_time(text, ret, &cycles)) {
		return cycles ? "cycles" : "ps";
	}
	if (!nvw_parse_bytes(text, ret)) {
		return "B";
	}
	if (!nvw_parse_frequency(text, ret)) {
		return "Hz";
	}
	if (!nvw_parse_rate(text, ret)) {
		return "B/s";
	}
	return nvw_parse_energy(text, ret) ? NULL : "fJ";
}

bool plot_number(const char *text, double *ret, const char **ret_unit)
{
	uint64_t whole;
	char *end;

	*ret_unit = "";
	*ret = strtod(text, &end);
	if (*text && !*end) {
		return isfinite(*ret);
	}
	*ret_unit = read_unit(text, &whole);
	if (*ret_unit) {
		*ret = (double)whole;
	}
	return *ret_unit;
}

static unsigned digits_of(const struct plot_names *n, double scale)
{
	unsigned digits = 0;
	char text[32];

	NVW_INVARIANT(scale > 0);
	NVW_EACH(number, n->number, n->count) {
		digits += (unsigned)NVW_PRINT(text, "%.10g", *number / scale);
	}
	return digits;
}

const char *plot_common_unit(const struct plot_names *n, double *ret_scale)
{
	const char *unit = "";
	unsigned fewest = UINT32_MAX;

	*ret_scale = 1;
	NVW_EACH_IN(one, units) {
		const unsigned digits = strcmp(one->base, n->unit) ? UINT32_MAX : digits_of(n, one->scale);

		if (digits < fewest) {
			fewest = digits;
			unit = one->unit;
			*ret_scale = one->scale;
		}
	}
	return unit;
}

bool plot_doubles(const struct plot_names *n)
{
	if (!n->numbers || n->count < 3 || *n->number <= 0) {
		return false;
	}
	return !NVW_ANY(number, n->number + 1, n->count - 1, *number < 1.99 * number[-1]);
}
