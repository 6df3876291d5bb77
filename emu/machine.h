/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the emulated machine: declarations shared by the files of emu/.
 *
 *	launch, exec, groups (wavefronts, work-groups)  the order of execution
 *	  -> access (coalescing)                        the lines that an instruction accesses
 *	  -> persist (barriers)                         the order in which NVRAM lines are written back
 *	    -> protocol (table) -> actions              a coherence protocol's actions on lines
 *	      -> cache, network, memory                 places of the bytes, and times
 *	        -> nvram                                writes in flight, durability
 *	          -> devices                            the list of devices and their write queues
 *	            -> events                           the event heap
 *
 * Calls go downwards; later actions are events. Time is in picoseconds. Transactions are atomic and run in
 * the order in which their wavefronts issue them; the resources on their path (L1 port, links, bank, channel)
 * record when they are busy (resource.c), which determines latency and contention.
 *
 * This header has the machine as a whole. Its parts, none of which knows it, come first:
 *
 *	line, cache, resource    the bytes of a line with their number; caches; what serves a request at a
 *				 time
 *	levels, network          CUs with L1s, L2, L3, directory; links
 *	devices                  memory devices, writes in flight
 *	wavefront, events        work-items, work-groups; events and the running kernel
 *
 * What looks into several of them is behind it: booking.h, device_memory.h.
 */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H

#include <assert.h>

#include "core/each.h"
#include "memory/devices.h"
#include "emu.h"
#include "time/events.h"
#include "memory/network.h"
#include "observe/watch.h"

/* Each CU of a machine. */
#define EMU_EACH_CU(cu, m) NVW_EACH(cu, (m)->cus, (m)->config.cus)

enum { EMU_FJ_A_PJ = 1000 };
enum { EMU_HOST_LINE = 64, EMU_HUGE_PAGE = 2 << 20 }; /* of the machine that the emulator runs on */

struct coh_request;
struct coh_action_info;
struct coh_event;
struct persist_model;

/* waiting.c: rows by source place and cause. */
struct emu_waited_table {
	struct emu_waited *rows;
	unsigned count, capacity;
};

struct nvw_machine {
	struct emu_config config;
	emu_time cycle_ps;
	emu_time now;
	int error; /* the run failed; its message is set */

	struct emu_device device[EMU_DEVICES_MAX]; /* devices.c */
	unsigned device_count;
	uint8_t window[EMU_WINDOWS]; /* [window]: the device's index */
	uint16_t persistent; /* bit w: persist barriers and NVW-FIFOs treat the lines of window w as NVRAM */
	bool is_volatile;    /* DRAM-only: NVRAM addresses are served as DRAM */
	struct nvw_pool *pool; /* the first of the run, the caller's; NULL: none */
	char *nvram_base;      /* device address of the range of the run's pools */

	const struct coh_protocol *protocol;
	const struct coh_row *rows[6][4][6][4]; /* by instruction, order, scope, place */
	uint32_t hits;                          /* protocol/hits.c: bits of kinds of instructions */
	struct emu_cu *cus;
	struct emu_l2 l2;
	struct emu_l3 l3;
	struct emu_directory directory;
	struct emu_network network;
	struct emu_nvram nvram;
	struct emu_exec exec;
	struct emu_races *races;             /* NULL: no race detection */
	struct emu_undo *undo;               /* NULL: no check of the undo log */
	struct emu_record *record;           /* persist log and checker: NULL if neither is on */
	const struct persist_model *persist; /* persist/ */
	void *persist_data;                  /* of the model */
	emu_time l1_spared, l2_spared;       /* of the latency: what a look-up that misses does not take */
	bool renews;         /* lines of L1s, where an acquire has invalidated them (l1.acquire=off) */
	bool tells_sharers;  /* coh_tells_sharers() */
	bool recalling;      /* an L1 empties itself for a recall */
	bool loads_complete; /* an issued load is done before the next instruction (gpu.consistency) */
	emu_time *loads;     /* loads.c: completion times of those in flight; NULL: not counted */
	struct {
		struct emu_late *first; /* the oldest that waits */
		struct emu_late_result *results;
		uint64_t count, capacity;       /* of results */
	} late;                                 /* late_loads.c */
	struct emu_store_buffer *store_buffers; /* store_buffer.h: by wavefront; NULL: there are none */
	struct coh_wait *waits;                 /* protocol/wait.c: delayed requests, the youngest first */
	struct emu_waited_table waited;
	struct coh_turns *turns;   /* protocol/turns.h; NULL: the protocol has none */
	struct coh_leases *leases; /* protocol/leases.h; likewise */
	struct coh_queue *queues;  /* protocol/queue.c: lines that several CUs wait for */
	struct coh_lock lock;      /* protocol/lock.c */
	emu_time head_start;       /* of the current request: how long ago it was sent */
	emu_time alarm;            /* of the clock or the power cut, whichever is first */
	struct emu_power_cut cut;
	struct emu_clock clock;
	struct {
		void (*told)(void *context, const char *message); /* NULL: no handler */
		void *context;
	} host_fault;
	struct {
		const char *file; /* NULL: none */
		uint32_t line;
		unsigned by;
	} narrow;
	struct {
		unsigned count;
		struct emu_inserted barrier[EMU_INSERTED_MAX];
		struct nvw_site site[EMU_INSERTED_MAX];
		struct emu_inserted_item *item; /* by global number */
		uint64_t items, met;
	} inserted;

