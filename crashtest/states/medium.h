/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NVRAM of a logged run, replayed under a model (model.h): the durable image, the stores that may or may
 * not be durable, and the acknowledgements.
 *
 * An *instant* lies before a record that makes something durable (a completed write, a barrier, a fence, a
 * write of the host) or at the end of the log, if there was a store, issue or acknowledgement since the
 * previous instant (crash.h, guarantee 4).
 *
 * Uncertain data at an instant is kept in *cells*, one per failure-atomic unit, each with the possible
 * versions of the unit. A state gives every cell a level: the number of its versions, from the first, that
 * are durable. Under most models every combination of levels is permitted; strict persistency permits a chain
 * of them, buffered epoch persistency those that respect the order among stores (states.h).
 *
 * A model of the machine orders stores to the same bytes, and words of one unit in no way, so its units are
 * words. Where stores to a word are to different bytes of it, a version is one of the sets of stores that may
 * be durable together: a store makes a version of each earlier one that has all stores to its bytes. So a
 * level includes another only if it is higher, and versions that older stores make come first. ct_cell_has()
 * tells whether a store is durable at a level.
 */
#ifndef CRASHTEST_MEDIUM_H
#define CRASHTEST_MEDIUM_H

#include <string.h>
#include <sys/param.h>

#include <check/check.h>
#include <nvw/persist_log.h>

#include "image.h"
#include "model.h"

#include "core/each.h"
#include "core/invariant.h"

/* A version is made by a store to these bytes of the unit, from a level of the cell. */
struct ct_version {
	unsigned from;
	uint8_t bytes;
	bool hidden, was_hidden; /* at this instant, at the previous one (trust.h) */
};

/* A unit, or several in a row, with stores that may not be durable. */
struct ct_cell {
	nvw_off off;
	unsigned words;           /* words of 8 bytes */
	unsigned count, capacity; /* of versions */
	/* from this level on, each has all stores of those below it: 0 unless stores are to different
	 * bytes */
	unsigned straight;
	unsigned beyond; /* stores that are ordered like that for want of room: more states are permitted */
	unsigned old_count;      /* number that existed at the previous instant */
	uint64_t *write;         /* [version]: the number of the write that makes it */
	struct ct_version *made; /* [version]: from what */
	uint64_t instruction;    /* instruction of the newest version; in logs whose instructions join */
	uint64_t *content;       /* version v from v * words on; the whole content if it is durable */
	uint64_t base[8];        /* content before version 0; only under buffered epoch persistency */
};

/* Who has made a store or an acknowledgement, and in which epochs (gope18, equations 1 to 3). */
struct ct_stamp {
	uint64_t work_item, group;
	uint32_t epoch_wi, epoch_wg, epoch_kr;
};
/* That of a record: CT_STAMP(r->store), CT_STAMP(r->ack). */
#define CT_STAMP(record)                                                                             \
	((struct ct_stamp){(record).work_item, (record).group, (record).epoch_wi, (record).epoch_wg, \
		(record).epoch_kr})
/* True if a barrier orders the first before the second. */
static inline bool ct_stamp_precedes(const struct ct_stamp *a, const struct ct_stamp *b)
{
	return (a->work_item == b->work_item && a->epoch_wi < b->epoch_wi) ||
	       (a->group == b->group && a->epoch_wg < b->epoch_wg) || a->epoch_kr < b->epoch_kr;
}

/* A store (under observed: a write-back) that is not known to be durable. */
struct ct_flight {
	uint64_t write; /* its number, ascending in log order */
	nvw_off off;    /* of its line */
	uint64_t mask;  /* bytes of the line */
	struct ct_stamp by;
	uint64_t older; /* number of the work-item's previous store in flight, 0: none */
	uint32_t kernel, site;
	uint32_t cell, version; /* under buffered epoch persistency, where they do not change */
	bool done;
};

/* An acknowledgement that holds once the preceding epochs of its work-item are durable (buffered epoch
 * persistency). */
struct ct_told {
	uint64_t first, count, after; /* after: the newest store at that time */
	struct ct_stamp by;
};

/* A flush that its thread has not fenced yet. */
struct ct_flush {
	uint64_t thread, write; /* write: the newest store at that time */
	nvw_off off;            /* of the line; under pmreorder of the first byte */
	uint64_t bytes;
	bool ordered; /* complete before the next store */
};

/* The flushed bytes of a store, as an element of a pmreorder interval. */
struct ct_element {
	uint64_t instruction; /* pieces of one instruction are one element */
	nvw_off off;
	unsigned bytes;
	uint64_t value;
	bool flushed;
};

