/* SPDX-License-Identifier: BSD-3-Clause */
/* See crash_races.h: where the power is cut within a race, and what is lost. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/random.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/copy.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/stop.h"

#include "../programs/tested.h"
#include "race_cuts.h"

/* States of a cut: a line has few. */
enum { CUT_STATES = 4096, STORES = 64, THREADS = 1 << 12 };

/* ---- The line of the store, record by record -------------------------------------------------------- */

struct line {
	uint64_t off;
	uint64_t stores, certain; /* of them, the first so many are durable */
	uint64_t flushed[THREADS];
};

static bool is_in(const struct line *l, const struct nvw_log_record *r)
{
	return r->kind == NVW_LOG_STORE && r->store.off / LINE * LINE == l->off;
}

static void follow_flush(struct line *l, const struct nvw_log_record *r)
{
	const __auto_type f = &r->flush;

	if (f->off >= l->off + LINE || f->off + f->bytes <= l->off) {
		return;
	}
	if (f->ordered) {
		l->certain = l->stores;
	} else {
		l->flushed[f->thread % THREADS] = l->stores;
	}
}

static void follow(struct line *l, const struct nvw_log_record *r)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		l->stores += is_in(l, r);
		break;
	case NVW_LOG_FLUSH:
		follow_flush(l, r);
		break;
	case NVW_LOG_FENCE:
		l->certain = nvw_max(l->certain, l->flushed[r->fence.thread % THREADS]);
		break;
	case NVW_LOG_DRAINED:
		l->certain = l->stores;
		break;
	default:
		break;
	}
	NVW_INVARIANT(l->certain <= l->stores);
}

/* ---- Where to cut --------------------------------------------------------------------------------- */

/* Before this record, from 0. Of the line's stores until then, so many are certain, and there are none
 * found by comparison behind so many. */
struct cut {
	uint64_t record, stores, certain, found;
};

struct search {
	const struct crash_races *all;
	struct happened *of;
	struct line line;
	uint32_t *site; /* those of the store's place */
	size_t sites, room;
	bool has_store, is_behind; /* the store was met; and the effect */
	bool touched;              /* some store has changed its word, in the whole run */
	bool unnamed;              /* one of them is not known by its place */
	bool overwritten;          /* alone: another instruction has stored to its line since */
	uint64_t store;            /* its number in the line, from 0 */
	uint64_t thread, instruction;
	uint64_t found;         /* up to this number some stores were found by comparison */
	struct cut early, late; /* record 0: none */
};

static bool is_found(const struct crash_races *x, uint64_t line, uint64_t event)
{
	return x->found_more ||
	       NVW_ANY(one, x->found, x->found_count, one->line == line && one->event == event);
}

static int note_site(struct search *x, const struct nvw_log_record *r)
{
	if (r->site.line != x->of->store.line || strcmp(r->site.file, x->of->store.file) != 0) {
		return 0;
	}
	NVW_GROWN(x->site, x->room, x->sites + 1, "no memory for places");
	x->site[x->sites++] = x->of->nameless && r->site.caller != 0 ? r->site.caller : r->site.id;
	return 0;
}

static bool is_raced(const struct search *x, const struct nvw_log_record *r)
{
	if (!is_in(&x->line, r) || r->store.off / 8 != x->of->witness.word) {
		return false;
	}
	return NVW_ANY(site, x->site, x->sites, *site == r->store.site);
}

static bool is_effect(const struct happened *h, const struct nvw_log_record *r, uint64_t number)
{
	if (h->alone) {
		return number > h->record;
	}
	return r->time_ps / 1000 > h->witness.event || r->kind == NVW_LOG_END;
}

static bool changes_word(const struct nvw_log_record *r, uint64_t word)
{
	if (r->kind == NVW_LOG_HOST) {
		return r->host.off < word * 8 + 8 && r->host.off + r->host.bytes > word * 8;
	}
	return r->kind == NVW_LOG_STORE && r->store.off / 8 == word;
}

