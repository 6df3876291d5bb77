/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands' entry points: argv[0] is the command's name; the exit status is returned. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

/* Exit status of every command. */
enum { STATUS_CLEAN = 0, STATUS_INCONSISTENT = 1, STATUS_INPUT = 2 };

#define COMMAND(name, arguments, summary) int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

#endif
