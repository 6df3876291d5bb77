/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types of expressions. See expression.h.
 *
 * Known are names, members, elements, "*", "&", brackets, casts to pointers, calls of functions whose type is
 * known, and D_RW() and D_RO() of libpmemobj. Where a step leads through an operator of a class, or to a name
 * that is a macro's, the type is not known.
 */
#include <ctype.h>
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"

#include "core/each.h"

enum { NAME_BYTES = 96, TEXT_BYTES = 192, NESTED_MAX = 32 };

struct parser {
	const struct nvw__scope *scope;
	const char *at;
	unsigned depth;
};

static bool take_unary(struct parser *p, struct nvw__value *ret);

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_space(struct parser *p)
{
	while (*p->at == ' ') {
		p->at++;
	}
}

static bool skip(struct parser *p, const char *sign)
{
	skip_space(p);
	if (strncmp(p->at, sign, strlen(sign)) != 0) {
		return false;
	}
	p->at += strlen(sign);
	return true;
}

/* A name, without what scopes it has before it. */
static bool take_name(struct parser *p, char ret[NAME_BYTES])
{
	skip_space(p);
	do {
		const char *const begin = p->at;

		while (is_word(*p->at)) {
			p->at++;
		}
		if (p->at == begin || p->at - begin >= NAME_BYTES || isdigit((unsigned char)*begin)) {
			return false;
		}
		snprintf(ret, NAME_BYTES, "%.*s", (int)(p->at - begin), begin);
	} while (strncmp(p->at, "::", 2) == 0 && (p->at += 2));
	return true;
}

/* The text in the bracket that begins here, and the place behind it. */
static bool take_bracket(struct parser *p, char *ret, size_t n)
{
	const bool angles = *p->at == '<';
	const char *const opens = angles ? "<" : "([", *const closes = angles ? ">" : ")]";
	const char *at = p->at;
	int depth = 0;

	do {
		depth += strchr(opens, *at) != NULL;
		depth -= strchr(closes, *at) != NULL;
		at++;
	} while (depth > 0 && *at != '\0');
	if (depth > 0 || (size_t)(at - p->at) >= n) {
		return false;
	}
	snprintf(ret, n, "%.*s", (int)(at - p->at) - 2, p->at + 1);
	p->at = at;
	return true;
}

/* ---- Steps --------------------------------------------------------------------------------------- */

static bool peel(const struct parser *p, struct nvw__value *v)
{
	Dwarf_Die peeled;

	if (v->nested || !nvw__type_peeled(p->scope, &v->type, &peeled)) {
		return v->nested;
	}
	v->type = peeled;
	return true;
}

/* Something of a type, whose place in anything else is not known. */
static struct nvw__value value_of(const Dwarf_Die *type)
{
	return (struct nvw__value){.type = *type};
}

/* What a pointer or an array leads to. */
static bool follow(const struct parser *p, struct nvw__value *v)
{
	Dwarf_Die pointed;

	if (v->address) {
		v->address = false;
		return true;
	}
	if (v->untyped || v->nested || !peel(p, v) || dwarf_tag(&v->type) != DW_TAG_pointer_type ||
		!nvw__type_of(&v->type, &pointed)) {
		return false;
	}
	*v = value_of(&pointed);
	return true;
}

/* The element of that number of an array; known: it is one, else it is a variable. */
static bool element_of(struct nvw__value *v, uint64_t number, bool known)
{
	Dwarf_Die element, of = v->of;
	uint64_t count;
	bool nested;
	const bool has_of = v->has_of && known;
	const uint64_t offset = v->offset;

	if (!nvw__elements_of(&v->type, &element, &count, &nested)) {
		return false;
	}
	*v = value_of(&element);
	if (nested) { /* of two dimensions alone the second step is known: there is no third */
		v->nested = true;
		return true;
	}
	if (has_of) { /* else its place in the structure is not known */
		v->has_of = true;
		v->of = of;
		v->offset = offset + number * nvw__type_bytes(&element);
	}
	return true;
}

static bool index_into(const struct parser *p, struct nvw__value *v, const char *text)
{
	char *end;
	const uint64_t number = strtoull(text, &end, 0);
	const bool known = *text != '\0' && *end == '\0';

	if (v->address || v->untyped || v->nested || !peel(p, v)) {
		return false; /* what is left of nested arrays would need another step */
	}
	if (dwarf_tag(&v->type) == DW_TAG_array_type) {
		return element_of(v, number, known);
	}
	return follow(p, v);
}

