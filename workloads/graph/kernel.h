/* SPDX-License-Identifier: BSD-3-Clause */
/* What the graph kernels are given. Pointers are to device memory. */
#ifndef WORKLOADS_GRAPH_KERNEL_H
#define WORKLOADS_GRAPH_KERNEL_H

#include <nvw/kernel.h>

#include "plan.h"

/*
 * A queue of tasks, which are numbered from 0 over all iterations: head is the next to take, tail the end. So
 * an iteration begins where the last one ended, and nobody has to put head back. Each word that is synchronized
 * with has a line of its own (alsop16 III.C.1); three lines a queue are the 24 KB of V.B for 128 queues.
 */
struct graph_queue {
	_Alignas(64) uint64_t head; /* taken by owner and thieves, by compare-exchange alone */
	_Alignas(64) uint64_t tail; /* put forward by the host before each launch */
	_Alignas(64) uint64_t
		task[2]; /* of the owner: how its first work-item tells the others their task, in turns */
	_Alignas(64) struct graph_counts {
		uint64_t popped, stolen, attempts;
	} counts; /* of the owner in the last launch, for the host */
};

struct graph_args {
	const uint32_t *row, *column;
	const uint32_t *weight;   /* sssp: of each arc */
	const uint32_t *priority; /* color: of each node */
	void *now;                /* uint32_t distances or colours, uint64_t shares */
	void *next;               /* likewise; of two launches, what the first has gathered for the second */
	uint64_t *rank;
	struct graph_queue *queues;
	uint8_t *left;      /* a byte a work-item, left_stride a group: is there more to do? */
	uint64_t *changed;  /* number of the last iteration after which there was, from 1 */
	uint64_t iteration; /* from 1 */
	uint64_t nodes, queue_count, chunk;
	uint64_t reach; /* queues that a work-group looks into, its own first */
	uint64_t left_stride;
	bool steals_half; /* of what is left in a queue, at once */
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
