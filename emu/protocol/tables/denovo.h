/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DeNovo: reader-initiated invalidation with ownership of written data (sinclair15 3, alsop16 II.E).
 *
 *	I  absent	V  present, nothing of it registered
 *	D  some bytes stored, not yet registered (perhaps with registered ones): they wait in the store buffer
 *	R  some bytes registered, none waiting
 *
 * Guarantees
 *	(1) A registered byte is up to date: acquires do not invalidate it, loads and stores of it hit.
 *	(2) A release waits until all stores of its CU are registered; nothing is written through for it.
 *	(3) Synchronization accesses, including loads, are performed in the L1, after registration
 *	    (DeNovoSync0).
 *	(4) The L2 has the data of unregistered bytes, and writes back to memory.
 *
 * The states of single bytes are the masks of struct emu_line; the states here are those of lines. The store
 * buffer is the L1's S-FIFO. The protocols of the family differ in grain, regions and scopes.
 */
#ifndef EMU_PROTOCOL_DENOVO_H
#define EMU_PROTOCOL_DENOVO_H

#include "../tables.h"

extern const struct coh_cell coh_denovo_l1[][COH_L1_EVENT_COUNT], coh_denovo_l2[][COH_L2_EVENT_COUNT];
extern const char *const coh_denovo_states[];
extern const struct coh_row coh_denovo_rows[]; /* without scopes */
const char *coh_denovo_broken_invariant(const struct nvw_machine *m, emu_line_id id);
enum { COH_DENOVO_STATES = 4 };

/* clang-format off */
#define DENOVO_DATA \
	{ON_ANY_LOAD, ANY_ORDER, ALL, {ld_l1}}, \
	{ON(STORE),   ANY_ORDER, ALL, {st_l1}}
/* clang-format on */

/* alsop16 Table 3, DeNovo: the same at every scope of the set. */
/* clang-format off */
#define DENOVO_SYNCHRONIZATION(scopes) \
	{ON(ATOMIC_LOAD),  ORDER(RELAXED) | ORDER(RELEASE), (scopes) | AT_L1,     {ld_l1}}, \
	{ON(ATOMIC_LOAD),  ORDER(RELAXED) | ORDER(RELEASE), (scopes) | ELSEWHERE, {register_l1, ld_l1}}, \
	{ON(ATOMIC_LOAD),  ORDER(ACQUIRE),                  (scopes) | AT_L1, \
	                   {ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_LOAD),  ORDER(ACQUIRE),                  (scopes) | ELSEWHERE, \
	                   {register_l1, ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_LOAD),  ORDER(ACQ_REL),                  (scopes) | AT_L1, \
	                   {register_stores, ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_LOAD),  ORDER(ACQ_REL),                  (scopes) | ELSEWHERE, \
	                   {register_stores, register_l1, ld_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_STORE), ORDER(RELAXED) | ORDER(ACQUIRE), (scopes) | AT_L1,     {st_l1}}, \
	{ON(ATOMIC_STORE), ORDER(RELAXED) | ORDER(ACQUIRE), (scopes) | ELSEWHERE, {register_l1, st_l1}}, \
	{ON(ATOMIC_STORE), ORDER(RELEASE),                  (scopes) | AT_L1,     {register_stores, st_l1}}, \
	{ON(ATOMIC_STORE), ORDER(RELEASE),                  (scopes) | ELSEWHERE, \
	                   {register_stores, register_l1, st_l1}}, \
	{ON(ATOMIC_STORE), ORDER(ACQ_REL),                  (scopes) | AT_L1, \
	                   {register_stores, st_l1, invalidate_unregistered}}, \
	{ON(ATOMIC_STORE), ORDER(ACQ_REL),                  (scopes) | ELSEWHERE, \
	                   {register_stores, register_l1, st_l1, invalidate_unregistered}}, \
	{ON(RMW),          ORDER(RELAXED),                  (scopes) | AT_L1,     {rmw_l1}}, \
	{ON(RMW),          ORDER(RELAXED),                  (scopes) | ELSEWHERE, {register_l1, rmw_l1}}, \
	{ON(RMW),          ORDER(ACQUIRE),                  (scopes) | AT_L1, \
	                   {rmw_l1, invalidate_unregistered}}, \
	{ON(RMW),          ORDER(ACQUIRE),                  (scopes) | ELSEWHERE, \
	                   {register_l1, rmw_l1, invalidate_unregistered}}, \
	{ON(RMW),          ORDER(RELEASE),                  (scopes) | AT_L1, \
	                   {register_stores, rmw_l1}}, \
	{ON(RMW),          ORDER(RELEASE),                  (scopes) | ELSEWHERE, \
	                   {register_stores, register_l1, rmw_l1}}, \
	{ON(RMW),          ORDER(ACQ_REL),                  (scopes) | AT_L1, \
	                   {register_stores, rmw_l1, invalidate_unregistered}}, \
	{ON(RMW),          ORDER(ACQ_REL),                  (scopes) | ELSEWHERE, \
	                   {register_stores, register_l1, rmw_l1, invalidate_unregistered}}
/* clang-format on */

/* Common to all members of the family. */
#define DENOVO_PROTOCOL                                                                                      \
	.l1_states = coh_denovo_states, .l2_states = coh_denovo_states, .l1_state_count = COH_DENOVO_STATES, \
	.l2_state_count = COH_DENOVO_STATES, .l1 = coh_denovo_l1[0], .l2 = coh_denovo_l2[0],                 \
	.kernel_end = {register_stores}, .broken_invariant = coh_denovo_broken_invariant

#endif
