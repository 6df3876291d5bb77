/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs host readers during a run: threads that look up and scan without pause, measure latencies and check
 * their results. The emulation stays on the caller's thread.
 *
 * Checked while they run, with each key regarded as a register that the emulation writes:
 *   (1) a look-up finds at least the newest version found by any reader before it began;
 *   (2) so does a scan, for each of its keys, and it omits no key that was present before it began;
 *   (3) durable bytes are complete and match the index.
 * Observations are kept in memory shared with child processes, so that they survive a killed run:
 *   (4) nvw__sightings_judge() checks that a recovered pool has lost nothing that was observed.
 */
#ifndef READERS_DRIVE_H
#define READERS_DRIVE_H

#include <nvw/workload.h>

enum { NVW__READERS_MAX = 64 };

struct nvw__sightings;
struct nvw__drive;

/* Shared memory for the readers' observations of plan's keys; NULL with an error. Create it before forking
 * the run. */
struct nvw__sightings *nvw__sightings_create(
	const struct nvw_workload *workload, void *plan, unsigned readers);
void nvw__sightings_destroy(struct nvw__sightings *sightings);

/* Number of keys that any reader has observed; number of look-ups and scans so far. */
uint64_t nvw__sightings_keys(const struct nvw__sightings *sightings);
uint64_t nvw__sightings_reads(const struct nvw__sightings *sightings);

/* Check (4), and the violations that readers found by (1) to (3). The readers must have ended or died. 0,
 * NVW_E_INCONSISTENT or an error. */
NVW_CHECKED int nvw__sightings_judge(const struct nvw__sightings *sightings,
	const struct nvw_workload *workload, void *plan, struct nvw_pool *pool,
	struct nvw_findings *findings);

/* After setup(): publishes the durable content and starts the readers; each has read at least once when this
 * returns. scans is the percentage of reads that are scans. */
NVW_CHECKED int nvw__drive_start(const struct nvw_workload *workload, void *plan, struct nvw_machine *machine,
	struct nvw__sightings *sightings, unsigned scans, uint64_t seed, struct nvw__drive **ret_drive);

/* Called from the machine's acknowledgement callback. */
NVW_CHECKED int nvw__drive_acknowledged(struct nvw__drive *drive, uint64_t first, uint64_t count);

/* Ends the readers; only then can figures be described. NULL is allowed. */
void nvw__drive_stop(struct nvw__drive *drive);
NVW_CHECKED int nvw__drive_describe(
	const struct nvw__drive *drive, uint64_t acknowledged, struct nvw_description *description);
void nvw__drive_destroy(struct nvw__drive *drive);

#endif
