/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small programs whose result, races or crash states depend on the order of their wavefronts, as workloads:
 * locks and a barrier between work-groups, a stack, messages, counters.
 */
#ifndef TESTS_CRASHTEST_ORDERED_H
#define TESTS_CRASHTEST_ORDERED_H

#include <nvw/kernel.h>
#include <nvw/workload.h>

enum ordered_kind {
	ORDERED_CASLOCK,
	ORDERED_TICKETLOCK,
	ORDERED_TTASLOCK,
	ORDERED_XF_BARRIER,
	ORDERED_APART,    /* work-items store to words of their own */
	ORDERED_COUNTERS, /* work-items add to one word, `times` each */
	ORDERED_SPIN,     /* the first sets a flag that the second waits for */
	ORDERED_ENDLESS,  /* the second waits for good if the first was quicker */
	ORDERED_PUBLISH,  /* a message behind a flag, which the reader looks at once */
	ORDERED_STACK,    /* two work-groups pop, one of them pushes again */
	ORDERED_CONSUME,  /* NVRAM: a message is consumed durably */
};

/* What a program does; the workload is the one that was chosen last. */
struct ordered {
	enum ordered_kind kind;
	unsigned size, groups, times;
	/* of the acquires and releases; of an xf-barrier, of its four accesses */
	enum nvw_order acquire, release, master_acquire, master_release;
	enum nvw_scope scope;
	bool careless; /* the stack has no tags; the message is published before it is durable */
};

extern const struct nvw_workload ordered_workload, ordered_in_nvram;

/* One whose orders and scopes are right. */
struct ordered ordered_right(enum ordered_kind kind, unsigned size, unsigned groups);
void ordered_choose(const struct ordered *program);

#endif
