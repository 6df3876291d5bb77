/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the sights of a run and writes them as tracks. See timeline.h.
 *
 * Viewers want the slices of a track nested, and in the order of their times. So all sights are kept until
 * the end, and sorted. Sights of one place that overlap (reads of a channel, barriers of a scope) are put on
 * several tracks of the same name, up to a number that viewers bear; beyond it their begin and end are
 * instants.
 */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/order.h"
#include "core/print.h"
#include "core/stop.h"
#include "core/units.h"
#include "report/words.h"

enum {
	SIGHTS_MAX = 4000000, /* 64 bytes each */
	NAME = 64,
	LANES = 32, /* sights that overlap more than this are instants on a track behind the lanes */
};

struct row {
	struct emu_sight sight;
	uint32_t lane;
	uint32_t of; /* parts: the row of their barrier */
	bool is_part;
};

struct name {
	char *text;
	struct name *next;
};

struct cli_timeline {
	struct nvw_new_file file;
	struct cli_window window;
	const struct cli_timeline_format *format;
	void *writer; /* of the format, while it writes */
	const struct nvw_machine *machine;
	uint64_t origin_ps, complete_ps;
	struct row *rows;
	uint32_t count, capacity, barrier;
	bool full, no_memory;
	unsigned percent; /* of what has been written, as a terminal was shown */
	struct name *names;
	struct cli_track **tracks;
	uint32_t track_count, track_capacity;
};

/* ---- Windows ------------------------------------------------------------------------------------- */

static int parse_edge(const char *text, uint64_t *ret_ps)
{
	bool cycles;

	if (!*text) {
		return 0;
	}
	NVW_TRY(nvw_parse_time(text, ret_ps, &cycles));
	NVW_FAIL_IF(cycles, NVW_E_USAGE, "\"%s\": expected a time such as 10us", text);
	return 0;
}

int cli_window_parse(const char *text, struct cli_window *w)
{
	const char *const dots = strstr(text, "..");
	char from[NVW_UNIT_TEXT];

	*w = (struct cli_window){.to_ps = UINT64_MAX};
	NVW_FAIL_IF(!dots || (size_t)(dots - text) >= sizeof from, NVW_E_USAGE,
		"\"%s\": expected FROM..TO, such as 10us..20us", text);
	NVW_PRINT(from, "%.*s", (int)(dots - text), text);
	NVW_TRY(parse_edge(from, &w->from_ps));
	NVW_TRY(parse_edge(dots + 2, &w->to_ps));
	NVW_FAIL_IF(w->from_ps >= w->to_ps, NVW_E_USAGE, "\"%s\": the window ends before it begins", text);
	return 0;
}

