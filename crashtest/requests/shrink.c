/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest failing --count: whole tests with smaller values. See crash.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "core/options.h"
#include "core/print.h"
#include "core/stop.h"

#include "../crash.h"

enum { STATES_MAX = 3000 };

/* True if the workload has an option of this name and of type count. */
static bool counts(const struct nvw_workload *w, const char *name)
{
	for (const struct nvw_option *o = w->options; o && o->name; o++) {
		if (!strcmp(o->name, name)) {
			return o->type == NVW_OPTION_COUNT;
		}
	}
	return false;
}

/* The user's options with another count. */
static int options_with(const struct ct_subject *s, uint64_t count, struct nvw_options **ret_options)
{
	const char *name, *text;
	char number[24];

	NVW_TRY(nvw__options_create(s->workload->options, ret_options));
	for (unsigned i = 0; nvw__options_given(s->options, i, &name, &text); i++) {
		NVW_TRY(nvw__options_set(*ret_options, name, text));
	}
	NVW_PRINT(number, "%llu", (ull)count);
	return nvw__options_set(*ret_options, "count", number);
}

/* True if this number of operations fails, with any text. A run that cannot be made does not fail. */
static bool fails(const struct ct_subject *subject, const struct ct_options *options, uint64_t count)
{
	struct ct_result *const result = malloc(sizeof *result);
	struct ct_subject s = *subject;
	struct nvw_options *values;
	bool failed = false;

	if (options_with(subject, count, &values) == 0 && result) {
		s.options = values;
		if (ct_run(&s, options, result) == 0) {
			failed = !result->consistent;
			ct_result_free(result);
		}
	}
	nvw__options_free(values);
	free(result);
	return failed;
}

static void tell_count(const struct ct_options *o, uint64_t count)
{
	ct_tell(o, "smallest failing --count", count, 0, 0);
}

static void make_quick(struct ct_options *o)
{
	o->unexplained = true;
	o->save = NULL;
	o->resume = o->slices = NULL;
	o->shard = o->shards = 0;
	if (o->states == 0 || o->states > STATES_MAX) {
		o->states = STATES_MAX;
	}
}

void ct_find_fewest(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *result)
{
	struct ct_options o = *options;
	uint64_t failing, passing = 0, most;

	if (result->finding_count == 0 || options->mode == CT_KILL || !counts(subject->workload, "count")) {
		return;
	}
	make_quick(&o);
	most = nvw_option_u64(subject->options, "count");
	o.progress = NULL;
	/* Upwards, because small runs are fast, and more of their states are tested. */
	for (failing = 1; failing < most && !nvw_stopping() && !fails(subject, &o, failing); failing *= 2) {
		tell_count(options, failing);
		passing = failing;
	}
	failing = MIN(failing, most);
	while (failing - passing > 1 + failing / 16 && !nvw_stopping()) {
		const uint64_t middle = passing + (failing - passing) / 2;

		tell_count(options, middle);
		if (fails(subject, &o, middle)) {
			failing = middle;
		} else {
			passing = middle;
		}
	}
	result->fewest_operations = nvw_stopping() ? 0 : failing;
}
