/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DD+RO: DD with selective invalidation of read-only regions (sinclair15 3, 4.2 and 5.3).
 *
 *	(1) As DD; in addition, data loaded as read-only (nvw_load_read_only) stays in the L1 across acquires.
 *	(2) Read-only is a property of a kernel: it ends at the next kernel's beginning, because the host
 *	    may have written in between.
 */
#include "denovo.h"

const struct coh_protocol coh_dd_ro = {
	.name = "dd+ro",
	.citation = "sinclair15 3, 4",
	.summary = "dd, and acquires leave read-only data alone",
	.scopes = EMU_SCOPES_WIDENED,
	DENOVO_PROTOCOL,
	.rows = coh_denovo_rows,
	.registration = &coh_registers_bytes,
	.keeps_read_only = true,
	.kernel_begin = {forget_read_only, invalidate_unregistered},
};
