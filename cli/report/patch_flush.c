/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes and fences in the program's own words. See patch_flush.h. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patch_flush.h"
#include "source_lines.h"

enum { EXPRESSION = 200, CALLS_MAX = 32, HEADERS_MAX = 16, ARGUMENTS_MAX = 4 };

/* A source as one text: as it is, and with spaces for comments and literals. Both have the same offsets. */
struct text {
	char *whole, *code;
	size_t bytes;
};

/* What a statement stores to. */
struct target {
	char address[EXPRESSION], size[EXPRESSION];
	bool in_line; /* a value of the machine, which lies within a line */
};

/* A function that flushes, or only fences. */
struct call {
	char name[64], before[80]; /* before: arguments before the address */
	char cast[48];
	bool flushes, fences, sized; /* not sized: of one line */
	unsigned far;                /* lines to the nearest call of it, or of one of its library */
};

struct reader {
	struct text source, header[HEADERS_MAX];
	unsigned headers;
	size_t begin, end, function; /* offsets: the statement; the function that it is in */
	struct call call[CALLS_MAX];
	unsigned calls;
	bool has_volatile;
};

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The end of a comment or literal that begins here; at itself if none does. */
static size_t end_of_blank(const char *text, size_t at)
{
	const char quote = text[at];

	if (strncmp(text + at, "//", 2) == 0) {
		return at + strcspn(text + at, "\n");
	}
	if (strncmp(text + at, "/*", 2) == 0) {
		const char *const end = strstr(text + at + 2, "*/");

		return end ? (size_t)(end + 2 - text) : strlen(text);
	}
	if (quote != '"' && quote != '\'') {
		return at;
	}
	for (at++; text[at] != '\0' && text[at] != quote && text[at] != '\n'; at++) {
		at += text[at] == '\\' && text[at + 1] != '\0';
	}
	return at + (text[at] == quote);
}

static void blank(char *code)
{
	for (size_t at = 0; code[at] != '\0';) {
		const size_t end = end_of_blank(code, at);

		for (size_t i = at; i < end; i++) {
			code[i] = code[i] == '\n' ? '\n' : ' ';
		}
		at = end > at ? end : at + 1;
	}
}

static void text_free(struct text *t)
{
	free(t->whole);
	free(t->code);
	*t = (struct text){.whole = NULL};
}

/* Takes the whole. */
static bool text_make(char *whole, size_t bytes, struct text *ret)
{
	*ret = (struct text){.whole = whole, .code = whole ? strdup(whole) : NULL, .bytes = bytes};
	if (ret->code == NULL) {
		text_free(ret);
		return false;
	}
	blank(ret->code);
	return true;
}

static bool text_of_lines(const struct patch_lines *s, struct text *ret)
{
	char *whole = NULL;
	size_t bytes = 0;
	FILE *const f = open_memstream(&whole, &bytes);

	for (uint32_t i = 0; f != NULL && i < s->count; i++) {
		fprintf(f, "%s\n", s->line[i]);
	}
	if (f == NULL || fclose(f)) {
		free(whole);
		return false;
	}
	return text_make(whole, bytes, ret);
}

/* A header that stands beside the source. */
static void read_header(struct reader *r, const char *source, const char *name, size_t length)
{
	const char *const slash = strrchr(source, '/');
	const char *searched;
	char path[512], *whole = NULL;
	size_t bytes = 0;

	snprintf(path, sizeof path, "%.*s%.*s", slash ? (int)(slash + 1 - source) : 0, source, (int)length,
		name);
	FILE *const from = r->headers < HEADERS_MAX ? cli_open_source(path, &searched) : NULL;
	FILE *const to = from ? open_memstream(&whole, &bytes) : NULL;

	for (int c; to != NULL && (c = getc(from)) != EOF;) {
		putc(c ? c : ' ', to);
	}
	if (from != NULL) {
		fclose(from);
	}
	if (to != NULL && fclose(to) == 0 && text_make(whole, bytes, &r->header[r->headers])) {
		r->headers++;
	}
}

