/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timeline of a run: sights (emu/observe/watch.h) within a window, as tracks with slices, instants and
 * counters, in a file for Perfetto's viewer or for Chrome's.
 *
 * Times in the file count from the begin of the measured part, as sim_time does. Slices are cut at the
 * window's edges.
 */
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include <stdio.h>

#include <emu.h>

struct cli_timeline;

/* FROM..TO: times after the begin of the measured part; either may be left out. */
struct cli_window {
	uint64_t from_ps, to_ps;
};
/* NVW_E_USAGE with a message. */
NVW_CHECKED int cli_window_parse(const char *text, struct cli_window *ret_window);

/* Creates the file: Chrome's JSON if its name ends with .json, else Perfetto's format. Release by
 * cli_timeline_free(), also after an error. */
NVW_CHECKED int cli_timeline_create(
	const char *path, const struct cli_window *window, struct cli_timeline **ret_timeline);

/* The measured part begins now; from here on it is told. */
void cli_timeline_start(struct cli_timeline *timeline, const struct nvw_machine *machine);
void cli_timeline_see(struct cli_timeline *timeline, const struct emu_sight *sight);

/* NVW_E_USAGE if the run, which ended now, did not reach the window. */
NVW_CHECKED int cli_timeline_check(const struct cli_timeline *timeline, uint64_t now_ps);

/* Writes the file. *ret_complete_ps: up to this time it is complete, UINT64_MAX if nothing was left out. */
NVW_CHECKED int cli_timeline_write(struct cli_timeline *timeline, uint64_t *ret_complete_ps);
/* NULL is allowed. A file that was not written is removed. */
void cli_timeline_free(struct cli_timeline *timeline);

/* ---- Formats ------------------------------------------------------------------------------------- */

struct cli_track {
	uint32_t id;     /* from 1 */
	uint32_t folder; /* id of the folder that it is in; 0: it is a folder */
	const char *name;
	bool is_counter;
};

enum cli_mark_type { CLI_MARK_BEGIN, CLI_MARK_END, CLI_MARK_INSTANT, CLI_MARK_COUNTER };

/* Strings live until the file has ended; equal pointers are equal strings. */
struct cli_mark {
	enum cli_mark_type type;
	const struct cli_track *track;
	uint64_t time_ps;
	const char *name, *category;
	const struct nvw_site *site; /* NULL: none */
	uint64_t value;              /* of a counter; of another mark: its number */
};

/* The writer of every format begins with this; the rest of it is zero at first. */
struct cli_timeline_file {
	FILE *to;
	const char *path;
};
/* Fails as the last write to the file did. */
static inline int cli_timeline_failed(const struct cli_timeline_file *file)
{
	return nvw_fail_errno("%s", file->path);
}

struct cli_timeline_format {
	size_t writer_bytes;
	int (*track)(void *writer, const struct cli_track *track);
	int (*mark)(void *writer, const struct cli_mark *mark);
	int (*end)(void *writer); /* releases what it points to */
};

extern const struct cli_timeline_format cli_timeline_perfetto, cli_timeline_chrome;

#endif
