/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session's record of a file that is written by system calls, or made durable by them, as a persist log of
 * the model "files". The log's image has the file's content in slots, and its size as a word
 * (core/disk_image.h). The processor's flushes and fences are left out: behind a page cache they make nothing
 * durable.
 *
 * What one call writes to a sector is one store: the kernel copies it while it holds the page. What a
 * comparison found in a sector is one store, too, because its order is unknown (docs/host.md).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/invariant.h"
#include "core/disk_image.h"

#include "convert.h"
#include "core/each.h"
#include "folder.h"

/* What is known of a file while the events are gone through. */
struct file_now {
	uint64_t size, high; /* high: the end of what its slot has held */
	unsigned slot;
};

struct disk {
	struct nvw__disk is;
	uint32_t slots; /* in use, while the events are gone through */
	struct file_now now[NVW__DISK_FILES];
	uint64_t base[NVW__DISK_FILES];    /* the files' sizes at the beginning */
	unsigned of_file[NVW__DISK_FILES]; /* their numbers in the session */
	int of[HOST_FILES_MAX];            /* the other way round; negative: it is not part of the image */
	uint64_t named[NVW__DISK_NAMES];   /* the words of the names */
};

/* The stores of one call to one sector are one. */
struct together {
	uint64_t call, instruction;
	uint16_t kind;
};

bool host_is_of_files(const struct host_session *s, unsigned i)
{
	NVW_INVARIANT(i < s->control->file_count || host_is_of_folder(s)); /* a folder may be empty */

	const struct host_file *const f = &s->control->file[i];

	if (host_is_of_folder(s)) {
		return true;
	}
	if (s->model != HOST_MODEL_ANY) {
		return s->model == HOST_MODEL_FILES;
	}
	return !f->flushed && s->control->kernel_logs == 0 && (f->written || f->synced);
}

/* ---- The layout ----------------------------------------------------------------------------------- */

static int undecided(const struct converter *c, unsigned file, const char *what)
{
	NVW_INVARIANT(file < HOST_FILES_MAX);
	return nvw_fail(NVW_E_INPUT, "UNDECIDED: %s: %s", basename(c->s->control->file[file].path), what);
}

static int begin_slot(const struct converter *c, struct disk *d, unsigned k)
{
	NVW_INVARIANT(k < d->is.files && d->slots <= NVW__DISK_SLOTS);
	if (d->slots == NVW__DISK_SLOTS) {
		return undecided(
			c, d->of_file[k], "it is cut to nothing more often than a record has room for");
	}
	d->is.slot[d->slots].file = k;
	d->now[k] = (struct file_now){.slot = d->slots++};
	d->is.slots = (uint32_t)nvw_max(d->slots, d->is.slots);
	return 0;
}

static void hold(struct disk *d, unsigned k, uint64_t end)
{
	struct file_now *const now = &d->now[k];
	struct nvw__disk_slot *const slot = &d->is.slot[now->slot];

	slot->bytes = nvw_max(host_up(end, NVW__DISK_PAGE), slot->bytes);
	now->high = nvw_max(end, now->high);
	NVW_INVARIANT(now->slot < d->is.slots && now->high <= slot->bytes);
}

static int grow(const struct converter *c, struct disk *d, unsigned k, uint64_t size)
{
	struct file_now *const now = &d->now[k];

	if (size > now->size && now->high > now->size) {
		return undecided(c, d->of_file[k],
			"it is made shorter and then longer again: what a crash may leave of the part that "
			"was cut off is not known");
	}
	now->size = nvw_max(size, now->size);
	hold(d, k, size);
	NVW_INVARIANT(now->size <= now->high);
	return 0;
}

/* What an event makes of its file's size and slots. */
static int see(const struct converter *c, struct disk *d, unsigned k, const struct host_event *e)
{
	NVW_INVARIANT(k < d->is.files);
	switch (e->kind) {
	case HOST_WRITE:
		return grow(c, d, k, nvw_max(e->off + e->bytes, d->now[k].size));
	case HOST_SIZE:
		if (e->off == 0 && d->now[k].size > 0) {
			return begin_slot(c, d, k);
		}
		if (e->off < d->now[k].size) {
			d->now[k].size = e->off;
			return 0;
		}
		return grow(c, d, k, e->off);
	default:
		return 0;
	}
}

