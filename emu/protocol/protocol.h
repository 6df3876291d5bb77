/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A coherence protocol: two kinds of tables, designed as in the papers.
 *
 *   - lines: state x event -> actions and next state, one grid for the L1s and one for the L2;
 *   - synchronization: instruction (load, store, atomic load, store and read-modify-write; order; scope) ->
 *     named actions in order, as the papers print them.
 *
 * A protocol is a file that fills in struct coh_protocol, and a line in protocols.def. execute.c interprets
 * the table of instructions; the actions are in actions.c (instructions), lines.c, registry.c, directory.c
 * and sharers.c (lines): they move the bytes, account for time and messages. A protocol never touches a cache
 * itself.
 *
 * Guarantees of the shared mechanisms, under every protocol
 *   (1) A work-item sees its own stores: an access at the L2 also takes the local L1's copy of the line.
 *   (2) No dirty byte is lost: a line that leaves a cache passes its dirty bytes to the next level.
 *   (3) Inclusion, if the protocol requires it: a line in an L1 has a tag in the L2 that records the L1.
 */
#ifndef EMU_PROTOCOL_H
#define EMU_PROTOCOL_H

#include "../machine.h"

/* ---- Instructions ---------------------------------------------------------------------------- */

#define COH_INSTRUCTIONS(X)                 \
	X(LOAD, "load")                     \
	X(LOAD_READ_ONLY, "read-only load") \
	X(STORE, "store")                   \
	X(ATOMIC_LOAD, "atomic load")       \
	X(ATOMIC_STORE, "atomic store")     \
	X(RMW, "atomic RMW")

enum coh_instruction {
#define X(name, text) COH_##name,
	COH_INSTRUCTIONS(X)
#undef X
		COH_INSTRUCTION_COUNT
};

enum { COH_RELAXED = 0, COH_ACQUIRE = 1, COH_RELEASE = 2, COH_ACQ_REL = 3, COH_ORDERS, COH_SCOPES = 6 };

/*
 * Actions of an instruction, named as in the papers, and the part of the instruction that each belongs to:
 * the access, in the local L1 or elsewhere; its acquire; or its release. Statistics count the time of the
 * parts.
 */
#define COH_ACTIONS(X)                                                              \
	X(ld_l1, "LD x at L1", L1)                                                  \
	X(st_l1, "ST x at L1", L1)                                                  \
	X(rmw_l1, "RMW x at L1", L1)                                                \
	X(ld_l2, "LD x at L2", ACCESS)                                              \
	X(st_l2, "ST x at L2", ACCESS)                                              \
	X(rmw_l2, "RMW x at L2", ACCESS)                                            \
	X(flush_l1, "flush local L1", RELEASE)                                      \
	X(invalidate_l1, "invalidate local L1", ACQUIRE)                            \
	X(flush_l2, "flush L2", RELEASE)                                            \
	X(flush_all_l1s, "flush all L1s (broadcast)", ACQUIRE)                      \
	X(invalidate_all_l1s, "invalidate all L1s (broadcast)", RELEASE)            \
	X(lock_rmws, "lock all RMWs", ACCESS)                                       \
	X(unlock_rmws, "unlock all RMWs", ACCESS)                                   \
	X(register_stores, "register all dirty stores of the local L1", RELEASE)    \
	X(register_l1, "registration and data to the requesting L1", ACCESS)        \
	X(invalidate_unregistered, "invalidate local L1 (non-registered)", ACQUIRE) \
	X(forget_read_only, "forget what is read-only", ACQUIRE)                    \
	X(mark_sfifos, "marker through the S-FIFOs", RELEASE)                       \
	X(send_stores, "write x through", L1)                                       \
	X(wait_stores, "wait for the acknowledgements of stores", RELEASE)          \
	X(push_sfifos, "flush of the S-FIFOs that nobody waits for", RELEASE)       \
	X(enter_atomic, "write marker into the S-FIFO", ACCESS)                     \
	X(flush_l3, "flush L3", RELEASE)

/* Those of turns.c. */
#define COH_TURN_ACTIONS(X)                                       \
	X(await_turn, "wait for the band's epoch", ACCESS)        \
	X(acknowledge, "count the write as acknowledged", ACCESS) \
	X(ld_turn, "LD x at L1, or at L2 in an epoch of its band", L1)

/* Those of leases.c. */
#define COH_LEASE_ACTIONS(X) X(await_lease, "wait for the end of the line's leases", ACCESS)

struct coh_request;

enum coh_part { COH_PART_L1, COH_PART_ACCESS, COH_PART_ACQUIRE, COH_PART_RELEASE };

