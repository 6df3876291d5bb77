/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmem's interface. Calls on a file that is emulated persistent memory are counted, delayed and recorded;
 * the processor's flushes and fences are executed only for real persistent memory, because they have no
 * effect on an ordinary file. All other calls go to the real library.
 */
#include <libpmem.h>
#include <string.h>
#include <sys/types.h>

#include "preload.h"

/* Flags with which a copy needs a flush of its own. */
enum { TEMPORAL = PMEM_F_MEM_TEMPORAL | PMEM_F_MEM_NOFLUSH };

static uint64_t lines_of(const void *address, size_t n)
{
	const uintptr_t first = (uintptr_t)address / HOST_LINE;

	return n == 0 ? 0 : ((uintptr_t)address + n - 1) / HOST_LINE - first + 1;
}

/* Orders the program's own stores past the caches. */
static void store_fence(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* ---- Mappings ------------------------------------------------------------------------------------- */

HOST_EXPORT void *pmem_map_file(
	const char *path, size_t len, int flags, mode_t mode, size_t *mapped_lenp, int *is_pmemp)
{
	const uint64_t began = host_began();
	void *const address = REAL(pmem_map_file)(path, len, flags, mode, mapped_lenp, is_pmemp);

	if (address != NULL && host_control != NULL && host_find(address) != NULL) {
		host_control->libpmem_calls = 1;
		host_thread()->maps++;
		host_delay_read(began, HOST_LINE);
		if (is_pmemp != NULL) {
			*is_pmemp = 1;
		}
	}
	return address;
}

HOST_EXPORT int pmem_unmap(void *addr, size_t len)
{
	return REAL(pmem_unmap)(addr, len); /* calls munmap() */
}

HOST_EXPORT int pmem_is_pmem(const void *addr, size_t len)
{
	const struct host_mapping *const m = host_mapping_of(addr);

	if (m != NULL && len <= m->start + m->length - (uintptr_t)addr) {
		host_control->libpmem_calls = 1;
		return 1;
	}
	return REAL(pmem_is_pmem)(addr, len);
}

HOST_EXPORT int pmem_has_auto_flush(void)
{
	return host_control != NULL ? host_control->auto_flush : REAL(pmem_has_auto_flush)();
}

HOST_EXPORT int pmem_has_hw_drain(void)
{
	return REAL(pmem_has_hw_drain)();
}

/* ---- Flushes and drains --------------------------------------------------------------------------- */

void host_flush(const struct host_mapping *m, const void *addr, size_t len, uint64_t began,
	const struct host_caller *caller, enum host_flush how)
{
	struct host_thread *const t = host_thread();
	const uint64_t lines = lines_of(addr, len);

	if (how != HOST_FLUSH_STREAMED) {
		host_point(HOST_AT_FLUSH, addr, caller->address);
	}
	t->lines_flushed += lines;
	t->bytes_asked += len;
	host_self.flushed = true;
	if (host_recording && m->file >= 0) {
		host_reached(caller->address);
	}
	if (host_recording && host_enter()) {
		host_record_flush(m, addr, len, caller, how);
		host_leave();
	}
	if (host_checking) {
		host_check_flush(m, addr, len, how, caller);
	}
	host_delay_flush(began, lines);
}

void host_drain(uint64_t began, const struct host_caller *caller)
{
	struct host_thread *const t = host_thread();

	if (host_self.own) {
		return;
	}
	host_point(HOST_AT_FENCE, NULL, caller->address);
	t->fences++;
	t->empty_fences += !host_self.flushed;
	if (host_recording && host_enter()) {
		host_transaction_fences();
		host_record_fence(caller);
		host_leave();
	}
	if (host_checking) {
		host_check_fence(caller);
	}
	host_self.flushed = false;
	host_delay_drain(began);
}

static void flush(const struct host_mapping *m, const void *addr, size_t len, uint64_t began,
	const struct host_caller *caller)
{
	host_thread()->flushes++;
	host_flush(m, addr, len, began, caller, HOST_FLUSH_CALLED);
}

static void drain(const struct host_mapping *m, const void *addr, size_t len, uint64_t began,
	const struct host_caller *caller)
{
	host_drain(began, caller);
}

static void persist(const struct host_mapping *m, const void *addr, size_t len, uint64_t began,
	const struct host_caller *caller)
{
	store_fence();
	flush(m, addr, len, began, caller);
	host_drain(began, caller);
}

HOST_EXPORT void pmem_drain(void)
{
	const uint64_t began = host_began();
	const struct host_caller caller = HOST_CALLER;

	if (host_control == NULL) {
		REAL(pmem_drain)();
		return;
	}
	store_fence();
	host_drain(began, &caller);
}

void host_synced(void *addr, size_t len, const struct host_caller *caller)
{
	const uint64_t began = host_began();
	const struct host_mapping *const m = host_find(addr);

	if (m != NULL) {
		host_self.syncing = true;
		persist(m, addr, len, began, caller);
		host_self.syncing = false;
	}
}

/* On real persistent memory the library behind does it, too. */
#define ON_RANGE(name, does)                                                \
	HOST_EXPORT void name(const void *addr, size_t len)                 \
	{                                                                   \
		const uint64_t began = host_began();                        \
		const struct host_mapping *const m = host_mapping_of(addr); \
		const struct host_caller caller = HOST_CALLER;              \
                                                                            \
		if (m == NULL || m->real) {                                 \
			REAL(name)(addr, len);                              \
		}                                                           \
		if (m != NULL) {                                            \
			does(m, addr, len, began, &caller);                 \
		}                                                           \
	}

ON_RANGE(pmem_flush, flush)
ON_RANGE(pmem_deep_flush, flush)
ON_RANGE(pmem_persist, persist)

/* The same with a result. */
#define ON_RANGE_OR_FAILS(name, does)                                       \
	HOST_EXPORT int name(const void *addr, size_t len)                  \
	{                                                                   \
		const uint64_t began = host_began();                        \
		const struct host_mapping *const m = host_mapping_of(addr); \
		const struct host_caller caller = HOST_CALLER;              \
		int error = 0;                                              \
                                                                            \
		if (m == NULL || m->real) {                                 \
			error = REAL(name)(addr, len);                      \
		}                                                           \
		if (m != NULL) {                                            \
			does(m, addr, len, began, &caller);                 \
		}                                                           \
		return error;                                               \
	}

ON_RANGE_OR_FAILS(pmem_deep_drain, drain)
ON_RANGE_OR_FAILS(pmem_deep_persist, persist)

/* The system call is executed too, because the program asked for it. */
HOST_EXPORT int pmem_msync(const void *addr, size_t len)
{
	const uint64_t began = host_began();
	const struct host_mapping *const m = host_mapping_of(addr);
	const struct host_caller caller = HOST_CALLER;
	const bool inside = host_self.inside;

	host_self.inside = true; /* its msync() is not a separate event */
	const int error = REAL(pmem_msync)(addr, len);

	host_self.inside = inside;
	if (m != NULL) {
		persist(m, addr, len, began, &caller);
	}
	return error;
}

/* ---- Copies and fills ----------------------------------------------------------------------------- */

struct copy {
	void *to;
	const void *from; /* NULL: fill with c */
	int c;
	size_t n;
	unsigned flags;
};

static void carry_out(const struct copy *o, void *to, unsigned flags)
{
	if (o->from != NULL) {
		REAL(pmem_memmove)(to, o->from, o->n, flags);
	} else {
		REAL(pmem_memset)(to, o->c, o->n, flags);
	}
}

static bool overlap(const struct copy *o)
{
	const uintptr_t to = (uintptr_t)o->to, from = (uintptr_t)o->from;

	return to < from + o->n && from < to + o->n;
}

/* When recorded, a copy writes to the alias of the mapping, which has no protected pages. */
static void *writable(const struct host_mapping *m, const struct copy *o)
{
	const bool through = host_recording && m->alias != NULL && !overlap(o) && !m->read_only &&
			     o->n <= m->start + m->length - (uintptr_t)o->to;

	if (!through) {
		return o->to;
	}
	return m->alias + ((uintptr_t)o->to - m->start);
}

static void *copy(const struct copy *o, uint64_t began, const struct host_caller *caller)
{
	const struct host_mapping *const m = host_mapping_of(o->to);
	const struct host_mapping *const source = host_mapping_of(o->from);

	if (source != NULL && host_checking) {
		host_check_load(source, o->from, o->n, caller);
	}
	if (source != NULL) {
		struct host_thread *const t = host_thread();

		t->reads++;
		t->bytes_read += o->n;
		host_delay_read(began, o->n);
		began = host_began();
	}
	if (m == NULL) {
		carry_out(o, o->to, o->flags);
		return o->to;
	}
	host_thread()->copies++;
	carry_out(o, writable(m, o), m->real ? o->flags : TEMPORAL);
	if (host_recording && m->file >= 0) {
		host_reached(caller->address);
	}
	if (host_recording && host_enter()) {
		host_record_change(m, o->to, o->n, caller);
		host_leave();
	}
	if (host_checking) {
		host_check_store(m, o->to, o->n, HOST_STORE_PLAIN, caller);
	}
	if (!(o->flags & PMEM_F_MEM_NOFLUSH)) {
		host_flush(m, o->to, o->n, began, caller, HOST_FLUSH_COPIED);
		if (!(o->flags & PMEM_F_MEM_NODRAIN)) {
			store_fence();
			host_drain(began, caller);
		}
	}
	return o->to;
}

#define COPY(name, declared, ...)                                          \
	HOST_EXPORT void *name declared                                    \
	{                                                                  \
		const uint64_t began = host_began();                       \
		const struct host_caller caller = HOST_CALLER;             \
		const struct copy o = {.to = dest, .n = len, __VA_ARGS__}; \
                                                                           \
		return copy(&o, began, &caller);                           \
	}

COPY(pmem_memmove_persist, (void *dest, const void *src, size_t len), .from = src)
COPY(pmem_memcpy_persist, (void *dest, const void *src, size_t len), .from = src)
COPY(pmem_memmove_nodrain, (void *dest, const void *src, size_t len), .from = src,
	.flags = PMEM_F_MEM_NODRAIN)
COPY(pmem_memcpy_nodrain, (void *dest, const void *src, size_t len), .from = src, .flags = PMEM_F_MEM_NODRAIN)
COPY(pmem_memmove, (void *dest, const void *src, size_t len, unsigned flags), .from = src, .flags = flags)
COPY(pmem_memcpy, (void *dest, const void *src, size_t len, unsigned flags), .from = src, .flags = flags)
COPY(pmem_memset_persist, (void *dest, int c, size_t len), .c = c)
COPY(pmem_memset_nodrain, (void *dest, int c, size_t len), .c = c, .flags = PMEM_F_MEM_NODRAIN)
COPY(pmem_memset, (void *dest, int c, size_t len, unsigned flags), .c = c, .flags = flags)
