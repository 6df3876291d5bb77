/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every order of the steps of a program's wavefronts (emu_asker), one run for each that differs in the order
 * of conflicting accesses: source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal dynamic
 * partial order reduction, POPL 2014, algorithm 1).
 *
 * Two steps of different wavefronts conflict if they access one word (8 bytes), and one of them changes it.
 * Barriers of work-groups and kernels order what is before and behind them. With persists, a persist barrier
 * conflicts with stores to NVRAM, and with steps behind which an operation is acknowledged. So the crash
 * states of the runs are those of all orders. For take a state, and of an order that leaves it the longest
 * beginning whose barriers make durable no more than the state has: in every order with the same conflicts
 * solved alike there is an instant behind these stores and acknowledgements, and before all other barriers;
 * what else was stored by then may be lost. (An acknowledgement comes as early as it can: a check asks no
 * more of a state with fewer.)
 *
 * A run may be in another process, a fork of this one: what it does is written to shared memory.
 */
#ifndef CRASHTEST_EVERY_ORDER_H
#define CRASHTEST_EVERY_ORDER_H

#include <emu.h>

struct ct_orders;

/* reduced false: every order of steps, whether they conflict or not. NVW_E_MEMORY. */
NVW_CHECKED int ct_orders_create(bool reduced, bool persists, struct ct_orders **ret_orders);
void ct_orders_destroy(struct ct_orders *orders);

/* Asks for the orders of the next run. */
const struct emu_asker *ct_orders_asker(const struct ct_orders *orders);

/* After a run, in the process that made the orders. 1: there is another; 0: there is none; or an error: the
 * program did not do the same again. */
NVW_CHECKED int ct_orders_next(struct ct_orders *orders);

/* Whether the last run has ended early, because an earlier one has its order. */
bool ct_orders_is_redundant(const struct ct_orders *orders);
/* Whether the last run was too long, and was cut off; whether no run was. */
bool ct_orders_is_cut(const struct ct_orders *orders);
bool ct_orders_is_whole(const struct ct_orders *orders);
/* Steps of the last run. */
uint64_t ct_orders_steps(const struct ct_orders *orders);

/* The wavefronts of the last run's steps, as text, to be freed ("0*12 1*3"; NULL without memory); and the
 * next run takes them. */
char *ct_orders_text(const struct ct_orders *orders);
NVW_CHECKED int ct_orders_follow(struct ct_orders *orders, const char *text);

#endif
