/* SPDX-License-Identifier: BSD-3-Clause */
/* libarchive, loaded at first use (archive.h). */
#include "archive.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* Every release 3 has this name. */
static_assert(ARCHIVE_VERSION_NUMBER / 1000000 == 3, "libarchive.so.13 is release 3");
static const char library_name[] = "libarchive.so.13";

int archive_load(const char *path, const struct archive_functions **ret)
{
	/* Loaded once, for the life of the process. */
	static struct archive_functions functions;
	static bool loaded;
	static const struct {
		const char *name;
		size_t at;
	} wanted[] = {
#define X(name) {"archive_" #name, offsetof(struct archive_functions, name)},
		ARCHIVE_FUNCTIONS(X)
#undef X
	};
	void *const library = loaded ? NULL : dlopen(library_name, RTLD_LAZY | RTLD_LOCAL);

	NVW_FAIL_IF(!loaded && !library, NVW_E_SYSTEM,
		"%s: cannot be read without %s, the library for compressed files: %s", path, library_name,
		dlerror());
	for (unsigned i = 0; !loaded && i < sizeof wanted / sizeof *wanted; i++) {
		void *const f = dlsym(library, wanted[i].name);

		if (!f) {
			dlclose(library);
			return nvw_fail(NVW_E_SYSTEM, "%s: cannot be read: %s has no function %s", path,
				library_name, wanted[i].name);
		}
		*(void **)((char *)&functions + wanted[i].at) = f;
	}
	loaded = true;
	*ret = &functions;
	return 0;
}
