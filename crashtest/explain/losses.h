/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a crash state has lost: the units in which it differs from a state that lost nothing, each with the
 * store from which on it lacks them.
 */
#ifndef CRASHTEST_LOSSES_H
#define CRASHTEST_LOSSES_H

#include "prefix.h"

/*
 * image: the bytes of the state after the prefix's events up to here; filled: their map (core/filled.h);
 * unit_bytes: 8 or 64. ret_losses->loss
 * is to be freed, also after an error. *ret_known: whether the log explains all bytes of the state. It fails
 * only without memory.
 */
NVW_CHECKED int ct_losses_find(struct ct_prefix *prefix, const uint8_t *image, const uint8_t *filled,
	unsigned unit_bytes, struct ct_losses *ret_losses, bool *ret_known);

#endif
