/* SPDX-License-Identifier: BSD-3-Clause */
/* See image.h. */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int image_write(void *context, nvw_off off, const void *from, size_t n)
{
	struct image *const im = context;

	if (im->writes++ == im->stop_at) {
		return NVW_E_STOPPED;
	}
	assert_true(off + n <= im->size);
	memcpy(im->bytes + off, from, n);
	return 0;
}

static uint64_t ask(
	void *context, nvw_off off, uint64_t (*of)(const void *from, uint64_t word), const void *from)
{
	const struct image *const im = context;
	uint64_t word;

	++*im->asked;
	memcpy(&word, im->bytes + off, 8);
	return of(from, word);
}

int open_image(struct image *im, struct nvw_pool **ret_pool)
{
	const struct nvw_pool_image image = {.image = im->bytes,
		.bytes = im->size,
		.write = image_write,
		.context = im,
		.ask = im->asked ? ask : NULL,
		.reads = im->reads};

	im->writes = 0;
	return nvw_pool_open_image(&image, ret_pool);
}

struct nvw_pool *opened(struct image *im)
{
	struct nvw_pool *pool;

	assert_ok(open_image(im, &pool));
	return pool;
}

void pool_end(struct nvw_pool **pool)
{
	nvw_pool_close(*pool);
}

void image_end(struct image *im)
{
	free(im->bytes);
}

struct image image_new(void)
{
	const struct nvw_pool_params params = {.heap_bytes = 3 * NVW_POOL_CHUNK_BYTES,
		.streams = STREAMS,
		.log_entries = ENTRIES,
		.layout = "test"};
	const char *const path = test_pool();
	struct nvw_pool *pool;

	assert_ok(nvw_pool_create(path, &params, &pool));

	struct image im = {.g = *nvw_pool_geometry(pool), .stop_at = UINT64_MAX};

	im.size = im.g.bytes;
	im.bytes = aligned_alloc(4096, im.size);
	memcpy(im.bytes, nvw_pool_base(pool), im.size);
	nvw_pool_close(pool);
	unlink(path);
	return im;
}

struct image image_copy(const struct image *from)
{
	struct image im = *from;

	im.bytes = aligned_alloc(4096, im.size);
	memcpy(im.bytes, from->bytes, im.size);
	im.writes = 0;
	im.stop_at = UINT64_MAX;
	return im;
}

void put(struct image *im, nvw_off off, uint64_t word)
{
	memcpy(im->bytes + off, &word, 8);
}

uint64_t get(const struct image *im, nvw_off off)
{
	uint64_t word;

	memcpy(&word, im->bytes + off, 8);
	return word;
}

void put_sealed(struct image *im, nvw_off off, uint64_t payload)
{
	put(im, off, nvw_seal(off, payload));
}

void put_est(struct image *im, uint32_t stream, enum nvw__est_state state, uint64_t epoch)
{
	put_sealed(im, nvw__est_off(&im->g, stream), nvw__est_payload(state, epoch));
}

void put_entry(struct image *im, uint32_t stream, uint32_t entry, uint64_t epoch, nvw_off off, uint64_t value,
	unsigned words)
{
	const struct nvw__undo undo = {.off = off, .value = value};

	NVW_FOR(i, NVW__ENTRY_WORDS) {
		if (words >> i & 1) {
			const nvw_off at = nvw__entry_off(&im->g, stream, entry) + 8 * i;

			put_sealed(im, at, nvw__entry_payload(&undo, epoch, i));
		}
	}
}

void put_block(struct image *im, uint64_t chunk, uint32_t i, enum nvw__block_kind kind, uint32_t stream,
	uint64_t epoch)
{
	put_sealed(im, nvw__block_word_off(nvw__chunk_off(&im->g, chunk), i),
		nvw__block_payload(kind, stream, epoch));
}

nvw_off data_at(const struct image *im, unsigned i)
{
	return nvw__block_off(nvw__chunk_off(&im->g, 0), 1, i);
}

struct image built(void)
{
	struct image im = image_new();

	put_sealed(&im, nvw__chunk_word_off(&im.g, 0), nvw__chunk_payload(NVW__CHUNK_CLASS, 1));
	put_sealed(&im, nvw__chunk_word_off(&im.g, 1), nvw__chunk_payload(NVW__CHUNK_EXTENT, 2));
	put_est(&im, 0, NVW__EST_COMPLETED, 3);
	put_est(&im, 1, NVW__EST_COMPLETED, 5);
	put_est(&im, 3, NVW__EST_ROLLED_BACK, 2);
	put_entry(&im, 0, 0, 3, data_at(&im, 0), 111, 15);
	put_entry(&im, 1, 0, 6, data_at(&im, 1), 222, 15);
	put_entry(&im, 1, 1, 6, nvw_pool_root_off(&im.g, 2), 333, 15);
	put_entry(&im, 1, 2, 6, data_at(&im, 1), 444, 15);
	put_entry(&im, 1, 3, 5, data_at(&im, 2), 555, 15);
	put_entry(&im, 2, 0, 1, data_at(&im, 3), 666, 7);
	put(&im, data_at(&im, 0), 1);
	put(&im, data_at(&im, 1), 2);
	put(&im, data_at(&im, 2), 3);
	put(&im, data_at(&im, 3), 4);
	put(&im, nvw_pool_root_off(&im.g, 2), 5);
	put_block(&im, 0, 0, NVW__BLOCK_ALLOCATED, 0, 0);
	put_block(&im, 0, 1, NVW__BLOCK_ALLOCATED_BY, 0, 3);
	put_block(&im, 0, 2, NVW__BLOCK_FREED_BY, 0, 2);
	put_block(&im, 0, 3, NVW__BLOCK_ALLOCATED_BY, 1, 6);
	put_block(&im, 0, 4, NVW__BLOCK_FREED_BY, 1, 6);
	return im;
}

int recover(struct image *im, struct nvw_recovery *report)
{
	struct nvw_pool *pool;
	struct nvw_recovery none;

	report = report ? report : &none;
	*report = (struct nvw_recovery){0};
	NVW_TRY(open_image(im, &pool));
	const int r = nvw_recover(pool, report);

	nvw_pool_close(pool);
	return r;
}

bool allocated(struct image *im, nvw_off off)
{
	POOL(pool) = opened(im);
	uint64_t bytes;

	return nvw_heap_is_allocated(pool, off, &bytes);
}

void put_headers(struct image *im, const struct nvw_pool *pool)
{
	struct nvw__header header;

	assert_ok(nvw__header_make(pool, &header));
	memcpy(im->bytes + NVW__HEADER_OFF, &header, sizeof header);
	memcpy(im->bytes + NVW__COPY_OFF, &header, sizeof header);
}
