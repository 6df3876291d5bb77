/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotated FILE CASE: a file with an undo log of its own for two counters, which are equal, and the
 * annotations of pmemcheck. Cases that begin with "no-" leave out an annotation or what it stands for.
 * annotated FILE check: rolls back, and checks the counters.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/pmemcheck.h>

struct file {
	uint64_t logged, old[2]; /* logged: how many of old are valid */
	uint64_t pad[5];
	uint64_t counter[2], scratch;
};

static struct file *file;
static const char *name;

static int is(const char *other)
{
	return strcmp(name, other) == 0;
}

/* No instruction: what the program says is all that is known. */
static void persist(const void *at, size_t n)
{
	VALGRIND_PMC_DO_FLUSH(at, n);
	VALGRIND_PMC_DO_FENCE;
}

static void log_counter(unsigned i)
{
	file->old[i] = file->counter[i]; /* LINE log */
	persist(&file->old[i], sizeof file->old[i]);
	file->logged = i + 1;
	persist(&file->logged, sizeof file->logged);
	VALGRIND_PMC_ADD_TO_TX(&file->counter[i], sizeof file->counter[i]);
}

static void count(void)
{
	VALGRIND_PMC_START_TX; /* LINE begin */
	log_counter(0);
	if (!is("no-log")) {
		log_counter(1);
	}
	if (is("no-add")) {
		VALGRIND_PMC_REMOVE_FROM_TX(&file->counter[1], 4);
	}
	file->counter[0]++;
	file->counter[1]++; /* LINE count */
	if (is("ignored")) {
		VALGRIND_PMC_ADD_TO_GLOBAL_TX_IGNORE(&file->scratch, sizeof file->scratch);
		file->scratch = 1;
	} else if (is("no-ignore")) {
		file->scratch = 1; /* LINE scratch */
	}
	if (!is("no-flush")) {
		persist(file->counter, sizeof file->counter);
	}
	VALGRIND_PMC_END_TX;
	file->logged = 0;
	if (is("clean")) {
		VALGRIND_PMC_SET_CLEAN(&file->logged, sizeof file->logged);
	} else {
		persist(&file->logged, sizeof file->logged);
	}
	file->scratch = 2; /* behind it */
}

int main(int argc, char **argv)
{
	const int fd = open(argv[1], O_RDWR);

	name = argc > 2 ? argv[2] : "";
	file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	VALGRIND_PMC_REGISTER_PMEM_MAPPING(file, 4096);
	/* As large as the file, which holds the log and what is not to be looked at. */
	VALGRIND_PMC_ADD_TO_GLOBAL_TX_IGNORE(&file->logged, 3 * sizeof file->logged);
	if (is("check")) {
		memcpy(file->counter, file->old, file->logged * sizeof file->old[0]);
		file->logged = 0;
		if (file->counter[0] != file->counter[1]) {
			printf("the counters are %lu and %lu\n", (unsigned long)file->counter[0],
				(unsigned long)file->counter[1]);
			return 1;
		}
		return 0;
	}
	count();
	count();
	return 0;
}
