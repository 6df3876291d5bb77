/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel API: the operations of code that runs on the emulated GPU.
 *
 * A kernel is a C function that runs once per work-item, OpenCL-style. Its local variables are the
 * work-item's registers. Everything else lives in device memory, which is read and written through the macros
 * below and never by dereferencing: nothing can be read or written at a device address, so a plain
 * dereference ends the run with its source line (NVW_E_KERNEL).
 *
 *	static void scale(const void *args)
 *	{
 *		const struct scale_args *a = args;
 *		uint64_t *x = a->vector + nvw_global_id();
 *
 *		nvw_store(x, 2 * nvw_load(x));
 *		nvw_p_barrier_wi();
 *	}
 *
 * Caveats
 *   - A work-item's stack is small (machine key host.stack, 6 KiB by default): no large arrays, no recursion
 *     of unknown depth, no stdio. An overflow is detected at the next memory operation and ends the run.
 *   - args points to host memory and is constant while the kernel runs; all work-items share it.
 *   - Everything here may be called only from a kernel. Nothing here is thread-safe, or needs to be: an
 *     emulation runs on one host thread, and a process runs one emulation at a time.
 *   - An access outside device memory, or one that crosses a 64-byte line, ends the run; the error names the
 *     source line of the access.
 */
#ifndef NVW_KERNEL_H
#define NVW_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvw/each.h>

/* Memory order of an atomic. */
enum nvw_order { NVW_RELAXED, NVW_ACQUIRE, NVW_RELEASE, NVW_ACQ_REL, NVW_SEQ_CST };

/*
 * Synchronization scope of an atomic: the set of work-items for which it orders memory accesses (HRF scopes,
 * gope18 2.3 and 3).
 *
 * The remote scopes are those of remote-scope promotion (alsop16 II.D): a remote acquire also synchronizes
 * with releases of work-group scope by any work-group, and a remote release with such acquires. A thief thus
 * takes a task from a queue whose owner synchronizes with work-group scope. A protocol without scopes does
 * not need them; a protocol with scopes but without promotion (vi, gh) treats them as the same scope without
 * "remote", which promises less.
 */
enum nvw_scope {
	NVW_SCOPE_WORKITEM,
	NVW_SCOPE_WORKGROUP,
	NVW_SCOPE_AGENT,
	NVW_SCOPE_SYSTEM,
	NVW_SCOPE_REMOTE_AGENT,
	NVW_SCOPE_REMOTE_SYSTEM,
};

/*
 * A program requires this of the scopes of its protocol. Under a protocol that synchronizes all CUs whatever
 * the scope (no scopes, or scopes as hints), every program is correct.
 */
enum nvw_scopes_asked {
	NVW_ASKS_NOTHING, /* only work-items of one work-group synchronize with work-group scope */
	NVW_ASKS_CU, /* all work-groups of a CU synchronize with work-group scope: sinclair15's local scope */
	NVW_ASKS_REMOTE, /* remote scopes synchronize with work-group scope on other CUs (alsop16 II.D) */
	NVW_ASKS_ALL,    /* agent scope does so too: scopes are only hints (alsop16 V.C) */
};

/* Execution group, the scope of a barrier and of a persist barrier (gope18 5). */
enum nvw_group { NVW_WORKITEM, NVW_WORKGROUP, NVW_KERNEL };

/* ---- Identity ----------------------------------------------------------------------------------- */

uint64_t nvw_global_id(void);   /* index of this work-item in the kernel, from 0 */
unsigned nvw_local_id(void);    /* index of this work-item in its work-group, from 0 */
uint64_t nvw_group_id(void);    /* index of this work-group in the kernel, from 0 */
unsigned nvw_group_size(void);  /* work-items in a work-group */
uint64_t nvw_group_count(void); /* work-groups in the kernel */
unsigned nvw_cu_id(void);       /* index of the CU that runs this work-group from beginning to end, from 0 */

/* ---- Loads and stores ---------------------------------------------------------------------------- */

/*
 * nvw_load(p) reads *p, and nvw_store(p, v) writes v to *p; p points to an object of 1, 2, 4 or 8 bytes in
 * device memory. The machine's coherence protocol determines visibility and order; under a protocol with
 * stale copies a load may return a stale value, as on the hardware.
 */
