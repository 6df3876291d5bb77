/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SIGSEGV and SIGBUS: a store to a protected page makes it hot (record.c), a page behind the end of a file is
 * replaced by anonymous memory, and every other fault belongs to the program.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/each.h"
#include "preload.h"

enum { GONE_MAX = 8 };

/* The last few removed mappings. */
static struct gone {
	uintptr_t start, end;
	int file;
} gone[GONE_MAX];
static unsigned gone_next;

static bool is_within(uintptr_t at, const void *start, size_t n)
{
	return start != NULL && at - (uintptr_t)start < n;
}

/*
 * An access to a page of a recorded mapping that its file does not have; false: not a recorded mapping.
 *
 * Either a file became shorter: its lost content reads as zeros now, and the program may never notice. Or the
 * session's folder is full: then the record ends. In both cases the page is replaced by anonymous memory,
 * because the program must not die of it.
 */
static bool page_missing(void *address)
{
	const uintptr_t at = (uintptr_t)address, page = host_down(at, HOST_PAGE);
	bool file = false, own = false;

	for (unsigned i = 0; host_self.inside && i < HOST_MAPPINGS_MAX && !file && !own; i++) {
		const struct host_mapping *const m = &host_mapping[i];

		file = is_within(at, m->alias, m->length);
		own = is_within(at, m->shadow, m->length) || is_within(at, m->lines, m->length / HOST_LINE);
	}
	if (!file && !own) {
		return false;
	}
	host_gap(file ? HOST_GAP_TRUNCATED : HOST_GAP_SPOOL_FULL);
	host_control->record &= file;
	return syscall(SYS_mmap, page, HOST_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (long)page;
}

void host_note_gone(const struct host_mapping *m)
{
	NVW_INVARIANT(m->length > 0);
	gone[gone_next++ % GONE_MAX] = (struct gone){m->start, m->start + m->length, m->file};
}

/* Records an access of a program to memory that it has unmapped. */
static void note_stray(uintptr_t address)
{
	NVW_EACH_IN(g, gone) {
		if (address - g->start < g->end - g->start) {
			snprintf(host_control->stray, sizeof host_control->stray,
				"the program touched %s, offset %llu of the mapping, after it had unmapped "
				"it",
				g->file >= 0 ? host_control->file[g->file].path : "a file",
				(unsigned long long)(address - g->start));
			return;
		}
	}
}

/* As if this handler did not exist. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	NVW_INVARIANT(number == SIGSEGV || number == SIGBUS);

	struct sigaction *const own = &host_program_action[number == SIGBUS], action = *own;

	if (action.sa_flags & SA_RESETHAND) {
		*own = (struct sigaction){.sa_handler = SIG_DFL};
	}
	if (action.sa_handler == SIG_IGN && info->si_code <= 0) {
		return; /* sent by a process; a fault cannot be ignored */
	}
	if (action.sa_flags & SA_SIGINFO) {
		action.sa_sigaction(number, info, context);
	} else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
		action.sa_handler(number);
	} else {
		const bool inside = host_self.inside;

		action = (struct sigaction){.sa_handler = SIG_DFL};
		host_self.inside = true; /* the real one */
		sigaction(number, &action, NULL);
		host_self.inside = inside;
		if (info->si_code <= 0) {
			raise(number);
		} /* otherwise the access is retried, and ends the program */
	}
}

static bool is_ours(int number, const siginfo_t *info)
{
	if (number == SIGBUS) {
		return info->si_code > 0 && page_missing(info->si_addr);
	}
	return info->si_code == SEGV_ACCERR && host_page_fault(info->si_addr);
}

static void fault(int number, siginfo_t *info, void *context)
{
	HOST_KEEPS_ERRNO;

	if (!is_ours(number, info)) {
		note_stray((uintptr_t)info->si_addr);
		pass_on(number, info, context);
	}
}

void host_catch_faults(void)
{
	const struct sigaction action = {
		.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	sigset_t faults;

	host_self.inside = true;
	sigaction(SIGSEGV, &action, &host_program_action[0]);
	sigaction(SIGBUS, &action, &host_program_action[1]);
	host_self.inside = false;
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	sigprocmask(SIG_UNBLOCK, &faults, NULL);
}
