/* SPDX-License-Identifier: BSD-3-Clause */
/* A small structure for tests: a plan that is a mutation, and a pool with one row of words, which its
 * first root word names. */
#ifndef TESTS_CRASHTEST_WORDS_H
#define TESTS_CRASHTEST_WORDS_H

#include <stdlib.h>

#include <nvw/workload.h>

struct plan {
	int mutation;
};

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct plan *const p = calloc(1, sizeof *p);

	if (!p) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a plan");
	}
	p->mutation = mutation;
	*ret_plan = p;
	return 0;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	*ret_params = (struct nvw_pool_params){.heap_bytes = 2 * NVW_POOL_CHUNK_BYTES, .layout = "words"};
	return 0;
}

static int setup(void *plan, struct nvw_machine *machine)
{
	struct nvw_pmem pmem;
	nvw_off words;

	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(machine, &pmem, NVW_POOL_CHUNK_BYTES, &words));
	return nvw_write(machine, pmem.base + nvw_pool_root_off(&pmem.geometry, 0), &words, 8);
}

/* The words, for kernels. */
static int words_in(struct nvw_machine *machine, uint64_t **ret_words)
{
	struct nvw_pmem pmem;
	nvw_off words;

	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_read(machine, &words, pmem.base + nvw_pool_root_off(&pmem.geometry, 0), 8));
	*ret_words = nvw_at(&pmem, uint64_t, words);
	return 0;
}

/* Where they are in the pool. */
static nvw_off words_of(struct nvw_pool *its)
{
	return nvw_pool_word(its, nvw_pool_root_off(nvw_pool_geometry(its), 0));
}

#endif
