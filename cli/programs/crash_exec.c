/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec: records the run of a real program, then explores its log like an external one. */
#include "crash_exec.h"

#include <jansson.h>

#include "core/invariant.h"
#include "core/member.h"
#include "../commands.h"
#include "../schedules/crash_schedules.h"
#include "../session.h"
#include "crash_corpus.h"
#include "crash_kills.h"
#include "crash_once.h"
#include "program_coverage.h"
#include "tested.h"

static int run_kind(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	if (t->request->corpus) {
		return crash_corpus_run(t, o, ret_result);
	}
	if (t->request->schedules.count > 0) {
		return crash_schedules_run(t, o, ret_result);
	}
	if (o->mode == CT_KILL) {
		return crash_kills_run(t, o, ret_result);
	}
	return crash_once_run(t, o, ret_result);
}

static int run_covered(void *context, const struct ct_options *o, struct ct_result *ret_result)
{
	struct crash_tested *const t = context;

	NVW_TRY(run_kind(t, o, ret_result));
	host_coverage_settle(&t->coverage, true);
	return program_coverage_take(&t->coverage, ret_result);
}

/* The test's options, and what makes its result. */
static struct crash_request to_explore(struct crash_tested *t)
{
	struct crash_request explored = *t->request;
	struct ct_options *const o = &explored.options;

	explored.run = run_covered;
	explored.context = t;
	o->schedules = 0; /* of wavefronts */
	if (t->machine->nvram.domain == EMU_DOMAIN_eadr) {
		o->model = ct_model_or(o->model, CT_USE_KEPT_CACHES);
	}
	return explored;
}

static int explore(struct crash_tested *t, const char *command, bool json)
{
	const struct crash_request explored = to_explore(t);

	t->covers = true;
	return crash_store_log(t->machine, &explored, command, json);
}

int crash_exec(
	const struct emu_config *machine, const struct crash_request *request, const char *command, bool json)
{
	struct crash_tested t;
	const int error = crash_tested_begin(machine, request, request->image, command, &t);
	const int status = error ? cli_fail() : explore(&t, command, json);

	crash_tested_end(&t);
	return status;
}

static int explore_into(struct crash_tested *t, struct ct_result *ret_result)
{
	const struct crash_request explored = to_explore(t);

	return explored.run(explored.context, &explored.options, ret_result);
}

int crash_exec_result(
	const struct emu_config *machine, const struct crash_request *request, struct ct_result *ret_result)
{
	NVW_INVARIANT(request->exec);

	struct crash_tested t;
	const int error = NVW_OR(
		crash_tested_begin(machine, request, request->image, "", &t), explore_into(&t, ret_result));
	crash_tested_end(&t);
	return error;
}

int crash_exec_replay(
	const struct emu_config *machine, const json_t *schedule, bool *ret_same, char ret_end[2048])
{
	/* It is run, and not judged. */
	const struct crash_request request = {.exec = member_text(schedule, "exec"),
		.image = member_text(schedule, "image"),
		.check = "true",
		.stacks = member_flag(schedule, "stacks"),
		.compare = member_flag(schedule, "compare")};
	struct crash_tested t;
	const int error = NVW_OR(crash_tested_begin(machine, &request, request.image, "", &t),
		crash_schedules_again(&t, schedule, ret_same, ret_end));
	crash_tested_end(&t);
	return error;
}
