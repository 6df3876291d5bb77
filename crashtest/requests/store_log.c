/* SPDX-License-Identifier: BSD-3-Clause */
/* pmemcheck's store log, as a persist log. See store_log.h. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nvw/input.h>

#include "core/invariant.h"
#include "core/print.h"

#include "../states/model.h"
#include "store_log.h"

enum { MAPPINGS_MAX = 64, FIELDS_MAX = 64, SITES_MAX = 4096, STORE_BYTES_MAX = 4096 };

struct mapping {
	uint64_t address, bytes, offset;
	bool ours;
};

struct converter {
	const char *path, *image_path;
	uint64_t image_bytes;
	const char *text, *end; /* the whole log */
	struct nvw_log_writer *log;
	struct mapping mapping[MAPPINGS_MAX];
	unsigned mappings;
	char first_file[4096]; /* of the registered ones; used if it is the only one */
	char *site[SITES_MAX]; /* names of the sites, number i at i - 1 */
	unsigned sites;
	uint64_t instruction, time_ps;
	struct ct_store_log counts;
};

/* One operation, split into fields of text and length. */
struct operation {
	const char *at;
	unsigned count;
	struct field {
		const char *text;
		size_t length;
	} field[FIELDS_MAX];
};

static int damaged(const struct converter *c, const char *at, const char *expected)
{
	const size_t left = (size_t)(c->end - at);

	return nvw_fail(NVW_E_DAMAGED, "%s: offset %llu: expected %s, found \"%.*s\"", c->path,
		(ull)(at - c->text), expected, (int)MIN(left, 24), at);
}

static int append(struct converter *c, struct nvw_log_record *r)
{
	r->time_ps = c->time_ps;
	return nvw_log_append(c->log, r);
}

/* ---- Fields -------------------------------------------------------------------------------------------- */

static bool is(const struct field *f, const char *word)
{
	return f->length == strlen(word) && !memcmp(f->text, word, f->length);
}

static bool ends_with(const struct field *f, const char *suffix)
{
	const size_t n = strlen(suffix);

	return f->length > n && !memcmp(f->text + f->length - n, suffix, n);
}

static int hex_digit(char c)
{
	if (isdigit((unsigned char)c)) {
		return c - '0';
	}
	return isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10 : -1;
}

/* The digits after 0x. */
static struct field digits_of(const struct field *f)
{
	if (f->length > 2 && strncasecmp(f->text, "0x", 2) == 0) {
		return (struct field){f->text + 2, f->length - 2};
	}
	return *f;
}

static int number(const struct converter *c, const struct field *f, uint64_t *ret)
{
	const struct field digits = digits_of(f);
	uint64_t n = 0;

	NVW_EACH(text, digits.text, digits.length) {
		const int digit = hex_digit(*text);

		if (digit < 0 || n >> 60) {
			return damaged(c, f->text, "a hexadecimal number of at most 64 bits");
		}
		n = n << 4 | (unsigned)digit;
	}
	if (digits.length == 0) {
		return damaged(c, f->text, "a hexadecimal number");
	}
	*ret = n;
	return 0;
}

/* A value of this many bytes, least significant first. */
static int value_of(const struct converter *c, const struct field *f, uint64_t bytes, uint8_t *ret)
{
	const struct field digits = digits_of(f);

	NVW_INVARIANT(bytes <= STORE_BYTES_MAX);
	memset(ret, 0, bytes);
	NVW_FOR(i, digits.length) {
		const int digit = hex_digit(digits.text[digits.length - 1 - i]);

		if (digit < 0 || (i / 2 >= bytes && digit != 0)) {
			return damaged(c, f->text, "a hexadecimal value of the store's size");
		}
		if (i / 2 < bytes) {
			ret[i / 2] |= (uint8_t)(digit << i % 2 * 4);
		}
	}
	if (digits.length == 0) {
		return damaged(c, f->text, "a hexadecimal value");
	}
	return 0;
}

