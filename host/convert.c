/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns a session's record into persist logs, one per file.
 *
 * The spool has the new content of changed lines. A replay of the file finds the words that changed. All
 * changes that one call reveals in a line have one instruction number: their order is unknown, so they
 * persist together (docs/host.md). A change that one thread's fence reveals may be another thread's store;
 * the thread that flushes the line next is taken for the one that stored.
 *
 * Each store of a program built by nvwave-cc has its own number. If a file has no other stores, its log has
 * an atomicity of 8 bytes. That is taken for granted where the program was built by nvwave-cc, and the log is
 * written anew if another store is met.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert.h"
#include "folder.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/zeroed.h"

#define NO_SITE UINT32_MAX   /* in converter.site: it is only somebody's caller, and has none */
enum { EVENTS_AHEAD = 256 }; /* looked at for the flush of a changed line */
enum { PORTION = 1 << 20 };  /* bytes of a file that are read at once */

static uint32_t caller_of(const struct converter *c, uint32_t site)
{
	if (site == 0) {
		return 0;
	}
	return c->s->control->site[site - 1].caller;
}

static bool is_laid_out(const struct converter *c, uint32_t site)
{
	return site <= c->s->control->site_count && c->laid_out[site];
}

/* What the site stores to; NULL: unknown. */
static const char *layout_of(struct converter *c, uint32_t site)
{
	const char *layout = NULL;

	if (c->named) {
		layout = host_layout_of(c->s->control, site);
	}
	c->laid_out[site] = layout != NULL;
	return layout;
}

static int append_site(struct converter *c, const struct host_place *p, uint32_t caller, const char *layout)
{
	struct nvw_log_record r = {.kind = NVW_LOG_SITE,
		.site = {.id = ++c->sites,
			.line = p->line,
			.file = p->file,
			.function = p->function,
			.caller = caller,
			.layout = layout}};

	return host_convert_append(c, &r);
}

/* The site's own callers have their number. What calls main() has no line, and is no caller. A function of a
 * library's header has its caller's place; under a schedule, where races may be looked for, its own is in the
 * log, too, and no store has that. */
static int add_site(struct converter *c, uint32_t site, uint32_t caller, bool calls)
{
	NVW_INVARIANT(c->log != NULL && c->site[site] == 0);

	struct host_place place[HOST_INLINED_MAX];
	unsigned count = host_places_of(c->s->control, site, place);

	if (calls && caller == 0 && place[0].line == 0) {
		c->site[site] = NO_SITE;
		return 0;
	}
	if (count == 0 && caller != 0) {
		if (c->s->schedule != NULL) {
			NVW_TRY(append_site(c, place, caller, NULL));
		}
		c->site[site] = caller;
		c->laid_out[site] = c->laid_out[caller_of(c, site)];
		return 0;
	}
	if (!c->s->control->stacks || count == 0) {
		count = 1;
	}
	for (; count > 0; count--) {
		NVW_TRY(append_site(c, &place[count - 1], caller, count == 1 ? layout_of(c, site) : NULL));
		caller = c->sites;
	}
	c->site[site] = c->sites;
	return 0;
}

int host_convert_site(struct converter *c, uint32_t site, uint32_t *ret_site)
{
	if (site > c->s->control->site_count) {
		site = 0;
	}
	if (c->site[site] == NO_SITE) {
		c->site[site] = 0;
	}
	while (c->log != NULL && c->site[site] == 0) { /* the outermost one first */
		uint32_t outer = site, caller = caller_of(c, site), number = 0;

		while (caller != 0 && c->site[caller] == 0) {
			outer = caller;
			caller = caller_of(c, outer);
		}
		if (caller != 0 && c->site[caller] != NO_SITE) {
			number = c->site[caller];
		}
		NVW_TRY(add_site(c, outer, number, outer != site));
	}
	*ret_site = c->site[site];
	return 0;
}

/* ---- Changes -------------------------------------------------------------------------------------- */

/* The next flush of a line, among the events of the spool that come soon; the change's own event if there is
 * none. */
