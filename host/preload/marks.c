/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program that nvwave-cc has built executes: a file of the session has two bytes for each byte of its
 * code, where stores, flushes and fences leave a mark when they are executed (cc/runtime.c, cc/thunk.S), and
 * here when they go to a recorded mapping. Behind them it has the program's own counters, of branches, whose
 * pages it replaces. It is mapped shared, so a program may end in any way. See ../coverage.h.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "../cc/hooks.h"
#include "core/each.h"
#include "preload.h"

/* What this process has marked. Places are looked up without the lock: an entry is whole before the count has
 * it. */
static struct marks {
	uintptr_t start, bytes;
	uint8_t *executed, *reached;
} marks[HOST_MARKED_MAX];
static unsigned count;

void host_reached(const void *place)
{
	NVW_DEEP_INVARIANT(count <= HOST_MARKED_MAX);

	const unsigned n = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	NVW_EACH(mark, marks, n) {
		const uintptr_t at = (uintptr_t)place - mark->start;

		if (at < mark->bytes) {
			mark->reached[at] = 1;
			return;
		}
	}
}

/* An executable segment of an object. */
struct code {
	uintptr_t at; /* in it */
	uintptr_t base, start, bytes;
	const char *path;
	char *counters;
	size_t counter_bytes;
};

static int meet_object(struct dl_phdr_info *object, size_t size, void *to)
{
	struct code *const c = to;

	NVW_EACH(header, object->dlpi_phdr, object->dlpi_phnum) {
		const ElfW(Phdr) *const p = header;
		const uintptr_t start = object->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && c->at - start < p->p_memsz) {
			c->base = object->dlpi_addr;
			c->start = start;
			c->bytes = p->p_memsz;
			c->path = object->dlpi_name;
			return 1;
		}
	}
	return 0;
}

/* Under the lock: where its marks are in the file; another process may have made them. NULL: no room. */
static const struct host_marked *room_for(int fd, const char *path, const struct code *code)
{
	NVW_INVARIANT(code->bytes > 0 && code->start >= code->base);

	struct host_control *const c = host_control;
	uint64_t end = 0;

	NVW_EACH(m, c->marked, c->marked_count) {
		if (m->bytes == code->bytes && strcmp(m->path, path) == 0) {
			return m;
		}
		end = m->off + host_marked_bytes(m);
	}
	struct host_marked *const m = &c->marked[c->marked_count];

	if (c->marked_count == HOST_MARKED_MAX) {
		return NULL;
	}
	m->code = code->start - code->base;
	m->bytes = code->bytes;
	m->counters = (uintptr_t)code->counters - code->base;
	m->counter_bytes = code->counter_bytes;
	m->off = end;
	if (host_grow(fd, end, host_marked_bytes(m), false)) {
		return NULL;
	}
	c->marked_count++;
	HOST_COPY_TEXT(m->path, path);
	return m;
}

/* The file takes the place of the counters, with what they count so far. */
static bool map_counters(int fd, const struct code *code, const struct host_marked *m)
{
	const size_t n = code->counter_bytes;
	const int protection = PROT_READ | PROT_WRITE;
	const off_t off = (off_t)(m->off + host_counters_in(m));

	if (n == 0) {
		return true;
	}
	uint8_t *const kept = host_map(fd, (uint64_t)off, n);

	if (kept == NULL) {
		return false;
	}
	NVW_FOR(i, n) {
		kept[i] |= (uint8_t)code->counters[i];
	}
	munmap(kept, n);
	return mmap(code->counters, n, protection, MAP_SHARED | MAP_FIXED, fd, off) != MAP_FAILED;
}

/* Its marks; NULL: there is no room. */
static uint8_t *map_marks(int fd, const struct code *code)
{
	char path[sizeof host_control->marked[0].path];

	HOST_COPY_TEXT(path, code->path);
	if (*path == '\0') {
		host_read_link("/proc/self/exe", path, sizeof path);
	}
	host_lock();
	const struct host_marked *const m = room_for(fd, path, code);

	host_unlock();
	if (m == NULL || !map_counters(fd, code, m)) {
		return NULL;
	}
	return host_map(fd, m->off, 2 * m->bytes);
}

HOST_EXPORT nvwave_cc_find_marks nvwave_cc_marks_2;

HOST_EXPORT uintptr_t nvwave_cc_marks_2(const void *address, void *counters, size_t bytes)
{
	struct code code = {.at = (uintptr_t)address, .counters = counters, .counter_bytes = bytes};
	const bool inside = host_self.inside;

	if (host_control == NULL || !host_control->coverage || count == HOST_MARKED_MAX ||
		dl_iterate_phdr(meet_object, &code) == 0) {
		return 0;
	}
	host_self.inside = true; /* its mapping is none of the program's */
	const int fd = host_open("marks", -1, O_RDWR);
	uint8_t *const at = fd < 0 ? NULL : map_marks(fd, &code);

	host_close(fd);
	host_self.inside = inside;
	if (at == NULL) {
		host_gap(HOST_GAP_MARKS);
		return 0;
	}
	marks[count] = (struct marks){code.start, code.bytes, at, at + code.bytes};
	__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
	return (uintptr_t)at - code.start;
}
