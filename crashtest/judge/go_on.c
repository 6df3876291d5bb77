/* SPDX-License-Identifier: BSD-3-Clause */
/* Going on after a crash. See go_on.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include <check/check.h>
#include <emu.h>
#include <nvw/random.h>

#include "core/bits.h"
#include "core/print.h"

#include "../run.h"
#include "../states/image.h"
#include "go_on.h"

/* ---- The pools ----------------------------------------------------------------------------------------- */

/* Each pool of the image becomes a file. */
static int write_pools(const struct ct_image *image, const char *path)
{
	const struct nvw_pool_image is = {.image = image->ro, .bytes = image->bytes};
	const struct nvw_pool *pool;
	struct nvw_pool *first;
	int error = 0;

	NVW_TRY(nvw_pool_open_image(&is, &first));
	for (unsigned i = 0; error == 0 && (pool = nvw_pool_number(first, i)); i++) {
		error = ct_write_pool(
			path, i, image->ro + nvw_pool_begin(pool), nvw_pool_geometry(pool)->bytes);
	}
	nvw_pool_close(first);
	return error;
}

/* ---- The machine --------------------------------------------------------------------------------------- */

static void acknowledge(void *context, uint64_t first, uint64_t count)
{
	/* Numbers of the plan: those beyond the limit were refused in the run itself. */
	if (nvw__acks_add(context, first, count) != 0) {
		_exit(1);
	}
}

/* The program that goes on in a file, and what it does there. */
struct course {
	const struct ct_go_on *g;
	char path[NVW__FOLDER_PATH + 24];
	const struct ct_image *image;
	const struct nvw_acks *before;
	struct nvw_findings *findings;
	volatile uint32_t *phase;
	struct nvw_acks acks;      /* those before, and its own */
	uint64_t begin_ps, end_ps; /* of its operations */
	struct emu_power_cut cut;  /* UINT64_MAX: never */
};

static bool has_cut(const struct course *c)
{
	return c->cut.time_ps != UINT64_MAX;
}

/* A power cut ends it early, and is no error. */
static int operate(struct course *c, struct nvw_machine *machine)
{
	const struct ct_oracle *const o = &c->g->oracle;

	c->begin_ps = nvw_time_ps(machine);
	int error = o->workload->go_on(o->plan, machine, c->before, c->g->operations);

	if (error == 0) {
		error = nvw_persist(machine);
	}
	c->end_ps = nvw_time_ps(machine);
	return error == NVW_E_STOPPED && has_cut(c) ? 0 : error;
}

static int run(struct course *c, struct nvw_pool *pool)
{
	struct nvw_machine *machine;

	NVW_TRY(emu_create(c->g->config, pool, NULL, &machine));
	c->cut.acknowledged = acknowledge;
	c->cut.context = &c->acks;
	emu_set_power_cut(machine, &c->cut);
	const int error = operate(c, machine);

	emu_destroy(machine);
	return error;
}

static int copy_acks(const struct nvw_acks *from, struct nvw_acks *to)
{
	NVW_FOR(op, 64 * from->words) {
		if (nvw_has_bit(from->bits, op)) {
			NVW_TRY(nvw__acks_add(to, op, 1));
		}
	}
	return 0;
}

static int open_and_run(struct course *c)
{
	struct nvw_pool *pool;

	NVW_TRY(nvw_pool_open(c->path, NVW_POOL_WRITE, &pool));
	const int error = run(c, pool);

	nvw_pool_close(pool);
	return error;
}

/* ---- The verdict --------------------------------------------------------------------------------------- */

/* Violations from number first on say when they came. */
static void say_when(const struct course *c, unsigned first)
{
	struct nvw_findings *const findings = c->findings;
	char when[64] = "after recovery, and going on", text[NVW__FINDING_TEXT - sizeof when - 2];

	if (has_cut(c)) {
		NVW_PRINT(when, CT_TWICE " %.0f ns later", 1e-3 * (double)(c->cut.time_ps - c->begin_ps));
	}
	for (unsigned i = first; i < findings->kept; i++) {
		NVW_PRINT(text, "%.*s", (int)sizeof text - 1, findings->finding[i].text);
		NVW_PRINT(findings->finding[i].text, "%s: %s", when, text);
	}
}