/* A file became longer (the model "files"): the bytes of the image that became part of it. */
struct ct_growth {
	uint64_t write; /* the store to its size */
	nvw_off at;     /* of the size */
	nvw_off from, end;
};

/* A change of metadata that is durable only if another is (the model "files"). */
struct ct_behind {
	uint64_t write, other; /* their stores */
	nvw_off at, other_at;  /* where their cells begin */
};

/* The last ones among the versions of a cell that have become certain. */
struct ct_last {
	uint64_t instruction; /* of host code, the last one; 0: none */
	uint64_t of_kernel;   /* the last store of a kernel; 0: none */
};

/* A growing array. */
struct ct_array {
	void *at;
	uint64_t count, capacity;
};

/*
 * A medium moves from instant to instant:
 *
 *	create --> applying records --[one that completes something, after a change]-> an instant --[undo]--+
 *	             ^          |                                                     |    ^              |
 *	             |          +--[end of the log: at_end]-> the last instant, or none |    +--------------+
 *	             +--[next: applies the pending record]----------------------------+--[apply]-> a state
 *
 * At an instant the completing record is pending: read, but not applied. States are applied to the image and
 * undone there. ct_medium_next() requires that no state is applied.
 */
struct ct_medium {
	struct ct_rules rules;
	struct ct_image image; /* the durable bytes; under buffered epoch persistency all stored bytes */
	struct nvw_acks acks;
	struct nvw_log_reader *reader;
	uint64_t first_record, record;
	uint64_t time_ps; /* of the last applied record, from rules.begin_ps on */
	uint64_t instant; /* the current instant */
	bool at_end;
	bool changed;        /* a change since the last instant */
	bool obliged;        /* an acknowledgement or host write since then: every state is new */
	bool obliged_by_ack; /* at this instant: one of an operation that was not acknowledged before */
	struct nvw_log_record pending; /* read; to be applied after the instant */
	uint64_t pending_data[512];    /* the data of pending */
	bool has_pending;

	/* Under x86 and eadr, for a log of a host program with an atomicity of a line: the order of the
	 * stores of one instruction is unknown. Under x86 those to one line persist together; eadr has
	 * instants only at fences. */
	bool joins;
	bool by_bytes;        /* a model of the machine: only stores to the same bytes are in order */
	uint64_t instruction; /* the current one */
	unsigned unit_bytes;
	uint32_t *cell_of; /* unit -> its cell + 1, 0 if it has none */
	struct ct_cell *cell;
	unsigned cell_count, cell_capacity;
	struct ct_flight *flight; /* oldest first, from flight_head */
	uint64_t flight_head, flight_count, flight_capacity;
	uint64_t stores;      /* number of the newest store */
	uint32_t newest_site; /* its source place */
	uint64_t old_stores;  /* the same at the previous instant */

	void (*completed)(
		struct ct_medium *m, nvw_off off, const struct ct_last *last); /* called then; may be NULL */
	struct ct_mixed *mixed; /* of a log of host code and kernels (mixed.h); NULL: it has one of them */

	/* The running kernel, and for each of its work-items the newest store in flight. */
	uint32_t kernel, group_size;
	uint64_t work_items;
	struct ct_array newest; /* uint64_t */

	/* Narrowed barriers: members that have met one and done nothing since, with the newest store that the
	 * narrower barrier makes durable. For buffered epoch persistency: the number that each has passed. */
	uint32_t narrow_site;                  /* its number in the log, 0: not seen yet */
	struct ct_array owed_item, owed_group; /* uint64_t */
	uint64_t owed;
	/* For limits (limits.h): what is durable for certain and no longer in a cell. */
	struct ct_array landed;   /* uint8_t by number of stores together */
	uint64_t landed_after[8]; /* of each order, the last one that persists later */
	uint64_t covered;         /* strict persistency: the newest store covered by a completed barrier */

	struct ct_array told;    /* struct ct_told */
	struct ct_array dropped; /* struct ct_told: undone in the applied state */
	struct ct_array flush;   /* struct ct_flush */
	uint64_t ordered;        /* number of ordered ones */
	struct ct_array element; /* struct ct_element */
	bool chained;            /* of files: all stores are in one journal */
	nvw_off metadata;        /* of files: from here on, each page is a unit; UINT64_MAX: there is none */
	nvw_off files;           /* the same: their sizes, behind their names */
	struct ct_array growth;  /* struct ct_growth, by their stores */
	struct ct_array need;    /* struct ct_behind, by their stores */
	struct ct_array cut;     /* struct ct_behind without another: a file became shorter, or begins anew */
	struct {
		uint64_t write, instruction;
	} named;                 /* the newest change of a name */
	struct ct_array settled; /* unsigned: the levels of cells of metadata in a state */
	bool inexact;            /* a pmreorder interval had too many overlapping stores for all orders */

