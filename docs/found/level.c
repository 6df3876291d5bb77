// SPDX-License-Identifier: BSD-3-Clause
// Drives Level-Hashing, a published hash table in persistent memory.
//
//	level create POOL N         a table of 6 buckets, with keys 0 to N - 1
//	level insert POOL N M       keys N to M - 1
//	level expand POOL           the table grows
//	level update POOL N         each key gets another value
//	level check POOL N          keys 0 to N - 1, and the acknowledged ones, are there with their values,
//	                            and no others
//
//	nvwave crash --exec='./level insert pool 0 12' --image=pool \
//		--check='./level check {} 0' --states=2000
//		likewise with `expand pool` and `check {} 12`
#include <fcntl.h>
#include <nvw/ack.h>
#include <sys/mman.h>
#include <unistd.h>

#include "level_hashing.h"

enum { SIZE = 1 << 20, KEYS = 24 };

struct pool {
	level_hash *level;
	uint64_t next; // free bytes begin here
} *pool = (struct pool *)0x7fab00000000;

void *pmalloc(size_t size)
{
	void *p = (char *)pool + pool->next;

	pool->next += (size + 63) / 64 * 64;
	asm_clflush(&pool->next);
	return p;
}

void pfree(void *p, size_t size)
{
}

static void name(char *text, const char *kind, int number)
{
	memset(text, 0, KEY_LEN);
	snprintf(text, VALUE_LEN, "%s-%03d", kind, number);
}

// How many operations are acknowledged, from the first one on; otherwise, if nobody says so.
static int acknowledged_or(int otherwise)
{
	const char *list = getenv("NVWAVE_ACKNOWLEDGED"), *last;

	if (list == NULL || *list == 0) {
		return otherwise;
	}
	last = strchr(list, '-');
	return atoi(last == NULL ? list : last + 1) + 1;
}

// Bucket b, counted over both levels.
static const level_bucket *bucket_at(level_hash *level, uint64_t b)
{
	if (b < level->addr_capacity) {
		return &level->buckets[0][b];
	}
	return &level->buckets[1][b - level->addr_capacity];
}

// Argument i; otherwise, if there are fewer.
static int argument(int argc, char **argv, int i, int otherwise)
{
	return argc > i ? atoi(argv[i]) : otherwise;
}

static const char *fault(level_hash *level, int count, const char *kind)
{
	const int acknowledged = acknowledged_or(count);
	char key[KEY_LEN], value[KEY_LEN];

	if (level->resize_state != 0) {
		return NULL; // the program has no recovery from this
	}
	for (int i = 0; i < count || i < acknowledged; i++) {
		name(key, "key", i);
		name(value, kind, i);
		const char *found = (const char *)level_static_query(level, (uint8_t *)key);
		if (found == NULL) {
			return "an acknowledged key is lost";
		}
		if (strcmp(found, value) != 0) {
			return "a key does not have its value";
		}
	}
	for (uint64_t b = 0; b < level->total_capacity; b++) {
		const level_bucket *bucket = bucket_at(level, b);

		for (int slot = 0; slot < ASSOC_NUM; slot++) {
			if (GET_BIT(bucket->token, slot) &&
				strncmp((const char *)bucket->slot[slot].key, "key-", 4) != 0) {
				return "there is a key that nobody has inserted";
			}
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int first = argument(argc, argv, 3, 0), end = argument(argc, argv, 4, first);
	const char *found;
	char key[KEY_LEN], value[KEY_LEN];
	int fd = open(argv[2], O_RDWR | O_CREAT, 0644), out = dup(1);

	if (ftruncate(fd, SIZE) != 0 ||
		mmap(pool, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != pool) {
		return 2;
	}
	init_pflush(1000, 1);
	if (strcmp(argv[1], "create") == 0) {
		freopen("/dev/null", "w", stdout); // the table itself prints much
		pool->next = 64;
		pool->level = level_init(2);
	}
	if (strcmp(argv[1], "check") == 0) {
		found = fault(pool->level, first, argc > 4 ? argv[4] : "value");
		dprintf(out, "%s\n", found == NULL ? "right" : found);
		return found != NULL;
	}
	if (strcmp(argv[1], "expand") == 0) {
		nvw_operation_begins(0, "expand");
		level_expand(pool->level);
		nvw_operation_is_durable(0);
		return 0;
	}
	for (int i = strcmp(argv[1], "insert") == 0 ? first : 0; i < end; i++) {
		name(key, "key", i);
		name(value, strcmp(argv[1], "update") == 0 ? "other" : "value", i);
		nvw_operation_begins(i, argv[1]);
		if (strcmp(argv[1], "update") == 0) {
			level_update(pool->level, (uint8_t *)key, (uint8_t *)value);
		} else {
			level_insert(pool->level, (uint8_t *)key, (uint8_t *)value);
		}
		nvw_operation_is_durable(i);
	}
	return 0;
}
