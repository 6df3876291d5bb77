/* SPDX-License-Identifier: BSD-3-Clause */
/* The exploration of a log with edits. */

#include "core/print.h"

#include "../crash.h"
#include "../states/limits.h"
#include "../judge/operations.h"

/* Finds the assumptions that change nothing. They are the first edits, so limits have them in their order. */
static uint32_t idle_ones(const struct ct_options *o, const struct ct_limits *l)
{
	unsigned durables = 0, orders = 0;
	uint32_t idle = 0;

	for (unsigned i = 0; i < o->assumed_count && l; i++) {
		const bool durable = o->assumed[i].kind == CT_EDIT_DURABLE;
		const unsigned matters =
			durable ? l->durable_matter >> durables++ : l->orders_matter >> orders++;

		idle |= (uint32_t) !(matters & 1) << i;
	}
	return idle;
}

static int explore(const struct ct_exploration *e, const struct ct_edited *edited, void *final,
	struct ct_result *ret_result)
{
	struct ct_exploration of_edited = *e;
	struct ct_operations operations = {0}; /* their records have other numbers there */
	int error = e->operations ? ct_operations_read(edited->log_fd, &operations) : 0;

	of_edited.rules.limits = edited->limits;
	of_edited.log_fd = edited->log_fd;
	of_edited.first_record = edited->first_record;
	of_edited.operations = e->operations ? &operations : NULL;
	if (!error) {
		error = ct_explore(&of_edited, final, ret_result);
	}
	ct_operations_free(&operations);
	ret_result->assumed = e->options.assumed;
	ret_result->assumed_count = e->options.assumed_count;
	ret_result->assumed_idle = idle_ones(&e->options, edited->limits);
	return error;
}

int ct_explore_edited(const struct ct_exploration *e, const struct ct_edit *edits, unsigned count,
	void *final, struct ct_result *ret_result)
{
	struct ct_edited edited;
	int error;

	if (count == 0) {
		return ct_explore(e, final, ret_result);
	}
	NVW_FAIL_IF(ct_model_info(e->rules.model)->replays, NVW_E_USAGE,
		"an edited log, or one with assumptions, has no timing of its own: expected "
		"--mode=permitted, found observed");
	error = ct_edit_log(e->log_fd, e->first_record, edits, count, &edited);
	if (!error) {
		error = explore(e, &edited, final, ret_result);
		ct_edited_free(&edited);
	}
	return error;
}

/* Puts the options that the message is about in front of it. */
static int name_options(int error)
{
	char text[CT_TEXT_BYTES * 2];

	if (error != NVW_E_USAGE) {
		return error;
	}
	NVW_PRINT(text, "%s", nvw_error_message());
	return nvw_fail(error, "--assume-durable or --assume-ordered: %s", text);
}

int ct_explore_assumed(const struct ct_exploration *e, void *final, struct ct_result *ret_result)
{
	const int error =
		ct_explore_edited(e, e->options.assumed, e->options.assumed_count, final, ret_result);

	if (e->options.assumed_count) {
		return name_options(error);
	}
	return error;
}
