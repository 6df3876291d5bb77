/* SPDX-License-Identifier: BSD-3-Clause */
/* A need in words, and what may cure it. See cause.h. */
#include <stdio.h>
#include <string.h>

#include "core/invariant.h"
#include "core/print.h"

#include "cause_search.h"

const char *ct_cause_name(enum ct_cause_kind kind)
{
	static const char *const names[] = {
#define X(name, text) [CT_CAUSE_##name] = text,
		CT_CAUSES(X)
#undef X
	};

	NVW_INVARIANT(kind < NVW_COUNT(names));
	return names[kind];
}

/* ---- Order --------------------------------------------------------------------------------------------- */

static enum cause_scope scope_for(const struct ct_store *lost, const struct ct_store *other)
{
	if (lost->kernel != other->kernel || lost->kernel == 0) {
		return CAUSE_HOST;
	}
	if (lost->work_item == other->work_item) {
		return CAUSE_WORK_ITEM;
	}
	if (lost->group == other->group) {
		return CAUSE_WORK_GROUP;
	}
	return CAUSE_KERNEL;
}

static void note_barrier(struct cause_search *s)
{
	const struct ct_names *const at = cause_site_of(s, s->barrier.barrier.site);
	struct ct_cause *const c = s->cause;

	NVW_INVARIANT(s->found);
	if (at) {
		NVW_PRINT(c->file, "%s", at->file);
		NVW_PRINT(c->function, "%s", at->function);
		c->line = at->line;
	}
	NVW_PRINT(c->scope, "%s", ct_scopes[s->barrier.barrier.scope]);
	c->barrier_record = s->barrier_number;
}

static void say_narrow(struct cause_search *s, const char *lost, const char *what, enum cause_scope needed)
{
	NVW_INVARIANT(needed < NVW_COUNT(ct_scopes));
	s->cause->kind = CT_CAUSE_NARROW;
	cause_say(s->cause,
		"the barrier at %s has only %s scope: ordering the store at %s (work-item %llu) before %s "
		"takes "
		"at least %s scope",
		cause_site_name(s, s->barrier.barrier.site).text, s->cause->scope, lost,
		(ull)s->lost->work_item, what, ct_scopes[needed]);
	cause_propose(s, (struct ct_edit){.kind = CT_EDIT_WIDEN,
				 .a = cause_line_of(s, s->barrier.barrier.site),
				 .scope = (enum nvw_group)needed});
}

/* A barrier is missing, has too narrow a scope, or was not met by the other side. */
static void find_barrier(struct cause_search *s)
{
	const enum cause_scope needed = scope_for(s->lost, s->early);
	const struct cause_place what = cause_name_event(s, &s->need->early),
				 lost = cause_place_of(s, s->lost);
	struct ct_cause *const c = s->cause;

	NVW_PRINT(c->needed, "%s", ct_scopes[needed]);
	if (s->found) {
		note_barrier(s);
	}
	if (needed == CAUSE_HOST) {
		c->kind = CT_CAUSE_MISSING;
		cause_say(c,
			"nothing waits for the store at %s to be durable before %s: this takes a persist "
			"barrier at the end of its kernel, or %s",
			lost.text, what.text,
			s->early && s->early->kernel == 0 ? "a flush and a fence by host code behind it" :
							    "nvw_persist() on the host");
	} else if (!s->found) {
		c->kind = CT_CAUSE_MISSING;
		cause_say(c,
			"no persist barrier lies between the store at %s and %s: ordering them takes at "
			"least "
			"%s scope",
			lost.text, what.text, ct_scopes[needed]);
	} else if ((enum cause_scope)s->barrier.barrier.scope < needed) {
		say_narrow(s, lost.text, what.text, needed);
	} else {
		c->kind = CT_CAUSE_APART;
		cause_say(c,
			"%s did not wait for the barrier at %s, which had not completed for the store at %s "
			"(work-item %llu)",
			what.text, cause_site_name(s, s->barrier.barrier.site).text, lost.text,
			(ull)s->lost->work_item);
	}
	cause_propose_barriers(s, needed);
}

