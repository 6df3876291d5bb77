/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a child died: source lines of code from other compilers and without debug information. */
#include "common/test.h"

#include <dlfcn.h>

#include "common/shell.h"
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
	struct ct_frames frames = {.count = 1};
	const char *const library = in_dir("libc-frames/planted.so");

	succeeds("mkdir libc-frames");
	write_text("libc-frames/planted.c", source);
	succeeds("%s %s -shared -fPIC -o %s %s", compiler, options, library, in_dir("libc-frames/planted.c"));
	void *const module = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	assert_non_null(module);
	frames.address[0] = dlsym(module, "second");
	assert_non_null(frames.address[0]);
	ct_frames_place(&frames, ret_place);
	dlclose(module);
}

static void assert_place_is_found(const char *compiler)
{
	char place[CT_TEXT_BYTES];

	if (run("command -v %s", compiler) != 0) {
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

GROUP(folder_begin, shell_end, .each = clean_folder);
