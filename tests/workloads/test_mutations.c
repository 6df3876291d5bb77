/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seeded bugs live outside the algorithms: each replaces steps of its own, and a correct run replaces none.
 */
#include "common/test.h"

#include <string.h>

#include "workloads/btree/insert.h"
#include "workloads/kv/steps.h"
#include "workloads/queue/steps.h"
#include "workloads/stack/steps.h"
#include "workloads/steal_log/steps.h"
#include "workloads/tiered/steps.h"
#include "workloads/tasks/saved_tasks.h"

#define saved_steps nvw_task_steps /* of the library, which has the algorithm */

/*
 * Asks a workload's list of mutations against its table of replaced steps. The host has a bug of its own, or
 * none.
 */
#define CHECK_TABLE(workload, host_bug)                                                               \
	do {                                                                                          \
		static const struct workload##_steps none;                                            \
                                                                                                      \
		assert_memory_equal(workload##_replaced(-1), &none, sizeof none);                     \
		for (int i = 0; workload##_mutations[i].name != NULL; i++) {                          \
			const bool is_none = !memcmp(workload##_replaced(i), &none, sizeof none);     \
                                                                                                      \
			assert_int_equal(is_none, !strcmp(workload##_mutations[i].name, host_bug));   \
			NVW_FOR(j, i) {                                                               \
				assert_memory_not_equal(                                              \
					workload##_replaced(i), workload##_replaced(j), sizeof none); \
			}                                                                             \
		}                                                                                     \
	} while (0)

TEST(a_seeded_bug_replaces_steps_that_no_other_replaces_alike)
{
	CHECK_TABLE(btree, "");
	CHECK_TABLE(kv, "free-table-first");
	CHECK_TABLE(queue, "");
	CHECK_TABLE(saved, "forgotten-array");
	CHECK_TABLE(stack, "");
	CHECK_TABLE(steal, "");
	CHECK_TABLE(tiered, "");
}

static unsigned calls;

static int right(int x)
{
	return x;
}

static int wrong(int x)
{
	calls++;
	return -x;
}

TEST(a_step_is_replaced_only_where_its_row_says_so)
{
	static const struct steps {
		int (*right)(int);
	} none, bug = {.right = wrong};

	assert_int_equal(STEP(&none, right, 3), 3);
	assert_int_equal(calls, 0);
	assert_int_equal(STEP(&bug, right, 3), -3);
	assert_int_equal(calls, 1);
}