/* What makes stores of host code durable. */
static const struct host_words {
	const char *needed, *takes, *done, *call, *evicted, *early, *line;
} of_memory = {"flush and fence", "a flush and a fence", "flushed", "flush",
	", whose line may be evicted at any time", "its line may be evicted at any time",
	"both are in one line, which persists in program order"},
  of_files = {"sync", "a sync of its file (fsync, fdatasync, msync)", "synced", "sync",
	  ", which may be written back at any time", "it may be written back at any time",
	  "both are in one line of a sector, which persists in program order"};

static const struct host_words *words_of(const struct cause_search *s)
{
	if (s->stores->of_files) {
		return &of_files;
	}
	return &of_memory;
}

/* A flush without a fence, or a sync that has not returned. */
static void say_unfenced(struct cause_search *s, const char *lost, const char *what, const char *evicted)
{
	const struct cause_flushing *const f = &s->flushing;
	const struct cause_place flush = cause_site_name(s, f->flush_site),
				 fence = cause_site_name(s, f->fence_site);
	struct ct_cause *const c = s->cause;

	NVW_INVARIANT(f->flushed != 0);
	if (s->stores->of_files) {
		cause_say(c, "the store at %s is lost, because the sync at %s has not returned before %s%s",
			lost, flush.text, what, evicted);
		return;
	}
	NVW_PRINT(c->needed, "fence");
	cause_say(c,
		"the store at %s is flushed at %s, but no fence follows before %s%s: ordering them "
		"takes a "
		"fence",
		lost, flush.text, what, evicted);
	if (f->fenced != 0) { /* after early, or nothing would be lost */
		cause_say(c, " (the one at %s comes after both)", fence.text);
	}
}

/* The same for a host program: flush and fence. */
static void find_flush(struct cause_search *s)
{
	const struct cause_flushing *const f = &s->flushing;
	const struct host_words *const words = words_of(s);
	const bool is_store = s->need->early.kind == NVW_LOG_STORE;
	const struct cause_place what = cause_name_event(s, &s->need->early),
				 lost = cause_place_of(s, s->lost);
	const char *const evicted = is_store ? words->evicted : "";
	const struct ct_names *const flusher =
		s->lost_caller ? cause_site_of(s, ct_callers_alone(s->stores, f->flush_site)) : NULL;
	const struct cause_place flush = cause_site_name(s, f->flush_site);
	struct ct_line flush_line = cause_line_of(s, f->flush_site);
	struct ct_cause *const c = s->cause;

	cause_add_caller(&flush_line, flusher);

	c->kind = CT_CAUSE_MISSING;
	NVW_PRINT(c->needed, "%s", words->needed);
	if (f->flushed == 0) {
		cause_say(c, "the store at %s is never %s: ordering it before %s%s takes %s", lost.text,
			words->done, what.text, evicted, words->takes);
		cause_propose_flushing(s, s->lost);
	} else if (f->flushed > s->early->number) {
		cause_say(c,
			"the store at %s is not %s before %s%s: ordering them takes %s (the %s at %s comes "
			"too late)",
			lost.text, words->done, what.text, evicted, words->takes, words->call, flush.text);
		cause_propose_flushing(s, s->lost);
	} else {
		say_unfenced(s, lost.text, what.text, evicted);
		cause_propose(s, (struct ct_edit){.kind = CT_EDIT_FENCE, .a = flush_line});
	}
}

static void find_order(struct cause_search *s)
{
	NVW_INVARIANT(s->need->form == CT_NEED_ORDER);
	if (s->lost->kernel == 0) {
		find_flush(s);
	} else {
		find_barrier(s);
	}
	if (s->need->ack.store.number != 0) {
		cause_say(s->cause, "; the acknowledgement of operation %s relies on it as well",
			cause_operation_name(s).text);
	}
}

