/* SPDX-License-Identifier: BSD-3-Clause */
/* Results as lists of problems. See problems.h. */
#include "../crash/field_words.h"
#include "problems.h"

#include <stdlib.h>
#include <string.h>

#include <crashtest/explain/cure.h>

#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "../patch/patch.h"
#include "../crash/unlogged.h"
#include "../words.h"

enum { TEXT_BYTES = 4096 };

/* ---- Rules --------------------------------------------------------------------------------------- */

static const struct cli_rule rules[] = {
	{"missing-barrier", "Nothing orders two stores to persistent memory.",
		"A store that another one relies on may be lost in a power cut. Put a persist barrier, or a "
		"flush and a "
		"fence, between the two."},
	{"narrow-barrier", "A persist barrier between two stores has too narrow a scope.",
		"The barrier does not order the stores of other work-items. Give it a wider scope."},
	{"unmet-barrier", "A persist barrier is between two stores, but not all work-items come to it.",
		"The work-item of the lost store does not meet the barrier. Move the barrier to where both "
		"pass."},
	{"wrong-order", "Two stores are in the wrong order.",
		"What is relied on must be stored, and durable, first."},
	{"not-atomic", "Stores that must become durable together do not.",
		"Log the old values (an undo log), or publish the new ones by one store."},
	{"wrong-without-crash", "The structure is wrong although nothing was lost.",
		"It is an error of the program, and none of its order of persistence."},
	{"wrong-content", "A state is wrong whatever was lost.", "Look at what the check expects."},
	{"inconsistent-state", "A crash state fails the check.",
		"No two stores are known whose order would mend it."},
	{"unlogged-store", "A store within a transaction or an epoch was never added to its undo log.",
		"An abort, or the recovery from a power cut, does not take it back. Add the range before the "
		"store: pmemobj_tx_add_range_direct(), or nvw_undo() of a kernel."},
	{"recovery-dies", "Recovery or the check dies or hangs on a crash state.",
		"Recovery must bear every state that a power cut can leave."},
	{"program-failed", "The program failed.", "It ended with another status than 0, or by a signal."},
	{"data-race", "Two accesses of a kernel race.",
		"Order them by synchronization of a scope that has both."},
	{"persistency-race", "A thread may read what is not yet durable.",
		"What it makes durable then relies on bytes that a power cut can take back."},
	{"idle-flush", "Flushes of lines that have not changed.",
		"They cost time and writes, and make nothing durable."},
	{"empty-fence", "Fences with nothing flushed before them.",
		"They cost time, and make nothing durable."},
};

enum { RULES = NVW_COUNT(rules) };

const struct cli_rule *cli_rule(unsigned i)
{
	return i < RULES ? &rules[i] : NULL;
}

unsigned cli_rule_number(const char *id)
{
	const unsigned i = NVW_INDEX(k, RULES, !strcmp(rules[k].id, id));

	NVW_INVARIANT(i < RULES);
	return i;
}

/* ---- Steps --------------------------------------------------------------------------------------- */

static void add_step(json_t *steps, const char *file, unsigned line, const char *function, const char *text)
{
	json_array_append_new(steps, json_pack("{s:s, s:i, s:s, s:s}", "file", file, "line", (int)line,
					     "function", function, "text", text));
}

/* A place is "file:line"; other words, such as "acknowledgement", are none. */
static void add_step_at(json_t *steps, const char *where, const char *function, const char *text)
{
	const char *const colon = strrchr(where, ':');
	char file[256], whole[TEXT_BYTES];

	if (!colon) {
		NVW_PRINT(whole, "%s: %s", where, text);
		add_step(steps, "", 0, "", whole);
		return;
	}
	NVW_PRINT(file, "%.*s", (int)(colon - where), where);
	add_step(steps, file, (unsigned)strtoul(colon + 1, NULL, 10), function, text);
}

/* ---- Findings ------------------------------------------------------------------------------------ */

static const char *rule_of(const struct ct_finding *f)
{
	static const char *const of_cause[] = {[CT_CAUSE_NONE] = "inconsistent-state",
		[CT_CAUSE_MISSING] = "missing-barrier",
		[CT_CAUSE_NARROW] = "narrow-barrier",
		[CT_CAUSE_APART] = "unmet-barrier",
		[CT_CAUSE_REVERSED] = "wrong-order",
		[CT_CAUSE_ATOMIC] = "not-atomic",
		[CT_CAUSE_LOGIC] = "wrong-without-crash",
		[CT_CAUSE_CONTENT] = "wrong-content"};

	NVW_INVARIANT(f->cause.kind < NVW_COUNT(of_cause));
	if (f->signal != 0 || f->hung) {
		return "recovery-dies";
	}
	return of_cause[f->cause.kind];
}

