/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timelines as Chrome's JSON: {"traceEvents": [...]}, which Perfetto's viewer and chrome://tracing read.
 * Folders are processes, tracks their threads. Times are in us, with all their digits.
 */
#include <jansson.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"

#include "timeline.h"

struct writer {
	struct cli_timeline_file file;
	bool begun;
};

static int end_chrome(void *writer)
{
	struct writer *const w = writer;

	if (fprintf(w->file.to, "%s]}\n", w->begun ? "\n" : "{\"traceEvents\": [") < 0) {
		return cli_timeline_failed(&w->file);
	}
	return 0;
}

/* Takes the event. */
static int write_event(struct writer *w, json_t *event)
{
	NVW_ALLOCATED(event, "no memory for a timeline");
	const bool good = fputs(w->begun ? ",\n" : "{\"traceEvents\": [\n", w->file.to) >= 0 &&
			  json_dumpf(event, w->file.to, JSON_COMPACT) == 0;

	w->begun = true;
	json_decref(event);
	if (!good) {
		return cli_timeline_failed(&w->file);
	}
	return 0;
}

static int track_chrome(void *writer, const struct cli_track *track)
{
	const char *kind = "thread_name";
	uint32_t process = track->folder;

	NVW_INVARIANT(track->id > track->folder);
	if (track->is_counter) {
		return 0; /* its events have its name */
	}
	if (!track->folder) {
		kind = "process_name";
		process = track->id;
	}
	return write_event(writer,
		json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "ph", "M", "name", kind, "pid",
			(json_int_t)process, "tid", (json_int_t)track->id, "args", "name", track->name));
}

static json_t *notes_of(const struct cli_mark *mark)
{
	if (!mark->site) {
		return json_pack("{s:I}", "number", (json_int_t)mark->value);
	}
	return json_pack("{s:o}", "source", json_sprintf("%s:%u", mark->site->file, mark->site->line));
}

static int mark_chrome(void *writer, const struct cli_mark *mark)
{
	static const char *const types[] = {[CLI_MARK_BEGIN] = "B",
		[CLI_MARK_END] = "E",
		[CLI_MARK_INSTANT] = "i",
		[CLI_MARK_COUNTER] = "C"};
	json_t *const event = json_pack("{s:s, s:I, s:I, s:f}", "ph", types[mark->type], "pid",
		(json_int_t)mark->track->folder, "tid", (json_int_t)mark->track->id, "ts",
		(double)mark->time_ps / 1e6);

	NVW_INVARIANT(mark->type < NVW_COUNT(types));
	if (event && mark->type == CLI_MARK_COUNTER) {
		member_set_text(event, "name", mark->track->name);
		json_object_set_new(event, "args", json_pack("{s:I}", "value", (json_int_t)mark->value));
	} else if (event && mark->type != CLI_MARK_END) {
		member_set_text(event, "name", mark->name);
		member_set_text(event, "cat", mark->category);
		json_object_set_new(event, "args", notes_of(mark));
	}
	return write_event(writer, event);
}

const struct cli_timeline_format cli_timeline_chrome = {
	.writer_bytes = sizeof(struct writer), .track = track_chrome, .mark = mark_chrome, .end = end_chrome};
