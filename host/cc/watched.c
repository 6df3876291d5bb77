/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked by the linker stage (ld.in) into executables and shared objects of which nvwave-cc has built every
 * object file. */
#include <stdbool.h>

extern const volatile bool __nvwave_cc_watched;
const volatile bool __nvwave_cc_watched = true;
