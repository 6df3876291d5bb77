/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings in groups. See group.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <nvw/random.h>

#include "core/invariant.h"
#include "core/print.h"

#include "explain/cause.h"
#include "group.h"

/* Of the decimal or hexadecimal number that begins there. */
static size_t number_length(const char *text)
{
	const size_t digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;

	return digits > 0 ? 2 + digits : strspn(text, "0123456789");
}

void ct_shape(const char *text, char ret_shape[CT_TEXT_BYTES])
{
	size_t n = 0;

	while (*text && n < CT_TEXT_BYTES - 1) {
		const bool is_number = isdigit((unsigned char)*text);

		ret_shape[n++] = is_number ? '#' : *text;
		text += is_number ? number_length(text) : 1;
	}
	ret_shape[n] = '\0';
}

bool ct_have_one_shape(const char *a, const char *b)
{
	char of_a[CT_TEXT_BYTES], of_b[CT_TEXT_BYTES];

	ct_shape(a, of_a);
	ct_shape(b, of_b);
	return !strcmp(of_a, of_b);
}

const struct nvw__finding *ct_find_alike(const struct nvw_findings *findings, const char *text)
{
	char wanted[CT_TEXT_BYTES], shape[CT_TEXT_BYTES];

	NVW_INVARIANT(findings->kept <= NVW__FINDINGS_MAX);
	ct_shape(text, wanted);
	NVW_EACH(one, findings->finding, findings->kept) {
		ct_shape(one->text, shape);
		if (!strcmp(shape, wanted)) {
			return one;
		}
	}
	return NULL;
}

uint64_t ct_shape_hash(const char *text)
{
	char shape[CT_TEXT_BYTES];
	uint64_t hash = 0;

	ct_shape(text, shape);
	for (const char *c = shape; *c; c++) {
		hash = nvw_mix64(hash + (unsigned char)*c);
	}
	return hash;
}

static bool earlier(const struct ct_finding *a, const struct ct_finding *b)
{
	return a->instant < b->instant || (a->instant == b->instant && a->draw < b->draw);
}

/* The number of the group of a shape; the count of groups if there is none. */
static unsigned find_group(const struct ct_groups *groups, const char *shape)
{
	return NVW_INDEX(i, groups->count, !strcmp(groups->group[i].shape, shape));
}

static struct ct_group *group_of(struct ct_groups *groups, const struct ct_finding *finding)
{
	char shape[CT_TEXT_BYTES];

	ct_shape(finding->text, shape);
	const unsigned i = find_group(groups, shape);

	if (i == CT_FINDINGS_MAX) {
		groups->unlisted += finding->states;
		return NULL;
	}
	struct ct_group *g = &groups->group[i];

	if (i == groups->count) {
		memcpy(g->shape, shape, sizeof shape);
		g->finding = *finding;
		memset(g->sample, 0, sizeof g->sample);
		groups->count++; /* last: a worker may die at any point */
		return g;
	}
	const uint64_t states = g->finding.states + finding->states;

	if (earlier(finding, &g->finding)) {
		g->finding = *finding;
	}
	g->finding.states = states;
	return g;
}

void ct_groups_clear(struct ct_groups *groups)
{
	groups->count = 0;
	groups->unlisted = 0;
}

void ct_groups_add(struct ct_groups *groups, const struct ct_finding *finding)
{
	NVW_INVARIANT(groups->count <= CT_FINDINGS_MAX);
	group_of(groups, finding);
}

static void add_sample(struct ct_sample *to, const struct ct_sample *from)
{
	if (!to->used || from->instant < to->instant ||
		(from->instant == to->instant && from->draw < to->draw)) {
		*to = *from;
	}
}

/* The site alone decides, so that the samples do not depend on who met which state. */
void ct_groups_add_sample(struct ct_groups *groups, const struct ct_finding *f, uint32_t site)
{
	struct ct_group *const g = group_of(groups, f);
	struct ct_sample sample = {.used = true,
		.off = f->off,
		.first_time_ps = f->first_time_ps,
		.instant = f->instant,
		.draw = f->draw};

	NVW_INVARIANT(groups->count <= CT_FINDINGS_MAX);
	if (g) {
		memcpy(sample.text, f->text, sizeof sample.text);
		add_sample(&g->sample[site % CT_SAMPLES], &sample);
	}
}

bool ct_groups_has(const struct ct_groups *groups, const char *text)
{
	char shape[CT_TEXT_BYTES];

	ct_shape(text, shape);
	return find_group(groups, shape) < groups->count;
}

static void join_samples(struct ct_group *to, const struct ct_group *from)
{
	NVW_FOR(k, CT_SAMPLES) {
		if (from->sample[k].used) {
			add_sample(&to->sample[k], &from->sample[k]);
		}
	}
}

void ct_groups_join(struct ct_groups *groups, const struct ct_groups *others)
{
	groups->unlisted += others->unlisted;
	NVW_EACH(group, others->group, others->count) {
		struct ct_group *const g = group_of(groups, &group->finding);

		if (g) {
			join_samples(g, group);
		}
	}
}

