/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program on a machine and compares it with an oracle.
 *
 * The oracle is an array in host memory with the expected value of each variable. A work-item updates it
 * where it may change the variable, between acquire and release; the emulator runs on one host thread, so the
 * array is never stale. Every load, every result of an atomic, and after each kernel every byte of the
 * program's lines (including unused ones, which stay zero) is compared with it; so are the durable bytes
 * after nvw_persist().
 *
 * The kernel ends early after the first difference, or when it exceeds the operations of any program.
 */
#include <stdarg.h>
#include <string.h>

#include <nvw/kernel.h>
#include <nvw/random.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "torture_program.h"

enum { OPERATIONS_OF_STEP = 4, OPERATIONS_MAX = 600000, NOBODY = -1 };

struct run {
	const struct torture_program *p;
	struct nvw_machine *machine;
	struct nvw_pool *pool;
	char *at[TORTURE_LINES_MAX]; /* device addresses */
	uint64_t expected[TORTURE_VARIABLES_MAX];
	int holder[TORTURE_SLOTS];     /* per lock */
	unsigned first_step, end_step; /* of the running kernel */
	unsigned kernel;
	struct nvw_random random; /* the scheduler's */
	unsigned chosen;
	uint64_t operations;
	bool failed;
	char *text;
	size_t text_bytes;
};

__attribute__((format(printf, 2, 3))) static void report(struct run *run, const char *format, ...)
{
	va_list arguments;

	if (run->failed) {
		return;
	}
	run->failed = true;
	va_start(arguments, format);
	vsnprintf(run->text, run->text_bytes, format, arguments);
	va_end(arguments);
}

/* ---- Instructions of every size ------------------------------------------------------------ */

/* The value that USE has for the type of so many bytes. */
#define BY_SIZE(bytes, USE)                      \
	({                                       \
		__typeof__(USE(uint64_t)) used_; \
		switch (bytes) {                 \
		case 8:                          \
			used_ = USE(uint64_t);   \
			break;                   \
		case 4:                          \
			used_ = USE(uint32_t);   \
			break;                   \
		case 2:                          \
			used_ = USE(uint16_t);   \
			break;                   \
		default:                         \
			used_ = USE(uint8_t);    \
		}                                \
		used_;                           \
	})

#define ATOMIC(type)                                                                                       \
	static uint64_t atomic_##type(                                                                     \
		type *p, unsigned kind, type v, type expected, enum nvw_order order, enum nvw_scope scope) \
	{                                                                                                  \
		switch (kind) {                                                                            \
		case NVW__ATOMIC_STORE:                                                                    \
			nvw_atomic_store(p, v, order, scope);                                              \
			return expected;                                                                   \
		case NVW__EXCHANGE:                                                                        \
			return nvw_atomic_exchange(p, v, order, scope);                                    \
		case NVW__ADD:                                                                             \
			return nvw_atomic_add(p, v, order, scope);                                         \
		case NVW__SUB:                                                                             \
			return nvw_atomic_sub(p, v, order, scope);                                         \
		case NVW__AND:                                                                             \
			return nvw_atomic_and(p, v, order, scope);                                         \
		case NVW__OR:                                                                              \
			return nvw_atomic_or(p, v, order, scope);                                          \
		case NVW__MIN:                                                                             \
			return nvw_atomic_min(p, v, order, scope);                                         \
		case NVW__MAX:                                                                             \
			return nvw_atomic_max(p, v, order, scope);                                         \
		case NVW__SIGNED_MIN:                                                                      \
			return nvw_atomic_signed_min(p, v, order, scope);                                  \
		case NVW__SIGNED_MAX:                                                                      \
			return nvw_atomic_signed_max(p, v, order, scope);                                  \
		case NVW__XOR:                                                                             \
			return nvw_atomic_xor(p, v, order, scope);                                         \
		case NVW__INCREMENT:                                                                       \
			return nvw_atomic_increment(p, v, order, scope);                                   \
		case NVW__DECREMENT:                                                                       \
			return nvw_atomic_decrement(p, v, order, scope);                                   \
		case NVW__COMPARE_EXCHANGE:                                                                \
			return nvw_atomic_compare_exchange(p, expected, v, order, scope);                  \
		default:                                                                                   \
			return nvw_atomic_load(p, order, scope);                                           \
		}                                                                                          \
	}