static void begin_again(struct disk *d)
{
	d->slots = d->is.files;
	NVW_FOR(k, d->is.files) {
		d->now[k] = (struct file_now){.size = d->base[k], .high = d->base[k], .slot = k};
		d->is.slot[k].file = k;
	}
}

static int base_size(const struct converter *c, unsigned file, uint64_t *ret)
{
	char path[300];
	struct stat s;

	host_session_base(c->s, file, path, sizeof path);
	NVW_FAIL_ERRNO_IF(stat(path, &s), "%s", path);
	*ret = (uint64_t)s.st_size;
	return 0;
}

/* The number of a name; one that it gets, if it has none yet. */
static int number_of_name(struct disk *d, const char *name, size_t n, unsigned *ret)
{
	NVW_INVARIANT(d->is.names <= NVW__DISK_NAMES);
	for (*ret = 0; *ret < d->is.names; ++*ret) {
		if (strncmp(d->is.name[*ret], name, n) == 0 && d->is.name[*ret][n] == '\0') {
			return 0;
		}
	}
	NVW_FAIL_IF(d->is.names == NVW__DISK_NAMES || n >= NVW__DISK_NAME, NVW_E_INPUT,
		"UNDECIDED: %.*s: expected at most %d names below the folder, of at most %d characters",
		(int)n, name, NVW__DISK_NAMES, NVW__DISK_NAME - 1);
	memcpy(d->is.name[d->is.names++], name, n);
	return 0;
}

/* The first name of a file is what it is called in findings. */
static void note_name(struct disk *d, int k, unsigned number)
{
	NVW_INVARIANT(number < d->is.names);
	if (k >= 0 && d->is.first_name[k] == 0) {
		d->is.first_name[k] = number + 1;
	}
}

/* Which files of the session are part of the image, and their names at the beginning. */
static int find_files(const struct converter *c, struct disk *d)
{
	NVW_INVARIANT(d->is.files == 0 && d->is.names == 0);

	const struct host_control *const s = c->s->control;
	const size_t folder = strlen(s->folder);

	NVW_EACH_IN(of, d->of) {
		*of = -1;
	}
	NVW_FOR(i, s->file_count) {
		if (i != c->file && !d->is.is_folder) {
			continue;
		}
		if (d->is.is_folder && !s->file[i].of_folder) {
			continue;
		}
		d->of[i] = (int)d->is.files;
		d->of_file[d->is.files] = i;
		NVW_TRY(base_size(c, i, &d->base[d->is.files++]));
	}
	for (unsigned i = 0; d->is.is_folder && i < c->s->names; i++) {
		const char *const name = c->s->name_at_first[i] + folder + 1;
		unsigned number;

		NVW_TRY(number_of_name(d, name, strlen(name), &number));
		if (c->s->file_at_first[i] != HOST_NO_FILE) {
			note_name(d, d->of[c->s->file_at_first[i]], number);
		}
	}
	return 0;
}

/* Where the text of a link follows in the event of its name; NULL: it is none. */
static const char *link_of(const struct host_event *e)
{
	const char *const name = (const char *)(e + 1);

	if (e->off != HOST_NAME_OF_LINK) {
		return NULL;
	}
	return name + strnlen(name, e->bytes) + 1;
}

/* The number of the name in an event, and the word that it gets. */
static int see_name(struct disk *d, const struct host_event *e, unsigned *ret_number, uint64_t *ret_word)
{
	const char *const name = (const char *)(e + 1), *const text = link_of(e);
	unsigned number;

	NVW_TRY(number_of_name(d, name, strnlen(name, e->bytes), ret_number));
	*ret_word = 0;
	if (text != NULL) {
		NVW_TRY(number_of_name(d, text, (size_t)(name + e->bytes - text), &number));
		*ret_word = NVW__DISK_LINK + number;
	} else if (e->off == HOST_NAME_OF_FOLDER) {
		*ret_word = NVW__DISK_FOLDER;
	} else if (e->off == HOST_NAME_OF_FILE && e->file < HOST_FILES_MAX) {
		*ret_word = (uint64_t)(d->of[e->file] + 1);
	}
	return 0;
}