/* The store was recorded by itself, with its place. */
static bool is_named(const struct search *x, const struct nvw_log_record *r)
{
	return r->kind == NVW_LOG_STORE && r->store.site != 0 &&
	       !is_found(x->all, x->line.off, r->time_ps / 1000);
}

/* A store is recorded at its thread's next event or another's, perhaps behind its load's effect. false: it is
 * certain, so there is no more to find. Alone, the store is lost behind the last acknowledgement before its
 * line is stored to again, if there is one. */
static bool look(struct search *x, const struct nvw_log_record *r, uint64_t number)
{
	const struct cut here = {
		.record = number, .stores = x->line.stores, .certain = x->line.certain, .found = x->found};

	if (changes_word(r, x->of->witness.word)) {
		x->touched = true;
		x->unnamed = x->unnamed || !is_named(x, r);
	}
	x->is_behind = x->is_behind || is_effect(x->of, r, number);
	if ((!x->is_behind || !x->has_store) && is_raced(x, r)) {
		x->store = x->line.stores;
		x->has_store = true;
		x->thread = r->store.work_item;
		x->instruction = r->store.group;
	} else if (x->has_store && is_in(&x->line, r)) {
		x->overwritten =
			x->overwritten || r->store.work_item != x->thread || r->store.group != x->instruction;
	}
	follow(&x->line, r);
	if (is_in(&x->line, r) && is_found(x->all, x->line.off, r->time_ps / 1000)) {
		x->found = x->line.stores;
	}
	if (!x->is_behind || !x->has_store) {
		return true;
	}
	if (here.certain > x->store) {
		return false;
	}
	x->late = here;
	if (r->kind == NVW_LOG_ACK && (x->early.record == 0 || (x->of->alone && !x->overwritten))) {
		x->early = (struct cut){.record = number + 1,
			.stores = x->line.stores,
			.certain = x->line.certain,
			.found = x->found};
	}
	return x->line.certain <= x->store;
}

static int search(struct search *x, struct nvw_log_reader *log)
{
	struct nvw_log_record r;
	int more;

	for (uint64_t i = 0; (more = nvw_log_next(log, &r)) == 1; i++) {
		if (r.kind == NVW_LOG_SITE) {
			NVW_TRY(note_site(x, &r));
		}
		if (!look(x, &r, i)) {
			break;
		}
	}
	return more < 0 ? more : 0;
}

/* ---- Stores whose flush is late or missing ----------------------------------------------------------- */

/* One of its executions, each as likely, and another one in each schedule. */
static void note_execution(
	struct crash_races *x, struct unflushed *u, const struct nvw_log_record *r, uint64_t number)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	u->executions++;
	if (nvw_mix64(x->schedule << 40 ^ number) % u->executions == 0) {
		u->record = number;
		u->word = r->store.off / 8;
	}
}

static struct unflushed *unflushed_at(struct crash_races *x, const struct nvw_log_record *r)
{
	return NVW_FIND(one, x->unflushed, x->unflushed_count,
		one->store.line == r->site.line && !strcmp(one->store.file, r->site.file));
}

static int find_executions(struct crash_races *x, struct nvw_log_reader *log)
{
	struct unflushed **of_site = NULL;
	size_t room = 0, sites = 0;
	struct nvw_log_record r;
	int more;

	for (uint64_t i = 0; (more = nvw_log_next(log, &r)) == 1; i++) {
		if (r.kind == NVW_LOG_STORE && r.store.site < sites && of_site[r.store.site] != NULL) {
			note_execution(x, of_site[r.store.site], &r, i);
		}
		if (r.kind != NVW_LOG_SITE) {
			continue;
		}
		if (!NVW_ROOM(of_site, room, (size_t)r.site.id + 1)) {
			more = nvw_fail(NVW_E_MEMORY, "no memory for places");
			break;
		}
		for (; sites <= r.site.id; sites++) {
			of_site[sites] = NULL;
		}
		of_site[r.site.id] = unflushed_at(x, &r);
	}
	free(of_site);
	return nvw_min(more, 0);
}

