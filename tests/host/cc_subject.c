/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that nvwave-cc builds: "cc_subject MODE FILE [NUMBER]". It does what must be recorded, and
 * writes to the file "expected" what the log of that must say, a record a line: what it is, its source line,
 * offset, bytes, value.
 */
#include <cpuid.h>
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 14, THREADS = 4, ROUNDS = 500 };

/* Shared with what is forked: what the file must hold, whether something was flushed and not fenced. */
static struct {
	uint8_t bytes[BYTES];
	bool flushed;
} * model;
static uint8_t *pool;
static FILE *expected;
static bool has_clwb, has_clflushopt;

int registers_survive(void *line, void *before, void *after); /* cc_registers.S */
int shared_store(uint64_t *at, uint64_t value);               /* cc_shared.c */
void plain_store(volatile uint64_t *at, uint64_t value);      /* cc_plain.c, which nvwave-cc does not see */

/* ---- What is expected ------------------------------------------------------------------------- */

static size_t offset(const volatile void *at)
{
	return (size_t)((const volatile uint8_t *)at - pool);
}

/* A store of these bytes: of each word that it changes, one record. */
static void stores(int line, const volatile void *at, const void *data, size_t n)
{
	for (size_t i = 0; i < n;) {
		const size_t off = offset(at) + i, rest = 8 - off % 8, part = n - i < rest ? n - i : rest;
		uint64_t value = 0;

		memcpy(&value, (const uint8_t *)data + i, part);
		if (memcmp(model->bytes + off, &value, part) != 0) {
			fprintf(expected, "store %d %zu %zu %llu\n", line, off, part,
				(unsigned long long)value);
			memcpy(model->bytes + off, &value, part);
		}
		i += part;
	}
}

static void flushes(int line, const volatile void *at, size_t n, const char *how)
{
	const size_t from = offset(at) & ~(size_t)63, to = (offset(at) + n + 63) & ~(size_t)63;

	fprintf(expected, "%s %d %zu %zu 0\n", how, line, from, to - from);
	model->flushed = true;
}

static void fences(int line)
{
	fprintf(expected, "fence %d 0 0 0\n", line);
	model->flushed = false;
}

/* A locked instruction, which fences if there is anything to. */
static void locks(int line, const volatile void *at, const void *data, size_t n)
{
	if (model->flushed) {
		fences(line);
	}
	stores(line, at, data, n);
}

/* ---- What is done: action and expectation on one line ----------------------------------------- */

struct wide {
	uint64_t word[9];
};
struct __attribute__((packed)) crooked {
	uint8_t skip;
	uint64_t value;
};

typedef void operation(volatile uint8_t *at, uint64_t v);

#define OPERATION(name) static __attribute__((noinline)) void name(volatile uint8_t *at, uint64_t v)

