/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines of machine code, from the debug information that its compiler left: gcc's and clang's. */
#ifndef LIB_SOURCE_PLACE_H
#define LIB_SOURCE_PLACE_H

#include <elfutils/libdwfl.h>

/* The texts are the module's, and last as long. */
struct nvw__place {
	/* as seen from the top of the tree that was built; NULL: no debug information has it */
	const char *file;
	int line;
	const char *function; /* NULL: no symbol has it */
	int function_length;  /* without what a compiler adds: check.lto_priv.0 */
};

/* Where an address of a module was compiled from. A return address is that of the next instruction: ask for one less. */
struct nvw__place nvw__place_of(Dwfl_Module *module, Dwarf_Addr address);

#endif
