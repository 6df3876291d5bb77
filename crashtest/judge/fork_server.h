/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running checker commands without the cost of executing them each time: a library preloaded into the checker
 * stops it before main(), after the dynamic linker and the libraries' constructors (including libpmem's), and
 * forks a child for every state, which continues into main().
 *
 *	parent to server      per run: 'r', or 'o' if its reads are observed (read_set.h), a number of bytes
 *	                      (4 bytes), and those bytes: terminated entries
 *	                      of the environment, which replace the entries with their names
 *	server to parent      'K' when it is ready; then per run the child's pid, 4 bytes, and struct
 *	                      ct_fork_answer
 */
#ifndef CRASHTEST_FORK_SERVER_H
#define CRASHTEST_FORK_SERVER_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* "in,out,parent,reads": the server's ends of two pipes, the pid of its parent, and the descriptor of a set
 * of reads; -1: there is none. LD_PRELOAD names the library first. */
#define CT_FORK_VARIABLE "NVWAVE_FORK_SERVER"

/* For the GNU C library's malloc(): huge pages where the kernel gives them, and large pieces at once. */
#define CT_FORK_TUNABLES "GLIBC_TUNABLES"
#define CT_FORK_HUGE_PAGES \
	"glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432:glibc.malloc.mmap_threshold=1073741824"

/* How a command is started. */
struct ct_told_state;
struct ct_start {
	char *const *words;
	char *const *environment;
	struct ct_told_state *told; /* the variables that change with the state; NULL: none */
	int output;                 /* descriptor of the output; -1: inherited */
	int reads;                  /* descriptor of a set of reads (read_set.h); -1: none */
	bool observed;              /* its reads go there */
};

/* How it ended. */
struct ct_hangs;
struct ct_ending {
	bool in_time;    /* false: it had to be killed, at where (hang.h) */
	int status;      /* as from waitpid() */
	char where[240]; /* CT_TEXT_BYTES */
};

struct ct_fork_answer {
	int status;          /* as from wait4() */
	struct rusage usage; /* of the child and its descendants */
};

enum { CT_FORK_MESSAGE_MAX = 1 << 17 };

/*
 * Runs a command in this process's server, which is started if needed. Everything but the told variables must
 * be the same in every call of a process, which must be a subreaper. If this checker cannot be served (it is
 * static, a thread runs before main(), or the library is missing) the server is not tried again; if it was
 * killed from outside, the next call starts another.
 */
enum ct_fork { CT_FORK_ANSWERED, CT_FORK_REFUSED, CT_FORK_KILLED };
enum ct_fork ct_fork_server_run(const struct ct_start *how, unsigned timeout_ms, struct ct_hangs *hangs,
	struct ct_ending *ret_ending);

/* Where the library is that makes a server of a command; false if it is not there. */
bool ct_fork_server_library(char ret_path[4096]);

/* Ends this process's server: the next run begins with another one. */
void ct_fork_server_end(void);

/* The pid of this process's server; 0: none. */
pid_t ct_fork_server_pid(void);

#endif