/* Where a barrier would have to stand, or the one that is not enough. */
static void add_barrier(json_t *steps, const struct ct_finding *f)
{
	const struct ct_cause *const c = &f->cause;
	char text[1024];

	if (f->cure.count > 0) {
		const struct ct_line *const at = ct_edit_place(&f->cure.edit[0]);

		ct_edit_text(&f->cure.edit[0], text, sizeof text - 64);
		strcat(text, " is missing");
		add_step(steps, at->file, at->line, "", text);
	} else if (*c->file != '\0') {
		NVW_PRINT(text, "this barrier of %s scope is not enough", words_or(c->scope, "unknown"));
		add_step(steps, c->file, c->line, c->function, text);
	} else {
		NVW_PRINT(text, "before this a persist barrier is missing%s%s%s",
			words_if(*c->needed, ", of at least "), c->needed, words_if(*c->needed, " scope"));
		add_step_at(steps, c->early, c->early_function, text);
	}
}

static void add_group(json_t *steps, const struct ct_cause *c)
{
	NVW_INVARIANT(c->group_count > 0);
	NVW_EACH(group, c->group, c->group_count) {
		add_step(steps, group->file, group->line, "", "one of the stores that must be atomic");
	}
}

/* The stores of a finding whose cause is unknown. */
static void add_places(json_t *steps, const struct ct_finding *f)
{
	char text[CLI_FIELD_BYTES + 64], words[CLI_FIELD_BYTES];

	NVW_EACH(p, f->place, f->place_count) {
		if (cli_field_is_known(&p->field)) {
			NVW_PRINT(text, "store to %s: %s", cli_field_words(&p->field, words),
				ct_fate_name(p->fate));
		} else {
			NVW_PRINT(text, "store of %u bytes at 0x%llx: %s", p->bytes, (ull)p->off,
				ct_fate_name(p->fate));
		}
		add_step(steps, p->file, p->line, p->function, text);
	}
}

/* "file:line (function)" of a death. */
static void add_death(json_t *steps, const struct ct_finding *f)
{
	char where[CT_TEXT_BYTES];

	NVW_PRINT(where, "%.*s", (int)strcspn(f->where, " "), f->where);
	if (*where) {
		add_step_at(steps, where, "", f->hung ? "it does not end here" : "it dies here");
	}
}

static json_t *steps_of(const struct ct_finding *f)
{
	const struct ct_cause *const c = &f->cause;
	json_t *const steps = json_array();

	add_death(steps, f);
	if (*c->lost != '\0' && *c->early != '\0') {
		add_step_at(steps, c->lost, c->lost_function, "this store is lost in the power cut");
		add_barrier(steps, f);
		add_step_at(steps, c->early, c->early_function, "this is durable, and relies on it");
	} else if (c->group_count > 0) {
		add_group(steps, c);
	} else {
		add_places(steps, f);
	}
	return steps;
}

/* Lines to insert, if the cure is verified and is nothing else. */
static json_t *fix_of(const struct ct_finding *f)
{
	json_t *const insertions = cli_patch_insertions(f);
	char text[1024];

	if (!insertions) {
		return NULL;
	}
	ct_cure_text(&f->cure, text, sizeof text);
	return json_pack("{s:s, s:o}", "text", text, "insertions", insertions);
}

static json_t *finding_problem(const struct ct_finding *f)
{
	char details[TEXT_BYTES], cure[1024] = "";

	if (ct_cure_is_verified(&f->cure) || f->cure.verified) {
		ct_cure_text(&f->cure, cure, sizeof cure);
	}
	NVW_PRINT(details, "%s%s%s%s", f->cause.text, words_if(*cure, "\nwith "), cure,
		words_if(*cure, " no tested state fails"));
	return json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:o*}", "rule", rule_of(f), "level", "error", "text",
		f->text, "details", details, "at", 0, "steps", steps_of(f), "fix", fix_of(f));
}

/* ---- Programs ------------------------------------------------------------------------------------ */

static void add_problem(json_t *all, const char *rule, const char *level, const char *text, json_t *steps)
{
	json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:i, s:o}", "rule", rule, "level", level,
					   "text", text, "details", "", "at", 0, "steps", steps));
}