static void read_headers(struct reader *r, const struct patch_lines *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const char *const at = s->line[i] + strspn(s->line[i], " \t");
		const char *const name = strncmp(at, "#include \"", 10) == 0 ? at + 10 : NULL;

		if (name != NULL && strchr(name, '"') != NULL) {
			read_header(r, s->file, name, strcspn(name, "\""));
		}
	}
}

static size_t skip_space(const char *text, size_t at)
{
	return at + strspn(text + at, " \t\n");
}

/* The next place of a word from an offset on; SIZE_MAX: there is none. */
static size_t find_word(const char *text, size_t from, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = text + from; (at = strstr(at, word)) != NULL; at += n) {
		if ((at == text || !is_word(at[-1])) && !is_word(at[n])) {
			return (size_t)(at - text);
		}
	}
	return SIZE_MAX;
}

/* Behind the bracket that closes the one at this offset; 0: none does. */
static size_t behind_bracket(const char *text, size_t at)
{
	int depth = 0;

	for (; text[at] != '\0'; at++) {
		depth += strchr("([{", text[at]) != NULL;
		depth -= strchr(")]}", text[at]) != NULL;
		if (depth == 0) {
			return at + 1;
		}
	}
	return 0;
}

/* ---- The statement ---------------------------------------------------------------------------------------------- */

static bool ends_another(const char *code, size_t at)
{
	return strchr(";{}", code[at]) != NULL ||
	       (code[at] == ':' && code[at + 1] != ':' && (at == 0 || code[at - 1] != ':'));
}

/* That of a line, from its first character to its semicolon; it shares its lines with nothing else. */
static bool find_statement(struct reader *r, uint32_t line)
{
	const char *const code = r->source.code;
	size_t at = 0;

	for (; line > 1 && code[at] != '\0'; at++) {
		line -= code[at] == '\n';
	}
	at = skip_space(code, at);
	while (at > 0 && !ends_another(code, at - 1)) {
		at--;
	}
	r->begin = at = skip_space(code, at);
	while (r->begin > 0 && strchr(" \t", code[r->begin - 1]) != NULL) {
		r->begin--;
	}
	while (code[at] != '\0' && strchr(";{}#", code[at]) == NULL) {
		const size_t behind = strchr("([", code[at]) ? behind_bracket(code, at) : 0;

		at = behind ? behind : at + 1;
	}
	const bool begins = r->begin == 0 || code[r->begin - 1] == '\n';

	r->begin = skip_space(code, r->begin);
	r->end = at;
	return begins && code[at] == ';' && code[at + 1 + strspn(code + at + 1, " \t")] == '\n';
}

/* ---- Expressions ------------------------------------------------------------------------------------------------ */

/* Functions and operators without an effect. */
static bool is_pure(const char *name, size_t n)
{
	static const char *const names[] = {"sizeof", "strlen", "offsetof", "D_RW", "D_RO", "pmemobj_direct"};
	bool is = false;

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		is = is || (strlen(names[i]) == n && strncmp(name, names[i], n) == 0);
	}
	return is;
}

/* May be evaluated once more: no assignment, no call of what may have an effect, no second statement. */
static bool is_harmless(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char next = i + 1 < n ? text[i + 1] : ' ';

		if (strchr(";{}\"'?", text[i]) || (strchr("+-", text[i]) && next == text[i])) {
			return false;
		}
		if (text[i] == '=' && next == '=') {
			i++;
		} else if (text[i] == '=' && (i == 0 || strchr("!<>", text[i - 1]) == NULL)) {
			return false;
		}
		if (is_word(text[i]) && (i == 0 || !is_word(text[i - 1]))) {
			size_t end = i;

			while (end < n && is_word(text[end])) {
				end++;
			}
			if (text[skip_space(text, end)] == '(' && !is_pure(text + i, end - i)) {
				return false;
			}
		}
	}
	return true;
}

/* Behind a name, also of a namespace: "std::memcpy". */
static size_t behind_name(const char *text, size_t at)
{
	if (!is_word(text[at]) || isdigit((unsigned char)text[at])) {
		return at;
	}
	while (is_word(text[at]) || (text[at] == ':' && text[at + 1] == ':' && is_word(text[at + 2]))) {
		at += text[at] == ':' ? 2 : 1;
	}
	return at;
}

