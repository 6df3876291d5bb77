/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the arguments of a launch to registers.
 *
 * A launch passes pointers to the arguments, without their types. Which register or stack word an argument travels in follows from
 * its type by the ABI, and the compiler knows: the kernel's stub takes the arguments as the kernel does, and passes their addresses
 * on. So the stub is called, once per bit, with a pattern in all registers and stack words: bit i of the number of each. What the
 * arguments then contain says which registers they came from.
 *
 * Small numbers must be extended to a word. Which ones are, the compiler's own text of the kernel said (kernel_entry.passed).
 *
 * Every word of an argument is decoded by its lowest bit, because a bool keeps no other. An argument whose address is on the stack
 * that the stub was given is a structure in memory. One whose address is itself a pattern was passed by reference. One that no
 * pattern changes is an empty structure (a functor, a lambda without captures), which travels nowhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime.h"

enum {
	BITS = 10,
	SLOTS = INTEGERS + FLOATS + STACK_WORDS,
	FIRST_ON_STACK = INTEGERS + FLOATS,
	ARGS_MAX = 256
};

enum passed { IN_WORDS, IN_MEMORY, BY_REFERENCE };

struct argument {
	enum passed passed;
	unsigned slot[2]; /* from 1; 0: none, of an empty structure */
	unsigned
		words; /* IN_MEMORY: of the structure, or up to the end of the stack if it is the last there */
	bool is_last;  /* IN_MEMORY: its true length is unknown */
	char extended; /* IN_WORDS: a small number, which the kernel expects to be extended: c, s, b, C, S; or 0 */
};

struct signature {
	const struct kernel_entry *kernel;
	struct signature *next;
	unsigned count;
	struct argument argument[];
};

/* libstdc++'s, of which every CUDA program has a copy. */
char *__cxa_demangle(const char *symbol, char *buffer, size_t *length, int *ret_status);

/* ---- Asking ------------------------------------------------------------------------------------------- */

static struct {
	unsigned bit, count;
	struct image image;
	const char *limit; /* of the stack */
	unsigned code[ARGS_MAX][2];
	enum passed passed[ARGS_MAX];
} asking;

static __thread bool is_asking; /* other host threads may launch meanwhile, and wait */

bool nvw_cuda_is_asking(void)
{
	return is_asking;
}

static void answer_one(unsigned i, const char *at)
{
	const char *const given = asking.image.stack_at;

	if ((uintptr_t)at <= 1) {
		asking.passed[i] = BY_REFERENCE;
		asking.code[i][0] |= (unsigned)(uintptr_t)at << asking.bit;
	} else if (at >= given && at < given + sizeof asking.image.stack) {
		asking.passed[i] = IN_MEMORY;
		asking.code[i][0] = FIRST_ON_STACK + (unsigned)((at - given) / 8) + 1;
	} else {
		asking.code[i][0] |= (unsigned)(at[0] & 1) << asking.bit;
		asking.code[i][1] |= (unsigned)(at[8] & 1) << asking.bit;
	}
}

void nvw_cuda_answer(void **args)
{
	const char *const lowest = __builtin_frame_address(0);

	for (unsigned i = 0; i < asking.count; i++) {
		const char *const at = args[i];

		/* Without a count, what follows the array may be anything. */
		if ((uintptr_t)at > 1 && (at < lowest || at >= asking.limit)) {
			asking.count = i;
			return;
		}
		answer_one(i, at);
	}
}

