/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The B+tree for host readers. Their index has one record per leaf, a copy of the words that determine the
 * leaf's content: order, next and high. Keys and values are read from the leaf's durable bytes.
 *
 * The tree on the medium cannot be searched directly: a split changes three words one by one, and recovery
 * restores the old ones until its epoch is complete. When an operation is acknowledged, all changes to its
 * leaf are complete, durable and permanent. Then the records of the leaves that it was split into are
 * published, and last the record of the leaf itself: this single replacement moves the upper keys and shows
 * the new ones. So the records form a B-link list like the leaves, and a reader whose leaf has too low a high
 * moves right.
 *
 * Slots named by a record's order do not change until the next launch fills the slots that a split or a
 * delete has freed; nvw_heap_provision() has waited for a grace period by then. A value changes in place, by
 * one store, which is durable independently. Leaves are never freed.
 *
 * Readers find a key's leaf in a sorted array of the leaves' lowest keys, which is rebuilt between kernels
 * when there are new leaves. It may be stale: then readers move right.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* The words of a record. */
enum { ORDER, NEXT, HIGH };

struct btree_serving {
	struct nvw_readers *readers;
	const char *medium;
	uint64_t *keys, key_count; /* distinct, ascending: by number */
	nvw_off *leaves;           /* leaf of operation i; 0: none yet */
	bool has_new_leaves;
};

static const struct btree_node *leaf_at(const struct btree_serving *s, nvw_off off)
{
	return (const struct btree_node *)(const void *)(s->medium + off);
}

/* ---- Keys and their states --------------------------------------------------------------------------- */

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "btree: no memory to serve host readers");
}

static int number_keys(const struct btree_plan *p, struct btree_serving *s)
{
	const uint64_t count = p->loaded_count + p->count;

	s->keys = malloc(8 * (count + 1));
	if (!s->keys) {
		return no_memory();
	}
	memcpy(s->keys, p->loaded, 8 * p->loaded_count);
	memcpy(s->keys + p->loaded_count, p->keys, 8 * p->count);
	s->key_count = btree_distinct(s->keys, count);
	assert(s->key_count <= count);
	return 0;
}

static int serve_keys(void *plan, uint64_t *ret_keys)
{
	struct btree_plan *const p = plan;

	*ret_keys = 0;
	if (!p->serving) {
		p->serving = calloc(1, sizeof *p->serving);
		if (!p->serving) {
			return no_memory();
		}
		NVW_TRY(number_keys(p, p->serving));
	}
	*ret_keys = p->serving->key_count;
	return 0;
}

void btree_serve_dispose(struct btree_plan *p)
{
	if (p->serving) {
		free(p->serving->keys);
		free(p->serving->leaves);
		free(p->serving);
		p->serving = NULL;
	}
}

/* The changes of a key have an order that its value reveals: the load, then the operations by number. If keys
 * are deleted, they are not inserted, so absence comes last. */
static uint64_t version_of(const struct btree_plan *p, uint64_t key, uint64_t value, bool present)
{
	if (present) {
		return value >> 63 ? 1 : value + 1;
	}
	return p->op == BTREE_DELETE && btree_is_loaded(p, key) ? 2 : 0;
}

static struct nvw_sighting sighting_of(
	const struct btree_plan *p, uint64_t number, uint64_t value, bool present)
{
	assert(number < p->serving->key_count);
	return (struct nvw_sighting){.number = number,
		.version = version_of(p, p->serving->keys[number], value, present),
		.state = value,
		.present = present};
}

/* ---- The emulation's thread -------------------------------------------------------------------------- */

/* Only this thread replaces records, so a record outlives the section. */
static const uint64_t *find_record(const struct btree_serving *s, nvw_off leaf)
{
	const uint64_t *record;

	nvw_reader_enter(s->readers);
	record = nvw_reader_find(s->readers, leaf);
	nvw_reader_leave(s->readers);
	return record;
}

static int publish_leaf(struct btree_serving *s, nvw_off leaf)
{
	const struct btree_node *const node = leaf_at(s, leaf);
	const uint64_t words[NVW_READERS_WORDS] = {
		[ORDER] = node->order, [NEXT] = node->next, [HIGH] = node->high};

	return nvw_readers_publish(s->readers, leaf, words);
}

/* Publishes the leaf in its present state, preceded by the leaves that it was split into, up to the next one
 * that readers know. */
static int refresh(struct btree_serving *s, nvw_off leaf)
{
	const struct btree_node *const node = leaf_at(s, leaf);
	const uint64_t *const known = find_record(s, leaf);

	if (known && known[ORDER] == node->order && known[NEXT] == node->next && known[HIGH] == node->high) {
		return 0;
	}
	for (nvw_off next = node->next; next && !find_record(s, next); next = leaf_at(s, next)->next) {
		NVW_TRY(publish_leaf(s, next));
		s->has_new_leaves = true;
	}
	return publish_leaf(s, leaf);
}