/* They are tried as what has happened. */
static int take_executions(struct crash_races *x, const char *path)
{
	struct nvw_log_reader *log;

	NVW_INVARIANT(x->unflushed_count <= UNFLUSHED);
	if (x->unflushed_count == 0) {
		return 0;
	}
	NVW_TRY(nvw_log_open(path, &log));
	const int error = find_executions(x, log);

	nvw_log_reader_close(log);
	for (unsigned i = 0; i < x->unflushed_count && !error; i++) {
		const struct unflushed *const u = &x->unflushed[i];

		if (u->executions == 0) {
			continue;
		}
		if (!has_happened(&x->race[u->race])) {
			x->race[u->race].schedule = x->schedule;
		}
		x->happened[x->happened_count++] = (struct happened){.race = u->race,
			.witness = {.store = u->site, .word = u->word},
			.store = u->store,
			.alone = true,
			.record = u->record};
	}
	return error;
}

/* ---- Cutting -------------------------------------------------------------------------------------- */

/* What a cut log has: places, operations, acknowledgements, and at last the stores that are not certain. */
struct cutting {
	struct nvw_log_writer *to;
	int base;
	struct line line;
	uint64_t certain, kept;
	struct nvw_log_record store[STORES];
	uint64_t time_ps;
};

static int apply(const struct cutting *c, const struct nvw_log_record *r)
{
	const void *const data = r->kind == NVW_LOG_HOST ? (const void *)r->host.data : &r->store.value;
	const uint64_t off = r->kind == NVW_LOG_HOST ? r->host.off : r->store.off;
	const size_t n = r->kind == NVW_LOG_HOST ? r->host.bytes : r->store.bytes;

	if (pwrite(c->base, data, n, (off_t)off) != (ssize_t)n) {
		return nvw_fail_errno("a copy of the image");
	}
	return 0;
}

static int take_record(struct cutting *c, const struct nvw_log_record *r)
{
	const bool keep = is_in(&c->line, r) && c->line.stores >= c->certain;

	follow(&c->line, r);
	c->time_ps = r->time_ps;
	switch (r->kind) {
	case NVW_LOG_SITE:
	case NVW_LOG_BEGIN:
	case NVW_LOG_ACK:
	case NVW_LOG_THREADS:
		return nvw_log_append(c->to, r);
	case NVW_LOG_HOST:
		return apply(c, r);
	case NVW_LOG_STORE:
		if (!keep) {
			return apply(c, r);
		}
		c->store[c->kept++ % STORES] = *r;
		return 0;
	default:
		return 0;
	}
}

static int cut_log(struct cutting *c, struct nvw_log_reader *log, const struct cut *at)
{
	struct nvw_log_record r;
	int more = 1;

	NVW_INVARIANT(c->kept == 0);
	for (uint64_t i = 0; i < at->record && (more = nvw_log_next(log, &r)) == 1; i++) {
		NVW_TRY(take_record(c, &r));
	}
	for (uint64_t i = 0; i < c->kept && c->kept <= STORES && more > 0; i++) {
		c->store[i].time_ps = c->time_ps;
		NVW_TRY(nvw_log_append(c->to, &c->store[i]));
	}
	return more < 0 ? more : 0;
}

/* All that is left uncertain was recorded store by store, whatever the rest of the log is. */
static struct nvw_log_info info_of(struct nvw_log_reader *log, const struct cut *at)
{
	struct nvw_log_info info = *nvw_log_info(log);

	NVW_INVARIANT(at->record > 0);
	if (at->found <= at->certain) {
		info.atomicity = 8;
	}
	return info;
}

