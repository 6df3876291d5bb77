/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DD: DeNovo under data-race-free consistency, without regions (sinclair15 3 and 5.3, DeNovo-D).
 *
 *	(1) As denovo.h; the grain is the byte, so exactly the stored words are registered.
 *	(2) There are no scopes: every instruction synchronizes all CUs, whatever its scope.
 *
 * Deviation: the paper's CPU core is the host here, which reads the place given by the registry.
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
