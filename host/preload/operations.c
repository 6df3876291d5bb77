/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that the program announces and acknowledges (nvw/ack.h). Its earlier stores are recorded before
 * the event, so that every store is on the correct side.
 */
#include <string.h>

#include "preload.h"

enum { BEGINS = 1, IS_DURABLE = 2 }; /* as in nvw/ack.h, of which this is the other side */

HOST_EXPORT void nvwave_operation_1(int what, unsigned long long number, const char *name);

/* ---- Measuring -------------------------------------------------------------------------------------- */

static void begin(const struct host_thread *t, uint64_t number)
{
	host_self.begun = (struct host_begun){.number = number,
		.ticks = host_ticks(),
		.flushes = t->flushes,
		.fences = t->fences,
		.lines_flushed = t->lines_flushed,
		.bytes_asked = t->bytes_asked};
}

static uint64_t ns_of(uint64_t ticks)
{
	return (uint64_t)((double)ticks / host_control->ticks_per_ns + 0.5);
}

/* An operation that another thread began, or none, is not measured. */
static void end(struct host_thread *t, uint64_t number)
{
	const struct host_begun *const b = &host_self.begun;
	struct host_operations *const o = &t->operations;
	const uint64_t now = host_ticks(), ns = ns_of(now - b->ticks);

	if (b->ticks == 0 || b->number != number) {
		return;
	}
	if (o->count++ == 0) {
		o->began_ns = ns_of(b->ticks);
	}
	o->ended_ns = ns_of(now);
	o->longest_ns = nvw_max(ns, o->longest_ns);
	o->latency.bin[host_bin(ns)]++;
	o->flushes += t->flushes - b->flushes;
	o->fences += t->fences - b->fences;
	o->lines_flushed += t->lines_flushed - b->lines_flushed;
	o->bytes_asked += t->bytes_asked - b->bytes_asked;
	host_self.begun.ticks = 0;
}

/* ---- What the program calls ------------------------------------------------------------------------- */

static void record(int what, unsigned long long number, const char *name, const struct host_caller *caller)
{
	if (name == NULL) {
		name = "";
	}
	if (host_recording && host_enter()) {
		host_record_operation(what == BEGINS ? HOST_BEGIN : HOST_DURABLE, number, name, caller);
		host_leave();
	}
}

/* Recording is no part of what is measured. */
HOST_EXPORT void nvwave_operation_1(int what, unsigned long long number, const char *name)
{
	const struct host_caller caller = HOST_CALLER;
	HOST_KEEPS_ERRNO;

	host_attach(); /* a constructor of the program's may come before ours */
	if (host_control != NULL && (what == BEGINS || what == IS_DURABLE) && host_thread() != NULL) {
		if (what == IS_DURABLE) {
			end(host_thread(), number);
			host_check_acknowledged();
		}
		record(what, number, name, &caller);
		if (what == BEGINS) {
			begin(host_thread(), number);
		}
	}
}
