/* SPDX-License-Identifier: BSD-3-Clause */
/* Verified cures as a unified diff of the sources, as far as they are lines to insert. */
#ifndef CLI_PATCH_H
#define CLI_PATCH_H

#include <crashtest/crash.h>

/*
 * Writes the cures that are verified to path, for patch -p1 in the folder of the sources: persist barriers and, in host
 * programs, fences (pmem_drain). Says on stderr for which findings there is none, and why; without any, path is not
 * written. NVW_E_FULL or NVW_E_SYSTEM if path cannot be written.
 */
NVW_CHECKED int cli_patch_write(const struct ct_result *result, const char *path);

#endif