struct coh_action_info {
	/* Executes at t; returns when its successor may begin, or COH_NOT_YET (wait.c). */
	emu_time (*carry_out)(const struct coh_request *request, emu_time t);
	const char *name;
	enum coh_part part;
};
typedef const struct coh_action_info *coh_action;
#define COH_NOT_YET UINT64_MAX

/* One instruction of a wavefront on one line. */
struct coh_request {
	struct nvw_machine *m;
	struct emu_cu *cu;
	struct emu_wavefront *wf; /* NULL for kernel begin and end */
	uint64_t lanes;           /* lanes that access this line */
	uint64_t bytes;           /* bytes of the line that they access */
	bool is_sequence;         /* neighbouring lanes access neighbouring objects */
	emu_line_id line;
	unsigned kind;  /* enum nvw__kind */
	unsigned size;  /* bytes of one lane's access */
	unsigned order; /* enum nvw_order */
	enum nvw_scope scope;
	const struct coh_row *const *rows; /* of its instruction, order and scope: by place */
	/* Its progress: */
	const coh_action *steps; /* of its row; NULL: it has not begun */
	unsigned step;
	bool again;        /* this step has answered COH_NOT_YET before */
	bool is_at_l2;     /* its message has come there, where it was put off */
	bool is_released;  /* its release is complete: it waits for none any more, and repeats none */
	bool is_looked_up; /* the L1 has just been asked for the line, which is found; NULL: absent */
	struct emu_line *found;
	struct emu_stored *stored; /* a store that leaves a store buffer; NULL: of the current instruction */
	/* Continues at t, after this delay: from the step that was not ready, or from the beginning. */
	emu_time (*resume)(struct coh_request *request, emu_time waited, emu_time t);
};

static inline bool coh_is_atomic(const struct coh_request *r)
{
	return r->kind >= NVW__ATOMIC_LOAD;
}

/* Kernels begin and end without an instruction. */
static inline bool coh_is_of_kernel(const struct coh_request *r)
{
	return !r->wf;
}

#define X(name, text, part) extern const struct coh_action_info coh_##name;
COH_ACTIONS(X)
COH_TURN_ACTIONS(X)
COH_LEASE_ACTIONS(X)
#undef X

enum { COH_STEPS_MAX = 8 };

/* The place where an instruction's bytes are registered (the "prior location" of alsop16 Table 3). */
enum coh_place {
	COH_PLACE_L1,     /* in the local L1 */
	COH_PLACE_BESIDE, /* other bytes of the line are, and the protocol registers atomics alone */
	COH_PLACE_L2,     /* not registered: in the L2 or in memory */
	COH_PLACE_REMOTE, /* in another L1 */
	COH_PLACES
};
enum { COH_PLACE_SHIFT = 8 };

/*
 * A row of the synchronization table: the first matching one is used. where holds scopes (bits 0 to 5) and
 * places (bits 8 to 11), one column as in alsop16 Table 3; a row that names none of a kind matches all.
 */
struct coh_row {
	uint32_t instructions, orders, where; /* sets of bits */
	coh_action steps[COH_STEPS_MAX + 1];  /* ends with NULL */
};

/* ---- Lines ----------------------------------------------------------------------------------- */

#define COH_L1_EVENTS(X)                                         \
	X(LOAD_HIT, "load, bytes here")                          \
	X(LOAD_MISS, "load, bytes missing")                      \
	X(STORE, "store")                                        \
	X(FLUSH, "flush")                                        \
	X(PERSIST, "persist")                                    \
	X(INVALIDATE, "invalidate")                              \
	X(EVICT, "replace")                                      \
	X(RECALL, "recall by the L2")                            \
	X(STORE_OWN, "store, bytes registered here")             \
	X(REGISTER, "register")                                  \
	X(REVOKE, "bytes registered elsewhere")                  \
	X(WRITTEN_ELSEWHERE, "another L1 writes")                \
	X(READ_ELSEWHERE, "another L1 reads")                    \
	X(WRITTEN_BESIDE, "written in the write cache")          \
	X(LEFT_BESIDE, "leaves the write cache")                 \
	X(READ_BESIDE, "read, bytes missing in the write cache") \
	X(SHARED, "the line comes, others have it")              \
	X(ALONE, "the line comes, no other L1 has it")

