/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command line checked as its command does before it begins, and nothing run: for commands that start
 * others.
 *
 * argv[0] is the command's name. 0, or a negative value with the message that the command itself would print.
 */
#ifndef CLI_EXAMINE_H
#define CLI_EXAMINE_H

#include <config/config.h>

/* ret_config: the effective machine of a workload. */
NVW_CHECKED int cli_examine_run(int argc, char **argv, struct emu_config *ret_config);
NVW_CHECKED int cli_examine_crash(int argc, char **argv, struct emu_config *ret_config);
NVW_CHECKED int cli_examine_litmus(int argc, char **argv);
NVW_CHECKED int cli_examine_torture(int argc, char **argv);

#endif
