/* SPDX-License-Identifier: BSD-3-Clause */
/* Which functions of a source flush and fence, and how near their calls are. See patch_calls.h. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/text_stream.h"

#include "patch_calls.h"
#include "patch_expression.h"
#include "../source_lines.h"
#include "../words.h"

/* ---- Reading ------------------------------------------------------------------------------------- */

bool patch_read(struct patch_reader *r, const struct patch_lines *s)
{
	struct text_stream whole;

	NVW_INVARIANT(r->texts == 0);
	if (!text_begin(&whole)) {
		return false;
	}
	NVW_EACH(line, s->line, s->count) {
		fprintf(whole.to, "%s\n", *line);
	}
	r->texts = text_end(&whole) && text_make(whole.text, whole.bytes, &r->text[0]);
	return r->texts == 1;
}

static void read_header(struct patch_reader *r, const char *path)
{
	const char *searched;
	struct text_stream whole;
	FILE *const from = cli_open_source(path, &searched);

	NVW_INVARIANT(r->texts <= PATCH_HEADERS_MAX);
	if (!from) {
		return;
	}
	const bool has_room = text_begin(&whole);

	for (int c; has_room && (c = getc(from)) != EOF;) {
		putc(NVW_OR(c, ' '), whole.to);
	}
	fclose(from);
	if (has_room && text_end(&whole)) {
		r->texts += text_make(whole.text, whole.bytes, &r->text[r->texts]);
	}
}

void patch_read_headers(struct patch_reader *r, const struct patch_lines *s)
{
	static const char begins[] = "#include \"";
	const char *const slash = strrchr(s->file, '/');
	const int folder = slash ? (int)(slash + 1 - s->file) : 0;
	char path[512];

	NVW_INVARIANT(r->texts == 1);
	for (uint32_t i = 0; i < s->count && r->texts <= PATCH_HEADERS_MAX; i++) {
		const char *const at = s->line[i] + strspn(s->line[i], " \t");
		const char *const name = at + strlen(begins);

		if (strncmp(at, begins, strlen(begins)) == 0 && strchr(name, '"') != NULL) {
			NVW_PRINT(path, "%.*s%.*s", folder, s->file, (int)strcspn(name, "\""), name);
			read_header(r, path);
		}
	}
}

void patch_reader_free(struct patch_reader *r)
{
	while (r->texts > 0) {
		text_free(&r->text[--r->texts]);
	}
}

/* ---- How far calls are --------------------------------------------------------------------------- */

/* In lines; more than FAR: in another function; NOWHERE: there is no call. */
enum { FAR = 1 << 20, NOWHERE = 2 * FAR };

/* *ret_at: the call nearest to the statement. */
static unsigned how_far(const struct patch_reader *r, const char *name, size_t *ret_at)
{
	const char *const code = r->text[0].code;
	const char *const closing = strstr(code + r->statement.to, "\n}");
	const size_t last = closing ? (size_t)(closing - code) : r->text[0].bytes;
	unsigned far = NOWHERE;

	*ret_at = SIZE_MAX;
	for (size_t at = 0; (at = text_find_word(code, at, name)) != SIZE_MAX; at++) {
		const bool outside = at < r->function || at >= last;
		const unsigned lines =
			text_lines_between(code, at, r->statement.from) + (unsigned)outside * FAR;

		if (code[text_skip_space(code, at + strlen(name))] == '(' && lines < far) {
			far = lines;
			*ret_at = at;
		}
	}
	return far;
}

static void add_call(struct patch_reader *r, const struct patch_call *c)
{
	if (r->calls < PATCH_CALLS_MAX) {
		r->call[r->calls++] = *c;
	}
}

/* ---- Libraries and instructions ------------------------------------------------------------------ */

enum { LIBRARY_CALLS = 3 };

/* What libpmem and libpmemobj have alike, behind their prefixes. */
static const struct {
	const char *suffix;
	bool flushes, fences;
} library_calls[LIBRARY_CALLS] = {
	{"persist", true, true},
	{"flush", true, false},
	{"drain", false, true},
};

static void name_library_call(char name[64], const char *prefix, unsigned i)
{
	NVW_INVARIANT(i < LIBRARY_CALLS);
	snprintf(name, 64, "%s%s", prefix, library_calls[i].suffix);
}

