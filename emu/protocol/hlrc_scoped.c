/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hLRC-scoped: hLRC, with scopes as advice on where an atomic is better performed (alsop16 V.C).
 *
 *	(1) Work-group scope is as hLRC. Wrong advice costs time, not correctness.
 *	(2) Agent and system scope: the atomic is performed at the L2, its registration taken from the L1 that has it, which is
 *	    flushed; a release flushes the local L1 before, an acquire invalidates it after.
 */
#include "lazy.h"

/* clang-format off */
static const struct coh_row rows[] = {
	LAZY_DATA,
	LAZY_SYNCHRONIZATION(NEAR),
	{ON(ATOMIC_LOAD),	ORDER(RELAXED) | ORDER(RELEASE),	FAR | LOCAL | AT_L2,	{ld_l2}},
	{ON(ATOMIC_LOAD),	ORDER(RELAXED) | ORDER(RELEASE),	FAR | AT_REMOTE,	{flush_remote_l1, return_to_l2, ld_l2}},
	{ON(ATOMIC_LOAD),	ORDER(ACQUIRE),				FAR | LOCAL | AT_L2,	{ld_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),	ORDER(ACQUIRE),				FAR | AT_REMOTE,	{flush_remote_l1, return_to_l2, ld_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				FAR | LOCAL | AT_L2,	{flush_l1, ld_l2, invalidate_l1}},
	{ON(ATOMIC_LOAD),	ORDER(ACQ_REL),				FAR | AT_REMOTE,	{flush_l1, flush_remote_l1, return_to_l2, ld_l2, invalidate_l1}},
	{ON(ATOMIC_STORE),	ORDER(RELAXED) | ORDER(ACQUIRE),	FAR | LOCAL | AT_L2,	{st_l2}},
	{ON(ATOMIC_STORE),	ORDER(RELAXED) | ORDER(ACQUIRE),	FAR | AT_REMOTE,	{flush_remote_l1, return_to_l2, st_l2}},
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				FAR | LOCAL | AT_L2,	{flush_l1, st_l2}},
	{ON(ATOMIC_STORE),	ORDER(RELEASE),				FAR | AT_REMOTE,	{flush_l1, flush_remote_l1, return_to_l2, st_l2}},
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				FAR | LOCAL | AT_L2,	{flush_l1, st_l2, invalidate_l1}},
	{ON(ATOMIC_STORE),	ORDER(ACQ_REL),				FAR | AT_REMOTE,	{flush_l1, flush_remote_l1, return_to_l2, st_l2, invalidate_l1}},
	{ON(RMW),		ORDER(RELAXED),				FAR | LOCAL | AT_L2,	{rmw_l2}},
	{ON(RMW),		ORDER(RELAXED),				FAR | AT_REMOTE,	{flush_remote_l1, return_to_l2, rmw_l2}},
	{ON(RMW),		ORDER(ACQUIRE),				FAR | LOCAL | AT_L2,	{rmw_l2, invalidate_l1}},
	{ON(RMW),		ORDER(ACQUIRE),				FAR | AT_REMOTE,	{flush_remote_l1, return_to_l2, rmw_l2, invalidate_l1}},
	{ON(RMW),		ORDER(RELEASE),				FAR | LOCAL | AT_L2,	{flush_l1, rmw_l2}},
	{ON(RMW),		ORDER(RELEASE),				FAR | AT_REMOTE,	{flush_l1, flush_remote_l1, return_to_l2, rmw_l2}},
	{ON(RMW),		ORDER(ACQ_REL),				FAR | LOCAL | AT_L2,	{flush_l1, rmw_l2, invalidate_l1}},
	{ON(RMW),		ORDER(ACQ_REL),				FAR | AT_REMOTE,	{flush_l1, flush_remote_l1, return_to_l2, rmw_l2, invalidate_l1}},
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
