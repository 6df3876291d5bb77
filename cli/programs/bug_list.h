/* SPDX-License-Identifier: BSD-3-Clause */
/* A program's list of its seeded bugs, for nvwave crash --self-test --exec (docs/host-crash.md). */
#ifndef CLI_BUG_LIST_H
#define CLI_BUG_LIST_H

#include <stdbool.h>

#include <crashtest/crash.h>

enum { BUGS_MAX = 64, BUG_BYTES = 200 };

/* Texts are "" where the file says nothing. */
struct bug {
	char name[64];
	char arguments[BUG_BYTES];    /* what switches it on: words for the command; its name by default */
	char finding[BUG_BYTES];      /* part of the checker's words */
	char durable[160], lost[160]; /* FILE:LINE of a store that survives, and of one that is lost */
	char harmless[BUG_BYTES];     /* models under which no state fails, separated by blanks */
};

struct bug_list {
	char path[4096];
	unsigned count;
	struct bug bug[BUGS_MAX];
};

/* Reads the file; NVW_E_INPUT, with its name and the key, for what is not such a list. */
NVW_CHECKED int bug_list_read(const char *path, struct bug_list *ret_list);

/* Nothing has to be found under this model: the list says that the bug is harmless there. */
bool bug_is_harmless(const struct bug *bug, const char *model);

/* The finding that the list expects, or NULL. */
const struct ct_finding *bug_find(const struct bug *bug, const struct ct_result *result);

#endif
