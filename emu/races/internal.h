/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of the race detector: races.c takes instructions and barriers, accesses.c compares
 * accesses with earlier ones, synchronize.c keeps the clocks of releases, report.c makes the report,
 * operations.c numbers source lines and their operations, fences.c has the clocks of fences, store.c owns the
 * memory.
 *
 * Every 8 aligned bytes that a kernel accesses have a cell: the accesses that no later one subsumes, and the
 * clocks released into it. Time is one counter for the kernel; it advances after each instruction that
 * releases. A clock's entry for a work-item is the time of one of its releases, so everything that the
 * work-item does between two releases may count as done right after the first: equal accesses of a
 * wavefront's lanes that have not released in between are one record.
 *
 * Pointers to rows (cells, accesses, syncs, domains) are valid until the next row of their kind is taken;
 * lists hold row numbers.
 */
#ifndef EMU_RACES_INTERNAL_H
#define EMU_RACES_INTERNAL_H

#include "core/rows.h"
#include "races.h"
#include "vclock.h"

/* In the kind of an operation: a compare-exchange that stored nothing; the atomic load or store of a fence,
 * which is no access. */
enum { FAILED = 0x80, FENCE = 0x40, KIND = FENCE - 1 };
/* In its order: a volatile access; a release that a fence before it has made. */
enum { VOLATILE = 0x80, BY_FENCE = 0x40, ORDER = BY_FENCE - 1 };
enum { FIRST_TIME = 1, MISSES = 1024, PRUNE_MIN = 32 };

/* The work-items that the scope of an atomic includes, under the model. */
enum reach { REACH_SELF, REACH_LOCAL, REACH_AGENT, REACH_REMOTE, REACHES };

/* A source line and its operation. */
struct what {
	const struct nvw_site *site;
	uint32_t op;
	uint32_t line; /* the first of these with the same source line */
	enum reach reach;
	bool is_atomic, is_volatile, is_write, is_fence, acquires, releases;
};

static inline bool race_is_strong(const struct what *w)
{
	return w->is_atomic || w->is_volatile;
}

struct access {
	uint32_t next, wavefront;
	uint32_t cell; /* 0: a row that is free */
	uint64_t lanes;
	uint64_t value; /* value stored by all of them */
	uint32_t time, what;
	uint8_t mask; /* of the cell's bytes */
	bool has_value;
};

/* The clocks released into bytes of a cell since the latest store that was not a read-modify-write. */
enum { BY_AGENT, BY_LOCAL_OR_WIDER, BY_REMOTE, BY_ANY, IGNORING_SCOPES, RELEASED };

struct sync {
	uint32_t next;
	uint64_t place;   /* the first of its clocks, as observers know them */
	uint32_t domains; /* of local scope or wider, by domain */
	vclock released[RELEASED];
	uint32_t latest[REACHES]; /* whats of the releases, by reach */
	uint64_t turn[REACHES];   /* time; 0: none */
	uint32_t domain_of_latest;
	uint8_t mask;
};

struct domain {
	uint32_t next, id;
	uint64_t place;
	vclock released;
};

/* An access to bytes of a cell in this kernel. */
struct touch {
	uint32_t wavefront, what;
	uint8_t lane, mask;
};

struct cell {
	uint64_t key;
	uint32_t number; /* its row */
	uint32_t reads, writes, syncs;
	uint32_t count, prune_at; /* reads and writes */
	struct touch written, read_only;
};

/* A work-item's clocks: its order; under HRF, its order if scopes were ignored. If fences are known, also
 * what atomics have read, for a later fence of block scope, and of a wider one; what was known at the latest
 * fence of at least block scope, and at the latest wider one. */
enum clocks { ORDERED, UNSCOPED, READ, READ_WIDE, READ_UNSCOPED, KEPT, KEPT_WIDE, KEPT_UNSCOPED, CLOCKS };

/* The clocks of a wavefront's work-items. */
struct party {
	uint32_t since[EMU_LANES];  /* after the latest release */
	vclock clocks[][EMU_LANES]; /* race_clocks() of them */
};

/* An acquire that missed a release because of their scopes. */
struct miss {
	vclock released;           /* the missed clock, and the clock without it */
	uint32_t release, acquire; /* whats */
	uint32_t wavefront, lane, time;
};

struct emu_races {
	bool scopes, remote, by_cu; /* HRF; with remote scopes; local scope is the CU's */
	bool fences;                /* they are judged by themselves (fences.c) */
	struct vclock_pool clocks;
	uint32_t time;
	uint64_t turns; /* number of releases */
	bool released;  /* by the current instruction */

	struct nvw_rows accesses, syncs, domains, cells;
	/* reads by hash, later ones replacing earlier ones: a repeated read is found without a search */
	uint32_t *recent;
	uint32_t recent_mask;
	uint32_t *table; /* cells by key */
	uint32_t table_mask;
	struct party **parties; /* by wavefront; NULL: empty clocks */
	uint32_t *domain_of;    /* by wavefront */
	uint64_t wavefronts;

	struct what *whats;
	uint32_t what_count, what_capacity;
	uint32_t *what_table;
	uint32_t what_mask;
	uint32_t last_what;

	void (*told)(void *context, const struct emu_sync *sync); /* NULL: nobody */
	void *context;
	uint64_t places; /* so far */

	struct miss misses[MISSES]; /* a ring */
	uint64_t missed;

	struct emu_race_report report;
	struct {
		uint32_t lines[2];
	} found[EMU_RACES_MAX];
};

/* The current instruction: those of its lanes that do the same to bytes of one cell. */
struct event {
	struct nvw_machine *m;
	uint32_t wavefront, what;
	uint64_t first_global; /* the wavefront's first work-item */
	uint64_t lanes;
	uint32_t since; /* their latest release */
	uint64_t value;
	bool has_value;
	uint8_t mask;
};

