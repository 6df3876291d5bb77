/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings in groups. See group.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "group.h"

void ct_shape(const char *text, char ret_shape[CT_TEXT_BYTES])
{
	size_t n = 0;

	while (*text && n < CT_TEXT_BYTES - 1) {
		if (text[0] == '0' && text[1] == 'x' && isxdigit((unsigned char)text[2])) {
			text += 2;
			while (isxdigit((unsigned char)*text)) {
				text++;
			}
			ret_shape[n++] = '#';
		} else if (isdigit((unsigned char)*text)) {
			while (isdigit((unsigned char)*text)) {
				text++;
			}
			ret_shape[n++] = '#';
		} else {
			ret_shape[n++] = *text++;
		}
	}
	ret_shape[n] = '\0';
}

static bool earlier(const struct ct_finding *a, const struct ct_finding *b)
{
	return a->instant < b->instant || (a->instant == b->instant && a->draw < b->draw);
}

void ct_groups_add(struct ct_groups *groups, const struct ct_finding *finding)
{
	char shape[CT_TEXT_BYTES];
	unsigned i = 0;

	ct_shape(finding->text, shape);
	while (i < groups->count && strcmp(groups->group[i].shape, shape) != 0) {
		i++;
	}
	if (i == CT_FINDINGS_MAX) {
		groups->unlisted += finding->states;
		return;
	}
	struct ct_group *g = &groups->group[i];

	if (i == groups->count) {
		memcpy(g->shape, shape, sizeof shape);
		g->finding = *finding;
		groups->count++; /* last: a worker may die at any point */
		return;
	}
	const uint64_t states = g->finding.states + finding->states;

	if (earlier(finding, &g->finding)) {
		g->finding = *finding;
	}
	g->finding.states = states;
}

static bool same_cause(const struct ct_cause *a, const struct ct_cause *b)
{
	return a->kind != CT_CAUSE_NONE && a->kind == b->kind && a->line == b->line &&
	       strcmp(a->file, b->file) == 0 && strcmp(a->lost, b->lost) == 0 &&
	       strcmp(a->early, b->early) == 0;
}

static void absorb(struct ct_finding *to, const struct ct_finding *from)
{
	if (from->saved[0] != '\0') {
		unlink(from->saved);
	}
	if (to->also_count == CT_ALSO_MAX) {
		to->also_more++;
		return;
	}
	memcpy(to->also[to->also_count].text, from->text, sizeof from->text);
	to->also[to->also_count++].states = from->states;
}

/* A saved finding is named by its number in the report, or the next one that is free. */
static void renumber(struct ct_finding *f, unsigned number)
{
	char *const end = strrchr(f->saved, '-');
	char old[sizeof f->saved];

	if (end == NULL) {
		return;
	}
	memcpy(old, f->saved, sizeof old);
	do {
		snprintf(end, sizeof f->saved - (size_t)(end - f->saved), "-%u", number++);
		if (strcmp(old, f->saved) == 0 ||
			renameat2(AT_FDCWD, old, AT_FDCWD, f->saved, RENAME_NOREPLACE) == 0) {
			return;
		}
	} while (errno == EEXIST);
	memcpy(f->saved, old, sizeof old);
}

void ct_merge_causes(struct ct_finding *findings, unsigned *count)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < *count; i++) {
		unsigned k = 0;

		while (k < kept && !same_cause(&findings[k].cause, &findings[i].cause)) {
			k++;
		}
		if (k < kept) {
			absorb(&findings[k], &findings[i]);
		} else {
			findings[kept++] = findings[i];
			renumber(&findings[kept - 1], kept);
		}
	}
	*count = kept;
}
