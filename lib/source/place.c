/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source lines of addresses. See place.h.
 *
 * libdw finds the unit of an address in an index (.debug_aranges), which clang does not write: units are gone through
 * for an address that the index lacks.
 */
#include <string.h>

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
		Dwarf_Line *const line =
			dwarf_haspc(unit, address - bias) == 1 ? dwarf_getsrc_die(unit, address - bias) : NULL;

		if (line != NULL && dwarf_lineno(line, ret_line) == 0) {
			return dwarf_linesrc(line, NULL, NULL);
		}
	}
	return NULL;
}

struct nvw__place nvw__place_of(Dwfl_Module *module, Dwarf_Addr address)
{
	struct nvw__place p = {.function = dwfl_module_addrname(module, address)};

	p.function_length = p.function ? (int)strcspn(p.function, ".") : 0;
	p.file = indexed_line(module, address, &p.line);
	p.file = p.file ? p.file : searched_line(module, address, &p.line);
	while (p.file != NULL && strncmp(p.file, "../", 3) == 0) { /* as seen from a build folder */
		p.file += 3;
	}
	return p;
}