ATOMIC(uint64_t)
ATOMIC(uint32_t)
ATOMIC(uint16_t)
ATOMIC(uint8_t)
#undef ATOMIC

static void *address_of(const struct run *run, unsigned variable)
{
	const struct torture_variable *const v = &run->p->variables[variable];

	NVW_DEEP_INVARIANT(variable < run->p->variable_count);
	return run->at[v->line] + v->offset;
}

static uint64_t truncated(const struct run *run, unsigned variable, uint64_t value)
{
	const unsigned size = run->p->variables[variable].size;

	return value & nvw_low_bits(8 * size);
}

/* Before each memory operation; false if the run is over. */
static bool go_on(struct run *run)
{
	if (++run->operations > OPERATIONS_MAX) {
		report(run, "kernel %u does not end: %d operations", run->kernel, OPERATIONS_MAX);
	}
	return !run->failed;
}

static uint64_t atomic(struct run *run, unsigned kind, unsigned variable, uint64_t v, uint64_t expected,
	unsigned order, unsigned scope)
{
	void *const at = address_of(run, variable);

	if (!go_on(run)) {
		return expected;
	}
#define USE(type) \
	atomic_##type(at, kind, (type)v, (type)expected, (enum nvw_order)order, (enum nvw_scope)scope)
	return BY_SIZE(run->p->variables[variable].size, USE);
#undef USE
}

/* The value after an atomic. */
static uint64_t result_of(unsigned kind, unsigned size, uint64_t before, uint64_t v)
{
	const uint64_t sign = UINT64_C(1) << (8 * size - 1);

	switch (kind) {
	case NVW__ADD:
		return before + v;
	case NVW__SUB:
		return before - v;
	case NVW__AND:
		return before & v;
	case NVW__OR:
		return before | v;
	case NVW__MIN:
		return nvw_min(before, v);
	case NVW__MAX:
		return nvw_max(before, v);
	case NVW__SIGNED_MIN:
		return nvw_min(before ^ sign, v ^ sign) ^ sign;
	case NVW__SIGNED_MAX:
		return nvw_max(before ^ sign, v ^ sign) ^ sign;
	case NVW__XOR:
		return before ^ v;
	case NVW__INCREMENT:
		return before >= v ? 0 : before + 1;
	case NVW__DECREMENT:
		return before == 0 || before > v ? v : before - 1;
	case NVW__ATOMIC_LOAD:
		return before;
	default:
		return v;
	}
}

/* ---- A step's operations ------------------------------------------------------------------- */

static void compare(
	struct run *run, unsigned step, const char *what, unsigned variable, uint64_t got, uint64_t expected)
{
	char name[24];

	if (got != expected) {
		report(run, "step %u, work-item %llu: %s of %s gave %#llx, expected %#llx", step,
			(unsigned long long)nvw_global_id(), what,
			torture_variable_name(run->p, variable, name), (unsigned long long)got,
			(unsigned long long)expected);
	}
}

static void load(struct run *run, unsigned step, const struct torture_op *op, unsigned variable)
{
	void *const at = address_of(run, variable);
	const char *what = "a load";
	uint64_t got;

#define READ_ONLY(type) nvw_load_read_only((type *)at)
#define LOAD(type)      nvw_load((type *)at)
	if (op->kind == NVW__LOAD_READ_ONLY) {
		got = BY_SIZE(run->p->variables[variable].size, READ_ONLY);
		what = "a read-only load";
	} else {
		got = BY_SIZE(run->p->variables[variable].size, LOAD);
	}
#undef READ_ONLY
#undef LOAD
	compare(run, step, what, variable, got, run->expected[variable]);
}

static void store(struct run *run, const struct torture_op *op, unsigned variable)
{
	void *const at = address_of(run, variable);

	run->expected[variable] = truncated(run, variable, op->value);
#define STORE(type) (nvw_store((type *)at, (type)op->value), 0)
	(void)BY_SIZE(run->p->variables[variable].size, STORE);
#undef STORE
}

