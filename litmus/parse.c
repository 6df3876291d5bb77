/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form of litmus tests, parsed by recursive descent (docs/litmus.md has the grammar). Table columns
 * are read by the same functions.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "parse.h"

enum { NESTING_MAX = 64 };

/* ---- Characters and words -------------------------------------------------------------------------------------- */

static int expected(const struct litmus_reader *r, const char *what)
{
	const size_t n = strcspn(r->at, " \t\r\n");

	return *r->at ? nvw_fail(NVW_E_INPUT, "%s:%u: expected %s, found \"%.*s\"", r->file, r->line, what,
				(int)(n < 24 ? n ? n : 1 : 24), r->at) :
			nvw_fail(NVW_E_INPUT, "%s:%u: expected %s, found the end of the file", r->file,
				r->line, what);
}

void litmus_skip(struct litmus_reader *r)
{
	for (; isspace((unsigned char)*r->at) || *r->at == '#'; r->at++) {
		if (*r->at == '#') {
			r->at += strcspn(r->at, "\n");
			if (!*r->at) {
				return;
			}
		}
		r->line += *r->at == '\n';
	}
}

static bool accept(struct litmus_reader *r, const char *text)
{
	litmus_skip(r);
	if (strncmp(r->at, text, strlen(text))) {
		return false;
	}
	r->at += strlen(text);
	return true;
}

static int expect(struct litmus_reader *r, const char *text)
{
	char what[32];

	snprintf(what, sizeof what, "\"%s\"", text);
	return accept(r, text) ? 0 : expected(r, what);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A word: letters, digits, "_"; does not begin with a digit. */
static int take_word(struct litmus_reader *r, char word[LITMUS_WORD], const char *what)
{
	size_t n = 0;

	litmus_skip(r);
	if (isdigit((unsigned char)*r->at) || !is_word(*r->at)) {
		return expected(r, what);
	}
	while (is_word(r->at[n])) {
		n++;
	}
	if (n >= LITMUS_WORD) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: \"%.20s...\" is longer than %d characters", r->file,
			r->line, r->at, LITMUS_WORD - 1);
	}
	memcpy(word, r->at, n);
	word[n] = 0;
	r->at += n;
	return 0;
}

static bool at_number(struct litmus_reader *r)
{
	litmus_skip(r);
	return isdigit((unsigned char)r->at[*r->at == '-']);
}

static int take_number(struct litmus_reader *r, int64_t *ret)
{
	int64_t number = 0;
	bool is_negative;

	if (!at_number(r)) {
		return expected(r, "a number");
	}
	is_negative = *r->at == '-';
	for (r->at += is_negative; isdigit((unsigned char)*r->at); r->at++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, *r->at - '0', &number)) {
			return nvw_fail(
				NVW_E_INPUT, "%s:%u: the number is too large for 64 bits", r->file, r->line);
		}
	}
	*ret = is_negative ? -number : number;
	return 0;
}

/* A number from 0 to 255: a thread, work-group, device or barrier. */
static int take_small(struct litmus_reader *r, unsigned *ret)
{
	int64_t number = 0;
	const int error = take_number(r, &number);

	if (error) {
		return error;
	}
	if (number < 0 || number > 255) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: expected a number from 0 to 255, found %lld", r->file,
			r->line, (long long)number);
	}
	*ret = (unsigned)number;
	return 0;
}