#define nvw_load(p)                                                                                 \
	({                                                                                          \
		NVW__SITE(nvw__site, LOAD);                                                         \
		union {                                                                             \
			__typeof__(*(p)) nvw__v;                                                    \
			uint64_t nvw__raw;                                                          \
		} nvw__u = {.nvw__raw = nvw__op(&nvw__site, NVW__OP(LOAD, *(p), 0, 0), (p), 0, 0)}; \
		nvw__u.nvw__v;                                                                      \
	})

/*
 * A load of data that is not written while the kernel runs (the read-only region of sinclair15 3). A protocol
 * may keep such data across acquires; others treat this as nvw_load(). Loading data in this way that a
 * work-item writes is a race.
 */
#define nvw_load_read_only(p)                                                                             \
	({                                                                                                \
		NVW__SITE(nvw__site, LOAD_READ_ONLY);                                                     \
		union {                                                                                   \
			__typeof__(*(p)) nvw__v;                                                          \
			uint64_t nvw__raw;                                                                \
		} nvw__u = {                                                                              \
			.nvw__raw = nvw__op(&nvw__site, NVW__OP(LOAD_READ_ONLY, *(p), 0, 0), (p), 0, 0)}; \
		nvw__u.nvw__v;                                                                            \
	})

/*
 * A load that is issued now and used later: the work-item continues at once, and waits at the use only if the
 * load has not completed by then.
 *
 *	const struct nvw_issued a = nvw_load_issue(x), b = nvw_load_issue(y);
 *
 *	nvw_store(z, nvw_load_use(a, uint64_t) + nvw_load_use(b, uint64_t));
 *
 * The value is the one that nvw_load() would have returned at the issue, or, under gpu.consistency=rmo, at
 * some instant before the use and before what the work-item does to the same line, or to synchronize; type is
 * the type of the object. A value may be used any number of times, including none. The machine key gpu.loads
 * bounds the loads in flight of a work-item; atomics that are not relaxed and barriers then wait for them,
 * too. By default there is no bound.
 */
struct nvw_issued {
	uint64_t nvw__raw, nvw__ready;
};

#define nvw_load_issue(p)                                                \
	({                                                               \
		NVW__SITE(nvw__site, LOAD);                              \
		nvw__issued(&nvw__site, NVW__OP(LOAD, *(p), 0, 0), (p)); \
	})

#define nvw_load_use(issued, type)                                                                       \
	({                                                                                               \
		NVW__SITE(nvw__site, USE);                                                               \
		const struct nvw_issued nvw__i = (issued);                                               \
		union {                                                                                  \
			type nvw__v;                                                                     \
			uint64_t nvw__raw;                                                               \
		} nvw__u = {.nvw__raw = nvw__op(                                                         \
				    &nvw__site, NVW__OP_USE, NULL, nvw__i.nvw__ready, nvw__i.nvw__raw)}; \
		nvw__u.nvw__v;                                                                           \
	})

#define nvw_store(p, v)                                                                        \
	({                                                                                     \
		NVW__SITE(nvw__site, STORE);                                                   \
		(void)nvw__op(&nvw__site, NVW__OP(STORE, *(p), 0, 0), (p), NVW__RAW(p, v), 0); \
	})

/* ---- Atomics -------------------------------------------------------------------------------------
 *
 * Atomics operate on integers of 1, 2, 4 or 8 bytes. Read-modify-writes return the previous value. min and
 * max compare unsigned. An increment goes from v and above to 0, a decrement from 0 and from above v to v.
 * order and scope need not be constants. A release at a scope makes the work-item's earlier stores visible to
 * that scope, an acquire at a scope drops stale copies below it; seq_cst is acq_rel in the single total order
 * of the emulator's transactions. */
#define nvw_atomic_load(p, order, scope)        NVW__ATOMIC(ATOMIC_LOAD, p, 0, 0, order, scope)
#define nvw_atomic_store(p, v, order, scope)    ((void)NVW__ATOMIC(ATOMIC_STORE, p, v, 0, order, scope))
#define nvw_atomic_exchange(p, v, order, scope) NVW__ATOMIC(EXCHANGE, p, v, 0, order, scope)
#define nvw_atomic_add(p, v, order, scope)      NVW__ATOMIC(ADD, p, v, 0, order, scope)
#define nvw_atomic_sub(p, v, order, scope)      NVW__ATOMIC(SUB, p, v, 0, order, scope)
#define nvw_atomic_and(p, v, order, scope)      NVW__ATOMIC(AND, p, v, 0, order, scope)
#define nvw_atomic_or(p, v, order, scope)       NVW__ATOMIC(OR, p, v, 0, order, scope)
#define nvw_atomic_min(p, v, order, scope)      NVW__ATOMIC(MIN, p, v, 0, order, scope)
#define nvw_atomic_max(p, v, order, scope)      NVW__ATOMIC(MAX, p, v, 0, order, scope)
#define nvw_atomic_xor(p, v, order, scope)      NVW__ATOMIC(XOR, p, v, 0, order, scope)