#define COH_L2_EVENTS(X)                                         \
	X(READ_HIT, "read, bytes here")                          \
	X(READ_MISS, "read, bytes missing")                      \
	X(WRITE, "written by an L1")                             \
	X(ATOMIC, "written by an atomic")                        \
	X(FLUSH, "flush")                                        \
	X(EVICT, "replace")                                      \
	X(REGISTER, "registered by an L1")                       \
	X(RETURN, "registered bytes come back")                  \
	X(WANT, "an L1 wants to write")                          \
	X(OWN, "an L1 may write")                                \
	X(WRITTEN_BESIDE, "written in the write cache")          \
	X(LEFT_BESIDE, "leaves the write cache")                 \
	X(READ_BESIDE, "read, bytes missing in the write cache") \
	X(DISOWN, "its owner gives it up")                       \
	X(ENTER, "the directory takes it down")

#define X(name, text) COH_L1_##name,
enum coh_l1_event { COH_L1_EVENTS(X) COH_L1_EVENT_COUNT };
#undef X
#define X(name, text) COH_L2_##name,
enum coh_l2_event { COH_L2_EVENTS(X) COH_L2_EVENT_COUNT };
#undef X

/* Actions on a line. */
#define COH_LINE_ACTIONS(X)                                                            \
	X(fetch, "read the line from the next level")                                  \
	X(write_back, "write the dirty bytes to the next level")                       \
	X(note_dirty, "append to the S-FIFO")                                          \
	X(drop_clean, "forget the clean bytes")                                        \
	X(drop, "forget the line")                                                     \
	X(recall, "recall the line from the L1s")                                      \
	X(drop_unregistered, "forget what is neither dirty, registered nor read-only") \
	X(register, "register the bytes")                                              \
	X(write_through, "write the dirty bytes to memory and keep them")              \
	X(yield, "give the registered bytes back to the L2")                           \
	X(flush_cache, "flush the L1")                                                 \
	X(own, "obtain the right to write")                                            \
	X(invalidate_sharers, "invalidate sharers elsewhere")                          \
	X(downgrade_owner, "downgrade the owner")                                      \
	X(drop_copy, "forget the read cache's copy")                                   \
	X(drop_copies, "invalidate the copies in all L1s (broadcast)")                 \
	X(read_shared, "read the line, to share it or alone")                          \
	X(read_own, "read the line for ownership")                                     \
	X(ask_owner, "let the owner answer")                                           \
	X(disown, "give up the right to write")                                        \
	X(drop_granted, "forget the line if its band has had an epoch")                \
	X(lease, "lease the line to the L1 that reads it")                             \
	X(take_lease, "take the lease that comes with the line")                       \
	X(keep_lease, "remember the lease of the line that leaves")

/* Why a line moves, and the statistics that count what an L1 and the L2 write back for it. */
/* clang-format off */
#define COH_REASONS(X) \
	X(ACCESS, l1_flush_release, l2_writeback_release) \
	X(RELEASE, l1_flush_release, l2_writeback_release) \
	X(SFIFO, l1_flush_sfifo, l2_writeback_sfifo) \
	X(EVICT, l1_flush_evict, l2_writeback_evict) \
	X(PERSIST, l1_flush_persist, l2_writeback_persist) \
	X(ATOMIC, l1_flush_atomic, l2_writeback_release) \
	X(RECALL, l1_recalls, l2_writeback_evict) \
	X(REVOKE, l1_flush_revoke, l2_writeback_release) \
	X(READ, l1_flush_read, l2_writeback_read) \
	X(STORE, l1_flush_through, l2_writeback_through)
/* clang-format on */

enum coh_reason {
#define X(name, l1, l2) COH_BY_##name,
	COH_REASONS(X)
#undef X
};

/* A line under an event. */
struct coh_event {
	struct nvw_machine *m;
	struct emu_cu *cu;       /* NULL: the line is in the L2 */
	const struct emu_cu *by; /* the line is in the L2: the CU of the requesting L1; NULL: none */
	struct emu_line *line;
	emu_line_id id;
	uint64_t bytes; /* bytes of the event: of a load, a registration, a revocation */
	enum coh_reason reason;
	emu_time t; /* advanced by the actions */
};

/* The line in a CU's L1, and in the L2, where stores merge and whence L1s read; NULL: it is not there. */
static inline struct emu_line *coh_l1_line(const struct emu_cu *cu, emu_line_id id)
{
	return emu_cache_peek(&cu->l1, id);
}
static inline struct emu_line *coh_l2_line(const struct nvw_machine *m, emu_line_id id)
{
	return emu_cache_peek(&m->l2.cache, id);
}

typedef void (*coh_line_action)(struct coh_event *event);

