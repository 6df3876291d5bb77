/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel that executes a test: each thread is a work-item in a wavefront of its own.
 *
 * A work-item follows a script with the operations of its thread and, in some situations, other loads and
 * stores between them. The order of steps without an effect on other work-items does not matter: such a step
 * is executed as early as possible, and the search covers only the orders of the operations.
 *
 * Mapping
 *   (1) A fence is an acq_rel read-modify-write of its scope on one variable that all threads share (alsop16
 *       III.C.3).
 *   (2) A work-item without a thread completes its work-group; it takes part in the barriers of the group's
 *       first thread.
 *   (3) PFLUSH does nothing, and PBARRIER(sys) is a persist barrier of work-item scope, the nearest
 *       equivalent in gope18.
 */
#include <string.h>

#include "core/each.h"

#include "core/invariant.h"
#include "internal.h"

static unsigned work_items(const struct litmus_execution *x)
{
	return x->geometry.groups * x->geometry.group_size;
}

/* ---- Scripts ---------------------------------------------------------------------------------------- */

static void append(struct litmus_execution *x, unsigned item, struct litmus_step step)
{
	NVW_INVARIANT(item < LITMUS_ITEMS);
	if (x->script[item].count < LITMUS_SCRIPT) {
		x->script[item].step[x->script[item].count++] = step;
	}
}

static void warm_up(struct litmus_execution *x, unsigned item)
{
	NVW_FOR(v, x->test->variable_count) {
		if (x->situation.warm >> v & 1) {
			append(x, item, (struct litmus_step){.at = x->variable[v]});
		}
	}
}

static uint64_t *other_line(const struct litmus_execution *x, unsigned item, uint64_t i)
{
	NVW_INVARIANT(item < LITMUS_ITEMS);
	return x->others + 8 * (LITMUS_OTHER_LINES * item + i % LITMUS_OTHER_LINES);
}

/* Accesses up to two lines of its own, so that others are evicted. */
static void disturb(struct litmus_execution *x, unsigned item, unsigned where)
{
	uint64_t h = nvw_mix64(x->situation.evicting + 64 * item + where);

	for (unsigned n = x->situation.evicting ? h % 3 : 0; n; n--) {
		h = nvw_mix64(h);
		append(x, item, (struct litmus_step){.at = other_line(x, item, h), .is_store = h >> 8 & 1});
	}
}

/* Fills one more line of the store buffer, so that earlier stores leave it. */
static void push_out(struct litmus_execution *x, unsigned item, const struct litmus_op *op)
{
	if (x->situation.drains && op->kind >= LITMUS_STORE && op->kind <= LITMUS_COMPARE_EXCHANGE) {
		append(x, item, (struct litmus_step){.at = other_line(x, item, 0), .is_store = true});
	}
}

static bool is_group_wide(const struct litmus_op *op)
{
	return op->kind == LITMUS_BARRIER ||
	       (op->kind == LITMUS_PERSIST_BARRIER && op->group != NVW_WORKITEM);
}

/* A work-item without a thread takes part in the first thread's barriers. */
static void write_barriers(struct litmus_execution *x, unsigned item)
{
	NVW_INVARIANT(x->geometry.thread[item] < 0);

	const int first = x->geometry.thread[item - item % x->geometry.group_size];
	const struct litmus_thread *const t = &x->test->thread[first];

	NVW_EACH(op, t->op, t->op_count) {
		if (is_group_wide(op) && !op->condition_count) {
			append(x, item, (struct litmus_step){.op = op});
		}
	}
}

static void write_script(struct litmus_execution *x, unsigned item)
{
	NVW_INVARIANT(x->geometry.thread[item] >= 0);

	const struct litmus_thread *const t = &x->test->thread[x->geometry.thread[item]];

	warm_up(x, item);
	NVW_EACH(op, t->op, t->op_count) {
		append(x, item, (struct litmus_step){.op = op});
		push_out(x, item, op);
		disturb(x, item, (unsigned)(op - t->op));
	}
}

/* The work-item's next action, from step i on. */
static enum litmus_next next_from(const struct litmus_execution *x, unsigned item, unsigned i)
{
	for (; i < x->script[item].count && x->geometry.thread[item] >= 0; i++) {
		const struct litmus_op *const op = x->script[item].step[i].op;

		if (!op || op->kind == LITMUS_USE) {
			return LITMUS_NEXT_ALONE;
		}
		if (op->kind != LITMUS_SET && op->kind != LITMUS_FLUSH) {
			return LITMUS_NEXT_SHARED;
		}
	}
	return LITMUS_NEXT_ALONE; /* it returns, or completes its group */
}

/* ---- Waiting ---------------------------------------------------------------------------------------- */

