/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin of a result. See provenance.h. */
#include "provenance.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/text_stream.h"
#include "words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

enum { CHANGES_PRINTED = 12 };

/* The process has these words from main() on. */
static int word_count;
static char **words;

void cli_command_line(int argc, char **argv)
{
	NVW_INVARIANT(argc > 0);
	word_count = argc;
	words = argv;
}

/* ---- The command line ---------------------------------------------------------------------------- */

static bool is_plain(const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";

	return *text && text[strspn(text, plain)] == 0;
}

void cli_print_quoted(const char *word, FILE *to)
{
	const char *const equals = !strncmp(word, "--", 2) ? strchr(word, '=') : NULL;

	if (is_plain(word)) {
		fputs(word, to);
		return;
	}
	if (equals) { /* --exec='a b' reads better than '--exec=a b' */
		fprintf(to, "%.*s=", (int)(equals - word), word);
		word = equals + 1;
	}
	fputc('\'', to);
	for (; *word; word++) {
		if (*word == '\'') {
			fputs("'\\''", to);
		} else {
			fputc(*word, to);
		}
	}
	fputc('\'', to);
}

static void print_environment(FILE *to)
{
	static const char *const prefixes[] = {"NVWAVE_", "PMEM"};

	for (char **v = environ; *v; v++) {
		const char *const equals = strchr(*v, '=');

		for (unsigned i = 0; equals && i < NVW_COUNT(prefixes); i++) {
			if (!strncmp(*v, prefixes[i], strlen(prefixes[i]))) {
				fprintf(to, "%.*s=", (int)(equals - *v), *v);
				cli_print_quoted(equals + 1, to);
				fputc(' ', to);
			}
		}
	}
}

/* A word of the command line. protocol: in place of "each", unless it is NULL. */
static void print_word(int i, const char *protocol, FILE *f)
{
	NVW_INVARIANT(i >= 0 && i < word_count);
	if (protocol && !strcmp(words[i], "--protocol=each")) {
		fprintf(f, "--protocol=%s", protocol);
		return;
	}
	if (protocol && i > 0 && !strcmp(words[i - 1], "--protocol") && !strcmp(words[i], "each")) {
		cli_print_quoted(protocol, f);
		return;
	}
	cli_print_quoted(words[i], f);
}

char *cli_command_text(const char *protocol)
{
	NVW_INVARIANT(words);

	struct text_stream t;

	if (!text_begin(&t)) {
		return NULL;
	}
	print_environment(t.to);
	NVW_FOR(i, word_count) {
		fputs(words_if(i, " "), t.to);
		print_word(i, protocol, t.to);
	}
	return text_end(&t);
}

/* ---- The machine --------------------------------------------------------------------------------- */

char *cli_machine_text(const struct emu_config *machine)
{
	struct text_stream t;

	if (!text_begin(&t)) {
		return NULL;
	}
	const int error = emu_config_dump(machine, t.to);
	char *const text = text_end(&t);

	if (error) {
		free(text);
		return NULL;
	}
	return text;
}

/* The machine file without its first line, which has the name. */
static char *keys_text(const struct emu_config *machine)
{
	char *const text = cli_machine_text(machine);
	char *const end = text ? strchr(text, '\n') : NULL;

	if (end) {
		memmove(text, end + 1, strlen(end + 1) + 1);
	}
	return text;
}

/* The shipped machine with this name, otherwise the defaults. */
static void describe_base(const char *name, struct emu_config *ret_base)
{
	emu_config_default(ret_base);
	for (const char *const *shipped = emu_machine_names(); *shipped; shipped++) {
		if (!strcmp(*shipped, name) && emu_config_load(ret_base, name) < 0) {
			emu_config_default(ret_base);
		}
	}
}

/* The keys of a machine file with their values, in their order. The text is cut up. */
static json_t *keys_of(char *text)
{
	json_t *const keys = json_object();
	char *rest, section[64] = "", key[128];

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *const equals = strstr(line, " = ");

		if (*line == '[') {
			NVW_PRINT(section, "%.*s", (int)strcspn(line + 1, "]"), line + 1);
		} else if (equals) {
			NVW_PRINT(key, "%s.%.*s", section, (int)(equals - line), line);
			member_set_text(keys, key, equals + 3);
		}
	}
	return keys;
}

/* The keys that base does not have, or has with other values: a section [device NAME] may be in one text
 * only. */
