/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the dynamic linker can preload a library into a program. */
#ifndef HOST_PROGRAM_H
#define HOST_PROGRAM_H

#include <stddef.h>

enum host_program {
	HOST_PROGRAM_FITS,    /* dynamically linked; or a script with such an interpreter */
	HOST_PROGRAM_MISSING, /* errno gives the reason */
	HOST_PROGRAM_STATIC,
	HOST_PROGRAM_SET_ID,  /* set-user-id, set-group-id, or with capabilities: LD_PRELOAD is ignored */
	HOST_PROGRAM_FOREIGN, /* for another machine */
};

/* Looks up a name without a slash in PATH, like exec; ret_path may be NULL. */
enum host_program host_program_look(const char *name, char *ret_path, size_t n);

#endif
