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
 */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H

#include <assert.h>
#include <string.h>

#include <nvw/random.h>

#include "core/rows.h"
#include "emu.h"
#include "watch.h"

enum { EMU_LINE = 64, EMU_LANES = 64, EMU_CUS_MAX = 128, EMU_FJ_A_PJ = 1000, EMU_LANES_AHEAD = 3 };

typedef uint64_t emu_time; /* ps */

/*
 * A line of device memory, by its number. The numbers have 16 windows of 16 GiB each; a device has one or more windows
 * of its own, so that the top bits of a number lead to the device.
 */
typedef uint32_t emu_line_id;
enum { EMU_WINDOWS = 16, EMU_WINDOW_BITS = 28 };
#define EMU_NO_LINE 0x7fffffffu

/* number % count: counts of banks, channels and sets are nearly always powers of two, and a division takes as long as a look-up. */
static inline uint32_t emu_interleave(uint32_t number, uint32_t count)
{
	return count & (count - 1) ? number % count : number & (count - 1);
}

/* The number within the window; sets, banks and channels are interleaved by it. */
static inline uint32_t emu_line_number(emu_line_id id)
{
	return id & ((UINT32_C(1) << EMU_WINDOW_BITS) - 1);
}

/* ---- Caches ---------------------------------------------------------------------------------------- */

/*
 * A cached line. Bytes whose bit is set in valid have a known value; bytes whose bit is set in dirty are
 * valid and newer than those of the next level. A line with a tag but no valid bytes is only a placeholder
 * (an L2 line that an L1 is writing to: inclusion without data).
 */
struct emu_line {
	uint64_t valid, dirty;
	/* L1: bytes of which this is the only copy; L2: bytes registered by an L1 (registry.c) */
	uint64_t registered;
	uint32_t generation; /* L1: clean bytes are valid only if this is the cache's current generation */
	uint8_t state;       /* in the protocol's table */
	bool in_sfifo;       /* an S-FIFO entry names this line */
	uint8_t buffered;    /* L1: its words in the store buffer, if that counts words */
	uint8_t owner; /* L2, directory: the CU whose L1 may write, in the states of a directory that say so, or alone has leases */
	uint32_t stores; /* chain of store records whose bytes are dirty here; 0 is none */
	uint32_t stores_tail;
	uint32_t tag; /* of the persistency model; 0 if clean */
	union {
		uint64_t sharers[EMU_CUS_MAX / 64]; /* L2: L1s that may hold the line */
		struct {
			uint64_t read_only; /* L1: bytes that an acquire does not invalidate */
			emu_time granted;   /* L1: when the latest registration arrives */
		};
		struct {
			emu_time refuses; /* L2: a store waits until then, and no L1 gets a lease */
			emu_time lease;   /* L1: the line is kept until then; L2: the last one ends then */
		};
	};
	uint8_t data[EMU_LINE]; /* L2: for a registered byte, the CU that has it (alsop16 II.E) */
} __attribute__((aligned(64)));

/*
 * The order in which the ways of a 16-way set were used: a way's stamp is larger than those of ways used before it; 0: it has no line;
 * EMU_PINNED: its line is being evicted. The clock is the largest of the others; before it would reach EMU_PINNED, they are
 * numbered anew.
 */
struct emu_set {
	uint8_t stamp[16];
	uint8_t clock;
} __attribute__((aligned(32)));
enum { EMU_PINNED = UINT8_MAX };

struct emu_cache {
	uint32_t sets, ways;
	uint32_t clock; /* of stamps */
	uint32_t generation;
	bool registered_last; /* replacement: lines with registered bytes go last */
	uint64_t arrivals;    /* lines that have been assigned */
	char *memory;         /* of all that follows */
	uint64_t bytes;
	uint32_t *tags; /* sets * ways: each "exclusive or" EMU_NO_LINE */
	struct emu_set *
		set; /* of the usual cache: 16 ways, a power of two of sets; NULL: another one, with stamps of its clock */
	uint32_t *stamps;
	uint64_t *used; /* a bit for EMU_CACHE_BLOCK lines: one of them had a tag */
	struct emu_line *lines;
};
enum { EMU_CACHE_BLOCK = 16 };

/* A ring of line ids: S-FIFO and NVW-FIFO. */
struct emu_fifo {
	uint32_t capacity; /* entries */
	uint32_t mask;     /* ring size - 1 */
	uint32_t head, tail;
	emu_line_id *ring;
};

/*
 * The busy times of a resource that serves one request at a time (resource.c): disjoint intervals in ascending order. The array
 * has them at [0, gap) and [right, end), and a gap of unused places between the two. The second part is empty only if the
 * gap is, too; so the last interval is before end.
 */
struct emu_interval {
	emu_time from, to;
};
struct emu_resource {
	struct emu_interval *busy;
	uint32_t gap, right, end, capacity;
};

