/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PROTOCOL_TABLES_H
#define CLI_PROTOCOL_TABLES_H

#include <stdbool.h>

#include <nvw/pool.h>

/* Prints the tables of a protocol. NVW_E_USAGE if there is no such protocol. */
NVW_CHECKED int protocol_tables_print(const char *name, bool json);

#endif
