/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of a struct as members of an object of JSON: one list writes them, in its order, and reads them. */
#ifndef CRASHTEST_MEMBERS_H
#define CRASHTEST_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum member_kind {
	MEMBER_COUNT,  /* an integer without a sign, of 4 or 8 bytes */
	MEMBER_FLAG,   /* bool */
	MEMBER_REAL,   /* double */
	MEMBER_TEXT,   /* an array of characters */
	MEMBER_HEX,    /* an integer as "0x..." with all of its digits */
	MEMBER_LINES,  /* an array of characters, with a text for each of its lines */
	MEMBER_NAME,   /* an enum or a bool by name_of(), which knows all below most */
	MEMBER_RECORD, /* a struct: of lists its members */
	MEMBER_LIST,   /* an array of most structs, of which the unsigned at count_at are used */
	MEMBER_MADE    /* by make(), and never read; NULL is left out */
};

struct member {
	const char *name; /* NULL: behind the last */
	enum member_kind kind;
	size_t at, bytes; /* of the field */
	bool optional;    /* left out if it is 0 or "", a record if its first member is */
	size_t count_at, most;
	const struct member *of;
	const char *(*name_of)(unsigned value);
	json_t *(*make)(const void *record);
};

/* clang-format off */
#define MEMBER_AS(type, key, field, as, ...) \
	{.name = (key), .kind = (as), .at = offsetof(type, field), \
		.bytes = sizeof((type *)0)->field, __VA_ARGS__}
#define MEMBER_KIND(value) \
	_Generic((value), bool: MEMBER_FLAG, double: MEMBER_REAL, char *: MEMBER_TEXT, default: MEMBER_COUNT)
/* clang-format on */
#define MEMBER(type, key, field, ...) \
	MEMBER_AS(type, key, field, MEMBER_KIND(((type *)0)->field), __VA_ARGS__)

json_t *members_json(const struct member *members, const void *record);
/* Of what o lacks the fields stay as they are; o may be NULL. */
void members_read(const struct member *members, const json_t *o, void *record);

#endif
