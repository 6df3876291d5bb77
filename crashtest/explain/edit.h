/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of a persist log: what the log would have been with a barrier, a flush or a fence that the program
 * lacks, with two stores exchanged, or under an assumption. An edited log is a log like any other: what it
 * makes certain follows from the models (models/), which know nothing of edits.
 *
 * An edit keeps the interleaving of the log: the order in which other work-items stored does not change. So
 * it never makes more certain than the real change of the program would, but it may make less certain:
 *
 *	barrier	A work-item arrives after the last of its consecutive stores at line a; or, if b is given,
 *		before its consecutive stores or acknowledgements at b, wherever it has stored before. It
 *		*passes* just before its next record: the real barrier has certainly completed by then, and
 *		not certainly before. With work-group or kernel scope the members' k-th arrivals are one
 *		barrier (gope18, equations 2 and 3). When a member passes it, and at each of its later
 *		records, what all members have stored by then before their own k-th arrival is durable. A real
 *		barrier would also make the members wait for each other. The log does not show it: it may have
 *		a member pass before another has arrived, and a crash in between is still permitted. Members
 *		that do not come are not covered and wait for nothing, unless all_come: then the edit is
 *		refused, as it is if members come unequally often. Epochs of later stores and acknowledgements
 *		grow by one, in a work-group or kernel only if all of its members that store at all come to
 *		the barrier.
 *	widen	The same, where the arrivals are those at the barrier of line a that have a narrower scope.
 *	exchange	Of each work-item's consecutive stores at line a and the next ones at line b, those at
 *		b come first. Either moves to the other; nobody may have stored to its words in between, or
 *		the edit is refused. It takes the epochs of its new place. a may also be the line of
 *		acknowledgements. In rounds: a round begins where a work-item stores at a for the first time
 *		since it stored at b, and ends before the next one; all of its stores at b come before all of
 *		its stores at a. So a loop at one of the lines, or at both, moves as a whole.
 *	flush	The thread flushes the lines that it stored to at line a just after its last consecutive store
 *		there.
 *	fence	The thread's fence completes just before its next record after line a, which has stores or
 *		flushes.
 *	atomic	A work-item's stores at lines a, b and more, from one at a to the next one at a, come at the
 *		place of the last of them, under the same condition as exchange, and persist together or not
 *		at all.
 *	durable	Assumption: the stores at line a are durable at once.
 *	ordered	Assumption: what is stored at line a persists before what anybody stores at line b later.
 *
 * The last three are no records alone: they also limit which states of an instant there are (limits.h).
 */
#ifndef CRASHTEST_EDIT_H
#define CRASHTEST_EDIT_H

#include <nvw/persist_log.h>

enum { CT_EDIT_MORE_MAX = 4 };

#define CT_EDITS(X)                     \
	X(BARRIER, "barrier")           \
	X(WIDEN, "wider barrier")       \
	X(EXCHANGE, "stores exchanged") \
	X(FLUSH, "flush")               \
	X(FENCE, "fence")               \
	X(ATOMIC, "atomic stores")      \
	X(DURABLE, "assumed durable")   \
	X(ORDERED, "assumed ordered")
#define X(name, text) CT_EDIT_##name,
enum ct_edit_kind { CT_EDITS(X) };
#undef X
const char *ct_edit_name(enum ct_edit_kind kind);

/* A source line. File names are equal if the one ends in the other at a folder's name: "list.c" is
 * "src/list.c". */
struct ct_line {
	char file[128];
	uint32_t line; /* 0: none */
	/* Only where one of its callers is at this line, too (nvw/persist_log.h); 0: whoever calls it. */
	char caller_file[60]; /* its end, from a folder's name on */
	uint32_t caller_line;
};
void ct_line_called(struct ct_line *line, const char *file, uint32_t number);
bool ct_line_is(const struct ct_line *line, const char *file, uint32_t number);

struct ct_edit {
	enum ct_edit_kind kind;
	struct ct_line a, b;
	enum nvw_group scope; /* of barrier and widen */
	bool all_come;        /* of barrier and widen: nobody runs the program with it to see who does not */
	unsigned more_count;  /* of atomic: lines beside a and b */
	struct ct_line more[CT_EDIT_MORE_MAX];
	bool rounds; /* of exchange */
	/* of a fence for one caller: one behind the call comes as early (ct_edit_look_behind_call()) */
	bool behind_call;
};

/* Scopes of barriers in words, by enum nvw_group; behind them the host, which waits for all. */
enum { CT_SCOPES = 4 };
extern const char *const ct_scopes[CT_SCOPES];

/* An edit in words after "with": "a work-item barrier after list.c:31". Files are named by the last part. */
void ct_edit_text(const struct ct_edit *edit, char *ret_text, size_t bytes);
/* Several: "a flush after list.c:31 and a fence after list.c:31". */
void ct_edits_text(const struct ct_edit *edits, unsigned count, char *ret_text, size_t bytes);

/* A barrier, inserted or wider: whether it stands before the statement at its line, and the line. */
static inline bool ct_edit_stands_before(const struct ct_edit *edit)
{
	return edit->kind == CT_EDIT_BARRIER && edit->b.line != 0;
}
static inline const struct ct_line *ct_edit_place(const struct ct_edit *edit)
{
	return ct_edit_stands_before(edit) ? &edit->b : &edit->a;
}

struct ct_limits;

struct ct_edited {
	int log_fd;               /* a file without a name */
	uint64_t first_record;    /* number of the record that was number first_record before */
	struct ct_limits *limits; /* NULL: none */
};

/*
 * Makes a new log with the edits applied, one after the other; log_fd stays as it is. Write-backs (issue,
 * done) are left out: the new log has no timing of its own and cannot be explored as observed. NVW_E_USAGE
 * with a message if an edit is refused, or if nothing in the log was done at its lines; the message lists
 * lines near it.
 */
NVW_CHECKED int ct_edit_log(int log_fd, uint64_t first_record, const struct ct_edit *edits, unsigned count,
	struct ct_edited *ret_edited);
void ct_edited_free(struct ct_edited *edited);

/* Sets rounds of an exchange: some round has one of the lines more than once. */
NVW_CHECKED int ct_edit_look_for_rounds(int log_fd, struct ct_edit *edit);

/* Sets behind_call of a fence for one caller of its line: in the log, what the thread does next it never does
 * within this call. */
NVW_CHECKED int ct_edit_look_behind_call(int log_fd, struct ct_edit *edit);

#endif
