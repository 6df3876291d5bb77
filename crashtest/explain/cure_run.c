/* SPDX-License-Identifier: BSD-3-Clause */
/* The program run with its cure. See cure_run.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <emu.h>

#include <check/check.h>

#include "core/invariant.h"
#include "core/print.h"

#include "cure_run.h"
#include "../judge/oracle.h"

static bool is_barrier(const struct ct_edit *e)
{
	return e->kind == CT_EDIT_BARRIER || e->kind == CT_EDIT_WIDEN;
}

static bool is_assumption(const struct ct_edit *e)
{
	return e->kind == CT_EDIT_DURABLE || e->kind == CT_EDIT_ORDERED;
}

static enum emu_insertion where_of(const struct ct_edit *e)
{
	if (e->kind == CT_EDIT_WIDEN) {
		return EMU_INSERT_WIDENS;
	}
	return ct_edit_stands_before(e) ? EMU_INSERT_BEFORE : EMU_INSERT_AFTER;
}

static struct emu_inserted inserted_of(const struct ct_edit *e)
{
	const struct ct_line *const at = ct_edit_place(e);

	return (struct emu_inserted){
		.file = at->file, .line = at->line, .scope = e->scope, .where = where_of(e)};
}

/* ---- How it ended -------------------------------------------------------------------------------------- */

static void make_one_line(struct ct_cure_run *run)
{
	for (char *c = run->why; *c; c++) {
		if (*c == '\n') {
			*c = ' ';
		}
	}
}

/* Makes the message one line. A deadlock's report has a line for each place of waiting; one is enough. */
static void take_message(const char *before, struct ct_cure_run *run)
{
	const char *const text = nvw_error_message();
	int bytes = (int)strcspn(text, "\n");

	NVW_INVARIANT(*before);
	if (text[bytes] != '\0') {
		bytes += 1 + (int)strcspn(text + bytes + 1, "\n");
	}
	bytes -= bytes > 0 && text[bytes - 1] == ',';
	NVW_PRINT(run->why, "%s: %.*s", before, bytes, text);
	make_one_line(run);
}

static bool is_result(int error)
{
	return error == NVW_E_DEADLOCK || error == NVW_E_KERNEL || error == NVW_E_INCONSISTENT ||
	       error == NVW_E_USAGE || error == NVW_E_MODEL;
}

static const char *way_of(int error, const struct ct_run_shared *shared)
{
	switch (error) {
	case NVW_E_DEADLOCK:
		return shared->goes_on ? "the run with it goes on" : "it would deadlock";
	case NVW_E_INCONSISTENT:
		return "the final state of the run with it is wrong";
	default:
		return "the run with it ends with an error";
	}
}

/* The error that is left: a result is none. */
static int take_result(int error, const struct ct_run_shared *shared, struct ct_cure_run *run)
{
	if (!is_result(error)) {
		return error;
	}
	run->end = CT_CURE_REFUTED;
	take_message(way_of(error, shared), run);
	return 0;
}

/* ---- The run ------------------------------------------------------------------------------------------- */

static int judge(
	const struct nvw_workload *workload, void *plan, struct nvw_pool *pool, const struct nvw_acks *acks)
{
	const struct ct_oracle oracle = {.workload = workload, .plan = plan};
	struct nvw_findings findings = {0};
	uint32_t phase;

	NVW_FAIL_IF(ct_oracle_judge_pool(&oracle, pool, acks, &findings, &phase), NVW_E_INCONSISTENT, "%s",
		findings.finding[0].text);
	return 0;
}

static int run_with(const struct ct_exploration *e, const struct emu_inserted *inserted, unsigned count,
	struct ct_run_shared *shared, struct ct_cure_run *run)
{
	const struct ct_run_shared *const recorded = e->recorded;
	struct ct_subject subject = *e->bench->subject;
	struct ct_bench changed = *e->bench;

	subject.inserted = inserted;
	subject.inserted_count = count;
	subject.judge = judge;
	subject.time_max_ps = CT_RUN_FACTOR * recorded->end_ps;
	subject.operations_max = CT_RUN_FACTOR * recorded->operations;
	changed.subject = &subject;
	const int error = ct_run_whole(&changed, run->log_fd, NULL, shared);

	run->end = CT_CURE_HOLDS;
	run->first_record = shared->first_record;
	run->cost_ps = (int64_t)(shared->end_ps - shared->begin_ps) -
		       (int64_t)(recorded->end_ps - recorded->begin_ps);
	if (!error && shared->inserted_met == 0) {
		run->end = CT_CURE_REFUTED;
		NVW_PRINT(run->why, "no work-item of the run with it comes to it");
	}
	return take_result(error, shared, run);
}

/* Sorts the edits: what is inserted, and the rest. */
static unsigned sort_edits(
	const struct ct_edit *edits, unsigned count, struct emu_inserted *inserted, struct ct_cure_run *run)
{
	unsigned barriers = 0;

	run->exact = true;
	NVW_EACH(edit, edits, count) {
		if (is_barrier(edit) && barriers < EMU_INSERTED_MAX) {
			inserted[barriers++] = inserted_of(edit);
			continue;
		}
		run->rest[run->rest_count++] = *edit;
		run->exact &= is_assumption(edit);
	}
	return barriers;
}

int ct_cure_run(
	const struct ct_exploration *e, const struct ct_edit *edits, unsigned count, struct ct_cure_run *ret)
{
	struct emu_inserted inserted[EMU_INSERTED_MAX];

	*ret = (struct ct_cure_run){.log_fd = -1};
	if (!e->bench || count == 0) {
		return 0;
	}
	ret->rest = calloc(count, sizeof *ret->rest);
	NVW_ALLOCATED(ret->rest, "no memory for the edits of a run");
	const unsigned barriers = sort_edits(edits, count, inserted, ret);

	if (barriers == 0) {
		return 0;
	}
	struct ct_run_shared *shared;

	NVW_TRY(ct_log_file(&ret->log_fd));
	NVW_TRY(ct_run_shared_create(CT_ACK_RANGES_MAX, &shared));
	const int error = run_with(e, inserted, barriers, shared, ret);

	ct_run_shared_destroy(shared);
	return error;
}

void ct_cure_run_free(struct ct_cure_run *run)
{
	if (run->log_fd >= 0) {
		close(run->log_fd);
	}
	free(run->rest);
	*run = (struct ct_cure_run){.log_fd = -1};
}