void ct_groups_list(const struct ct_groups *groups, struct ct_result *ret_result)
{
	ret_result->finding_count = groups->count;
	NVW_FOR(i, groups->count) {
		ret_result->finding[i] = groups->group[i].finding;
	}
}

unsigned ct_groups_samples(const struct ct_groups *groups, struct ct_finding *ret_findings, unsigned room)
{
	unsigned count = 0;

	NVW_INVARIANT(room <= CT_FINDINGS_MAX);
	NVW_EACH(group, groups->group, groups->count) {
		const struct ct_finding *const f = &group->finding;

		for (unsigned k = 0; k < CT_SAMPLES && count < room; k++) {
			const struct ct_sample *const s = &group->sample[k];

			if (!s->used || (s->instant == f->instant && s->draw == f->draw)) {
				continue;
			}
			ret_findings[count] = (struct ct_finding){.sample = true,
				.off = s->off,
				.states = f->states,
				.first_time_ps = s->first_time_ps,
				.instant = s->instant,
				.draw = s->draw};
			memcpy(ret_findings[count].text, s->text, sizeof s->text);
			count++;
		}
	}
	return count;
}

static bool is_in_group(const struct ct_cause *c, const struct ct_line *line)
{
	return NVW_ANY(group, c->group, c->group_count, !memcmp(group, line, sizeof *line));
}

bool ct_groups_meet(const struct ct_cause *a, const struct ct_cause *b)
{
	return NVW_ANY(group, a->group, a->group_count, is_in_group(b, group));
}

/* True for a cause in a host program, where every store has its own flush. */
static bool is_flushing(const struct ct_cause *c)
{
	return strstr(c->needed, "fence") != NULL;
}

static bool is_inside(const struct ct_cause *c, const char *place)
{
	char line[160];

	NVW_FOR(i, c->group_count) {
		NVW_PRINT(line, "%s:%u", c->group[i].file, c->group[i].line);
		if (!strcmp(line, place)) {
			return true;
		}
	}
	return false;
}

/* What is atomic needs no order inside. */
static bool makes_order_vain(const struct ct_cause *group, const struct ct_cause *order)
{
	return group->kind == CT_CAUSE_ATOMIC && order->kind != CT_CAUSE_ATOMIC &&
	       order->kind != CT_CAUSE_LOGIC && order->kind != CT_CAUSE_CONTENT &&
	       is_inside(group, order->lost) && is_inside(group, order->early);
}

/*
 * One cure does for both. On a machine with barriers, one just before the relying store orders all that is
 * stored before it, at whatever place; the wider scope does for the narrower.
 */
bool ct_causes_alike(const struct ct_cause *a, const struct ct_cause *b)
{
	if (makes_order_vain(a, b) || makes_order_vain(b, a)) {
		return true;
	}
	if (a->kind == CT_CAUSE_NONE || a->kind != b->kind) {
		return false;
	}
	if (a->kind == CT_CAUSE_ATOMIC && a->group_count > 0 && b->group_count > 0) {
		return ct_groups_meet(a, b);
	}
	const bool same_early = !strcmp(a->early, b->early) && !strcmp(a->early_caller, b->early_caller);

	if (is_flushing(a) || is_flushing(b) || a->kind == CT_CAUSE_REVERSED) {
		return same_early && !strcmp(a->lost, b->lost) && !strcmp(a->lost_caller, b->lost_caller) &&
		       !strcmp(a->needed, b->needed);
	}
	return same_early && a->line == b->line && !strcmp(a->file, b->file);
}

