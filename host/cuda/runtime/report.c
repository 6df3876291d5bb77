/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told of a kernel's mistakes, with its source lines: addr2line knows them; nvwave-nvcc needs its
 * package anyway. */
#include <stdarg.h>
#include <unistd.h>

#include "runtime.h"

/* Our headers are not where anybody wants to look. */
static bool is_own_header(const char *file)
{
	return !strncmp(file, "nvw_", 4) || !strcmp(file, "cuda_runtime.h") ||
	       !strcmp(file, "cooperative_groups.h");
}

/* The innermost frame outside of them: two lines of text each. */
static void read_place(FILE *from, char *ret_text, size_t n)
{
	char function[256], line[512];

	while (fgets(function, sizeof function, from) && fgets(line, sizeof line, from)) {
		function[strcspn(function, "(\n")] = '\0';
		line[strcspn(line, " \n")] = '\0';
		const char *const at = basename(line);
		char file[512];

		snprintf(file, sizeof file, "%.*s", (int)strcspn(at, ":"), at);
		if (line[0] != '?' && !is_own_header(file)) {
			snprintf(ret_text, n, "%s (%s)", at, function);
			return;
		}
	}
}

/* The address in its file, which is what addr2line wants. */
static uintptr_t in_file(const void *address)
{
	extern const char __ehdr_start[] __attribute__((weak, visibility("hidden")));
	extern const char __executable_start[] __attribute__((weak));
	const uintptr_t at = (uintptr_t)address, base = (uintptr_t)__ehdr_start;

	(void)__executable_start;
	return base > 0x100000000 ? at - base : at; /* a program that may lie anywhere begins at 0 */
}

void nvw_cuda_place(const void *address, char *ret_text, size_t n)
{
	char command[160];

	ret_text[0] = '\0';
	snprintf(command, sizeof command, "addr2line -fiC -e /proc/%ld/exe %#lx 2>/dev/null", (long)getpid(),
		(unsigned long)in_file(address) - 1);
	FILE *const from = address ? popen(command, "r") : NULL;

	if (from) {
		read_place(from, ret_text, n);
		pclose(from);
	}
}

void nvw_cuda_report(const void *place, const char *format, ...)
{
	const struct item *const me = nvw_cuda_now;

	NVW_INVARIANT(me); /* a kernel's mistake has its work-item */
	const struct extent *const b = &me->group->block, *const t = &me->thread;
	char line[512], text[512];
	va_list arguments;

	fflush(stdout);
	nvw_cuda_place(place, line, sizeof line);
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	fprintf(stderr, "nvwave: %s%skernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s%s\n", line,
		line[0] ? ": " : "", nvw_cuda_launch.name, b->x, b->y, b->z, t->x, t->y, t->z, text,
		line[0] || !place ? "" : " (no line is known: the program has no debug information here)");
}
