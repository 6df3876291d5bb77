/* SPDX-License-Identifier: BSD-3-Clause */
/* See small_run.h. */
#include "small_run.h"

#include <string.h>

#include <emu.h>

#include "common/options.h"

int small_run(const struct nvw_workload *workload, const char *assignments, int mutation,
	const struct ct_options *o, struct ct_result *result)
{
	struct nvw_options *const options = options_of(workload->options, assignments);
	struct emu_config config;

	emu_config_default(&config);
	const struct ct_subject subject = {
		.workload = workload, .options = options, .config = &config, .mutation = mutation};

	ct_result_free(result);
	memset(result, 0, sizeof *result);
	const int error = ct_run(&subject, o, result);

	nvw__options_free(options);
	return error;
}
