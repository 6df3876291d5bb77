/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which protocol claims which memory model, as a table with reasons. Of a model that is not claimed, a test is run for
 * information.
 */
#include <string.h>

#include "litmus.h"

#define SCOPED   "vi gh rsp dh"
#define UNSCOPED "gd denovo-b dd dd+ro hlrc hlrc-scoped"

static const struct claim {
	const char *model;     /* how the model's name begins; "" is any */
	const char *protocols; /* names with spaces in between; "" is every one */
	bool is_claimed;
	const char *why;
} claims[] = {
	{"OpenCL + remote-scope promotion", "rsp", true, "remote-scope promotion is the protocol's own (alsop16 II.D)"},
	{"OpenCL + remote-scope promotion", UNSCOPED, true,
		"a release reaches every acquire, whatever the scopes: there is nothing to promote"},
	{"OpenCL + remote-scope promotion", "", false,
		"synchronization of work-group scope stays in the L1, and no instruction reaches into another one"},
	{"OpenCL", "", true, "scopes are kept or widened; atomics are performed at one place of the scope (HRF)"},
	{"HRF", "", true, "scopes are kept or widened; a release passes on all that its CU has (HRF-Indirect)"},
	{"PTX", "", true, "as HRF; relaxed atomics of one scope meet at one place, fences are atomics of their scope"},
	{"Vulkan", "", true, "as HRF; a release makes available and an acquire makes visible all that the CU has"},
	{"gope18", "", true, "equations 1 to 3 are the memory system's, whatever keeps the caches coherent"},
	{"x86-TSO", "", false, "plain accesses are ordered by nothing but acquires and releases"},
	{"PArmv8", "", false, "a persist barrier orders the stores of its own scope, not what another thread has stored and this one "
		"has read and flushed (gope18 5)"},
	{"", "", false, "nobody says that the protocols have this model"},
};

static bool is_named(const char *names, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += n) {
		if ((at == names || at[-1] == ' ') && (at[n] == ' ' || !at[n])) {
			return true;
		}
	}
	return !*names;
}

bool litmus_claimed(const struct litmus_test *test, const char *protocol, const char **ret_why)
{
	const struct claim *c = claims;

	while (strncmp(test->model, c->model, strlen(c->model)) || !is_named(c->protocols, protocol)) {
		c++;
	}
	*ret_why = c->why;
	return c->is_claimed;
}