/* ---- Apart --------------------------------------------------------------------------------------------- */

static void say_reversed(struct cause_search *s)
{
	const enum cause_scope needed = scope_for(s->lost, s->early);
	const struct cause_place lost = cause_place_of(s, s->lost),
				 early = cause_name_event(s, &s->need->early);
	const bool in_line = ((s->early->off ^ s->lost->off) & ~(nvw_off)63) == 0;
	struct ct_cause *const c = s->cause;

	c->kind = CT_CAUSE_REVERSED;
	NVW_PRINT(c->needed, "%s", s->lost->kernel ? ct_scopes[needed] : words_of(s)->needed);
	cause_say(c, "%s comes too early: it must follow the store at %s", early.text, lost.text);
	cause_propose_exchange(s);
	if (s->need->early.kind == NVW_LOG_HOST) {
		cause_say(c, ", when it is durable");
	} else if (s->lost->kernel != 0) {
		cause_say(c, ", with a barrier of %s scope between them", ct_scopes[needed]);
		cause_propose_barriers(s, needed);
	} else if (in_line) {
		cause_say(c, "; a crash can come between the two (%s)", words_of(s)->line);
	} else {
		cause_say(c, ", with %s between them (%s)", words_of(s)->takes, words_of(s)->early);
		cause_propose_flushing(s, s->lost);
	}
}

/* After the place of another store: its line alone if the file is the same. */
static struct cause_place line_after(const struct ct_line *before, const struct ct_line *line)
{
	const bool is_same = before && !strcmp(before->file, line->file);
	struct cause_place p;
	const int n = NVW_PRINT(p.text, "%s:%u", is_same ? "" : line->file, line->line);

	if (line->caller_line != 0) {
		snprintf(p.text + n, sizeof p.text - (size_t)n, " (called at %s:%u)", line->caller_file,
			line->caller_line);
	}
	return p;
}

static void say_members(struct ct_cause *c)
{
	NVW_INVARIANT(c->group_count > 0);
	cause_say(c, " (%s", line_after(NULL, &c->group[0]).text);
	for (unsigned i = 1; i < c->group_count; i++) {
		cause_say(c, ", %s", line_after(&c->group[i - 1], &c->group[i]).text);
	}
	if (c->group_more > 0) {
		cause_say(c, " and %u more", c->group_more);
	}
	cause_say(c, ")");
}

void ct_cause_say_group(struct ct_cause *c, struct ct_proposals *ret_proposals)
{
	const unsigned n = c->group_count;
	struct ct_edit edit = {.kind = CT_EDIT_ATOMIC, .a = c->group[0], .b = c->group[n - 1]};

	NVW_INVARIANT(c->group_count <= CT_GROUP_MAX);
	c->text[0] = '\0';
	cause_say(c,
		"the crash fell between %s and %s, and the other order fails as well: these stores must be "
		"atomic: log them, or publish them by one 8-byte store",
		line_after(NULL, &c->group[0]).text, line_after(&c->group[0], &c->group[n - 1]).text);
	if (n > 2) {
		say_members(c);
	}
	for (unsigned i = 1; i + 1 < n && edit.more_count < CT_EDIT_MORE_MAX; i++) {
		edit.more[edit.more_count++] = c->group[i];
	}
	ret_proposals->count = n > 0 && c->group[0].line != 0 && c->group_more == 0;
	ret_proposals->edit[0] = edit;
}

/* The call that tells a store of the group from another one of the same line; 0: no other one is. */
static uint32_t caller_in_group(const struct cause_search *s, unsigned i)
{
	NVW_DEEP_INVARIANT(i < s->need->group_count);

	const struct ct_need *const n = s->need;
	uint32_t caller = 0;

	for (unsigned k = 0; k < n->group_count && caller == 0; k++) {
		if (k != i && ct_callers_one_place(s->stores, n->group[i].site, n->group[k].site)) {
			caller = ct_callers_apart(s->stores, n->group[i].site, n->group[k].site);
		}
	}
	return caller;
}

