/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task parallelism by epochs: the task vector machine (TVM) and TREES, its runtime on a GPU (hechtman14
 * chapter 5).
 *
 * A program is a set of task functions, and begins with one task. A task may fork tasks, and end in one of
 * three ways: join a function that continues in its place when all its forked tasks have ended, emit a value,
 * or just return. Tasks that can run at the same time form an *epoch*; tasks forked in an epoch run in the
 * next one, and joined functions run after that (hechtman14 5.4.2). The set of tasks does not depend on the
 * machine, the protocol or the schedule; their entries in the task vector do.
 *
 *	static void fib(struct nvw_task *t)
 *	{
 *		const uint32_t n = nvw_task_word(t, 0);
 *
 *		if (n < 2) {
 *			nvw_emit(t, n);
 *		} else {
 *			const uint32_t a = nvw_fork(t, fib, n - 1), b = nvw_fork(t, fib, n - 2);
 *
 *			nvw_join(t, sum, a, b);
 *		}
 *	}
 *
 *	static void sum(struct nvw_task *t)
 *	{
 *		nvw_emit(t, nvw_emitted(t, nvw_task_word(t, 0), 0) + nvw_emitted(t, nvw_task_word(t, 1), 0));
 *	}
 *
 * Arguments and emitted values are 4-byte words. A task reads and writes other memory as a kernel does
 * (nvw/kernel.h). Within an epoch tasks run side by side in any order; what they store is visible in later
 * epochs.
 *
 * nvw_trees_run() runs a program by kernel launches, an epoch each. nvw_tvm_run() is the formal machine: a
 * task vector and a stack of masks on the host, one task after the other. Both give equal results, and the
 * same epochs.
 *
 * A mistake of a task (a fork after its join, a function that is not registered, a full task vector ...) ends
 * the run with NVW_E_KERNEL or NVW_E_FULL and a message that names the task and the line. Not thread-safe.
 */
#ifndef WORKLOADS_TASKS_TASKS_H
#define WORKLOADS_TASKS_TASKS_H

#include <nvw/host.h>

enum {
	NVW_TASK_WORDS_MAX = 16,
	NVW_TASK_FUNCTIONS_MAX = 32,
	NVW_TASK_ENTRIES_MAX = 1 << 28,
	NVW_TASK_DEPTH_MAX = 1 << 16, /* of the stack of epochs */
};

struct nvw_task;
typedef void (*nvw_task_run)(struct nvw_task *task);

/* A function of a program. A map function is run by a work-group for each map: see nvw_map(). */
struct nvw_task_function {
	const char *name;
	nvw_task_run run;
	bool map;
};

struct nvw_task_program {
	const char *name;
	const struct nvw_task_function *functions; /* ends with a NULL run */
	unsigned words; /* of arguments or emitted values that an entry of the task vector has room for */
};

/* ---- In a task ------------------------------------------------------------------------------------ */

/* The data that the run was given (shared by all tasks, constant), the task's entry, and word i of its
 * arguments. */
const void *nvw_task_data(const struct nvw_task *task);
uint32_t nvw_task_entry(const struct nvw_task *task);
#define nvw_task_word(task, i) NVW__TASK_READ(task, nvw_task_entry(task), i)

/* Word i of the value emitted by the task in an entry; entry comes from nvw_fork(), through the arguments of
 * a join. */
#define nvw_emitted(task, entry, i) NVW__TASK_READ(task, entry, i)

/* A new task, which runs in the next epoch: function(words ...). Returns its entry in the task vector. */
#define nvw_fork(task, function, ...) NVW__TASK_CALL(nvw__task_fork, task, function, __VA_ARGS__)

/* The task continues as function(words ...) when all tasks forked in this epoch, and all their descendants,
 * have ended. Ends the task: the function should return. */
#define nvw_join(task, function, ...) ((void)NVW__TASK_CALL(nvw__task_join, task, function, __VA_ARGS__))

/* Leaves values in the task's entry. Ends the task. */
#define nvw_emit(task, ...) ((void)NVW__TASK_CALL(nvw__task_emit, task, NULL, __VA_ARGS__))

/*
 * A data-parallel operation: before the next epoch a work-group runs function(words ...), a map function. It
 * shares the work out by nvw_local_id() and nvw_group_size(), which it must not expect to be of a certain
 * size, and may use barriers of work-group scope. It must not fork, join, emit or map.
 */
#define nvw_map(task, function, ...) ((void)NVW__TASK_CALL(nvw__task_map, task, function, __VA_ARGS__))

/* ---- Running a program ---------------------------------------------------------------------------- */

