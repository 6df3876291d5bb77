// SPDX-License-Identifier: BSD-3-Clause
// Drives CCEH-PMDK, a published hash table in persistent memory.
//
//	cceh until POOL             inserts keys until the directory doubles, and says how many there are then
//	cceh insert POOL N M        keys N to M - 1, in a new table if there is none
//	cceh check POOL N           keys 0 to N - 1, and the acknowledged ones, are there with their values, also after one more
//
//	nvwave crash --exec='./cceh insert pool N-2 N+2' --image=pool \
//		--check='./cceh check {} N-2' --states=300 --timeout=1s
//		after `cceh insert pool 0 N-2`, where N is what `cceh until` says
#include <nvw/ack.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#define private public // for the directory's depth
#include "src/CCEH.h"

static Value_t value_of(Key_t key)
{
	return (Value_t)(7 * key + 1);
}

static CCEH *open_table(const char *path, PMEMobjpool **pool)
{
	const bool fresh = access(path, F_OK) != 0;

	*pool = fresh ? pmemobj_create(path, "CCEH", PMEMOBJ_MIN_POOL, 0666) : pmemobj_open(path, "CCEH");
	if (*pool == NULL) {
		exit(2);
	}
	TOID(CCEH) table = POBJ_ROOT(*pool, CCEH);
	if (fresh) {
		D_RW(table)->initCCEH(*pool, 2);
	} else {
		D_RW(table)->Recovery(*pool); // as the program's own main function does
	}
	return D_RW(table);
}

static const char *fault(CCEH *table, PMEMobjpool *pool, Key_t count)
{
	const char *list = getenv("NVWAVE_ACKNOWLEDGED"), *last = list == NULL ? NULL : strchr(list, '-');
	const Key_t acknowledged = list == NULL || *list == 0 ? 0 : atoi(last == NULL ? list : last + 1) + 1;
	Key_t more = 100000;

	table->Insert(pool, more, value_of(more));
	for (Key_t key = 0; key < count || key < acknowledged; key++) {
		Value_t value = table->Get(key);
		if (value == NONE) {
			return "an acknowledged key is lost";
		}
		if (value != value_of(key)) {
			return "a key does not have its value";
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	PMEMobjpool *pool;
	CCEH *table = open_table(argv[2], &pool);
	Key_t key = argc > 3 ? atoi(argv[3]) : 0, end = argc > 4 ? atoi(argv[4]) : 0;

	if (strcmp(argv[1], "check") == 0) {
		const char *found = fault(table, pool, key);
		puts(found == NULL ? "right" : found);
		return found != NULL;
	}
	if (strcmp(argv[1], "until") == 0) {
		for (key = 0; D_RO(table->dir)->depth == 1; key++) {
			table->Insert(pool, key, value_of(key));
		}
		printf("%zu\n", key);
		return 0;
	}
	for (; key < end; key++) {
		nvw_operation_begins(key, "insert");
		table->Insert(pool, key, value_of(key));
		nvw_operation_is_durable(key);
	}
	return 0;
}
