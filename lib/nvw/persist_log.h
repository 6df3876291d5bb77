/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persist log: all events of the NVRAM during a run, in simulated time. It is the only interface between
 * emulation and crash testing. The file format is described byte by byte in docs/persist-log.md.
 *
 * Records are in order of occurrence; times never decrease. Offsets are pool offsets. The same run (binary,
 * machine, workload, seed) writes the same file, byte for byte.
 */
#ifndef NVW_PERSIST_LOG_H
#define NVW_PERSIST_LOG_H

#include <nvw/kernel.h>
#include <nvw/pool.h>

/* The version grows by what a log has beside the first one's records, so that earlier readers take all
 * others: by one with named operations, by two with the callers of sites, by four with what sites store to,
 * by eight with what transactions add. */
enum {
	NVW_LOG_VERSION = 3,
	NVW_LOG_WITH_OPERATIONS = 1,
	NVW_LOG_WITH_CALLERS = 2,
	NVW_LOG_WITH_LAYOUTS = 4,
	NVW_LOG_WITH_RANGES = 8,
	NVW_LOG_VERSION_LAST = NVW_LOG_VERSION + NVW_LOG_WITH_OPERATIONS + NVW_LOG_WITH_CALLERS +
			       NVW_LOG_WITH_LAYOUTS + NVW_LOG_WITH_RANGES,
	NVW_LOG_LINE_BYTES = 64
};

enum nvw_log_kind {
	NVW_LOG_BEGIN = 0, /* a thread of the host begins an operation (nvw/ack.h) */
	NVW_LOG_SITE = 1,  /* a source location gets its number; precedes the first record that uses it */
	NVW_LOG_LAUNCH,    /* a kernel begins */
	NVW_LOG_FINISH,    /* a kernel has ended and released its stores */
	NVW_LOG_STORE,     /* a store or atomic changed NVRAM in the visible state */
	NVW_LOG_ISSUE,     /* a write-back was sent to the NVRAM: from now on it may be partly durable */
	NVW_LOG_DONE,      /* the NVRAM completed the write-back: it is durable */
	NVW_LOG_BARRIER,   /* a group has arrived at a persist barrier */
	NVW_LOG_PERSISTED, /* that barrier has completed: its epoch is durable (epoch persistency) */
	NVW_LOG_ACK,       /* operations were acknowledged to the host as durable */
	NVW_LOG_HOST,      /* the host wrote to NVRAM: durable at once */
	NVW_LOG_DRAINED,   /* the host waited until all earlier stores were durable */
	NVW_LOG_FLUSH,     /* a host thread flushed lines (clwb, clflushopt, non-temporal store) */
	NVW_LOG_FENCE,     /* a host thread's fence completed: its flushed lines are durable */
	NVW_LOG_END,       /* the run ended, or was interrupted; the last record */
	NVW_LOG_THREADS,   /* the number of host threads that may have stored */
	NVW_LOG_RANGE,     /* a transaction of a host thread adds a range to its undo log, or settles */
};
enum { NVW_LOG_KINDS = NVW_LOG_RANGE + 1 };

/* A record of a range says one of these (libpmemobj). */
enum nvw_log_range {
	NVW_RANGE_ADDING,    /* the stores from here to ADDED may be the undo entry's */
	NVW_RANGE_ADDED,     /* the thread's call has returned */
	NVW_RANGE_UNLOGGED,  /* it belongs to the transaction, but no undo entry has it */
	NVW_RANGE_SETTLES,   /* the thread's commit or abort: entries hold until the thread's next fence */
	NVW_RANGE_FORGOTTEN, /* no entry of any thread holds: a pool is opened, perhaps recovered */
	NVW_RANGE_KINDS
};

/* One record; only the member for its kind is valid. data points into the buffer of the writer's caller or of
 * the reader (valid until the next call). */
