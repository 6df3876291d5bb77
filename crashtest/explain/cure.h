/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cures, proved. A proposal of a finding (proposal.h) is applied to the log (edit.h), and the new log is
 * explored with the budget and the seed of the test. It holds if no tested state fails. It also counts for
 * the time being if the first state that fails has another cause: then that cause is next, with the cure
 * applied. So a cause does not hide the next. At the end all cures together are explored, and all but each
 * one. A cure is *verified on this log* if no tested state fails with all of them; it is *verified by
 * running* if the program with these edits has run, too, and nothing failed of it
 * (cure_run.h).
 *
 * If nothing holds for a finding, its lost stores are assumed to persist in time, so that what is behind it
 * shows; the proofs of the others say so.
 *
 * Proposals are tried alone, in their order; if none holds, pairs of them and then triples.
 *
 * An edited log has no timing of its own. In observed mode the proofs are therefore of the states that the
 * machine's model permits, which are more: they may show causes that the timing of this run hides.
 */
#ifndef CRASHTEST_CURE_H
#define CRASHTEST_CURE_H

#include "../crash.h"

/* Seeks cures for the findings that e gave in result; adds those that turn up. model: that of the proofs. */
NVW_CHECKED int ct_cure(const struct ct_exploration *e, enum ct_model model, struct ct_result *result);

/* What a cause without proposals of its own suggests. */
void ct_propose(const struct ct_cause *cause, struct ct_proposals *ret_proposals);

/* "file:line" of a cause; false for what has no line. */
bool ct_propose_line(const char *text, const char *caller, struct ct_line *ret_line);

/* The cure in words: "a flush after list.c:31 and a fence after list.c:31". */
void ct_cure_text(const struct ct_cure *cure, char *ret_text, size_t bytes);

#endif
