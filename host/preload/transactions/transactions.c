/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transactions of libpmemobj. A store within one must go to a range that was added to it, which is what an
 * abort or a recovery restores, or to an object that it has allocated or reserved. Others are noted: each is
 * a pair of places, of the store and of the beginning of its outermost transaction.
 *
 * Looked at are the stores that a program built by nvwave-cc announces, to the pool of the transaction, and
 * those that libpmemobj makes for any program (library_stores.c). A constructor of pmemobj_alloc() stores to
 * its own new object, and is not looked at.
 *
 * The log has the ranges that are added, with the stores of the library within the call, and when they
 * settle: what recovery would restore is then known (crashtest/states/trust.h).
 */
#include <errno.h>
#include <libpmem.h>
#include <libpmemobj.h>
#include <link.h>
#include <wchar.h>

#include "core/each.h"
#include "ranges.h"

struct host_transaction {
	int file;        /* of the pool; negative: not recorded */
	unsigned depth;  /* of transactions within each other */
	unsigned makers; /* constructors that run */
	uint32_t begun;  /* site of the outermost one */
	bool unsettled;  /* the log has ranges of it */
	struct host_ranges ranges;
};

/* The code of libpmemobj and of libpmem, which fill objects and write logs for a transaction. */
static struct {
	uintptr_t start, end;
} library[2];

static int find_library(struct dl_phdr_info *object, size_t bytes, void *functions)
{
	const uintptr_t *const of = functions;

	NVW_EACH(header, object->dlpi_phdr, object->dlpi_phnum) {
		const uintptr_t start = object->dlpi_addr + header->p_vaddr;
		const uintptr_t end = start + header->p_memsz;

		for (unsigned k = 0; k < 2 && header->p_type == PT_LOAD; k++) {
			if (of[k] >= start && of[k] < end) {
				library[k].start = start;
				library[k].end = end;
			}
		}
	}
	return 0;
}

/* Not under the session's lock: the dynamic linker has its own. */
static void find_libraries(void)
{
	uintptr_t functions[] = {(uintptr_t)REAL(pmemobj_tx_end), (uintptr_t)REAL(pmem_persist)};

	dl_iterate_phdr(find_library, functions);
}

static bool is_of_library(uintptr_t code)
{
	return code - library[0].start < library[0].end - library[0].start ||
	       code - library[1].start < library[1].end - library[1].start;
}

/* NULL: there is no session, or no memory. */
static struct host_transaction *own(void)
{
	if (host_self.transaction == NULL && host_recording) {
		find_libraries();
		host_self.transaction = host_memory(sizeof *host_self.transaction);
	}
	return host_self.transaction;
}

static void add(const void *start, size_t bytes)
{
	struct host_transaction *const t = own();

	if (t != NULL && start != NULL && bytes > 0) {
		host_ranges_add(&t->ranges, start, bytes);
	}
}

static void *direct(PMEMoid oid)
{
	return OID_IS_NULL(oid) ? NULL : REAL(pmemobj_direct)(oid);
}

/* ---- What the log has of them ----------------------------------------------------------------------- */

/* Records an event of the pool of the transaction. */
static void record(
	enum host_event_kind kind, const void *start, size_t bytes, const struct host_caller *caller)
{
	struct host_transaction *const t = host_self.transaction;
	HOST_KEEPS_ERRNO;

	if (t != NULL && t->depth > 0 && bytes <= UINT32_MAX && host_control->record && host_enter()) {
		const struct host_mapping *const m = host_find(start);

		if (m != NULL && m->file >= 0 && m->file == t->file) {
			host_record_range(kind, m, start, bytes, caller);
			t->unsettled = true;
		}
		host_leave();
	}
}

/* Under the lock. */
static void settle(struct host_transaction *t)
{
	NVW_INVARIANT(host_self.inside);
	if (t->unsettled) {
		host_event(HOST_SETTLES, t->file, 0, 0, 0);
		t->unsettled = false;
	}
}

/* An abort may begin within any function of libpmemobj, and ends by a jump; its stage is another from the
 * start. */
void host_transaction_fences(void)
{
	NVW_DEEP_INVARIANT(host_self.inside);

	struct host_transaction *const t = host_self.transaction;

	if (t != NULL && t->unsettled && REAL(pmemobj_tx_stage)() != TX_STAGE_WORK) {
		settle(t);
	}
}

static void settle_now(void)
{
	struct host_transaction *const t = host_self.transaction;
	HOST_KEEPS_ERRNO;

	if (t != NULL && t->unsettled && host_enter()) {
		settle(t);
		host_leave();
	}
}

