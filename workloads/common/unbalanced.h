/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An unbalanced tree (sinclair15 5.4.2, UTS) that a search has to discover: a node is a hash, from which its
 * children are computed.
 *
 * The tree is binomial: the root has nodes / 64 children, every other node 4 with a probability of 63/256 (a
 * table of 256 numbers of children), else none. On average such a tree has the requested number of nodes, but
 * the sizes of subtrees differ by orders of magnitude; roots are tried until one has the requested number
 * within 1/32.
 */
#ifndef WORKLOADS_COMMON_UNBALANCED_H
#define WORKLOADS_COMMON_UNBALANCED_H

#include <nvw/host.h>
#include <nvw/random.h>

enum { UNBALANCED_TABLE = 256, UNBALANCED_SUBTREE = 64 };

struct unbalanced {
	uint64_t root, nodes, sum; /* sum: of the hashes of all nodes */
	uint32_t root_children;
	uint32_t table[UNBALANCED_TABLE]; /* children per node but the root, indexed by its upper 8 bits */
};

static inline uint64_t unbalanced_child(uint64_t node, uint32_t i)
{
	return nvw_mix64(node + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* wanted: at least UNBALANCED_SUBTREE. The same tree for the same seed. NVW_E_USAGE: no tree that was tried
 * has so many nodes. */
NVW_CHECKED int unbalanced_find(struct unbalanced *ret_tree, uint64_t wanted, uint64_t seed);

#endif
