/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of checker commands. See environment.h. */
#include <stdio.h>
#include <unistd.h>

#include "core/each.h"
#include "core/granularity.h"
#include "core/print.h"
#include "environment.h"
#include "variable.h"

extern char **environ;

int ct_environment_write(const char *path, const struct ct_operations *o)
{
	FILE *const f = fopen(path, "we");

	NVW_FAIL_ERRNO_IF(!f, "%s", path);
	NVW_FOR(i, o->count) {
		fprintf(f, "%llu %s\n", (unsigned long long)o->at[i].number, o->at[i].name);
	}
	const bool whole = !ferror(f);

	return fclose(f) == 0 && whole ? 0 : nvw_fail_errno("%s", path);
}

/* As ranges: "0-16,18". False if they do not fit. */
static bool list(const struct nvw_acks *acks, uint64_t words,
	bool (*is_among)(const struct nvw_acks *acks, uint64_t op), char *to, const char *end)
{
	const char *separator = "";

	for (uint64_t op = 0; op < words * 64; op++) {
		if (op % 64 == 0 && acks->begun_words <= op / 64 && acks->words <= op / 64) {
			break;
		}
		if (!is_among(acks, op)) {
			continue;
		}
		const uint64_t first = op;

		while (is_among(acks, op + 1)) {
			op++;
		}
		if (end - to < 48) {
			return false;
		}
		to += sprintf(to, "%s%llu", separator, (unsigned long long)first);
		if (op > first) {
			to += sprintf(to, "-%llu", (unsigned long long)op);
		}
		separator = ",";
	}
	*to = '\0';
	return true;
}

int ct_environment_tell(const struct nvw_acks *acks, struct ct_told_state *t)
{
	char *const acked = stpcpy(t->acknowledged, CT_ACKNOWLEDGED_VARIABLE "=");
	char *const flying = stpcpy(t->in_flight, CT_IN_FLIGHT_VARIABLE "=");

	return list(acks, acks->words, nvw_acked, acked, t->acknowledged + CT_TOLD_BYTES) &&
			       list(acks, acks->begun_words, nvw__acks_in_flight, flying,
				       t->in_flight + CT_TOLD_BYTES) ?
		       0 :
		       nvw_fail(NVW_E_USAGE,
			       "the numbers of the operations do not fit into %d characters as ranges: "
			       "number them in "
			       "the order in which they are acknowledged",
			       CT_TOLD_BYTES);
}

static bool is_ours(const char *entry)
{
	static const char *const ours[] = {
		CT_ACKNOWLEDGED_VARIABLE, CT_IN_FLIGHT_VARIABLE, CT_OPERATIONS_VARIABLE};

	return NVW_ANY(our, ours, NVW_COUNT(ours), ct_is_variable(entry, *our));
}

static bool is_set_anew(const char *entry, char *const assigned[])
{
	bool is = is_ours(entry);

	for (unsigned i = 0; assigned[i]; i++) {
		is = is || ct_is_variable(entry, assigned[i]);
	}
	return is;
}

char *const *ct_environment_of(char *const assigned[], struct ct_told_state *told, const char *path)
{
	enum { MAX = 4096 };
	static char *to[MAX], operations[4200]; /* valid until the next call, for execve() */
	static char granularity[] = NVW_GRANULARITY_VARIABLE "=" NVW_GRANULARITY;
	unsigned n = 0;

	for (char **entry = environ; *entry && n < MAX - 32; entry++) {
		if (!is_set_anew(*entry, assigned)) {
			to[n++] = *entry;
		}
	}
	for (unsigned i = 0; assigned[i]; i++) {
		to[n++] = assigned[i];
	}
	if (told) {
		NVW_PRINT(operations, CT_OPERATIONS_VARIABLE "=%s", path);
		to[n++] = operations;
		to[n++] = told->acknowledged;
		to[n++] = told->in_flight;
	}
	to[n++] = granularity; /* the first of a name counts */
	to[n] = NULL;
	return to;
}
