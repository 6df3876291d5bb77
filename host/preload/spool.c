/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The spool: the recorded events, in order. Everything here is under the session's lock.
 *
 * An event is written, then published, and only then is the shadow updated (session.h).
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

enum { WINDOW = HOST_SPOOL_WINDOW };

static struct {
	uint8_t *window;
	uint64_t window_off, window_bytes;
	uint64_t call; /* number of the event that changes belong to */
} spool;

/* ---- Entering ------------------------------------------------------------------------------------- */

uint64_t host_call(void)
{
	return spool.call;
}

void host_next_call(void)
{
	spool.call = ++host_control->events;
}

bool host_enter(void)
{
	if (host_control->closed) {
		return false;
	}
	if (host_self.inside) {
		host_gap(HOST_GAP_INTERRUPTED);
		return false;
	}
	host_self.inside = true;
	host_lock();
	host_next_call();
	if (spool.call == host_control->kill_at) {
		host_control->closed = true;
		kill(-host_control->group, SIGKILL);
		kill(0, SIGKILL); /* in case the process left the group */
	}
	return true;
}

void host_leave(void)
{
	host_unlock();
	host_self.inside = false;
}

/* ---- The spool ------------------------------------------------------------------------------------ */

uint8_t *host_room(size_t n)
{
	const uint64_t tail = host_control->spool_tail;

	if (!host_control->record) {
		return NULL;
	}
	if (spool.window != NULL && tail >= spool.window_off &&
		tail + n <= spool.window_off + spool.window_bytes) {
		return spool.window + (tail - spool.window_off);
	}
	if (spool.window != NULL) {
		munmap(spool.window, spool.window_bytes);
		spool.window = NULL;
	}
	const uint64_t off = tail & ~(uint64_t)(HOST_PAGE - 1);
	const uint64_t bytes = nvw_max(WINDOW, (tail - off + n + HOST_PAGE - 1) & ~(uint64_t)(HOST_PAGE - 1));
	const int fd = host_open("spool", -1, O_RDWR);
	void *at = MAP_FAILED;

	if (fd >= 0 && host_grow(fd, off, bytes, false) == 0) {
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)off);
	}
	if (fd >= 0) {
		close(fd);
	}
	if (at == MAP_FAILED) {
		host_control->record = false;
		host_gap(HOST_GAP_SPOOL_FULL);
		return NULL;
	}
	spool.window = at;
	spool.window_off = off;
	spool.window_bytes = bytes;
	return spool.window + (tail - off);
}

void host_publish(uint64_t bytes)
{
	__atomic_store_n(&host_control->spool_tail, host_control->spool_tail + bytes, __ATOMIC_RELEASE);
}

void host_event(enum host_event_kind kind, int file, uint64_t off, uint64_t bytes, uint32_t site)
{
	struct host_event *const e = (struct host_event *)host_room(sizeof *e);

	if (e == NULL) {
		return;
	}
	*e = (struct host_event){.kind = (uint16_t)kind,
		.file = (uint16_t)file,
		.thread = host_self.number,
		.site = site,
		.bytes = (uint32_t)bytes,
		.off = off,
		.call = spool.call};
	host_publish(sizeof *e);
}

void host_lines_of(
	const struct host_mapping *m, const void *address, size_t n, size_t *ret_from, size_t *ret_to)
{
	const size_t at = (uintptr_t)address - m->start;
	const size_t end = nvw_min(at + n, m->length);

	*ret_from = at & ~(size_t)(HOST_LINE - 1);
	*ret_to = (end + HOST_LINE - 1) & ~(size_t)(HOST_LINE - 1);
}

void host_record_wide(const struct host_mapping *m, size_t at, size_t n, uint32_t thread, uint32_t site)
{
	struct host_event *const e = (struct host_event *)host_room(sizeof *e);

	if (e != NULL) {
		*e = (struct host_event){.kind = HOST_WIDE,
			.file = (uint16_t)m->file,
			.thread = thread,
			.site = site,
			.bytes = (uint32_t)nvw_min(n, UINT32_MAX),
			.off = m->off + at,
			.call = spool.call};
		host_publish(sizeof *e);
	}
}

void host_record_bytes(const struct host_mapping *m, size_t at, const uint8_t *data, size_t n,
	uint32_t thread, uint32_t site)
{
	struct host_event *const e = (struct host_event *)host_room(sizeof *e + 8);

	if (e != NULL) {
		*e = (struct host_event){.kind = HOST_STORE,
			.file = (uint16_t)m->file,
			.thread = thread,
			.site = site,
			.bytes = (uint32_t)n,
			.off = m->off + at,
			.call = spool.call};
		*(uint64_t *)(e + 1) = 0;
		host_copy_few((uint8_t *)(e + 1), data, n);
		host_publish(sizeof *e + 8);
	}
	host_copy_few(m->shadow + at, data, n);
	m->lines[at / HOST_LINE] = 1;
	m->page[at / HOST_PAGE].idle = 0;
	host_self.stats->bytes_changed += n;
}

void host_record_streamed(const struct host_mapping *m, size_t at, size_t n, uint32_t site)
{
	size_t from, to;

	if (m->file >= 0) {
		host_lines_of(m, (void *)(m->start + at), n, &from, &to);
		host_event(HOST_FLUSH, m->file, m->off + from, to - from, site);
	}
}
