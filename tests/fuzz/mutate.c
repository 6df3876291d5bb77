/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mutate RUNS FOLDER INPUT: what drives a fuzz target where libFuzzer does not. Every seed of the folder as
 * it is, then mutants of them: a few bytes changed, left out, repeated, or taken from another seed. The same
 * arguments give the same inputs. With address sanitizer, the input of a fault is left in the file INPUT.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { SEEDS_MAX = 64, BYTES_MAX = 4096, CHANGES_MAX = 6 };

struct bytes {
	size_t count;
	uint8_t at[BYTES_MAX];
};

static struct bytes seeds[SEEDS_MAX], input;
static unsigned seed_count;
static const char *input_path;
static uint64_t state = 1;

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static size_t below(size_t n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return n == 0 ? 0 : (state >> 33) % n;
}

static void leave_input(void)
{
	FILE *const f = fopen(input_path, "wb");

	if (f == NULL || fwrite(input.at, 1, input.count, f) != input.count || fclose(f) != 0) {
		perror(input_path);
	}
}

static int no_dots(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_seeds(const char *folder)
{
	struct dirent **names;
	const int count = scandir(folder, &names, no_dots, alphasort);

	if (count <= 0 || count > SEEDS_MAX) {
		fprintf(stderr, "%s: %d seeds, expected 1 to %d\n", folder, count, SEEDS_MAX);
		exit(2);
	}
	for (int i = 0; i < count; i++) {
		char path[1024];

		snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);

		FILE *const f = fopen(path, "rb");

		if (f == NULL) {
			perror(path);
			exit(2);
		}
		seeds[seed_count].count = fread(seeds[seed_count].at, 1, BYTES_MAX, f);
		seed_count++;
		fclose(f);
		free(names[i]);
	}
	free(names);
}

/* Puts n bytes in the place of m bytes at a position; what becomes too long is cut. */
static void splice(size_t at, size_t m, const uint8_t *bytes, size_t n)
{
	uint8_t rest[BYTES_MAX];
	size_t left = input.count - at - m;

	memcpy(rest, input.at + at + m, left);
	n = n > BYTES_MAX - at ? BYTES_MAX - at : n;
	memcpy(input.at + at, bytes, n);
	left = left > BYTES_MAX - at - n ? BYTES_MAX - at - n : left;
	memcpy(input.at + at + n, rest, left);
	input.count = at + n + left;
}

static void change(void)
{
	static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ' ', '-', '9', '='};
	const struct bytes *const other = &seeds[below(seed_count)];
	const size_t at = below(input.count + 1), most = input.count - at;
	const size_t from = below(other->count), n = below(other->count - from + 1);
	uint8_t byte = (uint8_t)below(256), copy[BYTES_MAX];

	switch (below(6)) {
	case 0:
		splice(at, most > 0, &byte, 1);
		break;
	case 1:
		splice(at, most > 0, &edges[below(sizeof edges)], 1);
		break;
	case 2:
		byte = (uint8_t)((at < input.count ? input.at[at] : 0) ^ 1u << below(8));
		splice(at, most > 0, &byte, 1);
		break;
	case 3:
		splice(at, below(most + 1), &byte, 0);
		break;
	case 4:
		memcpy(copy, input.at + at, most);
		splice(at, 0, copy, below(most + 1));
		break;
	default:
		splice(at, below(most + 1), other->at + from, n);
	}
}

/* In memory of exactly its size, so that a byte too far is seen. */
static void run_input(void)
{
	uint8_t *const exact = malloc(input.count + (input.count == 0));

	memcpy(exact, input.at, input.count);
	LLVMFuzzerTestOneInput(exact, input.count);
	free(exact);
}

int main(int argc, char **argv)
{
	const unsigned long runs = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;

	if (runs == 0) {
		fprintf(stderr, "usage: mutate RUNS FOLDER INPUT\n");
		return 2;
	}
	input_path = argv[3];
	read_seeds(argv[2]);
	if (LLVMFuzzerInitialize) {
		LLVMFuzzerInitialize(&argc, &argv);
	}
	if (__sanitizer_set_death_callback) {
		__sanitizer_set_death_callback(leave_input);
	}
	for (unsigned long i = 0; i < runs; i++) {
		input = seeds[i % seed_count];
		for (size_t changes = i < seed_count ? 0 : 1 + below(CHANGES_MAX); changes > 0; changes--) {
			change();
		}
		run_input();
	}
	return 0;
}
