/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device, in real time. Flushed lines are sent to it and use its bandwidth; a write is durable
 * write_ticks after its turn, and drains wait for that. So a program that flushes many lines and drains once
 * waits once, as on hardware.
 *
 * A call should take the device's time, without its own time added: waits end at the beginning of the call
 * plus the delay, minus the cost of entering and leaving a call, which is measured when the program starts.
 *
 * Without latencies only the bandwidth remains, and the clock is not read in every call: a thread collects
 * its lines until they take the device as long as a portion. They are booked one after another, starting at
 * the latest possible time.
 */
#include "core/each.h"
#include "preload.h"

static uint64_t overhead; /* duration of a call beyond its delay, in ticks */

static uint64_t in_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks / host_control->ticks_per_ns + 0.5);
}

/* Waits until a tick; a delay shorter than the call itself has no effect. */
static void wait_until(uint64_t began, uint64_t until, struct host_delays *kind)
{
	NVW_DEEP_INVARIANT(host_control->delays);

	const uint64_t stop = until - overhead;
	uint64_t now;

	if ((int64_t)(stop - began) <= 0) {
		return;
	}

	do {
		now = host_ticks();
	} while ((int64_t)(now - stop) < 0);
	kind->count++;
	kind->requested.bin[host_bin(in_ns(until - began))]++;
	kind->achieved.bin[host_bin(in_ns(now + overhead - began))]++;
	host_self.stats->injected_ps += 1000 * in_ns(until - began);
}

/* The device's next free time for this many lines; returns when it begins with them. */
static uint64_t take_turn(uint64_t now, uint64_t lines)
{
	NVW_DEEP_INVARIANT(lines > 0);

	uint64_t *const free = &host_control->device_free;
	uint64_t seen = __atomic_load_n(free, __ATOMIC_RELAXED), begins;

	do {
		begins = (int64_t)(seen - now) > 0 ? seen : now;
	} while (!__atomic_compare_exchange_n(free, &seen, begins + lines * host_control->line_ticks, true,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return begins;
}

/* Number of lines to book now, including these; 0 if that can wait. */
static uint64_t due(uint64_t lines)
{
	NVW_DEEP_INVARIANT(!host_control->timed || host_self.owed == 0);

	const uint64_t sum = host_self.owed + lines;

	if (host_control->timed) {
		return lines;
	}
	if (sum < host_control->portion) {
		host_self.owed = sum;
		return 0;
	}
	host_self.owed = 0;
	return sum;
}

/* The first "before" lines were sent by calls before the one that began. */
static void send(uint64_t began, uint64_t lines, uint64_t before)
{
	NVW_DEEP_INVARIANT(before <= lines);

	const uint64_t begins = take_turn(began - before * host_control->line_ticks, lines);
	const uint64_t last = begins + (lines - 1) * host_control->line_ticks;
	const uint64_t durable = host_control->accept ? 0 : last + host_control->write_ticks;

	if ((int64_t)(durable - host_self.pending) > 0) {
		host_self.pending = durable;
	}
	if ((int64_t)(last - began - host_control->queue_ticks) > 0) {
		wait_until(began, last - host_control->queue_ticks, &host_self.stats->write);
	}
}

void host_delay_flush(uint64_t began, uint64_t lines)
{
	uint64_t n;

	if (!host_control->delays || host_control->auto_flush) {
		return;
	}
	n = due(lines);
	if (n > 0) {
		send(NVW_OR(began, host_ticks()), n, n - lines);
	}
}

void host_delay_drain(uint64_t began)
{
	if (host_self.pending == 0) {
		return;
	}
	began = NVW_OR(began, host_ticks());
	if ((int64_t)(host_self.pending - began) > 0) {
		wait_until(began, host_self.pending, &host_self.stats->write);
	}
	host_self.pending = 0;
}

void host_delay_read(uint64_t began, uint64_t bytes)
{
	const uint64_t lines = (bytes + HOST_LINE - 1) / HOST_LINE;
	uint64_t n;

	if (!host_control->delays) {
		return;
	}
	n = due(lines);
	if (n > 0) {
		began = NVW_OR(began, host_ticks());
		const uint64_t begins = take_turn(began - (n - lines) * host_control->line_ticks, n);

		wait_until(began, begins + (n - 1) * host_control->line_ticks + host_control->read_ticks,
			&host_self.stats->read);
	}
}

/* Calls with a known delay, timed from outside: the lower quartile of the differences, because disturbances
 * only add to them. */
void host_calibrate(void)
{
	NVW_INVARIANT(overhead == 0); /* each call of wait_until() takes it off */

	enum { CALLS = 101 };
	const uint64_t delay = (uint64_t)(200 * host_control->ticks_per_ns);
	static struct host_delays scratch;
	struct host_thread *const t = host_thread();
	const uint64_t injected = t->injected_ps;
	uint64_t extra[CALLS];

	if (!host_control->delays) {
		return;
	}
	NVW_FOR(i, CALLS) {
		const uint64_t before = host_ticks();
		const uint64_t began = host_ticks();

		wait_until(began, began + delay, &scratch);
		const uint64_t took = host_ticks() - before;
		unsigned at = i;

		for (; at > 0 && extra[at - 1] > took - delay; at--) {
			extra[at] = extra[at - 1];
		}
		extra[at] = took - delay;
	}
	overhead = extra[CALLS / 4];
	t->injected_ps = injected;
}