static const struct host_event *flush_of(const struct converter *c, const struct host_event *e, uint64_t line)
{
	NVW_DEEP_INVARIANT(line % HOST_LINE == 0);
	/* What read_rest() makes is no event of the spool. */
	const uintptr_t at = (uintptr_t)e, begin = (uintptr_t)c->spool;
	uint64_t next = UINT64_MAX;

	if (at >= begin && at < begin + c->spool_bytes) {
		next = at - begin + host_event_bytes(e);
	}
	for (unsigned i = 0; i < EVENTS_AHEAD && next < c->spool_bytes; i++) {
		const struct host_event *const f = (const struct host_event *)(c->spool + next);

		next += host_event_bytes(f);
		if ((f->kind == HOST_FLUSH || f->kind == HOST_FLUSH_ORDERED) && f->file == c->file &&
			f->off < line + HOST_LINE && f->off + f->bytes > line) {
			return f;
		}
	}
	return e;
}

static int convert_change(struct converter *c, const struct host_event *e, const uint8_t *data)
{
	NVW_DEEP_INVARIANT(c->bytes % HOST_LINE == 0);

	struct nvw_log_record r = {.kind = NVW_LOG_STORE, .store = {.work_item = e->thread, .bytes = 8}};
	uint64_t line = UINT64_MAX;

	NVW_TRY(host_convert_site(c, e->site, &r.store.site));
	for (uint32_t at = 0; at < e->bytes; at += 8) {
		const uint64_t off = e->off + at;

		c->instruction += at % HOST_LINE == 0;
		if (off + 8 > c->bytes || memcmp(c->replay + off, data + at, 8) == 0) {
			continue;
		}
		if (line != host_down(off, HOST_LINE)) {
			line = host_down(off, HOST_LINE);
			const struct host_event *by = flush_of(c, e, line);

			if (by->thread == e->thread) {
				by = e;
			}
			r.store.work_item = by->thread;
			NVW_TRY(host_convert_site(c, by->site, &r.store.site));
		}
		memcpy(c->replay + off, data + at, 8);
		memcpy(&r.store.value, data + at, 8);
		r.store.whole = is_laid_out(c, e->site) ? 0 : 8; /* it may be of another instruction */
		r.store.off = off;
		r.store.group = c->instruction;
		c->counts.stores++;
		c->found++;
		NVW_TRY(host_convert_append(c, &r));
	}
	return 0;
}

/* Sets what the event is a part of. */
static void set_whole(const struct converter *c, const struct host_event *e, struct nvw_log_record *r)
{
	const struct host_event *const w = c->wide;

	r->store.whole = e->bytes;
	if (is_laid_out(c, e->site) && w != NULL && w->call == e->call && w->site == e->site &&
		w->thread == e->thread && e->off >= w->off && e->off + e->bytes <= w->off + w->bytes) {
		r->store.at = e->off - w->off;
		r->store.whole = w->bytes;
		NVW_DEEP_INVARIANT(r->store.at + e->bytes <= r->store.whole);
	}
}

/* An instruction of its own, or the part of one that lies in a word. */
static int convert_store(struct converter *c, const struct host_event *e, const uint8_t *data)
{
	struct nvw_log_record r = {.kind = NVW_LOG_STORE,
		.store = {
			.work_item = e->thread, .group = ++c->instruction, .bytes = e->bytes, .off = e->off}};

	NVW_TRY(host_convert_site(c, e->site, &r.store.site));
	if (e->off + e->bytes > c->bytes) {
		return 0;
	}
	memcpy(c->replay + e->off, data, e->bytes);
	memcpy(&r.store.value, data, e->bytes);
	set_whole(c, e, &r);
	c->counts.stores++;
	return host_convert_append(c, &r);
}

/* The number of the event's bytes that lie in the file. */
static uint64_t bytes_inside(const struct converter *c, const struct host_event *e)
{
	if (e->off >= c->bytes) {
		return 0;
	}
	return nvw_min(e->bytes, c->bytes - e->off);
}

