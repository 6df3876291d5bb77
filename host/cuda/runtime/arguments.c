/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the arguments of a launch to registers.
 *
 * A launch passes pointers to the arguments, without their types. Which register or stack word an argument
 * travels in follows from its type by the ABI, and the compiler knows: the kernel's stub takes the arguments
 * as the kernel does, and passes their addresses on. So the stub is called, once per bit, with a pattern in
 * all registers and stack words: bit i of the number of each. What the arguments then contain says which
 * registers they came from.
 *
 * The compiler's own text of the kernel has the number of arguments, and the parameters that travel in their
 * order (kernel_entry.passed). So it says which of them take two registers, and which small numbers must be
 * extended to a word.
 *
 * Every word of an argument is decoded by its lowest bit, because a bool keeps no other. An argument whose
 * address is on the stack that the stub was given is a structure in memory. One whose address is itself a
 * pattern was passed by reference: an object that a function copies. Each work-item gets a copy of its own,
 * since it may change its parameters. One that no pattern changes is an empty structure (a functor, a lambda
 * without captures), which travels nowhere.
 */
#include <sys/uio.h>
#include <unistd.h>

#include "runtime.h"

enum {
	BITS = 13,
	SLOTS = INTEGERS + FLOATS + STACK_WORDS,
	FIRST_ON_STACK = INTEGERS + FLOATS,
	ARGS_MAX = 256
};

enum passed { IN_WORDS, IN_MEMORY, BY_REFERENCE };

struct argument {
	enum passed passed;
	unsigned slot[2]; /* from 1; 0: none, of an empty structure */
	unsigned words;   /* IN_MEMORY: of the structure */
	char extended;    /* IN_WORDS: a small number that the kernel expects extended: c, s, b, C, S; or 0 */
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
	NVW_FOR(i, asking.count) {
		answer_one(i, args[i]);
	}
}

/* What the stub leaves as it is in its frame, the byte of an empty structure, is 0 then. The frame is
 * behind all the stack words. */
static __attribute__((noinline)) void clear_stack_below(void)
{
	char room[sizeof asking.image.stack + (32 << 10)];

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

	NVW_INVARIANT(is_asking && bit < BITS);
	asking.bit = bit;
	NVW_FOR(i, SLOTS) {
		const uint64_t value = (i + 1) >> bit & 1;

		if (i < INTEGERS) {
			image->integer[i] = value;
		} else if (i < FIRST_ON_STACK) {
			image->floating[i - INTEGERS] = value;
		} else {
			image->stack[i - FIRST_ON_STACK] = value;
		}
	}
	image->stack_words = STACK_WORDS;
	clear_stack_below();
	nvw_cuda_enter(stub.function, image);
}

static void ask_all(const struct kernel_entry *kernel)
{
	memset(&asking, 0, sizeof asking);
	asking.count = (unsigned)kernel->arguments;
	is_asking = true;
	NVW_FOR(bit, BITS) {
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
		depth += (*at == ')') - (*at == '(');
		if (depth == 0) {
			return at;
		}
	}
	return NULL;
}

