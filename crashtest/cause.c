/* SPDX-License-Identifier: BSD-3-Clause */
/* A need in words, and what may cure it. See cause.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cause.h"
#include "cause_callers.h"
#include "operations.h"

enum needed { WORK_ITEM, WORK_GROUP, KERNEL, HOST };

static const char *const scopes[] = {"work-item", "work-group", "kernel", "host"};

const char *ct_cause_name(enum ct_cause_kind kind)
{
	static const char *const names[] = {
#define X(name, text) [CT_CAUSE_##name] = text,
		CT_CAUSES(X)
#undef X
	};

	return names[kind];
}

/* Flush and fence of a store by a host program. */
struct flushing {
	uint64_t flushed, fenced, thread; /* record numbers; 0: none */
	uint32_t flush_site, fence_site;
};

struct search {
	const struct ct_stores *stores;
	const struct ct_operations *operations; /* may be NULL */
	const struct ct_need *need;
	const struct ct_store *lost, *early; /* of need */
	uint64_t operation;                  /* that is acknowledged, if need says one is */
	struct ct_cause *cause;
	struct ct_proposals *proposals;
	bool found;
	struct nvw_log_record
		barrier;         /* the widest that the lost store's work-item met between lost and early */
	uint64_t barrier_number; /* of its record */
	struct flushing flushing;
	struct cause_helping helping;
	uint32_t lost_caller,
		early_caller; /* sites: the calls that tell lost and early from others of their line; 0: none is needed */
};

/* ---- The log between the two ---------------------------------------------------------------------------------- */

static void look_at_flush(struct search *s, const struct nvw_log_record *r, uint64_t number)
{
	struct flushing *const f = &s->flushing;
	const nvw_off line = s->lost->off & ~(nvw_off)63;

	if (r->kind == NVW_LOG_FLUSH && number > s->lost->number && f->flushed == 0 &&
		r->flush.off < line + 64 && r->flush.off + r->flush.bytes > line) {
		f->flushed = number;
		f->thread = r->flush.thread;
		f->flush_site = r->flush.site;
	}
	if (r->kind == NVW_LOG_FENCE && f->flushed != 0 && f->fenced == 0 && r->fence.thread == f->thread) {
		f->fenced = number;
		f->fence_site = r->fence.site;
	}
}

static bool is_met_by(const struct nvw_log_record *r, const struct ct_store *s)
{
	if (r->barrier.kernel != s->kernel) {
		return false;
	}
	switch (r->barrier.scope) {
	case NVW_WORKITEM: {
		const uint64_t lane = s->work_item - r->barrier.work_item;

		return s->work_item >= r->barrier.work_item && lane < 64 && (r->barrier.lanes >> lane & 1);
	}
	case NVW_WORKGROUP:
		return r->barrier.group == s->group;
	case NVW_KERNEL:
		return true;
	}
	return false;
}

/* ---- The log ------------------------------------------------------------------------------------------------- */

static void look_at(struct search *s, const struct nvw_log_record *r, uint64_t number)
{
	cause_helping_look(&s->helping, s->stores, s->need, r);
	if (s->need->form != CT_NEED_ORDER) {
		return;
	}
	look_at_flush(s, r, number);
	if (r->kind == NVW_LOG_BARRIER && number > s->lost->number && number < s->early->number &&
		is_met_by(r, s->lost) && (!s->found || r->barrier.scope > s->barrier.barrier.scope)) {
		s->found = true;
		s->barrier = *r;
		s->barrier_number = number;
	}
}

static int read_log(struct search *s, int log_fd)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = nvw_log_open_fd(dup(log_fd), "persist log", &reader);

	if (error) {
		return error;
	}
	for (uint64_t i = 1; (error = nvw_log_next(reader, &r)) == 1; i++) {
		look_at(s, &r, i);
	}
	nvw_log_reader_close(reader);
	return error < 0 ? error : 0;
}

/* ---- Names ---------------------------------------------------------------------------------------------------- */

enum { PLACE_BYTES = 400 };

struct place {
	char text[PLACE_BYTES];
};

static const struct ct_names *site_of(const struct search *s, uint32_t site)
{
	return site >= 1 && site <= s->stores->site_count ? &s->stores->site[site - 1] : NULL;
}

