/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Crash testing: does a persistent structure survive a power cut at any instant?
 *
 * A *crash state* is what a power cut may leave: the bytes of the pool, and the set of operations that had
 * been acknowledged. At an instant of a run, every write that the NVRAM has completed and every write of
 * the host is in the pool; of the writes in flight (issued, not completed) each failure-atomic *unit*
 * (8-byte word, or 64-byte line on a machine that has such NVRAM) is there or not, independently; two
 * writes in flight to one unit stay in order: the later implies the earlier, or replaces it. What is still
 * in a cache is lost.
 *
 * A state is *consistent* if recovery (nvw_recover(), then the workload's own) succeeds on it and the
 * workload's check finds every invariant kept, every acknowledged operation present and every other one
 * whole or absent.
 *
 * kill      a child process emulates and dies by SIGKILL at a seeded virtual instant; another process
 *           recovers and checks the file. What is tested is what a user's machine would go through.
 * observed  the run is logged once (nvw/persist_log.h); one pass over the log visits its instants and
 *           tests the states that it could have left.
 * permitted the same pass, but the states are those that a persistency model (model.h) lets the logged stores
 *           leave, whatever this machine's timing was.
 *
 * Guarantees
 *   (1) Sound: every state that is reported could have been left by this run under the rules above, or in permitted mode
 *       breaks none of the model's axioms.
 *   (2) Complete when small: an instant with no more states than its share of the budget is tested
 *       exhaustively; the result says how many instants were and how many states were possible.
 *   (3) Unbiased in time: the budget is shared out evenly over the instants that need it. Within an instant,
 *       half of the sampled states are uniform over all, half have a density of their own, from nearly
 *       nothing durable to nearly everything. (Buffered epoch persistency: see states.h.)
 *   (4) Instants that cannot add a state are skipped: since acknowledgements only add obligations, of all
 *       instants between two completions the last one is tested.
 *   (5) Equal states (bytes and acknowledgements, by a 64-bit hash) are tested once and counted.
 *   (6) A recovery or check that dies, hangs or writes where it must not is a finding; the states after it are
 *       tested all the same, on an image that it cannot have touched. SIGKILL never comes from the code under test: what
 *       it interrupts is tried again, and has no verdict if that goes on.
 *   (7) Deterministic: the same inputs and seed test the same states and give the same findings, whatever
 *       the number of jobs.
 *   (8) A state stands for others of its instant only if recovery and check looked at none of the bytes in which
 *       they differ (reads.h); such instants may cost as much again as their share.
 */
#ifndef CRASHTEST_CRASH_H
#define CRASHTEST_CRASH_H

#include <nvw/persist_log.h>
#include <nvw/workload.h>

#include "model.h"
#include "proposal.h"

enum ct_mode { CT_KILL, CT_OBSERVED, CT_PERMITTED };

enum {
	CT_TEXT_BYTES = 240,
	CT_PLACES_MAX = 8,
	CT_UNITS_MAX = 24,
	CT_MOMENTS_MAX = 72,
	CT_FINDINGS_MAX = 32,
	CT_ALSO_MAX = 4,
};

/* Called now and then in the caller's process, also at the end. */
struct ct_progress {
	const char *what;     /* "emulating", "planning", "exploring", "killing", "explaining" */
	uint64_t done, total; /* total 0: unknown */
	double seconds;       /* since this step began */
};

struct ct_options {
	enum ct_mode mode;
	enum ct_model model; /* of permitted; CT_MODEL_OBSERVED chooses epoch */
	unsigned atomicity;  /* bytes that persist together: 8 or 64; 0: what the machine's NVRAM has */
	uint64_t states;     /* budget: states (observed) or trials (kill); 0 chooses 20000 or 100 */
	uint64_t seed;
	unsigned jobs; /* processes side by side; 0 means 1 */
	/* Work-items whose stores in flight come from the same places are taken to be alike: of states that differ in
	 * which of them lost what, one is tested. They have different data, so what is skipped is not covered. */
	bool symmetric;
	unsigned shard, shards; /* tests part shard (from 1) of shards; 0: all */
	/* file to continue from if it is there, and to write when told to stop; NULL: none */
	const char *resume;
	/* directory (made if need be) for a file a finding, replayed by nvwave replay; NULL: none */
	const char *save;
	bool nested;      /* recovery is crashed before each of its own writes as well; not in kill mode */
	bool unexplained; /* findings keep the text that they had first: quicker */
	bool first_only; /* each job ends at its first failing state: the earliest of them is the earliest of all */
	bool cures; /* proposals are applied and explored, and what hides behind a cured cause is looked for */
	unsigned timeout_ms; /* of CPU time for recovery and check of one state; 0 chooses 10 s */
	void (*progress)(void *context, const struct ct_progress *progress); /* may be NULL */
	void *context;
};

/* What became of a store. */
#define CT_FATES(X)   X(DURABLE, "durable") X(LOST, "lost in flight") X(CACHED, "lost in a cache")
#define X(name, text) CT_FATE_##name,
enum ct_fate { CT_FATES(X) };
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
	enum ct_fate fate;
};

