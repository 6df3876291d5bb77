/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of C++ functions as their programmers write them. */
#ifndef LIB_SOURCE_DEMANGLE_H
#define LIB_SOURCE_DEMANGLE_H

#include <stddef.h>

/*
 * Writes the name of a symbol, without parameters: "tree::insert" for _ZN4tree6insertEi. Other symbols, and
 * all where there is no C++ library, stay as they are.
 */
void nvw__demangle(const char *symbol, size_t length, char *ret_name, size_t n);

#endif
