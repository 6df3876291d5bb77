/* SPDX-License-Identifier: BSD-3-Clause */
/* YCSB's property files. */
#include <common/ycsb.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ycsb ycsb;

	return ycsb_load(fuzz_file(data, size), &ycsb) > 0;
}