/* The clocks that a work-item has. */
static inline unsigned race_clocks(const struct emu_races *r)
{
	return r->fences ? CLOCKS : READ;
}

static inline struct access *access_at(const struct emu_races *r, uint32_t i)
{
	return nvw_row(&r->accesses, i);
}

static inline struct sync *sync_at(const struct emu_races *r, uint32_t i)
{
	return nvw_row(&r->syncs, i);
}

static inline struct domain *domain_at(const struct emu_races *r, uint32_t i)
{
	return nvw_row(&r->domains, i);
}

static inline struct cell *cell_at(const struct emu_races *r, uint32_t i)
{
	return nvw_row(&r->cells, i);
}

static inline uint32_t race_hash(uint64_t key)
{
	return (uint32_t)(nvw_mix64(key) >> 32);
}

static inline uint64_t race_group_of(const struct nvw_machine *m, uint32_t wavefront)
{
	return wavefront / m->exec.group_wavefronts;
}

/* The place for the number of a read like this one, if it was the latest with its hash. */
static inline uint32_t *race_recent_of(const struct event *e, const struct cell *c)
{
	const uint64_t key =
		(uint64_t)c->number << 32 | (e->wavefront * 0x9e3779b1u ^ e->what << 8 ^ e->mask);

	return &e->m->races->recent[race_hash(key) & e->m->races->recent_mask];
}

/* ---- store.c --------------------------------------------------------------------------------- */

/* Ends the run, unless it has ended already. */
void race_out_of_memory(struct nvw_machine *m);
/* A zeroed row; 0 without memory. */
uint32_t race_row_take(struct nvw_machine *m, struct nvw_rows *rows);

/* The cell of 8 aligned bytes (line << 3 | word), created if necessary; NULL without memory. */
struct cell *race_cell_for(struct nvw_machine *m, uint64_t key);
/* The clocks of the wavefront's work-items, initially empty; NULL without memory. */
struct party *race_party_of(struct nvw_machine *m, uint32_t wavefront);
/* Makes the event the first record of one of the cell's lists. */
void race_remember(const struct event *e, struct cell *c, uint32_t *list);

/* Drops all accesses and clocks, but not the cells: everything later is ordered after everything so far. */
void race_forget_order(struct emu_races *r);
/* Drops the cells too, and makes room for the wavefronts of m's kernel. */
void race_store_launch(struct nvw_machine *m);
/* Allocates the first memory of a zeroed detector; false if there is none. */
bool race_store_begin(struct emu_races *r);
/* Frees the detector and its memory, also after race_store_begin() or race_grow_whats() failed. */
void race_store_free(struct emu_races *r);

/* ---- operations.c ---------------------------------------------------------------------------- */

/* The number, in whats, of a source line's operation; 0 without memory. */
uint32_t race_what_number(struct nvw_machine *m, const struct nvw_site *site, uint32_t op);
/* Makes room for the first, or for more of them; false without memory: existing ones are kept. */
bool race_grow_whats(struct emu_races *r);

/* ---- accesses.c ------------------------------------------------------------------------------ */

/* Reports the races of the event with earlier accesses to its bytes, and remembers it. */
void race_check(const struct event *e, struct cell *c);
/* A read-only load promises that nobody writes the bytes in this kernel, ordered or not: tells where that is
 * broken. */
void race_check_read_only(const struct event *e, struct cell *c);

/* ---- synchronize.c --------------------------------------------------------------------------- */

/* Joins other into *clock, a reference of the caller's: true if it adds something. */
bool race_learn(struct emu_races *r, vclock *clock, vclock other);
/* Tells the observer, if there is one. */
void race_tell_sync(struct nvw_machine *m, enum emu_sync_kind kind, uint64_t work_item, uint64_t place,
	bool changes_word);
/* A lane of the event acquires the clocks released into its bytes, as far as scopes allow. */
void race_acquire(const struct event *e, struct cell *c, unsigned lane);
void race_release(const struct event *e, struct cell *c, unsigned lane);
/* The clocks of releases to the event's bytes, created if necessary; NULL without memory. */
struct sync *race_sync_for(const struct event *e, struct cell *c);
/* The clock released by work-items of a domain with local scope or wider; NULL if there is none. */
struct domain *race_domain_in(const struct emu_races *r, const struct sync *s, uint32_t id);
/* A lane passes on a clock, by a place; to those of its domain. */
void race_pass_on(const struct event *e, unsigned lane, vclock *released, vclock published, uint64_t place);
void race_release_to_domain(const struct event *e, struct sync *s, unsigned lane, vclock published);
/* After a store that is not a read-modify-write, a read no longer synchronizes with earlier releases. */
void race_forget_released(struct emu_races *r, struct cell *c, uint8_t mask);

/* ---- fences.c -------------------------------------------------------------------------------- */

/* An atomic or volatile access of a lane has read, without acquiring. */
void race_note_read(const struct event *e, const struct cell *c, unsigned lane);
void race_fence(const struct event *e, unsigned lane);
/* An atomic or volatile store behind a fence releases what was known at that. */
void race_pass_on_fence(const struct event *e, struct cell *c, unsigned lane);

/* ---- report.c -------------------------------------------------------------------------------- */

/* Counts a race of the event's lane with an access, and describes it if it is the first of its pair of
 * lines. */
void race_tell(
	const struct event *e, const struct cell *c, const struct access *x, unsigned x_lane, unsigned lane);
/* The same for a read-only load and a write; other came first. */
void race_tell_read_only(const struct event *e, const struct cell *c, const struct touch *other);

#endif
