/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of an object of JSON, by name; those of no object are not there. And loops over JSON. */
#ifndef CORE_MEMBER_H
#define CORE_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "each.h"

/* NULL if there is no such text. */
static inline const char *member_string(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

/* "" if there is no such text. */
static inline const char *member_text(const json_t *o, const char *name)
{
	const char *const text = member_string(o, name);

	return text ? text : "";
}

static inline long long member_number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static inline uint64_t member_count(const json_t *o, const char *name)
{
	return (uint64_t)member_number(o, name);
}

static inline double member_real(const json_t *o, const char *name)
{
	return json_real_value(json_object_get(o, name));
}

static inline bool member_flag(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

/* ---- Setting one ---------------------------------------------------------------------------- */

static inline void member_set_text(json_t *o, const char *name, const char *text)
{
	json_object_set_new(o, name, json_string(text));
}

static inline void member_set_number(json_t *o, const char *name, long long number)
{
	json_object_set_new(o, name, json_integer(number));
}

static inline void member_set_count(json_t *o, const char *name, uint64_t count)
{
	member_set_number(o, name, (long long)count);
}

static inline void member_set_real(json_t *o, const char *name, double real)
{
	json_object_set_new(o, name, json_real(real));
}

static inline void member_set_flag(json_t *o, const char *name, bool flag)
{
	json_object_set_new(o, name, json_boolean(flag));
}

/* ---- Loops ---------------------------------------------------------------------------------- */

/* A loop over the elements of an array; it may be left by break. In each the inner loop is the one that
 * goes on, the outer one runs once. */
#define JSON_EACH(element, array)                                                              \
	for (size_t element##_at_ = 0, element##_end_ = 1; element##_end_; element##_end_ = 0) \
		for (json_t * element; (element = json_array_get((array), element##_at_)); element##_at_++)

/* An array of what is made of each of the first count elements, to which one points. */
#define JSON_LIST(one, from, count, made)                   \
	({                                                  \
		json_t *const list_ = json_array();         \
		NVW_EACH(one, from, count) {                \
			json_array_append_new(list_, made); \
		}                                           \
		list_;                                      \
	})

/* A loop over the members of an object, none of which is added or removed in it. */
#define JSON_EACH_MEMBER(name, value, object)                                                          \
	for (const char *name = json_object_iter_key(json_object_iter(object)), *name##_first_ = name; \
		name##_first_; name##_first_ = NULL)                                                   \
		for (json_t * value;                                                                   \
			name && (value = json_object_iter_value(json_object_key_to_iter(name)));       \
			name = json_object_iter_key(                                                   \
				json_object_iter_next((object), json_object_key_to_iter(name))))

#endif
