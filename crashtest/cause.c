/* SPDX-License-Identifier: BSD-3-Clause */
/* The barrier that is missing, or too narrow. See cause.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cause.h"
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

/* The event that should have waited for the lost store. */
struct other {
	uint64_t number; /* of its record */
	uint32_t kernel, site;
	uint64_t work_item, group;
};

/* Flush and fence of a store by a host program. */
struct flushing {
	uint64_t flushed, fenced; /* record numbers; 0: none */
	uint32_t flush_site, fence_site;
};

struct search {
	int log_fd;
	uint64_t records; /* to read */
	const struct ct_stores *stores;
	const struct ct_store *lost;
	uint64_t operation; /* the operation whose acknowledgement is sought, plus 1 */
	struct other ack;   /* the acknowledgement; number 0: not found */
	uint64_t end;       /* barriers after this record do not count */
	bool found;
	struct nvw_log_record barrier; /* the widest that the lost store's work-item met after it */
	uint64_t barrier_number;       /* of its record */
	struct flushing flushing;
};

static void look_at_flush(struct search *s, const struct nvw_log_record *r, uint64_t number)
{
	const nvw_off line = s->lost->off & ~(nvw_off)63;

	if (r->kind == NVW_LOG_FLUSH && number > s->lost->number && number < s->end &&
		s->flushing.flushed == 0 && r->flush.off < line + 64 &&
		r->flush.off + r->flush.bytes > line) {
		s->flushing.flushed = number;
		s->flushing.flush_site = r->flush.site;
	}
	if (r->kind == NVW_LOG_FENCE && s->flushing.flushed != 0 && number > s->flushing.flushed &&
		number < s->end && s->flushing.fenced == 0) {
		s->flushing.fenced = number;
		s->flushing.fence_site = r->fence.site;
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

static void look_at(struct search *s, const struct nvw_log_record *r, uint64_t number)
{
	look_at_flush(s, r, number);
	if (r->kind == NVW_LOG_ACK && s->operation != 0 && r->ack.first < s->operation &&
		s->operation <= r->ack.first + r->ack.count) {
		s->ack = (struct other){.number = number,
			.kernel = r->ack.kernel,
			.site = r->ack.site,
			.work_item = r->ack.work_item,
			.group = r->ack.group};
		s->end = number;
	}
	if (r->kind == NVW_LOG_BARRIER && number > s->lost->number && number < s->end &&
		is_met_by(r, s->lost) && (!s->found || r->barrier.scope > s->barrier.barrier.scope)) {
		s->found = true;
		s->barrier = *r;
		s->barrier_number = number;
	}
}

static int read_log(struct search *s)
{
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = nvw_log_open_fd(dup(s->log_fd), "persist log", &reader);

	if (error) {
		return error;
	}
	for (uint64_t i = 1; i <= s->records && (error = nvw_log_next(reader, &r)) == 1; i++) {
		look_at(s, &r, i);
	}
	nvw_log_reader_close(reader);
	return error < 0 ? error : 0;
}

static enum needed scope_for(const struct ct_store *lost, const struct other *other)
{
	if (lost->kernel != other->kernel || lost->kernel == 0) {
		return HOST;
	}
	return lost->work_item == other->work_item ? WORK_ITEM :
	       lost->group == other->group         ? WORK_GROUP :
						     KERNEL;
}

static const struct ct_names *site_of(const struct search *s, uint32_t site)
{
	return &s->stores->site[site - 1];
}

static void say(struct ct_cause *c, const struct search *s, enum needed needed, const char *what)
{
	const struct ct_names *const lost = site_of(s, s->lost->site);
	const struct ct_names *const at = s->found ? site_of(s, s->barrier.barrier.site) : NULL;

	snprintf(c->needed, sizeof c->needed, "%s", scopes[needed]);
	if (at != NULL) {
		snprintf(c->file, sizeof c->file, "%s", at->file);
		snprintf(c->function, sizeof c->function, "%s", at->function);
		c->line = at->line;
		snprintf(c->scope, sizeof c->scope, "%s", scopes[s->barrier.barrier.scope]);
		c->barrier_record = s->barrier_number;
	}
	if (needed == HOST) {
		c->kind = CT_CAUSE_MISSING;
		snprintf(c->text, sizeof c->text,
			"nothing waits for the store at %s:%u to be durable before %s: this takes a persist "
			"barrier at the end of its kernel, or nvw_persist() on the host",
			lost->file, lost->line, what);
	} else if (!s->found) {
		c->kind = CT_CAUSE_MISSING;
		snprintf(c->text, sizeof c->text,
			"no persist barrier lies between the store at %s:%u and %s: ordering them takes at "
			"least %s scope",
			lost->file, lost->line, what, scopes[needed]);
	} else if ((enum needed)s->barrier.barrier.scope < needed) {
		c->kind = CT_CAUSE_NARROW;
		snprintf(c->text, sizeof c->text,
			"the barrier at %s:%u has only %s scope: ordering the store at %s:%u (work-item %llu) "
			"before %s takes at least %s scope",
			at->file, at->line, c->scope, lost->file, lost->line,
			(unsigned long long)s->lost->work_item, what, scopes[needed]);
	} else {
		c->kind = CT_CAUSE_APART;
		snprintf(c->text, sizeof c->text,
			"%s did not wait for the barrier at %s:%u, which had not completed for the store at "
			"%s:%u (work-item %llu)",
			what, at->file, at->line, lost->file, lost->line,
			(unsigned long long)s->lost->work_item);
	}
}

static void say_reversed(
	struct ct_cause *c, const struct search *s, const struct ct_store *early, enum needed needed)
{
	const struct ct_names *const before = site_of(s, early->site), *const lost =
									       site_of(s, s->lost->site);

	c->kind = CT_CAUSE_REVERSED;
	snprintf(c->needed, sizeof c->needed, "%s", scopes[needed]);
	snprintf(c->text, sizeof c->text,
		"the store at %s:%u comes too early: it must follow the store at %s:%u, with a barrier "
		"of %s scope between them",
		before->file, before->line, lost->file, lost->line, scopes[needed]);
}

static void name_site(const struct search *s, uint32_t site, char ret_name[160])
{
	snprintf(ret_name, 160, "%s:%u", site_of(s, site)->file, site_of(s, site)->line);
}

/* For a host program: the missing flush or fence. */
static int find_on_host(struct search *s, const struct ct_store *early, struct ct_cause *c)
{
	const struct ct_store *const lost = s->lost;
	const struct ct_names *const at = site_of(s, lost->site), *const other = site_of(s, early->site);
	int error;

	s->end = early->number > lost->number ? early->number : UINT64_MAX;
	error = read_log(s);
	if (error) {
		return error;
	}
	snprintf(c->needed, sizeof c->needed, "flush and fence");
	c->lost_record = lost->number;
	c->early_record = early->number;
	name_site(s, lost->site, c->lost);
	name_site(s, early->site, c->early);
	c->kind = early->number < lost->number ? CT_CAUSE_REVERSED : CT_CAUSE_MISSING;
	if (early->number < lost->number && (early->off ^ lost->off) < NVW_LOG_LINE_BYTES) {
		snprintf(c->text, sizeof c->text,
			"the store at %s:%u comes too early: it must follow the store at %s:%u; a crash can "
			"come between the two (both are in one line, which persists in program order)",
			other->file, other->line, at->file, at->line);
	} else if (early->number < lost->number) {
		snprintf(c->text, sizeof c->text,
			"the store at %s:%u comes too early: it must follow the store at %s:%u, with a flush "
			"and a fence between them (its line may be evicted at any time)",
			other->file, other->line, at->file, at->line);
	} else if (s->flushing.flushed == 0) {
		snprintf(c->text, sizeof c->text,
			"the store at %s:%u is not flushed before the store at %s:%u, whose line may be evicted "
			"first: ordering them takes a flush and a fence",
			at->file, at->line, other->file, other->line);
	} else {
		const struct ct_names *const flush = site_of(s, s->flushing.flush_site);

		snprintf(c->text, sizeof c->text,
			"the store at %s:%u is flushed at %s:%u, but no fence follows before the store at "
			"%s:%u: ordering them takes a fence",
			at->file, at->line, flush->file, flush->line, other->file, other->line);
	}
	return 0;
}

/* For a host program: the operation was acknowledged, and its store is lost. */
static int find_own_acknowledgement(struct search *s, const struct ct_operation *own, struct ct_cause *c)
{
	const struct ct_names *const at = site_of(s, s->lost->site);
	char what[256];
	int error;

	s->end = own->durable;
	error = read_log(s);
	if (error) {
		return error;
	}
	snprintf(what, sizeof what, *own->name ? "operation %llu (%s)" : "operation %llu",
		(unsigned long long)own->number, own->name);
	c->kind = CT_CAUSE_MISSING;
	c->lost_record = s->lost->number;
	c->early_record = own->durable;
	snprintf(c->needed, sizeof c->needed, "flush and fence");
	name_site(s, s->lost->site, c->lost);
	snprintf(c->early, sizeof c->early, "acknowledgement");
	if (s->flushing.flushed == 0) {
		snprintf(c->text, sizeof c->text,
			"the store at %s:%u is not flushed before %s is acknowledged: this takes a flush and a fence",
			at->file, at->line, what);
	} else {
		const struct ct_names *const flush = site_of(s, s->flushing.flush_site);

		snprintf(c->text, sizeof c->text,
			"the store at %s:%u is flushed at %s:%u, but no fence follows before %s is acknowledged",
			at->file, at->line, flush->file, flush->line, what);
	}
	return 0;
}

/* The failure needs no lost store: the operation had stored nothing yet. */
static void find_before_stores(uint64_t acknowledged, struct ct_cause *c)
{
	if (acknowledged != 0) {
		c->kind = CT_CAUSE_REVERSED;
		snprintf(c->text, sizeof c->text,
			"operation %llu was acknowledged before its stores were "
			"made: the acknowledgement must follow them and a persist barrier",
			(unsigned long long)(acknowledged - 1));
	}
}

/* The cause is the acknowledgement that the search found. */
static void find_by_ack(struct search *s, struct ct_cause *c)
{
	const unsigned long long operation = s->operation - 1;
	char what[320];

	c->lost_record = s->lost->number;
	c->early_record = s->ack.number;
	if (s->ack.site != 0) {
		snprintf(what, sizeof what,
			"the acknowledgement of operation %llu at %s:%u by work-item %llu", operation,
			site_of(s, s->ack.site)->file, site_of(s, s->ack.site)->line,
			(unsigned long long)s->ack.work_item);
	} else if (s->ack.kernel != 0) {
		snprintf(what, sizeof what, "the acknowledgement of operation %llu by work-item %llu",
			operation, (unsigned long long)s->ack.work_item);
	} else {
		snprintf(what, sizeof what, "the host's acknowledgement of operation %llu", operation);
	}
	name_site(s, s->lost->site, c->lost);
	snprintf(c->early, sizeof c->early, "acknowledgement");
	say(c, s, scope_for(s->lost, &s->ack), what);
}

/* A store that was durable too early. */
static int find_by_store(struct search *s, const struct ct_store *early, struct ct_cause *c)
{
	const struct other other = {.number = early->number,
		.kernel = early->kernel,
		.work_item = early->work_item,
		.group = early->group};
	const enum needed needed = scope_for(s->lost, &other);
	char what[160];
	int error;

	s->operation = 0;
	s->end = other.number;
	s->found = false;
	error = read_log(s);
	if (error) {
		return error;
	}
	name_site(s, s->lost->site, c->lost);
	name_site(s, early->site, c->early);
	c->lost_record = s->lost->number;
	c->early_record = early->number;
	if (other.number < s->lost->number) {
		say_reversed(c, s, early, needed);
	} else {
		snprintf(what, sizeof what, "the store at %s:%u (work-item %llu)",
			site_of(s, early->site)->file, site_of(s, early->site)->line,
			(unsigned long long)other.work_item);
		say(c, s, needed, what);
	}
	return 0;
}

int ct_cause_find(int log_fd, uint64_t records, const struct ct_stores *stores, const struct ct_store *lost,
	const struct ct_effect *effect, struct ct_cause *ret_cause)
{
	struct search s = {.log_fd = log_fd,
		.records = records,
		.stores = stores,
		.lost = lost,
		.operation = effect->acknowledged,
		.end = UINT64_MAX};
	int error;

	*ret_cause = (struct ct_cause){.kind = CT_CAUSE_NONE};
	if (lost == NULL) {
		find_before_stores(effect->acknowledged, ret_cause);
		return 0;
	}
	if (lost->site == 0 || lost->site > stores->site_count) {
		return 0;
	}
	if (lost->kernel == 0) {
		s.operation = 0;
		if (effect->own != NULL) {
			return find_own_acknowledgement(&s, effect->own, ret_cause);
		}
		return effect->store ? find_on_host(&s, effect->store, ret_cause) : 0;
	}
	error = read_log(&s);
	if (error) {
		return error;
	}
	if (s.ack.number > lost->number) {
		find_by_ack(&s, ret_cause);
		return 0;
	}
	return effect->store ? find_by_store(&s, effect->store, ret_cause) : 0;
}
