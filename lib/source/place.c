/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source lines of addresses. See place.h.
 *
 * libdw finds the compilation unit of an address in an index (.debug_aranges), which clang does not write.
 * For an address that is not in the index it may find a neighbour, so the unit is asked whether the address
 * is its own; else all units are searched.
 *
 * libdw searches a whole unit for the functions of an address. For many addresses those that have code are
 * found once.
 */
#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"

#include "demangle.h"
#include "place.h"
#include "types.h"

enum { FRAMES_MAX = 16, SCOPES_MAX = 64 };

/* The compilation unit of an address, with or without an index. An index that lacks it may name a
 * neighbour. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *const indexed = dwfl_module_addrdie(module, address, ret_bias);

	if (indexed && dwarf_haspc(indexed, address - *ret_bias) == 1) {
		return indexed;
	}
	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, ret_bias));) {
		if (dwarf_haspc(unit, address - *ret_bias) == 1) {
			return unit;
		}
	}
	return NULL;
}

static bool line_of(Dwarf_Die *unit, Dwarf_Addr address, struct nvw__place *p)
{
	Dwarf_Line *const line = dwarf_getsrc_die(unit, address);

	if (!line || dwarf_lineno(line, &p->line) != 0) {
		return false;
	}
	if (dwarf_linecol(line, &p->column) != 0) {
		p->column = 0;
	}
	p->file = dwarf_linesrc(line, NULL, NULL);
	return p->file != NULL;
}

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/*
 * Headers of the system and of compilers (atomic_base.h, emmintrin.h), and those of nvwave-nvcc, whose
 * functions are CUDA's. clang names those of C++ by way of gcc's folder:
 * /usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12.
 */
static bool is_library(const char *file)
{
	static const char *const folders[] = {"/include/c++/", "/lib/gcc/", "/lib/clang/"};
	const size_t n = strlen(file);
	const char *const name = basename(file);
	bool is = begins(file, "/usr/include/") || begins(file, "/usr/local/include/");

	NVW_EACH_IN(folder, folders) {
		is = is || strstr(file, *folder);
	}
	return is || (n > 8 && strcmp(file + n - 8, "intrin.h") == 0) || begins(name, "nvw_cuda_") ||
	       strcmp(name, "cuda_runtime.h") == 0 || strcmp(name, "cooperative_groups.h") == 0;
}

static void own_name(Dwarf_Die *scope, struct nvw__place *p)
{
	Dwarf_Attribute attribute;
	const char *const name =
		NVW_OR(dwarf_formstring(dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute)),
			dwarf_diename(scope));

	p->function[0] = '\0';
	if (name) {
		nvw__demangle(name, strlen(name), p->function, sizeof p->function);
	}
}

/* Where an inlined function was called. */
static bool caller_of(Dwarf_Die *unit, Dwarf_Die *scope, struct nvw__place *p)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number, line;
	Dwarf_Files *files = NULL;

	if (dwarf_getsrcfiles(unit, &files, NULL) != 0 ||
		dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &number) != 0 ||
		dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) != 0) {
		return false;
	}
	p->file = dwarf_filesrc(files, number, NULL, NULL);
	p->line = (int)line;
	p->column = 0;
	if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_column, &attribute), &number) == 0) {
		p->column = (int)number;
	}
	return p->file != NULL;
}

static void add_place(const struct nvw__place *here, struct nvw__place *ret_place)
{
	*ret_place = *here;
	ret_place->library = is_library(here->file);
	while (begins(ret_place->file, "../")) { /* relative to the build folder */
		ret_place->file += 3;
	}
}

/* A compiler has put a function of its own around them. */
static void mark_copies(struct nvw__place *places, unsigned count)
{
	NVW_EACH(place, places, count) {
		place->is_copy = true;
	}
}

/* The functions of an address, which is here, innermost first. */
static unsigned frames_from(Dwarf_Die *unit, struct nvw__place here, Dwarf_Die *scopes, int count,
	struct nvw__place *ret_places, unsigned capacity)
{
	unsigned n = 0;