/* A word that matters for a finding. */
struct ct_unit {
	nvw_off off;
	uint64_t now, newest; /* as the crash leaves it; as it is if nothing is lost */
	bool lost;            /* otherwise it is durable too early */
};

/* Why nothing ordered a lost store before what depends on it. */
#define CT_CAUSES(X)                                    \
	X(NONE, "unknown")                              \
	X(MISSING, "no barrier")                        \
	X(NARROW, "barrier of too narrow a scope")      \
	X(APART, "barrier that the other did not meet") \
	X(REVERSED, "stored in the wrong order")
#define X(name, text) CT_CAUSE_##name,
enum ct_cause_kind { CT_CAUSES(X) };
#undef X
const char *ct_cause_name(enum ct_cause_kind kind);

struct ct_cause {
	enum ct_cause_kind kind;
	char text[4 * CT_TEXT_BYTES]; /* in words: what is there, and what would order them */
	char file[128], function[64]; /* the barrier, or "" */
	uint32_t line;
	char scope[16], needed[16]; /* of the barrier; that orders them */
	/* "file:line" of both, or "acknowledgement"; equal ones are one root cause */
	char lost[160], early[160];
	/* Numbers of their records in the log, and of the barrier's, from 1; 0: none. */
	uint64_t lost_record, early_record, barrier_record;
};

/* What a moment has to do with the cause. */
enum ct_role { CT_ROLE_NONE, CT_ROLE_LOST, CT_ROLE_EARLY, CT_ROLE_BARRIER };

/* What the work-items behind a finding did before the crash. */
struct ct_moment {
	enum ct_role role;
	uint64_t left_out; /* moments between this one and the one listed before it */
	enum ct_moment_kind {
		CT_MOMENT_STORE,
		CT_MOMENT_BARRIER,
		CT_MOMENT_ACK,
		CT_MOMENT_FLUSH,
		CT_MOMENT_FENCE
	} kind;
	uint64_t time_ps, end_ps; /* of a barrier: completion, UINT64_MAX if the crash came first */
	uint64_t work_item, group;
	enum nvw_group scope;
	nvw_off off;
	uint32_t bytes;
	uint64_t value; /* of a store; the operation that was acknowledged */
	bool durable;   /* of a store: the crash leaves its value */
	char file[128]; /* of the source place, "" if unknown */
	uint32_t line;
};

