/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of "nvwave crash --matrix". See crash_report.h. */
#include <stdio.h>

#include <jansson.h>

#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"

#include "crash_report.h"
#include "../json_report.h"
#include "../provenance.h"
#include "../words.h"

static const char *const scopes[] = {"none", "work-item", "work-group", "kernel"};

/* The name of a barrier's scope, narrowed by this many steps. */
static const char *scope_name(const struct ct_barrier *b, unsigned by)
{
	NVW_INVARIANT(by <= (unsigned)b->scope + 1);
	return scopes[(unsigned)b->scope + 1 - by];
}

static const char *word(const struct ct_matrix_cell *c)
{
	return ct_verdict_words(c->verdict);
}

/* The models with this verdict. How many there are. */
static unsigned list_models(const struct ct_matrix_cell under[CT_MODEL_COUNT], enum ct_verdict verdict,
	const char *between, char ret_names[CT_TEXT_BYTES])
{
	unsigned count = 0;

	*ret_names = 0;
	NVW_FOR(m, CT_MODEL_COUNT) {
		if (under[m].verdict == verdict) {
			words_add(ret_names, CT_TEXT_BYTES, between, ct_model_info(m)->name);
			count++;
		}
	}
	return count;
}

/* ---- Text ---------------------------------------------------------------------------------------- */

static bool is_of_caches(enum ct_model model)
{
	return ct_model_info(model)->axioms & CT_A(AT_ONCE);
}

/* The model of domain eadr, whatever the machine's. */
static enum ct_model of_caches(void)
{
	enum ct_model model = 0;

	while (!is_of_caches(model)) {
		model++;
		NVW_INVARIANT(model < CT_MODEL_COUNT);
	}
	return model;
}

/* What fails under a model, and in how many states. */
static void print_failing(const char *name, const struct ct_matrix_cell *v, FILE *to)
{
	NVW_INVARIANT(v->verdict == CT_VERDICT_INCONSISTENT);
	fprintf(to, "%s: %s (%llu of %llu states", name, v->text, (ull)v->states_failing,
		(ull)v->states_distinct);
	if (v->confirmations > 0) {
		fprintf(to, ", %llu outside of the budget", (ull)v->confirmations);
	}
	fputs(")\n", to);
}

static void print_models(const struct ct_matrix *x, FILE *to)
{
	const struct ct_matrix_cell *const eadr = &x->under[of_caches()];

	fprintf(to, "\n%-16s %-16s %-16s %-16s\n", "model", "device", "adr", "eadr");
	NVW_FOR(m, CT_MODEL_COUNT) {
		if (ct_model_info(m)->of_runs && !is_of_caches(m)) {
			fprintf(to, "%-16s %-16s %-16s %-16s\n", ct_model_info(m)->name, word(&x->under[m]),
				word(&x->under[m]), word(eadr));
		}
	}
	fputs("(a model orders stores alike on device and adr; on eadr a store is durable as it becomes "
	      "visible)\n",
		to);
	NVW_FOR(m, CT_MODEL_COUNT) {
		if (x->under[m].verdict == CT_VERDICT_INCONSISTENT && !is_of_caches(m)) {
			print_failing(ct_model_info(m)->name, &x->under[m], to);
		}
	}
	if (eadr->verdict == CT_VERDICT_INCONSISTENT) {
		fprintf(to, "eadr: %s\n", eadr->text);
	}
}

/* The first model under which the barrier fails when narrowed by one step; *ret_others: the models under
 * which it does not. */
static enum ct_model first_failing(const struct ct_barrier *b, bool *ret_others)
{
	NVW_INVARIANT(b->tried > 0);
	*ret_others = false;
	for (enum ct_model m = 0; m + 1 < CT_MODEL_COUNT; m++) {
		const bool narrows = ct_model_info(m)->narrows;

		if (narrows && !ct_verdict_passes(b->narrower[0][m].verdict)) {
			return m;
		}
		*ret_others |= narrows;
	}
	return CT_MODEL_COUNT - 1;
}

/* What a narrower scope does, or none: of all permitted states, or of a sample. */
static void print_spare(const struct ct_barrier *b, FILE *to)
{
	const bool is_none = b->spare == (unsigned)b->scope + 1;
	const char *const scope = scope_name(b, b->spare);
	char all[CT_TEXT_BYTES], sampled[CT_TEXT_BYTES];
	const struct ct_matrix_cell *const under = b->narrower[b->spare - 1];
	const unsigned of_all = list_models(under, CT_VERDICT_CONSISTENT, " or ", all);
	const unsigned of_sample = list_models(under, CT_VERDICT_UNREFUTED, " or ", sampled);

	NVW_INVARIANT(b->spare > 0);
	if (of_all > 0 && is_none) {
		fprintf(to, "not needed in any state that %s permits", all);
	} else if (of_all > 0) {
		fprintf(to, "%s scope is enough in every state that %s permits", scope, all);
	}
	fputs(words_if(of_all > 0 && of_sample > 0, "; "), to);
	if (of_sample > 0 && is_none) {
		fputs("nothing failed without it", to);
	} else if (of_sample > 0) {
		fprintf(to, "nothing failed with %s scope", scope);
	}
	if (of_all > 0 && of_sample > 0) {
		fprintf(to, " in a sample under %s", sampled);
	}
}