static void go_on(struct litmus_execution *x, unsigned first, unsigned count)
{
	NVW_INVARIANT(first + count <= work_items(x));
	for (unsigned i = first; i < first + count; i++) {
		if (x->next[i] == LITMUS_NEXT_WAITS) {
			x->next[i] = LITMUS_NEXT_SHARED;
		}
	}
}

/* The work-item is about to wait for others; the last to arrive does not wait. */
static void arrive(struct litmus_execution *x, unsigned item, const struct litmus_op *op)
{
	const unsigned size = x->geometry.group_size, group = item / size, items = work_items(x);
	unsigned *const arrived = &x->arrived[group][op->kind == LITMUS_PERSIST_BARRIER];

	if (!is_group_wide(op) || (op->kind == LITMUS_PERSIST_BARRIER && !x->barriers_stall)) {
		return;
	}
	x->next[item] = LITMUS_NEXT_WAITS;
	if (op->kind == LITMUS_PERSIST_BARRIER && op->group == NVW_KERNEL) {
		if (++x->arrived_kernel == items) {
			x->arrived_kernel = 0;
			go_on(x, 0, items);
		}
	} else if (++*arrived == size) {
		*arrived = 0;
		go_on(x, group * size, size);
	}
}

/* ---- The interpreter -------------------------------------------------------------------------------- */

static int64_t value_of(const int64_t *registers, struct litmus_value v)
{
	return v.register_number < 0 ? v.number : registers[v.register_number];
}

static bool is_skipped(const struct litmus_op *op, const int64_t *registers)
{
	NVW_EACH(condition, op->condition, op->condition_count) {
		if (!litmus_related(registers[condition->register_number], condition->relation,
			    value_of(registers, condition->value))) {
			return true;
		}
	}
	return false;
}

static void persist_barrier(enum nvw_group group)
{
	nvw_p_barrier(group);
}
const unsigned litmus_persist_barrier_line = __LINE__ - 2;

static uint64_t perform(const struct litmus_execution *x, const struct litmus_op *op, uint64_t a, uint64_t b)
{
	uint64_t *const p = x->variable[op->variable];

	switch (op->kind) {
	case LITMUS_LOAD:
		return op->is_plain ? nvw_load(p) : nvw_atomic_load(p, op->order, op->scope);
	case LITMUS_STORE:
		if (op->is_plain) {
			nvw_store(p, a);
		} else {
			nvw_atomic_store(p, a, op->order, op->scope);
		}
		return 0;
	case LITMUS_ADD:
		return nvw_atomic_add(p, a, op->order, op->scope);
	case LITMUS_SUB:
		return nvw_atomic_sub(p, a, op->order, op->scope);
	case LITMUS_EXCHANGE:
		return nvw_atomic_exchange(p, a, op->order, op->scope);
	case LITMUS_COMPARE_EXCHANGE:
		return nvw_atomic_compare_exchange(p, a, b, op->order, op->scope);
	case LITMUS_FENCE:
		return nvw_atomic_add(
			x->fence, 0, op->order == NVW_SEQ_CST ? NVW_SEQ_CST : NVW_ACQ_REL, op->scope);
	case LITMUS_BARRIER:
		nvw_barrier(NVW_WORKGROUP);
		return 0;
	case LITMUS_PERSIST_BARRIER:
		persist_barrier(op->group);
		return 0;
	case LITMUS_DRAIN:
		persist_barrier(NVW_WORKITEM);
		return 0;
	case LITMUS_FLUSH:
		return 0;
	default: /* LITMUS_SET */
		return a + b;
	}
}

static void execute_op(struct litmus_execution *x, unsigned item, const struct litmus_op *op)
{
	const int thread = x->geometry.thread[item];
	int64_t none[LITMUS_REGISTERS] = {0};
	int64_t *const registers = thread < 0 ? none : x->state.registers[thread];

	if (is_skipped(op, registers)) {
		return;
	}
	if (op->kind == LITMUS_ISSUE) {
		x->issued[thread][op->to] = nvw_load_issue(x->variable[op->variable]);
		return;
	}
	if (op->kind == LITMUS_USE) {
		registers[op->to] = (int64_t)nvw_load_use(x->issued[thread][op->to], uint64_t);
		return;
	}
	arrive(x, item, op);
	const uint64_t a = (uint64_t)value_of(registers, op->a), b = (uint64_t)value_of(registers, op->b);
	const uint64_t result = perform(x, op, a, b);

	if (op->to >= 0) {
		registers[op->to] = (int64_t)result;
	}
}

static void take_step(struct litmus_execution *x, unsigned item, const struct litmus_step *s)
{
	if (s->op) {
		execute_op(x, item, s->op);
	} else if (s->is_store) {
		nvw_store(s->at, 1);
	} else {
		(void)nvw_load(s->at);
	}
}

