/* SPDX-License-Identifier: BSD-3-Clause */
/* hLRC: heterogeneous lazy release consistency (alsop16 III). Every instruction synchronizes all CUs,
 * whatever its scope. */
#include "lazy.h"

static const struct coh_row rows[] = {
	LAZY_DATA,
	LAZY_SYNCHRONIZATION(ALL),
	{0, 0, 0, {NULL}},
};

const struct coh_protocol coh_hlrc = {
	.name = "hlrc",
	.citation = "alsop16 III, Table 3",
	.summary = "lazy release consistency: atomics are registered, flushes and invalidations follow their "
		   "way, no scopes",
	.scopes = EMU_SCOPES_WIDENED,
	LAZY_PROTOCOL,
};
