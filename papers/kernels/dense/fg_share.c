/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fg-share: all work-groups lock one ledger by compare-exchange, read and update it in place, and unlock it
 * (stc 6: "a centralized ledger update"). The first work-item of a group takes the lock for all of the group.
 *
 * Every update adds an integer to every account, so the ledger is the same in whatever order the groups come.
 * An update that was lost shows in the sums.
 */
#include "dense.h"

enum { GROUPS, ACCOUNTS, ROUNDS };
enum { LOCK, LEDGER };

static const struct nvw_option options[] = {
	DENSE_SIZE("groups", "32", "work-groups that share the ledger"),
	DENSE_SIZE("accounts", "256", "of the ledger, 4 bytes each"),
	DENSE_SIZE("rounds", "8", "updates of the whole ledger by each group"),
	DENSE_OPTIONS_END,
};

static void fg_share_shape(struct dense_plan *p)
{
	dense_written(p, LOCK, DENSE_INT32, 1, "lock");
	dense_written(p, LEDGER, DENSE_UINT32, p->size[ACCOUNTS], "ledger");
}

static void fg_share_fill(struct dense_plan *p)
{
	dense_fill_int(p, LEDGER, 0, INT32_MAX);
}

/* What one update of a group adds to an account. */
static inline uint32_t amount(uint64_t group, uint64_t account)
{
	return (uint32_t)((group + 1) * (2 * account + 1));
}

struct args {
	int32_t *lock;
	uint32_t *ledger;
	uint64_t accounts, rounds;
};

static void lock(int32_t *lock)
{
	if (nvw_local_id() == 0) {
		while (nvw_atomic_compare_exchange(lock, 0, 1, NVW_ACQUIRE, NVW_SCOPE_AGENT) != 0) {
		}
	}
	nvw_barrier(NVW_WORKGROUP);
}

static void unlock(int32_t *lock)
{
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_atomic_store(lock, 0, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
}

DENSE_KERNEL(fg_share_update, const struct args, a)
{
	NVW_FOR(round, a->rounds) {
		lock(a->lock);
		DENSE_SHARE(uint64_t, i, a->accounts) {
			const uint32_t balance = nvw_load(&a->ledger[i]);

			nvw_store(&a->ledger[i], balance + amount(nvw_group_id(), i));
		}
		unlock(a->lock);
	}
}

static int fg_share_run(struct dense_plan *p)
{
	const struct args args = {.lock = p->device[LOCK],
		.ledger = p->device[LEDGER],
		.accounts = p->size[ACCOUNTS],
		.rounds = p->size[ROUNDS]};

	return dense_launch(p, fg_share_update, &args, p->size[GROUPS] * p->group_size);
}

static void fg_share_expect(struct dense_plan *p)
{
	uint32_t *const ledger = p->expected[LEDGER];

	NVW_FOR(group, p->size[GROUPS]) {
		NVW_FOR(i, p->size[ACCOUNTS]) {
			ledger[i] += p->size[ROUNDS] * amount(group, i);
		}
	}
}

DENSE_WORKLOAD(fg_share, "fg-share", "work-groups that lock one structure and update it in place",
	.most = {[GROUPS] = 1024});