	NVW_INVARIANT(capacity > 0);
	for (int i = 0; i < count && n < capacity; i++) {
		const int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) {
			continue;
		}
		if (n > 0 && dwarf_hasattr(&scopes[i], DW_AT_artificial)) {
			mark_copies(ret_places, n);
			break;
		}
		own_name(&scopes[i], &here);
		here.scope = scopes[i];
		add_place(&here, &ret_places[n++]);
		if (tag == DW_TAG_subprogram || !caller_of(unit, &scopes[i], &here)) {
			break;
		}
	}
	if (n == 0) {
		add_place(&here, &ret_places[n++]);
	}
	return n;
}

/* What has the address of the descriptions below: a block, or an inlined function. */
static bool find_scope(Dwarf_Die *below, Dwarf_Addr address, Dwarf_Die *ret_die)
{
	NVW__EACH_CHILD(ret_die, below) {
		if (dwarf_haspc(ret_die, address) == 1) {
			return true;
		}
	}
	return false;
}

/* Innermost first. */
static int scopes_in(const Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die ret_scopes[SCOPES_MAX])
{
	Dwarf_Die *const end = ret_scopes + SCOPES_MAX, *at = end - 1;
	Dwarf_Die inner;

	*at = *function;
	while (at > ret_scopes && find_scope(at, address, &inner)) {
		*--at = inner;
	}
	memmove(ret_scopes, at, (size_t)(end - at) * sizeof *at);
	return (int)(end - at);
}

/* The address and the functions that it was inlined in, innermost first. 0: no debug information. */
static unsigned frames_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_places, unsigned capacity)
{
	struct nvw__place here = {.file = NULL};
	Dwarf_Addr bias;
	Dwarf_Die *const unit = unit_of(module, address, &bias), *innermost = NULL, *scopes = NULL;

	if (!unit || capacity == 0 || !line_of(unit, address - bias, &here)) {
		return 0;
	}
	here.unit = *unit;
	/* Behind an inlined function the first array goes on with where that is written, the second with
	 * where it is called. */
	const int found = dwarf_getscopes(unit, address - bias, &innermost);
	int count = found > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
	Dwarf_Die own[SCOPES_MAX];

	if (found <= 0) { /* also where a function is inlined that another unit describes */
		count = scopes_in(unit, address - bias, own);
	}
	const unsigned n =
		frames_from(unit, here, scopes != NULL ? scopes : own, count, ret_places, capacity);

	free(scopes);
	free(innermost);
	return n;
}

/* The innermost one that is the program's own; if none is, the innermost one of all. */
static unsigned own_frame(const struct nvw__place *frames, unsigned count)
{
	unsigned i = 0;

	while (i < count && frames[i].library) {
		i++;
	}
	if (i == count) {
		return 0;
	}
	return i;
}

struct nvw__place nvw__place_of(Dwfl_Module *module, Dwarf_Addr address)
{
	struct nvw__place frames[FRAMES_MAX] = {{.file = NULL}}, p = {.file = NULL};
	const unsigned count = frames_of(module, address, frames, FRAMES_MAX), own = own_frame(frames, count);
	const bool inlined = own + 1 < count;
	const char *const symbol = dwfl_module_addrname(module, address);
	char function[96];

	if (count > 0) {
		p = frames[own];
	}
	p.function[0] = '\0';
	if (symbol) {
		nvw__demangle(symbol, strcspn(symbol, "."), function, sizeof function);
		snprintf(p.function, sizeof p.function, inlined ? "%.80s, inlined in %s" : "%.0s%s",
			frames[own].function, function);
	}
	return p;
}

unsigned nvw__places_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_places, unsigned capacity)
{
	const unsigned count = frames_of(module, address, ret_places, capacity);
	unsigned kept = 0;

	NVW_EACH(ret_place, ret_places, count) {
		if (!ret_place->library) {
			ret_places[kept++] = *ret_place;
		}
	}
	if (count > 0) {
		return NVW_OR(kept, 1);
	}
	return 0;
}

