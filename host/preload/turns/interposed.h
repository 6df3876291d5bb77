/* SPDX-License-Identifier: BSD-3-Clause */
/* The library of operations that are interposed where threads take turns: schedule.c, descriptors.c. */
#ifndef HOST_PRELOAD_INTERPOSED_H
#define HOST_PRELOAD_INTERPOSED_H

#include "controlled.h"
#include "core/invariant.h"

#define EXPORT    __attribute__((visibility("default")))
#define PLACE     __builtin_return_address(0)
#define SECOND_NS UINT64_C(1000000000)

/* The C library's; of conditions' functions, of which it has two versions, the newer. */
void *schedule_real(const char *name);
#define REAL(name)                                              \
	({                                                      \
		static __typeof__(&name) real;                  \
		if (real == NULL) {                             \
			*(void **)&real = schedule_real(#name); \
		}                                               \
		real;                                           \
	})

/* False: this sleep is the computer's. */
bool schedule_sleep(uint64_t ns);

#endif