/* Behind what comes after a name or a bracket: members and elements. *ret_member: the last "." or "->"; 0: none. */
static size_t behind_members(const char *text, size_t at, size_t *ret_member)
{
	*ret_member = 0;
	for (;;) {
		const size_t next = skip_space(text, at);
		const bool arrow = text[next] == '-' && text[next + 1] == '>';

		if (text[next] == '[') {
			const size_t end = behind_bracket(text, next);

			if (end == 0 || !is_harmless(text + next, end - next)) {
				return at;
			}
			at = end;
		} else if (text[next] == '.' || arrow) {
			const size_t name = skip_space(text, next + 1 + arrow), end = behind_name(text, name);

			if (end == name) {
				return at;
			}
			*ret_member = next;
			at = end;
		} else {
			return at;
		}
	}
}

/* Behind what can be stored to: "p->a[i].b", "*p", "(*p)->a", "*(uint64_t *)p", "D_RW(p)->a"; at itself if nothing like it is there. */
static size_t behind_object(const char *text, size_t at, size_t *ret_member)
{
	const size_t begin = at;
	bool cast = true;

	while (text[at] == '*') {
		at = skip_space(text, at + 1);
	}
	*ret_member = 0;
	while (text[at] == '(' && cast) {
		const size_t end = behind_bracket(text, at), next = end ? skip_space(text, end) : 0;

		if (end == 0 || !is_harmless(text + at, end - at)) {
			return begin;
		}
		cast = is_word(text[next]) || text[next] == '(';
		at = cast ? next : end;
	}
	if (cast) {
		const size_t end = behind_name(text, at);

		if (end == at) {
			return begin;
		}
		const size_t behind = text[end] == '(' ? behind_bracket(text, end) : end;

		if (behind == 0 || (behind > end && !is_pure(text + at, end - at))) {
			return begin;
		}
		at = behind;
	}
	return behind_members(text, at, ret_member);
}

/* A copy without the spaces around it; false if it is too long. */
static bool copy(char ret[EXPRESSION], const char *text, size_t from, size_t to)
{
	from = skip_space(text, from);
	while (to > from && isspace((unsigned char)text[to - 1])) {
		to--;
	}
	snprintf(ret, EXPRESSION, "%.*s", (int)(to - from), text + from);
	return to > from && to - from < EXPRESSION - 16 && memchr(text + from, '\n', to - from) == NULL;
}

/* Of an object: its address, and its size. */
static bool take_object(const char *text, size_t from, size_t to, struct target *ret)
{
	char object[EXPRESSION];

	if (!copy(object, text, from, to)) {
		return false;
	}
	if (object[0] == '*') {
		snprintf(ret->address, sizeof ret->address, "%s", object + 1 + strspn(object + 1, " \t"));
	} else {
		snprintf(ret->address, sizeof ret->address, "&%.190s", object);
	}
	snprintf(ret->size, sizeof ret->size, "sizeof %.190s", object);
	ret->in_line = true;
	return true;
}

/* Of what a pointer points to: "&x" or "p". */
static bool take_pointed(const char *text, size_t from, size_t to, struct target *ret)
{
	size_t member;

	from = skip_space(text, from);
	if (text[from] == '&') {
		const size_t object = skip_space(text, from + 1);

		return skip_space(text, behind_object(text, object, &member)) == skip_space(text, to) &&
		       take_object(text, object, to, ret);
	}
	if (!copy(ret->address, text, from, to) ||
		ret->address[behind_object(ret->address, 0, &member)] != '\0') {
		return false;
	}
	snprintf(ret->size, sizeof ret->size, "sizeof *%.180s", ret->address);
	ret->in_line = true;
	return true;
}

/* The arguments of a call whose bracket is at an offset: where they begin, and behind the last one its end. 0: too many. */
static unsigned split(const char *text, size_t at, size_t ret_begin[ARGUMENTS_MAX + 1], size_t *ret_behind)
{
	const size_t end = behind_bracket(text, at);
	unsigned n = 0;

	*ret_behind = end;
	if (end == 0) {
		return 0;
	}
	ret_begin[n++] = at + 1;
	for (at++; at < end - 1; at++) {
		if (strchr("([{", text[at]) != NULL) {
			at = behind_bracket(text, at) - 1;
		} else if (text[at] == ',' && n < ARGUMENTS_MAX) {
			ret_begin[n++] = at + 1;
		}
	}
	ret_begin[n] = end;
	return n;
}

