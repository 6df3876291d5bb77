/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A workload: a persistent structure (or any kernel) that nvwave can run, crash, recover and check.
 *
 * Workloads that are in the command are listed in workloads/workloads.def. A workload built outside the tree
 * is a shared object that exports "const struct nvw_workload nvw_workload"; the command line names it by its
 * path, and it can do everything that a shipped one can. docs/tutorial.md writes one from scratch. A shared
 * object with several exports "const struct nvw_workload *const nvw_workloads[]", which NULL ends; in a
 * folder of NVWAVE_WORKLOADS its workloads have names as those in the command. The kernels of the papers are
 * such a library (papers/kernels).
 *
 * The life of one run:
 *
 *	prepare -> pool is created as pool() says -> setup -> run -> [finish] -> check -> dispose
 *
 * The life of a crash test: prepare once, then for each crash state: recover (generic, then the workload's
 * recover) on the durable bytes -> check against the acknowledged operations.
 */
#ifndef NVW_WORKLOAD_H
#define NVW_WORKLOAD_H

#include <stdio.h>

#include <nvw/host.h>
#include <nvw/pool.h>
#include <nvw/readers.h>
#include <nvw/recovery.h>

/* ---- Options -------------------------------------------------------------------------------------- */

enum nvw_option_type {
	NVW_OPTION_COUNT,  /* a number; k, M, G mean powers of 1000; hexadecimal is allowed */
	NVW_OPTION_BYTES,  /* a size with a unit: 64B, 16KiB, 1MiB */
	NVW_OPTION_REAL,   /* a number with a fraction */
	NVW_OPTION_BOOL,   /* on, off, yes, no, true, false, 1, 0 */
	NVW_OPTION_CHOICE, /* one of choices */
	NVW_OPTION_STRING,
};

/* One option --name=VALUE. All strings are static. */
struct nvw_option {
	const char *name;
	enum nvw_option_type type;
	const char *value;          /* the default, in the form a user would type; "" for none */
	const char *const *choices; /* NULL-terminated, for NVW_OPTION_CHOICE */
	const char *help;           /* one line */
};

struct nvw_options; /* the values of a workload's options, checked */

/* The value of an option of the workload. Asking for a name that is not in its table, or for another type, is
 * a programming error. A string option that was not given is "". */
uint64_t nvw_option_u64(const struct nvw_options *options, const char *name); /* COUNT and BYTES */
double nvw_option_real(const struct nvw_options *options, const char *name);
bool nvw_option_bool(const struct nvw_options *options, const char *name);
unsigned nvw_option_choice(const struct nvw_options *options, const char *name); /* index in choices */
const char *nvw_option_string(const struct nvw_options *options, const char *name);
bool nvw_option_given(const struct nvw_options *options, const char *name); /* by the user */
/* Whether the value differs from the default. Only then may an option that has no effect be refused. */
bool nvw_option_changed(const struct nvw_options *options, const char *name);

/*
 * Says in prepare() at which value an option stands, in the form that a user would type. If it was not given
 * and the value is not the default, another option has moved it, and every result names it: no default moves
 * silently.
 */
__attribute__((format(printf, 3, 4))) void nvw_option_stands(
	const struct nvw_options *options, const char *name, const char *format, ...);

/* ---- Acknowledgements and findings ---------------------------------------------------------------- */

/* The operations that had been acknowledged as durable before the crash. */
struct nvw_acks;
bool nvw_acked(const struct nvw_acks *acks, uint64_t op);
uint64_t nvw_acked_count(const struct nvw_acks *acks);

/*
 * Reports that the structure violates an invariant, in its own words; off is the offset in the pool, 0 if
 * there is none. check() may report several; each is recorded up to a limit; with findings NULL none is
 * recorded. Returns NVW_E_INCONSISTENT.
 */
struct nvw_findings;
__attribute__((format(printf, 3, 4))) int nvw_violation(
	struct nvw_findings *findings, nvw_off off, const char *format, ...);

/* ---- Scopes and protocols ----------------------------------------------------------------------------- */

/*
 * A workload's options require this of the coherence protocol. If no protocol is named, the command line
 * chooses one by it; a named protocol that does not satisfy it is refused (docs/protocols.md, "Which programs
 * are right under it").
 */
