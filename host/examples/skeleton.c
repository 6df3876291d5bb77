/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to put around a persistent structure to have it crash-tested well: a pool at a fixed address, a driver
 * that says what it has acknowledged (nvw/ack.h), an oracle, and going on after the crash. The structure here
 * is a small hash table with plain pointers; replace it by your own (the part between the two lines of '=')
 * and keep the rest.
 *
 *	skeleton run POOL N [BUG]           N operations, each announced, carried out, and acknowledged
 *	skeleton check POOL                 for --check: 0: what the pool holds is right, and stays right when
 *					    it is used further
 *	skeleton look POOL                  the same without further use: it misses the bug forgets
 *	skeleton --recover-and-print POOL   for --oracle=replay: what the pool holds
 *	skeleton go-on POOL                 for --and-then: more operations, whatever the pool holds
 *
 *	nvwave crash --exec='skeleton run pool 24' --image=pool --check='skeleton check'
 *	nvwave crash --exec='skeleton run pool 24' --image=pool --oracle=replay --and-then='skeleton go-on'
 *
 * Operation number i is the same in every run: the oracle knows without the pool what it must hold after n of
 * them.
 *
 * BUG is one to plant:
 *	early     a node is published before it is durable
 *	lazy      a changed value is not flushed
 *	forgets   the allocator's mark is not flushed: all look-ups are right after a crash, until a node is
 *		  handed out again
 */
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nvw/ack.h>

enum { POOL_BYTES = 1 << 16, KEYS = 12, GO_ON = 16 };

static const char *bug = "";

/* ==================================================================================================== */

enum { BUCKETS = 4 };

struct node {
	uint64_t key, value;
	struct node *next;
	uint64_t unused[5]; /* a cache line each */
};

struct pool {
	uint64_t magic, unused[7];
	struct node *bucket[BUCKETS], *unused_bucket[4];
	struct node *mark; /* nodes from here on have never been used */
};

static const uint64_t magic = 0x6e6f74656c656b73;
static void *const address = (void *)0x200000000000; /* pointers in the pool hold in every process */

/* What make_pool() began and did not finish is made anew. */
static void make_pool(struct pool *p)
{
	if (p->magic != magic) {
		memset(p, 0, sizeof *p);
		p->mark = (struct node *)(p + 1) + 1;
		pmem_persist(p, sizeof *p);
		p->magic = magic;
		pmem_persist(&p->magic, sizeof p->magic);
	}
}

static struct node *new_node(struct pool *p)
{
	struct node *const n = p->mark;

	p->mark = n + 1;
	if (strcmp(bug, "forgets") != 0) {
		pmem_persist(&p->mark, sizeof p->mark); /* before the node is used: at worst it is lost */
	}
	return n;
}

static struct node **find(struct pool *p, uint64_t key)
{
	struct node **link = &p->bucket[key % BUCKETS];

	while (*link != NULL && (*link)->key != key) {
		link = &(*link)->next;
	}
	return link;
}

static void put(struct pool *p, uint64_t key, uint64_t value)
{
	struct node **const link = find(p, key), **const first = &p->bucket[key % BUCKETS];

	if (*link != NULL) {
		(*link)->value = value;
		if (strcmp(bug, "lazy") != 0) {
			pmem_persist(&(*link)->value, sizeof value);
		}
		return;
	}
	struct node *const n = new_node(p);

	n->key = key;
	n->value = value;
	n->next = *first;
	if (strcmp(bug, "early") != 0) {
		pmem_persist(n, sizeof *n);
	}
	*first = n;
	pmem_persist(first, sizeof *first);
	pmem_persist(n, sizeof *n);
}

static void drop(struct pool *p, uint64_t key)
{
	struct node **const link = find(p, key);

	if (*link != NULL) {
		*link = (*link)->next;
		pmem_persist(link, sizeof *link);
	}
}

/* 0: the pool does not have the key. */
static uint64_t get(struct pool *p, uint64_t key)
{
	struct node *const n = *find(p, key);

	return n ? n->value : 0;
}

/* ==================================================================================================== */

/* ---- Operations ------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	return x ^ x >> 31;
}

struct operation {
	uint64_t key, value; /* value 0: the key is dropped */
};

static struct operation operation_number(uint64_t i)
{
	const uint64_t x = mix(i);

	return (struct operation){.key = x % KEYS, .value = x / KEYS % 4 ? i + 1 : 0};
}

static void carry_out(struct pool *p, struct operation o)
{
	if (o.value) {
		put(p, o.key, o.value);
	} else {
		drop(p, o.key);
	}
}

