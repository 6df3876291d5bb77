/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec: the crash states that one run of a program leaves, and the cures of their findings. */
#ifndef CLI_CRASH_ONCE_H
#define CLI_CRASH_ONCE_H

#include "tested.h"

NVW_CHECKED int crash_once_run(
	struct crash_tested *tested, const struct ct_options *options, struct ct_result *ret_result);

#endif
