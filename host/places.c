/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines of sites, from the debug information of their objects. */
#include <stdio.h>
#include <string.h>

#include "exec.h"
#include "source/place.h"

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

void host_place_of(const struct host_control *c, uint32_t site, struct host_place *p)
{
	*p = (struct host_place){.file = "?", .function = "not flushed"};
	if (site == 0 || site > c->site_count || c->site[site - 1].module == 0) {
		return;
	}
	const struct host_site *const s = &c->site[site - 1];
	const uint32_t module = s->module - 1;
	Dwfl *const dwfl = open_module(c, module);
	const Dwarf_Addr call = s->offset - 1; /* the call, not the return address */
	Dwfl_Module *const m = dwfl ? dwfl_addrmodule(dwfl, call) : NULL;
	const struct nvw__place found = m ? nvw__place_of(m, call) : (struct nvw__place){0};

	snprintf(p->function, sizeof p->function, "%.*s", (int)sizeof p->function - 1,
		*found.function ? found.function : "?");
	if (found.file == NULL) {
		snprintf(p->file, sizeof p->file, "%.200s+0x%llx", basename(c->module[module].path),
			(unsigned long long)call);
		return;
	}
	snprintf(p->file, sizeof p->file, "%s", found.file);
	p->line = (uint32_t)found.line;
}
