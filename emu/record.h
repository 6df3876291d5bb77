/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run leaves behind about NVRAM, and whether it was right: the persist log and the durability
 * checker.
 *
 * The checker compares, as it happens, what becomes durable with equations 1 to 3 of gope18 5: a store to
 * NVRAM belongs to three streams (its work-item, its work-group, its kernel), and in each to the epoch
 * that the barriers before it in program order give. Every store is recorded; the record travels with the
 * bytes from cache to cache and with the write-back. When a write-back is issued, from when on it may be
 * durable in part, no store of an earlier epoch of any of its stores' streams may be less than durable;
 * and no store may come after one of a later epoch has been issued (NVW_E_MODEL).
 *
 * Guarantee: the checker knows stores, issues and completions, and nothing of caches, NVW-FIFOs and
 * barriers' implementation; it cannot make the mistake that it looks for.
 */
#ifndef EMU_RECORD_H
#define EMU_RECORD_H

#include "machine.h"

/* Sets up log and checker as the configuration says. */
int record_init(struct nvw_machine *m, struct nvw_log_writer *log);
void record_finish(struct nvw_machine *m);

/* A store by a lane to NVRAM at off is now in line (of an L1 or the L2). */
void record_store(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, struct emu_line *line,
	nvw_off off, unsigned bytes, uint64_t value);
/* The stores of from are now carried by to (whose own come first). */
void record_move(struct nvw_machine *m, struct emu_line *to, struct emu_line *from);
/* Of from's stores, those of these bytes alone are now carried by to, which had none. */
void record_split(struct nvw_machine *m, struct emu_line *to, struct emu_line *from, uint64_t bytes);

void record_issue(struct nvw_machine *m, const struct emu_nvram_write *write);
void record_done(struct nvw_machine *m, const struct emu_nvram_write *write);

/* Stores that the checker waits for: recorded, and not durable yet. Those that the host has overwritten stay. */
uint64_t record_outstanding(const struct nvw_machine *m);

void record_launch(struct nvw_machine *m, uint64_t work_items);
void record_kernel_finish(struct nvw_machine *m);
/* The streams of this context's work-items get no more stores. */
void record_close_wavefront(struct nvw_machine *m, struct emu_wavefront *wf);
void record_close_group(struct nvw_machine *m, struct emu_group *group);

/* What a persist barrier's log records say. */
struct record_barrier {
	const struct nvw_site *site;
	enum nvw_group scope;
	uint64_t work_item, group;
	uint32_t work_items, epoch;
	uint64_t lanes; /* of work-item scope, from work_item on */
};
void record_barrier(struct nvw_machine *m, const struct record_barrier *barrier, bool persisted);
/* Acknowledged by a work-item in an epoch of its streams; kernel 0: by the host. */
struct record_ack {
	uint64_t first, count;
	uint32_t kernel;
	const struct nvw_site *site; /* NULL: the host's */
	uint64_t work_item, group;
	uint32_t epoch_wi, epoch_wg, epoch_kr;
};
void record_ack(struct nvw_machine *m, const struct record_ack *ack);
/* The host has waited until everything was durable. */
void record_drained(struct nvw_machine *m);
void record_host_write(struct nvw_machine *m, nvw_off off, const uint8_t *data, uint64_t n);

#endif
