/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a litmus test, operation by operation. See parse.h. */

#include "words.h"

static int take_scope(struct litmus_reader *r, enum nvw_scope *ret)
{
	static const char *const names[] = {"wi", "sg", "wg", "dev", "sys", NULL};
	static const enum nvw_scope scopes[] = {NVW_SCOPE_WORKITEM, NVW_SCOPE_WORKGROUP, NVW_SCOPE_WORKGROUP,
		NVW_SCOPE_AGENT, NVW_SCOPE_SYSTEM};
	const int i = litmus_take_choice(r, names, "a scope: wi, sg, wg, dev or sys");

	if (i < 0) {
		return i;
	}
	*ret = scopes[i];
	if (!litmus_accept(r, ".rem")) {
		return 0;
	}
	NVW_FAIL_IF(*ret < NVW_SCOPE_AGENT, NVW_E_INPUT,
		"%s:%u: only dev.rem and sys.rem are promoted, not %s.rem", r->file, r->line, names[i]);
	*ret = *ret == NVW_SCOPE_AGENT ? NVW_SCOPE_REMOTE_AGENT : NVW_SCOPE_REMOTE_SYSTEM;
	return 0;
}

/* "(plain)" or "(order.scope)", then "+av" and "+vis", which the machine's releases and acquires imply. */
static int take_annotation(struct litmus_reader *r, struct litmus_op *op, bool may_be_plain)
{
	static const char *const orders[] = {"rlx", "acq", "rel", "ar", "sc", "plain", NULL};
	int i;

	NVW_TRY(litmus_expect(r, "("));
	i = litmus_take_choice(r, orders,
		may_be_plain ? "plain or an order: rlx, acq, rel, ar, sc" :
			       "an order: rlx, acq, rel, ar, sc");
	if (i < 0) {
		return i;
	}
	op->is_plain = i > NVW_SEQ_CST;
	NVW_FAIL_IF(op->is_plain && !may_be_plain, NVW_E_INPUT,
		"%s:%u: expected an order and a scope, found plain: the access is atomic", r->file, r->line);
	if (!op->is_plain) {
		op->order = (enum nvw_order)i;
		NVW_TRY(litmus_expect(r, "."));
		NVW_TRY(take_scope(r, &op->scope));
	}
	NVW_TRY(litmus_expect(r, ")"));
	while (litmus_accept(r, "+av") || litmus_accept(r, "+vis")) {
	}
	return 0;
}

static int take_load(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	NVW_TRY(take_annotation(r, op, true));
	op->kind = LITMUS_LOAD;
	NVW_TRY(litmus_take_register(r, t, "a register", &op->to));
	NVW_TRY(litmus_expect(r, "<-"));
	return litmus_take_variable(r, &op->variable);
}

/* ISSUE r<-x: a plain load, of which USE r takes the value. */
static int take_issue(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	NVW_TRY(litmus_take_register(r, t, "a register", &op->to));
	op->kind = LITMUS_ISSUE;
	op->is_plain = true;
	NVW_TRY(litmus_expect(r, "<-"));
	NVW_TRY(litmus_take_variable(r, &op->variable));
	NVW_FAIL_IF(
		op->to < 0, NVW_E_INPUT, "%s:%u: an ISSUE needs a register for its USE", r->file, r->line);
	return 0;
}

static int take_use(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	NVW_TRY(litmus_take_register(r, t, "a register", &op->to));
	op->kind = LITMUS_USE;
	for (unsigned i = 0; op->to >= 0 && i < t->op_count; i++) {
		if (t->op[i].kind == LITMUS_ISSUE && t->op[i].to == op->to) {
			return 0;
		}
	}
	return nvw_fail(NVW_E_INPUT, "%s:%u: USE of a register without an earlier ISSUE", r->file, r->line);
}

static int take_store(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	NVW_TRY(take_annotation(r, op, true));
	op->kind = LITMUS_STORE;
	NVW_TRY(litmus_take_variable(r, &op->variable));
	NVW_TRY(litmus_expect(r, "="));
	return litmus_take_value(r, t, &op->a);
}

