/* SPDX-License-Identifier: BSD-3-Clause */
/* See exec_races.h. */
#include "exec_races.h"
#include "core/invariant.h"
#include "core/member.h"

#include "../json_report.h"
#include "../words.h"
#include "core/each.h"

enum { PRINTED = 64 };

static const char *const limits_of_all =
	"not looked at: code that nvwave-cc --loads has not built, and pairs of two processes";

/* NULL: none. */
static const char *hint_text(enum host_hint hint)
{
	static const char *const texts[] = {NULL,
		"the storing thread fences, and stores more, before it flushes these bytes, or never flushes "
		"them: a flush is missing, or they need not be durable",
		"an atomic orders them in this run",
		"what seems to be a lock of the program's own excludes them: a bit that only its setter "
		"clears",
		"locked instructions change these bytes, which are not flushed at once: they may be a lock"};

	NVW_INVARIANT(hint < NVW_COUNT(texts));
	return texts[hint];
}

/* Each sentence on what was left out. */
static void note_left_out(const struct host_candidates *c, const struct cli_notes *notes)
{
	if (!c->races->loads_seen) {
		cli_note(notes, "no load of a mapped file was seen: build the program with nvwave-cc --loads",
			1);
	}
	if (c->races->private_windows > 0) {
		cli_note(notes,
			"windows were left out, because one thread alone had touched the bytes so far "
			"(--check=persistency:initial has them)",
			c->races->private_windows);
	}
	if (c->without_effect > 0) {
		cli_note(notes,
			"pairs were left out, because nothing was made durable after the load, or its thread "
			"made "
			"durable what it had read",
			c->without_effect);
	}
	NVW_FOR(i, HOST_RACE_LIMIT_COUNT) {
		if (c->races->limit[i] > 0) {
			cli_note(notes, host_race_limit_text((enum host_race_limit)i), c->races->limit[i]);
		}
	}
	cli_note(notes, limits_of_all, 1);
}

/* ---- Text ----------------------------------------------------------------------------------------- */

/* With the places that it is inlined at. */
static void print_place(const struct host_control *c, const char *before, uint32_t site, FILE *to)
{
	struct host_place p[HOST_INLINED_MAX];
	const unsigned n = host_places_of(c, site, p);

	fprintf(to, "%s%s:%u (%s)", before, p[0].file, p[0].line, site == 0 ? "?" : p[0].function);
	for (unsigned i = 1; i < n; i++) {
		fprintf(to, " at %s:%u", p[i].file, p[i].line);
	}
}

static void print_locks(
	const struct host_control *c, const char *when, const struct host_lockset *s, FILE *to)
{
	NVW_INVARIANT(s->count <= NVW_COUNT(s->site));
	fputs(when, to);
	NVW_EACH(site, s->site, s->count) {
		print_place(c, site > s->site ? ", of " : " of ", *site, to);
	}
	fputs(words_if(!s->count, " none"), to);
}

static void print_store(const struct host_control *c, const struct host_candidate *x, FILE *to)
{
	print_place(c, "    store ", x->store, to);
	if (x->hint == HOST_HINT_UNFLUSHED && x->end != 0) {
		print_place(c, ", which its thread flushes behind a later fence, at ", x->end, to);
		fputc('\n', to);
	} else if (x->end == 0) {
		fprintf(to, ", which its thread never makes durable\n");
	} else {
		print_place(c, ", durable from ", x->end, to);
		fprintf(to, "%s\n", x->unended ? ", and in other cases never" : "");
	}
}

static void print_witness(const struct host_candidates *all, FILE *to, const struct host_candidate *x)
{
	if (x->hint > HOST_HINT_UNFLUSHED) {
		fprintf(to, "    second rank: %s\n", hint_text(x->hint));
	}
	if (x->witness > 0) {
		fprintf(to, "    witnessed by schedule %llu\n", (ull)x->witness);
	} else if (all->schedules > 0) {
		fprintf(to, "    predicted, not witnessed\n");
	}
}

/* A store is not told again for its next load. */
static void print_candidate(
	const struct host_session *s, const struct host_candidates *all, size_t i, FILE *to)
{
	const struct host_control *const c = s->control;
	const struct host_candidate *const x = &all->list[i];

	const bool same_store = i > 0 && x[-1].hint == x->hint && x[-1].store == x->store;

	NVW_INVARIANT(i < all->count);
	if (x->hint == HOST_HINT_UNFLUSHED && same_store) {
		return; /* the cause is in the store alone */
	}
	if (!same_store || x[-1].end != x->end || x[-1].unended != x->unended) {
		print_store(c, x, to);
	}
	fprintf(to, "%2zu  ", i + 1);
	print_place(c, "load ", x->load, to);
	fprintf(to, " of another thread may come before that: %u byte%s at 0x%llx, %llu time%s\n", x->bytes,
		plural(x->bytes), (ull)x->off, (ull)x->times, plural(x->times));
	print_locks(c, "    locks over that time:", &all->races->lockset[x->over], to);
	print_locks(c, "; at the load:", &all->races->lockset[x->at], to);
	fputc('\n', to);
	print_witness(all, to, x);
}

