/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Store buffers: between a wavefront and its L1, for the consistency models of CPUs (hechtman14 3).
 *
 * A store instruction completes when its store is in the buffer of its wavefront. The store leaves the buffer
 * in the background: then the protocol executes it, and it becomes visible. store_buffer.order is the order
 * in which stores leave: fifo (SC with a write buffer, TSO: each when the one before it is complete) or
 * unordered (RMO: at once, but after earlier ones to the same bytes). store_buffer.loads is the treatment of
 * waiting stores of a load's own work-item: forward (it takes their value), pass (it passes others and waits
 * for those to its bytes: the buffer cannot be read), or wait (until the buffer is empty).
 *
 * Guarantees
 *	(1) A work-item sees its own stores, and no other work-item, even of the same wavefront, sees them
 *	    before they leave the buffer.
 *	(2) Atomics, barriers, persist barriers and the return from a kernel wait until the buffer is empty.
 *	    So releases and persist barriers cover all stores before them, and a group that leaves its slot
 *	    has no buffered stores.
 *	(3) A store belongs to the epochs of its place in program order, whenever it leaves.
 *
 * Statistics: store_buffer.*, and the waits room, overlap and drain.
 */
#ifndef EMU_STORE_BUFFER_H
#define EMU_STORE_BUFFER_H

#include "../machine.h"

struct coh_request;
struct coh_wait;

/* A store's request for one line. */
struct emu_stored {
	struct emu_stored *younger; /* the next younger one in the buffer */
	struct emu_store_buffer *buffer;
	emu_line_id line;
	uint64_t lanes, bytes;
	unsigned size;
	bool is_leaving;
	bool is_of_event; /* owned by an event */
	struct {
		struct emu_saved_request request;
		uint32_t epoch_wi, epoch_wg, epoch_kr;
	} lane[]; /* of its lanes */
};

struct emu_store_buffer {
	struct emu_wavefront *wf;
	struct emu_stored *oldest, **end;
	uint64_t count;           /* stores in it, and places reserved for waiting ones */
	struct coh_wait *waiting; /* requests of the current instruction */
	const struct nvw_site
		*stalls; /* where the wavefront waits until the buffer is empty; NULL: it does not */
	emu_time since;
	void (*left)(struct nvw_machine *m, void *stored);
};

/* ---- store_buffer.c ------------------------------------------------------------------------ */

/* Sets m->store_buffers if the configuration has them. */
int emu_store_buffers_init(struct nvw_machine *m);
void emu_store_buffers_finish(struct nvw_machine *m);
/* Frees the state of a kernel that did not finish; call it before its events are dropped. */
void emu_store_buffers_forget(struct nvw_machine *m);
/* A request to the protocol, like coh_execute(). *late: the lanes delayed by COH_NOT_YET. */
emu_time emu_store_buffer_access(const struct coh_request *request, emu_time t, uint64_t *late);
/* Whether one of the lanes has a store in it to the line of its present request. */
bool emu_store_buffer_has_lines_of(
	const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* Lanes reach an instruction that needs an empty buffer: true if it is not empty. They are posted again, and
 * the wavefront gets its turn when it is. */
bool emu_store_buffer_holds(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);

/* ---- stored.c ------------------------------------------------------------------------------ */

/* Exchanges the store's requests and epochs with its wavefront's, before and after its execution. */
void emu_stored_swap(struct emu_stored *stored);
/* The store completes at t, when it leaves the buffer. */
void emu_stored_done(struct nvw_machine *m, struct emu_stored *stored, emu_time t);
const struct nvw_site *emu_stored_site(const struct emu_stored *stored, unsigned lane);

#endif