	/* What changed since the counts were last set to 0, if notes_changes: words that have other versions
	 * or another certain content, and acknowledgements. */
	bool notes_changes;
	struct ct_array changed_words; /* nvw_off */
	struct ct_array changed_acks;  /* struct ct_told: first and count */

	/* Transactions that are trusted (trust.h): ranges, cells as they are between instants. */
	struct {
		struct ct_array ranges, whole;
		struct ct_trusted counts;
	} trust;

	/* Called with every record before it is applied; may be NULL. */
	void (*seen)(void *context, const struct ct_medium *medium, const struct nvw_log_record *record);
	void *context;
};

/* Creates a medium with this content at the start of the log. */
NVW_CHECKED int ct_medium_create(int log_fd, const void *initial, uint64_t bytes, uint64_t first_record,
	const struct ct_rules *rules, struct ct_medium *ret_medium);
void ct_medium_destroy(struct ct_medium *medium);

/* Bytes that persist together: the log's, where a model itself orders the stores of a line. */
unsigned ct_medium_atomicity(const struct ct_medium *medium);

/* Advances to the next instant: returns 1, 0 at the end of the log, or an error. */
NVW_CHECKED int ct_medium_next(struct ct_medium *medium);

/* Applies the state of levels (one per cell) to the image and the acknowledgements. */
void ct_medium_apply(struct ct_medium *medium, const unsigned *levels);
/* Undoes it, with all writes to the image since. */
void ct_medium_undo(struct ct_medium *medium);

/* Identifies a state: equal keys mean equal bytes and acknowledgements. */
uint64_t ct_medium_key(const struct ct_medium *medium);

/* ---- cells.c: for the models --------------------------------------------------------------------------- */

/* The permitted combinations of levels. */
static inline enum ct_levels ct_medium_levels(const struct ct_medium *m)
{
	if (m->rules.mixed) {
		return CT_GRAPH;
	}
	return m->chained ? CT_CHAIN : ct_model_info(m->rules.model)->levels;
}

/* Buffered epoch persistency keeps every store, even one that changes nothing, because it may order
 * others. */
static inline bool ct_keeps_all(const struct ct_medium *m)
{
	return !m->rules.mixed && ct_model_info(m->rules.model)->levels == CT_GRAPH;
}

static inline bool ct_cell_covers(const struct ct_cell *c, nvw_off off)
{
	return off >= c->off && off - c->off < 8 * (nvw_off)c->words;
}

/* The aligned word at off in the cell with this number of its versions durable. */
static inline uint64_t ct_cell_word(
	const struct ct_medium *m, const struct ct_cell *c, unsigned level, nvw_off off)
{
	NVW_DEEP_INVARIANT(level <= c->count && ct_cell_covers(c, off));

	const uint64_t i = (off - c->off) / 8;

	if (level > 0) {
		return c->content[(size_t)(level - 1) * c->words + i];
	}
	return ct_keeps_all(m) ? c->base[i] : ct_image_word(&m->image, off);
}

/* The cell at off; NULL: there is none. */
static inline struct ct_cell *ct_medium_cell_at(const struct ct_medium *m, nvw_off off)
{
	const uint32_t i = m->cell_of[off / m->unit_bytes];

	return i != 0 ? &m->cell[i - 1] : NULL;
}

/* Where the first unit of a store in flight begins. */
static inline nvw_off ct_flight_unit(const struct ct_medium *m, const struct ct_flight *f)
{
	return f->off + ((unsigned)__builtin_ctzll(f->mask) & ~(m->unit_bytes - 1));
}

/* The same for any word: one that has no cell has level 0 alone. False: there is no such level. */
static inline bool ct_medium_version(
	const struct ct_medium *m, nvw_off off, unsigned level, uint64_t *ret_word)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, off);

	if (!c) {
		*ret_word = ct_image_word(&m->image, off);
		return level == 0;
	}
	*ret_word = ct_cell_word(m, c, MIN(level, c->count), off);
	return level <= c->count;
}

