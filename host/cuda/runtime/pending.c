/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store that was announced: once it has been executed, its value goes to the group's place of a shared
 * variable, or to the machine.
 */

#include "runtime.h"

struct nvw_cuda_pending nvw_cuda_pending;

void nvw_cuda_announce(void *address, void *place, size_t n)
{
	NVW_DEEP_INVARIANT(!nvw_cuda_pending.n && n && place != address); /* the one before is settled */
	nvw_cuda_pending = (struct nvw_cuda_pending){.address = address, .place = place, .n = n};
}

void nvw_cuda_announce_to_machine(void *address, size_t n, bool is_volatile, const void *from)
{
	NVW_DEEP_INVARIANT(!nvw_cuda_pending.n && nvw_cuda_machine_has(address, n));
	nvw_cuda_pending = (struct nvw_cuda_pending){
		.address = address, .n = n, .is_volatile = is_volatile, .from = from};
}

static void to_machine(const struct nvw_cuda_pending *p)
{
	struct item *const me = nvw_cuda_now;

	NVW_DEEP_INVARIANT(p->n && p->from);
	nvw_cuda_machine_store(p->address, p->n, p->is_volatile, p->from);
	me->fenced = me->fenced && !p->is_volatile;
}

/* What does not go the short way. */
void nvw_cuda_settle_rarely(void)
{
	const struct nvw_cuda_pending p = nvw_cuda_pending;

	nvw_cuda_pending.n = 0;
	if (p.place) {
		memcpy(p.place, p.address, p.n);
	} else {
		to_machine(&p);
	}
}
