/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "nvwave exec" and the library that it preloads share a folder with these files:
 *
 *	control     struct host_control, with one struct host_thread per thread
 *	spool       the record: one struct host_event after another (record mode)
 *	base-N      file N with its content when it was first mapped
 *	shadow-N    file N with all recorded stores
 *	kernels-N   the persist log of a machine that kernels ran on (record mode)
 *	lines-N     one byte per cache line of file N: has it been stored to since its last flush?
 *	races       windows and loads of threads (persistency.h)
 *	schedule    of threads that take turns (schedule.h)
 *	marks       of code that was executed (coverage.h)
 *
 * All files are mapped shared. So the record is complete however the program ends, and programs that it forks
 * and executes continue in the same session: the environment names the folder.
 *
 * An event is valid once spool_tail has passed it. It is written first, then published, and then the shadow
 * is updated. After a kill in between, stores may be found twice, but none is lost.
 */
#ifndef HOST_SESSION_H
#define HOST_SESSION_H

#include <errno.h>
#include <fnmatch.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/bounds.h"

#define HOST_SESSION_VARIABLE "NVWAVE_SESSION"
#define HOST_LIBRARY_VARIABLE "NVWAVE_PMEM_LIBRARY" /* path of the library if it is not next to the command */

enum {
	HOST_VERSION = 20,
	HOST_FILES_MAX = 256,
	HOST_NO_FILE = 0xffff, /* of an event */
	HOST_UNFOLLOWED_MAX = 32,
	HOST_UNLOGGED_MAX = 64,
	HOST_THREADS_MAX = 1024,
	HOST_THREADS_FIRST = 4, /* of them have memory from the beginning */
	HOST_MODULES_MAX = 256,
	HOST_MARKED_MAX = 64,
	HOST_SITES_MAX = 16384,
	HOST_SITES_KEPT = 4096, /* of them for sites whose callers have no room any more */
	HOST_LINE = 64,
	HOST_PAGE = 4096,
	HOST_BINS = 1216,
	HOST_OPERATION_NAME_MAX = 95, /* characters of an operation's name */
};

/* Rounded to a multiple of a unit. */
static inline uint64_t host_down(uint64_t at, uint64_t unit)
{
	return at / unit * unit;
}

static inline uint64_t host_up(uint64_t at, uint64_t unit)
{
	return host_down(at + unit - 1, unit);
}

/* The texts of a list such as HOST_GAPS. */
#define HOST_TEXT(name, text) text,

/* As much of a text as an array has room for. */
#define HOST_COPY_TEXT(to, text) snprintf(to, sizeof(to), "%s", text)

/* Closes a file, if it was opened. */
static inline void host_close(int fd)
{
	if (fd >= 0) {
		close(fd);
	}
}

/* The target of a symbolic link; "" if it cannot be read. */
static inline void host_read_link(const char *link, char *ret_path, size_t n)
{
	const ssize_t length = readlink(link, ret_path, n - 1);

	ret_path[length > 0 ? length : 0] = '\0';
}

/* The path of an open file. */
static inline void host_path_of(int fd, char *ret_path, size_t n)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	host_read_link(link, ret_path, n);
}

/* Does one of these patterns, with commas between, match the name? */
static inline bool host_is_excepted(const char *patterns, const char *name)
{
	char pattern[256];

	while (*patterns != '\0') {
		const size_t n = strcspn(patterns, ",");

		snprintf(pattern, sizeof pattern, "%.*s", (int)n, patterns);
		if (fnmatch(pattern, name, 0) == 0) {
			return true;
		}
		patterns += n + (patterns[n] == ',');
	}
	return false;
}

/* ---- Statistics ----------------------------------------------------------------------------------- */

/* STAT(name, meaning): counters per thread. */
#define HOST_STATS(STAT)                                                                               \
	STAT(flushes, "calls that flush")                                                              \
	STAT(fences, "calls that drain")                                                               \
	STAT(copies, "copies and fills by libpmem")                                                    \
	STAT(reads, "copies out of a mapping")                                                         \
	STAT(maps, "mappings made")                                                                    \
	STAT(lines_flushed, "cache lines flushed, including those written by copies")                  \
	STAT(bytes_asked, "bytes in calls that flush or copy")                                         \
	STAT(bytes_read, "bytes copied out of a mapping")                                              \
	STAT(empty_fences, "drains without a flush since the thread's last drain")                     \
	STAT(idle_flushes, "flushes whose lines were all unchanged since their last flush (recorded)") \
	STAT(idle_lines, "lines flushed without a store since their last flush (recorded)")            \
	STAT(bytes_changed, "bytes in changed words (recorded)")                                       \
	STAT(injected_ps, "NVRAM time that calls should take")

/* Nanoseconds: exact below 64, then 32 bins per octave. */
struct host_histogram {
	uint32_t bin[HOST_BINS];
};