#define X(name, text) void coh_line_##name(struct coh_event *event);
COH_LINE_ACTIONS(X)
#undef X
const struct emu_protocol_word *coh_line_action_word(coh_line_action action);

/* A cell of a grid. State 0 is always the absent line. */
struct coh_cell {
	bool possible;
	uint8_t next;
	coh_line_action actions[3]; /* in order; NULL ends */
};

/* Cells: next state with actions, no change, and impossible events. */
/* clang-format off */
#define COH_GO(state, ...) {true, (state), {__VA_ARGS__}}
#define COH_NEVER          {false, 0, {NULL}}
/* clang-format on */

/* ---- Registration (registry.c) --------------------------------------------------------------- */

/* The way in which a protocol registers. */
struct coh_registration {
	uint64_t also_registered; /* bytes that an L1 registers besides those of a line that it asks for */
	/* Bytes that a request takes besides its own from the L1 that has registered some. */
	uint64_t also_taken;
	/* A line in an L1 holds registered bytes or data; data beside registered bytes are accessed at the L2
	 * (alsop16 III.C.1). */
	bool apart;
	/* An L1 that loses a registration flushes its stores first (alsop16 III.B); losses by replacement are
	 * counted (III.C.2). */
	bool flushes_loser;
};

/* What is stored, byte for byte (the words of sinclair15 3, footnote 1); the lines of stored bytes (alsop16
 * IV.B); atomics alone, whose line changes hands as a whole (alsop16 III). */
extern const struct coh_registration coh_registers_bytes, coh_registers_lines, coh_registers_atomics;

/* ---- A protocol ------------------------------------------------------------------------------ */

struct coh_protocol {
	const char *name, *citation, *summary;

	const char *const *l1_states, *const *l2_states; /* names; [0] is the absent line */
	unsigned l1_state_count, l2_state_count;
	const struct coh_cell *l1; /* [state][event] */
	const struct coh_cell *l2;

	enum emu_scopes scopes;                      /* requirements of tests, and the claimed models */
	bool inclusive;                              /* guarantee (3) */
	const struct coh_registration *registration; /* NULL: no registration */
	/* There is a directory: an L1 owns a line before it writes it, and the directory's entry names the
	 * owner (directory.c). The entry is the L2's line, or that of a directory of its own, whose events
	 * the L2's grid has, too. Requires inclusion (in the directory) and one cache at each level. */
	bool directory;
	enum coh_local_scope {
		COH_LOCAL_GROUP,
		COH_LOCAL_CU
	} local_scope; /* HRF: whom work-group scope includes */
	/* Whether it has cells for machines with read and write caches apart; for no others. Registration and
	 * inclusion need one cache at each level. */
	enum coh_caches { COH_CACHES_TOGETHER, COH_CACHES_EITHER, COH_CACHES_APART } caches;
	/* What an L3, where the machine has one, does with stores to DRAM, unless l3.split says something
	 * else: keeps them until it replaces them; passes them on to memory; keeps them in a write cache of
	 * its own. */
	enum coh_l3 { COH_L3_KEEPS, COH_L3_PASSES, COH_L3_APART } l3;
	bool registered_last;       /* the replacement that the paper evaluates */
	bool keeps_read_only;       /* acquires do not invalidate read-only data (sinclair15 3) */
	const struct coh_row *rows; /* ends with an empty row */
	coh_action kernel_begin[COH_STEPS_MAX + 1], kernel_end[COH_STEPS_MAX + 1]; /* on every CU */
	coh_action group_barrier[COH_STEPS_MAX + 1]; /* on the group's CU when a work-group barrier opens */

	const struct coh_turns_rules *turns; /* turns.h; NULL: writes need no turn */
	bool leases;                         /* L1s keep lines until a time (leases.h) */

	/* The classifier: whether a read of these bytes of the line, in cu's L1 or (NULL) in the L2, is a
	 * hit. NULL: a hit if all of them are valid. After a miss, the grid's LOAD_MISS or READ_MISS must
	 * make them valid. */
	bool (*hits)(const struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *line,
		uint64_t bytes);

	/* Statistics: the counter for an invalidation of the local L1 by an instruction; NULL: that of
	 * acquires. */
	uint64_t *(*count_invalidation)(struct emu_stats *stats);
	/* The time of invalidations and flushes by instructions belongs to the access, not to an acquire or a
	 * release. */
	bool synchronizes_within_access;

	/* NULL if the line obeys the protocol, otherwise the violated invariant. Debug builds call it after
	 * every transaction. */
	const char *(*broken_invariant)(const struct nvw_machine *m, emu_line_id id);
};

