/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of every command. See options.h and options.def. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/units.h"
#include "report/words.h"

enum { HELP_COLUMN = 30, HELP_WIDTH = 110, CHOICE_BYTES = 128 };

/* The bit of a command, in the order of commands.def. */
enum command {
#define COMMAND(name, arguments, summary) COMMAND_##name,
#include "commands.def"
#undef COMMAND
	COMMANDS
};

static const char *const command_names[COMMANDS] = {
#define COMMAND(name, arguments, summary) #name,
#include "commands.def"
#undef COMMAND
};

#define IN(command)      (UINT32_C(1) << COMMAND_##command)
#define AT(circumstance) (UINT64_C(1) << CLI_AT_##circumstance)

static const struct record {
	const char *name;
	enum cli_option_type type;
	const char *value, *standard;
	uint64_t least, most;
	uint32_t commands;
	uint64_t idle;
	const char *help;
} records[CLI_OPTIONS] = {
#define OPTION(id, name, type, value, standard, least, most, commands, idle, help) \
	{name, CLI_##type, value, standard, least, most, commands, idle, help},
#include "options.def"
#undef OPTION
};

/* A command's own help of an option that others have, too. */
static const struct own_help {
	enum command command;
	enum cli_option_id option;
	const char *text;
} own_helps[] = {
#define OPTION(...)
#define HELP(command, id, text) {COMMAND_##command, CLI_##id, text},
#include "options.def"
#undef OPTION
};

static unsigned number_of(const char *command)
{
	return NVW_INDEX(i, COMMANDS, !strcmp(command_names[i], command));
}

static bool has(const char *command, unsigned id)
{
	const unsigned number = number_of(command);

	NVW_INVARIANT(id < CLI_OPTIONS);
	return number < COMMANDS && (records[id].commands >> number & 1);
}

static const char *help_of(unsigned command, unsigned id)
{
	NVW_INVARIANT(id < NVW_COUNT(records));
	NVW_EACH_IN(own_help, own_helps) {
		if (own_help->command == command && own_help->option == id) {
			return own_help->text;
		}
	}
	return records[id].help;
}

/* Others are for command lines that nvwave itself writes. */
static bool is_listed(unsigned command, unsigned id)
{
	NVW_INVARIANT(id < NVW_COUNT(records));
	return (records[id].commands >> command & 1) && *records[id].help;
}

/* ---- Values -------------------------------------------------------------------------------------- */

/* Choice number i of "kill|observed|permitted": its length, 0 if there is no such choice. */
static size_t choice(const struct record *r, unsigned i, const char **ret_text)
{
	const char *at = r->value;

	for (; i > 0; i--) {
		at = strchr(at, '|');
		if (!at) {
			return 0;
		}
		at++;
	}
	*ret_text = at;
	return strcspn(at, "|");
}

/* "kill, observed or permitted". */
static const char *choices_text(const struct record *r, char text[CHOICE_BYTES])
{
	const char *at, *next, *before = "";
	size_t n, used = 0;

	text[0] = 0;
	for (unsigned i = 0; (n = choice(r, i, &at)) > 0 && used < CHOICE_BYTES; i++) {
		if (i > 0) {
			before = choice(r, i + 1, &next) == 0 ? " or " : ", ";
		}
		used += (size_t)snprintf(text + used, CHOICE_BYTES - used, "%s%.*s", before, (int)n, at);
	}
	return text;
}

static int parse_choice(const struct record *r, const char *text, uint64_t *ret)
{
	char list[CHOICE_BYTES];
	const char *at;
	size_t n;

	for (unsigned i = 0; (n = choice(r, i, &at)) > 0; i++) {
		if (text_is(at, n, text)) {
			*ret = i;
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE, "expected %s, found \"%s\"", choices_text(r, list), text);
}

static int parse_count(const struct record *r, const char *text, uint64_t *ret)
{
	const int error = nvw_parse_count(text, ret);

	if (error == 0 && *ret >= r->least && *ret <= r->most) {
		return 0;
	}
	NVW_FAIL_IF(r->most < UINT64_MAX, NVW_E_USAGE,
		"expected a number from %" PRIu64 " to %" PRIu64 ", found \"%s\"", r->least, r->most, text);
	NVW_FAIL_IF(r->least > 0, NVW_E_USAGE, "expected a number from %" PRIu64 ", found \"%s\"", r->least,
		text);
	return error;
}

/* In milliseconds. */
static int parse_time(const struct record *r, const char *text, uint64_t *ret)
{
	char *end;
	const double n = strtod(text, &end);
	double ms = 0;

	if (!strcmp(end, "s")) {
		ms = 1000 * n;
	} else if (!strcmp(end, "ms")) {
		ms = n;
	}

	NVW_FAIL_IF(!(ms >= (double)r->least && ms <= (double)r->most), NVW_E_USAGE,
		"expected a time from %" PRIu64 "ms to %" PRIu64 "s, such as 10s or 500ms, found \"%s\"",
		r->least, r->most / 1000, text);
	*ret = (uint64_t)ms;
	return 0;
}

int cli_take_shard(const struct cli_options *options, unsigned *ret_shard, unsigned *ret_shards)
{
	const char *const text = cli_text(options, CLI_shard);
	char after;

	if (!text) {
		return 0;
	}
	NVW_FAIL_IF(sscanf(text, "%u/%u%c", ret_shard, ret_shards, &after) != 2 || *ret_shard == 0 ||
			    *ret_shard > *ret_shards || *ret_shards > 65536,
		NVW_E_USAGE, "--shard: expected I/N with I from 1 to N, found \"%s\"", text);
	return 0;
}

int cli_parse_block(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "kmg";
	char *end;

	errno = 0;
	*ret_bytes = strtoull(text, &end, 10);
	const bool in_range = !errno && *ret_bytes > 0 && *ret_bytes <= UINT32_MAX && end - text <= 10;
	unsigned shift = 0;

	if (*end != '\0' && strchr(units, *end | 0x20)) {
		shift = 10 * (unsigned)(strchr(units, *end++ | 0x20) - units + 1);
	}
	NVW_FAIL_IF(*text < '0' || *text > '9' || !in_range || *end != '\0', NVW_E_USAGE,
		"expected a size as fio writes it (64, 4k or 16m), found \"%s\"", text);
	*ret_bytes <<= shift;
	return 0;
}

static int parse_value(const struct record *r, const char *text, uint64_t *ret_number, double *ret_real)
{
	switch (r->type) {
	case CLI_COUNT:
		return parse_count(r, text, ret_number);
	case CLI_REAL:
		return nvw_parse_real(text, ret_real);
	case CLI_TIME:
		return parse_time(r, text, ret_number);
	case CLI_CHOICE:
		return parse_choice(r, text, ret_number);
	case CLI_BLOCK:
		return cli_parse_block(text, ret_number);
	case CLI_TEXT:
		NVW_FAIL_IF(*text == '\0', NVW_E_USAGE, "expected %s", r->value);
		return 0;
	case CLI_FLAG:
		break;
	}
	return 0;
}

/* ---- Refusals ------------------------------------------------------------------------------------ */

/* " of nvwave run" for an option of other commands. */
static const char *owner(const char *name)
{
	NVW_EACH(record, records, CLI_OPTIONS) {
		for (unsigned c = 0; c < COMMANDS && !strcmp(record->name, name); c++) {
			if (record->commands >> c & 1) {
				return command_names[c];
			}
		}
	}
	return NULL;
}

/* The options of the command and of its workload (NULL: none), with NULL behind the last. */
static void list_names(
	const char *command, const struct nvw_workload *workload, const char *names[CLI_OPTIONS + 64])
{
	unsigned n = 0;

	NVW_FOR(id, CLI_OPTIONS) {
		if (is_listed(number_of(command), id)) {
			names[n++] = records[id].name;
		}
	}
	if (workload) {
		for (const struct nvw_option *w = workload->options; w && w->name && n < CLI_OPTIONS + 63;
			w++) {
			names[n++] = w->name;
		}
	}
	names[n] = NULL;
}

int cli_options_unknown(const struct cli_options *o, const struct nvw_workload *workload, const char *name)
{
	const char *names[CLI_OPTIONS + 64];
	char whose[512];

	NVW_PRINT(whose, "%s", o->command);
	if (workload) {
		NVW_PRINT(whose, "%s %s", o->command, workload->name);
	}
	list_names(o->command, workload, names);
	const char *const other = owner(name), *const near = nvw_nearest(name, names);

	NVW_FAIL_IF(other, NVW_E_USAGE, "%s: there is no option --%s; it belongs to nvwave %s", whose, name,
		other);
	NVW_FAIL_IF(near, NVW_E_USAGE, "%s: there is no option --%s; did you mean --%s?", whose, name, near);
	return nvw_fail(NVW_E_USAGE, "%s: there is no option --%s; see nvwave %s --help", whose, name, whose);
}

int cli_options_at_most(const struct cli_options *o, unsigned count)
{
	NVW_FAIL_IF(o->argument_count > count, NVW_E_USAGE,
		"%s: \"%s\" is an extra argument; see nvwave %s --help", o->command, o->argument[count],
		o->command);
	return 0;
}

int cli_options_check_use(const struct cli_options *o, uint64_t circumstances)
{
	NVW_INVARIANT(circumstances >> CLI_AT_COUNT == 0);

	static const char *const texts[CLI_AT_COUNT] = {
#define X(name, text) text,
		CLI_CIRCUMSTANCES(X)
#undef X
	};

	circumstances |=
		cli_at(CLI_AT_JSON, cli_json(o)) | cli_at(CLI_AT_TOOLS, cli_format(o) >= CLI_FORMAT_SARIF);

	NVW_FOR(id, CLI_OPTIONS) {
		const uint64_t idle = records[id].idle & circumstances;

		NVW_FAIL_IF(idle && cli_given(o, id), NVW_E_USAGE, "%s: --%s has no effect %s", o->command,
			records[id].name, texts[__builtin_ctzll(idle)]);
	}
	return 0;
}

/* ---- The command line ---------------------------------------------------------------------------- */

static unsigned find_option(const char *command, const char *name)
{
	return NVW_INDEX(id, CLI_OPTIONS, !strcmp(records[id].name, name) && has(command, id));
}

static int take_value(struct cli_options *o, unsigned id, const char *text)
{
	const struct record *const r = &records[id];
	const int error = parse_value(r, text, &o->value[id].number, &o->value[id].real);

	NVW_INVARIANT(id < NVW_COUNT(records));
	NVW_FAIL_IF(error, error, "%s: --%s: %s", o->command, r->name, nvw_error_message());
	o->value[id].given = true;
	o->value[id].text = text;
	if (id == CLI_set) {
		o->setting[o->setting_count++] = text;
	}
	if (id == CLI_against) {
		o->against[o->against_count++] = text;
	}
	if (id == CLI_assume_durable || id == CLI_assume_ordered) {
		o->assumption[o->assumption_count++] = text;
	}
	return 0;
}

/* Name and value of "--name=value"; or the next word, which is consumed, as the value; NULL if there is
 * none. */
static const char *split(char *name, char **argv, int argc, int *i, bool is_flag)
{
	char *value = name;

	strsep(&value, "=");
	if (value || is_flag || *i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2)) {
		return value;
	}
	return argv[++*i];
}

const char *cli_option_name(enum cli_option_id id)
{
	NVW_INVARIANT(id < CLI_OPTIONS);
	return records[id].name;
}

bool cli_has_option(const char *command, const char *name)
{
	return find_option(command, name) < CLI_OPTIONS;
}

const char *cli_option_words(const char *command, const char *name)
{
	const unsigned id = find_option(command, name);

	return id < CLI_OPTIONS ? help_of(number_of(command), id) : NULL;
}

bool cli_is_flag(const char *command, const char *word)
{
	const unsigned id = find_option(command, word);

	return id < CLI_OPTIONS && records[id].type == CLI_FLAG;
}

static int take_word(struct cli_options *o, bool takes_workload, int argc, char **argv, int *i)
{
	char *const name = strdup(argv[*i] + 2);

	NVW_ALLOCATED(name, "no memory for the command line");
	NVW_INVARIANT(o->word_count < (unsigned)o->argc);
	o->word[o->word_count++] = name;
	const char *const value = split(name, argv, argc, i, cli_is_flag(o->command, name));
	const unsigned id = find_option(o->command, name);

	if (id == CLI_OPTIONS && takes_workload) {
		NVW_INVARIANT(o->other_count < (unsigned)o->argc);
		o->other[o->other_count++] = (struct cli_other){name, value};
		return 0;
	}
	if (id == CLI_OPTIONS) {
		return cli_options_unknown(o, NULL, name);
	}
	const bool is_flag = records[id].type == CLI_FLAG;

	NVW_FAIL_IF(is_flag && value, NVW_E_USAGE, "%s: --%s takes no value, found \"%s\"", o->command, name,
		value);
	NVW_FAIL_IF(!is_flag && !value, NVW_E_USAGE, "%s: --%s needs a value: --%s=%s", o->command, name,
		name, records[id].value);
	return take_value(o, id, is_flag ? "" : value);
}

static int check_outputs(const struct cli_options *o)
{
	enum cli_option_id a, b;

	NVW_FAIL_IF(cli_writes_twice(o, &a, &b), NVW_E_USAGE, "%s: --%s and --%s name one file, %s",
		o->command, records[a].name, records[b].name, cli_text(o, a));
	return 0;
}

int cli_options_parse(struct cli_options *o, bool takes_workload, int argc, char **argv)
{
	NVW_INVARIANT(argc >= 1);

	int error = 0;

	*o = (struct cli_options){.command = argv[0],
		.argc = argc,
		.argv = argv,
		.setting = calloc((size_t)argc, sizeof *o->setting),
		.assumption = calloc((size_t)argc, sizeof *o->assumption),
		.against = calloc((size_t)argc, sizeof *o->against),
		.argument = calloc((size_t)argc, sizeof *o->argument),
		.other = calloc((size_t)argc, sizeof *o->other),
		.word = calloc((size_t)argc, sizeof *o->word)};
	NVW_FAIL_IF(!o->setting || !o->assumption || !o->against || !o->argument || !o->other || !o->word,
		NVW_E_MEMORY, "no memory for the command line");
	for (int i = 1; i < argc && !error; i++) {
		if (!strcmp(argv[i], "-h")) {
			error = take_value(o, CLI_help, "");
		} else if (!strncmp(argv[i], "--", 2)) {
			error = take_word(o, takes_workload, argc, argv, &i);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			error = nvw_fail(NVW_E_USAGE, "%s: there is no option %s; options begin with --",
				o->command, argv[i]);
		} else {
			NVW_INVARIANT(o->argument_count < (unsigned)argc);
			o->argument[o->argument_count++] = argv[i];
		}
	}
	return NVW_OR(error, check_outputs(o));
}

void cli_options_end(struct cli_options *o)
{
	NVW_EACH(word, o->word, o->word_count) {
		free(*word);
	}
	free(o->word);
	free(o->setting);
	free(o->assumption);
	free(o->against);
	free(o->argument);
	free(o->other);
	*o = (struct cli_options){.command = o->command};
}

uint64_t cli_number(const struct cli_options *o, enum cli_option_id id)
{
	NVW_INVARIANT(id < CLI_OPTIONS);
	uint64_t number = o->value[id].number;
	double real;

	if (!cli_given(o, id) && *records[id].standard) {
		const int error = parse_value(&records[id], records[id].standard, &number, &real);

		NVW_INVARIANT(error == 0); /* options.def */
	}
	return number;
}

bool cli_json(const struct cli_options *o)
{
	return cli_format(o) == CLI_FORMAT_JSON;
}

enum cli_format cli_format(const struct cli_options *o)
{
	const uint64_t format = cli_number(o, CLI_problem_format);

	if (format > 0) {
		return (enum cli_format)format;
	}
	return (enum cli_format)cli_number(o, CLI_output_format);
}

/* ---- Help ---------------------------------------------------------------------------------------- */

/* Prints the words of a text from a column on, within the width. */
static void print_wrapped(const char *text, int column, int indent)
{
	while (*text) {
		const int n = (int)strcspn(text, " ");

		if (column + n + 1 > HELP_WIDTH && column > indent) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", words_if(column > indent, " "), n, text);
		text += n + (text[n] == ' ');
	}
	putchar('\n');
}

static void print_record(const struct record *r, const char *help)
{
	char text[1024];
	int used = printf("  --%s%s%s", r->name, words_if(*r->value, "="), r->value);

	NVW_PRINT(text, *r->standard ? "%s [%s]" : "%s", help, r->standard);
	if (used >= HELP_COLUMN) {
		putchar('\n');
		used = 0;
	}
	printf("%*s", HELP_COLUMN - used, "");
	print_wrapped(text, HELP_COLUMN, HELP_COLUMN);
}

void cli_options_help(const char *command, uint64_t circumstances)
{
	const unsigned number = number_of(command);

	NVW_FOR(id, CLI_OPTIONS) {
		if (is_listed(number, id) && !(records[id].idle & circumstances)) {
			print_record(records + id, help_of(number, id));
		}
	}
}

static json_t *record_json(unsigned command, unsigned id)
{
	NVW_INVARIANT(command < NVW_COUNT(command_names));

	static const char *const types[] = {"flag", "count", "real", "time", "choice", "text", "block"};
	const struct record *const r = &records[id];

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "command", command_names[command], "name", r->name,
		"type", types[r->type], "value", r->value, "default", r->standard, "help",
		help_of(command, id));
}

json_t *cli_options_json(void)
{
	json_t *const rows = json_array();

	NVW_FOR(c, COMMANDS) {
		NVW_FOR(id, CLI_OPTIONS) {
			if (is_listed(c, id)) {
				json_array_append_new(rows, record_json(c, id));
			}
		}
	}
	return rows;
}
