/* SPDX-License-Identifier: BSD-3-Clause */
/* See damage.h. */
#include "../report/words.h"
#include "damage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "core/array.h"
#include "core/copy.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/pools.h"
#include "core/print.h"
#include "pool/layout.h"

enum { TRIES = 64 };

const char *const damage_what_names[REC_LIVE_KINDS] = {"header", "log", "epoch", "heap", "data"};
const char *const damage_how_names[DAMAGE_HOWS] = {
#define X(name, text, meaning) text,
	DAMAGES(X)
#undef X
};

/* ---- Places -------------------------------------------------------------------------------------- */

struct collect {
	struct damage_places *places;
	size_t room[REC_LIVE_KINDS];
	unsigned pool;
};

static int add_range(void *context, enum rec_live kind, nvw_off off, uint64_t bytes, bool needed)
{
	struct collect *const c = context;
	struct damage_places *const p = c->places;

	NVW_GROWN(p->ranges[kind], c->room[kind], p->count[kind] + 1,
		"no memory for the live ranges of a pool");
	p->ranges[kind][p->count[kind]++] = (struct damage_range){c->pool, off, bytes, needed};
	p->bytes[kind] += bytes;
	return 0;
}

int damage_places_of(const struct nvw_pool *first, struct damage_places *ret_places)
{
	struct collect c = {.places = ret_places};

	*ret_places = (struct damage_places){.bytes = {0}};
	for (; c.pool < nvw_pool_count(first); c.pool++) {
		NVW_TRY(rec_each_live(nvw_pool_number(first, c.pool), add_range, &c));
	}
	return 0;
}

void damage_places_end(struct damage_places *places)
{
	NVW_EACH(range, places->ranges, REC_LIVE_KINDS) {
		free(*range);
	}
	*places = (struct damage_places){.bytes = {0}};
}

/* A byte of the kind, each as likely as the others. */
static nvw_off draw_byte(
	const struct damage_places *places, enum rec_live what, struct nvw_random *random, unsigned *ret_pool)
{
	NVW_INVARIANT(what < NVW_COUNT(places->bytes));

	uint64_t at = nvw_random_below(random, places->bytes[what]);
	const struct damage_range *range = places->ranges[what];

	for (; at >= range->bytes; range++) {
		at -= range->bytes;
	}
	*ret_pool = range->pool;
	return range->off + at;
}

/* ---- Drawing ------------------------------------------------------------------------------------- */

static bool draw_once(const struct nvw_pool *first, const struct damage_places *places,
	struct nvw_random *random, struct damage *d)
{
	const nvw_off byte = draw_byte(places, d->what, random, &d->pool);
	const struct nvw_pool *const pool = nvw_pool_number(first, d->pool);
	unsigned other_pool;

	d->off = byte & ~UINT64_C(7);
	d->before = nvw_pool_word(pool, d->off);
	switch (d->how) {
	case DAMAGE_FLIP:
		d->after = d->before ^ UINT64_C(1) << (8 * (byte & 7) + nvw_random_below(random, 8));
		return true;
	case DAMAGE_ZERO:
		d->after = 0;
		return d->before != 0;
	case DAMAGE_SWAP:
		d->other = draw_byte(places, d->what, random, &other_pool) & ~UINT64_C(7);
		d->after = nvw_pool_word(pool, d->other);
		return other_pool == d->pool && d->after != d->before;
	case DAMAGE_TRUNCATE:
		d->off = byte;
		d->before = nvw_pool_geometry(pool)->bytes;
		d->after = byte;
		return true;
	case DAMAGE_OLD_VERSION:
		d->off = offsetof(struct nvw__header, version);
		d->before = NVW__VERSION;
		d->after = 0;
		return d->what == REC_LIVE_HEADER;
	default:
		NVW_INVARIANT(!"a case for every damage");
		return false;
	}
}

bool damage_draw(const struct nvw_pool *first, const struct damage_places *places, enum rec_live what,
	enum damage_how how, struct nvw_random *random, struct damage *ret)
{
	NVW_INVARIANT(what < REC_LIVE_KINDS && how < DAMAGE_HOWS);
	for (unsigned i = 0; i < TRIES && places->bytes[what] != 0; i++) {
		*ret = (struct damage){.what = what, .how = how};
		if (draw_once(first, places, random, ret)) {
			return true;
		}
	}
	return false;
}

/* ---- Doing it ------------------------------------------------------------------------------------ */

static bool put_word(int fd, nvw_off off, uint64_t word)
{
	return pwrite(fd, &word, sizeof word, (off_t)off) == sizeof word;
}

static bool put_version(int fd, nvw_off page)
{
	struct nvw__header header;

	if (pread(fd, &header, sizeof header, (off_t)page) != sizeof header) {
		return false;
	}
	header.version = 0;
	header.checksum = XXH64(&header, offsetof(struct nvw__header, checksum), 0);
	return pwrite(fd, &header, sizeof header, (off_t)page) == sizeof header;
}

static bool change(int fd, const struct damage *d)
{
	NVW_INVARIANT(d->how < DAMAGE_HOWS);
	switch (d->how) {
	case DAMAGE_TRUNCATE:
		return ftruncate(fd, (off_t)d->after) == 0;
	case DAMAGE_OLD_VERSION:
		return put_version(fd, NVW__HEADER_OFF) && put_version(fd, NVW__COPY_OFF);
	case DAMAGE_SWAP:
		return put_word(fd, d->off, d->after) && put_word(fd, d->other, d->before);
	default:
		return put_word(fd, d->off, d->after);
	}
}

static int change_file(const char *path, const struct damage *d)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	int error = 0;

	if (fd < 0 || !change(fd, d)) {
		error = nvw_fail_errno("%s: cannot be damaged", path);
	}
	if (fd >= 0) {
		close(fd);
	}
	return error;
}

static int copy_pool(const struct nvw_pool *pool, unsigned i, const struct damage *d, const char *first_path)
{
	char *const path = nvw__pool_path(first_path, i);

	NVW_ALLOCATED(path, "no memory for a path");
	int error = nvw_copy_file(nvw_pool_path(pool), path);

	if (!error && i == d->pool) {
		error = change_file(path, d);
	}
	free(path);
	return error;
}

int damage_copy(const struct nvw_pool *first, const struct damage *damage, const char *path)
{
	NVW_FOR(i, nvw_pool_count(first)) {
		NVW_TRY(copy_pool(nvw_pool_number(first, i), i, damage, path));
	}
	return 0;
}

static json_t *hexadecimal(uint64_t n)
{
	char text[24];

	NVW_PRINT(text, "0x%llx", (ull)n);
	return json_string(text);
}

json_t *damage_json(const struct damage *d)
{
	NVW_INVARIANT(d->what < REC_LIVE_KINDS && d->how < DAMAGE_HOWS);

	json_t *const object = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o}", "pool", (int)d->pool, "what",
		damage_what_names[d->what], "how", damage_how_names[d->how], "offset", hexadecimal(d->off),
		"before", hexadecimal(d->before), "after", hexadecimal(d->after));

	if (d->how == DAMAGE_SWAP) {
		json_object_set_new(object, "other", hexadecimal(d->other));
	}
	return object;
}
