/* SPDX-License-Identifier: BSD-3-Clause */
/* What is owed to a key. See owed.h. */
#include "owed.h"

uint64_t btree_last_acked(const struct btree_owed *o)
{
	uint64_t from = o->end;

	while (btree_changes(o->plan) && from > o->first && !nvw_acked(o->acks, o->plan->by_key[from - 1])) {
		from--;
	}
	return btree_changes(o->plan) ? from : o->first;
}

bool btree_may_be(const struct btree_owed *o, bool present, uint64_t value)
{
	const struct btree_plan *const p = o->plan;
	const uint64_t from = btree_last_acked(o);

	if (from == o->first) {
		/* Nothing is acknowledged: the loaded state is valid too. */
		if (present ? o->loaded && value == btree_value_of_load(o->key) : !o->loaded) {
			return true;
		}
	}
	for (uint64_t i = from > o->first ? from - 1 : o->first; btree_changes(p) && i < o->end; i++) {
		const bool there = p->op == BTREE_INSERT || (p->op == BTREE_UPDATE && o->loaded);

		if (present == there && (!there || value == btree_value_of_op(p->by_key[i]))) {
			return true;
		}
	}
	return false;
}
