/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files: the first byte chooses the form and the column. */
#include <stdio.h>
#include <stdlib.h>

#include <common/keyfile.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const forms[] = {"", "binary:", "text:", ""};
	const unsigned choice = (unsigned)fuzz_take(&data, &size, 1);
	uint64_t *keys, count;
	char path[128];

	snprintf(path, sizeof path, "%s%s", forms[choice & 3], fuzz_file(data, size));
	if (keyfile_read(path, choice >> 2 & 3, &keys, &count) == 0) {
		free(keys);
	}
	return 0;
}
