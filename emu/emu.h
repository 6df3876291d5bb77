/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulator, as the command line and the tests use it: create a machine, let a workload run on it
 * (nvw/host.h), read the statistics, destroy it.
 *
 * Glossary
 *   work-item    one run of the kernel function, a fiber on the host
 *   wavefront    up to 64 work-items that advance in lockstep, the unit of scheduling
 *   work-group   wavefronts that share a CU and may meet at a work-group barrier
 *   CU           compute unit: resident wavefronts and an L1
 *   line         64 aligned bytes of device memory, the unit of caches and of write-backs
 *   word         8 aligned bytes, the default failure-atomic unit
 *   visible      returned by a load of the kernel; durable: surviving a power cut
 *   write-back   a line on its way from L2 to memory; to NVRAM it is issued, and later completed
 *   epoch        the stores of a scope between two persist barriers of it
 */
#ifndef EMU_EMU_H
#define EMU_EMU_H

#include <nvw/host.h>
#include <nvw/persist_log.h>

#include "config/config.h"
#include "observe/watch.h"

/*
 * Creates a machine. pool (open with NVW_POOL_WRITE) becomes its NVRAM; NULL for a machine without NVRAM.
 * log, if not NULL, receives the persist log. The caller owns both. Only one machine at a time.
 */
NVW_CHECKED int emu_create(const struct emu_config *config, struct nvw_pool *pool, struct nvw_log_writer *log,
	struct nvw_machine **ret_machine);

/* Destroys the machine. Data that is not durable by now is lost, as in a power cut: for a normal end call
 * nvw_persist() first. NULL is allowed. */
void emu_destroy(struct nvw_machine *machine);

/*
 * Cuts the power at simulated time time_ps: at the first event after it, the NVRAM writes in flight are torn
 * (each failure-atomic unit reaches the pool or not, chosen by seed), and die(context) is called, which may
 * leave the machine (SIGKILL, longjmp). If it returns, or is NULL, the launch ends with NVW_E_STOPPED; the
 * pool stays as the cut left it, and emu_destroy() is next. Acknowledgements are passed to acknowledged()
 * when they happen, unless it is NULL.
 */
struct emu_power_cut {
	uint64_t time_ps; /* UINT64_MAX: never */
	uint64_t seed;
	void (*die)(void *context);
	void (*acknowledged)(void *context, uint64_t first, uint64_t count);
	void *context;
};
void emu_set_power_cut(struct nvw_machine *machine, const struct emu_power_cut *cut);

/*
 * Calls ring() before the first event later than time_ps, and again at each time that it puts into *next_ps
 * (UINT64_MAX: never), which must be later than the last. It may read statistics: they have what was begun up
 * to then. until_ps is that event's time. An error that it returns ends the run. ring NULL: no clock.
 */
struct emu_clock {
	uint64_t time_ps;
	int (*ring)(void *context, uint64_t until_ps, uint64_t *next_ps);
	void *context;
};
void emu_set_clock(struct nvw_machine *machine, const struct emu_clock *clock);

/*
 * Sets the handler for dereferences of a device address by the workload's host code. The process cannot
 * continue: told() is called on a signal stack with a message that names the source line, and must not
 * return. NULL, the default: the message goes to standard error and the process is killed by SIGSEGV. A
 * process that has installed its own SIGSEGV handler since emu_create() must call this again: other faults
 * are passed on to that handler.
 */
void emu_set_host_fault(
	struct nvw_machine *machine, void (*told)(void *context, const char *message), void *context);

/*
 * Runs persist barriers of a source line (only the file's last component is compared) with a scope narrower
 * by this many steps: kernel, work-group, work-item, none. Used to measure the cost of a wider barrier. file
 * NULL: none; the caller owns the string.
 */
void emu_narrow_barriers(struct nvw_machine *machine, const char *file, uint32_t line, unsigned by);

/*
 * A persist barrier that the source does not have, where a line added to the source would be: before or after
 * the statement at a line. A work-item meets it each time that it executes that statement, in a loop once a
 * round. widens: instead, the barriers at that line have at least this scope. Lines as above.
 */
enum { EMU_INSERTED_MAX = 32 };
enum emu_insertion { EMU_INSERT_BEFORE, EMU_INSERT_AFTER, EMU_INSERT_WIDENS };
struct emu_inserted {
	const char *file;
	uint32_t line;
	enum emu_insertion where;
	enum nvw_group scope;
};

/* Runs kernels with them. Copies the array; the caller owns the strings. A work-group or a kernel of which
 * only some members come to such a barrier deadlocks, and the run fails. At most EMU_INSERTED_MAX. */
