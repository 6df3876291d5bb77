/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistency races of threads: what the preloaded library notes (preload/races/windows.c), and what the
 * parent makes of it (persistency.c).
 *
 * A *window* is the time from a store of a thread until its own fence behind a flush. A load of another
 * thread within it reads what is not durable. HawkSet (EuroSys'25) predicts such loads from one run: a window
 * and a load of the same bytes are a candidate unless the creation and the joining of threads order them, or
 * a lock excludes them that is held over the whole window, in one piece.
 *
 * The file "races" of the session's folder has one struct host_races. It is sparse: what is not used takes no
 * memory. Everything in it is bounded, and what had no room is counted.
 */
#ifndef HOST_PERSISTENCY_H
#define HOST_PERSISTENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HOST_RACE_THREADS = 64,
	HOST_RACE_FILES = 32,
	HOST_RACE_PENDING = 1 << 16, /* stores of a thread that are not durable */
	HOST_RACE_PROBES = 64,       /* entries of theirs that a word may have */
	HOST_RACE_PAGES = 1 << 15,   /* of mapped files */
	HOST_RACE_RECORDS = 1 << 20, /* windows; loads */
	HOST_RACE_CLOCKS = 1 << 20,  /* parts of clocks */
	HOST_RACE_LOCKSETS = 1 << 15,
	HOST_RACE_HELD = 12, /* locks that a thread holds at a time */
	HOST_RACE_INDEX = 1 << 18,
	HOST_RACE_OWN = 1 << 16, /* bits that may be locks of the program's own */
	HOST_RACE_WORDS = 512,   /* of 8 bytes, in a page */
};

/* Reasons why a candidate may be missing. Each one is reported. */
/* clang-format off */
#define HOST_RACE_LIMITS(LIMIT) \
	LIMIT(MANY_THREADS, "threads beyond the 64th were not looked at") \
	LIMIT(MANY_PENDING, "stores were not looked at: 65,536 others of their thread were not durable") \
	LIMIT(MANY_PAGES, "accesses beyond the first 32,768 pages, or 32 files, were not looked at") \
	LIMIT(MANY_WINDOWS, "windows were not kept: there are 1,048,576") \
	LIMIT(MANY_LOADS, "loads were not kept: there are 1,048,576") \
	LIMIT(MANY_LOCKS, "acquisitions were not looked at: their thread held 12 other locks")
/* clang-format on */

enum host_race_limit {
#define LIMIT(name, text) HOST_RACE_##name,
	HOST_RACE_LIMITS(LIMIT)
#undef LIMIT
		HOST_RACE_LIMIT_COUNT
};

/* Each word of 8 bytes has these. */
enum {
	HOST_WORD_OWNER = 0xff,    /* the first thread that touched it, from 1; 0: none */
	HOST_WORD_SHARED = 1 << 8, /* another one has */
	HOST_WORD_LOCKED = 1 << 9, /* a locked instruction has changed it */
};

/* A bit that may be a lock of the program's own (preload/races/owned.c). In a set of locks: its index and
 * the flag. */
#define HOST_OWN_LOCK (UINT64_C(1) << 63)
struct host_own_lock {
	uint64_t bit;  /* its number in memory; 0: none */
	uint8_t owner; /* the thread that has set it; 0: it is clear */
	bool broken;   /* another thread has changed it in the meantime: it is no lock */
};

struct host_lockset {
	uint32_t count;
	uint32_t shared; /* a bit for each lock that is held for reading */
	uint64_t lock[HOST_RACE_HELD];
	uint32_t site[HOST_RACE_HELD]; /* where it was taken first; no part of what makes two sets equal */
};

/* A component for each thread. before() below compares them. */
struct host_clock {
	uint32_t of[HOST_RACE_THREADS];
};

/* A clock that is kept has the components of the threads so far, in parts beside each other, because most
 * programs have few. Its number: that of the first part * HOST_RACE_PARTS + how many follow it. */
enum { HOST_RACE_COMPONENTS = 8, HOST_RACE_PARTS = HOST_RACE_THREADS / HOST_RACE_COMPONENTS };
struct host_clock_part {
	uint32_t of[HOST_RACE_COMPONENTS];
};