static int need(const struct converter *c, const struct operation *o, unsigned fields, const char *what)
{
	if (o->count < fields) {
		return damaged(c, o->at, what);
	}
	return 0;
}

/* ---- Operations ---------------------------------------------------------------------------------------- */

static int register_file(struct converter *c, const struct operation *o)
{
	struct mapping m = {0};
	char name[4096];

	NVW_TRY(need(c, o, 5, "REGISTER_FILE;path;address;bytes;offset"));
	NVW_TRY(number(c, &o->field[2], &m.address));
	NVW_TRY(number(c, &o->field[3], &m.bytes));
	NVW_TRY(number(c, &o->field[4], &m.offset));
	NVW_FAIL_IF(
		c->mappings == MAPPINGS_MAX, NVW_E_INPUT, "%s: more than %d mappings", c->path, MAPPINGS_MAX);
	NVW_PRINT(name, "%.*s", (int)o->field[1].length, o->field[1].text);
	if (c->mappings == 0) {
		memcpy(c->first_file, name, sizeof name);
	}
	m.ours = !strcmp(basename(name), basename(c->image_path)) || !strcmp(name, c->first_file);
	c->mapping[c->mappings++] = m;
	return 0;
}

/* The range's offset in the image. *ret_ours is false for another file. */
static int locate(const struct converter *c, const struct field *at, uint64_t address, uint64_t bytes,
	uint64_t *ret_off, bool *ret_ours)
{
	NVW_INVARIANT(c->mappings <= MAPPINGS_MAX);
	for (unsigned i = c->mappings; i > 0; i--) {
		const struct mapping *const m = &c->mapping[i - 1];

		if (address < m->address || address - m->address >= m->bytes) {
			continue;
		}
		*ret_ours = m->ours;
		*ret_off = address - m->address + m->offset;
		if (!m->ours || (bytes <= c->image_bytes && *ret_off <= c->image_bytes - bytes)) {
			return 0;
		}
		return nvw_fail(NVW_E_DAMAGED,
			"%s: offset %llu: address 0x%llx is offset %llu of the image, which has %llu bytes",
			c->path, (ull)(at->text - c->text), (ull)address, (ull)*ret_off, (ull)c->image_bytes);
	}
	return nvw_fail(NVW_E_DAMAGED, "%s: offset %llu: address 0x%llx is in no file registered by the log",
		c->path, (ull)(at->text - c->text), (ull)address);
}

/* Splits a frame "function (file.c:123)" into three; false if it is not one. */
static bool parse_frame(const struct field *f, char function[64], char file[128], uint32_t *ret_line)
{
	char text[512];
	int at = 0;

	NVW_PRINT(text, "%.*s", (int)MIN(f->length, 500), f->text);
	char *const open = strrchr(text, '('), *const colon = strrchr(text, ':');

	if (!open || !colon || colon < open || sscanf(colon + 1, "%u)%n", ret_line, &at) != 1 || at == 0) {
		return false;
	}
	*colon = '\0';
	*open = '\0';
	snprintf(file, 128, "%.127s", open + 1);
	snprintf(function, 64, "%.63s", text);
	function[strcspn(function, " ")] = '\0';
	if (!*text) {
		strcpy(function, "?");
	}
	return true;
}

/* The number of the operation's source location; without a stack, its position among the log's operations. */
static int site_of(struct converter *c, const struct operation *o, unsigned first_frame, uint32_t *ret_site)
{
	char function[64] = "?", file[128], name[256];
	uint32_t line = 0;
	bool found = false;

	for (unsigned i = first_frame; i < o->count && !found; i++) {
		found = parse_frame(&o->field[i], function, file, &line);
	}
	if (!found) {
		NVW_PRINT(file, "%s", basename(c->path));
		NVW_PRINT(function, "operation");
		line = (uint32_t)c->instruction;
	}
	NVW_PRINT(name, "%s:%u", file, line);
	for (unsigned i = c->sites; found && i > 0; i--) {
		if (!strcmp(c->site[i - 1], name)) {
			*ret_site = i;
			return 0;
		}
	}
	struct nvw_log_record r = {.kind = NVW_LOG_SITE,
		.site = {.id = c->sites + 1, .line = line, .file = file, .function = function}};

	if (c->sites < SITES_MAX) {
		c->site[c->sites] = strdup(name);
		*ret_site = ++c->sites;
		return append(c, &r);
	}
	*ret_site = SITES_MAX; /* further places share the last number */
	return 0;
}

