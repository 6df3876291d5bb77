/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drives host readers beside a run: threads that look up and scan without pause, measure, and judge what they see. The
 * emulation stays on the caller's thread.
 *
 * What is judged while they run, of each key as of a register that the emulation writes:
 *   (1) a look-up finds at least the version that any reader had found before it began;
 *   (2) so does a scan, of each key in it, and it leaves none out that was there before it began;
 *   (3) durable bytes are whole, and what the index promised.
 * What was seen lies in memory that is shared with child processes, so that it outlives a run that is killed:
 *   (4) nvw__sightings_judge() asks of a recovered pool that nothing seen was taken back.
 */
#ifndef READERS_DRIVE_H
#define READERS_DRIVE_H

#include <nvw/workload.h>

enum { NVW__READERS_MAX = 64 };

struct nvw__sightings;
struct nvw__drive;

/* Shared memory for what readers see of plan's keys; NULL with an error. Created before the run is forked off. */
struct nvw__sightings *nvw__sightings_create(
	const struct nvw_workload *workload, void *plan, unsigned readers);
void nvw__sightings_destroy(struct nvw__sightings *sightings);

/* Keys of which something was seen, by any reader; look-ups and scans so far. */
uint64_t nvw__sightings_keys(const struct nvw__sightings *sightings);
uint64_t nvw__sightings_reads(const struct nvw__sightings *sightings);

/* (4), and what readers reported by (1) to (3). The readers have ended, or died. 0, NVW_E_INCONSISTENT, an error. */
NVW_CHECKED int nvw__sightings_judge(const struct nvw__sightings *sightings,
	const struct nvw_workload *workload, void *plan, struct nvw_pool *pool,
	struct nvw_findings *findings);

/* After setup(): publishes what is there and starts the readers; each has read something when this returns. scans: of 100
 * reads. */
NVW_CHECKED int nvw__drive_start(const struct nvw_workload *workload, void *plan, struct nvw_machine *machine,
	struct nvw__sightings *sightings, unsigned scans, uint64_t seed, struct nvw__drive **ret_drive);

/* From the machine's callback. */
NVW_CHECKED int nvw__drive_acknowledged(struct nvw__drive *drive, uint64_t first, uint64_t count);

/* Ends the readers: from now on figures can be described. NULL is fine. */
void nvw__drive_stop(struct nvw__drive *drive);
NVW_CHECKED int nvw__drive_describe(
	const struct nvw__drive *drive, uint64_t acknowledged, struct nvw_description *description);
void nvw__drive_destroy(struct nvw__drive *drive);

#endif
