/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine without GPU for tests of the crash tester: one virtual nanosecond a step, writes to NVRAM that
 * are issued and completed by hand, a power cut, the persist log. And pools of raw bytes, without a header.
 */
#ifndef FAKE_MACHINE_H
#define FAKE_MACHINE_H

#include <nvw/workload.h>

/* An aligned word is on its way to NVRAM, as if work-item item had stored it at line line of "fake.c". */
void fake_store(struct nvw_machine *machine, unsigned line, uint64_t item, nvw_off off, uint64_t value);
/* The oldest write in flight is durable. */
void fake_complete(struct nvw_machine *machine);

#endif
