/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Crash testing: does a persistent structure survive a power cut at any instant?
 *
 * A *crash state* is a possible result of a power cut: the bytes of the pool, and the set of acknowledged
 * operations. At an instant of a run, every write that the NVRAM has completed and every write of the host is
 * in the pool; of the writes in flight (issued, not completed) each failure-atomic *unit* (8-byte word, or
 * 64-byte line on a machine that has such NVRAM) is durable or not, independently; two writes in flight to
 * one unit stay in order: the later implies the earlier, or replaces it. The content of caches is lost.
 *
 * A state is *consistent* if recovery (nvw_recover(), then the workload's own) succeeds on it and the
 * workload's check finds that every invariant holds, every acknowledged operation is present and every other
 * one is complete or absent.
 *
 * kill      a child process emulates and dies by SIGKILL at a seeded virtual instant; another process
 *           recovers and checks the file, as on a user's machine.
 * observed  the run is logged once (nvw/persist_log.h); one pass over the log visits its instants and
 *           tests the states that they could have left.
 * permitted the same pass, but the states are those that a persistency model (model.h) lets the logged stores
 *           leave, whatever the timing of this machine. Stores to the same bytes persist in coherence order;
 *           units of the NVRAM order nothing.
 *
 * Guarantees
 *   (1) Sound: every reported state could result from this run under the rules above, or in permitted mode
 *       violates none of the model's axioms.
 *   (2) Complete when small: an instant with no more states than its share of the budget is tested
 *       exhaustively; the result gives the number of such instants and of possible states.
 *   (3) Unbiased in time: the budget is divided evenly among the instants that need it. Within an instant,
 *       half of the sampled states are uniform over all; the other half have varying density, from almost
 *       nothing durable to almost everything. (Buffered epoch persistency: see states.h.)
 *   (4) Instants that cannot add a state are skipped: since acknowledgements only add obligations, only the
 *       last instant between two completions is tested.
 *   (5) Equal states (bytes and acknowledgements, by a 64-bit hash) are tested once and counted.
 *   (6) A recovery or check that is killed by a signal, hangs or writes to forbidden memory is a finding;
 *       later states are still tested, on an image that it cannot have changed. SIGKILL never comes from the
 *       code under test: an interrupted state is retried, and has no verdict if that recurs.
 *   (7) Deterministic: the same inputs and seed test the same states and give the same findings, whatever the
 *       number of jobs.
 *   (8) A state represents others of its instant only if recovery and check read none of the bytes in which
 *       they differ (reads.h); such instants may cost up to twice their share.
 */
#ifndef CRASHTEST_CRASH_H
#define CRASHTEST_CRASH_H

#include <nvw/persist_log.h>
#include <nvw/workload.h>

#include "core/each.h"

#include "coverage.h"
#include "schedules.h"
#include "states/model.h"
#include "source/layout.h"
#include "explain/proposal.h"

/* What %llu prints. */
typedef unsigned long long ull;

enum ct_mode { CT_KILL, CT_OBSERVED, CT_PERMITTED };
/* Its name in --mode, reports and JSON. */
const char *ct_mode_name(enum ct_mode mode);

enum {
	CT_TEXT_BYTES = 240,
	CT_STACK_BYTES = 3072,
	CT_PLACES_MAX = 8,
	CT_UNITS_MAX = 24,
	CT_MOMENTS_MAX = 72,
	CT_FINDINGS_MAX = 32,
	CT_UNLOGGED_MAX = 32,
	CT_ALSO_MAX = 4,
	CT_GROUP_MAX = 6,
};

/* Called from time to time in the caller's process, and at the end. */
struct ct_progress {
	/* "emulating", "planning", "exploring", with parts of a check "exploring instants", "killing",
	 * "explaining" */
	const char *what;
	uint64_t done, total; /* total 0: unknown */
	double seconds;       /* since the beginning of this step */
};

struct ct_known; /* explore/known.h */

struct ct_options {
	enum ct_mode mode;
	enum ct_model
		model; /* for permitted mode; CT_MODEL_OBSERVED, which is 0: none is named (enum ct_use) */
	unsigned atomicity; /* bytes that persist together: 8 or 64; 0: those of the machine's NVRAM */
	uint64_t states;    /* budget: states (observed) or trials (kill); 0 chooses 20000 or 100 */
	uint64_t seed;
	unsigned jobs; /* number of processes; 0 means 1 */
	/* Treats work-items whose stores in flight come from the same source lines as equivalent: only one
	 * of the states is tested that differ only in which of them lost which store. Their data differ, so
	 * skipped states do not count as covered. */
	bool symmetric;
	unsigned shard, shards; /* tests part shard (from 1) of shards; 0: all */
	/* file to continue from if it exists, and to write when stopped; NULL: none */
	const char *resume;
	/* Folder in which several processes share one exploration, NULL: none. slice I: this one does what
	 * job I of jobs would do, writes it there, and explains nothing; 0: it takes all slices from there
	 * instead of starting jobs. */
	const char *slices;
	unsigned slice;
	/* directory (created if needed) for saved findings, one file each, replayed by nvwave replay; NULL:
	 * none */
	const char *save;
	/* folder for the tested states as files (explore/export.h); implies whole; NULL: none */
	const char *exports;
	/* a state that passes is worked on by so many operations, and judged again (judge/go_on.h); implies
	 * whole, and that no state represents others; not in kill mode; 0: none */
	uint64_t go_on;
	/* only if nothing fails without that, in a second test of at most so many states, which has the
	 * result if something fails then; not of a slice or a shard; 0: all states go on */
	uint64_t go_on_states;
	bool crash_again; /* on the way, once more (judge/go_on.h) */
	/* the judge is robustness (explore/robust.h), whatever the check says; in permitted mode alone;
	 * implies whole and unexplained */
	bool robust;
	bool nested;        /* recovery is also crashed before each of its own writes; not in kill mode */
	bool whole;         /* tests whole states alone, though the check has parts (parts.h) */
	bool parts_alone;   /* for tests: a whole state is tested only where a part of the check fails */
	bool unexplained;   /* findings keep their first text: faster */
	bool keeps_failing; /* the result has its failing states; not with resume and slices */
	/* Each job ends when it has met so many kinds of failures; the earliest of them are the earliest of
	 * all. 0: none. */
	unsigned stop_after;
	/* Each job ends at the first state that fails in these words, but for numbers; NULL: none. Not with
	 * resume. */
	const char *stop_at;
	/* An instant is left when so many states in a row failed there, none in a new way. 0: never. */
	unsigned settle_after;
	const struct ct_edit *assumed; /* what the log is taken to have as well; the caller's */
	unsigned assumed_count;
	bool trusts; /* of programs: what transactions restore is not uncertain (states/trust.h) */
	/* States that other logs left, which are not tested again; those of this one are added
	 * (explore/known.h). Programs alone have them; NULL: none. */
	struct ct_known *known;
	/* budget of the search for cures; 0: as many as were tested, at least options.states */
	uint64_t cure_states;
	/* proposals are applied and explored, and what hides behind a cured cause is looked for */
	bool cures;
	/* Orders of wavefronts (schedules.h), the one by time among them; 0: that one, and nothing is said of
	 * orders. */
	uint64_t schedules;
	unsigned schedule_depth; /* of PCT */
	bool every_order; /* the schedules are the orders of conflicting accesses (explore/every_order.h) */
	unsigned timeout_ms; /* CPU time for recovery and check of one state; 0 chooses 10 s */
	void (*progress)(void *context, const struct ct_progress *progress); /* may be NULL */
	void *context;
};

/* Calls options->progress, if there is one. */
static inline void ct_tell(
	const struct ct_options *options, const char *what, uint64_t done, uint64_t total, double seconds)
{
	if (options->progress) {
		options->progress(options->context, &(struct ct_progress){what, done, total, seconds});
	}
}

/* The fate of a store; ELSEWHERE: in a state that fails of the same cause, whose words the cause has. */
#define CT_FATES(X)                  \
	X(DURABLE, "durable")        \
	X(LOST, "lost in flight")    \
	X(CACHED, "lost in a cache") \
	X(ELSEWHERE, "lost in another state")
#define X(name, text) CT_FATE_##name,
enum ct_fate { CT_FATES(X) CT_FATE_COUNT };
#undef X
const char *ct_fate_name(enum ct_fate fate);

/* A store of the run that explains a finding. */
struct ct_place {
	char file[128], function[64], kernel[64];
	uint32_t line;
	uint64_t work_item, group;
	uint32_t epoch_wi, epoch_wg, epoch_kr;
	nvw_off off;
	uint32_t bytes;
	uint64_t value;
	bool is_size; /* of a file: value has it in its low 48 bits */
	bool is_name; /* of a file; value 0: no file has it any more */
	/* of several files, the one that off is in, or whose size or name it is; "": there is one */
	char of[96];
	struct nvw__field field; /* what it stores to; without a name: not known */
	enum ct_fate fate;
};

/* A word that is relevant to a finding. */
struct ct_unit {
	nvw_off off;
	uint64_t now, newest; /* content after the crash; content if nothing is lost */
	bool lost;            /* false: durable too early */
};

/* Why a lost store and a dependent one were not ordered. */
#define CT_CAUSES(X)                                    \
	X(NONE, "unknown")                              \
	X(MISSING, "no barrier")                        \
	X(NARROW, "barrier of too narrow a scope")      \
	X(APART, "barrier that the other did not meet") \
	X(REVERSED, "stored in the wrong order")        \
	X(ATOMIC, "stores that must be atomic")         \
	X(LOGIC, "wrong without a crash")               \
	X(CONTENT, "wrong whatever was lost")
#define X(name, text) CT_CAUSE_##name,
enum ct_cause_kind { CT_CAUSES(X) };
#undef X
const char *ct_cause_name(enum ct_cause_kind kind);

struct ct_cause {
	enum ct_cause_kind kind;
	char text[4 * CT_TEXT_BYTES]; /* in words: the situation, and how to order the two */
	/* no test of another state has shown it: the closest stores of the two sides, and the text says so */
	bool guessed;
	char file[128], function[64]; /* the barrier, or "" */
	uint32_t line;
	char scope[16], needed[16]; /* scope of the barrier; scope needed to order them */
	/* "file:line" of both, or "acknowledgement", "host"; and their functions */
	char lost[160], early[160];
	char lost_function[64], early_function[64];
	/* Their stacks, as in ct_finding.stack; "": unknown. Where a line alone does not say enough, the
	 * callers give the line of the call: "file:line"; else "". */
	char lost_stack[CT_STACK_BYTES], early_stack[CT_STACK_BYTES];
	char lost_caller[160], early_caller[160];
	/* The stores that must be atomic; group_more counts those that are left out. */
	unsigned group_count, group_more;
	struct ct_line group[CT_GROUP_MAX];
	/* Numbers of their log records and of the barrier's, from 1; 0: none. */
	uint64_t lost_record, early_record, barrier_record;
};

/* The role of a moment in the cause. */
enum ct_role { CT_ROLE_NONE, CT_ROLE_LOST, CT_ROLE_EARLY, CT_ROLE_BARRIER };

/* An action of the work-items behind a finding before the crash. */
struct ct_moment {
	enum ct_role role;
	uint64_t left_out; /* omitted moments between this one and the one listed before it */
	enum ct_moment_kind {
		CT_MOMENT_STORE,
		CT_MOMENT_BARRIER,
		CT_MOMENT_ACK,
		CT_MOMENT_FLUSH,
		CT_MOMENT_FENCE
	} kind;
	/* end_ps: the end of a barrier; INT64_MAX if the crash was first. Times in the set-up are below 0. */
	int64_t time_ps, end_ps;
	uint64_t work_item, group;
	enum nvw_group scope;
	nvw_off off;
	uint32_t bytes;
	uint64_t value;   /* stored value; acknowledged operation */
	bool durable;     /* store: its value survives the crash */
	bool overwritten; /* store: a later store to its bytes is durable instead */
	char file[128];   /* source file, "" if unknown */
	uint32_t line;
};

/* What a test says. If nothing failed in a sample, it says that and no more. A store that its transaction
 * cannot take back is said if no state failed. The last two are of options.robust. */
#define CT_VERDICTS(X)                                  \
	X(UNDECIDED, "undecided", "UNDECIDED")          \
	X(CONSISTENT, "consistent", "CONSISTENT")       \
	X(UNREFUTED, "not-refuted", "NO FAILURE FOUND") \
	X(INCONSISTENT, "inconsistent", "INCONSISTENT") \
	X(UNLOGGED, "unlogged", "UNLOGGED STORE")       \
	X(ROBUST, "robust", "ROBUST")                   \
	X(NOT_ROBUST, "not-robust", "NOT ROBUST")
#define X(name, id, words) CT_VERDICT_##name,
enum ct_verdict { CT_VERDICTS(X) };
#undef X
/* The name of a verdict in JSON; its words in a text or page. */
const char *ct_verdict_name(enum ct_verdict verdict);
const char *ct_verdict_words(enum ct_verdict verdict);
/* The verdict of that name in JSON; false if there is none. */
bool ct_verdict_named(const char *name, enum ct_verdict *ret_verdict);
/* True if nothing was found: consistent, unrefuted or robust. */
bool ct_verdict_passes(enum ct_verdict verdict);

/* Whose undo log: of libpmemobj's transactions, of the epochs of kernels (nvw/epoch.h), or of transactions
 * that a program annotates (VALGRIND_PMC_START_TX). */
enum ct_log_kind { CT_LOG_TRANSACTION, CT_LOG_EPOCH, CT_LOG_ANNOTATED, CT_LOG_KINDS };

/*
 * A place that stores, within a transaction or an epoch, to what was neither added to its undo log nor
 * allocated by it. It breaks a rule of the log, whether a tested state fails or not: an abort or a recovery
 * does not take the store back. The store is that of a program built by nvwave-cc, or of a kernel.
 */
struct ct_unlogged {
	enum ct_log_kind log;
	char file[256], function[64]; /* of the store */
	char begun_file[256],
		begun_function[64]; /* of the beginning of the outermost transaction, or the epoch */
	uint32_t line, begun_line;  /* 0: unknown */
	uint32_t bytes;             /* of the first such store */
	uint64_t off, times;        /* its offset in the file; stores */
	struct nvw__field field;    /* without a name: not known, or another for each store */
	/* With the range added before it: a run of the program, and why there was none, or what refutes
	 * it. */
	enum ct_cure_outcome run;
	char run_text[CT_CURE_TEXT];
	uint64_t states; /* tested of that run */
};

struct ct_unlogged_list {
	unsigned count;
	uint64_t more; /* stores of places that had no room */
	struct ct_unlogged at[CT_UNLOGGED_MAX];
};

/* Adds a place, or its stores to those of the same lines: a statement may store by several instructions. */
void ct_unlogged_add(struct ct_unlogged_list *list, const struct ct_unlogged *one);
struct emu_undo_report;
/* Those that a machine has found; NULL: it did not look. */
void ct_unlogged_of_run(const struct emu_undo_report *report, struct ct_unlogged_list *ret_list);

/* States that fail in the same way: their texts differ only in numbers. */
struct ct_finding {
	char text[CT_TEXT_BYTES]; /* text of the first one */
	nvw_off off;              /* 0: no place in the pool */
	uint64_t states;          /* number of states: */
	bool by_cure; /* those that cure or assumption alone takes away; else those that fail in its words */
	uint64_t first_time_ps; /* from the end of the set-up, as all times of a result */
	uint64_t schedule;      /* number of the first one's schedule */
	uint64_t instant, draw; /* first state: its place in the exploration, or (0, trial) */
	int signal;             /* signal that killed recovery or check; 0: none */
	bool hung;
	char where[CT_TEXT_BYTES]; /* place of a signal or hang: "file:line (function)", "" if unknown */
	/* The stack there: a line of text like where for each frame, innermost first; "" if unknown. A
	 * command has one also for a death whose place is not known otherwise. */
	char stack[CT_STACK_BYTES];
	/* The smallest case found: units in flight, and how many of them were lost. */
	uint64_t units, units_lost;
	bool minimised;
	/* Another cause of states that fail in the same words as those of an earlier finding: states has all
	 * of them. */
	bool sample;
	bool bounded;   /* the explanation ended at its bound of tested states */
	uint64_t tests; /* states that the explanation tested */
	/* operation number plus 1 of the acknowledgement without which nothing would be wrong */
	uint64_t acknowledged;
	/* A program's operation by name (nvw/ack.h), "17 (delete 42)", and those in flight; "": none. */
	char operation[128], in_flight[CT_TEXT_BYTES];
	struct ct_cause cause;
	/* One of result.unlogged.at, from 1, that its stores or its cure name: no flush mends it; 0: none. */
	unsigned unlogged;
	struct ct_proposals proposals; /* what may cure it */
	struct ct_cure cure;
	/* Other texts with the same root cause, their number, and the number of failing states of each. */
	unsigned also_count, also_more;
	struct ct_also {
		char text[CT_TEXT_BYTES];
		uint64_t states;
	} also[CT_ALSO_MAX];
	unsigned unit_count;
	struct ct_unit unit[CT_UNITS_MAX];
	unsigned moment_count;
	struct ct_moment
		moment[CT_MOMENTS_MAX]; /* the cause's moments and the last before the crash; oldest first */
	char saved[256];                /* path of its file; "": not saved */
	/* The schedule of the program's threads that it was found under; 0: none. */
	uint64_t thread_schedule;
	uint32_t switches,
		shorten_runs; /* runs, and states of theirs, that were tried to have fewer switches */
	uint64_t shorten_states;
	char policy[24];
	char input[256]; /* the program's, of a corpus; "": none */
	unsigned place_count;
	struct ct_place place[CT_PLACES_MAX];
};

/* A failing state, by a hash of its bytes and acknowledgements, and a hash of a text that it fails with,
 * numbers aside. */
struct ct_failed {
	uint64_t state, shape;
};

/* In order (failing.h). */
struct ct_failed_set {
	uint64_t count;
	bool some; /* there were too many: some are not here */
	struct ct_failed *at;
};

/* The time between two instants: their possible durable states differ by the stores and completions in it. */
struct ct_interval {
	uint64_t time_ps;     /* time of the instant that ends it */
	double possible_log2; /* states that no earlier instant had; an upper bound unless exact */
	uint32_t distinct, equal, unread, undecided;
	bool exact, exhausted; /* exhausted: all of them are accounted for */
	bool by_parts;         /* by the parts of the check (nvw_parts) */
};

/* What a check in parts (nvw_parts) counted. How often parts were evaluated depends on the number of jobs,
 * since each begins with all of them. */
struct ct_by_parts {
	uint64_t parts, evaluations; /* 0: there are none */
	uint32_t most_forks;         /* uncertain words that one evaluation met, at most */
	char widest[CT_TEXT_BYTES];  /* the part that met them */
	uint64_t wide;       /* parts that could not be tried with all combinations, each instant counted */
	uint32_t wide_forks; /* uncertain words of the first of them */
	char first_wide[CT_TEXT_BYTES];
	/* Those of states_distinct that were tested only to confirm a part that fails, besides the budget. */
	uint64_t confirmations;
	uint64_t denied; /* parts that fail in a state that the whole check passes */
	char first_denied[CT_TEXT_BYTES];
	uint64_t missed;  /* instants with a state that fails though all parts pass */
	uint64_t crowded; /* instants with more stores in flight than their order can be kept of */
	uint64_t crowd;   /* stores in flight at the first of them */
	uint64_t died;    /* parts that killed their process, after which it went on without parts */
};

/* The most that recovery did in one tested state, each for itself: nvw_recover(), then the structure's own,
 * whose reads are not counted. */
struct ct_recoveries {
	uint64_t epochs_open;    /* epochs that the crash left open, which were rolled back */
	uint64_t entries_read;   /* undo log entries looked at */
	uint64_t words_restored; /* from the undo log */
	uint64_t words_written;  /* 8-byte words, of all kinds */
	uint64_t worked_on;      /* states that went on with options.go_on, a sum */
};

/* What has become of an input of a corpus. */
#define CT_INPUT_FATES(X)                                     \
	X(TESTED, "tested", "tested")                         \
	X(NOTHING_NEW, "nothing-new", "reached nothing new")  \
	X(SAME_LOG, "same-log", "left a log that was tested") \
	X(REFUSED, "refused", "could not be tested")          \
	X(TIMED_OUT, "timed-out", "did not end in time")      \
	X(NOT_RUN, "not-run", "not run")
#define X(name, id, words) CT_INPUT_##name,
enum ct_input_fate { CT_INPUT_FATES(X) CT_INPUT_FATE_COUNT };
#undef X
const char *ct_input_fate_name(enum ct_input_fate fate);
const char *ct_input_fate_words(enum ct_input_fate fate);

struct ct_input {
	char name[256];
	enum ct_input_fate fate;
	int status;               /* as from waitpid() */
	char text[CT_TEXT_BYTES]; /* why it was refused, or "" */
};

/* A persistency race of a program's threads, as schedules have shown it: the power was cut after a thread had
 * read a store that was not durable, and something else had become durable since, and that store was lost. */
#define CT_RACE_FATES(X)                               \
	X(LOST, "lost", "lost")                        \
	X(SHARED, "shared", "lost with one behind it") \
	X(OPEN, "open", "open")                        \
	X(TRIED, "tried", "tried without a loss")      \
	X(ABSENT, "not met", "not met")
#define X(name, id, words) CT_RACE_##name,
enum ct_race_fate { CT_RACE_FATES(X) CT_RACE_FATE_COUNT };
#undef X
const char *ct_race_fate_name(enum ct_race_fate fate);
const char *ct_race_fate_words(enum ct_race_fate fate);

struct ct_race {
	char store[256], load[256]; /* places, with those that they are inlined at; load "": its flush is
				     * late or missing, and it is lost alone */
	enum ct_race_fate fate, fate_of_store; /* of the store: the first that one of its races has */
	bool predicted;                        /* of first rank, in some schedule */
	bool flushed;      /* its thread flushes the store in some schedule, if late; else no load is tried */
	uint64_t schedule; /* in which it happened, and lost something if any did; 0: it never did */
	uint64_t cuts;     /* that were tried */
	unsigned held;     /* how often a thread was held behind the store until others could not go on */
	char text[CT_TEXT_BYTES]; /* what was lost, or why it is open; or "" */
};

struct ct_races {
	struct ct_race *race; /* NULL: none were looked for, or there is none; lost ones come first */
	unsigned count;
	bool looked, no_load; /* no load was seen: the program announces none */
};

struct ct_corpus {
	struct ct_input *input; /* NULL: there is none */
	unsigned count, made;   /* made: by a fuzzer before */
};

struct ct_result {
	/* of the whole run (not only of the shard); freed by ct_result_free() */
	struct ct_interval *interval;
	uint64_t interval_count;
	struct ct_failed_set failing; /* with options.keeps_failing; likewise */
	enum ct_mode mode;
	enum ct_model model; /* except in kill mode */
	bool consistent;
	uint64_t states_tested;   /* covered by a test: distinct and equal states */
	uint64_t states_distinct; /* states on which recovery and check ran */
	uint64_t states_equal;
	uint64_t states_met; /* of these: in another log, with options.known */
	/* differ from a passing state only in words that recovery and check do not read */
	uint64_t states_unread;
	uint64_t states_symmetric;  /* treated as equivalent to a tested state, by options.symmetric */
	uint64_t instants_by_reads; /* of instants_exhausted: exhausted by read-based pruning */
	uint64_t states_failing;
	uint64_t instants, instants_exhausted;
	uint64_t instants_by_parts; /* of instants_exhausted: all states pass, by the parts of the check */
	struct ct_by_parts by_parts;
	double states_possible;      /* sum over instants, without states of earlier instants */
	double states_possible_log2; /* as a power of two; states_possible may be infinite */
	bool states_possible_exact;  /* false: an upper bound */
	bool states_known;           /* an exhausted instant has no others than those that were listed */
	unsigned
		atomicity; /* bytes that persist together, for a host program as its log tells; 0: no tests */
	/* Stores of a host program were found by comparing lines: those to one line between two events have
	 * no order among them, and are taken together, so states are missing. */
	bool grouped;
	bool trusts;               /* transactions, as the options say (states/trust.h) */
	struct ct_trusted trusted; /* of them */
	bool interrupted;          /* stopped (core/stop.h): the budget was not used up */
	uint64_t states_planned;   /* states that the budget allows */
	uint64_t states_asked;     /* the budget: options.states, or what stands for 0 */
	unsigned shard, shards;
	bool gave_up;       /* too many workers died: the budget was not used up */
	bool robust;        /* the judge was robustness (options.robust) */
	uint64_t go_on;     /* options.go_on */
	bool crashes_again; /* options.crash_again */
	bool has_recoveries;
	struct ct_recoveries recoveries; /* not of kill mode, nor of a store log */
	/* With cures: the model under which they were explored, and the failing states that remain with all
	 * of them. */
	bool proved; /* cures were looked for */
	enum ct_model proved_under;
	uint64_t states_uncured; /* states that fail with every cure applied */
	/* states that fail with every cure and assumption, and not in the words of a finding without */
	uint64_t states_in_none;
	/* of a test of all states: states that pass with all of them, and with none alone */
	uint64_t states_of_several;
	uint64_t cure_states, cure_states_most; /* states that the search for cures tested; its budget */
	bool cure_search_ended;                 /* by its budget: findings have what is left */
	/* no cure was tried: none of the states that were tested for it fails without one */
	bool cures_unshown;
	const struct ct_edit *assumed; /* what the log was taken to have; the caller of the test has it */
	unsigned assumed_count;
	uint32_t assumed_idle;         /* bit i: assumption i excludes no state of any instant */
	uint64_t states_settled;       /* not tested, by options.settle_after */
	uint64_t states_undecided;     /* without a verdict: killed from outside, or the checker gave none */
	char undecided[CT_TEXT_BYTES]; /* the reason of the first one */
	/* the signal that has ended the program, so that the rest of it is not tested; 0: none */
	int ended_by;
	/* The final image of the program fails without any crash (finding[0] tells how) or gets no verdict:
	 * nothing else was tested. */
	uint64_t kernels; /* of a program on a machine, in one log with its host code (mixed.h) */
	bool without_crash;
	/* For a recorded program: number of threads that may have stored, in this interleaving. 0:
	 * unknown. */
	uint64_t threads;
	/* The same of several schedules of these threads: run, with different logs, and those in which no
	 * thread could go on at last, with the words on the first one. */
	struct {
		uint64_t run, different, stuck;
		uint64_t only; /* this one alone is tested, and the first is run; 0, 1: no such one */
		bool outside;  /* they depend on what another process has sent */
		char first_stuck[2048];
	} thread_schedules;
	struct ct_races races;   /* of these threads; freed by ct_result_free() */
	struct ct_corpus corpus; /* with several inputs; counts are sums over those that were tested */
	bool executed; /* the checker answers otherwise when it is forked: it was executed for every state */
	uint64_t hangs_alike;  /* checks that were cut early, in a function in which another hung (hang.h) */
	uint64_t states_alike; /* that differ from tested ones only in bytes that the checker did not read */
	/* the checker was executed for every state, because ...; "": it was forked */
	char why_executed[CT_TEXT_BYTES];
	uint64_t stores, barriers, writes, acks; /* of the run; the barriers of a store log are its fences */
	uint64_t stores_elsewhere;               /* in a store log, to other files than the image: left out */
	uint64_t sim_time_ps;
	double host_seconds, explore_seconds; /* total; exploration only */
	uint64_t findings_unlisted;           /* states of findings that are not listed */
	struct ct_schedules
		schedules; /* with several, counts of states and instants are sums over the different ones */
	struct ct_coverage coverage; /* of a workload's or a program's run; freed by ct_result_free() */
	uint64_t fewest_operations;  /* smallest failing --count (ct_find_fewest); 0: unknown */
	unsigned finding_count;
	struct ct_unlogged_list unlogged;
	struct ct_finding finding[CT_FINDINGS_MAX];
};

/* Zero but for the findings beyond finding_count, which stay as they are: 60 KB each, and few tests have
 * any. */
void ct_result_clear(struct ct_result *result);
/* Clears it, and sets mode, model and consistent: no state has failed yet. */
void ct_result_begin(struct ct_result *ret_result, enum ct_mode mode, enum ct_model model);
/* If error is NVW_E_STOPPED, nothing was tested: the result is undecided, and 0 is returned. Else error is
 * returned. */
NVW_CHECKED int ct_or_undecided(int error, const struct ct_options *options, struct ct_result *ret_result);
void ct_result_free(struct ct_result *result);

/* No state failed, and every tested state has a verdict: consistent or unrefuted. With neither this nor a
 * finding, the result is undecided. */
bool ct_is_consistent(const struct ct_result *result);
/* to has the larger of both, count by count. */
void ct_recoveries_join(struct ct_recoveries *to, const struct ct_recoveries *from);
/* Every permitted state of every instant is accounted for; never by kills, by a shard alone, nor with grouped
 * stores. */
bool ct_covers_all(const struct ct_result *result);
/* Of what it has explored: every instant is exhausted, and every state has a verdict. */
bool ct_leaves_nothing_out(const struct ct_result *result);
/* Consistent: no state fails, and ct_covers_all(). Unrefuted: no tested state fails. */
enum ct_verdict ct_verdict_of(const struct ct_result *result);

/* ---- The explorer, on an existing log ------------------------------------------------------------------ */

struct ct_image; /* image.h */
struct ct_operations;
struct json_t;

/* A worker's position; if it dies, the phase in which it died. */
#define CT_PHASES(X)                  \
	X(IDLE, "between two states") \
	X(OPEN, "opening the pool")   \
	X(RECOVER, "recovery")        \
	X(STRUCTURE, "the structure's recovery") X(CHECK, "the check") X(GO_ON, "going on after recovery")
#define X(name, text) CT_PHASE_##name,
enum ct_phase { CT_PHASES(X) };
#undef X

/* A state is tried this often if its worker or checker is killed from outside. */
enum { CT_KILLS_MAX = 3 };

/* A judge's result when a state has no verdict, in addition to nvw/errors.h; nvw_error_message() says why. */
enum { CT_NO_ANSWER = -20001 };

/* Recovers and checks the state in image (writing only through ct_image_write()). Returns 0, or
 * NVW_E_INCONSISTENT with at least one violation in findings, or CT_NO_ANSWER; other errors end the
 * exploration. Keeps *phase up to date. */
typedef int (*ct_judge)(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

struct ct_hangs;
struct ct_plain_parts;
struct ct_promises;
struct ct_robust;
struct ct_bench;
struct ct_run_shared;

struct ct_exploration {
	struct ct_rules rules;
	int log_fd;            /* the persist log; owned by the caller */
	const void *initial;   /* the pool's bytes before the first record */
	uint64_t bytes;        /* as stated in the log */
	uint64_t first_record; /* instants before this record are not tested (set-up) */
	ct_judge judge;
	void *context;
	/* Its check in parts and its plan (nvw_parts); NULL: whole states alone are tested. */
	const struct nvw_workload *in_parts;
	void *plan;
	const struct ct_plain_parts *plain_parts; /* of a check that is no workload's (parts.h); NULL: none */
	bool grouped;                             /* as in the result */
	bool tells_reads;         /* the judge uses a pool handle that records reads (image.h) */
	struct ct_robust *robust; /* with options.robust; else NULL */
	/* How to run a workload again, and its run in log_fd. NULL: it is not run with its cures. */
	const struct ct_bench *bench;
	const struct ct_run_shared *recorded;
	struct ct_options options;
	const void *head; /* json_t: description of the subject in saved findings */
	/* Where states hung before (hang.h), so that others that hang alike are cut early; NULL: in this
	 * exploration alone. */
	struct ct_hangs *hangs;
	const struct ct_promises *promises; /* with options.known; else NULL */
	const struct ct_operations
		*operations; /* of a program (operations.h); NULL: numbers are all there is */
	/* Adds the data that the judge needs to judge the state again to a saved finding's object (json_t);
	 * NULL: none. */
	void (*save)(void *context, const struct nvw_acks *acks, struct json_t *object);
	/* Judges a state again to see where it dies or hangs: the stack there, "" if it does neither. NULL:
	 * the judge's own process dies, and tells. */
	void (*stack)(void *context, const struct ct_image *image, const struct nvw_acks *acks,
		char ret_stack[CT_STACK_BYTES]);
};

/*
 * Explores; fills *ret_result. Returns 0 also if states failed; an error for damaged logs or lack of memory.
 * final, if not NULL, receives the bytes after the last record (the expected final content of the pool).
 */
NVW_CHECKED int ct_explore(const struct ct_exploration *e, void *final, struct ct_result *ret_result);

/* The same of the log with edits (edit.h) applied. NVW_E_USAGE if one is refused. */
NVW_CHECKED int ct_explore_edited(const struct ct_exploration *e, const struct ct_edit *edits, unsigned count,
	void *final, struct ct_result *ret_result);

/* The same with the assumptions of e->options. */
NVW_CHECKED int ct_explore_assumed(const struct ct_exploration *e, void *final, struct ct_result *ret_result);

/* ---- Whole crash tests: emulation, recovery, check ----------------------------------------------------- */

struct emu_config;

/* The subject of a test. The caller owns all of it. */
struct ct_subject {
	const struct nvw_workload *workload;
	const struct nvw_options *options;
	const char *options_text;        /* as typed by the user, for the log; may be NULL */
	const char *reference;           /* name or path to load the workload again; NULL: its name */
	const char *command;             /* the command line, for saved findings; may be NULL */
	struct json_t *made_by;          /* for saved findings: origin of the run; may be NULL */
	const struct emu_config *config; /* its seed is also the workload's */
	int mutation;                    /* index in the workload's mutations, -1 for none */
	/* The machine runs persist barriers of this source line with a scope narrower by this many steps
	 * (emu.h). */
	const char *narrow_file;
	uint32_t narrow_line;
	unsigned narrow_by;
	const struct emu_inserted
		*inserted; /* persist barriers that the source does not have (emu.h); NULL: none */
	unsigned inserted_count;
	/* Where the run ends with an error, in simulated time and in memory instructions of wavefronts; 0:
	 * nowhere. */
	uint64_t time_max_ps, operations_max;
	/* The order of wavefronts. Races are then looked for, and the result is verified. NULL: by time, and
	 * neither. */
	const struct emu_order *order;
	const struct ct_schedule_named *schedule; /* the name of that order, for saved findings; NULL: none */
	/* At the end all is made durable, and the pool judged: an error is the run's. NULL: it is not. */
	int (*judge)(const struct nvw_workload *workload, void *plan, struct nvw_pool *pool,
		const struct nvw_acks *acks);
};

/*
 * Runs the crash test described by options. Creates files in $TMPDIR (/tmp) and removes them. Returns 0 also
 * if states failed: ret_result->consistent is the verdict. An error if the workload cannot be prepared or run
 * without a crash, for bad options, or a full disk.
 */
NVW_CHECKED int ct_run(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result);

/*
 * The same under options->schedules orders of wavefronts (schedules.h). Without crashes: races and wrong
 * results alone, of a workload that need not keep anything in NVRAM.
 */
NVW_CHECKED int ct_run_schedules(const struct ct_subject *subject, const struct ct_options *options,
	bool crashes, struct ct_result *ret_result);

/* Runs the subject under one schedule, without crashes. *ret_schedules has what is wrong. */
NVW_CHECKED int ct_schedule_again(const struct ct_subject *subject, const struct ct_schedule_named *named,
	struct ct_schedules *ret_schedules);

/*
 * Searches for the smallest value of the workload's option "count" with which a crash test fails, with any
 * text, by whole tests with a small budget, from small values upwards; sets fewest_operations. Does nothing
 * without a finding or such an option, or in kill mode.
 */
void ct_find_fewest(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *result);

/* ---- External logs ------------------------------------------------------------------------------------- */

/* A log of a program that mapped image, and how to judge crash states of that file. */
struct ct_foreign {
	/* Path of a store log (store_log.h), of a recorded persist log (nvwave exec), or of a block device's
	 * (writes.h). */
	const char *store_log;
	const char *image;        /* path; may be shorter than the pool of a persist log */
	const char *command;      /* checker.h; NULL: */
	const char *library;      /* NULL: */
	const char *recover;      /* replay_oracle.h; NULL: the writes that a block device acknowledged */
	const char *next;         /* works on a state that a command accepts (judge/ask.h); NULL: none */
	const char *command_line; /* for saved findings; may be NULL */
	struct json_t *made_by;   /* likewise */
	struct json_t *schedule;  /* likewise, of the program's threads */
	bool last_only;           /* only crashes at the log's end: the program was killed there */
	bool final_only;          /* only the final image of the program, without any crash */
};

/* True for the persist log of a block device, which needs no checker. */
bool ct_is_block_log(const char *path);

/*
 * First judges the final image of the program, unless the program was killed. If it fails, that is the
 * result, since no crash is involved. Then explores the log under options' model: x86 (default), pmreorder or
 * eadr; for a block device in options' mode, observed or permitted. options' states 0 chooses 2^20, or 20000
 * for a command and for a block device.
 */
NVW_CHECKED int ct_run_foreign(
	const struct ct_foreign *foreign, const struct ct_options *options, struct ct_result *ret_result);

/* Adds a result to a sum, merging findings whose texts differ only in numbers; frees it. Intervals are not
 * kept. */
void ct_result_add(struct ct_result *sum, struct ct_result *result);
/* log2 of 2^a + 2^b, which may be more than a double has. Minus infinity is log2 of 0. */
double ct_log2_sum(double a, double b);

/* ---- Self-test ----------------------------------------------------------------------------------------- */

/* One test of a self-test: a mutation that must be found, or the unmutated structure, which must have no
 * finding. */
struct ct_trial {
	const char *mutation; /* NULL: none */
	const char *way;      /* "kill", "observed", or the model whose permitted states were explored */
	const char *options;  /* as "name=value ..." */
	bool as_expected;
	uint64_t states_distinct, states_failing;
	double seconds;
	char text[CT_TEXT_BYTES]; /* of the first finding */
};

struct ct_self_test {
	unsigned mutations, found, clean, alarms;
	bool interrupted; /* stopped: the counts cover the tests so far */
};

/*
 * Runs every mutation of the subject's workload in the mode that finds it and with options that show it, and
 * the unmutated structure in all its trials and every mode. The subject's options and mutation are ignored.
 * Calls tried() after each test. options' states is the budget of each test (0 chooses 20000, or 30 kills).
 */
NVW_CHECKED int ct_run_self_test(const struct ct_subject *subject, const struct ct_options *options,
	void (*tried)(void *context, const struct ct_trial *trial), void *context,
	struct ct_self_test *ret_sum);

/* ---- Verdict matrix ------------------------------------------------------------------------------------ */

struct ct_matrix_cell {
	enum ct_verdict verdict; /* undecided: stopped before */
	uint64_t states_distinct, states_failing;
	uint64_t confirmations;   /* of states_distinct, outside of the budget (ct_by_parts) */
	char text[CT_TEXT_BYTES]; /* of the first finding */
};

enum { CT_BARRIERS_MAX = 48, CT_STEPS = 3 };

/* A source line with persist barriers. */
struct ct_barrier {
	char file[128], function[64];
	uint32_t line;
	enum nvw_group scope;   /* the widest one used */
	uint64_t met, stall_ps; /* number of executions; total time from arrival to completion */
	/* Verdicts with a scope narrower by 1, 2, 3 steps, under the models whose barriers have scopes
	 * (narrows); narrowing is tried step by step until one fails. */
	struct ct_matrix_cell narrower[CT_STEPS][CT_MODEL_COUNT];
	unsigned tried;
	unsigned spare; /* the most steps that fail under no model */
	/* A run of the machine with the barrier narrower by spare steps. */
	bool measured;
	int64_t saved_ps;
	char trouble[CT_TEXT_BYTES]; /* why it could not be measured, or "" */
};

struct ct_matrix {
	uint64_t sim_time_ps, stores, barriers_met, acks;
	uint64_t states_asked; /* the budget of each verdict */
	double host_seconds;
	struct ct_matrix_cell
		under[CT_MODEL_COUNT]; /* the models of runs; all but eadr: with device and adr domain */
	bool interrupted;              /* stopped: some verdicts are unknown */
	unsigned count, unlisted;
	struct ct_barrier barrier[CT_BARRIERS_MAX];
};

/*
 * From one run: the verdicts of permitted mode under each model, and with each single barrier narrowed.
 * options' states is the budget of each verdict (0 chooses 5000).
 */
NVW_CHECKED int ct_run_matrix(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_matrix *ret_matrix);

#endif
