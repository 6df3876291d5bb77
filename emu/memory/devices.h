/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory devices, their channels and write queues, and the writes in flight to those of NVRAM.
 * device_memory.h has what can be done with them.
 */
#ifndef EMU_DEVICES_H
#define EMU_DEVICES_H

#include <nvw/pool.h>

#include "core/rows.h"
#include "../time/resource.h"

struct emu_channels {
	struct emu_resource
		*read;        /* reads have priority: the two share no queue; a shared channel is for both */
	emu_time *write_free; /* in order of arrival */
	/* For shared channels: when the last writes began, by place of a queue, and the next to replace. */
	emu_time *begun;
	uint64_t *turn, places;
	emu_time read_ps, write_ps; /* latencies */
	emu_time line_ps;           /* time that a line occupies a channel */
	emu_time queue_ps;          /* how far the write queue may run ahead of the device */
	emu_time link_ps;           /* the way between the L2 and the controller */
	uint32_t count;
};

/* Traffic served by a device. */
struct emu_traffic {
	uint64_t reads, writes;               /* lines */
	uint64_t words;                       /* 8-byte words made durable */
	uint64_t read_wait_ps, write_wait_ps; /* for a busy channel */
	uint64_t barrier_wait_ps;             /* of persist barriers, for writes in flight to the device */
};

/*
 * A memory device behind the caches, with its controller. An NVRAM device has a pool, or a range of one's
 * bytes; without one it has no bytes, and nothing leads to it.
 */
struct emu_device {
	const char *name; /* in machine files; the machine's description has it */
	bool is_dram;
	char *base;            /* device addresses without access, so that plain code faults (fault.c) */
	uint64_t bytes;        /* of the range, a multiple of a line; 0: none */
	uint64_t used;         /* of DRAM, by nvw_alloc() */
	emu_line_id first;     /* the number of its first line */
	char *behind;          /* its bytes: the DRAM's, or the durable ones in the pool's mapping */
	struct nvw_pool *pool; /* owned by the caller; NULL: none */
	nvw_off off;           /* of its first byte, in the range of the run's pools */
	uint64_t domain;       /* enum emu_domain: when a write is durable */
	struct emu_channels channels;
	uint64_t hops;
	uint64_t read_energy, write_energy; /* fJ: to read a line; to write a line of DRAM, a word of NVRAM */
	uint32_t queue;                     /* index of its first channel in emu_nvram.head and tail */
	uint32_t in_flight;                 /* writes to it */
	emu_time last_done;                 /* of the latest write ever issued to it */
	struct emu_traffic traffic;
};

/* A write-back in flight to an NVRAM device. */
struct emu_nvram_write {
	emu_time done;
	emu_line_id line;
	uint32_t next_in_queue;               /* indices, 0 ends */
	uint32_t next_of_line, newer_of_line; /* in the hash's list, which begins with the newest */
	uint32_t stores;                      /* chain of store records that it carries */
	uint32_t tag;                         /* of the persistency model */
	uint64_t number;
	uint64_t mask;
	uint8_t data[EMU_LINE];
};

/* The writes in flight to all NVRAM devices, with one queue per channel of each device. */
struct emu_nvram {
	struct nvw_rows writes;
	uint32_t *head, *tail; /* by queue */
	uint32_t queue_count;
	emu_time next_done; /* of the earliest write in flight, UINT64_MAX if there is none */
	uint32_t in_flight;
	uint64_t numbers;  /* of writes, for the log */
	uint32_t *by_line; /* hash heads */
};

#endif
