/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A list in a libpmemobj pool: a root with its length and sum, and a node a value.
 *
 *	list create FILE               makes an empty pool
 *	list append FILE COUNT [BUG]   appends the values that come next, each in a transaction
 *	list check FILE                exit status 1 unless the root says what is in the list
 *
 * BUG leaves something out: "no-add" changes the length without telling the transaction, so that nothing
 * takes it back; "no-tx" links a node with plain stores, without a transaction.
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char layout[] = "nvwave-list";

struct node {
	uint64_t value;
	PMEMoid next;
};

struct root {
	PMEMoid head; /* newest first */
	uint64_t length, sum;
};

static int append(PMEMobjpool *pool, struct root *root, const char *bug)
{
	const uint64_t value = root->length + 1;
	volatile int failed = 0;

	TX_BEGIN(pool)
	{
		const PMEMoid at = pmemobj_tx_alloc(sizeof(struct node), 1);
		struct node *const n = pmemobj_direct(at);

		n->value = value;
		n->next = root->head;
		if (strcmp(bug, "no-add") == 0) {
			pmemobj_tx_add_range_direct(&root->head, sizeof root->head);
			pmemobj_tx_add_range_direct(&root->sum, sizeof root->sum);
			root->length++;
			pmemobj_persist(pool, &root->length, sizeof root->length);
		} else {
			pmemobj_tx_add_range_direct(root, sizeof *root);
			root->length++;
		}
		root->head = at;
		root->sum += value;
	}
	TX_ONABORT
	{
		failed = 1;
	}
	TX_END
	return failed;
}

/* The node is made and linked with stores of its own; length and sum follow when it is in the list. */
static int append_without(PMEMobjpool *pool, struct root *root)
{
	PMEMoid at;
	const uint64_t value = root->length + 1;

	if (pmemobj_alloc(pool, &at, sizeof(struct node), 1, NULL, NULL)) {
		return 1;
	}
	struct node *const n = pmemobj_direct(at);

	n->value = value;
	n->next = root->head;
	pmemobj_persist(pool, n, sizeof *n);
	root->head = at;
	pmemobj_persist(pool, &root->head, sizeof root->head);
	root->length++;
	root->sum += value;
	pmemobj_persist(pool, &root->length, 2 * sizeof root->length);
	return 0;
}

static int check(const struct root *root)
{
	uint64_t length = 0, sum = 0, expected = root->length;

	for (PMEMoid at = root->head; !OID_IS_NULL(at) && length <= root->length; length++) {
		const struct node *const n = pmemobj_direct(at);

		if (n->value != expected) {
			printf("value %llu where %llu was expected\n", (unsigned long long)n->value,
				(unsigned long long)expected);
			return 1;
		}
		expected--;
		sum += n->value;
		at = n->next;
	}
	if (length != root->length || sum != root->sum) {
		printf("length %llu and sum %llu, the root says %llu and %llu\n", (unsigned long long)length,
			(unsigned long long)sum, (unsigned long long)root->length,
			(unsigned long long)root->sum);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const what = argc > 2 ? argv[1] : "";
	const char *bug = "";
	uint64_t count = 0;
	PMEMobjpool *pool;
	int status = 0;

	if (argc > 3) {
		count = strtoull(argv[3], NULL, 0);
	}
	if (argc > 4) {
		bug = argv[4];
	}

	if (strcmp(what, "create") == 0) {
		pool = pmemobj_create(argv[2], layout, PMEMOBJ_MIN_POOL, 0600);
	} else if (strcmp(what, "append") == 0 || (strcmp(what, "check") == 0 && argc == 3)) {
		pool = pmemobj_open(argv[2], layout);
	} else {
		fprintf(stderr, "list create | append FILE [COUNT [no-add | no-tx]]; list check FILE\n");
		return 2;
	}
	if (pool == NULL) {
		fprintf(stderr, "%s: %s\n", argv[2], pmemobj_errormsg());
		return strcmp(what, "check") == 0 ? 1 : 2; /* a pool that does not open is not consistent */
	}
	struct root *const root = pmemobj_direct(pmemobj_root(pool, sizeof *root));

	if (strcmp(what, "check") == 0) {
		status = check(root);
	}
	for (uint64_t i = 0; i < count && status == 0; i++) {
		status = strcmp(bug, "no-tx") == 0 ? append_without(pool, root) : append(pool, root, bug);
	}
	pmemobj_close(pool);
	return status;
}