void emu_insert_barriers(struct nvw_machine *machine, const struct emu_inserted *inserted, unsigned count);
/* How often work-items have met them. */
uint64_t emu_inserted_met(const struct nvw_machine *machine);

/*
 * From now on choose() determines the order of instructions instead of time: whenever several wavefronts
 * could go next, it gets their number (at least 2; always in the same order after the same choices) and
 * returns the index of one, from 0. Simulated time only grows. Litmus tests enumerate all orders with it.
 * NULL: by time again.
 */
void emu_set_scheduler(
	struct nvw_machine *machine, unsigned (*choose)(void *context, unsigned count), void *context);

/*
 * The order of wavefronts by a seed instead of time (order.c). The same seed gives the same run.
 */
enum emu_order_kind { EMU_ORDER_TIME, EMU_ORDER_PCT, EMU_ORDER_RANDOM, EMU_ORDER_ASKED };
enum { EMU_ORDER_DEPTH_MAX = 64, EMU_ORDER_MAP = 1 << 13 };

/*
 * Under EMU_ORDER_ASKED the caller decides (asked.c). A *step* is a memory instruction of a wavefront, by the
 * lanes that execute it together; with `persists` also a persist barrier. An acknowledgement belongs to the
 * step before it. A kernel has at most EMU_ASKED_MAX wavefronts, numbered from 0, and no store buffers.
 */
enum { EMU_ASKED_MAX = 64 };
enum { EMU_STEP_STORES = 1, EMU_STEP_BARRIER = 2, EMU_STEP_ACK = 4 }; /* to NVRAM */

struct emu_asker {
	void *context;
	bool persists;
	void (*begin)(void *context); /* a run: at emu_set_order() */
	/* The wavefront that takes the next step, of those in can_go. posted: these, and those that wait for
	 * others to change what they have read. Another number: the run ends here with NVW_E_DEADLOCK. */
	unsigned (*choose)(void *context, uint32_t kernel, uint64_t can_go, uint64_t posted);
	/* What the step does: it accesses a word, a number that is the same in every run, or persists. */
	void (*access)(void *context, uint64_t word, bool changes);
	void (*persist)(void *context, unsigned what);
};

/* What a run has shown of its order. */
struct emu_order_seen {
	/* Equal for two runs of the same program whose conflicting accesses have the same order and read the
	 * same values, and whose persist barriers complete behind the same stores to NVRAM. */
	uint64_t hash;
	uint64_t choices; /* atomics, persist barriers, and accesses to contended words, of wavefronts */
	uint64_t turns;
	uint64_t contended[EMU_ORDER_MAP]; /* by a hash, the words that wavefronts share and one stores to */
};

struct emu_order {
	enum emu_order_kind kind;
	unsigned depth; /* PCT: changes of priority, plus 1; at most EMU_ORDER_DEPTH_MAX */
	uint64_t seed;
	/* A run by time says which accesses are choices from the beginning, and how many there are. NULL:
	 * what is shared is known only once it is. The caller's. */
	const struct emu_order_seen *by_time;
	uint64_t turns_max;            /* after so many turns of wavefronts, NVW_E_DEADLOCK; 0: never */
	const struct emu_asker *asker; /* of EMU_ORDER_ASKED; the caller's */
};

/* Before the first launch; *seen, which is the caller's and initialised to zero, grows with the run. Not with
 * emu_set_scheduler(). NVW_E_MEMORY. */
NVW_CHECKED int emu_set_order(
	struct nvw_machine *machine, const struct emu_order *order, struct emu_order_seen *seen);

/*
 * Plants a fault in the machine's coherence protocol: the action, named as in its tables ("invalidate local
 * L1", "write the dirty bytes to the next level"), is omitted wherever the tables contain it. Used to test
 * the tests of protocols. NVW_E_USAGE for a name that no table has.
 */
NVW_CHECKED int emu_plant_fault(struct nvw_machine *machine, const char *action);

/* Action i of the protocol's tables; NULL after the last. */
const char *emu_protocol_action(const char *protocol, unsigned i);

/*
 * Ends the kernel from within a work-item: nvw_launch() returns error, whose message the caller has set by
 * nvw_fail(). For doors that find mistakes in kernels which the machine does not know.
 */
_Noreturn void emu_fail_kernel(struct nvw_machine *machine, int error);

/* ---- Races ----------------------------------------------------------------------------------- */

/* The memory model that orders accesses; CLAIMED: the one claimed by the machine's protocol. SOURCE: HRF,
 * with the scopes that the source has, whatever the protocol makes of them. */