static void atomic_on_data(struct run *run, unsigned step, const struct torture_op *op, unsigned variable)
{
	const uint64_t before = run->expected[variable], v = truncated(run, variable, op->value);
	/* Every second compare-exchange fails, unless the expected value happens to be there. */
	const uint64_t wanted = op->kind == NVW__COMPARE_EXCHANGE && op->value & 1 ? v : before;
	const unsigned size = run->p->variables[variable].size;
	const uint64_t after = wanted == before ? result_of(op->kind, size, before, v) : before;

	run->expected[variable] = truncated(run, variable, after);
	compare(run, step, "an atomic", variable,
		atomic(run, op->kind, variable, v, wanted, op->order, op->scope), before);
}

/* Loads of a step that have been issued and not been used. */
struct issued {
	struct nvw_issued value;
	uint64_t expected;
	unsigned variable;
	bool is_late; /* used behind the step's release */
};

static struct issued issue(struct run *run, const struct torture_op *op, unsigned variable)
{
	void *const at = address_of(run, variable);

#define ISSUE(type) nvw_load_issue((type *)at)
	return (struct issued){.value = BY_SIZE(run->p->variables[variable].size, ISSUE),
		.expected = run->expected[variable],
		.variable = variable,
		.is_late = op->value & 1};
#undef ISSUE
}

static void use(struct run *run, unsigned step, const struct issued *issued)
{
#define USE(type) nvw_load_use(issued->value, type)
	compare(run, step, "a load that was issued before", issued->variable,
		BY_SIZE(run->p->variables[issued->variable].size, USE), issued->expected);
#undef USE
}

static void use_all(struct run *run, unsigned step, const struct issued *issued, unsigned count, bool late)
{
	for (unsigned i = 0; i < count && !run->failed; i++) {
		if (issued[i].is_late == late) {
			use(run, step, &issued[i]);
		}
	}
}

static void operate(struct run *run, unsigned step, const struct torture_op *op, unsigned variable)
{
	if (!go_on(run)) {
		return;
	}
	if (op->kind == NVW__P_BARRIER) {
		nvw_p_barrier_wi();
	} else if (op->kind == NVW__LOAD || op->kind == NVW__LOAD_READ_ONLY) {
		load(run, step, op, variable);
	} else if (op->kind == NVW__STORE) {
		store(run, op, variable);
	} else {
		atomic_on_data(run, step, op, variable);
	}
}

/* Executes the step's operations; returns the number of loads issued. */
static unsigned operate_all(
	struct run *run, unsigned number, int own, struct issued issued[OPERATIONS_OF_STEP])
{
	const struct torture_step *const step = &run->p->steps[number];
	unsigned count = 0;

	NVW_EACH(op, run->p->ops + step->first_op, step->op_count) {
		const unsigned variable = own < 0 ? op->variable : (unsigned)own;

		if (!op->is_issued) {
			operate(run, number, op, variable);
		} else if (go_on(run)) {
			issued[count++] = issue(run, op, variable);
		}
	}
	NVW_INVARIANT(count <= OPERATIONS_OF_STEP);
	return count;
}

/* ---- Synchronization ----------------------------------------------------------------------- */

static void take_lock(struct run *run, unsigned step, const struct torture_sync *sync, unsigned slot)
{
	static const unsigned kinds[] = {
		NVW__COMPARE_EXCHANGE, NVW__EXCHANGE, NVW__OR, NVW__COMPARE_EXCHANGE};
	const unsigned lock = (unsigned)sync->variable;
	uint64_t got;

	NVW_INVARIANT(sync->variable >= 0 && slot < TORTURE_SLOTS);
	do {
		/* The fourth way polls first. */
		while (sync->how == 3 &&
			atomic(run, NVW__ATOMIC_LOAD, lock, 0, 0, NVW_RELAXED, sync->scope) && !run->failed) {
		}
		got = atomic(run, kinds[sync->how], lock, 1, 0, sync->order, sync->scope);
	} while (got == 1 && !run->failed);
	if (got) {
		compare(run, step, "the lock", lock, got, 0);
	}
	if (run->holder[slot] != NOBODY) {
		report(run, "step %u, work-item %llu: takes lock%u, which work-item %d holds", step,
			(unsigned long long)nvw_global_id(), slot, run->holder[slot]);
	}
	run->holder[slot] = (int)nvw_global_id();
	run->expected[lock] = 1;
}

