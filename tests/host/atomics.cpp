// SPDX-License-Identifier: BSD-3-Clause
// Stores by std::atomic at two places: their code is the library's, in atomic_base.h, and the places are here.
//
//	atomics run POOL	fills two cells without a flush, then counts them
//	atomics check POOL	both cells are full if they count
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <libpmem.h>

struct cell {
	std::atomic<uint64_t> value;
	uint64_t pad[7];
};

struct pool {
	cell left, right, count;
};

static void fill(pool *p)
{
	p->left.value.store(1, std::memory_order_relaxed);
	p->right.value = 1;
	p->count.value.store(1, std::memory_order_release);
	pmem_persist(&p->count, sizeof p->count);
}

int main(int argc, char **argv)
{
	size_t n;
	pool *const p = argc != 3 ?
				nullptr :
				static_cast<pool *>(pmem_map_file(argv[2], 4096, PMEM_FILE_CREATE, 0600, &n, nullptr));

	if (p == nullptr) {
		return 2;
	}
	if (strcmp(argv[1], "run") == 0) {
		fill(p);
		return 0;
	}
	const bool whole = p->left.value == p->count.value && p->right.value == p->count.value;

	if (p->count.value != 0 && !whole) {
		puts("a cell counts and is empty");
		return 1;
	}
	return 0;
}
