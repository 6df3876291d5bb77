/* SPDX-License-Identifier: BSD-3-Clause */
/* See bug_list.h. */
#include "../report/words.h"
#include "bug_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crashtest/states/model.h>

#include "core/invariant.h"
#include "core/print.h"
#include "../laboratory/ini_file.h"

/* ---- The file ------------------------------------------------------------------------------------ */

/* The next word of a list; returns its length, 0 at the end. */
static size_t next_word(const char **at)
{
	*at += strspn(*at, " \t");
	return strcspn(*at, " \t");
}

static struct bug *find(struct bug_list *l, const char *name)
{
	return NVW_FIND(bug, l->bug, l->count, strcmp(bug->name, name) == 0);
}

/* "bugs = NAME NAME": each is its own argument until its section says otherwise. */
static int add_bugs(struct bug_list *l, const char *names)
{
	size_t n;

	NVW_INVARIANT(l->count <= BUGS_MAX);
	for (; (n = next_word(&names)) > 0; names += n) {
		struct bug *const b = &l->bug[l->count];

		NVW_FAIL_IF(l->count == BUGS_MAX || n >= sizeof b->name, NVW_E_INPUT,
			"%s: bugs: expected at most %d names of at most %zu bytes", l->path, BUGS_MAX,
			sizeof b->name - 1);
		NVW_PRINT(b->name, "%.*s", (int)n, names);
		NVW_FAIL_IF(
			find(l, b->name), NVW_E_INPUT, "%s: bugs: there are two \"%s\"", l->path, b->name);
		NVW_PRINT(b->arguments, "%.*s", (int)n, names);
		l->count++;
	}
	return 0;
}

static int set(const struct bug_list *l, const char *name, const char *value, char *text, size_t bytes)
{
	NVW_INVARIANT(bytes > 0);
	NVW_FAIL_IF(strlen(value) >= bytes, NVW_E_INPUT, "%s: %s: expected at most %zu bytes", l->path, name,
		bytes - 1);
	snprintf(text, bytes, "%s", value);
	return 0;
}

static bool is_place(const char *text)
{
	const char *const colon = strrchr(text, ':');
	char *end;

	return colon && colon > text && strtoul(colon + 1, &end, 10) > 0 && !*end;
}

/* FILE:LINE, as reports print it. */
static int set_place(const struct bug_list *l, const char *name, const char *value, char *text, size_t bytes)
{
	NVW_FAIL_IF(!is_place(value), NVW_E_INPUT, "%s: %s: expected FILE:LINE, found \"%s\"", l->path, name,
		value);
	return set(l, name, value, text, bytes);
}

static int set_models(const struct bug_list *l, struct bug *b, const char *models)
{
	enum ct_model model;
	size_t n;

	for (const char *at = models; (n = next_word(&at)) > 0; at += n) {
		char name[32];

		NVW_PRINT(name, "%.*s", (int)n, at);
		NVW_FAIL_IF(!ct_model_find(name, &model), NVW_E_INPUT,
			"%s: harmless: expected persistency models (x86, eadr, strict ...), found "
			"\"%s\"",
			l->path, name);
	}
	return set(l, "harmless", models, b->harmless, sizeof b->harmless);
}

/* A key of the bug's section. */
static int set_key(const struct bug_list *l, struct bug *b, const char *name, const char *value)
{
	if (strcmp(name, "arguments") == 0) {
		return set(l, name, value, b->arguments, sizeof b->arguments);
	}
	if (strcmp(name, "finding") == 0) {
		return set(l, name, value, b->finding, sizeof b->finding);
	}
	if (strcmp(name, "durable") == 0) {
		return set_place(l, name, value, b->durable, sizeof b->durable);
	}
	if (strcmp(name, "lost") == 0) {
		return set_place(l, name, value, b->lost, sizeof b->lost);
	}
	if (strcmp(name, "harmless") == 0) {
		return set_models(l, b, value);
	}
	return nvw_fail(NVW_E_INPUT,
		"%s: [%s]: expected arguments, finding, durable, lost or harmless, found \"%s\"", l->path,
		b->name, name);
}

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	struct bug_list *const l = context;

	if (*section == '\0') {
		if (strcmp(name, "bugs") == 0) {
			return add_bugs(l, value);
		}
		return nvw_fail(NVW_E_INPUT,
			"%s: expected \"bugs = NAMES\" or a section [NAME], found the key \"%s\"", l->path,
			name);
	}
	struct bug *const b = find(l, section);

	NVW_FAIL_IF(!b, NVW_E_INPUT, "%s: [%s]: expected one of the names that \"bugs =\" lists", l->path,
		section);
	return set_key(l, b, name, value);
}

int bug_list_read(const char *path, struct bug_list *ret_list)
{
	*ret_list = (struct bug_list){0};
	NVW_PRINT(ret_list->path, "%s", path);
	NVW_TRY(ini_file_read(path, on_key, ret_list));
	NVW_FAIL_IF(ret_list->count == 0, NVW_E_INPUT, "%s: expected \"bugs = NAMES\", found no bug", path);
	return 0;
}

/* ---- What is found ------------------------------------------------------------------------------- */

bool bug_is_harmless(const struct bug *bug, const char *model)
{
	size_t n;

	for (const char *at = bug->harmless; (n = next_word(&at)) > 0; at += n) {
		if (text_is(at, n, model)) {
			return true;
		}
	}
	return false;
}

/* The finding has a store of this place, durable or lost. "" is everywhere; a path that is given counts from
 * its end. */
static bool has_place(const struct ct_finding *f, const char *place, bool durable)
{
	const size_t n = strlen(place);

	for (unsigned i = 0; i < f->place_count && n > 0; i++) {
		char text[192];
		const size_t all =
			(size_t)NVW_PRINT(text, "/%s:%u", f->place[i].file, (unsigned)f->place[i].line);

		if ((f->place[i].fate == CT_FATE_DURABLE) == durable && all > n && all < sizeof text &&
			text[all - n - 1] == '/' && strcmp(text + all - n, place) == 0) {
			return true;
		}
	}
	return n == 0;
}

const struct ct_finding *bug_find(const struct bug *b, const struct ct_result *result)
{
	return NVW_FIND(f, result->finding, result->finding_count,
		strstr(f->text, b->finding) && has_place(f, b->durable, true) &&
			has_place(f, b->lost, false));
}
