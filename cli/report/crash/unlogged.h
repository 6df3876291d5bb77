/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores that their transaction has not logged (ct_unlogged), in reports. */
#ifndef CLI_UNLOGGED_H
#define CLI_UNLOGGED_H

#include <stdio.h>

#include <jansson.h>

#include <crashtest/crash.h>

#include "../../../host/session.h"

/* What was not looked at in the transactions of a session, as a sentence; NULL: nothing. */
const char *cli_unlogged_unseen(const struct host_control *control);
/* Those of a session that store to a file, or with -1 to any. */
void cli_unlogged_take(const struct host_control *control, int file, struct ct_unlogged_list *ret_list);

/* Each prints nothing, or NULL, without such a store. tries: the command can run a cure. */
void cli_unlogged_text(const struct ct_unlogged_list *list, bool tries, FILE *to);
json_t *cli_unlogged_json(const struct ct_unlogged_list *list);
/* What a report has, which is merged with others. */
void cli_unlogged_read(const json_t *report, struct ct_unlogged_list *ret_list);
/* A run of kernels has this report. */
void cli_print_undo(const struct emu_undo_report *report, FILE *to);
json_t *cli_undo_json(const struct emu_undo_report *report);
void html_unlogged(FILE *to, const struct ct_unlogged_list *list);

/* Names the one that each finding is of (ct_finding.unlogged). A cure that flushes it is no cure, and is
 * dropped. */
void cli_unlogged_mark(struct ct_result *result);

#endif
