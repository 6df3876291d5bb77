/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vec-cpy: copies a vector, one element per work-item (stc 6). All groups write all the time, and nothing is
 * used twice: the worst case for a protocol that makes stores wait (stc 7.1).
 */
#include "dense.h"

#include <string.h>

enum { SIZE };
enum { FROM, TO };

static const struct nvw_option options[] = {
	DENSE_SIZE("size", "256k", "elements"),
	DENSE_OPTIONS_END,
};

static void vec_cpy_shape(struct dense_plan *p)
{
	dense_read_only(p, FROM, DENSE_INT32, p->size[SIZE], "from");
	dense_written(p, TO, DENSE_INT32, p->size[SIZE], "to");
}

static void vec_cpy_fill(struct dense_plan *p)
{
	dense_fill_int(p, FROM, 0, INT32_MAX);
}

struct args {
	const int32_t *from;
	int32_t *to;
	uint64_t size;
};

DENSE_ITEMS(vec_cpy, a, id, a->size)
{
	nvw_store(&a->to[id], nvw_load_read_only(&a->from[id]));
}

static int vec_cpy_run(struct dense_plan *p)
{
	const struct args args = {.from = p->device[FROM], .to = p->device[TO], .size = p->size[SIZE]};

	return dense_launch(p, vec_cpy, &args, args.size);
}

static void vec_cpy_expect(struct dense_plan *p)
{
	assert(p->array[FROM].count == p->array[TO].count);
	memcpy(p->expected[TO], p->expected[FROM], p->size[SIZE] * sizeof(int32_t));
}

DENSE_WORKLOAD(vec_cpy, "vec-cpy", "copy of a vector, one element per work-item");