/* A commit within another transaction settles nothing. */
static void commits(void)
{
	const struct host_transaction *const t = host_self.transaction;

	if (t != NULL && t->depth == 1 && REAL(pmemobj_tx_stage)() == TX_STAGE_WORK) {
		settle_now();
	}
}

static void add_object(PMEMoid oid, const struct host_caller *caller)
{
	if (host_recording && !OID_IS_NULL(oid)) {
		const size_t bytes = REAL(pmemobj_alloc_usable_size)(oid);

		add(direct(oid), bytes);
		record(HOST_UNLOGGED, direct(oid), bytes, caller);
	}
}

/* ---- Stores ----------------------------------------------------------------------------------------- */

static bool may_store(const struct host_transaction *t, const struct host_mapping *m, uintptr_t at, size_t n)
{
	return t->makers > 0 || m->file != t->file || REAL(pmemobj_tx_stage)() != TX_STAGE_WORK ||
	       host_ranges_cover(&t->ranges, at, n);
}

void host_check_within(const struct host_mapping *m, const struct host_pending *p, const void *code)
{
	const struct host_transaction *const t = host_self.transaction;

	if (host_self.annotated != NULL) {
		host_check_annotated(m, p);
	}
	if (t == NULL || t->depth == 0 || is_of_library((uintptr_t)code)) {
		return;
	}
	if (!may_store(t, m, p->address, p->n)) {
		const struct host_unlogged found = host_unlogged_of(m, p, t->begun);

		host_note_unlogged(&found);
	}
}

static void check_call(
	const struct host_transaction *t, uintptr_t at, size_t n, const struct host_caller *caller)
{
	NVW_INVARIANT(t->depth > 0 && host_self.inside);

	const struct host_mapping *const m = host_find((const void *)at);

	if (m != NULL && !may_store(t, m, at, n)) {
		const struct host_pending store = {.address = at, .n = n, .site = host_site(caller)};
		const struct host_unlogged found = host_unlogged_of(m, &store, t->begun);

		host_note_unlogged(&found);
	}
}

void host_transaction_stores(const void *at, size_t n, const struct host_caller *caller)
{
	const struct host_transaction *const t = host_self.transaction;
	HOST_KEEPS_ERRNO;

	if (t != NULL && t->depth > 0 && at != NULL && n > 0 && !is_of_library((uintptr_t)caller->address) &&
		host_enter()) {
		check_call(t, (uintptr_t)at, n, caller);
		host_leave();
	}
}

/* ---- Transactions ----------------------------------------------------------------------------------- */

/* It is counted before it begins, since it may fail and still has to be ended. */
static void begins(const PMEMobjpool *pool, const struct host_caller *caller)
{
	struct host_transaction *const t = own();

	if (t == NULL || t->depth++ > 0 || !host_enter()) {
		return;
	}
	const struct host_mapping *const m = host_find(pool);

	t->file = m ? m->file : -1;
	t->begun = host_site(caller);
	host_control->transactions += m != NULL;
	host_leave();
}

__attribute__((used, visibility("hidden"))) void *host_transaction_begins(
	const PMEMobjpool *pool, void *address, uintptr_t frame);

void *host_transaction_begins(const PMEMobjpool *pool, void *address, uintptr_t frame)
{
	const struct host_caller caller = {address, frame};
	HOST_KEEPS_ERRNO;

	begins(pool, &caller);
	return host_real("pmemobj_tx_begin");
}

/* Jumps, since the function has arguments that only it can count. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl pmemobj_tx_begin\n"
	".type pmemobj_tx_begin, @function\n"
	"pmemobj_tx_begin:\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %rax\n"
	"	mov 56(%rsp), %rsi\n"
	"	lea 64(%rsp), %rdx\n"
	"	call host_transaction_begins\n"
	"	mov %rax, %r11\n"
	"	pop %rax\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rcx\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	jmp *%r11\n"
	".size pmemobj_tx_begin, . - pmemobj_tx_begin\n"
	".popsection\n");
#endif

HOST_EXPORT int pmemobj_tx_end(void)
{
	struct host_transaction *const t = host_self.transaction;

	if (t != NULL && t->depth > 0 && --t->depth == 0) {
		settle_now();
		t->makers = 0; /* an abort leaves a constructor by a jump */
		host_ranges_clear(&t->ranges);
	}
	return REAL(pmemobj_tx_end)();
}

/* ---- What it may store to --------------------------------------------------------------------------- */

