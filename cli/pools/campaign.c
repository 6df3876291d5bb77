/* SPDX-License-Identifier: BSD-3-Clause */
/* See campaign.h. */
#include "campaign.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "pool_command.h"
#include "../registry.h"
#include "core/invariant.h"
#include "core/folder.h"
#include "core/pools.h"
#include "core/print.h"
#include "core/stop.h"
#include "recover_one.h"

const char *const campaign_names[CAMPAIGN_COUNT] = {
#define X(name, text) text,
	CAMPAIGN_VERDICTS(X)
#undef X
};

enum { PATH_BYTES = NVW__FOLDER_PATH + 32 };

struct run {
	struct campaign *campaign;
	const struct nvw_pool *first;
	struct damage_places places; /* of the pool as it is */
	struct nvw_folder folder;
	char path[PATH_BYTES];
	struct nvw_pool *whole; /* a copy without damage, recovered */
	struct damage_places whole_places;
	const struct nvw_workload *workload; /* NULL: not known */
	uint64_t *read; /* a bit for each word of the run that the check of the whole copy reads */
};

/* ---- Files of a copy ----------------------------------------------------------------------------- */

struct bytes {
	const void *at;
	uint64_t count;
};

static int map_file(const char *path, struct bytes *ret)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat s;

	*ret = (struct bytes){NULL, 0};
	NVW_FAIL_ERRNO_IF(fd < 0 || fstat(fd, &s) != 0, "%s", path);
	if (s.st_size != 0) {
		ret->at = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, fd, 0);
		ret->count = (uint64_t)s.st_size;
	}
	close(fd);
	NVW_FAIL_ERRNO_IF(ret->at == MAP_FAILED, "%s: cannot be mapped", path);
	return 0;
}

static void unmap_file(struct bytes *b)
{
	if (b->count != 0) {
		munmap((void *)(uintptr_t)b->at, b->count);
	}
}

static int each_file(const struct run *r,
	int (*visit)(struct run *r, unsigned pool, const char *path, void *context), void *context)
{
	NVW_FOR(i, nvw_pool_count(r->first)) {
		char *const path = nvw__pool_path(r->path, i);

		NVW_ALLOCATED(path, "no memory for a path");
		const int error = visit((struct run *)(uintptr_t)r, i, path, context);

		free(path);
		NVW_TRY(error);
	}
	return 0;
}

static int remove_file(struct run *r, unsigned pool, const char *path, void *context)
{
	NVW_FAIL_ERRNO_IF(unlink(path) != 0, "%s", path);
	return 0;
}

static int add_hash(struct run *r, unsigned pool, const char *path, void *context)
{
	uint64_t *const hash = context;
	struct bytes b;

	NVW_TRY(map_file(path, &b));
	*hash = XXH64(b.at, b.count, *hash + b.count);
	unmap_file(&b);
	return 0;
}

/* ---- Comparing ----------------------------------------------------------------------------------- */

struct difference {
	bool any, unread, needed;
};

static uint64_t word_at(const void *bytes, nvw_off off)
{
	uint64_t word;

	memcpy(&word, (const char *)bytes + off, sizeof word);
	return word;
}

static bool is_read(const struct run *r, unsigned pool, nvw_off off)
{
	const uint64_t word = (nvw_pool_begin(nvw_pool_number(r->whole, pool)) + off) / 8;

	return r->read[word / 64] >> word % 64 & 1;
}

/* A sealed 0 and a word that was never written mean the same. */
static bool means_the_same(nvw_off off, uint64_t one, uint64_t other)
{
	uint64_t payloads[2];

	return nvw_unseal(off, one, &payloads[0]) && nvw_unseal(off, other, &payloads[1]) &&
	       payloads[0] == payloads[1];
}

static void compare_word(const struct run *r, unsigned pool, enum rec_live kind, nvw_off off, uint64_t found,
	uint64_t whole, struct difference *d)
{
	switch (kind) {
	case REC_LIVE_EPOCH:
	case REC_LIVE_HEAP:
		d->needed = d->needed || !means_the_same(off, found, whole);
		break;
	case REC_LIVE_DATA:
		d->needed = d->needed || is_read(r, pool, off);
		d->unread = true;
		break;
	default:
		d->needed = true;
	}
}

static void compare_live(
	const struct run *r, unsigned pool, const void *found, const void *whole, struct difference *d)
{
	NVW_FOR(kind, REC_LIVE_KINDS) {
		NVW_FOR(i, r->whole_places.count[kind]) {
			const struct damage_range *const range = &r->whole_places.ranges[kind][i];

			for (nvw_off at = range->off;
				range->pool == pool && range->needed && at < range->off + range->bytes;
				at += 8) {
				if (word_at(found, at) != word_at(whole, at)) {
					compare_word(
						r, pool, kind, at, word_at(found, at), word_at(whole, at), d);
				}
			}
		}
	}
}