static int convert_written(struct converter *c, const struct host_event *e, const uint8_t *data)
{
	const uint64_t n = bytes_inside(c, e);
	struct nvw_log_record r = {
		.kind = NVW_LOG_HOST, .host = {.off = e->off, .bytes = (uint32_t)n, .data = data}};

	if (n == 0) {
		return 0;
	}
	memcpy(c->replay + e->off, data, n);
	c->counts.written += n;
	return host_convert_append(c, &r);
}

int host_convert_flush(
	struct converter *c, const struct host_event *e, uint32_t site, uint64_t off, uint64_t bytes)
{
	struct nvw_log_record r = {.kind = NVW_LOG_FLUSH,
		.flush = {.site = site,
			.thread = e->thread,
			.off = off,
			.bytes = bytes,
			.ordered = e->kind == HOST_FLUSH_ORDERED}};

	if (bytes == 0) {
		return 0;
	}
	NVW_INVARIANT(off + bytes <= c->bytes);
	return host_convert_append(c, &r);
}

int host_convert_fence(struct converter *c, const struct host_event *e, uint32_t site)
{
	struct nvw_log_record r = {.kind = NVW_LOG_FENCE, .fence = {.site = site, .thread = e->thread}};

	return host_convert_append(c, &r);
}

/* A write by a system call, on persistent memory: words that are stored past the caches, so that the thread's
 * next fence makes them durable. */
static int convert_write(struct converter *c, const struct host_event *e, const uint8_t *data)
{
	struct host_event piece = *e;
	uint32_t site;

	for (uint64_t at = 0; at < e->bytes; at += piece.bytes) {
		piece.off = e->off + at;
		piece.bytes = (uint32_t)nvw_min(8 - piece.off % 8, e->bytes - at);
		NVW_TRY(convert_store(c, &piece, data + at));
	}
	NVW_TRY(host_convert_site(c, e->site, &site));
	return host_convert_flush(c, e, site, e->off, bytes_inside(c, e));
}

/* The logs of every file have it: an operation may store to several. */
int host_convert_operation(struct converter *c, const struct host_event *e, const uint8_t *data)
{
	struct nvw_log_record r = {
		.kind = NVW_LOG_ACK, .ack = {.first = e->off, .count = 1, .work_item = e->thread}};
	char name[HOST_OPERATION_NAME_MAX + 1];

	NVW_TRY(host_convert_site(c, e->site, &r.ack.site));
	if (e->kind == HOST_BEGIN) {
		const uint32_t site = r.ack.site, n = (uint32_t)nvw_min(e->bytes, HOST_OPERATION_NAME_MAX);

		NVW_FOR(i, n) {
			name[i] = data[i] >= ' ' && data[i] <= '~' ? (char)data[i] : '?';
		}
		name[n] = '\0';
		r.kind = NVW_LOG_BEGIN;
		r.begin.site = site;
		r.begin.thread = e->thread;
		r.begin.number = e->off;
		r.begin.name = name;
	}
	return host_convert_append(c, &r);
}

/* For what is stored to mappings, the sync's own flushes and its fence are recorded. */
static int convert_sync(struct converter *c, const struct host_event *e)
{
	uint64_t end = c->bytes;
	uint32_t site;

	if (!c->s->control->file[c->file].written) {
		return 0;
	}
	NVW_TRY(host_convert_site(c, e->site, &site));
	if (e->kind == HOST_SYNCED) {
		return host_convert_fence(c, e, site);
	}
	if (e->bytes > 0) {
		end = nvw_min(e->off + (uint64_t)e->bytes * HOST_PAGE, end);
	}
	if (end <= e->off) {
		return 0;
	}
	c->counts.flushes++;
	return host_convert_flush(c, e, site, e->off, end - e->off);
}