static bool enter(const struct parser *p, struct nvw__value *v, const char *name)
{
	struct nvw__member m;
	Dwarf_Die structure;

	if (v->address || v->untyped || v->nested || !nvw__type_peeled(p->scope, &v->type, &structure) ||
		!nvw__member_find(p->scope, &structure, name, &m)) {
		return false;
	}
	if (!v->has_of) {
		v->of = structure;
		v->offset = 0;
		v->has_of = true;
	}
	v->type = m.type;
	v->bits = m.bits;
	v->offset += m.offset;
	return true;
}

/* Members and elements behind an object. */
static bool take_steps(struct parser *p, struct nvw__value *v)
{
	char text[NAME_BYTES];

	for (;;) {
		skip_space(p);
		if (*p->at == '[') {
			if (!take_bracket(p, text, sizeof text) || !index_into(p, v, text)) {
				return false;
			}
		} else if (skip(p, "->")) {
			if (!follow(p, v) || !take_name(p, text) || !enter(p, v, text)) {
				return false;
			}
		} else if (skip(p, ".")) {
			if (!take_name(p, text) || !enter(p, v, text)) {
				return false;
			}
		} else {
			return *p->at != '('; /* of a method no type is asked */
		}
	}
}

/* ---- Operands ------------------------------------------------------------------------------------ */

/* "p + n" leads to the type that p leads to. */
static bool take_sum(struct parser *p, struct nvw__value *v)
{
	Dwarf_Die element;
	uint64_t count;
	bool nested;

	if (strpbrk(p->at, "=?:,<>&|") || v->untyped || v->nested) {
		return false;
	}
	p->at += strlen(p->at);
	if (!v->address && !peel(p, v)) {
		return false;
	}
	if (!v->address && dwarf_tag(&v->type) == DW_TAG_array_type) {
		if (!nvw__elements_of(&v->type, &element, &count, &nested) || nested) {
			return false;
		}
		*v = value_of(&element);
		v->address = true;
		return true;
	}
	v->has_of = false;
	return v->address || dwarf_tag(&v->type) == DW_TAG_pointer_type;
}

/* All of a text. */
static bool take_all(struct parser *p, struct nvw__value *ret)
{
	if (!take_unary(p, ret)) {
		return false;
	}
	skip_space(p);
	if (*p->at == '+' || *p->at == '-') {
		return take_sum(p, ret);
	}
	return *p->at == '\0';
}

/* In a bracket, all of it. */
static bool type_inside(struct parser *p, const char *text, struct nvw__value *ret)
{
	struct parser inner = {.scope = p->scope, .at = text, .depth = p->depth + 1};

	return inner.depth <= NESTED_MAX && take_all(&inner, ret);
}

/* What libpmemobj's D_RW() and D_RO() give: the union that TOID() declares has a pointer for it. */
static bool type_of_toid(struct parser *p, const char *text, struct nvw__value *ret)
{
	return type_inside(p, text, ret) && enter(p, ret, "_type") && peel(p, ret) &&
	       (*ret = value_of(&ret->type), true);
}

/* A pointer to the type; false: it is no type, or of one byte's or of no type, which says nothing. */
static bool cast_to(struct parser *p, const char *words, struct nvw__value *v)
{
	Dwarf_Die type;
	unsigned stars;

	if (!nvw__type_find(p->scope, words, &stars, &type)) {
		return false;
	}
	*v = value_of(&type);
	v->address = stars == 1; /* the address of one of that type */
	return stars == 1;
}

static bool names_bytes(const char *words)
{
	static const char *const types[] = {
		"void", "char", "unsigned char", "uint8_t", "std::byte", "signed char"};
	char name[NAME_BYTES];
	size_t n = strcspn(words, "*");

	while (n > 0 && words[n - 1] == ' ') {
		n--;
	}
	if (strncmp(words, "const ", 6) == 0 && n > 6) {
		words += 6;
		n -= 6;
	}
	snprintf(name, sizeof name, "%.*s", (int)n, words);
	return NVW_ANY(type, types, NVW_COUNT(types), strcmp(name, *type) == 0);
}