struct emu_cu {
	unsigned id;
	emu_time issue_free; /* when the next wavefront instruction can issue */
	struct emu_resource l1_port;
	emu_time rmw_free; /* until then a remote operation locks read-modify-writes (alsop16 II.D) */
	struct emu_cache l1;
	struct emu_cache
		write; /* l1.split: for stored data, while l1 is for read data; no sets: there is none */
	struct emu_cache *stores; /* the one of them that takes stores */
	struct emu_fifo sfifo;    /* dirty lines since the last release (gope18 3) */
	uint32_t buffered;        /* number of words in it, if l1.sfifo_unit is words */
	struct emu_fifo nvw_fifo; /* NV writes in the L1 (gope18 6) */
	unsigned drains;          /* of its FIFOs, one within the other, at this instant */
	emu_time taken;           /* when the next level has taken, or registered, all that left the L1 */
	emu_time
		accepted; /* when the L2, or memory behind one that writes through, has all that was sent to it */
	emu_time acknowledged; /* write-through: when the L1 knows */
};

/* The lock of all L1s' read-modify-writes: the request that has it (its wavefront NULL: none), how many have been let pass and
 * are still on their way, and those that wait. */
struct coh_lock {
	unsigned passing;
	const struct emu_wavefront *wavefront;
	uint64_t lanes;
	emu_line_id line;
	struct coh_wait *waiting, **end;
};

struct emu_l2 {
	struct emu_cache cache, write, *stores; /* likewise */
	struct emu_fifo sfifo;
	struct emu_fifo nvw_fifo;
	struct emu_resource *bank;
	uint32_t banks;
	emu_time taken;       /* when memory, or the L3, has accepted all that left the L2 */
	emu_time copies_gone; /* when the invalidations of copies that nobody answers have reached all L1s */
};

/* The memory's side of the L2 (l3.c). */
struct emu_l3 {
	struct emu_cache cache, write, *stores; /* as an L1's */
	struct emu_fifo sfifo;                  /* dirty lines, all of DRAM */
	struct emu_resource *bank;
	uint32_t banks; /* 0: there is none */
	bool passes;    /* stores to DRAM go on to it */
};

/*
 * A directory of its own (protocol/directory.c). Its entries are lines without data: state, owner and sharers. cache.sets 0: there
 * is none, and the L2's lines have these.
 */
struct emu_directory {
	struct emu_cache cache;
	emu_time *mshrs; /* by turns: when the request that has it is answered */
	uint64_t requests;
};

/* ---- Network and memory ---------------------------------------------------------------------------- */

struct coh_request;
struct coh_wait;
struct coh_action_info;
struct coh_event;
struct persist_model;

enum emu_message {
	EMU_MESSAGE_READ,
	EMU_MESSAGE_REGISTER,
	EMU_MESSAGE_WRITE,
	EMU_MESSAGE_ATOMIC,
	EMU_MESSAGE_CONTROL
};

enum { EMU_MESSAGE_BYTES = 128 };

/* Of a node in a grid. */
struct emu_place {
	uint32_t x, y;
};

struct emu_network {
	uint32_t nodes, columns, rows;
	enum emu_message message; /* under way: for observers */
	emu_time flit_ps;
	uint32_t flits[EMU_MESSAGE_BYTES]; /* of a message with so many bytes of data */
	/* crossbar: in and out port of each node; grids: four links and the ports */
	struct emu_resource *link;
	struct emu_place *place; /* by node */
};

struct emu_channels {
	struct emu_resource
		*read;        /* reads have priority: the two share no queue; of a shared channel, both */
	emu_time *write_free; /* in order of arrival */
	/* Of shared channels: when the last writes began, by channel as many as its queue has places, and the turns to replace them. */
	emu_time *begun;
	uint64_t *turn, places;
	emu_time read_ps, write_ps; /* latencies */
	emu_time line_ps;           /* time that a line occupies a channel */
	emu_time queue_ps;          /* how far the write queue may run ahead of the device */
	emu_time link_ps;           /* the way between the L2 and the controller */
	uint32_t count;
};

/* Traffic served by a device. */
struct emu_traffic {
	uint64_t reads, writes;               /* lines */
	uint64_t words;                       /* 8-byte words made durable */
	uint64_t read_wait_ps, write_wait_ps; /* for a busy channel */
	uint64_t barrier_wait_ps;             /* of persist barriers, for writes in flight to the device */
};

/*
 * A memory device behind the caches, with its controller. An NVRAM device has a pool, or a range of one's bytes; without
 * one it has no bytes, and nothing leads to it.
 */
