/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graph files. Their form follows from the name: the first byte chooses a link to the file with one of these
 * endings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <graph/graph.h>

#include "fuzz.h"

enum { ENDINGS = 4 };

static const char *const endings[ENDINGS] = {"txt", "mtx", "graph", "gr"};
static char folder[] = "/tmp/nvwave-fuzz-XXXXXX", name[ENDINGS][64];

static void remove_links(void)
{
	for (unsigned i = 0; i < ENDINGS; i++) {
		unlink(name[i]);
	}
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *const file = fuzz_file("", 0);

	if (!mkdtemp(folder)) {
		abort();
	}
	for (unsigned i = 0; i < ENDINGS; i++) {
		snprintf(name[i], sizeof name[i], "%s/g.%s", folder, endings[i]);
		if (symlink(file, name[i])) {
			abort();
		}
	}
	return atexit(remove_links);
}

/* A header's count is believed up to the limit of nodes, whose rows are then made: not for every input. */
static int has_many_nodes(const uint8_t *data, size_t size)
{
	unsigned digits = 0;

	for (size_t i = 0; i < size; i++) {
		digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
		if (digits > 4) {
			return 1;
		}
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned choice = (unsigned)fuzz_take(&data, &size, 1);
	struct graph graph;

	if (has_many_nodes(data, size) && choice < 250) {
		return -1;
	}
	fuzz_file(data, size);
	if (graph_read(name[choice % ENDINGS], &graph) == 0) {
		graph_free(&graph);
	}
	return 0;
}
