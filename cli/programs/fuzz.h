/* SPDX-License-Identifier: BSD-3-Clause */
/* AFL++ makes inputs of a program that nvwave-cc has built. */
#ifndef CLI_FUZZ_H
#define CLI_FUZZ_H

#include <nvw/errors.h>
#include <nvw/pool.h>

struct cli_fuzz {
	const char *corpus; /* folder with inputs to begin with; gets those that AFL++ makes */
	uint64_t seconds;
	unsigned timeout_ms;      /* of a run */
	char *const *words;       /* of the command; @@ is the input, else it is standard input */
	const char *image, *file; /* before each run, the file is what the image is */
	const char *folder;       /* for AFL++ */
	unsigned made;            /* output: inputs */
};

/* NVW_E_USAGE if there is no afl-fuzz, NVW_E_INPUT with its own words if it does not begin. */
NVW_CHECKED int cli_fuzz_run(struct cli_fuzz *fuzz);

#endif