static void release_lock(struct run *run, unsigned step, const struct torture_sync *sync, unsigned slot)
{
	static const unsigned kinds[] = {NVW__ATOMIC_STORE, NVW__EXCHANGE, NVW__AND, NVW__SUB};
	const unsigned lock = (unsigned)sync->variable;

	run->holder[slot] = NOBODY;
	run->expected[lock] = 0;
	atomic(run, kinds[sync->how], lock, sync->how == 3, 1, sync->order, sync->scope);
}

static void await_turn(struct run *run, const struct torture_sync *sync)
{
	const unsigned turn = (unsigned)sync->variable;
	const unsigned kind = sync->how == 1 ? NVW__OR : NVW__ATOMIC_LOAD;
	const unsigned order = sync->how == 2 ? NVW_RELAXED : sync->order;

	while (atomic(run, kind, turn, 0, sync->tag, order, sync->scope) != sync->tag && !run->failed) {
	}
	if (sync->how == 2) {
		atomic(run, NVW__ATOMIC_LOAD, turn, 0, sync->tag, sync->order, sync->scope);
	}
}

static void pass_turn(struct run *run, const struct torture_sync *sync)
{
	NVW_INVARIANT(sync->variable >= 0);
	run->expected[sync->variable] = sync->tag;
	atomic(run, sync->how ? NVW__EXCHANGE : NVW__ATOMIC_STORE, (unsigned)sync->variable, sync->tag, 0,
		sync->order, sync->scope);
}

/* The variable given to the step by a fetch-and-add. */
static unsigned take_ticket(
	struct run *run, unsigned step, const struct torture_set *s, const struct torture_sync *sync)
{
	const unsigned ticket = (unsigned)sync->variable;
	const uint64_t got = atomic(run, NVW__ADD, ticket, 1, s->tickets_before,
		sync->how ? NVW_RELAXED : sync->order, sync->scope);

	NVW_INVARIANT(s->count > 0);
	run->expected[ticket]++;
	if (got - s->tickets_before >= s->count) {
		report(run, "step %u, work-item %llu: ticket%u gave %llu, expected %u to %u", step,
			(unsigned long long)nvw_global_id(), s->slot, (unsigned long long)got,
			s->tickets_before, s->tickets_before + s->count - 1);
		return s->variables[0];
	}
	return s->variables[got - s->tickets_before];
}

static void access_set(struct run *run, unsigned number)
{
	NVW_INVARIANT(run->p->steps[number].set >= 0);

	const struct torture_step *const step = &run->p->steps[number];
	const struct torture_set *const s = &run->p->sets[step->set];
	const bool has_lock = s->style == TORTURE_LOCK || s->style == TORTURE_STEAL;
	struct issued issued[OPERATIONS_OF_STEP];
	int own = TORTURE_NONE;
	unsigned count;

	if (has_lock) {
		take_lock(run, number, &step->acquire, s->slot);
	} else if (s->style == TORTURE_TICKET) {
		own = (int)take_ticket(run, number, s, &step->acquire);
	} else if (step->acquire.variable >= 0) {
		await_turn(run, &step->acquire);
	}
	count = operate_all(run, number, own, issued);
	use_all(run, number, issued, count, false);
	if (has_lock) {
		release_lock(run, number, &step->release, s->slot);
	} else if (step->release.variable >= 0) {
		pass_turn(run, &step->release);
	}
	use_all(run, number, issued, count, true);
}

/* Under buffered epoch persistency, work-items do not meet at a persist barrier; one that has passed it must
 * not store before the others have reached it (nvw_p_barrier). */
