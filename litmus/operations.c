/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a litmus test, operation by operation. See parse.h. */

#include "core/each.h"
#include "core/invariant.h"
#include "words.h"

static int take_scope(struct litmus_reader *r, enum nvw_scope *ret)
{
	static const char *const names[] = {"wi", "sg", "wg", "dev", "sys", NULL};
	static const enum nvw_scope scopes[] = {NVW_SCOPE_WORKITEM, NVW_SCOPE_WORKGROUP, NVW_SCOPE_WORKGROUP,
		NVW_SCOPE_AGENT, NVW_SCOPE_SYSTEM};
	unsigned i;

	NVW_TRY(litmus_take_choice(r, names, "a scope: wi, sg, wg, dev or sys", &i));
	NVW_INVARIANT(i < NVW_COUNT(scopes));
	*ret = scopes[i];
	if (!litmus_accept(r, ".rem")) {
		return 0;
	}
	LITMUS_FAIL_IF(
		r, *ret < NVW_SCOPE_AGENT, "only dev.rem and sys.rem are promoted, not %s.rem", names[i]);
	*ret = *ret == NVW_SCOPE_AGENT ? NVW_SCOPE_REMOTE_AGENT : NVW_SCOPE_REMOTE_SYSTEM;
	return 0;
}

static int take_to(struct litmus_reader *r, struct litmus_op *op)
{
	return litmus_take_register(r, "a register", &op->to);
}

/* "r<-x" */
static int take_from(struct litmus_reader *r, struct litmus_op *op)
{
	NVW_TRY(take_to(r, op));
	NVW_TRY(litmus_expect(r, "<-"));
	return litmus_take_variable(r, &op->variable);
}

/* An order; "plain" only where the access may be. */
static int take_order(struct litmus_reader *r, struct litmus_op *op, bool may_be_plain)
{
	static const char *const orders[] = {"rlx", "acq", "rel", "ar", "sc", "plain", NULL};
	unsigned i;

	NVW_TRY(litmus_take_choice(r, orders,
		may_be_plain ? "plain or an order: rlx, acq, rel, ar, sc" : "an order: rlx, acq, rel, ar, sc",
		&i));
	op->is_plain = i > NVW_SEQ_CST;
	LITMUS_FAIL_IF(r, op->is_plain && !may_be_plain,
		"expected an order and a scope, found plain: the access is atomic");
	if (op->is_plain) {
		return 0;
	}
	op->order = (enum nvw_order)i;
	NVW_TRY(litmus_expect(r, "."));
	return take_scope(r, &op->scope);
}

/* "(plain)" or "(order.scope)", then "+av" and "+vis", which the machine's releases and acquires imply. */
static int take_annotation(struct litmus_reader *r, struct litmus_op *op, bool may_be_plain)
{
	NVW_TRY(litmus_expect(r, "("));
	NVW_TRY(take_order(r, op, may_be_plain));
	NVW_TRY(litmus_expect(r, ")"));
	while (litmus_accept(r, "+av") || litmus_accept(r, "+vis")) {
	}
	return 0;
}

static int take_load(struct litmus_reader *r, struct litmus_op *op)
{
	op->kind = LITMUS_LOAD;
	NVW_TRY(take_annotation(r, op, true));
	return take_from(r, op);
}

/* ISSUE r<-x: a plain load, of which USE r takes the value. */
static int take_issue(struct litmus_reader *r, struct litmus_op *op)
{
	op->kind = LITMUS_ISSUE;
	op->is_plain = true;
	NVW_TRY(take_from(r, op));
	LITMUS_FAIL_IF(r, op->to < 0, "an ISSUE needs a register for its USE");
	return 0;
}

static bool is_issued(const struct litmus_thread *t, int to)
{
	NVW_EACH(op, t->op, t->op_count) {
		if (op->kind == LITMUS_ISSUE && op->to == to) {
			return true;
		}
	}
	return false;
}

static int take_use(struct litmus_reader *r, struct litmus_op *op)
{
	op->kind = LITMUS_USE;
	NVW_TRY(take_to(r, op));
	LITMUS_FAIL_IF(
		r, op->to < 0 || !is_issued(r->thread, op->to), "USE of a register without an earlier ISSUE");
	return 0;
}