/* The expected content of the pool after the first n operations: in ordinary memory, by the simplest code. */
static void model_after(uint64_t n, uint64_t value[KEYS])
{
	memset(value, 0, KEYS * sizeof *value);
	for (uint64_t i = 0; i < n; i++) {
		const struct operation o = operation_number(i);

		value[o.key] = o.value;
	}
}

/* ---- The pool --------------------------------------------------------------------------------------- */

static struct pool *map(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0666);
	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, POOL_BYTES) == 0) {
		at = mmap(
			address, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	}

	if (at != address) {
		perror(path);
		exit(2);
	}
	close(fd);
	return (struct pool *)at;
}

/* ---- The driver ------------------------------------------------------------------------------------- */

static int run(struct pool *p, uint64_t n)
{
	char name[32];

	make_pool(p);
	for (uint64_t i = 0; i < n; i++) {
		const struct operation o = operation_number(i);

		snprintf(name, sizeof name, o.value ? "put %d" : "drop %d", (int)o.key);
		nvw_operation_begins(i, name);
		carry_out(p, o);
		nvw_operation_is_durable(i);
	}
	return 0;
}

/* ---- The oracle ------------------------------------------------------------------------------------- */

/* The first key whose value is not the model's, KEYS if there is none. */
static uint64_t first_difference(struct pool *p, const uint64_t value[KEYS])
{
	uint64_t key = 0;

	while (key < KEYS && get(p, key) == value[key]) {
		key++;
	}
	return key;
}

/* Operations are acknowledged in order here: "0-16" is 17 of them. */
static uint64_t acknowledged(void)
{
	const char *const text = getenv("NVWAVE_ACKNOWLEDGED");

	if (text == NULL || *text == '\0') {
		return 0;
	}
	const char *const last = strchr(text, '-');

	return strtoull(last ? last + 1 : text, NULL, 10) + 1;
}

static int is_in_flight(void)
{
	const char *const text = getenv("NVWAVE_IN_FLIGHT");

	return text != NULL && *text != '\0';
}

/* The state after n operations, or with the next one whole. Then more operations, and the same question: that
 * finds what look-ups do not see, such as memory that is handed out twice. */
static int check(struct pool *p, int goes_on)
{
	uint64_t n = acknowledged(), value[KEYS];

	if (n == 0 && !is_in_flight()) {
		return 0; /* it was being made */
	}
	make_pool(p);
	model_after(n, value);
	uint64_t wrong = first_difference(p, value);

	if (wrong < KEYS && is_in_flight()) {
		model_after(++n, value);
		if (first_difference(p, value) >= KEYS) {
			wrong = KEYS;
		}
	}
	if (wrong < KEYS) {
		printf("key %llu has value %llu\n", (unsigned long long)wrong,
			(unsigned long long)get(p, wrong));
		return 1;
	}
	for (int i = 0; goes_on && i < GO_ON; i++) {
		carry_out(p, operation_number(n++));
	}
	model_after(n, value);
	wrong = first_difference(p, value);
	if (wrong < KEYS) {
		printf("after going on, key %llu has value %llu\n", (unsigned long long)wrong,
			(unsigned long long)get(p, wrong));
	}
	return wrong < KEYS;
}

/* ---- Without an oracle ------------------------------------------------------------------------------ */

static void print(struct pool *p)
{
	for (uint64_t key = 0; key < KEYS; key++) {
		printf("key %llu: %llu\n", (unsigned long long)key, (unsigned long long)get(p, key));
	}
}

static int recover_and_print(struct pool *p)
{
	make_pool(p);
	print(p);
	return 0;
}

/* The same operations whatever the pool contains. */
static int go_on(struct pool *p)
{
	for (uint64_t i = 1000; i < 1000 + GO_ON; i++) {
		carry_out(p, operation_number(i));
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *const what =
		argc == 3 || (argc > 3 && argc < 6 && strcmp(argv[1], "run") == 0) ? argv[1] : "";

	if (strcmp(what, "run") == 0 && argc > 3) {
		if (argc > 4) {
			bug = argv[4];
		}
		return run(map(argv[2]), strtoull(argv[3], NULL, 10));
	}
	if (strcmp(what, "check") == 0) {
		return check(map(argv[2]), 1);
	}
	if (strcmp(what, "look") == 0) {
		return check(map(argv[2]), 0);
	}
	if (strcmp(what, "--recover-and-print") == 0) {
		return recover_and_print(map(argv[2]));
	}
	if (strcmp(what, "go-on") == 0) {
		return go_on(map(argv[2]));
	}
	fprintf(stderr,
		"skeleton run POOL N [BUG] | check POOL | look POOL | --recover-and-print POOL | go-on "
		"POOL\n");
	return 2;
}
