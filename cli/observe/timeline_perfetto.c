/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timelines as Perfetto's trace packets (perfetto.proto): TrackEvents with interned names. Folders are
 * processes, because every version of the viewer groups tracks by them. Times are in ns there: fractions are
 * cut off.
 *
 * A trace is a message whose field "packet" repeats; so each packet is written by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"
#include "perfetto.pb-c.h"
#include "timeline.h"

enum { SEQUENCE = 1, STATE_CLEARED = 1, NEEDS_STATE = 2, UNIT_COUNT = 2 };

/* Texts that have been sent, with numbers from 1. */
struct interned {
	const char **texts;
	uint32_t count, capacity;
};

struct writer {
	struct cli_timeline_file file;
	uint8_t *buffer;
	size_t capacity;
	struct interned names, categories, keys;
	bool begun;
};

static int end_perfetto(void *writer)
{
	struct writer *const w = writer;

	free(w->buffer);
	free(w->names.texts);
	free(w->categories.texts);
	free(w->keys.texts);
	return 0;
}

static int write_packet(struct writer *w, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t bytes;

	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->has_sequence_flags = 1;
	packet->sequence_flags = w->begun ? NEEDS_STATE : STATE_CLEARED;
	w->begun = true;
	trace.n_packet = 1;
	trace.packet = &packet;
	bytes = perfetto__trace__get_packed_size(&trace);
	NVW_GROWN(w->buffer, w->capacity, bytes, "no memory for a timeline");
	perfetto__trace__pack(&trace, w->buffer);
	if (fwrite(w->buffer, 1, bytes, w->file.to) != bytes) {
		return cli_timeline_failed(&w->file);
	}
	return 0;
}

/* ---- Interning ----------------------------------------------------------------------------------- */

/* The text's number; *fresh gets it if this packet has to send it. 0 without memory. */
static uint64_t intern(
	struct interned *i, const char *text, Perfetto__InternedName *fresh, size_t *fresh_count)
{
	const uint32_t k = NVW_INDEX(at, i->count, i->texts[at] == text);

	if (k < i->count) {
		return k + 1;
	}
	if (!NVW_ROOM(i->texts, i->capacity, i->count + 1)) {
		return 0;
	}
	i->texts[i->count++] = text;
	perfetto__interned_name__init(fresh);
	fresh->has_iid = 1;
	fresh->iid = i->count;
	fresh->name = (char *)(uintptr_t)text;
	*fresh_count = 1;
	return i->count;
}

/* ---- Tracks -------------------------------------------------------------------------------------- */

static int track_perfetto(void *writer, const struct cli_track *track)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;

	descriptor.has_uuid = 1;
	descriptor.uuid = track->id;
	descriptor.name = (char *)(uintptr_t)track->name;
	if (track->folder) {
		descriptor.has_parent_uuid = 1;
		descriptor.parent_uuid = track->folder;
	} else {
		process.has_pid = 1;
		process.pid = (int32_t)track->id;
		process.process_name = descriptor.name;
		descriptor.process = &process;
	}
	if (track->is_counter) {
		counter.has_unit = 1;
		counter.unit = UNIT_COUNT;
		descriptor.counter = &counter;
	}
	packet.track_descriptor = &descriptor;
	return write_packet(writer, &packet);
}

/* ---- Events -------------------------------------------------------------------------------------- */

static const char key_source[] = "source", key_number[] = "number";

/* An event says this besides its name, with the names that its packet sends. */
struct notes {
	Perfetto__DebugAnnotation source, number, *list[2];
	size_t count;
	char text[256];
	Perfetto__InternedName fresh[2], *fresh_list[2];
	size_t fresh_count;
};

static void note(struct writer *w, struct notes *n, Perfetto__DebugAnnotation *annotation, const char *key)
{
	size_t fresh = 0;

	NVW_INVARIANT(n->count < 2);
	perfetto__debug_annotation__init(annotation);
	annotation->has_name_iid = 1;
	annotation->name_iid = intern(&w->keys, key, &n->fresh[n->fresh_count], &fresh);
	n->fresh_list[n->fresh_count] = &n->fresh[n->fresh_count];
	n->fresh_count += fresh;
	n->list[n->count++] = annotation;
}

static void annotate(struct writer *w, struct notes *n, const struct cli_mark *mark)
{
	*n = (struct notes){0};
	if (mark->site) {
		note(w, n, &n->source, key_source);
		NVW_PRINT(n->text, "%s:%u", mark->site->file, mark->site->line);
		n->source.string_value = n->text;
	} else {
		note(w, n, &n->number, key_number);
		n->number.has_uint_value = 1;
		n->number.uint_value = mark->value;
	}
}

static int named_mark(struct writer *w, Perfetto__TracePacket *packet, Perfetto__TrackEvent *event,
	const struct cli_mark *mark)
{
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedName name, category, *names = &name, *categories = &category;
	uint64_t category_number;
	struct notes notes;

	annotate(w, &notes, mark);
	event->has_name_iid = 1;
	event->name_iid = intern(&w->names, mark->name, &name, &data.n_event_names);
	category_number = intern(&w->categories, mark->category, &category, &data.n_event_categories);
	NVW_FAIL_IF(!event->name_iid || !category_number, NVW_E_MEMORY, "no memory for a timeline");
	event->n_category_iids = 1;
	event->category_iids = &category_number;
	event->n_debug_annotations = notes.count;
	event->debug_annotations = notes.list;
	data.event_names = &names;
	data.event_categories = &categories;
	data.n_debug_annotation_names = notes.fresh_count;
	data.debug_annotation_names = notes.fresh_list;
	if (data.n_event_names || data.n_event_categories || notes.fresh_count) {
		packet->interned_data = &data;
	}
	return write_packet(w, packet);
}

static int mark_perfetto(void *writer, const struct cli_mark *mark)
{
	NVW_INVARIANT(mark->type <= CLI_MARK_COUNTER);

	static const Perfetto__TrackEvent__Type types[] = {
		[CLI_MARK_BEGIN] = PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN,
		[CLI_MARK_END] = PERFETTO__TRACK_EVENT__TYPE__SLICE_END,
		[CLI_MARK_INSTANT] = PERFETTO__TRACK_EVENT__TYPE__INSTANT,
		[CLI_MARK_COUNTER] = PERFETTO__TRACK_EVENT__TYPE__COUNTER,
	};
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

	event.has_type = 1;
	event.type = types[mark->type];
	event.has_track_uuid = 1;
	event.track_uuid = mark->track->id;
	packet.has_timestamp = 1;
	packet.timestamp = mark->time_ps / 1000;
	packet.track_event = &event;
	if (mark->type == CLI_MARK_BEGIN || mark->type == CLI_MARK_INSTANT) {
		return named_mark(writer, &packet, &event, mark);
	}
	event.has_counter_value = mark->type == CLI_MARK_COUNTER;
	event.counter_value = (int64_t)mark->value;
	return write_packet(writer, &packet);
}

const struct cli_timeline_format cli_timeline_perfetto = {.writer_bytes = sizeof(struct writer),
	.track = track_perfetto,
	.mark = mark_perfetto,
	.end = end_perfetto};
