/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reads POOL: stores to a word of each of some lines, so that a crash may leave any of them, and flushes them
 * together. "reads POOL check" reads them one after the other, each by another instruction, up to the first
 * one that is lost, and says which; a state fails if that is every second one. With the name of one, this
 * alone is read. So a read that is not seen gives states the answers of others.
 */
#include <emmintrin.h>
#include <fcntl.h>
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LINE = 64 };

static uint64_t by_byte(const uint8_t *at)
{
	return *(const volatile uint8_t *)(at + 3);
}

static uint64_t by_word(const uint8_t *at)
{
	return *(const volatile uint64_t *)at;
}

static uint64_t by_sum(const uint8_t *at)
{
	uint64_t sum = 0;

	__asm__ volatile("addq %1, %0" : "+r"(sum) : "m"(*(const uint64_t *)at));
	return sum;
}

static uint64_t by_test(const uint8_t *at)
{
	uint8_t is;

	__asm__ volatile("cmpl $0, %1\n setne %0" : "=q"(is) : "m"(*(const uint32_t *)at));
	return is;
}

static uint64_t by_extension(const uint8_t *at)
{
	uint64_t value;

	__asm__ volatile("movzwl %1, %k0" : "=r"(value) : "m"(*(const uint16_t *)(at + 2)));
	return value;
}

/* The word is the second half of what is loaded. */
static uint64_t by_vector(const uint8_t *at)
{
	const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at - 8));

	return (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v));
}

static uint64_t by_compared_vector(const uint8_t *at)
{
	uint32_t mask;

	__asm__ volatile("pxor %%xmm1, %%xmm1\n pcmpeqb %1, %%xmm1\n pmovmskb %%xmm1, %0"
			 : "=r"(mask)
			 : "m"(*(const __m128i *)(const void *)(at - 8))
			 : "xmm1");
	return (mask & 0xff00) != 0xff00;
}

static uint64_t by_string(const uint8_t *at)
{
	uint64_t value = 0;
	void *to = &value;
	const void *from = at;
	size_t n = sizeof value;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return value;
}

/* Not understood: the page counts as read. */
static uint64_t by_scan(const uint8_t *at)
{
	const void *to = at;
	size_t n = 8;
	uint8_t is;

	__asm__ volatile("xorl %%eax, %%eax\n repe scasb\n setne %2"
			 : "+D"(to), "+c"(n), "=q"(is)
			 :
			 : "rax", "memory");
	return is;
}

static uint64_t by_exchange(const uint8_t *at)
{
	uint64_t value = 0;

	__asm__ volatile("lock xaddq %0, %1" : "+r"(value), "+m"(*(uint64_t *)(uintptr_t)at));
	return value;
}

static uint64_t by_push(const uint8_t *at)
{
	uint64_t value;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n pushq (%1)\n popq %0\n lea 128(%%rsp), %%rsp"
			 : "=&r"(value)
			 : "r"(at)
			 : "memory");
	return value;
}

/* It stores to a part of the word first. */
static uint64_t behind_a_store(const uint8_t *at)
{
	*(volatile uint8_t *)(uintptr_t)at = 0;
	return *(const volatile uint64_t *)at;
}

static uint64_t by_comparison(const uint8_t *at)
{
	static const uint8_t zeros[8];

	return memcmp(at, zeros, 8) != 0;
}

/* As many vectors as memcmp() compares at once. */
static uint64_t by_long_comparison(const uint8_t *at)
{
	static const uint8_t zeros[300];

	return memcmp(at, zeros, sizeof zeros) != 0;
}

/* The word is the second one that the mask chooses. Without AVX-512, as by_word(). */
__attribute__((target("avx512vl"))) static uint64_t by_masked_vector(const uint8_t *at)
{
	uint64_t value = 0;

	if (!__builtin_cpu_supports("avx512vl")) {
		return by_word(at);
	}
	__asm__ volatile("kmovw %2, %%k1\n vmovdqu64 %1, %%ymm0%{%%k1%}%{z%}\n"
			 "vextracti128 $1, %%ymm0, %%xmm0\n vmovq %%xmm0, %0"
			 : "=r"(value)
			 : "m"(*(const uint64_t(*)[4])(const void *)(at - 16)), "r"(5)
			 : "xmm0", "k1");
	return value;
}

static const char *path;

static uint64_t by_file(const uint8_t *at)
{
	uint64_t value = 0;
	const int fd = open(path, O_RDONLY);
	const off_t off = (off_t)((uintptr_t)at & 4095);

	if (pread(fd, &value, 8, off) != 8) {
		value = 0;
	}
	close(fd);
	return value;
}

static uint64_t by_other_mapping(const uint8_t *at)
{
	const int fd = open(path, O_RDONLY);
	const uint8_t *const page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	const uint64_t value = page == MAP_FAILED ? 0 : *(const uint64_t *)(page + ((uintptr_t)at & 4095));

	munmap((void *)(uintptr_t)page, 4096);
	close(fd);
	return value;
}

/* Instructions whose address is in a register that they use otherwise, too, or that needs another encoding;
 * all must see the same word, and leave the address as it is. */