#define nvw_atomic_signed_min(p, v, order, scope) NVW__ATOMIC(SIGNED_MIN, p, v, 0, order, scope)
#define nvw_atomic_signed_max(p, v, order, scope) NVW__ATOMIC(SIGNED_MAX, p, v, 0, order, scope)
#define nvw_atomic_increment(p, v, order, scope)  NVW__ATOMIC(INCREMENT, p, v, 0, order, scope)
#define nvw_atomic_decrement(p, v, order, scope)  NVW__ATOMIC(DECREMENT, p, v, 0, order, scope)

/* Stores desired if *p equals expected. Returns the previous value of *p, so the exchange succeeded if
 * "result == expected". */
#define nvw_atomic_compare_exchange(p, expected, desired, order, scope) \
	NVW__ATOMIC(COMPARE_EXCHANGE, p, desired, expected, order, scope)

/*
 * An atomic add of a wavefront. The work-items that execute it together on the same object sum up their
 * values first (a reduction in the work-group's local memory, which takes no time: hechtman14 5.5.4), and one
 * of them adds the sum. Each gets the value that it would have got, had they added one after the other.
 * nvw_wavefront_added(), right after it: whether this work-item was the one, for those who count atomics.
 */
#define nvw_wavefront_add(p, v, order, scope) NVW__ATOMIC(ADD, p, v, 1, order, scope)
#define nvw_wavefront_added()                 (nvw__self->compare != 0)

/* ---- Barriers ------------------------------------------------------------------------------------ */

/*
 * Waits until every work-item of the group (NVW_WORKGROUP, or NVW_KERNEL: by preemption, gope18 footnote 4)
 * has reached a barrier of that group, and makes their stores visible to each other. If a work-item of the
 * group has returned, the barrier never completes: the run ends with a report.
 */
#define nvw_barrier(group)                                                    \
	({                                                                    \
		NVW__SITE(nvw__site, BARRIER);                                \
		(void)nvw__op(&nvw__site, NVW__OP_BARRIER, NULL, (group), 0); \
	})

/*
 * Persist barrier of a scope (gope18 5, equations 1 to 3): the group's stores to NVRAM before it persist
 * before the group's stores after it. Under epoch persistency the work-items of the group wait for each other
 * and until the group's earlier stores are durable. Under buffered epoch persistency the barrier only orders
 * stores and does not wait, so kernels that also need the group to meet call nvw_barrier() too (gope18 6.1).
 *
 * A persist barrier does not make stores visible; that takes a release (gope18 6.2). No crash leaves a store
 * after the barrier durable and a store before it lost.
 */
#define nvw_p_barrier(group)                                                    \
	({                                                                      \
		NVW__SITE(nvw__site, P_BARRIER);                                \
		(void)nvw__op(&nvw__site, NVW__OP_P_BARRIER, NULL, (group), 0); \
	})
#define nvw_p_barrier_wi() nvw_p_barrier(NVW_WORKITEM)
#define nvw_p_barrier_wg() nvw_p_barrier(NVW_WORKGROUP)
#define nvw_p_barrier_kr() nvw_p_barrier(NVW_KERNEL)

/*
 * Tells the host that operation number op is durable from now on; the crash tester checks the structure
 * against it. Call it after the persist barrier that makes the operation durable. Under buffered epoch
 * persistency, where a barrier does not promise durability, the machine passes the acknowledgement on once
 * the preceding stores are durable.
 */
#define nvw_ack(op)                                                    \
	({                                                             \
		NVW__SITE(nvw__site, ACK);                             \
		(void)nvw__op(&nvw__site, NVW__OP_ACK, NULL, (op), 0); \
	})

/*
 * Says that the work-item executes n instructions here that access no memory: its wavefront goes on after n
 * times the machine key gpu.instruction. A plain expression of a kernel takes no time; one instruction
 * between two accesses is counted without being asked for. Count what a GPU would execute, a branch as one.
 */