static void interpret(const void *args)
{
	struct litmus_execution *const x = *(struct litmus_execution *const *)args;
	const unsigned item = (unsigned)nvw_global_id();

	NVW_FOR(i, x->script[item].count) {
		x->next[item] = next_from(x, item, i + 1);
		take_step(x, item, &x->script[item].step[i]);
	}
	x->next[item] = LITMUS_NEXT_NOTHING;
}

/* ---- Scheduling ------------------------------------------------------------------------------------- */

static void note_turn(struct litmus_search *s, int thread)
{
	NVW_INVARIANT(thread < LITMUS_THREADS);
	if (s->turns < LITMUS_STEPS) {
		s->turn[s->turns++] = (int8_t)thread;
	}
}

/* The work-items that can go on, in order. */
static unsigned find_ready(const struct litmus_execution *x, unsigned ready[LITMUS_ITEMS])
{
	unsigned n = 0;

	NVW_FOR(i, work_items(x)) {
		if (x->next[i] <= LITMUS_NEXT_SHARED) {
			ready[n++] = i;
		}
	}
	return n;
}

/* Wavefronts are offered in the order of their work-items. */
static unsigned choose(void *context, unsigned count)
{
	struct litmus_execution *const x = context;
	unsigned ready[LITMUS_ITEMS];
	const unsigned n = find_ready(x, ready);

	/* A barrier may have opened unexpectedly: then the identity of the wavefronts is unknown. */
	if (x->is_anonymous || n != count) {
		return litmus_search_choose(x->search, count);
	}
	NVW_EACH(item, ready, n) {
		if (x->next[*item] == LITMUS_NEXT_ALONE) {
			return (unsigned)(item - ready);
		}
	}
	const unsigned chosen = litmus_search_choose(x->search, count);

	note_turn(x->search, x->geometry.thread[ready[chosen]]);
	return chosen;
}

/* ---- One execution ---------------------------------------------------------------------------------- */

unsigned litmus_variable_offset(const struct litmus_situation *s, unsigned v)
{
	const unsigned words = 1 + s->shares_lines;

	NVW_INVARIANT(v < LITMUS_VARIABLES);
	return v / words * 64 + v % words * 8;
}

/* Each variable at its place in DRAM or, where the test has a pool, NVRAM. */
static int place_variables(struct litmus_execution *x, struct nvw_machine *m, char *dram)
{
	struct nvw_pool *const pool = nvw_machine_pool(m);

	NVW_INVARIANT(x->test->variable_count <= LITMUS_VARIABLES);
	NVW_FOR(v, x->test->variable_count) {
		const struct litmus_variable *const variable = &x->test->variable[v];
		char *base = dram;

		if (pool && variable->is_nvram) {
			base = (char *)(uintptr_t)nvw_nvram_base(m) + nvw_pool_geometry(pool)->chunks;
		}
		x->variable[v] = (uint64_t *)(void *)(base + litmus_variable_offset(&x->situation, v));
		if (variable->initial || pool) {
			NVW_TRY(nvw_write(m, x->variable[v], &variable->initial, sizeof variable->initial));
		}
	}
	return 0;
}

static void write_scripts(struct litmus_execution *x)
{
	NVW_FOR(i, work_items(x)) {
		x->script[i].count = 0;
		if (x->geometry.thread[i] < 0) {
			write_barriers(x, i);
		} else {
			write_script(x, i);
		}
		x->next[i] = next_from(x, i, 0);
	}
}

int litmus_execution_prepare(struct litmus_execution *x, struct nvw_machine *m)
{
	char *const dram = nvw_alloc(m, (LITMUS_VARIABLES + 1 + LITMUS_OTHER_LINES * work_items(x)) * 64);

	NVW_ALLOCATED(dram, "the machine's DRAM has no room for a litmus test");
	x->fence = (uint64_t *)(void *)(dram + LITMUS_VARIABLES * 64);
	x->others = x->fence + 8;
	x->barriers_stall = nvw_machine_pool(m) && emu_model_info(emu_machine_config(m)->model)->meets;
	x->arrived_kernel = 0;
	memset(x->arrived, 0, sizeof x->arrived);
	memset(&x->state, 0, sizeof x->state);
	memset(x->issued, 0, sizeof x->issued);
	NVW_TRY(place_variables(x, m, dram));
	write_scripts(x);
	return 0;
}

int litmus_execution_run(struct litmus_execution *x, struct nvw_machine *m)
{
	if (x->search) {
		litmus_search_begin(x->search);
		emu_set_scheduler(m, choose, x);
	}
	return nvw_launch(m, "litmus", interpret, &x, work_items(x), x->geometry.group_size);
}

int litmus_execution_read(struct litmus_execution *x, struct nvw_machine *m)
{
	NVW_FOR(v, x->test->variable_count) {
		NVW_TRY(nvw_read(m, &x->state.memory[v], x->variable[v], sizeof x->state.memory[v]));
	}
	return 0;
}
