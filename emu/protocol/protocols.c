/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of protocols, the names of their actions, and properties of a protocol by name. */
#include "core/each.h"

#include "protocol.h"

/* ---- The protocols ------------------------------------------------------------------------- */

/* A test may supply its own list. */
#ifndef COH_PROTOCOLS
#define COH_PROTOCOLS "protocols.def"
#endif

#define PROTOCOL(symbol) extern const struct coh_protocol coh_##symbol;
#include COH_PROTOCOLS
#undef PROTOCOL

const struct coh_protocol *const coh_protocols[] = {
#define PROTOCOL(symbol) &coh_##symbol,
#include COH_PROTOCOLS
#undef PROTOCOL
	NULL,
};

const struct coh_protocol *coh_protocol_find(const char *name)
{
	for (unsigned i = 0; coh_protocols[i]; i++) {
		if (strcmp(coh_protocols[i]->name, name) == 0) {
			return coh_protocols[i];
		}
	}
	return NULL;
}

const char *emu_protocol_name(unsigned i)
{
	for (unsigned k = 0; k <= i; k++) {
		if (!coh_protocols[k]) {
			return NULL;
		}
	}
	return coh_protocols[i]->name;
}

bool emu_protocol_info(unsigned i, const char **ret_name, const char **ret_citation, const char **ret_summary)
{
	if (!emu_protocol_name(i)) {
		return false;
	}
	*ret_name = coh_protocols[i]->name;
	*ret_citation = coh_protocols[i]->citation;
	*ret_summary = coh_protocols[i]->summary;
	return true;
}

enum emu_scopes emu_protocol_scopes(const char *protocol)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	return p ? p->scopes : EMU_SCOPES_WIDENED;
}

bool emu_protocol_is_apart(const char *protocol)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	return p && p->caches == COH_CACHES_APART;
}

bool emu_protocol_has_owners(const char *protocol)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	return p && p->directory;
}

bool emu_protocol_keeps(const char *protocol, enum nvw_scopes_asked asked)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	if (!p || p->scopes == EMU_SCOPES_WIDENED) {
		return p;
	}
	switch (asked) {
	case NVW_ASKS_NOTHING:
		return true;
	case NVW_ASKS_CU:
		return p->local_scope == COH_LOCAL_CU;
	case NVW_ASKS_REMOTE:
		return p->scopes == EMU_SCOPES_PROMOTED;
	case NVW_ASKS_ALL:
		break;
	}
	return false;
}

/* ---- Names of actions ---------------------------------------------------------------------- */

static const coh_action actions[] = {
#define X(name, text, part) &coh_##name,
	COH_ACTIONS(X) COH_TURN_ACTIONS(X) COH_LEASE_ACTIONS(X)
#undef X
};

static const struct {
	coh_line_action action;
	struct emu_protocol_word word;
} line_actions[] = {
#define X(name, text) {coh_line_##name, {#name, text}},
	COH_LINE_ACTIONS(X)
#undef X
};

const struct emu_protocol_word *coh_line_action_word(coh_line_action action)
{
	NVW_EACH_IN(line_action, line_actions) {
		if (line_action->action == action) {
			return &line_action->word;
		}
	}
	return NULL;
}

const struct emu_protocol_word *emu_protocol_line_action(unsigned i)
{
	if (i < NVW_COUNT(line_actions)) {
		return &line_actions[i].word;
	}
	return NULL;
}

static bool rows_name(const struct coh_protocol *p, coh_action action)
{
	for (const struct coh_row *row = p->rows; row->instructions; row++) {
		for (unsigned s = 0; s < COH_STEPS_MAX && row->steps[s]; s++) {
			if (row->steps[s] == action) {
				return true;
			}
		}
	}
	return false;
}

static bool cells_name(const struct coh_cell *cells, unsigned count, coh_line_action action)
{
	return NVW_ANY_BELOW(n, 3 * count, cells[n / 3].actions[n % 3] == action);
}

const char *emu_protocol_action(const char *protocol, unsigned wanted)
{
	const struct coh_protocol *const p = coh_protocol_find(protocol);

	for (unsigned i = 0; p && i < NVW_COUNT(actions); i++) {
		if (rows_name(p, actions[i]) && wanted-- == 0) {
			return actions[i]->name;
		}
	}
	for (unsigned i = 0; p && i < NVW_COUNT(line_actions); i++) {
		if ((cells_name(p->l1, p->l1_state_count * COH_L1_EVENT_COUNT, line_actions[i].action) ||
			    cells_name(
				    p->l2, p->l2_state_count * COH_L2_EVENT_COUNT, line_actions[i].action)) &&
			wanted-- == 0) {
			return line_actions[i].word.text;
		}
	}
	return NULL;
}

int emu_plant_fault(struct nvw_machine *m, const char *action)
{
	m->fault.action = NULL;
	m->fault.line = NULL;
	NVW_EACH_IN(one, actions) {
		if (!strcmp((*one)->name, action)) {
			m->fault.action = *one;
		}
	}
	NVW_EACH_IN(line_action, line_actions) {
		if (!strcmp(line_action->word.text, action)) {
			m->fault.line = line_action->action;
		}
	}
	if (m->fault.action || m->fault.line) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE, "no protocol's table has an action \"%s\"", action);
}
