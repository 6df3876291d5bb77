/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The levels of the memory hierarchy: the CUs with their L1s, the L2, the L3, the directory. Each has caches,
 * FIFOs of their dirty lines, and times: until when it is busy, and when all that has left it has arrived.
 */
#ifndef EMU_LEVELS_H
#define EMU_LEVELS_H

#include "cache.h"
#include "../time/resource.h"

struct coh_wait;
struct emu_wavefront;

struct emu_cu {
	unsigned id;
	emu_time issue_free; /* when the next wavefront instruction can issue */
	struct emu_resource l1_port;
	emu_time rmw_free; /* until then a remote operation locks read-modify-writes (alsop16 II.D) */
	struct emu_cache l1;
	struct emu_cache
		write; /* l1.split: for stored data, while l1 is for read data; no sets: there is none */
	struct emu_cache *stores; /* the one of them that takes stores */
	struct emu_fifo sfifo;    /* dirty lines since the last release (gope18 3) */
	uint32_t buffered;        /* number of words in it, if l1.sfifo_unit is words */
	struct emu_fifo nvw_fifo; /* NV writes in the L1 (gope18 6) */
	unsigned drains;          /* of its FIFOs, one within the other, at this instant */
	emu_time taken;           /* when the next level has taken, or registered, all that left the L1 */
	emu_time accepted; /* when the L2, or memory behind one that writes through, has all that was sent */
	emu_time acknowledged; /* write-through: when the L1 knows */
};

/* The lock of all L1s' read-modify-writes: how many remote operations have it, how many read-modify-writes
 * have been let pass and are still on their way, and the requests that wait. */
struct coh_lock {
	unsigned holders, passing;
	struct coh_wait *waiting, **end;
};

struct emu_l2 {
	struct emu_cache cache, write, *stores; /* likewise */
	struct emu_fifo sfifo;
	struct emu_fifo nvw_fifo;
	struct emu_resource *bank;
	uint32_t banks;
	emu_time taken;       /* when memory, or the L3, has accepted all that left the L2 */
	emu_time copies_gone; /* when the invalidations of copies that nobody answers have reached all L1s */
};

/* The memory's side of the L2 (l3.c). */
struct emu_l3 {
	struct emu_cache cache, write, *stores; /* as an L1's */
	struct emu_fifo sfifo;                  /* dirty lines, all of DRAM */
	struct emu_resource *bank;
	uint32_t banks; /* 0: there is none */
	bool passes;    /* stores to DRAM go on to it */
};

/*
 * A directory of its own (protocol/directory.c). Its entries are lines without data: state, owner and
 * sharers. cache.sets 0: there is none, and the L2's lines have these.
 */
struct emu_directory {
	struct emu_cache cache;
	emu_time *mshrs; /* by turns: when the request that has it is answered */
	uint64_t requests;
};

#endif
