/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Store buffers: between a wavefront and its L1, for the consistency models of CPUs (hechtman14 3).
 *
 * A store is done when it is in the buffer of its wavefront, and leaves it in the background: then it is carried out as the
 * protocol says, and is visible. store_buffer.order says in which order stores leave: fifo (SC with a write buffer, TSO: each when the
 * one before it is done) or unordered (RMO: at once, but behind earlier ones to the same line). store_buffer.loads says what
 * a load does about stores of its own work-item that wait: forward (it takes their value), pass (it passes others and waits for
 * those to its bytes: the buffer cannot be read), or wait (until the buffer is empty).
 *
 * Guarantees
 *	(1) A work-item sees its own stores, and nobody sees them before they leave the buffer: not other work-items of the
 *	    wavefront either.
 *	(2) Atomics, barriers, persist barriers and the return from a kernel wait until the buffer is empty. So releases and persist
 *	    barriers cover all stores before them, and a group that leaves its slot leaves nothing behind.
 *	(3) A store belongs to the epochs of its place in the program, whenever it leaves.
 *
 * Statistics: store_buffer.*, and the waits room, overlap and drain.
 */
#ifndef EMU_STORE_BUFFER_H
#define EMU_STORE_BUFFER_H

#include "machine.h"

struct coh_request;
struct coh_wait;

/* A store's request for one line. */
struct emu_stored {
	struct emu_stored *younger; /* the next in the buffer */
	struct emu_store_buffer *buffer;
	emu_line_id line;
	uint64_t lanes, bytes;
	unsigned size;
	bool is_leaving;
	bool is_of_event; /* an event owns it */
	struct {
		struct nvw__request request;
		uint32_t epoch_wi, epoch_wg, epoch_kr;
	} lane[]; /* of its lanes */
};

struct emu_store_buffer {
	struct emu_wavefront *wf;
	struct emu_stored *oldest, **end;
	uint64_t count;           /* stores in it, and places that are promised to those that wait */
	struct coh_wait *waiting; /* requests of the instruction under way */
	const struct nvw_site
		*stalls; /* where the wavefront waits until the buffer is empty; NULL: it does not */
	emu_time since;
	void (*left)(struct nvw_machine *m, void *stored);
};

/* ---- store_buffer.c ------------------------------------------------------------------------ */

/* m->store_buffers, if the configuration asks for them. */
int emu_store_buffers_init(struct nvw_machine *m);
void emu_store_buffers_finish(struct nvw_machine *m);
/* What is left of a kernel that did not end; before its events are forgotten. */
void emu_store_buffers_forget(struct nvw_machine *m);
/* A request on its way to the protocol, as coh_execute(). *late: of its lanes, those that are put off by COH_NOT_YET. */
emu_time emu_store_buffer_access(const struct coh_request *request, emu_time t, uint64_t *late);
/* Lanes reach what needs an empty buffer: true if that is not empty. They are posted again, and the wavefront has its turn
 * when it is. */
bool emu_store_buffer_holds(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);

/* ---- stored.c ------------------------------------------------------------------------------ */

/* The store's requests and epochs stand in for its wavefront's, or no longer: around whatever carries it out. */
void emu_stored_swap(struct emu_stored *stored);
/* It is done at t, when it leaves the buffer. */
void emu_stored_done(struct nvw_machine *m, struct emu_stored *stored, emu_time t);
const struct nvw_site *emu_stored_site(const struct emu_stored *stored, unsigned lane);

#endif
