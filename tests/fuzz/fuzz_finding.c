/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Saved findings. The input is how far the claimed sizes are off (a byte each, signed), the length of the
 * JSON, the JSON, and the image: around them a file is made whose checksum is right. If the first byte's low
 * bit is set, the input is the file itself, with its checksum repaired.
 */
#include <string.h>

#include <xxhash.h>
#include <zstd.h>

#include <crashtest/explain/finding.h>

#include "fuzz.h"

enum { BYTES_MAX = 1 << 16, HEAD_BYTES = 32 };

static uint8_t file[4 * BYTES_MAX];

static size_t make_file(const uint8_t *data, size_t size)
{
	const int8_t off_by = (int8_t)fuzz_take(&data, &size, 1),
		     packed_by = (int8_t)fuzz_take(&data, &size, 1);
	size_t json = fuzz_take(&data, &size, 2);

	json = json < size ? json : size;

	const size_t image = size - json;
	const size_t packed = ZSTD_compress(
		file + HEAD_BYTES + json, sizeof file - HEAD_BYTES - json, data + json, image, 1);

	memcpy(file, "NVWFIND\n", 8);
	fuzz_put(file + 8, 1, 4);
	fuzz_put(file + 12, json, 4);
	fuzz_put(file + 16, off_by == -128 ? UINT64_MAX : image + (uint64_t)off_by, 8);
	fuzz_put(file + 24, packed + (uint64_t)packed_by, 8);
	memcpy(file + HEAD_BYTES, data, json);
	return HEAD_BYTES + json + packed + 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned choice = (unsigned)fuzz_take(&data, &size, 1);
	struct ct_saved saved;

	if (size > BYTES_MAX) {
		return -1;
	}
	if (choice & 1) {
		memcpy(file, data, size);
	} else {
		size = make_file(data, size);
	}
	if (size >= 8) {
		fuzz_put(file + size - 8, XXH64(file, size - 8, 0), 8);
	}
	if (ct_saved_load(fuzz_file(file, size), &saved) == 0) {
		ct_saved_free(&saved);
	}
	return 0;
}
