/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of a run in parts, as CSV: a row for each interval of simulated time or each launch, with every
 * statistic; or for each CU or work-group, with its stalls, delays, flushes and invalidations. Times are in
 * ps, and count from the begin of the measured part.
 */
#ifndef CLI_SERIES_H
#define CLI_SERIES_H

#include <emu.h>

struct cli_series;

enum cli_per { CLI_PER_INTERVAL, CLI_PER_KERNEL, CLI_PER_CU, CLI_PER_GROUP };

/* Creates the file. interval_ps, not 0, is only for CLI_PER_INTERVAL. Release by cli_series_free(), also
 * after an error. */
NVW_CHECKED int cli_series_create(
	const char *path, enum cli_per per, uint64_t interval_ps, struct cli_series **ret_series);
/* NULL is allowed. A file that was not finished is removed. */
void cli_series_free(struct cli_series *series);

/* The measured part begins. */
NVW_CHECKED int cli_series_start(struct cli_series *series, struct nvw_machine *machine);
void cli_series_see(struct cli_series *series, const struct emu_sight *sight);
/* When the machine's clock is to ring next, UINT64_MAX: never; it rings. NVW_E_USAGE if there are too many
 * intervals. */
uint64_t cli_series_next(const struct cli_series *series);
NVW_CHECKED int cli_series_ring(struct cli_series *series);

/* It has ended at that time: writes what is left, and closes the file. */
NVW_CHECKED int cli_series_end(struct cli_series *series, uint64_t now_ps);

#endif