static inline unsigned host_bin(uint64_t ns)
{
	if (ns < 64) {
		return (unsigned)ns;
	}
	const unsigned octave = 63 - (unsigned)__builtin_clzll(ns); /* from 6 */
	const unsigned bin = 64 + (octave - 6) * 32 + (unsigned)(ns >> (octave - 5) & 31);

	return (unsigned)nvw_min(bin, HOST_BINS - 1);
}

/* The middle of a bin. */
static inline uint64_t host_bin_ns(unsigned bin)
{
	NVW_INVARIANT(bin < HOST_BINS);
	if (bin < 64) {
		return bin;
	}
	const unsigned octave = (bin - 64) / 32 + 6;

	return (UINT64_C(1) << octave) + (((bin - 64) % 32 * 2 + 1) << (octave - 6));
}

/* Delays of one kind. */
struct host_delays {
	uint64_t count;
	struct host_histogram requested, achieved;
};

/* Operations of the program (nvw/ack.h), from their beginning until they are durable, and what the thread did
 * within. */
struct host_operations {
	uint64_t count, longest_ns;
	uint64_t began_ns, ended_ns; /* the first, and the last */
	uint64_t flushes, fences, lines_flushed, bytes_asked;
	struct host_histogram latency;
};

struct host_thread {
#define STAT(name, meaning) uint64_t name;
	HOST_STATS(STAT)
#undef STAT
	struct host_delays read, write;
	struct host_operations operations;
} __attribute__((aligned(HOST_PAGE))); /* a thread's memory is its own */

/* ---- The session ---------------------------------------------------------------------------------- */

/* A mapped file. */
struct host_file {
	uint64_t device, inode;
	uint64_t bytes;    /* its largest size when it was mapped */
	uint64_t mapped;   /* end of the farthest mapping, possibly behind the file's end */
	uint32_t mappings; /* at present, in all processes */
	uint32_t threads;  /* of processes that mapped it: these may store (preload/threads.c) */
	bool watched;      /* there has been a mapping that may be stored to */
	bool written;      /* by system calls (preload/writes.c) */
	bool synced;       /* by system calls */
	bool flushed;      /* by the processor, or by libpmem */
	bool of_folder;    /* below the folder that is the image */
	bool created;      /* by the program, below that folder; else it was there before */
	bool gone;         /* its last name has been removed */
	char path[1024];   /* of a file of the folder: its last one */
};

/* A loaded object. Its addresses are recorded as offsets. */
struct host_module {
	uint64_t base;
	char path[512];
};

/* A call site in the program, or one of its callers, with all of its own callers. */
struct host_site {
	uint32_t module; /* from 1; 0: unknown */
	uint32_t caller; /* the site of the call in whose function this one is; 0: not known */
	uint32_t place;  /* the first site with this address: the counters are there */
	uint64_t offset; /* of the instruction after the call */
	uint64_t flushes, idle_flushes, fences, empty_fences;
};

/* The code of a loaded object that nvwave-cc has built, and where its marks are (preload/marks.c): as many
 * bytes for what was executed, and then for what went to a recorded mapping; on the next pages its
 * counters. */
struct host_marked {
	uint64_t code, bytes; /* as the object's file has it */
	uint64_t counters, counter_bytes;
	uint64_t off;
	char path[512];
};

/* Where its counters are among its marks; the bytes of all. */
static inline uint64_t host_counters_in(const struct host_marked *m)
{
	return host_up(2 * m->bytes, HOST_PAGE);
}

static inline uint64_t host_marked_bytes(const struct host_marked *m)
{
	return host_counters_in(m) + m->counter_bytes;
}

/* A file that the program has changed by a system call that is not recorded: no record of it is right
 * (preload/writes.c). */
struct host_unfollowed {
	uint64_t device, inode;
	uint32_t site;            /* of the first such call */
	char call[32], name[256]; /* name "": of any file, since it is not known which */
};

/* A store within a transaction of libpmemobj to what was neither added to it nor allocated by it
 * (preload/transactions/transactions.c). Sites. */
struct host_unlogged {
	uint32_t store, begun; /* begun: the outermost transaction */
	uint32_t file, bytes;
	bool annotated;      /* a transaction of the program's own (preload/transactions/annotations.c) */
	uint32_t at, whole;  /* of the first time: where its bytes are in what it stores to, and that one's */
	uint64_t off, times; /* off: of the first time */
};

/* The spool grows by these bytes, or by those of a larger event; mapped at a time. Most runs need no
 * second window. */
enum { HOST_SPOOL_WINDOW = 1 << 21 };

