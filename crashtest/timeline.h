/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The moments before a crash: what the work-items behind a finding stored, which barriers they met. Work-items of the
 * finding's places, and barriers of their groups; the moments of the cause always.
 */
#ifndef CRASHTEST_TIMELINE_H
#define CRASHTEST_TIMELINE_H

#include "stores.h"

/* Reads the log up to its record number records; image has the bytes of the state. The finding's places and cause are
 * known; fills its moments. */
NVW_CHECKED int ct_timeline_read(int log_fd, uint64_t records, const struct ct_stores *stores,
	const uint8_t *image, struct ct_finding *finding);

#endif
