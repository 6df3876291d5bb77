/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave run shows this of a run besides its report: timeline, table of statistics, latencies, and progress
 * on a terminal. Limits end the run. One observer and one clock of the machine serve all of them.
 */
#ifndef CLI_OBSERVE_H
#define CLI_OBSERVE_H

#include <emu.h>
#include <nvw/recovery.h>

#include "../options.h"

struct cli_observers;

/* As the options say; creates their files. operations: names of the structure's, NULL: none. Release by
 * cli_observers_free(), also after an error. */
NVW_CHECKED int cli_observers_create(const struct cli_options *options, const char *const *operations,
	struct cli_observers **ret_observers);
void cli_observers_free(struct cli_observers *observers); /* NULL is allowed */

/* The measured part begins; it has ended, also by a limit or a signal. operations: how many it will
 * acknowledge, 0: unknown. */
NVW_CHECKED int cli_observers_start(
	struct cli_observers *observers, struct nvw_machine *machine, uint64_t operations);
/* Whether there are files that the end writes. NULL is allowed. */
bool cli_observers_write(const struct cli_observers *observers);
NVW_CHECKED int cli_observers_end(struct cli_observers *observers, struct nvw_description *description);
/* Operations of the measured part that have been acknowledged, for the progress. */
void cli_observers_acknowledged(struct cli_observers *observers, uint64_t count);

#endif
