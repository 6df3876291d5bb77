/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block device whose medium is the NVRAM of an emulated machine. Knows nothing of fio.
 *
 * The device is a pool of layout "block-device": root word 0 names an extent of the heap, root word 1 says how many bytes of it
 * are the device's. Offsets, lengths in bytes, multiples of 8.
 *
 * Guarantees
 *   (1) A read sees every write that was run before it.
 *   (2) A write is acknowledged when it is durable: writes are numbered from 0 in the order in which they were given, and
 *       number n is acknowledged by its own work-group (durable = true) or by the next block_device_sync().
 *   (3) What is not acknowledged may be lost by a power cut, in whole or in part; so may what is written without a
 *       block_device_sync() or an orderly close after it.
 */
#ifndef FIO_ENGINE_DEVICE_H
#define FIO_ENGINE_DEVICE_H

#include <nvw/pool.h>

#include "kernel.h"

struct emu_stats;
struct emu_config;

struct block_options {
	const char *machine;  /* a shipped one or a file; NULL: gope18 */
	const char *set;      /* "section.key=value,..." over it; may be NULL */
	const char *protocol; /* NULL: vi */
	/* where the persist log goes; the pool as it was before is copied to LOG.image. NULL: nowhere */
	const char *log;
	const char *description; /* what the log says about itself, as "name=value ..." */
	const char *power_cut; /* simulated time at which the process dies by SIGKILL, "20us"; NULL: never */
	uint64_t seed;
	unsigned group_size; /* work-items that copy one I/O */
	enum nvw_group scope;
	enum block_fault fault;
	unsigned depth;     /* I/Os in one kernel, at most */
	uint64_t bytes_max; /* of one I/O */
};

/* Creates path as an empty device of so many bytes. -EEXIST, NVW_E_FULL. */
NVW_CHECKED int block_device_create(const char *path, uint64_t bytes);
/* How many bytes the device in path has. -ENOENT; NVW_E_INPUT if it is a pool of something else. */
NVW_CHECKED int block_device_size(const char *path, uint64_t *ret_bytes);

struct block_device;
/*
 * Creates a machine with the device's pool as its NVRAM; one at a time in a process. NVW_E_USAGE, NVW_E_CONFIG for
 * options, NVW_E_BUSY if the pool is in use. Ended by block_device_close().
 */
NVW_CHECKED int block_device_open(
	const char *path, const struct block_options *options, struct block_device **ret_device);
/* In order: everything written is durable when it returns, unless the device has failed. Frees. NULL is fine. */
NVW_CHECKED int block_device_close(struct block_device *device);

struct block_io {
	void *buffer;
	uint64_t off, bytes; /* on the device */
	bool is_write;
	bool durable; /* a write that is acknowledged before this returns (O_SYNC, FUA) */
};
/* Runs the I/Os, at most options.depth of them, as one kernel; all of them durable or none of the writes. NVW_E_USAGE for one that
 * is not on the device: then none is run. After another error only closing is left. */
NVW_CHECKED int block_device_run(struct block_device *device, const struct block_io *ios, unsigned count);
/* Everything written so far is durable when it returns, and acknowledged. */
NVW_CHECKED int block_device_sync(struct block_device *device);

/* ---- Figures: simulated time, in picoseconds -------------------------------------------------------------- */

enum block_kind { BLOCK_READ, BLOCK_WRITE, BLOCK_SYNC, BLOCK_KINDS };

struct block_figures {
	uint64_t count, bytes, busy_ps;  /* busy: time of the kernels (or syncs) that had one */
	uint64_t p50_ps, p99_ps, max_ps; /* of a kernel, counted once for each of its I/Os; of a sync */
};
/* Sorts what was measured; 0s if there was none. */
void block_device_figures(struct block_device *device, enum block_kind kind, struct block_figures *ret);
uint64_t block_device_bytes(const struct block_device *device); /* its size */
/* Time of all kernels and syncs, and how many they were; statistics of the machine; its description. Valid until it is closed. */
uint64_t block_device_time_ps(const struct block_device *device);
uint64_t block_device_operations(const struct block_device *device);
const struct emu_stats *block_device_statistics(struct block_device *device);
const struct emu_config *block_device_config(const struct block_device *device);

#endif
