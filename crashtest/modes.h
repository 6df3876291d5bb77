/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ways to crash a subject. Options have their defaults filled in. */
#ifndef CRASHTEST_MODES_H
#define CRASHTEST_MODES_H

#include "crash.h"

NVW_CHECKED int ct_run_kill(const struct ct_subject *subject, const struct ct_options *options,
	struct ct_result *ret_result);
NVW_CHECKED int ct_run_observed(const struct ct_subject *subject, const struct ct_options *options,
	struct ct_result *ret_result);

/* A file without a name for a persist log, or -1 with a message. */
int ct_log_file(void);

#endif
