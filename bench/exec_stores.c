/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nvwave-cc costs: stores to ordinary memory (a table that is filled and sorted), and appending to a log
 * on a mapping with clflush and mfence.
 *
 *	exec_stores FILE      prints the CPU time of a step of each, in ns
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec.h"
#include "part.h"

enum { TABLE = 1 << 20, ROUNDS = 4, APPENDS = 100000, SLOTS = 4096 };

/* Shell sort: a comparison, a load and a store a step. */
static uint64_t sort(uint64_t *table)
{
	uint64_t steps = 0;

	for (unsigned i = 0; i < TABLE; i++) {
		table[i] = i * UINT64_C(0x9e3779b97f4a7c15);
	}
	for (unsigned gap = TABLE / 2; gap > 0; gap /= 2) {
		for (unsigned i = gap; i < TABLE; i++) {
			const uint64_t v = table[i];
			unsigned k = i;

			for (; k >= gap && table[k - gap] > v; k -= gap, steps++) {
				table[k] = table[k - gap];
			}
			table[k] = v;
			steps++;
		}
	}
	return steps;
}

static void persist(const volatile void *at)
{
	__asm__ volatile("clflush %0; mfence" ::"m"(*(const volatile char *)at) : "memory");
}

int main(int argc, char **argv)
{
	uint64_t *const table = malloc(TABLE * sizeof *table), steps = 0;
	volatile uint64_t *log = MAP_FAILED;

	if (argc > 1) {
		log = map_file(argv[1], 64 * SLOTS);
	}
	if (table == NULL || log == MAP_FAILED) {
		return 2;
	}
	double began = now_ns();

	for (unsigned i = 0; i < part_of(ROUNDS); i++) {
		steps += sort(table);
	}
	printf("%.2f ", (now_ns() - began) / (double)steps);
	began = now_ns();
	for (uint64_t i = 0; i < part_of(APPENDS); i++) {
		volatile uint64_t *const line = log + 8 * (i % SLOTS);

		for (unsigned k = 1; k < 8; k++) {
			line[k] = i + k;
		}
		line[0] = i + 1;
		persist(line);
	}
	printf("%.0f\n", (now_ns() - began) / part_of(APPENDS));
	free(table);
	return 0;
}
