/* SPDX-License-Identifier: BSD-3-Clause */
/* What the libraries that interpose locks have in common. */
#ifndef HOST_PRELOAD_REAL_H
#define HOST_PRELOAD_REAL_H

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The next function of that name; of conditions, of which the C library has two versions, the newer. The
 * other libraries have no versions. A search that fails allocates, and an allocator may take a lock:
 * nothing else is searched for by its version. */
static inline void *newer_of(const char *name, void *next)
{
	Dl_info of_next, of_newer;
	void *const newer =
		strncmp(name, "pthread_cond", 12) == 0 ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;

	if (newer == NULL || !dladdr(next, &of_next) || !dladdr(newer, &of_newer)) {
		return next;
	}
	return of_next.dli_fbase == of_newer.dli_fbase ? newer : next;
}

static inline bool is_taken(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

#endif
