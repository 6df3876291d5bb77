/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that the program announces and acknowledges (nvw/ack.h). Its earlier stores are recorded before
 * the event, so that every store is on the correct side.
 */
#include <errno.h>
#include <string.h>

#include "preload.h"

enum { BEGINS = 1, IS_DURABLE = 2 }; /* as in nvw/ack.h, of which this is the other side */

HOST_EXPORT void nvwave_operation_1(int what, unsigned long long number, const char *name);

HOST_EXPORT void nvwave_operation_1(int what, unsigned long long number, const char *name)
{
	const struct host_caller caller = HOST_CALLER;
	const int before = errno;

	host_attach(); /* a constructor of the program's may come before ours */
	if (host_control != NULL && host_recording && (what == BEGINS || what == IS_DURABLE) &&
		host_thread() != NULL && host_enter()) {
		host_record_operation(
			what == BEGINS ? HOST_BEGIN : HOST_DURABLE, number, name ? name : "", &caller);
		host_leave();
	}
	errno = before;
}