/* What a call of a known function stores to. */
static bool take_call(const char *text, size_t at, size_t open, struct target *ret)
{
	static const struct {
		const char *name;
		int size; /* the argument with the size; 0: it is that of what the first one points to, -1: of its text */
	} known[] = {{"memcpy", 2}, {"memmove", 2}, {"memset", 2}, {"strncpy", 2}, {"strcpy", -1},
		{"strcat", -1}, {"sprintf", -1}, {"snprintf", 1}, {"atomic_store", 0},
		{"atomic_store_explicit", 0}, {"atomic_fetch_add", 0}, {"atomic_fetch_add_explicit", 0},
		{"atomic_fetch_sub", 0}, {"atomic_fetch_or", 0}, {"atomic_exchange", 0},
		{"__atomic_store_n", 0}, {"__atomic_fetch_add", 0}, {"__atomic_add_fetch", 0},
		{"__sync_fetch_and_add", 0}, {"__sync_add_and_fetch", 0}};
	size_t begin[ARGUMENTS_MAX + 1], behind;
	const unsigned n = split(text, open, begin, &behind);

	at += strncmp(text + at, "std::", 5) == 0 ? 5 : 0;
	if (n == 0 || text[skip_space(text, behind)] != ';') {
		return false;
	}
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
		const int s = known[i].size;

		if (strlen(known[i].name) != open - at || strncmp(text + at, known[i].name, open - at) != 0) {
			continue;
		}
		if (s == 0) {
			return take_pointed(text, begin[0], n > 1 ? begin[1] - 1 : behind - 1, ret);
		}
		if (n < 2 || !is_harmless(text + begin[0], begin[1] - 1 - begin[0]) ||
			!copy(ret->address, text, begin[0], begin[1] - 1)) {
			return false;
		}
		if (s < 0) {
			snprintf(ret->size, sizeof ret->size, "strlen(%.180s) + 1", ret->address);
			return true;
		}
		return (unsigned)s < n && is_harmless(text + begin[s], begin[s + 1] - 1 - begin[s]) &&
		       copy(ret->size, text, begin[s], begin[s + 1] - 1);
	}
	return false;
}

/* "x.store(v)", "x->fetch_add(v)": std::atomic. */
static bool take_method(const char *text, size_t begin, size_t member, size_t open, struct target *ret)
{
	static const char *const names[] = {
		"store", "exchange", "fetch_add", "fetch_sub", "fetch_or", "fetch_and"};
	const bool arrow = text[member] == '-';
	const size_t name = skip_space(text, member + 1 + arrow), behind = behind_bracket(text, open);
	bool known = false;

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		known = known ||
			(strlen(names[i]) == open - name && strncmp(text + name, names[i], open - name) == 0);
	}
	if (!known || behind == 0 || text[skip_space(text, behind)] != ';') {
		return false;
	}
	return arrow ? take_pointed(text, begin, member, ret) : take_object(text, begin, member, ret);
}

/* The right side: one value, whose computation changes nothing that the left side depends on. */
static bool is_one_value(const char *text, size_t at, size_t end)
{
	int depth = 0;

	for (; at < end; at++) {
		const char before = text[at - 1], c = text[at], next = text[at + 1];
		const bool doubled = c == next, compares = strchr("=!<>", before) != NULL;

		depth += c == '(' || c == '[';
		depth -= c == ')' || c == ']';
		if (c == '{' || (c == ',' && depth == 0) || (strchr("+-", c) != NULL && doubled)) {
			return false;
		}
		if (c == '=' && !doubled && (!compares || (before != '=' && text[at - 2] == before))) {
			return false;
		}
	}
	return true;
}

