/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the library that is preloaded into programs. It runs in a process that is not ours: it depends on the C library
 * alone, allocates with mmap, keeps errno, and passes on whatever it does not understand.
 */
#ifndef HOST_PRELOAD_H
#define HOST_PRELOAD_H

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../session.h"

#define HOST_EXPORT __attribute__((visibility("default")))
#define HOST_TLS    __thread __attribute__((tls_model("initial-exec")))

/* The system call: mprotect() is interposed. Usable in a signal handler. */
static inline int host_protect(uintptr_t start, size_t n, int prot)
{
	return (int)syscall(SYS_mprotect, start, n, prot);
}

/* ---- The session (session.c) ---------------------------------------------------------------------------------- */

extern struct host_control *host_control; /* NULL: not run by nvwave exec */
extern bool host_recording;               /* record or advice */
extern char host_folder[256];             /* the session's; the program may change its environment */

/* This thread's counters and what it has sent to the device. */
struct host_self {
	struct host_thread *stats; /* NULL: not met yet */
	uint32_t number;           /* from 1 */
	uint64_t pending;          /* when all that it has flushed is durable, in ticks; 0: it is */
	uint64_t owed;             /* lines that wait until they are a portion */
	bool flushed;              /* since its last fence */
	bool inside;               /* in the recorder: it may not come in again */
};
extern HOST_TLS struct host_self host_self;

void host_meet_thread(void);

/* NULL outside a session. */
static inline struct host_thread *host_thread(void)
{
	if (__builtin_expect(host_self.stats == NULL, 0) && host_control != NULL) {
		host_meet_thread();
	}
	return host_self.stats;
}

/* Opens a file of the session's folder; close-on-exec. -1 if that fails. */
int host_open(const char *name, int number, int flags);

/* Between processes, and back whole if its owner was killed. */
void host_lock(void);
void host_unlock(void);

void host_gap(enum host_gap gap);

/* posix_fallocate() or, as a hole, ftruncate(); beyond the limit to a file's size that is an error, and no signal. */
int host_grow(int fd, uint64_t off, uint64_t n, bool hole);

/* ---- Attaching (attach.c) ------------------------------------------------------------------------------------- */

/* Once; before that there is no session. */
void host_attach(void);

/* ---- Functions behind the interposed ones (lookup.c) ---------------------------------------------------------- */

