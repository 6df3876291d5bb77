/* SPDX-License-Identifier: BSD-3-Clause */
/* Vector clocks as trees with shared parts. See vclock.h. */
#include "core/each.h"
#include "core/invariant.h"
#include "vclock.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 64, FAN = 32, FAN_LOG2 = 5, CHUNK_NODES = 1024 };

/* At level 0 the lanes of a wavefront, above it the lower nodes. low and high bound all entries. */
struct vclock_node {
	uint32_t refs, level;
	uint32_t low, high;
	union {
		vclock child[FAN];
		uint32_t lane[LANES];
		struct vclock_node *next_spare;
	};
};

struct vclock_chunk {
	struct vclock_chunk *next;
	struct vclock_node nodes[CHUNK_NODES];
};

static bool is_uniform(vclock c)
{
	return c & 1;
}

static vclock uniform(uint32_t time)
{
	return (vclock)time << 1 | 1;
}

static struct vclock_node *node_of(vclock c)
{
	return (struct vclock_node *)c;
}

static uint32_t low(vclock c)
{
	if (is_uniform(c)) {
		return (uint32_t)(c >> 1);
	}
	return node_of(c)->low;
}

static uint32_t high(vclock c)
{
	if (is_uniform(c)) {
		return (uint32_t)(c >> 1);
	}
	return node_of(c)->high;
}

static vclock child(vclock c, unsigned i)
{
	NVW_DEEP_INVARIANT(i < FAN);
	if (is_uniform(c)) {
		return c;
	}
	return node_of(c)->child[i];
}

