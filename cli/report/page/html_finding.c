/* SPDX-License-Identifier: BSD-3-Clause */
/* A finding on the page. See html_finding.h. */
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/text_stream.h"
#include "../crash/crash_report.h"
#include "../crash/cure_report.h"
#include "../crash/field_words.h"
#include "html_finding.h"
#include "html_text.h"
#include "../patch/patch.h"
#include "../source_lines.h"
#include "../words.h"

enum { SOURCE_AROUND = 2, LANES_MAX = 8, WORDS_MAX = 8 };

static const char *const scopes[] = {"work-item", "work-group", "kernel"};

/* ---- Source -------------------------------------------------------------------------------------- */

static void source(FILE *to, const char *file, uint32_t line)
{
	const char *searched = NULL;
	FILE *f = NULL;
	char text[512];

	if (*file) {
		f = cli_open_source(file, &searched);
	}
	if (!f) {
		html_print(to, "<p class=\"soft\">The source file was not found; searched: %s</p>",
			words_or(searched, "nothing, since its name is unknown"));
		return;
	}
	fputs("<pre tabindex=\"0\">", to);
	for (uint32_t i = 1; fgets(text, sizeof text, f) && i <= line + SOURCE_AROUND; i++) {
		text[strcspn(text, "\n")] = '\0';
		if (i + SOURCE_AROUND >= line) {
			fprintf(to, "<span%s>", words_if(i == line, " class=\"hit\""));
			html_print(to, "%6u  %s</span>", i, text);
		}
	}
	fputs("</pre>", to);
	fclose(f);
}

static void place(FILE *to, const char *file, uint32_t line)
{
	html_print(to, " <code>%s:%u</code>", file, line);
}

/* ---- Cause --------------------------------------------------------------------------------------- */

static const struct ct_moment *moment_of(const struct ct_finding *d, enum ct_role role)
{
	NVW_INVARIANT(role != CT_ROLE_NONE);
	return NVW_FIND(moment, d->moment, d->moment_count, moment->role == role);
}

/* Who acts, what orders the stores, and who has a column of marks. */
static const struct nouns {
	const char *actors, *barrier, *column;
} of_kernels = {"work-items", "persist barrier", "work-item or group"},
  of_threads = {"threads", "fence", "thread"};

static const struct nouns *nouns_of(const struct ct_result *r)
{
	return ct_model_has_threads(r->model) ? &of_threads : &of_kernels;
}

static void who(FILE *to, const struct ct_result *r, const struct ct_moment *m)
{
	if (ct_model_has_threads(r->model)) {
		fprintf(to, "thread %llu", (ull)m->work_item);
	} else {
		fprintf(to, "work-item %llu, group %llu", (ull)m->work_item, (ull)m->group);
	}
}

/* The field that the moment's store goes to, if it is known. */
static bool is_of(const struct ct_place *p, const struct ct_moment *m)
{
	return p->off == m->off && p->bytes == m->bytes && p->line == m->line &&
	       cli_field_is_known(&p->field);
}

static void say_field(FILE *to, const struct nvw__field *field)
{
	char words[CLI_FIELD_BYTES];

	html_print(to, "<code>%s</code>, ", cli_field_words(field, words));
}

static void name_field(FILE *to, const struct ct_finding *d, const struct ct_moment *m)
{
	NVW_EACH(p, d->place, d->place_count) {
		if (is_of(p, m)) {
			say_field(to, &p->field);
			return;
		}
	}
}

/* A: the lost store. */
static void tell_lost(
	FILE *to, const struct ct_result *r, const struct ct_finding *d, const struct ct_moment *m)
{
	NVW_INVARIANT(m->role == CT_ROLE_LOST);
	fprintf(to, "<li class=\"is-lost\"><span class=\"badge\">A</span> <b>lost</b>: ");
	name_field(to, d, m);
	fprintf(to, "store of %u bytes at pool offset <code>0x%llx</code>, ", m->bytes, (ull)m->off);
	who(to, r, m);
	fputs(", at ", to);
	html_moment(to, r, m->time_ps);
	place(to, m->file, m->line);
	source(to, m->file, m->line);
	fputs("</li>", to);
}

