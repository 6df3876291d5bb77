/* SPDX-License-Identifier: BSD-3-Clause */
/* The image in which crash states are made. See image.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include <nvw/random.h>

#include "core/each.h"
#include "core/filled.h"
#include "core/invariant.h"
#include "core/zeroed.h"

#include "image.h"

/* Maps, which count pages, belong to the bytes; reads of them are noted once. */
__attribute__((unused)) static bool is_valid(const struct ct_image *image)
{
	return image->rw && image->bytes % 8 == 0 && image->undo_count <= image->undo_capacity &&
	       (!image->reads || image->reads->count <= image->bytes / 512 + 1);
}

/* A page of zeros stays a hole of the image, which costs nothing. */
static void copy_filled(struct ct_image *image, const uint8_t *content, const uint8_t *filled)
{
	static const uint8_t zeros[CT_PAGE];
	const uint64_t pages = nvw__filled_pages(image->bytes);

	NVW_FOR(i, pages) {
		i = filled ? nvw__filled_next(filled, i, pages) : i;
		if (i >= pages) {
			break;
		}
		const uint64_t at = i * CT_PAGE;
		const size_t n = MIN(image->bytes - at, CT_PAGE);

		if (memcmp(content + at, zeros, n) != 0) {
			memcpy(image->rw + at, content + at, n);
			image->filled[at / CT_PAGE] = 1;
		}
	}
}

int ct_image_create(const void *content, const uint8_t *filled, uint64_t bytes, struct ct_image *ret_image)
{
	static uint64_t serials; /* no other image of this process has had the number */
	struct ct_image image = {.bytes = bytes};
	const int fd = memfd_create("crash state", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		const int error =
			nvw_fail_errno("no memory for a pool image of %llu bytes", (unsigned long long)bytes);

		if (fd >= 0) {
			close(fd);
		}
		return error;
	}
	void *rw = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *ro = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	image.undo_capacity = 4096;
	image.undo = malloc(image.undo_capacity * sizeof *image.undo);
	image.touched = calloc(bytes / CT_PAGE + 1, 1);
	image.filled = calloc(bytes / CT_PAGE + 1, 1);
	image.varies = calloc(bytes / CT_PAGE + 1, CT_PAGE_BITS * sizeof *image.varies);
	image.serial = ++serials;
	image.rw = rw == MAP_FAILED ? NULL : rw;
	image.ro = ro == MAP_FAILED ? NULL : ro;
	if (!image.rw || !image.ro || !image.undo || !image.touched || !image.filled || !image.varies) {
		ct_image_destroy(&image);
		return nvw_fail(
			NVW_E_MEMORY, "no memory for a pool image of %llu bytes", (unsigned long long)bytes);
	}
	NVW_DEEP_INVARIANT(is_valid(&image));
	copy_filled(&image, content, filled);
	*ret_image = image;
	return 0;
}

int ct_image_own(struct ct_image *image)
{
	struct ct_image own;

	NVW_TRY(ct_image_create(image->rw, image->filled, image->bytes, &own));
	own.hash = image->hash;
	ct_image_foresee(&own, image);
	ct_image_destroy(image);
	*image = own;
	return 0;
}

static void foresee_page(struct ct_image *image, const struct ct_image *other, uint64_t page)
{
	NVW_INVARIANT(other->touched[page]);
	NVW_FOR(i, CT_PAGE_BITS) {
		image->varies[page * CT_PAGE_BITS + i] |= other->varies[page * CT_PAGE_BITS + i];
	}
	image->touched[page] |= other->touched[page];
}

void ct_image_foresee(struct ct_image *image, const struct ct_image *other)
{
	NVW_DEEP_INVARIANT(image->bytes == other->bytes);
	for (uint64_t page = 0; page * CT_PAGE < image->bytes; page++) {
		if (other->touched[page]) {
			foresee_page(image, other, page);
		}
	}
}