/* What is cast, and to what. */
static bool take_cast_of(struct parser *p, const char *words, struct nvw__value *ret)
{
	if (!names_bytes(words)) {
		return cast_to(p, words, ret);
	}
	ret->untyped = true; /* its address is that of before, but nothing is to be named by its type */
	return true;
}

/* Words and stars, at least one of these. */
static bool looks_like_type(const char *text)
{
	const size_t stars = strcspn(text, "*");

	return text[stars] == '*' && text[strspn(text, "*")] != '\0' && !isspace((unsigned char)*text) &&
	       is_word(*text) && text[stars + strspn(text + stars, "* ")] == '\0' &&
	       strcspn(text, "()[]<>+-/.,&?=!") == strlen(text);
}

static bool take_group(struct parser *p, struct nvw__value *ret)
{
	char text[TEXT_BYTES];

	if (!take_bracket(p, text, sizeof text)) {
		return false;
	}
	skip_space(p);
	if (looks_like_type(text) && (is_word(*p->at) || strchr("(*&", *p->at)) && *p->at != '\0') {
		struct nvw__value whatever;

		if (names_bytes(text)) {
			return take_unary(p, ret) && take_cast_of(p, text, ret);
		}
		return cast_to(p, text, ret) && (take_unary(p, &whatever) || (p->at += strlen(p->at)));
	}
	return type_inside(p, text, ret) && take_steps(p, ret);
}

static bool take_call(struct parser *p, const char *name, struct nvw__value *ret)
{
	char text[TEXT_BYTES];
	Dwarf_Die type;

	if (!take_bracket(p, text, sizeof text)) {
		return false;
	}
	if (strcmp(name, "D_RW") == 0 || strcmp(name, "D_RO") == 0) {
		return type_of_toid(p, text, ret);
	}
	if (!nvw__function_find(p->scope, name, &type)) {
		return false;
	}
	*ret = value_of(&type);
	return true;
}

/* reinterpret_cast<node *>(p) and its kin. */
static bool take_named_cast(struct parser *p, struct nvw__value *ret)
{
	char words[NAME_BYTES], text[TEXT_BYTES];

	if (!take_bracket(p, words, sizeof words) || *p->at != '(' || !take_bracket(p, text, sizeof text)) {
		return false;
	}
	if (names_bytes(words)) {
		return type_inside(p, text, ret) && take_cast_of(p, words, ret);
	}
	return looks_like_type(words) && cast_to(p, words, ret);
}

static bool take_variable(struct parser *p, const char *name, struct nvw__value *ret)
{
	struct nvw__member member;
	Dwarf_Die type, class;

	if (!nvw__variable_find(p->scope, name, &type, &member, &class)) {
		return false;
	}
	*ret = value_of(&type);
	if (class.addr) {
		ret->of = class;
		ret->has_of = true;
		ret->offset = member.offset;
		ret->bits = member.bits;
	}
	return true;
}

static bool take_operand(struct parser *p, struct nvw__value *ret)
{
	char name[NAME_BYTES];

	skip_space(p);
	if (*p->at == '(') {
		return take_group(p, ret);
	}
	if (!take_name(p, name)) {
		return false;
	}
	skip_space(p);
	if (*p->at == '<' && strlen(name) > 5 && strcmp(name + strlen(name) - 5, "_cast") == 0) {
		return take_named_cast(p, ret) && take_steps(p, ret);
	}
	if (*p->at == '(') {
		return take_call(p, name, ret) && take_steps(p, ret);
	}
	return take_variable(p, name, ret) && take_steps(p, ret);
}

static bool take_unary(struct parser *p, struct nvw__value *ret)
{
	if (++p->depth > NESTED_MAX) {
		return false;
	}
	if (skip(p, "*")) {
		return take_unary(p, ret) && follow(p, ret);
	}
	if (skip(p, "&")) {
		if (!take_unary(p, ret) || ret->address) {
			return false;
		}
		ret->address = true;
		return true;
	}
	return take_operand(p, ret);
}

bool nvw__expression_type(const struct nvw__scope *scope, const char *text, struct nvw__value *ret)
{
	struct parser p = {.scope = scope, .at = text};

	return take_all(&p, ret);
}