/* The number of an event's file in the image; negative: it is not part of it. */
static int part_of(const struct disk *d, const struct host_event *e)
{
	if (e->file >= HOST_FILES_MAX) {
		return -1;
	}
	return d->of[e->file];
}

/* One for each event, of its file; and the names that it gives. */
static int see_event(const struct converter *c, struct disk *d, const struct host_event *e)
{
	const int k = part_of(d, e);
	unsigned number;
	uint64_t word;

	if (e->kind == HOST_NAME) {
		NVW_TRY(see_name(d, e, &number, &word));
		note_name(d, k, number);
		return 0;
	}
	if (k < 0) {
		return 0;
	}
	return see(c, d, (unsigned)k, e);
}

static int lay_out(struct converter *c, struct disk **ret)
{
	struct disk *const d = *ret = malloc(sizeof *d);
	uint64_t off = 0;

	NVW_ALLOCATED(d, "no memory for a record of files");
	*d = (struct disk){
		.is = {.magic = NVW__DISK_MAGIC, .is_folder = host_is_of_folder(c->s), .fs = c->s->fs}};
	NVW_TRY(find_files(c, d));
	d->is.slots = d->is.files;
	begin_again(d);
	NVW_FOR(k, d->is.files) {
		hold(d, k, d->base[k]);
	}
	HOST_EACH_EVENT(e, c) {
		NVW_TRY(see_event(c, d, e));
	}
	NVW_EACH(slot, d->is.slot, d->is.slots) {
		slot->off = off;
		off += slot->bytes;
	}
	d->is.at = off;
	NVW_INVARIANT(d->is.slots >= d->is.files && off % NVW__DISK_PAGE == 0);
	c->bytes = nvw__disk_file_at(&d->is, d->is.files) + NVW__DISK_BYTES;
	return 0;
}

/* ---- The image ------------------------------------------------------------------------------------ */

static uint64_t size_word(const struct file_now *now)
{
	return (uint64_t)now->slot << 48 | now->size;
}

/* What the files and names are at the beginning. */
static int fill_image(struct converter *c, struct disk *d)
{
	NVW_INVARIANT(c->replay != NULL && c->bytes >= NVW__DISK_BYTES);
	memcpy(c->replay + c->bytes - NVW__DISK_BYTES, &d->is, sizeof d->is);
	memset(d->named, 0, sizeof d->named);
	begin_again(d);
	NVW_FOR(k, d->is.files) {
		const uint64_t word = size_word(&d->now[k]);

		memcpy(c->replay + nvw__disk_file_at(&d->is, k), &word, sizeof word);
		NVW_TRY(host_convert_base(c, d->of_file[k], c->replay + d->is.slot[k].off, d->base[k]));
	}
	for (unsigned i = 0; d->is.is_folder && i < c->s->names; i++) {
		const unsigned file = c->s->file_at_first[i];

		d->named[i] = NVW__DISK_FOLDER;
		if (file != HOST_NO_FILE) {
			d->named[i] = (uint64_t)d->of[file] + 1;
		}
		memcpy(c->replay + nvw__disk_name_at(&d->is, i), &d->named[i], sizeof d->named[i]);
	}
	return 0;
}

/* Maps the image at the beginning of the record: in a file of this path, or in memory. */
static int make_image(struct converter *c, struct disk *d, const char *path)
{
	if (path == NULL) {
		NVW_TRY(host_convert_map_memory(c));
	} else {
		NVW_TRY(host_convert_map(c, open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), path));
	}
	return fill_image(c, d);
}

/* ---- Records -------------------------------------------------------------------------------------- */