/* B: the store or acknowledgement that must not be durable without A. */
static void tell_early(
	FILE *to, const struct ct_result *r, const struct ct_finding *d, const struct ct_moment *m)
{
	NVW_INVARIANT(m->role == CT_ROLE_EARLY);
	fputs("<li class=\"is-kept\"><span class=\"badge\">B</span> ", to);
	if (m->kind == CT_MOMENT_ACK) {
		fprintf(to, "<b>acknowledged</b>, although A is lost: operation %llu, ", (ull)m->value);
	} else {
		fprintf(to, "<b>durable</b>, although it relies on A: ");
		name_field(to, d, m);
		fprintf(to, "store of %u bytes at pool offset <code>0x%llx</code>, ", m->bytes, (ull)m->off);
	}
	who(to, r, m);
	fputs(", at ", to);
	html_moment(to, r, m->time_ps);
	if (*m->file) {
		place(to, m->file, m->line);
		source(to, m->file, m->line);
	}
	fputs("</li>", to);
}

/* What is missing between them, or not sufficient. */
static void tell_gap(FILE *to, const struct ct_result *r, const struct ct_finding *d)
{
	NVW_INVARIANT(d->cause.kind != CT_CAUSE_NONE);
	html_print(to, "<li class=\"is-gap\"><span class=\"badge\">!</span> <b>%s</b>: %s",
		ct_cause_name(d->cause.kind), d->cause.text);
	if (d->cause.line != 0) {
		source(to, d->cause.file, d->cause.line);
	}
	fputs("</li>", to);
}

/* The proof; d NULL: what is known of all cures together. */
static void tell_cure(FILE *to, const struct ct_result *r, const struct ct_finding *d)
{
	struct text_stream t;

	if (!text_begin(&t)) {
		return;
	}
	if (d) {
		cli_cure_report(r, d, "", t.to);
	} else {
		cli_cure_report_all(r, t.to);
	}
	for (char *rest = text_end(&t), *line; rest && (line = strtok_r(rest, "\n", &rest));) {
		html_print(to, "<p>%s</p>", line);
	}
	free(t.text);
}

/* A line of a diff; kinds of lines look different. */
static const char *diff_style(const char *line)
{
	if (!strncmp(line, "--- ", 4) || !strncmp(line, "+++ ", 4) || !strncmp(line, "@@", 2)) {
		return " class=\"soft\"";
	}
	return words_if(*line == '+', " class=\"added\"");
}

static void diff_line(FILE *to, const char *line)
{
	fprintf(to, "<span%s>", diff_style(line));
	html_print(to, "%s</span>\n", line); /* as text it is the diff */
}

static void show_diff(FILE *to, char *text)
{
	fputs("<p>The cure, for <code>patch -p1</code>:</p><pre class=\"diff\" tabindex=\"0\">", to);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && rest;) {
		diff_line(to, line);
	}
	fputs("</pre>", to);
}

/* The cure as lines of the source; nothing if it is more than lines to insert. */
static void diff(FILE *to, const struct ct_finding *d)
{
	struct text_stream t;

	if (!text_begin(&t)) {
		return;
	}
	const char *const why = cli_patch_print(d, t.to);
	char *const text = text_end(&t);

	if (!why && text && *text) {
		show_diff(to, text);
	} else if (d->cure.verified) {
		html_print(to, "<p class=\"soft\">There is no diff: %s.</p>",
			words_or(why, "the sources were not found"));
	}
	free(text);
}

/* Both sides in order of time, the missing order between them, and the crash. */
static void story(FILE *to, const struct ct_result *r, const struct ct_finding *d)
{
	const struct ct_moment *const lost = moment_of(d, CT_ROLE_LOST), *const early =
										 moment_of(d, CT_ROLE_EARLY);
	const bool reversed = d->cause.kind == CT_CAUSE_REVERSED;

	fputs("<ol class=\"story\">", to);
	if (early && reversed) {
		tell_early(to, r, d, early);
	}
	if (lost && !reversed) {
		tell_lost(to, r, d, lost);
	}
	if (d->cause.kind != CT_CAUSE_NONE) {
		tell_gap(to, r, d);
	} else {
		fputs("<li>The cause is open: no pair of stores explains the failure. The stores behind it "
		      "are listed below.</li>",
			to);
	}
	if (lost && reversed) {
		tell_lost(to, r, d, lost);
	}
	if (early && !reversed) {
		tell_early(to, r, d, early);
	}
	fputs("<li class=\"is-crash\">Crash at ", to);
	html_moment(to, r, (int64_t)d->first_time_ps);
	fputs("</li></ol>", to);
}

/* ---- Timeline ------------------------------------------------------------------------------------ */

/* Columns of marks: one per work-item, or per work-group or kernel for their barriers; the last one for all
 * others. */