/* Is the store that makes this version durable at this level? */
bool ct_cell_has_of_bytes(const struct ct_cell *cell, unsigned level, unsigned version);
static inline bool ct_cell_has(const struct ct_cell *c, unsigned level, unsigned version)
{
	return c->straight == 0 ? level > version : ct_cell_has_of_bytes(c, level, version);
}
/* The first version of each store: others of it come next to it. */
static inline bool ct_cell_is_first(const struct ct_cell *c, unsigned version)
{
	NVW_DEEP_INVARIANT(version < c->count);
	return c->straight == 0 || version == 0 || c->write[version - 1] != c->write[version];
}
/* Must the store of version a be durable before that of b, which is later? */
bool ct_cell_orders(const struct ct_cell *cell, unsigned a, unsigned b);
/* The nearest level with that store, and all before it; the nearest without it, and all after it. */
unsigned ct_cell_with(const struct ct_cell *cell, unsigned level, unsigned version);
unsigned ct_cell_without(const struct ct_cell *cell, unsigned level, unsigned version);
/* The least level with all stores of both; the greatest with stores of both alone. */
unsigned ct_cell_join(const struct ct_cell *cell, unsigned a, unsigned b);
unsigned ct_cell_meet(const struct ct_cell *cell, unsigned a, unsigned b);

NVW_CHECKED int ct_array_grow(struct ct_array *array, uint64_t count, size_t element);
/* Adds a copy of the element behind the others. */
NVW_CHECKED static inline int ct_array_add(struct ct_array *a, const void *element, size_t bytes)
{
	NVW_TRY(ct_array_grow(a, a->count + 1, bytes));
	memcpy((char *)a->at + a->count++ * bytes, element, bytes);
	return 0;
}
/* The same of what the pointer points to. */
#define CT_ADD(array, element) ct_array_add(array, element, sizeof *(element))
/* An element of an array of uint64_t; all of them become 0. */
static inline uint64_t *ct_array_number(const struct ct_array *a, uint64_t i)
{
	NVW_DEEP_INVARIANT(i < a->capacity);
	return (uint64_t *)a->at + i;
}
static inline void ct_array_zero_numbers(struct ct_array *a)
{
	if (a->at) {
		memset(a->at, 0, a->capacity * sizeof(uint64_t));
	}
}
/* at is the address of a pointer, which stays as it is without memory: false. */
bool ct_resize(void *at, size_t bytes);
/* Adds a cell of this many words without versions. */
NVW_CHECKED int ct_medium_add_cell(
	struct ct_medium *medium, nvw_off off, unsigned words, struct ct_cell **ret_cell);
/* Adds a version to the cell; returns its content. */
NVW_CHECKED int ct_medium_add_version(struct ct_cell *cell, uint64_t write, uint64_t **ret_content);
/* Discards all cells without making anything durable. */
void ct_medium_drop_cells(struct ct_medium *medium);
/* A write of bytes within a line may be durable from now on. */
NVW_CHECKED int ct_medium_put(
	struct ct_medium *medium, uint64_t write, nvw_off line, const uint8_t *data, uint64_t mask);
/* Writes up to this number to any of these bytes of the unit at off are durable, and so are those before
 * them. */
#define CT_ALL_BYTES UINT64_MAX
void ct_medium_complete(struct ct_medium *medium, nvw_off off, uint64_t write, uint64_t bytes);
NVW_CHECKED int ct_medium_add_flight(struct ct_medium *medium, const struct ct_flight *flight);
/* The flight with this number, which must be in flight (permitted models, whose numbers have no gaps). */
struct ct_flight *ct_medium_flight(const struct ct_medium *medium, uint64_t write);
void ct_medium_land(struct ct_medium *medium, struct ct_flight *flight);
/* All stores in flight are durable. */
void ct_medium_land_all(struct ct_medium *medium);
/* A byte is durable now, and newer than the stores in flight. */
void ct_medium_set_byte(struct ct_medium *medium, nvw_off off, uint8_t value);

/* They note changes for changed_words and changed_acks. */
void ct_medium_note_word(struct ct_medium *medium, nvw_off off);
void ct_medium_note_acks(struct ct_medium *medium, uint64_t first, uint64_t count);

/* Sets the units of the image according to levels (one per cell). */
void ct_medium_set_levels(struct ct_medium *medium, const unsigned *levels);

/* ---- order.c: the effect of the log under a model ------------------------------------------------------ */

bool ct_order_completes(const struct ct_medium *medium, const struct nvw_log_record *record);
NVW_CHECKED int ct_order_apply(struct ct_medium *medium, const struct nvw_log_record *record);
/* Called at an instant before its states are used. */
NVW_CHECKED int ct_order_at_instant(struct ct_medium *medium);
/* Drops acknowledgements that the state of levels undoes (models/buffered.c). */
void ct_order_drop_told(struct ct_medium *medium, const unsigned *levels);

#endif
