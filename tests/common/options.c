/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "common/options.h"
#include "common/test.h"

#include <stdio.h>
#include <string.h>

struct nvw_options *options_of(const struct nvw_option *table, const char *assignments)
{
	struct nvw_options *options;
	char text[512], *rest = text, *word;

	assert_ok(nvw__options_create(table, &options));
	assert_in_range(snprintf(text, sizeof text, "%s", assignments), 0, sizeof text - 1);
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		char *const equals = strchr(word, '=');

		assert_non_null(equals);
		*equals = '\0';
		assert_ok(nvw__options_set(options, word, equals + 1));
	}
	return options;
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