/* A store of one instruction to bytes of the image, as words; those that change nothing are left out. */
static int store(struct converter *c, uint64_t off, const uint8_t *data, uint64_t n, struct nvw_log_record *r)
{
	NVW_DEEP_INVARIANT(off + n <= c->bytes);
	for (uint64_t at = 0; at < n;) {
		const uint64_t piece = nvw_min(8 - (off + at) % 8, n - at);

		if (memcmp(c->replay + off + at, data + at, piece) != 0) {
			r->store.off = off + at;
			r->store.bytes = (uint8_t)piece;
			r->store.value = 0;
			memcpy(&r->store.value, data + at, piece);
			memcpy(c->replay + off + at, data + at, piece);
			c->counts.stores++;
			NVW_TRY(host_convert_append(c, r));
		}
		at += piece;
	}
	return 0;
}

static int store_size(struct converter *c, const struct disk *d, unsigned k, struct nvw_log_record *r)
{
	const uint64_t word = size_word(&d->now[k]);

	r->store.group = ++c->instruction;
	return store(c, nvw__disk_file_at(&d->is, k), (const uint8_t *)&word, sizeof word, r);
}

static uint64_t instruction_of(struct converter *c, struct together *t, const struct host_event *e)
{
	NVW_INVARIANT(t->instruction <= c->instruction);
	if (t->call != e->call || t->kind != e->kind || t->instruction == 0) {
		*t = (struct together){.call = e->call, .kind = e->kind, .instruction = ++c->instruction};
	}
	return t->instruction;
}

/* Page by page: the size may persist with any of them. */
static int convert_write(struct converter *c, struct disk *d, unsigned k, const struct host_event *e,
	const uint8_t *data, uint64_t instruction, struct nvw_log_record *r)
{
	const uint64_t base = d->is.slot[d->now[k].slot].off;

	for (uint64_t at = 0; at < e->bytes;) {
		const uint64_t off = e->off + at;
		const uint64_t piece = nvw_min(NVW__DISK_PAGE - off % NVW__DISK_PAGE, e->bytes - at);

		NVW_DEEP_INVARIANT(off + piece <= d->is.slot[d->now[k].slot].bytes);
		r->store.group = instruction;
		NVW_TRY(store(c, base + off, data + at, piece, r));
		at += piece;
		if (off + piece > d->now[k].size) {
			NVW_TRY(grow(c, d, k, off + piece));
			NVW_TRY(store_size(c, d, k, r));
		}
	}
	c->counts.written += e->bytes;
	return 0;
}

/* Bytes that a mapping was found to have, or that were announced: behind the slot nothing is kept. */
static int convert_mapped(struct converter *c, const struct disk *d, unsigned k, const struct host_event *e,
	const uint8_t *data, struct nvw_log_record *r)
{
	const struct nvw__disk_slot *const slot = &d->is.slot[d->now[k].slot];
	const uint64_t before = c->counts.stores;

	if (e->off >= slot->bytes) {
		return 0;
	}
	NVW_TRY(store(c, slot->off + e->off, data, nvw_min(e->bytes, slot->bytes - e->off), r));
	if (e->kind == HOST_CHANGE) {
		c->found += c->counts.stores - before;
	}
	return 0;
}

/* What is written back: pages of the slot, and the file's size. */
static int convert_sync(
	struct converter *c, const struct disk *d, unsigned k, const struct host_event *e, uint32_t site)
{
	const struct nvw__disk_slot *const slot = &d->is.slot[d->now[k].slot];
	uint64_t from = 0, n = slot->bytes;

	if (e->bytes > 0) {
		from = nvw_min(e->off, slot->bytes);
		n = nvw_min((uint64_t)e->bytes * NVW__DISK_PAGE, slot->bytes - from);
	}
	c->counts.flushes++;
	NVW_TRY(host_convert_flush(c, e, site, slot->off + from, n));
	return host_convert_flush(c, e, site, nvw__disk_file_at(&d->is, k), 8);
}

/* Is it directly in the folder? */
static bool is_in(const char *name, const char *folder, size_t n)
{
	if (n == 0) {
		return strchr(name, '/') == NULL;
	}
	return strncmp(name, folder, n) == 0 && name[n] == '/' && strchr(name + n + 1, '/') == NULL;
}

