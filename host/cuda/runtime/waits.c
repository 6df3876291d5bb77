/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that wait for what does not come. A kernel waits while it changes nothing: its work-items read,
 * some of them by volatile or atomic accesses. If that takes a second of this thread's time it is told, once:
 * a launch ends before the launching thread goes on, so that a store behind it never comes. Another host
 * thread may still make it, unless the kernel runs on the machine; so the kernel goes on waiting. One
 * in which races were found is ended, so that they are reported.
 */
#include <time.h>

#include "runtime.h"

enum { LOOKS = 1 << 14 }; /* between two looks at the clock */

uint64_t nvw_cuda_looks;
static bool told;
static double began;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void nvw_cuda_begin_waits(void)
{
	nvw_cuda_looks = 0;
	told = false;
}

#define WAITS                                                                   \
	"waits: for a second no work-item of the kernel has changed anything, " \
	"and this one reads here. "

static void tell(const void *place)
{
	if (nvw_cuda_machine && nvw_cuda_machine->has_races()) {
		nvw_cuda_report(place, WAITS "There are races: the kernel is ended, and they are reported");
		nvw_cuda_end_kernel(cudaErrorLaunchTimeout);
	}
	const char *why = "a store that it makes there comes too late; one of another host thread may come";

	if (nvw_cuda_machine) {
		why = "on the machine no store of the host comes before that";
	}
	nvw_cuda_report(place, WAITS "Host code goes on behind a launch when its kernel has ended: %s", why);
}

void nvw_cuda_wait_on(const void *place)
{
	if (told || !nvw_cuda_now || ++nvw_cuda_looks % LOOKS) {
		return;
	}
	if (nvw_cuda_looks == LOOKS) {
		began = seconds();
	} else if (seconds() - began > 1) {
		told = true;
		tell(place);
	}
}
