/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes and fences by instructions, for programs that nvwave-cc builds. */
#ifndef BENCH_FLUSH_H
#define BENCH_FLUSH_H

#include <cpuid.h>
#include <stdbool.h>

static inline bool processor_writes_back(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 24 & 1);
}

static bool writes_back; /* the processor has clwb; set at the beginning */

static inline void flush(const volatile void *at)
{
	if (writes_back) {
		__asm__ volatile("clwb %0" ::"m"(*(const volatile char *)at) : "memory");
	} else {
		__asm__ volatile("clflush %0" ::"m"(*(const volatile char *)at) : "memory");
	}
}

static inline void fence(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

#endif
