/* SPDX-License-Identifier: BSD-3-Clause */
/* Proposals that follow from a cause's own words: its two lines, the barrier, the scope that is needed. See
 * cure.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/print.h"

#include "cure.h"

static bool take_line(const char *text, char file[128], uint32_t *line)
{
	const char *const colon = strrchr(text, ':');

	*line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
	if (*line != 0) {
		snprintf(file, 128, "%.*s", (int)(colon - text), text);
	}
	return *line != 0;
}

bool ct_propose_line(const char *text, const char *caller, struct ct_line *ret)
{
	struct ct_line l = {0};
	char file[128];
	uint32_t line;

	if (!take_line(text, l.file, &l.line)) {
		return false;
	}
	if (take_line(caller, file, &line)) {
		ct_line_called(&l, file, line);
	}
	*ret = l;
	return true;
}

static void add(struct ct_proposals *p, enum ct_edit_kind kind, enum nvw_group scope, const struct ct_line *a,
	const struct ct_line *b)
{
	if (p->count < CT_PROPOSALS_MAX) {
		struct ct_edit *const e = &p->edit[p->count++];

		*e = (struct ct_edit){.kind = kind, .scope = scope, .a = *a};
		if (b) {
			e->b = *b;
		}
	}
}

/* A barrier of the narrowest scope first: the cause's own is that of one state, and may be wider than needed.
 * Before what relies on the store: many stores may be lost, in a loop, of which one publishes. */
static void add_barriers(struct ct_proposals *p, const struct ct_line *lost, const struct ct_line *early)
{
	for (enum nvw_group scope = NVW_WORKITEM; scope <= NVW_KERNEL; scope++) {
		if (early->line != 0) {
			add(p, CT_EDIT_BARRIER, scope, lost, early);
		}
		add(p, CT_EDIT_BARRIER, scope, lost, NULL);
	}
}

static void add_wider(struct ct_proposals *p, const struct ct_cause *c)
{
	struct ct_line barrier = {.line = c->line};

	NVW_PRINT(barrier.file, "%s", c->file);
	if (barrier.line != 0 && !strcmp(c->scope, "work-item")) {
		add(p, CT_EDIT_WIDEN, NVW_WORKGROUP, &barrier, NULL);
	}
	if (barrier.line != 0 && strcmp(c->scope, "kernel") != 0) {
		add(p, CT_EDIT_WIDEN, NVW_KERNEL, &barrier, NULL);
	}
}

void ct_propose(const struct ct_cause *c, struct ct_proposals *ret)
{
	struct ct_line lost = {0}, early = {0};
	const bool on_host = !strcmp(c->needed, "flush and fence");

	*ret = (struct ct_proposals){0};
	ct_propose_line(c->early, c->early_caller, &early);
	if (!ct_propose_line(c->lost, c->lost_caller, &lost)) {
		return;
	}
	if (c->kind == CT_CAUSE_REVERSED && early.line != 0) {
		add(ret, CT_EDIT_EXCHANGE, NVW_WORKITEM, &early, &lost);
	}
	if (on_host) {
		add(ret, CT_EDIT_FENCE, NVW_WORKITEM, &lost, NULL);
		add(ret, CT_EDIT_FLUSH, NVW_WORKITEM, &lost, NULL);
		add(ret, CT_EDIT_FENCE, NVW_WORKITEM, &lost, NULL);
	} else {
		add_wider(ret, c);
		add_barriers(ret, &lost, &early);
	}
}
