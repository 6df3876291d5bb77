/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes of crash testing. */
#ifndef CRASHTEST_MODES_H
#define CRASHTEST_MODES_H

#include "../crash.h"
#include "../run.h"

NVW_CHECKED int ct_run_kill(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result);
NVW_CHECKED int ct_run_logged(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result);

/* Sets defaults, the model by the machine's domain (eadr keeps the caches); refuses impossible options.
 * subject NULL: an external log. */
NVW_CHECKED int ct_options_complete(const struct ct_subject *subject, struct ct_options *options);

/* One run with its log, explored in several ways. */
struct ct_logged {
	struct ct_bench bench;
	struct ct_run_shared *shared;
	int log_fd;
};
NVW_CHECKED int ct_logged_create(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_logged *ret_logged);
void ct_logged_destroy(struct ct_logged *logged);
NVW_CHECKED int ct_logged_explore(const struct ct_logged *logged, const struct ct_rules *rules,
	const struct ct_options *options, struct ct_result *ret_result);

#endif
