/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Problems in SARIF 2.1.0, the format in which code hosts and editors take results. Of the standard these
 * rules bind what is written here:
 *
 *	3.11, 3.27   a result has a message, a rule by identifier and by index (the same one), a level
 *	3.4, 3.14    relative names have a base, whose URI is absolute and ends with a slash
 *	3.30         lines and columns count from 1; a place without a line has no region
 *	3.36, 3.38   a code flow has thread flows, and these locations in the order in which they are met
 *	3.55 - 3.57  a fix has changes of files, each with replacements; a region of no characters inserts
 *	3.20         an invocation says whether the tool did its work; a problem found is no failure of the
 *		     tool
 *	3.27.17      fingerprints stay as they are while lines above a problem come and go
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"

#include "../json_report.h"
#include "problems.h"
#include "../provenance.h"
#include "../source_lines.h"
#include "../words.h"

static const char *const base = "SRCROOT";

/* ---- Places -------------------------------------------------------------------------------------- */

/* Percent-encoded, but for the slashes. */
static void encode(const char *path, char *to, size_t bytes)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+,@=";
	size_t n = 0;

	for (; *path != '\0' && n + 4 < bytes; path++) {
		n += (size_t)snprintf(
			to + n, bytes - n, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
	}
	to[n] = '\0';
	NVW_INVARIANT(n < bytes);
}

/* A file of the working directory by its name there. */
static const char *name_here(const char *file)
{
	char here[PATH_MAX];

	if (!getcwd(here, sizeof here)) {
		return file;
	}
	return NVW_OR(path_below(file, here), file);
}

static json_t *artifact(const char *file)
{
	const char *const name = name_here(file);
	char uri[3 * PATH_MAX + 16] = "file://";

	if (*name == '/') {
		encode(name, uri + strlen(uri), sizeof uri - strlen(uri));
		return json_pack("{s:s}", "uri", uri);
	}
	encode(name, uri, sizeof uri);
	return json_pack("{s:s, s:s}", "uri", uri, "uriBaseId", base);
}

static json_t *physical(const json_t *step)
{
	const char *const file = member_string(step, "file");
	const json_int_t line = member_number(step, "line");
	char name[PATH_MAX];

	if (*file == '\0') {
		return NULL;
	}
	/* "program+0x1234" */
	NVW_PRINT(name, "%.*s", (int)(strstr(file, "+0x") ? strstr(file, "+0x") - file : PATH_MAX - 1), file);
	json_t *const place = json_pack("{s:o}", "artifactLocation", artifact(name));

	if (line > 0) {
		json_object_set_new(place, "region", json_pack("{s:I}", "startLine", line));
	}
	return place;
}

static json_t *location(const json_t *step)
{
	const char *const function = member_string(step, "function");
	json_t *const place = json_pack("{s:{s:O}, s:o*}", "message", "text", json_object_get(step, "text"),
		"physicalLocation", physical(step));

	if (*function != '\0') {
		json_object_set_new(place, "logicalLocations",
			json_pack("[{s:s, s:s}]", "name", function, "kind", "function"));
	}
	return place;
}

static json_t *code_flow(const json_t *steps)
{
	json_t *const locations = json_array();
	json_int_t order = 0;

	JSON_EACH(step, steps) {
		json_array_append_new(
			locations, json_pack("{s:o, s:s, s:I}", "location", location(step), "importance",
					   "essential", "executionOrder", ++order));
	}
	return json_pack("{s:[{s:o}]}", "threadFlows", "locations", locations);
}

/* ---- Fixes --------------------------------------------------------------------------------------- */

/* Inserts a line in front of another one. */
static json_t *replacement(const json_t *insertion)
{
	const json_int_t line = member_number(insertion, "line");
	json_t *const text = json_sprintf("%s\n", member_string(insertion, "text"));

	return json_pack("{s:{s:I, s:i, s:I, s:i}, s:{s:o}}", "deletedRegion", "startLine", line,
		"startColumn", 1, "endLine", line, "endColumn", 1, "insertedContent", "text", text);
}

static json_t *change_of(const json_t *insertion)
{
	return json_pack("{s:o, s:[o]}", "artifactLocation", artifact(member_string(insertion, "file")),
		"replacements", replacement(insertion));
}

static json_t *fix_of(const json_t *fix)
{
	json_t *const changes = json_array();

	JSON_EACH(insertion, json_object_get(fix, "insertions")) {
		json_array_append_new(changes, change_of(insertion));
	}
	return json_pack("{s:{s:O}, s:o}", "description", "text", json_object_get(fix, "text"),
		"artifactChanges", changes);
}

/* ---- Fingerprints -------------------------------------------------------------------------------- */

static void feed(XXH64_state_t *hash, const char *text)
{
	XXH64_update(hash, text, strlen(text) + 1);
}

