/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of expressions: what the text of an object is, by the types of what is named in it. */
#ifndef LIB_SOURCE_EXPRESSION_H
#define LIB_SOURCE_EXPRESSION_H

#include "types.h"

struct nvw__value {
	Dwarf_Die type;
	bool nested;  /* of an array in an array: type is the elements' */
	bool address; /* it is "&x", and all here is of x */
	bool untyped; /* a cast has taken the type of what it points to */
	bool bits;    /* a bit-field */
	bool has_of;  /* it lies at a known offset in a structure of the type "of" */
	Dwarf_Die of;
	uint64_t offset;
};

/* The text is one that nvw__access_at() has returned. False: a type is not known, or may be another. */
bool nvw__expression_type(const struct nvw__scope *scope, const char *text, struct nvw__value *ret_value);

#endif
