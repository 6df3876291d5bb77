/* SPDX-License-Identifier: BSD-3-Clause */
/* Abbreviations for the tables of protocols. Included only by the files of protocols. */
#ifndef EMU_PROTOCOL_TABLES_H
#define EMU_PROTOCOL_TABLES_H

#include "protocol.h"

/* Grids of lines: a row is an event, and what it makes of a line in each of so many states, in order. */
#define GO    COH_GO
#define NEVER COH_NEVER

/* clang-format off */
#define L1_2(event, a, b)          [0][COH_L1_##event] = a, [1][COH_L1_##event] = b
#define L1_3(event, a, b, c)       [0][COH_L1_##event] = a, [1][COH_L1_##event] = b, [2][COH_L1_##event] = c
#define L1_4(event, a, b, c, d)    [0][COH_L1_##event] = a, [1][COH_L1_##event] = b, \
				   [2][COH_L1_##event] = c, [3][COH_L1_##event] = d
#define L2_3(event, a, b, c)       [0][COH_L2_##event] = a, [1][COH_L2_##event] = b, [2][COH_L2_##event] = c
#define L2_4(event, a, b, c, d)    [0][COH_L2_##event] = a, [1][COH_L2_##event] = b, \
				   [2][COH_L2_##event] = c, [3][COH_L2_##event] = d
/* clang-format on */

#define fetch      coh_line_fetch
#define write_back coh_line_write_back
#define note_dirty coh_line_note_dirty
#define drop_clean coh_line_drop_clean
#define drop       coh_line_drop
#define recall     coh_line_recall

#define drop_unregistered coh_line_drop_unregistered
#define take              coh_line_register
#define write_through     coh_line_write_through
#define yield             coh_line_yield
#define flush_cache       coh_line_flush_cache

#define own                coh_line_own
#define invalidate_sharers coh_line_invalidate_sharers
#define downgrade_owner    coh_line_downgrade_owner
#define drop_copy          coh_line_drop_copy
#define drop_copies        coh_line_drop_copies
#define read_shared        coh_line_read_shared
#define read_own           coh_line_read_own
#define ask_owner          coh_line_ask_owner
#define disown             coh_line_disown

/* Synchronization tables */
#define ON(instruction) (1u << COH_##instruction)
#define ON_ANY_LOAD     (ON(LOAD) | ON(LOAD_READ_ONLY))
#define ORDER(order)    (1u << COH_##order)
#define ANY_ORDER       (ORDER(RELAXED) | ORDER(ACQUIRE) | ORDER(RELEASE) | ORDER(ACQ_REL))
#define NO_RELEASE      (ORDER(RELAXED) | ORDER(ACQUIRE))
#define A_RELEASE       (ORDER(RELEASE) | ORDER(ACQ_REL))
#define SCOPE(scope)    (1u << NVW_SCOPE_##scope)
#define NEAR            (SCOPE(WORKITEM) | SCOPE(WORKGROUP))
#define REMOTE          (SCOPE(REMOTE_AGENT) | SCOPE(REMOTE_SYSTEM))
#define FAR             (SCOPE(AGENT) | SCOPE(SYSTEM) | REMOTE)
#define ALL             (NEAR | FAR)

/* ... and places, in the same column (alsop16 Table 3) */
#define PLACE(place) (1u << (COH_PLACE_##place + COH_PLACE_SHIFT))
#define AT_L1        PLACE(L1)
#define BESIDE       PLACE(BESIDE)
#define LOCAL        (AT_L1 | BESIDE)
#define AT_L2        PLACE(L2)
#define AT_REMOTE    PLACE(REMOTE)
#define ELSEWHERE    (BESIDE | AT_L2 | AT_REMOTE)

/* Synchronization at the L2: an acquire invalidates the L1, a release first flushes it. */
/* clang-format off */
#define GPU_GLOBAL(scopes) \
	{ON(ATOMIC_LOAD),  ORDER(RELAXED) | ORDER(RELEASE), (scopes), {ld_l2}}, \
	{ON(ATOMIC_LOAD),  ORDER(ACQUIRE),                  (scopes), {ld_l2, invalidate_l1}}, \
	{ON(ATOMIC_LOAD),  ORDER(ACQ_REL),                  (scopes), {flush_l1, ld_l2, invalidate_l1}}, \
	{ON(ATOMIC_STORE), ORDER(RELAXED) | ORDER(ACQUIRE), (scopes), {st_l2}}, \
	{ON(ATOMIC_STORE), ORDER(RELEASE),                  (scopes), {flush_l1, st_l2}}, \
	{ON(ATOMIC_STORE), ORDER(ACQ_REL),                  (scopes), {flush_l1, st_l2, invalidate_l1}}, \
	{ON(RMW),          ORDER(RELAXED),                  (scopes), {rmw_l2}}, \
	{ON(RMW),          ORDER(ACQUIRE),                  (scopes), {rmw_l2, invalidate_l1}}, \
	{ON(RMW),          ORDER(RELEASE),                  (scopes), {flush_l1, rmw_l2}}, \
	{ON(RMW),          ORDER(ACQ_REL),                  (scopes), {flush_l1, rmw_l2, invalidate_l1}}
/* clang-format on */

#define ld_l1         (&coh_ld_l1)
#define st_l1         (&coh_st_l1)
#define rmw_l1        (&coh_rmw_l1)
#define ld_l2         (&coh_ld_l2)
#define st_l2         (&coh_st_l2)
#define rmw_l2        (&coh_rmw_l2)
#define flush_l1      (&coh_flush_l1)
#define flush_l2      (&coh_flush_l2)
#define invalidate_l1 (&coh_invalidate_l1)

#define flush_all_l1s      (&coh_flush_all_l1s)
#define invalidate_all_l1s (&coh_invalidate_all_l1s)
#define lock_rmws          (&coh_lock_rmws)
#define unlock_rmws        (&coh_unlock_rmws)

#define register_stores         (&coh_register_stores)
#define register_l1             (&coh_register_l1)
#define invalidate_unregistered (&coh_invalidate_unregistered)
#define forget_read_only        (&coh_forget_read_only)
#define mark_sfifos             (&coh_mark_sfifos)

#define send_stores  (&coh_send_stores)
#define wait_stores  (&coh_wait_stores)
#define push_sfifos  (&coh_push_sfifos)
#define enter_atomic (&coh_enter_atomic)
#define flush_l3     (&coh_flush_l3)

#endif
