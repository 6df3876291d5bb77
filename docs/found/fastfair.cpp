// SPDX-License-Identifier: BSD-3-Clause
// Drives FAST&FAIR, a published B+ tree in persistent memory, as RECIPE has it.
//
//	fastfair insert POOL N      keys 1 to N in a new tree (whose locks lie in the memory of this process)
//	fastfair check POOL         the acknowledged keys have their values
//
//	nvwave crash --exec='./fastfair insert pool 12' --image=pool \
//		--check='./fastfair check {}' --states=1000
#include <fcntl.h>
#include <new>
#include <nvw/ack.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

static const size_t size = 1 << 20;

struct pool {
	void *tree;
	uint64_t next; // free bytes begin here
} *const pool = (struct pool *)0x7fab00000000;

static int allocate(void **p, size_t alignment, size_t bytes)
{
	*p = (char *)pool + pool->next;
	pool->next += (bytes + alignment - 1) / alignment * alignment;
	asm volatile("clflush %0" : "+m"(pool->next));
	return 0;
}

#define posix_memalign allocate
#include "btree.h"

static char *value_of(uint64_t key)
{
	return (char *)(16 * key + 8);
}

int main(int argc, char **argv)
{
	const char *list = getenv("NVWAVE_ACKNOWLEDGED"),
		   *last = list == nullptr ? nullptr : strchr(list, '-');
	const uint64_t acknowledged =
		list == nullptr || *list == 0 ? 0 : atoi(last == nullptr ? list : last + 1);
	const int fd = open(argv[2], O_RDWR | O_CREAT, 0644), out = dup(1);

	if (ftruncate(fd, size) != 0 ||
		mmap(pool, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != pool) {
		return 2;
	}
	freopen("/dev/null", "w", stdout); // the tree says which keys it does not find
	if (strcmp(argv[1], "insert") == 0) {
		pool->next = 128;
		pool->tree = new ((char *)pool + 64) fastfair::btree();
		asm volatile("clflush %0" : "+m"(pool->tree));
	}
	fastfair::btree *tree = (fastfair::btree *)pool->tree;
	for (uint64_t key = 1; strcmp(argv[1], "insert") == 0 && key <= (uint64_t)atoi(argv[3]); key++) {
		nvw_operation_begins(key, "insert");
		tree->btree_insert(key, value_of(key));
		nvw_operation_is_durable(key);
	}
	for (uint64_t key = 1; strcmp(argv[1], "check") == 0 && key <= acknowledged; key++) {
		const char *found = tree->btree_search(key);
		if (found != value_of(key)) {
			dprintf(out, found == nullptr ? "an acknowledged key is lost\n" :
							"a key does not have its value\n");
			return 1;
		}
	}
	return 0;
}
