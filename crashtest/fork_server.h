/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checker commands without the cost of executing them each time: a library that is preloaded into the checker stops it
 * before main(), when the dynamic linker and the libraries' own constructors (libpmem's among them) are done, and forks
 * a child off for every state, which goes on into main().
 *
 *	us to the server      one byte a run
 *	the server to us      'K' when it is ready; then for each run the child's pid and its status, 4 bytes each
 */
#ifndef CRASHTEST_FORK_SERVER_H
#define CRASHTEST_FORK_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

/* "in,out,parent": the server's ends of two pipes, and whose child it is. LD_PRELOAD names the library first. */
#define CT_FORK_VARIABLE "NVWAVE_FORK_SERVER"

/*
 * Runs words in this process's server, which is started if there is none; the output goes to a descriptor (-1: ours).
 * words must be the same in every call of a process. 1 and the status (as waitpid() has it), or *ret_in_time false if it had
 * to be killed; 0 if this checker cannot be served: it is static, a thread runs before main(), or the library is not
 * found. Then it is not tried again.
 */
int ct_fork_server_run(
	char *const words[], int output, unsigned timeout_ms, int *ret_status, bool *ret_in_time);

/* The process of this process's server; 0: none. */
pid_t ct_fork_server_pid(void);

#endif