/* Blanks and numbers aside. */
static void feed_shape(XXH64_state_t *hash, const char *text)
{
	for (; *text != '\0'; text++) {
		if (!strchr(" \t\n0123456789", *text)) {
			XXH64_update(hash, text, 1);
		}
	}
	XXH64_update(hash, "", 1);
}

/* The code of the line: it stays when lines above come and go. */
static void feed_line(XXH64_state_t *hash, const char *file, json_int_t line)
{
	const char *searched;
	FILE *const f = *file != '\0' && line > 0 ? cli_open_source(file, &searched) : NULL;
	char text[1024];

	for (json_int_t i = 0; f && fgets(text, sizeof text, f); i++) {
		if (i + 1 == line) {
			feed_shape(hash, text);
		}
	}
	if (f) {
		fclose(f);
	}
}

static json_t *fingerprint(const json_t *problem)
{
	XXH64_state_t *const hash = XXH64_createState();

	if (!hash) {
		return NULL;
	}
	XXH64_reset(hash, 0);
	feed(hash, member_string(problem, "rule"));
	feed_shape(hash, member_string(problem, "text"));
	JSON_EACH(step, json_object_get(problem, "steps")) {
		const char *const file = member_string(step, "file");

		feed_shape(hash, name_here(file));
		feed(hash, member_string(step, "function"));
		feed_line(hash, file, member_number(step, "line"));
	}
	json_t *const text = json_sprintf("%016llx", (ull)XXH64_digest(hash));

	XXH64_freeState(hash);
	return text;
}

/* ---- The file ------------------------------------------------------------------------------------ */

static json_t *result_of(const json_t *problem)
{
	const json_t *const steps = json_object_get(problem, "steps"), *const fix = json_object_get(
									       problem, "fix");
	const char *const rule = member_string(problem, "rule");
	const char *const details = member_string(problem, "details");
	const json_t *const at = json_array_get(steps, (size_t)member_number(problem, "at"));
	json_t *const text =
		json_sprintf("%s%s%s", member_string(problem, "text"), words_if(*details, "\n"), details);
	json_t *const r = json_pack("{s:s, s:i, s:O, s:{s:o}, s:{s:o*}, s:[]}", "ruleId", rule, "ruleIndex",
		(int)cli_rule_number(rule), "level", json_object_get(problem, "level"), "message", "text",
		text, "partialFingerprints", "nvwaveCause/v1", fingerprint(problem), "locations");

	if (at) {
		json_array_append_new(json_object_get(r, "locations"), location(at));
	}
	if (json_array_size(steps) > 1) {
		json_object_set_new(r, "codeFlows", json_pack("[o]", code_flow(steps)));
	}
	if (fix) {
		json_object_set_new(r, "fixes", json_pack("[o]", fix_of(fix)));
	}
	return r;
}

static json_t *rule_json(const struct cli_rule *rule)
{
	return json_pack("{s:s, s:{s:s}, s:{s:s}}", "id", rule->id, "shortDescription", "text", rule->text,
		"help", "text", rule->help);
}

static json_t *rules_json(void)
{
	json_t *const all = json_array();
	const struct cli_rule *rule;

	for (unsigned i = 0; (rule = cli_rule(i)); i++) {
		json_array_append_new(all, rule_json(rule));
	}
	return all;
}

static json_t *bases(void)
{
	char here[PATH_MAX], uri[3 * PATH_MAX + 16] = "file://";

	if (!getcwd(here, sizeof here)) {
		return json_object();
	}
	encode(here, uri + strlen(uri), sizeof uri - strlen(uri) - 1);
	strcat(uri, "/");
	return json_pack("{s:{s:s}}", base, "uri", uri);
}

int cli_print_sarif(const struct cli_for_tools *report, FILE *to)
{
	json_t *const results = json_array();

	JSON_EACH(problem, report->problems) {
		json_array_append_new(results, result_of(problem));
	}
	json_t *const invocation = json_pack("{s:b, s:O*}", "executionSuccessful", !report->undecided,
		"commandLine", json_object_get(report->made_by, "command"));

	if (report->undecided) {
		json_object_set_new(invocation, "toolExecutionNotifications",
			json_pack("[{s:s, s:{s:s}}]", "level", "error", "message", "text", report->headline));
	}
	return cli_print_json(
		json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[o], s:o, s:s, s:o, s:{s:s, s:s, s:s}}]}",
			"$schema",
			"https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
			"version", "2.1.0", "runs", "tool", "driver", "name", "nvwave", "version",
			cli_version, "rules", rules_json(), "invocations", invocation, "originalUriBaseIds",
			bases(), "columnKind", "unicodeCodePoints", "results", results, "properties",
			"subject", report->subject, "verdict", report->verdict, "headline", report->headline),
		to);
}
