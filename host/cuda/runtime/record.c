/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels' stores to files in the record of "nvwave exec --record" and "nvwave crash --exec", in order with
 * those of host code: by the hooks that programs of nvwave-cc use (host/cc/hooks.h). A work-item remembers
 * the lines that it has stored to; its persist barrier flushes them and fences.
 */

#include "../../cc/hooks.h"
#include "core/array.h"
#include "runtime.h"

enum { LINE = 64 };

/* Whoever comes too often with the same line finds it among the latest. */
static bool is_known(const struct item *me, uintptr_t line)
{
	for (unsigned i = 0; i < 4 && i < me->lines.count; i++) {
		if (me->lines.line[me->lines.count - 1 - i] == line) {
			return true;
		}
	}
	return false;
}

static void remember(struct item *me, uintptr_t line)
{
	if (is_known(me, line)) {
		return;
	}
	NVW_DEEP_INVARIANT(me->lines.count <= me->lines.room);
	if (!NVW_ROOM(me->lines.line, me->lines.room, me->lines.count + 1)) {
		nvw_cuda_report(NULL, "no memory for the lines that it has stored to");
		nvw_cuda_end_kernel(cudaErrorMemoryAllocation);
	}
	me->lines.line[me->lines.count++] = line;
}

static void remember_all(const void *address, size_t n)
{
	NVW_DEEP_INVARIANT(n > 0 && nvw_cuda_hooks);
	for (uintptr_t line = (uintptr_t)address / LINE; line <= ((uintptr_t)address + n - 1) / LINE;
		line++) {
		remember(nvw_cuda_now, line * LINE);
	}
}

void nvw_cuda_record_store(void *address, size_t n, const void *place)
{
	if (n && nvw_cuda_now) {
		remember_all(address, n);
		nvw_cuda_hooks->store(address, n, (void *)(uintptr_t)place);
	}
}

bool nvw_cuda_record_begins(void *address, size_t n, const void *place)
{
	if (!nvw_cuda_now || !nvw_cuda_is_recorded(address)) {
		return false;
	}
	remember_all(address, n);
	return nvw_cuda_hooks->begin(address, n, false, (void *)(uintptr_t)place);
}

void nvw_cuda_record_ends(void)
{
	nvw_cuda_hooks->end();
}

static void flush(uintptr_t line, const void *place)
{
	if (nvw_cuda_hooks) {
		nvw_cuda_hooks->instruction(NVWAVE_CC_FLUSH | LINE << NVWAVE_CC_BYTES_SHIFT, (void *)line,
			(void *)(uintptr_t)place, 0);
	}
}

void nvw_cuda_record_flush(const void *place)
{
	struct item *const me = nvw_cuda_now;

	NVW_EACH(line, me->lines.line, me->lines.count) {
		flush(*line, place);
	}
	me->lines.count = 0;
}

void nvw_cuda_record_fence(const void *place)
{
	if (nvw_cuda_hooks) {
		nvw_cuda_hooks->fence((void *)(uintptr_t)place);
	}
}

void nvw_cuda_record_persist(const void *address, size_t n, const void *place)
{
	const uintptr_t end = (uintptr_t)address + n;

	for (uintptr_t line = (uintptr_t)address / LINE * LINE; line < end; line += LINE) {
		flush(line, place);
	}
	nvw_cuda_record_fence(place);
}

void nvw_cuda_record_forget(struct item *item)
{
	free(item->lines.line);
	item->lines.line = NULL;
	item->lines.count = item->lines.room = 0;
}