int ct_image_track(struct ct_image *image)
{
	NVW_DEEP_INVARIANT(!image->reads);
	image->reads = calloc(1, sizeof *image->reads);
	if (image->reads) {
		image->reads->words = calloc(image->bytes / 512 + 1, sizeof *image->reads->words);
		image->reads->order = calloc(image->bytes / 512 + 1, sizeof *image->reads->order);
		image->reads->rank = calloc(image->bytes / 512 + 1, sizeof *image->reads->rank);
	}
	NVW_FAIL_IF(!image->reads || !image->reads->words || !image->reads->order || !image->reads->rank,
		NVW_E_MEMORY, "no memory for the reads of recovery");
	return 0;
}

void ct_image_forget_reads(struct ct_image *image)
{
	struct nvw_pool_reads *const r = image->reads;

	NVW_DEEP_INVARIANT(is_valid(image));
	while (r && r->count > 0) {
		r->words[r->order[--r->count]] = 0;
	}
}

void ct_image_destroy(struct ct_image *image)
{
	nvw__unmap(image->rw, image->bytes);
	nvw__unmap(image->ro, image->bytes);
	free(image->undo);
	free(image->touched);
	free(image->filled);
	free(image->varies);
	if (image->reads) {
		free(image->reads->words);
		free(image->reads->order);
		free(image->reads->rank);
		free(image->reads);
	}
	*image = (struct ct_image){0};
}

/* Contribution of value at off to the hash. */
static inline uint64_t word_hash(nvw_off off, uint64_t value)
{
	return nvw_mix64(nvw_mix64(off * 0x9e3779b97f4a7c15u + 1) ^ value * 0xd6e8feb86659fd93u);
}

static void grow_undo(struct ct_image *image)
{
	struct ct_undo *grown = realloc(image->undo, 2 * image->undo_capacity * sizeof *grown);

	if (!grown) {
		fprintf(stderr, "nvwave: no memory for the undo log of a crash state\n");
		_exit(2);
	}
	image->undo = grown;
	image->undo_capacity *= 2;
}

static inline void put(struct ct_image *image, nvw_off off, uint64_t value)
{
	NVW_DEEP_INVARIANT(off % 8 == 0 && off < image->bytes);
	uint64_t *word = (uint64_t *)(image->rw + off);

	image->hash ^= word_hash(off, *word) ^ word_hash(off, value);
	image->filled[off / CT_PAGE] = 1;
	ct_image_vary(image, off);
	*word = value;
}

void ct_image_set(struct ct_image *image, nvw_off off, uint64_t value)
{
	NVW_DEEP_INVARIANT(off % 8 == 0 && off < image->bytes);
	const uint64_t old = ct_image_word(image, off);

	if (old == value) {
		return;
	}
	if (image->undo_count == image->undo_capacity) {
		grow_undo(image);
	}
	image->undo[image->undo_count++] = (struct ct_undo){.off = off, .old = old};
	put(image, off, value);
}

void ct_image_set_bytes(struct ct_image *image, nvw_off off, const void *from, size_t n)
{
	const nvw_off at = off - off % 8;
	uint64_t word = ct_image_word(image, at);

	NVW_INVARIANT(off % 8 + n <= 8);
	memcpy((uint8_t *)&word + off % 8, from, n);
	ct_image_set(image, at, word);
}

int ct_image_write(void *context, nvw_off off, const void *from, size_t n)
{
	struct ct_image *image = context;
	NVW_FAIL_IF(n > 8 - off % 8 || off >= image->bytes, NVW_E_DAMAGED,
		"recovery writes %zu bytes at offset %llu of a pool of %llu", n, (unsigned long long)off,
		(unsigned long long)image->bytes);
	ct_image_set_bytes(image, off, from, n);
	return 0;
}

void ct_image_undo(struct ct_image *image, uint64_t mark)
{
	NVW_DEEP_INVARIANT(mark <= image->undo_count);
	while (image->undo_count > mark) {
		const struct ct_undo *u = &image->undo[--image->undo_count];

		put(image, u->off, u->old);
	}
}

void ct_image_commit(struct ct_image *image)
{
	image->undo_count = 0;
}