struct lanes {
	unsigned count;
	struct {
		int kind; /* an enum nvw_group */
		uint64_t number;
	} lane[LANES_MAX];
};

/* Returns the number of the work-item or group; a kernel has none. */
static uint64_t number_in(const struct ct_moment *m, int kind)
{
	switch (kind) {
	case NVW_WORKITEM:
		return m->work_item;
	case NVW_WORKGROUP:
		return m->group;
	default:
		return 0;
	}
}

static unsigned lane_of(struct lanes *l, const struct ct_moment *m)
{
	const int kind = m->kind == CT_MOMENT_BARRIER ? (int)m->scope : NVW_WORKITEM;
	const uint64_t number = number_in(m, kind);
	const unsigned i = NVW_INDEX(k, l->count, l->lane[k].kind == kind && l->lane[k].number == number);

	NVW_INVARIANT(l->count <= LANES_MAX);
	if (i == l->count && i < LANES_MAX) {
		l->lane[i].kind = kind;
		l->lane[i].number = number;
		l->count++;
	}
	return (unsigned)nvw_min(i, LANES_MAX - 1);
}

enum store_fate { STORE_LOST, STORE_OVERWRITTEN, STORE_DURABLE };

/* The moment is a store. */
static enum store_fate fate_of(const struct ct_moment *m)
{
	if (m->durable) {
		return STORE_DURABLE;
	}
	return m->overwritten ? STORE_OVERWRITTEN : STORE_LOST;
}

static const struct {
	const char *name, *mark;
} fates[] = {
	[STORE_LOST] = {"lost", "<span class=\"lost\">&#9675;</span>"},
	[STORE_OVERWRITTEN] = {"overwritten", "<span class=\"kept\">&#9675;</span>"},
	[STORE_DURABLE] = {"durable", "<span class=\"kept\">&#9679;</span>"},
};

static void mark(FILE *to, const struct ct_moment *m, unsigned lane)
{
	static const char *const marks[] = {
		[CT_MOMENT_BARRIER] = "<span style=\"color:var(--bar)\">&#9644;</span>",
		[CT_MOMENT_ACK] = "<span style=\"color:var(--good)\">&#9670;</span>",
		[CT_MOMENT_FLUSH] = "<span style=\"color:var(--bar)\">&#9653;</span>",
		[CT_MOMENT_FENCE] = "<span>&#9646;</span>"};

	NVW_INVARIANT(lane < LANES_MAX);
	fprintf(to, "<span class=\"mark\" style=\"--lane:%u\" aria-hidden=\"true\">%s</span>", lane,
		m->kind == CT_MOMENT_STORE ? fates[fate_of(m)].mark : marks[m->kind]);
}

static void barrier(FILE *to, const struct ct_result *r, const struct ct_moment *m)
{
	NVW_INVARIANT(m->kind == CT_MOMENT_BARRIER && m->scope < NVW_COUNT(scopes));
	fprintf(to, "persist barrier, %s scope, ", scopes[m->scope]);
	if (m->end_ps == INT64_MAX) {
		fputs("not completed, ", to);
		return;
	}
	fputs("completed at ", to);
	html_moment(to, r, m->end_ps);
	fputs(", ", to);
}

static void what(FILE *to, const struct ct_result *r, const struct ct_moment *m)
{
	switch (m->kind) {
	case CT_MOMENT_STORE:
		fprintf(to, "store, %s: <code>0x%llx = 0x%llx</code>, ", fates[fate_of(m)].name, (ull)m->off,
			(ull)m->value);
		break;
	case CT_MOMENT_BARRIER:
		barrier(to, r, m);
		break;
	case CT_MOMENT_ACK:
		fprintf(to, "acknowledgement of operation %llu, ", (ull)m->value);
		break;
	case CT_MOMENT_FLUSH:
		fprintf(to, "flush of <code>0x%llx</code>", (ull)m->off);
		break;
	case CT_MOMENT_FENCE:
		fputs("fence", to);
		break;
	}
	if (m->kind < CT_MOMENT_FLUSH) {
		who(to, r, m);
	}
	if (*m->file) {
		place(to, m->file, m->line);
	}
}

