/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that run on a machine in the program's process (cuda/recorded.h): their place among the events, and
 * where their memory is in the files.
 *
 * While one runs, the bytes of the program's mappings are not those of any instant: no thread compares them.
 * Afterwards they are what the kernel has left; the difference is recorded as such, and not as stores of host
 * code.
 */
#include <stdio.h>
#include <string.h>

#include "../cuda/recorded.h"
#include "core/each.h"
#include "preload.h"

static bool new_log(char *ret_path, size_t n, uint32_t *ret_number)
{
	if (host_control == NULL || !host_control->record) {
		return false;
	}
	*ret_number = __atomic_add_fetch(&host_control->kernel_logs, 1, __ATOMIC_RELAXED);
	snprintf(ret_path, n, "%s/kernels-%u", host_folder, *ret_number);
	return true;
}

static struct host_kernel_range range_in_file(const struct nvwave_kernel_range *r)
{
	const struct host_mapping *const m = host_find(r->start);

	if (m == NULL || m->file < 0) {
		return (struct host_kernel_range){.nvram = r->off};
	}
	const size_t at = (uintptr_t)r->start - m->start;

	return (struct host_kernel_range){.nvram = r->off,
		.off = m->off + at,
		.bytes = nvw_min(r->bytes, m->length - at),
		.file = (uint32_t)m->file};
}

static void begin_event(
	uint32_t log, uint32_t kernel, const struct nvwave_kernel_range *ranges, size_t count, uint32_t site)
{
	NVW_INVARIANT(host_self.inside);

	const size_t n = count * sizeof(struct host_kernel_range);
	struct host_event *const e = host_room(sizeof *e + n);
	struct host_kernel_range *const to = (struct host_kernel_range *)(e + 1);

	if (e == NULL) {
		return;
	}
	*e = (struct host_event){.kind = HOST_KERNEL,
		.thread = host_self.number,
		.site = site,
		.bytes = (uint32_t)n,
		.off = (uint64_t)log << 32 | kernel,
		.call = host_call()};
	NVW_FOR(i, count) {
		to[i] = range_in_file(&ranges[i]);
	}
	host_publish(sizeof *e + n);
}

static void begins(uint32_t log, uint32_t kernel, const struct nvwave_kernel_range *ranges, size_t count,
	const void *place)
{
	const struct host_caller caller = {.address = (void *)(uintptr_t)place};

	if (host_control == NULL || !host_recording || !host_enter()) {
		return;
	}
	host_thread();
	const uint32_t site = place ? host_site(&caller) : 0;

	host_compare_always("kernels run on the machine");
	host_record_all(HOST_CHANGE, site);
	begin_event(log, kernel, ranges, count, site);
	host_window = true;
	host_leave();
}

static void ends(bool failed)
{
	if (host_control == NULL || !host_recording || !host_enter()) {
		return;
	}
	if (failed) {
		host_gap(HOST_GAP_KERNEL_FAILED);
		host_control->closed = true;
	} else {
		host_window = false;
		host_record_all(HOST_GIVEN, 0);
		host_event(HOST_KERNEL_END, 0, 0, 0, 0);
	}
	host_leave();
}

static void own(bool begins_now)
{
	host_self.own = begins_now;
}

static void alone(void)
{
	__atomic_add_fetch(&host_control->launches_alone, 1, __ATOMIC_RELAXED);
}

HOST_EXPORT nvwave_find_kernel_hooks nvwave_kernel_hooks_2;

HOST_EXPORT const struct nvwave_kernel_hooks *nvwave_kernel_hooks_2(void)
{
	static const struct nvwave_kernel_hooks hooks = {
		.new_log = new_log, .begins = begins, .ends = ends, .own = own, .alone = alone};

	host_attach();
	if (host_control == NULL) {
		return NULL;
	}
	return &hooks;
}