/* What the stub leaves as it is in its frame, the byte of an empty structure, is 0 then. */
static __attribute__((noinline)) void clear_stack_below(void)
{
	char room[32 << 10];

	memset(room, 0, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void ask(const struct kernel_entry *kernel, unsigned bit)
{
	union {
		const void *address;
		void (*function)(void);
	} stub = {.address = kernel->stub};
	struct image *const image = &asking.image;

	asking.bit = bit;
	for (unsigned i = 0; i < SLOTS; i++) {
		const uint64_t value = (i + 1) >> bit & 1;

		*(i < INTEGERS             ? &image->integer[i] :
			i < FIRST_ON_STACK ? &image->floating[i - INTEGERS] :
					     &image->stack[i - FIRST_ON_STACK]) = value;
	}
	image->stack_words = STACK_WORDS;
	clear_stack_below();
	nvw_cuda_enter(stub.function, image);
}

static void ask_all(const struct kernel_entry *kernel, int count)
{
	memset(&asking, 0, sizeof asking);
	asking.count = count < 0 ? ARGS_MAX : (unsigned)count;
	asking.limit = (const char *)__builtin_frame_address(0);
	is_asking = true;
	for (unsigned bit = 0; bit < BITS; bit++) {
		ask(kernel, bit);
	}
	is_asking = false;
}

/* ---- What the kernel's name says ---------------------------------------------------------------------- */

/* The parameters of a demangled name: its last parentheses. */
static const char *parameters(const char *name)
{
	const char *at = strrchr(name, ')');
	int depth = 0;

	for (; at && at >= name; at--) {
		depth += *at == ')' ? 1 : *at == '(' ? -1 : 0;
		if (depth == 0) {
			return at;
		}
	}
	return NULL;
}

/* Their number; -1: the name is not mangled. */
static int count_parameters(const char *symbol)
{
	int status, depth = 0, count = -1;
	char *const name = __cxa_demangle(symbol, NULL, NULL, &status);
	const char *at = name ? parameters(name) : NULL;

	if (at) {
		count = at[1] != ')';
		for (; *at; at++) {
			depth += strchr("(<[{", *at) ? 1 : strchr(")>]}", *at) ? -1 : 0;
			count += depth == 1 && *at == ',';
		}
	}
	free(name);
	return count;
}

const char *nvw_cuda_kernel_name(const struct kernel_entry *kernel)
{
	int status;
	char *const name = __cxa_demangle(kernel->symbol, NULL, NULL, &status);
	char *const end = name ? (char *)(uintptr_t)parameters(name) : NULL;
	char *start = name;

	if (!name || !end) {
		free(name);
		return kernel->symbol;
	}
	*end = '\0';
	if (!strncmp(name, "void ", 5)) { /* of a template */
		start = name + 5;
	}
	return start;
}

/* ---- Signatures --------------------------------------------------------------------------------------- */

static bool is_first_slot(unsigned slot, unsigned except)
{
	for (unsigned i = 0; i < asking.count; i++) {
		if (i != except && asking.code[i][0] == slot) {
			return true;
		}
	}
	return false;
}

static bool is_slot(unsigned code)
{
	return code >= 1 && code <= SLOTS;
}

/* Up to the next argument on the stack. */
static unsigned words_in_memory(unsigned i, bool *ret_is_last)
{
	unsigned end = SLOTS + 1;

	for (unsigned k = 0; k < asking.count; k++) {
		const unsigned other = asking.code[k][0];

		end = other > asking.code[i][0] && other < end ? other : end;
	}
	*ret_is_last = end == SLOTS + 1;
	return end - asking.code[i][0];
}

/* The register of the parameter, as the compiler passes them, that follows the one in a register; 0: none. */
static unsigned next_register(const char *passed, unsigned of)
{
	unsigned integers = 0, floats = 0, before = 0;

	for (; *passed; passed++) {
		const unsigned slot = *passed == 'm' ? 0 :
				      *passed == 'f' ? (floats < FLOATS ? INTEGERS + ++floats : 0) :
						       (integers < INTEGERS ? ++integers : 0);

		if (before == of) {
			return slot;
		}
		before = slot;
	}
	return 0;
}

/* What follows an argument of one word may be a copy of any register, also of its own, that the stub keeps in its frame. */
static void conclude(const struct kernel_entry *kernel, unsigned i, struct argument *to)
{
	const unsigned second = asking.code[i][1];

	to->passed = asking.passed[i];
	to->slot[0] = asking.code[i][0];
	to->slot[1] = 0;
	if (!to->slot[0]) {
		return;
	}
	if (to->passed == IN_MEMORY) {
		to->words = words_in_memory(i, &to->is_last);
	} else if (to->passed == IN_WORDS && second && to->slot[0] <= FIRST_ON_STACK &&
		   second == next_register(kernel->passed, to->slot[0]) && !is_first_slot(second, i)) {
		to->slot[1] = second;
	}
}

/* The argument whose first word is the given slot, or on the stack has the given rank from 0. */
static struct argument *with_slot(struct signature *s, unsigned number)
{
	for (unsigned i = 0; i < s->count; i++) {
		if (s->argument[i].slot[0] == number) {
			return &s->argument[i];
		}
	}
	return NULL;
}

static struct argument *with_rank(struct signature *s, unsigned rank)
{
	for (unsigned number = FIRST_ON_STACK + 1; number <= SLOTS; number++) {
		struct argument *const a = with_slot(s, number);

		if (a && rank-- == 0) {
			return a;
		}
	}
	return NULL;
}

static void note_extensions(struct signature *s)
{
	unsigned integers = 0, floats = 0, on_stack = 0;

	for (const char *p = s->kernel->passed; *p; p++) {
		struct argument *a = NULL;

		if (*p == 'm' || (*p == 'f' && floats == FLOATS) || (*p != 'f' && integers == INTEGERS)) {
			a = with_rank(s, on_stack++);
		} else if (*p == 'f') {
			floats++;
		} else {
			a = with_slot(s, ++integers);
		}
		if (a && !strchr("ifm", *p)) {
			a->extended = *p;
			a->passed = IN_WORDS;
		}
	}
}

static uint64_t extend(uint64_t word, char how)
{
	switch (how) {
	case 'b':
		return word & 1;
	case 'c':
		return (uint64_t)(int64_t)(int8_t)word;
	case 's':
		return (uint64_t)(int64_t)(int16_t)word;
	case 'C':
		return (uint8_t)word;
	case 'S':
		return (uint16_t)word;
	default:
		return word;
	}
}

static bool is_empty(unsigned i)
{
	return asking.passed[i] == IN_WORDS && asking.code[i][0] == 0;
}

/* The number of arguments that make sense: all of them, if the name gave the number. */
static unsigned sensible(int count)
{
	for (unsigned i = 0; i < asking.count; i++) {
		if (count >= 0 && is_empty(i)) {
			continue;
		}
		if (!is_slot(asking.code[i][0]) || (count < 0 && is_first_slot(asking.code[i][0], i))) {
			return i;
		}
	}
	return asking.count;
}

static const struct signature *signature_of(const struct kernel_entry *kernel)
{
	static struct signature *all;
	const int count = count_parameters(kernel->symbol);
	struct signature *s = all;

	while (s && s->kernel != kernel) {
		s = s->next;
	}
	if (s) {
		return s;
	}
	if (count > ARGS_MAX) {
		return NULL;
	}
	ask_all(kernel, count);
	asking.count = count < 0 ? sensible(count) : asking.count;
	if (count >= 0 && (asking.count != (unsigned)count || sensible(count) != (unsigned)count)) {
		return NULL;
	}
	s = calloc(1, sizeof *s + asking.count * sizeof s->argument[0]);
	if (s) {
		s->kernel = kernel;
		s->count = asking.count;
		s->next = all;
		all = s;
		for (unsigned i = 0; i < s->count; i++) {
			conclude(kernel, i, &s->argument[i]);
		}
		note_extensions(s);
	}
	return s;
}

/* ---- Arguments ---------------------------------------------------------------------------------------- */

static uint64_t *slot(struct image *image, unsigned number)
{
	const unsigned i = number - 1;

	if (i < INTEGERS) {
		return &image->integer[i];
	}
	if (i < FIRST_ON_STACK) {
		return &image->floating[i - INTEGERS];
	}
	if (image->stack_words < i - FIRST_ON_STACK + 1) {
		image->stack_words = i - FIRST_ON_STACK + 1;
	}
	return &image->stack[i - FIRST_ON_STACK];
}

/* As much as there is, if the length is unknown: what follows the structure is not read by the kernel. */
static void copy_memory(struct image *image, const struct argument *a, void *from)
{
	const unsigned first = a->slot[0] - 1 - FIRST_ON_STACK;
	struct iovec to = {&image->stack[first], 8ul * a->words}, source = {from, 8ul * a->words};
	ssize_t got = 8l * a->words;

	if (a->is_last) {
		got = process_vm_readv(getpid(), &to, 1, &source, 1, 0);
	}
	if (!a->is_last || got < 0) {
		memcpy(to.iov_base, from, to.iov_len);
		got = 8l * a->words;
	}
	(void)slot(image, a->slot[0] + (unsigned)(got + 7) / 8 - 1);
}

bool nvw_cuda_arguments(const struct kernel_entry *kernel, void **args, struct image *ret_image)
{
	const struct signature *const s = signature_of(kernel);

	if (!s) {
		fprintf(stderr, "nvwave: kernel %s: its arguments cannot be found\n",
			nvw_cuda_kernel_name(kernel));
		return false;
	}
	ret_image->stack_words = 0;
	for (unsigned i = 0; i < s->count; i++) {
		const struct argument *const a = &s->argument[i];

		if (a->passed == IN_MEMORY) {
			copy_memory(ret_image, a, args[i]);
		} else if (a->passed == BY_REFERENCE) {
			*slot(ret_image, a->slot[0]) = (uint64_t)(uintptr_t)args[i];
		} else {
			for (unsigned w = 0; w < 2 && a->slot[w]; w++) {
				uint64_t word;

				memcpy(&word, (const char *)args[i] + 8 * w, 8);
				*slot(ret_image, a->slot[w]) = extend(word, a->extended);
			}
		}
	}
	return true;
}
