/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools: opened, recovered, checked and described. The input changes words of a pool that a workload has
 * left (FUZZ_POOLS names the folder with them): its first byte chooses the pool and whether both pages of
 * the header get a right checksum; then, for each word, its offset, how it is meant, and its value.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include <nvw/recovery.h>
#include <nvw/workload.h>

#include "check/check.h"
#include "core/describe.h"
#include "fuzz.h"
#include "pool/layout.h"

enum { POOLS = 6, CHANGES_MAX = 64, SEALED = 1, NEAR = 2, DEEP = 4, ADDED = 8 };

extern const struct nvw_workload nvw_workload_kv, nvw_workload_btree, nvw_workload_queue,
	nvw_workload_steal_log, nvw_workload_stack, nvw_workload_tiered;

static const struct nvw_workload *const workload[POOLS] = {&nvw_workload_kv, &nvw_workload_btree,
	&nvw_workload_queue, &nvw_workload_steal_log, &nvw_workload_stack, &nvw_workload_tiered};
static struct {
	char path[64];
	uint8_t *base, *copy; /* the file, mapped, and as it was */
	size_t bytes;
} pools[POOLS];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (unsigned i = 0; i < POOLS; i++) {
		const char *const folder = getenv("FUZZ_POOLS");
		char from[512];
		struct stat s;

		snprintf(from, sizeof from, "%s/%s.pool", folder ? folder : ".", workload[i]->name);

		const int in = open(from, O_RDONLY), fd = memfd_create("pool", MFD_CLOEXEC);

		if (in < 0 || fd < 0 || fstat(in, &s) || ftruncate(fd, s.st_size)) {
			perror(from);
			exit(2);
		}
		pools[i].bytes = (size_t)s.st_size;
		pools[i].copy = mmap(NULL, pools[i].bytes, PROT_READ, MAP_PRIVATE, in, 0);
		pools[i].base = mmap(NULL, pools[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memcpy(pools[i].base, pools[i].copy, pools[i].bytes);
		snprintf(pools[i].path, sizeof pools[i].path, "/proc/self/fd/%d", fd);
	}
	return 0;
}

/* Near the pool's beginning, where its metadata is, or anywhere. */
static size_t place(uint64_t off, unsigned how, size_t bytes)
{
	const size_t reach = how & NEAR ? (bytes < 16384 ? bytes : 16384) : bytes;

	return (how & DEEP ? bytes / 2 + off % (bytes / 2) : off % reach) & ~(size_t)7;
}

static unsigned change(unsigned p, const uint8_t *data, size_t size, size_t changed[CHANGES_MAX])
{
	unsigned n = 0;

	for (; size > 0 && n < CHANGES_MAX; n++) {
		const uint64_t off = fuzz_take(&data, &size, 4) * 8;
		const unsigned how = (unsigned)fuzz_take(&data, &size, 1);
		uint64_t value = fuzz_take(&data, &size, 8), before;

		changed[n] = place(off, how, pools[p].bytes);
		memcpy(&before, pools[p].base + changed[n], 8);
		value = how & ADDED ? before + value : value;
		value = how & SEALED ? nvw_seal(changed[n], value & ((UINT64_C(1) << 48) - 1)) : value;
		memcpy(pools[p].base + changed[n], &value, 8);
	}
	return n;
}

static void seal_headers(uint8_t *base)
{
	for (size_t off = NVW__HEADER_OFF; off <= NVW__COPY_OFF; off += NVW__COPY_OFF - NVW__HEADER_OFF) {
		const uint64_t sum = XXH64(base + off, offsetof(struct nvw__header, checksum), 0);

		memcpy(base + off + offsetof(struct nvw__header, checksum), &sum, 8);
	}
}

static void use(const struct nvw_workload *w, const char *path)
{
	struct nvw_findings findings = {0};
	struct nvw_description d = {0};
	struct nvw_recovery report;
	struct nvw_pool *pool;

	if (nvw_pool_open(path, NVW_POOL_PRIVATE, &pool)) {
		return;
	}
	(void)!w->check(NULL, pool, NULL, &findings); /* as the crash left it */
	nvw__findings_clear(&findings);
	if (nvw_recover(pool, &report) == 0) {
		(void)!w->check(NULL, pool, NULL, &findings);
		if (w->inspect) {
			(void)!w->inspect(pool, &d);
			nvw__description_clear(&d);
		}
	}
	nvw_pool_close(pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned choice = (unsigned)fuzz_take(&data, &size, 1), p = choice % POOLS;
	size_t changed[CHANGES_MAX];
	const unsigned n = change(p, data, size, changed);

	if (choice & 0x80) {
		seal_headers(pools[p].base);
	}
	use(workload[p], pools[p].path);
	for (unsigned i = 0; i < n; i++) {
		memcpy(pools[p].base + changed[i], pools[p].copy + changed[i], 8);
	}
	memcpy(pools[p].base, pools[p].copy, NVW__ROOTS_OFF);
	return 0;
}