struct nvw_asked {
	enum nvw_scopes_asked scopes;
	const char *option;   /* the option that requires it, as a user types it: "--scenario=rsp" */
	const char *protocol; /* what it was made for, which it implies; NULL: the machine's */
	const char *fallback; /* implied if the machine's protocol does not satisfy it; NULL: protocol */
};

/* ---- The workload ---------------------------------------------------------------------------------- */

/* A seeded bug: switched on with --mutate=NAME, it must be found by the crash tester. */
struct nvw_mutation {
	const char *name;
	const char *breaks; /* the fault, in one line */
	/* How it is found: "kill", "observed", or the permitted states of "strict", "epoch" or
	 * "buffered-epoch"; "and-then": only by going on after recovery (go_on); "schedules": only in other
	 * orders of the wavefronts than the machine's. */
	const char *found_by;
	const char *options; /* "name=value ..." of a run that shows it; NULL: the workload's trial */
};

/*
 * A seeded bug takes this away: the cure that the report of a crash test must ask for. It is one of these,
 * with alternatives separated by "; "; LOST, EARLY and STORES are functions, with alternatives by "|",
 * EARLY also "ack", "host" or "*", which is anything:
 *
 *	barrier SCOPE LOST EARLY	of at least this scope, between a store of LOST and what must not be
 *					durable before it
 *	exchange LOST EARLY		EARLY comes before LOST, and must follow it
 *	atomic STORES			their stores persist together
 *	none				no order of stores helps: the bug is one of coherence or of the
 *					algorithm
 */
struct nvw_lack {
	const char *mutation; /* its name; NULL ends the table */
	const char *lacks;
};

/*
 * The check in parts. Each part states something about few words, and the parts together state all that
 * check() does: check() finds something exactly if one of them does. Since a part looks at few words, the
 * crash tester can try it with every combination of them, and so account for every permitted state;
 * docs/parts.md says how to find such parts.
 *
 * A part reads through nvw_pool_word(), nvw_pool_at(), nvw_pool_ask(), nvw_heap_is_allocated() and
 * nvw_acked() alone, only what it needs, and nothing that it remembers: a word is certain, or each of its
 * versions is tried. The pool is as nvw_recover() leaves it; recover() has not run, so a part looks through
 * it: what recover() would make of a word, the part computes from the words that recover() reads. The epoch
 * status table cannot be read.
 *
 * Every finding is confirmed with recover() and check() on the whole pool, or is not reported.
 */
struct nvw_parts {
	/* The number of parts. The same for the whole run, whatever the pool holds. */
	uint64_t (*count)(const void *plan, const struct nvw_pool_geometry *geometry);
	/* Checks part number part: returns 0, or nvw_violation(). */
	int (*check)(void *plan, const struct nvw_pool *pool, const struct nvw_acks *acks, uint64_t part,
		struct nvw_findings *findings);
	/* Returns the key by which nvw_pool_holders() finds a word, so that a part need not look through a
	 * whole array for the word that refers to it; 0: nobody looks for it. Optional. */
	uint64_t (*key)(const void *plan, uint64_t word);
	/* Names the part for messages: "slot 17". */
	void (*name)(const void *plan, uint64_t part, char *ret_name, size_t bytes);
};

struct nvw_workload {
	const char *name; /* also the layout name of its pools */
	const char *summary;

	const struct nvw_option *options;     /* ends with a row whose name is NULL; may be NULL */
	const struct nvw_mutation *mutations; /* likewise */
	const struct nvw_lack
		*lacks; /* of mutations that lack an order of stores; ends likewise; may be NULL */
	/* "name=value ..." of small runs, separated by ";", that together exercise every operation that a
	 * crash could break; run by nvwave crash --self-test. NULL: the defaults. */
	const char *trial;

	/* Returns what these options require of the protocol. Optional: nothing. */
	struct nvw_asked (*asks)(const struct nvw_options *options);

	/*
	 * Turns options, seed and mutation into a plan of the run, on the host only, the same on every call.
	 * mutation is an index into mutations, or -1. The plan is the first argument of the hooks below and
	 * is freed by dispose(). Tools that have no plan pass NULL to check().
	 */
	int (*prepare)(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan);
	void (*dispose)(void *plan);

