/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types and variables. See types.h.
 *
 * A name is searched in the whole of a function, without regard to blocks: optimised code has no blocks to
 * rely on. If two variables of the name differ in type, neither is taken.
 */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"

#include "types.h"

enum { DEPTH_MAX = 24 };

bool nvw__type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), ret) != NULL;
}

static bool flag_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	bool is = false;

	return dwarf_formflag(dwarf_attr(die, name, &attribute), &is) == 0 && is;
}

static bool is_structure(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* What several declarations of a name have in common. */
struct found {
	const char *name;
	bool (*is)(int tag);
	bool is_type; /* what is looked for is a type itself, and else what has one */
	bool inside;  /* also in blocks and structures */
	unsigned count;
	bool differ;
	Dwarf_Die type;
};

static bool same_type(Dwarf_Die *a, Dwarf_Die *b)
{
	char name[128], other[128];

	if (a->addr == b->addr) {
		return true;
	}
	nvw__type_name(a, name, sizeof name);
	nvw__type_name(b, other, sizeof other);
	return strcmp(name, other) == 0 && !strstr(name, "(unnamed)") &&
	       nvw__type_bytes(a) == nvw__type_bytes(b);
}

static void note_found(struct found *f, Dwarf_Die *die)
{
	Dwarf_Die type = *die;

	if (!f->is_type && !nvw__type_of(die, &type)) {
		return;
	}
	f->differ = f->differ || (f->count > 0 && !same_type(&f->type, &type));
	f->type = type;
	f->count++;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_namespace;
}

static void search(struct found *f, Dwarf_Die *in, unsigned depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX) {
		return;
	}
	NVW__EACH_CHILD(&child, in) {
		const int tag = dwarf_tag(&child);
		const char *const name = dwarf_diename(&child);

		if (f->is(tag) && name && strcmp(name, f->name) == 0 &&
			!(f->is_type && flag_of(&child, DW_AT_declaration))) {
			note_found(f, &child);
		}
		if (is_block(tag) || (f->inside && is_structure(tag))) {
			search(f, &child, depth + 1);
		}
	}
}

/* ---- Types --------------------------------------------------------------------------------------- */

static void search_units(const struct nvw__scope *scope, struct found *f)
{
	Dwarf_Die unit = scope->unit;
	Dwarf_Addr bias;

	search(f, &unit, 0);
	for (Dwarf_Die *other = NULL;
		f->count == 0 && (other = dwfl_module_nextcu(scope->module, other, &bias));) {
		search(f, other, 0);
	}
}

/* What was found, if it is one thing. */
static bool the_only(const struct found *f, Dwarf_Die *ret)
{
	*ret = f->type;
	return f->count > 0 && !f->differ;
}

/* All units are asked: another definition of the name may be the one that is meant. */
static bool find_definition(const struct nvw__scope *scope, const char *name, Dwarf_Die *ret)
{
	struct found f = {.name = name, .is = is_structure, .is_type = true, .inside = true};
	Dwarf_Addr bias;

	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(scope->module, unit, &bias));) {
		search(&f, unit, 0);
	}
	return the_only(&f, ret);
}

