/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that the program has mapped, and where: every shared, writable mapping of a regular file is
 * treated as persistent memory. table.c looks them up. One that mprotect() may make writable is asleep until
 * it does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/each.h"
#include "preload.h"

/* The files of mappings that are asleep. A descriptor of them would keep locks that the program gives up. */
static char asleep_path[HOST_MAPPINGS_MAX][1024];

static char *path_of(const struct host_mapping *m)
{
	NVW_INVARIANT(m >= host_mapping && m < host_mapping + HOST_MAPPINGS_MAX);
	return asleep_path[m - host_mapping];
}

/* ---- Files ---------------------------------------------------------------------------------------- */

/* Copies n bytes from off on, and keeps holes. */
static int copy_part(int from, int to, off_t off, off_t end)
{
	static char buffer[1 << 16]; /* under the lock */

	while (off < end) {
		off_t at = off;
		const ssize_t n = copy_file_range(from, &at, to, &off, (size_t)(end - off), 0);

		if (n > 0) {
			continue;
		}
		const size_t piece = nvw_min((uint64_t)(end - off), sizeof buffer);
		const ssize_t got = pread(from, buffer, piece, off);

		if (got <= 0 || pwrite(to, buffer, (size_t)got, off) != got) {
			return got == 0 ? 0 : -1;
		}
		off += got;
	}
	return 0;
}

/* The end of the data there, at most the end. */
static off_t end_of_data(int fd, off_t data, off_t end)
{
	const off_t hole = lseek(fd, data, SEEK_HOLE);

	return hole < end ? hole : end;
}

static int copy_file(int from, const char *name, int number, off_t bytes)
{
	const int to = host_open(name, number, O_RDWR | O_CREAT | O_TRUNC);
	off_t at = 0;
	int error = to < 0 || host_grow(to, 0, (uint64_t)bytes, true);

	while (!error && at < bytes) {
		const off_t data = lseek(from, at, SEEK_DATA);

		if (data < 0) {
			break; /* only a hole remains */
		}
		at = end_of_data(from, data, bytes);
		error = copy_part(from, to, data, at);
	}
	host_close(to);
	return error;
}

/* A separate descriptor, so that the program's file position does not change. */
static int reopen(int fd)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

static int begin_file(int fd, const struct stat *s, unsigned number)
{
	NVW_INVARIANT(number < HOST_FILES_MAX);

	struct host_file *const f = &host_control->file[number];
	const int own = reopen(fd);
	int error = own < 0 || copy_file(own, "base", (int)number, s->st_size) ||
		    copy_file(own, "shadow", (int)number, s->st_size);

	host_close(own);
	const int lines = host_open("lines", (int)number, O_RDWR | O_CREAT | O_TRUNC);

	error = error || lines < 0;
	host_close(lines);
	host_path_of(fd, f->path, sizeof f->path);
	f->device = s->st_dev;
	f->inode = s->st_ino;
	f->bytes = (uint64_t)s->st_size;
	return error;
}

int host_known_file(const struct stat *s)
{
	const struct host_control *const c = host_control;

	NVW_FOR(i, c->file_count) {
		if (c->file[i].device == s->st_dev && c->file[i].inode == s->st_ino) {
			return (int)i;
		}
	}
	return -1;
}

/* The file's number in the session; negative if it cannot be recorded. */
static int number_of(int fd, const struct stat *s, bool *ret_known)
{
	NVW_INVARIANT(host_control->file_count <= HOST_FILES_MAX);

	struct host_control *const c = host_control;
	const int number = host_known_file(s);

	*ret_known = number >= 0;
	if (number >= 0) {
		return number;
	}
	if (c->file_count == HOST_FILES_MAX) {
		host_gap(HOST_GAP_FILES);
		return -1;
	}
	if (begin_file(fd, s, c->file_count)) {
		host_gap(HOST_GAP_NO_SHADOW);
		return -1;
	}
	return (int)c->file_count++;
}

/* The file that is recorded before it is mapped. */
static bool is_image(const struct stat *s)
{
	struct stat image;

	return host_control->image[0] != '\0' && stat(host_control->image, &image) == 0 &&
	       image.st_dev == s->st_dev && image.st_ino == s->st_ino;
}

