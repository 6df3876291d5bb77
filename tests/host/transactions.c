/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transactions POOL CASE: a transaction of libpmemobj that stores where it may, or (names that begin with
 * "no-") where it may not. "fill" makes the pool. "check" always passes: the rule needs no failing state.
 */
#include <fcntl.h>
#include <libpmemobj.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As the macros of lists have them, without types. */
struct entry {
	uint64_t value;
	PMEMoid next, previous;
};

struct root {
	uint64_t a, b, c[8];
	PMEMoid object;
	struct {
		PMEMoid first;
		PMEMmutex lock;
	} list;
};

static PMEMobjpool *pool;
static struct root *root;
static PMEMoid root_oid;
static const char *name;

static int is(const char *other)
{
	return strcmp(name, other) == 0;
}

static int construct(PMEMobjpool *of, void *object, void *value)
{
	memcpy(object, value, 8);
	pmemobj_persist(of, object, 8);
	return 0;
}

static void add_and_store(void)
{
	pmemobj_tx_add_range_direct(&root->a, sizeof root->a);
	root->a = 1;
}

static void *store_b(void *unused)
{
	root->b = 2;
	return unused;
}

static void nest(void)
{
	TX_BEGIN(pool)
	{
		add_and_store();
	}
	TX_END
	root->a = 2;
}

static void abort_inside(void)
{
	TX_BEGIN(pool)
	{
		add_and_store();
		pmemobj_tx_abort(1);
	}
	TX_END
}

static void allocate(void)
{
	const PMEMoid some = pmemobj_tx_alloc(64, 1), zero = pmemobj_tx_zalloc(64, 1);
	const PMEMoid text = pmemobj_tx_strdup("text", 1);
	PMEMoid made;
	uint64_t value = 7;

	memset(pmemobj_direct(some), 1, 64);
	memset(pmemobj_direct(zero), 2, 64);
	((char *)pmemobj_direct(text))[0] = 'T';
	const PMEMoid more = pmemobj_tx_realloc(zero, 256, 1);

	memset((char *)pmemobj_direct(more) + 64, 3, 192);
	pmemobj_alloc(pool, &made, 64, 1, construct, &value);
	pmemobj_tx_add_range(root_oid, offsetof(struct root, object), sizeof root->object);
	root->object = some;
}

static void reserve(void)
{
	struct pobj_action action;
	const PMEMoid object = pmemobj_reserve(pool, &action, 64, 1);

	memset(pmemobj_direct(object), 4, 64);
	pmemobj_tx_publish(&action, 1);
}

/* Libpmemobj stores for the program. */
static void copy(void)
{
	static const uint64_t from[8] = {1, 2, 3};
	const PMEMoid object = pmemobj_tx_alloc(64, 1);

	pmemobj_tx_add_range_direct(root->c, sizeof root->c);
	pmemobj_memcpy(pool, root->c, from, sizeof root->c, 0);
	pmemobj_memmove(pool, root->c, root->c + 1, 8, PMEMOBJ_F_MEM_NODRAIN);
	pmemobj_memset(pool, pmemobj_direct(object), 1, 64, 0);
	pmemobj_memset_persist(pool, root->c + 4, 2, 8);
	pmemobj_memcpy_persist(pool, root->c + 5, from, 8);
}

static void insert(void)
{
	uint64_t value = 9;

	pmemobj_list_insert_new(pool, offsetof(struct entry, next), &root->list, /* LINE no-range-of-list */
		OID_NULL, 0, sizeof(struct entry), 2, construct, &value);
}

static void reserve_before(int publishes)
{
	struct pobj_action action;
	const PMEMoid object = pmemobj_reserve(pool, &action, 64, 1);

	if (publishes) {
		pmemobj_publish(pool, &action, 1);
	}
	TX_BEGIN(pool)
	{
		memset(pmemobj_direct(object), 4, 8); /* LINE no-longer-reserved */
		if (!publishes) {
			pmemobj_tx_publish(&action, 1);
		}
	}
	TX_END
}

static void share(void)
{
	pthread_t other;

	pthread_create(&other, NULL, store_b, NULL);
	pthread_join(other, NULL);
}

/* A file that is no pool. */
static void store_elsewhere(void)
{
	const int fd = open("elsewhere", O_RDWR | O_CREAT, 0600);
	uint64_t *const at = ftruncate(fd, 4096) ?
				     MAP_FAILED :
				     mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*at = 7;
}

static void work(void)
{
	if (is("added")) {
		add_and_store();
	} else if (is("added-in-parts")) {
		pmemobj_tx_xadd_range(root_oid, offsetof(struct root, c), 24, 0);
		pmemobj_tx_xadd_range_direct(&root->c[3], 40, POBJ_XADD_NO_FLUSH);
		memset(root->c, 5, sizeof root->c);
	} else if (is("allocated")) {
		allocate();
	} else if (is("reserved")) {
		reserve();
	} else if (is("nested")) {
		nest();
	} else if (is("another-file")) {
		store_elsewhere();
	} else if (is("another-thread")) {
		share();
	} else if (is("copied")) {
		copy();
	} else if (is("inserted")) {
		pmemobj_tx_add_range_direct(&root->list, sizeof root->list);
		insert();
	} else if (is("no-range-of-list")) {
		insert();
	} else if (is("no-range-of-copy")) {
		pmemobj_memcpy(pool, root->c, &root->a, 16, 0); /* LINE no-range-of-copy */
	} else if (is("no-range-of-fill")) {
		pmemobj_memset_persist(pool, root->c, 1, 16); /* LINE no-range-of-fill */
	} else if (is("no-range-of-reference")) {
		pmemobj_zalloc(pool, &root->object, 64, 1); /* LINE no-range-of-reference */
	} else if (is("no-range")) {
		root->b = 1; /* LINE no-range */
	} else if (is("no-end-of-range")) {
		pmemobj_tx_add_range_direct(root->c, 32);
		memset(root->c, 6, sizeof root->c); /* LINE no-end-of-range */
	} else if (is("no-range-of-this-one")) {
		root->a = 3; /* LINE no-range-of-this-one */
	} else if (is("no-range-of-two")) {
		root->a = 1, root->c[4] = 2; /* LINE no-range-of-two */
	} else if (is("no-range-in-nested")) {
		nest();
		root->b = 3; /* LINE no-range-in-nested */
	}
}

int main(int argc, char **argv)
{
	name = argv[2];
	pool = is("fill") ? pmemobj_create(argv[1], "transactions", PMEMOBJ_MIN_POOL, 0600) :
			    pmemobj_open(argv[1], "transactions");
	if (pool == NULL) {
		fprintf(stderr, "%s\n", pmemobj_errormsg());
		return 2;
	}
	root_oid = pmemobj_root(pool, sizeof *root);
	root = pmemobj_direct(root_oid);
	if (is("no-range-of-this-one")) {
		nest();
	} else if (is("aborted")) {
		abort_inside();
	} else if (is("reserved-before") || is("no-longer-reserved")) {
		reserve_before(is("no-longer-reserved"));
	}
	if (!is("check") && !is("fill") && !is("outside")) {
		TX_BEGIN(pool) /* LINE begin */
		{
			work();
		}
		TX_ONCOMMIT
		{
			root->c[7] = 1; /* no longer within */
		}
		TX_END
	}
	root->b = 4; /* behind it */
	pmemobj_persist(pool, root, sizeof *root);
	pmemobj_close(pool);
	return 0;
}
