/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels and variables of the device, by what host code knows of them. nvwave-device makes tables of them in
 * each object file, one behind the other in the program. When the program begins the host half of each
 * announces the addresses of its stubs and shadows by name, by CUDA's own functions for that, which the
 * compiler calls: its "device binary" is the name of its device half.
 */

#include "runtime.h"

extern struct kernel_entry __start_nvw_kernels[] __attribute__((weak)),
	__stop_nvw_kernels[] __attribute__((weak));
extern struct variable_entry __start_nvw_variables[] __attribute__((weak)),
	__stop_nvw_variables[] __attribute__((weak));

/* What the compiler makes of a device binary. */
struct binary {
	int magic, version;
	const char *bytes;
	void *unused;
};

/* Its result is handed to the others. */
const char *__cudaRegisterFatBinary(const struct binary *binary)
{
	return binary->bytes;
}

void __cudaRegisterFatBinaryEnd(const char *half)
{
}

void __cudaUnregisterFatBinary(const char *half)
{
}

/* A template's stub may be that of several files: each has the kernel. */
int __cudaRegisterFunction(const char *half, const void *stub, const char *name)
{
	for (struct kernel_entry *k = __start_nvw_kernels; k < __stop_nvw_kernels; k++) {
		if (strcmp(k->half, half) == 0 && strcmp(k->symbol, name) == 0) {
			k->stub = stub;
		}
	}
	return 0;
}

void __cudaRegisterVar(const char *half, const void *shadow, const char *name)
{
	for (struct variable_entry *v = __start_nvw_variables; v < __stop_nvw_variables; v++) {
		if (strcmp(v->half, half) == 0 && strcmp(v->symbol, name) == 0) {
			v->shadow = shadow;
		}
	}
}

const struct kernel_entry *nvw_cuda_kernel_of(const void *stub)
{
	static const struct kernel_entry *last;

	if (last && last->stub == stub) {
		return last;
	}
	for (const struct kernel_entry *k = __start_nvw_kernels; k < __stop_nvw_kernels; k++) {
		if (k->stub == stub) {
			return last = k;
		}
	}
	return NULL;
}

const struct variable_entry *nvw_cuda_variable_of(const void *symbol)
{
	for (const struct variable_entry *v = __start_nvw_variables; v < __stop_nvw_variables; v++) {
		if (v->shadow == symbol || v->variable == symbol) {
			return v;
		}
	}
	return NULL;
}
