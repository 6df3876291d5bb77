/* SPDX-License-Identifier: BSD-3-Clause */
/* See unlogged.h. */
#include "unlogged.h"

#include <string.h>

#include <crashtest/explain/cure.h>

#include "../../host/exec.h"
#include "html_text.h"
#include "patch.h"
#include "words.h"

typedef unsigned long long ull;

enum { CURE_BYTES = 1536 };

static const char rule[] = "an abort, or the recovery from a power cut, does not take it back";

/* ---- Taking --------------------------------------------------------------------------------------- */

static void take(const struct host_control *c, const struct host_unlogged *from, struct ct_unlogged *ret)
{
	struct host_place store, begun;

	host_place_of(c, from->store, &store);
	host_place_of(c, from->begun, &begun);
	*ret = (struct ct_unlogged){.line = store.line,
		.begun_line = begun.line,
		.bytes = from->bytes,
		.off = from->off,
		.times = from->times};
	memcpy(ret->file, store.file, sizeof ret->file);
	memcpy(ret->function, store.function, sizeof ret->function);
	memcpy(ret->begun_file, begun.file, sizeof ret->begun_file);
	memcpy(ret->begun_function, begun.function, sizeof ret->begun_function);
}

/* The same lines: a statement may store by several instructions. */
static struct ct_unlogged *find_alike(struct ct_unlogged_list *list, const struct ct_unlogged *one)
{
	for (unsigned i = 0; i < list->count; i++) {
		struct ct_unlogged *const u = &list->at[i];

		if (u->line == one->line && u->begun_line == one->begun_line &&
			strcmp(u->file, one->file) == 0 && strcmp(u->begun_file, one->begun_file) == 0) {
			return u;
		}
	}
	return NULL;
}

static void add(struct ct_unlogged_list *list, const struct ct_unlogged *one)
{
	struct ct_unlogged *const alike = find_alike(list, one);

	if (alike != NULL) {
		alike->times += one->times;
	} else if (list->count < CT_UNLOGGED_MAX) {
		list->at[list->count++] = *one;
	} else {
		list->more += one->times;
	}
}

void cli_unlogged_take(const struct host_control *c, int file, struct ct_unlogged_list *ret)
{
	*ret = (struct ct_unlogged_list){.more = c->unlogged_more};
	for (uint32_t i = 0; i < c->unlogged_count; i++) {
		const struct host_unlogged *const from = &c->unlogged[i];

		struct ct_unlogged one;

		if (file < 0 || from->file == (uint32_t)file) {
			take(c, from, &one);
			add(ret, &one);
		}
	}
}

/* ---- Which one a finding is of -------------------------------------------------------------------- */

static bool is_at(const struct ct_unlogged *u, const char *place)
{
	struct ct_line line;

	return ct_propose_line(place, "", &line) && ct_line_is(&line, u->file, u->line);
}

static bool flushes(const struct ct_cure *c, const struct ct_unlogged *u)
{
	for (unsigned k = 0; k < c->count; k++) {
		if (ct_line_is(&c->edit[k].a, u->file, u->line)) {
			return true;
		}
	}
	return false;
}

void cli_unlogged_mark(struct ct_result *r)
{
	for (unsigned i = 0; i < r->finding_count; i++) {
		struct ct_finding *const f = &r->finding[i];

		for (unsigned k = 0; k < r->unlogged.count && f->unlogged == 0; k++) {
			const struct ct_unlogged *const u = &r->unlogged.at[k];
			const bool is_cure = flushes(&f->cure, u);

			if (is_cure || is_at(u, f->cause.lost) || is_at(u, f->cause.early)) {
				f->unlogged = k + 1;
			}
			if (is_cure) {
				f->cure = (struct ct_cure){.count = 0};
			}
		}
	}
}

/* ---- Text ----------------------------------------------------------------------------------------- */

static void cure_text(const struct ct_unlogged *u, char *text, size_t bytes)
{
	const char *const why = cli_patch_range(u, text, bytes);

	if (why != NULL) {
		snprintf(text, bytes, "pmemobj_tx_add_range_direct()");
	}
}

/* The range, and how far it was tried. tries: the command can run it. */
static void tell_cure(const struct ct_unlogged *u, bool tries, char *ret_text, size_t bytes)
{
	static const char *const words[] = {[CT_CURE_NOT_RUN] = "not verified",
		[CT_CURE_HOLDS] = "verified by running",
		[CT_CURE_REFUTED] = "refuted by running"};
	const bool asks = tries && u->run == CT_CURE_NOT_RUN && u->run_text[0] == '\0';
	char range[512], held[128] = "";

	cure_text(u, range, sizeof range);
	if (u->run == CT_CURE_HOLDS) {
		snprintf(held, sizeof held,
			": no store breaks the rule then, and none of %s tested states fails",
			GROUPED(u->states));
	}
	snprintf(ret_text, bytes, "%s%s: %s before %s:%u%s%s%s", words[u->run],
		words_if(asks, " (--try-cures=COMMAND runs it)"), range, u->file, u->line, held,
		words_if(u->run_text[0], ": "), u->run_text);
}

