/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The annotations of pmemcheck, for programs that nvwave-cc builds: it takes the place of valgrind's header
 * of this name, and the macros have their meaning under nvwave (docs/host-transactions.md). Without nvwave
 * each is a load and a branch. Nothing is linked. For C and C++, gcc and clang.
 *
 * Known to nvwave are the mappings of files, and it records every store, so that registering and logging are
 * nothing. The numbers of transactions are not looked at: each thread has its own.
 */
#ifndef NVW_PMEMCHECK_H
#define NVW_PMEMCHECK_H

enum {
	NVW_PMC_FLUSH = 1,
	NVW_PMC_FENCE,
	NVW_PMC_CLEAN,
	NVW_PMC_START_TX,
	NVW_PMC_END_TX,
	NVW_PMC_ADD_TO_TX,
	NVW_PMC_REMOVE_FROM_TX,
	NVW_PMC_IGNORE
};

/* ---- What is flushed, and in order ------------------------------------------------------------ */

#define VALGRIND_PMC_DO_FLUSH(addr, len)  nvw_pmc_(NVW_PMC_FLUSH, addr, len)
#define VALGRIND_PMC_DO_FENCE             nvw_pmc_(NVW_PMC_FENCE, 0, 0)
#define VALGRIND_PMC_SET_CLEAN(addr, len) nvw_pmc_(NVW_PMC_CLEAN, addr, len)

/* ---- Transactions of the program's own -------------------------------------------------------- */

#define VALGRIND_PMC_START_TX                    nvw_pmc_(NVW_PMC_START_TX, 0, 0)
#define VALGRIND_PMC_START_TX_N(txn)             ((void)(txn), nvw_pmc_(NVW_PMC_START_TX, 0, 0))
#define VALGRIND_PMC_END_TX                      nvw_pmc_(NVW_PMC_END_TX, 0, 0)
#define VALGRIND_PMC_END_TX_N(txn)               ((void)(txn), nvw_pmc_(NVW_PMC_END_TX, 0, 0))
#define VALGRIND_PMC_ADD_TO_TX(addr, len)        nvw_pmc_(NVW_PMC_ADD_TO_TX, addr, len)
#define VALGRIND_PMC_ADD_TO_TX_N(txn, addr, len) ((void)(txn), nvw_pmc_(NVW_PMC_ADD_TO_TX, addr, len))
#define VALGRIND_PMC_REMOVE_FROM_TX(addr, len)   nvw_pmc_(NVW_PMC_REMOVE_FROM_TX, addr, len)
#define VALGRIND_PMC_REMOVE_FROM_TX_N(txn, addr, len) \
	((void)(txn), nvw_pmc_(NVW_PMC_REMOVE_FROM_TX, addr, len))
#define VALGRIND_PMC_ADD_TO_GLOBAL_TX_IGNORE(addr, len) nvw_pmc_(NVW_PMC_IGNORE, addr, len)
#define VALGRIND_PMC_ADD_THREAD_TX_N(txn)               nvw_pmc_nothing_(txn)
#define VALGRIND_PMC_REMOVE_THREAD_TX_N(txn)            nvw_pmc_nothing_(txn)

/* ---- What nvwave knows by itself --------------------------------------------------------------- */

#define VALGRIND_PMC_REGISTER_PMEM_MAPPING(addr, len)       nvw_pmc_nothing_((addr), (len))
#define VALGRIND_PMC_REGISTER_PMEM_FILE(fd, addr, len, off) nvw_pmc_nothing_((fd), (addr), (len), (off))
#define VALGRIND_PMC_REMOVE_PMEM_MAPPING(addr, len)         nvw_pmc_nothing_((addr), (len))
#define VALGRIND_PMC_CHECK_IS_PMEM_MAPPING(addr, len)       nvw_pmc_nothing_((addr), (len))
#define VALGRIND_PMC_PRINT_PMEM_MAPPINGS                    nvw_pmc_nothing_(0)
#define VALGRIND_PMC_WRITE_STATS                            nvw_pmc_nothing_(0)
#define VALGRIND_PMC_LOG_STORES                             nvw_pmc_nothing_(0)
#define VALGRIND_PMC_NO_LOG_STORES                          nvw_pmc_nothing_(0)
#define VALGRIND_PMC_ADD_LOG_REGION(addr, len)              nvw_pmc_nothing_((addr), (len))
#define VALGRIND_PMC_REMOVE_LOG_REGION(addr, len)           nvw_pmc_nothing_((addr), (len))
#define VALGRIND_PMC_EMIT_LOG(text)                         nvw_pmc_nothing_(text)

/* ---- Implementation ---------------------------------------------------------------------------- */

typedef unsigned nvw_pmc_hook_(int what, unsigned long long n, const volatile void *at);

#ifdef __cplusplus
extern "C" {
#endif
extern void *nvw_pmc_look_up_(void *handle, const char *name) __asm__("__nvwave_cc_look_up")
	__attribute__((weak));
#ifdef __cplusplus
}
#endif

/* The function of the preloaded library; looked up once per source file. */
static inline nvw_pmc_hook_ *nvw_pmc_find_(void)
{
	static nvw_pmc_hook_ *hook;
	static int looked;

	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
		union {
			void *object;
			nvw_pmc_hook_ *function;
		} found;

		found.object =
			nvw_pmc_look_up_ ? nvw_pmc_look_up_((void *)0, "nvwave_pmemcheck_1") : (void *)0;
		__atomic_store_n(&hook, found.function, __ATOMIC_RELAXED);
		__atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&hook, __ATOMIC_RELAXED);
}

/* Nobody calls it: its arguments count as used. */
static inline int nvw_pmc_unused_(int first, ...)
{
	return first;
}

/* A macro, so that the call has the program's own line. */
#define nvw_pmc_(what, addr, len)                                                     \
	__extension__({                                                               \
		nvw_pmc_hook_ *const nvw_pmc_to_ = nvw_pmc_find_();                   \
		nvw_pmc_to_ ? nvw_pmc_to_((what), (unsigned long long)(len),          \
				      (const volatile void *)(unsigned long)(addr)) : \
			      0u;                                                     \
	})

#define nvw_pmc_nothing_(...)                                  \
	__extension__({                                        \
		(void)sizeof(nvw_pmc_unused_(0, __VA_ARGS__)); \
		0u;                                            \
	})

#endif
