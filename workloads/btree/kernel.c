/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batched parallel insert, gope18's Algorithm 1: level by level from the leaves, one work-item a node, one
 * epoch a level with kernel-scoped persist barriers.
 *
 *	prepare   old words of nodes that split to the undo log; new nodes; new slots, unpublished
 *	barrier   log, new nodes and slots durable before anything refers to them
 *	publish   bitmaps; high and next of nodes that split
 *	barrier   ... before completion
 *	complete  one store; barrier; at the leaves the operations are acknowledged
 */
#include "btree.h"

static struct btree_node *at(const struct nvw_pmem *pmem, nvw_off off)
{
	return nvw_at(pmem, struct btree_node, off);
}

static uint64_t *root_word(const struct nvw_pmem *pmem)
{
	return nvw_at(pmem, uint64_t, nvw_pool_root_off(&pmem->geometry, BTREE_ROOT));
}

/* The meeting makes visible what the others did; the persist barrier orders it (Algorithm 1, 19 and 20). */
static void meet(void)
{
	nvw_barrier(NVW_KERNEL);
	nvw_p_barrier_kr();
}

/* ---- Search --------------------------------------------------------------------------------------- */

static nvw_off child_for(struct btree_node *n, uint64_t key)
{
	uint64_t bits = nvw_load(&n->bitmap), best = 0;
	int slot = -1;

	for (; bits != 0; bits &= bits - 1) {
		const int i = __builtin_ctzll(bits);
		const uint64_t low = nvw_load(&n->keys[i]);

		if (low <= key && (slot < 0 || low > best)) {
			best = low;
			slot = i;
		}
	}
	return slot < 0 ? 0 : nvw_load(&n->values[slot]);
}

/* The node of a level that the key belongs to. */
static nvw_off find(const struct nvw_pmem *pmem, uint64_t root_level, uint64_t level, uint64_t key)
{
	nvw_off off = nvw_load(root_word(pmem));

	for (uint64_t l = root_level;; l--) {
		while (nvw_load(&at(pmem, off)->high) < key) {
			off = nvw_load(&at(pmem, off)->next);
		}
		if (l == level) {
			return off;
		}
		off = child_for(at(pmem, off), key);
	}
}

/* ---- One node ------------------------------------------------------------------------------------- */

/* What a work-item will publish in its node after the first barrier. */
struct change {
	struct btree_node *node;
	uint64_t bitmap, high;
	nvw_off next;
	bool is_split;
	unsigned moved; /* entries that go to slots whose old content is logged */
	uint8_t slots[BTREE_SLOTS];
	uint64_t keys[BTREE_SLOTS], values[BTREE_SLOTS];
};

/* A node's entries in registers, ascending. */
struct entries {
	unsigned count;
	uint8_t slots[BTREE_SLOTS];
	uint64_t keys[BTREE_SLOTS];
};

static void load_sorted(struct btree_node *n, uint64_t bitmap, struct entries *e)
{
	e->count = 0;
	for (; bitmap != 0; bitmap &= bitmap - 1) {
		const uint8_t slot = (uint8_t)__builtin_ctzll(bitmap);
		const uint64_t key = nvw_load(&n->keys[slot]);
		unsigned i = e->count++;

		for (; i > 0 && e->keys[i - 1] > key; i--) {
			e->keys[i] = e->keys[i - 1];
			e->slots[i] = e->slots[i - 1];
		}
		e->keys[i] = key;
		e->slots[i] = slot;
	}
}

static void insert_in_place(const struct btree_args *a, struct change *c, uint64_t run, uint64_t n)
{
	uint64_t free = ~c->bitmap;

	for (uint64_t i = 0; i < n; i++, free &= free - 1) {
		const int slot = __builtin_ctzll(free);

		nvw_store(&c->node->keys[slot], nvw_load(&a->keys[run + i]));
		nvw_store(&c->node->values[slot], nvw_load(&a->values[run + i]));
		c->bitmap |= UINT64_C(1) << slot;
	}
}

