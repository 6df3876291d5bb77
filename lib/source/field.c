/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts of stores. See field.h.
 *
 * The line and column of an instruction lead to the words of its store (access.c), the words to types
 * (expression.c). A store that the sizes of these contradict gets no name (layout.c).
 */
#include <ctype.h>
#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/each.h"

#include "access.h"
#include "expression.h"
#include "field.h"
#include "place.h"

enum { PARTS_MAX = 96, EXPANDED_MAX = 16, DEPTH_MAX = 12, SUFFIX_BYTES = 128 };

/* ---- The source ---------------------------------------------------------------------------------- */

/* The one that was read last: stores come from few files. */
static char *last_source, last_path[PATH_MAX];

static const char *source_of(const char *path)
{
	if (!last_source || strcmp(path, last_path) != 0) {
		free(last_source);
		last_source = nvw__source_read(path);
		snprintf(last_path, sizeof last_path, "%s", path);
	}
	return last_source;
}

/* What the program was built from: a source that was written later may say other things. */
static bool is_older(const char *path, Dwfl_Module *module)
{
	const char *object = NULL;
	struct stat source, program;

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &object, NULL);
	return object != NULL && stat(path, &source) == 0 && stat(object, &program) == 0 &&
	       (source.st_mtim.tv_sec < program.st_mtim.tv_sec ||
		       (source.st_mtim.tv_sec == program.st_mtim.tv_sec &&
			       source.st_mtim.tv_nsec <= program.st_mtim.tv_nsec));
}

static void path_of(const struct nvw__place *p, char ret[PATH_MAX])
{
	Dwarf_Die unit = p->unit;
	Dwarf_Attribute attribute;
	const char *const folder = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));

	if (p->file[0] == '/' || !folder) {
		snprintf(ret, PATH_MAX, "%s", p->file);
		return;
	}
	snprintf(ret, PATH_MAX, "%s/%s", folder, p->file);
	if (access(ret, R_OK) != 0) { /* nvw__place has taken "../" away */
		snprintf(ret, PATH_MAX, "%s/../%s", folder, p->file);
	}
}

static bool find_access(Dwfl_Module *module, const struct nvw__place *p, struct nvw__access *ret)
{
	char path[PATH_MAX];

	path_of(p, path);
	const char *const source = is_older(path, module) ? source_of(path) : NULL;

	return source != NULL && p->line > 0 && nvw__access_at(source, p->line, p->column, ret);
}

/* ---- Parts --------------------------------------------------------------------------------------- */

struct writer {
	const struct nvw__scope *scope;
	char *text;
	size_t length;
	unsigned parts;
	bool full; /* there was no room: no parts are known */
};

static void put_part(
	struct writer *w, const char *suffix, Dwarf_Die *type, uint64_t at, uint64_t bytes, uint64_t element)
{
	char name[96];

	nvw__type_name(type, name, sizeof name);
	const size_t room = NVW__LAYOUT_BYTES - w->length;
	const int n = snprintf(w->text + w->length, room, "%s\t%s\t%llu\t%llu\t%llu\n", suffix, name,
		(unsigned long long)at, (unsigned long long)bytes, (unsigned long long)element);

	if (n < 0 || (size_t)n >= room || ++w->parts > PARTS_MAX) {
		w->full = true;
		return;
	}
	w->length += (size_t)n;
}

static void put_type(struct writer *w, const char *suffix, Dwarf_Die *type, uint64_t at, unsigned depth);

static void put_member(struct writer *w, const char *suffix, Dwarf_Die *child, uint64_t at, unsigned depth)
{
	const char *const name = dwarf_tag(child) == DW_TAG_inheritance ? NULL : dwarf_diename(child);
	char longer[SUFFIX_BYTES];
	struct nvw__member m;

	if (!nvw__member_of(child, &m)) {
		w->full = true; /* a virtual base: its place is not known */
		return;
	}
	if (snprintf(longer, sizeof longer, "%s%s%s", suffix, name ? "." : "", name ? name : "") >=
		(int)sizeof longer) {
		w->full = true;
		return;
	}
	if (m.bits) {
		w->full = w->full || m.bit_bytes == 0;
		put_part(w, longer, &m.type, at + m.offset, m.bit_bytes, 0);
		return;
	}
	put_type(w, longer, &m.type, at + m.offset, depth + 1);
}

