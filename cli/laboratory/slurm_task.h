/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task of a job array leaves in the folder that it shares with the front end. */
#ifndef CLI_SLURM_TASK_H
#define CLI_SLURM_TASK_H

#include "sweep.h"

enum { SLURM_LIST_BYTES_MAX = 1 << 30 };

/* A whole file or none. */
NVW_CHECKED int slurm_write(const char *folder, const char *name, int mode, const char *text);
/* False if there is none that is whole. Release by sweep_outcome_end() in both cases. */
bool slurm_read_outcome(const char *folder, const char *key, struct sweep_outcome *ret_outcome);

#endif