/* The node's own part of a split: old entries stay where they are, new ones take slots that fall free. */
struct merge {
	const struct btree_args *a;
	struct entries old;
	uint64_t run, end;
	unsigned old_next;
};

static bool merge_next(struct merge *m, struct btree_node *from, uint64_t *key, uint64_t *value, int *slot)
{
	const bool has_new = m->run < m->end;
	const uint64_t fresh = has_new ? nvw_load(&m->a->keys[m->run]) : 0;

	*slot = -1;
	if (m->old_next < m->old.count && (!has_new || m->old.keys[m->old_next] < fresh)) {
		*slot = m->old.slots[m->old_next];
		*key = m->old.keys[m->old_next++];
		*value = nvw_load(&from->values[*slot]);
		return true;
	}
	if (!has_new) {
		return false;
	}
	*key = fresh;
	*value = nvw_load(&m->a->values[m->run++]);
	return true;
}

static void keep_left(struct merge *m, struct change *c, uint64_t keep)
{
	uint64_t bitmap = 0, key, value;
	int slot;

	for (uint64_t i = 0; i < keep && merge_next(m, c->node, &key, &value, &slot); i++) {
		if (slot >= 0) {
			bitmap |= UINT64_C(1) << slot;
			continue;
		}
		c->keys[c->moved] = key;
		c->values[c->moved++] = value;
	}
	for (unsigned i = 0; i < c->moved; i++) {
		c->slots[i] = (uint8_t)__builtin_ctzll(~bitmap);
		bitmap |= UINT64_C(1) << c->slots[i];
	}
	c->bitmap = bitmap;
}

static bool log_words(const struct nvw_epoch *e, const struct change *c)
{
	const struct nvw_pmem *const pmem = e->pmem;
	bool ok = nvw_undo(e, nvw_off_of(pmem, &c->node->bitmap)) &&
		  nvw_undo(e, nvw_off_of(pmem, &c->node->high)) &&
		  nvw_undo(e, nvw_off_of(pmem, &c->node->next));

	for (unsigned i = 0; ok && i < c->moved; i++) {
		ok = nvw_undo(e, nvw_off_of(pmem, &c->node->keys[c->slots[i]])) &&
		     nvw_undo(e, nvw_off_of(pmem, &c->node->values[c->slots[i]]));
	}
	return ok;
}

static nvw_off fill_right(struct merge *m, struct change *c, const struct nvw_epoch *e, uint64_t n,
	uint64_t level, uint64_t *ret_low)
{
	const nvw_off off = nvw_pmalloc(e->pmem, BTREE_NODE_BYTES, e);
	struct btree_node *const node = at(e->pmem, off);
	uint64_t key, value;
	int slot;

	for (uint64_t i = 0; i < n && merge_next(m, c->node, &key, &value, &slot); i++) {
		if (i == 0) {
			*ret_low = key;
		}
		nvw_store(&node->keys[i], key);
		nvw_store(&node->values[i], value);
	}
	nvw_store(&node->bitmap, (UINT64_C(1) << n) - 1);
	nvw_store(&node->level, level);
	return off;
}

/* Splits the node into as many as it takes; the separators replace the run's entries. A separator's place
 * in the arrays is never past entries already read: a new node takes at least as many. */
