/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watching a run: who is told what the machine does, and when.
 *
 * An observer is told of everything below at the moment when the machine knows both its beginning and its
 * end. So sights do not come in the order of their times: a transaction books its whole path when it begins.
 * All times are simulated ones, in ps. Watching takes no simulated time and changes nothing in the run.
 * Without an observer it costs a test per event.
 */
#ifndef EMU_WATCH_H
#define EMU_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct nvw_machine;
struct nvw_site;

/* clang-format off */
/* X(id, name, unit): the kinds of sights, and what their unit numbers. */
#define EMU_SIGHTS(X) \
	X(KERNEL, "kernel", "none")               /* what: its name; number: of the launch */ \
	X(GROUP, "work-group", "wavefront")       /* resident; unit: its first wavefront; number: its own */ \
	X(STALL, "stall", "wavefront")            /* from issue to the next issue; what: the instruction */ \
	X(WAIT, "wait", "wavefront")              /* part of a stall: a request put off; what: the cause */ \
	X(BARRIER, "persist barrier", "scope")    /* first arrival to end; what: scope; number: its group */ \
	X(PART, "persist barrier part", "scope")  /* part of a barrier; what: what it waits for */ \
	X(EPOCH, "epoch", "scope")                /* its stores are durable: an instant; number: its own */ \
	X(FLUSH, "flush", "CU")                   /* of a whole L1; what: the statistic that counts it */ \
	X(INVALIDATION, "invalidation", "CU")     /* of a whole L1: an instant; what: likewise */ \
	X(BANK, "bank", "bank")                   /* busy; what: the level */ \
	X(LINK, "link", "link")                   /* busy; what: the message's class */ \
	X(ACCESS, "access", "none")               /* to its results; what: load, store or atomic */ \
	X(OPERATION, "operation", "none")         /* of the structure, by a work-item; number: its kind */ \
	X(READ, "read", "channel")                /* arrival at the controller to data; number: offset */ \
	X(WRITE, "write", "channel")              /* arrival at the controller to completion; likewise */
/* clang-format on */

enum emu_sight_kind {
#define X(id, name, unit) EMU_SIGHT_##id,
	EMU_SIGHTS(X)
#undef X
		EMU_SIGHT_KINDS
};

struct emu_sight {
	enum emu_sight_kind kind;
	uint32_t unit;
	uint64_t from, to;           /* equal for an instant */
	const char *what;            /* lives as long as the process; a kernel's name only during the call */
	const struct nvw_site *site; /* source line; NULL: none */
	uint64_t number;
	uint32_t units; /* work-groups: their wavefronts, from unit on */
};

/*
 * From now on see() is told of every sight; it must not use the machine. NULL: nobody is. Returns 0, or
 * NVW_E_MEMORY with a message.
 */
int emu_watch(struct nvw_machine *machine, void (*see)(void *context, const struct emu_sight *sight),
	void *context);

/* A unit's place in words, for example "CU 3, wavefront 7", "nvram channel 1", "node 4 east": writes at most
 * size bytes. */
void emu_sight_place(
	const struct nvw_machine *machine, enum emu_sight_kind kind, uint32_t unit, char *text, size_t size);

const char *emu_sight_name(enum emu_sight_kind kind);

#endif