int host_follow_created(int fd, const struct stat *s)
{
	const int before = host_known_file(s);
	bool known;

	if (before >= 0) { /* of a file that is gone: its number is given again */
		host_control->file[before].inode = 0;
		host_control->file[before].gone = true;
	}
	const int number = number_of(fd, s, &known);

	if (number >= 0) {
		host_control->file[number].of_folder = host_control->file[number].created = true;
	}
	return number;
}

/* Whether this process has the file mapped, and may be able to store to it. */
static bool has_mapped(const struct stat *s)
{
	return NVW_ANY(m, host_mapping, HOST_MAPPINGS_MAX,
		__atomic_load_n(&m->length, __ATOMIC_ACQUIRE) > 0 && m->inode == s->st_ino &&
			m->device == s->st_dev);
}

int host_follow(int fd, const struct stat *s)
{
	const int number = host_known_file(s);
	bool known;

	if (number >= 0 || (!has_mapped(s) && !is_image(s))) {
		return number;
	}
	return number_of(fd, s, &known);
}

/* ---- Watching ------------------------------------------------------------------------------------- */

/* Maps part of a file of the session; extends the file as needed. */
static void *map_part(const char *name, int number, uint64_t off, size_t n)
{
	const int fd = host_open(name, number, O_RDWR);
	struct stat s;
	void *at = NULL;

	if (fd >= 0 && fstat(fd, &s) == 0 &&
		((uint64_t)s.st_size >= off + n || host_grow(fd, off, n, true) == 0)) {
		at = host_map(fd, off, n);
	}
	host_close(fd);
	return at;
}

/* The byte for a line is at offset off / 64 of the file: mapped from the beginning of its page. */
static uint8_t *map_lines(int number, uint64_t off, size_t n)
{
	NVW_INVARIANT(off % HOST_PAGE == 0 && n % HOST_PAGE == 0);

	const uint64_t first = host_down(off / HOST_LINE, HOST_PAGE);
	uint8_t *const at = map_part("lines", number, first, off / HOST_LINE - first + n / HOST_LINE);

	if (at == NULL) {
		return NULL;
	}
	return at + (off / HOST_LINE - first);
}

static void unwatch(struct host_mapping *m)
{
	NVW_INVARIANT(m->length % HOST_PAGE == 0);
	m->file = -1;
	if (m->alias != NULL) {
		munmap(m->alias, m->length);
	}
	if (m->shadow != NULL) {
		munmap(m->shadow, m->length);
	}
	if (m->page != NULL && !m->part) {
		munmap(m->page, m->length / HOST_PAGE * sizeof *m->page);
	}
	if (m->lines != NULL && !m->part) {
		const uintptr_t first = host_down((uintptr_t)m->lines, HOST_PAGE);

		munmap((void *)first, (uintptr_t)m->lines - first + m->length / HOST_LINE);
	}
	m->alias = m->shadow = m->lines = NULL;
	m->page = NULL;
}

/* Populates the pages that the file has: by the thousand, this costs a fraction of a fault each. Holes are
 * kept. */
static void populate(const struct host_mapping *m, int fd, off_t end)
{
	const int own = reopen(fd);
	off_t at = (off_t)m->off, data;

	while (own >= 0 && at < end && (data = lseek(own, at, SEEK_DATA)) >= 0 && data < end) {
		const off_t stop = end_of_data(own, data, end);
		const size_t from = host_down((uint64_t)data - m->off, HOST_PAGE);

		madvise(m->shadow + from, (size_t)(stop - (off_t)m->off) - from, MADV_POPULATE_WRITE);
		madvise(m->alias + from, (size_t)(stop - (off_t)m->off) - from, MADV_POPULATE_READ);
		at = stop;
	}
	host_close(own);
}

