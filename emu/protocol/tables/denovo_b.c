/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DeNovo-B: DeNovo that registers whole lines and has no regions (alsop16 II.E, IV.B).
 *
 *	(1) As denovo.h, with a line as the grain: a store registers its line, and gets the rest of its bytes.
 *	(2) False sharing moves lines back and forth; it loses no store.
 */
#include "denovo.h"

const struct coh_protocol coh_denovo_b = {
	.name = "denovo-b",
	.citation = "alsop16 II.E, IV.B, Table 3",
	.summary = "DeNovo by lines: ownership of written lines and of atomics, no scopes",
	.scopes = EMU_SCOPES_WIDENED,
	DENOVO_PROTOCOL,
	.rows = coh_denovo_rows,
	.registration = &coh_registers_lines,
	.kernel_begin = {invalidate_unregistered},
};
