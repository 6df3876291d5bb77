/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers between accounts, hand-written on libpmem, with bugs that can be combined.
 *
 *	ledger FILE COUNT [BUG,BUG...]	recovers, then makes COUNT transfers; creates the file if necessary
 *	ledger FILE			checks the file as recovery would leave it. Exit status 1 if it is
 *					inconsistent
 *
 * A transfer is an entry, then a count that includes it; it is then applied to two balances under an undo
 * record. Each step is durable before the next. Recovery rolls a half-applied transfer back and applies all
 * valid ones.
 *
 *	entry-unflushed	entries are not flushed
 *	count-first	the count includes an entry that is not written yet
 *	undo-unfenced	the undo record is flushed, but no fence orders it before the balances
 *	applied-early	one fence for the balances and for the number of the applied transfer
 *	no-undo		balances are changed without an undo record
 */
#include <libpmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS = 8, ENTRIES = 500, GRANT = 1000 };

struct line {
	uint64_t value, unused[7];
};

struct ledger {
	struct line count, applied;
	struct undo {
		uint64_t number; /* of the transfer that it is for, from 1 */
		uint64_t from, to, old_from, old_to;
		uint64_t unused[3];
	} undo;
	struct line balance[ACCOUNTS]; /* less GRANT */
	struct entry {
		uint64_t from, to, amount, digest;
		uint64_t unused[4];
	} entry[ENTRIES];
};

static const char *bugs = "";

static bool has(const char *bug)
{
	const size_t n = strlen(bug);
	const char *at = bugs;

	while (at != NULL && (strncmp(at, bug, n) != 0 || (at[n] != ',' && at[n] != '\0'))) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return at != NULL;
}

static uint64_t mixed(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static uint64_t digest_of(const struct entry *e)
{
	return mixed(e->from + mixed(e->to + mixed(e->amount + 1)));
}

static void put(uint64_t *to, uint64_t value)
{
	*to = value;
	pmem_persist(to, sizeof *to);
}

/* ---- A transfer ---------------------------------------------------------------------------------- */

static void write_entry(struct entry *e, uint64_t number)
{
	e->from = mixed(number) % ACCOUNTS;
	e->to = (e->from + 1 + mixed(number + 7) % (ACCOUNTS - 1)) % ACCOUNTS;
	e->amount = 1 + mixed(number + 99) % 10;
	e->digest = digest_of(e);
	if (!has("entry-unflushed")) {
		pmem_persist(e, sizeof *e);
	}
}

static void enter(struct ledger *l)
{
	const uint64_t number = l->count.value + 1;

	if (has("count-first")) {
		put(&l->count.value, number);
		write_entry(&l->entry[number - 1], number);
	} else {
		write_entry(&l->entry[number - 1], number);
		put(&l->count.value, number);
	}
}

static void write_undo(struct ledger *l, const struct entry *e, uint64_t number)
{
	l->undo.from = e->from;
	l->undo.to = e->to;
	l->undo.old_from = l->balance[e->from].value;
	l->undo.old_to = l->balance[e->to].value;
	pmem_persist(&l->undo, sizeof l->undo);
	l->undo.number = number;
	pmem_flush(&l->undo, sizeof l->undo);
	if (!has("undo-unfenced")) {
		pmem_drain();
	}
}

/* Applies the first transfer that is not. */
static void apply(struct ledger *l)
{
	const uint64_t number = l->applied.value + 1;
	const struct entry *const e = &l->entry[number - 1];

	if (!has("no-undo")) {
		write_undo(l, e, number);
	}
	l->balance[e->from].value -= e->amount;
	l->balance[e->to].value += e->amount;
	pmem_flush(&l->balance[e->from], sizeof l->balance[0]);
	pmem_flush(&l->balance[e->to], sizeof l->balance[0]);
	if (!has("applied-early")) {
		pmem_drain();
	}
	put(&l->applied.value, number);
}

/* ---- Recovery and check ------------------------------------------------------------------------- */

static void roll_back(struct ledger *l)
{
	if (l->undo.number == l->applied.value + 1 && l->undo.from < ACCOUNTS && l->undo.to < ACCOUNTS) {
		put(&l->balance[l->undo.from].value, l->undo.old_from);
		put(&l->balance[l->undo.to].value, l->undo.old_to);
	}
}

static void recover(struct ledger *l)
{
	roll_back(l);
	while (l->applied.value < l->count.value) {
		apply(l);
	}
}

static bool is_whole(const struct entry *e)
{
	return e->from < ACCOUNTS && e->to < ACCOUNTS && e->amount != 0 && e->digest == digest_of(e);
}

/* On a private mapping. Returns 0, or 1 with the violation printed. */
static int check(struct ledger *l)
{
	uint64_t expected[ACCOUNTS] = {0};

	if (l->count.value > ENTRIES || l->applied.value > l->count.value) {
		printf("%llu of %llu transfers are applied\n", (unsigned long long)l->applied.value,
			(unsigned long long)l->count.value);
		return 1;
	}
	for (uint64_t i = 0; i < l->count.value; i++) {
		const struct entry *const e = &l->entry[i];

		if (!is_whole(e)) {
			printf("entry %llu counts and is not whole\n", (unsigned long long)i + 1);
			return 1;
		}
		if (i < l->applied.value) {
			expected[e->from] -= e->amount;
			expected[e->to] += e->amount;
		}
	}
	if (l->undo.number == l->applied.value + 1) {
		l->balance[l->undo.from % ACCOUNTS].value = l->undo.old_from;
		l->balance[l->undo.to % ACCOUNTS].value = l->undo.old_to;
	}
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		if (l->balance[i].value != expected[i]) {
			printf("account %u has %lld, expected %lld\n", i,
				(long long)l->balance[i].value + GRANT, (long long)expected[i] + GRANT);
			return 1;
		}
	}
	return 0;
}

/* A copy in memory: a check does not write the file. */
static int check_file(const char *path)
{
	static struct ledger copy;
	FILE *const f = fopen(path, "rb");

	if (f == NULL || fread(&copy, sizeof copy, 1, f) != 1) {
		fprintf(stderr, "%s: expected a ledger of %zu bytes\n", path, sizeof copy);
		if (f != NULL) {
			fclose(f);
		}
		return 2;
	}
	fclose(f);
	return check(&copy);
}

int main(int argc, char **argv)
{
	size_t bytes;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "ledger FILE [COUNT [BUG,BUG...]]\n");
		return 2;
	}
	if (argc == 2) {
		return check_file(argv[1]);
	}
	struct ledger *const l = pmem_map_file(argv[1], sizeof *l, PMEM_FILE_CREATE, 0600, &bytes, NULL);

	if (l == NULL || bytes < sizeof *l) {
		fprintf(stderr, "%s: %s\n", argv[1], l ? "too short" : pmem_errormsg());
		return 2;
	}
	recover(l);
	if (argc > 3) {
		bugs = argv[3];
	}
	for (uint64_t i = strtoull(argv[2], NULL, 0); i > 0 && l->count.value < ENTRIES; i--) {
		enter(l);
		apply(l);
	}
	pmem_unmap(l, bytes);
	return 0;
}