static int take_rmw(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	static const char *const names[] = {"add", "sub", "exch", "cas", NULL};
	int i;

	NVW_TRY(litmus_expect(r, "."));
	i = litmus_take_choice(r, names, "add, sub, exch or cas");
	if (i < 0) {
		return i;
	}
	op->kind = (enum litmus_op_kind)(LITMUS_ADD + i);
	NVW_TRY(take_annotation(r, op, false));
	NVW_TRY(litmus_take_register(r, t, "a register", &op->to));
	NVW_TRY(litmus_expect(r, "<-"));
	NVW_TRY(litmus_take_variable(r, &op->variable));
	NVW_TRY(litmus_expect(r, ","));
	NVW_TRY(litmus_take_value(r, t, &op->a));
	if (op->kind == LITMUS_COMPARE_EXCHANGE) {
		NVW_TRY(litmus_expect(r, "->"));
		NVW_TRY(litmus_take_value(r, t, &op->b));
	}
	return 0;
}

static int take_fence(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	(void)t;
	op->kind = LITMUS_FENCE;
	return take_annotation(r, op, false);
}

/*
 * "(wg)", or "(order.scope)": the execution barrier of the work-group, with memory ordered at the scope. The
 * machine's barrier orders only the work-group's memory; a wider scope needs fences around it (add_op).
 */
static int take_barrier(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	static const char *const orders[] = {"none", "rlx", "acq", "rel", "ar", "sc", NULL};
	unsigned number;
	int i;

	NVW_TRY(litmus_expect(r, "("));
	(void)t;
	op->kind = LITMUS_BARRIER;
	op->order = NVW_RELAXED;
	op->scope = NVW_SCOPE_WORKGROUP;
	if (!litmus_accept(r, "wg")) {
		i = litmus_take_choice(r, orders, "wg, or an order and a scope: none, rlx, acq, rel, ar, sc");
		if (i < 0) {
			return i;
		}
		if (i > 0) {
			op->order = (enum nvw_order)(i - 1);
		}
		NVW_TRY(litmus_expect(r, "."));
		NVW_TRY(take_scope(r, &op->scope));
	}
	NVW_TRY(litmus_expect(r, ")"));
	return litmus_take_small(r, &number);
}

/* MOV r=a, ADD r=a+b */
static int take_set(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	NVW_TRY(litmus_take_register(r, t, "a register", &op->to));
	op->kind = LITMUS_SET;
	NVW_TRY(litmus_expect(r, "="));
	NVW_TRY(litmus_take_value(r, t, &op->a));
	if (!litmus_accept(r, "+")) {
		return 0;
	}
	return litmus_take_value(r, t, &op->b);
}

static int take_flush(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	(void)t;
	op->kind = LITMUS_FLUSH;
	return litmus_take_variable(r, &op->variable);
}

static int take_persist_barrier(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	static const char *const names[] = {"wi", "wg", "kr", "sys", NULL};
	int i;

	NVW_TRY(litmus_expect(r, "("));
	(void)t;
	i = litmus_take_choice(r, names, "a persist barrier's scope: wi, wg, kr or sys");
	if (i < 0) {
		return i;
	}
	op->kind = LITMUS_DRAIN;
	op->group = NVW_WORKITEM;
	if (i < 3) {
		op->kind = LITMUS_PERSIST_BARRIER;
		op->group = (enum nvw_group)i;
	}
	return litmus_expect(r, ")");
}

static int take_guard(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	do {
		const unsigned i = op->condition_count;

		NVW_FAIL_IF(i == LITMUS_CONDITIONS, NVW_E_INPUT, "%s:%u: more than %d conditions in a guard",
			r->file, r->line, LITMUS_CONDITIONS);
		NVW_TRY(litmus_take_source(r, t, "a register", &op->condition[i].register_number));
		NVW_TRY(litmus_take_relation(r, &op->condition[i].relation));
		NVW_TRY(litmus_take_value(r, t, &op->condition[i].value));
		op->condition_count++;
	} while (litmus_accept(r, "&&"));
	return litmus_expect(r, "]");
}

