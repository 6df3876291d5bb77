/* SPDX-License-Identifier: BSD-3-Clause */
/* Going on after a crash. See go_on.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <check/check.h>
#include <emu.h>
#include <nvw/random.h>

#include "core/bits.h"
#include "core/pools.h"
#include "core/print.h"

#include "../states/image.h"
#include "go_on.h"

/* ---- The pools ----------------------------------------------------------------------------------------- */

static int write_bytes(const char *path, const uint8_t *from, uint64_t bytes)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	uint64_t at = 0;
	ssize_t n = 1;

	NVW_FAIL_ERRNO_IF(fd < 0, "%s", path);
	for (; at < bytes && n > 0; at += (uint64_t)MAX(n, 0)) {
		n = pwrite(fd, from + at, bytes - at, (off_t)at);
	}
	const int error = at < bytes ? nvw_fail_errno("%s", path) : 0;

	close(fd);
	return error;
}

/* Each pool of the image becomes a file. */
static int write_pools(const struct ct_image *image, const char *path)
{
	const struct nvw_pool_image is = {.image = image->ro, .bytes = image->bytes};
	const struct nvw_pool *pool;
	struct nvw_pool *first;
	int error = 0;

	NVW_TRY(nvw_pool_open_image(&is, &first));
	for (unsigned i = 0; error == 0 && (pool = nvw_pool_number(first, i)); i++) {
		char *const its = nvw__pool_path(path, i);

		if (!its) {
			error = NVW_E_MEMORY;
		} else {
			error = write_bytes(
				its, image->ro + nvw_pool_begin(pool), nvw_pool_geometry(pool)->bytes);
		}
		free(its);
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

static int run(
	const struct ct_go_on *g, struct nvw_pool *pool, const struct nvw_acks *before, struct nvw_acks *acks)
{
	const struct emu_power_cut never = {
		.time_ps = UINT64_MAX, .acknowledged = acknowledge, .context = acks};
	struct nvw_machine *machine;

	NVW_TRY(emu_create(g->config, pool, NULL, &machine));
	emu_set_power_cut(machine, &never);
	int error = g->oracle.workload->go_on(g->oracle.plan, machine, before, g->operations);

	if (error == 0) {
		error = nvw_persist(machine);
	}
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

static int open_and_run(
	const struct ct_go_on *g, const char *path, const struct nvw_acks *before, struct nvw_acks *acks)
{
	struct nvw_pool *pool;

	NVW_TRY(nvw_pool_open(path, NVW_POOL_WRITE, &pool));
	const int error = run(g, pool, before, acks);

	nvw_pool_close(pool);
	return error;
}

/* ---- The verdict --------------------------------------------------------------------------------------- */

/* Violations from number first on say when they came. */
static void say_when(struct nvw_findings *findings, unsigned first)
{
	char text[NVW__FINDING_TEXT];

	for (unsigned i = first; i < findings->kept; i++) {
		NVW_PRINT(text, "%s", findings->finding[i].text);
		snprintf(findings->finding[i].text, sizeof text, "after recovery, and going on: %.*s",
			(int)sizeof text - 40, text);
	}
}

static int judge_again(const struct ct_oracle *o, const char *path, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const unsigned before = findings->kept;
	struct nvw_pool *pool;

	if (nvw_pool_open(path, NVW_POOL_WRITE, &pool) != 0) {
		return nvw_violation(findings, 0, "after recovery, and going on: the pool does not open: %s",
			nvw_error_message());
	}
	const int verdict = ct_oracle_judge_pool(o, pool, acks, findings, phase);

	nvw_pool_close(pool);
	say_when(findings, before);
	return verdict;
}

static int go_on_from(const struct ct_go_on *g, const char *path, const struct nvw_acks *before,
	struct nvw_acks *acks, struct nvw_findings *findings, volatile uint32_t *phase)
{
	*phase = CT_PHASE_GO_ON;
	NVW_TRY(copy_acks(before, acks));
	if (open_and_run(g, path, before, acks) != 0) {
		return nvw_violation(findings, 0, "going on after recovery: %s", nvw_error_message());
	}
	return judge_again(&g->oracle, path, acks, findings, phase);
}

static int go_on(struct ct_go_on *g, const struct ct_image *image, const struct nvw_acks *before,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const uint64_t key = nvw_mix64(image->hash ^ nvw_mix64(before->hash)) | 1;
	uint64_t *const seen = &g->seen[key >> 1 & (CT_GONE_ON_MAX - 1)];
	char path[NVW__FOLDER_PATH + 24];
	struct nvw_acks acks = {0};

	if (*seen == key) {
		return 0;
	}
	NVW_PRINT(path, "%s/pool-%d", g->folder.path, (int)getpid());
	NVW_TRY(write_pools(image, path));
	const int verdict = go_on_from(g, path, before, &acks, findings, phase);

	nvw__acks_free(&acks);
	if (verdict == 0) {
		*seen = key;
	}
	return verdict;
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
	return go_on(g, image, acks, findings, phase);
}

int ct_go_on_make(const struct ct_oracle *oracle, const struct emu_config *config, uint64_t operations,
	struct ct_go_on *ret)
{
	*ret = (struct ct_go_on){.oracle = *oracle, .config = config, .operations = operations};
	NVW_FAIL_IF(!oracle->workload->go_on, NVW_E_USAGE,
		"--and-then: %s has no operations to go on with after a crash", oracle->workload->name);
	return nvw_folder_make("go-on", true, &ret->folder);
}

void ct_go_on_end(struct ct_go_on *g)
{
	nvw_folder_remove(&g->folder);
}
