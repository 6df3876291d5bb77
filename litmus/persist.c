/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

int litmus_run_persist(const struct litmus_test *test, enum litmus_persistency persistency,
	const struct litmus_options *options, struct litmus_report *report)
{
	return nvw_fail(NVW_E_USAGE, "not yet");
}
