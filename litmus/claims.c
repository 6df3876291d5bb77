/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which protocol claims which memory model, as a table with reasons. Of a model that is not claimed, a test is run for
 * information.
 */
#include <string.h>

#include <emu.h>

#include "litmus.h"

/* Protocols by what they make of scopes. */
#define WIDENED  (1u << EMU_SCOPES_WIDENED)
#define KEPT     (1u << EMU_SCOPES_KEPT)
#define PROMOTED (1u << EMU_SCOPES_PROMOTED)
#define ALL      (WIDENED | KEPT | PROMOTED)

static const struct claim {
	const char *model; /* how the model's name begins; "" is any */
	unsigned scopes;   /* of the protocols */
	bool is_claimed;
	const char *why;
} claims[] = {
	{"OpenCL + remote-scope promotion", PROMOTED, true,
		"remote-scope promotion is the protocol's own (alsop16 II.D)"},
	{"OpenCL + remote-scope promotion", WIDENED, true,
		"a release reaches every acquire, whatever the scopes: there is nothing to promote"},
	{"OpenCL + remote-scope promotion", KEPT, false,
		"synchronization of work-group scope stays in the L1, and no instruction reaches into another one"},
	{"OpenCL", ALL, true,
		"scopes are kept or widened; atomics are performed at one place of the scope (HRF)"},
	{"HRF", ALL, true,
		"scopes are kept or widened; a release passes on all that its CU has (HRF-Indirect)"},
	{"PTX", ALL, true,
		"as HRF; relaxed atomics of one scope meet at one place, fences are atomics of their scope"},
	{"Vulkan", ALL, true,
		"as HRF; a release makes available and an acquire makes visible all that the CU has"},
	{"gope18", ALL, true, "equations 1 to 3 are the memory system's, whatever keeps the caches coherent"},
	{"x86-TSO", ALL, false, "plain accesses are ordered by nothing but acquires and releases"},
	{"PArmv8", ALL, false,
		"a persist barrier orders the stores of its own scope, not what another thread has stored and this one "
		"has read and flushed (gope18 5)"},
	{"", ALL, false, "nobody says that the protocols have this model"},
};

bool litmus_claimed(const struct litmus_test *test, const char *protocol, const char **ret_why)
{
	const unsigned scopes = 1u << emu_protocol_scopes(protocol);
	const struct claim *c = claims;

	while (strncmp(test->model, c->model, strlen(c->model)) || !(c->scopes & scopes)) {
		c++;
	}
	*ret_why = c->why;
	return c->is_claimed;
}