#define nvw_work(n)                                                              \
	({                                                                       \
		NVW__SITE(nvw__site, WORK);                                      \
		(void)nvw__op(&nvw__site, NVW__OP_WORK, NULL, (uint64_t)(n), 0); \
	})

/* ---- Operations ---------------------------------------------------------------------------------- */

/*
 * Where an operation of the structure begins and where it ends, for nvwave run --latencies and nvwave bench.
 * operation is its index in nvw_workload.operations (nvw/workload.h); begun is what the beginning has
 * returned, the simulated time in ps. The work-item keeps it, so that the kind may be known at the end only,
 * and another kernel may end the operation. They take no simulated time and change nothing in the run.
 *
 *	const uint64_t begun = nvw_operation_begin();
 *	... store, persist barrier, nvw_ack(op) ...
 *	nvw_operation_end(PUT, begun);
 */
uint64_t nvw_operation_begin(void);
void nvw_operation_end(unsigned operation, uint64_t begun);

/* ---- How the macros reach the machine (not for direct use) ---------------------------------------- */

/* A source location: one static record per use of a macro above. All those of a program or shared object are
 * in one section, so that the uses which a run has not executed can be named (device/sites.h). */
struct nvw_site {
	const char *file;
	const char *function;
	unsigned line;
	uint8_t kind, executed;
	uint8_t nvw__unused
		[10]; /* to a size by which a compiler may align it, so that the section has no gaps */
};

#define NVW__KINDS(X)                                  \
	X(LOAD, "load")                                \
	X(LOAD_READ_ONLY, "read-only load")            \
	X(STORE, "store")                              \
	X(ATOMIC_LOAD, "atomic load")                  \
	X(ATOMIC_STORE, "atomic store")                \
	X(EXCHANGE, "atomic exchange")                 \
	X(ADD, "atomic add")                           \
	X(SUB, "atomic sub")                           \
	X(AND, "atomic and")                           \
	X(OR, "atomic or")                             \
	X(MIN, "atomic min")                           \
	X(MAX, "atomic max")                           \
	X(SIGNED_MIN, "atomic signed min")             \
	X(SIGNED_MAX, "atomic signed max")             \
	X(XOR, "atomic xor")                           \
	X(INCREMENT, "atomic increment")               \
	X(DECREMENT, "atomic decrement")               \
	X(ADD_FLOAT, "atomic float add")               \
	X(COMPARE_EXCHANGE, "atomic compare-exchange") \
	X(BARRIER, "barrier")                          \
	X(P_BARRIER, "persist barrier")                \
	X(ACK, "acknowledgement")                      \
	X(USE, "use of a load")                        \
	X(WORK, "work")                                \
	X(RETURN, "return")

enum nvw__kind {
#define X(name, text) NVW__##name,
	NVW__KINDS(X)
#undef X
		NVW__KIND_COUNT
};

/* Work-items of a wavefront. */
enum { NVW__LANES = 64 };

/*
 * An operation of a work-item: its request to the machine, and the value that comes back. The machine has
 * each field of a wavefront's work-items in an array, so that it can look at many of them at once: a
 * work-item's fields are NVW__LANES words apart, with those of others between them. So a request is never
 * assigned as a whole.
 */
struct __attribute__((__may_alias__)) nvw__request {
	uint64_t address; /* the kernel's pointer */
	uint64_t nvw__others1[NVW__LANES - 1];
	uint64_t value; /* operand; result when the work-item resumes */
	uint64_t nvw__others2[NVW__LANES - 1];
	/* compare-exchange: the expected value; issued load: 1, then its completion time; add of a wavefront:
	 * 1, then whether this work-item was the one that added; atomic load or store that stands for a
	 * fence, which is no access: 1 */
	uint64_t compare;
	uint64_t nvw__others3[NVW__LANES - 1];
	const struct nvw_site *site;
	uint64_t nvw__others4[NVW__LANES - 1];
	uint64_t op; /* kind | log2(bytes) << 8 | order << 16 | scope << 24 */
};

extern struct nvw__request *nvw__self; /* of the running work-item */
void nvw__issue(void);                 /* passes nvw__self to the machine; returns at completion */
void nvw__issue_at(void);              /* the same for assembly, see nvw__issue_here() */

#define NVW__LOG2_SIZE(object) \
	(sizeof(object) == 8 ? 3u : sizeof(object) == 4 ? 2u : sizeof(object) == 2 ? 1u : 0u)
