/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of the graph kernels. Pointers are to device memory. */
#ifndef PAPERS_GRAPH_KERNEL_H
#define PAPERS_GRAPH_KERNEL_H

#include <nvw/kernel.h>

#include "plan.h"

/*
 * A queue of tasks, numbered from 0 over all iterations: head is the next task, tail the end. So an iteration
 * begins where the last one ended, and head is never reset. Each synchronization word has a line of its own
 * (alsop16 III.C.1); three lines per queue are the 24 KB of V.B for 128 queues.
 */
struct graph_queue {
	_Alignas(64) uint64_t head; /* changed by owner and thieves, only by compare-exchange */
	_Alignas(64) uint64_t tail; /* advanced by the host before each launch */
	_Alignas(64)
		uint64_t task[2]; /* owner: the task, from its first work-item to the others, alternating */
	_Alignas(64) struct graph_counts {
		uint64_t popped, stolen, attempts;
	} counts; /* owner's counts in the last launch, for the host */
};

struct graph_args {
	const uint32_t *row, *column;
	const uint32_t *weight;   /* sssp: per arc */
	const uint32_t *priority; /* color: per node */
	union {
		uint32_t *now; /* distances or colours */
		uint64_t *shares;
	};
	union { /* likewise; with two launches, the result of the first for the second */
		uint32_t *next;
		uint64_t *next_shares;
	};
	uint64_t *rank;
	struct graph_queue *queues;
	uint8_t *left;      /* one byte per work-item, left_stride per group: is there more to do? */
	uint64_t *changed;  /* number of the last iteration with more to do, counted from 1 */
	uint64_t iteration; /* from 1 */
	uint64_t nodes, queue_count, chunk;
	uint64_t reach; /* queues that a work-group tries, starting with its own */
	uint64_t left_stride;
	bool steals_half; /* of the remaining tasks of a queue, at once */
	uint64_t epsilon;
	enum nvw_scope own, steal;
};

/* An iteration in one launch, or in two. */
void graph_sssp(const void *args);
void graph_sssp_gather(const void *args);
void graph_sssp_apply(const void *args);
void graph_color(const void *args);
void graph_color_gather(const void *args);
void graph_color_apply(const void *args);
void graph_pagerank(const void *args);
void graph_pagerank_gather(const void *args);
void graph_pagerank_apply(const void *args);

#endif