/* The next of the names; -1 and a message if there is none. */
static int take_choice(struct litmus_reader *r, const char *const *names, const char *what)
{
	litmus_skip(r);
	for (int i = 0; names[i]; i++) {
		const size_t n = strlen(names[i]);

		if (!strncmp(r->at, names[i], n) && !(is_word(names[i][n - 1]) && is_word(r->at[n]))) {
			r->at += n;
			return i;
		}
	}
	return expected(r, what);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static int find_variable(const struct litmus_test *t, const char *name)
{
	for (unsigned v = 0; v < t->variable_count; v++) {
		if (!strcmp(t->variable[v].name, name)) {
			return (int)v;
		}
	}
	return -1;
}

/* The variable with that name; created if needed. */
static int take_variable(struct litmus_reader *r, unsigned *ret)
{
	char name[LITMUS_WORD];
	const int error = take_word(r, name, "a variable");
	struct litmus_test *const t = r->test;
	int v = error ? -1 : find_variable(t, name);

	if (error) {
		return error;
	}
	if (v < 0 && t->variable_count == LITMUS_VARIABLES) {
		return nvw_fail(
			NVW_E_INPUT, "%s:%u: more than %d variables", r->file, r->line, LITMUS_VARIABLES);
	}
	if (v < 0) {
		v = (int)t->variable_count++;
		memcpy(t->variable[v].name, name, sizeof name);
	}
	*ret = (unsigned)v;
	return 0;
}

static int find_register(const struct litmus_thread *t, const char *name)
{
	for (unsigned i = 0; i < t->register_count; i++) {
		if (!strcmp(t->register_name[i], name)) {
			return (int)i;
		}
	}
	return -1;
}

/* The register with that name, created if needed; "_" stands for none. */
static int take_register(struct litmus_reader *r, struct litmus_thread *t, const char *what, int *ret)
{
	char name[LITMUS_WORD];
	const int error = take_word(r, name, what);

	if (error) {
		return error;
	}
	*ret = strcmp(name, "_") ? find_register(t, name) : -1;
	if (*ret >= 0 || !strcmp(name, "_")) {
		return 0;
	}
	if (t->register_count == LITMUS_REGISTERS) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: more than %d registers in a thread", r->file, r->line,
			LITMUS_REGISTERS);
	}
	memcpy(t->register_name[t->register_count], name, sizeof name);
	*ret = (int)t->register_count++;
	return 0;
}

/* A register that has been assigned, for reading. */
static int take_source(struct litmus_reader *r, struct litmus_thread *t, const char *what, int *ret)
{
	const int error = take_register(r, t, what, ret);

	return error || *ret >= 0 ? error : nvw_fail(NVW_E_INPUT, "%s:%u: _ has no value", r->file, r->line);
}

static int take_value(struct litmus_reader *r, struct litmus_thread *t, struct litmus_value *ret)
{
	ret->register_number = -1;
	return at_number(r) ? take_number(r, &ret->number) :
			      take_source(r, t, "a number or a register", &ret->register_number);
}

static const char *const relations[] = {
#define X(name, text) text,
	LITMUS_RELATIONS(X)
#undef X
		NULL};

static int take_relation(struct litmus_reader *r, enum litmus_relation *ret)
{
	const int i = take_choice(r, relations, "one of == != <= >= < >");

	*ret = (enum litmus_relation)(i < 0 ? 0 : i);
	return i < 0 ? i : 0;
}

/* ---- Operations ---------------------------------------------------------------------------------------------------- */

static int take_scope(struct litmus_reader *r, enum nvw_scope *ret)
{
	static const char *const names[] = {"wi", "sg", "wg", "dev", "sys", NULL};
	static const enum nvw_scope scopes[] = {NVW_SCOPE_WORKITEM, NVW_SCOPE_WORKGROUP, NVW_SCOPE_WORKGROUP,
		NVW_SCOPE_AGENT, NVW_SCOPE_SYSTEM};
	const int i = take_choice(r, names, "a scope: wi, sg, wg, dev or sys");

	if (i < 0) {
		return i;
	}
	*ret = scopes[i];
	if (!accept(r, ".rem")) {
		return 0;
	}
	if (*ret < NVW_SCOPE_AGENT) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: only dev.rem and sys.rem are promoted, not %s.rem",
			r->file, r->line, names[i]);
	}
	*ret = *ret == NVW_SCOPE_AGENT ? NVW_SCOPE_REMOTE_AGENT : NVW_SCOPE_REMOTE_SYSTEM;
	return 0;
}

