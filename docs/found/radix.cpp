// SPDX-License-Identifier: BSD-3-Clause
// Drives WOART, a published radix tree in persistent memory, as RECIPE has it.
//
//	woart create POOL       an empty tree
//	woart insert POOL N     N keys, which part at different bytes
//	woart check POOL        the acknowledged keys have their values
//
//	nvwave crash --exec='./woart insert pool 12' --image=pool \
//		--check='./woart check {}' --states=5000
#include <fcntl.h>
#include <nvw/ack.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

static const size_t size = 1 << 20;

struct pool {
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
#include "woart.cpp"

static unsigned long key_of(int i)
{
	return 1UL << 8 * (7 - 3 * i % 8) | i;
}

static void *value_of(int i)
{
	return (void *)(16UL * i + 8);
}

int main(int argc, char **argv)
{
	const char *list = getenv("NVWAVE_ACKNOWLEDGED"),
		   *last = list == nullptr ? nullptr : strchr(list, '-');
	const int acknowledged =
		list == nullptr || *list == 0 ? 0 : 1 + atoi(last == nullptr ? list : last + 1);
	const int fd = open(argv[2], O_RDWR | O_CREAT, 0644), out = dup(1);
	woart_tree *tree = (woart_tree *)((char *)pool + 64);

	if (ftruncate(fd, size) != 0 ||
		mmap(pool, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != pool) {
		return 2;
	}
	if (strcmp(argv[1], "create") == 0) {
		pool->next = 128;
		woart_tree_init(tree);
	}
	for (int i = 0; strcmp(argv[1], "insert") == 0 && i < atoi(argv[3]); i++) {
		nvw_operation_begins(i, "insert");
		woart_insert(tree, key_of(i), 8, value_of(i));
		nvw_operation_is_durable(i);
	}
	if (strcmp(argv[1], "check") == 0) {
		for (int i = 0; i < acknowledged; i++) {
			if (woart_search(tree, key_of(i), 8) != value_of(i)) {
				dprintf(out, "an acknowledged key is lost\n");
				return 1;
			}
		}
		dprintf(out, "right\n");
	}
	return 0;
}
