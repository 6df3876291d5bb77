/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA sources through nvwave-nvcc, in a temporary folder. Without clang and its LLVM every test says that it is left out.
 */
#ifndef TESTS_HOST_CUDA_NVCC_H
#define TESTS_HOST_CUDA_NVCC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/shell.h"
#include "common/skip.h"

#define SOURCE(name) CUDA_TESTS "/" name

static bool have_clang;
static const char *nvwave;

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

static void assert_output_has(const char *text)
{
	if (!strstr(output, text)) {
		print_error("expected \"%s\" in\n%s\n", text, output);
		fail();
	}
}

static void build(const char *options, const char *program, const char *sources)
{
	if (run(NVCC " %s -o %s %s", options, program, sources)) {
		print_error("%s\n", output);
		fail();
	}
}

/* Unless another test has built it. */
static void build_once(const char *options, const char *program, const char *sources)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, program);
	if (access(path, X_OK) != 0) {
		build(options, program, sources);
	}
}

static int run_all(const struct CMUnitTest *tests, size_t n)
{
	nvwave = getenv("NVWAVE");
	strcpy(dir, "/tmp/nvw-cuda-XXXXXX");
	assert_non_null(mkdtemp(dir));
	have_clang = run(NVCC " -x cu -M /dev/null") == 0;
	const int status = _cmocka_run_group_tests("cuda", tests, n, NULL, NULL);

	run("rm -rf -- %s", dir);
	return status;
}

#endif