enum { HOST_STORE_DURABLE, HOST_STORE_PENDING, HOST_STORE_FLUSHED };

/* A store that is not known to be durable. */
struct host_race_store {
	uint64_t word;   /* its file << 48 | its offset / 8, from 1 << 48 on; 0: never used */
	uint64_t taken;  /* acquisitions of its thread so far */
	uint64_t number; /* of the access, in its thread */
	uint32_t site, clock, hints;
	uint8_t mask; /* of bytes; 0: a free entry */
	uint8_t state;
	bool at_once;   /* its thread flushed it before its next store: it is no lock */
	bool late;      /* its thread fenced in between, and stored behind that */
	uint64_t epoch; /* of its thread */
};

struct host_race_window {
	uint64_t word;
	uint32_t store, end; /* sites; end 0: none */
	uint32_t lockset;    /* held over the window */
	uint32_t clock, end_clock;
	uint32_t hints, end_hints; /* clocks that atomics order, too; 0: not known */
	uint32_t next;             /* with the same hash; 0: none */
	uint8_t mask, thread, end_thread;
	bool ended, at_once, late;
};

enum { HOST_LOAD_IDLE, HOST_LOAD_OPEN, HOST_LOAD_EFFECT }; /* OPEN: nothing was made durable since */

struct host_race_load {
	uint64_t word;
	uint32_t site, lockset, clock, hints;
	uint32_t next; /* of its line, place, set of locks and clock; 0: none */
	uint8_t mask, thread, state;
};

struct host_race_thread {
	int32_t process;
	bool joined;
	uint64_t self; /* its pthread_t */
	struct host_clock clock, hints;
	uint32_t effect; /* the clock of its last store that became durable; 0: none */
	uint32_t open;   /* stores in the table */
	struct host_race_store store[HOST_RACE_PENDING];
};

struct host_races {
	bool initial; /* also words that one thread alone has touched so far */
	uint64_t limit[HOST_RACE_LIMIT_COUNT];
	bool loads_seen; /* by a hook for them: code was built with --loads */
	uint32_t threads, pages, windows, loads, clocks, locksets; /* used; from 1 */
	struct {
		uint64_t device, inode;
	} file[HOST_RACE_FILES];
	uint32_t files;
	uint64_t private_windows;                  /* left out: one thread alone had touched the bytes */
	uint64_t page_key[2 * HOST_RACE_PAGES];    /* by hash: the page's first word; 0: free */
	uint32_t page_number[2 * HOST_RACE_PAGES]; /* from 1 */
	uint32_t window_index[HOST_RACE_INDEX];
	uint32_t lockset_index[2 * HOST_RACE_LOCKSETS];
	struct host_lockset lockset[HOST_RACE_LOCKSETS]; /* 0: none held */
	struct host_own_lock own[HOST_RACE_OWN];
	struct host_clock_part clock[HOST_RACE_CLOCKS]; /* 0: not known */
	struct host_race_window window[HOST_RACE_RECORDS];
	struct host_race_load load[HOST_RACE_RECORDS];
	struct host_race_thread thread[HOST_RACE_THREADS + 1]; /* from 1 */
	uint32_t word[HOST_RACE_PAGES + 1][HOST_RACE_WORDS];
};

static inline uint32_t host_race_component(const struct host_races *r, unsigned thread, uint32_t clock)
{
	const uint32_t part = (thread - 1) / HOST_RACE_COMPONENTS;

	if (part > clock % HOST_RACE_PARTS) {
		return 0;
	}
	return r->clock[clock / HOST_RACE_PARTS + part].of[(thread - 1) % HOST_RACE_COMPONENTS];
}

/* What a thread has done at one clock comes before what another has at the other. Clock 0 comes before and
 * after nothing. */
static inline bool host_race_before(
	const struct host_races *r, unsigned thread, uint32_t clock, uint32_t other)
{
	return clock != 0 && other != 0 &&
	       host_race_component(r, thread, other) >= host_race_component(r, thread, clock);
}

#endif