/* States that fail in the same way: equal texts but for the numbers in them. */
struct ct_finding {
	char text[CT_TEXT_BYTES]; /* of the first of them */
	nvw_off off;              /* 0: no place in the pool */
	uint64_t states;          /* how many */
	uint64_t first_time_ps;
	uint64_t instant, draw; /* the first: where it is in the exploration, or (0, trial) */
	int signal;             /* that recovery or check died of; 0 */
	bool hung;
	char where[CT_TEXT_BYTES]; /* of a signal or a hang: "file:line (function)", "" if unknown */
	/* The smallest case found: of units in flight, how many were durable. */
	uint64_t units, units_durable;
	bool minimised;
	/* operation number plus 1: without its acknowledgement nothing would be wrong */
	uint64_t acknowledged;
	struct ct_cause cause;
	struct ct_proposals proposals; /* what may cure it */
	struct ct_cure cure;
	/* Other texts with the same root cause, how many, and how many states each fails. */
	unsigned also_count, also_more;
	struct ct_also {
		char text[CT_TEXT_BYTES];
		uint64_t states;
	} also[CT_ALSO_MAX];
	unsigned unit_count;
	struct ct_unit unit[CT_UNITS_MAX];
	unsigned moment_count;
	struct ct_moment
		moment[CT_MOMENTS_MAX]; /* those of the cause, and the last before the crash; oldest first */
	char saved[256];                /* path of its file; "": none */
	unsigned place_count;
	struct ct_place place[CT_PLACES_MAX];
};

/* Between two instants: what may be durable differs by what was stored and completed there. */
struct ct_interval {
	uint64_t time_ps;     /* of the instant that ends it */
	double possible_log2; /* states that no earlier instant had; a bound unless exact */
	uint32_t distinct, equal, unread, undecided;
	bool exact, exhausted; /* exhausted: all of them are accounted for */
};

struct ct_result {
	/* instants of the whole run (not of the shard alone); freed by ct_result_free() */
	struct ct_interval *interval;
	uint64_t interval_count;
	enum ct_mode mode;
	enum ct_model model; /* unless kill */
	bool consistent;
	uint64_t states_tested;   /* covered by a test: distinct and equal ones */
	uint64_t states_distinct; /* recovery and check ran on so many */
	uint64_t states_equal;
	/* differ from one that passed only in words that recovery and check do not look at */
	uint64_t states_unread;
	uint64_t states_symmetric;  /* taken to be like one that was tested, by options.symmetric */
	uint64_t instants_by_reads; /* of instants_exhausted: by branching on what is looked at */
	uint64_t states_failing;
	uint64_t instants, instants_exhausted;
	double states_possible;      /* sum over instants, without those that an earlier instant had */
	double states_possible_log2; /* the same as a power of two; states_possible may be infinite */
	bool states_possible_exact;  /* otherwise it is a bound */
	bool interrupted;            /* told to stop (core/stop.h): not all of the budget was used */
	uint64_t states_planned;     /* how many the budget comes to */
	unsigned shard, shards;
	bool gave_up; /* too many workers died: not all of the budget was used */
	/* With cures: under which model they were explored, and what is left with all of them. */
	bool proved; /* cures were looked for */
	enum ct_model proved_under;
	uint64_t states_uncured;       /* states that fail with every cure applied */
	uint64_t states_undecided;     /* without a verdict: killed from outside, or the checker gave none */
	char undecided[CT_TEXT_BYTES]; /* why, the first of them */
	/* The image as the program leaves it, without any crash, fails (finding[0] says how) or gets no answer: nothing else was
	 * tested. */
	bool without_crash;
	/* Of a program that was recorded: the threads that may have stored, in this interleaving. 0: not known. */
	uint64_t threads;
	bool executed; /* the checker answers otherwise when it is forked: it was executed for every state */
	uint64_t stores, barriers, writes, acks; /* of the run; of a store log, barriers are its fences */
	uint64_t stores_elsewhere;               /* of a store log, to other files than the image: left out */
	uint64_t sim_time_ps;
	double host_seconds, explore_seconds; /* whole; of the exploration alone */
	uint64_t findings_unlisted;           /* states of further kinds of findings */
	uint64_t fewest_operations;           /* that fail as well (ct_find_fewest); 0: not looked for */
	unsigned finding_count;
	struct ct_finding finding[CT_FINDINGS_MAX];
};