static int convert_range(struct converter *c, const struct host_event *e)
{
	NVW_INVARIANT(e->kind >= HOST_ADDING && e->kind <= HOST_FORGOTTEN);

	static const enum nvw_log_range what[] = {[HOST_ADDING - HOST_ADDING] = NVW_RANGE_ADDING,
		[HOST_ADDED - HOST_ADDING] = NVW_RANGE_ADDED,
		[HOST_UNLOGGED - HOST_ADDING] = NVW_RANGE_UNLOGGED,
		[HOST_SETTLES - HOST_ADDING] = NVW_RANGE_SETTLES,
		[HOST_FORGOTTEN - HOST_ADDING] = NVW_RANGE_FORGOTTEN};
	struct nvw_log_record r = {
		.kind = NVW_LOG_RANGE, .range = {.what = what[e->kind - HOST_ADDING], .thread = e->thread}};

	if (r.range.what == NVW_RANGE_ADDED || r.range.what == NVW_RANGE_UNLOGGED) {
		r.range.off = nvw_min(e->off, c->bytes);
		r.range.bytes = bytes_inside(c, e);
	}
	return host_convert_append(c, &r);
}

static int convert_event(struct converter *c, const struct host_event *e, const uint8_t *data)
{
	uint32_t site;

	c->time_ps = 1000 * e->call;
	if (e->kind == HOST_FENCE) {
		c->counts.fences++;
		NVW_TRY(host_convert_site(c, e->site, &site));
		return host_convert_fence(c, e, site);
	}
	if (e->kind == HOST_BEGIN || e->kind == HOST_DURABLE) {
		return host_convert_operation(c, e, data);
	}
	if (e->kind == HOST_KERNEL || e->kind == HOST_KERNEL_END) {
		return host_merge_kernel(c, e, (const void *)data);
	}
	if (e->file != c->file && e->kind != HOST_FORGOTTEN) {
		return 0;
	}
	switch (e->kind) {
	case HOST_ADDING:
	case HOST_ADDED:
	case HOST_UNLOGGED:
	case HOST_SETTLES:
	case HOST_FORGOTTEN:
		return convert_range(c, e);
	case HOST_CHANGE:
		return convert_change(c, e, data);
	case HOST_STORE:
		return convert_store(c, e, data);
	case HOST_WRITTEN:
		return convert_written(c, e, data);
	case HOST_GIVEN:
		host_merge_given(c, e, data);
		return 0;
	case HOST_WRITE:
		return convert_write(c, e, data);
	case HOST_WIDE:
		c->wide = e;
		return 0;
	case HOST_SIZE:
		return 0; /* the file of a crash state has the largest size */
	case HOST_SYNC:
	case HOST_SYNCED:
		return convert_sync(c, e);
	default:
		c->counts.flushes++;
		NVW_TRY(host_convert_site(c, e->site, &site));
		return host_convert_flush(c, e, site, e->off, bytes_inside(c, e));
	}
}

/* A store was found by comparison, although none should be. */
static bool is_refuted(const struct converter *c)
{
	return c->separate && c->found > 0;
}

static int convert_spool(struct converter *c)
{
	NVW_INVARIANT(c->replay != NULL);
	HOST_EACH_EVENT_WHILE(e, c, !is_refuted(c)) {
		NVW_TRY(convert_event(c, e, (const uint8_t *)(e + 1)));
	}
	return 0;
}

/* ---- What a killed program left unrecorded -------------------------------------------------------- */

uint64_t host_convert_next_page(const struct converter *c, uint64_t at, int fd, uint64_t off)
{
	NVW_INVARIANT(at % HOST_PAGE == 0 && c->replay_fd >= 0);
	/* Without any, as a number without sign, it is behind all. */
	const uint64_t mine = (uint64_t)lseek(fd, (off_t)off, SEEK_DATA);
	const uint64_t other = (uint64_t)lseek(c->replay_fd, (off_t)(at + off), SEEK_DATA);

	return host_down(nvw_min(mine, other - at), HOST_PAGE);
}

int host_convert_open(const struct host_file *f, struct stat *ret_is)
{
	const int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret_is) || ret_is->st_dev != f->device || ret_is->st_ino != f->inode) {
		host_close(fd);
		return -1;
	}
	return fd;
}