static uint64_t by_copies(const uint8_t *at)
{
	const uint64_t address = (uint64_t)(uintptr_t)at, word = by_word(at);
	uint64_t own = address, sum = address, part = address, half = address, other, moved, zero = 0;
	uint8_t same, second, number;

	__asm__ volatile("movq %2, %%r12\n movq (%%r12), %0\n movq %%r12, %1"
			 : "=&r"(other), "=&r"(moved)
			 : "r"(at)
			 : "r12", "memory");
	zero |= (other ^ word) | (moved ^ address);
	__asm__ volatile("movq %2, %%r13\n addq %3, %%r13\n movq -8(%%r13,%3), %0\n movq %%r13, %1"
			 : "=&r"(other), "=&r"(moved)
			 : "r"(at), "r"((uint64_t)4)
			 : "r13", "memory");
	zero |= (other ^ word) | (moved ^ (address + 4));
	__asm__ volatile("movq (%0), %0\n movzwl (%1), %k1\n movw (%2), %w2\n addq (%3), %3"
			 : "+r"(own), "+r"(half), "+r"(part), "+r"(sum)
			 :
			 : "memory");
	zero |= (own ^ word) | (half ^ (word & 0xffff)) | (sum ^ (address + word));
	zero |= part ^ ((address & ~UINT64_C(0xffff)) | (word & 0xffff));
	__asm__ volatile(
		"cmpq %3, (%3)\n sete %0\n cmpb %%ah, (%%rax)\n sete %1\n cmpw $0x1111, (%3)\n sete %2"
		: "=&r"(same), "=&r"(second), "=&r"(number)
		: "a"(at)
		: "memory");
	zero |= (same != (word == address)) | (second != ((word & 0xff) == (address >> 8 & 0xff)));
	zero |= number != ((word & 0xffff) == 0x1111);
	other = 0;
	own = word + 5;
	part = word;
	__asm__ volatile("mulq (%2)\n imulq (%2), %3"
			 : "+a"(own), "+d"(other), "+r"(at), "+r"(part)
			 :
			 : "memory");
	zero |= (own ^ (word + 5) * word) | (part ^ word * word) | ((uint64_t)(uintptr_t)at ^ address);
	return zero == 0 ? word : 0;
}

/*
 * The first access to the word multiplies the register of its address by it. A sum would be right in a copy,
 * too, which takes back what it has added to the register.
 */
static uint64_t by_product_with_base(const uint8_t *at)
{
	uint64_t product = (uint64_t)(uintptr_t)at;

	__asm__ volatile("imulq (%0), %0" : "+r"(product) : : "memory");
	return product == (uint64_t)(uintptr_t)at * by_word(at) ? by_word(at) : 0;
}

/* A state that is never read: it is overwritten. */
static uint64_t by_nothing(const uint8_t *at)
{
	*(volatile uint64_t *)(uintptr_t)at = 1;
	return *(const volatile uint64_t *)at;
}

static uint64_t by_fill(const uint8_t *at)
{
	void *to = (void *)(uintptr_t)at;
	size_t n = 8;

	__asm__ volatile("movl $1, %%eax\n rep stosb" : "+D"(to), "+c"(n) : : "rax", "memory");
	return *(const volatile uint64_t *)at;
}

static const struct {
	const char *name;
	uint64_t (*read)(const uint8_t *at);
} way[] = {{"byte", by_byte}, {"word", by_word}, {"sum", by_sum}, {"test", by_test},
	{"extension", by_extension}, {"vector", by_vector}, {"compared vector", by_compared_vector},
	{"string", by_string}, {"exchange", by_exchange}, {"push", by_push}, {"store", behind_a_store},
	{"comparison", by_comparison}, {"nothing", by_nothing}, {"fill", by_fill}, {"file", by_file},
	{"mapping", by_other_mapping}, {"scan", by_scan}, {"copies", by_copies},
	{"base", by_product_with_base}, {"masked vector", by_masked_vector},
	/* The last: behind its word there is none. */
	{"long comparison", by_long_comparison}};

enum { WAYS = sizeof way / sizeof way[0] };

static int run(uint8_t *pool)
{
	for (unsigned i = 0; i < WAYS; i++) {
		memset(pool + LINE * i + 8, 0x11, 8);
		pmem_flush(pool + LINE * i + 8, 8);
	}
	pmem_drain();
	return 0;
}

static int check(const uint8_t *pool, const char *only)
{
	for (unsigned i = 0; i < WAYS; i++) {
		if (only != NULL && strcmp(only, way[i].name) != 0) {
			continue;
		}
		if (way[i].read(pool + LINE * i + 8) == 0) {
			printf("lost: %s\n", way[i].name);
			return only != NULL || i % 2;
		}
	}
	return 0;
}

/* Asks the kernel to read from the pool. */
static int check_by_system(const uint8_t *pool)
{
	uint8_t word[8];
	int pipes[2];
	const struct iovec from = {(void *)(uintptr_t)(pool + 8), 8};

	if (pipe(pipes) || writev(pipes[1], &from, 1) != 8 || read(pipes[0], word, 8) != 8) {
		printf("the kernel does not read it\n");
		return 1;
	}
	return word[0] == 0;
}

int main(int argc, char **argv)
{
	size_t bytes;
	int is_pmem;

	path = argv[1];
	uint8_t *const pool = pmem_map_file(argv[1], 0, 0, 0, &bytes, &is_pmem);

	if (pool == NULL) {
		printf("no pool\n");
		return 3;
	}
	if (argc < 3) {
		return run(pool);
	}
	if (argc > 3 && strcmp(argv[3], "system") == 0) {
		return check_by_system(pool);
	}
	return check(pool, argv[3]);
}