static nvw_off first_leaf(const struct btree_serving *s, unsigned slots, const struct nvw_pool_geometry *g)
{
	nvw_off off = *(const uint64_t *)(const void *)(s->medium + nvw_pool_root_off(g, 0));

	while (btree_level(leaf_at(s, off)->info)) {
		off = *BTREE_VALUE(leaf_at(s, off), slots, btree_slot(leaf_at(s, off)->order, 0));
	}
	return off;
}

/* Publishes the sorted array, made from the records: between kernels, when everything is acknowledged. */
static int publish_order(struct btree_serving *s, nvw_off first)
{
	uint64_t *lows, *leaves, count = 0, at = 0, low = 0;
	int error;

	for (nvw_off leaf = first; leaf; leaf = find_record(s, leaf)[NEXT]) {
		count++;
	}
	lows = malloc(16 * count);
	if (!lows) {
		return no_memory();
	}
	leaves = lows + count;
	for (nvw_off leaf = first; leaf; leaf = find_record(s, leaf)[NEXT]) {
		lows[at] = low;
		leaves[at++] = leaf;
		low = find_record(s, leaf)[HIGH] + 1;
	}
	assert(at == count);
	error = nvw_readers_publish_order(s->readers, lows, leaves, count);
	free(lows);
	s->has_new_leaves = false;
	return error;
}

struct nvw_readers *btree_serve_readers(const struct btree_plan *p)
{
	return p->serving ? p->serving->readers : NULL;
}

int btree_serve_between(struct btree_plan *p)
{
	struct btree_serving *const s = p->serving;
	uint64_t leaf;

	if (!s || !s->readers || !s->has_new_leaves) {
		return 0;
	}
	nvw_reader_enter(s->readers);
	nvw_reader_floor(s->readers, 0, &leaf); /* the first leaf never changes */
	nvw_reader_leave(s->readers);
	return publish_order(s, leaf);
}

static int serve_begin(void *plan, struct nvw_machine *machine, struct nvw_readers *readers)
{
	struct btree_plan *const p = plan;
	struct nvw_pool *const pool = nvw_machine_pool(machine);
	struct btree_serving *const s = p->serving;
	nvw_off first;

	assert(!s->leaves);
	s->leaves = calloc(p->count + 1, sizeof *s->leaves);
	if (!s->leaves) {
		return no_memory();
	}
	s->readers = readers;
	s->medium = nvw_pool_base(pool);
	first = first_leaf(s, p->slots, nvw_pool_geometry(pool));
	for (nvw_off leaf = first; leaf; leaf = leaf_at(s, leaf)->next) {
		NVW_TRY(publish_leaf(s, leaf));
	}
	return publish_order(s, first);
}

static void serve_end(void *plan)
{
	struct btree_serving *const s = ((struct btree_plan *)plan)->serving;

	free(s->leaves);
	s->leaves = NULL;
	s->readers = NULL;
}

/* Called by kernels: host memory, which costs no simulated time. */
void btree_serve_note(struct btree_plan *p, const uint64_t *ops, uint64_t count, nvw_off leaf)
{
	for (uint64_t i = 0; p->serving && p->serving->leaves && i < count; i++) {
		p->serving->leaves[ops[i]] = leaf;
	}
}

static int serve_acknowledged(void *plan, uint64_t first, uint64_t count)
{
	struct btree_serving *const s = ((struct btree_plan *)plan)->serving;
	assert(first + count <= ((const struct btree_plan *)plan)->count);
	for (uint64_t op = first; op < first + count; op++) {
		if (s->leaves[op]) {
			NVW_TRY(refresh(s, s->leaves[op]));
		}
	}
	return 0;
}

/* ---- Readers ------------------------------------------------------------------------------------------ */

/* The record of the leaf that covers key, and the leaf's offset. */
static const uint64_t *find_leaf(const struct btree_serving *s, uint64_t key, nvw_off *ret_leaf)
{
	const uint64_t *record;
	nvw_off leaf = 0;

	nvw_reader_floor(s->readers, key, &leaf);
	for (record = nvw_reader_find(s->readers, leaf); record && key > record[HIGH];
		record = nvw_reader_find(s->readers, leaf)) {
		leaf = record[NEXT];
	}
	*ret_leaf = leaf;
	return record;
}

static int no_leaf(uint64_t key)
{
	return nvw_fail(
		NVW_E_INCONSISTENT, "the leaves visible to host readers end before key %" PRIu64, key);
}

