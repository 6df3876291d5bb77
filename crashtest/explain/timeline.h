/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The moments before a crash: stores and barriers of the work-items behind a finding. Includes work-items of
 * the finding's places, barriers of their groups, and always the moments of the cause.
 */
#ifndef CRASHTEST_TIMELINE_H
#define CRASHTEST_TIMELINE_H

#include "stores.h"

/* Reads the log up to record number records; image has the bytes of the state. The finding's places and cause
 * must be known; fills in its moments, whose times count from begin_ps on. */
NVW_CHECKED int ct_timeline_read(int log_fd, uint64_t records, uint64_t begin_ps,
	const struct ct_stores *stores, const uint8_t *image, struct ct_finding *finding);

#endif