void ct_result_free(struct ct_result *result);

/* Nothing failed, and there is an answer for all that was to be tested. Neither this nor a finding: undecided. */
bool ct_is_consistent(const struct ct_result *result);
/* "consistent", "inconsistent" or "undecided". */
const char *ct_verdict_name(const struct ct_result *result);

/* ---- The explorer, on a log that is there -------------------------------------------------------------- */

struct ct_image; /* image.h */

/* Where a worker is: if it dies, this is what it died of. */
#define CT_PHASES(X)                  \
	X(IDLE, "between two states") \
	X(OPEN, "opening the pool")   \
	X(RECOVER, "recovery") X(STRUCTURE, "the structure's recovery") X(CHECK, "the check")
#define X(name, text) CT_PHASE_##name,
enum ct_phase { CT_PHASES(X) };
#undef X

/* So often a state is tried whose worker, or checker, is killed from outside. */
enum { CT_KILLS_MAX = 3 };

/* A judge's result when a state has no verdict, in addition to nvw/errors.h; nvw_error_message() says why. */
enum { CT_NO_ANSWER = -20001 };

/* Recovers and checks the state in image (writing through ct_image_write() alone). 0, or NVW_E_INCONSISTENT
 * with at least one violation in findings, or CT_NO_ANSWER; other errors end the exploration. Keeps *phase up to date. */
typedef int (*ct_judge)(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

struct ct_exploration {
	struct ct_rules rules;
	int log_fd;            /* of the persist log; stays the caller's */
	const void *initial;   /* the pool's bytes before the first record */
	uint64_t bytes;        /* as the log's info says */
	uint64_t first_record; /* instants before this record are not tested (set-up) */
	ct_judge judge;
	void *context;
	bool tells_reads; /* the judge goes through a pool handle that notes what is looked at (image.h) */
	struct ct_options options;
	const void *head; /* json_t: what a saved finding says about its subject */
};

/*
 * Explores; *ret_result is filled. 0 also if states failed. Damaged logs, or memory: an error. final, if not
 * NULL, receives the bytes after the last record (what the pool must be then).
 */
NVW_CHECKED int ct_explore(const struct ct_exploration *e, void *final, struct ct_result *ret_result);

/* ---- Whole crash tests: emulation, recovery, check ------------------------------------------------------- */

struct emu_config;

/* What is tested. Everything stays the caller's. */
struct ct_subject {
	const struct nvw_workload *workload;
	const struct nvw_options *options;
	const char *options_text; /* as the user typed them, for the log; may be NULL */
	const char *reference;    /* how to load the workload again: a name or a path; NULL: its name */
	const char *command;      /* the command line, for saved findings; may be NULL */
	struct json_t *made_by;   /* for saved findings: what the run was made by; may be NULL */
	const struct emu_config *config; /* its seed is also the workload's */
	int mutation;                    /* index in the workload's mutations, -1 for none */
	/* The machine runs persist barriers of this source line with a scope narrower by so many steps (emu.h). */
	const char *narrow_file;
	uint32_t narrow_line;
	unsigned narrow_by;
};

/*
 * Runs the crash test that options ask for. Files are made in $TMPDIR (/tmp) and removed. 0 also if states
 * failed: ret_result->consistent is the verdict. An error if the workload cannot be prepared or run without
 * a crash, for bad options, or a full disk.
 */
NVW_CHECKED int ct_run(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result);

/*
 * Looks for the smallest value of the workload's option "count" with which a crash test fails, in whatever words, in whole
 * tests with a small budget, from small ones up: fills in fewest_operations. Nothing if there is no finding, no such
 * option, or in kill mode.
 */
void ct_find_fewest(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *result);

/* ---- Logs from elsewhere ----------------------------------------------------------------------------------- */

/* A log of a program that had image mapped, and how to judge what a crash leaves of that file. */
struct ct_foreign {
	/* Path of a store log (store_log.h), of a persist log that was recorded (nvwave exec), or of a block device's (writes.h). */
	const char *store_log;
	const char *image;        /* path; may be shorter than the pool of a persist log */
	const char *command;      /* checker.h; NULL: */
	const char *library;      /* NULL: the writes that a block device acknowledged */
	const char *command_line; /* for saved findings; may be NULL */
	struct json_t *made_by;   /* likewise */
	bool last_only;  /* only what a crash at the log's end leaves: the program was killed there */
	bool final_only; /* only the image as the program leaves it, without any crash */
};

/* True for the persist log of a block device, which needs no checker. */
bool ct_is_block_log(const char *path);

/*
 * First the image as the program leaves it is judged, unless the program was killed. If that fails, no crash is to blame: it is
 * the result. Then explores the log under options' model: x86 (default), pmreorder or eadr; that of a block device in options'
 * mode, observed or permitted. options' states 0 chooses 2^20, or 20000 for a command and for a block device.
 */
NVW_CHECKED int ct_run_foreign(
	const struct ct_foreign *foreign, const struct ct_options *options, struct ct_result *ret_result);

/* Adds a result to a sum, findings that are equal but for numbers to each other; frees it. Intervals are not kept. */
void ct_result_add(struct ct_result *sum, struct ct_result *result);

/* ---- Self-test --------------------------------------------------------------------------------------------- */

/* One test of a self-test: a mutation that must be found, or the structure as it is, which must not alarm. */
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
	bool interrupted; /* told to stop: the counts are of what was tried by then */
};

