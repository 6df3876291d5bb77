/* SPDX-License-Identifier: BSD-3-Clause */
/* The decision table of undo log entries. See cases.h. */
#include "core/each.h"
#include "core/invariant.h"

#include "cases.h"

#define IS(relation) (1u << REC_##relation)
#define EVERY        ((1u << REC_RELATIONS) - 1)

/* clang-format off */
const struct rec_entry_case rec_entry_cases[REC_CASE_COUNT] = {
	/* sealed   one epoch  relation                      place	verdict */
	{REC_NO,    REC_ANY,   EVERY,                        REC_ANY,	REC_DAMAGE},
	{REC_YES,   REC_NO,    EVERY & ~IS(FUTURE),          REC_ANY,	REC_TORN},
	{REC_YES,   REC_YES,   IS(UNUSED) | IS(SETTLED),     REC_ANY,	REC_IGNORE},
	{REC_YES,   REC_YES,   IS(OPEN),                     REC_YES,	REC_RESTORE},
	{REC_YES,   REC_YES,   IS(OPEN),                     REC_NO,	REC_DAMAGE},
	{REC_YES,   REC_ANY,   IS(FUTURE),                   REC_ANY,	REC_DAMAGE},
};
/* clang-format on */

static bool fits(int wanted, bool is)
{
	return wanted == REC_ANY || (wanted == REC_YES) == is;
}

bool rec_case_fits(const struct rec_entry_case *row, const struct rec_entry_facts *facts)
{
	NVW_INVARIANT(facts->relation < REC_RELATIONS);
	return fits(row->sealed, facts->sealed) && fits(row->one_epoch, facts->one_epoch) &&
	       row->relations >> facts->relation & 1 && fits(row->place, facts->place);
}

enum rec_verdict rec_judge_entry(const struct rec_entry_facts *facts)
{
	NVW_EACH(rec_entry_case, rec_entry_cases, REC_CASE_COUNT) {
		if (rec_case_fits(rec_entry_case, facts)) {
			return rec_entry_case->verdict;
		}
	}
	NVW_INVARIANT(!"a row for every combination");
	return REC_DAMAGE;
}