/* Reasons why the log is incomplete. Each one is reported. */
/* clang-format off */
#define HOST_GAPS(GAP) \
	GAP(SPOOL_FULL, "no space was left for the record, or it could no longer be reached: it ends early") \
	GAP(FILES, "more files were mapped than a session can hold: the rest were not recorded") \
	GAP(MAPPINGS, "more mappings were made than a process may have: the rest were not recorded") \
	GAP(INTERRUPTED, "a signal handler flushed or drained while its own thread was being " \
		"recorded: that call is missing") \
	GAP(NO_SHADOW, "a file could not be copied: its stores were not recorded") \
	GAP(TEARING, "pages could no longer be watched: stores to them were seen only where " \
		"they were flushed") \
	GAP(EXEC_STATIC, "the program executed another that cannot be interposed (static or " \
		"set-user-id): it was not recorded") \
	GAP(EXEC_CLEARED, "the program executed another without LD_PRELOAD or the session's " \
		"variable: it was not recorded") \
	GAP(NOT_ATTACHED, "a program could not map the memory shared with nvwave: it was not recorded") \
	GAP(STILL_RUNNING, "processes of the program were still running when it ended: their " \
		"record ends there") \
	GAP(TRUNCATED, "a file became shorter while it was mapped: stores behind its end are not recorded") \
	GAP(RAW_REMAP, "a mapping was moved whose file is no longer at its path: later stores " \
		"were not recorded") \
	GAP(LATE, "stores were found late, which nothing had announced: crash states before " \
		"them are missing; --compare=fences finds such stores at the next fence") \
	GAP(MARKS, "there was no room to mark what was executed: the coverage lacks code") \
	GAP(KERNEL_FAILED, "a kernel failed on the machine: the record ends with what it had stored")
/* clang-format on */

enum host_gap {
#define GAP(name, text) HOST_GAP_##name,
	HOST_GAPS(GAP)
#undef GAP
		HOST_GAP_COUNT
};

struct host_control {
	uint32_t version;
	bool record, advice; /* advice: compare, but keep no events */
	bool stacks;         /* sites have their callers */
	bool compare;  /* written pages are compared at every fence, also where all stores are announced */
	bool check;    /* persistency races are looked for */
	bool schedule; /* threads take turns */
	bool coverage; /* executed code is marked */
	bool closed;   /* the parent has finished: recording has ended */
	/* The machine. Times are ticks of the time-stamp counter. */
	uint64_t read_ticks, write_ticks, line_ticks; /* line_ticks: one line at full bandwidth */
	uint64_t queue_ticks;                         /* backlog of the device at which a flush has to wait */
	uint64_t portion;                             /* lines booked together if there are no latencies */
	bool delays;                                  /* calls are delayed like the device */
	bool timed;      /* each call reads the clock, because there is a latency */
	bool auto_flush; /* domain eadr */
	bool accept;     /* domain adr: a drain only waits for room in the queue */
	double ticks_per_ns;
	uint64_t device_free; /* when the device will have finished all its lines, in ticks */

	uint32_t lock; /* of everything below except the counters (preload/session.c) */
	uint64_t spool_tail;
	uint64_t events;
	uint64_t kill_at; /* the session's processes are killed before this event; 0: never */
	int32_t group;    /* their process group, unless they have left it */
	uint32_t threads, processes,
		attached;        /* numbers used so far; attached: programs that have begun in the session */
	uint32_t kernel_logs;    /* logs of machines (cuda/recorded.h) */
	uint64_t launches_alone; /* of kernels that did not run on a machine */
	uint32_t libpmem_calls;  /* not 0: a function of libpmem was called */
	bool instrumented;       /* a program was built by nvwave-cc */
	char compared
		[256];   /* why a program that nvwave-cc has built is compared at every fence; "": none is */
	bool operations; /* it has announced or acknowledged operations */
	bool ranges;     /* its transactions have added some */
	uint64_t gap[HOST_GAP_COUNT];
	char image[1024];  /* a file that is recorded before it is mapped, and without: its path; "": none */
	char folder[1024]; /* the files below it are the image, and their names; "": there is none */
	char except
		[1024]; /* patterns of names below it that are no part of it, with commas between; "": none */
	char stray[1024]; /* a sentence about an access to memory after it was unmapped, or "" */
	uint32_t file_count, module_count, site_count, unfollowed_count, marked_count, unlogged_count;
	struct host_marked marked[HOST_MARKED_MAX];
	uint64_t unlogged_more; /* stores that had no room there */
	uint64_t transactions;  /* of libpmemobj, the outermost ones, on recorded pools */
	struct host_unlogged unlogged[HOST_UNLOGGED_MAX];
	struct host_unfollowed unfollowed[HOST_UNFOLLOWED_MAX];
	struct host_file file[HOST_FILES_MAX];
	struct host_module module[HOST_MODULES_MAX];
	struct host_site site[HOST_SITES_MAX];
	uint32_t site_index[2 * HOST_SITES_MAX]; /* their numbers by a hash (preload/sites.c); 0: free */
	uint64_t uncounted;                      /* threads for whose counters no memory was left */
	bool counted[HOST_THREADS_MAX]; /* this thread's counters have memory: nobody else touches them */
	struct host_thread thread[HOST_THREADS_MAX]; /* the file ends behind the last that is counted */
};