static int compare_file(struct run *r, unsigned pool, const char *path, void *context)
{
	const struct nvw_pool *const whole = nvw_pool_number(r->whole, pool);
	struct difference *const d = context;
	struct bytes b;

	NVW_TRY(map_file(path, &b));
	if (b.count != nvw_pool_geometry(whole)->bytes) {
		d->any = d->needed = true;
	} else if (memcmp(b.at, nvw_pool_base(whole), b.count) != 0) {
		d->any = true;
		compare_live(r, pool, b.at, nvw_pool_base(whole), d);
	}
	unmap_file(&b);
	return 0;
}

/* ---- What nobody can notice --------------------------------------------------------------------------- */

/* "": the check does not read the word; NULL: it has to notice that the word became found. */
static const char *reason_of(const struct run *r, unsigned pool, nvw_off off, uint64_t found)
{
	const struct nvw_workload *const w = r->workload;

	if (!is_read(r, pool, off)) {
		return "";
	}
	if (!w || !w->unguarded) {
		return NULL;
	}
	return w->unguarded(r->whole, nvw_pool_begin(nvw_pool_number(r->whole, pool)) + off, found);
}

/* Why no check can notice the damage; NULL: one can. Of two words that change places, each has to be such. */
static const char *why_unguarded(const struct run *r, const struct damage *d)
{
	if (d->what != REC_LIVE_DATA || d->how == DAMAGE_TRUNCATE) {
		return NULL;
	}
	const char *const one = reason_of(r, d->pool, d->off, d->after), *const other =
										 d->how == DAMAGE_SWAP ?
											 reason_of(r, d->pool,
												 d->other,
												 d->before) :
											 one;

	if (!one || !other) {
		return NULL;
	}
	if (*one != '\0') {
		return one;
	}
	return *other != '\0' ? other : NULL;
}

static void count_reason(struct campaign *c, const char *text)
{
	struct campaign_reason *r = c->reason, *const last = r + CAMPAIGN_REASONS - 1;

	while (r < last && r->text && strcmp(r->text, text)) {
		r++;
	}
	r->text = text;
	r->count++;
}

static enum campaign_verdict judge_silent(struct run *r, const struct damage *damage)
{
	const char *const why = why_unguarded(r, damage);

	if (!why) {
		return CAMPAIGN_SILENT;
	}
	count_reason(r->campaign, why);
	return CAMPAIGN_UNGUARDED;
}

static int judge(struct run *r, const struct damage *damage, const struct pool_outcome *o,
	uint64_t hash_before, enum campaign_verdict *ret)
{
	struct difference d = {false, false, false};
	uint64_t hash = 0;

	if (o->signal != 0) {
		*ret = CAMPAIGN_CRASHED;
		return 0;
	}
	if (o->error == NVW_E_INCONSISTENT) {
		*ret = CAMPAIGN_REPORTED;
		return 0;
	}
	if (o->error != 0) {
		NVW_TRY(each_file(r, add_hash, &hash));
		*ret = hash == hash_before ? CAMPAIGN_REFUSED : CAMPAIGN_TOUCHED;
		return 0;
	}
	NVW_TRY(each_file(r, compare_file, &d));
	if (d.needed) {
		*ret = judge_silent(r, damage);
	} else if (d.unread) {
		*ret = CAMPAIGN_UNREAD;
	} else {
		*ret = d.any ? CAMPAIGN_HARMLESS : CAMPAIGN_REPAIRED;
	}
	return 0;
}

static void count(
	struct campaign *c, const struct damage *d, enum campaign_verdict verdict, const char *message)
{
	NVW_INVARIANT(verdict < NVW_COUNT(c->total));
	c->drawn++;
	c->total[verdict]++;
	c->count[d->what][d->how][verdict]++;
	if (verdict >= CAMPAIGN_SILENT && c->bad_count < CAMPAIGN_KEPT) {
		struct campaign_bad *const bad = &c->bad[c->bad_count++];

		bad->damage = *d;
		bad->verdict = verdict;
		NVW_PRINT(bad->message, "%s", message);
	}
}

static int one_copy(struct run *r, const struct damage *d)
{
	struct pool_recover_how how = {false, false};
	enum campaign_verdict verdict = CAMPAIGN_COUNT;
	struct pool_outcome o;
	uint64_t hash = 0;

	NVW_TRY(damage_copy(r->first, d, r->path));
	NVW_TRY(each_file(r, add_hash, &hash));
	NVW_TRY(pool_apart(pool_recover_one, &how, r->path, &o));
	const int error = judge(r, d, &o, hash, &verdict);

	if (error == 0) {
		count(r->campaign, d, verdict, o.message);
	}
	pool_outcome_end(&o);
	NVW_TRY(error);
	return each_file(r, remove_file, NULL);
}

/* ---- All of them --------------------------------------------------------------------------------- */

static unsigned nth_bit(unsigned set, uint64_t n)
{
	unsigned bit = 0;

	NVW_INVARIANT(n < (uint64_t)__builtin_popcount(set));
	for (;; bit++) {
		if ((set >> bit & 1) != 0 && n-- == 0) {
			return bit;
		}
	}
}

