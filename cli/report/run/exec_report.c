/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of "nvwave exec". See exec_report.h. */
#include <string.h>

#include <jansson.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "../json_report.h"
#include "../provenance.h"
#include "exec_report.h"
#include "../crash/unlogged.h"
#include "../words.h"

enum { PLACES = 5 };

/* ---- Content ------------------------------------------------------------------------------------- */

/* Bytes sent to the medium per byte that the program meant to write; changed bytes are known if it was
 * recorded. */
static double amplification(const struct host_control *c, const struct host_thread *sum)
{
	const uint64_t meant = c->record || c->advice ? sum->bytes_changed : sum->bytes_asked;

	if (meant == 0) {
		return 0;
	}
	return (double)(sum->lines_flushed * HOST_LINE) / (double)meant;
}

/* The sites with the most wasted calls, in descending order. */
static unsigned worst_sites(const struct host_control *c, uint32_t worst[PLACES])
{
	unsigned n = 0;

	NVW_FOR(i, c->site_count) {
		const uint64_t wasted = c->site[i].idle_flushes + c->site[i].empty_fences;
		unsigned at = n; /* at most PLACES */

		while (at > 0 && wasted > c->site[worst[at - 1] - 1].idle_flushes +
						  c->site[worst[at - 1] - 1].empty_fences) {
			at--;
		}
		if (wasted == 0 || at == PLACES) {
			continue;
		}
		n += n < PLACES;
		NVW_INVARIANT(at < n && n <= PLACES);
		memmove(worst + at + 1, worst + at, (n - at - 1) * sizeof *worst);
		worst[at] = i + 1;
	}
	return n;
}

const char *exec_report_ending(const struct host_session *s, char text[96])
{
	if (WIFSIGNALED(s->status)) {
		snprintf(text, 96, "ended by signal %d (%s)", WTERMSIG(s->status),
			strsignal(WTERMSIG(s->status)));
	} else {
		snprintf(text, 96, "ended with status %d", WEXITSTATUS(s->status));
	}
	return text;
}

static const char unflushed[] =
	"nothing of a mapped file was flushed, neither by libpmem nor by what nvwave-cc has built";
static const char unwatched[] =
	"no function of libpmem was called through the dynamic linker: a libpmem that is linked statically, "
	"or flushes of the program's own, are not seen; nvwave-cc makes them seen";

static bool has_kernels(const struct host_session *s)
{
	return s->kernels.library[0] != '\0' || s->control->launches_alone > 0;
}

/* Kernels on the machine persist by themselves, and most kernels have nothing to persist. */
static bool has_no_flush(const struct host_session *s, const struct host_thread *sum)
{
	return s->control->libpmem_calls == 0 && sum->flushes + sum->copies + sum->maps == 0 &&
	       s->kernels.library[0] == '\0' &&
	       (s->control->launches_alone == 0 || s->control->file_count > 0);
}

static void note_launches(const struct host_control *c, const struct cli_notes *notes)
{
	if (c->launches_alone > 0) {
		char text[128];

		NVW_PRINT(text, "%llu kernel%s ran by %s; --protocol=NAME puts kernels on the machine",
			(ull)c->launches_alone, plural(c->launches_alone),
			c->launches_alone == 1 ? "itself" : "themselves");
		cli_note(notes, text, 1);
	}
}

static void note_each_gap(const struct host_control *c, const struct cli_notes *notes)
{
	NVW_FOR(i, HOST_GAP_COUNT) {
		if (c->gap[i] > 0) {
			cli_note(notes, host_gap_text((enum host_gap)i), c->gap[i]);
		}
	}
}

static void note_gaps(const struct host_control *c, const struct cli_notes *notes)
{
	if (c->threads > HOST_THREADS_MAX) {
		cli_note(notes, "threads beyond the 1024th are not in the counts",
			c->threads - HOST_THREADS_MAX);
	}
	if (c->uncounted > 0) {
		cli_note(notes, "no memory was left for the counters of a thread: it is not in the counts",
			c->uncounted);
	}
	note_each_gap(c, notes);
}

static void note_all(
	const struct host_session *s, const struct host_thread *sum, const struct cli_notes *notes)
{
	const struct host_control *const c = s->control;

	if (c->attached == 0) {
		cli_note(notes, "the program did not load the recording library: nothing was recorded", 1);
	} else if (has_no_flush(s, sum)) {
		cli_note(notes, c->instrumented ? unflushed : unwatched, 1);
	}
	note_launches(c, notes);
	note_gaps(c, notes);
	if (c->stray[0] != '\0') {
		cli_note(notes, c->stray, 1);
	}
	if (cli_unlogged_unseen(c)) {
		cli_note(notes, cli_unlogged_unseen(c), 1);
	}
}