struct nvw_log_record {
	enum nvw_log_kind kind;
	uint64_t time_ps;
	union {
		struct {
			uint32_t id; /* from 1, in order of appearance */
			uint32_t line;
			const char *file;
			const char *function;
			/* An earlier site: the place of the call in whose function this one is, so that the
			 * callers are a stack; 0: unknown, or none. Places with other callers are other
			 * sites. */
			uint32_t caller;
			/* The field that its instruction stores to, written as lib/source/layout.h says
			 * (info.layouts); NULL or "": unknown. */
			const char *layout;
		} site;
		struct {
			uint32_t kernel; /* from 1, in order of launch */
			uint32_t group_size;
			uint64_t work_items;
			const char *name;
		} launch;
		struct {
			uint32_t kernel;
		} finish;
		struct {
			uint32_t site;
			uint32_t kernel;
			uint64_t work_item; /* global id */
			uint64_t group;
			/* Number of persist barriers that order this store and precede it in program order,
			 * by scope: the epochs of equations 1 to 3. wi counts barriers of every scope, wg
			 * those of work-group and kernel scope, kr those of kernel scope. */
			uint32_t epoch_wi, epoch_wg, epoch_kr;
			uint32_t bytes; /* 1 to 8, within one 8-byte word */
			nvw_off off;
			/* It is these bytes of one store or copy of "whole" bytes, from its "at" on
			 * (info.layouts; else it is the whole one). whole 0: unknown. */
			uint64_t at, whole;
			uint64_t value; /* little-endian, the low bytes */
		} store; /* by a host program: kernel is 0, work_item is the thread, group the number of
		          * the instruction; an instruction wider than a word has several records */
		struct {
			uint64_t write;      /* number of the write-back, from 1 */
			nvw_off off;         /* 64-byte aligned */
			uint64_t mask;       /* bit i: byte i is written */
			const uint8_t *data; /* 64 bytes */
		} issue;
		struct {
			uint64_t write;
		} done;
		struct {
			uint32_t site;
			uint32_t kernel;
			enum nvw_group scope;
			uint64_t work_item; /* of the first work-item (wi, wg), 0 for the kernel */
			uint64_t group;
			uint32_t work_items; /* the work-items that arrived together */
			uint32_t epoch;      /* number of the epoch that the barrier ends, in its scope */
			uint64_t lanes;      /* wi: bit i: work_item + i is included; 0 for wg, kr: all */
		} barrier;                   /* also for PERSISTED */
		/* By a program on the host (info.operations): kernel 0, site and work_item, which is the
		 * thread; the others are 0. */
		struct {
			uint64_t first, count;
			/* The acknowledging work-item, and its epochs (as in store). Kernel 0: the host. */
			uint32_t kernel;
			uint32_t site; /* source of the acknowledgement; 0: unknown, or the host */
			uint64_t work_item, group;
			uint32_t epoch_wi, epoch_wg, epoch_kr;
		} ack;
		struct {
			uint32_t site; /* 0: unknown */
			uint64_t thread, number;
			const char *name; /* "delete 42"; may be "" */
		} begin;
		struct {
			uint32_t site;
			uint64_t thread;
			nvw_off off;
			uint64_t bytes;
			bool ordered; /* before all later stores (clflush) */
		} flush;
		struct {
			uint32_t site;
			uint64_t thread;
		} fence;
		struct {
			uint64_t count;
		} threads;
		struct {
			enum nvw_log_range what;
			uint64_t thread;
			nvw_off off; /* of ADDED and UNLOGGED */
			uint64_t bytes;
		} range;
		struct {
			bool interrupted; /* by a signal or a limit: the run would have gone on */
		} end;
		struct {
			nvw_off off;
			uint32_t bytes; /* 1 to 4096 */
			const uint8_t *data;
		} host;
	};
};

/* The subject of the log; repeated in every report. Strings are copied. */
struct nvw_log_info {
	const char *workload, *options, *machine, *protocol, *model, *domain;
	uint64_t seed;
	uint64_t pool_bytes;
	uint32_t atomicity; /* bytes that the NVRAM writes atomically: 8 or 64 */
	bool operations; /* a program's: it may have NVW_LOG_BEGIN, and acknowledgements name their thread */
	bool callers;    /* sites may have callers */
	bool layouts;    /* sites may have layouts, and stores be parts of wider ones */
	bool ranges;     /* it may have NVW_LOG_RANGE */
};

/* ---- Writing --------------------------------------------------------------------------------- */

struct nvw_log_writer;
/* Creates path (an existing file is replaced). */
NVW_CHECKED int nvw_log_create(
	const char *path, const struct nvw_log_info *info, struct nvw_log_writer **ret_writer);
/* Creates the log in a file that is open for writing, at its current position. fd is closed with the writer,
 * also when this fails. name appears in messages. */
NVW_CHECKED int nvw_log_create_fd(
	int fd, const char *name, const struct nvw_log_info *info, struct nvw_log_writer **ret_writer);
/* Appends a record, buffered. A failed write (NVW_E_FULL, NVW_E_SYSTEM) is reported here and again at close;
 * nothing is written after it. */
NVW_CHECKED int nvw_log_append(struct nvw_log_writer *writer, const struct nvw_log_record *record);
/* Writes what is buffered, so that all records up to here can be read even if the writer's process is
 * killed. */
NVW_CHECKED int nvw_log_flush(struct nvw_log_writer *writer);
/* Writes NVW_LOG_END at time_ps and the trailer, closes and frees the writer. NULL is allowed. */
NVW_CHECKED int nvw_log_close(struct nvw_log_writer *writer, uint64_t time_ps);
/* The same of a run that was interrupted at time_ps. */
NVW_CHECKED int nvw_log_interrupt(struct nvw_log_writer *writer, uint64_t time_ps);
/* Closes without an END record: the log of a failed run, readable up to its last complete block. NULL is
 * allowed. */
void nvw_log_abandon(struct nvw_log_writer *writer);
/* Records appended so far. */
uint64_t nvw_log_records(const struct nvw_log_writer *writer);

/* ---- Reading --------------------------------------------------------------------------------- */

struct nvw_log_reader;
NVW_CHECKED int nvw_log_open(const char *path, struct nvw_log_reader **ret_reader);
/* Opens a log in a regular file that is open for reading. fd is closed with the reader, also when this
 * fails. */
NVW_CHECKED int nvw_log_open_fd(int fd, const char *name, struct nvw_log_reader **ret_reader);
const struct nvw_log_info *nvw_log_info(const struct nvw_log_reader *reader);
/* Returns 1 and the next record, 0 after the last one, or an error that names file and offset
 * (NVW_E_DAMAGED). */
NVW_CHECKED int nvw_log_next(struct nvw_log_reader *reader, struct nvw_log_record *ret_record);
/* Returns to the first record. */
NVW_CHECKED int nvw_log_rewind(struct nvw_log_reader *reader);
void nvw_log_reader_close(struct nvw_log_reader *reader);

#endif
