/* SPDX-License-Identifier: BSD-3-Clause */
/* Source lines of sites, from the debug information of their objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nvw/random.h>

#include "core/bounds.h"
#include "core/each.h"
#include "exec.h"
#include "core/array.h"
#include "core/invariant.h"
#include "core/search.h"
#include "source/field.h"
#include "source/place.h"

/* What was found for an address of an object: a search in the debug information takes milliseconds, and a
 * program under many schedules has the same addresses in each of its runs. So it is kept for the life of the
 * process. A file that has changed since is another object. */
struct known {
	uint32_t object;
	uint64_t address;
	unsigned count;  /* 0: as of host_places_of() */
	bool has_layout; /* it was looked for */
	char *layout;
	struct host_place place[];
};

static struct {
	struct object {
		char *path;
		struct stat is;
		Dwfl *dwfl;
	} * at;
	uint32_t count, room;
} objects;
static uint32_t object_of[HOST_MODULES_MAX]; /* of the session's modules, from 1; 0: not known yet */

static struct {
	struct known **at; /* by hash; NULL: free */
	uint64_t count, room;
} table;

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

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* 0: no memory. */
static uint32_t find_object(const char *path)
{
	NVW_INVARIANT(objects.count <= objects.room);

	struct stat is = {.st_size = 0};

	(void)stat(path, &is);
	NVW_FOR(i, objects.count) {
		if (strcmp(objects.at[i].path, path) == 0 && is_same_file(&objects.at[i].is, &is)) {
			return i + 1;
		}
	}
	char *const kept = strdup(path);

	if (kept == NULL || !NVW_ROOM(objects.at, objects.room, objects.count + 1)) {
		free(kept);
		return 0;
	}
	objects.at[objects.count] = (struct object){.path = kept, .is = is, .dwfl = host_object_open(path)};
	return ++objects.count;
}

static uint32_t object_of_module(const struct host_control *c, uint32_t module)
{
	NVW_INVARIANT(module < NVW_COUNT(c->module));
	if (object_of[module] == 0) {
		object_of[module] = find_object(c->module[module].path);
	}
	return object_of[module];
}

void host_places_forget(void)
{
	memset(object_of, 0, sizeof object_of);
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
	const uint32_t object = object_of_module(c, s->module - 1);

	if (object == 0 || objects.at[object - 1].dwfl == NULL) {
		return NULL;
	}
	return dwfl_addrmodule(objects.at[object - 1].dwfl, call_of(s));
}

static void name_function(struct host_place *p, const struct nvw__place *found)
{
	snprintf(p->function, sizeof p->function, "%.*s", (int)sizeof p->function - 1,
		*found->function ? found->function : "?");
}

static void find_place(const struct host_control *c, const struct host_site *s, struct host_place *p)
{
	Dwfl_Module *const m = module_of(c, s);
	struct nvw__place found = {0};

	if (m != NULL) {
		found = nvw__place_of(m, call_of(s));
	}
	*p = (struct host_place){.line = (uint32_t)found.line};
	name_function(p, &found);
	if (found.file == NULL) {
		snprintf(p->file, sizeof p->file, "%.200s+0x%llx", basename(c->module[s->module - 1].path),
			(unsigned long long)call_of(s));
		p->line = 0;
		return;
	}
	HOST_COPY_TEXT(p->file, found.file);
}

static unsigned find_places(const struct host_control *c, const struct host_site *s,
	struct host_place ret_places[HOST_INLINED_MAX])
{
	Dwfl_Module *const m = module_of(c, s);
	struct nvw__place found[HOST_INLINED_MAX];
	unsigned count = 0;

	if (m != NULL) {
		count = nvw__places_of(m, call_of(s), found, HOST_INLINED_MAX);
	}
	find_place(c, s, &ret_places[0]);
	if (count > 0 && found[0].library) {
		return 0;
	}
	for (unsigned i = 1; i < count; i++) {
		struct host_place *const p = &ret_places[i];

		*p = (struct host_place){.line = (uint32_t)found[i].line};
		HOST_COPY_TEXT(p->file, found[i].file);
		name_function(p, &found[i]);
	}
	return NVW_OR(count, 1);
}

/* ---- What is known -------------------------------------------------------------------------------- */

/* Where it is, or would be. */
static struct known **entry_of(struct known **at, uint64_t room, uint32_t object, uint64_t address)
{
	NVW_INVARIANT(room > 0 && (room & (room - 1)) == 0);

	return at + NVW_PROBE(i, nvw_mix64(address + ((uint64_t)object << 48)), room,
			    at[i] == NULL || (at[i]->object == object && at[i]->address == address));
}

static bool make_room(void)
{
	if (2 * (table.count + 1) <= table.room) {
		return true;
	}
	const uint64_t room = NVW_OR(2 * table.room, 1024);
	struct known **const at = calloc(room, sizeof *at);

	if (at == NULL) {
		return false;
	}
	NVW_EACH(one, table.at, table.room) {
		if (*one != NULL) {
			*entry_of(at, room, (*one)->object, (*one)->address) = *one;
		}
	}
	free(table.at);
	table.at = at;
	table.room = room;
	NVW_INVARIANT(2 * (table.count + 1) <= room);
	return true;
}

/* What there is of a site, perhaps found now; NULL: it is none, or no memory. */
static struct known *known_of(const struct host_control *c, const struct host_site *s)
{
	struct host_place places[HOST_INLINED_MAX];
	uint32_t object;

	if (s == NULL || (object = object_of_module(c, s->module - 1)) == 0 || !make_room()) {
		return NULL;
	}
	struct known **const k = entry_of(table.at, table.room, object, call_of(s));

	if (*k != NULL) {
		return *k;
	}
	const unsigned count = find_places(c, s, places), kept = NVW_OR(count, 1);

	NVW_INVARIANT(kept <= HOST_INLINED_MAX);
	*k = calloc(1, sizeof **k + kept * sizeof *places);
	if (*k != NULL) {
		table.count++;
		(*k)->object = object;
		(*k)->address = call_of(s);
		(*k)->count = count;
		memcpy((*k)->place, places, kept * sizeof *places);
	}
	return *k;
}

unsigned host_places_of(
	const struct host_control *c, uint32_t site, struct host_place ret_places[HOST_INLINED_MAX])
{
	const struct known *const k = known_of(c, known_site(c, site));

	if (k == NULL) {
		ret_places[0] = (struct host_place){.file = "?", .function = "not flushed"};
		return 1;
	}
	memcpy(ret_places, k->place, NVW_OR(k->count, 1) * sizeof *ret_places);
	return k->count;
}

void host_place_of(const struct host_control *c, uint32_t site, struct host_place *p)
{
	struct host_place places[HOST_INLINED_MAX];

	(void)host_places_of(c, site, places);
	*p = places[0];
}

const char *host_layout_of(const struct host_control *c, uint32_t site)
{
	char layout[NVW__LAYOUT_BYTES];
	const struct host_site *const s = known_site(c, site);
	struct known *const k = known_of(c, s);
	bool library = false;

	if (k == NULL) {
		return NULL;
	}
	if (!k->has_layout) {
		Dwfl_Module *const m = module_of(c, s);

		k->has_layout = true;
		if (m != NULL && nvw__layout_of(m, call_of(s), &library, layout)) {
			k->layout = strdup(layout);
		}
	}
	return k->layout;
}
