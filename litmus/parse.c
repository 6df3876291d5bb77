/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form of litmus tests, parsed by recursive descent (docs/litmus.md has the grammar). Table columns
 * are read by the same functions. words.c has words and names, operations.c the threads, outcome.c the outcome.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "words.h"

/* ---- Parts -------------------------------------------------------------------------------------------------------- */

/* x=1 y=2, optionally with commas */
int litmus_take_init(struct litmus_reader *r)
{
	do {
		unsigned v;
		int error = litmus_take_variable(r, &v);

		error = error ? error : litmus_expect(r, "=");
		error = error ? error : litmus_take_number(r, &r->test->variable[v].initial);
		if (error) {
			return error;
		}
		r->at += strspn(r->at, " \t,;");
	} while (litmus_is_word(*r->at));
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
	const int i = litmus_take_choice(r, verdicts, "forbidden or allowed");
	const enum litmus_verdict verdict = i == 0 ? LITMUS_FORBIDDEN : LITMUS_ALLOWED;

	if (i < 0) {
		return i;
	}
	r->test->verdict = r->test->verdict ? r->test->verdict : verdict;
	for (;;) {
		int model;

		r->at += strspn(r->at, " \t,");
		if (!litmus_is_word(*r->at)) {
			return 0;
		}
		model = litmus_take_choice(r, models, "a persistency model: strict, epoch or buffered-epoch");
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
	return *text ? 0 : litmus_expected(r, "text");
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
		const int error = litmus_take_variable(r, &v);

		if (error) {
			return error;
		}
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

	error = litmus_take_choice(r, begin, "test NAME");
	r->test->line = r->line;
	error = error < 0 ? error : take_line(r, r->test->name, sizeof r->test->name);
	for (litmus_skip(r); !error && *r->at && !(!strncmp(r->at, "test", 4) && !litmus_is_word(r->at[4]));
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