static void say_atomic(struct cause_search *s)
{
	const struct ct_need *const n = s->need;
	struct ct_cause *const c = s->cause;

	c->kind = CT_CAUSE_ATOMIC;
	NVW_PRINT(c->needed, "atomic stores");
	c->group_count = n->group_count;
	c->group_more = n->group_more;
	NVW_FOR(i, n->group_count) {
		c->group[i] = cause_line_of(s, n->group[i].site);
		cause_add_caller(&c->group[i], cause_site_of(s, caller_in_group(s, i)));
		if (c->group[i].line == 0) {
			NVW_PRINT(c->group[i].file,
				"a store at offset 0x%llx (no line: built without debug information)",
				(ull)n->group[i].off);
		}
	}
	ct_cause_say_group(c, s->proposals);
}

/* True if both stores are of one line, run by two kernels: to exchange it with itself is no change. */
static bool is_one_line(const struct cause_search *s)
{
	return s->need->early.kind == NVW_LOG_STORE && s->need->lost.kind == NVW_LOG_STORE &&
	       s->early->site == s->lost->site && s->early->kernel != s->lost->kernel;
}

static void say_content(struct cause_search *s)
{
	s->cause->kind = CT_CAUSE_CONTENT;
	cause_say(s->cause, "no order of stores helps: with nothing lost it fails since the store at %s, ",
		cause_place_of(s, s->early).text);
	if (is_one_line(s)) {
		cause_say(s->cause, "until that line stores again");
	} else {
		cause_say(s->cause, "and the store at %s does not end it in every kernel",
			cause_place_of(s, s->lost).text);
	}
}

/* Stores to the same bytes are not exchanged: the one that must come last would be lost, as where a
 * compare-and-swap reserves the word that the other one completes. */
static bool meet_in_bytes(const struct ct_store *a, const struct ct_store *b)
{
	return a->off < b->off + b->bytes && b->off < a->off + a->bytes;
}

static void find_apart(struct cause_search *s)
{
	struct ct_cause *const c = s->cause;

	NVW_INVARIANT(s->need->form == CT_NEED_APART);
	if (s->need->early.kind == NVW_LOG_ACK) {
		c->kind = CT_CAUSE_REVERSED;
		cause_say(c,
			"operation %s was acknowledged before its stores were made: the acknowledgement must "
			"follow the store at %s and a %s",
			cause_operation_name(s).text, cause_place_of(s, s->lost).text,
			s->lost->kernel ? "persist barrier" : words_of(s)->takes + strlen("a "));
		cause_propose_exchange(s);
		if (s->lost->kernel == 0) {
			cause_propose_flushing(s, s->lost);
		} else {
			cause_propose_barriers(s, scope_for(s->lost, s->early));
		}
	} else if (is_one_line(s) || s->need->goes_on) {
		say_content(s);
	} else if (s->need->lost.kind == NVW_LOG_STORE && !s->need->fails_reversed &&
		   !(s->need->early.kind == NVW_LOG_STORE && meet_in_bytes(s->lost, s->early))) {
		say_reversed(s);
	} else if (s->need->lost.kind == NVW_LOG_STORE && s->need->early.kind == NVW_LOG_STORE) {
		say_atomic(s);
	} else {
		c->kind = CT_CAUSE_ATOMIC;
		cause_say(c, "the crash fell between %s and %s, which must persist together",
			cause_name_event(s, &s->need->early).text, cause_name_event(s, &s->need->lost).text);
	}
}

/* ---- Logic --------------------------------------------------------------------------------------------- */

static void find_logic(struct cause_search *s)
{
	s->cause->kind = CT_CAUSE_LOGIC;
	cause_say(s->cause,
		"no crash is needed: with all stores durable it fails since %s, and no later store mends it",
		cause_name_event(s, &s->need->early).text);
}