	struct {
		uint32_t (*next)(struct nvw_machine *m);           /* which event; NULL: time decides */
		unsigned (*choose)(void *context, unsigned count); /* of next: time has no meaning */
		void *context;
	} scheduler;
	struct emu_chosen_order *order; /* order.c; NULL: nobody asks */
	struct {
		const struct coh_action_info *action;  /* NULL: none */
		void (*line)(struct coh_event *event); /* a coh_line_action */
	} fault;                                       /* left out */

	struct emu_watch *watch; /* watch.h; NULL: no observer */
	struct emu_stats stats;
	emu_time measured_from, measured_to; /* to: 0 while it goes on */
};

/* A wavefront's number in the running kernel, wherever its work-group is. */
static inline uint64_t emu_wavefront_number(const struct nvw_machine *m, const struct emu_wavefront *wf)
{
	return wf->group->id * m->exec.group_wavefronts + wf->first_local / m->config.wavefront_width;
}

/* ---- watch.c: sights for an observer --------------------------------------------------------- */

static inline bool emu_is_watched(const struct nvw_machine *m)
{
	return __builtin_expect(m->watch != NULL, 0);
}
/* There is an observer: the callers of all of these look. */
__attribute__((cold)) void emu_tell(struct nvw_machine *m, const struct emu_sight *sight);
/* The wavefront's lanes issue an instruction at t, which ends the stall of its previous one. */
__attribute__((cold)) void emu_watch_issue(
	struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes, emu_time t);
/* A work-group is resident from t on, or until t. */
__attribute__((cold)) void emu_watch_enter(struct nvw_machine *m, const struct emu_slot *slot, emu_time t);
__attribute__((cold)) void emu_watch_leave(struct nvw_machine *m, const struct emu_slot *slot, emu_time t);
__attribute__((cold)) void emu_watch_wait(struct nvw_machine *m, const struct emu_wavefront *wf,
	const char *cause, const struct nvw_site *site, emu_time from, emu_time to);
/* Books a bank or a link, as emu_book() does, which is busy then. */
__attribute__((cold)) emu_time emu_watch_book(struct nvw_machine *m, struct emu_resource *r,
	enum emu_sight_kind kind, uint32_t unit, const char *what, emu_time t, emu_time occupancy);
/* A flush or an invalidation of a whole L1, which this statistic counts. */
__attribute__((cold)) void emu_watch_cache(struct nvw_machine *m, enum emu_sight_kind kind,
	const struct emu_cu *cu, const uint64_t *stat, emu_time from, emu_time to);
/* A read or a write of a line by its device. */
__attribute__((cold)) void emu_watch_memory(
	struct nvw_machine *m, enum emu_sight_kind kind, emu_line_id id, emu_time from, emu_time to);
void emu_watch_finish(struct nvw_machine *m);

/* ---- inserted.c: persist barriers that the source does not have ------------------------------ */

/* The barriers, as bits, that a work-item meets before a request; the scope of one of the source. */
uint32_t emu_inserted_before(struct nvw_machine *m, uint64_t id, const struct nvw__request *r);
enum nvw_group emu_widened(struct nvw_machine *m, const struct nvw_site *site, enum nvw_group group);
void emu_inserted_finish(struct nvw_machine *m);