/* The call that tells it from others of its line; NULL: none is needed. */
static const struct ct_names *called_at(const struct search *s, const struct ct_store *store)
{
	return store == s->lost  ? site_of(s, s->lost_caller) :
	       store == s->early ? site_of(s, s->early_caller) :
				   NULL;
}

static struct place place_of(const struct search *s, const struct ct_store *store)
{
	const struct ct_names *const at = site_of(s, store->site), *const called = called_at(s, store);
	struct place p;

	if (at != NULL) {
		snprintf(p.text, sizeof p.text, "%s:%u", at->file, at->line);
		if (called != NULL) {
			const size_t n = strlen(p.text);

			snprintf(p.text + n, sizeof p.text - n, " (called at %s:%u)", called->file,
				called->line);
		}
	} else {
		snprintf(p.text, sizeof p.text, "offset 0x%llx (no line: built without debug information)",
			(unsigned long long)store->off);
	}
	return p;
}

/* Whoever calls it. */
static struct place site_or_offset(const struct search *s, const struct ct_store *store)
{
	const struct ct_store same = *store;

	return place_of(s, &same);
}

static struct place site_name(const struct search *s, uint32_t site)
{
	return place_of(s, &(struct ct_store){.site = site});
}

__attribute__((format(printf, 2, 3))) static void say(struct ct_cause *c, const char *format, ...)
{
	const size_t at = strlen(c->text);
	va_list args;

	va_start(args, format);
	vsnprintf(c->text + at, sizeof c->text - at, format, args);
	va_end(args);
}

static struct place operation_name(const struct search *s)
{
	const struct ct_operation *const o = ct_operations_find(s->operations, s->operation);
	struct place p;

	snprintf(p.text, sizeof p.text, o && *o->name ? "%llu (%s)" : "%llu",
		(unsigned long long)s->operation, o ? o->name : "");
	return p;
}

/* What relies on the lost store. */
static struct place name_event(const struct search *s, const struct ct_event *e)
{
	const unsigned long long item = e->store.work_item;
	struct place p;

	if (e->kind == NVW_LOG_HOST) {
		snprintf(p.text, sizeof p.text, "the host's write at offset 0x%llx",
			(unsigned long long)e->store.off);
	} else if (e->kind == NVW_LOG_ACK && s->lost->kernel == 0) {
		snprintf(p.text, sizeof p.text, "operation %.120s is acknowledged", operation_name(s).text);
	} else if (e->kind == NVW_LOG_ACK && e->store.kernel == 0) {
		snprintf(p.text, sizeof p.text, "the host's acknowledgement of operation %llu",
			(unsigned long long)s->operation);
	} else if (e->kind == NVW_LOG_ACK && e->store.site != 0) {
		snprintf(p.text, sizeof p.text,
			"the acknowledgement of operation %llu at %.100s by work-item %llu",
			(unsigned long long)s->operation, place_of(s, &e->store).text, item);
	} else if (e->kind == NVW_LOG_ACK) {
		snprintf(p.text, sizeof p.text, "the acknowledgement of operation %llu by work-item %llu",
			(unsigned long long)s->operation, item);
	} else if (e->store.kernel == 0) {
		snprintf(p.text, sizeof p.text, "the store at %.380s", place_of(s, &e->store).text);
	} else {
		snprintf(p.text, sizeof p.text, "the store at %.150s (work-item %llu)",
			place_of(s, &e->store).text, item);
	}
	return p;
}

/* ---- Proposals ------------------------------------------------------------------------------------------------ */

static struct ct_line line_of(const struct search *s, uint32_t site)
{
	const struct ct_names *const at = site_of(s, site);
	struct ct_line line = {.line = at ? at->line : 0};

	snprintf(line.file, sizeof line.file, "%s", at ? at->file : "");
	return line;
}

static void add_caller(struct ct_line *line, const struct ct_names *called)
{
	if (called != NULL) {
		ct_line_called(line, called->file, called->line);
	}
}

static struct ct_line line_of_store(const struct search *s, const struct ct_store *store)
{
	struct ct_line line = line_of(s, store->site);

	add_caller(&line, called_at(s, store));
	return line;
}

static void propose(const struct search *s, struct ct_edit edit)
{
	struct ct_proposals *const p = s->proposals;

	if ((edit.a.line != 0 || edit.b.line != 0) && p->count < CT_PROPOSALS_MAX) {
		p->edit[p->count++] = edit;
	}
}

