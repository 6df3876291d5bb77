/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores in the text of a source. See access.h.
 *
 * gcc and clang place a store at its operator ("n->count += 1": at "+="), a call at the function's name, and
 * clang a copy of a structure at the right side. So the column says which store of a line it is, and no other
 * one is ever taken for it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/each.h"
#include "core/invariant.h"

#include "access.h"

enum { SOURCE_MAX = 1 << 24, NOWHERE = -1 };

/* ---- The source ---------------------------------------------------------------------------------- */

static char *read_file(const char *path)
{
	FILE *const f = fopen(path, "re");
	struct stat is;
	char *text = NULL;

	if (!f) {
		return NULL;
	}
	if (fstat(fileno(f), &is) == 0 && S_ISREG(is.st_mode) && is.st_size <= SOURCE_MAX) {
		text = malloc((size_t)is.st_size + 1);
	}
	if (text) {
		text[fread(text, 1, (size_t)is.st_size, f)] = '\0';
	}
	fclose(f);
	return text;
}

static void blank(char *from, const char *to)
{
	for (; from < to; from++) {
		if (*from != '\n') {
			*from = ' ';
		}
	}
}

static char *behind_comment(char *at)
{
	char *end;

	if (at[1] == '/') {
		return at + strcspn(at, "\n");
	}
	end = strstr(at + 2, "*/");
	return end ? end + 2 : at + strlen(at);
}

static char *behind_literal(char *at)
{
	const char quote = *at++;

	while (*at != '\0' && *at != quote && *at != '\n') {
		at += 1 + (at[0] == '\\' && at[1] != '\0');
	}
	return at + (*at == quote);
}

/* With the lines that a backslash continues. */
static char *behind_directive(char *at)
{
	while (*at != '\0' && *at != '\n') {
		at += 1 + (at[0] == '\\' && at[1] != '\0');
	}
	return at;
}

