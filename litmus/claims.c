/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The known memory models and the protocols that claim them, with reasons. A test of a model that the
 * protocol does not claim is run for information only.
 */
#include <ctype.h>
#include <string.h>

#include <emu.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/units.h"
#include "litmus.h"

/* Protocols by their treatment of scopes. */
#define WIDENED  (1u << EMU_SCOPES_WIDENED)
#define KEPT     (1u << EMU_SCOPES_KEPT)
#define PROMOTED (1u << EMU_SCOPES_PROMOTED)
#define ALL      (WIDENED | KEPT | PROMOTED)

/* And by the consistency model of the machine (gpu.consistency); a set without one holds for any. */
enum { CONSISTENCY_SHIFT = 8 };
#define MODEL(name) (1u << (EMU_CONSISTENCY_##name + CONSISTENCY_SHIFT))
#define SC          (MODEL(sc_simple) | MODEL(sc_wb))
#define SC_OR_TSO   (SC | MODEL(tso))
#define SC_TO_RMO   (SC_OR_TSO | MODEL(rmo))

static const struct claim {
	const char *model;
	unsigned where; /* scopes of the protocols, consistency models of the machines */
	bool is_claimed;
	const char *why;
} claims[] = {
	{"OpenCL + remote-scope promotion", PROMOTED, true,
		"remote-scope promotion is the protocol's own (alsop16 II.D)"},
	{"OpenCL + remote-scope promotion", WIDENED, true,
		"a release reaches every acquire, whatever the scopes: there is nothing to promote"},
	{"OpenCL + remote-scope promotion", KEPT, false,
		"synchronization of work-group scope stays in the L1, and no instruction reaches into "
		"another one"},
	{"OpenCL", ALL, true,
		"scopes are kept or widened; atomics are performed at one place of the scope (HRF)"},
	{"HRF-Indirect", ALL, true, "scopes are kept or widened; a release passes on all that its CU has"},
	{"HRF-Direct", ALL, true, "HRF-Indirect is kept, which orders all that HRF-Direct orders"},
	{"HRF", ALL, true, "HRF-Indirect is kept"},
	{"PTX", ALL, true,
		"as HRF; relaxed atomics of one scope meet at one place, fences are atomics of their scope"},
	{"Vulkan", ALL, true,
		"as HRF; a release makes available and an acquire makes visible all that the CU has"},
	{"gope18", ALL, true, "equations 1 to 3 are the memory system's, whatever keeps the caches coherent"},
	{"SC", WIDENED | SC, true,
		"gpu.consistency has plain accesses in program order, and stores are seen by all at once"},
	{"SC", ALL, false, "the machine has no model of sequential consistency (gpu.consistency)"},
	{"x86-TSO", WIDENED | SC_OR_TSO, true,
		"gpu.consistency lets loads pass stores at most, and stores are seen by all at once"},
	{"x86-TSO", ALL, false, "plain accesses are ordered by nothing but acquires and releases"},
	{"RMO", WIDENED | SC_TO_RMO, true,
		"fences complete all loads and stores, and stores are seen by all at once"},
	{"RMO", ALL, false, "the machine has no consistency model (gpu.consistency)"},
	{"PArmv8 persistency", ALL, false,
		"a persist barrier orders the stores of its own scope, not what another thread has stored "
		"and this one "
		"has read and flushed (gope18 5)"},
	{"none", ALL, false, "the test names no memory model"},
};

enum { CLAIMS = NVW_COUNT(claims) };

/* The text after a model's name may give the edition: "2 (Batty et al.)", "6.0", "; ...". */
static bool is_edition(const char *text)
{
	const char *const at = text + strspn(text, " ");

	return !*at || *at == ';' || *at == '(' || (at > text && isdigit((unsigned char)*at));
}

static bool is_model(const char *text, const char *model)
{
	const size_t n = strlen(model);

	return !strncmp(text, model, n) && is_edition(text + n);
}

static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && tolower((unsigned char)a[n]) == tolower((unsigned char)b[n])) {
		n++;
	}
	return n;
}

/* The most similar name, else one with the same beginning: names are long, and people shorten them. */
static const char *nearest(const char *text, const char *const *names)
{
	const char *best = nvw_nearest(text, names);
	size_t longest = 3;

	if (best) {
		return best;
	}
	for (unsigned i = 0; names[i]; i++) {
		if (common_prefix(text, names[i]) > longest) {
			longest = common_prefix(text, names[i]);
			best = names[i];
		}
	}
	return best;
}

bool litmus_model_is_known(const char *text, const char **ret_nearest)
{
	const char *names[CLAIMS + 1];
	unsigned n = 0;

	NVW_EACH(claim, claims, CLAIMS) {
		if (is_model(text, claim->model)) {
			return true;
		}
		if (!n || strcmp(names[n - 1], claim->model)) {
			names[n++] = claim->model;
		}
	}
	names[n] = NULL;
	NVW_INVARIANT(n <= CLAIMS);
	*ret_nearest = nearest(text, names);
	return false;
}

/* The machine's consistency model, as the last of the settings has it. */
static unsigned consistency_of(const char *const *settings)
{
	struct emu_config config;

	emu_config_default(&config);
	for (; settings && *settings; settings++) {
		(void)!emu_config_set(&config, *settings); /* an error is reported when the machine is made */
	}
	return 1u << (config.consistency + CONSISTENCY_SHIFT);
}

bool litmus_claimed(const struct litmus_test *test, const char *protocol, const char *const *settings,
	const char **ret_why)
{
	const unsigned scopes = 1u << emu_protocol_scopes(protocol), consistency = consistency_of(settings);
	const struct claim *c = claims;

	while (!is_model(test->model, c->model) || !(c->where & scopes) ||
		(c->where >> CONSISTENCY_SHIFT && !(c->where & consistency))) {
		c++;
	}
	*ret_why = c->why;
	return c->is_claimed;
}
