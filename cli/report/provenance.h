/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The origin of a result: the command line, the version, and the effective machine. As JSON:
 *
 *	"made_by": {"version", "command", "machine": {"name", "hash", "over", "changed": {"nvram.write":
 *	"500ns"}},
 *		"protocol", "seed", "effective": {"count": "1000"}}
 *
 * hash is of the whole effective machine (64 bits), whatever its name; changed are the keys that differ from
 * "over", the shipped machine of that name, or gope18, whose values are the defaults. Without a machine these
 * members are missing. effective has the options that were not given and stand at another value than the
 * default that their help states, since another option moves them; it is missing if there is none.
 */
#ifndef CLI_PROVENANCE_H
#define CLI_PROVENANCE_H

#include <config/config.h>
#include <stdio.h>

#include <jansson.h>

/* "0.1.0-888-g7ed8afe": the version, and the revision of the tree that was built (scripts/revision.sh). */
extern const char cli_version[];

/* The folder of the sources that were built. */
extern const char cli_source_root[];

/* Remembers the process's command line. */
void cli_command_line(int argc, char **argv);

/*
 * The command line as it can be pasted into a shell: quoted, preceded by the relevant environment variables
 * (NVWAVE_*, PMEM*). "each" of --protocol is replaced by protocol unless that is NULL. The caller frees it;
 * NULL without memory.
 */
char *cli_command_text(const char *protocol);

/* Prints a word so that a shell reads it back unchanged. */
void cli_print_quoted(const char *word, FILE *to);

/* machine NULL: the result does not belong to one machine; command NULL: that of this process. NULL without
 * memory. */
json_t *cli_provenance(const struct emu_config *machine, const char *command);

/* The machine as its file would be, which the caller frees; NULL without memory. */
char *cli_machine_text(const struct emu_config *machine);

/* True if the machine and the protocol are those of a command line that names neither. */
bool cli_is_usual_machine(const json_t *provenance);

/* Adds an option to "effective". */
__attribute__((format(printf, 3, 4))) void cli_provenance_moved(
	json_t *provenance, const char *option, const char *format, ...);

/* Prints "made by", "machine" and "effective", one line each; the second only if asked for. */
void cli_print_provenance(const json_t *provenance, FILE *to);
void cli_print_origin(const json_t *provenance, bool names_machine, FILE *to);

/* The same of this process, with a machine or NULL, on standard output. */
void cli_print_made_by(const struct emu_config *machine);

#endif