	/* Why a crash test of the plan would say nothing: its options are a measurement that gives up
	 * recovery. NULL: it says something. Optional. */
	const char *(*unfit)(const void *plan);

	/* The pool that the plan needs. NULL for a workload without NVRAM. */
	int (*pool)(const void *plan, struct nvw_pool_params *ret_params);

	/*
	 * Further pools of the run; pool() describes the first. Describes them in ret_params and returns
	 * their number, at most NVW_POOLS_MAX - 1. Each names the device that holds it
	 * (nvw_pool_params.device); a device holds one pool. recover(), check() and inspect() get the first
	 * pool and reach the others by nvw_pool_number(). Optional: none.
	 */
	unsigned (*further_pools)(const void *plan, struct nvw_pool_params *ret_params);

	/* Builds the structure in a new pool and preloads it. Optional. */
	int (*setup)(void *plan, struct nvw_machine *machine);

	/* The measured part: launches kernels and acknowledges operations. NVW_E_INCONSISTENT with a message:
	 * the result is wrong. */
	int (*run)(void *plan, struct nvw_machine *machine);

	/*
	 * Compares the content of device memory after an uninterrupted run with a result that the host
	 * computes sequentially. Called after run() by nvwave run, also for workloads without NVRAM. Returns
	 * 0, or NVW_E_INCONSISTENT after at least one nvw_violation() (off 0). Optional.
	 */
	int (*verify)(void *plan, struct nvw_machine *machine, struct nvw_findings *findings);

	/*
	 * The structure's own recovery, after the generic one (nvw/recovery.h). It sees only durable bytes
	 * and writes with nvw_pool_write(). It must be idempotent and may be interrupted at any write.
	 * Optional.
	 */
	int (*recover)(struct nvw_pool *pool, struct nvw_recovery *report);

	/*
	 * Checks a recovered pool: every invariant of the structure holds, acknowledged operations are
	 * present, others are complete or absent, and nothing leaks. Reads only, and only through
	 * nvw_pool_at() or nvw_pool_word(): the crash tester prunes by the words that they return. Returns 0,
	 * or NVW_E_INCONSISTENT after at least one nvw_violation(). acks and plan are NULL when a tool checks
	 * a pool whose plan is unknown: then only the structure's invariants are checked.
	 */
	int (*check)(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks,
		struct nvw_findings *findings);

	/* The same as check() in parts. Optional: check() runs on whole states. */
	const struct nvw_parts *parts;

	/* Adds "name value" lines about the structure (nvw_describe) for nvwave inspect. Optional. */
	int (*inspect)(struct nvw_pool *pool, struct nvw_description *description);

	/* Adds the workload's own figures to the statistics of a run, after run(). Optional. */
	int (*report)(void *plan, struct nvw_machine *machine, struct nvw_description *description);

	/* Look-ups and scans by host threads during run() (nvw/readers.h). Optional. */
	const struct nvw_serving *serving;

	/* Names of the operations that kernels begin and end (nvw_operation_end()), in letters, digits and
	 * "_"; NULL ends them. Optional: nvwave bench has no latencies of operations. */
	const char *const *operations;

	/*
	 * Returns what a word of a recovered pool is, if the structure keeps nothing that could contradict
	 * `found` in its place: "a value". NULL: check() has to notice it. off is in the range of the run's
	 * pools (nvw/pool.h). Optional: nvwave damage then takes check() to have to notice every damage of a
	 * word that it reads.
	 */
	const char *(*unguarded)(struct nvw_pool *pool, nvw_off off, uint64_t found);

	/*
	 * Goes on after a crash: carries out operations of the plan that are not acknowledged, the earliest
	 * first, at most `operations` of them, and acknowledges them. The pool has been recovered and
	 * checked; the machine is new: what the run had in DRAM has to be found again in the pool. An
	 * operation that the crash cut short may have taken effect, and is carried out again. A second crash
	 * (--crash-again) ends a launch with NVW_E_STOPPED, which is returned. Optional: nvwave crash then
	 * does not go on.
	 */
	int (*go_on)(
		void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations);
};

#endif
