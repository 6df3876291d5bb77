/* SPDX-License-Identifier: BSD-3-Clause */
/* The log of one file of a recorded run: which of the session's files it is, and whether its record is
 * whole. */
#ifndef CLI_RECORDED_LOG_H
#define CLI_RECORDED_LOG_H

#include "recording.h"

/* The hash of an image's content; 0 if there is none. */
NVW_CHECKED int recorded_log_hash_image(const char *path, uint64_t *ret_hash);

/* After the run: writes the log and what the file was when it was mapped, and notes what the record lacks.
 * 1, 0 if the program was killed before it mapped the file, or an error. */
NVW_CHECKED int recorded_log_take(struct host_session *session, struct crash_recording *recording);

#endif
