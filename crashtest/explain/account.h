/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns the failing states to findings: a finding has those that its cure, or its assumption, takes away
 * alone. Where all states were tested, no text decides. A state with several bugs has several findings.
 */
#ifndef CRASHTEST_ACCOUNT_H
#define CRASHTEST_ACCOUNT_H

#include "../explore/failing.h"

struct ct_account {
	struct ct_failed_set all; /* without any cure */
	bool *held;               /* the pair's state belongs to a finding */
	bool exact;               /* all states are known: else counts stay those of texts */
	bool open;                /* with some cure they are not */
};

/* Takes the states of a test without any cure, if all are known. NVW_E_MEMORY. Freed by ct_account_free(). */
NVW_CHECKED int ct_account_begin(struct ct_account *account, struct ct_result *without);
void ct_account_free(struct ct_account *account);

/* Finding i of result was cured, or assumed away, alone, with this outcome. Findings that are gone, and
 * whose texts this outcome does not have, are said to go with it. */
void ct_account_alone(
	struct ct_account *account, struct ct_result *result, unsigned i, const struct ct_result *alone);

/* Ends with the outcome of all cures and assumptions together. */
void ct_account_end(struct ct_account *account, struct ct_result *result, const struct ct_result *with_all);

#endif