enum emu_race_model { EMU_RACES_CLAIMED, EMU_RACES_DRF, EMU_RACES_HRF, EMU_RACES_SOURCE };

/* In the op of a request, for race detection: an atomic load or store that is a volatile access in the
 * program; an atomic that releases because of a fence before it. */
#define EMU_OP_VOLATILE (UINT64_C(1) << 32)
#define EMU_OP_BY_FENCE (UINT64_C(1) << 33)

enum emu_race_kind {
	EMU_RACE_DATA,      /* unordered, at least one a write, at least one not atomic */
	EMU_RACE_SCOPES,    /* atomics whose scopes do not include each other, unordered, one a write */
	EMU_RACE_READ_ONLY, /* a read-only load of data written in the same kernel */
	EMU_RACE_KINDS
};

struct nvw_site;

struct emu_race_access {
	const struct nvw_site *site; /* NULL: unknown */
	const char *kind;            /* "store" */
	const char *order, *scope;   /* "acquire", "work-group"; NULL if it is not atomic */
	uint64_t work_item, group;
};

enum { EMU_RACES_MAX = 16 };

/* A pair of source lines that race; its first race is described. */
struct emu_race {
	enum emu_race_kind kind;
	struct emu_race_access first, second; /* in the order of the run */
	char kernel[64];
	bool in_nvram; /* offset in the pool, otherwise in the DRAM */
	uint64_t offset;
	unsigned bytes;
	uint64_t count;       /* races of this pair: an access is counted once per earlier access */
	bool same_value;      /* in all races both stored the same value */
	bool scopes_to_blame; /* would be ordered if scopes were ignored: */
	struct emu_race_access release, acquire; /* these would synchronize (their work-items are unknown) */
};

struct emu_race_report {
	const char *model;
	uint64_t races, unlisted; /* all; those of pairs not listed below */
	unsigned count;
	struct emu_race race[EMU_RACES_MAX];
};

/*
 * Barriers of work-groups and kernels no longer wait for work-items that have returned (as CUDA's do not).
 * Without it a work-group of which some have returned never passes one. Between launches.
 */
void emu_barriers_without_returned(struct nvw_machine *machine);

/*
 * From now on the order of diverged lanes is that of their source lines alone, not first that of their depth
 * in calls: it is the same for a kernel with stacks and without.
 */
void emu_order_by_line(struct nvw_machine *machine);

/*
 * A kernel whose work-items have no stacks of their own. Between two requests the state of one is in a frame
 * of frame_bytes, aligned to 64 bytes; the first word of a frame is the function that goes on with it, up to
 * the next request, as of LLVM's coroutines. A work-item that makes a request in the middle of a call keeps
 * the stack that it is on until the call returns.
 */
struct emu_resumable {
	uint64_t frame_bytes;
	/* Once per work-item, as the running one: fills in its frame. Makes no request. */
	void (*begin)(const void *args, void *frame);
};

/*
 * As nvw_launch(). kernel->begin() gets args. A frame's function returns when it has filled in nvw__self, or
 * has called emu_post_return().
 */
NVW_CHECKED int emu_launch_resumable(struct nvw_machine *machine, const char *name,
	const struct emu_resumable *kernel, const void *args, uint64_t work_items, unsigned group_size);
/* The turn of a wavefront. */
struct emu_turn {
	uint64_t to_run; /* lanes still to run, from the one behind the running one on */
	uint64_t lane;   /* the running one; of a resumable kernel the first of the neighbours that run */
	/* Of a resumable kernel: those of to_run that neither begin nor are in the middle of a call; the
	 * request behind that of the last of the neighbours. */
	uint64_t plain;
	struct nvw__request *end;
	uint64_t frame_bytes;
};
struct emu_turn *emu_turn(void);

/* The next lane's. */
static inline struct nvw__request *emu_request_behind(struct nvw__request *request)
{
	return (struct nvw__request *)(void *)((uint64_t *)(void *)request + 1);
}

/* What a frame's function may go on with instead of its return: the next lane's frame, if that is a
 * neighbour and plain, which *self, nvw__self, is a word further for. */
static inline char *emu_turn_next(const struct emu_turn *t, struct nvw__request **self, char *frame)
{
	struct nvw__request *const next = emu_request_behind(*self);

	if (next == t->end) {
		return NULL;
	}
	*self = next;
	return frame + t->frame_bytes;
}

/* nvw_read() in two parts: its time, and the bytes, all of which the machine has. */
void emu_spend_copy(struct nvw_machine *machine, uint64_t bytes);
void emu_peek(const struct nvw_machine *machine, void *to, const void *device, uint64_t n);