struct emu_device {
	const char *name; /* in machine files; the machine's description has it */
	bool is_dram;
	char *base;            /* device addresses without access, so that plain code faults (fault.c) */
	uint64_t bytes;        /* of the range, a multiple of a line; 0: none */
	uint64_t used;         /* of DRAM, by nvw_alloc() */
	emu_line_id first;     /* the number of its first line */
	char *behind;          /* its bytes: the DRAM's, or the durable ones in the pool's mapping */
	struct nvw_pool *pool; /* owned by the caller; NULL: none */
	nvw_off off;           /* of its first byte, in the range of the run's pools */
	uint64_t domain;       /* enum emu_domain: when a write is durable */
	struct emu_channels channels;
	uint64_t hops;
	uint64_t read_energy, write_energy; /* fJ: of a line; of a line of DRAM, of a word of NVRAM */
	uint32_t queue;                     /* index of its first channel in emu_nvram.head and tail */
	uint32_t in_flight;                 /* writes to it */
	emu_time last_done;                 /* of the latest write ever issued to it */
	struct emu_traffic traffic;
};

/* A write-back in flight to an NVRAM device. */
struct emu_nvram_write {
	emu_time done;
	emu_line_id line;
	uint32_t next_in_queue, next_of_line; /* indices, 0 ends */
	uint32_t stores;                      /* chain of store records that it carries */
	uint32_t tag;                         /* of the persistency model */
	uint64_t number;
	uint64_t mask;
	uint8_t data[EMU_LINE];
};

/* The writes in flight to all NVRAM devices, with one queue per channel of each device. */
struct emu_nvram {
	struct nvw_rows writes;
	uint32_t *head, *tail; /* by queue */
	uint32_t queue_count;
	emu_time next_done; /* of the earliest write in flight, UINT64_MAX if there is none */
	uint32_t in_flight;
	uint64_t numbers;  /* of writes, for the log */
	uint32_t *by_line; /* hash heads */
};

/* ---- Execution -------------------------------------------------------------------------------------- */

struct emu_wavefront {
	struct nvw__request requests[EMU_LANES];
	void *sp[EMU_LANES + EMU_LANES_AHEAD]; /* the last ones are only prefetched */
	uint64_t live;                         /* lanes that have not returned */
	uint64_t runnable; /* lanes whose request is complete: they run when the wavefront is next popped */
	uint64_t posted;   /* lanes with a request that waits for its turn */
	uint64_t parked;   /* lanes at a barrier of the work-group or the kernel */
	uint64_t first_global;
	unsigned first_local;
	uint32_t turns; /* since a posted lane was last passed over */
	uint64_t age;   /* oldest job first */
	struct emu_group *group;
	char *stacks; /* stack of lane 0; the others follow */
	/* Number of persist barriers so far that order each lane's stores, by scope (equations 1 to 3). */
	uint32_t epoch_wi[EMU_LANES], epoch_wg[EMU_LANES], epoch_kr[EMU_LANES];
	uint32_t stream[EMU_LANES]; /* durability checker: per work-item, 0 until it stores to NVRAM */
	uint32_t persist_stream, persist_epoch, persist_tag; /* of the persistency model */
	unsigned fair;           /* the lane that guarantee (2) of exec.c prefers next */
	uint32_t queued;         /* delayed requests of the current instruction (protocol/wait.c) */
	emu_time issued, served; /* while some do: when it was issued, when those that do not are done */
};

/* Where a work-group can be resident: the wavefront contexts of a part of a CU. */
struct emu_slot {
	struct emu_cu *cu;
	struct emu_wavefront *wavefronts;
	struct emu_group *resident;
	struct emu_group *ready_first, *ready_last; /* switched out, to be resumed here */
	emu_time free_at;                           /* while a work-group is being switched */
};

enum emu_wait {
	EMU_WAIT_NONE,
	EMU_WAIT_BARRIER_WG,
	EMU_WAIT_PERSIST_WG,
	EMU_WAIT_BARRIER_KR,
	EMU_WAIT_PERSIST_KR,
	EMU_WAIT_KINDS
};

struct emu_group {
	uint64_t id;
	struct emu_slot *slot;
	uint32_t size;     /* work-items */
	uint32_t returned; /* of them */
	uint32_t arrived[EMU_WAIT_KINDS];
	emu_time arrived_first;     /* at their barrier */
	struct emu_group *next;     /* in a slot's ready list */
	struct emu_group *next_all; /* in the kernel's list of live groups */
	struct emu_group *prev_all;
	char *saved;             /* contexts while switched out, NULL while resident */
	uint32_t persist_stream; /* of the persistency model */
	uint32_t stream;         /* durability checker: 0 until it stores to NVRAM */
};

/* The first lane behind the run of neighbours that begins with the lowest of the lanes. */
static inline unsigned emu_run_end(uint64_t lanes)
{
	const uint64_t others = ~(lanes | (lanes - 1));

	return others ? (unsigned)__builtin_ctzll(others) : EMU_LANES;
}

/* Loops over lanes, upwards; declares lane. Nearly always they are neighbours. There is no way to leave it by "break". */
#define EMU_FOR_LANES(lane, lanes)                                                                        \
	for (uint64_t rest_ = (lanes), end_; rest_; rest_ = end_ < EMU_LANES ? rest_ >> end_ << end_ : 0) \
		for (uint64_t lane = (end_ = emu_run_end(rest_), (uint64_t)__builtin_ctzll(rest_));       \
			lane < end_; lane++)