extern const struct coh_protocol *const coh_protocols[]; /* ends with NULL */
const struct coh_protocol *coh_protocol_find(const char *name);

/* The row for an instruction; NULL if the table has none (an error in the table; a test checks this). */
const struct coh_row *coh_row_find(const struct coh_protocol *protocol, enum coh_instruction instruction,
	unsigned order, enum nvw_scope scope, enum coh_place place);

/* Lane by lane: read the lanes' bytes; write them to line; read, modify and write them. The writers mark the
 * bytes valid and dirty and record stores to NVRAM (lanes.c). */
void coh_lanes_load(const struct coh_request *request, const struct emu_line *line);
void coh_lanes_store(const struct coh_request *request, struct emu_line *line);
void coh_lanes_rmw(const struct coh_request *request, struct emu_line *line);
/* The largest number of lanes that access the same bytes: they are served one by one. */
unsigned coh_lanes_serial(const struct coh_request *request);

/* The same for neighbouring objects of so many neighbours, from these bytes of a line on. */
void coh_lanes_load_run(uint64_t *values, const uint8_t *data, unsigned size, unsigned count);

/* Sends a request to the L2 at t; the local L1's copy leaves first. Returns when it is looked up there. */
emu_time coh_send_to_l2(const struct coh_request *request, emu_time t);
/* Runs the row of an instruction. COH_NOT_YET: it is delayed, and its wavefront learns of the completion by
 * emu_access_served(). */
emu_time coh_execute(struct coh_request *request, emu_time t);
/* The rows of an instruction, by place, for its requests. */
const struct coh_row *const *coh_rows_of(
	const struct nvw_machine *m, unsigned kind, unsigned order, enum nvw_scope scope);
/* Ends the run if the request's line breaks an invariant of the protocol, in debug builds. */
void coh_check_line(const struct coh_request *request);
static inline void coh_check_invariants(const struct coh_request *request)
{
#ifdef EMU_DEBUG
	coh_check_line(request);
#endif
}
/* Runs a list of actions that belong to no instruction, on a CU. */
emu_time coh_run_steps(struct nvw_machine *m, struct emu_cu *cu, const coh_action *steps, emu_time t);

/* ---- Services of hits.c: instructions that only the local L1 learns of ----------------------- */

/* Finds out which kinds of plain instructions may go that way in the kernel that begins. */
void coh_hits_launch(struct nvw_machine *m);
static inline bool coh_may_hit(const struct coh_request *r)
{
	return r->m->hits >> r->kind & 1 && r->order == NVW_RELAXED && r->scope == NVW_SCOPE_WORKITEM;
}
/* Serves the lanes from one on, whose first objects are at an offset of request->line, line after line, up to
 * the first line that takes more than a hit. Returns the lane that it begins with; *done is not before the
 * others' completion. */
unsigned coh_serve_hits(struct coh_request *request, unsigned lane, unsigned end, unsigned offset, emu_time t,
	emu_time *done);

/* ---- Services of grid.c: events and ports ---------------------------------------------------- */

/* Applies an event of the L1's or the L2's grid to a line; returns when its actions are complete. */
emu_time coh_l1_event(struct nvw_machine *m, struct emu_cu *cu, struct emu_line *line, emu_line_id id,
	enum coh_l1_event event, enum coh_reason reason, emu_time t);
/* The same for some bytes of the line. */
emu_time coh_l1_event_on(struct nvw_machine *m, struct emu_cu *cu, struct emu_line *line, emu_line_id id,
	enum coh_l1_event event, enum coh_reason reason, uint64_t bytes, emu_time t);
emu_time coh_l2_event(struct nvw_machine *m, struct emu_line *line, emu_line_id id, enum coh_l2_event event,
	enum coh_reason reason, emu_time t);
/* The same, requested by a CU's L1. */
emu_time coh_l2_event_by(struct nvw_machine *m, const struct emu_cu *by, struct emu_line *line,
	emu_line_id id, enum coh_l2_event event, enum coh_reason reason, emu_time t);
/* Counts the words of an L1's line in the store buffer: stored and neither written through nor registered. */
void coh_count_buffered(struct emu_cu *cu, struct emu_line *line);

/* Whether the cell's event leaves the line as it is, like most: it need not be made up. */
static inline bool coh_is_nothing(const struct coh_cell *cell, const struct emu_line *line)
{
	return !cell->actions[0] && cell->possible && cell->next == line->state && !line->buffered;
}
/* The same for an event of the L1's grid. */
static inline bool coh_l1_stays(
	const struct nvw_machine *m, const struct emu_line *line, enum coh_l1_event event)
{
	return coh_is_nothing(&m->protocol->l1[line->state * COH_L1_EVENT_COUNT + event], line);
}