static void propose_barrier(const struct search *s, const struct ct_store *after,
	const struct ct_store *before, enum needed needed)
{
	propose(s, (struct ct_edit){.kind = CT_EDIT_BARRIER,
			   .a = line_of(s, after->site),
			   .b = line_of(s, before->site),
			   .scope = needed == HOST ? NVW_KERNEL : (enum nvw_group)needed});
}

static void propose_flushing(const struct search *s, const struct ct_store *store)
{
	propose(s, (struct ct_edit){.kind = CT_EDIT_FLUSH, .a = line_of_store(s, store)});
	propose(s, (struct ct_edit){.kind = CT_EDIT_FENCE, .a = line_of_store(s, store)});
}

static void propose_exchange(const struct search *s)
{
	propose(s, (struct ct_edit){.kind = CT_EDIT_EXCHANGE,
			   .a = line_of_store(s, s->early),
			   .b = line_of_store(s, s->lost)});
}

/* ---- Order ---------------------------------------------------------------------------------------------------- */

static enum needed scope_for(const struct ct_store *lost, const struct ct_store *other)
{
	if (lost->kernel != other->kernel || lost->kernel == 0) {
		return HOST;
	}
	return lost->work_item == other->work_item ? WORK_ITEM :
	       lost->group == other->group         ? WORK_GROUP :
						     KERNEL;
}

static void note_barrier(struct search *s)
{
	const struct ct_names *const at = site_of(s, s->barrier.barrier.site);
	struct ct_cause *const c = s->cause;

	if (at != NULL) {
		snprintf(c->file, sizeof c->file, "%s", at->file);
		snprintf(c->function, sizeof c->function, "%s", at->function);
		c->line = at->line;
	}
	snprintf(c->scope, sizeof c->scope, "%s", scopes[s->barrier.barrier.scope]);
	c->barrier_record = s->barrier_number;
}

static void say_narrow(struct search *s, const char *lost, const char *what, enum needed needed)
{
	s->cause->kind = CT_CAUSE_NARROW;
	say(s->cause,
		"the barrier at %s has only %s scope: ordering the store at %s (work-item %llu) before %s takes "
		"at least %s scope",
		site_name(s, s->barrier.barrier.site).text, s->cause->scope, lost,
		(unsigned long long)s->lost->work_item, what, scopes[needed]);
	propose(s, (struct ct_edit){.kind = CT_EDIT_WIDEN,
			   .a = line_of(s, s->barrier.barrier.site),
			   .scope = (enum nvw_group)needed});
}

/* A barrier is missing, of too narrow a scope, or was not met by the other. */
static void find_barrier(struct search *s)
{
	const enum needed needed = scope_for(s->lost, s->early);
	const struct place what = name_event(s, &s->need->early), lost = place_of(s, s->lost);
	struct ct_cause *const c = s->cause;

	snprintf(c->needed, sizeof c->needed, "%s", scopes[needed]);
	if (s->found) {
		note_barrier(s);
	}
	if (needed == HOST) {
		c->kind = CT_CAUSE_MISSING;
		say(c,
			"nothing waits for the store at %s to be durable before %s: this takes a persist "
			"barrier at the end of its kernel, or %s",
			lost.text, what.text,
			s->early && s->early->kernel == 0 ? "a flush and a fence by host code behind it" :
							    "nvw_persist() on the host");
	} else if (!s->found) {
		c->kind = CT_CAUSE_MISSING;
		say(c,
			"no persist barrier lies between the store at %s and %s: ordering them takes at least "
			"%s scope",
			lost.text, what.text, scopes[needed]);
	} else if ((enum needed)s->barrier.barrier.scope < needed) {
		say_narrow(s, lost.text, what.text, needed);
	} else {
		c->kind = CT_CAUSE_APART;
		say(c,
			"%s did not wait for the barrier at %s, which had not completed for the store at %s "
			"(work-item %llu)",
			what.text, site_name(s, s->barrier.barrier.site).text, lost.text,
			(unsigned long long)s->lost->work_item);
	}
	propose_barrier(s, s->lost, s->early, needed);
	if (needed == WORK_ITEM) {
		propose(s, (struct ct_edit){.kind = CT_EDIT_BARRIER, .b = line_of(s, s->early->site)});
	}
	for (enum needed wider = needed + 1; wider <= KERNEL; wider++) {
		propose_barrier(s, s->lost, s->early, wider);
	}
}

