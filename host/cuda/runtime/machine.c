/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated machine, if the environment names one: kernels' accesses go to it. What is called in a kernel
 * may let other work-items run, so the running one is remembered here.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "runtime.h"

const struct nvw_cuda_machine *nvw_cuda_machine;
struct nvw_cuda_known_site nvw_cuda_known_sites[NVW_CUDA_KNOWN_SITES];

/* Destructors may copy from device memory later. */
static void end(void)
{
	nvw_cuda_open_memory();
	nvw_cuda_machine->give_back(NULL);
	nvw_cuda_close_memory();
	nvw_cuda_machine->end();
}

/* A machine that was asked for and is not there must not be mistaken for one. */
static _Noreturn void refuse(const char *path, const char *why)
{
	fprintf(stderr, "nvwave: %s: %s\n", path, why);
	_exit(2);
}

static __attribute__((constructor)) void find(void)
{
	const char *const path = getenv(NVW_CUDA_LIBRARY_VARIABLE);
	union {
		void *address;
		nvw_cuda_find_machine *function;
	} found = {NULL};

	if (!path) {
		return;
	}
	void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (library) {
		found.address = dlsym(library, NVW_CUDA_MACHINE);
	}
	if (!found.address) {
		refuse(path, "expected nvwave's emulated machine for CUDA programs, of this version");
	}
	nvw_cuda_machine = found.function();
	if (!nvw_cuda_machine) {
		refuse(path, "the machine cannot be made");
	}
	atexit(end);
}

void nvw_cuda_learn_site(const void *place)
{
	NVW_DEEP_INVARIANT(nvw_cuda_machine && place);
	struct nvw_cuda_known_site *const known =
		&nvw_cuda_known_sites[(uintptr_t)place % NVW_CUDA_KNOWN_SITES];

	known->site = nvw_cuda_machine->short_way->site(place);
	known->place = place;
}

bool nvw_cuda_machine_has(const void *address, size_t n)
{
	return nvw_cuda_machine && nvw_cuda_now && nvw_cuda_machine->has(address, n);
}

void nvw_cuda_machine_load(void *address, size_t n, bool is_volatile, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_machine->load(address, n, is_volatile, place);
	nvw_cuda_now = me;
}

/* In pieces that the machine takes. */
void nvw_cuda_machine_store(void *address, size_t n, bool is_volatile, const void *place)
{
	struct item *const me = nvw_cuda_now;
	char *at = address;

	while (n) {
		const size_t piece = nvw_min(n, 64);

		nvw_cuda_machine->store(at, piece, is_volatile, me->fenced, place);
		nvw_cuda_now = me;
		at += piece;
		n -= piece;
	}
}

uint64_t nvw_cuda_machine_atomic(unsigned operation, void *address, unsigned bytes, uint64_t value,
	uint64_t compare, enum nvw_cuda_order order, unsigned scope, const void *place)
{
	struct item *const me = nvw_cuda_now;
	const uint64_t old =
		nvw_cuda_machine->atomic(operation, address, bytes, value, compare, order, scope, place);

	nvw_cuda_now = me;
	return old;
}

void nvw_cuda_machine_fence(unsigned scope, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_machine->fence(scope, place);
	nvw_cuda_now = me;
}

void nvw_cuda_machine_barrier(bool grid, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_machine->barrier(grid, place);
	nvw_cuda_now = me;
}

void nvw_cuda_machine_persist(unsigned scope, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_machine->persist(scope, place);
	nvw_cuda_now = me;
}

void nvw_cuda_machine_pass(const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_machine->pass(0, place);
	nvw_cuda_now = me;
}

void nvw_cuda_machine_sleep(unsigned ns, const void *place)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_machine->pass(1000 * (uint64_t)ns, place);
	nvw_cuda_now = me;
}
