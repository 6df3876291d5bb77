/* SPDX-License-Identifier: BSD-3-Clause */
/* The fewest operations that still show a finding: whole tests with a smaller --count. See crash.h. */
#include <stdio.h>
#include <string.h>

#include "core/options.h"

#include "crash.h"
#include "group.h"

enum { STATES_MAX = 3000 };

/* True if the workload has an option of this name that counts. */
static bool counts(const struct nvw_workload *w, const char *name)
{
	for (const struct nvw_option *o = w->options; o && o->name; o++) {
		if (strcmp(o->name, name) == 0) {
			return o->type == NVW_OPTION_COUNT;
		}
	}
	return false;
}

/* The user's options, but for the count. */
static int options_with(const struct ct_subject *s, uint64_t count, struct nvw_options **ret_options)
{
	const char *name, *text;
	char number[24];
	int error = nvw__options_create(s->workload->options, ret_options);

	if (error) {
		return error;
	}
	for (unsigned i = 0; nvw__options_given(s->options, i, &name, &text) && !error; i++) {
		error = nvw__options_set(*ret_options, name, text);
	}
	snprintf(number, sizeof number, "%llu", (unsigned long long)count);
	return error ? error : nvw__options_set(*ret_options, "count", number);
}

/* True if text is of the finding's kind, or of one with the same cause. */
static bool is_alike(const struct ct_finding *f, const char *text)
{
	char wanted[CT_TEXT_BYTES], found[CT_TEXT_BYTES];

	ct_shape(text, found);
	ct_shape(f->text, wanted);
	if (strcmp(found, wanted) == 0) {
		return true;
	}
	for (unsigned i = 0; i < f->also_count; i++) {
		ct_shape(f->also[i].text, wanted);
		if (strcmp(found, wanted) == 0) {
			return true;
		}
	}
	return false;
}

/* True if so many operations still show the finding. A run that cannot be made does not. */
static bool shows(const struct ct_subject *subject, const struct ct_options *options, uint64_t count,
	const struct ct_finding *finding)
{
	static struct ct_result result;
	struct ct_subject s = *subject;
	struct nvw_options *values;
	bool same = false;

	if (options_with(subject, count, &values) == 0) {
		s.options = values;
		if (ct_run(&s, options, &result) == 0) {
			for (unsigned i = 0; i < result.finding_count && !same; i++) {
				same = is_alike(finding, result.finding[i].text);
			}
			ct_result_free(&result);
		}
	}
	nvw__options_free(values);
	return same;
}

static bool stopped(const struct ct_options *o)
{
	return o->interrupted != NULL && *o->interrupted;
}

static void tell(const struct ct_options *o, uint64_t count)
{
	const struct ct_progress p = {.what = "fewest operations", .done = count};

	if (o->progress != NULL) {
		o->progress(o->context, &p);
	}
}

void ct_find_fewest(const struct ct_subject *subject, const struct ct_options *options, struct ct_result *result)
{
	struct ct_options o = *options;
	uint64_t shown, hidden = 0, most;

	if (result->finding_count == 0 || options->mode == CT_KILL || !counts(subject->workload, "count")) {
		return;
	}
	o.unexplained = true;
	o.save = NULL;
	o.resume = NULL;
	o.shard = o.shards = 0;
	o.states = o.states == 0 || o.states > STATES_MAX ? STATES_MAX : o.states;
	most = nvw_option_u64(subject->options, "count");
	o.progress = NULL;
	/* Upwards: small runs are quick, and more of their states are tested. */
	for (shown = 1; shown < most && !stopped(options) && !shows(subject, &o, shown, &result->finding[0]); shown *= 2) {
		tell(options, shown);
		hidden = shown;
	}
	shown = shown < most ? shown : most;
	while (shown - hidden > 1 + shown / 16 && !stopped(options)) {
		const uint64_t middle = hidden + (shown - hidden) / 2;

		tell(options, middle);
		if (shows(subject, &o, middle, &result->finding[0])) {
			shown = middle;
		} else {
			hidden = middle;
		}
	}
	result->fewest_operations = shown;
}
