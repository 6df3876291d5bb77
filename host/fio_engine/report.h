/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device did, in simulated time: for people, and as JSON. */
#ifndef FIO_ENGINE_REPORT_H
#define FIO_ENGINE_REPORT_H

#include <stdio.h>

#include "device.h"

/* A few lines; nothing about kinds of I/O that there were none of. */
void block_report_text(struct block_device *device, const char *job, FILE *to);
/* An object, with every statistic of the machine. NVW_E_SYSTEM, NVW_E_MEMORY. */
NVW_CHECKED int block_report_json(struct block_device *device, const char *job, const char *path);

#endif