#define AT                  ((const void *)at)
#define STORED(from, bytes) stores(__LINE__, at, from, bytes)
#define LOCKED(from, bytes) locks(__LINE__, at, from, bytes)
#define FLUSHED(bytes)      flushes(__LINE__, at, bytes, "flush")
#define SWAP(at, old, new) \
	__atomic_compare_exchange_n(at, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* clang-format off */
OPERATION(store_1) { *at = (uint8_t)v; STORED(&v, 1); }
OPERATION(store_2) { *(volatile uint16_t *)at = (uint16_t)v; STORED(&v, 2); }
OPERATION(store_4) { *(volatile uint32_t *)at = (uint32_t)v; STORED(&v, 4); }
OPERATION(store_8) { *(uint64_t *)at = v; STORED(&v, 8); }
OPERATION(store_16) { const __m128i x = _mm_set1_epi64x((long long)v); *(__m128i *)at = x; STORED(&x, 16); }
OPERATION(store_crooked) { ((struct crooked *)at)->value = v; stores(__LINE__, at + 1, &v, 8); }
OPERATION(store_wide) {
	const struct wide w = {{v, 1, v, 2, v, 3, v, 4, v}};
	*(struct wide *)at = w; STORED(&w, sizeof w);
}
OPERATION(add_4) { *(uint32_t *)at += (uint32_t)v; STORED(AT, 4); }
OPERATION(copy) {
	uint64_t w[20] = {v, v + 1, v + 2, v, v};
	memcpy((void *)at, w, 40 + v % 100); STORED(w, 40 + v % 100);
}
OPERATION(move) {
	uint8_t w[64];
	memset(w, (int)v, 64);
	memmove((void *)(at + 3), w, 13); stores(__LINE__, at + 3, w, 13);
}
OPERATION(fill) { uint8_t w[64]; memset(w, (int)v, 64); memset((void *)at, (int)v, 24); STORED(w, 24); }
OPERATION(text) {
	char t[32];
	snprintf(t, sizeof t, "%llu", (unsigned long long)v);
	strcpy((char *)at, t); STORED(t, strlen(t) + 1);
}

OPERATION(fetch_add) { __atomic_fetch_add((uint64_t *)at, v, __ATOMIC_RELAXED); LOCKED(AT, 8); }
OPERATION(fetch_xor) { __atomic_fetch_xor((uint8_t *)at, (uint8_t)v, __ATOMIC_SEQ_CST); LOCKED(AT, 1); }
OPERATION(exchange) { __atomic_exchange_n((uint32_t *)at, (uint32_t)v, __ATOMIC_SEQ_CST); LOCKED(&v, 4); }
OPERATION(put) { __atomic_store_n((uint64_t *)at, v, __ATOMIC_SEQ_CST); LOCKED(&v, 8); }
OPERATION(release) { __atomic_store_n((uint64_t *)at, v, __ATOMIC_RELEASE); STORED(&v, 8); }
OPERATION(swap) { uint64_t o = *(uint64_t *)at; SWAP((uint64_t *)at, &o, v); LOCKED(&v, 8); }
OPERATION(swap_not) { uint64_t o = *(uint64_t *)at + 1; SWAP((uint64_t *)at, &o, v); LOCKED(AT, 8); }

OPERATION(asm_move) { __asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)at) : "r"(v)); STORED(&v, 8); }
OPERATION(asm_lock) {
	__asm__ volatile("lock; addq %1, %0" : "+m"(*(uint64_t *)at) : "r"(v) : "cc"); LOCKED(AT, 8);
}
OPERATION(asm_xchg) {
	uint32_t x = (uint32_t)v;
	__asm__ volatile("xchgl %1, %0" : "+m"(*(uint32_t *)at), "+r"(x)); LOCKED(&v, 4);
}
OPERATION(stream_4) { _mm_stream_si32((int *)at, (int)v); STORED(&v, 4); FLUSHED(4); }
OPERATION(stream_8) { _mm_stream_si64((long long *)at, (long long)v); STORED(&v, 8); FLUSHED(8); }
OPERATION(stream_16) {
	const __m128i x = _mm_set1_epi64x((long long)v);
	_mm_stream_si128((__m128i *)at, x); STORED(&x, 16); FLUSHED(16);
}
OPERATION(stream_masked) {
	const __m128i x = _mm_set1_epi64x((long long)v), m = _mm_set_epi64x(0, 0x80000080);
	_mm_maskmoveu_si128(x, m, (char *)at); STORED(AT, 8); FLUSHED(16);
}

OPERATION(flush_in_order) {
	_mm_clflush((const void *)(at + v % 64)); flushes(__LINE__, at + v % 64, 1, "ordered");
}
OPERATION(flush_weakly) { __asm__ volatile(".byte 0x66; clflush %0" : "+m"(*at)); FLUSHED(1); }
OPERATION(write_back) { __asm__ volatile("clwb %0" : "+m"(*at)); FLUSHED(1); }
OPERATION(write_back_old) { __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(*at)); FLUSHED(1); }
OPERATION(fence_stores) { _mm_sfence(); fences(__LINE__); }
OPERATION(fence_all) { _mm_mfence(); fences(__LINE__); }
OPERATION(fence_c11) { __atomic_thread_fence(__ATOMIC_SEQ_CST); fences(__LINE__); }
OPERATION(fence_none) { __atomic_thread_fence(__ATOMIC_RELEASE); }
OPERATION(call_shared) { const int line = shared_store((uint64_t *)at, v); stores(line, at, &v, 8); }
/* clang-format on */

/* Each clears the line of weaker processors' doubts: what they lack comes last. */
static operation *const operations[] = {store_1, store_2, store_4, store_8, store_16, store_crooked,
	store_wide, add_4, copy, move, fill, text, fetch_add, fetch_xor, exchange, put, release, swap,
	swap_not, asm_move, asm_lock, asm_xchg, stream_4, stream_8, stream_16, stream_masked, flush_in_order,
	fence_stores, fence_all, fence_c11, fence_none, call_shared, flush_weakly, write_back,
	write_back_old};

static unsigned operation_count(void)
{
	const unsigned n = sizeof operations / sizeof *operations;

	return has_clwb ? n : has_clflushopt ? n - 2 : n - 3;
}

