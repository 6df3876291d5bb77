/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of a sentence that depend on a value. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"

/* What %llu prints. */
typedef unsigned long long ull;

/* The ending of a noun behind its number. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* A part that the sentence has in some cases alone. */
static inline const char *words_if(bool holds, const char *words)
{
	return holds ? words : "";
}

/* The words, if there are any. */
static inline const char *words_or(const char *words, const char *otherwise)
{
	return words && *words ? words : otherwise;
}

/* "; did you mean kv?" where a name is near, else the other words; text is for the former. */
enum { WORDS_MEANT = 320 };

static inline const char *words_meant(const char *near, const char *otherwise, char text[WORDS_MEANT])
{
	if (!near) {
		return otherwise;
	}
	snprintf(text, WORDS_MEANT, "; did you mean %s?", near);
	return text;
}

/* The same, valid to the end of the block. */
#define DID_YOU_MEAN(near, otherwise) words_meant((near), (otherwise), (char[WORDS_MEANT]){0})

/* Adds to a list in a text; between comes before all but its first words. */
static inline void words_add(char *list, size_t room, const char *between, const char *words)
{
	const size_t n = strlen(list);

	snprintf(list + n, room - n, "%s%s", words_if(n, between), words);
}

/* A text of its own, which the caller frees; NULL without memory. */
__attribute__((format(printf, 1, 2))) static inline char *text_made(const char *format, ...)
{
	char *text;
	va_list values;

	va_start(values, format);
	if (vasprintf(&text, format, values) < 0) {
		text = NULL;
	}
	va_end(values);
	return text;
}

/* Whether the first n characters are this text. */
static inline bool text_is(const char *at, size_t n, const char *text)
{
	return strlen(text) == n && !strncmp(at, text, n);
}

/* The same, for a list that ends with NULL. */
static inline bool text_is_one_of(const char *at, size_t n, const char *const *texts)
{
	while (*texts && !text_is(at, n, *texts)) {
		texts++;
	}
	return *texts;
}

static inline bool is_among(const char *word, const char *const *words)
{
	return text_is_one_of(word, strlen(word), words);
}

/* What a path has behind a folder, which ends without '/'; NULL: it is not below it. */
static inline const char *path_below(const char *path, const char *folder)
{
	const size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* Of schedules in which something came from another process. */
#define OUTSIDE_WORDS "a schedule repeats only as far as the other process does that the program waited for"

/* 1234567 as 1,234,567; valid to the end of the block. */
#define GROUPED(n) nvw_format_grouped((n), (char[NVW_UNIT_TEXT]){0})
/* 5551000 ps as 5.551 us; valid as long. */
#define ROUNDED_TIME(ps) nvw_format_rounded_time((ps), 4, (char[NVW_UNIT_TEXT]){0})
/* " (12.5 %)"; "" of nothing; valid as long. */
#define SHARE(part, whole) nvw_format_share((double)(part), (double)(whole), (char[NVW_UNIT_TEXT]){0})

#endif
