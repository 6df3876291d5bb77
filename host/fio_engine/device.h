/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block device whose medium is the NVRAM of an emulated machine; independent of fio.
 *
 * The device is a pool of layout "block-device": root word 0 names an extent of the heap, root word 1 is the
 * size of the device in it. Offsets and lengths are in bytes, multiples of 8.
 *
 * Guarantees
 *   (1) A read sees every earlier write.
 *   (2) A write is acknowledged when it is durable: writes are numbered from 0 in order of submission, and
 *       number n is acknowledged by its own work-group (durable = true) or by the next block_device_sync().
 *   (3) A power cut may lose unacknowledged writes, in whole or in part; so it may lose writes that are not
 *       followed by a block_device_sync() or a normal close.
 */
#ifndef FIO_ENGINE_DEVICE_H
#define FIO_ENGINE_DEVICE_H

#include <nvw/pool.h>

#include "kernel.h"

struct emu_stats;
struct emu_config;

struct block_options {
	const char *machine;  /* a shipped one or a file; NULL: gope18 */
	const char *set;      /* "section.key=value,...", applied to it; may be NULL */
	const char *protocol; /* NULL: vi */
	/* file for the persist log; the initial pool is copied to LOG.image. NULL: no log */
	const char *log;
	const char *description; /* description in the log, as "name=value ..." */
	const char *power_cut; /* simulated time at which the process dies by SIGKILL, "20us"; NULL: never */
	uint64_t seed;
	unsigned group_size; /* work-items that copy one I/O */
	enum nvw_group scope;
	enum block_fault fault;
	unsigned depth;     /* most I/Os in one kernel */
	uint64_t bytes_max; /* of one I/O */
};

/* Creates path as an empty device of this many bytes. -EEXIST, NVW_E_FULL. */
NVW_CHECKED int block_device_create(const char *path, uint64_t bytes);
/* The size of the device in path. -ENOENT; NVW_E_INPUT if the pool is not a device. */
NVW_CHECKED int block_device_size(const char *path, uint64_t *ret_bytes);

struct block_device;
/*
 * Creates a machine with the device's pool as its NVRAM; a process can have only one. NVW_E_USAGE,
 * NVW_E_CONFIG for options, NVW_E_BUSY if the pool is in use. Closed by block_device_close().
 */
NVW_CHECKED int block_device_open(
	const char *path, const struct block_options *options, struct block_device **ret_device);
/* A normal close: all writes are durable when it returns, unless the device has failed. Frees the device.
 * NULL is allowed. */
NVW_CHECKED int block_device_close(struct block_device *device);

struct block_io {
	void *buffer;
	uint64_t off, bytes; /* on the device */
	bool is_write;
	bool durable; /* a write that is acknowledged before this returns (O_SYNC, FUA) */
};
/* Runs the I/Os, at most options.depth of them, as one kernel; durable is the same for all of its writes.
 * NVW_E_USAGE for an I/O outside the device: then none is run. After any other error the device can only be
 * closed. */
NVW_CHECKED int block_device_run(struct block_device *device, const struct block_io *ios, unsigned count);
/* All writes so far are durable and acknowledged when it returns. */
NVW_CHECKED int block_device_sync(struct block_device *device);

/* ---- Figures: simulated time, in picoseconds ------------------------------------------------------ */

enum block_kind { BLOCK_READ, BLOCK_WRITE, BLOCK_SYNC, BLOCK_KINDS };

struct block_figures {
	uint64_t count, bytes, busy_ps;  /* busy: time of the kernels (or syncs) with such I/Os */
	uint64_t p50_ps, p99_ps, max_ps; /* latency of a kernel, counted once per I/O; of a sync */
};
/* Sorts the measurements; all 0 if there are none. */
void block_device_figures(struct block_device *device, enum block_kind kind, struct block_figures *ret);
uint64_t block_device_bytes(const struct block_device *device); /* its size */
/* Total time and number of kernels and syncs; statistics of the machine; its description. Valid until it is
 * closed. */
uint64_t block_device_time_ps(const struct block_device *device);
uint64_t block_device_operations(const struct block_device *device);
const struct emu_stats *block_device_statistics(struct block_device *device);
const struct emu_config *block_device_config(const struct block_device *device);

#endif
