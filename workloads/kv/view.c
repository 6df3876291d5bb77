/* SPDX-License-Identifier: BSD-3-Clause */
/* The durable table (view.h), and its description for nvwave inspect. */
#include "view.h"

#include <inttypes.h>

#include <nvw/heap.h>

#include "common/bounds.h"
#include "../common/figures.h"
#include "plan.h"

int kv_view_table(const struct nvw_pool *pool, struct kv_table *ret_table)
{
	const nvw_off root = nvw_pool_root_off(nvw_pool_geometry(pool), KV_ROOT);
	const uint64_t word = nvw_pool_word(pool, root);
	const struct kv_table t = kv_root_table(word);
	uint64_t bytes = 0;

	*ret_table = t;
	NVW_FAIL_IF(word != 0 && (t.log2_slots < KV_LOG2_SLOTS_MIN || t.log2_slots > KV_LOG2_SLOTS_MAX ||
					 !nvw_heap_is_allocated(pool, t.slots, &bytes) ||
					 bytes < 8 * kv_slot_count(t)),
		NVW_E_DAMAGED,
		"%s: root word %d at offset %" PRIu64 ": expected an allocated table, found "
		"2^%u slots at offset %" PRIu64 " where %" PRIu64 " bytes are allocated",
		nvw_pool_path(pool), KV_ROOT, root, t.log2_slots, t.slots, bytes);
	return 0;
}

int kv_view_open(struct nvw_pool *pool, struct kv_view *ret_view)
{
	struct kv_view v = {.pool = pool};

	NVW_TRY(kv_view_table(pool, &v.table));
	if (v.table.slots != 0) {
		v.words = nvw_pool_at(pool, v.table.slots, 8 * kv_slot_count(v.table));
		NVW_FAIL_IF(!v.words, NVW_E_DAMAGED,
			"%s: the table at offset %" PRIu64 " lies outside the pool", nvw_pool_path(pool),
			v.table.slots);
	}
	*ret_view = v;
	return 0;
}

static int expect_no_entry(void *context, nvw_off block, uint64_t bytes)
{
	const struct nvw_pool *const pool = context;

	if (bytes > NVW_HEAP_BLOCK_MAX) {
		return 0;
	}
	return nvw_fail(NVW_E_DAMAGED,
		"%s: root word %d at offset %" PRIu64
		": found 0, expected a table, since the block at offset %" PRIu64 " is allocated",
		nvw_pool_path(pool), KV_ROOT, nvw_pool_root_off(nvw_pool_geometry(pool), KV_ROOT), block);
}

int kv_view_expect_empty(const struct nvw_pool *pool)
{
	return nvw_heap_visit(pool, expect_no_entry, (struct nvw_pool *)(uintptr_t)pool);
}

/* ---- Inspection ----------------------------------------------------------------------------------- */

struct census {
	uint64_t live, deleted, fillers, probes, probe_max, value_bytes;
};

static void count_slot(const struct kv_view *v, uint64_t i, struct census *c)
{
	const uint64_t word = v->words[i];
	const uint64_t *const entry = nvw_pool_at(v->pool, kv_slot_entry(word), KV_ENTRY_HEAD_BYTES);

	c->fillers += word == KV_FILLER;
	if (word == 0 || kv_slot_entry(word) == 0 || !entry) {
		return;
	}
	if ((word & KV_DELETED) != 0) {
		c->deleted++;
		return;
	}

	const uint64_t home = kv_home(v->table, kv_hash(entry[0]));
	const uint64_t probes = ((i - home) & (kv_slot_count(v->table) - 1)) + 1;

	c->live++;
	c->probes += probes;
	c->probe_max = u64_max(probes, c->probe_max);
	c->value_bytes += kv_header_value_bytes(entry[1]);
}

static int describe(struct nvw_description *d, const struct census *c, uint64_t slots)
{
	const struct figure rows[] = {
		{"kv.slots", slots, "count", "slots of the table"},
		{"kv.keys", c->live, "count", "keys present"},
		{"kv.deleted", c->deleted, "count", "slots of deleted keys"},
		{"kv.fillers", c->fillers, "count", "holes of probe paths that recovery filled"},
		{"kv.value_bytes", c->value_bytes, "bytes", "size of the values of the keys present"},
		{"kv.probes_max", c->probe_max, "count", "slots examined to find the farthest key"},
	};

	NVW_TRY(FIGURES_DESCRIBE(d, rows));
	if (slots != 0) {
		NVW_TRY(nvw_describe_real(d, "kv.load",
			(double)(c->live + c->deleted + c->fillers) / (double)slots, "ratio",
			"non-empty slots"));
	}
	if (c->live != 0) {
		NVW_TRY(nvw_describe_real(d, "kv.probes_mean", (double)c->probes / (double)c->live, "count",
			"slots examined to find a key"));
	}
	return 0;
}

static struct census count_slots(const struct kv_view *v)
{
	struct census c = {0};

	for (uint64_t i = 0; v->words && i < kv_slot_count(v->table); i++) {
		count_slot(v, i, &c);
	}
	return c;
}

void kv_view_count(const struct kv_view *v, uint64_t *ret_used, uint64_t *ret_live)
{
	const struct census c = count_slots(v);

	*ret_used = c.live + c.deleted + c.fillers;
	*ret_live = c.live;
}

int kv_inspect(struct nvw_pool *pool, struct nvw_description *description)
{
	struct kv_view v;

	NVW_TRY(kv_view_open(pool, &v));
	const struct census c = count_slots(&v);

	return describe(description, &c, !v.words ? 0 : kv_slot_count(v.table));
}
