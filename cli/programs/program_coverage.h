/* SPDX-License-Identifier: BSD-3-Clause */
/* What the runs of a program have executed, as the statements of a result. */
#ifndef CLI_PROGRAM_COVERAGE_H
#define CLI_PROGRAM_COVERAGE_H

#include <crashtest/crash.h>

#include "../../host/coverage.h"

/* A program of which nvwave-cc has built nothing has no statements. */
NVW_CHECKED int program_coverage_take(const struct host_coverage *coverage, struct ct_result *result);

#endif