static bool own_place(const struct nvw__place *frames, unsigned count, struct nvw__place *ret_place,
	bool *ret_through_library)
{
	const unsigned own = own_frame(frames, count);

	*ret_place = frames[own];
	*ret_through_library = own > 0;
	return count > 0 && !frames[own].library && frames[own].scope.addr;
}

bool nvw__own_place_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_place, bool *ret_through_library)
{
	struct nvw__place frames[FRAMES_MAX] = {{.file = NULL}};
	const unsigned count = frames_of(module, address, frames, FRAMES_MAX);

	return own_place(frames, count, ret_place, ret_through_library);
}

/* ---- Many addresses of a module -------------------------------------------------------------------- */

/* A function, or a piece of one: its code is [begin, end). */
struct nvw__function {
	Dwarf_Addr begin, end;
	Dwarf_Die die, unit;
};

static bool add_function(struct nvw__functions *f, Dwarf_Die *die, const Dwarf_Die *unit)
{
	Dwarf_Addr base, begin, end;

	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
		if (begin <= 1) {
			continue; /* the linker has left it out */
		}
		if (!NVW_ROOM(f->at, f->room, f->count + 1)) {
			return false;
		}
		NVW_DEEP_INVARIANT(f->count < f->room);
		f->at[f->count++] = (struct nvw__function){begin, end, *die, *unit};
	}
	return true;
}

/* All that are described below. */
static bool add_functions(struct nvw__functions *f, Dwarf_Die *below, const Dwarf_Die *unit)
{
	Dwarf_Die die;

	NVW__EACH_CHILD(&die, below) {
		if (dwarf_tag(&die) == DW_TAG_subprogram && !add_function(f, &die, unit)) {
			return false;
		}
		if (dwarf_haschildren(&die) && !add_functions(f, &die, unit)) {
			return false;
		}
	}
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct nvw__function *const f = a, *const g = b;

	return (f->begin > g->begin) - (f->begin < g->begin);
}

bool nvw__find_functions(Dwfl_Module *module, struct nvw__functions *ret_functions)
{
	struct nvw__functions f = {.at = NULL};

	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &f.bias));) {
		if (!add_functions(&f, unit, unit)) {
			nvw__functions_free(&f);
			return false;
		}
	}
	if (f.count > 0) {
		qsort(f.at, f.count, sizeof *f.at, by_begin);
	}
	*ret_functions = f;
	return true;
}

void nvw__functions_free(struct nvw__functions *f)
{
	free(f->at);
	*f = (struct nvw__functions){.at = NULL};
}

static int by_code(const void *key, const void *element)
{
	const Dwarf_Addr address = *(const Dwarf_Addr *)key;
	const struct nvw__function *const f = element;

	if (address < f->begin) {
		return -1;
	}
	return address >= f->end;
}

bool nvw__own_place_in(const struct nvw__functions *f, Dwarf_Addr address, struct nvw__place *ret_place,
	bool *ret_through_library)
{
	const Dwarf_Addr at = address - f->bias;
	const struct nvw__function *const in =
		f->count > 0 ? bsearch(&at, f->at, f->count, sizeof *f->at, by_code) : NULL;
	struct nvw__place frames[FRAMES_MAX] = {{.file = NULL}}, here = {.file = NULL};
	Dwarf_Die scopes[SCOPES_MAX];

	if (!in) {
		return false;
	}
	here.unit = in->unit;
	if (!line_of(&here.unit, at, &here)) {
		return false;
	}
	Dwarf_Die unit = in->unit;
	const int count = scopes_in(&in->die, at, scopes);

	return own_place(frames, frames_from(&unit, here, scopes, count, frames, FRAMES_MAX), ret_place,
		ret_through_library);
}