/* Writes log and image of the cut. */
static int make_cut(const struct crash_tested *t, struct nvw_log_reader *log, uint64_t line,
	const struct cut *at, const char *to_log, const char *to_base, uint64_t *ret_kept)
{
	NVW_INVARIANT(at->certain <= at->stores);

	struct cutting *const c = calloc(1, sizeof *c);

	NVW_ALLOCATED(c, "no memory for a cut");
	c->line.off = line;
	c->certain = at->certain;
	c->base = -1;
	int error = nvw_copy_file(t->base, to_base);

	if (!error) {
		c->base = open(to_base, O_RDWR | O_CLOEXEC);
		error = c->base < 0 ? nvw_fail_errno("%s", to_base) : nvw_log_rewind(log);
	}
	if (!error) {
		const struct nvw_log_info info = info_of(log, at);

		error = nvw_log_create(to_log, &info, &c->to);
	}
	if (!error) {
		error = cut_log(c, log, at);
		if (error) {
			nvw_log_abandon(c->to);
		} else {
			error = nvw_log_close(c->to, c->time_ps + 1000);
		}
	}
	if (c->base >= 0) {
		close(c->base);
	}
	*ret_kept = c->kept;
	free(c);
	return error;
}

/* ---- What is lost --------------------------------------------------------------------------------- */

static int explore_cut(const struct crash_tested *t, const struct ct_options *options, json_t *schedule,
	const char *log, const char *base, struct ct_result *room)
{
	struct ct_foreign foreign = crash_tested_log(t);
	struct ct_options o = *options;

	foreign.store_log = log;
	foreign.image = base;
	foreign.schedule = schedule;
	o.states = CUT_STATES;
	o.cures = false;
	o.save = schedule ? options->save : NULL;
	ct_result_clear(room);
	return crash_tested_explore(t, &foreign, &o, room);
}

/* Why a cut tells nothing, if it does not. */
static void say_open(struct outcome *o, const struct ct_result *room)
{
	const char *words = "not all states of the cut were tested";

	if (room->without_crash && room->finding_count > 0) {
		words = "fails without this loss, too: ";
	} else if (room->states_undecided > 0) {
		words = "no verdict: ";
	}
	const char *const what = room->finding_count > 0 ? room->finding[0].text : room->undecided;

	NVW_PRINT(o->text, "%s%.180s", words, what);
}

static void conclude(struct outcome *o, const struct ct_result *room)
{
	o->fate = CT_RACE_OPEN;
	if (room->without_crash || room->interrupted || room->states_undecided > 0) {
		say_open(o, room);
	} else if (room->finding_count > 0) {
		o->fate = CT_RACE_LOST;
		NVW_PRINT(o->text, "%s", room->finding[0].text);
	} else if (ct_covers_all(room)) {
		o->fate = CT_RACE_TRIED;
	} else {
		say_open(o, room);
	}
}

static void judge(struct ct_race *race, const struct outcome *o, uint64_t schedule)
{
	race->cuts++;
	if (race->fate == CT_RACE_OPEN || o->fate == CT_RACE_LOST) {
		race->fate = o->fate;
		race->schedule = schedule;
		NVW_PRINT(race->text, "%s", o->text);
	}
}

struct attempt {
	struct crash_races *all;
	const struct crash_tested *tested;
	const struct ct_options *options;
	json_t *schedule; /* of the last run */
	struct ct_result *room;
	void (*lost)(void *context, struct ct_result *result);
	void *context;
};

/* 1: a result; 0: too many stores are uncertain. A finding is saved with its schedule; NULL: it is not. */
static int explore_one(const struct attempt *a, struct nvw_log_reader *log, uint64_t line,
	const struct cut *at, json_t *schedule)
{
	char to_log[320], to_base[320];
	uint64_t kept = 0;

	NVW_INVARIANT(at->record > 0);
	NVW_PRINT(to_log, "%s.cut", a->tested->log);
	NVW_PRINT(to_base, "%s.cut", a->tested->base);
	int error = make_cut(a->tested, log, line, at, to_log, to_base, &kept);
	const bool fits = !error && kept <= STORES;

	if (fits) {
		error = explore_cut(a->tested, a->options, schedule, to_log, to_base, a->room);
	}
	unlink(to_log);
	unlink(to_base);
	return error ? error : fits;
}