/* With the next narrower scope a state fails. */
static void print_need(const struct ct_barrier *b, FILE *to)
{
	char all[CT_TEXT_BYTES];
	bool others;
	const enum ct_model model = first_failing(b, &others);

	fprintf(to, "needed: with %s scope %s", scope_name(b, 1), b->narrower[0][model].text);
	if (others && list_models(b->narrower[0], CT_VERDICT_CONSISTENT, " or ", all) > 0) {
		fprintf(to, " (only %s; no state that %s permits fails)", ct_model_info(model)->name, all);
	} else if (others) {
		fprintf(to, " (only %s)", ct_model_info(model)->name);
	}
	fputc('\n', to);
}

static void print_advice(const struct ct_matrix *x, const struct ct_barrier *b, FILE *to)
{
	if (b->tried == 0) {
		fputs("UNDECIDED\n", to);
		return;
	}
	if (b->spare == 0) {
		print_need(b, to);
		return;
	}
	print_spare(b, to);
	if (b->measured) {
		const uint64_t ps = (uint64_t)llabs(b->saved_ps);

		fprintf(to, ": %s %s of the run%s\n", b->saved_ps < 0 ? "costs" : "saves", ROUNDED_TIME(ps),
			SHARE(ps, x->sim_time_ps));
	} else {
		fprintf(to, "; not measured: %s\n", b->trouble);
	}
}

static void print_barriers(const struct ct_matrix *x, FILE *to)
{
	fprintf(to, "\n%-44s %-11s %6s %10s  %s\n", "persist barrier", "scope", "met", "stalls",
		"one step narrower, and on");
	NVW_FOR(i, x->count) {
		const struct ct_barrier *const b = &x->barrier[i];
		char place[256];

		NVW_PRINT(place, "%s:%u (%s)", b->file, b->line, b->function);
		fprintf(to, "%-44s %-11s %6llu %7.2f us  ", place, scope_name(b, 0), (ull)b->met,
			(double)b->stall_ps / 1e6);
		print_advice(x, b, to);
	}
	if (x->unlisted > 0) {
		fprintf(to, "and barriers at further places\n");
	}
}

void crash_matrix_text(const struct crash_heading *h, const struct ct_matrix *x, FILE *to)
{
	fprintf(to,
		"%s on %s, protocol %s, seed %llu%s%s: one run of %.2f us, %llu NVRAM stores, %llu barriers, "
		"%llu acknowledged   %.1f s\n",
		h->workload, h->machine, h->protocol, (ull)h->seed, words_if(*h->mutation, ", mutation "),
		h->mutation, (double)x->sim_time_ps / 1e6, (ull)x->stores, (ull)x->barriers_met, (ull)x->acks,
		x->host_seconds);
	cli_print_provenance(h->made_by, to);
	print_models(x, to);
	print_barriers(x, to);
	if (x->interrupted) {
		fputs("UNDECIDED: interrupted, so not all verdicts are known\n", to);
	}
	fputs("These are the stores of one run: other inputs may need the barrier. \"Nothing failed\" is "
	      "said of a sample of the states.\n",
		to);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *cell_json(const struct ct_matrix_cell *v)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:s}", "verdict", ct_verdict_name(v->verdict),
		"states_distinct", (json_int_t)v->states_distinct, "states_failing",
		(json_int_t)v->states_failing, "confirmations", (json_int_t)v->confirmations, "text",
		v->text);
}

static json_t *steps_json(const struct ct_barrier *b)
{
	json_t *const steps = json_array();

	NVW_INVARIANT(b->tried <= NVW_COUNT(b->narrower));
	for (unsigned by = 1; by <= b->tried; by++) {
		json_t *const step = json_pack("{s:s}", "scope", scope_name(b, by));

		NVW_FOR(m, CT_MODEL_COUNT) {
			if (ct_model_info(m)->narrows) {
				json_object_set_new(
					step, ct_model_info(m)->name, cell_json(&b->narrower[by - 1][m]));
			}
		}
		json_array_append_new(steps, step);
	}
	return steps;
}

static json_t *barrier_json(const struct ct_barrier *b)
{
	json_t *const steps = steps_json(b);
	return json_pack("{s:s, s:i, s:s, s:s, s:I, s:f, s:o, s:s, s:o, s:s}", "file", b->file, "line",
		(int)b->line, "function", b->function, "scope", scope_name(b, 0), "met", (json_int_t)b->met,
		"stall_ns", (double)b->stall_ps / 1000, "narrower", steps, "could_be",
		scope_name(b, b->spare), "saves_ns",
		b->measured ? json_real((double)b->saved_ps / 1000) : json_null(), "trouble", b->trouble);
}

static json_t *models_json(const struct ct_matrix *x)
{
	json_t *const models = json_object();

	NVW_FOR(m, CT_MODEL_COUNT) {
		if (ct_model_info(m)->of_runs) {
			json_object_set_new(models, ct_model_info(m)->name, cell_json(&x->under[m]));
		}
	}
	return models;
}

int crash_matrix_json(const struct crash_heading *h, const struct ct_matrix *x, FILE *to)
{
	json_t *const barriers = JSON_LIST(barrier, x->barrier, x->count, barrier_json(barrier));
	json_t *const o = json_pack("{s:s, s:s, s:s, s:I, s:s, s:f, s:I, s:I, s:I, s:o, s:b, s:o, s:O*}",
		"workload", h->workload, "machine", h->machine, "protocol", h->protocol, "seed",
		(json_int_t)h->seed, "mutation", h->mutation, "sim_time_ns", (double)x->sim_time_ps / 1000,
		"stores", (json_int_t)x->stores, "barriers_met", (json_int_t)x->barriers_met, "acknowledged",
		(json_int_t)x->acks, "models", models_json(x), "interrupted", x->interrupted, "barriers",
		barriers, "made_by", h->made_by);

	return cli_print_json(o, to);
}