/* Compares the file with its replay to find stores after the last event. False: the file no longer exists. */
static bool read_rest(struct converter *c, int *ret_error)
{
	if (c->in_kernel) {
		return true; /* what is there is no instant's content */
	}
	struct stat s;
	const int fd = host_convert_open(&c->s->control->file[c->file], &s);
	uint8_t page[HOST_PAGE] __attribute__((aligned(8)));
	ssize_t n;

	if (fd < 0) {
		return false;
	}
	c->time_ps += 1000;
	for (uint64_t off = host_convert_next_page(c, 0, fd, 0);
		off < c->bytes && *ret_error == 0 && (n = pread(fd, page, sizeof page, (off_t)off)) > 0;
		off = host_convert_next_page(c, 0, fd, off + sizeof page)) {
		const struct host_event e = {.kind = HOST_CHANGE, .off = off, .bytes = (uint32_t)n & ~7u};

		if (memcmp(page, c->replay + off, e.bytes) != 0) {
			*ret_error = convert_change(c, &e, page);
		}
	}
	close(fd);
	return true;
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static int map_spool(struct converter *c)
{
	NVW_INVARIANT(c->spool == NULL);
	c->spool_bytes = c->s->control->spool_tail;
	if (c->spool_bytes == 0) {
		return 0;
	}
	c->spool = host_session_map(c->s, "spool", c->spool_bytes);
	if (c->spool == NULL) {
		c->spool_bytes = 0;
		return NVW_E_SYSTEM;
	}
	return 0;
}

int host_convert_map(struct converter *c, int fd, const char *name)
{
	NVW_INVARIANT(c->replay == NULL);

	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)c->bytes) == 0) {
		at = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (at == MAP_FAILED) {
		const int error = nvw_fail_errno("%s", name);

		host_close(fd);
		return error;
	}
	c->replay = at;
	c->replay_fd = fd;
	return 0;
}

int host_convert_base(const struct converter *c, unsigned file, uint8_t *to, uint64_t bytes)
{
	NVW_INVARIANT(file < c->s->control->file_count || host_is_of_folder(c->s));

	char path[300];
	off_t at = 0;
	ssize_t n = 1;

	host_session_base(c->s, file, path, sizeof path);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	NVW_FAIL_ERRNO_IF(fd < 0, "%s", path);
	while (n > 0 && (uint64_t)at < bytes && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
		n = pread(fd, to + at, nvw_min(bytes - (uint64_t)at, PORTION), at);
		at += n;
	}
	close(fd);
	NVW_FAIL_ERRNO_IF(n < 0, "%s", path);
	return 0;
}

int host_convert_map_memory(struct converter *c)
{
	return host_convert_map(c, memfd_create("replay", MFD_CLOEXEC), "a replay of the record");
}

/* The base, extended with zeros to the largest size of the file, in whole lines. */
static int map_replay(struct converter *c)
{
	NVW_TRY(host_convert_map_memory(c));
	return host_convert_base(c, c->file, c->replay, c->bytes);
}

void host_convert_unmap(struct converter *c)
{
	nvw__unmap(c->replay, c->bytes);
	host_close(c->replay_fd);
	c->replay = NULL;
	c->replay_fd = -1;
}

/* Size of the file: when it was mapped, or now if it has grown since then, as far as it was mapped. */
static uint64_t size_of(const struct host_session *s, unsigned i)
{
	NVW_INVARIANT(i < s->control->file_count || host_is_of_folder(s)); /* a folder may be empty */

	const struct host_file *const f = &s->control->file[i];
	struct stat now;

	if (stat(f->path, &now) || now.st_dev != f->device || now.st_ino != f->inode) {
		return f->bytes;
	}
	return nvw_max(f->bytes, nvw_min((uint64_t)now.st_size, f->mapped));
}

/* Words, unless stores are found in lines by comparison, in no order. */
static uint32_t atomicity(const struct converter *c)
{
	return c->separate && c->found == 0 ? 8 : 64;
}