/* "(plain)" or "(order.scope)", then "+av" and "+vis", which the machine's releases and acquires imply. */
static int take_annotation(struct litmus_reader *r, struct litmus_op *op, bool may_be_plain)
{
	static const char *const orders[] = {"rlx", "acq", "rel", "ar", "sc", "plain", NULL};
	int error = expect(r, "("), i;

	if (error) {
		return error;
	}
	i = take_choice(r, orders,
		may_be_plain ? "plain or an order: rlx, acq, rel, ar, sc" :
			       "an order: rlx, acq, rel, ar, sc");
	if (i < 0) {
		return i;
	}
	op->is_plain = i > NVW_SEQ_CST;
	if (op->is_plain && !may_be_plain) {
		return nvw_fail(NVW_E_INPUT,
			"%s:%u: expected an order and a scope, found plain: the access is atomic", r->file,
			r->line);
	}
	if (!op->is_plain) {
		op->order = (enum nvw_order)i;
		error = expect(r, ".");
		error = error ? error : take_scope(r, &op->scope);
	}
	error = error ? error : expect(r, ")");
	while (!error && (accept(r, "+av") || accept(r, "+vis"))) {
	}
	return error;
}

static int take_load(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	int error = take_annotation(r, op, true);

	op->kind = LITMUS_LOAD;
	error = error ? error : take_register(r, t, "a register", &op->to);
	error = error ? error : expect(r, "<-");
	return error ? error : take_variable(r, &op->variable);
}

/* ISSUE r<-x: a plain load, of which USE r takes the value. */
static int take_issue(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	int error = take_register(r, t, "a register", &op->to);

	op->kind = LITMUS_ISSUE;
	op->is_plain = true;
	error = error ? error : expect(r, "<-");
	error = error ? error : take_variable(r, &op->variable);
	return error || op->to >= 0 ? error :
				      nvw_fail(NVW_E_INPUT, "%s:%u: an ISSUE needs a register for its USE",
					      r->file, r->line);
}

static int take_use(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	const int error = take_register(r, t, "a register", &op->to);

	op->kind = LITMUS_USE;
	for (unsigned i = 0; !error && op->to >= 0 && i < t->op_count; i++) {
		if (t->op[i].kind == LITMUS_ISSUE && t->op[i].to == op->to) {
			return 0;
		}
	}
	return error ? error :
		       nvw_fail(NVW_E_INPUT, "%s:%u: USE of a register without an earlier ISSUE", r->file,
			       r->line);
}

static int take_store(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	int error = take_annotation(r, op, true);

	op->kind = LITMUS_STORE;
	error = error ? error : take_variable(r, &op->variable);
	error = error ? error : expect(r, "=");
	return error ? error : take_value(r, t, &op->a);
}

static int take_rmw(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	static const char *const names[] = {"add", "sub", "exch", "cas", NULL};
	int error = expect(r, "."), i;

	if (error) {
		return error;
	}
	i = take_choice(r, names, "add, sub, exch or cas");
	if (i < 0) {
		return i;
	}
	op->kind = (enum litmus_op_kind)(LITMUS_ADD + i);
	error = take_annotation(r, op, false);
	error = error ? error : take_register(r, t, "a register", &op->to);
	error = error ? error : expect(r, "<-");
	error = error ? error : take_variable(r, &op->variable);
	error = error ? error : expect(r, ",");
	error = error ? error : take_value(r, t, &op->a);
	if (!error && op->kind == LITMUS_COMPARE_EXCHANGE) {
		error = expect(r, "->");
		error = error ? error : take_value(r, t, &op->b);
	}
	return error;
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
	int error = expect(r, "("), i;

	(void)t;
	op->kind = LITMUS_BARRIER;
	op->order = NVW_RELAXED;
	op->scope = NVW_SCOPE_WORKGROUP;
	if (!error && !accept(r, "wg")) {
		i = take_choice(r, orders, "wg, or an order and a scope: none, rlx, acq, rel, ar, sc");
		if (i < 0) {
			return i;
		}
		op->order = i ? (enum nvw_order)(i - 1) : NVW_RELAXED;
		error = expect(r, ".");
		error = error ? error : take_scope(r, &op->scope);
	}
	error = error ? error : expect(r, ")");
	return error ? error : take_small(r, &number);
}

/* MOV r=a, ADD r=a+b */
static int take_set(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	int error = take_register(r, t, "a register", &op->to);

	op->kind = LITMUS_SET;
	error = error ? error : expect(r, "=");
	error = error ? error : take_value(r, t, &op->a);
	return error || !accept(r, "+") ? error : take_value(r, t, &op->b);
}

static int take_flush(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	(void)t;
	op->kind = LITMUS_FLUSH;
	return take_variable(r, &op->variable);
}

