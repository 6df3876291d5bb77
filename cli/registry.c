/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding workloads. See registry.h. */
#include "registry.h"

#include <dlfcn.h>
#include <string.h>

#include "core/units.h"

#define WORKLOAD(name) extern const struct nvw_workload nvw_workload_##name;
#include "workloads.def"
#undef WORKLOAD

const struct nvw_workload *const nvw_workloads[] = {
#define WORKLOAD(name) &nvw_workload_##name,
#include "workloads.def"
#undef WORKLOAD
	NULL,
};

enum { WORKLOADS = sizeof nvw_workloads / sizeof *nvw_workloads };

const struct nvw_workload *nvw_workload_find(const char *name)
{
	for (unsigned i = 0; nvw_workloads[i]; i++) {
		if (!strcmp(nvw_workloads[i]->name, name)) {
			return nvw_workloads[i];
		}
	}
	return NULL;
}

static int load_object(const char *path, const struct nvw_workload **ret_workload)
{
	void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct nvw_workload *w;

	if (!object) {
		return nvw_fail(NVW_E_USAGE, "workload %s cannot be loaded: %s", path, dlerror());
	}
	w = dlsym(object, "nvw_workload");
	if (!w) {
		dlclose(object);
		return nvw_fail(NVW_E_USAGE,
			"%s is not a workload: it exports no \"const struct nvw_workload nvw_workload\"",
			path);
	}
	if (!w->name || !w->prepare || !w->run) {
		dlclose(object);
		return nvw_fail(NVW_E_USAGE,
			"%s is not a workload: its nvw_workload has no name, prepare or run", path);
	}
	*ret_workload = w;
	return 0;
}

int nvw_workload_load(const char *name, const struct nvw_workload **ret_workload)
{
	const char *names[WORKLOADS];
	const char *near;

	if (strchr(name, '/')) {
		return load_object(name, ret_workload);
	}
	*ret_workload = nvw_workload_find(name);
	if (*ret_workload) {
		return 0;
	}
	for (unsigned i = 0; i < WORKLOADS; i++) {
		names[i] = nvw_workloads[i] ? nvw_workloads[i]->name : NULL;
	}
	near = nvw_nearest(name, names);
	return near ? nvw_fail(NVW_E_USAGE,
			      "there is no workload %s; did you mean %s? (a shared object is named with a '/')",
			      name, near) :
		      nvw_fail(NVW_E_USAGE,
			      "there is no workload %s; see nvwave list workloads (a shared object is named with a '/')",
			      name);
}
