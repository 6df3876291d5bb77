/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec --mode=kill: the crash states of a program that SIGKILL ends at events of its run. */
#ifndef CLI_CRASH_KILLS_H
#define CLI_CRASH_KILLS_H

#include "tested.h"

/* One run to its end, which has to be right; then the kills. */
NVW_CHECKED int crash_kills_run(
	struct crash_tested *tested, const struct ct_options *options, struct ct_result *ret_result);

#endif
