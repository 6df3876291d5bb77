/* SPDX-License-Identifier: BSD-3-Clause */
/* Places, events and operations in words, and the edits that a cause proposes. See cause_search.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/print.h"

#include "cause_search.h"
#include "../judge/operations.h"

const struct ct_names *cause_site_of(const struct cause_search *s, uint32_t site)
{
	return ct_stores_site(s->stores, site);
}

/* The call that tells it from others of its line; NULL: none is needed. */
static const struct ct_names *called_at(const struct cause_search *s, const struct ct_store *store)
{
	if (store == s->lost) {
		return cause_site_of(s, s->lost_caller);
	}
	return store == s->early ? cause_site_of(s, s->early_caller) : NULL;
}

struct cause_place cause_place_of(const struct cause_search *s, const struct ct_store *store)
{
	const struct ct_names *const at = cause_site_of(s, store->site), *const called = called_at(s, store);
	struct cause_place p;

	if (at) {
		NVW_PRINT(p.text, "%s:%u", at->file, at->line);
		if (called) {
			const size_t n = strlen(p.text);

			snprintf(p.text + n, sizeof p.text - n, " (called at %s:%u)", called->file,
				called->line);
		}
	} else {
		NVW_PRINT(
			p.text, "offset 0x%llx (no line: built without debug information)", (ull)store->off);
	}
	return p;
}

/* Whoever calls it. */
struct cause_place cause_site_or_offset(const struct cause_search *s, const struct ct_store *store)
{
	const struct ct_store same = *store;

	return cause_place_of(s, &same);
}

struct cause_place cause_site_name(const struct cause_search *s, uint32_t site)
{
	return cause_place_of(s, &(struct ct_store){.site = site});
}

void cause_say(struct ct_cause *c, const char *format, ...)
{
	const size_t at = strlen(c->text);
	va_list args;

	va_start(args, format);
	vsnprintf(c->text + at, sizeof c->text - at, format, args);
	va_end(args);
}

struct cause_place cause_operation_name(const struct cause_search *s)
{
	struct cause_place p;

	ct_operations_name(s->operations, s->operation, p.text, sizeof p.text);
	return p;
}

/* Names what relies on the lost store. */
struct cause_place cause_name_event(const struct cause_search *s, const struct ct_event *e)
{
	const unsigned long long item = e->store.work_item;
	struct cause_place p;

	if (e->kind == NVW_LOG_HOST) {
		NVW_PRINT(p.text, "the host's write at offset 0x%llx", (ull)e->store.off);
	} else if (e->kind == NVW_LOG_ACK && s->lost->kernel == 0) {
		NVW_PRINT(p.text, "operation %.120s is acknowledged", cause_operation_name(s).text);
	} else if (e->kind == NVW_LOG_ACK && e->store.kernel == 0) {
		NVW_PRINT(p.text, "the host's acknowledgement of operation %llu", (ull)s->operation);
	} else if (e->kind == NVW_LOG_ACK && e->store.site != 0) {
		NVW_PRINT(p.text, "the acknowledgement of operation %llu at %.100s by work-item %llu",
			(ull)s->operation, cause_place_of(s, &e->store).text, item);
	} else if (e->kind == NVW_LOG_ACK) {
		NVW_PRINT(p.text, "the acknowledgement of operation %llu by work-item %llu",
			(ull)s->operation, item);
	} else if (e->store.kernel == 0) {
		NVW_PRINT(p.text, "the store at %.380s", cause_place_of(s, &e->store).text);
	} else {
		NVW_PRINT(p.text, "the store at %.150s (work-item %llu)", cause_place_of(s, &e->store).text,
			item);
	}
	return p;
}

struct ct_line cause_line_of(const struct cause_search *s, uint32_t site)
{
	const struct ct_names *const at = cause_site_of(s, site);
	struct ct_line line = {0};

	if (at) {
		line.line = at->line;
		NVW_PRINT(line.file, "%s", at->file);
	}
	return line;
}

void cause_add_caller(struct ct_line *line, const struct ct_names *called)
{
	if (called) {
		ct_line_called(line, called->file, called->line);
	}
}

static struct ct_line line_of_store(const struct cause_search *s, const struct ct_store *store)
{
	struct ct_line line = cause_line_of(s, store->site);

	cause_add_caller(&line, called_at(s, store));
	return line;
}

void cause_propose(const struct cause_search *s, struct ct_edit edit)
{
	struct ct_proposals *const p = s->proposals;

	if ((edit.a.line != 0 || edit.b.line != 0) && p->count < CT_PROPOSALS_MAX) {
		p->edit[p->count++] = edit;
	}
}

enum place { BEHIND_LOST, BEFORE_EARLY };

static void propose(const struct cause_search *s, enum place place, enum nvw_group scope)
{
	struct ct_edit edit = {.kind = CT_EDIT_BARRIER, .a = cause_line_of(s, s->lost->site), .scope = scope};

	if (place == BEFORE_EARLY) {
		edit.b = cause_line_of(s, s->early->site);
	}
	if (place == BEHIND_LOST || edit.b.line != 0) {
		cause_propose(s, edit);
	}
}

/* The narrowest first. One of a work-item behind the lost store may do where others publish it: they may wait
 * for it already. */
void cause_propose_barriers(const struct cause_search *s, enum cause_scope needed)
{
	if (needed == CAUSE_WORK_ITEM) {
		propose(s, BEFORE_EARLY, NVW_WORKITEM);
	}
	propose(s, BEHIND_LOST, NVW_WORKITEM);
	if (needed == CAUSE_HOST) { /* early is in no kernel, or in a later one */
		propose(s, BEHIND_LOST, NVW_KERNEL);
	}
	for (enum cause_scope scope = CAUSE_WORK_GROUP; scope <= CAUSE_KERNEL; scope++) {
		if (scope >= needed) {
			propose(s, BEFORE_EARLY, (enum nvw_group)scope);
			propose(s, BEHIND_LOST, (enum nvw_group)scope);
		}
	}
}

void cause_propose_flushing(const struct cause_search *s, const struct ct_store *store)
{
	cause_propose(s, (struct ct_edit){.kind = CT_EDIT_FLUSH, .a = line_of_store(s, store)});
	cause_propose(s, (struct ct_edit){.kind = CT_EDIT_FENCE, .a = line_of_store(s, store)});
}

void cause_propose_exchange(const struct cause_search *s)
{
	cause_propose(s, (struct ct_edit){.kind = CT_EDIT_EXCHANGE,
				 .a = line_of_store(s, s->early),
				 .b = line_of_store(s, s->lost)});
}