static int take_persist_barrier(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	static const char *const names[] = {"wi", "wg", "kr", "sys", NULL};
	const int error = expect(r, "(");
	int i;

	(void)t;
	if (error) {
		return error;
	}
	i = take_choice(r, names, "a persist barrier's scope: wi, wg, kr or sys");
	if (i < 0) {
		return i;
	}
	op->kind = i < 3 ? LITMUS_PERSIST_BARRIER : LITMUS_DRAIN;
	op->group = i < 3 ? (enum nvw_group)i : NVW_WORKITEM;
	return expect(r, ")");
}

static int take_guard(struct litmus_reader *r, struct litmus_thread *t, struct litmus_op *op)
{
	int error = 0;

	do {
		const unsigned i = op->condition_count;

		if (i == LITMUS_CONDITIONS) {
			return nvw_fail(NVW_E_INPUT, "%s:%u: more than %d conditions in a guard", r->file,
				r->line, LITMUS_CONDITIONS);
		}
		error = take_source(r, t, "a register", &op->condition[i].register_number);
		error = error ? error : take_relation(r, &op->condition[i].relation);
		error = error ? error : take_value(r, t, &op->condition[i].value);
		op->condition_count++;
	} while (!error && accept(r, "&&"));
	return error ? error : expect(r, "]");
}

static int append_op(struct litmus_reader *r, struct litmus_thread *t, const struct litmus_op *op)
{
	if (t->op_count == LITMUS_OPS) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: more than %d operations in a thread", r->file, r->line,
			LITMUS_OPS);
	}
	t->op[t->op_count++] = *op;
	return 0;
}

/* A barrier that orders memory beyond its work-group: a release before it, an acquire after it. */
static int add_op(struct litmus_reader *r, struct litmus_thread *t, const struct litmus_op *op)
{
	const bool is_wide = op->kind == LITMUS_BARRIER && op->scope >= NVW_SCOPE_AGENT;
	struct litmus_op fence = *op;
	int error = 0;

	fence.kind = LITMUS_FENCE;
	if (is_wide && op->order >= NVW_RELEASE) {
		error = append_op(r, t, &fence);
	}
	error = error ? error : append_op(r, t, op);
	if (!error && is_wide && (op->order == NVW_ACQUIRE || op->order >= NVW_ACQ_REL)) {
		error = append_op(r, t, &fence);
	}
	return error;
}

static int take_op(struct litmus_reader *r, struct litmus_thread *t)
{
	static const char *const names[] = {
		"RMW", "R", "W", "F", "BAR", "MOV", "ADD", "PFLUSH", "PBARRIER", "ISSUE", "USE", NULL};
	static int (*const takes[])(struct litmus_reader *, struct litmus_thread *, struct litmus_op *) = {
		take_rmw, take_load, take_store, take_fence, take_barrier, take_set, take_set, take_flush,
		take_persist_barrier, take_issue, take_use};
	struct litmus_op op = {.to = -1, .a.register_number = -1, .b.register_number = -1};
	int error = accept(r, "[") ? take_guard(r, t, &op) : 0, i;

	if (error) {
		return error;
	}
	i = take_choice(
		r, names, "an operation: R, W, RMW, F, BAR, MOV, ADD, PFLUSH, PBARRIER, ISSUE or USE");
	if (i < 0) {
		return i;
	}
	error = takes[i](r, t, &op);
	return error ? error : add_op(r, t, &op);
}

/* P0@wg0,dev0{op; op}; a thread may have no operation. */
static int take_thread(struct litmus_reader *r)
{
	struct litmus_test *const test = r->test;
	struct litmus_thread *const t = &test->thread[test->thread_count];
	unsigned number = 0;
	int error;

	if (test->thread_count == LITMUS_THREADS) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: more than %d threads", r->file, r->line, LITMUS_THREADS);
	}
	error = expect(r, "P");
	error = error ? error : take_small(r, &number);
	if (!error && number != test->thread_count) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: expected P%u, found P%u: threads are numbered from 0",
			r->file, r->line, test->thread_count, number);
	}
	t->line = r->line;
	error = error ? error : expect(r, "@wg");
	error = error ? error : take_small(r, &t->work_group);
	if (!error && accept(r, ",")) {
		error = expect(r, "dev");
		error = error ? error : take_small(r, &t->device);
	}
	error = error ? error : expect(r, "{");
	if (!error && accept(r, "}")) {
		test->thread_count++;
		return 0;
	}
	do {
		error = error ? error : take_op(r, t);
	} while (!error && accept(r, ";"));
	test->thread_count += !error;
	return error ? error : expect(r, "}");
}