static void add_place(json_t *steps, const json_t *place, const char *text)
{
	if (json_is_object(place)) {
		add_step(steps, member_text(place, "file"), (unsigned)member_number(place, "line"),
			member_text(place, "function"), text);
	}
}

static void add_end(json_t *all, const json_t *report)
{
	const long long status = member_number(report, "status"), signal = member_number(report, "signal");
	char text[128];

	if (signal != 0) {
		NVW_PRINT(text, "the program died of %s", strsignal((int)signal));
	} else {
		NVW_PRINT(text, "the program ended with status %lld", status);
	}
	if (signal != 0 || status != 0) {
		add_problem(all, "program-failed", "error", text, json_array());
	}
}

static void add_waste(json_t *all, const json_t *row, const char *rule, const char *wasted, const char *of,
	const char *words)
{
	json_t *const steps = json_array();
	char text[256];

	if (member_number(row, wasted) == 0) {
		json_decref(steps);
		return;
	}
	NVW_PRINT(text, "%lld of %lld %s", member_number(row, wasted), member_number(row, of), words);
	add_place(steps, row, text);
	add_problem(all, rule, "note", text, steps);
}

static void add_advice(json_t *all, const json_t *report)
{
	JSON_EACH(row, json_object_get(report, "advice")) {
		add_waste(all, row, "idle-flush", "idle_flushes", "flushes",
			"flushes were of lines not stored to since their last flush");
		add_waste(all, row, "empty-fence", "empty_fences", "fences",
			"drains had nothing flushed before them");
	}
}

static void add_candidates(json_t *all, const json_t *report)
{
	JSON_EACH(row, json_object_get(json_object_get(report, "persistency_races"), "candidates")) {
		json_t *const steps = json_array();

		add_place(steps, json_object_get(row, "store"), "this store is not yet durable");
		add_place(steps, json_object_get(row, "load"), "when another thread may load it here");
		add_problem(all, "persistency-race", member_number(row, "rank") == 1 ? "warning" : "note",
			"another thread may read this store before it is durable (a candidate: not "
			"witnessed)",
			steps);
	}
}

static void add_race(json_t *all, const json_t *row)
{
	json_t *const steps = json_array();
	char text[256];

	NVW_PRINT(text, "two accesses of kernel %s race, %lld times", member_text(row, "kernel"),
		member_number(row, "times"));
	add_place(steps, json_object_get(row, "first"), "this access");
	add_place(steps, json_object_get(row, "second"), "and this one");
	add_problem(all, "data-race", "error", text, steps);
}

static void add_races(json_t *all, const json_t *report)
{
	JSON_EACH(row, json_object_get(json_object_get(report, "gpu"), "races")) {
		add_race(all, row);
	}
}

/* The store that breaks the rule, with its field if that is known. */
static void add_unlogged_store(json_t *steps, const json_t *row, bool is_epoch)
{
	const char *const rule = is_epoch ? "goes to what its epoch has not logged" :
					    "goes to what was not added to its transaction";
	const char *const field = member_text(json_object_get(row, "stored"), "field");
	char text[CLI_FIELD_BYTES];

	NVW_PRINT(text, "this store%s%s %s", words_if(*field, " to "), field, rule);
	add_place(steps, json_object_get(row, "store"), text);
}

/* Stores that their transaction or epoch has not logged. */
static void add_unlogged_one(json_t *all, const json_t *row)
{
	const bool is_epoch = !strcmp(member_text(row, "log"), "epoch");
	json_t *const steps = json_array();
	char text[128];

	NVW_PRINT(text, "a store within %s was never added to its undo log",
		is_epoch ? "an epoch" : "a transaction");
	add_unlogged_store(steps, row, is_epoch);
	add_place(steps, json_object_get(row, "transaction"), "which begins here");
	add_problem(all, "unlogged-store", "error", text, steps);
}

static void add_unlogged(json_t *all, const json_t *list)
{
	JSON_EACH(row, list) {
		add_unlogged_one(all, row);
	}
}

json_t *cli_crash_problems(const struct ct_result *r)
{
	json_t *const all = JSON_LIST(finding, r->finding, r->finding_count, finding_problem(finding));
	json_t *const unlogged = cli_unlogged_json(&r->unlogged);

	add_unlogged(all, unlogged);
	json_decref(unlogged);
	return all;
}

json_t *cli_exec_problems(const json_t *report)
{
	json_t *const all = json_array();

	add_end(all, report);
	add_unlogged(all, json_object_get(report, "unlogged"));
	add_races(all, report);
	add_candidates(all, report);
	add_advice(all, report);
	return all;
}