static uint64_t split(const struct btree_args *a, struct change *c, const struct nvw_epoch *e, uint64_t run,
	uint64_t n, uint64_t level)
{
	struct merge m = {.a = a, .run = run, .end = run + n};
	const nvw_off old_next = nvw_load(&c->node->next);
	const uint64_t old_high = nvw_load(&c->node->high);

	load_sorted(c->node, c->bitmap, &m.old);

	const uint64_t total = m.old.count + n;
	const uint64_t nodes = (total + BTREE_FILL - 1) / BTREE_FILL;
	struct btree_node *last = NULL;
	nvw_off first_off = 0;
	uint64_t low = 0, first_low = 0, made = 0, left = total;
	/* Separators of nodes that old entries fill could overtake the entries not read yet: those wait. */
	uint64_t waiting_keys[4], waiting_nodes[4], waiting = 0;

	c->is_split = true;
	keep_left(&m, c, left / nodes);
	left -= left / nodes;
	for (uint64_t k = nodes - 1; k > 0; k--) {
		const uint64_t share = left / k;
		const nvw_off off = fill_right(&m, c, e, share, level, &low);

		left -= share;
		if (last == NULL) {
			first_off = off;
			first_low = low;
		} else {
			nvw_store(&last->next, off);
			nvw_store(&last->high, low - 1);
		}
		last = at(e->pmem, off);
		waiting_keys[waiting] = low;
		waiting_nodes[waiting++] = off;
		for (uint64_t i = 0; waiting != 0 && (run + made < m.run || k == 1); i++) {
			nvw_store(&a->keys[run + made], waiting_keys[0]);
			nvw_store(&a->values[run + made++], waiting_nodes[0]);
			waiting--;
			for (uint64_t j = 0; j < waiting; j++) {
				waiting_keys[j] = waiting_keys[j + 1];
				waiting_nodes[j] = waiting_nodes[j + 1];
			}
		}
	}
	nvw_store(&last->next, old_next);
	nvw_store(&last->high, old_high);
	c->high = first_low - 1;
	c->next = first_off;
	if (a->mutation != BTREE_NO_UNDO) {
		(void)log_words(e, c); /* the log holds all words of a batch: btree_pool() */
	}
	nvw_atomic_add(a->splits, made, NVW_RELAXED, NVW_SCOPE_AGENT);
	return made;
}

static uint64_t prepare_node(const struct btree_args *a, struct change *c, const struct nvw_epoch *e,
	uint64_t run, uint64_t n, uint64_t level)
{
	c->bitmap = nvw_load(&c->node->bitmap);
	if (n <= BTREE_SLOTS - (unsigned)__builtin_popcountll(c->bitmap)) {
		if (a->mutation == BTREE_BITMAP_FIRST) {
			nvw_store(&c->node->bitmap, c->bitmap | ((~c->bitmap & -~c->bitmap)));
		}
		insert_in_place(a, c, run, n);
		return 0;
	}
	return split(a, c, e, run, n, level);
}

static void publish(const struct change *c)
{
	if (c->is_split) {
		for (unsigned i = 0; i < c->moved; i++) {
			nvw_store(&c->node->keys[c->slots[i]], c->keys[i]);
			nvw_store(&c->node->values[c->slots[i]], c->values[i]);
		}
		nvw_store(&c->node->high, c->high);
		nvw_store(&c->node->next, c->next);
	}
	nvw_store(&c->node->bitmap, c->bitmap);
}

/* ---- A level -------------------------------------------------------------------------------------- */

/* Takes over the entries of the runs to the right with the same node; true if this run leads. */
static bool gather(const struct btree_args *a, uint64_t run, nvw_off node, uint64_t *ret_n, uint64_t *ret_next)
{
	const uint64_t prev = nvw_load(&a->prev[run]);
	uint64_t n = nvw_load(&a->counts[run]), next = nvw_load(&a->next[run]);

	if (prev != UINT64_MAX && nvw_load(&a->nodes[prev]) == node) {
		return false;
	}
	while (next < a->count && nvw_load(&a->nodes[next]) == node) {
		const uint64_t more = nvw_load(&a->counts[next]);

		for (uint64_t i = 0; i < more; i++, n++) {
			if (run + n != next + i) {
				nvw_store(&a->keys[run + n], nvw_load(&a->keys[next + i]));
				nvw_store(&a->values[run + n], nvw_load(&a->values[next + i]));
			}
		}
		next = nvw_load(&a->next[next]);
	}
	*ret_n = n;
	*ret_next = next;
	return true;
}

