/* SPDX-License-Identifier: BSD-3-Clause */
/* Printing into an array of characters. */
#ifndef CORE_PRINT_H
#define CORE_PRINT_H

#include <stdio.h>

/* As much of the text as there is room for, and a 0; returns how long the whole text is. The array is no
 * pointer. */
#define NVW_PRINT(array, ...) snprintf((array), sizeof(array), __VA_ARGS__)

#endif