#define NVW__OP(kind, object, order, scope)                                              \
	((uint32_t)NVW__##kind | NVW__LOG2_SIZE(object) << 8 | (uint32_t)(order) << 16 | \
		(uint32_t)(scope) << 24)
#define NVW__OP_BARRIER   ((uint32_t)NVW__BARRIER)
#define NVW__OP_P_BARRIER ((uint32_t)NVW__P_BARRIER)
#define NVW__OP_ACK       ((uint32_t)NVW__ACK)
#define NVW__OP_USE       ((uint32_t)NVW__USE)
#define NVW__OP_WORK      ((uint32_t)NVW__WORK)

/* A file that defines NVW_NOT_COVERED before it includes this one, such as a file of seeded bugs, has sites
 * that nobody asks for when a run has not executed them. */
#ifdef NVW_NOT_COVERED
#define NVW__SITES "nvwave_sites_not_covered"
#else
#define NVW__SITES "nvwave_sites"
#endif
/* Declares the site of an access, which is about to be executed. */
#define NVW__SITE(name, what)                                                                               \
	static struct nvw_site name __attribute__((__used__, __aligned__(32), __section__(NVW__SITES))) = { \
		.file = __FILE__, .function = __func__, .line = __LINE__, .kind = NVW__##what};             \
	name.executed = 1

extern struct nvw_site __start_nvwave_sites[] __attribute__((__weak__, __visibility__("hidden")));
extern struct nvw_site __stop_nvwave_sites[] __attribute__((__weak__, __visibility__("hidden")));
void nvw__have_sites(struct nvw_site *begin, struct nvw_site *end) __attribute__((__weak__));

__attribute__((__constructor__)) static void nvw__tell_sites(void)
{
	if (nvw__have_sites) {
		nvw__have_sites(__start_nvwave_sites, __stop_nvwave_sites);
	}
}

/* The bytes of v, converted to the type of *p, as a number. */
#define NVW__RAW(p, v) nvw__bytes(&(__typeof__(*(p))){(v)}, sizeof(*(p)))

#define NVW__ATOMIC(kind, p, v, c, order, scope)                                                    \
	({                                                                                          \
		NVW__SITE(nvw__site, kind);                                                         \
		union {                                                                             \
			__typeof__(*(p)) nvw__v;                                                    \
			uint64_t nvw__raw;                                                          \
		} nvw__u = {.nvw__raw = nvw__op(&nvw__site, NVW__OP(kind, *(p), order, scope), (p), \
				    NVW__RAW(p, v), NVW__RAW(p, c))};                               \
		nvw__u.nvw__v;                                                                      \
	})

static inline uint64_t nvw__bytes(const void *object, size_t size)
{
	uint64_t raw = 0;

	__builtin_memcpy(&raw, object, size <= 8 ? size : 8);
	return raw;
}

/*
 * nvw__issue(), without touching the work-item's stack: thousands of them are cold. The jump leaves where to
 * go on in rcx, and changes what a call may change. It goes through the table of addresses, since a
 * procedure's stub would use the stack when it is bound.
 */
static inline __attribute__((__always_inline__)) void nvw__issue_here(void)
{
#ifdef __x86_64__
	__asm__ volatile("leaq 1f(%%rip), %%rcx\n\tjmpq *nvw__issue_at@GOTPCREL(%%rip)\n1:"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
			 "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			 "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
			 "st(5)", "st(6)", "st(7)", "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7",
#ifdef __AVX512F__
			 "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
			 "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3",
			 "k4", "k5", "k6", "k7",
#endif
			 "cc", "memory");
#else
	nvw__issue();
#endif
}

static inline uint64_t nvw__op(const struct nvw_site *site, uint32_t op, const volatile void *address,
	uint64_t value, uint64_t compare)
{
	struct nvw__request *r = nvw__self;

	r->address = (uint64_t)(uintptr_t)address;
	r->value = value;
	r->compare = compare;
	r->site = site;
	r->op = op;
	nvw__issue_here();
	return r->value;
}

static inline struct nvw_issued nvw__issued(
	const struct nvw_site *site, uint32_t op, const volatile void *address)
{
	const struct nvw__request *const r = nvw__self;
	const uint64_t value = nvw__op(site, op, address, 0, 1);

	return (struct nvw_issued){value, r->compare};
}

#endif
