/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems as JUnit's XML, which CI systems show as tests. See problems.h. */
#include <string.h>

#include "core/member.h"

#include "../page/html_text.h"
#include "problems.h"
#include "../words.h"

/* XML has no characters below the blank but these. */
static void print_text(FILE *to, const char *text)
{
	char one[2] = "";

	for (; *text != '\0'; text++) {
		one[0] = (unsigned char)*text < ' ' && !strchr("\t\n", *text) ? '?' : *text;
		html_text(to, one);
	}
}

static void print_attribute(FILE *to, const char *name, const char *text)
{
	fprintf(to, " %s=\"", name);
	for (; *text != '\0'; text++) {
		const char one[2] = {*text == '\n' ? ' ' : *text, '\0'};

		print_text(to, one);
	}
	fputc('"', to);
}

static bool is_note(const json_t *problem)
{
	return strcmp(member_text(problem, "level"), "note") == 0;
}

static void begin_case(const struct cli_for_tools *r, const char *name, FILE *to)
{
	fprintf(to, "    <testcase");
	print_attribute(to, "classname", r->subject);
	print_attribute(to, "name", name);
}

static void print_step(const json_t *step, FILE *to)
{
	const char *const file = member_text(step, "file");

	if (*file) {
		print_text(to, file);
		fprintf(to, ":%lld: ", member_number(step, "line"));
	}
	print_text(to, member_text(step, "text"));
	fputc('\n', to);
}

static void print_steps(const json_t *problem, FILE *to)
{
	JSON_EACH(step, json_object_get(problem, "steps")) {
		print_step(step, to);
	}
}

/* A name that stays while numbers and lines change: the rule, and the functions of the first and the last
 * step. */
static void name_problem(const json_t *problem, char *name, size_t bytes)
{
	const json_t *const steps = json_object_get(problem, "steps");
	const json_t *const first = json_array_get(steps, 0),
			    *last = json_array_get(steps, json_array_size(steps) - 1);
	const char *const from = member_text(first, "function"), *to = member_text(last, "function");

	if (strcmp(from, to) == 0) {
		to = "";
	}
	snprintf(name, bytes, "%s%s%s%s%s%s%s", member_text(problem, "rule"), words_if(first, " at "),
		member_text(first, "file"), words_if(*from, ", "), from, words_if(*to, ", "), to);
}

static void print_problem(const struct cli_for_tools *r, const json_t *problem, FILE *to)
{
	char name[512];

	name_problem(problem, name, sizeof name);
	begin_case(r, name, to);
	fputs(">\n      <failure", to);
	print_attribute(to, "type", member_text(problem, "rule"));
	print_attribute(to, "message", member_text(problem, "text"));
	fputc('>', to);
	print_text(to, member_text(problem, "details"));
	fputc('\n', to);
	print_steps(problem, to);
	fputs("</failure>\n    </testcase>\n", to);
}

static void print_verdict(const struct cli_for_tools *r, unsigned failures, FILE *to)
{
	begin_case(r, "verdict", to);
	fprintf(to, " time=\"%.3f\">\n", r->seconds);
	if (failures > 0) {
		fputs("      <failure type=\"verdict\"", to);
		print_attribute(to, "message", r->headline);
		fputs("/>\n", to);
	} else if (r->undecided) {
		fputs("      <error type=\"undecided\"", to);
		print_attribute(to, "message", r->headline);
		fputs("/>\n", to);
	}
	fputs("      <system-out>", to);
	print_text(to, r->headline);
	fputs("</system-out>\n    </testcase>\n", to);
}

int cli_print_junit(const struct cli_for_tools *r, FILE *to)
{
	unsigned problems = 0;

	JSON_EACH(problem, r->problems) {
		problems += !is_note(problem);
	}
	const unsigned failures = problems + (problems > 0), errors = problems == 0 && r->undecided;

	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"nvwave %s\" "
		"tests=\"%u\" "
		"failures=\"%u\" errors=\"%u\" skipped=\"0\" time=\"%.3f\">\n",
		r->command, 1 + problems, failures, errors, r->seconds);
	print_verdict(r, problems, to);
	JSON_EACH(problem, r->problems) {
		if (!is_note(problem)) {
			print_problem(r, problem, to);
		}
	}
	fputs("  </testsuite>\n</testsuites>\n", to);
	NVW_FAIL_ERRNO_IF(fflush(to) != 0 || ferror(to), "cannot write the report");
	return 0;
}
