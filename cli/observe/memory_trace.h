/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reads and writes of lines that reach a memory device, as traces for DRAM simulators. Addresses are
 * offsets on the device: in its DRAM, or in the range of the run's pools. Requests are in the order in which
 * they arrive at the controller, from the begin of the measured part on.
 *
 *	DRAMsim3	0x1c40 READ 130		address, READ or WRITE, cycle
 *	Ramulator	0x1c40 R		address, R or W
 */
#ifndef CLI_MEMORY_TRACE_H
#define CLI_MEMORY_TRACE_H

#include <emu.h>

struct cli_memory_trace;

enum cli_memory_format { CLI_MEMORY_DRAMSIM3, CLI_MEMORY_RAMULATOR };

/* Creates the file. device: its name in the machine's description, which the caller keeps. cycle_ps, not 0:
 * of DRAMsim3's cycles. Release by cli_memory_trace_free(), also after an error. */
NVW_CHECKED int cli_memory_trace_create(const char *path, enum cli_memory_format format, const char *device,
	uint64_t cycle_ps, struct cli_memory_trace **ret_trace);
/* NULL is allowed. A file that was not finished is removed. */
void cli_memory_trace_free(struct cli_memory_trace *trace);

/* The measured part begins. NVW_E_USAGE if the machine has no such device. */
NVW_CHECKED int cli_memory_trace_start(struct cli_memory_trace *trace, const struct nvw_machine *machine);
void cli_memory_trace_see(struct cli_memory_trace *trace, const struct emu_sight *sight);
NVW_CHECKED int cli_memory_trace_end(struct cli_memory_trace *trace);

#endif
