/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariants of this program, in two levels. A violated condition is a bug in nvwave, never bad input: the
 * process prints the place and ends by SIGABRT.
 *
 *	NVW_INVARIANT(condition)       checked in every build; costs a few instructions; not for the
 *	                               engine's hot path
 *	NVW_DEEP_INVARIANT(condition)  checked with buildtype=debug; it may walk a whole structure
 *
 * Neither condition may have side effects.
 */
#ifndef CORE_INVARIANT_H
#define CORE_INVARIANT_H

__attribute__((noreturn, cold)) void nvw__broken(
	const char *condition, const char *file, int line, const char *function);

#define NVW_INVARIANT(condition) \
	(__builtin_expect(!!(condition), 1) ? (void)0 : nvw__broken(#condition, __FILE__, __LINE__, __func__))

#ifdef NVW_DEEP_INVARIANTS
#define NVW_DEEP_INVARIANT(condition) NVW_INVARIANT(condition)
#else
#define NVW_DEEP_INVARIANT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