static void watch(struct host_mapping *m, size_t length, int fd, const struct stat *s)
{
	NVW_INVARIANT(length % HOST_PAGE == 0 && m->length == 0);

	bool known;

	m->file = number_of(fd, s, &known);
	if (m->file < 0) {
		return;
	}
	struct host_file *const f = &host_control->file[m->file];
	const uint64_t end = nvw_min(m->off + length, (uint64_t)s->st_size);

	m->length = length; /* for unwatch() */
	m->alias = host_map(fd, m->off, length);
	m->page = host_memory(length / HOST_PAGE * sizeof *m->page);
	m->shadow = map_part("shadow", m->file, m->off, length);
	m->lines = map_lines(m->file, m->off, length);
	if (m->alias == NULL || m->page == NULL || m->shadow == NULL || m->lines == NULL ||
		host_protect(m->start, length, PROT_READ)) {
		unwatch(m);
		host_gap(HOST_GAP_NO_SHADOW);
		return;
	}
	populate(m, fd, (off_t)end);
	f->bytes = nvw_max((uint64_t)s->st_size, f->bytes);
	f->mapped = nvw_max(m->off + length, f->mapped);
	if (known && end > m->off) {
		host_record_written(m, end - m->off);
	}
	f->mappings++;
	f->watched = true;
	host_count_mapper((unsigned)m->file);
}

/* ---- The table ------------------------------------------------------------------------------------ */

static void find_bounds(void)
{
	uintptr_t lowest = UINTPTR_MAX, highest = 0;

	NVW_EACH_IN(m, host_mapping) {
		if (m->length > 0) {
			lowest = nvw_min(m->start, lowest);
			highest = nvw_max(m->start + m->length, highest);
		}
	}
	/* In between, a reader may find too much, but never too little. */
	host_highest = nvw_max(highest, host_highest);
	host_lowest = nvw_min(lowest, highest);
	host_highest = highest;
	NVW_INVARIANT(host_lowest <= host_highest);
}

static struct host_mapping *free_entry(void)
{
	NVW_EACH_IN(one, host_mapping) {
		if (one->length == 0) {
			return one;
		}
	}
	host_gap(HOST_GAP_MAPPINGS);
	return NULL;
}

/* The table changes under the session's lock; not within the recorder, whose own mappings do not count. */
static bool enter(void)
{
	if (host_self.inside) {
		return false;
	}
	host_self.inside = true;
	host_lock();
	return true;
}

static void leave(void)
{
	NVW_INVARIANT(host_self.inside);
	host_unlock();
	host_self.inside = false;
}

/* Whether pages are compared, as the first recorded mapping found it. */
static bool decided;

/* Under the lock. */
static void decide(bool announced, const char *why)
{
	NVW_INVARIANT(host_self.inside);
	if (!decided) {
		host_announced = announced;
		snprintf(host_control->compared, *why ? sizeof host_control->compared : 0, "%s", why);
		__atomic_store_n(&decided, true, __ATOMIC_RELEASE);
	}
}

/* Recorded if fd is not negative. s: of the file, NULL: not known. */
static void add(void *start, size_t length, uint64_t off, bool real, int fd, const struct stat *s)
{
	char why[HOST_WHY_BYTES] = "";
	const bool asks = fd >= 0 && host_recording && !host_self.inside &&
			  !__atomic_load_n(&decided, __ATOMIC_ACQUIRE);
	const bool announced = asks && host_all_announced(why);

	if (!enter()) {
		return;
	}
	struct host_mapping *const m = free_entry();

	if (m != NULL) {
		*m = (struct host_mapping){.start = (uintptr_t)start, .off = off, .file = -1, .real = real};
		if (s != NULL) {
			m->device = s->st_dev;
			m->inode = s->st_ino;
		}
		if (fd >= 0 && host_recording && !host_control->closed) {
			watch(m, host_up(length, HOST_PAGE), fd, s);
			if (asks && m->file >= 0) {
				decide(announced, why);
			}
		}
		__atomic_store_n(&m->length, host_up(length, HOST_PAGE), __ATOMIC_RELEASE);
		find_bounds();
	}
	leave();
}

void host_mapped(void *start, size_t length, int fd, uint64_t off, bool real)
{
	HOST_KEEPS_ERRNO;
	struct stat s;

	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
		add(start, length, off, real, fd, &s);
	}
}