/* ---- Collecting ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

/* By the ending, so that nobody looks for JSON in the other format because a letter was wrong. */
static int choose_format(const char *path, const struct cli_timeline_format **ret)
{
	static const struct {
		const char *end;
		const struct cli_timeline_format *format;
	} formats[] = {{".json", &cli_timeline_chrome}, {".pftrace", &cli_timeline_perfetto},
		{".perfetto-trace", &cli_timeline_perfetto}};

	NVW_EACH_IN(format, formats) {
		if (ends_with(path, format->end)) {
			*ret = format->format;
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE,
		"--timeline: %s: expected a name that ends in .pftrace or .perfetto-trace (Perfetto's "
		"format) or .json (Chrome's)",
		path);
}

int cli_timeline_create(const char *path, const struct cli_window *window, struct cli_timeline **ret)
{
	struct cli_timeline *const t = calloc(1, sizeof *t);

	NVW_INVARIANT(window->from_ps < window->to_ps);
	NVW_ALLOCATED(t, "no memory for a timeline");
	*ret = t;
	t->window = *window;
	t->complete_ps = UINT64_MAX;
	NVW_TRY(choose_format(path, &t->format));
	return nvw_new_file_begin(path, false, &t->file);
}

void cli_timeline_start(struct cli_timeline *t, const struct nvw_machine *machine)
{
	NVW_INVARIANT(!t->machine);
	t->machine = machine;
	t->origin_ps = nvw_time_ps(machine);
}

/* A copy of the text, once. */
static const char *keep(struct cli_timeline *t, const char *text)
{
	for (const struct name *n = t->names; n; n = n->next) {
		if (!strcmp(n->text, text)) {
			return n->text;
		}
	}
	struct name *const name = malloc(sizeof *name);
	char *const copy = strdup(text);

	if (!name || !copy) {
		free(name);
		free(copy);
		t->no_memory = true;
		return "";
	}
	*name = (struct name){.text = copy, .next = t->names};
	t->names = name;
	return copy;
}

/* The time within the window, counted from the origin. */
static uint64_t within(const struct cli_timeline *t, uint64_t time)
{
	if (time <= t->window.from_ps) {
		return t->window.from_ps;
	}
	return nvw_min(time, t->window.to_ps);
}

/* 0 before the origin. */
static uint64_t since(uint64_t time, uint64_t origin)
{
	return time > origin ? time - origin : 0;
}

/* False if there is nothing of it in the window. */
static bool cut_to_window(const struct cli_timeline *t, struct emu_sight *s)
{
	const bool is_moment = s->from == s->to;

	s->from = since(s->from, t->origin_ps);
	s->to = since(s->to, t->origin_ps);
	if (s->to + is_moment <= t->window.from_ps || s->from >= t->window.to_ps) {
		return false;
	}
	s->from = within(t, s->from);
	s->to = within(t, s->to);
	return true;
}

static void leave_out(struct cli_timeline *t, const struct emu_sight *s)
{
	t->full = true;
	if (s->from < t->complete_ps) {
		t->complete_ps = s->from;
	}
}

void cli_timeline_see(struct cli_timeline *t, const struct emu_sight *sight)
{
	struct emu_sight s = *sight;

	NVW_DEEP_INVARIANT(t->count <= t->capacity);
	if (s.kind == EMU_SIGHT_ACCESS || s.kind == EMU_SIGHT_OPERATION || !cut_to_window(t, &s)) {
		return;
	}
	if (t->full || t->count == SIGHTS_MAX || !NVW_ROOM(t->rows, t->capacity, t->count + 1)) {
		leave_out(t, &s);
		return;
	}
	if (s.kind == EMU_SIGHT_KERNEL || s.kind == EMU_SIGHT_GROUP) {
		s.what = keep(t, s.what);
	}
	if (s.kind == EMU_SIGHT_BARRIER) {
		t->barrier = t->count;
	}
	t->rows[t->count] = (struct row){.sight = s, .of = t->barrier};
	t->count++;
}

/* ---- Lanes --------------------------------------------------------------------------------------- */

static bool is_same_place(const struct row *a, const struct row *b)
{
	return a->sight.kind == b->sight.kind && a->sight.unit == b->sight.unit;
}

/* Rows of one place in the order of their times; longer ones first, so that those inside them follow. */
static int by_place(const void *a, const void *b)
{
	const struct row *const x = *(struct row *const *)a, *const y = *(struct row *const *)b;
	int order = NVW_ORDER(x->sight.kind, y->sight.kind);

	order = NVW_OR(order, NVW_ORDER(x->sight.unit, y->sight.unit));
	order = NVW_OR(order, NVW_ORDER(x->lane, y->lane));
	order = NVW_OR(order, NVW_ORDER(x->sight.from, y->sight.from));
	order = NVW_OR(order, NVW_ORDER(y->sight.to, x->sight.to));
	return NVW_OR(order, NVW_ORDER(x, y));
}

/* The first lane that is free at the time. */
static uint32_t free_lane(const uint64_t *busy_to, uint32_t lanes, uint64_t from)
{
	NVW_INVARIANT(lanes <= LANES);
	return NVW_INDEX(lane, lanes, busy_to[lane] <= from);
}

/* Gives overlapping rows of a place lanes of their own; LANES: there is none left. */
static void give_lanes(struct row **order, uint32_t count)
{
	uint64_t busy_to[LANES] = {0};
	uint32_t lanes = 0;

	NVW_FOR(i, count) {
		struct row *const row = order[i];

		if (i && !is_same_place(order[i - 1], row)) {
			lanes = 0;
		}
		if (row->sight.kind == EMU_SIGHT_PART) {
			continue;
		}
		row->lane = free_lane(busy_to, lanes, row->sight.from);
		if (row->lane < LANES) {
			NVW_INVARIANT(row->lane <= lanes);
			lanes += row->lane == lanes;
			busy_to[row->lane] = row->sight.to;
		}
	}
}

/* ---- Tracks -------------------------------------------------------------------------------------- */

static struct cli_track *find_track(const struct cli_timeline *t, uint32_t folder, const char *name)
{
	NVW_INVARIANT(folder <= t->track_count);
	NVW_EACH(track, t->tracks, t->track_count) {
		if ((*track)->folder == folder && (*track)->name == name) {
			return *track;
		}
	}
	return NULL;
}

/* A track that is new even if there is one of this name. */
static struct cli_track *add_track(struct cli_timeline *t, uint32_t folder, const char *name, bool is_counter)
{
	struct cli_track *const track = malloc(sizeof *track);

	if (!track || !NVW_ROOM(t->tracks, t->track_capacity, t->track_count + 1)) {
		free(track);
		t->no_memory = true;
		return NULL;
	}
	*track = (struct cli_track){
		.id = t->track_count + 1, .folder = folder, .name = name, .is_counter = is_counter};
	t->tracks[t->track_count++] = track;
	if (t->format->track(t->writer, track)) {
		return NULL;
	}
	return track;
}

/* The folder of a kind's tracks; CUs have one each. */
static const char *folder_of(struct cli_timeline *t, const struct emu_sight *s)
{
	static const char *const folders[] = {
		[EMU_SIGHT_KERNEL] = "GPU",
		[EMU_SIGHT_BARRIER] = "persist barriers",
		[EMU_SIGHT_PART] = "persist barriers",
		[EMU_SIGHT_EPOCH] = "epochs",
		[EMU_SIGHT_BANK] = "L2",
		[EMU_SIGHT_LINK] = "network",
		[EMU_SIGHT_READ] = "memory",
		[EMU_SIGHT_WRITE] = "memory",
		[EMU_SIGHT_KINDS] = NULL,
	};
	char text[NAME];

	NVW_INVARIANT(s->kind < EMU_SIGHT_KINDS);
	if (folders[s->kind]) {
		return keep(t, folders[s->kind]);
	}
	emu_sight_place(t->machine, s->kind, s->unit, text, sizeof text);
	text[strcspn(text, ",")] = '\0';
	return keep(t, text);
}

/* The track's name within its folder. */
static const char *track_name(struct cli_timeline *t, const struct row *row)
{
	static const char *const names[] = {[EMU_SIGHT_KERNEL] = "kernels",
		[EMU_SIGHT_FLUSH] = "L1 flushes",
		[EMU_SIGHT_INVALIDATION] = "L1 invalidations",
		[EMU_SIGHT_KINDS] = NULL};
	static const char *const ends[] = {
		[EMU_SIGHT_GROUP] = ": work-groups",
		[EMU_SIGHT_WAIT] = ": waits",
		[EMU_SIGHT_READ] = ": reads",
		[EMU_SIGHT_WRITE] = ": writes",
		[EMU_SIGHT_KINDS] = NULL,
	};
	const struct emu_sight *const s = &row->sight;
	char text[NAME], all[3 * NAME], *name = text;

	NVW_INVARIANT(s->kind < EMU_SIGHT_KINDS);
	if (names[s->kind]) {
		return names[s->kind];
	}
	emu_sight_place(t->machine, s->kind, s->unit, text, sizeof text);
	if (strchr(text, ',')) {
		name = strchr(text, ',') + 2;
	}
	NVW_PRINT(all, "%s%s%s", name, words_or(ends[s->kind], ""), words_if(row->lane == LANES, ", more"));
	return keep(t, all);
}

/* NULL without memory. */
static const struct cli_track *folder_track(struct cli_timeline *t, const char *name)
{
	const struct cli_track *const folder = find_track(t, 0, name);

	return folder ? folder : add_track(t, 0, name, false);
}

static const struct cli_track *track_of(struct cli_timeline *t, const struct row *row)
{
	const struct cli_track *const folder = folder_track(t, folder_of(t, &row->sight));

	return folder ? add_track(t, folder->id, track_name(t, row), false) : NULL;
}

/* ---- Slices -------------------------------------------------------------------------------------- */

static bool is_instant(const struct emu_sight *s)
{
	return s->kind == EMU_SIGHT_EPOCH || s->kind == EMU_SIGHT_INVALIDATION;
}

static struct cli_mark mark_of(const struct row *row, const struct cli_track *track)
{
	const struct emu_sight *const s = &row->sight;

	const enum emu_sight_kind shown = row->is_part ? EMU_SIGHT_PART : s->kind;

	return (struct cli_mark){.type = is_instant(s) ? CLI_MARK_INSTANT : CLI_MARK_BEGIN,
		.track = track,
		.time_ps = s->from,
		.name = s->what,
		.category = emu_sight_name(shown),
		.site = s->site,
		.value = s->number};
}

static int end_slice(struct cli_timeline *t, const struct cli_track *track, uint64_t time)
{
	return t->format->mark(
		t->writer, &(struct cli_mark){.type = CLI_MARK_END, .track = track, .time_ps = time});
}

/* Writes rows without a lane. */
static int write_instants(
	struct cli_timeline *t, struct row **order, uint32_t count, const struct cli_track *track)
{
	NVW_EACH(one, order, count) {
		struct cli_mark mark = mark_of(*one, track);

		mark.type = CLI_MARK_INSTANT;
		NVW_TRY(t->format->mark(t->writer, &mark));
		mark.time_ps = (*one)->sight.to;
		mark.name = "done";
		NVW_TRY(t->format->mark(t->writer, &mark));
	}
	return 0;
}

/* Slices that have begun and not ended, each inside the one before it. */
struct open_slices {
	uint64_t to[8];
	unsigned depth;
};

static int end_slices(
	struct cli_timeline *t, const struct cli_track *track, struct open_slices *open, uint64_t until)
{
	NVW_INVARIANT(open->depth <= NVW_COUNT(open->to));
	while (open->depth && open->to[open->depth - 1] <= until) {
		NVW_TRY(end_slice(t, track, open->to[--open->depth]));
	}
	return 0;
}

/* The rows of one track. Lanes and parts see to it that they do not overlap, but for parts in their barrier.
 */
static int write_track(
	struct cli_timeline *t, struct row **order, uint32_t count, const struct cli_track *track)
{
	struct open_slices open = {0};

	NVW_EACH(one, order, count) {
		const struct emu_sight *const s = &(*one)->sight;
		const struct cli_mark mark = mark_of(*one, track);
		uint64_t to = s->to;

		NVW_TRY(end_slices(t, track, &open, s->from));
		NVW_TRY(t->format->mark(t->writer, &mark));
		if (mark.type != CLI_MARK_BEGIN || open.depth == NVW_COUNT(open.to)) {
			continue;
		}
		if (open.depth && open.to[open.depth - 1] < to) {
			to = open.to[open.depth - 1];
		}
		open.to[open.depth++] = to;
	}
	return end_slices(t, track, &open, UINT64_MAX);
}

/* Parts have their barrier's kind and lane from here on: they are inside it. */
static void join_parts(struct cli_timeline *t)
{
	NVW_EACH(row, t->rows, t->count) {
		if (row->sight.kind == EMU_SIGHT_PART) {
			row->lane = t->rows[row->of].lane;
			row->sight.kind = EMU_SIGHT_BARRIER;
			row->is_part = true;
		}
	}
}

/* ---- Queues -------------------------------------------------------------------------------------- */

/* Times at which a request comes or goes, each kind in ascending order: the length of the queue at each. */
static int write_lengths(struct cli_timeline *t, const struct cli_track *track, const uint64_t *come,
	const uint64_t *go, uint32_t count)
{
	uint32_t came = 0, gone = 0;

	while (gone < count) {
		const uint64_t now = came < count && come[came] < go[gone] ? come[came] : go[gone];

		while (came < count && come[came] <= now) {
			came++;
		}
		while (gone < came && go[gone] <= now) {
			gone++;
		}
		const struct cli_mark mark = {
			.type = CLI_MARK_COUNTER, .track = track, .time_ps = now, .value = came - gone};

		NVW_TRY(t->format->mark(t->writer, &mark));
	}
	NVW_INVARIANT(came == count);
	return 0;
}

static void sort_times(struct row **order, uint32_t count, uint64_t *times)
{
	NVW_FOR(i, count) {
		times[i] = order[i]->sight.from;
		times[count + i] = order[i]->sight.to;
	}
	qsort(times, count, sizeof *times, nvw_by_u64);
	qsort(times + count, count, sizeof *times, nvw_by_u64);
}

/* The queue of a channel: its reads, or its writes, that have arrived and are not done. */
static int write_queue(struct cli_timeline *t, struct row **order, uint32_t count)
{
	const struct emu_sight *const s = &order[0]->sight;
	char name[3 * NAME];
	uint64_t *const times = malloc(2 * (size_t)count * sizeof *times);
	const struct cli_track *track;
	int r;

	NVW_INVARIANT(count > 0);
	NVW_PRINT(name, "%s: in flight", track_name(t, order[0]));
	track = add_track(t, find_track(t, 0, folder_of(t, s))->id, keep(t, name), true);
	if (!times || !track) {
		free(times);
		return nvw_fail(NVW_E_MEMORY, "no memory for a timeline");
	}
	sort_times(order, count, times);
	r = write_lengths(t, track, times, times + count, count);
	free(times);
	return r;
}

/* ---- The file ------------------------------------------------------------------------------------ */

static bool has_queue(const struct row *row)
{
	return row->sight.kind == EMU_SIGHT_READ || row->sight.kind == EMU_SIGHT_WRITE;
}

/* Writes all tracks of one place: a lane each, and its queue. */
static int write_place(struct cli_timeline *t, struct row **order, uint32_t count)
{
	NVW_INVARIANT(count > 0);
	for (uint32_t from = 0, to; from < count; from = to) {
		const struct cli_track *const track = track_of(t, order[from]);

		NVW_ALLOCATED(track, "no memory for a timeline");
		for (to = from; to < count && order[to]->lane == order[from]->lane; to++) {
		}
		if (order[from]->lane == LANES) {
			NVW_TRY(write_instants(t, order + from, to - from, track));
		} else {
			NVW_TRY(write_track(t, order + from, to - from, track));
		}
	}
	if (has_queue(order[0])) {
		return write_queue(t, order, count);
	}
	return 0;
}

/* After a signal: the time to write begins anew with every track, and a terminal shows how far it is. */
static void show_written(struct cli_timeline *t, uint32_t written)
{
	const unsigned percent = (unsigned)(100 * (uint64_t)written / t->count);

	NVW_INVARIANT(written <= t->count);
	if (!nvw_stopping()) {
		return;
	}
	nvw_stop_reporting();
	if (isatty(STDERR_FILENO) && percent > t->percent) {
		fprintf(stderr, "\r%u %% of the timeline is written%s", percent,
			percent < 100 ? "\033[K" : "\033[K\r\033[K");
		t->percent = percent;
	}
}

static int write_all(struct cli_timeline *t, struct row **order)
{
	NVW_FOR(i, t->count) {
		order[i] = &t->rows[i];
	}
	qsort(order, t->count, sizeof *order, by_place);
	give_lanes(order, t->count);
	join_parts(t);
	qsort(order, t->count, sizeof *order, by_place);
	for (uint32_t from = 0, to; from < t->count; from = to) {
		for (to = from; to < t->count && is_same_place(order[to], order[from]); to++) {
		}
		NVW_TRY(write_place(t, order + from, to - from));
		show_written(t, to);
	}
	NVW_FAIL_IF(t->no_memory, NVW_E_MEMORY, "no memory for a timeline");
	return 0;
}

static int write_with(struct cli_timeline *t, struct row **order, struct cli_timeline_file *writer)
{
	NVW_FAIL_IF(!order || !writer, NVW_E_MEMORY, "no memory for a timeline");
	*writer = (struct cli_timeline_file){t->file.file, t->file.path};
	t->writer = writer;
	const int r = write_all(t, order), ended = t->format->end(writer);

	return NVW_OR(r, ended);
}

int cli_timeline_check(const struct cli_timeline *t, uint64_t now_ps)
{
	const uint64_t took_ps = now_ps - t->origin_ps;

	if (t->window.from_ps < took_ps || t->window.from_ps == 0) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE,
		"--timeline-window: the run took %.3f us, and the window begins at %.3f us",
		(double)took_ps / 1e6, (double)t->window.from_ps / 1e6);
}

int cli_timeline_write(struct cli_timeline *t, uint64_t *ret_complete_ps)
{
	struct row **const order = malloc((t->count + 1) * sizeof *order);
	struct cli_timeline_file *const writer = calloc(1, t->format->writer_bytes);
	const int r = write_with(t, order, writer);

	NVW_INVARIANT(t->file.file);
	free(writer);
	free(order);
	*ret_complete_ps = t->complete_ps;
	return nvw_new_file_end(&t->file, r);
}

void cli_timeline_free(struct cli_timeline *t)
{
	if (!t) {
		return;
	}
	if (t->file.file) {
		(void)!nvw_new_file_end(&t->file, NVW_E_STOPPED);
	}
	for (struct name *name = t->names, *next; name; name = next) {
		next = name->next;
		free(name->text);
		free(name);
	}
	NVW_EACH(track, t->tracks, t->track_count) {
		free(*track);
	}
	free(t->tracks);
	free(t->rows);
	free(t);
}
