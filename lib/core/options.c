/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of workloads. See options.h and nvw/workload.h. */
#include "core/each.h"
#include "core/invariant.h"
#include "options.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

struct value {
	char *text;
	uint64_t u64; /* also the index of a choice, and 0 or 1 */
	double real;
	bool given;
};

struct nvw_options {
	const struct nvw_option *table;
	unsigned count;
	char **moved; /* where each stands if not at its default; NULL: there */
	struct value values[];
};

static unsigned length(const struct nvw_option *table)
{
	unsigned n = 0;

	while (table && table[n].name) {
		n++;
	}
	return n;
}

/* There is a value for each row of the workload's table. */
__attribute__((unused)) static bool options_are_valid(const struct nvw_options *options)
{
	return options->count == length(options->table) && options->moved != NULL;
}

static int parse_option(const struct nvw_option *option, const char *text, struct value *value)
{
	bool on = false;
	int r = 0;

	switch (option->type) {
	case NVW_OPTION_COUNT:
		return nvw_parse_count(text, &value->u64);
	case NVW_OPTION_BYTES:
		return nvw_parse_bytes(text, &value->u64);
	case NVW_OPTION_REAL:
		return nvw_parse_real(text, &value->real);
	case NVW_OPTION_CHOICE:
		return nvw_parse_word(text, option->choices, &value->u64);
	case NVW_OPTION_BOOL:
		r = nvw_parse_bool(text, &on);
		value->u64 = on;
		break;
	case NVW_OPTION_STRING:
		break;
	}
	return r;
}

int nvw__options_create(const struct nvw_option *table, struct nvw_options **ret_options)
{
	const unsigned count = length(table);
	struct nvw_options *const options = calloc(1, sizeof *options + count * sizeof options->values[0]);

	NVW_ALLOCATED(options, "no memory for options");
	options->table = table;
	options->count = count;
	options->moved = calloc(count + 1, sizeof *options->moved);
	if (!options->moved) {
		free(options);
		return nvw_fail(NVW_E_MEMORY, "no memory for options");
	}
	NVW_FOR(i, count) {
		struct value *const v = &options->values[i];
		const int r = *table[i].value || table[i].type == NVW_OPTION_STRING ?
				      parse_option(&table[i], table[i].value, v) :
				      0;

		v->text = strdup(table[i].value);
		if (r < 0 || !v->text) {
			nvw__options_free(options);
			NVW_FAIL_IF(r < 0, NVW_E_USAGE, "the default of option --%s: %s", table[i].name,
				nvw_error_message());
			return nvw_fail(NVW_E_MEMORY, "no memory for options");
		}
	}
	*ret_options = options;
	return 0;
}

void nvw__options_free(struct nvw_options *options)
{
	for (unsigned i = 0; options && i < options->count; i++) {
		free(options->values[i].text);
		free(options->moved[i]);
	}
	if (options) {
		free(options->moved);
	}
	free(options);
}

static int unknown(const struct nvw_options *options, const char *name)
{
	const char *names[128];
	const char *near;
	unsigned n = 0;

	for (; n < options->count && n < 127; n++) {
		names[n] = options->table[n].name;
	}
	names[n] = NULL;
	near = nvw_nearest(name, names);
	NVW_FAIL_IF(near, NVW_E_USAGE, "there is no option --%s; did you mean --%s?", name, near);
	return nvw_fail(NVW_E_USAGE, "there is no option --%s", name);
}

int nvw__options_set(struct nvw_options *options, const char *name, const char *text)
{
	NVW_DEEP_INVARIANT(options_are_valid(options));
	NVW_FOR(i, options->count) {
		struct value new = {0};
		int r;

		if (strcmp(options->table[i].name, name)) {
			continue;
		}
		r = parse_option(&options->table[i], text, &new);
		NVW_FAIL_IF(r < 0, r, "--%s: %s", name, nvw_error_message());
		new.text = strdup(text);
		new.given = true;
		NVW_ALLOCATED(new.text, "no memory for options");
		free(options->values[i].text);
		options->values[i] = new;
		return 0;
	}
	return unknown(options, name);
}