static void adds(const void *start, size_t bytes, uint64_t flags, const struct host_caller *caller)
{
	if (!(flags & POBJ_XADD_NO_SNAPSHOT)) {
		record(HOST_ADDING, start, bytes, caller);
	}
}

static void added(const void *start, size_t bytes, uint64_t flags, const struct host_caller *caller)
{
	add(start, bytes);
	record(flags & POBJ_XADD_NO_SNAPSHOT ? HOST_UNLOGGED : HOST_ADDED, start, bytes, caller);
}

/* A call that fails may jump to the transaction's beginning instead of returning. */
#define ADDS(name, parameters, arguments, start, flags)        \
	HOST_EXPORT int name parameters                        \
	{                                                      \
		const struct host_caller caller = HOST_CALLER; \
		const void *const from = start;                \
                                                               \
		adds(from, size, flags, &caller);              \
		const int error = REAL(name) arguments;        \
                                                               \
		if (error == 0) {                              \
			added(from, size, flags, &caller);     \
		}                                              \
		return error;                                  \
	}

ADDS(pmemobj_tx_add_range, (PMEMoid oid, uint64_t off, size_t size), (oid, off, size),
	(char *)direct(oid) + off, 0)
ADDS(pmemobj_tx_add_range_direct, (const void *ptr, size_t size), (ptr, size), ptr, 0)
ADDS(pmemobj_tx_xadd_range, (PMEMoid oid, uint64_t off, size_t size, uint64_t flags), (oid, off, size, flags),
	(char *)direct(oid) + off, flags)
ADDS(pmemobj_tx_xadd_range_direct, (const void *ptr, size_t size, uint64_t flags), (ptr, size, flags), ptr,
	flags)

HOST_EXPORT void pmemobj_tx_commit(void)
{
	commits();
	REAL(pmemobj_tx_commit)();
}

HOST_EXPORT void pmemobj_tx_process(void)
{
	commits();
	REAL(pmemobj_tx_process)();
}

/* The undo logs that it holds are recovered, if their threads have not settled them. */
HOST_EXPORT PMEMobjpool *pmemobj_open(const char *path, const char *layout)
{
	const int before = errno;

	if (host_recording && host_control->ranges && host_enter()) {
		host_event(HOST_FORGOTTEN, 0, 0, 0, 0);
		host_leave();
	}
	errno = before;
	return REAL(pmemobj_open)(path, layout);
}

#define ALLOCATES(name, parameters, arguments)               \
	HOST_EXPORT PMEMoid name parameters                  \
	{                                                    \
		const PMEMoid object = REAL(name) arguments; \
                                                             \
		add_object(object, &HOST_CALLER);            \
		return object;                               \
	}

ALLOCATES(pmemobj_tx_alloc, (size_t size, uint64_t type_num), (size, type_num))
ALLOCATES(pmemobj_tx_zalloc, (size_t size, uint64_t type_num), (size, type_num))
ALLOCATES(pmemobj_tx_xalloc, (size_t size, uint64_t type_num, uint64_t flags), (size, type_num, flags))
ALLOCATES(pmemobj_tx_realloc, (PMEMoid oid, size_t size, uint64_t type_num), (oid, size, type_num))
ALLOCATES(pmemobj_tx_zrealloc, (PMEMoid oid, size_t size, uint64_t type_num), (oid, size, type_num))
ALLOCATES(pmemobj_tx_strdup, (const char *s, uint64_t type_num), (s, type_num))
ALLOCATES(pmemobj_tx_xstrdup, (const char *s, uint64_t type_num, uint64_t flags), (s, type_num, flags))
ALLOCATES(pmemobj_tx_wcsdup, (const wchar_t *s, uint64_t type_num), (s, type_num))
ALLOCATES(pmemobj_tx_xwcsdup, (const wchar_t *s, uint64_t type_num, uint64_t flags), (s, type_num, flags))
ALLOCATES(pmemobj_reserve, (PMEMobjpool * pop, struct pobj_action *act, size_t size, uint64_t type_num),
	(pop, act, size, type_num))
ALLOCATES(pmemobj_xreserve,
	(PMEMobjpool * pop, struct pobj_action *act, size_t size, uint64_t type_num, uint64_t flags),
	(pop, act, size, type_num, flags))

void host_transaction_constructs(int more)
{
	NVW_INVARIANT(more == 1 || more == -1);

	struct host_transaction *const t = own();

	if (t != NULL) {
		t->makers += (unsigned)more;
	}
}

void host_transaction_publishes(const void *start)
{
	struct host_transaction *const t = host_self.transaction;

	if (t != NULL && t->depth == 0) {
		host_ranges_drop(&t->ranges, start);
	}
}
