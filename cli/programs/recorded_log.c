/* SPDX-License-Identifier: BSD-3-Clause */
/* See recorded_log.h. */
#include "recorded_log.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/disk_image.h"
#include "../report/crash/unlogged.h"
#include "../schedules/schedules_asked.h"

/* ---- Notes --------------------------------------------------------------------------------------- */

/* Reports how the program ended; in kill mode nvwave sent the SIGKILL. */
static void tell_end(const struct host_session *s)
{
	const struct host_control *const c = s->control;

	if (WIFSIGNALED(s->status) && c->kill_at == 0) {
		fprintf(stderr,
			"nvwave: note: %s ended by signal %d (%s): what it did until then is explored\n",
			s->program, WTERMSIG(s->status), strsignal(WTERMSIG(s->status)));
	} else if (WIFEXITED(s->status) && WEXITSTATUS(s->status) != 0) {
		fprintf(stderr, "nvwave: note: %s ended with status %d: what it did until then is explored\n",
			s->program, WEXITSTATUS(s->status));
	}
}

static void tell_gaps(const struct host_control *c)
{
	NVW_FOR(i, HOST_GAP_COUNT) {
		if (c->gap[i] > 0) {
			fprintf(stderr, "nvwave: note: the record has a gap: %s\n",
				host_gap_text((enum host_gap)i));
		}
	}
	if (c->stray[0] != '\0') {
		fprintf(stderr, "nvwave: note: %s\n", c->stray);
	}
	if (cli_unlogged_unseen(c)) {
		fprintf(stderr, "nvwave: note: %s\n", cli_unlogged_unseen(c));
	}
}

/* What the program did behind the record's end would be taken for writes that no call has made. */
static int refuse_cut(const struct host_session *s)
{
	char path[NVW__FOLDER_PATH + 16];

	if (s->control->gap[HOST_GAP_SPOOL_FULL] == 0) {
		return 0;
	}
	NVW_PRINT(path, "%s/spool", s->folder.path);
	errno = ENOSPC;
	return nvw_folder_fail(path, s->control->spool_tail + HOST_SPOOL_WINDOW);
}

static void tell_unflushed(const struct host_session *s, unsigned file)
{
	NVW_INVARIANT(file < s->control->file_count);
	if (s->control->file[file].written) {
		fprintf(stderr, "nvwave: note: %s wrote to the file and never synced it\n", s->program);
		return;
	}
	const char *what = "through libpmem: flushes of its own are not seen; nvwave-cc makes them seen";

	if (s->control->instrumented) {
		what = "it, neither by libpmem nor by what nvwave-cc has built";
	}
	fprintf(stderr, "nvwave: note: %s stored to the file and never flushed %s\n", s->program, what);
}

/* ---- The file ------------------------------------------------------------------------------------ */

/* Finds the copy among the files that the program mapped: returns 1, or 0 if it is not among them. */
static unsigned count_named(const struct host_control *c, const char *path, unsigned *ret_first)
{
	unsigned found = 0;

	for (unsigned i = c->file_count; i-- > 0;) {
		if (!strcmp(c->file[i].path, path)) {
			*ret_first = i;
			found++;
		}
	}
	return found;
}

static int find_file(const struct host_session *s, const char *path, unsigned *ret_file)
{
	const unsigned found = count_named(s->control, path, ret_file);

	if (found > 1) {
		fprintf(stderr,
			"nvwave: note: %s replaced the file by another of its name: only the first is "
			"explored\n",
			s->program);
	}
	return found > 0;
}

/* All that the program has changed in a folder counts. */
static int check_followed(const struct host_session *s, const struct crash_recording *r)
{
	struct stat file;

	if (r->is_folder) {
		return host_session_check_followed(s, NULL);
	}
	if (stat(r->path, &file) != 0) {
		return 0;
	}
	return host_session_check_followed(s, &file);
}

static int refuse_unmapped(const struct host_session *s)
{
	const struct host_control *const c = s->control;
	const char *what = ": it did not load the recording library", *other = "";

	if (c->file_count) {
		what = ", but ";
		other = c->file[0].path;
	} else if (c->attached) {
		what = ", nor any other file";
	}
	return nvw_fail(
		NVW_E_INPUT, "--exec: %s did not map or write the image's copy%s%s", s->program, what, other);
}

/* ---- The log ------------------------------------------------------------------------------------- */

int recorded_log_hash_image(const char *path, uint64_t *ret)
{
	*ret = 0;
	if (access(path, F_OK) != 0) {
		return 0;
	}
	return cli_hash_file(path, ret);
}

/* Writes the log and the initial content of the file next to the copy. */
static int write_log(struct host_session *s, const struct crash_recording *r, unsigned file)
{
	struct host_counts counts;
	const int fd = open(r->log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	NVW_FAIL_ERRNO_IF(fd < 0, "%s", r->log);
	if (r->schedule || r->named || r->is_folder) {
		s->named = basename(r->path); /* the copy's folder is another in every test */
	}
	NVW_TRY(host_session_convert(s, file, fd, r->log, &counts));
	NVW_TRY(host_session_save_image(s, file, r->base));
	if (counts.stores > 0 && counts.flushes == 0 && !r->is_folder && s->control->kill_at == 0 &&
		!r->quiet) {
		tell_unflushed(s, file);
	}
	return 0;
}

/* A written file is recorded from its first write on: what changed it before, such as an open() that cuts
 * it, was not seen. */
static int check_beginning(const struct host_session *s, const struct crash_recording *r, unsigned file)
{
	char base[300];
	uint64_t hash;
	struct stat is;

	if (r->is_folder) {
		return 0; /* recorded from the beginning */
	}
	NVW_INVARIANT(file < s->control->file_count);
	host_session_base(s, file, base, sizeof base);
	if (!s->control->file[file].written || (r->before == 0 && stat(base, &is) == 0 && is.st_size == 0)) {
		return 0;
	}
	NVW_TRY(recorded_log_hash_image(base, &hash));
	NVW_FAIL_IF(hash != r->before, NVW_E_INPUT,
		"UNDECIDED: %s changes %s before its first recorded call (by stdio, or by open() "
		"with O_TRUNC), so it is not known what a crash may leave",
		s->program, basename(r->path));
	return 0;
}

int recorded_log_take(struct host_session *s, struct crash_recording *r)
{
	unsigned file = 0;
	const int found = r->is_folder ? s->control->attached > 0 : find_file(s, r->path, &file);

	if (!r->judged) {
		tell_end(s);
	}
	NVW_TRY(refuse_cut(s));
	if (!r->quiet) {
		tell_gaps(s->control);
	}
	r->events = s->control->events;
	r->status = s->status;
	r->seconds = s->seconds;
	NVW_TRY(check_followed(s, r));
	NVW_FAIL_IF(found && r->fs != NVW__FS_EXT4 && !host_is_of_files(s, file), NVW_E_USAGE,
		"crash: --fs has no effect: the image is no file on a disk");
	if (found) {
		NVW_TRY(check_beginning(s, r, file));
		cli_unlogged_take(s->control, (int)file, &r->unlogged);
		NVW_TRY(write_log(s, r, file));
	} else if (r->kill_at == 0) {
		return refuse_unmapped(s);
	}
	return found;
}