/* Finds the nearest of any call of a library. */
static unsigned nearest(const struct patch_reader *r, const char *prefix, size_t *ret_at)
{
	unsigned least = NOWHERE;

	*ret_at = SIZE_MAX;
	NVW_FOR(i, LIBRARY_CALLS) {
		char name[64];
		size_t at;

		name_library_call(name, prefix, i);
		const unsigned far = how_far(r, name, &at);

		if (far < least) {
			least = far;
			*ret_at = at;
		}
	}
	return least;
}

static void add_library(struct patch_reader *r, const char *prefix, const char *pool, unsigned far)
{
	NVW_FOR(i, LIBRARY_CALLS) {
		const bool flushes = library_calls[i].flushes;
		struct patch_call c = {
			.flushes = flushes, .fences = library_calls[i].fences, .sized = flushes, .far = far};

		name_library_call(c.name, prefix, i);
		NVW_PRINT(c.before, "%.70s%s", pool, words_if(*pool && flushes, ", "));
		add_call(r, &c);
	}
}

static void add_libpmem(struct patch_reader *r)
{
	size_t at;
	const unsigned far = nearest(r, "pmem_", &at);

	NVW_FOR(i, r->texts) {
		if (strstr(r->text[i].whole, "#include <libpmem.h>")) {
			add_library(r, "pmem_", "", far);
			return;
		}
	}
}

/* In a function that has the pool at hand. */
static void add_libpmemobj(struct patch_reader *r)
{
	const char *const code = r->text[0].code;
	size_t at;
	const unsigned far = nearest(r, "pmemobj_", &at);
	char pool[TEXT_EXPRESSION];

	if (far >= FAR) {
		return;
	}
	const struct text_arguments a = text_arguments(code, at + strcspn(code + at, "("));

	if (a.count > 0 && text_is_harmless(code, a.span[0]) && text_copy(pool, code, a.span[0]) &&
		strlen(pool) <= 70) {
		add_library(r, "pmemobj_", pool, far);
	}
}

static void add_instructions(struct patch_reader *r)
{
	static const struct patch_call instructions[] = {
		{.name = "_mm_clwb", .flushes = true},
		{.name = "_mm_clflushopt", .flushes = true},
		{.name = "_mm_clflush", .flushes = true},
		{.name = "_mm_sfence", .fences = true},
		{.name = "_mm_mfence", .fences = true},
	};
	size_t at;

	NVW_EACH_IN(instruction, instructions) {
		struct patch_call c = *instruction;

		NVW_PRINT(c.cast, "(void *)");
		c.far = how_far(r, c.name, &at);
		if (c.far < NOWHERE) {
			add_call(r, &c);
		}
	}
}

/* ---- Functions of the program -------------------------------------------------------------------- */

static const char *const flushing[] = {"clflush", "clwb", "pmem_flush", "pmem_persist", "pmem_msync", NULL};
static const char *const fencing[] = {"sfence", "mfence", "pmem_drain", "pmem_persist", "pmem_msync", NULL};
static const char *const sizing[] = {"pmem_flush", "pmem_persist", "pmem_msync", NULL};

/* "const char *data" without the name: the cast, "" for a pointer to anything. False for what is no plain
 * pointer. */
static bool take_cast(const char *text, struct text_span parameter, char cast[48])
{
	static const char *const known[] = {"void", "char", "uint8_t", NULL};
	char type[TEXT_EXPRESSION];

	if (!text_copy(type, text, parameter) || strlen(type) > 40) {
		return false;
	}
	char *const star = strrchr(type, '*');

	if (!star || strchr(type, '*') != star ||
		!text_has_any(type, (struct text_span){0, strlen(type)}, known)) {
		return false;
	}
	star[1] = '\0';
	if (strcmp(type, "const void *") != 0 && strcmp(type, "void *") != 0) {
		snprintf(cast, 48, "(%.40s)", type);
	}
	return true;
}

static bool has_parameters(const char *code, size_t open, size_t behind)
{
	size_t at = text_skip_space(code, open + 1);
	const size_t word = text_behind_word(code, at);

	if (text_is(code + at, word - at, "void")) {
		at = text_skip_space(code, word);
	}
	return at != behind - 1;
}