static void meet(const struct run *run, const struct torture_step *step)
{
	const enum nvw_group group = step->group < 0 ? NVW_KERNEL : NVW_WORKGROUP;

	if (!step->persist || !emu_model_info(run->p->config.model)->meets) {
		nvw_barrier(group);
	}
	if (step->persist) {
		nvw_p_barrier(group);
	}
}

static void work_item(const void *args)
{
	struct run *const run = *(struct run *const *)args;

	for (unsigned i = run->first_step; i < run->end_step && !run->failed; i++) {
		const struct torture_step *const step = &run->p->steps[i];

		if (step->removed) {
			continue;
		}
		if (step->kind == TORTURE_ACCESS && step->work_item == nvw_global_id()) {
			access_set(run, i);
		} else if (step->kind == TORTURE_MEET &&
			   (step->group < 0 || step->group == (int)nvw_group_id())) {
			meet(run, step);
		}
	}
}

/* ---- The host ------------------------------------------------------------------------------ */

/* The expected content of a line. */
static void image_of(const struct run *run, unsigned line, uint8_t image[64])
{
	memset(image, 0, 64);
	NVW_FOR(i, run->p->variable_count) {
		const struct torture_variable *const v = &run->p->variables[i];

		if (v->line == line) {
			memcpy(image + v->offset, &run->expected[i], v->size);
		}
	}
}

static bool holds(const struct torture_variable *v, unsigned line, unsigned byte)
{
	return v->line == line && byte >= v->offset && byte < (unsigned)v->offset + v->size;
}

static void report_byte(struct run *run, unsigned line, unsigned byte, const char *what, const uint8_t *got)
{
	NVW_INVARIANT(byte < 64);
	NVW_FOR(i, run->p->variable_count) {
		const struct torture_variable *const v = &run->p->variables[i];
		uint64_t value = 0;
		char name[24];

		if (holds(v, line, byte)) {
			memcpy(&value, got + v->offset, v->size);
			report(run, "after kernel %u %s of %s is %#llx, expected %#llx", run->kernel, what,
				torture_variable_name(run->p, i, name), (unsigned long long)value,
				(unsigned long long)run->expected[i]);
		}
	}
	report(run, "after kernel %u %s of byte %u of line %u, which nobody stored, is %#x", run->kernel,
		what, byte, line, got[byte]);
}

static void compare_line(struct run *run, unsigned line, const char *what, const uint8_t *got)
{
	uint8_t image[64];

	image_of(run, line, image);
	NVW_FOR(byte, 64) {
		if (got[byte] != image[byte]) {
			report_byte(run, line, byte, what, got);
			return;
		}
	}
}

static int compare_visible(struct run *run)
{
	NVW_FOR(line, run->p->line_count) {
		uint8_t got[64];

		NVW_TRY(nvw_read(run->machine, got, run->at[line], sizeof got));
		compare_line(run, line, "the visible value", got);
	}
	return 0;
}

static int compare_durable(struct run *run)
{
	const struct nvw_pool *const pool = nvw_machine_pool(run->machine);
	const char *const base = nvw_nvram_base(run->machine);

	NVW_TRY(nvw_persist(run->machine));
	NVW_FOR(line, run->p->line_count) {
		if (run->p->lines[line].is_nvram) {
			compare_line(run, line, "the durable value",
				nvw_pool_at(pool, (nvw_off)(run->at[line] - base), 64));
		}
	}
	return 0;
}

static int host_stores(struct run *run, const struct torture_step *step)
{
	NVW_EACH(op, run->p->ops + step->first_op, step->op_count) {
		const uint64_t value = truncated(run, op->variable, op->value);

		run->expected[op->variable] = value;
		NVW_TRY(nvw_write(run->machine, address_of(run, op->variable), &value,
			run->p->variables[op->variable].size));
	}
	return 0;
}

/* The steps up to the next launch or host store; returns the first step after them. */
static unsigned kernel_end(const struct torture_program *p, unsigned first)
{
	while (first < p->step_count && p->steps[first].kind != TORTURE_LAUNCH &&
		p->steps[first].kind != TORTURE_HOST) {
		first++;
	}
	return first;
}