/* Behind an assignment's operator; 0: there is none. */
static size_t behind_operator(const char *text, size_t at)
{
	static const char *const operators[] = {
		"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "=", NULL};

	for (unsigned i = 0; operators[i] != NULL; i++) {
		const size_t n = strlen(operators[i]);

		if (strncmp(text + at, operators[i], n) == 0 && text[at + n] != '=') {
			return at + n;
		}
	}
	return 0;
}

static bool is_step(const char *text, size_t at)
{
	return strncmp(text + at, "++", 2) == 0 || strncmp(text + at, "--", 2) == 0;
}

/* What begins so does not go on behind itself, or is a part of something. */
static bool begins_with_keyword(const char *text, size_t at)
{
	static const char *const words[] = {"return", "break", "continue", "goto", "if", "else", "for",
		"while", "do", "switch", "case", "default", "throw", "co_return"};
	const size_t n = behind_name(text, at) - at;
	bool begins = false;

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		begins = begins || (strlen(words[i]) == n && strncmp(text + at, words[i], n) == 0);
	}
	return begins;
}

static bool find_target(const struct reader *r, struct target *ret)
{
	const char *const text = r->source.code;
	const size_t first = is_step(text, r->begin) ? skip_space(text, r->begin + 2) : r->begin;
	const size_t name = behind_name(text, first);
	size_t member;

	*ret = (struct target){.in_line = false};
	if (name > first && text[name] == '(' && !is_pure(text + first, name - first)) {
		return take_call(text, first, name, ret);
	}
	const size_t behind = behind_object(text, first, &member);
	const size_t at = skip_space(text, behind), value = behind_operator(text, at);

	if (behind == first) {
		return false;
	}
	if (text[at] == '(' && member > 0) {
		return take_method(text, first, member, at, ret);
	}
	if (value > 0) {
		const bool good = is_one_value(text, value, r->end) && take_object(text, first, behind, ret);

		ret->in_line = text[skip_space(text, value)] != '*'; /* which may be a whole structure */
		return good;
	}
	const bool stepped = first > r->begin ? text[at] == ';' :
						is_step(text, at) && text[skip_space(text, at + 2)] == ';';

	return stepped && take_object(text, first, behind, ret);
}

/* Behind a type, as in "unsigned valid : 1;", and not as in "p ? p->valid : 1;". */
static bool follows_word(const char *text, size_t at)
{
	while (at > 0 && strchr(" \t", text[at - 1]) != NULL) {
		at--;
	}
	return at > 0 && is_word(text[at - 1]);
}

/* Such a member has no address. */
static bool is_bit_field(const struct text *t, const char *name)
{
	const char *const code = t->code;

	for (size_t at = 0; (at = find_word(code, at, name)) != SIZE_MAX; at++) {
		const size_t colon = skip_space(code, at + strlen(name)), width = skip_space(code, colon + 1);
		size_t end = width;

		while (is_word(code[end])) {
			end++;
		}
		if (code[colon] == ':' && follows_word(code, at) && end > width &&
			strchr(";,", code[skip_space(code, end)]) != NULL) {
			return true;
		}
	}
	return false;
}

static bool has_address(const struct reader *r, const struct target *t)
{
	size_t begin = strlen(t->address);

	while (begin > 0 && is_word(t->address[begin - 1])) {
		begin--;
	}
	bool has = t->address[0] != '&' || t->address[begin] == '\0' ||
		   !is_bit_field(&r->source, t->address + begin);

	for (unsigned i = 0; i < r->headers && has && t->address[0] == '&' && t->address[begin] != '\0';
		i++) {
		has = !is_bit_field(&r->header[i], t->address + begin);
	}
	return has;
}

/* ---- The calls -------------------------------------------------------------------------------------------------- */

static unsigned lines_between(const char *text, size_t a, size_t b)
{
	unsigned lines = 0;

	for (size_t i = a < b ? a : b; i < (a < b ? b : a); i++) {
		lines += text[i] == '\n';
	}
	return lines;
}

/* Behind the last line before the statement that is a closing brace: there its function begins. */
static size_t function_of(const char *code, size_t begin)
{
	size_t at = 0;

	for (size_t i = 0; i + 1 < begin; i++) {
		at = code[i] == '\n' && code[i + 1] == '}' ? i + 2 : at;
	}
	return at;
}

/* *ret_at: the call nearest to the statement. In lines; more than FAR: in another function; 2 * FAR: nowhere. */
enum { FAR = 1 << 20 };