struct emu_event {
	emu_time time;
	uint64_t order;
	struct emu_wavefront *wavefront;                      /* resume this, or */
	void (*act)(struct nvw_machine *machine, void *what); /* or do this */
	void *what;
};

struct emu_exec {
	struct emu_event *events; /* a heap, [0] earliest */
	uint32_t event_count, event_capacity;
	uint32_t background; /* events that keep no kernel from ending (protocol/turns.c) */
	char *stacks;
	uint64_t stacks_bytes;
	uint64_t stack_bytes; /* of one work-item */
	struct emu_wavefront *wavefronts;
	uint32_t wavefront_count;
	uint64_t *lanes_used; /* by wavefront: lanes that ever had a stack */
	/* Turns of wavefronts before huge pages were last considered, from then until the next time, and left until then. */
	uint64_t turns, turns_asked, turns_left;
	bool huge_pages; /* have been asked for */
	struct emu_slot *slots;
	uint32_t slot_count;
	uint64_t ages;

	/* the running kernel */
	nvw_kernel kernel;
	const void *args;
	const char *name;
	uint32_t number;
	uint32_t first_cu;                                           /* of its first work-group */
	uint64_t groups, groups_started, groups_done, groups_before; /* before: of the kernel before */
	unsigned group_size, group_wavefronts;
	uint64_t arrived[EMU_WAIT_KINDS]; /* work-items at kernel-wide barriers */
	uint64_t returned;                /* work-items */
	bool without_returned;            /* barriers do not wait for them */
	emu_time arrived_first;
	const struct nvw_site *barrier_site; /* source line of the kernel-wide persist barrier in progress */
	uint32_t epoch_kr;                   /* kernel-wide persist barriers so far */
	struct emu_group *live_groups;
	uint32_t stream;            /* durability checker */
	struct nvw_random schedule; /* seeded choices */
};

/* waiting.c: rows by source place and cause. */
struct emu_waited_table {
	struct emu_waited *rows;
	unsigned count, capacity;
};

/* ---- The machine ------------------------------------------------------------------------------------ */

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
	struct emu_cu *cus;
	struct emu_l2 l2;
	struct emu_l3 l3;
	struct emu_directory directory;
	struct emu_network network;
	struct emu_nvram nvram;
	struct emu_exec exec;
	struct emu_races *races;             /* NULL: no race detection */
	struct emu_record *record;           /* persist log and checker: NULL if neither is on */
	const struct persist_model *persist; /* persist/ */
	void *persist_data;                  /* of the model */
	emu_time l1_spared, l2_spared;       /* of the latency: what a look-up that misses does not take */
	bool renews;         /* lines of L1s, where an acquire has invalidated them (l1.acquire=off) */
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
		unsigned (*choose)(void *context, unsigned count); /* NULL: time decides */
		void *context;
	} scheduler;
	struct {
		const struct coh_action_info *action;  /* NULL: none */
		void (*line)(struct coh_event *event); /* a coh_line_action */
	} fault;                                       /* left out */

	struct emu_watch *watch; /* watch.h; NULL: no observer */
	struct emu_stats stats;
	emu_time measured_from, measured_to; /* to: 0 while it goes on */
};

/* ---- cache.c ----------------------------------------------------------------------------------------- */

int emu_cache_init(struct emu_cache *cache, const struct emu_cache_config *config);
void emu_cache_finish(struct emu_cache *cache);
/* Returns the line and makes it the most recently used, or NULL. */
struct emu_line *emu_cache_find(struct emu_cache *cache, emu_line_id id);
/* Like find, without changing the replacement order. */
struct emu_line *emu_cache_peek(const struct emu_cache *cache, emu_line_id id);
/* The line that id would replace: an unused one, else the least recently used of its set, preferably one
 * without registered bytes if the cache requires that (alsop16 III.C.2). */
struct emu_line *emu_cache_victim(struct emu_cache *cache, emu_line_id id);
/* The line is being evicted: it will not be chosen again before it is assigned. */
void emu_cache_pin(struct emu_cache *cache, const struct emu_line *line);
/* The tag of a line of the cache. */
emu_line_id emu_cache_tag(const struct emu_cache *cache, const struct emu_line *line);
static inline emu_line_id emu_cache_tag_at(const struct emu_cache *cache, uint32_t i)
{
	return cache->tags[i] ^ EMU_NO_LINE;
}
/* The index of the next line that has a tag, from i on; sets * ways if there is none. What a run never touched costs nothing. */
uint32_t emu_cache_next(const struct emu_cache *cache, uint32_t i);
/* The way is the one used last. The first way with the smallest stamp; by a scan: the same. */
void emu_set_touch(struct emu_set *set, uint32_t way);
uint32_t emu_set_oldest(const struct emu_set *set);
uint32_t emu_set_scan_oldest(const struct emu_set *set);
/* The way with this tag, or UINT32_MAX; the first way with the smallest stamp. By vectors, and way by way: the same. */
uint32_t emu_find_way(const uint32_t *tags, uint32_t ways, uint32_t tag);
uint32_t emu_find_oldest(const uint32_t *stamps, uint32_t ways);
uint32_t emu_scan_tags(const uint32_t *tags, uint32_t ways, uint32_t tag);
uint32_t emu_scan_oldest(const uint32_t *stamps, uint32_t ways);
/* Assigns the line, emptied, to id (EMU_NO_LINE: to none). */
void emu_cache_assign(struct emu_cache *cache, struct emu_line *line, emu_line_id id);
/* Whether the line is one of the cache's. */
static inline bool emu_cache_has(const struct emu_cache *cache, const struct emu_line *line)
{
	return line >= cache->lines && line < cache->lines + (size_t)cache->sets * cache->ways;
}
void emu_cache_prefetch(const struct emu_cache *cache, emu_line_id id);