/* The figures of an epoch, after it: a row of hechtman14 Table 5.1. */
struct nvw_task_epoch {
	uint32_t number;         /* of the epoch: its depth in the tree of tasks */
	uint32_t first, end;     /* the entries that it ran over */
	uint32_t next, next_now; /* the next free entry before and after it */
	bool joins, maps;        /* scheduled in it */
	uint64_t tasks;          /* that ran */
	/* Per function of the program, in the order of the table: number of executions. */
	uint64_t ran[NVW_TASK_FUNCTIONS_MAX];
	unsigned depth;          /* epochs that wait, */
	const uint32_t *waiting; /* their numbers, the next one first */
	/* The task vector up to the next free entry that the epoch left: function + number * functions, 0:
	 * none. */
	const uint32_t *entry;
};

struct nvw_task_save;

struct nvw_task_options {
	uint32_t entries;                 /* of the task vector; 0 chooses 1 Mi */
	uint32_t depth;                   /* of the stack of epochs; 0 chooses NVW_TASK_DEPTH_MAX */
	unsigned group_size;              /* work-items per work-group; 0 chooses 256 (hechtman14 5.5.1) */
	const void *data;                 /* for nvw_task_data() */
	const struct nvw_task_save *save; /* recovery points; NULL: none. Of nvw_trees_run() alone */
	/* Stops behind so many recovery points, the one before the first epoch included; 0: at the program's
	 * end. Then the totals' result is none. */
	uint64_t points_most;
	/* Called after each epoch, if not NULL; the task vector is read back for it. */
	void (*on_epoch)(void *context, const struct nvw_task_epoch *epoch);
	void *context;
};

/* The totals of a run. */
struct nvw_task_totals {
	uint64_t tasks;    /* T1: tasks that ran, continuations included */
	uint64_t epochs;   /* Tinf */
	uint64_t launches; /* of kernels: an epoch, or the maps of one */
	uint64_t forks, joins, emits, maps;
	/* that took entries for forks and maps: one per wavefront that does so together (5.5.4) */
	uint64_t atomics;
	uint32_t entries_most;               /* entries in use at a time, at most */
	uint32_t depth_most;                 /* epochs on the stack, at most */
	uint32_t result[NVW_TASK_WORDS_MAX]; /* value emitted by the first task */
};

/*
 * Runs program from the task function(words[0 .. n - 1]) to its end. The task vector is allocated in the
 * machine's DRAM and released. NVW_E_USAGE for a program or options out of range, NVW_E_MEMORY, errors of
 * launches.
 */
NVW_CHECKED int nvw_trees_run(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, nvw_task_run function, const uint32_t *words, unsigned n,
	struct nvw_task_totals *ret_totals);

/* The same on the formal machine; options.group_size does not matter. Its own state takes no device memory
 * and no simulated time. */
NVW_CHECKED int nvw_tvm_run(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, nvw_task_run function, const uint32_t *words, unsigned n,
	struct nvw_task_totals *ret_totals);

/* ---- Recovery points ------------------------------------------------------------------------------ */

/*
 * Between two epochs a task program is consistent. A recovery point is a copy of its state there, in NVRAM:
 * the task vector as far as it is in use, the stack of epochs, and the program's own arrays. Two copies take
 * turns. A kernel writes the older one; a persist barrier of kernel scope orders it before the completion of
 * an epoch of the stream in the epoch status table, which makes it the newer one (gope18 8.3); a second one
 * orders that before whatever follows. So a power cut at any instant leaves the last complete recovery point,
 * and a run that resumes from it carries out each later task, map and emit once.
 *
 * There is one before the first epoch, one after every so many, and one at the end. The kernel acknowledges
 * recovery point c, counted from 1, as operation c.
 *
 * With undo logging the task vector is not copied: it lies in NVRAM. A kernel before each epoch logs the
 * entries whose tasks are about to run (nvw/epoch.h), and recovery rolls the epoch that did not complete
 * back. Stack and arrays are copied as above, after each epoch. A log that is full ends the run with
 * NVW_E_FULL: nvw_task_log_entries() suffice.
 */
struct nvw_task_array {
	void *device;   /* in DRAM, 8-byte aligned */
	uint64_t bytes; /* a multiple of 8 */
};

struct nvw_task_save {
	const struct nvw_pmem *pmem;
	nvw_off area;    /* of nvw_task_save_bytes() bytes in the pool; zeroed */
	uint32_t stream; /* of the epoch status table; nothing else uses it */
	uint32_t every;  /* epochs between two recovery points, at least 1; with undo: 1 */
	bool undo;
	const struct nvw_task_array *arrays; /* what tasks change besides the task vector */
	unsigned array_count;
	const struct nvw_task_steps *replaced; /* for seeded bugs; NULL: none */
};

