/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus tests: small programs, each with one outcome that a memory model allows or forbids.
 *
 *	parse.c load.c     text -> struct litmus_test (docs/litmus.md has the grammar)
 *	expression.c       whether a final state satisfies the outcome
 *	kernel.c           the kernel that interprets a thread's operations
 *	search.c           the schedules, in sequence
 *	situation.c        initial place of lines, CUs of the work-groups
 *	visibility.c       outcomes over registers and memory: runs the test under a protocol
 *	persist.c          outcomes over NVRAM after a crash: hands the test to the crash tester
 *	claims.c           the models that each protocol claims
 *
 * Guarantees
 *   (1) the report says "exhaustive" only if every issue order of the threads' operations was run in every
 *       situation; otherwise it says "sampled".
 *   (2) Deterministic: the same test, protocol, budget and seed give the same report.
 */
#ifndef LITMUS_LITMUS_H
#define LITMUS_LITMUS_H

#include <stdbool.h>
#include <stdint.h>

#include <nvw/kernel.h>
#include <nvw/pool.h>

enum {
	LITMUS_THREADS = 8,
	LITMUS_OPS = 32, /* per thread */
	LITMUS_VARIABLES = 16,
	LITMUS_REGISTERS = 16, /* per thread */
	LITMUS_CONDITIONS = 4, /* per guard */
	LITMUS_TERMS = 64,     /* per outcome: operators and operands */
	LITMUS_WORD = 32,      /* bytes of a register's or variable's name */
	LITMUS_TEXT = 160,
};

/* ---- A test ----------------------------------------------------------------------------------------- */

/* A register of the thread, or (register_number < 0) a number. */
struct litmus_value {
	int register_number;
	int64_t number;
};

#define LITMUS_RELATIONS(X) X(EQ, "==") X(NE, "!=") X(LE, "<=") X(GE, ">=") X(LT, "<") X(GT, ">")
#define X(name, text)       LITMUS_##name,
enum litmus_relation { LITMUS_RELATIONS(X) LITMUS_RELATION_COUNT };
#undef X

enum litmus_op_kind {
	LITMUS_LOAD,
	LITMUS_STORE,
	LITMUS_ADD,
	LITMUS_SUB,
	LITMUS_EXCHANGE,
	LITMUS_COMPARE_EXCHANGE,
	LITMUS_FENCE,
	LITMUS_BARRIER,         /* execution barrier of the work-group */
	LITMUS_PERSIST_BARRIER, /* gope18 5, with a scope */
	LITMUS_SET,             /* registers only: to = a + b */
	LITMUS_FLUSH,           /* PFLUSH: start the write-back of a line (no instruction of gope18) */
	LITMUS_ISSUE,           /* a plain load that the thread uses later: */
	LITMUS_USE,             /* the register gets its value */
	LITMUS_DRAIN,           /* PBARRIER(sys): wait until all flushed lines are durable (likewise) */
};

struct litmus_op {
	enum litmus_op_kind kind;
	bool is_plain;
	enum nvw_order order;
	enum nvw_scope scope;
	enum nvw_group group; /* scope of a persist barrier */
	unsigned variable;
	int to;                   /* register for the result; -1: none */
	struct litmus_value a, b; /* operand or summands; of a compare-exchange: expected and desired */
	unsigned condition_count; /* the operation is executed if all conditions hold; 0: always */
	struct {
		int register_number;
		enum litmus_relation relation;
		struct litmus_value value;
	} condition[LITMUS_CONDITIONS];
};

struct litmus_thread {
	unsigned work_group, device, line;
	unsigned op_count, register_count;
	struct litmus_op op[LITMUS_OPS];
	char register_name[LITMUS_REGISTERS][LITMUS_WORD];
};

struct litmus_variable {
	char name[LITMUS_WORD];
	int64_t initial;
	bool is_nvram;
};

/* The outcome in postfix order. */
struct litmus_term {
	enum litmus_term_kind {
		LITMUS_TERM_NUMBER,
		LITMUS_TERM_REGISTER,
		LITMUS_TERM_MEMORY,
		LITMUS_TERM_NVRAM,
		LITMUS_TERM_RELATION,
		LITMUS_TERM_AND,
		LITMUS_TERM_OR,
		LITMUS_TERM_NOT,
	} kind;
	unsigned thread, index; /* register or variable; an enum litmus_relation */
	int64_t number;
};

/* The model's verdict on the outcome; in a persist test, one per persistency model. */
enum litmus_verdict { LITMUS_UNSAID, LITMUS_FORBIDDEN, LITMUS_ALLOWED };
/* The models that machines have. */
enum litmus_persistency {
#define MACHINE_MODEL(id, symbol, name) LITMUS_##id,
#define STATE_MODEL(id, symbol, name)
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
	LITMUS_PERSISTENCY_COUNT
};
const char *litmus_persistency_name(enum litmus_persistency persistency);