int litmus_take_threads(struct litmus_reader *r)
{
	int error;

	do {
		error = take_thread(r);
	} while (!error && accept(r, "||"));
	return error;
}

/* ---- Outcomes -------------------------------------------------------------------------------------------------------- */

static int add_term(struct litmus_reader *r, struct litmus_term term)
{
	if (r->test->term_count == LITMUS_TERMS) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: the outcome has more than %d terms", r->file, r->line,
			LITMUS_TERMS);
	}
	r->test->term[r->test->term_count++] = term;
	return 0;
}

/* 0:r0 */
static int take_register_term(struct litmus_reader *r)
{
	struct litmus_term term = {.kind = LITMUS_TERM_REGISTER};
	char name[LITMUS_WORD];
	int error = take_small(r, &term.thread), i;

	error = error ? error : expect(r, ":");
	error = error ? error : take_word(r, name, "a register");
	if (error) {
		return error;
	}
	if (term.thread >= r->test->thread_count) {
		return nvw_fail(NVW_E_INPUT,
			"%s:%u: the outcome names thread %u; the number of threads is %u", r->file, r->line,
			term.thread, r->test->thread_count);
	}
	i = find_register(&r->test->thread[term.thread], name);
	if (i < 0) {
		return nvw_fail(NVW_E_INPUT,
			"%s:%u: the outcome names register %s, which thread %u does not use", r->file,
			r->line, name, term.thread);
	}
	term.index = (unsigned)i;
	return add_term(r, term);
}

/* x, nvm:x */
static int take_memory_term(struct litmus_reader *r)
{
	struct litmus_term term = {.kind = accept(r, "nvm:") ? LITMUS_TERM_NVRAM : LITMUS_TERM_MEMORY};
	char name[LITMUS_WORD];
	const int error = take_word(r, name, "a variable, or thread:register");
	const int v = error ? -1 : find_variable(r->test, name);

	if (error) {
		return error;
	}
	if (v < 0) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: the outcome names variable %s, which no thread uses",
			r->file, r->line, name);
	}
	term.index = (unsigned)v;
	return add_term(r, term);
}

static int take_comparison(struct litmus_reader *r)
{
	struct litmus_term number = {.kind = LITMUS_TERM_NUMBER};
	enum litmus_relation relation;
	int error;

	litmus_skip(r);
	error = isdigit((unsigned char)*r->at) ? take_register_term(r) : take_memory_term(r);
	error = error ? error : take_relation(r, &relation);
	error = error ? error : take_number(r, &number.number);
	error = error ? error : add_term(r, number);
	return error ? error :
		       add_term(r, (struct litmus_term){.kind = LITMUS_TERM_RELATION, .index = relation});
}

static int take_any(struct litmus_reader *r, unsigned depth);

static int take_one(struct litmus_reader *r, unsigned depth)
{
	int error;

	if (depth > NESTING_MAX) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: the outcome is nested more than %d deep", r->file,
			r->line, NESTING_MAX);
	}
	if (accept(r, "!")) {
		error = take_one(r, depth + 1);
		return error ? error : add_term(r, (struct litmus_term){.kind = LITMUS_TERM_NOT});
	}
	if (accept(r, "(")) {
		error = take_any(r, depth + 1);
		return error ? error : expect(r, ")");
	}
	return take_comparison(r);
}

static int take_all(struct litmus_reader *r, unsigned depth)
{
	int error = take_one(r, depth);

	while (!error && accept(r, "&&")) {
		error = take_one(r, depth);
		error = error ? error : add_term(r, (struct litmus_term){.kind = LITMUS_TERM_AND});
	}
	return error;
}

