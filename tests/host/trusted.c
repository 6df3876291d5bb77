/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trusted POOL CASE: two numbers, lines apart, change in one transaction of libpmemobj. "fill" makes the
 * pool, "check" fails unless they are equal. A case whose name begins with "no-" has a bug; in "no-entry" it
 * is the library's, which then copies without flushing.
 */
#include <dlfcn.h>
#include <libpmem.h>
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct root {
	uint64_t a[2], unused[14], b[2];
};

static PMEMobjpool *pool;
static struct root *root;
static const char *name;
static int forgets;

static int is(const char *other)
{
	return strcmp(name, other) == 0;
}

/* Before libpmem's for libpmemobj too, as it is the program's. */
void *pmem_memcpy(void *to, const void *from, size_t n, unsigned flags)
{
	void *(*const next)(void *, const void *, size_t, unsigned) =
		(void *(*)(void *, const void *, size_t, unsigned))dlsym(RTLD_NEXT, "pmem_memcpy");

	return forgets ? memcpy(to, from, n) : next(to, from, n, flags);
}

static void add(uint64_t *number, size_t bytes)
{
	forgets = is("no-entry");
	pmemobj_tx_add_range_direct(number, bytes);
	forgets = 0;
}

static void set(uint64_t *number)
{
	number[0]++;
	number[1]++;
}

static void nest(void)
{
	TX_BEGIN(pool)
	{
		add(root->b, 8); /* in parts */
		add(root->b + 1, 8);
		set(root->b);
	}
	TX_END
	add(root->b, sizeof root->b);          /* again */
	pmem_persist(root->b, sizeof root->b); /* undone all the same */
}

static void set_b(void)
{
	if (is("nested") || is("aborted")) {
		nest();
		return;
	}
	if (is("no-early-add")) {
		set(root->b);
		pmem_persist(root->b, sizeof root->b);
	}
	if (is("no-whole-add")) {
		add(root->b, 8);
	} else if (is("no-snapshot")) {
		pmemobj_tx_xadd_range_direct(root->b, 8, POBJ_XADD_NO_SNAPSHOT);
		add(root->b, sizeof root->b); /* too late for the first */
	} else if (!is("no-add")) {
		add(root->b, sizeof root->b);
	}
	if (!is("no-early-add")) {
		set(root->b);
	}
	pmem_persist(root->b, sizeof root->b);
}

static void change(void)
{
	TX_BEGIN(pool)
	{
		add(root->a, sizeof root->a);
		set(root->a);
		set_b();
		if (is("aborted")) {
			pmemobj_tx_abort(1);
		}
		pmem_persist(root->a, sizeof root->a);
	}
	TX_END
}

int main(int argc, char **argv)
{
	name = argv[2];
	pool = is("fill") ? pmemobj_create(argv[1], "trusted", PMEMOBJ_MIN_POOL, 0600) :
			    pmemobj_open(argv[1], "trusted");
	if (pool == NULL) {
		fprintf(stderr, "%s\n", pmemobj_errormsg());
		return 2;
	}
	root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
	if (is("check")) {
		return root->a[0] != root->a[1] || memcmp(root->a, root->b, sizeof root->a) != 0;
	}
	if (!is("fill")) {
		change();
	}
	pmemobj_close(pool);
	return 0;
}