int emu_fifo_init(struct emu_fifo *fifo, uint32_t capacity);
void emu_fifo_finish(struct emu_fifo *fifo);
void emu_fifo_push(struct emu_fifo *fifo, emu_line_id id);
bool emu_fifo_pop(struct emu_fifo *fifo, emu_line_id *ret_id); /* false if empty */
static inline uint32_t emu_fifo_length(const struct emu_fifo *fifo)
{
	return fifo->tail - fifo->head;
}

/* A byte of ones for each bit, as it lies in memory. */
static inline uint64_t emu_byte_mask(uint8_t bits)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t each = bits * ones & UINT64_C(0x8040201008040201);
#else
	const uint64_t each = bits * ones & UINT64_C(0x0102040810204080);
#endif

	return ((each + 0x7f * ones) >> 7 & ones) * 0xff;
}

/* Copies the bytes of mask, by whole words: those around them are written as they were. */
static inline void emu_copy_masked(uint8_t *to, const uint8_t *from, uint64_t mask)
{
	if (mask == UINT64_MAX) {
		memcpy(to, from, EMU_LINE);
		return;
	}
	while (mask) {
		const unsigned first = (unsigned)__builtin_ctzll(mask) & ~7u;
		const uint64_t kept = ~emu_byte_mask((uint8_t)(mask >> first));
		uint64_t old, new;

		memcpy(&old, to + first, 8);
		memcpy(&new, from + first, 8);
		new = (old & kept) | (new & ~kept);
		memcpy(to + first, &new, 8);
		mask &= ~(UINT64_C(0xff) << first);
	}
}

/* ---- watch.c: sights for an observer --------------------------------------------------------------------- */

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

/* ---- network.c --------------------------------------------------------------------------------------- */

int emu_network_init(struct nvw_machine *m);
void emu_network_finish(struct nvw_machine *m);
/* Sends a message of data bytes (0 for control) from node to node at t; returns its arrival. */
emu_time emu_network_send(
	struct nvw_machine *m, uint32_t from, uint32_t to, uint32_t bytes, enum emu_message what, emu_time t);
/*
 * Sends one control message from a node to the nodes of all CUs, which the network copies where their paths
 * part (a tree of columns on a grid): every link carries it once. ret_arrivals has room for every CU,
 * including the sender.
 */
void emu_network_broadcast(
	struct nvw_machine *m, uint32_t from, enum emu_message what, emu_time t, emu_time *ret_arrivals);
/* Number of flits of a message with this many data bytes. */
uint32_t emu_network_flits(const struct nvw_machine *m, uint32_t bytes);
uint32_t emu_network_cu_node(const struct nvw_machine *m, unsigned cu);
uint32_t emu_network_bank_node(const struct nvw_machine *m, uint32_t bank);
/* For example "CU 3 out", "node 4 east". */
void emu_network_link_name(const struct nvw_machine *m, uint32_t link, char *text, size_t size);

/* ---- devices.c: the devices and their write queues ------------------------------------------------------- */

/* Creates the devices of m->config; pool, if not NULL, is the NVRAM's. */
int emu_devices_init(struct nvw_machine *m, struct nvw_pool *pool);
void emu_devices_finish(struct nvw_machine *m);
/* inserted.c: the barriers, as bits, that a work-item meets before a request; the scope of one of the source. */
unsigned emu_inserted_before(struct nvw_machine *m, uint64_t id, const struct nvw__request *r);
enum nvw_group emu_widened(struct nvw_machine *m, const struct nvw_site *site, enum nvw_group group);
void emu_inserted_finish(struct nvw_machine *m);

/* From now on the NVRAM devices have the DRAM's latencies, and nothing is persistent. */
void emu_devices_set_volatile(struct nvw_machine *m);
/* Adds the devices' traffic to the statistics and resets it. */
void emu_devices_count(struct nvw_machine *m);
void emu_devices_count_from_here(struct nvw_machine *m);
/* The device of an address, NULL outside device memory. */
const struct emu_device *emu_device_at(const struct nvw_machine *m, const char *address);
/* Returns when the write queue of the line's channel accepts a write that the L2 sends at t; *ret_done is
 * when the device has completed it. The L2 learns of either channels.link_ps later. */
