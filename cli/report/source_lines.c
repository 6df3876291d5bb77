/* SPDX-License-Identifier: BSD-3-Clause */
/* Locating source files. See source_lines.h. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "source_lines.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"
#include "provenance.h"
#include "words.h"

enum { FOUND_MAX = 32, NAME_MAX_BYTES = 128 };

struct search {
	const char *file;
	char path[PATH_MAX]; /* its path; "" until it is found */
};

/*
 * The path of a file of a unit that was compiled in folder. It matches if the compiler was given that name in
 * that folder, or in a build folder below it ("../NAME", which -fmacro-prefix-map shortens): another file may
 * have the same last component.
 */
static void look_at_file(struct search *s, const char *path, const char *folder)
{
	static const char *const within[] = {"", "/.."};
	char wanted[PATH_MAX], whole[PATH_MAX];

	if (!path) {
		return;
	}
	if (*path == '/') {
		NVW_PRINT(whole, "%s", path);
	} else {
		NVW_PRINT(whole, "%s/%s", folder, path);
	}
	NVW_EACH(one, within, 2) {
		if (NVW_PRINT(wanted, "%s%s/%s", folder, *one, s->file) < (int)sizeof wanted &&
			strcmp(wanted, whole) == 0 && access(whole, R_OK) == 0) {
			NVW_PRINT(s->path, "%s", whole);
		}
	}
}

static void look_at_unit(struct search *s, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	size_t count;
	const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));

	if (dwarf_getsrcfiles(unit, &files, &count) != 0) {
		return;
	}
	for (size_t i = 0; i < count && *s->path == '\0'; i++) {
		look_at_file(s, dwarf_filesrc(files, i, NULL, NULL), words_or(folder, ""));
	}
}

static int look_at_module(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr start, void *context)
{
	struct search *const s = context;
	Dwarf_Addr bias;

	for (Dwarf_Die *unit = NULL; !*s->path && (unit = dwfl_module_nextcu(module, unit, &bias));) {
		look_at_unit(s, unit);
	}
	return *s->path ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Searches the debug information of this program and of its loaded objects. */
static void look_at_process(struct search *s)
{
	static char *no_path; /* as long as libdwfl may look at it */
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path};
	Dwfl *const dwfl = dwfl_begin(&callbacks);

	if (!dwfl) {
		return;
	}
	if (dwfl_linux_proc_report(dwfl, getpid()) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0) {
		dwfl_getmodules(dwfl, look_at_module, s, 0);
	}
	dwfl_end(dwfl);
}

/* The file's path according to the debug information; "" if there is none. Cached, because many findings name
 * few files. */
static const char *compiled_from(const char *file)
{
	static struct {
		char file[NAME_MAX_BYTES], path[PATH_MAX];
	} found[FOUND_MAX];
	static unsigned count;
	struct search s = {.file = file};
	unsigned i = NVW_INDEX(k, count, !strcmp(found[k].file, file));

	if (i == count) {
		look_at_process(&s);
		i = count < FOUND_MAX ? count++ : FOUND_MAX - 1;
		NVW_PRINT(found[i].file, "%s", file);
		NVW_PRINT(found[i].path, "%s", s.path);
	}
	NVW_INVARIANT(i < FOUND_MAX);
	return found[i].path;
}

/* False: it is nowhere. */
static bool find_source(const char *file, char ret_path[PATH_MAX])
{
	char in_root[PATH_MAX];

	if (*file == '/') {
		return access(file, R_OK) == 0 && realpath(file, ret_path);
	}
	NVW_PRINT(in_root, "%s/%s", cli_source_root, file);
	const char *const places[] = {compiled_from(file), file, in_root};

	return NVW_ANY(
		place, places, NVW_COUNT(places), access(*place, R_OK) == 0 && realpath(*place, ret_path));
}

FILE *cli_open_source(const char *file, const char **ret_searched)
{
	static char searched[2 * PATH_MAX]; /* *ret_searched, until the next call */
	char path[PATH_MAX];
	FILE *const f = find_source(file, path) ? fopen(path, "re") : NULL;

	if (!f) {
		NVW_PRINT(searched, "%s, %s, and the folders that the debug information names",
			words_or(getcwd(path, sizeof path), "."), cli_source_root);
		*ret_searched = searched;
	}
	return f;
}

const char *cli_source_path(const char *file)
{
	static char path[PATH_MAX];

	return find_source(file, path) ? path : file;
}
