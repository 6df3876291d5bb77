/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements of a program on persistent memory, for nvwave exec --record and nvwave crash --exec: the
 * beginning of an operation, and the point from which it is durable. A crash test then knows the obligations
 * of a state, passes them to the checker, and names the operations.
 *
 *	#include <nvw/ack.h>
 *
 *	nvw_operation_begins(17, "delete 42");
 *	tree_delete(tree, 42);                    // its last fence has completed
 *	nvw_operation_is_durable(17);
 *
 * For C and C++, gcc and clang. Nothing is linked, and without nvwave both do nothing: a load and a branch.
 * Both the preloaded library and code built by nvwave-cc record them.
 *
 * Call nvw_operation_begins() before the first store of the operation, and nvw_operation_is_durable() when a
 * crash must no longer lose it. Both may be called by any thread, but not by a signal handler. Between the
 * two calls, stores of the thread belong to the operation (--oracle=replay). A thread has one operation at a
 * time: the next begin ends the membership, but does not acknowledge. An acknowledgement without a begin is
 * fine; then the operation has no name.
 */
#ifndef NVW_ACK_H
#define NVW_ACK_H

/* Numbers are below 2^30, each for one operation. The name is copied; only its first 95 characters are used,
 * and characters other than printable ASCII become '?'. NULL: no name. */
#define nvw_operation_begins(number, name)                              \
	do {                                                            \
		nvw_ack_hook_ *const nvw_ack_to_ = nvw_ack_find_();     \
		if (nvw_ack_to_) {                                      \
			nvw_ack_to_(NVW_ACK_BEGINS_, (number), (name)); \
		}                                                       \
	} while (0)

#define nvw_operation_is_durable(number)                               \
	do {                                                           \
		nvw_ack_hook_ *const nvw_ack_to_ = nvw_ack_find_();    \
		if (nvw_ack_to_) {                                     \
			nvw_ack_to_(NVW_ACK_IS_DURABLE_, (number), 0); \
		}                                                      \
	} while (0)

/* ---- Implementation -------------------------------------------------------------------------- */

enum { NVW_ACK_BEGINS_ = 1, NVW_ACK_IS_DURABLE_ = 2 };

typedef void nvw_ack_hook_(int what, unsigned long long number, const char *name);

#ifdef __cplusplus
extern "C" {
#endif
/* A program without the C library, or linked statically, does not have it. nvwave-cc has one of its own:
 * whoever calls dlsym() may call whatever that finds, and store what nobody announces. */
#ifdef __NVWAVE_CC__
#define NVW_ACK_LOOK_UP_ "__nvwave_cc_look_up"
#else
#define NVW_ACK_LOOK_UP_ "dlsym"
#endif
extern void *nvw_ack_look_up_(void *handle, const char *name) __asm__(NVW_ACK_LOOK_UP_) __attribute__((weak));
#ifdef __cplusplus
}
#endif

/* The function of the preloaded library; looked up once per source file. */
static inline nvw_ack_hook_ *nvw_ack_find_(void)
{
	static nvw_ack_hook_ *hook;
	static int looked;

	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
		union {
			void *object;
			nvw_ack_hook_ *function;
		} found;

		found.object =
			nvw_ack_look_up_ ? nvw_ack_look_up_((void *)0, "nvwave_operation_1") : (void *)0;
		__atomic_store_n(&hook, found.function, __ATOMIC_RELAXED);
		__atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&hook, __ATOMIC_RELAXED);
}

#endif