/* The running work-item has returned: its frame is not resumed. */
void emu_post_return(void);
/* Leaves the running work-item, which has called emu_post_return(), from the middle of a call. */
_Noreturn void emu_leave_resumable(void);

/*
 * Enables race detection (docs/races.md): call it once, before the first launch. It takes no simulated time,
 * but memory and time of the host. NVW_E_MEMORY.
 */
NVW_CHECKED int emu_check_races(struct nvw_machine *machine, enum emu_race_model model);

/* Before the first launch: relaxed atomics synchronize by fences, which are pairs of an atomic store and
 * load of the work-item's own (NVW__ATOMIC_STORE with a compare of 1). Without race detection nothing. */
void emu_races_know_fences(struct nvw_machine *machine);

/* The races found so far; NULL if detection is off. Valid until the machine is destroyed. */
const struct emu_race_report *emu_races(const struct nvw_machine *machine);

/* ---- Who synchronizes with whom ---------------------------------------------------------------- */

enum emu_sync_kind { EMU_SYNC_RELEASE, EMU_SYNC_ACQUIRE, EMU_SYNC_GROUP, EMU_SYNC_KERNEL };

/* What a work-item does before it releases a place is ordered before what another does after it acquires the
 * place. The members of a group, or of a kernel, meet at a barrier. */
struct emu_sync {
	uint64_t stores;    /* to the NVRAM so far, as the persist log has them */
	uint64_t work_item; /* global id; of a group its first one */
	uint64_t place;     /* of a release and an acquire; of a group the number of its work-items */
	uint32_t kernel;
	uint16_t kind;
	uint16_t
		changes_word; /* an acquire that has itself stored to the NVRAM, its work-item's last store */
};

/* Tells these in the order of the run; an acquire that learns nothing is left out. Needs a persist log and a
 * race check; before the first launch. */
void emu_tell_syncs(
	struct nvw_machine *machine, void (*told)(void *context, const struct emu_sync *sync), void *context);

/* ---- The undo log ---------------------------------------------------------------------------- */

enum { EMU_UNLOGGED_MAX = 16 };

/* A store in an epoch to a word of a pool that the epoch has not logged; the first one is described. */
struct emu_unlogged {
	const struct nvw_site *store;
	const struct nvw_site *begun; /* where its work-item began the epoch, or joined it */
	const char *kind;             /* "store" */
	char kernel[64];
	uint64_t offset; /* in the range of the run's pools */
	unsigned bytes;
	uint64_t work_item, group;
	uint64_t count; /* stores at this line in epochs that begin at that line */
};

struct emu_undo_report {
	uint64_t stores;             /* to pools, in epochs of streams that use their log */
	uint64_t unlogged, unlisted; /* of them; and of these, those at places that are not listed below */
	unsigned count;
	struct emu_unlogged store[EMU_UNLOGGED_MAX];
};

/*
 * Enables the check of the undo log (docs/crash-testing.md): call it once, before the first launch. It takes
 * no simulated time. NVW_E_MEMORY.
 */
NVW_CHECKED int emu_check_undo(struct nvw_machine *machine);

/* What has been found so far; NULL if the check is off. Valid until the machine is destroyed. */
const struct emu_undo_report *emu_undo(const struct nvw_machine *machine);

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Why a wavefront's request is delayed, and by whom it is woken. Statistics wait.NAME and wait.NAME_time
 * count the delays. */
#define EMU_CAUSES(X)                                                                  \
	X(owner, "the L1 that has registered its bytes")                               \
	X(marker, "the acknowledgement of its marker, which goes through the S-FIFOs") \
	X(room, "a store that leaves its store buffer")                                \
	X(overlap, "the stores to the same bytes in its store buffer")                 \
	X(drain, "the last store in its store buffer")                                 \
	X(loads, "its loads in flight")                                                \
	X(turn, "the next epoch of its band")                                          \
	X(bsq, "room in the blocked store queue")                                      \
	X(lease, "the end of the leases on its line")                                  \
	X(release, "the flush of its own release")                                     \
	X(lock, "a remote operation that locks read-modify-writes")

#define X(name, waker) EMU_CAUSE_##name,
enum emu_cause { EMU_CAUSES(X) EMU_CAUSE_COUNT };
#undef X
const char *emu_cause_name(enum emu_cause cause);
const char *emu_cause_waker(enum emu_cause cause);

/* Delayed requests of a source line, by cause. */
struct emu_waited {
	const struct nvw_site *site;
	enum emu_cause cause;
	uint64_t times, ps;
};
/* All delays since nvw_begin_measurement(), the longest first; *ret_count rows, valid until the machine
 * continues. */
