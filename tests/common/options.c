/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "common/options.h"
#include "common/test.h"

#include <stdio.h>
#include <string.h>

static int set_each(struct nvw_options *options, const char *assignments)
{
	char text[512], *rest = text, *word;

	assert_in_range(snprintf(text, sizeof text, "%s", assignments), 0, sizeof text - 1);
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		char *const equals = strchr(word, '=');

		assert_non_null(equals);
		*equals = '\0';
		NVW_TRY(nvw__options_set(options, word, equals + 1));
	}
	return 0;
}

struct nvw_options *options_of(const struct nvw_option *table, const char *assignments)
{
	struct nvw_options *options;

	assert_ok(nvw__options_create(table, &options));
	assert_ok(set_each(options, assignments));
	return options;
}

int prepare_with(const struct nvw_workload *workload, const char *assignments, uint64_t seed, int mutation,
	void **ret_plan)
{
	struct nvw_options *options;

	assert_ok(nvw__options_create(workload->options, &options));

	int r = set_each(options, assignments);

	r = r ? r : workload->prepare(options, seed, mutation, ret_plan);
	nvw__options_free(options);
	return r;
}

int mutation_of(const struct nvw_workload *workload, const char *name)
{
	int i = 0;

	if (name == NULL) {
		return -1;
	}
	while (workload->mutations[i].name != NULL && strcmp(workload->mutations[i].name, name) != 0) {
		i++;
	}
	if (workload->mutations[i].name == NULL) {
		fail_msg("%s has no seeded bug %s", workload->name, name);
	}
	return i;
}