static int launch(struct run *run, unsigned first, unsigned end)
{
	struct run *const args[] = {run};
	const struct torture_program *const p = run->p;

	NVW_INVARIANT(first <= end && end <= p->step_count);
	run->first_step = first;
	run->end_step = end;
	const int r = nvw_launch(
		run->machine, "torture", work_item, args, (uint64_t)p->groups * p->group_size, p->group_size);

	if (run->failed) {
		return 0; /* others may have waited for work-items that gave up */
	}
	NVW_TRY(r);
	NVW_TRY(compare_visible(run));
	/* Not after every kernel, because it writes everything back. */
	return end == p->step_count || run->kernel % 2 ? compare_durable(run) : 0;
}

static int execute(struct run *run)
{
	const struct torture_program *const p = run->p;

	for (unsigned i = 0; !run->failed && i < p->step_count;) {
		const struct torture_step *const step = &p->steps[i++];

		if (step->kind == TORTURE_LAUNCH) {
			const unsigned end = kernel_end(p, i);

			NVW_TRY(launch(run, i, end));
			run->kernel += !run->failed;
			i = end;
		} else if (!step->removed) {
			NVW_TRY(host_stores(run, step));
		}
	}
	return 0;
}

/* The same wavefront again in three of four cases, otherwise any. */
static unsigned choose(void *context, unsigned count)
{
	struct run *const run = context;

	if (run->p->schedule != 2 || !nvw_random_below(&run->random, 4) || run->chosen >= count) {
		run->chosen = (unsigned)nvw_random_below(&run->random, count);
	}
	return run->chosen;
}

static int set_up(struct run *run)
{
	const struct torture_program *const p = run->p;
	char *const nvram =
		(char *)(uintptr_t)nvw_nvram_base(run->machine) + nvw_pool_geometry(run->pool)->chunks;
	char *const dram = nvw_alloc(run->machine, 64 * (p->lines[p->line_count - 1].number + 1));
	static const uint8_t zero[64];

	if (!dram) {
		return NVW_E_MEMORY;
	}
	NVW_FOR(i, p->line_count) {
		run->at[i] = (p->lines[i].is_nvram ? nvram : dram) + 64 * p->lines[i].number;
		NVW_TRY(nvw_write(run->machine, run->at[i], zero, sizeof zero));
	}
	NVW_EACH(holder, run->holder, TORTURE_SLOTS) {
		*holder = NOBODY;
	}
	if (p->schedule) {
		emu_set_scheduler(run->machine, choose, run);
	}
	return 0;
}

static int execute_with(struct run *run, const char *fault)
{
	NVW_TRY(set_up(run));
	if (fault) {
		NVW_TRY(emu_plant_fault(run->machine, fault));
	}
	return execute(run);
}

static bool is_finding(int r)
{
	return r == NVW_E_KERNEL || r == NVW_E_DEADLOCK || r == NVW_E_MODEL;
}

static struct torture_work work_of(const struct run *run)
{
	struct torture_work work = {.operations = run->operations};

	if (run->machine) {
		const struct emu_stats *const s = emu_statistics(run->machine);

		work.l1_hits = s->l1_load_hits;
		work.l1_misses = s->l1_load_misses;
		work.l2_hits = s->l2_load_hits;
		work.l2_misses = s->l2_load_misses;
	}
	return work;
}

int torture_run_program(const struct torture_program *program, struct nvw_pool *pool, const char *fault,
	char *text, size_t text_bytes, struct torture_work *ret_work)
{
	struct run run = {.p = program,
		.pool = pool,
		.random = {nvw_mix64(program->seed)},
		.text = text,
		.text_bytes = text_bytes};

	NVW_DEEP_INVARIANT(torture_program_is_valid(program));
	int r = emu_create(&program->config, pool, NULL, &run.machine);

	if (r == 0) {
		r = execute_with(&run, fault);
	}
	if (is_finding(r)) {
		report(&run, "kernel %u: %s", run.kernel, nvw_error_message());
	}
	*ret_work = work_of(&run);
	emu_destroy(run.machine);
	if (run.failed) {
		return 1;
	}
	return r < 0 ? r : 0;
}