int campaign_draw(const struct campaign *c, const struct nvw_pool *first, const struct damage_places *places,
	uint64_t i, struct damage *ret)
{
	NVW_INVARIANT(c->whats != 0 && c->hows != 0);

	const unsigned whats = (unsigned)__builtin_popcount(c->whats),
		       hows = (unsigned)__builtin_popcount(c->hows);
	struct nvw_random random = {nvw_mix64(c->seed) + i};

	/* In turn, so that each kind gets its share; one that this pool does not have gives its turn to the
	 * next. */
	NVW_FOR(k, (uint64_t)whats * hows) {
		const uint64_t turn = i + k;

		if (damage_draw(first, places, (enum rec_live)nth_bit(c->whats, turn % whats),
			    (enum damage_how)nth_bit(c->hows, turn / whats % hows), &random, ret)) {
			return 0;
		}
	}
	return nvw_fail(
		NVW_E_USAGE, "%s: nothing in it can be damaged by --what and --how", nvw_pool_path(first));
}

static int check_with_reads(struct run *r, void *image, struct nvw_pool_reads *reads)
{
	const struct nvw_pool_image of = {
		.image = image, .bytes = nvw_pool_run_bytes(r->whole), .reads = reads};
	struct nvw_pool *pool;

	NVW_TRY(nvw_pool_open_image(&of, &pool));
	json_t *const report = json_object();
	const int error = pool_command_check(pool, report);

	json_decref(report);
	nvw_pool_close(pool);
	return error;
}

/* The words that the check of the whole copy looks at. */
static int note_reads(struct run *r)
{
	const uint64_t bytes = nvw_pool_run_bytes(r->whole), elements = (bytes / 8 + 63) / 64;
	struct nvw_pool_reads reads = {calloc(elements, sizeof *reads.words),
		calloc(elements, sizeof *reads.order), calloc(elements, sizeof *reads.rank), 0};
	void *const image = malloc(bytes);
	int error = NVW_E_MEMORY;

	if (reads.words && reads.order && reads.rank && image) {
		nvw_pool_copy_run(r->whole, image);
		error = check_with_reads(r, image, &reads);
	} else {
		error = nvw_fail(error, "no memory for a pool of %" PRIu64 " bytes", bytes);
	}
	r->read = reads.words;
	free(reads.order);
	free(reads.rank);
	free(image);
	return error;
}

/* The copy without damage that all others are compared with. */
static int make_whole(struct run *r)
{
	struct pool_recover_how how = {false, true};
	const struct damage none = {.pool = UINT32_MAX};
	json_t *report = NULL;
	char path[PATH_BYTES];

	NVW_PRINT(path, "%s/whole", r->folder.path);
	NVW_TRY(damage_copy(r->first, &none, path));
	const int error = pool_recover_one(&how, path, &report);

	json_decref(report);
	NVW_FAIL_IF(error == NVW_E_INCONSISTENT, NVW_E_INPUT,
		"%s: it does not pass recovery and check without damage; nvwave recover --dry-run "
		"says why",
		nvw_pool_path(r->first));
	if (error != 0) {
		return error;
	}
	NVW_TRY(nvw_pool_open(path, NVW_POOL_READ, &r->whole));
	r->workload = nvw_workload_find(nvw_pool_geometry(r->whole)->layout);
	NVW_TRY(damage_places_of(r->whole, &r->whole_places));
	return note_reads(r);
}

static int run_all(struct run *r)
{
	NVW_TRY(nvw_folder_make("damage", true, &r->folder));
	NVW_PRINT(r->path, "%s/copy", r->folder.path);
	NVW_TRY(damage_places_of(r->first, &r->places));
	NVW_TRY(make_whole(r));
	NVW_FOR(i, r->campaign->copies) {
		struct damage d;

		if (nvw_stopping()) {
			return nvw_stop_error();
		}
		NVW_TRY(campaign_draw(r->campaign, r->first, &r->places, i, &d));
		NVW_TRY(one_copy(r, &d));
	}
	return 0;
}

int campaign_run(struct campaign *campaign, const struct nvw_pool *first)
{
	NVW_INVARIANT(campaign->drawn == 0 && campaign->bad_count == 0);

	struct run r = {.campaign = campaign, .first = first};

	NVW_FAIL_IF(nvw_pool_run_bytes(first) > UINT64_C(1) << 30, NVW_E_USAGE,
		"%s: expected a pool of at most 1 GiB, whose copies are compared byte by byte, found "
		"%" PRIu64 " bytes; --output keeps copies of larger ones",
		nvw_pool_path(first), nvw_pool_run_bytes(first));
	const int error = run_all(&r);

	free(r.read);
	nvw_pool_close(r.whole);
	damage_places_end(&r.whole_places);
	damage_places_end(&r.places);
	nvw_folder_remove(&r.folder);
	return error;
}
