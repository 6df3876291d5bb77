/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batched parallel insertion: Algorithms 1 and 2 of gope18 5.1.
 *
 * Keys are sorted. The first of a run of keys that lead to one node *owns* the node: only it changes the
 * node. Level by level from the leaves,
 *
 *	fill	owners write new keys into free slots and create new nodes, still unreferenced, and log
 *		the words that a split will change in place
 *	-- persist barrier --
 *	publish	owners store the order word, which publishes all new keys or none; a split node's next and
 *		high change too
 *	-- persist barrier --
 *	settle	after splits, each work-group's first work-item records the completion of its epoch
 *	-- persist barrier --
 *
 * and new nodes are inserted into the parents. --barriers=paper has the second barrier alone, as the paper's
 * algorithms print it: measurements of it are the paper's, and a crash may break the tree. Barriers have
 * work-group scope on the levels that belong to a work-group (Algorithm 2), and kernel scope above them and
 * everywhere in Algorithm 1.
 *
 * STEP() marks the steps that a seeded bug may replace (mutations.c).
 */
#include "insert.h"

/* ---- Input from the level below: a sorted sequence of (key, value) ------------------------- */

struct input {
	const struct btree_item *it;
	uint64_t run, end; /* the current child run; the end of this node's run */
	uint64_t i, left;  /* position and rest of that run */
	uint64_t key, value;
	bool more;
};

static void input_next(struct input *in)
{
	const struct btree_args *const a = in->it->a;
	const unsigned below = in->it->level - 1, parity = below & 1;
	const bool near = btree_is_near(a, in->it->level);

	in->more = true;
	if (in->it->level == 0) {
		in->more = in->i < in->end;
		if (in->more) {
			in->key = nvw_load(&a->keys[in->i]);
			in->value = nvw_load(&a->values[in->i]);
			in->i++;
		}
		return;
	}
	while (!in->left) {
		uint64_t made;

		if (in->run >= in->end) {
			in->more = false;
			return;
		}
		made = STAGED(a, near, made[in->run]);
		in->left = made >> 32 == below ? (uint32_t)made : 0;
		in->i = 2 * in->run;
		in->run += STAGED(a, near, run[parity][in->run]);
	}
	in->key = STAGED(a, near, up_key[parity][in->i]);
	in->value = STAGED(a, near, up_child[parity][in->i]);
	in->i++;
	in->left--;
}

static struct input input_begin(const struct btree_item *it, uint64_t k, uint64_t end)
{
	struct input in = {.it = it, .run = k, .end = end, .i = k};

	input_next(&in);
	return in;
}

/* ---- A node as seen by its owner ----------------------------------------------------------- */

static void view_load(struct btree_view *v, const struct btree_item *it, nvw_off off)
{
	v->off = off;
	v->node = btree_node_at(it->a->pmem, off);
	v->order = nvw_load(&v->node->order);
	v->count = btree_count(v->order);
	NVW_FOR(i, v->count) {
		v->keys[i] = nvw_load(BTREE_KEY(v->node, btree_slot(v->order, i)));
	}
}

/* Number of inputs that are not in the node yet. */
static uint64_t count_new(const struct btree_view *v, const struct btree_item *it, uint64_t k, uint64_t end)
{
	uint64_t new = 0;
	unsigned i = 0;

	for (struct input in = input_begin(it, k, end); in.more; input_next(&in)) {
		while (i < v->count && v->keys[i] < in.key) {
			i++;
		}
		new += i == v->count || v->keys[i] != in.key;
	}
	return new;
}

/* ---- Fill ---------------------------------------------------------------------------------- */

