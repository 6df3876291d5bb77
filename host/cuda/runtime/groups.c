/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks, by themselves and on the machine. One whose work-items have all returned is as new, but for its
 * shared variables, so the next block has its memory, and so has the next kernel whose blocks have the same
 * shape.
 */
#include <sys/mman.h>

#include "runtime.h"

static struct group *unused;
static struct extent shape; /* of their blocks */

static void free_group(struct group *g)
{
	NVW_EACH(item, g->items, g->items ? g->size : 0) {
		if (item->stack) {
			nvw_cuda_give_stack(item->stack);
		}
		nvw_cuda_record_forget(item);
	}
	if (g->shared != MAP_FAILED) {
		munmap(g->shared, nvw_cuda_shared_bytes());
	}
	free(g->items);
	free(g->warps);
	free(g);
}

static struct item *new_items(unsigned count)
{
	struct item *const items = aligned_alloc(_Alignof(struct item), count * sizeof *items);

	if (items) {
		memset(items, 0, count * sizeof *items);
	}
	return items;
}

static void set_item(struct group *g, unsigned i)
{
	const struct extent *const block = &nvw_cuda_launch.block;
	struct item *const item = &g->items[i];

	NVW_DEEP_INVARIANT(i < g->size);
	item->group = g;
	item->warp = &g->warps[i / WARP];
	item->lane = (uint8_t)(i % WARP);
	item->thread = (struct extent){i % block->x, i / block->x % block->y, i / block->x / block->y};
	item->warp->item[item->lane] = item;
}

/* NULL: no memory. */
static struct group *new_group(void)
{
	const unsigned size = nvw_cuda_launch.group_size;
	struct group *const g = calloc(1, sizeof *g);

	NVW_INVARIANT(size > 0 && size <= BLOCK_MAX);
	if (!g) {
		return NULL;
	}
	g->size = size;
	g->items = new_items(size);
	g->warps = calloc((size + WARP - 1) / WARP, sizeof *g->warps);
	g->shared = mmap(NULL, nvw_cuda_shared_bytes(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!g->items || !g->warps || g->shared == MAP_FAILED) {
		free_group(g);
		return NULL;
	}
	g->places = nvw_cuda_shared_places(g->shared);
	NVW_FOR(i, size) {
		set_item(g, i);
	}
	return g;
}

static void free_unused(void)
{
	while (unused) {
		struct group *const g = unused;

		unused = g->next;
		free_group(g);
	}
}

static bool has_shape(const struct extent *block)
{
	return shape.x == block->x && shape.y == block->y && shape.z == block->z;
}

static unsigned lanes_of(const struct group *g, unsigned warp)
{
	NVW_DEEP_INVARIANT(warp * WARP < g->size);
	return (unsigned)nvw_low_bits(nvw_min(g->size - warp * WARP, WARP));
}

struct group *nvw_cuda_begin_group(uint64_t number)
{
	const struct extent *const grid = &nvw_cuda_launch.grid;
	struct group *g;

	NVW_INVARIANT(number < nvw_cuda_launch.groups);
	if (!has_shape(&nvw_cuda_launch.block)) {
		free_unused();
		shape = nvw_cuda_launch.block;
	}
	g = unused;
	if (g) {
		unused = g->next;
	} else if (!(g = new_group())) {
		return NULL;
	}
	NVW_INVARIANT(g->size == nvw_cuda_launch.group_size && !g->waiting);
	g->number = number;
	g->live = g->size;
	g->begun = 0;
	g->block = (struct extent){(unsigned)(number % grid->x), (unsigned)(number / grid->x % grid->y),
		(unsigned)(number / grid->x / grid->y)};
	for (unsigned i = 0; i * WARP < g->size; i++) {
		g->warps[i].live = lanes_of(g, i);
	}
	return g;
}

void nvw_cuda_end_group(struct group *g)
{
	NVW_INVARIANT(g->live <= g->size);
	if (g->live || !has_shape(&nvw_cuda_launch.block)) {
		free_group(g);
	} else {
		g->next = unused;
		unused = g;
	}
}
