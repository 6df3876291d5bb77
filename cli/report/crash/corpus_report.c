/* SPDX-License-Identifier: BSD-3-Clause */
/* See corpus_report.h. */
#include <sys/wait.h>

#include "core/invariant.h"
#include "core/member.h"
#include "corpus_report.h"
#include "../words.h"

enum { NAMES_SHOWN = 4 };

unsigned cli_corpus_count(const struct ct_corpus *c, enum ct_input_fate fate)
{
	unsigned n = 0;

	NVW_INVARIANT(fate < CT_INPUT_FATE_COUNT);
	NVW_EACH(input, c->input, c->count) {
		n += input->fate == fate;
	}
	return n;
}

static bool was_run(const struct ct_input *i)
{
	return i->fate != CT_INPUT_NOT_RUN && i->fate != CT_INPUT_TIMED_OUT;
}

static bool failed(const struct ct_input *i)
{
	return was_run(i) && i->status != 0;
}

static void print_end(const struct ct_input *i, FILE *to)
{
	NVW_INVARIANT(failed(i));
	if (WIFSIGNALED(i->status)) {
		fprintf(to, "%s (signal %d)", i->name, WTERMSIG(i->status));
	} else {
		fprintf(to, "%s (status %d)", i->name, WEXITSTATUS(i->status));
	}
}

/* Separates names; false: enough were shown. */
static bool go_on(unsigned shown, FILE *to)
{
	if (shown > 0 && shown < NAMES_SHOWN) {
		fputs(", ", to);
	}
	return shown < NAMES_SHOWN;
}

static void print_more(unsigned shown, FILE *to)
{
	if (shown > NAMES_SHOWN) {
		fprintf(to, " and %u more", shown - NAMES_SHOWN);
	}
	fputc('\n', to);
}

static void print_failed(const struct ct_corpus *c, FILE *to)
{
	unsigned shown = 0;

	NVW_EACH(input, c->input, c->count) {
		if (!failed(input)) {
			continue;
		}
		if (shown == 0) {
			fputs("the program failed with ", to);
		}
		if (go_on(shown++, to)) {
			print_end(input, to);
		}
	}
	if (shown > 0) {
		print_more(shown, to);
	}
}

/* Those that were refused say why. */
static void print_names(const struct ct_corpus *c, enum ct_input_fate fate, FILE *to)
{
	unsigned shown = 0;

	if (cli_corpus_count(c, fate) == 0) {
		return;
	}
	fprintf(to, "%s: ", ct_input_fate_words(fate));
	NVW_EACH(input, c->input, c->count) {
		if (input->fate == fate && go_on(shown++, to)) {
			fprintf(to, "%s%s%s%s", input->name, words_if(*input->text, " ("), input->text,
				words_if(*input->text, ")"));
		}
	}
	print_more(shown, to);
}

void cli_corpus_text(const struct ct_result *r, FILE *to)
{
	const struct ct_corpus *const c = &r->corpus;

	if (c->count == 0) {
		return;
	}
	fprintf(to, "corpus: %u input%s", c->count, plural(c->count));
	if (c->made > 0) {
		fprintf(to, ", %u of them made by AFL++", c->made);
	}
	fprintf(to, ": %u tested", cli_corpus_count(c, CT_INPUT_TESTED));
	for (enum ct_input_fate fate = CT_INPUT_TESTED + 1; fate < CT_INPUT_FATE_COUNT; fate++) {
		if (cli_corpus_count(c, fate) > 0) {
			fprintf(to, ", %u %s", cli_corpus_count(c, fate), ct_input_fate_words(fate));
		}
	}
	fprintf(to, "; %s of the duplicates were left by another input, too\n", GROUPED(r->states_met));
	print_failed(c, to);
	print_names(c, CT_INPUT_REFUSED, to);
	print_names(c, CT_INPUT_TIMED_OUT, to);
}

static void add_ending(json_t *o, int status)
{
	if (WIFSIGNALED(status)) {
		member_set_number(o, "signal", WTERMSIG(status));
	} else {
		member_set_number(o, "status", WEXITSTATUS(status));
	}
}

static json_t *input_json(const struct ct_input *i)
{
	json_t *const o = json_pack(
		"{s:s, s:s, s:s}", "name", i->name, "fate", ct_input_fate_name(i->fate), "why", i->text);

	if (was_run(i)) {
		add_ending(o, i->status);
	}
	return o;
}

json_t *cli_corpus_json(const struct ct_result *r)
{
	const struct ct_corpus *const c = &r->corpus;
	if (c->count == 0) {
		return NULL;
	}
	json_t *const inputs = JSON_LIST(input, c->input, c->count, input_json(input));

	return json_pack("{s:o, s:i, s:I}", "inputs", inputs, "made", (int)c->made, "states_of_other_inputs",
		(json_int_t)r->states_met);
}
