/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the store of a program goes to, in its own names: a layout has the object that one instruction or copy
 * stores to and what lies in it; the parts of the store are looked up in it.
 *
 * A layout is text, so that a persist log can carry it. Its first line is the object, each further one a
 * part:
 *
 *	kind \t name \t type \t structure \t offset in that \t bytes
 *	suffix of the name \t type \t offset in the object \t bytes \t bytes of an element, 0: it is no array
 *
 * Kinds are the letters of enum nvw__layout_kind.
 */
#ifndef LIB_SOURCE_LAYOUT_H
#define LIB_SOURCE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvw__layout_kind {
	NVW__LAYOUT_OBJECT = 'o', /* the object is stored to: all of it, or an unknown part of a structure */
	NVW__LAYOUT_BITS = 'b',   /* the store is of the bytes that hold a bit-field */
	NVW__LAYOUT_COPY = 'c',   /* the store begins where the object does */
	NVW__LAYOUT_POINTED = 'p' /* likewise, where a pointer of that name leads to; others may follow */
};

enum { NVW__LAYOUT_BYTES = 4000 };

struct nvw__field {
	char name[192]; /* "node->slots[3].value"; "": unknown. Several, if a word has several */
	char type[96];
	char of[96]; /* the structure that offset counts from: "struct node"; "": not known */
	uint64_t offset, bytes;
	bool part; /* the store is of a part of the field */
	/* The name of all that the instruction or the copy stores to, and its size, if that is more. */
	char whole[192];
	uint64_t whole_bytes;
};

/* The field of bytes at an offset in a store of total bytes. False: it is not known. */
bool nvw__layout_find(
	const char *layout, uint64_t at, uint64_t bytes, uint64_t total, struct nvw__field *ret_field);

#endif
