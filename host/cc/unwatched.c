/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked by the linker stage (ld.in) into an object file that is made of others, not all of them by
 * nvwave-cc. */
#include "hooks.h"

__attribute__((used, section(".nvwave_cc"))) static const char unwatched[] = NVWAVE_CC_UNWATCHED;
