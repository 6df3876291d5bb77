/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistency models as values: the treatment of stores to NVRAM, of the lines that carry them, and of
 * persist barriers (gope18 5 and 6). A model is a file in this folder and a line in models.def; the engine
 * calls its operations at the places named here, and never asks which model it is.
 *
 *	epoch.c		gope18 6.1, proposed: a barrier stalls its group until its stores are durable
 *	buffered.c	gope18 6.1, alternative: a barrier only begins an epoch; lines carry their epoch, and
 *			what
 *			leaves the L2 waits for all earlier stores to persist
 *	strict.c	each store is durable before the next one is sent (gope18 2.2)
 *	free.c		every store is durable when it becomes visible: domain eadr
 *	off.c		a DRAM-only machine
 *
 * The functions below call the model's operation if it has one.
 */
#ifndef EMU_PERSIST_H
#define EMU_PERSIST_H

#include "../machine.h"
#include "../observe/record.h"
#include "../protocol/protocol.h"

/* A barrier that all work-items of its scope have reached. */
struct persist_barrier {
	struct record_barrier what;
	emu_time arrived;
	struct emu_wavefront *wf; /* work-item scope: the lanes that wait */
	uint64_t lanes;
	struct emu_group *group;      /* work-group scope */
	emu_time met, at_l2, durable; /* when the steps ended, for observers */
};

struct persist_model {
	struct emu_model_info info;

	/* ---- A machine's life. init sets m->persist_data, which the model owns. */
	int (*init)(struct nvw_machine *m);
	void (*finish)(struct nvw_machine *m);
	void (*launch)(struct nvw_machine *m);

	/* ---- Stores */

	/* The lanes whose stores may share a line's dirty bytes with the first one's. NULL: all. */
	uint64_t (*together)(const struct emu_wavefront *wf, uint64_t lanes);
	/* The request's lanes are about to store into its line of cu's L1 or (NULL) of the L2, which is
	 * looked up next. */
	void (*prepare)(const struct coh_request *request, struct emu_cu *cu, emu_time *t);
	/* The line has been found, and becomes dirty. */
	void (*mark)(const struct coh_request *request, struct emu_line *line);
	/* One lane has stored to NVRAM at an offset of the line. */
	void (*stored)(
		const struct coh_request *request, unsigned lane, struct emu_line *line, unsigned offset);
	/* From now on these dirty bytes of an L1 are the last ones in coherence order: the L2 takes them, or
	 * the L1 has registered them. */
	void (*latest)(struct nvw_machine *m, emu_line_id id, const struct emu_line *line, uint64_t bytes);
	/* All lanes have stored; an atomic may have stored nothing. */
	void (*settle)(struct nvw_machine *m, struct emu_line *line);
	/* The wavefront's instruction completes at t; wakes it then or later. NULL: then. */
	void (*wake)(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t);

	/* ---- Lines on their way */