emu_time emu_channel_write(
	struct nvw_machine *m, struct emu_device *d, emu_line_id id, emu_time t, emu_time *ret_done);
static inline uint32_t emu_channel_of(const struct emu_channels *c, emu_line_id id)
{
	return emu_interleave(emu_line_number(id), c->count);
}

/* Channels are numbered over all devices: the first of one. */
static inline uint32_t emu_first_channel(const struct nvw_machine *m, unsigned device)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < device; i++) {
		first += m->device[i].channels.count;
	}
	return first;
}

/* The device of a line. */
static inline unsigned emu_device_index(const struct nvw_machine *m, emu_line_id id)
{
	return m->window[id >> EMU_WINDOW_BITS];
}
static inline const struct emu_device *emu_device_of(const struct nvw_machine *m, emu_line_id id)
{
	return &m->device[emu_device_index(m, id)];
}
/* The offset of a line in the range of the run's pools, or in its DRAM device. */
static inline nvw_off emu_line_off(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_device *const d = emu_device_of(m, id);

	return d->off + (nvw_off)(id - d->first) * EMU_LINE;
}
/* The bytes of a line: the DRAM's, or the durable ones of the pool. */
static inline char *emu_memory_behind(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_device *const d = emu_device_of(m, id);

	return d->behind + (nvw_off)(id - d->first) * EMU_LINE;
}
/* Whether persist barriers and NVW-FIFOs treat this line as NVRAM. */
static inline bool emu_is_persistent(const struct nvw_machine *m, emu_line_id id)
{
	return m->persistent >> (id >> EMU_WINDOW_BITS) & 1;
}

/* ---- memory.c: reads and writes of lines ------------------------------------------------------------------ */

/* Reads the whole line into to; returns when it has arrived at the L2. */
emu_time emu_memory_read(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t);
/* Writes the line's dirty bytes, which are clean afterwards; returns when the controller has accepted them.
 * A write to NVRAM is durable later, see emu_nvram_settled_at(). */
emu_time emu_memory_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t);
void emu_memory_prefetch(const struct nvw_machine *m, emu_line_id id);
/* The current bytes behind the caches; takes no time. */
void emu_memory_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to);

/* ---- l3.c: between the L2 and memory, where the machine has it ----------------------------------------- */

int emu_l3_init(struct nvw_machine *m);
void emu_l3_finish(struct nvw_machine *m);
emu_time emu_l3_read_here(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t);
emu_time emu_l3_write_here(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t);
/* As emu_memory_read() and emu_memory_write(), by the L3 if there is one. */
static inline emu_time emu_l3_read(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t)
{
	return m->l3.banks ? emu_l3_read_here(m, id, to, t) : emu_memory_read(m, id, to, t);
}
static inline emu_time emu_l3_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t)
{
	return m->l3.banks ? emu_l3_write_here(m, id, line, t) : emu_memory_write(m, id, line, t);
}
/* Writes all that it keeps to memory; returns when memory has accepted it. There is one. */
emu_time emu_l3_flush(struct nvw_machine *m, emu_time t);
/* For the host: overlays to with its content of the line; the host has written bytes; lines first to end - 1
 * are no longer used. */
void emu_l3_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
void emu_l3_update(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask);
void emu_l3_forget(struct nvw_machine *m, emu_line_id first, emu_line_id end);

/* ---- nvram.c: writes in flight, durability ------------------------------------------------------------- */

int emu_nvram_init(struct nvw_machine *m);
void emu_nvram_finish(struct nvw_machine *m);
/* A write of the bytes of mask, with a chain of store records, arrives at the controller at t. Returns when
 * the controller has accepted it. */
emu_time emu_nvram_write(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask,
	uint32_t stores, uint32_t tag, emu_time t);
/* These bytes of a line, from offset on, become durable now: a store under eadr. */
void emu_nvram_store_through(
	struct nvw_machine *m, emu_line_id id, unsigned offset, const uint8_t *data, unsigned bytes);
/* Overlays to with the bytes of writes in flight. */
void emu_nvram_forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
/* Completes every write that is due at t. */
void emu_nvram_complete(struct nvw_machine *m, emu_time t);
/* When the L2, from now on, knows that all writes in flight to all devices are durable; now if there are
 * none. */
emu_time emu_nvram_settled_at(const struct nvw_machine *m);
/* A persist barrier waits for them: counts for how long, by device. */
void emu_nvram_count_wait(struct nvw_machine *m);

/* Advances time while only the memory behind the caches works. */
static inline void emu_spend(struct nvw_machine *m, emu_time took)
{
	if (took) {
		m->now += took;
		emu_nvram_complete(m, m->now);
	}
}
/* Tears the writes in flight as a power cut does. */
void emu_nvram_tear(struct nvw_machine *m, uint64_t seed);
/* Writes the bytes of mask to the medium behind a line, word by word, each word at once. */
void emu_medium_write(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask);