static int check_size(const struct converter *c, const struct field *f, uint64_t bytes)
{
	char range[64];

	if (bytes >= 1 && bytes <= STORE_BYTES_MAX) {
		return 0;
	}
	NVW_PRINT(range, "a size from 0x1 to 0x%x (%d bytes)", STORE_BYTES_MAX, STORE_BYTES_MAX);
	return damaged(c, f->text, range);
}

static int store(struct converter *c, const struct operation *o)
{
	uint64_t address = 0, bytes = 0, off = 0;
	uint8_t value[STORE_BYTES_MAX];
	struct nvw_log_record r = {.kind = NVW_LOG_STORE};
	bool ours = false;

	NVW_TRY(need(c, o, 4, "STORE;address;value;bytes"));
	NVW_TRY(number(c, &o->field[1], &address));
	NVW_TRY(number(c, &o->field[3], &bytes));
	NVW_TRY(check_size(c, &o->field[3], bytes));
	NVW_TRY(value_of(c, &o->field[2], bytes, value));
	NVW_TRY(locate(c, &o->field[1], address, bytes, &off, &ours));
	if (!ours) {
		c->counts.elsewhere++;
		return 0;
	}
	c->counts.stores++;
	r.store.group = c->instruction;
	NVW_TRY(site_of(c, o, 4, &r.store.site));
	for (uint64_t done = 0; done < bytes; done += r.store.bytes) {
		const uint64_t room = 8 - (off + done) % 8;

		r.store.off = off + done;
		r.store.bytes = (uint32_t)MIN(bytes - done, room);
		r.store.value = 0;
		memcpy(&r.store.value, value + done, r.store.bytes);
		NVW_TRY(append(c, &r));
	}
	return 0;
}

static int flush(struct converter *c, const struct operation *o)
{
	uint64_t address = 0, bytes = 0, off = 0;
	struct nvw_log_record r = {.kind = NVW_LOG_FLUSH};
	bool ours = false;

	NVW_TRY(need(c, o, 3, "FLUSH;address;bytes"));
	NVW_TRY(number(c, &o->field[1], &address));
	NVW_TRY(number(c, &o->field[2], &bytes));
	/* A flush of a line may reach beyond the file's end. */
	NVW_TRY(locate(c, &o->field[1], address, 0, &off, &ours));
	if (!ours) {
		return 0;
	}
	c->counts.flushes++;
	r.flush.off = off;
	r.flush.bytes = bytes;
	if (off + bytes > c->image_bytes) {
		r.flush.bytes = c->image_bytes - off;
	}
	NVW_TRY(site_of(c, o, 3, &r.flush.site));
	return append(c, &r);
}

static int fence(struct converter *c, const struct operation *o)
{
	struct nvw_log_record r = {.kind = NVW_LOG_FENCE};
	c->counts.fences++;
	NVW_TRY(site_of(c, o, 1, &r.fence.site));
	return append(c, &r);
}

static int convert_operation(struct converter *c, const struct operation *o)
{
	const struct field *const kind = &o->field[0];

	c->instruction++;
	c->time_ps += 1000;
	if (is(kind, "STORE")) {
		return store(c, o);
	}
	if (is(kind, "FLUSH")) {
		return flush(c, o);
	}
	if (is(kind, "FENCE")) {
		return fence(c, o);
	}
	if (is(kind, "REGISTER_FILE")) {
		return register_file(c, o);
	}
	if (ends_with(kind, ".BEGIN") || ends_with(kind, ".END")) {
		c->counts.markers++;
		return 0;
	}
	return damaged(c, o->at, "STORE, FLUSH, FENCE, REGISTER_FILE, a marker or STOP");
}

