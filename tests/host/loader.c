/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that is not linked with libpmem: it loads it with dlopen(), keeps it to itself, and persists a
 * word.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

int main(int argc, char **argv)
{
	void *(*map)(const char *, size_t, int, mode_t, size_t *, int *) = NULL;
	void (*persist)(const void *, size_t) = NULL;
	void *const library = dlopen("libpmem.so.1", RTLD_NOW | RTLD_LOCAL);
	size_t n;
	int is_pmem = 0;

	if (argc < 2 || library == NULL) {
		return 2;
	}
	*(void **)&map = dlsym(library, "pmem_map_file");
	*(void **)&persist = dlsym(library, "pmem_persist");
	if (map == NULL || persist == NULL || dlsym(library, "pmem_no_such_function") != NULL) {
		return 3;
	}
	uint64_t *const pool = map(argv[1], 1 << 16, 1, 0600, &n, &is_pmem);

	if (pool == NULL || !is_pmem) {
		return 4;
	}
	pool[4] = 44;
	persist(&pool[4], 8);
	return 0;
}
