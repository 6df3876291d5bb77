/* SPDX-License-Identifier: BSD-3-Clause */
/* Litmus tests. The first byte chooses between the file form and a table, which its name says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <litmus.h>

#include "fuzz.h"

static char folder[] = "/tmp/nvwave-fuzz-XXXXXX", table[64];

static void remove_link(void)
{
	unlink(table);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *const file = fuzz_file("", 0);

	if (!mkdtemp(folder)) {
		abort();
	}
	snprintf(table, sizeof table, "%s/t.tsv", folder);
	return symlink(file, table) || atexit(remove_link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned choice = (unsigned)fuzz_take(&data, &size, 1);
	const char *const path = fuzz_file(data, size);
	struct litmus_list list = {0};

	(void)!litmus_load(choice & 1 ? table : path, &list);
	litmus_list_free(&list);
	return 0;
}
