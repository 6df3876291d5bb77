/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of a device in simulated time, as text and as JSON. */
#ifndef FIO_ENGINE_REPORT_H
#define FIO_ENGINE_REPORT_H

#include <stdio.h>

#include "device.h"

/* A few lines; kinds of I/O that did not occur are left out. */
void block_report_text(struct block_device *device, const char *job, FILE *to);
/* A JSON object, with every statistic of the machine. NVW_E_SYSTEM, NVW_E_MEMORY. */
NVW_CHECKED int block_report_json(struct block_device *device, const char *job, const char *path);

#endif
