/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash_once.h. */

#include "crash_once.h"

#include <stdlib.h>

#include "../report/words.h"
#include "try_cures.h"

/* The cures of a test are tried with these. */
struct trial {
	const struct crash_tested *tested;
	const struct ct_options *options;
	const char *image; /* its whole path: a trial has another working directory */
};

static int explore(const struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	const struct ct_foreign log = crash_tested_log(t);

	return crash_tested_explore(t, &log, o, ret_result);
}

/* The same test, of the program of this working directory. See cure_trial.run. */
static int run_copy(
	void *context, double limit, struct ct_result *ret_result, int *ret_status, bool *ret_timed_out)
{
	const struct trial *const trial = context;
	const struct crash_tested *const t = trial->tested;
	struct ct_options o = *trial->options;
	struct crash_tested again;
	int error = crash_tested_begin(t->machine, t->request, trial->image, t->command, &again);

	o.cures = false;
	o.unexplained = true;
	o.settle_after = 0;
	o.save = o.resume = o.slices = NULL;
	again.limit = limit;
	if (!error) {
		error = crash_tested_record(&again, 0);
		if (again.recorded.seconds > 0) { /* else it has not begun */
			*ret_status = again.recorded.status;
		}
		*ret_timed_out = again.recorded.timed_out;
	}
	if (error > 0 && *ret_status == t->recorded.status) {
		error = explore(&again, &o, ret_result);
	}
	crash_tested_end(&again);
	return error < 0 ? error : 0;
}

static unsigned count_verified(const struct ct_result *result)
{
	unsigned verified = result->unlogged.count;

	NVW_EACH(finding, result->finding, result->finding_count) {
		verified += finding->cure.verified;
	}
	return verified;
}

static void try_cures(const struct crash_tested *t, const struct ct_options *o, struct ct_result *result)
{
	if (count_verified(result) == 0) {
		return;
	}
	char *const whole = realpath(t->request->image, NULL);
	struct trial trial = {.tested = t, .options = o, .image = words_or(whole, t->request->image)};

	cli_try_cures(&(struct cure_trial){.command = t->request->try_cures,
			      .exec = t->request->exec,
			      .image = trial.image,
			      .seconds = t->recorded.seconds,
			      .status = t->recorded.status,
			      .run = run_copy,
			      .context = &trial},
		result);
	free(whole);
}

int crash_once_run(struct crash_tested *t, const struct ct_options *o, struct ct_result *ret_result)
{
	int error = crash_tested_record(t, 0);

	if (error < 0) {
		return ct_or_undecided(error, o, ret_result);
	}
	error = explore(t, o, ret_result);
	if (!error && WIFSIGNALED(t->recorded.status)) {
		ret_result->ended_by = WTERMSIG(t->recorded.status);
	}
	if (!error && t->request->try_cures && !ret_result->interrupted) {
		try_cures(t, o, ret_result);
	}
	return error;
}
