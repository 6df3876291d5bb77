/* SPDX-License-Identifier: BSD-3-Clause */
/* See kernels.h. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/folder.h"
#include "cuda/seam.h"

/* Next to the command in a build folder, or where it is installed. */
static int find_machine(char ret_path[HOST_LIBRARY_PATH])
{
	static const char *const places[] = {"../host/cuda/libnvwave-cuda-machine.so", NVWAVE_CUDA_BESIDE};
	char self[HOST_LIBRARY_PATH];

	nvw_own_folder(self, sizeof self);
	NVW_EACH_IN(place, places) {
		snprintf(ret_path, HOST_LIBRARY_PATH, "%.4000s/%s", self, *place);
		if (access(ret_path, R_OK) == 0) {
			return 0;
		}
	}
	return nvw_fail(NVW_E_SYSTEM,
		"%s: expected the emulated machine for CUDA programs; build all of nvwave "
		"(ninja -C build), or install it (meson install -C build)",
		ret_path);
}

static void machine_path(const struct host_session *s, char *ret_path, size_t n)
{
	snprintf(ret_path, n, "%s/%s.ini", s->folder.path, s->kernels.machine);
}

int host_kernels_emulate(struct host_session *s, const char *machine, const char *text, const char *races)
{
	char path[512];
	FILE *to;

	NVW_TRY(find_machine(s->kernels.library));
	HOST_COPY_TEXT(s->kernels.machine, machine);
	HOST_COPY_TEXT(s->kernels.races, NVW_OR(races, ""));
	machine_path(s, path, sizeof path);
	to = fopen(path, "we");
	NVW_FAIL_ERRNO_IF(!to, "%s", path);
	fputs(text, to);
	NVW_FAIL_ERRNO_IF(fclose(to), "%s", path);
	return 0;
}

void host_kernels_report(const struct host_session *s, char *ret_path, size_t n)
{
	snprintf(ret_path, n, "%s/kernels.json", s->folder.path);
}

void host_kernels_enter(const struct host_session *s)
{
	char path[512];

	setenv(NVW_CUDA_FENCE_VARIABLE, s->kernels.fences, 1);
	setenv(NVW_CUDA_SBRP_VARIABLE, s->kernels.sbrp, 1);
	if (!s->kernels.library[0]) {
		return;
	}
	machine_path(s, path, sizeof path);
	setenv(NVW_CUDA_LIBRARY_VARIABLE, s->kernels.library, 1);
	setenv(NVW_CUDA_MACHINE_VARIABLE, path, 1);
	host_kernels_report(s, path, sizeof path);
	setenv(NVW_CUDA_REPORT_VARIABLE, path, 1);
	if (s->kernels.races[0]) {
		setenv(NVW_CUDA_RACES_VARIABLE, s->kernels.races, 1);
	} else {
		unsetenv(NVW_CUDA_RACES_VARIABLE);
	}
}
