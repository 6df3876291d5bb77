/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of libpmemobj that store for the program: copies and fills, and those that change a reference or
 * a list at once, which no transaction takes back. Within one, what they store to must be in its undo log
 * (transactions.c). So these stores are looked at in programs that nvwave-cc has not built, too.
 */
#include <libpmemobj.h>
#include <wchar.h>

#include "../preload.h"
#include "core/each.h"

/* ---- Copies and fills ------------------------------------------------------------------------------- */

#define STORES(name, parameters, arguments)                       \
	HOST_EXPORT void *name parameters                         \
	{                                                         \
		host_transaction_stores(dest, len, &HOST_CALLER); \
		return REAL(name) arguments;                      \
	}

STORES(pmemobj_memcpy, (PMEMobjpool * pop, void *dest, const void *src, size_t len, unsigned flags),
	(pop, dest, src, len, flags))
STORES(pmemobj_memmove, (PMEMobjpool * pop, void *dest, const void *src, size_t len, unsigned flags),
	(pop, dest, src, len, flags))
STORES(pmemobj_memset, (PMEMobjpool * pop, void *dest, int c, size_t len, unsigned flags),
	(pop, dest, c, len, flags))
STORES(pmemobj_memcpy_persist, (PMEMobjpool * pop, void *dest, const void *src, size_t len),
	(pop, dest, src, len))
STORES(pmemobj_memset_persist, (PMEMobjpool * pop, void *dest, int c, size_t len), (pop, dest, c, len))

/* ---- References that change at once ----------------------------------------------------------------- */

static void changes(const PMEMoid *reference, const struct host_caller *caller)
{
	host_transaction_stores(reference, sizeof *reference, caller);
}

#define CHANGES(type, name, parameters, arguments) \
	HOST_EXPORT type name parameters           \
	{                                          \
		changes(oidp, &HOST_CALLER);       \
		return REAL(name) arguments;       \
	}

CHANGES(int, pmemobj_zalloc, (PMEMobjpool * pop, PMEMoid *oidp, size_t size, uint64_t type_num),
	(pop, oidp, size, type_num))
CHANGES(int, pmemobj_realloc, (PMEMobjpool * pop, PMEMoid *oidp, size_t size, uint64_t type_num),
	(pop, oidp, size, type_num))
CHANGES(int, pmemobj_zrealloc, (PMEMobjpool * pop, PMEMoid *oidp, size_t size, uint64_t type_num),
	(pop, oidp, size, type_num))
CHANGES(int, pmemobj_strdup, (PMEMobjpool * pop, PMEMoid *oidp, const char *s, uint64_t type_num),
	(pop, oidp, s, type_num))
CHANGES(int, pmemobj_wcsdup, (PMEMobjpool * pop, PMEMoid *oidp, const wchar_t *s, uint64_t type_num),
	(pop, oidp, s, type_num))
CHANGES(void, pmemobj_free, (PMEMoid * oidp), (oidp))

/* ---- Constructors ----------------------------------------------------------------------------------- */

struct constructor {
	pmemobj_constr run;
	void *argument;
};

static int construct(PMEMobjpool *pool, void *object, void *context)
{
	const struct constructor *const c = context;

	host_transaction_constructs(1);
	const int error = c->run(pool, object, c->argument);

	host_transaction_constructs(-1);
	return error;
}

static pmemobj_constr construct_for(const struct constructor *c)
{
	return c->run ? construct : NULL;
}

HOST_EXPORT int pmemobj_alloc(PMEMobjpool *pop, PMEMoid *oidp, size_t size, uint64_t type_num,
	pmemobj_constr constructor, void *arg)
{
	struct constructor c = {constructor, arg};

	changes(oidp, &HOST_CALLER);
	return REAL(pmemobj_alloc)(pop, oidp, size, type_num, construct_for(&c), &c);
}

HOST_EXPORT int pmemobj_xalloc(PMEMobjpool *pop, PMEMoid *oidp, size_t size, uint64_t type_num,
	uint64_t flags, pmemobj_constr constructor, void *arg)
{
	struct constructor c = {constructor, arg};

	changes(oidp, &HOST_CALLER);
	return REAL(pmemobj_xalloc)(pop, oidp, size, type_num, flags, construct_for(&c), &c);
}

/* ---- Lists ------------------------------------------------------------------------------------------ */

/* The head's reference to its first entry; an entry's to its neighbours. */
static void changes_list(void *head, PMEMoid entry, size_t off, const struct host_caller *caller)
{
	changes(head, caller);
	if (!OID_IS_NULL(entry)) {
		host_transaction_stores(
			(char *)REAL(pmemobj_direct)(entry) + off, 2 * sizeof(PMEMoid), caller);
	}
}

HOST_EXPORT int pmemobj_list_insert(
	PMEMobjpool *pop, size_t pe_offset, void *head, PMEMoid dest, int before, PMEMoid oid)
{
	changes_list(head, oid, pe_offset, &HOST_CALLER);
	return REAL(pmemobj_list_insert)(pop, pe_offset, head, dest, before, oid);
}

HOST_EXPORT PMEMoid pmemobj_list_insert_new(PMEMobjpool *pop, size_t pe_offset, void *head, PMEMoid dest,
	int before, size_t size, uint64_t type_num, pmemobj_constr constructor, void *arg)
{
	struct constructor c = {constructor, arg};

	changes_list(head, OID_NULL, 0, &HOST_CALLER);
	return REAL(pmemobj_list_insert_new)(
		pop, pe_offset, head, dest, before, size, type_num, construct_for(&c), &c);
}

HOST_EXPORT int pmemobj_list_remove(PMEMobjpool *pop, size_t pe_offset, void *head, PMEMoid oid, int free)
{
	changes_list(head, oid, pe_offset, &HOST_CALLER);
	return REAL(pmemobj_list_remove)(pop, pe_offset, head, oid, free);
}

HOST_EXPORT int pmemobj_list_move(PMEMobjpool *pop, size_t pe_old_offset, void *head_old,
	size_t pe_new_offset, void *head_new, PMEMoid dest, int before, PMEMoid oid)
{
	changes_list(head_old, oid, pe_old_offset, &HOST_CALLER);
	changes_list(head_new, oid, pe_new_offset, &HOST_CALLER);
	return REAL(pmemobj_list_move)(
		pop, pe_old_offset, head_old, pe_new_offset, head_new, dest, before, oid);
}

/* ---- Reserved objects ------------------------------------------------------------------------------- */

/* Published outside a transaction, an object is like any other. */
HOST_EXPORT int pmemobj_publish(PMEMobjpool *pop, struct pobj_action *actv, size_t actvcnt)
{
	NVW_EACH(one, actv, actvcnt) {
		if (one->type == POBJ_ACTION_TYPE_HEAP) {
			host_transaction_publishes((const char *)pop + one->heap.offset);
		}
	}
	return REAL(pmemobj_publish)(pop, actv, actvcnt);
}