const char *nvw_cuda_kernel_name(const struct kernel_entry *kernel)
{
	int status;
	char *const name = __cxa_demangle(kernel->symbol, NULL, NULL, &status);
	char *start = name, *end = NULL;

	if (name) {
		end = (char *)(uintptr_t)parameters(name);
	}
	if (!end) {
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

/* The next argument, the number of the last one that travels, the next register of each class and word of
 * the stack, and the words of the structure at hand. */
struct cursor {
	unsigned argument, last, integer, floating, word, words;
};

static bool is_empty(unsigned i)
{
	return asking.passed[i] == IN_WORDS && asking.code[i][0] == 0;
}

/* Whether a slot is one that the parameter may be in: of its class, behind those before it. The cursor
 * goes behind it. */
static bool is_next(struct cursor *at, char how, unsigned slot)
{
	const bool is_on_stack = slot > FIRST_ON_STACK;
	unsigned *next = &at->integer, end = INTEGERS;

	if (is_on_stack) {
		next = &at->word;
		end = SLOTS;
	} else if (how == 'f') {
		next = &at->floating;
		end = FIRST_ON_STACK;
	}
	if (slot < *next || slot > end || (!is_on_stack && strchr("mx", how))) {
		return false;
	}
	*next = slot + 1;
	return true;
}

/* The register of the next parameter of a class; 0: there is none left. */
static unsigned next_register(const struct cursor *at, char how)
{
	if (how == 'f' && at->floating <= FIRST_ON_STACK) {
		return at->floating;
	}
	return how == 'i' && at->integer <= INTEGERS ? at->integer : 0;
}

/* Where the first argument from the given one begins that travels by its first word; 0: there is none. */
static unsigned begin_of_next(unsigned i)
{
	while (i < asking.count && is_empty(i)) {
		i++;
	}
	return i < asking.count ? asking.code[i][0] : 0;
}

/*
 * Whether a parameter is the second word of the argument that has the one before it. What follows an argument
 * of one word in the stub's frame may be a copy of any register or stack word, also of the next parameter's;
 * then that is where the next argument begins. Only behind a number of two words on the stack is a second
 * word there while registers are left.
 */
static bool is_second(const struct cursor *at, char how, const struct argument *before, unsigned second)
{
	const unsigned reg = next_register(at, how), next = begin_of_next(at->argument);

	if (!second || before->passed != IN_WORDS || before->extended || before->slot[1] ||
		before->slot[0] > FIRST_ON_STACK || next == second) {
		return false;
	}
	return second == reg || (second == at->word && reg && next != reg);
}

/* Whether an argument has nothing in its first word (an empty structure, say) and a parameter is its
 * second. */
static bool is_second_alone(const struct cursor *at, char how, unsigned i)
{
	const unsigned second = asking.code[i][1];

	return second && second == next_register(at, how) && begin_of_next(i + 1) != second;
}

/* One more parameter. False: no argument is where it travels. */
static bool conclude(struct cursor *at, char how, struct argument *arguments)
{
	NVW_INVARIANT(at->last <= at->argument && at->floating > INTEGERS && at->word > FIRST_ON_STACK);
	if (at->last) {
		struct argument *const before = &arguments[at->last - 1];
		const unsigned second = asking.code[at->last - 1][1];

		if (is_second(at, how, before, second)) {
			before->slot[1] = second;
			return is_next(at, how, second);
		}
	}
	for (; at->argument < asking.count && is_empty(at->argument); at->argument++) {
		if (is_second_alone(at, how, at->argument)) {
			arguments[at->argument].slot[1] = asking.code[at->argument][1];
			at->last = ++at->argument;
			return is_next(at, how, arguments[at->last - 1].slot[1]);
		}
	}
	const unsigned i = at->argument++;
	if (i >= asking.count || !is_next(at, how, asking.code[i][0])) {
		return false;
	}
	struct argument *const to = &arguments[i];
	at->last = at->argument;
	to->passed = asking.passed[i];
	to->slot[0] = asking.code[i][0];
	if (strchr("cCsSb", how)) {
		to->extended = how;
	}
	if (how == 'm') {
		to->words = at->words;
		return to->passed == IN_MEMORY;
	}
	/* A stub may leave a number on the stack where it is. */
	const bool is_left = to->passed == IN_MEMORY;
	if (is_left) {
		to->passed = IN_WORDS;
	}
	if (how == 'w' || how == 'x') {
		to->slot[1] = is_left ? to->slot[0] + 1 : asking.code[i][1];
		return is_next(at, how, to->slot[1]);
	}
	return true;
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

static const struct signature *signature_of(const struct kernel_entry *kernel)
{
	static struct signature *all;
	struct argument arguments[ARGS_MAX] = {0};
	struct cursor at = {0, 0, 1, INTEGERS + 1, FIRST_ON_STACK + 1, 0};
	struct signature *s = all;

	while (s && s->kernel != kernel) {
		s = s->next;
	}
	if (s) {
		return s;
	}
	if (kernel->arguments > ARGS_MAX) {
		return NULL;
	}
	ask_all(kernel);
	for (const char *how = kernel->passed, *next; *how; how = next) {
		next = how + 1 + strspn(how + 1, "0123456789");
		at.words = (unsigned)strtoul(how + 1, NULL, 10);
		if (!conclude(&at, *how, arguments)) {
			return NULL;
		}
	}
	NVW_INVARIANT(at.argument <= kernel->arguments);
	s = calloc(1, sizeof *s + at.argument * sizeof s->argument[0]);
	if (s) {
		s->kernel = kernel;
		s->count = at.argument;
		s->next = all;
		all = s;
		memcpy(s->argument, arguments, at.argument * sizeof s->argument[0]);
	}
	return s;
}

/* ---- Arguments ---------------------------------------------------------------------------------------- */

static uint64_t *slot(struct image *image, unsigned number)
{
	const unsigned i = number - 1;

	NVW_INVARIANT(number > 0 && number <= SLOTS);
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

static void copy_memory(struct image *image, const struct argument *a, const void *from)
{
	NVW_INVARIANT(a->slot[0] > FIRST_ON_STACK); /* structures are on the stack */
	memcpy(slot(image, a->slot[0]), from, 8ul * a->words);
	(void)slot(image, a->slot[0] + a->words - 1);
}

/*
 * An object that is passed by reference, kept for the work-items' copies. Its length is not known, so it is
 * as much as there is, up to what all arguments may have together.
 */
static bool keep_object(struct image *image, unsigned number, void *from)
{
	struct object *const o = &image->object[image->objects];

	NVW_INVARIANT(image->objects <= OBJECTS_MAX);
	if (image->objects == OBJECTS_MAX || (!o->bytes && !(o->bytes = malloc(OBJECT_MAX)))) {
		return false;
	}
	struct iovec to = {o->bytes, OBJECT_MAX}, source = {from, OBJECT_MAX};
	const ssize_t got = process_vm_readv(getpid(), &to, 1, &source, 1, 0);
	if (got <= 0) {
		return false;
	}
	o->length = (size_t)got;
	o->slot = number;
	o->at = (uintptr_t)from;
	image->objects++;
	(void)slot(image, number);
	return true;
}

/* With copies of the objects on the present stack, aligned as they were. */
static __attribute__((noinline)) void enter_with_objects(void (*function)(void), const struct image *image)
{
	struct image *const own = __builtin_alloca(offsetof(struct image, stack) + 8 * image->stack_words);

	memcpy(own, image, offsetof(struct image, stack) + 8 * image->stack_words);
	NVW_FOR(i, image->objects) {
		const struct object *const o = &image->object[i];
		char *const room = __builtin_alloca(o->length + OBJECT_ALIGNED);
		char *const copy = room + ((o->at - (uintptr_t)room) & (OBJECT_ALIGNED - 1));

		memcpy(copy, o->bytes, o->length);
		*slot(own, o->slot) = (uint64_t)(uintptr_t)copy;
	}
	nvw_cuda_enter(function, own);
}

void nvw_cuda_enter_kernel(void (*function)(void), struct image *image)
{
	if (image->objects) {
		enter_with_objects(function, image);
	} else {
		nvw_cuda_enter(function, image);
	}
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
	ret_image->objects = 0;
	NVW_FOR(i, s->count) {
		const struct argument *const a = &s->argument[i];

		if (a->passed == IN_MEMORY) {
			copy_memory(ret_image, a, args[i]);
		} else if (a->passed == BY_REFERENCE) {
			if (!keep_object(ret_image, a->slot[0], args[i])) {
				fprintf(stderr, "nvwave: kernel %s: its argument %u cannot be copied\n",
					nvw_cuda_kernel_name(kernel), i + 1);
				return false;
			}
		} else {
			NVW_FOR(w, 2) {
				uint64_t word;

				if (!a->slot[w]) {
					continue;
				}
				memcpy(&word, (const char *)args[i] + 8 * w, 8);
				*slot(ret_image, a->slot[w]) = extend(word, a->extended);
			}
		}
	}
	return true;
}
