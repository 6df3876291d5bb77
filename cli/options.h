/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of every command, parsed and checked with the records of options.def.
 *
 * An option is written --name=value or --name value, a flag --name; -h is --help. An option that the command
 * does not have, a value of the wrong type, and an option that would have no effect are NVW_E_USAGE, with a
 * message that names the option and the nearest one, or the circumstance in which it has no effect.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <nvw/workload.h>

#include "core/each.h"
#include "core/invariant.h"

enum cli_option_type { CLI_FLAG, CLI_COUNT, CLI_REAL, CLI_TIME, CLI_CHOICE, CLI_TEXT, CLI_BLOCK };

/* clang-format off */
/* Circumstances of an invocation, with the end of the sentence "--option has no effect ...". */
#define CLI_CIRCUMSTANCES(X)                             \
	X(WORKLOAD, "with a workload")                   \
	X(EXEC, "with --exec")                           \
	X(STORE_LOG, "with --store-log")                 \
	X(HOST_LOG, "with the store log of a program")   \
	X(MERGE, "with --merge")                         \
	X(EACH, "with --protocol=each")                  \
	X(MATRIX, "with --matrix")                       \
	X(SELF_TEST, "with --self-test")                 \
	X(WORKLOAD_SELF_TEST, "with --self-test of a workload") \
	X(NO_SELF_TEST, "without --self-test")           \
	X(KILL, "with --mode=kill")                      \
	X(EXEC_KILL, "with --exec and --mode=kill")      \
	X(OBSERVED, "with --mode=observed")              \
	X(PERMITTED, "in permitted mode")                \
	X(MEMORY, "without --model=files")               \
	X(NO_POOL, "without --pool")                     \
	X(NO_READERS, "without --host-readers")          \
	X(NO_TIMELINE, "without --timeline")             \
	X(NO_SERIES, "without --series")                 \
	X(NO_MEMORY_TRACE, "without --memory-trace")     \
	X(RAMULATOR, "with --memory-format=ramulator")   \
	X(NOT_INTERVAL, "unless --per=interval")         \
	X(RECORD, "with --record")                       \
	X(NO_RECORD, "without --record")                 \
	X(NO_SCHEDULES, "without --schedules or --schedule") \
	X(LATENCY, "in fio latency")                     \
	X(BANDWIDTH, "in fio bandwidth")                 \
	X(MIXED, "in fio mixed")                         \
	X(VERIFY, "in fio verify")                       \
	X(DUMP, "in log dump")                           \
	X(EXPORT, "in log export")                       \
	X(FAULTS, "with --faults")                       \
	X(POINTS, "with --points")                       \
	X(LIST, "with --list")                           \
	X(KEPT, "with --kept")                           \
	X(LOCAL, "with --engine=local")                  \
	X(LONG, "with --long")                           \
	X(SENSITIVITY, "with --sensitivity")             \
	X(SLURM, "with --engine=slurm")                  \
	X(NO_GDB, "without --gdb")                       \
	X(NO_EXPORT, "without --export-states")          \
	X(NO_KERNEL_RACES, "without --check=races")      \
	X(SCHEDULES, "with --schedules")                 \
	X(CORPUS, "with --corpus")                       \
	X(NO_CORPUS, "without --corpus")                 \
	X(UNCHECKED, "with --unchecked")                 \
	X(NO_OUTPUT, "without --output")                 \
	X(HEAT, "with --kind=heat")                      \
	X(TOOLS, "with --output-format=sarif or junit")  \
	X(JSON, "with --output-format=json")
/* clang-format on */

enum cli_circumstance {
#define X(name, text) CLI_AT_##name,
	CLI_CIRCUMSTANCES(X)
#undef X
		CLI_AT_COUNT
};

enum cli_option_id {
#define OPTION(id, ...) CLI_##id,
#include "options.def"
#undef OPTION
	CLI_OPTIONS
};

