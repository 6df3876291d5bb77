/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store that was announced: once it has been executed, its value goes to the group's place of a shared variable, or to the machine.
 */
#include <string.h>

#include "runtime.h"

void nvw_cuda_announce(void *address, void *place, size_t n)
{
	struct item *const me = nvw_cuda_now;

	me->pending.address = address;
	me->pending.place = place;
	me->pending.n = n;
}

void nvw_cuda_announce_to_machine(void *address, size_t n, bool is_volatile, const void *from)
{
	struct item *const me = nvw_cuda_now;

	nvw_cuda_announce(address, NULL, n);
	me->pending.is_volatile = is_volatile;
	me->pending.from = from;
}

void nvw_cuda_settle(void)
{
	struct item *const me = nvw_cuda_now;
	const size_t n = me ? me->pending.n : 0;

	if (__builtin_expect(n == 0, 1)) {
		return;
	}
	me->pending.n = 0;
	if (me->pending.place) {
		memcpy(me->pending.place, me->pending.address, n);
	} else {
		nvw_cuda_machine_store(me->pending.address, n, me->pending.is_volatile, me->pending.from);
		me->fenced = me->fenced && !me->pending.is_volatile;
	}
}
