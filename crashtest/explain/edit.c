/* SPDX-License-Identifier: BSD-3-Clause */
/* Edits of a persist log. See edit.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "edit_log.h"
#include "core/print.h"

const char *const ct_scopes[CT_SCOPES] = {"work-item", "work-group", "kernel", "host"};

/* ---- Words --------------------------------------------------------------------------------------------- */

const char *ct_edit_name(enum ct_edit_kind kind)
{
	static const char *const names[] = {
#define X(name, text) [CT_EDIT_##name] = text,
		CT_EDITS(X)
#undef X
	};

	NVW_INVARIANT(kind < NVW_COUNT(names));
	return names[kind];
}

enum { LINE_TEXT = 320 };

static const char *line_text(const struct ct_line *l, char text[LINE_TEXT])
{
	const int n = snprintf(text, LINE_TEXT, "%s:%u", basename(l->file), l->line);

	if (l->caller_line != 0) {
		snprintf(text + n, LINE_TEXT - (size_t)n, " (called at %s:%u)", basename(l->caller_file),
			l->caller_line);
	}
	return text;
}

static void atomic_text(const struct ct_edit *e, char *ret_text, size_t bytes)
{
	char a[LINE_TEXT];
	size_t n = (size_t)snprintf(ret_text, bytes, "the stores at %s", line_text(&e->a, a));

	NVW_INVARIANT(e->kind == CT_EDIT_ATOMIC && bytes > 0);
	for (unsigned i = 0; i <= e->more_count && i <= CT_EDIT_MORE_MAX && n < bytes; i++) {
		const struct ct_line *const line = i == 0 ? &e->b : &e->more[i - 1];

		n += (size_t)snprintf(ret_text + n, bytes - n, "%s%s", i == e->more_count ? " and " : ", ",
			line_text(line, a));
	}
	if (n < bytes) {
		snprintf(ret_text + n, bytes - n, " atomic");
	}
}

void ct_edit_text(const struct ct_edit *e, char *ret_text, size_t bytes)
{
	char a[LINE_TEXT], b[LINE_TEXT];

	line_text(&e->a, a);
	line_text(&e->b, b);
	switch (e->kind) {
	case CT_EDIT_BARRIER:
		snprintf(ret_text, bytes, "a %s barrier %s %s", ct_scopes[e->scope],
			ct_edit_stands_before(e) ? "before" : "after", line_text(ct_edit_place(e), a));
		break;
	case CT_EDIT_WIDEN:
		snprintf(ret_text, bytes, "the barrier at %s widened to %s scope", a, ct_scopes[e->scope]);
		break;
	case CT_EDIT_EXCHANGE:
		snprintf(ret_text, bytes,
			e->rounds ? "all of a round at %s before those at %s" : "%s before %s", b, a);
		break;
	case CT_EDIT_FLUSH:
		snprintf(ret_text, bytes, "a flush after %s", a);
		break;
	case CT_EDIT_FENCE:
		snprintf(ret_text, bytes, "a fence after %s", a);
		break;
	case CT_EDIT_ATOMIC:
		atomic_text(e, ret_text, bytes);
		break;
	case CT_EDIT_DURABLE:
		snprintf(ret_text, bytes, "%s assumed durable", a);
		break;
	case CT_EDIT_ORDERED:
		snprintf(ret_text, bytes, "%s assumed ordered before %s", a, b);
		break;
	}
}

void ct_edits_text(const struct ct_edit *edits, unsigned count, char *ret_text, size_t bytes)
{
	size_t n = 0;

	NVW_INVARIANT(bytes > 0);
	*ret_text = '\0';
	for (unsigned i = 0; i < count && n < bytes; i++) {
		if (i > 0) {
			n += (size_t)snprintf(ret_text + n, bytes - n, "%s", i + 1 == count ? " and " : ", ");
		}
		if (n < bytes) {
			ct_edit_text(&edits[i], ret_text + n, bytes - n);
			n += strlen(ret_text + n);
		}
	}
}

void ct_line_called(struct ct_line *line, const char *file, uint32_t number)
{
	while (strlen(file) >= sizeof line->caller_file && strchr(file, '/')) {
		file = strchr(file, '/') + 1;
	}
	NVW_PRINT(line->caller_file, "%s", file);
	line->caller_line = number;
}

/* ---- Edits --------------------------------------------------------------------------------------------- */

static int (*const ways[])(struct edit_log *log, const struct ct_edit *edit) = {
	[CT_EDIT_BARRIER] = edit_barriers,
	[CT_EDIT_WIDEN] = edit_barriers,
	[CT_EDIT_EXCHANGE] = edit_exchange,
	[CT_EDIT_FLUSH] = edit_flushes,
	[CT_EDIT_FENCE] = edit_fences,
	[CT_EDIT_ATOMIC] = edit_atomic,
	[CT_EDIT_DURABLE] = edit_durable,
	[CT_EDIT_ORDERED] = edit_ordered,
};

int ct_edit_log(int log_fd, uint64_t first_record, const struct ct_edit *edits, unsigned count,
	struct ct_edited *ret_edited)
{
	struct edit_log log;
	int error = 0;

	NVW_TRY(edit_log_read(log_fd, first_record, &log));
	for (unsigned i = 0; i < count && !error; i++) {
		error = ways[edits[i].kind](&log, &edits[i]);
	}
	*ret_edited = (struct ct_edited){.log_fd = -1, .first_record = log.first};
	if (!error) {
		error = edit_log_write(&log, &ret_edited->log_fd, &ret_edited->limits);
	}
	edit_log_free(&log);
	if (error) {
		ct_edited_free(ret_edited);
	}
	return error;
}

void ct_edited_free(struct ct_edited *e)
{
	if (e->log_fd >= 0) {
		close(e->log_fd);
	}
	ct_limits_destroy(e->limits);
	*e = (struct ct_edited){.log_fd = -1};
}
