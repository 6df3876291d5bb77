/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DH: DeNovo under HRF-Indirect consistency (sinclair15 3 and 5.3, DeNovo-H).
 *
 *	(1) Synchronization of work-group scope is performed in the L1 directly: it registers, invalidates and
 *	    flushes nothing; like data, its stores are registered by the next global release of its CU.
 *	(2) Synchronization of agent and of system scope is as under DD.
 *	(3) HRF-Indirect: a global release registers all stores of its CU, including those that its
 *	    work-group has only learned of.
 */
#include "denovo.h"

/* clang-format off */
static const struct coh_row rows[] = {
	DENOVO_DATA,
	{ON(ATOMIC_LOAD),  ANY_ORDER, NEAR, {ld_l1}},
	{ON(ATOMIC_STORE), ANY_ORDER, NEAR, {st_l1}},
	{ON(RMW),          ANY_ORDER, NEAR, {rmw_l1}},
	DENOVO_SYNCHRONIZATION(FAR),
	{0, 0, 0, {NULL}},
};
/* clang-format on */

const struct coh_protocol coh_dh = {
	.name = "dh",
	.citation = "sinclair15 3, 4",
	.summary = "DeNovo by words, HRF-Indirect: as dd, but synchronization of work-group scope stays in "
		   "the L1",
	.scopes = EMU_SCOPES_KEPT,
	.local_scope = COH_LOCAL_CU,
	DENOVO_PROTOCOL,
	.rows = rows,
	.registration = &coh_registers_bytes,
	.kernel_begin = {invalidate_unregistered},
};