static json_t *changes(char *now, char *base)
{
	json_t *const changed = keys_of(now), *const before = keys_of(base), *value;
	const char *key;
	void *next;

	json_object_foreach_safe(changed, next, key, value)
	{
		if (json_equal(value, json_object_get(before, key))) {
			json_object_del(changed, key);
		}
	}
	json_decref(before);
	return changed;
}

static json_t *describe_machine(const struct emu_config *machine)
{
	struct emu_config base, compared = *machine;
	char hash[17] = "";

	describe_base(machine->name, &base);
	/* The protocol is reported separately: the command line or the workload's options may have chosen
	 * it. */
	memcpy(compared.protocol, base.protocol, sizeof compared.protocol);
	char *const now = keys_text(&compared), *const before = keys_text(&base);

	if (now) {
		NVW_PRINT(hash, "%016llx", (ull)XXH64(now, strlen(now), 0));
	}
	json_t *const o = json_pack("{s:s, s:s, s:s, s:o}", "name", machine->name, "hash", hash, "over",
		base.name, "changed", now && before ? changes(now, before) : json_object());

	free(now);
	free(before);
	return o;
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static void add_machine(json_t *o, const struct emu_config *machine)
{
	json_object_set_new(o, "machine", describe_machine(machine));
	member_set_text(o, "protocol", machine->protocol);
	member_set_count(o, "seed", machine->seed);
}

json_t *cli_provenance(const struct emu_config *machine, const char *command)
{
	char *own = NULL;

	if (!command) {
		command = own = cli_command_text(NULL);
	}
	json_t *const o = json_pack("{s:s, s:s}", "version", cli_version, "command", words_or(command, ""));

	free(own);
	if (o && machine) {
		add_machine(o, machine);
	}
	return o;
}

void cli_provenance_moved(json_t *o, const char *option, const char *format, ...)
{
	char value[256];
	va_list list;

	va_start(list, format);
	vsnprintf(value, sizeof value, format, list);
	va_end(list);
	if (!json_object_get(o, "effective")) {
		json_object_set_new(o, "effective", json_object());
	}
	member_set_text(json_object_get(o, "effective"), option, value);
}

static void print_changes(json_t *machine, FILE *to)
{
	const char *over = member_text(machine, "over");
	json_t *const changed = json_object_get(machine, "changed");
	unsigned n = 0;

	if (json_object_size(changed) && strcmp(over, member_text(machine, "name"))) {
		fprintf(to, ", over %s", over);
	}
	const char *before = " with";

	JSON_EACH_MEMBER(key, value, changed) {
		if (n++ < CHANGES_PRINTED) {
			fprintf(to, "%s %s=%s", before, key, json_string_value(value));
		}
		before = ",";
	}
	if (n > CHANGES_PRINTED) {
		fprintf(to, " and %u other keys", n - CHANGES_PRINTED);
	}
}

static void print_effective(json_t *options, FILE *to)
{
	if (!options) {
		return;
	}
	fputs("effective: other options move these defaults:", to);
	JSON_EACH_MEMBER(option, value, options) {
		fprintf(to, " --%s=%s", option, json_string_value(value));
	}
	fputc('\n', to);
}

void cli_print_made_by(const struct emu_config *machine)
{
	json_t *const made_by = cli_provenance(machine, NULL);

	cli_print_provenance(made_by, stdout);
	json_decref(made_by);
}

bool cli_is_usual_machine(const json_t *o)
{
	const json_t *const machine = json_object_get(o, "machine");
	struct emu_config usual;

	emu_config_default(&usual);
	return strcmp(member_text(machine, "name"), usual.name) == 0 &&
	       json_object_size(json_object_get(machine, "changed")) == 0 &&
	       strcmp(member_text(o, "protocol"), usual.protocol) == 0;
}

void cli_print_provenance(const json_t *o, FILE *to)
{
	cli_print_origin(o, true, to);
}

void cli_print_origin(const json_t *o, bool names_machine, FILE *to)
{
	json_t *const machine = json_object_get(o, "machine");

	if (!o) { /* a report from before there was one */
		return;
	}
	fprintf(to, "made by: nvwave %s, %s\n", member_text(o, "version"), member_text(o, "command"));
	if (machine && names_machine) {
		fprintf(to, "machine: %s (%s)", member_text(machine, "name"), member_text(machine, "hash"));
		print_changes(machine, to);
		fprintf(to, "; protocol %s, seed %lld\n", member_text(o, "protocol"),
			member_number(o, "seed"));
	}
	print_effective(json_object_get(o, "effective"), to);
}
