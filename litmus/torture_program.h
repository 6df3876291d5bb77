/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs without data races.
 *
 * A program is one sequence of steps, each of one work-item (or of a whole group that meets); a work-item
 * executes its own steps in order. A step only waits for earlier steps of the sequence, so no program
 * deadlocks. The data variables are dealt to sets anew in each phase (phases end with a kernel-wide barrier
 * or with the kernel), and the style of a set prevents races:
 *
 *	LOCK       a step holds the set's lock, of work-group scope if the set belongs to a work-group, else
 *	           of agent scope
 *	STEAL      the lock is taken with work-group scope by its owner's work-items and with remote scope by
 *	           all others (alsop16 II.D)
 *	TURN       the steps of the set follow each other: release to acquire, of work-group scope within a
 *	work-group, so that
 *	           the stores become visible to others through a chain of scopes (HRF-indirect)
 *	TICKET     fetch-and-add gives each step a variable of its own
 *	PHASED     a variable belongs to one work-item, or to readers, until the group's barrier or the end of
 *	           the phase
 *	READ_ONLY  not stored to; the host wrote it between kernels
 *
 * So every load has exactly one correct value, and the order of the steps that take locks does not matter.
 */
#ifndef LITMUS_TORTURE_PROGRAM_H
#define LITMUS_TORTURE_PROGRAM_H

#include "torture.h"
#include <emu.h>

enum {
	TORTURE_GROUPS_MAX = 8,
	TORTURE_GROUP_SIZE_MAX = 6,
	TORTURE_SLOTS = 4, /* concurrent sets; each has synchronization variables of its own */
	TORTURE_LINES_MAX = 14,
	TORTURE_DATA_MAX = 40,
	TORTURE_VARIABLES_MAX = TORTURE_DATA_MAX + TORTURE_SLOTS * (3 + TORTURE_GROUPS_MAX),
	TORTURE_PHASES_MAX = 6,
	TORTURE_STEPS_MAX = 400,
	TORTURE_OPS_MAX = 4 * TORTURE_STEPS_MAX,
	TORTURE_NONE = -1
};

#define TORTURE_STYLES(X) \
	X(LOCK, "lock")   \
	X(STEAL, "steal") X(TURN, "turn") X(TICKET, "ticket") X(PHASED, "phased") X(READ_ONLY, "read-only")

#define X(name, text) TORTURE_##name,
enum torture_style { TORTURE_STYLES(X) TORTURE_STYLE_COUNT };
#undef X

struct torture_variable {
	uint8_t line, offset, size;
};

struct torture_line {
	bool is_nvram;
	uint32_t number; /* within the range of its memory */
};

struct torture_set {
	enum torture_style style;
	unsigned slot;
	int group; /* its owner; TORTURE_NONE: all */
	unsigned count;
	uint8_t variables[TORTURE_DATA_MAX];
	uint32_t tickets_before; /* value of its ticket variable when the phase begins */
};

struct torture_op {
	uint8_t kind; /* enum nvw__kind: loads, stores, atomics, NVW__P_BARRIER (of the work-item) */
	uint8_t variable, order, scope;
	bool is_issued; /* a load: used at the end of its step, or behind its release */
	uint64_t value;
};

enum torture_step_kind {
	TORTURE_ACCESS, /* a work-item works on a set */
	TORTURE_MEET,   /* a barrier or persist barrier of a group or (TORTURE_NONE) of the kernel */
	TORTURE_HOST,   /* between kernels: the host stores */
	TORTURE_LAUNCH  /* a new kernel begins */
};

/* One end of a synchronization: instruction (see torture_run.c), order and scope. */
struct torture_sync {
	int16_t variable; /* TORTURE_NONE: none */
	uint16_t tag;
	uint8_t how, order, scope;
};

struct torture_step {
	enum torture_step_kind kind;
	bool removed; /* by shrinking */
	bool persist; /* MEET */
	int group;    /* MEET */
	int set;      /* ACCESS: in program.sets */
	unsigned work_item;
	unsigned first_op, op_count;
	struct torture_sync acquire, release;
};

/* The promises of a protocol, which determine the programs that are race-free under it. */
struct torture_promises {
	bool scopes; /* work-group scope synchronizes only a work-group */
	bool remote; /* remote scopes synchronize with work-group scope */
};

struct torture_program {
	uint64_t seed;
	struct torture_promises promises;
	struct emu_config config;
	char machine[1024];          /* the drawn machine, as settings */
	const char *const *settings; /* that replace drawn ones; the caller's, may be NULL */
	unsigned schedule;           /* 0: by time, 1: any wavefront next, 2: preferably the same again */
	bool crowded;                /* not all work-groups are resident */
	unsigned groups, group_size;
	unsigned line_count, variable_count, data_count, set_count, step_count, op_count;
	struct torture_line lines[TORTURE_LINES_MAX];
	struct torture_variable variables[TORTURE_VARIABLES_MAX]; /* data first */
	uint8_t lock[TORTURE_SLOTS], turn[TORTURE_SLOTS], ticket[TORTURE_SLOTS];
	uint8_t local_turn[TORTURE_SLOTS][TORTURE_GROUPS_MAX];
	struct torture_set sets[TORTURE_PHASES_MAX * TORTURE_SLOTS];
	struct torture_step steps[TORTURE_STEPS_MAX];
	struct torture_op ops[TORTURE_OPS_MAX];
};

static inline unsigned torture_group_of(const struct torture_program *p, unsigned work_item)
{
	return work_item / p->group_size;
}

/* The promises of the protocol's paper. */
struct torture_promises torture_promises_of(const char *protocol);

/*
 * The program of a seed, on a machine drawn from that seed, with protocol and settings ("section.key=value",
 * NULL ends the list) applied. NVW_E_CONFIG or NVW_E_USAGE for the settings.
 */
NVW_CHECKED int torture_generate(
	struct torture_program *program, const char *protocol, uint64_t seed, const char *const *settings);

/* Links waiting steps and tickets among the steps that are not removed; call it again after removing
 * steps. */
void torture_link(struct torture_program *program);

/* Steps, operations and variables name what the program has; variables are aligned in their lines. */
bool torture_program_is_valid(const struct torture_program *program);

/* Prints the steps that are not removed, one per line. */
void torture_print(const struct torture_program *program, FILE *to);

/*
 * Runs the program on a machine of its own with the pool as its NVRAM. Returns 0 if every load, and memory at
 * the end of every kernel, was correct; 1 with a description in text if not; or an error of the set-up.
 * *ret_work is what the machine did. fault is the action to leave out, NULL for none.
 */
NVW_CHECKED int torture_run_program(const struct torture_program *program, struct nvw_pool *pool,
	const char *fault, char *text, size_t text_bytes, struct torture_work *ret_work);

/* Text for messages: "d3" for data, "lock1" ... for synchronization variables. */
const char *torture_variable_name(const struct torture_program *program, unsigned variable, char buffer[24]);

#endif