static uint32_t lane(vclock c, unsigned i)
{
	NVW_DEEP_INVARIANT(i < LANES);
	if (is_uniform(c)) {
		return (uint32_t)(c >> 1);
	}
	return node_of(c)->lane[i];
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void forget_results(struct vclock_pool *p)
{
	p->joined.result = p->marked.result = 0;
}

void vclock_reset(struct vclock_pool *p, uint64_t wavefronts)
{
	p->height = 0;
	while (p->height < 12 && UINT64_C(1) << (p->height * FAN_LOG2) < wavefronts) {
		p->height++;
	}
	p->spare = NULL;
	p->current = p->chunks;
	p->used = 0;
	forget_results(p);
}

void vclock_finish(struct vclock_pool *p)
{
	while (p->chunks) {
		struct vclock_chunk *const next = p->chunks->next;

		free(p->chunks);
		p->chunks = next;
	}
	p->current = NULL;
}

static bool next_chunk(struct vclock_pool *p)
{
	if (!p->current || !p->current->next) {
		struct vclock_chunk *const chunk = malloc(sizeof *chunk);

		if (!chunk) {
			p->failed = true;
			return false;
		}
		chunk->next = NULL;
		*(p->current ? &p->current->next : &p->chunks) = chunk;
		p->current = chunk;
	} else {
		p->current = p->current->next;
	}
	p->used = 0;
	return true;
}

static struct vclock_node *take(struct vclock_pool *p)
{
	struct vclock_node *const spare = p->spare;

	if (spare) {
		p->spare = spare->next_spare;
		return spare;
	}
	if ((!p->current || p->used == CHUNK_NODES) && !next_chunk(p)) {
		return NULL;
	}
	return &p->current->nodes[p->used++];
}

vclock vclock_keep(vclock c)
{
	NVW_DEEP_INVARIANT(is_uniform(c) || node_of(c)->refs > 0);
	if (!is_uniform(c)) {
		node_of(c)->refs++;
	}
	return c;
}

void vclock_drop(struct vclock_pool *p, vclock c)
{
	NVW_DEEP_INVARIANT(is_uniform(c) || node_of(c)->refs > 0);

	struct vclock_node *const node = node_of(c);

	if (is_uniform(c) || --node->refs) {
		return;
	}
	for (unsigned i = 0; node->level && i < FAN; i++) {
		vclock_drop(p, node->child[i]);
	}
	node->next_spare = p->spare;
	p->spare = node;
	forget_results(p);
}

/* ---- Making nodes ---------------------------------------------------------------------------- */

/* A node of these lanes. */
static vclock make_leaf(struct vclock_pool *p, const uint32_t lanes[LANES])
{
	uint32_t least = lanes[0], most = lanes[0];
	struct vclock_node *node = NULL;

	for (unsigned i = 1; i < LANES; i++) {
		if (lanes[i] < least) {
			least = lanes[i];
		}
		if (lanes[i] > most) {
			most = lanes[i];
		}
	}
	if (least != most) {
		node = take(p);
	}
	if (!node) {
		return uniform(least);
	}
	node->refs = 1;
	node->level = 0;
	node->low = least;
	node->high = most;
	memcpy(node->lane, lanes, sizeof node->lane);
	return (vclock)node;
}

/* A node over these parts; takes over their references. */
static vclock make_inner(struct vclock_pool *p, unsigned level, const vclock parts[FAN])
{
	NVW_DEEP_INVARIANT(level > 0 && level <= p->height);

	uint32_t least = low(parts[0]), most = high(parts[0]);
	struct vclock_node *node = NULL;

	for (unsigned i = 1; i < FAN; i++) {
		if (low(parts[i]) < least) {
			least = low(parts[i]);
		}
		if (high(parts[i]) > most) {
			most = high(parts[i]);
		}
	}
	if (least != most) {
		node = take(p);
	}
	if (!node) {
		NVW_EACH(part, parts, FAN) {
			vclock_drop(p, *part);
		}
		return uniform(least);
	}
	node->refs = 1;
	node->level = level;
	node->low = least;
	node->high = most;
	memcpy(node->child, parts, sizeof node->child);
	return (vclock)node;
}

/* ---- Join ------------------------------------------------------------------------------------ */

static vclock join_leaves(struct vclock_pool *p, vclock a, vclock b)
{
	uint32_t lanes[LANES], from_a = 0, from_b = 0;

	NVW_FOR(i, LANES) {
		const uint32_t x = lane(a, i), y = lane(b, i);

		lanes[i] = x > y ? x : y;
		from_a |= lanes[i] ^ x;
		from_b |= lanes[i] ^ y;
	}
	if (!from_a) {
		return vclock_keep(a);
	}
	if (!from_b) {
		return vclock_keep(b);
	}
	return make_leaf(p, lanes);
}

static vclock join(struct vclock_pool *p, vclock a, vclock b, unsigned level)
{
	NVW_DEEP_INVARIANT(level <= p->height);

	vclock parts[FAN];
	bool is_a = !is_uniform(a), is_b = !is_uniform(b);

	if (a == b || low(a) >= high(b)) {
		return vclock_keep(a);
	}
	if (low(b) >= high(a)) {
		return vclock_keep(b);
	}
	if (level == 0) {
		return join_leaves(p, a, b);
	}
	NVW_FOR(i, FAN) {
		parts[i] = join(p, child(a, i), child(b, i), level - 1);
		is_a = is_a && parts[i] == child(a, i);
		is_b = is_b && parts[i] == child(b, i);
	}
	if (is_a || is_b) {
		NVW_EACH(part, parts, FAN) {
			vclock_drop(p, *part);
		}
		return vclock_keep(is_a ? a : b);
	}
	return make_inner(p, level, parts);
}

vclock vclock_join(struct vclock_pool *p, vclock a, vclock b)
{
	if (!p->joined.result || p->joined.a != a || p->joined.b != b) {
		const vclock result = join(p, a, b, p->height);

		p->joined.a = a;
		p->joined.b = b;
		p->joined.result = result;
		return result;
	}
	return vclock_keep(p->joined.result);
}

/* ---- One wavefront --------------------------------------------------------------------------- */

static unsigned part_of(uint32_t wavefront, unsigned level)
{
	NVW_DEEP_INVARIANT(level > 0);
	return wavefront >> (level - 1) * FAN_LOG2 & (FAN - 1);
}

static vclock mark(
	struct vclock_pool *p, vclock a, uint32_t wavefront, uint64_t lanes, uint32_t time, unsigned level)
{
	vclock parts[FAN];

	if (level == 0) {
		uint32_t times[LANES];

		NVW_FOR(i, LANES) {
			times[i] = lanes >> i & 1 ? time : lane(a, i);
		}
		return make_leaf(p, times);
	}
	for (unsigned i = 0; i < FAN; i++) {
		if (i == part_of(wavefront, level)) {
			parts[i] = mark(p, child(a, i), wavefront, lanes, time, level - 1);
		} else {
			parts[i] = vclock_keep(child(a, i));
		}
	}
	return make_inner(p, level, parts);
}

vclock vclock_mark(struct vclock_pool *p, vclock a, uint32_t wavefront, uint64_t lanes, uint32_t time)
{
	NVW_DEEP_INVARIANT((uint64_t)wavefront >> p->height * FAN_LOG2 == 0);
	if (!p->marked.result || p->marked.a != a || p->marked.wavefront != wavefront ||
		p->marked.lanes != lanes || p->marked.time != time) {
		const vclock result = mark(p, a, wavefront, lanes, time, p->height);

		p->marked.a = a;
		p->marked.wavefront = wavefront;
		p->marked.lanes = lanes;
		p->marked.time = time;
		p->marked.result = result;
		return result;
	}
	return vclock_keep(p->marked.result);
}

uint64_t vclock_unknown(
	const struct vclock_pool *p, vclock a, uint32_t wavefront, uint64_t lanes, uint32_t time)
{
	uint64_t unknown = 0;

	for (unsigned level = p->height; level && !is_uniform(a); level--) {
		a = node_of(a)->child[part_of(wavefront, level)];
	}
	if (low(a) >= time) {
		return 0;
	}
	if (high(a) < time) {
		return lanes;
	}
	NVW_EACH_BIT(i, lanes) {
		unknown |= (uint64_t)(node_of(a)->lane[i] < time) << i;
	}
	return unknown;
}
