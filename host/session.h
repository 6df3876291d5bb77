/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What "nvwave exec" and the library that it preloads share: a folder with
 *
 *	control     struct host_control, then one struct host_thread for each thread that was met
 *	spool       what was recorded, struct host_event after struct host_event (record mode)
 *	base-N      file N as it was when it was first mapped
 *	shadow-N    file N as far as it is recorded
 *	lines-N     a byte for each of its cache lines: stored to since it was last flushed
 *
 * Everything is mapped shared. So what the program did is known however it ends, and whatever it forks and executes goes
 * on in the same session: the environment names the folder.
 *
 * An event is valid once spool_tail has passed it. It is written, published, and only then the shadow follows: a process
 * that is killed in between leaves stores that are found again, never stores that are lost.
 */
#ifndef HOST_SESSION_H
#define HOST_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define HOST_SESSION_VARIABLE "NVWAVE_SESSION"
#define HOST_LIBRARY_VARIABLE "NVWAVE_PMEM_LIBRARY" /* names the library where it is not beside the command */

enum {
	HOST_VERSION = 3,
	HOST_FILES_MAX = 32,
	HOST_THREADS_MAX = 1024,
	HOST_MODULES_MAX = 256,
	HOST_SITES_MAX = 16384,
	HOST_LINE = 64,
	HOST_PAGE = 4096,
	HOST_BINS = 1216,
};

/* ---- Statistics ---------------------------------------------------------------------------------------------- */

/* STAT(name, meaning): counters of a thread. */
#define HOST_STATS(STAT)                                                                                  \
	STAT(flushes, "calls that flush")                                                                 \
	STAT(fences, "calls that drain")                                                                  \
	STAT(copies, "copies and fills by libpmem")                                                       \
	STAT(reads, "copies out of a mapping")                                                            \
	STAT(maps, "mappings made")                                                                       \
	STAT(lines_flushed, "cache lines flushed, with those that copies write")                          \
	STAT(bytes_asked, "bytes that calls asked to flush or copy")                                      \
	STAT(bytes_read, "bytes copied out of a mapping")                                                 \
	STAT(empty_fences, "drains without a flush since the thread's last one")                          \
	STAT(idle_flushes,                                                                                \
		"flushes of lines of which none was stored to since it was last flushed (recorded)")      \
	STAT(idle_lines, "lines flushed that were not stored to since they were last flushed (recorded)") \
	STAT(bytes_changed, "bytes in words that were found changed (recorded)")                          \
	STAT(injected_ps, "time that calls were asked to take")

/* Nanoseconds: exact below 64, then 32 bins an octave. */
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

	return bin < HOST_BINS ? bin : HOST_BINS - 1;
}

/* The middle of a bin. */
static inline uint64_t host_bin_ns(unsigned bin)
{
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

struct host_thread {
#define STAT(name, meaning) uint64_t name;
	HOST_STATS(STAT)
#undef STAT
	struct host_delays read, write;
};

/* ---- The session ------------------------------------------------------------------------------------------------ */

/* A file that was mapped. */
struct host_file {
	uint64_t device, inode;
	uint64_t bytes;    /* the greatest size that it had when it was mapped */
	uint64_t mapped;   /* how far mappings of it reach at most, perhaps behind its end */
	uint32_t mappings; /* at present, in all processes */
	uint32_t threads;  /* of processes that mapped it: these may store (preload/threads.c) */
	char path[1024];
};

/* A loaded object: addresses in it are kept as offsets. */
struct host_module {
	uint64_t base;
	char path[512];
};

/* A place in the program that calls. */
struct host_site {
	uint32_t module; /* from 1; 0: unknown */
	uint64_t offset; /* of the instruction after the call */
	uint64_t flushes, idle_flushes, fences, empty_fences;
};

/* Reasons why the log says less than what happened; each is reported. */
/* clang-format off */
#define HOST_GAPS(GAP)                                                                                             \
	GAP(SPOOL_FULL, "no space was left for the record, or it could not be reached any more: it ends early")                                       \
	GAP(FILES, "more files were mapped than a session holds: the rest was not recorded")                    \
	GAP(MAPPINGS, "more mappings were made than a process may have: the rest was not recorded")             \
	GAP(INTERRUPTED, "a signal handler flushed or drained while its own thread was being recorded: that call is missing") \
	GAP(NO_SHADOW, "a file could not be copied: its stores were not recorded")                               \
	GAP(TEARING, "pages could not be watched any more: stores to them were seen only where they were flushed") \
	GAP(EXEC_STATIC, "the program executed one that cannot be interposed (static, or set-user-id): nothing of it was seen") \
	GAP(EXEC_CLEARED, "the program executed another without LD_PRELOAD or the session's variable: nothing of it was seen") \
	GAP(NOT_ATTACHED, "a program had no memory for, or no access to, what it shares with nvwave: nothing of it was seen") \
	GAP(STILL_RUNNING, "processes of the program were still running when it ended: their record ends there") \
	GAP(TRUNCATED, "a file became shorter while it was mapped: what was stored behind its end is not recorded")      \
	GAP(RAW_REMAP, "a mapping was moved whose file is not in its place any more: stores after that were not recorded")
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
	bool closed;         /* the parent is done: nothing is recorded any more */
	/* The machine; times in ticks of the time-stamp counter. */
	uint64_t read_ticks, write_ticks, line_ticks; /* line_ticks: a line at full bandwidth */
	uint64_t queue_ticks; /* so far the device may lag before a flush has to wait */
	uint64_t portion;     /* lines that are booked together where there are no latencies */
	bool delays;          /* calls take the device's time */
	bool timed;           /* each of them looks at the clock: there is a latency */
	bool auto_flush;      /* domain eadr */
	bool accept;          /* domain adr: a drain waits for room in the queue alone */
	double ticks_per_ns;
	uint64_t device_free; /* when the device has done what it was sent, in ticks */

	pthread_mutex_t lock; /* of everything below but the counters; robust, between processes */
	uint64_t spool_tail;
	uint64_t events;
	uint64_t kill_at;                      /* the session's processes die before this event; 0: never */
	int32_t group;                         /* theirs, unless they have left it */
	uint32_t threads, processes, attached; /* met so far; attached: processes that began */
	uint32_t libpmem_calls;                /* not 0: some function of libpmem was called */
	bool instrumented;                     /* some program was built by nvwave-cc */
	uint64_t gap[HOST_GAP_COUNT];
	char stray[1024]; /* what was touched after it was unmapped: "" or a sentence */
	uint32_t file_count, module_count, site_count;
	struct host_file file[HOST_FILES_MAX];
	struct host_module module[HOST_MODULES_MAX];
	struct host_site site[HOST_SITES_MAX];
	struct host_thread thread[HOST_THREADS_MAX];
};

/* ---- Events ------------------------------------------------------------------------------------------------------- */

enum host_event_kind {
	HOST_CHANGE = 1, /* bytes follow: what these bytes of the file were found to be */
	HOST_FLUSH,      /* of lines */
	HOST_FENCE,
	HOST_WRITTEN,       /* bytes follow: the file changed while nobody had it mapped */
	HOST_STORE,         /* bytes follow, within a word: a store of a program that nvwave-cc has built */
	HOST_FLUSH_ORDERED, /* as HOST_FLUSH, and before all later stores (clflush) */
};

/* Followed by its bytes, padded to 8. Events that belong to one call have its number. */
struct host_event {
	uint16_t kind, file;
	uint32_t thread, site;
	uint32_t bytes; /* of the data; of the flush */
	uint64_t off, call;
};

/* The clock that the delays of a session are in: both sides read it. */
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
