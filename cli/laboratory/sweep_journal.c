/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of points, in a file: what has been run survives the end of the process at any instant, and
 * the next sweep of the same output takes it from there. A line per result, in the order of their ends:
 *
 *	KEY CHECK {"status": ...}
 *
 * CHECK is 64 bits of the row's text in hexadecimal. A line is one write at the file's end; one that was cut
 * or damaged is not used. Rows "error", "died" and "timeout" are not taken: those points run again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include <nvw/input.h>

#include "core/invariant.h"
#include "core/member.h"
#include "sweep.h"

static const char heading[] = "nvwave sweep journal 1\n";

enum {
	JOURNAL_BYTES_MAX = 1 << 30,
	KEY_DIGITS = SWEEP_KEY_BYTES - 1,
	CHECK_DIGITS = 16,
	LOCK_ATTEMPTS = 100
};

static uint64_t check_of(const char *text)
{
	return XXH3_64bits(text, strlen(text));
}

/* A line without its end -> the row, NULL if it is no whole line, or of a result that is not used again. */
static json_t *row_of(const char *line, bool with_failed)
{
	NVW_INVARIANT(strlen(line) > KEY_DIGITS);

	const char *const row = line + KEY_DIGITS + 1 + CHECK_DIGITS + 1;
	json_t *parsed;

	if (strlen(line) <= (size_t)(row - line) || line[KEY_DIGITS] != ' ' ||
		strtoull(line + KEY_DIGITS + 1, NULL, 16) != check_of(row)) {
		return NULL;
	}
	parsed = json_loads(row, 0, NULL);
	const char *const status = member_string(parsed, "status");

	if (!status || (!with_failed && strcmp(status, "ok") && strcmp(status, "wrong"))) {
		json_decref(parsed);
		return NULL;
	}
	return parsed;
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(struct sweep_point *const *)a)->key, (*(struct sweep_point *const *)b)->key);
}

/* Points may have the same key: every one gets the row. */
static void take_line(struct sweep_point **sorted, unsigned count, const char *line, bool with_failed)
{
	struct sweep_point wanted, *const key = &wanted;

	if (strlen(line) <= KEY_DIGITS) {
		return;
	}
	memcpy(wanted.key, line, KEY_DIGITS);
	wanted.key[KEY_DIGITS] = 0;
	struct sweep_point **at = bsearch(&key, sorted, count, sizeof *sorted, by_key);

	if (!at) {
		return;
	}
	json_t *const row = row_of(line, with_failed);

	while (row && at > sorted && !strcmp(at[-1]->key, wanted.key)) {
		at--;
	}
	for (; row && at < sorted + count && !strcmp((*at)->key, wanted.key); at++) {
		json_decref((*at)->row);
		(*at)->row = json_incref(row);
		(*at)->is_known = !with_failed;
	}
	json_decref(row);
}

static int take_rows(struct sweep *s, char *text, bool with_failed)
{
	struct sweep_point **const sorted = malloc(s->count * sizeof(struct sweep_point *));
	char *rest = text, *line;

	NVW_INVARIANT(s->count > 0);
	NVW_ALLOCATED(sorted, "no memory for the journal");
	NVW_FOR(i, s->count) {
		sorted[i] = &s->point[i];
	}
	qsort(sorted, s->count, sizeof *sorted, by_key);
	while ((line = strsep(&rest, "\n"))) {
		take_line(sorted, s->count, line, with_failed);
	}
	free(sorted);
	return 0;
}

static unsigned count_rows(const struct sweep *s)
{
	unsigned n = 0;

	NVW_EACH(point, s->point, s->count) {
		n += point->row != NULL;
	}
	return n;
}

static int no_journal(const char *path)
{
	return nvw_fail(NVW_E_INPUT, "%s: this is not the journal of a sweep", path);
}

static int add_rows(struct sweep *s, const char *path, char *text)
{
	const unsigned before = count_rows(s);

	if (strncmp(text, heading, sizeof heading - 1)) {
		return no_journal(path);
	}
	NVW_TRY(take_rows(s, text, true));
	NVW_FAIL_IF(count_rows(s) == before, NVW_E_INPUT,
		"%s: it has no result that is missing here: expected the journal of a shard of this "
		"sweep, by the same program, machine and files",
		path);
	return 0;
}

