/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files (keyfile.h). Decompression is libarchive's: every filter, and the file as one raw entry. */
#include "keyfile.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 64 * 1024, TEXT_PROBE_BYTES = 4096, SHOWN_CHARS = 40 };

/* ---- Content -------------------------------------------------------------------------------------- */

struct content {
	char *bytes;
	uint64_t used, room;
};

static int content_reserve(struct content *c, uint64_t more)
{
	if (c->room - c->used > more) {
		return 0;
	}

	const uint64_t room = 2 * (c->used + more) + 1;
	char *const bytes = realloc(c->bytes, room);

	if (bytes == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for %" PRIu64 " bytes of input", room);
	}
	c->bytes = bytes;
	c->room = room;
	return 0;
}

static int read_all(struct archive *a, const char *path, struct content *c)
{
	for (;;) {
		const int error = content_reserve(c, BLOCK_BYTES);

		if (error != 0) {
			return error;
		}

		const la_ssize_t n = archive_read_data(a, c->bytes + c->used, BLOCK_BYTES);

		if (n < 0) {
			return nvw_fail(NVW_E_INPUT, "%s: %s", path, archive_error_string(a));
		}
		if (n == 0) {
			c->bytes[c->used] = 0;
			return 0;
		}
		c->used += (uint64_t)n;
	}
}

static int read_archive(struct archive *a, const char *path, struct content *c)
{
	struct archive_entry *entry;

	if (archive_read_support_filter_all(a) < ARCHIVE_WARN ||
		archive_read_support_format_raw(a) != ARCHIVE_OK ||
		archive_read_support_format_empty(a) != ARCHIVE_OK ||
		archive_read_open_filename(a, path, BLOCK_BYTES) != ARCHIVE_OK) {
		return nvw_fail(NVW_E_INPUT, "%s: %s", path, archive_error_string(a));
	}

	const int header = archive_read_next_header(a, &entry);

	if (header == ARCHIVE_EOF) {
		return nvw_fail(NVW_E_INPUT, "%s: the file is empty", path);
	}
	if (header != ARCHIVE_OK) {
		return nvw_fail(NVW_E_INPUT, "%s: %s", path, archive_error_string(a));
	}
	return read_all(a, path, c);
}

int keyfile_slurp(const char *path, char **ret_content, uint64_t *ret_bytes)
{
	struct stat st;

	/* libarchive's own messages for these two name no cause. */
	if (stat(path, &st) != 0) {
		return nvw_fail(NVW_E_INPUT, "%s: %s", path, strerror(errno));
	}
	if (S_ISDIR(st.st_mode)) {
		return nvw_fail(NVW_E_INPUT, "%s: expected a file, found a folder", path);
	}

	struct archive *const a = archive_read_new();

	if (a == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory to read %s", path);
	}

	struct content c = {0};
	int error = read_archive(a, path, &c);

	archive_read_free(a);
	if (error == 0 && c.used == 0) {
		error = nvw_fail(NVW_E_INPUT, "%s: the file is empty", path);
	}
	if (error != 0) {
		free(c.bytes);
		return error;
	}
	*ret_content = c.bytes;
	*ret_bytes = c.used;
	return 0;
}

/* ---- Binary --------------------------------------------------------------------------------------- */

static uint64_t big_endian_64(const char *at)
{
	uint64_t raw;

	memcpy(&raw, at, 8);
	return __builtin_bswap64(raw);
}

static int parse_binary(const char *path, const char *content, uint64_t bytes, uint64_t *keys,
	uint64_t *ret_count)
{
	if (bytes % 8 != 0) {
		return nvw_fail(NVW_E_INPUT,
			"%s: expected big-endian keys of 8 bytes, found %" PRIu64
			" bytes: the last key is cut short after %" PRIu64 " of 8 bytes",
			path, bytes, bytes % 8);
	}
	for (uint64_t i = 0; i < bytes / 8; i++) {
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

/* A whole field as a number; false if it is none, or needs more than 64 bits. */
static bool parse_key(const char *at, const char *end, uint64_t *ret_key)
{
	unsigned base = 10;
	uint64_t key = 0;

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
	const int shown = end - at > SHOWN_CHARS ? SHOWN_CHARS : (int)(end - at);
	const char *const dots = end - at > SHOWN_CHARS ? "..." : "";

	if (column > 1) {
		return nvw_fail(NVW_E_INPUT,
			"%s:%" PRIu64 ": expected a 64-bit key in column %u, found \"%.*s%s\"", path, line,
			column, shown, at, dots);
	}
	return nvw_fail(NVW_E_INPUT, "%s:%" PRIu64 ": expected one 64-bit key, found \"%.*s%s\"", path,
		line, shown, at, dots);
}

static int parse_text(const char *path, const char *content, uint64_t bytes, unsigned column,
	uint64_t *keys, uint64_t *ret_count)
{
	const char *const end = content + bytes;
	uint64_t line = 0, count = 0;

	for (const char *at = content; at < end; at++) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		line++;
		if (line_end == NULL) {
			line_end = end;
		}

		const int found = parse_line(at, line_end, column, &keys[count]);

		if (found < 0) {
			return malformed(path, line, column, at, line_end);
		}
		count += (uint64_t)found;
		at = line_end;
	}
	if (count == 0) {
		return nvw_fail(NVW_E_INPUT, "%s: expected keys, found none in %" PRIu64 " lines", path,
			line);
	}
	*ret_count = count;
	return 0;
}

/* ---- Which of them -------------------------------------------------------------------------------- */

static bool looks_like_text(const char *content, uint64_t bytes)
{
	const uint64_t n = bytes < TEXT_PROBE_BYTES ? bytes : TEXT_PROBE_BYTES;

	for (uint64_t i = 0; i < n; i++) {
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
	int error = keyfile_slurp(path, &content, &bytes);

	if (error != 0) {
		return error;
	}

	/* Enough for both formats: a text key takes two bytes, a binary one eight, and one to spare for
	 * the line that holds none. */
	uint64_t *const keys = malloc((bytes / 2 + 2) * sizeof(*keys));

	if (keys == NULL) {
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