static void row(FILE *to, const struct ct_result *r, const struct ct_moment *m, unsigned lane)
{
	static const char *const styles[] = {
		"", " class=\"is-lost\"", " class=\"is-kept\"", " class=\"is-gap\""};
	static const char *const badges[] = {"", "<span class=\"badge\">A</span> ",
		"<span class=\"badge\">B</span> ", "<span class=\"badge\">!</span> "};

	NVW_INVARIANT(m->role < NVW_COUNT(styles));
	if (m->left_out > 0) {
		fprintf(to,
			"<li><span class=\"left-out\">%llu moments of these %s are left "
			"out</span></li>",
			(ull)m->left_out, nouns_of(r)->actors);
	}
	fprintf(to, "<li%s>", styles[m->role]);
	mark(to, m, lane);
	fputs("<span class=\"soft\">", to);
	html_moment(to, r, m->time_ps);
	fprintf(to, "</span><span class=\"what\">%s", badges[m->role]);
	what(to, r, m);
	fputs("</span></li>", to);
}

static void timeline(FILE *to, const struct ct_result *r, const struct ct_finding *d, bool is_open)
{
	const struct nouns *const nouns = nouns_of(r);
	struct lanes lanes = {0};

	if (d->moment_count == 0) {
		return;
	}
	NVW_EACH(moment, d->moment, d->moment_count) {
		lane_of(&lanes, moment);
	}
	NVW_INVARIANT(lanes.count > 0 && lanes.count <= LANES_MAX);
	fprintf(to,
		"<details%s><summary>Before the crash: %u moments of the %s behind the "
		"finding</summary><p class=\"soft\"><span class=\"kept\">&#9679;</span> durable store &nbsp; "
		"<span class=\"kept\">&#9675;</span> store overwritten by a durable one &nbsp; <span "
		"class=\"lost\">&#9675;</span> lost store &nbsp; <span "
		"style=\"color:var(--bar)\">&#9644;</span> %s &nbsp; <span "
		"style=\"color:var(--good)\">&#9670;</span> acknowledgement. Oldest first, one column of "
		"marks per %s.</p><ol class=\"timeline\" style=\"--lanes:%u\">",
		words_if(is_open, " open"), d->moment_count, nouns->actors, nouns->barrier, nouns->column,
		lanes.count);
	NVW_EACH(moment, d->moment, d->moment_count) {
		row(to, r, moment, lane_of(&lanes, moment));
	}
	fputs("</ol></details>", to);
}

/* ---- Stores and words ---------------------------------------------------------------------------- */

static const char *style_of(bool lost)
{
	return lost ? "lost" : "kept";
}

static void place_row(FILE *to, const struct ct_place *p, bool on_device, bool has_fields)
{
	char words[CLI_FIELD_BYTES];

	html_print(to, "<tr><td class=\"mono\">%s:%u (%s)</td>", p->file, p->line, p->function);
	if (on_device) {
		html_print(to, "<td>%s</td><td>%llu</td><td>%llu</td><td>%u / %u / %u</td>", p->kernel,
			(ull)p->work_item, (ull)p->group, p->epoch_wi, p->epoch_wg, p->epoch_kr);
	}
	if (has_fields) {
		html_print(to, "<td class=\"mono\">%s</td>",
			words_if(cli_field_is_known(&p->field), cli_field_words(&p->field, words)));
	}
	fprintf(to, "<td class=\"mono\">0x%llx</td><td class=\"%s\">%s</td></tr>", (ull)p->off,
		style_of(p->fate != CT_FATE_DURABLE), ct_fate_name(p->fate));
}

static bool knows_field(const struct ct_finding *d)
{
	return NVW_ANY(place, d->place, d->place_count, cli_field_is_known(&place->field));
}

static void places(FILE *to, const struct ct_finding *d)
{
	if (d->place_count == 0) {
		return;
	}
	const bool on_device = d->place[0].kernel[0] != '\0', has_fields = knows_field(d);

	fprintf(to,
		"<details%s><summary>All %u store%s behind the finding</summary><div "
		"class=\"scroll\"><table><tr><th>store</th>%s%s<th>offset</th><th>after the crash</th></tr>",
		words_if(d->cause.kind == CT_CAUSE_NONE, " open"), d->place_count, plural(d->place_count),
		words_if(on_device,
			"<th>kernel</th><th>work-item</th><th>group</th><th>epoch wi / wg / kr</th>"),
		words_if(has_fields, "<th>field</th>"));
	NVW_EACH(place, d->place, d->place_count) {
		place_row(to, place, on_device, has_fields);
	}
	fputs("</table></div></details>", to);
}