/* One epoch. Every work-item comes along for the barriers; true if it leads a run afterwards. */
static bool pass(const struct btree_args *a, struct nvw_epoch *e, uint64_t me, uint64_t level, nvw_off node)
{
	struct change c = {.node = NULL};
	uint64_t n = 0, next = 0, made = 0;
	const bool leads = node != 0 && gather(a, me, node, &n, &next);

	if (leads && n != 0) {
		c.node = at(&a->pmem, node);
		made = prepare_node(a, &c, e, me, n, level);
	}
	if (a->mutation == BTREE_SKIP_LOG_BARRIER) {
		nvw_barrier(NVW_KERNEL);
	} else {
		meet();
	}
	if (a->mutation == BTREE_COMPLETE_FIRST && me == 0) {
		nvw_epoch_complete(&(struct nvw_epoch){e->pmem, e->stream, e->number});
		nvw_p_barrier_wi();
	}
	if (leads) {
		nvw_store(&a->counts[me], made);
		nvw_store(&a->next[me], next);
		if (next < a->count) {
			nvw_store(&a->prev[next], me);
		}
	}
	if (c.node != NULL) {
		publish(&c);
	}
	meet();
	if (me == 0 && a->mutation != BTREE_COMPLETE_FIRST) {
		nvw_epoch_complete(e);
	}
	if (me == 0) {
		nvw_undo_reset(e);
	}
	meet();
	return leads;
}

void btree_insert(const void *args)
{
	const struct btree_args *const a = args;
	const uint64_t me = nvw_global_id();
	bool leads = me < a->count;
	uint64_t key = 0;

	if (leads) {
		key = nvw_load(&a->keys[me]);
		nvw_store(&a->counts[me], 1);
		nvw_store(&a->next[me], me + 1);
		nvw_store(&a->prev[me], me - 1); /* of the first: UINT64_MAX */
	}
	for (uint64_t level = 0; level <= a->root_level; level++) {
		struct nvw_epoch e = nvw_epoch_begin(&a->pmem, 0);
		const nvw_off node = leads ? find(&a->pmem, a->root_level, level, key) : 0;

		if (leads) {
			nvw_store(&a->nodes[me], node);
		}
		nvw_barrier(NVW_KERNEL);
		leads = pass(a, &e, me, level, node);
		if (level == 0 && me < a->count) {
			nvw_ack(a->first_op + me);
		}
	}
}

/* ---- Root ----------------------------------------------------------------------------------------- */

static nvw_off new_root(const struct nvw_pmem *pmem, uint64_t level, nvw_off child)
{
	const nvw_off off = nvw_pmalloc(pmem, BTREE_NODE_BYTES, NULL);
	struct btree_node *const n = at(pmem, off);

	nvw_store(&n->keys[0], 0);
	nvw_store(&n->values[0], child);
	nvw_store(&n->bitmap, child != 0);
	nvw_store(&n->high, UINT64_MAX);
	nvw_store(&n->next, 0);
	nvw_store(&n->level, level);
	nvw_p_barrier_wi();
	nvw_store(root_word(pmem), off);
	nvw_p_barrier_wi();
	return off;
}

void btree_create(const void *args)
{
	const struct btree_args *const a = args;

	if (nvw_global_id() == 0) {
		(void)new_root(&a->pmem, 0, 0);
	}
}

/* Run 0 holds the separators of the root's split; without roots above it they are reached by next. */
void btree_grow(const void *args)
{
	const struct btree_args *const a = args;

	for (uint64_t level = a->root_level + 1; nvw_load(&a->counts[0]) != 0; level++) {
		const nvw_off old = nvw_load(root_word(&a->pmem));
		const nvw_off root = new_root(&a->pmem, level, old);
		struct nvw_epoch e = nvw_epoch_begin(&a->pmem, 0);

		(void)pass(a, &e, nvw_global_id(), level, root);
	}
}
