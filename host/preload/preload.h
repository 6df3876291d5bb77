/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the library that is preloaded into programs. It runs in another program's process: it depends
 * only on the C library, allocates with mmap, preserves errno, and passes on everything that it does not
 * handle.
 */
#ifndef HOST_PRELOAD_H
#define HOST_PRELOAD_H

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../session.h"

/* What is declared from here on is this library's own, and is not looked up through its table of symbols. */
#pragma GCC visibility push(hidden)

#define HOST_EXPORT __attribute__((visibility("default")))
/* A second name, where long is as wide as the 64 bits that it is for. */
#define HOST_ALIAS(name, of) HOST_EXPORT __typeof__(of) name __attribute__((alias(#of)))
#define HOST_TLS             __thread __attribute__((tls_model("initial-exec")))

/* errno is the program's: it is at the end of the block what it is here. */
static inline void host_set_errno(const int *to)
{
	errno = *to;
}
#define HOST_KEEPS_ERRNO __attribute__((cleanup(host_set_errno), unused)) const int errno_kept_ = errno

/* By system call, because mprotect() is interposed. Usable in a signal handler. */
static inline int host_protect(uintptr_t start, size_t n, int prot)
{
	return (int)syscall(SYS_mprotect, start, n, prot);
}

/* ---- The session (session.c) ---------------------------------------------------------------------- */

extern struct host_control *host_control; /* NULL: not run by nvwave exec */
extern bool host_recording;               /* record or advice */
extern char host_folder[256];             /* the session's folder; the program may change its environment */

