/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of libarchive that input files need. The library is loaded when the first such file is read:
 * with all that it depends on it takes as long as half of a small run.
 */
#ifndef WORKLOADS_ARCHIVE_H
#define WORKLOADS_ARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include <nvw/pool.h>

#define ARCHIVE_FUNCTIONS(X)         \
	X(error_string)              \
	X(read_data)                 \
	X(read_free)                 \
	X(read_new)                  \
	X(read_next_header)          \
	X(read_open)                 \
	X(read_support_filter_all)   \
	X(read_support_format_empty) \
	X(read_support_format_raw)   \
	X(set_error)

struct archive_functions {
#define X(name) __typeof__(&archive_##name) name;
	ARCHIVE_FUNCTIONS(X)
#undef X
};

/* The functions, for the whole process. NVW_E_SYSTEM, with path in the message, if the library is missing. */
NVW_CHECKED int archive_load(const char *path, const struct archive_functions **ret);

#endif