/* ---- events.c: what happens when -------------------------------------------------------------------------- */

int emu_events_init(struct nvw_machine *m);
void emu_events_finish(struct nvw_machine *m);
/* Calls act(machine, what) at t. what is malloced; act frees it, or emu_events_forget() does if the run ends
 * before. */
void emu_schedule(struct nvw_machine *m, emu_time t, void (*act)(struct nvw_machine *, void *), void *what);
/* The same for an event that a scheduler may delay (emu_set_scheduler): it is a choice, like a wavefront. */
void emu_schedule_open(
	struct nvw_machine *m, emu_time t, void (*act)(struct nvw_machine *, void *), void *what);
/* At t, the wavefront has its turn. */
void emu_wake(struct nvw_machine *m, struct emu_wavefront *wf, emu_time t);
/* Removes the next event: the earliest, or the one that the scheduler chooses. There must be one. */
struct emu_event emu_events_take(struct nvw_machine *m);
/* Removes and frees all events. */
void emu_events_forget(struct nvw_machine *m);

/* ---- wavefront.c: lanes as fibers --------------------------------------------------------------------------- */

int emu_wavefronts_init(struct nvw_machine *m);
void emu_wavefronts_finish(struct nvw_machine *m);
/* Sets up the first lanes of a wavefront context to run the kernel. */
void emu_wavefront_start(struct nvw_machine *m, struct emu_wavefront *wf, unsigned lanes);
/* Runs every runnable lane to its next request. */
void emu_wavefront_run(struct nvw_machine *m, struct emu_wavefront *wf);
/* It has its turn soon. */
void emu_wavefront_prefetch(const struct emu_wavefront *wf);
/* The live part of a suspended lane's stack. */
uint64_t emu_wavefront_stack_used(const struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane);
char *emu_wavefront_stack(const struct nvw_machine *m, const struct emu_wavefront *wf, unsigned lane);
/* The CU a wavefront runs on. */
static inline struct emu_cu *emu_cu_of(const struct emu_wavefront *wf)
{
	return wf->group->slot->cu;
}
/* Whether the stack pointer is a work-item's. */
bool emu_is_lane_stack(const struct nvw_machine *m, const void *sp);
/* Called in a signal handler that interrupted a work-item: leaves the work-item for good and returns to the
 * engine, with m->error set. */
_Noreturn void emu_lane_abandon(void);

/* ---- release.c: barriers open --------------------------------------------------------------------------------- */

/* Lets the parked lanes of a group's wavefronts continue at t. */
void emu_group_release(struct nvw_machine *m, struct emu_group *group, emu_time t);
void emu_kernel_release(struct nvw_machine *m, emu_time t);

/* ---- groups.c: work-groups on slots --------------------------------------------------------------------------- */

/* Gives an empty slot to a work-group that waits for it, else to one that has not started. */
void emu_slot_fill(struct nvw_machine *m, struct emu_slot *slot, emu_time t);
/* The lanes wait at a barrier of this kind. The last one to arrive opens an execution barrier, or calls
 * persist_group_arrived() or persist_kernel_arrived() at a persist barrier. */
void emu_park(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum emu_wait wait, emu_time t);
/* All work-items of the group have returned. */
void emu_group_finish(struct nvw_machine *m, struct emu_group *group, emu_time t);
/* So many of its work-items have returned: the group may be finished, or a barrier open. */
void emu_group_returned(struct nvw_machine *m, struct emu_group *group, uint32_t work_items, emu_time t);
/* Work-groups that a kernel that did not end has left behind. */
void emu_groups_forget(struct nvw_machine *m);

/* ---- exec.c, launch.c ------------------------------------------------------------------------------------ */

/* Runs events until none is left or the run fails. */
int emu_run_events(struct nvw_machine *m);
/* Frees the state of a kernel that did not finish. */
void emu_forget_kernel(struct nvw_machine *m);

/* ---- fault.c: plain code that reads or writes device memory ------------------------------------------------- */

/* Starts catching faults, on the calling thread. NVW_E_SYSTEM, NVW_E_MEMORY. */
NVW_CHECKED int emu_faults_catch(struct nvw_machine *m);
/* Stops catching faults. */
void emu_faults_release(struct nvw_machine *m);
/* After a work-item was abandoned: sets the message of m->error. */
void emu_faults_tell(struct nvw_machine *m);

/* ---- protocol/queue.c ------------------------------------------------------------------------------------- */

/* Drops the waiting requests of a kernel that did not finish. Events own the queues themselves. */
void coh_queue_forget(struct nvw_machine *m);

/* ---- protocol/lock.c -------------------------------------------------------------------------------------- */

/* Opens the lock of a kernel that did not finish. */
void coh_lock_forget(struct nvw_machine *m);

/* ---- protocol/leases.c ------------------------------------------------------------------------------------ */

int coh_leases_init(struct nvw_machine *m);
void coh_leases_finish(struct nvw_machine *m);