/* The size of a control file that has room for so many threads. */
static inline size_t host_control_bytes(unsigned threads)
{
	NVW_DEEP_INVARIANT(threads <= HOST_THREADS_MAX);
	return offsetof(struct host_control, thread) + threads * sizeof(struct host_thread);
}

/* ---- Its lock ------------------------------------------------------------------------------------- */

/* A futex: the thread id of who has it (preload/session.c). */
static inline void host_wait_and_take(uint32_t *lock, uint32_t seen, uint32_t id)
{
	NVW_INVARIANT((id & FUTEX_TID_MASK) == id);

	const int before = errno;

	while (true) {
		const bool free = (seen & FUTEX_TID_MASK) == 0;
		const uint32_t next = (free ? id : seen) | FUTEX_WAITERS;
		const bool changed = __atomic_compare_exchange_n(
			lock, &seen, next, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);

		if (changed && free) {
			break;
		}
		if (changed) {
			syscall(SYS_futex, lock, FUTEX_WAIT, next, NULL, NULL, 0);
			seen = __atomic_load_n(lock, __ATOMIC_RELAXED);
		}
	}
	errno = before;
}

static inline void host_take(uint32_t *lock, uint32_t id)
{
	NVW_DEEP_INVARIANT(id > 0 && (id & FUTEX_TID_MASK) == id);

	uint32_t seen = 0;

	if (!__atomic_compare_exchange_n(lock, &seen, id, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		host_wait_and_take(lock, seen, id);
	}
}

static inline void host_give_back(uint32_t *lock)
{
	NVW_DEEP_INVARIANT((*lock & FUTEX_TID_MASK) != 0);
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) & FUTEX_WAITERS) {
		const int before = errno;

		syscall(SYS_futex, lock, FUTEX_WAKE, 1, NULL, NULL, 0);
		errno = before;
	}
}

/* ---- Events --------------------------------------------------------------------------------------- */

enum host_event_kind {
	HOST_CHANGE = 1, /* the content of changed lines of the file; bytes follow */
	HOST_FLUSH,      /* of lines */
	HOST_FENCE,
	HOST_WRITTEN,       /* the file changed while no process had it mapped; bytes follow */
	HOST_STORE,         /* a store of a program built by nvwave-cc, within one word; bytes follow */
	HOST_FLUSH_ORDERED, /* like HOST_FLUSH, but ordered before all later stores (clflush) */
	HOST_BEGIN,         /* an operation, whose number is in off; its name follows (nvw/ack.h) */
	HOST_DURABLE,       /* likewise: it is acknowledged */
	/* A kernel runs on a machine: off is the number of its log << 32 | its number there. Items of struct
	 * host_kernel_range follow. */
	HOST_KERNEL,
	HOST_GIVEN,      /* changed lines that a kernel has left; bytes follow */
	HOST_KERNEL_END, /* what it has left is in the files */
	HOST_WRITE,      /* a system call has written to the file, at off; bytes follow */
	HOST_SIZE,       /* the file has another size, which is off */
	HOST_SYNC,       /* a sync of the file begins: from off on, this many pages (0: all) */
	HOST_SYNCED,     /* the thread's sync has come to its end */
	HOST_NAME,       /* the name that follows, below the folder, is what off says: enum host_name */
	HOST_SYNC_NAMES, /* a sync of the folder that follows begins; off 1: of everything */
	HOST_WIDE,       /* the stores of this site and call that follow are parts of one to these bytes */
	/* Transactions of libpmemobj, as enum nvw_log_range has them. */
	HOST_ADDING,
	HOST_ADDED,
	HOST_UNLOGGED,
	HOST_SETTLES,
	HOST_FORGOTTEN, /* of every file */
};

enum host_name {
	HOST_NAME_OF_NONE, /* any more */
	HOST_NAME_OF_FILE,
	HOST_NAME_OF_FOLDER,
	HOST_NAME_OF_LINK, /* a symbolic one: behind the name follow a 0 and its text */
};

/* Its bytes follow, padded to a multiple of 8. All events of a call have the call's number. */
struct host_event {
	uint16_t kind, file;
	uint32_t thread, site;
	uint32_t bytes; /* of the data; of the flush */
	uint64_t off, call;
};

/* Where a part of a file was in the NVRAM of a machine. */
struct host_kernel_range {
	uint64_t nvram, off, bytes; /* bytes 0: no recorded file */
	uint32_t file, unused;
};

/* The clock of a session's delays, read by both sides. */
static inline uint64_t host_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

#endif
