/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA sources through nvwave-nvcc, in a temporary folder. Without clang and its LLVM every test says that it
 * is left out.
 */
#ifndef TESTS_HOST_CUDA_NVCC_H
#define TESTS_HOST_CUDA_NVCC_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/shell.h"
#include "common/skip.h"

#define SOURCE(name) CUDA_TESTS "/" name

static bool have_clang;

#define NEEDS_CLANG()                                           \
	if (!have_clang) {                                      \
		skip_test("there is no clang++ with its LLVM"); \
	}

/* The machine is in no build with sanitizers: programs would need theirs. */
#ifdef __SANITIZE_ADDRESS__
#define NEEDS_MACHINE() \
	skip_test("%s: there is no machine for CUDA programs in a build with sanitizers", __func__)
#else
#define NEEDS_MACHINE() NEEDS_CLANG()
#endif

static void build(const char *options, const char *program, const char *sources)
{
	succeeds(NVCC " %s -o %s %s", options, program, sources);
}

/* Unless another test has built it. */
static void build_once(const char *options, const char *program, const char *sources)
{
	if (access(in_dir(program), X_OK) != 0) {
		build(options, program, sources);
	}
}

/* Compiles several programs, of one source each, as one (together.sh). Kernels of the first keep their names;
 * those of the others are in namespaces. */
static inline void build_together(const char *options, const char *first, const char *others)
{
	const char *const name = strrchr(first, '/') + 1;
	char program[64];

	snprintf(program, sizeof program, "%.*s", (int)strcspn(name, "."), name);
	if (access(in_dir(program), X_OK) != 0) {
		succeeds(CUDA_TESTS "/together.sh '" NVCC " %s' %s %s", options, first, others);
	}
}

static int begin(void **state)
{
	const int r = shell_begin((const char *const[]){"NVWAVE", NULL});

	have_clang = !r && run(NVCC " -x cu -M /dev/null") == 0;
	return r;
}

GROUP(begin, shell_end);

#endif