/* ---- The whole ----------------------------------------------------------------------------------------- */

/* Splits the text between two '|' into fields. */
static struct operation cut(const char *from, const char *end)
{
	struct operation o = {.at = from};

	NVW_DEEP_INVARIANT(from <= end);
	while (from <= end && o.count < FIELDS_MAX) {
		const char *stop = memchr(from, ';', (size_t)(end - from));

		if (!stop) {
			stop = end;
		}
		o.field[o.count++] = (struct field){from, (size_t)(stop - from)};
		from = stop + 1;
	}
	return o;
}

static bool is_stop(const char *from, const char *end)
{
	return end - from >= 4 && !memcmp(from, "STOP", 4) &&
	       (end - from == 4 || isspace((unsigned char)from[4]));
}

static int convert(struct converter *c)
{
	const char *const start = memmem(c->text, (size_t)(c->end - c->text), "START", 5);
	const char *at;

	if (!start) {
		return damaged(c, c->text, "a store log with START");
	}
	for (at = start + 5; at < c->end && *at == '|';) {
		const char *const from = at + 1;
		const char *end = memchr(from, '|', (size_t)(c->end - from));

		if (!end) {
			end = c->end;
		}
		if (is_stop(from, end)) {
			return 0;
		}
		if (end == c->end) {
			return damaged(c, from, "an operation that ends in | and, at the end, STOP");
		}
		const struct operation o = cut(from, end);

		NVW_TRY(convert_operation(c, &o));
		at = end;
	}
	return damaged(c, at, "| and, at the end, STOP");
}

static int open_text(struct converter *c, void **ret_map, size_t *ret_bytes)
{
	struct stat s;
	int fd, error = nvw_input_open(c->path, O_RDONLY, &fd);

	if (error) {
		return error;
	}
	if (fstat(fd, &s)) {
		error = nvw_fail_errno("%s", c->path);
		close(fd);
		return error;
	}
	if (s.st_size == 0) {
		close(fd);
		return nvw_fail(
			NVW_E_DAMAGED, "%s: offset 0: expected a store log, found an empty file", c->path);
	}
	*ret_bytes = (size_t)s.st_size;
	*ret_map = mmap(NULL, *ret_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	NVW_FAIL_ERRNO_IF(*ret_map == MAP_FAILED, "%s", c->path);
	c->text = *ret_map;
	c->end = c->text + *ret_bytes;
	return 0;
}

static int convert_and_close(struct converter *c, int error)
{
	error = convert(c);
	if (error) {
		nvw_log_abandon(c->log);
	} else {
		error = nvw_log_close(c->log, c->time_ps);
	}
	return error;
}

static void converter_end(struct converter *c, size_t bytes, void *map)
{
	NVW_EACH(site, c->site, c->sites) {
		free(*site);
	}
	if (map != MAP_FAILED) {
		munmap(map, bytes);
	}
	free(c);
}

int ct_store_log_convert(const char *path, const char *image_path, uint64_t image_bytes, int log_fd,
	struct ct_store_log *ret_counts)
{
	const struct nvw_log_info info = {.workload = path,
		.pool_bytes = (image_bytes + 63) & ~UINT64_C(63),
		.atomicity = 8,
		.model = ct_model_info(ct_model_for(CT_USE_PROGRAMS))->name};
	struct converter *const c = calloc(1, sizeof *c);
	size_t bytes = 0;
	void *map = MAP_FAILED;

	NVW_ALLOCATED(c, "no memory for a store log");
	c->path = path;
	c->image_path = image_path;
	c->image_bytes = image_bytes;
	int error = open_text(c, &map, &bytes);

	if (!error) {
		error = nvw_log_create_fd(dup(log_fd), "persist log", &info, &c->log);
	}
	if (!error) {
		error = convert_and_close(c, error);
	}
	*ret_counts = c->counts;
	converter_end(c, bytes, map);
	return error;
}
