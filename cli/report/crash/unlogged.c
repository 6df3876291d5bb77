/* SPDX-License-Identifier: BSD-3-Clause */
/* See unlogged.h. */
#include "unlogged.h"

#include <ctype.h>
#include <string.h>

#include <crashtest/explain/cure.h>
#include <crashtest/explain/finding.h>
#include <crashtest/members.h>
#include <emu.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"

#include "../../../host/exec.h"
#include "field_words.h"
#include "../page/html_text.h"
#include "../patch/patch.h"
#include "../words.h"

enum { CURE_BYTES = 1536 };

static const struct log_words {
	const char *name;            /* in JSON */
	const char *headline;        /* of a store */
	const char *begun, *of_what; /* what has begun; its offset in what */
	const char *rule;
	const char *cure; /* where no statement can be proposed */
	const char *whose;
} logs[CT_LOG_KINDS] = {
	[CT_LOG_TRANSACTION] = {"transaction", "never added to the undo log", "transaction", "file",
		"an abort, or the recovery from a power cut, does not take it back",
		"pmemobj_tx_add_range_direct()", "libpmemobj"},
	[CT_LOG_EPOCH] = {"epoch", "never logged by nvw_undo()", "epoch", "pool",
		"recovery does not take it back if the epoch has not completed", "nvw_undo()", "nvw/epoch.h"},
	[CT_LOG_ANNOTATED] = {"annotated", "never added by VALGRIND_PMC_ADD_TO_TX", "annotated transaction",
		"file", "by what the program says of its log, nothing takes it back",
		"VALGRIND_PMC_ADD_TO_TX()", "the program's annotations"},
};

/* ---- Taking --------------------------------------------------------------------------------------- */

static void take_field(const struct host_control *c, const struct host_unlogged *from, struct nvw__field *ret)
{
	const char *const layout = host_layout_of(c, from->store);

	if (!layout || !nvw__layout_find(layout, from->at, from->bytes, from->whole, ret)) {
		*ret = (struct nvw__field){0};
	}
}

static void take(const struct host_control *c, const struct host_unlogged *from, struct ct_unlogged *ret)
{
	struct host_place store, begun;

	host_place_of(c, from->store, &store);
	host_place_of(c, from->begun, &begun);
	*ret = (struct ct_unlogged){.log = from->annotated ? CT_LOG_ANNOTATED : CT_LOG_TRANSACTION,
		.line = store.line,
		.begun_line = begun.line,
		.bytes = from->bytes,
		.off = from->off,
		.times = from->times};
	take_field(c, from, &ret->field);
	memcpy(ret->file, store.file, sizeof ret->file);
	memcpy(ret->function, store.function, sizeof ret->function);
	memcpy(ret->begun_file, begun.file, sizeof ret->begun_file);
	memcpy(ret->begun_function, begun.function, sizeof ret->begun_function);
}

const char *cli_unlogged_unseen(const struct host_control *c)
{
	if (c->transactions == 0 || c->instrumented || !(c->record || c->advice)) {
		return NULL;
	}
	return "of its transactions only calls of libpmemobj were looked at: nvwave-cc has its own stores "
	       "looked at";
}