static int take_any(struct litmus_reader *r, unsigned depth)
{
	int error = take_all(r, depth);

	while (!error && accept(r, "||")) {
		error = take_all(r, depth);
		error = error ? error : add_term(r, (struct litmus_term){.kind = LITMUS_TERM_OR});
	}
	return error;
}

int litmus_take_outcome(struct litmus_reader *r)
{
	const char *from;
	int error, n;

	litmus_skip(r);
	from = r->at;
	error = take_any(r, 0);
	for (n = (int)(r->at - from); n && isspace((unsigned char)from[n - 1]); n--) {
	}
	snprintf(r->test->outcome_text, sizeof r->test->outcome_text, "%.*s", n, from);
	for (char *c = r->test->outcome_text; *c; c++) {
		*c = isspace((unsigned char)*c) ? ' ' : *c;
	}
	return error;
}

/* ---- Other parts -------------------------------------------------------------------------------------------------------- */

/* x=1 y=2, optionally with commas */
int litmus_take_init(struct litmus_reader *r)
{
	do {
		unsigned v;
		int error = take_variable(r, &v);

		error = error ? error : expect(r, "=");
		error = error ? error : take_number(r, &r->test->variable[v].initial);
		if (error) {
			return error;
		}
		r->at += strspn(r->at, " \t,;");
	} while (is_word(*r->at));
	return 0;
}

/* forbidden, allowed; in a persist test followed by the persistency models that it applies to */
int litmus_take_verdict(struct litmus_reader *r)
{
	static const char *const verdicts[] = {"forbidden", "allowed", NULL};
	static const char *const models[] = {
#define MACHINE_MODEL(id, symbol, name) name,
#define STATE_MODEL(id, symbol, name)
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
		NULL};
	const int i = take_choice(r, verdicts, "forbidden or allowed");
	const enum litmus_verdict verdict = i == 0 ? LITMUS_FORBIDDEN : LITMUS_ALLOWED;

	if (i < 0) {
		return i;
	}
	r->test->verdict = r->test->verdict ? r->test->verdict : verdict;
	for (;;) {
		int model;

		r->at += strspn(r->at, " \t,");
		if (!is_word(*r->at)) {
			return 0;
		}
		model = take_choice(r, models, "a persistency model: strict, epoch or buffered-epoch");
		if (model < 0) {
			return model;
		}
		if (r->test->under[model]) {
			return nvw_fail(NVW_E_INPUT, "%s:%u: a second verdict for %s", r->file, r->line,
				models[model]);
		}
		r->test->under[model] = verdict;
	}
}

int litmus_check_model(const struct litmus_reader *r)
{
	const char *near = NULL;

	if (litmus_model_is_known(r->test->model, &near)) {
		return 0;
	}
	return nvw_fail(NVW_E_INPUT, "%s:%u: there is no memory model \"%.60s\"%s%s%s", r->file, r->line,
		r->test->model, near ? "; did you mean " : "; docs/litmus.md lists them", near ? near : "",
		near ? "?" : "");
}

/* Checks for missing or inconsistent parts. */
int litmus_complete(struct litmus_reader *r)
{
	struct litmus_test *const t = r->test;
	const bool is_persist = litmus_is_persist(t);
	unsigned under = 0;

	for (unsigned i = 0; i < t->term_count; i++) {
		if (is_persist &&
			(t->term[i].kind == LITMUS_TERM_REGISTER || t->term[i].kind == LITMUS_TERM_MEMORY)) {
			return nvw_fail(NVW_E_INPUT,
				"%s:%u: test %s: the outcome is over NVRAM after a crash: it may name only nvm: variables, since registers and DRAM are lost",
				r->file, t->line, t->name);
		}
		if (t->term[i].kind == LITMUS_TERM_NVRAM) {
			t->variable[t->term[i].index].is_nvram = true;
		}
	}
	for (unsigned i = 0; i < LITMUS_PERSISTENCY_COUNT; i++) {
		under += t->under[i] != LITMUS_UNSAID;
	}
	if (under && !is_persist) {
		return nvw_fail(NVW_E_INPUT,
			"%s:%u: test %s: a verdict under a persistency model needs an outcome over NVRAM (nvm:)",
			r->file, t->line, t->name);
	}
	if (!under && is_persist) {
		t->under[LITMUS_EPOCH] = t->verdict;
	}
	if (!*t->model || !t->thread_count || !t->term_count || !t->verdict) {
		return nvw_fail(NVW_E_INPUT, "%s:%u: test %s has no %s", r->file, t->line, t->name,
			!*t->model       ? "model (\"model none\" says that it has none)" :
			!t->thread_count ? "thread" :
			!t->term_count   ? "outcome" :
					   "verdict");
	}
	return 0;
}

