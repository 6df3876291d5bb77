/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies of memory instructions and barriers: p50, p99 and the longest. */
#ifndef CLI_LATENCIES_H
#define CLI_LATENCIES_H

#include <emu.h>
#include <nvw/recovery.h>

struct cli_latencies;

NVW_CHECKED int cli_latencies_create(struct cli_latencies **ret_latencies);
void cli_latencies_free(struct cli_latencies *latencies); /* NULL is allowed */

void cli_latencies_see(struct cli_latencies *latencies, const struct emu_sight *sight);

/* Adds latency.WHAT.p50, .p99 and .max of everything that has occurred. Percentiles are at most 1.6 % too high. */
NVW_CHECKED int cli_latencies_describe(
	const struct cli_latencies *latencies, struct nvw_description *description);

#endif
