/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines of sites, from the debug information of their objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "core/invariant.h"
#include "source/field.h"
#include "source/place.h"

/* What was found for a site before: a search in the debug information takes milliseconds. */
struct known {
	unsigned count;
	struct host_place place[];
};

/* Looked up once, for the life of the process, which reports on one session. */
static struct known *known[HOST_SITES_MAX + 1];
static Dwfl *opened[HOST_MODULES_MAX];
static bool tried[HOST_MODULES_MAX];

Dwfl *host_object_open(const char *path)
{
	static char *debug_path; /* as long as libdwfl may look at it */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	};
	Dwfl *const dwfl = dwfl_begin(&callbacks);

	if (dwfl != NULL) {
		dwfl_report_begin(dwfl);
		dwfl_report_elf(dwfl, "", path, -1, 0, true);
		dwfl_report_end(dwfl, NULL, NULL);
	}
	return dwfl;
}

static Dwfl *open_module(const struct host_control *c, uint32_t module)
{
	NVW_INVARIANT(module < sizeof c->module / sizeof *c->module);
	if (!tried[module]) {
		tried[module] = true;
		opened[module] = host_object_open(c->module[module].path);
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
	for (unsigned i = 0; i <= HOST_SITES_MAX; i++) {
		free(known[i]);
		known[i] = NULL;
	}
}

static const struct host_site *known_site(const struct host_control *c, uint32_t site)
{
	if (site == 0 || site > c->site_count || c->site[site - 1].module == 0) {
		return NULL;
	}
	return &c->site[site - 1];
}

/* The call, not the return address. */
static Dwarf_Addr call_of(const struct host_site *s)
{
	return s->offset - 1;
}

static Dwfl_Module *module_of(const struct host_control *c, const struct host_site *s)
{
	Dwfl *const dwfl = open_module(c, s->module - 1);

	if (dwfl == NULL) {
		return NULL;
	}
	return dwfl_addrmodule(dwfl, call_of(s));
}

static void name_function(struct host_place *p, const struct nvw__place *found)
{
	snprintf(p->function, sizeof p->function, "%.*s", (int)sizeof p->function - 1,
		*found->function ? found->function : "?");
}

void host_place_of(const struct host_control *c, uint32_t site, struct host_place *p)
{
	const struct host_site *const s = known_site(c, site);

	*p = (struct host_place){.file = "?", .function = "not flushed"};
	if (s == NULL) {
		return;
	}
	Dwfl_Module *const m = module_of(c, s);
	struct nvw__place found = {0};

	if (m != NULL) {
		found = nvw__place_of(m, call_of(s));
	}
	name_function(p, &found);
	if (found.file == NULL) {
		snprintf(p->file, sizeof p->file, "%.200s+0x%llx", basename(c->module[s->module - 1].path),
			(unsigned long long)call_of(s));
		return;
	}
	snprintf(p->file, sizeof p->file, "%s", found.file);
	p->line = (uint32_t)found.line;
}

static unsigned find_places(
	const struct host_control *c, uint32_t site, struct host_place ret_places[HOST_INLINED_MAX])
{
	const struct host_site *const s = known_site(c, site);
	Dwfl_Module *m = NULL;
	struct nvw__place found[HOST_INLINED_MAX];
	unsigned count = 0;

	if (s != NULL) {
		m = module_of(c, s);
	}
	if (m != NULL) {
		count = nvw__places_of(m, call_of(s), found, HOST_INLINED_MAX);
	}
	host_place_of(c, site, &ret_places[0]);
	if (count > 0 && found[0].library) {
		return 0;
	}
	for (unsigned i = 1; i < count; i++) {
		struct host_place *const p = &ret_places[i];

		*p = (struct host_place){.line = (uint32_t)found[i].line};
		snprintf(p->file, sizeof p->file, "%s", found[i].file);
		name_function(p, &found[i]);
	}
	return NVW_OR(count, 1);
}

static void remember(uint32_t site, const struct host_place *places, unsigned count)
{
	NVW_INVARIANT(site < sizeof known / sizeof *known);

	const unsigned kept = NVW_OR(count, 1);
	struct known *const k = malloc(sizeof *k + kept * sizeof *k->place);

	if (k == NULL) {
		return;
	}
	k->count = count;
	memcpy(k->place, places, kept * sizeof *places);
	known[site] = k;
}

unsigned host_places_of(
	const struct host_control *c, uint32_t site, struct host_place ret_places[HOST_INLINED_MAX])
{
	if (site > HOST_SITES_MAX) {
		return find_places(c, site, ret_places);
	}
	const struct known *const k = known[site];

	if (k == NULL) {
		const unsigned count = find_places(c, site, ret_places);

		remember(site, ret_places, count);
		return count;
	}
	memcpy(ret_places, k->place, NVW_OR(k->count, 1) * sizeof *ret_places);
	return k->count;
}

const char *host_layout_of(const struct host_control *c, uint32_t site)
{
	static char layout[NVW__LAYOUT_BYTES];
	const struct host_site *const s = known_site(c, site);
	Dwfl_Module *const m = s ? module_of(c, s) : NULL;
	bool library = false;

	return m != NULL && nvw__layout_of(m, call_of(s), &library, layout) ? layout : NULL;
}
