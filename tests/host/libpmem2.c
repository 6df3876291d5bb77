/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmem2 POOL [BUG]: fills entries of a log and counts each when it is whole; "count-first" counts it
 * before. With -DLIBPMEM the same is done through libpmem. "POOL check" is the checker.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef LIBPMEM
#include <libpmem.h>
#else
#include <libpmem2.h>
#endif

enum { ENTRIES = 4, ENTRY_BYTES = 192, POOL_BYTES = 65536 };

struct pool {
	uint64_t count, unused[7];
	char entry[ENTRIES][ENTRY_BYTES];
};

static void (*persist)(const void *, size_t), (*flush)(const void *, size_t), (*drain)(void);
static void *(*copy)(void *, const void *, size_t, unsigned),
	*(*move)(void *, const void *, size_t, unsigned);
static void *(*fill)(void *, int, size_t, unsigned);

#ifdef LIBPMEM
enum { NODRAIN = PMEM_F_MEM_NODRAIN };

static struct pool *map(const char *path)
{
	persist = pmem_persist;
	flush = pmem_flush;
	drain = pmem_drain;
	copy = pmem_memcpy;
	move = pmem_memmove;
	fill = pmem_memset;
	return pmem_map_file(path, 0, 0, 0, NULL, NULL);
}
#else
enum { NODRAIN = PMEM2_F_MEM_NODRAIN };

static struct pool *map(const char *path)
{
	const int fd = open(path, O_RDWR);
	struct pmem2_config *config;
	struct pmem2_source *source;
	struct pmem2_map *map;

	if (fd < 0 || pmem2_config_new(&config) || pmem2_source_from_fd(&source, fd) ||
		pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_CACHE_LINE) ||
		pmem2_map_new(&map, config, source)) {
		pmem2_perror("%s", path);
		return NULL;
	}
	persist = pmem2_get_persist_fn(map);
	flush = pmem2_get_flush_fn(map);
	drain = pmem2_get_drain_fn(map);
	copy = pmem2_get_memcpy_fn(map);
	move = pmem2_get_memmove_fn(map);
	fill = pmem2_get_memset_fn(map);
	return pmem2_map_get_address(map);
}
#endif

static void count(struct pool *p)
{
	p->count++;
	persist(&p->count, sizeof p->count);
}

static void append(struct pool *p, unsigned i, int first)
{
	char text[64];

	memset(text, 'a' + (int)i, sizeof text);
	if (first) {
		count(p);
	}
	copy(p->entry[i], text, 64, NODRAIN);
	move(p->entry[i] + 64, text, 64, 0);
	fill(p->entry[i] + 128, 'a' + (int)i, 56, NODRAIN);
	memset(p->entry[i] + 184, 'a' + (int)i, 8);
	flush(p->entry[i] + 184, 8);
	drain();
	if (!first) {
		count(p);
	}
}

static int check(const struct pool *p)
{
	for (uint64_t i = 0; i < p->count; i++) {
		for (unsigned k = 0; k < ENTRY_BYTES; k++) {
			if (p->entry[i][k] != 'a' + (int)i) {
				printf("entry %d counts and is not whole\n", (int)i);
				return 1;
			}
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const bug = argc > 2 ? argv[2] : "";
	const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, POOL_BYTES)) {
		return 2;
	}
	struct pool *const p = map(argv[1]);

	if (p == NULL) {
		return 2;
	}
	if (strcmp(bug, "check") == 0) {
		return check(p);
	}
	for (unsigned i = 0; i < ENTRIES; i++) {
		append(p, i, strcmp(bug, "count-first") == 0);
	}
	return 0;
}
