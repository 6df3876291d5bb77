/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Robustness: a judge that needs no checker. A state is suspicious if what recovery and check read from it
 * comes from no prefix of the run: a store is lost that the program made before a store that is durable, and
 * both words were read. "Before" is an order that the program itself has made, whatever the order of its
 * work-items: in one work-item, by synchronization (program_order.h), by the end of a kernel, or by an
 * acknowledgement. Two stores without such an order may persist in any.
 *
 * The readers are the parts of the check, each for itself (nvw_parts), after nvw_recover(); of a workload
 * without parts the structure's recovery and its whole check. What nvw_recover() reads is not counted: its
 * logs are made to be torn. Words that recovery has written are left out: what the crash left in them no
 * longer counts.
 *
 * Of a program on the host bytes count: each that a command reads comes from its newest durable store, unless
 * the command has overwritten it before, as an undo log does.
 *
 * A robust program can still be wrong, and a suspicious state can be right: a digest that is read tells a
 * torn record from a whole one.
 *
 * This is the criterion of strict persistency of PSan (PLDI 2022), over reads alone, with the orders of
 * gope18 6.1.
 */
#ifndef CRASHTEST_ROBUST_H
#define CRASHTEST_ROBUST_H

#include "../states/medium.h"

struct ct_asked;
struct ct_robust;

/* Reads the log of the workload's run, and what was told of its synchronization. The plan stays the caller's.
 * NVW_E_USAGE under a model that has no epochs. */
NVW_CHECKED int ct_robust_create(int log_fd, int syncs_fd, const struct ct_rules *rules,
	const struct nvw_workload *workload, void *plan, struct ct_robust **ret_robust);
/* The same of a program on the host, whose state a command opens and reads (judge/ask.h). Threads have no
 * order among each other. NVW_E_USAGE under other models than x86. */
NVW_CHECKED int ct_robust_create_of_program(int log_fd, const struct ct_rules *rules,
	const struct ct_asked *asked, struct ct_robust **ret_robust);
void ct_robust_destroy(struct ct_robust *robust);

/* A ct_judge of the file as the program leaves it, context is a struct ct_robust of a program: NVW_E_USAGE if
 * what the command reads cannot be seen, or is nothing that the program has stored. */
NVW_CHECKED int ct_robust_try(void *robust, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

/*
 * Judges the state of levels, which is applied; the image records reads. 0, NVW_E_INCONSISTENT with a
 * violation for each pair of functions, or NVW_E_MEMORY. The image has what recovery wrote afterwards.
 */
int ct_robust_judge(struct ct_robust *robust, struct ct_medium *medium, const unsigned *levels,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
