/* SPDX-License-Identifier: BSD-3-Clause */
/* Small runs for tests of checks in parts. See parts_rig.h. */
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "parts_rig.h"

bool rig_create(struct rig *r, const struct small *s, int mutation, uint64_t seed, const char *setting)
{
	const struct ct_options options = {.mode = CT_PERMITTED, .states = 1, .seed = 1, .jobs = 1};

	memset(r, 0, sizeof *r);
	emu_config_default(&r->config);
	assert_ok(emu_config_load(&r->config, "gope18"));
	r->config.seed = seed;
	assert_int_equal(setting ? emu_config_set(&r->config, setting) : 0, 0);
	r->options = options_of(s->workload->options, s->options);
	r->subject = (struct ct_subject){
		.workload = s->workload, .options = r->options, .config = &r->config, .mutation = mutation};
	if (ct_logged_create(&r->subject, &options, &r->logged)) {
		nvw__options_free(r->options);
		assert_true(mutation >= 0); /* a seeded bug may end the run itself */
		return false;
	}
	r->oracle = (struct ct_oracle){.workload = s->workload, .plan = r->logged.bench.plan};
	r->random = (struct nvw_random){7};
	return true;
}

void rig_begin(struct rig *r, enum ct_model model)
{
	const struct ct_bench *const b = &r->logged.bench;
	const struct ct_rules rules = {.model = model};

	assert_ok(ct_medium_create(
		r->logged.log_fd, b->initial, b->bytes, r->logged.shared->first_record, &rules, &r->medium));
}

bool rig_next(struct rig *r)
{
	const int next = ct_medium_next(&r->medium);

	assert_true(next >= 0);
	free(r->levels);
	r->levels = calloc(r->medium.cell_count + 1, sizeof *r->levels);
	return next == 1;
}

void rig_end(struct rig *r)
{
	ct_medium_destroy(&r->medium);
	free(r->levels);
	r->levels = NULL;
}

void rig_destroy(struct rig *r)
{
	ct_logged_destroy(&r->logged);
	nvw__options_free(r->options);
}

void rig_choose(struct rig *r, unsigned number)
{
	if (number >= 2) {
		ct_states_sample(&r->medium, &r->random, r->levels);
		return;
	}
	memset(r->levels, 0, r->medium.cell_count * sizeof *r->levels);
	for (unsigned i = 0; number == 1 && i < r->medium.cell_count; i++) {
		ct_states_raise(&r->medium, i, r->medium.cell[i].count, r->levels);
	}
}

bool rig_fails(struct rig *r, struct nvw_findings *findings)
{
	volatile uint32_t phase;

	nvw__findings_clear(findings);
	ct_medium_apply(&r->medium, r->levels);
	const int verdict = ct_oracle_judge(&r->oracle, &r->medium.image, &r->medium.acks, findings, &phase);

	ct_medium_undo(&r->medium);
	assert_true(verdict == 0 || verdict == NVW_E_INCONSISTENT);
	return verdict != 0;
}

const struct ct_result *rig_explore(struct rig *r, struct ct_options options)
{
	const struct ct_rules rules = {.model = options.model};
	static struct ct_result result;

	options.mode = options.model == CT_MODEL_OBSERVED ? CT_OBSERVED : CT_PERMITTED;
	options.seed = 1;
	options.jobs = options.jobs ? options.jobs : 1;
	assert_ok(ct_options_complete(NULL, &options));
	assert_ok(ct_logged_explore(&r->logged, &rules, &options, &result));
	ct_result_free(&result);
	return &result;
}

/* ---- What parts say --------------------------------------------------------------------------- */

void rig_states_create(
	const struct rig *r, struct ct_parts *parts, unsigned count, struct rig_states *ret_states)
{
	*ret_states = (struct rig_states){.rig = r,
		.parts = parts,
		.levels = calloc((size_t)count * r->medium.cell_count + 1, sizeof(unsigned)),
		.count = count,
		.part_fails = calloc(count + 1, sizeof(bool)),
		.tried = calloc(count + 1, 1)};
}

void rig_states_free(struct rig_states *s)
{
	free(s->levels);
	free(s->part_fails);
	free(s->tried);
}

void rig_states_set(struct rig_states *s, unsigned i)
{
	const unsigned cells = s->rig->medium.cell_count;

	memcpy(s->levels + (size_t)i * cells, s->rig->levels, cells * sizeof(unsigned));
}

static void end_part(struct rig_states *s)
{
	for (unsigned i = 0; s->part != 0 && i < s->count; i++) {
		s->uneven += s->tried[i] != 1;
	}
	memset(s->tried, 0, s->count);
}

static void note(void *context, const struct ct_tried *t)
{
	struct rig_states *const s = context;

	if (t->part + 1 != s->part) {
		end_part(s);
		s->part = t->part + 1;
	}
	s->wide += t->wide;
	if (t->forks == 0 && t->evaluation == 0 && t->passes) {
		s->part = 0;
		return;
	}
	bool some_hold = false;

	NVW_FOR(i, s->count) {
		if (ct_parts_hold(s->parts, s->levels + (size_t)i * s->rig->medium.cell_count)) {
			some_hold = true;
			s->tried[i]++;
			s->part_fails[i] = s->part_fails[i] || !t->passes;
		}
	}
	s->baseless += !t->passes && !some_hold;
}

void rig_states_try(struct rig_states *s)
{
	ct_parts_walk(s->parts, note, s);
	end_part(s);
}

void rig_compare(struct rig *r, struct ct_parts *parts, unsigned count, bool (*check_fails)(struct rig *rig),
	struct rig_sum *sum)
{
	static bool fails[RIG_STATES_MAX];
	const struct ct_part_trouble *trouble;
	struct ct_walk walk = {0};
	struct rig_states states;
	bool some_fail = false;

	assert_true(count <= RIG_STATES_MAX);
	rig_states_create(r, parts, count, &states);
	NVW_FOR(i, count) {
		(void)ct_states_by_number(&r->medium, &walk, i, r->levels);
		rig_states_set(&states, i);
		fails[i] = check_fails(r);
		some_fail = some_fail || fails[i];
	}
	ct_walk_end(&walk);
	rig_states_try(&states);
	NVW_FOR(i, count) {
		sum->failing += fails[i];
		sum->different += fails[i] != states.part_fails[i];
	}
	/* And what was tried since the first instant, with answers that carry over, says the same. */
	sum->different += (ct_parts_troubles(parts, &trouble) != 0) != some_fail;
	sum->different += states.uneven + states.baseless;
	sum->wide += states.wide;
	sum->states += count;
	rig_states_free(&states);
}