static int prepare_log(struct converter *c, struct host_merge *merge, struct nvw_log_info *info)
{
	NVW_INVARIANT(c->log == NULL && c->bytes % HOST_LINE == 0);
	NVW_FAIL_IF(c->bytes == 0, NVW_E_INPUT, "%s: expected a file of at least 1 byte", info->options);
	NVW_TRY(map_replay(c));
	NVW_TRY(host_merge_begin(c, merge));
	c->named = info->layouts;
	c->separate = c->s->control->instrumented && merge->info == NULL;
	info->atomicity = atomicity(c);
	if (merge->info) {
		info->machine = merge->info->machine;
		info->protocol = merge->info->protocol;
		info->model = merge->info->model;
		info->domain = merge->info->domain;
		info->seed = merge->info->seed;
		info->atomicity = merge->info->atomicity;
	}
	return 0;
}

static int fill_log(struct converter *c)
{
	const struct host_file *const f = &c->s->control->file[c->file];
	struct nvw_log_record r = {.kind = NVW_LOG_THREADS, .threads = {.count = f->threads}};
	int error = 0;

	NVW_TRY(host_convert_append(c, &r));
	NVW_TRY(convert_spool(c));
	if (!is_refuted(c) && !read_rest(c, &error)) {
		fprintf(stderr,
			"nvwave: %s is gone: stores to it after the last flush or drain are not in the log\n",
			f->path);
	}
	return error;
}

/* As before the first event, for another log there. */
static int begin_again(struct converter *c, const struct converter *before, int fd, const char *name)
{
	const bool written = c->log != NULL;

	nvw_log_abandon(c->log);
	*c = *before;
	host_convert_unmap(c);
	memset(c->site, 0, (HOST_SITES_MAX + 1) * sizeof *c->site);
	memset(c->laid_out, 0, (HOST_SITES_MAX + 1) * sizeof *c->laid_out);
	NVW_FAIL_ERRNO_IF(written && (fd < 0 || ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET)), "%s", name);
	return map_replay(c);
}

/* The log of stores that were all recorded separately, as is likely. A pipe gets nothing yet: what it has
 * cannot be taken back. ret_again: the log has still to be written there; -1: it is written. */
static int try_separate(
	struct converter *c, struct nvw_log_info *info, int fd, const char *name, int *ret_again)
{
	NVW_INVARIANT(c->separate && c->found == 0);

	const struct converter before = *c;
	int error = 0, other = fd;

	*ret_again = -1;
	if (lseek(fd, 0, SEEK_CUR) == 0) {
		other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		error = nvw_log_create_fd(fd, name, info, &c->log);
	}
	if (!error) {
		error = fill_log(c);
	}
	if (!error && (is_refuted(c) || c->log == NULL)) {
		info->atomicity = atomicity(c);
		error = begin_again(c, &before, other, name);
		c->separate = false;
		if (!error) {
			*ret_again = other;
			return 0;
		}
	}
	host_close(other);
	return error;
}

static int write_log(struct converter *c, struct nvw_log_info *info, int fd, const char *name)
{
	if (c->separate) {
		NVW_TRY(try_separate(c, info, fd, name, &fd));
	}
	if (fd < 0) {
		return 0;
	}
	NVW_TRY(nvw_log_create_fd(fd, name, info, &c->log));
	return fill_log(c);
}

int host_memory_convert(struct converter *c, struct nvw_log_info *info, int fd, const char *name)
{
	struct host_merge merge = {.log = NULL};
	int error = prepare_log(c, &merge, info);

	if (error) {
		close(fd);
	} else {
		error = write_log(c, info, fd, name);
	}
	if (merge.differing > 0) {
		fprintf(stderr,
			"nvwave: note: kernels left %llu words of %s otherwise than by the last of their "
			"stores in "
			"the log: their work-items race\n",
			(unsigned long long)merge.differing, c->s->control->file[c->file].path);
	}
	host_merge_end(&merge);
	return error;
}

