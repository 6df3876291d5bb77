/* SPDX-License-Identifier: BSD-3-Clause */
/* See logged.h. A log is complete after each kernel, so that it can be read however the program ends. */
#include "logged.h"

#include <dlfcn.h>

#include "core/invariant.h"

static struct {
	struct nvw_log_writer *log;
	uint32_t number, kernels;
} self;

/* NULL: the program is not run by "nvwave exec". */
static const struct nvwave_kernel_hooks *hooks(void)
{
	static bool found;
	static const struct nvwave_kernel_hooks *the;
	union {
		void *address;
		nvwave_find_kernel_hooks *find;
	} symbol;

	if (!found) {
		found = true;
		symbol.address = dlsym(RTLD_DEFAULT, NVWAVE_KERNEL_HOOKS);
		if (symbol.find) {
			the = symbol.find();
		}
	}
	return the;
}

void logged_own(bool begins)
{
	if (hooks()) {
		hooks()->own(begins);
	}
}

int logged_create(const struct emu_config *config, uint64_t bytes, struct nvw_log_writer **ret_log)
{
	const struct nvw_log_info info = {.workload = "kernels",
		.options = "",
		.machine = config->name,
		.protocol = config->protocol,
		.model = emu_model_info(config->model)->name,
		.domain = emu_domain_name(config),
		.seed = config->seed,
		.pool_bytes = bytes,
		.atomicity = (uint32_t)config->nvram.atomicity};
	char path[512];
	int error = 0;

	NVW_INVARIANT(!self.log); /* a machine has one */
	self.kernels = 0;
	if (hooks() && hooks()->new_log(path, sizeof path, &self.number)) {
		error = nvw_log_create(path, &info, &self.log);
	}
	*ret_log = NULL;
	if (!error) {
		*ret_log = self.log;
	}
	return error;
}

void logged_close(uint64_t time_ps)
{
	if (nvw_log_close(self.log, time_ps)) {
		fprintf(stderr, "nvwave: %s\n", nvw_error_message());
	}
	self.log = NULL;
}

void logged_kernel_begins(const struct nvwave_kernel_range *ranges, size_t count, const void *place)
{
	self.kernels++;
	if (hooks()) {
		hooks()->begins(self.number, self.kernels, ranges, count, place);
	}
}

int logged_kernel_ends(bool failed)
{
	int error = 0;

	if (self.log) {
		error = nvw_log_flush(self.log);
	}
	if (hooks()) {
		hooks()->ends(failed || error);
	}
	return error;
}