static void fail(const struct btree_item *it)
{
	nvw_atomic_store(it->a->failed, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

/*
 * Writes new inputs (below limit, if there is one) into free slots; returns the order word that publishes
 * them. The first stay keys of order are v's; inputs equal to one of them are left for publish().
 */
static uint64_t add_keys(const struct btree_item *it, const struct btree_view *v, uint64_t order,
	unsigned stay, struct input *in, const uint64_t *limit)
{
	unsigned i = 0, added = 0;

	for (; in->more && (!limit || in->key < *limit); input_next(in)) {
		unsigned slot;

		while (i < stay && v->keys[i] < in->key) {
			i++;
		}
		if (i < stay && v->keys[i] == in->key) {
			continue;
		}
		slot = btree_slot(order, btree_count(order));
		PUT_SPARED(it, BTREE_KEY(v->node, slot), in->key);
		PUT_SPARED(it, BTREE_VALUE(v->node, it->a->slots, slot), in->value);
		order = btree_order_insert(order, i + added++);
	}
	return order;
}

/* Merges the node's keys from position i on with the inputs. */
struct merge {
	const struct btree_view *v;
	unsigned slots;
	unsigned i;
	struct input in;
};

static bool merge_more(const struct merge *m)
{
	return m->i < m->v->count || m->in.more;
}

static bool merge_is_old(const struct merge *m)
{
	return m->i < m->v->count && (!m->in.more || m->v->keys[m->i] < m->in.key);
}

static uint64_t merge_key(const struct merge *m)
{
	return merge_is_old(m) ? m->v->keys[m->i] : m->in.key;
}

/* Takes the next pair: an input replaces an equal key. */
static void merge_take(struct merge *m, uint64_t *ret_key, uint64_t *ret_value)
{
	*ret_key = merge_key(m);
	if (merge_is_old(m)) {
		*ret_value = nvw_load(BTREE_VALUE(m->v->node, m->slots, btree_slot(m->v->order, m->i++)));
		return;
	}
	*ret_value = m->in.value;
	m->i += m->i < m->v->count && m->v->keys[m->i] == m->in.key;
	input_next(&m->in);
}

/* Size of the left node: about its share of total, but its new keys must fit into currently free slots, since
 * a rollback restores the slots of moved keys. Advances m to that point. */
static unsigned split_point(struct merge *m, uint64_t share)
{
	unsigned free_slots = m->slots - m->v->count, stay = 0;
	uint64_t taken = 0;

	while (merge_more(m) && taken < share) {
		if (merge_is_old(m)) {
			m->i++;
			stay++;
		} else if (m->i < m->v->count && m->v->keys[m->i] == m->in.key) {
			m->i++;
			stay++;
			input_next(&m->in);
		} else if (free_slots) {
			free_slots--;
			input_next(&m->in);
		} else {
			break;
		}
		taken++;
	}
	return stay;
}

INLINE_STEP bool log_split(const struct btree_item *it, nvw_off off)
{
	static const size_t changed[] = {offsetof(struct btree_node, order),
		offsetof(struct btree_node, next), offsetof(struct btree_node, high)};

	for (unsigned i = 0; it->a->undo && i < sizeof changed / sizeof *changed; i++) {
		it->a->plan->writes[it->level] += 4;
		if (!nvw_undo(&it->epoch, off + changed[i])) {
			return false;
		}
	}
	return true;
}

static nvw_off allocate(const struct btree_item *it)
{
	it->a->plan->writes[it->level]++;
	return nvw_pmalloc(it->a->pmem, btree_node_bytes(it->a->slots), it->a->undo ? &it->epoch : NULL);
}

/* Writes a whole new node with count pairs of m. */
static void write_node(const struct btree_item *it, nvw_off off, struct merge *m, uint64_t count,
	nvw_off next, uint64_t high_if_last)
{
	struct btree_node *const node = btree_node_at(it->a->pmem, off);

	NVW_FOR(i, count) {
		uint64_t key, value;

		merge_take(m, &key, &value);
		PUT(it, BTREE_KEY(node, i), key);
		PUT(it, BTREE_VALUE(node, m->slots, i), value);
	}
	PUT(it, &node->info, btree_info(m->slots, it->level));
	PUT(it, &node->next, next);
	PUT(it, &node->high, merge_more(m) ? merge_key(m) - 1 : high_if_last);
	PUT(it, &node->order, btree_order(it->a->slots, (unsigned)count));
}

/* Writes the right part of a split: rest pairs of m into new nodes, whose lowest keys go to the parent. Each
 * key of the run has room for two nodes, because one new key before all others of a full node makes two.
 * False if the heap is full. */
static bool make_nodes(
	const struct btree_item *it, uint64_t k, struct merge *m, uint64_t rest, nvw_off *ret_first)
{
	const struct btree_args *const a = it->a;
	const bool near = btree_is_near(a, it->level + 1);
	const uint64_t nodes = btree_nodes_for(m->slots, rest), high = nvw_load(&m->v->node->high);
	const nvw_off last_next = nvw_load(&m->v->node->next);
	nvw_off off = STEP(it->replaced, allocate, it);

	*ret_first = off;
	NVW_FOR(i, nodes) {
		const uint64_t count = (rest + nodes - i - 1) / (nodes - i);
		const nvw_off next = i + 1 < nodes ? STEP(it->replaced, allocate, it) : last_next;

		if (!off || (i + 1 < nodes && !next)) {
			return false;
		}
		STAGE(a, near, up_key[it->level & 1][2 * k + i], merge_key(m));
		STAGE(a, near, up_child[it->level & 1][2 * k + i], off);
		write_node(it, off, m, count, next, high);
		rest -= count;
		off = next;
	}
	STAGE(a, near, made[k], (uint64_t)it->level << 32 | nodes);
	return true;
}

static uint64_t pairs_left(struct merge m)
{
	uint64_t count = 0, key, value;

	for (; merge_more(&m); count++) {
		if (merge_is_old(&m)) {
			m.i++;
		} else {
			merge_take(&m, &key, &value);
		}
	}
	return count;
}

/* The first stay keys stay; then come the free slots, and last the slots of moved keys. */
static uint64_t order_after_split(const struct btree_view *v, unsigned slots, unsigned stay)
{
	uint64_t order = stay;
	unsigned p = 0;

	for (unsigned i = 0; i < stay; i++, p++) {
		order |= (uint64_t)btree_slot(v->order, i) << (4 + 4 * p);
	}
	for (unsigned i = v->count; i < slots; i++, p++) {
		order |= (uint64_t)btree_slot(v->order, i) << (4 + 4 * p);
	}
	for (unsigned i = stay; i < v->count; i++, p++) {
		order |= (uint64_t)btree_slot(v->order, i) << (4 + 4 * p);
	}
	return order;
}

/* Flag in an order word to be published: the node was split. */
#define SPLIT (UINT64_C(1) << 63)

static void note_split(const struct btree_item *it)
{
	const struct btree_args *const a = it->a;
	const uint64_t mine = nvw_group_id() * BTREE_LEVELS_MAX + it->level;

	if (!btree_is_near(a, it->level + 1)) {
		nvw_atomic_add(&a->splits[it->level], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	if (btree_is_near(a, it->level)) {
		a->pad->group_splits[mine]++;
	} else {
		nvw_atomic_add(&a->group_splits[mine], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	a->plan->splits++;
}

/* After a split of the root: adds levels above it until one node is enough. Pair i of a level: */
static void pair_of(const struct btree_item *it, unsigned parity, nvw_off left, uint64_t i, uint64_t *ret_key,
	uint64_t *ret_child)
{
	*ret_key = 0;
	*ret_child = left;
	if (i > 0) {
		*ret_key = nvw_load(&it->a->up_key[parity][i - 1]);
		*ret_child = nvw_load(&it->a->up_child[parity][i - 1]);
	}
}

static nvw_off make_level(
	const struct btree_item *it, unsigned level, nvw_off left, uint64_t pairs, uint64_t nodes)
{
	const unsigned parity = (level - 1) & 1;
	const nvw_off first = STEP(it->replaced, allocate, it);
	nvw_off off = first;
	uint64_t at = 0, i;

	for (i = 0; i < nodes && off; i++) {
		const uint64_t count = (pairs - at + nodes - i - 1) / (nodes - i);
		const nvw_off next = i + 1 < nodes ? STEP(it->replaced, allocate, it) : 0;
		struct btree_node *const node = btree_node_at(it->a->pmem, off);
		uint64_t key = UINT64_MAX, child, low = 0;

		NVW_FOR(s, count) {
			pair_of(it, parity, left, at + s, &key, &child);
			if (!s) {
				low = key;
			}
			PUT(it, BTREE_KEY(node, s), key);
			PUT(it, BTREE_VALUE(node, it->a->slots, s), child);
		}
		at += count;
		if (i) {
			nvw_store(&it->a->up_key[level & 1][i - 1], low);
			nvw_store(&it->a->up_child[level & 1][i - 1], off);
		}
		if (i + 1 < nodes) {
			pair_of(it, parity, left, at, &key, &child);
		}
		PUT(it, &node->info, btree_info(it->a->slots, level));
		PUT(it, &node->next, next);
		PUT(it, &node->high, i + 1 < nodes ? key - 1 : UINT64_MAX);
		PUT(it, &node->order, btree_order(it->a->slots, (unsigned)count));
		off = next;
	}
	return i == nodes ? first : 0;
}

static void grow(const struct btree_item *it, nvw_off root)
{
	const nvw_off word = nvw_pool_root_off(&it->a->pmem->geometry, 0);
	uint64_t up = (uint32_t)nvw_load(&it->a->made[0]);
	unsigned level = it->level;

	while (up) {
		const uint64_t pairs = up + 1,
			       nodes = pairs <= it->a->slots ? 1 : btree_nodes_for(it->a->slots, pairs);

		root = make_level(it, ++level, root, pairs, nodes);
		if (!root || level + 1 == BTREE_LEVELS_MAX) {
			fail(it);
			return;
		}
		up = nodes - 1;
	}
	if (it->a->undo && !nvw_undo(&it->epoch, word)) {
		fail(it);
		return;
	}
	nvw_store(it->a->root, root);
}

/* Stages the stores that publish() makes to a split node. */
INLINE_STEP void stage_split(
	const struct btree_item *it, uint64_t k, uint64_t order, nvw_off next, uint64_t high)
{
	const struct btree_args *const a = it->a;

	STAGE(a, a->pad, order[k], order | SPLIT);
	STAGE(a, a->pad, next[k], next);
	STAGE(a, a->pad, high[k], high);
}

static void fill_split(
	const struct btree_item *it, const struct btree_view *v, uint64_t k, uint64_t end, uint64_t total)
{
	const struct btree_args *const a = it->a;
	struct merge m = {.v = v, .slots = a->slots, .in = input_begin(it, k, end)};
	const unsigned stay = split_point(&m, total / btree_nodes_for(a->slots, total));
	const uint64_t limit = merge_key(&m);
	struct input left = input_begin(it, k, end);
	uint64_t order;
	nvw_off first;

	note_split(it);
	if (!STEP(it->replaced, log_split, it, v->off) || !make_nodes(it, k, &m, pairs_left(m), &first)) {
		fail(it);
		return;
	}
	order = add_keys(it, v, order_after_split(v, a->slots, stay), stay, &left, &limit);
	STEP(it->replaced, stage_split, it, k, order, first, limit - 1);
	if (it->level + 1 == a->height) {
		grow(it, v->off);
	}
}

/* Length of the run of keys that lead through the node of k. */
static uint64_t measure(const struct btree_item *it, uint64_t k, nvw_off off)
{
	const struct btree_args *const a = it->a;
	const uint64_t first = it->level * a->n;
	const bool near = btree_is_near(a, it->level);
	const uint64_t last = it->scope == NVW_WORKGROUP ? it->end : a->n;
	uint64_t end = k;

	do {
		end += it->level ? STAGED(a, near, run[(it->level - 1) & 1][end]) : 1;
	} while (end < last && STAGED(a, near, path[first + end]) == off);
	STAGE(a, btree_is_near(a, it->level + 1), run[it->level & 1][k], end - k);
	return end;
}

/* Stages the stores that publish() makes to a node that was not split. */
INLINE_STEP void stage_slots(const struct btree_item *it, uint64_t k, uint64_t order)
{
	STAGE(it->a, it->a->pad, order[k], order);
}

static void fill_slots(const struct btree_item *it, const struct btree_view *v, uint64_t k, uint64_t end)
{
	struct input in = input_begin(it, k, end);

	if (in.more) {
		const uint64_t order = add_keys(it, v, v->order, v->count, &in, NULL);

		STEP(it->replaced, stage_slots, it, k, order);
	}
}

static void fill(const struct btree_item *it, uint64_t k, uint64_t end, nvw_off off)
{
	struct btree_view v;
	uint64_t new;

	view_load(&v, it, off);
	new = count_new(&v, it, k, end);
	if (v.count + new > it->a->slots) {
		fill_split(it, &v, k, end, v.count + new);
	} else {
		fill_slots(it, &v, k, end);
	}
}

/* ---- Publish ------------------------------------------------------------------------------- */

/* Updates the values of keys that are already in a leaf, one store each. */
static void update_values(const struct btree_item *it, uint64_t k, uint64_t end, nvw_off off, unsigned stay)
{
	struct btree_view v;
	unsigned i = 0;

	view_load(&v, it, off);
	for (struct input in = input_begin(it, k, end); in.more; input_next(&in)) {
		while (i < stay && i < v.count && v.keys[i] < in.key) {
			i++;
		}
		if (i < stay && i < v.count && v.keys[i] == in.key) {
			uint64_t *const value = BTREE_VALUE(v.node, it->a->slots, btree_slot(v.order, i));

			if (nvw_load(value) != in.value) {
				PUT_SPARED(it, value, in.value);
			}
		}
	}
}

/* One store publishes all new keys or none. */
static void publish_order(const struct btree_item *it, nvw_off off, uint64_t order)
{
	PUT(it, &btree_node_at(it->a->pmem, off)->order, order);
}

static void publish(const struct btree_item *it, uint64_t k, uint64_t end)
{
	const struct btree_args *const a = it->a;
	const nvw_off off = STAGED(a, btree_is_near(a, it->level), path[it->level * a->n + k]);
	struct btree_node *const node = btree_node_at(a->pmem, off);
	const uint64_t order = STAGED(a, a->pad, order[k]);

	if (!order) {
		return;
	}
	if (it->level == 0) {
		btree_serve_note(a->plan, a->host_ops + k, end - k, off);
	}
	if (a->undo && !(order & SPLIT)) {
		nvw_undo_spare(&it->epoch, off + offsetof(struct btree_node, order), sizeof order);
	}
	STEP(it->replaced, publish_order, it, off, order & ~SPLIT);
	if (order & SPLIT) {
		const uint64_t root = it->level + 1 == a->height ? nvw_load(a->root) : 0;

		PUT(it, &node->next, STAGED(a, a->pad, next[k]));
		PUT(it, &node->high, STAGED(a, a->pad, high[k]));
		if (root) {
			PUT(it, nvw_at(a->pmem, uint64_t, nvw_pool_root_off(&a->pmem->geometry, 0)), root);
		}
	}
	if (it->level == 0) {
		update_values(it, k, end, off, it->a->slots);
	}
}

/* ---- The kernel ---------------------------------------------------------------------------- */

static void find_paths(const struct btree_item *it)
{
	const struct btree_args *const a = it->a;
	const nvw_off root = nvw_load(nvw_at(a->pmem, uint64_t, nvw_pool_root_off(&a->pmem->geometry, 0)));

	for (uint64_t k = it->begin + nvw_local_id(); k < it->end; k += nvw_group_size()) {
		const uint64_t key = nvw_load(&a->keys[k]);
		nvw_off off = root;

		for (unsigned level = a->height; level-- > 0;) {
			off = btree_move_right(a->pmem, off, key);
			STAGE(a, btree_is_near(a, level), path[level * a->n + k], off);
			if (level) {
				off = btree_child(a->pmem, a->slots, off, key);
			}
		}
		STAGE(a, a->pad, run[0][k], 0);
		STAGE(a, a->pad, run[1][k], 0);
		if (a->pad) {
			a->pad->made[k] = UINT64_MAX;
		}
		if (!btree_is_near(a, a->height - 1)) {
			nvw_store(&a->made[k], UINT64_MAX);
		}
	}
}

/* Whether a node's run begins at k. If so, it also begins there on the levels below, where it was
 * measured. */
static bool owns(const struct btree_item *it, uint64_t k, nvw_off *ret_off)
{
	const struct btree_args *const a = it->a;
	const uint64_t first = it->level * a->n;
	const bool near = btree_is_near(a, it->level);

	if (it->level && !STAGED(a, near, run[(it->level - 1) & 1][k])) {
		return false;
	}
	*ret_off = STAGED(a, near, path[first + k]);
	/* On its own levels a work-group's first key begins a run: keys of other work-groups lead to other
	 * nodes, and their arrays are not visible yet. */
	return k == 0 || (it->scope == NVW_WORKGROUP && k == it->begin) ||
	       STAGED(a, near, path[first + k - 1]) != *ret_off;
}

static void fill_level(const struct btree_item *it, bool work)
{
	const struct btree_args *const a = it->a;

	for (uint64_t k = it->begin + nvw_local_id(); k < it->end; k += nvw_group_size()) {
		nvw_off off;
		uint64_t end;

		if (!owns(it, k, &off)) {
			continue;
		}
		end = measure(it, k, off);
		if (work) {
			STAGE(a, a->pad, order[k], 0);
			fill(it, k, end, off);
		}
	}
}

INLINE_STEP void publish_level(struct btree_item *it)
{
	for (uint64_t k = it->begin + nvw_local_id(); k < it->end; k += nvw_group_size()) {
		nvw_off off;

		if (owns(it, k, &off)) {
			publish(it, k,
				k + STAGED(it->a, btree_is_near(it->a, it->level + 1),
					    run[it->level & 1][k]));
		}
	}
}

static void acknowledge(const struct btree_item *it)
{
	if (it->level != 0 || nvw_atomic_load(it->a->failed, NVW_RELAXED, NVW_SCOPE_AGENT)) {
		return;
	}
	for (uint64_t k = it->begin + nvw_local_id(); k < it->end; k += nvw_group_size()) {
		nvw_ack(nvw_load(&it->a->ops[k]));
	}
}

/* What is left is the level of the parents: the keys are durable and found without it. */
static void end_operations(const struct btree_item *it)
{
	if (it->level != 0) {
		return;
	}
	for (uint64_t k = it->begin + nvw_local_id(); k < it->end; k += nvw_group_size()) {
		btree_end_change(it->a, it->a->host_ops[k], it->begun);
	}
}

static uint64_t splits_of_group(const struct btree_item *it, unsigned level)
{
	const uint64_t mine = nvw_group_id() * BTREE_LEVELS_MAX + level;

	if (btree_is_near(it->a, level)) {
		return it->a->pad->group_splits[mine];
	}
	return nvw_atomic_load(&it->a->group_splits[mine], NVW_RELAXED, NVW_SCOPE_AGENT);
}

static uint64_t splits_of_kernel(const struct btree_item *it, unsigned level)
{
	return nvw_atomic_load(&it->a->splits[level], NVW_RELAXED, NVW_SCOPE_AGENT);
}

bool btree_has_splits(const struct btree_item *it)
{
	return (it->scope == NVW_WORKGROUP ? splits_of_group(it, it->level) :
					     splits_of_kernel(it, it->level)) != 0;
}

static void complete(struct btree_item *it)
{
	if (!it->a->undo || !splits_of_group(it, it->level)) {
		return;
	}
	if (nvw_local_id() == 0) {
		it->a->plan->writes[it->level]++;
		nvw_epoch_complete(&it->epoch);
		nvw_undo_reset(&it->epoch);
	} else {
		it->epoch.number++;
	}
}

/* Makes new nodes, new keys and log entries durable before an update refers to them. */
static void order_data(const struct btree_item *it)
{
	PERSIST(it);
}

/* Makes the updates durable before their epoch completes and before they are acknowledged. */
static void order_updates(const struct btree_item *it)
{
	PERSIST(it);
}

/* Makes the completion durable before entries of the next level are logged. */
static void settle(struct btree_item *it)
{
	STEP(it->replaced, complete, it);
	PERSIST(it);
}

static void run_level(struct btree_item *it, bool work)
{
	fill_level(it, work);
	if (!work) {
		btree_meet(it);
		return;
	}
	it->a->plan->steps[it->level] +=
		it->scope == NVW_WORKGROUP ? nvw_local_id() == 0 : nvw_global_id() == 0;
	if (!it->a->pad) {
		STEP(it->replaced, order_data, it);
	}
	STEP(it->replaced, publish_level, it);
	STEP(it->replaced, order_updates, it);
	if (!it->a->pad && btree_has_splits(it)) {
		STEP(it->replaced, settle, it);
	}
	STEP(it->replaced, acknowledge, it);
	end_operations(it);
}

const struct btree_steps btree_steps = {
	.log_split = log_split,
	.stage_split = stage_split,
	.stage_slots = stage_slots,
	.publish = publish,
	.publish_level = publish_level,
	.complete = complete,
	.acknowledge = acknowledge,
};

void btree_insert_kernel(const void *args)
{
	const struct btree_args *const a = args;
	const struct btree_range *const range = &a->ranges[nvw_group_id()];
	struct btree_item it = {.begun = nvw_operation_begin(),
		.a = a,
		.replaced = a->replaced,
		.begin = nvw_load(&range->begin),
		.end = nvw_load(&range->end),
		.scope = a->own_levels ? NVW_WORKGROUP : NVW_KERNEL};

	if (a->undo) {
		it.epoch = nvw_epoch_begin(a->pmem, (uint32_t)nvw_group_id());
		if (nvw_local_id() == 0) {
			nvw_undo_reset(&it.epoch);
		}
	}
	find_paths(&it);
	btree_meet(&it);
	for (; it.level < a->height; it.level++) {
		const bool own = it.level < a->own_levels;

		it.scope = own ? NVW_WORKGROUP : NVW_KERNEL;
		if (it.level && it.level == a->own_levels) {
			btree_meet(&it);
		}
		if (it.level && !own && !splits_of_kernel(&it, it.level - 1)) {
			return;
		}
		run_level(&it, it.level == 0 || !own || splits_of_group(&it, it.level - 1));
	}
}
