/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding workloads. See registry.h. */
#include "registry.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/each.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/print.h"
#include "report/words.h"

#define WORKLOAD(name) extern const struct nvw_workload nvw_workload_##name;
#include "workloads.def"
#undef WORKLOAD

static const struct nvw_workload *const built_in[] = {
#define WORKLOAD(name) &nvw_workload_##name,
#include "workloads.def"
#undef WORKLOAD
	NULL,
};

enum { WORKLOADS_MAX = 512, PATH_BYTES = 4096 };

/* ---- Libraries ----------------------------------------------------------------------------------- */

/* Found once, for the life of the process. */
static struct cli_workload found[WORKLOADS_MAX + 1];
static unsigned found_count;

static const struct nvw_workload *find_among(const struct cli_workload *w, const char *name)
{
	while (w->workload && strcmp(w->workload->name, name) != 0) {
		w++;
	}
	return w->workload;
}

static void add(const struct nvw_workload *w, const char *from)
{
	if (found_count < WORKLOADS_MAX && !find_among(found, w->name)) {
		found[found_count++] = (struct cli_workload){.workload = w, .from = from};
	}
}

static bool is_complete(const struct nvw_workload *w)
{
	return w->name != NULL && w->prepare && w->run;
}

static void load_library(const char *path)
{
	void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct nvw_workload *const *list = NULL;
	char *const from = strdup(path);

	if (object) {
		list = dlsym(object, "nvw_workloads");
	}

	if (!list || !from) {
		fprintf(stderr, "nvwave: note: %s is no library of workloads: %s\n", path, dlerror());
		free(from);
		return;
	}
	for (unsigned i = 0; list[i]; i++) {
		if (is_complete(list[i])) {
			add(list[i], from);
		} else {
			fprintf(stderr, "nvwave: note: %s: workload %u has no name, prepare or run\n", path,
				i + 1);
		}
	}
}

static int is_library(const struct dirent *entry)
{
	const char *const dot = strrchr(entry->d_name, '.');

	return dot != NULL && strcmp(dot, ".so") == 0;
}

/* In the order of their names. A folder that is not there has none. */
static int load_from(void *context, const char *name)
{
	const char *const *const folder = context;
	char path[PATH_BYTES];

	if (NVW_PRINT(path, "%s/%s", *folder, name) < (int)sizeof path) {
		load_library(path);
	}
	return 0;
}

static void load_folder(const char *folder)
{
	(void)nvw_each_entry(folder, is_library, load_from, &folder);
}

static void load_named_folders(const char *folders)
{
	char *const copy = strdup(folders), *rest = copy, *folder;

	while ((folder = strsep(&rest, ":"))) {
		if (*folder != '\0') {
			load_folder(folder);
		}
	}
	free(copy);
}

/* Where it was built, or where it is installed. */
static void load_folder_beside(void)
{
	static const char *const beside[] = {"../papers/kernels", NVWAVE_WORKLOADS_BESIDE};
	char self[PATH_BYTES], path[2 * PATH_BYTES];

	nvw_own_folder(self, sizeof self);
	if (*self == '\0') {
		return;
	}
	NVW_EACH_IN(one, beside) {
		NVW_PRINT(path, "%s/%s", self, *one);
		load_folder(path);
	}
}

const struct cli_workload *cli_workloads(void)
{
	const char *const named = getenv("NVWAVE_WORKLOADS");

	if (found_count > 0) {
		return found;
	}
	for (unsigned i = 0; built_in[i]; i++) {
		add(built_in[i], "nvwave");
	}
	if (named) {
		load_named_folders(named);
	}
	load_folder_beside();
	NVW_INVARIANT(found_count > 0);
	return found;
}

/* ---- One workload -------------------------------------------------------------------------------- */

const struct nvw_workload *nvw_workload_find(const char *name)
{
	for (unsigned i = 0; built_in[i]; i++) {
		if (strcmp(built_in[i]->name, name) == 0) {
			return built_in[i];
		}
	}
	return find_among(cli_workloads(), name);
}

const struct nvw_option *nvw_workload_option(const struct nvw_workload *workload, const char *name)
{
	for (const struct nvw_option *o = workload ? workload->options : NULL; o && o->name; o++) {
		if (!strcmp(o->name, name)) {
			return o;
		}
	}
	return NULL;
}

/* What is no workload stays loaded: the sites of its accesses are known already (device/sites.h). */
static int load_object(const char *path, const struct nvw_workload **ret_workload)
{
	struct stat s;

	/* The loader would wait for a pipe's writer. */
	NVW_FAIL_IF(stat(path, &s) == 0 && !S_ISREG(s.st_mode), NVW_E_USAGE,
		"workload %s cannot be loaded: expected a shared object, found no regular file", path);
	void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	NVW_FAIL_IF(!object, NVW_E_USAGE, "workload %s cannot be loaded: %s", path, dlerror());
	const struct nvw_workload *const w = dlsym(object, "nvw_workload");

	NVW_FAIL_IF(!w && dlsym(object, "nvw_workloads"), NVW_E_USAGE,
		"%s is a library of workloads: with its folder in NVWAVE_WORKLOADS they have names", path);
	NVW_FAIL_IF(!w, NVW_E_USAGE,
		"%s is not a workload: it exports no \"const struct nvw_workload nvw_workload\"", path);
	NVW_FAIL_IF(!is_complete(w), NVW_E_USAGE,
		"%s is not a workload: its nvw_workload has no name, prepare or run", path);
	*ret_workload = w;
	return 0;
}

static int fail_unknown(const char *name)
{
	const struct cli_workload *const all = cli_workloads();
	const char *names[WORKLOADS_MAX + 1];
	unsigned n = 0;

	while (all[n].workload) {
		names[n] = all[n].workload->name;
		n++;
	}
	names[n] = NULL;
	return nvw_fail(NVW_E_USAGE, "there is no workload %s%s (a shared object is named with a '/')", name,
		DID_YOU_MEAN(nvw_nearest(name, names), "; see nvwave list workloads"));
}

int nvw_workload_load(const char *name, const struct nvw_workload **ret_workload)
{
	if (strchr(name, '/')) {
		return load_object(name, ret_workload);
	}
	*ret_workload = nvw_workload_find(name);
	if (!*ret_workload) {
		return fail_unknown(name);
	}
	return 0;
}