/* This thread's counters and its lines sent to the device. */
struct host_self {
	struct host_thread *stats; /* NULL: not assigned yet */
	uint32_t number;           /* from 1 */
	uint64_t pending;          /* when all its flushed lines are durable, in ticks; 0: they are */
	uint64_t owed;             /* lines collected for the next portion */
	bool flushed;              /* since its last fence */
	struct host_bytes {
		uintptr_t address;
		size_t n;
	} announced;  /* by the compiler, last: instructions store them in parts */
	bool syncing; /* what it flushes, the kernel has written back */
	bool inside;  /* in the recorder, which must not be entered again */
	struct host_begun {
		uint64_t number, ticks; /* 0: none has begun */
		uint64_t flushes, fences, lines_flushed, bytes_asked;
	} begun;  /* the operation of nvw/ack.h, with the counters then */
	bool own; /* runs the emulator (kernels.c): what it does to memory is not the program's */
	struct host_watched *watched;         /* NULL: not yet (windows.h) */
	bool unwatched;                       /* there is no room for it */
	struct host_turn *turn;               /* NULL: its turns are not controlled (turns.h) */
	struct host_transaction *transaction; /* NULL: none has begun (transactions.c) */
	struct host_annotated *annotated;     /* likewise (annotations.c) */
	uint32_t id;                          /* the kernel's; 0: not asked yet */
	struct robust_list_head *robust;      /* session.c */
	struct robust_list *locking;
	unsigned found; /* the mapping of its last access, by its place in the table */
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

/*
 * Shared between processes, and consistent again if its owner was killed: a futex with its owner's thread id.
 * The kernel frees what a thread that dies has named as what it is about to lock (set_robust_list(2)). Unlike
 * a robust mutex of the C library it is taken and given back in a dozen instructions, and nobody interposes
 * it.
 */
void host_meet_kernel(void);
static inline void host_lock(void)
{
	uint32_t *const lock = &host_control->lock;

	if (__builtin_expect(host_self.id == 0, 0)) {
		host_meet_kernel();
	}
	NVW_DEEP_INVARIANT((*lock & FUTEX_TID_MASK) != host_self.id); /* it is taken once */
	struct robust_list_head *const robust = host_self.robust;

	host_self.locking = robust->list_op_pending; /* the program's own, where a signal came */
	robust->list_op_pending = (struct robust_list *)((char *)lock - robust->futex_offset);
	host_take(lock, host_self.id);
}

static inline void host_unlock(void)
{
	NVW_DEEP_INVARIANT((host_control->lock & FUTEX_TID_MASK) == host_self.id);
	host_give_back(&host_control->lock);
	host_self.robust->list_op_pending = host_self.locking;
}

void host_gap(enum host_gap gap);

/* posix_fallocate() or, as a hole, ftruncate(); exceeding the file size limit is an error without a
 * signal. */
int host_grow(int fd, uint64_t off, uint64_t n, bool hole);

/* ---- Attaching (attach.c) ------------------------------------------------------------------------- */

/* Called once; before that there is no session. */
void host_attach(void);

/* ---- Functions behind the interposed ones (lookup.c) ---------------------------------------------- */

/* The function that the name would have without this library; ends the process with a message if there is
 * none. */
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
/* The object that contains an address; NULL: none. Without the dynamic linker's lock, where the C library can
 * (2.35): a thread may hold that one and wait for the session's, in a constructor that dlopen() calls. */
struct link_map *host_object_of(const void *code);
/* The real dlsym(), after the first call of host_own_function(). */
extern void *(*host_dlsym)(void *handle, const char *name);
void *host_own_function(void *handle, const char *name);

/* ---- Threads that may store (threads.c) ----------------------------------------------------------- */

/* This process has mapped a file of the session. */
void host_count_mapper(unsigned file);
/* This process is the child of a fork. */
void host_count_fork(void);

/* ---- Delays (delay.c) ----------------------------------------------------------------------------- */

/* The time at which a call began; 0: not read, because it makes little or no difference. */
static inline uint64_t host_began(void)
{
	return host_control != NULL && host_control->timed ? host_ticks() : 0;
}

/* Measures the cost of calls, so that it can be subtracted from delays. */
void host_calibrate(void);

/* A call that began at a tick has sent lines to the device; waits if the queue is full. */
void host_delay_flush(uint64_t began, uint64_t lines);
/* Waits until the thread's sent lines are durable. */
void host_delay_drain(uint64_t began);
/* A read of contiguous bytes. */
void host_delay_read(uint64_t began, uint64_t bytes);

/* ---- Mappings (mappings.c; table.c: their table) -------------------------------------------------- */

enum host_page_state {
	HOST_CLEAN,
	HOST_HOT,
	HOST_COOLING,
	HOST_ANNOUNCED,
}; /* protected; compared at every fence; about to be protected; writable for stores that are announced */

struct host_page {
	struct host_page *next; /* next hot page */
	uintptr_t address;
	uint8_t state; /* enum host_page_state; faults change it too */
	uint8_t idle;  /* comparisons since its last change */
};

struct host_mapping {
	uintptr_t start;
	size_t length; /* 0: a free entry */
	uint64_t off;  /* offset in the file */
	uint64_t device, inode;
	int file;           /* number in the session; negative: not recorded */
	bool asleep;        /* the program cannot store to it: recorded once it can */
	bool real;          /* persistent memory: the processor's flushes are executed */
	bool part;          /* part of a mapping: page and lines are shared with the rest, and are kept */
	bool read_only;     /* at present, by the program's own mprotect() */
	uint32_t race_file; /* its number there; 0: none yet (windows.c) */
	uint8_t *alias;     /* the same bytes, always writable */
	uint8_t *shadow, *lines;
	struct host_page *page;
};

enum { HOST_MAPPINGS_MAX = 128 };
extern struct host_mapping host_mapping[HOST_MAPPINGS_MAX];
extern uintptr_t host_lowest, host_highest; /* of all mappings */

struct host_mapping *host_find_slowly(uintptr_t address);

/* What mmap() returned; NULL if it failed. */
static inline void *host_mapped_at(void *at)
{
	return at == MAP_FAILED ? NULL : at;
}

/* A part of a file, shared; NULL if that fails. */
static inline void *host_map(int fd, uint64_t off, size_t n)
{
	return host_mapped_at(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off));
}

