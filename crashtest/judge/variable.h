/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of an environment. Without the rest of this library: fork_preload.c finds them, too. */
#ifndef CRASHTEST_VARIABLE_H
#define CRASHTEST_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Whether an entry is of a variable: its name, or an assignment to it. */
static inline bool ct_is_variable(const char *entry, const char *name)
{
	const size_t n = strcspn(name, "=");

	return !strncmp(entry, name, n) && entry[n] == '=';
}

/* Its entry; NULL if it is not set. */
static inline char **ct_find_variable(char *const *environment, const char *name)
{
	while (*environment && !ct_is_variable(*environment, name)) {
		environment++;
	}
	return *environment ? (char **)(uintptr_t)environment : NULL;
}

#endif