/* The line at the end of "file:line". */
static unsigned line_in(const char *place)
{
	const char *const colon = strrchr(place, ':');

	return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

static unsigned width_of(const struct ct_cause *c)
{
	return NVW_INDEX(i, CT_SCOPES, !strcmp(c->needed, ct_scopes[i]));
}

/* The wider scope; else the later of the lost stores of one file. */
static bool says_more(const struct ct_cause *a, const struct ct_cause *b)
{
	if (width_of(a) != width_of(b)) {
		return width_of(a) > width_of(b);
	}
	return !strcmp(a->lost_function, b->lost_function) && line_in(a->lost) > line_in(b->lost);
}

static bool is_among(const struct ct_edit *edit, const struct ct_proposals *all)
{
	NVW_INVARIANT(all->count <= CT_PROPOSALS_MAX);
	return NVW_ANY(other, all->edit, all->count, !memcmp(other, edit, sizeof *edit));
}

static void join_proposals(struct ct_proposals *to, const struct ct_proposals *from)
{
	for (unsigned i = 0; i < from->count && to->count < CT_PROPOSALS_MAX; i++) {
		if (!is_among(&from->edit[i], to)) {
			to->edit[to->count++] = from->edit[i];
		}
	}
}

static void join_groups(struct ct_finding *to, const struct ct_finding *from)
{
	struct ct_cause *const c = &to->cause;

	NVW_EACH(group, from->cause.group, from->cause.group_count) {
		if (is_in_group(c, group)) {
			continue;
		}
		if (c->group_count == CT_GROUP_MAX) {
			c->group_more++;
		} else {
			c->group[c->group_count++] = *group;
		}
	}
	c->group_more = MAX(c->group_more, from->cause.group_more);
	if (c->group_count > 0) {
		ct_cause_say_group(c, &to->proposals);
	}
}

static bool is_place(const struct ct_place *p, const char *place)
{
	char text[sizeof p->file + 16];

	NVW_PRINT(text, "%s:%u", p->file, p->line);
	return !strcmp(text, place);
}

static const struct ct_place *lost_at(const struct ct_finding *f, const char *place)
{
	NVW_FOR(i, f->place_count) {
		if (f->place[i].fate != CT_FATE_DURABLE && is_place(&f->place[i], place)) {
			return &f->place[i];
		}
	}
	return NULL;
}

/* The stores that a finding lists are those of its own state: there, what its cause names as lost may be
 * durable. */
static void list_lost(struct ct_finding *to, const struct ct_finding *from)
{
	const struct ct_place *const lost = lost_at(from, to->cause.lost);

	if (!lost || lost_at(to, to->cause.lost)) {
		return;
	}
	to->place_count -= to->place_count == CT_PLACES_MAX;
	to->place[to->place_count] = *lost;
	to->place[to->place_count++].fate = CT_FATE_ELSEWHERE;
}

/* What is said, and proposed, must do for both. */
static void join_causes(struct ct_finding *to, const struct ct_finding *from)
{
	if (to->cause.kind == CT_CAUSE_ATOMIC && from->cause.kind == CT_CAUSE_ATOMIC) {
		join_groups(to, from);
	} else if (from->cause.kind == CT_CAUSE_ATOMIC ||
		   (to->cause.kind != CT_CAUSE_ATOMIC && says_more(&from->cause, &to->cause))) {
		struct ct_proposals second = to->proposals;

		to->cause = from->cause;
		to->proposals = from->proposals;
		if (from->cause.kind != CT_CAUSE_ATOMIC) {
			join_proposals(&to->proposals, &second);
			list_lost(to, from);
		}
	} else if (to->cause.kind != CT_CAUSE_ATOMIC) {
		join_proposals(&to->proposals, &from->proposals);
	}
}

bool ct_finding_has_text(const struct ct_finding *f, const char *text)
{
	if (ct_have_one_shape(f->text, text)) {
		return true;
	}
	return NVW_ANY(also, f->also, f->also_count, ct_have_one_shape(also->text, text));
}

void ct_finding_absorb(struct ct_finding *to, const struct ct_finding *from)
{
	NVW_INVARIANT(to != from);
	if (from->saved[0] != '\0') {
		unlink(from->saved);
	}
	if (ct_finding_has_text(to, from->text)) {
		to->sample &= from->sample;
		return;
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

	NVW_INVARIANT(number > 0);
	if (!end) {
		return;
	}
	memcpy(old, f->saved, sizeof old);
	do {
		snprintf(end, sizeof f->saved - (size_t)(end - f->saved), "-%u", number++);
		if (!strcmp(old, f->saved) ||
			renameat2(AT_FDCWD, old, AT_FDCWD, f->saved, RENAME_NOREPLACE) == 0) {
			return;
		}
	} while (errno == EEXIST);
	memcpy(f->saved, old, sizeof old);
}

/* True if two of them became one: which may be the cause of more. */
static bool merge_two(struct ct_finding *findings, unsigned *count)
{
	NVW_INVARIANT(*count <= CT_FINDINGS_MAX);
	NVW_FOR(k, *count) {
		for (unsigned i = k + 1; i < *count; i++) {
			if (!ct_causes_alike(&findings[k].cause, &findings[i].cause)) {
				continue;
			}
			join_causes(&findings[k], &findings[i]);
			ct_finding_absorb(&findings[k], &findings[i]);
			memmove(&findings[i], &findings[i + 1], (*count - i - 1) * sizeof *findings);
			--*count;
			return true;
		}
	}
	return false;
}

void ct_merge_causes(struct ct_finding *findings, unsigned *count)
{
	unsigned kept = 0;

	NVW_INVARIANT(*count <= CT_FINDINGS_MAX);
	while (merge_two(findings, count)) {
	}
	NVW_EACH(finding, findings, *count) {
		if (finding->sample && finding->cause.kind == CT_CAUSE_NONE) {
			unlink(finding->saved);
		} else {
			findings[kept++] = *finding;
		}
	}
	*count = kept;
	NVW_FOR(i, *count) {
		renumber(&findings[i], i + 1);
	}
}

/* ---- Sums of states ---------------------------------------------------------------------------------- */

double ct_log2_sum(double a, double b)
{
	const double more = fmax(a, b), less = fmin(a, b);

	return less == -INFINITY ? more : more + log2(1 + exp2(less - more));
}
