/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and variables of a program, in the debug information that its compiler left. */
#ifndef LIB_SOURCE_TYPES_H
#define LIB_SOURCE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

/* Where names are looked up: a function's code, with the function that it was inlined as. */
struct nvw__scope {
	Dwfl_Module *module;
	Dwarf_Die unit, function;
};

/* A loop over the children of an entry; *child is each of them in turn. */
#define NVW__EACH_CHILD(child, of)                                     \
	for (int child_end_ = dwarf_child(of, child); child_end_ == 0; \
		child_end_ = dwarf_siblingof(child, child))

/* The type of what has one; false: it has none, as a function that returns nothing. */
bool nvw__type_of(Dwarf_Die *die, Dwarf_Die *ret_type);

/* The type behind its names, qualifiers and references, with its members, wherever it is defined. */
bool nvw__type_peeled(const struct nvw__scope *scope, const Dwarf_Die *type, Dwarf_Die *ret_type);

/* Bytes; 0: unknown. */
uint64_t nvw__type_bytes(Dwarf_Die *type);

/* As a program of the unit's language spells it: "struct node *". */
void nvw__type_name(Dwarf_Die *type, char *ret_name, size_t n);

/* The type with these words, as in a cast: "const struct node *". False: there is none, or there are
 * several. */
bool nvw__type_find(
	const struct nvw__scope *scope, const char *words, unsigned *ret_stars, Dwarf_Die *ret_type);

struct nvw__member {
	Dwarf_Die type;
	uint64_t offset;    /* of its first byte in the structure */
	bool bits;          /* it is a bit-field */
	uint64_t bit_bytes; /* then: those that it lies in; 0: unknown */
};

/* A member of a structure (peeled), of its bases and of its parts without a name. */
bool nvw__member_find(const struct nvw__scope *scope, Dwarf_Die *structure, const char *name,
	struct nvw__member *ret_member);
/* What a child of a structure is as its member. False: its place is not known before the program runs. */
bool nvw__member_of(Dwarf_Die *child, struct nvw__member *ret_member);

/*
 * The type of a variable or an argument of that name, else of a member of "this", else of a variable outside
 * of functions. False: there is none, or several of the name have other types. *ret_member: it is a member.
 */
bool nvw__variable_find(const struct nvw__scope *scope, const char *name, Dwarf_Die *ret_type,
	struct nvw__member *ret_member, Dwarf_Die *ret_this);

/* The type that the functions of that name return. False likewise. */
bool nvw__function_find(const struct nvw__scope *scope, const char *name, Dwarf_Die *ret_type);

/* The type of an array's elements, how many of them there are, and whether they are arrays again. */
bool nvw__elements_of(Dwarf_Die *array, Dwarf_Die *ret_type, uint64_t *ret_count, bool *ret_nested);

#endif