/* ---- Text ---------------------------------------------------------------------------------------- */

static void line(FILE *to, const char *name, double value, const char *meaning)
{
	fprintf(to, "%-40s %16.15g # %s\n", name, value, meaning);
}

static void print_delays(FILE *to, const char *kind, const struct host_delays *d)
{
	static const struct {
		const char *name;
		double fraction;
	} points[] = {{"p50", 0.5}, {"p99", 0.99}};
	char name[64];

	NVW_PRINT(name, "delay.%s.count", kind);
	line(to, name, (double)d->count, "delays injected");
	NVW_EACH(point, points, 2) {
		NVW_PRINT(name, "delay.%s.requested_%s", kind, point->name);
		line(to, name, (double)host_percentile(&d->requested, point->fraction), "(ns)");
		NVW_PRINT(name, "delay.%s.achieved_%s", kind, point->name);
		line(to, name, (double)host_percentile(&d->achieved, point->fraction), "(ns)");
	}
}

struct operation_line {
	const char *name;
	double value;
	const char *meaning;
};

enum { OPERATION_LINES = 10 };

/* The middle of a bin may lie above everything in it. */
static double latency_of(const struct host_operations *o, double fraction)
{
	return (double)nvw_min(host_percentile(&o->latency, fraction), o->longest_ns);
}

/* What the report says of the program's operations (nvw/ack.h): in real time. */
static void operation_lines(const struct host_operations *o, struct operation_line ret[OPERATION_LINES])
{
	NVW_INVARIANT(o->count > 0);

	const double n = (double)o->count;
	const struct operation_line lines[OPERATION_LINES] = {
		{"count", n, "operations, from their beginning until they are durable"},
		{"seconds", (double)(o->ended_ns - o->began_ns) / 1e9,
			"from the beginning of the first to the end of the last (s)"},
		{"p50", latency_of(o, 0.5), "half of them (ns)"},
		{"p99", latency_of(o, 0.99), "99 % of them (ns)"},
		{"p999", latency_of(o, 0.999), "99.9 % of them (ns)"},
		{"longest", (double)o->longest_ns, "the longest (ns)"},
		{"flushes_per_op", (double)o->flushes / n, "calls that flush, within one"},
		{"fences_per_op", (double)o->fences / n, "calls that drain, within one"},
		{"lines_per_op", (double)o->lines_flushed / n, "cache lines flushed, within one"},
		{"bytes_per_op", (double)o->bytes_asked / n,
			"bytes in calls that flush or copy, within one"}};

	memcpy(ret, lines, sizeof lines);
}

static void print_operations(FILE *to, const struct host_operations *o)
{
	struct operation_line lines[OPERATION_LINES];
	char name[64];

	if (o->count == 0) {
		return;
	}
	operation_lines(o, lines);
	NVW_EACH(one, lines, OPERATION_LINES) {
		NVW_PRINT(name, "operation.%s", one->name);
		line(to, name, one->value, one->meaning);
	}
}

static void print_site(FILE *to, const struct host_place *p, const struct host_site *s)
{
	fprintf(to, "advice: %s:%u (%s): ", p->file, p->line, p->function);
	if (s->idle_flushes > 0) {
		fprintf(to, "%llu of %llu flushes were of lines not stored to since their last flush",
			(ull)s->idle_flushes, (ull)s->flushes);
	}
	if (s->empty_fences > 0) {
		fprintf(to, "%s%llu of %llu drains had nothing flushed before them",
			words_if(s->idle_flushes, "; "), (ull)s->empty_fences, (ull)s->fences);
	}
	fputc('\n', to);
}

static void print_advice(const struct host_control *c, FILE *to)
{
	uint32_t worst[PLACES + 1];
	const unsigned n = worst_sites(c, worst);
	struct host_place p = {.line = 1};
	bool lacks_lines = false;

	NVW_EACH(one, worst, n) {
		const struct host_site *const s = &c->site[*one - 1];

		host_place_of(c, *one, &p);
		lacks_lines = lacks_lines || p.line == 0;
		print_site(to, &p, s);
	}
	if (lacks_lines) {
		fputs("note: a place has no source line: compile with -g\n", to);
	}
}

/* A program with kernels may do nothing else: what it has none of is left out. */
static void count_line(FILE *to, bool zeros, const char *name, double value, const char *meaning)
{
	if (zeros || value > 0) {
		line(to, name, value, meaning);
	}
}

