/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines of machine code, from the debug information that its compiler left: gcc's and clang's. */
#ifndef LIB_SOURCE_PLACE_H
#define LIB_SOURCE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

/* The strings belong to the module and live as long as it. */
struct nvw__place {
	/* relative to the top of the source tree; NULL: not in the debug information */
	const char *file;
	int line, column; /* column 0: unknown */
	bool library;     /* in a header of the system, of a compiler, or of nvwave-nvcc */
	bool is_copy; /* in a compiler's copy of a function, which is not named: a kernel without stacks */
	/* Without parameters, and without a compiler's suffix, as in check.lto_priv.0. Inlined code has both:
	 * "find, inlined in get", with the function that the line is in first. "": not in the symbol
	 * tables. */
	char function[192];
	/* The function that the line is in, as it stands here, and its compilation unit; without an address:
	 * unknown. */
	Dwarf_Die scope, unit;
};

/* The source line of an address of a module; for inlined library code, the line of the program that calls it.
 * For a return address, which is that of the next instruction, pass the address minus one. */
struct nvw__place nvw__place_of(Dwfl_Module *module, Dwarf_Addr address);

/* The places of an address, those of inlined calls included: the innermost function first, each with its own
 * name. Those in libraries are left out, unless there is no other: then the innermost is the one place.
 * Returns their number, at most capacity; 0 without debug information. */
unsigned nvw__places_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_places, unsigned capacity);

/* The innermost place that is the program's own. *ret_through_library: the address itself is in inlined code
 * of a library. False: without debug information, or all of the code there is a library's. */
bool nvw__own_place_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_place, bool *ret_through_library);

/* The functions of a module, found once, for many addresses: to be freed, before the module is closed. */
struct nvw__functions {
	struct nvw__function *at;
	uint64_t count, room;
	Dwarf_Addr bias;
};

/* False: no memory. */
bool nvw__find_functions(Dwfl_Module *module, struct nvw__functions *ret_functions);
void nvw__functions_free(struct nvw__functions *functions);

/* As nvw__own_place_of(). */
bool nvw__own_place_in(const struct nvw__functions *functions, Dwarf_Addr address,
	struct nvw__place *ret_place, bool *ret_through_library);

#endif