/* ---- Modes ------------------------------------------------------------------------------------ */

/* Each once, on a line of its own, flushed before a fence where that matters. */
static int kinds(unsigned number)
{
	for (unsigned i = 0; i < operation_count(); i++) {
		volatile uint8_t *const line = pool + 256 * i;

		store_8(line + 192, i + 1);
		flush_in_order(line + 192, 0);
		operations[i](line, 0x8182838485868788 + i);
		fence_stores(line, 0);
		fence_all(line, 0);
	}
	return 0;
}

static int randomly(unsigned seed)
{
	srandom(seed);
	for (unsigned i = 0; i < 2000; i++) {
		const unsigned what = (unsigned)random() % operation_count();
		const size_t at = ((size_t)random() % 48) * 16; /* few lines: their order within matters */
		const uint64_t v = (uint64_t)random() << 31 ^ (uint64_t)random();

		operations[what](pool + at, v);
	}
	return 0;
}

static int registers(unsigned number)
{
	static uint64_t before[128], after[128];
	const int failed = registers_survive(pool + 64, before, after);

	/*
	 * Taking them is by stores that are watched, too: the first is what was set. Carry, zero, direction;
	 * %rbx.
	 */
	if ((before[97] & 0x441) != 0x441 || before[0] != 0x1122334455667701) {
		printf("flags %llx, rbx %llx\n", (unsigned long long)before[97],
			(unsigned long long)before[0]);
		return 1;
	}
	for (unsigned k = 8; k <= 128; k += 8) {
		if (before[64 + k / 8] != k) {
			printf("%u below the stack pointer is %llx\n", k,
				(unsigned long long)before[64 + k / 8]);
			return 1;
		}
	}
	for (unsigned i = 0; i < 128; i++) {
		if (before[i] != after[i]) {
			printf("word %u is %llx, was %llx\n", i, (unsigned long long)after[i],
				(unsigned long long)before[i]);
			return 1;
		}
	}
	if (__builtin_cpu_supports("avx")) {
		uint64_t wide[4] = {1, 2, 3, 4}, out[4];

		__asm__ volatile(
			"vmovdqu %1, %%ymm3; clflush (%2); mfence; lock; incq (%2); movntiq %2, 8(%2); "
			"vmovdqu %%ymm3, %0; vzeroupper"
			: "=m"(out)
			: "m"(wide), "r"(pool + 128)
			: "xmm3", "cc", "memory");
		return failed || memcmp(wide, out, sizeof wide) != 0;
	}
	return failed;
}

static jmp_buf back;

static __attribute__((noinline)) void leap(void)
{
	store_8(pool + 8, 2);
	longjmp(back, 1);
}

static int jumps(unsigned number)
{
	for (volatile int i = 0; i < 3; i++) {
		if (setjmp(back) == 0) {
			store_8(pool, (uint64_t)i + 1);
			leap();
		}
		store_8(pool + 16, (uint64_t)i + 5);
		flush_in_order(pool, 0);
		fence_all(pool, 0);
	}
	return 0;
}

static int forks(unsigned number)
{
	store_8(pool, 1);
	store_8(pool + 8, 2);
	fflush(expected);
	const pid_t pid = fork();

	if (pid == 0) {
		store_8(pool + 16, 3);
		flush_in_order(pool, 0);
		store_8(pool + 64, 4);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	store_8(pool + 24, 5);
	flush_in_order(pool, 0);
	fence_all(pool, 0);
	return 0;
}

static int quits(unsigned number)
{
	store_8(pool, 1);
	store_8(pool + 8, 2);
	fflush(expected);
	_exit(0);
}

static void *count(void *argument)
{
	volatile uint64_t *const own = argument;

	for (unsigned i = 0; i < ROUNDS; i++) {
		__atomic_fetch_add((uint64_t *)pool, 1, __ATOMIC_SEQ_CST);
		own[0] = i + 1;
		own[1] = i + 1;
	}
	return NULL;
}

/* The first word is counted up by all, and each has two words of its own. */
static int threads(unsigned number)
{
	pthread_t thread[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		pthread_create(&thread[i], NULL, count, pool + 64 * (i + 1));
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
	}
	return *(volatile uint64_t *)pool == THREADS * ROUNDS ? 0 : 1;
}

static volatile sig_atomic_t handled;

static void handle(int signal)
{
	volatile uint64_t *const at = (volatile uint64_t *)(pool + 1024);

	at[0] += 1;
	at[1] = at[0];
	_mm_clflush((const void *)at);
	_mm_sfence();
	__atomic_fetch_add((uint64_t *)(pool + 1088), 1, __ATOMIC_SEQ_CST);
	handled++;
}

static int signals(unsigned number)
{
	const struct itimerval every = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}},
			       never = {0};

	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned i = 0; handled < 100; i++) {
		volatile uint64_t *const at = (volatile uint64_t *)(pool + 64 * (i % 8));

		at[0] = i;
		at[1] = i;
		_mm_clflush((const void *)at);
		_mm_mfence();
		__atomic_fetch_add((uint64_t *)(pool + 2048), 1, __ATOMIC_SEQ_CST);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	return 0;
}