static int take_store(struct litmus_reader *r, struct litmus_op *op)
{
	NVW_TRY(take_annotation(r, op, true));
	op->kind = LITMUS_STORE;
	NVW_TRY(litmus_take_variable(r, &op->variable));
	NVW_TRY(litmus_expect(r, "="));
	return litmus_take_value(r, &op->a);
}

static int take_rmw(struct litmus_reader *r, struct litmus_op *op)
{
	static const char *const names[] = {"add", "sub", "exch", "cas", NULL};
	unsigned i;

	NVW_TRY(litmus_expect(r, "."));
	NVW_TRY(litmus_take_choice(r, names, "add, sub, exch or cas", &i));
	op->kind = LITMUS_ADD + i;
	NVW_INVARIANT(op->kind <= LITMUS_COMPARE_EXCHANGE);
	NVW_TRY(take_annotation(r, op, false));
	NVW_TRY(take_from(r, op));
	NVW_TRY(litmus_expect(r, ","));
	NVW_TRY(litmus_take_value(r, &op->a));
	if (op->kind != LITMUS_COMPARE_EXCHANGE) {
		return 0;
	}
	NVW_TRY(litmus_expect(r, "->"));
	return litmus_take_value(r, &op->b);
}

static int take_fence(struct litmus_reader *r, struct litmus_op *op)
{
	op->kind = LITMUS_FENCE;
	return take_annotation(r, op, false);
}

static int take_barrier_order(struct litmus_reader *r, struct litmus_op *op)
{
	static const char *const names[] = {"none", "rlx", "acq", "rel", "ar", "sc", NULL};
	static const enum nvw_order orders[] = {
		NVW_RELAXED, NVW_RELAXED, NVW_ACQUIRE, NVW_RELEASE, NVW_ACQ_REL, NVW_SEQ_CST};
	unsigned i;

	NVW_TRY(litmus_take_choice(r, names, "wg, or an order and a scope: none, rlx, acq, rel, ar, sc", &i));
	NVW_INVARIANT(i < NVW_COUNT(orders));
	op->order = orders[i];
	NVW_TRY(litmus_expect(r, "."));
	return take_scope(r, &op->scope);
}

/*
 * "(wg)", or "(order.scope)": the execution barrier of the work-group, with memory ordered at the scope. The
 * machine's barrier orders only the work-group's memory; a wider scope needs fences around it (add_op).
 */
static int take_barrier(struct litmus_reader *r, struct litmus_op *op)
{
	unsigned number;

	op->kind = LITMUS_BARRIER;
	op->order = NVW_RELAXED;
	op->scope = NVW_SCOPE_WORKGROUP;
	NVW_TRY(litmus_expect(r, "("));
	if (!litmus_accept(r, "wg")) {
		NVW_TRY(take_barrier_order(r, op));
	}
	NVW_TRY(litmus_expect(r, ")"));
	return litmus_take_small(r, &number);
}

/* MOV r=a, ADD r=a+b */
static int take_set(struct litmus_reader *r, struct litmus_op *op)
{
	op->kind = LITMUS_SET;
	NVW_TRY(take_to(r, op));
	NVW_TRY(litmus_expect(r, "="));
	NVW_TRY(litmus_take_value(r, &op->a));
	if (!litmus_accept(r, "+")) {
		return 0;
	}
	return litmus_take_value(r, &op->b);
}

static int take_flush(struct litmus_reader *r, struct litmus_op *op)
{
	op->kind = LITMUS_FLUSH;
	return litmus_take_variable(r, &op->variable);
}

static int take_persist_barrier(struct litmus_reader *r, struct litmus_op *op)
{
	static const char *const names[] = {"wi", "wg", "kr", "sys", NULL};
	unsigned i;

	NVW_TRY(litmus_expect(r, "("));
	NVW_TRY(litmus_take_choice(r, names, "a persist barrier's scope: wi, wg, kr or sys", &i));
	op->kind = LITMUS_DRAIN;
	op->group = NVW_WORKITEM;
	if (i < 3) {
		op->kind = LITMUS_PERSIST_BARRIER;
		op->group = (enum nvw_group)i;
	}
	return litmus_expect(r, ")");
}