/* ---- The file form ---------------------------------------------------------------------------------------------------- */

/* The rest of the line. */
static int take_line(struct litmus_reader *r, char *text, size_t room)
{
	int n;

	r->at += strspn(r->at, " \t");
	n = (int)strcspn(r->at, "\n#");
	snprintf(text, room, "%.*s", n, r->at);
	r->at += n;
	for (n = (int)strlen(text); n && isspace((unsigned char)text[n - 1]); n--) {
		text[n - 1] = 0;
	}
	return *text ? 0 : expected(r, "text");
}

static int take_model(struct litmus_reader *r)
{
	const int error = take_line(r, r->test->model, sizeof r->test->model);

	return error ? error : litmus_check_model(r);
}

static int take_note(struct litmus_reader *r)
{
	char note[8];

	return take_line(r, note, sizeof note);
}

static int take_racy(struct litmus_reader *r)
{
	r->test->is_racy = true;
	return 0;
}

static int take_nvram(struct litmus_reader *r)
{
	do {
		unsigned v;
		const int error = take_variable(r, &v);

		if (error) {
			return error;
		}
		r->test->variable[v].is_nvram = true;
		r->at += strspn(r->at, " \t,");
	} while (is_word(*r->at));
	return 0;
}

static int take_part(struct litmus_reader *r)
{
	static const char *const names[] = {
		"model", "note", "init", "nvram", "outcome", "verdict", "racy", NULL};
	static int (*const takes[])(struct litmus_reader *) = {take_model, take_note, litmus_take_init,
		take_nvram, litmus_take_outcome, litmus_take_verdict, take_racy};
	int i;

	if (*r->at == 'P' && isdigit((unsigned char)r->at[1])) {
		return litmus_take_threads(r);
	}
	i = take_choice(r, names, "a thread, or test, model, note, init, nvram, outcome, verdict or racy");
	if (i < 0) {
		return i;
	}
	if (!strcmp(names[i], "outcome") && r->test->term_count) {
		return nvw_fail(
			NVW_E_INPUT, "%s:%u: test %s has a second outcome", r->file, r->line, r->test->name);
	}
	return takes[i](r);
}

/* "test NAME" and its parts, up to the next test. */
static int take_test(struct litmus_reader *r)
{
	static const char *const begin[] = {"test", NULL};
	int error;

	error = take_choice(r, begin, "test NAME");
	r->test->line = r->line;
	error = error < 0 ? error : take_line(r, r->test->name, sizeof r->test->name);
	for (litmus_skip(r); !error && *r->at && !(!strncmp(r->at, "test", 4) && !is_word(r->at[4]));
		litmus_skip(r)) {
		error = take_part(r);
	}
	return error ? error : litmus_complete(r);
}

struct litmus_test *litmus_list_add(struct litmus_list *list)
{
	if (!NVW_ROOM(list->test, list->capacity, list->count + 1)) {
		nvw_fail(NVW_E_MEMORY, "no memory for more than %u litmus tests", list->count);
		return NULL;
	}
	memset(&list->test[list->count], 0, sizeof *list->test);
	return &list->test[list->count];
}

int litmus_parse(const char *name, const char *text, struct litmus_list *list)
{
	struct litmus_reader r = {.file = name, .line = 1, .at = text};

	for (litmus_skip(&r); *r.at; litmus_skip(&r)) {
		int error;

		r.test = litmus_list_add(list);
		if (!r.test) {
			return NVW_E_MEMORY;
		}
		snprintf(r.test->file, sizeof r.test->file, "%s", name);
		error = take_test(&r);
		if (error) {
			return error;
		}
		list->count++;
	}
	return 0;
}

void litmus_list_free(struct litmus_list *list)
{
	free(list->test);
	*list = (struct litmus_list){0};
}