static __attribute__((noinline)) void count_step(void)
{
	*(volatile uint64_t *)(pool + 1024) += 1;
}

/* Always from another depth, so that no stack that is remembered serves again. */
static void handle_step(int signal)
{
	volatile char room[16 + 16 * (handled % (1 << 14))];

	room[0] = 0;
	count_step();
	(void)room[0];
	handled++;
}

/* Switches single steps on or off. */
#define STEP(instruction)                                                     \
	__asm__ volatile("lea -128(%%rsp), %%rsp\n	pushf\n	" instruction \
			 ", (%%rsp)\n	popf\n	lea 128(%%rsp), %%rsp" ::     \
				 : "memory", "cc")

/*
 * The handler comes behind every instruction of a fence, with what was inserted for it and what that calls.
 */
static int steps(unsigned number)
{
	volatile uintptr_t no_code[64]; /* where a wrong stack pointer finds return addresses */

	for (unsigned i = 0; i < 64; i++) {
		no_code[i] = 0xa00;
	}
	signal(SIGTRAP, handle_step);
	for (unsigned i = 0; i < 9; i++) { /* what only the first fence does is not of interest */
		*(volatile uint64_t *)pool = i + no_code[i];
		if (i == 1) {
			STEP("orl $0x100");
		}
		_mm_mfence();
	}
	STEP("andl $~0x100");
	return handled > 100 ? 0 : 1;
}

/* In one line: ours, another's, ours. */
static int mixed(unsigned number)
{
	volatile uint64_t *const at = (volatile uint64_t *)pool;

	at[0] = 1;
	plain_store(&at[1], 2);
	at[2] = 3;
	plain_store(&at[3], 4);
	plain_store(&at[20], 5);
	_mm_clflush((const void *)at);
	_mm_mfence();
	return 0;
}

static __attribute__((noinline)) struct wide make(uint64_t v)
{
	return (struct wide){{v, v + 1, v + 2, v + 3}};
}

/* Stores that some compiler does not announce. */
static int unannounced(unsigned number)
{
	struct bits {
		unsigned x : 3, y : 11, z : 18;
	} *const b = (struct bits *)(pool + 128);
	const volatile uint64_t v = 5;

	*(struct wide *)pool = make(v);
	fence_all(pool, 0);
	b->x = 5;
	fence_all(pool, 0);
	b->y += (unsigned)v;
	fence_all(pool, 0);
	__builtin_memcpy(pool + 192, "sixteen letters", 16);
	fence_all(pool, 0);
	*(volatile long double *)(pool + 256) = (long double)v;
	fence_all(pool, 0);
	__asm__ volatile("movups %%xmm0, %0; incl %1; setnz %2"
			 : "=m"(pool[320]), "+m"(*(int *)(pool + 340)), "=m"(pool[344])::"cc", "memory");
	fence_all(pool, 0);
	return 0;
}

static void look_at_processor(void)
{
	unsigned a, b = 0, c, d;

	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	has_clflushopt = b >> 23 & 1;
	has_clwb = has_clflushopt && (b >> 24 & 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(unsigned number);
	} modes[] = {{"kinds", kinds}, {"random", randomly}, {"registers", registers}, {"jumps", jumps},
		{"forks", forks}, {"quits", quits}, {"threads", threads}, {"signals", signals},
		{"steps", steps}, {"mixed", mixed}, {"unannounced", unannounced}};
	const int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;

	look_at_processor();
	model = mmap(NULL, sizeof *model, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expected = fopen("expected", "w");
	if (fd < 0 || ftruncate(fd, BYTES) || model == MAP_FAILED || expected == NULL) {
		return 2;
	}
	pool = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (unsigned i = 0; pool != MAP_FAILED && i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(argv[1], modes[i].name) == 0) {
			const int status = modes[i].run(argc > 3 ? (unsigned)atoi(argv[3]) : 0);

			fflush(expected);
			return status;
		}
	}
	return 2;
}
