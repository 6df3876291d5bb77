/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form of litmus tests, parsed by recursive descent (docs/litmus.md has the grammar). Table columns
 * are read by the same functions. words.c has words and names, operations.c the threads, outcome.c the
 * outcome.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/array.h"
#include "core/each.h"
#include "words.h"

/* ---- Parts ------------------------------------------------------------------------------------------ */

/* x=1 y=2, optionally with commas */
int litmus_take_init(struct litmus_reader *r)
{
	do {
		unsigned v;

		NVW_TRY(litmus_take_variable(r, &v));
		NVW_TRY(litmus_expect(r, "="));
		NVW_TRY(litmus_take_number(r, &r->test->variable[v].initial));
		r->at += strspn(r->at, " \t,;");
	} while (litmus_is_word(*r->at));
	return 0;
}

/* forbidden, allowed; in a persist test followed by the persistency models that it applies to */
int litmus_take_verdict(struct litmus_reader *r)
{
	static const char *const verdicts[] = {"forbidden", "allowed", NULL};
	static const enum litmus_verdict said[] = {LITMUS_FORBIDDEN, LITMUS_ALLOWED};
	static const char *const models[] = {
#define MACHINE_MODEL(id, symbol, name) name,
#define STATE_MODEL(id, symbol, name)
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
		NULL};
	const int i = litmus_take_choice(r, verdicts, "forbidden or allowed");

	if (i < 0) {
		return i;
	}
	if (!r->test->verdict) {
		r->test->verdict = said[i];
	}
	for (;;) {
		r->at += strspn(r->at, " \t,");
		if (!litmus_is_word(*r->at)) {
			return 0;
		}
		const int model =
			litmus_take_choice(r, models, "a persistency model: strict, epoch or buffered-epoch");

		if (model < 0) {
			return model;
		}
		NVW_FAIL_IF(r->test->under[model], NVW_E_INPUT, "%s:%u: a second verdict for %s", r->file,
			r->line, models[model]);
		r->test->under[model] = said[i];
	}
}

int litmus_check_model(const struct litmus_reader *r)
{
	const char *near = NULL;

	if (litmus_model_is_known(r->test->model, &near)) {
		return 0;
	}
	NVW_FAIL_IF(near, NVW_E_INPUT, "%s:%u: there is no memory model \"%.60s\"; did you mean %s?", r->file,
		r->line, r->test->model, near);
	return nvw_fail(NVW_E_INPUT, "%s:%u: there is no memory model \"%.60s\"; docs/litmus.md lists them",
		r->file, r->line, r->test->model);
}

/* What the test lacks; NULL: nothing. */
static const char *missing_part(const struct litmus_test *t)
{
	const struct {
		bool is_there;
		const char *name;
	} parts[] = {
		{*t->model, "model (\"model none\" says that it has none)"},
		{t->thread_count, "thread"},
		{t->term_count, "outcome"},
		{t->verdict != LITMUS_UNSAID, "verdict"},
	};

	NVW_EACH(part, parts, NVW_COUNT(parts)) {
		if (!part->is_there) {
			return part->name;
		}
	}
	return NULL;
}

/* Registers and DRAM are lost in a crash. */
static int check_terms(const struct litmus_reader *r, struct litmus_test *t)
{
	const bool is_persist = litmus_is_persist(t);

	NVW_EACH(term, t->term, t->term_count) {
		NVW_FAIL_IF(is_persist &&
				    (term->kind == LITMUS_TERM_REGISTER || term->kind == LITMUS_TERM_MEMORY),
			NVW_E_INPUT,
			"%s:%u: test %s: the outcome is over NVRAM after a crash: it may name only "
			"nvm: "
			"variables, since registers and DRAM are lost",
			r->file, t->line, t->name);
		if (term->kind == LITMUS_TERM_NVRAM) {
			t->variable[term->index].is_nvram = true;
		}
	}
	return 0;
}

static bool has_verdict_under_a_model(const struct litmus_test *t)
{
	NVW_EACH(under, t->under, LITMUS_PERSISTENCY_COUNT) {
		if (*under != LITMUS_UNSAID) {
			return true;
		}
	}
	return false;
}

int litmus_complete(struct litmus_reader *r)
{
	struct litmus_test *const t = r->test;
	const bool is_persist = litmus_is_persist(t);

	NVW_TRY(check_terms(r, t));
	if (has_verdict_under_a_model(t)) {
		NVW_FAIL_IF(!is_persist, NVW_E_INPUT,
			"%s:%u: test %s: a verdict under a persistency model needs an outcome over "
			"NVRAM "
			"(nvm:)",
			r->file, t->line, t->name);
	} else if (is_persist) {
		t->under[LITMUS_EPOCH] = t->verdict;
	}
	NVW_FAIL_IF(missing_part(t), NVW_E_INPUT, "%s:%u: test %s has no %s", r->file, t->line, t->name,
		missing_part(t));
	return 0;
}

/* ---- The file form ---------------------------------------------------------------------------------- */

/* Takes the rest of the line. */
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
	if (!*text) {
		return litmus_expected(r, "text");
	}
	return 0;
}

static int take_model(struct litmus_reader *r)
{
	NVW_TRY(take_line(r, r->test->model, sizeof r->test->model));
	return litmus_check_model(r);
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

		NVW_TRY(litmus_take_variable(r, &v));
		r->test->variable[v].is_nvram = true;
		r->at += strspn(r->at, " \t,");
	} while (litmus_is_word(*r->at));
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
	i = litmus_take_choice(
		r, names, "a thread, or test, model, note, init, nvram, outcome, verdict or racy");
	if (i < 0) {
		return i;
	}
	NVW_FAIL_IF(!strcmp(names[i], "outcome") && r->test->term_count, NVW_E_INPUT,
		"%s:%u: test %s has a second outcome", r->file, r->line, r->test->name);
	return takes[i](r);
}

/* "test NAME" and its parts, up to the next test. */
static int take_test(struct litmus_reader *r)
{
	static const char *const begin[] = {"test", NULL};
	const int found = litmus_take_choice(r, begin, "test NAME");

	r->test->line = r->line;
	if (found < 0) {
		return found;
	}
	NVW_TRY(take_line(r, r->test->name, sizeof r->test->name));
	litmus_skip(r);
	while (*r->at && (strncmp(r->at, "test", 4) || litmus_is_word(r->at[4]))) {
		NVW_TRY(take_part(r));
		litmus_skip(r);
	}
	return litmus_complete(r);
}

struct litmus_test *litmus_list_add(struct litmus_list *list)
{
	if (!NVW_ROOM(list->test, list->capacity, list->count + 1)) {
		nvw_fail(NVW_E_MEMORY, "no memory for more than %u litmus tests", list->count);
		return NULL;
	}
	NVW_INVARIANT(list->count < list->capacity);
	memset(&list->test[list->count], 0, sizeof *list->test);
	return &list->test[list->count];
}

int litmus_parse(const char *name, const char *text, struct litmus_list *list)
{
	struct litmus_reader r = {.file = name, .line = 1, .at = text};

	for (litmus_skip(&r); *r.at; litmus_skip(&r)) {
		r.test = litmus_list_add(list);
		if (!r.test) {
			return NVW_E_MEMORY;
		}
		snprintf(r.test->file, sizeof r.test->file, "%s", name);
		NVW_TRY(take_test(&r));
		list->count++;
	}
	return 0;
}

void litmus_list_free(struct litmus_list *list)
{
	free(list->test);
	*list = (struct litmus_list){0};
}
