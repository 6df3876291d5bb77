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

#include "preload.h"

enum { WINDOW = HOST_SPOOL_WINDOW };

struct host_spool host_spool;

/* ---- Entering ------------------------------------------------------------------------------------- */

bool host_cannot_enter(void)
{
	if (!host_control->closed) {
		host_gap(HOST_GAP_INTERRUPTED);
	}
	return false;
}

void host_kill(void)
{
	NVW_INVARIANT(host_control->kill_at > 0);
	host_control->closed = true;
	kill(-host_control->group, SIGKILL);
	while (true) {
		kill(0, SIGKILL); /* in case the process left the group */
	}
}

/* ---- The spool ------------------------------------------------------------------------------------ */

void *host_room_elsewhere(size_t n)
{
	NVW_INVARIANT(host_control->spool_tail % 8 == 0 && n % 8 == 0);

	struct host_spool *const s = &host_spool;
	const uint64_t tail = host_control->spool_tail;

	if (!host_control->record) {
		return NULL;
	}
	if (s->window != NULL) {
		munmap(s->window, s->bytes);
	}
	const uint64_t off = host_down(tail, HOST_PAGE);
	const uint64_t bytes = nvw_max(WINDOW, host_up(tail - off + n, HOST_PAGE));
	const int fd = host_open("spool", -1, O_RDWR);

	*s = (struct host_spool){.call = s->call};
	if (fd >= 0 && host_grow(fd, off, bytes, false) == 0) {
		s->window = host_mapped_at(
			mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)off));
	}
	host_close(fd);
	if (s->window == NULL) {
		host_control->record = false;
		host_gap(HOST_GAP_SPOOL_FULL);
		return NULL;
	}
	s->off = off;
	s->bytes = bytes;
	NVW_INVARIANT(tail - off + n <= bytes);
	return s->window + (tail - off);
}

/* An event with room for its data; NULL: there is none. */
static struct host_event *new_event(
	enum host_event_kind kind, int file, uint64_t off, uint64_t bytes, uint32_t site, size_t room)
{
	NVW_DEEP_INVARIANT(host_self.inside);

	struct host_event *const e = host_room(sizeof *e + room);

	if (e != NULL) {
		*e = (struct host_event){.kind = (uint16_t)kind,
			.file = (uint16_t)file,
			.thread = host_self.number,
			.site = site,
			.bytes = (uint32_t)bytes,
			.off = off,
			.call = host_spool.call};
	}
	return e;
}

void host_event(enum host_event_kind kind, int file, uint64_t off, uint64_t bytes, uint32_t site)
{
	if (new_event(kind, file, off, bytes, site, 0) != NULL) {
		host_publish(sizeof(struct host_event));
	}
}

void host_event_of(
	enum host_event_kind kind, int file, uint64_t off, const void *data, size_t n, uint32_t site)
{
	NVW_INVARIANT(host_self.inside && n <= UINT32_MAX);

	const size_t room = host_up(n, 8);
	struct host_event *const e = new_event(kind, file, off, n, site, room);

	if (e != NULL) {
		memcpy(e + 1, data, n);
		memset((uint8_t *)(e + 1) + n, 0, room - n);
		host_publish(sizeof *e + room);
	}
}

void host_record_streamed(const struct host_mapping *m, size_t at, size_t n, uint32_t site)
{
	size_t from, to;

	if (m->file >= 0) {
		host_lines_of(m, at, n, &from, &to);
		host_event(HOST_FLUSH, m->file, m->off + from, to - from, site);
	}
}