static void print_host(const struct host_session *s, const struct host_thread *sum, FILE *to)
{
	const struct host_control *const c = s->control;
	const bool zeros = !has_kernels(s);

	line(to, "host.seconds", s->seconds, "that it ran (s)");
	count_line(to, zeros, "host.processes", c->processes, "processes that were watched");
	count_line(to, zeros, "host.threads", c->threads, "threads that called, or were recorded");
#define STAT(name, meaning) count_line(to, zeros, "pmem." #name, (double)sum->name, meaning);
	HOST_STATS(STAT)
#undef STAT
	count_line(
		to, zeros, "pmem.amplification", amplification(c, sum), "bytes flushed for each byte meant");
	if (c->delays && (zeros || sum->read.count + sum->write.count > 0)) {
		print_delays(to, "read", &sum->read);
		print_delays(to, "write", &sum->write);
	}
}

void exec_report_text(const struct host_session *s, const json_t *made_by, FILE *to)
{
	const struct host_control *const c = s->control;
	struct ct_unlogged_list unlogged;
	struct host_thread sum;
	char text[96];

	host_session_sum(s, &sum);
	fprintf(to, "---------- %s %s\n", s->program, exec_report_ending(s, text));
	cli_print_provenance(made_by, to);
	print_host(s, &sum, to);
	print_operations(to, &sum.operations);
	if (c->record || c->advice) {
		print_advice(c, to);
	}
	cli_unlogged_take(c, -1, &unlogged);
	cli_unlogged_text(&unlogged, false, to);
	if (c->compared[0] != '\0') {
		fprintf(to, "pages are compared at every fence: %s\n", c->compared);
	}
	note_all(s, &sum, &(struct cli_notes){.to = to, .before = "note: "});
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *delays_json(const struct host_delays *d)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)d->count, "requested_p50_ns",
		(json_int_t)host_percentile(&d->requested, 0.5), "achieved_p50_ns",
		(json_int_t)host_percentile(&d->achieved, 0.5), "requested_p99_ns",
		(json_int_t)host_percentile(&d->requested, 0.99), "achieved_p99_ns",
		(json_int_t)host_percentile(&d->achieved, 0.99));
}

/* NULL: there was none. */
static json_t *operations_json(const struct host_operations *o)
{
	struct operation_line lines[OPERATION_LINES];
	json_t *const all = o->count ? json_object() : NULL;

	if (all) {
		operation_lines(o, lines);
		NVW_EACH(line, lines, OPERATION_LINES) {
			member_set_real(all, line->name, line->value);
		}
	}
	return all;
}

static json_t *advice_json(const struct host_control *c)
{
	json_t *const list = json_array();
	uint32_t worst[PLACES + 1];
	const unsigned n = worst_sites(c, worst);
	struct host_place p;

	NVW_EACH(one, worst, n) {
		const struct host_site *const s = &c->site[*one - 1];

		host_place_of(c, *one, &p);
		json_array_append_new(
			list, json_pack("{s:s, s:i, s:s, s:I, s:I, s:I, s:I}", "file", p.file, "line",
				      (int)p.line, "function", p.function, "flushes", (json_int_t)s->flushes,
				      "idle_flushes", (json_int_t)s->idle_flushes, "fences",
				      (json_int_t)s->fences, "empty_fences", (json_int_t)s->empty_fences));
	}
	return list;
}

json_t *exec_report_json(const struct host_session *s, json_t *made_by, const json_t *kernels, json_t *races,
	json_t *schedules)
{
	const struct host_control *const c = s->control;
	struct ct_unlogged_list unlogged;
	struct host_thread sum;
	json_t *const notes = json_array(), *const stats = json_object();

	host_session_sum(s, &sum);
	note_all(s, &sum, &(struct cli_notes){.list = notes});
#define STAT(name, meaning) member_set_count(stats, #name, sum.name);
	HOST_STATS(STAT)
#undef STAT
	cli_unlogged_take(c, -1, &unlogged);
	const int status = WIFEXITED(s->status) ? WEXITSTATUS(s->status) : -1;
	const int signal = WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;
	const char *const compared = words_or(c->compared, NULL);

	member_set_real(stats, "amplification", amplification(c, &sum));
	json_t *const o = json_pack(
		"{s:s, s:i, s:i, s:f, s:i, s:i, s:o, s:o, s:o, s:o*, s:o, s:o, s:s*, s:O*, s:o*, s:o*, s:o*}",
		"program", s->program, "status", status, "signal", signal, "seconds", s->seconds, "processes",
		(int)c->processes, "threads", (int)c->threads, "pmem", stats, "read_delays",
		delays_json(&sum.read), "write_delays", delays_json(&sum.write), "operations",
		operations_json(&sum.operations), "advice", advice_json(c), "notes", notes, "compared",
		compared, "made_by", made_by, "persistency_races", races, "schedules", schedules, "unlogged",
		cli_unlogged_json(&unlogged));

	if (o && kernels) {
		json_object_set(o, "gpu", (json_t *)(uintptr_t)kernels);
	}
	return o;
}
