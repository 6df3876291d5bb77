/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist barriers and the persistency models (gope18 5 and 6).
 *
 *	epoch            gope18 6.1, proposed: a barrier stalls its group until its stores are durable
 *	buffered epoch   gope18 6.1, alternative: a barrier only begins an epoch; lines carry their epoch, and
 *	                 what leaves the L2 waits for what must persist before it
 *
 * Under epoch persistency a barrier is the steps of gope18 6.1: the group's work-items arrive and stall;
 * a p_flush marker follows what the NVW-FIFO of the L1 holds, then what that of the L2 holds, each entry
 * written back on the way; when the NVRAM has completed all of it, an acknowledgement un-stalls the group.
 */
#ifndef EMU_PERSIST_H
#define EMU_PERSIST_H

#include "../machine.h"
#include "../record.h"

/* The lanes of a wavefront arrive at a persist barrier; they are parked, or run on, as the model says. */
void persist_barrier(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t);

/* Every work-item of the group, of the kernel has arrived (from emu_park). */
void persist_group_arrived(struct nvw_machine *m, struct emu_group *group, emu_time t);
void persist_kernel_arrived(struct nvw_machine *m, emu_time t);

/* Operations have been said to be durable by a lane, or (NULL) by the host: passed on now under epoch
 * persistency, when what came before the lane's last barrier is durable under buffered epoch persistency. */
void persist_acknowledge(
	struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, uint64_t first, uint64_t count);

/* The host learns of it. */
void persist_tell(struct nvw_machine *m, const struct record_ack *ack);

/* Everything stored so far is durable when this returns; m->now moves on. */
void persist_everything(struct nvw_machine *m);

/* ---- buffered.c: what buffered epoch persistency does instead ------------------------------ */

int buffered_init(struct nvw_machine *m);
void buffered_finish(struct nvw_machine *m);
void buffered_launch(struct nvw_machine *m);
/* The lanes pass a barrier; they run on. */
void buffered_barrier(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group);
/* Lanes have returned: they hold nobody up any more. */
void buffered_return(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes);
void buffered_acknowledge(
	struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, const struct record_ack *ack);
/* A write-back from the L2 enters the buffer. Takes over the line's tag and store records. */
emu_time buffered_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, uint64_t mask,
	uint32_t stores, emu_time t);
void buffered_forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
/* Lets time pass until the buffer is empty and everything in it durable. */
void buffered_drain_all(struct nvw_machine *m);

#endif
