/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of a run's NVRAM: the persist log, and the durability checker.
 *
 * The checker compares durability events, when they happen, with equations 1 to 3 of gope18 5: a store to
 * NVRAM belongs to three streams (its work-item, its work-group, its kernel), and in each to the epoch given
 * by the preceding barriers in program order. Every store is recorded; the record travels with the bytes from
 * cache to cache and with the write-back. When a write-back is issued (from then on it may be partly
 * durable), all stores of earlier epochs of its stores' streams must be durable; and no store may follow
 * after one of a later epoch has been issued (NVW_E_MODEL).
 *
 * Guarantee: the checker knows only stores, issues and completions, and not caches, NVW-FIFOs or the
 * implementation of barriers; so it cannot share their errors.
 */
#ifndef EMU_RECORD_H
#define EMU_RECORD_H

#include "../machine.h"

/* Sets up log and checker according to the configuration. */
int record_init(struct nvw_machine *m, struct nvw_log_writer *log);
void record_finish(struct nvw_machine *m);

/* A store by a lane to NVRAM at off is now in line (of an L1 or the L2). */
void record_store(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, struct emu_line *line,
	nvw_off off, unsigned bytes, uint64_t value);
/* The stores of from are now carried by to (whose own come first). */
void record_move(struct nvw_machine *m, struct emu_line *to, struct emu_line *from);
/* Those of from's stores that are to these bytes are now carried by to, which had none. */
void record_split(struct nvw_machine *m, struct emu_line *to, struct emu_line *from, uint64_t bytes);

void record_issue(struct nvw_machine *m, const struct emu_nvram_write *write);
void record_done(struct nvw_machine *m, const struct emu_nvram_write *write);

/* Stores that the log has. */
uint64_t record_stores(const struct nvw_machine *m);

/* Number of stores that the checker tracks: recorded and not durable yet. Those overwritten by the host
 * remain. */
uint64_t record_outstanding(const struct nvw_machine *m);

void record_launch(struct nvw_machine *m, uint64_t work_items);
void record_kernel_finish(struct nvw_machine *m);
/* The streams of this context's work-items get no more stores. */
void record_close_wavefront(struct nvw_machine *m, struct emu_wavefront *wf);
void record_close_group(struct nvw_machine *m, struct emu_group *group);

/* The content of a persist barrier's log records. */
struct record_barrier {
	const struct nvw_site *site;
	enum nvw_group scope;
	uint64_t work_item, group;
	uint32_t work_items, epoch;
	uint64_t lanes; /* of work-item scope, from work_item on */
};
void record_barrier(struct nvw_machine *m, const struct record_barrier *barrier, bool persisted);
/* What a work-item acknowledges in the current epochs of its streams; kernel 0: by the host. */
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
