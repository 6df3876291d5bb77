/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies of memory instructions, barriers and the structure's operations: p50, p99, p99.9 and the longest.
 */
#ifndef CLI_LATENCIES_H
#define CLI_LATENCIES_H

#include <emu.h>
#include <nvw/recovery.h>

struct cli_latencies;

/* operations: names of the structure's (nvw_workload.operations), NULL: it has none. They outlive the
 * latencies. */
NVW_CHECKED int cli_latencies_create(const char *const *operations, struct cli_latencies **ret_latencies);
void cli_latencies_free(struct cli_latencies *latencies); /* NULL is allowed */

void cli_latencies_see(struct cli_latencies *latencies, const struct emu_sight *sight);

/* Adds latency.WHAT.p50, .p99, .p999 and .max of everything that has occurred, of operations also .count.
 * Percentiles are at most 1.6 % too high. */
NVW_CHECKED int cli_latencies_describe(
	const struct cli_latencies *latencies, struct nvw_description *description);

#endif