/* The same for a host program: flush and fence. */
static void find_flush(struct search *s)
{
	const struct flushing *const f = &s->flushing;
	const bool is_store = s->need->early.kind == NVW_LOG_STORE;
	const struct place what = name_event(s, &s->need->early), lost = place_of(s, s->lost);
	const char *const evicted = is_store ? ", whose line may be evicted at any time" : "";
	const struct ct_names *const flusher =
		s->lost_caller ? site_of(s, ct_callers_alone(s->stores, f->flush_site)) : NULL;
	const struct place flush = site_name(s, f->flush_site), fence = site_name(s, f->fence_site);
	struct ct_line flush_line = line_of(s, f->flush_site);
	struct ct_cause *const c = s->cause;

	add_caller(&flush_line, flusher);

	c->kind = CT_CAUSE_MISSING;
	snprintf(c->needed, sizeof c->needed, "flush and fence");
	if (f->flushed == 0) {
		say(c, "the store at %s is never flushed: ordering it before %s%s takes a flush and a fence",
			lost.text, what.text, evicted);
		propose_flushing(s, s->lost);
	} else if (f->flushed > s->early->number) {
		say(c,
			"the store at %s is not flushed before %s%s: ordering them takes a flush and a fence (the "
			"flush at %s comes too late)",
			lost.text, what.text, evicted, flush.text);
		propose_flushing(s, s->lost);
	} else {
		snprintf(c->needed, sizeof c->needed, "fence");
		say(c,
			"the store at %s is flushed at %s, but no fence follows before %s%s: ordering them takes a "
			"fence",
			lost.text, flush.text, what.text, evicted);
		if (f->fenced != 0) { /* after early, or nothing would be lost */
			say(c, " (the one at %s comes after both)", fence.text);
		}
		propose(s, (struct ct_edit){.kind = CT_EDIT_FENCE, .a = flush_line});
	}
}

static void find_order(struct search *s)
{
	if (s->lost->kernel == 0) {
		find_flush(s);
	} else {
		find_barrier(s);
	}
	if (s->need->ack.store.number != 0) {
		say(s->cause, "; the acknowledgement of operation %s relies on it as well",
			operation_name(s).text);
	}
}

/* ---- Apart ---------------------------------------------------------------------------------------------------- */

static void say_reversed(struct search *s)
{
	const enum needed needed = scope_for(s->lost, s->early);
	const struct place lost = place_of(s, s->lost), early = name_event(s, &s->need->early);
	const bool in_line = ((s->early->off ^ s->lost->off) & ~(nvw_off)63) == 0;
	struct ct_cause *const c = s->cause;

	c->kind = CT_CAUSE_REVERSED;
	snprintf(c->needed, sizeof c->needed, "%s", s->lost->kernel ? scopes[needed] : "flush and fence");
	say(c, "%s comes too early: it must follow the store at %s", early.text, lost.text);
	propose_exchange(s);
	if (s->need->early.kind == NVW_LOG_HOST) {
		say(c, ", when it is durable");
	} else if (s->lost->kernel != 0) {
		say(c, ", with a barrier of %s scope between them", scopes[needed]);
		propose_barrier(s, s->lost, s->early, needed);
	} else if (in_line) {
		say(c, "; a crash can come between the two (both are in one line, which persists in program order)");
	} else {
		say(c, ", with a flush and a fence between them (its line may be evicted at any time)");
		propose_flushing(s, s->lost);
	}
}

/* After the place of another store: its line alone if the file is the same. */
static struct place line_after(const struct ct_line *before, const struct ct_line *line)
{
	const bool is_same = before != NULL && strcmp(before->file, line->file) == 0;
	struct place p;
	const int n = snprintf(p.text, sizeof p.text, "%s:%u", is_same ? "" : line->file, line->line);

	if (line->caller_line != 0) {
		snprintf(p.text + n, sizeof p.text - (size_t)n, " (called at %s:%u)", line->caller_file,
			line->caller_line);
	}
	return p;
}