/* Where the raced store is durable, and only later ones to its line are lost, some state fails: then the
 * cut does not tell what it was. */
static int look_with_it(const struct attempt *a, struct nvw_log_reader *log, const struct search *x,
	const struct cut *at, struct outcome *o, bool *ret_fails)
{
	struct cut later = *at;

	NVW_INVARIANT(x->has_store);
	*ret_fails = false;
	later.certain = x->store + 1;
	if (later.certain >= at->stores) {
		return 0;
	}
	const int explored = explore_one(a, log, x->line.off, &later, NULL);

	if (explored <= 0) {
		return explored;
	}
	*ret_fails = a->room->finding_count > 0;
	if (*ret_fails) {
		a->room->without_crash = true;
		say_open(o, a->room);
	}
	ct_result_free(a->room);
	return 0;
}

static int find_outcome(const struct attempt *a, struct nvw_log_reader *log, const struct search *x,
	const struct cut *at, struct outcome *ret)
{
	struct cut last = *at;
	bool fails;

	NVW_INVARIANT(at->record > 0);
	last.certain = nvw_max(at->certain, x->store);
	*ret = (struct outcome){
		.line = x->line.off, .record = at->record, .store = x->store, .fate = CT_RACE_OPEN};
	NVW_TRY(look_with_it(a, log, x, at, ret, &fails));
	ret->fails_behind = fails;
	const int explored = fails ? 0 : explore_one(a, log, x->line.off, &last, a->schedule);

	if (explored < 0) {
		return explored;
	}
	if (explored == 0) {
		if (!fails) {
			NVW_PRINT(ret->text, "more than %u stores to its line are not durable", STORES);
		}
		return 0;
	}
	conclude(ret, a->room);
	if (ret->fate == CT_RACE_LOST) {
		a->lost(a->context, a->room);
	} else {
		ct_result_free(a->room);
	}
	return 0;
}

static const struct outcome *known_outcome(
	const struct crash_races *all, const struct search *x, const struct cut *at)
{
	return NVW_FIND(one, all->outcome, all->outcomes,
		one->line == x->line.off && one->record == at->record && one->store == x->store);
}

static int try_cut(
	const struct attempt *a, struct nvw_log_reader *log, struct search *x, const struct cut *at)
{
	struct crash_races *const all = a->all;
	struct ct_race *const race = &all->race[x->of->race];

	NVW_INVARIANT(x->of->race < all->count);
	if (at->record == 0 || race->fate == CT_RACE_LOST) {
		return 0;
	}
	if (known_outcome(all, x, at) == NULL) {
		NVW_GROWN(all->outcome, all->outcomes_room, all->outcomes + 1, "no memory for cuts");
		NVW_TRY(find_outcome(a, log, x, at, &all->outcome[all->outcomes]));
		all->outcomes++;
	}
	const struct outcome *const o = known_outcome(all, x, at);

	x->of->fails_behind = x->of->fails_behind || o->fails_behind;
	judge(race, o, all->schedule);
	return 0;
}

/* What another thread has flushed and fenced by then is not lost; nor is what was there already, which no
 * record has. */
static const struct outcome *without_cut(const struct search *x)
{
	static const struct outcome durable = {
		.fate = CT_RACE_TRIED, .text = "another thread's flush had made it durable by then"};
	static const struct outcome same = {
		.fate = CT_RACE_TRIED, .text = "it stored what was there already"};
	static const struct outcome unknown = {
		.fate = CT_RACE_OPEN, .text = "the store was not found in the log"};

	NVW_INVARIANT(x->late.record == 0);
	if (x->has_store) {
		return &durable;
	}
	return x->unnamed || (x->touched && x->of->nameless) ? &unknown : &same;
}

