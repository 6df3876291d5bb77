/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop of libpmemobj transactions, for the slow-down of recording: each changes a counter and a slot of an
 * array.
 *
 *	exec_transactions FILE COUNT     prints nanoseconds a transaction; makes the pool if need be
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec.h"

enum { SLOTS = 4096 };

struct root {
	uint64_t counter, slot[SLOTS];
};

static PMEMobjpool *open_pool(const char *path)
{
	PMEMobjpool *const pool = pmemobj_open(path, "transactions");

	if (pool != NULL) {
		return pool;
	}
	return pmemobj_create(path, "transactions", PMEMOBJ_MIN_POOL, 0600);
}

int main(int argc, char **argv)
{
	const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	PMEMobjpool *const pool = argc > 2 ? open_pool(argv[1]) : NULL;

	if (pool == NULL) {
		fprintf(stderr, "exec_transactions FILE COUNT\n");
		return 2;
	}
	struct root *const root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
	const double began = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		TX_BEGIN(pool)
		{
			pmemobj_tx_add_range_direct(&root->counter, 8);
			pmemobj_tx_add_range_direct(&root->slot[i * 7 % SLOTS], 8);
			root->counter++;
			root->slot[i * 7 % SLOTS] = i;
		}
		TX_END
	}
	printf("%.0f\n", (now_ns() - began) / (double)(count ? count : 1));
	pmemobj_close(pool);
	return 0;
}
