/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated time that cures cost. See cost.h. */
#include <emu.h>

#include "cost.h"

_Static_assert((int)EMU_INSERTED_MAX >= (int)CT_CURE_EDITS, "room for every edit of a cure");

enum { ACKS = 1 << 26 }; /* memory is used only as needed */

/* False if an edit is not one of barriers. */
static bool barrier_of(const struct ct_edit *e, struct emu_inserted *ret)
{
	const bool before = e->b.line != 0 && e->scope == NVW_WORKITEM; /* as in edit.h */

	*ret = (struct emu_inserted){.scope = e->scope, .widens = e->kind == CT_EDIT_WIDEN};
	if (e->a.line != 0 && !before) {
		ret->after_file = e->a.file;
		ret->after_line = e->a.line;
	}
	if (e->b.line != 0) {
		ret->before_file = e->b.file;
		ret->before_line = e->b.line;
	}
	return e->kind == CT_EDIT_BARRIER || e->kind == CT_EDIT_WIDEN;
}

static int measure(const struct ct_bench *bench, const struct ct_run_shared *run,
	const struct emu_inserted *inserted, unsigned count, struct ct_cure *cure)
{
	const struct ct_cut never = {.wanted = false};
	struct ct_subject subject = *bench->subject;
	struct ct_bench changed = *bench;
	struct ct_run_shared *const shared = ct_run_shared_create(ACKS);

	if (shared == NULL) {
		return NVW_E_MEMORY;
	}
	subject.inserted = inserted;
	subject.inserted_count = count;
	changed.subject = &subject;
	const int error = ct_run_whole(&changed, 0, -1, &never, shared);

	if (!error && shared->inserted_met > 0) {
		cure->costed = true;
		cure->cost_of_ps = run->end_ps - run->begin_ps;
		cure->cost_ps = (int64_t)(shared->end_ps - shared->begin_ps) - (int64_t)cure->cost_of_ps;
	}
	ct_run_shared_destroy(shared);
	return error == NVW_E_STOPPED || error == NVW_E_MEMORY ? error : 0;
}

int ct_cost(const struct ct_bench *bench, const struct ct_run_shared *run, struct ct_result *result)
{
	int error = 0;

	for (unsigned i = 0; i < result->finding_count && !error; i++) {
		struct ct_cure *const c = &result->finding[i].cure;
		struct emu_inserted inserted[CT_CURE_EDITS];
		bool barriers = c->verified && c->count > 0;

		for (unsigned k = 0; k < c->count && barriers; k++) {
			barriers = barrier_of(&c->edit[k], &inserted[k]);
		}
		error = barriers ? measure(bench, run, inserted, c->count, c) : 0;
	}
	return error;
}
