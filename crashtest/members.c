/* SPDX-License-Identifier: BSD-3-Clause */
/* See members.h. */
#include "members.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/each.h"
#include "core/invariant.h"

/* ---- Writing ------------------------------------------------------------------------------------------- */

static uint64_t number_at(const struct member *m, const char *field)
{
	uint64_t number = 0;

	NVW_INVARIANT(m->bytes <= sizeof number);
	memcpy(&number, field, m->bytes); /* its low bytes come first */
	return number;
}

static json_t *hex_json(const struct member *m, const char *field)
{
	return json_sprintf("0x%0*llx", (int)(2 * m->bytes), (unsigned long long)number_at(m, field));
}

static json_t *lines_json(const char *text)
{
	json_t *const lines = json_array();

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		json_array_append_new(lines, json_stringn(at, strcspn(at, "\n")));
	}
	return lines;
}

static json_t *list_json(const struct member *m, const char *record)
{
	json_t *const list = json_array();
	const unsigned count = *(const unsigned *)(record + m->count_at);

	NVW_INVARIANT(count <= m->most);
	NVW_FOR(i, count) {
		json_array_append_new(list, members_json(m->of, record + m->at + i * (m->bytes / m->most)));
	}
	return list;
}

static json_t *value_json(const struct member *m, const char *record)
{
	const char *const field = record + m->at;

	switch (m->kind) {
	case MEMBER_COUNT:
		return json_integer((json_int_t)number_at(m, field));
	case MEMBER_FLAG:
		return json_boolean(*field);
	case MEMBER_REAL:
		return json_real(*(const double *)field);
	case MEMBER_TEXT:
		return json_string(field);
	case MEMBER_HEX:
		return hex_json(m, field);
	case MEMBER_LINES:
		return lines_json(field);
	case MEMBER_NAME:
		return json_string(m->name_of((unsigned)number_at(m, field)));
	case MEMBER_RECORD:
		return members_json(m->of, field);
	case MEMBER_LIST:
		return list_json(m, record);
	case MEMBER_MADE:
		break;
	}
	return m->make(record);
}

static bool is_empty(const struct member *m, const char *field)
{
	if (m->kind == MEMBER_RECORD) {
		return is_empty(m->of, field + m->of->at);
	}
	return m->kind == MEMBER_TEXT ? !*field : number_at(m, field) == 0;
}

static json_t *member_json(const struct member *m, const void *record)
{
	if (m->optional && is_empty(m, (const char *)record + m->at)) {
		return NULL;
	}
	return value_json(m, record);
}

json_t *members_json(const struct member *members, const void *record)
{
	json_t *const o = json_object();

	for (const struct member *m = members; m->name; m++) {
		/* A member without a value is left out. */
		json_object_set_new(o, m->name, member_json(m, record));
	}
	return o;
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

static void read_lines(const json_t *lines, char *text, size_t bytes)
{
	size_t i, at = 0;
	json_t *line;

	json_array_foreach(lines, i, line)
	{
		const int n = snprintf(text + at, bytes - at, i ? "\n%s" : "%s", json_string_value(line));

		at = at + (size_t)n < bytes ? at + (size_t)n : bytes - 1;
	}
}

static void read_list(const struct member *m, const json_t *list, char *record)
{
	unsigned *const count = (unsigned *)(record + m->count_at);

	for (*count = 0; *count < m->most && *count < json_array_size(list); ++*count) {
		members_read(
			m->of, json_array_get(list, *count), record + m->at + *count * (m->bytes / m->most));
	}
}

static uint64_t number_of(const struct member *m, const json_t *value)
{
	unsigned i = 0;

	if (m->kind == MEMBER_HEX && json_is_string(value)) {
		return strtoull(json_string_value(value), NULL, 16);
	}
	if (m->kind != MEMBER_NAME) {
		return (uint64_t)json_integer_value(value);
	}
	if (!json_is_string(value)) {
		return 0; /* of a damaged file */
	}
	while (i < m->most && strcmp(m->name_of(i), json_string_value(value))) {
		i++;
	}
	return i % m->most;
}

static void read_value(const struct member *m, const json_t *value, char *record)
{
	char *const field = record + m->at;
	uint64_t number;

	switch (m->kind) {
	case MEMBER_FLAG:
		*(bool *)field = json_is_true(value);
		break;
	case MEMBER_REAL:
		*(double *)field = json_number_value(value);
		break;
	case MEMBER_TEXT:
		snprintf(field, m->bytes, "%s", json_is_string(value) ? json_string_value(value) : "");
		break;
	case MEMBER_LINES:
		read_lines(value, field, m->bytes);
		break;
	case MEMBER_RECORD:
		members_read(m->of, value, field);
		break;
	case MEMBER_LIST:
		read_list(m, value, record);
		break;
	case MEMBER_COUNT:
	case MEMBER_HEX:
	case MEMBER_NAME:
		number = number_of(m, value);
		memcpy(field, &number, m->bytes);
		break;
	case MEMBER_MADE:
		break;
	}
}

void members_read(const struct member *members, const json_t *o, void *record)
{
	for (const struct member *m = members; m->name; m++) {
		const json_t *const value = json_object_get(o, m->name);

		if (value) {
			read_value(m, value, record);
		}
	}
}