static int open_and_judge(const struct course *c)
{
	struct nvw_pool *pool;

	if (nvw_pool_open(c->path, NVW_POOL_WRITE, &pool) != 0) {
		return nvw_violation(c->findings, 0, "the pool does not open: %s", nvw_error_message());
	}
	const int verdict = ct_oracle_judge_pool(&c->g->oracle, pool, &c->acks, c->findings, c->phase);

	nvw_pool_close(pool);
	return verdict;
}

/* The image becomes the program's file, which it works on; the outcome is recovered and checked. */
static int go_on_in(struct course *c)
{
	const unsigned known = c->findings->kept;

	*c->phase = CT_PHASE_GO_ON;
	NVW_TRY(write_pools(c->image, c->path));
	NVW_TRY(copy_acks(c->before, &c->acks));
	if (open_and_run(c) != 0) {
		return nvw_violation(c->findings, 0, "going on after recovery: %s", nvw_error_message());
	}
	const int verdict = open_and_judge(c);

	say_when(c, known);
	return verdict;
}

/* Once more, and the power is cut on the way, at an instant that the state decides. */
static int crash_again(const struct course *whole)
{
	struct nvw_random r = {XXH64(whole->image->ro, whole->image->bytes, whole->before->hash)};
	struct course c = *whole;

	c.acks = (struct nvw_acks){0};
	c.cut.time_ps = whole->begin_ps + nvw_random_below(&r, whole->end_ps - whole->begin_ps + 1);
	c.cut.seed = nvw_random_u64(&r);
	const int verdict = go_on_in(&c);

	nvw__acks_free(&c.acks);
	return verdict;
}

/* A state that passes, unless one with its bytes and acknowledgements has passed. */
static int go_on(struct ct_go_on *g, struct course *c)
{
	const uint64_t key = nvw_mix64(c->image->hash ^ nvw_mix64(c->before->hash)) | 1;
	uint64_t *const seen = &g->seen[key >> 1 & (CT_GONE_ON_MAX - 1)];

	if (*seen == key) {
		return 0;
	}
	NVW_PRINT(c->path, "%s/pool-%d", g->folder.path, (int)getpid());
	int verdict = go_on_in(c);

	if (verdict == 0 && g->crashes) {
		verdict = crash_again(c);
	}
	nvw__acks_free(&c->acks);
	if (verdict == 0) {
		*seen = key;
	}
	return verdict;
}

bool ct_comes_of_second_crash(const char *finding)
{
	return strncmp(finding, CT_TWICE, strlen(CT_TWICE)) == 0;
}

int ct_go_on_judge(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	struct ct_go_on *const g = context;
	const int verdict = ct_oracle_judge(&g->oracle, image, acks, findings, phase);

	if (verdict != 0) {
		return verdict;
	}
	if (image->recoveries) {
		image->recoveries->worked_on++;
	}
	struct course c = {.g = g,
		.image = image,
		.before = acks,
		.findings = findings,
		.phase = phase,
		.cut = {.time_ps = UINT64_MAX}};

	return go_on(g, &c);
}

int ct_go_on_make(const struct ct_oracle *oracle, const struct emu_config *config, uint64_t operations,
	bool crashes, struct ct_go_on *ret)
{
	*ret = (struct ct_go_on){
		.oracle = *oracle, .config = config, .operations = operations, .crashes = crashes};
	NVW_FAIL_IF(!oracle->workload->go_on, NVW_E_USAGE,
		"--and-then: %s has no operations to go on with after a crash", oracle->workload->name);
	return nvw_folder_make("go-on", true, &ret->folder);
}

void ct_go_on_end(struct ct_go_on *g)
{
	nvw_folder_remove(&g->folder);
}