static int convert_sync_names(
	struct converter *c, const struct disk *d, const struct host_event *e, uint32_t site)
{
	c->counts.flushes++;
	NVW_FOR(i, d->is.names) {
		if (e->off || is_in(d->is.name[i], (const char *)(e + 1), e->bytes)) {
			NVW_TRY(host_convert_flush(c, e, site, nvw__disk_name_at(&d->is, i), 8));
		}
	}
	return 0;
}

/* All names that a call changes are one instruction. */
static int convert_name(
	struct converter *c, struct disk *d, const struct host_event *e, struct nvw_log_record *r)
{
	unsigned number;
	uint64_t word;

	NVW_TRY(see_name(d, e, &number, &word));
	NVW_INVARIANT(number < d->is.names);
	d->named[number] = word;
	return store(c, nvw__disk_name_at(&d->is, number), (const uint8_t *)&d->named[number],
		sizeof d->named[number], r);
}

static int convert_fence(struct converter *c, const struct host_event *e, uint32_t site)
{
	c->counts.fences++;
	return host_convert_fence(c, e, site);
}

/* The file is part of the image. */
static int convert_of_file(struct converter *c, struct disk *d, struct together *t, unsigned k,
	const struct host_event *e, struct nvw_log_record *r)
{
	const uint8_t *const data = (const uint8_t *)(e + 1);

	switch (e->kind) {
	case HOST_WRITE:
		return convert_write(c, d, k, e, data, instruction_of(c, t, e), r);
	case HOST_SIZE:
		NVW_TRY(see(c, d, k, e));
		return store_size(c, d, k, r);
	case HOST_CHANGE:
		r->store.group = instruction_of(c, t, e);
		return convert_mapped(c, d, k, e, data, r);
	case HOST_STORE:
		r->store.group = ++c->instruction;
		return convert_mapped(c, d, k, e, data, r);
	case HOST_WRITTEN:
		return undecided(
			c, e->file, "it is changed by something that is not seen while it is not mapped");
	case HOST_SYNC:
		return convert_sync(c, d, k, e, r->store.site);
	case HOST_SYNCED:
		return convert_fence(c, e, r->store.site);
	default:
		return 0; /* the processor's flushes */
	}
}

static int convert_event(struct converter *c, struct disk *d, struct together *t, const struct host_event *e)
{
	struct nvw_log_record r = {.kind = NVW_LOG_STORE, .store = {.work_item = e->thread}};
	const int k = part_of(d, e);
	const bool of_names = e->file == HOST_NO_FILE || e->kind == HOST_NAME;

	c->time_ps = 1000 * e->call;
	if (e->kind == HOST_BEGIN || e->kind == HOST_DURABLE) {
		return host_convert_operation(c, e, (const uint8_t *)(e + 1));
	}
	if (k < 0 && !(of_names && d->is.is_folder)) {
		return 0;
	}
	NVW_TRY(host_convert_site(c, e->site, &r.store.site));
	if (e->kind == HOST_NAME) {
		r.store.group = instruction_of(c, t, e);
		return convert_name(c, d, e, &r);
	}
	if (e->kind == HOST_SYNC_NAMES) {
		return convert_sync_names(c, d, e, r.store.site);
	}
	if (k < 0) {
		return convert_fence(c, e, r.store.site);
	}
	return convert_of_file(c, d, t, (unsigned)k, e, &r);
}

static int convert_spool(struct converter *c, struct disk *d)
{
	struct together together = {0};

	begin_again(d);
	HOST_EACH_EVENT(e, c) {
		NVW_TRY(convert_event(c, d, &together, e));
	}
	return 0;
}

/* ---- What the record does not have ---------------------------------------------------------------- */

/* Did the program end by itself, so that nothing has changed the file since the last event? */
static bool has_ended(const struct host_session *s)
{
	return WIFEXITED(s->status) && s->control->gap[HOST_GAP_STILL_RUNNING] == 0 &&
	       s->control->kill_at == 0;
}

/* A page of the file that differs from its replay: a store to a mapping that no sync has found, or what
 * nothing has seen. */
static int take_page(
	struct converter *c, const struct disk *d, unsigned k, const uint8_t *page, uint64_t off, uint64_t n)
{
	NVW_INVARIANT(k < d->is.files && off % NVW__DISK_PAGE == 0);

