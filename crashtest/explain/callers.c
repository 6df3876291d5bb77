/* SPDX-License-Identifier: BSD-3-Clause */
/* The callers of source places. See callers.h. */
#include <stdio.h>
#include <string.h>

#include "core/print.h"

#include "callers.h"

enum { FRAMES_MAX = 64 };

/* A site and its callers, without those whose function is there already. */
struct chain {
	const struct ct_names *frame[FRAMES_MAX];
	uint32_t site[FRAMES_MAX];
	unsigned count;
};

static bool is_one_line(const struct ct_names *a, const struct ct_names *b)
{
	return a->line == b->line && !strcmp(a->file, b->file);
}

/* The last call of a function replaces its earlier ones: it is the outermost. */
static void add_frame(struct chain *c, const struct ct_names *n, uint32_t site)
{
	for (unsigned i = 1; i < c->count; i++) {
		if (!strcmp(c->frame[i]->function, n->function) && !strcmp(c->frame[i]->file, n->file)) {
			c->count = i;
		}
	}
	if (c->count > 0 && !strcmp(c->frame[0]->function, n->function) &&
		!strcmp(c->frame[0]->file, n->file)) {
		c->count = 1;
		return;
	}
	if (c->count < FRAMES_MAX) {
		c->frame[c->count] = n;
		c->site[c->count++] = site;
	}
}

static void take_chain(const struct ct_stores *s, uint32_t site, struct chain *ret)
{
	const struct ct_names *n;

	ret->count = 0;
	for (; (n = ct_stores_site(s, site)); site = n->caller) {
		add_frame(ret, n, site);
	}
}

bool ct_callers_one_place(const struct ct_stores *s, uint32_t a, uint32_t b)
{
	const struct ct_names *const x = ct_stores_site(s, a), *const y = ct_stores_site(s, b);

	return x && y && x->line != 0 && is_one_line(x, y);
}

/* Its index in a; 0: none. */
static unsigned first_apart(const struct chain *a, const struct chain *b)
{
	unsigned i = 1;

	while (i < a->count && i < b->count && is_one_line(a->frame[i], b->frame[i])) {
		i++;
	}
	return i < a->count && a->frame[i]->line != 0 ? i : 0;
}

uint32_t ct_callers_apart(const struct ct_stores *s, uint32_t site, uint32_t other)
{
	struct chain a, b;

	take_chain(s, site, &a);
	take_chain(s, other, &b);
	const unsigned at = first_apart(&a, &b);

	return at > 0 ? a.site[at] : 0;
}

uint32_t ct_callers_alone(const struct ct_stores *s, uint32_t site)
{
	struct chain a, b;
	unsigned first = 0;

	take_chain(s, site, &a);
	for (uint32_t other = 1; a.count > 1 && other <= s->sites.count; other++) {
		if (other == site || !ct_callers_one_place(s, site, other)) {
			continue;
		}
		take_chain(s, other, &b);
		const unsigned at = first_apart(&a, &b);

		if (at > 0 && (first == 0 || at < first)) {
			first = at;
		}
	}
	return first > 0 ? a.site[first] : 0;
}

void ct_callers_stack(const struct ct_stores *s, uint32_t site, char ret_stack[CT_STACK_BYTES])
{
	const struct ct_names *n = ct_stores_site(s, site);
	size_t at = 0;
	unsigned left_out = 0;

	ret_stack[0] = '\0';
	if (!n || n->caller == 0) {
		return;
	}
	for (; n; n = ct_stores_site(s, n->caller)) {
		char line[320];
		const size_t length = (size_t)NVW_PRINT(line, "%s%s:%u (%.*s)", at ? "\n" : "", n->file,
			n->line, (int)strcspn(n->function, ","), n->function);

		if (left_out > 0 || at + length + 32 > CT_STACK_BYTES) {
			left_out++;
			continue;
		}
		memcpy(ret_stack + at, line, length + 1);
		at += length;
	}
	if (left_out > 0) {
		snprintf(ret_stack + at, CT_STACK_BYTES - at, "\n(%u more)", left_out);
	}
}
