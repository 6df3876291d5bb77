/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist logs. The input is what a block holds, uncompressed: around it a header, the block and the trailer
 * are made with checksums that are right, so that the parsers of records are reached. If the first byte's
 * low bit is set, the input is the file itself, of which the header's checksum is repaired.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>
#include <zstd.h>

#include "fuzz.h"
#include "log/format.h"

enum { BYTES_MAX = 1 << 16 };

static uint8_t file[4 * BYTES_MAX];

static size_t put_header(uint8_t *to, uint64_t pool_bytes)
{
	const size_t n = LOG_HEADER_FIXED_BYTES + 2 * LOG_STRINGS + 8;

	memset(to, 0, n);
	memcpy(to, LOG_MAGIC, LOG_MAGIC_BYTES);
	fuzz_put(to + 8, NVW_LOG_VERSION + pool_bytes % 4, 4);
	fuzz_put(to + 12, n, 4);
	fuzz_put(to + 24, pool_bytes, 8);
	fuzz_put(to + 32, 8, 4);
	fuzz_put(to + n - 8, XXH64(to, n - 8, 0), 8);
	return n;
}

static size_t put_block(uint8_t *to, uint64_t number, const void *stored, size_t n, size_t raw,
	uint32_t records, uint32_t kind)
{
	memcpy(to + LOG_BLOCK_HEADER_BYTES, stored, n);
	fuzz_put(to + 8, n, 4);
	fuzz_put(to + 12, raw, 4);
	fuzz_put(to + 16, records, 4);
	fuzz_put(to + 20, kind, 4);
	fuzz_put(to + 24, 0, 8);
	fuzz_put(to, XXH64(to + 8, LOG_BLOCK_HEADER_BYTES - 8 + n, log_block_seed(number)), 8);
	return LOG_BLOCK_HEADER_BYTES + n;
}

static size_t make_file(const uint8_t *data, size_t size)
{
	static uint8_t packed[2 * BYTES_MAX];
	const uint32_t records = (uint32_t)fuzz_take(&data, &size, 1);
	const uint64_t pool = UINT64_C(1) << fuzz_take(&data, &size, 1) % 64;
	const size_t n = ZSTD_compress(packed, sizeof packed, data, size, 1);
	size_t at = put_header(file, pool);
	uint8_t trailer[16];

	fuzz_put(trailer, records, 8);
	fuzz_put(trailer + 8, 1, 8);
	at += put_block(file + at, 0, packed, n, size, records, LOG_BLOCK_RECORDS);
	return at + put_block(file + at, 1, trailer, sizeof trailer, 0, 0, LOG_BLOCK_TRAILER);
}

static size_t repair_file(const uint8_t *data, size_t size)
{
	memcpy(file, data, size);
	if (size > LOG_HEADER_FIXED_BYTES + 8) {
		const uint32_t n = log_get32(file + 12);

		if (n >= LOG_HEADER_FIXED_BYTES + 8 && n <= size) {
			fuzz_put(file + n - 8, XXH64(file, n - 8, 0), 8);
		}
	}
	return size;
}

static void need(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* What the reader promises of a record: its bytes are there and in the pool, its source place is known. */
static void check(const struct nvw_log_info *info, const struct nvw_log_record *r, uint32_t *sites)
{
	static volatile uint8_t sum;

	switch (r->kind) {
	case NVW_LOG_SITE:
		need(r->site.id == ++*sites && strlen(r->site.file) + strlen(r->site.function) <= BYTES_MAX);
		break;
	case NVW_LOG_STORE:
		need(r->store.off + r->store.bytes <= info->pool_bytes && r->store.site <= *sites);
		break;
	case NVW_LOG_ISSUE:
		need(r->issue.off + NVW_LOG_LINE_BYTES <= info->pool_bytes);
		break;
	case NVW_LOG_HOST:
		need(r->host.off + r->host.bytes <= info->pool_bytes && r->host.bytes <= BYTES_MAX);
		for (uint32_t i = 0; i < r->host.bytes; i++) {
			sum = (uint8_t)(sum + r->host.data[i]);
		}
		break;
	case NVW_LOG_FLUSH:
		need(r->flush.off + r->flush.bytes <= info->pool_bytes && r->flush.site <= *sites);
		break;
	case NVW_LOG_BEGIN:
		need(r->begin.site <= *sites && strlen(r->begin.name) <= BYTES_MAX);
		break;
	case NVW_LOG_ACK:
		need(r->ack.site <= *sites);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned choice = (unsigned)fuzz_take(&data, &size, 1);
	struct nvw_log_reader *reader;
	struct nvw_log_record record;
	uint32_t sites = 0;

	if (size > BYTES_MAX) {
		return -1;
	}
	size = choice & 1 ? repair_file(data, size) : make_file(data, size);
	if (nvw_log_open(fuzz_file(file, size), &reader) == 0) {
		while (nvw_log_next(reader, &record) == 1) {
			check(nvw_log_info(reader), &record, &sites);
		}
		nvw_log_reader_close(reader);
	}
	return 0;
}