static unsigned how_far(const struct reader *r, const char *name, size_t *ret_at)
{
	const char *const code = r->source.code;
	const char *const closing = strstr(code + r->end, "\n}");
	const size_t last = closing ? (size_t)(closing - code) : r->source.bytes;
	unsigned far = 2 * FAR;

	*ret_at = SIZE_MAX;
	for (size_t at = 0; (at = find_word(code, at, name)) != SIZE_MAX; at++) {
		const bool inside = at >= r->function && at < last;
		const unsigned lines = lines_between(code, at, r->begin) + (inside ? 0 : FAR);

		if (code[skip_space(code, at + strlen(name))] == '(' && lines < far) {
			far = lines;
			*ret_at = at;
		}
	}
	return far;
}

static void add_call(struct reader *r, const struct call *c)
{
	if (r->calls < CALLS_MAX) {
		r->call[r->calls++] = *c;
	}
}

static bool is_in(const struct reader *r, const char *text)
{
	bool is = strstr(r->source.whole, text) != NULL;

	for (unsigned i = 0; i < r->headers; i++) {
		is = is || strstr(r->header[i].whole, text) != NULL;
	}
	return is;
}

static unsigned nearest(const struct reader *r, const char *const *names, size_t *ret_at)
{
	unsigned least = 2 * FAR;

	*ret_at = SIZE_MAX;
	for (; *names != NULL; names++) {
		size_t at;
		const unsigned far = how_far(r, *names, &at);

		*ret_at = far < least ? at : *ret_at;
		least = far < least ? far : least;
	}
	return least;
}

static void add_libpmem(struct reader *r)
{
	static const char *const names[] = {"pmem_persist", "pmem_flush", "pmem_drain", NULL};
	size_t at;
	const unsigned far = nearest(r, names, &at);

	if (is_in(r, "#include <libpmem.h>")) {
		add_call(r, &(struct call){.name = "pmem_persist",
				    .flushes = true,
				    .fences = true,
				    .sized = true,
				    .far = far});
		add_call(r, &(struct call){.name = "pmem_flush", .flushes = true, .sized = true, .far = far});
		add_call(r, &(struct call){.name = "pmem_drain", .fences = true, .far = far});
	}
}

/* In a function that has the pool at hand. */
static void add_libpmemobj(struct reader *r)
{
	static const char *const names[] = {"pmemobj_persist", "pmemobj_flush", "pmemobj_drain", NULL};
	size_t at, begin[ARGUMENTS_MAX + 1], behind;
	const unsigned far = nearest(r, names, &at);
	char pool[EXPRESSION];

	if (far >= FAR) {
		return;
	}
	const char *const code = r->source.code;
	const unsigned n = split(code, at + strcspn(code + at, "("), begin, &behind);
	const size_t end = n > 1 ? begin[1] - 1 : behind - 1;

	if (n == 0 || !is_harmless(code + begin[0], end - begin[0]) || !copy(pool, code, begin[0], end) ||
		strlen(pool) > 70) {
		return;
	}
	for (unsigned i = 0; names[i] != NULL; i++) {
		struct call c = {.flushes = i < 2, .fences = i != 1, .sized = true, .far = far};

		snprintf(c.name, sizeof c.name, "%s", names[i]);
		snprintf(c.before, sizeof c.before, i < 2 ? "%.70s, " : "%.70s", pool);
		add_call(r, &c);
	}
}

static void add_instructions(struct reader *r)
{
	static const char *const flushes[] = {"_mm_clwb", "_mm_clflushopt", "_mm_clflush"},
				 *const fences[] = {"_mm_sfence", "_mm_mfence"};
	size_t at;

	for (unsigned i = 0; i < 5; i++) {
		struct call c = {.flushes = i < 3, .fences = i >= 3, .cast = "(void *)"};

		snprintf(c.name, sizeof c.name, "%s", i < 3 ? flushes[i] : fences[i - 3]);
		c.far = how_far(r, c.name, &at);
		if (c.far < 2 * FAR) {
			add_call(r, &c);
		}
	}
}

static bool has_any(const char *text, size_t n, const char *const *parts)
{
	bool has = false;

	for (; *parts != NULL; parts++) {
		has = has || memmem(text, n, *parts, strlen(*parts)) != NULL;
	}
	return has;
}

