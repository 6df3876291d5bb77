/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop of insertions, to see what recording costs a program that nvwave-cc has built: sorted leaves of 14
 * pairs in a mapped file, as in a persistent B+tree. An insertion moves the greater pairs up by stores of 8
 * bytes, flushes each line that it leaves, and fences twice. A full leaf is emptied.
 *
 *	exec_inserts FILE [COUNT]      prints the CPU time of an insertion, in ns
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec.h"
#include "flush.h"
#include "part.h"

enum { LEAVES = 1 << 12, PAIRS = 14, INSERTIONS = 200000 };

/* Four lines. */
struct leaf {
	uint64_t count, unused[3];
	struct {
		uint64_t key, value;
	} pair[PAIRS];
};

static void insert(struct leaf *l, uint64_t key, uint64_t value)
{
	uint64_t i = l->count;

	if (i == PAIRS) {
		i = 0;
		l->count = 0;
	}
	for (; i > 0 && l->pair[i - 1].key > key; i--) {
		l->pair[i] = l->pair[i - 1];
		if ((uintptr_t)&l->pair[i] % 64 == 0) {
			flush(&l->pair[i]);
		}
	}
	l->pair[i].value = value;
	l->pair[i].key = key;
	flush(&l->pair[i]);
	fence();
	l->count++;
	flush(&l->count);
	fence();
}

int main(int argc, char **argv)
{
	uint64_t count = part_of(INSERTIONS);
	struct leaf *leaf = MAP_FAILED;

	if (argc > 1) {
		leaf = map_file(argv[1], LEAVES * sizeof *leaf);
	}
	if (argc > 2) {
		count = strtoull(argv[2], NULL, 0);
	}
	if (leaf == MAP_FAILED) {
		fprintf(stderr, "exec_inserts FILE [COUNT]\n");
		return 2;
	}
	writes_back = processor_writes_back();
	const double began = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t key = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

		insert(&leaf[key >> 52], key, i);
	}
	printf("%.0f\n", (now_ns() - began) / (double)count);
	return 0;
}