/* A request at the line's bank: arrives at t, occupies the bank for occupancy; returns when it is looked
 * up. */
emu_time coh_l2_access(struct nvw_machine *m, emu_line_id id, emu_time occupancy, emu_time t);
/* The same, for as long as a look-up occupies the bank. */
static inline emu_time coh_l2_look_up(struct nvw_machine *m, emu_line_id id, emu_time t)
{
	return coh_l2_access(m, id, m->config.l2.occupancy, t);
}
/* A look-up in the CU's L1 from t on, which occupies its port for occupancy; returns when it begins. */
emu_time coh_l1_port(struct nvw_machine *m, struct emu_cu *cu, emu_time t, emu_time occupancy);
/* The same, for as long as a look-up occupies the port. */
static inline emu_time coh_l1_look_up(struct nvw_machine *m, struct emu_cu *cu, emu_time t)
{
	return coh_l1_port(m, cu, t, m->config.l1.occupancy);
}
uint32_t coh_bank_node(const struct nvw_machine *m, emu_line_id id);

/* A message of so many bytes from a CU to the bank of a line, and from there to a CU. Returns when it is
 * there. */
static inline emu_time coh_to_bank(struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id,
	uint32_t bytes, enum emu_message what, emu_time t)
{
	return emu_network_send(m, emu_network_cu_node(m, cu->id), coh_bank_node(m, id), bytes, what, t);
}
static inline emu_time coh_to_cu(struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id,
	uint32_t bytes, enum emu_message what, emu_time t)
{
	return emu_network_send(m, coh_bank_node(m, id), emu_network_cu_node(m, cu->id), bytes, what, t);
}

/* ---- Services of fifos.c --------------------------------------------------------------------- */

/*
 * Stores in this cache have just made bytes of the line dirty. Records an update of NVRAM in the NVW-FIFO
 * (gope18 6) and writes back the oldest entries of FIFOs that exceed their capacity; *t advances until there
 * is room.
 */
void coh_dirtied_l1(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time *t);
void coh_dirtied_l2(struct nvw_machine *m, emu_line_id id, emu_time *t);
/* Writes back the lines named by the FIFO, oldest first, until at most keep lines remain; returns when the
 * next level has accepted the last one. */
emu_time coh_drain_l1(struct nvw_machine *m, struct emu_cu *cu, struct emu_fifo *fifo, uint32_t keep,
	enum coh_reason reason, emu_time t);
emu_time coh_drain_l2(
	struct nvw_machine *m, struct emu_fifo *fifo, uint32_t keep, enum coh_reason reason, emu_time t);
/* Flushes a whole L1 at t, for this cause; returns when the L2 has accepted the last line, also of those that
 * left before. */
emu_time coh_flush_whole_l1(struct nvw_machine *m, struct emu_cu *cu, uint64_t *cause, emu_time t);
/* Writes back every dirty NVRAM line of every cache. */
emu_time coh_flush_nvram(struct nvw_machine *m, emu_time t);

/* ---- Services of room.c ---------------------------------------------------------------------- */

/* Whether a read of the bytes hits the line, in cu's L1 or (NULL) in the L2. */
static inline bool coh_hits(
	const struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *line, uint64_t bytes)
{
	if (m->protocol->hits) {
		return m->protocol->hits(m, cu, line, bytes);
	}
	return (line->valid & bytes) == bytes;
}

/* The line in the CU's L1, brought up to the cache's generation; NULL if it is not there. If the L1 is split,
 * cache says in which of its caches: &cu->l1 to read it, cu->stores to store. */
struct emu_line *coh_l1_find(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_cache *cache, emu_line_id id);
/* The same; makes room for the line if it is absent; *t advances. */
struct emu_line *coh_l1_obtain(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_cache *cache, emu_line_id id, emu_time *t);
/* Makes room for the line, which is absent: coh_l1_find() has just said so. */
struct emu_line *coh_l1_replace(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_cache *cache, emu_line_id id, emu_time *t);
/* The L2's line, made room for; *t moves on. bytes are valid afterwards. A split L2 gives a line
 * that has the bytes or, without bytes, the write cache's line to store into. */
struct emu_line *coh_l2_obtain(struct nvw_machine *m, emu_line_id id, uint64_t bytes, emu_time *t);
/* The same, requested by a CU's L1. */
struct emu_line *coh_l2_obtain_by(
	struct nvw_machine *m, const struct emu_cu *by, emu_line_id id, uint64_t bytes, emu_time *t);
