/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a child died: source lines of code from other compilers and without debug information. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"

#include "common/skip.h"
#include "crashtest/judge/frames.h"

static const char source[] = "int first(int n) { return n; }\n"
			     "int second(int n)\n"
			     "{\n"
			     "	return n + 1;\n"
			     "}\n";

/*
 * Compiles the source in a folder of its own, whose name is no library's, and asks for the place of second();
 * *ret_place is "" if there is none.
 */
static void place_of_second(const char *compiler, const char *options, char ret_place[CT_TEXT_BYTES])
{
	char folder[] = "/tmp/libc-frames.XXXXXX", path[64], library[64], command[256];
	struct ct_frames frames = {.count = 1};
	FILE *file;
	void *module;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/planted.c", folder);
	snprintf(library, sizeof library, "%s/planted.so", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(source, file) >= 0 && fclose(file) == 0);
	snprintf(command, sizeof command, "%s %s -shared -fPIC -o %s %s", compiler, options, library, path);
	assert_int_equal(system(command), 0);
	module = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(module);
	frames.address[0] = dlsym(module, "second");
	assert_non_null(frames.address[0]);
	ct_frames_place(&frames, ret_place);
	dlclose(module);
	unlink(path);
	unlink(library);
	rmdir(folder);
}

static void assert_place_is_found(const char *compiler)
{
	char place[CT_TEXT_BYTES], command[64];

	snprintf(command, sizeof command, "command -v %s >/dev/null", compiler);
	if (system(command) != 0) {
		skip_test("no %s here", compiler);
	}
	place_of_second(compiler, "-g", place);
	assert_has(place, "planted.c:3 (second)");
}

TEST(the_line_is_found_in_code_compiled_by_gcc)
{
	assert_place_is_found("gcc");
}

/* It writes no .debug_aranges. */
TEST(the_line_is_found_in_code_compiled_by_clang)
{
	assert_place_is_found("clang");
}

TEST(code_without_debug_information_has_no_place)
{
	char place[CT_TEXT_BYTES];

	place_of_second("cc", "-g0", place);
	assert_string_equal(place, "");
}
