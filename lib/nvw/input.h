/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input files: every reader opens and reads its input through these functions.
 *
 * An input file is a regular file or, where it is read from its beginning to its end, a pipe. Folders,
 * devices and sockets are refused; no function waits for a pipe without a writer. All functions may be called
 * from any thread. Failures are negative, and the message names the path.
 */
#ifndef NVW_INPUT_H
#define NVW_INPUT_H

#include <stdint.h>

#include <nvw/errors.h>

#define NVW_INPUT_CHECKED __attribute__((warn_unused_result))

/*
 * Opens a regular file; access is O_RDONLY or O_RDWR. The caller closes *ret_fd. -errno if it cannot be
 * opened, NVW_E_INPUT if it is not a regular file.
 */
NVW_INPUT_CHECKED int nvw_input_open(const char *path, int access, int *ret_fd);

/*
 * Opens a regular file or a pipe for reading. A pipe without a writer is given one second to get one. The
 * caller closes *ret_fd. Errors are those of nvw_input_open().
 */
NVW_INPUT_CHECKED int nvw_input_open_stream(const char *path, int *ret_fd);

/*
 * Reads the whole content of a regular file or a pipe, and appends a 0 byte that *ret_bytes does not count.
 * The caller frees *ret_content. NVW_E_INPUT also if there are more than most bytes or if reading fails;
 * NVW_E_MEMORY.
 */
NVW_INPUT_CHECKED int nvw_input_read(
	const char *path, uint64_t most, char **ret_content, uint64_t *ret_bytes);

#endif
