/* SPDX-License-Identifier: BSD-3-Clause */
/* See small_run.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <emu.h>

#include "core/options.h"
#include "small_run.h"

static void set_options(struct nvw_options *options, const char *assignments)
{
	char text[256], *at = text, *word;

	strcpy(text, assignments);
	while ((word = strsep(&at, " ")) != NULL && *word != '\0') {
		char *const value = strchr(word, '=');

		*value = '\0';
		assert_int_equal(nvw__options_set(options, word, value + 1), 0);
	}
}

int small_run(const struct nvw_workload *workload, const char *assignments, int mutation,
	const struct ct_options *o, struct ct_result *result)
{
	struct nvw_options *options;
	struct emu_config config;

	emu_config_default(&config);
	assert_int_equal(nvw__options_create(workload->options, &options), 0);
	set_options(options, assignments);
	const struct ct_subject subject = {
		.workload = workload, .options = options, .config = &config, .mutation = mutation};

	ct_result_free(result);
	memset(result, 0, sizeof *result);
	const int error = ct_run(&subject, o, result);

	nvw__options_free(options);
	return error;
}
