/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of states. See need_search.h. */
#include <string.h>

#include "../group.h"
#include "need_search.h"

bool need_may_test(struct need_search *s)
{
	if (s->need->tests >= s->q->tests_max) {
		s->need->bounded = true;
		return false;
	}
	s->need->tests++;
	return true;
}

bool need_fails_now(struct need_search *s)
{
	s->q->judge(s->q->context, &s->p->image, &s->p->acks);
	ct_prefix_undo(s->p);
	return s->q->findings->count > 0;
}

/* True if the state after so many events fails. */
bool need_fails(struct need_search *s, uint64_t stores, uint64_t acks, const struct ct_losses *losses)
{
	if (!need_may_test(s)) {
		return false;
	}
	ct_prefix_make(s->p, stores, acks, losses);
	return need_fails_now(s);
}

bool need_has_text(const struct nvw_findings *f, const char *text)
{
	return NVW_ANY(finding, f->finding, f->kept, !strcmp(finding->text, text));
}

bool need_fails_with_text(
	struct need_search *s, uint64_t stores, uint64_t acks, const struct ct_losses *losses)
{
	return need_fails(s, stores, acks, losses) && need_has_text(s->q->findings, s->text);
}

/* True if it fails as the question says, but for numbers; then text is how. */
bool need_fails_likewise(struct need_search *s, uint64_t events, const struct ct_losses *losses)
{
	if (!need_fails(s, events, events, losses)) {
		return false;
	}
	const struct nvw__finding *const same = ct_find_alike(s->q->findings, s->q->text);

	if (same) {
		memcpy(s->text, same->text, sizeof s->text);
	}
	return same;
}

/* A violation that a has and b has not; NULL: none. */
static const char *new_text(const struct nvw_findings *a, const struct nvw_findings *b)
{
	NVW_EACH(finding, a->finding, a->kept) {
		if (!need_has_text(b, finding->text)) {
			return finding->text;
		}
	}
	return NULL;
}

/* True if it is for the losses that the state after so many events fails; then text is how. */
bool need_fails_for_losses(struct need_search *s, uint64_t events)
{
	const char *text;

	if (!need_fails(s, events, events, &s->need->losses)) {
		return false;
	}
	s->with = *s->q->findings;
	need_fails(s, events, events, NULL);
	text = s->need->bounded ? NULL : new_text(&s->with, s->q->findings);
	if (text) {
		memcpy(s->text, text, sizeof s->text);
	}
	return text;
}

bool need_is_same_item(const struct ct_store *a, const struct ct_store *b)
{
	return a->kernel == b->kernel && a->work_item == b->work_item;
}

bool need_is_store_of(const struct ct_event *e, const struct ct_store *by)
{
	return e->kind == NVW_LOG_STORE && need_is_same_item(&e->store, by);
}

/* 0: not at all. */
unsigned need_related(const struct ct_store *a, const struct ct_store *b)
{
	if (a->kernel != b->kernel) {
		return 0;
	}
	if (a->work_item == b->work_item) {
		return 3;
	}
	return a->group == b->group ? 2 : 1;
}

bool need_fails_somehow(struct need_search *s, uint64_t events)
{
	return need_fails(s, events, events, NULL);
}
