/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every seeded bug of every structure with parts is found by its parts alone: no whole state is tested but
 * where a part fails. The real recovery and the whole check confirm the part's example; it is minimised,
 * explained and saved, and fails again when it is replayed.
 *
 * By default under the first model that shows the bug; with PARTS_SEEDS under all, and parts must find what
 * whole states show.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/shell.h"
#include "common/skip.h"
#include "crashtest/explain/finding.h"
#include "parts_runs.h"

static const struct nvw_workload *const structures[] = {&nvw_workload_queue, &nvw_workload_steal_log,
	&nvw_workload_kv, &nvw_workload_btree, &nvw_workload_tiered};
enum { STRUCTURES = NVW_COUNT(structures), TRIALS_MAX = 8 };

static const enum ct_model models[] = {
	CT_MODEL_OBSERVED, CT_MODEL_EPOCH, CT_MODEL_STRICT, CT_MODEL_EADR, CT_MODEL_BUFFERED};
enum { MODELS = NVW_COUNT(models) };

/* ---- Runs that show a bug --------------------------------------------------------------------- */

/* The mutation's own options, or the workload's trials. */
static unsigned trials_of(
	const struct nvw_workload *w, int mutation, char *text, char *ret_trials[TRIALS_MAX])
{
	const char *const own = w->mutations[mutation].options;
	char *rest = text, *trial;
	unsigned n = 0;

	strcpy(text, own != NULL ? own : w->trial);
	while (n < TRIALS_MAX && (trial = strtok_r(rest, ";", &rest)) != NULL) {
		ret_trials[n++] = trial;
	}
	return n;
}

/* ---- One bug ---------------------------------------------------------------------------------- */

static const struct ct_result *explore(struct rig *r, enum ct_model model, bool by_parts)
{
	return rig_explore(r, (struct ct_options){.model = model,
				      .states = 2000,
				      .stop_after = 1,
				      .parts_alone = by_parts,
				      .whole = !by_parts,
				      .unexplained = !by_parts,
				      .save = by_parts ? dir : NULL});
}

/* The saved state fails in the same words. */
static void replay(struct rig *r, const struct ct_finding *f)
{
	static struct ct_finding again;
	struct ct_saved saved;

	assert_ok(ct_saved_load(f->saved, &saved));
	assert_ok(ct_saved_judge(&saved, ct_oracle_judge, &r->oracle, 10000, &again));
	assert_string_equal(again.text, f->text);
	ct_saved_free(&saved);
	unlink(f->saved);
}

static bool is_found(struct rig *r, enum ct_model model)
{
	const struct ct_result *const result = explore(r, model, true);

	assert_int_equal(result->by_parts.denied + result->by_parts.missed + result->by_parts.died, 0);
	NVW_EACH(f, result->finding, result->finding_count) {
		assert_true(f->draw >= CT_DRAW_PART);
		assert_true(f->minimised);
		assert_true(f->cause.text[0] != '\0');
		replay(r, f);
	}
	return !result->consistent;
}

/* In one trial after the other; with every model tried parts must find what whole states show. */
static bool is_found_somewhere(const struct nvw_workload *w, int mutation, bool every_model)
{
	char text[1024], *trials[TRIALS_MAX];
	const unsigned count = trials_of(w, mutation, text, trials);
	bool found = false;

	for (unsigned i = 0; i < count && (!found || every_model); i++) {
		const struct small small = {w, trials[i]};
		struct rig r;

		if (!rig_create(&r, &small, mutation, 1, NULL)) {
			continue;
		}
		for (unsigned m = 0; m < MODELS && (!found || every_model); m++) {
			const bool here = is_found(&r, models[m]);

			if (every_model && !here && !explore(&r, models[m], false)->consistent) {
				fail_msg("%s, mutation %s, %s: whole states show it, parts do not", w->name,
					w->mutations[mutation].name, ct_model_info(models[m])->name);
			}
			found = found || here;
		}
		rig_destroy(&r);
	}
	return found;
}

TEST(every_bug_is_found_explained_and_replayed_by_parts_alone)
{
	unsigned bugs = 0;

	skip_if_sanitized();
	NVW_EACH(structure, structures, STRUCTURES) {
		const struct nvw_mutation *const m = (*structure)->mutations;

		for (int k = 0; m[k].name != NULL; k++) {
			if (strcmp(m[k].found_by, "and-then") == 0 ||
				strcmp(m[k].found_by, "schedules") == 0) {
				continue; /* no state of this run shows it, with parts or without */
			}
			bugs++;
			if (!is_found_somewhere(*structure, k, getenv("PARTS_SEEDS") != NULL)) {
				fail_msg("%s, mutation %s: parts alone do not find it", (*structure)->name,
					m[k].name);
			}
		}
	}
	assert_true(bugs >= 30);
}

/* The test above would see parts that say too little: without them nothing is found. */
TEST(without_parts_nothing_is_found)
{
	assert_false(is_found_somewhere(with(&nvw_workload_queue, check_nothing), 0, false));
}

GROUP(folder_begin, shell_end);