static void add_asleep(void *start, size_t length, const struct host_moved *as)
{
	if (!enter()) {
		return;
	}
	struct host_mapping *const m = free_entry();

	if (m != NULL) {
		*m = (struct host_mapping){.start = (uintptr_t)start,
			.off = as->off,
			.device = as->device,
			.inode = as->inode,
			.file = -1,
			.asleep = true,
			.real = as->real};
		snprintf(path_of(m), sizeof asleep_path[0], "%s", as->path);
		__atomic_store_n(&m->length, host_up(length, HOST_PAGE), __ATOMIC_RELEASE);
		find_bounds();
	}
	leave();
}

/* One whose file has no name any more could not be found again: it is watched at once. */
void host_mapped_read_only(void *start, size_t length, int fd, uint64_t off, bool real)
{
	HOST_KEEPS_ERRNO;
	struct host_moved as = {.off = off, .real = real};
	struct stat s;

	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_nlink > 0) {
		as.device = s.st_dev;
		as.inode = s.st_ino;
		host_path_of(fd, as.path, sizeof as.path);
		add_asleep(start, length, &as);
	} else {
		host_mapped(start, length, fd, off, real);
		host_protecting(start, length, false);
	}
}

void host_record_mapped(int file, uint64_t off, uint64_t end, uint32_t site)
{
	NVW_INVARIANT(file >= 0 && host_self.inside);
	NVW_EACH_IN(m, host_mapping) {
		if (m->length == 0 || m->file != file ||
			nvw_max(off, m->off) >= nvw_min(end, m->off + m->length)) {
			continue; /* a file that grows has no page there yet */
		}
		const size_t from = host_down(nvw_max(off, m->off) - m->off, HOST_LINE);
		const size_t to = (size_t)(nvw_min(end, m->off + m->length) - m->off);

		host_compare(m, from, host_up(to, HOST_LINE), HOST_CHANGE, site);
	}
}

/* Makes the part from a byte on a separate entry. */
static void split(struct host_mapping *m, size_t at)
{
	struct host_mapping *rest = NULL;

	if (at > 0 && at < m->length) {
		rest = free_entry();
	}
	if (rest == NULL) {
		return;
	}
	NVW_INVARIANT(at % HOST_PAGE == 0);
	m->part = true;
	*rest = *m;
	if (m->asleep) {
		memcpy(path_of(rest), path_of(m), sizeof asleep_path[0]);
	}
	rest->start += at;
	rest->length -= at;
	rest->off += at;
	if (m->file >= 0) {
		rest->alias += at;
		rest->shadow += at;
		rest->lines += at / HOST_LINE;
		rest->page += at / HOST_PAGE;
		host_control->file[m->file].mappings++;
	}
	m->length = at;
}

static void cut_at(uintptr_t at)
{
	NVW_EACH_IN(m, host_mapping) {
		if (m->length > 0 && at > m->start && at < m->start + m->length) {
			split(m, at - m->start);
		}
	}
}

/* Makes entries begin and end at the ends of the range, which is the program's: it may be none. */
static void cut(uintptr_t start, uintptr_t end)
{
	cut_at(start);
	cut_at(end);
}

static void drop(struct host_mapping *m)
{
	NVW_INVARIANT(m->length > 0 && host_self.inside);
	if (m->file >= 0) {
		struct host_file *const f = &host_control->file[m->file];

		host_record_rest(m);
		host_forget_hot(m->start, m->start + m->length);
		f->mappings -= f->mappings > 0;
		unwatch(m);
	}
	__atomic_store_n(&m->length, 0, __ATOMIC_RELEASE);
}

static bool touches(const struct host_mapping *m, uintptr_t start, uintptr_t end)
{
	return m->length > 0 && m->start < end && start < m->start + m->length;
}

static bool any_touches(uintptr_t start, uintptr_t end)
{
	return NVW_ANY(one, host_mapping, HOST_MAPPINGS_MAX, touches(one, start, end));
}