void ct_cause_say_group(struct ct_cause *c, struct ct_proposals *ret_proposals)
{
	const unsigned n = c->group_count;
	struct ct_edit edit = {.kind = CT_EDIT_ATOMIC, .a = c->group[0], .b = c->group[n - 1]};

	c->text[0] = '\0';
	say(c,
		"the crash fell between %s and %s, and the other order fails as well: these stores must be "
		"atomic: log them, or publish them by one 8-byte store",
		line_after(NULL, &c->group[0]).text, line_after(&c->group[0], &c->group[n - 1]).text);
	for (unsigned i = 0; i < n && n > 2; i++) {
		say(c, "%s%s", i ? ", " : " (", line_after(i ? &c->group[i - 1] : NULL, &c->group[i]).text);
	}
	if (n > 2 && c->group_more > 0) {
		say(c, " and %u more", c->group_more);
	}
	say(c, n > 2 ? ")" : "");
	for (unsigned i = 1; i + 1 < n && edit.more_count < CT_EDIT_MORE_MAX; i++) {
		edit.more[edit.more_count++] = c->group[i];
	}
	ret_proposals->count = n > 0 && c->group[0].line != 0 && c->group_more == 0;
	ret_proposals->edit[0] = edit;
}

/* The call that tells a store of the group from another one of the same line; 0: no other one is. */
static uint32_t caller_in_group(const struct search *s, unsigned i)
{
	const struct ct_need *const n = s->need;
	uint32_t caller = 0;

	for (unsigned k = 0; k < n->group_count && caller == 0; k++) {
		if (k != i && ct_callers_one_place(s->stores, n->group[i].site, n->group[k].site)) {
			caller = ct_callers_apart(s->stores, n->group[i].site, n->group[k].site);
		}
	}
	return caller;
}

static void say_atomic(struct search *s)
{
	const struct ct_need *const n = s->need;
	struct ct_cause *const c = s->cause;

	c->kind = CT_CAUSE_ATOMIC;
	snprintf(c->needed, sizeof c->needed, "atomic stores");
	c->group_count = n->group_count;
	c->group_more = n->group_more;
	for (unsigned i = 0; i < n->group_count; i++) {
		c->group[i] = line_of(s, n->group[i].site);
		add_caller(&c->group[i], site_of(s, caller_in_group(s, i)));
		if (c->group[i].line == 0) {
			snprintf(c->group[i].file, sizeof c->group[i].file,
				"a store at offset 0x%llx (no line: built without debug information)",
				(unsigned long long)n->group[i].off);
		}
	}
	ct_cause_say_group(c, s->proposals);
}

/* Of one line, run by two kernels: to exchange it with itself is no change. */
static bool is_one_line(const struct search *s)
{
	return s->need->early.kind == NVW_LOG_STORE && s->need->lost.kind == NVW_LOG_STORE &&
	       s->early->site == s->lost->site && s->early->kernel != s->lost->kernel;
}

static void say_content(struct search *s)
{
	s->cause->kind = CT_CAUSE_CONTENT;
	say(s->cause, "no order of stores helps: with nothing lost it fails since the store at %s, ",
		place_of(s, s->early).text);
	if (is_one_line(s)) {
		say(s->cause, "until that line stores again");
	} else {
		say(s->cause, "and the store at %s does not end it in every kernel",
			place_of(s, s->lost).text);
	}
}

static void find_apart(struct search *s)
{
	struct ct_cause *const c = s->cause;

	if (s->need->early.kind == NVW_LOG_ACK) {
		c->kind = CT_CAUSE_REVERSED;
		say(c,
			"operation %s was acknowledged before its stores were made: the acknowledgement must "
			"follow the store at %s and a %s",
			operation_name(s).text, place_of(s, s->lost).text,
			s->lost->kernel ? "persist barrier" : "flush and a fence");
		propose_exchange(s);
		if (s->lost->kernel == 0) {
			propose_flushing(s, s->lost);
		} else {
			propose_barrier(s, s->lost, s->early, scope_for(s->lost, s->early));
		}
	} else if (is_one_line(s) || s->need->goes_on) {
		say_content(s);
	} else if (s->need->lost.kind == NVW_LOG_STORE && !s->need->fails_reversed) {
		say_reversed(s);
	} else if (s->need->lost.kind == NVW_LOG_STORE && s->need->early.kind == NVW_LOG_STORE) {
		say_atomic(s);
	} else {
		c->kind = CT_CAUSE_ATOMIC;
		say(c, "the crash fell between %s and %s, which must persist together",
			name_event(s, &s->need->early).text, name_event(s, &s->need->lost).text);
	}
}