/* ---- fault.c: plain code that reads or writes device memory ---------------------------------- */

/* Starts catching faults, on the calling thread. NVW_E_SYSTEM, NVW_E_MEMORY. */
NVW_CHECKED int emu_faults_catch(struct nvw_machine *m);
/* Stops catching faults. */
void emu_faults_release(struct nvw_machine *m);
/* After a work-item was abandoned: sets the message of m->error. */
void emu_faults_tell(struct nvw_machine *m);

/* ---- protocol/queue.c ------------------------------------------------------------------------ */

/* Drops the waiting requests of a kernel that did not finish. Events own the queues themselves. */
void coh_queue_forget(struct nvw_machine *m);

/* ---- protocol/lock.c ------------------------------------------------------------------------- */

/* Opens the lock of a kernel that did not finish. */
void coh_lock_forget(struct nvw_machine *m);

/* The counter at this offset of the statistics. */
static inline uint64_t *emu_counter(struct nvw_machine *m, size_t offset)
{
	return (uint64_t *)(void *)((char *)&m->stats + offset);
}

/* ---- protocol/leases.c ----------------------------------------------------------------------- */

int coh_leases_init(struct nvw_machine *m);
void coh_leases_finish(struct nvw_machine *m);

/* ---- protocol/turns.c ------------------------------------------------------------------------ */

int coh_turns_init(struct nvw_machine *m);
void coh_turns_finish(struct nvw_machine *m);
/* A kernel begins: an EMU that never sleeps is awake. */
void coh_turns_launch(struct nvw_machine *m);
/* Drops the waiting requests of a kernel that did not finish, and the EMU's events. */
void coh_turns_forget(struct nvw_machine *m);

/* ---- waiting.c ------------------------------------------------------------------------------- */

/* Counts a delay of a request of the source line, and tells an observer, if any, that the wavefront (NULL:
 * none) waited. */
void emu_count_wait(struct nvw_machine *m, const struct emu_wavefront *wf, const struct nvw_site *site,
	enum emu_cause cause, emu_time from, emu_time to);
void emu_forget_waits(struct nvw_machine *m);

/* ---- loads.c: loads in flight, where gpu.loads bounds them (m->loads) ------------------------ */

int emu_loads_init(struct nvw_machine *m);
void emu_loads_finish(struct nvw_machine *m);
/* A new work-group has the context: it has none. */
void emu_loads_forget(struct nvw_machine *m, const struct emu_wavefront *wf);
/* When each of the lanes may issue another one; when all that they have issued are done. */
emu_time emu_loads_room(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
emu_time emu_loads_done(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* They have issued one that is done then. */
void emu_loads_add(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes, emu_time done);

/* ---- late_loads.c: loads that wait in front of the L1 (RMO, where a scheduler chooses) ------- */

/* In the place of its completion time: the load's value is a ticket, an index of m->late.results. */
#define EMU_LATE UINT64_MAX
struct emu_late_result {
	uint64_t value;
	emu_time ready;
};
struct emu_late;
/* The lanes' issued loads wait from t on, and their requests have tickets; false: they do not. */
bool emu_late_issue(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);
/* The lanes come to their next instruction: performs the loads that have to be before it. */
void emu_late_complete(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* Forgets all tickets, and loads whose events are dropped. */
void emu_late_forget(struct nvw_machine *m);

/* ---- deadlock.c ------------------------------------------------------------------------------ */

/* No event is left, but work-items are: NVW_E_DEADLOCK, with the places of their waits and their causes. */
int emu_deadlock(struct nvw_machine *m);

/* ---- served.c -------------------------------------------------------------------------------- */

/* The lanes, if there are any, have been served: those who look at accesses are told. */
void emu_tell_served(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* Counts this latency for a memory instruction of this kind. */
void emu_count_latency(struct nvw_machine *m, unsigned kind, emu_time ps);
/* The delayed request of these lanes completes at t. */
void emu_access_served(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);

/* ---- access.c -------------------------------------------------------------------------------- */

/* Executes the memory instruction posted by the lanes of mask; returns when its results are available. Sets
 * m->error if an address is bad. If requests are delayed (wf->queued), the caller must not wake the
 * wavefront: emu_access_served() does. */
emu_time emu_access(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);

#endif