static bool begins_line(const char *source, const char *at)
{
	while (at > source && strchr(" \t", at[-1])) {
		at--;
	}
	return at == source || at[-1] == '\n';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind what is no code; the place itself if code is there. */
static char *behind_no_code(const char *source, char *at)
{
	if (at[0] == '/' && (at[1] == '/' || at[1] == '*')) {
		return behind_comment(at);
	}
	if (*at == '"' || (*at == '\'' && (at == source || !is_word(at[-1])))) { /* else 1'000 */
		return behind_literal(at);
	}
	if (*at == '#' && begins_line(source, at)) {
		return behind_directive(at);
	}
	return at;
}

char *nvw__source_read(const char *path)
{
	char *const source = read_file(path);

	for (char *at = source; at && *at != '\0';) {
		char *const end = behind_no_code(source, at);
		const bool literal = end > at && (*at == '"' || *at == '\'');

		blank(at, end);
		if (literal) { /* an argument is still one */
			*at = '0';
		}
		at = end > at ? end : at + 1;
	}
	return source;
}

/* ---- Backwards ----------------------------------------------------------------------------------- */

/* The last character that is no blank before a place; NOWHERE: there is none. */
static long before(const char *s, long at)
{
	do {
		at--;
	} while (at >= 0 && isspace((unsigned char)s[at]));
	return at;
}

static long first_of_word(const char *s, long at)
{
	while (at > 0 && is_word(s[at - 1])) {
		at--;
	}
	return at;
}

/* The bracket that the one at a place closes. */
static long opening(const char *s, long at)
{
	int depth = 0;

	for (; at >= 0 && !strchr(";{}", s[at]); at--) {
		depth += s[at] == ')' || s[at] == ']';
		depth -= s[at] == '(' || s[at] == '[';
		if (depth == 0) {
			return at;
		}
	}
	return NOWHERE;
}

/* Whether the word from a place to another is in a list that ends with NULL. */
static bool is_one_of(const char *s, long from, long to, const char *const *words)
{
	for (const char *const *word = words; *word; word++) {
		if (strlen(*word) == (size_t)(to - from) && strncmp(s + from, *word, strlen(*word)) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_keyword(const char *s, long first, long last)
{
	static const char *const words[] = {"if", "while", "for", "switch", "return", "else", "do", "case",
		"sizeof", "co_return", "throw", "goto", NULL};

	return is_one_of(s, first, last + 1, words);
}

/* The first character of the word, call or bracket whose last one is at a place. */
static long begin_of_part(const char *s, long at)
{
	if (at >= 0 && (s[at] == ')' || s[at] == ']')) {
		const long open = opening(s, at), name = open > 0 ? before(s, open) : NOWHERE;

		if (open < 0) {
			return NOWHERE;
		}
		if (s[open] == '[') {
			return name >= 0 ? begin_of_part(s, name) : NOWHERE;
		}
		if (name >= 0 && is_word(s[name]) && !is_keyword(s, first_of_word(s, name), name)) {
			return first_of_word(s, name);
		}
		return open;
	}
	if (at < 0 || !is_word(s[at]) || is_keyword(s, first_of_word(s, at), at)) {
		return NOWHERE;
	}
	return first_of_word(s, at);
}

/* The last character of what a member is of, before "." or "->"; NOWHERE: the part is no member. */
static long owner_of(const char *s, long part)
{
	const long at = before(s, part);

	if (at >= 0 && s[at] == '.') {
		return before(s, at);
	}
	if (at >= 1 && s[at] == '>' && s[at - 1] == '-') {
		return before(s, at - 1);
	}
	return NOWHERE;
}

static long with_scopes(const char *s, long first)
{
	for (long at = before(s, first); at >= 1 && s[at] == ':' && s[at - 1] == ':'; at = before(s, first)) {
		const long name = before(s, at - 1);

		if (name < 0 || !is_word(s[name])) {
			return first;
		}
		first = first_of_word(s, name);
	}
	return first;
}

/* Could a statement or an operand begin behind this character? Then a star there is no multiplication. */
static bool begins_operand(const char *s, long at)
{
	if (at < 0 || strchr(";{}(,):?=[<>!|+-/%^", s[at]) || (at > 0 && s[at] == '&' && s[at - 1] == '&')) {
		return true;
	}
	return is_word(s[at]) && is_keyword(s, first_of_word(s, at), at);
}

/* The first character of an object whose last one is at a place. */
static long begin_of_object(const char *s, long last)
{
	long first = begin_of_part(s, last), owner;

	while (first >= 0 && (owner = owner_of(s, first)) >= 0) {
		first = begin_of_part(s, owner);
	}
	if (first < 0) {
		return NOWHERE;
	}
	first = with_scopes(s, first);
	long at = before(s, first), star = first;

	while (at >= 0 && s[at] == '*') {
		star = at;
		at = before(s, at);
	}
	return begins_operand(s, at) ? star : NOWHERE;
}

/* ---- Forwards ------------------------------------------------------------------------------------ */

static long skip_space(const char *s, long at)
{
	while (isspace((unsigned char)s[at])) {
		at++;
	}
	return at;
}

static long behind_word(const char *s, long at)
{
	while (is_word(s[at])) {
		at++;
	}
	return at;
}

/* Behind the bracket that the one at a place opens. */
static long behind_bracket(const char *s, long at)
{
	int depth = 0;

	for (; s[at] != '\0' && s[at] != ';'; at++) {
		depth += strchr("([{", s[at]) != NULL;
		depth -= strchr(")]}", s[at]) != NULL;
		if (depth == 0) {
			return at + 1;
		}
	}
	return NOWHERE;
}

/* Behind a name with its scopes, as std::memcpy. */
static long behind_name(const char *s, long at)
{
	long end = behind_word(s, at);

	while (end > at && s[end] == ':' && s[end + 1] == ':' && is_word(s[end + 2])) {
		end = behind_word(s, end + 2);
	}
	return end;
}

/* ---- Texts --------------------------------------------------------------------------------------- */

/* Without blanks, but for one between two words. */
static bool copy(const char *s, long from, long to, char ret[NVW__ACCESS_TEXT])
{
	size_t n = 0;

	for (long at = from; at < to; at++) {
		const bool space = isspace((unsigned char)s[at]);

		if (n + 2 >= NVW__ACCESS_TEXT) {
			return false;
		}
		if (!space && n > 0 && isspace((unsigned char)s[at - 1]) && is_word(s[at]) &&
			is_word(ret[n - 1])) {
			ret[n++] = ' ';
		}
		if (!space) {
			ret[n++] = s[at];
		}
	}
	ret[n] = '\0';
	return n > 0;
}

/* Behind the operator of an assignment; NOWHERE: there is none. */
static long behind_assignment(const char *s, long at)
{
	static const char *const operators[] = {
		"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "="};

	NVW_EACH_IN(operator, operators) {
		const size_t n = strlen(*operator);

		if (strncmp(s + at, *operator, n) == 0 && s[at + (long)n] != '=' &&
			(at == 0 || n > 1 || !strchr("=!<>+-*/%|&^", s[at - 1]))) {
			return at + (long)n;
		}
	}
	return NOWHERE;
}

/* The object that ends before a place. */
static bool take_object_before(const char *s, long at, struct nvw__access *ret)
{
	const long last = before(s, at), first = last >= 0 ? begin_of_object(s, last) : NOWHERE;

	return first >= 0 && copy(s, first, last + 1, ret->text);
}

/* ---- Calls --------------------------------------------------------------------------------------- */

/* Functions that store to where their first argument points; to where the second one does, behind that of a
 * pool; and to an atomic object at the first. */
static const char *const copiers[] = {"memcpy", "memmove", "memset", "mempcpy", "strcpy", "strncpy", "stpcpy",
	"bzero", "pmem_memcpy", "pmem_memcpy_persist", "pmem_memcpy_nodrain", "pmem_memmove",
	"pmem_memmove_persist", "pmem_memmove_nodrain", "pmem_memset", "pmem_memset_persist",
	"pmem_memset_nodrain", NULL};
static const char *const copiers_to_pool[] = {"pmemobj_memcpy_persist", "pmemobj_memset_persist",
	"pmemobj_memcpy", "pmemobj_memmove", "pmemobj_memset", NULL};
static const char *const atomic_stores[] = {"_mm_stream_si64", "_mm_stream_si32", "_mm_stream_pi",
	"atomic_store", "atomic_store_explicit", "atomic_exchange", "atomic_exchange_explicit",
	"atomic_fetch_add", "atomic_fetch_add_explicit", "atomic_fetch_sub", "atomic_fetch_sub_explicit",
	"atomic_fetch_or", "atomic_fetch_or_explicit", "atomic_fetch_and", "atomic_fetch_and_explicit",
	"atomic_compare_exchange_strong", "atomic_compare_exchange_weak", "__atomic_store_n",
	"__atomic_exchange_n", "__atomic_fetch_add", "__atomic_add_fetch", "__atomic_fetch_or",
	"__atomic_compare_exchange_n", "__sync_fetch_and_add", "__sync_add_and_fetch",
	"__sync_bool_compare_and_swap", "__sync_val_compare_and_swap", "__sync_lock_test_and_set", NULL};

/* The argument of that number, from 0, of the call whose bracket is at a place. */
static bool take_argument(const char *s, long open, unsigned number, char ret[NVW__ACCESS_TEXT])
{
	const long end = behind_bracket(s, open);
	long from = open + 1;

	for (long at = open + 1; end > 0 && at < end; at++) {
		if (strchr("([{", s[at])) {
			at = behind_bracket(s, at) - 1;
		} else if (s[at] == ',' || at == end - 1) {
			if (number-- == 0) {
				return copy(s, from, at, ret);
			}
			from = at + 1;
		}
	}
	return false;
}

static bool take_call(const char *s, long name, long open, struct nvw__access *ret)
{
	const long end = behind_word(s, name);
	const bool to_pool = is_one_of(s, name, end, copiers_to_pool);
	const unsigned destination = to_pool ? 1 : 0; /* its argument */
	const bool atomic = is_one_of(s, name, end, atomic_stores);
	char argument[NVW__ACCESS_TEXT];

	if (!(to_pool || atomic || is_one_of(s, name, end, copiers)) ||
		!take_argument(s, open, destination, argument)) {
		return false;
	}
	ret->kind = NVW__ACCESS_POINTED;
	memcpy(ret->text, argument, sizeof ret->text);
	if (!atomic) {
		return true;
	}
	ret->kind = NVW__ACCESS_OBJECT;
	if (argument[0] == '&') {
		snprintf(ret->text, sizeof ret->text, "%s", argument + 1);
		return true;
	}
	return (size_t)snprintf(ret->text, sizeof ret->text, "*(%s)", argument) < sizeof ret->text;
}

static bool is_method_of_atomic(const char *s, long from, long to)
{
	static const char *const names[] = {"store", "exchange", "fetch_add", "fetch_sub", "fetch_or",
		"fetch_and", "fetch_xor", "compare_exchange_strong", "compare_exchange_weak", NULL};

	return is_one_of(s, from, to, names);
}

/* "x.store(v)", whose method's name is at a place; "p->store(v)" is that of *p. */
static bool take_method(const char *s, long name, struct nvw__access *ret)
{
	const long end = behind_word(s, name), dot = before(s, name);
	char owner[NVW__ACCESS_TEXT];

	if (owner_of(s, name) < 0 || s[skip_space(s, end)] != '(' || !is_method_of_atomic(s, name, end)) {
		return false;
	}
	ret->kind = NVW__ACCESS_ATOMIC;
	if (s[dot] == '.') {
		return take_object_before(s, dot, ret);
	}
	if (!take_object_before(s, dot - 1, ret)) {
		return false;
	}
	memcpy(owner, ret->text, sizeof owner);
	return (size_t)snprintf(ret->text, sizeof ret->text, "*(%s)", owner) < sizeof ret->text;
}

/* The last member of the object that begins at a place; NOWHERE: it has none. */
static long last_member(const char *s, long at)
{
	long member = NOWHERE, end = behind_name(s, at);

	for (;;) {
		const long next = skip_space(s, end);
		const bool arrow = s[next] == '-' && s[next + 1] == '>';

		if (s[next] == '[' && behind_bracket(s, next) > 0) {
			end = behind_bracket(s, next);
		} else if ((s[next] == '.' || arrow) && is_word(s[skip_space(s, next + 1 + arrow)])) {
			member = skip_space(s, next + 1 + arrow);
			end = behind_word(s, member);
		} else {
			return member;
		}
	}
}

/* A call of a function, or of a method, that begins at a place. */
static bool take_call_at(const char *s, long at, struct nvw__access *ret)
{
	const long end = behind_name(s, at), open = skip_space(s, end);
	long name = end;

	while (name > at && is_word(s[name - 1])) {
		name--;
	}
	if (s[open] == '(' && owner_of(s, at) < 0) {
		return take_call(s, name, open, ret);
	}
	const long member = owner_of(s, at) >= 0 && s[open] == '(' ? at : last_member(s, at);

	return member >= 0 && take_method(s, member, ret);
}

/* Behind the object that begins at a place; NOWHERE: none does. */
static long behind_object(const char *s, long at)
{
	const long member = last_member(s, at);
	long end = member >= 0 ? behind_word(s, member) : behind_name(s, at);

	while (s[skip_space(s, end)] == '[') {
		end = behind_bracket(s, skip_space(s, end));
		if (end < 0) {
			return NOWHERE;
		}
	}
	return end > at ? end : NOWHERE;
}

static bool is_step(const char *s, long at)
{
	return (s[at] == '+' || s[at] == '-') && s[at + 1] == s[at];
}

/* "x++", or "x = y" of a structure, that begin at a place: g++ places them there. */
static bool take_statement(const char *s, long at, struct nvw__access *ret)
{
	const long end = behind_object(s, at), sign = end >= 0 ? skip_space(s, end) : NOWHERE;
	const bool steps = sign >= 0 && is_step(s, sign);

	if (sign < 0 || !begins_operand(s, before(s, at)) || (!steps && behind_assignment(s, sign) < 0)) {
		return false;
	}
	ret->kind = steps ? NVW__ACCESS_OBJECT : NVW__ACCESS_COPIED;
	return copy(s, at, end, ret->text);
}

/* ---- A place ------------------------------------------------------------------------------------- */

static bool ends_object(char c)
{
	return is_word(c) || c == ')' || c == ']';
}

/* "x++" or "++x", whose operator is at a place. */
static bool take_step(const char *s, long at, struct nvw__access *ret)
{
	const long last = before(s, at), next = skip_space(s, at + 2);
	const bool is_keyword_before =
		last >= 0 && is_word(s[last]) && is_keyword(s, first_of_word(s, last), last);

	if (last >= 0 && ends_object(s[last]) && !is_keyword_before) {
		return !is_word(s[next]) && s[next] != '(' && take_object_before(s, at, ret);
	}
	if (!is_word(s[next])) {
		return false;
	}
	const long end = behind_object(s, next);

	return end >= 0 && s[skip_space(s, end)] != '(' && copy(s, next, end, ret->text);
}

/* The right side of "x = y" begins at a place. */
static bool take_copied(const char *s, long at, struct nvw__access *ret)
{
	const long sign = before(s, at);

	if (sign < 0 || s[sign] != '=' || behind_assignment(s, sign) != sign + 1) {
		return false;
	}
	ret->kind = NVW__ACCESS_COPIED;
	return take_object_before(s, sign, ret);
}

static long offset_of(const char *s, int line, int column)
{
	const char *at = s;

	for (; line > 1 && at; line--) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (!at || column < 1 || (size_t)column > strcspn(at, "\n")) {
		return NOWHERE;
	}
	return at - s + column - 1;
}

bool nvw__access_at(const char *source, int line, int column, struct nvw__access *ret)
{
	const long at = offset_of(source, line, column);

	NVW_INVARIANT(line >= 1);
	ret->kind = NVW__ACCESS_OBJECT;
	if (at < 0) {
		return false;
	}
	if (behind_assignment(source, at) > 0) {
		return take_object_before(source, at, ret);
	}
	if (is_step(source, at)) {
		return take_step(source, at, ret);
	}
	const long called = source[at] == '(' ? before(source, at) : NOWHERE;

	if (called >= 0 && is_word(source[called])) { /* where gcc places a call in C++ */
		return take_call_at(source, with_scopes(source, first_of_word(source, called)), ret);
	}
	if (is_word(source[at]) && (at == 0 || !is_word(source[at - 1])) &&
		(take_call_at(source, at, ret) || take_statement(source, at, ret))) {
		return true;
	}
	return take_copied(source, at, ret);
}