const struct emu_waited *emu_waited(struct nvw_machine *machine, unsigned *ret_count);

/* ---- Statistics ------------------------------------------------------------------------------ */

/* Every statistic: STAT(field, name, unit, meaning) in stats.def. */
struct emu_stats {
#define STAT(field, name, unit, meaning) uint64_t field;
#include "observe/stats.def"
#undef STAT
};

struct emu_stat_info {
	const char *name, *unit, *meaning;
	uint64_t offset; /* of its uint64_t in struct emu_stats */
};

/* The table made from stats.def: *ret_count rows, constant. */
const struct emu_stat_info *emu_stat_table(unsigned *ret_count);

/* Statistics since nvw_begin_measurement(). Valid until the machine is destroyed. */
const struct emu_stats *emu_statistics(struct nvw_machine *machine);

/* Statistics of one memory device: STAT(field, name, unit, meaning) in device_stats.def. */
struct emu_device_stats {
#define STAT(field, name, unit, meaning) uint64_t field;
#include "observe/device_stats.def"
#undef STAT
};

/* The table that device_stats.def makes: *ret_count rows, constant; offsets are in struct
 * emu_device_stats. */
const struct emu_stat_info *emu_device_stat_table(unsigned *ret_count);

/* The name of device i of the machine's description, and its statistics since nvw_begin_measurement(); NULL
 * past the last. */
const char *emu_device_statistics(
	const struct nvw_machine *machine, unsigned i, struct emu_device_stats *ret_stats);

/* The machine's configuration, and the protocols that it can run. */
const struct emu_config *emu_machine_config(const struct nvw_machine *machine);

/* The name of protocol i; NULL after the last. */
const char *emu_protocol_name(unsigned i);
/* With its citation and a one-line description; false after the last. */
bool emu_protocol_info(
	unsigned i, const char **ret_name, const char **ret_citation, const char **ret_summary);

/* A protocol's treatment of scopes. */
enum emu_scopes {
	EMU_SCOPES_WIDENED,  /* every scope synchronizes all CUs: there are no scopes, or they are hints */
	EMU_SCOPES_KEPT,     /* HRF: synchronization of work-group scope stays in the CU */
	EMU_SCOPES_PROMOTED, /* HRF, and remote scopes synchronize with work-group scope elsewhere */
};
/* Whether a line has one writer or many readers under the protocol: what gpu.consistency needs. */
bool emu_protocol_has_owners(const char *protocol);
/* EMU_SCOPES_WIDENED for an unknown name. */
enum emu_scopes emu_protocol_scopes(const char *protocol);
/* Whether it runs with read and write caches apart; false for an unknown name. */
bool emu_protocol_is_apart(const char *protocol);
/* Whether programs with these requirements on scopes are correct under the protocol; false for an unknown
 * name. */
bool emu_protocol_keeps(const char *protocol, enum nvw_scopes_asked asked);

/* ---- A protocol's tables as texts ------------------------------------------------------------ */

enum emu_grid { EMU_GRID_L1, EMU_GRID_L2 };

/* An event or an action: its short name in the grids, and its description. */
struct emu_protocol_word {
	const char *name, *text;
};

enum { EMU_CELL_ACTIONS = 3, EMU_ROW_ACTIONS = 8 };

struct emu_protocol_cell {
	const char *actions[EMU_CELL_ACTIONS]; /* short names, in order; NULL ends */
	const char *next;                      /* state */
};

/* Lists of names, separated by commas, or "any"; empty if a column does not apply (kernel begin and end). */
struct emu_protocol_row {
	char instructions[128], orders[64], scopes[128], places[64];
	const char *actions[EMU_ROW_ACTIONS]; /* named as in the papers, in order; NULL ends */
};

/* State i of a grid; NULL after the last, and for an unknown protocol. */
const char *emu_protocol_state(const char *protocol, enum emu_grid grid, unsigned i);
/* Event i of a grid; NULL after the last. */
const struct emu_protocol_word *emu_protocol_event(enum emu_grid grid, unsigned i);
/* Action i that grids can name; NULL after the last. */
const struct emu_protocol_word *emu_protocol_line_action(unsigned i);
/* The grid's cell for the event in the state. False if the event cannot happen. */
bool emu_protocol_cell(const char *protocol, enum emu_grid grid, unsigned state, unsigned event,
	struct emu_protocol_cell *ret_cell);
/* Row i of the instructions, followed by the actions of kernel begin and end. False after the last. */
bool emu_protocol_row(const char *protocol, unsigned i, struct emu_protocol_row *ret_row);

#endif
