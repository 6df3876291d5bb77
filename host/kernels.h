/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of a CUDA program that a session runs: on the emulated machine, whose library the program loads
 * (host/cuda/seam.h). */
#ifndef HOST_KERNELS_H
#define HOST_KERNELS_H

#include "exec.h"

/*
 * Before the run: the session's program runs its kernels on the machine of this name, whose description has
 * this text. races: the memory model under which
 * races are looked for ("claimed", "drf", "hrf"); NULL: none. NVW_E_SYSTEM if the library is not there.
 */
NVW_CHECKED int host_kernels_emulate(
	struct host_session *session, const char *machine, const char *text, const char *races);

/* In the child: tells the program by its environment. */
void host_kernels_enter(const struct host_session *session);

/* After the run: the path of the report on its kernels, a JSON file, which is absent if it ran none. */
void host_kernels_report(const struct host_session *session, char *ret_path, size_t n);

#endif
