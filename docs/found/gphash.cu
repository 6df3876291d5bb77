// SPDX-License-Identifier: BSD-3-Clause
// Drives GPHash, a published hash table in persistent memory.
//
//	gphash insert POOL N        keys 0 to N - 1, in a new table if there is none
//	gphash update POOL N        these keys get other values
//	gphash resize POOL          the table grows
//	gphash check POOL N         after one more batch of insertions, keys 0 to N - 1 have values that were given to them;
//	                            with `new` as well, only if the first operation was acknowledged
//
//	nvwave crash --exec='./gphash update pool 32' --image=pool \
//		--check='./gphash check {} 512' --machine=gpm22 --states=1000
//		after `gphash insert pool 512`; likewise with `resize pool`, and with `insert pool 32` and `check {} 32 new`
#include <nvw/ack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash_table.cuh"

enum { ROOM = 512, WORDS = KEY_SIZE / 8, INSERT = 1, UPDATE = 2, SEARCH = 4, OTHER = 1000000, MORE = 500000 };

static uint64_t keys[ROOM * WORDS], values[ROOM * WORDS];
static uint32_t failed[ROOM];

// Keys are four words in a row; the values are the keys plus `salt`. What was found, and what failed, is in `values` and `failed`.
static void batch(HashTable *table, uint32_t operation, uint32_t first, uint32_t count, uint64_t salt)
{
	for (uint32_t i = 0; i < count * WORDS; i++) {
		keys[i] = first * WORDS + i;
		values[i] = keys[i] + salt;
		failed[i / WORDS] = operation;
	}
	cudaMemcpy(table->d_ops_, failed, sizeof *failed * count, cudaMemcpyHostToDevice);
	cudaMemcpy(table->d_keys_, keys, KEY_SIZE * count, cudaMemcpyHostToDevice);
	cudaMemcpy(table->d_values_, values, KEY_SIZE * count, cudaMemcpyHostToDevice);
	table->hash_table_->batchedOperations(table->d_ops_, table->d_keys_, table->d_values_, count);
	cudaMemcpy(failed, table->d_ops_, sizeof *failed * count, cudaMemcpyDeviceToHost);
	cudaMemcpy(values, table->d_values_, KEY_SIZE * count, cudaMemcpyDeviceToHost);
}

static const char *fault(HashTable *table, uint32_t count)
{
	batch(table, INSERT, MORE, 32, 0);
	batch(table, SEARCH, 0, count, 0);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t value = values[i * WORDS], key = keys[i * WORDS];

		if (failed[i]) {
			return "a key is lost";
		}
		if (value != key && value != key + OTHER) {
			return "a key has a value that it was never given";
		}
	}
	return nullptr;
}

int main(int argc, char **argv)
{
	const char *acknowledged = getenv("NVWAVE_ACKNOWLEDGED"), *found = nullptr;
	const uint32_t count = argc > 3 ? atoi(argv[3]) : 0;
	uint32_t level = 5; // a warp of buckets

	if (argc > 4 && acknowledged != nullptr && *acknowledged == 0) {
		return 0;
	}
	FILE *out = fdopen(dup(1), "w"); // the table itself prints much
	freopen("/dev/null", "w", stdout);
	HashTable table(argv[2], 1 << 20, ROOM, level, 0, 0);
	if (strcmp(argv[1], "check") == 0) {
		found = fault(&table, count);
		fprintf(out, "%s\n", found == nullptr ? "right" : found);
		return found != nullptr;
	}
	nvw_operation_begins(0, argv[1]);
	if (strcmp(argv[1], "resize") == 0) {
		table.resize();
	} else if (strcmp(argv[1], "update") == 0) {
		batch(&table, UPDATE, 0, count, OTHER);
	} else {
		batch(&table, INSERT, 0, count, 0);
	}
	nvw_operation_is_durable(0);
	return 0;
}