/* The function that a name would have without this library; ends the process with a message if there is none. */
void *host_real(const char *name);
/* The same for a declared function, looked up once. */
#define REAL(name)                                          \
	({                                                  \
		static __typeof__(&name) real;              \
		if (__builtin_expect(real == NULL, 0)) {    \
			*(void **)&real = host_real(#name); \
		}                                           \
		real;                                       \
	})
/* The handle of a libpmem that was loaded by dlopen(). */
void host_learn_libpmem(void *handle);
/* The real dlsym(), once host_own_function() has been asked for anything. */
extern void *(*host_dlsym)(void *handle, const char *name);
void *host_own_function(void *handle, const char *name);

/* ---- Threads that may store (threads.c) ----------------------------------------------------------------------- */

/* This process has mapped a file of the session. */
void host_count_mapper(unsigned file);
/* This process is the child of a fork. */
void host_count_fork(void);

/* ---- Delays (delay.c) ----------------------------------------------------------------------------------------- */

/* When a call began; 0: not asked for, since it makes no difference or seldom does. */
static inline uint64_t host_began(void)
{
	return host_control != NULL && host_control->timed ? host_ticks() : 0;
}

/* Measures what the calls cost, so that it can be left out of the delays. */
void host_calibrate(void);

/* A call that began at a tick has sent lines to the device; it waits if the queue is full. */
void host_delay_flush(uint64_t began, uint64_t lines);
/* Waits until what the thread has sent is durable. */
void host_delay_drain(uint64_t began);
/* A read of bytes in a row. */
void host_delay_read(uint64_t began, uint64_t bytes);

/* ---- Mappings (mappings.c; table.c: their table) -------------------------------------------------------------- */

enum host_page_state {
	HOST_CLEAN,
	HOST_HOT,
	HOST_COOLING
}; /* protected; compared at every fence; about to be protected */

struct host_page {
	struct host_page *next; /* of those that are hot */
	uintptr_t address;
	uint8_t state; /* enum host_page_state; changed by faults, too */
	uint8_t idle;  /* comparisons since it last changed */
};

struct host_mapping {
	uintptr_t start;
	size_t length;  /* 0: a free entry */
	uint64_t off;   /* in the file */
	int file;       /* in the session; negative: not recorded */
	bool real;      /* persistent memory: the processor's flushes are carried out */
	bool part;      /* of what was mapped: page and lines are shared with the rest, and stay */
	bool read_only; /* at present, by the program's own mprotect() */
	uint8_t *alias; /* the same bytes, always writable */
	uint8_t *shadow, *lines;
	struct host_page *page;
};

enum { HOST_MAPPINGS_MAX = 128 };
extern struct host_mapping host_mapping[HOST_MAPPINGS_MAX];
extern uintptr_t host_lowest, host_highest; /* of all mappings */

struct host_mapping *host_find_slowly(uintptr_t address);

/* The mapping that an address is in, or NULL. */
static inline struct host_mapping *host_find(const void *address)
{
	const uintptr_t at = (uintptr_t)address;

	return at - host_lowest >= host_highest - host_lowest ? NULL : host_find_slowly(at);
}

/* A file is mapped there now. */
void host_mapped(void *start, size_t length, int fd, uint64_t off, bool real);
/* What was mapped there is no more; called before it happens. */
void host_unmapping(void *start, size_t length);
/* A mapping, or its beginning, is about to be moved or resized: false if there is none. Then, to where it is now. */
struct host_moved {
	char path[1024]; /* of the file, if it is recorded */
	uint64_t off;
	bool real, recorded, read_only;
};
bool host_moving(void *start, size_t length, struct host_moved *ret_moved);
void host_moved(const struct host_moved *moved, void *start, size_t length);
/* The program may write there from now on, or may not; called before it happens. True: the range is watched, and
 * writable must not be granted. */
bool host_protecting(void *start, size_t length, bool writable);

/* ---- The spool (spool.c) -------------------------------------------------------------------------------------- */

/* Enters the recorder: false in a signal handler that came into it. host_leave() keeps errno. */
bool host_enter(void);
void host_leave(void);

/* All under the lock of host_enter(). A call has a number, which its events carry. */
uint64_t host_call(void);
void host_next_call(void);
/* Room for so many bytes at the tail; NULL if there is none, or none is wanted. */
uint8_t *host_room(size_t n);
/* So many bytes of that room are events now. */
void host_publish(uint64_t bytes);
void host_event(enum host_event_kind kind, int file, uint64_t off, uint64_t bytes, uint32_t site);
/* The lines of a range, in the mapping. */
void host_lines_of(
	const struct host_mapping *m, const void *address, size_t n, size_t *ret_from, size_t *ret_to);
/* Bytes of a word, at an offset of the mapping, that a thread has stored. */
void host_record_bytes(const struct host_mapping *m, size_t at, const uint8_t *data, size_t n,
	uint32_t thread, uint32_t site);
/* A store past the caches has happened: what it flushed by that. */
void host_record_streamed(const struct host_mapping *m, size_t at, size_t n, uint32_t site);

/* ---- Recording (record.c) ------------------------------------------------------------------------------------- */

struct host_caller {
	void *address; /* where the call returns to */
	/* the canonical frame address of the interposed function; 0: the address is the place itself */
	uintptr_t frame;
};
#define HOST_CALLER ((struct host_caller){__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa()})

/* All under the lock of host_enter(). */
enum host_flush {
	HOST_FLUSH_CALLED,
	HOST_FLUSH_COPIED,   /* what the call itself has written */
	HOST_FLUSH_IN_ORDER, /* no later store overtakes it */
	HOST_FLUSH_STREAMED, /* by a store that comes: recorded when that has happened */
};
void host_record_flush(const struct host_mapping *m, const void *address, size_t n,
	const struct host_caller *caller, enum host_flush how);
void host_record_change(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller);
void host_record_fence(const struct host_caller *caller);
/* An operation begins or is durable: HOST_BEGIN, HOST_DURABLE. */
void host_record_operation(
	enum host_event_kind kind, uint64_t number, const char *name, const struct host_caller *caller);
/* Stores in the range that no event has shown so far. */
void host_record_rest(const struct host_mapping *m);
/* What the file was changed to while nobody had it mapped. */
void host_record_written(const struct host_mapping *m, size_t n);
/* What else has changed in the lines of a store that comes. */
void host_record_others(const struct host_mapping *m, size_t at, size_t n, uint32_t site);
/* Pages of the range are no more hot: they are gone, or protected. */
void host_forget_hot(uintptr_t start, uintptr_t end);

/* A write to a protected page. False: not ours. */
bool host_page_fault(void *address);
/* Makes pages writable that the kernel is about to write to for the program. */
void host_touch(void *address, size_t n);

/* ---- Faults (faults.c) ---------------------------------------------------------------------------------------- */

/* What the program wants done about SIGSEGV and SIGBUS. */
extern struct sigaction host_program_action[2];
void host_catch_faults(void);
/* A mapping that goes: for a message if something in it is touched later. */
void host_note_gone(const struct host_mapping *m);

/* ---- Stores one by one (pending.c, stores.c) ------------------------------------------------------------------ */

/* A store that was announced, and may not have happened yet. */
struct host_pending {
	uintptr_t address;
	size_t n;
	uint32_t thread, site;
	bool streams;
};
/* Under the lock: a store comes. A later store to the same bytes is where a change belongs. */
void host_pend(const struct host_pending *p);
/* Under the lock: records what has happened of one store; false: nothing. */
bool host_settle_store(const struct host_pending *p);
/* Under the lock: records what has happened of the stores that were announced. */
void host_settle(void);
/* The same when the program ends or becomes another; enters the recorder. */
void host_settle_last(void);
/* Under the lock: the same of one line whose content was read. */
void host_settle_line(const struct host_mapping *m, size_t at, const uint64_t line[8]);
/* A copy has been made: its words, in ascending order. */
void host_stored(const struct host_mapping *m, const void *address, size_t n, uint32_t site);
/* Announced stores to the range will not be recorded: it goes. */
void host_forget_stores(uintptr_t start, uintptr_t end);
/* A store comes; streams: past the caches. Enters the recorder. */
void host_store(void *address, size_t n, bool streams, void *place);
/* The same, in the recorder until it has happened; false: it is not recorded, nor is the recorder entered. */
bool host_store_begins(void *address, size_t n, void *place);
void host_store_ends(void);

/* A function of the C library is about to store; nothing unless the program was built by nvwave-cc. */
static inline void host_copy_comes(void *to, size_t n, void *place)
{
	if (__builtin_expect(host_find(to) != NULL, 0) && host_recording && host_control->instrumented &&
		!host_self.inside) {
		host_store(to, n, false, place);
	}
}

/* ---- Flushes and fences (libpmem.c) --------------------------------------------------------------------------- */

/* Counts, records, and takes the time of a flush, and of a drain. */
void host_flush(const struct host_mapping *m, const void *address, size_t n, uint64_t began,
	const struct host_caller *caller, enum host_flush how);
void host_drain(uint64_t began, const struct host_caller *caller);
/* The kernel has written a range back: flushed and drained (libpmem.c). */
void host_synced(void *address, size_t n, const struct host_caller *caller);

/* ---- Places (sites.c) ----------------------------------------------------------------------------------------- */

/* Number of the program's place behind a call, from 1; 0 if there is no room. Under the lock. */
uint32_t host_site(const struct host_caller *caller);

#endif