static bool is_static(Dwarf_Die *child)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(child, DW_AT_external, &attribute) != NULL ||
	       dwarf_attr(child, DW_AT_const_value, &attribute);
}

static bool is_part(Dwarf_Die *child)
{
	return (dwarf_tag(child) == DW_TAG_member && !is_static(child)) ||
	       dwarf_tag(child) == DW_TAG_inheritance;
}

/* A class of the C++ library: its members are nobody's words. */
static bool is_opaque(Dwarf_Die *structure)
{
	Dwarf_Die child;
	const char *name;

	if (dwarf_child(structure, &child) != 0) {
		return true;
	}
	do {
		name = is_part(&child) ? dwarf_diename(&child) : NULL;
		if (name && (strncmp(name, "_M_", 3) == 0 || strncmp(name, "_vptr", 5) == 0)) {
			return true;
		}
		if (dwarf_tag(&child) == DW_TAG_inheritance) {
			const char *const own = dwarf_diename(structure);

			if (own && strncmp(own, "atomic<", 7) == 0) {
				return true;
			}
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool is_structure(Dwarf_Die *type)
{
	return (dwarf_tag(type) == DW_TAG_structure_type || dwarf_tag(type) == DW_TAG_class_type) &&
	       !is_opaque(type);
}

static void put_structure(struct writer *w, const char *suffix, Dwarf_Die *type, uint64_t at, unsigned depth)
{
	Dwarf_Die child;

	NVW__EACH_CHILD(&child, type) {
		if (is_part(&child) && !w->full) {
			put_member(w, suffix, &child, at, depth);
		}
	}
}

static void put_array(
	struct writer *w, const char *suffix, Dwarf_Die *array, Dwarf_Die *type, uint64_t at, unsigned depth)
{
	Dwarf_Die element, peeled;
	uint64_t count;
	bool nested;
	char longer[SUFFIX_BYTES];

	if (!nvw__elements_of(array, &element, &count, &nested) || nested ||
		!nvw__type_peeled(w->scope, &element, &peeled)) {
		put_part(w, suffix, type, at, nvw__type_bytes(type), 0);
		return;
	}
	const uint64_t bytes = nvw__type_bytes(&element);

	if (!is_structure(&peeled) || count > EXPANDED_MAX) {
		put_part(w, suffix, type, at, nvw__type_bytes(type), bytes);
		return;
	}
	for (uint64_t i = 0; i < count && !w->full; i++) {
		snprintf(longer, sizeof longer, "%.100s[%llu]", suffix, (unsigned long long)i);
		put_type(w, longer, &element, at + i * bytes, depth + 1);
	}
}

/* The parts of a type that have names and are stored to as they are. */
static void put_type(struct writer *w, const char *suffix, Dwarf_Die *type, uint64_t at, unsigned depth)
{
	Dwarf_Die peeled;

	if (w->full || depth > DEPTH_MAX || !nvw__type_peeled(w->scope, type, &peeled)) {
		w->full = true;
		return;
	}
	if (dwarf_tag(&peeled) == DW_TAG_array_type) {
		put_array(w, suffix, &peeled, type, at, depth);
	} else if (is_structure(&peeled)) {
		put_structure(w, suffix, &peeled, at, depth);
	} else if (depth > 0) {
		put_part(w, suffix, type, at, nvw__type_bytes(type), 0);
	}
}

/* ---- The layout ---------------------------------------------------------------------------------- */

static bool write_layout(const struct nvw__scope *scope, enum nvw__layout_kind kind, const char *name,
	struct nvw__value *v, char *ret)
{
	struct writer w = {.scope = scope, .text = ret};
	char type[96], of[96] = "";
	Dwarf_Die peeled;

	if (!nvw__type_peeled(scope, &v->type, &peeled)) {
		return false;
	}
	const uint64_t bytes = nvw__type_bytes(&peeled);

	nvw__type_name(&v->type, type, sizeof type);
	if (v->has_of) {
		nvw__type_name(&v->of, of, sizeof of);
	}
	w.length = (size_t)snprintf(ret, NVW__LAYOUT_BYTES, "%c\t%s\t%s\t%s\t%llu\t%llu\n", kind, name, type,
		of, (unsigned long long)v->offset, (unsigned long long)bytes);
	const size_t first = w.length;

	if (kind != NVW__LAYOUT_BITS) {
		put_type(&w, "", &v->type, 0, 0);
	}
	if (w.full) {
		ret[first] = '\0';
	}
	return bytes > 0;
}

static bool is_aggregate(const struct nvw__scope *scope, struct nvw__value *v)
{
	Dwarf_Die peeled;

	if (!nvw__type_peeled(scope, &v->type, &peeled)) {
		return false;
	}
	const int tag = dwarf_tag(&peeled);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* std::atomic<T>, or what that is made of. */
static bool is_atomic(const struct nvw__scope *scope, struct nvw__value *v)
{
	Dwarf_Die peeled;
	const char *const name = nvw__type_peeled(scope, &v->type, &peeled) ? dwarf_diename(&peeled) : NULL;

	return name != NULL &&
	       (strncmp(name, "atomic<", 7) == 0 || strncmp(name, "__atomic_base<", 14) == 0 ||
		       strcmp(name, "atomic_flag") == 0);
}

static bool layout_of_object(
	const struct nvw__scope *scope, const struct nvw__access *a, bool library, char *ret)
{
	struct nvw__value v = {.nested = false};

	if (!nvw__expression_type(scope, a->text, &v) || v.address || v.untyped || v.nested) {
		return false;
	}
	if ((library || a->kind == NVW__ACCESS_ATOMIC) && !is_atomic(scope, &v)) {
		return false;
	}
	if (a->kind == NVW__ACCESS_COPIED && !is_aggregate(scope, &v)) {
		return false;
	}
	return write_layout(scope, v.bits ? NVW__LAYOUT_BITS : NVW__LAYOUT_OBJECT, a->text, &v, ret);
}

/* Casts to pointers to bytes leave the address as it is. */
static const char *without_casts(const char *text)
{
	static const char *const casts[] = {"(void*)", "(char*)", "(unsigned char*)", "(uint8_t*)"};

	NVW_EACH_IN(cast, casts) {
		if (strncmp(text, *cast, strlen(*cast)) == 0) {
			return without_casts(text + strlen(*cast));
		}
	}
	return text;
}

static bool layout_of_pointed(const struct nvw__scope *scope, const char *text, char *ret)
{
	struct nvw__value v = {.nested = false};
	Dwarf_Die peeled, pointed;

	text = without_casts(text);
	if (!nvw__expression_type(scope, text, &v) || v.untyped || v.nested || v.bits) {
		return false;
	}
	if (v.address && text[0] == '&') {
		return write_layout(scope, NVW__LAYOUT_COPY, text + 1, &v, ret);
	}
	if (v.address) {
		return write_layout(scope, NVW__LAYOUT_POINTED, text, &v, ret);
	}
	if (!nvw__type_peeled(scope, &v.type, &peeled)) {
		return false;
	}
	if (dwarf_tag(&peeled) == DW_TAG_array_type) {
		return write_layout(scope, NVW__LAYOUT_COPY, text, &v, ret);
	}
	if (dwarf_tag(&peeled) != DW_TAG_pointer_type || !nvw__type_of(&peeled, &pointed) ||
		!nvw__type_peeled(scope, &pointed, &peeled) || nvw__type_bytes(&peeled) <= 1) {
		return false; /* bytes of a buffer have no name */
	}
	v = (struct nvw__value){.type = pointed};
	return write_layout(scope, NVW__LAYOUT_POINTED, text, &v, ret);
}

bool nvw__layout_of(Dwfl_Module *module, Dwarf_Addr address, bool *library, char ret[NVW__LAYOUT_BYTES])
{
	struct nvw__place place;
	struct nvw__access a;
	bool through = false;

	if (!nvw__own_place_of(module, address, &place, &through)) {
		*library = place.library;
		return false;
	}
	const struct nvw__scope scope = {.module = module, .unit = place.unit, .function = place.scope};

	through = through || *library;
	*library = false;
	if (!find_access(module, &place, &a)) {
		return false;
	}
	if (a.kind == NVW__ACCESS_POINTED) {
		return layout_of_pointed(&scope, a.text, ret);
	}
	return layout_of_object(&scope, &a, through, ret);
}
