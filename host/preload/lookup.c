/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions behind the interposed ones, and the results of dlsym() for the program. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/each.h"
#include "preload.h"

/* Libraries whose functions are interposed, by prefix, where they are not behind this one. */
static struct library {
	const char *prefix, *name;
	void *handle;
} libraries[] = {{"pmem_", "libpmem.so.1", NULL}, {"pmem2_", "libpmem2.so.1", NULL},
	{"pmemobj_", "libpmemobj.so.1", NULL}};

/* libpmem is loaded if need be: a program of libpmem2 has its functions from here (libpmem2.c). */
static void *library_function(struct library *of, const char *name)
{
	NVW_INVARIANT(of >= libraries && of < libraries + NVW_COUNT(libraries));
	if (of->handle == NULL) {
		of->handle = dlopen(of->name, of == libraries ? RTLD_NOW : RTLD_NOW | RTLD_NOLOAD);
	}
	if (of->handle == NULL) {
		return NULL;
	}
	return host_dlsym(of->handle, name);
}

void *host_real(const char *name)
{
	host_own_function(NULL, NULL);
	void *f = host_dlsym(RTLD_NEXT, name);

	for (unsigned i = 0; i < NVW_COUNT(libraries) && f == NULL; i++) {
		if (strncmp(name, libraries[i].prefix, strlen(libraries[i].prefix)) == 0) {
			f = library_function(&libraries[i], name);
		}
	}
	if (f == NULL) {
		dprintf(STDERR_FILENO, "nvwave exec: there is no function %s behind the interposed one\n",
			name);
		abort();
	}
	return f;
}

struct link_map *host_object_of(const void *code)
{
	struct link_map *map = NULL;
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* the C library has it: no lock */
	struct dl_find_object found;

	if (_dl_find_object((void *)code, &found) == 0) {
		map = found.dlfo_link_map;
	}
#else
	Dl_info info;

	if (dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) {
		map = NULL;
	}
#endif
	return map;
}

void *(*host_dlsym)(void *handle, const char *name);

/*
 * The result of dlsym() for a name: for a function of a libpmem loaded by dlopen(), the interposed one. NULL:
 * the real result.
 */
__attribute__((used, visibility("hidden"))) void *host_own_function(void *handle, const char *name)
{
	static void *self;

	if (host_dlsym == NULL) {
		*(void **)&host_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (host_dlsym == NULL) {
			*(void **)&host_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		}
		if (host_dlsym == NULL) {
			*(void **)&host_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
		}
	}
	if (host_control == NULL || name == NULL || strncmp(name, "pmem_", 5) != 0 || handle == RTLD_NEXT) {
		return NULL;
	}
	if (self == NULL) {
		Dl_info info;

		if (dladdr((void *)&host_dlsym, &info)) {
			self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
		}
	}
	void *const real = handle == RTLD_DEFAULT ? NULL : host_dlsym(handle, name);
	void *const own = self ? host_dlsym(self, name) : NULL;
	Dl_info where;

	if (real != NULL && own != NULL && real != own && dladdr(real, &where)) {
		libraries[0].handle = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	}
	return real == NULL && handle != RTLD_DEFAULT ? NULL : own;
}

/* Jumps, so that the real dlsym() sees the program's return address: RTLD_NEXT depends on it. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	sub $8, %rsp\n"
	"	call host_own_function\n"
	"	add $8, %rsp\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	test %rax, %rax\n"
	"	jne 1f\n"
	"	mov host_dlsym@GOTPCREL(%rip), %rax\n"
	"	jmp *(%rax)\n"
	"1:	ret\n"
	".size dlsym, . - dlsym\n"
	".popsection\n");
#endif