/* The rank of the first key of the record that is not below key. */
static unsigned rank_of(const struct btree_node *node, uint64_t order, uint64_t key)
{
	unsigned low = 0, high = btree_count(order);

	while (low < high) {
		const unsigned middle = (low + high) / 2;

		if (*BTREE_KEY(node, btree_slot(order, middle)) < key) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static uint64_t value_at(const struct btree_plan *p, const struct btree_node *node, unsigned slot)
{
	return __atomic_load_n(BTREE_VALUE(node, p->slots, slot), __ATOMIC_RELAXED);
}

static int serve_lookup(const void *plan, uint64_t number, struct nvw_sighting *ret_sighting)
{
	const struct btree_plan *const p = plan;
	const struct btree_serving *const s = p->serving;
	const uint64_t key = s->keys[number];
	nvw_off leaf;
	const uint64_t *const record = find_leaf(s, key, &leaf);

	if (!record) {
		return no_leaf(key);
	}

	const struct btree_node *const node = leaf_at(s, leaf);
	const unsigned rank = rank_of(node, record[ORDER], key), slot = btree_slot(record[ORDER], rank);
	const bool present = rank < btree_count(record[ORDER]) && *BTREE_KEY(node, slot) == key;

	*ret_sighting = sighting_of(p, number, present ? value_at(p, node, slot) : 0, present);
	return 0;
}

static int serve_scan(const void *plan, uint64_t number, unsigned limit, struct nvw_sighting *ret_sightings,
	unsigned *ret_count)
{
	const struct btree_plan *const p = plan;
	const struct btree_serving *const s = p->serving;
	const uint64_t from = s->keys[number];
	unsigned found = 0;
	nvw_off leaf;
	const uint64_t *record = find_leaf(s, from, &leaf);

	if (!record) {
		return no_leaf(from);
	}
	while (record && found < limit) {
		const struct btree_node *const node = leaf_at(s, leaf);
		const uint64_t order = record[ORDER];

		for (unsigned i = rank_of(node, order, from); i < btree_count(order) && found < limit; i++) {
			const unsigned slot = btree_slot(order, i);
			const uint64_t *const at =
				bsearch(BTREE_KEY(node, slot), s->keys, s->key_count, 8, btree_compare_u64);

			NVW_FAIL_IF(!at, NVW_E_INCONSISTENT,
				"a scan found key %" PRIu64 ", which is never inserted",
				*BTREE_KEY(node, slot));
			ret_sightings[found++] =
				sighting_of(p, (uint64_t)(at - s->keys), value_at(p, node, slot), true);
		}
		leaf = record[NEXT];
		record = nvw_reader_find(s->readers, leaf);
	}
	assert(found <= limit);
	*ret_count = found;
	return 0;
}

/* ---- After a crash ------------------------------------------------------------------------------------ */

/* Searches the tree itself, which recovery has made sound (or check() reports it): a bounded walk along the
 * leaves. */
static bool recovered_value(const struct nvw_pool *pool, uint64_t key, uint64_t *ret_value)
{
	const nvw_off off = nvw_pool_word(pool, nvw_pool_root_off(nvw_pool_geometry(pool), 0));
	const unsigned slots = btree_slots(btree_root_info(pool)), bytes = btree_node_bytes(slots);
	const struct btree_node *node = slots ? nvw_pool_at(pool, off, bytes) : NULL;

	for (uint64_t steps = nvw_pool_geometry(pool)->bytes / bytes; node && steps; steps--) {
		const unsigned count = btree_count(node->order);
		unsigned i = 0;

		if (key > node->high) {
			node = nvw_pool_at(pool, node->next, bytes);
			continue;
		}
		while (i < count && *BTREE_KEY(node, btree_slot(node->order, i)) <= key) {
			i++;
		}
		if (!btree_level(node->info)) {
			*ret_value = i ? *BTREE_VALUE(node, slots, btree_slot(node->order, i - 1)) : 0;
			return i && *BTREE_KEY(node, btree_slot(node->order, i - 1)) == key;
		}
		node = nvw_pool_at(
			pool, *BTREE_VALUE(node, slots, btree_slot(node->order, i ? i - 1 : 0)), bytes);
	}
	return false;
}

static int serve_judge(
	void *plan, struct nvw_pool *pool, const struct nvw_sighting *seen, struct nvw_findings *findings)
{
	const struct btree_plan *const p = plan;
	const uint64_t key = p->serving->keys[seen->number];
	uint64_t value = 0;
	const bool present = recovered_value(pool, key, &value);
	const uint64_t version = version_of(p, key, value, present);

	assert(seen->number < p->serving->key_count);
	if (version >= seen->version) {
		return 0;
	}
	return nvw_violation(findings, 0,
		"key %" PRIu64 ": a host reader saw version %" PRIu64
		", but recovery restored version %" PRIu64 " (%s)",
		key, seen->version, version, present ? "present" : "absent");
}

const struct nvw_serving btree_serving = {
	.keys = serve_keys,
	.begin = serve_begin,
	.acknowledged = serve_acknowledged,
	.end = serve_end,
	.lookup = serve_lookup,
	.scan = serve_scan,
	.judge = serve_judge,
};