/* Informs the inclusive L2, at t, that the CU holds the line; takes no time. A directory learns it from the
 * request for the line. */
void coh_l2_include(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time t);

/* ---- Services of invariants.c: for broken_invariant, NULL or the violation ------------------- */

/* The clean bytes of an L1's line become those on the L2's side, in no time. */
void coh_renew(const struct nvw_machine *m, struct emu_line *line, emu_line_id id);
/* Whether a valid byte of an L1's line is another than the one on the L2's side. */
bool coh_differs_below(const struct nvw_machine *m, const struct emu_line *line, emu_line_id id);
/* At both levels the line's dirty bytes are valid and it is in state dirty, the same at both. */
const char *coh_broken_dirty(const struct nvw_machine *m, emu_line_id id, unsigned dirty);
/* For a protocol with registration: at most one L1 has a byte, and L1s and L2 agree. */
const char *coh_broken_registration(const struct nvw_machine *m, emu_line_id id);

/* ---- Services of wait.c: an action that answers COH_NOT_YET ---------------------------------- */

/* A delayed request. */
struct coh_wait {
	struct coh_wait *next; /* for its owner */
	struct coh_request request;
	enum emu_cause cause;
	emu_time since;
	struct coh_wait *older, **link; /* in the machine's list */
};

/*
 * Delays the request at t: the action then answers COH_NOT_YET, and is retried, with again set, when the
 * request is woken. Its earlier steps are not repeated. The caller owns the wait until it calls coh_wake() or
 * coh_try_again(); it is one malloced block, so that an event can own it (emu_schedule). NULL if there is no
 * memory, or no instruction to delay (kernel begin and end): m->error is set, and the action returns t.
 */
struct coh_wait *coh_put_off(const struct coh_request *request, enum emu_cause cause, emu_time t);
/* Retries at t. An action that knows when to retry calls it at once. */
void coh_wake(struct nvw_machine *m, struct coh_wait *wait, emu_time t);
/* Retries now, and frees the wait. */
void coh_try_again(struct nvw_machine *m, struct coh_wait *wait);
/* Frees the wait without a retry. */
void coh_wait_forget(struct coh_wait *wait);
/* The same for all waits of the machine, except those owned by events. */
void coh_waits_forget(struct nvw_machine *m);

/* ---- Services of lock.c ---------------------------------------------------------------------- */

/* Whether the request has to wait: a read-modify-write of an L1 while remote operations have the lock, one of
 * these while read-modify-writes that came before it wait or are on their way. */
bool coh_is_locked_out(const struct coh_request *request);
/* Delays the request until it may pass: it does not ask again. */
emu_time coh_await_lock(const struct coh_request *request, emu_time t);
/* For a remote operation; others may have it, too. */
void coh_take_lock(const struct coh_request *request);
/* When its last holder opens it, the requests that wait are retried, as far as lock.c lets them, when the
 * opening has come to their CU. */
void coh_open_lock(struct nvw_machine *m);
/* A read-modify-write that had waited has been performed. */
void coh_passed_lock(struct nvw_machine *m);

/* ---- Services of queue.c --------------------------------------------------------------------- */

/* For a synchronization request, sent at t, for bytes that another L1 has registered: true if it is delayed
 * until that L1 has received them. */
bool coh_queue_up(const struct coh_request *request, emu_time t);

static inline bool coh_is_apart_l1(const struct emu_cu *cu)
{
	return cu->stores != &cu->l1;
}
static inline bool coh_is_apart_l2(const struct nvw_machine *m)
{
	return m->l2.stores != &m->l2.cache;
}
/* A write cache's line has been stored into: the read cache's copy, if there is one, learns of it. */
emu_time coh_l1_copy_is_old(struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time t);
emu_time coh_l2_copy_is_old(struct nvw_machine *m, emu_line_id id, emu_time t);
/* The line has been stored into. */
static inline emu_time coh_l1_written_beside(
	struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, emu_time t)
{
	if (!coh_is_apart_l1(cu)) {
		return t;
	}
	return coh_l1_copy_is_old(m, cu, id, t);
}
static inline emu_time coh_l2_written_beside(struct nvw_machine *m, emu_line_id id, emu_time t)
{
	if (!coh_is_apart_l2(m)) {
		return t;
	}
	return coh_l2_copy_is_old(m, id, t);
}

/* ---- Services of owners.c: the L2's records -------------------------------------------------- */