void cli_unlogged_text(const struct ct_unlogged_list *list, bool tries, FILE *to)
{
	for (unsigned i = 0; i < list->count; i++) {
		const struct ct_unlogged *const u = &list->at[i];
		char text[CURE_BYTES];

		fprintf(to, "\n rule  never added to the undo log: the store at %s:%u (%s)\n", u->file,
			u->line, u->function);
		fprintf(to, "    in the transaction begun at %s:%u (%s)", u->begun_file, u->begun_line,
			u->begun_function);
		fprintf(to, ", %u byte%s at file offset 0x%llx, %llu time%s\n", u->bytes, plural(u->bytes),
			(ull)u->off, (ull)u->times, plural(u->times));
		tell_cure(u, tries, text, sizeof text);
		fprintf(to, "    %s\n    %s\n", rule, text);
	}
	if (list->more > 0) {
		fprintf(to, "\n and %llu such stores at other places\n", (ull)list->more);
	}
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

json_t *cli_unlogged_json(const struct ct_unlogged_list *list)
{
	static const char *const outcomes[] = {
		[CT_CURE_NOT_RUN] = "not run", [CT_CURE_HOLDS] = "holds", [CT_CURE_REFUTED] = "refuted"};
	json_t *const all = json_array();

	for (unsigned i = 0; i < list->count; i++) {
		const struct ct_unlogged *const u = &list->at[i];
		char text[512];

		cure_text(u, text, sizeof text);
		json_array_append_new(
			all, json_pack("{s:{s:s, s:i, s:s}, s:{s:s, s:i, s:s}, s:I, s:i, s:I, s:s, s:s, s:s}",
				     "store", "file", u->file, "line", (int)u->line, "function", u->function,
				     "transaction", "file", u->begun_file, "line", (int)u->begun_line,
				     "function", u->begun_function, "offset", (json_int_t)u->off, "bytes",
				     (int)u->bytes, "times", (json_int_t)u->times, "cure", text, "run",
				     outcomes[u->run], "run_text", u->run_text));
	}
	if (json_array_size(all) == 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}

static const char *string_of(const json_t *o, const char *name)
{
	return words_or(json_string_value(json_object_get(o, name)), "");
}

static uint64_t number_of(const json_t *o, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(o, name));
}

static void read_one(const json_t *o, struct ct_unlogged *ret)
{
	const json_t *const store = json_object_get(o, "store"), *const begun =
									 json_object_get(o, "transaction");

	*ret = (struct ct_unlogged){.line = (uint32_t)number_of(store, "line"),
		.begun_line = (uint32_t)number_of(begun, "line"),
		.bytes = (uint32_t)number_of(o, "bytes"),
		.off = number_of(o, "offset"),
		.times = number_of(o, "times")};
	snprintf(ret->file, sizeof ret->file, "%s", string_of(store, "file"));
	snprintf(ret->function, sizeof ret->function, "%s", string_of(store, "function"));
	snprintf(ret->begun_file, sizeof ret->begun_file, "%s", string_of(begun, "file"));
	snprintf(ret->begun_function, sizeof ret->begun_function, "%s", string_of(begun, "function"));
}

void cli_unlogged_read(const json_t *list, struct ct_unlogged_list *ret)
{
	const json_t *row;
	size_t i;

	*ret = (struct ct_unlogged_list){.count = 0};
	json_array_foreach(list, i, row)
	{
		if (ret->count < CT_UNLOGGED_MAX) {
			read_one(row, &ret->at[ret->count++]);
		}
	}
}

/* ---- Page ----------------------------------------------------------------------------------------- */

void html_unlogged(FILE *f, const struct ct_unlogged_list *list)
{
	for (unsigned i = 0; i < list->count; i++) {
		const struct ct_unlogged *const u = &list->at[i];
		char text[CURE_BYTES];

		tell_cure(u, true, text, sizeof text);
		fputs("<section class=\"card\"><h2>Never added to the undo log: the store at ", f);
		html_text(f, u->file);
		fprintf(f, ":%u</h2><p>It is in the transaction that begins at ", u->line);
		html_text(f, u->begun_file);
		fprintf(f,
			":%u, and %s. This is a rule of libpmemobj, whether a tested state fails or not.</p>",
			u->begun_line, rule);
		fputs("<p>", f);
		html_text(f, text);
		fputs("</p></section>", f);
	}
}