/* Zeros; NULL if there is none. */
static inline void *host_memory(size_t n)
{
	return host_mapped_at(
		mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

/* The mapping that an address is in, or NULL. */
static inline struct host_mapping *host_find(const void *address)
{
	const uintptr_t at = (uintptr_t)address;

	if (at - host_lowest >= host_highest - host_lowest || host_self.own) {
		return NULL;
	}
	struct host_mapping *const m = &host_mapping[host_self.found];

	return at - m->start < m->length ? m : host_find_slowly(at);
}

/* The same before there is a session, too. */
static inline const struct host_mapping *host_mapping_of(const void *address)
{
	return host_control != NULL ? host_find(address) : NULL;
}

/* A file has been mapped there, writable or not. */
void host_mapped(void *start, size_t length, int fd, uint64_t off, bool real);
void host_mapped_read_only(void *start, size_t length, int fd, uint64_t off, bool real);
/* Under the lock: the file's number in the session, if it is recorded: from now on if this process has mapped
 * it, or if it is the image. Negative: it is not. */
struct stat;
int host_follow(int fd, const struct stat *s);
/* Under the lock: the number that it has, or negative. */
int host_known_file(const struct stat *s);
/* Under the lock: a number for a file that did not exist before. */
int host_follow_created(int fd, const struct stat *s);
/* Under the lock: records what was stored to a range of the file through mappings of this process. */
void host_record_mapped(int file, uint64_t off, uint64_t end, uint32_t site);
/* The mapping there is about to be removed. */
void host_unmapping(void *start, size_t length);
/* A mapping, or its beginning, is about to be moved or resized: false if there is none. Afterwards, its new
 * place. */
struct host_moved {
	char path[1024]; /* of the file, if it is recorded or asleep */
	uint64_t off, device, inode;
	bool real, recorded, read_only, asleep;
};
bool host_moving(void *start, size_t length, struct host_moved *ret_moved);
void host_moved(const struct host_moved *moved, void *start, size_t length);
/* The program is about to get, or lose, write permission. True: the range is watched, and write permission
 * must not be granted. */
bool host_protecting(void *start, size_t length, bool writable);

/* ---- The spool (spool.c) -------------------------------------------------------------------------- */

/* All under the lock of host_enter(). A call has a number, which its events carry. */
extern struct host_spool {
	uint8_t *window; /* mapped part of the file */
	uint64_t off, bytes;
	uint64_t call;
} host_spool;

static inline uint64_t host_call(void)
{
	NVW_DEEP_INVARIANT(host_self.inside);
	return host_spool.call;
}

static inline void host_next_call(void)
{
	NVW_DEEP_INVARIANT(host_self.inside);
	host_spool.call = ++host_control->events;
}

/* Enters the recorder: false in a signal handler that interrupted it. */
bool host_cannot_enter(void);
__attribute__((noreturn)) void host_kill(void);
static inline bool host_enter(void)
{
	if (__builtin_expect(host_control->closed || host_self.inside, 0)) {
		return host_cannot_enter();
	}
	host_self.inside = true;
	host_lock();
	host_next_call();
	if (__builtin_expect(host_spool.call == host_control->kill_at, 0)) {
		host_kill();
	}
	return true;
}

static inline void host_leave(void)
{
	NVW_DEEP_INVARIANT(host_self.inside);
	host_unlock();
	host_self.inside = false;
}

void *host_room_elsewhere(size_t n);
/* Room for n bytes at the tail; NULL if there is none, or none is needed. */
static inline void *host_room(size_t n)
{
	NVW_DEEP_INVARIANT(n % 8 == 0 && host_self.inside);

	const uint64_t at = host_control->spool_tail - host_spool.off;

	if (__builtin_expect(
		    at < host_spool.bytes && n <= host_spool.bytes - at && host_control->record, 1)) {
		return host_spool.window + at;
	}
	return host_room_elsewhere(n);
}

/* Makes this many bytes of that room valid events. */
static inline void host_publish(uint64_t bytes)
{
	NVW_DEEP_INVARIANT(bytes % 8 == 0);
	NVW_DEEP_INVARIANT(host_control->spool_tail - host_spool.off + bytes <= host_spool.bytes);
	__atomic_store_n(&host_control->spool_tail, host_control->spool_tail + bytes, __ATOMIC_RELEASE);
}

void host_event(enum host_event_kind kind, int file, uint64_t off, uint64_t bytes, uint32_t site);
/* The same with bytes that follow it. */
void host_event_of(
	enum host_event_kind kind, int file, uint64_t off, const void *data, size_t n, uint32_t site);
/* The lines of a range of the mapping. */
static inline void host_lines_of(
	const struct host_mapping *m, size_t at, size_t n, size_t *ret_from, size_t *ret_to)
{
	NVW_DEEP_INVARIANT(at <= m->length);

	const size_t end = nvw_min(at + n, m->length);

	*ret_from = host_down(at, HOST_LINE);
	*ret_to = host_up(end, HOST_LINE);
}

/* A store past the caches has happened: records its flush. */
void host_record_streamed(const struct host_mapping *m, size_t at, size_t n, uint32_t site);

/* ---- Comparing (compare.c) ------------------------------------------------------------------------ */

static inline bool host_is_same_line(const uint8_t *a, const uint8_t *b)
{
	typedef uint64_t pair __attribute__((vector_size(16), aligned(16), may_alias));
	const pair *const x = (const pair *)a, *const y = (const pair *)b;
	const pair differs = (x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]);

	return (differs[0] | differs[1]) == 0;
}

bool host_compare_pages(
	const struct host_mapping *m, size_t from, size_t to, enum host_event_kind kind, uint32_t site);
/* Under the lock: records the changes in lines of the mapping as of this kind; true if there were any. Fast
 * if not. */
static inline bool host_compare(
	const struct host_mapping *m, size_t from, size_t to, enum host_event_kind kind, uint32_t site)
{
	NVW_DEEP_INVARIANT(from % HOST_LINE == 0 && to % HOST_LINE == 0 && from <= to && to <= m->length);
	return (to - from != HOST_LINE || !host_is_same_line(m->alias + from, m->shadow + from)) &&
	       host_compare_pages(m, from, to, kind, site);
}
/* A kernel runs: the content of mappings is nobody's, and is not compared. */
extern bool host_window;

/* ---- Recording (record.c) ------------------------------------------------------------------------- */

struct host_caller {
	void *address; /* the return address of the call */
	/* the canonical frame address of the interposed function, or of the hook; 0: address is the place
	 * itself, and the frames above it cannot be found */
	uintptr_t frame;
};
#define HOST_CALLER ((struct host_caller){__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa()})

/* All under the lock of host_enter(). */
enum host_flush {
	HOST_FLUSH_CALLED,
	HOST_FLUSH_COPIED,   /* bytes written by the call itself */
	HOST_FLUSH_IN_ORDER, /* ordered with later stores */
	HOST_FLUSH_STREAMED, /* by a coming store: recorded when that has happened */
};
void host_record_flush(const struct host_mapping *m, const void *address, size_t n,
	const struct host_caller *caller, enum host_flush how);
void host_record_change(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller);
void host_record_fence(const struct host_caller *caller);
/* An operation begins or is durable: HOST_BEGIN, HOST_DURABLE. */
void host_record_operation(
	enum host_event_kind kind, uint64_t number, const char *name, const struct host_caller *caller);
/* A transaction is about to add these bytes, or has added them: stores so far are recorded before the
 * event. */
void host_record_range(enum host_event_kind kind, const struct host_mapping *m, const void *start,
	size_t bytes, const struct host_caller *caller);
/* Records stores in the range that no event has shown so far. */
void host_record_rest(const struct host_mapping *m);
/* Records changes of the file made while no process had it mapped. */
void host_record_written(const struct host_mapping *m, size_t n);
/* Records all changes since the last event, as of this kind. */
void host_record_all(enum host_event_kind kind, uint32_t site);
/* Pages of the range are no longer hot: they are unmapped or protected. */
void host_forget_hot(uintptr_t start, uintptr_t end);

/* Everything that this process stores is announced, as far as is known: written pages are not compared at
 * fences. */
extern bool host_announced;
/* Something was stored that nothing had announced; set by faults, too. */
extern bool host_foreign;
/* Under the lock: from now on they are; why: a clause for the report. */
void host_compare_always(const char *why);
/* Under the lock: an announced store comes. */
void host_admit_clean(const struct host_mapping *m, size_t at, size_t n);
static inline void host_admit(const struct host_mapping *m, size_t at, size_t n)
{
	NVW_DEEP_INVARIANT(n > 0 && at + n <= m->length);

	const size_t page = at / HOST_PAGE;

	if (page != (at + n - 1) / HOST_PAGE ||
		__atomic_load_n(&m->page[page].state, __ATOMIC_RELAXED) == HOST_CLEAN) {
		host_admit_clean(m, at, n);
	}
}

/* A write to a protected page. False: not a page of a recorded mapping. */
bool host_page_fault(void *address);
/* Makes pages writable before the kernel writes to them for the program. */
void host_touch(void *address, size_t n);

/* ---- Whether all stores are announced (announced.c) ----------------------------------------------- */

/* The executable or shared object with this code was built by nvwave-cc, all of it. */
void host_announces(const void *code);
/* Whether that is enough; if not, why: a clause for the report, or nothing. Takes the dynamic linker's locks,
 * one after the other, so not under the session's. */
enum { HOST_WHY_BYTES = sizeof((struct host_control *)0)->compared };
bool host_all_announced(char why[HOST_WHY_BYTES]);

/* ---- Faults (faults.c) ---------------------------------------------------------------------------- */

/* The program's own actions for SIGSEGV and SIGBUS. */
extern struct sigaction host_program_action[2];
void host_catch_faults(void);
/* Remembers a removed mapping, for a message if it is accessed later. */
void host_note_gone(const struct host_mapping *m);

/* ---- Stores one by one (stores.c) ------------------------------------------------------ */

/* An announced store that may not have happened yet. */
struct host_pending {
	uintptr_t address;
	size_t n;
	uint32_t thread, site;
	bool streams;
	bool waits;              /* a function of a lock, which others may store to before it does */
	struct host_bytes whole; /* what it is a part of; n 0: it is the whole */
};
/* Under the lock: records the announced stores that have happened. */
void host_settle(void);
/* The same when the program ends or executes another; enters the recorder. */
void host_settle_last(void);
/* Under the lock: the same for one line whose content was read. */
void host_settle_line(const struct host_mapping *m, size_t at, const uint64_t line[8]);
/* A store is pending from now on; records one that has happened. */
void host_pend(const struct host_pending *p);
void host_settle_store(const struct host_pending *p);
/* A copy has been made: records its words, in ascending order. */
void host_stored(const struct host_mapping *m, const void *address, size_t n, uint32_t site);
/* Announced stores to the range will not be recorded, because it is being removed. */
void host_forget_stores(uintptr_t start, uintptr_t end);
/* Announces a store; streams: past the caches. Enters the recorder. It may be a part of what the thread
 * announced by host_announce(). */
void host_store(void *address, size_t n, bool streams, const struct host_caller *caller);
/* The same of a lock, by the C library, and of another (n 0: none): no undo log takes it back. waits: while
 * others store to it. */
void host_lock_store(
	struct host_bytes lock, struct host_bytes also, bool waits, const struct host_caller *caller);

static inline void host_announce(const void *address, size_t n)
{
	host_self.announced = (struct host_bytes){(uintptr_t)address, n};
}

/* The same, staying in the recorder until it has happened; false: it is not recorded, and the recorder is not
 * entered. */
bool host_store_begins(void *address, size_t n, const struct host_caller *caller);
void host_store_ends(void);

/* Announces a store by a function of the C library; no effect unless the program was built by nvwave-cc. */
void host_copied(void *to, size_t n, const struct host_caller *caller);
static inline __attribute__((always_inline)) void host_copy_comes(void *to, size_t n)
{
	if (__builtin_expect(host_find(to) != NULL, 0) && host_control->instrumented && !host_self.inside) {
		host_copied(to, n, &HOST_CALLER);
	}
}

/* ---- Coverage (marks.c) --------------------------------------------------------------------------- */

/* What is executed at this place, whose address is as it is for the recorder, goes to a recorded mapping. */
void host_reached(const void *place);

/* ---- Persistency races (order.c, held.c, windows.c, loads.c; ../persistency.h) -------------------- */

extern bool host_checking; /* they are looked for; without that, none of the following has an effect */
void host_check_attach(void);

/* Called before the access or just behind it. m NULL: it goes to no mapping. */
enum { HOST_STORE_PLAIN, HOST_STORE_STREAMED, HOST_STORE_LOCKED };
void host_check_store(const struct host_mapping *m, const void *address, size_t n, unsigned how,
	const struct host_caller *caller);
void host_check_load(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller);
/* It has acquired, too. */
void host_check_atomic_load(
	const struct host_mapping *m, const void *address, size_t n, const struct host_caller *caller);
void host_check_flush(const struct host_mapping *m, const void *address, size_t n, enum host_flush how,
	const struct host_caller *caller);
void host_check_fence(const struct host_caller *caller);
void host_check_acknowledged(void);

/* An atomic is about to release. */
void host_check_release(const void *address);
/* An atomic is about to store to a word; it has (owned.c). */
void host_check_changes(const void *address, size_t n);
void host_check_changed(const void *address, size_t n, const struct host_caller *caller);
/* It was announced, and will change the word before its thread's next access. */
void host_check_will_change(size_t n, void *place);

/* This thread creates another: the start, one of the two, and its argument are replaced if the new one is to
 * be looked at. */
void host_check_creates(void *(**start)(void *), int (**start_c11)(void *), void **argument);

/* ---- Schedules (turns.c, policy.c; ../schedule.h) ------------------------------------------------- */

extern bool host_scheduling; /* threads take turns; without that, none of the following has an effect */
void host_schedule_attach(void);
void host_schedule_forked(void);

enum host_point {
	HOST_AT_LOAD,
	HOST_AT_ATOMIC,
	HOST_AT_LOOK,
	HOST_AT_STORE,
	HOST_AT_FLUSH,
	HOST_AT_FENCE,
	HOST_AT_SYNC
};
/* This thread is about to do something: another may go first. LOOK: it tries, or yields, or has loaded
 * by an atomic. */
void host_turn_point(enum host_point what, const void *object, void *place);
static inline void host_point(enum host_point what, const void *object, void *place)
{
	if (__builtin_expect(host_scheduling, 0) && host_self.turn != NULL && !host_self.inside) {
		host_turn_point(what, object, place);
	}
}

/* This thread creates another: the start and its argument are replaced. Afterwards: it was created, or not.
 * NULL: it is not controlled. */
struct host_turn *host_turn_creates(void *(**start)(void *), int (**start_c11)(void *), void **argument);
void host_turn_created(struct host_turn *new, pthread_t thread, bool failed);

/* ---- Transactions of libpmemobj (transactions.c) ------------------------------------------------------ */

/* Under the lock: this thread is about to store, by this code, within a transaction. */
void host_check_within(const struct host_mapping *m, const struct host_pending *p, const void *code);
static inline void host_check_logged(
	const struct host_mapping *m, const struct host_pending *p, const void *code)
{
	if (host_self.annotated != NULL || host_self.transaction != NULL) {
		host_check_within(m, p, code);
	}
}
/* A function of libpmemobj is about to store to these bytes for its caller, and no transaction takes that
 * back by itself. at may be NULL, or outside of mappings. */
void host_transaction_stores(const void *at, size_t n, const struct host_caller *caller);
/* Under the lock: this thread is about to fence. */
void host_transaction_fences(void);
/* One more constructor runs, or (-1) one less: it stores to its own object. */
void host_transaction_constructs(int more);
/* An object that was reserved is published: outside a transaction it is no longer new. */
void host_transaction_publishes(const void *start);

/* The same for transactions that the program annotates (unlogged.c). */
void host_check_annotated(const struct host_mapping *m, const struct host_pending *store);

/* ---- System calls that write (writes.c) ------------------------------------------------------------ */

/* A sync of the file is about to begin, from off on, this many pages (0: all). True: host_sync_ended() has to
 * follow. */
bool host_sync_begins(const struct stat *s, uint64_t off, uint64_t pages, const struct host_caller *caller);
void host_sync_ended(const struct stat *s, bool failed, const struct host_caller *caller);
/* Under the lock: no verdict on this file, because of a call that is not recorded. fd: negative if there is
 * none. */
void host_note_unfollowed(int fd, const struct stat *s, const char *call, uint32_t site);
/* Under the lock: an open() has cut the file, which was like this before, to nothing. */
void host_record_cut(int fd, int file, const struct stat *before, uint32_t site);

/* ---- Names of files (names.c) --------------------------------------------------------------------- */

/* A sync of the folder, or of everything (fd negative), is about to begin. True: host_names_sync_ended() has
 * to follow. */
bool host_names_sync_begins(int fd, const struct host_caller *caller);
void host_names_sync_ended(bool failed, const struct host_caller *caller);

/* ---- Flushes and fences (libpmem.c) --------------------------------------------------------------- */

/* Counts, records and delays a flush; and a drain. */
void host_flush(const struct host_mapping *m, const void *address, size_t n, uint64_t began,
	const struct host_caller *caller, enum host_flush how);
void host_drain(uint64_t began, const struct host_caller *caller);
/* The kernel has written a range back: flushed and drained (libpmem.c). */
void host_synced(void *address, size_t n, const struct host_caller *caller);

/* ---- Places (sites.c) ----------------------------------------------------------------------------- */

/* Number of the program's source location of a call, from 1; 0 if there is no room. Under the lock. */
uint32_t host_site(const struct host_caller *caller);
/* The site that counts what is done at its place, whoever calls it. */
static inline struct host_site *host_place(uint32_t site)
{
	NVW_DEEP_INVARIANT(site > 0 && site <= host_control->site_count);
	return &host_control->site[host_control->site[site - 1].place - 1];
}

#pragma GCC visibility pop

#endif
