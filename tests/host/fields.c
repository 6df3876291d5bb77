/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores to fields of persistent structures, in the ways in which C stores.
 *
 *	fields run POOL		stores, and prints of each that has one name: name, offset in the file, bytes
 *	fields check POOL	nothing is lost behind a flag that is durable
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <libpmem.h>

struct slot {
	uint64_t key, value;
};

struct entry {
	uint32_t size;
	uint16_t kind, flags;
	char name[24];
};

struct node {
	uint64_t count;
	uint8_t tag;
	unsigned low : 3, high : 9;
	struct slot slots[6];
	_Atomic uint64_t head;
	struct entry entry;
	struct node *next;
	uint32_t words[8];
};

struct pool {
	char before[56]; /* so that the pair straddles two lines */
	struct slot pair;
	char between[56];
	struct node node;
	uint64_t flag;
};

static const char *base;

/* The truth, by the compiler's own offsets. */
static void say(const char *name, const void *at, size_t bytes)
{
	printf("%s\t%zu\t%zu\n", name, (size_t)((const char *)at - base), bytes);
}

#define SAY(object) say(#object, &(object), sizeof(object))

__attribute__((noinline)) static void store_fields(struct node *node, int i, uint64_t v)
{
	node->count = v;
	SAY(node->count);
	node->tag = (uint8_t)v, node->next = node;
	SAY(node->tag);
	SAY(node->next);
	node->slots[3].value = v;
	SAY(node->slots[3].value);
	node->slots[i].key = v;
	SAY(node->slots[i].key);
	node->high = 5;
	node->words[2]++;
	SAY(node->words[2]);
	--node->words[i];
	SAY(node->words[i]);
	*(&node->entry.size) = 9;
	SAY(*(&node->entry.size));
	((struct node *)(void *)node)->entry.kind = 4;
	say("((struct node*)(void*)node)->entry.kind", &node->entry.kind, sizeof node->entry.kind);
	if (v > 1)
		node->entry.flags = 1;
	else
		node->words[0] = 2;
	SAY(node->entry.flags);
}

__attribute__((noinline)) static void store_pair(struct pool *pool, const struct slot *from)
{
	pool->pair = *from;
	SAY(pool->pair.key);
	SAY(pool->pair.value);
}

__attribute__((noinline)) static void store_atomics(struct node *node, uint64_t v)
{
	atomic_store(&node->head, v);
	SAY(node->head);
	atomic_fetch_add_explicit(&node->head, v, memory_order_relaxed);
	__atomic_store_n(&node->words[4], 7, __ATOMIC_RELEASE);
	SAY(node->words[4]);
}

__attribute__((noinline)) static void store_copies(struct node *node, const struct entry *from, int i)
{
	memcpy(&node->entry, from, sizeof *from);
	SAY(node->entry.name);
	pmem_memcpy_persist(&node->slots[i], "0123456789abcdef", sizeof node->slots[i]);
	SAY(node->slots[i].key);
	SAY(node->slots[i].value);
	strcpy(node->entry.name, "a longer name");
}

static void run(struct pool *pool, int i)
{
	const struct slot pair = {0x1111111111111111, 0x2222222222222222};
	const struct entry entry = {.size = 3, .kind = 1, .flags = 2, .name = "the name of an entry"};

	store_fields(&pool->node, i, 77);
	store_atomics(&pool->node, 78);
	store_copies(&pool->node, &entry, i);
	pmem_persist(&pool->node, sizeof pool->node);
	store_pair(pool, &pair);
	pool->flag = 1;
	pmem_persist(&pool->flag, sizeof pool->flag);
	SAY(pool->flag);
}

int main(int argc, char **argv)
{
	size_t n;
	struct pool *const pool =
		argc == 3 ? pmem_map_file(argv[2], 4096, PMEM_FILE_CREATE, 0600, &n, NULL) : NULL;

	if (pool == NULL) {
		return 2;
	}
	base = (const char *)pool;
	if (strcmp(argv[1], "run") == 0) {
		run(pool, argc + 2);
		return 0;
	}
	if (pool->flag == 1 && pool->pair.value == 0) {
		puts("the flag is set, and the pair is not there");
		return 1;
	}
	return 0;
}