/* "const char *data" without the name: the cast, "" for a pointer to anything. False for what is no plain pointer. */
static bool take_cast(const char *text, size_t from, size_t to, char cast[48])
{
	static const char *const known[] = {"void", "char", "uint8_t", NULL};
	char type[EXPRESSION];

	if (!copy(type, text, from, to) || strlen(type) > 40) {
		return false;
	}
	char *const star = strrchr(type, '*');

	if (star == NULL || strchr(type, '*') != star || !has_any(type, strlen(type), known)) {
		return false;
	}
	star[1] = '\0';
	const bool any = strcmp(type, "const void *") == 0 || strcmp(type, "void *") == 0;

	snprintf(cast, 48, any ? "%.0s" : "(%.40s)", type);
	return true;
}

/* The program's own function whose name is at an offset, by what it executes. One that decides for itself is not trusted. */
static void add_own(struct reader *r, const struct text *t, size_t at, size_t open)
{
	static const char *const flushing[] = {"clflush", "clwb", "pmem_flush", "pmem_persist", "pmem_msync",
		NULL},
				 *const fencing[] = {"sfence", "mfence", "pmem_drain", "pmem_persist",
					 "pmem_msync", NULL},
				 *const sizing[] = {"pmem_flush", "pmem_persist", "pmem_msync", NULL},
				 *const integers[] = {"size_t", "int", "long", "unsigned", NULL};
	size_t begin[ARGUMENTS_MAX + 1], behind;
	const unsigned n = split(t->code, open, begin, &behind);
	const size_t body = n ? skip_space(t->code, behind) : 0,
		     end = n && t->code[body] == '{' ? behind_bracket(t->code, body) : 0;
	struct call c = {.sized = n == 2};
	size_t call;

	if (end == 0 || n > 2 || open - at >= sizeof c.name || find_word(t->code, body, "if") < end) {
		return;
	}
	snprintf(c.name, sizeof c.name, "%.*s", (int)(open - at), t->code + at);
	c.far = how_far(r, c.name, &call);
	c.flushes = has_any(t->whole + body, end - body, flushing);
	c.fences = has_any(t->whole + body, end - body, fencing);
	char none[EXPRESSION];
	const bool alone = !copy(none, t->code, begin[0], behind - 1) || strcmp(none, "void") == 0;

	if (alone) {
		if (c.fences && !c.flushes) {
			add_call(r, &c);
		}
		return;
	}
	if (!c.flushes || !take_cast(t->code, begin[0], n == 2 ? begin[1] - 1 : behind - 1, c.cast) ||
		(n == 1 && has_any(t->whole + body, end - body, sizing)) ||
		(n == 2 && !has_any(t->code + begin[1], behind - begin[1], integers))) {
		return;
	}
	add_call(r, &c);
}

/* Functions that are defined before an offset, at the beginning of a line. */
static void add_owns(struct reader *r, const struct text *t, size_t before)
{
	static const char *const words[] = {"flush", "persist", "clwb", "fence", "drain", "write_back", NULL};

	for (size_t line = 0; line < before;) {
		const size_t n = strcspn(t->code + line, "\n"), open = line + strcspn(t->code + line, "(\n");
		size_t at = open;

		while (at > line && is_word(t->code[at - 1])) {
			at--;
		}
		if (t->code[open] == '(' && at > line && !isspace((unsigned char)t->code[line]) &&
			has_any(t->code + at, open - at, words)) {
			add_own(r, t, at, open);
		}
		line += n + 1;
	}
}

static void find_calls(struct reader *r)
{
	add_libpmem(r);
	add_libpmemobj(r);
	add_instructions(r);
	add_owns(r, &r->source, r->begin);
	for (unsigned i = 0; i < r->headers; i++) {
		add_owns(r, &r->header[i], r->header[i].bytes);
	}
}

/* The nearest one that fits; of those that are equally near, one that does just what is asked for. */
static const struct call *choose(const struct reader *r, enum patch_flush what, bool in_line)
{
	const bool flush = what & PATCH_FLUSH, fence = what & PATCH_FENCE;
	const struct call *best = NULL;

	for (unsigned i = 0; i < r->calls; i++) {
		const struct call *const c = &r->call[i];
		const bool fits =
			c->flushes == flush && (flush || c->fences) && (!flush || c->sized || in_line);
		const bool nearer = best == NULL || c->far < best->far ||
				    (c->far == best->far && c->fences == fence && best->fences != fence);

		best = fits && nearer ? c : best;
	}
	return best;
}