char *nvw__options_text(const struct nvw_options *options)
{
	char *text = NULL;
	size_t bytes;
	FILE *const f = open_memstream(&text, &bytes);
	bool first = true;

	NVW_DEEP_INVARIANT(options_are_valid(options));
	for (unsigned i = 0; f && i < options->count; i++) {
		if (options->values[i].given) {
			fprintf(f, "%s%s=%s", first ? "" : " ", options->table[i].name,
				options->values[i].text);
			first = false;
		}
	}
	if (!f || fclose(f) != 0) {
		return NULL;
	}
	return text;
}

bool nvw__options_given(
	const struct nvw_options *options, unsigned i, const char **ret_name, const char **ret_text)
{
	NVW_DEEP_INVARIANT(options_are_valid(options));
	NVW_FOR(k, options->count) {
		if (options->values[k].given && i-- == 0) {
			*ret_name = options->table[k].name;
			*ret_text = options->values[k].text;
			return true;
		}
	}
	return false;
}

/* Asking for an option that is not in the table, or for another type, is a bug in the workload. */
static const struct value *value_of(const struct nvw_options *options, const char *name, unsigned types)
{
	NVW_DEEP_INVARIANT(options_are_valid(options));
	NVW_FOR(i, options->count) {
		if (!strcmp(options->table[i].name, name)) {
			assert(types >> options->table[i].type & 1);
			return &options->values[i];
		}
	}
	assert(!"an option of the workload's table");
	abort();
}

uint64_t nvw_option_u64(const struct nvw_options *options, const char *name)
{
	return value_of(options, name, 1u << NVW_OPTION_COUNT | 1u << NVW_OPTION_BYTES)->u64;
}

double nvw_option_real(const struct nvw_options *options, const char *name)
{
	return value_of(options, name, 1u << NVW_OPTION_REAL)->real;
}

bool nvw_option_bool(const struct nvw_options *options, const char *name)
{
	return value_of(options, name, 1u << NVW_OPTION_BOOL)->u64;
}

unsigned nvw_option_choice(const struct nvw_options *options, const char *name)
{
	return (unsigned)value_of(options, name, 1u << NVW_OPTION_CHOICE)->u64;
}

const char *nvw_option_string(const struct nvw_options *options, const char *name)
{
	return value_of(options, name, 1u << NVW_OPTION_STRING)->text;
}

bool nvw_option_given(const struct nvw_options *options, const char *name)
{
	return value_of(options, name, UINT32_MAX)->given;
}

/* Whether a text means another value. */
static bool differs(const struct nvw_option *o, const char *text, const struct value *v)
{
	struct value other = {0};

	if (o->type == NVW_OPTION_STRING || !*text) {
		return strcmp(v->text, text) != 0;
	}
	return parse_option(o, text, &other) < 0 || other.u64 != v->u64 || other.real != v->real;
}

bool nvw_option_changed(const struct nvw_options *options, const char *name)
{
	const struct value *const v = value_of(options, name, UINT32_MAX);
	const struct nvw_option *const o = &options->table[v - options->values];

	return differs(o, o->value, v);
}

void nvw_option_stands(const struct nvw_options *options, const char *name, const char *format, ...)
{
	const struct value *const v = value_of(options, name, UINT32_MAX);
	const ptrdiff_t at = v - options->values;
	char *text = NULL;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0) {
		text = NULL;
	}
	va_end(list);
	free(options->moved[at]);
	options->moved[at] = NULL;
	if (text && !v->given && differs(&options->table[at], text, v)) {
		options->moved[at] = text;
	} else {
		free(text);
	}
}

bool nvw__options_moved(
	const struct nvw_options *options, unsigned i, const char **ret_name, const char **ret_text)
{
	NVW_DEEP_INVARIANT(options_are_valid(options));
	NVW_FOR(k, options->count) {
		if (options->moved[k] && i-- == 0) {
			*ret_name = options->table[k].name;
			*ret_text = options->moved[k];
			return true;
		}
	}
	return false;
}