int host_convert_begin(const struct host_session *s, unsigned i, struct converter *ret)
{
	*ret = (struct converter){
		.s = s, .file = i, .replay_fd = -1, .bytes = host_up(size_of(s, i), HOST_LINE)};
	ret->site = calloc(HOST_SITES_MAX + 1, sizeof *ret->site);
	ret->laid_out = calloc(HOST_SITES_MAX + 1, sizeof *ret->laid_out);
	NVW_ALLOCATED(ret->site && ret->laid_out, "no memory for a persist log");
	return map_spool(ret);
}

void host_convert_end(struct converter *c)
{
	free(c->site);
	free(c->laid_out);
	nvw__unmap(c->spool, c->spool_bytes);
	host_convert_unmap(c);
}

int host_each_found(const struct host_session *s, host_found_function *f, void *context)
{
	struct converter c = {.s = s};

	NVW_TRY(map_spool(&c));
	HOST_EACH_EVENT(e, &c) {
		if (e->kind == HOST_CHANGE) {
			f(context, e->call, e->off, e->bytes);
		}
	}
	nvw__unmap(c.spool, c.spool_bytes);
	return 0;
}

/* ---- Its hash ------------------------------------------------------------------------------------- */

static inline uint64_t add_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++) {
		hash = add_word(hash, (uint8_t)*text);
	}
	return hash;
}

/* Of a site with its callers: their numbers are those in which the run has met them, also those that only a
 * detector has asked for. */
static uint64_t key_of(const struct host_control *c, uint32_t site)
{
	uint64_t key = 1;

	for (; site > 0 && site <= c->site_count; site = c->site[site - 1].caller) {
		const struct host_site *const at = &c->site[site - 1];

		key = add_word(key, at->offset);
		if (at->module > 0) {
			key = add_text(key, c->module[at->module - 1].path);
		}
	}
	return key;
}

static uint64_t add_event(
	uint64_t hash, const struct host_control *control, const struct host_event *e, uint64_t *key)
{
	const uint64_t *const data = (const uint64_t *)(e + 1);
	const uint64_t words = (host_event_bytes(e) - sizeof *e) / sizeof *data;
	const uint32_t site = e->site * (e->site <= control->site_count);

	if (key[site] == 0) {
		key[site] = key_of(control, site);
	}
	hash = add_word(hash, (uint64_t)e->kind << 48 | (uint64_t)e->file << 32 | e->thread);
	hash = add_word(hash, key[site]);
	hash = add_word(hash, e->off);
	hash = add_word(hash, e->call << 32 ^ e->bytes);
	NVW_FOR(i, words) {
		hash = add_word(hash, data[i]);
	}
	return hash;
}

int host_session_hash(const struct host_session *s, uint64_t *hash)
{
	struct converter c = {.s = s};
	uint64_t *const key = calloc(HOST_SITES_MAX + 1, sizeof *key);
	NVW_ALLOCATED(key, "no memory for the hash of a record");
	const int error = map_spool(&c);

	HOST_EACH_EVENT(e, &c) {
		*hash = add_event(*hash, s->control, e, key);
	}
	nvw__unmap(c.spool, c.spool_bytes);
	free(key);
	return error;
}

/* ---- The base ------------------------------------------------------------------------------------- */

int host_session_save_base(const struct host_session *s, unsigned i, const char *path)
{
	char from_path[300];
	char buffer[1 << 16];
	uint64_t at = 0;
	ssize_t n;

	host_session_base(s, i, from_path, sizeof from_path);
	const int from = open(from_path, O_RDONLY | O_CLOEXEC);
	const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bool good = from >= 0 && to >= 0 && ftruncate(to, (off_t)size_of(s, i)) == 0;

	while (good) {
		const off_t data = lseek(from, (off_t)at, SEEK_DATA);

		if (data < 0 || (n = pread(from, buffer, sizeof buffer, data)) <= 0) {
			break;
		}
		good = pwrite(to, buffer, (size_t)n, data) == n;
		at = (uint64_t)data + (uint64_t)n;
	}
	int error = 0;

	if (!good) {
		error = nvw_fail_errno("%s", path);
	}
	host_close(from);
	host_close(to);
	return error;
}