static int append_op(struct litmus_reader *r, struct litmus_thread *t, const struct litmus_op *op)
{
	NVW_FAIL_IF(t->op_count == LITMUS_OPS, NVW_E_INPUT, "%s:%u: more than %d operations in a thread",
		r->file, r->line, LITMUS_OPS);
	t->op[t->op_count++] = *op;
	return 0;
}

/* A barrier that orders memory beyond its work-group: a release before it, an acquire after it. */
static int add_op(struct litmus_reader *r, struct litmus_thread *t, const struct litmus_op *op)
{
	const bool is_wide = op->kind == LITMUS_BARRIER && op->scope >= NVW_SCOPE_AGENT;
	struct litmus_op fence = *op;

	fence.kind = LITMUS_FENCE;
	if (is_wide && op->order >= NVW_RELEASE) {
		NVW_TRY(append_op(r, t, &fence));
	}
	NVW_TRY(append_op(r, t, op));
	if (is_wide && (op->order == NVW_ACQUIRE || op->order >= NVW_ACQ_REL)) {
		NVW_TRY(append_op(r, t, &fence));
	}
	return 0;
}

static int take_op(struct litmus_reader *r, struct litmus_thread *t)
{
	static const char *const names[] = {
		"RMW", "R", "W", "F", "BAR", "MOV", "ADD", "PFLUSH", "PBARRIER", "ISSUE", "USE", NULL};
	static int (*const takes[])(struct litmus_reader *, struct litmus_thread *, struct litmus_op *) = {
		take_rmw, take_load, take_store, take_fence, take_barrier, take_set, take_set, take_flush,
		take_persist_barrier, take_issue, take_use};
	struct litmus_op op = {.to = -1, .a.register_number = -1, .b.register_number = -1};

	int i;

	if (litmus_accept(r, "[")) {
		NVW_TRY(take_guard(r, t, &op));
	}
	i = litmus_take_choice(
		r, names, "an operation: R, W, RMW, F, BAR, MOV, ADD, PFLUSH, PBARRIER, ISSUE or USE");
	if (i < 0) {
		return i;
	}
	NVW_TRY(takes[i](r, t, &op));
	return add_op(r, t, &op);
}

/* P0@wg0,dev0{op; op}; a thread may have no operation. */
static int take_thread(struct litmus_reader *r)
{
	struct litmus_test *const test = r->test;
	struct litmus_thread *const t = &test->thread[test->thread_count];
	unsigned number = 0;

	NVW_FAIL_IF(test->thread_count == LITMUS_THREADS, NVW_E_INPUT, "%s:%u: more than %d threads", r->file,
		r->line, LITMUS_THREADS);
	NVW_TRY(litmus_expect(r, "P"));
	NVW_TRY(litmus_take_small(r, &number));
	NVW_FAIL_IF(number != test->thread_count, NVW_E_INPUT,
		"%s:%u: expected P%u, found P%u: threads are numbered from 0", r->file, r->line,
		test->thread_count, number);
	t->line = r->line;
	NVW_TRY(litmus_expect(r, "@wg"));
	NVW_TRY(litmus_take_small(r, &t->work_group));
	if (litmus_accept(r, ",")) {
		NVW_TRY(litmus_expect(r, "dev"));
		NVW_TRY(litmus_take_small(r, &t->device));
	}
	NVW_TRY(litmus_expect(r, "{"));
	if (litmus_accept(r, "}")) {
		test->thread_count++;
		return 0;
	}
	do {
		NVW_TRY(take_op(r, t));
	} while (litmus_accept(r, ";"));
	test->thread_count++;
	return litmus_expect(r, "}");
}

int litmus_take_threads(struct litmus_reader *r)
{
	do {
		NVW_TRY(take_thread(r));
	} while (litmus_accept(r, "||"));
	return 0;
}
