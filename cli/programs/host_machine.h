/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine's description as the host side takes it, which does not know the emulator. */
#ifndef CLI_HOST_MACHINE_H
#define CLI_HOST_MACHINE_H

#include <config/config.h>

#include <host/exec.h>

/* Names what it points at: the configuration has to outlive it. */
struct host_machine cli_host_machine(const struct emu_config *machine);

/* host_kernels_emulate() with this machine. */
NVW_CHECKED int cli_emulate_kernels(
	struct host_session *session, const struct emu_config *machine, const char *races);

#endif