/* A command line; its strings live until cli_options_end(). */
struct cli_options {
	const char *command;
	int argc;
	char **argv;
	struct {
		bool given;
		const char *text; /* the last one given */
		uint64_t number;  /* value of a COUNT or TIME (ms); index of a CHOICE */
		double real;
	} value[CLI_OPTIONS];
	const char **setting; /* every --set, in order */
	unsigned setting_count;
	const char **assumption; /* every --assume-durable and --assume-ordered, in order */
	unsigned assumption_count;
	const char **against; /* every --against, in order */
	unsigned against_count;
	const char **argument; /* non-options, in order */
	unsigned argument_count;
	struct cli_other { /* options that the command does not have, but perhaps its workload */
		const char *name, *value; /* value NULL: without one */
	} * other;
	unsigned other_count;
	char **word; /* copies for the strings above */
	unsigned word_count;
};

/*
 * Parses the words after the command's name, argv[0]. Unknown options are refused if takes_workload is false,
 * otherwise put into other[]. Release by cli_options_end(), also after an error.
 */
NVW_CHECKED int cli_options_parse(struct cli_options *options, bool takes_workload, int argc, char **argv);
void cli_options_end(struct cli_options *options);

/* The bit of a circumstance, if it holds. */
static inline uint64_t cli_at(enum cli_circumstance circumstance, bool holds)
{
	NVW_INVARIANT(circumstance < CLI_AT_COUNT && CLI_AT_COUNT <= 64);
	return (uint64_t)holds << circumstance;
}

/* Refuses an option without effect in these circumstances. */
NVW_CHECKED int cli_options_check_use(const struct cli_options *options, uint64_t circumstances);

/* Whether two options name one file to be written, and which. cli_options_parse() refuses them. */
bool cli_writes_twice(
	const struct cli_options *options, enum cli_option_id *ret_a, enum cli_option_id *ret_b);

/* Refuses an option that neither the command nor the workload (NULL: none) has. */
int cli_options_unknown(
	const struct cli_options *options, const struct nvw_workload *workload, const char *name);

/* Refuses the first argument behind so many. */
NVW_CHECKED int cli_options_at_most(const struct cli_options *options, unsigned count);

static inline bool cli_given(const struct cli_options *options, enum cli_option_id id)
{
	return options->value[id].given;
}
/* Its name, without --. */
const char *cli_option_name(enum cli_option_id id);
bool cli_has_option(const char *command, const char *name);
bool cli_is_flag(const char *command, const char *name); /* false if the command does not have it */
/* Its help; NULL if the command does not have it. */
const char *cli_option_words(const char *command, const char *name);
/* NULL if it was not given. */
static inline const char *cli_text(const struct cli_options *options, enum cli_option_id id)
{
	return options->value[id].text;
}
/* The given value, else the record's default, or 0 if that is "". */
uint64_t cli_number(const struct cli_options *options, enum cli_option_id id);
bool cli_json(const struct cli_options *options);
/* The format of the report. */
enum cli_format { CLI_FORMAT_NORMAL, CLI_FORMAT_JSON, CLI_FORMAT_SARIF, CLI_FORMAT_JUNIT };
enum cli_format cli_format(const struct cli_options *options);

/* --shard=I/N, I from 1 to N, N at most 65536; without it, nothing changes. */
NVW_CHECKED int cli_take_shard(const struct cli_options *options, unsigned *ret_shard, unsigned *ret_shards);

/* A size as fio writes it: 64, 4k, 16m; powers of 1024. */
NVW_CHECKED int cli_parse_block(const char *text, uint64_t *ret_bytes);

/* Prints the options of a command as --help shows them, without those that have no effect there. */
void cli_options_help(const char *command, uint64_t circumstances);

/* All listed records as JSON, for the manual page, completion and tests: {"command", "name", "type", ...} per
 * command. */
json_t *cli_options_json(void);

#endif
