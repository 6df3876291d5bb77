/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source lines of addresses. See place.h.
 *
 * libdw finds the compilation unit of an address in an index (.debug_aranges), which clang does not write.
 * For an address that is not in the index it may find a neighbour, so the unit is asked whether the address
 * is its own; else all units are searched.
 */
#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"

#include "demangle.h"
#include "place.h"

enum { FRAMES_MAX = 16 };

/* The compilation unit of an address, with or without an index. An index that lacks it may name a
 * neighbour. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *const indexed = dwfl_module_addrdie(module, address, ret_bias);

	if (indexed != NULL && dwarf_haspc(indexed, address - *ret_bias) == 1) {
		return indexed;
	}
	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, ret_bias)) != NULL;) {
		if (dwarf_haspc(unit, address - *ret_bias) == 1) {
			return unit;
		}
	}
	return NULL;
}

static bool line_of(Dwarf_Die *unit, Dwarf_Addr address, struct nvw__place *p)
{
	Dwarf_Line *const line = dwarf_getsrc_die(unit, address);

	if (line == NULL || dwarf_lineno(line, &p->line) != 0) {
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

	for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
		is = is || strstr(file, folders[i]) != NULL;
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
	if (name != NULL) {
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

/* The address and the functions that it was inlined in, innermost first. 0: no debug information. */
static unsigned frames_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_places, unsigned capacity)
{
	struct nvw__place here = {.file = NULL};
	Dwarf_Addr bias;
	Dwarf_Die *const unit = unit_of(module, address, &bias), *innermost = NULL, *scopes = NULL;

	if (unit == NULL || capacity == 0 || !line_of(unit, address - bias, &here)) {
		return 0;
	}
	here.unit = *unit;
	/* Behind an inlined function the first array goes on with where that is written, the second with
	 * where it is called. */
	const int found = dwarf_getscopes(unit, address - bias, &innermost);
	const int count = found > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
	unsigned n = 0;

	for (int i = 0; i < count && n < capacity; i++) {
		const int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) {
			continue;
		}
		own_name(&scopes[i], &here);
		here.scope = scopes[i];
		add_place(&here, &ret_places[n++]);
		if (tag == DW_TAG_subprogram || !caller_of(unit, &scopes[i], &here)) {
			break;
		}
	}
	free(scopes);
	free(innermost);
	if (n == 0) {
		add_place(&here, &ret_places[n++]);
	}
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
	if (symbol != NULL) {
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

	for (unsigned i = 0; i < count; i++) {
		if (!ret_places[i].library) {
			ret_places[kept++] = ret_places[i];
		}
	}
	if (count > 0) {
		return NVW_OR(kept, 1);
	}
	return 0;
}

bool nvw__own_place_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_place, bool *ret_through_library)
{
	struct nvw__place frames[FRAMES_MAX] = {{.file = NULL}};
	const unsigned count = frames_of(module, address, frames, FRAMES_MAX), own = own_frame(frames, count);

	*ret_place = frames[own];
	*ret_through_library = own > 0;
	return count > 0 && !frames[own].library && frames[own].scope.addr != NULL;
}