	const struct host_event e = {.kind = HOST_CHANGE, .off = off, .bytes = (uint32_t)n};
	struct nvw_log_record r = {.kind = NVW_LOG_STORE, .store = {.group = c->instruction}};

	if (memcmp(page, c->replay + d->is.slot[d->now[k].slot].off + off, n) == 0) {
		return 0;
	}
	if (!c->s->control->file[d->of_file[k]].watched && has_ended(c->s)) {
		return undecided(c, d->of_file[k],
			"the program leaves in it what no recorded call has written (by stdio, io_uring, or "
			"a system call of its own)");
	}
	return convert_mapped(c, d, k, &e, page, &r);
}

static int read_rest_of(struct converter *c, const struct disk *d, unsigned k)
{
	const uint64_t slot = d->is.slot[d->now[k].slot].off;
	struct stat s;
	const int fd = host_convert_open(&c->s->control->file[d->of_file[k]], &s);
	uint8_t page[NVW__DISK_PAGE];
	ssize_t n;
	int error = 0;

	if (fd < 0) {
		return 0;
	}
	if ((uint64_t)s.st_size != d->now[k].size && has_ended(c->s)) {
		error = undecided(c, d->of_file[k], "it has another size than recorded calls have given it");
	}
	c->time_ps += 1000;
	c->instruction++;
	for (uint64_t off = host_convert_next_page(c, slot, fd, 0); !error && off < d->now[k].size;
		off = host_convert_next_page(c, slot, fd, off + sizeof page)) {
		n = pread(fd, page, nvw_min(sizeof page, d->now[k].size - off), (off_t)off);
		if (n <= 0) {
			break;
		}
		error = take_page(c, d, k, page, off, (uint64_t)n);
	}
	close(fd);
	return error;
}

static int read_rest(struct converter *c, const struct disk *d)
{
	NVW_FOR(k, d->is.files) {
		if (!c->s->control->file[d->of_file[k]].gone) {
			NVW_TRY(read_rest_of(c, d, k));
		}
	}
	if (d->is.is_folder && has_ended(c->s)) {
		return host_folder_check(c->s, &d->is, d->named);
	}
	return 0;
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static uint32_t most_threads(const struct converter *c, const struct disk *d)
{
	uint32_t most = 1;

	NVW_EACH(of_file, d->of_file, d->is.files) {
		most = (uint32_t)nvw_max(c->s->control->file[*of_file].threads, most);
	}
	return most;
}

/* A first pass writes nothing and tells whether stores were found by comparison. */
static int pass(struct converter *c, struct disk *d)
{
	NVW_INVARIANT(c->replay == NULL && c->found == 0);

	struct nvw_log_record r = {.kind = NVW_LOG_THREADS, .threads = {.count = most_threads(c, d)}};

	NVW_TRY(make_image(c, d, NULL));
	NVW_TRY(host_convert_append(c, &r));
	NVW_TRY(convert_spool(c, d));
	return read_rest(c, d);
}

static int find_atomicity(struct converter *c, struct disk *d, uint32_t *ret)
{
	NVW_INVARIANT(c->log == NULL); /* the first pass writes nothing */

	const struct converter before = *c;
	const int error = pass(c, d);
	const uint64_t found = c->found;

	host_convert_unmap(c);
	*c = before;
	*ret = found > 0 ? 64 : 8;
	return error;
}

int host_files_convert(struct converter *c, struct nvw_log_info *info, int fd, const char *name)
{
	struct disk *d;
	int error = lay_out(c, &d);

	info->pool_bytes = c->bytes;
	info->model = "files";
	if (!error) {
		error = find_atomicity(c, d, &info->atomicity);
	}
	if (error) {
		close(fd);
	} else {
		error = nvw_log_create_fd(fd, name, info, &c->log);
	}
	if (!error) {
		error = pass(c, d);
	}
	host_convert_unmap(c);
	free(d);
	return error;
}

int host_files_image(struct converter *c, const char *path)
{
	struct disk *d;
	int error = lay_out(c, &d);

	if (!error) {
		error = make_image(c, d, path);
	}
	host_convert_unmap(c);
	free(d);
	return error;
}
