/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host API: the CPU side of a workload controls an emulated machine through it.
 *
 * A machine has two contiguous ranges of device memory (gope18 3): DRAM, from which nvw_alloc() allocates,
 * and NVRAM, which is the pool, or the pools of the run one after the other. Further DRAM devices have ranges
 * of their own. Device addresses are pointers that must not be dereferenced: no memory is
 * accessible there, so plain code faults, and the error names its source line. nvw_read() and nvw_write()
 * access the visible state.
 *
 * Visible and durable: nvw_read() returns the *visible* state; nvw/pool.h reads the *durable* one.
 *
 * Not thread-safe; a process has one machine at a time. For host threads that read during a run see
 * nvw/readers.h.
 */
#ifndef NVW_HOST_H
#define NVW_HOST_H

#include <nvw/epoch.h>
#include <nvw/heap.h>

struct nvw_machine;

typedef void (*nvw_kernel)(const void *args);

/* Zeroed device memory in DRAM, 64-byte aligned; NULL if the machine's DRAM (dram.size) is used up. It is
 * freed with the machine; nvw_release() frees everything allocated after mark was taken. */
void *nvw_alloc(struct nvw_machine *machine, uint64_t bytes);
uint64_t nvw_mark(const struct nvw_machine *machine);
void nvw_release(struct nvw_machine *machine, uint64_t mark);

/* The same on a further DRAM device of the machine ([device NAME] with kind = dram); nvw_release() does not
 * free it. NULL with a message also if the machine has no DRAM device of this name. */
void *nvw_alloc_on(struct nvw_machine *machine, const char *device, uint64_t bytes);

/* The machine's pool, the first of several; NULL if it has none. */
struct nvw_pool *nvw_machine_pool(struct nvw_machine *machine);

/* Device address at which the run's range and first pool begin; pool i is nvw_pool_begin() bytes behind. */
const char *nvw_nvram_base(const struct nvw_machine *machine);

/* Fills in pmem for the machine's pool and sets up the volatile side of the undo log and the heap. */
NVW_CHECKED int nvw_pmem_attach(struct nvw_machine *machine, struct nvw_pmem *ret_pmem);
/* The same for pool number i of the run: offsets in pmem are those of that pool. */
NVW_CHECKED int nvw_pmem_attach_to(struct nvw_machine *machine, unsigned number, struct nvw_pmem *ret_pmem);

/*
 * Copies n bytes between host memory and device memory. A copy takes the simulated time of the machine's keys
 * host.copy and host.bandwidth, by default none. Reads see every store of completed kernels. A write to NVRAM
 * is durable when nvw_write() returns; its words become durable in ascending order. NVW_E_USAGE if the range
 * is outside device memory.
 */
NVW_CHECKED int nvw_read(struct nvw_machine *machine, void *to, const void *device, uint64_t n);
NVW_CHECKED int nvw_write(struct nvw_machine *machine, void *device, const void *from, uint64_t n);

/*
 * Runs kernel once per work-item, for work_items work-items in groups of group_size, and returns when all
 * have returned. The last group is filled up: work_items is rounded up to a multiple of group_size, so
 * kernels test nvw_global_id(). The kernel begins with an acquire and ends with a release of agent scope on
 * every CU. The launch itself takes gpu.launch of simulated time, by default none. name appears in reports
 * and in the persist log. args must stay constant until nvw_launch() returns. On NVW_E_KERNEL, NVW_E_DEADLOCK
 * or NVW_E_MODEL (with a message) the machine can only be destroyed.
 */
NVW_CHECKED int nvw_launch(struct nvw_machine *machine, const char *name, nvw_kernel kernel, const void *args,
	uint64_t work_items, unsigned group_size);

/* Waits until every store to NVRAM so far is durable. */
NVW_CHECKED int nvw_persist(struct nvw_machine *machine);

/* Tells the crash tester that operations first to first + count - 1 are durable. */
NVW_CHECKED int nvw_acknowledge(struct nvw_machine *machine, uint64_t first, uint64_t count);

/* Makes the machine a DRAM-only system: the pool's range is DRAM too, persist barriers return at once, and
 * nothing becomes durable (the baseline of gope18 7.1). Call it only before the first launch. */
void nvw_machine_set_volatile(struct nvw_machine *machine);

bool nvw_machine_is_volatile(const struct nvw_machine *machine);

/* Simulated time since the machine was created; the machine's resources. */
uint64_t nvw_time_ps(const struct nvw_machine *machine);
unsigned nvw_wavefront_width(const struct nvw_machine *machine);
uint64_t nvw_resident_work_items(const struct nvw_machine *machine); /* the most that can run at a time */
unsigned nvw_compute_units(const struct nvw_machine *machine);

/* Marks the end of the workload's set-up: simulated time and statistics count from here. */
void nvw_begin_measurement(struct nvw_machine *machine);

/* Marks the end of the measured part: simulated time no longer counts, and copies by the host take none. */
void nvw_end_measurement(struct nvw_machine *machine);

#endif