void cli_unlogged_take(const struct host_control *c, int file, struct ct_unlogged_list *ret)
{
	*ret = (struct ct_unlogged_list){.more = c->unlogged_more};
	NVW_FOR(i, c->unlogged_count) {
		const struct host_unlogged *const from = &c->unlogged[i];

		struct ct_unlogged one;

		if (file < 0 || from->file == (uint32_t)file) {
			take(c, from, &one);
			ct_unlogged_add(ret, &one);
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
	return NVW_ANY(edit, c->edit, c->count, ct_line_is(&edit->a, u->file, u->line));
}

void cli_unlogged_mark(struct ct_result *r)
{
	NVW_EACH(f, r->finding, r->finding_count) {
		for (unsigned k = 0; k < r->unlogged.count && f->unlogged == 0; k++) {
			const struct ct_unlogged *const u = &r->unlogged.at[k];
			const bool is_cure = flushes(&f->cure, u);

			if (is_cure || is_at(u, f->cause.lost) || is_at(u, f->cause.early)) {
				f->unlogged = k + 1;
			}
			if (is_cure && u->log == CT_LOG_TRANSACTION) {
				f->cure = (struct ct_cure){0};
			}
		}
	}
}

/* ---- Text ----------------------------------------------------------------------------------------- */

static void cure_text(const struct ct_unlogged *u, char *text, size_t bytes)
{
	if (u->log != CT_LOG_TRANSACTION || cli_patch_range(u, text, bytes)) {
		snprintf(text, bytes, "%s", logs[u->log].cure);
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

	NVW_INVARIANT(u->log < CT_LOG_KINDS && u->run < NVW_COUNT(words));
	if (u->log == CT_LOG_ANNOTATED) {
		snprintf(ret_text, bytes, "put it into the log before the store, and say so there");
		return;
	}
	if (u->log == CT_LOG_EPOCH) {
		snprintf(ret_text, bytes,
			"log it before the persist barrier that comes before the store, or, if nothing "
			"durable refers to it yet or the store stands by itself, say so: nvw_undo_spare()");
		return;
	}
	cure_text(u, range, sizeof range);
	if (u->run == CT_CURE_HOLDS) {
		NVW_PRINT(held, ": no store breaks the rule then, and none of %s tested states fails",
			GROUPED(u->states));
	}
	snprintf(ret_text, bytes, "%s%s: %s before %s:%u%s%s%s", words[u->run],
		words_if(asks, " (--try-cures=COMMAND runs it)"), range, u->file, u->line, held,
		words_if(u->run_text[0], ": "), u->run_text);
}

static void tell_field(const struct nvw__field *f, FILE *to)
{
	char words[CLI_FIELD_BYTES], within[CLI_FIELD_BYTES];

	if (cli_field_is_known(f)) {
		fprintf(to, "    stores %s%s\n", cli_field_words(f, words), cli_field_within(f, within));
	}
}

static void tell_one(const struct ct_unlogged *u, bool tries, FILE *to)
{
	const struct log_words *const w = &logs[u->log];
	char text[CURE_BYTES];

	fprintf(to, "\n rule  %s: the store at %s:%u (%s)\n", w->headline, u->file, u->line, u->function);
	tell_field(&u->field, to);
	fprintf(to, "    in the %s begun at %s:%u (%s)", w->begun, u->begun_file, u->begun_line,
		u->begun_function);
	fprintf(to, ", %u byte%s at %s offset 0x%llx, %llu time%s\n", u->bytes, plural(u->bytes), w->of_what,
		(ull)u->off, (ull)u->times, plural(u->times));
	tell_cure(u, tries, text, sizeof text);
	fprintf(to, "    %s\n    %s\n", w->rule, text);
}

void cli_unlogged_text(const struct ct_unlogged_list *list, bool tries, FILE *to)
{
	NVW_INVARIANT(list->count <= CT_UNLOGGED_MAX);
	NVW_EACH(one, list->at, list->count) {
		tell_one(one, tries, to);
	}
	if (list->more > 0) {
		fprintf(to, "\n and %llu such stores at other places\n", (ull)list->more);
	}
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

static const char *log_name(enum ct_log_kind log)
{
	NVW_INVARIANT(log < CT_LOG_KINDS);
	return logs[log].name;
}

static const char *outcome_name(enum ct_cure_outcome run)
{
	static const char *const names[] = {
		[CT_CURE_NOT_RUN] = "not run", [CT_CURE_HOLDS] = "holds", [CT_CURE_REFUTED] = "refuted"};

	NVW_INVARIANT(run < NVW_COUNT(names));
	return names[run];
}

static json_t *cure_json(const void *unlogged)
{
	char text[512];

	cure_text(unlogged, text, sizeof text);
	return json_string(text);
}

#define M(key, field) MEMBER(struct ct_unlogged, key, field)
#define AS(...)       MEMBER_AS(struct ct_unlogged, __VA_ARGS__)

static const struct member store_members[] = {M("file", file), M("line", line), M("function", function), {0}};
static const struct member begun_members[] = {
	M("file", begun_file), M("line", begun_line), M("function", begun_function), {0}};
/* A report without "log" is of a version that knew transactions alone. */
static const struct member members[] = {
	AS("log", log, MEMBER_NAME, .name_of = log_name, .most = CT_LOG_KINDS),
	{.name = "store", .kind = MEMBER_RECORD, .of = store_members},
	{.name = "transaction", .kind = MEMBER_RECORD, .of = begun_members}, M("offset", off),
	M("bytes", bytes), M("times", times), {.name = "cure", .kind = MEMBER_MADE, .make = cure_json},
	AS("run", run, MEMBER_NAME, .name_of = outcome_name, .most = CT_CURE_REFUTED + 1),
	M("run_text", run_text), AS("stored", field, MEMBER_RECORD, .of = ct_field_members, .optional = true),
	{0}};
static const struct member list_members[] = {
	MEMBER_AS(struct ct_unlogged_list, "unlogged", at, MEMBER_LIST, .of = members,
		.most = CT_UNLOGGED_MAX, .count_at = offsetof(struct ct_unlogged_list, count)),
	{0}};

json_t *cli_unlogged_json(const struct ct_unlogged_list *list)
{
	json_t *const o = list->count > 0 ? members_json(list_members, list) : NULL;
	json_t *const all = json_incref(json_object_get(o, "unlogged"));

	json_decref(o);
	return all;
}

void cli_unlogged_read(const json_t *report, struct ct_unlogged_list *ret)
{
	*ret = (struct ct_unlogged_list){0};
	members_read(list_members, report, ret);
}

/* ---- A run of kernels ----------------------------------------------------------------------------- */

void cli_print_undo(const struct emu_undo_report *report, FILE *to)
{
	struct ct_unlogged_list list;

	ct_unlogged_of_run(report, &list);
	if (report->stores == 0) {
		fputs("undo log: no store was in an epoch that uses it\n", to);
		return;
	}
	fprintf(to, "undo log: %s of %s stores in epochs were not logged%s", GROUPED(report->unlogged),
		GROUPED(report->stores), words_if(report->unlogged == 0, "\n"));
	if (report->unlogged > 0) {
		fprintf(to, ", at %s%u place%s\n", words_if(report->unlisted, "more than "), list.count,
			plural(list.count));
	}
	cli_unlogged_text(&list, false, to);
}

json_t *cli_undo_json(const struct emu_undo_report *report)
{
	struct ct_unlogged_list list;

	ct_unlogged_of_run(report, &list);
	json_t *const places = cli_unlogged_json(&list);

	return json_pack("{s:I, s:I, s:I, s:o}", "stores", (json_int_t)report->stores, "unlogged",
		(json_int_t)report->unlogged, "unlisted", (json_int_t)report->unlisted, "places",
		NVW_OR(places, json_array()));
}

/* ---- Page ----------------------------------------------------------------------------------------- */

static void html_one(FILE *f, const struct ct_unlogged *u)
{
	const struct log_words *const w = &logs[u->log];
	char text[CURE_BYTES];

	tell_cure(u, true, text, sizeof text);
	fprintf(f, "<section class=\"card\"><h2>%c", toupper(w->headline[0]));
	html_print(f,
		"%s: the store at %s:%u</h2><p>It is in the %s that begins at %s:%u, and %s. This is a rule "
		"of %s, whether a tested state fails or not.</p>",
		w->headline + 1, u->file, u->line, w->begun, u->begun_file, u->begun_line, w->rule, w->whose);
	if (cli_field_is_known(&u->field)) {
		char words[CLI_FIELD_BYTES];

		html_print(f, "<p>It goes to <code>%s</code>.</p>", cli_field_words(&u->field, words));
	}
	html_print(f, "<p>%s</p></section>", text);
}

void html_unlogged(FILE *f, const struct ct_unlogged_list *list)
{
	NVW_EACH(one, list->at, list->count) {
		html_one(f, one);
	}
}