/* Lost words first: they are few, while often any of the durable ones could be the culprit. */
static void words(FILE *to, const struct ct_finding *d)
{
	unsigned shown = 0;

	if (d->unit_count == 0) {
		return;
	}
	fputs("<details><summary>Words that matter</summary><div "
	      "class=\"scroll\"><table><tr><th>offset</th><th>after the crash</th><th>with nothing "
	      "lost</th><th></th></tr>",
		to);
	for (unsigned i = 0; i < 2 * d->unit_count && shown < WORDS_MAX; i++) {
		const struct ct_unit *const u = &d->unit[i % d->unit_count];

		if (u->lost == (i < d->unit_count)) {
			fprintf(to,
				"<tr><td class=\"mono\">0x%llx</td><td class=\"mono\">%016llx</td><td "
				"class=\"mono\">%016llx</td><td class=\"%s\">%s</td></tr>",
				(ull)u->off, (ull)u->now, (ull)u->newest, style_of(u->lost),
				u->lost ? "lost" : "durable; its loss would avoid the failure");
			shown++;
		}
	}
	fputs("</table></div>", to);
	if (shown < d->unit_count) {
		fprintf(to, "<p class=\"soft\">and %u more</p>", d->unit_count - shown);
	}
	fputs("</details>", to);
}

/* ---- The finding --------------------------------------------------------------------------------- */

/* Failures in other words that have the same cause. */
static void also(FILE *to, const struct ct_finding *d)
{
	NVW_FOR(k, d->also_count) {
		html_print(to, "<p class=\"soft\">also: %s", d->also[k].text);
		if (d->also[k].states > 0) {
			fprintf(to, " (%llu states%s)", (ull)d->also[k].states,
				words_if(!d->by_cure, " failing in these words"));
		}
		fputs("</p>", to);
	}
}

static void heading(FILE *to, const struct ct_result *r, unsigned i)
{
	NVW_INVARIANT(i < r->finding_count);

	const struct ct_finding *const d = &r->finding[i];

	html_print(to, "<section class=\"card\" id=\"finding-%u\"><h3>%u. %s</h3><p class=\"soft\">", i + 1,
		i + 1, d->text);
	if (d->states > 0) {
		html_figure(to, d->states);
		fprintf(to, " %s%s%s, ", crash_state_name(r), plural(d->states),
			words_if(!d->by_cure, " failing in these words"));
	}
	fputs("first at ", to);
	html_moment(to, r, (int64_t)d->first_time_ps);
	if (d->off != 0) {
		fprintf(to, ", pool offset <code>0x%llx</code>", (ull)d->off);
	}
	if (d->minimised) {
		fprintf(to, "; smallest case: %llu of %llu uncertain words lost", (ull)d->units_lost,
			(ull)d->units);
	}
	fputs("</p>", to);
	also(to, d);
}

static void note(FILE *to, const char *name, const char *text, const char *end)
{
	if (*text != '\0') {
		html_print(to, "<p>%s <code>%s</code>%s</p>", name, text, end);
	}
}

static void stack(FILE *to, const char *whose, const char *text)
{
	if (*text != '\0') {
		html_print(to, "<details><summary>%s</summary><pre class=\"mono\">%s</pre></details>", whose,
			text);
	}
}

/* Where it died or hung, and the operations of the program (nvw/ack.h). */
static void circumstances(FILE *to, const struct ct_finding *d)
{
	note(to, "in", d->where, "");
	stack(to, "The stack there", d->stack);
	note(to, "operation", d->operation, " was acknowledged");
	note(to, "in flight: operation", d->in_flight, "");
}

void html_finding(FILE *to, const struct ct_result *r, unsigned i)
{
	NVW_INVARIANT(i < r->finding_count);

	const struct ct_finding *const d = &r->finding[i];

	heading(to, r, i);
	circumstances(to, d);
	if (d->cause.kind != CT_CAUSE_NONE || r->mode != CT_KILL) {
		story(to, r, d);
	}
	stack(to, "The stack of the lost store", d->cause.lost_stack);
	stack(to, "The stack of what relies on it", d->cause.early_stack);
	tell_cure(to, r, d);
	diff(to, d);
	timeline(to, r, d, i == 0);
	places(to, d);
	words(to, d);
	if (d->saved[0] != '\0') {
		html_print(to, "<p>Replay with: <code>nvwave replay %s</code></p>", d->saved);
	}
	fputs("</section>", to);
}

void html_all_cures(FILE *to, const struct ct_result *r)
{
	tell_cure(to, r, NULL);
}
