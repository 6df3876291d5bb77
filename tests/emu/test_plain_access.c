/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain code that reads or writes device memory: it faults, and the message names the line and what to use.
 */
#include "common/rig.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 128, GROUP = 64 };

struct list {
	uint64_t key;
	struct list *next;
};

struct args {
	struct list *list;
	unsigned culprit; /* work-item */
};

#define HERE (__LINE__ + 1)
static int line; /* of the dereference that a kernel is about to make */

KERNEL(stores_plainly, const struct args, a)
{
	nvw_store(&a->list[nvw_global_id()].key, 7);
	if (nvw_global_id() == a->culprit) {
		line = HERE;
		a->list->key = 1;
	}
	nvw_store(&a->list[nvw_global_id()].key, 8);
}

KERNEL(loads_plainly, const struct args, a)
{
	if (nvw_global_id() == a->culprit) {
		line = HERE;
		const uint64_t key = a->list->key;
		nvw_store(&a->list[nvw_global_id()].key, key);
	}
}

static __attribute__((noinline)) uint64_t follow(const struct list *l)
{
	line = HERE;
	const struct list *const next = *(struct list *const volatile *)&l->next;
	return next ? next->key : 0;
}

KERNEL(loads_in_a_function, const struct args, a)
{
	nvw_store(&a->list[0].key, follow(a->list));
}

KERNEL(copies_plainly, const struct args, a)
{
	char bytes[400];

	if (nvw_global_id() == a->culprit) {
		line = HERE;
		memcpy(bytes, (const void *)a->list, sizeof bytes);
		nvw_store(&a->list[0].key, (uint64_t)bytes[a->culprit]);
	}
}

static void goes_astray(const void *args)
{
	struct list *const volatile nowhere = (struct list *)64;

	line = HERE;
	nowhere->key = 3;
}

KERNEL(is_right, const struct args, a)
{
	nvw_store(&a->list[nvw_global_id()].key, nvw_global_id());
	nvw_p_barrier_wi();
}

/*
 * Launches it on lists in NVRAM or DRAM: it is the kernel's mistake, found in this file, and words (NULL
 * ends) say it.
 */
#define assert_told(kernel, nvram, ...) \
	assert_told_by(kernel, nvram, (const char *const[]){__VA_ARGS__, NULL})
static void assert_told_by(nvw_kernel kernel, bool nvram, const char *const *words)
{
	struct args args = {.culprit = 70};
	char place[64];

	RIG_BEGUN(rig, 1);
	args.list = nvram ? rig.nvram : nvw_alloc(rig.machine, ITEMS * sizeof *args.list);
	assert_int_equal(nvw_launch(rig.machine, "culprit", kernel, &args, ITEMS, GROUP), NVW_E_KERNEL);
	snprintf(place, sizeof place, "test_plain_access.c:%d (", line);
	assert_error_has(place);
	for (; *words; words++) {
		assert_error_has(*words);
	}
}

TEST(a_plain_store_of_a_kernel_is_told_with_its_line)
{
	assert_told(stores_plainly, true, "stores_plainly", "kernel culprit", "work-item 70",
		"writes device memory", "NVRAM at offset 0x", "nvw_store(p, value)");
}

TEST(a_plain_load_of_a_kernel_is_told_with_its_line)
{
	assert_told(loads_plainly, false, "loads_plainly", "reads device memory", "DRAM at offset 0x",
		"nvw_load(p)");
}

TEST(the_line_is_that_of_the_function_that_dereferences)
{
	assert_told(loads_in_a_function, true, "(follow)", "nvw_load(p)");
}

TEST(a_copy_by_the_c_library_is_told_with_the_line_that_called_it)
{
	assert_told(copies_plainly, true, "(copies_plainly_of)", "reads device memory");
}

TEST(a_wild_access_of_a_kernel_ends_the_run_too)
{
	assert_told(goes_astray, true, "(goes_astray)", "writes address 0x40");
}

/* The work-item was left on its stack, from a signal stack: neither hurts the machines that come after it. */
TEST(the_next_machine_is_as_good_as_new)
{
	NVW_FOR(i, 3) {
		assert_told(i % 2 ? loads_plainly : stores_plainly, true, "plainly");
		RIG_BEGUN(rig, 1);
		struct args args = {.list = rig.nvram};

		rig_launch(&rig, is_right, &args, ITEMS, GROUP);
		assert_durable(&rig, &args.list[ITEMS - 1].key, ITEMS - 1);
	}
}

TEST(the_faulting_store_changes_nothing)
{
	RIG_BEGUN(rig, 1);
	struct args args = {.culprit = 0, .list = rig.nvram};

	assert_int_equal(
		nvw_launch(rig.machine, "culprit", stores_plainly, &args, ITEMS, GROUP), NVW_E_KERNEL);
	assert_durable(&rig, &args.list->key, 0);
	assert_int_equal(nvw_launch(rig.machine, "next", is_right, &args, ITEMS, GROUP), NVW_E_KERNEL);
}

/* ---- Host code ----------------------------------------------------------------------------- */

static char *told; /* shared with the child */
enum { TOLD_BYTES = 1024, TOLD_STATUS = 42 };

static void note(void *context, const char *message)
{
	snprintf(told, TOLD_BYTES, "%s", message);
	_exit(TOLD_STATUS);
}

/* What becomes of a process whose host code works on a device address: its status as of waitpid(). */
static int host_process(void (*work)(uint64_t *device), bool with_hook)
{
	int status;
	pid_t pid;

	told = mmap(NULL, TOLD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(told != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		const struct rlimit none = {0, 0};
		struct rig rig;

		setrlimit(RLIMIT_CORE, &none);
		rig_begin(&rig, 1, NULL);
		unlink(rig.pool_path);
		if (with_hook) {
			emu_set_host_fault(rig.machine, note, NULL);
		}
		work(nvw_alloc(rig.machine, 64));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void writes(uint64_t *device)
{
	*device = 4;
}

static void reads(uint64_t *device)
{
	*(volatile uint64_t *)device;
}

TEST(host_code_is_told_to_use_the_accessors)
{
	const int wrote = host_process(writes, true);

	assert_true(WIFEXITED(wrote) && WEXITSTATUS(wrote) == TOLD_STATUS);
	assert_has(told, "test_plain_access.c:");
	assert_has(told, "(writes)");
	assert_has(told, "host code writes device memory (DRAM at offset 0x40)");
	assert_has(told, "nvw_write(");
	assert_int_equal(WEXITSTATUS(host_process(reads, true)), TOLD_STATUS);
	assert_has(told, "(reads)");
	assert_has(told, "nvw_read(");
}

TEST(without_anybody_to_tell_host_code_dies_of_the_fault)
{
	const int status = host_process(writes, false);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