/* The CU's L1 may hold the L2's line. */
static inline void coh_sharer_add(struct emu_line *below, const struct emu_cu *cu)
{
	below->sharers[cu->id / 64] |= UINT64_C(1) << cu->id % 64;
}
static inline bool coh_is_sharer(const struct emu_line *below, const struct emu_cu *cu)
{
	return below->sharers[cu->id / 64] >> cu->id % 64 & 1;
}
static inline bool coh_has_sharers(const struct emu_line *below)
{
	return NVW_ANY(sharers, below->sharers, EMU_CUS_MAX / 64, *sharers);
}
static inline void coh_sharer_remove(struct emu_line *below, const struct emu_cu *cu)
{
	below->sharers[cu->id / 64] &= ~(UINT64_C(1) << cu->id % 64);
}

/* The bytes of an L1's line that a request for some bytes takes. */
static inline uint64_t coh_taken_with(const struct nvw_machine *m, uint64_t bytes)
{
	return bytes | m->protocol->registration->also_taken;
}
/*
 * Bytes that are registered, and taken, together with these: whole failure-atomic words of NVRAM, which are
 * never written in part. A store that waits for registration is then registered as a whole, or not at all.
 */
uint64_t coh_undivided(const struct nvw_machine *m, emu_line_id id, uint64_t bytes);
/* Whether an L1 that loses this line's registration first has to flush its stores. */
static inline bool coh_flushes_loser(const struct nvw_machine *m, const struct emu_line *line)
{
	return line->registered && m->protocol->registration->flushes_loser;
}

enum coh_place coh_registry_place(
	const struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id, uint64_t bytes);
/* The L1 that has registered the first of these bytes of the L2's line; NULL if none has. */
struct emu_cu *coh_registry_owner(struct nvw_machine *m, const struct emu_line *below, uint64_t bytes);
/* The same of the L1s other than cu's, if cu is one; NULL also where the L2 does not have the line. */
struct emu_cu *coh_registry_other(
	struct nvw_machine *m, const struct emu_cu *cu, const struct emu_line *below, uint64_t bytes);
/* The bytes of the L2's line that the CU has registered. */
uint64_t coh_registry_owned(const struct emu_line *below, const struct emu_cu *cu);
/* Overlays to with the bytes of the line that L1s have registered, for a host's read. */
void coh_registry_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
/* The host has written these bytes: updates the L1s that have registered them. */
void coh_registry_update(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask);

/* ---- Services of directory.c ----------------------------------------------------------------- */

int coh_directory_init(struct nvw_machine *m);
void coh_directory_finish(struct nvw_machine *m);
/* Whether the machine has a directory of its own, and the protocol uses it; then the L2 need not include the
 * L1s. */
static inline bool coh_has_directory(const struct nvw_machine *m)
{
	return m->directory.cache.sets;
}
/* Who has the line: its entry in the directory, or the line of the L2 that includes the L1s. NULL: nobody. */
static inline struct emu_line *coh_entry(const struct nvw_machine *m, emu_line_id id)
{
	if (coh_has_directory(m)) {
		return emu_cache_peek(&m->directory.cache, id);
	}
	return emu_cache_peek(&m->l2.cache, id);
}
/* Whether the protocol's L2 sends messages to a line's sharers other than recalls. If so, what leaves an L1
 * is no longer a sharer. */
bool coh_tells_sharers(const struct coh_protocol *protocol);
/* Every holder gives the line up, and the L2, too: its entry is being replaced. */
void coh_recall_entry(struct coh_event *e);
/* Overlays to with what the line's owner has stored, for a host's read. */
void coh_directory_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
/* For a protocol with a directory: NULL or the violation. owned: the L2's state of a line that an L1 may
 * write. */
const char *coh_broken_directory(const struct nvw_machine *m, emu_line_id id, unsigned owned);

/* ---- Services of registry.c: changing owners ------------------------------------------------- */

/*
 * Revokes the bytes from every L1 except cu's (NULL: from every L1) that has registered some of them; at t
 * the request is at the L2. Returns when they are at cu, or (NULL) at the L2. They are then in the L2's line.
 */
emu_time coh_registry_take(
	struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, uint64_t bytes, emu_time t);
/* The same; also returns the L2's line, made room for, with the bytes of need. */
struct emu_line *coh_registry_claim(
	struct nvw_machine *m, struct emu_cu *cu, emu_line_id id, uint64_t bytes, uint64_t need, emu_time *t);
/* Sends the dirty bytes of a line of NVRAM, in an L1 that has registered bytes of it, to the device. */
void coh_settle_nvram(struct coh_event *event);

#endif
