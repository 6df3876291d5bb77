/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files (keyfile.h). */
#include "keyfile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "bytes.h"

enum { TEXT_PROBE_BYTES = 4096, SHOWN_CHARS = 40 };

/* ---- Binary --------------------------------------------------------------------------------------- */

static uint64_t big_endian_64(const char *at)
{
	uint64_t raw;

	memcpy(&raw, at, 8);
	return __builtin_bswap64(raw);
}

static int parse_binary(
	const char *path, const char *content, uint64_t bytes, uint64_t *keys, uint64_t *ret_count)
{
	NVW_FAIL_IF(bytes % 8 != 0, NVW_E_INPUT,
		"%s: expected big-endian keys of 8 bytes, found %" PRIu64
		" bytes: the last key is cut short after %" PRIu64 " of 8 bytes",
		path, bytes, bytes % 8);
	NVW_FOR(i, bytes / 8) {
		keys[i] = big_endian_64(content + 8 * i);
	}
	*ret_count = bytes / 8;
	return 0;
}

/* ---- Text ----------------------------------------------------------------------------------------- */

static bool is_separator(char c)
{
	return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

/* The next field of [at, end), empty at the end of the line. */
static const char *next_field(const char *at, const char *end, const char **ret_end)
{
	assert(at <= end);
	while (at < end && is_separator(*at)) {
		at++;
	}

	const char *const field = at;

	while (at < end && !is_separator(*at)) {
		at++;
	}
	*ret_end = at;
	return field;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* A whole field as a number; false if it is not a number, or needs more than 64 bits. */
static bool parse_key(const char *at, const char *end, uint64_t *ret_key)
{
	unsigned base = 10;
	uint64_t key = 0;

	assert(at <= end);
	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		base = 16;
		at += 2;
	}
	if (at == end) {
		return false;
	}
	for (; at < end; at++) {
		const unsigned digit = (unsigned)digit_value(*at);

		if (digit >= base || __builtin_mul_overflow(key, base, &key) ||
			__builtin_add_overflow(key, digit, &key)) {
			return false;
		}
	}
	*ret_key = key;
	return true;
}

/* 1 and the key, 0 for a line without one, -1 for a malformed line. */
static int parse_line(const char *at, const char *end, unsigned column, uint64_t *ret_key)
{
	const char *field_end, *field = next_field(at, end, &field_end);

	if (field == field_end || *field == '#') {
		return 0;
	}
	for (unsigned i = 1; i < column; i++) {
		field = next_field(field_end, end, &field_end);
	}
	if (!parse_key(field, field_end, ret_key)) {
		return -1;
	}
	if (column == 0) {
		field = next_field(field_end, end, &field_end);
		if (field != field_end) {
			return -1;
		}
	}
	return 1;
}

static int malformed(const char *path, uint64_t line, unsigned column, const char *at, const char *end)
{
	const int shown = (int)u64_min((uint64_t)(end - at), SHOWN_CHARS);
	const char *const dots = end - at > SHOWN_CHARS ? "..." : "";

	assert(at <= end);
	NVW_FAIL_IF(column > 1, NVW_E_INPUT,
		"%s:%" PRIu64 ": expected a 64-bit key in column %u, found \"%.*s%s\"", path, line, column,
		shown, at, dots);
	return nvw_fail(NVW_E_INPUT, "%s:%" PRIu64 ": expected one 64-bit key, found \"%.*s%s\"", path, line,
		shown, at, dots);
}

static int parse_text(const char *path, const char *content, uint64_t bytes, unsigned column, uint64_t *keys,
	uint64_t *ret_count)
{
	const char *const end = content + bytes;
	uint64_t line = 0, count = 0;

	for (const char *at = content; at < end; at++) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		line++;
		if (!line_end) {
			line_end = end;
		}

		const int found = parse_line(at, line_end, column, &keys[count]);

		if (found < 0) {
			return malformed(path, line, column, at, line_end);
		}
		count += (uint64_t)found;
		at = line_end;
	}
	NVW_FAIL_IF(
		count == 0, NVW_E_INPUT, "%s: expected keys, found none in %" PRIu64 " lines", path, line);
	assert(count <= bytes / 2 + 1);
	*ret_count = count;
	return 0;
}

/* ---- Which of them -------------------------------------------------------------------------------- */

static bool looks_like_text(const char *content, uint64_t bytes)
{
	const uint64_t n = u64_min(bytes, TEXT_PROBE_BYTES);

	NVW_FOR(i, n) {
		const unsigned char c = (unsigned char)content[i];

		if ((c < 0x20 || c > 0x7e) && c != '\t' && c != '\n' && c != '\r') {
			return false;
		}
	}
	return true;
}

static bool strip_prefix(const char **path, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (strncmp(*path, prefix, n) != 0) {
		return false;
	}
	*path += n;
	return true;
}

int keyfile_read(const char *path, unsigned column, uint64_t **ret_keys, uint64_t *ret_count)
{
	const bool is_binary = strip_prefix(&path, "binary:");
	const bool is_text = !is_binary && strip_prefix(&path, "text:");
	uint64_t bytes, count = 0;
	char *content;
	int error;

	NVW_TRY(bytes_slurp(path, &content, &bytes));

	/* Enough for both formats: a text key takes at least two bytes, a binary one eight; one more for a
	 * last line without a key. */
	uint64_t *const keys = malloc((bytes / 2 + 2) * sizeof(*keys));

	if (!keys) {
		error = nvw_fail(NVW_E_MEMORY, "no memory for the keys of %s", path);
	} else if (is_text || (!is_binary && looks_like_text(content, bytes))) {
		error = parse_text(path, content, bytes, column, keys, &count);
	} else {
		error = parse_binary(path, content, bytes, keys, &count);
	}
	free(content);
	if (error != 0) {
		free(keys);
		return error;
	}
	*ret_keys = keys;
	*ret_count = count;
	return 0;
}