/*
 * Runs every mutation of the subject's workload in the way that finds it and in runs in which it shows, and the
 * structure as it is in all its trials and every way. The subject's options and mutation are not looked at. Calls
 * tried() after each. options' states is the budget of each test (0 chooses 20000, or 30 kills).
 */
NVW_CHECKED int ct_run_self_test(const struct ct_subject *subject, const struct ct_options *options,
	void (*tried)(void *context, const struct ct_trial *trial), void *context,
	struct ct_self_test *ret_sum);

/* ---- Verdict matrix ---------------------------------------------------------------------------------------- */

struct ct_verdict {
	bool known; /* false: told to stop before */
	bool consistent;
	uint64_t states_distinct, states_failing;
	char text[CT_TEXT_BYTES]; /* of the first finding */
};

enum { CT_BARRIERS_MAX = 48, CT_STEPS = 3 };

/* A source place with persist barriers. */
struct ct_barrier {
	char file[128], function[64];
	uint32_t line;
	enum nvw_group scope;   /* the widest that it had */
	uint64_t met, stall_ps; /* how often; from arrival to completion, summed up */
	/* With a scope narrower by 1, 2, 3 steps, under the models whose barriers have scopes (narrows); so many steps
	 * were tried as the scope has, until one failed. */
	struct ct_verdict narrower[CT_STEPS][CT_MODEL_COUNT];
	unsigned tried;
	unsigned spare; /* so many steps fail under none */
	/* A run of the machine with the barrier narrower by spare steps. */
	bool measured;
	int64_t saved_ps;
	char trouble[CT_TEXT_BYTES]; /* why it could not be measured, "" */
};

struct ct_matrix {
	uint64_t sim_time_ps, stores, barriers_met, acks;
	double host_seconds;
	struct ct_verdict
		under[CT_MODEL_COUNT]; /* the models of runs; all but eadr: with device and adr domain */
	bool interrupted;              /* told to stop: not all verdicts are known */
	unsigned count, unlisted;
	struct ct_barrier barrier[CT_BARRIERS_MAX];
};

/*
 * From one run: the verdicts of permitted mode under each model, and with every barrier narrower, alone. options'
 * states is the budget of each verdict (0 chooses 5000).
 */
NVW_CHECKED int ct_run_matrix(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_matrix *ret_matrix);

#endif
