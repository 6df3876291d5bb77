/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hLRC-scoped: hLRC, with scopes as hints on the better place for an atomic (alsop16 V.C).
 *
 *	(1) Work-group scope is as hLRC. A wrong hint costs time, not correctness.
 *	(2) Agent and system scope: the atomic is performed at the L2, which first revokes its registration
 *	    by an L1; that L1 is flushed. A release first flushes the local L1, an acquire then invalidates
 *	    it.
 */
#include "lazy.h"

/* clang-format off */
static const struct coh_row rows[] = {
	LAZY_DATA,
	LAZY_SYNCHRONIZATION(NEAR),
	GPU_GLOBAL(FAR),
	{0, 0, 0, {NULL}},
};
/* clang-format on */

const struct coh_protocol coh_hlrc_scoped = {
	.name = "hlrc-scoped",
	.citation = "alsop16 V.C",
	.summary = "hlrc, but atomics of agent scope are performed at the L2",
	.scopes = EMU_SCOPES_WIDENED,
	LAZY_PROTOCOL,
};
