/* SPDX-License-Identifier: BSD-3-Clause */
/* Outcomes: evaluation, and final states as text. */
#include <inttypes.h>
#include <stdio.h>

#include "litmus.h"
#include "core/each.h"
#include "core/invariant.h"

bool litmus_related(int64_t a, enum litmus_relation relation, int64_t b)
{
	switch (relation) {
	case LITMUS_EQ:
		return a == b;
	case LITMUS_NE:
		return a != b;
	case LITMUS_LE:
		return a <= b;
	case LITMUS_GE:
		return a >= b;
	case LITMUS_LT:
		return a < b;
	default:
		return a > b;
	}
}

static int64_t operand(const struct litmus_term *t, const struct litmus_state *s)
{
	NVW_DEEP_INVARIANT(t->thread < LITMUS_THREADS);
	switch (t->kind) {
	case LITMUS_TERM_NUMBER:
		return t->number;
	case LITMUS_TERM_REGISTER:
		return s->registers[t->thread][t->index];
	default:
		return s->memory[t->index];
	}
}

bool litmus_holds(const struct litmus_test *test, const struct litmus_state *state)
{
	int64_t stack[LITMUS_TERMS];
	unsigned n = 0;

	NVW_EACH(t, test->term, test->term_count) {
		switch (t->kind) {
		case LITMUS_TERM_RELATION:
			n--;
			stack[n - 1] = litmus_related(stack[n - 1], t->index, stack[n]);
			break;
		case LITMUS_TERM_AND:
			n--;
			stack[n - 1] = stack[n - 1] && stack[n];
			break;
		case LITMUS_TERM_OR:
			n--;
			stack[n - 1] = stack[n - 1] || stack[n];
			break;
		case LITMUS_TERM_NOT:
			stack[n - 1] = !stack[n - 1];
			break;
		default:
			stack[n++] = operand(t, state);
		}
	}
	return stack[0];
}

static bool names_variable(const struct litmus_test *test, unsigned variable)
{
	NVW_EACH(term, test->term, test->term_count) {
		if ((term->kind == LITMUS_TERM_MEMORY || term->kind == LITMUS_TERM_NVRAM) &&
			term->index == variable) {
			return true;
		}
	}
	return false;
}

void litmus_state_text(
	const struct litmus_test *test, const struct litmus_state *state, char *text, size_t room)
{
	size_t n = 0;

	text[0] = 0;
	for (unsigned t = 0; !litmus_is_persist(test) && t < test->thread_count; t++) {
		for (unsigned r = 0; r < test->thread[t].register_count && n < room; r++) {
			n += (size_t)snprintf(text + n, room - n, "%s%u:%s=%" PRId64, n ? " " : "", t,
				test->thread[t].register_name[r], state->registers[t][r]);
		}
	}
	for (unsigned v = 0; v < test->variable_count && n < room; v++) {
		if (names_variable(test, v)) {
			n += (size_t)snprintf(text + n, room - n, "%s%s=%" PRId64, n ? " " : "",
				test->variable[v].name, state->memory[v]);
		}
	}
}

bool litmus_is_persist(const struct litmus_test *test)
{
	NVW_EACH(term, test->term, test->term_count) {
		if (term->kind == LITMUS_TERM_NVRAM) {
			return true;
		}
	}
	return false;
}

bool litmus_has_op(const struct litmus_test *test, enum litmus_op_kind kind)
{
	NVW_EACH(thread, test->thread, test->thread_count) {
		NVW_EACH(op, thread->op, thread->op_count) {
			if (op->kind == kind) {
				return true;
			}
		}
	}
	return false;
}

const char *litmus_persistency_name(enum litmus_persistency persistency)
{
	static const char *const names[] = {
#define MACHINE_MODEL(id, symbol, name) name,
#define STATE_MODEL(id, symbol, name)
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
	};

	NVW_INVARIANT(persistency < NVW_COUNT(names));
	return names[persistency];
}
