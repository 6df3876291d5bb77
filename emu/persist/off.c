/* SPDX-License-Identifier: BSD-3-Clause */
/* A DRAM-only machine: nothing persists, and a persist barrier does nothing. */
#include "persist.h"

static void barrier(
	struct nvw_machine *m, struct emu_wavefront *wf, uint64_t lanes, enum nvw_group group, emu_time t)
{
	persist_count_epochs(wf, lanes, group);
	persist_run_on(m, wf, lanes, t);
}

const struct persist_model persist_off = {
	.info = {.name = "off", .title = "nothing persists"},
	.barrier = barrier,
};