/* ---- Logic ---------------------------------------------------------------------------------------------------- */

static void find_logic(struct search *s)
{
	s->cause->kind = CT_CAUSE_LOGIC;
	say(s->cause,
		"no crash is needed: with all stores durable it fails since %s, and no later store mends it",
		name_event(s, &s->need->early).text);
}

/* ---- The cause ------------------------------------------------------------------------------------------------ */

/* The operation that an acknowledgement is about: the one that is known to be behind the failure, if it is among its. */
static uint64_t operation_of(const struct ct_need *n, uint64_t acknowledged)
{
	const struct ct_event *const e = n->early.kind == NVW_LOG_ACK ? &n->early : &n->ack;
	const uint64_t operation = acknowledged - 1;

	return acknowledged != 0 && operation >= e->store.value && operation - e->store.value < e->count ?
		       operation :
		       e->store.value;
}

static void note_caller(const struct search *s, uint32_t site, char ret_caller[160])
{
	const struct ct_names *const at = site_of(s, site);

	if (at != NULL) {
		snprintf(ret_caller, 160, "%s:%u", at->file, at->line);
	}
}

static void note_sides(struct search *s)
{
	struct ct_cause *const c = s->cause;
	const struct ct_event *const early = &s->need->early;

	note_caller(s, s->lost_caller, c->lost_caller);
	note_caller(s, s->early_caller, c->early_caller);
	ct_callers_stack(s->stores, s->lost->site, c->lost_stack);
	ct_callers_stack(s->stores, s->early->site, c->early_stack);
	c->lost_record = s->lost->number;
	c->early_record = s->early->number;
	if (s->lost->number != 0) {
		const struct ct_names *const at = site_of(s, s->lost->site);

		snprintf(c->lost, sizeof c->lost, "%.159s", site_or_offset(s, s->lost).text);
		snprintf(c->lost_function, sizeof c->lost_function, "%s", at ? at->function : "");
	}
	if (early->kind == NVW_LOG_STORE) {
		const struct ct_names *const at = site_of(s, s->early->site);

		snprintf(c->early, sizeof c->early, "%.159s", site_or_offset(s, s->early).text);
		snprintf(c->early_function, sizeof c->early_function, "%s", at ? at->function : "");
	} else {
		snprintf(c->early, sizeof c->early, "%s",
			early->kind == NVW_LOG_ACK ? "acknowledgement" : "host");
	}
}

static bool has_callers(const struct ct_stores *stores, const struct ct_store *store)
{
	return store->site >= 1 && store->site <= stores->site_count &&
	       stores->site[store->site - 1].caller != 0;
}

int ct_cause_find(int log_fd, const struct ct_stores *stores, const struct ct_operations *operations,
	const struct ct_need *need, uint64_t acknowledged, struct ct_cause *ret_cause,
	struct ct_proposals *ret_proposals)
{
	struct search s = {.stores = stores,
		.operations = operations,
		.need = need,
		.lost = &need->lost.store,
		.early = &need->early.store,
		.operation = operation_of(need, acknowledged),
		.cause = ret_cause,
		.proposals = ret_proposals};
	const bool reads =
		need->form == CT_NEED_ORDER || has_callers(stores, s.lost) || has_callers(stores, s.early);
	const int error = reads ? read_log(&s, log_fd) : 0;

	*ret_cause = (struct ct_cause){.kind = CT_CAUSE_NONE};
	*ret_proposals = (struct ct_proposals){0};
	if (error || need->form == CT_NEED_UNKNOWN) {
		return error;
	}
	if (need->guessed) {
		ret_cause->guessed = true;
		say(ret_cause, "a guess by the closest stores, which no test has shown: ");
	}
	cause_helping_callers(&s.helping, stores, need, &s.lost_caller, &s.early_caller);
	note_sides(&s);
	switch (need->form) {
	case CT_NEED_ORDER:
		find_order(&s);
		break;
	case CT_NEED_APART:
		find_apart(&s);
		break;
	default:
		find_logic(&s);
	}
	return 0;
}
