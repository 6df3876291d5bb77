/* SPDX-License-Identifier: BSD-3-Clause */
/* See tested.h. */
#include "core/print.h"

#include "tested.h"

#include <stdlib.h>
#include <string.h>

#include "../report/provenance.h"
#include "../report/words.h"
#include "../report/crash/unlogged.h"
#include "try_cures.h"

/* ---- Its command --------------------------------------------------------------------------------- */

/* The program itself, with the option to print. */
static char *default_recover(const char *exec)
{
	return text_made("%.*s --recover-and-print", (int)strcspn(exec, " \t"), exec);
}

static int check_request(const struct crash_request *r)
{
	NVW_TRY(crash_check_foreign(r));
	NVW_FAIL_IF(r->store_log, NVW_E_USAGE,
		"crash: --exec cannot be combined with --store-log: it makes its own log");
	if (r->try_cures) {
		NVW_TRY(cli_try_cures_check(r->exec));
	}
	NVW_FAIL_IF(r->try_cures && !r->options.cures, NVW_E_USAGE,
		"crash: --try-cures has no effect with --cures=off");
	return 0;
}

static char *recover_command(const struct crash_request *r)
{
	return r->recover ? strdup(r->recover) : default_recover(r->exec);
}

/* Where the program's file is, if the model says so. */
static enum host_model place_of(const struct crash_request *r)
{
	const struct ct_model_info *const m = ct_model_info(r->options.model);

	if (r->options.model == CT_MODEL_FILES) {
		return HOST_MODEL_FILES;
	}
	return r->options.mode == CT_PERMITTED && m->of_programs ? HOST_MODEL_X86 : HOST_MODEL_ANY;
}

static int check_copy(const struct crash_request *request, const char *image, struct crash_tested *t)
{
	NVW_FAIL_IF(t->copy.is_folder && (place_of(request) == HOST_MODEL_X86 || request->check_lib),
		NVW_E_USAGE,
		"crash: --image=%s: a folder has files on a disk: it needs --model=files, and "
		"--check or --oracle=replay",
		image);
	NVW_FAIL_IF(request->except && !t->copy.is_folder, NVW_E_USAGE,
		"crash: --except has no effect: the image is no folder");
	return 0;
}

int crash_tested_begin(const struct emu_config *machine, const struct crash_request *request,
	const char *image, const char *command, struct crash_tested *t)
{
	*t = (struct crash_tested){.machine = machine,
		.request = request,
		.command = command,
		.made_by = cli_provenance(machine, command)};
	NVW_TRY(check_request(request));
	if (request->replays) {
		t->recover = recover_command(request);
		NVW_ALLOCATED(t->recover, "no memory for a command");
	}
	NVW_TRY(working_copy_make(image, &t->copy));
	NVW_TRY(check_copy(request, image, t));
	NVW_PRINT(t->log, "%s/.log", t->copy.folder.path);
	NVW_PRINT(t->base, "%s/.base", t->copy.folder.path);
	return working_copy_command(request->exec, request->image, request->corpus != NULL, &t->copy);
}

void crash_tested_end(struct crash_tested *t)
{
	working_copy_end(&t->copy);
	free(t->recover);
	host_coverage_free(&t->coverage);
	json_decref(t->made_by);
}

/* ---- Its runs ------------------------------------------------------------------------------------ */

/* The model is that of kernels on the machine, and not of a processor. */
static bool is_of_machine(const struct crash_request *r)
{
	const struct ct_model_info *const m = ct_model_info(r->options.model);

	return r->options.mode == CT_PERMITTED && m->of_runs && !m->of_programs;
}

struct crash_recording crash_tested_recording(struct crash_tested *t)
{
	struct host_coverage *const coverage = t->covers ? &t->coverage : NULL;

	return (struct crash_recording){.machine = t->machine,
		.words = t->copy.words,
		.path = t->copy.path,
		.is_folder = t->copy.is_folder,
		.except = t->request->except,
		.fs = t->request->fs,
		.log = t->log,
		.base = t->base,
		.emulate = is_of_machine(t->request),
		.stacks = t->request->stacks,
		.compare = t->request->compare,
		.model = place_of(t->request),
		.judged = t->limit > 0,
		.limit = t->limit,
		.coverage = coverage};
}

int crash_tested_record(struct crash_tested *t, uint64_t kill_at)
{
	struct crash_recording *const r = &t->recorded;

	*r = crash_tested_recording(t);
	r->kill_at = kill_at;
	if (kill_at > 0) {
		r->coverage = NULL; /* the uncut run has executed more */
	}
	return crash_record(r);
}

int crash_tested_hash(const struct crash_tested *t, uint64_t *hash)
{
	NVW_TRY(cli_hash_file(t->log, hash));
	return cli_hash_file(t->base, hash);
}

/* ---- Its crash states ---------------------------------------------------------------------------- */

struct ct_foreign crash_tested_log(const struct crash_tested *t)
{
	return crash_foreign(t->request, t->log, t->base, t->recover, t->command, t->made_by);
}

int crash_tested_explore(const struct crash_tested *t, const struct ct_foreign *foreign,
	const struct ct_options *o, struct ct_result *ret_result)
{
	NVW_TRY(ct_run_foreign(foreign, o, ret_result));
	ret_result->unlogged = t->recorded.unlogged;
	cli_unlogged_mark(ret_result);
	return 0;
}