static int take_condition(struct litmus_reader *r, struct litmus_op *op)
{
	__auto_type condition = &op->condition[op->condition_count];

	LITMUS_FAIL_IF(r, op->condition_count == LITMUS_CONDITIONS, "more than %d conditions in a guard",
		LITMUS_CONDITIONS);
	NVW_TRY(litmus_take_source(r, "a register", &condition->register_number));
	NVW_TRY(litmus_take_relation(r, &condition->relation));
	op->condition_count++;
	return litmus_take_value(r, &condition->value);
}

static int take_guard(struct litmus_reader *r, struct litmus_op *op)
{
	do {
		NVW_TRY(take_condition(r, op));
	} while (litmus_accept(r, "&&"));
	return litmus_expect(r, "]");
}

static int append_op(struct litmus_reader *r, const struct litmus_op *op)
{
	struct litmus_thread *const t = r->thread;

	NVW_INVARIANT(t->op_count <= LITMUS_OPS);
	LITMUS_FAIL_IF(r, t->op_count == LITMUS_OPS, "more than %d operations in a thread", LITMUS_OPS);
	t->op[t->op_count++] = *op;
	return 0;
}

/* A barrier that orders memory beyond its work-group: a release before it, an acquire after it. */
static int add_op(struct litmus_reader *r, const struct litmus_op *op)
{
	const bool is_wide = op->kind == LITMUS_BARRIER && op->scope >= NVW_SCOPE_AGENT;
	struct litmus_op fence = *op;

	fence.kind = LITMUS_FENCE;
	if (is_wide && op->order >= NVW_RELEASE) {
		NVW_TRY(append_op(r, &fence));
	}
	NVW_TRY(append_op(r, op));
	if (is_wide && (op->order == NVW_ACQUIRE || op->order >= NVW_ACQ_REL)) {
		NVW_TRY(append_op(r, &fence));
	}
	return 0;
}

static int take_op(struct litmus_reader *r)
{
	static const char *const names[] = {
		"RMW", "R", "W", "F", "BAR", "MOV", "ADD", "PFLUSH", "PBARRIER", "ISSUE", "USE", NULL};
	static int (*const takes[])(struct litmus_reader *, struct litmus_op *) = {take_rmw, take_load,
		take_store, take_fence, take_barrier, take_set, take_set, take_flush, take_persist_barrier,
		take_issue, take_use};
	struct litmus_op op = {.to = -1, .a.register_number = -1, .b.register_number = -1};
	unsigned i;

	if (litmus_accept(r, "[")) {
		NVW_TRY(take_guard(r, &op));
	}
	NVW_TRY(litmus_take_choice(
		r, names, "an operation: R, W, RMW, F, BAR, MOV, ADD, PFLUSH, PBARRIER, ISSUE or USE", &i));
	NVW_INVARIANT(i < NVW_COUNT(takes));
	NVW_TRY(takes[i](r, &op));
	return add_op(r, &op);
}

/* P0@wg0,dev0 */
static int take_place(struct litmus_reader *r, unsigned expected)
{
	unsigned number = 0;

	LITMUS_FAIL_IF(r, expected == LITMUS_THREADS, "more than %d threads", LITMUS_THREADS);
	NVW_TRY(litmus_expect(r, "P"));
	NVW_TRY(litmus_take_small(r, &number));
	LITMUS_FAIL_IF(r, number != expected, "expected P%u, found P%u: threads are numbered from 0",
		expected, number);
	r->thread->line = r->line;
	NVW_TRY(litmus_expect(r, "@wg"));
	NVW_TRY(litmus_take_small(r, &r->thread->work_group));
	if (!litmus_accept(r, ",")) {
		return 0;
	}
	NVW_TRY(litmus_expect(r, "dev"));
	return litmus_take_small(r, &r->thread->device);
}

/* {op; op}; a thread may have no operation. */
static int take_ops(struct litmus_reader *r)
{
	NVW_TRY(litmus_expect(r, "{"));
	if (litmus_accept(r, "}")) {
		return 0;
	}
	do {
		NVW_TRY(take_op(r));
	} while (litmus_accept(r, ";"));
	return litmus_expect(r, "}");
}

int litmus_take_threads(struct litmus_reader *r)
{
	unsigned *const count = &r->test->thread_count;

	do {
		r->thread = &r->test->thread[*count];
		NVW_TRY(take_place(r, *count));
		NVW_TRY(take_ops(r));
		++*count;
	} while (litmus_accept(r, "||"));
	return 0;
}
