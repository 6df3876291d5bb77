/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the dynamic linker can put a library in front of a program's others. */
#ifndef HOST_PROGRAM_H
#define HOST_PROGRAM_H

#include <stddef.h>

enum host_program {
	HOST_PROGRAM_FITS,    /* dynamic; or a script, of which the interpreter counts */
	HOST_PROGRAM_MISSING, /* errno says why */
	HOST_PROGRAM_STATIC,
	HOST_PROGRAM_SET_ID, /* set-user-id, set-group-id, or with capabilities: the linker ignores LD_PRELOAD */
	HOST_PROGRAM_FOREIGN, /* for another machine */
};

/* Looks a name without a slash up in PATH, as exec does; ret_path may be NULL. */
enum host_program host_program_look(const char *name, char *ret_path, size_t n);

#endif