/* ---- protocol/turns.c ------------------------------------------------------------------------------------- */

int coh_turns_init(struct nvw_machine *m);
void coh_turns_finish(struct nvw_machine *m);
/* A kernel begins: an EMU that never sleeps is awake. */
void coh_turns_launch(struct nvw_machine *m);
/* Drops the waiting requests of a kernel that did not finish, and the EMU's events. */
void coh_turns_forget(struct nvw_machine *m);

/* ---- waiting.c -------------------------------------------------------------------------------------------- */

/* Counts a delay of this length for a request of the source line. */
void emu_count_wait(
	struct nvw_machine *m, const struct nvw_site *site, enum emu_cause cause, emu_time waited);
void emu_forget_waits(struct nvw_machine *m);

/* ---- loads.c: loads in flight, where gpu.loads bounds them (m->loads) ---------------------------------------- */

int emu_loads_init(struct nvw_machine *m);
void emu_loads_finish(struct nvw_machine *m);
/* A new work-group has the context: it has none. */
void emu_loads_forget(struct nvw_machine *m, const struct emu_wavefront *wf);
/* When each of the lanes may issue another one; when all that they have issued are done. */
emu_time emu_loads_room(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
emu_time emu_loads_done(const struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes);
/* They have issued one that is done then. */
void emu_loads_add(struct nvw_machine *m, const struct emu_wavefront *wf, uint64_t lanes, emu_time done);

/* ---- late_loads.c: loads that wait in front of the L1 (RMO, where a scheduler chooses) ------------------------- */

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

/* ---- deadlock.c -------------------------------------------------------------------------------------------- */

/* No event is left, but work-items are: NVW_E_DEADLOCK, with the places of their waits and their causes. */
int emu_deadlock(struct nvw_machine *m);

/* ---- served.c --------------------------------------------------------------------------------------------- */

/* Counts this latency for a memory instruction of this kind. */
void emu_count_latency(struct nvw_machine *m, unsigned kind, emu_time ps);
/* The delayed request of these lanes completes at t. */
void emu_access_served(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);

/* ---- access.c -------------------------------------------------------------------------------------------- */

/* Executes the memory instruction posted by the lanes of mask; returns when its results are available. Sets
 * m->error if an address is bad. If requests are delayed (wf->queued), the caller must not wake the
 * wavefront: emu_access_served() does. */
emu_time emu_access(struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, emu_time t);

/* ---- host.c ------------------------------------------------------------------------------------------------ */

/* The memory behind a device pointer. False outside device memory. */
static inline bool emu_locate(const struct nvw_machine *m, uint64_t address, uint64_t size,
	emu_line_id *ret_line, unsigned *ret_offset)
{
	const struct emu_device *d = m->device;
	uint64_t off = address - (uint64_t)(uintptr_t)d->base;

	while (off >= d->bytes || size > d->bytes - off) {
		if (++d == m->device + m->device_count) {
			return false;
		}
		off = address - (uint64_t)(uintptr_t)d->base;
	}
	*ret_line = d->first + (emu_line_id)(off / EMU_LINE);
	*ret_offset = (unsigned)(off % EMU_LINE);
	return true;
}

/* ---- small helpers -------------------------------------------------------------------------------------------- */

static inline emu_time emu_later(emu_time a, emu_time b)
{
	return a > b ? a : b;
}

/* Books the resource for occupancy in the first gap at t or later; returns the beginning. t is not before the
 * machine's time. */
emu_time emu_book_between(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy);
static inline emu_time emu_book(struct nvw_machine *m, struct emu_resource *r, emu_time t, emu_time occupancy)
{
	emu_time start;

	assert(t >= m->now); /* past intervals have been dropped */
	if (r->end == r->capacity ||
		t < r->busy[r->end - 1].from) { /* no end without an interval, but at first */
		return emu_book_between(m, r, t, occupancy);
	}

	struct emu_interval *const end = r->busy + r->end;

	start = t > end[-1].to ? t : end[-1].to;
	if (start == end[-1].to) {
		end[-1].to += occupancy;
	} else if (occupancy) {
		*end = (struct emu_interval){start, start + occupancy};
		r->end++;
	}
	return start;
}
/* The same for a resource whose use an observer sees. Without one nothing is kept for it while the resource is booked. */
static inline emu_time emu_book_seen(struct nvw_machine *m, struct emu_resource *r, enum emu_sight_kind kind,
	uint32_t unit, const char *what, emu_time t, emu_time occupancy)
{
	return emu_is_watched(m) ? emu_watch_book(m, r, kind, unit, what, t, occupancy) :
				   emu_book(m, r, t, occupancy);
}
void emu_resources_finish(struct emu_resource *resources, size_t count);

/* As emu_book(), in order of arrival. */
static inline emu_time emu_reserve(emu_time *free_at, emu_time t, emu_time occupancy)
{
	const emu_time start = emu_later(t, *free_at);

	*free_at = start + occupancy;
	return start;
}

#endif