/* ---- The cause ----------------------------------------------------------------------------------------- */

/* The operation that an acknowledgement is about: the one that is known to be behind the failure, if it is
 * among its. */
static uint64_t operation_of(const struct ct_need *n, uint64_t acknowledged)
{
	const struct ct_event *const e = n->early.kind == NVW_LOG_ACK ? &n->early : &n->ack;
	const uint64_t operation = acknowledged - 1;

	if (acknowledged != 0 && operation >= e->store.value && operation - e->store.value < e->count) {
		return operation;
	}
	return e->store.value;
}

static void note_caller(const struct cause_search *s, uint32_t site, char ret_caller[160])
{
	const struct ct_names *const at = cause_site_of(s, site);

	if (at) {
		snprintf(ret_caller, 160, "%s:%u", at->file, at->line);
	}
}

/* The source line of a store, and its function. */
static void note_side(const struct cause_search *s, const struct ct_store *store, char ret_place[160],
	char ret_function[64])
{
	const struct ct_names *const at = cause_site_of(s, store->site);

	snprintf(ret_place, 160, "%.159s", cause_site_or_offset(s, store).text);
	if (at) {
		snprintf(ret_function, 64, "%s", at->function);
	}
}

static void note_sides(struct cause_search *s)
{
	struct ct_cause *const c = s->cause;
	const enum nvw_log_kind early = s->need->early.kind;

	note_caller(s, s->lost_caller, c->lost_caller);
	note_caller(s, s->early_caller, c->early_caller);
	ct_callers_stack(s->stores, s->lost->site, c->lost_stack);
	ct_callers_stack(s->stores, s->early->site, c->early_stack);
	c->lost_record = s->lost->number;
	c->early_record = s->early->number;
	if (s->lost->number != 0) {
		note_side(s, s->lost, c->lost, c->lost_function);
	}
	if (early == NVW_LOG_STORE) {
		note_side(s, s->early, c->early, c->early_function);
	} else if (early == NVW_LOG_ACK) {
		strcpy(c->early, "acknowledgement");
	} else {
		strcpy(c->early, "host");
	}
}

static bool has_callers(const struct ct_stores *stores, const struct ct_store *store)
{
	const struct ct_names *const at = ct_stores_site(stores, store->site);

	return at && at->caller != 0;
}

static void find_by_form(struct cause_search *s)
{
	switch (s->need->form) {
	case CT_NEED_ORDER:
		find_order(s);
		break;
	case CT_NEED_APART:
		find_apart(s);
		break;
	default:
		find_logic(s);
	}
}

int ct_cause_find(int log_fd, const struct ct_stores *stores, const struct ct_operations *operations,
	const struct ct_need *need, uint64_t acknowledged, struct ct_cause *ret_cause,
	struct ct_proposals *ret_proposals)
{
	struct cause_search s = {.stores = stores,
		.operations = operations,
		.need = need,
		.lost = &need->lost.store,
		.early = &need->early.store,
		.operation = operation_of(need, acknowledged),
		.cause = ret_cause,
		.proposals = ret_proposals};
	const bool reads =
		need->form == CT_NEED_ORDER || has_callers(stores, s.lost) || has_callers(stores, s.early);
	const int error = reads ? cause_read_log(&s, log_fd) : 0;

	*ret_cause = (struct ct_cause){.kind = CT_CAUSE_NONE};
	*ret_proposals = (struct ct_proposals){0};
	if (error || need->form == CT_NEED_UNKNOWN) {
		return error;
	}
	if (need->guessed) {
		ret_cause->guessed = true;
		cause_say(ret_cause, "a guess by the closest stores, which no test has shown: ");
	}
	cause_helping_callers(&s.helping, stores, need, &s.lost_caller, &s.early_caller);
	note_sides(&s);
	find_by_form(&s);
	return 0;
}
