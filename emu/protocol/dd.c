/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DD: DeNovo under data-race-free consistency, without regions (sinclair15 3 and 5.3, DeNovo-D).
 *
 *	(1) As denovo.h; the grain is the byte, so words that are stored are words that are registered.
 *	(2) There are no scopes: whatever scope an instruction names, it synchronizes all CUs.
 *
 * Deviation: the CPU core of the paper is the host here, which looks where the registry says.
 */
#include "denovo.h"

const struct coh_protocol coh_dd = {
	.name = "dd",
	.citation = "sinclair15 3, 4",
	.summary = "DeNovo by words, DRF: ownership of written data and of synchronization, no scopes",
	.scopes = EMU_SCOPES_WIDENED,
	DENOVO_PROTOCOL,
	.rows = coh_denovo_rows,
	.registration = &coh_registers_bytes,
	.kernel_begin = {invalidate_unregistered},
};
