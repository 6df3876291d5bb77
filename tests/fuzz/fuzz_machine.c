/* SPDX-License-Identifier: BSD-3-Clause */
/* Machine files. What is accepted is written and read again, and must be the same machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <config/config.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct emu_config config, again;
	char text[16384];
	FILE *f;

	emu_config_default(&config);
	if (emu_config_load(&config, fuzz_file(data, size)) || emu_config_check(&config)) {
		return 0;
	}
	f = fmemopen(text, sizeof text, "w");
	if (!f || emu_config_dump(&config, f) || fflush(f)) {
		abort();
	}

	const long bytes = ftell(f);

	fclose(f);
	emu_config_default(&again);
	if (emu_config_load(&again, fuzz_file(text, (size_t)bytes)) ||
		memcmp(&config, &again, sizeof config)) {
		abort();
	}
	return 0;
}
