/* SPDX-License-Identifier: BSD-3-Clause */
/* What is inside JSON, by a path: "findings.0.cause.text". */
#ifndef TESTS_COMMON_JSON_H
#define TESTS_COMMON_JSON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* NULL: there is nothing. */
static inline json_t *json_at(const json_t *o, const char *path)
{
	char copy[128], *rest = copy, *name;

	snprintf(copy, sizeof copy, "%s", path);
	while (o != NULL && (name = strsep(&rest, ".")) != NULL) {
		o = json_is_array(o) ? json_array_get(o, strtoul(name, NULL, 10)) : json_object_get(o, name);
	}
	return (json_t *)(uintptr_t)o;
}

static inline json_int_t integer_at(const json_t *o, const char *path)
{
	return json_integer_value(json_at(o, path));
}

static inline size_t size_at(const json_t *o, const char *path)
{
	return json_array_size(json_at(o, path));
}

/* "": there is no text. */
static inline const char *text_at(const json_t *o, const char *path)
{
	const char *const text = json_string_value(json_at(o, path));

	return text ? text : "";
}

#endif
