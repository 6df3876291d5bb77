/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What test_covered.py looks for in the coverage of programs. Each line with a statement that stores, flushes
 * or fences says so, and in which mode it is executed: "covered POOL put | grow | fall | fail", or by all of
 * them, or by none; a star says that it reaches the pool. Each line with a branch says how many of its two
 * ways are taken in which mode.
 */
#include <fcntl.h>
#include <emmintrin.h>
#include <libpmem.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
	uint64_t count, value[7];
	char text[64];
	_Atomic uint64_t owner;
};

static uint64_t elsewhere[8]; /* not in the pool */

static inline __attribute__((always_inline)) void flush(const void *line)
{
	__asm__ volatile("clflush %0" ::"m"(*(const char *)line) : "memory"); /* statement: put grow * */
}

static inline __attribute__((always_inline)) void fence(void)
{
	__asm__ volatile("sfence" ::: "memory"); /* statement: put grow */
}

/* With -O2 the last call of these two is a jump. */
static __attribute__((noinline)) void persist(const void *at, size_t n)
{
	pmem_persist(at, n); /* statement: grow * */
}

static __attribute__((noinline)) uint64_t take(struct pool *p)
{
	return atomic_exchange(&p->owner, 1); /* statement: grow * */
}

static __attribute__((noinline)) void wrap(struct pool *p, uint64_t most)
{
	if (p->count > most) {  /* branch: put=1 grow=2 */
		p->count = 0;   /* statement: grow * */
		_mm_clflush(p); /* statement: grow * */
	}
	if (p->text[0] == '?') {  /* branch: put=1 grow=1 */
		p->text[0] = '!'; /* statement: */
	}
}

/* It has no statement, and so its branch is none. */
static __attribute__((noinline)) uint64_t choose(const struct pool *p)
{
	uint64_t first = 0;

	while (first < 7 && p->value[first] != 0) {
		first++;
	}
	return first;
}

static __attribute__((noinline)) void put(struct pool *p, uint64_t value)
{
	wrap(p, 7 + choose(p));
	p->value[p->count % 7] = value; /* statement: put * */
	flush(p->value);
	fence();
	p->count = p->count + 1; /* statement: put * */
	flush(p);
}

static __attribute__((noinline)) void grow(struct pool *p, const char *text)
{
	memcpy(p->text, text, strlen(text) + 1); /* statement: grow * */
	pmem_flush(p->text, sizeof p->text);     /* statement: grow * */
	pmem_drain();                            /* statement: grow */
	elsewhere[take(p)] = 1;                  /* statement: grow */
	flush(p);
	fence();
	persist(p, sizeof *p);
	wrap(p, 7);
	p->count = 8; /* statement: grow * */
	wrap(p, 7);
}

__attribute__((noinline)) void never(struct pool *p);
void never(struct pool *p)
{
	if (p->count > 1) {              /* branch: */
		memset(p, 0, sizeof *p); /* statement: */
	}
	pmem_memcpy_persist(p, elsewhere, 8);      /* statement: */
	atomic_thread_fence(memory_order_seq_cst); /* statement: */
}

int main(int argc, char **argv)
{
	const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);

	if (argc < 3 || fd < 0 || ftruncate(fd, 4096)) {
		return 2;
	}
	struct pool *const p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (strcmp(argv[2], "put") == 0) {
		put(p, 3);
	} else if (strcmp(argv[2], "grow") == 0) {
		grow(p, argv[2]);
	} else if (strcmp(argv[2], "fall") == 0) {
		elsewhere[argc] = 2; /* statement: fall */
		abort();
	} else if (strcmp(argv[2], "never") == 0) {
		never(p);
	}
	return p->count > 100;
}
