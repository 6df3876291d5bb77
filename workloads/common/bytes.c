/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files (bytes.h). libarchive (archive.h) decompresses: all filters, with the file as one raw entry. */
#include "bytes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/input.h>

#include "archive.h"

enum { BLOCK_BYTES = 64 * 1024 };

/* Limit for the size of a decompressed file. */
static const uint64_t bytes_max = UINT64_C(1) << 32;

static const struct archive_functions *libarchive; /* for callbacks; loaded once (archive.h) */

struct content {
	char *bytes;
	uint64_t used, room;
};

static int content_reserve(struct content *c, uint64_t more)
{
	assert(c->used <= c->room);
	if (c->room - c->used > more) {
		return 0;
	}

	const uint64_t room = 2 * (c->used + more) + 1;
	char *const bytes = realloc(c->bytes, room);

	NVW_ALLOCATED(bytes, "no memory for %" PRIu64 " bytes of input", room);
	c->bytes = bytes;
	c->room = room;
	return 0;
}

static int read_all(struct archive *a, const char *path, struct content *c)
{
	for (;;) {
		NVW_TRY(content_reserve(c, BLOCK_BYTES));
		const la_ssize_t n = libarchive->read_data(a, c->bytes + c->used, BLOCK_BYTES);

		NVW_FAIL_IF(n < 0, NVW_E_INPUT, "%s: %s", path, libarchive->error_string(a));
		if (n == 0) {
			assert(c->used < c->room);
			c->bytes[c->used] = 0;
			return 0;
		}
		c->used += (uint64_t)n;
		NVW_FAIL_IF(c->used > bytes_max, NVW_E_INPUT, "%s: more than %" PRIu64 " bytes of content",
			path, bytes_max);
	}
}

struct source {
	int fd;
	char block[BLOCK_BYTES];
};

/* libarchive's own file reader does not report the cause of an error. */
static la_ssize_t read_block(struct archive *a, void *context, const void **ret_block)
{
	struct source *const s = context;
	ssize_t n;

	do {
		n = read(s->fd, s->block, sizeof s->block);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		libarchive->set_error(a, errno, "cannot be read: %s", strerror(errno));
	}
	*ret_block = s->block;
	return n;
}

static int read_archive(struct archive *a, const char *path, struct source *s, struct content *c)
{
	struct archive_entry *entry;

	NVW_FAIL_IF(libarchive->read_support_filter_all(a) < ARCHIVE_WARN ||
			    libarchive->read_support_format_raw(a) != ARCHIVE_OK ||
			    libarchive->read_support_format_empty(a) != ARCHIVE_OK ||
			    libarchive->read_open(a, s, NULL, read_block, NULL) != ARCHIVE_OK,
		NVW_E_INPUT, "%s: %s", path, libarchive->error_string(a));

	const int header = libarchive->read_next_header(a, &entry);

	NVW_FAIL_IF(header == ARCHIVE_EOF, NVW_E_INPUT, "%s: the file is empty", path);
	NVW_FAIL_IF(header != ARCHIVE_OK, NVW_E_INPUT, "%s: %s", path, libarchive->error_string(a));
	return read_all(a, path, c);
}

int bytes_slurp(const char *path, char **ret_content, uint64_t *ret_bytes)
{
	struct source s;

	NVW_FAIL_IF(nvw_input_open_stream(path, &s.fd), NVW_E_INPUT, "%s", nvw_error_message());
	const int missing = archive_load(path, &libarchive);

	if (missing) {
		close(s.fd);
		return missing;
	}

	struct archive *const a = libarchive->read_new();
	struct content c = {0};
	int error = a ? read_archive(a, path, &s, &c) : nvw_fail(NVW_E_MEMORY, "no memory to read %s", path);

	libarchive->read_free(a);
	close(s.fd);
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