static void print_counts(const struct host_candidates *c, FILE *to)
{
	NVW_INVARIANT(c->strong <= c->count);
	fprintf(to, "persistency races: %zu candidate%s at stores of %zu place%s, ", c->rank[0].count,
		plural(c->rank[0].count), c->rank[0].stores, plural(c->rank[0].stores));
	fprintf(to, "%zu place%s whose flush is late or missing, and %zu of second rank (",
		c->rank[HOST_HINT_UNFLUSHED].stores, plural(c->rank[HOST_HINT_UNFLUSHED].stores),
		c->count - c->strong);
	if (c->schedules > 0) {
		fprintf(to, "%zu of them witnessed in %llu schedule%s", c->witnessed, (ull)c->schedules,
			plural(c->schedules));
	} else {
		fprintf(to, "candidate: not witnessed");
	}
	if (c->besides > 0) {
		fprintf(to, ", and %zu other pair%s, named below", c->besides, plural(c->besides));
	}
	fprintf(to, "); %zu window%s and %zu load%s were compared\n", c->windows, plural(c->windows),
		c->loads, plural(c->loads));
}

void exec_races_text(const struct host_session *s, const struct host_candidates *c, FILE *to)
{
	if (c->races == NULL) {
		return;
	}
	print_counts(c, to);
	for (size_t i = 0; i < c->count && i < PRINTED; i++) {
		print_candidate(s, c, i, to);
	}
	if (c->count > PRINTED) {
		fprintf(to, "    %zu more: --output-format=json has all\n", c->count - PRINTED);
	}
	note_left_out(c, &(struct cli_notes){.to = to, .before = "    "});
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

static json_t *place_json(const struct host_control *c, uint32_t site)
{
	struct host_place p[HOST_INLINED_MAX];
	const unsigned n = host_places_of(c, site, p);
	json_t *place = NULL;

	NVW_INVARIANT(n <= HOST_INLINED_MAX);
	if (site == 0) {
		return json_null();
	}
	/* the outermost first */
	for (unsigned i = n > 0 ? n : 1; i > 0; i--) {
		place = json_pack("{s:s, s:i, s:s, s:o*}", "file", p[i - 1].file, "line", (int)p[i - 1].line,
			"function", p[i - 1].function, "inlined_at", place);
	}
	return place;
}

static json_t *locks_json(const struct host_control *c, const struct host_lockset *s)
{
	return JSON_LIST(site, s->site, s->count, place_json(c, *site));
}

static json_t *witness_json(const struct host_candidate *x)
{
	return x->witness > 0 ? json_integer((json_int_t)x->witness) : NULL;
}

static json_t *candidate_json(
	const struct host_session *s, const struct host_candidates *all, const struct host_candidate *x)
{
	const struct host_control *const c = s->control;

	return json_pack("{s:o, s:o, s:b, s:o, s:I, s:i, s:o, s:o, s:I, s:i, s:s*, s:o*}", "store",
		place_json(c, x->store), "end", place_json(c, x->end), "never", x->unended, "load",
		place_json(c, x->load), "offset", (json_int_t)x->off, "bytes", (int)x->bytes,
		"locks_over_window", locks_json(c, &all->races->lockset[x->over]), "locks_at_load",
		locks_json(c, &all->races->lockset[x->at]), "times", (json_int_t)x->times, "rank",
		x->hint <= HOST_HINT_UNFLUSHED ? 1 : 2, "hint", hint_text(x->hint), "witness",
		witness_json(x));
}

json_t *exec_races_json(const struct host_session *s, const struct host_candidates *c)
{
	if (c->races == NULL) {
		return NULL;
	}
	json_t *const list = JSON_LIST(x, c->list, c->count, candidate_json(s, c, x));
	json_t *const left_out = json_array();

	note_left_out(c, &(struct cli_notes){.list = left_out});
	return json_pack("{s:s, s:I, s:I, s:o, s:o}", "verdict",
		c->schedules > 0 ? "candidates" : "candidate: not witnessed", "windows",
		(json_int_t)c->windows, "loads", (json_int_t)c->loads, "candidates", list, "left_out",
		left_out);
}
