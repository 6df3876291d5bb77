/* SPDX-License-Identifier: BSD-3-Clause */
/* Candidates of persistency races in the report of "nvwave exec". Without a search (races NULL) there are
 * none. */
#ifndef CLI_EXEC_RACES_H
#define CLI_EXEC_RACES_H

#include <stdio.h>

#include <jansson.h>

#include "../../../host/candidates.h"

void exec_races_text(const struct host_session *session, const struct host_candidates *candidates, FILE *to);
/* NULL if they were not looked for. */
json_t *exec_races_json(const struct host_session *session, const struct host_candidates *candidates);

#endif
