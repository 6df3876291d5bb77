/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed files in a test's folder, for readers that take them. */
#ifndef TESTS_COMMON_COMPRESSED_H
#define TESTS_COMMON_COMPRESSED_H

#include <archive.h>
#include <archive_entry.h>

#include "common/shell.h"

/* filter: an archive_write_add_filter_...() */
static inline void write_compressed(
	const char *name, const void *content, size_t bytes, int (*filter)(struct archive *))
{
	struct archive *const a = archive_write_new();
	struct archive_entry *const entry = archive_entry_new();

	assert_int_equal(filter(a), ARCHIVE_OK);
	assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
	assert_int_equal(archive_write_open_filename(a, in_dir(name)), ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_data(a, content, bytes), bytes);
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_entry_free(entry);
	archive_write_free(a);
}

#endif
