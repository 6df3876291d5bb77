/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of what an instruction stores to, from the source and the debug information of its program. */
#ifndef LIB_SOURCE_FIELD_H
#define LIB_SOURCE_FIELD_H

#include <stdbool.h>

#include <elfutils/libdwfl.h>

#include "layout.h"

/*
 * For the address of a store, or of the call of a function that copies, see nvw__place_of(). False: nothing
 * is known: the source is not there or younger than the program, or a name or a type in it has no one
 * meaning.
 *
 * *library goes in as true if a library's code that this address has called stores, and comes out as true if
 * the address is in a library's function: then its caller's address is the one to ask for.
 */
bool nvw__layout_of(
	Dwfl_Module *module, Dwarf_Addr address, bool *library, char ret_layout[NVW__LAYOUT_BYTES]);

#endif