static bool is_reference(int tag)
{
	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool nvw__type_peeled(const struct nvw__scope *scope, const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at = *type;
	const char *name;

	if (dwarf_peel_type(&at, ret) != 0) {
		return false;
	}
	while (is_reference(dwarf_tag(ret))) {
		if (!nvw__type_of(ret, &at) || dwarf_peel_type(&at, ret) != 0) {
			return false;
		}
	}
	if (!is_structure(dwarf_tag(ret)) || !flag_of(ret, DW_AT_declaration)) {
		return true;
	}
	name = dwarf_diename(ret);
	return name != NULL && find_definition(scope, name, ret);
}

uint64_t nvw__type_bytes(Dwarf_Die *type)
{
	Dwarf_Word bytes;

	if (dwarf_aggregate_size(type, &bytes) != 0) {
		return 0;
	}
	return bytes;
}

static bool is_c(Dwarf_Die *type)
{
	Dwarf_Die unit;
	const int language = dwarf_diecu(type, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_C11;
}

/* What stands before the name of a type, or before that of the type that it is made of. */
static const char *word_of(Dwarf_Die *type, int tag)
{
	static const struct {
		int tag;
		const char *in_c, *in_others;
	} words[] = {
		{DW_TAG_const_type, "const ", "const "},
		{DW_TAG_volatile_type, "volatile ", "volatile "},
		{DW_TAG_atomic_type, "_Atomic ", "_Atomic "},
		{DW_TAG_structure_type, "struct ", ""},
		{DW_TAG_union_type, "union ", ""},
		{DW_TAG_enumeration_type, "enum ", ""},
	};

	NVW_EACH_IN(word, words) {
		if (word->tag == tag) {
			return is_c(type) ? word->in_c : word->in_others;
		}
	}
	return "";
}

/* What stands behind the name of the type that it is made of. */
static const char *sign_of(int tag)
{
	switch (tag) {
	case DW_TAG_pointer_type:
		return " *";
	case DW_TAG_reference_type:
		return " &";
	case DW_TAG_rvalue_reference_type:
		return " &&";
	default:
		return "";
	}
}

static bool is_made_of_another(int tag)
{
	return *sign_of(tag) != '\0' || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_atomic_type || tag == DW_TAG_restrict_type || tag == DW_TAG_array_type;
}

static void name_array(Dwarf_Die *array, char *ret, size_t n)
{
	Dwarf_Die element;
	uint64_t count;
	bool nested;
	char of[96];

	if (!nvw__elements_of(array, &element, &count, &nested)) {
		snprintf(ret, n, "array");
		return;
	}
	nvw__type_name(&element, of, sizeof of);
	snprintf(ret, n, "%s [%llu]%s", of, (unsigned long long)count, nested ? "[]" : "");
}

void nvw__type_name(Dwarf_Die *type, char *ret, size_t n)
{
	const int tag = dwarf_tag(type);
	const char *const name = dwarf_diename(type);
	Dwarf_Die other;
	char of[96] = "void";

	NVW_INVARIANT(n > 0);
	if (tag == DW_TAG_array_type) {
		name_array(type, ret, n);
		return;
	}
	if (!is_made_of_another(tag)) {
		snprintf(ret, n, "%s%s", word_of(type, tag), NVW_OR(name, "(unnamed)"));
		return;
	}
	if (nvw__type_of(type, &other)) {
		nvw__type_name(&other, of, sizeof of);
	}
	const size_t end = strlen(of);
	const char *const sign = sign_of(tag);

	snprintf(ret, n, "%s%s%s", word_of(type, tag), of,
		sign + (end > 0 && strchr("*&", of[end - 1]) && *sign == ' '));
}

static bool is_any_type(int tag)
{
	return is_structure(tag) || tag == DW_TAG_typedef || tag == DW_TAG_base_type ||
	       tag == DW_TAG_enumeration_type;
}

static bool is_qualifier(const char *word)
{
	static const char *const words[] = {
		"const", "volatile", "struct", "class", "union", "enum", "restrict"};

	return NVW_ANY(one, words, NVW_COUNT(words), strcmp(word, *one) == 0);
}

/* The words without qualifiers: "struct node *" is node, "unsigned char *" unsigned char. */
static bool bare_name(const char *words, char *ret, size_t n, unsigned *ret_stars)
{
	char word[64];
	size_t length = 0;

	*ret = '\0';
	*ret_stars = 0;
	for (const char *at = words; *at != '\0';) {
		const size_t blanks = strspn(at, " "), letters = strcspn(at + blanks, " *&()[]<>,+-/.");

		at += blanks;
		if (*at == '*') {
			++*ret_stars;
			at++;
			continue;
		}
		if (letters == 0 || letters >= sizeof word || *ret_stars > 0) {
			return *at == '\0';
		}
		snprintf(word, sizeof word, "%.*s", (int)letters, at);
		at += letters;
		if (!is_qualifier(word)) {
			length += (size_t)snprintf(
				ret + length, n - length, "%s%s", length > 0 ? " " : "", word);
		}
		if (length >= n) {
			return false;
		}
	}
	return length > 0;
}

bool nvw__type_find(const struct nvw__scope *scope, const char *words, unsigned *ret_stars, Dwarf_Die *ret)
{
	char name[128];

	if (!bare_name(words, name, sizeof name, ret_stars)) {
		return false;
	}
	const char *const scopes = strrchr(name, ':');
	struct found f = {
		.name = scopes ? scopes + 1 : name, .is = is_any_type, .is_type = true, .inside = true};

	search_units(scope, &f);
	return the_only(&f, ret);
}

/* ---- Members ------------------------------------------------------------------------------------- */

/* A bit-field, from a bit of the structure on. */
static bool place_bits(Dwarf_Die *child, uint64_t first, struct nvw__member *ret)
{
	const int bits = dwarf_bitsize(child);

	ret->offset = first / 8;
	if (bits > 0) {
		ret->bit_bytes = (first % 8 + (unsigned)bits + 7) / 8;
	}
	return true;
}

bool nvw__member_of(Dwarf_Die *child, struct nvw__member *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	*ret = (struct nvw__member){.bits = dwarf_hasattr(child, DW_AT_bit_size)};
	if (!nvw__type_of(child, &ret->type)) {
		return false;
	}
	if (dwarf_attr(child, DW_AT_data_bit_offset, &attribute)) {
		return dwarf_formudata(&attribute, &value) == 0 && place_bits(child, value, ret);
	}
	if (dwarf_attr(child, DW_AT_data_member_location, &attribute)) {
		const bool known = dwarf_formudata(&attribute, &value) == 0;

		ret->offset = known ? value : 0;
		return known;
	}
	return true;
}

static bool search_members(const struct nvw__scope *scope, Dwarf_Die *structure, const char *name,
	struct nvw__member *ret, unsigned depth);

/* In a part without a name, or in a base. */
static bool search_part(const struct nvw__scope *scope, Dwarf_Die *part, const char *name,
	struct nvw__member *ret, unsigned depth)
{
	struct nvw__member outer;
	Dwarf_Die type;

	if (!nvw__member_of(part, &outer) || !nvw__type_peeled(scope, &outer.type, &type) ||
		!search_members(scope, &type, name, ret, depth + 1)) {
		return false;
	}
	ret->offset += outer.offset;
	return true;
}

static bool search_members(const struct nvw__scope *scope, Dwarf_Die *structure, const char *name,
	struct nvw__member *ret, unsigned depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || !is_structure(dwarf_tag(structure))) {
		return false;
	}
	NVW__EACH_CHILD(&child, structure) {
		const char *const own = dwarf_diename(&child);
		const bool is_member = dwarf_tag(&child) == DW_TAG_member;

		if (is_member && own && strcmp(own, name) == 0) {
			return !flag_of(&child, DW_AT_external) && nvw__member_of(&child, ret);
		}
		if (is_member && !own && search_part(scope, &child, name, ret, depth)) {
			return true;
		}
	}
	NVW__EACH_CHILD(&child, structure) {
		if (dwarf_tag(&child) == DW_TAG_inheritance && search_part(scope, &child, name, ret, depth)) {
			return true;
		}
	}
	return false;
}

bool nvw__member_find(
	const struct nvw__scope *scope, Dwarf_Die *structure, const char *name, struct nvw__member *ret)
{
	return search_members(scope, structure, name, ret, 0);
}

/* ---- Variables ----------------------------------------------------------------------------------- */

static bool is_variable(int tag)
{
	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

static bool is_function(int tag)
{
	return tag == DW_TAG_subprogram;
}

/* In the function as it stands here, and as it was written. */
static void search_function(const struct nvw__scope *scope, struct found *f)
{
	Dwarf_Die function = scope->function, written;
	Dwarf_Attribute attribute;

	search(f, &function, 0);
	if (dwarf_formref_die(dwarf_attr(&function, DW_AT_abstract_origin, &attribute), &written)) {
		search(f, &written, 0);
	}
}

static bool find_local(const struct nvw__scope *scope, const char *name, struct found *f)
{
	*f = (struct found){.name = name, .is = is_variable};
	search_function(scope, f);
	return f->count > 0;
}

/* The class of the method. */
static bool find_this(const struct nvw__scope *scope, Dwarf_Die *ret)
{
	Dwarf_Die pointer, pointed;
	struct found f;

	return find_local(scope, "this", &f) && !f.differ && nvw__type_peeled(scope, &f.type, &pointer) &&
	       dwarf_tag(&pointer) == DW_TAG_pointer_type && nvw__type_of(&pointer, &pointed) &&
	       nvw__type_peeled(scope, &pointed, ret);
}

static bool find_in_unit(
	const struct nvw__scope *scope, const char *name, bool (*is)(int tag), Dwarf_Die *ret)
{
	struct found f = {.name = name, .is = is};
	Dwarf_Die unit = scope->unit;

	search(&f, &unit, 0);
	return the_only(&f, ret);
}

bool nvw__variable_find(const struct nvw__scope *scope, const char *name, Dwarf_Die *ret_type,
	struct nvw__member *ret_member, Dwarf_Die *ret_this)
{
	struct found f;

	ret_this->addr = NULL;
	if (find_local(scope, name, &f)) {
		*ret_type = f.type;
		return !f.differ;
	}
	if (find_this(scope, ret_this) && nvw__member_find(scope, ret_this, name, ret_member)) {
		*ret_type = ret_member->type;
		return true;
	}
	ret_this->addr = NULL;
	return find_in_unit(scope, name, is_variable, ret_type);
}

bool nvw__function_find(const struct nvw__scope *scope, const char *name, Dwarf_Die *ret)
{
	return find_in_unit(scope, name, is_function, ret);
}

/* ---- Arrays -------------------------------------------------------------------------------------- */

static uint64_t count_of(Dwarf_Die *range)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_attr(range, DW_AT_count, &attribute)) {
		return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
	}
	if (dwarf_attr(range, DW_AT_upper_bound, &attribute) && dwarf_formudata(&attribute, &value) == 0) {
		return value + 1;
	}
	return 0; /* of a flexible array */
}

bool nvw__elements_of(Dwarf_Die *array, Dwarf_Die *ret_type, uint64_t *ret_count, bool *ret_nested)
{
	unsigned dimensions = 0;
	Dwarf_Die child;

	*ret_count = 0;
	if (!nvw__type_of(array, ret_type)) {
		return false;
	}
	NVW__EACH_CHILD(&child, array) {
		if (dwarf_tag(&child) == DW_TAG_subrange_type && dimensions++ == 0) {
			*ret_count = count_of(&child);
		}
	}
	*ret_nested = dimensions > 1;
	return dimensions > 0;
}
