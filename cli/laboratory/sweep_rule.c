/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of a sweep: terms over the values of axes. See sweep.h. */
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/units.h"
#include "sweep.h"

static int parse_term(const struct sweep *s, const char *what, char *word, struct sweep_term *t)
{
	static const char *const ops[] = {"!=", "<=", ">=", "=", "<", ">"};
	char *const at = word + strcspn(word, "!<>=");
	const unsigned op = NVW_INDEX(i, 6, !strncmp(at, ops[i], strlen(ops[i])));

	NVW_FAIL_IF(op == 6 || at == word || !at[strlen(ops[op])], NVW_E_USAGE,
		"%s: %s: expected terms such as scope=kernel or batch<=count, found \"%s\"", s->where, what,
		word);
	NVW_PRINT(t->op, "%s", ops[op]);
	const char *const text = at + strlen(ops[op]);

	*at = 0;
	const int axis = sweep_axis_named(s, word);

	NVW_FAIL_IF(axis < 0, NVW_E_USAGE, "%s: %s: there is no axis %s", s->where, what, word);
	t->axis = (unsigned)axis;
	t->other = sweep_axis_named(s, text);
	t->text = strdup(text);
	NVW_ALLOCATED(t->text, SWEEP_NO_MEMORY);
	return 0;
}

static int add_term(const struct sweep *s, const char *what, char *word, struct sweep_rule *rule)
{
	NVW_FAIL_IF(rule->count == SWEEP_TERMS_MAX, NVW_E_USAGE, "%s: %s: there are more than %d terms",
		s->where, what, SWEEP_TERMS_MAX);
	NVW_TRY(parse_term(s, what, word, &rule->term[rule->count]));
	rule->count++;
	return 0;
}

int sweep_rule_parse(const struct sweep *s, const char *what, struct sweep_rule *rule)
{
	NVW_INVARIANT(rule->text);

	char *const copy = strdup(rule->text), *rest = copy, *next;
	int r = 0;

	NVW_ALLOCATED(copy, SWEEP_NO_MEMORY);
	while (r == 0 && (next = strtok_r(rest, " \t", &rest))) {
		r = add_term(s, what, next, rule);
	}
	free(copy);
	return r;
}

static bool is_number(const char *text, uint64_t *ret)
{
	return nvw_parse_count(text, ret) == 0 || nvw_parse_bytes(text, ret) == 0;
}

/* Numbers, with k, M and units of size; texts otherwise. */
static int compare_values(const char *a, const char *b)
{
	uint64_t x, y;

	if (is_number(a, &x) && is_number(b, &y)) {
		return NVW_ORDER(x, y);
	}
	return strcmp(a, b);
}

/* Whether the value is one of the list's, separated by |. */
static bool is_among(const char *value, const char *list)
{
	for (const char *at = list; *at; at += *at == '|') {
		const size_t n = strcspn(at, "|");
		char *const one = strndup(at, n);
		const bool same = one && compare_values(value, one) == 0;

		free(one);
		if (same) {
			return true;
		}
		at += n;
	}
	return false;
}

static bool term_holds(const struct sweep *s, const struct sweep_term *t, const struct sweep_point *p)
{
	const char *const value = sweep_value(s, p, t->axis);
	const char *const with = t->other < 0 ? t->text : sweep_value(s, p, (unsigned)t->other);

	if (t->op[0] == '=') {
		return is_among(value, with);
	}
	if (t->op[0] == '!') {
		return !is_among(value, with);
	}
	const int order = compare_values(value, with);

	return (t->op[1] && order == 0) || (t->op[0] == '<' ? order < 0 : order > 0);
}

bool sweep_holds(const struct sweep *s, const struct sweep_rule *rule, const struct sweep_point *p)
{
	NVW_INVARIANT(rule->count <= SWEEP_TERMS_MAX);
	return !NVW_ANY(term, rule->term, rule->count, !term_holds(s, term, p));
}

void sweep_rule_end(struct sweep_rule *rule)
{
	NVW_EACH(term, rule->term, rule->count) {
		free(term->text);
	}
	free(rule->text);
}