void host_unmapping(void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address, end = start + host_up(length, HOST_PAGE);
	HOST_KEEPS_ERRNO;

	if ((start & (HOST_PAGE - 1)) != 0 || !any_touches(start, end) || !enter()) {
		return; /* the kernel rejects unaligned addresses */
	}
	cut(start, end);
	NVW_EACH_IN(m, host_mapping) {
		if (touches(m, start, end)) {
			host_note_gone(m);
			drop(m);
		}
	}
	find_bounds();
	leave();
}

bool host_moving(void *start, size_t length, struct host_moved *ret_moved)
{
	const struct host_mapping *const m = host_find(start);

	if (m == NULL || ((uintptr_t)start & (HOST_PAGE - 1)) != 0) {
		return false;
	}
	*ret_moved = (struct host_moved){.off = m->off + ((uintptr_t)start - m->start),
		.device = m->device,
		.inode = m->inode,
		.real = m->real,
		.recorded = m->file >= 0,
		.read_only = m->read_only,
		.asleep = m->asleep};
	if (m->asleep) {
		HOST_COPY_TEXT(ret_moved->path, path_of(m));
	}
	if (m->file >= 0) {
		HOST_COPY_TEXT(ret_moved->path, host_control->file[m->file].path);
	}
	const bool watched = m->file >= 0 && !m->read_only;

	host_unmapping(start, length);
	if (watched) {
		host_protect((uintptr_t)start, length,
			PROT_READ | PROT_WRITE); /* one piece, otherwise it cannot be moved */
	}
	return true;
}

void host_moved(const struct host_moved *moved, void *start, size_t length)
{
	HOST_KEEPS_ERRNO;
	const int fd = moved->recorded ? open(moved->path, O_RDWR | O_CLOEXEC) : -1;

	if (fd >= 0) {
		host_mapped(start, length, fd, moved->off, moved->real);
		close(fd);
	} else if (moved->recorded) {
		host_gap(HOST_GAP_RAW_REMAP);
	} else if (moved->asleep) {
		add_asleep(start, length, moved);
	} else {
		add(start, length, moved->off, moved->real, -1, NULL);
	}
	if (moved->read_only) {
		host_protecting(start, length, false);
	}
}

/* A mapping that was asleep, or a part of one, is watched from now on. */
static void watch_again(const struct host_mapping *m, const char *path)
{
	NVW_INVARIANT(m->asleep && m->file < 0);

	const int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat s;

	if (fd >= 0 && fstat(fd, &s) == 0 && s.st_dev == m->device && s.st_ino == m->inode) {
		host_mapped((void *)m->start, m->length, fd, m->off, m->real);
	} else {
		host_gap(HOST_GAP_RAW_REMAP);
	}
	host_close(fd);
}

static bool take_asleep(uintptr_t start, uintptr_t end, struct host_mapping *ret, char path[1024])
{
	bool found = false;

	if (!enter()) {
		return false;
	}
	cut(start, end);
	for (unsigned i = 0; i < HOST_MAPPINGS_MAX && !found; i++) {
		struct host_mapping *const m = &host_mapping[i];

		if (touches(m, start, end) && m->asleep) {
			*ret = *m;
			memcpy(path, path_of(m), sizeof asleep_path[0]);
			drop(m);
			found = true;
		}
	}
	find_bounds();
	leave();
	return found;
}

static void wake(uintptr_t start, uintptr_t end)
{
	struct host_mapping m = {0};
	char path[1024];

	while (take_asleep(start, end, &m, path)) {
		watch_again(&m, path);
	}
}

bool host_protecting(void *address, size_t length, bool writable)
{
	const uintptr_t start = (uintptr_t)address, end = start + host_up(length, HOST_PAGE);
	HOST_KEEPS_ERRNO;
	bool watched = false;

	if (!host_recording || (start & (HOST_PAGE - 1)) != 0 || !any_touches(start, end)) {
		return false;
	}
	if (writable) {
		wake(start, end);
	}
	if (!enter()) {
		return false;
	}
	cut(start, end);
	NVW_EACH_IN(m, host_mapping) {
		if (touches(m, start, end) && m->file >= 0) {
			host_record_rest(m);
			host_forget_hot(m->start, m->start + m->length);
			m->read_only = !writable;
			watched = true;
		}
	}
	leave();
	return watched;
}
