/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source lines of addresses. See place.h.
 *
 * libdw finds the compilation unit of an address in an index (.debug_aranges), which clang does not write.
 * For an address that is not in the index, all units are searched.
 */
#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "place.h"

static const char *indexed_line(Dwfl_Module *module, Dwarf_Addr address, int *ret_line)
{
	Dwfl_Line *const line = dwfl_module_getsrc(module, address);

	return line ? dwfl_lineinfo(line, NULL, ret_line, NULL, NULL, NULL) : NULL;
}

static const char *searched_line(Dwfl_Module *module, Dwarf_Addr address, int *ret_line)
{
	Dwarf_Addr bias;

	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias)) != NULL;) {
		Dwarf_Line *const line = dwarf_haspc(unit, address - bias) == 1 ?
						 dwarf_getsrc_die(unit, address - bias) :
						 NULL;

		if (line != NULL && dwarf_lineno(line, ret_line) == 0) {
			return dwarf_linesrc(line, NULL, NULL);
		}
	}
	return NULL;
}

/* The compilation unit of an address, with or without an index. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, ret_bias);

	while (unit == NULL || dwarf_haspc(unit, address - *ret_bias) != 1) {
		unit = dwfl_module_nextcu(module, unit, ret_bias);
		if (unit == NULL) {
			return NULL;
		}
	}
	return unit;
}

/* The compiler's own headers, such as emmintrin.h, and those of nvwave-nvcc, whose functions are CUDA's. */
static bool is_intrinsic(const char *file)
{
	const size_t n = strlen(file);
	const char *const slash = strrchr(file, '/'), *const name = slash ? slash + 1 : file;

	return (n > 8 && strcmp(file + n - 8, "intrin.h") == 0) || strncmp(name, "nvw_cuda_", 9) == 0 ||
	       strcmp(name, "cuda_runtime.h") == 0 || strcmp(name, "cooperative_groups.h") == 0;
}

/* Replaces a place in such a header by the place where its outermost function was called. */
static void leave_intrinsics(Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *p)
{
	Dwarf_Addr bias;
	Dwarf_Die *const unit = is_intrinsic(p->file) ? unit_of(module, address, &bias) : NULL,
			 *scopes = NULL;
	const int n = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
	Dwarf_Files *files = NULL;

	for (int i = 0; i < n && is_intrinsic(p->file) && dwarf_getsrcfiles(unit, &files, NULL) == 0; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Word number, line;

		if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine &&
			dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &number) == 0 &&
			dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line) == 0 &&
			dwarf_filesrc(files, number, NULL, NULL) != NULL) {
			p->file = dwarf_filesrc(files, number, NULL, NULL);
			p->line = (int)line;
		}
	}
	free(scopes);
}

/* The innermost function that was inlined at an address, as the debug information names it; "": none was. */
static void inlined_name(Dwfl_Module *module, Dwarf_Addr address, char *ret_name, size_t n)
{
	Dwarf_Addr bias;
	Dwarf_Die *const unit = unit_of(module, address, &bias), *scopes = NULL;
	const int count = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;

	ret_name[0] = '\0';
	for (int i = 0; i < count && ret_name[0] == '\0'; i++) {
		Dwarf_Attribute attribute;

		if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine) {
			const char *const linked = dwarf_formstring(
				dwarf_attr_integrate(&scopes[i], DW_AT_linkage_name, &attribute));
			const char *const name = linked ? linked : dwarf_diename(&scopes[i]);

			if (name != NULL) {
				nvw__demangle(name, strlen(name), ret_name, n);
			}
		} else if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
			break;
		}
	}
	free(scopes);
}

static void name_function(Dwfl_Module *module, Dwarf_Addr address, bool intrinsic, struct nvw__place *p)
{
	const char *const symbol = dwfl_module_addrname(module, address);
	char inlined[80], function[96];

	if (symbol == NULL) {
		return;
	}
	nvw__demangle(symbol, strcspn(symbol, "."), function, sizeof function);
	inlined[0] = '\0';
	if (p->file != NULL && !intrinsic) {
		inlined_name(module, address, inlined, sizeof inlined);
	}
	snprintf(p->function, sizeof p->function, *inlined ? "%s, inlined in %s" : "%s%s", inlined, function);
}

struct nvw__place nvw__place_of(Dwfl_Module *module, Dwarf_Addr address)
{
	struct nvw__place p = {.file = NULL};

	p.file = indexed_line(module, address, &p.line);
	p.file = p.file ? p.file : searched_line(module, address, &p.line);
	const bool intrinsic = p.file != NULL && is_intrinsic(p.file);

	if (intrinsic) {
		leave_intrinsics(module, address, &p);
	}
	name_function(module, address, intrinsic, &p);
	while (p.file != NULL && strncmp(p.file, "../", 3) == 0) { /* relative to the build folder */
		p.file += 3;
	}
	return p;
}

static void own_name(Dwarf_Die *scope, struct nvw__place *p)
{
	Dwarf_Attribute attribute;
	const char *const linked =
		dwarf_formstring(dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute));
	const char *const name = linked ? linked : dwarf_diename(scope);

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
	while (p->file != NULL && strncmp(p->file, "../", 3) == 0) {
		p->file += 3;
	}
	return p->file != NULL;
}

unsigned nvw__places_of(
	Dwfl_Module *module, Dwarf_Addr address, struct nvw__place *ret_places, unsigned capacity)
{
	struct nvw__place here = nvw__place_of(module, address);
	Dwarf_Addr bias;
	Dwarf_Die *const unit = here.file && capacity > 0 ? unit_of(module, address, &bias) : NULL,
			 *innermost = NULL, *scopes = NULL;
	/* Behind an inlined function the first array goes on with where that is written, the second with where it is called. */
	const int found = unit ? dwarf_getscopes(unit, address - bias, &innermost) : 0;
	const int count = found > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
	unsigned n = 0;

	for (int i = 0; i < count && n < capacity; i++) {
		const int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) {
			continue;
		}
		own_name(&scopes[i], &here);
		ret_places[n++] = here;
		if (tag == DW_TAG_subprogram || !caller_of(unit, &scopes[i], &here)) {
			break;
		}
	}
	free(scopes);
	free(innermost);
	if (n == 0 && here.file != NULL && capacity > 0) {
		ret_places[n++] = here;
	}
	return n;
}