int sweep_journal_merge(struct sweep *s, const char *path)
{
	char *text = NULL;
	uint64_t bytes;

	NVW_TRY(nvw_input_read(path, JOURNAL_BYTES_MAX, &text, &bytes));
	const int r = add_rows(s, path, text);

	free(text);
	return r;
}

/* A last line that was cut ends here, so that the next one begins a line of its own. */
static int take_text(struct sweep *s, struct sweep_journal *j, bool fresh, char *text, uint64_t bytes)
{
	const char *const last = memrchr(text, '\n', bytes);
	const bool is_new = bytes < sizeof heading - 1 && !strncmp(text, heading, bytes);

	if (!is_new && strncmp(text, heading, sizeof heading - 1)) {
		return no_journal(j->path);
	}
	if (is_new || fresh) {
		NVW_FAIL_ERRNO_IF(
			ftruncate(j->fd, 0) || write(j->fd, heading, sizeof heading - 1) < 0, "%s", j->path);
		return 0;
	}
	NVW_FAIL_ERRNO_IF(ftruncate(j->fd, last + 1 - text), "%s", j->path);
	return take_rows(s, text, false);
}

/* The point that a killed sweep was starting holds the lock until it runs and sees that it is alone. */
static bool lock_journal(int fd)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

	NVW_FOR(attempt, LOCK_ATTEMPTS) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			return true;
		}
		if (errno != EWOULDBLOCK) {
			return false;
		}
		nanosleep(&pause, NULL);
	}
	errno = EWOULDBLOCK;
	return false;
}

static int lock_or_fail(const struct sweep_journal *j)
{
	if (lock_journal(j->fd)) {
		return 0;
	}
	NVW_FAIL_ERRNO_IF(errno != EWOULDBLOCK, "%s", j->path);
	return nvw_fail(
		NVW_E_USAGE, "%s: another sweep is using it: wait, or name another --output", j->path);
}

static int prepare(struct sweep *s, struct sweep_journal *j, bool fresh)
{
	char *text = NULL;
	uint64_t bytes;

	NVW_TRY(lock_or_fail(j));
	NVW_TRY(nvw_input_read(j->path, JOURNAL_BYTES_MAX, &text, &bytes));
	const int r = take_text(s, j, fresh, text, bytes);

	free(text);
	return r;
}

static int open_and_prepare(struct sweep *s, bool fresh, struct sweep_journal *j)
{
	j->fd = open(j->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
	NVW_FAIL_ERRNO_IF(j->fd < 0, "%s", j->path);
	return prepare(s, j, fresh);
}

int sweep_journal_open(struct sweep *s, char *path, bool fresh, struct sweep_journal *j)
{
	*j = (struct sweep_journal){.fd = -1, .path = path};
	NVW_ALLOCATED(j->path, "no memory for the journal");
	const int r = open_and_prepare(s, fresh, j);

	if (r < 0) {
		sweep_journal_close(j);
	}
	return r;
}

static int write_line(const struct sweep_journal *j, const char *line, int bytes)
{
	NVW_INVARIANT(bytes > 0 && line[bytes - 1] == '\n');

	const ssize_t written = write(j->fd, line, (size_t)bytes);

	NVW_FAIL_ERRNO_IF(written < 0, "%s", j->path);
	NVW_FAIL_IF(written < bytes, NVW_E_FULL, "%s: no space is left", j->path);
	return 0;
}

int sweep_journal_add(struct sweep_journal *j, const struct sweep_point *p)
{
	NVW_INVARIANT(p->row);
	if (j->fd < 0) {
		return 0;
	}
	char *const row = json_dumps(p->row, JSON_COMPACT | JSON_REAL_PRECISION(17));
	char *line = NULL;
	int n = -1;

	if (row) {
		n = asprintf(&line, "%s %016" PRIx64 " %s\n", p->key, check_of(row), row);
	}
	free(row);
	NVW_FAIL_IF(n < 0, NVW_E_MEMORY, "no memory for a result");
	const int r = write_line(j, line, n);

	free(line);
	return r;
}

void sweep_journal_close(struct sweep_journal *j)
{
	if (j->fd >= 0) {
		close(j->fd);
	}
	free(j->path);
	*j = (struct sweep_journal){.fd = -1};
}