	/* A line with this tag is about to leave the L1. Returns when all lines that must leave before it
	 * have left. */
	emu_time (*evict_earlier)(struct nvw_machine *m, struct emu_cu *cu, uint32_t tag, emu_time t);
	/* The dirty bytes of an L1's line are about to be merged into the L2's. */
	void (*merge)(struct nvw_machine *m, struct emu_line *below, emu_line_id id, struct emu_line *line,
		emu_time *t);
	/* Some of the line's dirty bytes leave for the NVRAM, with its tag; the rest keeps the tag too. */
	void (*split)(struct nvw_machine *m, struct emu_line *line, emu_line_id id, emu_time *t);
	/* The bytes of mask leave the L2 with their store records. Returns when the line may be reused. NULL:
	 * they go to the NVRAM. */
	emu_time (*write)(struct nvw_machine *m, emu_line_id id, struct emu_line *line, uint64_t mask,
		uint32_t stores, emu_time t);
	/* Overlays to with bytes that the model holds back. */
	void (*forward)(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
	/* A write with this tag, which is not 0, is durable. */
	void (*done)(struct nvw_machine *m, uint32_t tag);
	/* Everything dirty has been written: advances time until the stores that the model holds back are
	 * durable. */
	void (*drain)(struct nvw_machine *m);

	/* ---- Barriers */

	/* Lanes reach a persist barrier. NULL: they meet the others of its scope. */
	void (*barrier)(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group,
		emu_time t);
	/* All have met; cu runs them, NULL at kernel scope. Ends with persist_release(). */
	void (*arrived)(
		struct nvw_machine *m, const struct persist_barrier *barrier, struct emu_cu *cu, emu_time t);
	/* Lanes have returned from the kernel. */
	void (*returned)(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes);
	/* A lane reports that operations are durable; ends with persist_tell(). NULL: the host is told at
	 * once. */
	void (*acknowledge)(
		struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, const struct record_ack *ack);
};

#define MACHINE_MODEL(id, symbol, name) extern const struct persist_model persist_##symbol;
#define STATE_MODEL(id, symbol, name)
#include "models.def"
#undef MACHINE_MODEL
#undef STATE_MODEL
extern const struct persist_model persist_free, persist_off;

/* ---- persist.c ----------------------------------------------------------------------------- */

/* Sets m->persist according to the configuration, after the rest of the machine has been set up. */
int persist_init(struct nvw_machine *m);
void persist_finish(struct nvw_machine *m);
/* The machine is DRAM-only from now on. */
void persist_switch_off(struct nvw_machine *m);

/* The lanes of a wavefront arrive at a persist barrier. Returns the barrier at which they meet others
 * (emu_park), or EMU_WAIT_NONE: they meet none, and the model lets them continue now or later. */
enum emu_wait persist_barrier(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t);
/* Every work-item of the group, or of the kernel, has arrived (emu_park). */
void persist_group_arrived(struct nvw_machine *m, struct emu_group *group, emu_time t);
void persist_kernel_arrived(struct nvw_machine *m, emu_time t);
/* A lane, or (NULL) the host, has reported operations as durable. */
void persist_acknowledge(
	struct nvw_machine *m, struct emu_wavefront *wf, unsigned lane, uint64_t first, uint64_t count);
/* All earlier stores are durable when this returns; m->now advances. */
void persist_everything(struct nvw_machine *m);

/* For an observer: the barrier ends at t; parts: its steps are known. Its epoch is durable. */
__attribute__((cold)) void persist_watch(
	struct nvw_machine *m, const struct persist_barrier *barrier, bool parts, emu_time t);
__attribute__((cold)) void persist_watch_epoch(struct nvw_machine *m, enum nvw_group scope, uint64_t epoch);

/* For the models: lets lanes continue, or those of a barrier; counts the barrier; tells the host. */
void persist_run_on(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);
void persist_release(struct nvw_machine *m, const struct persist_barrier *barrier, emu_time t);
/* A barrier that these lanes reach, and the epoch of their scope that it ends: the first of the work-items
 * represents them in the log. */
struct record_barrier persist_describe(const struct emu_wavefront *wf, uint64_t lanes, enum nvw_group scope);
/* Counts and logs a barrier that is reached. */
void persist_count(struct nvw_machine *m, const struct record_barrier *what);
void persist_count_epochs(struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group);
void persist_tell(struct nvw_machine *m, const struct record_ack *ack);
/* free.c: a barrier when all earlier stores are durable. */
void persist_release_at_once(
	struct nvw_machine *m, const struct persist_barrier *barrier, struct emu_cu *cu, emu_time t);

/* ---- The operations, as the engine calls them ---------------------------------------------- */

static inline void persist_launch(struct nvw_machine *m)
{
	if (m->persist->launch) {
		m->persist->launch(m);
	}
}

static inline uint64_t persist_together(
	const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes)
{
	if (!m->persist->together) {
		return lanes;
	}
	return m->persist->together(wf, lanes);
}

static inline void persist_prepare(const struct coh_request *request, struct emu_cu *cu, emu_time *t)
{
	if (request->m->persist->prepare) {
		request->m->persist->prepare(request, cu, t);
	}
}

static inline void persist_mark(const struct coh_request *request, struct emu_line *line)
{
	if (request->m->persist->mark) {
		request->m->persist->mark(request, line);
	}
}

static inline void persist_stored(
	const struct coh_request *request, unsigned lane, struct emu_line *line, unsigned offset)
{
	if (request->m->persist->stored) {
		request->m->persist->stored(request, lane, line, offset);
	}
}

static inline void persist_latest(
	struct nvw_machine *m, emu_line_id id, const struct emu_line *line, uint64_t bytes)
{
	if (m->persist->latest) {
		m->persist->latest(m, id, line, bytes);
	}
}

static inline void persist_settle(struct nvw_machine *m, struct emu_line *line)
{
	if (m->persist->settle) {
		m->persist->settle(m, line);
	}
}

static inline void persist_wake(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t)
{
	if (m->persist->wake) {
		m->persist->wake(m, wf, t);
	} else {
		emu_wake(m, wf, t);
	}
}

static inline emu_time persist_evict_earlier(
	struct nvw_machine *m, struct emu_cu *cu, const struct emu_line *line, emu_time t)
{
	if (!m->persist->evict_earlier) {
		return t;
	}
	return m->persist->evict_earlier(m, cu, line->tag, t);
}

static inline void persist_merge(
	struct nvw_machine *m, struct emu_line *below, emu_line_id id, struct emu_line *line, emu_time *t)
{
	if (m->persist->merge) {
		m->persist->merge(m, below, id, line, t);
	}
}

static inline void persist_split(struct nvw_machine *m, struct emu_line *line, emu_line_id id, emu_time *t)
{
	if (m->persist->split) {
		m->persist->split(m, line, id, t);
	}
}

static inline void persist_forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	if (m->persist->forward) {
		m->persist->forward(m, id, to);
	}
}

static inline void persist_returned(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes)
{
	if (m->persist->returned) {
		m->persist->returned(m, wf, lanes);
	}
}

#endif