struct litmus_test {
	char name[LITMUS_TEXT], model[LITMUS_TEXT], outcome_text[2 * LITMUS_TEXT];
	char file[LITMUS_TEXT];
	unsigned line; /* line in the file */
	bool is_racy;  /* the test is declared racy */
	unsigned thread_count, variable_count, term_count;
	struct litmus_thread thread[LITMUS_THREADS];
	struct litmus_variable variable[LITMUS_VARIABLES];
	struct litmus_term term[LITMUS_TERMS];
	enum litmus_verdict verdict; /* of the first verdict line */
	enum litmus_verdict under[LITMUS_PERSISTENCY_COUNT];
};

/* Whether the outcome is over NVRAM. */
bool litmus_is_persist(const struct litmus_test *test);
bool litmus_has_op(const struct litmus_test *test, enum litmus_op_kind kind);

/* A growing list of tests. Freed by litmus_list_free(). */
struct litmus_list {
	struct litmus_test *test;
	unsigned count, capacity;
};

/*
 * Reads tests: a .litmus file, a table with a header line (.tsv), or a folder with all such files below it,
 * in order of their names. Appends to *list. NVW_E_INPUT with file:line, the text found and the text
 * expected; a folder without tests is an error too.
 */
NVW_CHECKED int litmus_load(const char *path, struct litmus_list *list);
/* Parses the text of a .litmus file; name appears in messages. */
NVW_CHECKED int litmus_parse(const char *name, const char *text, struct litmus_list *list);
void litmus_list_free(struct litmus_list *list);

/* ---- Outcomes --------------------------------------------------------------------------------------- */

/* The final state of an execution. */
struct litmus_state {
	int64_t registers[LITMUS_THREADS][LITMUS_REGISTERS];
	int64_t memory[LITMUS_VARIABLES]; /* or NVRAM, after a crash */
};

bool litmus_holds(const struct litmus_test *test, const struct litmus_state *state);
bool litmus_related(int64_t a, enum litmus_relation relation, int64_t b);
/* "0:r0=1 x=2": every register, and the variables named by the outcome. */
void litmus_state_text(
	const struct litmus_test *test, const struct litmus_state *state, char *text, size_t room);

/* ---- Claims ----------------------------------------------------------------------------------------- */

/*
 * Whether the text names a memory model of claims.c, optionally with its edition ("PTX 6.0", "OpenCL 2 (Batty
 * et al.)"); "none" stands for a test without a model. Otherwise *ret_nearest is the nearest name, or NULL.
 * Case matters.
 */
bool litmus_model_is_known(const char *text, const char **ret_nearest);

/*
 * Whether the protocol, on a machine with these settings (as in litmus_options), claims the test's model, so
 * that a forbidden outcome is an error; *ret_why gives the reason. The model must be a known one.
 */
bool litmus_claimed(const struct litmus_test *test, const char *protocol, const char *const *settings,
	const char **ret_why);

/* ---- Running ---------------------------------------------------------------------------------------- */

struct litmus_options {
	const char *protocol;
	uint64_t schedules; /* budget per situation; 0 chooses 10000, or 60 for a persist test */
	uint64_t seed;
	const char *const *settings; /* of the machines: "section.key=value", NULL ends; NULL: none */
	const char *fault;           /* planted fault (emu_plant_fault); NULL: none */
	unsigned narrower;   /* another fault: persist barriers act with scopes narrower by this many steps */
	bool stop_when_seen; /* stop at the first sight of the outcome: counts are then partial */
};

enum { LITMUS_OUTCOMES = 64 };

struct litmus_outcome {
	char text[2 * LITMUS_TEXT];
	bool holds;
	uint64_t count;
};

/* The report of a test under a protocol, for a persist test also under a persistency model. */
struct litmus_report {
	const struct litmus_test *test;
	char protocol[32];
	int persistency; /* enum litmus_persistency, or -1 */
	enum litmus_verdict said;
	bool is_claimed;
	const char *why; /* the reason why it is claimed or not */
	uint64_t seen;   /* executions in which the outcome holds; in a persist test, crash states */
	uint64_t schedules, unfinished; /* executions; number of them that ended in a deadlock */
	uint64_t states;                /* crash states of a persist test */
	unsigned situations;
	bool is_exhaustive;
	unsigned outcome_count; /* sorted by text */
	struct litmus_outcome outcome[LITMUS_OUTCOMES];
	char witness[2 * LITMUS_TEXT]; /* situation and schedule of the first sight of the outcome, or "" */
};

/* The verdict in words. litmus_has_failed: a forbidden outcome was seen under a claimed model. */
const char *litmus_report_verdict(const struct litmus_report *report);
bool litmus_has_failed(const struct litmus_report *report);

/* Runs a test with an outcome over registers and memory. NVW_E_USAGE for other tests. */
NVW_CHECKED int litmus_run_visibility(const struct litmus_test *test, const struct litmus_options *options,
	struct litmus_report *ret_report);

/* Runs a test with an outcome over NVRAM under one persistency model. */
NVW_CHECKED int litmus_run_persist(const struct litmus_test *test, enum litmus_persistency persistency,
	const struct litmus_options *options, struct litmus_report *ret_report);

#endif