/* Steps that a seeded bug of a crash test replaces; NULL keeps a step. The right ones are in brackets. */
struct nvw_task_steps {
	uint64_t (*copy)(uint64_t copy);      /* which copy is overwritten, 0 or 1 [copy] */
	uint64_t (*words)(uint64_t count);    /* of 8 bytes that are written of it [count] */
	uint32_t (*entries)(uint32_t in_use); /* of the task vector in it [in_use] */
	uint32_t (*depth)(uint32_t depth);    /* epochs that wait in it [depth] */
	bool (*logs)(unsigned array);         /* codes: 0, word i: 1 + i [true] */
	void (*before_completion)(void);      /* [nvw_p_barrier_kr()] */
	void (*after_completion)(void);       /* [nvw_p_barrier_kr()] */
	/* With undo logging, in the kernels before a completion, whose ends make all work-items meet. */
	void (*after_log)(void);   /* [nvw_p_barrier_wg()] */
	void (*after_tasks)(void); /* [nvw_p_barrier_wg()] */
	uint64_t (*restored)(
		uint64_t arrays, uint64_t total); /* words before this one are restored [total] */
};

enum { NVW_TASK_SAVED_DEPTH_MAX = 1024 }; /* of the stack of epochs; deeper: NVW_E_FULL */

/* Bytes of the area, in either mode: of a task vector of so many entries with so many words, and array_bytes
 * in all arrays. */
uint64_t nvw_task_save_bytes(uint32_t entries, unsigned words, uint64_t array_bytes);

/* Entries of the stream's undo log that suffice for any epoch of such a task vector. */
uint32_t nvw_task_log_entries(uint32_t entries, unsigned words);

/*
 * Continues from the last recovery point, under the same program, entries, arrays and options.save->undo;
 * machine, protocol, group size and options.save->every may differ. The arrays are overwritten with what was
 * saved. NVW_E_USAGE if there is no recovery point; NVW_E_DAMAGED if it is of another program.
 */
NVW_CHECKED int nvw_trees_resume(struct nvw_machine *machine, const struct nvw_task_program *program,
	const struct nvw_task_options *options, struct nvw_task_totals *ret_totals);

/* The last recovery point of a pool, for checks. Reads by nvw_pool_word() only. */
struct nvw_task_saved {
	const struct nvw_pool *pool;
	uint64_t number; /* of the recovery point, from 1; 0: there is none, and the rest is not set */
	uint64_t epochs; /* that had run */
	uint32_t depth;  /* epochs that wait; 0: the program had ended */
	uint32_t entries, words;             /* saved; words per entry */
	uint64_t array_words;                /* 8-byte words of all arrays */
	nvw_off ranges, codes, word, arrays; /* where they are */
	uint64_t word_bytes;                 /* from a word of the entries to the next */
};

/* entries and words as the area was made for. NVW_E_DAMAGED for what no run can have written. */
NVW_CHECKED int nvw_task_saved_open(const struct nvw_pool *pool, nvw_off area, uint32_t stream,
	uint32_t entries, unsigned words, uint64_t array_bytes, bool undo, struct nvw_task_saved *ret_saved);

/* Epoch i that waits, from the bottom of the stack: its number, and the entries that it runs over. */
void nvw_task_saved_range(const struct nvw_task_saved *saved, uint32_t i, uint32_t *ret_number,
	uint32_t *ret_first, uint32_t *ret_end);
int32_t nvw_task_saved_code(const struct nvw_task_saved *saved, uint32_t entry);
uint32_t nvw_task_saved_word(const struct nvw_task_saved *saved, uint32_t entry, unsigned i);
/* 8-byte word i of the arrays, one after the other. */
uint64_t nvw_task_saved_array_word(const struct nvw_task_saved *saved, uint64_t i);

/* ---- How the macros reach the machine (not for direct use) ---------------------------------------- */

/* clang-format off */
#define NVW__TASK_CALL(how, task, function, ...)                                                 \
	({                                                                                       \
		NVW__SITE(nvw__task_site, WORK);                                                 \
		const uint32_t nvw__words[] = {__VA_ARGS__};                                     \
		how(task, &nvw__task_site, function, nvw__words, sizeof nvw__words / 4);         \
	})
#define NVW__TASK_READ(task, entry, i)                                                           \
	({                                                                                       \
		NVW__SITE(nvw__task_site, WORK);                                                 \
		nvw__task_read(task, &nvw__task_site, entry, i);                                 \
	})
/* clang-format on */

uint32_t nvw__task_read(struct nvw_task *task, const struct nvw_site *site, uint32_t entry, unsigned i);
uint32_t nvw__task_fork(struct nvw_task *task, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n);
uint32_t nvw__task_join(struct nvw_task *task, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n);
uint32_t nvw__task_emit(struct nvw_task *task, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n);
uint32_t nvw__task_map(struct nvw_task *task, const struct nvw_site *site, nvw_task_run function,
	const uint32_t *words, unsigned n);

#endif
