/* SPDX-License-Identifier: BSD-3-Clause */
/* A table by address: debug information is searched once for each. */
#include "sites.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/search.h"
#include "wavefront/fiber.h"
#include "source/place.h"

struct entry {
	const void *place;
	struct nvw_site *site;
};

static struct entry *table;
static size_t used, room; /* room is a power of two */

static Dwfl *program(void)
{
	static char *path;
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &path};
	static Dwfl *dwfl;

	if (!dwfl && (dwfl = dwfl_begin(&callbacks)) != NULL &&
		(dwfl_linux_proc_report(dwfl, getpid()) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0)) {
		dwfl_end(dwfl);
		dwfl = NULL;
	}
	return dwfl;
}

static struct nvw_site *look_up(const void *place)
{
	struct nvw_site *const site = calloc(1, sizeof *site);
	const Dwarf_Addr call = (Dwarf_Addr)(uintptr_t)place - 1;
	Dwfl *const dwfl = program();
	Dwfl_Module *module = NULL;
	struct nvw__place p = {0};

	if (dwfl) {
		module = dwfl_addrmodule(dwfl, call);
	}
	if (module) {
		p = nvw__place_of(module, call);
	}
	char *const function = strdup(p.function);

	if (!site || !function) {
		free(function);
		free(site);
		return NULL;
	}
	site->file = "(no debug information)";
	site->function = function;
	if (p.file) {
		site->file = p.file;
		site->line = (unsigned)p.line;
	}
	return site;
}

/* ---- Aside ---------------------------------------------------------------------------------------- */

/* libdw keeps the lines of a file on the stack, 150 KB: more than a work-item's, whose neighbours' begin
 * below it. */
enum { ASIDE_BYTES = 1 << 20 };
static struct {
	const void *place;
	struct nvw_site *site;
	struct emu_fiber asks; /* the work-item */
	const void *its_stack;
	size_t its_bytes;
} aside;

static void answer(void)
{
	struct emu_fiber nobody;

	emu_fiber_arrive(&aside.its_stack, &aside.its_bytes);
	aside.site = look_up(aside.place);
	emu_fiber_announce(aside.its_stack, aside.its_bytes);
	emu_fiber_switch(&nobody, &aside.asks);
	__builtin_unreachable();
}

/* On a stack of its own. */
static struct nvw_site *look_up_aside(const void *place)
{
	static char *stack;
	struct emu_fiber answers;

	if (!stack && (stack = aligned_alloc(64, ASIDE_BYTES)) == NULL) {
		return NULL;
	}
	NVW_INVARIANT(place); /* site_of() knows what that is */
	aside.place = place;
	emu_fiber_clean(stack, ASIDE_BYTES);
	emu_fiber_announce(stack, ASIDE_BYTES);
	answers = emu_fiber_prepare(stack, stack + ASIDE_BYTES, answer);
	emu_fiber_switch(&aside.asks, &answers);
	emu_fiber_arrive(NULL, NULL);
	return aside.site;
}

/* ---- The table -------------------------------------------------------------------------------------- */

static size_t slot_of(const void *place)
{
	const uint64_t hash = (uintptr_t)place * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	return NVW_PROBE(i, hash, room, !table[i].place || table[i].place == place);
}

static bool grow(void)
{
	struct entry *const old = table;
	const size_t old_room = room, new_room = NVW_OR(2 * room, 1024);
	struct entry *const larger = calloc(new_room, sizeof *larger);

	NVW_INVARIANT(!(new_room & (new_room - 1)) && used <= room); /* slot_of() masks by it */
	if (!larger) {
		return false;
	}
	table = larger;
	room = new_room;
	NVW_EACH(one, old, old_room) {
		if (one->place) {
			table[slot_of(one->place)] = *one;
		}
	}
	free(old);
	return true;
}

const struct nvw_site *site_of(const void *place)
{
	static const struct nvw_site end = {.file = "(end of the kernel)", .function = ""};
	size_t i;

	if (!place) { /* work-items that have returned wait there for the others */
		return &end;
	}
	if (2 * used >= room && !grow()) {
		return NULL;
	}
	i = slot_of(place);
	if (!table[i].place) {
		struct nvw_site *const site = look_up_aside(place);

		if (!site) {
			return NULL;
		}
		table[i] = (struct entry){place, site};
		used++;
		NVW_INVARIANT(used < room); /* searches end at an empty slot */
	}
	return table[i].site;
}
