/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines of sites, from the debug information of the objects that they are in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include "exec.h"

static Dwfl *opened[HOST_MODULES_MAX];
static bool tried[HOST_MODULES_MAX];

static Dwfl *open_module(const struct host_control *c, uint32_t module)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	};

	if (!tried[module]) {
		tried[module] = true;
		opened[module] = dwfl_begin(&callbacks);
		if (opened[module] != NULL) {
			dwfl_report_begin(opened[module]);
			dwfl_report_elf(opened[module], "", c->module[module].path, -1, 0, true);
			dwfl_report_end(opened[module], NULL, NULL);
		}
	}
	return opened[module];
}

void host_places_close(void)
{
	for (unsigned i = 0; i < HOST_MODULES_MAX; i++) {
		if (opened[i] != NULL) {
			dwfl_end(opened[i]);
		}
		opened[i] = NULL;
		tried[i] = false;
	}
}

static const char *last_component(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Without an index of addresses, which clang does not write: the unit that has it. */
static const char *line_of(Dwfl_Module *m, Dwarf_Addr address, int *ret_line)
{
	Dwfl_Line *const indexed = dwfl_module_getsrc(m, address);
	Dwarf_Addr bias;

	if (indexed != NULL) {
		return dwfl_lineinfo(indexed, NULL, ret_line, NULL, NULL, NULL);
	}
	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(m, unit, &bias)) != NULL;) {
		Dwarf_Line *const line =
			dwarf_haspc(unit, address - bias) == 1 ? dwarf_getsrc_die(unit, address - bias) : NULL;

		if (line != NULL && dwarf_lineno(line, ret_line) == 0) {
			return dwarf_linesrc(line, NULL, NULL);
		}
	}
	return NULL;
}

/* The unit of an address, also without an index. */
static Dwarf_Die *unit_of(Dwfl_Module *m, Dwarf_Addr address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(m, address, ret_bias);

	while (unit == NULL || dwarf_haspc(unit, address - *ret_bias) != 1) {
		unit = dwfl_module_nextcu(m, unit, ret_bias);
		if (unit == NULL) {
			return NULL;
		}
	}
	return unit;
}

/* The compiler's headers of instructions, such as emmintrin.h: nobody's own code. */
static bool is_intrinsic(const char *file)
{
	const size_t n = strlen(file);

	return n > 8 && strcmp(file + n - 8, "intrin.h") == 0;
}

/* Where the outermost function of such a header was called; otherwise file and line stay as they are. */
static const char *leave_intrinsics(Dwfl_Module *m, Dwarf_Addr address, const char *file, int *line)
{
	Dwarf_Addr bias;
	Dwarf_Die *const unit = is_intrinsic(file) ? unit_of(m, address, &bias) : NULL, *scopes = NULL;
	const int n = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
	Dwarf_Files *files = NULL;

	for (int i = 0; i < n && is_intrinsic(file) && dwarf_getsrcfiles(unit, &files, NULL) == 0; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Word number, at;

		if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine &&
			dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &number) == 0 &&
			dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &at) == 0 &&
			dwarf_filesrc(files, number, NULL, NULL) != NULL) {
			file = dwarf_filesrc(files, number, NULL, NULL);
			*line = (int)at;
		}
	}
	free(scopes);
	return file;
}

void host_place_of(const struct host_control *c, uint32_t site, struct host_place *p)
{
	*p = (struct host_place){.file = "?", .function = "not flushed"};
	if (site == 0 || site > c->site_count || c->site[site - 1].module == 0) {
		return;
	}
	const struct host_site *const s = &c->site[site - 1];
	const uint32_t module = s->module - 1;
	Dwfl *const dwfl = open_module(c, module);
	const Dwarf_Addr call = s->offset - 1; /* and not what comes after it */
	Dwfl_Module *const m = dwfl ? dwfl_addrmodule(dwfl, call) : NULL;
	const char *const function = m ? dwfl_module_addrname(m, call) : NULL;
	int line = 0;
	const char *file = m ? line_of(m, call, &line) : NULL;

	file = file ? leave_intrinsics(m, call, file, &line) : NULL;

	snprintf(p->function, sizeof p->function, "%s", function ? function : "?");
	if (file == NULL) {
		snprintf(p->file, sizeof p->file, "%.200s+0x%llx", last_component(c->module[module].path),
			(unsigned long long)call);
		return;
	}
	while (strncmp(file, "../", 3) == 0) { /* as seen from a build folder */
		file += 3;
	}
	snprintf(p->file, sizeof p->file, "%s", file);
	p->line = (uint32_t)line;
}
