/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What test_corpus.py runs with many inputs: "corpus POOL [INPUT]" carries out the letters of the input, by
 * default of its standard input, each an operation of its own (nvw/ack.h).
 *
 *	a	adds one to a durable counter
 *	b	the same to another counter, which is not flushed: the bug
 *	g	"grows": stores that no other letter reaches
 *	v	spoils what is unused, which is wrong without any crash
 *	x, !, w	ends with status 3; aborts; does not end
 *
 * "corpus print POOL" prints the counters, and fails on a pool that has grown. "corpus check POOL": each
 * counter is what the acknowledged operations have left, or one more.
 */
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/ack.h>

struct pool {
	uint64_t a, b;
	uint64_t unused[6];
	uint64_t grown[8];
};

static void add(uint64_t *counter)
{
	*counter += 1;
	pmem_persist(counter, sizeof *counter);
}

static void forget(uint64_t *counter)
{
	*counter += 1;
}

static void grow(struct pool *p)
{
	memset(p->grown, 1, sizeof p->grown);
	pmem_persist(p->grown, sizeof p->grown);
}

static void carry_out(struct pool *p, char letter)
{
	switch (letter) {
	case 'a':
		add(&p->a);
		break;
	case 'b':
		forget(&p->b);
		break;
	case 'g':
		grow(p);
		break;
	case 'v':
		add(&p->unused[0]);
		break;
	case 'x':
		exit(3);
	case '!':
		abort();
	case 'w':
		pause();
		break;
	default:
		break;
	}
}

/* How many letters of the acknowledged operations there are. The name of each is its letter. */
static int check_counters(const struct pool *p)
{
	const char *const path = getenv("NVWAVE_OPERATIONS"), *rest = getenv("NVWAVE_ACKNOWLEDGED");
	FILE *const f = path ? fopen(path, "r") : NULL;
	unsigned long long last = 0, number, b = 0;
	char letter;

	if (f == NULL || rest == NULL || *rest == '\0') {
		return 0;
	}
	while (*rest != '\0') { /* from 0 on, one after the other */
		last = strtoull(rest, (char **)&rest, 10);
		rest += *rest != '\0';
	}
	while (fscanf(f, "%llu %c", &number, &letter) == 2) {
		b += letter == 'b' && number <= last;
	}
	fclose(f);
	if (p->b < b) {
		printf("%llu of %llu are left\n", (unsigned long long)p->b, b);
		return 1;
	}
	return 0;
}

static int check(const struct pool *p)
{
	if (p->unused[0] != 0) {
		puts("the unused is used");
		return 1;
	}
	return check_counters(p);
}

int main(int argc, char **argv)
{
	const int prints = argc == 3 && strcmp(argv[1], "print") == 0;
	const int checks = argc == 3 && (prints || strcmp(argv[1], "check") == 0);
	FILE *const input = argc == 3 && !checks ? fopen(argv[2], "r") : stdin;
	size_t bytes;
	int is_pmem;
	char text[64] = "";

	if (argc < 2 || input == NULL || (!checks && fscanf(input, "%63s", text) != 1)) {
		return 2;
	}
	struct pool *const p =
		pmem_map_file(argv[1 + checks], sizeof *p, PMEM_FILE_CREATE, 0600, &bytes, &is_pmem);

	if (p == NULL) {
		return 2;
	}
	if (prints) {
		printf("%llu %llu\n", (unsigned long long)p->a, (unsigned long long)p->b);
		return p->grown[0] != 0;
	}
	if (checks) {
		return check(p);
	}
	for (unsigned i = 0; text[i] != '\0'; i++) {
		const char name[2] = {text[i], '\0'};

		nvw_operation_begins(i, name);
		carry_out(p, text[i]);
		nvw_operation_is_durable(i);
	}
	return 0;
}
