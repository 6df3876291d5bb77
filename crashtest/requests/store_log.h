/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store log that pmemcheck writes (valgrind --tool=pmemcheck --log-stores=yes), as a persist log.
 *
 *	START|REGISTER_FILE;path;address;bytes;offset|STORE;address;value;bytes|
 *	FLUSH;address;bytes|FENCE|...|STOP
 *
 * Numbers are hexadecimal. A STORE may be followed by its stack, innermost frame first; a frame that ends in
 * "(file.c:123)" gives the source location. Markers (NAME.BEGIN, NAME.END) are skipped.
 */
#ifndef CRASHTEST_STORE_LOG_H
#define CRASHTEST_STORE_LOG_H

#include "../crash.h"

struct ct_store_log {
	uint64_t stores, flushes, fences, markers;
	uint64_t elsewhere; /* stores to other registered files, left out */
	uint64_t kernels;   /* that ran on a machine */
	uint64_t threads;   /* threads that may have stored; 0: unknown */
	bool grouped;       /* as in ct_result */
	bool of_files;      /* its model is "files" */
};

/*
 * Converts the log at path into a persist log for an image of image_bytes, written to log_fd. If the log
 * registers several files, the one whose name matches the end of image_path is used. NVW_E_DAMAGED names path
 * and offset of the error: a truncated log, an invalid operation or number, an address outside the image.
 */
NVW_CHECKED int ct_store_log_convert(const char *path, const char *image_path, uint64_t image_bytes,
	int log_fd, struct ct_store_log *ret_counts);

#endif