/* ---- The whole -------------------------------------------------------------------------------------------------- */

static const char *write_fence(const struct reader *r, char *text, size_t bytes)
{
	const struct call *const fence = choose(r, PATCH_FENCE, false);

	if (fence == NULL) {
		return "no function that fences was found in its source";
	}
	snprintf(text, bytes, "%s(%s);", fence->name, fence->before);
	return NULL;
}

/* A cast binds more closely than "p + 8". */
static bool is_sum(const char *address)
{
	size_t member;

	return address[0] != '&' && address[behind_object(address, 0, &member)] != '\0';
}

static const char *cast_of(const struct reader *r, const struct call *c)
{
	return c->cast[0] == '\0' && r->has_volatile ? "(const void *)" : c->cast;
}

static const char *write_flush(
	const struct reader *r, const struct target *t, enum patch_flush what, char *text, size_t bytes)
{
	const struct call *const c = choose(r, what, t->in_line);
	char address[EXPRESSION + 64];

	if (c == NULL) {
		return "no function that flushes such a store was found in its source";
	}
	const char *const cast = cast_of(r, c);
	const bool encloses = *cast != '\0' && is_sum(t->address);

	snprintf(address, sizeof address, encloses ? "%s(%s)" : "%s%s", cast, t->address);
	const int n = snprintf(
		text, bytes, c->sized ? "%s(%s%s, %s);" : "%s(%s%s);", c->name, c->before, address, t->size);

	if (n < 0 || (size_t)n + 2 >= bytes) {
		return "its statement is too long";
	}
	if ((what & PATCH_FENCE) == 0 || c->fences) {
		return NULL;
	}
	text[n] = ' ';
	return write_fence(r, text + n + 1, bytes - (size_t)n - 1);
}

/* Of an object, and not of inline assembly. */
static bool has_volatile(const char *code)
{
	for (size_t at = 0; (at = find_word(code, at, "volatile")) != SIZE_MAX; at++) {
		if (code[skip_space(code, at + strlen("volatile"))] != '(') {
			return true;
		}
	}
	return false;
}

static const char *read_and_write(struct reader *r, const struct patch_lines *s, uint32_t line,
	enum patch_flush what, char *text, size_t bytes, uint32_t *ret_after)
{
	struct target target;

	if (!find_statement(r, line) || begins_with_keyword(r->source.code, r->begin)) {
		return "the statement at its line is not on a line of its own";
	}
	*ret_after = 1 + lines_between(r->source.code, 0, r->end);
	r->function = function_of(r->source.code, r->begin);
	if (find_word(r->source.code, r->function, "__global__") < r->begin ||
		find_word(r->source.code, r->function, "__device__") < r->begin) {
		return "it is a kernel's line, where no processor's flush can stand";
	}
	read_headers(r, s);
	find_calls(r);
	r->has_volatile = has_volatile(r->source.code);
	if (what == PATCH_FENCE) {
		return write_fence(r, text, bytes);
	}
	if (!find_target(r, &target)) {
		return "its line is no plain store, and what to flush cannot be read from it (nvwave-cc tells the lines of stores)";
	}
	if (!has_address(r, &target)) {
		return "it stores to a bit-field, which has no address";
	}
	return write_flush(r, &target, what, text, bytes);
}

const char *patch_flush_statement(const struct patch_lines *s, uint32_t line, enum patch_flush what,
	char *ret_text, size_t bytes, uint32_t *ret_after)
{
	struct reader *const r = calloc(1, sizeof *r);
	const char *why = "there is no memory to read its source";

	if (r != NULL && text_of_lines(s, &r->source)) {
		why = read_and_write(r, s, line, what, ret_text, bytes, ret_after);
	}
	for (unsigned i = 0; r != NULL && i < r->headers; i++) {
		text_free(&r->header[i]);
	}
	if (r != NULL) {
		text_free(&r->source);
	}
	free(r);
	return why;
}