/* The parameters of a function that flushes: an address, and perhaps a size. */
static bool take_parameters(const char *code, const struct text_arguments *a, char cast[48])
{
	static const char *const integers[] = {"size_t", "int", "long", "unsigned", NULL};
	const struct text_span second = {a->span[1].from, a->behind};

	return take_cast(code, a->span[0], cast) && (a->count == 1 || text_has_any(code, second, integers));
}

/* The body of a function that does not decide for itself, behind its parameters. */
static bool find_body(const struct text *t, size_t behind, struct text_span *ret)
{
	ret->from = text_skip_space(t->code, behind);
	if (t->code[ret->from] != '{') {
		return false;
	}
	ret->to = text_behind_bracket(t->code, ret->from);
	return ret->to > 0 && text_find_word(t->code, ret->from, "if") >= ret->to;
}

/* What the body executes, for a caller who knows the parameters: an address and perhaps a size, or none. */
static bool takes_what_it_needs(
	const struct text *t, const struct text_arguments *a, struct text_span body, struct patch_call *c)
{
	/* The size that the program gives to the library is unknown here. */
	const bool hides_size = !c->sized && text_has_any(t->whole, body, sizing);

	if (!has_parameters(t->code, a->span[0].from - 1, a->behind)) {
		return c->fences && !c->flushes;
	}
	return c->flushes && !hides_size && take_parameters(t->code, a, c->cast);
}

/* The program's own function whose name is at an offset, by what it executes. */
static void add_own(struct patch_reader *r, const struct text *t, size_t at, size_t open)
{
	NVW_INVARIANT(at < open);

	const struct text_arguments a = text_arguments(t->code, open);
	struct patch_call c = {.sized = a.count == 2};
	struct text_span body;
	size_t call;

	if (a.count == 0 || a.count > 2 || open - at >= sizeof c.name || !find_body(t, a.behind, &body)) {
		return;
	}
	NVW_PRINT(c.name, "%.*s", (int)(open - at), t->code + at);
	c.flushes = text_has_any(t->whole, body, flushing);
	c.fences = text_has_any(t->whole, body, fencing);
	if (takes_what_it_needs(t, &a, body, &c)) {
		c.far = how_far(r, c.name, &call);
		add_call(r, &c);
	}
}

/* Functions that are defined before an offset, at the beginning of a line. */
static void add_owns(struct patch_reader *r, const struct text *t, size_t before)
{
	static const char *const words[] = {"flush", "persist", "clwb", "fence", "drain", "write_back", NULL};

	NVW_INVARIANT(before <= t->bytes);
	for (size_t line = 0; line < before;) {
		const char *const code = t->code + line;
		const size_t n = strcspn(code, "\n"), open = strcspn(code, "(\n");
		const size_t at = text_word_before(code, open);

		if (code[open] == '(' && at > 0 && !isspace((unsigned char)*code) &&
			text_has_any(code, (struct text_span){at, open}, words)) {
			add_own(r, t, line + at, line + open);
		}
		line += n + 1;
	}
}

void patch_find_calls(struct patch_reader *r)
{
	NVW_INVARIANT(r->texts > 0 && r->statement.to < r->text[0].bytes);
	add_libpmem(r);
	add_libpmemobj(r);
	add_instructions(r);
	add_owns(r, &r->text[0], r->statement.from);
	for (unsigned i = 1; i < r->texts; i++) {
		add_owns(r, &r->text[i], r->text[i].bytes);
	}
}

/* ---- The choice ---------------------------------------------------------------------------------- */

static bool fits(const struct patch_call *c, enum patch_flush what, bool in_line)
{
	if ((what & PATCH_FLUSH) == 0) {
		return !c->flushes && c->fences;
	}
	return c->flushes && (c->sized || in_line);
}

static bool is_nearer(const struct patch_call *c, const struct patch_call *best, bool fence)
{
	if (!best || c->far < best->far) {
		return true;
	}
	return c->far == best->far && c->fences == fence && best->fences != fence;
}

const struct patch_call *patch_choose(const struct patch_reader *r, enum patch_flush what, bool in_line)
{
	NVW_INVARIANT(what & PATCH_PERSIST);

	const struct patch_call *best = NULL;

	NVW_EACH(c, r->call, r->calls) {
		if (fits(c, what, in_line) && is_nearer(c, best, what & PATCH_FENCE)) {
			best = c;
		}
	}
	return best;
}