static int try_race(const struct attempt *a, struct search *x)
{
	struct nvw_log_reader *log;

	NVW_TRY(nvw_log_open(a->tested->log, &log));
	x->line.off = line_of(x->of);
	int error = search(x, log);

	error = NVW_OR(error, try_cut(a, log, x, &x->late));
	if (!error && x->late.record != x->early.record) {
		error = try_cut(a, log, x, &x->early);
	}
	if (!error && x->late.record == 0) {
		judge(&a->all->race[x->of->race], without_cut(x), a->all->schedule);
	}
	nvw_log_reader_close(log);
	return error;
}

/* The number of the raced store in its line; has_store false: it is not met. */
static int find_store(const struct attempt *a, struct search *x)
{
	struct nvw_log_reader *log;

	NVW_TRY(nvw_log_open(a->tested->log, &log));
	x->all = a->all;
	x->line.off = line_of(x->of);
	const int error = search(x, log);

	nvw_log_reader_close(log);
	free(x->site);
	x->site = NULL;
	return error;
}

/* Whether the second one's store comes behind the first one's, in the same line. */
static int comes_behind(
	const struct attempt *a, struct happened *first, struct happened *second, bool *ret_behind)
{
	struct search *const x = calloc(2, sizeof *x);

	NVW_ALLOCATED(x, "no memory for a cut");
	x[0].of = first;
	x[1].of = second;
	const int error = NVW_OR(find_store(a, &x[0]), find_store(a, &x[1]));
	*ret_behind = x[0].has_store && x[1].has_store && x[1].store > x[0].store;
	free(x);
	return error;
}

/* Stores of a line become durable in order, so no crash loses one and keeps what is behind it. If that is
 * lost in a race itself, both are one mistake. */
static int share_loss(const struct attempt *a, struct happened *h)
{
	struct crash_races *const all = a->all;
	bool is_behind = false;

	NVW_INVARIANT(h->fails_behind);
	for (unsigned i = 0; i < all->happened_count && !is_behind; i++) {
		struct happened *const other = &all->happened[i];
		const struct ct_race *const lost = &all->race[other->race];

		if (lost->fate != CT_RACE_LOST || line_of(other) != line_of(h)) {
			continue;
		}
		NVW_TRY(comes_behind(a, h, other, &is_behind));
		if (is_behind) {
			all->race[h->race].fate = CT_RACE_SHARED;
			snprintf(all->race[h->race].text, CT_TEXT_BYTES, "with %.200s", lost->store);
		}
	}
	return 0;
}

static int share_losses(const struct attempt *a)
{
	NVW_EACH(h, a->all->happened, a->all->happened_count) {
		if (h->fails_behind && a->all->race[h->race].fate == CT_RACE_OPEN) {
			NVW_TRY(share_loss(a, h));
		}
	}
	return 0;
}

int crash_races_try(struct crash_races *x, const struct crash_tested *t, const struct ct_options *o,
	json_t *schedule, struct ct_result *room, void (*lost)(void *context, struct ct_result *result),
	void *context)
{
	const struct attempt a = {.all = x,
		.tested = t,
		.options = o,
		.schedule = schedule,
		.room = room,
		.lost = lost,
		.context = context};
	int error = take_executions(x, t->log);

	for (unsigned i = 0; i < x->happened_count && !error && !nvw_stopping(); i++) {
		const struct ct_race *const race = &x->race[x->happened[i].race];
		struct search *const one = calloc(1, sizeof *one);

		NVW_ALLOCATED(one, "no memory for a cut");
		one->all = x;
		one->of = &x->happened[i];
		if (crash_race_is_undecided(x, race)) {
			error = try_race(&a, one);
		}
		free(one->site);
		free(one);
	}
	return error ? error : share_losses(&a);
}
