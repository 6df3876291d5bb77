/* SPDX-License-Identifier: BSD-3-Clause */
/* pmemcheck's store logs, converted for an image of 4 KiB. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <crashtest/requests/store_log.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int log = -1;
	struct ct_store_log counts;

	if (log < 0) {
		log = memfd_create("log", MFD_CLOEXEC);
	}
	if (log < 0 || ftruncate(log, 0) || lseek(log, 0, SEEK_SET)) {
		abort();
	}
	(void)!ct_store_log_convert(fuzz_file(data, size), "/pool", 4096, log, &counts);
	return 0;
}
